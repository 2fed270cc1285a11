/* Reads the files of a deployment from Git, as a job, before it is planned. */
#ifndef PIPELINE_FETCH_H
#define PIPELINE_FETCH_H

#include "pipeline/pass.h"

/* The next step towards the files of pass->deployment. The pass ends then. */
int fetch_run(struct deployment_pass *pass, struct err *err);
/* Whether a job reads files of the application of the pass. */
bool fetch_is_running(const struct deployment_pass *pass);
/* Forgets a job that no deployment needs any more. */
void fetch_end(const struct deployment_pass *pass);

#endif
