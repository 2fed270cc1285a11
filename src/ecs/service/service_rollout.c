/*
 * Deployments of a service as states: in progress, replaced, failed.
 *
 *     status    PRIMARY ──a newer one──> ACTIVE ──no task left──> INACTIVE
 *     rollout   IN_PROGRESS ──all tasks healthy, the others' gone──> COMPLETED
 *                           ──tasks fail again and again, or a client stops it──> FAILED
 *     state     as in DescribeServiceDeployments, including what follows a failure
 *
 * A failed deployment starts no more tasks. If it is rolled back, a new deployment of the last
 * completed revision (or, if there is none yet, of the one that still runs well) replaces it; that
 * one never fails, because there is nothing better.
 */
#include "base/memory.h"
#include "ecs/service/service_revision.h"
#include "ecs/service/service_work.h"

#define BREAKER_REASON "tasks failed to start."
#define HISTORY_SCAN_MAX 100 /* deployments scanned for one to roll back to */

/* ---- reading ---- */

static int older_first(const void *a, const void *b)
{
	const struct service_component *one = a, *other = b;

	if (one->deployment.created_ms != other->deployment.created_ms)
		return one->deployment.created_ms < other->deployment.created_ms ? -1 : 1;
	return span_compare(one->number, other->number);
}

static struct service_component part_of(const struct store_object *object)
{
	const struct service_deployment_facts *facts = service_deployment_facts(object);

	return (struct service_component){.object = object,
		.number = facts->number,
		.family = facts->family,
		.revision = facts->revision,
		.deployment = *facts};
}

int service_rollout_read(struct service_work *work, struct err *err)
{
	struct store_cursor cursor = {.view = service_head(work),
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_LIVE,
		.prefix = work->key,
		.exact = true};
	size_t most = store_count(cursor.view, cursor.kind, cursor.index, cursor.prefix, true);
	const struct store_object *object;

	(void)err;
	work->parts = arena_allocate_array(work->arena, most + 1, sizeof(*work->parts));
	work->part_count = 0;
	while (work->part_count < most && (object = store_next(&cursor)))
		work->parts[work->part_count++] = part_of(object);
	qsort(work->parts, work->part_count, sizeof(*work->parts), older_first);
	work->primary = NULL;
	for (size_t i = 0; i < work->part_count; i++)
		if (work->parts[i].deployment.status == DEPLOYMENT_PRIMARY)
			work->primary = &work->parts[i];
	return 0;
}

/* ---- moving ---- */

static void touch(struct service_work *work, struct service_component *component)
{
	component->deployment.updated_ms = work->now_ms;
	component->changed = true;
}

static void set_status(struct service_work *work, struct service_component *component,
	enum deployment_status status)
{
	struct json *document = service_component_document_edit(work, component);

	component->deployment.status = status;
	service_show(work, document, "status",
		json_new_string(work->arena, span_of(deployment_status_name(status))));
	touch(work, component);
}

static void set_state(struct service_work *work, struct service_component *component,
	enum service_deployment_status state, struct span reason)
{
	static const bool is_final[SERVICE_DEPLOYMENT_STATUS_COUNT] = {
		[SERVICE_DEPLOYMENT_SUCCESSFUL] = true,
		[SERVICE_DEPLOYMENT_STOPPED] = true,
		[SERVICE_DEPLOYMENT_ROLLBACK_SUCCESSFUL] = true,
		[SERVICE_DEPLOYMENT_ROLLBACK_FAILED] = true,
	};

	component->deployment.state = state;
	if (is_final[state])
		component->deployment.finished_ms = work->now_ms;
	if (reason.length > 0)
		json_set_string(work->arena, service_component_document_edit(work, component),
			"statusReason", reason);
	touch(work, component);
}

static void set_rollout(struct service_work *work, struct service_component *component,
	enum rollout_state rollout, struct span reason)
{
	struct json *document = service_component_document_edit(work, component);

	component->deployment.rollout = rollout;
	service_show(work, document, "rolloutState",
		json_new_string(work->arena, span_of(rollout_state_name(rollout))));
	json_set_string(work->arena, document, "rolloutStateReason", reason);
	touch(work, component);
}

