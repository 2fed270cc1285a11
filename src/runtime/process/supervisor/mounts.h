/*
 * The file system of a container that has volumes or a read-only root: the machine's, seen through a
 * mount namespace of the container's own. A volume's place that the machine does not have is made
 * without touching the machine's folders: the nearest folder that is there is covered by one in
 * memory with the same entries, and gets the missing one.
 */
#ifndef RUNTIME_PROCESS_SUPERVISOR_MOUNTS_H
#define RUNTIME_PROCESS_SUPERVISOR_MOUNTS_H

#include <stdbool.h>

#include "base/err.h"
#include "runtime/task/plan.h"

bool mounts_are_wanted(const struct plan_container *plan);
/* A descriptor of the namespace, to be entered with setns(2). The working folder is the task's. */
int mounts_make(const struct plan_container *plan, int *ret_namespace, struct err *err);
/* In plain mode: 0 if every volume is where the machine has it already. */
int mounts_check_plain(const struct plan_container *plan, struct err *err);

/* In the supervisor's mount namespace, which containers inherit: a file of the task in place of one of the machine. */
int mounts_cover_file(const char *source, const char *target, struct err *err);

#endif
