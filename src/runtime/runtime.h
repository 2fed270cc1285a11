/*
 * Where tasks run. A runtime starts and stops tasks on its instances and reports their state; it
 * knows nothing of clusters, services or deployments, and never writes an ECS object. ecs/ calls
 * it, reads its reports, and is the only writer.
 *
 * Tokens. ecs/ chooses the token of a task (the task's id). Starting is idempotent: a second start
 * with the same token is the same task, also after either side was restarted. So recovery is: list,
 * compare, start or stop the differences.
 *
 * Reports. The runtime reports that a token changed (`changed`, level-triggered, may come too
 * often, never blocks) and runtime_get() returns its current state. runtime_list_tasks() returns
 * all; a listing that could not be completed fails, and is never read as empty.
 *
 * Ends. The exit codes of a stopped task's containers are kept, on disk where there is one, until
 * runtime_acknowledge(): a crash on either side loses no exit code. A token that was acknowledged,
 * or was never started, is unknown (-ENOENT).
 *
 * Groups. A driver that keeps replicas itself (Kubernetes) has the operations of struct
 * runtime_group_operations: services and task sets are applied to it as groups, and it starts the
 * tasks of a group, rolls them to a new version and replaces them by itself. It chooses their
 * tokens; each task reports its group and version. ecs/ never starts one, and stops one only to
 * have it replaced. A task of a group whose essential container ended is STOPPED; the driver
 * replaces it when that was acknowledged, and not before, so that ecs/ decides the back-off of a
 * crashing task. Such a driver also chooses the instance of a task that is started with instance
 * "".
 *
 * Holding. The programs of a task with traffic keep running for spec.holdSeconds after its end was
 * announced (phase STOPPING with `ends_ms` set): until then clients may still connect. Drivers
 * without groups are stopped only when no client can connect any more, and do not hold.
 *
 * All calls may block (a remote runtime); they are made from controllers' threads.
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"

#define RUNTIME_TOKEN_MAX 64
#define RUNTIME_CONTAINERS_MAX 10
#define RUNTIME_BINDINGS_MAX 100
#define RUNTIME_SPEC_MAX ((size_t)256 * 1024)
#define RUNTIME_INSTANCE_MAX 253 /* bytes of an instance's id: a DNS name, as nodes have */
#define RUNTIME_GROUP_MAX 640    /* bytes of a group's id: ACCOUNT/REGION/CLUSTER/SERVICE/NUMBER */
#define RUNTIME_VERSIONS_MAX 32  /* of a group that are reported */
#define RUNTIME_EVENTS_MAX 100   /* of a group that are reported */

struct runtime_instance {
	struct span id;                /* stable across restarts: "machine", "machine-2" */
	struct span name;              /* host name, for people */
	int64_t cpu;                   /* units, 1024 to a processor */
	int64_t memory;                /* MiB */
	struct span address;           /* of the machine, or "" */
	const struct json *attributes; /* [{"name","value"?}], what ECS agents announce */
	bool away; /* it is known but unreachable: takes no tasks, and its tasks are not lost yet */
};

/* When the text of a log was written: from byte `at` of a piece on. */
struct runtime_log_time {
	size_t at;
	int64_t ms; /* wall time; 0: not known */
};
struct runtime_log_times {
	struct runtime_log_time *items; /* in order; memory: runtime_log_times_clear() */
	size_t count, room;
};

enum runtime_phase {
	RUNTIME_PENDING, /* accepted; containers are being made */
	RUNTIME_RUNNING, /* every container that should has been started */
	RUNTIME_STOPPING,
	RUNTIME_STOPPED, /* nothing of it runs any more */
	RUNTIME_PHASE_COUNT
};

enum runtime_health {
	RUNTIME_HEALTH_NONE,
	RUNTIME_HEALTH_UNKNOWN,
	RUNTIME_HEALTHY,
	RUNTIME_UNHEALTHY
};

/* Why a task stopped, in ECS's stop codes. */
enum runtime_stop {
	RUNTIME_STOP_NONE,
	RUNTIME_STOP_FAILED_TO_START, /* TaskFailedToStart */
	RUNTIME_STOP_ESSENTIAL,       /* EssentialContainerExited */
	RUNTIME_STOP_REQUESTED,       /* runtime_stop() */
	RUNTIME_STOP_LOST,            /* its supervisor is gone without a record */
};

struct runtime_binding {
	uint16_t container_port;
	uint16_t host_port;
	bool udp;
	struct span address; /* where it can be reached */
};

