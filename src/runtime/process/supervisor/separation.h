/*
 * Isolates a task from the rest of the machine, as far as the kernel allows: a PID namespace whose
 * first process is the supervisor, so that its end ends everything; a mount namespace with a /proc
 * of its own; and a network namespace, if the task's networkMode needs one. Where the kernel does
 * not allow that, the task runs in plain mode and its notes have the reason.
 */
#ifndef RUNTIME_PROCESS_SUPERVISOR_SEPARATION_H
#define RUNTIME_PROCESS_SUPERVISOR_SEPARATION_H

#include <stdbool.h>

#include "base/err.h"
#include "runtime/task/plan.h"

/* On the loopback interface of a network of its own: the addresses that AWS uses. */
#define SEPARATION_METADATA_ADDRESS "169.254.170.2"
#define SEPARATION_RESOLVER_ADDRESS "169.254.169.253"

struct separation {
	bool separated;   /* processes and mounts are the task's own */
	bool own_network; /* with an address (awsvpc), or with loopback only (none) */
	uint8_t mac[6];   /* of its interface, if it has an address */
	int machine;      /* netlink socket of the machine's network, if so; -1: none */
	char reason[160]; /* why not separated; "" when it was not tried */
	char network_reason[160];
};

/* Returns in a process in the background, which is the first of its namespace if it has one; the
 * caller's own ends within. */
int separation_go_to_background(const struct plan *plan, struct separation *ret_separation,
	struct err *err);
/* In that process: enters a network of its own if the task wants one. */
void separation_make_network(const struct plan *plan, struct separation *separation);
/* At the end: removes the task's interface, and the bridge if no other task uses it. The working
 * folder is the task's. */
void separation_end(const struct plan *plan, struct separation *separation);

#endif
