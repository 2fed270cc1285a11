/*
 * The operations on load balancers. Subnets, security groups and zones are kept and shown, as clients
 * expect them, but there is one network here and they mean nothing in it; what counts is the address.
 */
#include "elb/load_balancer.h"

#include <ctype.h>

#include "aws/arn.h"
#include "aws/document.h"
#include "aws/key.h"
#include "aws/page.h"
#include "base/memory.h"
#include "elb/attribute.h"
#include "elb/listener.h"
#include "elb/tags.h"

#define SUBNETS_MAX 20
#define SECURITY_GROUPS_MAX 20
#define REFERENCE_MAX 64 /* bytes of "subnet-…", "sg-…" */
#define HOSTED_ZONE_ID "Z00000000SLIPWAY"
#define DNS_DIGITS 10

/* ---- names and references ---- */

static bool is_name(struct span name)
{
	if (name.length == 0 || name.length > ELB_NAME_MAX || name.data[0] == '-' ||
		name.data[name.length - 1] == '-')
		return false;
	for (size_t i = 0; i < name.length; i++)
		if (!isalnum((unsigned char)name.data[i]) && name.data[i] != '-')
			return false;
	return true;
}

int elb_check_name(struct aws_request *request, const char *what, struct span name)
{
	if (is_name(name))
		return 0;
	return aws_fail_input(request,
		"Name: the %s name '%.*s' is not valid. Use 1 to %d letters, digits and hyphens, "
		"without a hyphen at either end.",
		what, SPAN_ARGS(name), ELB_NAME_MAX);
}

bool elb_arn_has_type(struct span requested, const char *type)
{
	struct span found, rest;
	struct aws_arn arn;

	return aws_arn_parse(requested, &arn) && span_is(arn.service, "elasticloadbalancing") &&
	       span_split(arn.resource, '/', &found, &rest) && span_is(found, type);
}

static int check_arn(struct aws_request *request, struct span arn)
{
	if (elb_arn_has_type(arn, "loadbalancer"))
		return 0;
	return aws_fail_input(request, "'%.*s' is not a valid load balancer ARN", SPAN_ARGS(arn));
}

int elb_request_load_balancer(struct aws_request *request,
	const struct store_object **ret_load_balancer)
{
	struct span arn = json_get_text(request->input, "LoadBalancerArn");
	const struct store_object *found;

	if (check_arn(request, arn) < 0)
		return -EPERM;
	found = elb_load_balancer_find(request->view, aws_key_prefix(request), arn);
	if (!found)
		return aws_fail(request, "LoadBalancerNotFoundException",
			"Load balancer '%.*s' not found", SPAN_ARGS(arn));
	*ret_load_balancer = found;
	return 0;
}

void elb_load_balancer_resources(struct aws_request *request, struct aws_resources *resources)
{
	resources->arns[resources->count++] = json_get_text(request->input, "LoadBalancerArn");
}

void elb_load_balancer_create_resources(struct aws_request *request,
	struct aws_resources *resources)
{
	bool network = span_is(json_get_text(request->input, "Type"), "network");

	resources->arns[resources->count++] = aws_arn_format(request->arena, "elasticloadbalancing",
		request->caller->region, request->caller->account, "loadbalancer/%s/%.*s/*",
		network ? "net" : "app", SPAN_ARGS(json_get_text(request->input, "Name")));
}

/* "subnet-0123abcd": the prefix and a few letters and digits. */
static bool is_reference(struct span text, struct span prefix)
{
	if (!text.data || text.length <= prefix.length || text.length > REFERENCE_MAX ||
		!span_starts_with(text, prefix))
		return false;
	for (size_t i = prefix.length; i < text.length; i++)
		if (!isalnum((unsigned char)text.data[i]) && text.data[i] != '-')
			return false;
	return true;
}

/* ---- requests ---- */

