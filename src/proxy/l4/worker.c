/* The worker's process: the event loop, messages of the supervisor, and the clock. */
#include "proxy/l4/worker.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/memory.h"
#include "proxy/l4/control.h"

/* ---- lists ---- */

void link_init(struct link *head)
{
	head->next = head->previous = head;
}

bool link_is_empty(const struct link *head)
{
	return head->next == head;
}

void link_append(struct link *head, struct link *item)
{
	item->previous = head->previous;
	item->next = head;
	head->previous->next = item;
	head->previous = item;
}

void link_remove(struct link *item)
{
	if (!item->next)
		return;
	item->next->previous = item->previous;
	item->previous->next = item->next;
	item->next = item->previous = NULL;
}

/* ---- descriptors ---- */

int worker_watch(struct worker *worker, int descriptor, struct watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	return epoll_ctl(worker->epoll, EPOLL_CTL_ADD, descriptor, &event) < 0 ? -errno : 0;
}

bool worker_has_room(struct worker *worker, uint32_t files)
{
	return worker->files + files <= worker->files_max;
}

static void resume_listener(struct worker *worker, struct worker_listener *listener)
{
	if (listener->descriptor < 0 || !listener->paused)
		return;
	/* One of several workers wakes. */
	listener->paused = worker_watch(worker, listener->descriptor, &listener->watch,
				   EPOLLIN | EPOLLEXCLUSIVE) < 0;
}

void worker_pause_accepts(struct worker *worker)
{
	worker->accepts_paused = true;
	worker->accepts_resume_us = worker->now_us + WORKER_ACCEPT_PAUSE_MS * 1000;
	for (size_t i = 0; i < PROXY_LISTENERS_MAX; i++) {
		struct worker_listener *listener = &worker->listeners[i];

		if (listener->descriptor < 0 || listener->paused ||
			listener->watch.ready != tcp_accept)
			continue;
		epoll_ctl(worker->epoll, EPOLL_CTL_DEL, listener->descriptor, NULL);
		listener->paused = true;
	}
}

static void resume_accepts(struct worker *worker)
{
	worker->accepts_paused = false;
	if (worker->draining)
		return;
	for (size_t i = 0; i < PROXY_LISTENERS_MAX; i++)
		resume_listener(worker, &worker->listeners[i]);
}

/* ---- listeners ---- */

/* Other processes have the same socket open, so closing alone would leave it in this epoll. */
static void unwatch_listener(struct worker *worker, struct worker_listener *listener)
{
	if (!listener->paused)
		epoll_ctl(worker->epoll, EPOLL_CTL_DEL, listener->descriptor, NULL);
	listener->paused = true;
}

static void close_listener(struct worker *worker, struct worker_listener *listener)
{
	if (listener->descriptor < 0)
		return;
	if (listener->watch.ready == udp_receive)
		udp_end_sessions(listener);
	unwatch_listener(worker, listener);
	close(listener->descriptor);
	listener->descriptor = -1;
}

static int open_listener(struct worker *worker, const struct control_message *message,
	int descriptor, struct err *err)
{
	struct worker_listener *listener = &worker->listeners[message->slot];
	socklen_t length = sizeof(listener->local);
	bool udp;

	close_listener(worker, listener);
	listener->worker = worker;
	listener->shared = &worker->shared->listeners[message->slot];
	listener->incarnation = message->incarnation;
	listener->descriptor = descriptor;
	listener->udp_sessions = 0;
	listener->paused = true;
	memset(&listener->local, 0, sizeof(listener->local));
	if (getsockname(descriptor, &listener->local.any, &length) < 0)
		return err_errno(err, "ask for the address of listener %u", message->slot);
	udp = atomic_load(&listener->shared->protocol) == PROXY_UDP;
	listener->watch.ready = udp ? udp_receive : tcp_accept;
	if (udp) {
		int code = udp_listen(listener, err);

		if (code < 0)
			return code;
	}
	if (udp || !worker->accepts_paused)
		resume_listener(worker, listener);
	if (udp && listener->paused)
		return err_set(err, -EIO, "cannot watch listener %u", message->slot);
	return 0;
}

/* ---- the supervisor ---- */

/* keep_udp: responses to carried datagrams still leave from the listening socket. */
static void stop_listening(struct worker *worker, bool keep_udp)
{
	worker->draining = true;
	for (size_t i = 0; i < PROXY_LISTENERS_MAX; i++) {
		struct worker_listener *listener = &worker->listeners[i];

		if (listener->descriptor < 0)
			continue;
		if (keep_udp && listener->watch.ready == udp_receive)
			unwatch_listener(worker, listener);
		else
			close_listener(worker, listener);
	}
}

static int obey(struct worker *worker, const struct control_message *message, int *descriptor,
	struct err *err)
{
	struct worker_listener *listener = &worker->listeners[message->slot];
	struct control_message answer = {.kind = CONTROL_SYNCED, .value = message->value};

	switch ((enum control_kind)message->kind) {
	case CONTROL_LISTEN:
		if (worker->draining)
			return 0;
		return open_listener(worker, message, TAKE_FD(*descriptor), err);
	case CONTROL_CLOSE:
		if (listener->incarnation == message->incarnation)
			close_listener(worker, listener);
		return 0;
	case CONTROL_CHECK: worker->next_tick_us = 0; return 0;
	case CONTROL_DRAIN: stop_listening(worker, true); return 0;
	case CONTROL_SYNC: return control_send(worker->control, &answer, -1, err);
	default: return err_set(err, -EPROTO, "control message %u at a wrong time", message->kind);
	}
}

