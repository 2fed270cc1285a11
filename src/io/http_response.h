/* The heads of answers, as text. Pure: no sockets, no clock. */
#ifndef IO_HTTP_RESPONSE_H
#define IO_HTTP_RESPONSE_H

#include "base/buffer.h"
#include "io/http_server.h"

enum http_framing {
	HTTP_FRAMING_LENGTH,  /* Content-Length */
	HTTP_FRAMING_CHUNKED, /* Transfer-Encoding: chunked */
	HTTP_FRAMING_CLOSE,   /* until the connection closes: HTTP/1.0 */
	HTTP_FRAMING_NONE,    /* 1xx, 204, 304 */
};

/* True if an answer of this status has no body, whatever the handler gives. */
bool http_status_is_bodiless(int status);

/* Status line, the headers given and the framing; the end of the head is left to
 * http_response_end_head. A control character in a header becomes a space, whatever its
 * source, so that it cannot begin a new line. */
void http_response_begin_head(struct buffer *out, int status, const struct http_header *headers,
	size_t header_count, enum http_framing framing, size_t length);

#define HTTP_DATE_SIZE 32
void http_response_format_date(int64_t wall_ms, char out[HTTP_DATE_SIZE]);

enum http_persistence { HTTP_KEEP_ALIVE, HTTP_KEEP_ALIVE_SAID, HTTP_CLOSE };
void http_response_end_head(struct buffer *out, const char *date,
	enum http_persistence persistence);

#endif
