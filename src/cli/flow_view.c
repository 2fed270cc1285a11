/* See the header. */
#include "cli/flow_view.h"

#include "base/map.h"
#include "base/memory.h"
#include "cli/view_text.h"

#define LABEL_MIN 16
#define LABEL_MAX 48
#define DEPTH_SHOWN 12       /* deeper nodes are not indented further */
#define DEPENDENCIES_SHOWN 3 /* of a node, beside the one above it */
#define SUMMARY_ROWS 2       /* the first and the last line */

/* Marks, and which nodes are shown when not all fit: the lower ranks. */
static const struct {
	const char *state, *mark;
	unsigned rank;
} states[] = {
	{"ROLLING_BACK", "<", 0},
	{"WAITING_APPROVAL", "?", 0},
	{"RUNNING", ">", 1},
	{"FAILURE", "x", 2},
	{"QUEUED", ">", 3},
	{"DISABLED", "x", 4},
	{"CANCELLED", "x", 4},
	{"BLOCKED", "x", 5},
	{"PENDING", " ", 6},
	{"SUCCESS", "+", 7},
	{"SKIPPED", "-", 7},
};
#define STATES LENGTH(states)

static const struct {
	const char *phase, *text;
} phases[] = {
	{"PLANNING", "is planned"},
	{"STARTING", "waits for its turn"},
	{"DEPLOYING", ""},
	{"SYNCING", "waits for its live state"},
	{"SOAKING", "soaks"},
	{"UNDOING", "is rolled back"},
};

struct view_node {
	const struct json *json;
	struct span name;
	size_t state; /* in `states` */
	size_t parent, first_child, next_sibling, waiting, level;
	size_t first_edge; /* in `dependents` */
};

struct view {
	struct arena *arena;
	struct buffer text;
	size_t width;
	int64_t now_ms;
	struct view_node *nodes; /* the last one stands for the head */
	size_t count;
	size_t *dependents;
	size_t label_width;
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

/* How long it has taken, or takes so far; "": it has not started. */
static struct span elapsed(const struct view *view, const struct json *object)
{
	double started = number_of(object, "startedAt", -1),
	       ended = number_of(object, "endedAt", (double)view->now_ms / 1000);

	return started < 0 ? SPAN("") : view_duration(view->arena, ended - started);
}

/* ---- the graph ---- */

static size_t find_state(struct span name)
{
	for (size_t i = 0; i < STATES; i++) {
		if (span_is(name, states[i].state))
			return i;
	}
	return STATES - 1;
}

static void read_nodes(struct view *view, const struct json *flow)
{
	size_t at = 0;

	view->count = json_array_count(json_get(flow, "nodes"));
	view->nodes = arena_allocate_array(view->arena, view->count + 1, sizeof(*view->nodes));
	JSON_EACH_ITEM (json_get(flow, "nodes"), item)
		view->nodes[at++] = (struct view_node){.json = item,
			.name = text_of(item, "application"),
			.state = find_state(text_of(item, "state"))};
	for (size_t i = 0; i <= view->count; i++)
		view->nodes[i].parent = view->nodes[i].first_child = view->nodes[i].next_sibling =
			view->count;
}

static const struct view_node *find_node(const struct map *names, const struct json *name)
{
	return map_get(names, json_text(name));
}

/* Dependents of each node, beside each other. */
static void read_edges(struct view *view, const struct map *names)
{
	size_t edges = 0, *next;

	for (size_t i = 0; i < view->count; i++) {
		JSON_EACH_ITEM (json_get(view->nodes[i].json, "depends"), name) {
			const struct view_node *other = find_node(names, name);

			if (!other)
				continue;
			view->nodes[other - view->nodes + 1].first_edge++;
			view->nodes[i].waiting++;
			edges++;
		}
	}
	next = arena_allocate_array(view->arena, view->count + 1, sizeof(*next));
	for (size_t i = 1; i <= view->count; i++)
		view->nodes[i].first_edge += view->nodes[i - 1].first_edge;
	for (size_t i = 0; i <= view->count; i++)
		next[i] = view->nodes[i].first_edge;
	view->dependents = arena_allocate_array(view->arena, edges + 1, sizeof(*view->dependents));
	for (size_t i = 0; i < view->count; i++) {
		JSON_EACH_ITEM (json_get(view->nodes[i].json, "depends"), name) {
			const struct view_node *other = find_node(names, name);

			if (other)
				view->dependents[next[other - view->nodes]++] = i;
		}
	}
}

/* A node stands below the dependency that is deepest in the graph; the others are named beside it. Each node is passed
 * when all of its dependencies are. */
static void find_parents(struct view *view)
{
	size_t *queue = arena_allocate_array(view->arena, view->count + 1, sizeof(*queue));
	size_t end = 0;

	for (size_t i = 0; i < view->count; i++) {
		if (view->nodes[i].waiting == 0)
			queue[end++] = i;
	}
	for (size_t at = 0; at < end; at++) {
		const struct view_node *node = &view->nodes[queue[at]];

		for (size_t i = node->first_edge; i < (node + 1)->first_edge; i++) {
			struct view_node *dependent = &view->nodes[view->dependents[i]];

			if (node->level >= dependent->level) {
				dependent->parent = queue[at];
				dependent->level = node->level + 1;
			}
			if (--dependent->waiting == 0)
				queue[end++] = view->dependents[i];
		}
	}
}

static void link_children(struct view *view)
{
	for (size_t i = view->count; i > 0; i--) {
		struct view_node *node = &view->nodes[i - 1];

		node->next_sibling = view->nodes[node->parent].first_child;
		view->nodes[node->parent].first_child = i - 1;
	}
}

static void read_graph(struct view *view, const struct json *flow)
{
	_map_ struct map names = {0};

	read_nodes(view, flow);
	for (size_t i = 0; i < view->count; i++)
		map_put(&names, view->nodes[i].name, &view->nodes[i]);
	read_edges(view, &names);
	find_parents(view);
	link_children(view);
}

/* ---- rows ---- */

/* "after a, b": dependencies other than the node above. */
static struct span others_of(const struct view *view, const struct view_node *node, bool has_parent)
{
	_buffer_ struct buffer text = {0};
	size_t count = 0;

