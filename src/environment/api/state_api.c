/*
 * The observed state as clients see it: instances and tasks of clusters, and events that clients post. An account sees its
 * own clusters of this server, and the remote clusters in which it has environments; it may post events of those, too.
 */
#include <stdio.h>

#include "aws/arn.h"
#include "aws/page.h"
#include "delivery/cluster_ref.h"
#include "delivery/observe/document.h"
#include "delivery/observe/observe.h"
#include "delivery/observe/observe_internal.h"
#include "ecs/record/attribute.h"
#include "ecs/record/name.h"
#include "environment/api/environment_tasks.h"
#include "environment/model/fail.h"
#include "environment/model/matching.h"

#define PAGE_DEFAULT 100
#define PAGE_MAX 1000
#define FAILED_FILTER "failed"

/* ---- places ---- */

static int find_service(struct aws_request *request, struct observer **ret_service)
{
	const struct daemon_context *context = request->context;

	if (!context || !context->state)
		return aws_fail(request, "ServiceUnavailableException",
			"The state of clusters is not followed.");
	*ret_service = context->state;
	return 0;
}

/* Has the account an environment there? */
static bool has_environment(struct aws_request *request, struct cluster_ref cluster)
{
	struct store_cursor cursor = environments_at(request->view, cluster);
	const struct store_object *environment;

	while ((environment = store_next(&cursor)))
		if (span_equal(environment_facts(environment)->account, request->caller->account))
			return true;
	return false;
}

/* Whether the caller may know it. Of this server: account and region of the caller. */
static bool is_visible(struct aws_request *request, struct cluster_ref cluster)
{
	const struct aws_caller *caller = request->caller;

	return cluster_ref_is_remote(cluster) ? has_environment(request, cluster)
					      : span_equal(cluster.account, caller->account) &&
							span_equal(cluster.region, caller->region);
}

static int by_text(const void *a, const void *b)
{
	return span_compare(((const struct cluster_ref *)a)->text,
		((const struct cluster_ref *)b)->text);
}

/* The places behind this target that the caller may know, in order. */
static size_t list_clusters(struct aws_request *request, struct observer *service,
	struct span target, struct cluster_ref **ret_clusters)
{
	size_t all = observe_list_clusters(service, request->arena, ret_clusters), count = 0;
	struct cluster_ref *clusters = *ret_clusters;

	for (size_t i = 0; i < all; i++)
		if (span_equal(clusters[i].target, target) && is_visible(request, clusters[i]))
			clusters[count++] = clusters[i];
	qsort(clusters, count, sizeof(*clusters), by_text);
	return count;
}

static struct span target_requested(struct aws_request *request)
{
	struct span target = json_get_text(request->input, "target");

	return target.data ? target : SPAN("");
}

/* Does a name or an ARN mean this cluster? */
static bool is_meant(struct cluster_ref cluster, struct span requested)
{
	static const char prefix[] = "cluster/";
	struct aws_arn arn;

	if (!aws_arn_looks_like(requested))
		return span_equal(cluster.cluster, requested);
	if (!aws_arn_parse(requested, &arn) || !span_starts_with(arn.resource, span_of(prefix)))
		return false;
	return span_equal(cluster.account, arn.account) && span_equal(cluster.region, arn.region) &&
	       span_equal(cluster.cluster, (struct span){arn.resource.data + strlen(prefix),
						   arn.resource.length - strlen(prefix)});
}

static int check_cluster_name(struct aws_request *request, struct span requested)
{
	struct aws_arn arn;

	if (aws_arn_looks_like(requested) ? aws_arn_parse(requested, &arn) &&
						    span_starts_with(arn.resource, SPAN("cluster/"))
					  : ecs_is_name(requested))
		return 0;
	return aws_fail_input(request, "cluster: '%.*s' is neither name nor ARN of a cluster",
		SPAN_ARGS(requested));
}

/* The cluster that `cluster` and `target` of the input name. Fails the request before its first listing. */
static int find_cluster(struct aws_request *request, struct observer *service,
	struct span requested, struct cluster_ref *ret_cluster)
{
	struct span target = target_requested(request);
	struct cluster_ref *clusters;
	size_t count;
	struct observe_info info;

