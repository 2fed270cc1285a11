/*
 * The service of a deployment as it is, from describe calls and the journal; see pass.h. Sets of tasks get their roles from
 * their tags: what this deployment created, and what was primary before it. A set with the application's tag that is
 * neither belongs to an earlier deployment and is a leftover; every other set has another owner.
 */
#include "base/memory.h"
#include "base/seeded_bug.h"
#include "pipeline/describe.h"
#include "pipeline/share.h"

#define TTL_MARGIN_MS 2000
#define SETTLE_MS 1000
#define WHOLE 100
#define FAILED_SOON_MS 30000

/* ---- before the deployment ---- */

static const struct json *find_primary(const struct json *sets)
{
	JSON_EACH_ITEM (sets, set) {
		if (span_is(json_get_text(set, "status"), "PRIMARY"))
			return set;
	}
	return NULL;
}

static int read_definition(struct deployment_pass *pass, struct span arn, struct json *before,
	struct err *err)
{
	struct json *request = json_new_object(pass->arena), *answer = NULL;
	int code;

	if (arn.length == 0)
		return 0;
	json_set_string(pass->arena, request, "taskDefinition", arn);
	code = pass_read(pass, ECS, "DescribeTaskDefinition", request, &answer, err);
	json_set(pass->arena, before, "definition", json_get(answer, "taskDefinition"));
	return code;
}

/* Also if the answer to the call that created it is lost. */
static bool is_of_deployment(const struct deployment_pass *pass, const struct json *object)
{
	return describe_is_ours(pass, object) &&
	       span_equal(describe_tag(object, TAG_DEPLOYMENT), pass->deployment.facts.id);
}

int observed_read_before(struct deployment_pass *pass, const struct json **ret_before,
	struct err *err)
{
	struct arena *arena = pass->arena;
	struct json *before = json_new_object(arena);
	const struct json *service = NULL, *sets = NULL, *primary = NULL, *canary = NULL;
	struct span controller;
	bool is_external;
	int code = 0;

	if (pass->bundle.has_service)
		code = describe_service(pass, pass->bundle.service.name, &service, err);
	if (code < 0)
		return code;
	*ret_before = before;
	json_set_bool(arena, before, "exists", service != NULL);
	if (!service)
		return 0;
	controller = json_text(json_path(service, "deploymentController.type"));
	is_external = controller.data && span_is(controller, "EXTERNAL");
	json_set_bool(arena, before, "isExternal", is_external);
	json_set(arena, before, "desiredCount", json_get(service, "desiredCount"));
	json_set(arena, before, "service", service);
	if (is_external) {
		code = describe_sets(pass, &sets, err);
		primary = find_primary(sets);
		json_set(arena, before, "taskSet", primary);
		return code < 0 || !primary
			       ? code
			       : read_definition(pass, json_get_text(primary, "taskDefinition"),
					 before, err);
	}
	code = describe_service(pass,
		arena_format(arena, "%.*s-canary", SPAN_ARGS(pass->bundle.service.name)), &canary,
		err);
	if (canary && !describe_is_ours(pass, canary))
		json_set_bool(arena, before, "foreignCanary", true);
	return code < 0 ? code
			: read_definition(pass, json_get_text(service, "taskDefinition"), before,
				  err);
}

/* ---- tasks ---- */

static bool is_healthy(const struct deployment_pass *pass, enum set_role role,
	const struct json *task)
{
	return describe_is_healthy(task, role == SET_NEW || role == SET_CANARY
						 ? pass->bundle.task.request
						 : json_get(pass->source.before, "definition"));
}

/* ---- names ---- */

int observed_read_ttl(struct deployment_pass *pass, int64_t *ret_ttl_ms, bool *ret_has_weights,
	struct err *err)
{
	struct json *request = json_new_object(pass->arena), *answer = NULL;
	struct span policy;
	int64_t most = 0;
	int code;

