/* See the header. */
#include "pipeline/application_stage.h"

#include <stdio.h>

#include "base/memory.h"

#define APPROVAL_TIMEOUT_MS (INT64_C(6) * 3600 * 1000)
#define SCRIPT_TIMEOUT_MS (INT64_C(6) * 3600 * 1000)
#define CHECK_TIMEOUT_MS 30000
#define HTTP_OK 200
#define FULL_PERCENT 100
#define PATH_SIZE 64

static const struct stage_row {
	const char *name;
	bool needs_service;
} rows[] = {
#define STAGE_KIND_ROW(name, needs_service) {#name, needs_service},
	STAGE_KINDS(STAGE_KIND_ROW)
#undef STAGE_KIND_ROW
};

const char *stage_kind_name(enum stage_kind kind)
{
	return rows[kind].name;
}

#define FIELDS(array) .fields = (array), .count = LENGTH(array)

/* ---- options of each kind ---- */

#define AT(member) .offset = offsetof(struct stage_options, member)

static const struct field skip_on_fields[] = {
	{"commitMessagePrefixes", FIELD_TEXTS,
		.offset = offsetof(struct skip_on, commit_message_prefixes)},
	{"paths", FIELD_TEXTS, .offset = offsetof(struct skip_on, paths)},
};
static const struct field_table skip_on_table = {FIELDS(skip_on_fields)};

#define SKIP_ON                                                                                    \
	{                                                                                          \
		"skipOn", FIELD_ONE, AT(skip_on), .inner = &skip_on_table                          \
	}

static const struct field sync_fields[] = {SKIP_ON, {"recreate", FIELD_BOOL, AT(recreate)}};
static const struct field canary_fields[] = {
	SKIP_ON, {"scale", FIELD_PERCENT, AT(scale), .required = true}};
static const struct field routing_fields[] = {
	SKIP_ON, {"primary", FIELD_PERCENT, AT(primary)}, {"canary", FIELD_PERCENT, AT(canary)}};
static const struct field plain_fields[] = {SKIP_ON};
static const struct field run_task_fields[] = {SKIP_ON,
	{"taskDefinitionFile", FIELD_TEXT, AT(task_definition_file)},
	{"container", FIELD_TEXT, AT(container)}, {"command", FIELD_TEXTS, AT(command)},
	{"timeout", FIELD_DURATION, AT(timeout_ms)}};
static const struct field wait_fields[] = {
	SKIP_ON, {"duration", FIELD_DURATION, AT(duration_ms), .required = true}};
static const struct field approval_fields[] = {SKIP_ON, {"timeout", FIELD_DURATION, AT(timeout_ms)},
	{"approvers", FIELD_TEXTS, AT(approvers)},
	{"minApproverNum", FIELD_COUNT, AT(minimum_approvers)}};
static const struct field script_fields[] = {SKIP_ON, {"env", FIELD_PAIRS, AT(environment)},
	{"run", FIELD_TEXT, AT(run), .required = true}, {"timeout", FIELD_DURATION, AT(timeout_ms)},
	{"onRollback", FIELD_TEXT, AT(on_rollback)}, {"rerun", FIELD_BOOL, AT(rerun)}};

static const char *const strategies[] = {
	"THRESHOLD", "PREVIOUS", "CANARY_BASELINE", "CANARY_PRIMARY", NULL};
static const char *const deviations[] = {"EITHER", "HIGH", "LOW", NULL};

#define TEMPLATE                                                                                   \
	{                                                                                          \
		"template", FIELD_VALUE,                                                           \
			.offset = offsetof(struct analysis_check, other),                          \
			.undeployable =                                                            \
				"analysis templates are not supported; write the query here"       \
	}
#define CHECK(member) .offset = offsetof(struct analysis_check, member)

static const struct analysis_check check_defaults = {
	.expected_code = HTTP_OK, .timeout_ms = CHECK_TIMEOUT_MS};

static const struct field metric_fields[] = {
	{"strategy", FIELD_CHOICE, CHECK(rule.strategy), .choices = strategies},
	{"provider", FIELD_TEXT, CHECK(provider)},
	{"query", FIELD_TEXT, CHECK(query)},
	{"expected", FIELD_VALUE, CHECK(expected)},
	{"interval", FIELD_DURATION, CHECK(interval_ms)},
	{"failureLimit", FIELD_COUNT, CHECK(rule.failure_limit)},
	{"skipOnNoData", FIELD_BOOL, CHECK(rule.skip_on_no_data)},
	{"minimumSamples", FIELD_COUNT, CHECK(rule.minimum_samples)},
	{"deviation", FIELD_CHOICE, CHECK(rule.deviation), .choices = deviations},
	{"baselineArgs", FIELD_VALUE, CHECK(other)},
	{"canaryArgs", FIELD_PAIRS, CHECK(canary_arguments)},
	{"primaryArgs", FIELD_PAIRS, CHECK(primary_arguments)},
	{"timeout", FIELD_DURATION, CHECK(timeout_ms)},
	TEMPLATE,
};
static const struct field_table metric_table = {
	FIELDS(metric_fields), &check_defaults, sizeof(check_defaults)};
