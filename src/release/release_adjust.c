#include "release/release_adjust.h"

#include "base/memory.h"
#include "release/naming_edit.h"
#include "release/release_manifest.h"
#include "release/release_names.h"

static const struct {
	const char *group, *kind;
} scaled[] = {
	{"apps", "Deployment"},
	{"apps", "StatefulSet"},
	{"apps", "ReplicaSet"},
	{"", "ReplicationController"},
};

static struct span group_of(const struct json *object)
{
	return release_api_group(json_get_text(object, "apiVersion"));
}

bool release_has_replicas(const struct json *object)
{
	for (size_t i = 0; i < LENGTH(scaled); i++)
		if (span_is(json_get_text(object, "kind"), scaled[i].kind) &&
			span_is(group_of(object), scaled[i].group))
			return true;
	return false;
}

const struct json *release_suspend_object(struct arena *arena, const struct json *object)
{
	if (release_has_replicas(object))
		return naming_edit_set(arena, object, "spec", "replicas",
			json_new_integer(arena, 0));
	if (span_is(json_get_text(object, "kind"), "CronJob") && span_is(group_of(object), "batch"))
		return naming_edit_set(arena, object, "spec", "suspend",
			json_new_bool(arena, true));
	return object;
}

const struct json *release_keep_replicas(struct arena *arena, const struct json *object,
	const struct json *live)
{
	int64_t replicas = json_get_integer(json_get(live, "spec"), "replicas", 0);

	if (replicas <= 0)
		return object;
	return naming_edit_set(arena, object, "spec", "replicas",
		json_new_integer(arena, replicas));
}

/* ---- Services ---- */

bool release_is_taken_over(const struct json *live)
{
	return json_get(json_get(json_get(live, "metadata"), "annotations"),
		       RELEASE_TAKEN_OVER_ANNOTATION) != NULL;
}

static struct span protocol_of(const struct json *port)
{
	struct span protocol = json_get_text(port, "protocol");

	return protocol.length > 0 ? protocol : SPAN("TCP");
}

static const struct json *find_port(const struct json *service, const struct json *wanted)
{
	JSON_EACH_ITEM (json_get(json_get(service, "spec"), "ports"), port)
		if (json_get_integer(port, "port", 0) == json_get_integer(wanted, "port", 0) &&
			span_equal(protocol_of(port), protocol_of(wanted)))
			return port;
	return NULL;
}

const struct json *release_keep_traffic(struct arena *arena, const struct json *service,
	const struct json *live)
{
	const struct json *ports = json_get(json_get(service, "spec"), "ports");
	const struct json *kept = naming_edit_set(arena, service, "spec", "selector",
		json_get(json_get(live, "spec"), "selector"));
	struct json *changed = json_new_array(arena);

	JSON_EACH_ITEM (ports, port) {
		const struct json *found = find_port(live, port);

		json_append(arena, changed,
			found ? naming_edit_set(arena, port, "", "targetPort",
					json_get(found, "targetPort"))
			      : port);
	}
	return ports ? naming_edit_set(arena, kept, "spec", "ports", changed) : kept;
}

/* The port as the API server has it, with the members that the manifest sets. */
static const struct json *lay_over(struct arena *arena, const struct json *found,
	const struct json *wanted)
{
	struct json *copy = json_copy_object(arena, found);

	for (size_t i = 0; i < json_count(wanted); i++) {
		const struct json_member *member = &wanted->object.members[i];

		json_set(arena, copy, arena_copy(arena, member->name.data, member->name.length),
			member->value);
	}
	return json_equal(copy, found) ? found : copy;
}

static bool is_same_selector(const struct json *a, const struct json *b)
{
	return json_count(a) == 0 ? json_count(b) == 0 : json_equal(a, b);
}

const struct json *release_correct_service(struct arena *arena, const struct json *service,
	const struct json *live)
{
	const struct json *spec = json_get(service, "spec"), *live_spec = json_get(live, "spec");
	const struct json *ports = json_get(spec, "ports");
	bool same = is_same_selector(json_get(spec, "selector"), json_get(live_spec, "selector")) &&
		    json_count(ports) == json_count(json_get(live_spec, "ports"));
	struct json *corrected = json_new_array(arena);
	const struct json *copy;

	JSON_EACH_ITEM (ports, port) {
		const struct json *found = find_port(live, port);
		const struct json *laid = found ? lay_over(arena, found, port) : port;

		same = same && laid == found;
		json_append(arena, corrected, laid);
	}
	if (same)
		return NULL;
	copy = naming_edit_set(arena, live, "spec", "selector", json_get(spec, "selector"));
	return naming_edit_set(arena, copy, "spec", "ports", ports ? corrected : NULL);
}

/* ---- patches ---- */

const struct json *release_merge_patch(struct arena *arena, const struct json *before,
	const struct json *after)
{
	struct json *patch;

	if (!json_is(before, JSON_OBJECT) || !json_is(after, JSON_OBJECT))
		return before && json_equal(before, after) ? NULL : after;
	patch = json_new_object(arena);
	for (size_t i = 0; i < json_count(before); i++) {
		struct span name = before->object.members[i].name;

		if (!json_get_span(after, name))
			json_set(arena, patch, arena_copy(arena, name.data, name.length),
				json_new_null(arena));
	}
	for (size_t i = 0; i < json_count(after); i++) {
		const struct json_member *member = &after->object.members[i];
		const struct json *part = release_merge_patch(arena,
			json_get_span(before, member->name), member->value);

		json_set(arena, patch, arena_copy(arena, member->name.data, member->name.length),
			part);
	}
	return json_count(patch) > 0 ? patch : NULL;
}
