/* Signed requests to a running server; see remote.h. */
#include "cli/remote.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/caller.h"
#include "aws/sigv4.h"
#include "base/file.h"
#include "io/http_client.h"
#include "server/config.h"

#define AUTHORITIES_MAX ((size_t)4 * 1024 * 1024)
#define REFUSAL_MAX ((size_t)64 * 1024)

struct credentials {
	char id[128];
	char secret[256];
	char source[PATH_MAX]; /* where they were found */
};

int remote_read_admin_key(const struct remote_options *options, struct arena *arena,
	struct admin_key *ret_key, struct err *err)
{
	struct server_config config;
	int code;

	server_config_init(&config);
	config.state = options->state;
	code = server_config_check(&config, arena, err);
	if (code < 0)
		return code;
	return admin_key_read(arena_format(arena, "%s/%s", config.state, ADMIN_KEY_FILE).data,
		ret_key, err);
}

static int read_credentials(const struct remote_options *options, struct arena *arena,
	struct credentials *ret_credentials, struct err *err)
{
	const char *id = getenv("AWS_ACCESS_KEY_ID"), *secret = getenv("AWS_SECRET_ACCESS_KEY");
	struct admin_key key;
	int code;

	if (!options->state && id && secret) {
		snprintf(ret_credentials->id, sizeof(ret_credentials->id), "%s", id);
		snprintf(ret_credentials->secret, sizeof(ret_credentials->secret), "%s", secret);
		snprintf(ret_credentials->source, sizeof(ret_credentials->source),
			"$AWS_ACCESS_KEY_ID");
		return 0;
	}
	code = remote_read_admin_key(options, arena, &key, err);
	if (code < 0)
		return err_prefix(err, code,
			"no key to sign with: give --state, or set AWS_ACCESS_KEY_ID and "
			"AWS_SECRET_ACCESS_KEY");
	snprintf(ret_credentials->id, sizeof(ret_credentials->id), "%s", key.id);
	snprintf(ret_credentials->secret, sizeof(ret_credentials->secret), "%s", key.secret);
	snprintf(ret_credentials->source, sizeof(ret_credentials->source), "%s", key.path);
	admin_key_clear(&key);
	return 0;
}

/* The Host header that goes with a URL. */
static struct span host_of(const char *url)
{
	const char *start = strstr(url, "://");

	start = start ? start + 3 : url;
	return (struct span){start, strcspn(start, "/")};
}

struct remote {
	struct http_client *client;
	struct credentials credentials;
	char *url;
	char *region;
	struct buffer authorities;
};

char *remote_url(const struct remote_options *options)
{
	const char *url = options->server ? options->server : getenv("SLIPWAY_SERVER");
	size_t length;

	if (!url)
		url = REMOTE_DEFAULT_SERVER;
	length = strlen(url);
	while (length > 0 && url[length - 1] == '/')
		length--;
	return memory_copy_string_n(url, length);
}

/* Tasks are those of the region that a request is signed for. */
static const char *region_of_environment(void)
{
	static const char *const names[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};

	for (size_t i = 0; i < LENGTH(names); i++) {
		const char *region = getenv(names[i]);

		if (region && region[0])
			return region;
	}
	return AWS_REGION_DEFAULT;
}

int remote_open(const struct remote_options *options, struct remote **ret_remote, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	_remote_ struct remote *remote = memory_allocate(sizeof(*remote));
	int code = 0;

	if (options->authorities)
		code = file_read(options->authorities, AUTHORITIES_MAX, &remote->authorities, err);
	if (code == 0)
		code = read_credentials(options, arena, &remote->credentials, err);
	if (code == 0)
		code = http_client_new(&remote->client, err);
	if (code < 0)
		return code;
	remote->url = remote_url(options);
	remote->region = memory_copy_string(region_of_environment());
	*ret_remote = TAKE(remote);
	return 0;
}

void remote_close(struct remote *remote)
{
	if (!remote)
		return;
	http_client_free(remote->client);
	explicit_bzero(&remote->credentials, sizeof(remote->credentials));
	buffer_clear(&remote->authorities);
	free(remote->url);
	free(remote->region);
	free(remote);
}

void remote_close_pointer(struct remote **remote)
{
	remote_close(*remote);
}

/* A signed request in the arena. */
static struct http_client_request *sign(struct remote *remote, const char *method, const char *path,
	struct span body, const char *type, struct arena *arena)
{
	struct sigv4_header host = {SPAN("host"), host_of(remote->url)};
	struct sigv4_request form = {.method = span_of(method),
		.path = span_of(path),
		.query = SPAN(""),
		.headers = &host,
		.header_count = 1,
		.body = body};
	struct sigv4_credentials key = {.access_key = span_of(remote->credentials.id),
		.secret = span_of(remote->credentials.secret)};
	struct sigv4_header added[4];
	struct http_client_request *request = arena_allocate(arena, sizeof(*request));
	struct http_header *headers =
		arena_allocate_array(arena, LENGTH(added) + 1, sizeof(*headers));

