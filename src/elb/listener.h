/*
 * Listeners and rules inside of elb/: operations for the table, and what they share. What others need is in
 * elb.h and routing.h.
 */
#ifndef ELB_LISTENER_H
#define ELB_LISTENER_H

#include "elb/elb.h"

#define ELB_LISTENERS_MAX 50             /* of one load balancer */
#define ELB_LISTENER_CERTIFICATES_MAX 25 /* beside the default one */
#define ELB_RULES_MAX 100                /* of one load balancer, default rules not counted */
#define ELB_ID_SIZE 17

/* ---- objects ---- */

/* The group's name in "…:targetgroup/NAME/ID". */
bool elb_group_name_of_arn(struct span arn, struct span *ret_name);
/* The listener whose default rule an ARN names, or NULL. */
const struct store_object *elb_listener_find_by_default_rule(const struct store_view *view,
	struct span scope, struct span arn);
/* NULL only in a store that others have written to: a load balancer goes with its listeners. */
const struct store_object *elb_listener_balancer(const struct store_view *view,
	const struct store_object *listener);
void elb_listener_facts_write(const struct elb_listener_facts *facts, struct arena *arena,
	struct json *private_);
/* With its rules. For operations, and for those that delete a load balancer. */
int elb_listener_remove(struct store_transaction *transaction, const struct store_object *listener,
	struct err *err);

/* ---- shared by operations ---- */

void elb_new_id(struct random *random, char id[ELB_ID_SIZE]);
/* Fails with ListenerNotFound. */
int elb_listener_get(struct aws_request *request, struct span arn,
	const struct store_object **ret_listener);
/* Both texts of an object, ready to be changed. */
int elb_parse_object(struct aws_request *request, const struct store_object *object,
	struct json **ret_api, struct json **ret_private);
/* An answer that is one list, {"NAME":[…],"NextMarker":…}, of texts that are JSON already. */
void elb_answer_begin(struct aws_request *request, const char *name);
void elb_answer_item(struct aws_request *request, size_t index, struct span text);
void elb_answer_end(struct aws_request *request, struct span next_marker);

/* ---- operations ---- */

/* LoadBalancerArn, ListenerArn, RuleArn, and those of RulePriorities. */
void elb_listener_resources(struct aws_request *request, struct aws_resources *resources);

int elb_listener_prepare(struct aws_request *request); /* files of certificates, port */
int elb_listener_create(struct aws_request *request);
int elb_listener_describe(struct aws_request *request);
int elb_listener_modify(struct aws_request *request);
int elb_listener_delete(struct aws_request *request);

int elb_listener_describe_attributes(struct aws_request *request);
int elb_listener_modify_attributes(struct aws_request *request);

int elb_listener_certificates_prepare(struct aws_request *request);
int elb_listener_certificates_add(struct aws_request *request);
int elb_listener_certificates_remove(struct aws_request *request);
int elb_listener_certificates_describe(struct aws_request *request);

int elb_rule_prepare(struct aws_request *request); /* conditions: for create and modify */
int elb_rule_create(struct aws_request *request);
int elb_rule_describe(struct aws_request *request);
int elb_rule_modify(struct aws_request *request);
int elb_rule_delete(struct aws_request *request);
int elb_rule_set_priorities(struct aws_request *request);

#endif
