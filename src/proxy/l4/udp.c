/*
 * UDP. A session is a client and a target with a connected socket of its own between them, so any
 * number of responses find their client. In session mode a client has one; in datagram mode every
 * datagram is drawn anew and goes through the session of its client with that target. Sessions are
 * bounded: a new one evicts the one that was idle for longest.
 */
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/memory.h"
#include "proxy/l4/worker.h"

#define BUCKETS 65536
#define BATCHES_OF_A_TURN 8
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* The listener's address that a datagram was sent to; the response leaves from there. */
struct arrival {
	_Alignas(struct cmsghdr) char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

struct session {
	struct watch watch;
	struct link age; /* of its listener; the dead: of the graveyard */
	struct session *next_in_bucket;
	struct worker_listener *listener;
	union proxy_address client;
	uint64_t hash; /* of client and listener */
	int descriptor;
	struct choice choice;
	int64_t active_us;
	struct arrival arrival;
	size_t arrival_length; /* 0: irrelevant */
	bool fresh;            /* used since the last tick */
};

struct udp {
	struct session *buckets[BUCKETS];
	size_t session_count;
	struct link dead;
	/* One batch. */
	struct mmsghdr messages[WORKER_DATAGRAMS], outgoing[WORKER_DATAGRAMS];
	struct iovec parts[WORKER_DATAGRAMS], outgoing_parts[WORKER_DATAGRAMS];
	union proxy_address clients[WORKER_DATAGRAMS];
	struct arrival arrivals[WORKER_DATAGRAMS];
	char data[WORKER_DATAGRAMS][WORKER_SCRATCH];
};

int udp_new(struct worker *worker, struct err *err)
{
	(void)err;
	worker->udp = memory_allocate(sizeof(*worker->udp));
	link_init(&worker->udp->dead);
	return 0;
}

bool udp_is_idle(const struct worker *worker)
{
	return worker->udp->session_count == 0;
}

/* ---- remembered clients ---- */

_Static_assert(L4_STICKS % L4_STICKS_TOGETHER == 0, "every place is in a bucket");
_Static_assert(PROXY_TARGETS_MAX <= 1 << 15 && L4_ROUTE_SLOTS <= 1 << 5, "fit into a stick");

#define STICK_CLIENT (~UINT64_C(0xffffffff)) /* the bits of a hash that distinguish clients */

static uint64_t stick_value(struct worker *worker, uint64_t hash, const struct choice *choice)
{
	uint32_t incarnation = atomic_load(&choice_target(worker, choice)->incarnation);

	return (hash & STICK_CLIENT) | (uint64_t)(incarnation & 0xfff) << 20 |
	       (uint64_t)choice->route << 15 | choice->target;
}

static uint32_t seconds(const struct worker *worker)
{
	return (uint32_t)(worker->now_us / 1000000);
}

/* The possible entries of a client. */
static struct l4_stick *bucket_of(struct worker *worker, uint64_t hash)
{
	uint64_t bucket = hash % (L4_STICKS / L4_STICKS_TOGETHER);

	return &worker->shared->sticks[bucket * L4_STICKS_TOGETHER];
}

static struct l4_stick *find_stick(struct worker *worker, uint64_t hash)
{
	struct l4_stick *bucket = bucket_of(worker, hash);

	for (size_t i = 0; i < L4_STICKS_TOGETHER; i++) {
		uint64_t value =
			atomic_load_explicit(&bucket[i].client_and_target, memory_order_acquire);

		if (value != 0 && (value & STICK_CLIENT) == (hash & STICK_CLIENT))
			return &bucket[i];
	}
	return NULL;
}

/* An empty entry, or the one whose client was silent for longest. */
static struct l4_stick *find_place(struct worker *worker, uint64_t hash)
{
	struct l4_stick *bucket = bucket_of(worker, hash), *place = bucket;
	uint32_t now_s = seconds(worker), silent_s = 0;

