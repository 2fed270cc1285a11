/*
 * TCP connections. The client's bytes stay in its socket until a target has accepted, so a target
 * that refuses or does not answer costs only time: the next one gets the same connection, complete.
 * From then on each direction flows by itself and ends by itself (half-close), and a reset on one
 * side becomes a reset on the other: after the bytes that were sent before it, because a reset
 * discards unread bytes.
 */
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/memory.h"
#include "proxy/l4/flow.h"
#include "proxy/proxy_header.h"

#define WATCHED (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

enum tcp_state { TCP_STATE_CONNECTING, TCP_STATE_OPEN, TCP_STATE_DEAD };

struct tcp {
	struct link link;  /* connecting, connections, lingering or dead */
	struct link ready; /* when it has more to do */
	enum tcp_state state;
	struct side client, server;
	struct flow up, down; /* to the server, to the client */
	bool up_ended, down_ended;
	struct choice choice;
	uint32_t idle_timeout_ms, connect_timeout_ms;
	int64_t active_us; /* last progress; while connecting: start of this attempt */
	bool lingers;
	int unsent; /* at the last poll, while it lingers */
};

static void close_side(struct worker *worker, struct side *side)
{
	if (side->descriptor < 0)
		return;
	close(side->descriptor);
	side->descriptor = -1;
	worker->files--;
}

/* The next close sends a reset. */
static void make_abrupt(struct side *side)
{
	const struct linger abrupt = {.l_onoff = 1};

	if (side->descriptor >= 0)
		setsockopt(side->descriptor, SOL_SOCKET, SO_LINGER, &abrupt, sizeof(abrupt));
}

static void count_bytes(struct worker *worker, struct tcp *tcp)
{
	if (tcp->up.uncounted)
		choice_count(worker, &tcp->choice, L4_COUNT_bytes_in, tcp->up.uncounted);
	if (tcp->down.uncounted)
		choice_count(worker, &tcp->choice, L4_COUNT_bytes_out, tcp->down.uncounted);
	tcp->up.uncounted = tcp->down.uncounted = 0;
}

static void end(struct worker *worker, struct tcp *tcp)
{
	if (tcp->state == TCP_STATE_DEAD)
		return;
	if (tcp->state == TCP_STATE_OPEN)
		count_bytes(worker, tcp);
	flow_clear(worker, &tcp->up);
	flow_clear(worker, &tcp->down);
	close_side(worker, &tcp->client);
	close_side(worker, &tcp->server);
	choice_release(worker, &tcp->choice);
	atomic_fetch_sub_explicit(&tcp->choice.listener->counters.active[worker->slot], 1,
		memory_order_relaxed);
	tcp->state = TCP_STATE_DEAD;
	link_remove(&tcp->ready);
	link_remove(&tcp->link);
	link_append(&worker->dead, &tcp->link);
}

static void end_abruptly(struct worker *worker, struct tcp *tcp)
{
	make_abrupt(&tcp->client);
	make_abrupt(&tcp->server);
	end(worker, tcp);
}

void tcp_bury(struct worker *worker)
{
	while (!link_is_empty(&worker->dead)) {
		struct tcp *tcp = CONTAINER_OF(worker->dead.next, struct tcp, link);

		link_remove(&tcp->link);
		free(tcp);
	}
}

/* ---- open ---- */

static bool is_reset(const struct tcp *tcp)
{
	return tcp->client.reset || tcp->server.reset;
}

/* Bytes that the remaining side has not received yet. */
static int unsent_bytes(const struct tcp *tcp)
{
	const struct side *left = tcp->client.reset ? &tcp->server : &tcp->client;
	int bytes = 0;

	if (left->reset || ioctl(left->descriptor, SIOCOUTQ, &bytes) < 0)
		return 0;
	return bytes;
}

/* One side is reset. The other one gets its bytes, then the reset. */
static void linger(struct worker *worker, struct tcp *tcp)
{
	int unsent = unsent_bytes(tcp);

	if (!tcp->lingers) {
		tcp->lingers = true;
		choice_count(worker, &tcp->choice, L4_COUNT_resets, 1);
		tcp->active_us = worker->now_us;
		link_remove(&tcp->link);
		link_append(&worker->lingering, &tcp->link);
	} else if (unsent < tcp->unsent) {
		tcp->active_us = worker->now_us;
	}
	tcp->unsent = unsent;
	if (tcp->up_ended && tcp->down_ended && unsent == 0)
		end_abruptly(worker, tcp);
}

