/*
 * A crew: one environment as its manager sees it, in memory. It brings together what the state service knows of
 * instances and their tasks, what was decided for each instance (placements), and what is wanted (the target
 * version), and keeps a fleet (rollout/fleet.h) of it. Nothing in it is lost when it is: it is made again from the
 * store and the state service.
 *
 * One thread at a time works with a crew, its manager's; crew_count() and crew_instance_changed() are for any
 * thread.
 */
#ifndef DAEMON_CREW_H
#define DAEMON_CREW_H

#include "base/heap.h"
#include "base/map.h"
#include "control/lock.h"
#include "daemon/bug.h"
#include "daemon/daemon.h"
#include "daemon/interest.h"
#include "daemon/state.h"
#include "rollout/fleet.h"

#define CREW_SETTLED_MS INT64_C(10000)      /* who ran so long has not crashed at once */
#define CREW_WELL_MS INT64_C(600000)        /* who fell ill after so long had been well before */
#define CREW_BACKOFF_FIRST_MS INT64_C(1000) /* before the third start in a row, doubling */
#define CREW_BACKOFF_MOST_MS INT64_C(300000)
#define CREW_REFUSED_FIRST_MS INT64_C(1000) /* before asking again for what was refused, doubling */
#define CREW_REFUSED_MOST_MS INT64_C(15000)
#define CREW_HANGS_MS INT64_C(120000) /* a stop that takes longer is told */

#define CREW_DEFINITIONS_MAX 16 /* whose tasks are counted */
#define CREW_SHARES_MAX 4       /* tasks of one instance that are */

/* A task of a member, counted under its task definition. */
struct crew_share {
	uint8_t definition;
	bool active;
};

/* What one in trouble would be told as otherwise. */
enum crew_trouble {
	CREW_NO_TROUBLE,
	CREW_TROUBLE_MISSING,
	CREW_TROUBLE_LAUNCHING,
	CREW_TROUBLE_COUNT
};

/* A moment that was written down, perhaps by another server, by this one's steady clock: worked out when it is first seen
 * and kept, because clocks are set while programs run. */
struct crew_moment {
	int64_t written_ms, steady_ms;
};

/* One instance of one of the environment's places. All moments of it are steady time. */
struct crew_member {
	uint32_t index;        /* in the fleet */
	struct span place, id; /* own memory */
	/* What was asked for and may not be seen yet. */
	enum environment_intent asked;
	enum fleet_version asked_version; /* of a start: the target or the older one */
	char *asked_task; /* its ARN, own memory; NULL: of a start that was not answered */
	/* Hash of the ARN of the task that was started last under this claim; 0: not known. */
	uint64_t started;
	uint64_t asked_mark;    /* of the state service; seen when it reaches this, */
	int64_t asked_until_ms; /* but not before; 0 */
	bool was_looked_at;     /* under this claim */
	uint64_t
		seen; /* what it was looked at in: state_seen(), or the instance's version elsewhere */
	/* When its last start crashed, and when that start was intended (wall time). */
	int64_t crashed_ms, crash_of_ms;
	int64_t again_ms;    /* 0: only when something changes */
	int64_t draining_ms; /* since when it is seen to; 0: it does not */
	bool is_bare;        /* has no task, and none is asked for */
	bool is_cared_for;   /* its news are for this crew, too; see interest.h */
	bool is_new;         /* matches, and nothing was decided for it yet */
	bool is_unsure; /* has an old task of which nobody knows yet whether it is checked, or warm */
	/* Its last start came to nothing, and no task has become healthy since: told as unhealthy, whether the next
	 * one waits or is being tried. */
	enum crew_trouble trouble;
	struct heap_item waiting;                   /* while it has an again_ms */
	struct crew_moment intended, refused_until; /* as its placement says */
	struct crew_share shares[CREW_SHARES_MAX];
	size_t share_count;
};

struct crew {
	struct interest *interest;
	struct span key;   /* of the environment; own memory */
	struct span group; /* of its tasks; own memory */
	struct fleet *fleet;
	struct map members; /* "PLACE/ID" */
	struct crew_member **by_index;
	size_t by_index_size;
	struct heap waiting; /* members, by when they must be looked at again */
	size_t new_count, unsure_count;
	size_t trouble_counts[CREW_TROUBLE_COUNT];
	/* What it was made for. */
	char target[ID_UUID_SIZE];
	int64_t progress_ms; /* when its deployment's was written last; steady time */
	struct crew_moment began, canary_began; /* its deployment, and the canary of that */
	int64_t canary_written_ms; /* since when that is well, as we wrote it down; 0: another one did */
	bool is_looked_at;         /* everything, at least once since the target changed */
	bool is_blind; /* what was known of the target's place was too old when it was last looked at */
	int64_t waits_ms; /* since when too little is known of its instances to decide anything (steady); 0: enough is */
	/* Places that it only has to leave and that are not known now, or not well enough to act upon, joined by spaces (own
	 * memory; NULL: none): instances there cannot be reached. */
	char *dim;
	struct map gone; /* keys of placements whose instance is gone: to be deleted */
	char *places;    /* own memory; NULL: not looked at yet */
	/* Of the claim under which it may act, and by place the marks of when it was taken: what the manager before
	 * did is not known before they are reached. */
	uint64_t epoch;
	struct map marks;
	/* Of types without a fleet, elsewhere: what was asked for is not known before this mark; and what the load
	 * balancer of a version is, completed. */
	uint64_t asked_mark;
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
	} definitions[CREW_DEFINITIONS_MAX];
};

