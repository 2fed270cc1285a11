/* See the header. */
#include "runtime/kubernetes/pod_task.h"

#include "base/memory.h"

#define SECOND_MS 1000
#define EXIT_MAX 255
#define OVERDUE_MS 10000  /* for containers that run: nodes may be slow */
#define FORGOTTEN_MS 3000 /* when no container runs any more */
#define WRITE_MS 60000 /* for a node to write the phase of a pod whose containers have all ended */

struct reporting {
	const struct kubernetes_pod *pod;
	int64_t now_ms;
	struct arena *arena;
	struct kubernetes_reported *reported;
	/* The result of judge(). */
	enum runtime_stop stop; /* NONE: there is none */
	struct span reason;
};

/* ---- texts ---- */

/* Why a container does not start, in ECS's text. `final`: it will not start without a change. A
 * failed pull is retried at once; when the node backs off between attempts (BackOff) ECS gives up.
 * unborn: no container exists yet that could run. */
static const struct {
	const char *reason, *error;
	bool final, unborn;
} waiting_text[] = {
	{"ErrImagePull", "CannotPullContainerError", false, true},
	{"ImagePullBackOff", "CannotPullContainerError", true, true},
	{"ErrImageNeverPull", "CannotPullContainerError", true, true},
	{"InvalidImageName", "CannotPullContainerError", true, true},
	{"ImageInspectError", "CannotInspectContainerError", true, true},
	{"RegistryUnavailable", "CannotPullContainerError", false, true},
	{"CreateContainerConfigError", "ResourceInitializationError", true, true},
	{"CreateContainerError", "CannotCreateContainerError", true, false},
	{"RunContainerError", "CannotStartContainerError", true, false},
	{"PreStartHookError", "CannotStartContainerError", true, false},
	{"PostStartHookError", "CannotStartContainerError", true, false},
};

/* The same for an ended container. started: its program ran. */
static const struct {
	const char *reason, *error, *text;
	bool started;
} ended_text[] = {
	{"OOMKilled", "OutOfMemoryError", "Container killed due to memory usage", true},
	{"StartError", "CannotStartContainerError", NULL, false},
	{"ContainerCannotRun", "CannotStartContainerError", NULL, false},
	{"RunContainerError", "CannotStartContainerError", NULL, false},
};

static struct span say(struct reporting *reporting, const char *error, struct span text)
{
	return arena_format(reporting->arena, "%s: %.*s", error, SPAN_ARGS(text));
}

static bool was_started(const struct kubernetes_run *run)
{
	if (run->note == KUBERNETES_NOTE_CANNOT_RUN || run->note == KUBERNETES_NOTE_NOT_AFTER)
		return false;
	for (size_t i = 0; i < LENGTH(ended_text); i++)
		if (span_is(run->reason, ended_text[i].reason))
			return ended_text[i].started;
	return true;
}

static struct span ended_reason(struct reporting *reporting,
	const struct kubernetes_container *container, const struct kubernetes_run *run)
{
	if (run->note == KUBERNETES_NOTE_CANNOT_RUN)
		return say(reporting, "CannotStartContainerError", run->note_text);
	if (run->note == KUBERNETES_NOTE_NOT_AFTER)
		return say(reporting, "DependencyError", run->note_text);
	if (run->note == KUBERNETES_NOTE_UNHEALTHY)
		return arena_format(reporting->arena,
			"DependencyError: container '%.*s' did not become healthy",
			SPAN_ARGS(container->name));
	for (size_t i = 0; i < LENGTH(ended_text); i++)
		if (span_is(run->reason, ended_text[i].reason))
			return say(reporting, ended_text[i].error,
				ended_text[i].text ? span_of(ended_text[i].text) : run->message);
	return SPAN("");
}

/* "" if it is only slow. */
static struct span waiting_reason(struct reporting *reporting,
	const struct kubernetes_container *container, bool *ret_final)
{
	struct span text = container->waiting_message.length > 0 ? container->waiting_message
								 : container->waiting;

	*ret_final = false;
	for (size_t i = 0; i < LENGTH(waiting_text); i++)
		if (span_is(container->waiting, waiting_text[i].reason)) {
			/* The node has not seen an existing secret yet: only the kubelet's message says so. */
			*ret_final = waiting_text[i].final &&
				     !memmem(text.data, text.length, "failed to sync", 14);
			return say(reporting, waiting_text[i].error, text);
		}
	return SPAN("");
}

/* ---- runs ---- */

