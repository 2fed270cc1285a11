/*
 * Child processes: a command with its input, limits and a timeout; its output and how it ended. The child leads a process
 * group. When it ends, however it ends, the rest of its group is killed, so nothing that it left in the background keeps
 * running (a process that starts a session of its own leaves the group). The child also dies with this process.
 *
 * Callers take a table of operations, so that they run on virtual time with a table of a test's own.
 */
#ifndef IO_CHILD_H
#define IO_CHILD_H

#include "base/buffer.h"
#include "base/err.h"

#define CHILD_GRACE_MS 5000 /* between SIGTERM and SIGKILL, unless the request says otherwise */

struct child_request {
	const char *const
		*arguments; /* ends with NULL; [0] is looked up in PATH unless it has a / */
	const char *const *environment; /* all of it, "NAME=value", ends with NULL; NULL: empty */
	const char *folder;             /* to run in; NULL: the one of this process */
	struct span input;              /* for its standard input; without any: /dev/null */
	size_t output_max;  /* bytes kept of each output; the rest is read and dropped */
	int64_t timeout_ms; /* then SIGTERM to the group; 0: none */
	int64_t grace_ms;   /* then SIGKILL; 0: CHILD_GRACE_MS */
	int cancel;         /* the group is killed when it becomes readable; 0: none */
	/* Limits of each process; 0: none. */
	uint64_t memory_max, file_size_max, open_files_max;
};

struct child_result {
	struct buffer output, errors;
	bool output_cut, errors_cut;
	int exit_code; /* -1: ended by a signal */
	int signal;    /* 0: none */
	bool timed_out, cancelled;
};

struct child_operations {
	/* Blocks until the child has ended. 0 however it ended; -ENOENT and the like: it did not start. The caller
	 * clears the result. */
	int (*run)(void *context, const struct child_request *request,
		struct child_result *ret_result, struct err *err);
	void *context;
};

/* The processes of this machine. */
const struct child_operations *child_system(void);

static inline int child_run(const struct child_operations *operations,
	const struct child_request *request, struct child_result *ret_result, struct err *err)
{
	return operations->run(operations->context, request, ret_result, err);
}

void child_result_clear(struct child_result *result);
#define _child_result_ CLEANUP(child_result_clear)

#endif
