/*
 * Made by AWS's APIs alone, as a user would: a cluster, a load balancer with two target groups, a name with
 * instances, and two versions of a service that are behind both.
 */
#include "cli/demo.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLUSTER "default"
#define PATH_LENGTH_MAX 4096
#define EXAMINE_US INT64_C(500000)

static const char *const versions[DEMO_VERSIONS] = {"v1", "v2"};

static const char *text_at(const struct demo_world *world, const struct json *answer,
	const char *path)
{
	struct span text = json_text(json_path(answer, path));

	return arena_copy(world->server->arena, text.data ? text.data : "", text.length);
}

/* ---- the load balancer ---- */

static bool folders_have_haproxy(const char *folders)
{
	char candidate[PATH_LENGTH_MAX];

	while (folders && *folders) {
		size_t length = strcspn(folders, ":");

		if (length > 0 && length < sizeof(candidate) - sizeof("/haproxy")) {
			snprintf(candidate, sizeof(candidate), "%.*s/haproxy", (int)length,
				folders);
			if (access(candidate, X_OK) == 0)
				return true;
		}
		folders += length + (folders[length] == ':');
	}
	return false;
}

/* Where the data plane looks, too: an ordinary user's PATH often lacks these. */
static bool has_haproxy(void)
{
	return folders_have_haproxy(getenv("PATH")) ||
	       folders_have_haproxy("/usr/sbin:/usr/local/sbin");
}

/* A port with no listener at any address of this machine at this moment. */
static int find_port(unsigned *ret_port, struct err *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof(address);
	_close_ int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&address, length) < 0 ||
		getsockname(descriptor, (struct sockaddr *)&address, &length) < 0)
		return err_errno(err, "find a free port");
	*ret_port = ntohs(address.sin_port);
	return 0;
}

/*
 * The port of the tasks. Each task has an address of its own, so that they can share a port; only a program
 * that has it at every address is in their way.
 */
static int choose_web_port(unsigned *ret_port, struct err *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons(DEMO_WEB_PORT),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
	int one = 1;
	_close_ int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (descriptor < 0)
		return err_errno(err, "find a free port");
	setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(descriptor, (struct sockaddr *)&address, sizeof(address)) < 0)
		return find_port(ret_port, err);
	*ret_port = DEMO_WEB_PORT;
	return 0;
}

static int make_group(struct demo_world *world, size_t version, struct err *err)
{
	const struct json *answer;
	int code = demo_call(world->server, "elasticloadbalancingv2", "CreateTargetGroup", &answer,
		err,
		"{\"Name\":\"web-%s\",\"Protocol\":\"%s\",\"Port\":%u,\"TargetType\":\"ip\","
		"\"VpcId\":\"vpc-demo\",\"HealthCheckIntervalSeconds\":5,"
		"\"HealthCheckTimeoutSeconds\":2,\"HealthyThresholdCount\":2}",
		versions[version], world->application ? "HTTP" : "TCP", world->web_port);

	if (code < 0)
		return code;
	world->groups[version] =
		text_at(world, json_item(json_get(answer, "TargetGroups"), 0), "TargetGroupArn");
	return demo_call(world->server, "elasticloadbalancingv2", "ModifyTargetGroupAttributes",
		NULL, err,
		"{\"TargetGroupArn\":\"%s\",\"Attributes\":[{\"Key\":"
		"\"deregistration_delay.timeout_seconds\",\"Value\":\"10\"}]}",
		world->groups[version]);
}

static const char *forward(const struct demo_world *world, unsigned percent)
{
	return arena_format(world->server->arena,
		"[{\"Type\":\"forward\",\"ForwardConfig\":{\"TargetGroups\":["
		"{\"TargetGroupArn\":\"%s\",\"Weight\":%u},"
		"{\"TargetGroupArn\":\"%s\",\"Weight\":%u}]}}]",
		world->groups[0], 100 - percent, world->groups[1], percent)
		.data;
}

int demo_world_make_balancer(struct demo_world *world, struct err *err)
{
	const struct json *answer, *balancer;
	const char *arn;
	int code;

	world->application = !world->network && has_haproxy();
	code = find_port(&world->port, err);
	if (code == 0)
		code = choose_web_port(&world->web_port, err);
	for (size_t i = 0; i < DEMO_VERSIONS && code == 0; i++)
		code = make_group(world, i, err);
	if (code == 0)
		code = demo_call(world->server, "elasticloadbalancingv2", "CreateLoadBalancer",
			&answer, err,
			"{\"Name\":\"web\",\"Type\":\"%s\",\"Subnets\":[\"subnet-1\",\"subnet-2\"]"
			"}",
			world->application ? "application" : "network");
	if (code < 0)
		return code;
	balancer = json_item(json_get(answer, "LoadBalancers"), 0);
	arn = text_at(world, balancer, "LoadBalancerArn");
	code = demo_call(world->server, "elasticloadbalancingv2", "CreateListener", &answer, err,
		"{\"LoadBalancerArn\":\"%s\",\"Protocol\":\"%s\",\"Port\":%u,\"DefaultActions\":%"
		"s}",
		arn, world->application ? "HTTP" : "TCP", world->port, forward(world, 0));
	if (code < 0)
		return code;
	world->listener =
		text_at(world, json_item(json_get(answer, "Listeners"), 0), "ListenerArn");
	code = demo_wait_until_settled(world->server, err);
	return code < 0 ? code
			: demo_find_listener(world->server, world->port, &world->address, err);
}

