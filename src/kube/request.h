/*
 * One request to an API server, below the objects of client.h: credentials, the client's rate
 * limit, the server's Retry-After, rejections as errors. Inside kube/ only.
 */
#ifndef KUBE_REQUEST_H
#define KUBE_REQUEST_H

#include "base/buffer.h"
#include "base/lock.h"
#include "base/map.h"
#include "io/http_upgrade.h"
#include "kube/client.h"
#include "kube/credentials.h"

#define KUBE_REQUEST_HEADERS_MAX 4
/* Limit for reading the body of a rejected stream request. */
#define KUBE_REFUSAL_MAX ((size_t)64 * 1024)

struct kube_client {
	struct http_client *http;
	struct runner *runner;
	struct arena *arena; /* of the copy of the configuration */
	struct kube_access access;
	struct kube_credentials *credentials;
	struct span url;        /* before every path */
	const char *connect_to; /* or NULL */
	const char *field_manager;
	int64_t timeout_ms;
	size_t answer_max;
	struct http_client_cancel cancel;
	struct runner_event *cancelled;

	struct lock lock; /* for all below */
	double qps, burst;
	double tokens; /* below zero: how much is taken of the time to come */
	int64_t filled_us;
	struct map resources; /* of struct kube_found (discovery.c) */
	struct map kinds;     /* found by apiVersion and kind; never forgotten */
	char eviction_version[KUBE_WORD_SIZE];
	struct kube_client_statistics statistics;
};

struct kube_request {
	const char *method;                /* NULL: GET */
	struct span path;                  /* with the query; begins with a slash */
	struct span body;                  /* or SPAN_NONE */
	const char *content_type;          /* of the body; NULL: application/json */
	const char *accept;                /* NULL: application/json */
	bool fresh;                        /* never sent twice */
	const struct http_header *headers; /* more of them; at most KUBE_REQUEST_HEADERS_MAX */
	size_t header_count;
	const struct kube_options *options; /* or NULL */
};

/* The answer if its status is one of success. */
int kube_request_send(struct kube_client *client, const struct kube_request *request,
	struct arena *arena, struct http_client_response **ret_response, struct err *err);
/* As above, and the body as JSON; *ret_answer may be NULL when there is nothing to read. */
int kube_request_json(struct kube_client *client, const struct kube_request *request,
	struct arena *arena, struct json **ret_answer, struct err *err);

/* The answer as it arrives, on the caller's thread. The reader returns 0 to continue; a negative
 * code ends it, and the reader fills its own err; a positive code ends it without failure. */
struct kube_stream {
	int (*chunk)(void *context, struct span data, struct err *err);
	void (*opened)(void *context); /* the server agreed; may be NULL */
	void *context;
	int64_t idle_ms;  /* the longest silence; -1: none */
	int64_t total_ms; /* -1: none */
	bool patient;     /* a 429 or 503 is tried again as the server says, as in other calls */
};
int kube_request_stream(struct kube_client *client, const struct kube_request *request,
	const struct kube_stream *stream, struct err *err);

/* The connection that the server agreed to use otherwise (101), and its answer. */
int kube_request_upgrade(struct kube_client *client, const struct kube_request *request,
	struct arena *arena, struct http_client_response **ret_response,
	struct http_upgrade **ret_upgrade, struct err *err);

/* ---- paths ---- */

/* "/api/v1/namespaces/a/pods/b/status"; -EINVAL if something is not a name. */
int kube_path_write(const struct kube_resource *resource, const struct kube_target *target,
	struct buffer *out, struct err *err);
/* "?name=value" or "&name=value", encoded. Nothing for SPAN_NONE. */
void kube_query_add(struct buffer *path, const char *name, struct span value);
void kube_query_add_integer(struct buffer *path, const char *name, int64_t value);
void kube_query_add_selection(struct buffer *path, const struct kube_selection *selection);
/* Checks a written path; -EINVAL beyond KUBE_PATH_MAX. */
int kube_path_check(const struct buffer *path, struct err *err);

/* DeleteOptions without apiVersion and kind. */
struct json *kube_deletion_write(const struct kube_deletion *deletion, struct arena *arena);

/* ---- refusals ---- */

/* Fills failure (may be NULL) and err, returns the code of client.h's table. what: "GET /api/v1/…". */
int kube_status_read(int status, struct span body, int64_t retry_after_s, const char *what,
	struct kube_failure *failure, struct err *err);
/* The same for a Status object that came inside a stream. */
int kube_status_read_object(const struct json *object, const char *what,
	struct kube_failure *failure, struct err *err);

#endif
