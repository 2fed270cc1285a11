/* The creation of a canary, steps C1 to C8, and its repair while it is active. See canary_decide.h. */
#include "base/memory.h"
#include "kube/object.h"
#include "release/canary_deciding.h"
#include "release/canary_services.h"
#include "release/naming.h"

/* ---- Services that left the spec ---- */

static const struct json *find_restored(struct canary_deciding *deciding)
{
	struct json *list = json_new_array(deciding->arena);
	const struct canary *canary = deciding->canary;

	for (size_t i = 0; i < canary->proxied_count; i++)
		if (!canary_find_service(canary, canary->proxied[i].name) &&
			canary->proxied[i].restored_ms != 0)
			json_append(deciding->arena, list,
				json_new_string(deciding->arena, canary->proxied[i].name));
	return list;
}

static bool write_proxied(struct canary_deciding *deciding,
	const struct canary_proxied_service *services, size_t count)
{
	struct json *members = json_new_object(deciding->arena);

	json_set(deciding->arena, members, "services",
		canary_write_proxied(deciding->arena, services, count));
	return canary_write_status(deciding, members, NULL);
}

/* The proxy serves its open connections for drainSeconds; then its copies are deleted and it is forgotten. */
static bool release_service(struct canary_deciding *deciding, size_t index)
{
	const struct canary *canary = deciding->canary;
	struct canary_proxied_service *proxied = &canary->proxied[index], *rest;
	int64_t until_ms;
	size_t count = 0;

	if (canary_restore(deciding, proxied))
		return true;
	rest = arena_allocate_array(deciding->arena, canary->proxied_count, sizeof(*rest));
	for (size_t i = 0; i < canary->proxied_count; i++)
		rest[count++] = canary->proxied[i];
	if (proxied->restored_ms == 0) {
		rest[index].restored_ms = deciding->input->now_ms;
		return write_proxied(deciding, rest, count);
	}
	until_ms = proxied->restored_ms + canary->drain_seconds * 1000;
	if (deciding->input->now_ms < until_ms) {
		canary_wait(deciding, until_ms);
		return false;
	}
	if (canary_remove_copy(deciding, proxied->name, NAMING_CANARY) ||
		canary_remove_copy(deciding, proxied->name, NAMING_FORKED))
		return true;
	for (size_t i = index; i + 1 < count; i++)
		rest[i] = rest[i + 1];
	return write_proxied(deciding, rest, count - 1);
}

static bool release_services(struct canary_deciding *deciding)
{
	for (size_t i = 0; i < deciding->canary->proxied_count; i++)
		if (!canary_find_service(deciding->canary, deciding->canary->proxied[i].name) &&
			release_service(deciding, i))
			return true;
	return false;
}

/* ---- the plan ---- */

static bool check_holders(struct canary_deciding *deciding, const struct json *const *services)
{
	const struct canary *canary = deciding->canary;

	for (size_t i = 0; i < canary->service_count; i++) {
		struct span name = canary->services[i].name;
		struct span holder = canary_service_holder(services[i]);
		const struct json *copy = canary_find_service_object(deciding, name, NAMING_FORKED);
		const struct json *owner =
			json_item(json_path(copy, "metadata.ownerReferences"), 0);

		if (holder.length == 0 && copy && !object_is_owned(copy, canary->uid) &&
			span_is(json_get_text(owner, "kind"), "CanaryRelease"))
			holder = json_get_text(owner, "name");
		if (holder.length > 0 && !span_equal(holder, canary->name))
			return canary_fail(deciding, "ServiceAlreadyCanaried",
				arena_format(deciding->arena,
					"Service '%.*s' is taken over by CanaryRelease '%.*s'",
					SPAN_ARGS(name), SPAN_ARGS(holder)));
	}
	return false;
}

/* True for an object of the plan, or the copy of a Service that still has connections. */
static bool is_kept(const struct canary_deciding *deciding, const struct canary_plan *plan,
	const struct release_object *object)
{
	JSON_EACH_ITEM (find_restored((struct canary_deciding *)deciding), service) {
		struct span copy = arena_format(deciding->arena, "%.*s" NAMING_CANARY,
			SPAN_ARGS(json_text(service)));

		if (span_equal(copy, object->name))
			return true;
	}
	return release_manifest_find(&plan->objects, object->api_version, object->kind,
		object->name);
}

static bool remove_left_over(struct canary_deciding *deciding, const struct canary_plan *plan)
{
	for (size_t i = 0; i < deciding->objects.count; i++)
		if (!is_kept(deciding, plan, &deciding->objects.objects[i]) &&
			canary_remove(deciding, deciding->objects.objects[i].json))
			return true;
	return false;
}

