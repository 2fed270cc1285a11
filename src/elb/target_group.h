/* Target groups: what the other files of this folder need of them, and the operations. */
#ifndef ELB_TARGET_GROUP_H
#define ELB_TARGET_GROUP_H

#include "elb/elb.h"

#define ELB_TARGET_GROUPS_MAX 3000 /* in one account and region */

void elb_target_group_write_facts(const struct elb_target_group_facts *facts, struct arena *arena,
	struct json *private_);

/* The target group that "TargetGroupArn" of the input names. */
int elb_request_target_group(struct aws_request *request, const struct store_object **ret_group);
void elb_target_group_resources(struct aws_request *request, struct aws_resources *resources);
void elb_target_group_create_resources(struct aws_request *request,
	struct aws_resources *resources);

int elb_target_group_create(struct aws_request *request);
int elb_target_group_describe(struct aws_request *request);
int elb_target_group_modify(struct aws_request *request);
int elb_target_group_delete(struct aws_request *request);
int elb_target_group_describe_attributes(struct aws_request *request);
int elb_target_group_modify_attributes(struct aws_request *request);

#endif
