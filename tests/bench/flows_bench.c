/*
 * The cost of deciding in a flow by its size and shape: a chain, a fan-out, and a random graph with three dependencies for
 * each node. Every node is planned, started, deployed and observed by a simulated runtime that answers at once; the time is
 * that of the engine's events and steps, for each finished node. Memory is that of engine and graph.
 *
 * Passes of the controller are measured over a chain in a store in memory, whose nodes have files that came with the head:
 * with the flow kept in memory between passes, and restored from the store in each pass, as after a restart.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "flow/engine.h"
#include "flow/pass.h"

#define TARGET_US 1000.0
#define ROUNDS 5
#define PASSES 90
#define KEY SPAN("1/flow")

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

struct world {
	struct runner *runner;
	struct store *store;
	struct claims *claims;
	struct random_seeded ids;
	struct flow_controller_config config;
	struct flow_cache cache;
	struct flow_definition definition;
	int64_t now_ms;
};

static void check(int code, const struct err *err)
{
	if (code >= 0)
		return;
	fprintf(stderr, "flows_bench: %s\n", err->message);
	exit(1);
}

/* A chain of which all nodes but the last ones are done; the first of these is next. */
static int put_nodes(const struct world *world, struct store_transaction *transaction,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	uint32_t count = world->definition.graph->node_count;
	int code = 0;

	for (uint32_t i = 0; i < count && code >= 0; i++) {
		bool is_done = i + PASSES < count, is_next = i + PASSES == count;
		struct flow_node_facts node = {.state = is_done   ? FLOW_NODE_SUCCESS
							: is_next ? FLOW_NODE_QUEUED
								  : FLOW_NODE_PENDING,
			.phase = is_next ? FLOW_PHASE_PLANNING : FLOW_PHASE_NONE,
			.is_deployed = is_done,
			.run = is_done,
			.plan = SPAN("0123456789abcdef0123456789abcdef"),
			.commit = SPAN("0123456789abcdef0123456789abcdef01234567"),
			.from = SPAN(""),
			.digest = SPAN(""),
			.plan_deployment = SPAN(""),
			.deployment =
				is_done ? SPAN("01234567-89ab-cdef-0123-456789abcdef") : SPAN(""),
			.deployment_run = is_done,
			.before = SPAN(""),
			.undo = SPAN("")};

		code = flow_node_put(transaction, flow_node_key(arena, KEY, i), SPAN("{}"), &node,
			err);
	}
	return code;
}

static int put_flow(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct world *world = context;
	struct arena *arena = store_transaction_arena(transaction);
	const struct flow_facts facts = {.head = SPAN("1/head"),
		.number = 1,
		.created_by = SPAN(""),
		.commit = SPAN(""),
		.state = FLOW_RUNNING,
		.is_started = true};
	struct json *files = json_new_object(arena), *entry = json_new_object(arena),
		    *texts = json_new_object(arena);
	int code = flow_put(transaction, KEY, SPAN("{}"), &facts, STORE_ABSENT, err);

	json_set_string(arena, texts, "a", SPAN("b"));
	json_set(arena, entry, "files", texts);
	json_set_string(arena, entry, "applicationFile", SPAN("a"));
	for (uint32_t i = 0; i < world->definition.graph->node_count; i++)
		json_set(arena, files, world->definition.nodes[i].name.data, entry);
	if (code >= 0)
		code = store_put(transaction, &flow_graph_kind, KEY,
			json_to_text(flow_definition_write(&world->definition, arena), arena),
			SPAN("{}"), STORE_ABSENT, err);
	if (code >= 0)
		code = store_put(transaction, &flow_files_kind, KEY, json_to_text(files, arena),
			SPAN("{}"), STORE_ABSENT, err);
	return code < 0 ? code : put_nodes(world, transaction, err);
}

