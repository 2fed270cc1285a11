/*
 * StreamTasks and StreamInstances: streams of the tasks or container instances of the caller's clusters in this server, or
 * of one remote cluster (delivery/stream.h).
 */
#include "aws/targets.h"
#include "base/memory.h"
#include "delivery/cluster_ref.h"
#include "delivery/observe/cluster_stream.h"
#include "delivery/observe/source_own.h"
#include "delivery/store_stream.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/name.h"
#include "ecs/record/task.h"
#include "environment/api/environment_tasks.h"
#include "environment/model/fail.h"
#include "environment/model/version_names.h"

static const struct delivery_stream_type task_type = {.member = "task", .revision = "version"};
static const struct delivery_stream_type instance_type = {
	.member = "instance", .revision = "version"};

/* A stream's filter and caller; in the stream's arena. */
struct state_filter {
	struct aws_caller caller;
	struct cluster_ref cluster; /* remote */
	struct span group;          /* of tasks; "" */
};

/* ---- documents ---- */

static struct aws_request request_of(const struct state_filter *filter,
	const struct store_view *view, struct arena *arena)
{
	return (struct aws_request){.caller = &filter->caller, .view = view, .arena = arena};
}

/* NULL: the filter leaves it out. */
static struct json *task_document(const struct state_filter *filter, struct cluster_ref cluster,
	const struct observe_task *task, const struct store_view *view, struct arena *arena)
{
	struct aws_request request = request_of(filter, view, arena);

	if (filter->group.length > 0 && !span_equal(task->group, filter->group))
		return NULL;
	return state_api_task_document(&request, cluster, task);
}

/* Without counts of tasks: those are in the stream of tasks. */
static struct json *instance_document(const struct state_filter *filter, struct cluster_ref cluster,
	const struct observe_instance *instance, const struct store_view *view, struct arena *arena)
{
	struct aws_request request = request_of(filter, view, arena);
	struct json *document = state_api_instance_document(&request, cluster, instance);

	json_unset(document, "runningTasks");
	json_unset(document, "pendingTasks");
	return document;
}

static struct cluster_ref cluster_of_object(const struct store_object *object, struct arena *arena)
{
	struct span key = object->key;

	/* "ACCOUNT/REGION/CLUSTER" of "ACCOUNT/REGION/CLUSTER/ID" */
	while (key.length > 0 && key.data[key.length - 1] != '/')
		key.length--;
	return cluster_ref_of_key(arena, (struct span){key.data, key.length - 1});
}

static struct json *own_task_document(const void *context, const struct store_object *object,
	const struct store_view *view, struct arena *arena)
{
	const struct state_filter *filter = context;
	struct observe_task task;

	if (filter->group.length > 0 && !span_equal(task_facts(object)->group, filter->group))
		return NULL;
	task = source_own_task(object, arena);
	return task_document(filter, cluster_of_object(object, arena), &task, view, arena);
}

static struct json *own_instance_document(const void *context, const struct store_object *object,
	const struct store_view *view, struct arena *arena)
{
	struct observe_instance instance = source_own_instance(object, arena);

	return instance_document(context, cluster_of_object(object, arena), &instance, view, arena);
}

static struct json *remote_document(const void *context, const struct cluster_stream_entity *entity,
	const struct store_view *view, struct arena *arena)
{
	const struct state_filter *filter = context;

	return entity->task
		       ? task_document(filter, filter->cluster, entity->task, view, arena)
		       : instance_document(filter, filter->cluster, entity->instance, view, arena);
}

/* ---- opening ---- */

/* In an arena of its own, which is the stream's later. */
static struct state_filter *new_filter(const struct aws_request *request, struct arena *arena)
{
	const struct aws_caller *caller = request->caller;
	struct state_filter *filter = arena_allocate(arena, sizeof(*filter));
	struct span environment = json_get_text(request->input, "environment");

	*filter =
		(struct state_filter){.caller = {.account = arena_copy_span(arena, caller->account),
					      .region = arena_copy_span(arena, caller->region),
					      .user = SPAN(""),
					      .access_key = SPAN("")},
			.group = SPAN("")};
	if (environment.data)
		filter->group = environment_tasks_group(request, environment, arena);
	return filter;
}

