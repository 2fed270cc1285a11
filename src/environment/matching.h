/* Which instances a version is for, and whose a task is. */
#ifndef ENVIRONMENT_MATCHING_H
#define ENVIRONMENT_MATCHING_H

#include "environment/kinds.h"
#include "environment/state.h"

/* Of its place, with all its attributes. */
bool environment_version_matches(const struct environment_version_facts *version,
	struct span cluster_ref, const struct state_instance *instance);
/* Both make the same of an instance's task: who only chooses other instances, or rolls out differently, replaces
 * nothing. */
bool environment_version_makes_same(const struct environment_version_facts *version,
	const struct environment_version_facts *other);
/* A task of this environment is what the version would start. */
bool environment_version_runs(const struct environment_version_facts *version,
	const struct store_view *view, struct arena *arena, const struct state_task *task);
/* A task of the environment of this name; of any environment. */
bool environment_owns(struct span name, const struct state_task *task);
bool environment_owns_any(const struct state_task *task);
/* The name of the environment whose group of tasks this is; "": it is none. */
struct span environment_name_of_group(struct span group);
/* Shall run, and is not on its way out. */
bool state_task_stays(const struct state_task *task);

#endif
