/*
 * The service of a deployment as it is, from describe calls and the journal; see pass.h. Sets of tasks get their roles from
 * the journal: what this deployment created, and what was primary before it. A set with the application's tag that is
 * neither belongs to an earlier deployment and is a leftover; every other set has another owner.
 */
#include "base/memory.h"
#include "pipeline/describe.h"
#include "pipeline/share.h"

#define TTL_MARGIN_MS 2000
#define SETTLE_MS 1000
#define WHOLE 100

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
	int r;

	if (arn.length == 0)
		return 0;
	json_set_string(pass->arena, request, "taskDefinition", arn);
	r = pass_read(pass, ECS, "DescribeTaskDefinition", request, &answer, err);
	json_set(pass->arena, before, "definition", json_get(answer, "taskDefinition"));
	return r;
}

int observed_read_before(struct deployment_pass *pass, const struct json **ret_before,
	struct err *err)
{
	struct arena *arena = pass->arena;
	struct json *before = json_new_object(arena);
	const struct json *service = NULL, *sets = NULL, *primary = NULL, *canary = NULL;
	struct span controller;
	bool is_external;
	int r = 0;

	if (pass->bundle.has_service)
		r = describe_service(pass, pass->bundle.service.name, &service, err);
	if (r < 0)
		return r;
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
		r = describe_sets(pass, &sets, err);
		primary = find_primary(sets);
		json_set(arena, before, "taskSet", primary);
		return r < 0 || !primary
			       ? r
			       : read_definition(pass, json_get_text(primary, "taskDefinition"),
					 before, err);
	}
	r = describe_service(pass,
		arena_format(arena, "%.*s-canary", SPAN_ARGS(pass->bundle.service.name)), &canary,
		err);
	if (canary && !describe_is_ours(pass, canary))
		json_set_bool(arena, before, "foreignCanary", true);
	return r < 0 ? r
		     : read_definition(pass, json_get_text(service, "taskDefinition"), before, err);
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

int observed_read_ttl(struct deployment_pass *pass, int64_t *ret_ttl_ms, struct err *err)
{
	struct json *request = json_new_object(pass->arena), *answer = NULL;
	int64_t most = 0;
	int r;

	*ret_ttl_ms = 0;
	if (!pass->bundle.has_service || !describe_has_names(pass))
		return 0;
	json_set_string(pass->arena, request, "Id", describe_registry_id(pass));
	r = pass_read(pass, CLOUDMAP, "GetService", request, &answer, err);
	JSON_EACH_ITEM (json_path(answer, "Service.DnsConfig.DnsRecords"), record) {
		int64_t ttl = json_get_integer(record, "TTL", 0);

		most = ttl > most ? ttl : most;
	}
	*ret_ttl_ms = most * 1000 + TTL_MARGIN_MS;
	return r;
}

/* Asks how an operation on an instance goes, and settles its call when it has ended. */
static int follow_operation(struct deployment_pass *pass, const struct names *names,
	struct journalled_call *call, struct err *err)
{
	struct json *request = json_new_object(pass->arena), *answer = NULL;
	struct journal_record *record = &call->record;
	struct span status;
	int r;

	/* Without an answer: what is listed shows the result. */
	if (record->answer.length == 0) {
		bool is_listed = names_find(names, record->target) != NULL;

		if (is_listed != span_is(record->operation, "RegisterInstance"))
			return 0;
		record->result = JOURNAL_DONE;
		return calls_settle(pass, call, err);
	}
	json_set_string(pass->arena, request, "OperationId", record->answer);
	r = pass_read(pass, CLOUDMAP, "GetOperation", request, &answer, err);
	if (r < 0 && (r != -EREMOTEIO || strcmp(pass->failure.type, "OperationNotFound") != 0))
		return r;
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
	int r = 0;

	for (size_t i = 0; i < pass->calls.count && r >= 0; i++) {
		if (is_about_instance(&calls[i].record) &&
			(calls[i].record.result == JOURNAL_SENT ||
				calls[i].record.result == JOURNAL_UNKNOWN))
			r = follow_operation(pass, names, &calls[i], err);
	}
	return r;
}

/* The journal's operations on a task's instance. */
static void read_operations(const struct deployment_pass *pass, struct snapshot_task *task)
{
	const struct journalled_call *calls = pass->calls.items;

	for (size_t i = 0; i < pass->calls.count; i++) {
		const struct journal_record *record = &calls[i].record;

		if (!is_about_instance(record) || !span_equal(record->target, task->id))
			continue;
		if (record->result == JOURNAL_SENT && record->answer.length > 0)
			task->has_operation = true;
		if (record->result == JOURNAL_DONE)
			task->deregistered_ms = span_is(record->operation, "DeregisterInstance")
							? record->result_ms
							: 0;
	}
}

