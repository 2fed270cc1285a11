/* Plans, applications and deployments as text; see app.h. */
#include <stdio.h>
#include <time.h>

#include "cli/app.h"
#include "cli/env.h"

struct span app_text(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

struct span app_clock(const struct app *app, const struct json *object, const char *name)
{
	double seconds = 0;
	char text[32];
	struct tm date;
	time_t at;

	if (!json_double(json_get(object, name), &seconds))
		return SPAN("-");
	at = (time_t)seconds;
	gmtime_r(&at, &date);
	strftime(text, sizeof(text), "%H:%M:%S", &date);
	return arena_copy_span(app->arena, span_of(text));
}

bool app_has_ended(const struct json *deployment)
{
	struct span state = app_text(deployment, "state");

	return span_is(state, "SUCCESS") || span_is(state, "FAILURE") ||
	       span_is(state, "CANCELLED");
}

int app_result(const struct json *deployment)
{
	return span_is(app_text(deployment, "state"), "SUCCESS") ? EXIT_OK : EXIT_NOT_COMPLETED;
}

/* Seconds that a stage has taken; -1: it has not ended. */
static int64_t duration_of(const struct json *stage)
{
	double started = 0, ended = 0;

	if (!json_double(json_get(stage, "startedAt"), &started) ||
		!json_double(json_get(stage, "endedAt"), &ended))
		return -1;
	return (int64_t)(ended - started + 0.5);
}

struct span app_stage_line(const struct app *app, const struct json *stage)
{
	int64_t duration = duration_of(stage);
	struct span reason = app_text(stage, "reason"), note = app_text(stage, "note");
	struct span time =
		duration >= 0 ? arena_format(app->arena, "%lld s", (long long)duration) : SPAN("");

	if (reason.length == 0)
		reason = note;
	return arena_format(app->arena, "%-16.*s %-20.*s %-11.*s %6.*s  %.*s",
		SPAN_ARGS(app_text(stage, "id")), SPAN_ARGS(app_text(stage, "kind")),
		SPAN_ARGS(app_text(stage, "state")), SPAN_ARGS(time), SPAN_ARGS(reason));
}

static void print_changes(const struct json *changes)
{
	if (json_array_count(changes) == 0) {
		puts("Changes: none");
		return;
	}
	puts("Changes:");
	JSON_EACH_ITEM (changes, change) {
		const struct json *before = json_get(change, "before"),
				  *after = json_get(change, "after");
		struct span path = app_text(change, "path");

		if (!before)
			printf("  + %.*s: %.*s\n", SPAN_ARGS(path), SPAN_ARGS(json_text(after)));
		else if (!after)
			printf("  - %.*s: %.*s\n", SPAN_ARGS(path), SPAN_ARGS(json_text(before)));
		else
			printf("  ~ %.*s: %.*s -> %.*s\n", SPAN_ARGS(path),
				SPAN_ARGS(json_text(before)), SPAN_ARGS(json_text(after)));
	}
}

int app_print_plan(const struct app *app, const struct json *deployment)
{
	printf("Application %s: %s, %.*s\n", app->name,
		span_is(app_text(deployment, "strategy"), "PIPELINE") ? "pipeline" : "quick sync",
		SPAN_ARGS(app_text(deployment, "summary")));
	puts("Stages:");
	JSON_EACH_ITEM (json_get(deployment, "stages"), stage) {
		struct span note = app_text(stage, "note");

		printf("  %-16.*s %.*s%s%.*s%s\n", SPAN_ARGS(app_text(stage, "id")),
			SPAN_ARGS(app_text(stage, "kind")), note.length > 0 ? "  " : "",
			SPAN_ARGS(note),
			json_get_bool(stage, "hidden", false) ? "  (after a failure)" : "");
	}
	print_changes(json_get(deployment, "changes"));
	JSON_EACH_ITEM (json_get(deployment, "warnings"), warning)
		printf("Warning: %.*s\n", SPAN_ARGS(json_text(warning)));
	if (span_is(app_text(deployment, "state"), "SUCCESS"))
		return EXIT_OK;
	return command_failed("it cannot be deployed: %.*s",
		SPAN_ARGS(app_text(deployment, "reason")));
}

void app_print_applications(const struct app *app, const struct json *applications)
{
	(void)app;
	printf("%-30s  %-11s  %-12s  %-10s  %s\n", "APPLICATION", "SYNC", "COMMIT", "DEPLOYMENT",
		"STATE");
	JSON_EACH_ITEM (applications, item) {
		const struct json *latest = json_get(item, "latest");

		printf("%-30.*s  %-11.*s  %-12.12s  %-10lld  %.*s\n",
			SPAN_ARGS(app_text(item, "name")), SPAN_ARGS(app_text(item, "sync")),
			arena_format(app->arena, "%.*s", SPAN_ARGS(app_text(item, "commit"))).data,
			env_number(latest, "number"), SPAN_ARGS(app_text(latest, "state")));
	}
}

void app_print_deployments(const struct app *app, const struct json *deployments)
{
	printf("%6s  %-12s  %-12s  %-10s  %-8s  %s\n", "NUMBER", "STATE", "TRIGGER", "STRATEGY",
		"CREATED", "REASON");
	JSON_EACH_ITEM (deployments, item) {
		struct span reason = app_text(item, "reason");

		if (reason.length == 0)
			reason = app_text(item, "summary");
		printf("%6lld  %-12.*s  %-12.*s  %-10.*s  %-8.*s  %.*s\n",
			env_number(item, "number"), SPAN_ARGS(app_text(item, "state")),
			SPAN_ARGS(app_text(item, "trigger")), SPAN_ARGS(app_text(item, "strategy")),
			SPAN_ARGS(app_clock(app, item, "createdAt")), SPAN_ARGS(reason));
	}
}
