/* Tasks on a Kubernetes cluster: its configuration, readiness, and metrics of its watches. */
#include "runtime/kubernetes/kubernetes.h"

#include "server/components.h"

#define DEFAULT_HELPER_IMAGE "slipway:" SLIPWAY_VERSION

static void changed(void *context, struct span token)
{
	struct server *server = context;

	/* Without a watch on every change, only notifications about everything count. */
	if (server->config->sync_enabled || token.length == 0)
		tasks_changed(server, token);
}

static void group_changed(void *context, struct span id)
{
	struct server *server = context;

	if (server->config->sync_enabled || id.length == 0)
		group_controller_changed(server->group_controller, id);
}

static void report(void *context, const char *resource, const struct err *err)
{
	struct server *server = context;

	log_write(server->log, LOG_WARNING, "kubernetes", "resource", resource, "error",
		err->message, NULL);
}

int kubernetes_open(struct server *server, struct err *err)
{
	const struct server_config *config = server->config;
	struct runtime_kubernetes_config kubernetes = {.kubeconfig = config->kubernetes_kubeconfig,
		.kube_context = config->kubernetes_context,
		.host = span_of(server->host),
		.helper_image = config->kubernetes_helper_image ? config->kubernetes_helper_image
								: DEFAULT_HELPER_IMAGE,
		.pull_policy = config->kubernetes_pull_policy,
		.restricted = strcmp(config->kubernetes_pod_security, "restricted") == 0,
		.qps = (double)config->kubernetes_qps,
		.burst = (unsigned)config->kubernetes_burst,
		.resync_ms = config->sync_resync_ms,
		.runner = server->runner,
		.changed = changed,
		.group_changed = group_changed,
		.report = report,
		.context = server};

	return runtime_kubernetes_open(&kubernetes, &server->runtime, err);
}

static bool is_kubernetes(const struct server *server)
{
	return server->runtime && strcmp(server->config->runtime, "kubernetes") == 0;
}

bool kubernetes_is_ready(struct server *server)
{
	return !is_kubernetes(server) || runtime_kubernetes_is_synced(server->runtime);
}

/* One metric of every kind of object that is watched. */
static void write_each(struct buffer *out, const struct runtime_kubernetes_statistics *statistics,
	const char *name, bool grows, const char *help,
	unsigned long long (*value)(const struct kube_informer_statistics *informer))
{
	metric_head(out, name, grows, help);
	for (size_t i = 0; i < LENGTH(statistics->resources); i++)
		if (statistics->resources[i].type)
			buffer_format(out, "slipway_%s{resource=\"%s\"} %llu\n", name,
				statistics->resources[i].type,
				value(&statistics->resources[i].informer));
}

#define INFORMER_METRICS(X)                                                                        \
	X(objects, "kubernetes_objects", false, "Objects of the cluster in memory")                \
	X(bytes, "kubernetes_object_bytes", false, "Memory of these objects")                      \
	X(events, "kubernetes_events_total", true, "Changes that watches reported")                \
	X(lists, "kubernetes_lists_total", true, "Complete lists")                                 \
	X(watches, "kubernetes_watches_total", true, "Watches that were opened")                   \
	X(expired, "kubernetes_watches_expired_total", true, "Watches that ended with 410 Gone")   \
	X(silent, "kubernetes_watches_silent_total", true,                                         \
		"Watches reopened because they were silent")                                       \
	X(errors, "kubernetes_errors_total", true, "Lists and watches that failed")                \
	X(synced, "kubernetes_synced", false, "1 if all objects of the kind are known")

#define X(member, name, grows, help)                                                               \
	static unsigned long long read_##member(const struct kube_informer_statistics *informer)   \
	{                                                                                          \
		return informer->member;                                                           \
	}
INFORMER_METRICS(X)
#undef X

void kubernetes_write_metrics(struct server *server, struct buffer *out)
{
	struct runtime_kubernetes_statistics statistics = {0};

	if (!is_kubernetes(server) || !server->maintainer_runs)
		return;
	runtime_kubernetes_statistics(server->runtime, &statistics);
#define X(member, name, grows, help) write_each(out, &statistics, name, grows, help, read_##member);
	INFORMER_METRICS(X)
#undef X
}
