/*
 * Events of ECS as EventBridge carries them: late, twice, in any order. Their versions order them. An event from
 * before what was removed and forgotten could bring that back, and is left aside. So is one from before a listing that has not found its entity: a new
 * replica has no tombstones. The next listing decides.
 */
#include "aws/arn.h"
#include "delivery/observe/document.h"
#include "delivery/observe/observe_internal.h"

struct event {
	int64_t sent_ms;
	bool is_task, gone;
	struct span service; /* its name, when it is about one; else data NULL */
	struct observe_task task;
	struct observe_instance instance;
};

static int read_task(struct event *event, const struct json *detail, struct arena *arena,
	struct err *err)
{
	event->is_task = true;
	return observe_document_task(detail, arena, &event->task, err);
}

static int read_instance(struct event *event, const struct json *detail, struct arena *arena,
	struct err *err)
{
	return observe_document_instance(detail, arena, &event->instance, &event->gone, err);
}

/* "service/CLUSTER/NAME" of the first resource. */
static bool find_service(const struct json *requested, struct aws_arn *ret_arn,
	struct span *ret_cluster, struct span *ret_name)
{
	struct span kind, rest;
	const struct json *resource = json_item(json_get(requested, "resources"), 0);

	return json_text(resource).data && aws_arn_parse(json_text(resource), ret_arn) &&
	       span_split(ret_arn->resource, '/', &kind, &rest) && span_is(kind, "service") &&
	       span_split(rest, '/', ret_cluster, ret_name);
}

/* They have no version, and less content than DescribeServices. */
static int read_service_event(const struct json *requested, struct event *event, struct err *err)
{
	struct aws_arn arn;
	struct span cluster;

	if (!find_service(requested, &arn, &cluster, &event->service))
		return err_set(err, -EINVAL, "resources: names no service of a cluster");
	return 1;
}

static bool is_of_service(struct span type)
{
	return span_is(type, "ECS Service Action") || span_is(type, "ECS Deployment State Change");
}

static const struct {
	const char *type;
	int (*read)(struct event *event, const struct json *detail, struct arena *arena,
		struct err *err);
} types[] = {
	{"ECS Task State Change", read_task},
	{"ECS Container Instance State Change", read_instance},
};

/* 1: read; 0: of a type that says nothing of tasks or instances. */
static int read_event(const struct json *requested, struct arena *arena, struct event *event,
	struct err *err)
{
	const struct json *detail = json_get(requested, "detail");
	struct span type = json_get_text(requested, "detail-type");
	int code;

	if (!type.data)
		return err_set(err, -EINVAL, "detail-type is missing");
	if (is_of_service(type))
		return read_service_event(requested, event, err);
	for (size_t i = 0; i < LENGTH(types); i++) {
		if (!span_is(type, types[i].type))
			continue;
		if (!json_is(detail, JSON_OBJECT))
			return err_set(err, -EINVAL, "detail is missing");
		if (!observe_document_time(json_get(requested, "time"), arena, &event->sent_ms))
			return err_set(err, -EINVAL, "time is missing, or not one");
		code = types[i].read(event, detail, arena, err);
		if (code < 0)
			return err_prefix(err, code, "detail");
		if (json_is_absent(json_get(detail, "version")))
			return err_set(err, -EINVAL, "detail: version is missing");
		return 1;
	}
	return 0;
}

bool observe_event_cluster(struct span target, const struct json *event, struct arena *arena,
	struct cluster_ref *ret_cluster)
{
	static const char prefix[] = "cluster/";
	struct span cluster = json_text(json_path(event, "detail.clusterArn")), name, service;
	struct aws_arn arn;

	if (cluster.data && aws_arn_parse(cluster, &arn) &&
		span_starts_with(arn.resource, span_of(prefix)))
		name = (struct span){
			arn.resource.data + strlen(prefix), arn.resource.length - strlen(prefix)};
	/* Not all events of services have that member. */
	else if (cluster.data || !find_service(event, &arn, &name, &service))
		return false;
	if (name.length == 0)
		return false;
	*ret_cluster = cluster_ref_make(arena, target, arn.account, arn.region, name);
	return true;
}