	for (size_t i = 0; i < L4_STICKS_TOGETHER; i++) {
		uint32_t since_s = now_s - atomic_load(&bucket[i].seen_s);

		if (atomic_load(&bucket[i].client_and_target) == 0)
			return &bucket[i];
		/* Another worker's clock may be a little ahead. */
		if (since_s <= INT32_MAX && since_s > silent_s) {
			silent_s = since_s;
			place = &bucket[i];
		}
	}
	return place;
}

/* Two workers may take one entry at the same time: the later write wins. */
static void remember(struct worker *worker, const struct session *session)
{
	struct l4_stick *stick = find_stick(worker, session->hash);

	if (!stick)
		stick = find_place(worker, session->hash);
	atomic_store_explicit(&stick->seen_s, seconds(worker), memory_order_relaxed);
	atomic_store_explicit(&stick->client_and_target,
		stick_value(worker, session->hash, &session->choice), memory_order_release);
}

static void forget(struct worker *worker, const struct session *session)
{
	uint64_t value = stick_value(worker, session->hash, &session->choice);
	struct l4_stick *stick = find_stick(worker, session->hash);

	if (stick)
		atomic_compare_exchange_strong(&stick->client_and_target, &value, 0);
}

/* The client's target in a worker that is gone. */
static bool recall(struct worker *worker, uint64_t hash, uint32_t idle_timeout_ms,
	struct choice *choice)
{
	struct l4_stick *stick = find_stick(worker, hash);
	uint64_t value;

