/* Validation of an instance's id and attributes; see instance.h. */
#include <arpa/inet.h>
#include <sys/param.h>

#include "base/memory.h"
#include "cloudmap/instance.h"
#include "io/dns_choice.h"
#include "io/dns_message.h"
#include "store/fact_table.h"

#define INSTANCE_ID_MAX 64
#define ATTRIBUTE_NAME_MAX 255
#define ATTRIBUTE_VALUE_MAX 1024
#define ATTRIBUTES_SIZE_MAX 5000 /* all names and values together */
#define CUSTOM_ATTRIBUTES_MAX 30
#define PORT_MAX 65535
#define DNS_LABEL_MAX 63
#define DNS_HOST_NAME_MAX 253

/* ---- texts ---- */

static bool id_is_valid(struct span id)
{
	for (size_t i = 0; i < id.length; i++) {
		char c = id.data[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c && strchr("_/:.@-", c))))
			return false;
	}
	return id.length > 0 && id.length <= INSTANCE_ID_MAX;
}

int cloudmap_instance_check_id(struct span id, struct err *err)
{
	if (!id_is_valid(id))
		return err_set(err, -EINVAL,
			"InstanceId: '%.*s' is not 1 to %d letters, digits and characters of "
			"_ / : . @ -",
			SPAN_ARGS(id), INSTANCE_ID_MAX);
	return 0;
}

static bool is_visible(struct span text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] < '!' || text.data[i] > '~')
			return false;
	return true;
}

/* Visible ASCII, with spaces and tabs behind the first character. */
static bool value_is_valid(struct span value)
{
	for (size_t i = 0; i < value.length; i++) {
		char c = value.data[i];

		if (!((c >= '!' && c <= '~') || (i > 0 && (c == ' ' || c == '\t'))))
			return false;
	}
	return true;
}

static int check_text(struct span name, const struct json *value, struct err *err)
{
	struct span text = json_text(value);

	if (name.length == 0 || name.length > ATTRIBUTE_NAME_MAX || !is_visible(name))
		return err_set(err, -EINVAL,
			"Attributes: the name '%.*s' is not 1 to %d characters of visible ASCII",
			SPAN_ARGS(name), ATTRIBUTE_NAME_MAX);
	if (!text.data)
		return err_set(err, -EINVAL, "Attributes: %.*s is not a text", SPAN_ARGS(name));
	if (text.length > ATTRIBUTE_VALUE_MAX)
		return err_set(err, -EINVAL,
			"Attributes: the value of %.*s has %zu characters, the limit is %d",
			SPAN_ARGS(name), text.length, ATTRIBUTE_VALUE_MAX);
	if (!value_is_valid(text))
		return err_set(err, -EINVAL,
			"Attributes: the value of %.*s has other characters than visible ASCII, "
			"spaces and tabs, or begins with a space",
			SPAN_ARGS(name));
	return 0;
}

/* ---- the attributes that mean something ---- */

struct reading {
	const struct cloudmap_service_facts *service;
	struct cloudmap_instance_facts *facts;
	bool unhealthy;
};

static int read_ipv4(struct reading *reading, struct span value, struct err *err)
{
	char text[INET_ADDRSTRLEN];
	struct in_addr address;

	if (value.length < sizeof(text)) {
		memcpy(text, value.data, value.length);
		text[value.length] = '\0';
		if (inet_pton(AF_INET, text, &address) == 1) {
			reading->facts->ipv4 = value;
			return 0;
		}
	}
	return err_set(err, -EINVAL, "Attributes: AWS_INSTANCE_IPV4 is '%.*s', not an IPv4 address",
		SPAN_ARGS(value));
}

static int read_ipv6(struct reading *reading, struct span value, struct err *err)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (value.length < sizeof(text)) {
		memcpy(text, value.data, value.length);
		text[value.length] = '\0';
		if (inet_pton(AF_INET6, text, &address) == 1) {
			reading->facts->ipv6 = value;
			return 0;
		}
	}
	return err_set(err, -EINVAL, "Attributes: AWS_INSTANCE_IPV6 is '%.*s', not an IPv6 address",
		SPAN_ARGS(value));
}