/* Adds one subnet to an answer as a zone of its own. */
static int add_zone(struct aws_request *request, struct span subnet, struct json *zones)
{
	struct json *zone = json_new_object(request->arena);

	if (!is_reference(subnet, SPAN("subnet-")))
		return aws_fail(request, "InvalidSubnetException",
			"The subnet ID '%.*s' is not valid",
			SPAN_ARGS(subnet.data ? subnet : SPAN("")));
	JSON_EACH_ITEM (zones, other)
		if (span_equal(json_get_text(other, "SubnetId"), subnet))
			return aws_fail(request, "InvalidConfigurationRequestException",
				"A load balancer cannot be attached to multiple subnets in the "
				"same Availability Zone: '%.*s' is given twice",
				SPAN_ARGS(subnet));
	json_set(request->arena, zone, "ZoneName",
		json_new_format(request->arena, "%.*s%c", SPAN_ARGS(request->caller->region),
			(char)('a' + json_count(zones))));
	json_set_string(request->arena, zone, "SubnetId", subnet);
	json_append(request->arena, zones, zone);
	return 0;
}

/* Elastic IPs and IPv6 are not there; an address of one's own choice is. */
static int read_mapping(struct aws_request *request, const struct json *mapping, enum elb_type type,
	struct span *address)
{
	struct span wanted = json_get_text(mapping, "PrivateIPv4Address");

	if (json_get_text(mapping, "AllocationId").data)
		return aws_fail(request, "AllocationIdNotFoundException",
			"SubnetMappings: there are no Elastic IP addresses here, so no '%.*s'",
			SPAN_ARGS(json_get_text(mapping, "AllocationId")));
	if (json_get_text(mapping, "IPv6Address").data ||
		json_get_text(mapping, "SourceNatIpv6Prefix").data)
		return aws_fail(request, "InvalidConfigurationRequestException",
			"SubnetMappings: load balancers have no IPv6 address here");
	if (!wanted.data)
		return 0;
	if (type != ELB_NETWORK)
		return aws_fail(request, "InvalidConfigurationRequestException",
			"SubnetMappings: PrivateIPv4Address is for network load balancers only");
	if (address->data && !span_equal(*address, wanted))
		return aws_fail(request, "InvalidConfigurationRequestException",
			"SubnetMappings: a load balancer has one address here, and '%.*s' and "
			"'%.*s' are given",
			SPAN_ARGS(*address), SPAN_ARGS(wanted));
	*address = wanted;
	return 0;
}

/* Subnets or SubnetMappings of the input as AvailabilityZones; without either there is one zone. */
static int read_zones(struct aws_request *request, enum elb_type type, struct json **ret_zones,
	struct span *ret_address)
{
	const struct json *subnets = json_get(request->input, "Subnets");
	const struct json *mappings = json_get(request->input, "SubnetMappings");
	struct json *zones = json_new_array(request->arena);
	struct span address = SPAN_NONE;

	if (json_count(subnets) > 0 && json_count(mappings) > 0)
		return aws_fail_input(request,
			"Only one of Subnets and SubnetMappings can be specified");
	if (json_count(subnets) + json_count(mappings) > SUBNETS_MAX)
		return aws_fail_input(request, "Subnets: %zu are given, the limit is %d",
			json_count(subnets) + json_count(mappings), SUBNETS_MAX);
	JSON_EACH_ITEM (subnets, subnet)
		if (add_zone(request, json_text(subnet), zones) < 0)
			return -EPERM;
	JSON_EACH_ITEM (mappings, mapping)
		if (read_mapping(request, mapping, type, &address) < 0 ||
			add_zone(request, json_get_text(mapping, "SubnetId"), zones) < 0)
			return -EPERM;
	if (json_count(zones) == 0) {
		struct json *zone = json_new_object(request->arena);

		json_set(request->arena, zone, "ZoneName",
			json_new_format(request->arena, "%.*sa",
				SPAN_ARGS(request->caller->region)));
		json_append(request->arena, zones, zone);
	}
	*ret_zones = zones;
	*ret_address = address;
	return 0;
}

