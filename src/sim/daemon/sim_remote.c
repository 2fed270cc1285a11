/*
 * A remote ECS: a store of its own with the real API behind a target that fails as networks and services do, and
 * events that are delivered late, twice, in another order or not at all.
 */
#include <stdio.h>

#include "aws/call_target.h"
#include "aws/targets.h"
#include "base/memory.h"
#include "sim/daemon/sim_world.h"

/* One call in so many… */
#define FAILS_ONE_IN 25
#define THROTTLED_ONE_IN 25
#define LOST_ONE_IN 30
#define LOST_CHANGE_ONE_IN 3 /* of starts and stops, which are few */
#define UNANSWERED_ONE_IN 30
#define PARTIAL_ONE_IN 6
#define STALE_ONE_IN 8 /* of what reads: as it was answered before */
#define STALE_MOST_US (4 * SIM_SECOND_US)
#define UNEXPECTED_ONE_IN 2 /* of lost starts and stops: it is done after the caller has given up */
#define KILLS_ONE_IN 5      /* of starts and stops: the caller is killed while it is on its way */
#define DELAY_ONE_IN 3
#define CALMER 12 /* so many times rarer when there is no storm */
/* A listing of a large run is hundreds of calls, which take their time; and as many listings are to come to their end. */
#define LARGE_READS 100
#define LARGE_CALL_US INT64_C(20000)
#define UNEXPECTED_FELT_US (16 * SIM_SECOND_US)
#define AWAKE_US SIM_SECOND_US
#define DELAY_MOST_US (2 * SIM_SECOND_US)
#define ANSWERS_MAX 1000 /* that are remembered */
#define TIMEOUT_US (AWS_TARGETS_WRITE_MS * INT64_C(1000))

struct remote_target {
	struct aws_target target;
	struct aws_target *inner;
	struct sim *sim;
};

/* ---- answers that are not whole ---- */

static const char *const lists[] = {"tasks", "containerInstances"};

/* One of what was asked for is missing, with a failure that says nothing of whether it is there. */
static struct json *leave_one_out(struct arena *arena, const struct json *answer)
{
	struct json *created = json_copy_object(arena, answer), *failures = json_new_array(arena);

	for (size_t i = 0; i < LENGTH(lists); i++) {
		const struct json *list = json_get(answer, lists[i]);
		struct json *rest = json_new_array(arena), *failure = json_new_object(arena);

		if (json_count(list) == 0)
			continue;
		for (size_t j = 0; j + 1 < json_count(list); j++)
			json_append(arena, rest, json_item(list, j));
		json_set(arena, failure, "arn",
			json_get(json_item(list, json_count(list) - 1),
				i == 0 ? "taskArn" : "containerInstanceArn"));
		json_set_string(arena, failure, "reason", SPAN("INTERNAL"));
		json_append(arena, failures, failure);
		json_set(arena, created, lists[i], rest);
		json_set(arena, created, "failures", failures);
	}
	return created;
}

static bool is_named(const struct aws_call *call, const char *beginning)
{
	return strncmp(call->operation, beginning, strlen(beginning)) == 0;
}

static bool is_change(const struct aws_call *call)
{
	return is_named(call, "Start") || is_named(call, "Stop");
}

/* Seeded bugs of readers. */
static int put_bug_in(struct remote_target *remote, const struct aws_call *call, int code,
	struct json **answer, struct aws_call_failure *failure, struct err *err)
{
	enum daemon_bug bug = remote->sim->config->bug;

	if (bug == DAEMON_BUG_LIST_EMPTY && code < 0 && code != -ECANCELED &&
		is_named(call, "List")) {
		*answer = json_new_object(call->arena);
		json_set(call->arena, *answer,
			is_named(call, "ListTasks") ? "taskArns" : "containerInstanceArns",
			json_new_array(call->arena));
		*failure = (struct aws_call_failure){0};
		*err = (struct err){0};
		return 0;
	}
	if (code < 0)
		return code;
	if (bug == DAEMON_BUG_FIRST_PAGE)
		json_unset(*answer, "nextToken");
	if (bug == DAEMON_BUG_FAILED_IS_GONE && is_named(call, "Describe"))
		JSON_EACH_ITEM (json_get(*answer, "failures"), item)
			json_set_string(call->arena, (struct json *)item, "reason",
				SPAN("MISSING"));
	return 0;
}

/* ---- calls ---- */

