/* See canary_decide.h. */
#include "release/canary_deciding.h"

#include "base/clock.h"
#include "base/memory.h"
#include "release/release_adjust.h"
#include "release/release_names.h"

uint64_t canary_hash(const struct json *object)
{
	_buffer_ struct buffer text = {0};

	json_write(object, &text);
	return span_hash(buffer_span(&text)) | 1; /* 0 stands for "not known" */
}

/* ---- reads ---- */

static struct canary_live canary_find(const struct canary_deciding *deciding,
	struct span api_version, struct span kind, struct span name)
{
	const struct object_id id = {.api_version = api_version,
		.kind = kind,
		.name = name,
		.namespace = deciding->canary->namespace};

	return deciding->input->find(deciding->input->context, &id);
}

struct canary_live canary_find_object(const struct canary_deciding *deciding,
	const struct json *object)
{
	return canary_find(deciding, json_get_text(object, "apiVersion"),
		json_get_text(object, "kind"), json_get_text(json_get(object, "metadata"), "name"));
}

const struct json *canary_find_service_object(const struct canary_deciding *deciding,
	struct span name, const char *ending)
{
	struct span full = arena_format(deciding->arena, "%.*s%s", SPAN_ARGS(name), ending);

	return canary_find(deciding, SPAN("v1"), SPAN("Service"), full).object;
}

static bool is_deleting(const struct json *object)
{
	return !json_is_absent(json_path(object, "metadata.deletionTimestamp"));
}

bool canary_owns(const struct canary_deciding *deciding, const struct json *live)
{
	return live && !is_deleting(live) && object_is_owned(live, deciding->canary->uid);
}

/* ---- writes ---- */

bool canary_wait(struct canary_deciding *deciding, int64_t until_ms)
{
	if (until_ms != 0 && (deciding->until_ms == 0 || until_ms < deciding->until_ms))
		deciding->until_ms = until_ms;
	*deciding->decision =
		(struct canary_decision){.verb = CANARY_WAIT, .until_ms = deciding->until_ms};
	return true;
}

static struct object_id own_id(const struct canary_deciding *deciding)
{
	return (struct object_id){.api_version = SPAN(RELEASE_API_VERSION),
		.kind = SPAN("CanaryRelease"),
		.name = deciding->canary->name,
		.namespace = deciding->canary->namespace};
}

/* A patch for this CanaryRelease, not for another one of its name. */
static struct json *own_patch(const struct canary_deciding *deciding)
{
	struct json *patch = json_new_object(deciding->arena),
		    *metadata = json_new_object(deciding->arena);

	json_set_string(deciding->arena, metadata, "uid", deciding->canary->uid);
	json_set(deciding->arena, patch, "metadata", metadata);
	return patch;
}

bool canary_write_status(struct canary_deciding *deciding, const struct json *members,
	const char *event)
{
	const struct json *change =
		canary_status_change(deciding->arena, deciding->canary->status, members);
	struct json *patch, *status;
	char now[CLOCK_ISO_SIZE];

	if (!change)
		return false;
	clock_format_iso(deciding->input->now_ms, now);
	status = json_copy_object(deciding->arena, change);
	json_set_integer(deciding->arena, status, "observedGeneration",
		deciding->canary->generation);
	json_set_string(deciding->arena, status, "lastUpdateTime", span_of(now));
	patch = own_patch(deciding);
	json_set(deciding->arena, patch, "status", status);
	*deciding->decision = (struct canary_decision){.verb = CANARY_MERGE_STATUS,
		.object = patch,
		.id = own_id(deciding),
		.manager = RELEASE_CANARY_FIELD_MANAGER,
		.event = event};
	return true;
}

bool canary_journal(struct canary_deciding *deciding, enum canary_step step, struct json *members,
	const char *event)
{
	char now[CLOCK_ISO_SIZE];

	if (deciding->canary->step == step)
		return false;
	if (!members)
		members = json_new_object(deciding->arena);
	clock_format_iso(deciding->input->now_ms, now);
	json_set_string(deciding->arena, members, "step", span_of(canary_step_name(step)));
	json_set_string(deciding->arena, members, "stepTime", span_of(now));
	return canary_write_status(deciding, members, event);
}

const struct json *canary_conditions(struct canary_deciding *deciding,
	const struct canary_condition *conditions, size_t count)
{
	const struct json *list = json_get(deciding->canary->status, "conditions");

	for (size_t i = 0; i < count; i++)
		list = canary_set_condition(deciding->arena, list, &conditions[i],
			deciding->canary->generation, deciding->input->now_ms);
	return list;
}

bool canary_fail(struct canary_deciding *deciding, const char *reason, struct span message)
{
	const struct canary_condition condition = {"Failure", true, reason, message};
	struct json *members = json_new_object(deciding->arena);

	json_set(deciding->arena, members, "conditions",
		canary_conditions(deciding, &condition, 1));
	return canary_write_status(deciding, members, reason) || canary_wait(deciding, 0);
}

