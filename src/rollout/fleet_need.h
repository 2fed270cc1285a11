/*
 * The need of one instance of a fleet, computed alone: its place in the fleet's lists. It depends
 * only on the rules and the instance; fleet.c decides whether the need may be met now.
 */
#ifndef ROLLOUT_FLEET_NEED_H
#define ROLLOUT_FLEET_NEED_H

#include "rollout/fleet.h"

/* Below FLEET_CAUSE_COUNT: nothing can be done here, for that cause (or need not, FLEET_NO_CAUSE). The
 * others in the order in which they are met. */
enum fleet_need {
	FLEET_NEED_REMOVE = FLEET_CAUSE_COUNT, /* a task that should not be is to be stopped */
	FLEET_NEED_START,                      /* it is empty: a task of the target version */
	FLEET_NEED_REPAIR,                     /* its task is of no use: stop it, another follows */
	FLEET_NEED_RESTART,    /* it is empty: a task of the old version, or of the target */
	FLEET_NEED_REPAIR_OLD, /* its old task is unhealthy: stop it, and hand over if possible */
	FLEET_NEED_HAND_DOWN,  /* it has no healthy task: hand it over */
	FLEET_NEED_GIVE_UP,    /* handed over: its older healthy task is to be stopped */
	FLEET_NEED_DOUBLE,     /* handed over: a second task beside its older healthy one */
	FLEET_NEED_SURGE,      /* hand over, with a second task beside its healthy one */
	FLEET_NEED_REPLACE,    /* hand over, and stop its healthy task */
	FLEET_NEED_COUNT
};

/* An instance at a glance. */
struct fleet_view {
	unsigned target, older; /* tasks not asked to stop: of the target version, of all others */
	bool healthy;           /* any task is */
	bool target_healthy;
	bool reached; /* one may act on it */
	bool wanted;  /* one of N */
	bool keeps;   /* draining, and its task is the last to go */
	bool handed;  /* belongs to the target version, or has nothing else */
};

struct fleet_view fleet_view(const struct fleet_rules *rules, const struct fleet_instance *now);

/* An enum fleet_need or an enum fleet_cause. */
unsigned fleet_need(const struct fleet_rules *rules, const struct fleet_instance *now);

/* The task that is worth least of those to be stopped. False when none is: the best one stays where one is
 * wanted, and where the target version starts beside an older one, both. */
bool fleet_excess(const struct fleet_rules *rules, const struct fleet_instance *now,
	const struct fleet_view *view, enum fleet_version *ret_version,
	enum rollout_class *ret_class);

/* Whether stopping the present task may allow the desired one to start. */
bool fleet_may_help(enum rollout_blocker blocker);

#endif
