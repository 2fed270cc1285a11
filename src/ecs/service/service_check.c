/*
 * The rules of CreateService and UpdateService: allowed values, defaults, and which changes need a
 * new deployment. Messages are those of ECS where it has some.
 */
#include "aws/arn.h"
#include "aws/document.h"
#include "base/memory.h"
#include "ecs/definition/task_definition.h"
#include "ecs/placement/placement.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "ecs/service/service.h"
#include "ecs/task/launch_options.h"

#define PERCENT_MAX 10000
#define GRACE_SECONDS_MAX INT64_C(2147483647)
#define ALARMS_MAX 100

/* ---- unsupported features ---- */

/* Members that need a feature that slipway does not have. */
static const struct {
	const char *path;
	const char *what;
} unsupported[] = {
	{"volumeConfigurations", "volumes that are configured at launch"},
	{"vpcLatticeConfigurations", "VPC Lattice"},
	{"gatewayConnectors", "gateways"},
	{"monitoring.metricConfigurations", "metrics of another resolution"},
	{"deploymentConfiguration.lifecycleHooks", "lifecycle hooks"},
	{"deploymentConfiguration.linearConfiguration", "linear deployments"},
	{"deploymentConfiguration.canaryConfiguration", "canary deployments"},
	{"deploymentConfiguration.deploymentCircuitBreaker.thresholdConfiguration",
		"a threshold of the circuit breaker's own"},
};

static bool is_said(const struct json *value)
{
	if (json_is(value, JSON_ARRAY) || json_is(value, JSON_OBJECT))
		return json_count(value) > 0;
	return !json_is_absent(value);
}

static int check_supported(struct aws_request *request, const struct json *input)
{
	const struct json *configuration = json_get(input, "deploymentConfiguration");
	struct span strategy = json_get_text(configuration, "strategy");

	for (size_t i = 0; i < LENGTH(unsupported); i++)
		if (is_said(json_path(input, unsupported[i].path)))
			return aws_fail(request, "UnsupportedFeatureException",
				"%s: slipway does not support %s", unsupported[i].path,
				unsupported[i].what);
	if (strategy.length > 0 && !span_is(strategy, "ROLLING"))
		return aws_fail(request, "UnsupportedFeatureException",
			"deploymentConfiguration.strategy: slipway deploys services with "
			"strategy ROLLING, not %.*s",
			SPAN_ARGS(strategy));
	if (json_get_integer(configuration, "bakeTimeInMinutes", 0) != 0)
		return aws_fail(request, "UnsupportedFeatureException",
			"deploymentConfiguration.bakeTimeInMinutes: slipway's rolling "
			"deployments have no bake time");
	if (json_is_true(json_path(configuration, "earlySuccessCriteria.enable")))
		return aws_fail(request, "UnsupportedFeatureException",
			"deploymentConfiguration.earlySuccessCriteria: slipway does not "
			"support early success");
	return service_check_connect(request, input);
}

/* ---- counts and percentages ---- */

static int read_desired(struct aws_request *request, const struct json *input,
	struct service_facts *facts)
{
	const struct json *requested = json_get(input, "desiredCount");
	int64_t desired = 0;

	if (json_is_absent(requested))
		return 0;
	if (facts->strategy == SERVICE_DAEMON)
		return aws_fail_input(request,
			"The daemon scheduling strategy does not support a desired count for "
			"services. Remove the desired count value and try again");
	json_integer(requested, &desired);
	if (desired < 0 || desired > SERVICE_DESIRED_MAX)
		return aws_fail_input(request, "desiredCount: must be between 0 and %d",
			SERVICE_DESIRED_MAX);
	facts->desired = desired;
	return 0;
}

