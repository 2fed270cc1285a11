/* Decided calls about traffic as requests to AWS: instances of names, targets and weights; see carrying.h. */
#include "base/memory.h"
#include "base/seeded_bug.h"
#include "pipeline/carrying.h"
#include "pipeline/describe.h"

#define WHOLE 100

/* ---- names ---- */

static const struct observed_task *find_task(const struct carrying *carrying, struct span id)
{
	const struct observed_task *tasks = carrying->observed->tasks.items;

	for (size_t i = 0; i < carrying->observed->tasks.count; i++) {
		if (span_equal(tasks[i].id, id))
			return &tasks[i];
	}
	return NULL;
}

static void set_attribute(struct arena *arena, struct json *attributes, const char *name,
	struct span value)
{
	if (value.data && value.length > 0)
		json_set_string(arena, attributes, name, value);
}

static void set_port(struct carrying *carrying, struct json *attributes)
{
	struct arena *arena = carrying->pass->arena;
	const struct json *registry =
		json_item(json_get(carrying->pass->bundle.service.request, "serviceRegistries"), 0);
	int64_t port =
		json_get_integer(registry, "port", json_get_integer(registry, "containerPort", 0));

	if (port > 0)
		json_set(arena, attributes, "AWS_INSTANCE_PORT",
			json_new_format(arena, "%lld", (long long)port));
}

/* As ECS would register the task. A task that was registered before gets the same attributes again. */
static const struct json *instance_attributes(struct carrying *carrying,
	const struct observed_task *task, enum set_role role)
{
	const struct deployment_pass *pass = carrying->pass;
	const struct journalled_call *calls = pass->calls.items;
	struct json *attributes = json_new_object(pass->arena), *kept;
	struct span family = json_get_text(pass->bundle.task.request, "family");

	for (size_t i = pass->calls.count; i > 0; i--) {
		const struct journal_record *record = &calls[i - 1].record;

		if (span_equal(record->target, task->id) && record->attributes.length > 0 &&
			json_parse(record->attributes, pass->arena, &kept, NULL) == 0)
			return kept;
	}
	json_set_string(pass->arena, attributes, "AWS_INIT_HEALTH_STATUS", SPAN("HEALTHY"));
	set_attribute(pass->arena, attributes, "AWS_INSTANCE_IPV4",
		describe_task_address(task->task));
	set_port(carrying, attributes);
	set_attribute(pass->arena, attributes, "AVAILABILITY_ZONE",
		json_get_text(task->task, "availabilityZone"));
	set_attribute(pass->arena, attributes, "REGION", pass->deployment.facts.region);
	set_attribute(pass->arena, attributes, "ECS_CLUSTER_NAME", pass->cluster);
	set_attribute(pass->arena, attributes, "ECS_SERVICE_NAME", pass->bundle.service.name);
	set_attribute(pass->arena, attributes, "ECS_TASK_DEFINITION_FAMILY", family);
	set_attribute(pass->arena, attributes, "ECS_TASK_SET_EXTERNAL_ID",
		role == SET_CANARY ? SPAN("canary") : SPAN("primary"));
	return attributes;
}

static struct pending_call about_instance(const struct carrying *carrying,
	const struct next_call *next, const char *operation)
{
	struct arena *arena = carrying->pass->arena;
	struct pending_call call = {.service = CLOUDMAP,
		.operation = operation,
		.role = span_of(carry_out_role(next->role)),
		.target = next->target,
		.request = json_new_object(arena),
		.answer_path = "OperationId",
		.is_operation = true,
		.attributes = SPAN("")};

	json_set_string(arena, call.request, "ServiceId", describe_registry_id(carrying->pass));
	json_set_string(arena, call.request, "InstanceId", next->target);
	return call;
}

int carrying_register_instance(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	const struct observed_task *task = find_task(carrying, next->target);
	struct pending_call call = about_instance(carrying, next, "RegisterInstance");
	const struct json *attributes = instance_attributes(carrying, task, next->role);

	call.token_member = "CreatorRequestId";
	json_set(carrying->pass->arena, call.request, "Attributes", attributes);
	if (json_get_text(attributes, "AWS_INSTANCE_IPV4").length > 0)
		return carrying_send(carrying, &call, ret_carried);
	*ret_carried = CARRIED_FAILED;
	carrying->reason = arena_format(carrying->pass->arena,
		"task %.*s has no address of its own to register; use network mode awsvpc, or "
		"serviceDiscovery.canaryRegistration: ECS",
		SPAN_ARGS(next->target));
	return 0;
}

