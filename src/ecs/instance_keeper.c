/* The keeper of this server's own container instances; see the header. */
#include "ecs/instance_keeper.h"

#include <stdatomic.h>

#include "base/id.h"
#include "base/map.h"
#include "base/memory.h"
#include "control/write.h"
#include "ecs/attribute.h"
#include "ecs/cluster.h"
#include "ecs/container_instance.h"
#include "ecs/fact_table.h"
#include "ecs/task.h"

#define BATCH 500 /* instances that one transaction writes */

struct instance_keeper {
	struct instance_keeper_config config;
	struct controller *controller;
	char *key;            /* of the cluster: the one key of work there is */
	struct map brought;   /* ids that were registered since the start; of the one who keeps */
	_Atomic bool forget;  /* that they were */
	_Atomic bool list;    /* the runtime shall be listed */
	_Atomic bool leaving; /* there are instances that wait for their last task */
};

/*
 * What task definitions require of an instance and every runtime of this server has: it gives a task an
 * address of its own, keeps logs whichever driver is asked for, runs health checks, honours dependsOn, and
 * hands the role of a task on.
 */
static const char *const capabilities[] = {
	"com.amazonaws.ecs.capability.logging-driver.awsfirelens",
	"com.amazonaws.ecs.capability.logging-driver.awslogs",
	"com.amazonaws.ecs.capability.logging-driver.fluentd",
	"com.amazonaws.ecs.capability.logging-driver.gelf",
	"com.amazonaws.ecs.capability.logging-driver.journald",
	"com.amazonaws.ecs.capability.logging-driver.json-file",
	"com.amazonaws.ecs.capability.logging-driver.splunk",
	"com.amazonaws.ecs.capability.logging-driver.syslog",
	"com.amazonaws.ecs.capability.task-iam-role",
	"ecs.capability.container-health-check",
	"ecs.capability.container-ordering",
	"ecs.capability.task-eni",
};

/* ---- the document of one ---- */

static void add_attribute(struct arena *arena, struct map *names, struct json *list,
	struct span name, struct span value)
{
	struct json *attribute;

	if (map_put(names, name, list))
		return;
	attribute = json_new_object(arena);
	json_set_string(arena, attribute, "name", name);
	if (value.data)
		json_set_string(arena, attribute, "value", value);
	json_append(arena, list, attribute);
}

/* What the runtime announces, what all of them can do, and what clients have said of it before. */
static const struct json *attributes_of(const struct instance_keeper_config *config,
	const struct runtime_instance *from, const struct json *before, struct arena *arena)
{
	struct json *list = json_new_array(arena);
	_map_ struct map names = {0};

	JSON_EACH_ITEM (from->attributes, attribute)
		add_attribute(arena, &names, list, json_get_text(attribute, "name"),
			json_get_text(attribute, "value"));
	add_attribute(arena, &names, list, SPAN("ecs.availability-zone"),
		arena_format(arena, "%.*sa", SPAN_ARGS(config->region)));
	for (size_t i = 0; i < LENGTH(capabilities); i++)
		add_attribute(arena, &names, list, span_of(capabilities[i]), SPAN_NONE);
	JSON_EACH_ITEM (before, attribute)
		if (!attribute_is_reserved(json_get_text(attribute, "name")))
			add_attribute(arena, &names, list, json_get_text(attribute, "name"),
				json_get_text(attribute, "value"));
	return list;
}

static struct json *number_resource(struct arena *arena, const char *name, int64_t amount)
{
	struct json *resource = json_new_object(arena);

	json_set_string(arena, resource, "name", span_of(name));
	json_set_string(arena, resource, "type", SPAN("INTEGER"));
	json_set(arena, resource, "doubleValue", json_new_double(arena, 0));
	json_set_integer(arena, resource, "longValue", 0);
	json_set_integer(arena, resource, "integerValue", amount);
	return resource;
}

static struct json *ports_resource(struct arena *arena, const char *name)
{
	struct json *resource = number_resource(arena, name, 0);

	json_set_string(arena, resource, "type", SPAN("STRINGSET"));
	json_set(arena, resource, "stringSetValue", json_new_array(arena));
	return resource;
}