int demo_world_set_balancer_weight(struct demo_world *world, unsigned percent, struct err *err)
{
	int code = demo_call(world->server, "elasticloadbalancingv2", "ModifyListener", NULL, err,
		"{\"ListenerArn\":\"%s\",\"DefaultActions\":%s}", world->listener,
		forward(world, percent));

	return code < 0 ? code : demo_wait_until_settled(world->server, err);
}

/* ---- the name ---- */

int demo_world_make_name(struct demo_world *world, struct err *err)
{
	const struct json *answer, *operation;
	int code;

	world->namespace_name = "demo.internal";
	world->name = "web.demo.internal";
	code = demo_call(world->server, "servicediscovery", "CreatePrivateDnsNamespace", &answer,
		err, "{\"Name\":\"%s\",\"Vpc\":\"vpc-demo\"}", world->namespace_name);
	if (code == 0)
		code = demo_call(world->server, "servicediscovery", "GetOperation", &operation, err,
			"{\"OperationId\":\"%s\"}", text_at(world, answer, "OperationId"));
	if (code == 0)
		code = demo_call(world->server, "servicediscovery", "CreateService", &answer, err,
			"{\"Name\":\"web\",\"NamespaceId\":\"%s\",\"DnsConfig\":{\"RoutingPolicy\":"
			"\"WEIGHTED\",\"DnsRecords\":[{\"Type\":\"A\",\"TTL\":1}]},"
			"\"HealthCheckCustomConfig\":{\"FailureThreshold\":1}}",
			text_at(world, operation, "Operation.Targets.NAMESPACE"));
	if (code < 0)
		return code;
	world->name_service = text_at(world, answer, "Service.Id");
	return 0;
}

/* Registers the instances again, with their weight: ECS has registered them without. */
int demo_world_set_name_weight(struct demo_world *world, unsigned percent, struct err *err)
{
	struct arena *arena = world->server->arena;
	const struct json *answer;
	int code = demo_call(world->server, "servicediscovery", "ListInstances", &answer, err,
		"{\"ServiceId\":\"%s\"}", world->name_service);

	if (code < 0)
		return code;
	JSON_EACH_ITEM (json_get(answer, "Instances"), instance) {
		const struct json *known = json_get(instance, "Attributes");
		bool second = span_equal(json_get_text(known, "ECS_SERVICE_NAME"), SPAN("web-v2"));
		struct json *attributes = json_copy_object(arena, known);

		json_unset(attributes, "SLIPWAY_WEIGHT");
		json_set_string(arena, attributes, "SLIPWAY_WEIGHT",
			arena_format(arena, "%u", second ? percent : 100 - percent));
		code = demo_call(world->server, "servicediscovery", "RegisterInstance", NULL, err,
			"{\"ServiceId\":\"%s\",\"InstanceId\":\"%s\",\"Attributes\":%.*s}",
			world->name_service, text_at(world, instance, "Id"),
			SPAN_ARGS(json_to_text(attributes, arena)));
		if (code < 0)
			return code;
	}
	return 0;
}

/* ---- the services ---- */

static int make_service(struct demo_world *world, size_t version, const char *program,
	const char *registry, struct err *err)
{
	const char *name = versions[version];
	_buffer_ struct buffer quoted = {0};
	int code;

	json_write_string(span_of(program), &quoted);
	code = demo_call(world->server, "ecs", "RegisterTaskDefinition", NULL, err,
		"{\"family\":\"web-%s\",\"networkMode\":\"awsvpc\",\"containerDefinitions\":[{"
		"\"name\":\"web\",\"image\":\"host\",\"memory\":32,\"essential\":true,"
		"\"command\":[%.*s,\"demo-web\"],\"portMappings\":[{\"containerPort\":%u}],"
		"\"environment\":[{\"name\":\"VERSION\",\"value\":\"%s\"},"
		"{\"name\":\"PORT\",\"value\":\"%u\"}]}]}",
		name, SPAN_ARGS(buffer_span(&quoted)), world->web_port, name, world->web_port);
	if (code < 0)
		return code;
	return demo_call(world->server, "ecs", "CreateService", NULL, err,
		"{\"cluster\":\"" CLUSTER
		"\",\"serviceName\":\"web-%s\",\"taskDefinition\":\"web-%s\",\"desiredCount\":1,"
		"\"networkConfiguration\":{\"awsvpcConfiguration\":{\"subnets\":[\"subnet-1\"]}},"
		"\"loadBalancers\":[{\"targetGroupArn\":\"%s\",\"containerName\":\"web\","
		"\"containerPort\":%u}],\"serviceRegistries\":[{\"registryArn\":\"%s\"}]}",
		name, name, world->groups[version], world->web_port, registry);
}

