/*
 * One connection: bytes in, requests to the handler, answers out.
 *
 * Input goes through TLS (if any) and the parser until the line of requests in work is full; what is
 * left then waits. Output is collected from the front of the line, as much as is ready, and written at
 * once; only what the socket does not take goes through libuv's queue, and then nothing more is
 * collected until it is through. There are no timers here: the loop sweeps over its connections.
 */
#include "io/http_connection.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"

#define PARTS_MAX 64
#define PARTS_OF_ONE 5 /* at most, of one exchange: head, chunk size, data, its end, last chunk */
#define BODY_INLINE_MAX 4096 /* copied behind the head: cheaper than another part */
#define DATE_FRESH_MS 250
#define KEPT_MAX ((size_t)64 * 1024)

static const char text_continue[] = "HTTP/1.1 100 Continue\r\n\r\n";

static uv_stream_t *stream_of(struct http_connection *connection)
{
	return (uv_stream_t *)&connection->tcp;
}

/* ---- closing ---- */

static void on_closed(uv_handle_t *handle)
{
	struct http_connection *connection = handle->data;
	struct http_loop *loop = connection->loop;

	if (connection->previous)
		connection->previous->next = connection->next;
	else
		loop->connections = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	http_loop_connection_closed(loop, connection->address, connection->counted_by_address);
	tls_session_free(connection->tls);
	buffer_clear(&connection->unread);
	buffer_clear(&connection->encrypted);
	free(connection);
}

void http_connection_close(struct http_connection *connection)
{
	struct http_exchange *exchange;

	if (connection->closing)
		return;
	connection->closing = true;
	connection->stopped = true;
	uv_close((uv_handle_t *)&connection->tcp, on_closed);
	if (connection->reading)
		http_exchange_finish(TAKE(connection->reading));
	exchange = TAKE(connection->first);
	connection->last = NULL;
	connection->in_work = 0;
	while (exchange) {
		struct http_exchange *next = exchange->next;

		http_exchange_orphan(exchange);
		exchange = next;
	}
}

static void on_shut_down(uv_shutdown_t *request, int status)
{
	(void)request;
	(void)status; /* either way the client closes, or the sweep does */
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer);
static void on_need_memory(uv_handle_t *handle, size_t size, uv_buf_t *ret_buffer);

/* Our last byte is with the kernel. Closing now could destroy it on its way, if the client has sent
 * unread data: the kernel then answers with a reset. So signal the end to the
 * client and wait for it to close, for a while. */
static void linger(struct http_connection *connection)
{
	connection->stopped = true;
	if (connection->ended) {
		http_connection_close(connection);
		return;
	}
	connection->lingering = true;
	connection->since_ms = uv_now(&connection->loop->uv);
	buffer_clear(&connection->unread);
	if (connection->paused) {
		connection->paused = false;
		uv_read_start(stream_of(connection), on_need_memory, on_read);
	}
	if (uv_shutdown(&connection->shutdown, stream_of(connection), on_shut_down) != 0)
		http_connection_close(connection);
}

/* ---- sending ---- */

struct output {
	uv_buf_t parts[PARTS_MAX];
	unsigned count;
	size_t length;
	size_t exchanges; /* complete ones */
	bool closes;
};

static void add_part(struct output *output, const char *data, size_t length)
{
	if (length == 0)
		return;
	output->parts[output->count++] = uv_buf_init((char *)data, (unsigned)length);
	output->length += length;
}

static const char *current_date(struct http_loop *loop)
{
	uint64_t now = uv_now(&loop->uv);

	if (loop->date[0] == '\0' || now - loop->date_at_ms >= DATE_FRESH_MS) {
		http_response_format_date(clock_wall_ms(clock_system()), loop->date);
		loop->date_at_ms = now;
	}
	return loop->date;
}

/* No request follows this one on the connection. */
static bool is_last(const struct http_connection *connection, const struct http_exchange *exchange)
{
	if (!exchange->keep_alive)
		return true;
	return connection->stopped && !exchange->next && !connection->reading;
}

