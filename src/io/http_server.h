/*
 * The HTTP/1.1 server: complete requests in, answers out, in order, under limits.
 *
 * A server has one or more event-loop threads. When a request has arrived whole, the handler is called
 * on a loop thread with the request and an exchange. It must not block. The exchange is answered
 * exactly once, by http_respond() or by http_stream_begin() … http_stream_end(), at once or later,
 * from any thread. The request, its spans and its arena belong to the exchange's holder: they may
 * be used on any one thread until the answer is given and not after it.
 *
 *     static void hello(struct http_exchange *exchange, const struct http_request *request, void *context)
 *     {
 *             const struct http_header type[] = {{SPAN("content-type"), SPAN("text/plain")}};
 *
 *             http_respond(exchange, 200, type, 1, HTTP_BODY_STATIC(SPAN("hello\n")));
 *     }
 *
 * Pipelined requests are handed out as they come and answered in the order they came; the server puts
 * the answers in order and writes as many as are ready with one system call. Answers that other
 * threads give in quick succession wake a loop once.
 *
 * Parsing is strict: what two readers could understand differently is refused (400) and nothing after
 * it on that connection is looked at. Refusals of the server itself (400, 408, 413, 414, 417, 431, 501,
 * 503, 505) are a short plain text with "Connection: close".
 */
#ifndef IO_HTTP_SERVER_H
#define IO_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"

/* ---- requests ---- */

struct http_header {
	struct span name;  /* in requests always lower case; in answers written as given */
	struct span value; /* without spaces around it */
};

struct http_request {
	struct span method; /* "GET" */
	struct span target; /* as sent */
	struct span path;   /* starts with "/" (or is "*" for OPTIONS); not decoded */
	struct span query;  /* behind the "?", not decoded; SPAN_NONE if there is no "?" */
	/* Of an absolute target, with which Host agrees, else the Host header; SPAN_NONE in HTTP/1.0 without. */
	struct span host;
	const struct http_header *headers; /* in the order sent */
	size_t header_count;
	struct span body;    /* decoded from chunks; "" if there is none */
	struct arena *arena; /* dies when the answer has left */
	struct span peer;    /* "192.0.2.7" or "2001:db8::1", NUL-terminated */
	uint16_t peer_port;
	bool peer_is_loopback;
	bool secure;           /* came over TLS */
	uint8_t version_minor; /* 1 for HTTP/1.1, 0 for HTTP/1.0 */
};

/* The first header of that (lower-case) name, or SPAN_NONE. */
struct span http_request_header(const struct http_request *request, struct span name);

/* ---- answers ---- */

struct http_exchange;

struct http_body {
	struct span data;
	/* Called once, on a loop thread or in http_respond itself, when data is no longer needed (sent,
	 * or the client is gone). NULL for data that is static or lives in the request's arena. */
	void (*release)(void *context);
	void *context;
};

#define HTTP_BODY_NONE ((struct http_body){.data = {"", 0}})
/* Static text, or text in the request's arena. */
#define HTTP_BODY_STATIC(text) ((struct http_body){.data = (text)})
/* Memory from memory_allocate() and the like, for instance of buffer_take(); freed when sent. */
#define HTTP_BODY_OWNED(memory, size)                                                              \
	((struct http_body){.data = {(memory), (size)}, .release = free, .context = (memory)})

const struct http_request *http_exchange_request(const struct http_exchange *exchange);

/* Answers. Headers are copied before it returns; Date, Content-Length and Connection are added and must
 * not be given. A HEAD request gets the headers only. After it the exchange is gone for the caller. */
void http_respond(struct http_exchange *exchange, int status, const struct http_header *headers,
	size_t header_count, struct http_body body);
/* As http_respond with a copy of the text, wherever it lives. */
void http_respond_text(struct http_exchange *exchange, int status,
	const struct http_header *headers, size_t header_count, struct span text);

/* ---- streaming answers (server-sent events, logs) ---- */

enum http_stream_event {
	HTTP_STREAM_WRITABLE, /* everything queued has left */
	HTTP_STREAM_GONE,     /* the client went away or was too slow; call http_stream_end */
	HTTP_STREAM_CLOSED,   /* the last call for this exchange: context may be freed now */
};

/* Called on the loop thread, never while a http_stream function is on the stack of that thread for the
 * same exchange. GONE comes at most once, CLOSED exactly once and only after http_stream_end. */
typedef void (*http_stream_function)(struct http_exchange *exchange, enum http_stream_event event,
	void *context);

/* Starts an answer of unknown length (chunked; until close in HTTP/1.0). The request and its arena stay
 * usable until http_stream_end. `notify` may be NULL. */
void http_stream_begin(struct http_exchange *exchange, int status,
	const struct http_header *headers, size_t header_count, http_stream_function notify,
	void *context);
/* Queues a copy of data. -ENOBUFS: the queue would pass limits.stream_queue_max; the client is too slow
 * and is cut off. -EPIPE: the client is gone. One thread at a time per exchange. */
int http_stream_write(struct http_exchange *exchange, struct span data);
/* Bytes queued that have not been given to the kernel. */
size_t http_stream_queued(struct http_exchange *exchange);
/* The answer is complete. Must be called once for every stream, gone or not. */
void http_stream_end(struct http_exchange *exchange);