static int check_percentages(struct aws_request *request, const struct service_facts *facts)
{
	if (facts->minimum_healthy < 0 || facts->minimum_healthy > 100)
		return aws_fail_input(request,
			"deploymentConfiguration.minimumHealthyPercent: must be between 0 and 100");
	if (facts->strategy == SERVICE_DAEMON && facts->maximum > 100)
		return aws_fail_input(request,
			"The daemon scheduling strategy does not support values above 100 for "
			"maximumPercent on a deployment configuration. Change the maximumPercent "
			"value to 100, and try again");
	if (facts->maximum < 100 || facts->maximum > PERCENT_MAX)
		return aws_fail_input(request,
			"deploymentConfiguration.maximumPercent: must be between 100 and %d",
			PERCENT_MAX);
	if (facts->minimum_healthy == 100 && facts->maximum == 100)
		return aws_fail_input(request,
			"Both maximumPercent and minimumHealthyPercent cannot be 100 as this will "
			"block deployments.");
	return 0;
}

static int check_alarms(struct aws_request *request, const struct json *alarms)
{
	const struct json *names = json_get(alarms, "alarmNames");

	if (json_count(names) > ALARMS_MAX)
		return aws_fail_input(request,
			"deploymentConfiguration.alarms: %zu alarms are given, the limit is %d",
			json_count(names), ALARMS_MAX);
	if (json_is_true(json_get(alarms, "enable"))) {
		struct span first = json_text(json_item(names, 0));

		return aws_fail_input(request,
			"deploymentConfiguration.alarms: The alarm '%.*s' does not exist.",
			SPAN_ARGS(first.data ? first : SPAN("")));
	}
	return 0;
}

static struct json *flags(struct arena *arena, bool enable, bool rollback)
{
	struct json *object = json_new_object(arena);

	json_set_bool(arena, object, "enable", enable);
	json_set_bool(arena, object, "rollback", rollback);
	return object;
}

/* Members of the request replace stored ones as a whole; nested members are not merged. */
static int read_deployment_configuration(struct aws_request *request, const struct json *input,
	struct service_edit *edit)
{
	const struct json *requested = json_get(input, "deploymentConfiguration");
	const struct json *before = json_get(edit->document, "deploymentConfiguration");
	struct arena *arena = edit->arena;
	struct json *configuration =
		before ? json_copy_object(arena, before) : json_new_object(arena);
	static const char *const members[] = {
		"deploymentCircuitBreaker", "maximumPercent", "minimumHealthyPercent", "alarms"};
	bool daemon = edit->facts.strategy == SERVICE_DAEMON;
	const struct json *breaker;

	if (check_alarms(request, json_get(requested, "alarms")) < 0)
		return -EPERM;
	for (size_t i = 0; i < LENGTH(members); i++)
		if (!json_is_absent(json_get(requested, members[i])))
			json_set(arena, configuration, members[i], json_get(requested, members[i]));
	document_set_default(arena, configuration, "deploymentCircuitBreaker",
		flags(arena, false, false));
	document_set_default(arena, configuration, "maximumPercent",
		json_new_integer(arena, daemon ? 100 : 200));
	document_set_default(arena, configuration, "minimumHealthyPercent",
		json_new_integer(arena, daemon ? 0 : 100));
	document_set_default(arena, configuration, "strategy",
		json_new_string(arena, SPAN("ROLLING")));
	document_set_default(arena, configuration, "bakeTimeInMinutes", json_new_integer(arena, 0));
	breaker = json_get(configuration, "deploymentCircuitBreaker");
	edit->facts.breaker = json_get_bool(breaker, "enable", false);
	edit->facts.rollback = json_get_bool(breaker, "rollback", false);
	edit->facts.maximum = json_get_integer(configuration, "maximumPercent", 0);
	edit->facts.minimum_healthy = json_get_integer(configuration, "minimumHealthyPercent", 0);
	if (edit->facts.breaker && edit->facts.controller != SERVICE_CONTROLLED_BY_ECS)
		return aws_fail_input(request,
			"deploymentConfiguration.deploymentCircuitBreaker: is only for services "
			"with an ECS deployment controller");
	json_set(arena, edit->document, "deploymentConfiguration", configuration);
	return check_percentages(request, &edit->facts);
}

static int read_grace(struct aws_request *request, const struct json *input,
	struct service_edit *edit)
{
	int64_t seconds = json_get_integer(input, "healthCheckGracePeriodSeconds", -1);

