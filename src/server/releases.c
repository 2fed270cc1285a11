/*
 * Releases on a Kubernetes cluster: the connection, the Lease by which one of several servers acts, and the
 * controllers. They need no store and no runtime.
 */
#include "base/memory.h"
#include "kube/kubeconfig.h"
#include "kube/lease.h"
#include "release/canary_controller.h"
#include "release/release_controller.h"
#include "server/components.h"

#define LEASE_NAME "slipway-releases"

#define DEFAULT_PROXY_IMAGE "slipway:" SLIPWAY_VERSION

struct releases {
	struct arena *arena;
	struct http_client *http;
	struct kube_client *client;
	struct kube_lease *lease;
	struct runner_event *lease_acquired;
	struct release_controller *controller; /* NULL: not yet */
	struct canary_controller *canaries;    /* likewise */
};

static void report(void *context, struct span what, const struct err *err)
{
	struct server *server = context;
	_free_ char *name = memory_copy_string_n(what.data, what.length);

	log_write(server->log, LOG_WARNING, "releases", "what", name, "error", err->message, NULL);
}

static void lease_failed(void *context, const struct err *err)
{
	report(context, SPAN("lease"), err);
}

static void lease_changed(void *context, bool held)
{
	struct server *server = context;

	log_write(server->log, LOG_INFO, held ? "releases: lease acquired" : "releases: lease lost",
		NULL);
	if (held)
		runner_signal(server->releases->lease_acquired);
}

static int connect_cluster(struct server *server, struct kube_access **ret_access, struct err *err)
{
	const struct server_config *config = server->config;
	struct releases *releases = server->releases;
	struct kube_client_config client = {.runner = server->runner,
		.qps = (double)config->kubernetes_qps,
		.burst = (unsigned)config->kubernetes_burst};
	int code = kubeconfig_find(config->kubernetes_kubeconfig,
		span_of(config->kubernetes_context), releases->arena, ret_access, err);

	if (code == 0)
		code = http_client_new(&releases->http, err);
	if (code < 0)
		return code;
	client.http = releases->http;
	client.access = *ret_access;
	return kube_client_new(&client, &releases->client, err);
}

static int start_lease(struct server *server, const struct kube_access *access, struct err *err)
{
	struct kube_lease_config lease = {.client = server->releases->client,
		.runner = server->runner,
		.namespace = server->config->releases_lease_namespace
				     ? span_of(server->config->releases_lease_namespace)
				     : access->default_namespace,
		.name = SPAN(LEASE_NAME),
		.identity = span_of(server->host),
		.duration_s = (int)(server->config->releases_lease_ms / 1000),
		.changed = lease_changed,
		.failed = lease_failed,
		.context = server};

	return kube_lease_start(&lease, &server->releases->lease, err);
}

static int start_controller(struct server *server, struct err *err)
{
	struct releases *releases = server->releases;
	struct release_controller_config config = {.client = releases->client,
		.http = releases->http,
		.runner = server->runner,
		.lease = releases->lease,
		.lease_acquired = releases->lease_acquired,
		.namespace = span_of(server->config->releases_namespace),
		.report = report,
		.context = server};

	return release_controller_start(&config, &releases->controller, err);
}

static int start_canaries(struct server *server, struct err *err)
{
	struct releases *releases = server->releases;
	const char *image = server->config->releases_proxy_image;
	const struct canary_controller_config config = {.client = releases->client,
		.http = releases->http,
		.runner = server->runner,
		.lease = releases->lease,
		.lease_acquired = releases->lease_acquired,
		.namespace = span_of(server->config->releases_namespace),
		.image = span_of(image ? image : DEFAULT_PROXY_IMAGE),
		.pull_policy = span_of(server->config->kubernetes_pull_policy),
		.report = report,
		.context = server};

	return canary_controller_start(&config, &releases->canaries, err);
}

int releases_open(struct server *server, struct err *err)
{
	struct kube_access *access = NULL;
	int code;

	if (!server->config->releases_enabled)
		return 0;
	server->releases = memory_allocate(sizeof(*server->releases));
	server->releases->arena = arena_new(0);
	server->releases->lease_acquired = runner_event_new(server->runner, "lease acquired");
	code = connect_cluster(server, &access, err);
	if (code == 0)
		code = start_lease(server, access, err);
	if (code == 0)
		code = start_controller(server, err);
	if (code == 0)
		code = start_canaries(server, err);
	return code < 0 ? err_prefix(err, code, "releases") : 0;
}

void releases_close(struct server *server)
{
	struct releases *releases = server->releases;

	if (!releases)
		return;
	canary_controller_stop(releases->canaries);
	release_controller_stop(releases->controller);
	kube_lease_stop(releases->lease);
	kube_client_free(releases->client);
	http_client_free(releases->http);
	runner_event_free(releases->lease_acquired);
	arena_free(releases->arena);
	server->releases = NULL;
	free(releases);
}

static void write_canary_metrics(struct canary_controller *controller, struct buffer *out)
{
	struct canary_controller_statistics statistics;

	if (!controller)
		return;
	canary_controller_statistics(controller, &statistics);
	metric(out, "canary_queue_depth", false, "CanaryReleases that wait to be reconciled",
		statistics.depth);
	metric(out, "canary_reconciles_total", true, "Reconciles of CanaryReleases",
		statistics.reconciles);
	metric(out, "canary_failures_total", true, "Reconciles of CanaryReleases that failed",
		statistics.failures);
	metric(out, "canary_writes_total", true, "Writes of steps of CanaryReleases",
		statistics.writes);
}

void releases_write_metrics(struct server *server, struct buffer *out)
{
	struct releases *releases = server->releases;
	struct release_controller *controller = releases ? releases->controller : NULL;
	struct release_controller_statistics statistics;

	if (!controller)
		return;
	release_controller_statistics(controller, &statistics);
	metric(out, "release_lease_held", false,
		"1 if this server runs the controllers of Releases",
		kube_lease_is_held(releases->lease));
	metric(out, "release_synced", false, "1 if all Releases of the cluster are known",
		statistics.synced);
	metric(out, "release_queue_depth", false, "Releases that wait to be reconciled",
		statistics.depth);
	metric(out, "release_reconciles_total", true, "Reconciles of Releases",
		statistics.reconciles);
	metric(out, "release_failures_total", true, "Reconciles of Releases that failed",
		statistics.failures);
	write_canary_metrics(releases->canaries, out);
}
