/*
 * The workers: each takes a token from the queue, inspects the task's containers, decides (step.h)
 * and runs one step after the other until it has to wait. A token is never with two workers.
 * Without a response from the daemon the token is requeued, and nothing is concluded.
 */
#include <stdio.h>

#include "base/memory.h"
#include "runtime/docker/docker_internal.h"

#define START_MS 120000
#define STEPS_MAX 1000 /* in one pass; then other tokens get their turn */

/* Inspects the containers. -EAGAIN: no response from the daemon. */
static int docker_inspect(struct docker_runtime *runtime, const struct plan *plan,
	struct arena *arena, struct docker_facts facts[DOCKER_FACTS_MAX], struct err *err)
{
	for (size_t i = 0; i <= plan->container_count; i++) {
		struct span name = i < plan->container_count ? plan->containers[i].name : SPAN("");
		struct json *inspected;
		int code;

		facts[i] = (struct docker_facts){.status = DOCKER_ABSENT};
		if (i == plan->container_count && plan->network != PLAN_NETWORK_AWSVPC)
			break;
		code = docker_call(&runtime->api, NULL, arena, &inspected, err,
			"/containers/%s/json",
			docker_container_name(arena, runtime->host, plan->token, name).data);
		if (code == -ENOENT)
			continue;
		if (code < 0)
			return code == -ECANCELED ? code : -EAGAIN;
		docker_facts_read(inspected, arena, &facts[i]);
	}
	return 0;
}

/* ---- steps ---- */

static struct span step_name(struct docker_runtime *runtime, const struct docker_task *task,
	struct arena *arena, size_t index)
{
	return docker_container_name(arena, runtime->host, task->plan->token,
		index < task->plan->container_count ? task->plan->containers[index].name
						    : SPAN(""));
}

/* An error response fails the container; a missing response does not. */
static int start(struct docker_runtime *runtime, struct docker_task *task, struct arena *arena,
	size_t index, struct err *err)
{
	struct docker_request request = {.method = "POST", .timeout_ms = START_MS};
	int code = docker_call(&runtime->api, &request, arena, NULL, err, "/containers/%s/start",
		step_name(runtime, task, arena, index).data);

	if (code == 0 || code == -EAGAIN || code == -ECANCELED)
		return code;
	if (code == -ENOENT)
		return 0; /* removed meanwhile: the next inspection finds out */
	lock_take(&runtime->lock);
	docker_fail(&task->state, index,
		index < task->plan->container_count ? "CannotStartContainerError"
						    : "ResourceInitializationError",
		err->message, runner_wall_ms(runtime->runner));
	lock_release(&runtime->lock);
	return 0;
}

static int send_signal(struct docker_runtime *runtime, struct docker_task *task,
	struct arena *arena, size_t index, const char *signal, struct err *err)
{
	struct docker_request request = {.method = "POST"};
	int code = docker_call(&runtime->api, &request, arena, NULL, err,
		"/containers/%s/kill?signal=%s", step_name(runtime, task, arena, index).data,
		docker_escape(arena, span_of(signal)).data);

	/* It was removed or has ended: the next inspection finds out. */
	return code == -EAGAIN || code == -ECANCELED || code == -EREMOTEIO ? code : 0;
}

static int do_step(struct docker_runtime *runtime, struct docker_task *task, struct arena *arena,
	const struct docker_step *step, const struct docker_facts *facts, struct err *err)
{
	const char *signal = facts[step->container].stop_signal;
	int code;

	switch (step->action) {
	case DOCKER_PREPARE: return docker_prepare(runtime, task, err);
	case DOCKER_START: return start(runtime, task, arena, step->container, err);
	case DOCKER_SIGNAL:
		code = send_signal(runtime, task, arena, step->container,
			signal[0] ? signal : "SIGTERM", err);
		if (code < 0) {
			lock_take(&runtime->lock);
			docker_signal_lost(&task->state, step->container);
			lock_release(&runtime->lock);
		}
		return code;
	case DOCKER_KILL: return send_signal(runtime, task, arena, step->container, "SIGKILL", err);
	case DOCKER_WAIT:
	case DOCKER_OVER: break;
	}
	return 0;
}

