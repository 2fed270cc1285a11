/* See the header. */
#include "cli/app_view.h"

#include "base/memory.h"
#include "cli/view_text.h"

#define BAR_WIDTH 20
#define WHOLE 100
#define COMMIT_SHOWN 8

struct view {
	struct arena *arena;
	struct buffer text;
	size_t width;
	int64_t now_ms;
};

static struct span text_of(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

static double number_of(const struct json *object, const char *name, double otherwise)
{
	double value = otherwise;

	return json_double(json_get(object, name), &value) ? value : otherwise;
}

/* How long something has taken, or takes so far; "": it has not started. */
static struct span elapsed(const struct view *view, const struct json *object, const char *start)
{
	double started = number_of(object, start, -1),
	       ended = number_of(object, "endedAt", (double)view->now_ms / 1000);

	return started < 0 ? SPAN("") : view_duration(view->arena, ended - started);
}

/* ---- stages ---- */

static const struct {
	const char *state, *mark;
} marks[] = {
	{"SUCCESS", "+"},
	{"FAILURE", "x"},
	{"CANCELLED", "x"},
	{"RUNNING", ">"},
	{"SKIPPED", "-"},
};

static const char *mark_of(struct span state)
{
	for (size_t i = 0; i < LENGTH(marks); i++) {
		if (span_is(state, marks[i].state))
			return marks[i].mark;
	}
	return " ";
}

static void add_stage(struct view *view, const struct json *stage)
{
	struct span state = text_of(stage, "state"), reason = text_of(stage, "reason");
	bool is_waiting = span_is(state, "NOT_STARTED");

	if (json_get_bool(stage, "hidden", false) && is_waiting)
		return;
	if (reason.length == 0)
		reason = text_of(stage, "note");
	view_add_line(view->arena, &view->text, view->width,
		"%s %-16.*s %-20.*s %-10.*s %7.*s  %.*s", mark_of(state),
		SPAN_ARGS(text_of(stage, "id")), SPAN_ARGS(text_of(stage, "kind")),
		SPAN_ARGS(is_waiting ? SPAN("") : state),
		SPAN_ARGS(elapsed(view, stage, "startedAt")), SPAN_ARGS(reason));
}

/* ---- variants ---- */

static struct span bar(const struct view *view, double share)
{
	char *text = arena_allocate(view->arena, BAR_WIDTH + 1);
	int filled = (int)(share * BAR_WIDTH / WHOLE + 0.5);

	for (int i = 0; i < BAR_WIDTH; i++)
		text[i] = i < filled ? '#' : '.';
	/* A share that is not zero is seen, and so is one that is not all. */
	if (share > 0)
		text[0] = '#';
	if (share < WHOLE)
		text[BAR_WIDTH - 1] = '.';
	return (struct span){text, BAR_WIDTH};
}

static void add_variant(struct view *view, const struct json *set)
{
	double share = number_of(set, "traffic", -1);
	struct span traffic = SPAN("");

	if (share >= 0)
		traffic = arena_format(view->arena, "[%.*s] %5.1f%%", SPAN_ARGS(bar(view, share)),
			share);
	view_add_line(view->arena, &view->text, view->width,
		"  %-8.*s %-29.*s  %.0f of %.0f tasks run%s  %.*s", SPAN_ARGS(text_of(set, "role")),
		SPAN_ARGS(traffic), number_of(set, "running", 0), number_of(set, "desired", 0),
		span_is(text_of(set, "status"), "DRAINING") ? ", draining" : "",
		SPAN_ARGS(text_of(set, "taskDefinition")));
}

struct span app_view(struct arena *arena, const struct json *deployment, const struct json *state,
	size_t width, int64_t now_ms)
{
	const struct json *sets = json_path(state, "service.taskSets");
	struct view view = {.arena = arena, .width = width, .now_ms = now_ms};
	struct span commit = text_of(deployment, "commit"), text;
	bool has_commit = commit.length > 0;

	if (commit.length > COMMIT_SHOWN)
		commit.length = COMMIT_SHOWN;
	view_add_line(arena, &view.text, view.width, "%.*s, deployment %.0f%s%.*s: %.*s  %.*s",
		SPAN_ARGS(text_of(deployment, "application")), number_of(deployment, "number", 0),
		has_commit ? ", commit " : "", SPAN_ARGS(commit),
		SPAN_ARGS(text_of(deployment, "state")),
		SPAN_ARGS(elapsed(&view, deployment, "startedAt")));
	JSON_EACH_ITEM (json_get(deployment, "stages"), stage)
		add_stage(&view, stage);
	if (json_array_count(sets) > 0)
		view_add_line(arena, &view.text, view.width, "%s", "");
	JSON_EACH_ITEM (sets, set)
		add_variant(&view, set);
	text = arena_copy_span(arena, buffer_span(&view.text));
	buffer_clear(&view.text);
	return text;
}
