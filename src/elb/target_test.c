/* Target groups and targets: health check settings, registering, draining, reported health. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elb/target.h"
#include "elb/test_server.h"

#define KEY TEST_SCOPE "blue"

struct arns {
	char group[256];
};

static void make_group(struct test_server *server, const char *settings, struct arns *arns)
{
	test_call(server, "CreateTargetGroup", "{'Name':'blue',%s}", settings);
	snprintf(arns->group, sizeof(arns->group), "%s",
		test_text_of(server, test_item(server, "TargetGroups", 0), "TargetGroupArn"));
}

/* ---- groups ---- */

static void defaults_follow_the_protocol(void **state)
{
	struct test_server *server = *state;
	static const struct {
		const char *protocol, *check, *path, *codes, *version;
		int timeout;
	} rows[] = {
		{"HTTP", "HTTP", "/", "200", "HTTP1", 5},
		{"HTTPS", "HTTP", "/", "200", "HTTP1", 5},
		{"TCP", "TCP", "", "", "", 10},
		{"TLS", "TCP", "", "", "", 10},
		{"UDP", "TCP", "", "", "", 10},
		{"TCP_UDP", "TCP", "", "", "", 10},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct json *group;

		test_call(server, "CreateTargetGroup", "{'Name':'g%zu','Protocol':'%s','Port':80}",
			i, rows[i].protocol);
		group = test_item(server, "TargetGroups", 0);
		assert_string_equal(test_text_of(server, group, "TargetType"), "instance");
		assert_string_equal(test_text_of(server, group, "HealthCheckProtocol"),
			rows[i].check);
		assert_string_equal(test_text_of(server, group, "HealthCheckPath"), rows[i].path);
		assert_string_equal(test_text_of(server, group, "Matcher.HttpCode"), rows[i].codes);
		assert_string_equal(test_text_of(server, group, "ProtocolVersion"),
			rows[i].version);
		assert_string_equal(test_text_of(server, group, "HealthCheckPort"), "traffic-port");
		assert_int_equal(json_get_integer(group, "HealthCheckTimeoutSeconds", 0),
			rows[i].timeout);
		assert_int_equal(json_get_integer(group, "HealthCheckIntervalSeconds", 0), 30);
		assert_int_equal(json_get_integer(group, "HealthyThresholdCount", 0), 5);
		assert_int_equal(json_get_integer(group, "UnhealthyThresholdCount", 0), 2);
		assert_int_equal(json_count(json_get(group, "LoadBalancerArns")), 0);
	}
}

