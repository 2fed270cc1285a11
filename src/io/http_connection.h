/*
 * Inside the HTTP server: loops, connections and exchanges, and the ownership rules.
 *
 * Everything here belongs to one loop thread, except what says otherwise. Other threads reach a loop in
 * two ways: by putting an exchange into its inbox (answers), and by its orders under a lock (accepted
 * sockets, drain, stop).
 *
 * A connection reads one request at a time into `reading`. A complete one joins the line of exchanges
 * in work and goes to the handler; answers leave from the front of the line only, so they keep their
 * order. An exchange whose connection is cut stays alive without one until it is answered.
 */
#ifndef IO_HTTP_CONNECTION_H
#define IO_HTTP_CONNECTION_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <uv.h>

#include "base/map.h"
#include "io/http_parser.h"
#include "io/http_response.h"
#include "io/tls.h"

#define HTTP_INPUT_SIZE ((size_t)64 * 1024)
#define HTTP_PLAIN_SIZE ((size_t)16 * 1024) /* a TLS record */
#define HTTP_EXCHANGES_KEPT 256             /* idle ones, for a loop */

struct http_counters {
#define HTTP_COUNTER_FIELD(name, grows, help) _Atomic uint64_t name;
	HTTP_STATISTICS(HTTP_COUNTER_FIELD)
#undef HTTP_COUNTER_FIELD
};

/* Only the loop's own thread writes its counters, so a plain add on an atomic is enough. */
static inline void http_count(_Atomic uint64_t *counter, int64_t more)
{
	atomic_store_explicit(counter,
		atomic_load_explicit(counter, memory_order_relaxed) + (uint64_t)more,
		memory_order_relaxed);
}

/* The part of a streaming answer that its writer and the loop share. */
struct http_stream {
	http_stream_function notify;
	void *context;

	uv_mutex_t lock; /* for the next six */
	struct buffer queued;
	size_t sending_length; /* taken by the loop and not written yet */
	size_t queue_max;
	bool posted; /* in the inbox */
	bool ended;
	bool gone; /* the client is, or will be cut because it is too slow */

	/* The loop's. */
	struct buffer sending;
	char frame[24]; /* the chunk's size */
	bool chunked;
	bool head_sent;
	bool gone_reported;
	bool finished; /* all of it was sent */
};

struct http_exchange {
	struct http_message message;
	struct http_loop *loop;
	struct http_connection *connection; /* NULL: cut */
	struct http_exchange *next;         /* in the connection's line, or of the idle ones */
	struct http_exchange *inbox_next;
	struct http_stream
		*stream;    /* set by the starting thread; the loop reads it only if `streaming` */
	struct buffer head; /* of the answer */
	struct http_body body;
	bool head_only; /* the request was HEAD */
	bool handed_out;
	/* The loop's. */
	bool answered;
	bool streaming;
	bool keep_alive;
};

struct http_connection {
	uv_tcp_t tcp;
	uv_write_t write;
	uv_shutdown_t shutdown;
	struct http_loop *loop;
	struct http_connection *next, *previous; /* of the loop */
	struct http_connection *next_ready;
	bool is_ready; /* in the loop's list of those that may have something to send */

	struct http_parser parser;
	struct http_exchange *reading;      /* the request that is coming in, or NULL */
	struct http_exchange *first, *last; /* the line of those in work */
	size_t in_work;
	struct buffer unread; /* bytes that wait until the line is shorter */

	struct tls_session *tls; /* NULL: plain */
	struct buffer encrypted; /* on its way out */

	size_t writing;     /* exchanges that are done when the write is */
	bool write_pending; /* at most one at a time: what gets ready meanwhile leaves together */
	bool close_after_write;
	bool wants_continue; /* the client waits for "100 Continue" */
	bool paused;         /* not reading: too many requests in work */
	bool stopped;        /* input is not interpreted any more */
	bool ended;          /* the client has sent its last byte */
	bool lingering;      /* our last byte is sent; waiting for the client to close */
	bool closing;