static int wait_us(struct remote_target *remote, int64_t duration_us, const struct aws_call *call,
	struct err *err)
{
	int code = runner_sleep_until(remote->target.runner,
		runner_deadline_us(remote->target.runner, duration_us));

	return code < 0 ? err_set(err, code, "%s: stopped", call->operation) : 0;
}

static bool was_asleep(const struct remote_target *remote);
static void expect_late(struct sim *sim, const struct json *request);

static int send_inner(struct remote_target *remote, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct json *request = json_copy_object(call->arena, call->request);
	struct aws_call one = *call;

	/* Few on a page, so that there are several; in large runs there are without that. */
	if (is_named(call, "List") && !remote->sim->large)
		json_set_integer(call->arena, request, "maxResults", SIM_PAGE);
	if (is_change(call) && was_asleep(remote))
		expect_late(remote->sim, request);
	one.request = request;
	return remote->inner->send(remote->inner, &one, ret_answer, failure, err);
}

static int no_answer(struct remote_target *remote, const struct aws_call *call, struct err *err)
{
	int code;

	remote->sim->result.lost_calls++;
	code = wait_us(remote, TIMEOUT_US - 1, call, err);
	return code < 0 ? code : err_set(err, -ETIMEDOUT, "%s: no answer came", call->operation);
}

/* It arrives all the same, so long from now. */
static void arrive_later(struct remote_target *remote, const struct aws_call *call,
	int64_t delay_us, bool is_unexpected)
{
	struct sim *sim = remote->sim;
	struct sim_call *late = &sim->calls[sim->call_count];
	struct span body = json_to_text(call->request, call->arena);

	if (sim->call_count == SIM_CALLS_MAX || body.length >= sizeof(late->body))
		return;
	late->is_unexpected = is_unexpected;
	late->due_us = runner_now_us(sim->root) + delay_us;
	snprintf(late->operation, sizeof(late->operation), "%s", call->operation);
	snprintf(late->body, sizeof(late->body), "%.*s", SPAN_ARGS(body));
	sim->call_count++;
}

/* The caller was paused meanwhile, and its lease may be over. */
static bool was_asleep(const struct remote_target *remote)
{
	const struct sim *sim = remote->sim;

	for (size_t i = 0; i < sim->server_count; i++)
		if (sim->servers[i].runner == remote->target.runner)
			return sim->servers[i].slept_till_us > 0 &&
			       runner_now_us(sim->root) < sim->servers[i].slept_till_us + AWAKE_US;
	return false;
}

/* The caller is gone, and the call arrives all the same, if it ever does. */
static void outlive(struct remote_target *remote, const struct aws_call *call)
{
	struct sim *sim = remote->sim;

	if (is_change(call) && sim_one_in(sim, 2))
		arrive_later(remote, call, (int64_t)sim_draw(sim, DELAY_MOST_US),
			was_asleep(remote));
}

/* There is no answer; whether it is done after the timeout, the caller cannot know. */
static int get_lost(struct remote_target *remote, const struct aws_call *call, struct err *err)
{
	struct sim *sim = remote->sim;

	if (is_change(call) && sim_one_in(sim, UNEXPECTED_ONE_IN))
		arrive_later(remote, call, TIMEOUT_US + (int64_t)sim_draw(sim, TIMEOUT_US), true);
	return no_answer(remote, call, err);
}

/* ---- calls that come late ---- */

static struct span last_part(struct span path)
{
	struct span part = path;

	while (span_split(path, '/', &part, &path))
		part = path;
	return part;
}

static void expect_on(struct sim *sim, const struct actual_environment *environment,
	struct span cluster, struct span instance)
{
	char key[2 * SIM_TEXT_MAX];
	struct actual_instance *found;

	snprintf(key, sizeof(key), SIM_REMOTE_ACCOUNT "/" SIM_REGION "/%.*s/%.*s",
		SPAN_ARGS(cluster), SPAN_ARGS(last_part(instance)));
	found = map_get(&daemon_checker_actual(sim->checker)->instances, span_of(key));
	if (found)
		actual_expect_late(environment, found,
			runner_now_us(sim->root) + UNEXPECTED_FELT_US);
}

