/*
 * Operations of the model for things that slipway does not have: trust stores, reserved capacity, pools of
 * addresses. Lists are empty; an operation that names one does not find it; one that creates one
 * is refused with the reason.
 */
#ifndef ELB_ABSENT_H
#define ELB_ABSENT_H

#include "aws/service.h"

int elb_absent_trust_store_create(struct aws_request *request);
int elb_absent_trust_store(struct aws_request *request); /* all that name one by TrustStoreArn */
int elb_absent_trust_stores_describe(struct aws_request *request);
int elb_absent_resource_policy(struct aws_request *request);
int elb_absent_capacity_describe(struct aws_request *request);
int elb_absent_capacity_modify(struct aws_request *request);
int elb_absent_ip_pools_modify(struct aws_request *request);

#endif
