/* Capacity providers: checks, defaults in ECS's numbers, and the operations; see the header. */
#include "ecs/record/capacity_provider.h"

#include "aws/arn.h"
#include "aws/document.h"
#include "aws/page.h"
#include "aws/tag_list.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "ecs/record/tags.h"

#define STEP_MAX 10000

#define DESCRIBE_MAX 100
#define PAGE_MAX 10
#define OF_CLUSTER_MAX 20 /* providers of managed instances in one cluster */

/* The cluster of a provider of managed instances; data NULL for the others. */
static struct span cluster_of(const struct store_object *provider, struct arena *arena)
{
	struct json *document;

	if (json_parse(provider->api, arena, &document, NULL) < 0)
		return SPAN_NONE;
	return json_get_text(document, "cluster");
}

static void write_cluster(const struct store_object *object, struct store_index_writer *writer)
{
	size_t scope = object->key.length - aws_name_of_key(object->key).length;
	_arena_ struct arena *arena = arena_new(0);
	struct span cluster = cluster_of(object, arena);

	if (cluster.data)
		store_index_add_format(writer, "%.*s%.*s", (int)scope, object->key.data,
			SPAN_ARGS(cluster));
}

static const struct store_index indexes[CAPACITY_PROVIDER_INDEX_COUNT] = {
	[CAPACITY_PROVIDER_BY_CLUSTER] = {.name = "cluster", .write = write_cluster},
};

const struct store_kind capacity_provider_kind = {
	.name = "ecs.capacity_provider",
	.indexes = indexes,
	.index_count = LENGTH(indexes),
};

static const char *const fargate_names[] = {"FARGATE", "FARGATE_SPOT"};

bool capacity_provider_is_fargate(struct span name)
{
	for (size_t i = 0; i < LENGTH(fargate_names); i++)
		if (span_is(name, fargate_names[i]))
			return true;
	return false;
}

bool capacity_provider_is_for(struct aws_request *request, struct span name, struct span cluster)
{
	const struct store_object *provider;
	struct span own;

	if (capacity_provider_is_fargate(name))
		return true;
	provider = store_get(request->view, &capacity_provider_kind, aws_key(request, name));
	if (!provider)
		return false;
	own = cluster_of(provider, request->arena);
	return !own.data || span_equal(own, cluster);
}

const struct store_object *capacity_provider_of_cluster(struct aws_request *request,
	struct span cluster)
{
	return store_next(&(struct store_cursor){.view = request->view,
		.kind = &capacity_provider_kind,
		.index = CAPACITY_PROVIDER_BY_CLUSTER,
		.prefix = aws_key(request, cluster),
		.exact = true});
}

static void add_resource(struct aws_request *request, struct aws_resources *resources,
	struct span requested)
{
	if (resources->count == AWS_RESOURCES_MAX)
		resources->overflow = true;
	else
		resources->arns[resources->count++] =
			ecs_canonical_arn(request, "capacity-provider", requested);
}

void capacity_provider_resources(struct aws_request *request, struct aws_resources *resources)
{
	static const char *const members[] = {"name", "capacityProvider"};

	for (size_t i = 0; i < LENGTH(members); i++) {
		struct span requested = json_get_text(request->input, members[i]);

		if (requested.data)
			add_resource(request, resources, requested);
	}
	JSON_EACH_ITEM (json_get(request->input, "capacityProviders"), item)
		add_resource(request, resources, json_text(item));
}

/* ---- checks ---- */

static int check_group(struct aws_request *request, const struct json *group)
{
	struct span arn_text = json_get_text(group, "autoScalingGroupArn");
	struct aws_arn arn;

	if (arn_text.data &&
		(!aws_arn_parse(arn_text, &arn) || !span_is(arn.service, "autoscaling")))
		return aws_fail_input(request,
			"autoScalingGroupProvider.autoScalingGroupArn: '%.*s' is not the "
			"ARN of an Auto Scaling group",
			SPAN_ARGS(arn_text));
	return 0;
}

/* Protection works by scaling in selectively, so it needs managed scaling. */
static int check_protection(struct aws_request *request, const struct json *group)
{
	if (span_is(json_get_text(group, "managedTerminationProtection"), "ENABLED") &&
		!span_is(json_get_text(json_get(group, "managedScaling"), "status"), "ENABLED"))
		return aws_fail_input(request,
			"autoScalingGroupProvider.managedTerminationProtection: needs "
			"managedScaling.status ENABLED");
	return 0;
}

