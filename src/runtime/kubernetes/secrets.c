/*
 * Secrets that pods refer to. A Secret is owned by its pod, or by its group's Deployment or
 * DaemonSet, and is deleted with it. It is created first, because a node that does not find it
 * waits long before it retries; so for a moment it has no owner. The Secret of an incomplete start
 * is deleted later, or gets its owner if that exists after all, if slipway may list secrets.
 * Nothing else here reads one: in a cluster slipway runs without that right, so a group has the
 * names of its versions' Secrets in an annotation.
 */
#include "base/memory.h"
#include "runtime/kubernetes/internal.h"
#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/objects.h"

static int read_once(struct kubernetes_runtime *runtime, const struct kube_target *target,
	struct arena *arena, struct json **ret_found, struct err *err)
{
	struct kube_options options = {.dry_run = true};

	return kube_patch(runtime->client, target, KUBE_PATCH_MERGE, json_new_object(arena),
		&options, arena, ret_found, err);
}

/* Checks that a Secret with the name is ours. -EEXIST: it is not. Slipway may have no right to read
 * it, so it sends a dry-run patch without changes; twice if necessary, because that is harmless and
 * all else waits for it. */
static int pass(struct kubernetes_runtime *runtime, const struct kube_target *target,
	struct arena *arena, struct json **ret_found, struct err *err)
{
	struct json *found;
	int code = read_once(runtime, target, arena, &found, err);

	if (code < 0 && code != -ENOENT && code != -EACCES && code != -ECANCELED)
		code = read_once(runtime, target, arena, &found, err);
	if (code < 0)
		return code;
	if (kubernetes_claim(found, runtime->config.host) != KUBERNETES_OURS)
		return err_set(err, -EEXIST, "a Secret '%.*s' that is not slipway's is in the way",
			SPAN_ARGS(target->name));
	*ret_found = found;
	return 0;
}

static struct span uid_of(const struct json *secret)
{
	return json_get_text(json_get(secret, "metadata"), "uid");
}

/* A Secret of an incomplete start exists already. It is written only if its content differs, and if
 * it is still the one that was checked. */
static int write_again(struct kubernetes_runtime *runtime, const struct kube_target *target,
	const struct json *document, struct arena *arena, struct json **ret_secret, struct err *err)
{
	struct json *changed = json_copy_object(arena, document);
	struct json *metadata = json_copy_object(arena, json_get(document, "metadata"));
	struct json *found;
	int code = pass(runtime, target, arena, &found, err);

	if (code < 0)
		return code;
	if (json_equal(json_get(found, "data"), json_get(document, "data"))) {
		*ret_secret = found;
		return 0;
	}
	json_set_string(arena, metadata, "uid", uid_of(found));
	json_set(arena, changed, "metadata", metadata);
	return kube_apply(runtime->client, target, changed, true, NULL, arena, ret_secret, err);
}

int kubernetes_secret_write(struct kubernetes_runtime *runtime, struct span namespace,
	struct span name, const struct kubernetes_template *template,
	const struct kubernetes_owner *owner, struct arena *arena, struct span *ret_uid,
	struct err *err)
{
	struct kube_target target = {.kind = &kube_secrets, .namespace = namespace, .name = name};
	struct json *document, *secret;
	int code;

	if (!template->secrets) {
		*ret_uid = SPAN("");
		return 0;
	}
	document = kubernetes_secret_document(arena, namespace, name, template, owner);
	code = kube_create(runtime->client, &target, document, NULL, arena, &secret, err);
	if (code == -EEXIST) {
		code = write_again(runtime, &target, document, arena, &secret, err);
		if (code == -EEXIST)
			return code;
	}
	if (code < 0)
		return err_prefix(err, code, "secret '%.*s'", SPAN_ARGS(name));
	*ret_uid = uid_of(secret);
	return 0;
}

int kubernetes_secret_own(struct kubernetes_runtime *runtime, struct span namespace,
	struct span name, struct span uid, const struct kubernetes_owner *owner,
	struct arena *arena, struct err *err)
{
	struct kube_target target = {.kind = &kube_secrets, .namespace = namespace, .name = name};
	struct json *answer;
	int code;

	if (uid.length == 0)
		return 0;
	code = kube_patch(runtime->client, &target, KUBE_PATCH_MERGE,
		kubernetes_owner_patch(arena, owner, uid), NULL, arena, &answer, err);
	return code < 0 ? err_prefix(err, code, "secret '%.*s'", SPAN_ARGS(name)) : 0;
}

int kubernetes_secret_remove(struct kubernetes_runtime *runtime, struct span namespace,
	struct span name, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kube_target target = {.kind = &kube_secrets, .namespace = namespace, .name = name};
	struct json *found;
	int code = pass(runtime, &target, arena, &found, err);

	if (code == 0) {
		struct kube_deletion deletion = {.uid = uid_of(found)};

		code = kube_delete(runtime->client, &target, &deletion, NULL, err);
	}
	return code == -ENOENT || code == -EEXIST ? 0 : code;
}

/* ---- versions of groups ---- */

static bool is_of(struct arena *arena, const struct kubernetes_secrets *secrets,
	struct span version, struct span name)
{
	return span_equal(kubernetes_secret_name(arena, secrets->owner, version), name);
}

static bool is_used(struct kubernetes_runtime *runtime, const struct kubernetes_secrets *secrets,
	struct span name, struct arena *arena)
{
	_kube_object_list_ struct kube_object_list pods = {0}, sets = {0};

