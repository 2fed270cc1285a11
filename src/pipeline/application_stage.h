/* Reads the stages of an application file. */
#ifndef PIPELINE_APPLICATION_STAGE_H
#define PIPELINE_APPLICATION_STAGE_H

#include "pipeline/application.h"

/* list: spec.pipeline.stages. A stage that slipway does not have is an error in an application of ECS, and makes
 * another one undeployable; those are left out. */
int application_read_stages(struct field_reader *reader, const struct json *list,
	struct application *application);

/* Options of spec.quickSync. */
int application_read_quick_sync(struct field_reader *reader, const struct json *value,
	bool *ret_recreate);

#endif
