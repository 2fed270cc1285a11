/* Commands that talk to a running server: where it is, with which key, signed requests to its REST API. */
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include "base/arena.h"
#include "base/json.h"

struct remote_options {
	const char *server;      /* NULL: $SLIPWAY_SERVER, else the default address */
	const char *state;       /* NULL: the environment's key, else the default state folder */
	const char *authorities; /* PEM file; NULL: those of the system */
};

/* One signed request; a body of NULL sends none. The answer is parsed. A refusal is an error with the
 * server's own words. */
int remote_call(const struct remote_options *options, const char *method, const char *path,
	const struct json *body, struct arena *arena, struct json **ret_answer, struct err *err);

#endif
