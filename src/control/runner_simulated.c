/*
 * The runner of simulations: fibers on one thread, virtual time, every choice from a seed.
 *
 * A fiber that waits calls schedule(), which draws the next fiber among those that can run and
 * switches to it; when there is none, time jumps to the next deadline or end of a pause. The main
 * stack is a fiber. Nothing depends on addresses, hashes of this process or real time.
 */
#include "control/runner_simulated.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/lock.h"
#include "base/memory.h"
#include "control/fiber.h"
#include "control/runner_internal.h"

#define WALL_START_MS INT64_C(1767225600000) /* 2026-01-01 */
#define TROUBLE_MAX 8192
/* One yield in so many lets time pass. */
#define YIELD_DELAY_ONE_IN 4

enum thread_state { THREAD_READY, THREAD_WAITING, THREAD_ENDED };

struct event_simulated;

struct thread {
	struct fiber *fiber;
	struct runner_simulated *runner;
	char name[RUNNER_NAME_MAX + 1];
	void (*function)(void *context);
	void *context;
	enum thread_state state;
	/* While waiting: */
	struct runner_simulated *with; /* it ends when this one is stopped */
	struct event_simulated *event;
	int64_t deadline_us; /* in world time */
	bool certain;
	/* The return value of its wait. */
	int result;
	unsigned waits_after_stop;
};

struct world {
	pthread_t thread;
	int64_t now_us;
	struct random_seeded schedule; /* the next fiber, how long a yield takes */
	struct random_seeded chance;   /* behind runner_random() */
	struct thread main;
	struct thread *current;
	struct thread **threads; /* in order of spawning; main is not among them */
	size_t thread_count, thread_capacity;
	struct thread **ready; /* room for choosing */
	struct thread *ended;  /* its stack is freed from another one */
	uint64_t hash, steps, steps_at_once;
	uint64_t break_at; /* 0: never */
	FILE *trace;
	bool trace_steps;
	struct buffer trouble;
};

struct runner_simulated {
	struct runner runner;
	struct world *world;
	struct clock clock;
	int64_t steady_shift_us, wall_shift_ms;
	int64_t pace; /* of the steady clock, in percent */
	int64_t paused_until_us;
	bool stopped;
	size_t live; /* fibers of this runner and of its groups */
	struct event_simulated *joined;
};

struct event_simulated {
	struct runner_event event;
	struct world *world;
	uint64_t count;
};

static const struct runner_operations operations;

static struct runner_simulated *as_simulated(struct runner *runner)
{
	assert(runner->operations == &operations);
	return (struct runner_simulated *)runner;
}

static struct event_simulated *as_event(struct runner_event *event)
{
	return (struct event_simulated *)event;
}

static struct world *world_of(struct runner *runner)
{
	struct world *world = as_simulated(runner)->world;

	/* A second thread would make runs differ from each other. */
	assert(pthread_equal(world->thread, pthread_self()));
	return world;
}

/* ---- the hash of what happened ---- */

static void hash_number(struct world *world, uint64_t number)
{
	uint64_t hash = (world->hash ^ number) * UINT64_C(0x9E3779B97F4A7C15);

	world->hash = hash ^ (hash >> 29);
}

static void hash_text(struct world *world, const char *text)
{
	for (; *text; text++)
		hash_number(world, (unsigned char)*text);
	hash_number(world, UINT64_MAX);
}

static void print_prefix(const struct world *world, const char *runner, const char *thread)
{
	fprintf(world->trace, "%6" PRId64 ".%06" PRId64 " %s%s%s: ", world->now_us / 1000000,
		world->now_us % 1000000, runner, runner[0] && thread[0] ? "/" : "", thread);
}

static void simulated_trace(struct runner *runner, const char *text)
{
	struct world *world = world_of(runner);
	struct thread *thread = world->current;

	hash_text(world, runner->name);
	hash_text(world, text);
	hash_number(world, (uint64_t)world->now_us);
	if (!world->trace)
		return;
	print_prefix(world, runner->name,
		thread->runner && &thread->runner->runner == runner ? thread->name : "");
	fprintf(world->trace, "%s\n", text);
}

/* ---- choosing ---- */

/* When the pause of the runner, or of one around it, ends. */
static int64_t paused_until(const struct thread *thread)
{
	int64_t until = INT64_MIN;

	if (!thread->runner)
		return until;
	for (struct runner *at = &thread->runner->runner; at; at = at->parent) {
		if (as_simulated(at)->paused_until_us > until)
			until = as_simulated(at)->paused_until_us;
	}
	return until;
}

