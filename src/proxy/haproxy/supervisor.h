/*
 * The supervisor: the applied state, by name (model.c), as files for a process that starts
 * (config.c), as commands for running ones (follow.c), the processes (process.c), and their
 * counters (count.c). All of it belongs to one thread, which also starts processes, so that they
 * end with it; callers pass it jobs (haproxy.c).
 *
 * HAProxy's objects have short names that are not reused while requests may still refer to them:
 * listeners l1, l2 ..., actions a1, a2 ..., servers s1, s2 ... of a backend. Backends b0, b1 ...
 * are a pool, since none can be added to a process that runs; a group takes one and gives it back.
 */
#ifndef PROXY_HAPROXY_SUPERVISOR_H
#define PROXY_HAPROXY_SUPERVISOR_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/lock.h"
#include "base/map.h"
#include "proxy/haproxy/haproxy.h"
#include "proxy/share.h"

#define PROCESSES_MAX 64       /* one accepts, the others end */
#define FULL_WEIGHT 100        /* of a server */
#define RULE_TEXT_MAX 12000    /* of one rule: HAProxy reads it into one buffer */
#define COMMAND_TEXT_MAX 15000 /* as is a command */
#define COMMAND_TIMEOUT_MS 15000
#define START_TIMEOUT_MS 60000
#define RESTART_DELAY_MAX_MS 100
#define START_DELAY_MS 1000 /* after a start that failed */
#define SHORT_LIFE_MS 1000
#define GRAVE_MS 2000      /* removed rows are deleted when no request can look them up any more */
#define SAMPLE_MS 5000     /* interval of reading counters and numbers */
#define RAMP_STEP_MS 100   /* slow start: interval of raising weights */
#define ENDING_POLL_MS 200 /* first polling interval of a process that ends */
#define ENDING_POLL_MAX_MS 2000
#define KEY_SIZE 32

/* ---- state of processes ---- */

/* Maps of HAProxy, one file each. */
#define TABLES(X)                                                                                  \
	X(LISTENERS, "listeners.map")     /* l1: its only action, or the input of its rules */     \
	X(ACTIONS, "actions.map")         /* a1: its shares, or its fixed response */              \
	X(MEMBERS, "members.map")         /* a1/TOKEN: backend of a sticky group */                \
	X(GROUPS, "groups.map")           /* b1: token of its group */                             \
	X(STICKY, "sticky.map")           /* b1: cookie or application, and duration */            \
	X(TARGETS, "targets.map")         /* b1/TOKEN: server */                                   \
	X(TOKENS, "tokens.map")           /* b1/s1: token */                                       \
	X(APPLICATION, "application.map") /* expressions: find the application's cookie */

#define TABLE_ENUM_(name, file) TABLE_##name,
enum { TABLES(TABLE_ENUM_) TABLE_COUNT };
#undef TABLE_ENUM_

struct row {
	char *value, *reported; /* NULL: not there */
	bool wanted;
	int64_t gone_us;
};

struct table {
	struct map rows;
};

/* Commands in order, for every process. */
struct command {
	char *text;        /* a line, with payload perhaps; or the name of a map with rules */
	char *rules;       /* all lines of that map; NULL: another command */
	uint32_t backends; /* only for processes with this many */
	bool optional;     /* its error is ignored */
};

struct script {
	struct command *commands;
	size_t count, capacity;
};

/* ---- applied state ---- */

struct shape {
	bool tcp;
	bool by_source;
	bool keeps_targets; /* cookies */
	enum proxy_balance balance;
	uint32_t connect_timeout_ms, retries, idle_ms;
};

/* A server of a backend: a target's, or free for another one with the same connection settings. */
struct slot {
	uint32_t number;
	union proxy_address address;
	bool tls, http2, proxy_v2;
	bool used, wanted;
	enum proxy_target_state state;
	int64_t active_us;      /* since when */
	bool begins;            /* with the current change */
	bool rises;             /* slow start, from active_us on */
	int64_t drain_until_us; /* INT64_MAX: no end */
	bool cut;               /* the deadline has passed */
	/* It left its group while it drained: it is removed with its last request, or at the
	 * deadline. */
	bool leaves;
	int64_t left_us;
	/* state in HAProxy */
	bool exists, reported_ready;
	unsigned reported_weight;
	union proxy_address reported_address;
};

