/*
 * Passes over flows in a store. The same flow runs twice with the same chances: in one store the controller keeps it in
 * memory between passes, in the other one each pass restores it from what is stored. After each pass both stores must have
 * the same records. Deployments are ended by the test instead of an engine of applications.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "delivery/approval.h"
#include "flow/pass.h"
#include "pipeline/source.h"

#define FLOWS 300
#define NODES_MAX 10
#define PASSES_MAX 400
#define CALM_PASSES 60
#define KEY SPAN("1/flow")

struct world {
	struct runner *runner;
	struct store *store;
	struct claims *claims;
	struct random_seeded ids, chances;
	struct flow_controller_config config;
	struct flow_cache cache;
	bool keeps;
	int64_t now_ms;
	const struct flow_definition *definition;
	unsigned kept;                  /* passes over a flow that was kept */
	store_write_function meanwhile; /* after the next pass has opened its view; NULL */
};

static unsigned ended[FLOW_STATE_COUNT], seen_states[FLOW_NODE_STATE_COUNT], retries;

static unsigned below(struct world *world, unsigned limit)
{
	return (unsigned)random_below(&world->chances.random, limit);
}

static bool chance(struct world *world, unsigned percent)
{
	return below(world, 100) < percent;
}

static void commit(struct world *world, store_write_function function)
{
	struct err err = {0};

	if (store_write_wait(world->store, function, world, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

/* ---- making a flow ---- */

static void make_definition(struct arena *arena, struct random *random,
	struct flow_definition *ret_definition)
{
	uint32_t count = 1 + (uint32_t)random_below(random, NODES_MAX), edge_count = 0;
	struct flow_edge edges[NODES_MAX * NODES_MAX];
	struct flow_node_rules *rules = arena_allocate_array(arena, count, sizeof(*rules));
	struct flow_node_definition *nodes = arena_allocate_array(arena, count, sizeof(*nodes));

	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < i; j++) {
			if (random_below(random, 100) < 25)
				edges[edge_count++] = (struct flow_edge){i, j};
		}
		rules[i] = (struct flow_node_rules){.is_disabled = random_below(random, 100) < 3,
			.requires_approval = random_below(random, 100) < 20,
			.soak_ms = random_below(random, 100) < 30 ? 2000 : 0};
		nodes[i] = (struct flow_node_definition){.name = arena_format(arena, "app-%u", i),
			.has_files = true,
			.commit = SPAN(""),
			.from = SPAN("")};
	}
	*ret_definition =
		(struct flow_definition){.graph = flow_graph_new(arena, count, edges, edge_count),
			.rules = {.on_failure = (enum flow_failure_policy)random_below(random, 4),
				.sync_timeout_ms = 5000,
				.queue_timeout_ms = 5000,
				.approval_timeout_ms = 8000},
			.node_rules = rules,
			.nodes = nodes};
}

/* An application with one deployment, which has succeeded. */
static int put_application(struct store_transaction *transaction, struct span name, struct span id,
	struct span commit, const struct json *files, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct span key = application_key(arena, SPAN("1"), name);
	const struct application_facts application = {.current = SPAN(""),
		.succeeded = id,
		.kind = SPAN("ECSApp"),
		.deployment_count = 1};
	const struct deployment_record deployment = {.key = deployment_key(arena, key, id),
		.revision = STORE_ABSENT,
		.facts = {.number = 1,
			.state = PIPELINE_DEPLOYMENT_SUCCESS,
			.created_by = SPAN(""),
			.region = SPAN(""),
			.target = SPAN(""),
			.role = SPAN(""),
			.commit = commit,
			.flow = SPAN(""),
			.digest = SPAN(""),
			.wanted_digest = SPAN(""),
			.token = SPAN("")},
		.summary = SPAN(""),
		.reason = SPAN(""),
		.message = SPAN(""),
		.approved_by = SPAN("")};
	const struct deployment_source source = {
		.files = files, .application_file = SPAN("app.yaml")};
	int code = application_put(transaction, key, SPAN("{}"), &application, STORE_ABSENT, err);

	if (code >= 0)
		code = deployment_put(transaction, &deployment, err);
	return code < 0 ? code : deployment_source_put(transaction, deployment.key, &source, err);
}

static int put_flow(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct world *world = context;
	const struct flow_definition *definition = world->definition;
	struct arena *arena = store_transaction_arena(transaction);
	const struct flow_facts facts = {.head = SPAN("1/head"),
		.number = 1,
		.created_by = SPAN("alice"),
		.commit = SPAN("abc"),
		.node_count = definition->graph->node_count,
		.created_ms = world->now_ms};
	struct json *files = json_new_object(arena);
	struct json *texts = json_new_object(arena);
	int code;

	json_set_string(arena, texts, "app.yaml", SPAN("kind: ECSApp"));
	code = put_application(transaction, SPAN("head"), SPAN("flow"), SPAN("abc"), texts, err);
	for (uint32_t i = 0; i < definition->graph->node_count && code >= 0; i++) {
		struct span name = definition->nodes[i].name;
		struct json *entry = json_new_object(arena);

		/* Some are new, and some are unchanged. */
		if (i % 4 != 3)
			code = put_application(transaction, name, SPAN("before"),
				i % 5 == 4 ? SPAN("abc") : SPAN("old"), texts, err);
		if (i == NODES_MAX - 1)
			continue; /* its deployment is refused */
		json_set(arena, entry, "files", texts);
		json_set_string(arena, entry, "applicationFile", SPAN("app.yaml"));
		json_set(arena, files, arena_copy(arena, name.data, name.length), entry);
	}
	if (code >= 0)
		code = flow_put(transaction, KEY, SPAN("{}"), &facts, STORE_ABSENT, err);
	if (code >= 0)
		code = store_put(transaction, &flow_graph_kind, KEY,
			json_to_text(flow_definition_write(definition, arena), arena), SPAN("{}"),
			STORE_ABSENT, err);
	return code < 0 ? code
			: store_put(transaction, &flow_files_kind, KEY, json_to_text(files, arena),
				  SPAN("{}"), STORE_ABSENT, err);
}

static void open_world(struct world *world, uint64_t seed, bool keeps,
	const struct flow_definition *definition)
{
	const struct store_kind *kinds[32];
	struct store_config store = {
		.url = "memory:", .kinds = kinds, .clock = NULL, .inline_writes = true};
	struct claims_config claims = {.server = "one"};

	*world = (struct world){.runner = runner_simulated_new(seed),
		.keeps = keeps,
		.now_ms = 1000000,
		.definition = definition};
	kinds[store.kind_count++] = &server_kind;
	kinds[store.kind_count++] = &claim_kind;
	for (size_t i = 0; i < flow_kind_count; i++)
		kinds[store.kind_count++] = flow_kinds[i];
	for (size_t i = 0; i < pipeline_kind_count; i++)
		kinds[store.kind_count++] = pipeline_kinds[i];
	random_seeded_init(&world->ids, seed);
	random_seeded_init(&world->chances, seed);
	flow_cache_init(&world->cache, FLOW_CACHE_BYTES_MAX);
	store.clock = runner_clock(world->runner);
	assert_int_equal(store_open(&store, &world->store, NULL), 0);
	claims.runner = world->runner;
	claims.store = world->store;
	assert_int_equal(claims_start(&claims, &world->claims, NULL), 0);
	world->config = (struct flow_controller_config){
		.store = world->store, .claims = world->claims, .random = &world->ids.random};
	commit(world, put_flow);
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

/* ---- a pass ---- */

static enum flow_state run_pass_with(struct world *world, int expected)
{
	_arena_ struct arena *arena = arena_new(0);
	struct claim claim = {0};
	struct err err = {0};
	int code = claims_acquire(world->claims, SPAN("flow:1/flow"), &claim, &err);
	_view_ struct store_view *view = store_view_open(world->store);
	struct flow_pass pass = {.config = &world->config,
		.view = view,
		.arena = arena,
		.claim = claim,
		.now_ms = world->now_ms,
		.key = KEY,
		.object = store_get(view, &flow_kind, KEY),
		.refused = FLOW_NO_NODE};

	assert_int_equal(code, 0);
	pass.facts = *flow_facts(pass.object);
	world->kept += world->cache.flows.count > 0;
	if (world->meanwhile)
		commit(world, world->meanwhile);
	world->meanwhile = NULL;
	code = flow_pass_run(&pass, world->keeps ? &world->cache : NULL, &err);
	if (code != expected)
		fail_msg("%s", err.message);
	if (flow_state_is_terminal(pass.facts.state) || !world->keeps || code < 0)
		assert_int_equal(world->cache.flows.count, 0);
	else
		assert_int_equal(world->cache.flows.count, 1);
	return pass.facts.state;
}

static enum flow_state run_pass(struct world *world)
{
	return run_pass_with(world, 0);
}

/* ---- events between passes ---- */

/* Ends a deployment; the application is in sync most of the time. */
static int end_deployment(struct world *world, struct store_transaction *transaction,
	const struct store_object *object, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct deployment_facts *before = deployment_facts(object);
	struct deployment_facts facts = *before;
	struct application_facts application = *application_facts(store_get(store_head(transaction),
		&application_kind, facts.application));
	const struct live_facts live = {
		.sync = chance(world, 80) ? APPLICATION_SYNCED : APPLICATION_OUT_OF_SYNC,
		.deployment = facts.id};
	int code;

	facts.is_planned = true;
	facts.state = chance(world, 85) ? PIPELINE_DEPLOYMENT_SUCCESS : PIPELINE_DEPLOYMENT_FAILURE;
	if (facts.order != DEPLOYMENT_ORDER_NONE)
		facts.state = PIPELINE_DEPLOYMENT_CANCELLED;
	else if (facts.state == PIPELINE_DEPLOYMENT_FAILURE && facts.wanted_digest.length > 0)
		facts.is_stale = chance(world, 30);
	facts.digest = arena_format(arena, "%032u", below(world, 3));
	code = deployment_put_facts(transaction, object->key, object->api, &facts, object->revision,
		err);
	if (code < 0 || facts.state != PIPELINE_DEPLOYMENT_SUCCESS ||
		facts.trigger == DEPLOYMENT_TRIGGER_PLAN)
		return code;
	application.succeeded = facts.id;
	application.has_service = chance(world, 60);
	code = application_put(transaction, facts.application, SPAN("{}"), &application, STORE_ANY,
		err);
	return code < 0 ? code
			: live_state_put(transaction, facts.application,
				  SPAN("{\"health\":\"HEALTHY\"}"), &live, err);
}

static int end_deployments(struct store_transaction *transaction, void *context, struct err *err)
{
	struct world *world = context;
	struct arena *arena = store_transaction_arena(transaction);
	struct store_cursor cursor = {.view = store_head(transaction),
		.kind = &deployment_kind,
		.index = DEPLOYMENT_OPEN};
	const struct store_object *object;
	struct field_list keys = {0};
	int code = 0;

	while ((object = store_next(&cursor))) {
		if (chance(world, 60))
			*(struct span *)fields_append(arena, &keys, sizeof(struct span)) =
				arena_copy_span(arena, object->key);
	}
	for (size_t i = 0; i < keys.count && code >= 0; i++)
		code = end_deployment(world, transaction,
			store_get(store_head(transaction), &deployment_kind,
				((struct span *)keys.items)[i]),
			err);
	return code;
}

static int put_vote(struct store_transaction *transaction, struct span key,
	const struct approval_vote *vote, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *object =
		store_get(store_head(transaction), &flow_approval_kind, key);
	struct approval approval;
	struct json *document;

	if (!object)
		return 0;
	assert_int_equal(json_parse(object->api, arena, &document, err), 0);
	assert_int_equal(approval_read(document, arena, &approval, err), 0);
	if (approval_add_vote(&approval, vote, SPAN(""), arena, NULL) < 0)
		return 0;
	return store_put(transaction, &flow_approval_kind, key,
		json_to_text(approval_write(&approval, arena), arena), SPAN("{}"), STORE_ANY, err);
}

static int vote(struct store_transaction *transaction, void *context, struct err *err)
{
	struct world *world = context;
	struct arena *arena = store_transaction_arena(transaction);
	uint32_t node = below(world, world->definition->graph->node_count);
	struct span key = flow_node_key(arena, KEY, node);
	const struct approval_vote one = {.user = SPAN("bob"),
		.comment = SPAN(""),
		.at_ms = world->now_ms,
		.approves = chance(world, 85)};

	return put_vote(transaction, key, &one, err);
}

static int order(struct store_transaction *transaction, void *context, struct err *err)
{
	struct world *world = context;

	return flow_order_put(transaction, KEY,
		chance(world, 50) ? FLOW_ORDER_CANCEL : FLOW_ORDER_CANCEL_AND_ROLL_BACK, err);
}

static int retry(struct store_transaction *transaction, void *context, struct err *err)
{
	(void)context;
	return flow_order_put(transaction, KEY, FLOW_ORDER_RETRY, err);
}

/* Nothing of the flow that a client or another flow would write, but the record has another revision. */
static int touch(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct store_object *object = store_get(store_head(transaction), &flow_kind, KEY);

	(void)context;
	return flow_put(transaction, KEY, object->api, flow_facts(object), object->revision, err);
}

static void happen(struct world *world, unsigned pass)
{
	world->now_ms += 100 * (int64_t)below(world, 30);
	commit(world, end_deployments);
	if (chance(world, 60))
		commit(world, vote);
	if (pass < CALM_PASSES && chance(world, 1))
		commit(world, order);
	if (chance(world, 3))
		commit(world, touch);
}

/* ---- comparing ---- */

static void compare_kind(struct world *worlds, const struct store_kind *kind)
{
	_view_ struct store_view *left = store_view_open(worlds[0].store);
	_view_ struct store_view *right = store_view_open(worlds[1].store);
	struct store_cursor cursors[] = {{.view = left, .kind = kind, .index = -1},
		{.view = right, .kind = kind, .index = -1}};

	for (;;) {
		const struct store_object *one = store_next(&cursors[0]),
					  *other = store_next(&cursors[1]);

		assert_int_equal(!one, !other);
		if (!one)
			return;
		assert_true(span_equal(one->key, other->key));
		assert_true(span_equal(one->api, other->api));
		if (!span_equal(one->private_, other->private_))
			fail_msg("%.*s is %.*s with a kept flow, else %.*s", SPAN_ARGS(one->key),
				SPAN_ARGS(one->private_), SPAN_ARGS(other->private_));
		if (kind == &flow_node_kind)
			seen_states[flow_node_facts(one)->state]++;
	}
}

static void compare(struct world *worlds)
{
	for (size_t i = 0; i < flow_kind_count; i++)
		compare_kind(worlds, flow_kinds[i]);
	for (size_t i = 0; i < pipeline_kind_count; i++)
		compare_kind(worlds, pipeline_kinds[i]);
}

/* ---- tests ---- */

static unsigned run_flow(uint64_t seed)
{
	_arena_ struct arena *arena = arena_new(0);
	struct random_seeded random;
	struct flow_definition definition;
	struct world worlds[2];
	unsigned kept, retried = 0;

	random_seeded_init(&random, seed);
	make_definition(arena, &random.random, &definition);
	for (size_t i = 0; i < 2; i++)
		open_world(&worlds[i], seed, i == 0, &definition);
	for (unsigned pass = 0;; pass++) {
		enum flow_state state = run_pass(&worlds[0]);

		assert_int_equal(run_pass(&worlds[1]), state);
		compare(worlds);
		if (pass == PASSES_MAX)
			fail_msg("flow of seed %llu does not end", (unsigned long long)seed);
		if (flow_state_is_terminal(state)) {
			ended[state]++;
			if (state == FLOW_SUCCESS || retried++ == 2)
				break;
			for (size_t i = 0; i < 2; i++)
				commit(&worlds[i], retry);
			retries++;
		}
		for (size_t i = 0; i < 2; i++)
			happen(&worlds[i], pass);
	}
	kept = worlds[0].kept;
	assert_int_equal(worlds[1].kept, 0);
	for (size_t i = 0; i < 2; i++)
		close_world(&worlds[i]);
	return kept;
}

static void test_kept_flows_decide_the_same(void **state)
{
	unsigned kept = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= FLOWS; seed++)
		kept += run_flow(seed);
	assert_true(kept > 2 * FLOWS);
	assert_true(retries > 0);
	assert_true(ended[FLOW_SUCCESS] > 0 && ended[FLOW_FAILURE] > 0 &&
		    ended[FLOW_CANCELLED] > 0);
	for (unsigned i = 0; i < FLOW_NODE_STATE_COUNT; i++) {
		/* A node that is disabled from the start is not stored. */
		if (seen_states[i] == 0 && i != FLOW_NODE_DISABLED)
			fail_msg("no node was %s", flow_node_state_name(i));
	}
}

/* ---- votes ---- */

#define VOTE_SEED 1 /* one whose plan succeeds */

static enum flow_node_state state_of_first_node(struct world *world)
{
	_view_ struct store_view *view = store_view_open(world->store);
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *node =
		store_get(view, &flow_node_kind, flow_node_key(arena, KEY, 0));

	return node ? flow_node_facts(node)->state : FLOW_NODE_PENDING;
}

/* A vote of before the deadline, which has passed meanwhile. */
static int approve_in_time(struct store_transaction *transaction, void *context, struct err *err)
{
	struct world *world = context;
	struct arena *arena = store_transaction_arena(transaction);
	struct span key = flow_node_key(arena, KEY, 0);
	const struct approval_vote one = {.user = SPAN("bob"),
		.comment = SPAN(""),
		.at_ms = world->now_ms - world->definition->rules.approval_timeout_ms,
		.approves = true};

	return put_vote(transaction, key, &one, err);
}

/* A vote that was accepted in time counts, although the pass that ends the wait began before it. */
static void test_vote_during_a_pass(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct random_seeded random;
	struct flow_definition definition;
	struct world world;

	(void)state;
	random_seeded_init(&random, 1);
	do
		make_definition(arena, &random.random, &definition);
	while (definition.graph->node_count > 1);
	definition.node_rules[0] = (struct flow_node_rules){.requires_approval = true};
	open_world(&world, VOTE_SEED, true, &definition);
	for (unsigned pass = 0; state_of_first_node(&world) != FLOW_NODE_WAITING_APPROVAL; pass++) {
		if (pass == PASSES_MAX)
			fail_msg("the node is %s",
				flow_node_state_name(state_of_first_node(&world)));
		run_pass(&world);
		commit(&world, end_deployments);
	}
	world.now_ms += definition.rules.approval_timeout_ms;
	world.meanwhile = approve_in_time;
	run_pass_with(&world, -ESTALE);
	assert_int_equal(state_of_first_node(&world), FLOW_NODE_WAITING_APPROVAL);
	run_pass(&world);
	assert_int_equal(state_of_first_node(&world), FLOW_NODE_QUEUED);
	close_world(&world);
}

static struct flow_loaded *new_loaded(uint32_t nodes, uint64_t epoch, uint64_t revision)
{
	struct flow_loaded *loaded = memory_allocate(sizeof(*loaded));
	struct flow_node_rules rules[NODES_MAX] = {0};

	loaded->arena = arena_new(0);
	loaded->definition.graph = flow_graph_new(loaded->arena, nodes, NULL, 0);
	loaded->engine =
		flow_engine_new(loaded->definition.graph, &loaded->definition.rules, rules, 1);
	loaded->nodes = memory_allocate_array(nodes, sizeof(*loaded->nodes));
	loaded->epoch = epoch;
	loaded->revision = revision;
	return loaded;
}

/* Another owner in between, or another writer: the flow is dropped. */
static void test_cache_validity(void **state)
{
	struct flow_loaded *loaded;
	struct flow_cache cache;

	(void)state;
	flow_cache_init(&cache, FLOW_CACHE_BYTES_MAX);
	assert_null(flow_cache_take(&cache, SPAN("a"), 1, 1));
	flow_cache_put(&cache, SPAN("a"), new_loaded(2, 7, 9));
	assert_null(flow_cache_take(&cache, SPAN("b"), 7, 9));
	loaded = flow_cache_take(&cache, SPAN("a"), 7, 9);
	assert_non_null(loaded);
	assert_int_equal(cache.bytes, 0);
	flow_cache_put(&cache, SPAN("a"), loaded);
	assert_null(flow_cache_take(&cache, SPAN("a"), 8, 9));
	assert_null(flow_cache_take(&cache, SPAN("a"), 7, 9));
	flow_cache_put(&cache, SPAN("a"), new_loaded(2, 7, 9));
	assert_null(flow_cache_take(&cache, SPAN("a"), 7, 10));
	assert_int_equal(cache.flows.count, 0);
	flow_cache_put(&cache, SPAN("a"), new_loaded(2, 7, 9));
	flow_cache_drop(&cache, SPAN("a"));
	flow_cache_drop(&cache, SPAN("a"));
	assert_int_equal(cache.bytes, 0);
	flow_cache_put(&cache, SPAN("a"), new_loaded(2, 7, 9)); /* freed with the cache */
	flow_cache_destroy(&cache);
}

static void test_cache_limit(void **state)
{
	struct flow_loaded *loaded;
	struct flow_cache cache;
	size_t one;

	(void)state;
	flow_cache_init(&cache, FLOW_CACHE_BYTES_MAX);
	flow_cache_put(&cache, SPAN("a"), new_loaded(2, 1, 1));
	one = cache.bytes;
	flow_cache_put(&cache, SPAN("b"), new_loaded(2, 1, 1));
	assert_int_equal(cache.bytes, 2 * one);
	cache.bytes_max = 2 * one;
	loaded = flow_cache_take(&cache, SPAN("a"), 1, 1);
	flow_cache_put(&cache, SPAN("a"), loaded); /* used last */
	flow_cache_put(&cache, SPAN("c"), new_loaded(2, 1, 1));
	assert_int_equal(cache.bytes, 2 * one);
	assert_false(map_has(&cache.flows, SPAN("b")));
	assert_true(map_has(&cache.flows, SPAN("a")) && map_has(&cache.flows, SPAN("c")));
	/* One that is too large alone is not kept. */
	cache.bytes_max = one - 1;
	flow_cache_put(&cache, SPAN("d"), new_loaded(2, 1, 1));
	assert_int_equal(cache.flows.count, 0);
	assert_int_equal(cache.bytes, 0);
	flow_cache_destroy(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept_flows_decide_the_same),
		cmocka_unit_test(test_vote_during_a_pass),
		cmocka_unit_test(test_cache_validity),
		cmocka_unit_test(test_cache_limit),
	};

	return cmocka_run_group_tests_name("passes over flows", tests, NULL, NULL);
}