static void run(struct worker *worker, struct tcp *tcp)
{
	bool up_progress = false, down_progress = false, was_reset;
	enum flow_result up = FLOW_ENDED, down = FLOW_ENDED;

	do {
		was_reset = is_reset(tcp);
		if (!tcp->up_ended)
			up = flow_run(worker, &tcp->up, &tcp->client, &tcp->server, &up_progress);
		if (!tcp->down_ended)
			down = flow_run(worker, &tcp->down, &tcp->server, &tcp->client,
				&down_progress);
		if (up_progress || down_progress)
			tcp->active_us = worker->now_us;
		tcp->up_ended = up == FLOW_ENDED;
		tcp->down_ended = down == FLOW_ENDED;
		/* The second direction may have found out that the first must end. */
	} while (is_reset(tcp) != was_reset);
	link_remove(&tcp->ready);
	if (is_reset(tcp))
		linger(worker, tcp);
	else if (tcp->up_ended && tcp->down_ended)
		end(worker, tcp);
	if (tcp->state == TCP_STATE_OPEN && (up == FLOW_TURN || down == FLOW_TURN))
		link_append(&worker->ready, &tcp->ready);
}

void tcp_run_ready(struct worker *worker)
{
	struct link turn;

	/* Connections that become ready again wait for the next turn. */
	if (link_is_empty(&worker->ready))
		return;
	turn = worker->ready;
	turn.next->previous = &turn;
	turn.previous->next = &turn;
	link_init(&worker->ready);
	while (!link_is_empty(&turn)) {
		struct tcp *tcp = CONTAINER_OF(turn.next, struct tcp, ready);

		link_remove(&tcp->ready);
		run(worker, tcp);
	}
}

/* ---- connecting ---- */

static bool start_connect(struct worker *worker, struct tcp *tcp);

static void opened(struct worker *worker, struct tcp *tcp)
{
	tcp->state = TCP_STATE_OPEN;
	tcp->active_us = worker->now_us;
	link_remove(&tcp->link);
	link_append(&worker->connections, &tcp->link);
	choice_count(worker, &tcp->choice, L4_COUNT_connections, 1);
	tcp->server.writable = tcp->client.writable = true;
	if (atomic_load_explicit(&tcp->choice.listener->proxy_v2, memory_order_relaxed)) {
		union proxy_address client, local;
		socklen_t client_length = sizeof(client), local_length = sizeof(local);
		uint8_t header[PROXY_HEADER_MAX];

		if (getpeername(tcp->client.descriptor, &client.any, &client_length) < 0 ||
			getsockname(tcp->client.descriptor, &local.any, &local_length) < 0) {
			end_abruptly(worker, tcp);
			return;
		}
		flow_preload(&tcp->up, header, proxy_header_encode(&client, &local, header));
		tcp->client.readable = true;
	}
	run(worker, tcp);
}

/* The target did not accept. */
static void connect_failed(struct worker *worker, struct tcp *tcp)
{
	for (;;) {
		choice_count(worker, &tcp->choice, L4_COUNT_connect_failures, 1);
		close_side(worker, &tcp->server);
		choice_release(worker, &tcp->choice);
		if (!choice_next(worker, &tcp->choice)) {
			l4_count(&tcp->choice.listener->counters, L4_COUNT_failed, 1);
			end_abruptly(worker, tcp);
			return;
		}
		choice_count(worker, &tcp->choice, L4_COUNT_retries, 1);
		choice_hold(worker, &tcp->choice);
		if (start_connect(worker, tcp))
			return;
	}
}

static void server_ready(struct worker *worker, struct watch *watch, uint32_t events)
{
	struct tcp *tcp = CONTAINER_OF(watch, struct tcp, server.watch);
	int number = 0;
	socklen_t length = sizeof(number);

	if (tcp->state == TCP_STATE_DEAD || tcp->server.descriptor < 0)
		return;
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		tcp->server.readable = true;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		tcp->server.hung_up = true;
	if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
		tcp->server.writable = true;
	if (tcp->state == TCP_STATE_OPEN) {
		tcp->server.reset |= (events & EPOLLERR) != 0;
		run(worker, tcp);
		return;
	}
	if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return;
	if (getsockopt(tcp->server.descriptor, SOL_SOCKET, SO_ERROR, &number, &length) < 0 ||
		number != 0) {
		connect_failed(worker, tcp);
		return;
	}
	opened(worker, tcp);
}

/* False: it failed at once. Otherwise it is open, connecting, or dead. */
static bool start_connect(struct worker *worker, struct tcp *tcp)
{
	const union proxy_address *address = &choice_target(worker, &tcp->choice)->address;
	int one = 1;
	int descriptor =
		socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool done;

	if (descriptor < 0)
		return false;
	setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	tcp->server = (struct side){.watch.ready = server_ready, .descriptor = descriptor};
	worker->files++;
	tcp->active_us = worker->now_us;
	done = connect(descriptor, &address->any, proxy_address_length(address)) == 0;
	if (!done && errno != EINPROGRESS)
		return false;
	if (worker_watch(worker, descriptor, &tcp->server.watch, WATCHED) < 0)
		return false;
	if (done)
		opened(worker, tcp);
	return true;
}

static void client_ready(struct worker *worker, struct watch *watch, uint32_t events)
{
	struct tcp *tcp = CONTAINER_OF(watch, struct tcp, client.watch);

	if (tcp->state == TCP_STATE_DEAD)
		return;
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		tcp->client.readable = true;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		tcp->client.hung_up = true;
	if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
		tcp->client.writable = true;
	tcp->client.reset |= (events & EPOLLERR) != 0;
	if (tcp->state == TCP_STATE_OPEN)
		run(worker, tcp);
	else if (tcp->client.reset) /* it closed before any target accepted */
		end_abruptly(worker, tcp);
}

