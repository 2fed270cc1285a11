/*
 * The HTTP path without sockets: bytes in, requests and answers out.
 *
 * Checked for every input: what the parser makes of it does not depend on how the bytes are cut (the
 * first byte of the input chooses the cuts); nothing follows a refusal; a request keeps what the parser
 * promises; and an answer made from the request's own text is one well-formed answer.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "io/http_parser.h"
#include "io/http_response.h"

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "not so: %s (line %d)\n", #condition, __LINE__);           \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static bool has_control_character(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if ((c < ' ' && c != '\t') || c == 0x7F)
			return true;
	}
	return false;
}

static void check_request(const struct http_request *request, const struct http_limits *limits)
{
	size_t hosts = 0;

	REQUIRE(request->method.length > 0);
	REQUIRE(request->path.length > 0);
	REQUIRE(request->path.data[0] == '/' || span_is(request->path, "*"));
	REQUIRE(request->target.length <= limits->target_max);
	REQUIRE(request->header_count <= limits->header_count_max);
	REQUIRE(request->body.length <= limits->body_max);
	REQUIRE(!has_control_character(request->target));
	for (size_t i = 0; i < request->header_count; i++) {
		const struct http_header *header = &request->headers[i];

		REQUIRE(header->name.length > 0);
		REQUIRE(!has_control_character(header->name) &&
			!has_control_character(header->value));
		for (size_t c = 0; c < header->name.length; c++)
			REQUIRE(header->name.data[c] < 'A' || header->name.data[c] > 'Z');
		hosts += span_is(header->name, "host");
	}
	REQUIRE(request->version_minor == 0 || hosts == 1);
}

/* An answer whose headers are the client's text: exactly one empty line, at its end. */
static void check_answer(const struct http_request *request)
{
	const struct http_header headers[] = {
		{SPAN("X-Path"), request->path},
		{SPAN("X-Body"), request->body},
		{SPAN("X-Query"), request->query.data ? request->query : SPAN("")},
	};
	_buffer_ struct buffer out = {0};

	http_response_begin_head(&out, 200, headers, LENGTH(headers), HTTP_FRAMING_LENGTH,
		request->body.length);
	http_response_end_head(&out, "Thu, 01 Jan 1970 00:00:00 GMT", HTTP_KEEP_ALIVE);
	REQUIRE(out.length == strlen(out.data));
	REQUIRE(strstr(out.data, "\r\n\r\n") == out.data + out.length - 4);
}

static void describe(const struct http_request *request, bool keep_alive, struct buffer *out)
{
	buffer_format(out, "%.*s %.*s %.*s %d\n", SPAN_ARGS(request->method),
		SPAN_ARGS(request->target), SPAN_ARGS(request->host), keep_alive);
	for (size_t i = 0; i < request->header_count; i++)
		buffer_format(out, "%.*s: %.*s\n", SPAN_ARGS(request->headers[i].name),
			SPAN_ARGS(request->headers[i].value));
	buffer_add_span(out, request->body);
	buffer_add_char(out, '\n');
}

/* Feeds the text in pieces, writes down all that comes out. seed 0: in one piece. */
static void run(struct span text, unsigned seed, const struct http_limits *limits,
	struct buffer *out)
{
	struct http_parser parser;
	struct http_message message;
	bool over = false;

	http_message_init(&message);
	http_parser_init(&parser, limits);
	while (text.length > 0 && !over) {
		size_t length = text.length;
		size_t done = 0;
		_free_ char *piece = NULL;

		if (seed != 0) {
			seed = seed * 1103515245 + 12345;
			length = 1 + (seed >> 16) % 40;
			if (length > text.length)
				length = text.length;
		}
		piece = memory_copy(text.data, length);
		text.data += length;
		text.length -= length;
		while (done < length && !over) {
			size_t taken = 0;
			enum http_parser_result result = http_parser_feed(&parser, &message,
				piece + done, length - done, &taken);

			REQUIRE(taken <= length - done);
			done += taken;
			switch (result) {
			case HTTP_PARSER_MORE: REQUIRE(done == length); break;
			case HTTP_PARSER_CONTINUE: buffer_add_string(out, "continue\n"); break;
			case HTTP_PARSER_REFUSED:
				REQUIRE(parser.refusal_status >= 400 &&
					parser.refusal_status < 600);
				REQUIRE(http_parser_feed(&parser, &message, "GET", 3, &taken) ==
					HTTP_PARSER_REFUSED);
				/* Why may differ: of two faults the one seen first counts. */
				buffer_add_string(out, "refused\n");
				over = true;
				break;
			case HTTP_PARSER_COMPLETE:
				check_request(&message.request, limits);
				check_answer(&message.request);
				describe(&message.request, parser.keep_alive, out);
				over = !parser.keep_alive;
				http_message_reset(&message);
				break;
			}
		}
	}
	http_message_clear(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_limits limits = {
		.head_max = 2000, .target_max = 500, .header_count_max = 20, .body_max = 1000};
	_buffer_ struct buffer whole = {0};
	_buffer_ struct buffer cut = {0};
	struct span text;

	if (size < 1)
		return 0;
	http_limits_fill_defaults(&limits);
	text = (struct span){(const char *)data + 1, size - 1};
	run(text, 0, &limits, &whole);
	run(text, 1u + data[0], &limits, &cut);
	if (!span_equal(buffer_span(&whole), buffer_span(&cut)))
		fprintf(stderr, "whole:\n%.*s\ncut:\n%.*s\n", SPAN_ARGS(buffer_span(&whole)),
			SPAN_ARGS(buffer_span(&cut)));
	REQUIRE(span_equal(buffer_span(&whole), buffer_span(&cut)));
	return 0;
}
