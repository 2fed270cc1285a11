/* See release_pass.h. */
#include "release/release_pass.h"

#include <stdio.h>

#include "base/memory.h"
#include "release/release_decide.h"
#include "release/release_names.h"
#include "release/release_steps.h"

#define STEPS_MAX 8 /* of one pass */

/* One pass. */
struct pass {
	struct release_passes *passes;
	struct release_known *known;
	struct arena *arena;
	const struct json *object; /* the Release as it was read */
	struct release_snapshot release;
	struct kube_object_list list; /* its histories, from the watch */
	struct release_histories histories;
	struct release_failure failure;
	int rejected;     /* the code with which the API server rejected a history; 0: it did not */
	int64_t again_ms; /* wall time; 0: none */
};

void release_known_free(struct release_known *known)
{
	release_memory_clear(&known->memory);
	free(known->failure_message);
	free(known);
}

/* ---- reading ---- */

static int read_release(struct pass *pass, struct span key, struct err *err)
{
	struct span namespace = SPAN(""), name = key;
	struct object_id id;
	struct json *object;
	int code;

	span_split(key, '/', &namespace, &name);
	id = (struct object_id){.api_version = SPAN(RELEASE_API_VERSION),
		.kind = SPAN("Release"),
		.name = name,
		.namespace = namespace};
	code = object_get(&pass->passes->applier.calls, &id, pass->arena, &object, err);
	if (code < 0)
		return code;
	pass->object = object;
	return release_snapshot_read(pass->arena, object, &pass->release, err);
}

static bool is_needed(const struct release_snapshot *release, int64_t version, int64_t newest,
	int64_t before)
{
	if (version == release->version || version == newest)
		return true;
	if (!release->rolls_back)
		return false;
	return version == (release->roll_back_to == 0 ? before : release->roll_back_to);
}

static bool owns(const struct release_snapshot *release,
	const struct release_known_history *history)
{
	for (size_t i = 0; i < history->owner_count; i++)
		if (span_equal(history->owner_uids[i], release->uid))
			return true;
	return false;
}

/* Of the histories in the watch, and the current one. */
static int64_t newest_version(struct pass *pass)
{
	int64_t newest = pass->release.version;

	if (pass->list.count == 0)
		release_watch_histories(pass->passes->applier.watch, pass->release.namespace,
			pass->release.name, pass->arena, &pass->list);
	for (size_t i = 0; i < pass->list.count; i++) {
		const struct release_known_history *known = pass->list.objects[i]->data;

		if (owns(&pass->release, known) && known->version > newest)
			newest = known->version;
	}
	return newest;
}

/* Adds a history with its source if it exists. */
static int add_history(struct pass *pass, struct release_history *histories, size_t *count,
	int64_t version, struct err *err)
{
	int code = release_read_history(&pass->passes->applier.calls, &pass->release, version,
		pass->arena, &histories[*count], err);

	*count += code == 0;
	return code == -ENOENT ? 0 : code;
}

static int compare_versions(const void *a, const void *b)
{
	int64_t first = ((const struct release_history *)a)->version;
	int64_t second = ((const struct release_history *)b)->version;

	return first < second ? -1 : first > second;
}

/* All versions from the watch; their sources, which may be large, only where the decision needs them. The current
 * version, and one that an interrupted pass may have written, are read even if the watch does not show them yet. */
