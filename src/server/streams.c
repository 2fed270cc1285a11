/* See streams.h. A stream is found by its number, because a wake-up may come after its end. */
#include "server/streams.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"
#include "control/work_queue.h"

#define KEY_MAX 24
#define DRAIN_US INT64_C(2000000) /* that clients have to take the last line */
#define DRAIN_POLL_US INT64_C(10000)

struct stream {
	struct streams *streams;
	char key[KEY_MAX];
	const struct stream_operations *operations; /* NULL before it begins */
	void *source;
	struct http_exchange *exchange;
	bool begun; /* the answer */
	_Atomic bool gone;
	/* Of a client that is behind: what was queued when it last took something, and until when it must again. */
	size_t queued;
	int64_t stall_us;
};

struct streams {
	struct runner *runner;
	struct work_queue *queue;
	unsigned most;
	_Atomic uint64_t last;
	_Atomic bool draining;
	_Atomic size_t count;
	struct lock lock;
	struct map by_key; /* struct stream: those that have begun */
};

/* ---- life ---- */

static void free_stream(struct stream *stream)
{
	struct streams *streams = stream->streams;

	lock_take(&streams->lock);
	map_remove(&streams->by_key, span_of(stream->key));
	lock_release(&streams->lock);
	if (stream->operations)
		stream->operations->free(stream->source);
	free(stream);
	streams->count--;
}

static void notify(struct http_exchange *exchange, enum http_stream_event event, void *context)
{
	struct stream *stream = context;

	(void)exchange;
	if (event == HTTP_STREAM_CLOSED) {
		free_stream(stream);
		return;
	}
	if (event == HTTP_STREAM_GONE)
		stream->gone = true;
	stream_wake(stream);
}

struct stream *stream_reserve(struct streams *streams, bool *ret_stopping)
{
	struct stream *stream;

	*ret_stopping = streams->draining;
	if (streams->count++ >= streams->most || streams->draining) {
		streams->count--;
		return NULL;
	}
	stream = memory_allocate(sizeof(*stream));
	stream->streams = streams;
	snprintf(stream->key, sizeof(stream->key), "%llu", (unsigned long long)++streams->last);
	return stream;
}

void stream_release(struct stream *stream)
{
	free_stream(stream);
}

void stream_begin(struct stream *stream, const struct stream_operations *operations, void *source,
	struct http_exchange *exchange)
{
	struct streams *streams = stream->streams;

	stream->operations = operations;
	stream->source = source;
	stream->exchange = exchange;
	lock_take(&streams->lock);
	map_put(&streams->by_key, span_of(stream->key), stream);
	lock_release(&streams->lock);
	/* From here on a worker may end it. */
	work_queue_add(streams->queue, span_of(stream->key));
}

void stream_wake(struct stream *stream)
{
	work_queue_add(stream->streams->queue, span_of(stream->key));
}

/* ---- turns ---- */

static void end_stream(struct stream *stream, enum stream_end reason)
{
	struct streams *streams = stream->streams;
	_buffer_ struct buffer last = {0};

	/* It is not found again while the client takes the rest. */
	lock_take(&streams->lock);
	map_remove(&streams->by_key, span_of(stream->key));
	lock_release(&streams->lock);
	if (!stream->gone && stream->operations->end) {
		stream->operations->end(stream->source, reason, &last);
		if (last.length > 0)
			http_stream_write(stream->exchange, buffer_span(&last));
	}
	http_stream_end(stream->exchange); /* after this the stream may be gone */
}

/* Until the client has read enough. False: the stream has to wait, or has ended. */
static bool client_is_ready(struct stream *stream)
{
	struct streams *streams = stream->streams;
	int64_t now = runner_now_us(streams->runner);
	size_t queued = http_stream_queued(stream->exchange);

	if (queued <= STREAM_BEHIND_MAX) {
		stream->stall_us = 0;
		return true;
	}
	/* A client that reads anything, however little, is still connected. */
	if (stream->stall_us == 0 || queued < stream->queued)
		stream->stall_us = now + STREAM_PATIENCE_US;
	stream->queued = queued;
	if (now >= stream->stall_us) {
		end_stream(stream, STREAM_END_SLOW_CONSUMER);
		return false;
	}
	work_queue_add_at(streams->queue, span_of(stream->key), stream->stall_us);
	return false;
}

