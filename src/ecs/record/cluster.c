/* Clusters: the kind, finding one, and the operations on them; see cluster.h. */
#include "ecs/record/cluster.h"

#include "aws/arn.h"
#include "aws/document.h"
#include "aws/page.h"
#include "aws/tag_list.h"
#include "cloudmap/http_namespace.h"
#include "ecs/record/account_setting.h"
#include "ecs/record/capacity_provider.h"
#include "ecs/record/container_instance.h"
#include "ecs/record/context.h"
#include "ecs/record/name.h"
#include "ecs/record/namespace.h"
#include "ecs/record/service_kind.h"
#include "ecs/record/tags.h"
#include "ecs/record/task.h"

#define CAPACITY_PROVIDERS_MAX 20
#define STRATEGY_MAX 20
#define WEIGHT_MAX 1000
#define BASE_MAX 100000
#define DESCRIBE_MAX 100

/* ---- the kind ---- */

static int cluster_extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct cluster_facts *cluster = facts;
	struct json *private_;
	int code = json_parse(object->private_, scratch, &private_, err);

	if (code < 0)
		return code;
	cluster->name = aws_name_of_key(object->key);
	cluster->deleted_ms = json_get_integer(private_, "deletedAt", 0);
	cluster->active = cluster->deleted_ms == 0;
	return 0;
}

static struct span scope_of_key(struct span key)
{
	return (struct span){key.data, key.length - aws_name_of_key(key).length};
}

static void cluster_write_status(const struct store_object *object,
	struct store_index_writer *writer)
{
	store_index_add_format(writer, "%.*s%s/", SPAN_ARGS(scope_of_key(object->key)),
		cluster_facts(object)->active ? "ACTIVE" : "INACTIVE");
}

static void cluster_write_providers(const struct store_object *object,
	struct store_index_writer *writer)
{
	struct arena *arena;
	struct json *document;

	if (!cluster_facts(object)->active)
		return;
	arena = arena_new(0);
	if (json_parse(object->api, arena, &document, NULL) == 0)
		JSON_EACH_ITEM (json_get(document, "capacityProviders"), provider)
			store_index_add_format(writer, "%.*s%.*s",
				SPAN_ARGS(scope_of_key(object->key)),
				SPAN_ARGS(json_text(provider)));
	arena_free(arena);
}

static const struct store_index cluster_indexes[] = {
	[CLUSTER_BY_STATUS] = {.name = "status", .write = cluster_write_status},
	[CLUSTER_BY_PROVIDER] = {.name = "provider", .write = cluster_write_providers},
};

const struct store_kind cluster_kind = {
	.name = "ecs.cluster",
	.facts_size = sizeof(struct cluster_facts),
	.extract = cluster_extract,
	.indexes = cluster_indexes,
	.index_count = LENGTH(cluster_indexes),
};

/* ---- finding ---- */

static struct span requested_or_default(struct span requested)
{
	return requested.data ? requested : SPAN("default");
}

/* The name in another region of the account: clients that are set to the wrong region look for it in theirs. */
static void hint_at_other_regions(struct aws_request *request, struct span name)
{
	struct span prefix = aws_key_prefix(request), account, region, rest;
	struct span after = SPAN_NONE;

	if (!span_split(prefix, '/', &account, &rest))
		return;
	for (;;) {
		struct store_cursor cursor = {.view = request->view,
			.kind = &cluster_kind,
			.index = -1,
			.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(account)),
			.after_key = after};
		const struct store_object *first = store_next(&cursor), *cluster;

		if (!first || !span_split(first->key, '/', &account, &rest) ||
			!span_split(rest, '/', &region, &rest))
			return;
		cluster = store_get(request->view, &cluster_kind,
			arena_format(request->arena, "%.*s/%.*s/%.*s", SPAN_ARGS(account),
				SPAN_ARGS(region), SPAN_ARGS(name)));
		if (cluster && cluster_facts(cluster)->active) {
			request->failure.hint = arena_format(request->arena,
				"cluster \"%.*s\" does not exist in %.*s but exists in %.*s: is "
				"the "
				"client set to the wrong region (AWS_REGION, AWS_DEFAULT_REGION)?",
				SPAN_ARGS(name), SPAN_ARGS(request->caller->region),
				SPAN_ARGS(region));
			return;
		}
		/* Behind everything of this region. */
		after = arena_format(request->arena, "%.*s/%.*s0", SPAN_ARGS(account),
			SPAN_ARGS(region));
	}
}

