/* A mutex and a count per thread of those held. Failing to lock is a programmer's error: abort. */
#include "control/lock.h"

#include <assert.h>
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

unsigned lock_held_count(void)
{
	return held;
}
