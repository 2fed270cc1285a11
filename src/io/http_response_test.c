/* Heads of answers as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/http_response.h"

static void test_a_head(void **state)
{
	const struct http_header headers[] = {
		{SPAN("Content-Type"), SPAN("text/plain")}, {SPAN("X"), SPAN("")}};
	_buffer_ struct buffer out = {0};

	(void)state;
	http_response_begin_head(&out, 404, headers, 2, HTTP_FRAMING_LENGTH, 12);
	http_response_end_head(&out, "today", HTTP_CLOSE);
	assert_string_equal(out.data, "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nX: "
				      "\r\nContent-Length: 12\r\n"
				      "Date: today\r\nConnection: close\r\n\r\n");
}

static void test_framing_and_persistence(void **state)
{
	static const struct {
		enum http_framing framing;
		enum http_persistence persistence;
		const char *expected;
	} cases[] = {
		{HTTP_FRAMING_CHUNKED, HTTP_KEEP_ALIVE,
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nDate: d\r\n\r\n"},
		{HTTP_FRAMING_CLOSE, HTTP_CLOSE,
			"HTTP/1.1 200 OK\r\nDate: d\r\nConnection: close\r\n\r\n"},
		{HTTP_FRAMING_NONE, HTTP_KEEP_ALIVE_SAID,
			"HTTP/1.1 200 OK\r\nDate: d\r\nConnection: keep-alive\r\n\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_buffer_ struct buffer out = {0};

		http_response_begin_head(&out, 200, NULL, 0, cases[i].framing, 5);
		http_response_end_head(&out, "d", cases[i].persistence);
		assert_string_equal(out.data, cases[i].expected);
	}
}

/* A value that came from a client cannot begin a header of its own. */
static void test_no_header_is_injected(void **state)
{
	const struct http_header headers[] = {
		{SPAN("Location"), SPAN("/x\r\nSet-Cookie: a=b\0\x7f\tz")}};
	_buffer_ struct buffer out = {0};

	(void)state;
	http_response_begin_head(&out, 777, headers, 1, HTTP_FRAMING_NONE, 0);
	assert_string_equal(out.data,
		"HTTP/1.1 777 Unknown\r\nLocation: /x  Set-Cookie: a=b  \tz\r\n");
}

static void test_dates(void **state)
{
	char date[HTTP_DATE_SIZE];

	(void)state;
	http_response_format_date(INT64_C(784111777123), date);
	assert_string_equal(date, "Sun, 06 Nov 1994 08:49:37 GMT");
	http_response_format_date(0, date);
	assert_string_equal(date, "Thu, 01 Jan 1970 00:00:00 GMT");
}

static void test_statuses_without_body(void **state)
{
	(void)state;
	assert_true(http_status_is_bodiless(100));
	assert_true(http_status_is_bodiless(204));
	assert_true(http_status_is_bodiless(304));
	assert_false(http_status_is_bodiless(200));
	assert_false(http_status_is_bodiless(404));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_head),
		cmocka_unit_test(test_framing_and_persistence),
		cmocka_unit_test(test_no_header_is_injected),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_statuses_without_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
