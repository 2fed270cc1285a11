/*
 * The reduced Pod: all that a report of it as a task needs. pod_task.h makes the report.
 */
#ifndef RUNTIME_KUBERNETES_POD_H
#define RUNTIME_KUBERNETES_POD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "kube/object.h"
#include "runtime/runtime.h"

#define KUBERNETES_REASON_MAX 512 /* bytes of a reason or message */
#define KUBERNETES_PORTS_MAX RUNTIME_BINDINGS_MAX
#define KUBERNETES_IGNORED_CODES_MAX 50

enum kubernetes_phase {
	KUBERNETES_PENDING,
	KUBERNETES_RUNNING,
	KUBERNETES_SUCCEEDED,
	KUBERNETES_FAILED,
	KUBERNETES_UNKNOWN, /* its node is unreachable */
};

enum kubernetes_network {
	KUBERNETES_NETWORK_OWN, /* awsvpc and its equivalents on Kubernetes */
	KUBERNETES_NETWORK_BRIDGE,
	KUBERNETES_NETWORK_HOST,
};

/* A finished run of a container's program. */
/* The note of slipway-pod in the termination log (runtime/pod/protocol.h). */
enum kubernetes_note {
	KUBERNETES_NOTE_NONE,
	KUBERNETES_NOTE_EXITED,     /* the exit code of the container's program */
	KUBERNETES_NOTE_CANNOT_RUN, /* and why */
	KUBERNETES_NOTE_UNHEALTHY,
	KUBERNETES_NOTE_NOT_AFTER, /* and after which container */
};

struct kubernetes_run {
	int exit_code;
	int64_t started_ms, finished_ms;
	struct span reason, message;
	enum kubernetes_note note;
	struct span note_text; /* "" */
};

struct kubernetes_port {
	uint16_t container, host;
	bool udp;
};

struct kubernetes_container {
	/* From the plan. */
	struct span name; /* ECS's */
	struct span as;   /* Kubernetes's */
	bool essential, initial, any_exit;
	bool has_health;
	int32_t interval, timeout, retries, start_period; /* seconds */
	bool restarts;
	int32_t restart_period;
	int32_t *ignored_codes;
	size_t ignored_count;
	struct kubernetes_port *ports;
	size_t port_count;
	/* From the status. */
	struct span id;
	bool ready;
	unsigned restart_count;
	struct span waiting, waiting_message; /* the reason it waits; "" if it does not */
	int64_t running_ms;                   /* since when it runs; 0: it does not */
	const struct kubernetes_run *ended;   /* not restarted since; NULL: it has not ended */
	const struct kubernetes_run *last;    /* the run before this one; NULL: none */
};

/* Texts that most pods do not have: "" each. */
struct kubernetes_text {
	struct span notes;
	struct span reason, message; /* of the phase */
	struct span unscheduled;     /* the reason no node was found */
	struct span installer;       /* the reason slipway's own init container did not run */
	struct span end_reason;      /* the reason it was deleted */
};

struct kubernetes_pod {
	struct span token;
	struct span group, version;        /* "" for a task of its own */
	uint64_t owner;                    /* kubernetes_owner(); 0 without a group */
	struct span node;                  /* "": none yet */
	struct span address, host_address; /* "": none yet */
	const struct kubernetes_text *text;
	enum kubernetes_phase phase;
	int64_t created_ms;
	int64_t ending_ms;    /* time of its deletion; 0: not deleted */
	bool gone;            /* its node reports that it has ended, or was not involved */
	int64_t was_ready_ms; /* when its containers last changed between ready and not */
	int64_t reminded_ms;  /* KUBERNETES_REMINDED; 0: never */
	bool gated, gate_open;
	bool acknowledged;
	bool held;       /* has our finalizer */
	bool has_secret; /* of its own, with its name */
	bool has_end;    /* the reason of its deletion was written before */
	enum runtime_stop end;
	int32_t hold;  /* seconds, and so are: */
	int32_t stop;  /* stop timeout of its containers */
	int32_t grace; /* grace period of its deletion, in all */
	enum kubernetes_network network;
	struct kubernetes_container *containers;
	size_t container_count;
};

/* For all reduce functions of this folder: the owner of our objects. */
struct kubernetes_reduce_context {
	struct span host;
};
int kubernetes_pod_reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err);

/* The reason of a pod's deletion, in the format of the annotation KUBERNETES_END. */
struct json *kubernetes_end_write(struct arena *arena, enum runtime_stop stop, struct span reason);

#endif