static void open_world(struct world *world, struct arena *arena, uint32_t size)
{
	const struct store_kind *kinds[32];
	struct store_config store = {.url = "memory:", .kinds = kinds, .inline_writes = true};
	struct claims_config claims = {.server = "one"};
	struct err err;

	*world = (struct world){.runner = runner_simulated_new(size), .now_ms = 1};
	world->definition = (struct flow_definition){.graph = make_graph(arena, 0, size),
		.node_rules = arena_allocate_array(arena, size, sizeof(struct flow_node_rules)),
		.nodes = arena_allocate_array(arena, size, sizeof(struct flow_node_definition))};
	for (uint32_t i = 0; i < size; i++)
		world->definition.nodes[i] = (struct flow_node_definition){
			.name = arena_format(arena, "application-%u", i),
			.has_files = true,
			.commit = SPAN(""),
			.from = SPAN("")};
	kinds[store.kind_count++] = &server_kind;
	kinds[store.kind_count++] = &claim_kind;
	for (size_t i = 0; i < flow_kind_count; i++)
		kinds[store.kind_count++] = flow_kinds[i];
	for (size_t i = 0; i < pipeline_kind_count; i++)
		kinds[store.kind_count++] = pipeline_kinds[i];
	random_seeded_init(&world->ids, size);
	flow_cache_init(&world->cache, FLOW_CACHE_BYTES_MAX);
	store.clock = runner_clock(world->runner);
	check(store_open(&store, &world->store, &err), &err);
	claims.runner = world->runner;
	claims.store = world->store;
	check(claims_start(&claims, &world->claims, &err), &err);
	world->config = (struct flow_controller_config){
		.store = world->store, .claims = world->claims, .random = &world->ids.random};
	check(store_write_wait(world->store, put_flow, world, NULL, &err), &err);
}

static void close_world(struct world *world)
{
	flow_cache_destroy(&world->cache);
	runner_stop(world->runner);
	claims_stop(world->claims);
	runner_join(world->runner, NULL);
	store_close(world->store);
	runner_free(world->runner);
}

static int end_deployment(struct store_transaction *transaction, void *context, struct err *err)
{
	struct store_cursor cursor = {.view = store_head(transaction),
		.kind = &deployment_kind,
		.index = DEPLOYMENT_OPEN};
	const struct store_object *object = store_next(&cursor);
	struct deployment_facts facts;

	(void)context;
	if (!object)
		return err_set(err, -ENOENT, "the pass has started no deployment");
	facts = *deployment_facts(object);
	facts.is_planned = true;
	facts.state = PIPELINE_DEPLOYMENT_SUCCESS;
	return deployment_put_facts(transaction, object->key, object->api, &facts, object->revision,
		err);
}

/* Microseconds. Such a pass finds that the deployment of a node has succeeded, ends the node, and starts the next one. */
static double run_pass(struct world *world, bool keeps)
{
	int64_t begin = clock_steady_us(clock_system());
	_arena_ struct arena *arena = arena_new(0);
	struct flow_pass pass = {.config = &world->config,
		.arena = arena,
		.now_ms = ++world->now_ms,
		.key = KEY,
		.refused = FLOW_NO_NODE};
	struct store_view *view;
	struct err err;

	check(claims_acquire(world->claims, SPAN("flow:1/flow"), &pass.claim, &err), &err);
	view = store_view_open(world->store);
	pass.view = view;
	pass.object = store_get(view, &flow_kind, KEY);
	pass.facts = *flow_facts(pass.object);
	check(flow_pass_run(&pass, keeps ? &world->cache : NULL, &err), &err);
	store_view_close(view);
	return (double)(clock_steady_us(clock_system()) - begin);
}

static int compare_times(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* The median of passes over a flow of this size. */
static double measure_passes(uint32_t size, bool keeps, size_t *ret_kept_bytes)
{
	_arena_ struct arena *arena = arena_new(0);
	struct world world;
	double times[PASSES];
	struct err err;

	open_world(&world, arena, size);
	run_pass(&world, keeps); /* reads the flow, and starts the first deployment */
	for (size_t i = 0; i < PASSES; i++) {
		check(store_write_wait(world.store, end_deployment, &world, NULL, &err), &err);
		*ret_kept_bytes = world.cache.bytes;
		times[i] = run_pass(&world, keeps);
	}
	close_world(&world);
	qsort(times, PASSES, sizeof(times[0]), compare_times);
	return times[PASSES / 2];
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
	printf("\npasses of the controller: microseconds for a pass that ends a node and starts "
	       "the "
	       "next one (target: below %.0f us)\n",
		TARGET_US);
	printf("%8s %10s %10s %10s\n", "nodes", "kept", "restored", "bytes/node");
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		size_t bytes = 0, none = 0;
		double kept = measure_passes(sizes[i], true, &bytes),
		       restored = measure_passes(sizes[i], false, &none);

		printf("%8u %10.0f %10.0f %10.0f\n", sizes[i], kept, restored,
			(double)bytes / sizes[i]);
	}
	return 0;
}