static bool starts_with_ignoring_case(struct span text, const char *prefix)
{
	size_t length = strlen(prefix);

	return text.length >= length &&
	       span_equal_ignoring_case((struct span){text.data, length}, span_of(prefix));
}

int capacity_provider_create_prepare(struct aws_request *request)
{
	static const char *const reserved[] = {"aws", "ecs", "fargate"};
	struct span name = json_get_text(request->input, "name");
	const struct json *group = json_get(request->input, "autoScalingGroupProvider");
	const struct json *managed = json_get(request->input, "managedInstancesProvider");

	if (ecs_check_name(request, "name", name) < 0)
		return -EPERM;
	for (size_t i = 0; i < LENGTH(reserved); i++)
		if (starts_with_ignoring_case(name, reserved[i]))
			return aws_fail_input(request, "name: must not begin with '%s'",
				reserved[i]);
	if (json_is_absent(group) == json_is_absent(managed))
		return aws_fail_input(request, "give either autoScalingGroupProvider or "
					       "managedInstancesProvider, and one of them only");
	if (!json_is_absent(managed) && json_is_absent(json_get(request->input, "cluster")))
		return aws_fail_input(request,
			"cluster: is required with managedInstancesProvider");
	if (!json_is_absent(group) && !json_is_absent(json_get(request->input, "cluster")))
		return aws_fail_input(request,
			"cluster: cannot be given with autoScalingGroupProvider");
	if (check_group(request, group) < 0)
		return -EPERM;
	return aws_tag_list_check(request, json_get(request->input, "tags"));
}

/* ---- documents ---- */

static struct json *copy_or_new(struct aws_request *request, const struct json *object)
{
	return json_is(object, JSON_OBJECT) ? json_copy_object(request->arena, object)
					    : json_new_object(request->arena);
}

/* The request's settings over the stored ones, with ECS's defaults below. */
static struct json *group_document(struct aws_request *request, const struct json *old,
	const struct json *requested)
{
	static const char *const scaling_members[] = {"status", "targetCapacity",
		"minimumScalingStepSize", "maximumScalingStepSize", "instanceWarmupPeriod"};
	static const char *const members[] = {
		"autoScalingGroupArn", "managedTerminationProtection", "managedDraining"};
	struct arena *arena = request->arena;
	struct json *group = copy_or_new(request, old);
	struct json *scaling = copy_or_new(request, json_get(old, "managedScaling"));
	const struct json *new_scaling = json_get(requested, "managedScaling");

	for (size_t i = 0; i < LENGTH(members); i++)
		if (!json_is_absent(json_get(requested, members[i])))
			json_set(arena, group, members[i], json_get(requested, members[i]));
	for (size_t i = 0; i < LENGTH(scaling_members); i++)
		if (!json_is_absent(json_get(new_scaling, scaling_members[i])))
			json_set(arena, scaling, scaling_members[i],
				json_get(new_scaling, scaling_members[i]));
	/* Managed scaling is off unless requested, and then on unless disabled. */
	document_set_default(arena, scaling, "status",
		json_new_string(arena,
			json_is_absent(new_scaling) ? SPAN("DISABLED") : SPAN("ENABLED")));
	document_set_default(arena, scaling, "targetCapacity", json_new_integer(arena, 100));
	document_set_default(arena, scaling, "minimumScalingStepSize", json_new_integer(arena, 1));
	document_set_default(arena, scaling, "maximumScalingStepSize",
		json_new_integer(arena, STEP_MAX));
	document_set_default(arena, scaling, "instanceWarmupPeriod", json_new_integer(arena, 300));
	json_set(arena, group, "managedScaling", scaling);
	document_set_default(arena, group, "managedTerminationProtection",
		json_new_string(arena, SPAN("DISABLED")));
	document_set_default(arena, group, "managedDraining",
		json_new_string(arena, SPAN("ENABLED")));
	return group;
}

static struct json *provider_base(struct aws_request *request, struct span name, struct span type)
{
	struct json *document = json_new_object(request->arena);

