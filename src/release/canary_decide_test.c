/*
 * Every step of a canary, in a small world of objects: created, adopted, deprecated; stopped after every single write and
 * continued by a controller that remembers nothing.
 */
#include "release/canary_decide.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/yaml.h"
#include "release/canary_services.h"
#include "release/naming.h"
#include "release/release_names.h"
#include "release/render.h"

#define OBJECTS_MAX 64
#define WRITES_MAX 200
#define NOW_MS INT64_C(1700000000000)

#define TEMPLATE                                                                                   \
	"apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"                                   \
	"spec:\n  selector: {app: web}\n  ports:\n"                                                \
	"  - {name: http, port: 80, protocol: TCP, targetPort: 8000}\n"                            \
	"  - {name: dns, port: 53, protocol: UDP}\n---\n"                                          \
	"apiVersion: v1\nkind: Service\nmetadata: {name: admin}\n"                                 \
	"spec:\n  selector: {app: web}\n  ports:\n  - {port: 81, targetPort: admin}\n---\n"        \
	"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"                            \
	"data: {color: \"{{ .Values.color }}\"}\n---\n"                                            \
	"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"                           \
	"spec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n"               \
	"    metadata: {labels: {app: web}}\n    spec:\n      containers:\n"                       \
	"      - name: web\n        image: \"web:{{ .Values.image }}\"\n"                          \
	"        envFrom: [{configMapRef: {name: settings}}]\n"

#define RELEASE                                                                                    \
	"apiVersion: slipway.dev/v1alpha1\nkind: Release\n"                                        \
	"metadata: {namespace: test, name: web, uid: release-uid, generation: 1, "                 \
	"resourceVersion: '1'}\nspec: {config: '{\"image\": 1, \"color\": \"red\"}'}\n"

#define CANARY                                                                                     \
	"apiVersion: slipway.dev/v1alpha1\nkind: CanaryRelease\n"                                  \
	"metadata: {namespace: test, name: web-abcde, uid: canary-uid, generation: 1, "            \
	"resourceVersion: '1'}\n"                                                                  \
	"spec:\n  release: web\n  version: 1\n  config: '{\"image\": 2, \"color\": \"blue\"}'\n"   \
	"  services:\n  - {service: web, ports: [{port: 80, config: {weight: 10}}]}\n"

struct object {
	const struct json *json;
	uint64_t applied, applied_result;
};

struct world {
	struct arena *arena;
	struct object objects[OBJECTS_MAX];
	size_t count;
	int64_t now_ms;
	unsigned uids;
	unsigned writes;
	bool proxies_work;
	int64_t active;           /* connections of the canary */
	int64_t requests, errors; /* of the canary so far */
	bool pods_missing;        /* no endpoint of the canary is ready */
	double metric;            /* of any source outside */
	bool release_stuck;       /* its controller makes no versions */
	struct canary_decision last;
};

/* ---- objects ---- */

static struct json *read_yaml(struct world *world, const char *text)
{
	struct json *value;
	struct err err;

	if (yaml_parse_kubernetes(span_of(text), 1, world->arena, &value, &err) < 0)
		fail_msg("%s", err.message);
	return value;
}

static struct span name_of(const struct json *object)
{
	return json_get_text(json_get(object, "metadata"), "name");
}

static struct object *find(struct world *world, struct span kind, struct span name)
{
	for (size_t i = 0; i < world->count; i++)
		if (span_equal(json_get_text(world->objects[i].json, "kind"), kind) &&
			span_equal(name_of(world->objects[i].json), name))
			return &world->objects[i];
	return NULL;
}

static const struct json *get(struct world *world, const char *kind, const char *name)
{
	struct object *object = find(world, span_of(kind), span_of(name));

	return object ? object->json : NULL;
}

static struct json *copy_at(struct world *world, struct json *object, const char *member)
{
	const struct json *before = json_get(object, member);
	struct json *copy =
		before ? json_copy_object(world->arena, before) : json_new_object(world->arena);

	json_set(world->arena, object, member, copy);
	return copy;
}

/* Stores an object; one that is new gets a uid. */
static void put(struct world *world, const struct json *object)
{
	struct object *found = find(world, json_get_text(object, "kind"), name_of(object));
	struct json *stored = json_copy_object(world->arena, object);
	struct json *metadata = copy_at(world, stored, "metadata");

	if (!found) {
		assert_true(world->count < OBJECTS_MAX);
		found = &world->objects[world->count++];
		*found = (struct object){0};
		if (!json_get(metadata, "uid"))
			json_set(world->arena, metadata, "uid",
				json_new_format(world->arena, "uid-%u", ++world->uids));
	} else {
		json_set(world->arena, metadata, "uid", json_path(found->json, "metadata.uid"));
	}
	found->json = stored;
}

static void take_away(struct world *world, struct span kind, struct span name)
{
	struct object *found = find(world, kind, name);

	assert_non_null(found);
	*found = world->objects[--world->count];
}

