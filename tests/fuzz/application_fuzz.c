/*
 * Application files with their flows, and definition files: what is read lies within its bounds, and an error names the file. The first byte
 * chooses the reader.
 */
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/application.h"
#include "pipeline/definition.h"
#include "pipeline/flow_config.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(int code, const struct err *err)
{
	CHECK(code == -EINVAL || code == -E2BIG);
	CHECK(err->code == code && strncmp(err->message, "f:", 2) == 0);
}

/* Edges lie within the graph, and each node comes after its dependencies in some order. */
static void check_graph(const struct flow_graph *graph, struct arena *arena)
{
	uint32_t *path;

	CHECK(graph->node_count <= FLOW_NODES_MAX && graph->edge_count <= FLOW_EDGES_MAX);
	for (uint32_t i = 0; i < graph->edge_count; i++)
		CHECK(graph->dependencies[i] < graph->node_count &&
			graph->dependents[i] < graph->node_count);
	CHECK(flow_graph_find_cycle(graph, arena, &path) == 0);
}

static void check_flow(const struct application *application, struct arena *arena)
{
	static const struct flow_application applications[] = {
		{{"1", 1}, {"a", 1}, {"ECSApp", 6}, NULL, true, true},
		{{"2", 1}, {"b", 1}, {"ECSApp", 6}, NULL, true, false},
		{{"3", 1}, {"c", 1}, {"LambdaApp", 9}, NULL, false, true},
	};
	const struct flow_config *config = application->flow;
	struct flow_plan plan;
	struct err err = {0};
	int code = 0;

	if (config) {
		CHECK(config->is_chain ? config->blocks.count > 0 : config->nodes.count > 0);
		flow_config_conditions_hold(config, SPAN("Release"));
		code = flow_config_resolve(config, applications, 3, SPAN("1"), arena, &plan, &err);
		if (code >= 0)
			check_graph(plan.graph, arena);
	}
	if (code < 0)
		check_error(code, &err);
}

static void check_application(struct span text, struct arena *arena)
{
	struct application *application;
	const struct stage *stages;
	struct err err = {0};
	int code = application_load(SPAN("f"), text, arena, &application, &err);

	if (code < 0) {
		check_error(code, &err);
		return;
	}
	stages = application_stages(application);
	CHECK(application->stages.count <= APPLICATION_STAGES_MAX);
	for (size_t i = 0; i < application->stages.count; i++) {
		CHECK(stages[i].id.length > 0 && stages[i].kind < STAGE_KIND_COUNT);
		if (stages[i].kind == STAGE_ECS_TRAFFIC_ROUTING)
			CHECK(stages[i].options.primary + stages[i].options.canary == 100);
	}
	CHECK(application->input.access != 0 && application->timeout_ms > 0);
	check_flow(application, arena);
}

static void check_task(struct span text, struct arena *arena)
{
	struct task_file task;
	struct err err = {0};
	int code = definition_load_task(SPAN("f"), text, arena, &task, &err);

	if (code < 0)
		check_error(code, &err);
	else
		CHECK(task.family.length > 0);
}

static void check_service(struct span text, struct arena *arena)
{
	struct service_file service;
	struct err err = {0};
	int code = definition_load_service(SPAN("f"), text, arena, &service, &err);

	if (code < 0)
		check_error(code, &err);
	else
		CHECK(service.name.length > 0 && !json_get(service.request, "taskDefinition"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span text = {(const char *)data + 1, size - 1};

	if (size == 0)
		return 0;
	switch (data[0]) {
	case 't': check_task(text, arena); break;
	case 's': check_service(text, arena); break;
	default: check_application(text, arena); break;
	}
	return 0;
}