static int open_remote(struct aws_request *request, bool instances,
	struct delivery_stream_wake wake, struct delivery_stream **ret_stream)
{
	const struct daemon_context *context = request->context;
	struct cluster_stream_config config = {.observer = context->state,
		.type = instances ? &instance_type : &task_type,
		.instances = instances,
		.document = remote_document,
		.wake = wake};
	struct state_filter *filter;
	struct cluster_ref cluster;
	struct err err = {0};
	uint64_t position;
	int code;

	if (!json_get_text(request->input, "cluster").data)
		return aws_fail_input(request,
			"cluster: is required with a target: a stream is of one cluster there");
	if (state_api_find_cluster(request, &cluster) < 0)
		return -EPERM;
	if (delivery_stream_resumes(request, &position))
		config.position = &position;
	config.arena = arena_new(0);
	config.context = filter = new_filter(request, config.arena);
	config.cluster = filter->cluster =
		cluster_ref_of(arena_copy_span(config.arena, cluster.text));
	code = cluster_stream_open(&config, ret_stream, &err);
	return code < 0 ? delivery_stream_fail(request, code, &err) : 0;
}

/* "ACCOUNT/REGION/" or "ACCOUNT/REGION/CLUSTER/". Fails the request. A resumed stream may be of a cluster that was deleted
 * since. */
static int find_prefix(struct aws_request *request, bool resumes, struct span *ret_prefix)
{
	struct span cluster = json_get_text(request->input, "cluster"), name;
	struct span prefix = arena_format(request->arena, "%.*s/%.*s/",
		SPAN_ARGS(request->caller->account), SPAN_ARGS(request->caller->region));

	if (cluster.data) {
		if (!ecs_try_resolve(request->caller, "cluster", cluster, &name) ||
			!ecs_is_name(name))
			return aws_fail_input(request,
				"cluster: '%.*s' is neither the name nor the ARN of a cluster of "
				"this "
				"account and region",
				SPAN_ARGS(cluster));
		if (!resumes && !version_names_cluster(request, cluster))
			return daemon_fail(request, "ResourceNotFoundException", "cluster", cluster,
				"There is no cluster '%.*s'", SPAN_ARGS(cluster));
		prefix = arena_format(request->arena, "%.*s%.*s/", SPAN_ARGS(prefix),
			SPAN_ARGS(name));
	}
	*ret_prefix = prefix;
	return 0;
}

static int open_own(struct aws_request *request, bool instances, struct delivery_stream_wake wake,
	struct delivery_stream **ret_stream)
{
	const struct daemon_context *context = request->context;
	uint64_t position;
	bool resumes = delivery_stream_resumes(request, &position);
	struct store_stream_config config = {.store = context->store,
		.type = instances ? &instance_type : &task_type,
		.kind = instances ? &container_instance_kind : &task_kind,
		.document = instances ? own_instance_document : own_task_document,
		.position = resumes ? &position : NULL,
		.wake = wake};
	struct err err = {0};
	int code;

	if (find_prefix(request, resumes, &config.prefix) < 0)
		return -EPERM;
	config.arena = arena_new(0);
	config.context = new_filter(request, config.arena);
	code = store_stream_open(&config, ret_stream, &err);
	return code < 0 ? delivery_stream_fail(request, code, &err) : 0;
}

static int open_stream(struct aws_request *request, bool instances,
	struct delivery_stream_wake wake, struct delivery_stream **ret_stream)
{
	struct span target = json_get_text(request->input, "target");

	return target.data && !span_is(target, AWS_TARGET_LOCAL)
		       ? open_remote(request, instances, wake, ret_stream)
		       : open_own(request, instances, wake, ret_stream);
}

static int open_tasks(struct aws_request *request, struct delivery_stream_wake wake,
	struct delivery_stream **ret_stream)
{
	return open_stream(request, false, wake, ret_stream);
}

static int open_instances(struct aws_request *request, struct delivery_stream_wake wake,
	struct delivery_stream **ret_stream)
{
	return open_stream(request, true, wake, ret_stream);
}

const struct delivery_stream_operation environment_streams[] = {
	{"StreamInstances", open_instances},
	{"StreamTasks", open_tasks},
};
const size_t environment_stream_count = LENGTH(environment_streams);