/* ---- rollback ---- */

static struct store_cursor newest_deployments(struct service_work *work)
{
	return (struct store_cursor){.view = service_head(work),
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_CREATED,
		.prefix = arena_format(work->arena, "%.*s/", SPAN_ARGS(work->key)),
		.descending = true};
}

/* The last one that was completed, but for `failed`; NULL: none. */
static const struct store_object *last_completed(struct service_work *work,
	const struct service_component *failed)
{
	struct store_cursor cursor = newest_deployments(work);
	const struct store_object *object;

	for (unsigned i = 0; i < HISTORY_SCAN_MAX && (object = store_next(&cursor)); i++)
		if (service_deployment_facts(object)->rollout == ROLLOUT_COMPLETED &&
			!span_equal(object->key, failed->object->key) &&
			store_get(service_head(work), &service_revision_kind,
				service_component_key(work->arena, work->key,
					service_deployment_facts(object)->service_revision)))
			return object;
	return NULL;
}

/* If none was completed yet: the newest that runs beside `failed` and has no failed tasks. */
static const struct store_object *last_running(struct service_work *work,
	const struct service_component *failed)
{
	for (size_t i = work->part_count; i-- > 0;) {
		const struct service_component *component = &work->parts[i];
		int64_t counts[TASK_CLASS_COUNT];

		service_count_tasks(service_head(work), work->key, component->number, counts);
		if (component != failed && component->deployment.failed == 0 &&
			component->deployment.rollout != ROLLOUT_FAILED &&
			counts[TASK_CLASS_HEALTHY] > 0 &&
			store_get(service_head(work), &service_revision_kind,
				service_component_key(work->arena, work->key,
					component->deployment.service_revision)))
			return component->object;
	}
	return NULL;
}

static void show_rollback(struct service_work *work, struct service_component *failed,
	const struct store_object *completed, struct span reason)
{
	struct json *document = service_component_document_edit(work, failed);
	struct json *rollback = json_new_object(work->arena);

	json_set_string(work->arena, rollback, "reason", reason);
	json_set_time(work->arena, rollback, "startedAt", work->now_ms);
	json_set_string(work->arena, rollback, "serviceRevisionArn",
		ecs_arn_of_key(work->arena, "service-revision",
			service_component_key(work->arena, work->key,
				service_deployment_facts(completed)->service_revision)));
	json_set(work->arena, document, "rollback", rollback);
}

/* Another deployment has begun: read the service again. */
static int read_again(struct service_work *work, struct err *err)
{
	work->service = store_get(service_head(work), &service_kind, work->key);
	work->facts = *service_facts(work->service);
	work->document = NULL;
	work->shown = NULL;
	work->changed = false;
	return service_rollout_read(work, err);
}

/* Deploys the last completed revision again, as PRIMARY. */
static int roll_back(struct service_work *work, struct service_component *failed,
	const struct store_object *completed, struct span reason, struct err *err)
{
	struct span back_to = service_deployment_facts(completed)->number, number;
	struct span revision = service_deployment_facts(completed)->service_revision;
	struct service_edit edit;
	int code;

	show_rollback(work, failed, completed, reason);
	set_state(work, failed, SERVICE_DEPLOYMENT_ROLLBACK_IN_PROGRESS, reason);
	code = service_write_changes(work, err);
	if (code == 0)
		code = service_edit_open(store_get(service_head(work), &service_kind, work->key),
			work->arena, &edit, err);
	if (code == 0)
		code = service_deployment_begin(work->transaction, &edit, revision, back_to,
			work->random, work->now_ms, &number, err);
	if (code == 0)
		code = service_edit_save(work->transaction, &edit, err);
	if (code == 0)
		code = read_again(work, err);
	if (code < 0)
		return code;
	json_set_string(work->arena, service_component_document_edit(work, work->primary),
		"rolloutStateReason",
		arena_format(work->arena,
			"ECS deployment circuit breaker: rolling back to "
			"deploymentId " SERVICE_DEPLOYMENT_PREFIX "%.*s.",
			SPAN_ARGS(back_to)));
	service_log_add(work, false,
		arena_format(work->arena,
			"rolling back to deployment " SERVICE_DEPLOYMENT_PREFIX "%.*s.",
			SPAN_ARGS(back_to)));
	return service_report(work, err,
		"rolling back to deployment " SERVICE_DEPLOYMENT_PREFIX "%.*s.",
		SPAN_ARGS(back_to));
}

