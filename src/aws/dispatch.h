/*
 * The single entry point. Every operation, from the wire or from inside, goes through aws_dispatch:
 * authorise, limit, validate, run, audit. In this order, so that a caller without rights learns
 * nothing from validation messages. (Only a request that is not JSON at all is rejected before,
 * because its resources cannot be known.)
 *
 * Unavailability has one table: a throttled call answers ThrottlingException (400), a store that
 * cannot write ServerException (500). A service whose errors have other names and statuses
 * translates them.
 */
#ifndef AWS_DISPATCH_H
#define AWS_DISPATCH_H

#include "aws/query_form.h"
#include "aws/service.h"
#include "base/clock.h"

struct aws_dispatcher;

struct aws_answer {
	int status;
	struct span body;
	const char *error_type; /* NULL: success */
	const char *request_id;
	const struct aws_stream *stream; /* the answer, instead of the body; NULL: none */
};

/* One line of the audit log, written after the answer is decided and before it leaves. */
struct aws_audit {
	int64_t time_ms;
	const struct aws_caller *caller;
	const char *service;
	struct span operation;
	struct span resource;   /* "" if none is known */
	const char *error_type; /* NULL: success */
	int status;
	const char *request_id;
	bool write;       /* changed something, or tried to */
	struct span hint; /* the probable mistake in a failed request; data NULL: none */
	int64_t duration_us;
};

struct aws_dispatch_config {
	struct store *store;
	struct clock *clock;
	struct random *random; /* thread-safe */
	void (*audit)(void *context, const struct aws_audit *audit);
	void *audit_context;
	/* Runs function(context) on a thread that may block; for AWS_BLOCKING operations. */
	int (*run_blocking)(void *context, void (*function)(void *), void *function_context);
	void *run_blocking_context;
	/* Token bucket per account and kind of operation; 0: none. */
	double reads_per_second, writes_per_second;
	/* For tests: an answer that does not match the model becomes a ServerException. */
	bool check_answers;
};

struct aws_dispatcher *aws_dispatcher_new(const struct aws_dispatch_config *config);
void aws_dispatcher_free(struct aws_dispatcher *dispatcher);
/* Services are registered once, before the first call. context is given to handlers. */
void aws_dispatcher_register(struct aws_dispatcher *dispatcher, const struct aws_service *service,
	void *context);
const struct aws_service *aws_dispatcher_find(const struct aws_dispatcher *dispatcher,
	struct span name);
const struct aws_service *aws_dispatcher_find_target(const struct aws_dispatcher *dispatcher,
	struct span json_target);
/* The service that speaks the query protocol in this version, which names it as json_target does. */
const struct aws_service *aws_dispatcher_find_version(const struct aws_dispatcher *dispatcher,
	struct span version);
/* As every answer has one, also those that are given before there is a call. */
void aws_dispatcher_new_id(const struct aws_dispatcher *dispatcher, char id[ID_UUID_SIZE]);

/* answer lives during the call. Comes on the caller's thread for reads and refusals, on the store's
 * writer for writes. */
typedef void (*aws_done_function)(void *context, const struct aws_answer *answer);

/* Runs an operation. body is JSON text; body, caller and arena must live until done. */
void aws_dispatch(struct aws_dispatcher *dispatcher, const struct aws_service *service,
	struct span operation, const struct aws_caller *caller, struct span body,
	struct arena *arena, aws_done_function done, void *context);
/* As aws_dispatch, for a request that another protocol has read: input is an object. If problem is not
 * SPAN_NONE it says what was wrong with the request, which is then authorised, limited, counted and
 * audited as any other, and refused with these words. */
void aws_dispatch_input(struct aws_dispatcher *dispatcher, const struct aws_service *service,
	struct span operation, const struct aws_caller *caller, const struct json *input,
	struct span problem, struct arena *arena, aws_done_function done, void *context);
/* As aws_dispatch, for a request of the query protocol. The answer is JSON all the same, but an error
 * has the status that the query protocol gives it; aws_query_dispatch makes XML of it. */
void aws_dispatch_form(struct aws_dispatcher *dispatcher, const struct aws_service *service,
	struct span operation, const struct aws_caller *caller, const struct query_form *form,
	struct arena *arena, aws_done_function done, void *context);

/* Statistics for /metrics: calls one per (service, operation, result type). */
void aws_dispatcher_each_count(struct aws_dispatcher *dispatcher,
	void (*each)(void *context, const char *service, const char *operation, const char *result,
		uint64_t calls, double seconds),
	void *context);

#endif
