/* Services: the operations on them. What a DnsConfig may be is in service_dns.c. */
#include "aws/arn.h"
#include "aws/document.h"
#include "base/memory.h"
#include "cloudmap/api.h"
#include "cloudmap/labels.h"
#include "cloudmap/listing.h"
#include "cloudmap/service_dns.h"

#define SERVICES_OF_NAMESPACE_MAX 10000
#define SERVICE_NAME_MAX 127
#define LABEL_MAX 63
#define HOST_NAME_MAX 253

/* ---- finding ---- */

struct span cloudmap_service_arn(struct arena *arena, struct span key)
{
	return aws_arn_of_key(arena, "servicediscovery", key,
		arena_format(arena, "service/%.*s", SPAN_ARGS(aws_name_of_key(key))));
}

/* By id, or by ARN where the model has room for one. */
int cloudmap_find_service(struct aws_request *request, struct span id,
	const struct store_object **ret_service)
{
	const struct store_object *service =
		aws_arn_looks_like(id)
			? cloudmap_service_find(request->view, aws_key_prefix(request), id)
			: store_get(request->view, &cloudmap_service_kind, aws_key(request, id));

	if (!service)
		return aws_fail(request, "ServiceNotFound", "Service %.*s was not found",
			SPAN_ARGS(cloudmap_shown(id)));
	*ret_service = service;
	return 0;
}

void cloudmap_service_resources(struct aws_request *request, struct aws_resources *resources)
{
	struct span id = json_get_text(request->input, "ServiceId");

	if (!id.data)
		id = json_get_text(request->input, "Id");
	resources->arns[resources->count++] =
		aws_arn_looks_like(id) ? id
				       : cloudmap_service_arn(request->arena,
						 aws_key(request, id.data ? id : SPAN("")));
}

/* Names of an HTTP namespace may differ by case alone; then it must be the very one. */
const struct store_object *cloudmap_service_of_name(struct aws_request *request,
	const struct store_object *namespace_, struct span name)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &cloudmap_service_kind,
		.index = CLOUDMAP_SERVICE_BY_NAME,
		.prefix = arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(namespace_->key),
			SPAN_ARGS(cloudmap_lower_case(request->arena, name))),
		.exact = true};
	const struct store_object *service;

	/* Formatted texts end at a zero byte, and no name has one. */
	if (memchr(name.data, 0, name.length))
		return NULL;
	while ((service = store_next(&cursor)))
		if (cloudmap_namespace_facts(namespace_)->type != CLOUDMAP_HTTP ||
			span_equal(cloudmap_service_facts(service)->name, name))
			return service;
	return NULL;
}

/* ---- creating ---- */

static bool is_word_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* A label begins and ends with a letter, a digit or an underscore, and is not an underscore alone. */
static bool label_is_valid(struct span label)
{
	if (label.length == 0 || label.length > LABEL_MAX || !is_word_character(label.data[0]) ||
		!is_word_character(label.data[label.length - 1]) || span_is(label, "_"))
		return false;
	for (size_t i = 0; i < label.length; i++)
		if (!is_word_character(label.data[i]) && label.data[i] != '-')
			return false;
	return true;
}

static bool name_is_valid(struct span name)
{
	struct span label, rest = name;

	while (span_split(rest, '.', &label, &rest))
		if (!label_is_valid(label))
			return false;
	return label_is_valid(rest) && name.length <= SERVICE_NAME_MAX;
}

static int check_name(struct aws_request *request, struct span name,
	const struct store_object *namespace_)
{
	struct span zone = cloudmap_namespace_facts(namespace_)->name;

	if (!name_is_valid(name))
		return aws_fail_input(request,
			"Name: '%.*s' must have at most %d characters: labels of letters, digits, "
			"underscores and inner hyphens, with dots between them",
			SPAN_ARGS(cloudmap_shown(name)), SERVICE_NAME_MAX);
	if (cloudmap_namespace_facts(namespace_)->type == CLOUDMAP_DNS_PRIVATE &&
		name.length + 1 + zone.length > HOST_NAME_MAX)
		return aws_fail_input(request,
			"Name: %.*s.%.*s would be longer than %d characters, the limit of DNS",
			SPAN_ARGS(name), SPAN_ARGS(zone), HOST_NAME_MAX);
	return 0;
}

/* The id is given beside DnsConfig, or in it as in old times. */
static int find_namespace(struct aws_request *request, const struct store_object **ret_namespace)
{
	struct span id = json_get_text(request->input, "NamespaceId");
	struct span old = json_get_text(json_get(request->input, "DnsConfig"), "NamespaceId");

	if (id.length == 0 && old.length == 0)
		return aws_fail_input(request, "NamespaceId: is required");
	if (id.length > 0 && old.length > 0 && !span_equal(id, old))
		return aws_fail_input(request,
			"NamespaceId: '%.*s' differs from '%.*s', the one of DnsConfig",
			SPAN_ARGS(id), SPAN_ARGS(old));
	return cloudmap_find_namespace(request, id.length > 0 ? id : old, ret_namespace);
}

