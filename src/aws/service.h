/*
 * Services and operations: an AWS service is a table of operations, and an operation is a row.
 * Shapes (aws/shape.h) describe its valid input; dispatch validates before anything runs, so a
 * handler finds every required member present and every type right.
 *
 * Handlers are straight-line. A read handler answers from a view. A write handler runs on the
 * store's writer, against head, with a transaction: it must not block, and its changes become
 * durable before the client gets the answer. Expensive work that needs no state (checks beyond
 * shapes, building texts) belongs into `prepare`, which runs before, on the caller's thread.
 *
 *     static int delete_thing(struct aws_request *request)
 *     {
 *             const struct store_object *thing = …store_get(request->view, …);
 *             if (!thing)
 *                     return aws_fail(request, "ThingNotFoundException", "Thing not found: %s", …);
 *             if (store_delete(request->transaction, …, &request->err) < 0)
 *                     return aws_fail_store(request);
 *             buffer_format(request->out, "{…}");
 *             return 0;
 *     }
 */
#ifndef AWS_SERVICE_H
#define AWS_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "aws/caller.h"
#include "aws/shape.h"
#include "base/id.h"
#include "base/json.h"
#include "base/random.h"
#include "store/store.h"

#define AWS_REQUEST_BODY_MAX (1024 * 1024)
#define AWS_ANSWER_MAX (64 * 1024 * 1024)
#define AWS_MESSAGE_MAX 4096  /* bytes of a failure's message: clients' own texts are in some */
#define AWS_RESOURCES_MAX 128 /* of one request, for authorisation */

struct aws_request;
struct aws_throttle;
struct http_exchange;

enum aws_mode {
	AWS_UNBUILT,  /* known, but slipway does not do it: UnsupportedFeatureException names it */
	AWS_READ,     /* answered at once from a view */
	AWS_WRITE,    /* run on the writer, answered when durable */
	AWS_BLOCKING, /* run on a thread that may wait */
	AWS_STREAM,   /* run as a read; its answer is a stream that begins after that */
};

/* The answer of a stream operation. Its transport calls begin once, after the audit line is written. */
struct aws_stream {
	/* Takes the exchange over: answers it with a stream, or with an error. */
	void (*begin)(void *context, struct http_exchange *exchange);
	void *context;
};

/* Names the resources that a request concerns, for policies and audit. */
struct aws_resources {
	struct span arns[AWS_RESOURCES_MAX];
	size_t count;
	bool overflow; /* more than fit: counts as "*" */
};

struct aws_operation {
	const char *name;
	enum aws_mode mode;
	int (*prepare)(struct aws_request *request); /* optional */
	int (*run)(struct aws_request *request);
	/* Optional; without it the resource is "*". Runs before prepare, without a view. */
	void (*resources)(struct aws_request *request, struct aws_resources *resources);
	void *context;            /* of its handlers; NULL: the service's */
	const char *action;       /* as policies name it; NULL: SERVICE:NAME */
	bool needs_no_permission; /* no policy can deny it */
	bool changes; /* a stream that changes something: limited and audited as a write */
};

/* How a service spells what all services have. */
struct aws_spelling {
	const char *tags, *tag_key, *tag_value; /* "tags", "key", "value" */
	const char *page_size, *page_token;     /* "maxResults", "nextToken" */
	const char *message;                    /* of an error; NULL: "message" */
};

struct aws_failure {
	const char *type; /* NULL: none */
	int status;       /* 400 unless set otherwise */
	struct span message;
	const struct json *extra; /* further members of the error body, or NULL */
	bool transient;           /* nothing was changed, and the same may work in a moment */
	struct span hint;         /* for the server's log: what may be wrong; data NULL: none */
};

struct aws_service {
	const char *name;        /* as in credential scopes and policy actions: "ecs" */
	const char *json_target; /* before the dot of X-Amz-Target */
	const struct shape_service *shapes;
	const struct aws_operation *operations; /* sorted by name */
	size_t operation_count;
	/* Operations for slipway's own calls (aws_call), sorted by name. From the wire they do not exist. They have no
	 * shape: they check their input themselves. */
	const struct aws_operation *internal_operations;
	size_t internal_operation_count;
	/* The name this service gives to input that breaks a rule: "InvalidParameterException". */
	const char *invalid_input;
	const struct aws_spelling *spelling; /* NULL: as ECS, in camelCase */
	/* Optional: gives a failure the type and the status that this service has for it, before it is
	 * counted, audited and answered. type stays a literal, or a text that lives as long. */
	void (*translate)(const struct aws_service *service, struct aws_failure *failure);
	/* Calls that an account may make of this service, beside those of all services together; NULL: any number. */
	struct aws_throttle *reads, *writes;
};

const struct aws_spelling *aws_spelling_of(const struct aws_request *request);

struct aws_request {
	const struct aws_service *service;
	const struct aws_operation *operation;
	const struct aws_caller *caller;
	const struct json *input; /* an object, validated */
	struct arena *arena;      /* lives until the answer has been sent */
	struct random *random;
	int64_t now_ms;
	const struct store_view
		*view; /* of a read; head of a write, fresh for each run; else NULL */
	struct store_transaction *transaction; /* of a write, else NULL */
	void *context;                         /* of the operation or the service */
	void *prepared; /* by prepare, for run, which may run more than once and does not change it */
	struct buffer *out;
	struct aws_stream stream; /* of a stream operation that has not failed */
	struct span resource; /* for audit: what was made or changed, if the handler knows better */
	struct aws_failure failure;
	struct err err; /* room for store calls */
	char id[ID_UUID_SIZE];
};

/* Sets the failure and returns -EPERM: `return aws_fail(request, …)`. type must be a literal. */
int aws_fail(struct aws_request *request, const char *type, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* For request->err after a store call: ServerException, 500 (SDKs retry that). */
int aws_fail_store(struct aws_request *request);
/* The service's own error for bad input, naming the member: "clusterName: …". */
int aws_fail_input(struct aws_request *request, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define aws_fail(...) ERR_NEGATIVE(aws_fail(__VA_ARGS__))
#define aws_fail_store(...) ERR_NEGATIVE(aws_fail_store(__VA_ARGS__))
#define aws_fail_input(...) ERR_NEGATIVE(aws_fail_input(__VA_ARGS__))

#endif
