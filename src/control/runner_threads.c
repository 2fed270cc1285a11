/*
 * The runner of production: a thread for each spawned function. One mutex per tree of runners
 * guards events, waiters and stops. Each waiter has a condition variable on its stack and is in the
 * lists of its event and its runner, so that a signal or a stop finds it. Counts go up under the
 * mutex under which waiters read them: no wake-up is lost.
 */
#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/lock.h"
#include "base/memory.h"
#include "control/runner_internal.h"

struct waiter {
	pthread_cond_t wake;
	struct waiter *next_of_event, **previous_of_event;
	struct waiter *next_of_runner, **previous_of_runner;
	bool woken; /* it is already woken: another signal wakes another waiter */
};

struct thread {
	pthread_t thread;
	struct runner_thread *runner;
	char name[RUNNER_NAME_MAX + 1];
	void (*function)(void *context);
	void *context;
	struct thread *next; /* among those that ended */
};

/* Shared by a runner and its groups. */
struct tree {
	struct lock mutex;
	pthread_cond_t ended;
	struct thread *ended_threads;
};

struct runner_thread {
	struct runner runner;
	struct tree *tree;
	struct waiter *waiters;
	bool stopped;
	size_t live; /* threads of this runner and of its groups */
};

struct event_thread {
	struct runner_event event;
	struct tree *tree;
	uint64_t count;
	struct waiter *waiters;
};

static const struct runner_operations operations;

static struct runner_thread *as_thread(struct runner *runner)
{
	return (struct runner_thread *)runner;
}

static struct event_thread *as_event(struct runner_event *event)
{
	return (struct event_thread *)event;
}

static struct runner_thread *runner_new(struct clock *clock, struct random *random)
{
	struct runner_thread *self = memory_allocate(sizeof(*self));

	self->runner.operations = &operations;
	self->runner.clock = clock;
	self->runner.random = random;
	return self;
}

struct runner *runner_threads_new(struct clock *clock, struct random *random)
{
	struct runner_thread *self = runner_new(clock, random);

	self->tree = memory_allocate(sizeof(*self->tree));
	lock_init(&self->tree->mutex);
	pthread_cond_init(&self->tree->ended, NULL);
	return &self->runner;
}

static struct runner *threads_group_new(struct runner *parent, const char *name)
{
	struct tree *tree = as_thread(parent)->tree;
	struct runner_thread *self = runner_new(parent->clock, parent->random);

	runner_set_name(&self->runner, parent, name);
	self->tree = tree;
	lock_take(&tree->mutex);
	self->stopped = as_thread(parent)->stopped;
	runner_link(parent, &self->runner);
	lock_release(&tree->mutex);
	return &self->runner;
}

/* Joins threads that returned, from any thread that calls it, so that they do not pile up. */
static void reap(struct tree *tree)
{
	struct thread *thread;

	lock_take(&tree->mutex);
	thread = TAKE(tree->ended_threads);
	lock_release(&tree->mutex);
	while (thread) {
		struct thread *next = thread->next;

		pthread_join(thread->thread, NULL);
		free(thread);
		thread = next;
	}
}

static void threads_free(struct runner *runner)
{
	struct runner_thread *self = as_thread(runner);
	bool root = !runner->parent;

	assert(!runner->first_child && !self->waiters);
	lock_take(&self->tree->mutex);
	assert(self->live == 0);
	runner_unlink(runner);
	lock_release(&self->tree->mutex);
	if (root) {
		reap(self->tree);
		pthread_cond_destroy(&self->tree->ended);
		lock_destroy(&self->tree->mutex);
		free(self->tree);
	}
	free(self);
}

static void count_live(struct runner_thread *runner, int change)
{
	for (struct runner *at = &runner->runner; at; at = at->parent)
		as_thread(at)->live += (size_t)change;
}