	*ret_ttl_ms = 0;
	*ret_has_weights = false;
	if (!pass->bundle.has_service || !describe_has_names(pass))
		return 0;
	json_set_string(pass->arena, request, "Id", describe_registry_id(pass));
	code = pass_read(pass, CLOUDMAP, "GetService", request, &answer, err);
	JSON_EACH_ITEM (json_path(answer, "Service.DnsConfig.DnsRecords"), record) {
		int64_t ttl = json_get_integer(record, "TTL", 0);

		most = ttl > most ? ttl : most;
	}
	*ret_ttl_ms = most * 1000 + TTL_MARGIN_MS;
	policy = json_text(json_path(answer, "Service.DnsConfig.RoutingPolicy"));
	*ret_has_weights = !pass->outcall.is_remote && policy.data && span_is(policy, "WEIGHTED");
	return code;
}

/* A later call deregistered the instance, so this one has no effect any more. */
static bool was_deregistered_since(const struct deployment_pass *pass,
	const struct journal_record *record)
{
	const struct journalled_call *calls = pass->calls.items;

	for (size_t i = 0; i < pass->calls.count; i++) {
		const struct journal_record *other = &calls[i].record;

		if (span_is(other->operation, "DeregisterInstance") &&
			other->result == JOURNAL_DONE && other->intent_ms > record->intent_ms &&
			span_equal(other->target, record->target))
			return span_is(record->operation, "RegisterInstance");
	}
	return false;
}

/* Asks how an operation on an instance goes, and settles its call when it has ended. */
static int follow_operation(struct deployment_pass *pass, const struct names *names,
	struct journalled_call *call, struct err *err)
{
	struct json *request = json_new_object(pass->arena), *answer = NULL;
	struct journal_record *record = &call->record;
	struct span status;
	int code;

	/* Without an answer: what is listed shows the result. */
	if (record->answer.length == 0) {
		bool is_listed = names_find(names, record->target) != NULL,
		     is_undone = was_deregistered_since(pass, record);

		if (!is_undone && is_listed != span_is(record->operation, "RegisterInstance"))
			return 0;
		record->result = is_undone ? JOURNAL_REFUSED : JOURNAL_DONE;
		return calls_settle(pass, call, err);
	}
	json_set_string(pass->arena, request, "OperationId", record->answer);
	code = pass_read(pass, CLOUDMAP, "GetOperation", request, &answer, err);
	if (code < 0 &&
		(code != -EREMOTEIO || strcmp(pass->failure.type, "OperationNotFound") != 0))
		return code;
	status = json_text(json_path(answer, "Operation.Status"));
	if (status.data && (span_is(status, "SUBMITTED") || span_is(status, "PENDING")))
		return 0;
	record->result = JOURNAL_DONE;
	if (status.data && span_is(status, "FAIL")) {
		record->result = JOURNAL_REFUSED;
		record->reason = json_text(json_path(answer, "Operation.ErrorMessage"));
		if (!record->reason.data)
			record->reason = SPAN("the operation failed");
	}
	return calls_settle(pass, call, err);
}

static bool is_about_instance(const struct journal_record *record)
{
	return span_is(record->operation, "RegisterInstance") ||
	       span_is(record->operation, "DeregisterInstance");
}

static int follow_operations(struct deployment_pass *pass, const struct names *names,
	struct err *err)
{
	struct journalled_call *calls = pass->calls.items;
	int code = 0;

	for (size_t i = 0; i < pass->calls.count && code >= 0; i++) {
		if (is_about_instance(&calls[i].record) &&
			(calls[i].record.result == JOURNAL_SENT ||
				calls[i].record.result == JOURNAL_UNKNOWN))
			code = follow_operation(pass, names, &calls[i], err);
	}
	return code;
}

