/*
 * Groups: services and task sets as Deployments and DaemonSets.
 *
 * A version is written once. While a Deployment has the desired version, only numbers are changed,
 * so that another slipway (with another helper image, for example) never starts a new rollout; and
 * if those are equal too, nothing is sent: apply is called after every change.
 */
#include "base/memory.h"
#include "runtime/kubernetes/internal.h"
#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/objects.h"

#define EVENTS_MAX 1000 /* read for one group */

static const struct kubernetes_workload *workload_of(const struct kube_object *object)
{
	return object->data;
}

static struct kube_target target_of(const struct kube_object *object)
{
	return (struct kube_target){.kind = kubernetes_workload_kind(workload_of(object)->daemon),
		.namespace = object->namespace,
		.name = object->name};
}

/* ---- applying ---- */

static int change_numbers(struct kubernetes_runtime *runtime, const struct kube_object *known,
	const struct runtime_group *group, struct arena *arena, struct err *err)
{
	struct kube_target target = target_of(known);
	int64_t nodes = group->daemon ? workload_of(known)->desired : 0;
	struct json *patch = kubernetes_group_numbers(arena, group, nodes);
	struct json *metadata = json_new_object(arena), *answer;
	int code;

	if (kubernetes_workload_has_numbers(workload_of(known), patch))
		return 0;
	json_set_string(arena, metadata, "uid", known->uid);
	json_set(arena, patch, "metadata", metadata);
	code = kube_patch(runtime->client, &target, KUBE_PATCH_MERGE, patch, NULL, arena, &answer,
		err);
	if (code == -ENOENT)
		return err_set(err, -EAGAIN, "it vanished just now");
	return code < 0 ? code : kubernetes_take_workload(runtime, group->daemon, answer, err);
}

/* A version to be written, and its target. */
struct writing {
	struct kube_target target;
	const struct runtime_group *group;
	struct kubernetes_template template;
	struct span uid;     /* of the object with this name; "": none */
	struct span secret;  /* name of the version's Secret, */
	struct span before;  /* of the previous version's, */
	struct span secrets; /* and of all; SPAN_NONE: not known */
	int64_t nodes;
};

/* Is the object with this name the group's own, or is the name free? */
static int check_place(struct kubernetes_runtime *runtime, struct writing *writing,
	struct arena *arena, struct err *err)
{
	const struct kube_target *target = &writing->target;
	const struct json *annotations;
	struct json *found;
	int code = kube_get(runtime->client, target, NULL, arena, &found, err);

	if (code == -ENOENT)
		return 0;
	if (code < 0)
		return code;
	annotations = json_path(found, "metadata.annotations");
	if (kubernetes_claim(found, runtime->config.host) != KUBERNETES_OURS ||
		!span_equal(json_get_text(annotations, KUBERNETES_GROUP), writing->group->id))
		return err_set(err, -EEXIST, "a %s '%.*s' that is not slipway's is in the way",
			target->kind->kind, SPAN_ARGS(target->name));
	if (!json_is_absent(json_path(found, "metadata.deletionTimestamp")))
		return err_set(err, -EAGAIN, "its predecessor is still being deleted");
	writing->uid = json_get_text(json_get(found, "metadata"), "uid");
	writing->before = kubernetes_secret_name(arena, target->name,
		json_get_text(annotations, KUBERNETES_VERSION));
	writing->secrets = json_get_text(annotations, KUBERNETES_SECRET);
	return 0;
}

static bool has_name(struct span names, struct span wanted)
{
	struct span name;

	while (span_next_part(&names, ' ', &name))
		if (span_equal(name, wanted))
			return true;
	return false;
}

/* Deletes Secrets of old versions, and records the new one's name before it is created. */
static int settle_secrets(struct kubernetes_runtime *runtime, struct writing *writing,
	struct arena *arena, struct err *err)
{
	const struct kube_target *target = &writing->target;
	struct kubernetes_secrets secrets = {.namespace = target->namespace,
		.owner = target->name,
		.group = writing->group->id,
		.names = writing->secrets};
	const struct span wanted[] = {writing->secret, writing->before};
	struct json *answer;
	int code =
		kubernetes_secrets_prune(runtime, &secrets, wanted, arena, &writing->secrets, err);

