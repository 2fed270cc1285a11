/* Scenario 85: a huge rollout of one account does not delay the first task of another. Counted in tasks that were
 * started meanwhile, not in seconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/decide/instance_action.h"
#include "environment/test_manager.h"

#define ENVIRONMENTS 20
#define INSTANCES 300
#define SEEDS 7
#define PASSES 3 /* two, and those that were under way */
#define NOISY "123456789012"
#define QUIET "210987654321"

static void set_up_account(struct test_manager *bench, const char *account, int instances)
{
	bench->server->caller.account = span_of(account);
	test_call(bench->server, "CreateCluster", "{'clusterName':'default'}");
	for (int i = 0; i < instances; i++) {
		char id[TEST_ID_SIZE];

		test_instance(bench->server, "default", 100000, 100000, "", id);
	}
}

/* Makes it; what it would take to deploy it. */
static void make(struct test_manager *bench, const char *name, char version[64])
{
	test_call(bench->server, "RegisterTaskDefinition",
		"{'family':'%s','containerDefinitions':[{'name':'a','image':'a','memory':16}]}",
		name);
	test_manager_ask(bench, "CreateEnvironment",
		"{'name':'%s','taskDefinition':'%s:1','instanceGroup':{'cluster':'default'}}", name,
		name);
	snprintf(version, 64, "%s", test_text(bench->server, "environmentVersion"));
}

static size_t count_tasks(struct test_manager *bench, const char *account, uint64_t before)
{
	_view_ struct store_view *view = store_view_open(bench->server->store);
	_arena_ struct arena *arena = arena_new(0);
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = -1,
		.prefix = arena_format(arena, "%s/", account)};
	const struct store_object *task;
	size_t count = 0;

	while ((task = store_next(&cursor)))
		count += task->revision < before;
	return count;
}

/* No runtime changes tasks here, so each keeps the revision of its creation. */
static uint64_t first_task(struct test_manager *bench, const char *account)
{
	_view_ struct store_view *view = store_view_open(bench->server->store);
	_arena_ struct arena *arena = arena_new(0);
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = -1,
		.prefix = arena_format(arena, "%s/", account)};
	const struct store_object *task = store_next(&cursor);

	return task ? task->revision : 0;
}

/* How many tasks of the noisy account were started before the first one of the quiet account. */
static size_t count_meanwhile(uint64_t seed)
{
	struct test_manager *bench = test_manager_new(seed);
	static char versions[ENVIRONMENTS][64];
	char name[32], version[64];
	uint64_t first;
	size_t meanwhile;

	set_up_account(bench, QUIET, 1);
	make(bench, "quiet", version);
	set_up_account(bench, NOISY, INSTANCES);
	for (int i = 0; i < ENVIRONMENTS; i++) {
		snprintf(name, sizeof(name), "noisy%d", i);
		make(bench, name, versions[i]);
	}
	test_manager_pass(bench, SECOND_US);
	for (int i = 0; i < ENVIRONMENTS; i++)
		test_manager_ask(bench, "StartDeployment",
			"{'name':'noisy%d','environmentVersion':'%s'}", i, versions[i]);
	bench->server->caller.account = SPAN(QUIET);
	test_manager_ask(bench, "StartDeployment", "{'name':'quiet','environmentVersion':'%s'}",
		version);
	for (int i = 0; i < 600 && count_tasks(bench, NOISY, UINT64_MAX) < ENVIRONMENTS * INSTANCES;
		i++)
		test_manager_pass(bench, SECOND_US);
	assert_int_equal(count_tasks(bench, NOISY, UINT64_MAX), ENVIRONMENTS * INSTANCES);
	first = first_task(bench, QUIET);
	assert_true(first > 0);
	meanwhile = count_tasks(bench, NOISY, first);
	print_message("# of %d tasks of the noisy account %zu were started before the quiet "
		      "one's\n",
		ENVIRONMENTS * INSTANCES, meanwhile);
	test_manager_free(bench);
	return meanwhile;
}

/* Concurrent work is done in another order with each seed. */
static void test_85_noisy_neighbour(void **state)
{
	const size_t check_of_each = (size_t)MANAGER_ACCOUNT_WORKERS * INSTANCE_ACTIONS_MAX;
	unsigned within = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		size_t meanwhile = count_meanwhile(seed);

		within += meanwhile <= check_of_each;
		/* The quiet one's deployment is begun in one look, and carried out in the next. */
		assert_true(meanwhile <= PASSES * check_of_each);
	}
	/* Mostly it waits for one look of each worker that the other may have, and not of each environment. */
	assert_true(within > SEEDS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_85_noisy_neighbour)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
