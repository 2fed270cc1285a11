#include "io/http_upgrade.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "base/buffer.h"
#include "io/http_client_easy.h"

#define POLL_SLICE_MS 100 /* how soon a cancellation is noticed */
#define SENDING_SIZE ((size_t)16 * 1024)

struct http_upgrade {
	CURL *easy;
	struct http_client_easy_lists lists;
	curl_socket_t socket;
	struct buffer early; /* came behind the answer's head */
	char sending[SENDING_SIZE];
	size_t sending_length; /* 0: nothing waits to be taken by the connection */
	char problem[CURL_ERROR_SIZE];
};

/* An upgrade that is being opened. */
struct opening {
	const struct http_client_request *request;
	struct http_upgrade *upgrade;
	int64_t deadline_ms;
};

static int64_t now_ms(void)
{
	struct timespec now;

	/* The kernel's own clock: it is the one that poll() waits by. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void http_upgrade_free(struct http_upgrade *upgrade)
{
	if (!upgrade)
		return;
	curl_easy_cleanup(upgrade->easy);
	http_client_easy_lists_clear(&upgrade->lists);
	buffer_clear(&upgrade->early);
	free(upgrade);
}

static void free_pointer(struct http_upgrade **upgrade)
{
	http_upgrade_free(*upgrade);
}

/* ---- bytes ---- */

int http_upgrade_descriptor(const struct http_upgrade *upgrade)
{
	return (int)upgrade->socket;
}

ssize_t http_upgrade_receive(struct http_upgrade *upgrade, void *data, size_t size)
{
	size_t got = 0;
	CURLcode result;

	if (upgrade->early.length > 0) {
		got = upgrade->early.length < size ? upgrade->early.length : size;
		memcpy(data, upgrade->early.data, got);
		buffer_consume(&upgrade->early, got);
		return (ssize_t)got;
	}
	result = curl_easy_recv(upgrade->easy, data, size, &got);
	if (result == CURLE_AGAIN)
		return 0;
	if (result != CURLE_OK)
		return -ECONNRESET;
	return got > 0 ? (ssize_t)got : -EPIPE;
}

/*
 * TLS that could not send a piece wants exactly the same one the next time, at the same address: so pieces
 * go by way of a place of ours, whatever the caller does to his bytes meanwhile.
 */
ssize_t http_upgrade_send(struct http_upgrade *upgrade, const void *data, size_t size)
{
	size_t sent = 0;
	CURLcode result;

	if (upgrade->sending_length == 0) {
		upgrade->sending_length = size < SENDING_SIZE ? size : SENDING_SIZE;
		memcpy(upgrade->sending, data, upgrade->sending_length);
	}
	result = curl_easy_send(upgrade->easy, upgrade->sending, upgrade->sending_length, &sent);
	if (result == CURLE_AGAIN)
		return 0;
	upgrade->sending_length = 0;
	return result == CURLE_OK ? (ssize_t)sent : -ECONNRESET;
}

/* ---- opening ---- */

static int fail(const struct opening *opening, int code, const char *reason, struct err *err)
{
	return http_client_easy_fail(opening->request, code, reason, err);
}

static bool is_cancelled(const struct opening *opening)
{
	const struct http_client_cancel *cancel = opening->request->cancel;

	return cancel && atomic_load(&cancel->requested);
}

static int check_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t total_sent,
	curl_off_t now_sent)
{
	(void)total;
	(void)now;
	(void)total_sent;
	(void)now_sent;
	return is_cancelled(context) ? 1 : 0;
}

