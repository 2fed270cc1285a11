/* Task sets of services with an EXTERNAL controller; see the header. */
#include "ecs/service/task_set.h"

#include "aws/arn.h"
#include "aws/client_token.h"
#include "aws/document.h"
#include "aws/tag_list.h"
#include "base/memory.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "ecs/record/tags.h"
#include "ecs/service/service.h"
#include "ecs/task/launch_options.h"

#define CLIENT_TOKEN_MAX 36
#define EXTERNAL_ID_MAX 255
#define DESCRIBE_MAX 100

static int64_t computed_count(int64_t desired, double scale)
{
	/* Removes rounding errors above whole numbers. */
	double exact = (double)desired * scale / 100 - 1e-9;
	int64_t whole = (int64_t)exact;

	return (double)whole < exact ? whole + 1 : whole;
}

/* ---- walking ---- */

static struct span part_prefix(struct arena *arena, struct span service_key)
{
	return arena_format(arena, "%.*s/", SPAN_ARGS(service_key));
}

size_t task_set_count(const struct store_view *view, struct span service_key)
{
	_arena_ struct arena *arena = arena_new(0);

	return (size_t)store_count(view, &task_set_kind, -1, part_prefix(arena, service_key),
		false);
}

/* Up to TASK_SETS_MAX, oldest first. */
static size_t list(const struct store_view *view, struct arena *arena, struct span service_key,
	const struct store_object *sets[TASK_SETS_MAX])
{
	struct store_cursor cursor = {.view = view,
		.kind = &task_set_kind,
		.index = -1,
		.prefix = part_prefix(arena, service_key)};
	const struct store_object *set;
	size_t count = 0;

	while (count < TASK_SETS_MAX && (set = store_next(&cursor))) {
		size_t at = count++;

		for (; at > 0 &&
			task_set_facts(sets[at - 1])->created_ms > task_set_facts(set)->created_ms;
			at--)
			sets[at] = sets[at - 1];
		sets[at] = set;
	}
	return count;
}

/* ---- answers ---- */

static struct span set_arn(struct arena *arena, const struct store_object *set)
{
	const struct task_set_facts *facts = task_set_facts(set);

	return ecs_arn_of_key(arena, "task-set",
		arena_format(arena, "%.*s/" SERVICE_DEPLOYMENT_PREFIX "%.*s",
			SPAN_ARGS(service_key_of_component(set->key)), SPAN_ARGS(facts->number)));
}

static const struct json *scale_as_shown(struct arena *arena, double value)
{
	struct json *scale = json_new_object(arena);

	json_set(arena, scale, "value", json_new_double(arena, value));
	json_set_string(arena, scale, "unit", SPAN("PERCENT"));
	return scale;
}

/* As answers show it now. */
static const struct json *task_set_as_shown(struct aws_request *request,
	const struct store_object *set, bool with_tags)
{
	const struct task_set_facts *facts = task_set_facts(set);
	struct arena *arena = request->arena;
	int64_t sums[STORE_MEASURES];
	struct json *stored, *shown;

	if (json_parse(set->api, arena, &stored, NULL) < 0)
		stored = json_new_object(arena);
	shown = json_copy_object(arena, stored);
	service_sum_tasks(request->view, service_key_of_component(set->key), facts->number, sums);
	json_set_string(arena, shown, "id",
		arena_format(arena, SERVICE_DEPLOYMENT_PREFIX "%.*s", SPAN_ARGS(facts->number)));
	json_set_string(arena, shown, "taskSetArn", set_arn(arena, set));
	json_set_string(arena, shown, "status", span_of(task_set_status_name(facts->status)));
	json_set_integer(arena, shown, "computedDesiredCount", facts->computed);
	json_set_integer(arena, shown, "pendingCount", sums[TASK_SUM_PENDING]);
	json_set_integer(arena, shown, "runningCount", sums[TASK_SUM_RUNNING]);
	json_set_time(arena, shown, "createdAt", facts->created_ms);
	json_set_time(arena, shown, "updatedAt", facts->updated_ms);
	json_set(arena, shown, "scale", scale_as_shown(arena, facts->scale));
	json_set_string(arena, shown, "stabilityStatus",
		facts->stable ? SPAN("STEADY_STATE") : SPAN("STABILIZING"));
	json_set_time(arena, shown, "stabilityStatusAt", facts->stable_ms);
	if (with_tags)
		tags_set(request, shown, tags_of(request, set));
	return shown;
}

