/* Shared by RunTask and StartTask; see the header. */
#include "ecs/task/task_launch.h"

#include "aws/document.h"
#include "aws/tag_list.h"
#include "ecs/definition/task_definition.h"
#include "ecs/record/cluster.h"
#include "ecs/record/context.h"
#include "ecs/record/name.h"
#include "ecs/record/tags.h"
#include "ecs/task/task_api.h"
#include "ecs/task/task_overrides.h"

#define GROUP_MAX 255
#define REFERENCE_MAX 1024

/* ---- input ---- */

/* Facts stand in stored texts as they are: what JSON would escape cannot be one. */
static int read_text(struct aws_request *request, const char *member, size_t most,
	struct span *ret_text)
{
	struct span text = json_get_text(request->input, member);

	if (text.length > most)
		return aws_fail_input(request, "%s: has %zu bytes, the limit is %zu", member,
			text.length, most);
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c < ' ' || c == '"' || c == '\\' || c == 0x7f)
			return aws_fail_input(request,
				"%s: quotes, backslashes and control characters are not allowed",
				member);
	}
	*ret_text = text.data ? text : SPAN("");
	return 0;
}

static int check_volumes(struct aws_request *request)
{
	const struct json *volumes = json_get(request->input, "volumeConfigurations");

	if (json_count(volumes) == 0)
		return 0;
	return aws_fail(request, "UnsupportedFeatureException",
		"volumeConfigurations: volumes that are configured at launch are not supported. "
		"Use a volume of the task definition with a host path.");
}

int task_launch_prepare(struct aws_request *request, size_t started_by_most,
	struct task_launch_input *ret_input)
{
	struct task_launch_input input = {.requested = document_input(request)};
	struct span propagate = json_get_text(input.requested, "propagateTags");

	input.overrides = json_get(input.requested, "overrides");
	input.propagate = span_is(propagate, "TASK_DEFINITION");
	input.managed_tags = json_get_bool(input.requested, "enableECSManagedTags", false);
	input.execute_command = json_get_bool(input.requested, "enableExecuteCommand", false);
	if (read_text(request, "group", GROUP_MAX, &input.group) < 0 ||
		read_text(request, "startedBy", started_by_most, &input.started_by) < 0 ||
		read_text(request, "referenceId", REFERENCE_MAX, &input.reference) < 0 ||
		task_overrides_check(request, input.overrides) < 0 || check_volumes(request) < 0 ||
		aws_tag_list_check(request, json_get(request->input, "tags")) < 0)
		return -EPERM;
	if (span_starts_with(input.group, SPAN("service:")))
		return aws_fail_input(request, "Invalid namespace for group.");
	if (span_is(propagate, "SERVICE"))
		return aws_fail_input(request,
			"propagateTags: SERVICE is for services; a task of its own has the tags of "
			"its TASK_DEFINITION or NONE");
	*ret_input = input;
	return 0;
}

/* ---- resolving ---- */

static int find_definition(struct aws_request *request, const struct store_object **ret_definition)
{
	const struct store_object *definition =
		task_definition_find(request, json_get_text(request->input, "taskDefinition"));

	if (!definition)
		return aws_fail(request, "ClientException", "TaskDefinition not found.");
	if (task_definition_facts(definition)->status != TASK_DEFINITION_ACTIVE)
		return aws_fail_input(request, "TaskDefinition is inactive");
	*ret_definition = definition;
	return 0;
}

/* Those of the request over those of the definition, and the ones that ECS itself adds. */
static int read_tags(struct aws_request *request, const struct task_launch *launch,
	const struct store_object *definition, const struct json **ret_tags)
{
	const struct task_launch_input *input = launch->input;
	const struct json *merged;
	struct json *all, *managed;

	if (aws_tag_list_merge(request, input->propagate ? tags_of(request, definition) : NULL,
		    json_get(input->requested, "tags"), &merged) < 0)
		return -EPERM;
	*ret_tags = merged;
	if (!input->managed_tags)
		return 0;
	all = json_new_array(request->arena);
	JSON_EACH_ITEM (merged, tag)
		json_append(request->arena, all, tag);
	managed = json_new_object(request->arena);
	json_set_string(request->arena, managed, "key", SPAN("aws:ecs:clusterName"));
	json_set_string(request->arena, managed, "value", cluster_facts(launch->cluster)->name);
	json_append(request->arena, all, managed);
	*ret_tags = all;
	return 0;
}

/* Ephemeral storage beyond the default needs platform version 1.4.0. */
static int check_platform(struct aws_request *request, const struct task_launch *launch,
	const struct json *document)
{
	struct span version = launch->options.platform_version;

	if (!launch->options.fargate || span_is(version, "LATEST") || span_is(version, "1.4.0"))
		return 0;
	if (json_is_absent(json_get(document, "ephemeralStorage")) &&
		json_is_absent(json_get(launch->input->overrides, "ephemeralStorage")))
		return 0;
	return aws_fail(request, "PlatformTaskDefinitionIncompatibilityException",
		"Platform version %.*s does not support ephemeralStorage; use 1.4.0 or later.",
		SPAN_ARGS(version));
}

