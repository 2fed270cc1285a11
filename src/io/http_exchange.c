/*
 * Exchanges: from the handler's answer to the connection's line, across threads.
 *
 * An answer given inside the handler, on the loop's thread, is noted at once and leaves when the bytes
 * just read are all worked off. Any other goes through the loop's inbox, a list that many threads push
 * to and the loop takes whole; only the push onto an empty inbox wakes the loop.
 */
#include "io/http_connection.h"

#include <stdio.h>

#include "base/memory.h"

#define HEAD_KEPT_MAX ((size_t)16 * 1024)

struct http_exchange *http_exchange_take(struct http_loop *loop)
{
	struct http_exchange *exchange = loop->idle_exchanges;

	if (exchange) {
		loop->idle_exchanges = exchange->next;
		loop->idle_count--;
		exchange->next = NULL;
		return exchange;
	}
	exchange = memory_allocate(sizeof(*exchange));
	exchange->loop = loop;
	http_message_init(&exchange->message);
	return exchange;
}

static void free_exchange(struct http_exchange *exchange)
{
	http_message_clear(&exchange->message);
	buffer_clear(&exchange->head);
	free(exchange);
}

void http_loop_free_exchanges(struct http_loop *loop)
{
	while (loop->idle_exchanges) {
		struct http_exchange *exchange = loop->idle_exchanges;

		loop->idle_exchanges = exchange->next;
		free_exchange(exchange);
	}
	loop->idle_count = 0;
}

static void release_body(struct http_exchange *exchange)
{
	struct http_body body = exchange->body;

	exchange->body = HTTP_BODY_NONE;
	if (body.release)
		body.release(body.context);
}

static void free_stream(struct http_exchange *exchange)
{
	struct http_stream *stream = exchange->stream;

	http_count(&exchange->loop->counters.streams_open, -1);
	if (stream->notify)
		stream->notify(exchange, HTTP_STREAM_CLOSED, stream->context);
	uv_mutex_destroy(&stream->lock);
	buffer_clear(&stream->queued);
	buffer_clear(&stream->sending);
	free(stream);
}

/* Gives the memory back to the loop. */
static void retire(struct http_exchange *exchange)
{
	struct http_loop *loop = exchange->loop;

	release_body(exchange);
	if (exchange->streaming)
		free_stream(exchange);
	if (exchange->handed_out)
		loop->outstanding--;
	if (loop->idle_count >= HTTP_EXCHANGES_KEPT) {
		free_exchange(exchange);
		return;
	}
	http_message_reset(&exchange->message);
	if (exchange->head.capacity > HEAD_KEPT_MAX)
		buffer_clear(&exchange->head);
	else
		buffer_reset(&exchange->head);
	exchange->connection = NULL;
	exchange->stream = NULL;
	exchange->head_only = false;
	exchange->handed_out = false;
	exchange->answered = false;
	exchange->streaming = false;
	exchange->keep_alive = false;
	exchange->next = loop->idle_exchanges;
	loop->idle_exchanges = exchange;
	loop->idle_count++;
}

void http_exchange_finish(struct http_exchange *exchange)
{
	bool posted = false;

	if (exchange->streaming) {
		exchange->stream->finished = true;
		exchange->connection = NULL;
		uv_mutex_lock(&exchange->stream->lock);
		posted = exchange->stream->posted;
		uv_mutex_unlock(&exchange->stream->lock);
	}
	if (!posted) /* else the inbox still points at it, and comes here again */
		retire(exchange);
}

void http_exchange_report_gone(struct http_exchange *exchange)
{
	struct http_stream *stream = exchange->stream;
	bool ended;

	uv_mutex_lock(&stream->lock);
	stream->gone = true;
	ended = stream->ended;
	uv_mutex_unlock(&stream->lock);
	if (stream->gone_reported || ended)
		return;
	stream->gone_reported = true;
	if (stream->notify)
		stream->notify(exchange, HTTP_STREAM_GONE, stream->context);
}

void http_exchange_orphan(struct http_exchange *exchange)
{
	bool over = exchange->answered || !exchange->handed_out;

	exchange->next = NULL;
	exchange->connection = NULL;
	if (exchange->streaming) {
		struct http_stream *stream = exchange->stream;

		http_exchange_report_gone(exchange);
		uv_mutex_lock(&stream->lock);
		over = stream->ended && !stream->posted;
		uv_mutex_unlock(&stream->lock);
	}
	if (over)
		retire(exchange);
}

/* ---- the inbox ---- */

static void post(struct http_exchange *exchange)
{
	/* Once pushed, the exchange may be gone, and with the last one the loop would go, too; `posting`
	 * holds it until the wake-up is done. */
	struct http_loop *loop = exchange->loop;
	struct http_exchange *newest;

	atomic_fetch_add(&loop->posting, 1);
	newest = atomic_load_explicit(&loop->inbox, memory_order_relaxed);
	do {
		exchange->inbox_next = newest;
	} while (!atomic_compare_exchange_weak_explicit(&loop->inbox, &newest, exchange,
		memory_order_release, memory_order_relaxed));
	if (!newest)
		uv_async_send(&loop->wake);
	atomic_fetch_sub(&loop->posting, 1);
}