/* ---- a task ---- */

static void follow_logs(struct docker_runtime *runtime, struct docker_task *task,
	const struct docker_facts *facts)
{
	for (size_t i = 0; i < task->plan->container_count; i++) {
		struct docker_log_source source = {.token = span_of(task->token),
			.name = task->plan->containers[i].name,
			.folder = task->folder,
			.id = facts[i].id,
			.most = task->plan->containers[i].log_max_bytes,
			.runs = facts[i].status == DOCKER_RUNNING};

		if (facts[i].status == DOCKER_RUNNING || facts[i].status == DOCKER_ENDED)
			docker_logs_follow(&runtime->logs, &source);
	}
}

/* Inspects and decides. *ret_saved: the state is on disk, and reported if it must be. */
static int inspect_and_decide(struct docker_runtime *runtime, struct docker_task *task,
	struct arena *arena, struct docker_facts *facts, struct docker_step *ret_step,
	struct err *err)
{
	int64_t now_ms;
	bool unsaved, changed;
	int code = docker_inspect(runtime, task->plan, arena, facts, err);

	if (code < 0)
		return code;
	follow_logs(runtime, task, facts);
	now_ms = runner_wall_ms(runtime->runner);
	lock_take(&runtime->lock);
	docker_observe(&task->state, facts, now_ms);
	*ret_step = docker_next(&task->state, facts, now_ms);
	unsaved = task->state.unsaved;
	changed = task->state.changed;
	task->state.changed = false;
	lock_release(&runtime->lock);
	if (unsaved)
		code = docker_task_save(runtime, task, err);
	if (changed)
		docker_report(runtime, span_of(task->token));
	return code;
}

static int advance(struct docker_runtime *runtime, struct docker_task *task, struct err *err)
{
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct docker_facts facts[DOCKER_FACTS_MAX];
		struct docker_step step;
		int code = inspect_and_decide(runtime, task, arena, facts, &step, err);

		if (code < 0 || step.action == DOCKER_OVER)
			return code;
		if (step.action == DOCKER_WAIT) {
			int64_t wait_ms = step.at_ms - runner_wall_ms(runtime->runner);

			if (step.at_ms != INT64_MAX)
				work_queue_add_at(runtime->work, span_of(task->token),
					runner_deadline_us(runtime->runner, wait_ms * 1000));
			return 0;
		}
		code = do_step(runtime, task, arena, &step, facts, err);
		if (code < 0)
			return code;
	}
	work_queue_add(runtime->work, span_of(task->token));
	return 0;
}

static bool is_over(struct docker_runtime *runtime, struct docker_task *task)
{
	bool over;

	lock_take(&runtime->lock);
	over = task->gone || (task->state.record->phase == RUNTIME_STOPPED && !task->state.unsaved);
	lock_release(&runtime->lock);
	return over;
}

static int work_on(struct docker_runtime *runtime, struct span key, struct err *err)
{
	struct docker_task *task;
	int code = 0;

	if (span_is(key, DOCKER_KEY_EVERYTHING))
		return docker_remove_orphans(runtime, err);
	task = docker_task_hold(runtime, key);
	if (!task)
		return 0;
	if (!is_over(runtime, task))
		code = advance(runtime, task, err);
	docker_task_release(runtime, task);
	return code;
}

void docker_work_main(void *context)
{
	struct docker_runtime *runtime = context;
	struct span key;

	while (work_queue_get(runtime->work, &key) == 0) {
		struct err err = {0};
		int code = work_on(runtime, key, &err);

		if (code == 0 || code == -EINPROGRESS || code == -ECANCELED)
			work_queue_forget(runtime->work, key);
		else
			work_queue_add_rate_limited(runtime->work, key);
		work_queue_done(runtime->work, key);
	}
}
