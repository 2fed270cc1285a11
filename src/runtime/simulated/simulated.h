/*
 * The simulated runtime: instances and tasks that exist as numbers only and behave as their spec says.
 * For trying things out, for load (100,000 tasks are cheap), and for simulations with faults.
 *
 * The world holds everything outside of a server: instances, and tasks that keep running when a
 * server closes its runtime or crashes. It has one thread, on a group of the given runner, that
 * runs all timers. It works on both kinds of runner.
 *
 * A task's behaviour is read from its first container, from the environment or from NAME=value items of the
 * command (which win). Times are milliseconds, "20" or drawn from "10-50"; "never" where that makes sense:
 *
 *     SIMULATED_START_MS            from start to RUNNING
 *     SIMULATED_FAIL_START          does not come to RUNNING but stops with this reason
 *     SIMULATED_RUN_MS              exits by itself so long after RUNNING, or never
 *     SIMULATED_EXIT_CODE           with this code, 0..255
 *     SIMULATED_HEALTH_MS           containers with a health check are healthy so long after RUNNING, or never
 *     SIMULATED_UNHEALTHY_AFTER_MS  and unhealthy so long after RUNNING, or never
 *     SIMULATED_STOP_MS             from stop to STOPPED, or never; killed at the stop timeout
 *     SIMULATED_PLACE_MS            where the world chooses the instance: after so long
 *
 * A stopped program exits with 143, a killed one with 137. All containers of a task start and end
 * together; dependsOn and restart policies are ignored.
 *
 * Groups. With `groups` in its config the world simulates a driver that keeps replicas itself, like
 * Kubernetes: see the head of runtime/runtime.h for ecs/'s view of it, and replicas.c and daemon.c
 * for its rollouts. It then also chooses instances, holds programs for spec.holdSeconds, and calls
 * about a group may get lost, late and repeated like any other: a late apply undoes a newer one,
 * and recreates a removed group.
 *
 * Actual state. The world reports every program that starts and ends to an observer, keeps counts,
 * and reports broken rules: a token that is started again after it was acknowledged, or on two
 * instances.
 */
#ifndef RUNTIME_SIMULATED_SIMULATED_H
#define RUNTIME_SIMULATED_SIMULATED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "control/runner.h"
#include "runtime/runtime.h"

#define SIMULATED_INSTANCES_MAX 100000
#define SIMULATED_RUNTIMES_MAX 16
#define SIMULATED_TIME_MAX_MS ((int64_t)7 * 24 * 3600 * 1000)
#define SIMULATED_NEVER (-1)

struct simulated_world;

/* A time between two, both included; SIMULATED_NEVER in both. */
struct simulated_time {
	int64_t least_ms, most_ms;
};

/* The behaviour of a task whose spec has no settings. All zero is a good default but for the times
 * that are mostly never: see simulated_behaviour_default. */
struct simulated_behaviour {
	struct simulated_time start, run, health, unhealthy, stop, place;
	int exit_code;
};

/* Runs at once and for ever, healthy at once, stops at once. */
extern const struct simulated_behaviour simulated_behaviour_default;

/* Random faults, drawn from the runner's random numbers. One in so many; 0: never. */
struct simulated_faults {
	unsigned call_fails_one_in;    /* start, stop, acknowledge: error, and nothing was done */
	unsigned answer_lost_one_in;   /* done, but an error is returned */
	unsigned call_late_one_in;     /* -ETIMEDOUT, and done later */
	unsigned call_repeated_one_in; /* done again later: tokens must make that harmless */
	unsigned read_fails_one_in;    /* list and get */
	unsigned
		notice_lost_one_in; /* then, within notice_resync_us, "anything may have changed" */
	unsigned notice_repeated_one_in;
	unsigned slow_start_one_in;
	int64_t call_most_us; /* a call takes up to this long; crashes fall into it */
	int64_t late_most_us; /* how much later */
	int64_t slow_start_most_us;
	int64_t notice_resync_us;       /* 0: a lost notice stays lost */
	int64_t task_dies_every_us;     /* on average some running task exits with 137; 0: never */
	int64_t instance_dies_every_us; /* on average, with all its tasks; 0: never */
	int64_t instance_returns_within_us;
	int64_t group_deleted_every_us; /* on average, by another client; 0: never */
};

/* Some of everything, a few times a minute: for simulations. */
extern const struct simulated_faults simulated_faults_rough;