/* It is about an entity that a later listing has not found, and that may be gone since. */
static bool is_doubtful(const struct observed_cluster *cluster, const struct event *event)
{
	if (event->sent_ms >= cluster->listing_ms)
		return false;
	if (event->is_task)
		return event->task.last != OBSERVE_TASK_STOPPED &&
		       !replica_knows_task(cluster->replica, event->task.arn);
	return !event->gone && !replica_knows_instance(cluster->replica, event->instance.id);
}

static bool apply(struct observed_cluster *cluster, const struct event *event, struct moment now)
{
	if (event->sent_ms <= replica_forgotten_ms(cluster->replica))
		return false;
	if (event->is_task)
		return replica_put_task(cluster->replica, &event->task, now);
	if (event->gone)
		return replica_remove_instance(cluster->replica, event->instance.id,
			event->instance.version, now);
	return replica_put_instance(cluster->replica, &event->instance, now);
}

static int post_service(struct observer *service, struct cluster_ref ref, struct span name)
{
	const struct observed_cluster *cluster;
	bool is_needed;

	lock_take(&service->lock);
	cluster = map_get(&service->clusters, ref.text);
	is_needed = cluster && observe_services_has(cluster, name);
	lock_release(&service->lock);
	if (is_needed)
		observe_refresh_service(service, ref, name);
	return is_needed;
}

static int take(struct observer *service, struct span target, const struct json *requested,
	bool is_posted, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct event event = {0};
	struct observed_cluster *cluster;
	struct observe_changes changes;
	struct cluster_ref ref = cluster_ref_of(SPAN(""));
	bool has_cluster = observe_event_cluster(target, requested, arena, &ref);
	bool changed = false, doubtful = false;
	int code = read_event(requested, arena, &event, err);

	if (code > 0 && !has_cluster)
		return err_set(err, -EINVAL, "detail: clusterArn is not the ARN of a cluster");
	/* Only the store reports clusters of this server. */
	if (code <= 0 || target.length == 0)
		return code < 0 ? code : 0;
	/* Also what is not new here: others may know less. */
	if (is_posted)
		relay_post(service->relay, target, requested);
	if (event.service.data)
		return post_service(service, ref, event.service);
	observe_changes_init(&changes, arena);
	lock_take(&service->lock);
	cluster = map_get(&service->clusters, ref.text);
	if (cluster)
		doubtful = is_doubtful(cluster, &event);
	if (cluster && !doubtful)
		changed = apply(cluster, &event, runner_moment(service->runner));
	if (changed && event.is_task)
		observe_changes_add_task(&changes, cluster, event.task.instance, event.task.group);
	else if (changed)
		observe_changes_add(&changes, cluster, event.instance.id);
	lock_release(&service->lock);
	observe_changes_deliver(service, &changes);
	/* Asks for a listing soon; once, however many such events come. */
	if (doubtful)
		observe_reaches(service, ref, observe_resource_version(service, ref));
	return changed;
}

int source_event_take(struct observer *service, struct span target, const struct json *event,
	struct err *err)
{
	return take(service, target, event, false, err);
}

int observe_post_event(struct observer *service, struct span target, const struct json *event,
	struct err *err)
{
	return take(service, target, event, true, err);
}

int observe_post_task(struct observer *service, struct cluster_ref ref, const struct json *document,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct observed_cluster *cluster;
	struct observe_changes changes;
	struct observe_task task;
	bool changed = false;

	if (observe_document_task(document, arena, &task, err) < 0)
		return -EINVAL;
	observe_changes_init(&changes, arena);
	lock_take(&service->lock);
	cluster = map_get(&service->clusters, ref.text);
	if (cluster && cluster_ref_is_remote(cluster->ref))
		changed = replica_put_task(cluster->replica, &task, runner_moment(service->runner));
	if (changed)
		observe_changes_add_task(&changes, cluster, task.instance, task.group);
	lock_release(&service->lock);
	observe_changes_deliver(service, &changes);
	return changed;
}
