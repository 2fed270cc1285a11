/*
 * The actual state, for the checker of the daemon simulation: environments, versions, deployments, placements
 * and claims as the store of the servers has them, instances and tasks as the ECS that runs them has them. Filled
 * from the change feeds of those stores at the moment of each commit, so that it has a time for everything, and
 * nothing of what the servers believe is in it.
 *
 * There may be many environments: what one of them has on an instance is found without looking at the others.
 */
#ifndef SIM_DAEMON_DAEMON_ACTUAL_H
#define SIM_DAEMON_DAEMON_ACTUAL_H

#include "base/heap.h"
#include "base/map.h"
#include "ecs/record/task.h"
#include "environment/model/kinds.h"

#define ACTUAL_ENVIRONMENTS_MAX 10000
#define ACTUAL_TEXT_MAX 160
#define ACTUAL_SERVER_MAX 32

/* The first environment that had a version of a task definition in a cluster, and its present one. */
struct actual_wanted {
	const struct actual_environment *first;
	bool by_several;
};

struct actual_version {
	char cluster_ref[ACTUAL_TEXT_MAX], definition[ACTUAL_TEXT_MAX], attributes[ACTUAL_TEXT_MAX];
	bool minimum_requested, surge;
	unsigned minimum_healthy, maximum_over, canary_instances;
	bool rolls_back; /* when it fails */
	int64_t warm_up_ms, canary_bake_ms, timeout_ms;
	uint64_t hash; /* of its text */
};

struct actual_deployment {
	enum environment_deployment_status status;
	enum environment_deployment_type type;
	char version[ID_UUID_SIZE];
	bool exists;
	bool rollback;                /* waits for no canary */
	bool proved;                  /* its canary has */
	int64_t created_us, began_us; /* began: 0 before */
	int64_t moved_us;             /* when its status changed last */
	int64_t done, total;          /* instances, as it says itself */
	int64_t reported_us;          /* its reports include every change up to then */
};

struct actual_environment {
	unsigned index;
	char key[ACTUAL_TEXT_MAX];
	const char *name; /* in the key */
	bool exists;
	enum environment_type
		type; /* properties of instances and their tasks hold for Daemon only */
	enum environment_status status;
	bool terminate;
	char target[ID_UUID_SIZE], latest[ID_UUID_SIZE];
	char in_progress[ID_UUID_SIZE], pending[ID_UUID_SIZE], completed[ID_UUID_SIZE];
	const struct actual_deployment *failed; /* in the commit that is being looked at; NULL */
	bool has_failed;    /* a user's timed out or was stopped, and none was completed since */
	int64_t members_us; /* when an instance became its, or was no more */
	/* Since when something should have become of its deployments, and how many commits had failed until then; for
	 * the check of owners. */
	int64_t overdue_us;
	unsigned overdue_failed;
	int64_t claimed_us;             /* when its claim moved last */
	char holder[ACTUAL_SERVER_MAX]; /* the server that took it then: "anna.2"; "": none */
	int64_t released_us; /* when a user's deployment was last no longer in progress */
	char runs[2 *
		  ACTUAL_TEXT_MAX]; /* "PLACE DEFINITION" of its target while it is active; "" */
	int64_t version_count;
	const struct actual_version *rules; /* of the target; NULL */
	int64_t rules_us;                   /* when they, or what they are for, changed last */
	int64_t active_us;      /* when it was last allowed to do something; -1: never */
	struct map deployments; /* struct actual_deployment by id, those that are gone too */
	int64_t created_us;     /* since when new ones are counted */
	unsigned created;
	bool touched; /* in the commit that is being looked at */
	struct actual_environment *next_touched;
};

struct actual_placement {
	bool exists, used; /* used: a task was started, or stopped, for this intent */
	struct actual_environment *environment;
	uint64_t
		revision; /* of what is written down; another one than before when that is decided anew */
	int64_t since_us; /* when its writes began to be counted */
	unsigned writes;
	struct environment_placement_facts facts; /* spans are not valid */
	char version[ID_UUID_SIZE], deployment[ID_UUID_SIZE], task[ACTUAL_TEXT_MAX];
};

/* The future of a task, for the simulated machines: moments, 0 for never. */
struct actual_life {
	struct heap_item item; /* in the agenda */
	bool planned;
	int64_t runs_us, healthy_us, unhealthy_us, dies_us, stops_us;
};

struct actual_task {
	uint64_t number; /* in the order in which they were first seen */
	char key[ACTUAL_TEXT_MAX], arn[ACTUAL_TEXT_MAX];
	struct actual_instance *instance;
	struct actual_environment *environment; /* NULL: foreign */
	char definition[ACTUAL_TEXT_MAX], started_by[64];
	bool wanted, checked, stopped_by_us;
	enum task_status last;
	enum task_health health;
	int64_t started_us;
	struct actual_life life;
	/* Lists; STOPPED ones are not in them. */
	struct actual_task *next;                  /* of the environment on the instance */
	struct actual_task *beside, **beside_link; /* on the instance, and what points to it */
};