	if (json_is_absent(json_get(input, "healthCheckGracePeriodSeconds")))
		return 0;
	if (seconds < 0 || seconds > GRACE_SECONDS_MAX)
		return aws_fail_input(request,
			"healthCheckGracePeriodSeconds: must be between 0 and %lld",
			(long long)GRACE_SECONDS_MAX);
	edit->facts.grace_ms = seconds * 1000;
	json_set_integer(edit->arena, edit->document, "healthCheckGracePeriodSeconds", seconds);
	return 0;
}

/* ---- placement ---- */

static int check_placement(struct aws_request *request, const struct service_edit *edit,
	const struct json *definition, bool fargate)
{
	const struct json *constraints = json_get(edit->document, "placementConstraints");
	const struct json *strategy = json_get(edit->document, "placementStrategy");
	struct task_needs *needs = arena_allocate(edit->arena, sizeof(*needs));
	struct placement_config config = {.arena = edit->arena,
		.random = request->random,
		.cluster_key = task_cluster_key(edit->key),
		.needs = needs,
		.constraints = constraints,
		.strategy = strategy,
		.group = arena_format(edit->arena, "service:%.*s", SPAN_ARGS(edit->facts.name)),
		.service = edit->facts.name,
		.daemon = edit->facts.strategy == SERVICE_DAEMON};
	_placement_ struct placement *placement = NULL;

	if (edit->facts.strategy == SERVICE_DAEMON && json_count(strategy) > 0)
		return aws_fail_input(request,
			"The daemon scheduling strategy does not support placement strategies. "
			"Remove the placement strategy and try again");
	if (fargate && json_count(constraints) > 0)
		return aws_fail_input(request,
			"Placement constraints are not supported with FARGATE launch type.");
	if (fargate && json_count(strategy) > 0)
		return aws_fail_input(request,
			"Placement strategies are not supported with FARGATE launch type.");
	if (definition && task_needs_read(definition, NULL, edit->arena, needs, &request->err) < 0)
		return aws_fail_input(request, "taskDefinition: %s", request->err.message);
	if (placement_new(&config, &placement, &request->err) < 0)
		return aws_fail_input(request, "%s", request->err.message);
	if (json_count(constraints) + json_count(needs->constraints) > PLACEMENT_CONSTRAINTS_MAX)
		return aws_fail_input(request,
			"placementConstraints: %zu with those of the task definition, the limit "
			"is %d",
			json_count(constraints) + json_count(needs->constraints),
			PLACEMENT_CONSTRAINTS_MAX);
	return 0;
}

/* ---- the rest ---- */

static void copy_requested(struct service_edit *edit, const struct json *input, const char *name)
{
	if (!json_is_absent(json_get(input, name)))
		json_set(edit->arena, edit->document, name, json_get(input, name));
}

/* Members that are kept as they are given, in both operations. */
static void read_plain(struct service_edit *edit, const struct json *input)
{
	static const char *const members[] = {"placementConstraints", "placementStrategy",
		"propagateTags", "enableECSManagedTags", "enableExecuteCommand",
		"availabilityZoneRebalancing"};

	for (size_t i = 0; i < LENGTH(members); i++)
		copy_requested(edit, input, members[i]);
}

/* Rebalancing starts tasks before it stops others: there must be room above what is desired. */
static int check_rebalancing(struct aws_request *request, const struct json *input,
	struct service_edit *edit)
{
	bool possible = edit->facts.strategy == SERVICE_REPLICA && edit->facts.maximum > 100;

	if (span_is(json_get_text(input, "availabilityZoneRebalancing"), "ENABLED") && !possible)
		return aws_fail_input(request,
			"availabilityZoneRebalancing: cannot be ENABLED with scheduling strategy "
			"DAEMON or with a maximumPercent of 100");
	if (!possible || json_is_absent(json_get(edit->document, "availabilityZoneRebalancing")))
		json_set_string(edit->arena, edit->document, "availabilityZoneRebalancing",
			possible ? SPAN("ENABLED") : SPAN("DISABLED"));
	return 0;
}

int service_find_definition(struct aws_request *request, struct span requested,
	struct span *ret_arn, const struct json **ret_document)
{
	const struct store_object *definition;
	struct json *document;