	uint64_t since_ms; /* idle, head, body or lingering: since when */
	uint64_t write_progress_ms;
	size_t write_queue_seen;

	unsigned char address[16]; /* IPv6 or mapped */
	bool counted_by_address;
	bool peer_is_loopback;
	uint16_t peer_port;
	char peer[INET6_ADDRSTRLEN];
};

/* A socket on its way to its loop. */
struct http_accepted {
	struct http_accepted *next;
	int descriptor;
	struct sockaddr_storage peer;
	bool counted_by_address;
};

struct http_loop {
	struct http_server *server;
	const struct http_limits *limits;
	uv_loop_t uv;
	uv_thread_t thread; /* for http_server_close to join */
	uv_thread_t self;   /* the same, set by the thread before it does anything */
	uv_async_t wake;
	uv_timer_t sweep;
	bool started;

	/* From other threads. */
	_Atomic(struct http_exchange *) inbox; /* the newest first */
	atomic_uint posting;                   /* threads between their push and their wake-up */
	struct http_counters counters;
	uv_mutex_t lock; /* for the next six */
	struct http_accepted *accepted;
	bool refuse_wanted;
	bool drain_wanted;
	unsigned drain_ms;
	bool stop_wanted;
	bool drained; /* reported to http_server_drain */

	struct http_connection *connections;
	struct http_connection *ready;
	size_t connection_count;
	size_t outstanding; /* exchanges handed out and not yet back */
	struct http_exchange *idle_exchanges;
	size_t idle_count;
	struct http_exchange *dispatching; /* the handler is running for it */
	bool draining;
	uint64_t drain_deadline_ms;

	char date[HTTP_DATE_SIZE];
	uint64_t date_at_ms;
	char input[HTTP_INPUT_SIZE];
	char plain[HTTP_PLAIN_SIZE];
};

struct http_server {
	struct http_limits limits;
	bool limit_loopback;
	http_handler handler;
	void *context;
	char *certificate_file, *key_file;

	uv_mutex_t lock; /* for the next three */
	struct tls_context *tls;
	struct map addresses; /* 16 bytes of address → connections */
	size_t draining_loops;
	uv_cond_t drained;
	bool refuses; /* does not listen any more */

	atomic_size_t connections;
	uint16_t port;
	int listener;      /* loop 0's */
	uv_poll_t accepts; /* loop 0's */
	bool accepting;    /* loop 0's */
	unsigned next_loop;

	unsigned loop_count;
	struct http_loop *loops;
};

/* ---- http_connection.c ---- */

void http_connection_open(struct http_loop *loop, struct http_accepted *accepted);
void http_connection_close(struct http_connection *connection);
/* Sends what is ready, reads on what was held back. */
void http_connection_run(struct http_connection *connection);
/* Runs it in the next http_loop_run_ready. */
void http_connection_ready(struct http_connection *connection);
void http_loop_run_ready(struct http_loop *loop);
void http_connection_sweep(struct http_connection *connection, uint64_t now_ms);
void http_connection_drain(struct http_connection *connection);

/* ---- http_exchange.c ---- */

struct http_exchange *http_exchange_take(struct http_loop *loop);
/* The exchange is over: releases its body, sends a stream CLOSED, keeps the memory for another. */
void http_exchange_finish(struct http_exchange *exchange);
/* Its connection is cut. */
void http_exchange_orphan(struct http_exchange *exchange);
/* An answer of the server itself. */
void http_exchange_refuse(struct http_exchange *exchange, int status, const char *reason);
void http_exchange_report_gone(struct http_exchange *exchange);
/* All that other threads put into the inbox. */
void http_loop_process_inbox(struct http_loop *loop);
void http_loop_free_exchanges(struct http_loop *loop);

/* ---- http_server.c ---- */

struct tls_session *http_server_new_tls_session(struct http_server *server);
/* Ends what is counted for a connection; the last one may end the loop. */
void http_loop_connection_closed(struct http_loop *loop, const unsigned char address[16],
	bool counted);
void http_address_of(const struct sockaddr_storage *peer, unsigned char ret_address[16]);

#endif
