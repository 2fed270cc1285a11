/*
 * Limits of memory, processor and processes for a task and of the first two for its containers, where this machine has control
 * groups and slipway is root: v2, v1, or some of each, detected from the mounts and by a probe. A
 * task has the group slipway/TOKEN, a container slipway/TOKEN/NAME, in each hierarchy that is used.
 * Groups exist only for tasks with limits, and are removed with them.
 *
 * Monitors stay outside: the program runs out of memory, not the process that reports it.
 */
#ifndef RUNTIME_PROCESS_CGROUP_H
#define RUNTIME_PROCESS_CGROUP_H

#include <limits.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "runtime/task/plan.h"

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

struct cgroup_mount {
	enum cgroup_kind kind;
	char path[PATH_MAX / 2]; /* where the hierarchy with this controller is */
};

struct cgroup_mounts {
	struct cgroup_mount memory, cpu, processes;
};

/* A file "cgroup.procs" for each hierarchy, for a process to enter; "" for none. */
struct cgroup_entry {
	char memory[PATH_MAX], cpu[PATH_MAX], processes[PATH_MAX];
};

bool cgroup_is_wanted(const struct plan *plan);
/* Finds the hierarchies of this machine; none unless root. */
void cgroup_find(struct cgroup_mounts *ret_mounts);
/* The same of a text like /proc/self/mountinfo, which is cut up. */
void cgroup_read_mounts(char *mountinfo, struct cgroup_mounts *ret_mounts);
/* Creates the groups and sets the limits; adds unsupported limits to the notes. A hierarchy that
 * cannot be used at all becomes CGROUP_NONE. */
void cgroup_make(struct cgroup_mounts *mounts, const struct plan *plan, struct buffer *notes);
void cgroup_entry_of(const struct cgroup_mounts *mounts, struct span token, struct span container,
	struct cgroup_entry *ret_entry);
/* How many processes of the container were killed for memory. */
unsigned cgroup_count_kills(const struct cgroup_mounts *mounts, struct span token,
	struct span container);
/* Bytes that the container has now; false if that is not known. */
bool cgroup_memory_usage(const struct cgroup_mounts *mounts, struct span token,
	struct span container, int64_t *ret_bytes);
/* Kills what is in a task's groups and removes them. */
void cgroup_remove(const struct cgroup_mounts *mounts, struct span token);

#endif