static int read_histories(struct pass *pass, struct err *err)
{
	const struct release_snapshot *release = &pass->release;
	struct release_history *histories;
	int64_t newest = release->version, before = 0;
	size_t count = 0;
	bool current = false, rollback = false;
	int code = 0;

	kube_object_list_release(&pass->list);
	release_watch_histories(pass->passes->applier.watch, release->namespace, release->name,
		pass->arena, &pass->list);
	histories = arena_allocate_array(pass->arena, pass->list.count + 4, sizeof(*histories));
	for (size_t i = 0; i < pass->list.count; i++) {
		const struct release_known_history *known = pass->list.objects[i]->data;

		if (!owns(release, known))
			continue;
		if (known->version > newest)
			newest = known->version;
		if (known->version < release->version && known->version > before)
			before = known->version;
		current = current || known->version == release->version;
		rollback = rollback || known->version == release->roll_back_to;
	}
	for (size_t i = 0; i < pass->list.count && code == 0; i++) {
		const struct release_known_history *known = pass->list.objects[i]->data;

		if (!owns(release, known))
			continue;
		if (is_needed(release, known->version, newest, before))
			code = add_history(pass, histories, &count, known->version, err);
		else
			histories[count++] =
				(struct release_history){.name = pass->list.objects[i]->name,
					.uid = pass->list.objects[i]->uid,
					.version = known->version,
					.source = {.template_text = SPAN(""), .config = SPAN("")},
					.description = SPAN(""),
					.manifest = SPAN(""),
					.owned = true};
	}
	if (code == 0 && release->version > 0 && !current)
		code = add_history(pass, histories, &count, release->version, err);
	if (code == 0 && release->rolls_back && release->roll_back_to > 0 && !rollback &&
		release->roll_back_to != release->version)
		code = add_history(pass, histories, &count, release->roll_back_to, err);
	if (code == 0)
		code = add_history(pass, histories, &count, newest + 1, err);
	if (code < 0)
		return code;
	qsort(histories, count, sizeof(*histories), compare_versions);
	pass->histories = (struct release_histories){histories, count};
	return 0;
}

/* ---- steps before applying ---- */

/* Asked once. In the arena. */
static int read_kube_version(struct release_passes *passes, struct arena *arena,
	const char **ret_version, struct err *err)
{
	struct kube_version version;
	struct span known;
	int code;

	lock_take(&passes->lock);
	known = arena_copy_span(arena, span_of(passes->kube_version));
	lock_release(&passes->lock);
	if (known.length > 0) {
		*ret_version = known.data;
		return 0;
	}
	code = kube_server_version(passes->applier.calls.client, arena, &version, err);
	if (code < 0)
		return code;
	lock_take(&passes->lock);
	snprintf(passes->kube_version, sizeof(passes->kube_version), "%.*s",
		SPAN_ARGS(version.git));
	*ret_version = arena_copy_string(arena, passes->kube_version);
	lock_release(&passes->lock);
	return 0;
}

/* ---- failures ---- */

/* Of the connection or of the moment: the next try may succeed, and says nothing about the Release. */
static bool is_transient(int code)
{
	static const int codes[] = {
		-EAGAIN, -ECANCELED, -ETIMEDOUT, -EBUSY, -ECONNREFUSED, -ECONNRESET, -EHOSTUNREACH};

	for (size_t i = 0; i < LENGTH(codes); i++)
		if (code == codes[i])
			return true;
	return false;
}

static void note_failure(struct pass *pass, int code, const struct err *err)
{
	if (pass->failure.reason)
		return;
	pass->failure.reason = code == -EPERM ? "NameConflict" : "ApplyFailed";
	pass->failure.message = arena_copy_span(pass->arena, span_of(err->message));
}

/* ---- steps ---- */

/* Makes the step. *ret_again: decide again with what was written. */
static int take_step(struct pass *pass, const struct release_decision *decision, bool *ret_again,
	struct err *err)
{
	struct release_passes *passes = pass->passes;
	struct release_steps steps = {
		.calls = &passes->applier.calls, .now_ms = runner_wall_ms(passes->applier.runner)};
	int code;

	*ret_again = true;
	switch (decision->step) {
	case RELEASE_RENDER:
		code = read_kube_version(passes, pass->arena, &steps.kube_version, err);
		if (code == 0)
			code = release_write_version(&steps, &pass->release, decision->version,
				pass->arena, &pass->failure, err);
		if (code < 0 && !is_transient(code)) {
			note_failure(pass, code, err);
			pass->rejected = code;
			code = 0;
		}
		*ret_again = !pass->failure.reason;
		return code;
	case RELEASE_RECORD:
		return release_record_version(&steps, &pass->release, decision->history,
			newest_version(pass), err);
	case RELEASE_RESTORE:
		return release_restore_source(&steps, &pass->release, decision->history, err);
	case RELEASE_CLEAR_ROLLBACK: return release_clear_rollback(&steps, &pass->release, err);
	case RELEASE_APPLY: break;
	}
	pass->failure = decision->failure;
	*ret_again = false;
	return 0;
}

