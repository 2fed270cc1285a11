/*
 * From bytes to requests, without sockets: what the server, the tests and the fuzzer share.
 *
 * The head of a request is gathered whole and checked line by line before anything is believed: every
 * line ends in CR LF and has no other CR or LF, none is a continuation of another, every name is a
 * token. Then llhttp, in strict mode, judges the same bytes and takes the body apart. Where the two
 * disagree about the length of the body the request is refused: a proxy in front of us could disagree
 * in the same way, and what one of us takes for a body the other would take for the next request.
 *
 * A parser that refused something stays refusing.
 */
#ifndef IO_HTTP_PARSER_H
#define IO_HTTP_PARSER_H

#include <llhttp.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "io/http_server.h"

/* The memory of one request; used again and again. */
struct http_message {
	struct buffer head;
	struct buffer body;
	struct arena *arena;
	struct http_request request; /* its spans point into the three above */
};

enum http_parser_phase {
	HTTP_PHASE_IDLE,    /* no byte of a request yet */
	HTTP_PHASE_HEAD,    /* within the request line and headers */
	HTTP_PHASE_BODY,    /* the head is complete, the body is not */
	HTTP_PHASE_REFUSED, /* nothing is read any more */
};

enum http_parser_result {
	HTTP_PARSER_MORE,     /* all bytes are taken, the request is not complete */
	HTTP_PARSER_CONTINUE, /* the head is complete and the client waits for "100 Continue" */
	HTTP_PARSER_COMPLETE, /* message->request is there; the bytes behind it are not taken */
	HTTP_PARSER_REFUSED,  /* answer with refusal_status and close */
};

struct http_parser {
	llhttp_t llhttp;
	const struct http_limits *limits; /* with defaults filled in */
	struct http_message *message;     /* of the call that is running */
	enum http_parser_phase phase;

	/* The line of the head that is being read. */
	size_t line_length;
	size_t line_count; /* complete ones */
	bool line_has_return;
	unsigned blank_lines; /* before the request */

	uint64_t body_bytes; /* on the wire, framing included */
	size_t trailer_bytes;
	bool message_complete;
	bool keep_alive; /* of the request that is complete: may another one follow? */

	int refusal_status;
	const char *refusal_reason;
};

void http_limits_fill_defaults(struct http_limits *limits);

void http_parser_init(struct http_parser *parser, const struct http_limits *limits);
/* Takes bytes for the request being built in `message`, which must be the same one (fresh or reset at
 * the beginning) until it is complete. */
enum http_parser_result http_parser_feed(struct http_parser *parser, struct http_message *message,
	const char *data, size_t length, size_t *ret_taken);

void http_message_init(struct http_message *message);
void http_message_reset(struct http_message *message); /* keeps a moderate amount of memory */
void http_message_clear(struct http_message *message);

#endif
