/*
 * Foreign input of the Kubernetes runtime: specs (their texts are the clients'), and objects as API
 * servers send them. The input is a JSON document, read as each of them in turn.
 *
 * A spec is refused with a reason, or gives a pod whose names Kubernetes accepts. An object is refused, ignored, or
 * reported with all of its members.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/node.h"
#include "runtime/kubernetes/pod_task.h"
#include "runtime/kubernetes/template.h"
#include "runtime/kubernetes/workload.h"

#define NOW_MS INT64_C(1795000000000)
#define ARENA_MAX ((size_t)64 * 1024 * 1024)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(struct span name)
{
	CHECK(name.data && name.length > 0 && name.length <= KUBERNETES_LABEL_MAX);
	CHECK(name.data[0] != '-' && name.data[name.length - 1] != '-');
	for (size_t i = 0; i < name.length; i++)
		CHECK(name.data[i] != '\0' &&
			strchr("abcdefghijklmnopqrstuvwxyz0123456789-", name.data[i]));
}

static void check_template(const struct json *spec, bool group, struct arena *arena)
{
	const struct kubernetes_template_config config = {
		.host = SPAN("h"), .helper_image = SPAN("s"), .pull_policy = SPAN("Never")};
	const struct kubernetes_template_request request = {.spec = spec,
		.instance = group ? SPAN("") : SPAN("n"),
		.token = group ? SPAN("") : SPAN("t"),
		.group = group ? SPAN("g") : SPAN(""),
		.version = group ? SPAN("v") : SPAN(""),
		.secret = SPAN("x")};
	struct kubernetes_template template;
	struct err err = {0};
	int code = kubernetes_template_make(&config, &request, arena, &template, &err);

	if (code < 0) {
		CHECK(code == -EINVAL && err.message[0] != '\0');
		return;
	}
	CHECK(json_count(json_get(template.spec, "containers")) > 0);
	JSON_EACH_ITEM (json_get(template.spec, "containers"), container)
		check_name(json_get_text(container, "name"));
	JSON_EACH_ITEM (json_get(template.spec, "volumes"), volume)
		check_name(json_get_text(volume, "name"));
	CHECK(json_get_text(template.annotations, KUBERNETES_PLAN).length > 0);
}

static void check_task(const struct kube_object *object, struct arena *arena)
{
	const struct kubernetes_reported *reported =
		kubernetes_pod_report(object->data, NOW_MS, arena);
	const struct runtime_task *task = &reported->task;

	CHECK(task->token.length <= RUNTIME_TOKEN_MAX && task->token.data);
	CHECK(task->phase < RUNTIME_PHASE_COUNT);
	CHECK(task->reason.data && task->group.data && task->version.data && task->instance.data);
	CHECK(task->container_count > 0 && task->container_count <= RUNTIME_CONTAINERS_MAX);
	for (size_t i = 0; i < task->container_count; i++) {
		CHECK(task->containers[i].name.data && task->containers[i].reason.data);
		CHECK(task->phase != RUNTIME_STOPPED ||
			task->containers[i].phase == RUNTIME_STOPPED);
	}
}

static void check_node(const struct kube_object *object, struct arena *arena)
{
	struct runtime_instance instance;

	kubernetes_node_report(object->name, object->data, arena, &instance);
	CHECK(instance.id.length > 0 && instance.name.data && instance.address.data);
}

static void check_workload(const struct kube_object *object, struct arena *arena)
{
	struct kubernetes_group_objects parts = {.workload = object->data};

	CHECK(kubernetes_group_report(&parts, arena)->id.length > 0);
}

static void check_nothing(const struct kube_object *object, struct arena *arena)
{
	(void)arena;
	CHECK(object->data);
}

static const struct {
	kube_reduce reduce;
	void (*check)(const struct kube_object *object, struct arena *arena);
} kinds[] = {
	{kubernetes_pod_reduce, check_task},
	{kubernetes_node_reduce, check_node},
	{kubernetes_deployment_reduce, check_workload},
	{kubernetes_daemon_set_reduce, check_workload},
	{kubernetes_replica_set_reduce, check_nothing},
	{kubernetes_event_reduce, check_nothing},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kubernetes_reduce_context ours = {SPAN("h")};
	_arena_ struct arena *arena = arena_new(ARENA_MAX);
	struct json *document;

	if (json_parse((struct span){(const char *)data, size}, arena, &document, NULL) < 0)
		return 0;
	check_template(document, true, arena);
	check_template(document, false, arena);
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		_kube_object_ const struct kube_object *object = NULL;

		if (kube_object_make(document, kinds[i].reduce, &ours, &object, NULL) == 0)
			kinds[i].check(object, arena);
	}
	return 0;
}