static void control_ready(struct worker *worker, struct watch *watch, uint32_t events)
{
	struct err err;

	(void)watch;
	(void)events;
	for (;;) {
		struct control_message message;
		_close_ int descriptor = -1;
		int code = control_receive(worker->control, true, &message, &descriptor, &err);

		if (code == -EAGAIN)
			return;
		if (code == 0)
			code = obey(worker, &message, &descriptor, &err);
		if (code == 0)
			continue;
		if (code == -ECONNRESET || code == -EPIPE) {
			/* The next process needs the ports; open connections continue. */
			epoll_ctl(worker->epoll, EPOLL_CTL_DEL, worker->control, NULL);
			close(worker->control);
			worker->control = -1;
			worker->until_us = worker->now_us + L4_LEFT_ALONE_S * INT64_C(1000000);
			stop_listening(worker, false);
			return;
		}
		fprintf(stderr, "slipway proxy-worker: %s\n", err.message);
		worker->failed = true;
		return;
	}
}

/* The first message, for which this waits. */
static int greet(struct worker *worker, struct err *err)
{
	struct control_message message;
	_close_ int descriptor = -1;
	int code;

	for (;;) {
		struct epoll_event event;

		code = control_receive(worker->control, true, &message, &descriptor, err);
		if (code != -EAGAIN)
			break;
		epoll_wait(worker->epoll, &event, 1, -1);
	}
	if (code < 0)
		return code;
	if (message.kind != CONTROL_HELLO)
		return err_set(err, -EPROTO, "the first control message is %u", message.kind);
	worker->slot = message.slot;
	return l4_shared_map(descriptor, &worker->shared, err);
}

/* ---- the loop ---- */

static bool is_finished(const struct worker *worker)
{
	if (worker->until_us > 0 && worker->now_us >= worker->until_us)
		return true;
	return worker->draining && link_is_empty(&worker->connecting) &&
	       link_is_empty(&worker->connections) && link_is_empty(&worker->lingering) &&
	       udp_is_idle(worker);
}

static int timeout_ms(const struct worker *worker)
{
	int64_t tick;

	if (!link_is_empty(&worker->ready))
		return 0;
	if (!link_is_empty(&worker->connecting) || !link_is_empty(&worker->lingering))
		return WORKER_CONNECT_TICK_MS;
	if (worker->accepts_paused)
		return WORKER_ACCEPT_PAUSE_MS;
	if (link_is_empty(&worker->connections) && udp_is_idle(worker))
		return -1;
	tick = (worker->next_tick_us - worker->now_us) / 1000 + 1;
	return tick < 1 ? 0 : tick > WORKER_TICK_MS ? WORKER_TICK_MS : (int)tick;
}

static void tick(struct worker *worker)
{
	if (!link_is_empty(&worker->connecting))
		tcp_tick_connecting(worker);
	if (!link_is_empty(&worker->lingering))
		tcp_tick_lingering(worker);
	if (worker->accepts_paused && worker->now_us >= worker->accepts_resume_us)
		resume_accepts(worker);
	if (worker->now_us < worker->next_tick_us)
		return;
	worker->next_tick_us = worker->now_us + WORKER_TICK_MS * 1000;
	tcp_tick(worker);
	udp_tick(worker);
}

static void loop(struct worker *worker)
{
	struct epoll_event events[WORKER_EVENTS];

	while (!worker->failed && !is_finished(worker)) {
		int count = epoll_wait(worker->epoll, events, WORKER_EVENTS, timeout_ms(worker));

		worker->now_us = clock_steady_us(worker->clock);
		for (int i = 0; i < count; i++) {
			struct watch *watch = events[i].data.ptr;

			watch->ready(worker, watch, events[i].events);
		}
		tcp_run_ready(worker);
		tick(worker);
		tcp_bury(worker);
		udp_bury(worker);
	}
}

static void set_limits(struct worker *worker)
{
	struct rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024};

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur > PROXY_CONNECTIONS_MAX * UINT64_C(2))
		limit.rlim_cur = PROXY_CONNECTIONS_MAX * UINT64_C(2);
	worker->files_max = (uint32_t)limit.rlim_cur;
	if (worker->files_max > WORKER_FILES_RESERVED + PROXY_LISTENERS_MAX)
		worker->files_max -= WORKER_FILES_RESERVED + PROXY_LISTENERS_MAX;
	else
		worker->files_max /= 2;
}

int proxy_worker_main(int argc, char **argv)
{
	struct worker *worker = memory_allocate(sizeof(*worker));
	struct err err;
	int code = 0;

	(void)argc;
	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, "slipway-proxy");
	set_limits(worker);
	worker->clock = clock_system();
	worker->now_us = clock_steady_us(worker->clock);
	worker->control = CONTROL_DESCRIPTOR;
	worker->control_watch.ready = control_ready;
	for (size_t i = 0; i < PROXY_LISTENERS_MAX; i++)
		worker->listeners[i].descriptor = -1;
	link_init(&worker->connecting);
	link_init(&worker->connections);
	link_init(&worker->lingering);
	link_init(&worker->ready);
	link_init(&worker->dead);
	worker->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (worker->epoll < 0)
		code = err_errno(&err, "make an epoll");
	if (code == 0) {
		code = worker_watch(worker, worker->control, &worker->control_watch, EPOLLIN);
		if (code < 0)
			err_system(&err, -code, "descriptor %d is not a control socket",
				worker->control);
	}
	if (code == 0)
		code = greet(worker, &err);
	if (code == 0)
		code = udp_new(worker, &err);
	if (code == 0)
		loop(worker);
	else
		fprintf(stderr, "slipway proxy-worker: %s\n", err.message);
	if (worker->failed)
		code = -EPROTO;
	udp_free(worker);
	l4_shared_unmap(worker->shared);
	free(worker);
	return code < 0 ? 1 : 0;
}
