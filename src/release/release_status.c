/*
 * Conditions. There is one of each type; lastTransitionTime changes only with the condition's status.
 *
 *     Available    all objects of the current version are applied and available
 *     Progressing  some are not yet, and nothing has failed
 *     Failure      the spec cannot be followed, an object cannot be applied, or an object has failed
 */
#include "release/release_status.h"

#include "base/clock.h"
#include "base/memory.h"

#define MESSAGE_MAX 2048

static struct json *copy_or_new(struct arena *arena, const struct json *object)
{
	return json_is(object, JSON_OBJECT) ? json_copy_object(arena, object)
					    : json_new_object(arena);
}

static struct span format_time(struct arena *arena, int64_t now_ms)
{
	char text[CLOCK_ISO_SIZE];

	/* Kubernetes' times have whole seconds. */
	clock_format_iso(now_ms - now_ms % 1000, text);
	return arena_format(arena, "%.*sZ", (int)strlen("2026-11-16T12:00:00"), text);
}

/* ---- conditions ---- */

struct condition {
	const char *type;
	bool is_true;
	const char *reason; /* NULL: none */
	struct span message;
};

static const struct json *find_condition(const struct json *status, const char *type)
{
	JSON_EACH_ITEM (json_get(status, "conditions"), condition)
		if (span_is(json_get_text(condition, "type"), type))
			return condition;
	return NULL;
}

static void add_condition(struct arena *arena, struct json *conditions,
	const struct release_snapshot *release, const struct condition *condition, int64_t now_ms)
{
	const struct json *before = find_condition(release->status, condition->type);
	const char *status = condition->is_true ? "True" : "False";
	struct json *object = json_new_object(arena);
	struct span message = condition->message;

	if (message.length > MESSAGE_MAX)
		message.length = MESSAGE_MAX;
	json_set_string(arena, object, "type", span_of(condition->type));
	json_set_string(arena, object, "status", span_of(status));
	if (condition->reason)
		json_set_string(arena, object, "reason", span_of(condition->reason));
	if (message.length > 0)
		json_set_string(arena, object, "message", message);
	if (span_is(json_get_text(before, "status"), status) &&
		json_get(before, "lastTransitionTime"))
		json_set(arena, object, "lastTransitionTime",
			json_get(before, "lastTransitionTime"));
	else
		json_set_string(arena, object, "lastTransitionTime", format_time(arena, now_ms));
	json_set_integer(arena, object, "observedGeneration", release->generation);
	json_append(arena, conditions, object);
}

/* The first object in this phase, in words. */
static struct span describe(struct arena *arena, const struct release_report *report,
	enum release_phase phase)
{
	for (size_t i = 0; i < report->manifest->count; i++) {
		const struct release_object *object = &report->manifest->objects[i];

		if (report->observations[i].phase == phase)
			return arena_format(arena, "%.*s '%.*s': %.*s", SPAN_ARGS(object->kind),
				SPAN_ARGS(object->name),
				SPAN_ARGS(report->observations[i].message));
	}
	return SPAN("");
}

static size_t count_phase(const struct release_report *report, enum release_phase phase)
{
	size_t count = 0;

	for (size_t i = 0; i < report->manifest->count; i++)
		count += report->observations[i].phase == phase;
	return count;
}

static const struct json *write_conditions(struct arena *arena,
	const struct release_snapshot *release, const struct release_report *report)
{
	struct json *conditions = json_new_array(arena);
	size_t failed = count_phase(report, RELEASE_PHASE_FAILURE);
	size_t waiting = count_phase(report, RELEASE_PHASE_PROGRESSING);
	bool failure = report->failure.reason || failed > 0;
	bool progressing = !failure && (!report->applied || waiting > 0);
	bool available = report->applied && release->version > 0 && failed == 0 && waiting == 0;
	struct condition list[] = {
		{"Available", available, available ? "Available" : "NotAvailable", SPAN("")},
		{"Progressing", progressing,
			progressing ? release_progress_reason(release, report->newest_version)
				    : NULL,
			SPAN("")},
		{"Failure", failure, NULL, SPAN("")},
	};

	if (progressing)
		list[1].message = describe(arena, report, RELEASE_PHASE_PROGRESSING);
	if (!available && failed > 0)
		list[0].message = describe(arena, report, RELEASE_PHASE_FAILURE);
	else if (!available)
		list[0].message = describe(arena, report, RELEASE_PHASE_PROGRESSING);
	if (report->failure.reason) {
		list[2].reason = report->failure.reason;
		list[2].message = report->failure.message;
	} else if (failed > 0) {
		list[2].reason = "ObjectFailed";
		list[2].message = describe(arena, report, RELEASE_PHASE_FAILURE);
	}
	for (size_t i = 0; i < LENGTH(list); i++)
		add_condition(arena, conditions, release, &list[i], report->now_ms);
	return conditions;
}

/* ---- details ---- */

