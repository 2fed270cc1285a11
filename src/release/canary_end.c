/* The ends of a canary: adoption (A1 to A7) and deprecation (D1 to D6). See canary_decide.h. */
#include "base/clock.h"
#include "base/memory.h"
#include "release/canary_deciding.h"
#include "release/canary_services.h"
#include "release/naming.h"
#include "release/release_names.h"

/* ---- shared ---- */

bool canary_restore(struct canary_deciding *deciding, const struct canary_proxied_service *proxied)
{
	const struct json *live = canary_find_service_object(deciding, proxied->name, "");
	const struct release_object *stable = release_manifest_find(&deciding->stable, SPAN("v1"),
		SPAN("Service"), proxied->name);
	const struct json *wanted;

	if (!live || !span_equal(canary_service_holder(live), deciding->canary->name))
		return false;
	/* The Release may have another version by now: its manifest is newer than the record. */
	wanted = stable ? canary_service_like(deciding->arena, deciding->canary, stable->json, live,
				  false)
			: canary_service_as_recorded(deciding->arena, proxied, live);
	return wanted && canary_update(deciding, wanted);
}

bool canary_remove_copy(struct canary_deciding *deciding, struct span service, const char *ending)
{
	const struct json *live = canary_find_service_object(deciding, service, ending);

	return live && canary_remove(deciding, live);
}

static bool remove_copies(struct canary_deciding *deciding, const char *ending)
{
	for (size_t i = 0; i < deciding->canary->proxied_count; i++)
		if (canary_remove_copy(deciding, deciding->canary->proxied[i].name, ending))
			return true;
	return false;
}

bool canary_clean_up(struct canary_deciding *deciding)
{
	const struct json *objects[CANARY_PROXY_OBJECTS_MAX];
	struct json *members = json_new_object(deciding->arena);
	size_t count = canary_proxy_objects(deciding->arena, deciding->canary,
		&deciding->input->settings, objects);

	/* The Deployment is the last one in the list: without it the others are not needed. */
	for (size_t i = count; i-- > 0;)
		if (canary_remove(deciding, objects[i]))
			return true;
	json_set(deciding->arena, members, "proxies", json_new_null(deciding->arena));
	return canary_journal(deciding, CANARY_STEP_DONE, members, NULL);
}

static bool archive(struct canary_deciding *deciding, enum canary_transition phase,
	enum canary_step step)
{
	const char *name = canary_transition_name(phase);
	const struct canary_condition conditions[] = {
		{"Archived", true, name, SPAN("")},
		{"Available", false, name, SPAN("")},
		{"Progressing", false, name, SPAN("")},
		{"Failure", false, name, SPAN("")},
	};
	struct json *members = json_new_object(deciding->arena);

	json_set_string(deciding->arena, members, "phase", span_of(name));
	json_set(deciding->arena, members, "manifest", json_new_null(deciding->arena));
	json_set(deciding->arena, members, "naming", json_new_null(deciding->arena));
	json_set(deciding->arena, members, "conditions",
		canary_conditions(deciding, conditions, LENGTH(conditions)));
	return canary_journal(deciding, step, members, name);
}

/* ---- adoption ---- */

static bool point_to_canary(struct canary_deciding *deciding)
{
	for (size_t i = 0; i < deciding->canary->proxied_count; i++) {
		struct span name = deciding->canary->proxied[i].name;
		const struct json *live = canary_find_service_object(deciding, name, "");
		const struct json *copy = canary_find_service_object(deciding, name, NAMING_CANARY);
		const struct json *wanted;

		if (!live || !copy || deciding->canary->proxied[i].restored_ms != 0)
			continue;
		wanted = canary_service_like(deciding->arena, deciding->canary, copy, live, true);
		if (wanted)
			return canary_update(deciding, wanted);
	}
	return false;
}

