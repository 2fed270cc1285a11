/*
 * The driver for TCP, UDP and passed-through TLS. The server side, the supervisor, holds the
 * listening sockets and the memory with weights, targets and counters; workers are separate
 * processes that get both over a socket, accept and carry. A worker that dies is replaced: its
 * connections are lost, those that wait in the sockets are not, and weights, shares and counters
 * continue. When the supervisor's process goes away, workers stop listening, complete open
 * connections, and exit. There are workers only while there are listeners.
 */
#ifndef PROXY_L4_L4_H
#define PROXY_L4_L4_H

#include <sys/types.h>

#include "control/runner.h"
#include "proxy/proxy.h"

#define L4_WORKERS_MAX 8
#define L4_LEFT_ALONE_S 3600 /* time limit of a worker without supervisor */

struct l4_options {
	unsigned workers; /* 0: 1 */
	/* How a worker is started, ended by NULL: the path of a program whose main calls
	 * proxy_worker_main(), and its arguments. NULL: this program with "proxy-worker". */
	const char *const *worker_command;
};

/* The supervisor runs on the runner, which must be one of threads. */
int l4_new(struct runner *runner, const struct l4_options *options,
	struct proxy_driver **ret_driver, struct err *err);

/* Replaces every worker by a new one of the same command, which may be a newer program: old ones
 * stop listening and complete open connections. Returns when the new ones listen. */
int l4_upgrade(struct proxy_driver *driver, struct err *err);

/* From now on, freeing the driver does not end its workers: they stop listening at once, complete
 * open connections, within L4_LEFT_ALONE_S, and exit. */
void l4_leave(struct proxy_driver *driver);

/* The process ids of the accepting workers, for metrics and tests. Returns how many. */
size_t l4_workers(struct proxy_driver *driver, pid_t out[L4_WORKERS_MAX]);

/* The main function of a worker; the control socket is descriptor 3. Returns the exit code. */
int proxy_worker_main(int argc, char **argv);

#endif
