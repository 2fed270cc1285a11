/*
 * The stages of ECS, as decisions: from a snapshot to the next calls, or to the reason for waiting. A decision is made anew
 * from each snapshot and never depends on calls that were sent, so a stage continues after a crash at any point.
 *
 * Two tables keep the stages short. The variant: task sets, or a second service. The routers: target groups of load
 * balancers, and names. Each stage is written once and holds for all of them.
 *
 * Invariants: no set gets traffic while it has no healthy task; tasks are stopped only when no client can have
 * their addresses any more; sets of other owners are never touched.
 */
#ifndef PIPELINE_DECIDE_H
#define PIPELINE_DECIDE_H

#include "pipeline/application.h"
#include "pipeline/bug.h"
#include "pipeline/snapshot.h"

enum call_kind {
	CALL_CREATE_SET,          /* role, percent: scale */
	CALL_SCALE_SET,           /* role, target: ARN, percent: scale */
	CALL_MAKE_PRIMARY,        /* role, target: ARN */
	CALL_DELETE_SET,          /* role, target: ARN */
	CALL_SET_DESIRED_COUNT,   /* count */
	CALL_REGISTER_INSTANCE,   /* role, target: task ID */
	CALL_DEREGISTER_INSTANCE, /* role, target: task ID */
	CALL_REGISTER_TARGET,     /* role, target: task ID */
	CALL_DEREGISTER_TARGET,   /* role, target: task ID */
	CALL_SET_WEIGHTS,         /* percent: of the canary */
};

struct next_call {
	enum call_kind kind;
	enum set_role role;
	struct span target;
	int64_t number; /* percent or count */
};

/* Task sets, or a second service: see the table in decide.c. */
enum delivery_variant {
	DELIVERY_TASK_SETS,
	DELIVERY_SERVICES,
};

/* A deployment, beside the snapshot of its service. */
struct delivery {
	enum delivery_variant variant;
	unsigned access;        /* of enum access_type */
	int64_t record_ttl_ms;  /* of names, with a margin */
	int64_t canary_percent; /* of the last ECS_TRAFFIC_ROUTING stage that began; 0: none */
	bool is_first;          /* there was no primary */
	bool keeps_old;         /* the old primary stays for a rollback, without traffic */
	bool recreate;          /* ECS_SYNC stops the old tasks first */
	int64_t desired_count;  /* to restore after that */
	enum pipeline_bug bug;  /* a deliberate one, of simulations */
};

enum decision_kind {
	DECISION_CALL, /* all of calls, in any order */
	DECISION_WAIT, /* for a change, or until wake_ms */
	DECISION_DONE,
	DECISION_FAIL,
};

struct decision {
	enum decision_kind kind;
	struct field_list calls; /* struct next_call */
	int64_t wake_ms;         /* 0: no deadline */
	struct span reason;      /* of waiting and failing */
};

/* The next decision of a stage of ECS, or of ROLLBACK. options: of the stage; NULL for ROLLBACK and quick sync. */
void decide_stage(const struct delivery *delivery, enum stage_kind kind,
	const struct stage_options *options, const struct snapshot *snapshot, struct arena *arena,
	struct decision *ret_decision);

/* While other stages wait: keeps the share of the last routing when tasks are replaced. DECISION_DONE: nothing to do. */
void decide_hold(const struct delivery *delivery, const struct snapshot *snapshot,
	struct arena *arena, struct decision *ret_decision);

/* After a deployment that keeps the old primary: it gets no traffic, also when its tasks are replaced; and when it is kept no
 * longer, it is deleted. */
void decide_keep(const struct delivery *delivery, bool is_over, const struct snapshot *snapshot,
	struct arena *arena, struct decision *ret_decision);

#endif