/* True if there is no step to make; a failure to render is the same as last time. */
static bool is_settled(struct pass *pass)
{
	struct release_known *known = pass->known;

	if (known->settled_generation != pass->release.generation ||
		known->settled_version != pass->release.version)
		return false;
	pass->failure.reason = known->failure_reason;
	pass->failure.message = known->failure_reason ? arena_copy_span(pass->arena,
								span_of(known->failure_message))
						      : SPAN("");
	return true;
}

static void settle(struct pass *pass, const struct release_decision *decision)
{
	struct release_known *known = pass->known;

	/* A version that is not found may still be about to be shown by the watch. */
	if (decision->failure.reason || pass->rejected)
		return;
	known->settled_generation = pass->release.generation;
	known->settled_version = pass->release.version;
	free(known->failure_message);
	known->failure_reason = pass->failure.reason;
	known->failure_message = pass->failure.reason
					 ? memory_copy_string_n(pass->failure.message.data,
						   pass->failure.message.length)
					 : NULL;
}

/* Until nothing is left but to apply. The Release is then as it was read last. */
static int take_steps(struct pass *pass, struct span key, struct err *err)
{
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		struct release_decision decision;
		bool again = false;
		int code = 0;

		if (is_settled(pass))
			return 0;
		code = read_histories(pass, err);
		if (code < 0)
			return code;
		release_decide(pass->arena, &pass->release, &pass->histories, &decision);
		code = take_step(pass, &decision, &again, err);
		if (code < 0)
			return code;
		if (!again) {
			settle(pass, &decision);
			return 0;
		}
		code = read_release(pass, key, err);
		if (code < 0)
			return code;
	}
	return err_set(err, -EAGAIN, "the Release changes all the time");
}

/* ---- applying ---- */

/* Of all versions, the current one included. */
static void list_types(struct pass *pass, struct release_type **ret_types, size_t *ret_count)
{
	struct release_type *types =
		arena_allocate_array(pass->arena, 2 * RELEASE_KINDS_MAX, sizeof(*types));
	size_t count;
	struct release_type *current =
		release_manifest_types(pass->arena, pass->release.manifest, &count);

	memcpy(types, current, count * sizeof(*types));
	for (size_t i = 0; i < pass->list.count; i++) {
		const struct release_known_history *known = pass->list.objects[i]->data;

		for (size_t j = 0; j < known->type_count && count < 2 * RELEASE_KINDS_MAX; j++) {
			bool listed = false;

			for (size_t k = 0; k < count && !listed; k++)
				listed = span_equal(types[k].kind, known->types[j].kind) &&
					 span_equal(types[k].api_version,
						 known->types[j].api_version);
			if (!listed)
				types[count++] = known->types[j];
		}
	}
	*ret_types = types;
	*ret_count = count;
}

static int delete_excess(struct pass *pass, struct err *err)
{
	size_t count;
	const struct release_history **excess;
	int code = pass->histories.items ? 0 : read_histories(pass, err);

	if (code < 0)
		return code;
	excess = release_excess_histories(pass->arena, &pass->release, &pass->histories, &count);
	for (size_t i = 0; i < count; i++) {
		struct object_id id = {.api_version = SPAN(RELEASE_API_VERSION),
			.kind = SPAN("ReleaseHistory"),
			.name = excess[i]->name,
			.namespace = pass->release.namespace};

		code = object_delete(&pass->passes->applier.calls, &id, excess[i]->uid, err);
		if (code < 0 && code != -EAGAIN)
			return code;
	}
	return 0;
}

/* After everything was applied: what is no longer needed. Before the histories, whose types garbage may have. */
static int clean_up(struct pass *pass, const struct release_manifest *manifest, struct err *err)
{
	struct release_type *types;
	size_t count;
	int code;

	list_types(pass, &types, &count);
	code = release_collect(&pass->passes->applier, &pass->release, manifest,
		&pass->known->memory, types, count, &pass->again_ms, err);
	if (code == 0 && pass->again_ms == 0 &&
		pass->list.count > (size_t)pass->release.history_limit)
		code = delete_excess(pass, err);
	return code;
}

