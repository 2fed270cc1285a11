/* Load balancers through the one door: names, sameness, addresses, pages, attributes, tags, deletion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/policy.h"
#include "elb/load_balancer.h"
#include "elb/test_server.h"

static const char *create(struct test_server *server, const char *name)
{
	test_call(server, "CreateLoadBalancer", "{'Name':'%s'}", name);
	return test_text_of(server, test_item(server, "LoadBalancers", 0), "LoadBalancerArn");
}

/* Of those that show their address. */
static void create_network(struct test_server *server, const char *name)
{
	test_call(server, "CreateLoadBalancer", "{'Name':'%s','Type':'network'}", name);
}

static void every_row_is_in_the_model(void **state)
{
	(void)state;
	for (size_t i = 0; i < elb_service.operation_count; i++) {
		const struct aws_operation *operation = &elb_service.operations[i];

		assert_non_null(shape_find_operation(&shape_elasticloadbalancingv2,
			span_of(operation->name)));
		assert_non_null(operation->run);
		if (i > 0)
			assert_true(strcmp(operation[-1].name, operation->name) < 0);
	}
}

static void creates_what_describe_shows(void **state)
{
	struct test_server *server = *state;
	const struct json *created, *zone;
	struct json *copy;
	struct span text;
	struct arena *arena = arena_new(0);

	test_call(server, "CreateLoadBalancer",
		"{'Name':'Web','Type':'network','Scheme':'internal','Subnets':['subnet-1','subnet-"
		"2'],'SecurityGroups':['sg-1'],'Tags':[{'Key':'a','Value':'b'}]}");
	created = test_item(server, "LoadBalancers", 0);
	assert_string_equal(test_text_of(server, created, "LoadBalancerName"), "Web");
	assert_string_equal(test_text_of(server, created, "Type"), "network");
	assert_string_equal(test_text_of(server, created, "Scheme"), "internal");
	assert_string_equal(test_text_of(server, created, "State.Code"), "provisioning");
	assert_string_equal(test_text_of(server, created, "IpAddressType"), "ipv4");
	text = json_get_text(created, "LoadBalancerArn");
	assert_true(span_starts_with(text,
		SPAN("arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/net/Web/")));
	text = json_get_text(created, "DNSName");
	assert_true(span_starts_with(text, SPAN("internal-Web-")));
	assert_true(span_ends_with(text, SPAN(".eu-west-1.elb.slipway.internal")));
	zone = json_item(json_get(created, "AvailabilityZones"), 1);
	assert_string_equal(test_text_of(server, zone, "ZoneName"), "eu-west-1b");
	assert_string_equal(test_text_of(server, zone, "SubnetId"), "subnet-2");
	zone = json_item(json_get(created, "AvailabilityZones"), 0);
	text = json_get_text(json_item(json_get(zone, "LoadBalancerAddresses"), 0), "IpAddress");
	assert_true(span_starts_with(text, SPAN("127.192.")));
	/* The answer dies with the next call. */
	assert_int_equal(json_parse(json_to_text(created, arena), arena, &copy, NULL), 0);
	test_call(server, "DescribeLoadBalancers", "{'Names':['Web']}");
	assert_true(json_equal(test_item(server, "LoadBalancers", 0), copy));
	test_call(server, "DescribeLoadBalancers", "{'LoadBalancerArns':['%.*s']}",
		SPAN_ARGS(json_get_text(copy, "LoadBalancerArn")));
	assert_true(json_equal(test_item(server, "LoadBalancers", 0), copy));
	arena_free(arena);
}

