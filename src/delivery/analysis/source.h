/*
 * Sources of samples for an analysis: queries to Prometheus by its HTTP API, HTTP checks, and commands. Each takes one
 * sample and blocks for at most its timeout.
 *
 * 0: answered. A negative code: the source failed, which gives no sample: -ETIMEDOUT, -ECANCELED, and others.
 */
#ifndef DELIVERY_ANALYSIS_SOURCE_H
#define DELIVERY_ANALYSIS_SOURCE_H

#include "base/json.h"
#include "io/child.h"
#include "io/http_client.h"

#define SOURCE_TIMEOUT_MS 30000 /* unless a request has another */
#define SOURCE_ANSWER_MAX ((size_t)1024 * 1024)
#define SOURCE_SERIES_MAX 1000 /* of the answer to one query */
#define SOURCE_QUERY_MAX (64 * 1024)
#define SOURCE_OUTPUT_MAX ((size_t)64 * 1024) /* of a command */

/* A server of Prometheus, or another one with its HTTP API. */
struct prometheus {
	const char *url; /* without /api/v1/query */
	const struct http_header *headers;
	size_t header_count;
	struct http_client_tls tls;
};

/* The values of an instant query at that time, one per series; none: no data. Values that are not a number are left
 * out. */
int source_query_prometheus(struct http_client *client, const struct prometheus *prometheus,
	struct span query, int64_t at_ms, int64_t timeout_ms, struct http_client_cancel *cancel,
	struct arena *arena, double **ret_values, size_t *ret_count, struct err *err);
/* Of the body of an answer. Pure. -EINVAL: it is none; -EREMOTEIO: it is an error, with its text. */
int source_read_prometheus(struct span body, struct arena *arena, double **ret_values,
	size_t *ret_count, struct err *err);

struct http_check {
	const char *method; /* NULL: GET */
	const char *url;
	const struct http_header *headers;
	size_t header_count;
	int64_t expected_code;
	struct span expected_response; /* a part of the body; "": any */
	int64_t timeout_ms;
	struct http_client_cancel *cancel;
};

/* *ret_failure: why the answer is not the expected one; "": it is. A server that does not answer is not the expected one,
 * too. Negative: -ECANCELED, -EINVAL. */
int source_check_http(struct http_client *client, const struct http_check *check,
	struct arena *arena, struct span *ret_failure, struct err *err);

struct command_check {
	const char *script; /* for sh -c */
	const char *const *environment;
	const char *folder;
	int64_t timeout_ms;
	int cancel;
	bool has_value; /* its output is a number */
};

/* Runs the command. *ret_failure as above: it ended with another exit code than 0, or its output is no number.
 * *ret_value: that number; 1 without has_value. */
int source_run_command(const struct child_operations *children, const struct command_check *check,
	struct arena *arena, double *ret_value, struct span *ret_failure, struct err *err);

#endif