static int read_port(struct reading *reading, struct span value, struct err *err)
{
	uint64_t port;

	if (!span_to_unsigned(value, PORT_MAX, &port) || port == 0)
		return err_set(err, -EINVAL,
			"Attributes: AWS_INSTANCE_PORT is '%.*s', not a number from 1 to %d",
			SPAN_ARGS(value), PORT_MAX);
	reading->facts->port = (int64_t)port;
	return 0;
}

static int read_cname(struct reading *reading, struct span value, struct err *err)
{
	struct dns_name name;

	if (value.length == 0 || value.length > DNS_HOST_NAME_MAX + 1 ||
		!fact_text_is_plain(value) || dns_name_from_text(value, &name, NULL) < 0 ||
		name.length <= 1)
		return err_set(err, -EINVAL,
			"Attributes: AWS_INSTANCE_CNAME is '%.*s', not a domain name",
			SPAN_ARGS(value));
	reading->facts->cname = value;
	return 0;
}

static int read_init_health(struct reading *reading, struct span value, struct err *err)
{
	if (!span_is(value, "HEALTHY") && !span_is(value, "UNHEALTHY"))
		return err_set(err, -EINVAL,
			"Attributes: AWS_INIT_HEALTH_STATUS is '%.*s', not HEALTHY or UNHEALTHY",
			SPAN_ARGS(value));
	reading->unhealthy = reading->service->checked && span_is(value, "UNHEALTHY");
	return 0;
}

static int read_weight(struct reading *reading, struct span value, struct err *err)
{
	uint64_t weight;

	if (!span_to_unsigned(value, DNS_WEIGHT_MAX, &weight))
		return err_set(err, -EINVAL,
			"Attributes: SLIPWAY_WEIGHT is '%.*s', not a number from 0 to %d",
			SPAN_ARGS(value), DNS_WEIGHT_MAX);
	reading->facts->weight = (int64_t)weight;
	return 0;
}

static int refuse_alias(struct reading *reading, struct span value, struct err *err)
{
	(void)reading;
	(void)value;
	return err_set(err, -EINVAL,
		"Attributes: AWS_ALIAS_DNS_NAME makes an alias record of Route 53, which slipway "
		"does not have; use a service with a CNAME record and AWS_INSTANCE_CNAME");
}

static int refuse_ec2(struct reading *reading, struct span value, struct err *err)
{
	(void)reading;
	(void)value;
	return err_set(err, -EINVAL,
		"Attributes: AWS_EC2_INSTANCE_ID asks EC2 for an address, which slipway does not "
		"have; use AWS_INSTANCE_IPV4");
}

static const struct known_attribute {
	const char *name;
	int (*read)(struct reading *reading, struct span value, struct err *err);
} known_attributes[] = {
	{"AWS_ALIAS_DNS_NAME", refuse_alias},
	{"AWS_EC2_INSTANCE_ID", refuse_ec2},
	{"AWS_INIT_HEALTH_STATUS", read_init_health},
	{"AWS_INSTANCE_CNAME", read_cname},
	{"AWS_INSTANCE_IPV4", read_ipv4},
	{"AWS_INSTANCE_IPV6", read_ipv6},
	{"AWS_INSTANCE_PORT", read_port},
	{"SLIPWAY_WEIGHT", read_weight},
};

static const struct known_attribute *find_known(struct span name)
{
	for (size_t i = 0; i < LENGTH(known_attributes); i++)
		if (span_is(name, known_attributes[i].name))
			return &known_attributes[i];
	return NULL;
}

/* ---- attributes for the records of the service ---- */