	json_set_string(request->arena, document, "capacityProviderArn",
		ecs_arn(request, "capacity-provider", name));
	json_set_string(request->arena, document, "name", name);
	json_set_string(request->arena, document, "status", SPAN("ACTIVE"));
	json_set_string(request->arena, document, "type", type);
	return document;
}

static struct json *stored_document(struct aws_request *request,
	const struct store_object *provider)
{
	struct json *stored;

	if (json_parse(provider->api, request->arena, &stored, NULL) < 0)
		return json_new_object(request->arena);
	return json_copy_object(request->arena, stored);
}

static int answer(struct aws_request *request, struct json *document, const struct json *tags)
{
	request->resource = json_get_text(document, "capacityProviderArn");
	tags_set(request, document, tags);
	buffer_add_string(request->out, "{\"capacityProvider\":");
	json_write(document, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

/* ---- operations ---- */

int capacity_provider_create(struct aws_request *request)
{
	const struct json *input = document_input(request);
	const struct json *group = json_get(input, "autoScalingGroupProvider");
	struct span name = json_get_text(input, "name");
	struct span key = aws_key(request, name), api;
	const struct json *tags;
	struct json *document;

	if (store_get(request->view, &capacity_provider_kind, key))
		return aws_fail_input(request,
			"The specified capacity provider already exists: %.*s. To change the "
			"configuration of an existing capacity provider, update the capacity "
			"provider.",
			SPAN_ARGS(name));
	document = provider_base(request, name,
		json_is_absent(group) ? SPAN("MANAGED_INSTANCES") : SPAN("EC2_AUTOSCALING"));
	if (!json_is_absent(group)) {
		struct json *full = group_document(request, NULL, group);

		if (check_protection(request, full) < 0)
			return -EPERM;
		json_set(request->arena, document, "autoScalingGroupProvider", full);
	} else {
		const struct store_object *cluster;

		if (cluster_find(request, json_get_text(input, "cluster"), &cluster) < 0)
			return -EPERM;
		if (store_count(request->view, &capacity_provider_kind,
			    CAPACITY_PROVIDER_BY_CLUSTER, cluster->key, true) >= OF_CLUSTER_MAX)
			return aws_fail(request, "LimitExceededException",
				"The cluster '%.*s' has %d capacity providers, which is the limit.",
				SPAN_ARGS(cluster_facts(cluster)->name), OF_CLUSTER_MAX);
		json_set_string(request->arena, document, "cluster", cluster_facts(cluster)->name);
		json_set(request->arena, document, "managedInstancesProvider",
			json_get(input, "managedInstancesProvider"));
	}
	json_set_string(request->arena, document, "updateStatus", SPAN("CREATE_COMPLETE"));
	if (aws_tag_list_merge(request, NULL, json_get(input, "tags"), &tags) < 0 ||
		document_text(request, document, &api) < 0)
		return -EPERM;
	if (store_put(request->transaction, &capacity_provider_kind, key, api,
		    tags_private(request, tags), STORE_ABSENT, &request->err) < 0)
		return aws_fail_store(request);
	return answer(request, document, tags);
}

/* The provider that an Update or Delete names; the built-in ones cannot be changed. */
static int find_own(struct aws_request *request, const char *member,
	const struct store_object **ret_provider)
{
	struct span requested = json_get_text(request->input, member);
	struct span in_cluster = json_get_text(request->input, "cluster");
	const struct store_object *provider, *cluster;
	struct span name;

	if (ecs_resolve(request, member, "capacity-provider", requested, &name) < 0)
		return -EPERM;
	if (capacity_provider_is_fargate(name))
		return aws_fail_input(request, "%s: %.*s belongs to AWS and cannot be changed",
			member, SPAN_ARGS(name));
	if (in_cluster.data) {
		if (cluster_find(request, in_cluster, &cluster) < 0)
			return -EPERM;
		in_cluster = cluster_facts(cluster)->name;
	}
	provider = store_get(request->view, &capacity_provider_kind, aws_key(request, name));
	if (!provider || (in_cluster.data && !capacity_provider_is_for(request, name, in_cluster)))
		return aws_fail_input(request,
			"The specified capacity provider '%.*s' was not found. Specify a "
			"valid name or ARN and try again.",
			SPAN_ARGS(name));
	*ret_provider = provider;
	return 0;
}

int capacity_provider_update(struct aws_request *request)
{
	const struct json *input = document_input(request);
	const struct json *requested = json_get(input, "autoScalingGroupProvider");
	const struct json *managed = json_get(input, "managedInstancesProvider");
	const struct store_object *provider;
	struct json *document;
	struct span api;
	bool has_group;

	if (find_own(request, "name", &provider) < 0 || check_group(request, requested) < 0)
		return -EPERM;
	document = stored_document(request, provider);
	has_group = !json_is_absent(json_get(document, "autoScalingGroupProvider"));
	if (json_is_absent(has_group ? requested : managed))
		return aws_fail_input(request, "%s: is required",
			has_group ? "autoScalingGroupProvider" : "managedInstancesProvider");
	if (has_group) {
		struct json *full = group_document(request,
			json_get(document, "autoScalingGroupProvider"), requested);

		if (check_protection(request, full) < 0)
			return -EPERM;
		json_set(request->arena, document, "autoScalingGroupProvider", full);
	} else {
		struct json *merged =
			copy_or_new(request, json_get(document, "managedInstancesProvider"));

		for (size_t i = 0; i < managed->object.count; i++)
			json_set(request->arena, merged,
				arena_copy_span(request->arena, managed->object.members[i].name)
					.data,
				managed->object.members[i].value);
		json_set(request->arena, document, "managedInstancesProvider", merged);
	}
	json_set_string(request->arena, document, "updateStatus", SPAN("UPDATE_COMPLETE"));
	if (document_text(request, document, &api) < 0)
		return -EPERM;
	if (store_put(request->transaction, &capacity_provider_kind, provider->key, api,
		    provider->private_, provider->revision, &request->err) < 0)
		return aws_fail_store(request);
	return answer(request, document, tags_of(request, provider));
}

int capacity_provider_delete(struct aws_request *request)
{
	const struct store_object *provider, *user;
	struct json *document;

	if (find_own(request, "capacityProvider", &provider) < 0)
		return -EPERM;
	user = store_next(&(struct store_cursor){.view = request->view,
		.kind = &cluster_kind,
		.index = CLUSTER_BY_PROVIDER,
		.prefix = provider->key,
		.exact = true});
	if (user)
		return aws_fail(request, "ClientException",
			"The specified capacity provider cannot be deleted because it is "
			"associated with cluster: %.*s. Remove the capacity provider from the "
			"cluster and try again.",
			SPAN_ARGS(cluster_facts(user)->name));
	document = stored_document(request, provider);
	json_set_string(request->arena, document, "status", SPAN("INACTIVE"));
	json_set_string(request->arena, document, "updateStatus", SPAN("DELETE_COMPLETE"));
	if (store_delete(request->transaction, &capacity_provider_kind, provider->key,
		    provider->revision, &request->err) < 0)
		return aws_fail_store(request);
	return answer(request, document, tags_of(request, provider));
}

static void append_shown(struct aws_request *request, struct json *list, struct json *document,
	const struct store_object *provider)
{
	bool tags = provider && input_includes(request, "TAGS");

	tags_set(request, document, tags ? tags_of(request, provider) : NULL);
	json_append(request->arena, list, document);
}

/* ---- describe ---- */

/* The names that a request for one cluster is about: those it uses, then those that are its own. NULL:
 * the request is about no cluster in particular. */
static int read_scope(struct aws_request *request, const struct json **ret_names)
{
	struct span requested = json_get_text(request->input, "cluster");
	struct json *document, *names = json_new_array(request->arena);
	const struct store_object *cluster, *provider;
	struct store_cursor cursor = {.view = request->view,
		.kind = &capacity_provider_kind,
		.index = CAPACITY_PROVIDER_BY_CLUSTER,
		.exact = true};

	*ret_names = NULL;
	if (!requested.data)
		return 0;
	if (cluster_find(request, requested, &cluster) < 0)
		return -EPERM;
	if (json_parse(cluster->api, request->arena, &document, &request->err) < 0)
		return aws_fail_store(request);
	JSON_EACH_ITEM (json_get(document, "capacityProviders"), name)
		json_append(request->arena, names, name);
	cursor.prefix = cluster->key;
	while ((provider = store_next(&cursor))) {
		struct span name = aws_name_of_key(provider->key);

		if (!document_list_has(names, name))
			json_append(request->arena, names, json_new_string(request->arena, name));
	}
	*ret_names = names;
	return 0;
}

/* Shows the provider of this name; false if there is none. */
static bool show_named(struct aws_request *request, struct span name, struct json *list)
{
	const struct store_object *provider;

	if (capacity_provider_is_fargate(name)) {
		append_shown(request, list, provider_base(request, name, name), NULL);
		return true;
	}
	provider = store_get(request->view, &capacity_provider_kind, aws_key(request, name));
	if (provider)
		append_shown(request, list, stored_document(request, provider), provider);
	return provider != NULL;
}

static void describe_named(struct aws_request *request, const struct json *names,
	const struct json *scope, struct json *list, struct json *failures)
{
	JSON_EACH_ITEM (names, item) {
		struct span name;

		if (ecs_try_resolve(request->caller, "capacity-provider", json_text(item), &name) &&
			(!scope || document_list_has(scope, name)) &&
			show_named(request, name, list))
			continue;
		name = json_text(item);
		json_append(request->arena, failures,
			ecs_failure_missing(request,
				aws_arn_looks_like(name)
					? name
					: ecs_arn(request, "capacity-provider", name)));
	}
}

/* The position is how many of the cluster's names were shown. */
static struct span describe_scope(struct aws_request *request, const struct aws_page *page,
	const struct json *scope, struct json *list)
{
	uint64_t shown = 0;

	if (page->after_text.data)
		span_to_unsigned(page->after_text, json_count(scope), &shown);
	for (; shown < json_count(scope) && json_count(list) < page->most; shown++)
		show_named(request, json_text(json_item(scope, shown)), list);
	if (shown == json_count(scope))
		return SPAN_NONE;
	return aws_page_token(request, json_get_text(request->input, "cluster"),
		arena_format(request->arena, "%d", (int)shown), SPAN(""));
}

/* The built-in ones come first, then the account's own by name. A position is how many built-in ones
 * were shown and the key of the last of the others. Returns the token of the next page, if any. */
static struct span describe_all(struct aws_request *request, const struct aws_page *page,
	struct json *list)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &capacity_provider_kind,
		.index = -1,
		.prefix = aws_key_prefix(request)};
	const struct store_object *provider = NULL;
	struct span last = aws_key_prefix(request); /* before the first of our own */
	uint64_t shown = 0;

	if (page->after_key.data) {
		span_to_unsigned(page->after_text, LENGTH(fargate_names), &shown);
		cursor.after_key = last = page->after_key;
	}
	for (; shown < LENGTH(fargate_names) && json_count(list) < page->most; shown++)
		show_named(request, span_of(fargate_names[shown]), list);
	while (shown == LENGTH(fargate_names) && (provider = store_next(&cursor))) {
		if (json_count(list) == page->most)
			break;
		append_shown(request, list, stored_document(request, provider), provider);
		last = provider->key;
	}
	if (shown == LENGTH(fargate_names) && !provider)
		return SPAN_NONE;
	return aws_page_token(request, SPAN(""), arena_format(request->arena, "%d", (int)shown),
		last);
}

