/*
 * Opens the parts in order, routes requests to them, closes them in reverse: store, runtime and tasks,
 * controllers, HTTP, DNS. Controllers that create tasks end before those that run them.
 */
#include "server/server.h"

#include <stdio.h>
#include <sys/sysinfo.h>

#include "base/file.h"
#include "cloudmap/cloudmap.h"
#include "control/claims.h"
#include "ecs/controllers.h"
#include "ecs/ecs.h"
#include "ecs/service/service_controller.h"
#include "ecs/task/task_retention.h"
#include "ecs/task/task_traffic.h"
#include "flow/kinds.h"
#include "pipeline/kinds.h"
#include "server/components.h"

#define KINDS_MAX 64
#define HINT_PAUSE_MS 60000

/* ---- routes ---- */

static const struct route {
	const char *method;
	const char *path; /* ends in '/': a prefix with something behind it */
	route_handler handle;
	bool unsigned_state; /* reads or changes state without a signature: no web page may call it */
} routes[] = {
	{"POST", "/", wire_handle, false},
	{"GET", "/", wire_handle_get, false},
	{"GET", "/healthz", operating_health, false},
	{"GET", "/readyz", operating_ready, false},
	{"GET", "/metrics", operating_metrics, true},
	{"GET", "/_slipway/info", operating_info, true},
	{"POST", "/_slipway/reset", operating_reset, true},
	{"GET", "/v1/ping", rest_wire_ping, false},
	{"GET", "/v1/openapi.json", rest_wire_openapi, false},
};

/* Operations are checked when their caller is authenticated; see wire.c. */
static const char *page_refusal(const struct server *server, const struct http_request *request)
{
	const char *why = request_origin_check_host(&server->origin_rules, request);

	return why ? why : request_origin_check_page(&server->origin_rules, request);
}

static bool path_matches(const struct route *route, struct span path)
{
	struct span pattern = span_of(route->path);

	if (pattern.length > 1 && pattern.data[pattern.length - 1] == '/')
		return path.length > pattern.length && span_starts_with(path, pattern);
	return span_equal(path, pattern);
}

static void handle(struct http_exchange *exchange, const struct http_request *request,
	void *context)
{
	struct server *server = context;
	const char *why;
	bool known = false;

	if (!server->open) {
		rest_refuse(exchange, 503, "Starting", "slipway is starting");
		return;
	}

	for (size_t i = 0; i < LENGTH(routes); i++) {
		if (!path_matches(&routes[i], request->path))
			continue;
		known = true;
		if (!span_is(request->method, routes[i].method) &&
			!(span_is(request->method, "HEAD") && strcmp(routes[i].method, "GET") == 0))
			continue;
		why = routes[i].unsigned_state ? page_refusal(server, request) : NULL;
		if (why)
			rest_refuse(exchange, 403, "Forbidden", "%s", why);
		else
			routes[i].handle(server, exchange, request);
		return;
	}
	if (known)
		rest_refuse(exchange, 405, "MethodNotAllowed", "%.*s is not for this path",
			SPAN_ARGS(request->method));
	else if (span_starts_with(request->path, SPAN("/v1/")))
		rest_wire_handle(server, exchange, request);
	else if (!unoffered_refuse(server, exchange, request))
		rest_refuse(exchange, 404, "NotFound", "there is nothing at %.*s",
			SPAN_ARGS(request->path));
}

/* ---- opening ---- */

const struct server_kind_table server_kind_tables[SERVER_KIND_TABLES] = {
	{ecs_kinds, &ecs_kind_count},
	{cloudmap_kinds, &cloudmap_kind_count},
	{elb_kinds, &elb_kind_count},
	{daemon_kinds, &daemon_kind_count},
	{pipeline_kinds, &pipeline_kind_count},
	{flow_kinds, &flow_kind_count},
};

static void report_store(void *context, const char *message)
{
	struct server *server = context;

	log_write(server->log, LOG_WARNING, message, NULL);
}

void server_report_controller(void *context, const char *controller, struct span key,
	const struct err *err)
{
	struct server *server = context;
	char *key_text = memory_copy_string_n(key.data, key.length);
	/* Until Kubernetes was listed, or without a lease, everything has to wait: that is not logged. */
	bool waits = err->code == -EAGAIN &&
		     (!kubernetes_is_ready(server) ||
			     (server->claims && claims_lost_lease(server->claims)));

	log_write(server->log, waits ? LOG_DEBUG : LOG_WARNING, "reconcile failed", "controller",
		controller, "key", key_text, "error", err->message, NULL);
	free(key_text);
}

void server_log_transition(void *context, bool bad, struct span text)
{
	struct server *server = context;
	_free_ char *message = memory_copy_string_n(text.data, text.length);

	log_write(server->log, bad ? LOG_WARNING : LOG_INFO, message, NULL);
}

