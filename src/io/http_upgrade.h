/*
 * A connection that begins as HTTP and continues as something else: a request with "Upgrade", answered by 101,
 * and then bytes both ways. libcurl connects and does TLS; the request and its answer's head are written and
 * read here.
 *
 * Opening blocks; sending and receiving do not: wait for the descriptor with poll(). One thread at a time
 * uses a connection. Writing to a broken one may raise SIGPIPE, which the program ignores.
 */
#ifndef IO_HTTP_UPGRADE_H
#define IO_HTTP_UPGRADE_H

#include <sys/types.h>

#include "io/http_client.h"

/* The limit for reading an answer that is not 101. */
#define HTTP_UPGRADE_REFUSAL_MAX ((size_t)64 * 1024)

struct http_upgrade;

/* The request as for http_client_request(), GET, without a body; "Connection: Upgrade" is added, "Upgrade" and
 * the rest are the caller's headers. total_timeout_ms is for all of it. The answer is in the arena. If its
 * status is 101, *ret_upgrade is the connection; else it is NULL, and the answer has its body. Codes as there. */
int http_upgrade_open(const struct http_client_request *request, struct arena *arena,
	struct http_client_response **ret_response, struct http_upgrade **ret_upgrade,
	struct err *err);
void http_upgrade_free(struct http_upgrade *upgrade); /* closes it; NULL is fine */

int http_upgrade_descriptor(const struct http_upgrade *upgrade);
/* How many bytes were received; 0: none now, wait until the descriptor is readable; -EPIPE: the other side
 * has ended; -ECONNRESET. Call it until it says 0 before waiting: TLS may hold bytes back. */
ssize_t http_upgrade_receive(struct http_upgrade *upgrade, void *data, size_t size);
/* How many bytes were sent; 0: none now, wait until it is writable and come again with the same bytes in front;
 * -ECONNRESET: it takes nothing any more, but what was received before can still be read. */
ssize_t http_upgrade_send(struct http_upgrade *upgrade, const void *data, size_t size);

#endif
