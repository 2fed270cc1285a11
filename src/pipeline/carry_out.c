/*
 * Decided calls as requests to AWS, each journalled and sent; see pass.h. Here are those about sets and services; those about
 * traffic are in carry_traffic.c. What differs between task sets and a second service is in one table, `variants`.
 */
#include "base/memory.h"
#include "base/seeded_bug.h"
#include "pipeline/carrying.h"
#include "pipeline/service_settings.h"
#include "pipeline/share.h"

#define LOST_DEFINITIONS_MAX 20
#define PAUSE_LEAST_MS 1000 /* before a call is sent again that had no answer */
#define PAUSE_MOST_MS 30000
#define WHOLE 100

static const char *const role_names[] = {
	[SET_OLD] = "old",
	[SET_CANARY] = "canary",
	[SET_NEW] = "primary",
	[SET_OTHER] = "other",
};

const char *carry_out_role(enum set_role role)
{
	return role_names[role];
}

/* ---- requests ---- */

static void add_tag(struct arena *arena, struct json *tags, const char *key, struct span value)
{
	struct json *tag = json_new_object(arena);

	json_set_string(arena, tag, "key", span_of(key));
	json_set_string(arena, tag, "value", value);
	json_append(arena, tags, tag);
}

/* The tags of a definition file, and those by which slipway knows its own objects. */
static struct json *set_tags(const struct deployment_pass *pass, struct json *request,
	const struct json *configured)
{
	struct json *tags = json_new_array(pass->arena);

	JSON_EACH_ITEM (configured, tag)
		json_append(pass->arena, tags, tag);
	add_tag(pass->arena, tags, TAG_APPLICATION, application_facts(pass->application)->name);
	add_tag(pass->arena, tags, TAG_DEPLOYMENT, pass->deployment.facts.id);
	json_set(pass->arena, request, "tags", tags);
	return tags;
}

static struct json *for_service(const struct carrying *carrying, struct span service)
{
	struct json *request = json_new_object(carrying->pass->arena);

	json_set_string(carrying->pass->arena, request, "cluster", carrying->pass->cluster);
	json_set_string(carrying->pass->arena, request, "service", service);
	return request;
}

static struct span service_name(const struct carrying *carrying)
{
	return carrying->pass->bundle.service.name;
}

static struct span canary_name(const struct carrying *carrying)
{
	return arena_format(carrying->pass->arena, "%.*s-canary",
		SPAN_ARGS(service_name(carrying)));
}

static struct span definition_arn(const struct carrying *carrying, enum set_role role)
{
	const struct journalled_call *call;

	if (role == SET_OLD)
		return json_text(json_path(carrying->pass->source.before,
			"definition.taskDefinitionArn"));
	call = calls_find_done(carrying->pass, "RegisterTaskDefinition", SPAN(""));
	return call ? call->record.answer : SPAN("");
}

/* Target groups and registries of a set of this role. */
static void set_traffic(const struct carrying *carrying, enum set_role role, struct json *request)
{
	struct arena *arena = carrying->pass->arena;
	const struct application_input *input = &carrying->pass->bundle.application->input;
	const struct target_group *group =
		role == SET_CANARY ? &input->canary_group : &input->primary_group;
	const struct json *registries =
		json_get(carrying->pass->bundle.service.request, "serviceRegistries");

	json_unset(request, "serviceRegistries");
	if ((input->access & ACCESS_ELB) && group->arn.length > 0) {
		struct json *balancer = json_new_object(arena), *list = json_new_array(arena);

		json_set_string(arena, balancer, "targetGroupArn", group->arn);
		json_set_string(arena, balancer, "containerName", group->container_name);
		json_set_integer(arena, balancer, "containerPort", group->container_port);
		json_append(arena, list, balancer);
		json_set(arena, request, "loadBalancers", list);
	}
	if (role == SET_CANARY && input->preview_registry_arn.length > 0) {
		struct json *registry =
			json_copy_object(arena, json_item(registries, 0) ? json_item(registries, 0)
									 : json_new_object(arena));
		struct json *list = json_new_array(arena);

		json_set_string(arena, registry, "registryArn", input->preview_registry_arn);
		json_append(arena, list, registry);
		registries = list;
	} else if (role == SET_CANARY && input->canary_registration != CANARY_REGISTERED_BY_ECS) {
		return;
	}
	if (json_array_count(registries) > 0)
		json_set(arena, request, "serviceRegistries", registries);
}