/* Its effect is observed a while later, and repaired; other changes of the remote ECS are no excuse. */
static void expect_late(struct sim *sim, const struct json *request)
{
	struct actual *actual = daemon_checker_actual(sim->checker);
	struct span task = json_get_text(request, "task"), group = json_get_text(request, "group");
	char cluster[SIM_TEXT_MAX];
	const struct actual_environment *environment;

	snprintf(cluster, sizeof(cluster), SIM_REMOTE_ACCOUNT "/" SIM_REGION "/%.*s",
		SPAN_ARGS(json_get_text(request, "cluster")));
	environment = actual_owner(actual, span_of(cluster), group.data ? group : SPAN(""));
	JSON_EACH_ITEM (json_get(request, "containerInstances"), instance)
		if (environment)
			expect_on(sim, environment, json_get_text(request, "cluster"),
				json_text(instance));
	MAP_EACH (&actual->tasks, entry) {
		struct actual_task *found = entry->value;

		if (task.data && found->environment && span_is(task, found->arn))
			actual_expect_late(found->environment, found->instance,
				runner_now_us(sim->root) + UNEXPECTED_FELT_US);
	}
}

void sim_deliver_calls(struct sim *sim)
{
	int64_t now_us = runner_now_us(sim->root);
	size_t kept = 0;

	for (size_t i = 0; i < sim->call_count; i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct sim_call call = sim->calls[i];
		struct json *request;

		if (call.due_us > now_us) {
			sim->calls[kept++] = call;
			continue;
		}
		sim->result.late_calls++;
		sim->result.unexpected_calls += call.is_unexpected;
		if (call.is_unexpected && json_parse(arena_copy_span(arena, span_of(call.body)),
						  arena, &request, NULL) == 0)
			expect_late(sim, request);
		sim_operate(sim, arena, 0, call.operation, "%s", call.body);
	}
	sim->call_count = kept;
}

/* ---- reading what was ---- */

static struct span name_of(const struct aws_call *call)
{
	return arena_format(call->arena, "%s %.*s", call->operation,
		SPAN_ARGS(json_to_text(call->request, call->arena)));
}

static void remember(struct remote_target *remote, const struct aws_call *call,
	const struct json *answer)
{
	struct sim *sim = remote->sim;
	struct span name = name_of(call), text = json_to_text(answer, call->arena);
	struct sim_answer *kept = map_get(&sim->answers, name);

	if (!kept && sim->answers.count >= ANSWERS_MAX)
		sim_forget_answers(sim);
	if (!kept) {
		kept = memory_allocate(sizeof(*kept));
		map_put(&sim->answers, name, kept);
	}
	free(kept->text);
	kept->text = memory_copy_string_n(text.data, text.length);
	kept->at_us = runner_now_us(sim->root);
}

/* The same as a moment ago, whatever happened since. */
static bool answer_as_before(struct remote_target *remote, const struct aws_call *call,
	struct json **ret_answer)
{
	struct sim *sim = remote->sim;
	const struct sim_answer *kept = map_get(&sim->answers, name_of(call));
	struct sim_answer *last;

	if (!kept || runner_now_us(sim->root) - kept->at_us > STALE_MOST_US ||
		json_parse(arena_copy_span(call->arena, span_of(kept->text)), call->arena,
			ret_answer, NULL) < 0)
		return false;
	sim->result.stale_reads++;
	last = &sim->stale[sim->stale_count++ % SIM_STALE];
	free(last->text);
	*last = (struct sim_answer){runner_now_us(sim->root), memory_copy_string(kept->text)};
	return true;
}

void sim_forget_answers(struct sim *sim)
{
	MAP_EACH (&sim->answers, entry) {
		free(((struct sim_answer *)entry->value)->text);
		free(entry->value);
	}
	map_clear(&sim->answers);
}

static bool strikes(const struct remote_target *remote, const struct aws_call *call,
	uint64_t one_in)
{
	struct sim *sim = remote->sim;

	if (sim->large && !is_change(call))
		one_in *= LARGE_READS;
	return sim_one_in(sim, sim->storm ? one_in : one_in * CALMER);
}