static void wake(struct thread *thread, int code)
{
	thread->state = THREAD_READY;
	thread->event = NULL;
	thread->result = code;
}

static void describe_thread(struct world *world, const struct thread *thread)
{
	buffer_format(&world->trouble, "\n  %s%s%s ",
		thread->runner ? thread->runner->runner.name : "",
		thread->runner && thread->runner->runner.name[0] ? "/" : "", thread->name);
	if (thread->state == THREAD_READY)
		buffer_add_string(&world->trouble, "could run");
	else
		buffer_format(&world->trouble, "waits for %s",
			thread->event ? thread->event->event.name : "a time");
}

/* The run as a whole has failed: main's wait returns the error, and main unwinds. */
static void report_trouble(struct world *world, const char *what)
{
	buffer_reset(&world->trouble);
	buffer_format(&world->trouble, "%s at %" PRId64 " us:", what, world->now_us);
	describe_thread(world, &world->main);
	for (size_t i = 0; i < world->thread_count; i++)
		describe_thread(world, world->threads[i]);
	hash_text(world, what);
	wake(&world->main, -EDEADLK);
}

static size_t collect_ready(struct world *world)
{
	size_t count = 0;

	if (world->main.state == THREAD_READY)
		world->ready[count++] = &world->main;
	for (size_t i = 0; i < world->thread_count; i++) {
		struct thread *thread = world->threads[i];

		if (thread->state == THREAD_READY && paused_until(thread) <= world->now_us)
			world->ready[count++] = thread;
	}
	return count;
}

/* The next deadline, or end of a pause. */
static int64_t next_moment(const struct world *world, const struct thread *thread)
{
	if (thread->state == THREAD_WAITING)
		return thread->deadline_us;
	(void)world;
	return paused_until(thread);
}

static bool jump(struct world *world)
{
	int64_t next = next_moment(world, &world->main);

	for (size_t i = 0; i < world->thread_count; i++) {
		int64_t moment = next_moment(world, world->threads[i]);

		if (moment < next)
			next = moment;
	}
	if (next == RUNNER_FOREVER)
		return false;
	if (next > world->now_us) {
		world->now_us = next;
		world->steps_at_once = 0;
	}
	if (world->main.state == THREAD_WAITING && world->main.deadline_us <= world->now_us)
		wake(&world->main, -ETIMEDOUT);
	for (size_t i = 0; i < world->thread_count; i++) {
		struct thread *thread = world->threads[i];

		if (thread->state == THREAD_WAITING && thread->deadline_us <= world->now_us)
			wake(thread, -ETIMEDOUT);
	}
	return true;
}

static struct thread *choose(struct world *world)
{
	for (;;) {
		size_t count = collect_ready(world);
		size_t chosen;

		if (count == 0) {
			if (!jump(world))
				report_trouble(world, "deadlock");
			continue;
		}
		if (world->break_at > 0 && world->steps >= world->break_at &&
			world->main.state == THREAD_WAITING) {
			world->break_at = 0;
			wake(&world->main, 0);
			return &world->main;
		}
		chosen = count == 1 ? 0 : (size_t)random_below(&world->schedule.random, count);
		if (++world->steps_at_once > RUNNER_STEPS_AT_ONCE_MAX) {
			world->steps_at_once = 0;
			if (world->main.state == THREAD_WAITING) {
				report_trouble(world, "livelock");
				return &world->main;
			}
		}
		world->steps++;
		hash_number(world, count);
		hash_number(world, chosen);
		hash_number(world, (uint64_t)world->now_us);
		hash_number(world, (uint64_t)world->ready[chosen]->result);
		hash_text(world, world->ready[chosen]->name);
		return world->ready[chosen];
	}
}

static void free_ended(struct world *world)
{
	struct thread *thread = TAKE(world->ended);

	if (!thread)
		return;
	fiber_free(thread->fiber);
	free(thread);
}

/* Runs others until it is our turn again. */
static void schedule(struct world *world)
{
	struct thread *self = world->current;
	struct thread *next = choose(world);

	if (world->trace && world->trace_steps) {
		print_prefix(world, next->runner ? next->runner->runner.name : "", next->name);
		fprintf(world->trace, "runs (%d)\n", next->result);
	}
	if (next == self)
		return;
	world->current = next;
	fiber_switch(self->fiber, next->fiber);
	free_ended(world);
}

/* ---- runners ---- */

