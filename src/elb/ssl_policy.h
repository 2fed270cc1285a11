/*
 * Security policies: the TLS versions and ciphers of a listener, by AWS's names. Those for FIPS 140 and with
 * post-quantum key exchange are not here: the data plane could not keep their promises.
 */
#ifndef ELB_SSL_POLICY_H
#define ELB_SSL_POLICY_H

#include "aws/service.h"
#include "proxy/proxy.h"

#define ELB_SSL_POLICY_DEFAULT "ELBSecurityPolicy-TLS13-1-2-Res-2021-06"

/* False: there is none of that name here. */
bool elb_ssl_policy_find(struct span name, struct arena *arena, struct proxy_tls *ret_tls);
bool elb_ssl_policy_exists(struct span name);
/* Fails with SSLPolicyNotFoundException. */
int elb_ssl_policy_fail(struct aws_request *request, struct span name);

int elb_ssl_policies_describe(struct aws_request *request);

#endif
