/*
 * The inside of the checker, shared by its files:
 *     daemon_checker.c               following stores; environments, their instances and tasks
 *     daemon_checker_deployments.c   their versions, and what becomes of deployments
 *     daemon_checker_acts.c          what may be started, stopped and decided
 *     daemon_actual.c                the tasks that run
 */
#ifndef SIM_DAEMON_DAEMON_CHECKER_INTERNAL_H
#define SIM_DAEMON_DAEMON_CHECKER_INTERNAL_H

#include "sim/daemon/daemon_checker.h"

#define CHECKER_STORES_MAX 2
#define CHECKER_COPY(to, span) snprintf((to), sizeof(to), "%.*s", SPAN_ARGS(span))

struct daemon_checker {
	struct daemon_checker_config config;
	struct actual actual;
	struct store *stores[CHECKER_STORES_MAX];
	struct store_feed *feeds[CHECKER_STORES_MAX];
	size_t store_count;
	uint64_t counts[DAEMON_PROPERTY_COUNT];
	uint64_t actions;
	struct map starts;  /* struct starts by instance, environment and definition */
	size_t starts_kept; /* so many are there before the old ones are dropped */
	struct actual_environment *touched; /* in the commit that is being looked at */
	int64_t paused_us, paused_till_us;  /* by the latest pause, or several that overlap */
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

/* A deciding server may not know changes of the world since this moment. */
int64_t checker_since_us(const struct daemon_checker *checker);
/* The same for reported state, which is delayed less than decisions: a remote replica is valid until several
 * listings, which may be slow, have failed. */
int64_t checker_reported_us(const struct daemon_checker *checker);
/* A call that was under way while every server was down may have its effect now, on this instance. */
bool checker_is_late(const struct daemon_checker *checker,
	const struct actual_environment *environment, const struct actual_instance *instance);

/* Its deployments are looked at when the commit is complete. */
void checker_touch(struct daemon_checker *checker, struct actual_environment *environment);
/* NULL: there is none. */
const struct actual_version *checker_version(struct daemon_checker *checker,
	const struct actual_environment *environment, const char *id);

/* ---- daemon_checker_deployments.c ---- */

void checker_take_version(struct daemon_checker *checker, struct span key,
	const struct store_object *after);
void checker_take_deployment(struct daemon_checker *checker, struct span key,
	const struct store_object *after);
/* At the end of a commit that concerned it. */
void checker_check_deployments(struct daemon_checker *checker,
	struct actual_environment *environment);

/* ---- daemon_checker_acts.c ---- */

/* The task is new, and not on its instance yet. */
void checker_started(struct daemon_checker *checker, struct actual_task *task);
/* It was desired until now, and StopTask was called, with this reason. */
void checker_stopped(struct daemon_checker *checker, const struct actual_task *task,
	struct span reason);
/* A placement was written; *before is what it was. */
void checker_decided(struct daemon_checker *checker, struct actual_placement *placement,
	const struct actual_placement *before, const struct actual_instance *instance);
/* It was deleted. */
void checker_forgot(struct daemon_checker *checker, const struct actual_placement *placement,
	const struct actual_instance *instance);
/* A user's deployment was completed. */
void checker_completed(struct daemon_checker *checker, const struct actual_environment *environment,
	const struct actual_deployment *deployment);

#endif
