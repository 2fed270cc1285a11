/* See the header. */
#include "pipeline/describe.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/seeded_bug.h"

#define DESCRIBE_TASKS_MAX 100
#define LOAD_BALANCERS_MAX 16

/* ---- requests ---- */

static struct json *one_text(struct arena *arena, struct span text)
{
	struct json *list = json_new_array(arena);

	json_append(arena, list, json_new_string(arena, text));
	return list;
}

static struct json *in_cluster(const struct deployment_pass *pass)
{
	struct json *request = json_new_object(pass->arena);

	json_set_string(pass->arena, request, "cluster", pass->cluster);
	return request;
}

/* An answer that leaves something out without saying that it does not exist is no answer. */
static int check_failures(struct deployment_pass *pass, const char *operation,
	const struct json *answer, struct err *err)
{
	if (SEEDED_BUG(pass->config->bug == PIPELINE_BUG_PARTIAL_IS_ALL))
		return 0;
	JSON_EACH_ITEM (json_get(answer, "failures"), failure) {
		struct span reason = json_get_text(failure, "reason");

		if (reason.data && span_is(reason, "MISSING"))
			continue;
		pass->failure = (struct aws_call_failure){.status = 500, .type = "PartialAnswer"};
		snprintf(pass->failure.message, sizeof(pass->failure.message), "%s: %.*s: %.*s",
			operation, SPAN_ARGS(json_get_text(failure, "arn")), SPAN_ARGS(reason));
		return err_set(err, -EREMOTEIO, "%s", pass->failure.message);
	}
	return 0;
}

int describe_service(struct deployment_pass *pass, struct span name,
	const struct json **ret_service, struct err *err)
{
	struct json *request = in_cluster(pass), *answer = NULL;
	const struct json *service;
	int code;

	json_set(pass->arena, request, "services", one_text(pass->arena, name));
	json_set(pass->arena, request, "include", one_text(pass->arena, SPAN("TAGS")));
	code = pass_read(pass, ECS, "DescribeServices", request, &answer, err);
	if (code >= 0)
		code = check_failures(pass, "DescribeServices", answer, err);
	if (code < 0)
		return code;
	service = json_item(json_get(answer, "services"), 0);
	*ret_service =
		service && !span_is(json_get_text(service, "status"), "INACTIVE") ? service : NULL;
	return 0;
}

int describe_sets(struct deployment_pass *pass, const struct json **ret_sets, struct err *err)
{
	struct json *request = in_cluster(pass), *answer = NULL;
	int code;

	json_set_string(pass->arena, request, "service", pass->bundle.service.name);
	json_set(pass->arena, request, "include", one_text(pass->arena, SPAN("TAGS")));
	code = pass_read(pass, ECS, "DescribeTaskSets", request, &answer, err);
	if (code >= 0)
		code = check_failures(pass, "DescribeTaskSets", answer, err);
	*ret_sets = json_get(answer, "taskSets");
	return code;
}

int describe_tasks(struct deployment_pass *pass, struct span service, const char *status,
	struct json **ret_tasks, struct err *err)
{
	struct json *request = in_cluster(pass), *arns, *tasks = json_new_array(pass->arena);
	size_t count;
	int code;

	json_set_string(pass->arena, request, "serviceName", service);
	json_set_string(pass->arena, request, "desiredStatus", span_of(status));
	code = pass_read_pages(pass, ECS, "ListTasks", request, "taskArns", "nextToken", &arns,
		err);
	count = json_array_count(arns);
	for (size_t i = 0; i < count && code >= 0; i += DESCRIBE_TASKS_MAX) {
		struct json *part = json_new_array(pass->arena), *answer = NULL;

		for (size_t j = i; j < count && j < i + DESCRIBE_TASKS_MAX; j++)
			json_append(pass->arena, part, json_item(arns, j));
		request = in_cluster(pass);
		json_set(pass->arena, request, "tasks", part);
		code = pass_read(pass, ECS, "DescribeTasks", request, &answer, err);
		if (code >= 0)
			code = check_failures(pass, "DescribeTasks", answer, err);
		JSON_EACH_ITEM (json_get(answer, "tasks"), task)
			json_append(pass->arena, tasks, task);
	}
	*ret_tasks = tasks;
	return code;
}

/* ---- names ---- */

struct span describe_registry_id(const struct deployment_pass *pass)
{
	struct span rest = pass->bundle.service.registry_arn, part, id = SPAN("");

	while (span_next_part(&rest, '/', &part))
		id = part;
	return id;
}

bool describe_has_names(const struct deployment_pass *pass)
{
	return pass->bundle.application->input.access & ACCESS_SERVICE_DISCOVERY;
}

