/*
 * The engine of flows in a simulated world: random graphs, rules, plans that change, failures, approvals, cancels, newer
 * flows, retries and restarts. Every start respects its dependencies, nothing is started twice, a rollback goes from the
 * dependents downwards, blocked nodes name a node that caused it, and every flow ends. Each event with the states after
 * it goes to a model in Python (tests/model/flow_model.py), which must agree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "flow/engine.h"

#define NODES_MAX 14
#define FLOWS 1500
#define RETRIES_MAX 2
#define RUNS_MAX 64
#define ROUNDS_MAX 20000
#define CALM_ROUNDS 400 /* after that, clients leave the flow alone and faults are rare */
/* The last digit differs between kinds of deadlines, so that no two nodes are due at once. */
#define SYNC_TIMEOUT_MS 60001
#define QUEUE_TIMEOUT_MS 40002
#define APPROVAL_TIMEOUT_MS 50003
#define SOAK_MS 20004

enum deployment_state {
	DEPLOYMENT_NONE,
	DEPLOYMENT_PENDING,
	DEPLOYMENT_RUNNING,
	DEPLOYMENT_ROLLING_BACK,
	DEPLOYMENT_SUCCEEDED,
	DEPLOYMENT_FAILED,
	DEPLOYMENT_CANCELLED,
	DEPLOYMENT_STALE,
};

struct world_node {
	bool has_step;
	struct flow_step step;
	enum deployment_state deployments[RUNS_MAX]; /* by run */
	unsigned ran;                                /* deployments that ran */
	unsigned plan_version;
	bool has_live_state;
};

struct world {
	struct random_seeded random;
	struct arena *arena;
	const struct flow_graph *graph;
	struct flow_rules rules;
	struct flow_node_rules node_rules[NODES_MAX];
	struct flow_engine *engine;
	struct flow_record record; /* as stored */
	struct flow_node_record records[NODES_MAX];
	struct world_node nodes[NODES_MAX];
	int64_t now_ms;
	unsigned retries;
	bool was_superseded;
	FILE *model;
};

static unsigned seen_states[FLOW_NODE_STATE_COUNT], seen_reasons[FLOW_REASON_COUNT],
	seen_flows[FLOW_STATE_COUNT], seen_phases[FLOW_PHASE_COUNT], seen_steps[FLOW_STEP_UNDO + 1],
	restarts, repeated_steps, put_off;

static unsigned below(struct world *world, unsigned limit)
{
	return (unsigned)random_below(&world->random.random, limit);
}

static bool chance(struct world *world, unsigned percent)
{
	return below(world, 100) < percent;
}

static bool is_done(const struct world *world, uint32_t node)
{
	return world->records[node].state == FLOW_NODE_SUCCESS ||
	       world->records[node].state == FLOW_NODE_SKIPPED;
}

/* ---- properties ---- */

static void check_step(const struct world *world, const struct flow_step *step)
{
	bool reached[NODES_MAX] = {0};

	if (step->type == FLOW_STEP_PLAN || step->type == FLOW_STEP_START) {
		FLOW_EACH_DEPENDENCY(world->graph, step->node, dependency)
		assert_true(is_done(world, *dependency));
		assert_true(world->record.is_started);
	}
	if (step->type != FLOW_STEP_UNDO)
		return;
	/* Indexes grow from dependency to dependent. */
	reached[step->node] = true;
	for (uint32_t i = 0; i < world->graph->node_count; i++) {
		FLOW_EACH_DEPENDENCY(world->graph, i, dependency)
		reached[i] |= reached[*dependency];
		if (reached[i] && i != step->node)
			assert_false(world->records[i].is_deployed);
	}
}

