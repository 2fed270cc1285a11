/*
 * The instances of one Daemon environment, in memory: the observed state of each instance and its tasks, the decision for it
 * (its placement), and the desired version, combined into a fleet (rollout/fleet.h). All of it can be built again from
 * the store and the observer.
 *
 * One thread at a time works with it, that of the environment's pass; env_instances_list_running(),
 * env_instances_instance_changed() and env_instances_all_changed() are for any thread.
 */
#ifndef ENVIRONMENT_DECIDE_ENV_INSTANCES_H
#define ENVIRONMENT_DECIDE_ENV_INSTANCES_H

#include "base/heap.h"
#include "base/lock.h"
#include "base/map.h"
#include "environment/decide/reconcile_input.h"
#include "environment/decide/subscriptions.h"
#include "environment/model/context.h"
#include "rollout/fleet.h"

#define ENV_INSTANCES_SETTLED_MS                                                                   \
	INT64_C(10000) /* a task that ran for this long did not crash at its start */
#define ENV_INSTANCES_HEALTHY_MS                                                                   \
	INT64_C(600000) /* a task that became unhealthy after this long had started well */
#define ENV_INSTANCES_BACKOFF_FIRST_MS INT64_C(1000) /* before the third start in a row, doubling */
#define ENV_INSTANCES_BACKOFF_MOST_MS INT64_C(300000)
#define ENV_INSTANCES_HANGS_MS INT64_C(120000) /* a stop that takes longer is reported */

#define ENV_INSTANCES_DEFINITIONS_MAX 16 /* definitions of which tasks are counted */
#define ENV_INSTANCES_SHARES_MAX 4       /* tasks of one instance that are */

/* A task of an instance, counted under its task definition. */
struct task_share {
	uint8_t definition;
	bool active;
};

/* How an instance that has failed would be counted otherwise. */
enum instance_failure {
	INSTANCE_FAILURE_NONE,
	INSTANCE_FAILURE_MISSING,
	INSTANCE_FAILURE_LAUNCHING,
	INSTANCE_FAILURE_COUNT
};

/* One instance in one of the environment's clusters. All its moments are in steady time. */
struct instance_entry {
	uint32_t index;             /* in the fleet */
	struct cluster_ref cluster; /* its text in own memory */
	struct span id;             /* own memory */
	/* The expectation: a call whose result may not be observed yet. */
	enum environment_intent expected;
	enum fleet_version expected_version; /* of a start: the target or the older one */
	char *expected_task; /* its ARN, own memory; NULL: a start without an answer */
	/* Hash of the ARN of the last task that was started under this claim; 0: not known. */
	uint64_t started;
	uint64_t expected_resource_version; /* of the observer: fulfilled when it reaches this, */
	int64_t expected_until_ms;          /* but not before; 0 */
	bool was_inspected;                 /* under this claim */
	uint64_t
		seen; /* the inspected state: observe_seen(), or the instance's version in a remote cluster */
	/* When its last start crashed, and when that start was intended (wall time). */
	int64_t crashed_ms, crash_of_ms;
	int64_t again_ms;    /* 0: only when something changes */
	int64_t draining_ms; /* since when it is observed to drain; 0: it does not */
	bool is_bare;        /* has no task, and none is expected */
	bool is_subscribed;  /* its changes wake this environment; see subscriptions.h */
	bool is_new;         /* matches, and has no placement yet */
	bool is_unsure; /* has an old task of which it is not known yet whether it has a health check, or is warm */
	/* Its last start failed, and no task has become healthy since: reported as unhealthy, whether the next start waits
	 * or is under way. */
	enum instance_failure trouble;
	struct heap_item waiting;                       /* while it has an again_ms */
	struct recorded_moment intended, refused_until; /* as its placement says */
	struct task_share shares[ENV_INSTANCES_SHARES_MAX];
	size_t share_count;
};

struct instances {
	struct subscriptions *subscriptions;
	struct span key;   /* of the environment; own memory */
	struct span group; /* of its tasks; own memory */
	struct fleet *fleet;
	struct map entries; /* "CLUSTER-REF/ID" */
	struct instance_entry **by_index;
	size_t by_index_size;
	struct heap waiting; /* entries, by when they must be inspected again */
	size_t new_count, unsure_count;
	size_t trouble_counts[INSTANCE_FAILURE_COUNT];
	/* The version that it was built for. */
	char target[ID_UUID_SIZE];
	struct recorded_moment canary_began;
	int64_t canary_written_ms; /* since when the canary is healthy, as this server recorded it; 0: another server did */
	/* The version for which the reservation was put, under the claim of this epoch. */
	char reserved_for[ID_UUID_SIZE];
	uint64_t reserved_epoch;
	bool is_inspected; /* everything, at least once since the target changed */
	bool is_blind;     /* the state of the target's cluster was stale in the last pass */
	int64_t waits_ms; /* since when too little is known of its instances to decide (steady); 0: enough is known */
	/* Clusters that it only has to leave and whose state is unknown or stale: instances there cannot be reached. */
	struct map unknown_refs;
	struct map gone;    /* keys of placements whose instance is gone: to be deleted */
	char *cluster_refs; /* own memory; NULL: before the first pass */
	/* The epoch of the claim, and by cluster the resource version of when it was acquired: the calls of the server before
	 * are not observed until it is reached. */
	uint64_t epoch;
	struct map resource_versions;
	struct lock lock;   /* for all below */
	struct map changed; /* "CLUSTER-REF/ID" */
	bool all_changed;
	struct {
		char *name; /* NULL: not in use */
		int64_t tasks, active;
	} definitions[ENV_INSTANCES_DEFINITIONS_MAX];
};

