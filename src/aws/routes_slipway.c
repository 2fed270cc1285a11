/*
 * The routes of slipway's own API.
 * Written by tools/generate-rest from api/slipway.json; change that and write it again.
 */
/* clang-format off */
#include "aws/rest.h"

#include "base/memory.h"

static const struct rest_parameter query_of_ListDeploymentsByStatus[] = {
	{"maxResults", "maxResults"},
	{"nextToken", "nextToken"},
	{"status", "status"},
};

static const struct rest_parameter query_of_PostEcsEvents[] = {
	{"target", "target"},
};

static const struct rest_parameter query_of_ListEnvironments[] = {
	{"attribute", "attributes"},
	{"cluster", "cluster"},
	{"health", "health"},
	{"maxResults", "maxResults"},
	{"namePrefix", "namePrefix"},
	{"nextToken", "nextToken"},
	{"status", "status"},
	{"target", "target"},
	{"type", "type"},
};

static const struct rest_parameter query_of_DeleteEnvironment[] = {
	{"terminateTasks", "terminateTasks"},
};

static const struct rest_parameter query_of_ListDeployments[] = {
	{"maxResults", "maxResults"},
	{"nextToken", "nextToken"},
	{"status", "status"},
};

static const struct rest_parameter query_of_DiffEnvironment[] = {
	{"maxResults", "maxResults"},
	{"version", "environmentVersion"},
};

static const struct rest_parameter query_of_ListEnvironmentVersions[] = {
	{"maxResults", "maxResults"},
	{"nextToken", "nextToken"},
};

static const struct rest_parameter query_of_ListInstances[] = {
	{"attribute", "attributes"},
	{"cluster", "cluster"},
	{"maxResults", "maxResults"},
	{"nextToken", "nextToken"},
	{"status", "status"},
	{"target", "target"},
};

static const struct rest_parameter query_of_GetInstance[] = {
	{"target", "target"},
};

static const struct rest_parameter query_of_StreamInstances[] = {
	{"cluster", "cluster"},
	{"entityVersion", "entityVersion"},
	{"target", "target"},
};

static const struct rest_parameter query_of_StreamTasks[] = {
	{"cluster", "cluster"},
	{"entityVersion", "entityVersion"},
	{"environment", "environment"},
	{"target", "target"},
};

static const struct rest_parameter query_of_ListTasks[] = {
	{"cluster", "cluster"},
	{"environment", "environment"},
	{"maxResults", "maxResults"},
	{"nextToken", "nextToken"},
	{"startedBy", "startedBy"},
	{"status", "status"},
	{"target", "target"},
};

