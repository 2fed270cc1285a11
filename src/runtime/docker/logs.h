/*
 * What containers write, copied from the daemon to files in the folders of their tasks (log_files.h): an
 * offset counts the bytes since the container began and stays right whatever the daemon rotates away,
 * and what a container wrote can be read after the daemon is gone. One thread follows all of them.
 *
 * NAME.position beside the files says how far they are in the daemon's log (log_reader.h), and whether that
 * is all of it. It is written behind the text: after a crash what lies behind it is cut off and copied again,
 * byte for byte.
 */
#ifndef RUNTIME_DOCKER_LOGS_H
#define RUNTIME_DOCKER_LOGS_H

#include "base/err.h"
#include "base/lock.h"
#include "base/map.h"
#include "control/runner.h"
#include "runtime/docker/api.h"

struct docker_logs {
	struct docker_api *api;
	struct runner *runner;
	struct runner_event *settled; /* one is complete, or gone */
	int epoll, wake;
	struct lock lock;
	struct map all; /* "TOKEN.NAME": struct docker_log; changed under the lock */
	bool closing;
};

struct docker_log_source {
	struct span token, name;
	const char *folder;
	const char *id; /* of the container */
	uint64_t most;  /* bytes to keep */
	bool runs;      /* else it has ended: what is left is copied, and that is all */
	bool over;      /* and never will again: who has copied all of it need not look */
};

int docker_logs_open(struct docker_logs *logs, struct runner *runner, struct docker_api *api,
	struct err *err);
/* The body of a thread; it ends after docker_logs_end(). */
void docker_logs_main(void *logs);
void docker_logs_end(struct docker_logs *logs);
void docker_logs_close(struct docker_logs *logs);

/* Begins to follow, or says that the container runs again or has ended. */
void docker_logs_follow(struct docker_logs *logs, const struct docker_log_source *source);
/* Waits until everything that a container wrote that has ended is copied, but not for ever. */
void docker_logs_wait(struct docker_logs *logs, struct span token, struct span name);
/* Lets go of a task's files before its folder is removed. */
void docker_logs_forget(struct docker_logs *logs, struct span token);

#endif
