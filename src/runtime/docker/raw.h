/*
 * Connections to the daemon that are more than a request and its answer: one that becomes a stream both
 * ways (exec), and ones that many of which are watched at once (logs). Requests are of HTTP/1.0 or ask
 * for an upgrade, so what follows the head of an answer is the stream itself.
 */
#ifndef RUNTIME_DOCKER_RAW_H
#define RUNTIME_DOCKER_RAW_H

#include "base/buffer.h"
#include "base/err.h"
#include "base/span.h"

#define DOCKER_RAW_HEAD_MAX ((size_t)16 * 1024)

/* Only connects. A negative code says why that cannot be. */
int docker_raw_try(const char *socket);
/* Connects and sends. -EAGAIN: the daemon is away. `blocks`: one that accepts nobody for a while is waited
 * for, and so does whoever reads; otherwise neither this nor what is done with the descriptor ever waits. */
int docker_raw_open(const char *socket, struct span request, bool blocks, int *ret_descriptor,
	struct err *err);
/* The status of the answer whose head is at the beginning of text, and where the stream begins. False
 * while the head is not whole. A head that is none has status 0. */
bool docker_raw_head(struct span text, int *ret_status, size_t *ret_length);
/* Reads the head and nothing behind it: that belongs to whoever reads the stream. */
int docker_raw_receive_head(int descriptor, int *ret_status, struct err *err);

#endif