static int open_store(struct server *server, struct err *err)
{
	const struct server_config *config = server->config;
	const struct store_kind *kinds[KINDS_MAX];
	_free_ char *key_path = NULL;
	struct store_config store = {.url = config->store,
		.kinds = kinds,
		.clock = server->clock,
		.report = report_store,
		.report_context = server};
	int code;

	for (size_t i = 0; i < SERVER_KIND_TABLES; i++)
		for (size_t j = 0; j < *server_kind_tables[i].count; j++)
			kinds[store.kind_count++] = server_kind_tables[i].kinds[j];
	kinds[store.kind_count++] = &access_key_kind;
	kinds[store.kind_count++] = &server_kind;
	kinds[store.kind_count++] = &claim_kind;
	if (config->state) {
		code = state_folder_open(config->state, &server->folder, err);
		if (code < 0)
			return code;
		key_path = memory_format("%s/integrity.key", config->state);
		store.key_path = key_path;
	}
	code = store_open(&store, &server->store, err);
	if (code == -EBUSY) {
		_free_ char *message = memory_copy_string(err->message);

		return err_set(err, code,
			"open store: %s; if that is another slipway, end it, or start this one "
			"with its own folder: --state DIR (state)",
			message);
	}
	return code < 0 ? err_prefix(err, code, "open store") : 0;
}

static int start_controller(struct server *server, const struct controller_row *row, void *context,
	struct err *err)
{
	struct controller_config config = {.runner = server->runner,
		.store = server->store,
		.context = context,
		.report = server_report_controller,
		.report_context = server};
	int code =
		controller_start(row, &config, &server->controllers[server->controller_count], err);

	if (code == 0)
		server->controller_rows[server->controller_count++] = row;
	return code;
}

static int start_controllers(struct server *server, struct err *err)
{
	int code = start_controller(server, &task_retention_row, NULL, err);

	server->service_control.log_transition = server_log_transition;
	server->service_control.log_context = server;
	if (code == 0)
		code = start_controller(server, &service_controller_row, &server->service_control,
			err);
	if (code == 0)
		code = start_controller(server, &task_traffic_controller_row, NULL, err);
	for (size_t i = 0; code == 0 && i < ecs_controller_count; i++)
		code = start_controller(server, &ecs_controllers[i], NULL, err);
	if (code == 0 && server->runtime && server->runtime->operations->groups &&
		server->runtime->operations->groups->publish)
		code = start_controller(server, &name_publisher_row, &server->name_publisher, err);
	for (size_t i = 0; code == 0 && i < cloudmap_controller_count; i++)
		code = start_controller(server, &cloudmap_controllers[i], NULL, err);
	return code;
}

static int listen_http(struct server *server, struct err *err)
{
	const struct server_config *config = server->config;
	_arena_ struct arena *arena = arena_new(0);
	struct http_server_config http = {
		.certificate_file = config->tls_certificate,
		.key_file = config->tls_key,
		.loops = (unsigned)config->http_threads,
		.limits = {.body_max = (size_t)config->http_body_max,
			.connections_max = (size_t)config->http_connections_max,
			.connections_per_address = (size_t)config->http_connections_per_address},
		.handler = handle,
		.context = server,
	};
	const char *address;
	int code;

	if (http.loops == 0)
		http.loops = get_nprocs() > 3 ? (unsigned)get_nprocs() / 2 : 1;
	code = server_config_split_listen(config->listen, arena, &address, &http.port, err);
	if (code < 0)
		return code;
	http.address = address;
	code = http_server_open(&http, &server->http, err);
	if (code == -EADDRINUSE)
		return err_set(err, code,
			"%s; another program, or another slipway, listens there: end it, or choose "
			"another address with --listen ADDR:PORT (listen; port 0 takes a free one)",
			arena_copy_string(arena, err->message));
	if (code < 0)
		return code;
	server->url = memory_format(strchr(address, ':') ? "%s://[%s]:%u" : "%s://%s:%u",
		config->tls_certificate ? "https" : "http", address,
		http_server_port(server->http));
	server->ecs.endpoint = span_of(server->url);
	return 0;
}

/* Every call is audited; a failure with a hint is logged as well, the same hint at most once a minute. */
static void call_audited(void *context, const struct aws_audit *audit)
{
	struct server *server = context;
	uint64_t hash = span_hash(audit->hint.data ? audit->hint : SPAN(""));
	bool repeated =
		hash == server->hint_hash && audit->time_ms < server->hint_ms + HINT_PAUSE_MS;
	char hint[AWS_MESSAGE_MAX];

	audit_record(server->audit, audit);
	if (!audit->hint.data || repeated)
		return;
	server->hint_hash = hash;
	server->hint_ms = audit->time_ms;
	snprintf(hint, sizeof(hint), "%.*s", SPAN_ARGS(audit->hint));
	log_write(server->log, LOG_INFO, "request failed", "service", audit->service, "error",
		audit->error_type, "hint", hint, NULL);
}