/* ---- sending ---- */

/* A wait that grows with the time since the call was sent first, on every server alike. */
static int64_t pause_ms(const struct deployment_pass *pass, const struct pending_call *call)
{
	int64_t age_ms = pass->now_ms - call->first_ms;

	return age_ms < PAUSE_LEAST_MS  ? PAUSE_LEAST_MS
	       : age_ms > PAUSE_MOST_MS ? PAUSE_MOST_MS
					: age_ms;
}

/* Another client undoes what the call does, or it has no effect: it is not sent without a pause. */
static bool was_done(const struct deployment_pass *pass, const struct pending_call *call)
{
	const struct journalled_call *calls = pass->calls.items;

	for (size_t i = pass->calls.count; i > 0; i--) {
		const struct journal_record *record = &calls[i - 1].record;

		if (record->result == JOURNAL_DONE && span_is(record->operation, call->operation) &&
			span_equal(record->role, call->role) &&
			span_equal(record->target, call->target) && record->number == call->number)
			return true;
	}
	return false;
}

int carrying_send(struct carrying *carrying, struct pending_call *call, enum carried *ret_carried)
{
	struct deployment_pass *pass = carrying->pass;
	struct outcall_result result;
	bool is_repeated = was_done(pass, call);
	int code = calls_send(pass, carrying->stage, call, &result, carrying->err);

	if (code < 0)
		return code;
	*ret_carried = CARRIED_SENT;
	pass_again_at(pass, is_repeated ? pass->now_ms + pass->poll_ms : pass->now_ms);
	if (result.outcome == OUTCALL_DONE)
		return 0;
	if (calls_must_be_repeated(&result)) {
		carrying->is_interrupted = true;
		pass->again_ms = pass->now_ms + pause_ms(pass, call);
		return 0;
	}
	*ret_carried = CARRIED_FAILED;
	carrying->reason =
		arena_format(pass->arena, "%s: %.*s", call->operation, SPAN_ARGS(result.reason));
	return 0;
}

/* ---- task sets ---- */

/* How the tasks of a set are started: as the service file says; for the old one as it was. */
static const struct json *launch_source(const struct carrying *carrying, enum set_role role)
{
	return role == SET_OLD ? json_get(carrying->pass->source.before, "taskSet")
			       : carrying->pass->bundle.service.request;
}

static bool is_empty(const struct json *value)
{
	return json_is_absent(value) || (json_is(value, JSON_STRING) && value->text.length == 0) ||
	       (json_is(value, JSON_ARRAY) && json_array_count(value) == 0);
}

static int create_task_set(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	static const char *const launch[] = {"networkConfiguration", "launchType",
		"capacityProviderStrategy", "platformVersion"};
	struct arena *arena = carrying->pass->arena;
	const struct json *source = launch_source(carrying, next->role);
	struct json *request = for_service(carrying, service_name(carrying)),
		    *scale = json_new_object(arena);
	struct pending_call call = {.service = ECS,
		.operation = "CreateTaskSet",
		.role = span_of(role_names[next->role]),
		.target = SPAN(""),
		.number = next->number,
		.request = request,
		.token_member = "clientToken",
		.answer_path = "taskSet.taskSetArn",
		.attributes = SPAN("")};

	json_set_string(arena, request, "taskDefinition", definition_arn(carrying, next->role));
	json_set_string(arena, request, "externalId",
		next->role == SET_CANARY ? SPAN("canary") : SPAN("primary"));
	for (size_t i = 0; i < LENGTH(launch); i++) {
		const struct json *value = json_get(source, launch[i]);

		/* An answer has both, of which a request may have one. */
		if (is_empty(value) || (i == 1 && !is_empty(json_get(source, launch[2]))))
			continue;
		json_set(arena, request, launch[i], value);
	}
	if (next->role == SET_OLD) {
		json_set(arena, request, "loadBalancers", json_get(source, "loadBalancers"));
		json_set(arena, request, "serviceRegistries",
			json_get(source, "serviceRegistries"));
	} else {
		set_traffic(carrying, next->role, request);
	}
	json_set(arena, scale, "value", json_new_double(arena, (double)next->number));
	json_set_string(arena, scale, "unit", SPAN("PERCENT"));
	json_set(arena, request, "scale", scale);
	add_tag(arena, set_tags(carrying->pass, request, NULL), TAG_ROLE, call.role);
	return carrying_send(carrying, &call, ret_carried);
}

