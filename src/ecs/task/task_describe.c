/* Finding tasks, answering them, DescribeTasks. Stored texts are joined as they are. */
#include "aws/arn.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "ecs/record/tags.h"
#include "ecs/task/sync_status.h"
#include "ecs/task/task_api.h"

#define DESCRIBE_MAX 100

/* ---- finding ---- */

/* "CLUSTER/ID", or "ID" alone as old ARNs have it, or an id. False if it names another cluster. */
static bool read_id(struct aws_request *request, struct span cluster, struct span requested,
	struct span *ret_id)
{
	struct span name, in, id;

	if (!ecs_try_resolve(request->caller, "task", requested, &name))
		return false;
	if (span_split(name, '/', &in, &id)) {
		if (!span_equal(in, cluster))
			return false;
		name = id;
	}
	*ret_id = name;
	return true;
}

const struct store_object *task_in(struct aws_request *request, const struct store_object *cluster,
	struct span requested)
{
	struct span id;

	if (!read_id(request, cluster_facts(cluster)->name, requested, &id))
		return NULL;
	return store_get(request->view, &task_kind,
		arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(cluster->key), SPAN_ARGS(id)));
}

struct span task_arn_requested(struct aws_request *request, const struct store_object *cluster,
	struct span requested)
{
	if (aws_arn_looks_like(requested))
		return requested;
	return ecs_arn(request, "task",
		arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(cluster_facts(cluster)->name),
			SPAN_ARGS(requested)));
}

struct span task_arn(struct aws_request *request, const struct store_object *task)
{
	return ecs_arn(request, "task", aws_name_of_key(task->key));
}

/* ---- for policies ---- */

static void add_resource(struct aws_request *request, struct aws_resources *resources,
	struct span cluster, struct span requested)
{
	if (resources->count == AWS_RESOURCES_MAX) {
		resources->overflow = true;
		return;
	}
	if (requested.data && !aws_arn_looks_like(requested) &&
		!memchr(requested.data, '/', requested.length))
		requested = arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(cluster),
			SPAN_ARGS(requested));
	resources->arns[resources->count++] = ecs_canonical_arn(request, "task", requested);
}

void task_resources(struct aws_request *request, struct aws_resources *resources)
{
	struct span requested = json_get_text(request->input, "cluster");
	struct span one = json_get_text(request->input, "task");
	struct span cluster = SPAN("default");

	if (requested.data)
		ecs_try_resolve(request->caller, "cluster", requested, &cluster);
	if (one.data)
		add_resource(request, resources, cluster, one);
	JSON_EACH_ITEM (json_get(request->input, "tasks"), item)
		add_resource(request, resources, cluster, json_text(item));
}

/* ---- answering ---- */

void task_answer(struct aws_request *request, const struct store_object *task, bool tags)
{
	struct span shown = sync_show_task(request, task);

	if (!tags) {
		buffer_add_span(request->out, shown);
		return;
	}
	/* The text is an object and never an empty one. */
	buffer_add(request->out, shown.data, shown.length - 1);
	buffer_add_string(request->out, ",\"tags\":");
	json_write(tags_of(request, task), request->out);
	buffer_add_char(request->out, '}');
}

int task_describe(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "tasks");
	struct json *failures = json_new_array(request->arena);
	bool tags = input_includes(request, "TAGS");
	const struct store_object *cluster;
	size_t found = 0;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	if (json_count(requested) == 0)
		return aws_fail_input(request, "tasks: Tasks cannot be empty.");
	if (json_count(requested) > DESCRIBE_MAX)
		return aws_fail_input(request, "tasks: give 1 to %d of them", DESCRIBE_MAX);
	buffer_add_string(request->out, "{\"tasks\":[");
	JSON_EACH_ITEM (requested, item) {
		const struct store_object *task = task_in(request, cluster, json_text(item));

		if (!task) {
			json_append(request->arena, failures,
				ecs_failure_missing(request,
					task_arn_requested(request, cluster, json_text(item))));
			continue;
		}
		if (found++ > 0)
			buffer_add_char(request->out, ',');
		task_answer(request, task, tags);
	}
	buffer_add_string(request->out, "],\"failures\":");
	json_write(failures, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}
