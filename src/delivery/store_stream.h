/* Streams of objects of this server's store (stream.h): those of one kind, below a prefix of keys, in the order of the store. */
#ifndef DELIVERY_STORE_STREAM_H
#define DELIVERY_STORE_STREAM_H

#include "delivery/stream.h"
#include "store/store.h"

struct store_stream_config {
	struct store *store;
	const struct delivery_stream_type *type;
	const struct store_kind *kind;
	struct span prefix; /* of the keys */
	/* An object as clients see it, in the arena; NULL: it is not part of the stream. */
	struct json *(*document)(const void *context, const struct store_object *object,
		const struct store_view *view, struct arena *arena);
	/* With everything it points to in this arena, which the stream takes over, also on failure. */
	const void *context;
	struct arena *arena;
	const uint64_t *position; /* resumes after it; NULL: begins with a snapshot */
	struct delivery_stream_wake wake;
};

/* -ESTALE: the position is too old, or of another store. */
int store_stream_open(const struct store_stream_config *config, struct delivery_stream **ret_stream,
	struct err *err);

#endif