/* The journal's operations on a task's instance. */
static void read_operations(const struct deployment_pass *pass, struct snapshot_task *task)
{
	const struct journalled_call *calls = pass->calls.items;
	int64_t last_ms = 0;

	for (size_t i = 0; i < pass->calls.count; i++) {
		const struct journal_record *record = &calls[i].record;

		if (!is_about_instance(record) || !span_equal(record->target, task->id))
			continue;
		if (record->result == JOURNAL_SENT && record->answer.length > 0)
			task->has_operation = true;
		if ((record->result == JOURNAL_SENT || record->result == JOURNAL_UNKNOWN) &&
			record->answer.length == 0 &&
			span_is(record->operation, "RegisterInstance"))
			task->may_be_registered = true;
		if (SEEDED_BUG(pass->config->bug == PIPELINE_BUG_TRUST_SENT) &&
			task->has_operation) {
			task->has_operation = false;
			task->is_registered = span_is(record->operation, "RegisterInstance");
		}
		/* A call whose answer was lost may have taken effect after later ones. */
		if (record->result == JOURNAL_DONE && record->result_ms >= last_ms) {
			last_ms = record->result_ms;
			task->deregistered_ms =
				span_is(record->operation, "DeregisterInstance") ? last_ms : 0;
		}
	}
}

struct span observed_failed_operation(const struct deployment_pass *pass, struct span stage,
	int64_t since_ms, size_t most)
{
	const struct journalled_call *calls = pass->calls.items;
	size_t count = 0;

	for (size_t i = pass->calls.count; i > 0; i--) {
		const struct journal_record *record = &calls[i - 1].record;

		/* It was accepted, and then it failed. */
		if (!is_about_instance(record) || !span_equal(record->stage, stage) ||
			record->result != JOURNAL_REFUSED || record->answer.length == 0 ||
			record->intent_ms < since_ms)
			continue;
		if (++count > most)
			return arena_format(pass->arena, "%.*s of task %.*s failed: %.*s",
				SPAN_ARGS(record->operation), SPAN_ARGS(record->target),
				SPAN_ARGS(record->reason));
	}
	return SPAN_NONE;
}

/* ---- sets ---- */

struct observing {
	struct deployment_pass *pass;
	struct observed *observed;
	struct names names;
	struct json *tasks, *stopped;
	struct field_list sets; /* struct snapshot_set */
};

static int64_t time_ms(const struct json *task, const char *member)
{
	double seconds = 0;

	json_double(json_get(task, member), &seconds);
	return (int64_t)(seconds * 1000);
}

/* Stopped by itself or by a check since the deployment began, before it was healthy or soon after; and not because it was no
 * longer wanted. */
static bool has_failed(const struct deployment_pass *pass, const struct json *task)
{
	struct span code = json_get_text(task, "stopCode"),
		    health = json_get_text(task, "healthStatus");
	int64_t started_ms = time_ms(task, "startedAt"), stopped_ms = time_ms(task, "stoppedAt");

	if (!code.data || stopped_ms < pass->deployment.facts.started_ms ||
		(!span_is(code, "TaskFailedToStart") && !span_is(code, "EssentialContainerExited")))
		return false;
	return started_ms == 0 || stopped_ms - started_ms < FAILED_SOON_MS ||
	       (health.data && span_is(health, "UNHEALTHY"));
}

/* A program that ends at once is RUNNING for a moment. A start in the future is one of another clock. */
static int64_t settled_at(const struct deployment_pass *pass, const struct json *task)
{
	double started = 0;

	return json_double(json_get(task, "startedAt"), &started) &&
			       (int64_t)(started * 1000) <= pass->now_ms
		       ? (int64_t)(started * 1000) + SETTLE_MS
		       : 0;
}

/* The tasks that `belongs` says are of the set. */
static void add_tasks(struct observing *observing, struct snapshot_set *set, const char *member,
	struct span value)
{
	struct deployment_pass *pass = observing->pass;
	struct field_list tasks = {0};

