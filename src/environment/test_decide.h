/*
 * An environment in a store in memory, and the input of a pass over it: for unit tests of decisions. A test fills `facts`
 * and `version`, puts the other objects, and calls test_decide_input(). Include it behind cmocka's header.
 */
#ifndef ENVIRONMENT_TEST_DECIDE_H
#define ENVIRONMENT_TEST_DECIDE_H

#include "base/memory.h"
#include "environment/decide/reconcile_input.h"

#define TEST_NOW_MS INT64_C(1700000000000)
#define TEST_STEADY_MS INT64_C(5000000)
#define TEST_KEY "1/web"
#define TEST_CLUSTER ":1/r/default"

struct test_decide {
	struct store *store;
	struct store_view *view;
	struct clock_manual clock;
	struct arena *arena;
	struct environment_facts facts;
	struct environment_version_facts version;
	struct store_object environment, target;
	struct reconcile_input input;
};

struct test_decide_writing {
	const struct store_kind *kind;
	struct span key, api;
	const void *facts;
};

static inline int test_decide_write(struct store_transaction *transaction, void *context,
	struct err *err)
{
	const struct test_decide_writing *writing = context;

	return environment_put(transaction, writing->kind, writing->key, writing->api,
		writing->facts, STORE_ANY, err);
}

static inline void test_decide_put(struct test_decide *test, const struct store_kind *kind,
	struct span key, const char *api, const void *facts)
{
	struct test_decide_writing writing = {kind, key, span_of(api), facts};
	struct err err = {0};

	if (store_write_wait(test->store, test_decide_write, &writing, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

/* An active environment with the target version "v1". */
static inline void test_decide_begin(struct test_decide *test)
{
	struct store_config config = {.url = "memory:",
		.kinds = daemon_kinds,
		.kind_count = daemon_kind_count,
		.clock = &test->clock.clock,
		.inline_writes = true};
	struct err err = {0};

	*test = (struct test_decide){.arena = arena_new(0)};
	clock_manual_init(&test->clock, TEST_NOW_MS);
	if (store_open(&config, &test->store, &err) < 0)
		fail_msg("%s", err.message);
	test->facts = (struct environment_facts){.account = SPAN("1"),
		.name = SPAN("web"),
		.status = ENVIRONMENT_active,
		.target = SPAN("v1"),
		.completed = SPAN(""),
		.in_progress = SPAN(""),
		.pending = SPAN(""),
		.cluster_refs = SPAN(TEST_CLUSTER)};
	test->version = (struct environment_version_facts){.environment = SPAN(TEST_KEY),
		.id = SPAN("v1"),
		.number = 1,
		.cluster_ref = SPAN(TEST_CLUSTER),
		.timeout_ms = 60000};
}

static inline void test_decide_end(struct test_decide *test)
{
	store_view_close(test->view);
	store_close(test->store);
	arena_free(test->arena);
}

/* A deployment of version "v1"; type, status and times are the caller's. */
static inline void test_decide_put_deployment(struct test_decide *test, const char *id,
	struct environment_deployment_facts facts, const char *api)
{
	struct span *const texts[] = {
		&facts.reason, &facts.previous, &facts.created_by, &facts.token, &facts.token_hash};

	facts.environment = SPAN(TEST_KEY);
	facts.id = span_of(id);
	facts.number = 1;
	facts.version = SPAN("v1");
	facts.created_ms = facts.started_ms;
	for (size_t i = 0; i < LENGTH(texts); i++)
		if (!texts[i]->data)
			*texts[i] = SPAN("");
	test_decide_put(test, &environment_deployment_kind,
		environment_child_key(test->arena, SPAN(TEST_KEY), span_of(id)), api, &facts);
}

/* After everything was put. */
static inline const struct reconcile_input *test_decide_input(struct test_decide *test)
{
	test->environment = (struct store_object){
		.kind = &environment_kind, .key = SPAN(TEST_KEY), .facts = &test->facts};
	test->target.kind = &environment_version_kind;
	test->target.facts = &test->version;
	test->view = store_view_open(test->store);
	test->input = (struct reconcile_input){.view = test->view,
		.environment = &test->environment,
		.target = &test->target,
		.now_ms = TEST_NOW_MS,
		.steady_ms = TEST_STEADY_MS,
		.arena = test->arena};
	return &test->input;
}

#endif
