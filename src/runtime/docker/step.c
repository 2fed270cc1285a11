/* Decisions about one task; see the header. */
#include "runtime/docker/step.h"

#include <stdio.h>

#include "base/memory.h"
#include "runtime/task/record.h"

#define STATE_VERSION 1
#define KILL_AGAIN_MS 5000
#define NANO_PER_MS ((int64_t)1000 * 1000)

static bool has_network(const struct plan *plan)
{
	return plan->network == PLAN_NETWORK_AWSVPC;
}

static void set_phase(struct docker_state *state, size_t index, enum runtime_phase phase)
{
	if (state->record->containers[index].phase == phase)
		return;
	state->record->containers[index].phase = phase;
	state->changed = true;
}

/* ---- new and stored states ---- */

void docker_state_init(struct docker_state *state, const struct plan *plan, struct arena *arena)
{
	*state = (struct docker_state){.arena = arena, .plan = plan};
	state->record = record_of_plan(plan, arena);
	state->record->address = SPAN("");
	/* Docker's own choices are known once it has bound the ports. */
	for (size_t i = 0; plan->network == PLAN_NETWORK_BRIDGE && i < plan->container_count; i++)
		state->record->containers[i].binding_count = 0;
	for (size_t i = 0; i < plan->container_count; i++)
		state->record->containers[i].runtime_id = SPAN("");
	state->unsaved = true;
}

static void write_numbers(const char *name, const int64_t *numbers, size_t count,
	struct buffer *out)
{
	buffer_format(out, ",\"%s\":[", name);
	for (size_t i = 0; i < count; i++)
		buffer_format(out, "%s%lld", i ? "," : "", (long long)numbers[i]);
	buffer_add_char(out, ']');
}

void docker_state_write(const struct docker_state *state, struct buffer *out)
{
	size_t count = state->record->container_count;

	buffer_format(out, "{\"version\":%d,\"begun\":%s", STATE_VERSION,
		state->begun ? "true" : "false");
	write_numbers("signalledMs", state->signalled_ms, count, out);
	write_numbers("endedNs", state->ended_ns, count, out);
	buffer_add_string(out, ",\"record\":");
	record_write(state->record, out);
	buffer_add_char(out, '}');
}

int docker_state_read(struct docker_state *state, const struct plan *plan, struct span text,
	struct arena *arena, struct err *err)
{
	struct json *value;
	struct runtime_task *record;
	int code = json_parse(text, arena, &value, err);

	if (code < 0)
		return code;
	if (json_get_integer(value, "version", 0) != STATE_VERSION)
		return err_set(err, -EINVAL, "the state's version is not %d", STATE_VERSION);
	code = record_read(json_get(value, "record"), arena, &record, err);
	if (code < 0)
		return code;
	if (record->container_count != plan->container_count)
		return err_set(err, -EINVAL, "the state is not of this task");
	*state = (struct docker_state){.arena = arena,
		.plan = plan,
		.record = record,
		.begun = json_get_bool(value, "begun", false)};
	for (size_t i = 0; i < record->container_count; i++) {
		json_integer(json_item(json_get(value, "signalledMs"), i), &state->signalled_ms[i]);
		json_integer(json_item(json_get(value, "endedNs"), i), &state->ended_ns[i]);
	}
	return 0;
}

/* ---- ends ---- */

void docker_signal_lost(struct docker_state *state, size_t container)
{
	state->signal_lost[container] = true;
}

void docker_stop(struct docker_state *state, enum runtime_stop stop, struct span reason)
{
	struct runtime_task *record = state->record;

	if (record->phase >= RUNTIME_STOPPING)
		return;
	record->phase = RUNTIME_STOPPING;
	record->stop = stop;
	record->reason = arena_copy_span(state->arena, reason);
	state->unsaved = state->changed = true;
}

/* A container that will not run any more. */
static void finish(struct docker_state *state, size_t index, int64_t ended_ms)
{
	struct runtime_container *container = &state->record->containers[index];

	set_phase(state, index, RUNTIME_STOPPED);
	container->stopped_ms = ended_ms;
	state->unsaved = state->changed = true;
	if (!state->plan->containers[index].essential)
		return;
	if (container->started_ms == 0 && container->reason.length > 0)
		docker_stop(state, RUNTIME_STOP_FAILED_TO_START, container->reason);
	else
		docker_stop(state, RUNTIME_STOP_ESSENTIAL,
			SPAN("Essential container in task exited"));
}

