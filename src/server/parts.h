/* What the files of server/ share: the parts of a server, and the handlers of its routes. */
#ifndef SERVER_PARTS_H
#define SERVER_PARTS_H

#include <stdatomic.h>

#include "aws/access_key.h"
#include "aws/dispatch.h"
#include "base/log.h"
#include "base/map.h"
#include "control/controller.h"
#include "control/lock.h"
#include "control/runner.h"
#include "ecs/ecs.h"
#include "ecs/instance_keeper.h"
#include "ecs/task_controller.h"
#include "io/http_server.h"
#include "runtime/simulated/simulated.h"
#include "server/admin_key.h"
#include "server/audit.h"
#include "server/config.h"

#define SERVER_CONTROLLERS_MAX 16
#define SERVER_TASK_STREAMS_MAX 64 /* each has a thread */

struct server {
	const struct server_config *config;
	struct log *log;
	struct clock *clock;
	struct random *random;
	struct store *store;
	struct audit *audit;
	struct access_key_ring *ring;
	struct aws_dispatcher *dispatcher;
	struct runner *runner;
	struct controller *controllers[SERVER_CONTROLLERS_MAX];
	const struct controller_row *controller_rows[SERVER_CONTROLLERS_MAX];
	size_t controller_count;
	struct runtime *runtime; /* NULL: none */
	struct simulated_world *world;
	struct task_controller *task_controller;
	struct instance_keeper *keeper;
	_Atomic bool keeper_runs;
	char host[ID_HEX_SIZE]; /* tells this server's runtime from those that share its store */
	char *task_folder;
	bool task_folder_is_temporary;
	_Atomic unsigned task_streams; /* logs and programs that are being followed */
	struct lock exec_lock;
	struct map exec_sessions; /* guarded by the lock: see task_exec.c */
	struct http_server *http;
	char *url;
	struct ecs_context ecs; /* what handlers know; complete when `open` is set */
	struct admin_key admin_key;
	int64_t started_ms;
	/* Requests may come while the listener is still being opened, before its handle and address are
	 * known to the rest: until then they are sent away. */
	_Atomic bool open;
	_Atomic bool draining;
};

typedef void (*route_handler)(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);

/* Answers in JSON: {"code":…,"message":…} is what slipway's own REST API says when it refuses. */
void rest_respond(struct http_exchange *exchange, int status, struct span json);
void rest_refuse(struct http_exchange *exchange, int status, const char *code, const char *format,
	...) __attribute__((format(printf, 4, 5)));

/* Who asks, for service "slipway"; answers and returns NULL when the request is not to be believed. */
const struct aws_caller *rest_identify(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
/* The body as an object with no other members than these; answers and returns false when it is not. */
bool rest_read_body(struct http_exchange *exchange, const struct http_request *request,
	const struct span *known, size_t known_count, struct json **ret_body);
/* A line in the audit log. */
void rest_record(struct server *server, const struct aws_caller *caller, const char *operation,
	bool write, struct span resource, const char *error, int status);

/*
 * Who asks, in the request's arena. service is the one that the signature must be for. Returns NULL and
 * fills the failure when the request is not to be believed.
 */
const struct aws_caller *authenticate(struct server *server, const struct http_request *request,
	const char *service, struct sigv4_failure *failure);

/* What controllers tell of their failures goes to the log. */
void server_report_controller(void *server, const char *controller, struct span key,
	const struct err *err);

/* tasks.c */
int tasks_open(struct server *server, struct err *err);
void tasks_close(struct server *server);
/* Until nothing runs in the runtime any more; -ETIMEDOUT when that takes too long. */
int tasks_wait_until_ended(struct server *server);
/* Until the instances of the runtime are registered again after everything was deleted. */
int tasks_wait_for_instances(struct server *server);

/* task_target.c: the task and container that a request of the REST API is about. */
struct task_target {
	struct span token;
	struct span arn;
	struct span container;
	struct span status; /* lastStatus */
};
/* Reads members "task" (id, CLUSTER/ID or ARN) and "container" (may be left out when there is one), and
 * asks the caller's policy for the action. Answers and returns false when there is no such task, or it is
 * not the caller's to look at. All texts are in the request's arena. */
bool task_target_find(struct server *server, struct http_exchange *exchange,
	const struct aws_caller *caller, const char *operation, const char *action, bool write,
	const struct json *body, struct task_target *ret_target);
/* Refuses with what a runtime's error means. */
void task_target_refuse(struct http_exchange *exchange, int code, const struct err *err);
/* task_logs.c */
void task_logs_read(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
/* task_exec.c */
void task_exec_begin(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
void task_exec_handle(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);

/* wire.c */
void wire_handle(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
/* operating.c */
void operating_health(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
void operating_ready(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
void operating_info(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
void operating_metrics(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
void operating_reset(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
/* keys.c */
void keys_list(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
void keys_create(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
void keys_delete(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);

#endif