static void check_blocked(const struct world *world)
{
	for (uint32_t i = 0; i < world->graph->node_count; i++) {
		bool reached[NODES_MAX] = {0};
		uint32_t cause = world->records[i].cause;

		if (world->records[i].state != FLOW_NODE_BLOCKED)
			continue;
		assert_true(cause < i);
		assert_true(world->records[cause].state == FLOW_NODE_FAILURE ||
			    world->records[cause].state == FLOW_NODE_CANCELLED ||
			    world->records[cause].state == FLOW_NODE_DISABLED);
		reached[cause] = true;
		for (uint32_t j = cause; j <= i; j++) {
			FLOW_EACH_DEPENDENCY(world->graph, j, dependency)
			reached[j] |= reached[*dependency];
		}
		assert_true(reached[i]);
	}
}

static void check_end(const struct world *world)
{
	for (uint32_t i = 0; i < world->graph->node_count; i++) {
		assert_true(flow_node_state_is_terminal(world->records[i].state));
		assert_false(world->nodes[i].has_step);
		for (unsigned j = 0; j < RUNS_MAX; j++)
			assert_true(world->nodes[i].deployments[j] == DEPLOYMENT_NONE ||
				    world->nodes[i].deployments[j] >= DEPLOYMENT_SUCCEEDED);
	}
	check_blocked(world);
	seen_flows[world->record.state]++;
}

/* ---- the engine and what is stored of it ---- */

static void write_states(struct world *world, bool refused)
{
	fprintf(world->model, "is %s %s %d", flow_state_name(world->record.state),
		flow_reason_name(world->record.closing), refused);
	for (uint32_t i = 0; i < world->graph->node_count; i++) {
		const struct flow_node_record *record = &world->records[i];

		fprintf(world->model, " | %s %s %s %d %u %d %lld %d",
			flow_node_state_name(record->state), flow_phase_name(record->phase),
			flow_reason_name(record->reason), (int)record->cause, record->run,
			record->stop, (long long)record->deadline_ms, record->is_deployed);
		seen_states[record->state]++;
		seen_reasons[record->reason]++;
		seen_phases[record->phase]++;
	}
	fputc('\n', world->model);
}

/* Takes what has changed, and the steps, from the engine. */
static void drain(struct world *world)
{
	struct flow_step step;
	uint32_t node;

	if (flow_engine_take_record_changed(world->engine))
		world->record = *flow_engine_record(world->engine);
	while ((node = flow_engine_next_changed(world->engine)) != FLOW_NO_NODE) {
		const struct flow_node_record *now = flow_engine_node(world->engine, node);

		world->records[node] = *now;
		world->nodes[node].has_step = false;
	}
	/* Nothing else has changed. */
	assert_memory_equal(&world->record, flow_engine_record(world->engine),
		sizeof(world->record));
	for (uint32_t i = 0; i < world->graph->node_count; i++)
		assert_memory_equal(&world->records[i], flow_engine_node(world->engine, i),
			sizeof(world->records[i]));
	while (flow_engine_next_step(world->engine, &step)) {
		check_step(world, &step);
		seen_steps[step.type]++;
		world->nodes[step.node].has_step = true;
		world->nodes[step.node].step = step;
	}
}

static int apply(struct world *world, const struct flow_event *event)
{
	struct err err = {0};
	bool of_node = flow_event_is_of_node(event->type);
	int code;

	fprintf(world->model, "event %s %lld %d %u ", flow_event_name(event->type),
		(long long)world->now_ms, of_node ? (int)event->node : -1, event->run);
	for (unsigned i = 0; i < FLOW_PLAN_ID_SIZE; i++)
		fprintf(world->model, "%02x", event->plan.bytes[i]);
	fprintf(world->model, " %d %d\n", event->is_unchanged, event->has_live_state);
	code = flow_engine_apply(world->engine, event, &err);
	if (code < 0)
		assert_true(err.message[0] != '\0');
	drain(world);
	write_states(world, code < 0);
	return code;
}

static struct flow_event event_of(const struct world *world, enum flow_event_type type,
	uint32_t node)
{
	return (struct flow_event){.type = type,
		.now_ms = world->now_ms,
		.node = node,
		.run = world->records[node].run,
		.has_live_state = world->nodes[node].has_live_state};
}

