/*
 * An ECS elsewhere: a store of its own with the real API behind a target that fails as networks and services do, and
 * events that are told late, twice, in another order or not at all.
 */
#include <stdio.h>

#include "aws/call_target.h"
#include "aws/targets.h"
#include "base/memory.h"
#include "daemon/simulation/rehearsal.h"

/* One call in so many… */
#define FAILS_ONE_IN 25
#define THROTTLED_ONE_IN 25
#define LOST_ONE_IN 30
#define LOST_CHANGE_ONE_IN 3 /* of starts and stops, which are few */
#define UNANSWERED_ONE_IN 30
#define PARTIAL_ONE_IN 6
#define STALE_ONE_IN 8 /* of what reads: as it was answered before */
#define STALE_MOST_US (4 * REHEARSAL_SECOND_US)
#define UNEXPECTED_ONE_IN                                                                          \
	2 /* of starts and stops that got lost: it is done when nobody waits for it any more */
#define KILLS_ONE_IN 5 /* of starts and stops: who made it is killed while it is on its way */
#define DELAY_ONE_IN 3
#define CALMER 12 /* so many times rarer when there is no storm */
/* A listing of a large run is hundreds of calls, which take their time; and as many listings are to come to their end. */
#define LARGE_READS 100
#define LARGE_CALL_US INT64_C(20000)
#define UNEXPECTED_FELT_US (16 * REHEARSAL_SECOND_US)
#define AWAKE_US REHEARSAL_SECOND_US
#define DELAY_MOST_US (2 * REHEARSAL_SECOND_US)
#define ANSWERS_MAX 1000 /* that are remembered */
#define TIMEOUT_US (AWS_TARGETS_WRITE_MS * INT64_C(1000))

struct far_target {
	struct aws_target target;
	struct aws_target *inner;
	struct rehearsal *rehearsal;
};

/* ---- answers that are not whole ---- */

static const char *const lists[] = {"tasks", "containerInstances"};

/* One of what was asked for is missing, with a failure that says nothing of whether it is there. */
static struct json *leave_one_out(struct arena *arena, const struct json *answer)
{
	struct json *made = json_copy_object(arena, answer), *failures = json_new_array(arena);

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
		json_set(arena, made, lists[i], rest);
		json_set(arena, made, "failures", failures);
	}
	return made;
}

static bool is_named(const struct aws_call *call, const char *beginning)
{
	return strncmp(call->operation, beginning, strlen(beginning)) == 0;
}

static bool is_change(const struct aws_call *call)
{
	return is_named(call, "Start") || is_named(call, "Stop");
}

/* Bugs of those who read. */
static int put_bug_in(struct far_target *far, const struct aws_call *call, int code,
	struct json **answer, struct aws_call_failure *failure, struct err *err)
{
	enum daemon_bug bug = far->rehearsal->config->bug;

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

static int wait_us(struct far_target *far, int64_t duration_us, const struct aws_call *call,
	struct err *err)
{
	int code = runner_sleep_until(far->target.runner,
		runner_deadline_us(far->target.runner, duration_us));

	return code < 0 ? err_set(err, code, "%s: stopped", call->operation) : 0;
}

static bool was_asleep(const struct far_target *far);
static void expect_late(struct rehearsal *rehearsal, const struct json *request);

static int send_inner(struct far_target *far, const struct aws_call *call, struct json **ret_answer,
	struct aws_call_failure *failure, struct err *err)
{
	struct json *request = json_copy_object(call->arena, call->request);
	struct aws_call one = *call;

