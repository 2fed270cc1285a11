/* See the header. */
#include "runtime/kubernetes/template.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "runtime/kubernetes/names.h"
#include "runtime/kubernetes/notes.h"
#include "runtime/kubernetes/placement.h"
#include "runtime/kubernetes/plan.h"
#include "runtime/kubernetes/template_internal.h"
#include "runtime/spec.h"

#define NO_OWNER 65534 /* user that copies the program: any user may */

/* ---- shared with template_container.c ---- */

struct span template_name(struct making *making, struct span name)
{
	if (span_starts_with(name, SPAN(TEMPLATE_OWN_PREFIX)))
		name = arena_format(making->arena, "%.*s.", SPAN_ARGS(name)); /* gets a hash */
	return kubernetes_label_name(making->arena, name, KUBERNETES_LABEL_MAX);
}

#undef template_refuse
int template_refuse(struct making *making, const struct json *container, const char *format, ...)
{
	char text[ERR_MESSAGE_MAX / 2];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return err_set(making->err, -EINVAL, "container '%.*s': %s",
		SPAN_ARGS(json_get_text(container, "name")), text);
}

void template_add_mount(struct making *making, struct json *mounts, const char *volume,
	const char *path, bool readonly)
{
	struct json *mount = json_new_object(making->arena);

	json_set_string(making->arena, mount, "name", span_of(volume));
	json_set_string(making->arena, mount, "mountPath", span_of(path));
	if (readonly)
		json_set_bool(making->arena, mount, "readOnly", true);
	json_append(making->arena, mounts, mount);
}

/* ---- volumes ---- */

static struct json *new_volume(struct making *making, struct span name, const char *type,
	const struct json *source)
{
	struct json *volume = json_new_object(making->arena);

	json_set_string(making->arena, volume, "name", name);
	json_set(making->arena, volume, type, source);
	return volume;
}

static int add_task_volumes(struct making *making, struct json *list)
{
	struct arena *arena = making->arena;
	const struct json *volumes = json_get(making->spec, "volumes");

	if (json_count(volumes) > KUBERNETES_TASK_VOLUMES_MAX)
		return err_set(making->err, -EINVAL, "the task has more than %d volumes",
			KUBERNETES_TASK_VOLUMES_MAX);
	JSON_EACH_ITEM (volumes, volume) {
		struct span name = json_get_text(volume, "name");
		struct span path = json_get_text(json_get(volume, "host"), "sourcePath");
		struct json *source = json_new_object(arena);

		if (!name.data || name.length == 0)
			return err_set(making->err, -EINVAL, "a volume has no name");
		name = template_name(making, name);
		if (path.data && path.length > 0) {
			json_set_string(arena, source, "path", path);
			json_append(arena, list, new_volume(making, name, "hostPath", source));
		} else {
			json_append(arena, list, new_volume(making, name, "emptyDir", source));
		}
	}
	return 0;
}

static bool has_volume(const struct json *volumes, struct span name)
{
	JSON_EACH_ITEM (volumes, volume)
		if (span_equal(json_get_text(volume, "name"), name))
			return true;
	return false;
}

static int check_mounts(struct making *making, const struct json *volumes)
{
	JSON_EACH_ITEM (making->containers, container)
		JSON_EACH_ITEM (json_get(container, "mountPoints"), point) {
			struct span name = json_get_text(point, "sourceVolume");

			if (!has_volume(volumes, template_name(making, name)))
				return template_refuse(making, container,
					"mounts the volume '%.*s', which the task does not have",
					SPAN_ARGS(name));
		}
	return 0;
}

static int make_volumes(struct making *making, struct json *pod)
{
	struct arena *arena = making->arena;
	struct json *list = json_new_array(arena);
	int code = add_task_volumes(making, list);

	if (code == 0)
		code = check_mounts(making, list);
	if (code < 0)
		return code;
	if (making->needs_program)
		json_append(arena, list,
			new_volume(making, SPAN(TEMPLATE_PROGRAM_VOLUME), "emptyDir",
				json_new_object(arena)));
	if (making->needs_marks)
		json_append(arena, list,
			new_volume(making, SPAN(TEMPLATE_MARKS_VOLUME), "emptyDir",
				json_new_object(arena)));
	if (json_count(list) > 0)
		json_set(arena, pod, "volumes", list);
	return 0;
}

