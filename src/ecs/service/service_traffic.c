/*
 * The rules for loadBalancers, serviceRegistries and Service Connect of services and task sets.
 * Traffic must reach the task, so they are checked against the task definition: its containers,
 * their ports, and where its network mode makes them reachable. Messages are those of ECS where it
 * has some.
 *
 * Network modes. With awsvpc a task has an address of its own, also without root (docs/process-runtime.md):
 * target groups of type ip, and any record type of a name. With bridge and host it is reached at ports of its
 * machine: target groups of type instance, and SRV records, which say the port.
 */
#include "aws/arn.h"
#include "aws/key.h"
#include "cloudmap/cloudmap.h"
#include "ecs/record/namespace.h"
#include "ecs/service/service.h"
#include "ecs/task/task_traffic.h"
#include "elb/elb.h"

#define NETWORK_MODE_DEFAULT "bridge"

static struct span network_mode(const struct json *definition)
{
	struct span mode = json_get_text(definition, "networkMode");

	return mode.length > 0 ? mode : SPAN(NETWORK_MODE_DEFAULT);
}

static const struct json *container_named(const struct json *definition, struct span name)
{
	JSON_EACH_ITEM (json_get(definition, "containerDefinitions"), container)
		if (span_equal(json_get_text(container, "name"), name))
			return container;
	return NULL;
}

static bool maps_port(const struct json *container, int64_t port)
{
	JSON_EACH_ITEM (json_get(container, "portMappings"), mapping)
		if (json_get_integer(mapping, "containerPort", 0) == port)
			return true;
	return false;
}

/* containerName and containerPort of either list. */
static int check_port(struct aws_request *request, const struct json *definition,
	const struct json *requested)
{
	struct span name = json_get_text(requested, "containerName");
	int64_t port = json_get_integer(requested, "containerPort", 0);
	const struct json *container = container_named(definition, name);

	if (name.length == 0)
		return aws_fail_input(request, "Container Name can not be blank.");
	if (!container)
		return aws_fail_input(request,
			"The container %.*s does not exist in the task definition.",
			SPAN_ARGS(name));
	if (json_is_absent(json_get(requested, "containerPort")))
		return aws_fail_input(request, "Container Port can not be blank.");
	if (!maps_port(container, port))
		return aws_fail_input(request,
			"The container %.*s did not have a container port %lld defined.",
			SPAN_ARGS(name), (long long)port);
	return 0;
}

/* ---- load balancers ---- */

static int find_group(struct aws_request *request, const struct json *balancer,
	const struct store_object **ret_group)
{
	struct span arn = json_get_text(balancer, "targetGroupArn");
	struct span name = json_get_text(balancer, "loadBalancerName");

	if (name.length > 0 && arn.length > 0)
		return aws_fail_input(request,
			"loadBalancers: loadBalancerName and targetGroupArn cannot both be given.");
	if (name.length > 0)
		return aws_fail_input(request,
			"loadBalancers: The load balancer '%.*s' does not exist: slipway has no "
			"Classic Load Balancers. Use a targetGroupArn.",
			SPAN_ARGS(name));
	if (arn.length == 0)
		return aws_fail_input(request, "loadBalancers: targetGroupArn can not be blank.");
	if (json_count(json_get(balancer, "advancedConfiguration")) > 0)
		return aws_fail(request, "UnsupportedFeatureException",
			"loadBalancers.advancedConfiguration: slipway deploys services with "
			"strategy ROLLING, which needs no second target group");
	*ret_group = elb_target_group_find(request->view, aws_key_prefix(request), arn);
	if (!*ret_group)
		return aws_fail_input(request,
			"loadBalancers: The target group with targetGroupArn %.*s does not exist.",
			SPAN_ARGS(arn));
	return 0;
}

