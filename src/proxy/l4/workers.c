/* The processes: started, notified, polled, replaced when they die, and ended. */
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "base/memory.h"
#include "proxy/l4/supervisor.h"

extern char **environ;

/* ---- starting ---- */

static int spawn(struct l4 *l4, int control, pid_t *ret_pid, struct err *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int number;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, control, CONTROL_DESCRIPTOR);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	/* A group of its own: signals from a terminal to the server do not end the traffic. */
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	number = posix_spawn(ret_pid, l4->command[0], &actions, &attributes, l4->command, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (number != 0)
		return err_system(err, number, "start a proxy worker with '%s'", l4->command[0]);
	return 0;
}

/* Sends, and ends the worker if that fails: the polling thread replaces it. */
static void report(struct l4_worker *worker, const struct control_message *message, int descriptor)
{
	if (control_send(worker->control, message, descriptor, NULL) < 0)
		kill(worker->pid, SIGKILL);
}

static bool has_listener(const struct l4 *l4, const struct l4_worker *worker,
	const struct plane_listener *listener)
{
	/* Datagrams of one client must go to one worker. */
	return listener->protocol != PROXY_UDP ||
	       listener->slot % l4->worker_count == worker->index;
}

static void report_listener(struct l4 *l4, struct l4_worker *worker,
	const struct plane_listener *listener, bool open)
{
	const struct control_message message = {
		.kind = open ? CONTROL_LISTEN : CONTROL_CLOSE,
		.slot = listener->slot,
		.incarnation = listener->incarnation,
	};

	if (has_listener(l4, worker, listener))
		report(worker, &message, open ? listener->descriptor : -1);
}

int workers_start(struct l4 *l4, unsigned index, struct err *err)
{
	struct l4_worker *worker = NULL;
	const struct timeval limit = {.tv_sec = L4_SEND_TIMEOUT_S};
	struct control_message message = {.kind = CONTROL_HELLO};
	_close_ int ours = -1;
	_close_ int theirs = -1;
	int pair[2];
	pid_t pid;
	int code;

	for (size_t i = 0; i < L4_WORKER_SLOTS && !worker; i++) {
		if (l4->workers[i].state == L4_WORKER_NONE)
			worker = &l4->workers[i];
	}
	if (!worker)
		return err_set(err, -EBUSY, "%d old proxy workers still carry connections",
			L4_WORKER_SLOTS - (int)l4->worker_count);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, "make a control socket");
	ours = pair[0];
	theirs = pair[1];
	setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	code = spawn(l4, theirs, &pid, err);
	if (code < 0)
		return code;
	*worker = (struct l4_worker){
		.state = L4_WORKER_ACCEPTS,
		.index = index,
		.pid = pid,
		.control = TAKE_FD(ours),
		.synced = l4->sync - 1,
		.started_us = runner_now_us(l4->runner),
	};
	l4->worker_starts++;
	l4->restart_us[index] = 0;
	message.slot = (uint32_t)(worker - l4->workers);
	/* Close before the socket can fill up: only the holder of the other end empties it. */
	close(TAKE_FD(theirs));
	report(worker, &message, l4->memory);
	MAP_EACH (&l4->listeners, entry) {
		const struct plane_listener *listener = entry->value;

		if (listener->reported)
			report_listener(l4, worker, listener, true);
	}
	message = (struct control_message){.kind = CONTROL_SYNC, .value = l4->sync};
	report(worker, &message, -1);
	return 0;
}

void workers_rest(struct l4 *l4)
{
	l4->working = false;
	for (unsigned i = 0; i < l4->worker_count; i++)
		l4->restart_us[i] = 0;
	for (unsigned i = 0; i < L4_WORKER_SLOTS; i++)
		workers_drain(l4, i);
}

/* ---- notifying ---- */

void workers_notify(struct l4 *l4, const struct control_message *message, int descriptor)
{
	for (size_t i = 0; i < L4_WORKER_SLOTS; i++) {
		/* Old ones carry connections to targets, too. */
		if (l4->workers[i].state == L4_WORKER_ACCEPTS ||
			(l4->workers[i].state == L4_WORKER_DRAINS &&
				message->kind == CONTROL_CHECK))
			report(&l4->workers[i], message, descriptor);
	}
}

void workers_notify_listener(struct l4 *l4, struct plane_listener *listener, bool open)
{
	for (size_t i = 0; i < L4_WORKER_SLOTS; i++) {
		if (l4->workers[i].state == L4_WORKER_ACCEPTS ||
			(l4->workers[i].state == L4_WORKER_DRAINS && !open))
			report_listener(l4, &l4->workers[i], listener, open);
	}
}

bool workers_are_synced(const struct l4 *l4, uint32_t sync)
{
	unsigned synced = 0;

	for (size_t i = 0; i < L4_WORKER_SLOTS; i++)
		synced += l4->workers[i].state == L4_WORKER_ACCEPTS &&
			  (int32_t)(l4->workers[i].synced - sync) >= 0;
	return synced >= l4->worker_count;
}