	JSON_EACH_ITEM (observing->tasks, task) {
		struct snapshot_task *added;
		struct observed_task *observed;
		const struct json *instance;

		if (!span_equal(json_get_text(task, member), value))
			continue;
		added = fields_append(pass->arena, &tasks, sizeof(*added));
		added->id = describe_task_id(task);
		added->is_healthy = is_healthy(pass, set->role, task);
		instance = names_find(&observing->names, added->id);
		added->is_registered = instance && names_is_healthy(&observing->names, added->id);
		read_operations(pass, added);
		if (settled_at(pass, task) > set->settled_ms)
			set->settled_ms = settled_at(pass, task);
		observed =
			fields_append(pass->arena, &observing->observed->tasks, sizeof(*observed));
		*observed = (struct observed_task){.id = added->id,
			.set = set->arn,
			.task = task,
			.attributes = json_get(instance, "Attributes")};
	}
	JSON_EACH_ITEM (observing->stopped, task) {
		if (!span_equal(json_get_text(task, member), value) || !has_failed(pass, task))
			continue;
		set->failed++;
		*(const struct json **)fields_append(pass->arena, &observing->observed->failed,
			sizeof(task)) = task;
	}
	set->tasks = tasks.items;
	set->task_count = tasks.count;
}

/*
 * Steady for ECS is not enough: a service's rollout is complete when its tasks run, whether their health checks succeed or
 * not, and a task set stays STEADY_STATE for a moment after its tasks have ended.
 */
static void require_health(struct snapshot_set *set)
{
	int64_t healthy = 0;

	for (size_t i = 0; i < set->task_count; i++)
		healthy += set->tasks[i].is_healthy;
	set->is_steady = set->is_steady && healthy >= set->desired;
}

static enum set_role role_of(struct observing *observing, const struct json *set)
{
	const struct deployment_pass *pass = observing->pass;
	struct span arn = json_get_text(set, "taskSetArn"), name = describe_tag(set, TAG_ROLE);

	for (unsigned role = SET_OLD; role <= SET_NEW && is_of_deployment(pass, set); role++) {
		if (span_is(name, carry_out_role((enum set_role)role)))
			return (enum set_role)role;
	}
	if (span_equal(arn, json_text(json_path(pass->source.before, "taskSet.taskSetArn"))))
		return SET_OLD;
	if (!describe_is_ours(pass, set) || span_is(json_get_text(set, "status"), "PRIMARY"))
		return SET_OTHER;
	observing->observed->leftovers += !span_is(json_get_text(set, "status"), "DRAINING");
	return SET_CANARY;
}

/* The answer to the call that created it was lost. */
static int settle_created(struct deployment_pass *pass, const char *operation, enum set_role role,
	struct span arn, struct err *err)
{
	struct journalled_call *call =
		calls_find_unanswered(pass, operation, span_of(carry_out_role(role)));

	if (!call)
		return 0;
	call->record.result = JOURNAL_DONE;
	call->record.answer = arn;
	return calls_settle(pass, call, err);
}

static int add_set(struct observing *observing, const struct json *set, struct err *err)
{
	struct snapshot_set *added =
		fields_append(observing->pass->arena, &observing->sets, sizeof(*added));
	double scale = 0;

	json_double(json_path(set, "scale.value"), &scale);
	*added = (struct snapshot_set){.role = role_of(observing, set),
		.arn = json_get_text(set, "taskSetArn"),
		.scale = (int64_t)(scale + 0.5),
		.desired = json_get_integer(set, "computedDesiredCount", 0),
		.is_primary = span_is(json_get_text(set, "status"), "PRIMARY"),
		.is_steady = span_is(json_get_text(set, "stabilityStatus"), "STEADY_STATE"),
		.is_deleting = span_is(json_get_text(set, "status"), "DRAINING")};
	add_tasks(observing, added, "startedBy", json_get_text(set, "id"));
	require_health(added);
	return is_of_deployment(observing->pass, set)
		       ? settle_created(observing->pass, "CreateTaskSet", added->role, added->arn,
				 err)
		       : 0;
}

/* ---- services that ECS rolls ---- */

static bool is_rolled_out(const struct json *service)
{
	const struct json *deployments = json_get(service, "deployments");

	return json_array_count(deployments) == 1 &&
	       json_get_integer(service, "pendingCount", 0) == 0 &&
	       json_get_integer(service, "runningCount", 0) ==
		       json_get_integer(service, "desiredCount", 0);
}

