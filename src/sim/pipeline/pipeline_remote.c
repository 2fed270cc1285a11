/*
 * The calls to the remote ECS. Each one that changes something is reported to the checker before and after it takes effect.
 * In random runs they fail as networks and services do; in a sweep the server is killed at one of them.
 */
#include <stdio.h>
#include <string.h>

#include "aws/call_target.h"
#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "ecs/ecs.h"
#include "sim/pipeline/pipeline_sim.h"

/* One call in so many… */
#define THROTTLED_ONE_IN 12
#define FAILS_ONE_IN 25
#define LOST_ONE_IN 25
#define UNANSWERED_ONE_IN 15
#define LATE_ONE_IN 6 /* of those that create something with a token */
#define LATE_MOST_US (6 * SIM_SECOND_US)
#define CRASHES_ONE_IN 25 /* of those that change something */
#define CALMER 4          /* so many times more rarely for reads */
#define PARTIAL_ONE_IN 15
#define PENDING_ONE_IN 2 /* of operations of Cloud Map */
#define FAIL_ONE_IN 12   /* of those that are pending */
#define PENDING_MOST_US (8 * SIM_SECOND_US)
#define TIMEOUT_US (AWS_TARGETS_WRITE_MS * INT64_C(1000))

struct recorded_target {
	struct aws_target target;
	struct aws_target *inner;
	struct pipeline_sim *sim;
};

static bool is_named(const struct aws_call *call, const char *beginning)
{
	return strncmp(call->operation, beginning, strlen(beginning)) == 0;
}

static bool is_change(const struct aws_call *call)
{
	static const char *const reads[] = {"Describe", "List", "Get", "Discover"};

	for (size_t i = 0; i < LENGTH(reads); i++)
		if (is_named(call, reads[i]))
			return false;
	return true;
}

/* ---- operations of Cloud Map ---- */

static struct pipeline_operation *find_operation(struct pipeline_sim *sim, struct span id)
{
	for (unsigned i = 0; i < sim->operation_count; i++)
		if (span_is(id, sim->operations[i].id))
			return &sim->operations[i];
	return NULL;
}

/* One operation on an instance at a time. */
static const struct pipeline_operation *find_running(struct pipeline_sim *sim, struct span instance)
{
	for (unsigned i = 0; i < sim->operation_count; i++)
		if (sim->operations[i].due_us > 0 && span_is(instance, sim->operations[i].instance))
			return &sim->operations[i];
	return NULL;
}

static int answer_duplicate(const struct aws_call *call, const struct pipeline_operation *running,
	struct aws_call_failure *failure, struct err *err)
{
	return aws_call_fail(call, 400, SPAN("DuplicateRequest"),
		arena_format(call->arena,
			"Another operation of type %s_INSTANCE and id %s is in progress",
			strcmp(running->operation, "RegisterInstance") == 0 ? "REGISTER"
									    : "DEREGISTER",
			running->id),
		failure, err);
}

static struct json *begin_operation(struct pipeline_sim *sim, const struct aws_call *call)
{
	struct pipeline_operation *operation = &sim->operations[sim->operation_count++];
	struct span instance = json_get_text(call->request, "InstanceId"),
		    body = json_to_text(call->request, call->arena);
	struct json *answer = json_new_object(call->arena);

	sim->result.pending++;
	snprintf(operation->id, sizeof(operation->id), "pending-%u", sim->operation_count);
	snprintf(operation->operation, sizeof(operation->operation), "%s", call->operation);
	snprintf(operation->instance, sizeof(operation->instance), "%.*s", SPAN_ARGS(instance));
	operation->request = memory_copy_string_n(body.data, body.length);
	operation->fails = sim_one_in(sim, FAIL_ONE_IN);
	sim->result.failed_operations += operation->fails;
	operation->due_us = runner_now_us(sim->root) + 1 + (int64_t)sim_draw(sim, PENDING_MOST_US);
	json_set_string(call->arena, answer, "OperationId",
		arena_copy_span(call->arena, span_of(operation->id)));
	return answer;
}

