/* Flows: their operations, and the controller that carries them out. */
#include "aws/targets.h"
#include "flow/api.h"
#include "flow/controller.h"
#include "server/components.h"

void flows_register(struct server *server)
{
	rest_add_operations(server, flow_operations, flow_operation_count, NULL);
}

static int find_role(void *context, struct span account, struct span role,
	const struct aws_policy **ret_policy, struct err *err)
{
	struct server *server = context;

	return access_key_find_policy(server->ring, account, role, ret_policy, err);
}

int flows_open(struct server *server, struct err *err)
{
	const struct flow_controller_config config = {.runner = server->runner,
		.store = server->store,
		.claims = server->claims,
		.random = server->random,
		.dispatcher = server->dispatcher,
		.targets = server->targets,
		.repositories = server->repositories,
		.find_role = find_role,
		.find_role_context = server,
		.audit = audit_record,
		.audit_context = server->audit,
		.report = server_report_controller,
		.report_context = server};

	server->flow_streams.store = server->store;
	return flow_controller_start(&config, &server->flows, err);
}

void flows_close(struct server *server)
{
	aws_targets_cancel(server->targets);
	flow_controller_stop(server->flows);
}