	if (requested.length == 0)
		return aws_fail_input(request, "taskDefinition: must not be empty");
	definition = task_definition_find(request, requested);
	if (!definition)
		return aws_fail(request, "ClientException", "TaskDefinition not found: %.*s",
			SPAN_ARGS(requested));
	if (task_definition_facts(definition)->status != TASK_DEFINITION_ACTIVE)
		return aws_fail(request, "ClientException", "TaskDefinition is inactive: %.*s",
			SPAN_ARGS(requested));
	if (json_parse(definition->api, request->arena, &document, &request->err) < 0)
		return aws_fail_store(request);
	*ret_arn = task_definition_arn(request, definition);
	*ret_document = document;
	return 0;
}

/* ---- create ---- */

static int find_name(const char *(*name_of)(unsigned), unsigned count, struct span name)
{
	for (unsigned i = 0; i < count; i++)
		if (span_is(name, name_of(i)))
			return (int)i;
	return 0; /* the shape allows no other name, so none was given */
}

static const char *strategy_name(unsigned strategy)
{
	return service_strategy_name((enum service_strategy)strategy);
}

static const char *controller_name(unsigned controller)
{
	return service_controller_name((enum service_controller)controller);
}

static int read_scheduling(struct aws_request *request, const struct json *input,
	struct service_edit *edit)
{
	struct service_facts *facts = &edit->facts;
	struct json *controller = json_new_object(edit->arena);
	bool balanced = json_count(json_get(input, "loadBalancers")) > 0;

	facts->strategy = (enum service_strategy)find_name(strategy_name, SERVICE_STRATEGY_COUNT,
		json_get_text(input, "schedulingStrategy"));
	facts->controller =
		(enum service_controller)find_name(controller_name, SERVICE_CONTROLLER_COUNT,
			json_get_text(json_get(input, "deploymentController"), "type"));
	if (facts->controller != SERVICE_CONTROLLED_BY_ECS && facts->strategy == SERVICE_DAEMON)
		return aws_fail_input(request,
			"The daemon scheduling strategy does not support the %s deployment "
			"controller.",
			service_controller_name(facts->controller));
	if (facts->controller == SERVICE_CONTROLLED_BY_CODE_DEPLOY && !balanced)
		return aws_fail_input(request,
			"deploymentController: a service with a CODE_DEPLOY deployment controller "
			"needs a load balancer");
	if (facts->controller == SERVICE_CONTROLLED_BY_CODE_DEPLOY)
		return aws_fail(request, "UnsupportedFeatureException",
			"deploymentController: slipway has no CodeDeploy; use an ECS or an "
			"EXTERNAL deployment controller");
	if (facts->strategy == SERVICE_REPLICA && facts->controller == SERVICE_CONTROLLED_BY_ECS &&
		json_is_absent(json_get(input, "desiredCount")))
		return aws_fail_input(request, "desiredCount: is required with scheduling strategy "
					       "REPLICA");
	/* Ansible always sends a role, and "" for none. */
	if (json_get_text(input, "role").length > 0 && !balanced)
		return aws_fail_input(request, "role: is only for services with a load balancer");
	json_set_string(edit->arena, controller, "type",
		span_of(service_controller_name(facts->controller)));
	json_set(edit->arena, edit->document, "deploymentController", controller);
	json_set_string(edit->arena, edit->document, "schedulingStrategy",
		span_of(service_strategy_name(facts->strategy)));
	return 0;
}

/* A service with an EXTERNAL controller has nothing of its own that tasks are made of. */
static int check_blank(struct aws_request *request, const struct json *input)
{
	static const char *const blank[] = {"taskDefinition", "launchType",
		"capacityProviderStrategy", "platformVersion", "networkConfiguration",
		"loadBalancers", "serviceRegistries"};

	for (size_t i = 0; i < LENGTH(blank); i++)
		if (is_said(json_get(input, blank[i])))
			return aws_fail_input(request,
				"%s: must be blank, since a service with an EXTERNAL deployment "
				"controller has it in its task sets",
				blank[i]);
	return 0;
}

