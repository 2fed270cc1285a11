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

void app_print_changes(const struct json *changes)
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
	app_print_changes(json_get(deployment, "changes"));
	JSON_EACH_ITEM (json_get(deployment, "warnings"), warning)
		printf("Warning: %.*s\n", SPAN_ARGS(json_text(warning)));
	if (span_is(app_text(deployment, "state"), "SUCCESS"))
		return EXIT_OK;
	return command_failed("it cannot be deployed: %.*s",
		SPAN_ARGS(app_text(deployment, "reason")));
}

/* Where it comes from: "web.git main:apps/web", or "-" for one without Git. */
static struct span source_of(const struct app *app, const struct json *item)
{
	const struct json *repository = json_get(item, "repository");
	struct span url = app_text(repository, "url"), path = app_text(repository, "path"),
		    last = url, part;

	if (!repository)
		return SPAN("-");
	while (span_next_part(&url, '/', &part)) {
		if (part.length > 0)
			last = part;
	}
	return arena_format(app->arena, "%.*s %.*s:%.*s", SPAN_ARGS(last),
		SPAN_ARGS(app_text(repository, "branch")),
		SPAN_ARGS(path.length > 0 ? path : SPAN(".")));
}

static struct span text_or_dash(const struct json *object, const char *name)
{
	struct span text = app_text(object, name);

	return text.length > 0 ? text : SPAN("-");
}

void app_print_applications(const struct app *app, const struct json *applications)
{
	bool has_problem = false;

	printf("%-24s  %-11s  %-14s  %-8s  %-16s  %s\n", "APPLICATION", "SYNC", "FILES", "COMMIT",
		"DEPLOYMENT", "SOURCE");
	JSON_EACH_ITEM (applications, item) {
		const struct json *latest = json_get(item, "latest");
		struct span commit = text_or_dash(item, "commit"),
			    deployment = latest ? arena_format(app->arena, "%lld %.*s",
							  env_number(latest, "number"),
							  SPAN_ARGS(app_text(latest, "state")))
						: SPAN("-");

		printf("%-24.*s  %-11.*s  %-14.*s  %-8.*s  %-16.*s  %.*s\n",
			SPAN_ARGS(app_text(item, "name")), SPAN_ARGS(app_text(item, "sync")),
			SPAN_ARGS(text_or_dash(item, "state")),
			commit.length > 8 ? 8 : (int)commit.length, commit.data,
			SPAN_ARGS(deployment), SPAN_ARGS(source_of(app, item)));
		has_problem |= app_text(item, "problem").length > 0;
	}
	if (has_problem)
		puts("");
	JSON_EACH_ITEM (applications, item) {
		if (app_text(item, "problem").length > 0)
			printf("%.*s: %.*s\n", SPAN_ARGS(app_text(item, "name")),
				SPAN_ARGS(app_text(item, "problem")));
	}
}

void app_print_repositories(const struct app *app, const struct json *repositories)
{
	printf("%-16s  %-12s  %-8s  %-12s  %-8s  %s\n", "REPOSITORY", "BRANCH", "COMMIT",
		"APPLICATIONS", "POLLED", "URL");
	JSON_EACH_ITEM (repositories, item) {
		struct span commit = text_or_dash(item, "commit");

		printf("%-16.*s  %-12.*s  %-8.*s  %-12lld  %-8.*s  %.*s%s%.*s\n",
			SPAN_ARGS(app_text(item, "id")), SPAN_ARGS(app_text(item, "branch")),
			commit.length > 8 ? 8 : (int)commit.length, commit.data,
			env_number(item, "applications"),
			SPAN_ARGS(app_clock(app, item, "polledAt")),
			SPAN_ARGS(app_text(item, "url")),
			json_get_bool(item, "all", false) ? ", all below /" : "",
			SPAN_ARGS(app_text(item, "path")));
	}
	JSON_EACH_ITEM (repositories, item) {
		if (app_text(item, "error").length > 0)
			printf("\n%.*s: %.*s\n", SPAN_ARGS(app_text(item, "id")),
				SPAN_ARGS(app_text(item, "error")));
		JSON_EACH_ITEM (json_get(item, "problems"), problem)
			printf("\n%.*s: %.*s: %.*s\n", SPAN_ARGS(app_text(item, "id")),
				SPAN_ARGS(app_text(problem, "file")),
				SPAN_ARGS(app_text(problem, "message")));
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
