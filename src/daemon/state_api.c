/*
 * The state service as clients see it: instances and tasks of clusters that are watched, and events for it. An
 * account sees its own clusters here, and elsewhere those in which it has environments; it may tell events of
 * those, too.
 */
#include <stdio.h>

#include "aws/arn.h"
#include "aws/page.h"
#include "daemon/daemon.h"
#include "daemon/fail.h"
#include "daemon/state.h"
#include "daemon/state_document.h"
#include "daemon/state_internal.h"
#include "ecs/attribute.h"
#include "ecs/name.h"

#define PAGE_DEFAULT 100
#define PAGE_MAX 1000
#define FAILED_FILTER "failed"

/* ---- places ---- */

static int find_service(struct aws_request *request, struct state_service **ret_service)
{
	const struct daemon_context *context = request->context;

	if (!context || !context->state)
		return aws_fail(request, "ServiceUnavailableException",
			"The state of clusters is not followed.");
	*ret_service = context->state;
	return 0;
}

static struct span cluster_of_place(struct span place)
{
	return state_document_id(place);
}

static struct span target_of_place(struct span place)
{
	struct span target = SPAN(""), rest;

	span_split(place, ':', &target, &rest);
	return target;
}

/* Has the account an environment there? */
static bool has_environment(struct aws_request *request, struct span place)
{
	struct store_cursor cursor = environments_at(request->view, place);
	const struct store_object *environment;

	while ((environment = store_next(&cursor)))
		if (span_equal(environment_facts(environment)->account, request->caller->account))
			return true;
	return false;
}

/* Whether the caller may know it. Of this server: account and region of the caller. */
static bool is_visible(struct aws_request *request, struct span place)
{
	struct span own = arena_format(request->arena, ":%.*s/%.*s/",
		SPAN_ARGS(request->caller->account), SPAN_ARGS(request->caller->region));

	return target_of_place(place).length == 0 ? span_starts_with(place, own)
						  : has_environment(request, place);
}

static int by_text(const void *a, const void *b)
{
	return span_compare(*(const struct span *)a, *(const struct span *)b);
}

/* The places behind this target that the caller may know, in order. */
static size_t list_places(struct aws_request *request, struct state_service *service,
	struct span target, struct span **ret_places)
{
	size_t all = state_list_places(service, request->arena, ret_places), count = 0;
	struct span *places = *ret_places;

	for (size_t i = 0; i < all; i++)
		if (span_equal(target_of_place(places[i]), target) &&
			is_visible(request, places[i]))
			places[count++] = places[i];
	qsort(places, count, sizeof(*places), by_text);
	return count;
}

static struct span target_asked(struct aws_request *request)
{
	struct span target = json_get_text(request->input, "target");

	return target.data ? target : SPAN("");
}

/* Does a cluster's name or ARN mean this place? */
static bool is_meant(struct span place, struct span given)
{
	struct aws_arn arn;
	char scope[STORE_KEY_MAX];
	int length;

	if (!aws_arn_looks_like(given))
		return span_equal(cluster_of_place(place), given);
	if (!aws_arn_parse(given, &arn) || !span_starts_with(arn.resource, SPAN("cluster/")))
		return false;
	length = snprintf(scope, sizeof(scope), ":%.*s/%.*s/%.*s", SPAN_ARGS(arn.account),
		SPAN_ARGS(arn.region), SPAN_ARGS(cluster_of_place(arn.resource)));
	return length < (int)sizeof(scope) &&
	       span_ends_with(place, (struct span){scope, (size_t)length});
}

static int check_cluster_name(struct aws_request *request, struct span given)
{
	struct aws_arn arn;

	if (aws_arn_looks_like(given) ? aws_arn_parse(given, &arn) &&
						span_starts_with(arn.resource, SPAN("cluster/"))
				      : ecs_is_name(given))
		return 0;
	return aws_fail_input(request, "cluster: '%.*s' is neither name nor ARN of a cluster",
		SPAN_ARGS(given));
}

/* The one that `cluster` and `target` of the input name. What was not listed yet is not answered from. */
static int find_place(struct aws_request *request, struct state_service *service, struct span given,
	struct span *ret_place)
{
	struct span *places, target = target_asked(request);
	size_t count;
	struct state_info info;

