/*
 * Tasks that share the machine's network and bind to every address would collide. Where the kernel
 * has user notifications of seccomp(2), the supervisor gets the binds of their programs first:
 *
 *     networkMode awsvpc    every address, port P        the task's address, port P
 *     networkMode bridge    every address, container     every address, the host port of that mapping
 *                           port P of a mapping
 *                           every address, host port P   as it is
 *                           every address, another P     the task's address, port P
 *
 * and a connection to 127.0.0.1 or ::1 goes where the port was bound. A connection to port 53 of
 * any address goes to the task's own DNS resolver (resolver.h), if it has one. The supervisor makes
 * redirected calls itself, on a duplicate of the program's socket: the address that was checked is
 * the one that is used. The kernel continues all other calls unchanged. Port 0 is never redirected.
 */
#ifndef RUNTIME_PROCESS_SUPERVISOR_REDIRECT_H
#define RUNTIME_PROCESS_SUPERVISOR_REDIRECT_H

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/task/plan.h"

#define REDIRECT_LISTENERS_MAX 128
#define REDIRECT_PORTS_MAX 1024

struct redirected_port {
	bool udp;
	uint16_t port;
	struct sockaddr_in target; /* where to connect to */
};

struct redirect {
	const struct plan *plan;
	struct in_addr address; /* the task's */
	int listeners[REDIRECT_LISTENERS_MAX];
	size_t listener_count;
	struct redirected_port ports[REDIRECT_PORTS_MAX];
	size_t port_count;
	struct sockaddr_in resolver; /* port 0: none */
};

/* For the calling process and all that it will start: *ret_listener is to be sent to the supervisor.
 * Returns 0 or a negative code. */
int redirect_install(int *ret_listener);

/* address: the task's, on the machine's loopback. Returns 0, or a negative code if the kernel does
 * not let the supervisor do what it has to. */
int redirect_init(struct redirect *redirect, const struct plan *plan, struct span address);
/* From now on connections to DNS servers go here. */
void redirect_set_resolver(struct redirect *redirect, const struct sockaddr_in *address);
/* Takes a listener over. */
void redirect_add(struct redirect *redirect, int listener);
size_t redirect_descriptors(const struct redirect *redirect, struct pollfd *polls, size_t max);
/* True if the event was of a listener. */
bool redirect_handle(struct redirect *redirect, const struct pollfd *event);

#endif
