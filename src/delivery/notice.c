/* See the header. */
#include "delivery/notice.h"

#include "base/id.h"
#include "store/fact_table.h"

/* ---- the kind ---- */

static const struct fact_row rows[] = {
	FACT(FACT_TEXT, notice_facts, event, "event"),
	FACT(FACT_NUMBER, notice_facts, created_ms, "created"),
	FACT(FACT_NUMBER, notice_facts, dropped, "dropped"),
};

static int extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct json *private_;
	int code = json_parse(object->private_, scratch, &private_, err);

	return code < 0 ? code : fact_table_read(rows, LENGTH(rows), private_, facts, err);
}

const struct store_kind notice_kind = {
	.name = "daemon.notice",
	.facts_size = sizeof(struct notice_facts),
	.extract = extract,
};

/* ---- webhooks ---- */

const struct webhook *webhook_find(const struct webhook_set *set, struct span name)
{
	for (size_t i = 0; set && i < set->count; i++)
		if (span_is(name, set->items[i].name))
			return &set->items[i];
	return NULL;
}

static bool is_listed(const char *const *list, size_t count, struct span text)
{
	for (size_t i = 0; i < count; i++)
		if (span_is(text, list[i]))
			return true;
	return count == 0;
}

bool webhook_wants(const struct webhook *webhook, struct span account, struct span event)
{
	struct span group = event, rest;

	span_split(event, '.', &group, &rest);
	return is_listed(webhook->accounts, webhook->account_count, account) &&
	       (is_listed(webhook->events, webhook->event_count, event) ||
		       is_listed(webhook->events, webhook->event_count, group));
}

/* ---- notices ---- */

struct span notice_stream_of(struct span key)
{
	for (size_t i = key.length; i > 0; i--)
		if (key.data[i - 1] == '/')
			return (struct span){key.data, i - 1};
	return key;
}

/* Deletes the oldest notice of a full stream; *ret_dropped: how many were deleted so far. */
static int make_room(struct store_transaction *transaction, struct span prefix,
	int64_t *ret_dropped, struct err *err)
{
	struct store_cursor newest = {.view = store_head(transaction),
		.kind = &notice_kind,
		.index = -1,
		.prefix = prefix,
		.descending = true};
	struct store_cursor oldest = {.view = store_head(transaction),
		.kind = &notice_kind,
		.index = -1,
		.prefix = prefix};
	const struct store_object *last = store_next(&newest), *first;

	*ret_dropped = last ? notice_facts(last)->dropped : 0;
	if (store_count(store_head(transaction), &notice_kind, -1, prefix, false) < NOTICES_MAX)
		return 0;
	first = store_next(&oldest);
	++*ret_dropped;
	return store_delete(transaction, &notice_kind, first->key, first->revision, err);
}

static void split_key(struct span key, struct span *ret_account, struct span *ret_name)
{
	*ret_account = key;
	*ret_name = SPAN("");
	span_split(key, '/', ret_account, ret_name);
}

static struct span body_of(const struct notice *notice, const struct webhook *webhook,
	int64_t dropped, struct arena *arena)
{
	struct json *body = json_new_object(arena);
	struct span account, name;

	split_key(notice->subject.key, &account, &name);
	json_set_string(arena, body, "webhook", span_of(webhook->name));
	json_set_string(arena, body, "event", notice->event);
	json_set_time(arena, body, "time", notice->now_ms);
	json_set_integer(arena, body, "sequence", notice->subject.sequence);
	json_set_string(arena, body, "account", account);
	json_set_string(arena, body, notice->subject.type->name, name);
	for (size_t i = 0; notice->details && i < notice->details->object.count; i++) {
		const struct json_member *detail = &notice->details->object.members[i];

		json_set(arena, body, arena_copy_span(arena, detail->name).data, detail->value);
	}
	if (dropped > 0)
		json_set_integer(arena, body, "dropped", dropped);
	if (notice->member)
		json_set(arena, body, notice->member, notice->document);
	return json_to_text(body, arena);
}

static int add_for(struct store_transaction *transaction, const struct notice *notice,
	const struct webhook *webhook, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct notice_facts facts = {.event = notice->event, .created_ms = notice->now_ms};
	struct span prefix = arena_format(arena, "%s/%s%.*s/", webhook->name,
		notice->subject.type->prefix, SPAN_ARGS(notice->subject.key));
	struct json *private_ = json_new_object(arena);
	int code = make_room(transaction, prefix, &facts.dropped, err);

	if (code < 0)
		return code;
	fact_table_write(rows, LENGTH(rows), &facts, arena, private_);
	return store_put(transaction, &notice_kind,
		arena_format(arena, "%.*s%015lld-%010lld", SPAN_ARGS(prefix),
			(long long)notice->subject.created_ms, (long long)notice->subject.sequence),
		body_of(notice, webhook, facts.dropped, arena), json_to_text(private_, arena),
		STORE_ABSENT, err);
}

int notice_add(struct store_transaction *transaction, const struct webhook_set *set,
	const struct notice *notice, struct err *err)
{
	struct span account, name;
	int code = 0;

	split_key(notice->subject.key, &account, &name);
	for (size_t i = 0; set && code == 0 && i < set->count; i++)
		if (webhook_wants(&set->items[i], account, notice->event))
			code = add_for(transaction, notice, &set->items[i], err);
	return code;
}
