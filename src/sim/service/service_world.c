/*
 * Traffic of the services of the simulation: target groups and names, made through the real
 * API. There is no data plane here: targets become healthy
 * and drained at random, a little later each time.
 */
#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "elb/elb.h"
#include "sim/service/service_simulation_internal.h"

#define TARGETS_AT_ONCE 256
#define NONE_ONE_IN 3 /* services that nothing sends traffic to */
#define DRAIN_SECONDS 6
#define TTL_SECONDS 4
/* While there are faults: */
#define BECOMES_UNHEALTHY_ONE_IN 80
#define IS_UNHEALTHY_ONE_IN 20

static char *keep(struct span text)
{
	return memory_copy_string_n(text.data, text.length);
}

/* ---- making them ---- */

static struct span define_group(struct simulation *simulation, struct arena *arena, size_t number)
{
	const struct json *answer =
		simulation_request_to(simulation, &elb_service, arena, "CreateTargetGroup",
			"{'Name':'group-%zu','Protocol':'TCP','Port':80,'TargetType':'instance',"
			"'VpcId':'vpc-1'}",
			number);
	struct span arn =
		json_get_text(json_item(json_get(answer, "TargetGroups"), 0), "TargetGroupArn");

	if (arn.data)
		simulation_request_to(simulation, &elb_service, arena,
			"ModifyTargetGroupAttributes",
			"{'TargetGroupArn':'%.*s','Attributes':[{'Key':"
			"'deregistration_delay.timeout_seconds','Value':'%d'}]}",
			SPAN_ARGS(arn), DRAIN_SECONDS);
	return arn;
}

static struct span define_name(struct simulation *simulation, struct arena *arena, size_t number,
	struct span namespace_id)
{
	const struct json *answer = simulation_request_to(simulation, &cloudmap_service, arena,
		"CreateService",
		"{'Name':'name-%zu','NamespaceId':'%.*s','DnsConfig':{'DnsRecords':[{'Type':'SRV',"
		"'TTL':%d}]}%s}",
		number, SPAN_ARGS(namespace_id), TTL_SECONDS,
		number % 2 ? ",'HealthCheckCustomConfig':{'FailureThreshold':1}" : "");

	return json_get_text(json_get(answer, "Service"), "Arn");
}

static struct span define_namespace(struct simulation *simulation, struct arena *arena)
{
	const struct json *answer = simulation_request_to(simulation, &cloudmap_service, arena,
		"CreatePrivateDnsNamespace", "{'Name':'internal','Vpc':'vpc-1'}");

	answer =
		simulation_request_to(simulation, &cloudmap_service, arena, "ListNamespaces", "{}");
	return json_get_text(json_item(json_get(answer, "Namespaces"), 0), "Id");
}

struct listening {
	size_t number;
	struct span group_arn;
};

/* As a listener would be stored. Asking for one would try a port of this machine. */
static int put_listener(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct listening *listening = context;
	struct arena *arena = store_transaction_arena(transaction);

	return store_put(transaction, &elb_listener_kind,
		arena_format(arena, SIMULATION_ACCOUNT "/" SIMULATION_REGION "/front/%016zx",
			listening->number),
		arena_format(arena,
			"{\"Protocol\":\"TCP\",\"Port\":1000,\"DefaultActions\":[{\"Type\":"
			"\"forward\","
			"\"TargetGroupArn\":\"%.*s\",\"ForwardConfig\":{\"TargetGroups\":"
			"[{\"TargetGroupArn\":\"%.*s\",\"Weight\":1}]}}]}",
			SPAN_ARGS(listening->group_arn), SPAN_ARGS(listening->group_arn)),
		SPAN("{}"), STORE_ABSENT, err);
}

int simulation_define_traffic(struct simulation *simulation, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span namespace_id;

	if (!simulation->traffic)
		return 0;
	namespace_id = define_namespace(simulation, arena);
	for (size_t i = 0; i < SIMULATION_GROUPS; i++) {
		struct listening listening = {i, define_group(simulation, arena, i)};
		struct span name = define_name(simulation, arena, i, namespace_id);
		int code;

		if (!listening.group_arn.data || !name.data)
			return err_set(err, -EIO, "target group %zu could not be made", i);
		code = store_write_wait(simulation->store, put_listener, &listening, NULL, err);
		if (code < 0)
			return code;
		simulation->group_arns[i] = keep(listening.group_arn);
		simulation->registry_arns[i] = keep(name);
	}
	return 0;
}

const char *simulation_draw_traffic(struct simulation *simulation, size_t service,
	struct arena *arena)
{
	struct span text = SPAN("");
	size_t first = service % SIMULATION_GROUPS;

