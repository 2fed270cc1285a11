/* Services, deployments, revisions, task sets, events: facts and indexes; see the header. */
#include "ecs/record/service_kind.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "ecs/record/name.h"
#include "store/fact_table.h"

#define NUMBER_DIGITS 19
#define COUNTS_SCAN_MAX 8 /* of the newest events, for one to count in */

/* ---- names ---- */

#define X(name) #name,
static const char *const status_names[] = {SERVICE_STATUSES(X)};
static const char *const strategy_names[] = {SERVICE_STRATEGIES(X)};
static const char *const controller_names[] = {SERVICE_CONTROLLERS(X)};
static const char *const deployment_status_names[] = {DEPLOYMENT_STATUSES(X)};
static const char *const rollout_state_names[] = {ROLLOUT_STATES(X)};
static const char *const service_deployment_status_names[] = {SERVICE_DEPLOYMENT_STATUSES(X)};
static const char *const task_set_status_names[] = {TASK_SET_STATUSES(X)};
#undef X

const char *service_status_name(enum service_status status)
{
	return status_names[status];
}

const char *service_strategy_name(enum service_strategy strategy)
{
	return strategy_names[strategy];
}

const char *service_controller_name(enum service_controller controller)
{
	return controller_names[controller];
}

const char *deployment_status_name(enum deployment_status status)
{
	return deployment_status_names[status];
}

const char *rollout_state_name(enum rollout_state state)
{
	return rollout_state_names[state];
}

const char *service_deployment_status_name(enum service_deployment_status status)
{
	return service_deployment_status_names[status];
}

const char *task_set_status_name(enum task_set_status status)
{
	return task_set_status_names[status];
}

/* ---- keys ---- */

struct span service_key_of_component(struct span key)
{
	size_t length = key.length;

	while (length > 0 && key.data[length - 1] != '/')
		length--;
	return (struct span){key.data, length ? length - 1 : 0};
}

static struct span last_of_key(struct span key)
{
	size_t length = service_key_of_component(key).length;

	return (struct span){key.data + length + 1, key.length - length - 1};
}

struct span service_component_key(struct arena *arena, struct span service_key, struct span number)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(service_key), SPAN_ARGS(number));
}

struct span service_number_new(struct arena *arena, struct random *random)
{
	char digits[NUMBER_DIGITS + 1];

	digits[0] = (char)('1' + random_below(random, 9));
	for (size_t i = 1; i < NUMBER_DIGITS; i++)
		digits[i] = (char)('0' + random_below(random, 10));
	digits[NUMBER_DIGITS] = '\0';
	return arena_copy_span(arena, (struct span){digits, NUMBER_DIGITS});
}

/* ---- facts ---- */

static const struct fact_row service_rows[] = {
	FACT_NAMED(service_facts, status, "status", status_names),
	FACT_NAMED(service_facts, strategy, "strategy", strategy_names),
	FACT_NAMED(service_facts, controller, "controller", controller_names),
	FACT(FACT_TEXT, service_facts, launch_type, "launchType"),
	FACT(FACT_NUMBER, service_facts, desired, "desired"),
	FACT(FACT_NUMBER, service_facts, minimum_healthy, "minimumHealthy"),
	FACT(FACT_NUMBER, service_facts, maximum, "maximum"),
	FACT(FACT_FLAG, service_facts, breaker, "breaker"),
	FACT(FACT_FLAG, service_facts, rollback, "rollback"),
	FACT(FACT_NUMBER, service_facts, grace_ms, "grace"),
	FACT(FACT_NUMBER, service_facts, created_ms, "created"),
	FACT(FACT_NUMBER, service_facts, ended_ms, "ended"),
	FACT(FACT_TEXT, service_facts, reported, "told"),
	FACT(FACT_NUMBER, service_facts, reported_ms, "toldAt"),
	FACT(FACT_FLAG, service_facts, group_failed, "groupFailed"),
	FACT(FACT_TEXT, service_facts, group_available, "groupAvailable"),
};

