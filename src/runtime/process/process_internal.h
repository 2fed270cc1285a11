/* Shared by the files of the process runtime. */
#ifndef RUNTIME_PROCESS_PROCESS_INTERNAL_H
#define RUNTIME_PROCESS_PROCESS_INTERNAL_H

#include <pthread.h>

#include "base/lock.h"
#include "base/map.h"
#include "runtime/process/process.h"
#include "runtime/task/plan.h"
#include "runtime/task/record.h"

#define PROCESS_ANSWER_SECONDS 20 /* for immediate answers of a supervisor */

struct process_task {
	struct process_runtime *runtime;
	char *token;
	char *folder;
	char *instance;
	char *address;         /* of its own in plain mode; "": none */
	uint32_t link_address; /* in a network of its own; 0: none */
	uint16_t *ports;       /* on the host */
	size_t port_count;
	bool is_starting;    /* start() is working on it; no other thread uses it */
	bool is_known;       /* `state` is current, not an old one */
	bool has_ended;      /* and only acknowledge() uses it */
	struct buffer state; /* the latest line of a supervisor, or one like it */
	int watch;           /* connection; -1: none */
	struct buffer input;
	bool is_unsettled; /* to be probed */
	int64_t probe_us;
	int64_t probe_delay_us;
};

struct process_runtime {
	struct runtime runtime;
	char *folder;
	char *supervisor;
	unsigned instances;
	bool plain;
	char *hidden[PLAN_HIDDEN_MAX + 1]; /* absolute; ends with NULL */
	int64_t processes_max;
	struct clock *clock;
	runtime_changed changed;
	void *context;
	int folder_lock;

	struct lock making_bridge;

	struct lock mutex;      /* for all below */
	pthread_cond_t settled; /* a task became known, was started, or failed to */
	struct map tasks;       /* token: struct process_task */
	struct process_task **unsettled;
	size_t unsettled_count, unsettled_capacity;
	struct map reported; /* tokens that `changed` is to be called for */
	bool closing;

	pthread_t thread;
	int epoll, wake;
};

/* process_task.c */
struct process_task *process_task_new(struct process_runtime *runtime, struct span token);
void process_task_free(struct process_task *task);
/* Marks the address and ports of the task spec as used. */
void process_task_take_spec(struct process_task *task, const struct plan *plan);

/* watch.c: the thread, and finding out how tasks are. Mutex held for the first three. */
void process_unsettle(struct process_task *task);
/* Takes a connection with a "watch" request; on failure it stays the caller's. */
int process_watch(struct process_task *task, int connection);
void process_wake(struct process_runtime *runtime);
void *process_watch_main(void *runtime);

/* supervise.c. Starts a supervisor, which takes the lock over. *ret_channel is its channel
 * (protocol.h); process_await() waits until it has reported that the task is on disk. -EIO: it
 * failed, nothing runs and nothing will. -EAGAIN: the caller must find out how far it came. */
int process_supervise(struct process_runtime *runtime, const char *folder, int *lock,
	int *ret_channel, pid_t *ret_pid, struct err *err);
int process_await(int channel, pid_t pid, struct err *err);
/* Kills all processes with the token in their environment, and waits until they are gone. */
void process_end_marked(const char *token);

/* client.c: a connection to a supervisor, and one line each way. */
int process_connect(const char *folder, int *ret_descriptor, struct err *err);
int process_send(int descriptor, struct span line, const int *descriptors, size_t count,
	struct err *err);
/* Blocks; the answer lives in the arena. An answer with "error" is an error. */
int process_receive(int descriptor, struct arena *arena, struct json **ret_answer, struct err *err);

/* network.c: detects the networks, which may take a moment; without the mutex. */
void process_prepare_network(struct process_runtime *runtime, struct plan *plan);
/* The plan gets an address and its open ports. Mutex held. */
int process_choose_network(struct process_runtime *runtime, struct plan *plan, struct arena *arena,
	struct err *err);

/* bridge.c: finds or creates it; *ret_link lacks the task's address. Without the mutex. */
int process_bridge_make(struct process_runtime *runtime, struct plan_link *ret_link);
void process_bridge_remove(const char *folder);
void process_bridge_name(const char *folder, char name[PLAN_BRIDGE_MAX]);

/* instances.c */
int process_list_instances(struct runtime *runtime, struct arena *arena,
	struct runtime_instance **ret_instances, size_t *ret_count, struct err *err);
bool process_has_instance(const struct process_runtime *runtime, struct span id);

/* exec.c */
int process_exec(const char *folder, struct span container, const struct json *command,
	bool terminal, struct runtime_exec **ret_exec, struct err *err);

#endif
