/*
 * The known state of the cluster: six informers, and handlers of their changes. Handlers only
 * record a change and pass it on; work that calls the API server is a chore (chores.c).
 */
#include <stdio.h>

#include "base/memory.h"
#include "runtime/kubernetes/internal.h"
#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/node.h"
#include "runtime/kubernetes/pod_task.h"

/* ---- reporting ---- */

/* The first list is reported as a whole, when it is complete (synced()). */
void kubernetes_report_task(struct kubernetes_runtime *runtime, struct span token)
{
	if (runtime->config.changed && kubernetes_check_synced(runtime, NULL) == 0)
		runtime->config.changed(runtime->config.context, token);
}

void kubernetes_report_group(struct kubernetes_runtime *runtime, struct span id)
{
	if (runtime->config.group_changed && kubernetes_check_synced(runtime, NULL) == 0)
		runtime->config.group_changed(runtime->config.context, id);
}

/* ---- pods ---- */

static void pod_keys_token(const struct kube_object *object, struct kube_index_keys *keys)
{
	kube_index_keys_add(keys, ((const struct kubernetes_pod *)object->data)->token);
}

static void pod_keys_group(const struct kube_object *object, struct kube_index_keys *keys)
{
	const struct kubernetes_pod *pod = object->data;

	if (pod->group.length > 0)
		kube_index_keys_add(keys, pod->group);
}

static void pod_changed(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	struct kubernetes_watcher *watcher = context;
	struct kubernetes_runtime *runtime = watcher->runtime;
	const struct kubernetes_pod *pod = (after ? after : before)->data;

	if (after)
		kubernetes_fresh_seen(&runtime->pods, pod->token, after);
	else
		kubernetes_fresh_gone(&runtime->pods, pod->token, before);
	/* Before the report: a replacement may be started at once. */
	if (after)
		kubernetes_note_refusal(runtime, pod);
	if (after)
		kubernetes_chore_of_pod(runtime, pod);
	kubernetes_report_task(runtime, pod->token);
	/* Only for daemons is the number of tasks of a version counted from pods. */
	if (pod->group.length > 0 && (!before || !after))
		kubernetes_report_group(runtime, pod->group);
}

/* ---- nodes ---- */

static bool same_labels(const struct kubernetes_node *one, const struct kubernetes_node *other)
{
	if (one->label_count != other->label_count)
		return false;
	for (size_t i = 0; i < one->label_count; i++)
		if (!span_equal(one->labels[i].name, other->labels[i].name) ||
			!span_equal(one->labels[i].value, other->labels[i].value))
			return false;
	return true;
}

/* Nodes send a heartbeat every few minutes; that alone is no change. */
static bool same_node(const struct kubernetes_node *one, const struct kubernetes_node *other)
{
	return one->cpu == other->cpu && one->memory == other->memory && one->away == other->away &&
	       one->closed == other->closed && span_equal(one->address, other->address) &&
	       span_equal(one->host_name, other->host_name) && same_labels(one, other);
}

static void node_changed(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	struct kubernetes_watcher *watcher = context;

	if (before && after && same_node(before->data, after->data))
		return;
	kubernetes_report_task(watcher->runtime, SPAN(""));
}

/* ---- workloads ---- */

static void workload_keys_group(const struct kube_object *object, struct kube_index_keys *keys)
{
	kube_index_keys_add(keys, ((const struct kubernetes_workload *)object->data)->group);
}

static void workload_changed(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	struct kubernetes_watcher *watcher = context;
	const struct kubernetes_workload *workload = (after ? after : before)->data;

	if (after)
		kubernetes_fresh_seen(&watcher->runtime->groups, workload->group, after);
	else
		kubernetes_fresh_gone(&watcher->runtime->groups, workload->group, before);
	if (after && (!before || !span_equal(before->uid, after->uid)))
		kubernetes_chore_add_at(watcher->runtime, KUBERNETES_CHORE_LEFT, workload->group,
			runner_deadline_us(watcher->runtime->runner, KUBERNETES_LEFT_US));
	kubernetes_report_group(watcher->runtime, workload->group);
}

