/* The operations on target groups. Which load balancers use one is derived from listeners and rules. */
#include "elb/target_group.h"

#include "aws/arn.h"
#include "aws/document.h"
#include "aws/key.h"
#include "aws/page.h"
#include "base/memory.h"
#include "elb/attribute.h"
#include "elb/health_check.h"
#include "elb/listener.h"
#include "elb/load_balancer.h"
#include "elb/tags.h"
#include "elb/target.h"

#define VPC_MAX 64 /* bytes of "vpc-…" */

/* ---- finding ---- */

static int check_arn(struct aws_request *request, struct span arn)
{
	if (elb_arn_has_type(arn, "targetgroup"))
		return 0;
	return aws_fail_input(request, "'%.*s' is not a valid target group ARN", SPAN_ARGS(arn));
}

int elb_request_target_group(struct aws_request *request, const struct store_object **ret_group)
{
	struct span arn = json_get_text(request->input, "TargetGroupArn");
	const struct store_object *found;

	if (check_arn(request, arn) < 0)
		return -EPERM;
	found = elb_target_group_find(request->view, aws_key_prefix(request), arn);
	if (!found)
		return aws_fail(request, "TargetGroupNotFoundException",
			"Target group '%.*s' not found", SPAN_ARGS(arn));
	*ret_group = found;
	return 0;
}

void elb_target_group_resources(struct aws_request *request, struct aws_resources *resources)
{
	resources->arns[resources->count++] = json_get_text(request->input, "TargetGroupArn");
}

void elb_target_group_create_resources(struct aws_request *request, struct aws_resources *resources)
{
	resources->arns[resources->count++] = aws_arn_format(request->arena, "elasticloadbalancing",
		request->caller->region, request->caller->account, "targetgroup/%.*s/*",
		SPAN_ARGS(json_get_text(request->input, "Name")));
}

/* ---- answers ---- */

/* Adds the ARN of a load balancer that is not yet in the list. */
static void add_load_balancer(struct aws_request *request, struct span name, struct json *arns)
{
	const struct store_object *load_balancer =
		store_get(request->view, &elb_load_balancer_kind, aws_key(request, name));
	struct span arn;

	if (!load_balancer)
		return;
	arn = elb_load_balancer_arn(request->arena, load_balancer);
	if (!document_list_has(arns, arn))
		json_append(request->arena, arns, json_new_string(request->arena, arn));
}

static struct json *load_balancers_of(struct aws_request *request, const struct store_object *group)
{
	struct store_cursor listeners = {.view = request->view,
		.kind = &elb_listener_kind,
		.index = ELB_LISTENER_BY_GROUP,
		.prefix = group->key,
		.exact = true};
	struct store_cursor rules = {.view = request->view,
		.kind = &elb_rule_kind,
		.index = ELB_RULE_BY_GROUP,
		.prefix = group->key,
		.exact = true};
	struct json *arns = json_new_array(request->arena);
	const struct store_object *object;

	while ((object = store_next(&listeners)))
		add_load_balancer(request, elb_listener_facts(object)->load_balancer, arns);
	while ((object = store_next(&rules)))
		add_load_balancer(request, elb_rule_facts(object)->load_balancer, arns);
	return arns;
}

static const struct json *group_document(struct aws_request *request,
	const struct store_object *group)
{
	struct json *stored, *document;

	if (json_parse(group->api, request->arena, &stored, NULL) < 0)
		return json_new_object(request->arena);
	document = json_copy_object(request->arena, stored);
	json_set(request->arena, document, "LoadBalancerArns", load_balancers_of(request, group));
	return document;
}

static int answer_list(struct aws_request *request, const struct json *list, struct span marker)
{
	struct json *answer = json_new_object(request->arena);

	json_set(request->arena, answer, "TargetGroups", list);
	if (marker.data)
		json_set_string(request->arena, answer, "NextMarker", marker);
	json_write(answer, request->out);
	return 0;
}

static int answer_one(struct aws_request *request, struct span key)
{
	struct json *list = json_new_array(request->arena);
	const struct store_object *group;

	request->view = store_head(request->transaction);
	group = store_get(request->view, &elb_target_group_kind, key);
	request->resource = elb_target_group_arn(request->arena, group);
	json_append(request->arena, list, group_document(request, group));
	return answer_list(request, list, SPAN_NONE);
}

/* ---- creating ---- */

