/* One call, or one stream of lines; see the header. */
#include "runtime/docker/api.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "runtime/docker/raw.h"

#define CONNECT_MS 5000
#define LINE_MAX_BYTES ((size_t)1024 * 1024)
#define MESSAGE_MAX 700 /* of the daemon's message, so that ours fits around it */

int docker_api_open(struct docker_api *api, const char *socket, struct err *err)
{
	*api = (struct docker_api){.socket = memory_copy_string(socket)};
	lock_init(&api->lock);
	return http_client_new(&api->client, err);
}

void docker_api_cancel(struct docker_api *api)
{
	if (api->client)
		http_client_cancel(api->client, &api->cancel);
}

void docker_api_close(struct docker_api *api)
{
	http_client_free(TAKE(api->client));
	free(TAKE(api->socket));
	lock_destroy(&api->lock);
}

/* ---- versions ---- */

/* "1.41" */
static bool read_version(struct span text, unsigned *ret_minor)
{
	struct span major, minor;
	uint64_t number;

	if (!text.data || !span_split(text, '.', &major, &minor) || !span_is(major, "1") ||
		!span_to_unsigned(minor, 9999, &number))
		return false;
	*ret_minor = (unsigned)number;
	return true;
}

int docker_api_choose(const struct json *versions, unsigned *ret_minor, struct err *err)
{
	struct span newest_text = json_get_text(versions, "ApiVersion");
	unsigned newest, oldest;

	if (!read_version(newest_text, &newest))
		return err_set(err, -ENOTSUP, "what answers is no Docker Engine");
	if (!read_version(json_get_text(versions, "MinAPIVersion"), &oldest))
		oldest = 0;
	if (newest < DOCKER_API_OLDEST)
		return err_set(err, -ENOTSUP,
			"the daemon speaks version 1.%u of Docker's API at most; slipway needs "
			"1.%d",
			newest, DOCKER_API_OLDEST);
	if (oldest > DOCKER_API_NEWEST)
		return err_set(err, -ENOTSUP,
			"the daemon speaks version 1.%u of Docker's API at least; this slipway "
			"knows up to 1.%d",
			oldest, DOCKER_API_NEWEST);
	*ret_minor = newest < DOCKER_API_NEWEST ? newest : DOCKER_API_NEWEST;
	return 0;
}

void docker_api_prefix(struct docker_api *api, char prefix[16])
{
	unsigned minor;

	lock_take(&api->lock);
	minor = api->minor;
	lock_release(&api->lock);
	snprintf(prefix, 16, "/v1.%u", minor ? minor : DOCKER_API_OLDEST);
}

/* ---- answers ---- */

/* The daemon's message in the body of an error. */
static struct span message_of(struct arena *arena, struct span body, int status)
{
	struct json *answer;
	struct span text = SPAN_NONE;

	if (body.length > 0 && json_parse(body, arena, &answer, NULL) == 0) {
		text = json_get_text(answer, "message");
		if (!text.data)
			text = json_get_text(answer, "cause");
	}
	if (!text.data || text.length == 0)
		return arena_format(arena, "the daemon answered %d", status);
	if (text.length > MESSAGE_MAX)
		text.length = MESSAGE_MAX;
	while (text.length > 0 && text.data[text.length - 1] == '\n')
		text.length--;
	return text;
}

static int refuse(int status, struct span body, struct arena *arena, struct err *err)
{
	struct span message = message_of(arena, body, status);
	int code = -EINVAL;

	if (status == 404)
		code = -ENOENT;
	else if (status == 409)
		code = -EEXIST;
	else if (status == 503 || status == 408 || status == 429)
		code = -EAGAIN;
	else if (status >= 500)
		code = -EREMOTEIO;
	return err_set(err, code, "%.*s", SPAN_ARGS(message));
}

/* libcurl does not say why it cannot connect to a socket; a second attempt does, unless that
 * succeeds. */
static void explain(const char *socket, struct err *err)
{
	static const struct {
		int code;
		const char *hint;
	} hints[] = {
		{ENOENT, "; is Docker running, and is that its socket (--docker-socket)?"},
		{ECONNREFUSED, "; is Docker running?"},
		{EACCES, "; add the user to the group 'docker'"},
		{EPERM, "; add the user to the group 'docker'"},
	};
	int code = docker_raw_try(socket);

	if (code == 0)
		return;
	err_set(err, code, "%s", strerror(-code));
	for (size_t i = 0; i < LENGTH(hints); i++)
		if (hints[i].code == -code)
			err_set(err, code, "%s%s", strerror(-code), hints[i].hint);
}

/* Any failure before a response. */
static int no_answer(int code, const char *socket, struct err *err)
{
	if (code == -ECANCELED || code == -EFBIG)
		return code;
	if (code == -ECONNREFUSED)
		explain(socket, err);
	err_prefix(err, code, "Docker at '%s'", socket);
	if (err)
		err->code = -EAGAIN;
	return -EAGAIN;
}

static int make_url(struct docker_api *api, const char *path, va_list list, bool versioned,
	char url[DOCKER_API_PATH_MAX], struct err *err)
{
	char prefix[16] = "";
	int used, more;

	if (versioned)
		docker_api_prefix(api, prefix);
	used = snprintf(url, DOCKER_API_PATH_MAX, "http://docker%s", prefix);
	more = vsnprintf(url + used, DOCKER_API_PATH_MAX - (size_t)used, path, list);
	if (more < 0 || more >= DOCKER_API_PATH_MAX - used)
		return err_set(err, -EINVAL, "a request's path is longer than %d bytes",
			DOCKER_API_PATH_MAX);
	return 0;
}