static const struct json *resources_of(const struct runtime_instance *from, struct arena *arena)
{
	struct json *list = json_new_array(arena);

	json_append(arena, list, number_resource(arena, "CPU", from->cpu));
	json_append(arena, list, number_resource(arena, "MEMORY", from->memory));
	json_append(arena, list, ports_resource(arena, "PORTS"));
	json_append(arena, list, ports_resource(arena, "PORTS_UDP"));
	return list;
}

/* ---- writing ---- */

struct bringing {
	const struct instance_keeper_config *config;
	struct span cluster_key;
	struct arena *arena;
	int64_t now_ms;
	const struct runtime_instance *instances;
	size_t count;
	const struct map *brought;
	const struct map *present; /* ids of all that the runtime has; of leave() */
	/* Of leave(): where the batch begins; out: how many of it still have tasks, and its end, data NULL
	 * when that was the last one. */
	struct span from_text, from_key, end_text, end_key;
	size_t left;
};

static const struct store_object *find_hosted(const struct store_view *view, struct arena *arena,
	struct span cluster_key, struct span host, struct span id)
{
	struct store_cursor cursor = {.view = view,
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_RUNTIME,
		.prefix = arena_format(arena, "%.*s/%.*s/%.*s", SPAN_ARGS(cluster_key),
			SPAN_ARGS(host), SPAN_ARGS(id)),
		.exact = true};

	return store_next(&cursor);
}

static int bring_one(struct store_transaction *transaction, const struct bringing *bringing,
	const struct runtime_instance *from, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *known = find_hosted(store_head(transaction), arena,
		bringing->cluster_key, bringing->config->host, from->id);
	struct container_instance_draft draft = {.arena = arena,
		.facts = {.registered_ms = bringing->now_ms},
		.revision = STORE_ABSENT};
	struct json *versions = json_new_object(arena), *document;
	char id[ID_HEX_SIZE];
	int code = 0;

	/* It was there, and somebody deregistered it. */
	if (!known && map_has(bringing->brought, from->id))
		return 0;
	if (known) {
		code = container_instance_draft_open(known, arena, &draft, err);
		if (code < 0)
			return code;
	} else {
		id_hex(bringing->config->random, id);
		draft.key = arena_format(arena, "%.*s/%s", SPAN_ARGS(bringing->cluster_key), id);
		draft.document = json_new_object(arena);
		json_set_string(arena, draft.document, "containerInstanceArn",
			ecs_arn_of_key(arena, "container-instance", draft.key));
	}
	json_set_string(arena, versions, "agentVersion", SPAN(SLIPWAY_VERSION));
	document = json_copy_object(arena, draft.document);
	json_set(arena, document, "versionInfo", versions);
	json_set(arena, document, "registeredResources", resources_of(from, arena));
	json_set(arena, document, "attributes",
		attributes_of(bringing->config, from, json_get(draft.document, "attributes"),
			arena));
	json_set(arena, document, "attachments", json_new_array(arena));
	if (known && draft.facts.connected && json_equal(document, draft.document))
		return 0;
	/* One that had left was draining by our own doing. */
	if (!draft.facts.connected) {
		draft.facts.status = CONTAINER_INSTANCE_ACTIVE;
		draft.facts.active_ms = bringing->now_ms;
	}
	draft.document = document;
	draft.facts.connected = true;
	draft.facts.cpu = from->cpu;
	draft.facts.memory = from->memory;
	draft.facts.runtime = arena_format(arena, "%.*s/%.*s", SPAN_ARGS(bringing->config->host),
		SPAN_ARGS(from->id));
	draft.facts.agent_version = SPAN(SLIPWAY_VERSION);
	return container_instance_save(transaction, &draft, err);
}

static int bring(struct store_transaction *transaction, void *context, struct err *err)
{
	struct bringing *bringing = context;
	const struct instance_keeper_config *config = bringing->config;
	int code = cluster_ensure(transaction, config->account, config->region, config->cluster,
		config->random, bringing->now_ms, err);

	for (size_t i = 0; code == 0 && i < bringing->count; i++)
		code = bring_one(transaction, bringing, &bringing->instances[i], err);
	return code;
}

/* One that the runtime does not have: takes nothing more, services move away from it, and when nothing is
 * left there it goes. */