int cluster_find(struct aws_request *request, struct span requested,
	const struct store_object **ret_cluster)
{
	const struct store_object *cluster;
	struct span name;

	if (ecs_resolve(request, "cluster", "cluster", requested_or_default(requested), &name) < 0)
		return -EPERM;
	cluster = store_get(request->view, &cluster_kind, aws_key(request, name));
	if (!cluster || !cluster_facts(cluster)->active) {
		aws_fail(request, "ClusterNotFoundException", "Cluster not found.");
		hint_at_other_regions(request, name);
		return -EPERM;
	}
	*ret_cluster = cluster;
	return 0;
}

static void add_cluster_resource(struct aws_request *request, struct aws_resources *resources,
	struct span requested)
{
	if (resources->count == AWS_RESOURCES_MAX)
		resources->overflow = true;
	else
		resources->arns[resources->count++] =
			ecs_canonical_arn(request, "cluster", requested);
}

void cluster_resources(struct aws_request *request, struct aws_resources *resources)
{
	add_cluster_resource(request, resources,
		requested_or_default(json_get_text(request->input, "cluster")));
}

void cluster_create_resources(struct aws_request *request, struct aws_resources *resources)
{
	add_cluster_resource(request, resources,
		requested_or_default(json_get_text(request->input, "clusterName")));
}

void cluster_list_resources(struct aws_request *request, struct aws_resources *resources)
{
	const struct json *clusters = json_get(request->input, "clusters");

	JSON_EACH_ITEM (clusters, cluster)
		add_cluster_resource(request, resources, json_text(cluster));
	if (json_count(clusters) == 0)
		add_cluster_resource(request, resources, SPAN("default"));
}

/* ---- requests ---- */

static int check_settings(struct aws_request *request, const struct json *settings)
{
	JSON_EACH_ITEM (settings, setting) {
		struct span name = json_get_text(setting, "name");
		struct span value = json_get_text(setting, "value");

		if (!name.data)
			return aws_fail_input(request, "settings: a setting has no name");
		if (!value.data || !(span_is(value, "enabled") || span_is(value, "disabled") ||
					   span_is(value, "enhanced")))
			return aws_fail_input(request,
				"settings: the value of '%.*s' must be enabled, enhanced "
				"or disabled",
				SPAN_ARGS(name));
	}
	return 0;
}

static int check_configuration(struct aws_request *request, const struct json *configuration)
{
	const struct json *execute = json_get(configuration, "executeCommandConfiguration");
	const struct json *log = json_get(execute, "logConfiguration");
	struct span logging = json_get_text(execute, "logging");

	if (span_is(logging, "OVERRIDE") && json_is_absent(log))
		return aws_fail_input(request,
			"configuration.executeCommandConfiguration: logConfiguration is "
			"required when logging is OVERRIDE");
	if (!json_is_absent(log) && !span_is(logging, "OVERRIDE"))
		return aws_fail_input(request,
			"configuration.executeCommandConfiguration: logConfiguration is "
			"only allowed when logging is OVERRIDE");
	return 0;
}

/* The default is stored and shown; a namespace of a new name is created, as ECS does. Services cannot use it, and service_check_connect says so. */
static int read_service_connect(struct aws_request *request, struct json *document)
{
	const struct json *requested = json_get(request->input, "serviceConnectDefaults");
	struct span name = json_get_text(requested, "namespace");
	struct arena *arena = request->arena;
	const struct store_object *found;
	struct json *defaults;
	struct span key;

	if (json_is_absent(requested))
		return 0;
	json_unset(document, "serviceConnectDefaults");
	if (name.length == 0)
		return 0;
	found = ecs_find_namespace(request, name);
	if (found)
		key = found->key;
	else if (!aws_arn_looks_like(name)) {
		if (cloudmap_http_namespace_put(request, name, &key) < 0)
			return -EPERM;
	} else
		return aws_fail(request, "NamespaceNotFoundException",
			"serviceConnectDefaults.namespace: there is no namespace '%.*s'",
			SPAN_ARGS(name));
	defaults = json_new_object(arena);
	json_set_string(arena, defaults, "namespace",
		aws_arn_of_key(arena, "servicediscovery", key,
			arena_format(arena, "namespace/%.*s", SPAN_ARGS(aws_name_of_key(key)))));
	json_set(arena, document, "serviceConnectDefaults", defaults);
	return 0;
}