static void process_stream(struct http_exchange *exchange)
{
	struct http_stream *stream = exchange->stream;
	struct http_connection *connection = exchange->connection;
	bool ended, gone;

	uv_mutex_lock(&stream->lock);
	stream->posted = false;
	ended = stream->ended;
	gone = stream->gone;
	uv_mutex_unlock(&stream->lock);
	if (!exchange->streaming) {
		exchange->streaming = true;
		http_count(&exchange->loop->counters.streams_open, 1);
		if (!stream->chunked)
			exchange->keep_alive = false;
		if (exchange->loop->draining)
			http_exchange_report_gone(exchange);
	}
	if (connection && ((gone && !stream->gone_reported) || connection->ended)) {
		/* Too slow, or away before the stream began. It becomes an orphan, if not worse. */
		uv_mutex_lock(&stream->lock);
		stream->posted = true; /* keeps it alive until the end of this function */
		uv_mutex_unlock(&stream->lock);
		http_connection_close(connection);
		connection = NULL;
		uv_mutex_lock(&stream->lock);
		stream->posted = false;
		ended = stream->ended;
		uv_mutex_unlock(&stream->lock);
	}
	if (connection) {
		http_connection_ready(connection);
		return;
	}
	if (!stream->finished)
		http_exchange_report_gone(exchange);
	if (ended)
		retire(exchange);
}

static void process_answer(struct http_exchange *exchange)
{
	exchange->answered = true;
	if (exchange->connection)
		http_connection_ready(exchange->connection);
	else
		retire(exchange);
}

void http_loop_process_inbox(struct http_loop *loop)
{
	struct http_exchange *newest =
		atomic_exchange_explicit(&loop->inbox, NULL, memory_order_acquire);
	struct http_exchange *oldest = NULL;
	struct http_exchange *exchange;

	if (newest)
		http_count(&loop->counters.wakeups_total, 1);
	while (newest) {
		struct http_exchange *next = newest->inbox_next;

		newest->inbox_next = oldest;
		oldest = newest;
		newest = next;
	}
	/* Note all answers, then send: those of one connection leave together. Sending also retires
	 * exchanges, so it must wait until none of them is in the list any more. */
	while (oldest) {
		exchange = oldest;
		oldest = exchange->inbox_next;
		if (exchange->stream)
			process_stream(exchange);
		else
			process_answer(exchange);
	}
	http_loop_run_ready(loop);
}

/* ---- answering ---- */

const struct http_request *http_exchange_request(const struct http_exchange *exchange)
{
	return &exchange->message.request;
}

static bool is_own_thread(const struct http_loop *loop)
{
	uv_thread_t self = uv_thread_self();

	return uv_thread_equal(&self, &loop->self);
}

void http_respond(struct http_exchange *exchange, int status, const struct http_header *headers,
	size_t header_count, struct http_body body)
{
	enum http_framing framing = HTTP_FRAMING_LENGTH;

	if (http_status_is_bodiless(status))
		framing = HTTP_FRAMING_NONE;
	http_response_begin_head(&exchange->head, status, headers, header_count, framing,
		body.data.length);
	exchange->body = body;
	if (exchange->head_only || framing == HTTP_FRAMING_NONE)
		release_body(exchange);
	if (is_own_thread(exchange->loop) && exchange->loop->dispatching == exchange)
		exchange->answered = true;
	else
		post(exchange);
}

void http_respond_text(struct http_exchange *exchange, int status,
	const struct http_header *headers, size_t header_count, struct span text)
{
	http_respond(exchange, status, headers, header_count,
		HTTP_BODY_STATIC(arena_copy_span(exchange->message.arena, text)));
}

void http_exchange_refuse(struct http_exchange *exchange, int status, const char *reason)
{
	static const struct http_header type[] = {{SPAN("Content-Type"), SPAN("text/plain")}};
	struct span text = arena_format(exchange->message.arena, "%d %s: %s\n", status,
		http_status_text(status), reason);

	http_response_begin_head(&exchange->head, status, type, 1, HTTP_FRAMING_LENGTH,
		text.length);
	exchange->body = HTTP_BODY_STATIC(text);
	exchange->keep_alive = false;
	exchange->answered = true;
}

/* ---- streaming ---- */

void http_stream_begin(struct http_exchange *exchange, int status,
	const struct http_header *headers, size_t header_count, http_stream_function notify,
	void *context)
{
	struct http_stream *stream = memory_allocate(sizeof(*stream));

	stream->notify = notify;
	stream->context = context;
	stream->queue_max = exchange->loop->limits->stream_queue_max;
	stream->chunked = exchange->message.request.version_minor >= 1;
	stream->posted = true;
	if (uv_mutex_init(&stream->lock) != 0)
		abort();
	http_response_begin_head(&exchange->head, status, headers, header_count,
		stream->chunked ? HTTP_FRAMING_CHUNKED : HTTP_FRAMING_CLOSE, 0);
	exchange->stream = stream;
	post(exchange);
}

int http_stream_write(struct http_exchange *exchange, struct span data)
{
	struct http_stream *stream = exchange->stream;
	bool must_post = false;
	int code = 0;

	uv_mutex_lock(&stream->lock);
	if (stream->gone) {
		code = -EPIPE;
	} else if (data.length > stream->queue_max ||
		   stream->queued.length + stream->sending_length >
			   stream->queue_max - data.length) {
		stream->gone = true;
		code = -ENOBUFS;
	} else {
		buffer_add_span(&stream->queued, data);
	}
	if (code != -EPIPE && !stream->posted)
		must_post = stream->posted = true;
	uv_mutex_unlock(&stream->lock);
	if (must_post)
		post(exchange);
	return code;
}

size_t http_stream_queued(struct http_exchange *exchange)
{
	struct http_stream *stream = exchange->stream;
	size_t queued;

	uv_mutex_lock(&stream->lock);
	queued = stream->queued.length + stream->sending_length;
	uv_mutex_unlock(&stream->lock);
	return queued;
}

void http_stream_end(struct http_exchange *exchange)
{
	struct http_stream *stream = exchange->stream;
	bool must_post;

	uv_mutex_lock(&stream->lock);
	stream->ended = true;
	must_post = !stream->posted;
	stream->posted = true;
	uv_mutex_unlock(&stream->lock);
	if (must_post)
		post(exchange);
}
