/*
 * Calls to a remote endpoint: AWS's JSON or query protocol over the HTTP client. Each attempt is
 * signed again, because a signature is valid for five minutes only and waiting may take long.
 *
 * The delay before the next attempt is drawn each time from 0 to a limit that doubles, so that many
 * callers that failed together do not retry together; if the endpoint sends Retry-After, the delay
 * is at least that.
 */
#include <stdio.h>

#include "aws/call_target.h"
#include "aws/query.h"
#include "aws/signer.h"
#include "aws/sigv4.h"
#include "base/id.h"
#include "base/lock.h"
#include "base/memory.h"

#define CALLS_PER_SECOND 20
#define ATTEMPTS 4
#define ATTEMPTS_MAX 20
#define TIMEOUT_MS 30000
#define BACKOFF_MS 100
#define BACKOFF_THROTTLED_MS 500
#define BACKOFF_MAX_MS 20000
#define RETRY_AFTER_MAX_S 60
#define URL_MAX 2048
#define ATTEMPT_LEAST_US INT64_C(500000) /* less is not worth an attempt */

/* An endpoint, taken apart. */
struct place {
	const char *service; /* NULL: of all that have none of their own */
	const char *url;
	struct span host, path;
};

struct remote_target {
	struct aws_target target;
	struct http_client *client;
	struct http_client_cancel cancel;
	struct place
		places[1 + AWS_SERVICE_ENDPOINTS_MAX]; /* the first one is that of all others */
	size_t place_count;
	struct span region;
	struct span authorities;              /* PEM; none: the system's */
	struct sigv4_credentials credentials; /* without a signer */
	struct aws_signer *signer;            /* NULL: none */
	unsigned attempts;
	int timeout_ms, total_ms;

	/* The budget: tokens may be below zero, which is how long to wait for one's turn. */
	struct lock lock;
	double rate, tokens;
	int64_t filled_us;
};

struct protocol;

struct remote_call {
	struct remote_target *remote;
	const struct aws_call *call;
	const struct shape_service *shapes;
	const struct shape_operation *operation;
	const struct protocol *protocol;
	struct span body;
	bool repeatable; /* sending it twice does no harm */
	int64_t ends_us; /* when it must be over; RUNNER_FOREVER */
};

/* How a request is written and its answer read. */
struct protocol {
	const char *name; /* as shapes have it */
	const char *content_type;
	bool has_target; /* the header X-Amz-Target names the operation */
	struct span (*write)(const struct remote_call *remote_call, const struct json *request);
	int (*read_answer)(const struct remote_call *remote_call,
		const struct http_client_response *response, struct json **ret_answer,
		struct err *err);
	int (*read_failure)(const struct remote_call *remote_call,
		const struct http_client_response *response, struct aws_call_failure *failure,
		struct err *err);
};

/* How an attempt ended. */
struct outcome {
	bool retry;
	bool throttled;
	bool refused;           /* the credentials have expired */
	int64_t retry_after_ms; /* 0: not said */
};

/* ---- protocols ---- */

static struct span write_json(const struct remote_call *remote_call, const struct json *request)
{
	return json_to_text(request, remote_call->call->arena);
}

static int read_json_answer(const struct remote_call *remote_call,
	const struct http_client_response *response, struct json **ret_answer, struct err *err)
{
	const struct aws_call *call = remote_call->call;

	return aws_call_read_answer(call, arena_copy_span(call->arena, response->body), ret_answer,
		err);
}

static int read_json_failure(const struct remote_call *remote_call,
	const struct http_client_response *response, struct aws_call_failure *failure,
	struct err *err)
{
	return aws_call_read_failure(remote_call->call, response->status,
		http_client_header(response, "x-amzn-errortype"), response->body, failure, err);
}

static struct span write_query(const struct remote_call *remote_call, const struct json *request)
{
	_buffer_ struct buffer out = {0};

	query_write_form(remote_call->shapes, remote_call->operation, request, &out);
	return arena_copy_span(remote_call->call->arena, buffer_span(&out));
}

static int read_query_answer(const struct remote_call *remote_call,
	const struct http_client_response *response, struct json **ret_answer, struct err *err)
{
	const struct aws_call *call = remote_call->call;
	int code = query_read_answer(remote_call->shapes, remote_call->operation,
		arena_copy_span(call->arena, response->body), call->arena, ret_answer, err);

	return code < 0 ? err_prefix(err, code, "%s %s", call->service, call->operation) : 0;
}

static int read_query_failure(const struct remote_call *remote_call,
	const struct http_client_response *response, struct aws_call_failure *failure,
	struct err *err)
{
	_arena_ struct arena *scratch = arena_new(0);
	struct span type, message;

