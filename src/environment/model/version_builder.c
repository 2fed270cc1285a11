/* See the header. */
#include "environment/model/version_builder.h"

#include <inttypes.h>

#include "aws/document.h"
#include "ecs/definition/task_definition.h"
#include "ecs/record/attribute.h"
#include "environment/model/environment_type.h"
#include "environment/model/version_names.h"

#define SECOND_MS 1000

/* ---- attributes ---- */

static bool is_attribute_text(struct span text, const char *more)
{
	if (text.length == 0 || text.length > 128)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') &&
			!strchr(more, c))
			return false;
	}
	return true;
}

static bool is_attribute(struct span name, struct span value)
{
	return is_attribute_text(name, "._/-") &&
	       (!value.data || is_attribute_text(value, "._/-@: "));
}

/* "NAME=VALUE" or "NAME"; no value: SPAN_NONE. */
static void split_attribute(struct span text, struct span *ret_name, struct span *ret_value)
{
	*ret_name = text;
	*ret_value = SPAN_NONE;
	span_split(text, '=', ret_name, ret_value);
}

/* As split_attribute, or {"name","value"} or {"name"}. */
static bool read_attribute(const struct json *item, struct span *ret_name, struct span *ret_value)
{
	if (json_is(item, JSON_OBJECT)) {
		*ret_name = json_get_text(item, "name");
		*ret_value = json_get_text(item, "value");
	} else {
		split_attribute(json_text(item), ret_name, ret_value);
	}
	return is_attribute(*ret_name, *ret_value);
}

bool version_builder_is_attribute(struct span text)
{
	struct span name, value;

	split_attribute(text, &name, &value);
	return is_attribute(name, value);
}

static int check_attributes(struct aws_request *request, const struct json *attributes)
{
	struct span name, value;
	size_t i = 0;

	if (json_count(attributes) > VERSION_ATTRIBUTES_MAX)
		return aws_fail_input(request, "instanceGroup.attributes: at most %d",
			VERSION_ATTRIBUTES_MAX);
	JSON_EACH_ITEM (attributes, item) {
		if (!read_attribute(item, &name, &value))
			return aws_fail_input(request,
				"instanceGroup.attributes[%zu]: is neither NAME, NAME=VALUE nor "
				"{\"name\",\"value\"} with 1 to 128 characters each",
				i);
		i++;
	}
	return 0;
}

static struct span pack_attributes(struct arena *arena, const struct json *attributes)
{
	struct span packed = SPAN("");

	JSON_EACH_ITEM (attributes, item) {
		struct span name, value;

		if (!read_attribute(item, &name, &value))
			continue;
		packed = arena_format(arena, "%.*s%.*s%s%.*s;", SPAN_ARGS(packed), SPAN_ARGS(name),
			value.data ? "=" : "", (int)value.length, value.data ? value.data : "");
	}
	return packed.length > 0 ? arena_format(arena, ";%.*s", SPAN_ARGS(packed)) : packed;
}

/* ---- checks without state ---- */

int version_builder_check(struct aws_request *request)
{
	const struct json *group = json_get(request->input, "instanceGroup");

	return check_attributes(request, json_get(group, "attributes"));
}

/* ---- names ---- */

/* With awsvpc ECS starts nothing without a network, and without it nothing with one; better said now than on each
 * instance. One that was only inherited goes with the definition that it was for. */
static int check_network(struct aws_request *request, struct span arn, bool is_requested,
	const struct json **network)
{
	const struct store_object *definition = task_definition_find(request, arn);
	struct json *document;
	struct span mode;

	if (!definition)
		return 0;
	if (json_parse(definition->api, request->arena, &document, &request->err) < 0)
		return aws_fail_store(request);
	mode = json_get_text(document, "networkMode");
	if (mode.data && span_is(mode, "awsvpc"))
		return json_get(*network, "awsvpcConfiguration")
			       ? 0
			       : aws_fail_input(request,
					 "networkConfiguration: task definition '%.*s' has "
					 "networkMode awsvpc, which needs awsvpcConfiguration",
					 SPAN_ARGS(arn));
	if (is_requested && json_get(*network, "awsvpcConfiguration"))
		return aws_fail_input(request,
			"networkConfiguration: task definition '%.*s' has not networkMode awsvpc, "
			"without which it cannot be in a network of its own",
			SPAN_ARGS(arn));
	*network = NULL;
	return 0;
}

