/*
 * Runs one program with all its descendants. The supervisor's child is not the program but its
 * monitor: a subreaper that passes SIGTERM on, kills all descendants when the program has exited,
 * and then exits with the program's code (128 + signal when one killed it). LAUNCH_KILL makes it
 * kill everything at once; the death of the supervisor does the same. The monitor holds the task's
 * lock, so the lock is free only when nothing of the task runs.
 */
#ifndef RUNTIME_PROCESS_SUPERVISOR_LAUNCH_H
#define RUNTIME_PROCESS_SUPERVISOR_LAUNCH_H

#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "runtime/process/cgroup.h"
#include "runtime/task/plan.h"

#define LAUNCH_KILL SIGUSR1
#define LAUNCH_REPORT_MAX 512

struct launch {
	char *const *arguments;
	char *const *environment;
	const char *working_directory; /* NULL: / */
	const char *user;              /* NULL: the supervisor's */
	const struct plan_limit *limits;
	size_t limit_count;
	const char *hostname;              /* NULL: the machine's */
	const struct cgroup_entry *groups; /* NULL: none */
	int mounts;                        /* mount namespace; -1: the supervisor's */
	uint64_t capabilities;             /* that root in the container has */
	const char *const *hidden;         /* to be covered for an ordinary user; NULL: none */
	rlim_t processes;                  /* limit of the user's processes; 0: none */
	bool redirects;                    /* its binds, see redirect.h */
	int redirect_problem;              /* a negative code: it cannot be done */
	const struct plan_port *ports;     /* that it is said to bind */
	size_t port_count;
	struct in_addr port_address; /* where they must be free if binds cannot be redirected */
	int input, output, error;    /* stay the caller's */
	bool terminal;               /* input is a terminal, to be the program's own */
};

enum launch_update {
	LAUNCH_NO_UPDATE,
	LAUNCH_LISTENER,     /* for redirect_add() */
	LAUNCH_UNREDIRECTED, /* and why, as a text */
	LAUNCH_FAILED,       /* likewise */
	LAUNCH_DONE,         /* the program runs, or has failed: nothing will follow */
};

/* *ret_maintainer: to be waited for. *ret_report: for launch_read(); not blocking; the caller closes it.
 * */
int launch_start(const struct launch *launch, pid_t *ret_maintainer, int *ret_report,
	struct err *err);
/* One message of a launch. */
enum launch_update launch_read(int report, char text[LAUNCH_REPORT_MAX], int *ret_listener);

#endif
