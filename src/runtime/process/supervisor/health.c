/*
 * Health checks as Docker has them: the first one interval after the start, the next one interval
 * after the last one ended. A failure within the start period does not count until a check has
 * succeeded.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process/supervisor/task.h"

#define READS_AT_ONCE 16 /* a check that writes without pause must not block the rest */

static void set_health(struct container *container, enum runtime_health health)
{
	if (container->record->health == health)
		return;
	container->record->health = health;
	container->record->health_reason =
		health == RUNTIME_UNHEALTHY ? span_of(container->health.reason) : SPAN("");
	container->task->changed = true;
}

void health_begin(struct container *container)
{
	const struct plan_health *plan = container->plan->health;

	if (!plan)
		return;
	container->health = (struct health_check){.report = -1,
		.output = -1,
		.next_us = container->started_us + plan->interval_ms * 1000};
	set_health(container, RUNTIME_HEALTH_UNKNOWN);
}

/* One line of plain text: the output goes into answers and events. */
static void describe_failure(struct container *container, const char *result)
{
	struct health_check *check = &container->health;

	for (size_t i = 0; i < check->text_length; i++)
		if (check->text[i] == '\n' || check->text[i] == '\r' || check->text[i] == '\t')
			check->text[i] = ' ';
		else if (check->text[i] < ' ' || check->text[i] > '~')
			check->text[i] = '?';
	while (check->text_length > 0 && check->text[check->text_length - 1] == ' ')
		check->text_length--;
	snprintf(check->reason, sizeof(check->reason), "%s%s%.*s", result,
		check->text_length > 0 ? ": " : "", (int)check->text_length, check->text);
}

static void count_result(struct container *container, bool succeeded)
{
	const struct plan_health *plan = container->plan->health;
	struct health_check *check = &container->health;
	int64_t now = clock_steady_us(container->task->clock);

	check->next_us = now + plan->interval_ms * 1000;
	if (succeeded) {
		check->failures = 0;
		set_health(container, RUNTIME_HEALTHY);
		return;
	}
	if (container->record->health == RUNTIME_HEALTH_UNKNOWN &&
		now < container->started_us + plan->start_period_ms * 1000)
		return;
	if (++check->failures >= plan->retries)
		set_health(container, RUNTIME_UNHEALTHY);
}

/* Reading does not block, writing does. */
static int make_output(int *ret_read, int *ret_write)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
		int code = -errno;

		close(ends[0]);
		close(ends[1]);
		return code;
	}
	*ret_read = ends[0];
	*ret_write = ends[1];
	return 0;
}

void health_read(struct container *container)
{
	struct health_check *check = &container->health;
	char data[4096];

	for (unsigned i = 0; i < READS_AT_ONCE && check->output >= 0; i++) {
		ssize_t got = read(check->output, data, sizeof(data));
		size_t room = sizeof(check->text) - check->text_length;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			memory_close_descriptor(&check->output);
			return;
		}
		if ((size_t)got < room)
			room = (size_t)got;
		memcpy(check->text + check->text_length, data, room);
		check->text_length += room;
	}
}

static void start_check(struct container *container)
{
	struct health_check *check = &container->health;
	_close_ int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct launch launch = task_launch_of(container);
	_close_ int output = -1;

	check->text_length = 0;
	launch.arguments = container->plan->health->arguments;
	launch.limit_count = 0;
	if (nothing < 0 || make_output(&check->output, &output) < 0) {
		describe_failure(container, "the check cannot be started");
		count_result(container, false);
		return;
	}
	launch.input = nothing;
	launch.output = launch.error = output;
	if (launch_start(&launch, &check->monitor, &check->report, NULL) < 0) {
		check->monitor = 0;
		memory_close_descriptor(&check->output);
		describe_failure(container, "the check cannot be started");
		count_result(container, false);
		return;
	}
	check->overdue = false;
	check->deadline_us = clock_steady_us(container->task->clock) +
			     container->plan->health->timeout_ms * 1000;
}

void health_step(struct container *container)
{
	struct health_check *check = &container->health;
	int64_t now = clock_steady_us(container->task->clock);

	if (!container->plan->health)
		return;
	if (check->monitor) {
		if (now >= check->deadline_us && !check->overdue) {
			check->overdue = true;
			kill(check->monitor, LAUNCH_KILL);
		}
		return;
	}
	if (container->step == CONTAINER_RUNNING && now >= check->next_us)
		start_check(container);
}

void health_ended(struct container *container, int status)
{
	struct health_check *check = &container->health;
	bool succeeded = !check->overdue && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	char result[64];

	check->monitor = 0;
	memory_close_descriptor(&check->report);
	health_read(container);
	memory_close_descriptor(&check->output);
	snprintf(result, sizeof(result), "exit code %d",
		WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	if (check->overdue)
		snprintf(result, sizeof(result), "timed out after %lld s",
			(long long)container->plan->health->timeout_ms / 1000);
	if (!succeeded)
		describe_failure(container, result);
	if (container->step == CONTAINER_RUNNING)
		count_result(container, succeeded);
}

void health_cancel(struct container *container)
{
	struct health_check *check = &container->health;

	if (check->monitor && !check->overdue) {
		check->overdue = true;
		kill(check->monitor, LAUNCH_KILL);
	}
}

int64_t health_next_us(const struct container *container)
{
	const struct health_check *check = &container->health;

	if (!container->plan->health)
		return TASK_NEVER;
	if (check->monitor)
		return check->overdue ? TASK_NEVER : check->deadline_us;
	return container->step == CONTAINER_RUNNING ? check->next_us : TASK_NEVER;
}
