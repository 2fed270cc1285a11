/* The seed's tables of service and task statuses, row by row. What answers make of it is tested with a real server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/memory.h"
#include "ecs/record/task.h"
#include "ecs/task/sync_status.h"

static void the_table_of_services(void **state)
{
	static const struct {
		bool found, failed;
		int64_t replicas, ready;
		const char *status;
	} rows[] = {
		{false, false, 0, 0, "INACTIVE"},
		{false, true, 3, 3, "INACTIVE"},
		{true, false, 0, 0, "DRAINING"},
		{true, false, 3, 0, "PROVISIONING"},
		{true, false, 3, 1, "UPDATING"},
		{true, false, 3, 2, "UPDATING"},
		{true, false, 3, 3, "ACTIVE"},
		{true, true, 3, 0, "FAILED"},
		{true, true, 3, 3, "FAILED"},
		{true, true, 0, 0, "FAILED"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		assert_string_equal(sync_service_status(rows[i].found, rows[i].failed,
					    rows[i].replicas, rows[i].ready),
			rows[i].status);
}

static void the_table_of_tasks(void **state)
{
	static const struct {
		const char *pod;
		struct task_facts task;
		bool lost;
		const char *status;
	} rows[] = {
		{"pending, no containers", {.last = TASK_PENDING}, false, "PROVISIONING"},
		{"pending, containers are made", {.last = TASK_PENDING, .instance = SPAN("i")},
			false, "PENDING"},
		{"running, not known to be ready",
			{.last = TASK_RUNNING,
				.instance = SPAN("i"),
				.checked = true,
				.health = TASK_HEALTH_UNKNOWN},
			false, "ACTIVATING"},
		{"running, not ready any more",
			{.last = TASK_RUNNING,
				.instance = SPAN("i"),
				.checked = true,
				.health = TASK_HEALTH_UNHEALTHY},
			false, "ACTIVATING"},
		{"running and ready",
			{.last = TASK_RUNNING,
				.instance = SPAN("i"),
				.checked = true,
				.health = TASK_HEALTH_HEALTHY},
			false, "RUNNING"},
		{"running, nothing checks it",
			{.last = TASK_RUNNING,
				.instance = SPAN("i"),
				.health = TASK_HEALTH_UNKNOWN},
			false, "RUNNING"},
		{"succeeded or failed", {.last = TASK_STOPPED, .instance = SPAN("i")}, false,
			"STOPPED"},
		{"unknown while it was made", {.last = TASK_PENDING, .instance = SPAN("i")}, true,
			"STOPPED"},
		{"unknown while it ran", {.last = TASK_RUNNING, .instance = SPAN("i")}, true,
			"STOPPED"},
		{"unknown after its end", {.last = TASK_STOPPED, .instance = SPAN("i")}, true,
			"STOPPED"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const char *status = sync_task_status(&rows[i].task, rows[i].lost);

		if (strcmp(status, rows[i].status) != 0)
			fail_msg("%s: %s", rows[i].pod, status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_of_services),
		cmocka_unit_test(the_table_of_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