static void names_have_rules(void **state)
{
	struct test_server *server = *state;
	static const char *const bad[] = {"-a", "a-", "a_b", "a b", "a/b",
		"abcdefghijklmnopqrstuvwxyz1234567", "internal-web"};

	for (size_t i = 0; i < LENGTH(bad); i++)
		test_refused(server, "CreateLoadBalancer", "ValidationError", "Name",
			"{'Name':'%s'}", bad[i]);
	test_refused(server, "CreateLoadBalancer", "ValidationError", "Name",
		"{'Name':'%0100000d'}", 0);
	assert_in_range(test_message(server).length, 1, AWS_MESSAGE_MAX);
	create(server, "abcdefghijklmnopqrstuvwxyz123456");
	test_call(server, "DescribeLoadBalancers", "{}");
	assert_int_equal(json_count(json_get(server->answer, "LoadBalancers")), 1);
}

static void the_same_again_is_no_change(void **state)
{
	struct test_server *server = *state;
	char arn[256];
	uint64_t revision;
	_view_ struct store_view *view = NULL;

	test_call(server, "CreateLoadBalancer",
		"{'Name':'web','Subnets':['subnet-1'],'Tags':[{'Key':'a'}]}");
	snprintf(arn, sizeof(arn), "%s",
		test_text_of(server, test_item(server, "LoadBalancers", 0), "LoadBalancerArn"));
	view = store_view_open(server->store);
	revision = store_view_revision(view);
	store_view_close(view);
	test_call(server, "CreateLoadBalancer",
		"{'Name':'web','Subnets':['subnet-1'],'Tags':[{'Key':'a','Value':''}]}");
	assert_string_equal(test_text_of(server, test_item(server, "LoadBalancers", 0),
				    "LoadBalancerArn"),
		arn);
	view = store_view_open(server->store);
	assert_int_equal(store_view_revision(view), revision);
	test_refused(server, "CreateLoadBalancer", "DuplicateLoadBalancerNameException",
		"AvailabilityZones", "{'Name':'web','Subnets':['subnet-2'],'Tags':[{'Key':'a'}]}");
	test_refused(server, "CreateLoadBalancer", "DuplicateLoadBalancerNameException", "Tags",
		"{'Name':'web','Subnets':['subnet-1']}");
	test_refused(server, "CreateLoadBalancer", "DuplicateLoadBalancerNameException", "Type",
		"{'Name':'web','Type':'network','Subnets':['subnet-1'],'Tags':[{'Key':'a'}]}");
	test_refused(server, "CreateLoadBalancer", "DuplicateLoadBalancerNameException", "Scheme",
		"{'Name':'web','Scheme':'internal','Subnets':['subnet-1'],'Tags':[{'Key':'a'}]}");
}

