/*
 * The settings of a service that UpdateService changes whatever its deployment controller is. Task sets have the others
 * (network, launch type, registries).
 */
#ifndef PIPELINE_SERVICE_SETTINGS_H
#define PIPELINE_SERVICE_SETTINGS_H

#include "base/json.h"

/* Those of the service file that the service does not have, an object; NULL: none. live: as DescribeServices answers. */
struct json *service_settings_changed(const struct json *live, const struct json *wanted,
	struct arena *arena);
/* The same settings as the service has them, to return to. */
struct json *service_settings_before(const struct json *live, const struct json *wanted,
	struct arena *arena);

#endif