static struct json *show_operation(const struct aws_call *call,
	const struct pipeline_operation *operation)
{
	struct json *answer = json_new_object(call->arena), *shown = json_new_object(call->arena);

	json_set_string(call->arena, shown, "Id", span_of(operation->id));
	json_set_string(call->arena, shown, "Status",
		operation->due_us > 0 ? SPAN("PENDING")
		: operation->fails    ? SPAN("FAIL")
				      : SPAN("SUCCESS"));
	if (operation->due_us == 0 && operation->fails)
		json_set_string(call->arena, shown, "ErrorMessage", SPAN("chance"));
	json_set(call->arena, answer, "Operation", shown);
	return answer;
}

static void tend_operations(struct pipeline_sim *sim)
{
	for (unsigned i = 0; i < sim->operation_count; i++) {
		struct pipeline_operation *operation = &sim->operations[i];
		_arena_ struct arena *arena = arena_new(0);

		if (operation->due_us == 0 || operation->due_us > runner_now_us(sim->root))
			continue;
		operation->due_us = 0;
		runner_trace(sim->root, "%s of %s %s", operation->operation, operation->instance,
			operation->fails ? "fails" : "takes effect");
		if (!operation->fails)
			pipeline_sim_request(sim, &cloudmap_service, arena, operation->operation,
				"%s", operation->request);
	}
}

/* ---- calls ---- */

static int carry_out(struct recorded_target *recorded, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct pipeline_sim *sim = recorded->sim;
	const struct pipeline_operation *running;
	int code;

	if (is_named(call, "GetOperation")) {
		running = find_operation(sim, json_get_text(call->request, "OperationId"));
		if (running) {
			*ret_answer = show_operation(call, running);
			return 0;
		}
	}
	if (!is_change(call))
		return recorded->inner->send(recorded->inner, call, ret_answer, failure, err);
	running = strcmp(call->service, "servicediscovery") == 0
			  ? find_running(sim, json_get_text(call->request, "InstanceId"))
			  : NULL;
	if (running)
		return answer_duplicate(call, running, failure, err);
	runner_trace(sim->root, "%s %.*s", call->operation,
		SPAN_ARGS(json_to_text(call->request, call->arena)));
	pipeline_checker_before_call(sim->checker, call->operation, call->request);
	if (strcmp(call->service, "servicediscovery") == 0 && sim->is_faulty &&
		sim->operation_count < SIM_OPERATIONS_MAX && sim_one_in(sim, PENDING_ONE_IN)) {
		*ret_answer = begin_operation(sim, call);
		code = 0;
	} else {
		code = recorded->inner->send(recorded->inner, call, ret_answer, failure, err);
	}
	if (is_named(call, "Delete"))
		sim->deleted_us = runner_now_us(sim->root);
	if (code == 0) {
		sim->result.calls++;
		pipeline_checker_after_call(sim->checker, call->operation, call->request,
			*ret_answer);
	} else if (code == -EREMOTEIO) {
		runner_trace(sim->root, "%s is refused: %s: %s", call->operation, failure->type,
			failure->message);
	}
	return code;
}

static int give_up(struct recorded_target *recorded, const struct aws_call *call, struct err *err)
{
	int code = runner_sleep_until(recorded->target.runner,
		runner_deadline_us(recorded->target.runner, TIMEOUT_US - 1));

	return code < 0 ? err_set(err, code, "%s: stopped", call->operation)
			: err_set(err, -ETIMEDOUT, "%s: no answer came", call->operation);
}

/* ---- calls that outlive their caller ---- */

static bool has_token(const struct aws_call *call)
{
	return is_named(call, "CreateTaskSet") || is_named(call, "CreateService");
}

/* One at a time. */
static bool is_any_late(const struct pipeline_sim *sim)
{
	for (unsigned i = 0; i < sim->late_call_count; i++)
		if (sim->late_calls[i].due_us > 0)
			return true;
	return sim->late_call_count == LENGTH(sim->late_calls);
}

