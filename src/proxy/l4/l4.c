/* The driver: start and end, and calls that wait until the workers have followed. */
#include "proxy/l4/l4.h"

#include <sys/eventfd.h>

#include "base/memory.h"
#include "proxy/l4/supervisor.h"

static const char *const default_command[] = {"/proc/self/exe", "proxy-worker", NULL};

static struct l4 *l4_of(struct proxy_driver *driver)
{
	return CONTAINER_OF(driver, struct l4, driver);
}

/* ---- one at a time ---- */

static int begin(struct l4 *l4, struct err *err)
{
	for (;;) {
		uint64_t seen = runner_event_count(l4->event);
		bool mine;

		lock_take(&l4->lock);
		mine = !l4->busy;
		l4->busy = true;
		lock_release(&l4->lock);
		if (mine)
			return 0;
		if (runner_wait(l4->runner, l4->event, seen, RUNNER_FOREVER) < 0)
			return err_set(err, -ECANCELED, "the data plane is stopping");
	}
}

static void finish(struct l4 *l4)
{
	lock_take(&l4->lock);
	l4->busy = false;
	lock_release(&l4->lock);
	runner_signal(l4->event);
}

/* Requests an answer of all workers; returns its number. With the lock held. */
static uint32_t ask_for_sync(struct l4 *l4)
{
	const struct control_message sync = {.kind = CONTROL_SYNC, .value = ++l4->sync};

	workers_notify(l4, &sync, -1);
	return l4->sync;
}

static int wait_for_sync(struct l4 *l4, uint32_t sync, struct err *err)
{
	int64_t deadline = runner_deadline_us(l4->runner, L4_SYNC_TIMEOUT_MS * 1000);

	for (;;) {
		uint64_t seen = runner_event_count(l4->event);
		bool synced;
		int code;

		lock_take(&l4->lock);
		synced = workers_are_synced(l4, sync);
		lock_release(&l4->lock);
		if (synced)
			return 0;
		code = runner_wait(l4->runner, l4->event, seen, deadline);
		if (code == -ETIMEDOUT)
			return err_set(err, -ETIMEDOUT, "the proxy's workers do not answer");
		if (code < 0)
			return err_set(err, code, "the data plane is stopping");
	}
}

/* ---- the driver's calls ---- */

/* With the first listener. With the lock held. */
static int start_workers(struct l4 *l4, struct err *err)
{
	int code = workers_start(l4, 0, err);

	if (code < 0)
		return code;
	l4->working = true;
	for (unsigned i = 1; i < l4->worker_count; i++) {
		if (workers_start(l4, i, NULL) < 0)
			l4->restart_us[i] = runner_now_us(l4->runner);
	}
	workers_wake(l4); /* the polling thread knows none of them yet */
	return 0;
}

static int l4_apply(struct proxy_driver *driver, const struct proxy_state *state, struct err *err)
{
	struct l4 *l4 = l4_of(driver);
	uint32_t sync = 0;
	bool working;
	int code = begin(l4, err);

	if (code < 0)
		return code;
	lock_take(&l4->lock);
	if (!l4->working && state->listener_count > 0)
		code = start_workers(l4, err);
	if (code == 0)
		code = plane_apply(l4, state, err);
	if (l4->working && l4->listeners.count == 0)
		workers_rest(l4);
	working = l4->working;
	if (code == 0 && working)
		sync = ask_for_sync(l4);
	lock_release(&l4->lock);
	if (code == 0 && working)
		code = wait_for_sync(l4, sync, err);
	finish(l4);
	return code;
}

static int l4_set_weights(struct proxy_driver *driver, const char *listener,
	const struct proxy_route *routes, size_t route_count, struct err *err)
{
	struct l4 *l4 = l4_of(driver);
	int code;

	lock_take(&l4->lock);
	code = plane_set_weights(l4, listener, routes, route_count, err);
	lock_release(&l4->lock);
	return code;
}

static void l4_report(struct proxy_driver *driver, struct arena *arena, struct proxy_report *report)
{
	struct l4 *l4 = l4_of(driver);

	lock_take(&l4->lock);
	plane_report(l4, arena, report);
	lock_release(&l4->lock);
}