/* ---- the server ---- */

/* Zero means the default named beside it. */
struct http_limits {
	size_t head_max;                /* request line and headers: HTTP_HEAD_MAX */
	size_t target_max;              /* HTTP_TARGET_MAX */
	size_t header_count_max;        /* HTTP_HEADER_COUNT_MAX */
	size_t body_max;                /* HTTP_BODY_MAX */
	size_t connections_max;         /* HTTP_CONNECTIONS_MAX */
	size_t connections_per_address; /* HTTP_CONNECTIONS_PER_ADDRESS */
	size_t pipelined_max;    /* HTTP_PIPELINED_MAX: requests of a connection in work at once */
	size_t stream_queue_max; /* HTTP_STREAM_QUEUE_MAX: bytes of one streaming answer */
	unsigned idle_ms;        /* HTTP_IDLE_MS: between requests */
	unsigned head_ms;        /* HTTP_HEAD_MS: from a head's first byte to its last (and TLS) */
	unsigned body_ms;        /* HTTP_BODY_MS: for a body, plus its bytes / body_rate seconds */
	unsigned body_rate;      /* HTTP_BODY_RATE: bytes per second */
	unsigned write_stall_ms; /* HTTP_WRITE_STALL_MS: without the client taking a byte */
	unsigned linger_ms;      /* HTTP_LINGER_MS: after our last byte, for the client to close */
};

#define HTTP_HEAD_MAX ((size_t)64 * 1024)
#define HTTP_TARGET_MAX ((size_t)16 * 1024)
#define HTTP_HEADER_COUNT_MAX 100
#define HTTP_BODY_MAX ((size_t)8 * 1024 * 1024)
#define HTTP_CONNECTIONS_MAX 10000
#define HTTP_CONNECTIONS_PER_ADDRESS 1000
#define HTTP_PIPELINED_MAX 16
#define HTTP_STREAM_QUEUE_MAX ((size_t)1024 * 1024)
#define HTTP_IDLE_MS 75000
#define HTTP_HEAD_MS 15000
#define HTTP_BODY_MS 30000
#define HTTP_BODY_RATE 4096
#define HTTP_WRITE_STALL_MS 30000
#define HTTP_LINGER_MS 2000

#define HTTP_LOOPS_MAX 64

typedef void (*http_handler)(struct http_exchange *exchange, const struct http_request *request,
	void *context);

struct http_server_config {
	const char *address; /* NULL: "127.0.0.1"; a literal IPv4 or IPv6 address or "localhost" */
	uint16_t port;       /* 0: a free one; see http_server_port() */
	unsigned loops;      /* event-loop threads; 0: one */
	const char *certificate_file; /* PEM chain; NULL: plain HTTP */
	const char *key_file;         /* PEM; NULL: the key is in certificate_file */
	bool limit_loopback;          /* connections_per_address holds for loopback too */
	struct http_limits limits;
	http_handler handler;
	void *context;
};

struct http_server;

/* Listens and starts the threads: requests may be handled before it returns. */
int http_server_open(const struct http_server_config *config, struct http_server **ret_server,
	struct err *err);
uint16_t http_server_port(const struct http_server *server);
/* Reads the certificate and key again; connections that exist keep theirs. On failure nothing changes. */
int http_server_reload_tls(struct http_server *server, struct err *err);

/* Stops accepting, and changes nothing else. Returns when new connections are refused. */
void http_server_refuse(struct http_server *server);
/* Stops accepting, then closes idle connections, lets requests in work be answered (with Connection: close),
 * and cuts what is left after deadline_ms; streams get GONE at once. Returns when no connection is
 * open. Not on a loop thread. Handlers are not called any more after it. */
void http_server_drain(struct http_server *server, unsigned deadline_ms);
/* Drains without patience, waits until every exchange handed out has been answered (those of cut
 * connections too), ends the threads and frees. NULL is fine. Not on a loop thread. */
void http_server_close(struct http_server *server);

/* One row a number: name, whether it only grows, and what it counts. For /metrics and tests. */
#define HTTP_STATISTICS(X)                                                                         \
	X(connections_open, false, "Connections open now")                                         \
	X(connections_total, true, "Connections accepted")                                         \
	X(connections_refused, true, "Connections refused by a limit")                             \
	X(requests_total, true, "Requests handed to a handler")                                    \
	X(requests_refused, true, "Requests refused by the parser or a limit")                     \
	X(timeouts_total, true, "Connections ended because the client was too slow")               \
	X(bytes_received, true, "Bytes read from clients, before decryption")                      \
	X(bytes_sent, true, "Bytes written to clients, after encryption")                          \
	X(streams_open, false, "Streaming answers open now")                                       \
	X(wakeups_total, true, "Times a loop was woken by answers of other threads")

struct http_statistics {
#define HTTP_STATISTIC_FIELD(name, grows, help) uint64_t name;
	HTTP_STATISTICS(HTTP_STATISTIC_FIELD)
#undef HTTP_STATISTIC_FIELD
};

void http_server_statistics(const struct http_server *server,
	struct http_statistics *ret_statistics);

/* "OK", "Not Found"; "Unknown" for a status without a name. */
const char *http_status_text(int status);

#endif
