/* Definitions that the two kinds of target share: included by call*.c only. */
#ifndef AWS_CALL_TARGET_H
#define AWS_CALL_TARGET_H

#include <stdbool.h>

#include "aws/call.h"

struct aws_call {
	const char *service, *operation;
	const struct json *request;    /* NULL: {} */
	struct arena *arena;           /* for what is given back */
	const struct aws_fence *fence; /* NULL: none */
};

struct aws_target {
	struct runner *runner;
	struct arena *arena; /* for what the target was made from */
	int (*send)(struct aws_target *target, const struct aws_call *call,
		struct json **ret_answer, struct aws_call_failure *failure, struct err *err);
	int (*prepare)(struct aws_target *target, struct err *err); /* NULL: there is nothing to */
	void (*cancel)(struct aws_target *target);                  /* NULL: nothing to cancel */
	void (*close)(struct aws_target *target); /* NULL: nothing but the arena */
};

/* The answer's text, which must live as long as the arena, into a value; or -EPROTO. */
int aws_call_read_answer(const struct aws_call *call, struct span body, struct json **ret_answer,
	struct err *err);
/* Fills the failure and err; what is SPAN_NONE is not known. Returns -EREMOTEIO. */
int aws_call_fail(const struct aws_call *call, int status, struct span type, struct span message,
	struct aws_call_failure *failure, struct err *err);
/* The same from an error's body: {"__type","message"}; type_header is the one of x-amzn-errortype, or
 * none. */
int aws_call_read_failure(const struct aws_call *call, int status, struct span type_header,
	struct span body, struct aws_call_failure *failure, struct err *err);

#endif