static int connect_it(struct opening *opening, struct err *err)
{
	struct http_upgrade *upgrade = opening->upgrade;
	CURL *easy = upgrade->easy;
	CURLcode result;
	int code;

	code = http_client_easy_set(easy, opening->request, false, &upgrade->lists, err);
	if (code < 0)
		return code;
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, upgrade->problem);
	curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, check_progress);
	curl_easy_setopt(easy, CURLOPT_XFERINFODATA, opening);
	result = curl_easy_perform(easy);
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L); /* `opening` ends before the handle does */
	if (result == CURLE_ABORTED_BY_CALLBACK)
		return fail(opening, -ECANCELED, "cancelled", err);
	if (result != CURLE_OK)
		return fail(opening, http_client_easy_code(result),
			upgrade->problem[0] ? upgrade->problem : curl_easy_strerror(result), err);
	if (curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &upgrade->socket) != CURLE_OK ||
		upgrade->socket == CURL_SOCKET_BAD)
		return fail(opening, -EIO, "there is no connection", err);
	return 0;
}

/* Until something can be done, in slices. */
static int wait_for(const struct opening *opening, short events, struct err *err)
{
	for (;;) {
		struct pollfd polled = {http_upgrade_descriptor(opening->upgrade), events, 0};

		if (is_cancelled(opening))
			return fail(opening, -ECANCELED, "cancelled", err);
		if (now_ms() >= opening->deadline_ms)
			return fail(opening, -ETIMEDOUT, "no answer in time", err);
		if (poll(&polled, 1, POLL_SLICE_MS) > 0)
			return 0;
	}
}

/* "scheme://host:port" and the path with its query. */
static void split_url(const char *url, struct span *ret_host, struct span *ret_path)
{
	const char *host = strstr(url, "://") + 3;
	size_t length = strcspn(host, "/?#");

	*ret_host = (struct span){host, length};
	*ret_path = host[length] == '/' ? span_of(host + length) : SPAN("/");
}

static void write_head(const struct http_client_request *request, struct buffer *out)
{
	struct span host, path;

	split_url(request->url, &host, &path);
	buffer_format(out, "GET %.*s HTTP/1.1\r\nHost: %.*s\r\nConnection: Upgrade\r\n",
		SPAN_ARGS(path), SPAN_ARGS(host));
	buffer_add_string(out, "User-Agent: slipway/" SLIPWAY_VERSION "\r\n");
	for (size_t i = 0; i < request->header_count; i++)
		buffer_format(out, "%.*s: %.*s\r\n", SPAN_ARGS(request->headers[i].name),
			SPAN_ARGS(request->headers[i].value));
	buffer_add_string(out, "\r\n");
}

