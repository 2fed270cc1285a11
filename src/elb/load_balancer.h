/* Load balancers: what the other files of this folder need of them, and the operations. */
#ifndef ELB_LOAD_BALANCER_H
#define ELB_LOAD_BALANCER_H

#include "elb/elb.h"

#define ELB_LOAD_BALANCERS_MAX 50 /* of each type, in one account and region */
#define ELB_NAME_MAX 32           /* of load balancers and target groups */
#define ELB_PAGE_MAX 400
#define ELB_DESCRIBE_MAX 20 /* names or ARNs of one Describe */
/* Everything is in the one network that slipway has. */
#define ELB_VPC_ID "vpc-00000000000000000"

const char *elb_type_name(enum elb_type type);
bool elb_type_read(struct span name, enum elb_type *ret_type);
const char *elb_load_balancer_state_name(enum elb_load_balancer_state state);
void elb_load_balancer_write_facts(const struct elb_load_balancer_facts *facts, struct arena *arena,
	struct json *private_);

/* An address that is free, or the one for all; wanted: data NULL for any. Fails the request. */
int elb_load_balancer_take_address(struct aws_request *request, struct span wanted,
	struct span *ret_address);

/* 1 to 32 letters, digits and hyphens, none at the ends. what: "load balancer". */
int elb_check_name(struct aws_request *request, const char *what, struct span name);
/* Whether it is an ARN of this type ("loadbalancer"); the object need not exist. */
bool elb_arn_has_type(struct span arn, const char *type);
/* The load balancer that "LoadBalancerArn" of the input names. */
int elb_request_load_balancer(struct aws_request *request,
	const struct store_object **ret_load_balancer);
void elb_load_balancer_resources(struct aws_request *request, struct aws_resources *resources);
void elb_load_balancer_create_resources(struct aws_request *request,
	struct aws_resources *resources);

int elb_load_balancer_create(struct aws_request *request);
int elb_load_balancer_describe(struct aws_request *request);
int elb_load_balancer_delete(struct aws_request *request);
int elb_load_balancer_set_subnets(struct aws_request *request);
int elb_load_balancer_set_security_groups(struct aws_request *request);
int elb_load_balancer_set_ip_address_type(struct aws_request *request);
int elb_load_balancer_describe_attributes(struct aws_request *request);
int elb_load_balancer_modify_attributes(struct aws_request *request);

#endif