const struct json *task_set_list_shown(struct aws_request *request, struct span service_key)
{
	const struct store_object *sets[TASK_SETS_MAX];
	size_t count = list(request->view, request->arena, service_key, sets);
	struct json *shown = json_new_array(request->arena);

	for (size_t i = 0; i < count; i++)
		json_append(request->arena, shown, task_set_as_shown(request, sets[i], false));
	return shown;
}

static int answer(struct aws_request *request, struct span key)
{
	const struct store_object *set;

	request->view = store_head(request->transaction);
	set = store_get(request->view, &task_set_kind, key);
	request->resource = set_arn(request->arena, set);
	buffer_add_string(request->out, "{\"taskSet\":");
	json_write(task_set_as_shown(request, set, true), request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

/* ---- all task sets of a service ---- */

int task_set_rescale(struct store_transaction *transaction, struct span service_key,
	int64_t desired, int64_t now_ms, struct arena *arena, struct err *err)
{
	const struct store_object *sets[TASK_SETS_MAX];
	size_t count = list(store_head(transaction), arena, service_key, sets);

	for (size_t i = 0; i < count; i++) {
		struct task_set_facts facts = *task_set_facts(sets[i]);
		int64_t computed = computed_count(desired, facts.scale);
		int code;

		if (facts.status == TASK_SET_DRAINING || computed == facts.computed)
			continue;
		facts.computed = computed;
		facts.stable = false;
		facts.stable_ms = facts.updated_ms = now_ms;
		code = service_object_put_facts(transaction, sets[i], &facts, arena, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int drain(struct store_transaction *transaction, const struct store_object *set,
	int64_t now_ms, struct arena *arena, struct err *err)
{
	struct task_set_facts facts = *task_set_facts(set);

	facts.status = TASK_SET_DRAINING;
	facts.scale = 0;
	facts.computed = 0;
	facts.stable = false;
	facts.stable_ms = facts.updated_ms = now_ms;
	return service_object_put_facts(transaction, set, &facts, arena, err);
}

int task_set_drain_all(struct store_transaction *transaction, struct span service_key,
	int64_t now_ms, struct arena *arena, struct err *err)
{
	const struct store_object *sets[TASK_SETS_MAX];
	size_t count = list(store_head(transaction), arena, service_key, sets);

	for (size_t i = 0; i < count; i++) {
		int code = 0;

		if (task_set_facts(sets[i])->status != TASK_SET_DRAINING)
			code = drain(transaction, sets[i], now_ms, arena, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* ---- finding ---- */

static int find_service(struct aws_request *request, const struct store_object **ret_cluster,
	const struct store_object **ret_service)
{
	if (cluster_find(request, json_get_text(request->input, "cluster"), ret_cluster) < 0 ||
		service_find_active(request, *ret_cluster, ret_service) < 0)
		return -EPERM;
	if (service_facts(*ret_service)->controller != SERVICE_CONTROLLED_BY_EXTERNAL)
		return aws_fail_input(request,
			"Amazon ECS only supports task set management on services configured to "
			"use external deployment controllers.");
	return 0;
}

/* "ecs-svc/NUMBER", or an ARN that ends with it behind the names of cluster and service. */
static const struct store_object *get(struct aws_request *request,
	const struct store_object *service, struct span requested)
{
	struct span owner = aws_name_of_key(service->key), prefix = SPAN(SERVICE_DEPLOYMENT_PREFIX);
	struct span id;

	if (!ecs_try_resolve(request->caller, "task-set", requested, &id))
		return NULL;
	if (aws_arn_looks_like(requested)) {
		if (!span_starts_with(id, owner) || id.length <= owner.length ||
			id.data[owner.length] != '/')
			return NULL;
		id = (struct span){id.data + owner.length + 1, id.length - owner.length - 1};
	}
	if (!span_starts_with(id, prefix))
		return NULL;
	return store_get(request->view, &task_set_kind,
		service_component_key(request->arena, service->key,
			(struct span){id.data + prefix.length, id.length - prefix.length}));
}

static int find(struct aws_request *request, const char *member,
	const struct store_object **ret_service, const struct store_object **ret_set)
{
	struct span requested = json_get_text(request->input, member);
	const struct store_object *cluster;

	if (find_service(request, &cluster, ret_service) < 0)
		return -EPERM;
	*ret_set = get(request, *ret_service, requested);
	if (!*ret_set)
		return aws_fail(request, "TaskSetNotFoundException", "TaskSet not found: %.*s",
			SPAN_ARGS(requested));
	return 0;
}

static int check_not_draining(struct aws_request *request, const struct store_object *set)
{
	if (task_set_facts(set)->status != TASK_SET_DRAINING)
		return 0;
	return aws_fail_input(request,
		"The task set " SERVICE_DEPLOYMENT_PREFIX "%.*s is DRAINING and cannot be changed.",
		SPAN_ARGS(task_set_facts(set)->number));
}

/* ---- for policies ---- */

static void add_resource(struct aws_request *request, struct aws_resources *resources,
	struct span id)
{
	struct span cluster, service = json_get_text(request->input, "service"), name, before;

	if (resources->count == AWS_RESOURCES_MAX) {
		resources->overflow = true;
		return;
	}
	if (aws_arn_looks_like(id)) {
		resources->arns[resources->count++] = ecs_canonical_arn(request, "task-set", id);
		return;
	}
	if (ecs_try_resolve(request->caller, "cluster", json_get_text(request->input, "cluster"),
		    &cluster) &&
		ecs_try_resolve(request->caller, "service", service, &name)) {
		if (span_split(name, '/', &before, &name))
			cluster = before;
		id = ecs_arn(request, "task-set",
			arena_format(request->arena, "%.*s/%.*s/%.*s", SPAN_ARGS(cluster),
				SPAN_ARGS(name), SPAN_ARGS(id)));
	}
	resources->arns[resources->count++] = id;
}

void task_set_resources(struct aws_request *request, struct aws_resources *resources)
{
	const struct json *several = json_get(request->input, "taskSets");
	struct span one = json_get_text(request->input, "taskSet");

	JSON_EACH_ITEM (several, item)
		add_resource(request, resources, json_text(item));
	if (one.data)
		add_resource(request, resources, one);
	/* A new one, or all that the service has. */
	else if (json_count(several) == 0)
		add_resource(request, resources, SPAN("*"));
}

/* ---- create ---- */

struct prepared {
	struct client_token token;
	const struct json *tags;
	double scale;
};

static int read_scale(struct aws_request *request, double *ret_scale)
{
	const struct json *value = json_path(request->input, "scale.value");

	*ret_scale = 0;
	if (!json_is_absent(value) &&
		(!json_double(value, ret_scale) || !(*ret_scale >= 0 && *ret_scale <= 100)))
		return aws_fail_input(request, "scale.value: must be between 0 and 100");
	return 0;
}

int task_set_create_prepare(struct aws_request *request)
{
	struct prepared *prepared = arena_allocate(request->arena, sizeof(*prepared));
	const struct json *tags = json_get(request->input, "tags");

	if (json_get_text(request->input, "externalId").length > EXTERNAL_ID_MAX)
		return aws_fail_input(request, "externalId: the limit is %d bytes",
			EXTERNAL_ID_MAX);
	if (client_token_prepare(request, CLIENT_TOKEN_MAX, &prepared->token) < 0 ||
		aws_tag_list_check(request, tags) < 0 ||
		aws_tag_list_merge(request, NULL, tags, &prepared->tags) < 0 ||
		read_scale(request, &prepared->scale) < 0)
		return -EPERM;
	request->prepared = prepared;
	return 0;
}

/* The set that the same request made before, if it is there still. */
static int find_same(struct aws_request *request, const struct store_object *cluster,
	const struct store_object *service, const struct store_object **ret_set)
{
	const struct prepared *prepared = request->prepared;
	const struct json *ids;
	struct span number;

	*ret_set = NULL;
	switch (client_token_find(request, &prepared->token, cluster->key, &ids)) {
	case CLIENT_TOKEN_OTHER:
		return aws_fail_input(request, "Creation of task set was not idempotent.");
	case CLIENT_TOKEN_SAME:
		number = json_text(json_item(ids, 0));
		if (number.data)
			*ret_set = store_get(request->view, &task_set_kind,
				service_component_key(request->arena, service->key, number));
		return 0;
	case CLIENT_TOKEN_UNUSED: break;
	}
	return 0;
}

static int new_document(struct aws_request *request, const struct store_object *cluster,
	const struct store_object *service, struct json **ret_document)
{
	static const char *const lists[] = {"loadBalancers", "serviceRegistries"};
	const struct json *input = document_input(request), *definition;
	struct arena *arena = request->arena;
	struct json *document = json_new_object(arena);
	struct launch_options options;
	struct span arn;

	if (service_find_definition(request, json_get_text(input, "taskDefinition"), &arn,
		    &definition) < 0 ||
		launch_options_read(request, cluster, definition, input, &options) < 0)
		return -EPERM;
	json_set_string(arena, document, "serviceArn",
		ecs_arn(request, "service", aws_name_of_key(service->key)));
	json_set_string(arena, document, "clusterArn",
		ecs_arn(request, "cluster", cluster_facts(cluster)->name));
	if (!json_is_absent(json_get(input, "externalId")))
		json_set(arena, document, "externalId", json_get(input, "externalId"));
	json_set_string(arena, document, "taskDefinition", arn);
	launch_options_set(&options, arena, document);
	for (size_t i = 0; i < LENGTH(lists); i++)
		json_set(arena, document, lists[i],
			json_is_absent(json_get(input, lists[i])) ? json_new_array(arena)
								  : json_get(input, lists[i]));
	/* Services with another controller may have several. */
	if (json_count(json_get(document, "loadBalancers")) > 1)
		return aws_fail_input(request,
			"loadBalancers: %zu are given; a task set has one at most",
			json_count(json_get(document, "loadBalancers")));
	if (service_check_traffic(request, definition, document) < 0)
		return -EPERM;
	*ret_document = document;
	return 0;
}

/* Sets of a service are ordered by their times, so times are unique even within a millisecond. */
static int64_t creation_time(struct aws_request *request, const struct store_object *service)
{
	const struct store_object *sets[TASK_SETS_MAX];
	size_t count = list(request->view, request->arena, service->key, sets);

	if (count > 0 && task_set_facts(sets[count - 1])->created_ms >= request->now_ms)
		return task_set_facts(sets[count - 1])->created_ms + 1;
	return request->now_ms;
}

static int put_new(struct aws_request *request, const struct store_object *cluster,
	const struct store_object *service, const struct json *document, struct span *ret_key)
{
	const struct prepared *prepared = request->prepared;
	struct arena *arena = request->arena;
	struct task_set_facts facts = {.number = service_number_new(arena, request->random),
		.status = TASK_SET_ACTIVE,
		.scale = prepared->scale,
		.computed = computed_count(service_facts(service)->desired, prepared->scale),
		.stable_ms = request->now_ms,
		.created_ms = creation_time(request, service),
		.updated_ms = request->now_ms};
	struct json *ids = json_new_array(arena);

	service_definition_of_arn(json_get_text(document, "taskDefinition"), &facts.family,
		&facts.revision);
	*ret_key = service_component_key(arena, service->key, facts.number);
	json_append(arena, ids, json_new_string(arena, facts.number));
	if (service_object_put(request->transaction, &task_set_kind, *ret_key, document, &facts,
		    prepared->tags, STORE_ABSENT, arena, &request->err) < 0)
		return aws_fail_store(request);
	return client_token_keep(request, &prepared->token, cluster->key, ids);
}

int task_set_create(struct aws_request *request)
{
	const struct store_object *cluster, *service, *same;
	struct json *document;
	struct span key;

	if (find_service(request, &cluster, &service) < 0 ||
		find_same(request, cluster, service, &same) < 0)
		return -EPERM;
	if (same)
		return answer(request, same->key);
	if (task_set_count(request->view, service->key) >= TASK_SETS_MAX)
		return aws_fail_input(request,
			"%d deployments exist on the service. Unable to create new TaskSet since "
			"this exceeds the maximum limit.",
			TASK_SETS_MAX);
	if (new_document(request, cluster, service, &document) < 0 ||
		put_new(request, cluster, service, document, &key) < 0)
		return -EPERM;
	return answer(request, key);
}

/* ---- describe ---- */

static void describe_one(struct aws_request *request, const struct store_object *service,
	struct span requested, struct json *sets, struct json *failures)
{
	const struct store_object *set = get(request, service, requested);

	if (set)
		json_append(request->arena, sets,
			task_set_as_shown(request, set, input_includes(request, "TAGS")));
	else
		json_append(request->arena, failures,
			ecs_failure_missing(request,
				aws_arn_looks_like(requested)
					? requested
					: ecs_arn(request, "task-set",
						  arena_format(request->arena, "%.*s/%.*s",
							  SPAN_ARGS(aws_name_of_key(service->key)),
							  SPAN_ARGS(requested)))));
}

int task_set_describe(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "taskSets");
	struct json *sets = json_new_array(request->arena);
	struct json *failures = json_new_array(request->arena);
	const struct store_object *cluster, *service, *all[TASK_SETS_MAX];
	size_t count;

	if (json_count(requested) > DESCRIBE_MAX)
		return aws_fail_input(request, "taskSets: %zu are given, the limit is %d",
			json_count(requested), DESCRIBE_MAX);
	if (find_service(request, &cluster, &service) < 0)
		return -EPERM;
	JSON_EACH_ITEM (requested, item)
		describe_one(request, service, json_text(item), sets, failures);
	count = json_count(requested) > 0 ? 0
					  : list(request->view, request->arena, service->key, all);
	for (size_t i = 0; i < count; i++)
		json_append(request->arena, sets,
			task_set_as_shown(request, all[i], input_includes(request, "TAGS")));
	buffer_add_string(request->out, "{\"taskSets\":");
	json_write(sets, request->out);
	buffer_add_string(request->out, ",\"failures\":");
	json_write(failures, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

/* ---- change ---- */

int task_set_update(struct aws_request *request)
{
	const struct store_object *service, *set;
	struct task_set_facts facts;
	double scale;
	int64_t computed;

	if (read_scale(request, &scale) < 0 || find(request, "taskSet", &service, &set) < 0 ||
		check_not_draining(request, set) < 0)
		return -EPERM;
	if (json_is_absent(json_path(request->input, "scale.value")))
		return aws_fail_input(request, "scale.value: is required");
	facts = *task_set_facts(set);
	computed = computed_count(service_facts(service)->desired, scale);
	if (computed != facts.computed) {
		facts.stable = false;
		facts.stable_ms = request->now_ms;
	}
	facts.scale = scale;
	facts.computed = computed;
	facts.updated_ms = request->now_ms;
	if (service_object_put_facts(request->transaction, set, &facts, request->arena,
		    &request->err) < 0)
		return aws_fail_store(request);
	return answer(request, set->key);
}

static int move_to(struct aws_request *request, const struct store_object *set,
	enum task_set_status status)
{
	struct task_set_facts facts = *task_set_facts(set);

	facts.status = status;
	facts.updated_ms = request->now_ms;
	if (service_object_put_facts(request->transaction, set, &facts, request->arena,
		    &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

int task_set_update_primary(struct aws_request *request)
{
	const struct store_object *service, *set, *all[TASK_SETS_MAX];
	size_t count;

	if (find(request, "primaryTaskSet", &service, &set) < 0 ||
		check_not_draining(request, set) < 0)
		return -EPERM;
	count = list(request->view, request->arena, service->key, all);
	for (size_t i = 0; i < count; i++)
		if (all[i] != set && task_set_facts(all[i])->status == TASK_SET_PRIMARY &&
			move_to(request, all[i], TASK_SET_ACTIVE) < 0)
			return -EPERM;
	if (task_set_facts(set)->status != TASK_SET_PRIMARY &&
		move_to(request, set, TASK_SET_PRIMARY) < 0)
		return -EPERM;
	return answer(request, set->key);
}

int task_set_delete(struct aws_request *request)
{
	const struct store_object *service, *set;

	if (find(request, "taskSet", &service, &set) < 0)
		return -EPERM;
	if (task_set_facts(set)->status == TASK_SET_DRAINING)
		return answer(request, set->key);
	if (task_set_facts(set)->scale > 0 && !json_get_bool(request->input, "force", false))
		return aws_fail_input(request,
			"The task set cannot be deleted while it is scaled above 0. Scale it to 0, "
			"or use force.");
	if (drain(request->transaction, set, request->now_ms, request->arena, &request->err) < 0)
		return aws_fail_store(request);
	return answer(request, set->key);
}
