/*
 * Conditions of rules: checks as Elastic Load Balancing has them, and the normal form, in which every
 * condition has its …Config, and those of host and path have Values as well, as AWS answers them.
 */
#ifndef ELB_CONDITION_H
#define ELB_CONDITION_H

#include "aws/service.h"
#include "proxy/proxy.h"

#define ELB_CONDITION_VALUES_MAX 5    /* of one rule */
#define ELB_CONDITION_WILDCARDS_MAX 6 /* of one rule */

struct elb_condition_field {
	const char *name;   /* "host-header" */
	const char *config; /* "HostHeaderConfig" */
	enum proxy_condition_kind kind;
	size_t most;            /* characters of one value */
	bool many;              /* may be there more than once in a rule */
	bool in_values;         /* may be written in, and is answered with, Values */
	bool patterns;          /* "*" and "?" have a meaning */
	const char *characters; /* beside letters and digits; NULL: all that are printable */
};
/* NULL: there is none of that name. */
const struct elb_condition_field *elb_condition_field_find(struct span name);

/* Checks and normalises a list. */
int elb_conditions_read(struct aws_request *request, const struct json *requested,
	struct json **ret_conditions);

#endif