static const struct rest_route routes[] = {
	{.method = "GET",
		.path = "/v1/deployments",
		.operation = "ListDeploymentsByStatus",
		.query = query_of_ListDeploymentsByStatus,
		.query_count = LENGTH(query_of_ListDeploymentsByStatus),
		.status = 200},
	{.method = "GET",
		.path = "/v1/dns",
		.operation = "DescribeDns",
		.status = 200},
	{.method = "POST",
		.path = "/v1/ecs-events",
		.operation = "PostEcsEvents",
		.bare_member = "events",
		.query = query_of_PostEcsEvents,
		.query_count = LENGTH(query_of_PostEcsEvents),
		.status = 200},
	{.method = "GET",
		.path = "/v1/environments",
		.operation = "ListEnvironments",
		.query = query_of_ListEnvironments,
		.query_count = LENGTH(query_of_ListEnvironments),
		.status = 200},
	{.method = "POST",
		.path = "/v1/environments",
		.operation = "CreateEnvironment",
		.status = 201},
	{.method = "DELETE",
		.path = "/v1/environments/{name}",
		.operation = "DeleteEnvironment",
		.query = query_of_DeleteEnvironment,
		.query_count = LENGTH(query_of_DeleteEnvironment),
		.status = 202},
	{.method = "GET",
		.path = "/v1/environments/{name}",
		.operation = "GetEnvironment",
		.status = 200},
	{.method = "PUT",
		.path = "/v1/environments/{name}",
		.operation = "UpdateEnvironment",
		.status = 200},
	{.method = "GET",
		.path = "/v1/environments/{name}/deployments",
		.operation = "ListDeployments",
		.query = query_of_ListDeployments,
		.query_count = LENGTH(query_of_ListDeployments),
		.status = 200},
	{.method = "POST",
		.path = "/v1/environments/{name}/deployments",
		.operation = "StartDeployment",
		.status = 202},
	{.method = "GET",
		.path = "/v1/environments/{name}/deployments/{deploymentId}",
		.operation = "GetDeployment",
		.status = 200},
	{.method = "POST",
		.path = "/v1/environments/{name}/deployments/{deploymentId}/stop",
		.operation = "StopDeployment",
		.status = 202},
	{.method = "GET",
		.path = "/v1/environments/{name}/diff",
		.operation = "DiffEnvironment",
		.query = query_of_DiffEnvironment,
		.query_count = LENGTH(query_of_DiffEnvironment),
		.status = 200},
	{.method = "POST",
		.path = "/v1/environments/{name}/rollback",
		.operation = "RollbackDeployment",
		.status = 202},
	{.method = "GET",
		.path = "/v1/environments/{name}/versions",
		.operation = "ListEnvironmentVersions",
		.query = query_of_ListEnvironmentVersions,
		.query_count = LENGTH(query_of_ListEnvironmentVersions),
		.status = 200},
	{.method = "GET",
		.path = "/v1/environments/{name}/versions/{environmentVersion}",
		.operation = "GetEnvironmentVersion",
		.status = 200},
	{.method = "POST",
		.path = "/v1/exec",
		.operation = "ExecuteCommand",
		.status = 200},
	{.method = "POST",
		.path = "/v1/exec/{session}/end",
		.operation = "EndCommandInput",
		.status = 200},
	{.method = "POST",
		.path = "/v1/exec/{session}/input",
		.operation = "SendCommandInput",
		.payload = "input",
		.status = 200},
	{.method = "POST",
		.path = "/v1/exec/{session}/size",
		.operation = "ResizeCommandTerminal",
		.status = 200},
	{.method = "GET",
		.path = "/v1/instances",
		.operation = "ListInstances",
		.query = query_of_ListInstances,
		.query_count = LENGTH(query_of_ListInstances),
		.status = 200},
	{.method = "GET",
		.path = "/v1/instances/{cluster}/{instance}",
		.operation = "GetInstance",
		.query = query_of_GetInstance,
		.query_count = LENGTH(query_of_GetInstance),
		.status = 200},
	{.method = "GET",
		.path = "/v1/keys",
		.operation = "ListKeys",
		.status = 200},
	{.method = "POST",
		.path = "/v1/keys",
		.operation = "CreateKey",
		.status = 201},
	{.method = "DELETE",
		.path = "/v1/keys/{accessKeyId}",
		.operation = "DeleteKey",
		.status = 200},
	{.method = "POST",
		.path = "/v1/logs",
		.operation = "GetTaskLogs",
		.status = 200},
	{.method = "GET",
		.path = "/v1/stream/instances",
		.operation = "StreamInstances",
		.query = query_of_StreamInstances,
		.query_count = LENGTH(query_of_StreamInstances),
		.status = 200},
	{.method = "GET",
		.path = "/v1/stream/tasks",
		.operation = "StreamTasks",
		.query = query_of_StreamTasks,
		.query_count = LENGTH(query_of_StreamTasks),
		.status = 200},
	{.method = "GET",
		.path = "/v1/tasks",
		.operation = "ListTasks",
		.query = query_of_ListTasks,
		.query_count = LENGTH(query_of_ListTasks),
		.status = 200},
	{.method = "GET",
		.path = "/v1/traffic",
		.operation = "DescribeTraffic",
		.status = 200},
};

const struct rest_api rest_slipway = {routes, LENGTH(routes)};
