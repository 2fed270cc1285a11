#include "environment/model/matching.h"

#include "ecs/record/attribute.h"
#include "environment/model/context.h"
#include "environment/model/deployment_states.h"

bool environment_version_matches(const struct environment_version_facts *version,
	struct cluster_ref cluster, const struct observe_instance *instance)
{
	struct span rest = version->attributes, part, name, value, found;

	if (!span_equal(version->cluster_ref, cluster.text))
		return false;
	while (span_next_part(&rest, ';', &part)) {
		bool has_value = span_split(part, '=', &name, &value);

		if (part.length == 0)
			continue;
		if (!attribute_packed_find(instance->attributes, has_value ? name : part, &found) ||
			(has_value && !span_equal(found, value)))
			return false;
	}
	return true;
}

bool environment_version_makes_same(const struct environment_version_facts *version,
	const struct environment_version_facts *other)
{
	return span_equal(version->task_definition, other->task_definition) &&
	       version->network == other->network;
}

/* In which version it was started; NULL: its deployment is forgotten. */
static const struct environment_version_facts *
version_of_task(const struct environment_version_facts *version, const struct store_view *view,
	struct arena *arena, const struct observe_task *task)
{
	const struct store_object *deployment =
		environment_deployment_of(view, arena, version->environment, task->started_by);
	const struct store_object *found =
		deployment ? store_get(view, &environment_version_kind,
				     environment_child_key(arena, version->environment,
					     environment_deployment_facts(deployment)->version))
			   : NULL;

	return found ? environment_version_facts(found) : NULL;
}

bool environment_version_runs(const struct environment_version_facts *version,
	const struct store_view *view, struct arena *arena, const struct observe_task *task)
{
	const struct environment_version_facts *started;

	if (!span_equal(version->task_definition, task->task_definition))
		return false;
	if (version->network == 0)
		return true; /* it needs none */
	started = version_of_task(version, view, arena, task);
	return !started || started->network == version->network;
}

bool environment_owns_any(const struct observe_task *task)
{
	return span_starts_with(task->group, SPAN(ENVIRONMENT_GROUP_PREFIX));
}

struct span environment_name_of_group(struct span group)
{
	size_t prefix = sizeof(ENVIRONMENT_GROUP_PREFIX) - 1;

	return span_starts_with(group, SPAN(ENVIRONMENT_GROUP_PREFIX))
		       ? (struct span){group.data + prefix, group.length - prefix}
		       : SPAN("");
}

bool environment_owns(struct span name, const struct observe_task *task)
{
	return environment_owns_any(task) &&
	       span_equal(environment_name_of_group(task->group), name);
}

struct span environment_group(struct arena *arena, struct span name)
{
	return arena_format(arena, ENVIRONMENT_GROUP_PREFIX "%.*s", SPAN_ARGS(name));
}