	if (check_cluster_name(request, requested) < 0)
		return -EPERM;
	count = list_clusters(request, service, target, &clusters);
	for (size_t i = 0; i < count; i++) {
		if (!is_meant(clusters[i], requested))
			continue;
		if (!observe_get_info(service, clusters[i], &info) || !info.complete)
			return aws_fail(request, "ServiceUnavailableException",
				"Cluster '%.*s' has not been listed yet%s%s; try again.",
				SPAN_ARGS(requested), info.error[0] ? ": " : "", info.error);
		*ret_cluster = clusters[i];
		return 0;
	}
	return daemon_fail(request, "ResourceNotFoundException", "cluster", requested,
		"Cluster '%.*s' is not watched: no environment is for it.", SPAN_ARGS(requested));
}

int state_api_find_cluster(struct aws_request *request, struct cluster_ref *ret_cluster)
{
	struct observer *service;

	if (find_service(request, &service) < 0)
		return -EPERM;
	return find_cluster(request, service, json_get_text(request->input, "cluster"),
		ret_cluster);
}

/* ---- documents ---- */

static void set_text(struct arena *arena, struct json *object, const char *name, struct span text)
{
	if (text.length > 0)
		json_set_string(arena, object, name, text);
}

static void set_time(struct arena *arena, struct json *object, const char *name, int64_t at_ms)
{
	if (at_ms > 0)
		json_set_time(arena, object, name, at_ms);
}

/* Where something is, and how fresh that is. */
static void set_cluster_ref(struct aws_request *request, struct json *object,
	struct cluster_ref cluster, const struct observe_info *info)
{
	json_set_string(request->arena, object, "cluster", cluster.cluster);
	set_text(request->arena, object, "target", cluster.target);
	set_time(request->arena, object, "observedAt", info->observed_ms);
	json_set_bool(request->arena, object, "stale", info->stale);
}

/* The next "NAME=VALUE" of a packed list; false at the end. */
static bool next_part(struct span *packed, struct span *ret_part)
{
	while (packed->length > 0) {
		if (!span_split(*packed, ';', ret_part, packed)) {
			*ret_part = *packed;
			*packed = SPAN("");
		}
		if (ret_part->length > 0)
			return true;
	}
	return false;
}

static struct json *list_attributes(struct arena *arena, struct span packed)
{
	struct json *list = json_new_array(arena), *created;
	struct span part, name, value;

	while (next_part(&packed, &part)) {
		value = SPAN("");
		if (!span_split(part, '=', &name, &value))
			name = part;
		created = json_new_object(arena);
		json_set_string(arena, created, "name", name);
		set_text(arena, created, "value", value);
		json_append(arena, list, created);
	}
	return list;
}

static bool has_attributes(struct span attributes, struct span conditions)
{
	struct span condition;

	while (next_part(&conditions, &condition))
		if (!observe_has_attribute(attributes, condition))
			return false;
	return true;
}

/* Names of the account's environments there whose active version is for it. */
static struct json *environments_of(struct aws_request *request, struct cluster_ref cluster,
	const struct observe_instance *instance)
{
	struct store_cursor cursor = environments_at(request->view, cluster);
	struct json *names = json_new_array(request->arena);
	const struct store_object *environment, *version;

	while ((environment = store_next(&cursor))) {
		const struct environment_facts *facts = environment_facts(environment);

		if (facts->target.length == 0 ||
			!span_equal(facts->account, request->caller->account))
			continue;
		version = store_get(request->view, &environment_version_kind,
			environment_child_key(request->arena, environment->key, facts->target));
		if (version &&
			span_equal(environment_version_facts(version)->cluster_ref, cluster.text) &&
			has_attributes(instance->attributes,
				environment_version_facts(version)->attributes))
			json_append(request->arena, names,
				json_new_string(request->arena, facts->name));
	}
	return names;
}

static struct json *instance_document(struct aws_request *request, struct cluster_ref cluster,
	const struct observe_info *info, const struct observe_instance *instance)
{
	struct arena *arena = request->arena;
	struct json *created = json_new_object(arena);
	int64_t running = 0;

	for (size_t i = 0; i < instance->task_count; i++)
		running += instance->tasks[i].last == OBSERVE_TASK_RUNNING;
	json_set_string(arena, created, "instance", instance->id);
	json_set_string(arena, created, "instanceArn", instance->arn);
	set_cluster_ref(request, created, cluster, info);
	json_set_string(arena, created, "status",
		span_of(observe_instance_status_name(instance->status)));
	json_set_bool(arena, created, "agentConnected", instance->connected);
	json_set(arena, created, "attributes", list_attributes(arena, instance->attributes));
	json_set_integer(arena, created, "runningTasks", running);
	json_set_integer(arena, created, "pendingTasks", (int64_t)instance->task_count - running);
	json_set(arena, created, "environments", environments_of(request, cluster, instance));
	json_set_integer(arena, created, "version", (int64_t)instance->version);
	return created;
}

