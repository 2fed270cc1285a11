/*
 * The handle through which other components' threads notify a controller that may not have been
 * started yet, or may be stopping. During a call the controller is running; it is stopped only when
 * no call is in progress. Notifications to a closed handle are lost; controllers list when they
 * start.
 */
#ifndef CONTROL_CONTROLLER_HANDLE_H
#define CONTROL_CONTROLLER_HANDLE_H

#include "base/lock.h"
#include "control/controller.h"

struct controller_handle {
	struct runner *runner;
	struct runner_event *left; /* signalled when the last call has left */
	struct lock lock;
	/* Guarded by the lock: */
	struct controller *controller; /* NULL: closed */
	unsigned inside;
};

/* The name appears in the list of what a runner waits for. */
void controller_handle_init(struct controller_handle *handle, struct runner *runner,
	const char *name);
void controller_handle_destroy(struct controller_handle *handle); /* closed */

void controller_handle_open(struct controller_handle *handle, struct controller *controller);
/* Waits until no call is in progress, then stops the controller; fine if never opened. */
void controller_handle_close(struct controller_handle *handle);

/* NULL: closed, and nothing is to be left. */
struct controller *controller_handle_enter(struct controller_handle *handle);
void controller_handle_leave(struct controller_handle *handle);

#endif