static void restart(struct world *world)
{
	flow_engine_free(world->engine);
	for (uint32_t i = 0; i < world->graph->node_count; i++)
		world->nodes[i].has_step = false;
	world->engine = flow_engine_restore(world->graph, &world->rules, world->node_rules,
		&world->record, world->records, world->now_ms);
	drain(world);
	restarts++;
}

/* The engine that was kept decides as one that is restored from what is stored; either continues. */
static void compare_restored(struct world *world)
{
	struct flow_engine *restored = flow_engine_restore(world->graph, &world->rules,
		world->node_rules, &world->record, world->records, world->now_ms);
	struct flow_step step, kept_step;
	const uint32_t *active, *kept_active;
	uint32_t count, kept_count;

	flow_engine_repeat_steps(world->engine);
	while (flow_engine_next_step(restored, &step)) {
		assert_true(flow_engine_next_step(world->engine, &kept_step));
		assert_int_equal(step.type, kept_step.type);
		assert_int_equal(step.node, kept_step.node);
		assert_int_equal(step.run, kept_step.run);
		assert_int_equal(step.rolls_back, kept_step.rolls_back);
		/* It was not taken yet. */
		assert_true(world->nodes[step.node].has_step);
		assert_int_equal(world->nodes[step.node].step.type, step.type);
		repeated_steps++;
	}
	assert_false(flow_engine_next_step(world->engine, &kept_step));
	active = flow_engine_active(restored, &count);
	kept_active = flow_engine_active(world->engine, &kept_count);
	assert_int_equal(count, kept_count);
	assert_memory_equal(active, kept_active, count * sizeof(*active));
	for (uint32_t i = 0, at = 0; i < world->graph->node_count; i++) {
		bool is_active = world->records[i].state != FLOW_NODE_PENDING &&
				 !flow_node_state_is_terminal(world->records[i].state);

		assert_int_equal(is_active, at < count && active[at] == i);
		at += is_active;
	}
	assert_int_equal(flow_engine_next_ms(restored), flow_engine_next_ms(world->engine));
	if (chance(world, 50)) {
		flow_engine_free(restored);
		return;
	}
	flow_engine_free(world->engine);
	world->engine = restored;
}

/* ---- the world ---- */

static void report_deployment(struct world *world, uint32_t node, uint32_t run)
{
	static const enum flow_event_type types[] = {
		[DEPLOYMENT_RUNNING] = FLOW_EVENT_DEPLOYMENT_RUNNING,
		[DEPLOYMENT_ROLLING_BACK] = FLOW_EVENT_DEPLOYMENT_ROLLING_BACK,
		[DEPLOYMENT_SUCCEEDED] = FLOW_EVENT_DEPLOYMENT_SUCCEEDED,
		[DEPLOYMENT_FAILED] = FLOW_EVENT_DEPLOYMENT_FAILED,
		[DEPLOYMENT_CANCELLED] = FLOW_EVENT_DEPLOYMENT_CANCELLED,
		[DEPLOYMENT_STALE] = FLOW_EVENT_DEPLOYMENT_STALE,
	};
	enum deployment_state state = world->nodes[node].deployments[run];
	struct flow_event event;

	if (state == DEPLOYMENT_NONE || state == DEPLOYMENT_PENDING)
		return;
	event = event_of(world, types[state], node);
	event.run = run;
	apply(world, &event);
}

static void progress_deployment(struct world *world, uint32_t node, bool calm)
{
	uint32_t run = world->records[node].run;
	enum deployment_state *state = &world->nodes[node].deployments[run];

	switch (*state) {
	case DEPLOYMENT_PENDING:
		*state = DEPLOYMENT_RUNNING;
		/* Once per attempt of the flow at the node. */
		assert_true(++world->nodes[node].ran <= world->retries + 1);
		break;
	case DEPLOYMENT_RUNNING:
		*state = calm || chance(world, 80) ? DEPLOYMENT_SUCCEEDED
			 : chance(world, 50)       ? DEPLOYMENT_ROLLING_BACK
			 : chance(world, 50)       ? DEPLOYMENT_FAILED
						   : DEPLOYMENT_CANCELLED;
		break;
	case DEPLOYMENT_ROLLING_BACK:
		*state = chance(world, 70) ? DEPLOYMENT_FAILED : DEPLOYMENT_CANCELLED;
		break;
	default: break;
	}
	/* The engine may have to find out by a later one. */
	if (chance(world, 80))
		report_deployment(world, node, run);
}

