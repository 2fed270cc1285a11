/*
 * Where tasks run. A runtime starts and stops tasks on its instances and says what became of them; it
 * knows nothing of clusters, services or deployments, and never writes an ECS object. ecs/ asks, reads
 * what is reported, and writes the truth in one place.
 *
 * Tokens. A task is known by the token that ecs/ chose (the task's id). Starting is idempotent: a second
 * start with the same token is the same task, also after either side was restarted. So recovery is:
 * list, compare, start or stop what differs.
 *
 * Looking. The runtime tells that something about a token changed (`changed`, level-triggered, may come
 * too often, never blocks) and runtime_get() says how it is now. runtime_list_tasks() says everything; a
 * listing that could not be completed fails, and is never read as empty.
 *
 * Ends. What a stopped task's containers exited with is remembered, on disk where there is one, until
 * runtime_acknowledge(): an exit is never lost between two crashes. A token that was acknowledged, or was
 * never started, is unknown (-ENOENT).
 *
 * Groups. A driver that keeps replicas itself (Kubernetes) has the operations of struct
 * runtime_group_operations: services and task sets are applied to it as groups, and it starts the tasks of a
 * group, rolls them to a new version and replaces them by itself. Their tokens are its own choice; each says
 * which group and version it is of. ecs/ never starts one, and stops one only to have it replaced. A task of a
 * group whose essential container ended is STOPPED; the driver replaces it when that was acknowledged, and
 * not before, so that ecs/ says how fast a crashing one comes again. Such a driver also chooses the instance
 * of a task that is started with instance "".
 *
 * Holding. The programs of a task that sends or gets traffic run on for spec.holdSeconds after its end was
 * announced (phase STOPPING with `ends_ms` set): until then what knows it may still come. Drivers without
 * groups are told to stop only when nobody comes any more, and do not hold.
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
#define RUNTIME_VERSIONS_MAX 32  /* of a group that are told of */
#define RUNTIME_EVENTS_MAX 100   /* of a group that are told of */

struct runtime_instance {
	struct span id;                /* stable across restarts: "machine", "machine-2" */
	struct span name;              /* host name, for people */
	int64_t cpu;                   /* units, 1024 to a processor */
	int64_t memory;                /* MiB */
	struct span address;           /* of the machine, or "" */
	const struct json *attributes; /* [{"name","value"?}], what ECS agents announce */
	bool away; /* it is known and does not answer: takes no tasks, and what runs there is not lost yet */
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
	struct span reason;  /* for people; "" */
	struct span address; /* of the task, if it has one of its own; "" */
	struct span mac;     /* of its interface, likewise */
	struct span
		notes; /* what could not be done as asked (a limit, a separation), for people; "" */
	int64_t created_ms, started_ms, stopped_ms;
	int64_t ends_ms;     /* its programs are held until then, see above; 0 */
	int64_t deletion_ms; /* until then it is to be gone, in the words of what keeps replicas; 0 */
	bool unkept;      /* when it has ended nothing of it can be read any more, logs neither */
	bool gate_closed; /* of a gated task of a group: open_gate() was not said of it yet */
	struct runtime_container containers[RUNTIME_CONTAINERS_MAX];
	size_t container_count;
};

/* What a group is to be. */
struct runtime_group {
	struct span id; /* of the service or task set; ecs/ chose it, up to RUNTIME_GROUP_MAX */
	struct span version; /* "ecs-svc/123…": another one is rolled out */
	bool daemon;         /* a task on each instance that matches, whatever `desired` says */
	int64_t desired;
	int64_t minimum_healthy; /* percent */
	int64_t maximum;         /* percent */
	int64_t settle_seconds; /* so long a new task is ready before it takes an older one's place */
	const struct json
		*spec; /* runtime/spec.h; of all tasks of this version, so without "arn" */
};

/* The tasks of a group that are of one version. */
struct runtime_group_version {
	struct span version;
	int64_t desired, current, ready;
	int64_t created_ms;
};

/* Something that happened to a group or one of its tasks, in the runtime's words. */
struct runtime_group_event {
	struct span id; /* the same for the same event, also after a restart */
	int64_t at_ms;
	int64_t count;
	bool warning;
	struct span text; /* "FailedScheduling: 0/3 nodes are available: …" */
};

