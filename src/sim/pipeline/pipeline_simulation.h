/*
 * Deployments of an application where everything fails, from one seed. Servers with the real engine deliver by canary and
 * blue/green, with task sets and with a second service, by names and behind target groups. The ECS that they call is
 * remote: slipway's own ECS, Cloud Map and Elastic Load Balancing, with the real controllers, on a simulated runtime.
 * Calls are throttled, fail, get lost before and after they took effect, and answer in part; operations of Cloud Map are
 * PENDING for a while, or FAIL. Servers crash at calls and at commits, tasks die, new versions do not work, and users
 * cancel.
 *
 * Every call that changes something is recorded. pipeline_checker.h recomputes the invariants from these calls and from
 * the remote ECS itself.
 */
#ifndef SIM_PIPELINE_PIPELINE_SIMULATION_H
#define SIM_PIPELINE_PIPELINE_SIMULATION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "pipeline/bug.h"

extern const char *const pipeline_bug_names[PIPELINE_BUG_COUNT];
extern const char *const pipeline_bug_meanings[PIPELINE_BUG_COUNT];

struct pipeline_simulation {
	enum pipeline_bug bug;
	FILE *trace; /* NULL: none */
	bool trace_steps;
};

struct pipeline_simulation_result {
	uint64_t hash; /* same seed, same program: same hash */
	uint64_t steps;
	int64_t virtual_us;
	unsigned calls; /* that change something and took effect */
	unsigned crashes, throttled, failed, lost, unanswered, late, pending, failed_operations,
		partial;
	unsigned task_deaths;
	unsigned succeeded, rolled_back, cancelled; /* deployments */
};

/* 0, or -EBADMSG with the first broken property, or another code when the simulation itself could not run. The result is
 * filled in both of the first two cases; it may be NULL. */
int pipeline_simulation_run(uint64_t seed, const struct pipeline_simulation *simulation,
	struct pipeline_simulation_result *ret_result, struct err *err);

/* The kind of delivery, and how it ends. */
struct pipeline_course {
	bool is_canary;    /* else blue/green */
	bool has_services; /* a second service; else task sets */
	bool has_names;    /* clients use a name; else a load balancer */
	unsigned
		fails_at; /* the stage (from 1) after which an approval times out; 0: it succeeds */
	bool keeps_old;   /* for a while after it has succeeded; only task sets can be kept */
	bool is_undone;   /* a user rolls it back after it has succeeded */
};

/* One deployment without chance, for tests of scenarios. */
struct pipeline_scenario {
	struct pipeline_course course;
	int64_t desired, scale, percent;
	/* "{'name':'ECS_SYNC',…},…" instead of the five usual stages; "" is quick sync. NULL: the usual ones. */
	const char *stages;
	bool is_canary_registered_by_ecs, has_preview;
	bool is_broken; /* the new version never becomes healthy */
	bool is_first;  /* there was no service before */
	/* When the canary has all of the traffic, the targets of the primary group are unhealthy for so long; 0: never. */
	unsigned sick_for_ms;
	bool allows_interruption; /* clients may reach nothing for a while */
	/* Calls of this operation are refused so many times after the deployment has begun to roll back; NULL: none. */
	const char *refused;
	unsigned refused_times;
	bool retries_rollback;
	unsigned cancels_after_ms; /* 0: never */
	bool rolls_back;           /* when it is cancelled */
	bool deploys_again;        /* after that, with the usual stages */
	/* The desired count is changed by another client after so long; 0: it is not. */
	unsigned scales_after_ms;
	int64_t scaled;
};

struct pipeline_scenario_result {
	char state[16], reason[512];
	/* "RegisterTaskDefinition, CreateTaskSet c, RegisterInstance c, …": of the canary (c), the old (t) and the new (p)
	 * primary. */
	char *calls;
	/* "t2; t2c1; …": the registered tasks at every moment, or the weights "100/0; …" of the first rule. */
	char *moments;
	char *end;
	unsigned most_previewed; /* instances of the name for previews, at one moment */
};

/* -EBADMSG: an invariant is broken. Free the result. */
int pipeline_simulation_play(const struct pipeline_scenario *scenario,
	struct pipeline_scenario_result *ret_result, struct err *err);
void pipeline_scenario_result_free(struct pipeline_scenario_result *result);

struct pipeline_kill {
	struct pipeline_course course;
	unsigned call; /* from 1: at which call the server is killed; 0: never */
	bool after;    /* it took effect, and the answer is lost; else it was not sent */
	enum pipeline_bug bug;
	FILE *trace;
};

/*
 * One deployment in which the server is killed at one call that changes something; no other faults. *ret_calls is how many
 * there were: when that is fewer than kill->call, nothing was killed. *ret_end describes the end, the same for every call;
 * free it.
 */
int pipeline_simulation_crash(const struct pipeline_kill *kill, unsigned *ret_calls, char **ret_end,
	struct err *err);

#endif