/* One instance as one environment sees it. */
struct actual_membership {
	bool in;          /* active, connected, matches */
	unsigned healthy; /* tasks */
	int64_t entered_us, left_us;
	/* When it had several healthy ones and lost one that was no stop of ours; -1: never. */
	int64_t spare_us;
	/* When it had one and lost it, not by a stop of ours; -1: never. A stop of ours that takes the last one takes
	 * it because the spare one was lost: that moment counts. */
	int64_t lost_us;
	struct actual_task *tasks;
	/* A call that the caller gave up has, or may have, its effect here until then. */
	int64_t late_till_us;
	/* Since when it has a healthy task of these rules' definition; 0: it has none. And how long it had one. */
	const struct actual_version *rules;
	int64_t healthy_us, longest_us;
};

struct actual_instance {
	char key[ACTUAL_TEXT_MAX], cluster_ref[ACTUAL_TEXT_MAX];
	const char *id; /* in the key */
	bool exists, connected, draining;
	char attributes[2 * ACTUAL_TEXT_MAX];
	int64_t gone_us, changed_us; /* changed: its connection, status or attributes */
	struct actual_task *tasks;   /* foreign ones, too */
	struct actual_membership
		*members; /* by index of the environment; more are made as needed */
	unsigned member_count;
};

/* An instance that has a task too many, because a call came late. */
#define ACTUAL_EXCESSES_MAX 64
struct actual_excess {
	struct actual_environment *environment;
	struct actual_instance *instance;
	int64_t since_us;
};

struct actual {
	struct actual_excess excesses[ACTUAL_EXCESSES_MAX];
	size_t excess_count;
	/* Clusters of this account are remote, behind this target; NULL: none is. */
	const char *remote_account, *remote_target;
	struct actual_environment **environments;
	unsigned environment_count;
	struct map environments_by_key;
	struct map running; /* by "PLACE DEFINITION", the active environment whose target that is */
	struct map wanted;  /* by the same, the environments that ever had a version of it */
	struct map versions;   /* by key */
	struct map placements; /* by key */
	struct map instances;  /* by key; those that are gone too */
	struct map tasks;      /* by key; STOPPED ones are dropped */
	struct map claims;     /* revision by key, as a pointer */
	/* Tasks whose machines have something to do, by when; at 0 those that changed. */
	struct heap agenda;
	uint64_t task_count; /* that there ever were */
};

void actual_clear(struct actual *actual);

/* The one of this key, made when it is not there yet. */
struct actual_environment *actual_environment(struct actual *actual, struct span key);
/* The environment that a task of this cluster and group belongs to; NULL. */
struct actual_environment *actual_owner(struct actual *actual, struct span cluster_key,
	struct span group);
struct actual_instance *actual_instance(struct actual *actual, struct span key);
/* Never NULL; valid until the next update. */
const struct actual_membership *actual_member(const struct actual_environment *environment,
	const struct actual_instance *instance);

void actual_add_task(struct actual *actual, struct actual_task *task);
void actual_drop_task(struct actual *actual, struct actual_task *task); /* and frees it */

/* Wanted, and not on its way out. */
bool actual_stays(const struct actual_task *task);
bool actual_is_healthy(const struct actual_task *task, const struct actual_version *rules,
	int64_t now_us);
bool actual_matches(const struct actual_version *version, const struct actual_instance *instance);
/* Active, connected, matching, for the target version. */
bool actual_is_member(const struct actual_environment *environment,
	const struct actual_instance *instance);
/* Tasks of the environment that stay, on the instance; with `all`, also those on their way out. */
unsigned actual_count_tasks(const struct actual_environment *environment,
	const struct actual_instance *instance, bool all);
unsigned actual_count_healthy(const struct actual_environment *environment,
	const struct actual_instance *instance, int64_t now_us);
/* How many of so many instances the rules require. */
unsigned actual_required(const struct actual_version *rules, unsigned count);

/* A call that comes late may concern the environment on this instance until then. */
void actual_expect_late(const struct actual_environment *environment,
	struct actual_instance *instance, int64_t till_us);
void actual_add_excess(struct actual *actual, struct actual_environment *environment,
	struct actual_instance *instance, int64_t now_us);

/* Whether it has, or had, a healthy task of the target's definition for so long. */
bool actual_was_healthy(const struct actual_environment *environment,
	const struct actual_instance *instance, int64_t duration_us, int64_t now_us);

/* Brings the membership of an instance up to date; `by_us`: what changed was our own stop. */
void actual_update_member(struct actual_environment *environment, struct actual_instance *instance,
	int64_t now_us, bool by_us);
/* In all environments. */
void actual_update_members(struct actual *actual, struct actual_instance *instance, int64_t now_us,
	bool by_us);

#endif
