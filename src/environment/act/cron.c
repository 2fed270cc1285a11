/*
 * The manager of a Cron environment: starts what is due, follows what runs, tells what was missed. See cron.h for what
 * it keeps to.
 *
 * Elsewhere a call that got no answer may have happened. It is made again with the same token while a run may still
 * begin; after that nobody asks for it any more, and the state service tells what came of it: tasks of a run are known by
 * their startedBy, which nothing else has. Nothing is started or stopped in a cluster of which too little is known.
 */
#include <inttypes.h>

#include "base/memory.h"
#include "delivery/cluster_ref.h"
#include "environment/act/pass.h"
#include "environment/decide/service_observed.h"
#include "environment/model/environment_type.h"
#include "environment/model/matching.h"
#include "environment/model/runs.h"

#define FOLLOW_MS 5000           /* between two looks at a run; its tasks tell before that */
#define TOKEN_MS INT64_C(600000) /* so long a client token surely holds */
#define SETTLE_MS INT64_C(60000) /* so long a call that got no answer may still arrive */
#define ARRIVAL_MS                                                                                 \
	INT64_C(5000) /* the last call for a run, elsewhere, has ended so long after it was late */
#define UNANSWERED_MS INT64_C(2000) /* before the same is asked for again */
#define RETRY_FIRST_MS INT64_C(1000)
#define RETRY_MOST_MS INT64_C(15000)
#define NOT_NOW_MS 200
#define DEPLOYMENTS_SCAN_MAX 1000

struct cron_pass {
	struct manager_pass *pass;
	struct span name;                 /* of the environment */
	const struct store_object *open;  /* the run that is going; NULL */
	struct environment_run_facts run; /* as it is written */
	struct span api;                  /* of it */
	bool is_new;
};

/* ---- elsewhere ---- */

static bool is_remote(const struct cron_pass *cron)
{
	return cluster_ref_is_remote(cron->run.cluster_ref);
}

/* What is known of the cluster of the run is not too old to act upon; if it is, we look again. */
static bool is_fresh(struct cron_pass *cron, struct observe_info *ret_info)
{
	struct manager_pass *pass = cron->pass;

	if (is_remote(cron) &&
		(!observe_get_info(pass->input.state, cron->run.cluster_ref, ret_info) ||
			!ret_info->complete || ret_info->stale)) {
		manager_again_at(pass, pass->input.steady_ms + MANAGER_BLIND_MS);
		return false;
	}
	return true;
}

/* The deployment; elsewhere also which run it is: clocks differ, and tasks tell nothing else that could tell it. */
static struct span started_by(const struct cron_pass *cron)
{
	return is_remote(cron) ? arena_format(cron->pass->arena, "%.*s/%" PRId64,
					 SPAN_ARGS(cron->run.deployment), cron->run.due_ms / 1000)
			       : cron->run.deployment;
}

/* ---- writing runs ---- */

static struct span reason_document(struct arena *arena, struct span reason, int64_t exit_code,
	bool exited)
{
	struct json *created = json_new_object(arena);

	if (reason.length > 0)
		json_set_string(arena, created, "reason", reason);
	if (exited)
		json_set_integer(arena, created, "exitCode", exit_code);
	return json_count(created) > 0 ? json_to_text(created, arena) : SPAN("");
}

static int write_run(struct store_transaction *transaction, void *context, struct err *err)
{
	struct cron_pass *cron = context;
	struct span environment = cron->pass->input.environment->key;

	if (!cron->is_new)
		return environment_put(transaction, &environment_run_kind, cron->open->key,
			cron->api, &cron->run, cron->open->revision, err);
	if (!manager_is_still_wanted(transaction, cron->pass))
		return err_set(err, -ESTALE, "the environment has changed");
	return cron_add_run(transaction, environment, cron->api, &cron->run, err);
}

static int write_down(struct cron_pass *cron, struct err *err)
{
	struct manager_pass *pass = cron->pass;

	return claims_write(pass->manager->config.claims, &pass->claim, write_run, cron, NULL, err);
}

/* ---- starting ---- */

