/* Who is inside is counted; the last one out tells whoever waits to close. */
#include "control/controller_door.h"

#include "base/memory.h"

void controller_door_init(struct controller_door *door, struct runner *runner, const char *name)
{
	*door = (struct controller_door){.runner = runner};
	door->left = runner_event_new(runner, name);
	lock_init(&door->lock);
}

void controller_door_destroy(struct controller_door *door)
{
	runner_event_free(door->left);
	lock_destroy(&door->lock);
}

void controller_door_open(struct controller_door *door, struct controller *controller)
{
	lock_take(&door->lock);
	door->controller = controller;
	lock_release(&door->lock);
}

static bool is_empty(struct controller_door *door)
{
	bool empty;

	lock_take(&door->lock);
	empty = door->inside == 0;
	lock_release(&door->lock);
	return empty;
}

void controller_door_close(struct controller_door *door)
{
	struct controller *controller;
	uint64_t seen;

	lock_take(&door->lock);
	controller = TAKE(door->controller);
	lock_release(&door->lock);
	for (seen = runner_event_count(door->left); !is_empty(door);
		seen = runner_event_count(door->left))
		runner_wait_certain(door->runner, door->left, seen);
	controller_stop(controller);
}

struct controller *controller_door_enter(struct controller_door *door)
{
	struct controller *controller;

	lock_take(&door->lock);
	controller = door->controller;
	if (controller)
		door->inside++;
	lock_release(&door->lock);
	return controller;
}

void controller_door_leave(struct controller_door *door)
{
	bool last;

	lock_take(&door->lock);
	last = --door->inside == 0 && !door->controller;
	lock_release(&door->lock);
	if (last)
		runner_signal(door->left);
}
