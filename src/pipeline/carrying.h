/*
 * The inside of carrying out decided calls, shared by carry_out.c (sets and services) and carry_traffic.c (instances of
 * names, targets and weights).
 */
#ifndef PIPELINE_CARRYING_H
#define PIPELINE_CARRYING_H

#include "pipeline/pass.h"

struct carrying {
	struct deployment_pass *pass;
	const struct observed *observed;
	struct span stage;
	struct span reason; /* of a failure */
	/* There was no answer: by the time of the next call the decision may be out of date. */
	bool is_interrupted;
	struct err *err;
};

/* Journals and sends a call. FAILED: carrying->reason. */
int carrying_send(struct carrying *carrying, struct pending_call *call, enum carried *ret_carried);

int carrying_register_instance(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried);
int carrying_deregister_instance(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried);
int carrying_register_target(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried);
int carrying_deregister_target(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried);
int carrying_set_weights(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried);

#endif