static struct json *run_request(struct cron_pass *cron, const struct store_object *version)
{
	struct manager_pass *pass = cron->pass;
	struct arena *arena = pass->arena;
	const struct json *document = manager_version_document(pass, version);
	struct span expression =
		service_constraint(arena, json_path(document, "instanceGroup.attributes"));
	struct json *request = json_new_object(arena), *list = json_new_array(arena),
		    *one = json_new_object(arena);

	json_set_string(arena, request, "cluster", manager_last_part(cron->run.cluster_ref));
	json_set_string(arena, request, "taskDefinition",
		environment_version_facts(version)->task_definition);
	json_set(arena, request, "networkConfiguration",
		json_get(document, "networkConfiguration"));
	json_set_integer(arena, request, "count", cron->run.count);
	json_set_string(arena, request, "group",
		arena_format(arena, ENVIRONMENT_GROUP_PREFIX "%.*s", SPAN_ARGS(cron->name)));
	json_set_string(arena, request, "startedBy", started_by(cron));
	if (expression.length > 0) {
		json_set_string(arena, one, "type", SPAN("memberOf"));
		json_set_string(arena, one, "expression", expression);
		json_append(arena, list, one);
		json_set(arena, request, "placementConstraints", list);
	}
	json_set_string(arena, request, "clientToken",
		manager_token(pass, "run/%" PRId64 "/%" PRId64, cron->run.due_ms,
			cron->run.attempt));
	return request;
}

static void end_run(struct cron_pass *cron, enum environment_run_status status, struct span reason)
{
	cron->run.status = status;
	cron->run.ended_ms = cron->pass->input.now_ms;
	cron->api = reason_document(cron->pass->arena, reason, 0, false);
}

/* Once more while it is not too late; with another token, since this one got its answer. */
static void refuse(struct cron_pass *cron, struct span reason)
{
	struct manager_pass *pass = cron->pass;
	int64_t delay = RETRY_FIRST_MS;

	for (int64_t i = 0; i < cron->run.attempt && delay < RETRY_MOST_MS; i++)
		delay *= 2;
	cron->run.attempt++;
	cron->run.until_ms = pass->input.now_ms + (delay < RETRY_MOST_MS ? delay : RETRY_MOST_MS);
	if (cron->run.until_ms > cron->run.due_ms + CRON_LATE_MS)
		end_run(cron, ENVIRONMENT_RUN_failed, reason);
	else
		cron->api = reason_document(pass->arena, reason, 0, false);
}

static void adopt_tasks(struct cron_pass *cron, const struct json *tasks)
{
	struct arena *arena = cron->pass->arena;
	struct span list = SPAN("");

	JSON_EACH_ITEM (tasks, task)
		list = arena_format(arena, "%.*s%s%.*s", SPAN_ARGS(list),
			list.length > 0 ? " " : "", SPAN_ARGS(json_get_text(task, "taskArn")));
	cron->run.tasks = list;
	cron->run.status = ENVIRONMENT_RUN_started;
	cron->run.started_ms = cron->pass->input.now_ms;
	cron->api = SPAN("");
}

/* What it was told of the tasks elsewhere is known at once; of a task of this server the store tells it. */
static void learn_tasks(struct cron_pass *cron, const struct json *tasks)
{
	if (!is_remote(cron))
		return;
	JSON_EACH_ITEM (tasks, task)
		observe_post_task(cron->pass->input.state, cron->run.cluster_ref, task, NULL);
}

static void read_started(struct cron_pass *cron, const struct json *answer)
{
	const struct json *tasks = json_get(answer, "tasks");
	struct span reason = json_get_text(json_item(json_get(answer, "failures"), 0), "reason");

	if (json_count(tasks) > 0) {
		adopt_tasks(cron, tasks);
		learn_tasks(cron, tasks);
	} else {
		refuse(cron, reason.data ? reason : SPAN("no task was started"));
	}
}

/* The same again, with the same token: the answer to the first one is the answer to all. Also of what is refused: it says
 * nothing of those before it, which may have been done without an answer, perhaps by a server that is gone. If it is too late
 * in the end, what there is says whether it was started. */