/* Resolves names and ARNs; rejects those that do not exist, belong to another cluster or repeat. */
static int read_providers(struct aws_request *request, struct span cluster,
	const struct json *requested, struct json **ret_names)
{
	struct json *names = json_new_array(request->arena);

	if (json_count(requested) > CAPACITY_PROVIDERS_MAX)
		return aws_fail_input(request, "capacityProviders: %zu are given, the limit is %d",
			json_count(requested), CAPACITY_PROVIDERS_MAX);
	JSON_EACH_ITEM (requested, item) {
		struct span name;

		if (ecs_resolve(request, "capacityProviders", "capacity-provider", json_text(item),
			    &name) < 0)
			return -EPERM;
		if (!capacity_provider_is_for(request, name, cluster))
			return aws_fail_input(request,
				"The specified capacity provider '%.*s' was not found. "
				"Specify a valid name or ARN and try again.",
				SPAN_ARGS(name));
		if (document_list_has(names, name))
			return aws_fail_input(request, "capacityProviders: '%.*s' is given twice",
				SPAN_ARGS(name));
		json_append(request->arena, names, json_new_string(request->arena, name));
	}
	*ret_names = names;
	return 0;
}

static int check_strategy_item(struct aws_request *request, const struct json *item,
	const struct json *providers, struct span name)
{
	int64_t weight = json_get_integer(item, "weight", 0);
	int64_t base = json_get_integer(item, "base", 0);

	if (!document_list_has(providers, name))
		return aws_fail_input(request,
			"defaultCapacityProviderStrategy: '%.*s' is not among the "
			"cluster's capacity providers",
			SPAN_ARGS(name));
	if (weight < 0 || weight > WEIGHT_MAX)
		return aws_fail_input(request,
			"defaultCapacityProviderStrategy: weight of '%.*s' must be "
			"between 0 and %d",
			SPAN_ARGS(name), WEIGHT_MAX);
	if (base < 0 || base > BASE_MAX)
		return aws_fail_input(request,
			"defaultCapacityProviderStrategy: base of '%.*s' must be "
			"between 0 and %d",
			SPAN_ARGS(name), BASE_MAX);
	return 0;
}

/* A strategy names providers of the cluster, one kind of them, and at most one base. */
static int read_strategy(struct aws_request *request, const struct json *requested,
	const struct json *providers, struct json **ret_strategy)
{
	struct json *strategy = json_new_array(request->arena);
	struct json *seen = json_new_array(request->arena);
	int64_t weights = 0;
	size_t bases = 0, fargate = 0;

	if (json_count(requested) > STRATEGY_MAX)
		return aws_fail_input(request,
			"defaultCapacityProviderStrategy: %zu items are given, the "
			"limit is %d",
			json_count(requested), STRATEGY_MAX);
	JSON_EACH_ITEM (requested, item) {
		struct json *clean = json_new_object(request->arena);
		int64_t weight = json_get_integer(item, "weight", 0);
		int64_t base = json_get_integer(item, "base", 0);
		struct span name;

		if (ecs_resolve(request, "defaultCapacityProviderStrategy", "capacity-provider",
			    json_get_text(item, "capacityProvider"), &name) < 0 ||
			check_strategy_item(request, item, providers, name) < 0)
			return -EPERM;
		if (document_list_has(seen, name))
			return aws_fail_input(request,
				"defaultCapacityProviderStrategy: '%.*s' is given twice",
				SPAN_ARGS(name));
		json_append(request->arena, seen, json_new_string(request->arena, name));
		weights += weight;
		bases += base > 0;
		fargate += capacity_provider_is_fargate(name);
		json_set_string(request->arena, clean, "capacityProvider", name);
		json_set_integer(request->arena, clean, "weight", weight);
		json_set_integer(request->arena, clean, "base", base);
		json_append(request->arena, strategy, clean);
	}
	if (bases > 1)
		return aws_fail_input(request, "defaultCapacityProviderStrategy: only one item may "
					       "have a base");
	if (json_count(requested) > 0 && weights == 0)
		return aws_fail_input(request, "defaultCapacityProviderStrategy: at least one item "
					       "must have a weight greater than 0");
	if (fargate > 0 && fargate < json_count(requested))
		return aws_fail_input(request, "defaultCapacityProviderStrategy: Fargate and other "
					       "capacity providers cannot be mixed");
	*ret_strategy = strategy;
	return 0;
}

/* ---- answers ---- */

/* Numbers of tasks and services, as sums of the indexes. */
struct counts {
	int64_t running[TASK_LAUNCH_TYPE_COUNT], pending[TASK_LAUNCH_TYPE_COUNT];
	int64_t active[TASK_LAUNCH_TYPE_COUNT], draining[TASK_LAUNCH_TYPE_COUNT];
	int64_t all_running, all_pending, all_active;
};

