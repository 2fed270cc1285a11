/* See the header. Failing to lock is a programmer's error: abort. */
#include "base/lock.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local unsigned held;

static void must_succeed(int code, const char *what)
{
	if (code == 0)
		return;
	fprintf(stderr, "slipway: %s failed with %d\n", what, code);
	abort();
}

void lock_init(struct lock *lock)
{
	must_succeed(pthread_mutex_init(&lock->mutex, NULL), "pthread_mutex_init");
}

void lock_destroy(struct lock *lock)
{
	must_succeed(pthread_mutex_destroy(&lock->mutex), "pthread_mutex_destroy");
}

void lock_take(struct lock *lock)
{
	must_succeed(pthread_mutex_lock(&lock->mutex), "pthread_mutex_lock");
	held++;
}

void lock_release(struct lock *lock)
{
	assert(held > 0);
	held--;
	must_succeed(pthread_mutex_unlock(&lock->mutex), "pthread_mutex_unlock");
}

void lock_wait(struct lock *lock, pthread_cond_t *condition)
{
	must_succeed(pthread_cond_wait(condition, &lock->mutex), "pthread_cond_wait");
}

bool lock_wait_until(struct lock *lock, pthread_cond_t *condition, const struct timespec *deadline)
{
	int code = pthread_cond_timedwait(condition, &lock->mutex, deadline);

	if (code == ETIMEDOUT)
		return false;
	must_succeed(code, "pthread_cond_timedwait");
	return true;
}

unsigned lock_held_count(void)
{
	return held;
}
