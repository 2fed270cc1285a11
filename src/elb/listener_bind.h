/*
 * Checks before a listener is created that its address and port can be bound, so that the client gets the error, and not
 * only the log of the data plane.
 */
#ifndef ELB_LISTENER_BIND_H
#define ELB_LISTENER_BIND_H

#include "elb/elb.h"

/* Tries, for TCP, UDP or both, and lets go again. A socket of this program or of its workers does not count:
 * it is that of a listener that was deleted a moment ago. -EACCES, -EADDRINUSE, -EADDRNOTAVAIL with what to do
 * about it. */
int elb_bind_check(struct span address, int64_t port, enum elb_protocol protocol, struct err *err);

#endif