static const struct json *merge(struct world *world, const struct json *target,
	const struct json *patch)
{
	struct json *result;

	if (!json_is(patch, JSON_OBJECT))
		return patch;
	result = json_is(target, JSON_OBJECT) ? json_copy_object(world->arena, target)
					      : json_new_object(world->arena);
	for (uint32_t i = 0; i < patch->object.count; i++) {
		const struct json_member *member = &patch->object.members[i];
		char *name = arena_copy(world->arena, member->name.data, member->name.length);

		if (member->value->type == JSON_NULL)
			json_unset(result, name);
		else
			json_set(world->arena, result, name,
				merge(world, json_get(result, name), member->value));
	}
	return result;
}

/* ---- the others: the Release controller, and the proxy with its pod ---- */

static void apply_release(struct world *world, const struct release_snapshot *release,
	const struct release_manifest *manifest)
{
	const struct object_owner owner = {
		SPAN(RELEASE_API_VERSION), SPAN("Release"), release->name, release->uid, true};

	for (size_t i = 0; i < manifest->count; i++) {
		const struct json *object =
			object_with_owners(world->arena, manifest->objects[i].json, &owner, 1);
		struct object *live =
			find(world, manifest->objects[i].kind, manifest->objects[i].name);

		if (live && canary_service_holder(live->json).length > 0)
			continue;
		put(world, live ? merge(world, live->json, object) : object);
	}
}

static void run_release_controller(struct world *world)
{
	const struct json *object = get(world, "Release", "web");
	struct release_snapshot release;
	struct release_render render;
	struct release_manifest manifest;
	struct json *changed, *status;
	struct span text = SPAN("");
	struct err err;

	if (!object || world->release_stuck)
		return;
	assert_int_equal(release_snapshot_read(world->arena, object, &release, &err), 0);
	if (release.version > 0 &&
		span_equal(json_get_text(release.status, "renderedConfig"), release.source.config))
		goto apply;
	render = (struct release_render){.source = release.source,
		.name = release.name,
		.namespace = release.namespace,
		.version = release.version + 1};
	if (release_render_manifest(world->arena, &render, &manifest, &err) < 0 ||
		release_manifest_write(world->arena, &manifest, &text, &err) < 0)
		fail_msg("%s", err.message);
	changed = json_copy_object(world->arena, object);
	status = copy_at(world, changed, "status");
	json_set_integer(world->arena, status, "version", release.version + 1);
	json_set_integer(world->arena, status, "appliedVersion", release.version + 1);
	json_set_integer(world->arena, status, "observedGeneration", release.generation);
	json_set_string(world->arena, status, "manifest", text);
	json_set_string(world->arena, status, "renderedConfig", release.source.config);
	put(world, changed);
	assert_int_equal(release_snapshot_read(world->arena, changed, &release, &err), 0);
apply:
	assert_int_equal(release_manifest_read(world->arena, release.manifest, &manifest, &err), 0);
	apply_release(world, &release, &manifest);
}

static void run_proxy(struct world *world, const struct canary *canary)
{
	struct json *object, *proxies, *report, *ports = json_new_array(world->arena);

	if (!world->proxies_work || !get(world, "Deployment", "web-abcde-proxy"))
		return;
	for (size_t i = 0; i < canary->proxied_count; i++)
		for (size_t j = 0; j < canary->proxied[i].port_count; j++) {
			const struct canary_proxied_port *port = &canary->proxied[i].ports[j];
			uint32_t share = canary_share(canary, canary->proxied[i].name, port);
			struct json *entry = json_new_object(world->arena),
				    *side = json_new_object(world->arena);

			json_set_string(world->arena, entry, "service", canary->proxied[i].name);
			json_set_integer(world->arena, entry, "port", port->port);
			json_set_string(world->arena, entry, "transport",
				port->udp ? SPAN("UDP") : SPAN("TCP"));
			json_set_integer(world->arena, entry, "weightPermille", share);
			json_set_integer(world->arena, entry, "effectivePermille", share);
			json_set_integer(world->arena, side, "active", world->active);
			json_set_integer(world->arena, side, "ready", !world->pods_missing);
			json_set_integer(world->arena, side, "requests", world->requests);
			json_set_integer(world->arena, side, "errors", world->errors);
			json_set(world->arena, entry, "canary", side);
			json_append(world->arena, ports, entry);
		}
	object = json_copy_object(world->arena, get(world, "CanaryRelease", "web-abcde"));
	proxies = copy_at(world, copy_at(world, object, "status"), "proxies");
	report = json_new_object(world->arena);
	json_set(world->arena, report, "ports", ports);
	json_set(world->arena, proxies, "pod", report);
	put(world, object);
}

/* ---- the controller ---- */

static struct canary_live find_live(void *context, const struct object_id *id)
{
	struct object *found = find(context, id->kind, id->name);

	if (!found)
		return (struct canary_live){0};
	return (struct canary_live){found->json,
		found->applied_result == canary_hash(found->json) ? found->applied : 0};
}

static bool take_sample(void *context, size_t index, const struct canary_metric *metric,
	struct analysis_sample *ret_sample)
{
	struct world *world = context;

