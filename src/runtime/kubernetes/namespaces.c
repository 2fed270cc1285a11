/*
 * Each cluster has a namespace of its own. It is created when it is first needed, or may exist
 * already: to set quotas and rights beforehand, create it with the label that slipway manages it,
 * and slipway uses it. A namespace without that label, or of another slipway, is rejected. It is
 * never deleted, because other users may have objects in it.
 *
 * Where slipway runs as a service account with the rights of deploy/kubernetes, its rights in a
 * namespace come from a role, which it binds to itself there; without the right to do that, the
 * operator binds it.
 */
#include <stdio.h>

#include "base/memory.h"
#include "runtime/kubernetes/internal.h"
#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/objects.h"

#define NAMESPACES_MAX 10000       /* known at once */
#define TRUST_US INT64_C(10000000) /* then they are checked again */
#define TASKS_ROLE "slipway-tasks"

static bool is_known(struct kubernetes_runtime *runtime, struct span name)
{
	int64_t now_us = runner_now_us(runtime->runner);
	bool known;

	lock_take(&runtime->lock);
	if (now_us - runtime->namespaces_us > TRUST_US) {
		map_clear(&runtime->namespaces);
		runtime->namespaces_us = now_us;
	}
	known = map_has(&runtime->namespaces, name);
	lock_release(&runtime->lock);
	return known;
}

static void remember(struct kubernetes_runtime *runtime, struct span name)
{
	lock_take(&runtime->lock);
	if (runtime->namespaces.count >= NAMESPACES_MAX)
		map_clear(&runtime->namespaces);
	map_put(&runtime->namespaces, name, runtime);
	lock_release(&runtime->lock);
}

void kubernetes_namespace_doubt(struct kubernetes_runtime *runtime, struct span name)
{
	lock_take(&runtime->lock);
	map_remove(&runtime->namespaces, name);
	lock_release(&runtime->lock);
}

static struct kube_target target_of(struct span name)
{
	return (struct kube_target){.kind = &kube_namespaces, .name = name};
}

/* ---- rights ---- */

static const struct kube_kind role_bindings = {
	"rbac.authorization.k8s.io", "RoleBinding", "rolebindings", true, {"v1"}};

static struct json *binding_document(struct span account, struct span host, struct arena *arena)
{
	struct json *document = json_new_object(arena), *metadata = json_new_object(arena);
	struct json *role = json_new_object(arena), *subject = json_new_object(arena);
	struct json *subjects = json_new_array(arena);
	struct span namespace, name;

	/* system:serviceaccount:NAMESPACE:NAME */
	account = (struct span){account.data + strlen(KUBERNETES_ACCOUNT_PREFIX),
		account.length - strlen(KUBERNETES_ACCOUNT_PREFIX)};
	if (!span_split(account, ':', &namespace, &name))
		return NULL;
	json_set_string(arena, metadata, "name", SPAN(TASKS_ROLE));
	json_set(arena, metadata, "labels", kubernetes_labels(arena, host));
	json_set_string(arena, role, "apiGroup", SPAN("rbac.authorization.k8s.io"));
	json_set_string(arena, role, "kind", SPAN("ClusterRole"));
	json_set_string(arena, role, "name", SPAN(TASKS_ROLE));
	json_set_string(arena, subject, "kind", SPAN("ServiceAccount"));
	json_set_string(arena, subject, "namespace", namespace);
	json_set_string(arena, subject, "name", name);
	json_append(arena, subjects, subject);
	json_set(arena, document, "metadata", metadata);
	json_set(arena, document, "roleRef", role);
	json_set(arena, document, "subjects", subjects);
	return document;
}

static int bind_role(struct kubernetes_runtime *runtime, struct span namespace, struct arena *arena,
	struct err *err)
{
	struct kube_target target = {.kind = &role_bindings, .namespace = namespace};
	struct json *document, *answer;
	int code;