static const struct fact_row deployment_rows[] = {
	FACT(FACT_TEXT, service_deployment_facts, family, "family"),
	FACT(FACT_NUMBER, service_deployment_facts, revision, "revision"),
	FACT(FACT_TEXT, service_deployment_facts, service_revision, "serviceRevision"),
	FACT(FACT_TEXT, service_deployment_facts, source, "source"),
	FACT_NAMED(service_deployment_facts, status, "status", deployment_status_names),
	FACT_NAMED(service_deployment_facts, rollout, "rollout", rollout_state_names),
	FACT_NAMED(service_deployment_facts, state, "state", service_deployment_status_names),
	FACT(FACT_NUMBER, service_deployment_facts, failed, "failed"),
	FACT(FACT_NUMBER, service_deployment_facts, failed_ever, "failedEver"),
	FACT(FACT_NUMBER, service_deployment_facts, failed_ms, "failedAt"),
	FACT(FACT_FLAG, service_deployment_facts, reached, "reached"),
	FACT(FACT_FLAG, service_deployment_facts, rollback, "rollback"),
	FACT(FACT_FLAG, service_deployment_facts, requested, "asked"),
	FACT(FACT_NUMBER, service_deployment_facts, backoff_round, "backoffRound"),
	FACT(FACT_NUMBER, service_deployment_facts, backoff_until_ms, "backoffUntil"),
	FACT(FACT_NUMBER, service_deployment_facts, created_ms, "created"),
	FACT(FACT_NUMBER, service_deployment_facts, updated_ms, "updated"),
	FACT(FACT_NUMBER, service_deployment_facts, finished_ms, "finished"),
};

static const struct fact_row task_set_rows[] = {
	FACT(FACT_TEXT, task_set_facts, family, "family"),
	FACT(FACT_NUMBER, task_set_facts, revision, "revision"),
	FACT_NAMED(task_set_facts, status, "status", task_set_status_names),
	FACT(FACT_REAL, task_set_facts, scale, "scale"),
	FACT(FACT_NUMBER, task_set_facts, computed, "computed"),
	FACT(FACT_FLAG, task_set_facts, stable, "stable"),
	FACT(FACT_NUMBER, task_set_facts, stable_ms, "stableAt"),
	FACT(FACT_NUMBER, task_set_facts, failed, "failed"),
	FACT(FACT_NUMBER, task_set_facts, failed_ms, "failedAt"),
	FACT(FACT_NUMBER, task_set_facts, backoff_round, "backoffRound"),
	FACT(FACT_NUMBER, task_set_facts, backoff_until_ms, "backoffUntil"),
	FACT(FACT_NUMBER, task_set_facts, created_ms, "created"),
	FACT(FACT_NUMBER, task_set_facts, updated_ms, "updated"),
};

static const struct kind_rows {
	const struct store_kind *kind;
	const struct fact_row *rows;
	size_t count;
} kind_rows[] = {
	{&service_kind, service_rows, LENGTH(service_rows)},
	{&service_deployment_kind, deployment_rows, LENGTH(deployment_rows)},
	{&task_set_kind, task_set_rows, LENGTH(task_set_rows)},
	{&service_revision_kind, NULL, 0},
	{&service_event_kind, NULL, 0},
};

static const struct kind_rows *rows_of(const struct store_kind *kind)
{
	for (size_t i = 0; i < LENGTH(kind_rows); i++)
		if (kind_rows[i].kind == kind)
			return &kind_rows[i];
	return NULL;
}

static int read_rows(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	const struct kind_rows *rows = rows_of(object->kind);
	struct json *private_;
	int code = json_parse(object->private_, scratch, &private_, err);

	if (code < 0)
		return code;
	return fact_table_read(rows->rows, rows->count, private_, facts, err);
}

