/* Flows as text, as a tree, and for Graphviz; see flow.h. */
#include <stdio.h>

#include "base/map.h"
#include "base/memory.h"
#include "cli/env.h"
#include "cli/flow.h"

static struct span commit_of(const struct app *app, const struct json *object)
{
	return arena_format(app->arena, "%.12s",
		arena_format(app->arena, "%.*s", SPAN_ARGS(app_text(object, "commit"))).data);
}

/* The reason of a node, and what its deployment says. */
static struct span reason_of(const struct app *app, const struct json *node)
{
	struct span reason = app_text(node, "reason"), detail = app_text(node, "detail");

	return arena_format(app->arena, "%.*s%s%.*s", SPAN_ARGS(reason),
		reason.length > 0 && detail.length > 0 ? ": " : "", SPAN_ARGS(detail));
}

static struct span duration_of(const struct app *app, const struct json *node)
{
	double started = 0, ended = 0;

	if (!json_double(json_get(node, "startedAt"), &started) ||
		!json_double(json_get(node, "endedAt"), &ended) || ended < started)
		return SPAN("");
	return arena_format(app->arena, "%lld s", (long long)(ended - started + 0.5));
}

/* ---- the graph ---- */

struct tree {
	const struct app *app;
	const struct json **nodes;
	size_t count;
	size_t *parent; /* count: the head */
	size_t *level;
	unsigned rows, printed;
};

/* A node stands below the dependency that is deepest in the graph; the others are named beside it. Dependencies may
 * come later in the list, so levels are computed until they no longer change. */
static void find_parents(struct tree *tree)
{
	_map_ struct map places = {0};
	bool is_changed = true;

	for (size_t i = 0; i < tree->count; i++)
		map_put(&places, app_text(tree->nodes[i], "application"), &tree->nodes[i]);
	for (size_t round = 0; is_changed && round <= tree->count; round++) {
		is_changed = false;
		for (size_t i = 0; i < tree->count; i++) {
			JSON_EACH_ITEM (json_get(tree->nodes[i], "depends"), name) {
				const struct json **found = map_get(&places, json_text(name));
				size_t other = found ? (size_t)(found - tree->nodes) : tree->count;

				if (!found || tree->level[other] + 1 <= tree->level[i])
					continue;
				tree->level[i] = tree->level[other] + 1;
				tree->parent[i] = other;
				is_changed = true;
			}
		}
	}
}

static struct span others_of(const struct tree *tree, size_t index)
{
	_buffer_ struct buffer text = {0};
	struct span parent = tree->parent[index] < tree->count
				     ? app_text(tree->nodes[tree->parent[index]], "application")
				     : SPAN("");

	JSON_EACH_ITEM (json_get(tree->nodes[index], "depends"), name) {
		if (!span_equal(json_text(name), parent))
			buffer_format(&text, "%s%.*s", text.length > 0 ? ", " : " (after ",
				SPAN_ARGS(json_text(name)));
	}
	if (text.length > 0)
		buffer_add_string(&text, ")");
	return arena_copy_span(tree->app->arena, buffer_span(&text));
}

static int width_of(struct span text)
{
	int width = 0;

	for (size_t i = 0; i < text.length; i++)
		width += ((unsigned char)text.data[i] & 0xC0) != 0x80;
	return width;
}

static void print_row(struct tree *tree, size_t index, struct span branch)
{
	const struct json *node = tree->nodes[index];
	struct span label = arena_format(tree->app->arena, "%.*s%.*s%.*s", SPAN_ARGS(branch),
		SPAN_ARGS(app_text(node, "application")), SPAN_ARGS(others_of(tree, index)));
	int pad = 40 - width_of(label);

	printf("%.*s%*s %-17.*s %6.*s  %.*s\n", SPAN_ARGS(label), pad > 0 ? pad : 0, "",
		SPAN_ARGS(app_text(node, "state")), SPAN_ARGS(duration_of(tree->app, node)),
		SPAN_ARGS(reason_of(tree->app, node)));
	tree->printed++;
}

/* The first child of each node, and the next one of the same parent; count: none. */
static void print_children(struct tree *tree, const size_t *first, const size_t *next,
	size_t parent, struct span prefix)
{
	for (size_t i = first[parent]; i < tree->count && tree->printed < tree->rows; i = next[i]) {
		bool is_last = next[i] >= tree->count;

		print_row(tree, i,
			arena_format(tree->app->arena, "%.*s%s", SPAN_ARGS(prefix),
				is_last ? "└─ " : "├─ "));
		print_children(tree, first, next, i,
			arena_format(tree->app->arena, "%.*s%s", SPAN_ARGS(prefix),
				is_last ? "   " : "│  "));
	}
}

static void print_tree(struct tree *tree)
{
	size_t *first = arena_allocate_array(tree->app->arena, tree->count + 1, sizeof(*first));
	size_t *next = arena_allocate_array(tree->app->arena, tree->count + 1, sizeof(*next));

	for (size_t i = 0; i <= tree->count; i++)
		first[i] = next[i] = tree->count;
	for (size_t i = tree->count; i > 0; i--) {
		next[i - 1] = first[tree->parent[i - 1]];
		first[tree->parent[i - 1]] = i - 1;
	}
	print_children(tree, first, next, tree->count, SPAN(""));
}

static struct span count_states(const struct app *app, const struct json *flow)
{
	static const char *const states[] = {"PENDING", "WAITING_APPROVAL", "QUEUED", "RUNNING",
		"ROLLING_BACK", "SUCCESS", "FAILURE", "CANCELLED", "SKIPPED", "DISABLED",
		"BLOCKED"};
	_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < LENGTH(states); i++) {
		size_t count = 0;

		JSON_EACH_ITEM (json_get(flow, "nodes"), node)
			count += span_is(app_text(node, "state"), states[i]);
		if (count > 0)
			buffer_format(&text, "%s%zu %s", text.length > 0 ? ", " : "", count,
				states[i]);
	}
	return arena_copy_span(app->arena, buffer_span(&text));
}

unsigned flow_print_graph(const struct app *app, const struct json *flow, unsigned rows)
{
	const struct json *nodes = json_get(flow, "nodes");
	struct tree tree = {.app = app, .rows = rows};
	struct span reason = app_text(flow, "reason");

	tree.nodes = arena_allocate_array(app->arena, json_array_count(nodes) + 1,
		sizeof(struct json *));
	JSON_EACH_ITEM (nodes, node)
		tree.nodes[tree.count++] = node;
	tree.parent = arena_allocate_array(app->arena, tree.count + 1, sizeof(size_t));
	tree.level = arena_allocate_array(app->arena, tree.count + 1, sizeof(size_t));
	for (size_t i = 0; i < tree.count; i++)
		tree.parent[i] = tree.count;
	printf("%.*s, deployment %lld, flow %.*s: %.*s%s%.*s%s\n",
		SPAN_ARGS(app_text(flow, "head")), env_number(flow, "deployment"),
		SPAN_ARGS(app_text(flow, "id")), SPAN_ARGS(app_text(flow, "state")),
		reason.length > 0 ? " (" : "", SPAN_ARGS(reason), reason.length > 0 ? ")" : "");
	find_parents(&tree);
	print_tree(&tree);
	if (tree.printed == tree.count)
		return tree.printed + 1;
	printf("… of %zu nodes: %.*s\n", tree.count, SPAN_ARGS(count_states(app, flow)));
	return tree.printed + 2;
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
	flow_print_graph(app, flow, UINT32_MAX);
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
