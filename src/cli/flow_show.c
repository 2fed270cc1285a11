/* Flows as text, and for Graphviz; see flow.h. */
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cli/env.h"
#include "cli/flow.h"
#include "cli/flow_view.h"

static struct span commit_of(const struct app *app, const struct json *object)
{
	return arena_format(app->arena, "%.12s",
		arena_format(app->arena, "%.*s", SPAN_ARGS(app_text(object, "commit"))).data);
}

/* ---- one flow ---- */

void flow_print_plan(const struct app *app, const struct json *node)
{
	const struct json *plan = json_get(node, "plan");
	struct span name = app_text(node, "application");

	if (!plan)
		return;
	printf("\nPlan of %.*s: %s, %.*s\n", SPAN_ARGS(name),
		span_is(app_text(plan, "strategy"), "PIPELINE") ? "pipeline" : "quick sync",
		SPAN_ARGS(app_text(plan, "summary")));
	printf("Commit: %.*s (%.*s)\nStages:", SPAN_ARGS(commit_of(app, node)),
		SPAN_ARGS(app_text(node, "commitSource")));
	JSON_EACH_ITEM (json_get(plan, "stages"), stage) {
		if (!json_get_bool(stage, "hidden", false))
			printf(" %.*s", SPAN_ARGS(app_text(stage, "kind")));
	}
	puts("");
	app_print_changes(json_get(plan, "changes"));
}

static void print_approvers(const struct json *node)
{
	const struct json *approval = json_get(node, "approval");
	const char *before = "; by ";
	long long given = 0;

	if (!approval)
		return;
	JSON_EACH_ITEM (json_get(approval, "votes"), vote)
		given += json_get_bool(vote, "approves", false);
	printf("%.*s waits for approval: %lld of %lld", SPAN_ARGS(app_text(node, "application")),
		given, (long long)json_get_integer(approval, "minimum", 1));
	JSON_EACH_ITEM (json_get(approval, "approvers"), user) {
		printf("%s%.*s", before, SPAN_ARGS(user->text));
		before = ", ";
	}
	if (json_get_bool(approval, "refusesRequester", false))
		printf("; not by %.*s, the user of the flow's head",
			SPAN_ARGS(app_text(approval, "requester")));
	puts("");
}

static void print_votes(const struct app *app, const struct json *node)
{
	JSON_EACH_ITEM (json_path(node, "approval.votes"), vote) {
		struct span comment = app_text(vote, "comment");

		printf("%.*s %s by %.*s%s%.*s\n", SPAN_ARGS(app_text(node, "application")),
			json_get_bool(vote, "approves", false) ? "approved" : "rejected",
			SPAN_ARGS(app_text(vote, "user")), comment.length > 0 ? ": " : "",
			SPAN_ARGS(comment));
	}
	(void)app;
}

void flow_print(const struct app *app, const struct json *flow)
{
	struct span graph =
		flow_view(app->arena, flow, SIZE_MAX, SIZE_MAX, clock_wall_ms(clock_system()));

	printf("%.*s", SPAN_ARGS(graph));
	printf("\nStarted by %.*s (%.*s), commit %.*s\n", SPAN_ARGS(app_text(flow, "createdBy")),
		SPAN_ARGS(app_text(flow, "trigger")), SPAN_ARGS(commit_of(app, flow)));
	JSON_EACH_ITEM (json_get(flow, "nodes"), node) {
		if (app_text(node, "commitSource").length > 0)
			printf("%.*s: commit %.*s, %.*s\n",
				SPAN_ARGS(app_text(node, "application")),
				SPAN_ARGS(commit_of(app, node)),
				SPAN_ARGS(app_text(node, "commitSource")));
		print_votes(app, node);
		if (!span_is(app_text(node, "state"), "WAITING_APPROVAL"))
			continue;
		print_approvers(node);
		flow_print_plan(app, node);
	}
}

/* ---- Graphviz ---- */

static void print_quoted(struct span text)
{
	putchar('"');
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '"' || text.data[i] == '\\')
			putchar('\\');
		putchar(text.data[i]);
	}
	putchar('"');
}

static const char *color_of(struct span state)
{
	static const struct {
		const char *state, *color;
	} colors[] = {{"SUCCESS", "palegreen"}, {"SKIPPED", "palegreen"}, {"RUNNING", "lightblue"},
		{"QUEUED", "lightblue"}, {"WAITING_APPROVAL", "khaki"}, {"ROLLING_BACK", "orange"},
		{"FAILURE", "salmon"}, {"DISABLED", "gray80"}, {"BLOCKED", "gray80"},
		{"CANCELLED", "gray80"}};

	for (size_t i = 0; i < LENGTH(colors); i++) {
		if (span_is(state, colors[i].state))
			return colors[i].color;
	}
	return "white";
}

void flow_print_dot(const struct json *flow)
{
	struct span head = app_text(flow, "head");

	puts("digraph flow {\n  rankdir=LR;\n  node [shape=box, style=filled, fillcolor=white];");
	JSON_EACH_ITEM (json_get(flow, "nodes"), node) {
		struct span name = app_text(node, "application"), state = app_text(node, "state");

		printf("  ");
		print_quoted(name);
		printf(" [label=\"%.*s\\n%.*s\", fillcolor=%s];\n", SPAN_ARGS(name),
			SPAN_ARGS(state), color_of(state));
		if (json_array_count(json_get(node, "depends")) == 0) {
			printf("  ");
			print_quoted(head);
			printf(" -> ");
			print_quoted(name);
			puts(";");
		}
		JSON_EACH_ITEM (json_get(node, "depends"), other) {
			printf("  ");
			print_quoted(json_text(other));
			printf(" -> ");
			print_quoted(name);
			puts(";");
		}
	}
	puts("}");
}