static int extract_service(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct service_facts *service = facts;

	if (!span_split(aws_name_of_key(object->key), '/', &service->cluster, &service->name))
		return err_set(err, -EINVAL, "'%.*s' is not the key of a service",
			SPAN_ARGS(object->key));
	return read_rows(object, facts, scratch, err);
}

static int extract_deployment(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct service_deployment_facts *deployment = facts;

	deployment->service = aws_name_of_key(service_key_of_component(object->key));
	deployment->number = last_of_key(object->key);
	return read_rows(object, facts, scratch, err);
}

static int extract_task_set(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct task_set_facts *task_set = facts;

	task_set->service = aws_name_of_key(service_key_of_component(object->key));
	task_set->number = last_of_key(object->key);
	return read_rows(object, facts, scratch, err);
}

/* ---- indexes ---- */

static void write_status(const struct store_object *object, struct store_index_writer *writer)
{
	const struct service_facts *facts = service_facts(object);

	store_index_add_format(writer, "%.*s/%s/%.*s", SPAN_ARGS(task_cluster_key(object->key)),
		status_names[facts->status], SPAN_ARGS(facts->launch_type));
}

static void write_listed(const struct store_object *object, struct store_index_writer *writer)
{
	if (service_facts(object)->status != SERVICE_INACTIVE)
		store_index_add(writer, task_cluster_key(object->key));
}

static void write_daemon(const struct store_object *object, struct store_index_writer *writer)
{
	if (service_facts(object)->status == SERVICE_ACTIVE &&
		service_facts(object)->strategy == SERVICE_DAEMON)
		store_index_add(writer, task_cluster_key(object->key));
}

static const struct store_index service_indexes[SERVICE_INDEX_COUNT] = {
	[SERVICE_BY_STATUS] = {.name = "status", .write = write_status},
	[SERVICE_BY_LISTED] = {.name = "listed", .write = write_listed},
	[SERVICE_BY_DAEMON] = {.name = "daemon", .write = write_daemon},
};

/* "ACCOUNT/REGION/FAMILY REVISION", as task definitions have it in their keys. */
static void add_definition(const struct store_object *object, struct span family, int64_t revision,
	struct store_index_writer *writer)
{
	struct span name = aws_name_of_key(object->key);

	store_index_add_format(writer, "%.*s%.*s %010lld", (int)(name.data - object->key.data),
		object->key.data, SPAN_ARGS(family), (long long)revision);
}

static void write_live(const struct store_object *object, struct store_index_writer *writer)
{
	if (service_deployment_facts(object)->status != DEPLOYMENT_INACTIVE)
		store_index_add(writer, service_key_of_component(object->key));
}

static void write_created(const struct store_object *object, struct store_index_writer *writer)
{
	store_index_add_format(writer, "%.*s/%015lld",
		SPAN_ARGS(service_key_of_component(object->key)),
		(long long)service_deployment_facts(object)->created_ms);
}

static void write_deployment_definition(const struct store_object *object,
	struct store_index_writer *writer)
{
	const struct service_deployment_facts *facts = service_deployment_facts(object);

	if (facts->status != DEPLOYMENT_INACTIVE)
		add_definition(object, facts->family, facts->revision, writer);
}

static const struct store_index deployment_indexes[SERVICE_DEPLOYMENT_INDEX_COUNT] = {
	[DEPLOYMENT_BY_LIVE] = {.name = "live", .write = write_live},
	[DEPLOYMENT_BY_CREATED] = {.name = "created", .write = write_created},
	[DEPLOYMENT_BY_DEFINITION] = {.name = "definition", .write = write_deployment_definition},
};

static void write_task_set_definition(const struct store_object *object,
	struct store_index_writer *writer)
{
	add_definition(object, task_set_facts(object)->family, task_set_facts(object)->revision,
		writer);
}

