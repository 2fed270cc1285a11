/*
 * The internals of the simulated runtime, shared by its files:
 *     script.c            parses a spec into a task's behaviour, shared by equal tasks
 *     timers.c            a heap of timers
 *     task.c              the phases of a task
 *     report.c            reports of a task
 *     place.c             the choice of instances
 *     group.c             groups and their versions
 *     replicas.c          the number of tasks of each version of a group, rollouts and scaling
 *     daemon.c            the same with one task on each instance
 *     group_report.c      reports of a group and its events
 *     world.c             instances, the thread, random deaths
 *     notices.c           notices to servers
 *     messages.c          calls that get lost, late and repeated
 *     operations.c        struct runtime_operations
 *     group_operations.c  struct runtime_group_operations
 * One lock guards everything in a world; `changed` is called without it.
 */
#ifndef RUNTIME_SIMULATED_WORLD_H
#define RUNTIME_SIMULATED_WORLD_H

#include "base/lock.h"
#include "base/map.h"
#include "runtime/simulated/simulated.h"

#define SIMULATED_REASON_MAX 1024

/* ---- timers ---- */

struct timer {
	int64_t at_us;
	uint64_t order;  /* of equal times, the one that was set first */
	size_t position; /* in the heap, from 1; 0: not set */
	void (*due)(struct simulated_world *world, struct timer *timer);
};

struct timers {
	struct timer **heap;
	size_t count, capacity;
	uint64_t order;
};

/* Set again if it is set. */
void simulated_timers_set(struct timers *timers, struct timer *timer, int64_t at_us);
void simulated_timers_unset(struct timers *timers, struct timer *timer); /* not set: nothing */
struct timer *simulated_timers_first(const struct timers *timers);       /* NULL: none */

/* ---- scripts ---- */

struct script_port {
	uint16_t container_port, host_port;
	bool udp;
};

struct script_container {
	struct span name;
	bool has_health_check;
	struct script_port *ports;
	size_t port_count;
};

/* Immutable but for its references. */
struct script {
	struct arena *arena; /* of all that it points to */
	unsigned references; /* under the world's lock */
	struct span key;     /* its content as text: equal scripts are one */
	struct span family, service, cluster, network_mode;
	int64_t revision;
	struct simulated_behaviour behaviour;
	struct span fail_start; /* "": it does not */
	int64_t stop_timeout_ms, hold_ms;
	struct span group; /* "service:web" */
	int64_t cpu, memory;
	bool gated, distinct_instance;
	struct script_container containers[RUNTIME_CONTAINERS_MAX];
	size_t container_count;
};

/* A new one with one reference. -EINVAL: what is wrong with the spec. */
int simulated_script_parse(const struct json *spec, const struct simulated_behaviour *defaults,
	struct script **ret_script, struct err *err);
/* The one in the world that does the same, given for the new one, whose reference is taken. */
struct script *simulated_script_share(struct simulated_world *world, struct script *script);
void simulated_script_release(struct simulated_world *world, struct script *script);

/* ---- instances and tasks ---- */

struct simulated_task;
struct simulated_version;

struct simulated_instance {
	struct timer returns;
	struct span id;
	unsigned index;
	bool dead, cordoned;
	struct simulated_task *tasks; /* that have not stopped */
	size_t task_count;
	int64_t cpu_used, memory_used;
};

/* Small: there are many. */
struct simulated_task {
	struct timer timer; /* the end of its phase */
	struct script *script;
	struct simulated_instance *instance;     /* NULL: none was chosen yet */
	struct simulated_task *next, **previous; /* on its instance, or of those without one */
	struct simulated_task *next_changed, **previous_changed; /* NULL: no report pending */
	struct simulated_version *version;                       /* NULL: a task of its own */
	/* NULL: it does not count any more */
	struct simulated_task *next_replica, **previous_replica;
	char *reason; /* NULL: none */
	int64_t created_ms, started_ms, stopped_ms, ends_ms;
	int64_t health_us, unhealthy_us, exit_us;
	int64_t ready_us;      /* since when, as its group has seen it; 0: it is not */
	int64_t held_until_us; /* while it is held, else 0 */
	uint64_t number;       /* from 1; gives it its address */
	int exit_code;
	uint8_t phase, stop, health; /* enum runtime_… */
	bool has_exit_code, gate_open;
	uint8_t token_length;
	char token[];
};

static inline struct span simulated_task_token(const struct simulated_task *task)
{
	return (struct span){task->token, task->token_length};
}

struct span simulated_instance_address(const struct simulated_instance *instance,
	struct arena *arena);

struct simulated_task *simulated_task_of(struct simulated_world *world, struct span token);
/* Takes the reference of the script, which is a shared one. instance NULL: the world chooses one. version NULL:
 * a task of its own. */
