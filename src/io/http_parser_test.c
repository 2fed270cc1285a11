/*
 * The parser without sockets. Every case is fed whole, byte by byte and cut in two at every place:
 * what comes out must never depend on how the bytes arrived.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/memory.h"
#include "io/http_parser.h"

/* Small limits, to be reached with readable tests. */
static struct http_limits small_limits(void)
{
	struct http_limits limits = {
		.head_max = 1000,
		.target_max = 200,
		.header_count_max = 10,
		.body_max = 100,
	};

	http_limits_fill_defaults(&limits);
	return limits;
}

static void describe(const struct http_parser *parser, const struct http_request *request,
	struct buffer *out)
{
	buffer_format(out, "%.*s %.*s", SPAN_ARGS(request->method), SPAN_ARGS(request->path));
	if (request->query.data)
		buffer_format(out, "?%.*s", SPAN_ARGS(request->query));
	buffer_format(out, " host=%.*s", SPAN_ARGS(request->host));
	for (size_t i = 0; i < request->header_count; i++) {
		if (!span_is(request->headers[i].name, "host"))
			buffer_format(out, " %.*s=[%.*s]", SPAN_ARGS(request->headers[i].name),
				SPAN_ARGS(request->headers[i].value));
	}
	if (request->body.length > 0)
		buffer_format(out, " body=%.*s", SPAN_ARGS(request->body));
	buffer_add_string(out, parser->keep_alive ? "\n" : " last\n");
}

/* Feeds pieces of `first` bytes and then of `step` bytes; writes down what comes out. */
static void run(struct span input, size_t first, size_t step, struct buffer *out)
{
	struct http_limits limits = small_limits();
	struct http_parser parser;
	struct http_message message;
	size_t at = 0;

	http_message_init(&message);
	http_parser_init(&parser, &limits);
	while (at < input.length) {
		size_t want = at == 0 ? first : step;
		size_t length = input.length - at < want ? input.length - at : want;
		/* A copy of just these bytes, so that the sanitizers see every look beyond. */
		_free_ char *piece = memory_copy(input.data + at, length);
		size_t done = 0;

		at += length;
		while (done < length) {
			size_t taken;
			enum http_parser_result result = http_parser_feed(&parser, &message,
				piece + done, length - done, &taken);

			assert_true(taken <= length - done);
			done += taken;
			if (result == HTTP_PARSER_REFUSED) {
				buffer_format(out, "%d\n", parser.refusal_status);
				assert_non_null(parser.refusal_reason);
				/* And for ever. */
				assert_int_equal(http_parser_feed(&parser, &message, "GET", 3,
							 &taken),
					HTTP_PARSER_REFUSED);
				http_message_clear(&message);
				return;
			}
			if (result == HTTP_PARSER_COMPLETE) {
				describe(&parser, &message.request, out);
				if (!parser.keep_alive) {
					http_message_clear(&message);
					return;
				}
				http_message_reset(&message);
			}
			if (result == HTTP_PARSER_CONTINUE)
				buffer_add_string(out, "continue\n");
			if (result == HTTP_PARSER_MORE)
				assert_int_equal(done, length);
		}
	}
	if (parser.phase != HTTP_PHASE_IDLE)
		buffer_add_string(out, "more\n");
	http_message_clear(&message);
}

static void check(const char *name, struct span input, const char *expected)
{
	for (size_t first = 1; first <= input.length; first++) {
		_buffer_ struct buffer cut = {0};

		run(input, first, input.length, &cut);
		if (!span_is(buffer_span(&cut), expected))
			print_error("case '%s' cut at %zu\n", name, first);
		assert_string_equal(buffer_span(&cut).data, expected);
	}
	for (size_t step = 1; step <= 3; step++) {
		_buffer_ struct buffer stepped = {0};

		run(input, step, step, &stepped);
		if (!span_is(buffer_span(&stepped), expected))
			print_error("case '%s' in steps of %zu\n", name, step);
		assert_string_equal(buffer_span(&stepped).data, expected);
	}
}

struct parser_case {
	const char *name;
	struct span input;
	const char *expected; /* a line for each request, then the status of a refusal */
};

