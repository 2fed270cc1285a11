/* See the header. */
#include "delivery/notice_sender.h"

#include "aws/sigv4_hash.h"
#include "base/memory.h"
#include "io/http_client.h"

#define WORKERS 4
#define RESYNC_MS 60000
#define NOTICES_AT_ONCE 32 /* of one turn */
#define CLAIM_PREFIX "hook/"

struct notice_sender {
	struct notice_sender_config config;
	struct http_client *client;
	struct http_client_cancel cancel;
	struct controller *controller;
};

struct span notice_signature(struct arena *arena, const char *secret, struct span body)
{
	_sigv4_hash_ struct sigv4_hash hash;
	unsigned char digest[SIGV4_HASH_SIZE];
	char digits[SIGV4_HEX_SIZE];

	sigv4_hash_open(&hash);
	sigv4_hash_hmac(&hash, secret, strlen(secret), body, digest);
	sigv4_hash_hex(digest, digits);
	return arena_format(arena, "sha256=%.*s", (int)sizeof(digits), digits);
}

const struct notice_type *notice_type_of(const struct notice_type *const *types, size_t count,
	struct span subject, struct span *ret_key)
{
	const struct notice_type *found = NULL;
	size_t length = 0;

	for (size_t i = 0; i < count; i++)
		if (span_starts_with(subject, span_of(types[i]->prefix)) &&
			(!found || strlen(types[i]->prefix) > length)) {
			found = types[i];
			length = strlen(found->prefix);
		}
	*ret_key = (struct span){subject.data + length, subject.length - length};
	return found;
}

/* ---- one notice ---- */

/* The key of a notice without the webhook. */
static struct span delivery_of(struct span key)
{
	struct span webhook, rest = key;

	span_split(key, '/', &webhook, &rest);
	return rest;
}

static int post(struct notice_sender *sender, const struct webhook *webhook,
	const struct store_object *notice, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct http_header headers[] = {
		{SPAN("content-type"), SPAN("application/json")},
		{SPAN("user-agent"), SPAN("slipway")},
		{SPAN("x-slipway-event"), notice_facts(notice)->event},
		{SPAN("x-slipway-delivery"), delivery_of(notice->key)},
		{SPAN("x-slipway-signature"), SPAN("")},
	};
	struct http_client_request request = {.method = "POST",
		.url = webhook->url,
		.headers = headers,
		.header_count = LENGTH(headers) - 1,
		.body = notice->api,
		.connect_timeout_ms = NOTICE_TIMEOUT_MS,
		.total_timeout_ms = NOTICE_TIMEOUT_MS,
		.response_max = NOTICE_ANSWER_MAX,
		.cancel = &sender->cancel};
	struct http_client_response *response;
	int code;

	if (webhook->secret) {
		headers[LENGTH(headers) - 1].value =
			notice_signature(arena, webhook->secret, notice->api);
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
	struct notice_sender *sender;
	const struct claim *claim;
	const struct store_object *notice;
};

/* The last notice of a subject that is deleted: the claim of its stream is deleted with it. */
static bool is_last(const struct notice_sender *sender, struct store_transaction *transaction,
	struct span key)
{
	struct span stream = notice_stream_of(key), subject;
	const struct notice_type *type = notice_type_of(sender->config.types,
		sender->config.type_count, delivery_of(stream), &subject);
	struct span prefix =
		arena_format(store_transaction_arena(transaction), "%.*s/", SPAN_ARGS(stream));

	return (!type || !store_get(store_head(transaction), type->kind, subject)) &&
	       store_count(store_head(transaction), &notice_kind, -1, prefix, false) == 0;
}

static int delete_notice(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct deleting *deleting = context;
	const struct store_object *notice = deleting->notice;
	int code = store_delete(transaction, &notice_kind, notice->key, notice->revision, err);

	/* It was dropped in the meantime, by the limit. */
	if (code == -ENOENT || code == -ESTALE)
		code = 0;
	if (code == 0 && is_last(deleting->sender, transaction, notice->key))
		code = claims_forget(deleting->sender->config.claims, transaction, deleting->claim,
			err);
	return code;
}

/* ---- a stream ---- */

/* Sends a notice and deletes it, or deletes one whose webhook is gone. *ret_wait_ms: it is kept until then; 0: it is
 * deleted. */
static int process_notice(struct notice_sender *sender, struct controller_call *call,
	const struct claim *claim, const struct store_object *notice, int64_t *ret_wait_ms,
	struct err *err)
{
	struct span name = notice->key, rest;
	const struct webhook *webhook;
	int64_t until_ms = notice_facts(notice)->created_ms + NOTICE_UNKNOWN_MS;
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
	struct notice_sender *sender = call->context;
	_view_ struct store_view *view = store_view_open(call->store);
	_arena_ struct arena *arena = arena_new(0);
	struct store_cursor cursor = {.view = view,
		.kind = &notice_kind,
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
		code = process_notice(sender, call, &claim, notice, &wait_ms, err);
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
		controller_keys_add(keys, notice_stream_of(change->after->key));
}

static const struct controller_watch watches[] = {
	{.kind = &notice_kind, .map = map_notice},
};

static const struct controller_row row = {
	.name = "webhooks",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.workers = WORKERS,
	.resync_ms = RESYNC_MS,
};

int notice_sender_start(const struct notice_sender_config *config,
	struct notice_sender **ret_sender, struct err *err)
{
	struct notice_sender *sender = memory_allocate(sizeof(*sender));
	struct controller_config controller = {.runner = config->runner,
		.store = config->store,
		.context = sender,
		/* Keys begin with the webhook; each has its own backoff. */
		.queue = {.backoff_first_us = NOTICE_RETRY_FIRST_US,
			.backoff_most_us = NOTICE_RETRY_MOST_US,
			.group_by = '/',
			.group_most = WORKERS - 1},
		.report = config->report,
		.report_context = config->report_context};
	int code = http_client_new(&sender->client, err);

	sender->config = *config;
	if (code == 0)
		code = controller_start(&row, &controller, &sender->controller, err);
	if (code < 0) {
		notice_sender_stop(sender);
		return code;
	}
	*ret_sender = sender;
	return 0;
}

void notice_sender_stop(struct notice_sender *sender)
{
	if (!sender)
		return;
	if (sender->client)
		http_client_cancel(sender->client, &sender->cancel);
	controller_stop(sender->controller);
	http_client_free(sender->client);
	free(sender);
}
