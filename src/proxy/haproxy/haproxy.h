/*
 * The driver for HTTP, HTTPS and terminated TLS: Debian's HAProxy, a separate process that is
 * controlled over its run-time socket. The server side, the supervisor, holds the listening sockets
 * and HAProxy's configuration; weights, rules, groups, targets and certificates change in the
 * running process. Only a new or changed listener, or an exhausted pool of backends, starts another
 * process, which gets the whole state and the same sockets before the old one stops accepting; the
 * old one completes its requests and ends. A process that dies is replaced: its open requests are
 * lost, connections that wait in the sockets are not. When the supervisor's process goes away,
 * HAProxy stops listening, completes its open connections, and exits.
 */
#ifndef PROXY_HAPROXY_HAPROXY_H
#define PROXY_HAPROXY_HAPROXY_H

#include <sys/types.h>

#include "control/runner.h"
#include "proxy/proxy.h"

#define HAPROXY_THREADS_MAX 64

/* Zero is a default everywhere but for the folder. */
struct haproxy_options {
	/* The program. NULL: "haproxy" in PATH or in /usr/sbin, searched with the first listener;
	 * without it apply fails with -ENOTSUP. */
	const char *program;
	/* For its files (configuration, maps, keys, the socket); created with mode 0700 if missing,
	 * and used by this driver only. Files of an earlier run are removed. */
	const char *folder;
	unsigned threads; /* 0: one per processor, at most 4 */
	/* At once, for all listeners, of which one gets three fourths at most; 0: 20000, or the
	 * limit of descriptors. Further connections wait in the backlog. */
	uint32_t max_connections;
	uint32_t spare_groups; /* new groups between two processes, at least; 0: 64 */
	/* For the whole head of a request, and for a handshake of terminated TLS; 0: 30 s. */
	uint32_t request_timeout_ms;
	uint32_t header_bytes; /* of a request's head; 0: 16384 */
	/* Time limit for open connections of a process that no longer accepts; 0: an hour. */
	uint32_t end_after_ms;
};

/* The supervisor runs on the runner, which must be one of threads. No process is started yet. */
int haproxy_new(struct runner *runner, const struct haproxy_options *options,
	struct proxy_driver **ret_driver, struct err *err);

/* From now on, freeing the driver does not end its process: it stops listening at once, completes
 * open connections, within end_after_ms, and exits. */
void haproxy_leave(struct proxy_driver *driver);

/* -EINVAL with the reason: it cannot be read, or the key is not its own. */
int haproxy_check_certificate(const struct proxy_certificate *certificate, struct err *err);

/* The id of the accepting process, for metrics and tests; 0: none. */
pid_t haproxy_process(struct proxy_driver *driver);

#endif