static int read_security_groups(struct aws_request *request, struct json **ret_groups)
{
	const struct json *requested = json_get(request->input, "SecurityGroups");
	struct json *groups = json_new_array(request->arena);

	if (json_count(requested) > SECURITY_GROUPS_MAX)
		return aws_fail_input(request, "SecurityGroups: %zu are given, the limit is %d",
			json_count(requested), SECURITY_GROUPS_MAX);
	JSON_EACH_ITEM (requested, group) {
		if (!is_reference(json_text(group), SPAN("sg-")) ||
			document_list_has(groups, json_text(group)))
			return aws_fail(request, "InvalidSecurityGroupException",
				"SecurityGroups: '%.*s' is not valid, or is given twice",
				SPAN_ARGS(json_text(group)));
		json_append(request->arena, groups, group);
	}
	*ret_groups = groups;
	return 0;
}

static int check_ip_address_type(struct aws_request *request, struct span type)
{
	if (!type.data || span_is(type, "ipv4"))
		return 0;
	return aws_fail(request, "InvalidConfigurationRequestException",
		"IpAddressType: '%.*s' is not possible: a load balancer has one address here, of "
		"IPv4",
		SPAN_ARGS(type));
}

/* Rejects members that slipway does not support. */
static int check_unsupported(struct aws_request *request)
{
	static const char *const members[] = {"CustomerOwnedIpv4Pool", "IpamPools"};

	for (size_t i = 0; i < LENGTH(members); i++)
		if (!json_is_absent(json_get(request->input, members[i])))
			return aws_fail(request, "InvalidConfigurationRequestException",
				"%s: there are no address pools here; addresses come from the "
				"server's own range",
				members[i]);
	if (span_is(json_get_text(request->input, "EnablePrefixForIpv6SourceNat"), "on"))
		return aws_fail(request, "InvalidConfigurationRequestException",
			"EnablePrefixForIpv6SourceNat: load balancers have no IPv6 address here");
	return 0;
}

/* Everything that a client decides, completed: what two calls must agree in to be the same. */
static int read_settings(struct aws_request *request, enum elb_type type,
	struct json **ret_settings, struct span *ret_address)
{
	struct span scheme = json_get_text(request->input, "Scheme");
	struct json *settings = json_new_object(request->arena);
	struct json *zones, *groups;

	if (check_unsupported(request) < 0 ||
		check_ip_address_type(request, json_get_text(request->input, "IpAddressType")) <
			0 ||
		read_zones(request, type, &zones, ret_address) < 0 ||
		read_security_groups(request, &groups) < 0)
		return -EPERM;
	json_set_string(request->arena, settings, "Scheme",
		scheme.data ? scheme : SPAN("internet-facing"));
	json_set_string(request->arena, settings, "Type", span_of(elb_type_name(type)));
	json_set(request->arena, settings, "AvailabilityZones", zones);
	json_set(request->arena, settings, "SecurityGroups", groups);
	json_set_string(request->arena, settings, "IpAddressType", SPAN("ipv4"));
	*ret_settings = settings;
	return 0;
}

/* ---- answers ---- */

/* The stored document with derived members: state, and the address in the first zone. */
static const struct json *load_balancer_document(struct aws_request *request,
	const struct store_object *load_balancer)
{
	const struct elb_load_balancer_facts *facts = elb_load_balancer_facts(load_balancer);
	struct arena *arena = request->arena;
	struct json *stored, *document, *private_, *state = json_new_object(arena);
	struct json *zones = json_new_array(arena);
	struct span reason = SPAN_NONE;

	if (json_parse(load_balancer->api, arena, &stored, NULL) < 0)
		return json_new_object(arena);
	if (json_parse(load_balancer->private_, arena, &private_, NULL) == 0)
		reason = json_get_text(private_, "stateReason");
	document = json_copy_object(arena, stored);
	json_set_string(arena, state, "Code", span_of(elb_load_balancer_state_name(facts->state)));
	if (reason.length > 0)
		json_set_string(arena, state, "Reason", reason);
	json_set(arena, document, "State", state);
	JSON_EACH_ITEM (json_get(stored, "AvailabilityZones"), zone) {
		struct json *shown = json_copy_object(arena, zone);
		struct json *addresses = json_new_array(arena);

		/* Those of an application load balancer change, so AWS shows none. */
		if (facts->type != ELB_NETWORK) {
			json_append(arena, zones, zone);
			continue;
		}
		if (json_count(zones) == 0) {
			struct json *address = json_new_object(arena);

			json_set_string(arena, address,
				memchr(facts->address.data, ':', facts->address.length)
					? "IPv6Address"
					: "IpAddress",
				facts->address);
			json_append(arena, addresses, address);
		}
		json_set(arena, shown, "LoadBalancerAddresses", addresses);
		json_append(arena, zones, shown);
	}
	json_set(arena, document, "AvailabilityZones", zones);
	return document;
}

