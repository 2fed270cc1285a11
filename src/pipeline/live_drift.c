/* The differences from the last successful deployment; see live.h. */
#include "base/memory.h"
#include "pipeline/difference.h"
#include "pipeline/live.h"

#define WHOLE 100

struct finding {
	const struct live_reading *reading;
	struct arena *arena;
	struct json *list;
	int64_t again_ms;
};

static struct span text_of(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

static struct span shown(struct arena *arena, const struct json *value)
{
	return json_is(value, JSON_STRING) ? value->text : json_to_text(value, arena);
}

/* SPAN_NONE: it is not there. */
static void add(struct finding *finding, struct span path, struct span expected, struct span found)
{
	struct json *item = json_new_object(finding->arena);

	json_set_string(finding->arena, item, "path", path);
	if (expected.data)
		json_set_string(finding->arena, item, "expected", expected);
	if (found.data)
		json_set_string(finding->arena, item, "found", found);
	json_append(finding->arena, finding->list, item);
}

static struct span number(const struct finding *finding, double value)
{
	return arena_format(finding->arena, "%g", value);
}

/* ---- the definitions ---- */

/* Tags have those of slipway beside the configured ones, and describe calls leave those of task definitions out. */
static bool is_about_tags(struct span path)
{
	return span_is(path, "tags") || (path.length > 5 && memcmp(path.data, "tags[", 5) == 0);
}

static void compare_files(struct finding *finding)
{
	const struct live_reading *reading = finding->reading;
	const struct bundle *bundle = &reading->pass->bundle;
	struct live_service live = {.exists = true,
		.is_external = reading->sets != NULL,
		.desired_count = json_get_integer(reading->service, "desiredCount", 0),
		.service = reading->service,
		.definition = reading->definition};
	struct plan_input input = {.application = bundle->application,
		.task = &bundle->task,
		.service = &bundle->service,
		.live = &live,
		.commit_message = SPAN("")};
	const struct difference *changes;
	struct plan plan;

	plan_make(&input, finding->arena, &plan);
	changes = plan.changes.items;
	for (size_t i = 0; i < plan.changes.count; i++) {
		if (!is_about_tags(changes[i].path))
			add(finding, changes[i].path,
				changes[i].after ? shown(finding->arena, changes[i].after)
						 : SPAN_NONE,
				changes[i].before ? shown(finding->arena, changes[i].before)
						  : SPAN_NONE);
	}
}

/* ---- sets ---- */

static void compare_sets(struct finding *finding)
{
	const struct live_reading *reading = finding->reading;
	const struct json *primary = live_primary_set(reading->sets);
	double scale = 0;

	if (reading->canary)
		add(finding, text_of(reading->canary, "serviceName"), SPAN_NONE,
			SPAN("a canary service"));
	if (!reading->sets)
		return;
	if (!primary)
		add(finding, SPAN("taskSet"), SPAN("a primary task set"), SPAN_NONE);
	else if (json_double(json_path(primary, "scale.value"), &scale) && scale != WHOLE)
		add(finding, SPAN("taskSet.scale"), number(finding, WHOLE), number(finding, scale));
	JSON_EACH_ITEM (reading->sets, set) {
		if (span_is(text_of(set, "status"), "ACTIVE") &&
			span_is(text_of(set, "externalId"), "canary") &&
			describe_is_ours(reading->pass, set))
			add(finding,
				arena_format(finding->arena, "taskSets[%.*s]",
					SPAN_ARGS(text_of(set, "id"))),
				SPAN_NONE, SPAN("a canary"));
	}
}

static void compare_weights(struct finding *finding)
{
	const struct snapshot *balancers = &finding->reading->balancers.snapshot;

	if (balancers->rule_count == 0 || balancers->canary_weight == 0)
		return;
	add(finding, SPAN("targetGroups.canary.weight"), SPAN("0"),
		balancers->canary_weight < 0 ? SPAN("the rules differ")
					     : number(finding, (double)balancers->canary_weight));
}

/* ---- registrations ---- */

/* True if the last call about the task's instance in a deployment of the application took it out. */
static bool is_out_on_purpose(const struct finding *finding, struct span task)
{
	const struct deployment_pass *pass = finding->reading->pass;
	struct store_cursor cursor = {.view = pass->view,
		.kind = &deployment_call_kind,
		.index = -1,
		.prefix = arena_format(finding->arena, "%.*s/", SPAN_ARGS(pass->key))};
	const struct store_object *object;
	int64_t last_ms = 0;
	bool is_out = false;

	while ((object = store_next(&cursor))) {
		struct journal_record record;
		struct json *value;

		/* Most calls are about other tasks, and are not parsed. */
		if (!memmem(object->api.data, object->api.length, task.data, task.length) ||
			json_parse(object->api, finding->arena, &value, NULL) < 0 ||
			journal_read(value, &record, NULL) < 0 ||
			!span_equal(record.target, task) || record.intent_ms < last_ms)
			continue;
		last_ms = record.intent_ms;
		is_out = span_is(record.operation, "DeregisterInstance") &&
			 record.result != JOURNAL_REFUSED;
	}
	return is_out;
}

static void compare_registration(struct finding *finding, const struct json *task)
{
	struct span id = describe_task_id(task);
	double started = 0;
	int64_t due_ms;

	if (names_find(&finding->reading->names, id) ||
		!describe_is_healthy(task, finding->reading->definition))
		return;
	json_double(json_get(task, "startedAt"), &started);
	due_ms = (int64_t)(started * 1000) + LIVE_REGISTRATION_MS;
	if (finding->reading->pass->now_ms < due_ms) {
		if (finding->again_ms == 0 || due_ms < finding->again_ms)
			finding->again_ms = due_ms;
		return;
	}
	if (!is_out_on_purpose(finding, id))
		add(finding,
			arena_format(finding->arena, "tasks[%.*s].registration", SPAN_ARGS(id)),
			SPAN("registered in Cloud Map"), SPAN_NONE);
}

static void compare_registrations(struct finding *finding)
{
	const struct live_reading *reading = finding->reading;
	struct span primary = text_of(live_primary_set(reading->sets), "id");

	if (!describe_has_names(reading->pass))
		return;
	JSON_EACH_ITEM (reading->tasks, task) {
		if (reading->sets ? span_equal(text_of(task, "startedBy"), primary)
				  : span_equal(text_of(task, "taskDefinitionArn"),
					    text_of(reading->service, "taskDefinition")))
			compare_registration(finding, task);
	}
}

struct json *live_drift(const struct live_reading *reading, int64_t *ret_again_ms)
{
	struct finding finding = {.reading = reading,
		.arena = reading->pass->arena,
		.list = json_new_array(reading->pass->arena)};

	if (!reading->service) {
		add(&finding, SPAN("service"), reading->pass->bundle.service.name, SPAN_NONE);
	} else {
		compare_files(&finding);
		compare_sets(&finding);
		compare_weights(&finding);
		compare_registrations(&finding);
	}
	*ret_again_ms = finding.again_ms;
	return finding.list;
}