static bool is_ignored(const struct kubernetes_container *container, int exit_code)
{
	for (size_t i = 0; i < container->ignored_count; i++)
		if (container->ignored_codes[i] == exit_code)
			return true;
	return false;
}

/* ECS would not have restarted it after this run. */
static bool is_final(const struct kubernetes_container *container, const struct kubernetes_run *run)
{
	if (!run)
		return false;
	if (!container->restarts || is_ignored(container, run->exit_code))
		return true;
	return run->finished_ms - run->started_ms < (int64_t)container->restart_period * SECOND_MS;
}

/* The run that ended the container for good, by ECS's rules; NULL: it has not ended. */
static const struct kubernetes_run *final_run(const struct reporting *reporting,
	const struct kubernetes_container *container)
{
	if (is_final(container, container->last) && container->restart_count > 0)
		return container->last;
	if (container->ended &&
		(is_final(container, container->ended) || reporting->pod->ending_ms != 0 ||
			reporting->pod->phase == KUBERNETES_SUCCEEDED ||
			reporting->pod->phase == KUBERNETES_FAILED))
		return container->ended;
	return NULL;
}

/* Start of its first known run; 0: none. */
static int64_t first_start(const struct kubernetes_container *container)
{
	if (container->last && was_started(container->last))
		return container->last->started_ms;
	if (container->running_ms != 0)
		return container->running_ms;
	if (container->ended && was_started(container->ended))
		return container->ended->started_ms;
	return 0;
}

static int exit_code_of(const struct kubernetes_container *container,
	const struct kubernetes_run *run)
{
	uint64_t code;

	/* Exits of slipway-pod itself are not the container's. */
	if (run->note == KUBERNETES_NOTE_NOT_AFTER)
		return -1;
	return container->any_exit && run->note == KUBERNETES_NOTE_EXITED &&
			       span_to_unsigned(run->note_text, EXIT_MAX, &code)
		       ? (int)code
		       : run->exit_code;
}

/* ---- the stop reason ---- */

static void judge(struct reporting *reporting, enum runtime_stop stop, struct span reason)
{
	if (reporting->stop != RUNTIME_STOP_NONE)
		return;
	reporting->stop = stop;
	reporting->reason = reason;
}

/* An end after the deletion belongs to it. Times are whole seconds. */
static bool came_before_deletion(const struct reporting *reporting,
	const struct kubernetes_run *run)
{
	if (reporting->pod->ending_ms == 0)
		return true;
	return run->finished_ms != 0 && run->finished_ms < reporting->pod->ending_ms;
}

static void judge_initial(struct reporting *reporting, const struct kubernetes_container *container)
{
	const struct kubernetes_run *run = container->ended ? container->ended : container->last;

	if (!run || !came_before_deletion(reporting, run) || run->exit_code == 0)
		return;
	if (!was_started(run))
		judge(reporting, RUNTIME_STOP_FAILED_TO_START,
			ended_reason(reporting, container, run));
	else
		judge(reporting, RUNTIME_STOP_FAILED_TO_START,
			arena_format(reporting->arena,
				"container '%.*s' exited with %d, and others wait for its %s",
				SPAN_ARGS(container->name), run->exit_code,
				container->any_exit ? "COMPLETE" : "SUCCESS"));
}

static void judge_running(struct reporting *reporting, const struct kubernetes_container *container)
{
	const struct kubernetes_run *run = final_run(reporting, container);

	if (!run || !came_before_deletion(reporting, run))
		return;
	if (run->note == KUBERNETES_NOTE_UNHEALTHY || run->note == KUBERNETES_NOTE_NOT_AFTER) {
		judge(reporting, RUNTIME_STOP_FAILED_TO_START,
			ended_reason(reporting, container, run));
		return;
	}
	if (!container->essential)
		return;
	if (!was_started(run))
		judge(reporting, RUNTIME_STOP_FAILED_TO_START,
			ended_reason(reporting, container, run));
	else
		judge(reporting, RUNTIME_STOP_ESSENTIAL, ended_reason(reporting, container, run));
}

static void judge_waiting(struct reporting *reporting, const struct kubernetes_container *container)
{
	bool final;
	struct span reason = waiting_reason(reporting, container, &final);

	if (final && reporting->pod->ending_ms == 0)
		judge(reporting, RUNTIME_STOP_FAILED_TO_START, reason);
}