static int answer_list(struct aws_request *request, const struct json *list, struct span marker)
{
	struct json *answer = json_new_object(request->arena);

	json_set(request->arena, answer, "LoadBalancers", list);
	if (marker.data)
		json_set_string(request->arena, answer, "NextMarker", marker);
	json_write(answer, request->out);
	return 0;
}

static int answer_one(struct aws_request *request, struct span key)
{
	const struct store_object *load_balancer;
	struct json *list = json_new_array(request->arena);

	request->view = store_head(request->transaction);
	load_balancer = store_get(request->view, &elb_load_balancer_kind, key);
	request->resource = elb_load_balancer_arn(request->arena, load_balancer);
	json_append(request->arena, list, load_balancer_document(request, load_balancer));
	return answer_list(request, list, SPAN_NONE);
}

/* ---- creating ---- */

static int read_type(struct aws_request *request, enum elb_type *ret_type)
{
	struct span requested = json_get_text(request->input, "Type");

	*ret_type = ELB_APPLICATION;
	if (!requested.data || elb_type_read(requested, ret_type))
		return 0;
	return aws_fail(request, "InvalidConfigurationRequestException",
		"Type: '%.*s' is not possible. There are application and network load balancers; a "
		"gateway's GENEVE tunnels are not carried here.",
		SPAN_ARGS(requested));
}

/* Another call with the same settings is no change; one with others fails. */
static int check_same(struct aws_request *request, const struct store_object *existing,
	const struct json *settings, const struct json *tags, struct span address)
{
	static const char *const members[] = {
		"Scheme", "Type", "AvailabilityZones", "SecurityGroups", "IpAddressType"};
	struct span name = elb_load_balancer_facts(existing)->name;
	const char *differs = NULL;
	struct json *stored;

	if (json_parse(existing->api, request->arena, &stored, &request->err) < 0)
		return aws_fail_store(request);
	for (size_t i = 0; i < LENGTH(members) && !differs; i++)
		if (!json_equal(json_get(stored, members[i]), json_get(settings, members[i])))
			differs = members[i];
	if (!differs && !json_equal(elb_tags_of(request, existing), tags))
		differs = "Tags";
	if (!differs && address.data &&
		!span_equal(elb_load_balancer_facts(existing)->address, address))
		differs = "PrivateIPv4Address";
	if (differs)
		return aws_fail(request, "DuplicateLoadBalancerNameException",
			"A load balancer with the same name '%.*s' exists, but with other settings "
			"(%s)",
			SPAN_ARGS(name), differs);
	return 0;
}

static size_t count_of_type(struct aws_request *request, enum elb_type type)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &elb_load_balancer_kind,
		.index = -1,
		.prefix = aws_key_prefix(request)};
	const struct store_object *load_balancer;
	size_t count = 0;

	while ((load_balancer = store_next(&cursor)))
		count += elb_load_balancer_facts(load_balancer)->type == type;
	return count;
}

/* "NAME-0123456789.REGION.elb.DOMAIN", unique. */
static struct span new_dns_name(struct aws_request *request, struct span name, bool internal)
{
	const struct elb_context *context = request->context;
	char digits[DNS_DIGITS + 1];

	id_from_alphabet(request->random, "0123456789", DNS_DIGITS, digits);
	return arena_format(request->arena, "%s%.*s-%s.%.*s.elb.%.*s", internal ? "internal-" : "",
		SPAN_ARGS(name), digits, SPAN_ARGS(request->caller->region),
		SPAN_ARGS(context->domain));
}

static struct span lower_case(struct arena *arena, struct span text)
{
	char *lower = arena_copy(arena, text.data, text.length);