	if (code < 0 || !writing->template.secrets || has_name(writing->secrets, writing->secret))
		return code;
	writing->secrets = writing->secrets.length > 0
				   ? arena_format(arena, "%.*s %.*s", SPAN_ARGS(writing->secrets),
					     SPAN_ARGS(writing->secret))
				   : writing->secret;
	if (writing->uid.length == 0)
		return 0;
	code = kube_patch(runtime->client, target, KUBE_PATCH_MERGE,
		kubernetes_group_secrets(arena, writing->secrets, writing->uid), NULL, arena,
		&answer, err);
	if (code == -ENOENT)
		return err_set(err, -EAGAIN, "it vanished just now");
	return code < 0 ? code
			: kubernetes_take_workload(runtime, writing->group->daemon, answer, err);
}

/* Only the Secret of a new Deployment has no owner for a moment. All others get theirs at creation:
 * once the version is written there is no later pass, whatever the response was. */
static int write_all(struct kubernetes_runtime *runtime, const struct writing *writing,
	struct arena *arena, struct err *err)
{
	const struct kube_target *target = &writing->target;
	const struct kubernetes_template *template = &writing->template;
	const struct json *document = kubernetes_group_document(arena, target->namespace,
		target->name, writing->group, template, writing->secrets, writing->nodes);
	struct kubernetes_owner owner = {.api_version = "apps/v1",
		.kind = target->kind->kind,
		.name = target->name,
		.uid = writing->uid};
	bool is_new = writing->uid.length == 0;
	struct kube_failure failure = {0};
	struct kube_options options = {.failure = &failure};
	struct json *answer;
	struct span secret;
	int code = kubernetes_secret_write(runtime, target->namespace, writing->secret, template,
		is_new ? NULL : &owner, arena, &secret, err);

	if (code == 0 && !is_new)
		code = kube_patch(runtime->client, target, KUBE_PATCH_JSON,
			kubernetes_group_replacement(arena, document, writing->uid), &options,
			arena, &answer, err);
	else if (code == 0)
		code = kube_apply(runtime->client, target, document, true, &options, arena, &answer,
			err);
	if (code == -ENOENT || strcmp(failure.cause, "NamespaceTerminating") == 0) {
		kubernetes_namespace_doubt(runtime, target->namespace);
		return err_set(err, -EAGAIN, "namespace '%.*s' is gone or going",
			SPAN_ARGS(target->namespace));
	}
	if (code == 0)
		code = kubernetes_take_workload(runtime, writing->group->daemon, answer, err);
	if (code < 0 || !template->secrets)
		return code;
	owner.uid = json_get_text(json_get(answer, "metadata"), "uid");
	if (span_equal(owner.uid, writing->uid))
		return 0;
	return kubernetes_secret_own(runtime, target->namespace, writing->secret, secret, &owner,
		arena, err);
}

/* New groups, which are rare, check that the namespace is still ours. */
static int ensure_namespace(struct kubernetes_runtime *runtime, struct span cluster_arn, bool pass,
	struct arena *arena, struct span *ret_name, struct err *err)
{
	int code = kubernetes_namespace_name(arena, cluster_arn, ret_name, err);

	if (code < 0)
		return code;
	if (pass)
		kubernetes_namespace_doubt(runtime, *ret_name);
	return kubernetes_namespace_ensure(runtime, cluster_arn, arena, ret_name, err);
}