static void end_head(struct http_connection *connection, struct http_exchange *exchange)
{
	enum http_persistence persistence = HTTP_KEEP_ALIVE;

	if (is_last(connection, exchange)) {
		exchange->keep_alive = false;
		persistence = HTTP_CLOSE;
	} else if (exchange->message.request.version_minor == 0) {
		persistence = HTTP_KEEP_ALIVE_SAID;
	}
	http_response_end_head(&exchange->head, current_date(connection->loop), persistence);
}

static void collect_answer(struct http_connection *connection, struct http_exchange *exchange,
	struct output *output)
{
	end_head(connection, exchange);
	if (exchange->body.data.length <= BODY_INLINE_MAX) {
		buffer_add_span(&exchange->head, exchange->body.data);
		add_part(output, exchange->head.data, exchange->head.length);
		return;
	}
	add_part(output, exchange->head.data, exchange->head.length);
	add_part(output, exchange->body.data.data, exchange->body.data.length);
}

/* Returns whether the stream is complete with this. */
static bool collect_stream(struct http_connection *connection, struct http_exchange *exchange,
	struct output *output)
{
	struct http_stream *stream = exchange->stream;
	bool ended;

	uv_mutex_lock(&stream->lock);
	ended = stream->ended;
	if (exchange->head_only) {
		buffer_reset(&stream->queued);
	} else {
		struct buffer empty = stream->sending;

		stream->sending = stream->queued;
		stream->queued = empty;
		stream->sending_length = stream->sending.length;
	}
	uv_mutex_unlock(&stream->lock);

	if (!stream->head_sent) {
		stream->head_sent = true;
		end_head(connection, exchange);
		add_part(output, exchange->head.data, exchange->head.length);
	}
	if (stream->sending.length > 0 && stream->chunked) {
		snprintf(stream->frame, sizeof(stream->frame), "%zx\r\n", stream->sending.length);
		add_part(output, stream->frame, strlen(stream->frame));
		add_part(output, stream->sending.data, stream->sending.length);
		add_part(output, "\r\n", 2);
	} else {
		add_part(output, stream->sending.data, stream->sending.length);
	}
	if (ended && stream->chunked && !exchange->head_only)
		add_part(output, "0\r\n\r\n", 5);
	return ended;
}

static void collect(struct http_connection *connection, struct output *output)
{
	struct http_exchange *exchange = connection->first;

	if (!exchange && connection->wants_continue) {
		connection->wants_continue = false;
		add_part(output, text_continue, sizeof(text_continue) - 1);
		return;
	}
	for (; exchange && output->count + PARTS_OF_ONE <= PARTS_MAX; exchange = exchange->next) {
		if (exchange->streaming) {
			if (!collect_stream(connection, exchange, output))
				return;
		} else if (exchange->answered) {
			collect_answer(connection, exchange, output);
		} else {
			return;
		}
		output->exchanges++;
		if (!exchange->keep_alive) {
			output->closes = true;
			return;
		}
	}
}

/* The part of a stream that was being sent is sent. */
static void note_stream_sent(struct http_exchange *exchange)
{
	struct http_stream *stream = exchange->stream;
	bool writable;

	if (stream->sending.length == 0)
		return;
	if (stream->sending.capacity > KEPT_MAX)
		buffer_clear(&stream->sending);
	else
		buffer_reset(&stream->sending);
	uv_mutex_lock(&stream->lock);
	stream->sending_length = 0;
	writable = stream->queued.length == 0 && !stream->ended && !stream->gone;
	uv_mutex_unlock(&stream->lock);
	if (writable && stream->notify)
		stream->notify(exchange, HTTP_STREAM_WRITABLE, stream->context);
}

static void finish_exchanges(struct http_connection *connection, size_t count)
{
	while (count-- > 0) {
		struct http_exchange *exchange = connection->first;

		connection->first = exchange->next;
		if (!connection->first)
			connection->last = NULL;
		connection->in_work--;
		http_exchange_finish(exchange);
	}
	if (connection->first && connection->first->streaming)
		note_stream_sent(connection->first);
	if (!connection->first && connection->parser.phase == HTTP_PHASE_IDLE)
		connection->since_ms = uv_now(&connection->loop->uv);
}