/* Those of the plan, and those that left the spec and still have connections. */
static const struct json *planned_services(struct canary_deciding *deciding,
	const struct canary_plan *plan)
{
	const struct canary *canary = deciding->canary;
	struct canary_proxied_service *all = arena_allocate_array(deciding->arena,
		plan->proxied_count + canary->proxied_count + 1, sizeof(*all));
	size_t count = 0;

	for (size_t i = 0; i < plan->proxied_count; i++)
		all[count++] = plan->proxied[i];
	for (size_t i = 0; i < canary->proxied_count; i++)
		if (!canary_find_service(canary, canary->proxied[i].name))
			all[count++] = canary->proxied[i];
	return canary_write_proxied(deciding->arena, all, count);
}

/* Records what is planned. Other weights alone leave everything but the generation as it is. */
static bool record_plan(struct canary_deciding *deciding, const struct canary_plan *plan)
{
	const struct canary *canary = deciding->canary;
	struct arena *arena = deciding->arena;
	struct json *members = json_new_object(arena);
	const struct canary_condition fixed = {"Failure", false, "Planned", SPAN("")};
	bool first = canary->planned_generation == 0;
	const struct canary_condition progressing[] = {
		fixed, {"Progressing", true, first ? "Creating" : "Updating", SPAN("")}};
	bool same = span_equal(plan->manifest, canary->manifest) && canary->naming &&
		    json_equal(plan->naming, canary->naming);

	json_set_string(arena, members, "manifest", plan->manifest);
	json_set(arena, members, "naming", plan->naming);
	json_set(arena, members, "services", planned_services(deciding, plan));
	json_set(arena, members, "notDuplicated", plan->not_duplicated);
	json_set_integer(arena, members, "plannedGeneration", canary->generation);
	json_set_string(arena, members, "releaseUid", deciding->input->release->uid);
	json_set(arena, members, "conditions",
		canary_conditions(deciding, progressing,
			same && canary->step == CANARY_STEP_C8 ? 1 : LENGTH(progressing)));
	if (same && canary->step != CANARY_STEP_NONE)
		return canary_write_status(deciding, members, NULL);
	return canary_journal(deciding, CANARY_STEP_C3, members, first ? "Creating" : "Updating") ||
	       canary_write_status(deciding, members, NULL);
}

/* C1 and C2. False: the recorded plan is current, or there is one from before. */
static bool plan(struct canary_deciding *deciding)
{
	const struct canary *canary = deciding->canary;
	const struct json **services =
		arena_allocate_array(deciding->arena, canary->service_count + 1, sizeof(*services));
	const struct canary_plan_input input = {
		.canary = canary, .release = deciding->input->release, .services = services};
	struct canary_failure failure = {0};
	struct canary_plan made;

	if (canary->planned_generation == canary->generation)
		return false;
	for (size_t i = 0; i < canary->service_count; i++)
		services[i] = canary_find_service_object(deciding, canary->services[i].name, "");
	if (canary_plan_make(deciding->arena, &input, &made, &failure) < 0) {
		/* The canary runs on as it was planned. */
		canary_fail(deciding, failure.reason, failure.message);
		return canary->planned_generation == 0 || deciding->decision->verb != CANARY_WAIT;
	}
	return check_holders(deciding, services) || remove_left_over(deciding, &made) ||
	       record_plan(deciding, &made);
}

/* ---- effects ---- */

/* The journal goes forward only: repairs leave it. */
static bool reach(struct canary_deciding *deciding, enum canary_step step)
{
	return deciding->canary->step < step && canary_journal(deciding, step, NULL, NULL);
}

static bool ensure_objects(struct canary_deciding *deciding)
{
	for (size_t i = 0; i < deciding->objects.count; i++) {
		const struct json *object = deciding->objects.objects[i].json;

		if (canary_ensure(deciding, object, !naming_is_service(object)))
			return true;
	}
	return false;
}

static bool ensure_forked(struct canary_deciding *deciding)
{
	for (size_t i = 0; i < deciding->canary->proxied_count; i++) {
		const struct json *copy;
		struct err err;

		if (deciding->canary->proxied[i].restored_ms != 0)
			continue;
		if (canary_plan_forked(deciding->arena, deciding->canary, &deciding->stable,
			    deciding->canary->proxied[i].name, &copy, &err) < 0)
			return canary_fail(deciding, "ServiceNotFound",
				arena_copy_span(deciding->arena, span_of(err.message)));
		if (canary_ensure(deciding, copy, false))
			return true;
	}
	return false;
}

static bool ensure_proxy(struct canary_deciding *deciding)
{
	const struct json *objects[CANARY_PROXY_OBJECTS_MAX];
	size_t count = canary_proxy_objects(deciding->arena, deciding->canary,
		&deciding->input->settings, objects);

	for (size_t i = 0; i < count; i++)
		if (canary_ensure(deciding, objects[i], false))
			return true;
	return false;
}

static const struct json *find_condition(const struct canary *canary, const char *type)
{
	JSON_EACH_ITEM (json_get(canary->status, "conditions"), condition)
		if (span_is(json_get_text(condition, "type"), type))
			return condition;
	return NULL;
}

