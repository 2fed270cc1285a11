/* Names of Cloud Map in a runtime's own service discovery; see the header. */
#include "ecs/service/name_publisher.h"

#include "cloudmap/cloudmap.h"
#include "ecs/record/cluster.h"
#include "ecs/record/task.h"

#define RESYNC_MS INT64_C(300000)

struct name {
	const struct store_object *service, *domain;
	const struct store_view *view;
	struct arena *arena;
	int64_t now_ms;
};

static const struct store_object *find_task(const struct store_view *view, struct span id)
{
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = TASK_BY_ID, .prefix = id, .exact = true};

	return store_next(&cursor);
}

/* The tasks of one cluster that are registered under the name. */
static size_t collect(const struct name_publisher *publisher, const struct name *name,
	struct span cluster_key, struct runtime_endpoint *endpoints)
{
	struct store_cursor cursor = {.view = name->view,
		.kind = &cloudmap_instance_kind,
		.index = -1,
		.prefix = arena_format(name->arena, "%.*s/", SPAN_ARGS(name->service->key))};
	const struct store_object *instance;
	size_t count = 0;

	while (count < NAME_PUBLISHER_ENDPOINTS_MAX && (instance = store_next(&cursor))) {
		const struct cloudmap_instance_facts *facts = cloudmap_instance_facts(instance);
		const struct store_object *task = find_task(name->view, facts->id);

		if (!task || facts->ipv4.length == 0 ||
			!span_equal(task_facts(task)->host, publisher->host) ||
			!span_equal(task_cluster_key(task->key), cluster_key))
			continue;
		endpoints[count++] = (struct runtime_endpoint){.token = facts->id,
			.address = facts->ipv4,
			.port = (uint16_t)facts->port,
			.ready = cloudmap_instance_is_healthy(cloudmap_service_facts(name->service),
				facts, name->now_ms)};
	}
	return count;
}

static int publish(const struct name_publisher *publisher, const struct name *name,
	const struct store_object *cluster, struct err *err)
{
	struct runtime_endpoint *endpoints =
		arena_allocate_array(name->arena, NAME_PUBLISHER_ENDPOINTS_MAX, sizeof(*endpoints));
	size_t count = collect(publisher, name, cluster->key, endpoints);
	struct runtime_name published = {
		.cluster_arn = ecs_arn_of_key(name->arena, "cluster", cluster->key),
		.name = cloudmap_service_facts(name->service)->name,
		.domain = name->domain ? cloudmap_namespace_facts(name->domain)->name : SPAN(""),
		.exists = count > 0,
		.endpoints = endpoints,
		.endpoint_count = count,
	};

	return publisher->runtime->operations->groups->publish(publisher->runtime, &published, err);
}

static bool is_ours(const struct name_publisher *publisher, struct span key)
{
	struct span account, region;

	return span_split(key, '/', &account, &region) &&
	       span_split(region, '/', &region, &(struct span){0}) &&
	       span_equal(account, publisher->account) && span_equal(region, publisher->region);
}

/* A service that is gone had no instances any more, so nothing is published of it. */
static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	const struct name_publisher *publisher = call->context;
	_view_ struct store_view *view = store_view_open(call->store);
	_arena_ struct arena *arena = arena_new(0);
	struct name name = {.service = store_get(view, &cloudmap_service_kind, key),
		.view = view,
		.arena = arena,
		.now_ms = runner_wall_ms(call->runner)};
	struct store_cursor clusters = {.view = view, .kind = &cluster_kind, .index = -1};
	const struct store_object *cluster;

	if (!name.service || !is_ours(publisher, key))
		return 0;
	clusters.prefix = arena_format(arena, "%.*s/%.*s/", SPAN_ARGS(publisher->account),
		SPAN_ARGS(publisher->region));
	name.domain = store_get(view, &cloudmap_namespace_kind,
		arena_format(arena, "%.*s%.*s", SPAN_ARGS(clusters.prefix),
			SPAN_ARGS(cloudmap_service_facts(name.service)->namespace_id)));
	while ((cluster = store_next(&clusters))) {
		int code = publish(publisher, &name, cluster, err);

		if (code < 0)
			return code;
	}
	return 0;
}

/* "ACCOUNT/REGION/srv-ID" of an instance's key. */
static void map_instance(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	struct span key = change->after ? change->after->key : change->before->key;

	(void)context;
	controller_keys_add(keys, task_cluster_key(key));
}

static const struct controller_watch watches[] = {
	{.kind = &cloudmap_service_kind},
	{.kind = &cloudmap_instance_kind, .map = map_instance},
};

const struct controller_row name_publisher_row = {
	.name = "name-publisher",
	.watches = watches,
	.watch_count = LENGTH(watches),
	.reconcile = reconcile,
	.resync_ms = RESYNC_MS,
};
