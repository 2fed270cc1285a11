/* Requests of operators: liveness, readiness, version, metrics, reset. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <sys/resource.h>

#include "aws/access_key.h"
#include "base/file.h"
#include "ecs/ecs.h"
#include "server/components.h"

#define RESET_BATCH 1000
#define METRICS_TOKEN_MAX ((size_t)4096)

static const struct http_header text_plain[] = {
	{SPAN("content-type"), SPAN("text/plain; charset=utf-8")},
};

/* The version is that of Prometheus's text format. */
static const struct http_header metrics_text[] = {
	{SPAN("content-type"), SPAN("text/plain; version=0.0.4; charset=utf-8")},
};

void operating_health(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	(void)server;
	(void)request;
	http_respond(exchange, 200, text_plain, 1, HTTP_BODY_STATIC(SPAN("ok\n")));
}

void operating_ready(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	struct store_statistics store;
	_buffer_ struct buffer outdated = {0};

	(void)request;
	store_statistics(server->store, &store);
	if (server->draining)
		rest_refuse(exchange, 503, "Draining", "slipway is stopping");
	else if (store_is_outdated(server->store, &outdated))
		rest_refuse(exchange, 503, "StoreUnavailable", "the store cannot be written: %.*s",
			SPAN_ARGS(buffer_span(&outdated)));
	else if (!store.available)
		rest_refuse(exchange, 503, "StoreUnavailable", "the store cannot be written");
	else if (server->is_copy)
		rest_refuse(exchange, 503, "StateFolderCopied",
			"the state folder belongs to %s: its tasks are left alone until 'slipway "
			"up "
			"--adopt'",
			state_folder_origin(server->folder));
	else if (claims_lost_lease(server->claims))
		rest_refuse(exchange, 503, "LeaseLost", "this server has lost its lease");
	else if (!kubernetes_is_ready(server))
		rest_refuse(exchange, 503, "KubernetesUnknown",
			"the Kubernetes cluster is not known yet");
	else if (!traffic_is_ready(server))
		rest_refuse(exchange, 503, "TrafficStarting",
			"load balancers do not carry traffic yet");
	else
		http_respond(exchange, 200, text_plain, 1, HTTP_BODY_STATIC(SPAN("ready\n")));
}

void operating_info(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	struct arena *arena = request->arena;
	struct json *info = json_new_object(arena);
	struct json *addresses = json_new_object(arena);
	struct span backend = span_of(server->config->store), rest;

	span_split(backend, ':', &backend,
		&rest); /* nothing of a URL but its scheme: it has passwords */
	json_set_string(arena, info, "version", SPAN(SLIPWAY_VERSION));
	json_set_string(arena, info, "runtime", span_of(server->config->runtime));
	json_set_string(arena, info, "region", span_of(server->config->region));
	json_set_string(arena, info, "store", backend);
	json_set_bool(arena, info, "ephemeral", server->config->ephemeral);
	json_set_string(arena, info, "auth", span_of(server->config->auth));
	json_set_string(arena, addresses, "api", span_of(server->url));
	if (server->dns_address)
		json_set_string(arena, addresses, "dns", span_of(server->dns_address));
	else
		json_set(arena, addresses, "dns", json_new_null(arena));
	json_set(arena, addresses, "console", json_new_null(arena));
	json_set(arena, info, "addresses", addresses);
	rest_respond(exchange, 200, json_to_text(info, arena));
}

/* ---- metrics ---- */

void metric_type(struct buffer *out, const char *name, const char *type, const char *help)
{
	buffer_format(out, "# HELP slipway_%s %s\n# TYPE slipway_%s %s\n", name, help, name, type);
}

void metric_head(struct buffer *out, const char *name, bool grows, const char *help)
{
	metric_type(out, name, grows ? "counter" : "gauge", help);
}

void metric(struct buffer *out, const char *name, bool grows, const char *help,
	unsigned long long value)
{
	metric_head(out, name, grows, help);
	buffer_format(out, "slipway_%s %llu\n", name, value);
}

static void write_calls(void *context, const char *service, const char *operation,
	const char *result, uint64_t calls, double seconds)
{
	(void)seconds;
	buffer_format(context,
		"slipway_calls_total{service=\"%s\",operation=\"%s\",result=\"%s\"} %llu\n",
		service, operation, result, (unsigned long long)calls);
}

static void write_call_seconds(void *context, const char *service, const char *operation,
	const char *result, uint64_t calls, double seconds)
{
	(void)calls;
	buffer_format(context,
		"slipway_call_seconds_total{service=\"%s\",operation=\"%s\",result=\"%s\"} "
		"%.6f\n",
		service, operation, result, seconds);
}