/* ---- documents ---- */

static const struct json *requested_or_before(const struct json *input, const struct json *before,
	const char *name)
{
	const struct json *requested = json_get(input, name);

	return json_is_absent(requested) ? json_get(before, name) : requested;
}

/* Members that were given replace those of before, one by one; one that is null is as if it had never been given. asked:
 * the same as the client wrote it. */
static struct json *merge_configuration(struct arena *arena, const struct json *before,
	const struct json *requested, const struct json *required)
{
	struct json *created = before ? json_copy_object(arena, before) : json_new_object(arena);

	for (size_t i = 0; json_is(required, JSON_OBJECT) && i < required->object.count; i++)
		if (json_is(required->object.members[i].value, JSON_NULL))
			json_unset(created,
				arena_copy_span(arena, required->object.members[i].name).data);

	for (size_t i = 0; json_is(requested, JSON_OBJECT) && i < requested->object.count; i++) {
		const struct json_member *member = &requested->object.members[i];

		if (!json_is_absent(member->value))
			json_set(arena, created, arena_copy_span(arena, member->name).data,
				member->value);
	}
	/* Members that depend on a removed one are removed, too. */
	if (!json_get_bool(created, "replaceThenTerminate", false) &&
		json_is_absent(json_get(requested, "maxOverPercent")))
		json_unset(created, "maxOverPercent");
	return created;
}

static void read_configuration(const struct json *configuration,
	struct environment_version_facts *facts)
{
	const struct json *canary = json_get(configuration, "canary");

	facts->minimum_requested = !json_is_absent(json_get(configuration, "minHealthyPercent"));
	facts->minimum_healthy =
		json_get_integer(configuration, "minHealthyPercent", VERSION_MINIMUM_HEALTHY);
	facts->surge = json_get_bool(configuration, "replaceThenTerminate", false);
	facts->maximum_over =
		json_get_integer(configuration, "maxOverPercent", VERSION_MAXIMUM_OVER);
	facts->canary_instances = json_get_integer(canary, "instances", 0);
	facts->canary_bake_ms = json_get_integer(canary, "bakeSeconds", 0) * SECOND_MS;
	facts->timeout_ms =
		json_get_integer(configuration, "timeoutSeconds", VERSION_TIMEOUT_S) * SECOND_MS;
	facts->warm_up_ms = json_get_integer(configuration, "warmUpSeconds", 0) * SECOND_MS;
	facts->drain_timeout_ms =
		json_get_integer(configuration, "drainTimeoutSeconds", VERSION_DRAIN_TIMEOUT_S) *
		SECOND_MS;
	facts->unreachable_ms = json_get_integer(configuration, "unreachableTimeoutSeconds",
					VERSION_UNREACHABLE_S) *
				SECOND_MS;
	facts->on_failure = span_is(json_get_text(configuration, "onFailure"), "rollback")
				    ? ENVIRONMENT_ON_FAILURE_rollback
				    : ENVIRONMENT_ON_FAILURE_stop;
}

/* Defaults of absent members, so that users see them. */
static void set_defaults(struct arena *arena, enum environment_type type,
	struct json *configuration, const struct environment_version_facts *facts)
{
	environment_type_set_defaults(arena, type, configuration);
	if (type == ENVIRONMENT_TYPE_Cron)
		return;
	document_set_default(arena, configuration, "timeoutSeconds",
		json_new_integer(arena, facts->timeout_ms / SECOND_MS));
	document_set_default(arena, configuration, "onFailure",
		json_new_string(arena, SPAN("stop")));
	if (type != ENVIRONMENT_TYPE_Daemon)
		return;
	document_set_default(arena, configuration, "replaceThenTerminate",
		json_new_bool(arena, facts->surge));
	if (facts->surge)
		document_set_default(arena, configuration, "maxOverPercent",
			json_new_integer(arena, facts->maximum_over));
}