/* ---- accepting ---- */

static bool is_refused(struct worker *worker, struct l4_listener *listener)
{
	uint32_t most = atomic_load_explicit(&listener->max_connections, memory_order_relaxed);

	(void)worker;
	return most > 0 && l4_active(&listener->counters) >= most;
}

static void refuse(int descriptor)
{
	const struct linger abrupt = {.l_onoff = 1};

	setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &abrupt, sizeof(abrupt));
	close(descriptor);
}

static void begin(struct worker *worker, struct worker_listener *listener, int descriptor,
	const union proxy_address *client)
{
	struct l4_listener *shared = listener->shared;
	struct tcp *tcp;
	int one = 1;

	if (is_refused(worker, shared)) {
		l4_count(&shared->counters, L4_COUNT_refused, 1);
		refuse(descriptor);
		return;
	}
	setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	tcp = memory_allocate(sizeof(*tcp));
	tcp->client = (struct side){.watch.ready = client_ready, .descriptor = descriptor};
	tcp->server.descriptor = -1;
	flow_init(&tcp->up);
	flow_init(&tcp->down);
	tcp->choice.listener = shared;
	if (atomic_load_explicit(&shared->sticky_source, memory_order_relaxed))
		tcp->choice.hash = client_hash(client, false);
	tcp->idle_timeout_ms = atomic_load_explicit(&shared->idle_timeout_ms, memory_order_relaxed);
	tcp->connect_timeout_ms =
		atomic_load_explicit(&shared->connect_timeout_ms, memory_order_relaxed);
	tcp->active_us = worker->now_us;
	worker->files++;
	atomic_fetch_add_explicit(&shared->counters.active[worker->slot], 1, memory_order_relaxed);
	link_append(&worker->connecting, &tcp->link);
	if (!choice_first(worker, &tcp->choice)) {
		l4_count(&shared->counters, L4_COUNT_failed, 1);
		end_abruptly(worker, tcp);
		return;
	}
	choice_hold(worker, &tcp->choice);
	if (worker_watch(worker, descriptor, &tcp->client.watch, WATCHED) < 0) {
		end_abruptly(worker, tcp);
		return;
	}
	if (!start_connect(worker, tcp))
		connect_failed(worker, tcp);
}

void tcp_accept(struct worker *worker, struct watch *watch, uint32_t events)
{
	struct worker_listener *listener = CONTAINER_OF(watch, struct worker_listener, watch);

	(void)events;
	for (unsigned i = 0; i < WORKER_ACCEPTS && listener->descriptor >= 0; i++) {
		union proxy_address client;
		socklen_t length = sizeof(client);
		int descriptor;

		if (!worker_has_room(worker, 2)) {
			worker_pause_accepts(worker);
			return;
		}
		descriptor = accept4(listener->descriptor, &client.any, &length,
			SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (descriptor < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
				errno == ENOMEM)
				worker_pause_accepts(worker);
			if (errno == ECONNABORTED || errno == EINTR)
				continue;
			return;
		}
		begin(worker, listener, descriptor, &client);
	}
}

/* ---- time ---- */

static bool is_over(const struct worker *worker, const struct tcp *tcp, uint32_t limit_ms)
{
	return worker->now_us - tcp->active_us >= (int64_t)limit_ms * 1000;
}

void tcp_tick_connecting(struct worker *worker)
{
	struct link *next;

	for (struct link *at = worker->connecting.next; at != &worker->connecting; at = next) {
		struct tcp *tcp = CONTAINER_OF(at, struct tcp, link);

		next = at->next;
		if (is_over(worker, tcp, tcp->connect_timeout_ms))
			connect_failed(worker, tcp);
	}
}

void tcp_tick_lingering(struct worker *worker)
{
	struct link *next;

	for (struct link *at = worker->lingering.next; at != &worker->lingering; at = next) {
		struct tcp *tcp = CONTAINER_OF(at, struct tcp, link);

		next = at->next;
		if (is_over(worker, tcp, WORKER_LINGER_MS))
			end_abruptly(worker, tcp);
		else
			linger(worker, tcp);
	}
}

void tcp_tick(struct worker *worker)
{
	struct link *next;

	for (struct link *at = worker->connections.next; at != &worker->connections; at = next) {
		struct tcp *tcp = CONTAINER_OF(at, struct tcp, link);

		next = at->next;
		count_bytes(worker, tcp);
		if (choice_is_cut(worker, &tcp->choice)) {
			choice_count(worker, &tcp->choice, L4_COUNT_cut, 1);
			end_abruptly(worker, tcp);
		} else if (is_over(worker, tcp, tcp->idle_timeout_ms)) {
			choice_count(worker, &tcp->choice, L4_COUNT_idle_ends, 1);
			end_abruptly(worker, tcp);
		}
	}
}