static int write_report(struct pass *pass, const struct release_manifest *manifest,
	const struct release_observation *observations, bool applied, struct err *err)
{
	struct release_passes *passes = pass->passes;
	struct release_report summary = {.manifest = manifest,
		.observations = observations,
		.applied = applied,
		.failure = pass->failure,
		.newest_version = newest_version(pass),
		.now_ms = runner_wall_ms(passes->applier.runner)};

	return release_write_status(&passes->applier.calls, &pass->release,
		release_status_write(pass->arena, &pass->release, &summary), err);
}

static struct release_observation *observe_nothing(struct arena *arena, size_t count)
{
	struct release_observation *observations =
		arena_allocate_array(arena, count + 1, sizeof(*observations));

	for (size_t i = 0; i < count; i++)
		observations[i] = (struct release_observation){.phase = RELEASE_PHASE_PROGRESSING,
			.message = SPAN("the object was not observed yet")};
	return observations;
}

static int apply(struct pass *pass, const struct release_manifest *manifest,
	struct release_applied *ret_applied, struct err *err)
{
	const struct release_applier *applier = &pass->passes->applier;
	bool cluster = false;
	int code = release_has_cluster_objects(applier, manifest, &cluster, err);

	if (code == 0 && cluster)
		code = release_set_finalizer(&applier->calls, &pass->release, pass->object, true,
			err);
	return code < 0 ? code
			: release_apply(applier, &pass->release, manifest, &pass->known->memory,
				  ret_applied, err);
}

/* Applies, reports, and then deletes what is not needed any more. */
static int converge(struct pass *pass, struct err *err)
{
	struct release_observation *observations;
	struct release_manifest manifest;
	struct err failure = {0};
	struct release_applied applied = {0};
	int code, reported;

	code = release_manifest_read(pass->arena, pass->release.manifest, &manifest, err);
	if (code < 0)
		return code;
	observations = observe_nothing(pass->arena, manifest.count);
	code = apply(pass, &manifest, &applied, &failure);
	if (code == 0)
		code = release_observe(&pass->passes->applier, &pass->release, &manifest,
			&pass->known->memory, pass->arena, &observations, &failure);
	if (code < 0 && err)
		*err = failure;
	if (code < 0 && is_transient(code))
		return code;
	if (code < 0)
		note_failure(pass, code, &failure);
	reported = write_report(pass, &manifest, observations, code == 0 && !applied.pending, err);
	if (reported < 0)
		return reported;
	if (code == 0 && !applied.pending && pass->release.version > 0)
		code = clean_up(pass, &manifest, err);
	if (applied.again_ms > 0 && (pass->again_ms == 0 || applied.again_ms < pass->again_ms))
		pass->again_ms = applied.again_ms;
	return code;
}

/* Kubernetes deletes what has the Release as its owner. */
static int finalize(struct pass *pass, struct err *err)
{
	const struct release_applier *applier = &pass->passes->applier;
	struct release_type *types;
	size_t count;
	bool left = false;
	int code;

	release_watch_histories(pass->passes->applier.watch, pass->release.namespace,
		pass->release.name, pass->arena, &pass->list);
	list_types(pass, &types, &count);
	code = release_delete_cluster_objects(applier, &pass->release, types, count, &left, err);
	if (code < 0 || left)
		return code;
	return release_set_finalizer(&applier->calls, &pass->release, pass->object, false, err);
}

int release_pass_run(struct release_passes *passes, struct release_known *known, struct span key,
	int64_t *ret_again_ms, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct pass pass = {.passes = passes, .arena = arena, .known = known};
	int code = read_release(&pass, key, err);

	if (code == -ENOENT)
		return RELEASE_PASS_GONE;
	if (code == 0 && pass.release.deleting) {
		code = finalize(&pass, err);
	} else if (code == 0) {
		code = take_steps(&pass, key, err);
		if (code == 0)
			code = converge(&pass, err);
		if (code == 0 && pass.rejected)
			code = err_set(err, pass.rejected, "%.*s", SPAN_ARGS(pass.failure.message));
	}
	kube_object_list_release(&pass.list);
	*ret_again_ms = pass.again_ms;
	return code;
}
