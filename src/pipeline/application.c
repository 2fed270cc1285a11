/* See the header. */
#include "pipeline/application.h"

#include "base/memory.h"
#include "base/yaml.h"
#include "pipeline/application_stage.h"

#define TIMEOUT_DEFAULT_MS (INT64_C(6) * 3600 * 1000)
#define OUT_OF_SYNC_WINDOW_MS (INT64_C(5) * 60 * 1000)
#define FIELDS(array) .fields = (array), .count = LENGTH(array)

/* ---- spec.input ---- */

#define GROUP(member) .offset = offsetof(struct target_group, member)
static const struct field group_fields[] = {
	{"targetGroupArn", FIELD_TEXT, GROUP(arn), .required = true},
	{"containerName", FIELD_TEXT, GROUP(container_name)},
	{"containerPort", FIELD_COUNT, GROUP(container_port)},
	{"loadBalancerName", FIELD_TEXT, GROUP(load_balancer_name)},
};
static const struct field_table group_table = {FIELDS(group_fields)};

#define INPUT(member) .offset = offsetof(struct application_input, member)
static const struct field groups_fields[] = {
	{"primary", FIELD_ONE, INPUT(primary_group), .inner = &group_table},
	{"canary", FIELD_ONE, INPUT(canary_group), .inner = &group_table},
};
static const struct field_table groups_table = {FIELDS(groups_fields)};
static const struct field vpc_fields[] = {
	{"subnets", FIELD_TEXTS, INPUT(subnets)},
	{"securityGroups", FIELD_TEXTS, INPUT(security_groups)},
	{"assignPublicIp", FIELD_TEXT, INPUT(assign_public_ip)},
};
static const struct field_table vpc_table = {FIELDS(vpc_fields)};
static const char *const registrations[] = {"AGENT", "ECS", NULL};
static const struct field discovery_fields[] = {
	{"canaryRegistration", FIELD_CHOICE, INPUT(canary_registration), .choices = registrations},
	{"previewRegistryArn", FIELD_TEXT, INPUT(preview_registry_arn)},
	{"tolerance", FIELD_PERCENT, INPUT(tolerance)},
	{"capacityFloor", FIELD_PERCENT, INPUT(capacity_floor)},
};
static const struct field_table discovery_table = {FIELDS(discovery_fields)};
static const struct field selector_fields[] = {
	{"listenerRuleArn", FIELD_TEXT, INPUT(listener_rule_arn)},
};
static const struct field_table selector_table = {FIELDS(selector_fields)};

struct input_access {
	struct application_input input; /* first: the tables above have its offsets */
	const struct json *type, *ecs_type;
};

static const struct field input_fields[] = {
	{"serviceDefinitionFile", FIELD_TEXT, INPUT(service_definition_file)},
	{"taskDefinitionFile", FIELD_TEXT, INPUT(task_definition_file)},
	/* The next four have members of the same structure. */
	{"targetGroups", FIELD_ONE, 0, .inner = &groups_table},
	{"awsvpcConfiguration", FIELD_ONE, 0, .inner = &vpc_table},
	{"serviceDiscovery", FIELD_ONE, 0, .inner = &discovery_table},
	{"listenerRuleSelector", FIELD_ONE, 0, .inner = &selector_table},
	{"autoRollback", FIELD_BOOL, INPUT(auto_rollback)},
	{"runStandaloneTask", FIELD_BOOL, INPUT(run_standalone_task)},
	{"clusterArn", FIELD_TEXT, INPUT(cluster_arn)},
	{"launchType", FIELD_TEXT, INPUT(launch_type)},
	{"keepOldPrimary", FIELD_DURATION, INPUT(keep_old_ms)},
	{"keepFailedFirstDeploy", FIELD_BOOL, INPUT(keep_failed_first_deploy)},
	{"accessType", FIELD_VALUE, .offset = offsetof(struct input_access, type)},
	{"ecsAccessType", FIELD_VALUE, .offset = offsetof(struct input_access, ecs_type)},
};
static const struct field_table input_table = {FIELDS(input_fields)};

static const struct access_row {
	const char *name, *other_name;
	unsigned access; /* 0: known and not supported */
} access_rows[] = {
	{"ELB", NULL, ACCESS_ELB},
	{"SERVICE_DISCOVERY", "ECS_SERVICE_DISCOVERY", ACCESS_SERVICE_DISCOVERY},
	{"APP_MESH", NULL, 0},
	{"SERVICE_CONNECT", "ECS_SERVICE_CONNECT", 0},
};