#define HOST "Host: a\r\n"
#define GET "GET / HTTP/1.1\r\n" HOST
#define POST "POST / HTTP/1.1\r\n" HOST
#define SMUGGLED "GET /smuggled HTTP/1.1\r\n" HOST "\r\n"

static const struct parser_case good[] = {
	{"plain", SPAN("GET /x HTTP/1.1\r\nHost: a.b:80\r\n\r\n"), "GET /x host=a.b:80\n"},
	{"query", SPAN("GET /x?a=b?c HTTP/1.1\r\n" HOST "\r\n"), "GET /x?a=b?c host=a\n"},
	{"empty query", SPAN("GET /x? HTTP/1.1\r\n" HOST "\r\n"), "GET /x? host=a\n"},
	{"names in lower case, values trimmed", SPAN(GET "X-Amz-DATE: \t a b \t\r\nEmpty:\r\n\r\n"),
		"GET / host=a x-amz-date=[a b] empty=[]\n"},
	{"bytes beyond ASCII in a value", SPAN(GET "N: \xc3\xa9\tx\r\n\r\n"),
		"GET / host=a n=[\xc3\xa9\tx]\n"},
	{"two in a row", SPAN(GET "\r\nHEAD /2 HTTP/1.1\r\n" HOST "\r\n"),
		"GET / host=a\nHEAD /2 host=a\n"},
	{"length", SPAN(POST "Content-Length: 5\r\n\r\nhello" GET "\r\n"),
		"POST / host=a content-length=[5] body=hello\nGET / host=a\n"},
	{"length zero", SPAN(POST "Content-Length: 0\r\n\r\n" GET "\r\n"),
		"POST / host=a content-length=[0]\nGET / host=a\n"},
	{"chunks",
		SPAN(POST "Transfer-Encoding: "
			  "chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n" GET "\r\n"),
		"POST / host=a transfer-encoding=[chunked] body=hello!\nGET / host=a\n"},
	{"no chunk", SPAN(POST "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n" GET "\r\n"),
		"POST / host=a transfer-encoding=[Chunked]\nGET / host=a\n"},
	{"trailers are ignored",
		SPAN(POST "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-T: 1\r\nHost: "
			  "b\r\n\r\n" GET "\r\n"),
		"POST / host=a transfer-encoding=[chunked] body=x\nGET / host=a\n"},
	{"hexadecimal chunk",
		SPAN(POST "Transfer-Encoding: "
			  "chunked\r\n\r\nA\r\n0123456789\r\n0b\r\n0123456789a\r\n0\r\n\r\n"),
		"POST / host=a transfer-encoding=[chunked] body=01234567890123456789a\n"},
	{"close", SPAN(GET "Connection: close\r\n\r\n" SMUGGLED),
		"GET / host=a connection=[close] last\n"},
	{"HTTP/1.0 closes", SPAN("GET / HTTP/1.0\r\n\r\n"), "GET / host= last\n"},
	{"HTTP/1.0 keeps alive when asked",
		SPAN("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n"),
		"GET / host= connection=[keep-alive]\nGET /2 host= last\n"},
	{"absolute target", SPAN("GET http://b:81/p?q HTTP/1.1\r\nHost: b:81\r\n\r\n"),
		"GET /p?q host=b:81\n"},
	{"absolute target without path", SPAN("GET HTTPS://B HTTP/1.1\r\nHost: b\r\n\r\n"),
		"GET / host=B\n"},
	{"absolute target with query only", SPAN("GET http://a?q HTTP/1.1\r\n" HOST "\r\n"),
		"GET /?q host=a\n"},
	{"absolute target with the port of its scheme",
		SPAN("GET http://a:80/ HTTP/1.1\r\n" HOST "\r\n"), "GET / host=a:80\n"},
	{"host with the port of the target's scheme",
		SPAN("GET https://a/ HTTP/1.1\r\nHost: a:443\r\n\r\n"), "GET / host=a\n"},
	{"absolute target in HTTP/1.0", SPAN("GET http://b/ HTTP/1.0\r\n\r\n"),
		"GET / host=b last\n"},
	{"asterisk", SPAN("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), "OPTIONS * host=a\n"},
	{"empty host", SPAN("GET / HTTP/1.1\r\nHost:\r\n\r\n"), "GET / host=\n"},
	{"an empty line between requests", SPAN("\r\n" GET "\r\n\r\n" GET "\r\n"),
		"GET / host=a\nGET / host=a\n"},
	{"an upgrade is declined",
		SPAN(GET "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n" GET "\r\n"),
		"GET / host=a connection=[Upgrade] upgrade=[h2c]\nGET / host=a\n"},
	{"an upgrade with a body is declined",
		SPAN(POST "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nhi" GET
			  "\r\n"),
		"POST / host=a connection=[Upgrade] upgrade=[h2c] content-length=[2] body=hi\nGET "
		"/ host=a\n"},
	{"continue", SPAN(POST "Expect: 100-Continue\r\nContent-Length: 2\r\n\r\nhi"),
		"continue\nPOST / host=a expect=[100-Continue] content-length=[2] body=hi\n"},
	{"nothing to continue with", SPAN(GET "Expect: 100-continue\r\n\r\n"),
		"GET / host=a expect=[100-continue]\n"},
	{"HTTP/1.0 expects nothing",
		SPAN("POST / HTTP/1.0\r\nExpect: x\r\nContent-Length: 1\r\n\r\nx"),
		"POST / host= expect=[x] content-length=[1] body=x last\n"},
	{"a GET may have a body", SPAN(GET "Content-Length: 1\r\n\r\nx" GET "\r\n"),
		"GET / host=a content-length=[1] body=x\nGET / host=a\n"},
	{"not complete", SPAN(POST "Content-Length: 5\r\n\r\nhell"), "more\n"},
	{"chunks not complete", SPAN(POST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"),
		"more\n"},
};

/* Inputs in which one reader sees the end of a message and another does not. The parser must not
 * take any of it for a second request. */
static const struct parser_case smuggling[] = {
	{"CL.TE", SPAN(POST "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG"),
		"400\n"},
	{"TE.CL",
		SPAN(POST "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n" SMUGGLED),
		"400\n"},
	{"TE with CL 0",
		SPAN(POST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n"),
		"400\n"},
	{"TE twice",
		SPAN(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: "
			  "chunked\r\n\r\n0\r\n\r\n"),
		"400\n"},
	{"TE and another",
		SPAN(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n"),
		"400\n"},
	{"TE identity", SPAN(POST "Transfer-Encoding: identity\r\n\r\n" SMUGGLED), "400\n"},
	{"TE chunked, identity",
		SPAN(POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" SMUGGLED),
		"400\n"},
	{"TE identity, chunked",
		SPAN(POST "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" SMUGGLED),
		"501\n"},
	{"TE gzip, chunked", SPAN(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
		"501\n"},
	{"TE xchunked", SPAN(POST "Transfer-Encoding: xchunked\r\n\r\n" SMUGGLED), "400\n"},
	{"TE chunkedx", SPAN(POST "Transfer-Encoding: chunkedx\r\n\r\n" SMUGGLED), "400\n"},
	{"TE chunked;x", SPAN(POST "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n" SMUGGLED),
		"400\n"},
	{"TE quoted", SPAN(POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n" SMUGGLED),
		"400\n"},
	{"TE empty", SPAN(POST "Transfer-Encoding:\r\n\r\n" SMUGGLED), "400\n"},
	{"TE with a vertical tab", SPAN(POST "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n"),
		"400\n"},
	{"TE on a continued line",
		SPAN(POST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" SMUGGLED), "400\n"},
	{"TE in a name with a space", SPAN(POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
		"400\n"},
	{"TE with a space before", SPAN(POST " Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
		"400\n"},
	{"TE behind a bare CR", SPAN(POST "X: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
		"400\n"},
	{"TE behind a bare LF", SPAN(POST "X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
		"400\n"},
	{"TE in HTTP/1.0", SPAN("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
		"400\n"},
	{"CL twice", SPAN(POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"), "400\n"},
	{"CL twice the same", SPAN(POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
		"400\n"},
	{"CL list", SPAN(POST "Content-Length: 5, 5\r\n\r\nhello"), "400\n"},
	{"CL with a sign", SPAN(POST "Content-Length: +5\r\n\r\nhello"), "400\n"},
	{"CL negative", SPAN(POST "Content-Length: -5\r\n\r\nhello"), "400\n"},
	{"CL hexadecimal", SPAN(POST "Content-Length: 0x5\r\n\r\nhello"), "400\n"},
	{"CL with a space inside", SPAN(POST "Content-Length: 5 0\r\n\r\nhello"), "400\n"},
	{"CL empty", SPAN(POST "Content-Length:\r\n\r\n" SMUGGLED), "400\n"},
	{"CL letters", SPAN(POST "Content-Length: five\r\n\r\nhello"), "400\n"},
	{"CL beyond 64 bits", SPAN(POST "Content-Length: 18446744073709551621\r\n\r\nhello"),
		"400\n"},
	{"CL name with a space", SPAN(POST "Content-Length : 5\r\n\r\nhello"), "400\n"},
	{"CL name with a NUL", SPAN(POST "Content-\0Length: 5\r\n\r\nhello"), "400\n"},
	{"continued line", SPAN(GET "X: a\r\n b\r\n\r\n"), "400\n"},
	{"continued line with a tab", SPAN(GET "X: a\r\n\tb\r\n\r\n"), "400\n"},
	{"first header continued", SPAN("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), "400\n"},
	{"header without a name", SPAN(GET ": x\r\n\r\n"), "400\n"},
	{"header without a colon", SPAN(GET "X\r\n\r\n"), "400\n"},
	{"NUL in a value", SPAN(GET "X: a\0b\r\n\r\n"), "400\n"},
	{"CR in a value", SPAN(GET "X: a\rb\r\n\r\n"), "400\n"},
	{"CR CR LF", SPAN(GET "X: a\r\r\n\r\n"), "400\n"},
	{"DEL in a value",
		SPAN(GET "X: a\x7f"
			 "b\r\n\r\n"),
		"400\n"},
	{"control character far in a value", SPAN(GET "X: 0123456789012345678\x01\r\n\r\n"),
		"400\n"},
	{"LF only", SPAN("GET / HTTP/1.1\nHost: a\n\n"), "400\n"},
	{"LF only at the end", SPAN(GET "\n"), "400\n"},
	{"LF only in a header", SPAN("GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n"), "400\n"},
	{"chunk size too large",
		SPAN(POST "Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello"), "400\n"},
	{"chunk size beyond the limit",
		SPAN(POST "Transfer-Encoding: chunked\r\n\r\nfffffffffffffff0\r\nhello"), "413\n"},
	{"chunk size negative", SPAN(POST "Transfer-Encoding: chunked\r\n\r\n-1\r\nhello"),
		"400\n"},
	{"chunk size with 0x", SPAN(POST "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello"),
		"400\n"},
	{"chunk size with a space before",
		SPAN(POST "Transfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n"), "400\n"},
	{"chunk size missing", SPAN(POST "Transfer-Encoding: chunked\r\n\r\n\r\nhello"), "400\n"},
	{"chunk size with LF only",
		SPAN(POST "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n"), "400\n"},
	{"chunk without its CR LF",
		SPAN(POST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n"), "400\n"},
	{"chunk with LF only", SPAN(POST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n"),
		"400\n"},
	{"last chunk with LF only",
		SPAN(POST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\n\n" SMUGGLED),
		"400\n"},
	{"chunk extension with LF only",
		SPAN(POST "Transfer-Encoding: chunked\r\n\r\n5;a\nhello\r\n0\r\n\r\n" SMUGGLED),
		"400\n"},
	{"chunk extension with a CR",
		SPAN(POST "Transfer-Encoding: chunked\r\n\r\n5;a\rb\r\nhello\r\n0\r\n\r\n"),
		"400\n"},
	{"trailer with LF only",
		SPAN(POST "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\n\n" SMUGGLED), "400\n"},
};

static const struct parser_case wrong[] = {
	{"no host", SPAN("GET / HTTP/1.1\r\n\r\n"), "400\n"},
	{"two hosts", SPAN("GET / HTTP/1.1\r\n" HOST HOST "\r\n"), "400\n"},
	{"two hosts in HTTP/1.0", SPAN("GET / HTTP/1.0\r\n" HOST HOST "\r\n"), "400\n"},
	{"a host with a path", SPAN("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), "400\n"},
	{"a host with a space", SPAN("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), "400\n"},
	{"a host with a user", SPAN("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"), "400\n"},
	{"a list of hosts", SPAN("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n"), "400\n"},
	{"unknown method", SPAN("BREW / HTTP/1.1\r\n" HOST "\r\n"), "501\n"},
	{"method in lower case", SPAN("get / HTTP/1.1\r\n" HOST "\r\n"), "501\n"},
	{"CONNECT", SPAN("CONNECT a:80 HTTP/1.1\r\n" HOST "\r\n"), "501\n"},
	{"no version", SPAN("GET /\r\n" HOST "\r\n"), "400\n"},
	{"HTTP/0.9", SPAN("GET / HTTP/0.9\r\n" HOST "\r\n"), "505\n"},
	{"HTTP/1.2", SPAN("GET / HTTP/1.2\r\n" HOST "\r\n"), "505\n"},
	{"HTTP/2.0", SPAN("GET / HTTP/2.0\r\n" HOST "\r\n"), "505\n"},
	{"HTTP/2 preface", SPAN("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "505\n"},
	{"HTTP/1.10", SPAN("GET / HTTP/1.10\r\n" HOST "\r\n"), "400\n"},
	{"http/1.1", SPAN("GET / http/1.1\r\n" HOST "\r\n"), "400\n"},
	{"another protocol", SPAN("GET / RTSP/1.0\r\n" HOST "\r\n"), "400\n"},
	{"two spaces", SPAN("GET  / HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"space behind the version", SPAN("GET / HTTP/1.1 \r\n" HOST "\r\n"), "400\n"},
	{"space before the method", SPAN(" GET / HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"tab for space", SPAN("GET\t/ HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"target without slash", SPAN("GET x HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"target with fragment", SPAN("GET /x#y HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"target with a control character", SPAN("GET /\x01 HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"target beyond ASCII", SPAN("GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"target with NUL", SPAN("GET /\0 HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"target of another scheme", SPAN("GET ftp://a/ HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"absolute target without host", SPAN("GET http:///x HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"absolute target with a user", SPAN("GET http://u@a/x HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"absolute target of another host", SPAN("GET http://b/ HTTP/1.1\r\n" HOST "\r\n"),
		"400\n"},
	{"absolute target of another port", SPAN("GET http://a:81/ HTTP/1.1\r\nHost: a:82\r\n\r\n"),
		"400\n"},
	{"absolute target with the port of another scheme",
		SPAN("GET http://a:443/ HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"absolute target and empty host", SPAN("GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n"),
		"400\n"},
	{"asterisk for GET", SPAN("GET * HTTP/1.1\r\n" HOST "\r\n"), "400\n"},
	{"three empty lines", SPAN("\r\n\r\n\r\n" GET "\r\n"), "400\n"},
	{"CR before the request", SPAN("\rGET / HTTP/1.1\r\n"), "400\n"},
	{"LF before the request", SPAN("\nGET / HTTP/1.1\r\n"), "400\n"},
	{"unknown expectation", SPAN(POST "Expect: tea\r\nContent-Length: 1\r\n\r\nx"), "417\n"},
	{"body beyond the limit", SPAN(POST "Content-Length: 101\r\n\r\n"), "413\n"},
	{"body beyond the limit, expected",
		SPAN(POST "Expect: 100-continue\r\nContent-Length: 101\r\n\r\n"), "413\n"},
	{"chunk beyond the limit", SPAN(POST "Transfer-Encoding: chunked\r\n\r\n65\r\n"), "413\n"},
	{"chunks beyond the limit",
		SPAN(POST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n60\r\n"), "413\n"},
	{"eleven headers",
		SPAN(GET "1:\r\n2:\r\n3:\r\n4:\r\n5:\r\n6:\r\n7:\r\n8:\r\n9:\r\n10:\r\n\r\n"),
		"431\n"},
	{"TLS spoken to us", SPAN("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), "400\n"},
};

static void check_all(const struct parser_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check(cases[i].name, cases[i].input, cases[i].expected);
}

static void test_good(void **state)
{
	(void)state;
	check_all(good, LENGTH(good));
}

static void test_smuggling(void **state)
{
	(void)state;
	check_all(smuggling, LENGTH(smuggling));
	/* Nor when a good request stands before it. */
	for (size_t i = 0; i < LENGTH(smuggling); i++) {
		_buffer_ struct buffer input = {0};
		_buffer_ struct buffer expected = {0};

		buffer_add_string(&input, GET "\r\n");
		buffer_add_span(&input, smuggling[i].input);
		buffer_format(&expected, "GET / host=a\n%s", smuggling[i].expected);
		check(smuggling[i].name, buffer_span(&input), expected.data);
	}
}

static void test_wrong(void **state)
{
	(void)state;
	check_all(wrong, LENGTH(wrong));
}

/* Repeats a text between two others until the whole has at least `size` bytes. */
static void fill(struct buffer *out, const char *before, const char *repeated, size_t size,
	const char *after)
{
	buffer_add_string(out, before);
	while (out->length + strlen(after) < size)
		buffer_add_string(out, repeated);
	buffer_add_string(out, after);
}

static void check_limit(const char *before, const char *repeated, size_t size, const char *after,
	const char *expected)
{
	_buffer_ struct buffer input = {0};
	_buffer_ struct buffer whole = {0};
	_buffer_ struct buffer stepped = {0};

	fill(&input, before, repeated, size, after);
	run(buffer_span(&input), input.length, input.length, &whole);
	assert_string_equal(whole.data, expected);
	run(buffer_span(&input), 7, 7, &stepped);
	assert_string_equal(stepped.data, expected);
}

static void test_limits(void **state)
{
	static const char chunked[] = POST "Transfer-Encoding: chunked\r\n\r\n";
	_buffer_ struct buffer fits = {0};
	_buffer_ struct buffer out = {0};

	(void)state;
	check_limit("GET /", "x", 300, " HTTP/1.1\r\n" HOST "\r\n", "414\n");
	check_limit("GET /", "x", 100000, "", "414\n");
	check_limit(GET "X: ", "x", 1001, "\r\n\r\n", "431\n");
	check_limit(GET "X: ", "x", 100000, "", "431\n");
	check_limit("", "x", 100000, "", "414\n");
	fill(&fits, GET "X: ", "x", 1000, "\r\n\r\n");
	assert_int_equal(fits.length, 1000);
	run(buffer_span(&fits), 1000, 1000, &out);
	assert_memory_equal(out.data, "GET / host=a x=[xxx", 19);

	/* Framing without end: zeros, extensions, trailers. */
	check_limit(chunked, "0", 100000, "", "400\n");
	{
		_free_ char *before = memory_format("%s1;", chunked);

		check_limit(before, "e", 100000, "", "400\n");
	}
	{
		_free_ char *before = memory_format("%s0\r\nX: ", chunked);

		check_limit(before, "t", 100000, "", "400\n");
	}
	{
		_free_ char *before = memory_format("%s0\r\n", chunked);

		check_limit(before, "X: y\r\n", 100000, "", "400\n");
	}
}

static void test_body_of_the_largest_size(void **state)
{
	_buffer_ struct buffer input = {0};
	_buffer_ struct buffer expected = {0};

	(void)state;
	fill(&input, POST "Content-Length: 100\r\n\r\n", "0123456789", 0, "");
	for (int i = 0; i < 10; i++)
		buffer_add_string(&input, "0123456789");
	buffer_add_string(&expected, "POST / host=a content-length=[100] body=");
	for (int i = 0; i < 10; i++)
		buffer_add_string(&expected, "0123456789");
	buffer_add_char(&expected, '\n');
	check("largest body", buffer_span(&input), expected.data);
}

static void test_header_lookup(void **state)
{
	const struct http_header headers[] = {
		{SPAN("a"), SPAN("1")}, {SPAN("b"), SPAN("2")}, {SPAN("b"), SPAN("3")}};
	const struct http_request request = {.headers = headers, .header_count = 3};

	(void)state;
	assert_true(span_is(http_request_header(&request, SPAN("b")), "2"));
	assert_null(http_request_header(&request, SPAN("c")).data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_smuggling),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_body_of_the_largest_size),
		cmocka_unit_test(test_header_lookup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
