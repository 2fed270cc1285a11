/*
 * The driver for HTTP, HTTPS and TLS that ends here: Debian's HAProxy, a process of its own that is
 * driven over its run-time socket. The server's part, the supervisor, holds the listening sockets and
 * what HAProxy must know; weights, rules, groups, targets and certificates change in the process that
 * runs. Only a listener that is new or changed, or a pool of backends that is used up, starts another
 * process, which has the whole state and the same sockets before the old one stops to accept; the old
 * one answers what is under way and ends. A process that dies is replaced: what it carried is lost,
 * what waits in the sockets is not. When the supervisor's process goes away, HAProxy stops listening,
 * carries what is open to its end, and exits.
 */
#ifndef PROXY_HAPROXY_HAPROXY_H
#define PROXY_HAPROXY_HAPROXY_H

#include <sys/types.h>

#include "control/runner.h"
#include "proxy/proxy.h"

#define HAPROXY_THREADS_MAX 64

/* Zero is a default everywhere but for the folder. */
struct haproxy_options {
	/* The program. NULL: "haproxy" in PATH or in /usr/sbin, looked for when the first listener
	 * comes; if there is none, apply answers -ENOTSUP. */
	const char *program;
	/* For its files (configuration, maps, keys, the socket); made with mode 0700 if it is not
	 * there, and nobody else's. What an earlier run left in it is removed. */
	const char *folder;
	unsigned threads; /* 0: one per processor, at most 4 */
	/* At once, of all listeners, of which one has three fourths at most; 0: 20000, or what descriptors
	 * allow. More wait until they are accepted. */
	uint32_t max_connections;
	uint32_t spare_groups; /* new groups between two processes, at least; 0: 64 */
	/* For the whole head of a request, and for a handshake where TLS ends and TCP goes on; 0: 30 s. */
	uint32_t request_timeout_ms;
	uint32_t header_bytes; /* of a request's head; 0: 16384 */
	/* What is left in a process that does not accept any more is cut off then; 0: an hour. */
	uint32_t end_after_ms;
};

/* The supervisor runs on the runner, which must be one of threads. No process is started yet. */
int haproxy_new(struct runner *runner, const struct haproxy_options *options,
	struct proxy_driver **ret_driver, struct err *err);

/* From now on, freeing the driver leaves its process alone: it stops listening at once, carries what is
 * open to its end, for end_after_ms at most, and exits. */
void haproxy_leave(struct proxy_driver *driver);

/* The id of the process that accepts now, for metrics and tests; 0: there is none. */
pid_t haproxy_process(struct proxy_driver *driver);

#endif