bool canary_update(struct canary_deciding *deciding, const struct json *object)
{
	*deciding->decision = (struct canary_decision){.verb = CANARY_UPDATE,
		.object = object,
		.id = object_id_of(object, deciding->canary->namespace),
		.manager = RELEASE_CANARY_FIELD_MANAGER};
	return true;
}

bool canary_merge(struct canary_deciding *deciding, const struct json *object,
	const struct json *patch)
{
	*deciding->decision = (struct canary_decision){.verb = CANARY_MERGE,
		.object = patch,
		.id = object_id_of(object, deciding->canary->namespace),
		.manager = RELEASE_CANARY_FIELD_MANAGER};
	return true;
}

bool canary_change(struct canary_deciding *deciding, const struct json *before,
	const struct json *after)
{
	const struct json *patch = release_merge_patch(deciding->arena, before, after);
	struct json *changed = json_copy_object(deciding->arena, patch);
	const struct json *metadata = json_get(patch, "metadata");
	struct json *precondition = metadata ? json_copy_object(deciding->arena, metadata)
					     : json_new_object(deciding->arena);

	json_set(deciding->arena, precondition, "resourceVersion",
		json_path(before, "metadata.resourceVersion"));
	json_set(deciding->arena, changed, "metadata", precondition);
	return canary_merge(deciding, before, changed);
}

bool canary_ensure(struct canary_deciding *deciding, const struct json *object, bool with_release)
{
	const struct canary *canary = deciding->canary;
	const struct release_snapshot *release = deciding->input->release;
	struct object_owner owners[] = {
		{SPAN(RELEASE_API_VERSION), SPAN("CanaryRelease"), canary->name, canary->uid, true},
		{SPAN(RELEASE_API_VERSION), SPAN("Release"), SPAN(""), SPAN(""), false},
	};
	struct canary_live live = canary_find_object(deciding, object);
	const struct object_id id = object_id_of(object, canary->namespace);
	const struct json *wanted;

	if (with_release && release) {
		owners[1].name = release->name;
		owners[1].uid = release->uid;
	}
	if (live.object && release_has_replicas(object) && deciding->input->is_scaled &&
		deciding->input->is_scaled(deciding->input->context, &id))
		object = release_keep_replicas(deciding->arena, object, live.object);
	wanted = object_with_owners(deciding->arena, object, owners,
		with_release && release ? LENGTH(owners) : 1);
	if (live.object && !object_is_owned(live.object, canary->uid))
		return canary_fail(deciding, "NameConflict",
			arena_format(deciding->arena,
				"%.*s '%.*s' exists and does not belong to this CanaryRelease",
				SPAN_ARGS(json_get_text(object, "kind")),
				SPAN_ARGS(json_get_text(json_get(object, "metadata"), "name"))));
	if (live.object && is_deleting(live.object))
		return canary_wait(deciding, 0);
	if (live.object && live.applied == canary_hash(wanted))
		return false;
	*deciding->decision = (struct canary_decision){.verb = CANARY_APPLY,
		.object = wanted,
		.id = id,
		.manager = with_release ? RELEASE_FIELD_MANAGER : RELEASE_CANARY_FIELD_MANAGER};
	return true;
}

bool canary_remove(struct canary_deciding *deciding, const struct json *object)
{
	const struct json *live = canary_find_object(deciding, object).object;

	if (!canary_owns(deciding, live))
		return false;
	*deciding->decision = (struct canary_decision){.verb = CANARY_DELETE,
		.id = object_id_of(object, deciding->canary->namespace),
		.uid = json_get_text(json_get(live, "metadata"), "uid")};
	return true;
}

/* ---- the decision ---- */

static bool set_finalizer(struct canary_deciding *deciding, bool present)
{
	struct json *patch = own_patch(deciding), *list = json_new_array(deciding->arena);
	struct json *metadata = json_copy_object(deciding->arena, json_get(patch, "metadata"));

	if (present)
		json_append(deciding->arena, list,
			json_new_string(deciding->arena, SPAN(CANARY_FINALIZER)));
	/* The list is replaced whole: only as long as it is the one that was read. */
	json_set_string(deciding->arena, metadata, "resourceVersion",
		deciding->canary->resource_version);
	JSON_EACH_ITEM (deciding->canary->finalizers, each)
		if (!span_is(json_text(each), CANARY_FINALIZER))
			json_append(deciding->arena, list, each);
	json_set(deciding->arena, metadata, "finalizers", list);
	json_set(deciding->arena, patch, "metadata", metadata);
	*deciding->decision = (struct canary_decision){.verb = CANARY_MERGE,
		.object = patch,
		.id = own_id(deciding),
		.manager = RELEASE_CANARY_FIELD_MANAGER};
	return true;
}