/* A call about an existing set. */
static struct pending_call about_set(const struct carrying *carrying, const struct next_call *next,
	const char *operation, const char *member)
{
	struct pending_call call = {.service = ECS,
		.operation = operation,
		.role = span_of(role_names[next->role]),
		.target = next->target,
		.number = next->number,
		.request = for_service(carrying, service_name(carrying)),
		.attributes = SPAN("")};

	json_set_string(carrying->pass->arena, call.request, member, next->target);
	return call;
}

static int scale_task_set(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	struct arena *arena = carrying->pass->arena;
	struct pending_call call = about_set(carrying, next, "UpdateTaskSet", "taskSet");
	struct json *scale = json_new_object(arena);

	json_set(arena, scale, "value", json_new_double(arena, (double)next->number));
	json_set_string(arena, scale, "unit", SPAN("PERCENT"));
	json_set(arena, call.request, "scale", scale);
	return carrying_send(carrying, &call, ret_carried);
}

static int make_primary(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	struct pending_call call =
		about_set(carrying, next, "UpdateServicePrimaryTaskSet", "primaryTaskSet");

	return carrying_send(carrying, &call, ret_carried);
}

static int delete_task_set(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	static const char *const gone[] = {"TaskSetNotFoundException", NULL};
	struct pending_call call = about_set(carrying, next, "DeleteTaskSet", "taskSet");

	call.done_errors = gone;
	json_set_bool(carrying->pass->arena, call.request, "force", true);
	return carrying_send(carrying, &call, ret_carried);
}

/* ---- services ---- */

/* CreateService of the service file, or of its canary. */
static int create_service(struct carrying *carrying, enum set_role role, int64_t count,
	int64_t scale, enum carried *ret_carried)
{
	static const char *const in_task_sets[] = {"networkConfiguration", "launchType",
		"capacityProviderStrategy", "platformVersion", "serviceRegistries"};
	const struct deployment_pass *pass = carrying->pass;
	struct json *request = json_copy_object(pass->arena, pass->bundle.service.request);
	struct pending_call call = {.service = ECS,
		.operation = "CreateService",
		.role = span_of(role_names[role]),
		.target = role == SET_CANARY ? canary_name(carrying) : service_name(carrying),
		.number = scale,
		.request = request,
		.token_member = "clientToken",
		.answer_path = "service.serviceArn",
		.attributes = SPAN("")};

	json_set_string(pass->arena, request, "serviceName", call.target);
	json_set_string(pass->arena, request, "cluster", pass->cluster);
	json_set_integer(pass->arena, request, "desiredCount", count);
	if (pass->bundle.service.is_external) {
		for (size_t i = 0; i < LENGTH(in_task_sets); i++)
			json_unset(request, in_task_sets[i]);
	} else {
		json_set_string(pass->arena, request, "taskDefinition",
			definition_arn(carrying, role));
		set_traffic(carrying, role, request);
	}
	set_tags(pass, request, json_get(pass->bundle.service.request, "tags"));
	return carrying_send(carrying, &call, ret_carried);
}

static int64_t wanted_count(const struct deployment_pass *pass)
{
	int64_t count = pass->bundle.service.desired_count;

	if (count != DESIRED_COUNT_UNCHANGED)
		return count;
	return json_get_integer(pass->source.before, "desiredCount", 0);
}

/* The number of tasks that the file wants, or that there were before; but what others have changed meanwhile stays. */
static void set_changed_count(const struct carrying *carrying, enum set_role role,
	struct json *request)
{
	const struct deployment_pass *pass = carrying->pass;
	int64_t wanted = pass->bundle.service.desired_count,
		before = json_get_integer(pass->source.before, "desiredCount", 0),
		now = carrying->observed->snapshot.desired;

	if (wanted == DESIRED_COUNT_UNCHANGED || wanted == before)
		return;
	if (role != SET_OLD && now == before)
		json_set_integer(pass->arena, request, "desiredCount", wanted);
	if (role == SET_OLD && now == wanted)
		json_set_integer(pass->arena, request, "desiredCount", before);
}

