/*
 * Tags as ECS, Cloud Map and ELB have them: lists of {"key","value"}, as the service spells these. At most 50 to a resource, keys of
 * 1 to 128 characters, values of up to 256, no prefix "aws:" in any case, no key twice. All failures
 * are the request's.
 */
#ifndef AWS_TAG_LIST_H
#define AWS_TAG_LIST_H

#include "aws/service.h"

#define AWS_TAGS_MAX 50

/* Checks a list from a request; absent is fine. */
int aws_tag_list_check(struct aws_request *request, const struct json *tags);
/* existing with added put over it, in the order of first appearance. Both may be absent. Fails the
 * request when there are too many then. */
int aws_tag_list_merge(struct aws_request *request, const struct json *existing,
	const struct json *added, const struct json **ret_merged);
/* existing without the tags named in keys (a list of texts). Never NULL. */
const struct json *aws_tag_list_without(struct aws_request *request, const struct json *existing,
	const struct json *keys);

#endif
