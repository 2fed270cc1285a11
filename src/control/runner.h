/*
 * The seam for running straight-line blocking code. A function spawned on a runner may loop, wait
 * and call others as if it were alone; the constructor of the runner decides whether it is a thread
 * or a fiber on virtual time:
 *
 *     runner_threads_new()      production: every spawned function is a thread, time is real
 *     runner_simulated_new()    simulation: each spawned function is a fiber of the calling thread,
 *                               time jumps to the next deadline when no fiber can run, and the next
 *                               fiber is drawn from a seed: the same seed gives the same run
 *
 * Blocking. runner_wait() is the only place that blocks, and no lock is held there. It waits for an
 * event to be signalled; an event is a counter that goes up and wakes all waiters. The caller reads
 * the counter *before* it checks the condition, so a signal that comes between check and wait is
 * never lost:
 *
 *     for (;;) {
 *             uint64_t seen = runner_event_count(event);
 *
 *             if (something to do)     // under a lock, released before waiting
 *                     ...
 *             code = runner_wait(runner, event, seen, deadline);
 *             if (code == -ECANCELED)
 *                     return code;
 *     }
 *
 * Stopping. runner_stop() makes every wait of the runner return -ECANCELED, now and from then on,
 * so that stacks unwind and free what they own. A crash in simulation is exactly this.
 *
 * Groups. A group is a runner inside another one: it shares clock, chance and scheduler and can be
 * stopped and joined alone. Stopping a runner stops its groups; joining waits for them too.
 *
 * Time. Deadlines are absolute, in microseconds of runner_now_us(), which never goes back. Wall
 * time (runner_wall_ms) is for what is stored.
 */
#ifndef CONTROL_RUNNER_H
#define CONTROL_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/random.h"

#define RUNNER_FOREVER INT64_MAX
#define RUNNER_NAME_MAX 63 /* longer names are cut */

struct runner;
struct runner_event;

/* clock's steady time must run; random must be usable from several threads. */
struct runner *runner_threads_new(struct clock *clock, struct random *random);
/* Everything in it belongs to the thread that made it. See runner_simulated.h for what can be done to
 * it, and why main may wait too. */
struct runner *runner_simulated_new(uint64_t seed);
struct runner *runner_group_new(struct runner *parent, const char *name);
/* Nothing of it may run any more (runner_stop, runner_join); its groups and events are freed before it.
 * NULL is fine. */
void runner_free(struct runner *runner);

/* Runs function(context). The name is for people and traces. Not after runner_stop: -ECANCELED. */
int runner_spawn(struct runner *runner, const char *name, void (*function)(void *context),
	void *context, struct err *err);
/* From any thread. Does not wait. */
void runner_stop(struct runner *runner);
bool runner_is_stopped(struct runner *runner);
/* Waits until everything spawned on the runner and its groups has returned. In simulation returns
 * -EDEADLK when that can never happen, with a message that lists the waiters and their events. */
int runner_join(struct runner *runner, struct err *err);

struct clock *runner_clock(struct runner *runner);
struct random *runner_random(struct runner *runner);
const char *runner_name(const struct runner *runner); /* "server-a/toy" */
bool runner_is_simulated(const struct runner *runner);

static inline int64_t runner_now_us(struct runner *runner)
{
	return clock_steady_us(runner_clock(runner));
}

static inline int64_t runner_wall_ms(struct runner *runner)
{
	return clock_wall_ms(runner_clock(runner));
}

static inline struct moment runner_moment(struct runner *runner)
{
	return (struct moment){
		.wall_ms = runner_wall_ms(runner), .steady_ms = runner_now_us(runner) / 1000};
}

/* now + delay without overflow; a negative delay counts as 0. */
int64_t runner_deadline_us(struct runner *runner, int64_t delay_us);

/* The name is not copied: a literal. */
struct runner_event *runner_event_new(struct runner *runner, const char *name);
void runner_event_free(struct runner_event *event); /* without waiters; NULL is fine */
uint64_t runner_event_count(struct runner_event *event);
/* Wakes all waiters of the event. From any thread (a store's writer, an HTTP loop); does not block.
 * In simulation from its own thread only. */
void runner_signal(struct runner_event *event);

/* As runner_signal, but wakes one waiter that was not woken yet, if there is one. Only for events
 * whose waiters all check for the same work, and where a waiter that takes one of several items
 * signals again for the rest: two signals may wake the same waiter. */
void runner_signal_one(struct runner_event *event);

/* Blocks until the event's count is no longer `seen` (0), the deadline has passed (-ETIMEDOUT) or the
 * runner is stopped (-ECANCELED, which wins). Check the condition again: a wake-up is a hint.
 * On the main stack of a simulation also -EDEADLK. */
int runner_wait(struct runner *runner, struct runner_event *event, uint64_t seen,
	int64_t deadline_us);
/* As runner_wait without deadline, but not ended by runner_stop. For waits that are certain to end soon
 * and whose memory another thread uses until then; nothing else. */
int runner_wait_certain(struct runner *runner, struct runner_event *event, uint64_t seen);
/* 0 when the time has come, or -ECANCELED (-EDEADLK). */
int runner_sleep_until(struct runner *runner, int64_t deadline_us);
/* A place where anything may happen in between: in simulation others may run and time may pass here. On
 * threads it only looks whether the runner was stopped. 0 or -ECANCELED. */
int runner_yield(struct runner *runner);

/* Call before a foreign call that blocks outside of runner_wait (a remote endpoint, a child
 * process): ends the program in simulation, where no other fiber could run meanwhile and runs would
 * not be repeatable. */
void runner_assert_may_block(const struct runner *runner);

/* A line for the trace of a simulation, and into its hash. Nothing on threads. */
void runner_trace(struct runner *runner, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