	if (check_cluster_name(request, given) < 0)
		return -EPERM;
	count = list_places(request, service, target, &places);
	for (size_t i = 0; i < count; i++) {
		if (!is_meant(places[i], given))
			continue;
		if (!state_get_info(service, places[i], &info) || !info.complete)
			return aws_fail(request, "ServiceUnavailableException",
				"Cluster '%.*s' has not been listed yet%s%s; try again.",
				SPAN_ARGS(given), info.error[0] ? ": " : "", info.error);
		*ret_place = places[i];
		return 0;
	}
	return daemon_fail(request, "ResourceNotFoundException", "cluster", given,
		"Cluster '%.*s' is not watched: no environment is for it.", SPAN_ARGS(given));
}

int state_api_find_place(struct aws_request *request, struct span *ret_place)
{
	struct state_service *service;

	if (find_service(request, &service) < 0)
		return -EPERM;
	return find_place(request, service, json_get_text(request->input, "cluster"), ret_place);
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
static void set_place(struct aws_request *request, struct json *object, struct span place,
	const struct state_info *info)
{
	json_set_string(request->arena, object, "cluster", cluster_of_place(place));
	set_text(request->arena, object, "target", target_of_place(place));
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
	struct json *list = json_new_array(arena), *made;
	struct span part, name, value;

	while (next_part(&packed, &part)) {
		value = SPAN("");
		if (!span_split(part, '=', &name, &value))
			name = part;
		made = json_new_object(arena);
		json_set_string(arena, made, "name", name);
		set_text(arena, made, "value", value);
		json_append(arena, list, made);
	}
	return list;
}

static bool has_attributes(struct span attributes, struct span conditions)
{
	struct span condition;

	while (next_part(&conditions, &condition))
		if (!state_has_attribute(attributes, condition))
			return false;
	return true;
}

/* Names of the account's environments there whose active version is for it. */
static struct json *environments_of(struct aws_request *request, struct span place,
	const struct state_instance *instance)
{
	struct store_cursor cursor = environments_at(request->view, place);
	struct json *names = json_new_array(request->arena);
	const struct store_object *environment, *version;

	while ((environment = store_next(&cursor))) {
		const struct environment_facts *facts = environment_facts(environment);

		if (facts->target.length == 0 ||
			!span_equal(facts->account, request->caller->account))
			continue;
		version = store_get(request->view, &environment_version_kind,
			environment_part_key(request->arena, environment->key, facts->target));
		if (version && span_equal(environment_version_facts(version)->place, place) &&
			has_attributes(instance->attributes,
				environment_version_facts(version)->attributes))
			json_append(request->arena, names,
				json_new_string(request->arena, facts->name));
	}
	return names;
}

static struct json *instance_document(struct aws_request *request, struct span place,
	const struct state_info *info, const struct state_instance *instance)
{
	struct arena *arena = request->arena;
	struct json *made = json_new_object(arena);
	int64_t running = 0;

	for (size_t i = 0; i < instance->task_count; i++)
		running += instance->tasks[i].last == STATE_TASK_RUNNING;
	json_set_string(arena, made, "instance", instance->id);
	json_set_string(arena, made, "instanceArn", instance->arn);
	set_place(request, made, place, info);
	json_set_string(arena, made, "status",
		span_of(state_instance_status_name(instance->status)));
	json_set_bool(arena, made, "agentConnected", instance->connected);
	json_set(arena, made, "attributes", list_attributes(arena, instance->attributes));
	json_set_integer(arena, made, "runningTasks", running);
	json_set_integer(arena, made, "pendingTasks", (int64_t)instance->task_count - running);
	json_set(arena, made, "environments", environments_of(request, place, instance));
	json_set_integer(arena, made, "version", (int64_t)instance->version);
	return made;
}

/* As the counts of environments count it. */
static const char *health_of(const struct state_task *task)
{
	if (task->last > STATE_TASK_RUNNING)
		return "stopped";
	if (task->last < STATE_TASK_RUNNING || task->health == STATE_HEALTH_UNKNOWN ||
		task->health == STATE_HEALTH_UNSURE)
		return "launching";
	return task->health == STATE_UNHEALTHY ? "unhealthy" : "active";
}

/* Name and version of the environment that it belongs to. */
static void set_environment(struct aws_request *request, struct json *object,
	const struct state_task *task)
{
	static const char prefix[] = ENVIRONMENT_GROUP_PREFIX;
	struct span name = task->group, id = task->started_by, run;
	const struct store_object *deployment;

	if (!span_starts_with(name, span_of(prefix)))
		return;
	name.data += strlen(prefix);
	name.length -= strlen(prefix);
	json_set_string(request->arena, object, "environment", name);
	span_split(task->started_by, '/', &id, &run); /* of a run of a Cron elsewhere */
	deployment = store_get(request->view, &environment_deployment_kind,
		environment_part_key(request->arena,
			environment_key(request->arena, request->caller->account, name), id));
	if (deployment)
		json_set_string(request->arena, object, "environmentVersion",
			environment_deployment_facts(deployment)->version);
}

static struct json *task_document(struct aws_request *request, struct span place,
	const struct state_info *info, const struct state_task *task)
{
	struct arena *arena = request->arena;
	struct json *made = json_new_object(arena);

	json_set_string(arena, made, "task", state_document_id(task->arn));
	json_set_string(arena, made, "taskArn", task->arn);
	set_place(request, made, place, info);
	set_text(arena, made, "instance", task->instance);
	json_set_string(arena, made, "taskDefinition", task->task_definition);
	set_text(arena, made, "group", task->group);
	set_text(arena, made, "startedBy", task->started_by);
	set_environment(request, made, task);
	json_set_string(arena, made, "lastStatus", span_of(state_task_status_name(task->last)));
	json_set_string(arena, made, "desiredStatus",
		task->wanted ? SPAN("RUNNING") : SPAN("STOPPED"));
	json_set_string(arena, made, "health", span_of(health_of(task)));
	json_set_bool(arena, made, "failed", state_task_has_failed(task));
	set_text(arena, made, "stoppedReason", task->stopped_reason);
	json_set_integer(arena, made, "version", (int64_t)task->version);
	set_time(arena, made, "createdAt", task->created_ms);
	set_time(arena, made, "startedAt", task->started_ms);
	set_time(arena, made, "stoppedAt", task->stopped_ms);
	return made;
}

/* What a stream tells is as fresh as it can be. */
static const struct state_info fresh;

struct json *state_api_instance_document(struct aws_request *request, struct span place,
	const struct state_instance *instance)
{
	return instance_document(request, place, &fresh, instance);
}

struct json *state_api_task_document(struct aws_request *request, struct span place,
	const struct state_task *task)
{
	return task_document(request, place, &fresh, task);
}

/* ---- filters ---- */

static int fail_status(struct aws_request *request, struct span status)
{
	return aws_fail_input(request, "status: there is no status '%.*s'", SPAN_ARGS(status));
}

static int read_instance_query(struct aws_request *request, struct state_instance_query *query)
{
	const struct json *attributes = json_get(request->input, "attributes");
	struct span *packed =
		arena_allocate_array(request->arena, json_count(attributes) + 1, sizeof(*packed));

	JSON_EACH_ITEM (json_get(request->input, "status"), item) {
		enum state_instance_status status;

		if (!state_instance_status_read(json_text(item), &status))
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

static int read_task_query(struct aws_request *request, struct state_task_query *query)
{
	struct span environment = json_get_text(request->input, "environment");
	struct span instance = json_get_text(request->input, "instance");

	JSON_EACH_ITEM (json_get(request->input, "status"), item) {
		enum state_task_status status;

		if (span_equal_ignoring_case(json_text(item), SPAN(FAILED_FILTER)))
			query->failed = true;
		else if (!state_task_status_read(json_text(item), &status))
			return fail_status(request, json_text(item));
		else
			query->statuses |= 1u << status;
	}
	query->started_by = json_get_text(request->input, "startedBy");
	if (instance.data)
		query->instance = state_document_id(instance);
	if (environment.data)
		query->group = arena_format(request->arena, ENVIRONMENT_GROUP_PREFIX "%.*s",
			SPAN_ARGS(environment));
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
	struct state_service *service;
	struct state_instance_query instances;
	struct state_task_query tasks;
	struct aws_page page;
	struct json *items;
	struct span token;
	/* Adds to the items what is in a place behind `after`; the name of the last. */
	struct span (*list)(struct listing *listing, struct span place,
		const struct state_info *info, struct span after);
};

static struct span list_instances(struct listing *listing, struct span place,
	const struct state_info *info, struct span after)
{
	struct arena *arena = listing->request->arena;
	struct state_instance *found;
	size_t count = state_select_instances(listing->service, place, &listing->instances, after,
		listing->page.most - json_count(listing->items), arena, &found);

	for (size_t i = 0; i < count; i++)
		json_append(arena, listing->items,
			instance_document(listing->request, place, info, &found[i]));
	return count > 0 ? found[count - 1].id : SPAN("");
}

static struct span list_tasks(struct listing *listing, struct span place,
	const struct state_info *info, struct span after)
{
	struct arena *arena = listing->request->arena;
	struct state_task *found;
	size_t count = state_select_tasks(listing->service, place, &listing->tasks, after,
		listing->page.most - json_count(listing->items), arena, &found);

	for (size_t i = 0; i < count; i++)
		json_append(arena, listing->items,
			task_document(listing->request, place, info, &found[i]));
	return count > 0 ? found[count - 1].arn : SPAN("");
}

static int find_places(struct listing *listing, struct span **ret_places, size_t *ret_count)
{
	struct aws_request *request = listing->request;
	struct span given = json_get_text(request->input, "cluster");

	if (!given.data) {
		*ret_count =
			list_places(request, listing->service, target_asked(request), ret_places);
		return 0;
	}
	*ret_places = arena_allocate(request->arena, sizeof(**ret_places));
	*ret_count = 1;
	return find_place(request, listing->service, given, *ret_places);
}

static int list(struct listing *listing, const char *member)
{
	struct aws_request *request = listing->request;
	struct span filters = filters_text(request), *places;
	size_t count;

	if (find_service(request, &listing->service) < 0 ||
		aws_page_read(request, PAGE_DEFAULT, PAGE_MAX, filters, &listing->page) < 0 ||
		find_places(listing, &places, &count) < 0)
		return -EPERM;
	listing->items = json_new_array(request->arena);
	for (size_t i = 0; i < count && listing->token.length == 0; i++) {
		struct span begun = listing->page.after_text, last;
		struct state_info info;
		int order = begun.data ? span_compare(places[i], begun) : 1;

		if (order < 0 || !state_get_info(listing->service, places[i], &info))
			continue;
		last = listing->list(listing, places[i], &info,
			order == 0 ? listing->page.after_key : SPAN_NONE);
		if (json_count(listing->items) == listing->page.most)
			listing->token = aws_page_token(request, filters, places[i], last);
	}
	buffer_format(request->out, "{\"%s\":", member);
	json_write(listing->items, request->out);
	if (listing->token.length > 0) {
		buffer_add_string(request->out, ",\"nextToken\":");
		json_write_string(listing->token, request->out);
	}
	buffer_add_char(request->out, '}');
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
	struct span given = json_get_text(request->input, "instance"), place;
	struct state_service *service;
	const struct state_instance *instance;
	struct state_info info;

	if (find_service(request, &service) < 0 ||
		find_place(request, service, json_get_text(request->input, "cluster"), &place) < 0)
		return -EPERM;
	instance = state_get_instance(service, place, state_document_id(given), request->arena);
	if (!instance || !state_get_info(service, place, &info))
		return daemon_fail(request, "ResourceNotFoundException", "instance", given,
			"There is no instance '%.*s' in cluster '%.*s'.", SPAN_ARGS(given),
			SPAN_ARGS(cluster_of_place(place)));
	json_write(instance_document(request, place, &info, instance), request->out);
	return 0;
}

/* 1, 0 or negative, as state_post_event. */
static int post(struct aws_request *request, struct state_service *service,
	const struct json *event, struct err *err)
{
	struct span target = target_asked(request);
	struct span place = state_event_place(target, event, request->arena);

	/* Of a cluster that is none of the caller's business. */
	if (place.data && !is_visible(request, place))
		return 0;
	return state_post_event(service, target, event, err);
}

int state_api_events(struct aws_request *request)
{
	struct arena *arena = request->arena;
	struct json *answer = json_new_object(arena), *failures = json_new_array(arena);
	struct state_service *service;
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