static void answer_plan(struct world *world, uint32_t node, bool calm)
{
	struct flow_event event = event_of(world, FLOW_EVENT_PLANNED, node);
	unsigned dice = calm ? 0 : below(world, 100);

	event.plan.bytes[0] = (uint8_t)world->nodes[node].plan_version;
	event.plan.bytes[1] = (uint8_t)node;
	event.is_unchanged = chance(world, 10);
	if (dice >= 95)
		event.type = FLOW_EVENT_PLAN_FAILED;
	else if (dice >= 92)
		event.type = FLOW_EVENT_PLAN_DISABLED;
	else if (dice >= 80)
		event.type = FLOW_EVENT_UNAVAILABLE;
	else if (dice >= 75)
		event.type = FLOW_EVENT_AVAILABLE;
	apply(world, &event);
}

static void start_deployment(struct world *world, const struct flow_step *step, bool calm)
{
	enum deployment_state *state = &world->nodes[step->node].deployments[step->run];
	struct flow_event event = event_of(world, FLOW_EVENT_UNAVAILABLE, step->node);

	assert_true(step->run < RUNS_MAX);
	for (unsigned i = 0; i < step->run; i++) /* one at a time */
		assert_true(world->nodes[step->node].deployments[i] == DEPLOYMENT_NONE ||
			    world->nodes[step->node].deployments[i] >= DEPLOYMENT_SUCCEEDED);
	if (*state == DEPLOYMENT_NONE) {
		if (!calm && chance(world, 15)) {
			apply(world, &event);
			return;
		}
		*state = !calm && chance(world, 8) ? DEPLOYMENT_STALE : DEPLOYMENT_PENDING;
	}
	report_deployment(world, step->node, step->run);
}

static void stop_deployment(struct world *world, const struct flow_step *step)
{
	enum deployment_state *state = &world->nodes[step->node].deployments[step->run];

	if (*state == DEPLOYMENT_NONE || *state == DEPLOYMENT_PENDING)
		*state = DEPLOYMENT_CANCELLED;
	else if (*state == DEPLOYMENT_RUNNING && step->type == FLOW_STEP_CANCEL)
		*state = step->rolls_back ? DEPLOYMENT_ROLLING_BACK : DEPLOYMENT_CANCELLED;
	report_deployment(world, step->node, step->run);
}

static void take_step(struct world *world, uint32_t node, bool calm)
{
	struct flow_step step = world->nodes[node].step;
	struct flow_event event;

	switch (step.type) {
	case FLOW_STEP_PLAN: answer_plan(world, node, calm); return;
	case FLOW_STEP_START: start_deployment(world, &step, calm); return;
	case FLOW_STEP_WITHDRAW:
	case FLOW_STEP_CANCEL: stop_deployment(world, &step); return;
	case FLOW_STEP_OBSERVE:
		event = event_of(world,
			calm || chance(world, 40) ? FLOW_EVENT_IN_SYNC
			: chance(world, 50)       ? FLOW_EVENT_OUT_OF_SYNC
						  : FLOW_EVENT_SYNC_UNKNOWN,
			node);
		put_off += event.type == FLOW_EVENT_SYNC_UNKNOWN &&
			   world->records[node].phase == FLOW_PHASE_SOAKING &&
			   world->records[node].deadline_ms <= world->now_ms;
		apply(world, &event);
		return;
	case FLOW_STEP_UNDO:
		event = event_of(world,
			calm || chance(world, 85) ? FLOW_EVENT_UNDONE : FLOW_EVENT_UNDO_FAILED,
			node);
		apply(world, &event);
		return;
	}
}

