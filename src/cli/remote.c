/* Signed requests to a running server; see remote.h. */
#include "cli/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/caller.h"
#include "aws/sigv4.h"
#include "base/file.h"
#include "io/http_client.h"
#include "server/admin_key.h"
#include "server/config.h"

#define AUTHORITIES_MAX ((size_t)4 * 1024 * 1024)
#define DEFAULT_SERVER "http://127.0.0.1:4780"

struct credentials {
	char id[128];
	char secret[256];
};

static int read_credentials(const struct remote_options *options, struct arena *arena,
	struct credentials *ret_credentials, struct err *err)
{
	const char *id = getenv("AWS_ACCESS_KEY_ID"), *secret = getenv("AWS_SECRET_ACCESS_KEY");
	struct server_config config;
	struct admin_key key;
	int code;

	if (!options->state && id && secret) {
		snprintf(ret_credentials->id, sizeof(ret_credentials->id), "%s", id);
		snprintf(ret_credentials->secret, sizeof(ret_credentials->secret), "%s", secret);
		return 0;
	}
	server_config_init(&config);
	config.state = options->state;
	code = server_config_check(&config, arena, err);
	if (code < 0)
		return code;
	code = admin_key_read(arena_format(arena, "%s/%s", config.state, ADMIN_KEY_FILE).data, &key,
		err);
	if (code < 0)
		return err_prefix(err, code,
			"no key to sign with: give --state, or set AWS_ACCESS_KEY_ID and "
			"AWS_SECRET_ACCESS_KEY");
	snprintf(ret_credentials->id, sizeof(ret_credentials->id), "%s", key.id);
	snprintf(ret_credentials->secret, sizeof(ret_credentials->secret), "%s", key.secret);
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

static int send_signed(const char *url, struct span authorities,
	const struct credentials *credentials, const char *method, const char *path,
	struct span body, struct arena *arena, struct http_client_response **ret_response,
	struct err *err)
{
	_http_client_ struct http_client *client = NULL;
	struct sigv4_header host = {SPAN("host"), host_of(url)};
	struct sigv4_request form = {.method = span_of(method),
		.path = span_of(path),
		.query = SPAN(""),
		.headers = &host,
		.header_count = 1,
		.body = body};
	struct sigv4_credentials key = {
		.access_key = span_of(credentials->id), .secret = span_of(credentials->secret)};
	struct sigv4_header added[4];
	struct http_header headers[5];
	struct http_client_request request = {
		.method = method,
		.url = arena_format(arena, "%s%s", url, path).data,
		.headers = headers,
		.body = body.length > 0 ? body : SPAN_NONE,
		.tls = {.authorities = authorities},
	};
	int code = http_client_new(&client, err);

	if (code < 0)
		return code;
	request.header_count = sigv4_sign(&form, &key, SPAN(AWS_REGION_DEFAULT), SPAN("slipway"),
		clock_wall_ms(clock_system()), arena, added);
	for (size_t i = 0; i < request.header_count; i++)
		headers[i] = (struct http_header){added[i].name, added[i].value};
	headers[request.header_count++] =
		(struct http_header){SPAN("content-type"), SPAN("application/json")};
	return http_client_request(client, &request, arena, ret_response, err);
}

int remote_call(const struct remote_options *options, const char *method, const char *path,
	const struct json *body, struct arena *arena, struct json **ret_answer, struct err *err)
{
	const char *url = options->server ? options->server : getenv("SLIPWAY_SERVER");
	_buffer_ struct buffer authorities = {0};
	struct http_client_response *response;
	struct credentials credentials;
	struct json *answer;
	size_t length;
	int code = 0;

	if (options->authorities)
		code = file_read(options->authorities, AUTHORITIES_MAX, &authorities, err);
	if (code == 0)
		code = read_credentials(options, arena, &credentials, err);
	if (code < 0)
		return code;
	if (!url)
		url = DEFAULT_SERVER;
	length = strlen(url);
	while (length > 0 && url[length - 1] == '/')
		length--;
	url = arena_copy(arena, url, length);
	code = send_signed(url, authorities.data ? buffer_span(&authorities) : SPAN_NONE,
		&credentials, method, path, body ? json_to_text(body, arena) : SPAN(""), arena,
		&response, err);
	explicit_bzero(&credentials, sizeof(credentials));
	if (code < 0)
		return code; /* the message names the URL */
	code = json_parse(response->body, arena, &answer, err);
	if (code < 0)
		return err_set(err, -EPROTO, "%s answered %d with something that is not JSON", url,
			response->status);
	if (response->status >= 300)
		return err_set(err, -EREMOTEIO, "%.*s (%.*s, HTTP %d)",
			SPAN_ARGS(json_get_text(answer, "message")),
			SPAN_ARGS(json_get_text(answer, "code")), response->status);
	*ret_answer = answer;
	return 0;
}