static const struct field http_fields[] = {
	{"url", FIELD_TEXT, CHECK(url)},
	{"method", FIELD_TEXT, CHECK(method)},
	{"headers", FIELD_VALUE, CHECK(headers)},
	{"expectedCode", FIELD_COUNT, CHECK(expected_code)},
	{"expectedResponse", FIELD_TEXT, CHECK(expected_response)},
	{"interval", FIELD_DURATION, CHECK(interval_ms)},
	{"failureLimit", FIELD_COUNT, CHECK(rule.failure_limit)},
	{"skipOnNoData", FIELD_BOOL, CHECK(rule.skip_on_no_data)},
	{"timeout", FIELD_DURATION, CHECK(timeout_ms)},
	TEMPLATE,
};
static const struct field_table http_table = {
	FIELDS(http_fields), &check_defaults, sizeof(check_defaults)};
static const struct field command_fields[] = {
	{"run", FIELD_TEXT, CHECK(run), .required = true},
	{"env", FIELD_PAIRS, CHECK(environment)},
	{"expected", FIELD_VALUE, CHECK(expected)},
	{"interval", FIELD_DURATION, CHECK(interval_ms)},
	{"failureLimit", FIELD_COUNT, CHECK(rule.failure_limit)},
	{"minimumSamples", FIELD_COUNT, CHECK(rule.minimum_samples)},
	{"timeout", FIELD_DURATION, CHECK(timeout_ms)},
};
static const struct field_table command_table = {
	FIELDS(command_fields), &check_defaults, sizeof(check_defaults)};
static const struct field analysis_fields[] = {SKIP_ON,
	{"duration", FIELD_DURATION, AT(duration_ms), .required = true},
	{"restartThreshold", FIELD_COUNT, AT(restart_threshold)},
	{"pauseOnFailure", FIELD_BOOL, AT(pause_on_failure)},
	{"metrics", FIELD_MANY, AT(metrics), .inner = &metric_table},
	{"https", FIELD_MANY, AT(https), .inner = &http_table},
	{"commands", FIELD_MANY, AT(commands), .inner = &command_table},
	{"logs", FIELD_VALUE, AT(logs), .undeployable = "analysis of logs is not supported"}};

static const struct field_table options_of[STAGE_KIND_COUNT] = {
	[STAGE_ECS_SYNC] = {FIELDS(sync_fields)},
	[STAGE_ECS_CANARY_ROLLOUT] = {FIELDS(canary_fields)},
	[STAGE_ECS_PRIMARY_ROLLOUT] = {FIELDS(plain_fields)},
	[STAGE_ECS_TRAFFIC_ROUTING] = {FIELDS(routing_fields)},
	[STAGE_ECS_CANARY_CLEAN] = {FIELDS(plain_fields)},
	[STAGE_ECS_RUN_TASK] = {FIELDS(run_task_fields)},
	[STAGE_WAIT] = {FIELDS(wait_fields)},
	[STAGE_WAIT_APPROVAL] = {FIELDS(approval_fields)},
	[STAGE_ANALYSIS] = {FIELDS(analysis_fields)},
	[STAGE_SCRIPT_RUN] = {FIELDS(script_fields)},
	[STAGE_POST_SYNC] = {FIELDS(plain_fields)},
	[STAGE_ROLLBACK] = {FIELDS(plain_fields)},
};

/* ---- checks beyond the tables ---- */

static int check_routing(struct field_reader *reader, uint32_t line, struct stage_options *options)
{
	bool has_primary = options->primary >= 0, has_canary = options->canary >= 0;

	if (has_primary && has_canary && options->primary + options->canary != FULL_PERCENT)
		return fields_fail(reader, line,
			"primary %d %% and canary %d %% make %d %%; their sum must be 100 %%",
			(int)options->primary, (int)options->canary,
			(int)(options->primary + options->canary));
	if (!has_primary)
		options->primary = has_canary ? FULL_PERCENT - options->canary : FULL_PERCENT;
	options->canary = FULL_PERCENT - options->primary;
	return 0;
}

