/* Starting, stopping and acknowledging tasks; see runtime.h for the rules of each. */
#include "base/memory.h"
#include "runtime/kubernetes/admission.h"
#include "runtime/kubernetes/internal.h"
#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/objects.h"
#include "runtime/kubernetes/pod_task.h"

static struct kube_target target_of(const struct kube_object *pod)
{
	return (struct kube_target){
		.kind = &kube_pods, .namespace = pod->namespace, .name = pod->name};
}

static const struct kubernetes_pod *pod_of(const struct kube_object *object)
{
	return object->data;
}

/* {"metadata":{"uid":…}}: a patch with it fails if the name belongs to another object now. */
static struct json *patch_of(struct arena *arena, const struct kube_object *pod,
	struct json **ret_metadata)
{
	struct json *patch = json_new_object(arena), *metadata = json_new_object(arena);

	json_set_string(arena, metadata, "uid", pod->uid);
	json_set(arena, patch, "metadata", metadata);
	*ret_metadata = metadata;
	return patch;
}

/* ---- starting ---- */

/* A pod with that name exists: is it this task, from a start without a response? */
static int inspect_other(struct kubernetes_runtime *runtime, const struct kube_target *target,
	struct span token, struct arena *arena, struct json **ret_pod, struct err *err)
{
	int code = kube_get(runtime->client, target, NULL, arena, ret_pod, err);

	if (code == -ENOENT)
		return err_set(err, -EAGAIN, "pod '%.*s' vanished just now",
			SPAN_ARGS(target->name));
	if (code < 0)
		return code;
	if (kubernetes_claim(*ret_pod, runtime->config.host) != KUBERNETES_OURS ||
		!span_equal(json_get_text(json_path(*ret_pod, "metadata.annotations"),
				    KUBERNETES_TASK),
			token))
		return err_set(err, -EEXIST, "a pod '%.*s' that is not slipway's is in the way",
			SPAN_ARGS(target->name));
	return 0;
}

static int create_pod(struct kubernetes_runtime *runtime, const struct kube_target *target,
	struct json *document, struct span token, struct kube_failure *ret_failure,
	struct arena *arena, struct json **ret_pod, struct err *err)
{
	struct kube_options options = {.failure = ret_failure};
	struct err refusal;
	int code =
		kube_create(runtime->client, target, document, &options, arena, ret_pod, &refusal);

	if (code == -EEXIST)
		return inspect_other(runtime, target, token, arena, ret_pod, err);
	if (code == 0)
		return 0;
	if (kubernetes_admission_refuses(ret_failure, refusal.message))
		code = -EINVAL;
	return err_set(err, code, "%s", refusal.message);
}

static int make_pod(struct kubernetes_runtime *runtime, const struct kube_target *target,
	const struct kubernetes_template *template, struct span token, struct arena *arena,
	struct err *err)
{
	struct kube_failure failure = {0};
	struct kubernetes_owner owner = {.api_version = "v1", .kind = "Pod", .name = target->name};
	struct json *pod;
	struct span secret;
	int code = kubernetes_secret_write(runtime, target->namespace, target->name, template, NULL,
		arena, &secret, err);

	if (code == -EEXIST)
		return code;
	if (code == 0)
		code = create_pod(runtime, target,
			kubernetes_pod_document(arena, target->namespace, target->name, template),
			token, &failure, arena, &pod, err);
	if (code == -ENOENT || strcmp(failure.cause, "NamespaceTerminating") == 0) {
		kubernetes_namespace_doubt(runtime, target->namespace);
		return err_set(err, -EAGAIN, "namespace '%.*s' is gone or going",
			SPAN_ARGS(target->namespace));
	}
	if (code < 0)
		return code;
	code = kubernetes_take_pod(runtime, pod, err);
	if (code < 0)
		return code;
	owner.uid = json_get_text(json_get(pod, "metadata"), "uid");
	return kubernetes_secret_own(runtime, target->namespace, target->name, secret, &owner,
		arena, err);
}