static void settings_have_rules(void **state)
{
	struct test_server *server = *state;
	static const char *const invalid = "InvalidConfigurationRequestException";
	static const struct {
		const char *type, *words, *input;
	} rows[] = {
		{NULL, "Protocol", "'Port':80"},
		{NULL, "Port", "'Protocol':'HTTP'"},
		{NULL, "at 'port'", "'Protocol':'HTTP','Port':65536"},
		{"", "GENEVE", "'Protocol':'GENEVE','Port':6081"},
		{"", "QUIC", "'Protocol':'QUIC','Port':80"},
		{"", "Lambda", "'TargetType':'lambda'"},
		{"", "address as ip", "'TargetType':'alb','Protocol':'TCP','Port':80"},
		{"", "HTTP/1.1", "'Protocol':'HTTP','Port':80,'ProtocolVersion':'GRPC'"},
		{"", "HTTP/1.1", "'Protocol':'HTTP','Port':80,'ProtocolVersion':'HTTP2'"},
		{NULL, "HTTP1", "'Protocol':'HTTP','Port':80,'ProtocolVersion':'HTTP3'"},
		{"", "ProtocolVersion", "'Protocol':'TCP','Port':80,'ProtocolVersion':'HTTP1'"},
		{NULL, "HealthCheckProtocol",
			"'Protocol':'HTTP','Port':80,'HealthCheckProtocol':'TCP'"},
		{NULL, "HealthCheckProtocol",
			"'Protocol':'UDP','Port':80,'HealthCheckProtocol':'UDP'"},
		{"", "TCP health checks", "'Protocol':'TCP','Port':80,'HealthCheckPath':'/x'"},
		{"", "TCP health checks",
			"'Protocol':'TCP','Port':80,'Matcher':{'HttpCode':'200'}"},
		{NULL, "cannot be disabled",
			"'Protocol':'TCP','Port':80,'HealthCheckEnabled':false"},
		{NULL, "HealthCheckPath", "'Protocol':'HTTP','Port':80,'HealthCheckPath':'x'"},
		{NULL, "HealthCheckPath", "'Protocol':'HTTP','Port':80,'HealthCheckPath':'/a b'"},
		{NULL, "HealthCheckPath",
			"'Protocol':'HTTP','Port':80,'HealthCheckPath':'/a\\r\\nX: y'"},
		{NULL, "HealthCheckPort", "'Protocol':'HTTP','Port':80,'HealthCheckPort':'0'"},
		{NULL, "HealthCheckPort", "'Protocol':'HTTP','Port':80,'HealthCheckPort':'web'"},
		{NULL, "healthCheckIntervalSeconds",
			"'Protocol':'HTTP','Port':80,'HealthCheckIntervalSeconds':4"},
		{NULL, "must be smaller than the interval",
			"'Protocol':'HTTP','Port':80,'HealthCheckIntervalSeconds':10,"
			"'HealthCheckTimeoutSeconds':10"},
		{NULL, "healthyThresholdCount",
			"'Protocol':'HTTP','Port':80,'HealthyThresholdCount':1"},
		{NULL, "unhealthyThresholdCount",
			"'Protocol':'HTTP','Port':80,'UnhealthyThresholdCount':11"},
		{NULL, "Matcher", "'Protocol':'HTTP','Port':80,'Matcher':{'HttpCode':'200-500'}"},
		{NULL, "Matcher", "'Protocol':'HTTP','Port':80,'Matcher':{'HttpCode':'ok'}"},
		{"", "GrpcCode", "'Protocol':'HTTP','Port':80,'Matcher':{'GrpcCode':'12'}"},
		{NULL, "VpcId", "'Protocol':'HTTP','Port':80,'VpcId':'mine'"},
		{"", "ip targets only", "'Protocol':'HTTP','Port':80,'IpAddressType':'ipv6'"},
		{"", "optimizer", "'Protocol':'HTTP','Port':80,'TargetControlPort':81"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		test_refused(server, "CreateTargetGroup",
			rows[i].type ? invalid : "ValidationError", rows[i].words,
			"{'Name':'blue',%s}", rows[i].input);
	test_call(server, "DescribeTargetGroups", "{}");
	assert_int_equal(json_count(json_get(server->answer, "TargetGroups")), 0);
}

static void the_same_again_is_no_change(void **state)
{
	struct test_server *server = *state;
	struct arns arns, again;

	make_group(server, "'Protocol':'HTTP','Port':80", &arns);
	make_group(server, "'Protocol':'HTTP','Port':80,'HealthCheckPath':'/'", &again);
	assert_string_equal(arns.group, again.group);
	test_refused(server, "CreateTargetGroup", "DuplicateTargetGroupNameException", "blue",
		"{'Name':'blue','Protocol':'HTTP','Port':81}");
	test_refused(server, "CreateTargetGroup", "DuplicateTargetGroupNameException", "blue",
		"{'Name':'blue','Protocol':'HTTP','Port':80,'Tags':[{'Key':'a'}]}");
}

static void health_checks_can_change(void **state)
{
	struct test_server *server = *state;
	const struct json *group;
	struct arns arns;

	make_group(server, "'Protocol':'TCP','Port':80", &arns);
	test_call(server, "ModifyTargetGroup",
		"{'TargetGroupArn':'%s','HealthCheckProtocol':'HTTP','HealthCheckPort':'8080',"
		"'HealthCheckIntervalSeconds':20}",
		arns.group);
	group = test_item(server, "TargetGroups", 0);
	assert_string_equal(test_text_of(server, group, "HealthCheckPath"), "/");
	assert_string_equal(test_text_of(server, group, "Matcher.HttpCode"), "200-399");
	assert_string_equal(test_text_of(server, group, "HealthCheckPort"), "8080");
	assert_int_equal(json_get_integer(group, "HealthCheckIntervalSeconds", 0), 20);
	test_call(server, "ModifyTargetGroup",
		"{'TargetGroupArn':'%s','HealthCheckPath':'/up','Matcher':{'HttpCode':'200,500-502'"
		"}}",
		arns.group);
	group = test_item(server, "TargetGroups", 0);
	assert_string_equal(test_text_of(server, group, "Matcher.HttpCode"), "200,500-502");
	assert_int_equal(json_get_integer(group, "HealthCheckIntervalSeconds", 0), 20);
	test_refused(server, "ModifyTargetGroup", "ValidationError", "smaller",
		"{'TargetGroupArn':'%s','HealthCheckIntervalSeconds':5}", arns.group);
	test_call(server, "ModifyTargetGroup",
		"{'TargetGroupArn':'%s','HealthCheckProtocol':'TCP'}", arns.group);
	group = test_item(server, "TargetGroups", 0);
	assert_null(json_get(group, "HealthCheckPath"));
	assert_null(json_get(group, "Matcher"));
	test_refused(server, "ModifyTargetGroup", "TargetGroupNotFoundException", "not found",
		"{'TargetGroupArn':'%sx'}", arns.group);
}

static void group_attributes_have_rules(void **state)
{
	struct test_server *server = *state;
	static const char *const invalid = "InvalidConfigurationRequestException";
	static const struct {
		const char *key, *value, *type, *words;
	} bad[] = {
		{"deregistration_delay.timeout_seconds", "3601", NULL, "0 or a number from 1"},
		{"deregistration_delay.timeout_seconds", "-1", NULL, "0 or a number from 1"},
		{"slow_start.duration_seconds", "29", NULL, "0 or a number from 30 to 900"},
		{"stickiness.type", "source_ip", NULL, "lb_cookie or app_cookie"},
		{"stickiness.lb_cookie.duration_seconds", "604801", NULL, "604800"},
		{"stickiness.app_cookie.cookie_name", "AWSALBX", NULL, "reserved"},
		{"stickiness.app_cookie.cookie_name", "a;b", NULL, "cookie"},
		{"load_balancing.algorithm.type", "random", NULL, "round_robin"},
		{"load_balancing.algorithm.anomaly_mitigation", "on", "", "weighted_random"},
		{"proxy_protocol_v2.enabled", "true", NULL, "not recognized"},
	};
	struct arns arns;
	_view_ struct store_view *view = NULL;
	const struct store_object *group;

	make_group(server, "'Protocol':'HTTP','Port':80", &arns);
	for (size_t i = 0; i < LENGTH(bad); i++)
		test_refused(server, "ModifyTargetGroupAttributes",
			bad[i].type ? invalid : "ValidationError", bad[i].words,
			"{'TargetGroupArn':'%s','Attributes':[{'Key':'%s','Value':'%s'}]}",
			arns.group, bad[i].key, bad[i].value);
	test_refused(server, "ModifyTargetGroupAttributes", invalid, "cookie_name",
		"{'TargetGroupArn':'%s','Attributes':[{'Key':'stickiness.enabled','Value':'true'},{"
		"'Key':'stickiness.type','Value':'app_cookie'}]}",
		arns.group);
	test_call(server, "ModifyTargetGroupAttributes",
		"{'TargetGroupArn':'%s','Attributes':[{'Key':'slow_start.duration_seconds','Value':"
		"'30'},{'Key':'deregistration_delay.timeout_seconds','Value':'7'}]}",
		arns.group);
	test_refused(server, "ModifyTargetGroupAttributes", invalid, "slow_start",
		"{'TargetGroupArn':'%s','Attributes':[{'Key':'load_balancing.algorithm.type',"
		"'Value':'least_outstanding_requests'}]}",
		arns.group);
	test_call(server, "DescribeTargetGroupAttributes", "{'TargetGroupArn':'%s'}", arns.group);
	assert_string_equal(test_attribute(server, "slow_start.duration_seconds"), "30");
	assert_string_equal(test_attribute(server, "stickiness.type"), "lb_cookie");
	assert_string_equal(test_attribute(server, "proxy_protocol_v2.enabled"), "(none)");
	view = store_view_open(server->store);
	group = store_get(view, &elb_target_group_kind, SPAN(KEY));
	assert_int_equal(elb_target_group_facts(group)->slow_start_ms, 30000);
	assert_int_equal(elb_target_group_facts(group)->deregistration_delay_ms, 7000);
}

static void network_groups_have_other_attributes(void **state)
{
	struct test_server *server = *state;
	struct arns arns;

	make_group(server, "'Protocol':'UDP','Port':80,'TargetType':'ip'", &arns);
	test_call(server, "DescribeTargetGroupAttributes", "{'TargetGroupArn':'%s'}", arns.group);
	assert_string_equal(test_attribute(server, "stickiness.type"), "source_ip");
	assert_string_equal(test_attribute(server, "preserve_client_ip.enabled"), "true");
	assert_string_equal(test_attribute(server,
				    "deregistration_delay.connection_termination.enabled"),
		"true");
	assert_string_equal(test_attribute(server, "load_balancing.algorithm.type"), "(none)");
	test_refused(server, "ModifyTargetGroupAttributes", "ValidationError", "must be true",
		"{'TargetGroupArn':'%s','Attributes':[{'Key':'preserve_client_ip.enabled','Value':"
		"'false'}]}",
		arns.group);
}

static void groups_come_in_pages(void **state)
{
	struct test_server *server = *state;
	char marker[1024] = "";
	size_t count = 0;

	for (int i = 0; i < 5; i++)
		test_call(server, "CreateTargetGroup", "{'Name':'g%d','Protocol':'HTTP','Port':80}",
			i);
	do {
		test_call(server, "DescribeTargetGroups", "{'PageSize':2,'Marker':'%s'}", marker);
		count += json_count(json_get(server->answer, "TargetGroups"));
		snprintf(marker, sizeof(marker), "%s",
			test_text_of(server, server->answer, "NextMarker"));
	} while (marker[0]);
	assert_int_equal(count, 5);
	test_refused(server, "DescribeTargetGroups", "TargetGroupNotFoundException", "not found",
		"{'Names':['missing']}");
	test_refused(server, "DescribeTargetGroups", "ValidationError", "Only one",
		"{'Names':['g1'],'LoadBalancerArn':'x'}");
	test_refused(server, "DescribeTargetGroups", "ValidationError", "ARN",
		"{'LoadBalancerArn':'x'}");
}

/* ---- targets ---- */

/* "ID:PORT state reason" of all in the last answer, with spaces between them. */
static const char *reported(struct test_server *server)
{
	struct span all = SPAN("");

	JSON_EACH_ITEM (json_get(server->answer, "TargetHealthDescriptions"), health)
		all = arena_format(server->arena, "%.*s%s%s:%lld %s %s", SPAN_ARGS(all),
			all.length ? ", " : "", test_text_of(server, health, "Target.Id"),
			(long long)json_get_integer(json_get(health, "Target"), "Port", 0),
			test_text_of(server, health, "TargetHealth.State"),
			test_text_of(server, health, "TargetHealth.Reason"));
	return all.data;
}

static void registers_what_can_be_a_target(void **state)
{
	struct test_server *server = *state;
	static const char *const bad[] = {"localhost", "0.0.0.0", "224.0.0.1", "255.255.255.255",
		"169.254.169.254", "10.0.0", "10.0.0.1:80", "::1", ""};
	struct arns arns;

	make_group(server, "'Protocol':'HTTP','Port':80,'TargetType':'ip'", &arns);
	for (size_t i = 0; i < LENGTH(bad); i++)
		test_refused(server, "RegisterTargets", "InvalidTargetException", "address",
			"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1'},{'Id':'%s'}]}",
			arns.group, bad[i]);
	test_refused(server, "RegisterTargets", "ValidationError", "port'",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1','Port':0}]}", arns.group);
	test_refused(server, "RegisterTargets", "ValidationError", "at least one",
		"{'TargetGroupArn':'%s','Targets':[]}", arns.group);
	test_refused(server, "RegisterTargets", "ValidationError", "AvailabilityZone",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1','AvailabilityZone':'A B'}]}",
		arns.group);
	test_call(server, "DescribeTargetHealth", "{'TargetGroupArn':'%s'}", arns.group);
	assert_string_equal(reported(server), "");
	test_call(server, "RegisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1'},{'Id':'10.0.0.1','Port':81,"
		"'AvailabilityZone':'all'}]}",
		arns.group);
	test_call(server, "DescribeTargetHealth", "{'TargetGroupArn':'%s'}", arns.group);
	assert_string_equal(reported(server), "10.0.0.1:80 unused Target.NotInUse, "
					      "10.0.0.1:81 unused Target.NotInUse");
	assert_string_equal(test_text_of(server, test_item(server, "TargetHealthDescriptions", 1),
				    "Target.AvailabilityZone"),
		"all");
	assert_string_equal(test_text_of(server, test_item(server, "TargetHealthDescriptions", 1),
				    "HealthCheckPort"),
		"81");
}

static void ipv6_targets_have_one_form(void **state)
{
	struct test_server *server = *state;
	struct arns arns;

	make_group(server, "'Protocol':'TCP','Port':80,'TargetType':'ip','IpAddressType':'ipv6'",
		&arns);
	test_refused(server, "RegisterTargets", "InvalidTargetException", "IPv6",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1'}]}", arns.group);
	test_refused(server, "RegisterTargets", "InvalidTargetException", "host",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'fe80::1'}]}", arns.group);
	test_call(server, "RegisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'2001:DB8:0:0::1'}]}", arns.group);
	test_call(server, "DeregisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'2001:db8::1'}]}", arns.group);
	test_call(server, "DescribeTargetHealth", "{'TargetGroupArn':'%s'}", arns.group);
	assert_string_equal(reported(server), "");
}

static void instances_must_be_known(void **state)
{
	struct test_server *server = *state;
	struct arns arns;

	make_group(server, "'Protocol':'HTTP','Port':80", &arns);
	test_refused(server, "RegisterTargets", "InvalidTargetException", "i-other",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'i-known'},{'Id':'i-other'}]}",
		arns.group);
	test_refused(server, "RegisterTargets", "InvalidTargetException", "instance",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1'}]}", arns.group);
	test_refused(server, "RegisterTargets", "ValidationError", "AvailabilityZone",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'i-known','AvailabilityZone':'all'}]}",
		arns.group);
	test_call(server, "RegisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'i-known','Port':8080}]}", arns.group);
	test_call(server, "DescribeTargetHealth", "{'TargetGroupArn':'%s'}", arns.group);
	assert_string_equal(reported(server), "i-known:8080 unused Target.NotInUse");
}