static void on_written(uv_write_t *request, int status)
{
	struct http_connection *connection = request->data;

	connection->write_pending = false;
	if (connection->closing)
		return;
	if (status < 0) {
		http_connection_close(connection);
		return;
	}
	if (connection->encrypted.capacity > KEPT_MAX)
		buffer_clear(&connection->encrypted);
	else
		buffer_reset(&connection->encrypted);
	finish_exchanges(connection, connection->writing);
	connection->writing = 0;
	if (connection->close_after_write)
		linger(connection);
	else
		http_connection_run(connection);
}

/* Writes what the socket takes and leaves the rest to libuv. False if the connection is lost. */
static bool write_parts(struct http_connection *connection, uv_buf_t *parts, unsigned count,
	size_t length)
{
	int written = uv_try_write(stream_of(connection), parts, count);
	size_t done;

	if (written < 0 && written != UV_EAGAIN) {
		http_connection_close(connection);
		return false;
	}
	done = written > 0 ? (size_t)written : 0;
	http_count(&connection->loop->counters.bytes_sent, (int64_t)length);
	if (done == length)
		return true;
	while (done >= parts->len) {
		done -= parts->len;
		parts++;
		count--;
	}
	parts->base += done;
	parts->len -= done;
	connection->write.data = connection;
	if (uv_write(&connection->write, stream_of(connection), parts, count, on_written) != 0) {
		http_connection_close(connection);
		return false;
	}
	connection->write_pending = true;
	connection->write_progress_ms = uv_now(&connection->loop->uv);
	connection->write_queue_seen = uv_stream_get_write_queue_size(stream_of(connection));
	return true;
}

/* An exchange may be done without a byte: the end of a stream whose bytes have all left before. */
static bool is_empty(const struct output *output)
{
	return output->count == 0 && output->exchanges == 0;
}

static void send_plain(struct http_connection *connection, struct output *output)
{
	if (is_empty(output))
		return;
	if (output->count > 0 &&
		!write_parts(connection, output->parts, output->count, output->length))
		return;
	if (connection->write_pending) {
		connection->writing = output->exchanges;
		connection->close_after_write = output->closes;
		return;
	}
	finish_exchanges(connection, output->exchanges);
	if (output->closes)
		linger(connection);
}

/* Encrypting copies, so the exchanges are done at once; what TLS has to say itself goes along. */
static void send_encrypted(struct http_connection *connection, struct output *output)
{
	uv_buf_t part;

	for (unsigned i = 0; i < output->count; i++) {
		if (tls_session_write(connection->tls, output->parts[i].base,
			    output->parts[i].len) < 0) {
			http_connection_close(connection);
			return;
		}
	}
	finish_exchanges(connection, output->exchanges);
	if (output->closes)
		tls_session_shut_down(connection->tls);
	tls_session_take_output(connection->tls, &connection->encrypted);
	if (connection->encrypted.length == 0) {
		if (output->closes)
			linger(connection);
		return;
	}
	part = uv_buf_init(connection->encrypted.data, (unsigned)connection->encrypted.length);
	if (!write_parts(connection, &part, 1, connection->encrypted.length))
		return;
	if (connection->write_pending) {
		connection->writing = 0;
		connection->close_after_write = output->closes;
		return;
	}
	buffer_reset(&connection->encrypted);
	if (output->closes)
		linger(connection);
}

/* ---- receiving ---- */

static void join_line(struct http_connection *connection, struct http_exchange *exchange)
{
	exchange->connection = connection;
	exchange->next = NULL;
	if (connection->last)
		connection->last->next = exchange;
	else
		connection->first = exchange;
	connection->last = exchange;
	connection->in_work++;
}

