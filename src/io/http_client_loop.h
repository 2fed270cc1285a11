/*
 * Where the HTTP client waits: libcurl's sockets and its timer, and a way to be woken. Only transfers of which something
 * came are touched; libcurl's own loop asks the kernel about each of them in each turn, which with a few watches open
 * costs more than all the rest.
 */
#ifndef IO_HTTP_CLIENT_LOOP_H
#define IO_HTTP_CLIENT_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "io/libcurl.h"

struct http_client_loop {
	CURLM *multi;
	int epoll, waker;  /* -1: none */
	atomic_bool woken; /* and has not noticed yet */
	int64_t due_us;    /* of libcurl's timer; INT64_MAX: never */
};

/* Becomes what the multi handle, which is the caller's, calls. */
int http_client_loop_init(struct http_client_loop *loop, CURLM *multi, struct err *err);
/* After the multi handle is gone. Also what was never initialised but zeroed. */
void http_client_loop_destroy(struct http_client_loop *loop);

/* From any thread: the turn that is being waited for ends, or the next one does not wait. */
void http_client_loop_wake(struct http_client_loop *loop);
/* Waits until something happens, and lets libcurl do what follows from it. */
void http_client_loop_turn(struct http_client_loop *loop);

#endif