static int read_access_item(struct field_reader *reader, const struct json *value,
	unsigned *ret_access)
{
	struct span text = json_text(value);

	for (size_t i = 0; i < LENGTH(access_rows); i++) {
		const struct access_row *row = &access_rows[i];

		if (!text.data || (!span_is(text, row->name) &&
					  (!row->other_name || !span_is(text, row->other_name))))
			continue;
		if (row->access == 0)
			return fields_fail(reader, value->line,
				"accessType %s is not supported (ELB or SERVICE_DISCOVERY)",
				row->name);
		*ret_access |= row->access;
		return 0;
	}
	return fields_fail(reader, value->line, "invalid accessType: %.*s",
		SPAN_ARGS(text.data ? text : span_of(json_type_name(value->type))));
}

/* One type, or a list of them. */
static int read_access(struct field_reader *reader, const struct json *value, unsigned *ret_access)
{
	unsigned access = 0;
	int code = 0;

	if (value->type == JSON_ARRAY && value->array.count > 0) {
		JSON_EACH_ITEM (value, item) {
			code = read_access_item(reader, item, &access);
			if (code < 0)
				return code;
		}
	} else {
		code = read_access_item(reader, value, &access);
	}
	if (code >= 0)
		*ret_access = access;
	return code;
}

static int read_input(struct field_reader *reader, const char *path, const struct json *value,
	struct application_input *input)
{
	struct input_access read = {.input = *input};
	unsigned other = 0;
	int code = fields_read(reader, &input_table, path, value, &read);

	if (code >= 0 && read.type)
		code = read_access(reader, read.type, &read.input.access);
	if (code >= 0 && read.ecs_type)
		code = read_access(reader, read.ecs_type, &other);
	if (code < 0)
		return code;
	if (read.type && read.ecs_type && read.input.access != other)
		return fields_fail(reader, read.ecs_type->line,
			"accessType and ecsAccessType differ; one of them is enough");
	if (read.ecs_type)
		read.input.access = other;
	*input = read.input;
	return 0;
}

/* ---- spec ---- */

struct spec {
	struct application *application;
	struct span name, description;
	struct field_list labels;
	bool planner_auto_rollback, always_use_pipeline;
	struct span quick_sync_commits, pipeline_commits;
	struct application_trigger trigger;
	bool on_commit_off, on_command_off, on_out_of_sync_off, on_chain_off, on_flow_off;
	int64_t timeout_ms;
	int on_new_commit;
	const struct json *input, *quick_sync, *stages, *post_sync, *plugins, *kept;
};

#define SPEC(member) .offset = offsetof(struct spec, member)

static const struct field planner_fields[] = {
	{"alwaysUsePipeline", FIELD_BOOL, SPEC(always_use_pipeline)},
	{"autoRollback", FIELD_BOOL, SPEC(planner_auto_rollback)},
};
static const struct field_table planner_table = {FIELDS(planner_fields)};
static const struct field matcher_fields[] = {
	{"quickSync", FIELD_TEXT, SPEC(quick_sync_commits)},
	{"pipeline", FIELD_TEXT, SPEC(pipeline_commits)},
};
static const struct field_table matcher_table = {FIELDS(matcher_fields)};
static const struct field pipeline_fields[] = {
	{"stages", FIELD_VALUE, SPEC(stages), .required = true},
};
static const struct field_table pipeline_table = {FIELDS(pipeline_fields)};

static const struct field on_commit_fields[] = {
	{"disabled", FIELD_BOOL, SPEC(on_commit_off)},
	{"paths", FIELD_TEXTS, SPEC(trigger.paths)},
	{"ignores", FIELD_TEXTS, SPEC(trigger.ignores)},
};
static const struct field_table on_commit_table = {FIELDS(on_commit_fields)};
static const struct field on_command_fields[] = {{"disabled", FIELD_BOOL, SPEC(on_command_off)}};
static const struct field_table on_command_table = {FIELDS(on_command_fields)};
static const struct field on_out_of_sync_fields[] = {
	{"disabled", FIELD_BOOL, SPEC(on_out_of_sync_off)},
	{"minWindow", FIELD_DURATION, SPEC(trigger.out_of_sync_window_ms)},
};
static const struct field_table on_out_of_sync_table = {FIELDS(on_out_of_sync_fields)};
static const struct field on_chain_fields[] = {{"disabled", FIELD_BOOL, SPEC(on_chain_off)}};
static const struct field_table on_chain_table = {FIELDS(on_chain_fields)};
static const struct field on_flow_fields[] = {
	{"disable", FIELD_BOOL, SPEC(on_flow_off)}, {"disabled", FIELD_BOOL, SPEC(on_flow_off)}};