/* Answers for the server itself; nothing after it is looked at. */
static void refuse(struct http_connection *connection, int status, const char *reason)
{
	struct http_exchange *exchange = TAKE(connection->reading);

	if (!exchange)
		exchange = http_exchange_take(connection->loop);
	connection->stopped = true;
	connection->wants_continue = false;
	http_count(&connection->loop->counters.requests_refused, 1);
	http_exchange_refuse(exchange, status, reason);
	join_line(connection, exchange);
}

static void hand_out(struct http_connection *connection)
{
	struct http_loop *loop = connection->loop;
	struct http_exchange *exchange = TAKE(connection->reading);
	struct http_request *request = &exchange->message.request;

	/* Copied, because the exchange may outlive the connection. */
	request->peer = arena_copy_span(exchange->message.arena, span_of(connection->peer));
	request->peer_port = connection->peer_port;
	request->peer_is_loopback = connection->peer_is_loopback;
	request->secure = connection->tls != NULL;
	exchange->head_only = span_is(request->method, "HEAD");
	exchange->keep_alive = connection->parser.keep_alive;
	exchange->handed_out = true;
	if (!exchange->keep_alive || loop->draining)
		connection->stopped = true;
	join_line(connection, exchange);
	loop->outstanding++;
	http_count(&loop->counters.requests_total, 1);
	loop->dispatching = exchange;
	loop->server->handler(exchange, request, loop->server->context);
	loop->dispatching = NULL;
}

static void pause_reading(struct http_connection *connection, const char *data, size_t length)
{
	buffer_add(&connection->unread, data, length);
	connection->paused = true;
	uv_read_stop(stream_of(connection));
}

static void take_input(struct http_connection *connection, const char *data, size_t length)
{
	while (length > 0 && !connection->stopped) {
		enum http_parser_phase before = connection->parser.phase;
		enum http_parser_result result;
		size_t taken;

		if (!connection->reading) {
			if (connection->in_work >= connection->loop->limits->pipelined_max) {
				pause_reading(connection, data, length);
				return;
			}
			connection->reading = http_exchange_take(connection->loop);
		}
		connection->wants_continue = false; /* it did not wait for 100 Continue */
		result = http_parser_feed(&connection->parser, &connection->reading->message, data,
			length, &taken);
		data += taken;
		length -= taken;
		if (connection->parser.phase != before)
			connection->since_ms = uv_now(&connection->loop->uv);
		if (result == HTTP_PARSER_COMPLETE)
			hand_out(connection);
		else if (result == HTTP_PARSER_REFUSED)
			refuse(connection, connection->parser.refusal_status,
				connection->parser.refusal_reason);
		else if (result == HTTP_PARSER_CONTINUE)
			connection->wants_continue = true;
	}
}

/* The client sends no more. Its requests are still answered, except streams: otherwise a closed
 * client would go unnoticed. */
static void take_end(struct http_connection *connection)
{
	connection->ended = true;
	connection->stopped = true;
	for (struct http_exchange *exchange = connection->first; exchange;
		exchange = exchange->next) {
		if (exchange->streaming) {
			http_connection_close(connection);
			return;
		}
	}
	if (connection->reading)
		http_exchange_finish(TAKE(connection->reading));
	if (!connection->first || connection->lingering)
		http_connection_close(connection);
	else
		uv_read_stop(stream_of(connection));
}

/* Decrypts until more input is needed or the line is full. */
static void decrypt(struct http_connection *connection)
{
	while (!connection->paused && !connection->closing) {
		char *plain = connection->loop->plain;
		int length = tls_session_read(connection->tls, plain, HTTP_PLAIN_SIZE);

		if (length == 0)
			return;
		if (length > 0) {
			take_input(connection, plain, (size_t)length);
			continue;
		}
		if (length == -EPROTO) {
			/* Say why, if the socket takes it, and be done. */
			struct output nothing = {.count = 0};

			if (!connection->write_pending)
				send_encrypted(connection, &nothing);
			http_connection_close(connection);
		} else {
			take_end(connection);
		}
		return;
	}
}