static void a_group_has_a_limit(void **state)
{
	struct test_server *server = *state;
	struct arns arns;
	_buffer_ struct buffer targets = {0};

	make_group(server, "'Protocol':'HTTP','Port':80,'TargetType':'ip'", &arns);
	for (int i = 0; i < ELB_TARGETS_MAX; i++)
		buffer_format(&targets, "%s{'Id':'10.0.%d.%d'}", i ? "," : "", i / 250,
			i % 250 + 1);
	test_call(server, "RegisterTargets", "{'TargetGroupArn':'%s','Targets':[%s]}", arns.group,
		targets.data);
	test_refused(server, "RegisterTargets", "TooManyTargetsException", "1000",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.1.0.1'}]}", arns.group);
	/* One that is there is no other one. */
	test_call(server, "RegisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1'}]}", arns.group);
	test_call(server, "DeleteTargetGroup", "{'TargetGroupArn':'%s'}", arns.group);
	make_group(server, "'Protocol':'HTTP','Port':80,'TargetType':'ip'", &arns);
	test_call(server, "DescribeTargetHealth", "{'TargetGroupArn':'%s'}", arns.group);
	assert_string_equal(reported(server), "");
}

struct state_change {
	enum elb_target_state state;
	enum probe_reason reason;
	int64_t code;
};

static int set_state(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct state_change *change = context;
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *target =
		elb_target_find(store_head(transaction), SPAN(KEY), SPAN("10.0.0.1"), 80, arena);

	return elb_target_set_state(transaction, target, change->state, change->reason,
		change->code, TEST_SERVER_NOW_MS, arena, err);
}

static void describe(struct test_server *server, const struct arns *arns)
{
	test_call(server, "DescribeTargetHealth", "{'TargetGroupArn':'%s'}", arns->group);
}

static void health_is_reported_as_checked(void **state)
{
	struct test_server *server = *state;
	const struct json *health;
	struct arns arns;

	make_group(server, "'Protocol':'HTTP','Port':80,'TargetType':'ip','HealthCheckPort':'99'",
		&arns);
	test_call(server, "CreateLoadBalancer", "{'Name':'web'}");
	test_call(server, "RegisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1'}]}", arns.group);
	test_use_group(server, "web", arns.group);
	describe(server, &arns);
	assert_string_equal(reported(server), "10.0.0.1:80 initial Elb.RegistrationInProgress");
	test_write(server, set_state,
		&(struct state_change){ELB_TARGET_UNHEALTHY, PROBE_REASON_MISMATCH, 503});
	test_call(server, "DescribeTargetHealth",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1'},{'Id':'10.0.0.2'}],"
		"'Include':['AnomalyDetection']}",
		arns.group);
	assert_string_equal(reported(server), "10.0.0.1:80 unhealthy Target.ResponseCodeMismatch, "
					      "10.0.0.2:80 unused Target.NotRegistered");
	health = test_item(server, "TargetHealthDescriptions", 0);
	assert_string_equal(test_text_of(server, health, "TargetHealth.Description"),
		"Health checks failed with these codes: [503]");
	assert_string_equal(test_text_of(server, health, "HealthCheckPort"), "99");
	assert_string_equal(test_text_of(server, health, "AnomalyDetection.Result"), "normal");
	test_write(server, set_state,
		&(struct state_change){ELB_TARGET_HEALTHY, PROBE_REASON_NONE, 0});
	describe(server, &arns);
	assert_string_equal(reported(server), "10.0.0.1:80 healthy ");
	assert_null(json_get(json_get(test_item(server, "TargetHealthDescriptions", 0),
				     "TargetHealth"),
		"Description"));
	test_refused(server, "DescribeTargetHealth", "TargetGroupNotFoundException", "not found",
		"{'TargetGroupArn':'%sx'}", arns.group);
	test_refused(server, "DescribeTargetHealth", "InvalidTargetException", "address",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'x'}]}", arns.group);
}

