/* Counts the calls in progress; the last one to leave signals a pending close. */
#include "control/controller_handle.h"

#include "base/memory.h"

void controller_handle_init(struct controller_handle *handle, struct runner *runner,
	const char *name)
{
	*handle = (struct controller_handle){.runner = runner};
	handle->left = runner_event_new(runner, name);
	lock_init(&handle->lock);
}

void controller_handle_destroy(struct controller_handle *handle)
{
	runner_event_free(handle->left);
	lock_destroy(&handle->lock);
}

void controller_handle_open(struct controller_handle *handle, struct controller *controller)
{
	lock_take(&handle->lock);
	handle->controller = controller;
	lock_release(&handle->lock);
}

static bool is_empty(struct controller_handle *handle)
{
	bool empty;

	lock_take(&handle->lock);
	empty = handle->inside == 0;
	lock_release(&handle->lock);
	return empty;
}

void controller_handle_close(struct controller_handle *handle)
{
	struct controller *controller;
	uint64_t seen;

	lock_take(&handle->lock);
	controller = TAKE(handle->controller);
	lock_release(&handle->lock);
	for (seen = runner_event_count(handle->left); !is_empty(handle);
		seen = runner_event_count(handle->left))
		runner_wait_certain(handle->runner, handle->left, seen);
	controller_stop(controller);
}

struct controller *controller_handle_enter(struct controller_handle *handle)
{
	struct controller *controller;

	lock_take(&handle->lock);
	controller = handle->controller;
	if (controller)
		handle->inside++;
	lock_release(&handle->lock);
	return controller;
}

void controller_handle_leave(struct controller_handle *handle)
{
	bool last;

	lock_take(&handle->lock);
	last = --handle->inside == 0 && !handle->controller;
	lock_release(&handle->lock);
	if (last)
		runner_signal(handle->left);
}