static const struct store_index task_set_indexes[TASK_SET_INDEX_COUNT] = {
	[TASK_SET_BY_DEFINITION] = {.name = "definition", .write = write_task_set_definition},
};

const struct store_kind service_kind = {
	.name = "ecs.service",
	.facts_size = sizeof(struct service_facts),
	.extract = extract_service,
	.indexes = service_indexes,
	.index_count = LENGTH(service_indexes),
};

const struct store_kind service_deployment_kind = {
	.name = "ecs.service_deployment",
	.facts_size = sizeof(struct service_deployment_facts),
	.extract = extract_deployment,
	.indexes = deployment_indexes,
	.index_count = LENGTH(deployment_indexes),
};

const struct store_kind service_revision_kind = {.name = "ecs.service_revision"};

const struct store_kind task_set_kind = {
	.name = "ecs.task_set",
	.facts_size = sizeof(struct task_set_facts),
	.extract = extract_task_set,
	.indexes = task_set_indexes,
	.index_count = LENGTH(task_set_indexes),
};

const struct store_kind service_event_kind = {.name = "ecs.service_event"};

/* ---- writing ---- */

int service_object_put(struct store_transaction *transaction, const struct store_kind *kind,
	struct span key, const struct json *document, const void *facts, const struct json *tags,
	uint64_t expected, struct arena *arena, struct err *err)
{
	const struct kind_rows *rows = rows_of(kind);
	struct json *private_ = json_new_object(arena);

	fact_table_write(rows->rows, rows->count, facts, arena, private_);
	if (json_count(tags) > 0)
		json_set(arena, private_, "tags", tags);
	return store_put(transaction, kind, key, json_to_text(document, arena),
		json_to_text(private_, arena), expected, err);
}

int service_object_put_facts(struct store_transaction *transaction,
	const struct store_object *object, const void *facts, struct arena *arena, struct err *err)
{
	const struct kind_rows *rows = rows_of(object->kind);
	struct json *private_ = json_new_object(arena), *before;
	int code = json_parse(object->private_, arena, &before, err);

	if (code < 0)
		return code;
	fact_table_write(rows->rows, rows->count, facts, arena, private_);
	json_set(arena, private_, "tags", json_get(before, "tags"));
	return store_put(transaction, object->kind, object->key, object->api,
		json_to_text(private_, arena), object->revision, err);
}

const struct store_object *service_primary_deployment(const struct store_view *view,
	struct span service_key)
{
	struct store_cursor cursor = {.view = view,
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_LIVE,
		.prefix = service_key,
		.exact = true};
	const struct store_object *deployment;

	while ((deployment = store_next(&cursor)))
		if (service_deployment_facts(deployment)->status == DEPLOYMENT_PRIMARY)
			return deployment;
	return NULL;
}

void service_count_tasks(const struct store_view *view, struct span service_key, struct span number,
	int64_t ret_counts[TASK_CLASS_COUNT])
{
	char text[STORE_KEY_MAX + 64];

	for (size_t i = 0; i < TASK_CLASS_COUNT; i++) {
		int length = snprintf(text, sizeof(text),
			"%.*s/live/" SERVICE_DEPLOYMENT_PREFIX "%.*s/%c", SPAN_ARGS(service_key),
			SPAN_ARGS(number), task_class_letters[i]);

		ret_counts[i] = (int64_t)store_count(view, &task_kind, TASK_BY_SERVICE,
			(struct span){text, (size_t)length}, true);
	}
}

/* ---- events ---- */

static int drop_oldest_events(struct store_transaction *transaction, struct span prefix,
	struct err *err)
{
	while (store_count(store_head(transaction), &service_event_kind, -1, prefix, false) >=
		SERVICE_EVENTS_MAX) {
		struct store_cursor cursor = {.view = store_head(transaction),
			.kind = &service_event_kind,
			.index = -1,
			.prefix = prefix};
		const struct store_object *oldest = store_next(&cursor);
		int code = store_delete(transaction, &service_event_kind, oldest->key,
			oldest->revision, err);

		if (code < 0)
			return code;
	}
	return 0;
}

