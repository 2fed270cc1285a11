/* Applications: their operations, and the engine that carries their deployments out. */
#include "aws/targets.h"
#include "pipeline/api.h"
#include "pipeline/engine.h"
#include "server/components.h"

void applications_register(struct server *server)
{
	rest_add_operations(server, pipeline_operations, pipeline_operation_count, NULL);
}

/* Roles of this server are its users. */
static int find_role(void *context, struct span account, struct span role,
	const struct aws_policy **ret_policy, struct err *err)
{
	struct server *server = context;

	return access_key_find_policy(server->ring, account, role, ret_policy, err);
}

int applications_open(struct server *server, struct err *err)
{
	struct engine_config config = {.runner = server->runner,
		.store = server->store,
		.claims = server->claims,
		.dispatcher = server->dispatcher,
		.targets = server->targets,
		.settings = &server->config->pipelines,
		.find_role = find_role,
		.find_role_context = server,
		.report = server_report_controller,
		.report_context = server};

	int code = http_client_new(&server->analysis_client, err);

	if (code < 0)
		return err_prefix(err, code, "applications");
	config.client = server->analysis_client;
	return engine_start(&config, &server->engine, err);
}

void applications_close(struct server *server)
{
	aws_targets_cancel(server->targets);
	engine_stop(server->engine);
	http_client_free(server->analysis_client);
}