	query_read_error(remote_call->shapes, response->body, scratch, &type, &message);
	return aws_call_fail(remote_call->call, response->status, type, message, failure, err);
}

static const struct protocol protocols[] = {
	{"json", "application/x-amz-json-1.1", true, write_json, read_json_answer,
		read_json_failure},
	{"query", "application/x-www-form-urlencoded; charset=utf-8", false, write_query,
		read_query_answer, read_query_failure},
};

static const struct protocol *protocol_of(const struct shape_service *shapes)
{
	for (size_t i = 0; shapes && i < LENGTH(protocols); i++) {
		if (strcmp(protocols[i].name, shapes->protocol) == 0)
			return &protocols[i];
	}
	return NULL;
}

/* ---- waiting ---- */

static int64_t take_turn_us(struct remote_target *remote)
{
	int64_t now_us = runner_now_us(remote->target.runner), wait_us = 0;
	double most = remote->rate > 1 ? remote->rate : 1;

	lock_take(&remote->lock);
	remote->tokens += (double)(now_us - remote->filled_us) / 1e6 * remote->rate;
	if (remote->tokens > most)
		remote->tokens = most;
	remote->filled_us = now_us;
	remote->tokens -= 1;
	if (remote->tokens < 0)
		wait_us = (int64_t)(-remote->tokens / remote->rate * 1e6);
	lock_release(&remote->lock);
	return wait_us;
}

static int sleep_us(struct remote_target *remote, int64_t delay_us)
{
	struct runner *runner = remote->target.runner;

	if (delay_us <= 0)
		return runner_is_stopped(runner) ? -ECANCELED : 0;
	return runner_sleep_until(runner, runner_deadline_us(runner, delay_us));
}

static int64_t backoff_us(struct remote_target *remote, unsigned attempt,
	const struct outcome *outcome)
{
	int64_t limit_ms = outcome->throttled ? BACKOFF_THROTTLED_MS : BACKOFF_MS;
	int64_t delay_ms;

	while (attempt-- > 0 && limit_ms < BACKOFF_MAX_MS)
		limit_ms *= 2;
	if (limit_ms > BACKOFF_MAX_MS)
		limit_ms = BACKOFF_MAX_MS;
	delay_ms =
		(int64_t)random_below(runner_random(remote->target.runner), (uint64_t)limit_ms + 1);
	if (delay_ms < outcome->retry_after_ms)
		delay_ms = outcome->retry_after_ms;
	return delay_ms * 1000;
}

/* Seconds only; the form with a date says too little to be worth its parsing. */
static int64_t retry_after_ms(struct span value)
{
	uint64_t seconds;

	if (!value.data || !span_to_unsigned(value, UINT32_MAX, &seconds))
		return 0;
	return (int64_t)(seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S) * 1000;
}

/* ---- an attempt ---- */

/* Errors for credentials that have expired. */
static bool is_about_credentials(const char *type)
{
	static const char *const types[] = {"ExpiredTokenException", "ExpiredToken",
		"UnrecognizedClientException", "InvalidClientTokenId"};

	for (size_t i = 0; i < LENGTH(types); i++) {
		if (strcmp(type, types[i]) == 0)
			return true;
	}
	return false;
}

/* Codes of the HTTP client after which the same request may succeed. */
static bool may_pass(int code, bool repeatable)
{
	if (code == -ECONNREFUSED || code == -EHOSTUNREACH)
		return true; /* it was not even sent */
	return repeatable &&
	       (code == -ECONNRESET || code == -ETIMEDOUT || code == -EPROTO || code == -EIO);
}

static struct span target_header(const struct remote_call *remote_call, struct arena *arena)
{
	return arena_format(arena, "%s.%s", remote_call->shapes->target_prefix,
		remote_call->call->operation);
}

/* The rest of the call's time, for one attempt. */
static int attempt_ms(const struct remote_call *remote_call)
{
	struct remote_target *remote = remote_call->remote;
	int64_t left_ms =
		(remote_call->ends_us - runner_now_us(remote->target.runner)) / INT64_C(1000);

	if (left_ms < 1)
		return 1;
	return left_ms < remote->timeout_ms ? (int)left_ms : remote->timeout_ms;
}

/* Whether there is time for an attempt after a delay. */
static bool has_time(const struct remote_call *remote_call, int64_t delay_us)
{
	return remote_call->ends_us == RUNNER_FOREVER ||
	       runner_now_us(remote_call->remote->target.runner) + delay_us + ATTEMPT_LEAST_US <
		       remote_call->ends_us;
}

