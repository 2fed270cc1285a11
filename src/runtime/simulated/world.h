/*
 * The inside of the simulated runtime, shared by its files:
 *     script.c      a spec read into what a task does, shared by all tasks that do the same
 *     timers.c      a heap of what is due when
 *     task.c        the life of a task
 *     world.c       instances, the strand, notices, deaths by chance
 *     operations.c  struct runtime_operations, with calls that get lost, late and repeated
 * One lock guards everything in a world; `changed` is called without it.
 */
#ifndef RUNTIME_SIMULATED_WORLD_H
#define RUNTIME_SIMULATED_WORLD_H

#include "base/map.h"
#include "control/lock.h"
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
	int64_t stop_timeout_ms;
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

struct simulated_instance {
	struct timer returns;
	struct span id;
	unsigned index;
	bool dead;
	struct simulated_task *tasks; /* that have not stopped */
};

/* Small: there are many. */
struct simulated_task {
	struct timer timer; /* what its phase waits for */
	struct script *script;
	struct simulated_instance *instance;
	struct simulated_task *next, **previous;                 /* on its instance */
	struct simulated_task *next_changed, **previous_changed; /* NULL: nothing to tell */
	char *reason;                                            /* NULL: none */
	int64_t created_ms, started_ms, stopped_ms;
	int64_t health_us, unhealthy_us, exit_us;
	uint64_t number; /* from 1; gives it its address */
	int exit_code;
	uint8_t phase, stop, health; /* enum runtime_… */
	bool has_exit_code;
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
/* Takes the reference of the script, which is a shared one. */
void simulated_task_begin(struct simulated_world *world, struct span token,
	struct simulated_instance *instance, struct script *script);
void simulated_task_ask_to_stop(struct simulated_world *world, struct simulated_task *task,
	struct span reason);
/* Ends one that has not stopped. exit_code below 0: nobody knows. */
void simulated_task_end(struct simulated_world *world, struct simulated_task *task,
	enum runtime_stop stop, int exit_code, struct span reason);
void simulated_task_forget(struct simulated_world *world, struct simulated_task *task);
void simulated_task_set_health(struct simulated_world *world, struct simulated_task *task,
	bool healthy);
void simulated_task_describe_program(const struct simulated_task *task,
	struct simulated_program *out);
struct runtime_task *simulated_task_report(struct simulated_task *task, struct arena *arena);

/* ---- runtimes: what servers have of the world ---- */

struct simulated_runtime {
	struct runtime runtime;
	struct simulated_world *world;
	struct runtime_simulated_config config;
	struct timer resync; /* tells that anything may have changed */
	bool resync_due, closing;
};

extern const struct runtime_operations simulated_operations;

void simulated_runtime_close(struct runtime *runtime);
/* A call that is under way: a timer that owns itself. */
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
	struct simulated_behaviour behaviour; /* of specs that say nothing; never changes */
	struct simulated_faults faults;
	bool faulty;    /* any of them is set */
	bool remembers; /* config.remember_tokens, or there have been faults */
	struct simulated_counts counts;
	struct timers timers;
	struct timer task_death, instance_death;
	int64_t asleep_until_us; /* the strand; INT64_MIN: it is awake or was woken */
	struct map scripts;      /* by key */
	struct map tasks;        /* by token */
	struct map acknowledged; /* tokens, when they are remembered */
	struct map instances;    /* by id */
	struct simulated_task *changed, **changed_end;
	uint64_t number;
	struct simulated_runtime *runtimes[SIMULATED_RUNTIMES_MAX];
	struct simulated_runtime *delivering;
};

void simulated_world_lock(struct simulated_world *world);
/* Wakes the strand if there is something for it. */
void simulated_world_unlock(struct simulated_world *world);
int64_t simulated_world_draw(struct simulated_world *world, int64_t most); /* 0..most */
bool simulated_world_chance(struct simulated_world *world, unsigned one_in);
/* A moment so long from now; INT64_MAX for never. */
int64_t simulated_world_draw_moment(struct simulated_world *world,
	const struct simulated_time *time);
void simulated_world_set_timer(struct simulated_world *world, struct timer *timer, int64_t at_us);
/* Every runtime is to be told. */
void simulated_world_task_changed(struct simulated_world *world, struct simulated_task *task);
void simulated_world_all_changed(struct simulated_world *world);
void simulated_world_broken(struct simulated_world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
