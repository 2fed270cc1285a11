/* See naming.h. */
#include "release/naming.h"

#include <string.h>

#include "base/memory.h"
#include "release/naming_edit.h"
#include "release/release_names.h"

#define DNS_LABEL_MAX 63
#define DNS_SUBDOMAIN_MAX 253
/* The label controller-revision-hash of its pods is the name, a dash and ten characters. */
#define STATEFUL_SET_NAME_MAX 52

enum duplication {
	DUPLICATED,        /* a workload: a canary has its own */
	DUPLICATED_CHANGE, /* if the canary's content differs from the stable one */
	DUPLICATED_NEW,    /* if the stable version has none */
	SERVICE,
	JOB, /* references only: a track would make Kubernetes run it again */
	NEVER,
};

struct kind_row {
	const char *kind;
	const char *groups;   /* of the API, each behind a space; "-" is the core group */
	const char *template; /* path of the pod template; NULL: it has none */
	const char *selector; /* path of the labels that select its pods */
	size_t name_max;
	enum duplication duplication;
};

static const struct kind_row kind_rows[] = {
	{"Deployment", " apps extensions", "spec.template", "spec.selector.matchLabels",
		DNS_SUBDOMAIN_MAX, DUPLICATED},
	{"StatefulSet", " apps", "spec.template", "spec.selector.matchLabels",
		STATEFUL_SET_NAME_MAX, DUPLICATED},
	{"DaemonSet", " apps extensions", "spec.template", "spec.selector.matchLabels",
		DNS_SUBDOMAIN_MAX, DUPLICATED},
	{"ReplicaSet", " apps extensions", "spec.template", "spec.selector.matchLabels",
		DNS_SUBDOMAIN_MAX, DUPLICATED},
	{"ReplicationController", " -", "spec.template", "spec.selector", DNS_SUBDOMAIN_MAX,
		DUPLICATED},
	{"Pod", " -", "", NULL, DNS_SUBDOMAIN_MAX, DUPLICATED},
	{"ConfigMap", " -", NULL, NULL, DNS_SUBDOMAIN_MAX, DUPLICATED_CHANGE},
	{"Secret", " -", NULL, NULL, DNS_SUBDOMAIN_MAX, DUPLICATED_CHANGE},
	{"ServiceAccount", " -", NULL, NULL, DNS_SUBDOMAIN_MAX, DUPLICATED_NEW},
	{"Service", " -", NULL, NULL, DNS_LABEL_MAX, SERVICE},
	{"Job", " batch", "spec.template", NULL, DNS_LABEL_MAX, JOB},
	{"CronJob", " batch", "spec.jobTemplate.spec.template", NULL, DNS_LABEL_MAX, JOB},
	{"Ingress", " networking.k8s.io extensions", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
	{"HorizontalPodAutoscaler", " autoscaling", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
	{"PodDisruptionBudget", " policy", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
	{"PersistentVolumeClaim", " -", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
	/* Without a namespace: */
	{"Namespace", " -", NULL, NULL, DNS_LABEL_MAX, NEVER},
	{"PersistentVolume", " -", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
	{"ClusterRole", " rbac.authorization.k8s.io", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
	{"ClusterRoleBinding", " rbac.authorization.k8s.io", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
	{"StorageClass", " storage.k8s.io", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
	{"PriorityClass", " scheduling.k8s.io", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
	{"IngressClass", " networking.k8s.io", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
	{"CustomResourceDefinition", " apiextensions.k8s.io", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
	{"APIService", " apiregistration.k8s.io", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
	{"MutatingWebhookConfiguration", " admissionregistration.k8s.io", NULL, NULL,
		DNS_SUBDOMAIN_MAX, NEVER},
	{"ValidatingWebhookConfiguration", " admissionregistration.k8s.io", NULL, NULL,
		DNS_SUBDOMAIN_MAX, NEVER},
	{"PodSecurityPolicy", " policy", NULL, NULL, DNS_SUBDOMAIN_MAX, NEVER},
};

/* Where names of other objects stand in a pod's spec. */
#define CONTAINER_REFERENCES(containers)                                                           \
	{containers "[].env[].valueFrom.configMapKeyRef.name", "ConfigMap"},                       \
		{containers "[].env[].valueFrom.secretKeyRef.name", "Secret"},                     \
		{containers "[].envFrom[].configMapRef.name", "ConfigMap"},                        \
	{                                                                                          \
		containers "[].envFrom[].secretRef.name", "Secret"                                 \
	}

struct reference {
	const char *path;
	const char *kind;
};

static const struct reference pod_references[] = {
	CONTAINER_REFERENCES("spec.containers"),
	CONTAINER_REFERENCES("spec.initContainers"),
	CONTAINER_REFERENCES("spec.ephemeralContainers"),
	{"spec.volumes[].configMap.name", "ConfigMap"},
	{"spec.volumes[].secret.secretName", "Secret"},
	{"spec.volumes[].projected.sources[].configMap.name", "ConfigMap"},
	{"spec.volumes[].projected.sources[].secret.name", "Secret"},
	{"spec.volumes[].azureFile.secretName", "Secret"},
	{"spec.volumes[].cephfs.secretRef.name", "Secret"},
	{"spec.volumes[].cinder.secretRef.name", "Secret"},
	{"spec.volumes[].csi.nodePublishSecretRef.name", "Secret"},
	{"spec.volumes[].flexVolume.secretRef.name", "Secret"},
	{"spec.volumes[].iscsi.secretRef.name", "Secret"},
	{"spec.volumes[].rbd.secretRef.name", "Secret"},
	{"spec.volumes[].scaleIO.secretRef.name", "Secret"},
	{"spec.volumes[].storageos.secretRef.name", "Secret"},
	{"spec.imagePullSecrets[].name", "Secret"},
	{"spec.serviceAccountName", "ServiceAccount"},
	{"spec.serviceAccount", "ServiceAccount"},
};

/* In objects of any kind; they do nothing where the path leads nowhere. */
static const struct reference object_references[] = {
	{"spec.tls[].secretName", "Secret"},   /* Ingress */
	{"imagePullSecrets[].name", "Secret"}, /* ServiceAccount */
	{"secrets[].name", "Secret"},
};

/* Objects with kind and name. */
static const char *const typed_references[] = {
	"spec.scaleTargetRef", /* HorizontalPodAutoscaler */
	"spec.targetRef",      /* VerticalPodAutoscaler */
	"subjects[]",          /* RoleBinding, ClusterRoleBinding */
};

static const struct kind_row *find_kind(const struct json *object)
{
	struct span kind = json_get_text(object, "kind"), group = SPAN("-"), version;

	span_split(json_get_text(object, "apiVersion"), '/', &group, &version);
	for (size_t i = 0; i < LENGTH(kind_rows); i++) {
		struct span groups = span_of(kind_rows[i].groups + 1), each;

		if (!span_is(kind, kind_rows[i].kind))
			continue;
		while (span_next_part(&groups, ' ', &each))
			if (span_equal(each, group))
				return &kind_rows[i];
	}
	return NULL;
}

static struct span name_of(const struct json *object)
{
	return json_get_text(json_get(object, "metadata"), "name");
}

bool naming_is_workload(const struct json *object)
{
	const struct kind_row *row = find_kind(object);

	return row && row->duplication == DUPLICATED;
}

bool naming_is_service(const struct json *object)
{
	const struct kind_row *row = find_kind(object);

	return row && row->duplication == SERVICE;
}

const struct json *naming_pod_labels(const struct json *workload)
{
	const struct kind_row *row = find_kind(workload);
	const struct json *template;

	if (!row || !row->template)
		return NULL;
	template = *row->template ? json_path(workload, row->template) : workload;
	return json_path(template, "metadata.labels");
}

bool naming_selects(const struct json *service, const struct json *labels)
{
	const struct json *selector = json_path(service, "spec.selector");

	if (!json_is(selector, JSON_OBJECT) || !selector->object.count)
		return false;
	for (size_t i = 0; i < selector->object.count; i++) {
		const struct json_member *member = &selector->object.members[i];
		const struct json *label = json_get_span(labels, member->name);

		if (!label || !json_equal(label, member->value))
			return false;
	}
	return true;
}

static struct span track_of(const struct json *naming, struct span path)
{
	const struct json *track = json_get_span(json_get(naming, "tracks"), path);

	return json_is(track, JSON_STRING) ? track->text : SPAN(RELEASE_TRACK_STABLE);
}

/* The name that a naming gives an object; SPAN_NONE: its base name. */
static struct span find_name(struct arena *arena, const struct json *naming, struct span kind,
	struct span name)
{
	struct span key = arena_format(arena, "%.*s/%.*s", SPAN_ARGS(kind), SPAN_ARGS(name));

	return json_text(json_get_span(json_get(naming, "names"), key));
}

/* ---- references ---- */

struct rename {
	const struct json *naming;
	struct span kind;
};

static const struct json *change_name(struct arena *arena, const struct json *value, void *context)
{
	const struct rename *rename = context;
	struct span name;

	if (!json_is(value, JSON_STRING))
		return value;
	name = find_name(arena, rename->naming, rename->kind, value->text);
	return name.data ? json_new_string(arena, name) : value;
}

static const struct json *change_typed(struct arena *arena, const struct json *value, void *context)
{
	struct rename *rename = context;

	rename->kind = json_get_text(value, "kind");
	return rename->kind.data ? naming_edit(arena, value, "name", change_name, rename) : value;
}

static const struct json *change_references(struct arena *arena, const struct json *value,
	const struct reference *references, size_t count, const struct json *naming)
{
	for (size_t i = 0; i < count; i++) {
		struct rename rename = {naming, span_of(references[i].kind)};

		value = naming_edit(arena, value, references[i].path, change_name, &rename);
	}
	return value;
}

/* A rule of a Role that names ConfigMaps or Secrets. */
static const struct json *change_rule(struct arena *arena, const struct json *rule, void *context)
{
	static const struct reference resources[] = {
		{"configmaps", "ConfigMap"}, {"secrets", "Secret"}};
	struct rename rename = {context, SPAN_NONE};

	JSON_EACH_ITEM (json_get(rule, "resources"), resource)
		for (size_t i = 0; i < LENGTH(resources); i++)
			if (span_is(json_text(resource), resources[i].path)) {
				rename.kind = span_of(resources[i].kind);
				rule = naming_edit(arena, rule, "resourceNames[]", change_name,
					&rename);
			}
	return rule;
}

static const struct json *change_pod(struct arena *arena, const struct json *template,
	void *context)
{
	return change_references(arena, template, pod_references, LENGTH(pod_references), context);
}

/* ---- applying a naming ---- */

struct applying {
	struct arena *arena;
	const struct naming_object *objects;
	size_t count;
	const struct json *naming;
};

/* The track of the workloads that a Service selects. False: it selects none, or those of several tracks,
 * and keeps its selector. ret_paths: how many paths they are of. */
static bool service_track(const struct applying *applying, const struct json *service,
	struct span *ret_track, size_t *ret_paths)
{
	struct span track = SPAN_NONE, path = SPAN_NONE;
	bool same = true;

	*ret_paths = 0;
	for (size_t i = 0; i < applying->count; i++) {
		const struct naming_object *each = &applying->objects[i];
		struct span its_track;

		if (!naming_is_workload(each->object) ||
			!naming_selects(service, naming_pod_labels(each->object)))
			continue;
		its_track = track_of(applying->naming, each->path);
		*ret_paths += !path.data || !span_equal(path, each->path);
		same = same && (!track.data || span_equal(track, its_track));
		track = its_track;
		path = each->path.data ? each->path : SPAN("");
	}
	if (!track.data || !same)
		return false;
	*ret_track = track;
	return true;
}

static const struct json *set_track(struct arena *arena, const struct json *object,
	const struct kind_row *row, struct span track)
{
	const struct json *value = json_new_string(arena, track);
	struct span labels = *row->template
				     ? arena_format(arena, "%s.metadata.labels", row->template)
				     : SPAN("metadata.labels");

	object = naming_edit_set(arena, object, labels.data, RELEASE_TRACK_LABEL, value);
	/* One without a selector gets its pods' labels as such. */
	if (row->selector && json_path(object, "spec.selector"))
		object = naming_edit_set(arena, object, row->selector, RELEASE_TRACK_LABEL, value);
	return object;
}

static const struct json *apply_one(const struct applying *applying,
	const struct naming_object *each)
{
	struct arena *arena = applying->arena;
	const struct json *object = each->object;
	const struct kind_row *row = find_kind(object);
	struct rename rename = {applying->naming, SPAN_NONE};
	struct span track;
	size_t paths;

	if (row && row->duplication == DUPLICATED)
		object = set_track(arena, object, row, track_of(applying->naming, each->path));
	else if (row && row->duplication == SERVICE &&
		 service_track(applying, object, &track, &paths))
		object = naming_edit_set(arena, object, "spec.selector", RELEASE_TRACK_LABEL,
			json_new_string(arena, track));
	if (json_is_absent(json_get(applying->naming, "names")))
		return object;
	if (row) {
		rename.kind = span_of(row->kind);
		object = naming_edit(arena, object, "metadata.name", change_name, &rename);
	}
	if (row && row->template)
		object = naming_edit(arena, object, row->template, change_pod,
			(void *)applying->naming);
	object = change_references(arena, object, object_references, LENGTH(object_references),
		applying->naming);
	object = naming_edit(arena, object, "rules[]", change_rule, (void *)applying->naming);
	for (size_t i = 0; i < LENGTH(typed_references); i++)
		object = naming_edit(arena, object, typed_references[i], change_typed, &rename);
	return object;
}

static int check_objects(const struct naming_object *objects, size_t count, struct err *err)
{
	if (count > NAMING_OBJECTS_MAX)
		return err_set(err, -E2BIG, "too many objects (limit %d)", NAMING_OBJECTS_MAX);
	for (size_t i = 0; i < count; i++)
		if (!name_of(objects[i].object).length)
			return err_set(err, -EINVAL, "object %zu has no metadata.name", i + 1);
	return 0;
}

int naming_apply(struct arena *arena, const struct naming_object *objects, size_t count,
	const struct json *naming, const struct json **ret_objects, struct err *err)
{
	const struct applying applying = {arena, objects, count, naming};
	int code = check_objects(objects, count, err);

	if (code < 0)
		return code;
	for (size_t i = 0; i < count; i++)
		ret_objects[i] = apply_one(&applying, &objects[i]);
	return 0;
}

/* ---- planning a canary ---- */

static const struct json *content_of(struct arena *arena, const struct json *object)
{
	struct json *content = json_copy_object(arena, object);

	/* Labels and annotations change with each version of a chart. */
	json_unset(content, "metadata");
	json_unset(content, "status");
	return content;
}

struct planning {
	struct arena *arena;
	const struct naming_canary *canary;
	const struct json **as_stable; /* the canary's objects with the stable names */
	struct json *names;
};

static const struct json *find_stable(const struct planning *planning, const struct json *object)
{
	for (size_t i = 0; i < planning->canary->stable_count; i++) {
		const struct json *stable = planning->canary->stable[i];

		if (span_equal(name_of(stable), name_of(object)) &&
			span_equal(json_get_text(stable, "kind"), json_get_text(object, "kind")) &&
			find_kind(stable) == find_kind(object))
			return stable;
	}
	return NULL;
}

static enum naming_action choose_action(const struct planning *planning, size_t index)
{
	const struct naming_object *each = &planning->canary->objects[index];
	const struct kind_row *row = find_kind(each->object);
	const struct json *as_stable = planning->as_stable[index];
	const struct json *stable = find_stable(planning, as_stable);
	bool is_here = span_equal(each->path, planning->canary->path);
	bool is_equal = stable && json_equal(content_of(planning->arena, stable),
					  content_of(planning->arena, as_stable));

	if (row && row->duplication == SERVICE && is_here)
		return NAMING_SERVICE;
	if (row && row->duplication == DUPLICATED && is_here)
		return NAMING_CREATE;
	if (row && (row->duplication == NEVER || row->duplication == JOB) && is_here)
		return NAMING_NOT_DUPLICATED;
	if (is_equal)
		return NAMING_SHARED;
	if (row && is_here &&
		(row->duplication == DUPLICATED_CHANGE ||
			(row->duplication == DUPLICATED_NEW && !stable)))
		return NAMING_CREATE;
	return NAMING_NOT_DUPLICATED;
}

static int give_suffix(struct planning *planning, const struct json *object, struct err *err)
{
	const struct kind_row *row = find_kind(object);
	struct span base = name_of(object), suffix = planning->canary->suffix;
	struct span key = arena_format(planning->arena, "%s/%.*s", row->kind, SPAN_ARGS(base));
	struct span name =
		arena_format(planning->arena, "%.*s-%.*s", SPAN_ARGS(base), SPAN_ARGS(suffix));

	if (name.length > row->name_max)
		return err_set(err, -EINVAL,
			"%s '%.*s': its canary's name '%.*s' is too long (%zu characters, limit "
			"%zu)",
			row->kind, SPAN_ARGS(base), SPAN_ARGS(name), name.length, row->name_max);
	json_set_string(planning->arena, planning->names, key.data, name);
	return 0;
}

/* Two paths of a chart with different tracks cannot share a Service: its selector has one track. */
static int check_services(const struct applying *applying, struct err *err)
{
	for (size_t i = 0; i < applying->count; i++) {
		const struct naming_object *each = &applying->objects[i];
		struct span track;
		size_t paths;

		if (naming_is_service(each->object) &&
			!service_track(applying, each->object, &track, &paths) && paths > 1)
			return err_set(err, -EINVAL,
				"Service '%.*s' selects pods of several paths; a canary release of "
				"one of them needs a selector that selects one path",
				SPAN_ARGS(name_of(each->object)));
	}
	return 0;
}

/* No object that the canary creates may have the name of another. */
static int check_names(const struct planning *planning, const struct naming_plan *plan,
	struct err *err)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct json *object = plan->items[i].object;

		if (plan->items[i].action != NAMING_CREATE)
			continue;
		if (find_stable(planning, object))
			return err_set(err, -EEXIST,
				"%.*s '%.*s' exists in the stable version; name the CanaryRelease "
				"with "
				"another suffix than '%.*s'",
				SPAN_ARGS(json_get_text(object, "kind")),
				SPAN_ARGS(name_of(object)), SPAN_ARGS(planning->canary->suffix));
		for (size_t j = 0; j < plan->count; j++)
			if (j != i && plan->items[j].action != NAMING_NOT_DUPLICATED &&
				find_kind(plan->items[j].object) == find_kind(object) &&
				span_equal(name_of(plan->items[j].object), name_of(object)))
				return err_set(err, -EEXIST, "two objects are %.*s '%.*s'",
					SPAN_ARGS(json_get_text(object, "kind")),
					SPAN_ARGS(name_of(object)));
	}
	return 0;
}

/* The stable naming with the canary's track. Names are added by the caller. */
static struct json *begin_naming(struct planning *planning)
{
	struct arena *arena = planning->arena;
	const struct json *stable = planning->canary->stable_naming;
	const struct json *tracks = json_get(stable, "tracks"), *names = json_get(stable, "names");
	struct json *naming = json_new_object(arena), *new_tracks;
	struct span path = planning->canary->path;

	new_tracks = tracks ? json_copy_object(arena, tracks) : json_new_object(arena);
	json_set_string(arena, new_tracks,
		arena_copy(arena, path.length ? path.data : "", path.length),
		planning->canary->suffix);
	planning->names = names ? json_copy_object(arena, names) : json_new_object(arena);
	json_set(arena, naming, "tracks", new_tracks);
	json_set(arena, naming, "names", planning->names);
	return naming;
}

int naming_plan_canary(struct arena *arena, const struct naming_canary *canary,
	struct naming_plan *ret_plan, struct err *err)
{
	const struct json **as_stable =
		arena_allocate_array(arena, canary->count + 1, sizeof(*as_stable));
	const struct json **named = arena_allocate_array(arena, canary->count + 1, sizeof(*named));
	struct planning planning = {arena, canary, as_stable, NULL};
	struct naming_plan plan = {.count = canary->count};
	struct applying applying;
	bool has_workload = false;
	int code;

	if (span_equal(track_of(canary->stable_naming, canary->path), canary->suffix))
		return err_set(err, -EINVAL,
			"suffix '%.*s' is in use by the stable version; name the CanaryRelease "
			"with "
			"another one",
			SPAN_ARGS(canary->suffix));
	code = naming_apply(arena, canary->objects, canary->count, canary->stable_naming, as_stable,
		err);
	if (code < 0)
		return code;
	plan.items = arena_allocate_array(arena, canary->count + 1, sizeof(*plan.items));
	plan.naming = begin_naming(&planning);
	for (size_t i = 0; i < canary->count; i++) {
		const struct json *object = canary->objects[i].object;

		plan.items[i].action = choose_action(&planning, i);
		plan.items[i].base_name = name_of(object);
		has_workload = has_workload || (plan.items[i].action == NAMING_CREATE &&
						       naming_is_workload(object));
		if (plan.items[i].action == NAMING_CREATE &&
			(code = give_suffix(&planning, object, err)) < 0)
			return code;
	}
	if (!has_workload)
		return err_set(err, -ENOENT, "path '%.*s' has no workload",
			SPAN_ARGS(canary->path.data ? canary->path : SPAN("")));
	applying = (struct applying){arena, canary->objects, canary->count, plan.naming};
	code = check_services(&applying, err);
	if (code < 0)
		return code;
	code = naming_apply(arena, canary->objects, canary->count, plan.naming, named, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < canary->count; i++)
		plan.items[i].object = named[i];
	code = check_names(&planning, &plan, err);
	if (code < 0)
		return code;
	*ret_plan = plan;
	return 0;
}

int naming_suffix(struct span canary_release, struct span *ret_suffix, struct err *err)
{
	const char *dash = memrchr(canary_release.data, '-', canary_release.length);
	struct span suffix;

	if (!dash || dash + 1 == canary_release.data + canary_release.length)
		return err_set(err, -EINVAL,
			"name '%.*s' has no suffix; name it like the Release with '-' and a suffix",
			SPAN_ARGS(canary_release));
	suffix.data = dash + 1;
	suffix.length = (size_t)(canary_release.data + canary_release.length - suffix.data);
	if (suffix.length > NAMING_SUFFIX_MAX)
		return err_set(err, -EINVAL, "suffix '%.*s' is too long (limit %d)",
			SPAN_ARGS(suffix), NAMING_SUFFIX_MAX);
	for (size_t i = 0; i < suffix.length; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789", suffix.data[i]))
			return err_set(err, -EINVAL,
				"suffix '%.*s' may have only lower-case letters and digits",
				SPAN_ARGS(suffix));
	if (span_is(suffix, RELEASE_TRACK_STABLE) || span_is(suffix, &NAMING_FORKED[1]) ||
		span_is(suffix, &NAMING_CANARY[1]) || span_is(suffix, "proxy"))
		return err_set(err, -EINVAL, "suffix '%.*s' is reserved; use another one",
			SPAN_ARGS(suffix));
	*ret_suffix = suffix;
	return 0;
}

static const struct json *copy_port(struct arena *arena, const struct json *port)
{
	static const char *const kept[] = {"name", "protocol", "appProtocol", "port", "targetPort"};
	struct json *copy = json_new_object(arena);

	for (size_t i = 0; i < LENGTH(kept); i++)
		json_set(arena, copy, kept[i], json_get(port, kept[i]));
	return copy;
}

int naming_service_copy(struct arena *arena, const struct json *service, const char *ending,
	const struct json **ret_copy, struct err *err)
{
	const struct json *spec = json_get(service, "spec");
	struct json *copy = json_new_object(arena), *metadata = json_new_object(arena);
	struct json *new_spec = json_new_object(arena), *ports = json_new_array(arena);
	struct span name = arena_format(arena, "%.*s%s", SPAN_ARGS(name_of(service)), ending);

	if (name.length > DNS_LABEL_MAX)
		return err_set(err, -EINVAL,
			"Service '%.*s': the name of its copy, '%.*s', is too long (limit %d)",
			SPAN_ARGS(name_of(service)), SPAN_ARGS(name), DNS_LABEL_MAX);
	JSON_EACH_ITEM (json_get(spec, "ports"), port)
		json_append(arena, ports, copy_port(arena, port));
	json_set_string(arena, copy, "apiVersion", SPAN("v1"));
	json_set_string(arena, copy, "kind", SPAN("Service"));
	json_set_string(arena, metadata, "name", name);
	json_set(arena, metadata, "namespace", json_path(service, "metadata.namespace"));
	json_set(arena, copy, "metadata", metadata);
	json_set_string(arena, new_spec, "type", SPAN("ClusterIP"));
	json_set(arena, new_spec, "selector", json_get(spec, "selector"));
	json_set(arena, new_spec, "publishNotReadyAddresses",
		json_get(spec, "publishNotReadyAddresses"));
	json_set(arena, new_spec, "ports", ports);
	json_set(arena, copy, "spec", new_spec);
	*ret_copy = copy;
	return 0;
}