/* The service runs the task definition of that role. */
static int change_service(struct carrying *carrying, enum set_role role, enum carried *ret_carried)
{
	static const char *const updated[] = {"networkConfiguration", "platformVersion",
		"capacityProviderStrategy", "deploymentConfiguration", "placementConstraints",
		"placementStrategy", "healthCheckGracePeriodSeconds", "enableExecuteCommand",
		"enableECSManagedTags", "propagateTags"};
	const struct deployment_pass *pass = carrying->pass;
	const struct json *source = pass->bundle.service.request,
			  *before =
				  service_settings_before(json_get(pass->source.before, "service"),
					  source, pass->arena);
	struct json *request = for_service(carrying, service_name(carrying));
	struct pending_call call = {.service = ECS,
		.operation = "UpdateService",
		.role = span_of(role_names[role]),
		.target = service_name(carrying),
		.request = request,
		.attributes = SPAN("")};

	json_set_string(pass->arena, request, "taskDefinition", definition_arn(carrying, role));
	for (size_t i = 0; i < LENGTH(updated); i++)
		json_set(pass->arena, request, updated[i],
			json_get(role == SET_OLD ? before : source, updated[i]));
	set_changed_count(carrying, role, request);
	return carrying_send(carrying, &call, ret_carried);
}

static int create_second(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	int64_t desired = carrying->observed->snapshot.desired;

	if (next->role == SET_CANARY)
		return create_service(carrying, SET_CANARY, share_scaled(desired, next->number),
			next->number, ret_carried);
	return carrying->observed->service
		       ? change_service(carrying, next->role, ret_carried)
		       : create_service(carrying, next->role, wanted_count(carrying->pass), WHOLE,
				 ret_carried);
}

static int set_count(struct carrying *carrying, struct span service, enum set_role role,
	int64_t count, int64_t scale, enum carried *ret_carried)
{
	struct json *request = for_service(carrying, service);
	struct pending_call call = {.service = ECS,
		.operation = "UpdateService",
		.role = arena_format(carrying->pass->arena, "count of %s", role_names[role]),
		.target = service,
		.number = scale,
		.request = request,
		.attributes = SPAN("")};

	json_set_integer(carrying->pass->arena, request, "desiredCount", count);
	return carrying_send(carrying, &call, ret_carried);
}

static int scale_second(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	if (next->role != SET_CANARY)
		return change_service(carrying, next->role, ret_carried);
	return set_count(carrying, canary_name(carrying), SET_CANARY,
		share_scaled(carrying->observed->snapshot.desired, next->number), next->number,
		ret_carried);
}

static int delete_service(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	static const char *const gone[] = {
		"ServiceNotFoundException", "ServiceNotActiveException", NULL};
	struct span name =
		next->role == SET_CANARY ? canary_name(carrying) : service_name(carrying);
	struct pending_call call = {.service = ECS,
		.operation = "DeleteService",
		.role = span_of(role_names[next->role]),
		.target = name,
		.request = for_service(carrying, name),
		.done_errors = gone,
		.attributes = SPAN("")};

	json_set_bool(carrying->pass->arena, call.request, "force", true);
	return carrying_send(carrying, &call, ret_carried);
}

/* ---- the tables ---- */

static int set_desired_count(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried)
{
	return set_count(carrying, service_name(carrying), next->role, next->number, next->number,
		ret_carried);
}

typedef int (*carry_function)(struct carrying *carrying, const struct next_call *next,
	enum carried *ret_carried);

/* By the kind of the call, and the variant. */
static const carry_function variants[][2] = {
	[CALL_CREATE_SET] = {create_task_set, create_second},
	[CALL_SCALE_SET] = {scale_task_set, scale_second},
	[CALL_MAKE_PRIMARY] = {make_primary, NULL},
	[CALL_DELETE_SET] = {delete_task_set, delete_service},
	[CALL_SET_DESIRED_COUNT] = {set_desired_count, set_desired_count},
	[CALL_REGISTER_INSTANCE] = {carrying_register_instance, carrying_register_instance},
	[CALL_DEREGISTER_INSTANCE] = {carrying_deregister_instance, carrying_deregister_instance},
	[CALL_REGISTER_TARGET] = {carrying_register_target, carrying_register_target},
	[CALL_DEREGISTER_TARGET] = {carrying_deregister_target, carrying_deregister_target},
	[CALL_SET_WEIGHTS] = {carrying_set_weights, carrying_set_weights},
};

