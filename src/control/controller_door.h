/*
 * The door through which somebody else's threads bring notices to a controller that may not have been started
 * yet, or may just be stopping: whoever is inside finds it running, and it is stopped when nobody is inside any
 * more. What is brought while the door is closed is lost; controllers list when they start.
 */
#ifndef CONTROL_CONTROLLER_DOOR_H
#define CONTROL_CONTROLLER_DOOR_H

#include "control/controller.h"
#include "control/lock.h"

struct controller_door {
	struct runner *runner;
	struct runner_event *left; /* signalled when nobody is inside any more */
	struct lock lock;
	/* Guarded by the lock: */
	struct controller *controller; /* NULL: closed */
	unsigned inside;
};

/* The name is for people who look at what a runner waits for. */
void controller_door_init(struct controller_door *door, struct runner *runner, const char *name);
void controller_door_destroy(struct controller_door *door); /* closed */

void controller_door_open(struct controller_door *door, struct controller *controller);
/* Waits until nobody is inside, and stops the controller; fine if it was never opened. */
void controller_door_close(struct controller_door *door);

/* NULL: closed, and nothing is to be left. */
struct controller *controller_door_enter(struct controller_door *door);
void controller_door_leave(struct controller_door *door);

#endif
