/* Tags; see tags.h. Every operation takes several resources at once and does all or nothing. */
#include "elb/tags.h"

#include "aws/arn.h"
#include "aws/key.h"
#include "aws/tag_list.h"
#include "base/memory.h"
#include "elb/listener.h"

#define RESOURCES_MAX 20 /* of one request, as AWS has it for DescribeTags */

/* ---- which object an ARN means ---- */

static const struct taggable {
	const char *type; /* in the ARN */
	const struct store_object *(*find)(const struct store_view *view, struct span scope,
		struct span arn);
	const char *missing;
	const char *name;
} taggables[] = {
	{"loadbalancer", elb_load_balancer_find, "LoadBalancerNotFoundException", "Load balancer"},
	{"targetgroup", elb_target_group_find, "TargetGroupNotFoundException", "Target group"},
	{"listener", elb_listener_find, "ListenerNotFoundException", "Listener"},
	{"listener-rule", elb_rule_find, "RuleNotFoundException", "Rule"},
};

static const struct taggable *find_taggable(struct span requested)
{
	struct span type, rest;
	struct aws_arn arn;

	if (!aws_arn_parse(requested, &arn) || !span_is(arn.service, "elasticloadbalancing") ||
		!span_split(arn.resource, '/', &type, &rest))
		return NULL;
	for (size_t i = 0; i < LENGTH(taggables); i++)
		if (span_is(type, taggables[i].type))
			return &taggables[i];
	return NULL;
}

static int find_object(struct aws_request *request, struct span arn,
	const struct store_object **ret_object)
{
	const struct taggable *taggable = find_taggable(arn);
	struct span scope = aws_key_prefix(request);
	const struct store_object *object;

	if (!taggable)
		return aws_fail_input(request, "ResourceArns: '%.*s' is not a valid ARN",
			SPAN_ARGS(arn));
	object = taggable->find(request->view, scope, arn);
	if (!object && elb_listener_find_by_default_rule(request->view, scope, arn))
		return aws_fail_input(request,
			"ResourceArns: '%.*s' is the default rule, which has no tags of its own; "
			"use those of its listener",
			SPAN_ARGS(arn));
	if (!object)
		return aws_fail(request, taggable->missing, "%s '%.*s' not found", taggable->name,
			SPAN_ARGS(arn));
	*ret_object = object;
	return 0;
}

void elb_tags_resources(struct aws_request *request, struct aws_resources *resources)
{
	JSON_EACH_ITEM (json_get(request->input, "ResourceArns"), arn) {
		if (resources->count == AWS_RESOURCES_MAX)
			resources->overflow = true;
		else
			resources->arns[resources->count++] = json_text(arn);
	}
}

/* ---- reading ---- */

static const struct json *private_of(struct aws_request *request, const struct store_object *object)
{
	struct json *document;

	return json_parse(object->private_, request->arena, &document, NULL) < 0 ? NULL : document;
}

const struct json *elb_tags_of(struct aws_request *request, const struct store_object *object)
{
	const struct json *tags = json_get(private_of(request, object), "tags");

	return tags ? tags : json_new_array(request->arena);
}

static bool operation_has_error(struct aws_request *request, struct span error)
{
	const struct shape_service *shapes = request->service->shapes;

	return shape_operation_has_error(shapes,
		shape_find_operation(shapes, span_of(request->operation->name)), error);
}

/* AWS has names of its own for two of the mistakes, in most operations. */
static int check_tags(struct aws_request *request, const struct json *tags)
{
	size_t at = 0;

	if (json_count(tags) > AWS_TAGS_MAX)
		return aws_fail(request, "TooManyTagsException",
			"Tags: %zu are given, a resource can have %d", json_count(tags),
			AWS_TAGS_MAX);
	JSON_EACH_ITEM (tags, tag) {
		for (size_t i = 0; i < at; i++)
			if (span_equal(json_get_text(json_item(tags, i), "Key"),
				    json_get_text(tag, "Key")) &&
				operation_has_error(request, SPAN("DuplicateTagKeysException")))
				return aws_fail(request, "DuplicateTagKeysException",
					"Tags: key '%.*s' is given twice",
					SPAN_ARGS(json_get_text(tag, "Key")));
		at++;
	}
	return aws_tag_list_check(request, tags);
}