int carry_out_calls(struct deployment_pass *pass, const struct observed *observed,
	struct span stage, const struct decision *decision, enum carried *ret_carried,
	struct span *ret_reason, struct err *err)
{
	struct carrying carrying = {.pass = pass, .observed = observed, .stage = stage, .err = err};
	const struct next_call *calls = decision->calls.items;
	unsigned variant =
		pass->bundle.service.is_external ? DELIVERY_TASK_SETS : DELIVERY_SERVICES;
	int code = 0;

	*ret_carried = CARRIED_SENT;
	for (size_t i = 0; i < decision->calls.count && code >= 0; i++) {
		code = variants[calls[i].kind][variant](&carrying, &calls[i], ret_carried);
		if (*ret_carried == CARRIED_FAILED || carrying.is_interrupted)
			break;
	}
	*ret_reason = carrying.reason;
	return code;
}

/* ---- the definition and the service ---- */

static struct span tag_of(const struct json *tags, const char *key)
{
	JSON_EACH_ITEM (tags, tag) {
		if (span_is(json_get_text(tag, "key"), key))
			return json_get_text(tag, "value");
	}
	return SPAN("");
}

/* RegisterTaskDefinition has no client token: a definition whose answer was lost is found by its tags. */
static int find_lost_definition(struct carrying *carrying, struct span family,
	struct journalled_call *call, bool *ret_found)
{
	struct deployment_pass *pass = carrying->pass;
	struct json *request = json_new_object(pass->arena), *answer = NULL;
	const struct json *arns;
	int code;

	json_set_string(pass->arena, request, "familyPrefix", family);
	json_set_string(pass->arena, request, "sort", SPAN("DESC"));
	json_set_integer(pass->arena, request, "maxResults", LOST_DEFINITIONS_MAX);
	code = pass_read(pass, ECS, "ListTaskDefinitions", request, &answer, carrying->err);
	arns = json_get(answer, "taskDefinitionArns");
	JSON_EACH_ITEM (arns, arn) {
		struct json *include = json_new_array(pass->arena);
		const struct json *tags;

		json_append(pass->arena, include, json_new_string(pass->arena, SPAN("TAGS")));
		request = json_new_object(pass->arena);
		json_set(pass->arena, request, "taskDefinition", arn);
		json_set(pass->arena, request, "include", include);
		code = pass_read(pass, ECS, "DescribeTaskDefinition", request, &answer,
			carrying->err);
		if (code < 0)
			return code;
		tags = json_get(answer, "tags");
		if (!span_equal(tag_of(tags, TAG_DEPLOYMENT), pass->deployment.facts.id) ||
			!span_equal(tag_of(tags, TAG_STAGE), call->record.role))
			continue;
		call->record.result = JOURNAL_DONE;
		call->record.answer = json_text(arn);
		*ret_found = true;
		return calls_settle(pass, call, carrying->err);
	}
	return code;
}

/* role: the stage that alone uses the definition; "": that of the application. */
static int register_definition(struct carrying *carrying, const struct task_file *task,
	struct span role, enum carried *ret_carried)
{
	struct deployment_pass *pass = carrying->pass;
	struct journalled_call *calls = pass->calls.items;
	struct json *tags;
	struct pending_call call = {.service = ECS,
		.operation = "RegisterTaskDefinition",
		.role = role,
		.target = SPAN(""),
		.answer_path = "taskDefinition.taskDefinitionArn",
		.attributes = SPAN("")};
	bool found = false;

	for (size_t i = 0; i < pass->calls.count; i++) {
		const struct journal_record *record = &calls[i].record;
		int code;

		if (SEEDED_BUG(pass->config->bug == PIPELINE_BUG_REGISTER_AGAIN))
			break;

		if (!span_is(record->operation, call.operation) ||
			!span_equal(record->role, role) ||
			(record->result != JOURNAL_SENT && record->result != JOURNAL_UNKNOWN))
			continue;
		code = find_lost_definition(carrying, task->family, &calls[i], &found);
		if (code < 0 || found) {
			*ret_carried = CARRIED_DONE;
			return code;
		}
	}
	call.request = json_copy_object(pass->arena, task->request);
	tags = set_tags(pass, call.request, json_get(task->request, "tags"));
	if (role.length > 0)
		add_tag(pass->arena, tags, TAG_STAGE, role);
	return carrying_send(carrying, &call, ret_carried);
}

