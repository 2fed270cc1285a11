/* Container instances as objects: facts, indexes, and how one is written; see container_instance.h. */
#include "ecs/record/container_instance.h"

#include <stdio.h>

#include "ecs/record/attribute.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "ecs/record/task.h"
#include "store/fact_table.h"

static const char *const status_names[] = {
#define X(name) [CONTAINER_INSTANCE_##name] = #name,
	CONTAINER_INSTANCE_STATUSES(X)
#undef X
};

const char *container_instance_status_name(enum container_instance_status status)
{
	return status_names[status];
}

/* ---- facts ---- */

static const struct fact_row fact_rows[] = {
	FACT_NAMED(container_instance_facts, status, "status", status_names),
	FACT(FACT_FLAG, container_instance_facts, connected, "connected"),
	FACT(FACT_FLAG, container_instance_facts, left, "left"),
	FACT(FACT_NUMBER, container_instance_facts, cpu, "cpu"),
	FACT(FACT_NUMBER, container_instance_facts, memory, "memory"),
	FACT(FACT_TEXT, container_instance_facts, ports, "ports"),
	FACT(FACT_TEXT, container_instance_facts, runtime, "runtime"),
	FACT(FACT_TEXT, container_instance_facts, attributes, "attributes"),
	FACT(FACT_TEXT, container_instance_facts, agent_version, "agentVersion"),
	FACT(FACT_TEXT, container_instance_facts, ec2_instance_id, "ec2InstanceId"),
	FACT(FACT_TEXT, container_instance_facts, address, "address"),
	FACT(FACT_NUMBER, container_instance_facts, registered_ms, "registered"),
	FACT(FACT_NUMBER, container_instance_facts, active_ms, "active"),
};

static int read_facts(struct span key, struct span private_, struct arena *arena,
	struct container_instance_facts *facts, const struct json **ret_tags, struct err *err)
{
	struct json *value;
	int code = json_parse(private_, arena, &value, err);

	if (code < 0)
		return code;
	if (!span_split(aws_name_of_key(key), '/', &facts->cluster, &facts->id))
		return err_set(err, -EINVAL, "'%.*s' is not the key of a container instance",
			SPAN_ARGS(key));
	if (ret_tags)
		*ret_tags = json_get(value, "tags");
	return fact_table_read(fact_rows, LENGTH(fact_rows), value, facts, err);
}

static int extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	return read_facts(object->key, object->private_, scratch, facts, NULL, err);
}

/* ---- indexes ---- */

static void write_attributes(const struct store_object *object, struct store_index_writer *writer)
{
	const struct container_instance_facts *facts = container_instance_facts(object);
	size_t scope = (size_t)(facts->id.data - object->key.data);
	struct arena *arena = arena_new(0);
	struct json *document;

	if (json_parse(object->api, arena, &document, NULL) == 0)
		JSON_EACH_ITEM (json_get(document, "attributes"), attribute) {
			struct span value = json_get_text(attribute, "value");

			store_index_add_format(writer, "%.*s%.*s=%.*s", (int)scope,
				object->key.data, SPAN_ARGS(json_get_text(attribute, "name")),
				SPAN_ARGS(value.data ? value : SPAN("")));
		}
	arena_free(arena);
}

static void write_status(const struct store_object *object, struct store_index_writer *writer)
{
	store_index_add_format(writer, "%.*s/%s", SPAN_ARGS(task_cluster_key(object->key)),
		status_names[container_instance_facts(object)->status]);
}

struct span container_instance_host(const struct container_instance_facts *facts)
{
	struct span host = SPAN(""), id;

	span_split(facts->runtime, '/', &host, &id);
	return host;
}

struct span container_instance_runtime_id(const struct container_instance_facts *facts)
{
	struct span host, id = SPAN("");

	span_split(facts->runtime, '/', &host, &id);
	return id;
}