	if (!stick)
		return false;
	value = atomic_load_explicit(&stick->client_and_target, memory_order_acquire);
	choice->route = (uint32_t)(value >> 15) % L4_ROUTE_SLOTS;
	choice->target = (uint32_t)value % PROXY_TARGETS_MAX;
	choice->group = atomic_load(&choice->listener->routes[choice->route].group);
	choice->tried_count = 0;
	return choice->group < PROXY_GROUPS_MAX && stick_value(worker, hash, choice) == value &&
	       (uint64_t)(seconds(worker) - atomic_load(&stick->seen_s)) * 1000 <=
		       idle_timeout_ms &&
	       !choice_is_cut(worker, choice);
}

/* ---- sessions ---- */

static void end_session(struct worker *worker, struct session *session)
{
	struct udp *udp = worker->udp;
	struct session **at = &udp->buckets[session->hash % BUCKETS];

	if (session->descriptor < 0)
		return;
	while (*at != session)
		at = &(*at)->next_in_bucket;
	*at = session->next_in_bucket;
	close(session->descriptor);
	session->descriptor = -1;
	worker->files--;
	udp->session_count--;
	session->listener->udp_sessions--;
	choice_release(worker, &session->choice);
	atomic_fetch_sub_explicit(&session->choice.listener->counters.active[worker->slot], 1,
		memory_order_relaxed);
	link_remove(&session->age);
	link_append(&udp->dead, &session->age);
}

void udp_bury(struct worker *worker)
{
	while (!link_is_empty(&worker->udp->dead)) {
		struct session *session = CONTAINER_OF(worker->udp->dead.next, struct session, age);

		link_remove(&session->age);
		free(session);
	}
}

void udp_end_sessions(struct worker_listener *listener)
{
	while (!link_is_empty(&listener->udp_oldest))
		end_session(listener->worker,
			CONTAINER_OF(listener->udp_oldest.next, struct session, age));
}

void udp_free(struct worker *worker)
{
	if (!worker->udp)
		return;
	udp_bury(worker);
	free(TAKE(worker->udp));
}

static void touch(struct worker *worker, struct session *session)
{
	session->active_us = worker->now_us;
	session->fresh = true;
	link_remove(&session->age);
	link_append(&session->listener->udp_oldest, &session->age);
}

/* Responses: from the target to the client. */
static void session_ready(struct worker *worker, struct watch *watch, uint32_t events)
{
	struct session *session = CONTAINER_OF(watch, struct session, watch);
	struct udp *udp = worker->udp;
	uint64_t bytes = 0;
	int count, sent = 0;

	(void)events;
	if (session->descriptor < 0)
		return;
	for (size_t i = 0; i < WORKER_DATAGRAMS; i++) {
		udp->parts[i] = (struct iovec){udp->data[i], WORKER_SCRATCH};
		udp->messages[i].msg_hdr = (struct msghdr){
			.msg_iov = &udp->parts[i],
			.msg_iovlen = 1,
		};
	}
	count = recvmmsg(session->descriptor, udp->messages, WORKER_DATAGRAMS, MSG_DONTWAIT, NULL);
	if (count <= 0) {
		if (count < 0 && errno != EAGAIN && errno != EINTR) {
			/* No program listens; the next datagram goes to another target. */
			choice_count(worker, &session->choice, L4_COUNT_connect_failures, 1);
			forget(worker, session);
			end_session(worker, session);
		}
		return;
	}
	touch(worker, session);
	for (int i = 0; i < count; i++) {
		struct msghdr *header = &udp->messages[i].msg_hdr;

		udp->parts[i].iov_len = udp->messages[i].msg_len;
		header->msg_name = &session->client;
		header->msg_namelen = proxy_address_length(&session->client);
		if (session->arrival_length > 0) {
			header->msg_control = session->arrival.bytes;
			header->msg_controllen = session->arrival_length;
		}
		bytes += udp->messages[i].msg_len;
	}
	while (sent < count) {
		int n = sendmmsg(session->listener->descriptor, udp->messages + sent,
			(unsigned)(count - sent), MSG_DONTWAIT | MSG_NOSIGNAL);

		/* An error is about the first: skip it, as a network would lose it. */
		sent += n > 0 ? n : 1;
	}
	choice_count(worker, &session->choice, L4_COUNT_datagrams_out, (uint64_t)count);
	choice_count(worker, &session->choice, L4_COUNT_bytes_out, bytes);
}

static bool make_room(struct worker *worker, struct worker_listener *listener)
{
	uint32_t most =
		atomic_load_explicit(&listener->shared->udp_sessions_max, memory_order_relaxed);
	struct session *oldest;

	if (listener->udp_sessions < most && worker_has_room(worker, 1))
		return true;
	if (link_is_empty(&listener->udp_oldest))
		return false;
	oldest = CONTAINER_OF(listener->udp_oldest.next, struct session, age);
	choice_count(worker, &oldest->choice, L4_COUNT_evictions, 1);
	forget(worker, oldest);
	end_session(worker, oldest);
	return true;
}

/* NULL: the target cannot be reached. */
static struct session *open_session(struct worker *worker, struct worker_listener *listener,
	const union proxy_address *client, uint64_t hash, const struct choice *choice)
{
	const union proxy_address *address = &choice_target(worker, choice)->address;
	struct session *session;
	_close_ int descriptor =
		socket(address->any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (descriptor < 0 || connect(descriptor, &address->any, proxy_address_length(address)) < 0)
		return NULL;
	session = memory_allocate(sizeof(*session));
	session->watch.ready = session_ready;
	if (worker_watch(worker, descriptor, &session->watch, EPOLLIN) < 0) {
		free(session);
		return NULL;
	}
	session->listener = listener;
	session->client = *client;
	session->hash = hash;
	session->descriptor = TAKE_FD(descriptor);
	session->choice = *choice;
	session->choice.held = false;
	session->active_us = worker->now_us;
	session->next_in_bucket = worker->udp->buckets[hash % BUCKETS];
	worker->udp->buckets[hash % BUCKETS] = session;
	worker->udp->session_count++;
	worker->files++;
	listener->udp_sessions++;
	link_append(&listener->udp_oldest, &session->age);
	choice_hold(worker, &session->choice);
	choice_count(worker, &session->choice, L4_COUNT_connections, 1);
	atomic_fetch_add_explicit(&listener->shared->counters.active[worker->slot], 1,
		memory_order_relaxed);
	return session;
}

/* target: L4_NO_SLOT for any. */
static struct session *find_session(struct worker *worker, struct worker_listener *listener,
	const union proxy_address *client, uint64_t hash, uint32_t target)
{
	struct session *session = worker->udp->buckets[hash % BUCKETS];

	for (; session; session = session->next_in_bucket) {
		if (session->hash == hash && session->listener == listener &&
			proxy_address_equal(&session->client, client) &&
			(target == L4_NO_SLOT || session->choice.target == target))
			return session;
	}
	return NULL;
}

/* The session for a datagram, found or created; NULL: none is possible. */
static struct session *session_for(struct worker *worker, struct worker_listener *listener,
	const union proxy_address *client)
{
	struct l4_listener *shared = listener->shared;
	bool datagram_mode = atomic_load_explicit(&shared->udp_datagram, memory_order_relaxed);
	uint64_t hash = client_hash(client, true) ^ (uint64_t)listener->incarnation * SPREAD;
	struct choice choice = {.listener = shared};
	struct session *session;
	bool chosen = false;

	if (!datagram_mode) {
		session = find_session(worker, listener, client, hash, L4_NO_SLOT);
		if (session && !choice_is_cut(worker, &session->choice))
			return session;
		if (session) {
			choice_count(worker, &session->choice, L4_COUNT_cut, 1);
			end_session(worker, session);
		} else {
			chosen = recall(worker, hash, atomic_load(&shared->udp_idle_timeout_ms),
				&choice);
		}
	}
	if (!chosen) {
		if (atomic_load_explicit(&shared->sticky_source, memory_order_relaxed))
			choice.hash = client_hash(client, false);
		chosen = choice_first(worker, &choice);
	}
	if (chosen && datagram_mode) {
		session = find_session(worker, listener, client, hash, choice.target);
		if (session)
			return session;
	}
	for (; chosen; chosen = choice_next(worker, &choice)) {
		if (!make_room(worker, listener)) {
			l4_count(&shared->counters, L4_COUNT_refused, 1);
			return NULL;
		}
		session = open_session(worker, listener, client, hash, &choice);
		if (session) {
			if (!datagram_mode)
				remember(worker, session);
			return session;
		}
		choice_count(worker, &choice, L4_COUNT_connect_failures, 1);
	}
	l4_count(&shared->counters, L4_COUNT_failed, 1);
	return NULL;
}

/* ---- datagrams ---- */

static void note_arrival(struct session *session, const struct msghdr *header)
{
	struct msghdr own = {.msg_control = session->arrival.bytes};

	session->arrival_length = 0;
	if (!session->listener->local_is_any || header->msg_controllen == 0)
		return;
	memcpy(session->arrival.bytes, header->msg_control, header->msg_controllen);
	session->arrival_length = own.msg_controllen = header->msg_controllen;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(&own); part; part = CMSG_NXTHDR(&own, part)) {
		/* The kernel chooses the interface; only the address is set. */
		if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO)
			((struct in_pktinfo *)CMSG_DATA(part))->ipi_ifindex = 0;
	}
}

