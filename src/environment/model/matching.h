/* Which instances a version is for, and whose a task is. */
#ifndef ENVIRONMENT_MODEL_MATCHING_H
#define ENVIRONMENT_MODEL_MATCHING_H

#include "delivery/observe/observe.h"
#include "environment/model/kinds.h"

/* Of its place, with all its attributes. */
bool environment_version_matches(const struct environment_version_facts *version,
	struct cluster_ref cluster, const struct observe_instance *instance);
/* Whether both versions have the same task on an instance: a version that only selects other instances, or rolls out
 * differently, replaces no task. */
bool environment_version_makes_same(const struct environment_version_facts *version,
	const struct environment_version_facts *other);
/* A task of this environment is what the version would start. */
bool environment_version_runs(const struct environment_version_facts *version,
	const struct store_view *view, struct arena *arena, const struct observe_task *task);
/* A task of the environment of this name; of any environment. */
bool environment_owns(struct span name, const struct observe_task *task);
bool environment_owns_any(const struct observe_task *task);
/* The name of the environment whose group of tasks this is; "": it is none. */
struct span environment_name_of_group(struct span group);
/* "env:NAME" */
struct span environment_group(struct arena *arena, struct span name);

#endif
