/*
 * Can a listener's address and port be bound at all? Asked before a listener is made, so that its maker hears
 * it, and not only the log of a data plane that tries in vain.
 */
#ifndef ELB_LISTENER_BIND_H
#define ELB_LISTENER_BIND_H

#include "elb/elb.h"

/* Tries, for TCP, UDP or both, and lets go again. A socket of this program or of its workers does not count:
 * it is that of a listener that was deleted a moment ago. -EACCES, -EADDRINUSE, -EADDRNOTAVAIL with what to do
 * about it. */
int elb_bind_check(struct span address, int64_t port, enum elb_protocol protocol, struct err *err);

#endif
