/* Tags and attributes; see labels.h. */
#include "cloudmap/labels.h"

#include "aws/arn.h"
#include "aws/document.h"
#include "aws/tag_list.h"
#include "base/memory.h"
#include "cloudmap/api.h"

#define SERVICE_ATTRIBUTES_MAX 30
#define ATTRIBUTE_NAME_MAX 255
#define ATTRIBUTE_VALUE_MAX 1024

/* ---- the object ---- */

/* Never NULL. */
static const struct json *read_labels(struct aws_request *request, struct span key)
{
	const struct store_object *labels = store_get(request->view, &cloudmap_labels_kind, key);
	struct json *document;

	if (!labels || json_parse(labels->api, request->arena, &document, NULL) < 0)
		return json_new_object(request->arena);
	return document;
}

static int put_labels(struct aws_request *request, struct span key, const struct json *old,
	const char *member, const struct json *value)
{
	struct json *document = json_copy_object(request->arena, old);
	struct span text;

	json_set(request->arena, document, member, value);
	if (document_text(request, document, &text) < 0)
		return -EPERM;
	if (store_put(request->transaction, &cloudmap_labels_kind, key, text, SPAN(""), STORE_ANY,
		    &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

int cloudmap_labels_delete(struct aws_request *request, struct span key)
{
	if (store_get(request->view, &cloudmap_labels_kind, key) &&
		store_delete(request->transaction, &cloudmap_labels_kind, key, STORE_ANY,
			&request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

/* ---- tags ---- */

static int fail_too_many(struct aws_request *request, size_t count)
{
	struct span arn = json_get_text(request->input, "ResourceARN");

	aws_fail(request, "TooManyTagsException", "Tags: %zu tags, the limit is %d", count,
		AWS_TAGS_MAX);
	if (arn.data) {
		struct json *extra = json_new_object(request->arena);

		json_set_string(request->arena, extra, "ResourceName", arn);
		request->failure.extra = extra;
	}
	return -EPERM;
}

int cloudmap_labels_check_tags(struct aws_request *request, const struct json *tags)
{
	if (json_count(tags) > AWS_TAGS_MAX)
		return fail_too_many(request, json_count(tags));
	return aws_tag_list_check(request, tags);
}

int cloudmap_labels_put_tags(struct aws_request *request, struct span key, const struct json *tags)
{
	const struct json *clean;

	if (json_count(tags) == 0)
		return 0;
	if (aws_tag_list_merge(request, NULL, tags, &clean) < 0)
		return -EPERM;
	return put_labels(request, key, json_new_object(request->arena), "Tags", clean);
}

static const struct store_kind *kind_of_arn(struct span requested, struct aws_arn *arn,
	struct span *ret_id)
{
	struct span type;

	if (!aws_arn_parse(requested, arn) || !span_is(arn->service, "servicediscovery") ||
		!span_split(arn->resource, '/', &type, ret_id))
		return NULL;
	if (span_is(type, "namespace"))
		return &cloudmap_namespace_kind;
	if (span_is(type, "service"))
		return &cloudmap_service_kind;
	return NULL;
}

/* The key of what the ARN names. */
static int find_tagged(struct aws_request *request, struct span *ret_key)
{
	struct span requested = json_get_text(request->input, "ResourceARN"), id, key;
	struct aws_arn arn;
	const struct store_kind *kind = kind_of_arn(requested, &arn, &id);

	if (!kind)
		return aws_fail_input(request,
			"ResourceARN: '%.*s' is not the ARN of a namespace or a service",
			SPAN_ARGS(requested));
	key = aws_key(request, id);
	if (!span_equal(arn.account, request->caller->account) ||
		!span_equal(arn.region, request->caller->region) ||
		!store_get(request->view, kind, key))
		return aws_fail(request, "ResourceNotFoundException",
			"The specified resource was not found: %.*s", SPAN_ARGS(requested));
	request->resource = requested;
	*ret_key = key;
	return 0;
}

void cloudmap_tags_resources(struct aws_request *request, struct aws_resources *resources)
{
	struct span requested = json_get_text(request->input, "ResourceARN");

	resources->arns[resources->count++] = requested.data ? requested : SPAN("");
}

int cloudmap_tags_tag(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "Tags"), *labels, *tags, *merged;
	struct span key;
	size_t added = 0;

	if (find_tagged(request, &key) < 0 || cloudmap_labels_check_tags(request, requested) < 0)
		return -EPERM;
	labels = read_labels(request, key);
	tags = json_get(labels, "Tags");
	JSON_EACH_ITEM (requested, tag) {
		bool has = false;

		JSON_EACH_ITEM (tags, old)
			has |= span_equal(json_get_text(old, "Key"), json_get_text(tag, "Key"));
		added += !has;
	}
	if (json_count(tags) + added > AWS_TAGS_MAX)
		return fail_too_many(request, json_count(tags) + added);
	if (aws_tag_list_merge(request, tags, requested, &merged) < 0)
		return -EPERM;
	return put_labels(request, key, labels, "Tags", merged);
}

int cloudmap_tags_untag(struct aws_request *request)
{
	const struct json *labels;
	struct span key;

	if (find_tagged(request, &key) < 0)
		return -EPERM;
	labels = read_labels(request, key);
	if (json_count(json_get(labels, "Tags")) == 0)
		return 0;
	return put_labels(request, key, labels, "Tags",
		aws_tag_list_without(request, json_get(labels, "Tags"),
			json_get(request->input, "TagKeys")));
}

int cloudmap_tags_list(struct aws_request *request)
{
	const struct json *tags;
	struct span key;

	if (find_tagged(request, &key) < 0)
		return -EPERM;
	tags = json_get(read_labels(request, key), "Tags");
	buffer_add_string(request->out, "{\"Tags\":");
	json_write(tags ? tags : json_new_array(request->arena), request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

/* ---- attributes of a service ---- */

static int check_attribute(struct aws_request *request, struct span name, struct span value)
{
	for (size_t i = 0; i < name.length; i++)
		if ((unsigned char)name.data[i] < ' ')
			return aws_fail_input(request, "Attributes: a name has control characters");
	if (name.length == 0 || name.length > ATTRIBUTE_NAME_MAX)
		return aws_fail_input(request,
			"Attributes: the name '%.*s' does not have 1 to %d characters",
			SPAN_ARGS(cloudmap_shown(name)), ATTRIBUTE_NAME_MAX);
	if (value.length > ATTRIBUTE_VALUE_MAX)
		return aws_fail_input(request,
			"Attributes: the value of %.*s has %zu characters, the limit is %d",
			SPAN_ARGS(name), value.length, ATTRIBUTE_VALUE_MAX);
	return 0;
}

int cloudmap_service_attributes_update(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "Attributes"), *labels, *old;
	const struct store_object *service;
	struct json *attributes;

	if (cloudmap_find_service(request, json_get_text(request->input, "ServiceId"), &service) <
		0)
		return -EPERM;
	if (json_count(requested) == 0)
		return aws_fail_input(request, "Attributes: must not be empty");
	labels = read_labels(request, service->key);
	old = json_get(labels, "Attributes");
	attributes = old ? json_copy_object(request->arena, old) : json_new_object(request->arena);
	for (size_t i = 0; i < requested->object.count; i++) {
		const struct json_member *member = &requested->object.members[i];
		struct span value = json_text(member->value);

		if (check_attribute(request, member->name, value) < 0)
			return -EPERM;
		json_set_string(request->arena, attributes,
			arena_copy(request->arena, member->name.data, member->name.length), value);
		/* Checked here, so that no more than that many are ever gone through. */
		if (json_count(attributes) > SERVICE_ATTRIBUTES_MAX)
			return aws_fail(request, "ServiceAttributesLimitExceededException",
				"Service %.*s would have more than %d attributes, which is the "
				"limit",
				SPAN_ARGS(cloudmap_service_facts(service)->id),
				SERVICE_ATTRIBUTES_MAX);
	}
	return put_labels(request, service->key, labels, "Attributes", attributes);
}

int cloudmap_service_attributes_delete(struct aws_request *request)
{
	const struct json *requested = json_get(request->input, "Attributes"), *labels, *old;
	const struct store_object *service;
	struct json *attributes = json_new_object(request->arena);

	if (cloudmap_find_service(request, json_get_text(request->input, "ServiceId"), &service) <
		0)
		return -EPERM;
	labels = read_labels(request, service->key);
	old = json_get(labels, "Attributes");
	if (json_count(old) == 0)
		return 0;
	for (size_t i = 0; i < old->object.count; i++) {
		const struct json_member *member = &old->object.members[i];

		if (!document_list_has(requested, member->name))
			json_set(request->arena, attributes,
				arena_copy(request->arena, member->name.data, member->name.length),
				member->value);
	}
	return put_labels(request, service->key, labels, "Attributes", attributes);
}

int cloudmap_service_attributes_get(struct aws_request *request)
{
	const struct store_object *service;
	const struct json *attributes;
	struct json *document = json_new_object(request->arena);

	if (cloudmap_find_service(request, json_get_text(request->input, "ServiceId"), &service) <
		0)
		return -EPERM;
	attributes = json_get(read_labels(request, service->key), "Attributes");
	json_set_string(request->arena, document, "ServiceArn",
		cloudmap_service_arn(request->arena, service->key));
	json_set_string(request->arena, document, "ResourceOwner", request->caller->account);
	json_set(request->arena, document, "Attributes",
		attributes ? attributes : json_new_object(request->arena));
	buffer_add_string(request->out, "{\"ServiceAttributes\":");
	json_write(document, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}