static void on_need_memory(uv_handle_t *handle, size_t size, uv_buf_t *ret_buffer)
{
	struct http_connection *connection = handle->data;

	(void)size;
	/* One buffer for all connections of a loop: it is worked off before the next read. */
	*ret_buffer = uv_buf_init(connection->loop->input, HTTP_INPUT_SIZE);
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
	struct http_connection *connection = stream->data;

	if (length == 0 || connection->closing)
		return;
	if (length == UV_EOF) {
		take_end(connection);
	} else if (length < 0) {
		http_connection_close(connection);
		return;
	} else {
		http_count(&connection->loop->counters.bytes_received, length);
		if (connection->lingering)
			return;
		if (connection->tls) {
			tls_session_feed(connection->tls, buffer->base, (size_t)length);
			decrypt(connection);
		} else {
			take_input(connection, buffer->base, (size_t)length);
		}
	}
	http_connection_run(connection);
}

/* The line is shorter: continues with what waited. */
static void resume_reading(struct http_connection *connection)
{
	struct buffer unread = connection->unread;

	connection->unread = (struct buffer){0};
	connection->paused = false;
	connection->since_ms = uv_now(&connection->loop->uv);
	take_input(connection, unread.data, unread.length);
	buffer_clear(&unread);
	if (connection->tls)
		decrypt(connection);
	if (!connection->paused && !connection->closing && !connection->ended)
		uv_read_start(stream_of(connection), on_need_memory, on_read);
}

/* ---- running ---- */

/* Everything is answered and nothing will be read, although the last answer did not say so: it had
 * begun when the drain started. */
static void part_ways(struct http_connection *connection)
{
	struct output goodbye = {.closes = true};

	if (connection->tls)
		send_encrypted(connection, &goodbye);
	else
		linger(connection);
}

void http_connection_run(struct http_connection *connection)
{
	while (!connection->closing && !connection->write_pending && !connection->lingering) {
		struct output output;

		output.count = 0;
		output.length = 0;
		output.exchanges = 0;
		output.closes = false;
		if (!connection->tls || tls_session_is_established(connection->tls))
			collect(connection, &output);
		if (connection->tls)
			send_encrypted(connection, &output);
		else
			send_plain(connection, &output);
		if (connection->closing || connection->lingering)
			return;
		if (connection->paused &&
			connection->in_work < connection->loop->limits->pipelined_max)
			resume_reading(connection);
		else if (is_empty(&output))
			break;
	}
	if (connection->stopped && !connection->first && !connection->reading &&
		!connection->write_pending && !connection->lingering && !connection->closing)
		part_ways(connection);
}

void http_connection_ready(struct http_connection *connection)
{
	if (connection->is_ready)
		return;
	connection->is_ready = true;
	connection->next_ready = connection->loop->ready;
	connection->loop->ready = connection;
}

void http_loop_run_ready(struct http_loop *loop)
{
	while (loop->ready) {
		struct http_connection *connection = loop->ready;

		loop->ready = connection->next_ready;
		connection->is_ready = false;
		http_connection_run(connection);
	}
}

/* ---- opening ---- */

static void fill_peer(struct http_connection *connection, const struct sockaddr_storage *peer)
{
	http_address_of(peer, connection->address);
	if (peer->ss_family == AF_INET) {
		const struct sockaddr_in *four = (const struct sockaddr_in *)peer;

		inet_ntop(AF_INET, &four->sin_addr, connection->peer, sizeof(connection->peer));
		connection->peer_port = ntohs(four->sin_port);
		connection->peer_is_loopback = (ntohl(four->sin_addr.s_addr) >> 24) == 127;
	} else {
		const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)peer;

		inet_ntop(AF_INET6, &six->sin6_addr, connection->peer, sizeof(connection->peer));
		connection->peer_port = ntohs(six->sin6_port);
		connection->peer_is_loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
					       (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) &&
						       six->sin6_addr.s6_addr[12] == 127);
	}
}

