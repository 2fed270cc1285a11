/*
 * The step journal of a deployment: one record for each call that changes something, written before the call is sent
 * (its intent) and again when its result is known. After a crash a record without a result says which call may have
 * taken effect; it is sent again with the same client token, or the world is read first.
 */
#ifndef PIPELINE_JOURNAL_H
#define PIPELINE_JOURNAL_H

#include "base/json.h"

#define JOURNAL_TOKEN_SIZE 33 /* 32 hex digits, which CreateTaskSet accepts */

enum journal_result {
	JOURNAL_SENT, /* no result yet */
	JOURNAL_DONE,
	JOURNAL_REFUSED, /* and certainly without effect */
	JOURNAL_UNKNOWN, /* it may have taken effect */
};

struct journal_record {
	struct span stage; /* ID */
	int64_t step;      /* number in the stage, from 1 */
	struct span operation, role, target;
	int64_t number; /* percent or count */
	struct span token;
	int64_t intent_ms, result_ms; /* result_ms is 0 while it is sent */
	enum journal_result result;
	struct span answer;     /* ARN or operation ID */
	struct span reason;     /* of a call that was not done */
	struct span attributes; /* of the instance in Cloud Map that was deregistered: JSON */
};

struct json *journal_write(const struct journal_record *record, struct arena *arena);
/* Texts point into the value. -EINVAL: it is no record. */
int journal_read(const struct json *value, struct journal_record *ret_record, struct err *err);

/* The client token of a call: the same for the same attempt, in every run and on every server. */
void journal_token(struct span deployment, struct span stage, struct span role, int64_t attempt,
	char out[JOURNAL_TOKEN_SIZE]);

#endif
