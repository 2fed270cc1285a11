/*
 * The mutex of the whole program. It counts the locks that the calling thread holds, so that
 * runner_wait() can assert that there is none: no lock is held while a controller is blocked. Locks
 * guard a few lines of bookkeeping and never nest across modules.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>

struct lock {
	pthread_mutex_t mutex;
};

#define LOCK_INITIALIZER                                                                           \
	{                                                                                          \
		.mutex = PTHREAD_MUTEX_INITIALIZER                                                 \
	}

void lock_init(struct lock *lock);
void lock_destroy(struct lock *lock);
void lock_take(struct lock *lock);
void lock_release(struct lock *lock);
/* Releases the lock while it waits for the condition, as pthread_cond_wait() does. */
void lock_wait(struct lock *lock, pthread_cond_t *condition);
/* The same until a moment of the condition's clock; false: the moment has come. */
bool lock_wait_until(struct lock *lock, pthread_cond_t *condition, const struct timespec *deadline);
/* How many locks the calling thread holds. */
unsigned lock_held_count(void);

#endif