static void ask_again(struct cron_pass *cron, struct span reason)
{
	int64_t now_ms = runner_wall_ms(cron->pass->call->runner);
	int64_t delay_ms = (now_ms - cron->run.intended_ms) / 2;

	if (delay_ms < UNANSWERED_MS)
		delay_ms = UNANSWERED_MS;
	cron->run.until_ms = now_ms + (delay_ms < RETRY_MOST_MS ? delay_ms : RETRY_MOST_MS);
	manager_again_when(cron->pass, cron->run.until_ms);
	cron->api = reason_document(cron->pass->arena, reason, 0, false);
}

static int call_run(struct cron_pass *cron, const struct store_object *version, struct err *err)
{
	struct manager_pass *pass = cron->pass;
	struct outcall_result result;
	struct outcall call;
	int code = manager_outcall(pass, cron->run.cluster_ref,
		environment_version_facts(version)->role, &call, err);

	if (code == 0)
		code = outcall_prepare(&call, err);
	if (manager_ends_pass(code))
		return code;
	if (code < 0) {
		ask_again(cron, span_of(err->message));
		return write_down(cron, err);
	}
	code = outcall_send(&call, "RunTask", run_request(cron, version), &result, err);
	if (code < 0)
		return code;
	if (result.code < 0 && result.code != -EREMOTEIO && !is_remote(cron))
		return result.code;
	if (result.outcome == OUTCALL_DONE)
		read_started(cron, result.answer);
	else
		ask_again(cron, result.reason);
	return write_down(cron, err);
}

static int launch(struct cron_pass *cron, struct err *err)
{
	struct manager_pass *pass = cron->pass;
	const struct store_object *version = store_get(pass->input.view, &environment_version_kind,
		environment_child_key(pass->arena, pass->input.environment->key,
			cron->run.version));
	struct observe_info info;
	int code;

	if (!version) {
		end_run(cron, ENVIRONMENT_RUN_failed, SPAN("its version is gone"));
		return write_down(cron, err);
	}
	if (!is_fresh(cron, &info))
		return 0;
	if (!manager_enter(pass->manager, cron->run.cluster_ref)) {
		manager_again_at(pass, pass->input.steady_ms + NOT_NOW_MS);
		return 0;
	}
	code = call_run(cron, version, err);
	manager_leave(pass->manager, cron->run.cluster_ref);
	/* Our lease does not outlast a call: soon it does, or another server has the claim. */
	if (code == -ESTALE)
		manager_again_at(pass, pass->input.steady_ms + NOT_NOW_MS);
	return code == -ESTALE ? 0 : code;
}

/* ---- what may have been started ---- */

static int64_t moment_of(const struct json *task, const char *member)
{
	double seconds = 0;

	json_double(json_get(task, member), &seconds);
	return (int64_t)(seconds * 1000);
}

static int describe_tasks(struct cron_pass *cron, const struct json *arns, struct json **ret_answer,
	struct err *err)
{
	struct manager_pass *pass = cron->pass;
	struct json *request = json_new_object(pass->arena);
	struct aws_call_failure failure;

	json_set_string(pass->arena, request, "cluster", manager_last_part(cron->run.cluster_ref));
	json_set(pass->arena, request, "tasks", arns);
	return manager_read(pass, cron->run.cluster_ref, "DescribeTasks", request, ret_answer,
		&failure, err);
}

/* Tasks of this run, by what they say of themselves. */
static int find_started(struct cron_pass *cron, struct json *ret_tasks, struct err *err)
{
	static const char *const statuses[] = {"RUNNING", "STOPPED"};
	struct manager_pass *pass = cron->pass;
	struct arena *arena = pass->arena;

	for (size_t i = 0; i < LENGTH(statuses); i++) {
		struct json *request = json_new_object(arena), *listed = NULL, *answer = NULL;
		struct aws_call_failure failure;
		int code;

		json_set_string(arena, request, "cluster",
			manager_last_part(cron->run.cluster_ref));
		json_set_string(arena, request, "startedBy", cron->run.deployment);
		json_set_string(arena, request, "desiredStatus", span_of(statuses[i]));
		code = manager_read(pass, cron->run.cluster_ref, "ListTasks", request, &listed,
			&failure, err);
		if (code == 0 && json_count(json_get(listed, "taskArns")) > 0)
			code = describe_tasks(cron, json_get(listed, "taskArns"), &answer, err);
		if (code < 0)
			return code;
		JSON_EACH_ITEM (json_get(answer, "tasks"), task)
			if (moment_of(task, "createdAt") >= cron->run.intended_ms)
				json_append(arena, ret_tasks, task);
	}
	return 0;
}

