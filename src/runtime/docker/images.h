/*
 * Images that tasks wait for. Each is pulled once for all tasks, on a few threads of their own: a
 * pull may take minutes, and blocks nothing else. The result of a pull is reported once to each
 * task that requested it; the token goes back to the work queue.
 */
#ifndef RUNTIME_DOCKER_IMAGES_H
#define RUNTIME_DOCKER_IMAGES_H

#include "base/err.h"
#include "base/lock.h"
#include "base/map.h"
#include "control/work_queue.h"
#include "runtime/docker/api.h"

#define DOCKER_PULLERS 4
#define DOCKER_IMAGE_MAX 1024

struct docker_images {
	struct docker_api *api;
	struct work_queue *tasks;
	struct work_queue *wanted; /* images */
	struct lock lock;
	struct map pulls;    /* image: struct map of tokens that wait */
	struct map failures; /* "TOKEN IMAGE": why, as text */
};

void docker_images_init(struct docker_images *images, struct runner *runner, struct docker_api *api,
	struct work_queue *tasks);
void docker_images_clear(struct docker_images *images);
/* The body of a thread. */
void docker_images_main(void *images);

/* 0: the daemon has it. -EINPROGRESS: it is being pulled. -EREMOTEIO: it cannot be pulled, with the
 * daemon's message. -EAGAIN: no response from the daemon. */
int docker_images_want(struct docker_images *images, struct span image, struct span token,
	struct err *err);

bool docker_image_is_name(struct span image);
/* The task was removed: results of its pulls are dropped. */
void docker_images_forget(struct docker_images *images, struct span token);

/* "repository" and "tag" as the daemon wants them: a tag, a digest, or "latest". */
void docker_image_split(struct span image, struct span *ret_repository, struct span *ret_tag);

#endif
