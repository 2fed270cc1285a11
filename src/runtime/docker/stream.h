/*
 * The daemon's stream of several outputs in one: frames of eight bytes of head (the output's
 * number, three zeros, the length big-endian) and that many bytes. Pieces are passed on as they
 * arrive; only the head is buffered.
 */
#ifndef RUNTIME_DOCKER_STREAM_H
#define RUNTIME_DOCKER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

#define DOCKER_FRAME_HEAD 8

enum docker_output {
	DOCKER_STANDARD_INPUT, /* some daemons echo it */
	DOCKER_STANDARD_OUTPUT,
	DOCKER_STANDARD_ERROR,
	DOCKER_DAEMON_ERROR, /* messages of the daemon itself */
	DOCKER_OUTPUT_COUNT
};

struct docker_stream {
	unsigned char head[DOCKER_FRAME_HEAD];
	size_t head_length;
	uint32_t left; /* of the frame */
};

/* data may be empty in a frame without bytes. begins, ends: start or end of the frame. Any result
 * but 0 ends the feeding and becomes its result. */
typedef int (*docker_stream_piece)(void *context, enum docker_output output, struct span data,
	bool begins, bool ends);

/* -EPROTO: it is no such stream. */
int docker_stream_feed(struct docker_stream *stream, struct span data, docker_stream_piece piece,
	void *context, struct err *err);

#endif