int elb_tags_read(struct aws_request *request, const struct json **ret_tags)
{
	const struct json *requested = json_get(request->input, "Tags");

	if (check_tags(request, requested) < 0)
		return -EPERM;
	return aws_tag_list_merge(request, NULL, requested, ret_tags);
}

/* ---- operations ---- */

static int check_resources(struct aws_request *request, const struct json *arns)
{
	if (json_count(arns) > RESOURCES_MAX)
		return aws_fail_input(request, "ResourceArns: %zu are given, the limit is %d",
			json_count(arns), RESOURCES_MAX);
	return 0;
}

static int put_tags(struct aws_request *request, const struct store_object *object,
	const struct json *tags)
{
	const struct json *old = private_of(request, object);
	struct json *document =
		old ? json_copy_object(request->arena, old) : json_new_object(request->arena);

	json_set(request->arena, document, "tags", tags);
	if (store_put(request->transaction, object->kind, object->key, object->api,
		    json_to_text(document, request->arena), object->revision, &request->err) < 0)
		return aws_fail_store(request);
	request->view = store_head(request->transaction);
	return 0;
}

/* How many tags there are when the given ones are put over the existing ones. */
static size_t count_merged(const struct json *existing, const struct json *requested)
{
	size_t count = json_count(existing);

	JSON_EACH_ITEM (requested, tag) {
		bool known = false;

		JSON_EACH_ITEM (existing, old)
			known |= span_equal(json_get_text(old, "Key"), json_get_text(tag, "Key"));
		count += !known;
	}
	return count;
}

int elb_tags_add(struct aws_request *request)
{
	const struct json *arns = json_get(request->input, "ResourceArns");
	const struct json *requested, *merged;
	const struct store_object *object;

	if (check_resources(request, arns) < 0 || elb_tags_read(request, &requested) < 0)
		return -EPERM;
	JSON_EACH_ITEM (arns, arn) {
		if (find_object(request, json_text(arn), &object) < 0)
			return -EPERM;
		if (count_merged(elb_tags_of(request, object), requested) > AWS_TAGS_MAX)
			return aws_fail(request, "TooManyTagsException",
				"Tags: '%.*s' would have more than %d tags",
				SPAN_ARGS(json_text(arn)), AWS_TAGS_MAX);
		if (aws_tag_list_merge(request, elb_tags_of(request, object), requested, &merged) <
				0 ||
			put_tags(request, object, merged) < 0)
			return -EPERM;
	}
	buffer_add_string(request->out, "{}");
	return 0;
}

int elb_tags_remove(struct aws_request *request)
{
	const struct json *arns = json_get(request->input, "ResourceArns");
	const struct json *keys = json_get(request->input, "TagKeys");
	const struct store_object *object;

	if (check_resources(request, arns) < 0)
		return -EPERM;
	JSON_EACH_ITEM (arns, arn)
		if (find_object(request, json_text(arn), &object) < 0 ||
			put_tags(request, object,
				aws_tag_list_without(request, elb_tags_of(request, object), keys)) <
				0)
			return -EPERM;
	buffer_add_string(request->out, "{}");
	return 0;
}

int elb_tags_describe(struct aws_request *request)
{
	const struct json *arns = json_get(request->input, "ResourceArns");
	struct json *answer = json_new_object(request->arena);
	struct json *list = json_new_array(request->arena);
	const struct store_object *object;

	if (check_resources(request, arns) < 0)
		return -EPERM;
	JSON_EACH_ITEM (arns, arn) {
		struct json *description = json_new_object(request->arena);

		if (find_object(request, json_text(arn), &object) < 0)
			return -EPERM;
		json_set_string(request->arena, description, "ResourceArn", json_text(arn));
		json_set(request->arena, description, "Tags", elb_tags_of(request, object));
		json_append(request->arena, list, description);
	}
	json_set(request->arena, answer, "TagDescriptions", list);
	json_write(answer, request->out);
	return 0;
}