static int64_t simulated_wall_ms(struct clock *clock)
{
	struct runner_simulated *self = CONTAINER_OF(clock, struct runner_simulated, clock);

	return WALL_START_MS + self->world->now_us / 1000 + self->wall_shift_ms;
}

static int64_t simulated_steady_us(struct clock *clock)
{
	struct runner_simulated *self = CONTAINER_OF(clock, struct runner_simulated, clock);

	return self->world->now_us * self->pace / 100 + self->steady_shift_us;
}

/* When the steady clock of this runner will show so much. */
static int64_t in_world_time(const struct runner_simulated *self, int64_t steady_us)
{
	int64_t passed;

	if (steady_us == RUNNER_FOREVER ||
		__builtin_sub_overflow(steady_us, self->steady_shift_us, &passed) ||
		(self->pace != 100 && __builtin_mul_overflow(passed, 100, &passed)))
		return RUNNER_FOREVER;
	return self->pace == 100 ? passed : passed / self->pace + (passed % self->pace > 0);
}

static struct runner_event *simulated_event_new(struct runner *runner, const char *name)
{
	struct event_simulated *event = memory_allocate(sizeof(*event));

	event->event.operations = &operations;
	event->event.name = name;
	event->world = world_of(runner);
	return &event->event;
}

static struct runner_simulated *simulated_new(struct world *world)
{
	struct runner_simulated *self = memory_allocate(sizeof(*self));

	self->runner.operations = &operations;
	self->runner.clock = &self->clock;
	self->runner.random = &world->chance.random;
	self->clock.wall_ms = simulated_wall_ms;
	self->clock.steady_us = simulated_steady_us;
	self->world = world;
	self->pace = 100;
	self->paused_until_us = INT64_MIN;
	self->joined = as_event(simulated_event_new(&self->runner, "others to end"));
	return self;
}

struct runner *runner_simulated_new(uint64_t seed)
{
	struct world *world = memory_allocate(sizeof(*world));

	world->thread = pthread_self();
	random_seeded_init(&world->schedule, seed);
	random_seeded_init(&world->chance, ~seed);
	hash_number(world, seed);
	world->main.fiber = fiber_of_main();
	strcpy(world->main.name, "main");
	world->current = &world->main;
	world->thread_capacity = 16;
	world->threads = memory_allocate_array(world->thread_capacity, sizeof(world->threads[0]));
	world->ready = memory_allocate_array(world->thread_capacity + 1, sizeof(world->ready[0]));
	world->trouble = BUFFER_WITH_CAP(TROUBLE_MAX);
	return &simulated_new(world)->runner;
}

static struct runner *simulated_group_new(struct runner *parent, const char *name)
{
	struct runner_simulated *self = simulated_new(world_of(parent));

	runner_set_name(&self->runner, parent, name);
	self->steady_shift_us = as_simulated(parent)->steady_shift_us;
	self->wall_shift_ms = as_simulated(parent)->wall_shift_ms;
	self->pace = as_simulated(parent)->pace;
	self->stopped = as_simulated(parent)->stopped;
	runner_link(parent, &self->runner);
	return &self->runner;
}

static void simulated_free(struct runner *runner)
{
	struct runner_simulated *self = as_simulated(runner);
	struct world *world = world_of(runner);

	assert(self->live == 0 && !runner->first_child);
	free(self->joined);
	if (runner->parent) {
		runner_unlink(runner);
		free(self);
		return;
	}
	assert(world->current == &world->main && world->thread_count == 0);
	free_ended(world);
	fiber_free(world->main.fiber);
	buffer_clear(&world->trouble);
	free(world->threads);
	free(world->ready);
	free(world);
	free(self);
}

static void simulated_signal(struct runner_event *event);

static void count_live(struct runner_simulated *runner, int change)
{
	for (struct runner *at = &runner->runner; at; at = at->parent) {
		struct runner_simulated *self = as_simulated(at);

		self->live += (size_t)change;
		if (self->live == 0)
			simulated_signal(&self->joined->event);
	}
}

static void thread_main(void *argument)
{
	struct thread *self = argument;
	struct world *world = self->runner->world;
	struct thread *next;

	free_ended(world);
	self->function(self->context);
	assert(lock_held_count() == 0);

	self->state = THREAD_ENDED;
	for (size_t i = 0; i < world->thread_count; i++) {
		if (world->threads[i] != self)
			continue;
		memmove(&world->threads[i], &world->threads[i + 1],
			(--world->thread_count - i) * sizeof(world->threads[0]));
		break;
	}
	count_live(self->runner, -1);
	next = choose(world);
	world->ended = self;
	world->current = next;
	fiber_end(self->fiber, next->fiber);
}