struct backend {
	uint32_t number;
	struct shape shape, reported_shape;
	bool reported; /* the accepting process has it */
	char *group;   /* NULL: free */
	bool wanted;
	bool lingers;  /* in the state, without a listener */
	bool proxy_v2; /* of its targets */
	/* A group that left the state keeps its open requests: its servers are removed when no
	 * request can choose one any more, and are not cut off. */
	int64_t released_us;
	char *last_group; /* owner of those servers */
	enum proxy_sticky sticky;
	uint32_t sticky_s;
	char *sticky_name;
	uint32_t slow_start_ms;
	uint32_t next_slot;
	struct slot *slots; /* used ones in the order of the state first */
	size_t slot_count, target_count;
};

struct action_route {
	struct backend *backend;
	uint32_t weight;
};

struct action {
	uint32_t number;
	enum proxy_action_kind kind;
	struct action_route routes[PROXY_ROUTES_MAX];
	size_t route_count;
	uint32_t sticky_s;
	char *answer;        /* the row of a fixed response */
	struct share *share; /* computes phases; NULL for one route */
	uint32_t raw;        /* HAProxy's counter when last read */
	uint32_t base;       /* draw n is at counter base + n */
	bool wanted;
};

struct front {
	char *name;
	uint32_t number;
	enum proxy_protocol protocol;
	union proxy_address requested, bound;
	int descriptor;
	struct map actions; /* by name of the rule; "" is the default */
	char *rules, *reported_rules;
	bool needs_fields;
	/* some action does, or did: it stays, so that later changes need no process */
	bool keeps_groups;
	struct shape shape;         /* of its future backends */
	char *text, *reported_text; /* its section of the configuration */
	char **certificates, **reported_certificates;
	size_t certificate_count, reported_certificate_count;
	bool wanted;
};

/* ---- processes ---- */

enum process_state { PROCESS_NONE, PROCESS_ACCEPTS, PROCESS_ENDS };

struct process {
	enum process_state state;
	pid_t pid;
	int output; /* its messages; at end of file it is gone */
	int control;
	bool starting;
	size_t backend_count;
	uint32_t *fronts; /* numbers of its listeners */
	size_t front_count;
	int64_t started_us, ending_us, checked_us;
	long connections; /* at the last poll; only of one that ends */
	struct map seen;  /* counters when last read */
};

enum job_kind { JOB_APPLY, JOB_WEIGHTS, JOB_REPORT };

struct job {
	enum job_kind kind;
	const struct proxy_state *state;
	const char *listener;
	const struct proxy_route *routes;
	size_t route_count;
	struct arena *arena;
	struct proxy_report *report;
	struct err *err;
	int result;
	bool done;
};

struct haproxy {
	struct proxy_driver driver;
	struct runner *runner;
	struct runner_event *event;
	struct lock lock; /* guards job, stopping */
	struct job *job;
	bool stopping;
	_Atomic bool leaving; /* processes keep running after this one */
	int wake;
	atomic_int accepting; /* process id */

	/* options */
	char *program, *folder_path;
	bool program_is_configured;
	int folder;
	uid_t user;
	gid_t group;
	bool drop_privileges;
	unsigned threads;
	uint32_t max_connections, spare_groups, request_timeout_ms, header_bytes, end_after_ms;

	/* the applied state */
	struct map listeners;  /* struct front, in the order of the state */
	struct map groups;     /* "h:NAME" or "t:NAME": struct backend */
	struct map group_spec; /* names in the order of the state */
	struct backend **backends;
	size_t backend_count;
	uint32_t next_listener, next_action;
	struct table tables[TABLE_COUNT];
	struct map tallies; /* struct proxy_counters by HAProxy's name */
	struct map numbers; /* counters just read */
	bool graves;        /* there are rows to delete */

	/* processes */
	struct process processes[PROCESSES_MAX];
	struct process *current;
	uint64_t process_starts;
	unsigned socket_number;
	bool out_of_step; /* the current process missed a change */
	/* a group has no listener any more: wait until no request can choose it */
	bool must_settle;
	int64_t started_us, restart_us, restart_delay_ms;
	int64_t sampled_us;
};