/* {min, max} of a check */
static int read_expected(struct field_reader *reader, struct analysis_check *check)
{
	const struct json *min = fields_find(check->expected, "min"),
			  *max = fields_find(check->expected, "max");

	check->rule.has_min = json_double(min, &check->rule.min);
	check->rule.has_max = json_double(max, &check->rule.max);
	if ((min && !check->rule.has_min) || (max && !check->rule.has_max))
		return fields_fail(reader, (min && !check->rule.has_min ? min : max)->line,
			"expected.min and expected.max are numbers");
	return 0;
}

static int check_metric(struct field_reader *reader, uint32_t line, struct analysis_check *check)
{
	int strategy = check->rule.strategy;
	int code = read_expected(reader, check);

	if (code < 0)
		return code;
	if (strategy == ANALYSIS_CANARY_BASELINE || strategy == ANALYSIS_PREVIOUS)
		fields_refuse(reader, line,
			"analysis strategy %s is not supported (THRESHOLD or CANARY_PRIMARY)",
			strategies[strategy]);
	else if (strategy == ANALYSIS_THRESHOLD && !check->rule.has_min && !check->rule.has_max &&
		 !reader->undeployable.text.data)
		return fields_fail(reader, line,
			"a metric with strategy THRESHOLD needs expected.min or expected.max");
	return 0;
}

static void expect_success(struct analysis_rule *rule)
{
	rule->has_min = true;
	rule->min = 1;
}

static int check_analysis(struct field_reader *reader, uint32_t line, struct stage_options *options)
{
	struct analysis_check *checks = options->metrics.items, *commands = options->commands.items;
	struct analysis_check *https = options->https.items;
	int code = 0;

	if (options->metrics.count + options->https.count + options->commands.count == 0)
		return fields_fail(reader, line,
			"an ANALYSIS stage needs metrics, https or commands");
	for (size_t i = 0; code >= 0 && i < options->metrics.count; i++)
		code = check_metric(reader, line, &checks[i]);
	for (size_t i = 0; code >= 0 && i < options->commands.count; i++)
		code = read_expected(reader, &commands[i]);
	/* Without a number of their own they give 1 if they pass, and 0. */
	for (size_t i = 0; i < options->commands.count; i++) {
		if (!commands[i].rule.has_min && !commands[i].rule.has_max)
			expect_success(&commands[i].rule);
	}
	for (size_t i = 0; i < options->https.count; i++)
		expect_success(&https[i].rule);
	return code;
}

static int check_stage(struct field_reader *reader, struct stage *stage)
{
	struct stage_options *options = &stage->options;

	switch (stage->kind) {
	case STAGE_ECS_TRAFFIC_ROUTING: return check_routing(reader, stage->line, options);
	case STAGE_ANALYSIS: return check_analysis(reader, stage->line, options);
	case STAGE_ECS_CANARY_ROLLOUT:
		if (options->scale == 0)
			return fields_fail(reader, stage->line,
				"scale: a canary needs at least 1 %% of the desired count");
		return 0;
	case STAGE_WAIT_APPROVAL:
		if (options->approvers.count > 0 &&
			options->minimum_approvers > (int64_t)options->approvers.count)
			return fields_fail(reader, stage->line,
				"minApproverNum is %d, but only %zu approvers are listed",
				(int)options->minimum_approvers, options->approvers.count);
		return 0;
	default: return 0;
	}
}

/* ---- stages ---- */

static struct stage_options default_options(enum stage_kind kind)
{
	return (struct stage_options){
		.primary = -1,
		.canary = -1,
		.minimum_approvers = 1,
		.timeout_ms = kind == STAGE_WAIT_APPROVAL ? APPROVAL_TIMEOUT_MS
			      : kind == STAGE_SCRIPT_RUN  ? SCRIPT_TIMEOUT_MS
							  : 0,
	};
}

struct stage_head {
	struct span id, name, description;
	int64_t timeout_ms;
	struct skip_on skip_on;
	const struct json *with;
};

#define HEAD(member) .offset = offsetof(struct stage_head, member)
static const struct field head_fields[] = {
	{"id", FIELD_TEXT, HEAD(id)},
	{"name", FIELD_TEXT, HEAD(name), .required = true},
	{"desc", FIELD_TEXT, HEAD(description)},
	{"timeout", FIELD_DURATION, HEAD(timeout_ms)},
	{"skipOn", FIELD_ONE, HEAD(skip_on), .inner = &skip_on_table},
	{"with", FIELD_VALUE, HEAD(with)},
};
static const struct field_table head_table = {FIELDS(head_fields)};