/* As the counts of environments count it. */
static const char *health_of(const struct observe_task *task)
{
	if (task->last > OBSERVE_TASK_RUNNING)
		return "stopped";
	if (task->last < OBSERVE_TASK_RUNNING || task->health == OBSERVE_HEALTH_UNKNOWN ||
		task->health == OBSERVE_HEALTH_UNSURE)
		return "launching";
	return task->health == OBSERVE_UNHEALTHY ? "unhealthy" : "active";
}

/* ECS's deployments are not the environment's: the task definition says the version. */
static void set_environment_of_service(struct aws_request *request, struct json *object,
	const struct observe_task *task)
{
	const struct store_object *environment = environment_of_task(request, task);

	if (!environment)
		return;
	json_set_string(request->arena, object, "environment",
		environment_facts(environment)->name);
	set_text(request->arena, object, "environmentVersion",
		environment_version_of_definition(request, environment, task->task_definition));
}

/* Name and version of the environment that it belongs to. */
static void set_environment(struct aws_request *request, struct json *object,
	const struct observe_task *task)
{
	struct span name = environment_name_of_group(task->group), id = task->started_by, run;
	const struct store_object *deployment;

	if (name.length == 0) {
		set_environment_of_service(request, object, task);
		return;
	}
	json_set_string(request->arena, object, "environment", name);
	span_split(task->started_by, '/', &id, &run); /* of a run of a Cron in a remote cluster */
	deployment = store_get(request->view, &environment_deployment_kind,
		environment_child_key(request->arena,
			environment_key(request->arena, request->caller->account, name), id));
	if (deployment)
		json_set_string(request->arena, object, "environmentVersion",
			environment_deployment_facts(deployment)->version);
}

static struct json *task_document(struct aws_request *request, struct cluster_ref cluster,
	const struct observe_info *info, const struct observe_task *task)
{
	struct arena *arena = request->arena;
	struct json *created = json_new_object(arena);

	json_set_string(arena, created, "task", observe_document_id(task->arn));
	json_set_string(arena, created, "taskArn", task->arn);
	set_cluster_ref(request, created, cluster, info);
	set_text(arena, created, "instance", task->instance);
	json_set_string(arena, created, "taskDefinition", task->task_definition);
	set_text(arena, created, "group", task->group);
	set_text(arena, created, "startedBy", task->started_by);
	set_environment(request, created, task);
	json_set_string(arena, created, "lastStatus",
		span_of(observe_task_status_name(task->last)));
	json_set_string(arena, created, "desiredStatus",
		task->wanted ? SPAN("RUNNING") : SPAN("STOPPED"));
	json_set_string(arena, created, "health", span_of(health_of(task)));
	json_set_bool(arena, created, "failed", observe_task_has_failed(task));
	set_text(arena, created, "stoppedReason", task->stopped_reason);
	json_set_integer(arena, created, "version", (int64_t)task->version);
	set_time(arena, created, "createdAt", task->created_ms);
	set_time(arena, created, "startedAt", task->started_ms);
	set_time(arena, created, "stoppedAt", task->stopped_ms);
	return created;
}

/* A stream has no age: it carries each change as it comes. */
static const struct observe_info fresh;

struct json *state_api_instance_document(struct aws_request *request, struct cluster_ref cluster,
	const struct observe_instance *instance)
{
	return instance_document(request, cluster, &fresh, instance);
}

struct json *state_api_task_document(struct aws_request *request, struct cluster_ref cluster,
	const struct observe_task *task)
{
	return task_document(request, cluster, &fresh, task);
}

/* ---- filters ---- */

static int fail_status(struct aws_request *request, struct span status)
{
	return aws_fail_input(request, "status: there is no status '%.*s'", SPAN_ARGS(status));
}

static int read_instance_query(struct aws_request *request, struct observe_instance_query *query)
{
	const struct json *attributes = json_get(request->input, "attributes");
	struct span *packed =
		arena_allocate_array(request->arena, json_count(attributes) + 1, sizeof(*packed));

	JSON_EACH_ITEM (json_get(request->input, "status"), item) {
		enum observe_instance_status status;

		if (!observe_instance_status_read(json_text(item), &status))
			return fail_status(request, json_text(item));
		query->statuses |= 1u << status;
	}
	JSON_EACH_ITEM (attributes, item) {
		struct span text = attribute_packed_text(request->arena, json_text(item));

		if (text.length == 0 || text.data[0] == '=' || memchr(text.data, ';', text.length))
			return aws_fail_input(request,
				"attribute: '%.*s' is not 'name' or 'name=value'",
				SPAN_ARGS(json_text(item)));
		packed[query->attribute_count++] = text;
	}
	query->attributes = packed;
	return 0;
}