static int read_launch(struct aws_request *request, const struct store_object *cluster,
	const struct json *input, struct service_edit *edit, const struct json **ret_definition,
	bool *ret_fargate)
{
	struct launch_options options;
	struct span arn;

	*ret_definition = NULL;
	*ret_fargate = false;
	edit->facts.launch_type = SPAN("");
	if (edit->facts.controller == SERVICE_CONTROLLED_BY_EXTERNAL)
		return check_blank(request, input);
	if (json_is_absent(json_get(input, "taskDefinition")))
		return aws_fail_input(request, "taskDefinition: TaskDefinition can not be blank.");
	if (service_find_definition(request, json_get_text(input, "taskDefinition"), &arn,
		    ret_definition) < 0 ||
		launch_options_read(request, cluster, *ret_definition, input, &options) < 0)
		return -EPERM;
	if (edit->facts.strategy == SERVICE_DAEMON && options.strategy)
		return aws_fail_input(request,
			"Specifying a capacity provider strategy is not supported when you create "
			"a service using the DAEMON scheduling strategy.");
	if (edit->facts.strategy == SERVICE_DAEMON && options.fargate)
		return aws_fail_input(request,
			"The daemon scheduling strategy does not support the FARGATE launch type. "
			"Change the launch type and try again");
	json_set_string(edit->arena, edit->document, "taskDefinition", arn);
	launch_options_set(&options, edit->arena, edit->document);
	copy_requested(edit, input, "loadBalancers");
	copy_requested(edit, input, "serviceRegistries");
	if (service_check_traffic(request, *ret_definition, edit->document) < 0)
		return -EPERM;
	edit->facts.launch_type = options.launch_type;
	*ret_fargate = options.fargate;
	return 0;
}

static void set_identity(struct aws_request *request, const struct store_object *cluster,
	struct service_edit *edit)
{
	struct arena *arena = edit->arena;
	struct span partition = aws_partition_of(request->caller->region);

	json_set_string(arena, edit->document, "serviceArn",
		ecs_arn(request, "service", aws_name_of_key(edit->key)));
	json_set_string(arena, edit->document, "serviceName", edit->facts.name);
	json_set_string(arena, edit->document, "clusterArn",
		ecs_arn(request, "cluster", cluster_facts(cluster)->name));
	json_set_time(arena, edit->document, "createdAt", request->now_ms);
	json_set_string(arena, edit->document, "createdBy",
		arena_format(arena, "arn:%.*s:iam::%.*s:user/%.*s", SPAN_ARGS(partition),
			SPAN_ARGS(request->caller->account), SPAN_ARGS(request->caller->user)));
	/* ECS uses this role for every service that needs network interfaces or load balancers. */
	if (!json_is_absent(json_get(edit->document, "networkConfiguration")) ||
		json_count(json_get(edit->document, "loadBalancers")) > 0)
		json_set_string(arena, edit->document, "roleArn",
			arena_format(arena,
				"arn:%.*s:iam::%.*s:role/aws-service-role/ecs.amazonaws.com/"
				"AWSServiceRoleForECS",
				SPAN_ARGS(partition), SPAN_ARGS(request->caller->account)));
}

static void set_defaults(struct service_edit *edit)
{
	struct arena *arena = edit->arena;
	static const char *const lists[] = {
		"loadBalancers", "serviceRegistries", "placementConstraints", "placementStrategy"};
	static const char *const switches[] = {"enableECSManagedTags", "enableExecuteCommand"};

	for (size_t i = 0; i < LENGTH(lists); i++)
		document_set_default(arena, edit->document, lists[i], json_new_array(arena));
	for (size_t i = 0; i < LENGTH(switches); i++)
		document_set_default(arena, edit->document, switches[i],
			json_new_bool(arena, false));
	document_set_default(arena, edit->document, "propagateTags",
		json_new_string(arena, SPAN("NONE")));
	document_set_default(arena, edit->document, "healthCheckGracePeriodSeconds",
		json_new_integer(arena, 0));
}

