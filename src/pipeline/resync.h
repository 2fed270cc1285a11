/*
 * The controller of onOutOfSync: deploys an application again when its service differs from its last successful deployment
 * (application_find_sync()) and its trigger is on, minWindow after the last deployment has ended at the earliest. Every
 * server may run it: the deployment has a token, so that the same drift starts one.
 */
#ifndef PIPELINE_RESYNC_H
#define PIPELINE_RESYNC_H

#include "base/random.h"
#include "control/controller.h"

struct resync_config {
	struct runner *runner;
	struct store *store;
	struct random *random; /* of IDs of deployments */
	void (*report)(void *context, const char *controller, struct span key,
		const struct err *err);
	void *report_context;
};

int resync_start(const struct resync_config *config, struct controller **ret_controller,
	struct err *err);

#endif
