/* Tasks: facts and indexes, and how a task is written; see the header. */
#include "ecs/record/task.h"

#include <stdio.h>

#include "aws/arn.h"
#include "aws/key.h"
#include "store/fact_table.h"

/* ---- names ---- */

static const char *const status_names[] = {
#define X(name) [TASK_##name] = #name,
	TASK_STATUSES(X)
#undef X
};
static const char *const health_names[] = {
#define X(name) [TASK_HEALTH_##name] = #name,
	TASK_HEALTHS(X)
#undef X
};
static const char *const launch_type_names[] = {
#define X(name) [TASK_LAUNCH_##name] = #name,
	TASK_LAUNCH_TYPES(X)
#undef X
};

static const char *const traffic_names[] = {
#define X(name) [TASK_TRAFFIC_##name] = #name,
	TASK_TRAFFICS(X)
#undef X
};
static const char *const balance_names[] = {
#define X(name) [TASK_BALANCE_##name] = #name,
	TASK_BALANCES(X)
#undef X
};

const char task_class_letters[TASK_CLASS_COUNT + 1] = "pshux";

const char *task_status_name(enum task_status status)
{
	return status_names[status];
}

const char *task_health_name(enum task_health health)
{
	return health_names[health];
}

const char *task_launch_type_name(enum task_launch_type type)
{
	return launch_type_names[type];
}

bool task_status_read(struct span name, enum task_status *ret_status)
{
	int found = fact_name_find(status_names, LENGTH(status_names), name);

	if (found >= 0)
		*ret_status = (enum task_status)found;
	return found >= 0;
}

bool task_launch_type_read(struct span name, enum task_launch_type *ret_type)
{
	int found = fact_name_find(launch_type_names, LENGTH(launch_type_names), name);

	if (found >= 0)
		*ret_type = (enum task_launch_type)found;
	return found >= 0;
}

enum task_class task_class_of(const struct task_facts *facts)
{
	if (facts->desired == TASK_STOPPED)
		return TASK_CLASS_STOPPING;
	if (facts->last < TASK_ACTIVATING)
		return TASK_CLASS_PENDING;
	if ((facts->checked && facts->health == TASK_HEALTH_UNHEALTHY) ||
		facts->balance == TASK_BALANCE_UNHEALTHY)
		return TASK_CLASS_UNHEALTHY;
	if (facts->last < TASK_RUNNING || facts->balance == TASK_BALANCE_WAITING ||
		(facts->checked && facts->health != TASK_HEALTH_HEALTHY))
		return TASK_CLASS_STARTING;
	return TASK_CLASS_HEALTHY;
}

/* ---- facts ---- */

static const struct fact_row fact_rows[] = {
	FACT(FACT_TEXT, task_facts, family, "family"),
	FACT(FACT_NUMBER, task_facts, revision, "revision"),
	FACT(FACT_TEXT, task_facts, instance, "instance"),
	FACT(FACT_TEXT, task_facts, group, "group"),
	FACT(FACT_TEXT, task_facts, started_by, "startedBy"),
	FACT(FACT_TEXT, task_facts, service, "service"),
	FACT(FACT_TEXT, task_facts, deployment, "deployment"),
	FACT(FACT_TEXT, task_facts, reference, "reference"),
	FACT_NAMED(task_facts, launch_type, "launchType", launch_type_names),
	FACT(FACT_TEXT, task_facts, host, "host"),
	FACT(FACT_FLAG, task_facts, daemon, "daemon"),
	FACT(FACT_FLAG, task_facts, network, "network"),
	FACT(FACT_FLAG, task_facts, checked, "checked"),
	FACT(FACT_NUMBER, task_facts, cpu, "cpu"),
	FACT(FACT_NUMBER, task_facts, memory, "memory"),
	FACT(FACT_TEXT, task_facts, ports, "ports"),
	FACT(FACT_NUMBER, task_facts, created_ms, "created"),
	FACT_NAMED(task_facts, desired, "desired", status_names),
	FACT(FACT_NUMBER, task_facts, protected_until_ms, "protectedUntil"),
	FACT_NAMED(task_facts, last, "last", status_names),
	FACT_NAMED(task_facts, health, "health", health_names),
	FACT(FACT_NUMBER, task_facts, started_ms, "started"),
	FACT(FACT_NUMBER, task_facts, stopping_ms, "stopping"),
	FACT(FACT_NUMBER, task_facts, stopped_ms, "stopped"),
	FACT(FACT_NUMBER, task_facts, deletion_ms, "deletion"),
	FACT(FACT_FLAG, task_facts, let_go, "letGo"),
	FACT(FACT_FLAG, task_facts, acknowledged, "acknowledged"),
	FACT(FACT_FLAG, task_facts, failed, "failed"),
	FACT(FACT_FLAG, task_facts, lost, "lost"),
	FACT_NAMED(task_facts, traffic, "trafficState", traffic_names),
	FACT_NAMED(task_facts, balance, "balance", balance_names),
	FACT(FACT_NUMBER, task_facts, leaves_ms, "leaves"),
};