static int apply(struct kubernetes_runtime *runtime, const struct runtime_group *group,
	struct arena *arena, struct err *err)
{
	_kube_object_ const struct kube_object *known =
		kubernetes_find_workload(runtime, group->id);
	struct kubernetes_template_request request = {.spec = group->spec,
		.instance = SPAN(""),
		.token = SPAN(""),
		.group = group->id,
		.version = group->version,
		.daemon = group->daemon};
	struct writing writing = {.target = {.kind = kubernetes_workload_kind(group->daemon)},
		.group = group,
		.uid = SPAN(""),
		.before = SPAN("")};
	int code;

	if (known && workload_of(known)->ending)
		return err_set(err, -EAGAIN, "its predecessor is still being deleted");
	if (known && workload_of(known)->daemon == group->daemon &&
		span_equal(workload_of(known)->version, group->version))
		return change_numbers(runtime, known, group, arena, err);
	if (known && group->daemon)
		writing.nodes = workload_of(known)->desired;
	writing.target.name =
		kubernetes_group_name(arena, group->id, json_get_text(group->spec, "group"));
	writing.secret = kubernetes_secret_name(arena, writing.target.name, group->version);
	request.secret = writing.secret;
	code = kubernetes_template_make(&runtime->template, &request, arena, &writing.template,
		err);
	if (code == 0)
		code = ensure_namespace(runtime, json_get_text(group->spec, "clusterArn"), !known,
			arena, &writing.target.namespace, err);
	if (code == 0)
		code = check_place(runtime, &writing, arena, err);
	if (code == 0)
		code = settle_secrets(runtime, &writing, arena, err);
	return code < 0 ? code : write_all(runtime, &writing, arena, err);
}

static int kubernetes_group_apply(struct runtime *base, const struct runtime_group *group,
	struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_arena_ struct arena *arena = arena_new(0);
	int code;

	if (group->id.length == 0 || group->id.length > RUNTIME_GROUP_MAX)
		return err_set(err, -EINVAL, "'%.*s' is no id of a group", SPAN_ARGS(group->id));
	code = kubernetes_check_synced(runtime, err);
	return code < 0 ? code : apply(runtime, group, arena, err);
}

/* ---- removing ---- */

static int kubernetes_group_remove(struct runtime *base, struct span id, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_kube_object_ const struct kube_object *known = NULL;
	/* In the background, so that its name is free at once; its tasks end by themselves. */
	struct kube_deletion deletion = {.propagation = KUBE_PROPAGATION_BACKGROUND};
	struct kubernetes_secrets secrets = {.group = id};
	struct kube_target target;
	int code = kubernetes_check_synced(runtime, err);

	if (code < 0)
		return code;
	known = kubernetes_find_workload(runtime, id);
	if (!known)
		return err_set(err, -ENOENT, "there is no group '%.*s'", SPAN_ARGS(id));
	if (workload_of(known)->ending)
		return 0;
	target = target_of(known);
	deletion.uid = known->uid;
	/* They are deleted with it, unless its creation was interrupted before they got their
	 * owner. */
	secrets.namespace = known->namespace;
	secrets.owner = known->name;
	secrets.names = workload_of(known)->secrets;
	code = kubernetes_secrets_remove(runtime, &secrets, err);
	if (code == 0)
		code = kube_delete(runtime->client, &target, &deletion, NULL, err);
	if (code == 0 || code == -ENOENT)
		kubernetes_fresh_drop(&runtime->groups, id);
	return code;
}

/* ---- reporting ---- */

struct inspection {
	struct kubernetes_runtime *runtime;
	struct arena *arena;
	const struct kube_object **events;
	size_t event_count;
};

static void add_events(struct inspection *inspection, struct span uid)
{
	struct kube_object_list found = {0};

	kube_informer_find(kubernetes_informer(inspection->runtime, KUBERNETES_EVENTS), "object",
		uid, inspection->arena, &found);
	for (size_t i = 0; i < found.count; i++)
		if (inspection->event_count < EVENTS_MAX)
			inspection->events[inspection->event_count++] = found.objects[i];
		else
			kube_object_release(found.objects[i]);
}

static struct span copy(struct arena *arena, struct span text)
{
	return text.length > 0 ? arena_copy_span(arena, text) : SPAN("");
}

