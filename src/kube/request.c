#include "kube/request.h"

#include <stdio.h>

#include "base/memory.h"

#define SLICE_US INT64_C(100000) /* how soon a wait notices that its call was cancelled */
#define WHAT_SIZE 512
#define HEADERS_MAX (3 + KUBE_REQUEST_HEADERS_MAX)

static const struct kube_options no_options;

/* A request on its way: what its attempts share. */
struct attempt {
	struct kube_client *client;
	const struct kube_request *request;
	const struct kube_options *options;
	int64_t deadline_us;
	bool renewed; /* credentials were fetched anew once */
	struct kube_failure failure;
	char what[WHAT_SIZE];

	/* Of the current one. */
	const struct kube_credential *credential;
	struct http_header headers[HEADERS_MAX];
	struct http_client_request http;
	char *url;
};

/* ---- waiting ---- */

static bool is_cancelled(struct kube_client *client, const struct kube_options *options)
{
	return atomic_load(&client->cancel.requested) ||
	       (options->cancel && atomic_load(&options->cancel->requested));
}

/* Polls, because a call's own cancellation signals no event. */
static int wait_until(struct kube_client *client, const struct kube_options *options,
	int64_t until_us)
{
	while (runner_now_us(client->runner) < until_us) {
		uint64_t seen = runner_event_count(client->cancelled);
		int64_t slice = runner_deadline_us(client->runner, SLICE_US);

		if (is_cancelled(client, options) ||
			runner_wait(client->runner, client->cancelled, seen,
				slice < until_us ? slice : until_us) == -ECANCELED)
			return -ECANCELED;
	}
	return is_cancelled(client, options) ? -ECANCELED : 0;
}

/* The token bucket: a caller that takes a future token waits until it is due. */
static int64_t reserve_turn(struct kube_client *client, int64_t now_us, int64_t latest_us)
{
	int64_t at_us = now_us;

	lock_take(&client->lock);
	client->tokens += (double)(now_us - client->filled_us) / 1e6 * client->qps;
	if (client->tokens > client->burst)
		client->tokens = client->burst;
	client->filled_us = now_us;
	if (client->tokens < 1)
		at_us += (int64_t)((1 - client->tokens) / client->qps * 1e6);
	if (at_us <= latest_us) {
		client->tokens -= 1;
		client->statistics.waited_us += (uint64_t)(at_us - now_us);
	}
	lock_release(&client->lock);
	return at_us;
}

/* Waits for a token. -ECANCELED, -ETIMEDOUT if it is due after the deadline. */
static int kube_request_take_turn(struct kube_client *client, const struct kube_options *options,
	int64_t deadline_us, struct err *err)
{
	int64_t at_us = reserve_turn(client, runner_now_us(client->runner), deadline_us);

	if (!options)
		options = &no_options;
	if (at_us > deadline_us)
		return err_set(err, -ETIMEDOUT, "waited too long for our own rate limit");
	if (wait_until(client, options, at_us) < 0)
		return err_set(err, -ECANCELED, "cancelled");
	return 0;
}

/* ---- one attempt ---- */

static void count(struct kube_client *client, uint64_t *counter)
{
	lock_take(&client->lock);
	(*counter)++;
	lock_release(&client->lock);
}

static void attempt_init(struct attempt *attempt, struct kube_client *client,
	const struct kube_request *request)
{
	const struct kube_options *options = request->options ? request->options : &no_options;
	int64_t timeout_ms = options->timeout_ms ? options->timeout_ms : client->timeout_ms;

	runner_assert_may_block(client->runner);
	*attempt = (struct attempt){
		.client = client,
		.request = request,
		.options = options,
		.deadline_us = runner_deadline_us(client->runner, timeout_ms * 1000),
	};
	snprintf(attempt->what, sizeof(attempt->what), "%s %.*s",
		request->method ? request->method : "GET", (int)strcspn(request->path.data, "?"),
		request->path.data);
	attempt->url = memory_format("%.*s%.*s", SPAN_ARGS(client->url), SPAN_ARGS(request->path));
}

static void attempt_clear(struct attempt *attempt)
{
	kube_credential_release(attempt->credential);
	free(attempt->url);
}

static int attempt_fail(const struct attempt *attempt, int code)
{
	struct kube_failure *failure = attempt->options->failure;

	if (failure)
		*failure = attempt->failure;
	return code;
}

static void add_header(struct attempt *attempt, struct span name, struct span value)
{
	attempt->headers[attempt->http.header_count++] = (struct http_header){name, value};
}