	/* Few on a page, so that there are several; in large runs there are without that. */
	if (is_named(call, "List") && !far->rehearsal->large)
		json_set_integer(call->arena, request, "maxResults", REHEARSAL_PAGE);
	if (is_change(call) && was_asleep(far))
		expect_late(far->rehearsal, request);
	one.request = request;
	return far->inner->send(far->inner, &one, ret_answer, failure, err);
}

static int no_answer(struct far_target *far, const struct aws_call *call, struct err *err)
{
	int code;

	far->rehearsal->result.lost_calls++;
	code = wait_us(far, TIMEOUT_US - 1, call, err);
	return code < 0 ? code : err_set(err, -ETIMEDOUT, "%s: no answer came", call->operation);
}

/* It arrives all the same, so long from now. */
static void arrive_later(struct far_target *far, const struct aws_call *call, int64_t delay_us,
	bool is_unexpected)
{
	struct rehearsal *rehearsal = far->rehearsal;
	struct rehearsal_call *late = &rehearsal->calls[rehearsal->call_count];
	struct span body = json_to_text(call->request, call->arena);

	if (rehearsal->call_count == REHEARSAL_CALLS_MAX || body.length >= sizeof(late->body))
		return;
	late->is_unexpected = is_unexpected;
	late->due_us = runner_now_us(rehearsal->root) + delay_us;
	snprintf(late->operation, sizeof(late->operation), "%s", call->operation);
	snprintf(late->body, sizeof(late->body), "%.*s", SPAN_ARGS(body));
	rehearsal->call_count++;
}

/* Who made it was paused on the way, and his lease may be over. */
static bool was_asleep(const struct far_target *far)
{
	const struct rehearsal *rehearsal = far->rehearsal;

	for (size_t i = 0; i < rehearsal->server_count; i++)
		if (rehearsal->servers[i].runner == far->target.runner)
			return rehearsal->servers[i].slept_till_us > 0 &&
			       runner_now_us(rehearsal->root) <
				       rehearsal->servers[i].slept_till_us + AWAKE_US;
	return false;
}

/* Who made the call is gone, and it arrives all the same, if it ever does. */
static void outlive(struct far_target *far, const struct aws_call *call)
{
	struct rehearsal *rehearsal = far->rehearsal;

	if (is_change(call) && rehearsal_one_in(rehearsal, 2))
		arrive_later(far, call, (int64_t)rehearsal_draw(rehearsal, DELAY_MOST_US),
			was_asleep(far));
}

/* Nobody hears of it; whether it is done when he has stopped waiting, he cannot know. */
static int get_lost(struct far_target *far, const struct aws_call *call, struct err *err)
{
	struct rehearsal *rehearsal = far->rehearsal;

	if (is_change(call) && rehearsal_one_in(rehearsal, UNEXPECTED_ONE_IN))
		arrive_later(far, call, TIMEOUT_US + (int64_t)rehearsal_draw(rehearsal, TIMEOUT_US),
			true);
	return no_answer(far, call, err);
}

/* ---- calls that come late ---- */

static struct span last_part(struct span path)
{
	struct span part = path;

	while (span_split(path, '/', &part, &path))
		part = path;
	return part;
}

static void expect_on(struct rehearsal *rehearsal, const struct truth_environment *environment,
	struct span cluster, struct span instance)
{
	char key[2 * REHEARSAL_TEXT_MAX];
	struct truth_instance *found;

