/*
 * Writing to the store from code that runs on a runner: blocks (by runner_wait, so in simulation others
 * run) until the write is durable and published.
 */
#ifndef CONTROL_WRITE_H
#define CONTROL_WRITE_H

#include "control/runner.h"
#include "store/store.h"

/* Returns the code that store_write's `done` would get, or -ECANCELED when the runner was stopped.
 * After -ECANCELED the write has happened, or will never happen, and the caller does not know
 * which: unwind. The function and its context are no longer used when this returns, whatever it
 * returns. ret_revision may be NULL. */
int control_write(struct runner *runner, struct store *store, store_write_function function,
	void *context, uint64_t *ret_revision, struct err *err);

#endif
