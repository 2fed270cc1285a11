/*
 * The cost of deciding in a flow by its size and shape: a chain, a fan-out, and a random graph with three dependencies for
 * each node. Every node is planned, started, deployed and observed by a simulated runtime that answers at once; the time is
 * that of the engine's events and steps, for each finished node. Memory is that of engine and graph. A pass of the
 * controller reads the flow from the store first; that is measured, too.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "flow/engine.h"
#include "flow/pass.h"

#define TARGET_US 1000.0
#define ROUNDS 5

static const uint32_t sizes[] = {100, 1000, 10000};
static const char *const shapes[] = {"chain", "fan-out", "random"};

static struct flow_graph *make_graph(struct arena *arena, unsigned shape, uint32_t nodes)
{
	struct flow_edge *edges = arena_allocate_array(arena, (size_t)nodes * 3, sizeof(*edges));
	struct random_seeded random;
	uint32_t count = 0;

	random_seeded_init(&random, nodes);
	for (uint32_t i = 1; i < nodes; i++) {
		if (shape == 0)
			edges[count++] = (struct flow_edge){i, i - 1};
		else if (shape == 1)
			edges[count++] = (struct flow_edge){i, 0};
		else
			for (unsigned j = 0; j < 3; j++)
				edges[count++] = (struct flow_edge){
					i, (uint32_t)random_below(&random.random, i)};
	}
	return flow_graph_new(arena, nodes, edges, count);
}

static void apply(struct flow_engine *engine, enum flow_event_type type, uint32_t node)
{
	struct flow_event event = {
		.type = type, .node = node, .now_ms = 1, .run = 1, .has_live_state = true};

	flow_engine_apply(engine, &event, NULL);
}

static void answer(struct flow_engine *engine, const struct flow_step *step)
{
	if (step->type == FLOW_STEP_PLAN) {
		apply(engine, FLOW_EVENT_PLANNED, step->node);
	} else if (step->type == FLOW_STEP_START) {
		apply(engine, FLOW_EVENT_DEPLOYMENT_RUNNING, step->node);
		apply(engine, FLOW_EVENT_DEPLOYMENT_SUCCEEDED, step->node);
	} else if (step->type == FLOW_STEP_OBSERVE) {
		apply(engine, FLOW_EVENT_IN_SYNC, step->node);
	}
}

/* Microseconds for each node. */
static double run(const struct flow_graph *graph, size_t *ret_memory)
{
	struct flow_rules rules = {.sync_timeout_ms = 1000, .queue_timeout_ms = 1000};
	struct flow_node_rules *nodes = memory_allocate_array(graph->node_count, sizeof(*nodes));
	_flow_engine_ struct flow_engine *engine = flow_engine_new(graph, &rules, nodes, 1);
	int64_t begin = clock_steady_us(clock_system()), end;
	struct flow_step step;

	apply(engine, FLOW_EVENT_HEAD_SUCCEEDED, 0);
	while (flow_engine_next_step(engine, &step)) {
		answer(engine, &step);
		while (flow_engine_next_changed(engine) != FLOW_NO_NODE)
			;
	}
	end = clock_steady_us(clock_system());
	if (flow_engine_record(engine)->state != FLOW_SUCCESS)
		fprintf(stderr, "the flow did not succeed\n");
	*ret_memory = flow_engine_memory(engine);
	free(nodes);
	return (double)(end - begin) / graph->node_count;
}

/* ---- passes ---- */

struct stored {
	struct flow_definition definition;
	struct span key;
};