/* The deployment that this one rolls back ends with it. */
static int finish_rolled_back(struct service_work *work, enum service_deployment_status state,
	struct err *err)
{
	struct store_cursor cursor;
	const struct store_object *object, *found = NULL;
	struct service_deployment_facts facts;

	for (size_t i = 0; i < work->part_count; i++)
		if (work->parts[i].deployment.state == SERVICE_DEPLOYMENT_ROLLBACK_IN_PROGRESS) {
			set_state(work, &work->parts[i], state, SPAN(""));
			return 0;
		}
	cursor = newest_deployments(work);
	for (unsigned i = 0; i < HISTORY_SCAN_MAX && !found && (object = store_next(&cursor)); i++)
		if (service_deployment_facts(object)->state ==
			SERVICE_DEPLOYMENT_ROLLBACK_IN_PROGRESS)
			found = object;
	if (!found)
		return 0;
	if (!service_may_write(work))
		return SERVICE_DUE;
	facts = *service_deployment_facts(found);
	facts.state = state;
	facts.finished_ms = facts.updated_ms = work->now_ms;
	return service_object_put_facts(work->transaction, found, &facts, work->arena, err);
}

/* ---- failing ---- */

static int64_t breaker_threshold(const struct service_work *work)
{
	int64_t half = (work->facts.desired + 1) / 2;

	return half < SERVICE_BREAKER_LEAST  ? SERVICE_BREAKER_LEAST
	       : half > SERVICE_BREAKER_MOST ? SERVICE_BREAKER_MOST
					     : half;
}

static int fail(struct service_work *work, bool back, const char *because, struct span reason,
	struct err *err)
{
	struct service_component *failed = work->primary;
	const struct store_object *completed = NULL;
	int code;

	if (!service_may_write(work))
		return SERVICE_DUE;
	if (back && !failed->deployment.rollback) {
		completed = last_completed(work, failed);
		if (!completed)
			completed = last_running(work, failed);
	}
	set_rollout(work, failed, ROLLOUT_FAILED, reason);
	service_log_add(work, true,
		arena_format(work->arena,
			"(deployment " SERVICE_DEPLOYMENT_PREFIX "%.*s) deployment failed: %s%.*s",
			SPAN_ARGS(failed->number), because, SPAN_ARGS(service_log_example(work))));
	code = service_report(work, err,
		"(deployment " SERVICE_DEPLOYMENT_PREFIX "%.*s) deployment failed: %s",
		SPAN_ARGS(failed->number), because);
	if (code < 0)
		return code;
	if (completed)
		return roll_back(work, failed, completed, reason, err);
	set_state(work, failed, SERVICE_DEPLOYMENT_STOPPED, reason);
	return failed->deployment.rollback
		       ? finish_rolled_back(work, SERVICE_DEPLOYMENT_ROLLBACK_FAILED, err)
		       : 0;
}

static int trip_breaker(struct service_work *work, int64_t threshold, struct err *err)
{
	struct json *document = service_component_document_edit(work, work->primary);
	struct json *breaker = json_new_object(work->arena);

	json_set_string(work->arena, breaker, "status", SPAN("TRIGGERED"));
	json_set_integer(work->arena, breaker, "failureCount", work->primary->deployment.failed);
	json_set_integer(work->arena, breaker, "threshold", threshold);
	json_set(work->arena, document, "deploymentCircuitBreaker", breaker);
	return fail(work, work->facts.rollback, BREAKER_REASON,
		SPAN("ECS deployment circuit breaker: " BREAKER_REASON), err);
}

