/* See cluster.h. */
#include "cli/cluster.h"

#include "base/memory.h"
#include "kube/kubeconfig.h"
#include "kube/object.h"
#include "release/release_manifest.h"

int cluster_open(const struct cluster_options *options, struct cluster *ret_cluster,
	struct err *err)
{
	struct cluster cluster = {.arena = arena_new(0)};
	struct kube_client_config config = {0};
	struct kube_access *access = NULL;
	int code = kubeconfig_find(options->kubeconfig, span_of(options->context), cluster.arena,
		&access, err);

	if (code == 0)
		code = http_client_new(&cluster.http, err);
	if (code < 0) {
		arena_free(cluster.arena);
		return code;
	}
	cluster.runner = runner_threads_new(clock_system(), random_system());
	config.http = cluster.http;
	config.runner = cluster.runner;
	config.access = access;
	code = kube_client_new(&config, &cluster.client, err);
	if (code < 0) {
		cluster_close(&cluster);
		return code;
	}
	cluster.calls = (struct object_calls){.client = cluster.client, .field_manager = "slipway"};
	cluster.namespace = options->namespace ? span_of(options->namespace)
					       : kube_client_default_namespace(cluster.client);
	*ret_cluster = cluster;
	return 0;
}

void cluster_close(struct cluster *cluster)
{
	if (!cluster->arena)
		return;
	kube_client_free(cluster->client);
	http_client_free(cluster->http);
	runner_stop(cluster->runner);
	runner_join(cluster->runner, NULL);
	runner_free(cluster->runner);
	arena_free(cluster->arena);
	*cluster = (struct cluster){0};
}

struct span cluster_object_name(struct arena *arena, const struct json *object)
{
	struct span kind = json_get_text(object, "kind");
	struct span name = json_get_text(json_get(object, "metadata"), "name");
	struct span group = release_api_group(json_get_text(object, "apiVersion"));
	char *lower = arena_copy(arena, kind.data, kind.length);

	for (char *c = lower; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return arena_format(arena, "%s%s%.*s/%.*s", lower, group.length > 0 ? "." : "",
		SPAN_ARGS(group), SPAN_ARGS(name));
}

struct span cluster_age(struct arena *arena, struct span time, int64_t now_ms)
{
	static const struct {
		int64_t below_s, unit_s;
		const char *unit;
	} units[] = {{120, 1, "s"}, {120 * 60, 60, "m"}, {48 * 3600, 3600, "h"},
		{INT64_MAX, 86400, "d"}};
	int64_t then_ms = time.data ? kube_time_ms(json_new_string(arena, time)) : 0;
	int64_t age_s = now_ms > then_ms ? (now_ms - then_ms) / 1000 : 0;

	for (size_t i = 0; then_ms > 0 && i < LENGTH(units); i++)
		if (age_s < units[i].below_s)
			return arena_format(arena, "%lld%s", (long long)(age_s / units[i].unit_s),
				units[i].unit);
	return SPAN("");
}
