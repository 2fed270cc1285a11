/* Declarations that the files of server/ share: a server's components and route handlers. */
#ifndef SERVER_COMPONENTS_H
#define SERVER_COMPONENTS_H

#include <stdatomic.h>

#include "aws/access_key.h"
#include "aws/dispatch.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/map.h"
#include "cloudmap/zone.h"
#include "control/claims.h"
#include "control/controller.h"
#include "control/runner.h"
#include "ecs/ecs.h"
#include "ecs/instance/instance_maintainer.h"
#include "ecs/service/group_controller.h"
#include "ecs/service/name_publisher.h"
#include "ecs/service/service_controller.h"
#include "ecs/task/sync_statistics.h"
#include "ecs/task/task_controller.h"
#include "elb/elb.h"
#include "environment/model/context.h"
#include "flow/api.h"
#include "io/dns_server.h"
#include "io/http_server.h"
#include "pipeline/api.h"
#include "runtime/simulated/simulated.h"
#include "server/admin_key.h"
#include "server/audit.h"
#include "server/config.h"
#include "server/request_origin.h"
#include "server/state_folder.h"
#include "server/streams.h"

#define SERVER_CONTROLLERS_MAX 32
#define SERVER_PROGRAMS_MAX 64   /* in tasks, run for clients: each has a thread */
#define SERVER_STREAMS_MAX 10000 /* of changes, and of logs */
#define SERVER_REST_OPERATIONS_MAX 128
#define SERVER_CHANGE_OPERATIONS_MAX 16 /* that stream changes */

/* Service "slipway": the operations of all folders that have some. See rest_wire.c. */
struct rest_service {
	struct aws_service service;
	struct aws_operation operations[SERVER_REST_OPERATIONS_MAX];
};

/* change_streams.c: an operation of an engine that streams changes, with the context of that engine. */
struct change_operation {
	struct server *server;
	const struct delivery_stream_operation *operation;
	void *context;
};

struct server {
	const struct server_config *config;
	struct log *log;
	struct clock *clock;
	struct random *random;
	struct store *store;
	struct audit *audit;
	struct access_key_ring *ring;
	struct request_origin_rules origin_rules;
	struct aws_dispatcher *dispatcher;
	struct rest_service rest;
	struct runner *runner;
	struct controller *controllers[SERVER_CONTROLLERS_MAX];
	const struct controller_row *controller_rows[SERVER_CONTROLLERS_MAX];
	size_t controller_count;
	struct runtime *runtime; /* NULL: none */
	struct simulated_world *world;
	struct task_controller *task_controller;
	struct group_controller *group_controller;
	struct write_batch *batch; /* of observations; NULL: each is stored by itself */
	struct sync_statistics sync;
	struct service_control service_control;
	struct name_publisher name_publisher;
	struct instance_maintainer *maintainer;
	_Atomic bool maintainer_runs;
	struct state_folder *folder; /* NULL: none */
	char host[ID_HEX_SIZE];      /* distinguishes runtimes that share a store */
	bool is_copy; /* of another server's state folder: nothing is done until it is adopted */
	char *task_folder;
	char *temporary_folder;    /* above task_folder; NULL: that is in the state folder */
	_Atomic unsigned programs; /* see task_exec.c */
	struct streams *change_streams, *log_streams; /* NULL: not yet */
	struct change_operation change_operations[SERVER_CHANGE_OPERATIONS_MAX];
	size_t change_operation_count;
	struct lock exec_lock;
	struct map exec_sessions; /* guarded by the lock: see task_exec.c */
	struct http_server *http;
	char *url;
	struct zone *zone; /* NULL, as the next two: no DNS */
	struct dns_server *dns;
	struct dns_server *container_dns; /* for containers of Docker; NULL: none */
	char *dns_address;                /* "127.0.0.1:4753" */
	struct ecs_context ecs;           /* for handlers; complete when `open` is set */
	struct elb_context elb;
	struct daemon_context environments;
	struct http_client *analysis_client; /* for metrics and HTTP checks of applications */
	struct http_client *target_client;   /* for the targets; NULL as those: there are none */
	struct aws_targets *targets;         /* remote ECS */
	struct claims *claims;     /* which server does what, of those that share the store */
	struct manager *manager;   /* of environments; NULL as the one before: not yet */
	struct engine *engine;     /* of applications; NULL: not yet */
	struct poller *poller;     /* of their repositories; NULL: not yet */
	struct controller *resync; /* of those that are out of sync; NULL: not yet */
	struct repositories *repositories; /* clones; NULL: not yet */
	char *repository_folder;
	struct flow_controller *flows; /* NULL: not yet */
	struct flow_stream_context flow_streams;
	struct pipeline_context applications;
	struct notice_sender *webhooks; /* NULL: not yet */
	struct traffic *traffic;        /* see traffic.c; NULL: not yet, or not any more */
	struct releases *releases;      /* see releases.c; NULL: not enabled */
	struct admin_key admin_key;
	_Atomic uint64_t hint_hash; /* of the last hint that was logged, and when */
	_Atomic int64_t hint_ms;
	int64_t started_ms;
	/* Requests may come while the listener is still being opened, before its handle and address are
	 * known to the rest: until then they are sent away. */
	_Atomic bool open;
	_Atomic bool draining;
};

