/*
 * Shapes: what the requests and answers of an AWS service look like. Each service is one set of
 * constant tables, written by tools/generate-shapes from AWS's own models; validation, protocol
 * conversion and help read the same tables, so they cannot disagree.
 *
 * Tables refer to each other by 16-bit indexes and to text by offset into one pool: no pointers, so
 * nothing is relocated at start and a service takes some 60 kB of read-only, shared memory.
 *
 * Invariant: members of a structure are in the order of (length of name, bytes of name), operations
 * in the order of bytes; lookups depend on it and a test checks it.
 */
#ifndef AWS_SHAPE_H
#define AWS_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/json.h"
#include "base/span.h"

enum shape_type {
	SHAPE_STRING,
	SHAPE_INTEGER, /* 32 bits */
	SHAPE_LONG,    /* 64 bits */
	SHAPE_FLOAT,
	SHAPE_DOUBLE,
	SHAPE_BOOLEAN,
	SHAPE_TIMESTAMP,
	SHAPE_BLOB,     /* base64 on the wire */
	SHAPE_DOCUMENT, /* any JSON */
	SHAPE_LIST,
	SHAPE_MAP,
	SHAPE_STRUCTURE,
};

enum shape_flag {
	SHAPE_UNION = 1,        /* a structure of which exactly one member is given */
	SHAPE_SENSITIVE = 2,    /* kept out of logs */
	SHAPE_FLATTENED = 4,    /* a list without an element around it, in XML and query */
	SHAPE_ERROR = 8,        /* a structure that is an error */
	SHAPE_SERVER_FAULT = 16 /* … of the server's making */
};

enum shape_member_flag {
	SHAPE_REQUIRED = 1,
	SHAPE_TOKEN = 2 /* an idempotency token: clients fill it in when it is absent */
};

/* Text in the service's pool; see shape_text(). The one of length 0 means none. */
struct shape_name {
	uint16_t offset;
	uint16_t length;
};

struct shape {
	uint8_t type;                /* enum shape_type */
	uint8_t flags;               /* enum shape_flag */
	struct shape_name name;      /* of a structure or an enum */
	struct shape_name wire_name; /* list: of its elements in XML; error: its code in XML */
	uint16_t first;    /* structure: first of its members; string: first value of its enum */
	uint16_t count;    /* how many; a string without values is free text */
	uint16_t required; /* structure: how many members are required */
	uint16_t element;  /* list: shape of its items; map: shape of its values */
	uint16_t key;      /* map: shape of its keys */
	uint16_t limits;   /* index of limits, 0 for none */
	uint16_t status;   /* error: HTTP status of the model */
};

struct shape_member {
	struct shape_name name;
	uint16_t shape;
	uint16_t flags;              /* enum shape_member_flag */
	struct shape_name wire_name; /* in XML, where it differs */
};

/* Both ends included: characters of a string, items of a list, entries of a map, value of a number. */
struct shape_limits {
	int64_t min;
	int64_t max;
};

struct shape_operation {
	struct shape_name name;
	uint16_t input; /* shapes */
	uint16_t output;
	uint16_t first_error; /* in the service's errors */
	uint16_t error_count;
	struct shape_name invalid_input; /* the error that answers a value out of bounds */
};

struct shape_service {
	const char *name;          /* "ecs" */
	const char *signing_name;  /* service in SigV4's credential scope */
	const char *protocol;      /* "json", "query" or "rest-json" */
	const char *version;       /* "2014-11-13" */
	const char *target_prefix; /* of X-Amz-Target; "" when the protocol has none */
	const char *xml_namespace; /* of answers in the query protocol, else NULL */
	const char *names;
	const struct shape *shapes;
	const struct shape_member *members;
	const struct shape_name *values;
	const struct shape_limits *limits;
	const uint16_t *errors; /* shapes */
	const struct shape_operation *operations;
	uint16_t shape_count;
	uint16_t operation_count;
};

extern const struct shape_service shape_ecs;
extern const struct shape_service shape_elasticloadbalancingv2;
extern const struct shape_service shape_servicediscovery;
extern const struct shape_service shape_slipway; /* our own: api/slipway.json */
extern const struct shape_service shape_sts;     /* of which slipway offers one operation */

/* By its name, or by the one in credential scopes. NULL when there is no such service. */
const struct shape_service *shape_find_service(struct span name);

/* NULL when the service has no such operation. Names are compared exactly, as AWS does. */
const struct shape_operation *shape_find_operation(const struct shape_service *service,
	struct span name);

/* NULL when the structure has no such member. */
const struct shape_member *shape_find_member(const struct shape_service *service,
	const struct shape *structure, struct span name);

/* NUL-terminated; lives for ever. */
static inline struct span shape_text(const struct shape_service *service, struct shape_name name)
{
	return (struct span){service->names + name.offset, name.length};
}

/* True if the model lists the error for the operation. */
bool shape_operation_has_error(const struct shape_service *service,
	const struct shape_operation *operation, struct span error);

/* The first thing that is wrong with a request. */
struct shape_problem {
	const char *error; /* the error to answer with: "SerializationException", … */
	struct span path;  /* "containerDefinitions[1].memory"; "" for the request itself */
	struct span
		message; /* "containerDefinitions[1].memory: expected an integer, not a string" */
};

/*
 * Checks a request against the input of its operation: types (SerializationException), then, member
 * by member as the client wrote them, required members, enums, lengths and ranges (the operation's
 * invalid_input). null counts as absent. Members that the model does not know are ignored, as AWS
 * does. A type that is wrong anywhere wins over values out of bounds, because AWS reads the whole
 * request before it looks at values.
 *
 * Returns 0, or -EINVAL with *ret_problem filled, its text in the arena. Only failure allocates.
 */
int shape_validate(const struct shape_service *service, const struct shape_operation *operation,
	const struct json *request, struct arena *arena, struct shape_problem *ret_problem);

/* The same for an answer and the output of its operation; members that the model does not know are
 * wrong here, and limits are not checked. */
int shape_validate_answer(const struct shape_service *service,
	const struct shape_operation *operation, const struct json *answer, struct arena *arena,
	struct shape_problem *ret_problem);

/* "a string", "an integer", "an object", … for messages. */
const char *shape_type_name(enum shape_type type);

/*
 * Writes the tables as one JSON object: {"service", "operations": {name: {"input", "output",
 * "errors", "invalidInput"}}, "structures": {name: {"members": {name: {…}}, …}}, "enums": {name:
 * [value…]}}. For tests and tools.
 */
void shape_write_json(const struct shape_service *service, struct buffer *out);

#endif