void http_connection_open(struct http_loop *loop, struct http_accepted *accepted)
{
	struct http_connection *connection = memory_allocate(sizeof(*connection));

	connection->loop = loop;
	connection->counted_by_address = accepted->counted_by_address;
	fill_peer(connection, &accepted->peer);
	http_parser_init(&connection->parser, loop->limits);
	connection->since_ms = uv_now(&loop->uv);
	connection->tls = http_server_new_tls_session(loop->server);
	if (uv_tcp_init(&loop->uv, &connection->tcp) != 0)
		abort(); /* cannot fail without flags */
	connection->tcp.data = connection;
	connection->next = loop->connections;
	if (loop->connections)
		loop->connections->previous = connection;
	loop->connections = connection;
	loop->connection_count++;
	http_count(&loop->counters.connections_open, 1);
	http_count(&loop->counters.connections_total, 1);
	if (uv_tcp_open(&connection->tcp, accepted->descriptor) != 0) {
		close(accepted->descriptor);
		http_connection_close(connection);
		return;
	}
	uv_tcp_nodelay(&connection->tcp, 1);
	if (uv_read_start(stream_of(connection), on_need_memory, on_read) != 0)
		http_connection_close(connection);
}

/* ---- time ---- */

static void give_up(struct http_connection *connection)
{
	http_count(&connection->loop->counters.timeouts_total, 1);
	http_connection_close(connection);
}

static void sweep_writing(struct http_connection *connection, uint64_t now)
{
	size_t queue = uv_stream_get_write_queue_size(stream_of(connection));

	if (queue != connection->write_queue_seen) {
		connection->write_queue_seen = queue;
		connection->write_progress_ms = now;
	} else if (now - connection->write_progress_ms > connection->loop->limits->write_stall_ms) {
		give_up(connection);
	}
}

static void sweep_reading(struct http_connection *connection, uint64_t waited)
{
	const struct http_limits *limits = connection->loop->limits;
	uint64_t allowed = limits->body_ms;

	switch (connection->parser.phase) {
	case HTTP_PHASE_IDLE:
		if (connection->tls && !tls_session_is_established(connection->tls)) {
			if (waited > limits->head_ms)
				give_up(connection);
		} else if (!connection->first && waited > limits->idle_ms) {
			http_connection_close(connection);
		}
		return;
	case HTTP_PHASE_HEAD:
		if (waited <= limits->head_ms)
			return;
		break;
	case HTTP_PHASE_BODY:
		allowed += connection->parser.body_bytes * 1000 / limits->body_rate;
		if (waited <= allowed)
			return;
		break;
	case HTTP_PHASE_REFUSED: return;
	}
	http_count(&connection->loop->counters.timeouts_total, 1);
	refuse(connection, 408, "the request came too slowly");
	http_connection_run(connection);
}

void http_connection_sweep(struct http_connection *connection, uint64_t now_ms)
{
	/* A connection younger than the loop's time of this round has waited not at all. */
	uint64_t waited = now_ms > connection->since_ms ? now_ms - connection->since_ms : 0;

	if (connection->closing)
		return;
	if (connection->write_pending)
		sweep_writing(connection, now_ms);
	else if (connection->lingering && waited > connection->loop->limits->linger_ms)
		http_connection_close(connection);
	if (!connection->closing && !connection->stopped && !connection->paused)
		sweep_reading(connection, waited);
}

void http_connection_drain(struct http_connection *connection)
{
	if (connection->closing || connection->lingering)
		return;
	if (connection->parser.phase == HTTP_PHASE_IDLE) {
		connection->stopped = true;
		if (connection->reading) /* an empty line, no more */
			http_exchange_finish(TAKE(connection->reading));
		if (!connection->first && !connection->write_pending) {
			http_connection_close(connection);
			return;
		}
	}
	/* This event may end a stream, but removes none from the line: that uses the inbox. */
	for (struct http_exchange *exchange = connection->first; exchange;
		exchange = exchange->next) {
		if (exchange->streaming)
			http_exchange_report_gone(exchange);
	}
}