void workers_drain(struct l4 *l4, unsigned worker_slot)
{
	const struct control_message drain = {.kind = CONTROL_DRAIN};

	if (l4->workers[worker_slot].state != L4_WORKER_ACCEPTS)
		return;
	l4->workers[worker_slot].state = L4_WORKER_DRAINS;
	report(&l4->workers[worker_slot], &drain, -1);
}

void workers_wake(struct l4 *l4)
{
	uint64_t one = 1;
	ssize_t written = write(l4->wake, &one, sizeof(one));

	(void)written; /* full means that it will wake up */
}

/* ---- watching ---- */

static void bury(struct l4 *l4, struct l4_worker *worker)
{
	int64_t now = runner_now_us(l4->runner);
	bool young = now - worker->started_us < L4_SHORT_LIFE_MS * 1000;
	unsigned index = worker->index;
	int64_t *delay = &l4->restart_delay_ms[index];

	kill(worker->pid, SIGKILL);
	while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(worker->control);
	l4_forget_worker(l4->shared, (unsigned)(worker - l4->workers));
	if (worker->state == L4_WORKER_ACCEPTS && !l4->stopping) {
		/* The first restart is immediate; further ones back off. */
		l4->restart_us[index] = now + *delay * 1000;
		*delay = !young ? 0 : *delay ? *delay * 2 : 10;
		if (*delay > L4_RESTART_DELAY_MAX_MS)
			*delay = L4_RESTART_DELAY_MAX_MS;
	}
	worker->state = L4_WORKER_NONE;
	for (size_t i = 0; i < L4_WORKER_SLOTS; i++) {
		/* During an upgrade the next one exists already. */
		if (l4->workers[i].state == L4_WORKER_ACCEPTS && l4->workers[i].index == index)
			l4->restart_us[index] = 0;
	}
}

static void listen_to(struct l4 *l4, struct l4_worker *worker)
{
	for (;;) {
		struct control_message message;
		int descriptor, code;

		code = control_receive(worker->control, false, &message, &descriptor, NULL);
		if (code == -EAGAIN)
			return;
		if (code < 0) {
			bury(l4, worker);
			return;
		}
		worker->synced = message.value; /* the only kind in this direction */
	}
}

static int64_t restart_due(struct l4 *l4)
{
	int64_t next = INT64_MAX;

	for (unsigned i = 0; i < l4->worker_count; i++) {
		if (l4->restart_us[i] == 0)
			continue;
		if (l4->restart_us[i] <= runner_now_us(l4->runner) &&
			workers_start(l4, i, NULL) < 0)
			l4->restart_us[i] =
				runner_now_us(l4->runner) + L4_RESTART_DELAY_MAX_MS * 1000;
		if (l4->restart_us[i] != 0 && l4->restart_us[i] < next)
			next = l4->restart_us[i];
	}
	return next;
}

void workers_main(void *context)
{
	struct l4 *l4 = context;

	for (;;) {
		struct pollfd polled[L4_WORKER_SLOTS + 1] = {{.fd = l4->wake, .events = POLLIN}};
		struct l4_worker *which[L4_WORKER_SLOTS + 1];
		size_t count = 1;
		int64_t next, wait_ms = -1;
		uint64_t wakes;

		lock_take(&l4->lock);
		if (l4->stopping) {
			lock_release(&l4->lock);
			return;
		}
		next = restart_due(l4);
		if (next != INT64_MAX)
			wait_ms = (next - runner_now_us(l4->runner)) / 1000 + 1;
		if (next != INT64_MAX && wait_ms < 0)
			wait_ms = 0;
		for (size_t i = 0; i < L4_WORKER_SLOTS; i++) {
			if (l4->workers[i].state == L4_WORKER_NONE)
				continue;
			which[count] = &l4->workers[i];
			polled[count++] =
				(struct pollfd){.fd = l4->workers[i].control, .events = POLLIN};
		}
		lock_release(&l4->lock);
		poll(polled, count, (int)wait_ms);
		if (polled[0].revents && read(l4->wake, &wakes, sizeof(wakes)) < 0)
			continue;
		lock_take(&l4->lock);
		for (size_t i = 1; i < count; i++) {
			/* Only this thread frees workers, so it is still the same one. */
			if (polled[i].revents && which[i]->state != L4_WORKER_NONE)
				listen_to(l4, which[i]);
		}
		lock_release(&l4->lock);
		runner_signal(l4->event);
	}
}

void workers_stop(struct l4 *l4)
{
	lock_take(&l4->lock);
	l4->stopping = true;
	lock_release(&l4->lock);
	workers_wake(l4);
	runner_join(l4->runner, NULL);
	for (size_t i = 0; i < L4_WORKER_SLOTS; i++) {
		if (l4->workers[i].state == L4_WORKER_NONE)
			continue;
		if (l4->leaving)
			close(l4->workers[i].control);
		else
			bury(l4, &l4->workers[i]);
	}
}