struct runtime_container {
	struct span name;
	struct span runtime_id;
	enum runtime_phase phase;
	enum runtime_health health;
	bool has_exit_code;
	int exit_code;      /* 128 + signal when killed by one, as Docker says it */
	struct span reason; /* "OutOfMemoryError: …", "CannotStartContainerError: …"; "" */
	/* Of the check that made it UNHEALTHY: "exit code 1: OUTPUT"; "" otherwise, or not known */
	struct span health_reason;
	int64_t started_ms, stopped_ms; /* wall time; 0: not yet */
	unsigned restarts;
	struct runtime_binding *bindings;
	size_t binding_count;
};

struct runtime_task {
	struct span token;
	struct span instance; /* "": none was chosen yet */
	struct span group;    /* its id, "" for a task of its own */
	struct span version;  /* of the group that it was made from; "" */
	enum runtime_phase phase;
	enum runtime_stop stop;
	struct span reason;  /* for users; "" */
	struct span address; /* of the task, if it has one of its own; "" */
	struct span mac;     /* of its interface, likewise */
	struct span notes;   /* unsupported settings (a limit, isolation), for users; "" */
	int64_t created_ms, started_ms, stopped_ms;
	int64_t ends_ms;     /* its programs are held until then, see above; 0 */
	int64_t deletion_ms; /* deadline of its deletion, as the controller of its replicas set it; 0 */
	bool unkept;         /* after its end nothing of it can be read, not even logs */
	bool gate_closed; /* of a gated task of a group: open_gate() was not called for it yet */
	struct runtime_container containers[RUNTIME_CONTAINERS_MAX];
	size_t container_count;
};

/* The desired state of a group. */
struct runtime_group {
	struct span id; /* of the service or task set; ecs/ chose it, up to RUNTIME_GROUP_MAX */
	struct span version; /* "ecs-svc/123…": another one is rolled out */
	bool daemon;         /* a task on each instance that matches, whatever `desired` says */
	int64_t desired;
	int64_t minimum_healthy; /* percent */
	int64_t maximum;         /* percent */
	/* a new task must be ready for this long before it replaces an older one */
	int64_t settle_seconds;
	const struct json
		*spec; /* runtime/spec.h; of all tasks of this version, so without "arn" */
};

/* The tasks of a group that are of one version. */
struct runtime_group_version {
	struct span version;
	int64_t desired, current, ready;
	int64_t created_ms;
};

/* An event of a group or one of its tasks, in the runtime's text. */
struct runtime_group_event {
	struct span id; /* the same for the same event, also after a restart */
	int64_t at_ms;
	int64_t count;
	bool warning;
	struct span text; /* "FailedScheduling: 0/3 nodes are available: …" */
};

/* The actual state of a group. The numbers are the runtime's own. ECS counts the tasks that it
 * knows by their version; tests compare the two. */
struct runtime_group_state {
	struct span id;
	struct span version; /* the last applied one */
	bool settled;        /* it has processed the last apply */
	int64_t desired;
	int64_t current, updated, ready, available;
	bool failed;        /* it reports that it makes no progress */
	struct span reason; /* why; "" */
	bool ending;        /* being deleted */
	struct runtime_group_version versions[RUNTIME_VERSIONS_MAX]; /* newest first */
	size_t version_count;
	struct runtime_group_event *events; /* oldest first, the last RUNTIME_EVENTS_MAX */
	size_t event_count;
};

/* A task behind a name of service discovery. */
struct runtime_endpoint {
	struct span token;
	struct span address;
	uint16_t port; /* 0: none was said */
	bool ready;
};

/* The desired targets of a name of service discovery, for tasks of one cluster. */
struct runtime_name {
	struct span cluster_arn;
	struct span name, domain; /* "web" in "shop.local" */
	bool exists;              /* false: the name was deleted */
	const struct runtime_endpoint *endpoints;
	size_t endpoint_count;
};

struct runtime;
struct runtime_exec;

/* Called on a thread of the runtime's. token "" means: anything may have changed, list. */
typedef void (*runtime_changed)(void *context, struct span token);

/* The same for groups. id "": any of them may have changed, list. */
typedef void (*runtime_group_changed)(void *context, struct span id);

