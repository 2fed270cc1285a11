/* Container instances: the operations of agents and clients on them; see the header. */
#include "ecs/record/container_instance.h"

#include "aws/arn.h"
#include "aws/document.h"
#include "aws/page.h"
#include "ecs/record/cluster.h"
#include "ecs/record/cluster_query.h"
#include "ecs/record/name.h"
#include "ecs/record/tags.h"
#include "ecs/record/task.h"

#define DESCRIBE_MAX 100
/* Instances that one request scans: a page may be short and still carry a token. */
#define INSTANCES_SCANNED_MAX 1000

static struct span instance_arn(struct aws_request *request, const struct store_object *instance)
{
	return ecs_arn(request, "container-instance", aws_name_of_key(instance->key));
}

/* ---- for policies ---- */

static void add_resource(struct aws_request *request, struct aws_resources *resources,
	struct span cluster, struct span instance)
{
	if (resources->count == AWS_RESOURCES_MAX) {
		resources->overflow = true;
		return;
	}
	if (instance.data && !aws_arn_looks_like(instance))
		instance = arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(cluster),
			SPAN_ARGS(instance));
	resources->arns[resources->count++] =
		ecs_canonical_arn(request, "container-instance", instance);
}

/* The instances themselves, as AWS has it: "container-instance/CLUSTER/ID". */
void container_instance_resources(struct aws_request *request, struct aws_resources *resources)
{
	struct span requested = json_get_text(request->input, "cluster");
	struct span one = json_get_text(request->input, "containerInstance");
	struct span cluster = SPAN("default");

	if (requested.data)
		ecs_try_resolve(request->caller, "cluster", requested, &cluster);
	if (one.data)
		add_resource(request, resources, cluster, one);
	JSON_EACH_ITEM (json_get(request->input, "containerInstances"), item)
		add_resource(request, resources, cluster, json_text(item));
}

/* ---- documents ---- */

/* The ports of one protocol in a packed list, as texts of a stringSetValue. */
static void append_ports(struct arena *arena, struct json *set, struct span ports,
	const char *protocol)
{
	struct span rest = ports, one, number, kind;

	while (rest.length > 0) {
		if (!span_split(rest, ',', &one, &rest)) {
			one = rest;
			rest = SPAN("");
		}
		if (span_split(one, '/', &number, &kind) && span_is(kind, protocol) &&
			!document_list_has(set, number))
			json_append(arena, set, json_new_string(arena, number));
	}
}

/* Ports that the agent reserves and ports that live tasks hold. */
struct used_ports {
	struct json *tcp, *udp;
};

static struct used_ports used_ports(struct aws_request *request,
	const struct store_object *instance)
{
	struct arena *arena = request->arena;
	struct used_ports used = {json_new_array(arena), json_new_array(arena)};
	struct span ports = container_instance_facts(instance)->ports;
	struct store_cursor cursor = {.view = request->view,
		.kind = &task_kind,
		.index = TASK_BY_INSTANCE,
		.prefix = arena_format(arena, "%.*s/live/", SPAN_ARGS(instance->key))};
	const struct store_object *task;

	append_ports(arena, used.tcp, ports, "tcp");
	append_ports(arena, used.udp, ports, "udp");
	while ((task = store_next(&cursor))) {
		append_ports(arena, used.tcp, task_facts(task)->ports, "tcp");
		append_ports(arena, used.udp, task_facts(task)->ports, "udp");
	}
	return used;
}

/* The rest of each registered resource; the ports listed are those in use, as ECS has it. */
static const struct json *remaining_resources(struct aws_request *request,
	const struct store_object *instance, const struct json *registered,
	const int64_t sums[STORE_MEASURES])
{
	struct arena *arena = request->arena;
	struct json *remaining = json_new_array(arena);
	struct used_ports used = used_ports(request, instance);

	JSON_EACH_ITEM (registered, resource) {
		struct span name = json_get_text(resource, "name");
		struct json *left = json_copy_object(arena, resource);

		if (span_is(name, "CPU") || span_is(name, "MEMORY")) {
			int64_t held = sums[span_is(name, "CPU") ? TASK_SUM_CPU : TASK_SUM_MEMORY];

			json_set_integer(arena, left, "integerValue",
				json_get_integer(resource, "integerValue", 0) - held);
		} else if (span_is(name, "PORTS")) {
			json_set(arena, left, "stringSetValue", used.tcp);
		} else if (span_is(name, "PORTS_UDP")) {
			json_set(arena, left, "stringSetValue", used.udp);
		}
		json_append(arena, remaining, left);
	}
	return remaining;
}

struct json *container_instance_document(struct aws_request *request,
	const struct store_object *instance, bool tags)
{
	struct arena *arena = request->arena;
	int64_t sums[STORE_MEASURES];
	struct json *stored, *document;

	if (json_parse(instance->api, arena, &stored, NULL) < 0)
		return json_new_object(arena);
	container_instance_sum_tasks(request->view, instance, sums);
	document = json_copy_object(arena, stored);
	json_set(arena, document, "remainingResources",
		remaining_resources(request, instance, json_get(stored, "registeredResources"),
			sums));
	json_set_integer(arena, document, "runningTasksCount", sums[TASK_SUM_INSTANCE_RUNNING]);
	json_set_integer(arena, document, "pendingTasksCount", sums[TASK_SUM_INSTANCE_PENDING]);
	tags_set(request, document, tags ? tags_of(request, instance) : NULL);
	return document;
}