static void l4_free(struct proxy_driver *driver)
{
	struct l4 *l4 = l4_of(driver);

	runner_stop(l4->runner);
	workers_stop(l4);
	plane_clear(l4);
	runner_event_free(l4->event);
	runner_free(l4->runner);
	lock_destroy(&l4->lock);
	l4_shared_unmap(l4->shared);
	if (l4->memory >= 0)
		close(l4->memory);
	if (l4->wake >= 0)
		close(l4->wake);
	for (char **word = l4->command; *word; word++)
		free(*word);
	free(l4->command);
	free(l4);
}

static char **copy_command(const char *const *command)
{
	size_t count = 0;
	char **copy;

	while (command[count])
		count++;
	copy = memory_allocate_array(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = memory_copy_string(command[i]);
	return copy;
}

int l4_new(struct runner *runner, const struct l4_options *options,
	struct proxy_driver **ret_driver, struct err *err)
{
	struct l4 *l4;
	int code = 0;

	runner_assert_may_block(runner);
	if (options->workers > L4_WORKERS_MAX)
		return err_set(err, -EINVAL, "%u proxy workers, more than %d", options->workers,
			L4_WORKERS_MAX);
	l4 = memory_allocate(sizeof(*l4));
	l4->driver = (struct proxy_driver){
		.name = "l4",
		.protocols = 1u << PROXY_TCP | 1u << PROXY_UDP | 1u << PROXY_TLS,
		.apply = l4_apply,
		.set_weights = l4_set_weights,
		.report = l4_report,
		.free = l4_free,
	};
	lock_init(&l4->lock);
	l4->runner = runner_group_new(runner, "proxy");
	l4->event = runner_event_new(l4->runner, "proxy");
	l4->worker_count = options->workers ? options->workers : 1;
	l4->command =
		copy_command(options->worker_command ? options->worker_command : default_command);
	l4->memory = -1;
	l4->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (l4->wake < 0)
		code = err_errno(err, "make an eventfd");
	if (code == 0)
		code = l4_shared_create(&l4->memory, &l4->shared, err);
	if (code == 0)
		code = runner_spawn(l4->runner, "proxy-workers", workers_main, l4, err);
	if (code < 0) {
		l4_free(&l4->driver);
		return code;
	}
	*ret_driver = &l4->driver;
	return 0;
}

int l4_upgrade(struct proxy_driver *driver, struct err *err)
{
	struct l4 *l4 = l4_of(driver);
	bool old[L4_WORKER_SLOTS];
	uint32_t sync = 0;
	int code = begin(l4, err);

	if (code < 0)
		return code;
	lock_take(&l4->lock);
	if (!l4->working) {
		lock_release(&l4->lock);
		finish(l4);
		return 0;
	}
	++l4->sync; /* only the new ones must answer */
	sync = l4->sync;
	for (size_t i = 0; i < L4_WORKER_SLOTS; i++)
		old[i] = l4->workers[i].state == L4_WORKER_ACCEPTS;
	for (unsigned i = 0; i < l4->worker_count && code == 0; i++)
		code = workers_start(l4, i, err);
	lock_release(&l4->lock);
	workers_wake(l4);
	if (code == 0)
		code = wait_for_sync(l4, sync, err);
	lock_take(&l4->lock);
	for (unsigned i = 0; i < L4_WORKER_SLOTS; i++) {
		/* If the new ones do not start, the old ones stay, and new ones that did start are
		 * ended. */
		if (l4->workers[i].state == L4_WORKER_ACCEPTS && old[i] == (code == 0))
			workers_drain(l4, i);
	}
	lock_release(&l4->lock);
	finish(l4);
	return code;
}

void l4_leave(struct proxy_driver *driver)
{
	struct l4 *l4 = l4_of(driver);

	lock_take(&l4->lock);
	l4->leaving = true;
	lock_release(&l4->lock);
}

size_t l4_workers(struct proxy_driver *driver, pid_t out[L4_WORKERS_MAX])
{
	struct l4 *l4 = l4_of(driver);
	size_t count = 0;

	lock_take(&l4->lock);
	for (size_t i = 0; i < L4_WORKER_SLOTS && count < L4_WORKERS_MAX; i++) {
		if (l4->workers[i].state == L4_WORKER_ACCEPTS)
			out[count++] = l4->workers[i].pid;
	}
	lock_release(&l4->lock);
	return count;
}
