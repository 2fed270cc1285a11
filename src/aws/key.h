/*
 * Keys of stored objects. They begin with "ACCOUNT/REGION/", so that what belongs to one account in one
 * region is one range of keys, and nothing else is ever in reach of a request.
 */
#ifndef AWS_KEY_H
#define AWS_KEY_H

#include "aws/service.h"

/* "ACCOUNT/REGION/NAME" in the request's arena. */
struct span aws_key(struct aws_request *request, struct span name);
/* "ACCOUNT/REGION/", the range of the request's account and region. */
struct span aws_key_prefix(struct aws_request *request);
/* The part of the key after "ACCOUNT/REGION/". */
struct span aws_name_of_key(struct span key);
/* "arn:aws:SERVICE:REGION:ACCOUNT:RESOURCE" of anything of the account and region of a key. */
struct span aws_arn_of_key(struct arena *arena, const char *service, struct span key,
	struct span resource);

#endif
