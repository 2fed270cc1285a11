/* Tags of load balancers, target groups, listeners and rules. They are in the private text: "tags". */
#ifndef ELB_TAGS_H
#define ELB_TAGS_H

#include "elb/elb.h"

/* "Tags" of the input, clean; an empty list when there are none. Fails as AWS does: TooManyTags,
 * DuplicateTagKeys. */
int elb_tags_read(struct aws_request *request, const struct json **ret_tags);
/* Never NULL. */
const struct json *elb_tags_of(struct aws_request *request, const struct store_object *object);

int elb_tags_add(struct aws_request *request);
int elb_tags_remove(struct aws_request *request);
int elb_tags_describe(struct aws_request *request);
void elb_tags_resources(struct aws_request *request, struct aws_resources *resources);

#endif
