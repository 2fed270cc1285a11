#!/bin/sh
# Creates a load balancer with a target group for the primary and one for the canary, and puts their ARNs into
# ./app.pipecd.yaml.
set -eu
cd "$(dirname "$0")"
elb() {
	aws --endpoint-url "${SLIPWAY_SERVER:-http://127.0.0.1:4780}" elbv2 "$@" --output text
}
make_group() {
	elb create-target-group --name "web-$1" --protocol HTTP --port 8080 --target-type ip \
		--vpc-id vpc-1 --health-check-interval-seconds 5 --health-check-timeout-seconds 4 \
		--healthy-threshold-count 2 \
		--query 'TargetGroups[0].TargetGroupArn'
}

balancer=$(elb create-load-balancer --name web --type application --subnets subnet-1 \
	--query 'LoadBalancers[0].LoadBalancerArn')
primary=$(make_group primary)
canary=$(make_group canary)
for group in "$primary" "$canary"; do
	elb modify-target-group-attributes --target-group-arn "$group" \
		--attributes Key=deregistration_delay.timeout_seconds,Value=5 > /dev/null
done
elb create-listener --load-balancer-arn "$balancer" --protocol HTTP --port "${PORT:-8080}" \
	--default-actions "Type=forward,ForwardConfig={TargetGroups=[\
{TargetGroupArn=$primary,Weight=100},{TargetGroupArn=$canary,Weight=0}]}" > /dev/null
sed -i "s|PRIMARY_ARN|$primary|; s|CANARY_ARN|$canary|" app.pipecd.yaml
name=$(elb describe-load-balancers --names web --query 'LoadBalancers[0].DNSName')
address=$(slipway dns lookup "$name" | grep -Eo '[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)
echo "The load balancer is http://$address:${PORT:-8080}/"