static int read_health(struct deployment_pass *pass, struct names *names, struct err *err)
{
	struct json *all = json_new_object(pass->arena);
	struct span token = SPAN("");
	int code = 0;

	do {
		struct json *request = json_new_object(pass->arena), *answer = NULL;
		const struct json *status;

		json_set_string(pass->arena, request, "ServiceId", describe_registry_id(pass));
		if (token.length > 0)
			json_set_string(pass->arena, request, "NextToken", token);
		code = pass_read(pass, CLOUDMAP, "GetInstancesHealthStatus", request, &answer, err);
		/* Services without health checks have no status. */
		if (code == -EREMOTEIO && strcmp(pass->failure.type, "InstanceNotFound") == 0)
			code = 0;
		status = json_get(answer, "Status");
		for (size_t i = 0; json_is(status, JSON_OBJECT) && i < status->object.count; i++)
			json_set(pass->arena, all,
				arena_copy(pass->arena, status->object.members[i].name.data,
					status->object.members[i].name.length),
				status->object.members[i].value);
		token = json_get_text(answer, "NextToken");
	} while (code >= 0 && token.length > 0);
	names->health = all;
	return code;
}

int describe_names(struct deployment_pass *pass, struct names *names, struct err *err)
{
	struct json *request = json_new_object(pass->arena);
	int code;

	*names = (struct names){0};
	if (!describe_has_names(pass))
		return 0;
	json_set_string(pass->arena, request, "ServiceId", describe_registry_id(pass));
	code = pass_read_pages(pass, CLOUDMAP, "ListInstances", request, "Instances", "NextToken",
		&names->instances, err);
	return code < 0 ? code : read_health(pass, names, err);
}

const struct json *names_find(const struct names *names, struct span id)
{
	JSON_EACH_ITEM (names->instances, instance) {
		if (span_equal(json_get_text(instance, "Id"), id))
			return instance;
	}
	return NULL;
}

bool names_is_healthy(const struct names *names, struct span id)
{
	struct span status = json_text(json_get_span(names->health, id));

	return !status.data || !span_is(status, "UNHEALTHY");
}

/* ---- load balancers ---- */

static bool is_pair(const struct deployment_pass *pass, const struct json *groups,
	int64_t *ret_weight)
{
	const struct application_input *input = &pass->bundle.application->input;
	int64_t weights[2] = {0}, sum;
	bool found[2] = {false};

	if (SEEDED_BUG(pass->config->bug == PIPELINE_BUG_OTHER_RULES)) {
		*ret_weight = -1;
		return json_array_count(groups) > 0;
	}
	if (json_array_count(groups) != LENGTH(found))
		return false;
	JSON_EACH_ITEM (groups, group) {
		struct span arn = json_get_text(group, "TargetGroupArn");
		int index = span_equal(arn, input->primary_group.arn)  ? 0
			    : span_equal(arn, input->canary_group.arn) ? 1
								       : -1;

		if (index < 0)
			return false;
		found[index] = true;
		weights[index] = json_get_integer(group, "Weight", 1);
	}
	sum = weights[0] + weights[1];
	*ret_weight = sum > 0 && weights[1] * 100 % sum == 0 ? weights[1] * 100 / sum : -1;
	return found[0] && found[1];
}

static void add_rule(struct deployment_pass *pass, struct observed *observed, struct span listener,
	const struct json *rule)
{
	struct span selected = pass->bundle.application->input.listener_rule_arn;

	if (selected.length > 0 && !span_equal(selected, json_get_text(rule, "RuleArn")))
		return;
	JSON_EACH_ITEM (json_get(rule, "Actions"), action) {
		struct observed_rule *added;
		int64_t weight = 0;

		if (!is_pair(pass, json_path(action, "ForwardConfig.TargetGroups"), &weight))
			continue;
		added = fields_append(pass->arena, &observed->rules, sizeof(*added));
		added->is_default = json_get_bool(rule, "IsDefault", false);
		added->arn = added->is_default ? listener : json_get_text(rule, "RuleArn");
		added->actions = json_get(rule, "Actions");
		added->weight = weight;
	}
}

static int read_listeners(struct deployment_pass *pass, struct observed *observed,
	struct span balancer, struct err *err)
{
	struct json *request = json_new_object(pass->arena), *listeners, *rules;
	int code;

	json_set_string(pass->arena, request, "LoadBalancerArn", balancer);
	code = pass_read_pages(pass, ELB, "DescribeListeners", request, "Listeners", "Marker",
		&listeners, err);
	if (code < 0)
		return code;
	JSON_EACH_ITEM (listeners, listener) {
		struct span arn = json_get_text(listener, "ListenerArn");

		request = json_new_object(pass->arena);
		json_set_string(pass->arena, request, "ListenerArn", arn);
		code = pass_read_pages(pass, ELB, "DescribeRules", request, "Rules", "Marker",
			&rules, err);
		if (code < 0)
			return code;
		JSON_EACH_ITEM (rules, rule)
			add_rule(pass, observed, arn, rule);
	}
	return 0;
}

