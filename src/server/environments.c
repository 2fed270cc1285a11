/* Daemon environments: their operations, this server's lease among those that share the store, and the managers. */
#include "aws/targets.h"
#include "delivery/notice_sender.h"
#include "environment/act/manager.h"
#include "environment/api/operations.h"
#include "environment/model/notices.h"
#include "pipeline/notices.h"
#include "server/components.h"

static void report_claims(void *context, const char *message)
{
	struct server *server = context;

	log_write(server->log, LOG_WARNING, message, NULL);
}

void environments_register(struct server *server)
{
	rest_add_operations(server, daemon_operations, daemon_operation_count,
		&server->environments);
}

/* Roles of this server are its users. */
static int find_role(void *context, struct span account, struct span role,
	const struct aws_policy **ret_policy, struct err *err)
{
	struct server *server = context;

	return access_key_find_policy(server->ring, account, role, ret_policy, err);
}

static int open_targets(struct server *server, struct err *err)
{
	const struct server_config *config = server->config;
	int code;

	if (config->target_count == 0)
		return 0;
	code = http_client_new(&server->target_client, err);
	if (code == 0)
		code = aws_targets_new(config->targets, config->target_count, server->target_client,
			server->runner, &server->targets, err);
	return code < 0 ? err_prefix(err, code, "targets") : 0;
}

/* Also when none is configured any more, until what was left for them is forgotten. */
static int open_webhooks(struct server *server, struct err *err)
{
	static const struct notice_type *const types[] = {
		&environment_notice_type, &application_notice_type};
	struct notice_sender_config config = {.runner = server->runner,
		.store = server->store,
		.claims = server->claims,
		.webhooks = &server->config->webhooks,
		.types = types,
		.type_count = LENGTH(types),
		.report = server_report_controller,
		.report_context = server};
	_view_ struct store_view *view = store_view_open(server->store);

	if (config.webhooks->count == 0 &&
		store_count(view, &notice_kind, -1, SPAN(""), false) == 0)
		return 0;
	return notice_sender_start(&config, &server->webhooks, err);
}

int lease_open(struct server *server, struct err *err)
{
	struct claims_config claims = {.runner = server->runner,
		.store = server->store,
		.server = server->host,
		.folder = server->folder && store_is_shared(server->store)
				  ? state_folder_id(server->folder)
				  : NULL,
		.passive = server->is_copy,
		.report = report_claims,
		.report_context = server};

	return claims_start(&claims, &server->claims, err);
}

void lease_close(struct server *server)
{
	claims_stop(server->claims);
}

int environments_open(struct server *server, struct err *err)
{
	struct manager_config manager = {.runner = server->runner,
		.store = server->store,
		.dispatcher = server->dispatcher,
		.find_role = find_role,
		.find_role_context = server,
		.webhooks = &server->config->webhooks,
		.report = server_report_controller,
		.log_transition = server_log_transition,
		.report_context = server};
	int code = open_targets(server, err);

	if (code < 0)
		return code;
	manager.claims = server->claims;
	manager.targets = server->targets;
	code = manager_start(&manager, &server->manager, err);
	if (code < 0)
		return code;
	server->environments.count = manager_count;
	server->environments.list_running = manager_list_running;
	server->environments.find_trouble = manager_find_trouble;
	server->environments.count_context = server->manager;
	server->environments.state = manager_state(server->manager);
	server->environments.store = server->store;
	server->environments.webhooks = &server->config->webhooks;
	server->environments.environments_max = server->config->limits_environments;
	server->environments.targets = server->targets;
	return open_webhooks(server, err);
}

void environments_close(struct server *server)
{
	struct err err;

	aws_targets_cancel(server->targets);
	manager_stop(server->manager);
	notice_sender_stop(server->webhooks);
	if (server->claims && claims_resign(server->claims, &err) < 0)
		log_write(server->log, LOG_WARNING, "the lease was not given up", "error",
			err.message, NULL);
	aws_targets_free(server->targets);
	http_client_free(server->target_client);
}

/* ---- metrics ---- */

#define X(name) +1
enum { TYPE_COUNT = 0 ENVIRONMENT_TYPES(X), STATUS_COUNT = 0 ENVIRONMENT_STATUSES(X) };
#undef X

static void write_environments(const struct store_view *view, struct buffer *out)
{
	struct store_cursor cursor = {.view = view, .kind = &environment_kind, .index = -1};
	unsigned long long counts[TYPE_COUNT][STATUS_COUNT][2] = {0};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		const struct environment_facts *facts = environment_facts(object);

		counts[facts->type][facts->status][facts->unhealthy]++;
	}
	metric_head(out, "environments", false, "Environments, by type, status and health");
	for (int type = 0; type < TYPE_COUNT; type++)
		for (int status = 0; status < STATUS_COUNT; status++)
			for (int unhealthy = 0; unhealthy < 2; unhealthy++)
				buffer_format(out,
					"slipway_environments{type=\"%s\",status=\"%s\",health=\"%"
					"s\"} "
					"%llu\n",
					environment_type_name((enum environment_type)type),
					environment_status_name((enum environment_status)status),
					unhealthy ? "unhealthy" : "healthy",
					counts[type][status][unhealthy]);
}

static void write_deployments(const struct store_view *view, struct buffer *out)
{
	struct store_cursor cursor = {.view = view,
		.kind = &environment_deployment_kind,
		.index = ENVIRONMENT_DEPLOYMENT_OPEN};
	unsigned long long counts[ENVIRONMENT_DEPLOYMENT_STATUS_COUNT] = {0};
	const struct store_object *object;

	while ((object = store_next(&cursor)))
		counts[environment_deployment_facts(object)->status]++;
	metric_head(out, "environment_deployments", false,
		"Deployments of environments that have not ended, by status");
	for (int i = 0; i < ENVIRONMENT_DEPLOYMENT_STATUS_COUNT; i++) {
		enum environment_deployment_status status = (enum environment_deployment_status)i;

		if (!environment_deployment_has_ended(status))
			buffer_format(out, "slipway_environment_deployments{status=\"%s\"} %llu\n",
				environment_deployment_status_name(status), counts[i]);
	}
}

void environments_write_metrics(struct server *server, struct buffer *out)
{
	_view_ struct store_view *view = store_view_open(server->store);

	write_environments(view, out);
	write_deployments(view, out);
	metric(out, "webhook_notices", false, "Notices that wait for a webhook",
		store_count(view, &notice_kind, -1, SPAN(""), false));
}
