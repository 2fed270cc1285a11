/*
 * A mutex that knows whether this thread holds one. runner_wait() asserts that none is held, which is
 * what makes "no lock is held while blocked" a checked rule instead of a habit. Locks guard a few lines
 * of bookkeeping and never nest across modules.
 */
#ifndef CONTROL_LOCK_H
#define CONTROL_LOCK_H

#include <pthread.h>

struct lock {
	pthread_mutex_t mutex;
};

void lock_init(struct lock *lock);
void lock_destroy(struct lock *lock);
void lock_take(struct lock *lock);
void lock_release(struct lock *lock);
/* How many locks the calling thread holds. */
unsigned lock_held_count(void);

#endif
