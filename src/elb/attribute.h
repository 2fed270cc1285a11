/*
 * Attributes of load balancers, target groups and listeners: one table for each lists them with
 * the objects they apply to, defaults and allowed values. Only values that were set are stored.
 */
#ifndef ELB_ATTRIBUTE_H
#define ELB_ATTRIBUTE_H

#include "elb/elb.h"

#define ELB_ATTRIBUTES_MAX 20 /* of one request, as the model has it */

/* Of a group that is being created, from its texts: there is no object yet. "" if there is no
 * such attribute. */
struct span elb_target_group_attribute(const struct elb_target_group_facts *facts,
	const struct json *attributes, const char *name);

/* Checks "Attributes" of the input, puts them over those of the object, and answers all of them. */
int elb_attributes_modify(struct aws_request *request, const struct store_object *object);
/* Answers all attributes of an object. */
int elb_attributes_describe(struct aws_request *request, const struct store_object *object);

#endif