static const struct field_table on_flow_table = {FIELDS(on_flow_fields)};

static const struct field trigger_fields[] = {
	{"onCommit", FIELD_ONE, 0, .inner = &on_commit_table},
	{"onCommand", FIELD_ONE, 0, .inner = &on_command_table},
	{"onOutOfSync", FIELD_ONE, 0, .inner = &on_out_of_sync_table},
	{"onChain", FIELD_ONE, 0, .inner = &on_chain_table},
	{"onFlow", FIELD_ONE, 0, .inner = &on_flow_table},
	{"onEvent", FIELD_VALUE, SPEC(kept),
		.warning = "has no effect; slipway has no such events"},
	/* The spelling of seed 004. */
	{"paths", FIELD_TEXTS, SPEC(trigger.paths)},
	{"onChange", FIELD_TEXTS, SPEC(trigger.paths)},
};
static const struct field_table trigger_table = {FIELDS(trigger_fields)};
static const char *const new_commit_choices[] = {"queue", "replace", NULL};

#define NO_EFFECT "has no effect in slipway"

#define GENERIC_SPEC_FIELDS                                                                        \
	{"name", FIELD_TEXT, SPEC(name)}, {"labels", FIELD_PAIRS, SPEC(labels)},                   \
		{"description", FIELD_TEXT, SPEC(description)},                                    \
		{"planner", FIELD_ONE, 0, .inner = &planner_table},                                \
		{"commitMatcher", FIELD_ONE, 0, .inner = &matcher_table},                          \
		{"pipeline", FIELD_ONE, 0, .inner = &pipeline_table},                              \
		{"trigger", FIELD_ONE, 0, .inner = &trigger_table},                                \
		{"postSync", FIELD_VALUE, SPEC(post_sync)},                                        \
		{"timeout", FIELD_DURATION, SPEC(timeout_ms)},                                     \
		{"onNewCommit", FIELD_CHOICE, SPEC(on_new_commit), .choices = new_commit_choices}, \
		{"encryption", FIELD_VALUE, SPEC(kept),                                            \
			.undeployable = "encrypted secrets are not supported"},                    \
		{"attachment", FIELD_VALUE, SPEC(kept),                                            \
			.undeployable = "attached files are not supported"},                       \
		{"notification", FIELD_VALUE, SPEC(kept), .warning = NO_EFFECT},                   \
		{"eventWatcher", FIELD_VALUE, SPEC(kept), .warning = NO_EFFECT},                   \
	{                                                                                          \
		"driftDetection", FIELD_VALUE, SPEC(kept), .warning = NO_EFFECT                    \
	}

static const struct field ecs_spec_fields[] = {GENERIC_SPEC_FIELDS,
	{"input", FIELD_VALUE, SPEC(input)}, {"quickSync", FIELD_VALUE, SPEC(quick_sync)}};
static const struct field_table ecs_spec_table = {FIELDS(ecs_spec_fields)};
static const struct field v1_spec_fields[] = {
	GENERIC_SPEC_FIELDS, {"plugins", FIELD_VALUE, SPEC(plugins)}};
static const struct field_table v1_spec_table = {FIELDS(v1_spec_fields)};
static const struct field generic_spec_fields[] = {GENERIC_SPEC_FIELDS};
static const struct field_table generic_spec_table = {FIELDS(generic_spec_fields)};

static const struct field plugin_fields[] = {
	{"input", FIELD_VALUE, SPEC(input)}, {"quickSync", FIELD_VALUE, SPEC(quick_sync)}};
static const struct field_table plugin_table = {FIELDS(plugin_fields)};

static const struct kind_row {
	const char *name;
	const struct field_table *table;
} kinds[] = {
	{"ECSApp", &ecs_spec_table},
	{"Application", &v1_spec_table},
	/* Other keys of these belong to their own platforms. */
	{"KubernetesApp", NULL},
	{"TerraformApp", NULL},
	{"CloudRunApp", NULL},
	{"LambdaApp", NULL},
};

/* Without the keys that only the kind's own platform knows. */
static const struct json *generic_part(struct arena *arena, const struct json *spec)
{
	struct json *part = json_new_object(arena);

	part->line = spec->line;
	for (size_t i = 0; i < LENGTH(generic_spec_fields); i++) {
		const struct json *value = fields_find(spec, generic_spec_fields[i].name);

		if (value)
			json_set(arena, part, generic_spec_fields[i].name, value);
	}
	return part;
}

