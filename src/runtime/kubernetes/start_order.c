/* See the header. */
#include "runtime/kubernetes/start_order.h"

#include <string.h>

enum condition { CONDITION_START, CONDITION_HEALTHY, CONDITION_COMPLETE, CONDITION_SUCCESS };
static const char *const condition_names[] = {"START", "HEALTHY", "COMPLETE", "SUCCESS"};

struct graph {
	const struct json *containers;
	size_t count;
	/* needs[a][b]: a may start only when b has reached the condition; a bit for each condition. */
	unsigned needs[RUNTIME_CONTAINERS_MAX][RUNTIME_CONTAINERS_MAX];
};

static struct span name_of(const struct graph *graph, size_t index)
{
	return json_get_text(json_item(graph->containers, index), "name");
}

static size_t find(const struct graph *graph, struct span name)
{
	size_t i = 0;

	while (i < graph->count && !(name.data && span_equal(name_of(graph, i), name)))
		i++;
	return i;
}

static int find_condition(struct span name)
{
	for (int i = 0; i <= CONDITION_SUCCESS; i++)
		if (name.data && span_is(name, condition_names[i]))
			return i;
	return -1;
}

static int read_dependency(struct graph *graph, size_t from, const struct json *dependency,
	struct err *err)
{
	struct span name = json_get_text(dependency, "containerName");
	struct span condition = json_get_text(dependency, "condition");
	size_t to = find(graph, name);
	int found = find_condition(condition);

	if (to == graph->count || to == from)
		return err_set(err, -EINVAL,
			"container '%.*s': dependsOn names '%.*s', which is no other "
			"container of the task",
			SPAN_ARGS(name_of(graph, from)), SPAN_ARGS(name));
	if (found < 0)
		return err_set(err, -EINVAL,
			"container '%.*s': dependsOn has the unknown condition '%.*s'",
			SPAN_ARGS(name_of(graph, from)), SPAN_ARGS(condition));
	if (found == CONDITION_HEALTHY &&
		json_is_absent(json_get(json_item(graph->containers, to), "healthCheck")))
		return err_set(err, -EINVAL,
			"container '%.*s' waits for '%.*s' to be HEALTHY, which has no healthCheck",
			SPAN_ARGS(name_of(graph, from)), SPAN_ARGS(name));
	graph->needs[from][to] |= 1U << found;
	return 0;
}

static int read_graph(struct graph *graph, struct err *err)
{
	for (size_t i = 0; i < graph->count; i++)
		JSON_EACH_ITEM (json_get(json_item(graph->containers, i), "dependsOn"),
			dependency) {
			int code = read_dependency(graph, i, dependency, err);

			if (code < 0)
				return code;
		}
	return 0;
}

/* The role of each container in the order. */
static void mark(const struct graph *graph, struct kubernetes_start_order *order)
{
	const unsigned ends = 1U << CONDITION_COMPLETE | 1U << CONDITION_SUCCESS;

	for (size_t to = 0; to < graph->count; to++) {
		unsigned all = 0;

		for (size_t from = 0; from < graph->count; from++) {
			all |= graph->needs[from][to];
			order->waits_for[from][to] =
				(graph->needs[from][to] & 1U << CONDITION_HEALTHY) != 0;
		}
		order->is_initial[to] = (all & ends) != 0;
		order->any_exit[to] = (all & ends) == 1U << CONDITION_COMPLETE;
		order->waited_for[to] = (all & 1U << CONDITION_HEALTHY) != 0;
	}
}

static int check_mixes(const struct graph *graph, const struct kubernetes_start_order *order,
	struct err *err)
{
	for (size_t from = 0; from < graph->count; from++) {
		if (order->is_initial[from] && order->waited_for[from])
			return err_set(err, -EINVAL,
				"container '%.*s' is waited for to be HEALTHY and to end; "
				"Kubernetes runs containers that are waited for to end before all "
				"others, without health checks",
				SPAN_ARGS(name_of(graph, from)));
		for (size_t to = 0; to < graph->count; to++)
			if (order->is_initial[from] && graph->needs[from][to] != 0 &&
				!order->is_initial[to])
				return err_set(err, -EINVAL,
					"container '%.*s' is waited for to end and itself needs "
					"'%.*s' to run; Kubernetes runs containers that are waited "
					"for to end before all others",
					SPAN_ARGS(name_of(graph, from)),
					SPAN_ARGS(name_of(graph, to)));
	}
	return 0;
}

static bool may_start(const struct graph *graph, size_t index, const bool *placed)
{
	for (size_t to = 0; to < graph->count; to++)
		if (graph->needs[index][to] != 0 && !placed[to])
			return false;
	return true;
}

/* The next one: of those that may start, first those that no container waits for, in the order of
 * the definition. */
static size_t choose(const struct graph *graph, const struct kubernetes_start_order *order,
	bool initial, const bool *placed)
{
	size_t waited_for = graph->count;

	for (size_t i = 0; i < graph->count; i++) {
		if (placed[i] || order->is_initial[i] != initial || !may_start(graph, i, placed))
			continue;
		if (!order->waited_for[i])
			return i;
		if (waited_for == graph->count)
			waited_for = i;
	}
	return waited_for;
}

static void place(const struct graph *graph, struct kubernetes_start_order *order, bool initial,
	bool *placed)
{
	size_t *list = initial ? order->initial : order->running;
	size_t *count = initial ? &order->initial_count : &order->running_count;

	for (;;) {
		size_t next = choose(graph, order, initial, placed);

		if (next == graph->count)
			return;
		placed[next] = true;
		list[(*count)++] = next;
	}
}

int kubernetes_start_order_make(const struct json *containers,
	struct kubernetes_start_order *ret_order, struct err *err)
{
	struct graph graph = {.containers = containers, .count = json_count(containers)};
	struct kubernetes_start_order order = {0};
	bool placed[RUNTIME_CONTAINERS_MAX] = {0};
	int code;

	if (!json_is(containers, JSON_ARRAY) || graph.count == 0)
		return err_set(err, -EINVAL, "the task has no containers");
	if (graph.count > RUNTIME_CONTAINERS_MAX)
		return err_set(err, -EINVAL, "the task has more than %d containers",
			RUNTIME_CONTAINERS_MAX);
	code = read_graph(&graph, err);
	if (code < 0)
		return code;
	mark(&graph, &order);
	code = check_mixes(&graph, &order, err);
	if (code < 0)
		return code;
	place(&graph, &order, true, placed);
	place(&graph, &order, false, placed);
	for (size_t i = 0; i < graph.count; i++)
		if (!placed[i])
			return err_set(err, -EINVAL,
				"container '%.*s' waits for itself through dependsOn",
				SPAN_ARGS(name_of(&graph, i)));
	*ret_order = order;
	return 0;
}
