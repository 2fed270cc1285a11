/*
 * Calls of the Docker Engine's API. A missing response and an error response are different: -EAGAIN
 * is always "no response" (unreachable, too slow, a connection cut, not ready yet), and says
 * nothing about the daemon's state.
 */
#ifndef RUNTIME_DOCKER_API_H
#define RUNTIME_DOCKER_API_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/lock.h"
#include "io/http_client.h"

/* Versions of the API that this driver speaks: from Docker 17.06 on. */
#define DOCKER_API_OLDEST 30
#define DOCKER_API_NEWEST 47
#define DOCKER_API_PATH_MAX 2048
#define DOCKER_ANSWER_MS 60000

struct docker_api {
	struct http_client *client;
	struct http_client_cancel cancel; /* of everything */
	char *socket;
	struct lock lock;
	unsigned minor; /* of version 1.x; 0: not negotiated yet. Guarded by the lock */
};

int docker_api_open(struct docker_api *api, const char *socket, struct err *err);
/* Running and later calls return -ECANCELED. */
void docker_api_cancel(struct docker_api *api);
void docker_api_close(struct docker_api *api);

/* Reads the daemon's versions and chooses one. -ENOTSUP: it is too old or too new. */
int docker_api_negotiate(struct docker_api *api, struct err *err);
/* The minor version to use, from what GET /version answered. Its own function for tests. */
int docker_api_choose(const struct json *versions, unsigned *ret_minor, struct err *err);

struct docker_request {
	const char *method; /* NULL: GET */
	struct span body;   /* SPAN_NONE: none */
	const char *type;   /* of the body; NULL: JSON */
	int64_t timeout_ms; /* 0: DOCKER_ANSWER_MS */
};

/* path without version, "/containers/json". *ret_answer is NULL where the answer is empty;
 * ret_answer may be NULL. codes: -EAGAIN no answer; -ECANCELED; -ENOENT 404; -EEXIST 409; -EINVAL
 * other 4xx; -EREMOTEIO 5xx; with the daemon's message. A 304 (no change) is success. */
int docker_call(struct docker_api *api, const struct docker_request *request, struct arena *arena,
	struct json **ret_answer, struct err *err, const char *path, ...)
	__attribute__((format(printf, 6, 7)));

/* Reads a response of JSON values, one after the other, as they arrive. `line` may end it with a
 * code and error of its own. */
struct docker_lines {
	int (*begun)(void *context); /* the daemon has responded; may be NULL */
	int (*line)(void *context, const struct json *value, struct err *err);
	void *context;
	int64_t idle_timeout_ms; /* 0: the client's */
};
int docker_stream_lines(struct docker_api *api, const struct docker_request *request,
	const struct docker_lines *lines, struct err *err, const char *path, ...)
	__attribute__((format(printf, 5, 6)));

/* "%XX" for characters that may not be in a path or a query. */
struct span docker_escape(struct arena *arena, struct span text);
/* "/v1.41", or the negotiated version; room for 16 bytes. */
void docker_api_prefix(struct docker_api *api, char prefix[16]);

#endif
