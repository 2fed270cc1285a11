/*
 * The history of an environment costs nothing: with ten thousand past deployments, reads are as fast as with none. The real operations, on virtual time that stands still, so that nothing else happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "environment/test_manager.h"

#define OLD_DEPLOYMENTS 10000
#define PASSES 50
#define ROUNDS 20 /* a machine that does much else may be slow in any of them, not in all */

static const struct question {
	const char *operation, *body;
} questions[] = {
	{"GetEnvironment", "{'name':'log'}"},
	{"ListEnvironments", "{}"},
	{"ListDeployments", "{'name':'log','maxResults':1}"},
	{"ListDeployments", "{'name':'log','status':'pending'}"},
	{"ListEnvironmentVersions", "{'name':'log'}"},
};

static int64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Of the processor's time, and the least of some times: what else happens on the machine does not count. */
static int64_t cost_of(struct test_manager *bench, const struct question *question)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < PASSES; i++) {
		int64_t before = processor_ns(), took;

		test_manager_ask(bench, question->operation, "%s", question->body);
		took = processor_ns() - before;
		least = took < least ? took : least;
	}
	return least;
}

static void start(struct test_manager *bench, const char *version)
{
	test_manager_ask(bench, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
}

static void test_61_history_costs_nothing(void **state)
{
	struct test_manager *bench = test_manager_new(61);
	int64_t before[LENGTH(questions)];
	char versions[2][64];

	(void)state;
	test_call(bench->server, "CreateCluster", "{'clusterName':'default'}");
	for (int i = 0; i < 2; i++) {
		test_call(bench->server, "RegisterTaskDefinition",
			"{'family':'log','containerDefinitions':[{'name':'a','image':'a',"
			"'memory':16}]}");
		test_manager_ask(bench, i == 0 ? "CreateEnvironment" : "UpdateEnvironment",
			"{'name':'log','taskDefinition':'log:%d',"
			"'instanceGroup':{'cluster':'default'}}",
			i + 1);
		snprintf(versions[i], sizeof(versions[i]), "%s",
			test_text(bench->server, "environmentVersion"));
	}
	start(bench, versions[0]);
	for (size_t i = 0; i < LENGTH(questions); i++)
		before[i] = cost_of(bench, &questions[i]);
	/* Each cancels the one before. */
	for (int i = 1; i < OLD_DEPLOYMENTS; i++)
		start(bench, versions[i % 2]);
	test_manager_ask(bench, "ListDeployments", "{'name':'log','status':'canceled'}");
	assert_int_equal(json_count(json_get(bench->server->answer, "deployments")), 100);
	for (size_t i = 0; i < LENGTH(questions); i++) {
		int64_t after = INT64_MAX;

		for (int round = 0; round < ROUNDS && after > 2 * before[i]; round++)
			after = cost_of(bench, &questions[i]);
		if (after > 2 * before[i])
			fail_msg("%s %s takes %lld ns, and took %lld", questions[i].operation,
				questions[i].body, (long long)after, (long long)before[i]);
	}
	test_manager_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_61_history_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
