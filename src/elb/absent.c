/* Features that slipway does not have; see the header. */
#include "elb/absent.h"

#include "aws/key.h"
#include "base/memory.h"
#include "elb/elb.h"

#define NO_TRUST_STORES "slipway does not ask clients for certificates, so it has no trust stores"

/* ---- trust stores ---- */

int elb_absent_trust_store_create(struct aws_request *request)
{
	return aws_fail(request, "UnsupportedFeatureException", "%s", NO_TRUST_STORES);
}

int elb_absent_trust_store(struct aws_request *request)
{
	return aws_fail(request, "TrustStoreNotFoundException",
		"Trust store '%.*s' not found: " NO_TRUST_STORES,
		SPAN_ARGS(json_get_text(request->input, "TrustStoreArn")));
}

int elb_absent_trust_stores_describe(struct aws_request *request)
{
	if (json_count(json_get(request->input, "TrustStoreArns")) > 0 ||
		json_count(json_get(request->input, "Names")) > 0)
		return aws_fail(request, "TrustStoreNotFoundException",
			"There is no such trust store: " NO_TRUST_STORES);
	buffer_add_string(request->out, "{\"TrustStores\":[]}");
	return 0;
}

/* Only trust stores have policies of their own. */
int elb_absent_resource_policy(struct aws_request *request)
{
	return aws_fail(request, "ResourceNotFoundException",
		"'%.*s' has no resource policy: " NO_TRUST_STORES,
		SPAN_ARGS(json_get_text(request->input, "ResourceArn")));
}

/* ---- capacity ---- */

static int check_balancer(struct aws_request *request)
{
	struct span arn = json_get_text(request->input, "LoadBalancerArn");

	if (elb_load_balancer_find(request->view, aws_key_prefix(request), arn))
		return 0;
	return aws_fail(request, "LoadBalancerNotFoundException", "Load balancer '%.*s' not found",
		SPAN_ARGS(arn));
}

int elb_absent_capacity_describe(struct aws_request *request)
{
	if (check_balancer(request) < 0)
		return -EPERM;
	buffer_add_string(request->out, "{\"CapacityReservationState\":[]}");
	return 0;
}

int elb_absent_capacity_modify(struct aws_request *request)
{
	if (check_balancer(request) < 0)
		return -EPERM;
	if (!json_is_absent(json_get(request->input, "MinimumLoadBalancerCapacity")))
		return aws_fail(request, "OperationNotPermittedException",
			"MinimumLoadBalancerCapacity: slipway reserves no capacity: a load "
			"balancer has what the machine has");
	buffer_add_string(request->out, "{\"CapacityReservationState\":[]}");
	return 0;
}

int elb_absent_ip_pools_modify(struct aws_request *request)
{
	if (check_balancer(request) < 0)
		return -EPERM;
	return aws_fail(request, "UnsupportedFeatureException",
		"slipway has no IPAM pools: load balancers get their addresses from its "
		"configuration");
}