static struct http_client_request client_request(struct docker_api *api,
	const struct docker_request *request, const char *url, struct http_header *header)
{
	*header = (struct http_header){SPAN("content-type"),
		request && request->type ? span_of(request->type) : SPAN("application/json")};
	return (struct http_client_request){
		.method = request ? request->method : NULL,
		.url = url,
		.headers = header,
		.header_count = 1,
		.body = request ? request->body : SPAN_NONE,
		.unix_socket = api->socket,
		.connect_timeout_ms = CONNECT_MS,
		.cancel = &api->cancel,
	};
}

static int call(struct docker_api *api, const struct docker_request *request, const char *url,
	struct arena *arena, struct json **ret_answer, struct err *err)
{
	struct http_header header;
	struct http_client_request sent = client_request(api, request, url, &header);
	struct http_client_response *response;
	int code;

	sent.total_timeout_ms =
		request && request->timeout_ms ? request->timeout_ms : DOCKER_ANSWER_MS;
	code = http_client_request(api->client, &sent, arena, &response, err);
	if (code < 0)
		return no_answer(code, api->socket, err);
	if (response->status >= 400)
		return refuse(response->status, response->body, arena, err);
	if (!ret_answer)
		return 0;
	*ret_answer = NULL;
	if (response->body.length == 0)
		return 0;
	code = json_parse(response->body, arena, ret_answer, err);
	return code < 0 ? no_answer(code, api->socket, err) : 0;
}

int docker_call(struct docker_api *api, const struct docker_request *request, struct arena *arena,
	struct json **ret_answer, struct err *err, const char *path, ...)
{
	char url[DOCKER_API_PATH_MAX];
	va_list list;
	int code;

	va_start(list, path);
	code = make_url(api, path, list, true, url, err);
	va_end(list);
	return code < 0 ? code : call(api, request, url, arena, ret_answer, err);
}

int docker_api_negotiate(struct docker_api *api, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct docker_request request = {.timeout_ms = DOCKER_ANSWER_MS};
	struct json *versions;
	unsigned minor;
	int code = call(api, &request, "http://docker/version", arena, &versions, err);

	if (code == 0)
		code = docker_api_choose(versions, &minor, err);
	if (code < 0)
		return code;
	lock_take(&api->lock);
	api->minor = minor;
	lock_release(&api->lock);
	return 0;
}

/* ---- streams of lines ---- */

struct reading {
	const struct docker_lines *lines;
	struct buffer text; /* of the response that is not a line yet, or of an error */
	int status;
	int ended;        /* aborted by us, with this code */
	struct err words; /* and this error */
};

static int take_head(void *context, const struct http_client_response *response)
{
	struct reading *reading = context;

	reading->status = response->status;
	if (reading->status < 400 && reading->lines->begun)
		return reading->lines->begun(reading->lines->context);
	return 0;
}

static int take_line(struct reading *reading, struct span line)
{
	_arena_ struct arena *arena = NULL;
	struct json *value;
	int code;

	line = span_trim(line);
	if (line.length > 0 && line.data[line.length - 1] == '\r')
		line.length--;
	if (line.length == 0)
		return 0;
	arena = arena_new(0);
	code = json_parse(line, arena, &value, &reading->words);
	return code < 0 ? code
			: reading->lines->line(reading->lines->context, value, &reading->words);
}

static int take_chunk(void *context, struct span data)
{
	struct reading *reading = context;
	const char *newline;
	size_t from = reading->text.length, done = 0;

	buffer_add_span(&reading->text, data);
	if (buffer_failed(&reading->text))
		return reading->ended = err_set(&reading->words, -EPROTO,
			       "a line is longer than %zu bytes", LINE_MAX_BYTES);
	while (reading->status < 400 &&
		(newline = memchr(reading->text.data + from, '\n', reading->text.length - from))) {
		size_t end = (size_t)(newline - reading->text.data);
		int code = take_line(reading, (struct span){reading->text.data + done, end - done});

		if (code != 0)
			return reading->ended = code;
		from = done = end + 1;
	}
	if (done > 0)
		buffer_consume(&reading->text, done);
	return 0;
}

int docker_stream_lines(struct docker_api *api, const struct docker_request *request,
	const struct docker_lines *lines, struct err *err, const char *path, ...)
{
	_arena_ struct arena *arena = arena_new(0);
	struct reading reading = {.lines = lines, .text = BUFFER_WITH_CAP(LINE_MAX_BYTES)};
	struct http_client_reader reader = {
		.head = take_head, .chunk = take_chunk, .context = &reading};
	struct http_client_request sent;
	struct http_header header;
	char url[DOCKER_API_PATH_MAX];
	va_list list;
	int code;

	va_start(list, path);
	code = make_url(api, path, list, true, url, err);
	va_end(list);
	if (code < 0)
		return code;
	sent = client_request(api, request, url, &header);
	sent.idle_timeout_ms = lines->idle_timeout_ms;
	code = http_client_stream(api->client, &sent, &reader, err);
	if (code == 0 && reading.status >= 400)
		code = refuse(reading.status, buffer_span(&reading.text), arena, err);
	else if (code == 0)
		code = reading.ended = take_line(&reading, buffer_span(&reading.text));
	else if (!reading.ended)
		code = no_answer(code, api->socket, err);
	if (reading.ended && err)
		*err = reading.words;
	buffer_clear(&reading.text);
	return code;
}

struct span docker_escape(struct arena *arena, struct span text)
{
	_buffer_ struct buffer out = {0};

	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			(c && strchr("-_.~/:@", c)))
			buffer_add_char(&out, (char)c);
		else
			buffer_format(&out, "%%%02X", (unsigned)c);
	}
	return arena_copy_span(arena, buffer_span(&out));
}