static int check_no_access_type(struct field_reader *reader, const struct application *application,
	const struct json *spec)
{
	static const char *const names[] = {"accessType", "ecsAccessType"};
	const struct json *input = fields_find(spec, "input");

	for (size_t i = 0; i < LENGTH(names); i++) {
		const struct json *value = fields_find(input, names[i]);

		if (value)
			return fields_fail(reader, value->line,
				"spec.input.%s: only applications of ECS have it, and the kind is "
				"%.*s",
				names[i], SPAN_ARGS(application->kind));
	}
	return 0;
}

static int read_spec_fields(struct field_reader *reader, const struct kind_row *row,
	const struct json *value, struct application *application, struct spec *spec)
{
	const struct json *plugin;
	int code;

	if (!row->table) {
		code = check_no_access_type(reader, application, value);
		return code < 0 ? code
				: fields_read(reader, &generic_spec_table, "spec",
					  json_is(value, JSON_OBJECT)
						  ? generic_part(reader->arena, value)
						  : value,
					  spec);
	}
	code = fields_read(reader, row->table, "spec", value, spec);
	if (code < 0)
		return code;
	application->is_ecs = row->table == &ecs_spec_table;
	plugin = fields_find(spec->plugins, "ecs");
	if (plugin) {
		application->is_ecs = true;
		code = fields_read(reader, &plugin_table, "spec.plugins.ecs", plugin, spec);
	}
	return code;
}

static void take_spec(const struct spec *spec, struct application *application)
{
	application->name = spec->name.data ? spec->name : SPAN("");
	application->description = spec->description;
	application->labels = spec->labels;
	application->always_use_pipeline = spec->always_use_pipeline;
	application->quick_sync_commits = spec->quick_sync_commits;
	application->pipeline_commits = spec->pipeline_commits;
	application->trigger = spec->trigger;
	application->trigger.on_commit = !spec->on_commit_off;
	application->trigger.on_command = !spec->on_command_off;
	application->trigger.on_out_of_sync = !spec->on_out_of_sync_off;
	application->trigger.on_chain = !spec->on_chain_off;
	application->trigger.on_flow = !spec->on_flow_off;
	application->replace_waiting = spec->on_new_commit == 1;
	application->timeout_ms = spec->timeout_ms > 0 ? spec->timeout_ms : TIMEOUT_DEFAULT_MS;
	application->has_pipeline = spec->stages != NULL;
}

/* ---- checks beyond the tables ---- */

static int check_groups(struct field_reader *reader, const struct application *application)
{
	const struct application_input *input = &application->input;
	const struct stage *stages = application_stages(application);

	if (!(input->access & ACCESS_ELB))
		return 0;
	for (size_t i = 0; i < application->stages.count; i++) {
		enum stage_kind kind = stages[i].kind;

		if (kind != STAGE_ECS_CANARY_ROLLOUT && kind != STAGE_ECS_TRAFFIC_ROUTING)
			continue;
		if (input->primary_group.arn.length == 0 || input->canary_group.arn.length == 0)
			return fields_fail(reader, stages[i].line,
				"stage %s with accessType ELB needs spec.input.targetGroups.%s",
				stage_kind_name(kind),
				input->primary_group.arn.length == 0 ? "primary" : "canary");
	}
	return 0;
}

static int check_application(struct field_reader *reader, const struct spec *spec,
	const struct application *application)
{
	uint32_t line = spec->stages ? spec->stages->line : 1;

	if (application->name.length > APPLICATION_NAME_MAX)
		return fields_fail(reader, line, "spec.name is longer than %d bytes",
			APPLICATION_NAME_MAX);
	if (!application->is_ecs) {
		if (!application->has_pipeline || application->stages.count == 0)
			fields_refuse(reader, line,
				"slipway cannot sync applications of kind %.*s; it delivers those "
				"whose pipeline has only generic stages",
				SPAN_ARGS(application->kind));
		return 0;
	}
	if (!(application->input.access & ACCESS_ELB) &&
		application->input.primary_group.arn.length +
				application->input.canary_group.arn.length >
			0)
		fields_warn(reader, spec->input->line,
			"spec.input.targetGroups has no effect with accessType SERVICE_DISCOVERY");
	return check_groups(reader, application);
}