	kube_informer_find(kubernetes_informer(runtime, KUBERNETES_PODS), "group", secrets->group,
		arena, &pods);
	for (size_t i = 0; i < pods.count; i++) {
		const struct kubernetes_pod *pod = pods.objects[i]->data;

		if (is_of(arena, secrets, pod->version, name))
			return true;
	}
	kube_informer_find(kubernetes_informer(runtime, KUBERNETES_REPLICA_SETS), "group",
		secrets->group, arena, &sets);
	for (size_t i = 0; i < sets.count; i++) {
		const struct kubernetes_replica_set *set = sets.objects[i]->data;

		if ((set->desired > 0 || set->current > 0) &&
			is_of(arena, secrets, set->version, name))
			return true;
	}
	return false;
}

int kubernetes_secrets_prune(struct kubernetes_runtime *runtime,
	const struct kubernetes_secrets *secrets, const struct span wanted[2], struct arena *arena,
	struct span *ret_names, struct err *err)
{
	_buffer_ struct buffer left = {0};
	struct span rest = secrets->names, name;

	while (span_next_part(&rest, ' ', &name)) {
		bool stays = span_equal(name, wanted[0]) || span_equal(name, wanted[1]) ||
			     is_used(runtime, secrets, name, arena);

		if (!stays) {
			int code = kubernetes_secret_remove(runtime, secrets->namespace, name, err);

			/* A missing right to delete is no reason to keep the old version
			 * running. */
			stays = code == -EACCES;
			if (code < 0 && !stays)
				return code;
		}
		if (stays)
			buffer_format(&left, "%s%.*s", left.length > 0 ? " " : "", SPAN_ARGS(name));
	}
	if (secrets->names.data)
		*ret_names =
			left.length > 0 ? arena_copy_span(arena, buffer_span(&left)) : SPAN("");
	else
		*ret_names = SPAN_NONE;
	return 0;
}

int kubernetes_secrets_remove(struct kubernetes_runtime *runtime,
	const struct kubernetes_secrets *secrets, struct err *err)
{
	struct span rest = secrets->names, name;
	int code = 0;

	while (code == 0 && span_next_part(&rest, ' ', &name))
		code = kubernetes_secret_remove(runtime, secrets->namespace, name, err);
	return code;
}

/* ---- left behind ---- */

/* The pod, Deployment or DaemonSet that uses it; NULL: there is none. */
static const struct kube_object *find_owner(struct kubernetes_runtime *runtime,
	const struct json *annotations, struct kubernetes_owner *ret_owner)
{
	struct span task = json_get_text(annotations, KUBERNETES_TASK);
	struct span group = json_get_text(annotations, KUBERNETES_GROUP);
	const struct kube_object *found = NULL;

	if (task.length > 0) {
		found = kubernetes_find_pod(runtime, task);
		*ret_owner = (struct kubernetes_owner){.api_version = "v1", .kind = "Pod"};
	} else if (group.length > 0) {
		found = kubernetes_find_workload(runtime, group);
		*ret_owner = (struct kubernetes_owner){.api_version = "apps/v1"};
	}
	if (found && !ret_owner->kind)
		ret_owner->kind =
			kubernetes_workload_kind(((const struct kubernetes_workload *)found->data)
							 ->daemon)
				->kind;
	if (found) {
		ret_owner->name = found->name;
		ret_owner->uid = found->uid;
	}
	return found;
}

/* Its creation was interrupted, or its owner was not set. */
static int settle_secret(struct kubernetes_runtime *runtime, const struct json *secret,
	struct arena *arena, struct err *err)
{
	const struct json *metadata = json_get(secret, "metadata");
	struct kubernetes_owner owner = {0};
	_kube_object_ const struct kube_object *user =
		find_owner(runtime, json_get(metadata, "annotations"), &owner);
	struct kube_target target = {.kind = &kube_secrets,
		.namespace = json_get_text(metadata, "namespace"),
		.name = json_get_text(metadata, "name")};
	struct kube_deletion deletion = {.uid = json_get_text(metadata, "uid")};
	struct json *answer;
	int code = user ? kube_patch(runtime->client, &target, KUBE_PATCH_MERGE,
				  kubernetes_owner_patch(arena, &owner, deletion.uid), NULL, arena,
				  &answer, err)
			: kube_delete(runtime->client, &target, &deletion, NULL, err);

	return code == -ENOENT || code == -EAGAIN ? 0 : code;
}

int kubernetes_secrets_sweep(struct kubernetes_runtime *runtime, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kube_target target = {.kind = &kube_secrets};
	struct kube_selection selection = {
		.labels = kubernetes_selector(arena, runtime->config.host).data};
	int64_t before_ms = runner_wall_ms(runtime->runner) - KUBERNETES_SECRET_AGE_MS;
	struct json *secrets;
	int code =
		kube_list(runtime->client, &target, &selection, NULL, arena, &secrets, NULL, err);

	if (code < 0)
		return code == -EACCES ? 0 : code;
	JSON_EACH_ITEM (secrets, secret) {
		const struct json *metadata = json_get(secret, "metadata");

		if (kubernetes_claim(secret, runtime->config.host) != KUBERNETES_OURS ||
			json_count(json_get(metadata, "ownerReferences")) > 0 ||
			kube_time_ms(json_get(metadata, "creationTimestamp")) > before_ms)
			continue;
		code = settle_secret(runtime, secret, arena, err);
		if (code < 0)
			return code;
	}
	return 0;
}