void docker_fail(struct docker_state *state, size_t index, const char *kind, const char *message,
	int64_t now_ms)
{
	struct span reason = arena_format(state->arena, "%s: %s", kind, message);

	if (index == state->plan->container_count) {
		docker_stop(state, RUNTIME_STOP_FAILED_TO_START, reason);
		return;
	}
	state->record->containers[index].reason = reason;
	finish(state, index, now_ms);
}

static bool is_ignored(const struct plan_container *plan, int exit_code)
{
	JSON_EACH_ITEM (plan->ignored_exit_codes, item) {
		int64_t code;

		if (json_integer(item, &code) && code == exit_code)
			return true;
	}
	return false;
}

static bool should_restart(const struct docker_state *state, size_t index,
	const struct docker_facts *facts)
{
	const struct plan_container *plan = &state->plan->containers[index];

	return plan->restarts && state->record->phase < RUNTIME_STOPPING &&
	       !is_ignored(plan, facts->exit_code) &&
	       (facts->ended_ns - facts->started_ns) / NANO_PER_MS >= plan->restart_period_ms;
}

/* ---- observing ---- */

static void observe_bindings(struct docker_state *state, struct runtime_container *container,
	const struct docker_facts *facts)
{
	bool same = container->binding_count == facts->binding_count;

	if (state->plan->network != PLAN_NETWORK_BRIDGE)
		return;
	for (size_t i = 0; same && i < facts->binding_count; i++)
		same = container->bindings[i].container_port == facts->bindings[i].container_port &&
		       container->bindings[i].host_port == facts->bindings[i].host_port &&
		       container->bindings[i].udp == facts->bindings[i].udp &&
		       span_equal(container->bindings[i].address, facts->bindings[i].address);
	if (same)
		return;
	container->bindings = arena_allocate_array(state->arena, facts->binding_count + 1,
		sizeof(*container->bindings));
	for (size_t i = 0; i < facts->binding_count; i++) {
		container->bindings[i] = facts->bindings[i];
		container->bindings[i].address = span_of(arena_copy(state->arena,
			facts->bindings[i].address.data, facts->bindings[i].address.length));
	}
	container->binding_count = facts->binding_count;
	state->changed = true;
}

static void observe_running(struct docker_state *state, size_t index,
	const struct docker_facts *facts)
{
	struct runtime_container *container = &state->record->containers[index];
	int64_t started_ms = facts->started_ns / NANO_PER_MS;

	if (container->phase == RUNTIME_PENDING)
		set_phase(state, index, RUNTIME_RUNNING);
	if (container->started_ms != started_ms) {
		container->started_ms = started_ms;
		container->stopped_ms = 0;
		state->changed = state->unsaved = true;
	}
	if (container->health != facts->health) {
		container->health = facts->health;
		memcpy(state->health_reasons[index], facts->health_reason,
			sizeof(facts->health_reason));
		container->health_reason = span_of(state->health_reasons[index]);
		state->changed = true;
	}
	observe_bindings(state, container, facts);
}

static void observe_end(struct docker_state *state, size_t index, const struct docker_facts *facts)
{
	struct runtime_container *container = &state->record->containers[index];

	if (state->ended_ns[index] == facts->ended_ns)
		return; /* counted; it waits for its restart */
	state->ended_ns[index] = facts->ended_ns;
	state->unsaved = state->changed = true;
	container->started_ms = facts->started_ns / NANO_PER_MS;
	container->has_exit_code = true;
	container->exit_code = facts->exit_code;
	container->reason = SPAN("");
	if (facts->out_of_memory)
		container->reason = SPAN("OutOfMemoryError: Container killed due to memory usage");
	else if (facts->error[0])
		container->reason =
			arena_format(state->arena, "CannotStartContainerError: %s", facts->error);
	if (should_restart(state, index, facts)) {
		container->restarts++;
		set_phase(state, index, RUNTIME_PENDING);
		return;
	}
	finish(state, index, facts->ended_ns / NANO_PER_MS);
}

static void observe_absent(struct docker_state *state, size_t index, int64_t now_ms)
{
	struct runtime_container *container = &state->record->containers[index];

	/* A container that had ended keeps its exit code. */
	container->reason = SPAN("The container was removed from Docker, not by slipway");
	finish(state, index, now_ms);
}