static void write_dns(struct server *server, struct buffer *out)
{
	struct dns_statistics dns = {0};

	if (server->dns && !server->draining)
		dns_server_statistics(server->dns, &dns);
#define WRITE_DNS(name, grows, help) metric(out, "dns_" #name, grows, help, dns.name);
	DNS_STATISTICS(WRITE_DNS)
#undef WRITE_DNS
}

static void write_store(struct server *server, struct buffer *out)
{
	struct store_statistics store;

	store_statistics(server->store, &store);
	metric(out, "store_revision", true, "Last durable revision", store.revision);
	metric(out, "store_objects", false, "Objects in the store", store.objects);
	metric(out, "store_transactions_total", true, "Transactions run", store.transactions);
	metric(out, "store_changes_total", true, "Changes made durable", store.changes);
	metric(out, "store_groups_total", true, "Group commits", store.groups);
	metric(out, "store_groups_failed_total", true, "Group commits that failed",
		store.failed_groups);
	metric(out, "store_commit_microseconds_total", true, "Time spent in commits",
		store.group_microseconds);
	metric(out, "store_quarantined", false, "Records that failed their check",
		store.quarantined);
	metric(out, "store_queue", false, "Writes waiting", store.queue);
	metric(out, "store_feed_bytes", false, "Bytes in the change feed", store.feed_bytes);
	metric(out, "store_available", false, "1 if the last group could be made durable",
		store.available);
}

/* All of them, those of tasks and instances among them; how many. */
static size_t list_controllers(struct server *server, struct controller **controllers,
	const struct controller_row **rows)
{
	size_t count = 0;

	for (; count < server->controller_count; count++) {
		controllers[count] = server->controllers[count];
		rows[count] = server->controller_rows[count];
	}
	if (server->maintainer_runs) {
		controllers[count] = task_controller_controller(server->task_controller);
		rows[count++] = &task_controller_row;
		controllers[count] = instance_maintainer_controller(server->maintainer);
		rows[count++] = &instance_maintainer_row;
		controllers[count] = group_controller_controller(server->group_controller);
		rows[count] = &group_controller_row;
		count += controllers[count] != NULL;
	}
	return count;
}

/* The lines of one metric must stand together, hence two walks over what has two of them. */
static void write_controllers(struct server *server, struct buffer *out)
{
	struct controller *controllers[SERVER_CONTROLLERS_MAX + 3];
	const struct controller_row *rows[SERVER_CONTROLLERS_MAX + 3];
	size_t count = list_controllers(server, controllers, rows);
	struct controller_statistics statistics;

	metric_head(out, "controller_reconciles_total", true, "Steps that controllers made");
	for (size_t i = 0; i < count; i++) {
		controller_statistics(controllers[i], &statistics);
		buffer_format(out, "slipway_controller_reconciles_total{controller=\"%s\"} %llu\n",
			rows[i]->name, (unsigned long long)statistics.reconciles);
	}
	metric_head(out, "controller_failures_total", true, "Steps of controllers that failed");
	for (size_t i = 0; i < count; i++) {
		controller_statistics(controllers[i], &statistics);
		buffer_format(out, "slipway_controller_failures_total{controller=\"%s\"} %llu\n",
			rows[i]->name, (unsigned long long)statistics.failures);
	}
}

static unsigned long long resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (file) {
		if (fscanf(file, "%*u %llu", &pages) != 1)
			pages = 0;
		fclose(file);
	}
	return pages * (unsigned long long)sysconf(_SC_PAGESIZE);
}

/* The file may be replaced while the server runs. */
static bool has_token(const char *path, const struct http_request *request)
{
	struct span sent = http_request_header(request, SPAN("authorization")), scheme, token;
	_buffer_ struct buffer text = {0};
	struct span expected;
	bool same;

	if (!sent.data || !span_split(sent, ' ', &scheme, &token) ||
		!span_equal_ignoring_case(scheme, SPAN("bearer")) ||
		file_read(path, METRICS_TOKEN_MAX, &text, NULL) < 0 || text.length == 0)
		return false;
	expected = buffer_span(&text);
	while (expected.length > 0 && expected.data[expected.length - 1] == '\n')
		expected.length--;
	same = expected.length > 0 && expected.length == token.length &&
	       CRYPTO_memcmp(expected.data, token.data, token.length) == 0;
	explicit_bzero(text.data, text.length);
	return same;
}

static bool may_read_metrics(const struct server_config *config, const struct http_request *request)
{
	if (strcmp(config->metrics_access, "none") == 0 ||
		(strcmp(config->metrics_access, "loopback") == 0 && !request->peer_is_loopback))
		return false;
	return !config->metrics_token_file || has_token(config->metrics_token_file, request);
}

