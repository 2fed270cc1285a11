/* Stores what a poll has found (poll.h): the applications, and deployments of those that changed. */
#ifndef PIPELINE_FOUND_H
#define PIPELINE_FOUND_H

#include "base/random.h"
#include "pipeline/origin.h"

struct found {
	const struct store_object *repository; /* on head */
	const struct json *poll;               /* result of poll_run() */
	int64_t now_ms;
	struct random *random;
	struct arena *arena;
	struct json *problems; /* of files that are no application; found_put() adds to it */
};

/* One of the result's applications. */
int found_put(struct store_transaction *transaction, struct found *found,
	const struct json *application, struct err *err);

#endif