static int leave_one(struct store_transaction *transaction, struct bringing *bringing,
	const struct store_object *instance, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct span live = arena_format(arena, "%.*s/live/", SPAN_ARGS(instance->key));
	struct container_instance_draft draft;
	int code;

	if (store_count(store_head(transaction), &task_kind, TASK_BY_INSTANCE, live, false) == 0)
		return store_delete(transaction, &container_instance_kind, instance->key,
			instance->revision, err);
	bringing->left++;
	if (!container_instance_facts(instance)->connected)
		return 0;
	code = container_instance_draft_open(instance, arena, &draft, err);
	if (code < 0)
		return code;
	draft.facts.connected = false;
	draft.facts.status = CONTAINER_INSTANCE_DRAINING;
	return container_instance_save(transaction, &draft, err);
}

/* Looks at a batch of instances, from where the last one ended. */
static int leave(struct store_transaction *transaction, void *context, struct err *err)
{
	struct bringing *bringing = context;
	struct store_cursor cursor = {.view = store_head(transaction),
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_RUNTIME,
		.prefix = arena_format(store_transaction_arena(transaction), "%.*s/%.*s/",
			SPAN_ARGS(bringing->cluster_key), SPAN_ARGS(bringing->config->host)),
		.after_text = bringing->from_text,
		.after_key = bringing->from_key};
	const struct store_object *absent[BATCH], *instance;
	size_t count = 0, seen = 0;
	int code = 0;

	/* A cursor does not survive a change: first who, then what. */
	bringing->left = 0;
	bringing->end_text = bringing->end_key = SPAN_NONE;
	while ((instance = store_next(&cursor))) {
		const struct container_instance_facts *facts = container_instance_facts(instance);

		if (bringing->present
				? !map_has(bringing->present, container_instance_runtime_id(facts))
				: !facts->connected)
			absent[count++] = instance;
		if (++seen == BATCH) {
			bringing->end_text = arena_copy_span(bringing->arena, cursor.text);
			bringing->end_key = arena_copy_span(bringing->arena, instance->key);
			break;
		}
	}
	for (size_t i = 0; code == 0 && i < count; i++)
		code = leave_one(transaction, bringing, absent[i], err);
	return code;
}

/* ---- the work ---- */

static int check_instance(const struct runtime_instance *instance, struct err *err)
{
	if (instance->id.length == 0 || instance->id.length > RUNTIME_TOKEN_MAX ||
		!fact_text_is_plain(instance->id) ||
		memchr(instance->id.data, '/', instance->id.length))
		return err_set(err, -EINVAL, "the runtime has an instance with the id '%.*s'",
			SPAN_ARGS(instance->id));
	return 0;
}

static int let_go(struct instance_keeper *keeper, struct bringing *bringing, struct err *err)
{
	size_t left = 0;
	int code;

	do {
		code = control_write(keeper->config.runner, keeper->config.store, leave, bringing,
			NULL, err);
		left += bringing->left;
		bringing->from_text = bringing->end_text;
		bringing->from_key = bringing->end_key;
	} while (code == 0 && bringing->end_key.data);
	if (code == 0)
		atomic_store(&keeper->leaving, left > 0);
	return code;
}

/* What the runtime had not for a while is new when it has it again. */
static void forget_absent(struct instance_keeper *keeper, const struct map *present)
{
	MAP_EACH (&keeper->brought, entry)
		if (!map_has(present, entry->key))
			map_remove(&keeper->brought, entry->key);
}