static int open_parts(struct server *server, struct err *err)
{
	const struct server_config *config = server->config;
	struct aws_dispatch_config dispatch = {.clock = server->clock,
		.random = server->random,
		.audit = call_audited,
		.check_answers = getenv("SLIPWAY_CHECK_ANSWERS") != NULL,
		.reads_per_second = (double)config->limits_reads_per_second,
		.writes_per_second = (double)config->limits_writes_per_second};
	int code = open_store(server, err);

	if (code < 0)
		return code;
	if (config->audit_file) {
		code = audit_open(config->audit_file, config->audit_reads, &server->audit, err);
		if (code < 0)
			return code;
	}
	code = request_origin_read(config, &server->origin_rules, err);
	if (code < 0)
		return code;
	code = admin_key_open(server->store, config->state, config->account, server->random,
		server->clock, &server->admin_key, err);
	if (code < 0)
		return code;
	server->ring = access_key_ring_new(server->store, server->clock);
	dispatch.store = server->store;
	dispatch.audit_context = server;
	server->dispatcher = aws_dispatcher_new(&dispatch);
	aws_dispatcher_register(server->dispatcher, &ecs_service, &server->ecs);
	aws_dispatcher_register(server->dispatcher, &cloudmap_service, NULL);
	server->elb.store = server->store;
	aws_dispatcher_register(server->dispatcher, &elb_service, &server->elb);
	aws_dispatcher_register(server->dispatcher, &sts_service, NULL);
	environments_register(server);
	applications_register(server);
	flows_register(server);
	keys_register(server);
	dns_register(server);
	traffic_register(server);
	task_logs_register(server);
	task_exec_register(server);
	change_streams_register(server);
	rest_register(server);
	server->runner = runner_threads_new(server->clock, server->random);
	code = change_streams_open(server, err);
	if (code == 0)
		code = task_logs_open(server, err);
	if (code == 0)
		code = tasks_identify(server, err);
	if (code == 0)
		code = lease_open(server, err);
	if (code == 0)
		code = tasks_open(server, err);
	if (code == 0)
		code = start_controllers(server, err);
	if (code == 0)
		code = traffic_open(server, err);
	if (code == 0)
		code = environments_open(server, err);
	if (code == 0)
		code = applications_open(server, err);
	if (code == 0)
		code = flows_open(server, err);
	if (code == 0)
		code = releases_open(server, err);
	if (code == 0)
		code = listen_http(server, err);
	if (code == 0)
		code = dns_open(server, err);
	if (code == 0)
		code = tasks_set_dns(server, err);
	return code;
}

int server_open(const struct server_config *config, struct log *log, struct server **ret_server,
	struct err *err)
{
	struct server *server = memory_allocate(sizeof(*server));
	int code;

	server->config = config;
	server->log = log;
	server->clock = clock_system();
	server->random = random_system();
	server->started_ms = clock_wall_ms(server->clock);
	lock_init(&server->exec_lock);
	code = open_parts(server, err);
	if (code < 0) {
		server_close(server);
		return code;
	}
	server->open = true;
	*ret_server = server;
	return 0;
}

void server_close(struct server *server)
{
	if (!server)
		return;
	server->draining = true;
	if (server->http)
		http_server_refuse(server->http);
	streams_drain(server->change_streams);
	streams_drain(server->log_streams);
	if (server->http)
		http_server_drain(server->http, (unsigned)server->config->drain_seconds * 1000);
	streams_stop(server->change_streams);
	streams_stop(server->log_streams);
	dns_close(server);
	releases_close(server);
	flows_close(server);
	applications_close(server);
	environments_close(server);
	for (size_t i = server->controller_count; i > 0; i--)
		controller_stop(server->controllers[i - 1]);
	traffic_close(server);
	tasks_close(server);
	lease_close(server);
	if (server->runner) {
		runner_stop(server->runner);
		runner_join(server->runner, NULL);
		runner_free(server->runner);
	}
	/* The store answers what waits for it, and those answers need the exchanges. */
	store_close(server->store);
	http_server_close(server->http);
	streams_free(server->change_streams);
	streams_free(server->log_streams);
	aws_dispatcher_free(server->dispatcher);
	rest_close(server);
	access_key_ring_free(server->ring);
	audit_close(server->audit);
	admin_key_clear(&server->admin_key);
	map_clear(&server->exec_sessions);
	state_folder_close(server->folder);
	lock_destroy(&server->exec_lock);
	free(server->url);
	free(server);
}

const char *server_url(const struct server *server)
{
	return server->url;
}

const char *server_dns_address(const struct server *server)
{
	return server->dns_address;
}

bool server_made_key(const struct server *server)
{
	return server->admin_key.created;
}

bool server_key_is_unused(const struct server *server)
{
	return !server->admin_key.used;
}

const char *server_admin_key_id(const struct server *server)
{
	return server->admin_key.id;
}

const char *server_admin_key_secret(const struct server *server)
{
	return server->admin_key.secret;
}

const char *server_admin_key_path(const struct server *server)
{
	return server->admin_key.path;
}

uint64_t server_lasting_tasks(struct server *server)
{
	return tasks_count_lasting(server);
}

int server_reload(struct server *server, struct err *err)
{
	int code = 0;

	if (server->audit)
		code = audit_reopen(server->audit, err);
	if (code == 0 && server->config->tls_certificate)
		code = http_server_reload_tls(server->http, err);
	traffic_reload(server);
	return code;
}