static void observe_network(struct docker_state *state, const struct docker_facts *facts)
{
	struct runtime_task *record = state->record;

	if (facts->status == DOCKER_RUNNING && !span_is(record->address, facts->address)) {
		record->address = span_of(arena_copy_string(state->arena, facts->address));
		record->mac = span_of(arena_copy_string(state->arena, facts->mac));
		for (size_t i = 0; i < record->container_count; i++)
			for (size_t j = 0; j < record->containers[i].binding_count; j++)
				record->containers[i].bindings[j].address = record->address;
		state->unsaved = state->changed = true;
	}
	if (facts->status == DOCKER_ENDED || facts->status == DOCKER_ABSENT)
		docker_stop(state, RUNTIME_STOP_ESSENTIAL,
			SPAN("What holds the task's network ended"));
}

void docker_observe(struct docker_state *state, const struct docker_facts *facts, int64_t now_ms)
{
	struct runtime_task *record = state->record;

	if (!state->begun || record->phase == RUNTIME_STOPPED)
		return;
	for (size_t i = 0; i < record->container_count; i++) {
		struct runtime_container *container = &record->containers[i];

		if (facts[i].id[0] && !span_is(container->runtime_id, facts[i].id)) {
			container->runtime_id =
				span_of(arena_copy_string(state->arena, facts[i].id));
			state->changed = true;
		}
		if (container->phase == RUNTIME_STOPPED)
			continue;
		switch (facts[i].status) {
		case DOCKER_RUNNING: observe_running(state, i, &facts[i]); break;
		case DOCKER_ENDED: observe_end(state, i, &facts[i]); break;
		case DOCKER_ABSENT: observe_absent(state, i, now_ms); break;
		case DOCKER_UNSEEN:
		case DOCKER_CREATED: break;
		}
	}
	if (has_network(state->plan))
		observe_network(state, &facts[record->container_count]);
}

/* ---- dependencies ---- */

enum readiness { NOT_YET, READY, NEVER };

static int64_t timeout_at(const struct docker_state *state, size_t index)
{
	int64_t timeout = state->plan->containers[index].start_timeout_ms;
	int64_t started = state->record->containers[index].started_ms;

	return started && timeout > 0 ? started + timeout : INT64_MAX;
}

static enum readiness readiness_of(const struct docker_state *state,
	const struct plan_dependency *dependency, int64_t now_ms)
{
	const struct runtime_container *on = &state->record->containers[dependency->container];
	bool stopped = on->phase == RUNTIME_STOPPED;
	bool timed_out = now_ms >= timeout_at(state, dependency->container);

	switch (dependency->condition) {
	case PLAN_START:
		if (on->started_ms)
			return READY;
		return stopped ? NEVER : NOT_YET;
	case PLAN_HEALTHY:
		if (!stopped && on->health == RUNTIME_HEALTHY)
			return READY;
		return stopped || timed_out ? NEVER : NOT_YET;
	case PLAN_COMPLETE:
	case PLAN_SUCCESS: break;
	}
	if (!stopped)
		return timed_out ? NEVER : NOT_YET;
	if (!on->has_exit_code || (dependency->condition == PLAN_SUCCESS && on->exit_code != 0))
		return NEVER;
	return READY;
}

static void give_up(struct docker_state *state, size_t index,
	const struct plan_dependency *dependency)
{
	static const char *const desired[] = {"start", "complete", "succeed", "become healthy"};
	const struct runtime_container *on = &state->record->containers[dependency->container];
	struct span reason =
		arena_format(state->arena, "DependencyError: container '%.*s' did not %s%s",
			SPAN_ARGS(on->name), desired[dependency->condition],
			on->phase == RUNTIME_STOPPED ? "" : " within its start timeout");

	state->record->containers[index].reason = reason;
	docker_stop(state, RUNTIME_STOP_FAILED_TO_START, reason);
}

/* True if it can be started. *wait_ms is lowered to the time of the next check. */
static bool may_start(struct docker_state *state, size_t index, int64_t now_ms, int64_t *wait_ms)
{
	const struct plan_container *plan = &state->plan->containers[index];

	for (size_t i = 0; i < plan->dependency_count; i++) {
		const struct plan_dependency *dependency = &plan->dependencies[i];
		int64_t timeout = timeout_at(state, dependency->container);

		switch (readiness_of(state, dependency, now_ms)) {
		case READY: continue;
		case NEVER: give_up(state, index, dependency); return false;
		case NOT_YET:
			if (timeout < *wait_ms)
				*wait_ms = timeout;
			return false;
		}
	}
	return true;
}

/* ---- the next step ---- */

/* Stopping: containers stop after those that depend on them. */
static bool is_depended_on(const struct docker_state *state, size_t index)
{
	for (size_t i = 0; i < state->record->container_count; i++) {
		const struct plan_container *plan = &state->plan->containers[i];

		if (state->record->containers[i].phase == RUNTIME_STOPPED)
			continue;
		for (size_t j = 0; j < plan->dependency_count; j++)
			if (plan->dependencies[j].container == index)
				return true;
	}
	return false;
}