static int get_credentials(struct remote_target *remote, struct arena *arena,
	struct sigv4_credentials *ret_credentials, struct err *err)
{
	if (remote->signer)
		return aws_signer_get(remote->signer, arena, ret_credentials, err);
	*ret_credentials = remote->credentials;
	return 0;
}

static const struct place *find_place(const struct remote_target *remote, const char *service)
{
	for (size_t i = 1; i < remote->place_count; i++) {
		if (strcmp(remote->places[i].service, service) == 0)
			return &remote->places[i];
	}
	return &remote->places[0];
}

static int send_once(const struct remote_call *remote_call,
	const struct sigv4_credentials *credentials, struct arena *scratch,
	struct http_client_response **ret_response, struct err *err)
{
	struct remote_target *remote = remote_call->remote;
	const struct place *place = find_place(remote, remote_call->call->service);
	const struct protocol *protocol = remote_call->protocol;
	struct sigv4_header headers[3 + 4] = {
		{SPAN("Host"), place->host},
		{SPAN("Content-Type"), span_of(protocol->content_type)},
		{SPAN("X-Amz-Target"), target_header(remote_call, scratch)},
	};
	size_t own = protocol->has_target ? 3 : 2;
	struct sigv4_request request = {
		.method = SPAN("POST"),
		.path = place->path,
		.query = SPAN(""),
		.headers = headers,
		.header_count = own,
		.body = remote_call->body,
	};
	struct http_header sent[LENGTH(headers) + 1];
	size_t count = own + sigv4_sign(&request, credentials, remote->region,
				     span_of(remote_call->shapes->signing_name),
				     runner_wall_ms(remote->target.runner), scratch, headers + own);

	for (size_t i = 0; i < count; i++)
		sent[i] = (struct http_header){headers[i].name, headers[i].value};
	sent[count++] = (struct http_header){SPAN("User-Agent"), SPAN("slipway/" SLIPWAY_VERSION)};
	return http_client_request(remote->client,
		&(struct http_client_request){
			.method = "POST",
			.url = place->url,
			.headers = sent,
			.header_count = count,
			.body = remote_call->body,
			.tls = {.authorities = remote->authorities},
			.fresh = !remote_call->repeatable,
			.total_timeout_ms = attempt_ms(remote_call),
			.response_max = AWS_ANSWER_MAX,
			.cancel = &remote->cancel,
		},
		scratch, ret_response, err);
}

static int attempt(const struct remote_call *remote_call, struct json **ret_answer,
	struct aws_call_failure *failure, struct outcome *ret_outcome, struct err *err)
{
	const struct aws_call *call = remote_call->call;
	_arena_ struct arena *scratch = arena_new(0);
	struct remote_target *remote = remote_call->remote;
	struct sigv4_credentials credentials;
	struct http_client_response *response;
	int code;

	*ret_outcome = (struct outcome){0};
	*failure = (struct aws_call_failure){0};
	code = get_credentials(remote, scratch, &credentials, err);
	/* Waiting for one's turn and getting them may have taken long. */
	if (code == 0 && !has_time(remote_call, 0))
		code = err_set(err, -EACCES, "there was no time left to send it");
	if (code < 0)
		return err_prefix(err, code, "%s %s", call->service, call->operation);
	code = send_once(remote_call, &credentials, scratch, &response, err);
	if (code < 0) {
		ret_outcome->retry = may_pass(code, remote_call->repeatable);
		return err_prefix(err, code, "%s %s", call->service, call->operation);
	}
	if (response->status == 200)
		return remote_call->protocol->read_answer(remote_call, response, ret_answer, err);
	code = remote_call->protocol->read_failure(remote_call, response, failure, err);
	ret_outcome->throttled = aws_call_was_throttled(failure);
	/* A rejected request (throttled, 503) changed nothing; other errors do not say. */
	ret_outcome->retry = ret_outcome->throttled || response->status == 503 ||
			     (response->status >= 500 && remote_call->repeatable);
	ret_outcome->refused = remote->signer && is_about_credentials(failure->type);
	if (ret_outcome->refused)
		aws_signer_refused(remote->signer, &credentials);
	ret_outcome->retry_after_ms = retry_after_ms(http_client_header(response, "retry-after"));
	return code;
}

/* ---- a call ---- */

static bool only_reads(const char *operation)
{
	static const char *const words[] = {"Describe", "List", "Get", "Discover"};

	for (size_t i = 0; i < LENGTH(words); i++) {
		if (span_starts_with(span_of(operation), span_of(words[i])))
			return true;
	}
	return false;
}