static int put_event(struct store_transaction *transaction, struct span service_key, struct span id,
	struct span message, int64_t now_ms, struct arena *arena, struct err *err)
{
	struct span prefix = arena_format(arena, "%.*s/", SPAN_ARGS(service_key));
	struct json *event = json_new_object(arena);
	struct span name, cluster;
	int code = drop_oldest_events(transaction, prefix, err);

	if (code < 0)
		return code;
	span_split(aws_name_of_key(service_key), '/', &cluster, &name);
	json_set_string(arena, event, "id", id);
	json_set_time(arena, event, "createdAt", now_ms);
	json_set_string(arena, event, "message",
		arena_format(arena, "(service %.*s) %.*s", SPAN_ARGS(name), SPAN_ARGS(message)));
	/* The next revision is higher than that of any event before. */
	return store_put(transaction, &service_event_kind,
		arena_format(arena, "%.*s%020llu", SPAN_ARGS(prefix),
			(unsigned long long)store_next_revision(transaction)),
		json_to_text(event, arena), SPAN(""), STORE_ABSENT, err);
}

int service_event_add(struct store_transaction *transaction, struct span service_key,
	struct random *random, int64_t now_ms, struct arena *arena, struct err *err,
	const char *format, ...)
{
	char id[ID_UUID_SIZE];
	struct span message;
	va_list list;

	va_start(list, format);
	message = arena_format_list(arena, format, list);
	va_end(list);
	id_uuid(random, id);
	return put_event(transaction, service_key, span_of(id), message, now_ms, arena, err);
}

/* The number in "(service NAME) VERB N THINGS"; 0 if the message is another. */
static uint64_t count_in(struct span message, struct span head, struct span tail)
{
	uint64_t count = 0;

	if (message.length <= head.length + tail.length || !span_starts_with(message, head) ||
		!span_ends_with(message, tail) ||
		!span_to_unsigned((struct span){message.data + head.length,
					  message.length - head.length - tail.length},
			UINT32_MAX, &count))
		return 0;
	return count;
}

/* Counts in one of the newest events; *ret_done false: none is of this. */
static int count_in_event(struct store_transaction *transaction, struct span service_key,
	struct span head, struct span tail, int64_t now_ms, struct arena *arena, bool *ret_done,
	struct err *err)
{
	struct store_cursor cursor = {.view = store_head(transaction),
		.kind = &service_event_kind,
		.index = -1,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(service_key)),
		.descending = true};
	const struct store_object *object;

	*ret_done = false;
	for (unsigned i = 0; i < COUNTS_SCAN_MAX && (object = store_next(&cursor)); i++) {
		struct json *stored, *event;
		uint64_t count;
		double at;

		if (json_parse(object->api, arena, &stored, NULL) < 0)
			continue;
		count = count_in(json_get_text(stored, "message"), head, tail);
		if (count == 0 || !json_double(json_get(stored, "createdAt"), &at) ||
			(int64_t)(at * 1000) + SERVICE_EVENT_COUNTS_MS < now_ms)
			continue;
		event = json_copy_object(arena, stored);
		json_set_string(arena, event, "message",
			arena_format(arena, "%.*s%llu%.*s", SPAN_ARGS(head),
				(unsigned long long)count + 1, SPAN_ARGS(tail)));
		*ret_done = true;
		return store_put(transaction, &service_event_kind, object->key,
			json_to_text(event, arena), SPAN(""), object->revision, err);
	}
	return 0;
}