static void write_runtime(const struct store_object *object, struct store_index_writer *writer)
{
	struct span runtime = container_instance_facts(object)->runtime;

	if (runtime.length > 0)
		store_index_add_format(writer, "%.*s/%.*s",
			SPAN_ARGS(task_cluster_key(object->key)), SPAN_ARGS(runtime));
}

static void write_ec2(const struct store_object *object, struct store_index_writer *writer)
{
	struct span name = aws_name_of_key(object->key);
	struct span id = container_instance_facts(object)->ec2_instance_id;

	if (id.length > 0)
		store_index_add_format(writer, "%.*s%.*s", (int)(name.data - object->key.data),
			object->key.data, SPAN_ARGS(id));
}

static const struct store_index indexes[CONTAINER_INSTANCE_INDEX_COUNT] = {
	[CONTAINER_INSTANCE_BY_ATTRIBUTE] = {.name = "attribute", .write = write_attributes},
	[CONTAINER_INSTANCE_BY_STATUS] = {.name = "status", .write = write_status},
	[CONTAINER_INSTANCE_BY_RUNTIME] = {.name = "runtime", .write = write_runtime},
	[CONTAINER_INSTANCE_BY_EC2] = {.name = "ec2", .write = write_ec2},
};

const struct store_kind container_instance_kind = {
	.name = "ecs.container_instance",
	.facts_size = sizeof(struct container_instance_facts),
	.extract = extract,
	.indexes = indexes,
	.index_count = LENGTH(indexes),
};

const struct store_object *container_instance_of_runtime(const struct store_view *view,
	struct arena *arena, struct span cluster_key, struct span host, struct span id)
{
	struct store_cursor cursor = {.view = view,
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_RUNTIME,
		.prefix = arena_format(arena, "%.*s/%.*s/%.*s", SPAN_ARGS(cluster_key),
			SPAN_ARGS(host), SPAN_ARGS(id)),
		.exact = true};

	return store_next(&cursor);
}

struct span container_instance_address(const struct store_view *view, struct span scope,
	struct span ec2_instance_id, struct arena *arena)
{
	struct store_cursor cursor = {.view = view,
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_EC2,
		.prefix = arena_format(arena, "%.*s%.*s", SPAN_ARGS(scope),
			SPAN_ARGS(ec2_instance_id)),
		.exact = true};
	const struct store_object *instance;

	/* One machine may be an instance of several clusters. */
	while ((instance = store_next(&cursor)))
		if (container_instance_facts(instance)->address.length > 0)
			return arena_copy_span(arena, container_instance_facts(instance)->address);
	return SPAN("");
}

/* ---- writing ---- */

int container_instance_edit_open(const struct store_object *instance, struct arena *arena,
	struct container_instance_edit *ret_edit, struct err *err)
{
	struct container_instance_edit edit = {
		.arena = arena, .key = instance->key, .revision = instance->revision};
	struct json *stored;
	int code = json_parse(instance->api, arena, &stored, err);

	if (code == 0)
		code = read_facts(instance->key, instance->private_, arena, &edit.facts, &edit.tags,
			err);
	if (code < 0)
		return code;
	edit.document = json_copy_object(arena, stored);
	*ret_edit = edit;
	return 0;
}

int container_instance_save(struct store_transaction *transaction,
	struct container_instance_edit *edit, struct err *err)
{
	struct arena *arena = edit->arena;
	struct json *document = edit->document, *private_ = json_new_object(arena);
	struct container_instance_facts *facts = &edit->facts;

	facts->attributes = attribute_pack(arena, json_get(document, "attributes"));
	json_set_string(arena, document, "status", span_of(status_names[facts->status]));
	json_set_bool(arena, document, "agentConnected", facts->connected);
	json_set_integer(arena, document, "version", json_get_integer(document, "version", 0) + 1);
	if (facts->registered_ms != 0)
		json_set_time(arena, document, "registeredAt", facts->registered_ms);
	fact_table_write(fact_rows, LENGTH(fact_rows), facts, arena, private_);
	if (json_count(edit->tags) > 0)
		json_set(arena, private_, "tags", edit->tags);
	return store_put(transaction, &container_instance_kind, edit->key,
		json_to_text(document, arena), json_to_text(private_, arena), edit->revision, err);
}

