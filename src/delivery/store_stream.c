/* See the header. */
#include "delivery/store_stream.h"

#include "base/memory.h"

struct store_stream {
	struct store_stream_config config;
	const struct store_kind *kinds[1];
	struct store_feed *feed;
	struct store_view *view; /* of the snapshot; NULL: it is complete */
	struct store_cursor cursor;
};

/* NULL: there is none, or it is not part of the stream. */
static struct json *document_of(const struct store_stream *stream,
	const struct store_object *object, const struct store_view *view, struct arena *arena)
{
	const struct store_stream_config *config = &stream->config;

	if (!object || object->kind != config->kind ||
		!span_starts_with(object->key, config->prefix))
		return NULL;
	return config->document(config->context, object, view, arena);
}

static int read_snapshot(void *state, struct delivery_stream *lines)
{
	struct store_stream *stream = state;
	_arena_ struct arena *arena = arena_new(0);

	for (size_t i = 0; i < DELIVERY_STREAM_BATCH; i++) {
		const struct store_object *object = store_next(&stream->cursor);

		if (!object) {
			store_view_close(TAKE(stream->view));
			return 0;
		}
		delivery_stream_report_existing(lines,
			document_of(stream, object, stream->view, arena));
	}
	return 1;
}

static int read_changes(void *state, struct delivery_stream *lines)
{
	struct store_stream *stream = state;
	_view_ struct store_view *view = store_view_open(stream->config.store);
	struct store_change changes[DELIVERY_STREAM_BATCH];
	int count = store_feed_next(stream->feed, changes, LENGTH(changes));

	for (int i = 0; i < count; i++) {
		_arena_ struct arena *arena = arena_new(0);

		delivery_stream_report_change(lines, changes[i].revision,
			document_of(stream, changes[i].before, view, arena),
			document_of(stream, changes[i].after, view, arena));
		store_change_release(&changes[i]);
	}
	return count > 0 ? 1 : count;
}

static void free_stream(void *state)
{
	struct store_stream *stream = state;

	if (stream->feed)
		store_feed_close(stream->feed);
	if (stream->view)
		store_view_close(stream->view);
	arena_free(stream->config.arena);
}

static const struct delivery_stream_source source = {
	.read_snapshot = read_snapshot,
	.read_changes = read_changes,
	.free = free_stream,
};

int store_stream_open(const struct store_stream_config *config, struct delivery_stream **ret_stream,
	struct err *err)
{
	struct arena *arena = config->arena;
	struct store_stream *stream = arena_allocate(arena, sizeof(*stream));
	uint64_t position;
	int code;

	*stream = (struct store_stream){.config = *config, .kinds = {config->kind}};
	stream->config.prefix = arena_copy_span(arena, config->prefix);
	if (config->position) {
		position = *config->position;
	} else {
		stream->view = store_view_open(config->store);
		position = store_view_revision(stream->view);
		stream->cursor = (struct store_cursor){.view = stream->view,
			.kind = config->kind,
			.index = -1,
			.prefix = stream->config.prefix};
	}
	code = store_feed_open(config->store, position, config->wake.function, config->wake.context,
		&stream->feed, err);
	if (code < 0) {
		free_stream(stream);
		return code;
	}
	store_feed_narrow(stream->feed, stream->kinds, 1);
	return delivery_stream_new(config->type, &source, stream, position,
		config->position != NULL, ret_stream, err);
}
