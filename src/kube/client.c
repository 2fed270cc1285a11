/* A client's life: what it copies of its configuration, and where it sends requests. */
#include "kube/client.h"

#include "base/map.h"
#include "base/memory.h"
#include "kube/discovery.h"
#include "kube/request.h"

/* ---- copies ---- */

static struct span copy(struct arena *arena, struct span text)
{
	return text.data ? arena_copy_span(arena, text) : SPAN_NONE;
}

static struct kube_material copy_material(struct arena *arena, struct kube_material material)
{
	return (struct kube_material){copy(arena, material.text), copy(arena, material.path)};
}

static const struct span *copy_list(struct arena *arena, const struct span *list, size_t count)
{
	struct span *own = arena_allocate_array(arena, count + 1, sizeof(*own));

	for (size_t i = 0; i < count; i++)
		own[i] = copy(arena, list[i]);
	return own;
}

static const struct kube_exec_plugin *copy_plugin(struct arena *arena,
	const struct kube_exec_plugin *plugin)
{
	struct kube_exec_plugin *own;

	if (!plugin)
		return NULL;
	own = arena_allocate(arena, sizeof(*own));
	*own = *plugin;
	own->api_version = copy(arena, plugin->api_version);
	own->command = copy(arena, plugin->command);
	own->words = copy_list(arena, plugin->words, plugin->word_count);
	own->environment = copy_list(arena, plugin->environment, plugin->environment_count);
	own->install_hint = copy(arena, plugin->install_hint);
	return own;
}

static struct kube_access copy_access(struct arena *arena, const struct kube_access *access)
{
	return (struct kube_access){
		.server = copy(arena, access->server),
		.tls_server_name = copy(arena, access->tls_server_name),
		.authorities = copy_material(arena, access->authorities),
		.insecure = access->insecure,
		.default_namespace = copy(arena, access->default_namespace),
		.certificate = copy_material(arena, access->certificate),
		.key = copy_material(arena, access->key),
		.token = copy_material(arena, access->token),
		.username = copy(arena, access->username),
		.password = copy(arena, access->password),
		.plugin = copy_plugin(arena, access->plugin),
		.cluster_config = copy(arena, access->cluster_config),
	};
}

/* ---- where to ---- */

/* "host:port/path" or "[::1]/path" into host (brackets included), port ("" if it has none) and path. */
static void split_authority(struct span text, struct span *ret_host, struct span *ret_port,
	struct span *ret_path)
{
	const char *slash = memchr(text.data, '/', text.length);
	size_t length = slash ? (size_t)(slash - text.data) : text.length;
	const char *bracket = memchr(text.data, ']', length);
	const char *from = bracket ? bracket : text.data;
	const char *colon = memchr(from, ':', length - (size_t)(from - text.data));

	*ret_path = (struct span){text.data + length, text.length - length};
	*ret_host = (struct span){text.data, colon ? (size_t)(colon - text.data) : length};
	*ret_port = SPAN("");
	if (colon)
		*ret_port = (struct span){colon + 1, length - ret_host->length - 1};
}

/* TLS expects the host of the URL: with another name the URL has that, and the connection goes to the
 * server's own host. */
static void choose_url(struct kube_client *client)
{
	const struct kube_access *access = &client->access;
	struct span host, port, path, rest = access->server;
	size_t scheme = span_starts_with(rest, SPAN("https://")) ? 8 : 7;

	client->url = access->server;
	if (!access->tls_server_name.data || scheme == 7)
		return;
	rest.data += scheme;
	rest.length -= scheme;
	split_authority(rest, &host, &port, &path);
	if (port.length == 0)
		port = SPAN("443");
	client->url = arena_format(client->arena, "https://%.*s:%.*s%.*s",
		SPAN_ARGS(access->tls_server_name), SPAN_ARGS(port), SPAN_ARGS(path));
	client->connect_to =
		arena_format(client->arena, "%.*s:%.*s", SPAN_ARGS(host), SPAN_ARGS(port)).data;
}

int kube_client_new(const struct kube_client_config *config, struct kube_client **ret_client,
	struct err *err)
{
	struct kube_client *client;

	if (!config->access->server.data)
		return err_set(err, -EINVAL, "kubernetes: no server is known");
	client = memory_allocate(sizeof(*client));
	client->http = config->http;
	client->runner = config->runner;
	client->arena = arena_new(0);
	client->access = copy_access(client->arena, config->access);
	client->credentials = kube_credentials_new(config->runner, &client->access);
	client->field_manager = arena_copy_string(client->arena,
		config->field_manager ? config->field_manager : "slipway");
	client->timeout_ms = config->timeout_ms ? config->timeout_ms : KUBE_TIMEOUT_MS;
	client->answer_max = config->answer_max ? config->answer_max : KUBE_ANSWER_MAX;
	client->qps = config->qps > 0 ? config->qps : KUBE_QPS;
	client->burst = config->burst ? config->burst : KUBE_BURST;
	client->tokens = client->burst;
	client->filled_us = runner_now_us(config->runner);
	client->cancelled = runner_event_new(config->runner, "kubernetes client cancelled");
	lock_init(&client->lock);
	choose_url(client);
	*ret_client = client;
	return 0;
}

void kube_client_free(struct kube_client *client)
{
	if (!client)
		return;
	kube_discovery_clear(client);
	kube_credentials_free(client->credentials);
	runner_event_free(client->cancelled);
	lock_destroy(&client->lock);
	arena_free(client->arena);
	free(client);
}

void kube_client_cancel(struct kube_client *client)
{
	http_client_cancel(client->http, &client->cancel);
	runner_signal(client->cancelled);
}

struct span kube_client_default_namespace(const struct kube_client *client)
{
	return client->access.default_namespace;
}

void kube_client_statistics(struct kube_client *client,
	struct kube_client_statistics *ret_statistics)
{
	lock_take(&client->lock);
	*ret_statistics = client->statistics;
	lock_release(&client->lock);
	ret_statistics->refreshes = kube_credentials_renewals(client->credentials);
}
