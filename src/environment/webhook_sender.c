/* See the header. */
#include "environment/webhook_sender.h"

#include "aws/sigv4_hash.h"
#include "base/memory.h"
#include "io/http_client.h"

#define WORKERS 4
#define RESYNC_MS 60000
#define NOTICES_AT_ONCE 32 /* of one turn */
#define CLAIM_PREFIX "hook/"

struct webhook_sender {
	struct webhook_sender_config config;
	struct http_client *client;
	struct http_client_cancel cancel;
	struct controller *controller;
};

struct span webhook_signature(struct arena *arena, const char *secret, struct span body)
{
	_sigv4_hash_ struct sigv4_hash hash;
	unsigned char digest[SIGV4_HASH_SIZE];
	char digits[SIGV4_HEX_SIZE];

	sigv4_hash_open(&hash);
	sigv4_hash_hmac(&hash, secret, strlen(secret), body, digest);
	sigv4_hash_hex(digest, digits);
	return arena_format(arena, "sha256=%.*s", (int)sizeof(digits), digits);
}

/* ---- one notice ---- */

/* Of the key, without the webhook. */
static struct span delivery_of(struct span key)
{
	struct span webhook, rest = key;

	span_split(key, '/', &webhook, &rest);
	return rest;
}

static int post(struct webhook_sender *sender, const struct webhook *webhook,
	const struct store_object *notice, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct http_header headers[] = {
		{SPAN("content-type"), SPAN("application/json")},
		{SPAN("user-agent"), SPAN("slipway")},
		{SPAN("x-slipway-event"), webhook_notice_facts(notice)->event},
		{SPAN("x-slipway-delivery"), delivery_of(notice->key)},
		{SPAN("x-slipway-signature"), SPAN("")},
	};
	struct http_client_request request = {.method = "POST",
		.url = webhook->url,
		.headers = headers,
		.header_count = LENGTH(headers) - 1,
		.body = notice->api,
		.connect_timeout_ms = WEBHOOK_TIMEOUT_MS,
		.total_timeout_ms = WEBHOOK_TIMEOUT_MS,
		.response_max = WEBHOOK_ANSWER_MAX,
		.cancel = &sender->cancel};
	struct http_client_response *response;
	int code;

	if (webhook->secret) {
		headers[LENGTH(headers) - 1].value =
			webhook_signature(arena, webhook->secret, notice->api);
		request.header_count = LENGTH(headers);
	}
	code = http_client_request(sender->client, &request, arena, &response, err);
	if (code < 0)
		return code;
	if (response->status < 200 || response->status > 299)
		return err_set(err, -EREMOTEIO, "webhook '%s' answered %d", webhook->name,
			response->status);
	return 0;
}

struct deleting {
	struct webhook_sender *sender;
	const struct claim *claim;
	const struct store_object *notice;
};

/* With the last notice of an environment that is gone goes the claim of its stream. */
static bool is_last(struct store_transaction *transaction, struct span key)
{
	struct span stream = webhook_stream_of(key), environment = delivery_of(stream);
	struct span prefix =
		arena_format(store_transaction_arena(transaction), "%.*s/", SPAN_ARGS(stream));

	return !store_get(store_head(transaction), &environment_kind, environment) &&
	       store_count(store_head(transaction), &webhook_notice_kind, -1, prefix, false) == 0;
}

static int delete_notice(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct deleting *deleting = context;
	const struct store_object *notice = deleting->notice;
	int code =
		store_delete(transaction, &webhook_notice_kind, notice->key, notice->revision, err);

	/* It was dropped meanwhile: all the better that it was sent. */
	if (code == -ENOENT || code == -ESTALE)
		code = 0;
	if (code == 0 && is_last(transaction, notice->key))
		code = claims_forget(deleting->sender->config.claims, transaction, deleting->claim,
			err);
	return code;
}

/* ---- a stream ---- */

/* Sends it, or forgets it. *ret_wait_ms: it is kept until then; 0: it is gone. */
static int deal_with(struct webhook_sender *sender, struct controller_call *call,
	const struct claim *claim, const struct store_object *notice, int64_t *ret_wait_ms,
	struct err *err)
{
	struct span name = notice->key, rest;
	const struct webhook *webhook;
	int64_t until_ms = webhook_notice_facts(notice)->created_ms + WEBHOOK_UNKNOWN_MS;
	struct deleting deleting = {sender, claim, notice};
	int code = 0;

	*ret_wait_ms = 0;
	span_split(notice->key, '/', &name, &rest);
	webhook = webhook_find(sender->config.webhooks, name);
	if (!webhook && until_ms > runner_wall_ms(call->runner)) {
		*ret_wait_ms = until_ms;
		return 0;
	}
	if (webhook)
		code = post(sender, webhook, notice, err);
	if (code < 0)
		return code;
	return claims_write(sender->config.claims, claim, delete_notice, &deleting, NULL, err);
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	struct webhook_sender *sender = call->context;
	_view_ struct store_view *view = store_view_open(call->store);
	_arena_ struct arena *arena = arena_new(0);
	struct store_cursor cursor = {.view = view,
		.kind = &webhook_notice_kind,
		.index = -1,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(key))};
	const struct store_object *notice = store_next(&cursor);
	struct claim claim;
	int code;

	if (!notice)
		return 0;
	code = claims_acquire(sender->config.claims,
		arena_format(arena, CLAIM_PREFIX "%.*s", SPAN_ARGS(key)), &claim, err);
	if (code == -EBUSY)
		return 0; /* another server's */
	for (size_t i = 0; code == 0 && notice; i++) {
		int64_t wait_ms;

		if (i == NOTICES_AT_ONCE) {
			call->again_at_ms = runner_wall_ms(call->runner);
			break;
		}
		code = deal_with(sender, call, &claim, notice, &wait_ms, err);
		if (wait_ms > 0) {
			call->again_at_ms = wait_ms;
			break;
		}
		notice = store_next(&cursor);
	}
	return code;
}

static void map_notice(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	(void)context;
	if (change->after)
		controller_keys_add(keys, webhook_stream_of(change->after->key));
}

static const struct controller_watch watches[] = {
	{.kind = &webhook_notice_kind, .map = map_notice},
};

static const struct controller_row row = {
	.name = "webhooks",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.workers = WORKERS,
	.resync_ms = RESYNC_MS,
};

int webhook_sender_start(const struct webhook_sender_config *config,
	struct webhook_sender **ret_sender, struct err *err)
{
	struct webhook_sender *sender = memory_allocate(sizeof(*sender));
	struct controller_config controller = {.runner = config->runner,
		.store = config->store,
		.context = sender,
		/* Keys begin with the webhook; each tries again by itself. */
		.queue = {.backoff_first_us = WEBHOOK_RETRY_FIRST_US,
			.backoff_most_us = WEBHOOK_RETRY_MOST_US,
			.group_by = '/',
			.group_most = WORKERS - 1},
		.report = config->report,
		.report_context = config->report_context};
	int code = http_client_new(&sender->client, err);

	sender->config = *config;
	if (code == 0)
		code = controller_start(&row, &controller, &sender->controller, err);
	if (code < 0) {
		webhook_sender_stop(sender);
		return code;
	}
	*ret_sender = sender;
	return 0;
}

void webhook_sender_stop(struct webhook_sender *sender)
{
	if (!sender)
		return;
	if (sender->client)
		http_client_cancel(sender->client, &sender->cancel);
	controller_stop(sender->controller);
	http_client_free(sender->client);
	free(sender);
}