static void replica_set_keys_group(const struct kube_object *object, struct kube_index_keys *keys)
{
	kube_index_keys_add(keys, ((const struct kubernetes_replica_set *)object->data)->group);
}

/* A workload was deleted, perhaps to be replaced by one with its name. */
static bool has_gone(const struct kube_object *before, const struct kube_object *after)
{
	return before && (!after || !span_equal(before->uid, after->uid));
}

static void replica_set_changed(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	struct kubernetes_watcher *watcher = context;
	const struct kubernetes_replica_set *set = (after ? after : before)->data;

	if (has_gone(before, after))
		kubernetes_chore_add_at(watcher->runtime, KUBERNETES_CHORE_LEFT, set->group,
			runner_deadline_us(watcher->runtime->runner, KUBERNETES_LEFT_US));
	kubernetes_report_group(watcher->runtime, set->group);
}

/* ---- events ---- */

static void event_keys_object(const struct kube_object *object, struct kube_index_keys *keys)
{
	const struct kubernetes_event *event = object->data;

	if (event->object.length > 0)
		kube_index_keys_add(keys, event->object);
}

static struct span group_of_object(enum kubernetes_resource resource, const void *data)
{
	switch (resource) {
	case KUBERNETES_PODS: return ((const struct kubernetes_pod *)data)->group;
	case KUBERNETES_REPLICA_SETS: return ((const struct kubernetes_replica_set *)data)->group;
	default: return ((const struct kubernetes_workload *)data)->group;
	}
}

static void event_changed(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	static const enum kubernetes_resource subjects[] = {KUBERNETES_PODS,
		KUBERNETES_REPLICA_SETS, KUBERNETES_DEPLOYMENTS, KUBERNETES_DAEMON_SETS};
	struct kubernetes_watcher *watcher = context;
	const struct kubernetes_event *event = after ? after->data : NULL;

	(void)before;
	if (!event) /* events expire after an hour; that is no change */
		return;
	for (size_t i = 0; i < LENGTH(subjects); i++) {
		_kube_object_ const struct kube_object *found =
			kube_informer_get(kubernetes_informer(watcher->runtime, subjects[i]),
				event->namespace, event->name);
		struct span group;

		if (!found || !span_equal(found->uid, event->object))
			continue;
		group = group_of_object(subjects[i], found->data);
		if (group.length > 0)
			kubernetes_report_group(watcher->runtime, group);
		/* It may be the reason a task waits. */
		if (subjects[i] == KUBERNETES_PODS)
			kubernetes_report_task(watcher->runtime,
				((const struct kubernetes_pod *)found->data)->token);
	}
}

/* ---- informers ---- */

static const struct kube_index pod_indexes[] = {
	{"token", pod_keys_token}, {"group", pod_keys_group}};
static const struct kube_index workload_indexes[] = {{"group", workload_keys_group}};
static const struct kube_index replica_set_indexes[] = {{"group", replica_set_keys_group}};
static const struct kube_index event_indexes[] = {{"object", event_keys_object}};

static const struct watch {
	const char *name;
	const struct kube_kind *kind;
	kube_reduce reduce;
	void (*changed)(void *context, const struct kube_object *before,
		const struct kube_object *after);
	const struct kube_index *indexes;
	size_t index_count;
	bool ours;          /* selected by our labels */
	const char *fields; /* selected by this; or NULL */
} watches[KUBERNETES_RESOURCE_COUNT] = {
	[KUBERNETES_PODS] = {"pods", &kube_pods, kubernetes_pod_reduce, pod_changed, pod_indexes,
		LENGTH(pod_indexes), true, NULL},
	[KUBERNETES_NODES] = {"nodes", &kube_nodes, kubernetes_node_reduce, node_changed, NULL, 0,
		false, NULL},
	[KUBERNETES_DEPLOYMENTS] = {"deployments", &kube_deployments, kubernetes_deployment_reduce,
		workload_changed, workload_indexes, LENGTH(workload_indexes), true, NULL},
	[KUBERNETES_DAEMON_SETS] = {"daemonsets", &kube_daemon_sets, kubernetes_daemon_set_reduce,
		workload_changed, workload_indexes, LENGTH(workload_indexes), true, NULL},
	[KUBERNETES_REPLICA_SETS] = {"replicasets", &kube_replica_sets,
		kubernetes_replica_set_reduce, replica_set_changed, replica_set_indexes,
		LENGTH(replica_set_indexes), true, NULL},
	[KUBERNETES_EVENTS] = {"events", &kube_events, kubernetes_event_reduce, event_changed,
		event_indexes, LENGTH(event_indexes), false, "type=Warning"},
};