/* Objects that clients create: the kinds of all services. */
#define SERVER_KIND_TABLES 6
struct server_kind_table {
	const struct store_kind *const *kinds;
	const size_t *count;
};
extern const struct server_kind_table server_kind_tables[SERVER_KIND_TABLES];

typedef void (*route_handler)(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);

/* Answers in JSON: {"code":…,"message":…} is what slipway's own REST API says when it refuses. */
void rest_respond(struct http_exchange *exchange, int status, struct span json);
void rest_refuse(struct http_exchange *exchange, int status, const char *code, const char *format,
	...) __attribute__((format(printf, 4, 5)));

/*
 * The caller, in the request's arena. The signature must be for service. Returns NULL and fills
 * the failure when authentication fails, or when a page of another site sent the request.
 */
const struct aws_caller *authenticate(struct server *server, const struct http_request *request,
	const char *service, struct sigv4_failure *failure);

/* A line in the audit log for a request whose caller is not known. The operation is the client's own text. */
void authentication_failed(struct server *server, const char *service, struct span operation,
	bool write, const struct aws_answer *answer);

/* wire.c: the request as signatures see it; and is it one of the query protocol? */
struct sigv4_request *wire_signed_form(const struct http_request *request);
bool wire_is_query(const struct http_request *request);
/* unoffered.c: refuses a request that is signed for an AWS service that slipway does not offer; else false. */
bool unoffered_refuse(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
extern const struct aws_service sts_service;

/* Logs the failures that controllers report. */
/* One line of the log; `bad`: a warning. */
void server_log_transition(void *server, bool bad, struct span text);
void server_report_controller(void *server, const char *controller, struct span key,
	const struct err *err);

/* kubernetes.c */
int kubernetes_open(struct server *server, struct err *err);
/* All that matters of the cluster is known; true without one. */
bool kubernetes_is_ready(struct server *server);
void kubernetes_write_metrics(struct server *server, struct buffer *out);

/* tasks.c */
void tasks_changed(void *server, struct span token); /* a runtime_changed */
int tasks_identify(struct server *server,
	struct err *err); /* first: the host, and whether its tasks are ours */
int tasks_open(struct server *server, struct err *err);
/* Tasks of this server that keep running when it ends. */
uint64_t tasks_count_lasting(struct server *server);
/* Once it is known where names are answered. */
int tasks_set_dns(struct server *server, struct err *err);
void tasks_close(struct server *server);
/* Until nothing runs in the runtime any more; -ETIMEDOUT when that takes too long. */
int tasks_wait_until_ended(struct server *server);
/* Until the instances of the runtime are registered again after everything was deleted. */
int tasks_wait_for_instances(struct server *server);

/* environments.c */
void environments_register(struct server *server); /* before rest_register */
int lease_open(struct server *server,
	struct err *err); /* before anything acts; after tasks_identify */
void lease_close(struct server
		*server); /* after everything that acts; environments_close has resigned it */
int environments_open(struct server *server, struct err *err);
void environments_close(struct server *server);
void environments_write_metrics(struct server *server, struct buffer *out);

/* flows.c */
void flows_register(struct server *server);             /* before rest_register */
int flows_open(struct server *server, struct err *err); /* after applications_open */
void flows_close(struct server *server);                /* before applications_close */
/* applications.c */
void applications_register(struct server *server);             /* before rest_register */
int applications_open(struct server *server, struct err *err); /* after environments_open */
void applications_close(struct server *server);                /* before environments_close */

/* dns.c */
int dns_open(struct server *server, struct err *err); /* when the API listens */
void dns_close(struct server *server);
void dns_register(struct server *server);

/* traffic.c: the data plane of load balancers. */
int traffic_open(struct server *server, struct err *err);
/* Listeners close at once; open connections continue, unless the server is ephemeral. */
void traffic_close(struct server *server);
bool traffic_is_ready(struct server *server);
/* Waits until the stored state is in effect; -ETIMEDOUT when that takes too long. */
int traffic_wait_until_settled(struct server *server);
void traffic_reload(struct server *server); /* certificates again */
void traffic_write_metrics(struct server *server, struct buffer *out);
void traffic_register(struct server *server);
/* sync.c: support for a remote runtime. */
int sync_open(struct server *server, struct err *err);
void sync_close(struct server *server);
void sync_write_metrics(struct server *server, struct buffer *out);
/* operating.c: a metric of one line, and the two lines before any; type: "counter", "gauge", "histogram". */
void metric(struct buffer *out, const char *name, bool grows, const char *help,
	unsigned long long value);
void metric_type(struct buffer *out, const char *name, const char *type, const char *help);
void metric_head(struct buffer *out, const char *name, bool grows, const char *help);

/* task_target.c: the task and container that an operation concerns; the context is the server. */
struct task_target {
	struct span token;     /* at the runtime */
	struct span container; /* its name */
	struct span status;    /* lastStatus */
};
void task_target_name(struct aws_request *request, struct aws_resources *resources);
/* All of it in the request's arena. Fails the request. */
int task_target_find(struct aws_request *request, struct task_target *ret_target);
/* Answers with an error of the runtime. */
void task_target_refuse(struct server *server, struct http_exchange *exchange, int code,
	const struct err *err);
/* Room for a stream. Fails the request. */
int streams_reserve_for(struct streams *streams, struct aws_request *request,
	struct stream **ret_stream);

/* task_logs.c, task_exec.c, change_streams.c */
void task_logs_register(struct server *server);
int task_logs_open(struct server *server, struct err *err);
void task_exec_register(struct server *server);
void change_streams_register(struct server *server);
int change_streams_open(struct server *server, struct err *err);

/* wire.c */
void wire_handle(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
void wire_handle_get(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
/* rest_wire.c */
/* Answers with an error in the form of the REST API. */
void rest_wire_refuse(struct server *server, struct http_exchange *exchange, int status,
	const char *type, struct span message);
/* Adds operations of a folder to service "slipway", with the context of their handlers; until
 * rest_register. The table is copied. */
void rest_add_operations(struct server *server, const struct aws_operation *operations,
	size_t count, void *context);
void rest_register(struct server *server);
void rest_close(struct server *server); /* when nothing is asked any more */
/* Every path below /v1/ without a handler of its own. */
void rest_wire_handle(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
void rest_wire_ping(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
void rest_wire_openapi(struct server *server, struct http_exchange *exchange,
	const struct http_request *request);
/* releases.c */
int releases_open(struct server *server, struct err *err);
void releases_close(struct server *server);
void releases_write_metrics(struct server *server, struct buffer *out);
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
void keys_register(struct server *server);

#endif