/* The tasks that the service runs from one task definition. */
static void add_definition(struct observing *observing, enum set_role role, struct span definition)
{
	const struct json *service = observing->observed->service;
	bool is_current = span_equal(json_get_text(service, "taskDefinition"), definition);
	struct snapshot_set set = {.role = role,
		.arn = json_get_text(service, "serviceArn"),
		.scale = is_current ? WHOLE : 0,
		.desired = is_current ? json_get_integer(service, "desiredCount", 0) : 0,
		.is_primary = is_current,
		.is_steady = is_current && is_rolled_out(service)};

	if (definition.length == 0)
		return;
	add_tasks(observing, &set, "taskDefinitionArn", definition);
	require_health(&set);
	if (is_current || set.task_count > 0)
		*(struct snapshot_set *)fields_append(observing->pass->arena, &observing->sets,
			sizeof(set)) = set;
}

/* The scale that was last asked for, if the canary still has as many tasks; else none. */
static int64_t canary_scale(const struct deployment_pass *pass, int64_t desired, int64_t count)
{
	const struct journalled_call *calls = pass->calls.items;

	for (size_t i = pass->calls.count; i > 0; i--) {
		const struct journal_record *record = &calls[i - 1].record;

		if (record->result == JOURNAL_DONE &&
			(span_is(record->role, "count of canary") ||
				(span_is(record->operation, "CreateService") &&
					span_is(record->role, "canary"))))
			return share_scaled(desired, record->number) == count ? record->number : -1;
	}
	return -1;
}

static int add_canary_service(struct observing *observing, struct err *err)
{
	struct deployment_pass *pass = observing->pass;
	struct span name =
		arena_format(pass->arena, "%.*s-canary", SPAN_ARGS(pass->bundle.service.name));
	const struct json *service = NULL;
	struct snapshot_set *set;
	int code = describe_service(pass, name, &service, err);

	if (code < 0 || !service || !describe_is_ours(pass, service))
		return code;
	code = describe_tasks(pass, name, "RUNNING", &observing->tasks, err);
	if (code >= 0)
		code = describe_tasks(pass, name, "STOPPED", &observing->stopped, err);
	if (code < 0)
		return code;
	set = fields_append(pass->arena, &observing->sets, sizeof(*set));
	*set = (struct snapshot_set){.role = SET_CANARY,
		.arn = json_get_text(service, "serviceArn"),
		.desired = json_get_integer(service, "desiredCount", 0),
		.is_steady = is_rolled_out(service),
		.is_deleting = span_is(json_get_text(service, "status"), "DRAINING")};
	set->scale = canary_scale(pass, observing->observed->snapshot.desired, set->desired);
	observing->observed->leftovers += !set->is_deleting && !is_of_deployment(pass, service);
	add_tasks(observing, set, "group",
		arena_format(pass->arena, "service:%.*s", SPAN_ARGS(name)));
	require_health(set);
	return is_of_deployment(pass, service)
		       ? settle_created(pass, "CreateService", SET_CANARY, set->arn, err)
		       : 0;
}

static int read_services(struct observing *observing, struct err *err)
{
	struct deployment_pass *pass = observing->pass;
	const struct journalled_call *made =
		calls_find_done(pass, "RegisterTaskDefinition", SPAN(""));

	add_definition(observing, SET_OLD,
		json_text(json_path(pass->source.before, "definition.taskDefinitionArn")));
	add_definition(observing, SET_NEW, made ? made->record.answer : SPAN(""));
	return add_canary_service(observing, err);
}

/* ---- strays ---- */

static bool has_task(const struct observed *observed, struct span id)
{
	const struct observed_task *tasks = observed->tasks.items;

	for (size_t i = 0; i < observed->tasks.count; i++) {
		if (span_equal(tasks[i].id, id))
			return true;
	}
	return false;
}

