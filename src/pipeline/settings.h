/* The server's configuration of pipelines. */
#ifndef PIPELINE_SETTINGS_H
#define PIPELINE_SETTINGS_H

#include "base/span.h"

#define METRICS_PROVIDERS_MAX 32
#define METRICS_PROVIDER_NAME_MAX 64
#define METRICS_PROVIDER_OWN "slipway" /* the counters of slipway and ECS; needs no configuration */

/* A server with the HTTP API of Prometheus. */
struct metrics_provider {
	const char *name, *url;
	const char *authorities;   /* PEM; NULL: those of the system */
	const char *authorization; /* value of that header; NULL: none */
};

struct pipeline_settings {
	bool allows_scripts; /* SCRIPT_RUN, and commands of analyses */
	const struct metrics_provider *providers;
	size_t provider_count;
	/* Beginnings of URLs of repositories, separated by commas. NULL or "": all but local paths. */
	const char *repositories;
	const char *git_configuration; /* a file for git; NULL or "": none */
	int64_t poll_ms; /* between two polls of a repository; 0: REPOSITORY_POLL_MS */
};

#define REPOSITORY_POLL_MS INT64_C(30000)

static inline const struct metrics_provider *pipeline_find_provider(const struct pipeline_settings
									    *settings,
	struct span name)
{
	for (size_t i = 0; settings && i < settings->provider_count; i++) {
		if (span_is(name, settings->providers[i].name))
			return &settings->providers[i];
	}
	return NULL;
}

#endif