int task_facts_read(struct span key, struct span private_, struct arena *arena,
	struct task_facts *facts, struct json **ret_private, struct err *err)
{
	struct json *value;
	int code = json_parse(private_, arena, &value, err);

	if (code < 0)
		return code;
	if (!span_split(aws_name_of_key(key), '/', &facts->cluster, &facts->id))
		return err_set(err, -EINVAL, "'%.*s' is not the key of a task", SPAN_ARGS(key));
	code = fact_table_read(fact_rows, LENGTH(fact_rows), value, facts, err);
	if (code == 0)
		*ret_private = value;
	return code;
}

struct json *task_facts_write(const struct task_facts *facts, struct arena *arena)
{
	struct json *private_ = json_new_object(arena);

	fact_table_write(fact_rows, LENGTH(fact_rows), facts, arena, private_);
	return private_;
}

static int extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct json *private_;

	return task_facts_read(object->key, object->private_, scratch, facts, &private_, err);
}

/* ---- indexes ---- */

struct span task_cluster_key(struct span key)
{
	size_t slashes = 0, length = 0;

	while (length < key.length && (key.data[length] != '/' || ++slashes < 3))
		length++;
	return (struct span){key.data, length};
}

static const char *desired_name(const struct task_facts *facts)
{
	return status_names[facts->desired];
}

static void write_id(const struct store_object *object, struct store_index_writer *writer)
{
	store_index_add(writer, task_facts(object)->id);
}

static void write_desired(const struct store_object *object, struct store_index_writer *writer)
{
	store_index_add_format(writer, "%.*s/%s", SPAN_ARGS(task_cluster_key(object->key)),
		desired_name(task_facts(object)));
}

static void write_family(const struct store_object *object, struct store_index_writer *writer)
{
	const struct task_facts *facts = task_facts(object);

	store_index_add_format(writer, "%.*s/%s/%.*s", SPAN_ARGS(task_cluster_key(object->key)),
		desired_name(facts), SPAN_ARGS(facts->family));
}

static void write_started_by(const struct store_object *object, struct store_index_writer *writer)
{
	const struct task_facts *facts = task_facts(object);

	if (facts->started_by.length > 0)
		store_index_add_format(writer, "%.*s/%s/%.*s",
			SPAN_ARGS(task_cluster_key(object->key)), desired_name(facts),
			SPAN_ARGS(facts->started_by));
}

static void write_instance(const struct store_object *object, struct store_index_writer *writer)
{
	const struct task_facts *facts = task_facts(object);

	store_index_add_format(writer, "%.*s/%.*s/%s/%.*s",
		SPAN_ARGS(task_cluster_key(object->key)), SPAN_ARGS(facts->instance),
		facts->last < TASK_STOPPED ? "live" : "stopped", SPAN_ARGS(facts->service));
}

static void write_service(const struct store_object *object, struct store_index_writer *writer)
{
	const struct task_facts *facts = task_facts(object);

	if (facts->service.length == 0)
		return;
	if (facts->last < TASK_STOPPED)
		store_index_add_format(writer, "%.*s/%.*s/live/%.*s/%c",
			SPAN_ARGS(task_cluster_key(object->key)), SPAN_ARGS(facts->service),
			SPAN_ARGS(facts->deployment), task_class_letters[task_class_of(facts)]);
	else
		store_index_add_format(writer, "%.*s/%.*s/stopped/%.*s",
			SPAN_ARGS(task_cluster_key(object->key)), SPAN_ARGS(facts->service),
			SPAN_ARGS(facts->deployment));
}

