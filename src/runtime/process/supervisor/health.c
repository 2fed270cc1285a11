/*
 * Health checks as Docker has them: the first one interval after the start, the next one interval
 * after the last one ended. A failure within the start period does not count until a check has
 * succeeded.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process/supervisor/task.h"

static void set_health(struct container *container, enum runtime_health health)
{
	if (container->record->health == health)
		return;
	container->record->health = health;
	container->task->changed = true;
}

void health_begin(struct container *container)
{
	const struct plan_health *plan = container->plan->health;

	if (!plan)
		return;
	container->health = (struct health_check){
		.report = -1, .next_us = container->started_us + plan->interval_ms * 1000};
	set_health(container, RUNTIME_HEALTH_UNKNOWN);
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

static void start_check(struct container *container)
{
	struct health_check *check = &container->health;
	_close_ int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct launch launch = task_launch_of(container);

	launch.arguments = container->plan->health->arguments;
	launch.input = launch.output = launch.error = nothing;
	launch.limit_count = 0;

	if (nothing < 0 || launch_start(&launch, &check->monitor, &check->report, NULL) < 0) {
		check->monitor = 0;
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
	bool succeeded =
		!container->health.overdue && WIFEXITED(status) && WEXITSTATUS(status) == 0;

	container->health.monitor = 0;
	memory_close_descriptor(&container->health.report);
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
