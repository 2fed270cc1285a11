/* See the header. */
#include "environment/webhook.h"

#include "base/id.h"
#include "environment/daemon.h"
#include "store/fact_table.h"

/* ---- the kind ---- */

static const struct fact_row rows[] = {
	FACT(FACT_TEXT, webhook_notice_facts, event, "event"),
	FACT(FACT_NUMBER, webhook_notice_facts, created_ms, "created"),
	FACT(FACT_NUMBER, webhook_notice_facts, dropped, "dropped"),
};

static int extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct json *private_;
	int code = json_parse(object->private_, scratch, &private_, err);

	return code < 0 ? code : fact_table_read(rows, LENGTH(rows), private_, facts, err);
}

const struct store_kind webhook_notice_kind = {
	.name = "daemon.notice",
	.facts_size = sizeof(struct webhook_notice_facts),
	.extract = extract,
};

/* ---- who wants what ---- */

const struct webhook *webhook_find(const struct webhook_set *set, struct span name)
{
	for (size_t i = 0; set && i < set->count; i++)
		if (span_is(name, set->items[i].name))
			return &set->items[i];
	return NULL;
}

struct span webhook_stream_of(struct span key)
{
	for (size_t i = key.length; i > 0; i--)
		if (key.data[i - 1] == '/')
			return (struct span){key.data, i - 1};
	return key;
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

/* Makes room for one more; how many had to go so far. */
static int make_room(struct store_transaction *transaction, struct span prefix,
	int64_t *ret_dropped, struct err *err)
{
	struct store_cursor newest = {.view = store_head(transaction),
		.kind = &webhook_notice_kind,
		.index = -1,
		.prefix = prefix,
		.descending = true};
	struct store_cursor oldest = {.view = store_head(transaction),
		.kind = &webhook_notice_kind,
		.index = -1,
		.prefix = prefix};
	const struct store_object *last = store_next(&newest), *first;

	*ret_dropped = last ? webhook_notice_facts(last)->dropped : 0;
	if (store_count(store_head(transaction), &webhook_notice_kind, -1, prefix, false) <
		WEBHOOK_NOTICES_MAX)
		return 0;
	first = store_next(&oldest);
	++*ret_dropped;
	return store_delete(transaction, &webhook_notice_kind, first->key, first->revision, err);
}

struct reporting {
	struct store_transaction *transaction;
	struct span environment_key;
	struct environment_facts *environment;
	struct span event;
	const char *member; /* of the body: "deployment"; NULL: none */
	const struct json *document;
	int64_t now_ms;
	int64_t sequence;
};

static struct span body_of(const struct reporting *reporting, const struct webhook *webhook,
	int64_t dropped)
{
	struct arena *arena = store_transaction_arena(reporting->transaction);
	struct json *body = json_new_object(arena);

	json_set_string(arena, body, "webhook", span_of(webhook->name));
	json_set_string(arena, body, "event", reporting->event);
	json_set_time(arena, body, "time", reporting->now_ms);
	json_set_integer(arena, body, "sequence", reporting->sequence);
	json_set_string(arena, body, "account", reporting->environment->account);
	json_set_string(arena, body, "environment", reporting->environment->name);
	json_set_string(arena, body, "environmentType",
		span_of(environment_type_name(reporting->environment->type)));
	if (dropped > 0)
		json_set_integer(arena, body, "dropped", dropped);
	if (reporting->member)
		json_set(arena, body, reporting->member, reporting->document);
	return json_to_text(body, arena);
}

static int add_notice(const struct reporting *reporting, const struct webhook *webhook,
	struct err *err)
{
	struct arena *arena = store_transaction_arena(reporting->transaction);
	struct webhook_notice_facts facts = {
		.event = reporting->event, .created_ms = reporting->now_ms};
	struct span prefix = arena_format(arena, "%s/%.*s/", webhook->name,
		SPAN_ARGS(reporting->environment_key));
	struct json *private_ = json_new_object(arena);
	int code = make_room(reporting->transaction, prefix, &facts.dropped, err);

	if (code < 0)
		return code;
	fact_table_write(rows, LENGTH(rows), &facts, arena, private_);
	/* Of two environments of the same name the later one comes later. */
	return store_put(reporting->transaction, &webhook_notice_kind,
		arena_format(arena, "%.*s%015lld-%010lld", SPAN_ARGS(prefix),
			(long long)reporting->environment->created_ms,
			(long long)reporting->sequence),
		body_of(reporting, webhook, facts.dropped), json_to_text(private_, arena),
		STORE_ABSENT, err);
}

static int report(struct reporting *reporting, const struct webhook_set *set, struct err *err)
{
	int code = 0;

	reporting->sequence = ++reporting->environment->notice_count;
	for (size_t i = 0; code == 0 && i < set->count; i++)
		if (webhook_wants(&set->items[i], reporting->environment->account,
			    reporting->event))
			code = add_notice(reporting, &set->items[i], err);
	return code;
}

int webhook_report_deployment(struct store_transaction *transaction, const struct webhook_set *set,
	struct span environment_key, struct environment_facts *environment, struct span deployment,
	int64_t now_ms, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct reporting reporting = {.transaction = transaction,
		.environment_key = environment_key,
		.environment = environment,
		.member = "deployment",
		.now_ms = now_ms};
	const struct store_object *object;

	if (!set || set->count == 0)
		return 0;
	object = environment_deployment_of(store_head(transaction), arena, environment_key,
		deployment);
	if (!object)
		return 0;
	reporting.event = arena_format(arena, "deployment.%s",
		environment_deployment_status_name(environment_deployment_facts(object)->status));
	reporting.document =
		environment_deployment_document(store_head(transaction), arena, object);
	return report(&reporting, set, err);
}

int webhook_report_health(struct store_transaction *transaction, const struct webhook_set *set,
	struct span environment_key, struct environment_facts *environment, int64_t now_ms,
	struct err *err)
{
	struct reporting reporting = {.transaction = transaction,
		.environment_key = environment_key,
		.environment = environment,
		.event = environment->unhealthy ? SPAN("health.unhealthy") : SPAN("health.healthy"),
		.now_ms = now_ms};

	if (!set || set->count == 0)
		return 0;
	return report(&reporting, set, err);
}
