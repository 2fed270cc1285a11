/* Objects of this server's ECS as instances and tasks of a replica. */
#ifndef DELIVERY_OBSERVE_SOURCE_OWN_H
#define DELIVERY_OBSERVE_SOURCE_OWN_H

#include "delivery/observe/observe.h"

/* Texts may be those of the object. */
struct observe_instance source_own_instance(const struct store_object *object, struct arena *arena);
struct observe_task source_own_task(const struct store_object *object, struct arena *arena);

#endif