static void refuses_what_there_is_not(void **state)
{
	struct test_server *server = *state;
	static const struct {
		const char *type, *words, *input;
	} rows[] = {
		{"InvalidConfigurationRequestException", "GENEVE", "'Type':'gateway'"},
		{"InvalidConfigurationRequestException", "IPv4", "'IpAddressType':'dualstack'"},
		{"InvalidSubnetException", "not valid", "'Subnets':['s-1']"},
		{"InvalidSubnetException", "not valid", "'Subnets':['subnet-a b']"},
		{"InvalidConfigurationRequestException", "twice",
			"'Subnets':['subnet-1','subnet-1']"},
		{"ValidationError", "Only one",
			"'Subnets':['subnet-1'],'SubnetMappings':[{'SubnetId':'subnet-2'}]"},
		{"AllocationIdNotFoundException", "Elastic",
			"'Type':'network','SubnetMappings':[{'SubnetId':'subnet-2','AllocationId':"
			"'eipalloc-1'}]"},
		{"InvalidConfigurationRequestException", "network load balancers only",
			"'SubnetMappings':[{'SubnetId':'subnet-2','PrivateIPv4Address':'127.192.0."
			"1'}]"},
		{"InvalidConfigurationRequestException", "is not in",
			"'Type':'network','SubnetMappings':[{'SubnetId':'subnet-2',"
			"'PrivateIPv4Address':'10.0.0.1'}]"},
		{"InvalidSecurityGroupException", "not valid", "'SecurityGroups':['web']"},
		{"InvalidConfigurationRequestException", "pools", "'CustomerOwnedIpv4Pool':'p-1'"},
		{"DuplicateTagKeysException", "twice", "'Tags':[{'Key':'a'},{'Key':'a'}]"},
		{"ValidationError", "aws:", "'Tags':[{'Key':'aws:a'}]"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		test_refused(server, "CreateLoadBalancer", rows[i].type, rows[i].words,
			"{'Name':'web',%s}", rows[i].input);
	test_call(server, "DescribeLoadBalancers", "{}");
	assert_int_equal(json_count(json_get(server->answer, "LoadBalancers")), 0);
}

static const char *address_of(struct test_server *server)
{
	const struct json *zone =
		json_item(json_get(test_item(server, "LoadBalancers", 0), "AvailabilityZones"), 0);

	return test_text_of(server, json_item(json_get(zone, "LoadBalancerAddresses"), 0),
		"IpAddress");
}

static void a_range_gives_each_its_own_address(void **state)
{
	struct test_server *server = *state;
	bool seen[8] = {false};

	test_set_addresses(server, SPAN("10.1.2.0/29"));
	for (int i = 0; i < 6; i++) {
		char name[16];
		int last = 0;

		snprintf(name, sizeof(name), "web%d", i);
		create_network(server, name);
		assert_int_equal(sscanf(address_of(server), "10.1.2.%d", &last), 1);
		assert_in_range(last, 1, 6);
		assert_false(seen[last]);
		seen[last] = true;
	}
	test_refused(server, "CreateLoadBalancer", "TooManyLoadBalancersException", "10.1.2.0/29",
		"{'Name':'one-more'}");
	/* One that goes leaves its address to the next. */
	test_call(server, "DescribeLoadBalancers", "{'Names':['web3']}");
	test_call(server, "DeleteLoadBalancer", "{'LoadBalancerArn':'%s'}",
		test_text_of(server, test_item(server, "LoadBalancers", 0), "LoadBalancerArn"));
	create_network(server, "one-more");
}

static void the_smallest_ranges_have_addresses(void **state)
{
	struct test_server *server = *state;

	test_set_addresses(server, SPAN("192.0.2.7/32"));
	create_network(server, "a");
	assert_string_equal(address_of(server), "192.0.2.7");
	test_refused(server, "CreateLoadBalancer", "TooManyLoadBalancersException", "192.0.2.7/32",
		"{'Name':'b'}");
	test_set_addresses(server, SPAN("192.0.2.8/31"));
	create_network(server, "c");
	create_network(server, "d");
	test_refused(server, "CreateLoadBalancer", "TooManyLoadBalancersException", "192.0.2.8/31",
		"{'Name':'e'}");
}

static void application_load_balancers_show_no_address(void **state)
{
	struct test_server *server = *state;
	const struct json *zone;

	test_call(server, "CreateLoadBalancer", "{'Name':'a','Subnets':['subnet-1']}");
	zone = json_item(json_get(test_item(server, "LoadBalancers", 0), "AvailabilityZones"), 0);
	assert_string_equal(test_text_of(server, zone, "SubnetId"), "subnet-1");
	assert_true(json_is_absent(json_get(zone, "LoadBalancerAddresses")));
}

static void one_address_is_for_all(void **state)
{
	struct test_server *server = *state;

	test_set_addresses(server, SPAN("192.0.2.7"));
	create_network(server, "a");
	assert_string_equal(address_of(server), "192.0.2.7");
	create_network(server, "b");
	assert_string_equal(address_of(server), "192.0.2.7");
}

static void an_address_can_be_chosen(void **state)
{
	struct test_server *server = *state;

	test_call(server, "CreateLoadBalancer",
		"{'Name':'a','Type':'network','SubnetMappings':[{'SubnetId':'subnet-1',"
		"'PrivateIPv4Address':'127.192.7.7'}]}");
	assert_string_equal(address_of(server), "127.192.7.7");
	test_refused(server, "CreateLoadBalancer", "InvalidConfigurationRequestException", "in use",
		"{'Name':'b','Type':'network','SubnetMappings':[{'SubnetId':'subnet-1',"
		"'PrivateIPv4Address':'127.192.7.7'}]}");
}

static void there_is_a_limit_for_each_type(void **state)
{
	struct test_server *server = *state;
	char name[16];

	for (int i = 0; i < ELB_LOAD_BALANCERS_MAX; i++) {
		snprintf(name, sizeof(name), "web%d", i);
		create(server, name);
	}
	test_refused(server, "CreateLoadBalancer", "TooManyLoadBalancersException", "50",
		"{'Name':'more'}");
	test_call(server, "CreateLoadBalancer", "{'Name':'more','Type':'network'}");
}

static void pages_give_everything_once(void **state)
{
	struct test_server *server = *state;
	char marker[1024] = "", name[16];
	size_t count = 0, pages = 0;

	for (int i = 0; i < 7; i++) {
		snprintf(name, sizeof(name), "web%d", i);
		create(server, name);
	}
	do {
		const struct json *list;

		test_call(server, "DescribeLoadBalancers", "{'PageSize':3,'Marker':'%s'}", marker);
		list = json_get(server->answer, "LoadBalancers");
		for (size_t i = 0; i < json_count(list); i++, count++) {
			snprintf(name, sizeof(name), "web%zu", count);
			assert_string_equal(test_text_of(server, json_item(list, i),
						    "LoadBalancerName"),
				name);
		}
		snprintf(marker, sizeof(marker), "%s",
			test_text_of(server, server->answer, "NextMarker"));
		pages++;
	} while (marker[0]);
	assert_int_equal(count, 7);
	assert_int_equal(pages, 3);
	test_refused(server, "DescribeLoadBalancers", "ValidationError", "Marker",
		"{'Marker':'bogus'}");
	test_refused(server, "DescribeLoadBalancers", "ValidationError", "'pageSize'",
		"{'PageSize':401}");
	test_refused(server, "DescribeLoadBalancers", "LoadBalancerNotFoundException", "missing",
		"{'Names':['web1','missing']}");
	test_refused(server, "DescribeLoadBalancers", "ValidationError", "ARN",
		"{'LoadBalancerArns':['web1']}");
}

static void goes_with_its_listeners(void **state)
{
	struct test_server *server = *state;
	char arn[256], group[256];
	_view_ struct store_view *view = NULL;

	snprintf(arn, sizeof(arn), "%s", create(server, "web"));
	test_call(server, "CreateTargetGroup",
		"{'Name':'blue','Protocol':'HTTP','Port':80,'TargetType':'ip'}");
	snprintf(group, sizeof(group), "%s",
		test_text_of(server, test_item(server, "TargetGroups", 0), "TargetGroupArn"));
	test_use_group(server, "web", group);
	test_call(server, "DescribeTargetGroups", "{'LoadBalancerArn':'%s'}", arn);
	assert_string_equal(test_text_of(server, test_item(server, "TargetGroups", 0),
				    "TargetGroupName"),
		"blue");
	test_refused(server, "DeleteTargetGroup", "ResourceInUseException", "in use",
		"{'TargetGroupArn':'%s'}", group);
	test_call(server, "ModifyLoadBalancerAttributes",
		"{'LoadBalancerArn':'%s','Attributes':[{'Key':'deletion_protection.enabled',"
		"'Value':'true'}]}",
		arn);
	test_refused(server, "DeleteLoadBalancer", "OperationNotPermittedException", "protection",
		"{'LoadBalancerArn':'%s'}", arn);
	test_call(server, "ModifyLoadBalancerAttributes",
		"{'LoadBalancerArn':'%s','Attributes':[{'Key':'deletion_protection.enabled',"
		"'Value':'false'}]}",
		arn);
	test_call(server, "DeleteLoadBalancer", "{'LoadBalancerArn':'%s'}", arn);
	test_call(server, "DeleteLoadBalancer", "{'LoadBalancerArn':'%s'}", arn);
	view = store_view_open(server->store);
	assert_int_equal(store_count(view, &elb_listener_kind, -1, SPAN(""), false), 0);
	test_refused(server, "DescribeLoadBalancerAttributes", "LoadBalancerNotFoundException",
		"not found", "{'LoadBalancerArn':'%s'}", arn);
	/* The ARN does not name another of the same name. */
	create(server, "web");
	test_refused(server, "DescribeLoadBalancerAttributes", "LoadBalancerNotFoundException",
		"not found", "{'LoadBalancerArn':'%s'}", arn);
	test_call(server, "DeleteTargetGroup", "{'TargetGroupArn':'%s'}", group);
	test_call(server, "DeleteTargetGroup", "{'TargetGroupArn':'%s'}", group);
	test_refused(server, "DeleteTargetGroup", "ValidationError", "ARN",
		"{'TargetGroupArn':'blue'}");
}

static void attributes_have_defaults_and_rules(void **state)
{
	struct test_server *server = *state;
	static const struct {
		const char *key, *value, *type, *words;
	} bad[] = {
		{"idle_timeout.timeout_seconds", "0", "ValidationError", "1 to 4000"},
		{"idle_timeout.timeout_seconds", "4001", "ValidationError", "1 to 4000"},
		{"idle_timeout.timeout_seconds", "5s", "ValidationError", "1 to 4000"},
		{"client_keep_alive.seconds", "59", "ValidationError", "60 to 604800"},
		{"routing.http2.enabled", "yes", "ValidationError", "true or false"},
		{"routing.http.xff_header_processing.mode", "drop", "ValidationError",
			"append or preserve or remove"},
		{"load_balancing.cross_zone.enabled", "false", "ValidationError", "must be true"},
		{"dns_record.client_routing_policy", "any_availability_zone", "ValidationError",
			"not recognized"},
		{"nonsense", "1", "ValidationError", "not recognized"},
		{"access_logs.s3.enabled", "true", "InvalidConfigurationRequestException", "S3"},
	};
	char arn[256];

	snprintf(arn, sizeof(arn), "%s", create(server, "web"));
	test_call(server, "DescribeLoadBalancerAttributes", "{'LoadBalancerArn':'%s'}", arn);
	assert_string_equal(test_attribute(server, "idle_timeout.timeout_seconds"), "60");
	assert_string_equal(test_attribute(server, "routing.http2.enabled"), "true");
	assert_string_equal(test_attribute(server, "deletion_protection.enabled"), "false");
	assert_string_equal(test_attribute(server, "dns_record.client_routing_policy"), "(none)");
	for (size_t i = 0; i < LENGTH(bad); i++)
		test_refused(server, "ModifyLoadBalancerAttributes", bad[i].type, bad[i].words,
			"{'LoadBalancerArn':'%s','Attributes':[{'Key':'waf.fail_open.enabled',"
			"'Value':'true'},{'Key':'%s','Value':'%s'}]}",
			arn, bad[i].key, bad[i].value);
	test_refused(server, "ModifyLoadBalancerAttributes", "ValidationError", "twice",
		"{'LoadBalancerArn':'%s','Attributes':[{'Key':'waf.fail_open.enabled',"
		"'Value':'true'},{'Key':'waf.fail_open.enabled','Value':'true'}]}",
		arn);
	test_call(server, "DescribeLoadBalancerAttributes", "{'LoadBalancerArn':'%s'}", arn);
	assert_string_equal(test_attribute(server, "waf.fail_open.enabled"), "false");
	test_call(server, "ModifyLoadBalancerAttributes",
		"{'LoadBalancerArn':'%s','Attributes':[{'Key':'idle_timeout.timeout_seconds',"
		"'Value':'4000'},{'Key':'routing.http.xff_header_processing.mode','Value':'remove'}"
		"]}",
		arn);
	assert_string_equal(test_attribute(server, "idle_timeout.timeout_seconds"), "4000");
	assert_string_equal(test_attribute(server, "routing.http.xff_header_processing.mode"),
		"remove");
	assert_string_equal(test_attribute(server, "routing.http2.enabled"), "true");
}

static void subnets_and_groups_can_change(void **state)
{
	struct test_server *server = *state;
	char arn[256];

	snprintf(arn, sizeof(arn), "%s", create(server, "web"));
	test_call(server, "SetSubnets",
		"{'LoadBalancerArn':'%s','Subnets':['subnet-8','subnet-9']}", arn);
	assert_string_equal(test_text_of(server, test_item(server, "AvailabilityZones", 1),
				    "SubnetId"),
		"subnet-9");
	test_refused(server, "SetSubnets", "ValidationError", "must be given",
		"{'LoadBalancerArn':'%s'}", arn);
	test_refused(server, "SetSubnets", "InvalidSubnetException", "not valid",
		"{'LoadBalancerArn':'%s','Subnets':['x']}", arn);
	test_call(server, "SetSecurityGroups",
		"{'LoadBalancerArn':'%s','SecurityGroups':['sg-1','sg-2']}", arn);
	assert_int_equal(json_count(json_get(server->answer, "SecurityGroupIds")), 2);
	test_refused(server, "SetSecurityGroups", "InvalidSecurityGroupException", "twice",
		"{'LoadBalancerArn':'%s','SecurityGroups':['sg-1','sg-1']}", arn);
	test_call(server, "SetIpAddressType", "{'LoadBalancerArn':'%s','IpAddressType':'ipv4'}",
		arn);
	test_refused(server, "SetIpAddressType", "InvalidConfigurationRequestException", "IPv4",
		"{'LoadBalancerArn':'%s','IpAddressType':'dualstack'}", arn);
	test_call(server, "DescribeLoadBalancers", "{'Names':['web']}");
	assert_int_equal(json_count(json_get(test_item(server, "LoadBalancers", 0),
				 "SecurityGroups")),
		2);
	test_call(server, "CreateLoadBalancer", "{'Name':'net','Type':'network'}");
	test_refused(server, "SetSecurityGroups", "InvalidConfigurationRequestException",
		"without security groups", "{'LoadBalancerArn':'%s','SecurityGroups':['sg-1']}",
		test_text_of(server, test_item(server, "LoadBalancers", 0), "LoadBalancerArn"));
}

static void tags_are_kept_by_resource(void **state)
{
	struct test_server *server = *state;
	char arn[256], group[256];

	snprintf(arn, sizeof(arn), "%s", create(server, "web"));
	test_call(server, "CreateTargetGroup",
		"{'Name':'blue','Protocol':'HTTP','Port':80,'Tags':[{'Key':'a','Value':'1'}]}");
	snprintf(group, sizeof(group), "%s",
		test_text_of(server, test_item(server, "TargetGroups", 0), "TargetGroupArn"));
	test_call(server, "AddTags",
		"{'ResourceArns':['%s','%s'],'Tags':[{'Key':'a','Value':'2'},{'Key':'b'}]}", arn,
		group);
	test_call(server, "DescribeTags", "{'ResourceArns':['%s','%s']}", arn, group);
	for (size_t i = 0; i < 2; i++) {
		const struct json *tags = json_get(test_item(server, "TagDescriptions", i), "Tags");

		assert_int_equal(json_count(tags), 2);
		assert_string_equal(test_text_of(server, json_item(tags, 0), "Value"), "2");
	}
	test_call(server, "RemoveTags", "{'ResourceArns':['%s'],'TagKeys':['a','c']}", group);
	test_call(server, "DescribeTags", "{'ResourceArns':['%s']}", group);
	assert_int_equal(json_count(json_get(test_item(server, "TagDescriptions", 0), "Tags")), 1);
	test_refused(server, "AddTags", "DuplicateTagKeysException", "twice",
		"{'ResourceArns':['%s'],'Tags':[{'Key':'x'},{'Key':'x'}]}", arn);
	/* All or nothing. */
	test_refused(server, "AddTags", "TargetGroupNotFoundException", "not found",
		"{'ResourceArns':['%s','%sx'],'Tags':[{'Key':'x'}]}", arn, group);
	test_refused(server, "DescribeTags", "ValidationError", "not a valid ARN",
		"{'ResourceArns':['web']}");
	test_call(server, "DescribeTags", "{'ResourceArns':['%s']}", arn);
	assert_int_equal(json_count(json_get(test_item(server, "TagDescriptions", 0), "Tags")), 2);
	for (int i = 0; i < 48; i++)
		test_call(server, "AddTags", "{'ResourceArns':['%s'],'Tags':[{'Key':'k%d'}]}", arn,
			i);
	test_refused(server, "AddTags", "TooManyTagsException", "50",
		"{'ResourceArns':['%s'],'Tags':[{'Key':'more'}]}", arn);
	test_call(server, "AddTags", "{'ResourceArns':['%s'],'Tags':[{'Key':'k1'}]}", arn);
}

static int put_rule(struct store_transaction *transaction, void *context, struct err *err)
{
	(void)context;
	return store_put(transaction, &elb_rule_kind,
		SPAN(TEST_SCOPE "web/00000000000000aa/00000000000000bb"),
		SPAN("{\"Priority\":\"1\",\"Actions\":[]}"), SPAN("{\"keep\":\"me\"}"), STORE_ANY,
		err);
}

static void listeners_and_rules_have_tags(void **state)
{
	struct test_server *server = *state;
	const struct store_object *balancer, *rule;
	_arena_ struct arena *arena = arena_new(0);
	struct store_view *view;
	struct span listener_arn, rule_arn, default_arn;

	create(server, "web");
	test_use_group(server, "web", "arn");
	test_write(server, put_rule, NULL);
	view = store_view_open(server->store);
	balancer = store_get(view, &elb_load_balancer_kind, SPAN(TEST_SCOPE "web"));
	listener_arn = elb_listener_arn(arena, balancer, SPAN("00000000000000aa"));
	rule_arn =
		elb_rule_arn(arena, balancer, SPAN("00000000000000aa"), SPAN("00000000000000bb"));
	default_arn =
		elb_rule_arn(arena, balancer, SPAN("00000000000000aa"), SPAN("00000000000000aa"));
	store_view_close(view);
	test_call(server, "AddTags",
		"{'ResourceArns':['%s','%s'],'Tags':[{'Key':'a'},{'Key':'b'}]}", listener_arn.data,
		rule_arn.data);
	test_call(server, "RemoveTags", "{'ResourceArns':['%s'],'TagKeys':['a']}", rule_arn.data);
	test_call(server, "DescribeTags", "{'ResourceArns':['%s','%s']}", listener_arn.data,
		rule_arn.data);
	assert_int_equal(json_count(json_get(test_item(server, "TagDescriptions", 0), "Tags")), 2);
	assert_int_equal(json_count(json_get(test_item(server, "TagDescriptions", 1), "Tags")), 1);
	/* Everything else that they have stays. */
	view = store_view_open(server->store);
	rule = elb_rule_find(view, SPAN(TEST_SCOPE), rule_arn);
	assert_non_null(memmem(rule->private_.data, rule->private_.length, "\"me\"", 4));
	store_view_close(view);
	test_refused(server, "AddTags", "ListenerNotFoundException", "not found",
		"{'ResourceArns':['%sx'],'Tags':[{'Key':'a'}]}", listener_arn.data);
	test_refused(server, "AddTags", "RuleNotFoundException", "not found",
		"{'ResourceArns':['%sx'],'Tags':[{'Key':'a'}]}", rule_arn.data);
	test_refused(server, "AddTags", "ValidationError", "default rule",
		"{'ResourceArns':['%s'],'Tags':[{'Key':'a'}]}", default_arn.data);
}

/* A policy for some resources must not reach others. */
static void policies_know_the_resources(void **state)
{
	struct test_server *server = *state;
	_arena_ struct arena *arena = arena_new(0);
	static const char text[] =
		"{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Action\":"
		"\"elasticloadbalancing:*\",\"Resource\":[\"arn:aws:elasticloadbalancing:*:*:"
		"loadbalancer/app/mine/*\",\"arn:aws:elasticloadbalancing:*:*:targetgroup/mine/"
		"*\"]}]}"
		"";
	char other[256];

	snprintf(other, sizeof(other), "%s", create(server, "other"));
	assert_int_equal(aws_policy_parse(span_of(text), arena, &server->caller.policy, NULL), 0);
	create(server, "mine");
	test_call(server, "ModifyLoadBalancerAttributes",
		"{'LoadBalancerArn':'%s','Attributes':[]}",
		test_text_of(server, test_item(server, "LoadBalancers", 0), "LoadBalancerArn"));
	test_call(server, "CreateTargetGroup", "{'Name':'mine','Protocol':'TCP','Port':80}");
	test_denied(server, "CreateLoadBalancer", "{'Name':'mine','Type':'network'}");
	test_denied(server, "CreateLoadBalancer", "{'Name':'yours'}");
	test_denied(server, "CreateTargetGroup", "{'Name':'yours','Protocol':'TCP','Port':80}");
	test_denied(server, "DeleteLoadBalancer", "{'LoadBalancerArn':'%s'}", other);
	test_denied(server, "AddTags", "{'ResourceArns':['%s'],'Tags':[]}", other);
	test_denied(server, "SetSubnets", "{'LoadBalancerArn':'%s'}", other);
	test_denied(server, "DescribeLoadBalancers", "{}");
}

static void limits_are_reported(void **state)
{
	struct test_server *server = *state;
	char marker[1024];
	size_t first;

	test_call(server, "DescribeAccountLimits", "{'PageSize':4}");
	first = json_count(json_get(server->answer, "Limits"));
	assert_int_equal(first, 4);
	snprintf(marker, sizeof(marker), "%s", test_text_of(server, server->answer, "NextMarker"));
	test_call(server, "DescribeAccountLimits", "{'Marker':'%s'}", marker);
	assert_string_equal(test_text_of(server, server->answer, "NextMarker"), "");
	assert_true(json_count(json_get(server->answer, "Limits")) > 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_in_the_model),
		TEST_WITH_SERVER(creates_what_describe_shows),
		TEST_WITH_SERVER(names_have_rules),
		TEST_WITH_SERVER(the_same_again_is_no_change),
		TEST_WITH_SERVER(refuses_what_there_is_not),
		TEST_WITH_SERVER(a_range_gives_each_its_own_address),
		TEST_WITH_SERVER(the_smallest_ranges_have_addresses),
		TEST_WITH_SERVER(application_load_balancers_show_no_address),
		TEST_WITH_SERVER(one_address_is_for_all),
		TEST_WITH_SERVER(an_address_can_be_chosen),
		TEST_WITH_SERVER(there_is_a_limit_for_each_type),
		TEST_WITH_SERVER(pages_give_everything_once),
		TEST_WITH_SERVER(goes_with_its_listeners),
		TEST_WITH_SERVER(attributes_have_defaults_and_rules),
		TEST_WITH_SERVER(subnets_and_groups_can_change),
		TEST_WITH_SERVER(tags_are_kept_by_resource),
		TEST_WITH_SERVER(listeners_and_rules_have_tags),
		TEST_WITH_SERVER(policies_know_the_resources),
		TEST_WITH_SERVER(limits_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