int describe_targets(struct deployment_pass *pass, struct span group, struct json *targets,
	struct err *err)
{
	struct json *request = json_new_object(pass->arena), *answer = NULL;
	int code;

	if (group.length == 0)
		return 0;
	json_set_string(pass->arena, request, "TargetGroupArn", group);
	code = pass_read(pass, ELB, "DescribeTargetHealth", request, &answer, err);
	JSON_EACH_ITEM (json_get(answer, "TargetHealthDescriptions"), target)
		json_append(pass->arena, targets, target);
	return code;
}

static int count_healthy_targets(struct deployment_pass *pass, struct span group,
	struct json *targets, size_t *ret_count, struct err *err)
{
	int code = describe_targets(pass, group, targets, err);

	JSON_EACH_ITEM (targets, target) {
		struct span state = json_text(json_path(target, "TargetHealth.State"));

		*ret_count += state.data && span_is(state, "healthy");
	}
	return code;
}

int describe_balancers(struct deployment_pass *pass, struct observed *observed, struct err *err)
{
	const struct application_input *input = &pass->bundle.application->input;
	struct json *request = json_new_object(pass->arena), *answer = NULL;
	struct snapshot *snapshot = &observed->snapshot;
	const struct json *balancers;
	int code;

	snapshot->canary_weight = 0;
	observed->targets = json_new_array(pass->arena);
	if (!(input->access & ACCESS_ELB) || input->primary_group.arn.length == 0)
		return 0;
	if (input->canary_group.arn.length == 0)
		return input->keep_old_ms == 0 ? 0
					       : describe_targets(pass, input->primary_group.arn,
							 observed->targets, err);
	json_set(pass->arena, request, "TargetGroupArns",
		one_text(pass->arena, input->primary_group.arn));
	code = pass_read(pass, ELB, "DescribeTargetGroups", request, &answer, err);
	balancers = json_get(json_item(json_get(answer, "TargetGroups"), 0), "LoadBalancerArns");
	for (size_t i = 0; i < json_array_count(balancers) && i < LOAD_BALANCERS_MAX && code >= 0;
		i++)
		code = read_listeners(pass, observed, json_text(json_item(balancers, i)), err);
	if (code >= 0)
		code = count_healthy_targets(pass, input->primary_group.arn, observed->targets,
			&snapshot->primary_targets, err);
	if (code >= 0)
		code = count_healthy_targets(pass, input->canary_group.arn,
			json_new_array(pass->arena), &snapshot->canary_targets, err);
	snapshot->rule_count = observed->rules.count;
	for (size_t i = 0; i < observed->rules.count; i++) {
		int64_t weight = ((struct observed_rule *)observed->rules.items)[i].weight;

		if (i == 0)
			snapshot->canary_weight = weight;
		else if (snapshot->canary_weight != weight)
			snapshot->canary_weight = -1;
	}
	return code;
}

struct span describe_task_id(const struct json *task)
{
	struct span rest = json_get_text(task, "taskArn"), part, id = SPAN("");

	while (rest.data && span_next_part(&rest, '/', &part))
		id = part;
	return id;
}

struct span describe_task_address(const struct json *task)
{
	JSON_EACH_ITEM (json_get(task, "attachments"), attachment) {
		JSON_EACH_ITEM (json_get(attachment, "details"), detail) {
			struct span name = json_get_text(detail, "name"),
				    value = json_get_text(detail, "value");

			if (name.data && value.data && span_is(name, "privateIPv4Address"))
				return value;
		}
	}
	return SPAN("");
}

struct span describe_tag(const struct json *object, const char *key)
{
	JSON_EACH_ITEM (json_get(object, "tags"), tag) {
		if (span_is(json_get_text(tag, "key"), key))
			return json_get_text(tag, "value");
	}
	return SPAN("");
}

bool describe_is_ours(const struct deployment_pass *pass, const struct json *object)
{
	return span_equal(describe_tag(object, TAG_APPLICATION),
		application_facts(pass->application)->name);
}

static bool has_health_check(const struct json *definition)
{
	JSON_EACH_ITEM (json_get(definition, "containerDefinitions"), container) {
		if (json_is(json_get(container, "healthCheck"), JSON_OBJECT))
			return true;
	}
	return false;
}

bool describe_is_healthy(const struct json *task, const struct json *definition)
{
	struct span health = json_get_text(task, "healthStatus");

	if (!span_is(json_get_text(task, "lastStatus"), "RUNNING"))
		return false;
	if (health.data && !span_is(health, "UNKNOWN"))
		return span_is(health, "HEALTHY");
	return !has_health_check(definition);
}
