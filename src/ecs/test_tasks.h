/*
 * Tasks for unit tests: an instance with room for them, a definition, and tasks moved along their ladder by
 * hand. Include it behind ecs/test_server.h.
 */
#ifndef ECS_TEST_TASKS_H
#define ECS_TEST_TASKS_H

#include "ecs/record/service_kind.h"
#include "ecs/record/task.h"
#include "ecs/task/task_edit.h"

#define TEST_ACCOUNT_KEY "123456789012/eu-west-1"
#define TEST_ARN "arn:aws:ecs:eu-west-1:123456789012:"
#define TEST_ID_SIZE 64

/* The part after the last '/' of an ARN. */
static inline void test_id_of(const char *arn, char id[TEST_ID_SIZE])
{
	const char *slash = strrchr(arn, '/');

	snprintf(id, TEST_ID_SIZE, "%s", slash ? slash + 1 : arn);
}

/* Registers one that can do what definitions of tests ask for; `attributes` ends in a comma, or is "". */
static inline void test_instance(struct test_server *server, const char *cluster, int cpu,
	int memory, const char *attributes, char id[TEST_ID_SIZE])
{
	test_call(server, "RegisterContainerInstance",
		"{'cluster':'%s','totalResources':[{'name':'CPU','type':'INTEGER','integerValue':%"
		"d},"
		"{'name':'MEMORY','type':'INTEGER','integerValue':%d}],"
		"'attributes':[%s{'name':'ecs.capability.task-eni'},"
		"{'name':'ecs.capability.container-health-check'},"
		"{'name':'com.amazonaws.ecs.capability.task-iam-role'},"
		"{'name':'ecs.availability-zone','value':'eu-west-1b'},"
		"{'name':'ecs.cpu-architecture','value':'arm64'}]}",
		cluster, cpu, memory, attributes);
	test_id_of(test_text(server, "containerInstance.containerInstanceArn"), id);
}

/* A member of the nth item of a list in the last answer, "" if there is none. */
static inline const char *test_item(struct test_server *server, const char *list, size_t index,
	const char *path)
{
	struct span text =
		json_text(json_path(json_item(json_path(server->answer, list), index), path));

	return text.data ? arena_copy_span(server->arena, text).data : "";
}

static inline size_t test_count(struct test_server *server, const char *list)
{
	return json_count(json_path(server->answer, list));
}

/* RunTask with these members; the id of its first task. */
__attribute__((format(printf, 3, 4))) static inline void test_run(struct test_server *server,
	char id[TEST_ID_SIZE], const char *format, ...)
{
	va_list list;

	va_start(list, format);
	test_send_list(server, "RunTask", format, list);
	va_end(list);
	if (server->error_type[0])
		fail_msg("RunTask: %s: %.*s", server->error_type, SPAN_ARGS(test_message(server)));
	if (test_count(server, "tasks") == 0)
		fail_msg("no task was placed: %s", test_item(server, "failures", 0, "reason"));
	test_id_of(test_item(server, "tasks", 0, "taskArn"), id);
}

struct test_change {
	const char *key;
	void (*change)(struct task_facts *facts);
};

static inline int test_change_write(struct store_transaction *transaction, void *context,
	struct err *err)
{
	struct test_change *change = context;
	_arena_ struct arena *arena = arena_new(0);
	struct task_edit edit;
	int code =
		task_edit_open(store_get(store_head(transaction), &task_kind, span_of(change->key)),
			arena, &edit, err);

	if (code < 0)
		return code;
	change->change(&edit.facts);
	return task_save(transaction, &edit, err);
}

/* Changes the facts of a task, as a controller would. */
static inline void test_change_task(struct test_server *server, const char *cluster, const char *id,
	void (*change)(struct task_facts *facts))
{
	_arena_ struct arena *arena = arena_new(0);
	struct test_change context = {
		arena_format(arena, TEST_ACCOUNT_KEY "/%s/%s", cluster, id).data, change};
	struct err err = {0};

	if (store_write_wait(server->store, test_change_write, &context, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static inline void test_has_run(struct task_facts *facts)
{
	facts->last = TASK_RUNNING;
	facts->started_ms = TEST_SERVER_NOW_MS;
}

static inline void test_has_stopped(struct task_facts *facts)
{
	facts->desired = facts->last = TASK_STOPPED;
	facts->stopping_ms = facts->stopped_ms = TEST_SERVER_NOW_MS;
}

#endif