int container_instance_answer(struct aws_request *request, const struct json *document)
{
	buffer_add_string(request->out, "{\"containerInstance\":");
	json_write(document, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

/* ---- operations ---- */

/* An ARN of another cluster is a client error and not a missing instance. */
int container_instance_check_cluster(struct aws_request *request,
	const struct store_object *cluster, struct span requested)
{
	struct span name, in, id;

	if (!aws_arn_looks_like(requested) ||
		!ecs_try_resolve(request->caller, "container-instance", requested, &name) ||
		!span_split(name, '/', &in, &id) || span_equal(in, cluster_facts(cluster)->name))
		return 0;
	return aws_fail_input(request,
		"Invalid identifier: Identifier is for cluster %.*s. Your cluster is %.*s",
		SPAN_ARGS(in), SPAN_ARGS(cluster_facts(cluster)->name));
}

const struct json *container_instance_missing(struct aws_request *request,
	const struct store_object *cluster, struct span requested)
{
	if (!aws_arn_looks_like(requested)) {
		struct span name = arena_format(request->arena, "%.*s/%.*s",
			SPAN_ARGS(cluster_facts(cluster)->name), SPAN_ARGS(requested));

		requested = ecs_arn(request, "container-instance", name);
	}
	return ecs_failure_missing(request, requested);
}

/* Instances of this server's runtime are as healthy as this server; other agents do not report
 * health. */
static const struct json *health_status(struct aws_request *request,
	const struct container_instance_facts *facts)
{
	struct arena *arena = request->arena;
	struct json *health = json_new_object(arena), *check = json_new_object(arena);
	struct json *details = json_new_array(arena);
	struct span status = SPAN("INSUFFICIENT_DATA");

	if (facts->runtime.length > 0)
		status = facts->connected ? SPAN("OK") : SPAN("IMPAIRED");
	json_set_string(arena, check, "type", SPAN("CONTAINER_RUNTIME"));
	json_set_string(arena, check, "status", status);
	json_set_time(arena, check, "lastUpdated", request->now_ms);
	json_set_time(arena, check, "lastStatusChange", facts->registered_ms);
	json_append(arena, details, check);
	json_set_string(arena, health, "overallStatus", status);
	json_set(arena, health, "details", details);
	return health;
}

static void describe_one(struct aws_request *request, const struct store_object *cluster,
	struct span requested, struct json *instances, struct json *failures)
{
	const struct store_object *instance = container_instance_in(request, cluster, requested);
	struct json *document;

	if (!instance) {
		json_append(request->arena, failures,
			container_instance_missing(request, cluster, requested));
		return;
	}
	document = container_instance_document(request, instance, input_includes(request, "TAGS"));
	if (input_includes(request, "CONTAINER_INSTANCE_HEALTH"))
		json_set(request->arena, document, "healthStatus",
			health_status(request, container_instance_facts(instance)));
	json_append(request->arena, instances, document);
}

int container_instance_describe(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "containerInstances");
	struct json *instances = json_new_array(request->arena);
	struct json *failures = json_new_array(request->arena);
	const struct store_object *cluster;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	if (json_count(requested) == 0)
		return aws_fail_input(request, "Container instance cannot be empty.");
	if (json_count(requested) > DESCRIBE_MAX)
		return aws_fail_input(request, "containerInstances: give 1 to %d of them",
			DESCRIBE_MAX);
	JSON_EACH_ITEM (requested, item) {
		if (container_instance_check_cluster(request, cluster, json_text(item)) < 0)
			return -EPERM;
		describe_one(request, cluster, json_text(item), instances, failures);
	}
	buffer_add_string(request->out, "{\"containerInstances\":");
	json_write(instances, request->out);
	buffer_add_string(request->out, ",\"failures\":");
	json_write(failures, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

int container_instance_list(struct aws_request *request)
{
	struct span status = json_get_text(request->input, "status");
	struct span filter = json_get_text(request->input, "filter");
	_cluster_query_ struct cluster_query *query = NULL;
	struct store_cursor cursor = {
		.view = request->view, .kind = &container_instance_kind, .index = -1};
	const struct store_object *cluster, *instance, *last = NULL;
	struct aws_page page;
	struct span filters;
	size_t count = 0, scanned = 0;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	if (filter.length > 0 && cluster_query_parse(filter, &query, &request->err) < 0)
		return aws_fail_input(request, "filter: %s", request->err.message);
	filters = arena_format(request->arena, "%.*s %.*s %.*s", SPAN_ARGS(cluster->key),
		SPAN_ARGS(status.data ? status : SPAN("")),
		SPAN_ARGS(filter.data ? filter : SPAN("")));
	if (aws_page_read(request, 100, 100, filters, &page) < 0)
		return -EPERM;
	cursor.prefix = arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(cluster->key),
		SPAN_ARGS(status.data ? status : SPAN("")));
	if (status.data) {
		cursor.index = CONTAINER_INSTANCE_BY_STATUS;
		cursor.exact = true;
		cursor.after_text = page.after_key.data ? cursor.prefix : SPAN_NONE;
	}
	cursor.after_key = page.after_key;
	buffer_add_string(request->out, "{\"containerInstanceArns\":[");
	while ((instance = store_next(&cursor)) && scanned++ < INSTANCES_SCANNED_MAX) {
		bool wanted = !query || container_instance_matches(query, request->view, instance,
						request->arena);

		if (wanted && count == page.most)
			break;
		if (wanted) {
			if (count++ > 0)
				buffer_add_char(request->out, ',');
			json_write_string(instance_arn(request, instance), request->out);
		}
		last = instance;
	}
	buffer_add_char(request->out, ']');
	if (instance)
		buffer_format(request->out, ",\"nextToken\":\"%.*s\"",
			SPAN_ARGS(aws_page_token(request, filters, SPAN(""), last->key)));
	buffer_add_char(request->out, '}');
	return 0;
}
