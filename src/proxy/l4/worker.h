/*
 * Internals of a worker: one thread, one epoll, all calls non-blocking. Each descriptor is
 * registered once, edge-triggered; work that is postponed for fairness waits in the ready list.
 * Objects that events may still point to are freed only after the batch of events.
 */
#ifndef PROXY_L4_WORKER_H
#define PROXY_L4_WORKER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "proxy/l4/shared.h"

#define WORKER_EVENTS 256        /* of one batch */
#define WORKER_ACCEPTS 64        /* of one listener in one turn */
#define WORKER_TURN_BYTES 524288 /* of one connection in one direction in one turn */
#define WORKER_SCRATCH 65536     /* one read; also the largest datagram */
#define WORKER_PIPE_BYTES 262144 /* asked for; the kernel may give less */
#define WORKER_PIPES_MAX 1024    /* beyond, bytes are copied */
#define WORKER_PIPES_KEPT 64
#define WORKER_DATAGRAMS 32 /* of one recvmmsg or sendmmsg */
#define WORKER_FILES_RESERVED 64
#define WORKER_TICK_MS 500
#define WORKER_CONNECT_TICK_MS 20
#define WORKER_LINGER_MS 30000    /* for the last bytes before a reset is passed on */
#define WORKER_ACCEPT_PAUSE_MS 50 /* when there are no descriptors left */

struct worker;

/* The target of epoll's pointers. */
struct watch {
	void (*ready)(struct worker *worker, struct watch *watch, uint32_t events);
};

struct link {
	struct link *next, *previous;
};

void link_init(struct link *head);
bool link_is_empty(const struct link *head);
void link_append(struct link *head, struct link *item);
void link_remove(struct link *item); /* a removed or zeroed item is fine */

struct worker_listener {
	struct watch watch;
	struct worker *worker;
	int descriptor; /* -1: not listening */
	bool paused;    /* not in epoll */
	uint32_t incarnation;
	struct l4_listener *shared;
	union proxy_address local;
	bool local_is_any;      /* datagrams must say to which address they came */
	uint32_t udp_sessions;  /* of this worker */
	struct link udp_oldest; /* its sessions, the one idle for longest first */
};

struct udp;

struct worker {
	struct watch control_watch;
	int control; /* -1: the supervisor is gone */
	int epoll;
	struct l4_shared *shared;
	unsigned slot;
	struct clock *clock;
	int64_t now_us;
	bool draining;
	int64_t until_us; /* without supervisor: its time limit; 0: it has one */
	bool failed;
	bool accepts_paused;
	int64_t accepts_resume_us;
	int64_t next_tick_us;
	uint32_t files_max, files; /* descriptors that connections and sessions have */
	struct worker_listener listeners[PROXY_LISTENERS_MAX];
	struct link connecting;  /* struct tcp, in the order they began */
	struct link connections; /* struct tcp, open */
	struct link lingering;   /* struct tcp with a reset to be passed on */
	struct link ready;       /* struct tcp with more to do */
	struct link dead;        /* struct tcp to be freed after the batch */
	int pipes[WORKER_PIPES_KEPT][2];
	size_t pipe_count, pipes_created;
	struct udp *udp;
	char scratch[WORKER_SCRATCH];
};

/* The target of a client, and the ones that failed. */
struct choice {
	struct l4_listener *listener;
	uint32_t route, group, target; /* slots */
	uint32_t tried[PROXY_RETRIES_MAX + 1];
	unsigned tried_count;
	uint64_t hash; /* of the client's address; 0: not sticky */
	bool held;     /* counted as active */
};

/* False: there is no target. Sets route, group and target. */
bool choice_first(struct worker *worker, struct choice *choice);
/* The target failed: choose another one, within the listener's limits. */
bool choice_next(struct worker *worker, struct choice *choice);
/* Counts it as open at route, group and target; and no more. Both do nothing the second time. */
void choice_hold(struct worker *worker, struct choice *choice);
void choice_release(struct worker *worker, struct choice *choice);
void choice_count(struct worker *worker, const struct choice *choice, enum l4_count which,
	uint64_t by);
struct l4_target *choice_target(struct worker *worker, const struct choice *choice);
/* Whether connections there must end now. */
bool choice_is_cut(struct worker *worker, const struct choice *choice);
uint64_t client_hash(const union proxy_address *client, bool with_port);

int worker_watch(struct worker *worker, int descriptor, struct watch *watch, uint32_t events);
/* Room for this many more descriptors; otherwise accepting pauses. */
bool worker_has_room(struct worker *worker, uint32_t files);
void worker_pause_accepts(struct worker *worker);

/* tcp.c */
void tcp_accept(struct worker *worker, struct watch *watch, uint32_t events);
void tcp_run_ready(struct worker *worker);
void tcp_tick_connecting(struct worker *worker);
void tcp_tick_lingering(struct worker *worker);
void tcp_tick(struct worker *worker);
void tcp_bury(struct worker *worker); /* after a batch */

/* udp.c */
int udp_new(struct worker *worker, struct err *err);
void udp_free(struct worker *worker);
int udp_listen(struct worker_listener *listener, struct err *err);
void udp_end_sessions(struct worker_listener *listener);
void udp_receive(struct worker *worker, struct watch *watch, uint32_t events);
void udp_tick(struct worker *worker);
void udp_bury(struct worker *worker);
bool udp_is_idle(const struct worker *worker); /* no session is left */

#endif