/* External tasks have no sum of their own: they are counted one by one. */
static void count_external(struct aws_request *request, const struct store_object *cluster,
	struct counts *counts)
{
	struct store_cursor instances = {.view = request->view,
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_ATTRIBUTE,
		.prefix = arena_format(request->arena,
			"%.*s/ecs.capability.external=", SPAN_ARGS(cluster->key))};
	const struct store_object *instance, *task;

	while ((instance = store_next(&instances))) {
		struct store_cursor tasks = {.view = request->view,
			.kind = &task_kind,
			.index = TASK_BY_INSTANCE,
			.prefix = arena_format(request->arena, "%.*s/live/",
				SPAN_ARGS(instance->key))};

		while ((task = store_next(&tasks))) {
			const struct task_facts *facts = task_facts(task);

			if (facts->desired != TASK_RUNNING ||
				facts->launch_type != TASK_LAUNCH_EXTERNAL)
				continue;
			counts->running[TASK_LAUNCH_EXTERNAL] += facts->last == TASK_RUNNING;
			counts->pending[TASK_LAUNCH_EXTERNAL] += facts->last < TASK_RUNNING;
		}
	}
}

static int64_t count_services(struct aws_request *request, const struct store_object *cluster,
	const char *status, const char *launch_type)
{
	struct span prefix = arena_format(request->arena, "%.*s/%s/%s", SPAN_ARGS(cluster->key),
		status, launch_type ? launch_type : "");

	return (int64_t)store_count(request->view, &service_kind, SERVICE_BY_STATUS, prefix,
		launch_type != NULL);
}

static void count_all(struct aws_request *request, const struct store_object *cluster,
	struct counts *counts)
{
	int64_t sums[STORE_MEASURES];

	*counts = (struct counts){0};
	store_sum(request->view, &task_kind, TASK_BY_DESIRED,
		arena_format(request->arena, "%.*s/RUNNING", SPAN_ARGS(cluster->key)), true, sums);
	counts->all_running = sums[TASK_SUM_RUNNING];
	counts->all_pending = sums[TASK_SUM_PENDING];
	counts->all_active = count_services(request, cluster, "ACTIVE", NULL);
	counts->running[TASK_LAUNCH_FARGATE] = sums[TASK_SUM_RUNNING_FARGATE];
	counts->pending[TASK_LAUNCH_FARGATE] = sums[TASK_SUM_PENDING_FARGATE];
	count_external(request, cluster, counts);
	counts->running[TASK_LAUNCH_EC2] = counts->all_running -
					   counts->running[TASK_LAUNCH_FARGATE] -
					   counts->running[TASK_LAUNCH_EXTERNAL];
	counts->pending[TASK_LAUNCH_EC2] = counts->all_pending -
					   counts->pending[TASK_LAUNCH_FARGATE] -
					   counts->pending[TASK_LAUNCH_EXTERNAL];
	for (enum task_launch_type type = 0; type < TASK_LAUNCH_TYPE_COUNT; type++) {
		const char *name = task_launch_type_name(type);

		counts->active[type] = count_services(request, cluster, "ACTIVE", name);
		counts->draining[type] = count_services(request, cluster, "DRAINING", name);
	}
}

/* In ECS's names and order; all of them are texts. */
static struct json *statistics(struct aws_request *request, const struct counts *counts)
{
	static const char *const types[TASK_LAUNCH_TYPE_COUNT] = {
		[TASK_LAUNCH_EC2] = "EC2",
		[TASK_LAUNCH_FARGATE] = "Fargate",
		[TASK_LAUNCH_EXTERNAL] = "External",
	};
	const struct {
		const char *before, *after;
		const int64_t *numbers;
	} rows[] = {
		{"running", "TasksCount", counts->running},
		{"pending", "TasksCount", counts->pending},
		{"active", "ServiceCount", counts->active},
		{"draining", "ServiceCount", counts->draining},
	};
	struct json *list = json_new_array(request->arena);

	for (size_t i = 0; i < LENGTH(rows); i++)
		for (size_t type = 0; type < LENGTH(types); type++) {
			struct json *pair = json_new_object(request->arena);

			json_set(request->arena, pair, "name",
				json_new_format(request->arena, "%s%s%s", rows[i].before,
					types[type], rows[i].after));
			json_set(request->arena, pair, "value",
				json_new_format(request->arena, "%lld",
					(long long)rows[i].numbers[type]));
			json_append(request->arena, list, pair);
		}
	return list;
}