/* Workloads of the path keep running until connections through the proxy had their time. */
static bool keep_stable_workloads(struct canary_deciding *deciding)
{
	int64_t until_ms = deciding->canary->step_ms + deciding->canary->drain_seconds * 1000;
	char until[CLOCK_ISO_SIZE];

	clock_format_iso(until_ms, until);
	for (size_t i = 0; i < deciding->stable.count; i++) {
		const struct json *object = deciding->stable.objects[i].json, *live;
		const struct json *annotations;

		if (!naming_is_workload(object))
			continue;
		live = canary_find_object(deciding, object).object;
		annotations = json_path(live, "metadata.annotations");
		if (live && !span_is(json_get_text(annotations, RELEASE_DRAIN_ANNOTATION), until))
			return canary_merge(deciding, object,
				release_with_metadata(deciding->arena,
					json_new_object(deciding->arena), "annotations",
					RELEASE_DRAIN_ANNOTATION,
					arena_copy_span(deciding->arena, span_of(until))));
	}
	return false;
}

/* True if the Release's spec has the canary's values and names. */
static bool release_is_written(struct canary_deciding *deciding, struct span config)
{
	const struct release_snapshot *release = deciding->input->release;
	const struct release_source wanted = {
		release->source.template_text, config, deciding->canary->naming};

	return release_source_equal(&release->source, &wanted);
}

static bool write_release(struct canary_deciding *deciding)
{
	const struct canary *canary = deciding->canary;
	const struct json *object = deciding->input->release_object;
	struct json *release, *spec;
	struct span config;
	struct err err;

	if (!deciding->input->release)
		return canary_fail(deciding, "AdoptPending",
			arena_format(deciding->arena, "Release '%.*s' not found",
				SPAN_ARGS(canary->release)));
	if (canary_config_merge(deciding->arena, deciding->input->release->source.config,
		    canary->path, canary->config, &config, &err) < 0)
		return canary_fail(deciding, "AdoptPending",
			arena_copy_span(deciding->arena, span_of(err.message)));
	if (release_is_written(deciding, config))
		return false;
	spec = json_copy_object(deciding->arena, json_get(object, "spec"));
	json_set_string(deciding->arena, spec, "config", config);
	json_set(deciding->arena, spec, "naming", canary->naming);
	release = json_copy_object(deciding->arena, object);
	json_set(deciding->arena, release, "spec", spec);
	return canary_change(deciding, object, release);
}

/* A3: all objects of a version after the one that the canary was made for are applied. */
static bool wait_for_version(struct canary_deciding *deciding)
{
	const struct release_snapshot *release = deciding->input->release;
	const struct canary *canary = deciding->canary;
	int64_t limit_ms = canary->step_ms + CANARY_ADOPT_TIMEOUT_S * 1000;

	if (release && release->version > canary->adopted_from &&
		release->applied_version == release->version &&
		json_get_integer(release->status, "observedGeneration", 0) >= release->generation)
		return false;
	if (deciding->input->now_ms < limit_ms)
		return canary_wait(deciding, limit_ms);
	return canary_fail(deciding, "AdoptPending",
		arena_format(deciding->arena,
			"Release '%.*s' has the canary's values, but no new version after %d s",
			SPAN_ARGS(canary->release), CANARY_ADOPT_TIMEOUT_S));
}

static const struct json *without_owner(struct arena *arena, const struct json *live,
	struct span uid)
{
	struct json *object = json_copy_object(arena, live), *owners = json_new_array(arena);
	struct json *metadata = json_copy_object(arena, json_get(live, "metadata"));
	const struct json *labels = json_get(metadata, "labels");

	JSON_EACH_ITEM (json_get(metadata, "ownerReferences"), owner)
		if (!span_equal(json_get_text(owner, "uid"), uid))
			json_append(arena, owners, owner);
	json_set(arena, metadata, "ownerReferences", owners);
	if (json_is(labels, JSON_OBJECT)) {
		struct json *copy = json_copy_object(arena, labels);

		json_unset(copy, RELEASE_CREATED_BY_LABEL);
		json_set(arena, metadata, "labels", copy);
	}
	json_set(arena, object, "metadata", metadata);
	return object;
}

