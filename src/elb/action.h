/*
 * Actions of listeners and rules: checks as Elastic Load Balancing has them, and the normal form: a forward
 * action has a ForwardConfig with all its groups and weights (and TargetGroupArn when it is one group), a
 * redirect has all its parts.
 */
#ifndef ELB_ACTION_H
#define ELB_ACTION_H

#include "elb/elb.h"

#define ELB_ACTION_GROUPS_MAX 5          /* of one forward action */
#define ELB_BALANCER_GROUPS_MAX 100      /* of one load balancer */
#define ELB_APPLICATION_TARGETS_MAX 1000 /* of one load balancer, when a group is put to use */
#define ELB_NETWORK_TARGETS_MAX 3000

/* Where actions are to act. */
struct elb_action_place {
	const struct store_object *load_balancer;
	enum elb_protocol protocol; /* of the listener */
	int64_t port;               /* of the listener */
};

/* Checks and normalises the list of this name in the input, with the target groups of request->view. */
int elb_actions_read(struct aws_request *request, const char *name,
	const struct elb_action_place *place, struct json **ret_actions);
/* Whether these actions, in normal form, are valid there, too: for a listener that gets another
 * protocol. */
int elb_actions_check_groups(struct aws_request *request, const struct json *actions,
	const struct elb_action_place *place);
/* After actions were stored, still inside of the transaction: does the load balancer, and does the data
 * plane, carry that many groups and targets? */
int elb_actions_check_limits(struct aws_request *request, const struct store_object *load_balancer);

#endif