/* The same elsewhere, by what the state service knows. */
static void find_started_remote(struct cron_pass *cron, struct json *ret_tasks)
{
	struct manager_pass *pass = cron->pass;
	struct observe_task_query query = {.started_by = started_by(cron)};
	struct observe_task *tasks;
	size_t count = observe_select_tasks(pass->input.state, cron->run.cluster_ref, &query,
		SPAN_NONE, ENVIRONMENT_CRON_TASKS_MAX, pass->arena, &tasks);

	for (size_t i = 0; i < count; i++) {
		struct json *task = json_new_object(pass->arena);

		json_set_string(pass->arena, task, "taskArn", tasks[i].arn);
		json_append(pass->arena, ret_tasks, task);
	}
}

/* Whether what was not found will not come any more; if it may, we look again. */
static bool is_settled(struct cron_pass *cron, const struct observe_info *info)
{
	struct manager_pass *pass = cron->pass;
	int64_t settled_ms = cron->run.intended_ms + SETTLE_MS, known_ms = pass->input.now_ms;

	if (is_remote(cron)) {
		settled_ms = cron->run.due_ms + CRON_LATE_MS + ARRIVAL_MS + SETTLE_MS;
		known_ms = info->observed_ms;
	}
	if (known_ms >= settled_ms)
		return true;
	manager_again_when(pass, settled_ms > pass->input.now_ms
					 ? settled_ms
					 : pass->input.now_ms + MANAGER_BLIND_MS);
	return false;
}

/* Why it was last refused, if it was. */
static struct span last_reason(const struct cron_pass *cron)
{
	struct json *kept;

	if (cron->api.length == 0 || json_parse(cron->api, cron->pass->arena, &kept, NULL) < 0 ||
		!json_get_text(kept, "reason").data)
		return SPAN("it was never started");
	return arena_format(cron->pass->arena, "it was never started: %.*s",
		SPAN_ARGS(json_get_text(kept, "reason")));
}

/* An intent that must not be repeated: it is too late, or the environment is not active any more. */
static int resolve(struct cron_pass *cron, struct err *err)
{
	struct json *tasks = json_new_array(cron->pass->arena);
	struct observe_info info = {0};
	int code = 0;

	if (!is_fresh(cron, &info))
		return 0;
	if (is_remote(cron))
		find_started_remote(cron, tasks);
	else
		code = find_started(cron, tasks, err);
	if (code < 0)
		return code;
	if (json_count(tasks) > 0)
		adopt_tasks(cron, tasks);
	else if (is_settled(cron, &info))
		end_run(cron, ENVIRONMENT_RUN_failed, last_reason(cron));
	else
		return 0;
	return write_down(cron, err);
}

/* ---- following ---- */

/* What a task that stopped says; true if all is well. */
static bool has_succeeded(const struct json *task, int64_t *ret_exit_code, bool *ret_exited)
{
	bool healthy = true;

	JSON_EACH_ITEM (json_get(task, "containers"), container) {
		int64_t code = json_get_integer(container, "exitCode", -1);

		if (json_is_absent(json_get(container, "exitCode")))
			healthy = false;
		else if (!*ret_exited || (*ret_exit_code == 0 && code != 0))
			*ret_exit_code = code;
		*ret_exited |= !json_is_absent(json_get(container, "exitCode"));
		healthy &= code == 0;
	}
	return healthy;
}

