/*
 * The planner of daemon environments: one task on each instance that is active and matches, now and
 * as instances come and go, and a new version from instance to instance. Like all planners here it
 * is pure; unlike them it keeps state, so that a change of one instance costs the same in a fleet
 * of a thousand and of a hundred thousand. Its plan depends on that state and not on the order of
 * the changes: of equals, the instance with the lowest index goes first.
 *
 * Instances are counted so: N is the number of active, matching, reachable ones; H those of them with a
 * healthy task of any version that was not asked to stop; q = ceil(N * minimum healthy percent / 100). When no
 * minimum is given it is 90 percent, but one instance may always be down. These hold at every moment,
 * whichever part of the actions is carried out, in whichever order:
 *   - stop, then start: an instance never gets a second task. Start, then stop: it may get a second one, of
 *     the target version, and at most floor(N * maximum over percent / 100) instances have two.
 *   - a healthy task that its instance still needs is stopped only while H - 1 >= q.
 *   - at most max(N - q, those that may be doubled, 1) instances at a time are on their way from an older
 *     version to the target: a version that never becomes healthy takes no more than that from the older one.
 *   - of several tasks on one instance exactly the excess is stopped: the best one stays.
 *   - nothing is done to an instance that cannot be reached.
 *
 * An instance belongs to one version, which its caller remembers: a task that dies before its instance is
 * handed over to the target version is started again in the version that it had. An action that hands
 * over says so, and the caller writes that down together with the intent.
 */
#ifndef ROLLOUT_FLEET_H
#define ROLLOUT_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rollout/rollout.h"

#define FLEET_INSTANCES_MAX (1u << 24)
#define FLEET_MINIMUM_HEALTHY_DEFAULT 90
#define FLEET_NO_INSTANCE UINT32_MAX

/* The actions that are allowed. */
enum fleet_mode {
	FLEET_SILENT, /* nothing: the environment is inactive, or being deleted without its tasks */
	FLEET_KEEPS, /* everything but replacing one version by another: no deployment is in progress */
	FLEET_ROLLS,   /* everything */
	FLEET_REMOVES, /* all tasks are stopped: the environment is being deleted with them */
};

/* Seeded bugs (base/seeded_bug.h). */
enum fleet_bug {
	FLEET_NO_BUG,
	FLEET_BUG_STALE_HEALTHY, /* the budget is not lowered by what was planned already */
	FLEET_BUG_OLD_IS_FREE,   /* unhealthy tasks of older versions do not count as down */
	FLEET_BUG_THREADS,       /* each event adds to the budget */
	FLEET_BUG_HASTY_START,   /* starts while another task is still stopping */
	FLEET_BUG_STOP_ALL,      /* where there are two tasks, both are stopped */
	FLEET_BUG_BLIND,         /* acts on instances that cannot be reached */
	FLEET_BUG_DOUBLE,        /* forgets those that have two tasks already */
	FLEET_BUG_FIRST_OUT, /* a draining instance loses its task before the others have left */
	FLEET_BUG_NO_PACE,   /* hands over everything that is down, however many are on their way */
	FLEET_BUG_NO_CANARY, /* hands over more than the canary */
	FLEET_BUG_COUNT,
};

struct fleet_rules {
	enum fleet_mode mode;
	bool minimum_requested; /* else minimum_healthy_percent is not looked at */
	unsigned minimum_healthy_percent;
	bool replace_first; /* start, then stop; where that may not be, see maximum_over_percent, stop first */
	unsigned maximum_over_percent; /* 0: none is doubled */
	/* While not 0, no more instances than that belong to the target version: the canary. Instances without
	 * a task get theirs all the same, and count. The caller sets it to 0 when the canary has proved itself. */
	unsigned canary_instances;
	enum fleet_bug bug;
};

/* Versions as one instance sees them. */
enum fleet_version {
	FLEET_TARGET, /* the desired version of all */
	FLEET_OLD,    /* the version of this instance, if it is not the target */
	FLEET_OTHER,  /* any other: a late start, a leftover */
	FLEET_VERSION_COUNT
};

/* Which version an instance belongs to. */
enum fleet_assigned {
	FLEET_ASSIGNED_NONE, /* new: the first start hands it over */
	FLEET_ASSIGNED_OLD,
	FLEET_ASSIGNED_TARGET, /* handed over */
};

/* All that is known of one instance. */
struct fleet_instance {
	enum rollout_instance_state state;
	bool matches;     /* the cluster and the attributes of the target version */
	bool others_left; /* draining: tasks that no daemon environment owns are still here */
	/* Unreachable for less than the timeout: counts in N as down, so that no task is stopped
	 * because of it. After that it is not in N and blocks no other instance. */
	bool awaited;
	bool hangs; /* a stopping task is overdue: reported as a cause, still awaited */
	enum fleet_assigned assigned;
	/* Whether a task of the target version, or of FLEET_OLD, cannot be started here now, and why. */
	enum rollout_blocker blocker, old_blocker;
	/* Tasks not asked to stop. An open intent to start counts as pending. */
	unsigned tasks[FLEET_VERSION_COUNT][ROLLOUT_CLASS_COUNT];
	unsigned
		stopping; /* asked to stop (an open intent is enough) and not gone, hanging ones too */
};

