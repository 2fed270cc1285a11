/* Health check settings of a target group: which there are, their defaults, and what they may be. */
#ifndef ELB_HEALTH_CHECK_H
#define ELB_HEALTH_CHECK_H

#include "elb/elb.h"

/* Puts what the input says over what the document says, and a default where neither says anything. Fails
 * the request. */
int elb_health_check_read(struct aws_request *request, enum elb_protocol group_protocol,
	struct json *document);

#endif