/* Our turn, credentials, and the request as the HTTP client wants it. */
static int prepare(struct attempt *attempt, struct err *err)
{
	struct kube_client *client = attempt->client;
	const struct kube_request *request = attempt->request;
	struct http_client_cancel *cancel =
		attempt->options->cancel ? attempt->options->cancel : &client->cancel;
	int code;

	code = kube_request_take_turn(client, attempt->options, attempt->deadline_us, err);
	if (code < 0)
		return err_prefix(err, code, "%s", attempt->what);
	kube_credential_release(TAKE(attempt->credential));
	code = kube_credentials_get(client->credentials, cancel, &attempt->credential, err);
	if (code < 0)
		return err_prefix(err, code, "%s", attempt->what);
	attempt->http = (struct http_client_request){
		.method = request->method,
		.url = attempt->url,
		.headers = attempt->headers,
		.body = request->body,
		.connect_to = client->connect_to,
		.tls = {attempt->credential->authorities, attempt->credential->certificate,
			attempt->credential->key, client->access.insecure},
		.fresh = request->fresh,
		.response_max = client->answer_max,
		.cancel = cancel,
	};
	add_header(attempt, SPAN("Accept"),
		span_of(request->accept ? request->accept : "application/json"));
	if (attempt->credential->authorization.data)
		add_header(attempt, SPAN("Authorization"), attempt->credential->authorization);
	if (request->body.data)
		add_header(attempt, SPAN("Content-Type"),
			span_of(request->content_type ? request->content_type
						      : "application/json"));
	for (size_t i = 0; i < request->header_count; i++)
		add_header(attempt, request->headers[i].name, request->headers[i].value);
	count(client, &client->statistics.requests);
	return 0;
}

static int64_t read_retry_after(struct span header)
{
	uint64_t seconds = 0;

	if (header.data)
		span_to_unsigned(header, KUBE_RETRY_AFTER_MAX_MS / 1000, &seconds);
	return (int64_t)seconds;
}

/* A rejected request: 0 to retry (after the server's Retry-After), else its code. */
static int refuse(struct attempt *attempt, int status, struct span body, int64_t retry_after_s,
	bool patient, struct err *err)
{
	struct kube_client *client = attempt->client;
	int64_t until_us;
	int code;

	code = kube_status_read(status, body, retry_after_s, attempt->what, &attempt->failure, err);
	count(client, &client->statistics.failures);
	if (status == 429)
		count(client, &client->statistics.throttled);
	if (status == 401 && !attempt->renewed) {
		attempt->renewed = true;
		kube_credentials_refused(client->credentials, attempt->credential);
		return 0;
	}
	if (!patient || (status != 429 && status != 503) || attempt->failure.retry_after_ms == 0)
		return code;
	/* Up to a tenth more, so that callers rejected together do not retry together. */
	until_us = runner_deadline_us(client->runner,
		attempt->failure.retry_after_ms * 1000 +
			(int64_t)random_below(runner_random(client->runner),
				(uint64_t)attempt->failure.retry_after_ms * 100 + 1));
	if (until_us >= attempt->deadline_us)
		return code;
	if (wait_until(client, attempt->options, until_us) < 0)
		return err_set(err, -ECANCELED, "%s: cancelled", attempt->what);
	count(client, &client->statistics.retries);
	return 0;
}

static int64_t time_left_ms(const struct attempt *attempt)
{
	int64_t left = (attempt->deadline_us - runner_now_us(attempt->client->runner)) / 1000;

	return left > 0 ? left : 1;
}

int kube_request_send(struct kube_client *client, const struct kube_request *request,
	struct arena *arena, struct http_client_response **ret_response, struct err *err)
{
	CLEANUP(attempt_clear) struct attempt attempt;
	struct http_client_response *response;
	struct err own;
	int code;

	if (!err)
		err = &own;
	attempt_init(&attempt, client, request);
	for (;;) {
		code = prepare(&attempt, err);
		if (code < 0)
			return attempt_fail(&attempt, code);
		attempt.http.total_timeout_ms = time_left_ms(&attempt);
		code = http_client_request(client->http, &attempt.http, arena, &response, err);
		if (code < 0) {
			count(client, &client->statistics.failures);
			return attempt_fail(&attempt, code);
		}
		if (response->status >= 200 && response->status < 300)
			break;
		code = refuse(&attempt, response->status, response->body,
			read_retry_after(http_client_header(response, "retry-after")),
			!attempt.options->impatient, err);
		if (code < 0)
			return attempt_fail(&attempt, code);
	}
	*ret_response = response;
	return 0;
}