static int put_flow(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct stored *stored = context;
	struct arena *arena = store_transaction_arena(transaction);
	struct flow_facts facts = {.head = SPAN("1/head"),
		.created_by = SPAN(""),
		.commit = SPAN(""),
		.state = FLOW_RUNNING,
		.is_started = true};
	int code = flow_put(transaction, stored->key, SPAN("{}"), &facts, STORE_ABSENT, err);

	if (code >= 0)
		code = store_put(transaction, &flow_graph_kind, stored->key,
			json_to_text(flow_definition_write(&stored->definition, arena), arena),
			SPAN("{}"), STORE_ABSENT, err);
	for (uint32_t i = 0; i < stored->definition.graph->node_count && code >= 0; i++) {
		struct flow_node_facts node = {.state = FLOW_NODE_SUCCESS,
			.is_deployed = true,
			.run = 1,
			.plan = SPAN("0123456789abcdef0123456789abcdef"),
			.commit = SPAN("0123456789abcdef0123456789abcdef01234567"),
			.from = SPAN(""),
			.digest = SPAN(""),
			.plan_deployment = SPAN(""),
			.deployment = SPAN("01234567-89ab-cdef-0123-456789abcdef"),
			.deployment_run = 1,
			.before = SPAN(""),
			.undo = SPAN("")};

		code = flow_node_put(transaction, flow_node_key(arena, stored->key, i), SPAN("{}"),
			&node, err);
	}
	return code;
}

static void check(int code, const struct err *err)
{
	if (code >= 0)
		return;
	fprintf(stderr, "flows_bench: %s\n", err->message);
	exit(1);
}

/* Microseconds in which a pass reads a flow. */
static double read_flow(uint32_t size)
{
	_arena_ struct arena *arena = arena_new(0);
	struct store_config config = {.url = "memory:",
		.kinds = flow_kinds,
		.kind_count = flow_kind_count,
		.clock = clock_system(),
		.inline_writes = true};
	struct stored stored = {.key = SPAN("1/flow")};
	struct store *store;
	struct err err;
	double best = 0;

	stored.definition = (struct flow_definition){.graph = make_graph(arena, 2, size),
		.node_rules = arena_allocate_array(arena, size, sizeof(struct flow_node_rules)),
		.nodes = arena_allocate_array(arena, size, sizeof(struct flow_node_definition))};
	for (uint32_t i = 0; i < size; i++)
		stored.definition.nodes[i] = (struct flow_node_definition){
			.name = arena_format(arena, "application-%u", i),
			.commit = SPAN(""),
			.from = SPAN("")};
	check(store_open(&config, &store, &err), &err);
	check(store_write_wait(store, put_flow, &stored, NULL, &err), &err);
	for (unsigned round = 0; round < ROUNDS; round++) {
		_view_ struct store_view *view = store_view_open(store);
		_arena_ struct arena *own = arena_new(0);
		struct flow_pass pass = {.view = view,
			.arena = own,
			.key = stored.key,
			.now_ms = 1,
			.object = store_get(view, &flow_kind, stored.key)};
		int64_t begin = clock_steady_us(clock_system()), end;

		pass.facts = *flow_facts(pass.object);
		check(flow_pass_load(&pass, &err), &err);
		end = clock_steady_us(clock_system());
		flow_engine_free(pass.engine);
		if (round == 0 || (double)(end - begin) < best)
			best = (double)(end - begin);
	}
	store_close(store);
	return best;
}

int main(void)
{
	printf("decisions of flows: microseconds and bytes for each node (target: below %.0f us)\n",
		TARGET_US);
	printf("%-10s %8s %8s %10s %10s\n", "graph", "nodes", "edges", "us/node", "bytes/node");
	for (unsigned shape = 0; shape < LENGTH(shapes); shape++) {
		for (size_t i = 0; i < LENGTH(sizes); i++) {
			_arena_ struct arena *arena = arena_new(0);
			struct flow_graph *graph = make_graph(arena, shape, sizes[i]);
			size_t memory = 0, edges = graph->edge_count;
			double best = run(graph, &memory);

			for (unsigned round = 1; round < ROUNDS; round++) {
				double next = run(graph, &memory);

				best = next < best ? next : best;
			}
			memory += 2 * sizeof(uint32_t) * (edges + sizes[i] + 2);
			printf("%-10s %8u %8zu %10.3f %10.0f\n", shapes[shape], sizes[i], edges,
				best, (double)memory / sizes[i]);
		}
	}
	printf("\na pass reads the flow from the store\n%8s %10s\n", "nodes", "us");
	for (size_t i = 0; i < LENGTH(sizes); i++)
		printf("%8u %10.0f\n", sizes[i], read_flow(sizes[i]));
	return 0;
}