static bool find_kind(struct span name, enum stage_kind *ret_kind)
{
	for (size_t i = 0; i < LENGTH(rows); i++) {
		if (span_is(name, rows[i].name)) {
			*ret_kind = (enum stage_kind)i;
			return true;
		}
	}
	return false;
}

static int fail_unknown(struct field_reader *reader, const struct application *application,
	uint32_t line, struct span name)
{
	struct span known[STAGE_KIND_COUNT];

	/* PipeCD's own stage that slipway does not have, and stages of other kinds of applications. */
	if (!application->is_ecs || span_is(name, "CUSTOM_SYNC")) {
		fields_refuse(reader, line, "slipway has no stage %.*s", SPAN_ARGS(name));
		return 0;
	}
	for (size_t i = 0; i < LENGTH(rows); i++)
		known[i] = span_of(rows[i].name);
	return fields_fail(reader, line, "unknown stage \"%.*s\"%s", SPAN_ARGS(name),
		fields_suggest(reader->arena, name, known, LENGTH(rows)).data);
}

static int check_unique(struct field_reader *reader, const struct application *application,
	const struct stage *stage)
{
	const struct stage *stages = application_stages(application);

	for (size_t i = 0; i < application->stages.count; i++) {
		if (&stages[i] != stage && span_equal(stages[i].id, stage->id))
			return fields_fail(reader, stage->line,
				"stage ID \"%.*s\" is used twice, first on line %u",
				SPAN_ARGS(stage->id), stages[i].line);
	}
	return 0;
}

static int read_stage(struct field_reader *reader, const struct json *value, size_t index,
	struct application *application)
{
	struct stage_head head = {0};
	struct stage *stage;
	enum stage_kind kind;
	char path[PATH_SIZE];
	uint32_t line;
	int code;

	snprintf(path, sizeof(path), "spec.pipeline.stages[%zu]", index);
	code = fields_read(reader, &head_table, path, value, &head);
	if (code < 0)
		return code;
	line = fields_find(value, "name")->line;
	if (span_is(head.name, "ECS_ROLLBACK") || span_is(head.name, "ROLLBACK") ||
		span_is(head.name, "POST_SYNC")) {
		fields_warn(reader, line, "stage %.*s is ignored: slipway adds it itself",
			SPAN_ARGS(head.name));
		return 0;
	}
	if (!find_kind(head.name, &kind))
		return fail_unknown(reader, application, line, head.name);
	if (rows[kind].needs_service && !application->is_ecs) {
		fields_refuse(reader, line, "stage %s needs an ECS service, and the kind is %.*s",
			rows[kind].name, SPAN_ARGS(application->kind));
		return 0;
	}
	if (rows[kind].needs_service && application_is_standalone(application))
		return fields_fail(reader, line,
			"stage %s needs a service; a standalone task (no serviceDefinitionFile) "
			"has none",
			rows[kind].name);
	stage = fields_append(reader->arena, &application->stages, sizeof(*stage));
	*stage = (struct stage){.kind = kind,
		.line = line,
		.id = head.id.length > 0 ? head.id
					 : arena_format(reader->arena, "stage-%zu", index + 1),
		.description = head.description,
		.timeout_ms = head.timeout_ms,
		.options = default_options(kind)};
	stage->options.skip_on = head.skip_on;
	snprintf(path, sizeof(path), "spec.pipeline.stages[%zu].with", index);
	code = fields_read(reader, &options_of[kind], path,
		head.with ? head.with : json_new_object(reader->arena), &stage->options);
	if (code < 0 && !head.with)
		return fields_fail(reader, line, "stage %s has no options (key \"with\")",
			rows[kind].name);
	if (code >= 0)
		code = check_stage(reader, stage);
	return code < 0 ? code : check_unique(reader, application, stage);
}

int application_read_stages(struct field_reader *reader, const struct json *list,
	struct application *application)
{
	size_t index = 0;

	if (list->type != JSON_ARRAY)
		return fields_fail(reader, list->line, "spec.pipeline.stages: expected a list");
	if (list->array.count > APPLICATION_STAGES_MAX)
		return fields_fail(reader, list->line, "more than %d stages",
			APPLICATION_STAGES_MAX);
	JSON_EACH_ITEM (list, item) {
		int code = read_stage(reader, item, index++, application);

		if (code < 0)
			return code;
	}
	return 0;
}

int application_read_quick_sync(struct field_reader *reader, const struct json *value,
	bool *ret_recreate)
{
	struct stage_options options = {0};
	int code =
		fields_read(reader, &options_of[STAGE_ECS_SYNC], "spec.quickSync", value, &options);

	if (code >= 0)
		*ret_recreate = options.recreate;
	return code;
}
