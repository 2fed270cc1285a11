/* DnsConfig; see service_dns.h. */
#include "cloudmap/service_dns.h"

#include "aws/document.h"
#include "base/memory.h"

static const struct record_type {
	const char *name;
	enum cloudmap_records record;
	size_t ttl; /* offset in the facts */
} record_types[] = {
	{"A", CLOUDMAP_RECORD_A, offsetof(struct cloudmap_service_facts, ttl_a)},
	{"AAAA", CLOUDMAP_RECORD_AAAA, offsetof(struct cloudmap_service_facts, ttl_aaaa)},
	{"SRV", CLOUDMAP_RECORD_SRV, offsetof(struct cloudmap_service_facts, ttl_srv)},
	{"CNAME", CLOUDMAP_RECORD_CNAME, offsetof(struct cloudmap_service_facts, ttl_cname)},
};

/* The model lets no other types through. */
static const struct record_type *find_type(struct span name)
{
	for (size_t i = 0; i < LENGTH(record_types); i++)
		if (span_is(name, record_types[i].name))
			return &record_types[i];
	return &record_types[0];
}

/* Sets records and TTLs of facts. */
static int read_records(struct aws_request *request, const struct json *records,
	struct cloudmap_service_facts *facts)
{
	facts->records = 0;
	JSON_EACH_ITEM (records, item) {
		const struct record_type *type = find_type(json_get_text(item, "Type"));

		if (facts->records & type->record)
			return aws_fail_input(request, "DnsConfig: %s is given twice", type->name);
		facts->records |= type->record;
		*(int64_t *)((char *)facts + type->ttl) = json_get_integer(item, "TTL", 0);
	}
	if (facts->records == 0)
		return aws_fail_input(request, "DnsConfig: DnsRecords must not be empty");
	if ((facts->records & CLOUDMAP_RECORD_CNAME) && facts->records != CLOUDMAP_RECORD_CNAME)
		return aws_fail_input(request,
			"DnsConfig: a CNAME record cannot be combined with records of other types");
	return 0;
}

static struct json *dns_config(struct aws_request *request, const struct json *requested,
	const struct cloudmap_service_facts *facts)
{
	struct json *config = json_new_object(request->arena);
	struct json *records = json_new_array(request->arena);

	JSON_EACH_ITEM (requested, item) {
		struct json *record = json_new_object(request->arena);

		json_set_string(request->arena, record, "Type", json_get_text(item, "Type"));
		json_set_integer(request->arena, record, "TTL", json_get_integer(item, "TTL", 0));
		json_append(request->arena, records, record);
	}
	json_set_string(request->arena, config, "NamespaceId", facts->namespace_id);
	json_set_string(request->arena, config, "RoutingPolicy",
		facts->weighted ? SPAN("WEIGHTED") : SPAN("MULTIVALUE"));
	json_set(request->arena, config, "DnsRecords", records);
	return config;
}

static int check_health_checks(struct aws_request *request,
	const struct cloudmap_namespace_facts *namespace_)
{
	const struct json *config = json_get(request->input, "HealthCheckConfig");

	if (json_is_absent(config))
		return 0;
	if (!json_is_absent(json_get(request->input, "HealthCheckCustomConfig")))
		return aws_fail_input(request,
			"HealthCheckConfig: specify either HealthCheckConfig "
			"or HealthCheckCustomConfig, not both");
	if (namespace_->type == CLOUDMAP_DNS_PRIVATE)
		return aws_fail_input(request, "HealthCheckConfig: is for public DNS and HTTP "
					       "namespaces only; in a private "
					       "DNS namespace use HealthCheckCustomConfig");
	return cloudmap_service_dns_refuse_checks(request, config);
}

int cloudmap_service_dns_refuse_checks(struct aws_request *request, const struct json *config)
{
	if (json_is_absent(config))
		return 0;
	return aws_fail_input(request,
		"HealthCheckConfig: makes health checks of Route 53, which slipway does not have; "
		"use "
		"HealthCheckCustomConfig and UpdateInstanceCustomHealthStatus");
}

int cloudmap_service_dns_read(struct aws_request *request,
	const struct cloudmap_namespace_facts *namespace_, struct cloudmap_service_facts *facts,
	const struct json **ret_dns)
{
	const struct json *config = json_get(request->input, "DnsConfig");
	const struct json *records = json_get(config, "DnsRecords");
	bool http = namespace_->type == CLOUDMAP_HTTP ||
		    span_is(json_get_text(request->input, "Type"), "HTTP");

	if (check_health_checks(request, namespace_) < 0)
		return -EPERM;
	if (json_is_absent(config)) {
		if (http)
			return 0;
		return aws_fail_input(request,
			"DnsConfig: is required in a DNS namespace, unless Type is HTTP");
	}
	if (http)
		return aws_fail_input(request,
			"DnsConfig: a service of %s cannot have one: its instances are found with "
			"DiscoverInstances only",
			namespace_->type == CLOUDMAP_HTTP ? "an HTTP namespace" : "type HTTP");
	facts->namespace_id = namespace_->id;
	facts->weighted = span_is(json_get_text(config, "RoutingPolicy"), "WEIGHTED");
	if (read_records(request, records, facts) < 0)
		return -EPERM;
	if ((facts->records & CLOUDMAP_RECORD_CNAME) && !facts->weighted)
		return aws_fail_input(request,
			"DnsConfig: RoutingPolicy must be WEIGHTED for CNAME records");
	*ret_dns = dns_config(request, records, facts);
	return 0;
}

int cloudmap_service_dns_change(struct aws_request *request, const struct json *records,
	struct cloudmap_service_facts *facts, struct json *document)
{
	struct cloudmap_service_facts changed = *facts;

	if (facts->records == 0)
		return aws_fail_input(request,
			"DnsConfig: service %.*s has none, and cannot get one; make another "
			"service",
			SPAN_ARGS(facts->id));
	if (read_records(request, records, &changed) < 0)
		return -EPERM;
	if (changed.records != facts->records)
		return aws_fail_input(request,
			"DnsConfig: the record types of a service cannot be changed, only their "
			"TTLs; delete the service and make it again");
	*facts = changed;
	json_set(request->arena, document, "DnsConfig", dns_config(request, records, facts));
	return 0;
}