enum {
	SHOW_SETTINGS = 1,
	SHOW_CONFIGURATION = 2,
	SHOW_TAGS = 4,
	SHOW_STATISTICS = 8,
	SHOW_ATTACHMENTS = 16
};

/* The document of a cluster as answers show it: decisions as stored, counts as they are now. */
static const struct json *cluster_document(struct aws_request *request,
	const struct store_object *cluster, unsigned show)
{
	struct arena *arena = request->arena;
	struct json *stored, *document;
	struct counts counts;

	if (json_parse(cluster->api, arena, &stored, NULL) < 0)
		return json_new_object(arena);
	document = json_copy_object(arena, stored);
	json_set_integer(arena, document, "registeredContainerInstancesCount",
		(int64_t)container_instance_count(request->view, cluster));
	count_all(request, cluster, &counts);
	json_set_integer(arena, document, "runningTasksCount", counts.all_running);
	json_set_integer(arena, document, "pendingTasksCount", counts.all_pending);
	json_set_integer(arena, document, "activeServicesCount", counts.all_active);
	json_set(arena, document, "statistics",
		show & SHOW_STATISTICS ? statistics(request, &counts) : json_new_array(arena));
	tags_set(request, document, show & SHOW_TAGS ? tags_of(request, cluster) : NULL);
	if (!(show & SHOW_SETTINGS))
		json_set(arena, document, "settings", json_new_array(arena));
	if (!(show & SHOW_CONFIGURATION))
		json_unset(document, "configuration");
	if (show & SHOW_ATTACHMENTS)
		json_set(arena, document, "attachments", json_new_array(arena));
	return document;
}