static inline size_t crew_troubled(const struct crew *crew)
{
	return crew->trouble_counts[CREW_TROUBLE_MISSING] +
	       crew->trouble_counts[CREW_TROUBLE_LAUNCHING];
}

struct crew *crew_new(struct span key, struct interest *interest);
void crew_free(struct crew *crew);

/* Something about this instance is new; "": about all. */
void crew_instance_changed(struct crew *crew, struct span place, struct span id);
void crew_count(struct crew *crew, struct environment_counts *ret_counts);
size_t crew_list_running(struct crew *crew, struct arena *arena,
	struct environment_running **ret_running);

/* What it looks at. */
struct crew_sight {
	const struct store_view *view;
	struct state_service *state;
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
int64_t crew_moment(struct crew_moment *moment, const struct crew_sight *sight, int64_t written_ms,
	int64_t most_ahead_ms);

/* Takes in what changed. Returns when it must look again because of time (steady); 0: never. -EAGAIN: the place of the
 * target is not known completely yet. */
int crew_look(struct crew *crew, const struct crew_sight *sight, int64_t *ret_again_ms,
	struct err *err);
/* The claim is of this epoch now. Whoever takes it over knows up to when he has to look. */
void crew_claimed(struct crew *crew, const struct crew_sight *sight, uint64_t epoch);
/* Everything that was done before the claim was taken is known; ask before crew_look(). Of a place elsewhere that only
 * has to be left crew_is_caught_up_at() says it. */
bool crew_is_caught_up(struct crew *crew, const struct crew_sight *sight);
bool crew_is_caught_up_at(const struct crew *crew, struct span place);
/* It is, and what is known of the place is complete and not too old to act upon; of this server it never is. */
bool crew_knows(const struct crew *crew, const struct crew_sight *sight, struct span place);
/* What it saw is all that this server's store knows of the target's place now; of a place elsewhere nobody can say. Who was
 * asleep sees for a moment what was before. */
bool crew_is_current(struct crew *crew, const struct crew_sight *sight);
/* Something was asked for; it counts as under way until the state service must have seen it. task: to be
 * stopped, or that was started, if that was told. */
void crew_asked(struct crew *crew, const struct crew_sight *sight, struct crew_member *member,
	enum environment_intent intent, enum fleet_version version, struct span task);
/* One of them again, after something was asked for or refused. */
void crew_look_at(struct crew *crew, const struct crew_sight *sight, struct crew_member *member);
struct crew_member *crew_member_at(const struct crew *crew, uint32_t index);
/* The placement of a member, or NULL. */
const struct store_object *crew_placement(const struct crew *crew, const struct crew_sight *sight,
	const struct crew_member *member);
/* The task of this member that an action means; NULL: it is gone. */
const struct state_task *crew_find_task(const struct crew *crew, const struct crew_sight *sight,
	const struct crew_member *member, enum fleet_version version, enum rollout_class class,
	struct arena *arena);
/* crew_crash.c: the last start of a member led to a task that has stopped and did not run for long. */
bool crew_has_crashed(const struct crew *crew, const struct crew_sight *sight,
	struct crew_member *member, const struct environment_placement_facts *placement);
/* The last task was stopped because it was ill and never well for long, which is as good as a crash: the stop says how
 * many starts have failed in a row. */
static inline bool crew_was_ill(const struct environment_placement_facts *placement)
{
	return placement->intent == ENVIRONMENT_INTENT_stop && placement->until_ms == 0 &&
	       placement->failures > 0;
}
/* Until when the next start has to wait for either; 0: it has not to. */
int64_t crew_crash_backoff_ms(const struct crew *crew, const struct crew_sight *sight,
	struct crew_member *member, const struct environment_placement_facts *placement);
/* How many starts of its version have failed in a row, the last one included. */
int64_t crew_failures(const struct crew *crew, const struct crew_sight *sight,
	struct crew_member *member);

#endif