static void client(struct world *world, uint32_t node, bool calm)
{
	unsigned dice = below(world, 100);
	struct flow_event event = event_of(world, FLOW_EVENT_APPROVE, node);

	event.plan = world->records[node].plan;
	event.rolls_back = chance(world, 50);
	if (dice < 70)
		;
	else if (dice < 80)
		event.type = FLOW_EVENT_REJECT;
	else if (dice < 85)
		event.plan.bytes[0] ^= 1; /* an old page */
	else if (dice < 86 && !calm)
		event.type = FLOW_EVENT_CANCEL;
	else if (dice < 87 && !calm)
		event.type = FLOW_EVENT_SUPERSEDE;
	else if (dice < 88)
		event.type = FLOW_EVENT_RETRY;
	else
		return;
	world->was_superseded |= event.type == FLOW_EVENT_SUPERSEDE;
	if (apply(world, &event) == 0 && event.type == FLOW_EVENT_RETRY)
		world->retries++;
}

static void head(struct world *world)
{
	struct flow_event event = event_of(world, FLOW_EVENT_HEAD_REACHED, 0);

	if (world->record.is_started || world->record.closing != FLOW_REASON_NONE)
		return;
	if (chance(world, 5))
		event.type = FLOW_EVENT_HEAD_ENDED;
	else if (chance(world, 50))
		event.type = FLOW_EVENT_HEAD_SUCCEEDED;
	apply(world, &event);
}

static void pass_time(struct world *world)
{
	int64_t next_ms = flow_engine_next_ms(world->engine);
	struct flow_event event;

	if (next_ms > world->now_ms && chance(world, 10))
		world->now_ms += (next_ms - world->now_ms) / 10 * 10 + 10;
	else
		world->now_ms += 10 * (int64_t)below(world, 100);
	event = event_of(world, FLOW_EVENT_TIME, 0);
	apply(world, &event);
}

/* Every event has a time of its own; see SYNC_TIMEOUT_MS. */
static void one_round(struct world *world, bool calm)
{
	uint32_t node = below(world, world->graph->node_count);
	unsigned dice = below(world, 100);
	struct flow_event event;

	world->now_ms += 10;
	if (dice < 40) {
		if (world->nodes[node].has_step)
			take_step(world, node, calm);
	} else if (dice < 65) {
		if (world->records[node].phase == FLOW_PHASE_STARTING ||
			world->records[node].phase == FLOW_PHASE_DEPLOYING)
			progress_deployment(world, node, calm);
	} else if (dice < 75) {
		if (world->records[node].run > 0) /* late, or again */
			report_deployment(world, node, below(world, world->records[node].run) + 1);
	} else if (dice < 80) {
		client(world, node, calm);
	} else if (dice < 85) {
		head(world);
	} else if (dice < 87) {
		/* A push: the plan of a node changes, also while it waits for approval. */
		world->nodes[node].plan_version++;
		if (world->records[node].state == FLOW_NODE_WAITING_APPROVAL)
			answer_plan(world, node, calm);
	} else if (dice < 88) {
		restart(world);
		compare_restored(world);
	} else if (dice < 89) {
		compare_restored(world);
	} else if (dice < 92) {
		/* An observation that the engine did not wait for. */
		event = event_of(world,
			FLOW_EVENT_PLANNED +
				below(world, FLOW_EVENT_AVAILABLE - FLOW_EVENT_PLANNED + 1),
			node);
		if (world->records[node].phase != FLOW_PHASE_PLANNING)
			apply(world, &event);
	} else {
		pass_time(world);
	}
}

/* ---- a flow ---- */

static void make_graph(struct world *world, uint32_t count, unsigned density)
{
	struct flow_edge edges[NODES_MAX * NODES_MAX];
	uint32_t edge_count = 0;

	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < i; j++) {
			if (chance(world, density))
				edges[edge_count++] = (struct flow_edge){i, j};
		}
	}
	world->graph = flow_graph_new(world->arena, count, edges, edge_count);
	assert_int_equal(flow_graph_find_cycle(world->graph, world->arena, &(uint32_t *){NULL}), 0);
}

