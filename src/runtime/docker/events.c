/*
 * Events, for fast reactions. The daemon's stream of events is only a hint: each event requeues its
 * task. When the stream starts, also after it was cut, all tasks are requeued, so that changes in
 * between are not missed; and again whenever it was silent for long.
 */
#include <stdio.h>

#include "base/memory.h"
#include "runtime/docker/docker_internal.h"

#define SILENCE_MS 60000
#define AGAIN_FIRST_US INT64_C(20000)
#define AGAIN_MOST_US INT64_C(2000000)

void docker_report(struct docker_runtime *runtime, struct span token)
{
	runner_signal(runtime->settled);
	if (runtime->changed)
		runtime->changed(runtime->context, token);
}

static int begun(void *context)
{
	struct docker_runtime *runtime = context;

	lock_take(&runtime->lock);
	runtime->is_heard = true;
	MAP_EACH (&runtime->tasks, entry)
		work_queue_add(runtime->work, entry->key);
	lock_release(&runtime->lock);
	work_queue_add(runtime->work, SPAN(DOCKER_KEY_EVERYTHING));
	docker_report(runtime, SPAN(""));
	return 0;
}

static int take_event(void *context, const struct json *event, struct err *err)
{
	struct docker_runtime *runtime = context;
	struct span token =
		json_text(json_get(json_path(event, "Actor.Attributes"), DOCKER_LABEL_TASK));

	(void)err;
	if (token.data && plan_token_is_valid(token))
		work_queue_add(runtime->work, token);
	return 0;
}

/* Until the stream ends. */
static int listen_once(struct docker_runtime *runtime, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct docker_lines lines = {.begun = begun,
		.line = take_event,
		.context = runtime,
		.idle_timeout_ms = SILENCE_MS};
	struct span filter = arena_format(arena,
		"{\"type\":[\"container\"],\"label\":[\"" DOCKER_LABEL_HOST "=%s\"],\"event\":["
		/* Podman has other names for two of them. */
		"\"start\",\"die\",\"died\",\"oom\",\"destroy\",\"remove\",\"health_status\"]}",
		runtime->host);
	int code = docker_api_negotiate(&runtime->api, err);

	if (code < 0)
		return code;
	return docker_stream_lines(&runtime->api, NULL, &lines, err, "/events?filters=%s",
		docker_escape(arena, filter).data);
}

void docker_events_main(void *context)
{
	struct docker_runtime *runtime = context;
	int64_t delay_us = AGAIN_FIRST_US;

	while (!runner_is_stopped(runtime->runner)) {
		struct err err;
		bool heard;

		listen_once(runtime, &err);
		lock_take(&runtime->lock);
		heard = runtime->is_heard;
		runtime->is_heard = false;
		lock_release(&runtime->lock);
		delay_us = heard ? AGAIN_FIRST_US : delay_us * 2;
		if (delay_us > AGAIN_MOST_US)
			delay_us = AGAIN_MOST_US;
		if (runner_sleep_until(runtime->runner,
			    runner_deadline_us(runtime->runner, delay_us)) < 0)
			return;
	}
}