int carry_out_definition(struct deployment_pass *pass, struct span stage,
	const struct task_file *task, struct span role, enum carried *ret_carried,
	struct span *ret_reason, struct err *err)
{
	struct carrying carrying = {.pass = pass, .stage = stage, .err = err};
	int code = 0;

	*ret_carried = CARRIED_DONE;
	if (!calls_find_done(pass, "RegisterTaskDefinition", role))
		code = register_definition(&carrying, task, role, ret_carried);
	*ret_reason = carrying.reason;
	return code;
}

/* The number of tasks that the file wants, once per deployment: what others change later stays. */
static bool must_set_count(const struct carrying *carrying)
{
	const struct deployment_pass *pass = carrying->pass;
	int64_t wanted = pass->bundle.service.desired_count;

	return wanted != DESIRED_COUNT_UNCHANGED &&
	       wanted != json_get_integer(pass->source.before, "desiredCount", wanted) &&
	       !calls_find_done(pass, "UpdateService", SPAN("count of primary"));
}

/* UpdateService with the settings of the service file, once per deployment; of SET_OLD: as they were before. */
static int change_settings(struct carrying *carrying, enum set_role role, enum carried *ret_carried)
{
	struct deployment_pass *pass = carrying->pass;
	const struct json *live = json_get(pass->source.before, "service"),
			  *wanted = pass->bundle.service.request;
	struct json *changes = role == SET_OLD
				       ? service_settings_before(live, wanted, pass->arena)
				       : service_settings_changed(live, wanted, pass->arena);
	struct pending_call call = {.service = ECS,
		.operation = "UpdateService",
		.role = arena_format(pass->arena, "settings of %s", role_names[role]),
		.target = service_name(carrying),
		.request = for_service(carrying, service_name(carrying)),
		.attributes = SPAN("")};

	if (!changes || calls_find_done(pass, call.operation, call.role))
		return 0;
	for (size_t i = 0; i < changes->object.count; i++) {
		const struct json_member *member = &changes->object.members[i];

		json_set(pass->arena, call.request,
			arena_copy(pass->arena, member->name.data, member->name.length),
			member->value);
	}
	return carrying_send(carrying, &call, ret_carried);
}

int carry_out_old_settings(struct deployment_pass *pass, struct span stage,
	enum carried *ret_carried, struct span *ret_reason, struct err *err)
{
	struct carrying carrying = {.pass = pass, .stage = stage, .err = err};
	int code = 0;

	*ret_carried = CARRIED_DONE;
	if (calls_find_done(pass, "UpdateService", SPAN("settings of primary")))
		code = change_settings(&carrying, SET_OLD, ret_carried);
	*ret_reason = carrying.reason;
	return code;
}

int carry_out_service(struct deployment_pass *pass, struct span stage, enum carried *ret_carried,
	struct span *ret_reason, struct err *err)
{
	struct carrying carrying = {.pass = pass, .stage = stage, .err = err};
	bool exists = json_get_bool(pass->source.before, "exists", false);
	int code = 0;

	*ret_carried = CARRIED_DONE;
	if (!calls_find_done(pass, "RegisterTaskDefinition", SPAN("")))
		code = register_definition(&carrying, &pass->bundle.task, SPAN(""), ret_carried);
	if (code >= 0 && *ret_carried == CARRIED_DONE && pass->bundle.has_service &&
		pass->bundle.service.is_external) {
		if (!exists && !calls_find_done(pass, "CreateService", SPAN_NONE))
			code = create_service(&carrying, SET_NEW, wanted_count(pass), WHOLE,
				ret_carried);
		else if (exists && must_set_count(&carrying))
			code = set_count(&carrying, service_name(&carrying), SET_NEW,
				pass->bundle.service.desired_count, WHOLE, ret_carried);
		else if (exists)
			code = change_settings(&carrying, SET_NEW, ret_carried);
	}
	*ret_reason = carrying.reason;
	return code;
}