/* Sends messages [first, first + count) of the batch, all of one session. False: its target
 * refused, and the messages from *ret_sent on were not sent. */
static bool send_run(struct worker *worker, struct session *session, int first, int count,
	int *ret_sent)
{
	struct udp *udp = worker->udp;
	uint64_t bytes = 0;
	int sent = 0, delivered = 0;
	bool refused = false;

	for (int i = 0; i < count; i++) {
		udp->outgoing_parts[i] =
			(struct iovec){udp->data[first + i], udp->messages[first + i].msg_len};
		udp->outgoing[i].msg_hdr = (struct msghdr){
			.msg_iov = &udp->outgoing_parts[i],
			.msg_iovlen = 1,
		};
	}
	while (sent < count) {
		int n = count - sent == 1
				? (send(session->descriptor, udp->outgoing_parts[sent].iov_base,
					   udp->outgoing_parts[sent].iov_len,
					   MSG_DONTWAIT | MSG_NOSIGNAL) >= 0
						  ? 1
						  : -1)
				: sendmmsg(session->descriptor, udp->outgoing + sent,
					  (unsigned)(count - sent), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == ECONNREFUSED) {
			refused = true;
			break;
		}
		for (int i = 0; i < n; i++)
			bytes += udp->outgoing_parts[sent + i].iov_len;
		delivered += n > 0 ? n : 0;
		sent += n > 0 ? n : 1;
	}
	if (delivered > 0) {
		choice_count(worker, &session->choice, L4_COUNT_datagrams_in, (uint64_t)delivered);
		choice_count(worker, &session->choice, L4_COUNT_bytes_in, bytes);
	}
	*ret_sent = sent;
	return !refused;
}

