/* See the header. */
#include "flow/kinds.h"

#include "base/memory.h"
#include "store/fact_table.h"

#define X(name, terminal) #name,
static const char *const state_names[] = {FLOW_STATES(X)};
static const char *const node_state_names[] = {FLOW_NODE_STATES(X)};
#undef X
#define X(name, text) #name,
static const char *const reason_names[] = {FLOW_REASONS(X)};
static const char *const source_names[] = {FLOW_COMMIT_SOURCES(X)};
#undef X
#define X(name) #name,
static const char *const phase_names[] = {FLOW_PHASES(X)};
static const char *const trigger_names[] = {DEPLOYMENT_TRIGGERS(X)};
#undef X
static const char *const order_names[FLOW_ORDER_COUNT] = {
	[FLOW_ORDER_CANCEL] = "CANCEL",
	[FLOW_ORDER_CANCEL_AND_ROLL_BACK] = "CANCEL_AND_ROLL_BACK",
	[FLOW_ORDER_RETRY] = "RETRY",
	[FLOW_ORDER_SUPERSEDE] = "SUPERSEDE",
};

const char *flow_commit_source_text(enum flow_commit_source source)
{
	static const char *const texts[] = {
#define X(name, text) text,
		FLOW_COMMIT_SOURCES(X)
#undef X
	};

	return texts[source];
}

/* ---- keys ---- */

struct span flow_key(struct arena *arena, struct span account, struct span id)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(account), SPAN_ARGS(id));
}

struct span flow_node_key(struct arena *arena, struct span flow, uint32_t node)
{
	return arena_format(arena, "%.*s/%05u", SPAN_ARGS(flow), node);
}

/* Account, flow and node; false: the key has fewer parts. */
static bool split_key(struct span key, struct span *ret_account, struct span *ret_flow,
	struct span *ret_node)
{
	struct span rest;

	if (!span_split(key, '/', ret_account, &rest))
		return false;
	if (!span_split(rest, '/', ret_flow, ret_node)) {
		*ret_flow = rest;
		*ret_node = SPAN("");
	}
	return ret_flow->length > 0;
}

struct span flow_of_key(struct span key)
{
	struct span account, flow, node;

	if (!split_key(key, &account, &flow, &node) || node.length == 0)
		return key;
	return (struct span){key.data, key.length - node.length - 1};
}

/* ---- facts ---- */

static const struct fact_row flow_rows[] = {
	FACT(FACT_TEXT, flow_facts, head, "head"),
	FACT(FACT_NUMBER, flow_facts, number, "number"),
	FACT_NAMED(flow_facts, state, "state", state_names),
	FACT_NAMED(flow_facts, closing, "closing", reason_names),
	FACT(FACT_NUMBER, flow_facts, closing_cause, "closingCause"),
	FACT(FACT_FLAG, flow_facts, rolls_back, "rollsBack"),
	FACT(FACT_FLAG, flow_facts, is_started, "isStarted"),
	FACT(FACT_FLAG, flow_facts, is_deleting, "deleting"),
	FACT(FACT_FLAG, flow_facts, is_damaged, "damaged"),
	FACT_NAMED(flow_facts, trigger, "trigger", trigger_names),
	FACT(FACT_TEXT, flow_facts, created_by, "createdBy"),
	FACT(FACT_TEXT, flow_facts, commit, "commit"),
	FACT(FACT_NUMBER, flow_facts, node_count, "nodes"),
	FACT(FACT_NUMBER, flow_facts, created_ms, "created"),
	FACT(FACT_NUMBER, flow_facts, started_ms, "started"),
	FACT(FACT_NUMBER, flow_facts, ended_ms, "ended"),
};

