/* The operations on targets. What they change is in target.c; what health is, the plane finds out. */
#include "aws/key.h"
#include "elb/target.h"
#include "elb/target_group.h"

#define ZONE_MAX 64 /* bytes of an AvailabilityZone */

/* ---- registering ---- */

static int check_instance(struct aws_request *request, struct span id)
{
	const struct elb_context *context = request->context;
	struct span address = SPAN("");

	if (context->instance_address)
		address = context->instance_address(request->view, aws_key_prefix(request), id,
			request->arena);
	if (address.length == 0)
		return aws_fail(request, "InvalidTargetException",
			"The following targets do not exist: '%.*s'. An instance is known when it "
			"is registered with a cluster.",
			SPAN_ARGS(id));
	return 0;
}

static int read_zone(struct aws_request *request, const struct store_object *group,
	const struct json *target, struct span *ret_zone)
{
	struct span zone = json_get_text(target, "AvailabilityZone");

	if (!zone.data) {
		*ret_zone = SPAN("");
		return 0;
	}
	if (elb_target_group_facts(group)->instances)
		return aws_fail_input(request,
			"Targets: AvailabilityZone cannot be given for instance targets");
	if (zone.length == 0 || zone.length > ZONE_MAX)
		return aws_fail_input(request,
			"Targets: AvailabilityZone must have 1 to %d characters", ZONE_MAX);
	for (size_t i = 0; i < zone.length; i++)
		if (!((zone.data[i] >= '0' && zone.data[i] <= '9') ||
			    (zone.data[i] >= 'a' && zone.data[i] <= 'z') || zone.data[i] == '-'))
			return aws_fail_input(request,
				"Targets: AvailabilityZone '%.*s' is not valid", SPAN_ARGS(zone));
	*ret_zone = zone;
	return 0;
}

/* The id in its one form, and the port, that of the group if none is given. */
static int read_target(struct aws_request *request, const struct store_object *group,
	const struct json *target, struct span *ret_id, int64_t *ret_port)
{
	struct span id = json_get_text(target, "Id");
	int64_t port = json_get_integer(target, "Port", elb_target_group_facts(group)->port);

	if (elb_target_id_read(group, id, request->arena, ret_id, &request->err) < 0)
		return aws_fail(request, "InvalidTargetException", "Targets: %s",
			request->err.message);
	if (port < 1 || port > UINT16_MAX)
		return aws_fail_input(request, "Targets: Port of '%.*s' must be from 1 to %d",
			SPAN_ARGS(id), UINT16_MAX);
	*ret_port = port;
	return 0;
}

static int check_count(struct aws_request *request)
{
	size_t count = json_count(json_get(request->input, "Targets"));

	if (count == 0 && !span_is(span_of(request->operation->name), "DescribeTargetHealth"))
		return aws_fail_input(request, "Targets: at least one target must be given");
	if (count > ELB_TARGETS_MAX)
		return aws_fail_input(request, "Targets: %zu are given, the limit is %d", count,
			ELB_TARGETS_MAX);
	return 0;
}

int elb_target_api_register(struct aws_request *request)
{
	const struct store_object *group;

	if (elb_request_target_group(request, &group) < 0 || check_count(request) < 0)
		return -EPERM;
	JSON_EACH_ITEM (json_get(request->input, "Targets"), target) {
		const struct store_object *old;
		struct span id, zone, owner = SPAN("");
		int64_t port;
		int code;

		if (read_target(request, group, target, &id, &port) < 0 ||
			read_zone(request, group, target, &zone) < 0 ||
			(elb_target_group_facts(group)->instances &&
				check_instance(request, id) < 0))
			return -EPERM;
		if (json_get_text(target, "QuicServerId").data)
			return aws_fail_input(request,
				"Targets: QuicServerId is for protocols QUIC and TCP_QUIC, which "
				"are not carried here");
		/* A target that a task registered stays the task's. */
		old = elb_target_find(store_head(request->transaction), group->key, id, port,
			request->arena);
		if (old && elb_target_facts(old)->state != ELB_TARGET_DRAINING)
			owner = elb_target_facts(old)->owner;
		code = elb_target_register_in_zone(request->transaction, group, id, port, zone,
			owner, request->now_ms, request->arena, &request->err);
		if (code == -EDQUOT)
			return aws_fail(request, "TooManyTargetsException", "Targets: %s",
				request->err.message);
		if (code < 0)
			return aws_fail_store(request);
	}
	buffer_add_string(request->out, "{}");
	return 0;
}

/* A target that is not there is none already. */
int elb_target_api_deregister(struct aws_request *request)
{
	const struct store_object *group;

	if (elb_request_target_group(request, &group) < 0 || check_count(request) < 0)
		return -EPERM;
	JSON_EACH_ITEM (json_get(request->input, "Targets"), target) {
		struct span id;
		int64_t port;
		bool found;

		if (read_target(request, group, target, &id, &port) < 0)
			return -EPERM;
		if (elb_target_deregister(request->transaction, group->key, id, port,
			    request->now_ms, request->arena, &found, &request->err) < 0)
			return aws_fail_store(request);
	}
	buffer_add_string(request->out, "{}");
	return 0;
}

/* ---- health ---- */