static struct docker_step step(enum docker_action action, size_t container)
{
	return (struct docker_step){.action = action, .container = container, .at_ms = INT64_MAX};
}

/* For a container that must end. True: *ret_step is the next step. */
static bool stop_container(struct docker_state *state, size_t index,
	const struct docker_facts *facts, int64_t now_ms, struct docker_step *ret_step)
{
	struct runtime_container *container = &state->record->containers[index];
	int64_t deadline;

	if (container->phase == RUNTIME_STOPPED || is_depended_on(state, index))
		return false;
	if (facts->status != DOCKER_RUNNING) {
		/* Never started, or waiting for its restart. */
		finish(state, index, now_ms);
		return false;
	}
	if (!state->signalled_ms[index]) {
		state->signalled_ms[index] = now_ms;
		state->unsaved = true;
		set_phase(state, index, RUNTIME_STOPPING);
		*ret_step = step(DOCKER_SIGNAL, index);
		return true;
	}
	if (state->signal_lost[index]) {
		state->signal_lost[index] = false;
		*ret_step = step(DOCKER_SIGNAL, index);
		return true;
	}
	deadline = state->signalled_ms[index] + state->plan->containers[index].stop_timeout_ms;
	if (state->killed_ms[index])
		deadline = state->killed_ms[index] + KILL_AGAIN_MS;
	if (now_ms >= deadline) {
		state->killed_ms[index] = now_ms;
		*ret_step = step(DOCKER_KILL, index);
		return true;
	}
	if (deadline < ret_step->at_ms)
		ret_step->at_ms = deadline;
	return false;
}

/* For a task that must end. */
static struct docker_step next_of_ending(struct docker_state *state,
	const struct docker_facts *facts, int64_t now_ms)
{
	struct runtime_task *record = state->record;
	struct docker_step next = step(DOCKER_WAIT, 0);
	size_t count = record->container_count, stopped = 0, before;

	do { /* another container may have waited for one that ends */
		before = stopped;
		stopped = 0;
		for (size_t i = 0; i < count; i++) {
			if (stop_container(state, i, &facts[i], now_ms, &next))
				return next;
			stopped += record->containers[i].phase == RUNTIME_STOPPED;
		}
	} while (stopped != before);
	if (stopped < count)
		return next;
	if (has_network(state->plan) && facts[count].status == DOCKER_RUNNING)
		return step(DOCKER_KILL, count);
	record->phase = RUNTIME_STOPPED;
	record->stopped_ms = now_ms;
	state->unsaved = state->changed = true;
	return step(DOCKER_OVER, 0);
}

/* For a running task. */
static struct docker_step next_of_living(struct docker_state *state,
	const struct docker_facts *facts, int64_t now_ms)
{
	struct runtime_task *record = state->record;
	struct docker_step next = step(DOCKER_WAIT, 0);
	size_t count = record->container_count, started = 0, stopped = 0;

	if (has_network(state->plan) && facts[count].status == DOCKER_CREATED)
		return step(DOCKER_START, count);
	for (size_t i = 0; i < count; i++) {
		started += record->containers[i].phase > RUNTIME_PENDING;
		stopped += record->containers[i].phase == RUNTIME_STOPPED;
		if (record->containers[i].phase == RUNTIME_PENDING &&
			may_start(state, i, now_ms, &next.at_ms))
			return step(DOCKER_START, i);
		if (record->phase >= RUNTIME_STOPPING)
			return next_of_ending(state, facts, now_ms);
	}
	if (stopped == count) {
		docker_stop(state, RUNTIME_STOP_ESSENTIAL,
			SPAN("Essential container in task exited"));
		return next_of_ending(state, facts, now_ms);
	}
	if (started == count && record->phase == RUNTIME_PENDING) {
		record->phase = RUNTIME_RUNNING;
		record->started_ms = now_ms;
		state->unsaved = state->changed = true;
	}
	return next;
}

struct docker_step docker_next(struct docker_state *state, const struct docker_facts *facts,
	int64_t now_ms)
{
	if (state->record->phase == RUNTIME_STOPPED)
		return step(DOCKER_OVER, 0);
	if (state->record->phase == RUNTIME_STOPPING)
		return next_of_ending(state, facts, now_ms);
	if (!state->begun)
		return step(DOCKER_PREPARE, 0);
	return next_of_living(state, facts, now_ms);
}