static const struct fact_row node_rows[] = {
	FACT_NAMED(flow_node_facts, state, "state", node_state_names),
	FACT_NAMED(flow_node_facts, phase, "phase", phase_names),
	FACT_NAMED(flow_node_facts, reason, "reason", reason_names),
	FACT_NAMED(flow_node_facts, stop_reason, "stopReason", reason_names),
	FACT(FACT_NUMBER, flow_node_facts, stop, "stop"),
	FACT(FACT_FLAG, flow_node_facts, is_approved, "approved"),
	FACT(FACT_FLAG, flow_node_facts, is_deployed, "deployed"),
	FACT(FACT_NUMBER, flow_node_facts, cause, "cause"),
	FACT(FACT_NUMBER, flow_node_facts, run, "run"),
	FACT(FACT_NUMBER, flow_node_facts, since_ms, "since"),
	FACT(FACT_NUMBER, flow_node_facts, deadline_ms, "deadline"),
	FACT(FACT_NUMBER, flow_node_facts, left_ms, "left"),
	FACT(FACT_TEXT, flow_node_facts, plan, "plan"),
	FACT(FACT_TEXT, flow_node_facts, commit, "commit"),
	FACT_NAMED(flow_node_facts, source, "source", source_names),
	FACT(FACT_TEXT, flow_node_facts, from, "from"),
	FACT(FACT_TEXT, flow_node_facts, digest, "digest"),
	FACT(FACT_TEXT, flow_node_facts, plan_deployment, "planDeployment"),
	FACT(FACT_NUMBER, flow_node_facts, plan_count, "plans"),
	FACT(FACT_TEXT, flow_node_facts, deployment, "deployment"),
	FACT(FACT_NUMBER, flow_node_facts, deployment_run, "deploymentRun"),
	FACT(FACT_TEXT, flow_node_facts, before, "before"),
	FACT(FACT_TEXT, flow_node_facts, undo, "undo"),
	FACT(FACT_NUMBER, flow_node_facts, started_ms, "started"),
	FACT(FACT_NUMBER, flow_node_facts, ended_ms, "ended"),
};

static const struct fact_row order_rows[] = {
	FACT_NAMED(flow_order_facts, order, "order", order_names),
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

static int extract_flow(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct flow_facts *flow = facts;
	struct span node;

	if (!split_key(object->key, &flow->account, &flow->id, &node) || node.length > 0)
		return bad_key(object, err);
	return read_rows(object, flow_rows, LENGTH(flow_rows), facts, scratch, err);
}

static int extract_node(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct flow_node_facts *node = facts;
	struct span number;
	uint64_t index;

	if (!split_key(object->key, &node->account, &node->flow, &number) ||
		!span_to_unsigned(number, FLOW_NODES_MAX - 1, &index))
		return bad_key(object, err);
	node->node = (int64_t)index;
	return read_rows(object, node_rows, LENGTH(node_rows), facts, scratch, err);
}

static int extract_order(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	return read_rows(object, order_rows, LENGTH(order_rows), facts, scratch, err);
}

bool flow_is_damaged(struct store *store, struct span key)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span prefix = arena_format(arena, "%.*s/", SPAN_ARGS(key));

	return store_is_quarantined(store, &flow_graph_kind, key) ||
	       store_is_quarantined(store, &flow_files_kind, key) ||
	       store_is_quarantined(store, &flow_order_kind, key) ||
	       store_has_quarantined(store, &flow_node_kind, prefix) ||
	       store_has_quarantined(store, &flow_approval_kind, prefix);
}

int flow_put(struct store_transaction *transaction, struct span key, struct span api,
	const struct flow_facts *facts, uint64_t expected, struct err *err)
{
	return store_put(transaction, &flow_kind, key, api,
		write_rows(transaction, flow_rows, LENGTH(flow_rows), facts), expected, err);
}

int flow_node_put(struct store_transaction *transaction, struct span key, struct span api,
	const struct flow_node_facts *facts, struct err *err)
{
	return store_put(transaction, &flow_node_kind, key, api,
		write_rows(transaction, node_rows, LENGTH(node_rows), facts), STORE_ANY, err);
}

int flow_order_put(struct store_transaction *transaction, struct span flow, enum flow_order order,
	struct err *err)
{
	const struct flow_order_facts facts = {order};

	return store_put(transaction, &flow_order_kind, flow, SPAN("{}"),
		write_rows(transaction, order_rows, LENGTH(order_rows), &facts), STORE_ANY, err);
}

/* ---- the engine's records ---- */

static int64_t cause_to_fact(uint32_t node)
{
	return node == FLOW_NO_NODE ? 0 : (int64_t)node + 1;
}

static uint32_t cause_of_fact(int64_t cause)
{
	return cause == 0 ? FLOW_NO_NODE : (uint32_t)(cause - 1);
}

void flow_facts_set_record(struct flow_facts *facts, const struct flow_record *record)
{
	facts->state = record->state;
	facts->closing = record->closing;
	facts->closing_cause = cause_to_fact(record->closing_cause);
	facts->rolls_back = record->rolls_back;
	facts->is_started = record->is_started;
}

struct flow_record flow_facts_record(const struct flow_facts *facts)
{
	return (struct flow_record){.state = (uint8_t)facts->state,
		.closing = (uint8_t)facts->closing,
		.closing_cause = cause_of_fact(facts->closing_cause),
		.rolls_back = facts->rolls_back,
		.is_started = facts->is_started};
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

struct flow_plan_id flow_plan_id_of(struct span digest)
{
	struct flow_plan_id id = {0};