static int check_target_type(struct aws_request *request, struct span type)
{
	if (!type.data || span_is(type, "instance") || span_is(type, "ip"))
		return 0;
	return aws_fail(request, "InvalidConfigurationRequestException",
		"TargetType: '%.*s' is not possible here: %s. Use instance or ip.", SPAN_ARGS(type),
		span_is(type, "lambda")
			? "there are no Lambda functions"
			: "load balancers are not targets of others; register their "
			  "address as ip");
}

static int read_protocol(struct aws_request *request, enum elb_protocol *ret_protocol)
{
	struct span requested = json_get_text(request->input, "Protocol");

	if (!requested.data)
		return aws_fail_input(request, "Protocol: a protocol must be specified");
	if (!elb_protocol_read(requested, ret_protocol))
		return aws_fail(request, "InvalidConfigurationRequestException",
			"Protocol: '%.*s' is not carried here. Use HTTP, HTTPS, TCP, TLS, UDP or "
			"TCP_UDP.",
			SPAN_ARGS(requested));
	return 0;
}

static int check_version(struct aws_request *request, enum elb_protocol protocol)
{
	struct span version = json_get_text(request->input, "ProtocolVersion");

	if (!version.data)
		return 0;
	if (protocol != ELB_HTTP && protocol != ELB_HTTPS)
		return aws_fail(request, "InvalidConfigurationRequestException",
			"ProtocolVersion: is for target groups with protocol HTTP or HTTPS only");
	if (span_is(version, "HTTP2") || span_is(version, "GRPC"))
		return aws_fail(request, "InvalidConfigurationRequestException",
			"ProtocolVersion: '%.*s' is not possible here: requests go to targets as "
			"HTTP/1.1 (HTTP1). Clients can use HTTP/2; for gRPC take a network load "
			"balancer with TCP or TLS.",
			SPAN_ARGS(version));
	if (!span_is(version, "HTTP1"))
		return aws_fail_input(request,
			"ProtocolVersion: '%.*s' must be HTTP1, HTTP2 or GRPC", SPAN_ARGS(version));
	return 0;
}

static int read_vpc(struct aws_request *request, struct span *ret_vpc)
{
	struct span vpc = json_get_text(request->input, "VpcId");

	if (!vpc.data) {
		*ret_vpc = SPAN(ELB_VPC_ID);
		return 0;
	}
	if (!span_starts_with(vpc, SPAN("vpc-")) || vpc.length > VPC_MAX)
		return aws_fail_input(request, "VpcId: the VPC ID '%.*s' is not valid",
			SPAN_ARGS(vpc));
	for (size_t i = 4; i < vpc.length; i++)
		if (!((vpc.data[i] >= '0' && vpc.data[i] <= '9') ||
			    (vpc.data[i] >= 'a' && vpc.data[i] <= 'z') || vpc.data[i] == '-'))
			return aws_fail_input(request, "VpcId: the VPC ID '%.*s' is not valid",
				SPAN_ARGS(vpc));
	*ret_vpc = vpc;
	return 0;
}

/* Everything that a client decides, completed: what two calls must agree in to be the same. */
static int read_settings(struct aws_request *request, struct elb_target_group_facts *facts,
	struct json **ret_settings)
{
	struct span type = json_get_text(request->input, "TargetType");
	struct span ip_type = json_get_text(request->input, "IpAddressType");
	int64_t port = json_get_integer(request->input, "Port", 0);
	struct json *settings = json_new_object(request->arena);
	struct span vpc;

	if (check_target_type(request, type) < 0 || read_protocol(request, &facts->protocol) < 0 ||
		check_version(request, facts->protocol) < 0 || read_vpc(request, &vpc) < 0)
		return -EPERM;
	if (port < 1 || port > UINT16_MAX)
		return aws_fail_input(request, "Port: a port from 1 to %d must be specified",
			UINT16_MAX);
	if (!json_is_absent(json_get(request->input, "TargetControlPort")))
		return aws_fail(request, "InvalidConfigurationRequestException",
			"TargetControlPort: there is no target optimizer here");
	facts->port = port;
	facts->instances = !type.data || span_is(type, "instance");
	facts->ipv6 = span_is(ip_type, "ipv6");
	if (facts->ipv6 && facts->instances)
		return aws_fail(request, "InvalidConfigurationRequestException",
			"IpAddressType: ipv6 is possible for ip targets only");
	json_set_string(request->arena, settings, "Protocol",
		span_of(elb_protocol_name(facts->protocol)));
	json_set_integer(request->arena, settings, "Port", port);
	json_set_string(request->arena, settings, "VpcId", vpc);
	json_set_string(request->arena, settings, "TargetType",
		facts->instances ? SPAN("instance") : SPAN("ip"));
	json_set_string(request->arena, settings, "IpAddressType",
		facts->ipv6 ? SPAN("ipv6") : SPAN("ipv4"));
	if (facts->protocol == ELB_HTTP || facts->protocol == ELB_HTTPS)
		json_set_string(request->arena, settings, "ProtocolVersion", SPAN("HTTP1"));
	*ret_settings = settings;
	return elb_health_check_read(request, facts->protocol, settings);
}

