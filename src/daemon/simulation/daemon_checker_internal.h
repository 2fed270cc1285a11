/*
 * The inside of the checker, shared by its files:
 *     daemon_checker.c        following stores, and what becomes of environments and their deployments
 *     daemon_checker_acts.c   what may be started, stopped and decided
 *     daemon_truth.c          what is there
 */
#ifndef DAEMON_SIMULATION_DAEMON_CHECKER_INTERNAL_H
#define DAEMON_SIMULATION_DAEMON_CHECKER_INTERNAL_H

#include "daemon/simulation/daemon_checker.h"

#define CHECKER_STORES_MAX 2

struct daemon_checker {
	struct daemon_checker_config config;
	struct truth truth;
	struct store *stores[CHECKER_STORES_MAX];
	struct store_feed *feeds[CHECKER_STORES_MAX];
	size_t store_count;
	uint64_t counts[DAEMON_PROPERTY_COUNT];
	uint64_t actions;
	struct map starts;  /* struct starts by instance, environment and definition */
	size_t starts_kept; /* so many are there before the old ones are dropped */
	struct truth_environment *touched; /* in the commit that is being looked at */
	int64_t paused_us, paused_till_us; /* by the latest pause, or several that overlap */
	int64_t late_till_us;
	void (*changed)(void *context);
	void *changed_context;
};

static inline int64_t checker_now_us(const struct daemon_checker *checker)
{
	return runner_now_us(checker->config.runner);
}

/* Of warm-up: clocks differ by less than that. */
static inline int64_t checker_warm_us(const struct daemon_checker *checker)
{
	return checker_now_us(checker) + checker->config.patience_us;
}

/* What happened to the world since this moment may not be known to those who decide. */
int64_t checker_since_us(const struct daemon_checker *checker);
/* A call that was under way when nobody was looking may have its effect now. */
bool checker_is_late(const struct daemon_checker *checker);

/* ---- daemon_checker_acts.c ---- */

/* The task is new, and not on its instance yet. */
void checker_started(struct daemon_checker *checker, const struct truth_task *task);
/* It was wanted until now, and somebody said: StopTask, for this reason. */
void checker_stopped(struct daemon_checker *checker, const struct truth_task *task,
	struct span reason);
/* A placement was written; *before is what it was. */
void checker_decided(struct daemon_checker *checker, struct truth_placement *placement,
	const struct truth_placement *before, const struct truth_instance *instance);
/* It was deleted. */
void checker_forgot(struct daemon_checker *checker, const struct truth_placement *placement,
	const struct truth_instance *instance);
/* A user's deployment was completed. */
void checker_completed(struct daemon_checker *checker, const struct truth_environment *environment,
	const struct truth_deployment *deployment);

#endif
