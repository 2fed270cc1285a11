/*
 * The driver for TCP, UDP and TLS that is passed through. The server's part, the supervisor, holds
 * the listening sockets and the memory with weights, targets and counters; workers are processes of
 * their own that are handed both over a socket, accept and carry. A worker that dies is replaced: what
 * it carried is lost, what waits in the sockets is not, and weights, shares and counters go on. When
 * the supervisor's process goes away, workers stop listening, carry what is open to its end, and exit.
 * There are workers only while there are listeners.
 */
#ifndef PROXY_L4_L4_H
#define PROXY_L4_L4_H

#include <sys/types.h>

#include "control/runner.h"
#include "proxy/proxy.h"

#define L4_WORKERS_MAX 8
#define L4_LEFT_ALONE_S 3600 /* how long a worker without supervisor goes on at most */

struct l4_options {
	unsigned workers; /* 0: 1 */
	/* How a worker is started, ended by NULL: the path of a program whose main calls
	 * proxy_worker_main(), and its arguments. NULL: this program with "proxy-worker". */
	const char *const *worker_command;
};

/* The supervisor runs on the runner, which must be one of threads. */
int l4_new(struct runner *runner, const struct l4_options *options,
	struct proxy_driver **ret_driver, struct err *err);

/* Replaces every worker by a new one of the same command, which may be a newer program: old ones stop
 * listening and carry what is open to its end. Returns when the new ones listen. */
int l4_upgrade(struct proxy_driver *driver, struct err *err);

/* From now on, freeing the driver leaves its workers alone: they stop listening at once, carry what is
 * open to its end, for L4_LEFT_ALONE_S at most, and exit. */
void l4_leave(struct proxy_driver *driver);

/* The process ids of the workers that accept now, for metrics and tests. Returns how many. */
size_t l4_workers(struct proxy_driver *driver, pid_t out[L4_WORKERS_MAX]);

/* The whole life of a worker; the control socket is descriptor 3. Returns the exit code. */
int proxy_worker_main(int argc, char **argv);

#endif