static void judge_installer(struct reporting *reporting)
{
	static const char *const starting[] = {
		"PodInitializing", "ContainerCreating", "ErrImagePull"};
	struct span reason = reporting->pod->text->installer;

	for (size_t i = 0; i < LENGTH(starting); i++)
		if (span_is(reason, starting[i]))
			return;
	if (reason.length > 0 && reporting->pod->ending_ms == 0)
		judge(reporting, RUNTIME_STOP_FAILED_TO_START,
			arena_format(reporting->arena,
				"ResourceInitializationError: slipway's own image "
				"(kubernetes.helperImage) could not be run: %.*s",
				SPAN_ARGS(reason)));
}

/* Evicted, preempted or rejected by the node: no container is the reason. */
static void judge_phase(struct reporting *reporting)
{
	const struct kubernetes_pod *pod = reporting->pod;
	bool started = false;

	if (pod->phase != KUBERNETES_FAILED || pod->text->reason.length == 0)
		return;
	for (size_t i = 0; i < pod->container_count; i++)
		started |= first_start(&pod->containers[i]) != 0;
	judge(reporting, started ? RUNTIME_STOP_LOST : RUNTIME_STOP_FAILED_TO_START,
		arena_format(reporting->arena, "%.*s: %.*s", SPAN_ARGS(pod->text->reason),
			SPAN_ARGS(pod->text->message)));
}

static void find_verdict(struct reporting *reporting)
{
	const struct kubernetes_pod *pod = reporting->pod;

	if (pod->has_end) {
		judge(reporting, pod->end, pod->text->end_reason);
		return;
	}
	judge_phase(reporting);
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct kubernetes_container *container = &pod->containers[i];

		if (container->initial)
			judge_initial(reporting, container);
		else
			judge_running(reporting, container);
	}
	for (size_t i = 0; i < pod->container_count; i++)
		judge_waiting(reporting, &pod->containers[i]);
	judge_installer(reporting);
	/* Deleted by another client: the controller of a Deployment, a user, an eviction. */
	if (pod->ending_ms != 0)
		judge(reporting, RUNTIME_STOP_REQUESTED, SPAN(""));
	else if (pod->phase == KUBERNETES_FAILED || pod->phase == KUBERNETES_SUCCEEDED)
		judge(reporting, RUNTIME_STOP_LOST,
			SPAN("the pod ended without an end of its containers"));
}

/* ---- phases ---- */

static bool is_unborn(const struct kubernetes_container *container)
{
	for (size_t i = 0; i < LENGTH(waiting_text); i++)
		if (span_is(container->waiting, waiting_text[i].reason))
			return waiting_text[i].unborn && first_start(container) == 0;
	return false;
}

/* A deleted pod starts no container. If none could be running, its end need not be waited for,
 * which takes some nodes half a minute. */
static bool has_nothing_to_end(const struct kubernetes_pod *pod)
{
	for (size_t i = 0; i < pod->container_count; i++)
		if (!pod->containers[i].initial && !is_unborn(&pod->containers[i]))
			return false;
	return pod->container_count > 0;
}

static bool all_ended(const struct kubernetes_pod *pod)
{
	for (size_t i = 0; i < pod->container_count; i++)
		if (!pod->containers[i].initial && !pod->containers[i].ended)
			return false;
	return true;
}

static bool all_started(const struct kubernetes_pod *pod)
{
	for (size_t i = 0; i < pod->container_count; i++)
		if (!pod->containers[i].initial && first_start(&pod->containers[i]) == 0)
			return false;
	return true;
}

static void report_again_at(struct reporting *reporting, int64_t at_ms)
{
	int64_t *again_ms = &reporting->reported->again_ms;

	if (*again_ms == 0 || at_ms < *again_ms)
		*again_ms = at_ms;
}

/* Kubelets since 1.27 write that all containers have ended before they write the phase. Deleting such a pod would
 * remove its logs. */
static bool ends_by_itself(struct reporting *reporting)
{
	const struct kubernetes_pod *pod = reporting->pod;
	int64_t until_ms = 0;

	if (!all_ended(pod))
		return false;
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct kubernetes_container *container = &pod->containers[i];

		if (container->restarts)
			return false;
		if (container->ended && container->ended->finished_ms + WRITE_MS > until_ms)
			until_ms = container->ended->finished_ms + WRITE_MS;
	}
	if (until_ms <= reporting->now_ms)
		return false;
	report_again_at(reporting, until_ms);
	return true;
}

static enum runtime_phase phase_of(struct reporting *reporting)
{
	const struct kubernetes_pod *pod = reporting->pod;
	bool requested =
		pod->ending_ms != 0 || (pod->has_end && pod->end == RUNTIME_STOP_REQUESTED);