int kube_request_json(struct kube_client *client, const struct kube_request *request,
	struct arena *arena, struct json **ret_answer, struct err *err)
{
	struct http_client_response *response;
	struct json *answer;
	struct err problem;
	int code;

	code = kube_request_send(client, request, arena, &response, err);
	if (code < 0 || !ret_answer)
		return code;
	code = json_parse(response->body, arena, &answer, &problem);
	if (code < 0)
		return err_set(err, -EPROTO, "%s %.*s: the answer is not JSON: %s",
			request->method ? request->method : "GET",
			(int)strcspn(request->path.data, "?"), request->path.data, problem.message);
	*ret_answer = answer;
	return 0;
}

/* ---- streams ---- */

struct reading {
	const struct kube_stream *stream;
	int status;
	int64_t retry_after_s;
	struct buffer refusal;
	struct err err; /* the reader's */
};

static bool is_success(const struct reading *reading)
{
	return reading->status >= 200 && reading->status < 300;
}

static int read_head(void *context, const struct http_client_response *response)
{
	struct reading *reading = context;

	reading->status = response->status;
	reading->retry_after_s = read_retry_after(http_client_header(response, "retry-after"));
	if (is_success(reading) && reading->stream->opened)
		reading->stream->opened(reading->stream->context);
	return 0;
}

static int read_chunk(void *context, struct span data)
{
	struct reading *reading = context;

	if (is_success(reading))
		return reading->stream->chunk(reading->stream->context, data, &reading->err);
	buffer_add_span(&reading->refusal, data);
	return buffer_failed(&reading->refusal) ? 1 : 0;
}

/* 1: refused, but worth another attempt. */
static int stream_once(struct attempt *attempt, const struct kube_stream *stream, struct err *err)
{
	struct reading reading = {.stream = stream, .refusal = BUFFER_WITH_CAP(KUBE_REFUSAL_MAX)};
	struct http_client_reader reader = {read_head, read_chunk, &reading};
	int code;

	attempt->http.idle_timeout_ms = stream->idle_ms;
	attempt->http.total_timeout_ms = stream->total_ms;
	code = http_client_stream(attempt->client->http, &attempt->http, &reader, err);
	if (reading.status != 0 && !is_success(&reading) && code != -ECANCELED) {
		code = refuse(attempt, reading.status, buffer_span(&reading.refusal),
			reading.retry_after_s, stream->patient && !attempt->options->impatient,
			err);
		if (code == 0)
			code = 1;
	} else if (code < 0) {
		/* The reader's own reason says more than that it wanted no more. */
		if (reading.err.code < 0)
			code = err_set(err, reading.err.code, "%s: %s", attempt->what,
				reading.err.message);
		count(attempt->client, &attempt->client->statistics.failures);
	} else {
		code = 0;
	}
	buffer_clear(&reading.refusal);
	return code;
}

int kube_request_stream(struct kube_client *client, const struct kube_request *request,
	const struct kube_stream *stream, struct err *err)
{
	CLEANUP(attempt_clear) struct attempt attempt;
	struct err own;
	int code;

	if (!err)
		err = &own;
	attempt_init(&attempt, client, request);
	do {
		code = prepare(&attempt, err);
		if (code == 0)
			code = stream_once(&attempt, stream, err);
	} while (code == 1);
	return code < 0 ? attempt_fail(&attempt, code) : 0;
}

/* ---- upgrades ---- */

int kube_request_upgrade(struct kube_client *client, const struct kube_request *request,
	struct arena *arena, struct http_client_response **ret_response,
	struct http_upgrade **ret_upgrade, struct err *err)
{
	CLEANUP(attempt_clear) struct attempt attempt;
	struct http_client_response *response;
	struct http_upgrade *upgrade = NULL;
	int code;

	attempt_init(&attempt, client, request);
	do {
		code = prepare(&attempt, err);
		if (code < 0)
			return attempt_fail(&attempt, code);
		attempt.http.total_timeout_ms = time_left_ms(&attempt);
		code = http_upgrade_open(&attempt.http, arena, &response, &upgrade, err);
		if (code < 0)
			count(client, &client->statistics.failures);
		else if (!upgrade)
			code = refuse(&attempt, response->status, response->body,
				read_retry_after(http_client_header(response, "retry-after")),
				!attempt.options->impatient, err);
		if (code < 0)
			return attempt_fail(&attempt, code);
	} while (!upgrade);
	*ret_response = response;
	*ret_upgrade = upgrade;
	return 0;
}