/* ---- containers ---- */

static struct json *text(struct arena *arena, const char *const *list)
{
	struct json *built = json_new_array(arena);

	for (; *list; list++)
		json_append(arena, built, json_new_string(arena, span_of(*list)));
	return built;
}

/* Copies slipway-pod to the volume that the others mount. */
static struct json *make_installer(struct making *making)
{
	static const char *const command[] = {"slipway-pod", "install", KUBERNETES_PROGRAM, NULL};
	struct arena *arena = making->arena;
	struct json *built = json_new_object(arena), *mounts = json_new_array(arena);
	struct json *resources = json_new_object(arena), *requests = json_new_object(arena);
	struct json *limits = json_new_object(arena), *rights = json_new_object(arena);

	template_add_mount(making, mounts, TEMPLATE_PROGRAM_VOLUME, KUBERNETES_PROGRAM_FOLDER,
		false);
	/* The pod's request is the larger of this and the sum of the containers', so this costs nothing. */
	json_set_string(arena, requests, "cpu", SPAN("10m"));
	json_set_string(arena, requests, "memory", SPAN("16Mi"));
	json_set_string(arena, limits, "memory", SPAN("64Mi"));
	json_set(arena, resources, "requests", requests);
	json_set(arena, resources, "limits", limits);
	json_set_integer(arena, rights, "runAsUser", NO_OWNER);
	json_set_bool(arena, rights, "runAsNonRoot", true);
	json_set_bool(arena, rights, "readOnlyRootFilesystem", true);
	template_restrict(arena, rights);
	json_set_string(arena, built, "name", SPAN(TEMPLATE_PROGRAM_VOLUME));
	json_set_string(arena, built, "image", making->config->helper_image);
	json_set_string(arena, built, "imagePullPolicy", making->config->pull_policy);
	json_set(arena, built, "command", text(arena, command));
	json_set(arena, built, "resources", resources);
	json_set(arena, built, "securityContext", rights);
	json_set(arena, built, "volumeMounts", mounts);
	return built;
}

static int make_list(struct making *making, const size_t *indexes, size_t count, struct json *list)
{
	for (size_t i = 0; i < count; i++) {
		struct json *container;
		int code = template_make_container(making, indexes[i], &container);

		if (code < 0)
			return code;
		json_append(making->arena, list, container);
	}
	return 0;
}

static int make_containers(struct making *making, struct json *pod)
{
	struct arena *arena = making->arena;
	const struct kubernetes_start_order *order = &making->order;
	struct json *initial = json_new_array(arena), *running = json_new_array(arena);
	struct json *before = json_new_array(arena);
	int code = make_list(making, order->initial, order->initial_count, initial);

	if (code == 0)
		code = make_list(making, order->running, order->running_count, running);
	if (code < 0)
		return code;
	if (making->needs_program && making->config->helper_image.length == 0)
		return err_set(making->err, -EINVAL,
			"the task is held at its end, or waits for a container to be HEALTHY; "
			"that needs slipway's own image in its pod (kubernetes.helperImage), and "
			"none is set");
	if (making->needs_program)
		json_append(arena, before, make_installer(making));
	JSON_EACH_ITEM (initial, container)
		json_append(arena, before, container);
	if (json_count(before) > 0)
		json_set(arena, pod, "initContainers", before);
	json_set(arena, pod, "containers", running);
	return 0;
}

/* ---- the pod ---- */

