/*
 * The log of a container as the daemon sends it with timestamps=1: frames (stream.h), each one
 * message that begins with the time it was written at. Messages that were read before are skipped,
 * so that a reader that was cut off, or killed, continues at its position: it requests messages
 * since the time of the last one, and skips as many with that time as it has read.
 */
#ifndef RUNTIME_DOCKER_LOG_READER_H
#define RUNTIME_DOCKER_LOG_READER_H

#include "base/err.h"
#include "runtime/docker/stream.h"

#define DOCKER_STAMP_MAX 40 /* "2026-11-16T21:43:47.850511355+02:00 " and some */

/* A reader's position: the time of the last complete message, and the number of messages with that
 * time. */
struct docker_log_place {
	int64_t at_ns;
	uint32_t count;
};

struct docker_log_reader {
	struct docker_stream stream;
	struct docker_log_place had;  /* to be skipped */
	struct docker_log_place seen; /* in this connection */
	struct docker_log_place done; /* passed on, or skipped */
	char stamp[DOCKER_STAMP_MAX];
	size_t stamp_length;
	int64_t at_ns; /* of this message */
	bool in_text;  /* behind the time of a message */
	bool skips;    /* the rest of this message */
	/* at_ns: when it was written, by the daemon's clock; 0: not known */
	void (*text)(void *context, int64_t at_ns, struct span text);
	void *context;
};

/* A new connection, for messages since `had`. */
void docker_log_reader_begin(struct docker_log_reader *reader, struct docker_log_place had);
int docker_log_reader_feed(struct docker_log_reader *reader, struct span data, struct err *err);

#endif