/* Whether it is worth asking how its tasks ended: elsewhere the state service tells when they have, or are not there. */
static bool may_have_ended(struct cron_pass *cron)
{
	struct manager_pass *pass = cron->pass;
	struct span rest = cron->run.tasks, arn;
	struct observe_info info;

	if (!is_remote(cron))
		return true;
	if (!is_fresh(cron, &info))
		return false;
	while (span_next_part(&rest, ' ', &arn)) {
		const struct observe_task *task = observe_get_task(pass->input.state,
			cron->run.cluster_ref, arn, pass->arena);

		if (task ? task->last != OBSERVE_TASK_STOPPED
			 : info.observed_ms < cron->run.started_ms) {
			manager_again_at(pass, pass->input.steady_ms + FOLLOW_MS);
			return false;
		}
	}
	return true;
}

/* Of one elsewhere that does not answer, soon again: it is in nobody's way. */
static int describe_run(struct cron_pass *cron, const struct json *arns, struct json **ret_answer,
	struct err *err)
{
	struct manager_pass *pass = cron->pass;
	int code;

	if (!manager_enter(pass->manager, cron->run.cluster_ref)) {
		manager_again_at(pass, pass->input.steady_ms + NOT_NOW_MS);
		return 0;
	}
	code = describe_tasks(cron, arns, ret_answer, err);
	manager_leave(pass->manager, cron->run.cluster_ref);
	if (code < 0 && code != -ECANCELED && is_remote(cron)) {
		manager_again_at(pass, pass->input.steady_ms + FOLLOW_MS);
		*ret_answer = NULL;
		return 0;
	}
	return code;
}

static int follow(struct cron_pass *cron, struct err *err)
{
	struct manager_pass *pass = cron->pass;
	struct json *arns = json_new_array(pass->arena), *answer = NULL;
	struct span rest = cron->run.tasks, arn, reason = SPAN("");
	bool healthy = true, exited = false;
	int64_t exit_code = 0, ended_ms = 0;
	int code;

	if (!may_have_ended(cron))
		return 0;
	while (span_next_part(&rest, ' ', &arn))
		json_append(pass->arena, arns, json_new_string(pass->arena, arn));
	code = describe_run(cron, arns, &answer, err);
	if (code < 0 || !answer)
		return code;
	JSON_EACH_ITEM (json_get(answer, "tasks"), task) {
		if (!span_is(json_get_text(task, "lastStatus"), "STOPPED")) {
			manager_again_at(pass, pass->input.steady_ms + FOLLOW_MS);
			return 0;
		}
		if (moment_of(task, "stoppedAt") > ended_ms)
			ended_ms = moment_of(task, "stoppedAt");
		if (has_succeeded(task, &exit_code, &exited))
			continue;
		healthy = false;
		if (json_get_text(task, "stoppedReason").data)
			reason = json_get_text(task, "stoppedReason");
	}
	if (json_count(json_get(answer, "tasks")) < json_count(arns)) {
		healthy = false;
		reason = SPAN("what became of its tasks is not known any more");
	}
	end_run(cron, healthy ? ENVIRONMENT_RUN_succeeded : ENVIRONMENT_RUN_failed, reason);
	/* The clock elsewhere is another one. */
	if (ended_ms > 0 && !is_remote(cron))
		cron->run.ended_ms = ended_ms;
	cron->api = reason_document(pass->arena, reason, exit_code, exited);
	return write_down(cron, err);
}

/* The run that is going: one step. */
static int step_open(struct cron_pass *cron, bool *ret_changed, struct err *err)
{
	struct manager_pass *pass = cron->pass;
	bool active = environment_facts(pass->input.environment)->status == ENVIRONMENT_active;
	int64_t now_ms = pass->input.now_ms;
	int code;

	cron->run = *environment_run_facts(cron->open);
	cron->api = cron->open->api;
	if (cron->run.status == ENVIRONMENT_RUN_started) {
		code = follow(cron, err);
	} else if (!active || cron->run.intended_ms + TOKEN_MS <= now_ms ||
		   cron->run.due_ms + CRON_LATE_MS < now_ms) {
		code = resolve(cron, err);
	} else if (manager_must_wait(pass, cron->run.until_ms, RETRY_MOST_MS)) {
		manager_again_when(pass, cron->run.until_ms);
		return 0;
	} else {
		code = launch(cron, err);
	}
	if (code < 0)
		return code;
	*ret_changed = cron->run.status != environment_run_facts(cron->open)->status ||
		       cron->run.attempt != environment_run_facts(cron->open)->attempt;
	return 0;
}

