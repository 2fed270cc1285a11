/* See the header. */
#include "server/config_metrics.h"

#include "base/file.h"
#include "base/memory.h"

#define FILE_MAX ((size_t)1024 * 1024)
#define TOKEN_MAX ((size_t)16 * 1024)

static const struct config_member members[] = {
#define OFFSET(member) offsetof(struct metrics_provider, member)
	{"name", CONFIG_NAME, true, OFFSET(name), 0, 0, METRICS_PROVIDER_NAME_MAX, "prometheus",
		"What analyses call it: lower-case letters, digits and hyphens."},
	{"url", CONFIG_URL, true, OFFSET(url), 0, 0, 0, "http://prometheus.example.com:9090",
		"Without /api/v1/query."},
	/* The files' names until they are read. */
	{"ca", CONFIG_TEXT, false, OFFSET(authorities), 0, 0, 0, "/etc/slipway/ca.pem",
		"PEM file of the authorities to trust with https. Without it: the system's."},
	{"tokenFile", CONFIG_TEXT, false, OFFSET(authorization), 0, 0, 0,
		"/etc/slipway/prometheus.token",
		"A file with the bearer token of requests and nothing else. Read when slipway "
		"starts."},
#undef OFFSET
};

static int read_text(const struct config_list_reading *reading, const char *member,
	const char *file, size_t most, struct span *ret_text)
{
	_buffer_ struct buffer text = {0};
	struct err err = {0};

	if (file_read(file, most, &text, &err) < 0)
		return config_list_refuse(reading, reading->object, member, "%s", err.message);
	*ret_text = arena_copy_span(reading->arena, span_trim(buffer_span(&text)));
	return ret_text->length > 0 ? 0
				    : config_list_refuse(reading, reading->object, member,
					      "'%s' is empty", file);
}

static int check_provider(const struct config_list_reading *reading, void *item)
{
	struct metrics_provider *provider = item;
	struct span text;

	if (strcmp(provider->name, METRICS_PROVIDER_OWN) == 0)
		return config_list_refuse(reading, reading->object, "name",
			"'%s' means slipway's own counters", provider->name);
	if (provider->authorities) {
		if (read_text(reading, "ca", provider->authorities, FILE_MAX, &text) < 0)
			return -EINVAL;
		provider->authorities = arena_copy(reading->arena, text.data, text.length);
	}
	if (provider->authorization) {
		if (read_text(reading, "tokenFile", provider->authorization, TOKEN_MAX, &text) < 0)
			return -EINVAL;
		if (memchr(text.data, '\n', text.length) || memchr(text.data, '\r', text.length))
			return config_list_refuse(reading, reading->object, "tokenFile",
				"'%s' has several lines", provider->authorization);
		provider->authorization =
			arena_format(reading->arena, "Bearer %.*s", SPAN_ARGS(text)).data;
	}
	return 0;
}

static const struct metrics_provider defaults;

const struct config_list config_metrics = {.name = "metricsProviders",
	.help = "servers with the HTTP API of Prometheus, for ANALYSIS stages of applications",
	.most = METRICS_PROVIDERS_MAX,
	.size = sizeof(struct metrics_provider),
	.members = members,
	.member_count = LENGTH(members),
	.defaults = &defaults,
	.check = check_provider};

int config_metrics_read(struct server_config *config, const struct json *block, const char *path,
	struct arena *arena, struct err *err)
{
	void *items;
	int code = config_list_read(&config_metrics, block, path, arena, &items,
		&config->pipelines.provider_count, err);

	config->pipelines.providers = items;
	return code;
}