	snprintf(key, sizeof(key), REHEARSAL_FAR_ACCOUNT "/" REHEARSAL_REGION "/%.*s/%.*s",
		SPAN_ARGS(cluster), SPAN_ARGS(last_part(instance)));
	found = map_get(&daemon_checker_truth(rehearsal->checker)->instances, span_of(key));
	if (found)
		truth_expect_late(environment, found,
			runner_now_us(rehearsal->root) + UNEXPECTED_FELT_US);
}

/* What comes of it is seen a while later, and put right; of whatever else happens elsewhere that is no excuse. */
static void expect_late(struct rehearsal *rehearsal, const struct json *request)
{
	struct truth *truth = daemon_checker_truth(rehearsal->checker);
	struct span task = json_get_text(request, "task"), group = json_get_text(request, "group");
	char cluster[REHEARSAL_TEXT_MAX];
	const struct truth_environment *environment;

	snprintf(cluster, sizeof(cluster), REHEARSAL_FAR_ACCOUNT "/" REHEARSAL_REGION "/%.*s",
		SPAN_ARGS(json_get_text(request, "cluster")));
	environment = truth_owner(truth, span_of(cluster), group.data ? group : SPAN(""));
	JSON_EACH_ITEM (json_get(request, "containerInstances"), instance)
		if (environment)
			expect_on(rehearsal, environment, json_get_text(request, "cluster"),
				json_text(instance));
	MAP_EACH (&truth->tasks, entry) {
		struct truth_task *found = entry->value;

		if (task.data && found->environment && span_is(task, found->arn))
			truth_expect_late(found->environment, found->instance,
				runner_now_us(rehearsal->root) + UNEXPECTED_FELT_US);
	}
}

void rehearsal_deliver_calls(struct rehearsal *rehearsal)
{
	int64_t now_us = runner_now_us(rehearsal->root);
	size_t kept = 0;

	for (size_t i = 0; i < rehearsal->call_count; i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct rehearsal_call call = rehearsal->calls[i];
		struct json *request;

		if (call.due_us > now_us) {
			rehearsal->calls[kept++] = call;
			continue;
		}
		rehearsal->result.late_calls++;
		rehearsal->result.unexpected_calls += call.is_unexpected;
		if (call.is_unexpected && json_parse(arena_copy_span(arena, span_of(call.body)),
						  arena, &request, NULL) == 0)
			expect_late(rehearsal, request);
		rehearsal_operate(rehearsal, arena, 0, call.operation, "%s", call.body);
	}
	rehearsal->call_count = kept;
}

/* ---- reading what was ---- */

static struct span name_of(const struct aws_call *call)
{
	return arena_format(call->arena, "%s %.*s", call->operation,
		SPAN_ARGS(json_to_text(call->request, call->arena)));
}

static void remember(struct far_target *far, const struct aws_call *call, const struct json *answer)
{
	struct rehearsal *rehearsal = far->rehearsal;
	struct span name = name_of(call), text = json_to_text(answer, call->arena);
	struct rehearsal_answer *kept = map_get(&rehearsal->answers, name);

	if (!kept && rehearsal->answers.count >= ANSWERS_MAX)
		rehearsal_forget_answers(rehearsal);
	if (!kept) {
		kept = memory_allocate(sizeof(*kept));
		map_put(&rehearsal->answers, name, kept);
	}
	free(kept->text);
	kept->text = memory_copy_string_n(text.data, text.length);
	kept->at_us = runner_now_us(rehearsal->root);
}

/* The same as a moment ago, whatever happened since. */
static bool answer_as_before(struct far_target *far, const struct aws_call *call,
	struct json **ret_answer)
{
	struct rehearsal *rehearsal = far->rehearsal;
	const struct rehearsal_answer *kept = map_get(&rehearsal->answers, name_of(call));
	struct rehearsal_answer *last;

	if (!kept || runner_now_us(rehearsal->root) - kept->at_us > STALE_MOST_US ||
		json_parse(arena_copy_span(call->arena, span_of(kept->text)), call->arena,
			ret_answer, NULL) < 0)
		return false;
	rehearsal->result.stale_reads++;
	last = &rehearsal->stale[rehearsal->stale_count++ % REHEARSAL_STALE];
	free(last->text);
	*last = (struct rehearsal_answer){
		runner_now_us(rehearsal->root), memory_copy_string(kept->text)};
	return true;
}

void rehearsal_forget_answers(struct rehearsal *rehearsal)
{
	MAP_EACH (&rehearsal->answers, entry) {
		free(((struct rehearsal_answer *)entry->value)->text);
		free(entry->value);
	}
	map_clear(&rehearsal->answers);
}

static bool strikes(const struct far_target *far, const struct aws_call *call, uint64_t one_in)
{
	struct rehearsal *rehearsal = far->rehearsal;

	if (rehearsal->large && !is_change(call))
		one_in *= LARGE_READS;
	return rehearsal_one_in(rehearsal, rehearsal->storm ? one_in : one_in * CALMER);
}

static int send_faulty(struct far_target *far, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct rehearsal *rehearsal = far->rehearsal;
	int code = 0;

	if (strikes(far, call, DELAY_ONE_IN))
		code = wait_us(far, (int64_t)rehearsal_draw(rehearsal, DELAY_MOST_US), call, err);
	if (code == 0 && is_change(call) &&
		(strikes(far, call, KILLS_ONE_IN) ||
			(rehearsal->deadly && rehearsal_one_in(rehearsal, KILLS_ONE_IN)))) {
		rehearsal->result.crashes++;
		runner_trace(rehearsal->root, "%s crashes in a call",
			runner_name(far->target.runner));
		runner_stop(far->target.runner);
		code = runner_yield(far->target.runner);
	}
	if (code < 0) {
		outlive(far, call);
		return code;
	}
	if (strikes(far, call, FAILS_ONE_IN))
		return aws_call_fail(call, 500, SPAN("ServerException"), SPAN("fate"), failure,
			err);
	if (strikes(far, call, THROTTLED_ONE_IN))
		return aws_call_fail(call, 400, SPAN("ThrottlingException"), SPAN("Rate exceeded"),
			failure, err);
	if (strikes(far, call, is_change(call) ? LOST_CHANGE_ONE_IN : LOST_ONE_IN))
		return get_lost(far, call, err);
	if (!is_change(call) && strikes(far, call, STALE_ONE_IN) &&
		answer_as_before(far, call, ret_answer))
		return 0;
	code = send_inner(far, call, ret_answer, failure, err);
	if (code == 0 && !is_change(call))
		remember(far, call, *ret_answer);
	if (code == 0 && strikes(far, call, UNANSWERED_ONE_IN))
		return no_answer(far, call, err);
	if (code == 0 && is_named(call, "Describe") && strikes(far, call, PARTIAL_ONE_IN))
		*ret_answer = leave_one_out(call->arena, *ret_answer);
	if (code == 0 && strikes(far, call, DELAY_ONE_IN))
		code = wait_us(far, (int64_t)rehearsal_draw(rehearsal, DELAY_MOST_US), call, err);
	return code;
}

/* The one who calls is killed, with everything else. */
static int die(struct far_target *far, const struct aws_call *call, struct err *err)
{
	runner_stop(far->target.runner);
	runner_yield(far->target.runner);
	return err_set(err, -ECANCELED, "%s: stopped", call->operation);
}

/* A sweep stops before a call that changes something is sent, or when it was done and nobody has heard so. */
static int send_counted(struct far_target *far, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct json *answer;
	int code;

	if (!is_change(call))
		return send_inner(far, call, ret_answer, failure, err);
	if (rehearsal_is_the_end(far->rehearsal, false))
		return die(far, call, err);
	code = send_inner(far, call, &answer, failure, err);
	if (rehearsal_is_the_end(far->rehearsal, true))
		return die(far, call, err);
	if (code == 0)
		*ret_answer = answer;
	return code;
}

static int send(struct aws_target *target, const struct aws_call *call, struct json **ret_answer,
	struct aws_call_failure *failure, struct err *err)
{
	struct far_target *far = CONTAINER_OF(target, struct far_target, target);
	struct err ignored;
	int code;