	(void)index;
	(void)metric;
	*ret_sample = analysis_sample_of(world->now_ms, world->metric);
	return true;
}

/* A Service that clients use leads to pods that exist. */
static void check_traffic(struct world *world)
{
	const struct json *service = get(world, "Service", "web");
	const struct json *selector = json_path(service, "spec.selector");
	struct span track = json_get_text(selector, RELEASE_TRACK_LABEL);

	if (json_get(selector, RELEASE_CREATED_BY_LABEL)) {
		assert_non_null(get(world, "Deployment", "web-abcde-proxy"));
		assert_non_null(get(world, "Service", "web-forked"));
		assert_non_null(get(world, "Service", "web-canary"));
		assert_non_null(get(world, "Deployment", "web"));
		assert_non_null(get(world, "Deployment", "web-abcde"));
	} else if (span_is(track, "abcde")) {
		assert_non_null(get(world, "Deployment", "web-abcde"));
	} else {
		assert_true(span_is(track, "stable"));
		assert_non_null(get(world, "Deployment", "web"));
	}
	assert_int_equal(json_array_count(json_path(service, "spec.ports")), 2);
}

static void act(struct world *world, const struct canary_decision *decision)
{
	struct object *found = find(world, decision->id.kind, decision->id.name);

	world->writes++;
	switch (decision->verb) {
	case CANARY_APPLY:
		put(world, decision->object);
		found = find(world, decision->id.kind, decision->id.name);
		found->applied = canary_hash(decision->object);
		found->applied_result = canary_hash(found->json);
		break;
	case CANARY_UPDATE: put(world, decision->object); break;
	case CANARY_MERGE:
	case CANARY_MERGE_STATUS: put(world, merge(world, found->json, decision->object)); break;
	case CANARY_DELETE:
		assert_true(span_equal(json_get_text(json_get(found->json, "metadata"), "uid"),
			decision->uid));
		take_away(world, decision->id.kind, decision->id.name);
		break;
	default: fail_msg("no write");
	}
	check_traffic(world);
}

static void read_canary(struct world *world, struct canary *ret_canary)
{
	struct err err;

	if (canary_read(world->arena, get(world, "CanaryRelease", "web-abcde"), ret_canary, &err) <
		0)
		fail_msg("%s", err.message);
}

/* One decision and its write. False: it waits. */
static bool step(struct world *world)
{
	const struct json *release_object = get(world, "Release", "web");
	struct canary_pod pod = {SPAN("pod"), true};
	struct release_snapshot release;
	struct canary canary;
	struct canary_input input = {.canary = &canary,
		.release = release_object ? &release : NULL,
		.release_object = release_object,
		.pods = &pod,
		.settings = {SPAN("slipway:1"), SPAN(""), SPAN("policy/v1beta1")},
		.now_ms = world->now_ms,
		.find = find_live,
		.sample = take_sample,
		.context = world};

	run_release_controller(world);
	release_object = get(world, "Release", "web");
	input.release_object = release_object;
	read_canary(world, &canary);
	run_proxy(world, &canary);
	if (!get(world, "CanaryRelease", "web-abcde"))
		return false;
	read_canary(world, &canary);
	input.pod_count = get(world, "Deployment", "web-abcde-proxy") ? 1 : 0;
	if (release_object)
		assert_int_equal(release_snapshot_read(world->arena, release_object, &release,
					 NULL),
			0);
	canary_decide(world->arena, &input, &world->last);
	if (world->last.verb == CANARY_WAIT)
		return false;
	act(world, &world->last);
	return true;
}

static void run_until_it_waits(struct world *world)
{
	for (unsigned i = 0; step(world); i++)
		assert_true(i < WRITES_MAX);
}

static void set_spec(struct world *world, const char *yaml)
{
	struct json *object =
		json_copy_object(world->arena, get(world, "CanaryRelease", "web-abcde"));
	struct json *metadata = copy_at(world, object, "metadata");

	json_set(world->arena, object, "spec",
		merge(world, json_get(object, "spec"), read_yaml(world, yaml)));
	json_set_integer(world->arena, metadata, "generation",
		json_get_integer(metadata, "generation", 0) + 1);
	put(world, object);
}

static void mark_deleted(struct world *world, const char *kind, const char *name)
{
	struct json *object = json_copy_object(world->arena, get(world, kind, name));

	json_set_string(world->arena, copy_at(world, object, "metadata"), "deletionTimestamp",
		SPAN("2026-01-01T00:00:00Z"));
	put(world, object);
}

static struct world *begin(void)
{
	struct world *world = memory_allocate(sizeof(*world));
	struct json *release;

	world->arena = arena_new(0);
	world->now_ms = NOW_MS;
	world->proxies_work = true;
	release = read_yaml(world, RELEASE);
	release = json_copy_object(world->arena, release);
	json_set_string(world->arena, copy_at(world, release, "spec"), "template", SPAN(TEMPLATE));
	put(world, release);
	run_release_controller(world);
	put(world, read_yaml(world, CANARY));
	return world;
}

