/*
 * Tasks that run, will run or have run on a container instance. Keys are
 * "ACCOUNT/REGION/CLUSTER/ID"; the id is also the token by which a runtime knows the task.
 *
 * The API text is the whole task of a DescribeTasks answer except its tags. Controllers and
 * placement use the facts, which are kept in the private text; task_save() copies those that
 * clients see into the document, so that the two never differ.
 *
 * Creating a task (RunTask, StartTask, a service) stores it with desired status RUNNING and an
 * instance that has room: that is the intent, and nothing runs yet. Stopping it (StopTask, a
 * service) sets the desired status to STOPPED. Everything else about a task is observed: the task
 * controller has the runtime start or stop it, and writes what the runtime reports
 * (task_controller.c); agents report the tasks of their own instances (SubmitTaskStateChange).
 */
#ifndef ECS_TASK_H
#define ECS_TASK_H

#include "aws/service.h"

extern const struct store_kind task_kind;

/* One table: the ladder in order. A task only ever goes down it, and may leave steps out. */
#define TASK_STATUSES(X)                                                                           \
	X(PROVISIONING)                                                                            \
	X(PENDING)                                                                                 \
	X(ACTIVATING) X(RUNNING) X(DEACTIVATING) X(STOPPING) X(DEPROVISIONING) X(STOPPED) X(DELETED)
enum task_status {
#define X(name) TASK_##name,
	TASK_STATUSES(X)
#undef X
		TASK_STATUS_COUNT
};

#define TASK_HEALTHS(X) X(UNKNOWN) X(HEALTHY) X(UNHEALTHY)
enum task_health {
#define X(name) TASK_HEALTH_##name,
	TASK_HEALTHS(X)
#undef X
		TASK_HEALTH_COUNT
};

/*
 * State of a task's registration with load balancers and names (task_traffic.h). A task is
 * registered once in its life: if a client deregisters it, it stays deregistered.
 */
#define TASK_TRAFFICS(X)                                                                           \
	X(NONE)       /* it has no target group and no name */                                     \
	X(WAITING)    /* it is registered once it runs and is healthy */                           \
	X(REGISTERED) /* it is registered */                                                       \
	X(LEAVING)    /* deregistered; clients may still connect, so it keeps running */           \
	X(LEFT)       /* no client can connect any more */
enum task_traffic {
#define X(name) TASK_TRAFFIC_##name,
	TASK_TRAFFICS(X)
#undef X
		TASK_TRAFFIC_COUNT
};

/* Its health according to its load balancers. */
#define TASK_BALANCES(X)                                                                           \
	X(NONE)    /* no load balancer, or none that checks it */                                  \
	X(WAITING) /* one of them has no result yet */                                             \
	X(HEALTHY)                                                                                 \
	X(UNHEALTHY) /* one of them finds it unhealthy */
enum task_balance {
#define X(name) TASK_BALANCE_##name,
	TASK_BALANCES(X)
#undef X
		TASK_BALANCE_COUNT
};

#define TASK_LAUNCH_TYPES(X) X(EC2) X(FARGATE) X(EXTERNAL)
enum task_launch_type {
#define X(name) TASK_LAUNCH_##name,
	TASK_LAUNCH_TYPES(X)
#undef X
		TASK_LAUNCH_TYPE_COUNT
};

/*
 * Classes of tasks for a service's plan. The index TASK_BY_SERVICE has one letter for each, so that
 * a plan needs counts only, however many tasks there are.
 */
enum task_class {
	TASK_CLASS_PENDING, /* 'p' desired RUNNING, not RUNNING yet */
	/* 's' RUNNING, the health by containers or load balancers is not known yet */
	TASK_CLASS_STARTING,
	TASK_CLASS_HEALTHY,   /* 'h' RUNNING and healthy in every check, or without any check */
	TASK_CLASS_UNHEALTHY, /* 'u' RUNNING and not healthy */
	TASK_CLASS_STOPPING,  /* 'x' desired STOPPED, not stopping yet */
	TASK_CLASS_COUNT
};
extern const char task_class_letters[TASK_CLASS_COUNT + 1];

enum task_index {
	TASK_BY_ID,         /* "ID": from a runtime's token */
	TASK_BY_DESIRED,    /* "ACCOUNT/REGION/CLUSTER/RUNNING" or …/STOPPED; measures: counts */
	TASK_BY_FAMILY,     /* "ACCOUNT/REGION/CLUSTER/DESIRED/FAMILY" */
	TASK_BY_STARTED_BY, /* "ACCOUNT/REGION/CLUSTER/DESIRED/STARTEDBY"; only those that have one */
	/* "ACCOUNT/REGION/CLUSTER/INSTANCE/live/SERVICE" until STOPPED, then …/stopped/SERVICE (SERVICE may
	 * be empty); measures: resources */
	TASK_BY_INSTANCE,
	/* "ACCOUNT/REGION/CLUSTER/SERVICE/live/DEPLOYMENT/CLASS" until STOPPED, then
	 * …/SERVICE/stopped/DEPLOYMENT; measures: counts */
	TASK_BY_SERVICE,
	TASK_BY_PROTECTED, /* "ACCOUNT/REGION/CLUSTER/SERVICE/DEPLOYMENT"; live ones with protection */
	TASK_BY_STOPPED, /* "ACCOUNT/REGION/CLUSTER/MILLISECONDS", 15 digits; STOPPED ones only */
	TASK_BY_REFERENCE, /* "ACCOUNT/REGION/CLUSTER/INSTANCE/REFERENCE"; desired RUNNING ones only */
	TASK_BY_DEFINITION, /* "ACCOUNT/REGION/FAMILY REVISION" (10 digits); until STOPPED */
	TASK_INDEX_COUNT
};