static bool write_spec(struct canary_deciding *deciding, struct json *spec, const char *event)
{
	struct json *patch = own_patch(deciding);

	json_set(deciding->arena, patch, "spec", spec);
	*deciding->decision = (struct canary_decision){.verb = CANARY_MERGE,
		.object = patch,
		.id = own_id(deciding),
		.manager = RELEASE_CANARY_FIELD_MANAGER,
		.event = event};
	return true;
}

bool canary_set_transition(struct canary_deciding *deciding, struct span transition,
	const char *event)
{
	struct json *spec = json_new_object(deciding->arena);

	json_set_string(deciding->arena, spec, "transition", transition);
	return write_spec(deciding, spec, event);
}

bool canary_set_paused(struct canary_deciding *deciding, const char *event)
{
	struct json *spec = json_new_object(deciding->arena);

	json_set(deciding->arena, spec, "paused", json_new_bool(deciding->arena, true));
	return write_spec(deciding, spec, event);
}

static bool delete_itself(struct canary_deciding *deciding)
{
	*deciding->decision = (struct canary_decision){.verb = CANARY_DELETE,
		.id = own_id(deciding),
		.uid = deciding->canary->uid,
		.event = "ReleaseDeleted"};
	return true;
}

static bool release_is_gone(const struct canary_deciding *deciding)
{
	const struct release_snapshot *release = deciding->input->release;

	return deciding->canary->release_uid.length > 0 &&
	       (!release || release->deleting ||
		       !span_equal(release->uid, deciding->canary->release_uid));
}

/* Before A2 the adoption can be given up; from then on it is completed. */
static bool can_turn_back(const struct canary *canary)
{
	return canary->step < CANARY_STEP_A2;
}

static bool begin_deprecation(struct canary_deciding *deciding)
{
	return canary_journal(deciding, CANARY_STEP_D1, NULL, "Deprecating");
}

static bool decide_active(struct canary_deciding *deciding)
{
	const struct canary *canary = deciding->canary;
	const struct release_snapshot *release = deciding->input->release;

	if (canary->deleting || canary->transition == CANARY_DEPRECATED)
		return begin_deprecation(deciding);
	if (release_is_gone(deciding))
		return delete_itself(deciding);
	if (!release)
		return canary_fail(deciding, "ReleaseNotFound",
			arena_format(deciding->arena, "Release '%.*s' not found",
				SPAN_ARGS(canary->release)));
	if (release->version != 0 && release->version != canary->version)
		return canary_set_transition(deciding, SPAN("Deprecated"), "VersionChanged");
	if (canary->step == CANARY_STEP_A1)
		return canary->transition == CANARY_ADOPTED
			       ? canary_adopt(deciding)
			       : canary_journal(deciding, CANARY_STEP_C7, NULL, "AdoptionCanceled");
	return canary_run(deciding);
}

/* The recorded objects; a manifest that cannot be read would leave them behind. */
static bool read_manifests(struct canary_deciding *deciding)
{
	const struct release_snapshot *release = deciding->input->release;
	struct err err;

	if (release_manifest_read(deciding->arena, deciding->canary->manifest, &deciding->objects,
		    &err) < 0 ||
		(release && release_manifest_read(deciding->arena, release->manifest,
				    &deciding->stable, &err) < 0))
		return canary_fail(deciding, "ManifestUnreadable",
			arena_copy_span(deciding->arena, span_of(err.message)));
	return false;
}

void canary_decide(struct arena *arena, const struct canary_input *input,
	struct canary_decision *ret_decision)
{
	const struct canary *canary = input->canary;
	struct canary_deciding deciding = {
		.arena = arena, .input = input, .canary = canary, .decision = ret_decision};

	*ret_decision = (struct canary_decision){.verb = CANARY_WAIT};
	if (canary->deleting && !canary->has_finalizer)
		return;
	if (canary->deleting && canary->step == CANARY_STEP_DONE) {
		set_finalizer(&deciding, false);
		return;
	}
	if (canary->step == CANARY_STEP_DONE || read_manifests(&deciding))
		return;
	if (!canary->has_finalizer)
		set_finalizer(&deciding, true);
	else if (canary->step == CANARY_STEP_A7 || canary->step == CANARY_STEP_D6)
		canary_clean_up(&deciding);
	else if (canary_step_deprecates(canary->step))
		canary_deprecate(&deciding);
	else if (canary_step_adopts(canary->step) && !can_turn_back(canary))
		(void)((release_is_gone(&deciding) && begin_deprecation(&deciding)) ||
			canary_adopt(&deciding));
	else
		decide_active(&deciding);
}

void canary_decide_invalid(struct arena *arena, const struct canary_input *input,
	const char *message, struct canary_decision *ret_decision)
{
	struct canary_deciding deciding = {
		.arena = arena, .input = input, .canary = input->canary, .decision = ret_decision};

	*ret_decision = (struct canary_decision){.verb = CANARY_WAIT};
	canary_fail(&deciding, "InvalidSpec", span_of(message));
}
