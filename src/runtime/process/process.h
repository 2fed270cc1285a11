/*
 * The process runtime: tasks are programs of this machine. Each has a supervisor process of its own
 * (slipway-task) which keeps running when the server ends, and a folder (record.h) from which a
 * restarted server adopts it. The task's notes list missing isolation.
 *
 * One open runtime at a time has a folder; opening waits a moment for a server that was just
 * killed.
 */
#ifndef RUNTIME_PROCESS_PROCESS_H
#define RUNTIME_PROCESS_PROCESS_H

#include "base/clock.h"
#include "base/err.h"
#include "runtime/runtime.h"

#define RUNTIME_PROCESS_INSTANCES_MAX 1000

struct runtime_process_config {
	const char *folder;     /* made when missing */
	const char *supervisor; /* path of slipway-task; NULL: beside this program */
	unsigned instances;     /* that share the machine's resources evenly; 0 is 1 */
	bool plain;             /* tasks in plain mode, though more would be allowed */
	/* Folders that tasks must not see, ends with NULL; none of them is `folder` itself. NULL: none. */
	const char *const *hidden;
	int64_t processes_max;   /* processes and threads of a task; 0: not limited */
	struct clock *clock;     /* NULL: clock_system() */
	runtime_changed changed; /* may be NULL */
	void *context;
};

int runtime_process_open(const struct runtime_process_config *config, struct runtime **ret_runtime,
	struct err *err);

/* Where tasks, also those that run already, find the DNS server that knows the names of Cloud Map: "127.0.0.1:4753".
 * NULL: there is none. */
int runtime_process_set_dns(struct runtime *runtime, const char *address, struct err *err);

/* Can tasks be limited to their memory here? False without root or without a control group to write to. */
bool runtime_process_limits_memory(void);

#endif