static void *thread_main(void *argument)
{
	struct thread *thread = argument;
	struct tree *tree = thread->runner->tree;
	char short_name[16]; /* as the kernel keeps it */

	memcpy(short_name, thread->name, sizeof(short_name) - 1);
	short_name[sizeof(short_name) - 1] = '\0';
	pthread_setname_np(pthread_self(), short_name);

	thread->function(thread->context);
	assert(lock_held_count() == 0);

	lock_take(&tree->mutex);
	count_live(thread->runner, -1);
	thread->next = tree->ended_threads;
	tree->ended_threads = thread;
	pthread_cond_broadcast(&tree->ended);
	lock_release(&tree->mutex);
	return NULL;
}

static int threads_spawn(struct runner *runner, const char *name, void (*function)(void *),
	void *context, struct err *err)
{
	struct runner_thread *self = as_thread(runner);
	struct tree *tree = self->tree;
	struct thread *thread;
	sigset_t all, before;
	int code = 0;

	reap(tree);
	thread = memory_allocate(sizeof(*thread));
	thread->runner = self;
	thread->function = function;
	thread->context = context;
	snprintf(thread->name, sizeof(thread->name), "%s", name);

	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	/* Under the mutex, so that thread->thread is set before reap() can join it. */
	lock_take(&tree->mutex);
	if (self->stopped)
		code = ECANCELED;
	else
		code = pthread_create(&thread->thread, NULL, thread_main, thread);
	if (code == 0)
		count_live(self, 1);
	lock_release(&tree->mutex);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (code == 0)
		return 0;
	free(thread);
	return err_system(err, code, "start thread '%s'", name);
}

/* With the mutex held. */
static void stop_tree(struct runner *runner)
{
	struct runner_thread *self = as_thread(runner);

	self->stopped = true;
	for (struct waiter *waiter = self->waiters; waiter; waiter = waiter->next_of_runner)
		pthread_cond_signal(&waiter->wake);
	for (struct runner *child = runner->first_child; child; child = child->next_sibling)
		stop_tree(child);
}

static void threads_stop(struct runner *runner)
{
	struct tree *tree = as_thread(runner)->tree;

	lock_take(&tree->mutex);
	stop_tree(runner);
	lock_release(&tree->mutex);
}

static bool threads_is_stopped(struct runner *runner)
{
	struct tree *tree = as_thread(runner)->tree;
	bool stopped;

	lock_take(&tree->mutex);
	stopped = as_thread(runner)->stopped;
	lock_release(&tree->mutex);
	return stopped;
}

static int threads_join(struct runner *runner, struct err *err)
{
	struct runner_thread *self = as_thread(runner);

	(void)err;
	lock_take(&self->tree->mutex);
	while (self->live > 0)
		lock_wait(&self->tree->mutex, &self->tree->ended);
	lock_release(&self->tree->mutex);
	reap(self->tree);
	return 0;
}

static struct runner_event *threads_event_new(struct runner *runner, const char *name)
{
	struct event_thread *event = memory_allocate(sizeof(*event));

	event->event.operations = &operations;
	event->event.name = name;
	event->tree = as_thread(runner)->tree;
	return &event->event;
}

static void threads_event_free(struct runner_event *event)
{
	struct event_thread *self = as_event(event);

	/* Taking the mutex once lets a signal that is still on its way out finish first. */
	lock_take(&self->tree->mutex);
	assert(!self->waiters);
	lock_release(&self->tree->mutex);
	free(self);
}

static uint64_t threads_event_count(struct runner_event *event)
{
	struct event_thread *self = as_event(event);
	uint64_t count;

	lock_take(&self->tree->mutex);
	count = self->count;
	lock_release(&self->tree->mutex);
	return count;
}

static void threads_signal(struct runner_event *event)
{
	struct event_thread *self = as_event(event);
	struct tree *tree = self->tree;

	lock_take(&tree->mutex);
	self->count++;
	for (struct waiter *waiter = self->waiters; waiter; waiter = waiter->next_of_event) {
		waiter->woken = true;
		pthread_cond_signal(&waiter->wake);
	}
	lock_release(&tree->mutex);
}