/* Another call with the same settings is no change; one with others fails. */
static int check_same(struct aws_request *request, const struct store_object *existing,
	const struct json *settings, const struct json *tags)
{
	struct json *stored, *plain;

	if (json_parse(existing->api, request->arena, &stored, &request->err) < 0)
		return aws_fail_store(request);
	plain = json_copy_object(request->arena, stored);
	json_unset(plain, "TargetGroupArn");
	json_unset(plain, "TargetGroupName");
	if (!json_equal(plain, settings) || !json_equal(elb_tags_of(request, existing), tags))
		return aws_fail(request, "DuplicateTargetGroupNameException",
			"A target group with the same name '%.*s' exists, but with other settings",
			SPAN_ARGS(elb_target_group_facts(existing)->name));
	return 0;
}

static int put_group(struct aws_request *request, struct span key, const struct json *document,
	struct span private_, uint64_t expected)
{
	struct span api;

	if (document_text(request, document, &api) < 0)
		return -EPERM;
	if (store_put(request->transaction, &elb_target_group_kind, key, api, private_, expected,
		    &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

static int create(struct aws_request *request, struct span key,
	struct elb_target_group_facts *facts, const struct json *settings, const struct json *tags)
{
	struct span name = json_get_text(request->input, "Name");
	struct arena *arena = request->arena;
	struct json *document = json_new_object(arena);
	struct json *private_ = json_new_object(arena);
	char id[ELB_ID_SIZE];

	if (store_count(request->view, &elb_target_group_kind, -1, aws_key_prefix(request),
		    false) >= ELB_TARGET_GROUPS_MAX)
		return aws_fail(request, "TooManyTargetGroupsException",
			"There are %d target groups, the limit", ELB_TARGET_GROUPS_MAX);
	elb_new_id(request->random, id);
	facts->id = (struct span){id, ELB_ID_SIZE - 1};
	facts->created_ms = request->now_ms;
	json_set_string(arena, document, "TargetGroupArn",
		aws_arn_of_key(arena, "elasticloadbalancing", key,
			arena_format(arena, "targetgroup/%.*s/%.*s", SPAN_ARGS(name),
				SPAN_ARGS(facts->id))));
	json_set_string(arena, document, "TargetGroupName", name);
	for (size_t i = 0; i < settings->object.count; i++)
		json_set(arena, document,
			arena_copy_span(arena, settings->object.members[i].name).data,
			settings->object.members[i].value);
	json_set(arena, private_, "attributes", json_new_object(arena));
	json_set(arena, private_, "tags", tags);
	elb_target_group_write_facts(facts, arena, private_);
	return put_group(request, key, document, json_to_text(private_, arena), STORE_ABSENT);
}

int elb_target_group_create(struct aws_request *request)
{
	struct span name = json_get_text(request->input, "Name");
	struct elb_target_group_facts facts = {0};
	const struct store_object *existing;
	const struct json *tags;
	struct json *settings;
	struct span key;

	if (elb_check_name(request, "target group", name) < 0 ||
		elb_tags_read(request, &tags) < 0 || read_settings(request, &facts, &settings) < 0)
		return -EPERM;
	key = aws_key(request, name);
	existing = store_get(request->view, &elb_target_group_kind, key);
	if (existing) {
		if (check_same(request, existing, settings, tags) < 0)
			return -EPERM;
	} else if (create(request, key, &facts, settings, tags) < 0) {
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
		found = elb_target_group_find(request->view, scope, json_text(arn));
		if (!found)
			return aws_fail(request, "TargetGroupNotFoundException",
				"One or more target groups not found");
		json_append(request->arena, list, group_document(request, found));
	}
	JSON_EACH_ITEM (names, name) {
		found = store_get(request->view, &elb_target_group_kind,
			aws_key(request, json_text(name)));
		if (!found)
			return aws_fail(request, "TargetGroupNotFoundException",
				"One or more target groups not found");
		json_append(request->arena, list, group_document(request, found));
	}
	return answer_list(request, list, SPAN_NONE);
}

/* All of them, or those that a load balancer uses. */
static int describe_page(struct aws_request *request, const struct aws_page *page,
	struct span load_balancer)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &elb_target_group_kind,
		.index = -1,
		.prefix = aws_key_prefix(request),
		.after_key = page->after_key};
	struct json *list = json_new_array(request->arena);
	const struct store_object *group, *last = NULL;
	bool more = false;

	while (!more && (group = store_next(&cursor))) {
		if (load_balancer.data &&
			!document_list_has(load_balancers_of(request, group), load_balancer))
			continue;
		more = json_count(list) == page->most;
		if (more)
			break;
		json_append(request->arena, list, group_document(request, group));
		last = group;
	}
	return answer_list(request, list,
		more ? aws_page_token(request, load_balancer.data ? load_balancer : SPAN(""),
			       SPAN(""), last->key)
		     : SPAN_NONE);
}

int elb_target_group_describe(struct aws_request *request)
{
	const struct json *arns = json_get(request->input, "TargetGroupArns");
	const struct json *names = json_get(request->input, "Names");
	struct span load_balancer = json_get_text(request->input, "LoadBalancerArn");
	const struct store_object *found;
	struct aws_page page;

	if ((json_count(arns) > 0) + (json_count(names) > 0) + (load_balancer.data != NULL) > 1)
		return aws_fail_input(request, "Only one of LoadBalancerArn, TargetGroupArns and "
					       "Names can be given");
	if (json_count(arns) > ELB_DESCRIBE_MAX || json_count(names) > ELB_DESCRIBE_MAX)
		return aws_fail_input(request, "At most %d target groups can be given at once",
			ELB_DESCRIBE_MAX);
	if (aws_page_read(request, ELB_PAGE_MAX, ELB_PAGE_MAX,
		    load_balancer.data ? load_balancer : SPAN(""), &page) < 0)
		return -EPERM;
	if (json_count(arns) + json_count(names) > 0)
		return describe_requested(request, arns, names);
	if (load_balancer.data && elb_request_load_balancer(request, &found) < 0)
		return -EPERM;
	return describe_page(request, &page, load_balancer);
}

/* ---- changing and deleting ---- */

int elb_target_group_modify(struct aws_request *request)
{
	const struct store_object *group;
	struct json *stored, *document;

	if (elb_request_target_group(request, &group) < 0)
		return -EPERM;
	if (json_parse(group->api, request->arena, &stored, &request->err) < 0)
		return aws_fail_store(request);
	document = json_copy_object(request->arena, stored);
	if (elb_health_check_read(request, elb_target_group_facts(group)->protocol, document) < 0 ||
		put_group(request, group->key, document, group->private_, group->revision) < 0)
		return -EPERM;
	return answer_one(request, group->key);
}

/* Its targets go with it, at once: nothing sends them traffic. */
static int delete_targets(struct aws_request *request, const struct store_object *group)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &elb_target_kind,
		.index = -1,
		.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(group->key))};
	struct span *keys = arena_allocate_array(request->arena, STORE_CHANGES_MAX, sizeof(*keys));
	const struct store_object *target;
	size_t count = 0;

	while (count < STORE_CHANGES_MAX && (target = store_next(&cursor)))
		keys[count++] = target->key;
	for (size_t i = 0; i < count; i++)
		if (store_delete(request->transaction, &elb_target_kind, keys[i], STORE_ANY,
			    &request->err) < 0)
			return aws_fail_store(request);
	return 0;
}

int elb_target_group_delete(struct aws_request *request)
{
	struct span arn = json_get_text(request->input, "TargetGroupArn");
	const struct store_object *group;

	if (check_arn(request, arn) < 0)
		return -EPERM;
	group = elb_target_group_find(request->view, aws_key_prefix(request), arn);
	if (group) {
		if (elb_target_group_is_used(request->view, group))
			return aws_fail(request, "ResourceInUseException",
				"Target group '%.*s' is currently in use by a listener or a rule",
				SPAN_ARGS(arn));
		if (delete_targets(request, group) < 0)
			return -EPERM;
		if (store_delete(request->transaction, &elb_target_group_kind, group->key,
			    group->revision, &request->err) < 0)
			return aws_fail_store(request);
	}
	buffer_add_string(request->out, "{}");
	return 0;
}

int elb_target_group_describe_attributes(struct aws_request *request)
{
	const struct store_object *group;

	if (elb_request_target_group(request, &group) < 0)
		return -EPERM;
	return elb_attributes_describe(request, group);
}

int elb_target_group_modify_attributes(struct aws_request *request)
{
	const struct store_object *group;

	if (elb_request_target_group(request, &group) < 0)
		return -EPERM;
	return elb_attributes_modify(request, group);
}