static void write_protected(const struct store_object *object, struct store_index_writer *writer)
{
	const struct task_facts *facts = task_facts(object);

	if (facts->protected_until_ms != 0 && facts->last < TASK_STOPPED &&
		facts->service.length > 0)
		store_index_add_format(writer, "%.*s/%.*s/%.*s",
			SPAN_ARGS(task_cluster_key(object->key)), SPAN_ARGS(facts->service),
			SPAN_ARGS(facts->deployment));
}

static void write_stopped(const struct store_object *object, struct store_index_writer *writer)
{
	const struct task_facts *facts = task_facts(object);

	if (facts->last >= TASK_STOPPED)
		store_index_add_format(writer, "%.*s/%015lld",
			SPAN_ARGS(task_cluster_key(object->key)), (long long)facts->stopped_ms);
}

static void write_reference(const struct store_object *object, struct store_index_writer *writer)
{
	const struct task_facts *facts = task_facts(object);

	if (facts->reference.length > 0 && facts->desired == TASK_RUNNING &&
		facts->last < TASK_STOPPED)
		store_index_add_format(writer, "%.*s/%.*s/%.*s",
			SPAN_ARGS(task_cluster_key(object->key)), SPAN_ARGS(facts->instance),
			SPAN_ARGS(facts->reference));
}

static void write_definition(const struct store_object *object, struct store_index_writer *writer)
{
	const struct task_facts *facts = task_facts(object);
	struct span name = aws_name_of_key(object->key);

	if (facts->last < TASK_STOPPED)
		store_index_add_format(writer, "%.*s%.*s %010lld",
			(int)(name.data - object->key.data), object->key.data,
			SPAN_ARGS(facts->family), (long long)facts->revision);
}

static void measure_counts(const struct store_object *object, int64_t measures[STORE_MEASURES])
{
	const struct task_facts *facts = task_facts(object);
	bool fargate = facts->launch_type == TASK_LAUNCH_FARGATE;
	bool wanted = facts->desired == TASK_RUNNING;

	measures[TASK_SUM_PENDING] = wanted && facts->last < TASK_RUNNING;
	measures[TASK_SUM_RUNNING] = wanted && facts->last == TASK_RUNNING;
	measures[TASK_SUM_PENDING_FARGATE] = measures[TASK_SUM_PENDING] && fargate;
	measures[TASK_SUM_RUNNING_FARGATE] = measures[TASK_SUM_RUNNING] && fargate;
}

static void measure_resources(const struct store_object *object, int64_t measures[STORE_MEASURES])
{
	const struct task_facts *facts = task_facts(object);

	if (facts->last >= TASK_STOPPED)
		return;
	measures[TASK_SUM_CPU] = facts->cpu;
	measures[TASK_SUM_MEMORY] = facts->memory;
	/* Tasks that the instance still runs, desired or not, as its agent would count them. */
	measures[TASK_SUM_INSTANCE_RUNNING] = facts->last >= TASK_RUNNING;
	measures[TASK_SUM_INSTANCE_PENDING] = facts->last < TASK_RUNNING;
}

static const struct store_index indexes[TASK_INDEX_COUNT] = {
	[TASK_BY_ID] = {.name = "id", .write = write_id},
	[TASK_BY_DESIRED] = {.name = "desired", .write = write_desired, .measure = measure_counts},
	[TASK_BY_FAMILY] = {.name = "family", .write = write_family},
	[TASK_BY_STARTED_BY] = {.name = "startedBy", .write = write_started_by},
	[TASK_BY_INSTANCE] = {.name = "instance",
		.write = write_instance,
		.measure = measure_resources},
	[TASK_BY_SERVICE] = {.name = "service", .write = write_service, .measure = measure_counts},
	[TASK_BY_PROTECTED] = {.name = "protected", .write = write_protected},
	[TASK_BY_STOPPED] = {.name = "stopped", .write = write_stopped},
	[TASK_BY_REFERENCE] = {.name = "reference", .write = write_reference},
	[TASK_BY_DEFINITION] = {.name = "definition", .write = write_definition},
};

const struct store_kind task_kind = {
	.name = "ecs.task",
	.facts_size = sizeof(struct task_facts),
	.extract = extract,
	.indexes = indexes,
	.index_count = LENGTH(indexes),
};

struct span ecs_arn_of_key(struct arena *arena, const char *type, struct span key)
{
	struct span account = key, region, name = aws_name_of_key(key);

	span_split(key, '/', &account, &region);
	span_split(region, '/', &region, &(struct span){0});
	return aws_arn_format(arena, "ecs", region, account, "%s/%.*s", type, SPAN_ARGS(name));
}
