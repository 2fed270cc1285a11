/*
 * Decides the next step of a task. Pure: the inputs are the containers' states (facts.h) and the
 * time, and it changes only the task's state, which holds slipway's decisions. After each step the
 * caller inspects and decides again, so that a crash between any two lines is only a pause.
 *
 * The state is on disk before a step that depends on it (`unsaved`), so that decisions last: a stop
 * stays a stop, a restart is counted once, and an ended container stays ended even if it is
 * removed. Until `begun`, nothing of the task has run and its containers are created; from then on
 * a missing container was removed by another client, and is never created again.
 */
#ifndef RUNTIME_DOCKER_STEP_H
#define RUNTIME_DOCKER_STEP_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "runtime/docker/facts.h"
#include "runtime/runtime.h"
#include "runtime/task/plan.h"

#define DOCKER_FACTS_MAX (RUNTIME_CONTAINERS_MAX + 1)

struct docker_state {
	struct arena *arena; /* of all below */
	const struct plan *plan;
	struct runtime_task *record; /* the value of runtime_get() */
	bool begun;
	int64_t signalled_ms[RUNTIME_CONTAINERS_MAX]; /* time of SIGTERM; 0: not sent */
	int64_t ended_ns
		[RUNTIME_CONTAINERS_MAX]; /* the end that was counted last: a run ends once */
	/* Not on disk: */
	char health_reasons[RUNTIME_CONTAINERS_MAX]
			   [DOCKER_HEALTH_MAX];   /* the record points to them */
	bool signal_lost[RUNTIME_CONTAINERS_MAX]; /* Docker may not have received SIGTERM */
	int64_t killed_ms[RUNTIME_CONTAINERS_MAX];
	bool unsaved; /* must be on disk before the next step */
	bool changed; /* must be reported */
};

enum docker_action {
	DOCKER_WAIT,    /* until at_ms, or for a change */
	DOCKER_PREPARE, /* images, network, volumes, containers; then begun */
	DOCKER_START,
	DOCKER_SIGNAL, /* SIGTERM, or what the image wants */
	DOCKER_KILL,
	DOCKER_OVER, /* no more steps, ever */
};

struct docker_step {
	enum docker_action action;
	size_t container; /* plan->container_count: the network holder */
	int64_t at_ms;    /* INT64_MAX: never */
};

/* The state of a new task. */
void docker_state_init(struct docker_state *state, const struct plan *plan, struct arena *arena);
/* The text of a state, and back. */
void docker_state_write(const struct docker_state *state, struct buffer *out);
int docker_state_read(struct docker_state *state, const struct plan *plan, struct span text,
	struct arena *arena, struct err *err);

/* facts: one for each container, and one for the network holder. */
void docker_observe(struct docker_state *state, const struct docker_facts *facts, int64_t now_ms);
struct docker_step docker_next(struct docker_state *state, const struct docker_facts *facts,
	int64_t now_ms);

/* A container could not be made or started. kind: "CannotPullContainerError", … */
void docker_fail(struct docker_state *state, size_t container, const char *kind,
	const char *message, int64_t now_ms);
/* The request for DOCKER_SIGNAL got no answer: it is the next step once more. */
void docker_signal_lost(struct docker_state *state, size_t container);
/* Begins the end of the task; the first reason counts. */
void docker_stop(struct docker_state *state, enum runtime_stop stop, struct span reason);

#endif
