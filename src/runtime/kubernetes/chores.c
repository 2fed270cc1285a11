/*
 * Background work of the runtime: it ends pods whose task has ended, reports changes by time alone,
 * re-reads writes that no informer has shown, and deletes leftovers of incomplete starts. Each
 * chore checks the current state and may run too often.
 */
#include <stdio.h>

#include "base/memory.h"
#include "runtime/kubernetes/internal.h"
#include "runtime/kubernetes/pod_task.h"

void kubernetes_chore_add(struct kubernetes_runtime *runtime, char about, struct span which)
{
	char key[KUBERNETES_CHORE_MAX];

	snprintf(key, sizeof(key), "%c%.*s", about, SPAN_ARGS(which));
	work_queue_add(runtime->chores, span_of(key));
}

void kubernetes_chore_add_at(struct kubernetes_runtime *runtime, char about, struct span which,
	int64_t deadline_us)
{
	char key[KUBERNETES_CHORE_MAX];

	snprintf(key, sizeof(key), "%c%.*s", about, SPAN_ARGS(which));
	work_queue_add_at(runtime->chores, span_of(key), deadline_us);
}

/* Does an object from a write's response still exist? No informer has shown it. */
static int ask_again(struct kubernetes_runtime *runtime, const struct kube_kind *kind,
	const struct kube_object *object, struct json **ret_answer, struct arena *arena,
	struct err *err)
{
	struct kube_target target = {
		.kind = kind, .namespace = object->namespace, .name = object->name};
	int code = kube_get(runtime->client, &target, NULL, arena, ret_answer, err);

	if (code == 0 &&
		!span_equal(json_get_text(json_get(*ret_answer, "metadata"), "uid"), object->uid))
		return -ENOENT;
	return code;
}

/* ---- pods ---- */

static int inspect_pod(struct kubernetes_runtime *runtime, struct span token, struct err *err)
{
	_kube_object_ const struct kube_object *pod = kubernetes_find_pod(runtime, token);
	_arena_ struct arena *arena = arena_new(0);
	int64_t now_ms = runner_wall_ms(runtime->runner);
	struct kubernetes_reported *reported;

	if (!pod)
		return 0;
	reported = kubernetes_pod_report(pod->data, now_ms, arena);
	if (reported->must_end)
		return kubernetes_end_pod(runtime, pod, reported->task.stop, reported->task.reason,
			err);
	if (reported->remind_ms > now_ms)
		kubernetes_chore_add_at(runtime, KUBERNETES_CHORE_POD, token,
			runner_deadline_us(runtime->runner, (reported->remind_ms - now_ms) * 1000));
	else if (reported->remind_ms != 0)
		return kubernetes_remind_node(runtime, pod, err);
	if (reported->again_ms > now_ms)
		kubernetes_chore_add_at(runtime, KUBERNETES_CHORE_TIME, token,
			runner_deadline_us(runtime->runner, (reported->again_ms - now_ms) * 1000));
	return 0;
}

void kubernetes_chore_of_pod(struct kubernetes_runtime *runtime, const struct kubernetes_pod *pod)
{
	_arena_ struct arena *arena = NULL;
	int64_t now_ms = runner_wall_ms(runtime->runner);
	const struct kubernetes_reported *reported;

	if (pod->acknowledged || kubernetes_check_synced(runtime, NULL) < 0)
		return;
	arena = arena_new(0);
	reported = kubernetes_pod_report(pod, now_ms, arena);
	if (reported->must_end || reported->remind_ms != 0 || reported->again_ms > now_ms)
		kubernetes_chore_add(runtime, KUBERNETES_CHORE_POD, pod->token);
}

static int report_again(struct kubernetes_runtime *runtime, struct span token, struct err *err)
{
	(void)err;
	kubernetes_report_task(runtime, token);
	return 0;
}

static int check_fresh_pod(struct kubernetes_runtime *runtime, struct span token, struct err *err)
{
	_kube_object_ const struct kube_object *pod =
		kubernetes_fresh_choose(&runtime->pods, token, NULL);
	_arena_ struct arena *arena = arena_new(0);
	struct json *answer;
	int code;

	if (!pod)
		return 0;
	code = ask_again(runtime, &kube_pods, pod, &answer, arena, err);
	if (code == 0)
		return kubernetes_take_pod(runtime, answer, err);
	if (code != -ENOENT)
		return code;
	kubernetes_fresh_drop(&runtime->pods, token);
	kubernetes_report_task(runtime, token);
	return 0;
}