/* Chores of pods were not queued until now. */
static void inspect_all_pods(struct kubernetes_runtime *runtime)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list pods = {0};

	kube_informer_all(kubernetes_informer(runtime, KUBERNETES_PODS), arena, &pods);
	for (size_t i = 0; i < pods.count; i++)
		kubernetes_chore_of_pod(runtime, pods.objects[i]->data);
}

static void synced(void *context)
{
	struct kubernetes_watcher *watcher = context;
	struct kubernetes_runtime *runtime = watcher->runtime;
	bool all;

	lock_take(&runtime->lock);
	all = --runtime->unsynced == 0;
	lock_release(&runtime->lock);
	if (!all)
		return;
	inspect_all_pods(runtime);
	kubernetes_chore_add_at(runtime, KUBERNETES_CHORE_SHRINK, SPAN("memory"),
		runner_deadline_us(runtime->runner, KUBERNETES_SHRINK_US));
	kubernetes_report_task(runtime, SPAN(""));
	kubernetes_report_group(runtime, SPAN(""));
}

static void failed(void *context, const struct err *err)
{
	struct kubernetes_watcher *watcher = context;
	struct kubernetes_runtime *runtime = watcher->runtime;

	if (runtime->config.report)
		runtime->config.report(runtime->config.context, watches[watcher->resource].name,
			err);
}

static int start_informer(struct kubernetes_runtime *runtime, enum kubernetes_resource resource,
	struct err *err)
{
	const struct watch *watch = &watches[resource];
	struct kubernetes_watcher *watcher = &runtime->watchers[resource];
	struct kube_informer_config config = {
		.client = runtime->client,
		.runner = runtime->runner,
		.kind = watch->kind,
		.reduce = watch->reduce,
		.indexes = watch->indexes,
		.index_count = watch->index_count,
		.changed = watch->changed,
		.synced = synced,
		.failed = failed,
		.context = watcher,
		.resync_ms = runtime->config.resync_ms < 0 ? 0 : runtime->config.resync_ms,
	};

	if (watch->ours)
		config.selection.labels =
			kubernetes_selector(runtime->arena, runtime->config.host).data;
	config.selection.fields = watch->fields;
	return kube_informer_start(&config, &watcher->informer, err);
}

int kubernetes_watch_start(struct kubernetes_runtime *runtime, struct err *err)
{
	runtime->unsynced = KUBERNETES_RESOURCE_COUNT;
	for (size_t i = 0; i < KUBERNETES_RESOURCE_COUNT; i++)
		runtime->watchers[i] = (struct kubernetes_watcher){
			.ours = {runtime->config.host},
			.runtime = runtime,
			.resource = (enum kubernetes_resource)i,
		};
	/* Events use the other informers, so they come last. */
	for (size_t i = 0; i < KUBERNETES_RESOURCE_COUNT; i++) {
		int code = start_informer(runtime, (enum kubernetes_resource)i, err);

		if (code < 0)
			return err_prefix(err, code, "watch %s", watches[i].name);
	}
	return 0;
}

void kubernetes_watch_stop(struct kubernetes_runtime *runtime)
{
	for (size_t i = KUBERNETES_RESOURCE_COUNT; i > 0; i--)
		kube_informer_stop(TAKE(runtime->watchers[i - 1].informer));
}

int kubernetes_check_synced(struct kubernetes_runtime *runtime, struct err *err)
{
	bool all;

	lock_take(&runtime->lock);
	all = runtime->unsynced == 0;
	lock_release(&runtime->lock);
	return all ? 0 : err_set(err, -EAGAIN, "Kubernetes was not listed completely yet");
}

