/* See the header. */
#include "pipeline/kinds.h"

#include "base/memory.h"
#include "pipeline/origin.h"
#include "pipeline/stop_switch.h"
#include "store/fact_table.h"

#define X(name) #name,
static const char *const trigger_names[] = {DEPLOYMENT_TRIGGERS(X)};
static const char *const order_names[] = {DEPLOYMENT_ORDERS(X)};
static const char *const flow_names[] = {DEPLOYMENT_FLOWS(X)};
#undef X
#define X(name, terminal) #name,
static const char *const state_names[] = {DEPLOYMENT_STATES(X)};
#undef X
static const char *const strategy_names[] = {"AUTOMATIC", "QUICK_SYNC", "PIPELINE"};

static const char *const sync_names[] = {
	[APPLICATION_SYNC_UNKNOWN] = "UNKNOWN",
	[APPLICATION_DEPLOYING] = "DEPLOYING",
	[APPLICATION_SYNCED] = "SYNCED",
	[APPLICATION_OUT_OF_SYNC] = "OUT_OF_SYNC",
};

const char *application_sync_name(enum application_sync sync)
{
	return sync_names[sync];
}

const char *deployment_trigger_name(enum deployment_trigger trigger)
{
	return trigger_names[trigger];
}

/* ---- keys ---- */

struct span application_key(struct arena *arena, struct span account, struct span name)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(account), SPAN_ARGS(name));
}

struct span deployment_key(struct arena *arena, struct span application, struct span id)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(application), SPAN_ARGS(id));
}

/* The parts of a key before and behind its slash of that number; false if it has fewer. */
static bool split_key(struct span key, unsigned number, struct span *ret_left,
	struct span *ret_right)
{
	for (size_t i = 0; i < key.length; i++) {
		if (key.data[i] != '/' || --number > 0)
			continue;
		*ret_left = (struct span){key.data, i};
		*ret_right = (struct span){key.data + i + 1, key.length - i - 1};
		return true;
	}
	return false;
}

struct span application_of_key(struct span key)
{
	struct span application = key, rest;

	split_key(key, 2, &application, &rest);
	return application;
}

struct span deployment_line_key(struct store_transaction *transaction, struct span deployment)
{
	return arena_format(store_transaction_arena(transaction), "%.*s/%016llx",
		SPAN_ARGS(deployment), (unsigned long long)store_next_revision(transaction));
}

/* ---- facts ---- */

static const struct fact_row application_rows[] = {
	FACT(FACT_TEXT, application_facts, current, "current"),
	FACT(FACT_TEXT, application_facts, succeeded, "succeeded"),
	FACT(FACT_TEXT, application_facts, kept, "kept"),
	FACT(FACT_FLAG, application_facts, is_deleting, "deleting"),
	FACT(FACT_TEXT, application_facts, kind, "kind"),
	FACT(FACT_FLAG, application_facts, is_off_flow, "offFlow"),
	FACT(FACT_FLAG, application_facts, is_on_chain, "onChain"),
	FACT(FACT_FLAG, application_facts, has_service, "service"),
	FACT(FACT_NUMBER, application_facts, deployment_count, "deployments"),
	FACT(FACT_NUMBER, application_facts, notice_count, "notices"),
	FACT(FACT_NUMBER, application_facts, created_ms, "created"),
	FACT(FACT_NUMBER, application_facts, updated_ms, "updated"),
};

static const struct fact_row live_rows[] = {
	FACT_NAMED(live_facts, sync, "sync", sync_names),
	FACT(FACT_TEXT, live_facts, deployment, "deployment"),
};

static const struct fact_row deployment_rows[] = {
	FACT(FACT_NUMBER, deployment_facts, number, "number"),
	FACT_NAMED(deployment_facts, state, "state", state_names),
	FACT_NAMED(deployment_facts, trigger, "trigger", trigger_names),
	FACT_NAMED(deployment_facts, strategy, "strategy", strategy_names),
	FACT_NAMED(deployment_facts, order, "order", order_names),
	FACT(FACT_TEXT, deployment_facts, created_by, "createdBy"),
	FACT(FACT_TEXT, deployment_facts, region, "region"),
	FACT(FACT_TEXT, deployment_facts, target, "target"),
	FACT(FACT_TEXT, deployment_facts, role, "role"),
	FACT(FACT_TEXT, deployment_facts, commit, "commit"),
	FACT(FACT_TEXT, deployment_facts, flow, "flow"),
	FACT_NAMED(deployment_facts, flow_choice, "flowChoice", flow_names),
	FACT(FACT_FLAG, deployment_facts, starts_flow, "startsFlow"),
	FACT(FACT_FLAG, deployment_facts, needs_approval, "needsApproval"),
	FACT(FACT_TEXT, deployment_facts, digest, "digest"),
	FACT(FACT_TEXT, deployment_facts, wanted_digest, "wantedDigest"),
	FACT(FACT_FLAG, deployment_facts, is_stale, "stale"),
	FACT(FACT_TEXT, deployment_facts, token, "token"),
	FACT(FACT_NUMBER, deployment_facts, created_ms, "created"),
	FACT(FACT_NUMBER, deployment_facts, started_ms, "started"),
	FACT(FACT_NUMBER, deployment_facts, ended_ms, "ended"),
	FACT(FACT_FLAG, deployment_facts, must_fetch, "fetch"),
	FACT(FACT_FLAG, deployment_facts, is_planned, "planned"),
	FACT(FACT_FLAG, deployment_facts, is_first, "first"),
	FACT(FACT_NUMBER, deployment_facts, canary_percent, "canaryPercent"),
	FACT(FACT_NUMBER, deployment_facts, record_ttl_ms, "recordTtl"),
	FACT(FACT_NUMBER, deployment_facts, kept_until_ms, "keptUntil"),
};