/* Nothing in the demo stops its tasks: one that stops has a reason, which ends the demo. */
static int check_stopped(struct demo_world *world, size_t version, struct err *err)
{
	const struct json *answer, *task;
	struct span reason;
	int code = demo_call(world->server, "ecs", "ListTasks", &answer, err,
		"{\"cluster\":\"" CLUSTER
		"\",\"serviceName\":\"web-%s\",\"desiredStatus\":\"STOPPED\"}",
		versions[version]);

	if (code < 0 || json_count(json_get(answer, "taskArns")) == 0)
		return code;
	code = demo_call(world->server, "ecs", "DescribeTasks", &answer, err,
		"{\"cluster\":\"" CLUSTER "\",\"tasks\":%.*s}",
		SPAN_ARGS(json_to_text(json_get(answer, "taskArns"), world->server->arena)));
	if (code < 0)
		return code;
	task = json_item(json_get(answer, "tasks"), 0);
	reason = json_get_text(json_item(json_get(task, "containers"), 0), "reason");
	if (reason.length == 0)
		reason = json_get_text(task, "stoppedReason");
	return err_set(err, -ECANCELED, "a task of web-%s stopped: %.*s", versions[version],
		SPAN_ARGS(reason));
}

/* Writes the state of the services for the progress line. */
static int examine_services(struct demo_world *world, struct err *err)
{
	struct demo_server *server = world->server;
	const struct json *answer;
	size_t length;
	int code = 0;

	for (size_t i = 0; i < DEMO_VERSIONS && code == 0; i++)
		code = check_stopped(world, i, err);
	if (code == 0)
		code = demo_call(server, "ecs", "DescribeServices", &answer, err,
			"{\"cluster\":\"" CLUSTER "\",\"services\":[\"web-v1\",\"web-v2\"]}");
	if (code < 0)
		return code;
	length = (size_t)snprintf(server->waiting_for, sizeof(server->waiting_for),
		"healthy tasks:");
	JSON_EACH_ITEM (json_get(answer, "services"), service)
		length += (size_t)snprintf(server->waiting_for + length,
			sizeof(server->waiting_for) - length, " %.*s %s",
			SPAN_ARGS(json_get_text(service, "serviceName")),
			json_get_integer(service, "runningCount", 0) > 0 ? "runs;"
									 : "is starting;");
	server->waiting_for[length - 1] = '\0';
	return 0;
}

/* Both are healthy for the load balancer and have their names. */
static int are_in_service(void *context, struct err *err)
{
	struct demo_world *world = context;
	int64_t now_us = runner_now_us(world->server->runner);
	const struct json *answer;
	int code = 0;

	if (now_us - world->examined_us >= EXAMINE_US) {
		world->examined_us = now_us;
		code = examine_services(world, err);
	}
	if (code < 0)
		return code;
	for (size_t i = 0; i < DEMO_VERSIONS; i++) {
		const struct json *health;

		code = demo_call(world->server, "elasticloadbalancingv2", "DescribeTargetHealth",
			&answer, err, "{\"TargetGroupArn\":\"%s\"}", world->groups[i]);
		if (code < 0)
			return code;
		health = json_item(json_get(answer, "TargetHealthDescriptions"), 0);
		if (!span_equal(json_text(json_path(health, "TargetHealth.State")),
			    SPAN("healthy")))
			return 0;
	}
	code = demo_call(world->server, "servicediscovery", "ListInstances", &answer, err,
		"{\"ServiceId\":\"%s\"}", world->name_service);
	if (code < 0)
		return code;
	return json_count(json_get(answer, "Instances")) == DEMO_VERSIONS;
}

int demo_world_make_services(struct demo_world *world, struct err *err)
{
	char program[PATH_LENGTH_MAX] = {0};
	const struct json *answer;
	const char *registry;
	int code;

	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		return err_errno(err, "find this program");
	code = demo_call(world->server, "servicediscovery", "GetService", &answer, err,
		"{\"Id\":\"%s\"}", world->name_service);
	if (code < 0)
		return code;
	registry = text_at(world, answer, "Service.Arn");
	for (size_t i = 0; i < DEMO_VERSIONS && code == 0; i++)
		code = make_service(world, i, program, registry, err);
	if (code == 0)
		code = demo_wait(world->server, "healthy tasks of both versions", are_in_service,
			world, err);
	if (code == 0)
		code = demo_wait_until_settled(world->server, err);
	return code;
}