	span_split(span_of(path), '?', &form.path, &form.query);
	*request = (struct http_client_request){
		.method = method,
		.url = arena_format(arena, "%s%s", remote->url, path).data,
		.headers = headers,
		.body = body.length > 0 ? body : SPAN_NONE,
		.tls = {.authorities = remote->authorities.data ? buffer_span(&remote->authorities)
								: SPAN_NONE},
	};
	request->header_count = sigv4_sign(&form, &key, span_of(remote->region), SPAN("slipway"),
		clock_wall_ms(clock_system()), arena, added);
	for (size_t i = 0; i < request->header_count; i++)
		headers[i] = (struct http_header){added[i].name, added[i].value};
	headers[request->header_count++] =
		(struct http_header){SPAN("content-type"), span_of(type)};
	return request;
}

static int code_of(int status)
{
	static const struct {
		int status, code;
	} codes[] = {{404, -ENOENT}, {429, -EAGAIN}, {502, -EBUSY}, {503, -EBUSY}, {504, -EBUSY}};

	for (size_t i = 0; i < LENGTH(codes); i++)
		if (codes[i].status == status)
			return codes[i].code;
	return -EREMOTEIO;
}

/* Errors that mean the key, and not what it may do. */
static bool refuses_key(struct span type)
{
	static const char *const types[] = {"UnrecognizedClientException",
		"InvalidSignatureException", "IncompleteSignatureException",
		"MissingAuthenticationTokenException", "ExpiredTokenException"};

	for (size_t i = 0; i < LENGTH(types); i++)
		if (span_is(type, types[i]))
			return true;
	return false;
}

static int refused(const struct remote *remote, int status, const struct json *answer,
	struct err *err)
{
	struct span message = json_get_text(answer, "message"),
		    type = json_get_text(answer, "code");

	if (refuses_key(type))
		return err_set(err, code_of(status),
			"%.*s (%.*s, HTTP %d): signed with key %s from %s; 'slipway key "
			"show-admin' "
			"prints the server's own key",
			SPAN_ARGS(message), SPAN_ARGS(type), status, remote->credentials.id,
			remote->credentials.source);
	return err_set(err, code_of(status), "%.*s (%.*s, HTTP %d)", SPAN_ARGS(message),
		SPAN_ARGS(type), status);
}

/* The answer as JSON, or the error that it says. */
static int read_answer(const struct remote *remote, int status, struct span body,
	struct arena *arena, struct json **ret_answer, struct err *err)
{
	struct json *answer;
	int code = json_parse(body, arena, &answer, err);

	if (code < 0)
		return err_set(err, status >= 300 ? code_of(status) : -EPROTO,
			"%s answered %d with something that is not JSON", remote->url, status);
	if (status >= 300)
		return refused(remote, status, answer, err);
	*ret_answer = answer;
	return 0;
}

int remote_send(struct remote *remote, const char *method, const char *path, struct span body,
	struct arena *arena, struct json **ret_answer, struct err *err)
{
	struct http_client_response *response;
	int code = http_client_request(remote->client,
		sign(remote, method, path, body, "application/json", arena), arena, &response, err);

	if (code < 0)
		return code; /* the message names the URL */
	return read_answer(remote, response->status, response->body, arena, ret_answer, err);
}

struct stream {
	int status;
	struct buffer refusal;
	int (*chunk)(void *context, struct span data);
	void *context;
};

static int stream_head(void *context, const struct http_client_response *response)
{
	struct stream *stream = context;

	stream->status = response->status;
	return 0;
}

static int stream_chunk(void *context, struct span data)
{
	struct stream *stream = context;

	if (stream->status < 300)
		return stream->chunk(stream->context, data);
	if (stream->refusal.length + data.length > REFUSAL_MAX)
		return -EFBIG;
	buffer_add_span(&stream->refusal, data);
	return 0;
}

int remote_stream(struct remote *remote, const char *path, const struct json *body,
	int (*chunk)(void *context, struct span data), void *context, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct stream stream = {.chunk = chunk, .context = context};
	struct http_client_reader reader = {
		.head = stream_head, .chunk = stream_chunk, .context = &stream};
	struct http_client_request *request =
		sign(remote, "POST", path, json_to_text(body, arena), "application/json", arena);
	struct json *answer;
	int code;

	request->idle_timeout_ms = -1; /* a program may be silent for long */
	request->fresh = true;
	code = http_client_stream(remote->client, request, &reader, err);
	if (code == 0 && stream.status >= 300)
		code = read_answer(remote, stream.status, buffer_span(&stream.refusal), arena,
			&answer, err);
	buffer_clear(&stream.refusal);
	return code;
}

int remote_call(const struct remote_options *options, const char *method, const char *path,
	const struct json *body, struct arena *arena, struct json **ret_answer, struct err *err)
{
	_remote_ struct remote *remote = NULL;
	int code = remote_open(options, &remote, err);

	if (code < 0)
		return code;
	return remote_send(remote, method, path, body ? json_to_text(body, arena) : SPAN(""), arena,
		ret_answer, err);
}