void simulated_task_begin(struct simulated_world *world, struct span token,
	struct simulated_instance *instance, struct script *script,
	struct simulated_version *version);
/* An instance was chosen for one that had none. */
void simulated_task_set_instance(struct simulated_world *world, struct simulated_task *task,
	struct simulated_instance *instance);
void simulated_task_ask_to_stop(struct simulated_world *world, struct simulated_task *task,
	struct span reason);
/* Ends its hold; of no effect for others. */
void simulated_task_release(struct simulated_world *world, struct simulated_task *task);
/* Ends a task that has not stopped. exit_code below 0: unknown. */
void simulated_task_end(struct simulated_world *world, struct simulated_task *task,
	enum runtime_stop stop, int exit_code, struct span reason);
void simulated_task_forget(struct simulated_world *world, struct simulated_task *task);
void simulated_task_set_health(struct simulated_world *world, struct simulated_task *task,
	bool healthy);
void simulated_task_describe_program(const struct simulated_task *task,
	struct simulated_program *out);
struct runtime_task *simulated_task_report(struct simulated_task *task, struct arena *arena);

void simulated_task_set_reason(struct simulated_task *task, struct span reason);

/* Chooses an instance; without one the task waits for a change. */
void simulated_place_task(struct simulated_world *world, struct simulated_task *task);
/* There is new room, or there are new instances. */
void simulated_place_changed(struct simulated_world *world);

/* ---- groups ---- */

/* The tasks of a group that are made from one spec, as a ReplicaSet has them. */
struct simulated_version {
	struct simulated_group *group;
	struct simulated_version *next; /* older; unused when it is not listed */
	struct span name;
	struct script *script; /* a reference */
	int64_t created_ms;
	int64_t desired;
	size_t references;                        /* tasks, and one of the group's list */
	struct simulated_task *replicas;          /* that count, newest first */
	int64_t reported_current, reported_ready; /* as of the last look at its group */
};

struct simulated_event {
	uint64_t number;
	int64_t at_ms, count;
	bool warning;
	char *text;
};

/* The desired state. */
struct simulated_desired {
	char *version;
	struct script *script; /* a reference */
	bool daemon;
	int64_t desired, minimum_healthy, maximum, settle_seconds;
};

struct simulated_group {
	struct timer pass; /* at its replicas */
	struct simulated_world *world;
	struct span id;
	struct simulated_desired desired;
	struct simulated_version *versions; /* newest first */
	struct simulated_group *next_changed;
	bool is_changed;    /* in the list of notices */
	bool check_is_near; /* a change is pending; else `pass` is for the deadline */
	bool exists;        /* in the world's map */
	bool settled, ending, failed;
	bool complete;     /* the newest version has been rolled out */
	size_t references; /* versions */
	size_t live;       /* tasks that have not stopped */
	int64_t scaled_to; /* desired at the last pass */
	int64_t progress_us;
	/* As of the last pass. */
	int64_t reported_desired, reported_current, reported_updated, reported_ready,
		reported_available;
	struct simulated_event events[RUNTIME_EVENTS_MAX]; /* oldest first */
	size_t event_count;
};

/* Sets the desired state; takes what `desired` owns. */
int simulated_group_apply(struct simulated_world *world, struct span id,
	struct simulated_desired *desired, struct err *err);
void simulated_desired_clear(struct simulated_world *world, struct simulated_desired *desired);
/* Starts deleting it; it exists until its tasks have ended. */
void simulated_group_remove(struct simulated_group *group);
/* Deletes it at once, its tasks end. */
void simulated_group_delete(struct simulated_group *group);
/* With all its versions; no task of any may be left. */
void simulated_groups_free(struct simulated_world *world);
/* It or one of its tasks changed: a pass over its replicas follows. */
void simulated_group_touch(struct simulated_group *group);
void simulated_groups_instances_changed(struct simulated_world *world);
/* It is not in the list of notices any more: it may be freed here. */
void simulated_group_reported(struct simulated_group *group);

/* Starts one more task. instance NULL: the world chooses. */
void simulated_version_start_task(struct simulated_version *version,
	struct simulated_instance *instance);
/* A new task counts as one of its replicas. */
void simulated_version_add(struct simulated_version *version, struct simulated_task *task);
/* It no longer counts as a replica; a replacement may start. */
void simulated_version_let_go(struct simulated_task *task);
/* Stops a replica, because the group has too many. */
void simulated_version_stop_task(struct simulated_task *task, struct span reason);
void simulated_version_release(struct simulated_version *version);
bool simulated_task_is_ready(const struct simulated_task *task);
/* It has been ready for as long as its group requires. */
bool simulated_task_is_available(const struct simulated_task *task);
void simulated_version_count(const struct simulated_version *version, int64_t *ret_current,
	int64_t *ret_ready, int64_t *ret_available);

