/*
 * Operations of slipway's own controllers, which call them by aws_call; clients cannot (aws/service.h). No model describes
 * them, so they check their input themselves.
 *
 *     PutReservation        {cluster, group, taskDefinition, attributes, priority}  reservation.h
 *     DeleteReservation     {cluster, group}                                        also when there is none
 *     ChoosePreemptedTasks  {cluster, group, containerInstance} -> {tasks: [id…]}   preemption.h
 */
#include "ecs/internal_operations.h"

#include "aws/key.h"
#include "base/memory.h"
#include "ecs/placement/preemption.h"
#include "ecs/record/reservation.h"

/* ---- input ---- */

static int read_text(struct aws_request *request, const char *member, struct span *ret_text)
{
	*ret_text = json_get_text(request->input, member);
	return ret_text->length > 0 ? 0 : aws_fail_input(request, "%s: is required", member);
}

static int read_key(struct aws_request *request, struct span *ret_key)
{
	struct span cluster, group;

	if (read_text(request, "cluster", &cluster) < 0 || read_text(request, "group", &group) < 0)
		return -EPERM;
	*ret_key = reservation_key(request->arena, aws_key(request, cluster), group);
	return 0;
}

/* "arn:…:task-definition/FAMILY:REVISION" */
static int read_definition(struct aws_request *request, struct reservation_facts *facts)
{
	struct span name, revision, rest;
	uint64_t number;

	if (read_text(request, "taskDefinition", &rest) < 0)
		return -EPERM;
	name = rest;
	while (span_split(rest, '/', &revision, &rest))
		name = rest;
	if (!span_split(name, ':', &facts->family, &revision) ||
		!span_to_unsigned(revision, INT32_MAX, &number))
		return aws_fail_input(request,
			"taskDefinition: '%.*s' is not the ARN of a task definition",
			SPAN_ARGS(json_get_text(request->input, "taskDefinition")));
	facts->revision = (int64_t)number;
	return 0;
}

/* ---- reservations ---- */

static bool is_same(const struct reservation_facts *a, const struct reservation_facts *b)
{
	return span_equal(a->attributes, b->attributes) && span_equal(a->family, b->family) &&
	       a->revision == b->revision && a->priority == b->priority;
}

/* A reservation that keeps its attributes keeps its wait, too: its instances have waited already. */
static int put_reservation(struct aws_request *request)
{
	struct reservation_facts facts = {.since_ms = request->now_ms};
	const struct store_object *now;
	struct span key;

	if (read_key(request, &key) < 0 || read_definition(request, &facts) < 0)
		return -EPERM;
	facts.attributes = json_get_text(request->input, "attributes");
	if (!facts.attributes.data)
		facts.attributes = SPAN("");
	facts.priority = json_get_integer(request->input, "priority", 0);
	now = store_get(request->view, &reservation_kind, key);
	if (now && is_same(reservation_facts(now), &facts))
		return 0;
	if (now && span_equal(reservation_facts(now)->attributes, facts.attributes))
		facts.since_ms = reservation_facts(now)->since_ms;
	return reservation_put(request->transaction, key, &facts, &request->err) < 0
		       ? aws_fail_store(request)
		       : 0;
}

static int delete_reservation(struct aws_request *request)
{
	struct span key;
	int code;

	if (read_key(request, &key) < 0)
		return -EPERM;
	code = store_delete(request->transaction, &reservation_kind, key, STORE_ANY, &request->err);
	return code < 0 && code != -ENOENT ? aws_fail_store(request) : 0;
}

/* ---- preemption ---- */

static int choose_preempted(struct aws_request *request)
{
	struct json *answer = json_new_object(request->arena), *tasks;
	struct span key, cluster, instance, *ids;
	size_t count;

	if (read_key(request, &key) < 0 || read_text(request, "cluster", &cluster) < 0 ||
		read_text(request, "containerInstance", &instance) < 0)
		return -EPERM;
	count = preemption_choose(request->view, key,
		aws_key(request, arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(cluster),
					 SPAN_ARGS(instance))),
		request->now_ms, request->arena, &ids);
	tasks = json_new_array(request->arena);
	for (size_t i = 0; i < count; i++)
		json_append(request->arena, tasks, json_new_string(request->arena, ids[i]));
	json_set(request->arena, answer, "tasks", tasks);
	json_write(answer, request->out);
	return 0;
}

const struct aws_operation ecs_internal_operations[ECS_INTERNAL_OPERATION_COUNT] = {
	{.name = "ChoosePreemptedTasks", .mode = AWS_READ, .run = choose_preempted},
	{.name = "DeleteReservation", .mode = AWS_WRITE, .run = delete_reservation},
	{.name = "PutReservation", .mode = AWS_WRITE, .run = put_reservation},
};
