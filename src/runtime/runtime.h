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
 * Replicas. A driver that keeps replicas itself (Kubernetes) sets `owns_replicas` and takes whole groups;
 * then ecs/ applies groups and never starts or stops their tasks.
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

struct runtime_instance {
	struct span id;                /* stable across restarts: "machine", "machine-2" */
	struct span name;              /* host name, for people */
	int64_t cpu;                   /* units, 1024 to a processor */
	int64_t memory;                /* MiB */
	struct span address;           /* of the machine, or "" */
	const struct json *attributes; /* [{"name","value"?}], what ECS agents announce */
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
	RUNTIME_STOP_ASKED,           /* runtime_stop() */
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
	struct span instance;
	enum runtime_phase phase;
	enum runtime_stop stop;
	struct span reason;  /* for people; "" */
	struct span address; /* of the task, if it has one of its own; "" */
	struct span mac;     /* of its interface, likewise */
	struct span
		notes; /* what could not be done as asked (a limit, a separation), for people; "" */
	int64_t created_ms, started_ms, stopped_ms;
	struct runtime_container containers[RUNTIME_CONTAINERS_MAX];
	size_t container_count;
};

struct runtime;
struct runtime_exec;

/* Told on a thread of the runtime's. token "" means: anything may have changed, list. */
typedef void (*runtime_changed)(void *context, struct span token);

struct runtime_operations {
	const char *name; /* "process" */
	bool owns_replicas;
	int (*list_instances)(struct runtime *runtime, struct arena *arena,
		struct runtime_instance **ret_instances, size_t *ret_count, struct err *err);
	/* Every token known, stopped and not acknowledged ones included. */
	int (*list_tasks)(struct runtime *runtime, struct arena *arena, struct span **ret_tokens,
		size_t *ret_count, struct err *err);
	/* spec: see runtime/spec.h. -EINVAL with a reason that goes into the task: it can never start. Other
	 * codes: try again. The spec is durable before 0 is returned. */
	int (*start)(struct runtime *runtime, struct span token, struct span instance,
		const struct json *spec, struct err *err);
	/* Begins stopping: SIGTERM, then SIGKILL after each container's stop timeout. -ENOENT: unknown. */
	int (*stop)(struct runtime *runtime, struct span token, struct span reason,
		struct err *err);
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
