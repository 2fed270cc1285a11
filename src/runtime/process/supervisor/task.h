/*
 * The supervisor's task: containers that wait, start, run, stop and end, and the record of their
 * state. Everything happens on one thread: events (a child's end, a deadline, a request) change a
 * container, and task_step() then makes all steps that follow, level-triggered, until there is
 * none.
 *
 * The record is on disk before the first program runs, and an end is reported only after it is on
 * disk.
 */
#ifndef RUNTIME_PROCESS_SUPERVISOR_TASK_H
#define RUNTIME_PROCESS_SUPERVISOR_TASK_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/clock.h"
#include "runtime/process/cgroup.h"
#include "runtime/process/supervisor/launch.h"
#include "runtime/process/supervisor/metadata.h"
#include "runtime/process/supervisor/redirect.h"
#include "runtime/process/supervisor/resolver.h"
#include "runtime/process/supervisor/separation.h"
#include "runtime/runtime.h"
#include "runtime/task/log_files.h"
#include "runtime/task/plan.h"

#define TASK_NEVER INT64_MAX

enum container_step {
	CONTAINER_WAITING,  /* for what it depends on */
	CONTAINER_STARTING, /* its monitor runs; the program has not reported that it runs */
	CONTAINER_RUNNING,
	CONTAINER_STOPPING, /* SIGTERM sent; SIGKILL at the deadline */
	CONTAINER_STOPPED,
};

#define HEALTH_OUTPUT_MAX 256 /* bytes of a check's output that are kept: the first ones */

struct health_check {
	pid_t monitor;       /* 0: none runs */
	int report;          /* -1: none */
	int64_t next_us;     /* when the next one begins */
	int64_t deadline_us; /* when the one that runs has failed */
	bool overdue;        /* killed for that */
	unsigned failures;   /* in a row */
	int output;          /* of the check; -1: ended */
	char text[HEALTH_OUTPUT_MAX];
	size_t text_length;
	char reason[HEALTH_OUTPUT_MAX + 64]; /* that the record shows */
};

struct container {
	struct task *task;
	const struct plan_container *plan;
	struct runtime_container *record; /* in the task's record */
	enum container_step step;
	pid_t monitor;                    /* 0: none */
	int report;                       /* of the launch; -1: done */
	char reported[LAUNCH_REPORT_MAX]; /* why it failed; "" if not */
	int output;                       /* of the program; -1: ended */
	struct log_files log;
	char **environment;
	struct cgroup_entry *groups; /* NULL: none */
	int mounts;                  /* its mount namespace; -1: the task's */
	unsigned memory_kills;       /* of the runs before this one */
	bool was_started;            /* its program ran at least once */
	bool failed_to_start;
	int64_t started_us;
	int64_t deadline_us; /* of the stop */
	struct health_check health;
};

struct task {
	struct arena *arena;
	struct clock *clock;
	const struct plan *plan;
	struct separation separation;
	struct runtime_task *record;
	struct container containers[RUNTIME_CONTAINERS_MAX];
	size_t container_count;
	bool redirects; /* the binds of its programs */
	int redirect_problem;
	struct redirect redirect;
	struct metadata metadata;
	struct resolver resolver;
	bool hides_as_user; /* programs cover the hidden folders themselves; see confinement.h */
	int hide_problem;   /* a negative code: folders that should be hidden are not */
	rlim_t processes; /* limit of the user's processes, where no control group has one; 0: none */
	bool has_groups;
	struct cgroup_mounts mounts;
	size_t guests; /* programs of exec that run; the task does not end before them */
	bool stopping;
	bool is_unredirected; /* binds of a program to every address cannot be redirected: it is noted */
	bool changed;         /* the record, since the last report to watchers */
	bool unsaved;         /* an end that is not on disk */
	bool over;            /* and saved */
	int64_t save_at_us;
};

/* Reads the task spec in the working folder. */
int task_open(struct task *task, struct arena *arena, struct clock *clock, struct err *err);
/* After the isolation is known: the record and the containers. */
void task_prepare(struct task *task);
/* Creates the groups and notes missing limits; the record must be on disk, or the groups could be
 * left behind. */
void task_make_groups(struct task *task);
/* Removes the values of secrets from the task spec on disk: the supervisor has them, and nothing else needs them. */
void task_forget_secrets(struct task *task);
/* Makes the first record, durable with the folder that it is in: nothing runs before. */
int task_begin(struct task *task, struct err *err);
/* Replaces it, durable. */
int task_save(struct task *task, struct err *err);

void task_step(struct task *task);
/* Stops the task, unless it is stopping already. reason is copied. */
void task_stop(struct task *task, enum runtime_stop stop, struct span reason);
/* A monitor was reaped; false if it is not of this task. */
bool task_monitor_ended(struct task *task, pid_t monitor, int status);
int64_t task_next_us(const struct task *task); /* when task_step() is due, at the latest */
/* Descriptors to poll for the containers; task_read() handles one. */
size_t task_descriptors(const struct task *task, struct pollfd *polls, size_t max);
void task_read(struct task *task, int descriptor);
/* The monitors that are alive. */
size_t task_maintainers(const struct task *task, pid_t *maintainers, size_t max);
struct container *task_find(struct task *task, struct span name);
/* The launch settings of any program of the container; the caller adds the program and its
 * streams. */
struct launch task_launch_of(const struct container *container);
/* Reads the available part of a launch's report; closes it at the end, and returns true then. The
 * reason of a failure goes into text. */
bool task_take_report(struct task *task, int *report, char text[LAUNCH_REPORT_MAX]);

/* notes.c: settings of the task that have no effect here. */
struct span notes_of(const struct task *task);

/* health.c */
void health_begin(struct container *container); /* the program runs */
void health_step(struct container *container);  /* when due */
void health_ended(struct container *container, int status);
void health_cancel(struct container *container); /* kills a check that runs */
int64_t health_next_us(const struct container *container);
void health_read(struct container *container); /* output of a check */

/* environment.c: the variables of a container's programs, in the task's arena. */
int environment_make(struct task *task, const struct plan_container *plan, struct span container_id,
	char ***ret_environment, struct err *err);

#endif
