/* The maintainer of this server's own container instances; see the header. */
#include "ecs/instance/instance_maintainer.h"

#include <stdatomic.h>

#include "base/id.h"
#include "base/map.h"
#include "base/memory.h"
#include "control/write.h"
#include "ecs/record/attribute.h"
#include "ecs/record/cluster.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/task.h"
#include "store/fact_table.h"

#define BATCH 500 /* instances that one transaction writes */

/* State of one maintained cluster. The work queue's keys are cluster keys; only its one worker uses
 * this. */
struct cluster_state {
	struct map
		registered; /* ids that were registered here since the start, or since the last reset */
	uint64_t listed;    /* the last list request that was done */
	uint64_t forgotten; /* the last reset that was done */
	bool leaving;       /* some instances wait for their last task */
};

struct instance_maintainer {
	struct instance_maintainer_config config;
	struct controller *controller;
	char *key;                /* of the cluster that the instances register in */
	struct map clusters;      /* struct cluster_state by key; used by the worker only */
	_Atomic uint64_t lists;   /* requests to list the runtime */
	_Atomic uint64_t resets;  /* requests to forget registrations */
	_Atomic uint64_t leaving; /* clusters with instances that wait for their last task */
};

/*
 * Capabilities that task definitions can require and every runtime of this server has: an address
 * per task, logs with any driver, health checks, dependsOn, and task roles.
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

/* Attributes of the runtime, the common capabilities, and custom ones that clients set before. */
static const struct json *attributes_of(const struct instance_maintainer_config *config,
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

struct batch {
	const struct instance_maintainer_config *config;
	struct span cluster_key;
	bool ensure; /* create a missing cluster */
	struct arena *arena;
	int64_t now_ms;
	const struct runtime_instance *instances;
	size_t count;
	const struct map *registered;
	const struct map *present; /* ids of all instances of the runtime; for leave() */
	/* Of leave(): where the batch begins; out: how many of it still have tasks, and its end, data NULL
	 * when that was the last one. */
	struct span from_text, from_key, end_text, end_key;
	size_t left;
};

/* The EC2 id by which target groups of type instance know it: shaped like EC2's, and stable. */
static struct span ec2_id_of(struct arena *arena, struct span key)
{
	size_t cluster = task_cluster_key(key).length;

	return arena_format(arena, "i-%.17s", key.data + cluster + 1);
}

/* An instance that had left was set to DRAINING by the maintainer itself. */
static bool is_back(const struct container_instance_facts *facts,
	const struct runtime_instance *from)
{
	return facts->left && !from->away;
}

static int bring_one(struct store_transaction *transaction, const struct batch *batch,
	const struct runtime_instance *from, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *known = container_instance_of_runtime(store_head(transaction),
		arena, batch->cluster_key, batch->config->host, from->id);
	struct container_instance_edit edit = {.arena = arena,
		.facts = {.registered_ms = batch->now_ms},
		.revision = STORE_ABSENT};
	struct json *versions = json_new_object(arena), *document;
	char id[ID_HEX_SIZE];
	int code = 0;

	/* It was registered, and a client deregistered it. */
	if (!known && map_has(batch->registered, from->id))
		return 0;
	if (known) {
		code = container_instance_edit_open(known, arena, &edit, err);
		if (code < 0)
			return code;
	} else {
		id_hex(batch->config->random, id);
		edit.key = arena_format(arena, "%.*s/%s", SPAN_ARGS(batch->cluster_key), id);
		edit.document = json_new_object(arena);
		json_set_string(arena, edit.document, "containerInstanceArn",
			ecs_arn_of_key(arena, "container-instance", edit.key));
	}
	json_set_string(arena, versions, "agentVersion", SPAN(SLIPWAY_VERSION));
	document = json_copy_object(arena, edit.document);
	json_set_string(arena, document, "ec2InstanceId", ec2_id_of(arena, edit.key));
	json_set(arena, document, "versionInfo", versions);
	json_set(arena, document, "registeredResources", resources_of(from, arena));
	json_set(arena, document, "attributes",
		attributes_of(batch->config, from, json_get(edit.document, "attributes"), arena));
	json_set(arena, document, "attachments", json_new_array(arena));
	if (known && edit.facts.connected == !from->away && !is_back(&edit.facts, from) &&
		span_equal(edit.facts.address, from->address) &&
		json_equal(document, edit.document))
		return 0;
	if (!known || is_back(&edit.facts, from)) {
		edit.facts.status = CONTAINER_INSTANCE_ACTIVE;
		edit.facts.active_ms = batch->now_ms;
	}
	edit.document = document;
	edit.facts.connected = !from->away;
	edit.facts.left = false;
	edit.facts.cpu = from->cpu;
	edit.facts.memory = from->memory;
	edit.facts.runtime = arena_format(arena, "%.*s/%.*s", SPAN_ARGS(batch->config->host),
		SPAN_ARGS(from->id));
	edit.facts.agent_version = SPAN(SLIPWAY_VERSION);
	edit.facts.ec2_instance_id = ec2_id_of(arena, edit.key);
	edit.facts.address = from->address;
	return container_instance_save(transaction, &edit, err);
}

static bool cluster_is_active(const struct store_view *view, struct span key)
{
	const struct store_object *cluster = store_get(view, &cluster_kind, key);

	return cluster && cluster_facts(cluster)->active;
}

static int bring(struct store_transaction *transaction, void *context, struct err *err)
{
	struct batch *batch = context;
	const struct instance_maintainer_config *config = batch->config;
	int code = 0;

	if (batch->ensure)
		code = cluster_ensure(transaction, config->account, config->region, config->cluster,
			config->random, batch->now_ms, err);
	else if (!cluster_is_active(store_head(transaction), batch->cluster_key))
		return 0;
	for (size_t i = 0; code == 0 && i < batch->count; i++)
		code = bring_one(transaction, batch, &batch->instances[i], err);
	return code;
}

/* The runtime no longer has this instance: it takes no new tasks, services move theirs away, and it
 * is deregistered when its last task is gone. */
static int leave_one(struct store_transaction *transaction, struct batch *batch,
	const struct store_object *instance, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct span live = arena_format(arena, "%.*s/live/", SPAN_ARGS(instance->key));
	struct container_instance_edit edit;
	int code;

	if (store_count(store_head(transaction), &task_kind, TASK_BY_INSTANCE, live, false) == 0)
		return store_delete(transaction, &container_instance_kind, instance->key,
			instance->revision, err);
	batch->left++;
	if (container_instance_facts(instance)->left)
		return 0;
	code = container_instance_edit_open(instance, arena, &edit, err);
	if (code < 0)
		return code;
	edit.facts.connected = false;
	edit.facts.left = true;
	edit.facts.status = CONTAINER_INSTANCE_DRAINING;
	return container_instance_save(transaction, &edit, err);
}

/* Processes a batch of instances, starting where the last one ended. */
static int leave(struct store_transaction *transaction, void *context, struct err *err)
{
	struct batch *batch = context;
	struct store_cursor cursor = {.view = store_head(transaction),
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_RUNTIME,
		.prefix = arena_format(store_transaction_arena(transaction), "%.*s/%.*s/",
			SPAN_ARGS(batch->cluster_key), SPAN_ARGS(batch->config->host)),
		.after_text = batch->from_text,
		.after_key = batch->from_key};
	const struct store_object *absent[BATCH], *instance;
	size_t count = 0, seen = 0;
	int code = 0;

	/* A cursor is invalid after a change: collect the instances first, then change them. */
	batch->left = 0;
	batch->end_text = batch->end_key = SPAN_NONE;
	while ((instance = store_next(&cursor))) {
		const struct container_instance_facts *facts = container_instance_facts(instance);

		if (batch->present ? !map_has(batch->present, container_instance_runtime_id(facts))
				   : facts->left)
			absent[count++] = instance;
		if (++seen == BATCH) {
			batch->end_text = arena_copy_span(batch->arena, cursor.text);
			batch->end_key = arena_copy_span(batch->arena, instance->key);
			break;
		}
	}
	for (size_t i = 0; code == 0 && i < count; i++)
		code = leave_one(transaction, batch, absent[i], err);
	return code;
}

/* ---- the work ---- */

static int check_instance(const struct runtime_instance *instance, struct err *err)
{
	if (instance->id.length == 0 || instance->id.length > RUNTIME_INSTANCE_MAX ||
		!fact_text_is_plain(instance->id) ||
		memchr(instance->id.data, '/', instance->id.length))
		return err_set(err, -EINVAL, "the runtime has an instance with the id '%.*s'",
			SPAN_ARGS(instance->id));
	return 0;
}

static int let_go(struct instance_maintainer *maintainer, struct cluster_state *state,
	struct batch *batch, struct err *err)
{
	size_t left = 0;
	int code;

	do {
		code = control_write(maintainer->config.runner, maintainer->config.store, leave,
			batch, NULL, err);
		left += batch->left;
		batch->from_text = batch->end_text;
		batch->from_key = batch->end_key;
	} while (code == 0 && batch->end_key.data);
	if (code == 0 && state->leaving != (left > 0)) {
		state->leaving = left > 0;
		if (left > 0)
			atomic_fetch_add(&maintainer->leaving, 1);
		else
			atomic_fetch_sub(&maintainer->leaving, 1);
	}
	return code;
}

/* An instance that the runtime did not list for a while counts as new when it returns. */
static void forget_absent(struct cluster_state *state, const struct map *present)
{
	MAP_EACH (&state->registered, entry)
		if (!map_has(present, entry->key))
			map_remove(&state->registered, entry->key);
}

static int list_runtime(const struct instance_maintainer_config *config, struct arena *arena,
	struct map *present, struct runtime_instance **ret_instances, size_t *ret_count,
	struct err *err)
{
	struct runtime_instance *instances;
	size_t count = 0;
	int code = config->runtime->operations->list_instances(config->runtime, arena, &instances,
		&count, err);

	if (code < 0)
		return err_prefix(err, code, "list the instances of the %s runtime",
			config->runtime->operations->name);
	if (count > INSTANCE_MAINTAINER_MAX)
		return err_set(err, -E2BIG, "the %s runtime has %zu instances, the limit is %d",
			config->runtime->operations->name, count, INSTANCE_MAINTAINER_MAX);
	for (size_t i = 0; i < count; i++) {
		code = check_instance(&instances[i], err);
		if (code < 0)
			return code;
		map_put(present, instances[i].id, &instances[i]);
	}
	*ret_instances = instances;
	*ret_count = count;
	return 0;
}

/* Lists the runtime and brings the cluster in line with it. */
static int keep_listed(struct instance_maintainer *maintainer, struct cluster_state *state,
	struct span key, struct err *err)
{
	const struct instance_maintainer_config *config = &maintainer->config;
	_arena_ struct arena *arena = arena_new(0);
	struct batch batch = {.config = config,
		.cluster_key = key,
		.ensure = span_is(key, maintainer->key),
		.arena = arena,
		.now_ms = runner_wall_ms(config->runner)};
	_map_ struct map present = {0};
	struct runtime_instance *instances = NULL;
	size_t count = 0;
	uint64_t resets = atomic_load(&maintainer->resets);
	int code = list_runtime(config, arena, &present, &instances, &count, err);

	if (code < 0)
		return code;
	if (state->forgotten != resets)
		map_clear(&state->registered);
	state->forgotten = resets;
	forget_absent(state, &present);
	batch.registered = &state->registered;
	for (size_t done = 0; code == 0 && done < count; done += batch.count) {
		batch.instances = instances + done;
		batch.count = count - done < BATCH ? count - done : BATCH;
		code = control_write(config->runner, config->store, bring, &batch, NULL, err);
	}
	for (size_t i = 0; code == 0 && i < count; i++)
		map_put(&state->registered, instances[i].id, maintainer);
	batch.present = &present;
	return code < 0 ? code : let_go(maintainer, state, &batch, err);
}

/* Checks only instances that are disconnected already. */
static int keep_leaving(struct instance_maintainer *maintainer, struct cluster_state *state,
	struct span key, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct batch batch = {.config = &maintainer->config, .cluster_key = key, .arena = arena};

	return state->leaving ? let_go(maintainer, state, &batch, err) : 0;
}

static struct cluster_state *find_kept(struct instance_maintainer *maintainer, struct span key)
{
	struct cluster_state *state = map_get(&maintainer->clusters, key);

	if (!state) {
		state = memory_allocate(sizeof(*state));
		map_put(&maintainer->clusters, key, state);
	}
	return state;
}

static int keep(struct instance_maintainer *maintainer, struct span key, struct err *err)
{
	struct cluster_state *state = find_kept(maintainer, key);
	uint64_t lists = atomic_load(&maintainer->lists);
	int code;

	if (state->listed == lists)
		return keep_leaving(maintainer, state, key, err);
	code = keep_listed(maintainer, state, key, err);
	if (code == 0)
		state->listed = lists;
	return code;
}

/* Does the maintainer register instances in this cluster? */
static bool is_kept(const struct instance_maintainer *maintainer, struct span key)
{
	struct span account, region, cluster;

	if (span_is(key, maintainer->key))
		return true;
	return maintainer->config.every_cluster && span_split(key, '/', &account, &region) &&
	       span_split(region, '/', &region, &cluster) &&
	       span_equal(account, maintainer->config.account) &&
	       span_equal(region, maintainer->config.region);
}

static void forget_cluster(struct instance_maintainer *maintainer, struct span key)
{
	struct cluster_state *state = map_get(&maintainer->clusters, key);

	if (!state)
		return;
	if (state->leaving)
		atomic_fetch_sub(&maintainer->leaving, 1);
	map_remove(&maintainer->clusters, key);
	map_clear(&state->registered);
	free(state);
}

/* A deleted cluster, other than the main one, has no instances: they were deleted with it. */
static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	struct instance_maintainer *maintainer = call->context;
	_view_ struct store_view *view = store_view_open(call->store);
	struct claims *claims = maintainer->config.claims;
	int code = claims ? claims_require_lease(claims, err) : 0;

	if (code < 0 || !is_kept(maintainer, key))
		return code;
	if (!span_is(key, maintainer->key) && !cluster_is_active(view, key)) {
		forget_cluster(maintainer, key);
		return 0;
	}
	return keep(maintainer, key, err);
}

