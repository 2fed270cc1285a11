/*
 * A daemon environment in a remote cluster for unit tests, on virtual time: the real controller, a real ECS of another
 * server, and between them a target that is slow, or unavailable. Include it behind cmocka's header.
 */
#ifndef ENVIRONMENT_TEST_REMOTE_H
#define ENVIRONMENT_TEST_REMOTE_H

#include "environment/test_target.h"

#define TEST_REMOTE_POLL_MS 5000
#define TEST_REMOTE_ENVIRONMENT SPAN("123456789012/log")

struct test_remote {
	struct test_manager *near;
	struct test_server *remote;
	bool is_away;
	int64_t takes_us; /* a call */
	uint64_t calls, starts, stops;
};

static inline int test_remote_send(struct aws_target *target, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct test_target *remote = test_target_of(target);
	struct test_remote *bench = remote->context;
	int code;

	bench->calls++;
	bench->starts += strcmp(call->operation, "StartTask") == 0;
	bench->stops += strcmp(call->operation, "StopTask") == 0;
	if (bench->is_away)
		return err_set(err, -ECONNREFUSED, "connection refused");
	runner_sleep_until(target->runner, runner_deadline_us(target->runner, bench->takes_us / 2));
	code = remote->inner->send(remote->inner, call, ret_answer, failure, err);
	runner_sleep_until(target->runner, runner_deadline_us(target->runner, bench->takes_us / 2));
	return code;
}

static inline struct aws_target *test_remote_make(void *context)
{
	struct test_remote *bench = context;

	return test_target_new(bench->near->runner, bench->remote, test_remote_send, bench);
}

/* With so many instances, and log:1 to log:3. */
static inline struct test_remote *test_remote_new(uint64_t seed, int instances)
{
	static const struct aws_target_settings settings = TEST_REMOTE(TEST_REMOTE_POLL_MS);
	struct test_remote *bench = memory_allocate(sizeof(*bench));
	char id[TEST_ID_SIZE];

	bench->near = test_manager_new(seed);
	bench->remote = test_server_new_on(runner_clock(bench->near->runner));
	test_target_use(bench->near, &settings, test_remote_make, bench);
	test_call(bench->remote, "CreateCluster", "{'clusterName':'default'}");
	for (int i = 0; i < instances; i++)
		test_instance(bench->remote, "default", 4096, 4096, "", id);
	for (int i = 0; i < 3; i++)
		test_call(bench->remote, "RegisterTaskDefinition",
			"{'family':'log','containerDefinitions':[{'name':'a','image':'a',"
			"'memory':16}]}");
	return bench;
}

static inline void test_remote_free(struct test_remote *bench)
{
	test_manager_stop(bench->near);
	aws_targets_free(bench->near->targets);
	test_server_free(bench->remote);
	test_manager_free(bench->near);
	free(bench);
}

/* Of log:REVISION, as an update if there is one already; it has two hours. */
static inline void test_remote_deploy(struct test_remote *bench, int revision, char id[64])
{
	char version[64];

	test_manager_ask(bench->near, revision == 1 ? "CreateEnvironment" : "UpdateEnvironment",
		"{'name':'log','taskDefinition':'log:%d','target':'far',"
		"'instanceGroup':{'cluster':'default'},"
		"'deploymentConfiguration':{'minHealthyPercent':50,'timeoutSeconds':7200}}",
		revision);
	snprintf(version, sizeof(version), "%s",
		test_text(bench->near->server, "environmentVersion"));
	test_manager_ask(bench->near, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
	snprintf(id, 64, "%s", test_text(bench->near->server, "deploymentId"));
}

static inline const char *test_remote_status(struct test_remote *bench, const char *id)
{
	test_manager_ask(bench->near, "GetDeployment", "{'name':'log','deploymentId':'%s'}", id);
	return test_text(bench->near->server, "status");
}

/* Starts pending tasks there, and stops those that have to stop. How many tasks of log:REVISION run then; *ret_all: how
 * many there ever were. */
static inline size_t test_remote_move(struct test_remote *bench, int revision, size_t *ret_all)
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(bench->remote->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_TASKS};
	const struct store_object *task;
	size_t running = 0;

	*ret_all = 0;
	while ((task = store_next(&cursor))) {
		const struct task_facts *facts = task_facts(task);
		bool wanted = facts->desired == TASK_RUNNING;
		char id[TEST_ID_SIZE];

		(*ret_all)++;
		running += wanted && facts->last != TASK_STOPPED && facts->revision == revision;
		test_id_of(arena_copy_span(arena, task->key).data, id);
		if (facts->last == (wanted ? TASK_PENDING : TASK_RUNNING))
			test_call(bench->remote, "SubmitTaskStateChange",
				"{'cluster':'default','task':'%s','status':'%s'}", id,
				wanted ? "RUNNING" : "STOPPED");
	}
	return running;
}

#endif
