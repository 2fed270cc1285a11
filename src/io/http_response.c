#include "io/http_response.h"

#include <stdio.h>
#include <time.h>

#include "base/memory.h"

/* One row a status: the number and the words. */
#define STATUSES(X)                                                                                \
	X(100, "Continue")                                                                         \
	X(101, "Switching Protocols")                                                              \
	X(200, "OK")                                                                               \
	X(201, "Created")                                                                          \
	X(202, "Accepted")                                                                         \
	X(204, "No Content")                                                                       \
	X(206, "Partial Content")                                                                  \
	X(301, "Moved Permanently")                                                                \
	X(302, "Found")                                                                            \
	X(303, "See Other")                                                                        \
	X(304, "Not Modified")                                                                     \
	X(307, "Temporary Redirect")                                                               \
	X(308, "Permanent Redirect")                                                               \
	X(400, "Bad Request")                                                                      \
	X(401, "Unauthorized")                                                                     \
	X(403, "Forbidden")                                                                        \
	X(404, "Not Found")                                                                        \
	X(405, "Method Not Allowed")                                                               \
	X(406, "Not Acceptable")                                                                   \
	X(408, "Request Timeout")                                                                  \
	X(409, "Conflict")                                                                         \
	X(410, "Gone")                                                                             \
	X(411, "Length Required")                                                                  \
	X(412, "Precondition Failed")                                                              \
	X(413, "Content Too Large")                                                                \
	X(414, "URI Too Long")                                                                     \
	X(415, "Unsupported Media Type")                                                           \
	X(416, "Range Not Satisfiable")                                                            \
	X(417, "Expectation Failed")                                                               \
	X(421, "Misdirected Request")                                                              \
	X(422, "Unprocessable Content")                                                            \
	X(428, "Precondition Required")                                                            \
	X(429, "Too Many Requests")                                                                \
	X(431, "Request Header Fields Too Large")                                                  \
	X(500, "Internal Server Error")                                                            \
	X(501, "Not Implemented")                                                                  \
	X(502, "Bad Gateway")                                                                      \
	X(503, "Service Unavailable")                                                              \
	X(504, "Gateway Timeout")                                                                  \
	X(505, "HTTP Version Not Supported")                                                       \
	X(507, "Insufficient Storage")

#define STATUS_MAX 600

static const char *const status_texts[STATUS_MAX] = {
#define STATUS_TEXT(number, text) [number] = text,
	STATUSES(STATUS_TEXT)};

static const struct span status_lines[STATUS_MAX] = {
#define STATUS_LINE(number, text)                                                                  \
	[number] = {"HTTP/1.1 " #number " " text "\r\n",                                           \
		sizeof("HTTP/1.1 " #number " " text "\r\n") - 1},
	STATUSES(STATUS_LINE)};

const char *http_status_text(int status)
{
	if (status < 0 || status >= STATUS_MAX || !status_texts[status])
		return "Unknown";
	return status_texts[status];
}

bool http_status_is_bodiless(int status)
{
	return status < 200 || status == 204 || status == 304;
}

static void add_status_line(struct buffer *out, int status)
{
	if (status >= 0 && status < STATUS_MAX && status_lines[status].data)
		buffer_add_span(out, status_lines[status]);
	else
		buffer_format(out, "HTTP/1.1 %03d Unknown\r\n", status);
}

static void add_clean(struct buffer *out, struct span text)
{
	size_t begin = out->length;

	buffer_add_span(out, text);
	for (size_t i = begin; i < out->length; i++) {
		unsigned char c = (unsigned char)out->data[i];

		if ((c < ' ' && c != '\t') || c == 0x7F)
			out->data[i] = ' ';
	}
}

void http_response_begin_head(struct buffer *out, int status, const struct http_header *headers,
	size_t header_count, enum http_framing framing, size_t length)
{
	add_status_line(out, status);
	for (size_t i = 0; i < header_count; i++) {
		add_clean(out, headers[i].name);
		buffer_add(out, ": ", 2);
		add_clean(out, headers[i].value);
		buffer_add(out, "\r\n", 2);
	}
	if (framing == HTTP_FRAMING_LENGTH) {
		buffer_add_span(out, SPAN("Content-Length: "));
		buffer_add_unsigned(out, length);
		buffer_add(out, "\r\n", 2);
	} else if (framing == HTTP_FRAMING_CHUNKED) {
		buffer_add_span(out, SPAN("Transfer-Encoding: chunked\r\n"));
	}
}

/* Not strftime(): the names of days must not depend on the locale. */
void http_response_format_date(int64_t wall_ms, char out[HTTP_DATE_SIZE])
{
	static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
	static const char months[][4] = {
		"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm parts;

	gmtime_r(&seconds, &parts);
	snprintf(out, HTTP_DATE_SIZE, "%s, %02d %s %04d %02d:%02d:%02d GMT",
		days[parts.tm_wday % 7], parts.tm_mday % 100, months[parts.tm_mon % 12],
		(parts.tm_year + 1900) % 10000, parts.tm_hour % 100, parts.tm_min % 100,
		parts.tm_sec % 100);
}

void http_response_end_head(struct buffer *out, const char *date, enum http_persistence persistence)
{
	static const struct span ends[] = {
		[HTTP_KEEP_ALIVE] = {"\r\n\r\n", 4},
		[HTTP_KEEP_ALIVE_SAID] = {"\r\nConnection: keep-alive\r\n\r\n", 28},
		[HTTP_CLOSE] = {"\r\nConnection: close\r\n\r\n", 23},
	};

	buffer_add_span(out, SPAN("Date: "));
	buffer_add_string(out, date);
	buffer_add_span(out, ends[persistence]);
}