/* ---- sets ---- */

struct observing {
	struct deployment_pass *pass;
	struct observed *observed;
	struct names names;
	struct json *tasks, *stopped;
	struct field_list sets; /* struct snapshot_set */
};

/* Stopped by itself or by a check, and not because it was no longer wanted. */
static bool has_failed(const struct json *task)
{
	struct span code = json_get_text(task, "stopCode");

	if (!code.data)
		return false;
	return span_is(code, "TaskFailedToStart") || span_is(code, "EssentialContainerExited");
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
		if (span_equal(json_get_text(task, member), value) && has_failed(task))
			set->failed++;
	}
	set->tasks = tasks.items;
	set->task_count = tasks.count;
}

static enum set_role role_of(struct observing *observing, const struct json *set)
{
	const struct deployment_pass *pass = observing->pass;
	const struct journalled_call *calls = pass->calls.items;
	struct span arn = json_get_text(set, "taskSetArn");

	for (size_t i = 0; i < pass->calls.count; i++) {
		const struct journal_record *record = &calls[i].record;

		if (!span_is(record->operation, "CreateTaskSet") ||
			record->result != JOURNAL_DONE || !span_equal(record->answer, arn))
			continue;
		for (unsigned role = SET_OLD; role <= SET_NEW; role++) {
			if (span_is(record->role, carry_out_role((enum set_role)role)))
				return (enum set_role)role;
		}
	}
	if (span_equal(arn, json_text(json_path(pass->source.before, "taskSet.taskSetArn"))))
		return SET_OLD;
	if (!describe_is_ours(pass, set) || span_is(json_get_text(set, "status"), "PRIMARY"))
		return SET_OTHER;
	observing->observed->leftovers += !span_is(json_get_text(set, "status"), "DRAINING");
	return SET_CANARY;
}

static void add_set(struct observing *observing, const struct json *set)
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
	int r = describe_service(pass, name, &service, err);

	if (r < 0 || !service || !describe_is_ours(pass, service))
		return r;
	r = describe_tasks(pass, name, "RUNNING", &observing->tasks, err);
	if (r >= 0)
		r = describe_tasks(pass, name, "STOPPED", &observing->stopped, err);
	if (r < 0)
		return r;
	set = fields_append(pass->arena, &observing->sets, sizeof(*set));
	*set = (struct snapshot_set){.role = SET_CANARY,
		.arn = json_get_text(service, "serviceArn"),
		.desired = json_get_integer(service, "desiredCount", 0),
		.is_steady = is_rolled_out(service),
		.is_deleting = span_is(json_get_text(service, "status"), "DRAINING")};
	set->scale = canary_scale(pass, observing->observed->snapshot.desired, set->desired);
	observing->observed->leftovers +=
		!set->is_deleting && !calls_find_done(pass, "CreateService", SPAN("canary"));
	add_tasks(observing, set, "group",
		arena_format(pass->arena, "service:%.*s", SPAN_ARGS(name)));
	return 0;
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

/* ---- everything ---- */

static int read_task_sets(struct observing *observing, struct err *err)
{
	const struct json *sets = NULL;
	int r = describe_sets(observing->pass, &sets, err);

	if (r < 0)
		return r;
	JSON_EACH_ITEM (sets, set)
		add_set(observing, set);
	return 0;
}

int observed_read(struct deployment_pass *pass, struct observed *ret_observed, struct err *err)
{
	struct observed *observed = ret_observed;
	struct observing observing = {.pass = pass, .observed = observed};
	struct span name = pass->bundle.service.name;
	int r;

	*observed = (struct observed){.snapshot = {.now_ms = pass->now_ms}};
	r = describe_service(pass, name, &observed->service, err);
	if (r < 0 || !observed->service)
		return r;
	observed->snapshot.desired = json_get_integer(observed->service, "desiredCount", 0);
	r = describe_names(pass, &observing.names, err);
	if (r >= 0)
		r = follow_operations(pass, &observing.names, err);
	if (r >= 0)
		r = describe_tasks(pass, name, "RUNNING", &observing.tasks, err);
	if (r >= 0)
		r = describe_tasks(pass, name, "STOPPED", &observing.stopped, err);
	if (r >= 0)
		r = pass->bundle.service.is_external ? read_task_sets(&observing, err)
						     : read_services(&observing, err);
	if (r >= 0)
		r = describe_balancers(pass, observed, err);
	observed->snapshot.sets = observing.sets.items;
	observed->snapshot.set_count = observing.sets.count;
	/* Before the calls of this pass the time has gone on. */
	observed->snapshot.now_ms = runner_wall_ms(pass->runner);
	return r;
}