int kubernetes_start(struct runtime *base, struct span token, struct span instance,
	const struct json *spec, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *known = NULL;
	struct kubernetes_template_request request = {.spec = spec,
		.instance = instance,
		.token = token,
		.group = SPAN(""),
		.version = SPAN("")};
	struct kube_target target = {.kind = &kube_pods};
	struct kubernetes_template template;
	int code;

	if (token.length == 0 || token.length > RUNTIME_TOKEN_MAX)
		return err_set(err, -EINVAL, "'%.*s' is no token", SPAN_ARGS(token));
	code = kubernetes_check_synced(runtime, err);
	if (code < 0)
		return code;
	known = kubernetes_find_pod(runtime, token);
	if (known)
		return 0;
	target.name = kubernetes_pod_name(arena, token, json_get_text(spec, "family"));
	request.secret = target.name;
	request.bind = kubernetes_may_bind(runtime, instance);
	code = kubernetes_template_make(&runtime->template, &request, arena, &template, err);
	if (code == 0)
		code = kubernetes_namespace_ensure(runtime, json_get_text(spec, "clusterArn"),
			arena, &target.namespace, err);
	return code < 0 ? code : make_pod(runtime, &target, &template, token, arena, err);
}

/* ---- stopping ---- */

int kubernetes_end_pod(struct kubernetes_runtime *runtime, const struct kube_object *pod,
	enum runtime_stop stop, struct span reason, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kube_target target = target_of(pod);
	struct kube_deletion deletion = {.uid = pod->uid};
	struct json *metadata, *annotations = json_new_object(arena), *answer;
	struct json *patch = patch_of(arena, pod, &metadata);
	int code = 0;

	/* A deleted pod may no longer show the reason of its end, so write it first. */
	if (!pod_of(pod)->has_end) {
		json_set_string(arena, annotations, KUBERNETES_END,
			json_to_text(kubernetes_end_write(arena, stop, reason), arena));
		json_set(arena, metadata, "annotations", annotations);
		code = kube_patch(runtime->client, &target, KUBE_PATCH_MERGE, patch, NULL, arena,
			&answer, err);
		if (code == 0)
			code = kubernetes_take_pod(runtime, answer, err);
	}
	if (code == 0 && pod_of(pod)->ending_ms == 0)
		code = kube_delete(runtime->client, &target, &deletion, NULL, err);
	/* Deleted, or replaced by another pod of its name: either way this one is gone. */
	return code == -ENOENT ? 0 : code;
}

int kubernetes_remind_node(struct kubernetes_runtime *runtime, const struct kube_object *pod,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kube_target target = target_of(pod);
	struct json *metadata, *annotations = json_new_object(arena), *answer;
	struct json *patch = patch_of(arena, pod, &metadata);
	int code;

	json_set_string(arena, annotations, KUBERNETES_REMINDED,
		arena_format(arena, "%lld", (long long)runner_wall_ms(runtime->runner)));
	json_set(arena, metadata, "annotations", annotations);
	code = kube_patch(runtime->client, &target, KUBE_PATCH_MERGE, patch, NULL, arena, &answer,
		err);
	if (code == 0)
		code = kubernetes_take_pod(runtime, answer, err);
	return code == -ENOENT ? 0 : code;
}

int kubernetes_stop(struct runtime *base, struct span token, struct span reason, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_kube_object_ const struct kube_object *pod = NULL;
	int code = kubernetes_check_synced(runtime, err);

	if (code < 0)
		return code;
	pod = kubernetes_find_pod(runtime, token);
	if (!pod)
		return err_set(err, -ENOENT, "there is no task '%.*s'", SPAN_ARGS(token));
	if (pod_of(pod)->ending_ms == 0)
		return kubernetes_end_pod(runtime, pod, RUNTIME_STOP_REQUESTED, reason, err);
	if (pod_of(pod)->hold > 0)
		kubernetes_chore_add(runtime, KUBERNETES_CHORE_RELEASE, token);
	return 0;
}