struct runtime_group_operations {
	/* Creates or updates it; idempotent. -EINVAL with a reason for users: it can never run.
	 * -EEXIST: an object that is not ours has its name. */
	int (*apply)(struct runtime *runtime, const struct runtime_group *group, struct err *err);
	/* Starts deleting it with all its tasks. -ENOENT: there is none. */
	int (*remove)(struct runtime *runtime, struct span id, struct err *err);
	int (*get)(struct runtime *runtime, struct span id, struct arena *arena,
		struct runtime_group_state **ret_group, struct err *err);
	int (*list)(struct runtime *runtime, struct arena *arena, struct span **ret_ids,
		size_t *ret_count, struct err *err);
	/* A task of a group with spec.gated replaces an older one, and counts as ready, only after
	 * this call: it gets traffic now. -ENOENT: there is none. */
	int (*open_gate)(struct runtime *runtime, struct span token, struct err *err);
	/* Publishes these tasks in the runtime's own service discovery; idempotent. Without
	 * endpoints a missing name is not created. NULL: the runtime has none. */
	int (*publish)(struct runtime *runtime, const struct runtime_name *name, struct err *err);
	/* Whether an instance takes new tasks. -ENOENT: there is none. */
	int (*cordon)(struct runtime *runtime, struct span instance, bool closed, struct err *err);
	/* Whether daemons of a cluster's groups leave an instance, and stay away. NULL: they leave
	 * cordoned instances by themselves. -ENOENT: there is none. */
	int (*dismiss)(struct runtime *runtime, struct span cluster_arn, struct span instance,
		bool away, struct err *err);
};

struct runtime_operations {
	const char *name;                              /* "process" */
	const struct runtime_group_operations *groups; /* NULL: does not keep replicas itself */
	int (*list_instances)(struct runtime *runtime, struct arena *arena,
		struct runtime_instance **ret_instances, size_t *ret_count, struct err *err);
	/* Every token known, stopped and not acknowledged ones included. */
	int (*list_tasks)(struct runtime *runtime, struct arena *arena, struct span **ret_tokens,
		size_t *ret_count, struct err *err);
	/* spec: see runtime/spec.h. -EINVAL or RUNTIME_REASON_IS_NAMED, with a reason that goes
	 * into the task: it can never start. Other codes: retry. The spec is durable before 0 is returned. */
	int (*start)(struct runtime *runtime, struct span token, struct span instance,
		const struct json *spec, struct err *err);
	/* Starts stopping: SIGTERM, then SIGKILL after each container's stop timeout. For a task
	 * that is held (`ends_ms`): no client can connect any more, so the hold ends. -ENOENT:
	 * unknown. */
	int (*stop)(struct runtime *runtime, struct span token, struct span reason,
		struct err *err);
	/* -EAGAIN: its first listing is not complete since it was opened; it reports "" when it
	 * is. */
	int (*get)(struct runtime *runtime, struct span token, struct arena *arena,
		struct runtime_task **ret_task, struct err *err);
	int (*acknowledge)(struct runtime *runtime, struct span token, struct err *err);
	/* A process in a container: descriptors of its standard streams, and its exit when wait() is called.
	 * NULL where a driver cannot. */
	int (*exec)(struct runtime *runtime, struct span token, struct span container,
		const struct json *command, bool terminal, struct runtime_exec **ret_exec,
		struct err *err);
	/* The logs of a container as complete lines, from `offset` bytes on; *ret_offset is where
	 * to continue. Appends to out, and to times, unless NULL, when that was written; `at` counts
	 * from the beginning of what was appended. -ENOENT: unknown. */
	int (*read_logs)(struct runtime *runtime, struct span token, struct span container,
		uint64_t offset, size_t max, struct buffer *out, struct runtime_log_times *times,
		uint64_t *ret_offset, struct err *err);
	void (*close)(struct runtime *runtime); /* tasks keep running */
};

/* Drivers embed it as their first member. */
struct runtime {
	const struct runtime_operations *operations;
};

struct runtime_exec {
	int input, output,
		error; /* owned by the caller; with a terminal input and output are the same */
	int (*wait)(struct runtime_exec *exec, int *ret_exit_code,
		struct err *err); /* blocks, frees */
	void (*resize)(struct runtime_exec *exec, unsigned rows, unsigned columns);
	/* Ends it and what it started; wait() is still to be called, and may then fail. */
	void (*kill)(struct runtime_exec *exec);
};

/* Text from `at` on was written at this time. */
void runtime_log_times_add(struct runtime_log_times *times, size_t at, int64_t ms);
void runtime_log_times_clear(struct runtime_log_times *times);

#endif