/* Lists the runtime and brings the cluster in line with it. */
static int keep_listed(struct instance_keeper *keeper, struct err *err)
{
	const struct instance_keeper_config *config = &keeper->config;
	struct bringing bringing = {.config = config,
		.cluster_key = span_of(keeper->key),
		.now_ms = runner_wall_ms(config->runner)};
	_arena_ struct arena *arena = arena_new(0);
	_map_ struct map present = {0};
	struct runtime_instance *instances;
	size_t count = 0;
	int code = config->runtime->operations->list_instances(config->runtime, arena, &instances,
		&count, err);

	bringing.arena = arena;
	if (code < 0)
		return err_prefix(err, code, "list the instances of the %s runtime",
			config->runtime->operations->name);
	if (count > INSTANCE_KEEPER_MAX)
		return err_set(err, -E2BIG, "the %s runtime has %zu instances, the limit is %d",
			config->runtime->operations->name, count, INSTANCE_KEEPER_MAX);
	for (size_t i = 0; i < count; i++) {
		code = check_instance(&instances[i], err);
		if (code < 0)
			return code;
		map_put(&present, instances[i].id, &instances[i]);
	}
	if (atomic_exchange(&keeper->forget, false))
		map_clear(&keeper->brought);
	forget_absent(keeper, &present);
	bringing.brought = &keeper->brought;
	for (size_t done = 0; code == 0 && done < count; done += bringing.count) {
		bringing.instances = instances + done;
		bringing.count = count - done < BATCH ? count - done : BATCH;
		code = control_write(config->runner, config->store, bring, &bringing, NULL, err);
	}
	for (size_t i = 0; code == 0 && i < count; i++)
		map_put(&keeper->brought, instances[i].id, keeper);
	bringing.present = &present;
	return code < 0 ? code : let_go(keeper, &bringing, err);
}

/* Looks only after those that are disconnected already. */
static int keep_leaving(struct instance_keeper *keeper, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct bringing bringing = {
		.config = &keeper->config, .cluster_key = span_of(keeper->key), .arena = arena};

	return atomic_load(&keeper->leaving) ? let_go(keeper, &bringing, err) : 0;
}

static int keep(struct instance_keeper *keeper, struct err *err)
{
	int code;

	if (!atomic_exchange(&keeper->list, false))
		return keep_leaving(keeper, err);
	code = keep_listed(keeper, err);
	if (code < 0)
		atomic_store(&keeper->list, true);
	return code;
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	struct instance_keeper *keeper = call->context;

	return span_is(key, keeper->key) ? keep(keeper, err) : 0;
}

/* Tasks matter only while somebody waits for the last of them. */
static void map_task(const struct store_change *change, void *context, struct controller_keys *keys)
{
	struct instance_keeper *keeper = context;

	if (atomic_load(&keeper->leaving) &&
		(!change->after || task_facts(change->after)->last >= TASK_STOPPED))
		controller_keys_add(keys, span_of(keeper->key));
}

static const struct controller_watch watches[] = {{.kind = &task_kind, .map = map_task}};
const struct controller_row instance_keeper_row = {
	.name = "instance-keeper",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
};

static void free_keeper(struct instance_keeper *keeper)
{
	map_clear(&keeper->brought);
	free(keeper->key);
	free(keeper);
}

int instance_keeper_start(const struct instance_keeper_config *config,
	struct instance_keeper **ret_keeper, struct err *err)
{
	struct instance_keeper *keeper = memory_allocate(sizeof(*keeper));
	struct controller_config controller = {.runner = config->runner,
		.store = config->store,
		.context = keeper,
		.report = config->report,
		.report_context = config->report_context};
	int code;

	keeper->config = *config;
	keeper->key = memory_format("%.*s/%.*s/%.*s", SPAN_ARGS(config->account),
		SPAN_ARGS(config->region), SPAN_ARGS(config->cluster));
	atomic_store(&keeper->list, true);
	/* A runtime that cannot be listed right now is no reason not to start: the controller goes on trying. */
	code = keep(keeper, err);
	if (code < 0 && code != -ECANCELED && config->report)
		config->report(config->report_context, instance_keeper_row.name,
			span_of(keeper->key), err);
	if (code != -ECANCELED)
		code = controller_start(&instance_keeper_row, &controller, &keeper->controller,
			err);
	if (code < 0) {
		free_keeper(keeper);
		return code;
	}
	controller_add(keeper->controller, span_of(keeper->key));
	*ret_keeper = keeper;
	return 0;
}

void instance_keeper_stop(struct instance_keeper *keeper)
{
	if (!keeper)
		return;
	controller_stop(keeper->controller);
	free_keeper(keeper);
}

void instance_keeper_refresh(struct instance_keeper *keeper)
{
	atomic_store(&keeper->list, true);
	controller_add(keeper->controller, span_of(keeper->key));
}

void instance_keeper_reset(struct instance_keeper *keeper)
{
	atomic_store(&keeper->forget, true);
	instance_keeper_refresh(keeper);
}

struct controller *instance_keeper_controller(struct instance_keeper *keeper)
{
	return keeper->controller;
}
