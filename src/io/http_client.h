/*
 * The HTTP/1.1 client: calls that block only their caller, from any number of threads at
 * once, over connections that are kept and shared.
 *
 * One thread of the client's own runs libcurl for all of them; callers wait on a condition. A call
 * ends in one of four ways: it is answered (whatever the status), it fails, its time is over, or it
 * is cancelled from another thread. Nothing is followed (redirects), added (credentials, .netrc,
 * proxies from the environment), or decoded (Content-Encoding).
 *
 * A kept connection may close just as it is used again. If no byte of an answer came, libcurl then
 * sends the request once more on another connection. For a call that must on no account be sent twice
 * set `fresh`.
 */
#ifndef IO_HTTP_CLIENT_H
#define IO_HTTP_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/memory.h"
#include "base/span.h"
#include "io/http_server.h" /* struct http_header */

#define HTTP_CLIENT_CONNECT_TIMEOUT_MS 10000
#define HTTP_CLIENT_TOTAL_TIMEOUT_MS 60000
#define HTTP_CLIENT_IDLE_TIMEOUT_MS 300000
#define HTTP_CLIENT_RESPONSE_MAX ((size_t)16 * 1024 * 1024)
#define HTTP_CLIENT_HEAD_MAX ((size_t)64 * 1024)
#define HTTP_CLIENT_HEADERS_MAX 128
#define HTTP_CLIENT_CONNECTIONS_MAX 1024
#define HTTP_CLIENT_KEPT_MAX 256
/* How far a stream's reader may lag before the server has to wait. */
#define HTTP_CLIENT_STREAM_BEHIND_MAX ((size_t)256 * 1024)

struct http_client;

int http_client_new(struct http_client **ret_client, struct err *err);
/* Cancels what is running, waits until every call has returned, closes the connections. NULL is fine. */
void http_client_free(struct http_client *client);
void http_client_free_pointer(struct http_client **client);
#define _http_client_ CLEANUP(http_client_free_pointer)

/* A way to end calls from another thread. Zeroed at first; any number of calls may share one. Once
 * cancelled it stays so: calls that begin later end at once. */
struct http_client_cancel {
	atomic_bool requested;
};

/* Every call with this in its request returns -ECANCELED soon. Does not wait for it. */
void http_client_cancel(struct http_client *client, struct http_client_cancel *cancel);

struct http_client_tls {
	struct span authorities; /* PEM; the only ones trusted. None: those of the system */
	struct span certificate; /* PEM, the client's own, with the chain behind it; or none */
	struct span key;         /* PEM */
	bool insecure;           /* does not verify the server's identity */
};

struct http_client_request {
	const char *method; /* NULL: GET */
	const char *url;    /* http or https, without user and password */
	const struct http_header *headers;
	size_t header_count;
	struct span body;        /* SPAN_NONE: none */
	const char *unix_socket; /* connect to this path instead of the URL's host */
	const char
		*connect_to; /* connect to this "host:port" instead; TLS expects the URL's host */
	struct http_client_tls tls;
	bool fresh; /* on a connection of its own, so that it is never sent twice */

	/* Milliseconds; 0: the defaults above, -1: no limit. */
	int64_t connect_timeout_ms;
	int64_t total_timeout_ms; /* for streams the default is no limit */
	int64_t idle_timeout_ms;  /* streams only: the longest silence */

	size_t response_max; /* bytes of the body; 0: the default above; not for streams */
	struct http_client_cancel *cancel; /* or NULL */
};

struct http_client_response {
	int status;
	struct http_header *headers; /* names in lower case, in the order they came */
	size_t header_count;
	struct span body;
};

/* The first header of that name (given in lower case), or SPAN_NONE. */
struct span http_client_header(const struct http_client_response *response, const char *name);

/* One request and its whole answer, in the arena. codes: -EINVAL bad request, -ECONNREFUSED,
 * -EHOSTUNREACH (name not found), -ECONNRESET, -ETIMEDOUT, -ECANCELED, -EFBIG answer beyond its
 * limit, -E2BIG arena's cap, -EPROTO not HTTP, -EACCES TLS rejects the server's identity,
 * -EIO anything else. */
int http_client_request(struct http_client *client, const struct http_client_request *request,
	struct arena *arena, struct http_client_response **ret_response, struct err *err);

/* The reader of a stream. Both are called on the thread that called http_client_stream(), and may
 * take their time: the server waits, other calls do not. Return 0 to continue; anything else ends
 * the stream and is what http_client_stream() returns. */
struct http_client_reader {
	/* Once, before any chunk; the response has no body and lives only during this call. May be
	 * NULL. */
	int (*head)(void *context, const struct http_client_response *response);
	int (*chunk)(void *context, struct span data);
	void *context;
};

/* One request whose answer is read as it comes. 0 when the server ended it properly; codes as above. */
int http_client_stream(struct http_client *client, const struct http_client_request *request,
	const struct http_client_reader *reader, struct err *err);

#endif
