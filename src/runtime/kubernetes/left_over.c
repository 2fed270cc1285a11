/*
 * ReplicaSets that outlived their deleted Deployment, and pods that outlived their ReplicaSet or
 * DaemonSet. Kubernetes deletes them, unless there was a new owner with the same name before its
 * controllers ran: they compare names, and after an outage miss the deletion of the first one. Such
 * pods would run for ever beside the new ones.
 *
 * Only objects that certainly lost their owner are deleted: they were known before the owner was
 * read from the API server, and an owner exists before its objects, so a missing owner has been
 * deleted.
 */
#include "runtime/kubernetes/internal.h"
#include "runtime/kubernetes/names.h"

/* ---- ReplicaSets ---- */

static bool is_left(const struct kube_object *object, uint64_t owner)
{
	const struct kubernetes_replica_set *set = object->data;

	return set->owner != 0 && set->owner != owner;
}

static bool is_any_left(const struct kube_object_list *sets, uint64_t owner)
{
	for (size_t i = 0; i < sets->count; i++)
		if (is_left(sets->objects[i], owner))
			return true;
	return false;
}

static int remove_set(struct kubernetes_runtime *runtime, const struct kube_object *set,
	struct err *err)
{
	struct kube_target target = {
		.kind = &kube_replica_sets, .namespace = set->namespace, .name = set->name};
	struct kube_deletion deletion = {
		.propagation = KUBE_PROPAGATION_BACKGROUND, .uid = set->uid};
	int code = kube_delete(runtime->client, &target, &deletion, NULL, err);

	return code == -ENOENT ? 0 : code;
}

/* Reads from the API server: the informer of one kind may be older than that of another. */
static int ask_for_owner(struct kubernetes_runtime *runtime, const struct kube_object *known,
	uint64_t *ret_owner, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	bool daemon = ((const struct kubernetes_workload *)known->data)->daemon;
	struct kube_target target = {.kind = kubernetes_workload_kind(daemon),
		.namespace = known->namespace,
		.name = known->name};
	struct json *found;
	int code = kube_get(runtime->client, &target, NULL, arena, &found, err);

	if (code == 0)
		*ret_owner = span_hash(json_get_text(json_get(found, "metadata"), "uid"));
	return code;
}

static int remove_sets(struct kubernetes_runtime *runtime, const struct kube_object *known,
	const struct kube_object_list *sets, struct err *err)
{
	uint64_t owner;
	int code = ask_for_owner(runtime, known, &owner, err);

	for (size_t i = 0; code == 0 && i < sets->count; i++)
		if (is_left(sets->objects[i], owner))
			code = remove_set(runtime, sets->objects[i], err);
	return code;
}

/* ---- pods ---- */

/* Possible owners of a group's pods. */
struct owners {
	uint64_t *hashes;
	size_t count;
};

static bool is_orphan(const struct kube_object *object, const struct owners *owners)
{
	const struct kubernetes_pod *pod = object->data;

	if (pod->owner == 0 || pod->ending_ms > 0)
		return false;
	for (size_t i = 0; i < owners->count; i++)
		if (owners->hashes[i] == pod->owner)
			return false;
	return true;
}

static bool has_orphans(const struct kube_object_list *pods, const struct owners *owners)
{
	for (size_t i = 0; i < pods->count; i++)
		if (is_orphan(pods->objects[i], owners))
			return true;
	return false;
}

/* The owners that the informers show, which may be too few: then read them. */
static struct owners known_owners(const struct kube_object *known,
	const struct kube_object_list *sets, struct arena *arena)
{
	struct owners owners = {
		.hashes = arena_allocate_array(arena, sets->count + 1, sizeof(uint64_t))};

	if (((const struct kubernetes_workload *)known->data)->daemon)
		owners.hashes[owners.count++] = span_hash(known->uid);
	for (size_t i = 0; i < sets->count; i++)
		owners.hashes[owners.count++] = span_hash(sets->objects[i]->uid);
	return owners;
}

static int ask_for_sets(struct kubernetes_runtime *runtime, const struct kube_object *known,
	struct arena *arena, struct owners *ret_owners, struct err *err)
{
	struct span group = ((const struct kubernetes_workload *)known->data)->group;
	struct kube_target target = {.kind = &kube_replica_sets, .namespace = known->namespace};
	struct kube_selection selection = {
		.labels = arena_format(arena, "%.*s," KUBERNETES_LABEL_GROUP "=%.*s",
			SPAN_ARGS(kubernetes_selector(arena, runtime->config.host)),
			SPAN_ARGS(kubernetes_group_label(arena, group)))
				  .data};
	struct json *sets;
	int code = kube_list(runtime->client, &target, &selection, NULL, arena, &sets, NULL, err);

	if (code < 0)
		return code;
	ret_owners->hashes = arena_allocate_array(arena, json_count(sets) + 1, sizeof(uint64_t));
	ret_owners->count = 0;
	JSON_EACH_ITEM (sets, set)
		ret_owners->hashes[ret_owners->count++] =
			span_hash(json_get_text(json_get(set, "metadata"), "uid"));
	return 0;
}

static int ask_for_owners(struct kubernetes_runtime *runtime, const struct kube_object *known,
	struct arena *arena, struct owners *ret_owners, struct err *err)
{
	if (!((const struct kubernetes_workload *)known->data)->daemon)
		return ask_for_sets(runtime, known, arena, ret_owners, err);
	ret_owners->hashes = arena_allocate_array(arena, 1, sizeof(uint64_t));
	ret_owners->count = 1;
	return ask_for_owner(runtime, known, ret_owners->hashes, err);
}

static int remove_pods(struct kubernetes_runtime *runtime, const struct kube_object *known,
	const struct kube_object_list *pods, struct arena *arena, struct err *err)
{
	struct owners owners;
	int code = ask_for_owners(runtime, known, arena, &owners, err);

	for (size_t i = 0; code == 0 && i < pods->count; i++)
		if (is_orphan(pods->objects[i], &owners))
			code = kubernetes_end_pod(runtime, pods->objects[i], RUNTIME_STOP_REQUESTED,
				SPAN("What Kubernetes had made it for was deleted"), err);
	return code;
}

/* ---- both ---- */

int kubernetes_left_over_remove(struct kubernetes_runtime *runtime, struct span group,
	struct err *err)
{
	_kube_object_list_ struct kube_object_list sets = {0}, pods = {0};
	_kube_object_ const struct kube_object *known = kubernetes_find_workload(runtime, group);
	_arena_ struct arena *arena = arena_new(0);
	struct owners owners;
	bool left, orphans;
	int code = 0;

	if (!known)
		return 0;
	kube_informer_find(kubernetes_informer(runtime, KUBERNETES_PODS), "group", group, arena,
		&pods);
	if (!((const struct kubernetes_workload *)known->data)->daemon)
		kube_informer_find(kubernetes_informer(runtime, KUBERNETES_REPLICA_SETS), "group",
			group, arena, &sets);
	owners = known_owners(known, &sets, arena);
	left = is_any_left(&sets, span_hash(known->uid));
	orphans = has_orphans(&pods, &owners);
	if (left)
		code = remove_sets(runtime, known, &sets, err);
	if (code == 0 && orphans)
		code = remove_pods(runtime, known, &pods, arena, err);
	if (code == 0 && (left || orphans))
		kubernetes_chore_add_at(runtime, KUBERNETES_CHORE_LEFT, group,
			runner_deadline_us(runtime->runner, KUBERNETES_LEFT_US));
	return code == -ENOENT ? 0 : code;
}