/* Whether one of the service's events has the id, or the message if that is "". */
static bool event_is_there(const struct store_view *view, struct span service_key, struct span id,
	struct span message, struct arena *arena)
{
	struct store_cursor cursor = {.view = view,
		.kind = &service_event_kind,
		.index = -1,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(service_key))};
	const struct store_object *object;
	struct json *event;

	while ((object = store_next(&cursor))) {
		if (json_parse(object->api, arena, &event, NULL) < 0)
			continue;
		if (id.length > 0 ? span_equal(json_get_text(event, "id"), id)
				  : span_ends_with(json_get_text(event, "message"), message))
			return true;
	}
	return false;
}

/* Whether it happened before the oldest event that is kept: then it was reported, and has been
 * dropped. */
static bool event_was_there(const struct store_view *view, struct span service_key, int64_t at_ms,
	struct arena *arena)
{
	struct store_cursor cursor = {.view = view,
		.kind = &service_event_kind,
		.index = -1,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(service_key))};
	const struct store_object *oldest;
	struct json *event;
	double oldest_s;

	if (store_count(view, cursor.kind, -1, cursor.prefix, false) < SERVICE_EVENTS_MAX)
		return false;
	oldest = store_next(&cursor);
	return json_parse(oldest->api, arena, &event, NULL) == 0 &&
	       json_double(json_get(event, "createdAt"), &oldest_s) &&
	       (double)at_ms < oldest_s * 1000;
}

int service_event_add_once(struct store_transaction *transaction, struct span service_key,
	struct span id, struct span message, int64_t at_ms, struct random *random, struct err *err)
{
	const struct store_view *head = store_head(transaction);
	struct arena *arena = store_transaction_arena(transaction);
	char created[ID_UUID_SIZE];

	if (!store_get(head, &service_kind, service_key) ||
		event_is_there(head, service_key, id, message, arena) ||
		event_was_there(head, service_key, at_ms, arena))
		return 0;
	if (id.length == 0) {
		id_uuid(random, created);
		id = span_of(created);
	}
	return put_event(transaction, service_key, id, message, at_ms, arena, err);
}

int service_event_count(struct store_transaction *transaction, struct span service_key,
	struct span maker, int64_t now_ms, struct arena *arena, const char *verb,
	const char *things, struct err *err)
{
	struct span name, cluster, head, id;
	bool counted;
	int code;

	if (!store_get(store_head(transaction), &service_kind, service_key))
		return 0;
	span_split(aws_name_of_key(service_key), '/', &cluster, &name);
	head = arena_format(arena, "(service %.*s) %s ", SPAN_ARGS(name), verb);
	code = count_in_event(transaction, service_key, head, arena_format(arena, " %s", things),
		now_ms, arena, &counted, err);
	if (code < 0 || counted)
		return code;
	/* As random as the task's id, and different for each event. */
	id = arena_format(arena, "%.8s-%.4s-4%.3s-a%.3s-%012llx", maker.data, maker.data + 8,
		maker.data + 12, maker.data + 15,
		(unsigned long long)store_next_revision(transaction) & 0xffffffffffffULL);
	return put_event(transaction, service_key, id, arena_format(arena, "%s 1 %s", verb, things),
		now_ms, arena, err);
}

int service_report_of_task(struct store_transaction *transaction, struct span task_key,
	const char *verb, const char *things, int64_t now_ms, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *task = store_get(store_head(transaction), &task_kind, task_key);
	struct span service_key = arena_format(arena, "%.*s/%.*s",
		SPAN_ARGS(task_cluster_key(task_key)), SPAN_ARGS(task_facts(task)->service));
	const struct store_object *service;
	struct service_facts facts;
	int code = service_event_count(transaction, service_key, task_facts(task)->id, now_ms,
		arena, verb, things, err);

	service = store_get(store_head(transaction), &service_kind, service_key);
	if (code < 0 || !service ||
		!span_is(service_facts(service)->reported, SERVICE_REPORTED_STEADY))
		return code;
	facts = *service_facts(service);
	facts.reported = SPAN("");
	return service_object_put_facts(transaction, service, &facts, arena, err);
}