/* Tasks matter only while an instance waits for its last one. */
static void map_task(const struct store_change *change, void *context, struct controller_keys *keys)
{
	struct instance_maintainer *maintainer = context;
	struct span key = change->after ? change->after->key : change->before->key;

	if (atomic_load(&maintainer->leaving) > 0 &&
		(!change->after || task_facts(change->after)->last >= TASK_STOPPED))
		controller_keys_add(keys, task_cluster_key(key));
}

static const struct controller_watch watches[] = {
	{.kind = &task_kind, .map = map_task}, {.kind = &cluster_kind}};
const struct controller_row instance_maintainer_row = {
	.name = "instance-maintainer",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
};

static void free_maintainer(struct instance_maintainer *maintainer)
{
	MAP_EACH (&maintainer->clusters, entry) {
		struct cluster_state *state = entry->value;

		map_clear(&state->registered);
		free(state);
	}
	map_clear(&maintainer->clusters);
	free(maintainer->key);
	free(maintainer);
}

int instance_maintainer_start(const struct instance_maintainer_config *config,
	struct instance_maintainer **ret_maintainer, struct err *err)
{
	struct instance_maintainer *maintainer = memory_allocate(sizeof(*maintainer));
	struct controller_config controller = {.runner = config->runner,
		.store = config->store,
		.context = maintainer,
		.report = config->report,
		.report_context = config->report_context};
	int code;

