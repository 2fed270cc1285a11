/* See the header. */
#include "sim/pipeline/pipeline_actual.h"

#include <stdio.h>

#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "ecs/record/service_kind.h"
#include "elb/elb.h"

bool actual_is_ours(struct span service)
{
	return span_is(service, SIM_APPLICATION) || span_is(service, ACTUAL_CANARY);
}

const struct store_object *actual_find_instance(const struct pipeline_sim *sim,
	const struct store_view *view, struct span id)
{
	char key[STORE_KEY_MAX];

	snprintf(key, sizeof(key), ACTUAL_SCOPE "/%s/%.*s", sim->registry_id, SPAN_ARGS(id));
	return store_get(view, &cloudmap_instance_kind, span_of(key));
}

static bool is_instance_healthy(const struct pipeline_sim *sim, const struct store_view *view,
	const struct store_object *instance)
{
	char key[STORE_KEY_MAX];
	const struct store_object *service;

	snprintf(key, sizeof(key), ACTUAL_SCOPE "/%s", sim->registry_id);
	service = store_get(view, &cloudmap_service_kind, span_of(key));
	return cloudmap_instance_is_healthy(cloudmap_service_facts(service),
		cloudmap_instance_facts(instance), runner_wall_ms(sim->root));
}

/* From the text of its attachment. */
static struct span address_of(struct span task)
{
	static const char name[] = "\"privateIPv4Address\",\"value\":\"";
	const char *at = memmem(task.data, task.length, name, sizeof(name) - 1), *end;

	if (!at)
		return SPAN("");
	at += sizeof(name) - 1;
	end = memchr(at, '"', task.length - (size_t)(at - task.data));
	return end ? (struct span){at, (size_t)(end - at)} : SPAN("");
}

static void read_targets(const struct store_view *view, struct live_task *task)
{
	struct store_cursor cursor = {.view = view, .kind = &elb_target_kind, .index = -1};
	const struct store_object *target;

	while (task->address.length > 0 && (target = store_next(&cursor))) {
		const struct elb_target_facts *facts = elb_target_facts(target);

		if (!span_equal(facts->id, task->address))
			continue;
		task->in_blue |= span_is(facts->group, "blue");
		task->in_green |= span_is(facts->group, "green");
		task->is_target_healthy |= facts->state == ELB_TARGET_HEALTHY;
	}
}

static void read_task(struct pipeline_sim *sim, const struct store_view *view,
	const struct store_object *object, struct world_state *state)
{
	const struct task_facts *facts = task_facts(object);
	struct live_task *task = &state->tasks[state->task_count];
	const struct store_object *instance;

	if (!actual_is_ours(facts->service) || facts->last >= TASK_STOPPED ||
		state->task_count == TASKS_MAX)
		return;
	state->task_count++;
	*task = (struct live_task){.key = object->key,
		.id = facts->id,
		.service = facts->service,
		.set = facts->deployment,
		.revision = facts->revision,
		.address = address_of(object->api),
		.is_healthy = facts->last == TASK_RUNNING &&
			      (!facts->checked || facts->health == TASK_HEALTH_HEALTHY)};
	instance = actual_find_instance(sim, view, facts->id);
	task->has_instance = instance != NULL;
	task->is_registered = instance && is_instance_healthy(sim, view, instance);
	state->serving += task->is_healthy && task->is_registered;
	read_targets(view, task);
	state->blue_healthy += task->in_blue && task->is_target_healthy;
	state->green_healthy += task->in_green && task->is_target_healthy;
}

struct rule_state actual_read_actions(const struct pipeline_sim *sim, const struct json *actions)
{
	const struct json *groups = json_path(json_item(actions, 0), "ForwardConfig.TargetGroups");
	struct rule_state rule = {.is_pair = json_array_count(groups) == 2};

	JSON_EACH_ITEM (groups, group) {
		struct span arn = json_get_text(group, "TargetGroupArn");
		int64_t weight = json_get_integer(group, "Weight", 1);

		if (span_is(arn, sim->blue_arn))
			rule.blue = weight;
		else if (span_is(arn, sim->green_arn))
			rule.green = weight;
		else
			rule.is_pair = false;
	}
	return rule;
}

void actual_read_rules(struct pipeline_sim *sim, const struct store_view *view,
	struct world_state *state)
{
	static const struct {
		const struct store_kind *kind;
		const char *member;
	} rows[] = {{&elb_listener_kind, "DefaultActions"}, {&elb_rule_kind, "Actions"}};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct store_cursor cursor = {.view = view, .kind = rows[i].kind, .index = -1};
		const struct store_object *object;

		while ((object = store_next(&cursor)) && state->rule_count < RULES_MAX) {
			_arena_ struct arena *arena = arena_new(0);
			struct json *document;

			if (json_parse(object->api, arena, &document, NULL) == 0)
				state->rules[state->rule_count++] = actual_read_actions(sim,
					json_get(document, rows[i].member));
		}
	}
}

void actual_read(struct pipeline_sim *sim, const struct store_view *view, struct world_state *state)
{
	struct store_cursor tasks = {.view = view,
		.kind = &task_kind,
		.index = -1,
		.prefix = SPAN(SIMULATION_CLUSTER "/")};
	const struct store_object *object;

	*state = (struct world_state){0};
	while ((object = store_next(&tasks)))
		read_task(sim, view, object, state);
	if (!sim->plan.course.has_names)
		actual_read_rules(sim, view, state);
}
