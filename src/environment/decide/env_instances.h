/*
 * A crew: one environment as its manager sees it, in memory. It brings together what the state service knows of
 * instances and their tasks, what was decided for each instance (placements), and what is wanted (the target
 * version), and keeps a fleet (rollout/fleet.h) of it. Nothing in it is lost when it is: it is made again from the
 * store and the state service.
 *
 * One thread at a time works with a crew, its manager's; env_instances_count() and env_instances_instance_changed() are for any
 * thread.
 */
#ifndef ENVIRONMENT_DECIDE_ENV_INSTANCES_H
#define ENVIRONMENT_DECIDE_ENV_INSTANCES_H

#include "base/heap.h"
#include "base/lock.h"
#include "base/map.h"
#include "delivery/observe/observe.h"
#include "environment/decide/subscriptions.h"
#include "environment/model/bug.h"
#include "environment/model/context.h"
#include "rollout/fleet.h"

#define ENV_INSTANCES_SETTLED_MS INT64_C(10000) /* who ran so long has not crashed at once */
#define ENV_INSTANCES_HEALTHY_MS                                                                   \
	INT64_C(600000) /* who fell ill after so long had been well before */
#define ENV_INSTANCES_BACKOFF_FIRST_MS INT64_C(1000) /* before the third start in a row, doubling */
#define ENV_INSTANCES_BACKOFF_MOST_MS INT64_C(300000)
#define ENV_INSTANCES_REFUSED_FIRST_MS                                                             \
	INT64_C(1000) /* before asking again for what was refused, doubling */
#define ENV_INSTANCES_REFUSED_MOST_MS INT64_C(15000)
#define ENV_INSTANCES_HANGS_MS INT64_C(120000) /* a stop that takes longer is told */

#define ENV_INSTANCES_DEFINITIONS_MAX 16 /* whose tasks are counted */
#define ENV_INSTANCES_SHARES_MAX 4       /* tasks of one instance that are */

/* A task of a member, counted under its task definition. */
struct task_share {
	uint8_t definition;
	bool active;
};

/* What one in trouble would be told as otherwise. */
enum instance_failure {
	INSTANCE_FAILURE_NONE,
	INSTANCE_FAILURE_MISSING,
	INSTANCE_FAILURE_LAUNCHING,
	INSTANCE_FAILURE_COUNT
};

/* A moment that was written down, perhaps by another server, by this one's steady clock: worked out when it is first seen
 * and kept, because clocks are set while programs run. */
struct recorded_moment {
	int64_t written_ms, steady_ms;
};

/* One instance of one of the environment's places. All moments of it are steady time. */
struct instance_entry {
	uint32_t index;              /* in the fleet */
	struct span cluster_ref, id; /* own memory */
	/* What was asked for and may not be seen yet. */
	enum environment_intent expected;
	enum fleet_version expected_version; /* of a start: the target or the older one */
	char *expected_task; /* its ARN, own memory; NULL: of a start that was not answered */
	/* Hash of the ARN of the task that was started last under this claim; 0: not known. */
	uint64_t started;
	uint64_t expected_resource_version; /* of the state service; seen when it reaches this, */
	int64_t expected_until_ms;          /* but not before; 0 */
	bool was_inspected;                 /* under this claim */
	uint64_t
		seen; /* what it was looked at in: observe_seen(), or the instance's version elsewhere */
	/* When its last start crashed, and when that start was intended (wall time). */
	int64_t crashed_ms, crash_of_ms;
	int64_t again_ms;    /* 0: only when something changes */
	int64_t draining_ms; /* since when it is seen to; 0: it does not */
	bool is_bare;        /* has no task, and none is asked for */
	bool is_subscribed;  /* its news are for this crew, too; see subscriptions.h */
	bool is_new;         /* matches, and nothing was decided for it yet */
	bool is_unsure; /* has an old task of which nobody knows yet whether it is checked, or warm */
	/* Its last start came to nothing, and no task has become healthy since: told as unhealthy, whether the next
	 * one waits or is being tried. */
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
	struct map members; /* "PLACE/ID" */
	struct instance_entry **by_index;
	size_t by_index_size;
	struct heap waiting; /* members, by when they must be looked at again */
	size_t new_count, unsure_count;
	size_t trouble_counts[INSTANCE_FAILURE_COUNT];
	/* What it was made for. */
	char target[ID_UUID_SIZE];
	int64_t progress_ms; /* when its deployment's was written last; steady time */
	struct recorded_moment began, canary_began; /* its deployment, and the canary of that */
	int64_t canary_written_ms; /* since when that is well, as we wrote it down; 0: another one did */
	bool is_inspected;         /* everything, at least once since the target changed */
	bool is_blind; /* what was known of the target's place was too old when it was last looked at */
	int64_t waits_ms; /* since when too little is known of its instances to decide anything (steady); 0: enough is */
	/* Places that it only has to leave and that are not known now, or not well enough to act upon, joined by spaces (own
	 * memory; NULL: none): instances there cannot be reached. */
	char *unknown_refs;
	/* Clusters and ECS services that its manager wants from the observer, by cluster. */
	struct map wanted_clusters, wanted_services;
	struct map gone;    /* keys of placements whose instance is gone: to be deleted */
	char *cluster_refs; /* own memory; NULL: not looked at yet */
	/* Of the claim under which it may act, and by place the marks of when it was taken: what the manager before
	 * did is not known before they are reached. */
	uint64_t epoch;
	struct map resource_versions;
	/* Of types without a fleet, elsewhere: what was asked for is not known before this mark; and what the load
	 * balancer of a version is, completed. */
	uint64_t expected_resource_version;
	char balancer_of[ID_UUID_SIZE];
	char *balancer; /* own memory; NULL */