/* ---- being due ---- */

/* The deployment that brought the target version. */
static struct span find_deployment(const struct manager_pass *pass)
{
	const struct environment_facts *facts = environment_facts(pass->input.environment);
	struct store_cursor cursor = {.view = pass->input.view,
		.kind = &environment_deployment_kind,
		.index = ENVIRONMENT_DEPLOYMENT_BY_NUMBER,
		.prefix =
			arena_format(pass->arena, "%.*s/", SPAN_ARGS(pass->input.environment->key)),
		.descending = true};
	const struct store_object *object;

	for (size_t i = 0; i < DEPLOYMENTS_SCAN_MAX && (object = store_next(&cursor)); i++) {
		const struct environment_deployment_facts *deployment =
			environment_deployment_facts(object);

		if (deployment->started_ms > 0 && span_equal(deployment->version, facts->target))
			return deployment->id;
	}
	return facts->target; /* it was made active without one */
}

static void make_missed(struct cron_pass *cron, const struct schedule *schedule, int64_t first_ms)
{
	const struct manager_pass *pass = cron->pass;
	int64_t anchor_ms = environment_facts(pass->input.environment)->active_ms, next = first_ms;

	cron->run.status = ENVIRONMENT_RUN_missed;
	do {
		cron->run.last_ms = next;
		cron->run.count++;
		next = schedule_next(schedule, next, anchor_ms);
	} while (next >= 0 && next + CRON_LATE_MS < pass->input.now_ms &&
		 cron->run.count < CRON_MISSED_MAX);
	cron->api = reason_document(pass->arena, SPAN("NOT_RUNNING: nobody was there to start it"),
		0, false);
}

/* What is due next: written down, and nothing more. */
static int step_due(struct cron_pass *cron, bool *ret_changed, struct err *err)
{
	struct manager_pass *pass = cron->pass;
	const struct environment_facts *facts = environment_facts(pass->input.environment);
	const struct json *document = manager_version_document(pass, pass->input.target);
	int64_t now_ms = pass->input.now_ms, due_ms;
	struct schedule schedule;
	int code;

	if (facts->status != ENVIRONMENT_active || facts->target.length == 0)
		return 0;
	code = cron_schedule(document, &schedule, err);
	if (code < 0)
		return code;
	due_ms = schedule_next(&schedule,
		cron_cursor(pass->input.view, pass->arena, pass->input.environment),
		facts->active_ms);
	if (due_ms < 0 || due_ms > now_ms) {
		manager_again_when(pass, due_ms);
		return 0;
	}
	cron->is_new = true;
	cron->api = SPAN("");
	cron->run = (struct environment_run_facts){.due_ms = due_ms,
		.version = facts->target,
		.deployment = find_deployment(pass),
		.cluster_ref = environment_version_facts(pass->input.target)->cluster_ref,
		.tasks = SPAN(""),
		.epoch = (int64_t)pass->claim.epoch};
	if (due_ms + CRON_LATE_MS < now_ms) {
		make_missed(cron, &schedule, due_ms);
	} else if (cron->open) {
		const struct environment_run_facts *open = environment_run_facts(cron->open);

		cron->run.status = ENVIRONMENT_RUN_skipped;
		cron->api = reason_document(pass->arena,
			arena_format(pass->arena, "%s %" PRId64,
				open->status == ENVIRONMENT_RUN_started
					? "STILL_RUNNING: the run of"
					: "NOT_KNOWN: what came of the run of",
				open->due_ms / 1000),
			0, false);
	} else {
		cron->run.intended_ms = now_ms;
		cron->run.count = json_get_integer(json_get(document, "deploymentConfiguration"),
			"desiredCount", 1);
	}
	code = write_down(cron, err);
	*ret_changed = code == 0 || code == -ESTALE;
	return code == -ESTALE ? 0 : code;
}

/* ---- counting ---- */