/* What a group is. The numbers are the runtime's own. ECS counts the tasks that it knows, of which each says its
 * version; tests hold one against the other. */
struct runtime_group_state {
	struct span id;
	struct span version; /* that was last asked for */
	bool settled;        /* it has seen what was last asked for */
	int64_t desired;
	int64_t current, updated, ready, available;
	bool failed;        /* it says that it cannot go on by itself */
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

/* What a name of service discovery is to lead to, for tasks of one cluster. */
struct runtime_name {
	struct span cluster_arn;
	struct span name, domain; /* "web" in "shop.local" */
	bool exists;              /* false: there is no such name any more */
	const struct runtime_endpoint *endpoints;
	size_t endpoint_count;
};

struct runtime;
struct runtime_exec;

/* Told on a thread of the runtime's. token "" means: anything may have changed, list. */
typedef void (*runtime_changed)(void *context, struct span token);

/* Told likewise, of groups. id "": any of them may have changed, list. */
typedef void (*runtime_group_changed)(void *context, struct span id);

struct runtime_group_operations {
	/* Makes it, or makes it what it is to be now; asking twice is asking once. -EINVAL with a reason for
	 * people: it can never be. -EEXIST: something that is not ours has its place. */
	int (*apply)(struct runtime *runtime, const struct runtime_group *group, struct err *err);
	/* Begins its end, and that of all its tasks. -ENOENT: there is none. */
	int (*remove)(struct runtime *runtime, struct span id, struct err *err);
	int (*get)(struct runtime *runtime, struct span id, struct arena *arena,
		struct runtime_group_state **ret_group, struct err *err);
	int (*list)(struct runtime *runtime, struct arena *arena, struct span **ret_ids,
		size_t *ret_count, struct err *err);
	/* A task of a group with spec.gated takes the place of an older one, and counts as ready, only after
	 * this was said of it: what is to send traffic to it does. -ENOENT: there is none. */
	int (*open_gate)(struct runtime *runtime, struct span token, struct err *err);
	/* Makes the runtime's own service discovery lead to these tasks; asking twice is asking once. Without
	 * endpoints nothing is made that is not there. NULL: it has none of its own. */
	int (*publish)(struct runtime *runtime, const struct runtime_name *name, struct err *err);
	/* Whether new tasks may come to an instance. -ENOENT: there is none. */
	int (*cordon)(struct runtime *runtime, struct span instance, bool closed, struct err *err);
	/* Whether daemons of a cluster's groups are to leave an instance, and to stay away. NULL: they leave what
	 * is closed by themselves. -ENOENT: there is none. */
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
	/* spec: see runtime/spec.h. -EINVAL with a reason that goes into the task: it can never start. Other
	 * codes: try again. The spec is durable before 0 is returned. */
	int (*start)(struct runtime *runtime, struct span token, struct span instance,
		const struct json *spec, struct err *err);
	/* Begins stopping: SIGTERM, then SIGKILL after each container's stop timeout. Of a task that is held
	 * (`ends_ms`): nobody comes any more, it need not be held longer. -ENOENT: unknown. */
	int (*stop)(struct runtime *runtime, struct span token, struct span reason,
		struct err *err);
	/* -EAGAIN: it has not looked at everything since it was opened, and tells "" when it has. */
	int (*get)(struct runtime *runtime, struct span token, struct arena *arena,
		struct runtime_task **ret_task, struct err *err);
	int (*acknowledge)(struct runtime *runtime, struct span token, struct err *err);
	/* A process in a container: descriptors of its standard streams, and its exit when wait() is called.
	 * NULL where a driver cannot. */
	int (*exec)(struct runtime *runtime, struct span token, struct span container,
		const struct json *command, bool terminal, struct runtime_exec **ret_exec,
		struct err *err);
	/* The logs of a container as lines already written, from `offset` bytes on; *ret_offset is where to
	 * go on. -ENOENT: unknown. */
	int (*read_logs)(struct runtime *runtime, struct span token, struct span container,
		uint64_t offset, size_t max, struct buffer *out, uint64_t *ret_offset,
		struct err *err);
	void (*close)(struct runtime *runtime); /* tasks go on */
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

#endif