	if (runtime->account.length == 0)
		return 0;
	document = binding_document(runtime->account, runtime->config.host, arena);
	if (!document)
		return 0;
	code = kube_create(runtime->client, &target, document, NULL, arena, &answer, err);
	/* It exists already; or slipway has no right to create it, or there is no such role:
	 * missing rights are reported when they are needed. */
	return code == -EEXIST || code == -EACCES || code == -ENOENT ? 0 : code;
}

/* ---- existence ---- */

/* Writes our host's name into a namespace that was created for us. */
static int take_over(struct kubernetes_runtime *runtime, const struct json *found, struct span name,
	struct span cluster_arn, struct arena *arena, struct err *err)
{
	struct kube_target target = target_of(name);
	struct json *patch = json_new_object(arena), *metadata = json_new_object(arena);
	struct json *annotations = json_new_object(arena), *answer;

	json_set_string(arena, annotations, KUBERNETES_HOST, runtime->config.host);
	json_set_string(arena, annotations, KUBERNETES_CLUSTER, cluster_arn);
	/* Fails if another client has changed it meanwhile. */
	json_set_string(arena, metadata, "resourceVersion",
		json_get_text(json_get(found, "metadata"), "resourceVersion"));
	json_set(arena, metadata, "annotations", annotations);
	json_set(arena, metadata, "labels", kubernetes_labels(arena, runtime->config.host));
	json_set(arena, patch, "metadata", metadata);
	return kube_patch(runtime->client, &target, KUBE_PATCH_MERGE, patch, NULL, arena, &answer,
		err);
}

static int check(struct kubernetes_runtime *runtime, const struct json *found, struct span name,
	struct span cluster_arn, struct arena *arena, struct err *err)
{
	const struct json *annotations = json_path(found, "metadata.annotations");

	if (!json_is_absent(json_path(found, "metadata.deletionTimestamp")))
		return err_set(err, -EAGAIN, "namespace '%.*s' is being deleted", SPAN_ARGS(name));
	switch (kubernetes_claim(found, runtime->config.host)) {
	case KUBERNETES_UNCLAIMED: return take_over(runtime, found, name, cluster_arn, arena, err);
	case KUBERNETES_OURS:
		if (span_equal(json_get_text(annotations, KUBERNETES_CLUSTER), cluster_arn))
			return 0;
		return err_set(err, -EEXIST, "namespace '%.*s' is that of another cluster",
			SPAN_ARGS(name));
	case KUBERNETES_FOREIGN: break;
	}
	if (json_get_text(annotations, KUBERNETES_HOST).length > 0)
		return err_set(err, -EEXIST,
			"namespace '%.*s' belongs to another slipway; each needs a Kubernetes "
			"cluster, an account or a region of its own",
			SPAN_ARGS(name));
	return err_set(err, -EEXIST,
		"namespace '%.*s' was not made by slipway; label it " KUBERNETES_LABEL_MANAGED
		"=" KUBERNETES_MANAGER " to let slipway use it",
		SPAN_ARGS(name));
}

int kubernetes_namespace_ensure(struct kubernetes_runtime *runtime, struct span cluster_arn,
	struct arena *arena, struct span *ret_name, struct err *err)
{
	struct kube_target target;
	struct json *found;
	struct span name;
	int code = kubernetes_namespace_name(arena, cluster_arn, &name, err);

	if (code < 0)
		return code;
	*ret_name = name;
	if (is_known(runtime, name))
		return 0;
	target = target_of(name);
	code = kube_get(runtime->client, &target, NULL, arena, &found, err);
	if (code == -ENOENT)
		code = kube_create(runtime->client, &target,
			kubernetes_namespace_document(arena, name, runtime->config.host,
				cluster_arn),
			NULL, arena, &found, err);
	if (code == -EEXIST) /* created just now: check in the next pass */
		return err_set(err, -EAGAIN,
			"namespace '%.*s' was created by another client just now", SPAN_ARGS(name));
	if (code == 0)
		code = check(runtime, found, name, cluster_arn, arena, err);
	if (code == 0)
		code = bind_role(runtime, name, arena, err);
	if (code == 0)
		remember(runtime, name);
	return code < 0 ? err_prefix(err, code, "namespace of '%.*s'", SPAN_ARGS(cluster_arn)) : 0;
}
