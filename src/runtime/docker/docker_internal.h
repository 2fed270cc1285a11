/* Shared by the files of the docker runtime. */
#ifndef RUNTIME_DOCKER_DOCKER_INTERNAL_H
#define RUNTIME_DOCKER_DOCKER_INTERNAL_H

#include "base/lock.h"
#include "base/map.h"
#include "control/work_queue.h"
#include "runtime/docker/api.h"
#include "runtime/docker/create.h"
#include "runtime/docker/docker.h"
#include "runtime/docker/images.h"
#include "runtime/docker/logs.h"
#include "runtime/docker/step.h"

#define DOCKER_KEY_EVERYTHING "*" /* of the work queue; no token has this character */

struct docker_task {
	char *token;
	char *folder;
	struct arena *order; /* of the plan */
	const struct plan *plan;
	bool gone;      /* acknowledged: holders release it */
	unsigned users; /* number of holders; at 0 and gone it is freed */
	/* Changed under the lock, and only by the worker that has its token, or by stop(). */
	struct docker_state state;
};

struct docker_runtime {
	struct runtime runtime;
	struct runner *runner; /* a group of ours */
	char *folder, *host, *pause;
	unsigned instances;
	bool forgets;
	runtime_changed changed;
	void *context;
	int folder_lock;
	struct docker_api api;
	struct work_queue *work; /* tokens */
	struct docker_images images;
	struct docker_logs logs;
	char dns[DOCKER_ADDRESS_MAX]; /* the name server of containers; "": Docker's own */
	struct err dns_error;         /* why there is none */
	struct runner_event *settled; /* a task's state changed */

	struct lock making_network;

	struct lock lock;    /* for all below */
	struct map tasks;    /* token: struct docker_task */
	struct map starting; /* tokens whose folder is being made */
	bool is_heard;       /* the stream of events began */
	bool has_abilities;
	struct docker_abilities abilities;
};

/* Finds a task and holds it; NULL: unknown. */
struct docker_task *docker_task_hold(struct docker_runtime *runtime, struct span token);
void docker_task_release(struct docker_runtime *runtime, struct docker_task *task);

/* store.c: the folder of a task. Reads or creates a task that is not in the map yet. */
int docker_task_make(struct docker_runtime *runtime, struct span token, struct span instance,
	const struct json *spec, struct docker_task **ret_task, struct err *err);
int docker_task_read(struct docker_runtime *runtime, struct span token,
	struct docker_task **ret_task, struct err *err);
void docker_task_free(struct docker_task *task);
/* The state is durable when 0 is returned. */
int docker_task_save(struct docker_runtime *runtime, struct docker_task *task, struct err *err);
/* Removes a folder at once; its contents are deleted later. */
int docker_task_remove(struct docker_runtime *runtime, struct docker_task *task, struct err *err);
/* Calls `found` for every token that has a folder. */
int docker_folder_scan(struct docker_runtime *runtime,
	int (*found)(struct docker_runtime *runtime, struct span token, struct err *err),
	struct err *err);

/* work.c: the workers. */
void docker_work_main(void *runtime);

/* prepare.c: images, network, volumes and containers of a task. Failures of the task itself go into
 * its state. 0: everything exists; -EINPROGRESS: an image is being pulled, and the task's token is
 * requeued. */
int docker_prepare(struct docker_runtime *runtime, struct docker_task *task, struct err *err);
/* Containers and volumes; missing ones are fine. */
int docker_remove(struct docker_runtime *runtime, const struct plan *plan, struct err *err);
/* Containers with our label whose task has no folder. */
int docker_remove_orphans(struct docker_runtime *runtime, struct err *err);

/* network.c */
/* Finds the address on which containers reach this machine, and that its port 53 is free. */
int docker_find_dns(struct docker_runtime *runtime, struct err *err);
/* Finds or makes the network of tasks with an address of their own. */
int docker_network_make(struct docker_runtime *runtime, struct arena *arena, struct span *ret_id,
	struct err *err);
void docker_network_remove(struct docker_runtime *runtime);
/* The image of the network holder; the daemon has it when 0 is returned. */
int docker_pause_image(struct docker_runtime *runtime, struct arena *arena, struct span *ret_image,
	struct err *err);

/* events.c */
void docker_events_main(void *runtime);
void docker_report(struct docker_runtime *runtime, struct span token);

/* instances.c */
int docker_list_instances(struct runtime *runtime, struct arena *arena,
	struct runtime_instance **ret_instances, size_t *ret_count, struct err *err);
bool docker_has_instance(const struct docker_runtime *runtime, struct span id);
int docker_learn_abilities(struct docker_runtime *runtime, struct docker_abilities *ret_abilities,
	struct err *err);

/* exec.c */
int docker_exec(struct docker_runtime *runtime, struct span id, const struct json *command,
	bool terminal, struct runtime_exec **ret_exec, struct err *err);

#endif