int service_rollout_begin(struct service_work *work, struct err *err)
{
	struct service_component *primary = work->primary;
	int64_t threshold = breaker_threshold(work);

	for (size_t i = 0; i < work->part_count; i++) {
		struct service_component *component = &work->parts[i];

		if (component->deployment.state == SERVICE_DEPLOYMENT_PENDING)
			set_state(work, component, SERVICE_DEPLOYMENT_IN_PROGRESS, SPAN(""));
		if (component != primary &&
			component->deployment.state == SERVICE_DEPLOYMENT_IN_PROGRESS)
			set_state(work, component, SERVICE_DEPLOYMENT_STOPPED,
				SPAN("Superseded by a newer deployment."));
	}
	if (!primary)
		return 0;
	if (primary->deployment.state == SERVICE_DEPLOYMENT_STOP_REQUESTED)
		return fail(work, false, "stopped by a client.",
			SPAN("Service deployment stopped by a client."), err);
	if (primary->deployment.state == SERVICE_DEPLOYMENT_ROLLBACK_REQUESTED)
		return fail(work, true, "rollback requested by a client.",
			SPAN("Service deployment rollback requested by a client."), err);
	service_component_forgive(work, primary, primary->deployment.rollout == ROLLOUT_COMPLETED);
	if (work->facts.breaker && primary->deployment.rollout == ROLLOUT_IN_PROGRESS &&
		primary->deployment.failed >= threshold)
		return trip_breaker(work, threshold, err);
	/* A deployment that starts no more tasks is reported as failed only. */
	work->failing =
		!service_rollout_is_frozen(work) && service_component_is_failing(work, primary);
	return 0;
}

bool service_rollout_is_frozen(const struct service_work *work)
{
	const struct service_deployment_facts *facts = &work->primary->deployment;

	return facts->rollout == ROLLOUT_FAILED && !facts->rollback;
}

/* ---- ending ---- */

static bool others_are_gone(const struct service_work *work)
{
	for (size_t i = 0; i < work->part_count; i++)
		if (&work->parts[i] != work->primary && work->parts[i].live > 0)
			return false;
	return true;
}

static int complete(struct service_work *work, struct err *err)
{
	struct service_component *primary = work->primary;
	int code;

	if (!service_may_write(work))
		return SERVICE_DUE;
	set_rollout(work, primary, ROLLOUT_COMPLETED,
		arena_format(work->arena,
			"ECS deployment " SERVICE_DEPLOYMENT_PREFIX "%.*s completed.",
			SPAN_ARGS(primary->number)));
	set_state(work, primary, SERVICE_DEPLOYMENT_SUCCESSFUL, SPAN(""));
	primary->deployment.reached = true;
	code = service_report(work, err,
		"(deployment " SERVICE_DEPLOYMENT_PREFIX "%.*s) deployment completed.",
		SPAN_ARGS(primary->number));
	if (code == 0 && primary->deployment.rollback)
		service_log_add(work, false,
			arena_format(work->arena,
				"is rolled back: deployment " SERVICE_DEPLOYMENT_PREFIX
				"%.*s is completed.",
				SPAN_ARGS(primary->number)));
	if (code == 0 && primary->deployment.rollback)
		code = finish_rolled_back(work, SERVICE_DEPLOYMENT_ROLLBACK_SUCCESSFUL, err);
	return code;
}

int service_rollout_end(struct service_work *work, struct err *err)
{
	for (size_t i = 0; i < work->part_count; i++)
		if (&work->parts[i] != work->primary && work->parts[i].live == 0)
			set_status(work, &work->parts[i], DEPLOYMENT_INACTIVE);
	if (work->complete && others_are_gone(work) &&
		work->primary->deployment.rollout != ROLLOUT_COMPLETED &&
		!service_rollout_is_frozen(work))
		return complete(work, err);
	return 0;
}

int service_rollout_finish(struct service_work *work, struct err *err)
{
	(void)err;
	for (size_t i = 0; i < work->part_count; i++) {
		struct service_component *component = &work->parts[i];

		if (component->deployment.state == SERVICE_DEPLOYMENT_IN_PROGRESS ||
			component->deployment.state == SERVICE_DEPLOYMENT_PENDING)
			set_state(work, component, SERVICE_DEPLOYMENT_STOPPED,
				SPAN("The service was deleted."));
		set_status(work, component, DEPLOYMENT_INACTIVE);
	}
	return 0;
}