/* table.c */
extern const char *const table_files[TABLE_COUNT];
/* Rows that are not set again until the next change are no longer desired. */
void table_begin(struct table *table);
void table_set(struct table *table, const char *key, const char *value);
void table_clear(struct table *table);
/* backends: as in struct command; optional: its error is ignored. */
void script_add(struct script *script, uint32_t backends, bool optional, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void script_add_rules(struct script *script, const char *map, const char *rules);
void script_clear(struct script *script);
#define _script_ CLEANUP(script_clear)

/* model.c */
/* *removed: commands for removed listeners. */
int model_apply(struct haproxy *haproxy, const struct proxy_state *state, struct script *removed,
	struct err *err);
int model_set_weights(struct haproxy *haproxy, const char *listener,
	const struct proxy_route *routes, size_t route_count, struct err *err);
void model_clear(struct haproxy *haproxy);
struct action *front_default(const struct front *front);

/* backend.c */
bool shape_is(const struct shape *a, const struct shape *b);
struct shape shape_of(const struct proxy_listener *listener, const struct proxy_group *group);
struct backend *backend_add(struct haproxy *haproxy, const struct shape *shape);
bool backend_is_free(const struct backend *backend);
struct backend *backend_take(struct haproxy *haproxy, const struct shape *shape, const char *group);
void backend_free(struct backend *backend);
/* *sampled: counters were read during this change. */
void backend_set_targets(struct haproxy *haproxy, struct backend *backend,
	const struct proxy_group *group, bool proxy_v2, bool *sampled);
void backend_release(struct haproxy *haproxy, struct backend *backend);
bool slot_is_ready(const struct slot *slot);
bool slot_must_go(struct haproxy *haproxy, const struct backend *backend, const struct slot *slot);
unsigned slot_weight(struct haproxy *haproxy, const struct backend *backend,
	const struct slot *slot);
/* Deadlines of draining targets, slow starts. Returns the time of the next event. */
int64_t backends_tick(struct haproxy *haproxy, bool *ret_changed);

/* rows.c: the rows of the tables */
void rows_fill(struct haproxy *haproxy);
void rows_set_action(struct haproxy *haproxy, const struct action *action);
/* For a process that begins to count at 0. */
void rows_restart(struct haproxy *haproxy);
char *rows_format_answer(const struct proxy_action *action);
/* Records the value of HAProxy's counter. */
void action_set_number(struct action *action, uint32_t raw);
void action_set_shares(struct action *action);

/* section.c */
void section_add_front(struct haproxy *haproxy, const struct front *front,
	const struct proxy_listener *wanted, struct buffer *out);
void section_add_backend(struct haproxy *haproxy, const struct backend *backend,
	struct buffer *out);
void section_add_server(const struct slot *slot, struct buffer *out);

/* config.c */
int config_write(struct haproxy *haproxy, int control, struct err *err);
/* Removes files that are no longer read: all, or private keys, which a running process has in
 * memory. */
void config_remove(struct haproxy *haproxy, bool only_keys);
#define CONFIG_FILE "haproxy.cfg"

/* follow.c */
void follow_changes(struct haproxy *haproxy, struct script *script);
void follow_removed(struct script *script, const struct front *front);
void follow_graves(struct haproxy *haproxy, struct script *script);
/* Marks everything as known to a process that has just started. */
void follow_version_reported(struct haproxy *haproxy);
bool follow_needs_process(const struct haproxy *haproxy);
/* Sends it to all. */
void follow_run(struct haproxy *haproxy, const struct script *script);

/* process.c */
int process_find_program(struct haproxy *haproxy, struct err *err);
int process_start(struct haproxy *haproxy, struct process **ret_process, struct err *err);
/* The answer, without its prompt, in *ret_answer (may be NULL). -EPIPE: it is gone. */
int process_ask(struct haproxy *haproxy, struct process *process, const char *text, size_t length,
	struct buffer *ret_answer);
void process_end_softly(struct haproxy *haproxy, struct process *process);
void process_bury(struct haproxy *haproxy, struct process *process);
/* It accepts no more, ends with its last connection, and is not managed any more. */
void process_leave(struct haproxy *haproxy, struct process *process);
void process_tick(struct haproxy *haproxy, struct process *process);
/* The time of the next poll of a process that ends. */
int64_t process_poll_us(const struct process *process);

/* count.c */
void count_sample(struct haproxy *haproxy, struct process *process);
/* Reads the numbers of the sequences of shares, of all actions or of one. */
void count_numbers(struct haproxy *haproxy, struct process *process);
void count_number(struct haproxy *haproxy, struct action *action);
void count_forget(struct haproxy *haproxy, const char *key);
/* Open requests of the server, as of the last samples of all processes. */
uint64_t count_active(struct haproxy *haproxy, const struct backend *backend,
	const struct slot *slot);
void count_report(struct haproxy *haproxy, struct arena *arena, struct proxy_report *report);
void count_clear(struct haproxy *haproxy);

/* certificate.c */
int certificate_check(const char *listener, const struct proxy_certificate *certificate,
	struct err *err);

/* script.c */
extern const char lua_script[];

#endif