	if (pod->gone || pod->phase == KUBERNETES_SUCCEEDED || pod->phase == KUBERNETES_FAILED ||
		(pod->ending_ms != 0 && (all_ended(pod) || has_nothing_to_end(pod))))
		return RUNTIME_STOPPED;
	if (reporting->stop != RUNTIME_STOP_NONE && reporting->stop != RUNTIME_STOP_REQUESTED &&
		pod->group.length > 0)
		return RUNTIME_STOPPED;
	if (reporting->stop != RUNTIME_STOP_NONE || requested) {
		reporting->reported->must_end =
			pod->ending_ms == 0 && (requested || !ends_by_itself(reporting));
		return RUNTIME_STOPPING;
	}
	return all_started(pod) ? RUNTIME_RUNNING : RUNTIME_PENDING;
}

/* ---- health ---- */

static enum runtime_health health_of(struct reporting *reporting,
	const struct kubernetes_container *container)
{
	int64_t patience;

	if (!container->has_health)
		return RUNTIME_HEALTH_NONE;
	if (container->ready)
		return RUNTIME_HEALTHY;
	if (container->running_ms == 0)
		return RUNTIME_HEALTH_UNKNOWN;
	/* It was ready once: enough checks have failed since. */
	if (reporting->pod->was_ready_ms > container->running_ms)
		return RUNTIME_UNHEALTHY;
	patience = (int64_t)container->start_period +
		   (int64_t)container->retries * container->interval + container->timeout;
	patience = container->running_ms + patience * SECOND_MS;
	if (reporting->now_ms >= patience)
		return RUNTIME_UNHEALTHY;
	report_again_at(reporting, patience);
	return RUNTIME_HEALTH_UNKNOWN;
}

/* ---- containers ---- */

static void report_bindings(struct reporting *reporting,
	const struct kubernetes_container *container, struct runtime_container *ret_container)
{
	const struct kubernetes_pod *pod = reporting->pod;
	struct runtime_binding *bindings =
		arena_allocate_array(reporting->arena, container->port_count, sizeof(*bindings));

	for (size_t i = 0; i < container->port_count; i++) {
		const struct kubernetes_port *port = &container->ports[i];
		bool at_host = pod->network == KUBERNETES_NETWORK_HOST ||
			       (pod->network == KUBERNETES_NETWORK_BRIDGE && port->host != 0);
		struct span address = at_host ? pod->host_address : pod->address;

		if (address.length == 0)
			continue;
		bindings[ret_container->binding_count++] = (struct runtime_binding){
			.container_port = port->container,
			.host_port = at_host && pod->network == KUBERNETES_NETWORK_BRIDGE
					     ? port->host
					     : port->container,
			.udp = port->udp,
			.address = address,
		};
	}
	ret_container->bindings = bindings;
}

static void report_end(struct reporting *reporting, const struct kubernetes_container *container,
	const struct kubernetes_run *run, struct runtime_container *ret_container)
{
	ret_container->phase = RUNTIME_STOPPED;
	ret_container->stopped_ms = run->finished_ms;
	ret_container->reason = ended_reason(reporting, container, run);
	ret_container->exit_code = exit_code_of(container, run);
	ret_container->has_exit_code = ret_container->exit_code >= 0;
}

static void report_container(struct reporting *reporting,
	const struct kubernetes_container *container, struct runtime_container *ret_container)
{
	const struct kubernetes_run *run =
		container->initial ? container->ended : final_run(reporting, container);
	bool final;

	*ret_container = (struct runtime_container){
		.name = container->name,
		.runtime_id = container->id,
		.started_ms = first_start(container),
		.restarts = container->restarts ? container->restart_count : 0,
		.reason = SPAN(""),
	};
	if (run) {
		report_end(reporting, container, run, ret_container);
	} else if (reporting->reported->task.phase == RUNTIME_STOPPED) {
		ret_container->phase = RUNTIME_STOPPED;
		ret_container->reason = waiting_reason(reporting, container, &final);
	} else if (ret_container->started_ms == 0) {
		ret_container->phase = RUNTIME_PENDING;
		ret_container->reason = waiting_reason(reporting, container, &final);
	} else {
		ret_container->phase = reporting->reported->task.phase == RUNTIME_STOPPING
					       ? RUNTIME_STOPPING
					       : RUNTIME_RUNNING;
		ret_container->health = health_of(reporting, container);
		report_bindings(reporting, container, ret_container);
	}
	if (ret_container->health == RUNTIME_HEALTH_NONE && container->has_health)
		ret_container->health = RUNTIME_HEALTH_UNKNOWN;
}

/* ---- the task ---- */

