/* The state of a group, from its objects; see workload.h. */
#include <stdlib.h>

#include "base/memory.h"
#include "runtime/kubernetes/pod.h"
#include "runtime/kubernetes/workload.h"

/* ---- versions ---- */

static struct runtime_group_version *find_version(struct runtime_group_state *state,
	struct span version)
{
	for (size_t i = 0; i < state->version_count; i++)
		if (span_equal(state->versions[i].version, version))
			return &state->versions[i];
	if (state->version_count == RUNTIME_VERSIONS_MAX)
		return NULL;
	state->versions[state->version_count] = (struct runtime_group_version){.version = version};
	return &state->versions[state->version_count++];
}

static int newest_first(const void *a, const void *b)
{
	const struct runtime_group_version *one = a, *other = b;

	if (one->created_ms == other->created_ms)
		return span_compare(one->version, other->version);
	return one->created_ms < other->created_ms ? 1 : -1;
}

static void report_versions(const struct kubernetes_group_objects *parts,
	struct runtime_group_state *state)
{
	for (size_t i = 0; i < parts->replica_set_count; i++) {
		const struct kubernetes_replica_set *set = parts->replica_sets[i]->data;
		struct runtime_group_version *version;

		/* ReplicaSets that are kept for history are not reported. */
		if (set->desired == 0 && set->current == 0 &&
			!span_equal(set->version, state->version))
			continue;
		version = find_version(state, set->version);
		if (!version)
			continue;
		version->desired += set->desired;
		version->current += set->current;
		version->ready += set->ready;
		if (set->created_ms > version->created_ms)
			version->created_ms = set->created_ms;
	}
}

static bool is_ready(const struct kubernetes_pod *pod)
{
	for (size_t i = 0; i < pod->container_count; i++)
		if (!pod->containers[i].initial && !pod->containers[i].ready)
			return false;
	return !pod->gated || pod->gate_open;
}

static void report_daemon_versions(const struct kubernetes_group_objects *parts,
	struct runtime_group_state *state)
{
	for (size_t i = 0; i < parts->pod_count; i++) {
		const struct kubernetes_pod *pod = parts->pods[i]->data;
		struct runtime_group_version *version;

		if (pod->ending_ms != 0)
			continue;
		version = find_version(state, pod->version);
		if (!version)
			continue;
		version->current++;
		version->ready += is_ready(pod);
		version->desired =
			span_equal(version->version, state->version) ? state->desired : 0;
		if (version->created_ms == 0 || pod->created_ms < version->created_ms)
			version->created_ms = pod->created_ms;
	}
}

/* ---- events ---- */

static int oldest_first(const void *a, const void *b)
{
	const struct runtime_group_event *one = a, *other = b;

	if (one->at_ms == other->at_ms)
		return span_compare(one->id, other->id);
	return one->at_ms < other->at_ms ? -1 : 1;
}

/* The same event on ten tasks is reported once: as the event with the smallest id, so that it stays
 * the same as long as it exists. */
static void add_event(struct runtime_group_state *state, struct span id,
	const struct kubernetes_event *event)
{
	for (size_t i = 0; i < state->event_count; i++) {
		struct runtime_group_event *other = &state->events[i];

		if (!span_equal(other->text, event->text))
			continue;
		other->count += event->count;
		if (span_compare(id, other->id) < 0)
			other->id = id;
		if (event->at_ms > other->at_ms)
			other->at_ms = event->at_ms;
		return;
	}
	state->events[state->event_count++] = (struct runtime_group_event){
		.id = id,
		.at_ms = event->at_ms,
		.count = event->count,
		.warning = event->warning,
		.text = event->text,
	};
}

static void report_events(const struct kubernetes_group_objects *parts, struct arena *arena,
	struct runtime_group_state *state)
{
	state->events = arena_allocate_array(arena, parts->event_count, sizeof(*state->events));
	for (size_t i = 0; i < parts->event_count; i++)
		add_event(state, parts->events[i]->uid, parts->events[i]->data);
	if (state->event_count > 1)
		qsort(state->events, state->event_count, sizeof(*state->events), oldest_first);
	if (state->event_count > RUNTIME_EVENTS_MAX) {
		state->events += state->event_count - RUNTIME_EVENTS_MAX;
		state->event_count = RUNTIME_EVENTS_MAX;
	}
}

/* ---- the whole state ---- */

struct runtime_group_state *kubernetes_group_report(const struct kubernetes_group_objects *parts,
	struct arena *arena)
{
	const struct kubernetes_workload *workload = parts->workload;
	struct runtime_group_state *state = arena_allocate(arena, sizeof(*state));

	*state = (struct runtime_group_state){
		.id = workload->group,
		.version = workload->version,
		.settled = workload->observed >= workload->generation,
		.desired = workload->desired,
		.current = workload->current,
		.updated = workload->updated,
		.ready = workload->ready,
		.available = workload->available,
		.failed = workload->failure.length > 0,
		.reason = workload->failure,
		.ending = workload->ending,
	};
	if (workload->daemon)
		report_daemon_versions(parts, state);
	else
		report_versions(parts, state);
	if (state->version_count > 1)
		qsort(state->versions, state->version_count, sizeof(*state->versions),
			newest_first);
	report_events(parts, arena, state);
	return state;
}
