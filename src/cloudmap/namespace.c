/* Namespaces: the operations on them. */
#include "aws/document.h"
#include "base/memory.h"
#include "cloudmap/api.h"
#include "cloudmap/http_namespace.h"
#include "cloudmap/labels.h"
#include "cloudmap/listing.h"
#include "io/dns_message.h"
#include "store/fact_table.h"

#define NAMESPACES_MAX 1000 /* of an account and region */
#define NAMESPACE_NAME_MAX 1024
#define ZONE_NAME_MAX 253
#define SOA_TTL_DEFAULT 15 /* as AWS */

/* ---- finding ---- */

int cloudmap_find_namespace(struct aws_request *request, struct span id,
	const struct store_object **ret_namespace)
{
	const struct store_object *namespace_ =
		store_get(request->view, &cloudmap_namespace_kind, aws_key(request, id));

	if (!namespace_)
		return aws_fail(request, "NamespaceNotFound", "Namespace %.*s was not found",
			SPAN_ARGS(id));
	*ret_namespace = namespace_;
	return 0;
}

const struct store_object *cloudmap_namespace_of_name(struct aws_request *request, struct span name)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &cloudmap_namespace_kind,
		.index = CLOUDMAP_NAMESPACE_BY_NAME,
		.prefix = aws_key(request, cloudmap_lower_case(request->arena, name)),
		.exact = true};

	return store_next(&cursor);
}

static struct span cloudmap_namespace_arn(struct arena *arena, struct span key)
{
	return aws_arn_of_key(arena, "servicediscovery", key,
		arena_format(arena, "namespace/%.*s", SPAN_ARGS(aws_name_of_key(key))));
}

void cloudmap_namespace_resources(struct aws_request *request, struct aws_resources *resources)
{
	struct span id = json_get_text(request->input, "Id");

	resources->arns[resources->count++] =
		cloudmap_namespace_arn(request->arena, aws_key(request, id.data ? id : SPAN("")));
}

static struct span services_prefix(struct aws_request *request,
	const struct store_object *namespace_)
{
	return arena_format(request->arena, "%.*s/", SPAN_ARGS(namespace_->key));
}

static uint64_t count_services(struct aws_request *request, const struct store_object *namespace_)
{
	return store_count(request->view, &cloudmap_service_kind, CLOUDMAP_SERVICE_BY_NAME,
		services_prefix(request, namespace_), false);
}

/* ---- creating ---- */

static int check_name(struct aws_request *request, struct span name)
{
	for (size_t i = 0; i < name.length; i++)
		if (name.data[i] < '!' || name.data[i] > '~')
			name.length = 0;
	if (name.length == 0 || name.length > NAMESPACE_NAME_MAX || !fact_text_is_plain(name))
		return aws_fail_input(request,
			"Name: must have 1 to %d characters of visible ASCII, without \" and \\",
			NAMESPACE_NAME_MAX);
	return 0;
}

static bool is_host_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.';
}

static int check_zone_name(struct aws_request *request, struct span name)
{
	struct dns_name parsed;
	bool good = name.length > 0 && name.length <= ZONE_NAME_MAX &&
		    name.data[name.length - 1] != '.';

	for (size_t i = 0; i < name.length; i++)
		good &= is_host_character(name.data[i]);
	if (!good || dns_name_from_text(name, &parsed, NULL) < 0)
		return aws_fail_input(request,
			"Name: '%.*s' is not a DNS name: labels of up to 63 letters, digits, "
			"hyphens and underscores with dots between them, at most %d characters",
			SPAN_ARGS(name), ZONE_NAME_MAX);
	return 0;
}

static int fail_exists(struct aws_request *request, const struct store_object *existing)
{
	struct json *extra = json_new_object(request->arena), *document;
	const struct cloudmap_namespace_facts *facts = cloudmap_namespace_facts(existing);

	if (json_parse(existing->api, request->arena, &document, &request->err) < 0)
		return aws_fail_store(request);
	json_set(request->arena, extra, "CreatorRequestId", json_get(document, "CreatorRequestId"));
	json_set_string(request->arena, extra, "NamespaceId", facts->id);
	aws_fail(request, "NamespaceAlreadyExists", "Namespace %.*s exists already: %.*s",
		SPAN_ARGS(facts->name), SPAN_ARGS(facts->id));
	request->failure.extra = extra;
	return -EPERM;
}