static int send_faulty(struct remote_target *remote, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct sim *sim = remote->sim;
	int code = 0;

	if (strikes(remote, call, DELAY_ONE_IN))
		code = wait_us(remote, (int64_t)sim_draw(sim, DELAY_MOST_US), call, err);
	if (code == 0 && is_change(call) &&
		(strikes(remote, call, KILLS_ONE_IN) ||
			(sim->deadly && sim_one_in(sim, KILLS_ONE_IN)))) {
		sim->result.crashes++;
		runner_trace(sim->root, "%s crashes in a call", runner_name(remote->target.runner));
		runner_stop(remote->target.runner);
		code = runner_yield(remote->target.runner);
	}
	if (code < 0) {
		outlive(remote, call);
		return code;
	}
	if (strikes(remote, call, FAILS_ONE_IN))
		return aws_call_fail(call, 500, SPAN("ServerException"), SPAN("fate"), failure,
			err);
	if (strikes(remote, call, THROTTLED_ONE_IN))
		return aws_call_fail(call, 400, SPAN("ThrottlingException"), SPAN("Rate exceeded"),
			failure, err);
	if (strikes(remote, call, is_change(call) ? LOST_CHANGE_ONE_IN : LOST_ONE_IN))
		return get_lost(remote, call, err);
	if (!is_change(call) && strikes(remote, call, STALE_ONE_IN) &&
		answer_as_before(remote, call, ret_answer))
		return 0;
	code = send_inner(remote, call, ret_answer, failure, err);
	if (code == 0 && !is_change(call))
		remember(remote, call, *ret_answer);
	if (code == 0 && strikes(remote, call, UNANSWERED_ONE_IN))
		return no_answer(remote, call, err);
	if (code == 0 && is_named(call, "Describe") && strikes(remote, call, PARTIAL_ONE_IN))
		*ret_answer = leave_one_out(call->arena, *ret_answer);
	if (code == 0 && strikes(remote, call, DELAY_ONE_IN))
		code = wait_us(remote, (int64_t)sim_draw(sim, DELAY_MOST_US), call, err);
	return code;
}

/* The caller is killed, with everything else. */
static int die(struct remote_target *remote, const struct aws_call *call, struct err *err)
{
	runner_stop(remote->target.runner);
	runner_yield(remote->target.runner);
	return err_set(err, -ECANCELED, "%s: stopped", call->operation);
}

/* A sweep stops before a call that changes something is sent, or when it was done and the answer is lost. */
static int send_counted(struct remote_target *remote, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct json *answer;
	int code;

	if (!is_change(call))
		return send_inner(remote, call, ret_answer, failure, err);
	if (sim_is_the_end(remote->sim, false))
		return die(remote, call, err);
	code = send_inner(remote, call, &answer, failure, err);
	if (sim_is_the_end(remote->sim, true))
		return die(remote, call, err);
	if (code == 0)
		*ret_answer = answer;
	return code;
}

static int send(struct aws_target *target, const struct aws_call *call, struct json **ret_answer,
	struct aws_call_failure *failure, struct err *err)
{
	struct remote_target *remote = CONTAINER_OF(target, struct remote_target, target);
	struct err ignored;
	int code;

	if (!err)
		err = &ignored;
	if (remote->sim->large && !is_change(call)) {
		code = wait_us(remote, LARGE_CALL_US, call, err);
		if (code < 0)
			return code;
	}
	code = remote->sim->faulty ? send_faulty(remote, call, ret_answer, failure, err)
				   : send_counted(remote, call, ret_answer, failure, err);
	return put_bug_in(remote, call, code, ret_answer, failure, err);
}

static void close_remote(struct aws_target *target)
{
	struct remote_target *remote = CONTAINER_OF(target, struct remote_target, target);

	aws_target_free(remote->inner);
}

/* ---- targets ---- */

const struct aws_target_settings sim_remote_settings = {.name = SIM_REMOTE,
	.region = SIM_REGION,
	.account = SIM_REMOTE_ACCOUNT,
	.accounts = (const char *const[]){SIM_REMOTE_ACCOUNT},
	.account_count = 1,
	.poll_ms = SIM_REMOTE_POLL_MS};

struct aws_target *sim_remote_target(struct sim *sim, struct runner *runner)
{
	struct aws_caller caller = {.account = SPAN(SIM_REMOTE_ACCOUNT),
		.region = SPAN(SIM_REGION),
		.user = SPAN("slipway"),
		.access_key = SPAN("")};
	struct arena *arena = arena_new(0);
	struct remote_target *remote = arena_allocate(arena, sizeof(*remote));

	remote->target = (struct aws_target){
		.runner = runner, .arena = arena, .send = send, .close = close_remote};
	remote->inner = aws_target_local(sim->remote_operators, runner, &caller);
	remote->sim = sim;
	return &remote->target;
}

bool sim_is_remote(const struct sim *sim, size_t cluster)
{
	return sim->remote_store && strcmp(sim_clusters[cluster].account, SIM_REMOTE_ACCOUNT) == 0;
}

struct store *sim_store_of(struct sim *sim, size_t cluster)
{
	return sim_is_remote(sim, cluster) ? sim->remote_store : sim->store;
}
