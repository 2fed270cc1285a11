/* Applications: their operations, and the engine that carries their deployments out. */
#include <stdlib.h>

#include "aws/targets.h"
#include "base/memory.h"
#include "flow/controller.h"
#include "io/child.h"
#include "pipeline/api.h"
#include "pipeline/engine.h"
#include "pipeline/poller.h"
#include "pipeline/resync.h"
#include "pipeline/script.h"
#include "server/components.h"
#include "server/traffic.h"

#define OUTPUT_PIECE ((size_t)64 * 1024)
#define OUTPUT_PIECES_MAX 16

void applications_register(struct server *server)
{
	server->applications.settings = &server->config->pipelines;
	rest_add_operations(server, pipeline_operations, pipeline_operation_count,
		&server->applications);
}

/* Roles of this server are its users. */
static int find_role(void *context, struct span account, struct span role,
	const struct aws_policy **ret_policy, struct err *err)
{
	struct server *server = context;

	return access_key_find_policy(server->ring, account, role, ret_policy, err);
}

/* Clones of repositories are kept beside the state, so that a restart fetches only what is new. */
static int open_repositories(struct server *server, struct err *err)
{
	const char *parent = getenv("TMPDIR");
	struct repositories_config config = {
		.children = child_system(), .settings = &server->config->pipelines};

	if (server->config->state) {
		server->repository_folder = memory_format("%s/repositories", server->config->state);
	} else {
		server->repository_folder = memory_format("%s/slipway-repositories-XXXXXX",
			parent && parent[0] ? parent : "/tmp");
		if (!mkdtemp(server->repository_folder))
			return err_errno(err, "make folder '%s'", server->repository_folder);
	}
	config.folder = server->repository_folder;
	server->repositories = repositories_new(&config);
	return 0;
}

static int start_triggers(struct server *server, struct err *err)
{
	struct poller_config config = {.runner = server->runner,
		.store = server->store,
		.claims = server->claims,
		.random = server->random,
		.repositories = server->repositories,
		.settings = &server->config->pipelines,
		.report = server_report_controller,
		.report_context = server};

	struct resync_config resync = {.runner = server->runner,
		.store = server->store,
		.random = server->random,
		.report = server_report_controller,
		.report_context = server};
	int code = poller_start(&config, &server->poller, err);

	return code < 0 ? code : resync_start(&resync, &server->resync, err);
}

static bool read_traffic(void *context, struct span key, struct group_traffic *ret_traffic)
{
	struct server *server = context;
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_report report = {0};
	const struct proxy_group_report *group;

	if (server->draining)
		return false;
	elb_plane_report(server->traffic->plane, arena, &report);
	group = proxy_report_group(&report, arena_copy(arena, key.data, key.length));
	if (!group)
		return false;
	ret_traffic->requests = group->counters.connections;
	ret_traffic->failed = group->counters.failed;
	ret_traffic->response_ms = (double)group->counters.response_ms;
	_Static_assert(sizeof(ret_traffic->responses) == sizeof(group->counters.responses),
		"classes");
	memcpy(ret_traffic->responses, group->counters.responses, sizeof(ret_traffic->responses));
	return true;
}

/* Logs are read from their beginning: only so much of a long one. */
static void read_output(void *context, struct span task, struct span container, struct buffer *out)
{
	struct server *server = context;
	struct runtime *runtime = server->runtime;
	size_t before = out->length;
	uint64_t offset = 0;

	if (!runtime || !runtime->operations->read_logs)
		return;
	for (unsigned piece = 0; piece < OUTPUT_PIECES_MAX; piece++) {
		uint64_t next = offset;

		if (runtime->operations->read_logs(runtime, task, container, offset, OUTPUT_PIECE,
			    out, NULL, &next, NULL) < 0 ||
			next == offset)
			break;
		offset = next;
		if (out->length - before > TASK_OUTPUT_MAX) {
			size_t kept = out->length - TASK_OUTPUT_MAX;

			memmove(out->data + before, out->data + kept, TASK_OUTPUT_MAX);
			out->length = before + TASK_OUTPUT_MAX;
		}
	}
}

int applications_open(struct server *server, struct err *err)
{
	struct engine_config config = {.runner = server->runner,
		.store = server->store,
		.claims = server->claims,
		.dispatcher = server->dispatcher,
		.targets = server->targets,
		.settings = &server->config->pipelines,
		.post_sync = &flow_post_sync,
		.webhooks = &server->config->webhooks,
		.read_traffic = read_traffic,
		.traffic_context = server,
		.read_output = read_output,
		.read_output_context = server,
		.find_role = find_role,
		.find_role_context = server,
		.report = server_report_controller,
		.report_context = server};

	int code = http_client_new(&server->analysis_client, err);

	if (code < 0)
		return err_prefix(err, code, "applications");
	config.client = server->analysis_client;
	server->applications.store = server->store;
	code = open_repositories(server, err);
	config.repositories = server->repositories;
	if (code >= 0)
		code = engine_start(&config, &server->engine, err);
	return code < 0 ? code : start_triggers(server, err);
}

void applications_close(struct server *server)
{
	aws_targets_cancel(server->targets);
	controller_stop(server->resync);
	poller_stop(server->poller);
	engine_stop(server->engine);
	repositories_free(server->repositories);
	if (server->repository_folder && !server->config->state)
		script_remove_folder(server->repository_folder);
	free(TAKE(server->repository_folder));
	http_client_free(server->analysis_client);
}