static int read_rows(const struct store_object *object, const struct fact_row *rows, size_t count,
	void *facts, struct arena *scratch, struct err *err)
{
	struct json *private_;
	int code = json_parse(object->private_, scratch, &private_, err);

	return code < 0 ? code : fact_table_read(rows, count, private_, facts, err);
}

static struct span write_rows(struct store_transaction *transaction, const struct fact_row *rows,
	size_t count, const void *facts)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct json *private_ = json_new_object(arena);

	fact_table_write(rows, count, facts, arena, private_);
	return json_to_text(private_, arena);
}

static int bad_key(const struct store_object *object, struct err *err)
{
	return err_set(err, -EINVAL, "'%.*s' is not the key of a %s", SPAN_ARGS(object->key),
		object->kind->name);
}

static int extract_application(const struct store_object *object, void *facts,
	struct arena *scratch, struct err *err)
{
	struct application_facts *application = facts;

	if (!split_key(object->key, 1, &application->account, &application->name))
		return bad_key(object, err);
	return read_rows(object, application_rows, LENGTH(application_rows), facts, scratch, err);
}

static int extract_deployment(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct deployment_facts *deployment = facts;

	if (!split_key(object->key, 2, &deployment->application, &deployment->id))
		return bad_key(object, err);
	return read_rows(object, deployment_rows, LENGTH(deployment_rows), facts, scratch, err);
}

static int extract_live(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	return read_rows(object, live_rows, LENGTH(live_rows), facts, scratch, err);
}

int application_put(struct store_transaction *transaction, struct span key, struct span api,
	const struct application_facts *facts, uint64_t expected, struct err *err)
{
	return store_put(transaction, &application_kind, key, api,
		write_rows(transaction, application_rows, LENGTH(application_rows), facts),
		expected, err);
}

int deployment_put_facts(struct store_transaction *transaction, struct span key, struct span api,
	const struct deployment_facts *facts, uint64_t expected, struct err *err)
{
	return store_put(transaction, &deployment_kind, key, api,
		write_rows(transaction, deployment_rows, LENGTH(deployment_rows), facts), expected,
		err);
}

int live_state_put(struct store_transaction *transaction, struct span key, struct span api,
	const struct live_facts *facts, struct err *err)
{
	return store_put(transaction, &live_state_kind, key, api,
		write_rows(transaction, live_rows, LENGTH(live_rows), facts), STORE_ANY, err);
}

/* ---- indexes ---- */

static void write_number(const struct store_object *object, struct store_index_writer *writer)
{
	const struct deployment_facts *facts = deployment_facts(object);

	store_index_add_format(writer, "%.*s/%010lld", SPAN_ARGS(facts->application),
		(long long)facts->number);
}

static void write_open(const struct store_object *object, struct store_index_writer *writer)
{
	if (!pipeline_deployment_is_terminal(deployment_facts(object)->state))
		write_number(object, writer);
}

static void write_token(const struct store_object *object, struct store_index_writer *writer)
{
	const struct deployment_facts *facts = deployment_facts(object);

	if (facts->token.length > 0)
		store_index_add_format(writer, "%.*s/%.*s", SPAN_ARGS(facts->application),
			SPAN_ARGS(facts->token));
}

static const struct store_index deployment_indexes[DEPLOYMENT_INDEX_COUNT] = {
	[DEPLOYMENT_BY_NUMBER] = {.name = "number", .write = write_number},
	[DEPLOYMENT_OPEN] = {.name = "open", .write = write_open},
	[DEPLOYMENT_BY_TOKEN] = {.name = "token", .write = write_token},
};

/* ---- kinds ---- */

const struct store_kind application_kind = {
	.name = "pipeline.application",
	.facts_size = sizeof(struct application_facts),
	.extract = extract_application,
};

const struct store_kind deployment_kind = {
	.name = "pipeline.deployment",
	.facts_size = sizeof(struct deployment_facts),
	.extract = extract_deployment,
	.indexes = deployment_indexes,
	.index_count = LENGTH(deployment_indexes),
};

const struct store_kind deployment_source_kind = {.name = "pipeline.source"};
const struct store_kind deployment_call_kind = {.name = "pipeline.call"};
const struct store_kind deployment_log_kind = {.name = "pipeline.log"};

const struct store_kind live_state_kind = {
	.name = "pipeline.live",
	.facts_size = sizeof(struct live_facts),
	.extract = extract_live,
};

const struct store_kind *const pipeline_kinds[] = {
	&application_kind,
	&deployment_kind,
	&deployment_source_kind,
	&deployment_call_kind,
	&deployment_log_kind,
	&live_state_kind,
	&repository_kind,
	&origin_kind,
	&stop_switch_kind,
};
const size_t pipeline_kind_count = LENGTH(pipeline_kinds);