	for (size_t i = 0; i < text.length; i++)
		lower[i] = (char)tolower((unsigned char)lower[i]);
	return (struct span){lower, text.length};
}

static int put_load_balancer(struct aws_request *request, struct span key,
	const struct json *document, struct span private_, uint64_t expected)
{
	struct span api;

	if (document_text(request, document, &api) < 0)
		return -EPERM;
	if (store_put(request->transaction, &elb_load_balancer_kind, key, api, private_, expected,
		    &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

static int create(struct aws_request *request, struct span key, enum elb_type type,
	const struct json *settings, const struct json *tags, struct span wanted)
{
	struct span name = json_get_text(request->input, "Name");
	bool internal = span_is(json_get_text(settings, "Scheme"), "internal");
	struct span dns_name = new_dns_name(request, name, internal);
	char id[ELB_ID_SIZE];
	struct elb_load_balancer_facts facts = {.id = {id, ELB_ID_SIZE - 1},
		.type = type,
		.dns_name = lower_case(request->arena, dns_name),
		.state = ELB_PROVISIONING,
		.created_ms = request->now_ms};
	struct arena *arena = request->arena;
	struct json *document = json_copy_object(arena, settings);
	struct json *private_ = json_new_object(arena);
	struct json *attributes = json_new_object(arena);

	elb_new_id(request->random, id);
	if (count_of_type(request, type) >= ELB_LOAD_BALANCERS_MAX)
		return aws_fail(request, "TooManyLoadBalancersException",
			"There are %d %s load balancers, the limit", ELB_LOAD_BALANCERS_MAX,
			elb_type_name(type));
	if (elb_load_balancer_take_address(request, wanted, &facts.address) < 0)
		return -EPERM;
	json_set_string(arena, document, "LoadBalancerName", name);
	json_set_string(arena, document, "LoadBalancerArn",
		aws_arn_of_key(arena, "elasticloadbalancing", key,
			arena_format(arena, "loadbalancer/%s/%.*s/%.*s",
				type == ELB_NETWORK ? "net" : "app", SPAN_ARGS(name),
				SPAN_ARGS(facts.id))));
	json_set_string(arena, document, "DNSName", dns_name);
	json_set_string(arena, document, "CanonicalHostedZoneId", SPAN(HOSTED_ZONE_ID));
	json_set_string(arena, document, "VpcId", SPAN(ELB_VPC_ID));
	json_set_time(arena, document, "CreatedTime", request->now_ms);
	if (internal)
		json_set_string(arena, attributes, "ipv6.deny_all_igw_traffic", SPAN("true"));
	json_set(arena, private_, "attributes", attributes);
	json_set(arena, private_, "tags", tags);
	elb_load_balancer_write_facts(&facts, arena, private_);
	return put_load_balancer(request, key, document, json_to_text(private_, arena),
		STORE_ABSENT);
}

int elb_load_balancer_create(struct aws_request *request)
{
	struct span name = json_get_text(request->input, "Name");
	const struct store_object *existing;
	struct span key, wanted;
	const struct json *tags;
	struct json *settings;
	enum elb_type type;

	if (elb_check_name(request, "load balancer", name) < 0 || read_type(request, &type) < 0 ||
		elb_tags_read(request, &tags) < 0 ||
		read_settings(request, type, &settings, &wanted) < 0)
		return -EPERM;
	if (span_starts_with(name, SPAN("internal-")))
		return aws_fail_input(request,
			"Name: the load balancer name '%.*s' must not begin with 'internal-'",
			SPAN_ARGS(name));
	key = aws_key(request, name);
	existing = store_get(request->view, &elb_load_balancer_kind, key);
	if (existing) {
		if (check_same(request, existing, settings, tags, wanted) < 0)
			return -EPERM;
	} else if (create(request, key, type, settings, tags, wanted) < 0) {
		return -EPERM;
	}
	return answer_one(request, key);
}

/* ---- describing ---- */

static int describe_requested(struct aws_request *request, const struct json *arns,
	const struct json *names)
{
	struct json *list = json_new_array(request->arena);
	struct span scope = aws_key_prefix(request);
	const struct store_object *found;

	JSON_EACH_ITEM (arns, arn) {
		if (check_arn(request, json_text(arn)) < 0)
			return -EPERM;
		found = elb_load_balancer_find(request->view, scope, json_text(arn));
		if (!found)
			return aws_fail(request, "LoadBalancerNotFoundException",
				"One or more load balancers not found: '%.*s'",
				SPAN_ARGS(json_text(arn)));
		json_append(request->arena, list, load_balancer_document(request, found));
	}
	JSON_EACH_ITEM (names, name) {
		found = store_get(request->view, &elb_load_balancer_kind,
			aws_key(request, json_text(name)));
		if (!found)
			return aws_fail(request, "LoadBalancerNotFoundException",
				"Load balancers '[%.*s]' not found", SPAN_ARGS(json_text(name)));
		json_append(request->arena, list, load_balancer_document(request, found));
	}
	return answer_list(request, list, SPAN_NONE);
}

int elb_load_balancer_describe(struct aws_request *request)
{
	const struct json *arns = json_get(request->input, "LoadBalancerArns");
	const struct json *names = json_get(request->input, "Names");
	struct store_cursor cursor = {.view = request->view,
		.kind = &elb_load_balancer_kind,
		.index = -1,
		.prefix = aws_key_prefix(request)};
	struct json *list = json_new_array(request->arena);
	const struct store_object *load_balancer, *last = NULL;
	struct aws_page page;

	if (json_count(arns) > 0 && json_count(names) > 0)
		return aws_fail_input(request,
			"Load balancer names and load balancer ARNs cannot both be given");
	if (json_count(arns) > ELB_DESCRIBE_MAX || json_count(names) > ELB_DESCRIBE_MAX)
		return aws_fail_input(request, "At most %d load balancers can be given at once",
			ELB_DESCRIBE_MAX);
	if (aws_page_read(request, ELB_PAGE_MAX, ELB_PAGE_MAX, SPAN(""), &page) < 0)
		return -EPERM;
	if (json_count(arns) + json_count(names) > 0)
		return describe_requested(request, arns, names);
	cursor.after_key = page.after_key;
	while ((load_balancer = store_next(&cursor)) && json_count(list) < page.most) {
		json_append(request->arena, list, load_balancer_document(request, load_balancer));
		last = load_balancer;
	}
	return answer_list(request, list,
		load_balancer && last ? aws_page_token(request, SPAN(""), SPAN(""), last->key)
				      : SPAN_NONE);
}

/* ---- deleting ---- */

/* A cursor does not survive a change, so the listeners are collected first. */
static int delete_listeners(struct aws_request *request, const struct store_object *load_balancer)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &elb_listener_kind,
		.index = -1,
		.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(load_balancer->key))};
	const struct store_object *listeners[ELB_LISTENERS_MAX], *listener;
	size_t count = 0;

	while (count < LENGTH(listeners) && (listener = store_next(&cursor)))
		listeners[count++] = listener;
	for (size_t i = 0; i < count; i++)
		if (elb_listener_remove(request->transaction, listeners[i], &request->err) < 0)
			return aws_fail_store(request);
	return 0;
}

