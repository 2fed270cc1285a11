#!/bin/sh
# Creates the name web.example.internal in Cloud Map, unless it is there, and puts its ARN into ./service.yaml. With WEIGHTED
# each DNS answer has one address, so that the share does not depend on how clients choose among several.
set -eu
names() {
	aws --endpoint-url "${SLIPWAY_SERVER:-http://127.0.0.1:4780}" servicediscovery "$@" --output text
}
find_namespace() {
	names list-namespaces --query "Namespaces[?Name=='example.internal'].Id"
}
find_arn() {
	names list-services --query "Services[?Name=='web'].Arn" \
		--filters "Name=NAMESPACE_ID,Values=$namespace,Condition=EQ"
}

if [ -z "$(find_namespace)" ]; then
	names create-private-dns-namespace --name example.internal --vpc vpc-1 > /dev/null
	while [ -z "$(find_namespace)" ]; do sleep 0.2; done
fi
namespace=$(find_namespace)
arn=$(find_arn)
if [ -z "$arn" ]; then
	arn=$(names create-service --name web --namespace-id "$namespace" \
		--dns-config 'RoutingPolicy=WEIGHTED,DnsRecords=[{Type=A,TTL=5}]' --query Service.Arn)
fi
sed -i "s|REGISTRY_ARN|$arn|" service.yaml
echo "web.example.internal is $arn"