static void drains_with_the_delay(void **state)
{
	struct test_server *server = *state;
	const struct store_object *target;
	struct store_view *view;
	struct arns arns;

	make_group(server, "'Protocol':'HTTP','Port':80,'TargetType':'ip'", &arns);
	test_call(server, "CreateLoadBalancer", "{'Name':'web'}");
	test_use_group(server, "web", arns.group);
	test_call(server, "RegisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1'}]}", arns.group);
	test_write(server, set_state,
		&(struct state_change){ELB_TARGET_HEALTHY, PROBE_REASON_NONE, 0});
	test_call(server, "DeregisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1'},{'Id':'10.0.0.2'}]}",
		arns.group);
	describe(server, &arns);
	assert_string_equal(reported(server),
		"10.0.0.1:80 draining Target.DeregistrationInProgress");
	/* Later health results are ignored, and deregistering again changes nothing. */
	test_write(server, set_state,
		&(struct state_change){ELB_TARGET_HEALTHY, PROBE_REASON_NONE, 0});
	clock_manual_advance_ms(&server->clock, 10000);
	test_call(server, "DeregisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1'}]}", arns.group);
	view = store_view_open(server->store);
	target = elb_target_find(view, SPAN(KEY), SPAN("10.0.0.1"), 80, server->arena);
	assert_int_equal(elb_target_facts(target)->state, ELB_TARGET_DRAINING);
	assert_int_equal(elb_target_facts(target)->drain_until_ms, TEST_SERVER_NOW_MS + 300000);
	store_view_close(view);
	/* It may come back. */
	test_call(server, "RegisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1'}]}", arns.group);
	describe(server, &arns);
	assert_string_equal(reported(server), "10.0.0.1:80 initial Elb.RegistrationInProgress");
}

