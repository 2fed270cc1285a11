/* The steps of a deployment: planning, beginning and ending stages, timeouts, orders, the end. */
#ifndef PIPELINE_STEPS_H
#define PIPELINE_STEPS_H

#include "pipeline/pass.h"

/* The next step of pass->deployment, which has not ended. */
int steps_run(struct deployment_pass *pass, struct err *err);
/* A step of pass->deployment, which has succeeded and keeps its old primary. is_over: that is deleted. */
int steps_keep(struct deployment_pass *pass, bool is_over, struct err *err);
/* For a deployment whose files cannot be read any more. */
int steps_refuse(struct deployment_pass *pass, struct span reason, struct err *err);

#endif