/* A4. The Release's apply has taken over already what it renders alike; the rest is done here. */
static bool give_to_release(struct canary_deciding *deciding)
{
	for (size_t i = 0; i < deciding->objects.count; i++) {
		const struct json *object = deciding->objects.objects[i].json;
		const struct json *live = canary_find_object(deciding, object).object;

		if (!naming_is_service(object) && canary_owns(deciding, live))
			return canary_change(deciding, live,
				without_owner(deciding->arena, live, deciding->canary->uid));
	}
	/* From now on the Release writes the Services. */
	for (size_t i = 0; i < deciding->canary->proxied_count; i++)
		if (canary_restore(deciding, &deciding->canary->proxied[i]))
			return true;
	return false;
}

bool canary_adopt(struct canary_deciding *deciding)
{
	const struct canary *canary = deciding->canary;
	struct json *members = json_new_object(deciding->arena);

	switch (canary->step) {
	case CANARY_STEP_A1:
		if (point_to_canary(deciding) || keep_stable_workloads(deciding))
			return true;
		json_set_integer(deciding->arena, members, "adoptedFrom",
			deciding->input->release->version);
		return canary_journal(deciding, CANARY_STEP_A2, members, NULL);
	case CANARY_STEP_A2:
		return write_release(deciding) ||
		       canary_journal(deciding, CANARY_STEP_A3, NULL, NULL);
	case CANARY_STEP_A3:
		return wait_for_version(deciding) ||
		       canary_journal(deciding, CANARY_STEP_A4, NULL, NULL);
	case CANARY_STEP_A4:
		return give_to_release(deciding) ||
		       canary_journal(deciding, CANARY_STEP_A5, NULL, NULL);
	default: /* A5, then A6 and A7 */
		return remove_copies(deciding, NAMING_FORKED) ||
		       remove_copies(deciding, NAMING_CANARY) ||
		       archive(deciding, CANARY_ADOPTED, CANARY_STEP_A7);
	}
}

/* ---- deprecation ---- */

static bool restore_all(struct canary_deciding *deciding)
{
	for (size_t i = 0; i < deciding->canary->proxied_count; i++)
		if (canary_restore(deciding, &deciding->canary->proxied[i]))
			return true;
	return false;
}

static bool drain(struct canary_deciding *deciding)
{
	const struct canary_input *input = deciding->input;
	int64_t until_ms = deciding->canary->step_ms + deciding->canary->drain_seconds * 1000;

	if (input->now_ms >= until_ms ||
		canary_proxies_drained(deciding->canary, input->pods, input->pod_count))
		return false;
	return canary_wait(deciding, until_ms);
}

static bool remove_objects(struct canary_deciding *deciding)
{
	for (size_t i = 0; i < deciding->objects.count; i++)
		if (canary_remove(deciding, deciding->objects.objects[i].json))
			return true;
	return false;
}

bool canary_deprecate(struct canary_deciding *deciding)
{
	switch (deciding->canary->step) {
	case CANARY_STEP_D1:
		return restore_all(deciding) ||
		       canary_journal(deciding, CANARY_STEP_D2, NULL, NULL);
	case CANARY_STEP_D2:
		return drain(deciding) || canary_journal(deciding, CANARY_STEP_D3, NULL, NULL);
	case CANARY_STEP_D3:
		return remove_objects(deciding) ||
		       canary_journal(deciding, CANARY_STEP_D4, NULL, NULL);
	default: /* D4, then D5 and D6 */
		return remove_copies(deciding, NAMING_FORKED) ||
		       archive(deciding, CANARY_DEPRECATED, CANARY_STEP_D6);
	}
}