/* Measures of TASK_BY_DESIRED and TASK_BY_SERVICE, as store_sum() adds them up. Pending: not RUNNING yet
 * and wanted to run; running: last status RUNNING and wanted to run (as ECS counts). The launch types are
 * those of `running` and `pending` tasks that are FARGATE. */
enum { TASK_SUM_PENDING, TASK_SUM_RUNNING, TASK_SUM_PENDING_FARGATE, TASK_SUM_RUNNING_FARGATE };
/* Measures of TASK_BY_INSTANCE: what live tasks hold (0 for STOPPED ones). */
enum { TASK_SUM_CPU, TASK_SUM_MEMORY, TASK_SUM_INSTANCE_RUNNING, TASK_SUM_INSTANCE_PENDING };

struct task_facts {
	/* from the key */
	struct span cluster;
	struct span id;
	/* decided when it was created */
	struct span family; /* of its definition */
	int64_t revision;
	struct span
		instance; /* id of the container instance; "": its runtime has not chosen one yet */
	struct span group;      /* "service:web", "family:web" or as the client set it */
	struct span started_by; /* "" if not set */
	struct span service;    /* name, "" for a task of its own */
	struct span deployment; /* "ecs-svc/123…", or a task set's id; "" likewise */
	struct span reference;  /* of StartTask; "" */
	enum task_launch_type launch_type;
	/* The server whose runtime runs it, as instance_maintainer.h names it; "": an agent reports
	 * it. */
	struct span host;
	bool daemon; /* of a DAEMON service */
	bool network; /* awsvpc: has a network interface of its own, PROVISIONING and DEPROVISIONING apply */
	bool checked; /* an essential container has a health check, so health means something */
	int64_t cpu, memory; /* reserved on the instance: units, MiB */
	struct span ports;   /* fixed host ports it holds: "80/tcp,53/udp"; "" */
	int64_t created_ms;
	/* wanted */
	enum task_status desired;   /* TASK_RUNNING or TASK_STOPPED */
	int64_t protected_until_ms; /* 0: not protected */
	/* observed */
	enum task_status last;
	enum task_health health;
	int64_t started_ms;  /* 0: never ran */
	int64_t stopping_ms; /* 0: not requested to stop */
	int64_t stopped_ms;  /* 0: not STOPPED */
	int64_t deletion_ms; /* runtime_task, as it was when the runtime was last seen to end it; 0 */
	bool let_go; /* its runtime ends it: a replacement may take its place in the group */
	/* The runtime may forget it (STOPPED is durable here); set by the task controller alone. */
	bool acknowledged;
	/* STOPPED without a request, or never started: counts against its deployment */
	bool failed;
	/* Traffic, see above. */
	enum task_traffic traffic;
	enum task_balance balance; /* as the traffic controller last found it */
	int64_t leaves_ms; /* of LEAVING: until then clients may cache its names; 0: it had none */
	/* failed because its runtime or instance lost it, which does not count against the
	 * deployment */
	bool lost;
};

static inline const struct task_facts *task_facts(const struct store_object *task)
{
	return task->facts;
}

/* It runs, but gets no traffic yet: it is not registered, or its load balancers have not found it
 * healthy for the first time. RUNNING comes after that, so that a client that waits for a stable
 * service finds it reachable. */
static inline bool task_awaits_traffic(const struct task_facts *facts)
{
	return facts->traffic == TASK_TRAFFIC_WAITING ||
	       (facts->traffic == TASK_TRAFFIC_REGISTERED &&
		       (facts->balance == TASK_BALANCE_WAITING ||
			       facts->balance == TASK_BALANCE_UNHEALTHY));
}

const char *task_status_name(enum task_status status);
const char *task_health_name(enum task_health health);
const char *task_launch_type_name(enum task_launch_type type);
/* False if it is no such name. */
bool task_status_read(struct span name, enum task_status *ret_status);
bool task_launch_type_read(struct span name, enum task_launch_type *ret_type);
enum task_class task_class_of(const struct task_facts *facts);

/* The facts of a stored task (which are 0 before), and its private text, parsed. */
int task_facts_read(struct span key, struct span private_, struct arena *arena,
	struct task_facts *facts, struct json **ret_private, struct err *err);
/* The private text of a task with these facts; more members may be added. */
struct json *task_facts_write(const struct task_facts *facts, struct arena *arena);

/* "ACCOUNT/REGION/CLUSTER" of a task's, service's or instance's key "ACCOUNT/REGION/CLUSTER/REST". */
struct span task_cluster_key(struct span key);
/* "arn:aws:ecs:REGION:ACCOUNT:TYPE/REST" of a key "ACCOUNT/REGION/REST". */
struct span ecs_arn_of_key(struct arena *arena, const char *type, struct span key);

#endif