static int check_group_type(struct aws_request *request, const struct json *definition,
	const struct store_object *group, struct span arn)
{
	struct span mode;
	bool instances;

	mode = network_mode(definition);
	instances = elb_target_group_facts(group)->instances;
	if (instances == span_is(mode, "awsvpc") || span_is(mode, "none"))
		return aws_fail_input(request,
			"The provided target group %.*s has target type %s, which is incompatible "
			"with the %.*s network mode specified in the task definition.",
			SPAN_ARGS(arn), instances ? "instance" : "ip", SPAN_ARGS(mode));
	return 0;
}

static int check_balancer(struct aws_request *request, const struct json *definition,
	const struct json *balancer)
{
	struct span arn = json_get_text(balancer, "targetGroupArn");
	const struct store_object *group;

	if (find_group(request, balancer, &group) < 0)
		return -EPERM;
	if (!elb_target_group_is_used(request->view, group))
		return aws_fail_input(request,
			"The target group with targetGroupArn %.*s does not have an associated "
			"load balancer.",
			SPAN_ARGS(arn));
	if (check_port(request, definition, balancer) < 0)
		return -EPERM;
	return check_group_type(request, definition, group, arn);
}

/* The same port of the same container twice in one group would be one target. */
static int check_twice(struct aws_request *request, const struct json *balancers, size_t index)
{
	const struct json *balancer = json_item(balancers, index);

	for (size_t i = 0; i < index; i++)
		if (json_equal(balancer, json_item(balancers, i)))
			return aws_fail_input(request,
				"loadBalancers: the target group %.*s is given twice for port %lld "
				"of container %.*s",
				SPAN_ARGS(json_get_text(balancer, "targetGroupArn")),
				(long long)json_get_integer(balancer, "containerPort", 0),
				SPAN_ARGS(json_get_text(balancer, "containerName")));
	return 0;
}

static int check_balancers(struct aws_request *request, const struct json *definition,
	const struct json *balancers)
{
	if (json_count(balancers) > TASK_TARGET_GROUPS_MAX)
		return aws_fail_input(request,
			"loadBalancers: %zu target groups are given, the limit is %d",
			json_count(balancers), TASK_TARGET_GROUPS_MAX);
	for (size_t i = 0; i < json_count(balancers); i++)
		if (check_balancer(request, definition, json_item(balancers, i)) < 0 ||
			check_twice(request, balancers, i) < 0)
			return -EPERM;
	return 0;
}

/* ---- registries ---- */

/* The fields that records of a name need, and whether the definition provides them. */
static int check_records(struct aws_request *request, const struct json *definition,
	const struct json *registry, const struct cloudmap_service_facts *service)
{
	struct span mode = network_mode(definition);
	bool own = span_is(mode, "awsvpc"), srv = (service->records & CLOUDMAP_RECORD_SRV) != 0;
	bool container = json_get_text(registry, "containerName").length > 0;
	bool port = !json_is_absent(json_get(registry, "port"));

	if (service->records & (CLOUDMAP_RECORD_AAAA | CLOUDMAP_RECORD_CNAME))
		return aws_fail_input(request,
			"serviceRegistries: tasks have an IPv4 address, which %s records of the "
			"service %.*s cannot give out. Use A or SRV records.",
			service->records & CLOUDMAP_RECORD_AAAA ? "AAAA" : "CNAME",
			SPAN_ARGS(service->id));
	if (!own && (service->records & CLOUDMAP_RECORD_A) && !srv)
		return aws_fail_input(request,
			"serviceRegistries: A records are only supported with the awsvpc network "
			"mode. Tasks with the %.*s network mode share an address, so their name "
			"needs SRV records.",
			SPAN_ARGS(mode));
	if (!own && !container && service->records != 0)
		return aws_fail_input(request,
			"serviceRegistries: containerName and containerPort are required with the "
			"%.*s network mode.",
			SPAN_ARGS(mode));
	if (!own && port)
		return aws_fail_input(request,
			"serviceRegistries: port is only for the awsvpc network mode. Use "
			"containerName and containerPort.");
	if (srv && container == port)
		return aws_fail_input(request,
			"serviceRegistries: a service with SRV records needs either containerName "
			"and containerPort, or port, but not both.");
	return 0;
}