	struct lock lock;   /* for all below */
	struct map changed; /* "PLACE/ID" */
	bool all_changed;
	struct environment_counts counts;
	int64_t failing_ms; /* since when every look of its manager failed (steady); 0: the last did not */
	char failing[ERR_MESSAGE_MAX]; /* how the last one did */
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

struct instances *env_instances_new(struct span key, struct subscriptions *subscriptions);
void env_instances_free(struct instances *instances);

/* Something about this instance is new; "": about all. */
void env_instances_instance_changed(struct instances *instances, struct span cluster_ref,
	struct span id);
void env_instances_count(struct instances *instances, struct environment_counts *ret_counts);
size_t env_instances_list_running(struct instances *instances, struct arena *arena,
	struct environment_running **ret_running);

/* What it looks at. */
struct reconcile_input {
	const struct store_view *view;
	struct observer *state;
	const struct store_object *environment;
	const struct store_object
		*target; /* the version that is wanted; NULL: none yet, the latest */
	bool rolls; /* a user's deployment is in progress, or was completed: older versions are replaced */
	bool canary;       /* its canary has not proved itself yet */
	int64_t now_ms;    /* for what is written down */
	int64_t steady_ms; /* for waiting */
	struct arena *arena;
	enum daemon_bug bug; /* DAEMON_BUG_NONE but in simulations */
};

/* In steady time; no further ahead than that. Who wrote it may have had another clock. */
int64_t recorded_moment(struct recorded_moment *moment, const struct reconcile_input *input,
	int64_t written_ms, int64_t most_ahead_ms);

/* Takes in what changed. Returns when it must look again because of time (steady); 0: never. -EAGAIN: the place of the
 * target is not known completely yet. */
int env_instances_update(struct instances *instances, const struct reconcile_input *input,
	int64_t *ret_again_ms, struct err *err);
/* The claim is of this epoch now. Whoever takes it over knows up to when he has to look. */
void env_instances_claimed(struct instances *instances, const struct reconcile_input *input,
	uint64_t epoch);
/* Everything that was done before the claim was taken is known; ask before env_instances_update(). Of a place elsewhere that only
 * has to be left env_instances_is_caught_up_at() says it. */
bool env_instances_is_caught_up(struct instances *instances, const struct reconcile_input *input);
bool env_instances_is_caught_up_at(const struct instances *instances, struct span cluster_ref);
/* It is, and what is known of the place is complete and not too old to act upon; of this server it never is. */
bool env_instances_knows(const struct instances *instances, const struct reconcile_input *input,
	struct span cluster_ref);
/* What it saw is all that this server's store knows of the target's place now; of a place elsewhere nobody can say. Who was
 * asleep sees for a moment what was before. */
bool env_instances_is_current(struct instances *instances, const struct reconcile_input *input);
/* Something was asked for; it counts as under way until the state service must have seen it. task: to be
 * stopped, or that was started, if that was told. */
void env_instances_expect(struct instances *instances, const struct reconcile_input *input,
	struct instance_entry *member, enum environment_intent intent, enum fleet_version version,
	struct span task);
/* One of them again, after something was asked for or refused. */
void env_instances_inspect(struct instances *instances, const struct reconcile_input *input,
	struct instance_entry *member);
struct instance_entry *instance_entry_at(const struct instances *instances, uint32_t index);
/* The placement of a member, or NULL. */
const struct store_object *env_instances_placement(const struct instances *instances,
	const struct reconcile_input *input, const struct instance_entry *member);
/* The task of this member that an action means; NULL: it is gone. */
const struct observe_task *env_instances_find_task(const struct instances *instances,
	const struct reconcile_input *input, const struct instance_entry *member,
	enum fleet_version version, enum rollout_class class, struct arena *arena);
/* env_instances_crash.c: the last start of a member led to a task that has stopped and did not run for long. */
bool env_instances_has_crashed(const struct instances *instances,
	const struct reconcile_input *input, struct instance_entry *member,
	const struct environment_placement_facts *placement);
/* The last task was stopped because it was ill and never well for long, which is as good as a crash: the stop says how
 * many starts have failed in a row. */
static inline bool env_instances_was_unhealthy(const struct environment_placement_facts *placement)
{
	return placement->intent == ENVIRONMENT_INTENT_stop && placement->until_ms == 0 &&
	       placement->failures > 0;
}
/* Until when the next start has to wait for either; 0: it has not to. */
int64_t env_instances_crash_backoff_ms(const struct instances *instances,
	const struct reconcile_input *input, struct instance_entry *member,
	const struct environment_placement_facts *placement);
/* How many starts of its version have failed in a row, the last one included. */
int64_t env_instances_failures(const struct instances *instances,
	const struct reconcile_input *input, struct instance_entry *member);

#endif
