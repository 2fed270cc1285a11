/* Streams of the tasks or container instances of a remote cluster (delivery/stream.h), in the order in which the observer
 * receives their changes. */
#ifndef DELIVERY_OBSERVE_CLUSTER_STREAM_H
#define DELIVERY_OBSERVE_CLUSTER_STREAM_H

#include "delivery/observe/observe.h"
#include "delivery/stream.h"

/* One of the two. */
struct cluster_stream_entity {
	const struct observe_task *task;
	const struct observe_instance *instance; /* without its tasks */
};

struct cluster_stream_config {
	struct observer *observer;
	struct cluster_ref cluster;
	const struct delivery_stream_type *type;
	bool instances; /* not tasks */
	/* As clients see it, in the arena; NULL: it is not part of the stream. */
	struct json *(*document)(const void *context, const struct cluster_stream_entity *entity,
		const struct store_view *view, struct arena *arena);
	/* With everything it points to in this arena, which the stream takes over, also on failure. */
	const void *context;
	struct arena *arena;
	const uint64_t *position; /* resumes after it; NULL: begins with a snapshot */
	struct delivery_stream_wake wake;
};

/* -ESTALE: the position is too old, or of another cluster; -EAGAIN: nothing is known of the cluster now. */
int cluster_stream_open(const struct cluster_stream_config *config,
	struct delivery_stream **ret_stream, struct err *err);

#endif
