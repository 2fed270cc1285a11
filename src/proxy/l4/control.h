/*
 * Messages between supervisor and workers, over a socket that keeps message boundaries: one fixed
 * structure, and with some kinds a descriptor. All other shared state is in memory.
 */
#ifndef PROXY_L4_CONTROL_H
#define PROXY_L4_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define CONTROL_DESCRIPTOR 3 /* where a worker finds the socket */

/* name, carries a descriptor, to the worker */
#define CONTROL_KINDS(X)                                                                           \
	X(HELLO, true, true)    /* the memory; slot: the worker's own */                           \
	X(LISTEN, true, true)   /* the socket of the listener in slot, of that incarnation */      \
	X(CLOSE, false, true)   /* that listener is removed */                                     \
	X(CHECK, false, true)   /* targets have changed: end connections if necessary */           \
	X(DRAIN, false, true)   /* stop listening, complete open connections, exit */              \
	X(SYNC, false, true)    /* answer with SYNCED and the same value */                        \
	X(SYNCED, false, false) /* everything before that SYNC is done */

#define CONTROL_ENUM_(name, descriptor, to_worker) CONTROL_##name,
enum control_kind { CONTROL_KINDS(CONTROL_ENUM_) CONTROL_KIND_COUNT };
#undef CONTROL_ENUM_

struct control_message {
	uint32_t kind;
	uint32_t slot;
	uint32_t incarnation;
	uint32_t value;
};

/* Checks a message: size, kind, direction, slots within limits, a descriptor exactly where it is
 * needed. -EPROTO with a message. */
int control_check(const void *data, size_t size, int has_descriptor, int to_worker,
	struct control_message *ret_message, struct err *err);

/* descriptor: -1 for none. */
int control_send(int socket, const struct control_message *message, int descriptor,
	struct err *err);
/* 0 and a message (the descriptor is -1 or the caller's); -EAGAIN none (err untouched); -ECONNRESET
 * the peer is gone; -EPROTO. */
int control_receive(int socket, int to_worker, struct control_message *ret_message,
	int *ret_descriptor, struct err *err);

#endif