static int read_spec(struct field_reader *reader, const struct kind_row *row,
	const struct json *value, struct application *application)
{
	struct spec spec = {.planner_auto_rollback = true,
		.on_out_of_sync_off = true,
		.on_chain_off = true,
		.trigger.out_of_sync_window_ms = OUT_OF_SYNC_WINDOW_MS};
	struct flow_config *flow = NULL;
	int code = read_spec_fields(reader, row, value, application, &spec);

	if (code >= 0)
		code = flow_config_read(application->file, spec.post_sync, spec.name, reader->arena,
			&flow, reader->err);
	application->flow = flow;
	if (code >= 0 && application->is_ecs && spec.input)
		code = read_input(reader,
			row->table == &v1_spec_table ? "spec.plugins.ecs.input" : "spec.input",
			spec.input, &application->input);
	if (code >= 0 && application->is_ecs && spec.quick_sync)
		code = application_read_quick_sync(reader, spec.quick_sync, &application->recreate);
	if (code < 0)
		return code;
	take_spec(&spec, application);
	application->auto_rollback = spec.planner_auto_rollback && application->input.auto_rollback;
	if (spec.stages)
		code = application_read_stages(reader, spec.stages, application);
	return code < 0 ? code : check_application(reader, &spec, application);
}

/* ---- the file ---- */

static int find_kind(struct field_reader *reader, const struct json *document,
	const struct kind_row **ret_row)
{
	const struct json *version = fields_find(document, "apiVersion"),
			  *kind = fields_find(document, "kind");
	struct span known[LENGTH(kinds)];

	if (!json_is(version, JSON_STRING) || !span_is(version->text, "pipecd.dev/v1beta1"))
		return fields_fail(reader, version ? version->line : document->line,
			"apiVersion must be pipecd.dev/v1beta1");
	if (!json_is(kind, JSON_STRING))
		return fields_fail(reader, kind ? kind->line : document->line,
			"kind is missing (ECSApp or Application)");
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		known[i] = span_of(kinds[i].name);
		if (span_equal(kind->text, known[i])) {
			*ret_row = &kinds[i];
			return 0;
		}
	}
	return fields_fail(reader, kind->line, "kind \"%.*s\" is not an application's%s",
		SPAN_ARGS(kind->text),
		fields_suggest(reader->arena, kind->text, known, LENGTH(kinds)).data);
}

static int read_document(struct field_reader *reader, const struct json *document,
	struct application *application)
{
	static const char *const known[] = {"apiVersion", "kind", "spec", "metadata"};
	const struct json *spec = fields_find(document, "spec");
	const struct kind_row *row = NULL;
	int code;

	if (!json_is(document, JSON_OBJECT))
		return fields_fail(reader, 1, "expected a mapping, not %s",
			json_type_name(document->type));
	code = find_kind(reader, document, &row);
	if (code < 0)
		return code;
	application->kind = span_of(row->name);
	for (size_t i = 0; i < document->object.count; i++) {
		const struct json_member *member = &document->object.members[i];
		bool is_known = false;

		for (size_t j = 0; j < LENGTH(known); j++)
			is_known |= span_equal_ignoring_case(member->name, span_of(known[j]));
		if (!is_known)
			fields_warn(reader, member->value->line, "key \"%.*s\" has no effect",
				SPAN_ARGS(member->name));
	}
	if (!spec)
		return fields_fail(reader, document->line, "spec is missing");
	return read_spec(reader, row, spec, application);
}

int application_load(struct span file, struct span text, struct arena *arena,
	struct application **ret_application, struct err *err)
{
	struct field_reader reader = {.file = file, .arena = arena, .err = err};
	struct application *application = arena_allocate(arena, sizeof(*application));
	struct json *document;
	int code;

	if (text.length > APPLICATION_FILE_MAX)
		return err_set(err, -EINVAL, "%.*s:1: the file is larger than %d bytes",
			SPAN_ARGS(file), APPLICATION_FILE_MAX);
	code = yaml_parse_kubernetes(text, 1, arena, &document, err);
	if (code < 0)
		return err_prefix(err, code, "%.*s", SPAN_ARGS(file));
	*application = (struct application){.file = arena_copy_span(arena, file),
		.input = {.access = ACCESS_ELB,
			.task_definition_file = SPAN("taskdef.json"),
			.auto_rollback = true,
			.run_standalone_task = true,
			.launch_type = SPAN("FARGATE"),
			.tolerance = -1,
			.capacity_floor = -1}};
	code = read_document(&reader, document, application);
	if (code < 0)
		return code;
	application->warnings = reader.warnings;
	application->undeployable = reader.undeployable;
	*ret_application = application;
	return 0;
}