static inline size_t env_instances_failing(const struct instances *instances)
{
	return instances->trouble_counts[INSTANCE_FAILURE_MISSING] +
	       instances->trouble_counts[INSTANCE_FAILURE_LAUNCHING];
}

static inline struct span env_instances_reserved_for(const struct instances *instances,
	uint64_t epoch)
{
	return instances->reserved_epoch == epoch ? span_of(instances->reserved_for) : SPAN("");
}

void env_instances_note_reservation(struct instances *instances, struct span version,
	uint64_t epoch);
struct instances *env_instances_new(struct span key, struct subscriptions *subscriptions);
void env_instances_free(struct instances *instances);

/* This instance has changed; any may have. */
void env_instances_instance_changed(struct instances *instances, struct cluster_ref cluster,
	struct span id);
void env_instances_all_changed(struct instances *instances);
size_t env_instances_list_running(struct instances *instances, struct arena *arena,
	struct environment_running **ret_running);

/* Updates the fleet with all changes. *ret_again_ms: when time alone requires another update (steady); 0: never. -EAGAIN:
 * the target's cluster is not known completely yet. */
int env_instances_update(struct instances *instances, const struct reconcile_input *input,
	int64_t *ret_again_ms, struct err *err);
/* The counts of the environment as the last update found them. */
void env_instances_count(const struct instances *instances, struct environment_counts *ret_counts);
/* The claim has this epoch now: notes the resource versions that must be reached before anything is decided. */
void env_instances_claimed(struct instances *instances, const struct reconcile_input *input,
	uint64_t epoch);
/* Whether everything is observed that was done before the claim was acquired; ask before env_instances_update(). For a
 * remote cluster that only has to be left, see env_instances_is_caught_up_at(). */
bool env_instances_is_caught_up(struct instances *instances, const struct reconcile_input *input);
bool env_instances_is_caught_up_at(const struct instances *instances, struct cluster_ref cluster);
/* The same, and the state of the cluster is complete and not stale; a cluster of this server is never stale. */
bool env_instances_knows(const struct instances *instances, const struct reconcile_input *input,
	struct cluster_ref cluster);
/* Whether the observed state includes all that the store has of the target's cluster; true for a remote cluster, where it
 * cannot be known. A server that was paused observes an older state for a moment. */
bool env_instances_is_current(struct instances *instances, const struct reconcile_input *input);
/* A call was made: its effect counts as under way until the observer must have seen it. task: the one to stop, or the
 * started one, if the answer named it. */
void env_instances_expect(struct instances *instances, const struct reconcile_input *input,
	struct instance_entry *entry, enum environment_intent intent, enum fleet_version version,
	struct span task);
/* Inspects one instance again, after a call or a refusal. */
void env_instances_inspect(struct instances *instances, const struct reconcile_input *input,
	struct instance_entry *entry);
struct instance_entry *instance_entry_at(const struct instances *instances, uint32_t index);
/* The placement of an instance, or NULL. */
const struct store_object *env_instances_placement(const struct instances *instances,
	const struct reconcile_input *input, const struct instance_entry *entry);
/* The task of this instance that an action is for; NULL: it is gone. */
const struct observe_task *env_instances_find_task(const struct instances *instances,
	const struct reconcile_input *input, const struct instance_entry *entry,
	enum fleet_version version, enum rollout_class class, struct arena *arena);
/* instance_crash.c: the last start of an instance led to a task that stopped after a short time. */
bool env_instances_has_crashed(const struct instances *instances,
	const struct reconcile_input *input, struct instance_entry *entry,
	const struct environment_placement_facts *placement);
/* The last task was stopped because it was unhealthy and never healthy for long, which counts as a crash: the placement of
 * the stop has how many starts have failed in a row. */
static inline bool env_instances_was_unhealthy(const struct environment_placement_facts *placement)
{
	return placement->intent == ENVIRONMENT_INTENT_stop && placement->until_ms == 0 &&
	       placement->failures > 0;
}
/* Until when the next start waits after either; 0: it does not wait. */
int64_t env_instances_crash_backoff_ms(const struct instances *instances,
	const struct reconcile_input *input, struct instance_entry *entry,
	const struct environment_placement_facts *placement);
/* How many starts of its version have failed in a row, the last one included. */
int64_t env_instances_failures(const struct instances *instances,
	const struct reconcile_input *input, struct instance_entry *entry);

#endif
