/* See the header. */
#include "delivery/observe/cluster_stream.h"

#include "base/memory.h"
#include "delivery/change_log.h"
#include "delivery/observe/observe_internal.h"

struct cluster_stream {
	struct cluster_stream_config config;
	struct change_log_reader *reader;
	struct arena *snapshot_arena; /* until the snapshot is complete; else NULL */
	struct observe_snapshot snapshot;
	size_t reported; /* of the snapshot */
};

/* NULL: there is none, or it is not part of the stream. */
static struct json *document_of(const struct cluster_stream *stream,
	const struct observe_task *task, const struct observe_instance *instance,
	const struct store_view *view, struct arena *arena)
{
	const struct cluster_stream_entity entity = {
		.task = stream->config.instances ? NULL : task,
		.instance = stream->config.instances ? instance : NULL,
	};

	return entity.task || entity.instance
		       ? stream->config.document(stream->config.context, &entity, view, arena)
		       : NULL;
}

static int read_snapshot(void *state, struct delivery_stream *lines)
{
	struct cluster_stream *stream = state;
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(stream->config.observer->config.store);
	const struct observe_snapshot *all = &stream->snapshot;
	size_t count = stream->config.instances ? all->instance_count : all->task_count;

	for (size_t i = 0; i < DELIVERY_STREAM_BATCH && stream->reported < count;
		i++, stream->reported++)
		delivery_stream_report_existing(lines,
			stream->config.instances
				? document_of(stream, NULL, &all->instances[stream->reported], view,
					  arena)
				: document_of(stream, &all->tasks[stream->reported], NULL, view,
					  arena));
	if (stream->reported < count)
		return 1;
	arena_free(TAKE(stream->snapshot_arena));
	return 0;
}

static int read_changes(void *state, struct delivery_stream *lines)
{
	struct cluster_stream *stream = state;
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(stream->config.observer->config.store);

	for (size_t i = 0; i < DELIVERY_STREAM_BATCH; i++) {
		const struct replica_change *change;
		void *next;
		int code = change_log_reader_next(stream->reader, arena, &next);

		if (code <= 0)
			return code < 0 ? code : i > 0;
		change = next;
		delivery_stream_report_change(lines, change_log_reader_position(stream->reader),
			document_of(stream, change->task_before, change->instance_before, view,
				arena),
			document_of(stream, change->task_after, change->instance_after, view,
				arena));
	}
	return 1;
}

static int64_t observed_ms(const void *state)
{
	const struct cluster_stream *stream = state;

	return change_log_reader_observed_ms(stream->reader);
}

static void free_stream(void *state)
{
	struct cluster_stream *stream = state;

	change_log_reader_close(stream->reader);
	arena_free(stream->snapshot_arena);
	arena_free(stream->config.arena);
}

static const struct delivery_stream_source source = {
	.read_snapshot = read_snapshot,
	.read_changes = read_changes,
	.observed_ms = observed_ms,
	.free = free_stream,
};

int cluster_stream_open(const struct cluster_stream_config *config,
	struct delivery_stream **ret_stream, struct err *err)
{
	struct cluster_stream *stream = arena_allocate(config->arena, sizeof(*stream));
	int code;

	*stream = (struct cluster_stream){.config = *config};
	stream->snapshot_arena = arena_new(0);
	code = observe_follow(config->observer, config->cluster, config->position,
		config->wake.function, config->wake.context, stream->snapshot_arena,
		&stream->snapshot, &stream->reader, err);
	if (code < 0) {
		free_stream(stream);
		return code;
	}
	if (config->position)
		arena_free(TAKE(stream->snapshot_arena));
	return delivery_stream_new(config->type, &source, stream,
		change_log_reader_position(stream->reader), config->position != NULL, ret_stream,
		err);
}