	JSON_EACH_ITEM (json_get(node->json, "depends"), name) {
		if (has_parent && node->parent < view->count &&
			span_equal(json_text(name), view->nodes[node->parent].name))
			continue;
		if (count++ < DEPENDENCIES_SHOWN)
			buffer_format(&text, "%s%.*s", text.length > 0 ? ", " : "after ",
				SPAN_ARGS(json_text(name)));
	}
	if (count > DEPENDENCIES_SHOWN)
		buffer_format(&text, " and %zu more", count - DEPENDENCIES_SHOWN);
	return arena_copy_span(view->arena, buffer_span(&text));
}

/* The reason, and what the deployment says; of a node in progress what it waits for. */
static struct span note_of(const struct view *view, const struct json *node)
{
	struct span reason = text_of(node, "reason"), detail = text_of(node, "detail"),
		    phase = text_of(node, "phase");
	double deadline = number_of(node, "deadlineAt", 0);

	if (reason.length == 0) {
		for (size_t i = 0; i < LENGTH(phases); i++) {
			if (span_is(phase, phases[i].phase))
				reason = span_of(phases[i].text);
		}
	}
	if (span_is(phase, "SOAKING") && deadline > 0)
		reason = arena_format(view->arena, "%.*s, %.*s left", SPAN_ARGS(reason),
			SPAN_ARGS(view_duration(view->arena,
				deadline - (double)view->now_ms / 1000)));
	return arena_format(view->arena, "%.*s%s%.*s", SPAN_ARGS(reason),
		reason.length > 0 && detail.length > 0 ? ": " : "", SPAN_ARGS(detail));
}

static struct span label_of(const struct view *view, const struct view_node *node,
	struct span branch)
{
	return arena_format(view->arena, "%.*s%s %.*s", SPAN_ARGS(branch), states[node->state].mark,
		SPAN_ARGS(node->name));
}

struct row {
	const struct view_node *node;
	struct span label;
	bool has_parent; /* above it */
};

static void add_row(struct view *view, const struct row *row)
{
	const struct json *node = row->node->json;
	struct span note = note_of(view, node),
		    others = others_of(view, row->node, row->has_parent);
	size_t columns = view_columns(row->label);
	int pad = columns < view->label_width ? (int)(view->label_width - columns) : 0;

	view_add_line(view->arena, &view->text, view->width, "%.*s%*s %-16.*s %7.*s  %.*s%s%.*s",
		SPAN_ARGS(row->label), pad, "", SPAN_ARGS(text_of(node, "state")),
		SPAN_ARGS(elapsed(view, node)), SPAN_ARGS(note),
		note.length > 0 && others.length > 0 ? "; " : "", SPAN_ARGS(others));
}

static void add_rows(struct view *view, const struct row *rows, size_t count)
{
	view->label_width = LABEL_MIN;
	for (size_t i = 0; i < count; i++) {
		size_t columns = view_columns(rows[i].label);

		if (columns > view->label_width && columns <= LABEL_MAX)
			view->label_width = columns;
	}
	for (size_t i = 0; i < count; i++)
		add_row(view, &rows[i]);
}

/* The branches of a row's children: what stands before them. */
static struct span branch_below(const struct view *view, struct span branch, size_t level,
	bool is_last)
{
	return level >= DEPTH_SHOWN ? branch
				    : arena_format(view->arena, "%.*s%s", SPAN_ARGS(branch),
					      is_last ? "   " : "│  ");
}

static void list_children(const struct view *view, size_t parent, struct span branch,
	struct row *rows, size_t *count)
{
	for (size_t i = view->nodes[parent].first_child; i < view->count;
		i = view->nodes[i].next_sibling) {
		const struct view_node *node = &view->nodes[i];
		bool is_last = node->next_sibling >= view->count;
		struct span own = arena_format(view->arena, "%.*s%s", SPAN_ARGS(branch),
			is_last ? "└─ " : "├─ ");

		rows[(*count)++] = (struct row){node, label_of(view, node, own), true};
		list_children(view, i, branch_below(view, branch, node->level, is_last), rows,
			count);
	}
}

static int compare_ranks(const void *a, const void *b)
{
	const struct view_node *left = ((const struct row *)a)->node,
			       *right = ((const struct row *)b)->node;
	unsigned left_rank = states[left->state].rank, right_rank = states[right->state].rank;

	return left_rank != right_rank ? (left_rank > right_rank) - (left_rank < right_rank)
				       : (left > right) - (left < right);
}

static void add_tree(struct view *view)
{
	struct row *rows = arena_allocate_array(view->arena, view->count + 1, sizeof(*rows));
	size_t count = 0;

	list_children(view, view->count, SPAN(""), rows, &count);
	add_rows(view, rows, count);
}

static void add_most_important(struct view *view, size_t most)
{
	struct row *rows = arena_allocate_array(view->arena, view->count + 1, sizeof(*rows));

	for (size_t i = 0; i < view->count; i++)
		rows[i].node = &view->nodes[i];
	qsort(rows, view->count, sizeof(*rows), compare_ranks);
	for (size_t i = 0; i < most; i++)
		rows[i].label = label_of(view, rows[i].node, SPAN(""));
	add_rows(view, rows, most);
}

/* ---- all of it ---- */

static void add_first_line(struct view *view, const struct json *flow)
{
	struct span reason = text_of(flow, "reason"), time = elapsed(view, flow);
	size_t done = 0;

	for (size_t i = 0; i < view->count; i++)
		done += span_is(text_of(view->nodes[i].json, "state"), "SUCCESS") ||
			span_is(text_of(view->nodes[i].json, "state"), "SKIPPED");
	view_add_line(view->arena, &view->text, view->width,
		"%.*s, deployment %lld: %.*s%s%.*s%s  %zu of %zu nodes done  %.*s%sflow %.*s",
		SPAN_ARGS(text_of(flow, "head")),
		(long long)json_get_integer(flow, "deployment", 0),
		SPAN_ARGS(text_of(flow, "state")), reason.length > 0 ? " (" : "", SPAN_ARGS(reason),
		reason.length > 0 ? ")" : "", done, view->count, SPAN_ARGS(time),
		time.length > 0 ? "  " : "", SPAN_ARGS(text_of(flow, "id")));
}

static void add_counts(struct view *view)
{
	size_t counts[STATES] = {0};
	_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < view->count; i++)
		counts[view->nodes[i].state]++;
	for (size_t i = 0; i < STATES; i++) {
		if (counts[i] > 0)
			buffer_format(&text, "%s%zu %s", text.length > 0 ? ", " : "", counts[i],
				states[i].state);
	}
	view_add_line(view->arena, &view->text, view->width, "… of %zu nodes: %.*s", view->count,
		SPAN_ARGS(buffer_span(&text)));
}

struct span flow_view(struct arena *arena, const struct json *flow, size_t width, size_t rows,
	int64_t now_ms)
{
	struct view view = {.arena = arena, .width = width, .now_ms = now_ms};
	struct span text;

	read_graph(&view, flow);
	add_first_line(&view, flow);
	if (view.count < rows) {
		add_tree(&view);
	} else if (rows >= SUMMARY_ROWS) {
		add_most_important(&view, rows - SUMMARY_ROWS);
		add_counts(&view);
	}
	text = arena_copy_span(arena, buffer_span(&view.text));
	buffer_clear(&view.text);
	return text;
}