/* Instances that this deployment registered, or may have, without a task that is to run. */
static void find_strays(struct observing *observing)
{
	struct deployment_pass *pass = observing->pass;
	const struct journalled_call *calls = pass->calls.items;
	struct field_list strays = {0};

	JSON_EACH_ITEM (observing->names.instances, instance) {
		struct span id = json_get_text(instance, "Id");

		for (size_t i = 0; i < pass->calls.count; i++) {
			const struct journal_record *record = &calls[i].record;

			if (!span_is(record->operation, "RegisterInstance") ||
				!span_equal(record->target, id) ||
				has_task(observing->observed, id))
				continue;
			*(struct span *)fields_append(pass->arena, &strays, sizeof(id)) = id;
			break;
		}
	}
	observing->observed->snapshot.strays = strays.items;
	observing->observed->snapshot.stray_count = strays.count;
}

/* ---- targets ---- */

static enum target_state state_of_target(const struct observed *observed, struct span address)
{
	JSON_EACH_ITEM (observed->targets, target) {
		struct span id = json_text(json_path(target, "Target.Id")),
			    state = json_text(json_path(target, "TargetHealth.State"));

		if (id.data && state.data && address.length > 0 && span_equal(id, address))
			return span_is(state, "draining")  ? TARGET_DRAINING
			       : span_is(state, "healthy") ? TARGET_HEALTHY
							   : TARGET_STARTING;
	}
	return TARGET_NONE;
}

/* Also if the answer is lost: a target that is still there is no reason to register it. */
static bool is_target_removed(const struct deployment_pass *pass, struct span task)
{
	const struct journalled_call *calls = pass->calls.items;

	for (size_t i = 0; i < pass->calls.count; i++) {
		const struct journal_record *record = &calls[i].record;

		if (span_is(record->operation, "DeregisterTargets") &&
			span_equal(record->target, task) && record->result != JOURNAL_REFUSED)
			return true;
	}
	return false;
}

static void note_targets(struct observing *observing)
{
	const struct observed_task *tasks = observing->observed->tasks.items;
	struct snapshot_set *sets = observing->sets.items;

	for (size_t i = 0; i < observing->sets.count; i++) {
		for (size_t j = 0; j < sets[i].task_count; j++) {
			struct snapshot_task *task = &sets[i].tasks[j];

			task->is_target_removed = is_target_removed(observing->pass, task->id);
			for (size_t k = 0; k < observing->observed->tasks.count; k++)
				if (span_equal(tasks[k].id, task->id))
					task->target = state_of_target(observing->observed,
						describe_task_address(tasks[k].task));
		}
	}
}

/* ---- everything ---- */

static int read_task_sets(struct observing *observing, struct err *err)
{
	const struct json *sets = NULL;
	int code = describe_sets(observing->pass, &sets, err);

	if (code < 0)
		return code;
	JSON_EACH_ITEM (sets, set) {
		code = add_set(observing, set, err);
		if (code < 0)
			return code;
	}
	return 0;
}

int observed_read(struct deployment_pass *pass, struct observed *ret_observed, struct err *err)
{
	struct observed *observed = ret_observed;
	struct observing observing = {.pass = pass, .observed = observed};
	struct span name = pass->bundle.service.name;
	int code;

	*observed =
		(struct observed){.snapshot = {.now_ms = pass->now_ms, .read_ms = pass->now_ms}};
	code = describe_service(pass, name, &observed->service, err);
	if (code < 0 || !observed->service)
		return code;
	observed->snapshot.desired = json_get_integer(observed->service, "desiredCount", 0);
	code = describe_names(pass, &observing.names, err);
	if (code >= 0)
		code = follow_operations(pass, &observing.names, err);
	if (code >= 0)
		code = describe_tasks(pass, name, "RUNNING", &observing.tasks, err);
	if (code >= 0)
		code = describe_tasks(pass, name, "STOPPED", &observing.stopped, err);
	if (code >= 0)
		code = pass->bundle.service.is_external ? read_task_sets(&observing, err)
							: read_services(&observing, err);
	if (code >= 0)
		code = describe_balancers(pass, observed, err);
	if (code >= 0) {
		find_strays(&observing);
		note_targets(&observing);
	}
	observed->snapshot.sets = observing.sets.items;
	observed->snapshot.set_count = observing.sets.count;
	/* Before the calls of this pass the time has gone on. */
	observed->snapshot.now_ms = runner_wall_ms(pass->runner);
	return code;
}