static int simulated_spawn(struct runner *runner, const char *name, void (*function)(void *),
	void *context, struct err *err)
{
	struct runner_simulated *self = as_simulated(runner);
	struct world *world = world_of(runner);
	struct thread *thread;

	if (self->stopped)
		return err_system(err, ECANCELED, "start fiber '%s'", name);
	if (world->thread_count == world->thread_capacity) {
		world->thread_capacity *= 2;
		world->threads = memory_resize(world->threads,
			world->thread_capacity * sizeof(world->threads[0]));
		world->ready = memory_resize(world->ready,
			(world->thread_capacity + 1) * sizeof(world->ready[0]));
	}
	thread = memory_allocate(sizeof(*thread));
	thread->runner = self;
	thread->function = function;
	thread->context = context;
	snprintf(thread->name, sizeof(thread->name), "%s", name);
	thread->fiber = fiber_new(thread_main, thread);
	world->threads[world->thread_count++] = thread;
	count_live(self, 1);
	hash_text(world, name);
	return 0;
}

static bool is_within(struct runner_simulated *runner, const struct runner *around)
{
	for (const struct runner *at = runner ? &runner->runner : NULL; at; at = at->parent) {
		if (at == around)
			return true;
	}
	return false;
}

static void stop_tree(struct runner *runner)
{
	struct runner_simulated *self = as_simulated(runner);

	self->stopped = true;
	/* A stopped runner need not wait for its pause to end. */
	self->paused_until_us = INT64_MIN;
	for (struct runner *child = runner->first_child; child; child = child->next_sibling)
		stop_tree(child);
}

static void cancel_if_within(struct thread *thread, const struct runner *runner)
{
	if (thread->state == THREAD_WAITING && !thread->certain && is_within(thread->with, runner))
		wake(thread, -ECANCELED);
}

static void simulated_stop(struct runner *runner)
{
	struct world *world = world_of(runner);

	stop_tree(runner);
	cancel_if_within(&world->main, runner);
	for (size_t i = 0; i < world->thread_count; i++)
		cancel_if_within(world->threads[i], runner);
}

static bool simulated_is_stopped(struct runner *runner)
{
	return as_simulated(runner)->stopped;
}

static void simulated_event_free(struct runner_event *event)
{
	struct event_simulated *self = as_event(event);

	for (size_t i = 0; i < self->world->thread_count; i++)
		assert(self->world->threads[i]->event != self);
	free(self);
}

static uint64_t simulated_event_count(struct runner_event *event)
{
	return as_event(event)->count;
}

static void simulated_signal(struct runner_event *event)
{
	struct event_simulated *self = as_event(event);
	struct world *world = self->world;

	assert(pthread_equal(world->thread, pthread_self()));
	self->count++;
	if (world->main.state == THREAD_WAITING && world->main.event == self)
		wake(&world->main, 0);
	for (size_t i = 0; i < world->thread_count; i++) {
		if (world->threads[i]->state == THREAD_WAITING && world->threads[i]->event == self)
			wake(world->threads[i], 0);
	}
}

/* Wakes any of the waiters, drawn from the seed: callers must not rely on which. */
static void simulated_signal_one(struct runner_event *event)
{
	struct event_simulated *self = as_event(event);
	struct world *world = self->world;
	struct thread *chosen = NULL;
	uint64_t waiting = 0;

	assert(pthread_equal(world->thread, pthread_self()));
	self->count++;
	if (world->main.state == THREAD_WAITING && world->main.event == self) {
		waiting++;
		chosen = &world->main;
	}
	for (size_t i = 0; i < world->thread_count; i++) {
		struct thread *thread = world->threads[i];

		if (thread->state == THREAD_WAITING && thread->event == self &&
			random_below(&world->schedule.random, ++waiting) == 0)
			chosen = thread;
	}
	if (chosen)
		wake(chosen, 0);
}

/* A fiber of a stopped runner has to come to its end, not wait again and again. */
static void count_wait_after_stop(struct thread *thread)
{
	if (++thread->waits_after_stop <= RUNNER_WAITS_AFTER_STOP_MAX || !thread->runner)
		return;
	fprintf(stderr, "slipway: '%s/%s' was stopped and does not end\n",
		thread->runner->runner.name, thread->name);
	abort();
}