/* The report points into objects that are about to be released. */
static void keep_texts(struct runtime_group_state *state, struct arena *arena)
{
	state->id = copy(arena, state->id);
	state->version = copy(arena, state->version);
	state->reason = copy(arena, state->reason);
	for (size_t i = 0; i < state->version_count; i++)
		state->versions[i].version = copy(arena, state->versions[i].version);
	for (size_t i = 0; i < state->event_count; i++) {
		state->events[i].id = copy(arena, state->events[i].id);
		state->events[i].text = copy(arena, state->events[i].text);
	}
}

static struct runtime_group_state *report(struct inspection *inspection,
	const struct kube_object *known)
{
	_kube_object_list_ struct kube_object_list sets = {0}, pods = {0};
	struct kubernetes_runtime *runtime = inspection->runtime;
	struct span id = workload_of(known)->group;
	struct kubernetes_group_objects parts = {.workload = known->data};
	struct runtime_group_state *state;

	kube_informer_find(kubernetes_informer(runtime, KUBERNETES_REPLICA_SETS), "group", id,
		inspection->arena, &sets);
	kube_informer_find(kubernetes_informer(runtime, KUBERNETES_PODS), "group", id,
		inspection->arena, &pods);
	add_events(inspection, known->uid);
	for (size_t i = 0; i < sets.count; i++)
		add_events(inspection, sets.objects[i]->uid);
	for (size_t i = 0; i < pods.count; i++)
		add_events(inspection, pods.objects[i]->uid);
	parts.replica_sets = sets.objects;
	parts.replica_set_count = sets.count;
	parts.pods = pods.objects;
	parts.pod_count = pods.count;
	parts.events = inspection->events;
	parts.event_count = inspection->event_count;
	state = kubernetes_group_report(&parts, inspection->arena);
	keep_texts(state, inspection->arena);
	for (size_t i = 0; i < inspection->event_count; i++)
		kube_object_release(inspection->events[i]);
	return state;
}

static int kubernetes_group_get(struct runtime *base, struct span id, struct arena *arena,
	struct runtime_group_state **ret_group, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_kube_object_ const struct kube_object *known = NULL;
	struct inspection inspection = {.runtime = runtime, .arena = arena};
	int code = kubernetes_check_synced(runtime, err);

	if (code < 0)
		return code;
	known = kubernetes_find_workload(runtime, id);
	if (!known)
		return err_set(err, -ENOENT, "there is no group '%.*s'", SPAN_ARGS(id));
	inspection.events = arena_allocate_array(arena, EVENTS_MAX, sizeof(*inspection.events));
	*ret_group = report(&inspection, known);
	return 0;
}

static void add_ids(struct arena *arena, const struct kube_object *const *objects, size_t count,
	struct map *seen, struct span *ids, size_t *position)
{
	for (size_t i = 0; i < count; i++) {
		struct span id = workload_of(objects[i])->group;

		if (map_has(seen, id))
			continue;
		ids[*position] = arena_copy_span(arena, id);
		map_put(seen, id, seen);
		(*position)++;
	}
}

static int kubernetes_group_list(struct runtime *base, struct arena *arena, struct span **ret_ids,
	size_t *ret_count, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_kube_object_list_ struct kube_object_list deployments = {0}, daemons = {0}, fresh = {0};
	_map_ struct map seen = {0};
	struct span *ids;
	size_t position = 0;
	int code = kubernetes_check_synced(runtime, err);

	if (code < 0)
		return code;
	kube_informer_all(kubernetes_informer(runtime, KUBERNETES_DEPLOYMENTS), arena,
		&deployments);
	kube_informer_all(kubernetes_informer(runtime, KUBERNETES_DAEMON_SETS), arena, &daemons);
	kubernetes_fresh_all(&runtime->groups, arena, &fresh.objects, &fresh.count);
	ids = arena_allocate_array(arena, deployments.count + daemons.count + fresh.count,
		sizeof(*ids));
	add_ids(arena, deployments.objects, deployments.count, &seen, ids, &position);
	add_ids(arena, daemons.objects, daemons.count, &seen, ids, &position);
	add_ids(arena, fresh.objects, fresh.count, &seen, ids, &position);
	*ret_ids = ids;
	*ret_count = position;
	return 0;
}