/* Wakes the latest waiter first: its stack and the data it reads are still in the cache. */
static void threads_signal_one(struct runner_event *event)
{
	struct event_thread *self = as_event(event);
	struct tree *tree = self->tree;
	struct waiter *waiter;

	lock_take(&tree->mutex);
	self->count++;
	waiter = self->waiters;
	while (waiter && waiter->woken)
		waiter = waiter->next_of_event;
	if (waiter) {
		waiter->woken = true;
		pthread_cond_signal(&waiter->wake);
	}
	lock_release(&tree->mutex);
}

#define WAITER_LINK(list, waiter, of)                                                              \
	do {                                                                                       \
		(waiter)->next_of_##of = *(list);                                                  \
		(waiter)->previous_of_##of = (list);                                               \
		if (*(list))                                                                       \
			(*(list))->previous_of_##of = &(waiter)->next_of_##of;                     \
		*(list) = (waiter);                                                                \
	} while (0)

#define WAITER_UNLINK(waiter, of)                                                                  \
	do {                                                                                       \
		*(waiter)->previous_of_##of = (waiter)->next_of_##of;                              \
		if ((waiter)->next_of_##of)                                                        \
			(waiter)->next_of_##of->previous_of_##of = (waiter)->previous_of_##of;     \
	} while (0)

/* The deadline, which is in the time of the runner's clock, as the kernel's monotonic time. */
static struct timespec monotonic_of(struct runner *runner, int64_t deadline_us)
{
	int64_t left_us = deadline_us - clock_steady_us(runner->clock);
	struct timespec time;
	int64_t us;

	clock_gettime(CLOCK_MONOTONIC, &time);
	us = time.tv_nsec / 1000 + (left_us > 0 ? left_us % 1000000 : 0) + 1;
	time.tv_sec += (left_us > 0 ? left_us / 1000000 : 0) + us / 1000000;
	time.tv_nsec = us % 1000000 * 1000;
	return time;
}

static int threads_wait(struct runner *runner, struct runner_event *event, uint64_t seen,
	int64_t deadline_us, bool certain)
{
	struct runner_thread *self = as_thread(runner);
	struct lock *mutex = &self->tree->mutex;
	struct event_thread *on = event ? as_event(event) : NULL;
	struct waiter waiter = {0};
	pthread_condattr_t monotonic;
	struct timespec until;
	int code;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&waiter.wake, &monotonic);
	pthread_condattr_destroy(&monotonic);

	lock_take(mutex);
	if (on)
		WAITER_LINK(&on->waiters, &waiter, event);
	WAITER_LINK(&self->waiters, &waiter, runner);
	for (;;) {
		if (self->stopped && !certain) {
			code = -ECANCELED;
			break;
		}
		if (on && on->count != seen) {
			code = 0;
			break;
		}
		if (deadline_us == RUNNER_FOREVER) {
			lock_wait(mutex, &waiter.wake);
			continue;
		}
		if (clock_steady_us(runner->clock) >= deadline_us) {
			code = -ETIMEDOUT;
			break;
		}
		until = monotonic_of(runner, deadline_us);
		lock_wait_until(mutex, &waiter.wake, &until);
	}
	WAITER_UNLINK(&waiter, runner);
	if (on)
		WAITER_UNLINK(&waiter, event);
	lock_release(mutex);
	pthread_cond_destroy(&waiter.wake);
	return code;
}

static int threads_yield(struct runner *runner)
{
	return threads_is_stopped(runner) ? -ECANCELED : 0;
}

static const struct runner_operations operations = {
	.simulated = false,
	.group_new = threads_group_new,
	.free = threads_free,
	.spawn = threads_spawn,
	.stop = threads_stop,
	.is_stopped = threads_is_stopped,
	.join = threads_join,
	.event_new = threads_event_new,
	.event_free = threads_event_free,
	.event_count = threads_event_count,
	.signal = threads_signal,
	.signal_one = threads_signal_one,
	.wait = threads_wait,
	.yield = threads_yield,
	.trace = NULL,
};