int elb_load_balancer_delete(struct aws_request *request)
{
	struct span arn = json_get_text(request->input, "LoadBalancerArn");
	const struct store_object *load_balancer;

	if (check_arn(request, arn) < 0)
		return -EPERM;
	load_balancer = elb_load_balancer_find(request->view, aws_key_prefix(request), arn);
	if (load_balancer) {
		if (span_is(elb_attribute(load_balancer, "deletion_protection.enabled",
				    request->arena),
			    "true"))
			return aws_fail(request, "OperationNotPermittedException",
				"Load balancer '%.*s' cannot be deleted because deletion "
				"protection is enabled",
				SPAN_ARGS(arn));
		if (delete_listeners(request, load_balancer) < 0)
			return -EPERM;
		if (store_delete(request->transaction, &elb_load_balancer_kind, load_balancer->key,
			    load_balancer->revision, &request->err) < 0)
			return aws_fail_store(request);
	}
	buffer_add_string(request->out, "{}");
	return 0;
}

/* ---- changing ---- */

static int open_document(struct aws_request *request, const struct store_object **ret_load_balancer,
	struct json **ret_document)
{
	struct json *stored;

	if (elb_request_load_balancer(request, ret_load_balancer) < 0)
		return -EPERM;
	if (json_parse((*ret_load_balancer)->api, request->arena, &stored, &request->err) < 0)
		return aws_fail_store(request);
	*ret_document = json_copy_object(request->arena, stored);
	return 0;
}