static int read_task_query(struct aws_request *request, struct observe_task_query *query)
{
	struct span environment = json_get_text(request->input, "environment");
	struct span instance = json_get_text(request->input, "instance");

	JSON_EACH_ITEM (json_get(request->input, "status"), item) {
		enum observe_task_status status;

		if (span_equal_ignoring_case(json_text(item), SPAN(FAILED_FILTER)))
			query->failed = true;
		else if (!observe_task_status_read(json_text(item), &status))
			return fail_status(request, json_text(item));
		else
			query->statuses |= 1u << status;
	}
	query->started_by = json_get_text(request->input, "startedBy");
	if (instance.data)
		query->instance = observe_document_id(instance);
	if (environment.data)
		query->group = environment_tasks_group(request, environment, request->arena);
	return 0;
}

/* ---- pages ---- */

/* All that a list depends on but its page. */
static struct span filters_text(struct aws_request *request)
{
	struct json *filters = json_copy_object(request->arena, request->input);

	json_unset(filters, "maxResults");
	json_unset(filters, "nextToken");
	return json_to_text(filters, request->arena);
}

struct listing {
	struct aws_request *request;
	struct observer *service;
	struct observe_instance_query instances;
	struct observe_task_query tasks;
	struct aws_page page;
	struct json *items;
	struct span token;
	/* Adds to the items what is in a place behind `after`; the name of the last. */
	struct span (*list)(struct listing *listing, struct cluster_ref cluster,
		const struct observe_info *info, struct span after);
};

static struct span list_instances(struct listing *listing, struct cluster_ref cluster,
	const struct observe_info *info, struct span after)
{
	struct arena *arena = listing->request->arena;
	struct observe_instance *found;
	size_t count = observe_select_instances(listing->service, cluster, &listing->instances,
		after, listing->page.most - json_count(listing->items), arena, &found);

	for (size_t i = 0; i < count; i++)
		json_append(arena, listing->items,
			instance_document(listing->request, cluster, info, &found[i]));
	return count > 0 ? found[count - 1].id : SPAN("");
}

static struct span list_tasks(struct listing *listing, struct cluster_ref cluster,
	const struct observe_info *info, struct span after)
{
	struct arena *arena = listing->request->arena;
	struct observe_task *found;
	size_t count = observe_select_tasks(listing->service, cluster, &listing->tasks, after,
		listing->page.most - json_count(listing->items), arena, &found);

	for (size_t i = 0; i < count; i++)
		json_append(arena, listing->items,
			task_document(listing->request, cluster, info, &found[i]));
	return count > 0 ? found[count - 1].arn : SPAN("");
}

static int find_clusters(struct listing *listing, struct cluster_ref **ret_clusters,
	size_t *ret_count)
{
	struct aws_request *request = listing->request;
	struct span requested = json_get_text(request->input, "cluster");

	if (!requested.data) {
		*ret_count = list_clusters(request, listing->service, target_requested(request),
			ret_clusters);
		return 0;
	}
	*ret_clusters = arena_allocate(request->arena, sizeof(**ret_clusters));
	*ret_count = 1;
	return find_cluster(request, listing->service, requested, *ret_clusters);
}

/* One page over these clusters, which are in order. */
static void list_page(struct listing *listing, const struct cluster_ref *clusters, size_t count,
	struct span filters)
{
	struct aws_request *request = listing->request;

	listing->items = json_new_array(request->arena);
	for (size_t i = 0; i < count && listing->token.length == 0; i++) {
		struct span begun = listing->page.after_text, last;
		struct observe_info info;
		int order = begun.data ? span_compare(clusters[i].text, begun) : 1;

		if (order < 0 || !observe_get_info(listing->service, clusters[i], &info))
			continue;
		last = listing->list(listing, clusters[i], &info,
			order == 0 ? listing->page.after_key : SPAN_NONE);
		if (json_count(listing->items) == listing->page.most)
			listing->token = aws_page_token(request, filters, clusters[i].text, last);
	}
}