static int check_registry(struct aws_request *request, const struct json *definition,
	const struct json *registry)
{
	struct span arn = json_get_text(registry, "registryArn");
	const struct store_object *service;
	int64_t port = json_get_integer(registry, "port", 1);
	bool names = json_get_text(registry, "containerName").length > 0 ||
		     !json_is_absent(json_get(registry, "containerPort"));

	if (arn.length == 0)
		return aws_fail_input(request, "serviceRegistries: registryArn can not be blank.");
	service = cloudmap_service_find(request->view, aws_key_prefix(request), arn);
	if (!service)
		return aws_fail_input(request,
			"serviceRegistries: The service registry with registryArn %.*s does not "
			"exist.",
			SPAN_ARGS(arn));
	if (port < 1 || port > UINT16_MAX)
		return aws_fail_input(request, "serviceRegistries: port must be between 1 and %d",
			UINT16_MAX);
	if (names && check_port(request, definition, registry) < 0)
		return -EPERM;
	return check_records(request, definition, registry, cloudmap_service_facts(service));
}

/* An update does not fail for traffic settings that the service already has, but a new definition
 * must fit them. */
static int check_kept(struct aws_request *request, const struct json *definition,
	const struct json *balancers, const struct json *registries)
{
	JSON_EACH_ITEM (balancers, balancer) {
		struct span arn = json_get_text(balancer, "targetGroupArn");
		const struct store_object *group =
			elb_target_group_find(request->view, aws_key_prefix(request), arn);

		if (check_port(request, definition, balancer) < 0 ||
			(group && check_group_type(request, definition, group, arn) < 0))
			return -EPERM;
	}
	JSON_EACH_ITEM (registries, registry) {
		const struct store_object *service = cloudmap_service_find(request->view,
			aws_key_prefix(request), json_get_text(registry, "registryArn"));

		if (service && check_registry(request, definition, registry) < 0)
			return -EPERM;
	}
	return 0;
}

int service_check_traffic_update(struct aws_request *request, const struct json *definition,
	const struct json *input, const struct json *document)
{
	static const char *const lists[] = {"loadBalancers", "serviceRegistries"};
	struct json *requested = json_new_object(request->arena);
	struct json *kept = json_new_object(request->arena);

	for (size_t i = 0; i < LENGTH(lists); i++)
		json_set(request->arena,
			json_is_absent(json_get(input, lists[i])) ? kept : requested, lists[i],
			json_get(document, lists[i]));
	if (check_kept(request, definition, json_get(kept, "loadBalancers"),
		    json_get(kept, "serviceRegistries")) < 0)
		return -EPERM;
	return service_check_traffic(request, definition, requested);
}

int service_check_traffic(struct aws_request *request, const struct json *definition,
	const struct json *document)
{
	const struct json *registries = json_get(document, "serviceRegistries");

	if (json_count(registries) > TASK_REGISTRIES_MAX)
		return aws_fail_input(request,
			"serviceRegistries: %zu are given; a service has one at most",
			json_count(registries));
	if (json_count(registries) > 0 &&
		check_registry(request, definition, json_item(registries, 0)) < 0)
		return -EPERM;
	return check_balancers(request, definition, json_get(document, "loadBalancers"));
}

int service_check_connect(struct aws_request *request, const struct json *input)
{
	const struct json *connect = json_get(input, "serviceConnectConfiguration");
	struct span name = json_get_text(connect, "namespace");

	if (!json_is_true(json_get(connect, "enabled")))
		return 0;
	if (name.length > 0 && !ecs_find_namespace(request, name))
		return aws_fail(request, "NamespaceNotFoundException",
			"serviceConnectConfiguration.namespace: there is no namespace '%.*s'",
			SPAN_ARGS(name));
	return aws_fail(request, "UnsupportedFeatureException",
		"serviceConnectConfiguration: slipway has no proxies beside tasks; give the "
		"service a name with serviceRegistries, or a load balancer");
}