/* The request's text. An idempotency token that is missing is filled in, so that all attempts are one
 * request for the endpoint. */
static struct span write_request(const struct remote_call *remote_call, bool *ret_has_token)
{
	const struct aws_call *call = remote_call->call;
	const struct shape_service *shapes = remote_call->shapes;
	const struct shape *input = &shapes->shapes[remote_call->operation->input];
	struct json *request = call->request ? json_copy_object(call->arena, call->request)
					     : json_new_object(call->arena);

	*ret_has_token = false;
	for (size_t i = 0; i < input->count; i++) {
		const struct shape_member *member = &shapes->members[input->first + i];
		struct span name = shape_text(shapes, member->name);
		char token[ID_UUID_SIZE];

		/* The model marks some of them only; all have this name. */
		if (!(member->flags & SHAPE_TOKEN) && !span_is(name, "clientToken"))
			continue;
		*ret_has_token = true;
		if (!json_is_absent(json_get_span(request, name)))
			continue;
		id_uuid(runner_random(remote_call->remote->target.runner), token);
		json_set_string(call->arena, request, name.data, span_of(token));
	}
	return remote_call->protocol->write(remote_call, request);
}

static int send_remote(struct aws_target *target, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct remote_target *remote = CONTAINER_OF(target, struct remote_target, target);
	struct remote_call remote_call = {.remote = remote, .call = call};
	struct outcome outcome = {0};
	bool has_token, renewed = false;
	int code = -ECANCELED;

	runner_assert_may_block(target->runner);
	remote_call.shapes = shape_find_service(span_of(call->service));
	remote_call.protocol = protocol_of(remote_call.shapes);
	if (!remote_call.protocol)
		return err_set(err, -EINVAL,
			"%s %s: there is no service of this name that can be asked", call->service,
			call->operation);
	remote_call.operation = shape_find_operation(remote_call.shapes, span_of(call->operation));
	if (!remote_call.operation)
		return err_set(err, -EINVAL, "%s %s: there is no such operation", call->service,
			call->operation);
	remote_call.body = write_request(&remote_call, &has_token);
	remote_call.repeatable = has_token || only_reads(call->operation);
	remote_call.ends_us = remote->total_ms ? runner_deadline_us(target->runner,
							 (int64_t)remote->total_ms * INT64_C(1000))
					       : RUNNER_FOREVER;

	for (unsigned i = 0; i < remote->attempts; i++) {
		int64_t delay_us =
			i > 0 && !outcome.refused ? backoff_us(remote, i - 1, &outcome) : 0;

		/* The previous answer stands when there is no time for another attempt. */
		if (i > 0 && !has_time(&remote_call, delay_us))
			break;
		if (sleep_us(remote, delay_us) < 0 || sleep_us(remote, take_turn_us(remote)) < 0)
			return err_set(err, -ECANCELED, "%s %s: stopped", call->service,
				call->operation);
		code = attempt(&remote_call, ret_answer, failure, &outcome, err);
		if (code == 0)
			break;
		/* Failed authentication changes nothing: it is retried once. */
		if (!outcome.retry && (!outcome.refused || renewed))
			break;
		renewed |= outcome.refused;
	}
	return code;
}

/* ---- the target ---- */

static int prepare_remote(struct aws_target *target, struct err *err)
{
	struct remote_target *remote = CONTAINER_OF(target, struct remote_target, target);
	_arena_ struct arena *scratch = arena_new(0);
	struct sigv4_credentials credentials;

	runner_assert_may_block(target->runner);
	return get_credentials(remote, scratch, &credentials, err);
}

static void cancel_remote(struct aws_target *target)
{
	struct remote_target *remote = CONTAINER_OF(target, struct remote_target, target);

	http_client_cancel(remote->client, &remote->cancel);
}

static void close_remote(struct aws_target *target)
{
	struct remote_target *remote = CONTAINER_OF(target, struct remote_target, target);

	lock_destroy(&remote->lock);
}

/* Takes the endpoint apart. Host is written as HTTP wants it: without the scheme's own port. */
static int read_endpoint(struct remote_target *remote, const char *service, const char *endpoint,
	struct err *err)
{
	struct place *place = &remote->places[remote->place_count];
	struct span rest = span_of(endpoint ? endpoint : ""), host, path;
	struct span own_port = SPAN(":443");