int service_check_create(struct aws_request *request, const struct store_object *cluster,
	struct service_edit *edit, const struct json **ret_definition)
{
	const struct json *input = document_input(request);
	bool fargate;

	if (check_supported(request, input) < 0 || read_scheduling(request, input, edit) < 0 ||
		read_launch(request, cluster, input, edit, ret_definition, &fargate) < 0 ||
		read_desired(request, input, &edit->facts) < 0 ||
		read_deployment_configuration(request, input, edit) < 0 ||
		read_grace(request, input, edit) < 0)
		return -EPERM;
	read_plain(edit, input);
	set_defaults(edit);
	if (check_rebalancing(request, input, edit) < 0 ||
		check_placement(request, edit, *ret_definition, fargate) < 0)
		return -EPERM;
	set_identity(request, cluster, edit);
	return 0;
}

/* ---- update ---- */

/* Members that make a new revision, and how messages call them. */
static const struct {
	const char *name;
	const char *words;
} deployed[] = {
	{"taskDefinition", "task definition"},
	{"capacityProviderStrategy", "capacity provider strategy"},
	{"platformVersion", "platform version"},
	{"networkConfiguration", "network configuration"},
	{"loadBalancers", "load balancers"},
	{"serviceRegistries", "service registries"},
	{"forceNewDeployment", "deployment"},
};

static bool is_requested(const struct json *input, const char *name)
{
	const struct json *value = json_get(input, name);

	return !json_is_absent(value) && !json_is(value, JSON_FALSE);
}

static int check_controller(struct aws_request *request, const struct json *input,
	const struct service_facts *facts)
{
	struct span type = json_get_text(json_get(input, "deploymentController"), "type");

	if (type.length > 0 && !span_is(type, service_controller_name(facts->controller)))
		return aws_fail_input(request,
			"deploymentController: a service with an %s deployment controller cannot "
			"change to %.*s",
			service_controller_name(facts->controller), SPAN_ARGS(type));
	if (facts->controller == SERVICE_CONTROLLED_BY_ECS)
		return 0;
	for (size_t i = 0; i < LENGTH(deployed); i++)
		if (is_requested(input, deployed[i].name))
			return aws_fail_input(request,
				"Unable to update %s on services with an %s deployment controller. "
				"Use CreateTaskSet to deploy a new task set.",
				deployed[i].words, service_controller_name(facts->controller));
	return 0;
}

/* The current definition of a service. It may be INACTIVE: running deployments continue. */
static int current_definition(struct aws_request *request, const struct service_edit *edit,
	const struct json **ret_document)
{
	struct span arn = json_get_text(edit->document, "taskDefinition");
	const struct store_object *definition = task_definition_find(request, arn);
	struct json *document;

	if (!definition)
		return aws_fail(request, "ClientException", "TaskDefinition not found: %.*s",
			SPAN_ARGS(arn.data ? arn : SPAN("")));
	if (json_parse(definition->api, request->arena, &document, &request->err) < 0)
		return aws_fail_store(request);
	*ret_document = document;
	return 0;
}

/* An empty strategy returns the service to the launch type of its providers. */
static void give_up_strategy(struct service_edit *edit, struct json *desired)
{
	bool fargate = !json_is_absent(json_get(edit->document, "platformVersion"));

	json_unset(desired, "capacityProviderStrategy");
	json_set_string(edit->arena, desired, "launchType",
		fargate ? SPAN("FARGATE") : SPAN("EC2"));
}

/* The service's settings with the request's on top, in the form of a CreateService request. */
static const struct json *launch_desired(struct service_edit *edit, const struct json *input,
	const struct json *definition)
{
	static const char *const members[] = {"launchType", "capacityProviderStrategy",
		"platformVersion", "networkConfiguration"};
	const struct json *strategy = json_get(input, "capacityProviderStrategy");
	struct json *desired = json_new_object(edit->arena);

	for (size_t i = 0; i < LENGTH(members); i++)
		json_set(edit->arena, desired, members[i], json_get(edit->document, members[i]));
	if (!span_is(json_get_text(definition, "networkMode"), "awsvpc"))
		json_unset(desired, "networkConfiguration");
	if (json_is(strategy, JSON_ARRAY) && json_count(strategy) > 0) {
		json_unset(desired, "launchType");
		json_unset(desired, "platformVersion");
	} else if (json_is(strategy, JSON_ARRAY)) {
		give_up_strategy(edit, desired);
	}
	for (size_t i = 0; i < LENGTH(members); i++)
		if (is_said(json_get(input, members[i])))
			json_set(edit->arena, desired, members[i], json_get(input, members[i]));
	return desired;
}

