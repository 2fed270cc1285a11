/*
 * Output of containers, copied from the daemon to files in the folders of their tasks
 * (log_files.h): an offset counts the bytes since the container started and stays valid when the
 * daemon rotates its log, and the output can be read without the daemon. One thread follows all of
 * them.
 *
 * NAME.position beside the files is the position in the daemon's log (log_reader.h), and whether
 * the copy is complete. It is written after the text: after a crash the text behind it is cut off
 * and copied again, byte for byte.
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
	struct runner_event *settled; /* a log is complete, or dropped */
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
	bool runs;      /* else it has ended: only the rest is copied */
	bool over;      /* and will not run again: a complete copy need not be checked */
};

int docker_logs_open(struct docker_logs *logs, struct runner *runner, struct docker_api *api,
	struct err *err);
/* The body of a thread; it ends after docker_logs_end(). */
void docker_logs_main(void *logs);
void docker_logs_end(struct docker_logs *logs);
void docker_logs_close(struct docker_logs *logs);

/* Starts to follow, or reports that the container runs again or has ended. */
void docker_logs_follow(struct docker_logs *logs, const struct docker_log_source *source);
/* Waits, with a limit, until all output of an ended container is copied. */
void docker_logs_wait(struct docker_logs *logs, struct span token, struct span name);
/* Closes a task's files before its folder is removed. */
void docker_logs_forget(struct docker_logs *logs, struct span token);

#endif