/* ---- acknowledging ---- */

static int release(struct kubernetes_runtime *runtime, const struct kube_object *pod,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kube_target target = target_of(pod);
	struct json *metadata, *annotations = json_new_object(arena), *answer;
	struct json *patch = patch_of(arena, pod, &metadata), *finalizers = json_new_array(arena);
	int code;

	json_set_string(arena, annotations, KUBERNETES_ACKNOWLEDGED, SPAN("true"));
	json_set(arena, metadata, "annotations", annotations);
	json_append(arena, finalizers, json_new_string(arena, SPAN(KUBERNETES_FINALIZER)));
	json_set(arena, metadata, "$deleteFromPrimitiveList/finalizers", finalizers);
	code = kube_patch(runtime->client, &target, KUBE_PATCH_STRATEGIC, patch, NULL, arena,
		&answer, err);
	return code < 0 ? code : kubernetes_take_pod(runtime, answer, err);
}

int kubernetes_acknowledge(struct runtime *base, struct span token, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_kube_object_ const struct kube_object *pod = NULL;
	struct kube_deletion deletion = {0};
	struct kube_target target;
	int code = kubernetes_check_synced(runtime, err);

	if (code < 0)
		return code;
	pod = kubernetes_find_pod(runtime, token);
	if (!pod)
		return err_set(err, -ENOENT, "there is no task '%.*s'", SPAN_ARGS(token));
	target = target_of(pod);
	deletion.uid = pod->uid;
	/* It is deleted with its pod, unless a start was interrupted before it got an owner. */
	if (pod_of(pod)->has_secret)
		code = kubernetes_secret_remove(runtime, pod->namespace, pod->name, err);
	/* In a namespace that is being deleted our rights may be gone before the pod. */
	if (code == -EACCES && pod_of(pod)->ending_ms != 0)
		code = 0;
	/* Deleted first: a pod that was released and not deleted would have no owner. */
	if (code == 0 && pod_of(pod)->ending_ms == 0)
		code = kube_delete(runtime->client, &target, &deletion, NULL, err);
	if (code == 0)
		code = release(runtime, pod, err);
	if (code == -ENOENT)
		kubernetes_fresh_drop(&runtime->pods, token);
	return code == -ENOENT ? 0 : code;
}

/* ---- gates ---- */

int kubernetes_open_gate(struct runtime *base, struct span token, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *pod = NULL;
	struct json *patch = json_new_object(arena), *status = json_new_object(arena);
	struct json *condition = json_new_object(arena), *conditions = json_new_array(arena),
		    *answer;
	char now[CLOCK_ISO_SIZE];
	struct kube_target target;
	int code = kubernetes_check_synced(runtime, err);

	if (code < 0)
		return code;
	pod = kubernetes_find_pod(runtime, token);
	if (!pod)
		return err_set(err, -ENOENT, "there is no task '%.*s'", SPAN_ARGS(token));
	if (!pod_of(pod)->gated || pod_of(pod)->gate_open)
		return 0;
	target = target_of(pod);
	target.subresource = "status";
	clock_format_iso(runner_wall_ms(runtime->runner), now);
	json_set_string(arena, condition, "type", SPAN(KUBERNETES_GATE));
	json_set_string(arena, condition, "status", SPAN("True"));
	json_set_string(arena, condition, "lastTransitionTime", span_of(now));
	json_append(arena, conditions, condition);
	json_set(arena, status, "conditions", conditions);
	json_set(arena, patch, "status", status);
	code = kube_patch(runtime->client, &target, KUBE_PATCH_STRATEGIC, patch, NULL, arena,
		&answer, err);
	return code < 0 ? code : kubernetes_take_pod(runtime, answer, err);
}
