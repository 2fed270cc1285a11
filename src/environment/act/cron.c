/*
 * A pass over a Cron environment: starts runs at their due times, follows them, and records missed ones
 * (decide/cron_step.h; model/runs.h has the rules).
 *
 * A call to a remote ECS that got no answer may have taken effect. It is repeated with the same token while the run may
 * still begin; after that the observer shows whether it took effect, because only the tasks of one run have its startedBy.
 * Nothing is started or stopped in a cluster whose state is unknown or stale.
 */
#include <inttypes.h>

#include "base/memory.h"
#include "delivery/cluster_ref.h"
#include "environment/act/pass.h"
#include "environment/decide/cron_step.h"
#include "environment/decide/service_observed.h"
#include "environment/model/environment_type.h"
#include "environment/model/matching.h"
#include "environment/model/runs.h"

#define FOLLOW_MS 5000 /* between two passes over a run; changes of its tasks come earlier */
#define NOT_NOW_MS 200

struct cron_pass {
	struct manager_pass *pass;
	struct span name;                 /* of the environment */
	const struct store_object *open;  /* the run that is going; NULL */
	struct environment_run_facts run; /* as it is written */
	struct span api;                  /* of it */
	bool is_new;
};

/* ---- remote clusters ---- */

static struct cluster_ref cron_cluster(const struct cron_pass *cron)
{
	return cluster_ref_of(cron->run.cluster_ref);
}

static bool is_remote(const struct cron_pass *cron)
{
	return cluster_ref_is_remote(cron_cluster(cron));
}

/* Whether the state of the run's cluster is recent enough to act on; if not, there will be another pass. */
static bool is_fresh(struct cron_pass *cron, struct observe_info *ret_info)
{
	struct manager_pass *pass = cron->pass;

	if (is_remote(cron) &&
		(!observe_get_info(pass->input.state, cron_cluster(cron), ret_info) ||
			!ret_info->complete || ret_info->stale)) {
		manager_again_at(pass, pass->input.steady_ms + MANAGER_BLIND_MS);
		return false;
	}
	return true;
}

/* The deployment; in a remote cluster also the run's due time, because nothing else identifies the tasks of a run: clocks
 * differ. */
static struct span started_by(const struct cron_pass *cron)
{
	return is_remote(cron) ? arena_format(cron->pass->arena, "%.*s/%" PRId64,
					 SPAN_ARGS(cron->run.deployment), cron->run.due_ms / 1000)
			       : cron->run.deployment;
}

/* ---- writing runs ---- */

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

	json_set_string(arena, request, "cluster", cron_cluster(cron).cluster);
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
	cron->api = cron_run_text(cron->pass->arena, reason, 0, false);
}