static void carry(struct worker *worker, struct worker_listener *listener, int count)
{
	struct udp *udp = worker->udp;
	struct session *sessions[WORKER_DATAGRAMS];
	int tries[WORKER_DATAGRAMS] = {0};

	for (int first = 0, run; first < count; first += run) {
		int sent = 0;

		sessions[first] = session_for(worker, listener, &udp->clients[first]);
		run = 1;
		if (!sessions[first])
			continue;
		touch(worker, sessions[first]);
		note_arrival(sessions[first], &udp->messages[first].msg_hdr);
		/* In session mode the next ones of the same client go with it. */
		while (!atomic_load_explicit(&listener->shared->udp_datagram,
			       memory_order_relaxed) &&
			first + run < count &&
			proxy_address_equal(&udp->clients[first + run], &udp->clients[first]))
			run++;
		if (!send_run(worker, sessions[first], first, run, &sent)) {
			choice_count(worker, &sessions[first]->choice, L4_COUNT_connect_failures,
				1);
			forget(worker, sessions[first]);
			end_session(worker, sessions[first]);
			run = sent; /* unsent messages are retried on another target, a few times */
			if (++tries[first + sent] > PROXY_RETRIES_MAX)
				run++;
		}
	}
}

void udp_receive(struct worker *worker, struct watch *watch, uint32_t events)
{
	struct worker_listener *listener = CONTAINER_OF(watch, struct worker_listener, watch);
	struct udp *udp = worker->udp;

	(void)events;
	for (unsigned turn = 0; turn < BATCHES_OF_A_TURN && listener->descriptor >= 0; turn++) {
		int count;

		for (size_t i = 0; i < WORKER_DATAGRAMS; i++) {
			udp->parts[i] = (struct iovec){udp->data[i], WORKER_SCRATCH};
			udp->messages[i].msg_hdr = (struct msghdr){
				.msg_name = &udp->clients[i],
				.msg_namelen = sizeof(udp->clients[i]),
				.msg_iov = &udp->parts[i],
				.msg_iovlen = 1,
				.msg_control =
					listener->local_is_any ? udp->arrivals[i].bytes : NULL,
				.msg_controllen =
					listener->local_is_any ? sizeof(udp->arrivals[i].bytes) : 0,
			};
		}
		count = recvmmsg(listener->descriptor, udp->messages, WORKER_DATAGRAMS,
			MSG_DONTWAIT, NULL);
		if (count <= 0)
			return;
		carry(worker, listener, count);
		if (count < WORKER_DATAGRAMS)
			return;
	}
}

int udp_listen(struct worker_listener *listener, struct err *err)
{
	bool v6 = listener->local.any.sa_family == AF_INET6;
	int one = 1;

	link_init(&listener->udp_oldest);
	listener->local_is_any = v6 ? IN6_IS_ADDR_UNSPECIFIED(&listener->local.v6.sin6_addr)
				    : listener->local.v4.sin_addr.s_addr == htonl(INADDR_ANY);
	if (!listener->local_is_any)
		return 0;
	if (setsockopt(listener->descriptor, v6 ? IPPROTO_IPV6 : IPPROTO_IP,
		    v6 ? IPV6_RECVPKTINFO : IP_PKTINFO, &one, sizeof(one)) < 0)
		return err_errno(err, "ask for the addresses of datagrams");
	return 0;
}

/* ---- time ---- */

static void tick_listener(struct worker *worker, struct worker_listener *listener)
{
	int64_t limit_us = (int64_t)atomic_load(&listener->shared->udp_idle_timeout_ms) * 1000;
	struct link *next;

	for (struct link *at = listener->udp_oldest.next; at != &listener->udp_oldest; at = next) {
		struct session *session = CONTAINER_OF(at, struct session, age);

		next = at->next;
		if (choice_is_cut(worker, &session->choice)) {
			choice_count(worker, &session->choice, L4_COUNT_cut, 1);
			forget(worker, session);
			end_session(worker, session);
		} else if (worker->now_us - session->active_us >= limit_us) {
			choice_count(worker, &session->choice, L4_COUNT_idle_ends, 1);
			forget(worker, session);
			end_session(worker, session);
		} else if (session->fresh) {
			session->fresh = false;
			if (!atomic_load(&listener->shared->udp_datagram))
				remember(worker, session);
		}
	}
}

void udp_tick(struct worker *worker)
{
	if (worker->udp->session_count == 0)
		return;
	for (size_t i = 0; i < PROXY_LISTENERS_MAX; i++) {
		if (worker->listeners[i].udp_sessions > 0)
			tick_listener(worker, &worker->listeners[i]);
	}
}