void operating_metrics(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	struct buffer out = {0};
	struct http_statistics http;
	size_t length;
	char *text;

	if (!may_read_metrics(server->config, request)) {
		rest_refuse(exchange, 403, "Forbidden",
			"this client may not read the metrics; see metrics.access and "
			"metrics.tokenFile");
		return;
	}
	metric_head(&out, "info", false, "What runs here");
	buffer_format(&out, "slipway_info{version=\"%s\"} 1\n", SLIPWAY_VERSION);
	metric(&out, "start_time_seconds", false, "When the server started",
		(unsigned long long)(server->started_ms / 1000));
	metric(&out, "resident_bytes", false, "Memory in use", resident_bytes());
	http_server_statistics(server->http, &http);
#define WRITE_HTTP(name, grows, help) metric(&out, "http_" #name, grows, help, http.name);
	HTTP_STATISTICS(WRITE_HTTP)
#undef WRITE_HTTP
	write_dns(server, &out);
	traffic_write_metrics(server, &out);
	kubernetes_write_metrics(server, &out);
	releases_write_metrics(server, &out);
	sync_write_metrics(server, &out);
	environments_write_metrics(server, &out);
	write_store(server, &out);
	write_controllers(server, &out);
	metric(&out, "audit_lost_total", true, "Audit lines that could not be written",
		audit_lost(server->audit));
	metric_head(&out, "calls_total", true, "Calls of operations, by result");
	aws_dispatcher_each_count(server->dispatcher, write_calls, &out);
	metric_head(&out, "call_seconds_total", true, "Time spent in calls, by result");
	aws_dispatcher_each_count(server->dispatcher, write_call_seconds, &out);
	text = buffer_take(&out, &length);
	http_respond(exchange, 200, metrics_text, 1, HTTP_BODY_OWNED(text, length));
}

/* ---- reset ---- */

struct reset {
	struct server *server;
	struct http_exchange *exchange;
	bool more;
};

/* Removes objects of one kind as long as there is room in the batch. */
static int reset_kind(struct store_transaction *transaction, const struct store_kind *kind,
	size_t *removed, struct err *err)
{
	for (; *removed < RESET_BATCH; ++*removed) {
		struct store_cursor cursor = {
			.view = store_head(transaction), .kind = kind, .index = -1};
		const struct store_object *object = store_next(&cursor);
		int code =
			object ? store_delete(transaction, kind, object->key, STORE_ANY, err) : 0;

		if (!object || code < 0)
			return code;
	}
	return 0;
}

/* Removes everything but the keys that people signed in with, a batch at a time. */
static int reset_batch(struct store_transaction *transaction, void *context, struct err *err)
{
	struct reset *reset = context;
	size_t removed = 0;
	int code = 0;

	for (size_t i = 0; code == 0 && i < SERVER_KIND_TABLES; i++)
		for (size_t j = 0; code == 0 && j < *server_kind_tables[i].count; j++)
			code = reset_kind(transaction, server_kind_tables[i].kinds[j], &removed,
				err);
	reset->more = removed == RESET_BATCH;
	return code;
}

/* The task controller stops containers that no task wants. The answer waits for it, so that ports
 * and memory are free after a reset. */
static void reset_tasks(void *context)
{
	struct reset *reset = context;
	int code = tasks_wait_until_ended(reset->server);

	if (code == 0)
		code = traffic_wait_until_settled(reset->server);
	if (code == 0)
		code = tasks_wait_for_instances(reset->server);
	if (code < 0)
		rest_refuse(reset->exchange, 503, "TasksRunning",
			"reset: some tasks or listeners do not stop, or instances do not come "
			"back");
	else
		rest_respond(reset->exchange, 200, SPAN("{}"));
}

static void reset_done(void *context, int code, uint64_t revision, const struct err *err)
{
	struct reset *reset = context;

	(void)revision;
	if (code == 0 && reset->more &&
		store_write(reset->server->store, reset_batch, reset_done, reset, NULL) == 0)
		return;
	if (code == 0 && !reset->more &&
		runner_spawn(reset->server->runner, "reset", reset_tasks, reset, NULL) == 0)
		return;
	else
		rest_refuse(reset->exchange, 503, "StoreUnavailable", "reset: %s",
			code < 0 ? err->message : "too many writes are waiting");
}

void operating_reset(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	struct reset *reset;

	if (!server->config->ephemeral || !request->peer_is_loopback) {
		rest_refuse(exchange, 403, "Forbidden",
			"reset is for servers started with --ephemeral, from loopback only");
		return;
	}
	reset = arena_allocate(request->arena, sizeof(*reset));
	*reset = (struct reset){.server = server, .exchange = exchange};
	if (store_write(server->store, reset_batch, reset_done, reset, NULL) < 0)
		rest_refuse(exchange, 503, "StoreUnavailable",
			"reset: too many writes are waiting");
}