/* ---- closing instances ---- */

static struct json *cordon_patch(struct kubernetes_runtime *runtime, bool closed,
	const struct json *node, struct arena *arena)
{
	struct json *patch = json_new_object(arena), *spec = json_new_object(arena);
	struct json *metadata = json_new_object(arena), *annotations = json_new_object(arena);

	json_set_bool(arena, spec, "unschedulable", closed);
	json_set(arena, annotations, KUBERNETES_CORDONED,
		closed ? json_new_string(arena, runtime->config.host) : json_new_null(arena));
	json_set_string(arena, metadata, "resourceVersion",
		json_get_text(json_get(node, "metadata"), "resourceVersion"));
	json_set(arena, metadata, "annotations", annotations);
	json_set(arena, patch, "metadata", metadata);
	json_set(arena, patch, "spec", spec);
	return patch;
}

/* Reads from the API server and not from the informer: two requests may follow each other faster
 * than the informer shows the first one. */
static int kubernetes_cordon(struct runtime *base, struct span instance, bool closed,
	struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	struct kube_target target = {.kind = &kube_nodes, .name = instance};
	_arena_ struct arena *arena = arena_new(0);
	struct json *node;
	bool is_closed;
	int code = kube_get(runtime->client, &target, NULL, arena, &node, err);

	if (code < 0)
		return code;
	is_closed = json_get_bool(json_get(node, "spec"), "unschedulable", false);
	if (is_closed == closed)
		return 0;
	/* A node that another client cordoned stays cordoned. */
	if (!closed && !span_equal(json_get_text(json_path(node, "metadata.annotations"),
					   KUBERNETES_CORDONED),
			       runtime->config.host))
		return 0;
	return kube_patch(runtime->client, &target, KUBE_PATCH_MERGE,
		cordon_patch(runtime, closed, node, arena), NULL, arena, &node, err);
}

/* ---- removing daemons from nodes ---- */

/* Also reads from the API server. The controller of DaemonSets deletes and creates the pods. */
static int kubernetes_dismiss(struct runtime *base, struct span cluster_arn, struct span instance,
	bool away, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	struct kube_target target = {.kind = &kube_nodes, .name = instance};
	_arena_ struct arena *arena = arena_new(0);
	struct json *patch = json_new_object(arena), *metadata = json_new_object(arena);
	struct json *labels = json_new_object(arena), *node;
	struct span namespace;
	const char *label;
	bool is_away;
	int code = kubernetes_namespace_name(arena, cluster_arn, &namespace, err);

	if (code == 0)
		code = kube_get(runtime->client, &target, NULL, arena, &node, err);
	if (code < 0)
		return code;
	label = kubernetes_drained_label(arena, namespace).data;
	is_away = !json_is_absent(json_get(json_path(node, "metadata.labels"), label));
	if (is_away == away)
		return 0;
	json_set(arena, labels, label,
		away ? json_new_string(arena, SPAN("true")) : json_new_null(arena));
	json_set(arena, metadata, "labels", labels);
	json_set(arena, patch, "metadata", metadata);
	return kube_patch(runtime->client, &target, KUBE_PATCH_MERGE, patch, NULL, arena, &node,
		err);
}

const struct runtime_group_operations kubernetes_group_operations = {
	.apply = kubernetes_group_apply,
	.remove = kubernetes_group_remove,
	.get = kubernetes_group_get,
	.list = kubernetes_group_list,
	.open_gate = kubernetes_open_gate,
	.publish = kubernetes_publish,
	.cordon = kubernetes_cordon,
	.dismiss = kubernetes_dismiss,
};