static int fail_exists(struct aws_request *request, const struct store_object *existing)
{
	struct json *extra = json_new_object(request->arena), *document;
	const struct cloudmap_service_facts *facts = cloudmap_service_facts(existing);

	if (json_parse(existing->api, request->arena, &document, &request->err) < 0)
		return aws_fail_store(request);
	json_set(request->arena, extra, "CreatorRequestId", json_get(document, "CreatorRequestId"));
	json_set_string(request->arena, extra, "ServiceId", facts->id);
	json_set_string(request->arena, extra, "ServiceArn",
		cloudmap_service_arn(request->arena, existing->key));
	aws_fail(request, "ServiceAlreadyExists", "Service %.*s exists already: %.*s",
		SPAN_ARGS(facts->name), SPAN_ARGS(facts->id));
	request->failure.extra = extra;
	return -EPERM;
}

static int put_service(struct aws_request *request, struct span key,
	const struct cloudmap_service_facts *facts, const struct json *document)
{
	struct span text;

	if (document_text(request, document, &text) < 0)
		return -EPERM;
	if (store_put(request->transaction, &cloudmap_service_kind, key, text,
		    cloudmap_service_private(facts, request->arena), STORE_ANY, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

static struct json *new_document(struct aws_request *request, struct span key,
	const struct cloudmap_service_facts *facts, const struct json *dns)
{
	struct arena *arena = request->arena;
	const struct json *input = document_input(request);
	struct json *document = json_new_object(arena), *custom = json_new_object(arena);

	json_set_string(arena, document, "Id", facts->id);
	json_set_string(arena, document, "Arn", cloudmap_service_arn(arena, key));
	json_set_string(arena, document, "ResourceOwner", request->caller->account);
	json_set_string(arena, document, "CreatedByAccount", request->caller->account);
	json_set_string(arena, document, "Name", facts->name);
	json_set_string(arena, document, "NamespaceId", facts->namespace_id);
	json_set(arena, document, "Description", json_get(input, "Description"));
	json_set(arena, document, "DnsConfig", dns);
	json_set_string(arena, document, "Type", facts->records ? SPAN("DNS_HTTP") : SPAN("HTTP"));
	json_set_integer(arena, custom, "FailureThreshold", 1);
	if (facts->checked)
		json_set(arena, document, "HealthCheckCustomConfig", custom);
	json_set_time(arena, document, "CreateDate", facts->created_ms);
	json_set(arena, document, "CreatorRequestId", json_get(input, "CreatorRequestId"));
	return document;
}

static int answer(struct aws_request *request, struct json *document, uint64_t instances)
{
	json_set_integer(request->arena, document, "InstanceCount", (int64_t)instances);
	buffer_add_string(request->out, "{\"Service\":");
	json_write(document, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

/* Was it this request that made the service? Then its answer was lost, and is given again. */
static bool is_same_request(struct aws_request *request, const struct json *created)
{
	struct span requested = json_get_text(request->input, "CreatorRequestId");

	return requested.length > 0 &&
	       span_equal(json_get_text(created, "CreatorRequestId"), requested) &&
	       span_equal(json_get_text(created, "Name"), json_get_text(request->input, "Name"));
}

int cloudmap_service_create(struct aws_request *request)
{
	const struct json *tags = json_get(request->input, "Tags"), *dns = NULL;
	struct cloudmap_service_facts facts = {.name = json_get_text(request->input, "Name"),
		.checked = !json_is_absent(json_get(request->input, "HealthCheckCustomConfig")),
		.created_ms = request->now_ms,
		.instances_revision = (int64_t)store_next_revision(request->transaction)};
	const struct store_object *namespace_, *existing;
	struct json *document;
	struct span key;

	if (cloudmap_labels_check_tags(request, tags) < 0 ||
		find_namespace(request, &namespace_) < 0 ||
		check_name(request, facts.name, namespace_) < 0 ||
		cloudmap_service_dns_read(request, cloudmap_namespace_facts(namespace_), &facts,
			&dns) < 0)
		return -EPERM;
	existing = cloudmap_service_of_name(request, namespace_, facts.name);
	if (existing) {
		if (json_parse(existing->api, request->arena, &document, &request->err) < 0)
			return aws_fail_store(request);
		if (!is_same_request(request, document))
			return fail_exists(request, existing);
		return answer(request, json_copy_object(request->arena, document),
			cloudmap_service_count_instances(request, existing));
	}
	if (store_count(request->view, &cloudmap_service_kind, CLOUDMAP_SERVICE_BY_NAME,
		    arena_format(request->arena, "%.*s/", SPAN_ARGS(namespace_->key)),
		    false) >= SERVICES_OF_NAMESPACE_MAX)
		return aws_fail(request, "ResourceLimitExceeded",
			"Namespace %.*s has %d services, which is the limit",
			SPAN_ARGS(cloudmap_namespace_facts(namespace_)->id),
			SERVICES_OF_NAMESPACE_MAX);
	facts.id = cloudmap_new_id(request, "srv-");
	facts.namespace_id = cloudmap_namespace_facts(namespace_)->id;
	key = aws_key(request, facts.id);
	document = new_document(request, key, &facts, dns);
	request->resource = cloudmap_service_arn(request->arena, key);
	if (put_service(request, key, &facts, document) < 0 ||
		cloudmap_labels_put_tags(request, key, tags) < 0)
		return -EPERM;
	return answer(request, document, 0);
}

/* ---- showing ---- */

uint64_t cloudmap_service_count_instances(struct aws_request *request,
	const struct store_object *service)
{
	return store_count(request->view, &cloudmap_instance_kind, -1,
		arena_format(request->arena, "%.*s/", SPAN_ARGS(service->key)), false);
}

int cloudmap_service_get(struct aws_request *request)
{
	const struct store_object *service;
	struct json *stored;

	if (cloudmap_find_service(request, json_get_text(request->input, "Id"), &service) < 0)
		return -EPERM;
	if (json_parse(service->api, request->arena, &stored, &request->err) < 0)
		return aws_fail_store(request);
	return answer(request, json_copy_object(request->arena, stored),
		cloudmap_service_count_instances(request, service));
}

static void write_summary(struct aws_request *request, const struct store_object *service)
{
	struct json *stored, *document;

	if (json_parse(service->api, request->arena, &stored, NULL) < 0)
		stored = json_new_object(request->arena);
	document = json_copy_object(request->arena, stored);
	json_unset(document, "CreatorRequestId");
	json_unset(document, "NamespaceId");
	json_set_integer(request->arena, document, "InstanceCount",
		(int64_t)cloudmap_service_count_instances(request, service));
	json_write(document, request->out);
}

static struct span namespace_id_of(const struct store_object *object)
{
	return cloudmap_service_facts(object)->namespace_id;
}

int cloudmap_service_list(struct aws_request *request)
{
	enum { TEXT = FILTER_BIT(FILTER_EQ) | FILTER_BIT(FILTER_IN) };
	static const struct filter_row rows[] = {
		{.name = "NAMESPACE_ID", .conditions = TEXT, .text = namespace_id_of},
		{.name = "RESOURCE_OWNER",
			.conditions = TEXT,
			.text = cloudmap_owner_is_self,
			.values = cloudmap_owner_values},
	};
	struct store_cursor cursor = {.view = request->view,
		.kind = &cloudmap_service_kind,
		.index = CLOUDMAP_SERVICE_BY_NAME,
		.prefix = aws_key_prefix(request)};
	struct filters filters;
	struct span only;

	if (cloudmap_filters_read(request, rows, LENGTH(rows), &filters) < 0)
		return -EPERM;
	only = cloudmap_filters_only(&filters, "NAMESPACE_ID");
	if (only.data)
		cursor.prefix =
			arena_format(request->arena, "%.*s/", SPAN_ARGS(aws_key(request, only)));
	return cloudmap_listing_answer(request, "Services", &cursor, &filters, write_summary);
}

/* ---- changing and deleting ---- */

int cloudmap_service_update(struct aws_request *request)
{
	const struct json *change = json_get(document_input(request), "Service");
	const struct json *records = json_path(change, "DnsConfig.DnsRecords");
	const struct store_object *service;
	struct cloudmap_service_facts facts;
	struct json *stored, *document;

	if (cloudmap_find_service(request, json_get_text(request->input, "Id"), &service) < 0)
		return -EPERM;
	facts = *cloudmap_service_facts(service);
	if (json_parse(service->api, request->arena, &stored, &request->err) < 0)
		return aws_fail_store(request);
	document = json_copy_object(request->arena, stored);
	if (cloudmap_service_dns_refuse_checks(request, json_get(change, "HealthCheckConfig")) < 0)
		return -EPERM;
	if (records && cloudmap_service_dns_change(request, records, &facts, document) < 0)
		return -EPERM;
	json_set(request->arena, document, "Description", json_get(change, "Description"));
	if (put_service(request, service->key, &facts, document) < 0)
		return -EPERM;
	return cloudmap_operation_succeed(request,
		(struct operation_facts){.type = OPERATION_UPDATE_SERVICE, .service_id = facts.id});
}

int cloudmap_service_delete(struct aws_request *request)
{
	const struct store_object *service;
	uint64_t instances;

	if (cloudmap_find_service(request, json_get_text(request->input, "Id"), &service) < 0)
		return -EPERM;
	instances = cloudmap_service_count_instances(request, service);
	if (instances > 0)
		return aws_fail(request, "ResourceInUse",
			"Service %.*s cannot be deleted because it contains %llu instances",
			SPAN_ARGS(cloudmap_service_facts(service)->id),
			(unsigned long long)instances);
	if (cloudmap_labels_delete(request, service->key) < 0)
		return -EPERM;
	if (store_delete(request->transaction, &cloudmap_service_kind, service->key,
		    service->revision, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}