static int release_pod(struct kubernetes_runtime *runtime, struct span token, struct err *err)
{
	_kube_object_ const struct kube_object *pod = kubernetes_find_pod(runtime, token);
	int code;

	if (!pod || ((const struct kubernetes_pod *)pod->data)->gone)
		return 0;
	code = kubernetes_release_held(runtime, pod, err);
	if (code != -EAGAIN)
		return code;
	kubernetes_chore_add_at(runtime, KUBERNETES_CHORE_RELEASE, token,
		runner_deadline_us(runtime->runner, KUBERNETES_RELEASE_US));
	return 0;
}

/* ---- groups ---- */

static int check_fresh_group(struct kubernetes_runtime *runtime, struct span id, struct err *err)
{
	_kube_object_ const struct kube_object *group =
		kubernetes_fresh_choose(&runtime->groups, id, NULL);
	_arena_ struct arena *arena = arena_new(0);
	const struct kubernetes_workload *workload;
	struct json *answer;
	int code;

	if (!group)
		return 0;
	workload = group->data;
	code = ask_again(runtime, kubernetes_workload_kind(workload->daemon), group, &answer, arena,
		err);
	if (code == 0)
		return kubernetes_take_workload(runtime, workload->daemon, answer, err);
	if (code != -ENOENT)
		return code;
	kubernetes_fresh_drop(&runtime->groups, id);
	kubernetes_report_group(runtime, id);
	return 0;
}

/* ---- the worker ---- */

static int sweep(struct kubernetes_runtime *runtime, struct span which, struct err *err)
{
	kubernetes_chore_add_at(runtime, KUBERNETES_CHORE_SWEEP, which,
		runner_deadline_us(runtime->runner, KUBERNETES_SWEEP_US));
	return kubernetes_secrets_sweep(runtime, err);
}

/* Handling thousands of pods at once allocates memory, in the pools of all threads, that is not
 * needed again before the next start. */
static int shrink(struct kubernetes_runtime *runtime, struct span which, struct err *err)
{
	(void)runtime;
	(void)which;
	(void)err;
	memory_give_back();
	return 0;
}

static const struct {
	char about;
	int (*pass)(struct kubernetes_runtime *runtime, struct span which, struct err *err);
} chores[] = {
	{KUBERNETES_CHORE_POD, inspect_pod},
	{KUBERNETES_CHORE_TIME, report_again},
	{KUBERNETES_CHORE_FRESH_POD, check_fresh_pod},
	{KUBERNETES_CHORE_FRESH_GROUP, check_fresh_group},
	{KUBERNETES_CHORE_RELEASE, release_pod},
	{KUBERNETES_CHORE_LEFT, kubernetes_left_over_remove},
	{KUBERNETES_CHORE_SWEEP, sweep},
	{KUBERNETES_CHORE_SHRINK, shrink},
};

static int do_chore(struct kubernetes_runtime *runtime, struct span key, struct err *err)
{
	struct span which = {key.data + 1, key.length - 1};
	int code = kubernetes_check_synced(runtime, err);

	for (size_t i = 0; code == 0 && i < LENGTH(chores); i++)
		if (key.data[0] == chores[i].about)
			return chores[i].pass(runtime, which, err);
	return code;
}

void kubernetes_chores_run(void *context)
{
	struct kubernetes_runtime *runtime = context;
	struct span key;

	while (work_queue_get(runtime->chores, &key) == 0) {
		struct err err = {0};
		int code = do_chore(runtime, key, &err);

		if (code == 0)
			work_queue_forget(runtime->chores, key);
		else if (code != -ECANCELED)
			work_queue_add_rate_limited(runtime->chores, key);
		if (code < 0 && code != -ECANCELED && code != -EAGAIN && runtime->config.report)
			runtime->config.report(runtime->config.context, "pods", &err);
		work_queue_done(runtime->chores, key);
	}
}