static void end(struct world *world)
{
	arena_free(world->arena);
	free(world);
}

static struct span status_text(struct world *world, const char *path)
{
	return json_text(json_path(get(world, "CanaryRelease", "web-abcde"), path));
}

static struct span failure_reason(struct world *world)
{
	JSON_EACH_ITEM (json_path(get(world, "CanaryRelease", "web-abcde"), "status.conditions"),
		condition)
		if (span_is(json_get_text(condition, "type"), "Failure") &&
			span_is(json_get_text(condition, "status"), "True"))
			return json_get_text(condition, "reason");
	return SPAN("");
}

static void assert_text(struct span text, const char *expected)
{
	if (!span_is(text, expected))
		fail_msg("'%.*s', not '%s'", SPAN_ARGS(text.data ? text : SPAN("(none)")),
			expected);
}

/* ---- tests ---- */

/* scenario 1 */
static void test_create(void **state)
{
	struct world *world = begin();
	const struct json *service, *deployment;

	(void)state;
	run_until_it_waits(world);
	assert_text(status_text(world, "status.step"), "C8");
	assert_text(failure_reason(world), "");
	service = get(world, "Service", "web");
	assert_text(canary_service_holder(service), "web-abcde");
	assert_int_equal(json_get_integer(json_item(json_path(service, "spec.ports"), 0),
				 "targetPort", 0),
		8080);
	assert_int_equal(json_get_integer(json_item(json_path(service, "spec.ports"), 1),
				 "targetPort", 0),
		8081);
	deployment = get(world, "Deployment", "web-abcde");
	assert_true(object_is_owned(deployment, SPAN("canary-uid")));
	assert_true(object_is_owned(deployment, SPAN("release-uid")));
	assert_non_null(get(world, "ConfigMap", "settings-abcde"));
	/* A Service that is not listed is not taken over, and has no copies. */
	assert_text(canary_service_holder(get(world, "Service", "admin")), "");
	assert_null(get(world, "Service", "admin-forked"));
	assert_text(json_get_text(json_path(get(world, "Service", "web-canary"), "spec.selector"),
			    RELEASE_TRACK_LABEL),
		"abcde");
	assert_int_equal(json_get_integer(json_item(json_path(get(world, "CanaryRelease",
								      "web-abcde"),
							    "status.traffic"),
						  0),
				 "effectiveWeight", -1),
		10);
	end(world);
}

/* scenario 2: the proxy does not report its ports yet */
static void test_no_take_over_before_the_proxy_serves(void **state)
{
	struct world *world = begin();

	(void)state;
	world->proxies_work = false;
	run_until_it_waits(world);
	assert_text(status_text(world, "status.step"), "C6");
	assert_text(canary_service_holder(get(world, "Service", "web")), "");
	world->proxies_work = true;
	run_until_it_waits(world);
	assert_text(status_text(world, "status.step"), "C8");
	end(world);
}