struct registration {
	struct span owner;
	int64_t port;
	int code;
	bool remove;
};

static int register_for_owner(struct store_transaction *transaction, void *context, struct err *err)
{
	struct registration *registration = context;
	struct arena *arena = store_transaction_arena(transaction);
	const struct store_object *group =
		store_get(store_head(transaction), &elb_target_group_kind, SPAN(KEY));

	if (registration->remove)
		return elb_target_remove(transaction, SPAN(KEY), SPAN("10.0.0.1"), 80, err);
	registration->code = elb_target_register(transaction, group, SPAN("10.0.0.1"),
		registration->port, registration->owner, TEST_SERVER_NOW_MS, arena, err);
	return 0;
}

static struct span owner_of(struct test_server *server)
{
	struct store_view *view = store_view_open(server->store);
	const struct store_object *target =
		elb_target_find(view, SPAN(KEY), SPAN("10.0.0.1"), 80, server->arena);
	struct span owner = target ? arena_copy_span(server->arena, elb_target_facts(target)->owner)
				   : SPAN("(none)");

	store_view_close(view);
	return owner;
}

static void tasks_own_their_targets(void **state)
{
	struct test_server *server = *state;
	struct registration one = {.owner = SPAN("cluster/1")}, two = {.owner = SPAN("cluster/2")};
	struct registration wrong = {.owner = SPAN(""), .port = 70000}, gone = {.remove = true};
	struct arns arns;

	make_group(server, "'Protocol':'HTTP','Port':80,'TargetType':'ip'", &arns);
	test_write(server, register_for_owner, &one);
	assert_int_equal(one.code, 0);
	assert_true(span_is(owner_of(server), "cluster/1"));
	/* A client that registers it by hand does not take it from the task. */
	test_call(server, "RegisterTargets",
		"{'TargetGroupArn':'%s','Targets':[{'Id':'10.0.0.1'}]}", arns.group);
	assert_true(span_is(owner_of(server), "cluster/1"));
	test_write(server, register_for_owner, &two);
	assert_true(span_is(owner_of(server), "cluster/2"));
	test_write(server, register_for_owner, &wrong);
	assert_int_equal(wrong.code, -EINVAL);
	test_write(server, register_for_owner, &gone);
	test_write(server, register_for_owner, &gone);
	assert_true(span_is(owner_of(server), "(none)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WITH_SERVER(defaults_follow_the_protocol),
		TEST_WITH_SERVER(settings_have_rules),
		TEST_WITH_SERVER(the_same_again_is_no_change),
		TEST_WITH_SERVER(health_checks_can_change),
		TEST_WITH_SERVER(group_attributes_have_rules),
		TEST_WITH_SERVER(network_groups_have_other_attributes),
		TEST_WITH_SERVER(groups_come_in_pages),
		TEST_WITH_SERVER(registers_what_can_be_a_target),
		TEST_WITH_SERVER(ipv6_targets_have_one_form),
		TEST_WITH_SERVER(instances_must_be_known),
		TEST_WITH_SERVER(a_group_has_a_limit),
		TEST_WITH_SERVER(health_is_reported_as_checked),
		TEST_WITH_SERVER(drains_with_the_delay),
		TEST_WITH_SERVER(tasks_own_their_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