/* Starts and stops tasks of a group towards the desired state. */
void simulated_replicas_step(struct simulated_group *group);
void simulated_daemon_step(struct simulated_group *group);

void simulated_group_event(struct simulated_group *group, bool warning, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
struct runtime_group_state *simulated_group_report(const struct simulated_group *group,
	struct arena *arena);

/* ---- runtimes: the servers' view of the world ---- */

struct simulated_runtime {
	struct runtime runtime;
	struct simulated_world *world;
	struct runtime_simulated_config config;
	struct timer resync; /* reports that anything may have changed */
	bool resync_due, closing;
};

extern const struct runtime_operations simulated_operations;
extern const struct runtime_operations simulated_operations_with_groups;
extern const struct runtime_group_operations simulated_group_operations;

void simulated_runtime_close(struct runtime *runtime);

static inline struct simulated_runtime *simulated_runtime_of(struct runtime *runtime)
{
	return CONTAINER_OF(runtime, struct simulated_runtime, runtime);
}

/* With the lock held afterwards if 0 is returned. */
int simulated_begin_reading(struct simulated_runtime *self, struct err *err);

/* ---- messages: calls that change something ---- */

struct message {
	struct timer timer;
	/* The effect of its arrival; the lock is held. */
	int (*arrive)(struct simulated_world *world, struct message *message, struct err *err);
	bool echo;             /* a late or repeated one: its answer is dropped */
	struct script *script; /* start, apply: a reference; NULL when it was given away */
	char token[RUNTIME_TOKEN_MAX + 1];
	char *instance; /* start, cordon */
	char *reason;   /* stop */
	char *group;    /* its id: apply, remove */
	char *version;  /* apply */
	bool releases;  /* stop: of one that is held */
	bool daemon, closed;
	int64_t desired, minimum_healthy, maximum, settle_seconds;
};

/* Sends it and returns the answer. Takes what the message owns. token SPAN_NONE: it is about no
 * task. */
int simulated_call(struct simulated_runtime *self, struct message *message, struct span token,
	struct err *err);
char *simulated_copy_text(struct span text, size_t most);
/* A message in flight: a timer that owns itself. */
void simulated_message_due(struct simulated_world *world, struct timer *timer);
void simulated_message_free(struct simulated_world *world, struct timer *timer);

/* ---- the world ---- */

struct simulated_world {
	struct runner *runner; /* its own group */
	struct runner_event *event;
	struct runner_event *delivered;
	struct lock lock;
	/* Under the lock: */
	struct simulated_config config;
	struct simulated_behaviour behaviour; /* of specs without settings; never changes */
	struct simulated_faults faults;
	bool faulty;    /* any of them is set */
	bool remembers; /* config.remember_tokens, or there have been faults */
	struct simulated_counts counts;
	struct timers timers;
	struct timer task_death, instance_death, group_death;
	int64_t asleep_until_us; /* the thread; INT64_MIN: it is awake or was woken */
	struct map scripts;      /* by key */
	struct map tasks;        /* by token */
	struct map acknowledged; /* tokens, when they are remembered */
	struct map instances;    /* by id */
	struct simulated_task *unplaced, **unplaced_end; /* tasks without an instance */
	struct map groups;                               /* by id */
	struct map occupied; /* ids of groups whose name is taken by another object */
	struct simulated_task *changed, **changed_end;
	struct simulated_group *groups_changed, **groups_changed_end;
	uint64_t number;
	uint64_t event_number;
	uint64_t name_key; /* of tokens */
	struct simulated_runtime *runtimes[SIMULATED_RUNTIMES_MAX];
	struct simulated_runtime *delivering;
};

void simulated_world_lock(struct simulated_world *world);
/* Wakes the thread if it has work. */
void simulated_world_unlock(struct simulated_world *world);
int64_t simulated_world_draw(struct simulated_world *world, int64_t most); /* 0..most */
bool simulated_world_chance(struct simulated_world *world, unsigned one_in);
/* A moment so long from now; INT64_MAX for never. */
int64_t simulated_world_draw_moment(struct simulated_world *world,
	const struct simulated_time *time);
void simulated_world_set_timer(struct simulated_world *world, struct timer *timer, int64_t at_us);
/* Every runtime gets a notice. */
void simulated_world_task_changed(struct simulated_world *world, struct simulated_task *task);
void simulated_world_group_changed(struct simulated_world *world, struct simulated_group *group);
void simulated_world_all_changed(struct simulated_world *world);
bool simulated_world_has_to_report(const struct simulated_world *world);
void simulated_world_notify(struct simulated_world *world);
void simulated_runtime_resync_due(struct simulated_world *world, struct timer *timer);
void simulated_world_broken(struct simulated_world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
