/*
 * A spec (runtime/spec.h) parsed and checked for a driver that runs containers itself: names,
 * dependencies and limits of a plan are valid. The server makes one to reject specs that can never
 * start; it, or the supervisor of a task, makes the same one from the task spec on disk to run it.
 *
 * The task spec is the file spec.json of a task's folder: the spec, and the choices of the start.
 *     {"version": 1, "token": "…", "instance": "machine", "createdMs": 0,
 *      "address": "127.64.3.9", "hostPorts": [[49153], []], "plain": false,
 *      "link": {"bridge": "sw1234abcd", "address": "10.3.16.7", "gateway": "10.3.16.1", "prefix": 20},
 *      "hidden": ["/var/lib/slipway"], "processesMax": 4096,
 *      "spec": {…}}
 * hostPorts has a list for each container with a port for each of its mappings. The address is for
 * a task in plain mode; link, if present, is for one with a network of its own.
 */
#ifndef RUNTIME_TASK_PLAN_H
#define RUNTIME_TASK_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"
#include "runtime/runtime.h"

#define PLAN_SPEC_VERSION 1
#define PLAN_SPEC_MAX (RUNTIME_SPEC_MAX + 64 * 1024)
#define PLAN_NAME_MAX 255
#define PLAN_BRIDGE_MAX 16
#define PLAN_ADDRESS_MAX 16 /* with the NUL */
#define PLAN_MOUNTS_MAX 64
#define PLAN_HIDDEN_MAX 8
#define PLAN_ENVIRONMENT_FILES_MAX 10
#define PLAN_LIMITS_MAX 15 /* as many as there are names */
#define PLAN_SECONDS_MAX ((int64_t)7 * 24 * 3600)

enum plan_network {
	PLAN_NETWORK_AWSVPC,
	PLAN_NETWORK_BRIDGE,
	PLAN_NETWORK_HOST,
	PLAN_NETWORK_NONE
};

enum plan_condition { PLAN_START, PLAN_COMPLETE, PLAN_SUCCESS, PLAN_HEALTHY };

struct plan_dependency {
	size_t container; /* index */
	enum plan_condition condition;
};

struct plan_health {
	char **arguments; /* ends with NULL */
	int64_t interval_ms, timeout_ms, start_period_ms;
	unsigned retries;
};

struct plan_limit {
	const char *name;
	int resource; /* RLIMIT_… */
	rlim_t soft, hard;
};

struct plan_port {
	uint16_t container_port;
	uint16_t host_port; /* 0: to be chosen */
	bool udp;
};

struct plan_container {
	struct span name; /* letters, digits, - and _: it names files */
	struct span image;
	bool essential;
	char **arguments;              /* ends with NULL; the entry point's first */
	size_t entry_point_count;      /* of the arguments */
	char **environment;            /* "NAME=value", ends with NULL */
	const char *working_directory; /* NULL: / */
	const char *user;              /* NULL: as the supervisor */
	const char *hostname;          /* NULL: the machine's */
	struct plan_limit limits[PLAN_LIMITS_MAX];
	size_t limit_count;
	struct plan_port *ports;
	size_t port_count;
	struct plan_dependency dependencies[RUNTIME_CONTAINERS_MAX];
	size_t dependency_count;
	const struct plan_health *health; /* NULL: none */
	int64_t start_timeout_ms;         /* 0: none */
	int64_t stop_timeout_ms;
	bool restarts;
	int64_t restart_period_ms;
	const struct json *ignored_exit_codes;
	uint64_t log_max_bytes;
	int64_t cpu, memory; /* units and MiB; 0: none */
	int64_t memory_reservation;
	bool privileged, readonly_root;
	const struct json *capabilities_added, *capabilities_dropped; /* names; NULL: none */
	uint64_t capabilities;                                        /* capability_set.h */
	struct plan_mount *mounts;
	size_t mount_count;
	char **environment_files; /* paths, ends with NULL */
};

/* A place in a network of tasks. Addresses are in host order. */
struct plan_link {
	char bridge[PLAN_BRIDGE_MAX]; /* "": none */
	uint32_t address, gateway;
	unsigned prefix;
};

struct plan_mount {
	const char *volume; /* its name, if it is the task's own; else NULL */
	const char *source; /* else a path of this machine */
	const char *target; /* begins with / */
	bool readonly;
};

struct plan {
	struct span token, instance, address; /* of the task spec; "" in a plan of a bare spec */
	bool plain;                           /* of the task spec: without namespaces */
	struct plan_link link;                /* of the task spec */
	const char *const *
		hidden; /* of the task spec: folders that its programs do not see; ends with NULL */
	int64_t processes_max; /* of the task spec: of the whole task; 0: not limited */
	struct span cluster, arn, family;
	int64_t revision;
	int64_t created_ms;
	enum plan_network network;
	int64_t cpu, memory;
	struct plan_container containers[RUNTIME_CONTAINERS_MAX];
	size_t container_count;
};

/* Images that a driver accepts: only "host", which has no command of its own, or any. */
enum plan_images { PLAN_IMAGE_HOST, PLAN_IMAGE_ANY };

/* Lives in the arena and points into spec. -EINVAL: it can never start, and why. */
int plan_parse_spec(const struct json *spec, enum plan_images images, struct arena *arena,
	struct plan **ret_plan, struct err *err);

/* Replaces the values of secrets in the text of a task spec by empty ones. False if it has none, or cannot be read. */
bool plan_forget_secrets(struct span text, struct arena *arena, struct buffer *out);

/* The text of a task spec; it must live as long as the plan. */
int plan_parse_task_spec(struct span text, enum plan_images images, struct arena *arena,
	struct plan **ret_plan, struct err *err);

/* Tokens name folders. */
bool plan_token_is_valid(struct span token);

/* An address as people write it. */
struct span plan_address_text(uint32_t address, char text[PLAN_ADDRESS_MAX]);

/* The task spec for a plan, with the ports and the address that its members have now. */
void plan_write_task_spec(const struct plan *plan, const struct json *spec, struct buffer *out);

#endif