static void publish(struct cron_pass *cron)
{
	struct manager_pass *pass = cron->pass;
	const struct store_object *last =
		cron_last_run(pass->input.view, pass->arena, pass->input.environment->key);
	struct environment_counts counts = {0};
	struct span rest, arn;

	if (cron->open) {
		const struct environment_run_facts *run = environment_run_facts(cron->open);

		counts.total = run->count;
		rest = run->tasks;
		while (span_next_part(&rest, ' ', &arn)) {
			const struct observe_task *task = observe_get_task(pass->input.state,
				run->cluster_ref, arn, pass->arena);

			if (task && task->last == OBSERVE_TASK_RUNNING &&
				counts.active < counts.total)
				counts.active++;
		}
		counts.launching = counts.total - counts.active;
	} else if (last && environment_run_facts(last)->status == ENVIRONMENT_RUN_failed) {
		counts.total = counts.unhealthy = 1;
	}
	manager_publish(pass, &counts);
}

/* ---- deleting ---- */

static int stop_tasks(struct cron_pass *cron, struct err *err)
{
	struct manager_pass *pass = cron->pass;
	struct span rest = environment_run_facts(cron->open)->tasks, arn,
		    role = manager_role(pass, environment_run_facts(cron->open)->cluster_ref,
			    environment_run_facts(cron->open)->version);
	struct observe_info info;
	int code = 0;

	cron->run = *environment_run_facts(cron->open);
	if (!is_fresh(cron, &info) || !manager_enter(pass->manager, cron->run.cluster_ref)) {
		manager_again_at(pass, pass->input.steady_ms + MANAGER_BLIND_MS);
		return 0;
	}
	while (code == 0 && span_next_part(&rest, ' ', &arn)) {
		struct json *request = json_new_object(pass->arena);
		struct outcall_result result;

		json_set_string(pass->arena, request, "cluster",
			manager_last_part(environment_run_facts(cron->open)->cluster_ref));
		json_set_string(pass->arena, request, "task", arn);
		json_set_string(pass->arena, request, "reason",
			arena_format(pass->arena, "Environment %.*s", SPAN_ARGS(cron->name)));
		code = manager_send(pass, environment_run_facts(cron->open)->cluster_ref, role,
			"StopTask", request, &result, err);
		if (code == 0 && result.code != -EREMOTEIO)
			code = result.code;
	}
	manager_leave(pass->manager, cron->run.cluster_ref);
	manager_again_at(pass, pass->input.steady_ms + 1000);
	return code == -ECANCELED || !is_remote(cron) ? code : 0;
}

static int work_deleting(struct cron_pass *cron, bool *ret_more, struct err *err)
{
	if (cron->open && environment_facts(cron->pass->input.environment)->terminate)
		return stop_tasks(cron, err);
	return manager_delete(cron->pass, ret_more, err);
}

/* ---- all of it ---- */

int manager_work_cron(struct manager_pass *pass, bool *ret_more, struct err *err)
{
	/* A schedule is rolled out by being there. */
	static const struct manager_progress done = {.is_over = true};
	struct cron_pass cron = {.pass = pass,
		.name = environment_facts(pass->input.environment)->name,
		.open = cron_open_run(pass->input.view, pass->input.environment->key)};
	int code;

	if (!pass->input.target)
		return err_set(err, -ENOENT, "the environment has no version");
	manager_want(pass, environment_version_facts(pass->input.target)->cluster_ref);
	if (cron.open)
		manager_want(pass, environment_run_facts(cron.open)->cluster_ref);
	publish(&cron);
	code = claims_acquire(pass->manager->config.claims, pass->claim_key, &pass->claim, err);
	if (code == -EBUSY)
		return 0; /* another server's; it tells when it is free */
	if (code == 0 && cron.open)
		code = step_open(&cron, ret_more, err);
	if (code == 0 && !*ret_more)
		code = step_due(&cron, ret_more, err);
	if (code < 0 || *ret_more)
		return code;
	pass->progress = &done;
	code = manager_step_deployments(pass, ret_more, err);
	pass->progress = NULL;
	if (code < 0 || *ret_more)
		return code;
	return environment_facts(pass->input.environment)->status == ENVIRONMENT_deleting
		       ? work_deleting(&cron, ret_more, err)
		       : 0;
}