/* It takes effect some time after the caller has given up, or died. */
static void arrive_later(struct recorded_target *recorded, const struct aws_call *call)
{
	struct pipeline_sim *sim = recorded->sim;
	struct pipeline_late_call *late = &sim->late_calls[sim->late_call_count];
	struct span body = json_to_text(call->request, call->arena);

	sim->late_call_count++;
	sim->result.late++;
	late->sent_us = runner_now_us(sim->root);
	late->due_us = late->sent_us + TIMEOUT_US + (int64_t)sim_draw(sim, LATE_MOST_US);
	snprintf(late->operation, sizeof(late->operation), "%s", call->operation);
	late->request = memory_copy_string_n(body.data, body.length);
}

static void deliver_late_calls(struct pipeline_sim *sim)
{
	for (unsigned i = 0; i < sim->late_call_count; i++) {
		struct pipeline_late_call *late = &sim->late_calls[i];
		_arena_ struct arena *arena = arena_new(0);
		const struct json *answer;
		struct json *request;

		if (late->due_us == 0 || late->due_us > runner_now_us(sim->root))
			continue;
		late->due_us = 0;
		/* No token protects from a copy that arrives after what it creates was deleted. */
		if (sim->deleted_us > late->sent_us)
			continue;
		runner_trace(sim->root, "%s arrives late", late->operation);
		answer = pipeline_sim_request(sim, &ecs_service, arena, late->operation, "%s",
			late->request);
		if (answer && json_parse(span_of(late->request), arena, &request, NULL) == 0)
			pipeline_checker_after_call(sim->checker, late->operation, request, answer);
	}
}

void pipeline_sim_tend_calls(struct pipeline_sim *sim)
{
	tend_operations(sim);
	deliver_late_calls(sim);
}

/* ---- faults ---- */

static bool strikes(struct pipeline_sim *sim, const struct aws_call *call, uint64_t one_in)
{
	return sim_one_in(sim, is_change(call) ? one_in : one_in * CALMER);
}

static int die(struct recorded_target *recorded, const struct aws_call *call, struct err *err)
{
	pipeline_sim_crash(recorded->sim, recorded->target.runner);
	return err_set(err, -ECANCELED, "%s: stopped", call->operation);
}

/* One of what was asked for is missing, with a failure that does not say whether it exists. */
static struct json *leave_one_out(struct pipeline_sim *sim, const struct aws_call *call,
	struct json *answer)
{
	static const char *const lists[][2] = {
		{"tasks", "taskArn"}, {"services", "serviceArn"}, {"taskSets", "taskSetArn"}};
	struct json *copy = json_copy_object(call->arena, answer),
		    *failures = json_new_array(call->arena);

	for (size_t i = 0; i < LENGTH(lists); i++) {
		const struct json *list = json_get(answer, lists[i][0]);
		struct json *rest = json_new_array(call->arena),
			    *failure = json_new_object(call->arena);

		if (json_array_count(list) == 0)
			continue;
		for (size_t j = 0; j + 1 < json_array_count(list); j++)
			json_append(call->arena, rest, json_item(list, j));
		json_set(call->arena, failure, "arn",
			json_get(json_item(list, json_array_count(list) - 1), lists[i][1]));
		json_set_string(call->arena, failure, "reason", SPAN("INTERNAL"));
		json_append(call->arena, failures, failure);
		json_set(call->arena, copy, lists[i][0], rest);
		json_set(call->arena, copy, "failures", failures);
		sim->result.partial++;
		return copy;
	}
	return answer;
}