static void make_network(struct making *making, struct json *pod)
{
	struct arena *arena = making->arena;
	struct span mode = json_get_text(making->spec, "networkMode"), name = SPAN("");

	if (mode.data && span_is(mode, "host")) {
		json_set_bool(arena, pod, "hostNetwork", true);
		json_set_string(arena, pod, "dnsPolicy", SPAN("ClusterFirstWithHostNet"));
		return;
	}
	if (mode.data && span_is(mode, "none"))
		kubernetes_note(&making->notes,
			"network mode none: a pod always has a network of its own");
	JSON_EACH_ITEM (making->containers, container) {
		struct span own = json_get_text(container, "hostname");

		if (!own.data || own.length == 0 || span_equal(own, name))
			continue;
		if (name.length > 0 ||
			!span_equal(kubernetes_label_name(arena, own, KUBERNETES_LABEL_MAX), own)) {
			kubernetes_note(&making->notes,
				"hostname '%.*s' is not set: the containers of a pod share one, "
				"of lower case letters, digits and dashes",
				SPAN_ARGS(own));
			continue;
		}
		name = own;
		json_set_string(arena, pod, "hostname", own);
	}
}

static void note_shared_limits(struct making *making)
{
	size_t sharing = 0;

	for (size_t i = 0; i < making->order.running_count; i++)
		if (json_get_integer(json_item(making->containers, making->order.running[i]),
			    "memory", 0) == 0)
			sharing++;
	if (sharing > 1 && json_get_integer(making->spec, "memory", 0) > 0)
		kubernetes_note(&making->notes,
			"the task's memory is the limit of each of its containers, not of their "
			"sum");
	if (making->order.running_count > 1 && json_get_integer(making->spec, "cpu", 0) > 0)
		kubernetes_note(&making->notes,
			"the task's cpu is the limit of each of its containers, not of their sum");
}

/* Daemons tolerate a cordoned node; they leave it only when they are dismissed. */
static struct span label_of_drained(struct making *making)
{
	struct span namespace;

	if (!making->request->daemon ||
		kubernetes_namespace_name(making->arena, json_get_text(making->spec, "clusterArn"),
			&namespace, NULL) < 0)
		return SPAN("");
	return kubernetes_drained_label(making->arena, namespace);
}

static struct kubernetes_placement placement_of(struct making *making)
{
	const struct kubernetes_template_request *request = making->request;
	struct span parts[2] = {
		json_get_text(making->spec, "clusterArn"), json_get_text(making->spec, "group")};
	struct kubernetes_placement placement = {
		.instance = request->instance,
		.bind = request->bind,
		.without = label_of_drained(making),
		.constraints = json_get(making->spec, "constraints"),
		.strategy = json_get(making->spec, "strategy"),
		.label = KUBERNETES_LABEL_GROUP,
	};
	char hash[KUBERNETES_HASH_SIZE];

	if (request->group.length > 0) {
		placement.value = kubernetes_group_label(making->arena, request->group);
		return placement;
	}
	kubernetes_hash(parts, LENGTH(parts), hash);
	placement.label = KUBERNETES_LABEL_PLACED;
	placement.value = arena_format(making->arena, "%s", hash);
	return placement;
}

/* A task of a group with traffic counts as ready only when it gets traffic; the load balancer's
 * side sets this condition. */
static struct json *make_gates(struct arena *arena)
{
	struct json *gate = json_new_object(arena), *list = json_new_array(arena);

	json_set_string(arena, gate, "conditionType", SPAN(KUBERNETES_GATE));
	json_append(arena, list, gate);
	return list;
}

/* The part of the Pod Security Standard "restricted" that is the pod's own. */
static void make_security(struct making *making, struct json *pod)
{
	struct arena *arena = making->arena;
	struct json *profile = json_new_object(arena), *security = json_new_object(arena);

	if (!making->config->restricted)
		return;
	json_set_string(arena, profile, "type", SPAN("RuntimeDefault"));
	json_set(arena, security, "seccompProfile", profile);
	json_set_bool(arena, security, "runAsNonRoot", true);
	json_set(arena, pod, "securityContext", security);
}