	if (!simulation->traffic || simulation_draw(simulation, NONE_ONE_IN) == 0)
		return "";
	if (simulation_draw(simulation, 3) > 0) {
		text = arena_format(arena,
			",'loadBalancers':[{'targetGroupArn':'%s','containerName':'app',"
			"'containerPort':80}",
			simulation->group_arns[first]);
		if (simulation_draw(simulation, 2))
			text = arena_format(arena,
				"%s,{'targetGroupArn':'%s','containerName':'app',"
				"'containerPort':80}",
				text.data, simulation->group_arns[(first + 1) % SIMULATION_GROUPS]);
		text = arena_format(arena, "%s]", text.data);
	}
	if (simulation_draw(simulation, 2))
		text = arena_format(arena,
			"%s,'serviceRegistries':[{'registryArn':'%s','containerName':'app',"
			"'containerPort':80}]",
			text.data, simulation->registry_arns[first]);
	return text.data;
}

/* ---- the plane ---- */

static enum elb_target_state next_state(struct simulation *simulation, enum elb_target_state state)
{
	bool may_fail = simulation->faulty && !simulation->gentle;

	switch (state) {
	case ELB_TARGET_INITIAL:
		if (simulation_draw(simulation, 2))
			return state;
		return may_fail && simulation_draw(simulation, IS_UNHEALTHY_ONE_IN) == 0
			       ? ELB_TARGET_UNHEALTHY
			       : ELB_TARGET_HEALTHY;
	case ELB_TARGET_HEALTHY:
		return may_fail && simulation_draw(simulation, BECOMES_UNHEALTHY_ONE_IN) == 0
			       ? ELB_TARGET_UNHEALTHY
			       : state;
	case ELB_TARGET_UNHEALTHY:
		return may_fail && simulation_draw(simulation, 3) ? state : ELB_TARGET_HEALTHY;
	default: return state;
	}
}

static int tend_target(struct simulation *simulation, struct store_transaction *transaction,
	const struct store_object *target, struct err *err)
{
	const struct elb_target_facts *facts = elb_target_facts(target);
	int64_t now_ms = runner_wall_ms(simulation->root);
	enum elb_target_state state = next_state(simulation, facts->state);

	if (facts->state == ELB_TARGET_DRAINING &&
		(facts->drain_until_ms <= now_ms || simulation_draw(simulation, 3) == 0))
		return store_delete(transaction, &elb_target_kind, target->key, target->revision,
			err);
	return elb_target_set_state(transaction, target, state,
		state == ELB_TARGET_UNHEALTHY ? PROBE_REASON_FAILED : PROBE_REASON_NONE, 0, now_ms,
		store_transaction_arena(transaction), err);
}

static int tend(struct store_transaction *transaction, void *context, struct err *err)
{
	struct simulation *simulation = context;
	struct store_cursor cursor = {
		.view = store_head(transaction), .kind = &elb_target_kind, .index = -1};
	const struct store_object *targets[TARGETS_AT_ONCE], *target;
	size_t count = 0;
	int code = 0;

	/* A cursor does not survive a change. */
	while (count < TARGETS_AT_ONCE && (target = store_next(&cursor)))
		targets[count++] = target;
	for (size_t i = 0; code == 0 && i < count; i++)
		code = tend_target(simulation, transaction, targets[i], err);
	return code;
}

void simulation_tend_targets(struct simulation *simulation)
{
	if (simulation->traffic && !simulation->store_stopped)
		store_write_wait(simulation->store, tend, simulation, NULL, NULL);
}

/* ---- in the end ---- */

static bool is_registered(const struct store_view *view, struct span id)
{
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = TASK_BY_ID, .prefix = id, .exact = true};
	const struct store_object *task = store_next(&cursor);

	return task && task_facts(task)->last == TASK_RUNNING &&
	       task_facts(task)->traffic == TASK_TRAFFIC_REGISTERED;
}

const char *simulation_stray_traffic(const struct store_view *view)
{
	struct store_cursor targets = {.view = view, .kind = &elb_target_kind, .index = -1};
	struct store_cursor names = {.view = view, .kind = &cloudmap_instance_kind, .index = -1};
	struct store_cursor tasks = {.view = view, .kind = &task_kind, .index = -1};
	const struct store_object *object;

	while ((object = store_next(&targets))) {
		const struct store_object *task =
			store_get(view, &task_kind, elb_target_facts(object)->owner);

		if (elb_target_facts(object)->state != ELB_TARGET_HEALTHY)
			return "a target is not healthy";
		if (!task || !is_registered(view, task_facts(task)->id))
			return "a target is left of a task that does not run";
	}
	while ((object = store_next(&names)))
		if (!is_registered(view, cloudmap_instance_facts(object)->id))
			return "a name leads to a task that does not run";
	while ((object = store_next(&tasks)))
		if (task_facts(object)->last < TASK_STOPPED &&
			task_facts(object)->traffic != TASK_TRAFFIC_NONE &&
			task_facts(object)->traffic != TASK_TRAFFIC_REGISTERED)
			return "a task runs and nothing is sent to it";
	return NULL;
}
