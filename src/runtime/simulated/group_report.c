/* Reports of a simulated group: its state at the last pass, and its events. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "runtime/simulated/world.h"

#define EVENT_TEXT_MAX 1024

/* A repeated event increments its count, and becomes the latest. */
static bool event_again(struct simulated_group *group, const char *text, int64_t now_ms)
{
	for (size_t i = 0; i < group->event_count; i++) {
		struct simulated_event event = group->events[i];

		if (strcmp(event.text, text) != 0)
			continue;
		event.count++;
		event.at_ms = now_ms;
		memmove(&group->events[i], &group->events[i + 1],
			(group->event_count - i - 1) * sizeof(event));
		group->events[group->event_count - 1] = event;
		return true;
	}
	return false;
}

void simulated_group_event(struct simulated_group *group, bool warning, const char *format, ...)
{
	int64_t now_ms = runner_wall_ms(group->world->runner);
	char text[EVENT_TEXT_MAX];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	simulated_world_group_changed(group->world, group);
	if (event_again(group, text, now_ms))
		return;
	if (group->event_count == RUNTIME_EVENTS_MAX) {
		free(group->events[0].text);
		group->event_count--;
		memmove(&group->events[0], &group->events[1],
			group->event_count * sizeof(group->events[0]));
	}
	group->events[group->event_count++] = (struct simulated_event){
		.number = ++group->world->event_number,
		.at_ms = now_ms,
		.count = 1,
		.warning = warning,
		.text = memory_copy_string(text),
	};
}

static void report_versions(const struct simulated_group *group, struct arena *arena,
	struct runtime_group_state *out)
{
	const struct simulated_version *version = group->versions;

	for (; version && out->version_count < RUNTIME_VERSIONS_MAX; version = version->next)
		out->versions[out->version_count++] = (struct runtime_group_version){
			.version = arena_copy_span(arena, version->name),
			.desired = version->desired,
			.current = version->reported_current,
			.ready = version->reported_ready,
			.created_ms = version->created_ms,
		};
}

static void report_events(const struct simulated_group *group, struct arena *arena,
	struct runtime_group_state *out)
{
	out->events = arena_allocate_array(arena, group->event_count, sizeof(*out->events));
	for (; out->event_count < group->event_count; out->event_count++) {
		const struct simulated_event *event = &group->events[out->event_count];

		out->events[out->event_count] = (struct runtime_group_event){
			.id = arena_format(arena, "event-%" PRIu64, event->number),
			.at_ms = event->at_ms,
			.count = event->count,
			.warning = event->warning,
			.text = arena_copy_span(arena, span_of(event->text)),
		};
	}
}

struct runtime_group_state *simulated_group_report(const struct simulated_group *group,
	struct arena *arena)
{
	struct runtime_group_state *out = arena_allocate(arena, sizeof(*out));

	out->id = arena_copy_span(arena, group->id);
	out->version = arena_copy_span(arena, span_of(group->desired.version));
	out->settled = group->settled;
	out->desired = group->desired.daemon ? group->reported_desired : group->desired.desired;
	out->current = group->reported_current;
	out->updated = group->reported_updated;
	out->ready = group->reported_ready;
	out->available = group->reported_available;
	out->failed = group->failed;
	out->reason = SPAN("");
	if (group->failed)
		out->reason = arena_format(arena,
			"ProgressDeadlineExceeded: ReplicaSet \"%s\" has timed out progressing.",
			group->desired.version);
	out->ending = group->ending;
	report_versions(group, arena, out);
	report_events(group, arena, out);
	return out;
}