static struct json *new_properties(struct aws_request *request,
	const struct cloudmap_namespace_facts *facts)
{
	struct arena *arena = request->arena;
	struct json *properties = json_new_object(arena), *dns = json_new_object(arena);
	struct json *http = json_new_object(arena), *soa = json_new_object(arena);
	char zone[21];

	if (facts->type == CLOUDMAP_DNS_PRIVATE) {
		id_from_alphabet(request->random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 20, zone);
		json_set(arena, dns, "HostedZoneId", json_new_format(arena, "Z%s", zone));
		json_set_integer(arena, soa, "TTL", facts->soa_ttl);
		json_set(arena, dns, "SOA", soa);
	}
	/* As AWS shows them: empty for HTTP namespaces, which have no zone. */
	json_set(arena, properties, "DnsProperties", dns);
	json_set_string(arena, http, "HttpName", facts->name);
	json_set(arena, properties, "HttpProperties", http);
	return properties;
}

static int put_namespace(struct aws_request *request, struct span key,
	const struct cloudmap_namespace_facts *facts, const struct json *document)
{
	struct json *private_ = json_new_object(request->arena);
	struct span text;

	cloudmap_namespace_write_facts(facts, request->arena, private_);
	if (document_text(request, document, &text) < 0)
		return -EPERM;
	if (store_put(request->transaction, &cloudmap_namespace_kind, key, text,
		    json_to_text(private_, request->arena), STORE_ANY, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

static struct json *new_document(struct aws_request *request, struct span key,
	const struct cloudmap_namespace_facts *facts)
{
	struct arena *arena = request->arena;
	const struct json *input = document_input(request);
	struct json *document = json_new_object(arena);

	json_set_string(arena, document, "Id", facts->id);
	json_set_string(arena, document, "Arn", cloudmap_namespace_arn(arena, key));
	json_set_string(arena, document, "ResourceOwner", request->caller->account);
	json_set_string(arena, document, "Name", facts->name);
	json_set_string(arena, document, "Type",
		span_of(cloudmap_namespace_type_name(facts->type)));
	json_set(arena, document, "Description", json_get(input, "Description"));
	json_set(arena, document, "Properties", new_properties(request, facts));
	json_set(arena, document, "Vpc", json_get(input, "Vpc"));
	json_set_time(arena, document, "CreateDate", request->now_ms);
	json_set(arena, document, "CreatorRequestId", json_get(input, "CreatorRequestId"));
	return document;
}

static bool is_full(struct aws_request *request)
{
	return store_count(request->view, &cloudmap_namespace_kind, -1, aws_key_prefix(request),
		       false) >= NAMESPACES_MAX;
}

/* Was it this request that made the namespace? Then its answer was lost, and is given again. */
static int answer_again(struct aws_request *request, const struct store_object *existing,
	const struct store_object *before)
{
	struct span created = before ? operation_facts(before)->namespace_id : SPAN("");

	if (!span_equal(created, cloudmap_namespace_facts(existing)->id))
		return fail_exists(request, existing);
	return cloudmap_operation_answer(request, before);
}

static int create(struct aws_request *request, struct cloudmap_namespace_facts facts)
{
	const struct json *tags = json_get(request->input, "Tags");
	const struct store_object *existing = cloudmap_namespace_of_name(request, facts.name);
	struct operation_facts operation = {.type = OPERATION_CREATE_NAMESPACE,
		.request = cloudmap_operation_request(request, "CreatorRequestId",
			OPERATION_CREATE_NAMESPACE, SPAN(""))};
	const struct store_object *before =
		cloudmap_operation_of_request(request, operation.request);
	struct span key;

	if (cloudmap_labels_check_tags(request, tags) < 0)
		return -EPERM;
	if (existing)
		return answer_again(request, existing, before);
	if (before)
		return cloudmap_operation_fail_duplicate(request, before);
	if (is_full(request))
		return aws_fail(request, "ResourceLimitExceeded",
			"There are %d namespaces, which is the limit", NAMESPACES_MAX);
	facts.id = cloudmap_new_id(request, "ns-");
	facts.created_ms = request->now_ms;
	key = aws_key(request, facts.id);
	operation.namespace_id = facts.id;
	request->resource = cloudmap_namespace_arn(request->arena, key);
	if (put_namespace(request, key, &facts, new_document(request, key, &facts)) < 0 ||
		cloudmap_labels_put_tags(request, key, tags) < 0)
		return -EPERM;
	return cloudmap_operation_succeed(request, operation);
}

int cloudmap_namespace_create_http(struct aws_request *request)
{
	struct cloudmap_namespace_facts facts = {
		.name = json_get_text(request->input, "Name"), .type = CLOUDMAP_HTTP};

	if (check_name(request, facts.name) < 0)
		return -EPERM;
	return create(request, facts);
}

int cloudmap_http_namespace_put(struct aws_request *request, struct span name, struct span *ret_key)
{
	struct cloudmap_namespace_facts facts = {
		.name = name, .type = CLOUDMAP_HTTP, .created_ms = request->now_ms};
	struct span key;

	if (check_name(request, name) < 0)
		return -EPERM;
	if (is_full(request))
		return aws_fail_input(request, "There are %d namespaces, which is the limit",
			NAMESPACES_MAX);
	facts.id = cloudmap_new_id(request, "ns-");
	key = aws_key(request, facts.id);
	if (put_namespace(request, key, &facts, new_document(request, key, &facts)) < 0)
		return -EPERM;
	*ret_key = key;
	return 0;
}

int cloudmap_namespace_create_private(struct aws_request *request)
{
	const struct json *properties = json_get(request->input, "Properties");
	struct cloudmap_namespace_facts facts = {.name = json_get_text(request->input, "Name"),
		.type = CLOUDMAP_DNS_PRIVATE,
		.soa_ttl = json_get_integer(json_path(properties, "DnsProperties.SOA"), "TTL",
			SOA_TTL_DEFAULT)};

	if (check_zone_name(request, facts.name) < 0)
		return -EPERM;
	if (json_get_text(request->input, "Vpc").length == 0)
		return aws_fail_input(request, "Vpc: must not be empty; any name will do here");
	return create(request, facts);
}

int cloudmap_namespace_refuse_public(struct aws_request *request)
{
	return aws_fail_input(request,
		"Public DNS namespaces need a domain that is registered and delegated to Route 53, "
		"which slipway cannot do; use a private DNS namespace, for which slipway's own DNS "
		"server answers, or an HTTP namespace");
}

/* ---- showing ---- */

static struct json *show(struct aws_request *request, const struct store_object *namespace_)
{
	struct json *stored, *document;

	if (json_parse(namespace_->api, request->arena, &stored, NULL) < 0)
		return json_new_object(request->arena);
	document = json_copy_object(request->arena, stored);
	json_unset(document, "Vpc"); /* of the request only */
	json_set_integer(request->arena, document, "ServiceCount",
		(int64_t)count_services(request, namespace_));
	return document;
}

int cloudmap_namespace_get(struct aws_request *request)
{
	const struct store_object *namespace_;

	if (cloudmap_find_namespace(request, json_get_text(request->input, "Id"), &namespace_) < 0)
		return -EPERM;
	buffer_add_string(request->out, "{\"Namespace\":");
	json_write(show(request, namespace_), request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

static struct span name_of(const struct store_object *object)
{
	return cloudmap_namespace_facts(object)->name;
}

static struct span type_of(const struct store_object *object)
{
	return span_of(cloudmap_namespace_type_name(cloudmap_namespace_facts(object)->type));
}

struct span cloudmap_owner_is_self(const struct store_object *object)
{
	(void)object;
	return SPAN("SELF");
}

const char *const cloudmap_owner_values[] = {"SELF", "OTHER_ACCOUNTS", NULL};

static void write_summary(struct aws_request *request, const struct store_object *namespace_)
{
	struct json *document = show(request, namespace_);

	json_unset(document, "CreatorRequestId");
	json_write(document, request->out);
}

int cloudmap_namespace_list(struct aws_request *request)
{
	enum {
		TEXT = FILTER_BIT(FILTER_EQ) | FILTER_BIT(FILTER_IN) |
		       FILTER_BIT(FILTER_BEGINS_WITH)
	};
	static const char *const types[] = {"HTTP", "DNS_PRIVATE", "DNS_PUBLIC", NULL};
	static const struct filter_row rows[] = {
		{.name = "HTTP_NAME", .conditions = TEXT, .text = name_of},
		{.name = "NAME", .conditions = TEXT, .text = name_of},
		{.name = "RESOURCE_OWNER",
			.conditions = FILTER_BIT(FILTER_EQ) | FILTER_BIT(FILTER_IN),
			.text = cloudmap_owner_is_self,
			.values = cloudmap_owner_values},
		{.name = "TYPE", .conditions = TEXT, .text = type_of, .values = types},
	};
	struct store_cursor cursor = {.view = request->view,
		.kind = &cloudmap_namespace_kind,
		.index = CLOUDMAP_NAMESPACE_BY_NAME,
		.prefix = aws_key_prefix(request)};
	struct filters filters;

	if (cloudmap_filters_read(request, rows, LENGTH(rows), &filters) < 0)
		return -EPERM;
	return cloudmap_listing_answer(request, "Namespaces", &cursor, &filters, write_summary);
}

/* ---- changing and deleting ---- */

/* Sets Properties.DnsProperties.SOA.TTL of a document. */
static void set_soa_ttl(struct aws_request *request, struct json *document, int64_t ttl)
{
	struct arena *arena = request->arena;
	const struct json *old = json_get(document, "Properties");
	struct json *properties = json_copy_object(arena, old);
	struct json *dns = json_copy_object(arena, json_get(old, "DnsProperties"));
	struct json *soa = json_new_object(arena);

	json_set_integer(arena, soa, "TTL", ttl);
	json_set(arena, dns, "SOA", soa);
	json_set(arena, properties, "DnsProperties", dns);
	json_set(arena, document, "Properties", properties);
}

static int update(struct aws_request *request, enum cloudmap_namespace_type type)
{
	const struct json *change = json_get(document_input(request), "Namespace");
	const struct json *soa = json_path(change, "Properties.DnsProperties.SOA");
	const struct store_object *namespace_;
	struct cloudmap_namespace_facts facts;
	struct json *stored, *document;

	if (cloudmap_find_namespace(request, json_get_text(request->input, "Id"), &namespace_) < 0)
		return -EPERM;
	facts = *cloudmap_namespace_facts(namespace_);
	if (facts.type != type)
		return aws_fail_input(request, "Id: namespace %.*s is of type %s, not %s",
			SPAN_ARGS(facts.id), cloudmap_namespace_type_name(facts.type),
			cloudmap_namespace_type_name(type));
	if (json_parse(namespace_->api, request->arena, &stored, &request->err) < 0)
		return aws_fail_store(request);
	document = json_copy_object(request->arena, stored);
	json_set(request->arena, document, "Description", json_get(change, "Description"));
	if (soa) {
		facts.soa_ttl = json_get_integer(soa, "TTL", facts.soa_ttl);
		set_soa_ttl(request, document, facts.soa_ttl);
	}
	if (put_namespace(request, namespace_->key, &facts, document) < 0)
		return -EPERM;
	return cloudmap_operation_succeed(request,
		(struct operation_facts){
			.type = OPERATION_UPDATE_NAMESPACE, .namespace_id = facts.id});
}

int cloudmap_namespace_update_http(struct aws_request *request)
{
	return update(request, CLOUDMAP_HTTP);
}

int cloudmap_namespace_update_private(struct aws_request *request)
{
	return update(request, CLOUDMAP_DNS_PRIVATE);
}

int cloudmap_namespace_delete(struct aws_request *request)
{
	const struct store_object *namespace_;
	uint64_t services;

	if (cloudmap_find_namespace(request, json_get_text(request->input, "Id"), &namespace_) < 0)
		return -EPERM;
	services = count_services(request, namespace_);
	if (services > 0)
		return aws_fail(request, "ResourceInUse",
			"Namespace %.*s cannot be deleted because it contains %llu services",
			SPAN_ARGS(cloudmap_namespace_facts(namespace_)->id),
			(unsigned long long)services);
	if (cloudmap_labels_delete(request, namespace_->key) < 0)
		return -EPERM;
	if (store_delete(request->transaction, &cloudmap_namespace_kind, namespace_->key,
		    namespace_->revision, &request->err) < 0)
		return aws_fail_store(request);
	return cloudmap_operation_succeed(request,
		(struct operation_facts){.type = OPERATION_DELETE_NAMESPACE,
			.namespace_id = cloudmap_namespace_facts(namespace_)->id});
}