static int send_head(const struct opening *opening, struct err *err)
{
	_buffer_ struct buffer head = {0};

	write_head(opening->request, &head);
	while (head.length > 0) {
		ssize_t sent = http_upgrade_send(opening->upgrade, head.data, head.length);
		int code = 0;

		if (sent < 0)
			return fail(opening, (int)sent, "the connection broke", err);
		buffer_consume(&head, (size_t)sent);
		if (sent == 0)
			code = wait_for(opening, POLLOUT, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* 1: more came; 0: the other side has ended. */
static int receive_more(const struct opening *opening, struct buffer *in, struct err *err)
{
	char data[4096];

	for (;;) {
		ssize_t got = http_upgrade_receive(opening->upgrade, data, sizeof(data));
		int code;

		if (got > 0) {
			buffer_add(in, data, (size_t)got);
			return 1;
		}
		if (got == -EPIPE)
			return 0;
		if (got < 0)
			return fail(opening, (int)got, "the connection broke", err);
		code = wait_for(opening, POLLIN, err);
		if (code < 0)
			return code;
	}
}

static int read_head(const struct opening *opening, struct buffer *in, struct arena *arena,
	struct http_client_response **ret_response, struct err *err)
{
	const char *end = NULL;
	struct span status;
	uint64_t number;
	size_t length;
	int code;

	while (!(in->data && (end = strstr(in->data, "\r\n\r\n")))) {
		if (in->length > HTTP_CLIENT_HEAD_MAX)
			return fail(opening, -EFBIG, "the answer's head is too long", err);
		code = receive_more(opening, in, err);
		if (code == 0)
			return fail(opening, -ECONNRESET, "the connection ended without an answer",
				err);
		if (code < 0)
			return code;
	}
	length = (size_t)(end - in->data) + 4;
	status = (struct span){in->data + 9, 3};
	if (length < 14 || strncmp(in->data, "HTTP/1.", 7) != 0 ||
		!span_to_unsigned(status, 999, &number) || number < 100)
		return fail(opening, -EPROTO, "the answer is not HTTP", err);
	code = http_client_easy_read_head((struct span){in->data, length}, arena, ret_response);
	if (code < 0)
		return fail(opening, code, "the answer needs more memory than it may have", err);
	(*ret_response)->status = (int)number;
	buffer_consume(in, length);
	return 0;
}

/* The text without what chunks put around it; as much as makes sense. */
static struct span join_chunks(struct span text, struct arena *arena)
{
	_buffer_ struct buffer out = {0};
	struct span line;

	while (span_split(text, '\n', &line, &text)) {
		size_t length = strtoul(arena_copy(arena, line.data, line.length), NULL, 16);

		if (length == 0 || length > text.length)
			break;
		buffer_add(&out, text.data, length);
		text.data += length;
		text.length -= length;
		if (text.length >= 2) {
			text.data += 2;
			text.length -= 2;
		}
	}
	return arena_copy_span(arena, buffer_span(&out));
}

static bool has_body(const struct http_client_response *response, const struct buffer *in)
{
	struct span length = http_client_header(response, "content-length");
	uint64_t expected;

	if (length.data && span_to_unsigned(length, HTTP_UPGRADE_REFUSAL_MAX, &expected))
		return in->length >= expected;
	return in->length >= 5 && memcmp(in->data + in->length - 5, "0\r\n\r\n", 5) == 0;
}

/* Reads the body of a refusal: until its length, its last chunk, the end or the limit. */
static int read_body(const struct opening *opening, struct buffer *in, struct arena *arena,
	struct http_client_response *response, struct err *err)
{
	struct span encoding = http_client_header(response, "transfer-encoding");
	int code = 1;

	while (code > 0 && in->length < HTTP_UPGRADE_REFUSAL_MAX && !has_body(response, in))
		code = receive_more(opening, in, err);
	if (code < 0)
		return code;
	response->body = encoding.data ? join_chunks(buffer_span(in), arena)
				       : arena_copy_span(arena, buffer_span(in));
	return 0;
}

static int open_upgrade(const struct http_client_request *request, struct arena *arena,
	struct http_client_response **ret_response, struct http_upgrade **ret_upgrade,
	struct err *err)
{
	CLEANUP(free_pointer)
	struct http_upgrade *upgrade = memory_allocate(sizeof(*upgrade));
	struct opening opening = {request, upgrade,
		now_ms() + (request->total_timeout_ms > 0 ? request->total_timeout_ms
							  : HTTP_CLIENT_TOTAL_TIMEOUT_MS)};
	struct http_client_response *response;
	_buffer_ struct buffer in = {0};
	int code;

	upgrade->easy = curl_easy_init();
	if (!upgrade->easy)
		abort(); /* no memory */
	code = connect_it(&opening, err);
	if (code == 0)
		code = send_head(&opening, err);
	if (code == 0)
		code = read_head(&opening, &in, arena, &response, err);
	if (code == 0 && response->status != 101)
		code = read_body(&opening, &in, arena, response, err);
	if (code < 0)
		return code;
	*ret_response = response;
	*ret_upgrade = NULL;
	if (response->status == 101) {
		buffer_add_span(&upgrade->early, buffer_span(&in));
		*ret_upgrade = TAKE(upgrade);
	}
	return 0;
}

int http_upgrade_open(const struct http_client_request *request, struct arena *arena,
	struct http_client_response **ret_response, struct http_upgrade **ret_upgrade,
	struct err *err)
{
	int code = libcurl_load(err);

	return code < 0 ? code : open_upgrade(request, arena, ret_response, ret_upgrade, err);
}
