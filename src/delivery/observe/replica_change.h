/*
 * A change of a replica as an entry of a change log: a copy with its texts.
 */
#ifndef DELIVERY_OBSERVE_REPLICA_CHANGE_H
#define DELIVERY_OBSERVE_REPLICA_CHANGE_H

#include "delivery/change_log.h"
#include "delivery/observe/replica.h"

/* The changes are struct replica_change. */
extern const struct change_log_type replica_change_log_type;

/* For change_log_add(). Before and after are not both NULL. */
void *replica_change_keep(const struct replica_change *change);

#endif