/* One task on one instance. */
struct fleet_action {
	enum rollout_action_type type;
	uint32_t instance;
	enum fleet_version version; /* starts: never FLEET_OTHER */
	enum rollout_class class;   /* stops: of which class */
	bool hands_over;            /* the instance belongs to the target version from now on */
};

struct fleet_counts {
	/* Of those in N: active + launching + unhealthy + missing = total. */
	unsigned total, active, launching, unhealthy, missing;
	unsigned outdated; /* with a task of another version than the target */
	unsigned updated;  /* with a healthy task of the target version and no other: x of n */
	unsigned
		handed_over; /* belong to the target version, unreachable ones included that are awaited */
	unsigned proved;   /* of them, reachable, with a healthy task of that version */
	unsigned unproved; /* of them, reachable, without */
	unsigned moving;   /* belong to the target version and have no healthy task */
	unsigned doubled;  /* with more than one task, stopping ones included */
	/* And of the others. */
	unsigned unreachable; /* matching */
	unsigned awaited;     /* of those */
	unsigned draining;    /* with a task */
	unsigned unwanted;    /* with a task that is to be stopped */
	unsigned stopping;    /* reachable, with a task that is stopping, N included */
	/* Bounds; awaited ones count as part of N here. */
	unsigned required;     /* q */
	unsigned allowed_down; /* N - q */
	unsigned surge;        /* how many may be doubled */
};

/* Why an instance, or the fleet, is not as wanted, and nothing is done about it now. From the weakest:
 * that of the fleet is the strongest of its instances'. */
enum fleet_cause {
	FLEET_NO_CAUSE,
	FLEET_HELD,          /* an older version runs, and no deployment is in progress */
	FLEET_UNREACHABLE,   /* reported; blocks no other */
	FLEET_CANARY,        /* waits for the canary */
	FLEET_MINIMUM,       /* waits for others to be healthy, or to be back */
	FLEET_UNSATISFIABLE, /* the minimum allows no instance to be down, and none may be doubled */
	FLEET_STARTING,      /* waits for its task to be healthy */
	FLEET_STOPPING,      /* waits for a task to be gone */
	FLEET_HANGS,         /* that takes too long */
	FLEET_BACKOFF,       /* the blockers of its current or future version */
	FLEET_PLACEMENT,
	FLEET_RESOURCES,
	FLEET_UNSTARTABLE,
	FLEET_CAUSE_COUNT
};

struct fleet_reason {
	uint32_t instance;
	enum fleet_cause cause;
};

struct fleet;

struct fleet *fleet_new(void); /* FLEET_SILENT, no instances */
void fleet_free(struct fleet *fleet);

/* Costs a look at every instance when the rules differ from those before. */
void fleet_configure(struct fleet *fleet, const struct fleet_rules *rules);

/* The lowest free index, GONE until it is set; FLEET_NO_INSTANCE when there are too many. A removed index is
 * given out again. */
uint32_t fleet_add(struct fleet *fleet);
void fleet_remove(struct fleet *fleet, uint32_t index);

/* Sets the current state of an instance, open intents included. */
void fleet_set(struct fleet *fleet, uint32_t index, const struct fleet_instance *now);
const struct fleet_instance *fleet_get(const struct fleet *fleet, uint32_t index);

/* Returns the next actions, at most `max`, the most urgent first; 0 if none. The fleet counts each
 * as done (a start as pending, a stop as stopping, the instance as handed over), so callers may
 * repeat the call at once; fleet_set() corrects actions that were not done. Versions are those of
 * the last fleet_set(), though an earlier action may have handed the instance over. After a failed
 * stop the caller should leave the task as stopping and retry: it keeps its part of the budget. */
size_t fleet_next(struct fleet *fleet, struct fleet_action *actions, size_t max);

const struct fleet_counts *fleet_counts(const struct fleet *fleet);

/* Each of N has one task, a healthy one of the target version, and, but for stopping ones, no other; the
 * other reachable ones have none, but for draining ones that keep theirs to the last. When FLEET_REMOVES:
 * no reachable one has any. */
bool fleet_complete(const struct fleet *fleet);
bool fleet_steady(const struct fleet *fleet); /* complete, and nothing is stopping */

/* Why nothing is done, when fleet_next() gives nothing and the fleet is not steady: the strongest cause and
 * the first instance that has it. FLEET_NO_CAUSE while there is something to do, when the fleet is
 * steady, and when it is silent. */
struct fleet_reason fleet_blocked(const struct fleet *fleet);

/* Instances that are not as wanted, with their causes, at most `max`; the strongest kinds first. */
size_t fleet_reasons(const struct fleet *fleet, struct fleet_reason *reasons, size_t max);

const char *fleet_cause_name(enum fleet_cause cause); /* "BACKOFF", "" for none */

#endif