	if (!err)
		err = &ignored;
	if (far->rehearsal->large && !is_change(call)) {
		code = wait_us(far, LARGE_CALL_US, call, err);
		if (code < 0)
			return code;
	}
	code = far->rehearsal->faulty ? send_faulty(far, call, ret_answer, failure, err)
				      : send_counted(far, call, ret_answer, failure, err);
	return put_bug_in(far, call, code, ret_answer, failure, err);
}

static void close_far(struct aws_target *target)
{
	struct far_target *far = CONTAINER_OF(target, struct far_target, target);

	aws_target_free(far->inner);
}

/* ---- targets ---- */

const struct aws_target_settings rehearsal_far_settings = {.name = REHEARSAL_FAR,
	.region = REHEARSAL_REGION,
	.account = REHEARSAL_FAR_ACCOUNT,
	.accounts = (const char *const[]){REHEARSAL_FAR_ACCOUNT},
	.account_count = 1,
	.poll_ms = REHEARSAL_FAR_POLL_MS};

struct aws_target *rehearsal_far_target(struct rehearsal *rehearsal, struct runner *runner)
{
	struct aws_caller caller = {.account = SPAN(REHEARSAL_FAR_ACCOUNT),
		.region = SPAN(REHEARSAL_REGION),
		.user = SPAN("slipway"),
		.access_key = SPAN("")};
	struct arena *arena = arena_new(0);
	struct far_target *far = arena_allocate(arena, sizeof(*far));

	far->target = (struct aws_target){
		.runner = runner, .arena = arena, .send = send, .close = close_far};
	far->inner = aws_target_local(rehearsal->far_operators, runner, &caller);
	far->rehearsal = rehearsal;
	return &far->target;
}

bool rehearsal_is_far(const struct rehearsal *rehearsal, size_t cluster)
{
	return rehearsal->far_store &&
	       strcmp(rehearsal_clusters[cluster].account, REHEARSAL_FAR_ACCOUNT) == 0;
}

struct store *rehearsal_store_of(struct rehearsal *rehearsal, size_t cluster)
{
	return rehearsal_is_far(rehearsal, cluster) ? rehearsal->far_store : rehearsal->store;
}
