/*
 * Security policies: the TLS versions and ciphers of a listener. The table has only
 * those of AWS's policies that the data plane implements exactly: it could not keep the promise of
 * a policy that allows TLS 1.0.
 */
#ifndef ELB_SSL_POLICY_H
#define ELB_SSL_POLICY_H

#include "aws/service.h"

#define ELB_SSL_POLICY_DEFAULT "ELBSecurityPolicy-TLS13-1-2-Res-2021-06"

/* False: there is none of that name here. */
bool elb_ssl_policy_find(struct span name, bool *ret_tls_1_3_only);
/* "A, B": for messages. */
struct span elb_ssl_policy_names(struct arena *arena);

int elb_ssl_policies_describe(struct aws_request *request);

#endif