static void count_object(struct arena *arena, struct json *resources,
	const struct release_object *object, enum release_phase phase)
{
	struct span version = object->api_version, group = SPAN("");
	struct span type;
	struct json *phases;
	const char *name = release_phase_name(phase);

	span_split(object->api_version, '/', &group, &version);
	type = group.length > 0 ? arena_format(arena, "%.*s/%.*s, Kind=%.*s", SPAN_ARGS(group),
					  SPAN_ARGS(version), SPAN_ARGS(object->kind))
				: arena_format(arena, "%.*s, Kind=%.*s", SPAN_ARGS(version),
					  SPAN_ARGS(object->kind));
	phases = copy_or_new(arena, json_get_span(resources, type));
	json_set_integer(arena, phases, name, json_get_integer(phases, name, 0) + 1);
	json_set(arena, resources, type.data, phases);
}

/* The worst phase gives reason and message of a path. */
static void note_worst(struct arena *arena, struct json *detail,
	const struct release_object *object, const struct release_observation *observation)
{
	static const int severity[] = {
		[RELEASE_PHASE_AVAILABLE] = 0,
		[RELEASE_PHASE_PROGRESSING] = 1,
		[RELEASE_PHASE_FAILURE] = 2,
	};
	struct span reason = json_get_text(detail, "reason");
	int before = -1;

	for (size_t i = 0; i < LENGTH(severity); i++)
		if (span_is(reason, release_phase_name((enum release_phase)i)))
			before = severity[i];
	if (severity[observation->phase] <= before)
		return;
	json_set_string(arena, detail, "reason", span_of(release_phase_name(observation->phase)));
	if (observation->message.length > 0)
		json_set(arena, detail, "message",
			json_new_format(arena, "%.*s '%.*s': %.*s", SPAN_ARGS(object->kind),
				SPAN_ARGS(object->name), SPAN_ARGS(observation->message)));
}

static const struct json *write_details(struct arena *arena, const struct release_snapshot *release,
	const struct release_report *report)
{
	struct json *details = json_new_object(arena);

	for (size_t i = 0; i < report->manifest->count; i++) {
		const struct release_object *object = &report->manifest->objects[i];
		struct span path = object->path.length > 0 ? object->path : release->name;
		struct json *detail = copy_or_new(arena, json_get_span(details, path));
		struct json *resources = copy_or_new(arena, json_get(detail, "resources"));

		json_set_string(arena, detail, "path", path);
		count_object(arena, resources, object, report->observations[i].phase);
		json_set(arena, detail, "resources", resources);
		note_worst(arena, detail, object, &report->observations[i]);
		json_set(arena, details, arena_copy(arena, path.data, path.length), detail);
	}
	return details;
}

static const struct json *write_pods(struct arena *arena, const struct release_report *report)
{
	struct json *pods = json_new_object(arena);
	int64_t old = 0, updated = 0, ready = 0;

	for (size_t i = 0; i < report->manifest->count; i++) {
		const struct release_observation *observation = &report->observations[i];

		old += observation->pods > observation->updated_pods
			       ? observation->pods - observation->updated_pods
			       : 0;
		updated += observation->updated_pods;
		ready += observation->ready_pods;
	}
	json_set_integer(arena, pods, "oldPods", old);
	json_set_integer(arena, pods, "updatedPods", updated);
	json_set_integer(arena, pods, "readyPods", ready);
	return pods;
}

const struct json *release_status_write(struct arena *arena, const struct release_snapshot *release,
	const struct release_report *report)
{
	struct json *status = copy_or_new(arena, release->status);

	json_set_integer(arena, status, "observedGeneration", release->generation);
	if (report->applied && release->version > 0)
		json_set_integer(arena, status, "appliedVersion", release->version);
	json_set(arena, status, "conditions", write_conditions(arena, release, report));
	json_set(arena, status, "details", write_details(arena, release, report));
	json_set(arena, status, "podStatistics", write_pods(arena, report));
	return status;
}

const struct json *release_status_record(struct arena *arena,
	const struct release_snapshot *release, const struct release_history *history,
	int64_t newest_version, int64_t now_ms)
{
	struct json *status = copy_or_new(arena, release->status);
	struct json *conditions = json_new_array(arena);
	struct release_snapshot next = *release;
	struct condition list[] = {
		{"Available", false, "NotAvailable", SPAN("")},
		{"Progressing", true, NULL, SPAN("")},
		{"Failure", false, NULL, SPAN("")},
	};

	next.version = history->version;
	list[1].reason = release_progress_reason(&next, newest_version);
	json_set_integer(arena, status, "version", history->version);
	json_set_string(arena, status, "manifest", history->manifest);
	json_set_string(arena, status, "lastUpdateTime", format_time(arena, now_ms));
	for (size_t i = 0; i < LENGTH(list); i++)
		add_condition(arena, conditions, release, &list[i], now_ms);
	json_set(arena, status, "conditions", conditions);
	return status;
}