	for (size_t i = 0; i < FLOW_PLAN_ID_SIZE && 2 * i + 1 < digest.length; i++)
		id.bytes[i] = (uint8_t)(digit_of(digest.data[2 * i]) * 16 +
					digit_of(digest.data[2 * i + 1]));
	return id;
}

void flow_node_facts_set_record(struct flow_node_facts *facts,
	const struct flow_node_record *record, struct arena *arena)
{
	static const char digits[] = "0123456789abcdef";
	char plan[2 * FLOW_PLAN_ID_SIZE];

	for (size_t i = 0; i < FLOW_PLAN_ID_SIZE; i++) {
		plan[2 * i] = digits[record->plan.bytes[i] >> 4];
		plan[2 * i + 1] = digits[record->plan.bytes[i] & 15];
	}
	facts->state = record->state;
	facts->phase = record->phase;
	facts->reason = record->reason;
	facts->stop = record->stop;
	facts->stop_reason = record->stop_reason;
	facts->is_approved = record->is_approved;
	facts->is_deployed = record->is_deployed;
	facts->cause = cause_to_fact(record->cause);
	facts->run = record->run;
	facts->since_ms = record->since_ms;
	facts->deadline_ms = record->deadline_ms;
	facts->left_ms = record->left_ms;
	facts->plan = arena_copy_span(arena, (struct span){plan, sizeof(plan)});
}

struct flow_node_record flow_node_facts_record(const struct flow_node_facts *facts)
{
	return (struct flow_node_record){.state = (uint8_t)facts->state,
		.phase = (uint8_t)facts->phase,
		.reason = (uint8_t)facts->reason,
		.stop = (uint8_t)facts->stop,
		.stop_reason = (uint8_t)facts->stop_reason,
		.is_approved = facts->is_approved,
		.is_deployed = facts->is_deployed,
		.cause = cause_of_fact(facts->cause),
		.run = (uint32_t)facts->run,
		.since_ms = facts->since_ms,
		.deadline_ms = facts->deadline_ms,
		.left_ms = facts->left_ms,
		.plan = flow_plan_id_of(facts->plan)};
}

/* ---- indexes ---- */

static void write_time(const struct store_object *object, struct store_index_writer *writer)
{
	const struct flow_facts *facts = flow_facts(object);

	store_index_add_format(writer, "%.*s/%015lld/%.*s", SPAN_ARGS(facts->account),
		(long long)facts->created_ms, SPAN_ARGS(facts->id));
}

static void write_head(const struct store_object *object, struct store_index_writer *writer)
{
	const struct flow_facts *facts = flow_facts(object);

	store_index_add_format(writer, "%.*s/%010lld", SPAN_ARGS(facts->head),
		(long long)facts->number);
}

static void write_open(const struct store_object *object, struct store_index_writer *writer)
{
	if (!flow_state_is_terminal(flow_facts(object)->state))
		write_head(object, writer);
}

static const struct store_index flow_indexes[FLOW_INDEX_COUNT] = {
	[FLOW_BY_TIME] = {.name = "time", .write = write_time},
	[FLOW_BY_HEAD] = {.name = "head", .write = write_head},
	[FLOW_OPEN] = {.name = "open", .write = write_open},
};

/* ---- kinds ---- */

const struct store_kind flow_kind = {
	.name = "flow.flow",
	.facts_size = sizeof(struct flow_facts),
	.extract = extract_flow,
	.indexes = flow_indexes,
	.index_count = LENGTH(flow_indexes),
};

const struct store_kind flow_node_kind = {
	.name = "flow.node",
	.facts_size = sizeof(struct flow_node_facts),
	.extract = extract_node,
};

const struct store_kind flow_order_kind = {
	.name = "flow.order",
	.facts_size = sizeof(struct flow_order_facts),
	.extract = extract_order,
};

const struct store_kind flow_graph_kind = {.name = "flow.graph"};
const struct store_kind flow_files_kind = {.name = "flow.files"};
const struct store_kind flow_approval_kind = {.name = "flow.approval"};

const struct store_kind *const flow_kinds[] = {
	&flow_kind,
	&flow_graph_kind,
	&flow_files_kind,
	&flow_node_kind,
	&flow_approval_kind,
	&flow_order_kind,
};
const size_t flow_kind_count = LENGTH(flow_kinds);