static int make_pod(struct making *making, struct json *pod, struct json *labels)
{
	struct arena *arena = making->arena;
	struct kubernetes_placement placement = placement_of(making);
	int code = make_containers(making, pod);

	if (code == 0)
		code = make_volumes(making, pod);
	if (code == 0)
		code = kubernetes_placement_write(&placement, arena, pod, &making->notes,
			making->err);
	if (code < 0)
		return code;
	json_set_string(arena, labels, placement.label, placement.value);
	make_network(making, pod);
	make_security(making, pod);
	note_shared_limits(making);
	json_set_string(arena, pod, "restartPolicy",
		making->restarts ? SPAN("Always") : SPAN("Never"));
	json_set_integer(arena, pod, "terminationGracePeriodSeconds",
		making->hold + kubernetes_stop_timeout(making->spec));
	if (making->request->group.length > 0 && json_get_bool(making->spec, "gated", false))
		json_set(arena, pod, "readinessGates", make_gates(arena));
	json_set_bool(arena, pod, "automountServiceAccountToken", false);
	json_set_bool(arena, pod, "enableServiceLinks", false);
	return 0;
}

static struct json *make_annotations(struct making *making)
{
	const struct kubernetes_template_request *request = making->request;
	struct arena *arena = making->arena;
	struct json *built = json_new_object(arena);

	json_set_string(arena, built, KUBERNETES_HOST, making->config->host);
	json_set_string(arena, built, KUBERNETES_CLUSTER,
		json_get_text(making->spec, "clusterArn"));
	if (request->group.length > 0) {
		json_set_string(arena, built, KUBERNETES_GROUP, request->group);
		json_set_string(arena, built, KUBERNETES_VERSION, request->version);
	} else {
		json_set_string(arena, built, KUBERNETES_TASK, request->token);
		if (making->secrets)
			json_set_string(arena, built, KUBERNETES_SECRET, request->secret);
	}
	json_set_string(arena, built, KUBERNETES_PLAN,
		json_to_text(kubernetes_plan_write(arena, making->spec, &making->order,
				     making->names),
			arena));
	if (making->notes.length > 0)
		json_set_string(arena, built, KUBERNETES_NOTES, buffer_span(&making->notes));
	return built;
}

static int read_spec(struct making *making)
{
	int64_t version = json_get_integer(making->spec, "version", RUNTIME_SPEC_VERSION);
	int code;

	if (version != RUNTIME_SPEC_VERSION)
		return err_set(making->err, -EINVAL,
			"the task is described in version %" PRId64 ", this slipway knows %d",
			version, RUNTIME_SPEC_VERSION);
	making->containers = json_get(making->spec, "containers");
	making->hold = kubernetes_hold(making->spec);
	code = kubernetes_start_order_make(making->containers, &making->order, making->err);
	if (code < 0)
		return code;
	making->restarts = making->request->group.length > 0;
	for (size_t i = 0; i < json_count(making->containers); i++) {
		const struct json *container = json_item(making->containers, i);
		struct span name = json_get_text(container, "name");

		if (!name.data || name.length == 0)
			return err_set(making->err, -EINVAL, "a container has no name");
		making->names[i] = template_name(making, name);
		making->restarts |= kubernetes_restarts(container);
	}
	kubernetes_sizes(making->spec, &making->order, making->sizes);
	return 0;
}

int kubernetes_template_make(const struct kubernetes_template_config *config,
	const struct kubernetes_template_request *request, struct arena *arena,
	struct kubernetes_template *ret_template, struct err *err)
{
	struct making making = {.arena = arena,
		.config = config,
		.request = request,
		.spec = request->spec,
		.notes = BUFFER_WITH_CAP(KUBERNETES_NOTES_MAX),
		.err = err};
	struct json *pod = json_new_object(arena), *labels;
	struct span family = json_get_text(request->spec, "family");
	int code = read_spec(&making);

	labels = kubernetes_labels(arena, config->host);
	if (family.data && family.length > 0)
		json_set_string(arena, labels, "app.kubernetes.io/name",
			kubernetes_label_value(arena, family));
	if (code == 0)
		code = make_pod(&making, pod, labels);
	if (code == 0)
		*ret_template = (struct kubernetes_template){
			.labels = labels,
			.annotations = make_annotations(&making),
			.spec = pod,
			.secrets = making.secrets,
		};
	buffer_clear(&making.notes);
	return code;
}