	if (rest.length > URL_MAX)
		return err_set(err, -EINVAL, "endpoint: longer than %d characters", URL_MAX);
	if (span_starts_with(rest, SPAN("https://"))) {
		host = (struct span){rest.data + 8, rest.length - 8};
	} else if (span_starts_with(rest, SPAN("http://"))) {
		host = (struct span){rest.data + 7, rest.length - 7};
		own_port = SPAN(":80");
	} else {
		return err_set(err, -EINVAL, "endpoint '%s': must begin with http:// or https://",
			endpoint ? endpoint : "");
	}
	path = SPAN("/");
	if (memchr(host.data, '/', host.length)) {
		const char *slash = memchr(host.data, '/', host.length);

		path = (struct span){slash, host.length - (size_t)(slash - host.data)};
		host.length = (size_t)(slash - host.data);
	}
	for (size_t i = 0; i < rest.length; i++) {
		if (rest.data[i] <= ' ' || rest.data[i] > '~' || strchr("?#@", rest.data[i]))
			return err_set(err, -EINVAL,
				"endpoint '%s': must be scheme, host, port and path only",
				endpoint);
	}
	if (host.length == 0)
		return err_set(err, -EINVAL, "endpoint '%s': has no host", endpoint);
	place->service = service;
	place->url = arena_format(remote->target.arena, "%.*s%.*s%.*s",
		(int)(host.data - rest.data), rest.data, SPAN_ARGS(host), SPAN_ARGS(path))
			     .data;
	if (span_ends_with(host, own_port))
		host.length -= own_port.length;
	place->host = arena_copy_span(remote->target.arena, host);
	place->path = arena_copy_span(remote->target.arena, path);
	remote->place_count++;
	return 0;
}

static int read_endpoints(struct remote_target *remote, const struct aws_remote_config *config,
	struct err *err)
{
	int code = read_endpoint(remote, NULL, config->endpoint, err);

	if (config->other_count > AWS_SERVICE_ENDPOINTS_MAX)
		return err_set(err, -EINVAL, "endpoints: at most %d", AWS_SERVICE_ENDPOINTS_MAX);
	for (size_t i = 0; i < config->other_count && code == 0; i++)
		code = read_endpoint(remote,
			arena_copy_string(remote->target.arena, config->others[i].service),
			config->others[i].endpoint, err);
	return code;
}

static int fill_remote(struct remote_target *remote, const struct aws_remote_config *config,
	struct err *err)
{
	struct arena *arena = remote->target.arena;
	struct {
		const char *name, *value;
		struct span *copy;
	} texts[] = {
		{"region", config->region, &remote->region},
		{"access key", config->access_key, &remote->credentials.access_key},
		{"secret", config->secret, &remote->credentials.secret},
	};

	remote->signer = config->signer;
	for (size_t i = 0; i < (config->signer ? 1 : LENGTH(texts)); i++) {
		if (!texts[i].value || !texts[i].value[0])
			return err_set(err, -EINVAL, "%s: is missing", texts[i].name);
		*texts[i].copy = arena_copy_span(arena, span_of(texts[i].value));
	}
	if (config->session_token)
		remote->credentials.session_token =
			arena_copy_span(arena, span_of(config->session_token));
	if (config->attempts > ATTEMPTS_MAX)
		return err_set(err, -EINVAL, "attempts: at most %d", ATTEMPTS_MAX);
	if (config->calls_per_second < 0 || config->timeout_ms < 0 || config->total_ms < 0)
		return err_set(err, -EINVAL, "calls per second, timeout: must not be negative");
	return read_endpoints(remote, config, err);
}

int aws_target_remote(const struct aws_remote_config *config, struct http_client *client,
	struct runner *runner, struct aws_target **ret_target, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct remote_target *remote = arena_allocate(arena, sizeof(*remote));
	int code;

	remote->target = (struct aws_target){
		.runner = runner,
		.arena = arena,
		.send = send_remote,
		.prepare = prepare_remote,
		.cancel = cancel_remote,
		.close = close_remote,
	};
	remote->client = client;
	code = fill_remote(remote, config, err);
	if (code < 0)
		return code;
	remote->attempts = config->attempts ? config->attempts : ATTEMPTS;
	remote->timeout_ms = config->timeout_ms ? config->timeout_ms : TIMEOUT_MS;
	remote->total_ms = config->total_ms;
	if (config->authorities.length > 0)
		remote->authorities = arena_copy_span(arena, config->authorities);
	remote->rate = config->calls_per_second > 0 ? config->calls_per_second : CALLS_PER_SECOND;
	remote->tokens = remote->rate > 1 ? remote->rate : 1;
	remote->filled_us = runner_now_us(runner);
	lock_init(&remote->lock);
	*ret_target = &remote->target;
	TAKE(arena);
	return 0;
}