struct health {
	struct aws_request *request;
	const struct store_object *group;
	bool used;
	bool anomalies;                /* asked for */
	struct span health_check_port; /* "traffic-port" or a number */
	struct json *list;
};

/* State that the plane has not written yet follows from whether the group is used. */
static void state_of(const struct health *health, const struct store_object *target,
	enum elb_target_state *ret_state, enum probe_reason *ret_reason)
{
	const struct elb_target_facts *facts = elb_target_facts(target);

	*ret_state = facts->state;
	*ret_reason = facts->reason;
	if (!health->used && facts->state != ELB_TARGET_DRAINING) {
		*ret_state = ELB_TARGET_UNUSED;
		*ret_reason = PROBE_REASON_NOT_IN_USE;
	} else if (health->used && facts->state == ELB_TARGET_UNUSED &&
		   facts->reason == PROBE_REASON_NOT_IN_USE) {
		*ret_state = ELB_TARGET_INITIAL;
		*ret_reason = PROBE_REASON_REGISTERING;
	}
}

static void add(struct health *health, struct json *target, int64_t port,
	enum elb_target_state state, enum probe_reason reason, int code)
{
	struct arena *arena = health->request->arena;
	struct json *description = json_new_object(arena);
	struct json *said = json_new_object(arena);
	char text[PROBE_DESCRIPTION_SIZE];

	json_set(arena, description, "Target", target);
	if (span_is(health->health_check_port, "traffic-port"))
		json_set(arena, description, "HealthCheckPort",
			json_new_format(arena, "%lld", (long long)port));
	else
		json_set_string(arena, description, "HealthCheckPort", health->health_check_port);
	json_set_string(arena, said, "State", span_of(elb_target_state_name(state)));
	if (reason != PROBE_REASON_NONE) {
		probe_describe(reason, code, text);
		json_set_string(arena, said, "Reason", span_of(probe_reason_code(reason)));
		json_set_string(arena, said, "Description", span_of(text));
	}
	json_set(arena, description, "TargetHealth", said);
	if (health->anomalies) {
		struct json *anomaly = json_new_object(arena);

		json_set_string(arena, anomaly, "Result", SPAN("normal"));
		json_set_string(arena, anomaly, "MitigationInEffect", SPAN("no"));
		json_set(arena, description, "AnomalyDetection", anomaly);
	}
	json_append(arena, health->list, description);
}

static void add_registered(struct health *health, const struct store_object *target)
{
	const struct elb_target_facts *facts = elb_target_facts(target);
	enum elb_target_state state;
	enum probe_reason reason;
	struct json *api;

	if (json_parse(target->api, health->request->arena, &api, NULL) < 0)
		return;
	state_of(health, target, &state, &reason);
	add(health, api, facts->port, state, reason, (int)facts->code);
}

/* Every registered target whose key begins so; how many there were. */
static size_t add_all(struct health *health, struct span prefix)
{
	struct store_cursor cursor = {.view = health->request->view,
		.kind = &elb_target_kind,
		.index = -1,
		.prefix = prefix};
	const struct store_object *target;
	size_t count = 0;

	for (; (target = store_next(&cursor)); count++)
		add_registered(health, target);
	return count;
}

static int add_requested(struct health *health, const struct json *requested)
{
	struct aws_request *request = health->request;
	const struct store_object *target;
	struct json *shown;
	struct span id;
	int64_t port;

	if (read_target(request, health->group, requested, &id, &port) < 0)
		return -EPERM;
	if (json_is_absent(json_get(requested, "Port"))) {
		if (add_all(health, arena_format(request->arena, "%.*s/%.*s/",
					    SPAN_ARGS(health->group->key), SPAN_ARGS(id))) > 0)
			return 0;
	} else {
		target = elb_target_find(request->view, health->group->key, id, port,
			request->arena);
		if (target) {
			add_registered(health, target);
			return 0;
		}
	}
	shown = json_new_object(request->arena);
	json_set_string(request->arena, shown, "Id", id);
	json_set_integer(request->arena, shown, "Port", port);
	add(health, shown, port, ELB_TARGET_UNUSED, PROBE_REASON_NOT_REGISTERED, 0);
	return 0;
}

int elb_target_api_health(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "Targets");
	struct json *answer = json_new_object(request->arena);
	struct health health = {.request = request,
		.list = json_new_array(request->arena),
		.anomalies = json_count(json_get(request->input, "Include")) > 0};
	struct json *group_document;

	if (elb_request_target_group(request, &health.group) < 0 || check_count(request) < 0)
		return -EPERM;
	if (json_parse(health.group->api, request->arena, &group_document, &request->err) < 0)
		return aws_fail_store(request);
	health.used = elb_target_group_is_used(request->view, health.group);
	health.health_check_port = json_get_text(group_document, "HealthCheckPort");
	JSON_EACH_ITEM (requested, target)
		if (add_requested(&health, target) < 0)
			return -EPERM;
	if (json_count(requested) == 0)
		add_all(&health,
			arena_format(request->arena, "%.*s/", SPAN_ARGS(health.group->key)));
	json_set(request->arena, answer, "TargetHealthDescriptions", health.list);
	json_write(answer, request->out);
	return 0;
}