static int simulated_wait(struct runner *runner, struct runner_event *event, uint64_t seen,
	int64_t deadline_us, bool certain)
{
	struct runner_simulated *self = as_simulated(runner);
	struct world *world = world_of(runner);
	struct thread *thread = world->current;

	if (self->stopped && !certain) {
		count_wait_after_stop(thread);
		return -ECANCELED;
	}
	deadline_us = in_world_time(self, deadline_us);
	if (event && as_event(event)->count != seen) {
		/* Nothing to wait for; others may run all the same, as they might on threads. */
		wake(thread, 0);
	} else if (deadline_us <= world->now_us) {
		wake(thread, -ETIMEDOUT);
	} else {
		thread->state = THREAD_WAITING;
		thread->with = self;
		thread->event = event ? as_event(event) : NULL;
		thread->deadline_us = deadline_us;
		thread->certain = certain;
	}
	schedule(world);
	if (self->stopped && !certain)
		return -ECANCELED;
	return thread->result;
}

static int simulated_join(struct runner *runner, struct err *err)
{
	struct runner_simulated *self = as_simulated(runner);
	struct world *world = world_of(runner);

	for (;;) {
		uint64_t seen = self->joined->count;
		int code;

		if (self->live == 0)
			return 0;
		code = simulated_wait(runner, &self->joined->event, seen, RUNNER_FOREVER, true);
		if (code == -EDEADLK)
			return err_set(err, code, "%s", world->trouble.data);
	}
}

static int simulated_yield(struct runner *runner)
{
	struct world *world = world_of(runner);
	int64_t delay = 0;
	int code;

	if (random_below(&world->schedule.random, YIELD_DELAY_ONE_IN) == 0)
		delay = (int64_t)random_below(&world->schedule.random, RUNNER_YIELD_MOST_US);
	code = simulated_wait(runner, NULL, 0, runner_deadline_us(runner, delay), false);
	return code == -ETIMEDOUT ? 0 : code;
}

static const struct runner_operations operations = {
	.simulated = true,
	.group_new = simulated_group_new,
	.free = simulated_free,
	.spawn = simulated_spawn,
	.stop = simulated_stop,
	.is_stopped = simulated_is_stopped,
	.join = simulated_join,
	.event_new = simulated_event_new,
	.event_free = simulated_event_free,
	.event_count = simulated_event_count,
	.signal = simulated_signal,
	.signal_one = simulated_signal_one,
	.wait = simulated_wait,
	.yield = simulated_yield,
	.trace = simulated_trace,
};

/* ---- simulations only ---- */

uint64_t runner_simulated_hash(struct runner *runner)
{
	return world_of(runner)->hash;
}

const char *runner_simulated_current(struct runner *runner)
{
	const struct thread *thread = world_of(runner)->current;

	return thread->runner ? thread->runner->runner.name : "";
}

uint64_t runner_simulated_steps(struct runner *runner)
{
	return world_of(runner)->steps;
}

void runner_simulated_trace_to(struct runner *runner, FILE *file, bool steps)
{
	struct world *world = world_of(runner);

	world->trace = file;
	world->trace_steps = steps;
}

const char *runner_simulated_trouble(struct runner *runner)
{
	struct world *world = world_of(runner);

	return world->trouble.data ? world->trouble.data : "";
}

void runner_simulated_pause(struct runner *runner, int64_t duration_us)
{
	int64_t until = world_of(runner)->now_us + duration_us;

	if (!as_simulated(runner)->stopped && until > as_simulated(runner)->paused_until_us)
		as_simulated(runner)->paused_until_us = until;
}

void runner_simulated_shift_clocks(struct runner *runner, int64_t steady_us, int64_t wall_ms)
{
	as_simulated(runner)->steady_shift_us = steady_us;
	as_simulated(runner)->wall_shift_ms = wall_ms;
}

void runner_simulated_set_wall(struct runner *runner, int64_t wall_ms)
{
	as_simulated(runner)->wall_shift_ms = wall_ms;
	for (struct runner *child = runner->first_child; child; child = child->next_sibling)
		runner_simulated_set_wall(child, wall_ms);
}

void runner_simulated_set_pace(struct runner *runner, int64_t percent)
{
	as_simulated(runner)->pace = percent;
}

void runner_simulated_break_at(struct runner *runner, uint64_t steps)
{
	world_of(runner)->break_at = steps;
}

const char *runner_simulated_running(struct runner *runner)
{
	const struct thread *thread = world_of(runner)->current;

	return thread->runner ? thread->runner->runner.name : "";
}