static bool same_member(const struct json *a, const struct json *b, const char *name)
{
	const struct json *left = json_get(a, name), *right = json_get(b, name);

	return left && right ? json_equal(left, right) : left == right;
}

static int update_launch(struct aws_request *request, const struct store_object *cluster,
	const struct json *input, struct service_edit *edit, const struct json **ret_definition,
	bool *ret_deploy)
{
	struct json *before = json_copy_object(edit->arena, edit->document);
	struct launch_options options;
	struct span arn = json_get_text(edit->document, "taskDefinition");

	if (is_requested(input, "taskDefinition")) {
		if (service_find_definition(request, json_get_text(input, "taskDefinition"), &arn,
			    ret_definition) < 0)
			return -EPERM;
	} else if (current_definition(request, edit, ret_definition) < 0) {
		return -EPERM;
	}
	if (launch_options_read(request, cluster, *ret_definition,
		    launch_desired(edit, input, *ret_definition), &options) < 0)
		return -EPERM;
	if (edit->facts.strategy == SERVICE_DAEMON && (options.strategy || options.fargate))
		return aws_fail_input(request,
			"Specifying a capacity provider strategy is not supported for a service "
			"that uses the DAEMON scheduling strategy.");
	json_set_string(edit->arena, edit->document, "taskDefinition", arn);
	launch_options_set(&options, edit->arena, edit->document);
	copy_requested(edit, input, "loadBalancers");
	copy_requested(edit, input, "serviceRegistries");
	if (service_check_traffic_update(request, *ret_definition, input, edit->document) < 0)
		return -EPERM;
	if (!same_member(before, edit->document, "capacityProviderStrategy") &&
		!json_get_bool(input, "forceNewDeployment", false))
		return aws_fail_input(request,
			"When switching from launch type to capacity provider strategy on an "
			"existing service, or making a change to a capacity provider strategy on a "
			"service that is already using one, you must force a new deployment.");
	*ret_deploy = json_get_bool(input, "forceNewDeployment", false);
	for (size_t i = 0; i < LENGTH(deployed); i++)
		*ret_deploy |= !same_member(before, edit->document, deployed[i].name);
	return 0;
}

int service_check_update(struct aws_request *request, const struct store_object *cluster,
	struct service_edit *edit, const struct json **ret_definition, bool *ret_deploy)
{
	const struct json *input = document_input(request);
	bool deployable = edit->facts.controller == SERVICE_CONTROLLED_BY_ECS;
	bool launches = false, fargate;

	*ret_definition = NULL;
	*ret_deploy = false;
	if (check_supported(request, input) < 0 ||
		check_controller(request, input, &edit->facts) < 0 ||
		read_desired(request, input, &edit->facts) < 0 ||
		read_deployment_configuration(request, input, edit) < 0 ||
		read_grace(request, input, edit) < 0)
		return -EPERM;
	for (size_t i = 0; i < LENGTH(deployed); i++)
		launches |= is_requested(input, deployed[i].name);
	if (deployable && launches &&
		update_launch(request, cluster, input, edit, ret_definition, ret_deploy) < 0)
		return -EPERM;
	read_plain(edit, input);
	if (check_rebalancing(request, input, edit) < 0)
		return -EPERM;
	if (!launches && !is_requested(input, "placementConstraints") &&
		!is_requested(input, "placementStrategy"))
		return 0;
	if (deployable && !*ret_definition && current_definition(request, edit, ret_definition) < 0)
		return -EPERM;
	fargate = !json_is_absent(json_get(edit->document, "platformVersion"));
	return check_placement(request, edit, *ret_definition, fargate);
}