static int check_needed(const struct cloudmap_service_facts *service,
	const struct cloudmap_instance_facts *facts, struct err *err)
{
	const struct {
		int64_t record;
		bool has;
		const char *name, *attribute;
	} rows[] = {
		{CLOUDMAP_RECORD_A, facts->ipv4.length > 0, "A", "AWS_INSTANCE_IPV4"},
		{CLOUDMAP_RECORD_AAAA, facts->ipv6.length > 0, "AAAA", "AWS_INSTANCE_IPV6"},
		{CLOUDMAP_RECORD_CNAME, facts->cname.length > 0, "CNAME", "AWS_INSTANCE_CNAME"},
		{CLOUDMAP_RECORD_SRV, facts->port > 0, "SRV", "AWS_INSTANCE_PORT"},
		{CLOUDMAP_RECORD_SRV, facts->ipv4.length > 0 || facts->ipv6.length > 0, "SRV",
			"AWS_INSTANCE_IPV4 or AWS_INSTANCE_IPV6"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		if ((service->records & rows[i].record) && !rows[i].has)
			return err_set(err, -EINVAL,
				"Attributes: %s is required, because service %.*s has %s records",
				rows[i].attribute, SPAN_ARGS(service->id), rows[i].name);
	return 0;
}

/* The id is a part of the name that an SRV record points to. */
static int check_host_name(struct span id, const struct cloudmap_service_facts *service,
	struct span zone, struct err *err)
{
	struct span rest = id, label;

	if (!(service->records & CLOUDMAP_RECORD_SRV))
		return 0;
	for (bool more = true; more;) {
		more = span_split(rest, '.', &label, &rest);
		if (!more)
			label = rest;
		if (label.length == 0 || label.length > DNS_LABEL_MAX)
			return err_set(err, -EINVAL,
				"InstanceId: '%.*s' cannot be a part of the host name of an SRV "
				"record: what is between dots must have 1 to %d characters",
				SPAN_ARGS(id), DNS_LABEL_MAX);
	}
	if (id.length + 1 + service->name.length + 1 + zone.length > DNS_HOST_NAME_MAX)
		return err_set(err, -EINVAL,
			"InstanceId: the host name %.*s.%.*s.%.*s of its SRV record would be "
			"longer than %d characters",
			SPAN_ARGS(id), SPAN_ARGS(service->name), SPAN_ARGS(zone),
			DNS_HOST_NAME_MAX);
	return 0;
}

int cloudmap_instance_check(const struct cloudmap_service_facts *service, struct span zone,
	struct span id, const struct json *attributes, int64_t now_ms,
	struct cloudmap_instance_facts *ret_facts, struct err *err)
{
	struct cloudmap_instance_facts facts = {.service_id = service->id,
		.id = id,
		.ipv4 = SPAN(""),
		.ipv6 = SPAN(""),
		.cname = SPAN(""),
		.weight = DNS_WEIGHT_DEFAULT,
		.created_ms = now_ms};
	struct reading reading = {.service = service, .facts = &facts};
	size_t custom = 0, size = 0;
	int code = cloudmap_instance_check_id(id, err);

	if (code < 0)
		return code;
	if (!json_is(attributes, JSON_OBJECT))
		return err_set(err, -EINVAL, "Attributes: is required");
	for (size_t i = 0; i < attributes->object.count; i++) {
		const struct json_member *member = &attributes->object.members[i];
		const struct known_attribute *known = find_known(member->name);

		code = check_text(member->name, member->value, err);
		if (code < 0)
			return code;
		code = known ? known->read(&reading, json_text(member->value), err) : 0;
		if (code < 0)
			return code;
		custom += !known;
		size += member->name.length + json_text(member->value).length;
	}
	if (custom > CUSTOM_ATTRIBUTES_MAX)
		return err_set(err, -EINVAL,
			"Attributes: %zu custom attributes are given, the limit is %d", custom,
			CUSTOM_ATTRIBUTES_MAX);
	if (size > ATTRIBUTES_SIZE_MAX)
		return err_set(err, -EINVAL,
			"Attributes: names and values have %zu characters, the limit is %d", size,
			ATTRIBUTES_SIZE_MAX);
	code = check_needed(service, &facts, err);
	if (code < 0)
		return code;
	code = check_host_name(id, service, zone, err);
	if (code < 0)
		return code;
	if (reading.unhealthy)
		facts.unhealthy_ms = MAX(now_ms, 1);
	*ret_facts = facts;
	return 0;
}