static int list(struct listing *listing, const char *member)
{
	struct aws_request *request = listing->request;
	struct span filters = filters_text(request);
	struct cluster_ref *clusters;
	size_t count;

	if (find_service(request, &listing->service) < 0 ||
		aws_page_read(request, PAGE_DEFAULT, PAGE_MAX, filters, &listing->page) < 0 ||
		find_clusters(listing, &clusters, &count) < 0)
		return -EPERM;
	list_page(listing, clusters, count, filters);
	buffer_format(request->out, "{\"%s\":", member);
	json_write(listing->items, request->out);
	if (listing->token.length > 0) {
		buffer_add_string(request->out, ",\"nextToken\":");
		json_write_string(listing->token, request->out);
	}
	buffer_add_char(request->out, '}');
	return 0;
}

int state_api_environment_tasks(struct aws_request *request, const struct store_object *environment,
	const struct json **ret_tasks, struct span *ret_token)
{
	const struct environment_facts *facts = environment_facts(environment);
	struct listing listing = {.request = request,
		.list = list_tasks,
		.tasks = {.group = environment_tasks_group(request, facts->name, request->arena),
			.statuses = (1u << OBSERVE_TASK_STOPPED) - 1},
		.token = SPAN("")};
	struct span filters = filters_text(request), rest = facts->cluster_refs;
	struct cluster_ref clusters[ENVIRONMENT_CLUSTER_REFS_MAX], cluster;
	size_t count = 0;

	if (find_service(request, &listing.service) < 0 ||
		aws_page_read(request, PAGE_DEFAULT, PAGE_MAX, filters, &listing.page) < 0)
		return -EPERM;
	while (count < LENGTH(clusters) && environment_next_cluster(&rest, &cluster))
		clusters[count++] = cluster;
	qsort(clusters, count, sizeof(*clusters), by_text);
	list_page(&listing, clusters, count, filters);
	*ret_tasks = listing.items;
	*ret_token = listing.token;
	return 0;
}

/* ---- operations ---- */

int state_api_instances(struct aws_request *request)
{
	struct listing listing = {.request = request, .list = list_instances, .token = SPAN("")};

	if (read_instance_query(request, &listing.instances) < 0)
		return -EPERM;
	return list(&listing, "instances");
}

int state_api_tasks(struct aws_request *request)
{
	struct listing listing = {.request = request, .list = list_tasks, .token = SPAN("")};

	if (read_task_query(request, &listing.tasks) < 0)
		return -EPERM;
	return list(&listing, "tasks");
}

int state_api_instance(struct aws_request *request)
{
	struct span requested = json_get_text(request->input, "instance");
	struct cluster_ref cluster;
	struct observer *service;
	const struct observe_instance *instance;
	struct observe_info info;

	if (find_service(request, &service) < 0 ||
		find_cluster(request, service, json_get_text(request->input, "cluster"), &cluster) <
			0)
		return -EPERM;
	instance = observe_get_instance(service, cluster, observe_document_id(requested),
		request->arena);
	if (!instance || !observe_get_info(service, cluster, &info))
		return daemon_fail(request, "ResourceNotFoundException", "instance", requested,
			"There is no instance '%.*s' in cluster '%.*s'.", SPAN_ARGS(requested),
			SPAN_ARGS(cluster.cluster));
	json_write(instance_document(request, cluster, &info, instance), request->out);
	return 0;
}

/* 1, 0 or negative, as observe_post_event. */
static int post(struct aws_request *request, struct observer *service, const struct json *event,
	struct err *err)
{
	struct span target = target_requested(request);
	struct cluster_ref cluster;

	/* Of a cluster that is none of the caller's business. */
	if (observe_event_cluster(target, event, request->arena, &cluster) &&
		!is_visible(request, cluster))
		return 0;
	return observe_post_event(service, target, event, err);
}

int state_api_events(struct aws_request *request)
{
	struct arena *arena = request->arena;
	struct json *answer = json_new_object(arena), *failures = json_new_array(arena);
	struct observer *service;
	int64_t index = 0, accepted = 0, ignored = 0;

	if (find_service(request, &service) < 0)
		return -EPERM;
	JSON_EACH_ITEM (json_get(request->input, "events"), event) {
		struct err err = {0};
		int code = post(request, service, event, &err);

		accepted += code > 0;
		ignored += code == 0;
		if (code < 0) {
			struct json *failure = json_new_object(arena);

			json_set_integer(arena, failure, "index", index);
			json_set_string(arena, failure, "reason", span_of(err.message));
			json_append(arena, failures, failure);
		}
		index++;
	}
	json_set_integer(arena, answer, "accepted", accepted);
	json_set_integer(arena, answer, "ignored", ignored);
	if (json_count(failures) > 0)
		json_set(arena, answer, "failures", failures);
	json_write(answer, request->out);
	return 0;
}
