/* Rules for references between containers: dependsOn, links, volumesFrom. */
#include "ecs/definition/definition_rules.h"

static size_t index_of(const struct definition_rules *rules, const struct json *container)
{
	size_t index = 0;

	JSON_EACH_ITEM (rules->containers, other) {
		if (other == container)
			break;
		index++;
	}
	return index;
}

static int check_dependency(const struct definition_rules *rules, const struct json *container,
	const struct json *dependency)
{
	struct span name = container_name(container);
	struct span other_name = json_get_text(dependency, "containerName");
	struct span condition = json_get_text(dependency, "condition");
	const struct json *other = definition_container(rules, other_name);

	if (!other)
		return rule_broken(rules,
			"Invalid dependency of container '%.*s': there is no container "
			"'%.*s'.",
			SPAN_ARGS(name), SPAN_ARGS(other_name));
	if (other == container)
		return rule_broken(rules, "Container '%.*s' cannot depend on itself.",
			SPAN_ARGS(name));
	if (span_is(condition, "HEALTHY") && json_is_absent(json_get(other, "healthCheck")))
		return rule_broken(rules,
			"Container '%.*s' waits for '%.*s' to be HEALTHY, but '%.*s' has no "
			"health check.",
			SPAN_ARGS(name), SPAN_ARGS(other_name), SPAN_ARGS(other_name));
	if ((span_is(condition, "COMPLETE") || span_is(condition, "SUCCESS")) &&
		json_get_bool(other, "essential", true))
		return rule_broken(rules,
			"Container '%.*s' waits for '%.*s' with condition %.*s, but '%.*s' is "
			"essential: the task would end with it.",
			SPAN_ARGS(name), SPAN_ARGS(other_name), SPAN_ARGS(condition),
			SPAN_ARGS(other_name));
	return 0;
}

/* "name" or "name:alias" of another container. */
static int check_link(const struct definition_rules *rules, const struct json *container,
	struct span link)
{
	struct span target = link, alias;
	const struct json *other;

	span_split(link, ':', &target, &alias);
	other = definition_container(rules, target);
	if (!other || other == container)
		return rule_broken(rules,
			"Invalid link of container '%.*s': there is no other container "
			"'%.*s'.",
			SPAN_ARGS(container_name(container)), SPAN_ARGS(target));
	if (rules->network_mode.data && !span_is(rules->network_mode, "bridge"))
		return rule_broken(rules, "Links are not supported when networkMode=%.*s.",
			SPAN_ARGS(rules->network_mode));
	return 0;
}

static int check_references(const struct definition_rules *rules, const struct json *container)
{
	JSON_EACH_ITEM (json_get(container, "dependsOn"), dependency)
		if (check_dependency(rules, container, dependency) < 0)
			return -EPERM;
	JSON_EACH_ITEM (json_get(container, "links"), link)
		if (check_link(rules, container, json_text(link)) < 0)
			return -EPERM;
	JSON_EACH_ITEM (json_get(container, "volumesFrom"), source) {
		struct span name = json_get_text(source, "sourceContainer");
		const struct json *other = definition_container(rules, name.data ? name : SPAN(""));

		if (!other || other == container)
			return rule_broken(rules,
				"Invalid 'volumesFrom' of container '%.*s': there is no other "
				"container '%.*s'.",
				SPAN_ARGS(container_name(container)),
				SPAN_ARGS(name.data ? name : SPAN("")));
	}
	return 0;
}

enum visit { UNVISITED, ON_THE_WAY, VISITED };

static int walk(const struct definition_rules *rules, const struct json *container,
	enum visit *visits);

/* Follows every reference to a container that must run before this one: all three kinds of
 * reference make a container wait for another. They were checked before, so each one resolves. */
static int walk_on(const struct definition_rules *rules, const struct json *container,
	enum visit *visits)
{
	JSON_EACH_ITEM (json_get(container, "dependsOn"), dependency)
		if (walk(rules,
			    definition_container(rules, json_get_text(dependency, "containerName")),
			    visits) < 0)
			return -EPERM;
	JSON_EACH_ITEM (json_get(container, "links"), link) {
		struct span target = json_text(link), alias;

		span_split(target, ':', &target, &alias);
		if (walk(rules, definition_container(rules, target), visits) < 0)
			return -EPERM;
	}
	JSON_EACH_ITEM (json_get(container, "volumesFrom"), source)
		if (walk(rules,
			    definition_container(rules, json_get_text(source, "sourceContainer")),
			    visits) < 0)
			return -EPERM;
	return 0;
}

/* Depth first; meeting a container that is still being visited closes a cycle. Depth is bounded by
 * the number of containers. */
static int walk(const struct definition_rules *rules, const struct json *container,
	enum visit *visits)
{
	size_t index = index_of(rules, container);

	if (visits[index] == VISITED)
		return 0;
	if (visits[index] == ON_THE_WAY)
		return rule_broken(rules,
			"The container dependencies form a cycle that goes through "
			"container '%.*s'.",
			SPAN_ARGS(container_name(container)));
	visits[index] = ON_THE_WAY;
	if (walk_on(rules, container, visits) < 0)
		return -EPERM;
	visits[index] = VISITED;
	return 0;
}

int definition_check_dependencies(const struct definition_rules *rules)
{
	enum visit *visits = arena_allocate_array(rules->request->arena,
		json_count(rules->containers), sizeof(*visits));

	JSON_EACH_ITEM (rules->containers, container)
		if (check_references(rules, container) < 0)
			return -EPERM;
	JSON_EACH_ITEM (rules->containers, container)
		if (walk(rules, container, visits) < 0)
			return -EPERM;
	return 0;
}