void runtime_kubernetes_statistics(struct runtime *base,
	struct runtime_kubernetes_statistics *ret_statistics)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);

	for (size_t i = 0; i < KUBERNETES_RESOURCE_COUNT; i++) {
		ret_statistics->resources[i].type = watches[i].name;
		kube_informer_statistics(runtime->watchers[i].informer,
			&ret_statistics->resources[i].informer);
	}
	kube_client_statistics(runtime->client, &ret_statistics->client);
	work_queue_statistics(runtime->chores, &ret_statistics->chores);
}

/* ---- finding ---- */

/* The first of an index; a reference, or NULL. */
static const struct kube_object *find_first(struct kube_informer *informer, const char *index,
	struct span key)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list found = {0};

	kube_informer_find(informer, index, key, arena, &found);
	return found.count > 0 ? kube_object_reference(found.objects[0]) : NULL;
}

const struct kube_object *kubernetes_find_pod(struct kubernetes_runtime *runtime, struct span token)
{
	const struct kube_object *pod = kubernetes_fresh_choose(&runtime->pods, token,
		find_first(kubernetes_informer(runtime, KUBERNETES_PODS), "token", token));

	if (pod && ((const struct kubernetes_pod *)pod->data)->acknowledged) {
		kube_object_release(pod);
		return NULL;
	}
	return pod;
}

const struct kube_object *kubernetes_find_workload(struct kubernetes_runtime *runtime,
	struct span id)
{
	const struct kube_object *found =
		find_first(kubernetes_informer(runtime, KUBERNETES_DEPLOYMENTS), "group", id);

	if (!found)
		found = find_first(kubernetes_informer(runtime, KUBERNETES_DAEMON_SETS), "group",
			id);
	return kubernetes_fresh_choose(&runtime->groups, id, found);
}

const struct kube_kind *kubernetes_workload_kind(bool daemon)
{
	return daemon ? &kube_daemon_sets : &kube_deployments;
}

/* ---- answers ---- */

int kubernetes_take_pod(struct kubernetes_runtime *runtime, const struct json *answer,
	struct err *err)
{
	struct kubernetes_watcher *watcher = &runtime->watchers[KUBERNETES_PODS];
	const struct kube_object *object;
	char token[RUNTIME_TOKEN_MAX + 1];
	int code = kube_object_make(answer, kubernetes_pod_reduce, watcher, &object, err);

	if (code != 0)
		return code < 0 ? code
				: err_set(err, -EPROTO,
					  "the answer is not the pod that was written");
	snprintf(token, sizeof(token), "%.*s",
		SPAN_ARGS(((const struct kubernetes_pod *)object->data)->token));
	kubernetes_fresh_put(&runtime->pods, span_of(token), object);
	kubernetes_chore_add_at(runtime, KUBERNETES_CHORE_FRESH_POD, span_of(token),
		runner_deadline_us(runtime->runner, KUBERNETES_FRESH_US));
	return 0;
}

int kubernetes_take_workload(struct kubernetes_runtime *runtime, bool daemon,
	const struct json *answer, struct err *err)
{
	struct kubernetes_watcher *watcher =
		&runtime->watchers[daemon ? KUBERNETES_DAEMON_SETS : KUBERNETES_DEPLOYMENTS];
	const struct kube_object *object;
	char id[RUNTIME_GROUP_MAX + 1];
	int code = kube_object_make(answer,
		daemon ? kubernetes_daemon_set_reduce : kubernetes_deployment_reduce, watcher,
		&object, err);

	if (code != 0)
		return code < 0 ? code
				: err_set(err, -EPROTO, "the answer is not what was written");
	snprintf(id, sizeof(id), "%.*s",
		SPAN_ARGS(((const struct kubernetes_workload *)object->data)->group));
	kubernetes_fresh_put(&runtime->groups, span_of(id), object);
	kubernetes_chore_add_at(runtime, KUBERNETES_CHORE_FRESH_GROUP, span_of(id),
		runner_deadline_us(runtime->runner, KUBERNETES_FRESH_US));
	return 0;
}
