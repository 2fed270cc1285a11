/*
 * The controller of repositories: polls each from time to time as a job, stores what was found there, and starts deployments
 * of the applications that changed. One server polls a repository, under its claim. What was seen and the deployments that
 * follow from it are stored together, so that a commit starts one deployment of an application, also after a crash.
 */
#ifndef PIPELINE_POLLER_H
#define PIPELINE_POLLER_H

#include "base/random.h"
#include "control/claims.h"
#include "control/controller.h"
#include "pipeline/repositories.h"

#define POLLER_CLAIM_PREFIX "repository:"

struct poller_config {
	struct runner *runner;
	struct store *store;
	struct claims *claims;
	struct random *random; /* of IDs of deployments */
	struct repositories *repositories;
	const struct pipeline_settings *settings;
	/* Reports polls that begin to fail, too. */
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	void *report_context;
};

struct poller;

int poller_start(const struct poller_config *config, struct poller **ret_poller, struct err *err);
/* Stops; NULL is fine. */
void poller_stop(struct poller *poller);

#endif