static int send_faulty(struct recorded_target *recorded, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct pipeline_sim *sim = recorded->sim;
	int code;

	if (is_change(call) && sim_one_in(sim, CRASHES_ONE_IN))
		return die(recorded, call, err);
	if (strikes(sim, call, THROTTLED_ONE_IN)) {
		sim->result.throttled++;
		return aws_call_fail(call, 400, SPAN("ThrottlingException"), SPAN("Rate exceeded"),
			failure, err);
	}
	if (has_token(call) && !is_any_late(sim) && sim_one_in(sim, LATE_ONE_IN)) {
		arrive_later(recorded, call);
		return give_up(recorded, call, err);
	}
	if (strikes(sim, call, LOST_ONE_IN)) {
		sim->result.lost++;
		return give_up(recorded, call, err);
	}
	if (strikes(sim, call, FAILS_ONE_IN)) {
		sim->result.failed++;
		return aws_call_fail(call, 500, SPAN("ServerException"), SPAN("chance"), failure,
			err);
	}
	code = carry_out(recorded, call, ret_answer, failure, err);
	if (code == 0 && is_change(call) && sim_one_in(sim, CRASHES_ONE_IN))
		return die(recorded, call, err);
	if (code == 0 && strikes(sim, call, UNANSWERED_ONE_IN)) {
		sim->result.unanswered++;
		return give_up(recorded, call, err);
	}
	if (code == 0 && is_named(call, "Describe") && sim_one_in(sim, PARTIAL_ONE_IN))
		*ret_answer = leave_one_out(sim, call, *ret_answer);
	return code;
}

/* In a sweep the server is killed before one call that changes something, or before it has the answer. */
static int send_counted(struct recorded_target *recorded, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct pipeline_sim *sim = recorded->sim;
	bool is_last;
	int code;

	if (sim->refused && sim->refused_times > 0 && strcmp(call->operation, sim->refused) == 0 &&
		pipeline_sim_is_rolling_back(sim)) {
		sim->refused_times--;
		return aws_call_fail(call, 400, SPAN("ServerException"), SPAN("as the test wants"),
			failure, err);
	}
	if (!is_change(call) || !sim->is_counting)
		return carry_out(recorded, call, ret_answer, failure, err);
	is_last = ++sim->calls == sim->kill_at;
	if (is_last && !sim->kill_after)
		return die(recorded, call, err);
	code = carry_out(recorded, call, ret_answer, failure, err);
	return is_last ? die(recorded, call, err) : code;
}

static int send(struct aws_target *target, const struct aws_call *call, struct json **ret_answer,
	struct aws_call_failure *failure, struct err *err)
{
	struct recorded_target *recorded = CONTAINER_OF(target, struct recorded_target, target);
	struct err ignored;

	if (!err)
		err = &ignored;
	/* A server that crashed at a commit sends nothing any more. */
	if (runner_is_stopped(target->runner))
		return err_set(err, -ECANCELED, "%s: stopped", call->operation);
	return recorded->sim->is_faulty ? send_faulty(recorded, call, ret_answer, failure, err)
					: send_counted(recorded, call, ret_answer, failure, err);
}

static void close_recorded(struct aws_target *target)
{
	struct recorded_target *recorded = CONTAINER_OF(target, struct recorded_target, target);

	aws_target_free(recorded->inner);
}

const struct aws_target_settings pipeline_sim_target_settings = {.name = SIM_TARGET,
	.region = SIMULATION_REGION,
	.account = SIMULATION_ACCOUNT,
	.accounts = (const char *const[]){SIMULATION_ACCOUNT},
	.account_count = 1};

struct aws_target *pipeline_sim_make_target(struct pipeline_sim *sim, struct runner *runner)
{
	struct aws_caller caller = {.account = SPAN(SIMULATION_ACCOUNT),
		.region = SPAN(SIMULATION_REGION),
		.user = SPAN("slipway"),
		.access_key = SPAN("")};
	struct arena *arena = arena_new(0);
	struct recorded_target *recorded = arena_allocate(arena, sizeof(*recorded));

	recorded->target = (struct aws_target){
		.runner = runner, .arena = arena, .send = send, .close = close_recorded};
	recorded->inner = aws_target_local(sim->remote_dispatcher, runner, &caller);
	recorded->sim = sim;
	return &recorded->target;
}