int carrying_deregister_instance(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	static const char *const gone[] = {"InstanceNotFound", NULL};
	const struct observed_task *task = find_task(carrying, next->target);
	struct pending_call call = about_instance(carrying, next, "DeregisterInstance");

	call.done_errors = gone;
	if (task && task->attributes)
		call.attributes = json_to_text(task->attributes, carrying->pass->arena);
	return carrying_send(carrying, &call, ret_carried);
}

/* ---- load balancers ---- */

/* The actions of a rule with other weights for the pair; everything else stays. */
static const struct json *weigh(struct carrying *carrying, const struct json *actions,
	int64_t percent)
{
	struct arena *arena = carrying->pass->arena;
	const struct application_input *input = &carrying->pass->bundle.application->input;
	struct json *changed = json_new_array(arena);

	JSON_EACH_ITEM (actions, action) {
		const struct json *config = json_get(action, "ForwardConfig");
		struct json *groups = json_new_array(arena), *action_copy, *config_copy;

		if (!json_is(config, JSON_OBJECT)) {
			json_append(arena, changed, action);
			continue;
		}
		JSON_EACH_ITEM (json_get(config, "TargetGroups"), group) {
			struct json *copy = json_copy_object(arena, group);
			struct span arn = json_get_text(group, "TargetGroupArn");

			if (span_equal(arn, input->canary_group.arn))
				json_set_integer(arena, copy, "Weight", percent);
			if (span_equal(arn, input->primary_group.arn))
				json_set_integer(arena, copy, "Weight", WHOLE - percent);
			json_append(arena, groups, copy);
		}
		config_copy = json_copy_object(arena, config);
		if (SEEDED_BUG(carrying->pass->config->bug == PIPELINE_BUG_LOSE_STICKINESS))
			json_unset(config_copy, "TargetGroupStickinessConfig");
		json_set(arena, config_copy, "TargetGroups", groups);
		action_copy = json_copy_object(arena, action);
		json_set(arena, action_copy, "ForwardConfig", config_copy);
		json_append(arena, changed, action_copy);
	}
	return changed;
}

int carrying_set_weights(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	struct arena *arena = carrying->pass->arena;
	const struct observed_rule *rules = carrying->observed->rules.items;
	int code = 0;

	*ret_carried = CARRIED_SENT;
	for (size_t i = 0; i < carrying->observed->rules.count && code >= 0; i++) {
		const struct observed_rule *rule = &rules[i];
		struct pending_call call = {.service = ELB,
			.operation = rule->is_default ? "ModifyListener" : "ModifyRule",
			.role = span_of(carry_out_role(next->role)),
			.target = rule->arn,
			.number = next->number,
			.request = json_new_object(arena),
			.attributes = SPAN("")};

		if (rule->weight == next->number)
			continue;
		json_set_string(arena, call.request, rule->is_default ? "ListenerArn" : "RuleArn",
			rule->arn);
		json_set(arena, call.request, rule->is_default ? "DefaultActions" : "Actions",
			weigh(carrying, rule->actions, next->number));
		code = carrying_send(carrying, &call, ret_carried);
		if (*ret_carried == CARRIED_FAILED || carrying->is_interrupted)
			break;
	}
	return code;
}

/* The targets of tasks with network interfaces of their own are their addresses. */
static int about_target(struct carrying *carrying, const struct next_call *next,
	const char *operation, enum carried *ret_carried)
{
	struct arena *arena = carrying->pass->arena;
	const struct application_input *input = &carrying->pass->bundle.application->input;
	const struct observed_task *task = find_task(carrying, next->target);
	struct json *target = json_new_object(arena), *targets = json_new_array(arena);
	struct pending_call call = {.service = ELB,
		.operation = operation,
		.role = span_of(carry_out_role(next->role)),
		.target = next->target,
		.request = json_new_object(arena),
		.attributes = SPAN("")};

	json_set_string(arena, target, "Id", describe_task_address(task->task));
	json_set_integer(arena, target, "Port", input->primary_group.container_port);
	json_append(arena, targets, target);
	json_set_string(arena, call.request, "TargetGroupArn", input->primary_group.arn);
	json_set(arena, call.request, "Targets", targets);
	return carrying_send(carrying, &call, ret_carried);
}

int carrying_register_target(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	return about_target(carrying, next, "RegisterTargets", ret_carried);
}

int carrying_deregister_target(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	return about_target(carrying, next, "DeregisterTargets", ret_carried);
}