int elb_load_balancer_set_subnets(struct aws_request *request)
{
	const struct store_object *load_balancer;
	const struct elb_load_balancer_facts *facts;
	struct json *document, *zones, *answer = json_new_object(request->arena);
	struct span wanted;

	if (open_document(request, &load_balancer, &document) < 0)
		return -EPERM;
	facts = elb_load_balancer_facts(load_balancer);
	if (json_count(json_get(request->input, "Subnets")) +
			json_count(json_get(request->input, "SubnetMappings")) ==
		0)
		return aws_fail_input(request, "Subnets or SubnetMappings must be given");
	if (check_unsupported(request) < 0 ||
		check_ip_address_type(request, json_get_text(request->input, "IpAddressType")) <
			0 ||
		read_zones(request, facts->type, &zones, &wanted) < 0)
		return -EPERM;
	if (wanted.data && !span_equal(wanted, facts->address))
		return aws_fail(request, "InvalidConfigurationRequestException",
			"SubnetMappings: the address of a load balancer does not change; it is "
			"%.*s",
			SPAN_ARGS(facts->address));
	json_set(request->arena, document, "AvailabilityZones", zones);
	if (put_load_balancer(request, load_balancer->key, document, load_balancer->private_,
		    load_balancer->revision) < 0)
		return -EPERM;
	request->view = store_head(request->transaction);
	load_balancer = store_get(request->view, &elb_load_balancer_kind, load_balancer->key);
	json_set(request->arena, answer, "AvailabilityZones",
		json_get(load_balancer_document(request, load_balancer), "AvailabilityZones"));
	json_set_string(request->arena, answer, "IpAddressType", SPAN("ipv4"));
	json_write(answer, request->out);
	return 0;
}

int elb_load_balancer_set_security_groups(struct aws_request *request)
{
	const struct store_object *load_balancer;
	struct json *document, *groups, *answer = json_new_object(request->arena);

	if (open_document(request, &load_balancer, &document) < 0 ||
		read_security_groups(request, &groups) < 0)
		return -EPERM;
	if (elb_load_balancer_facts(load_balancer)->type == ELB_NETWORK &&
		json_count(json_get(document, "SecurityGroups")) == 0 && json_count(groups) > 0)
		return aws_fail(request, "InvalidConfigurationRequestException",
			"SecurityGroups: a network load balancer that was created without security "
			"groups cannot get any");
	json_set(request->arena, document, "SecurityGroups", groups);
	if (put_load_balancer(request, load_balancer->key, document, load_balancer->private_,
		    load_balancer->revision) < 0)
		return -EPERM;
	json_set(request->arena, answer, "SecurityGroupIds", groups);
	json_write(answer, request->out);
	return 0;
}

int elb_load_balancer_set_ip_address_type(struct aws_request *request)
{
	const struct store_object *load_balancer;

	if (elb_request_load_balancer(request, &load_balancer) < 0 ||
		check_ip_address_type(request, json_get_text(request->input, "IpAddressType")) < 0)
		return -EPERM;
	buffer_add_string(request->out, "{\"IpAddressType\":\"ipv4\"}");
	return 0;
}

int elb_load_balancer_describe_attributes(struct aws_request *request)
{
	const struct store_object *load_balancer;

	if (elb_request_load_balancer(request, &load_balancer) < 0)
		return -EPERM;
	return elb_attributes_describe(request, load_balancer);
}

int elb_load_balancer_modify_attributes(struct aws_request *request)
{
	const struct store_object *load_balancer;

	if (elb_request_load_balancer(request, &load_balancer) < 0)
		return -EPERM;
	return elb_attributes_modify(request, load_balancer);
}