/* A program: a task whose containers run. Spans are good during the call. */
struct simulated_program {
	struct span token;
	struct span instance;
	struct span family;
	int64_t revision;
	struct span service; /* member "service" of the spec, else ""; not known to all callers */
	struct span cluster;
	struct span group, version; /* "" for a task of its own */
};

struct simulated_observer {
	/* Called with the world's lock held: must not call the world, nor wait. Any may be NULL. */
	void (*started)(void *context, const struct simulated_program *program);
	void (*ended)(void *context, const struct simulated_program *program,
		enum runtime_stop stop);
	void (*broken)(void *context, const char *rule);
	void *context;
};

struct simulated_config {
	unsigned instances;  /* to begin with; 0 is 1 */
	int64_t cpu, memory; /* of each, in units and MiB; 0: 64 processors, 256 GiB */
	const struct simulated_behaviour *behaviour; /* NULL: simulated_behaviour_default */
	const struct simulated_faults *faults;       /* NULL: none */
	struct simulated_observer observer;
	/* Keeps every token that was ever acknowledged, to find one that is started again. */
	bool remember_tokens;
	bool groups; /* keeps replicas itself; all below is for this */
	/* The time from a change of a group to the pass over its replicas. */
	struct simulated_time group_check;
	/* A group without progress for this long reports that it failed; 0: 600 s. */
	int64_t group_deadline_ms;
};

struct simulated_counts {
	uint64_t starts, ends; /* of programs */
	uint64_t failed_calls, lost_answers, late_calls, repeated_calls, failed_reads;
	uint64_t lost_notices, repeated_notices, slow_starts;
	uint64_t task_deaths, instance_deaths, group_deletions;
	size_t groups;   /* there now */
	size_t tasks;    /* known now */
	size_t programs; /* running now */
};

/* Config is copied. */
int simulated_world_new(struct runner *runner, const struct simulated_config *config,
	struct simulated_world **ret_world, struct err *err);
/* Ends its thread. Every runtime of it must be closed. NULL is fine. */
void simulated_world_free(struct simulated_world *world);

struct runtime_simulated_config {
	struct runner *runner;               /* of the server: calls wait on it */
	runtime_changed changed;             /* called on the world's thread; may be NULL */
	runtime_group_changed group_changed; /* likewise */
	void *context;                       /* of both */
};

/* Several can be open at once. Closing waits until a running `changed` has returned. */
int runtime_simulated_open(struct simulated_world *world,
	const struct runtime_simulated_config *config, struct runtime **ret_runtime,
	struct err *err);

/* ---- changes by tests and simulations ---- */

/* No more faults; dead instances come back; late calls still arrive. */
void simulated_world_calm_down(struct simulated_world *world);
/* All later faults. */
void simulated_world_set_faults(struct simulated_world *world,
	const struct simulated_faults *faults);
/* One more, or the one of this name again; its id is "simulated" for the first, then "simulated-2" … */
int simulated_world_add_instance(struct simulated_world *world, struct err *err);
/* It is not listed any more, its tasks are lost. -ENOENT. */
int simulated_world_kill_instance(struct simulated_world *world, struct span instance,
	struct err *err);
/* Back, empty. */
int simulated_world_revive_instance(struct simulated_world *world, struct span instance,
	struct err *err);
/* The first container of a running task exits. -ENOENT: no such program. */
int simulated_world_end_task(struct simulated_world *world, struct span token, int exit_code,
	struct err *err);
/* From now on its containers with a health check are healthy or not. */
int simulated_world_set_health(struct simulated_world *world, struct span token, bool healthy,
	struct err *err);

/* A deletion by another client: the group is gone at once and its tasks end. -ENOENT. */
int simulated_world_delete_group(struct simulated_world *world, struct span id, struct err *err);
/* An object that is not slipway's takes the name of this group, or frees it. */
void simulated_world_occupy_group(struct simulated_world *world, struct span id, bool occupied);

/* ---- actual state ---- */

/* How many tasks of a group are ready at least, and how many there are at most, while it is rolled to another
 * version: Kubernetes' maxUnavailable and maxSurge. Where the percentages leave room for neither, one more than
 * desired is allowed. Tasks whose end was announced count in neither. */
void simulated_group_bounds(int64_t desired, int64_t minimum_healthy, int64_t maximum,
	int64_t *ret_least_ready, int64_t *ret_most);

void simulated_world_counts(struct simulated_world *world, struct simulated_counts *ret_counts);
/* Each program that runs now, in the order of their starts; lock held, as in the observer. */
void simulated_world_each_program(struct simulated_world *world,
	void (*each)(void *context, const struct simulated_program *program), void *context);

#endif