/* False: the stream is not open, and what there was to do was done. */
static bool is_open(struct stream *stream)
{
	struct streams *streams = stream->streams;
	struct http_header type = {SPAN("content-type"), span_of(stream->operations->content_type)};
	struct stream_turn turn = {0};
	struct err err = {0};
	int code = 0;

	if (stream->begun)
		return true;
	if (streams->draining)
		code = err_set(&err, -ECANCELED, "slipway is stopping");
	else if (stream->operations->open)
		code = stream->operations->open(stream->source, &turn, &err);
	if (code == -EAGAIN && turn.again_us > 0) {
		work_queue_add_at(streams->queue, span_of(stream->key),
			runner_now_us(streams->runner) + turn.again_us);
		return false;
	}
	if (code < 0) {
		stream->operations->refuse(stream->source, stream->exchange, code, &err);
		free_stream(stream);
		return false;
	}
	http_stream_begin(stream->exchange, 200, &type, 1, notify, stream);
	stream->begun = true;
	return true;
}

static void take_turn(struct stream *stream)
{
	struct streams *streams = stream->streams;
	_buffer_ struct buffer text = {0};
	struct stream_turn turn = {0};
	int code;

	if (!is_open(stream))
		return;
	if (stream->gone || streams->draining) {
		end_stream(stream, STREAM_END_SHUTTING_DOWN);
		return;
	}
	if (!client_is_ready(stream))
		return;
	code = stream->operations->read(stream->source, &text, &turn);
	if (text.length > 0 && http_stream_write(stream->exchange, buffer_span(&text)) < 0)
		stream->gone = true;
	if (code < 0) {
		end_stream(stream, code == -ESHUTDOWN ? STREAM_END_COMPLETE : STREAM_END_FAILED);
		return;
	}
	if (turn.more || stream->gone)
		work_queue_add(streams->queue, span_of(stream->key));
	else if (turn.again_us > 0)
		work_queue_add_at(streams->queue, span_of(stream->key),
			runner_now_us(streams->runner) + turn.again_us);
}

static void work(void *context)
{
	struct streams *streams = context;
	struct span key;

	while (work_queue_get(streams->queue, &key) == 0) {
		struct stream *stream;

		lock_take(&streams->lock);
		stream = map_get(&streams->by_key, key);
		lock_release(&streams->lock);
		/* No other worker has it, and nothing else frees it before a worker has ended it. */
		if (stream)
			take_turn(stream);
		work_queue_done(streams->queue, key);
	}
}

/* ---- the pool ---- */

int streams_open(const struct streams_config *config, struct streams **ret_streams, struct err *err)
{
	struct work_queue_config queue = {0};
	struct streams *streams = memory_allocate(sizeof(*streams));
	int code = 0;

	streams->runner = runner_group_new(config->runner, config->name);
	streams->queue = work_queue_new(streams->runner, &queue);
	streams->most = config->most;
	lock_init(&streams->lock);
	*ret_streams = streams; /* streams_stop() ends what was started */
	for (unsigned i = 0; i < config->workers && code == 0; i++)
		code = runner_spawn(streams->runner, config->name, work, streams, err);
	return code;
}

static void wake_all(struct streams *streams)
{
	streams->draining = true;
	lock_take(&streams->lock);
	MAP_EACH (&streams->by_key, entry)
		stream_wake(entry->value);
	lock_release(&streams->lock);
}

void streams_drain(struct streams *streams)
{
	int64_t deadline_us;

	if (!streams)
		return;
	wake_all(streams);
	deadline_us = runner_deadline_us(streams->runner, DRAIN_US);
	while (streams->count > 0 && runner_now_us(streams->runner) < deadline_us)
		if (runner_sleep_until(streams->runner,
			    runner_deadline_us(streams->runner, DRAIN_POLL_US)) < 0)
			return;
}

void streams_stop(struct streams *streams)
{
	if (!streams)
		return;
	wake_all(streams);
	/* Queued keys are still given out, and every turn now ends a stream. */
	work_queue_shut_down(streams->queue);
	runner_join(streams->runner, NULL);
	work_queue_free(streams->queue);
	runner_free(streams->runner);
}

void streams_free(struct streams *streams)
{
	if (!streams)
		return;
	map_clear(&streams->by_key);
	lock_destroy(&streams->lock);
	free(streams);
}