static int answer_cluster(struct aws_request *request, struct span key, unsigned show)
{
	const struct store_object *cluster =
		store_get(store_head(request->transaction), &cluster_kind, key);

	request->view = store_head(request->transaction);
	request->resource = ecs_arn(request, "cluster", cluster_facts(cluster)->name);
	buffer_add_string(request->out, "{\"cluster\":");
	json_write(cluster_document(request, cluster, show), request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

/* ---- operations ---- */

static int put_cluster(struct aws_request *request, struct span key, const struct json *document,
	struct span private_)
{
	struct span api;

	if (document_text(request, document, &api) < 0)
		return -EPERM;
	if (store_put(request->transaction, &cluster_kind, key, api, private_, STORE_ANY,
		    &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

/* The settings of the request, over the account's defaults. */
static const struct json *settings_or_default(struct aws_request *request,
	const struct json *requested)
{
	struct json *settings, *insights;

	if (json_count(requested) > 0)
		return requested;
	settings = json_new_array(request->arena);
	insights = json_new_object(request->arena);
	json_set_string(request->arena, insights, "name", SPAN("containerInsights"));
	json_set_string(request->arena, insights, "value",
		account_setting_effective(request, "containerInsights"));
	json_append(request->arena, settings, insights);
	return settings;
}

/* The document of a new cluster: the members that a client sets, checked, and defaults. */
static int new_document(struct aws_request *request, struct span name, struct json **ret_document)
{
	const struct json *input = document_input(request);
	struct json *document = json_new_object(request->arena);
	struct json *providers, *strategy;

	if (check_settings(request, json_get(input, "settings")) < 0 ||
		check_configuration(request, json_get(input, "configuration")) < 0 ||
		read_service_connect(request, document) < 0 ||
		read_providers(request, name, json_get(input, "capacityProviders"), &providers) <
			0 ||
		read_strategy(request, json_get(input, "defaultCapacityProviderStrategy"),
			providers, &strategy) < 0)
		return -EPERM;
	json_set_string(request->arena, document, "clusterArn", ecs_arn(request, "cluster", name));
	json_set_string(request->arena, document, "clusterName", name);
	json_set_string(request->arena, document, "status", SPAN("ACTIVE"));
	json_set(request->arena, document, "configuration", json_get(input, "configuration"));
	json_set(request->arena, document, "settings",
		settings_or_default(request, json_get(input, "settings")));
	json_set(request->arena, document, "capacityProviders", providers);
	json_set(request->arena, document, "defaultCapacityProviderStrategy", strategy);
	*ret_document = document;
	return 0;
}

/* CreateCluster of an existing cluster changes nothing, so its settings must not differ. */
static int check_same(struct aws_request *request, const struct store_object *existing,
	const struct json *wanted)
{
	static const char *const members[] = {"configuration", "settings", "capacityProviders",
		"defaultCapacityProviderStrategy"};
	struct json *stored;

	if (json_parse(existing->api, request->arena, &stored, &request->err) < 0)
		return aws_fail_store(request);
	for (size_t i = 0; i < LENGTH(members); i++)
		if (!json_is_absent(json_get(request->input, members[i])) &&
			!json_equal(json_get(wanted, members[i]), json_get(stored, members[i])))
			return aws_fail_input(request,
				"Arguments on this idempotent request are inconsistent with "
				"arguments used in previous request(s). The cluster exists "
				"with another %s.",
				members[i]);
	return 0;
}

int cluster_create(struct aws_request *request)
{
	struct span name = requested_or_default(json_get_text(request->input, "clusterName"));
	const struct json *requested_tags = json_get(request->input, "tags");
	struct span key = aws_key(request, name);
	const unsigned show = SHOW_SETTINGS | SHOW_CONFIGURATION | SHOW_TAGS;
	const struct store_object *existing;
	struct json *document;
	const struct json *tags;

	if (ecs_check_name(request, "clusterName", name) < 0 ||
		aws_tag_list_check(request, requested_tags) < 0 ||
		aws_tag_list_merge(request, NULL, requested_tags, &tags) < 0 ||
		new_document(request, name, &document) < 0)
		return -EPERM;
	existing = store_get(request->view, &cluster_kind, key);
	if (existing && cluster_facts(existing)->active) {
		if (check_same(request, existing, document) < 0)
			return -EPERM;
	} else if (put_cluster(request, key, document, tags_private(request, tags)) < 0) {
		return -EPERM;
	}
	return answer_cluster(request, key, show);
}

int cluster_ensure(struct store_transaction *transaction, struct span account, struct span region,
	struct span name, struct random *random, int64_t now_ms, struct err *err)
{
	/* Enough of ecs_service for failures; its table of operations is in a higher subfolder. */
	static const struct aws_service service = {
		.name = "ecs", .shapes = &shape_ecs, .invalid_input = "InvalidParameterException"};
	static const struct aws_operation operation = {.name = "CreateCluster"};
	struct aws_caller caller = {
		.account = account, .region = region, .user = SPAN(""), .access_key = SPAN("")};
	_buffer_ struct buffer out = {0};
	struct aws_request request = {.service = &service,
		.operation = &operation,
		.caller = &caller,
		.arena = store_transaction_arena(transaction),
		.random = random,
		.now_ms = now_ms,
		.view = store_head(transaction),
		.transaction = transaction,
		.out = &out};
	const struct store_object *existing =
		store_get(request.view, &cluster_kind, aws_key(&request, name));
	struct json *input;

	if (existing && cluster_facts(existing)->active)
		return 0;
	input = json_new_object(request.arena);
	json_set_string(request.arena, input, "clusterName", name);
	request.input = input;
	if (cluster_create(&request) < 0)
		return err_set(err, -EINVAL, "create cluster '%.*s': %.*s", SPAN_ARGS(name),
			SPAN_ARGS(request.failure.message.data ? request.failure.message
							       : SPAN("")));
	return 0;
}

static unsigned shown_by_include(const struct aws_request *request)
{
	return (input_includes(request, "SETTINGS") ? SHOW_SETTINGS : 0) |
	       (input_includes(request, "CONFIGURATIONS") ? SHOW_CONFIGURATION : 0) |
	       (input_includes(request, "TAGS") ? SHOW_TAGS : 0) |
	       (input_includes(request, "STATISTICS") ? SHOW_STATISTICS : 0) |
	       (input_includes(request, "ATTACHMENTS") ? SHOW_ATTACHMENTS : 0);
}

/* A cluster that was never there fails with MISSING; an INACTIVE one is shown. */
static void describe_one(struct aws_request *request, struct span requested, struct json *clusters,
	struct json *failures)
{
	const struct store_object *cluster = NULL;
	struct span name = requested;

	if (ecs_try_resolve(request->caller, "cluster", requested, &name))
		cluster = store_get(request->view, &cluster_kind, aws_key(request, name));
	if (cluster)
		json_append(request->arena, clusters,
			cluster_document(request, cluster, shown_by_include(request)));
	else
		json_append(request->arena, failures,
			ecs_failure_missing(request, aws_arn_looks_like(requested)
							     ? requested
							     : ecs_arn(request, "cluster", name)));
}

int cluster_describe(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "clusters");
	struct json *clusters = json_new_array(request->arena);
	struct json *failures = json_new_array(request->arena);

	if (json_count(requested) > DESCRIBE_MAX)
		return aws_fail_input(request, "clusters: %zu are given, the limit is %d",
			json_count(requested), DESCRIBE_MAX);
	JSON_EACH_ITEM (requested, item)
		describe_one(request, json_text(item), clusters, failures);
	if (json_count(requested) == 0)
		describe_one(request, SPAN("default"), clusters, failures);
	buffer_add_string(request->out, "{\"clusters\":");
	json_write(clusters, request->out);
	buffer_add_string(request->out, ",\"failures\":");
	json_write(failures, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

int cluster_list(struct aws_request *request)
{
	struct store_cursor cursor = {
		.view = request->view,
		.kind = &cluster_kind,
		.index = CLUSTER_BY_STATUS,
		.prefix = arena_format(request->arena, "%.*sACTIVE/",
			SPAN_ARGS(aws_key_prefix(request))),
		.exact = true,
	};
	const struct store_object *cluster, *last = NULL;
	struct aws_page page;
	size_t count = 0;

	if (aws_page_read(request, 100, 100, SPAN(""), &page) < 0)
		return -EPERM;
	cursor.after_text = page.after_text;
	cursor.after_key = page.after_key;
	buffer_add_string(request->out, "{\"clusterArns\":[");
	while ((cluster = store_next(&cursor)) && count < page.most) {
		if (count++ > 0)
			buffer_add_char(request->out, ',');
		json_write_string(ecs_arn(request, "cluster", cluster_facts(cluster)->name),
			request->out);
		last = cluster;
	}
	buffer_add_char(request->out, ']');
	if (cluster && last)
		buffer_format(request->out, ",\"nextToken\":\"%.*s\"",
			SPAN_ARGS(aws_page_token(request, SPAN(""), cursor.prefix, last->key)));
	buffer_add_char(request->out, '}');
	return 0;
}

/* The stored document of the cluster that the request names, ready to be changed. */
static int open_document(struct aws_request *request, const struct store_object **ret_cluster,
	struct json **ret_document)
{
	const struct store_object *cluster;
	struct json *stored;

	if (cluster_find(request, json_get_text(request->input, "cluster"), &cluster) < 0)
		return -EPERM;
	if (json_parse(cluster->api, request->arena, &stored, &request->err) < 0)
		return aws_fail_store(request);
	*ret_cluster = cluster;
	*ret_document = json_copy_object(request->arena, stored);
	return 0;
}

int cluster_update(struct aws_request *request)
{
	const struct json *input = document_input(request);
	const struct json *settings = json_get(input, "settings");
	const struct json *configuration = json_get(input, "configuration");
	const struct store_object *cluster;
	struct json *document;

	if (open_document(request, &cluster, &document) < 0 ||
		check_settings(request, settings) < 0 ||
		check_configuration(request, configuration) < 0 ||
		read_service_connect(request, document) < 0)
		return -EPERM;
	if (json_count(settings) > 0)
		json_set(request->arena, document, "settings", settings);
	if (!json_is_absent(configuration))
		json_set(request->arena, document, "configuration", configuration);
	if (put_cluster(request, cluster->key, document, cluster->private_) < 0)
		return -EPERM;
	return answer_cluster(request, cluster->key,
		SHOW_SETTINGS | SHOW_CONFIGURATION | SHOW_TAGS);
}

int cluster_update_settings(struct aws_request *request)
{
	const struct json *settings = json_get(document_input(request), "settings");
	const struct store_object *cluster;
	struct json *document;

	if (open_document(request, &cluster, &document) < 0 ||
		check_settings(request, settings) < 0)
		return -EPERM;
	if (json_count(settings) == 0)
		return aws_fail_input(request, "settings: must not be empty");
	json_set(request->arena, document, "settings", settings);
	if (put_cluster(request, cluster->key, document, cluster->private_) < 0)
		return -EPERM;
	return answer_cluster(request, cluster->key, SHOW_SETTINGS | SHOW_TAGS);
}

int cluster_put_capacity_providers(struct aws_request *request)
{
	const struct store_object *cluster;
	struct json *document, *providers, *strategy;

	if (open_document(request, &cluster, &document) < 0 ||
		read_providers(request, cluster_facts(cluster)->name,
			json_get(request->input, "capacityProviders"), &providers) < 0 ||
		read_strategy(request, json_get(request->input, "defaultCapacityProviderStrategy"),
			providers, &strategy) < 0)
		return -EPERM;
	json_set(request->arena, document, "capacityProviders", providers);
	json_set(request->arena, document, "defaultCapacityProviderStrategy", strategy);
	if (put_cluster(request, cluster->key, document, cluster->private_) < 0)
		return -EPERM;
	return answer_cluster(request, cluster->key,
		SHOW_SETTINGS | SHOW_CONFIGURATION | SHOW_TAGS | SHOW_ATTACHMENTS);
}

/* Instances that every cluster has because their runtime shares them among all: they go with it. */
static struct store_cursor shared_instances(struct aws_request *request,
	const struct store_object *cluster)
{
	const struct ecs_context *context = request->context;

	return (struct store_cursor){.view = request->view,
		.kind = &container_instance_kind,
		.index = CONTAINER_INSTANCE_BY_RUNTIME,
		.prefix = arena_format(request->arena, "%.*s/%.*s/", SPAN_ARGS(cluster->key),
			SPAN_ARGS(context->scheduler))};
}

static bool shares_instances(const struct aws_request *request)
{
	const struct ecs_context *context = request->context;

	return context && context->scheduler.length > 0;
}

static uint64_t count_shared(struct aws_request *request, const struct store_object *cluster)
{
	struct store_cursor cursor;

	if (!shares_instances(request))
		return 0;
	cursor = shared_instances(request, cluster);
	return store_count(cursor.view, cursor.kind, cursor.index, cursor.prefix, false);
}

static int delete_shared(struct aws_request *request, const struct store_object *cluster)
{
	uint64_t count = count_shared(request, cluster), found = 0;
	const struct store_object **instances =
		arena_allocate_array(request->arena, count + 1, sizeof(*instances));
	struct store_cursor cursor;

	if (count == 0)
		return 0;
	/* A cursor does not survive a change, so the instances are collected first. */
	cursor = shared_instances(request, cluster);
	while (found < count && (instances[found] = store_next(&cursor)))
		found++;
	for (uint64_t i = 0; i < found; i++)
		if (store_delete(request->transaction, &container_instance_kind, instances[i]->key,
			    instances[i]->revision, &request->err) < 0)
			return aws_fail_store(request);
	return 0;
}

/* Fails while the cluster still has services, tasks or instances. */
static int check_empty(struct aws_request *request, const struct store_object *cluster)
{
	const struct store_object *provider =
		capacity_provider_of_cluster(request, cluster_facts(cluster)->name);
	struct span prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(cluster->key));
	uint64_t tasks = store_count(request->view, &task_kind, -1, prefix, false);
	uint64_t stopped = store_count(request->view, &task_kind, TASK_BY_STOPPED, prefix, false);

	if (store_count(request->view, &service_kind, SERVICE_BY_LISTED, cluster->key, true) > 0)
		return aws_fail(request, "ClusterContainsServicesException",
			"The Cluster cannot be deleted while Services are active.");
	if (tasks > stopped)
		return aws_fail(request, "ClusterContainsTasksException",
			"The Cluster cannot be deleted while Tasks are active.");
	if (container_instance_count(request->view, cluster) > count_shared(request, cluster))
		return aws_fail(request, "ClusterContainsContainerInstancesException",
			"The Cluster cannot be deleted while Container Instances are active or "
			"draining.");
	if (provider)
		return aws_fail(request, "ClusterContainsCapacityProviderException",
			"The Cluster cannot be deleted while Capacity Providers are active: "
			"%.*s.",
			SPAN_ARGS(aws_name_of_key(provider->key)));
	return 0;
}

/* An INACTIVE cluster is returned as it is, as ECS does. */
int cluster_delete(struct aws_request *request)
{
	const unsigned show = SHOW_SETTINGS | SHOW_TAGS;
	const struct store_object *cluster;
	struct json *document, *private_;
	struct span name;

	if (ecs_resolve(request, "cluster", "cluster", json_get_text(request->input, "cluster"),
		    &name) < 0)
		return -EPERM;
	cluster = store_get(request->view, &cluster_kind, aws_key(request, name));
	if (cluster && !cluster_facts(cluster)->active)
		return answer_cluster(request, cluster->key, show);
	if (open_document(request, &cluster, &document) < 0 || check_empty(request, cluster) < 0 ||
		delete_shared(request, cluster) < 0)
		return -EPERM;
	private_ = json_new_object(request->arena);
	tags_set(request, private_, NULL);
	json_set_integer(request->arena, private_, "deletedAt", request->now_ms);
	json_set_string(request->arena, document, "status", SPAN("INACTIVE"));
	if (put_cluster(request, cluster->key, document, json_to_text(private_, request->arena)) <
		0)
		return -EPERM;
	return answer_cluster(request, cluster->key, show);
}