int version_builder_make(struct aws_request *request, enum environment_type type,
	const struct store_object *base, struct version_builder *ret_builder)
{
	const struct json *input = document_input(request), *group;
	struct environment_version_facts *facts = &ret_builder->facts;
	struct arena *arena = request->arena;
	struct json *before = NULL, *created = json_new_object(arena), *created_group,
		    *configuration;
	const struct json *network, *priority;
	struct version_names names = {0};

	*ret_builder = (struct version_builder){.document = created};
	if (base && json_parse(base->api, arena, &before, &request->err) < 0)
		return aws_fail_store(request);
	group = requested_or_before(input, before, "instanceGroup");
	names = (struct version_names){
		.target = json_text(requested_or_before(input, before, "target")),
		.cluster = json_get_text(group, "cluster"),
		.task_definition = json_text(requested_or_before(input, before, "taskDefinition")),
		.role = json_text(requested_or_before(input, before, "role")),
		.is_cluster_requested = !json_is_absent(json_path(input, "instanceGroup.cluster")),
		.is_role_requested = !json_is_absent(json_get(input, "role"))};
	if (version_names_find(request,
		    base ? environment_version_facts(base)->cluster_ref : SPAN_NONE, &names) < 0)
		return -EPERM;
	facts->cluster_ref = names.cluster_ref;
	facts->task_definition = names.task_definition_arn;
	configuration = merge_configuration(arena, json_get(before, "deploymentConfiguration"),
		json_get(input, "deploymentConfiguration"),
		json_get(request->input, "deploymentConfiguration"));
	if (environment_type_check(request, type, configuration) < 0)
		return -EPERM;
	read_configuration(configuration, facts);
	set_defaults(arena, type, configuration, facts);
	facts->attributes = pack_attributes(arena, json_get(group, "attributes"));
	network = requested_or_before(input, before, "networkConfiguration");
	/* For a remote target it is reported when it is used. */
	if (names.target.length == 0 &&
		check_network(request, facts->task_definition,
			!json_is_absent(json_get(input, "networkConfiguration")), &network) < 0)
		return -EPERM;
	priority = requested_or_before(input, before, "priority");
	if (!json_integer(priority, &facts->priority))
		facts->priority = 0;
	if (type != ENVIRONMENT_TYPE_Daemon && facts->priority > 0)
		return aws_fail_input(request, "priority: an environment of type %s has none",
			environment_type_name(type));
	facts->role = names.role;
	facts->target = names.target;
	facts->created_ms = request->now_ms;
	created_group = json_new_object(arena);
	json_set_string(arena, created_group, "cluster", names.cluster_arn);
	if (json_count(json_get(group, "attributes")) > 0)
		json_set(arena, created_group, "attributes", json_get(group, "attributes"));
	json_set_string(arena, created, "taskDefinition", facts->task_definition);
	json_set(arena, created, "instanceGroup", created_group);
	json_set(arena, created, "networkConfiguration", network);
	if (names.target.length > 0)
		json_set_string(arena, created, "target", names.target);
	if (names.role.length > 0)
		json_set_string(arena, created, "role", names.role);
	if (facts->priority > 0)
		json_set_integer(arena, created, "priority", facts->priority);
	json_set(arena, created, "deploymentConfiguration", configuration);
	return 0;
}

struct span version_builder_claim(struct arena *arena,
	const struct environment_version_facts *facts)
{
	return arena_format(arena, "%.*s %.*s", SPAN_ARGS(facts->cluster_ref),
		SPAN_ARGS(facts->task_definition));
}