static void begin(struct world *world)
{
	unsigned density;

	world->rules = (struct flow_rules){.on_failure = below(world, 4),
		.sync_timeout_ms = SYNC_TIMEOUT_MS,
		.queue_timeout_ms = QUEUE_TIMEOUT_MS,
		.approval_timeout_ms = APPROVAL_TIMEOUT_MS};
	/* In an order that does not depend on the compiler. */
	density = below(world, 70);
	make_graph(world, 1 + below(world, NODES_MAX), density);
	fprintf(world->model, "flow %s %d %d %d\n",
		flow_failure_policy_name(world->rules.on_failure), SYNC_TIMEOUT_MS,
		QUEUE_TIMEOUT_MS, APPROVAL_TIMEOUT_MS);
	for (uint32_t i = 0; i < world->graph->node_count; i++) {
		world->node_rules[i].is_disabled = chance(world, 3);
		world->node_rules[i].requires_approval = chance(world, 25);
		world->node_rules[i].soak_ms = chance(world, 30) ? SOAK_MS : 0;
		world->nodes[i].has_live_state = chance(world, 80);
		fprintf(world->model, "node %d %d %lld", world->node_rules[i].is_disabled,
			world->node_rules[i].requires_approval,
			(long long)world->node_rules[i].soak_ms);
		FLOW_EACH_DEPENDENCY(world->graph, i, dependency)
		fprintf(world->model, " %u", *dependency);
		fputc('\n', world->model);
	}
	world->now_ms = 1000000;
	world->engine =
		flow_engine_new(world->graph, &world->rules, world->node_rules, world->now_ms);
	drain(world);
	write_states(world, false);
}

static void run_flow(uint64_t seed, FILE *model)
{
	struct world world = {.model = model, .arena = arena_new(0)};
	unsigned round = 0;

	random_seeded_init(&world.random, seed);
	begin(&world);
	for (;; round++) {
		struct flow_event retry;

		if (round == ROUNDS_MAX)
			fail_msg("flow of seed %llu does not end", (unsigned long long)seed);
		one_round(&world, round > CALM_ROUNDS);
		if (!flow_state_is_terminal(world.record.state))
			continue;
		check_end(&world);
		retry = event_of(&world, FLOW_EVENT_RETRY, 0);
		if (world.retries >= RETRIES_MAX || chance(&world, 50) || apply(&world, &retry) < 0)
			break;
		world.retries++;
	}
	flow_engine_free(world.engine);
	arena_free(world.arena);
}

static void test_flows(void **state)
{
	const char *source = getenv("SLIPWAY_SOURCE_DIR");
	_free_ char *command = memory_format("/usr/bin/python3 %s/tests/model/flow_model.py >&2",
		source ? source : ".");
	FILE *model = popen(command, "w");

	(void)state;
	assert_non_null(model);
	for (uint64_t seed = 1; seed <= FLOWS; seed++)
		run_flow(seed, model);
	assert_int_equal(pclose(model), 0);
	/* All that can happen has happened. */
	for (unsigned i = 0; i < FLOW_NODE_STATE_COUNT; i++) {
		if (seen_states[i] == 0)
			fail_msg("no node was %s", flow_node_state_name(i));
	}
	for (unsigned i = 0; i < FLOW_REASON_COUNT; i++) {
		if (seen_reasons[i] == 0)
			fail_msg("no node had the reason %s", flow_reason_name(i));
	}
	for (unsigned i = 0; i < FLOW_PHASE_COUNT; i++) {
		if (seen_phases[i] == 0)
			fail_msg("no node was in phase %s", flow_phase_name(i));
	}
	for (unsigned i = 0; i <= FLOW_STEP_UNDO; i++) {
		if (seen_steps[i] == 0)
			fail_msg("no step was %s", flow_step_name(i));
	}
	for (unsigned i = 0; i < FLOW_STATE_COUNT; i++) {
		if (flow_state_is_terminal(i) && seen_flows[i] == 0)
			fail_msg("no flow ended as %s", flow_state_name(i));
	}
	assert_true(restarts > FLOWS);
	assert_true(repeated_steps > FLOWS);
	assert_true(put_off > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
