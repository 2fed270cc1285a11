/*
 * A remote target for unit tests, "far": the ECS of another server in this process, behind a function that may delay calls,
 * lose them, or count them. Include it behind cmocka's header.
 */
#ifndef ENVIRONMENT_TEST_TARGET_H
#define ENVIRONMENT_TEST_TARGET_H

#include "aws/call_target.h"
#include "aws/targets.h"
#include "environment/test_manager.h"

typedef int test_target_send(struct aws_target *target, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err);

struct test_target {
	struct aws_target target;
	struct aws_target *inner; /* the server itself */
	void *context;
};

static inline struct test_target *test_target_of(struct aws_target *target)
{
	return CONTAINER_OF(target, struct test_target, target);
}

static inline void test_target_close(struct aws_target *target)
{
	aws_target_free(test_target_of(target)->inner);
}

static inline struct aws_target *test_target_new(struct runner *runner, struct test_server *remote,
	test_target_send *send, void *context)
{
	struct arena *arena = arena_new(0);
	struct test_target *made = arena_allocate(arena, sizeof(*made));

	*made = (struct test_target){.target = {.runner = runner,
					     .arena = arena,
					     .send = send,
					     .close = test_target_close},
		.inner = aws_target_local(remote->dispatcher, runner, &remote->caller),
		.context = context};
	return &made->target;
}

static const char *const test_remote_accounts[] = {"123456789012"};
/* The settings of the target, which must be static. */
#define TEST_REMOTE(poll)                                                                          \
	{                                                                                          \
		.name = "far", .region = "eu-west-1", .account = "123456789012",                   \
		.accounts = test_remote_accounts, .account_count = 1, .poll_ms = (poll)            \
	}

/* Starts the manager again, with the target. make: calls test_target_new(). */
static inline void test_target_use(struct test_manager *near,
	const struct aws_target_settings *settings, struct aws_target *(*make)(void *context),
	void *context)
{
	test_manager_stop(near);
	near->targets = aws_targets_created(settings, 1, make, context);
	test_manager_start(near);
}

#endif
