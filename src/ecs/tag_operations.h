/* TagResource, UntagResource and ListTagsForResource. */
#ifndef ECS_TAG_OPERATIONS_H
#define ECS_TAG_OPERATIONS_H

#include "aws/service.h"

int tags_tag(struct aws_request *request);
int tags_untag(struct aws_request *request);
int tags_list(struct aws_request *request);
int tags_prepare(struct aws_request *request);
void tags_resources(struct aws_request *request, struct aws_resources *resources);

#endif
