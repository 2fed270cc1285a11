/* arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE, and the parts of ECS-like resources. */
#ifndef AWS_ARN_H
#define AWS_ARN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/span.h"

#define AWS_ARN_MAX 2048

struct aws_arn {
	struct span partition; /* "aws", "aws-cn", "aws-us-gov": follows from the region */
	struct span service;
	struct span region;
	struct span account;
	struct span resource; /* all the rest: "cluster/default", "service/default/web" */
};

bool aws_arn_looks_like(struct span text); /* starts with "arn:" */
/* False if it is not an ARN with six parts; parts may be empty where AWS allows it. */
bool aws_arn_parse(struct span text, struct aws_arn *ret_arn);
/* "aws" but "aws-cn" for cn-*, "aws-us-gov" for us-gov-*. */
struct span aws_partition_of(struct span region);
struct span aws_arn_format(struct arena *arena, const char *service, struct span region,
	struct span account, const char *resource_format, ...)
	__attribute__((format(printf, 5, 6)));

#endif
