/*
 * Connections to the daemon that are more than a request and its response: a two-way stream (exec),
 * or many that are polled at once (logs). Requests are HTTP/1.0 or ask for an upgrade, so the
 * stream follows the head of the response directly.
 */
#ifndef RUNTIME_DOCKER_RAW_H
#define RUNTIME_DOCKER_RAW_H

#include "base/buffer.h"
#include "base/err.h"
#include "base/span.h"

#define DOCKER_RAW_HEAD_MAX ((size_t)16 * 1024)

/* Only connects. A negative code is the reason of a failure. */
int docker_raw_try(const char *socket);
/* Connects and sends. -EAGAIN: the daemon is unreachable. `blocks`: connecting and reading wait for
 * a busy daemon; otherwise no operation on the descriptor ever waits. */
int docker_raw_open(const char *socket, struct span request, bool blocks, int *ret_descriptor,
	struct err *err);
/* The status of the response whose head starts the text, and the offset of the stream. False while
 * the head is incomplete. An invalid head has status 0. */
bool docker_raw_head(struct span text, int *ret_status, size_t *ret_length);
/* Reads the head and nothing behind it: the rest belongs to the reader of the stream. */
int docker_raw_receive_head(int descriptor, int *ret_status, struct err *err);

#endif