int task_launch_begin(struct aws_request *request, const struct task_launch_input *input,
	const struct store_object *cluster, const struct json *requested,
	struct task_launch *launch)
{
	const struct ecs_context *context = request->context;
	const struct store_object *definition;
	struct json *document;

	*launch = (struct task_launch){
		.input = input, .cluster = cluster, .failures = json_new_array(request->arena)};
	if (find_definition(request, &definition) < 0)
		return -EPERM;
	if (json_parse(definition->api, request->arena, &document, &request->err) < 0)
		return aws_fail_store(request);
	if (launch_options_read(request, cluster, document, requested, &launch->options) < 0 ||
		check_platform(request, launch, document) < 0 ||
		read_tags(request, launch, definition, &launch->request.tags) < 0)
		return -EPERM;
	if (task_needs_read(document, input->overrides, request->arena, &launch->needs,
		    &request->err) < 0)
		return aws_fail_input(request, "%s", request->err.message);
	if (task_overrides_fit(request, document, input->overrides, &launch->needs,
		    launch->options.fargate) < 0)
		return -EPERM;
	if (context)
		launch->request.host = context->scheduler;
	launch->request.arena = request->arena;
	launch->request.random = request->random;
	launch->request.now_ms = request->now_ms;
	launch->request.cluster_key = cluster->key;
	launch->request.definition = definition;
	launch->request.definition_document = document;
	launch->request.needs = &launch->needs;
	launch->request.overrides = input->overrides;
	launch->request.network_configuration = launch->options.network;
	launch->request.group =
		input->group.length > 0
			? input->group
			: arena_format(request->arena, "family:%.*s",
				  SPAN_ARGS(task_definition_facts(definition)->family));
	launch->request.started_by = input->started_by;
	launch->request.service = launch->request.deployment = SPAN("");
	launch->request.reference = launch->request.capacity_provider = SPAN("");
	launch->request.platform_version = launch->options.platform_version;
	launch->request.enable_execute_command = input->execute_command;
	launch->request.launch_type = TASK_LAUNCH_EC2;
	if (launch->options.fargate)
		launch->request.launch_type = TASK_LAUNCH_FARGATE;
	else if (launch->options.launch_type.length > 0)
		task_launch_type_read(launch->options.launch_type, &launch->request.launch_type);
	return 0;
}

int task_launch_placement(struct aws_request *request, const struct task_launch *launch,
	const struct json *constraints, const struct json *strategy,
	struct placement **ret_placement)
{
	struct placement_config config = {
		.arena = request->arena,
		.random = request->random,
		.cluster_key = launch->cluster->key,
		.needs = &launch->needs,
		.constraints = constraints,
		.strategy = strategy,
		.group = launch->request.group,
		.service = SPAN(""),
		.now_ms = request->now_ms,
		.launch_type = launch->request.launch_type,
	};

	if (placement_new(&config, ret_placement, &request->err) < 0)
		return aws_fail_input(request, "%s", request->err.message);
	return 0;
}

/* ---- results ---- */

int task_launch_on(struct aws_request *request, struct task_launch *launch,
	const struct store_object *instance)
{
	struct span key;

	launch->request.instance = instance;
	if (task_create(request->transaction, &launch->request, &key, &request->err) < 0)
		return aws_fail_store(request);
	task_launch_add(launch, key);
	return 0;
}

void task_launch_add(struct task_launch *launch, struct span key)
{
	for (size_t i = 0; i < launch->count; i++)
		if (span_equal(launch->keys[i], key))
			return;
	launch->keys[launch->count++] = key;
}

void task_launch_failed(struct aws_request *request, struct task_launch *launch, struct span arn,
	struct span reason)
{
	struct json *failure = json_new_object(request->arena);

	if (arn.data)
		json_set_string(request->arena, failure, "arn", arn);
	json_set_string(request->arena, failure, "reason", reason);
	json_append(request->arena, launch->failures, failure);
}

int task_launch_answer(struct aws_request *request, const struct task_launch *launch)
{
	request->view = store_head(request->transaction);
	buffer_add_string(request->out, "{\"tasks\":[");
	for (size_t i = 0; i < launch->count; i++) {
		const struct store_object *task =
			store_get(request->view, &task_kind, launch->keys[i]);

		if (i > 0)
			buffer_add_char(request->out, ',');
		else
			request->resource = task_arn(request, task);
		task_answer(request, task, true);
	}
	buffer_add_string(request->out, "],\"failures\":");
	json_write(launch->failures, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}
