/*
 * slipway demo: shows the server with real programs. Its files:
 *
 *     demo_server.c   a separate server in a temporary folder, and calls to it over the wire
 *     demo_world.c    creates two versions of a service, a load balancer and a name (AWS APIs)
 *     demo_watch.c    clients that send requests continuously and count answers by version
 *     demo_web.c      the program of the tasks
 *     demo.c          the steps, the expected result of each, and the observed result
 */
#ifndef CLI_DEMO_H
#define CLI_DEMO_H

#include <signal.h>
#include <stdatomic.h>

#include "aws/call.h"
#include "base/memory.h"
#include "control/runner.h"
#include "proxy/proxy.h"
#include "server/server.h"

#define DEMO_WEB_PORT 8080 /* another one is used where this one is taken */
#define DEMO_WAITING_FOR_MAX 256
#define DEMO_VERSIONS 2 /* v1 and v2 */
#define DEMO_PATIENCE_MS 180000

/* ---- the server ---- */

struct demo_server {
	struct arena *arena; /* lives as long */
	char *folder;        /* NULL when there is none */
	struct server_config config;
	struct server *server;
	struct log *log;
	int log_descriptor;
	struct runner *runner;
	struct http_client *client;
	struct aws_target *target;
	struct remote *remote;
	sigset_t signals; /* that end the demo; blocked */
	bool interrupted;
	/* The condition that demo_wait() waits for; the condition may add detail. */
	char waiting_for[DEMO_WAITING_FOR_MAX];
	/* Shows it; called in every round of a wait. */
	void (*show_wait)(void *context, const char *waiting_for, int64_t waited_us);
	void *show_context;
};

int demo_server_open(struct demo_server *demo, struct err *err);
/* Ends the tasks and everything else, and removes the folder. */
void demo_server_close(struct demo_server *demo);

/* Calls an operation with a request that is a format of JSON. The answer lives as long as the demo. */
int demo_call(struct demo_server *demo, const char *service, const char *operation,
	const struct json **ret_answer, struct err *err, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* 1: it is so, 0: not yet, or an error. */
typedef int (*demo_condition)(void *context, struct err *err);
/* Asks until it is so. -ETIMEDOUT names `what`; -EINTR: a signal came. */
int demo_wait(struct demo_server *demo, const char *what, demo_condition condition, void *context,
	struct err *err);
/* A moment, or until a signal comes: -EINTR. */
int demo_pause(struct demo_server *demo, int milliseconds);
/* Waits until changes made with the load balancing API are in effect. */
int demo_wait_until_settled(struct demo_server *demo, struct err *err);
/* Where the listener of that port is reachable; NUL-terminated, of the demo's arena. */
int demo_find_listener(struct demo_server *demo, unsigned port, const char **ret_address,
	struct err *err);

/* ---- created objects ---- */

struct demo_world {
	struct demo_server *server;
	bool application; /* the load balancer: of requests; else of connections */
	bool network;     /* asked for: of connections, also where there could be one of requests */
	unsigned web_port;                            /* of the tasks */
	const char *listener, *groups[DEMO_VERSIONS]; /* ARNs */
	const char *address;                          /* of the load balancer */
	unsigned port;
	int64_t examined_us;               /* when the tasks were last listed */
	const char *namespace_name, *name; /* "demo.internal", "web.demo.internal" */
	const char *name_service;          /* its id in Cloud Map */
};

/* The steps of bringing it up, in this order. */
int demo_world_make_balancer(struct demo_world *world, struct err *err);
int demo_world_make_name(struct demo_world *world, struct err *err);
int demo_world_make_services(struct demo_world *world, struct err *err);
/* percent of the second version, by load balancer and by name. Returns when it is in effect. */
int demo_world_set_balancer_weight(struct demo_world *world, unsigned percent, struct err *err);
int demo_world_set_name_weight(struct demo_world *world, unsigned percent, struct err *err);

/* ---- clients that watch ---- */

struct demo_counts {
	uint64_t versions[DEMO_VERSIONS];
	uint64_t failed;
};

struct demo_watch {
	struct runner *runner;
	bool by_name; /* each request looks the name up and makes a connection */
	bool keep;    /* one connection for all requests */
	union proxy_address address, dns;
	const char *name;
	unsigned port;  /* behind the name */
	int connection; /* -1: none */
	atomic_bool stop;
	/* Requests that begin from now on and are counted apart; and how many of them are done. */
	atomic_uint window_left, window_done;
	/* Written by the watcher; the window's may be read when it is done, the total when it has ended. */
	struct demo_counts total, window;
	char failure[ERR_MESSAGE_MAX]; /* the first */
};

/* Sends requests, one after the other, until it is stopped. */
int demo_watch_start(struct demo_watch *watch, struct runner *parent, const char *name,
	struct err *err);
void demo_watch_stop(struct demo_watch *watch); /* one that was not started is fine */
void demo_watch_window(struct demo_watch *watch, unsigned requests);
bool demo_watch_window_is_done(struct demo_watch *watch, unsigned requests);

uint64_t demo_counts_sum(const struct demo_counts *counts);

#endif
