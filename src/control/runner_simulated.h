/*
 * Controls of a simulation, besides running in it.
 *
 * The stack that called runner_simulated_new() is "main" and takes part: when it waits, sleeps or
 * joins, fibers run. Failures of the run are reported to main: when no fiber can run and no
 * deadline is left (a deadlock), or when very many steps pass while time stands still (a livelock),
 * main's wait returns -EDEADLK and runner_simulated_trouble() lists the waiters and their events.
 *
 * Every step (the fiber chosen, among how many, at what time, why it woke) and every runner_trace()
 * line goes into a hash: two runs with the same hash did the same.
 */
#ifndef CONTROL_RUNNER_SIMULATED_H
#define CONTROL_RUNNER_SIMULATED_H

#include <stdio.h>

#include "control/runner.h"

/* So many steps at one moment of time are a livelock. */
#define RUNNER_STEPS_AT_ONCE_MAX 1000000
/* A stopped fiber that waits so often again does not unwind: a programmer's error, ends the program. */
#define RUNNER_WAITS_AFTER_STOP_MAX 10000
/* runner_yield() takes this long at most, drawn from the seed (mostly nothing). */
#define RUNNER_YIELD_MOST_US 2000

/* The name of the runner whose fiber runs now, as runner_name() has it; "" for the main one. */
const char *runner_simulated_current(struct runner *runner);
uint64_t runner_simulated_hash(struct runner *runner);
uint64_t runner_simulated_steps(struct runner *runner);
/* Prints every runner_trace() line; steps too when asked. NULL: no more. */
void runner_simulated_trace_to(struct runner *runner, FILE *file, bool steps);
/* "" when there was none. */
const char *runner_simulated_trouble(struct runner *runner);
/* Nothing of this runner (or of its groups) runs for the given time, as when a machine is suspended:
 * its deadlines pass, its signals arrive, and it finds out afterwards. */
void runner_simulated_pause(struct runner *runner, int64_t duration_us);
/* Clocks of different machines do not agree: shifts both clocks of this runner, and of groups made
 * afterwards. Before anything is spawned on it. */
void runner_simulated_shift_clocks(struct runner *runner, int64_t steady_us, int64_t wall_ms);
/* Sets the clock of a machine while it runs: its wall clock, and those of its groups, differ by so
 * much from now on. */
void runner_simulated_set_wall(struct runner *runner, int64_t wall_ms);
/* Nor do they run alike: the steady clock of this runner, and of groups made afterwards, shows so much of the time that
 * really passes. Before anything is spawned on it. */
void runner_simulated_set_pace(struct runner *runner, int64_t percent);
/* When so many steps have been made main is the next to run, if it waits: that ends as by a signal. 0: no more. So that it
 * can come between any two steps of the others. */
void runner_simulated_break_at(struct runner *runner, uint64_t steps);
/* The running fiber, by the name of its runner: "server-a/toy"; "" is main. For observers. */
const char *runner_simulated_running(struct runner *runner);

#endif