static void refuse(struct cron_pass *cron, struct span reason)
{
	cron_refuse(&cron->run, cron->pass->input.now_ms);
	cron->api = cron_run_text(cron->pass->arena, reason, 0, false);
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

/* The observer gets the answer's tasks at once; tasks of this server come through the change feed. */
static void learn_tasks(struct cron_pass *cron, const struct json *tasks)
{
	if (!is_remote(cron))
		return;
	JSON_EACH_ITEM (tasks, task)
		observe_post_task(cron->pass->input.state, cron_cluster(cron), task, NULL);
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

/* The same request again, with the same token: the answer to the first is the answer to all. Also after an error, which
 * says nothing about earlier calls without an answer, perhaps of a server that is gone. When it is too late in the end,
 * the tasks show whether the run was started. */
static void ask_again(struct cron_pass *cron, struct span reason)
{
	cron->run.until_ms = cron_repeat_ms(&cron->run, runner_wall_ms(cron->pass->call->runner));
	manager_again_when(cron->pass, cron->run.until_ms);
	cron->api = cron_run_text(cron->pass->arena, reason, 0, false);
}

static int call_run(struct cron_pass *cron, const struct store_object *version, struct err *err)
{
	struct manager_pass *pass = cron->pass;
	struct outcall_result result;
	struct outcall call;
	int code = manager_outcall(pass, cron_cluster(cron),
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
	if (!manager_enter(pass->manager, cron_cluster(cron))) {
		manager_again_at(pass, pass->input.steady_ms + NOT_NOW_MS);
		return 0;
	}
	code = call_run(cron, version, err);
	manager_leave(pass->manager, cron_cluster(cron));
	/* Our lease does not outlast a call: soon it does, or another server has the claim. */
	if (code == -ESTALE)
		manager_again_at(pass, pass->input.steady_ms + NOT_NOW_MS);
	return code == -ESTALE ? 0 : code;
}

/* ---- runs without an answer ---- */

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

	json_set_string(pass->arena, request, "cluster", cron_cluster(cron).cluster);
	json_set(pass->arena, request, "tasks", arns);
	return manager_read(pass, cron_cluster(cron), "DescribeTasks", request, ret_answer,
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

		json_set_string(arena, request, "cluster", cron_cluster(cron).cluster);
		json_set_string(arena, request, "startedBy", cron->run.deployment);
		json_set_string(arena, request, "desiredStatus", span_of(statuses[i]));
		code = manager_read(pass, cron_cluster(cron), "ListTasks", request, &listed,
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

/* The same in a remote cluster, as observed. */
static void find_started_remote(struct cron_pass *cron, struct json *ret_tasks)
{
	struct manager_pass *pass = cron->pass;
	struct observe_task_query query = {.started_by = started_by(cron)};
	struct observe_task *tasks;
	size_t count = observe_select_tasks(pass->input.state, cron_cluster(cron), &query,
		SPAN_NONE, ENVIRONMENT_CRON_TASKS_MAX, pass->arena, &tasks);

	for (size_t i = 0; i < count; i++) {
		struct json *task = json_new_object(pass->arena);

		json_set_string(pass->arena, task, "taskArn", tasks[i].arn);
		json_append(pass->arena, ret_tasks, task);
	}
}

/* Whether a run that was not found cannot appear any more; if it can, there will be another pass. */
static bool is_settled(struct cron_pass *cron, const struct observe_info *info)
{
	struct manager_pass *pass = cron->pass;
	int64_t settled_ms;

	if (cron_is_settled(&cron->run, is_remote(cron),
		    is_remote(cron) ? info->observed_ms : pass->input.now_ms, &settled_ms))
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

/* The exit code of a stopped task; true: all its containers succeeded. */
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

/* Whether to ask how its tasks ended: in a remote cluster, when they were observed to stop, or are gone. */
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
		const struct observe_task *task =
			observe_get_task(pass->input.state, cron_cluster(cron), arn, pass->arena);

		if (task ? task->last != OBSERVE_TASK_STOPPED
			 : info.observed_ms < cron->run.started_ms) {
			manager_again_at(pass, pass->input.steady_ms + FOLLOW_MS);
			return false;
		}
	}
	return true;
}

/* A remote cluster that does not answer is asked again soon; that delays nothing else. */
static int describe_run(struct cron_pass *cron, const struct json *arns, struct json **ret_answer,
	struct err *err)
{
	struct manager_pass *pass = cron->pass;
	int code;

	if (!manager_enter(pass->manager, cron_cluster(cron))) {
		manager_again_at(pass, pass->input.steady_ms + NOT_NOW_MS);
		return 0;
	}
	code = describe_tasks(cron, arns, ret_answer, err);
	manager_leave(pass->manager, cron_cluster(cron));
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
	/* A remote ECS has another clock. */
	if (ended_ms > 0 && !is_remote(cron))
		cron->run.ended_ms = ended_ms;
	cron->api = cron_run_text(pass->arena, reason, exit_code, exited);
	return write_down(cron, err);
}

static struct cron_input input_of(const struct cron_pass *cron)
{
	return (struct cron_input){.observed = &cron->pass->input,
		.open = cron->open,
		.epoch = (int64_t)cron->pass->claim.epoch};
}

/* One step of the run in progress. */
static int step_open(struct cron_pass *cron, bool *ret_changed, struct err *err)
{
	const struct cron_input input = input_of(cron);
	int code = 0;

	cron->run = *environment_run_facts(cron->open);
	cron->api = cron->open->api;
	switch (cron_decide_open(&input)) {
	case CRON_OPEN_FOLLOW: code = follow(cron, err); break;
	case CRON_OPEN_RESOLVE: code = resolve(cron, err); break;
	case CRON_OPEN_LAUNCH: code = launch(cron, err); break;
	case CRON_OPEN_WAIT: manager_again_when(cron->pass, cron->run.until_ms); return 0;
	}
	if (code < 0)
		return code;
	*ret_changed = cron->run.status != environment_run_facts(cron->open)->status ||
		       cron->run.attempt != environment_run_facts(cron->open)->attempt;
	return 0;
}

/* Records the next due time if it has come. */
static int step_due(struct cron_pass *cron, bool *ret_changed, struct err *err)
{
	const struct cron_input input = input_of(cron);
	struct cron_due due;
	int code = cron_decide_due(&input, &due, err);

	if (code < 0)
		return code;
	if (!due.is_due) {
		manager_again_when(cron->pass, due.next_ms);
		return 0;
	}
	cron->is_new = true;
	cron->run = due.run;
	cron->api = due.api;
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
				cluster_ref_of(run->cluster_ref), arn, pass->arena);

			if (task && task->last == OBSERVE_TASK_RUNNING &&
				counts.active < counts.total)
				counts.active++;
		}
		counts.launching = counts.total - counts.active;
	} else if (last && environment_run_facts(last)->status == ENVIRONMENT_RUN_failed) {
		counts.total = counts.unhealthy = 1;
	}
	environment_state_set_counts(pass->state, &counts);
}

/* ---- deleting ---- */

static int stop_tasks(struct cron_pass *cron, struct err *err)
{
	struct manager_pass *pass = cron->pass;
	struct span rest = environment_run_facts(cron->open)->tasks, arn,
		    role = manager_role(pass,
			    cluster_ref_of(environment_run_facts(cron->open)->cluster_ref),
			    environment_run_facts(cron->open)->version);
	struct observe_info info;
	int code = 0;

	cron->run = *environment_run_facts(cron->open);
	if (!is_fresh(cron, &info) || !manager_enter(pass->manager, cron_cluster(cron))) {
		manager_again_at(pass, pass->input.steady_ms + MANAGER_BLIND_MS);
		return 0;
	}
	while (code == 0 && span_next_part(&rest, ' ', &arn)) {
		struct json *request = json_new_object(pass->arena);
		struct outcall_result result;

		json_set_string(pass->arena, request, "cluster",
			cluster_ref_of(environment_run_facts(cron->open)->cluster_ref).cluster);
		json_set_string(pass->arena, request, "task", arn);
		json_set_string(pass->arena, request, "reason",
			arena_format(pass->arena, "Environment %.*s", SPAN_ARGS(cron->name)));
		code = manager_send(pass,
			cluster_ref_of(environment_run_facts(cron->open)->cluster_ref), role,
			"StopTask", request, &result, err);
		if (code == 0 && result.code != -EREMOTEIO)
			code = result.code;
	}
	manager_leave(pass->manager, cron_cluster(cron));
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

static int work_cron(struct manager_pass *pass, bool *ret_more, struct err *err)
{
	/* A schedule is rolled out by being there. */
	static const struct deployment_progress done = {.is_over = true};
	struct cron_pass cron = {.pass = pass,
		.name = environment_facts(pass->input.environment)->name,
		.open = cron_open_run(pass->input.view, pass->input.environment->key)};
	int code;

	if (!pass->input.target)
		return err_set(err, -ENOENT, "the environment has no version");
	manager_want(pass,
		cluster_ref_of(environment_version_facts(pass->input.target)->cluster_ref));
	if (cron.open)
		manager_want(pass, cluster_ref_of(environment_run_facts(cron.open)->cluster_ref));
	publish(&cron);
	code = claims_acquire(pass->manager->config.claims, pass->claim_key, &pass->claim, err);
	if (code == -EBUSY)
		return 0; /* another server has the claim; claim_freed() starts a pass */
	if (code == 0 && cron.open)
		code = step_open(&cron, ret_more, err);
	if (code == 0 && !*ret_more)
		code = step_due(&cron, ret_more, err);
	if (code < 0 || *ret_more)
		return code;
	code = manager_step_deployments(pass, &done, SPAN(""), ret_more, err);
	if (code < 0 || *ret_more)
		return code;
	return environment_facts(pass->input.environment)->status == ENVIRONMENT_deleting
		       ? work_deleting(&cron, ret_more, err)
		       : 0;
}

/* It has no state of its own: what it knows of its runs is in the store. */
const struct environment_operations manager_cron_operations = {.work = work_cron};