/* ---- sums of its tasks ---- */

void container_instance_sum_tasks(const struct store_view *view,
	const struct store_object *instance, int64_t ret_sums[STORE_MEASURES])
{
	char prefix[STORE_KEY_MAX + 8];
	size_t length = instance->key.length;

	memcpy(prefix, instance->key.data, length);
	memcpy(prefix + length, "/live/", 6);
	store_sum(view, &task_kind, TASK_BY_INSTANCE, (struct span){prefix, length + 6}, false,
		ret_sums);
}

/* The groups of the tasks there, each once. */
static void collect_groups(const struct store_view *view, const struct store_object *instance,
	struct arena *arena, struct cluster_query_instance *requested)
{
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = TASK_BY_INSTANCE,
		.prefix = arena_format(arena, "%.*s/live/", SPAN_ARGS(instance->key))};
	const struct store_object *task;
	struct span *groups = NULL;
	size_t count = 0, capacity = 0;

	while ((task = store_next(&cursor))) {
		struct span group = task_facts(task)->group;
		bool known = false;

		for (size_t i = 0; i < count && !known; i++)
			known = span_equal(groups[i], group);
		if (known || task_facts(task)->desired != TASK_RUNNING)
			continue;
		if (count == capacity) {
			struct span *more =
				arena_allocate_array(arena, capacity * 2 + 8, sizeof(*more));

			if (count > 0)
				memcpy(more, groups, count * sizeof(*more));
			groups = more;
			capacity = capacity * 2 + 8;
		}
		groups[count++] = group;
	}
	requested->groups = groups;
	requested->group_count = count;
}

bool container_instance_matches(const struct cluster_query *query, const struct store_view *view,
	const struct store_object *instance, struct arena *arena)
{
	const struct container_instance_facts *facts = container_instance_facts(instance);
	struct cluster_query_instance requested = {
		.attributes = facts->attributes,
		.agent_connected = facts->connected,
		.agent_version = facts->agent_version.length ? facts->agent_version : SPAN_NONE,
		.registered_ms = facts->registered_ms,
		.ec2_instance_id =
			facts->ec2_instance_id.length ? facts->ec2_instance_id : SPAN_NONE,
	};

	if (cluster_query_asks(query, CLUSTER_QUERY_RUNNING_TASKS)) {
		int64_t sums[STORE_MEASURES];

		container_instance_sum_tasks(view, instance, sums);
		requested.running_tasks = sums[TASK_SUM_INSTANCE_RUNNING];
	}
	if (cluster_query_asks(query, CLUSTER_QUERY_GROUPS))
		collect_groups(view, instance, arena, &requested);
	return cluster_query_matches(query, &requested);
}

/* ---- finding ---- */

const struct store_object *container_instance_get(struct aws_request *request, struct span name)
{
	return store_get(request->view, &container_instance_kind, aws_key(request, name));
}

const struct store_object *container_instance_in(struct aws_request *request,
	const struct store_object *cluster, struct span requested)
{
	struct span cluster_name = cluster_facts(cluster)->name;
	struct span name, in, id;

	if (!ecs_try_resolve(request->caller, "container-instance", requested, &name))
		return NULL;
	if (!span_split(name, '/', &in, &id))
		id = name;
	else if (!span_equal(in, cluster_name))
		return NULL;
	return container_instance_get(request,
		arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(cluster_name), SPAN_ARGS(id)));
}

uint64_t container_instance_count(const struct store_view *view, const struct store_object *cluster)
{
	char prefix[STORE_KEY_MAX + 2];
	int length = snprintf(prefix, sizeof(prefix), "%.*s/", SPAN_ARGS(cluster->key));

	return store_count(view, &container_instance_kind, -1,
		(struct span){prefix, (size_t)length}, false);
}