	maintainer->config = *config;
	maintainer->key = memory_format("%.*s/%.*s/%.*s", SPAN_ARGS(config->account),
		SPAN_ARGS(config->region), SPAN_ARGS(config->cluster));
	atomic_store(&maintainer->lists, 1);
	/* A runtime that cannot be listed right now does not prevent the start: the controller
	 * retries. */
	code = keep(maintainer, span_of(maintainer->key), err);
	if (code < 0 && code != -ECANCELED && config->report)
		config->report(config->report_context, instance_maintainer_row.name,
			span_of(maintainer->key), err);
	if (code != -ECANCELED)
		code = controller_start(&instance_maintainer_row, &controller,
			&maintainer->controller, err);
	if (code < 0) {
		free_maintainer(maintainer);
		return code;
	}
	controller_add(maintainer->controller, span_of(maintainer->key));
	*ret_maintainer = maintainer;
	return 0;
}

void instance_maintainer_stop(struct instance_maintainer *maintainer)
{
	if (!maintainer)
		return;
	controller_stop(maintainer->controller);
	free_maintainer(maintainer);
}

/* Every cluster that is kept. */
static void add_clusters(struct instance_maintainer *maintainer)
{
	_view_ struct store_view *view = store_view_open(maintainer->config.store);
	_arena_ struct arena *arena = arena_new(0);
	struct store_cursor cursor = {.view = view,
		.kind = &cluster_kind,
		.index = -1,
		.prefix = arena_format(arena, "%.*s/%.*s/", SPAN_ARGS(maintainer->config.account),
			SPAN_ARGS(maintainer->config.region))};
	const struct store_object *cluster;

	controller_add(maintainer->controller, span_of(maintainer->key));
	while (maintainer->config.every_cluster && (cluster = store_next(&cursor)))
		controller_add(maintainer->controller, cluster->key);
}

void instance_maintainer_refresh(struct instance_maintainer *maintainer)
{
	atomic_fetch_add(&maintainer->lists, 1);
	add_clusters(maintainer);
}

void instance_maintainer_reset(struct instance_maintainer *maintainer)
{
	atomic_fetch_add(&maintainer->resets, 1);
	instance_maintainer_refresh(maintainer);
}

struct controller *instance_maintainer_controller(struct instance_maintainer *maintainer)
{
	return maintainer->controller;
}