/* Until the proxy serves, or progressDeadlineSeconds are over: the condition is recorded, and a canary with steps is
 * deprecated if it asks for that. Without steps it continues to try. */
static bool wait_for_proxy(struct canary_deciding *deciding)
{
	const struct canary *canary = deciding->canary;
	const struct json *progress = find_condition(canary, "Progressing");
	int64_t until_ms = kube_time_ms(json_get(progress, "lastTransitionTime")) +
			   canary->rollout.progress_seconds * 1000;
	const struct canary_condition late = {"Progressing", false, "ProgressDeadlineExceeded",
		arena_format(deciding->arena, "the proxy is not ready after %lld seconds",
			(long long)canary->rollout.progress_seconds)};
	struct json *members = json_new_object(deciding->arena);

	if (span_is(json_get_text(progress, "reason"), late.reason))
		return canary->rollout.count > 0 && canary->rollout.deprecates &&
				       canary->transition == CANARY_STAYS
			       ? canary_set_transition(deciding, SPAN("Deprecated"), "Deprecating")
			       : canary_wait(deciding, 0);
	if (!span_is(json_get_text(progress, "status"), "True") ||
		deciding->input->now_ms < until_ms)
		return canary_wait(deciding, progress ? until_ms : 0);
	json_set(deciding->arena, members, "conditions", canary_conditions(deciding, &late, 1));
	return canary_write_status(deciding, members, late.reason);
}

/* C6 and C7: a Service follows once the proxies listen for it. */
static bool take_over(struct canary_deciding *deciding)
{
	const struct canary *canary = deciding->canary;

	for (size_t i = 0; i < canary->proxied_count; i++) {
		const struct canary_proxied_service *proxied = &canary->proxied[i];
		const struct json *live = canary_find_service_object(deciding, proxied->name, "");
		const struct json *wanted;

		if (proxied->restored_ms != 0)
			continue;
		if (!live)
			return canary_wait(deciding, 0);
		wanted = canary_service_to_proxy(deciding->arena, canary, proxied, live);
		if (!wanted)
			continue;
		if (!canary_proxies_serve(canary, deciding->input->pods, deciding->input->pod_count,
			    proxied)) {
			struct span bad = canary_bad_certificate(canary, deciding->input->pods,
				deciding->input->pod_count);

			return bad.length > 0 ? canary_fail(deciding, "BadCertificate", bad)
					      : wait_for_proxy(deciding);
		}
		return reach(deciding, CANARY_STEP_C7) || canary_update(deciding, wanted);
	}
	return reach(deciding, CANARY_STEP_C7);
}

static bool report(struct canary_deciding *deciding)
{
	const struct canary_input *input = deciding->input;
	const struct canary *canary = deciding->canary;
	struct json *members = json_new_object(deciding->arena);
	bool degraded, begins = canary->step != CANARY_STEP_C8;
	const struct json *traffic =
		canary_traffic(deciding->arena, canary, input->pods, input->pod_count, &degraded);
	const struct json *reports =
		canary_prune_reports(deciding->arena, canary, input->pods, input->pod_count);
	bool failed = canary->planned_generation != canary->generation;
	struct span bad = canary_bad_certificate(canary, input->pods, input->pod_count);
	const struct canary_condition conditions[] = {
		canary_progress(deciding),
		{"Available", true, "Available", SPAN("")},
		{"Degraded", degraded, degraded ? "NoReadyEndpoints" : "Ready",
			degraded ? SPAN("a side without ready endpoints gave its share to the "
					"other")
				 : SPAN("")},
		{"Failure", bad.length > 0, bad.length > 0 ? "BadCertificate" : "Available", bad},
	};

	json_set(deciding->arena, members, "conditions",
		canary_conditions(deciding, conditions, LENGTH(conditions) - failed));
	json_set(deciding->arena, members, "traffic", traffic);
	json_set(deciding->arena, members, "proxies", reports);
	if (begins)
		return canary_journal(deciding, CANARY_STEP_C8, members, "Available");
	return canary_write_status(deciding, members, NULL);
}

bool canary_run(struct canary_deciding *deciding)
{
	const struct canary *canary = deciding->canary;

	if (deciding->input->release->version == 0 ||
		deciding->input->release->applied_version != deciding->input->release->version)
		return canary_wait(deciding, 0);
	if (release_services(deciding) || plan(deciding) || reach(deciding, CANARY_STEP_C3) ||
		ensure_objects(deciding) || reach(deciding, CANARY_STEP_C5) ||
		ensure_forked(deciding) || reach(deciding, CANARY_STEP_C6) ||
		ensure_proxy(deciding) || take_over(deciding) || report(deciding))
		return true;
	if (canary->transition == CANARY_ADOPTED)
		return canary_journal(deciding, CANARY_STEP_A1, NULL, "Adopting");
	return canary_advance(deciding) || canary_wait(deciding, 0);
}
