/*
 * Account settings: a value per name for a principal (a user), a default for the whole account, and
 * what AWS has when neither is set.
 */
#ifndef ECS_ACCOUNT_SETTING_H
#define ECS_ACCOUNT_SETTING_H

#include "aws/service.h"

extern const struct store_kind account_setting_kind;

/* The value in force for the caller: its own, else the account's default, else AWS's. */
struct span account_setting_effective(struct aws_request *request, const char *name);

int account_setting_delete(struct aws_request *request);
int account_setting_list(struct aws_request *request);
int account_setting_put(struct aws_request *request);
int account_setting_put_default(struct aws_request *request);
int account_setting_prepare(struct aws_request *request);

#endif