int capacity_provider_describe(struct aws_request *request)
{
	const struct json *names = json_get(request->input, "capacityProviders");
	struct span cluster = json_get_text(request->input, "cluster");
	struct json *list = json_new_array(request->arena);
	struct json *failures = json_new_array(request->arena);
	struct span token = SPAN_NONE;
	const struct json *scope;
	struct aws_page page;

	if (aws_page_read(request, PAGE_MAX, PAGE_MAX, cluster.data ? cluster : SPAN(""), &page) <
			0 ||
		read_scope(request, &scope) < 0)
		return -EPERM;
	if (json_count(names) > DESCRIBE_MAX)
		return aws_fail_input(request, "capacityProviders: %zu are given, the limit is %d",
			json_count(names), DESCRIBE_MAX);
	if (json_count(names) > 0)
		describe_named(request, names, scope, list, failures);
	else if (scope)
		token = describe_scope(request, &page, scope, list);
	else
		token = describe_all(request, &page, list);
	buffer_add_string(request->out, "{\"capacityProviders\":");
	json_write(list, request->out);
	buffer_add_string(request->out, ",\"failures\":");
	json_write(failures, request->out);
	if (token.data)
		buffer_format(request->out, ",\"nextToken\":\"%.*s\"", SPAN_ARGS(token));
	buffer_add_char(request->out, '}');
	return 0;
}
