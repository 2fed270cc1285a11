/* DescribeAccountLimits: the limits that are kept here. */
#ifndef ELB_ACCOUNT_LIMITS_H
#define ELB_ACCOUNT_LIMITS_H

#include "elb/elb.h"

int elb_account_limits_describe(struct aws_request *request);

#endif
