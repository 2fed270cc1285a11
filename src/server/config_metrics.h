/* The block `metricsProviders:` of slipway.yaml: servers with the HTTP API of Prometheus, for ANALYSIS stages. */
#ifndef SERVER_CONFIG_METRICS_H
#define SERVER_CONFIG_METRICS_H

#include "base/json.h"
#include "server/config.h"
#include "server/config_list.h"

extern const struct config_list config_metrics;

/* Reads the block, and the files that it names. Texts live in the arena. */
int config_metrics_read(struct server_config *config, const struct json *block, const char *path,
	struct arena *arena, struct err *err);

#endif