/* scenarios 4 and 10: nothing is created */
static void test_refused(void **state)
{
	static const struct {
		const char *spec, *reason;
	} rows[] = {
		{"path: shop/nope", "InvalidPath"},
		{"services: [{service: nope}]", "ServiceNotFound"},
		{"services: [{service: web, ports: [{port: 81}]}]", "PortNotFound"},
		{"services: [{service: web, ports: [{port: 80, protocol: UDP}]}]", "PortNotFound"},
		{"config: '['", "InvalidConfig"},
		{"release: nope", "ReleaseNotFound"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct world *world = begin();
		size_t before = world->count;

		if (span_is(span_of(rows[i].reason), "ReleaseNotFound"))
			take_away(world, SPAN("Release"), SPAN("web"));
		set_spec(world, rows[i].spec);
		run_until_it_waits(world);
		assert_text(failure_reason(world), rows[i].reason);
		assert_true(world->count <= before);
		end(world);
	}
}

/* scenario 7 */
static void test_name_conflict(void **state)
{
	struct world *world = begin();

	(void)state;
	put(world, read_yaml(world, "apiVersion: v1\nkind: Service\n"
				    "metadata: {namespace: test, name: web-forked}\n"));
	run_until_it_waits(world);
	assert_text(failure_reason(world), "NameConflict");
	assert_text(canary_service_holder(get(world, "Service", "web")), "");
	assert_null(json_path(get(world, "Service", "web-forked"), "spec"));
	end(world);
}

/* scenario 8 */
static void test_already_canaried(void **state)
{
	struct world *world = begin();
	struct json *service = json_copy_object(world->arena, get(world, "Service", "web"));

	(void)state;
	put(world, release_with_metadata(world->arena, service, "annotations",
			   RELEASE_TAKEN_OVER_ANNOTATION, SPAN("web-fghij")));
	run_until_it_waits(world);
	assert_text(failure_reason(world), "ServiceAlreadyCanaried");
	assert_null(get(world, "Deployment", "web-abcde"));
	end(world);
}

/* scenario 9 */
static void test_other_version(void **state)
{
	struct world *world = begin();

	(void)state;
	set_spec(world, "version: 2");
	run_until_it_waits(world);
	assert_text(status_text(world, "spec.transition"), "Deprecated");
	assert_text(status_text(world, "status.phase"), "Deprecated");
	end(world);
}

/* A weight is followed by the proxy: the controller records the generation and the traffic alone. */
static void test_weight_edit(void **state)
{
	struct world *world = begin();
	unsigned before;

	(void)state;
	run_until_it_waits(world);
	before = world->writes;
	set_spec(world, "services: [{service: web, ports: [{port: 80, config: {weight: 100}}]}]");
	run_until_it_waits(world);
	assert_in_range(world->writes - before, 1, 2);
	assert_text(status_text(world, "status.step"), "C8");
	end(world);
}

/* scenario 21 */
static void test_config_edit(void **state)
{
	struct world *world = begin();
	struct span uid;

	(void)state;
	run_until_it_waits(world);
	uid = json_get_text(json_get(get(world, "Deployment", "web-abcde"), "metadata"), "uid");
	set_spec(world, "config: '{\"image\": 3}'");
	run_until_it_waits(world);
	assert_text(status_text(world, "status.step"), "C8");
	assert_true(span_equal(uid,
		json_get_text(json_get(get(world, "Deployment", "web-abcde"), "metadata"), "uid")));
	assert_text(json_get_text(json_item(json_path(get(world, "Deployment", "web-abcde"),
						    "spec.template.spec.containers"),
					  0),
			    "image"),
		"web:3");
	/* Its content is that of the stable one now. */
	assert_null(get(world, "ConfigMap", "settings-abcde"));
	assert_text(canary_service_holder(get(world, "Service", "web")), "web-abcde");
	end(world);
}

/* scenario 53, and Services that others restored */
static void test_repair(void **state)
{
	struct world *world = begin();
	struct json *service;

	(void)state;
	run_until_it_waits(world);
	take_away(world, SPAN("Service"), SPAN("web-forked"));
	take_away(world, SPAN("Deployment"), SPAN("web-abcde"));
	service = json_copy_object(world->arena, get(world, "Service", "web"));
	json_set(world->arena, copy_at(world, service, "spec"), "selector",
		read_yaml(world, "{app: web, slipway.dev/track: stable}"));
	put(world, service);
	/* The check of traffic holds again after the repair alone. */
	while (step(world) && !get(world, "Deployment", "web-abcde"))
		;
	run_until_it_waits(world);
	assert_non_null(get(world, "Service", "web-forked"));
	assert_non_null(json_path(get(world, "Service", "web"), "spec.selector"));
	assert_non_null(json_get(json_path(get(world, "Service", "web"), "spec.selector"),
		RELEASE_CREATED_BY_LABEL));
	assert_text(status_text(world, "status.step"), "C8");
	end(world);
}

/* A Service that leaves the spec is restored at once; its copies stay while connections may be open. */
static void test_service_leaves(void **state)
{
	struct world *world = begin();

	(void)state;
	set_spec(world, "services: [{service: web}, {service: admin}]");
	run_until_it_waits(world);
	assert_text(canary_service_holder(get(world, "Service", "admin")), "web-abcde");
	set_spec(world, "services: [{service: web}]");
	run_until_it_waits(world);
	assert_text(canary_service_holder(get(world, "Service", "admin")), "");
	assert_text(json_text(json_get(json_item(json_path(get(world, "Service", "admin"),
							 "spec.ports"),
					       0),
			    "targetPort")),
		"admin");
	assert_non_null(get(world, "Service", "admin-forked"));
	assert_int_equal(world->last.until_ms, NOW_MS + CANARY_DRAIN_SECONDS * 1000);
	world->now_ms = world->last.until_ms;
	run_until_it_waits(world);
	assert_null(get(world, "Service", "admin-forked"));
	assert_null(get(world, "Service", "admin-canary"));
	assert_non_null(get(world, "Service", "web-canary"));
	end(world);
}

/* ---- adoption and deprecation, stopped after every write ---- */

static void check_adopted(struct world *world)
{
	const struct json *service = get(world, "Service", "web");
	const struct json *deployment = get(world, "Deployment", "web-abcde");

	assert_text(status_text(world, "status.phase"), "Adopted");
	assert_text(status_text(world, "status.step"), "Done");
	assert_true(json_is_absent(json_path(get(world, "CanaryRelease", "web-abcde"),
		"status.manifest")));
	assert_text(canary_service_holder(service), "");
	assert_text(json_get_text(json_path(service, "spec.selector"), RELEASE_TRACK_LABEL),
		"abcde");
	assert_int_equal(json_get_integer(json_item(json_path(service, "spec.ports"), 0),
				 "targetPort", 0),
		8000);
	assert_int_equal(json_get_integer(json_get(get(world, "Release", "web"), "status"),
				 "version", 0),
		2);
	assert_true(object_is_owned(deployment, SPAN("release-uid")));
	assert_false(object_is_owned(deployment, SPAN("canary-uid")));
	assert_null(get(world, "Service", "web-forked"));
	assert_null(get(world, "Service", "web-canary"));
	assert_null(get(world, "Deployment", "web-abcde-proxy"));
	assert_null(get(world, "Role", "web-abcde-proxy"));
	assert_null(get(world, "ServiceAccount", "web-abcde-proxy"));
}

static void check_deprecated(struct world *world)
{
	assert_text(status_text(world, "status.phase"), "Deprecated");
	assert_text(status_text(world, "status.step"), "Done");
	assert_text(canary_service_holder(get(world, "Service", "web")), "");
	for (size_t i = 0; i < world->count; i++)
		assert_false(object_is_owned(world->objects[i].json, SPAN("canary-uid")));
	assert_null(get(world, "Deployment", "web-abcde"));
	assert_int_equal(json_get_integer(json_get(get(world, "Release", "web"), "status"),
				 "version", 0),
		1);
}

/* The controller is replaced by another one after `stop` writes: it does not know what was applied. */
static void run_with_stop(struct world *world, unsigned stop)
{
	while (world->writes < stop && step(world))
		;
	for (size_t i = 0; i < world->count; i++)
		world->objects[i].applied = 0;
	run_until_it_waits(world);
}

/* scenarios 31, 41 and 42 */
static void test_adopt(void **state)
{
	unsigned writes = WRITES_MAX;

	(void)state;
	for (unsigned stop = 0; stop <= writes; stop++) {
		struct world *world = begin();
		struct span uid;

		set_spec(world, "transition: Adopted");
		run_with_stop(world, stop);
		check_adopted(world);
		uid = json_get_text(json_get(get(world, "Deployment", "web-abcde"), "metadata"),
			"uid");
		assert_true(uid.length > 0);
		if (stop == 0)
			writes = world->writes;
		end(world);
	}
	assert_true(writes > 20);
}

/* scenarios 35 and 43 */
static void test_deprecate(void **state)
{
	unsigned writes = WRITES_MAX;

	(void)state;
	for (unsigned stop = 0; stop <= writes; stop++) {
		struct world *world = begin();
		const struct json *service;

		service = get(world, "Service", "web");
		run_until_it_waits(world);
		set_spec(world, "transition: Deprecated");
		world->writes = 0;
		run_with_stop(world, stop);
		check_deprecated(world);
		assert_true(json_equal(service, get(world, "Service", "web")));
		if (stop == 0)
			writes = world->writes;
		end(world);
	}
	assert_true(writes > 8);
}

/* scenario 37, from every state of the creation */
static void test_delete(void **state)
{
	(void)state;
	for (unsigned stop = 1; stop < 25; stop++) {
		struct world *world = begin();

		while (world->writes < stop && step(world))
			;
		mark_deleted(world, "CanaryRelease", "web-abcde");
		run_until_it_waits(world);
		check_deprecated(world);
		assert_int_equal(json_array_count(json_path(get(world, "CanaryRelease",
								    "web-abcde"),
					 "metadata.finalizers")),
			0);
		end(world);
	}
}

/* Open connections of the canary have drainSeconds. */
static void test_drain(void **state)
{
	struct world *world = begin();

	(void)state;
	world->active = 1;
	run_until_it_waits(world);
	set_spec(world, "transition: Deprecated");
	run_until_it_waits(world);
	assert_text(status_text(world, "status.step"), "D2");
	assert_non_null(get(world, "Deployment", "web-abcde"));
	assert_int_equal(world->last.until_ms, NOW_MS + CANARY_DRAIN_SECONDS * 1000);
	world->now_ms = world->last.until_ms;
	run_until_it_waits(world);
	check_deprecated(world);
	end(world);
}

/* scenario 38 */
static void test_release_is_deleted(void **state)
{
	struct world *world = begin();

	(void)state;
	run_until_it_waits(world);
	take_away(world, SPAN("Release"), SPAN("web"));
	assert_false(!step(world) && world->last.verb != CANARY_DELETE);
	assert_null(get(world, "CanaryRelease", "web-abcde"));
	end(world);
}

/* Until A2 an adoption can be canceled. */
static void test_adoption_is_canceled(void **state)
{
	struct world *world = begin();

	(void)state;
	run_until_it_waits(world);
	set_spec(world, "transition: Adopted");
	while (!span_is(status_text(world, "status.step"), "A1"))
		assert_true(step(world));
	set_spec(world, "transition: ''");
	run_until_it_waits(world);
	assert_text(status_text(world, "status.step"), "C8");
	set_spec(world, "transition: Adopted");
	while (!span_is(status_text(world, "status.step"), "A1"))
		assert_true(step(world));
	set_spec(world, "transition: Deprecated");
	run_until_it_waits(world);
	check_deprecated(world);
	end(world);
}

/* scenario 34: without the Release's new version nothing is given away, and it is a failure after a minute. */
static void test_release_makes_no_version(void **state)
{
	struct world *world = begin();
	bool pending = false;

	(void)state;
	run_until_it_waits(world);
	world->release_stuck = true;
	set_spec(world, "transition: Adopted");
	run_until_it_waits(world);
	assert_true(span_is(json_text(json_path(get(world, "CanaryRelease", "web-abcde"),
				    "status.step")),
		"A3"));
	world->now_ms += (CANARY_ADOPT_TIMEOUT_S + 1) * 1000;
	run_until_it_waits(world);
	JSON_EACH_ITEM (json_path(get(world, "CanaryRelease", "web-abcde"), "status.conditions"),
		condition)
		pending = pending || (span_is(json_get_text(condition, "reason"), "AdoptPending") &&
					     span_is(json_get_text(condition, "status"), "True"));
	assert_true(pending);
	assert_true(span_is(json_get_text(json_path(get(world, "Service", "web"), "spec.selector"),
				    RELEASE_TRACK_LABEL),
		"abcde"));
	assert_non_null(get(world, "Service", "web-canary"));
	assert_int_equal(json_array_count(json_path(get(world, "Deployment", "web-abcde"),
				 "metadata.ownerReferences")),
		2);
	world->release_stuck = false;
	run_until_it_waits(world);
	world->now_ms += 60000;
	run_until_it_waits(world);
	assert_true(span_is(json_text(json_path(get(world, "CanaryRelease", "web-abcde"),
				    "status.phase")),
		"Adopted"));
	end(world);
}

/* ---- automatic steps ---- */

/* Lets the time pass until the canary waits for nothing, or so long. */
static void pass_time(struct world *world, int64_t seconds)
{
	int64_t until_ms = world->now_ms + seconds * 1000;

	for (run_until_it_waits(world); world->now_ms < until_ms; run_until_it_waits(world))
		world->now_ms += 1000;
}

static const struct json *canary_member(struct world *world, const char *path)
{
	return json_path(get(world, "CanaryRelease", "web-abcde"), path);
}

static int64_t share_now(struct world *world)
{
	struct canary canary;

	read_canary(world, &canary);
	return canary_share(&canary, SPAN("web"), &canary.proxied[0].ports[0]);
}

static struct span progress(struct world *world)
{
	JSON_EACH_ITEM (canary_member(world, "status.conditions"), condition)
		if (span_is(json_get_text(condition, "type"), "Progressing"))
			return json_get_text(condition, "reason");
	return SPAN("");
}

#define ANALYSIS                                                                                   \
	"{analysis: {seconds: 20, intervalSeconds: 5, metrics: [{canary: errorRate, max: 5}]}}"

static void test_steps(void **state)
{
	struct world *world = begin();

	(void)state;
	set_spec(world, "steps: [{setWeight: 5}, {pause: {seconds: 60}}, {setWeightPermille: 500}, "
			"{pause: {}}, {setWeight: 100}, {transition: Adopted}]");
	pass_time(world, 1);
	assert_int_equal(share_now(world), 50);
	pass_time(world, 30);
	assert_int_equal(share_now(world), 50);
	assert_true(span_is(progress(world), "Stepping"));
	pass_time(world, 31);
	assert_int_equal(share_now(world), 500);
	assert_true(span_is(progress(world), "Paused"));
	pass_time(world, 1000);
	assert_int_equal(share_now(world), 500);
	assert_true(json_is_true(canary_member(world, "spec.paused")));
	set_spec(world, "paused: false");
	pass_time(world, 40);
	assert_true(span_is(json_text(canary_member(world, "status.phase")), "Adopted"));
	end(world);
}

static void test_steps_are_paused(void **state)
{
	struct world *world = begin();

	(void)state;
	set_spec(world, "steps: [{setWeight: 5}, {pause: {seconds: 60}}, {setWeight: 100}]");
	pass_time(world, 30);
	set_spec(world, "paused: true");
	pass_time(world, 300);
	assert_int_equal(share_now(world), 50);
	/* The pause begins again. */
	set_spec(world, "paused: false");
	pass_time(world, 50);
	assert_int_equal(share_now(world), 50);
	pass_time(world, 11);
	assert_int_equal(share_now(world), 1000);
	assert_true(span_is(progress(world), "StepsComplete"));
	end(world);
}

static void test_analysis(void **state)
{
	struct world *world = begin();

	(void)state;
	set_spec(world, "steps: [{setWeight: 5}, " ANALYSIS ", {setWeight: 50}, " ANALYSIS "]");
	run_until_it_waits(world);
	for (int i = 0; i < 21; i++) {
		world->requests += 100;
		pass_time(world, 1);
	}
	assert_int_equal(share_now(world), 500);
	for (int i = 0; i < 10; i++) {
		world->requests += 100;
		world->errors += 10;
		pass_time(world, 1);
	}
	assert_true(span_is(json_text(canary_member(world, "spec.transition")), "Deprecated"));
	assert_true(span_is(json_text(canary_member(world, "status.rollout.failed")),
		"AnalysisFailed"));
	end(world);
}

/* Without traffic nothing can be said. */
static void test_analysis_is_inconclusive(void **state)
{
	struct world *world = begin();

	(void)state;
	set_spec(world, "steps: [" ANALYSIS ", {setWeight: 50}]");
	pass_time(world, 30);
	assert_true(span_is(json_text(canary_member(world, "status.rollout.failed")),
		"AnalysisInconclusive"));
	assert_true(json_is_true(canary_member(world, "spec.paused")));
	set_spec(world, "paused: false");
	for (int i = 0; i < 25; i++) {
		world->requests += 100;
		pass_time(world, 1);
	}
	assert_int_equal(share_now(world), 500);
	end(world);
}

static void test_analysis_of_prometheus(void **state)
{
	struct world *world = begin();

	(void)state;
	world->metric = 3;
	set_spec(world, "onFailure: Paused\nsteps: [{analysis: {seconds: 20, intervalSeconds: 5, "
			"failureLimit: 1, metrics: [{prometheus: {address: 'http://p', query: q}, "
			"max: 5}]}}, {setWeight: 50}, {analysis: {seconds: 20, intervalSeconds: 5, "
			"failureLimit: 1, metrics: [{prometheus: {address: 'http://p', query: q}, "
			"max: 5}]}}]");
	pass_time(world, 21);
	assert_int_equal(share_now(world), 500);
	world->metric = 6;
	pass_time(world, 3);
	assert_true(span_is(progress(world), "Stepping"));
	pass_time(world, 10);
	assert_true(span_is(json_text(canary_member(world, "status.rollout.failed")),
		"AnalysisFailed"));
	assert_true(json_is_true(canary_member(world, "spec.paused")));
	assert_null(canary_member(world, "spec.transition"));
	end(world);
}

/* Steps begin when the canary's pods are ready; that has a deadline. */
static void test_progress_deadline(void **state)
{
	struct world *world = begin();

	(void)state;
	world->pods_missing = true;
	set_spec(world, "progressDeadlineSeconds: 100\nsteps: [{setWeight: 5}]");
	pass_time(world, 90);
	assert_int_equal(share_now(world), 100);
	assert_true(span_is(progress(world), "Stepping"));
	pass_time(world, 20);
	assert_true(span_is(json_text(canary_member(world, "status.rollout.failed")),
		"ProgressDeadlineExceeded"));
	assert_true(span_is(json_text(canary_member(world, "spec.transition")), "Deprecated"));
	end(world);
}

static void test_proxy_is_late(void **state)
{
	struct world *world = begin();

	(void)state;
	world->proxies_work = false;
	set_spec(world, "progressDeadlineSeconds: 100");
	pass_time(world, 99);
	assert_true(span_is(progress(world), "Creating"));
	pass_time(world, 2);
	assert_true(span_is(progress(world), "ProgressDeadlineExceeded"));
	world->proxies_work = true;
	pass_time(world, 1);
	assert_true(span_is(progress(world), "Available"));
	end(world);
}

static void test_wrong_steps(void **state)
{
	static const struct {
		const char *steps, *message;
	} rows[] = {
		{"[{setWeight: 101}]", "setWeight must be an integer from 0 to 100"},
		{"[{setWeight: 1, pause: {}}]", "needs one of setWeight, setWeightPermille, pause, "
						"analysis and transition"},
		{"[{transition: Adopt}]", "transition must be Adopted or Deprecated"},
		{"[{analysis: {seconds: 5, metrics: [{canary: errorRate}]}}]",
			"analysis.metrics[0]: needs min or max"},
		{"[{analysis: {seconds: 5, metrics: [{max: 1}]}}]",
			"analysis.metrics[0]: needs one of canary, prometheus and http"},
		{"[{analysis: {seconds: 5, metrics: [{http: {url: 'file:///etc/passwd'}}]}}]",
			"analysis.metrics[0]: http.url must begin with http:// or https://"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct world *world = begin();
		struct canary canary;
		struct err err;
		char spec[512], wanted[512];

		snprintf(spec, sizeof(spec), "steps: %s", rows[i].steps);
		snprintf(wanted, sizeof(wanted), "CanaryRelease web-abcde: spec.steps[0]: %s",
			rows[i].message);
		set_spec(world, spec);
		assert_int_equal(canary_read(world->arena, get(world, "CanaryRelease", "web-abcde"),
					 &canary, &err),
			-EINVAL);
		assert_string_equal(err.message, wanted);
		end(world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_no_take_over_before_the_proxy_serves),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_name_conflict),
		cmocka_unit_test(test_already_canaried),
		cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_weight_edit),
		cmocka_unit_test(test_config_edit),
		cmocka_unit_test(test_repair),
		cmocka_unit_test(test_service_leaves),
		cmocka_unit_test(test_adopt),
		cmocka_unit_test(test_deprecate),
		cmocka_unit_test(test_delete),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_release_is_deleted),
		cmocka_unit_test(test_adoption_is_canceled),
		cmocka_unit_test(test_release_makes_no_version),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_steps_are_paused),
		cmocka_unit_test(test_analysis),
		cmocka_unit_test(test_analysis_is_inconclusive),
		cmocka_unit_test(test_analysis_of_prometheus),
		cmocka_unit_test(test_progress_deadline),
		cmocka_unit_test(test_proxy_is_late),
		cmocka_unit_test(test_wrong_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