static void report_times(const struct kubernetes_pod *pod, struct runtime_task *task)
{
	int64_t started = 0, stopped = 0;

	for (size_t i = 0; i < pod->container_count; i++) {
		const struct kubernetes_container *container = &pod->containers[i];
		int64_t own = first_start(container);

		if (!container->initial && own > started)
			started = own;
		if (task->containers[i].stopped_ms > stopped)
			stopped = task->containers[i].stopped_ms;
	}
	task->created_ms = pod->created_ms;
	task->started_ms = all_started(pod) ? started : 0;
	if (task->phase != RUNTIME_STOPPED)
		return;
	if (stopped == 0)
		stopped = pod->ending_ms != 0 ? pod->ending_ms : pod->created_ms;
	task->stopped_ms = stopped;
}

/* The reason it does not run yet. */
static struct span pending_reason(struct reporting *reporting)
{
	const struct kubernetes_pod *pod = reporting->pod;
	struct span reason = pod->text->unscheduled;
	bool final;

	for (size_t i = 0; reason.length == 0 && i < pod->container_count; i++)
		reason = waiting_reason(reporting, &pod->containers[i], &final);
	return reason;
}

/* The hold time of its programs since its deletion. A shorter grace period, as slipway sets when no
 * client can connect any more, shortens it. */
static int64_t held_s(const struct kubernetes_pod *pod)
{
	int64_t rest = (int64_t)pod->grace - pod->stop;

	if (pod->ending_ms == 0 || rest < 0)
		return 0;
	return pod->hold < rest ? pod->hold : rest;
}

static bool is_running(const struct kubernetes_container *container)
{
	return !container->initial && container->running_ms != 0;
}

/* When its node needs a reminder of its deletion: at once if containers started after it, else when
 * they should have ended long ago; then at growing intervals. Not earlier than necessary: a node
 * that is just ending the pod could lose the exit codes of its containers. */
static int64_t remind_ms(const struct kubernetes_pod *pod, enum runtime_phase phase)
{
	int64_t at = pod->ending_ms + FORGOTTEN_MS;
	int64_t next = pod->reminded_ms + (pod->reminded_ms - pod->ending_ms) / 4;

	if (pod->ending_ms == 0 || phase != RUNTIME_STOPPING)
		return 0;
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct kubernetes_container *container = &pod->containers[i];

		if (is_running(container) && container->running_ms >= pod->ending_ms &&
			pod->reminded_ms == 0)
			return container->running_ms;
		if (is_running(container))
			at = pod->ending_ms + (int64_t)pod->grace * SECOND_MS + OVERDUE_MS;
	}
	if (pod->reminded_ms < at)
		return at;
	return next > pod->reminded_ms + FORGOTTEN_MS ? next : pod->reminded_ms + FORGOTTEN_MS;
}

struct kubernetes_reported *kubernetes_pod_report(const struct kubernetes_pod *pod, int64_t now_ms,
	struct arena *arena)
{
	struct reporting reporting = {.pod = pod,
		.now_ms = now_ms,
		.arena = arena,
		.reported = arena_allocate(arena, sizeof(struct kubernetes_reported)),
		.reason = SPAN("")};
	struct runtime_task *task = &reporting.reported->task;

	find_verdict(&reporting);
	task->token = pod->token;
	task->instance = pod->node;
	task->group = pod->group;
	task->version = pod->version;
	task->notes = pod->text->notes;
	task->address = pod->network == KUBERNETES_NETWORK_HOST ? SPAN("") : pod->address;
	task->mac = SPAN("");
	task->phase = phase_of(&reporting);
	task->stop = reporting.stop;
	task->reason =
		task->phase == RUNTIME_PENDING ? pending_reason(&reporting) : reporting.reason;
	if (pod->ending_ms != 0)
		task->deletion_ms = pod->ending_ms + (int64_t)pod->grace * SECOND_MS;
	/* Its node removes containers and logs of deleted pods, and their replacements may wait for
	 * that. */
	task->unkept = pod->ending_ms != 0;
	task->gate_closed = pod->gated && !pod->gate_open;
	if (task->phase == RUNTIME_STOPPING && held_s(pod) > 0)
		task->ends_ms = pod->ending_ms + held_s(pod) * SECOND_MS;
	task->container_count = pod->container_count;
	for (size_t i = 0; i < pod->container_count; i++)
		report_container(&reporting, &pod->containers[i], &task->containers[i]);
	report_times(pod, task);
	reporting.reported->remind_ms = remind_ms(pod, task->phase);
	return reporting.reported;
}
