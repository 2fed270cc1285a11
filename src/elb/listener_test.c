/* Listeners: protocols, ports, paging, changes, deletion. What they do is in action_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elb/listener.h"
#include "elb/test_listeners.h"

#define FORWARD "'DefaultActions':[{'Type':'forward','TargetGroupArn':'%s'}]"

static void test_a_listener_as_it_is_shown(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char arn[TEST_ARN_SIZE];
	const struct json *listener, *action;

	test_call(server, "CreateListener",
		"{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':80,'Tags':[{'Key':'a','Value':"
		"'b'}]," FORWARD "}",
		world->app, world->http);
	test_take_arn(server, "Listeners", "ListenerArn", arn);
	assert_non_null(strstr(arn, ":listener/app/app/"));
	test_call(server, "DescribeListeners", "{'ListenerArns':['%s']}", arn);
	listener = test_item(server, "Listeners", 0);
	assert_string_equal(test_text_of(server, listener, "ListenerArn"), arn);
	assert_string_equal(test_text_of(server, listener, "LoadBalancerArn"), world->app);
	assert_string_equal(test_text_of(server, listener, "Protocol"), "HTTP");
	assert_int_equal(json_get_integer(listener, "Port", 0), 80);
	assert_null(json_get(listener, "SslPolicy"));
	assert_null(json_get(listener, "Certificates"));
	action = json_item(json_get(listener, "DefaultActions"), 0);
	assert_string_equal(test_text_of(server, action, "TargetGroupArn"), world->http);
	test_call(server, "DescribeTags", "{'ResourceArns':['%s']}", arn);
	assert_string_equal(test_text_of(server,
				    json_item(json_get(test_item(server, "TagDescriptions", 0),
						      "Tags"),
					    0),
				    "Value"),
		"b");
	/* A target group says which load balancer it belongs to. */
	test_call(server, "DescribeTargetGroups", "{'TargetGroupArns':['%s']}", world->http);
	assert_true(span_is(json_text(json_item(json_get(test_item(server, "TargetGroups", 0),
							"LoadBalancerArns"),
				    0)),
		world->app));
}

static void test_protocols(void **state)
{
	struct test_world *world = *state;
	const struct {
		const char *balancer, *protocol, *group;
		const char *error; /* NULL: works */
	} rows[] = {
		{world->app, "HTTP", world->http, NULL},
		{world->app, "HTTP", world->https, NULL},
		{world->app, "HTTP", world->tcp, "IncompatibleProtocolsException"},
		{world->app, "TCP", world->tcp, "ValidationError"},
		{world->app, "GENEVE", world->http, "ValidationError"},
		{world->app, "QUIC", world->http, "ValidationError"},
		{world->net, "HTTP", world->http, "ValidationError"},
		{world->net, "TCP_QUIC", world->tcp, "ValidationError"},
		{world->net, "TCP", world->tcp, NULL},
		{world->net, "TCP", world->tcp_udp, NULL},
		{world->net, "TCP", world->udp, "IncompatibleProtocolsException"},
		{world->net, "TCP", world->tls, "IncompatibleProtocolsException"},
		{world->net, "TCP", world->http, "IncompatibleProtocolsException"},
		{world->net, "UDP", world->udp, NULL},
		{world->net, "UDP", world->tcp_udp, NULL},
		{world->net, "UDP", world->tcp, "IncompatibleProtocolsException"},
		{world->net, "TCP_UDP", world->tcp_udp, NULL},
		{world->net, "TCP_UDP", world->tcp, "IncompatibleProtocolsException"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		static const char request[] =
			"{'LoadBalancerArn':'%s','Protocol':'%s','Port':%zu," FORWARD "}";

		if (rows[i].error)
			test_refused(world->server, "CreateListener", rows[i].error, "", request,
				rows[i].balancer, rows[i].protocol, 1000 + i, rows[i].group);
		else
			test_call(world->server, "CreateListener", request, rows[i].balancer,
				rows[i].protocol, 1000 + i, rows[i].group);
	}
}

static void test_what_a_listener_needs(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	const struct {
		const char *error, *words, *rest;
	} rows[] = {
		{"ValidationError", "A listener protocol must be specified", "'Port':80"},
		{"ValidationError", "A listener port must be specified", "'Protocol':'HTTP'"},
		{"ValidationError", "at 'port'", "'Protocol':'HTTP','Port':0"},
		{"ValidationError", "at 'port'", "'Protocol':'HTTP','Port':65536"},
		{"ValidationError", "Certificates", "'Protocol':'HTTPS','Port':443"},
		{"ValidationError", "SslPolicy",
			"'Protocol':'HTTP','Port':80,'SslPolicy':"
			"'ELBSecurityPolicy-TLS13-1-3-2021-06'"},
		{"SSLPolicyNotFoundException", "ELBSecurityPolicy-2011-08",
			"'Protocol':'HTTPS','Port':443,'SslPolicy':'ELBSecurityPolicy-2011-08'"},
		{"CertificateNotFoundException", "no folder",
			"'Protocol':'HTTPS','Port':443,'Certificates':[{'CertificateArn':"
			"'arn:aws:acm:eu-west-1:123456789012:certificate/x'}]"},
		{"CertificateNotFoundException", "is not the ARN",
			"'Protocol':'HTTPS','Port':443,'Certificates':[{'CertificateArn':'x'}]"},
		{"ValidationError", "CertificateArn",
			"'Protocol':'HTTPS','Port':443,'Certificates':[{}]"},
		{"ValidationError", "AlpnPolicy",
			"'Protocol':'HTTP','Port':80,'AlpnPolicy':['HTTP2Only']"},
		{"ALPNPolicyNotSupportedException", "only TLS",
			"'Protocol':'HTTPS','Port':443,'AlpnPolicy':['HTTP2Only']"},
		{"InvalidConfigurationRequestException", "MutualAuthentication",
			"'Protocol':'HTTP','Port':80,'MutualAuthentication':{'Mode':'verify'}"},
		{"TooManyTagsException", "50",
			"'Protocol':'HTTP','Port':80,'Tags':[{'Key':'0'},{'Key':'1'},{'Key':'2'},{"
			"'Key':'3'},{'Key':'4'},{'Key':'5'},{'Key':'6'},{'Key':'7'},{'Key':'8'},{"
			"'Key':'9'},{'Key':'10'},{'Key':'11'},{'Key':'12'},{'Key':'13'},{'Key':'14'"
			"}"
			",{'Key':'15'},{'Key':'16'},{'Key':'17'},{'Key':'18'},{'Key':'19'},{'Key':"
			"'20'},{'Key':'21'},{'Key':'22'},{'Key':'23'},{'Key':'24'},{'Key':'25'},{"
			"'Key':'26'},{'Key':'27'},{'Key':'28'},{'Key':'29'},{'Key':'30'},{'Key':'"
			"31'"
			"},{'Key':'32'},{'Key':'33'},{'Key':'34'},{'Key':'35'},{'Key':'36'},{'Key':"
			"'37'},{'Key':'38'},{'Key':'39'},{'Key':'40'},{'Key':'41'},{'Key':'42'},{"
			"'Key':'43'},{'Key':'44'},{'Key':'45'},{'Key':'46'},{'Key':'47'},{'Key':'"
			"48'"
			"},{'Key':'49'},{'Key':'50'}]"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		test_refused(server, "CreateListener", rows[i].error, rows[i].words,
			"{'LoadBalancerArn':'%s',%s," FORWARD "}", world->app, rows[i].rest,
			world->http);
	test_refused(server, "CreateListener", "LoadBalancerNotFoundException", "missing",
		"{'LoadBalancerArn':'missing','Protocol':'HTTP','Port':80," FORWARD "}",
		world->http);
	test_refused(server, "CreateListener", "ValidationError", "'defaultActions'",
		"{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':80}", world->app);
	test_call(server, "DescribeListeners", "{'LoadBalancerArn':'%s'}", world->app);
	assert_int_equal(json_count(json_get(server->answer, "Listeners")), 0);
}

static void test_a_port_is_there_once(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char listener[TEST_ARN_SIZE], second[TEST_ARN_SIZE];

	test_listener(world, 80, listener);
	/* The same once more is the same one; with anything else it is refused. */
	test_listener(world, 80, second);
	assert_string_equal(listener, second);
	test_refused(server, "CreateListener", "DuplicateListenerException", "80",
		"{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':80," FORWARD "}", world->app,
		world->more[0]);
	test_refused(server, "CreateListener", "DuplicateListenerException", "80",
		"{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':80,'Tags':[{'Key':'a'}]," FORWARD
		"}",
		world->app, world->http);
	test_call(server, "DescribeListeners", "{'LoadBalancerArn':'%s'}", world->app);
	assert_int_equal(json_count(json_get(server->answer, "Listeners")), 1);
	/* Another load balancer has another address. */
	test_call(server, "CreateListener",
		"{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':80," FORWARD "}", world->other,
		world->more[0]);
	test_listener(world, 81, second);
	test_refused(server, "ModifyListener", "DuplicateListenerException", "80",
		"{'ListenerArn':'%s','Port':80}", second);
	test_call(server, "ModifyListener", "{'ListenerArn':'%s','Port':81}", second);
	test_call(server, "DeleteListener", "{'ListenerArn':'%s'}", listener);
	test_call(server, "ModifyListener", "{'ListenerArn':'%s','Port':80}", second);
	assert_int_equal(json_get_integer(test_item(server, "Listeners", 0), "Port", 0), 80);
}

static void test_load_balancers_on_one_address_share_its_ports(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char first[TEST_ARN_SIZE], second[TEST_ARN_SIZE];

	test_set_addresses(server, SPAN("127.0.0.7"));
	test_balancer(server, "first", "application", first);
	test_balancer(server, "second", "application", second);
	test_call(server, "CreateListener",
		"{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':80," FORWARD "}", first,
		world->more[0]);
	test_refused(server, "CreateListener", "DuplicateListenerException", "127.0.0.7",
		"{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':80," FORWARD "}", second,
		world->more[1]);
	test_call(server, "CreateListener",
		"{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':81," FORWARD "}", second,
		world->more[1]);
}

static void test_describing(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char arn[TEST_ARN_SIZE], wrong[TEST_ARN_SIZE], marker[512];
	size_t shown = 0;

	for (int port = 1; port <= 5; port++)
		test_listener(world, port, arn);
	test_call(server, "DescribeListeners", "{'LoadBalancerArn':'%s','PageSize':2}", world->app);
	for (;;) {
		shown += json_count(json_get(server->answer, "Listeners"));
		snprintf(marker, sizeof(marker), "%s",
			test_text_of(server, server->answer, "NextMarker"));
		if (!marker[0])
			break;
		test_call(server, "DescribeListeners",
			"{'LoadBalancerArn':'%s','PageSize':2,'Marker':'%s'}", world->app, marker);
	}
	assert_int_equal(shown, 5);
	test_refused(server, "DescribeListeners", "ValidationError", "Marker",
		"{'LoadBalancerArn':'%s','Marker':'made-up'}", world->app);
	test_refused(server, "DescribeListeners", "ValidationError", "either", "{}");
	test_refused(server, "DescribeListeners", "ValidationError", "either",
		"{'LoadBalancerArn':'%s','ListenerArns':['%s']}", world->app, arn);
	test_refused(server, "DescribeListeners", "LoadBalancerNotFoundException", "missing",
		"{'LoadBalancerArn':'missing'}");
	/* The ARN of a listener names its load balancer's id, too. */
	snprintf(wrong, sizeof(wrong), "%s", arn);
	wrong[strlen(wrong) - 20] ^= 1;
	test_refused(server, "DescribeListeners", "ListenerNotFoundException", "not found",
		"{'ListenerArns':['%s']}", wrong);
	snprintf(wrong, sizeof(wrong), "%s", arn);
	memcpy(strstr(wrong, "/app/"), "/net/", 5);
	test_refused(server, "DescribeListeners", "ListenerNotFoundException", "not found",
		"{'ListenerArns':['%s','%s']}", arn, wrong);
	server->caller.region = SPAN("eu-west-2");
	test_refused(server, "DescribeListeners", "ListenerNotFoundException", "not found",
		"{'ListenerArns':['%s']}", arn);
}

static void test_modifying(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char arn[TEST_ARN_SIZE], tcp[TEST_ARN_SIZE];
	const struct json *action;

	test_listener(world, 80, arn);
	test_call(server, "ModifyListener",
		"{'ListenerArn':'%s','DefaultActions':[{'Type':'fixed-response',"
		"'FixedResponseConfig':{'StatusCode':'404'}}]}",
		arn);
	action = json_item(json_get(test_item(server, "Listeners", 0), "DefaultActions"), 0);
	assert_string_equal(test_text_of(server, action, "FixedResponseConfig.StatusCode"), "404");
	test_refused(server, "ModifyListener", "ValidationError", "TCP",
		"{'ListenerArn':'%s','Protocol':'TCP'}", arn);
	test_refused(server, "ModifyListener", "ValidationError", "certificate",
		"{'ListenerArn':'%s','Protocol':'HTTPS'}", arn);
	test_refused(server, "ModifyListener", "ListenerNotFoundException", "missing",
		"{'ListenerArn':'missing'}");
	/* The group of a listener must go with its new protocol. */
	test_call(server, "CreateListener",
		"{'LoadBalancerArn':'%s','Protocol':'TCP','Port':53," FORWARD "}", world->net,
		world->tcp);
	test_take_arn(server, "Listeners", "ListenerArn", tcp);
	test_refused(server, "ModifyListener", "IncompatibleProtocolsException", "UDP",
		"{'ListenerArn':'%s','Protocol':'UDP'}", tcp);
	test_call(server, "ModifyListener", "{'ListenerArn':'%s','Protocol':'UDP'," FORWARD "}",
		tcp, world->udp);
	assert_string_equal(test_text_of(server, test_item(server, "Listeners", 0), "Protocol"),
		"UDP");
}

static void test_deleting_takes_rules_along(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char arn[TEST_ARN_SIZE], rule[TEST_ARN_SIZE];

	test_listener(world, 80, arn);
	for (int priority = 1; priority <= 3; priority++)
		test_rule(world, arn, priority, rule);
	test_call(server, "DeleteListener", "{'ListenerArn':'%s'}", arn);
	test_refused(server, "DeleteListener", "ListenerNotFoundException", "not found",
		"{'ListenerArn':'%s'}", arn);
	test_refused(server, "DescribeRules", "RuleNotFoundException", "not found",
		"{'RuleArns':['%s']}", rule);
	/* The group is free for another load balancer, and can be deleted. */
	test_call(server, "CreateListener",
		"{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':80," FORWARD "}", world->other,
		world->http);
	test_refused(server, "DeleteTargetGroup", "ResourceInUseException", "",
		"{'TargetGroupArn':'%s'}", world->http);
	test_call(server, "DeleteLoadBalancer", "{'LoadBalancerArn':'%s'}", world->other);
	test_call(server, "DeleteTargetGroup", "{'TargetGroupArn':'%s'}", world->http);
}

static void test_limit_of_listeners(void **state)
{
	struct test_world *world = *state;
	char arn[TEST_ARN_SIZE];

	for (int port = 1; port <= ELB_LISTENERS_MAX; port++)
		test_listener(world, port, arn);
	test_refused(world->server, "CreateListener", "TooManyListenersException", "50",
		"{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':1000," FORWARD "}", world->app,
		world->http);
}

static void test_attributes(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;
	char http[TEST_ARN_SIZE], tcp[TEST_ARN_SIZE], udp[TEST_ARN_SIZE];

	test_listener(world, 80, http);
	test_call(server, "CreateListener",
		"{'LoadBalancerArn':'%s','Protocol':'TCP','Port':80," FORWARD "}", world->net,
		world->tcp);
	test_take_arn(server, "Listeners", "ListenerArn", tcp);
	test_call(server, "CreateListener",
		"{'LoadBalancerArn':'%s','Protocol':'UDP','Port':81," FORWARD "}", world->net,
		world->udp);
	test_take_arn(server, "Listeners", "ListenerArn", udp);

	test_call(server, "DescribeListenerAttributes", "{'ListenerArn':'%s'}", tcp);
	assert_string_equal(test_attribute(server, "tcp.idle_timeout.seconds"), "350");
	test_call(server, "ModifyListenerAttributes",
		"{'ListenerArn':'%s','Attributes':[{'Key':'tcp.idle_timeout.seconds','Value':"
		"'6000'}]}",
		tcp);
	test_call(server, "DescribeListenerAttributes", "{'ListenerArn':'%s'}", tcp);
	assert_string_equal(test_attribute(server, "tcp.idle_timeout.seconds"), "6000");
	test_refused(server, "ModifyListenerAttributes", "ValidationError", "60 to 6000",
		"{'ListenerArn':'%s','Attributes':[{'Key':'tcp.idle_timeout.seconds','Value':'59'}]"
		"}",
		tcp);
	test_refused(server, "ModifyListenerAttributes", "ValidationError", "not recognized",
		"{'ListenerArn':'%s','Attributes':[{'Key':'tcp.idle_timeout.seconds','Value':'60'}]"
		"}",
		udp);
	test_call(server, "DescribeListenerAttributes", "{'ListenerArn':'%s'}", udp);
	assert_int_equal(json_count(json_get(server->answer, "Attributes")), 0);

	test_call(server, "DescribeListenerAttributes", "{'ListenerArn':'%s'}", http);
	assert_string_equal(test_attribute(server, "routing.http.response.server.enabled"), "true");
	test_call(server, "ModifyListenerAttributes",
		"{'ListenerArn':'%s','Attributes':[{'Key':'routing.http.response.server.enabled',"
		"'Value':'false'}]}",
		http);
	assert_string_equal(test_attribute(server, "routing.http.response.server.enabled"),
		"false");
	test_refused(server, "ModifyListenerAttributes", "InvalidConfigurationRequestException",
		"does not add headers",
		"{'ListenerArn':'%s','Attributes':[{'Key':"
		"'routing.http.response.x_frame_options.header_value','Value':'DENY'}]}",
		http);
	test_refused(server, "ModifyListenerAttributes", "ValidationError", "not recognized",
		"{'ListenerArn':'%s','Attributes':[{'Key':'made.up','Value':'1'}]}", http);
	test_refused(server, "DescribeListenerAttributes", "ListenerNotFoundException", "missing",
		"{'ListenerArn':'missing'}");
	test_refused(server, "ModifyListenerAttributes", "ListenerNotFoundException", "missing",
		"{'ListenerArn':'missing','Attributes':[]}");
}

static void test_ssl_policies(void **state)
{
	struct test_world *world = *state;
	struct test_server *server = world->server;

	test_call(server, "DescribeSSLPolicies", "{'PageSize':1}");
	assert_int_equal(json_count(json_get(server->answer, "SslPolicies")), 1);
	test_call(server, "DescribeSSLPolicies", "{'PageSize':1,'Marker':'%s'}",
		test_text_of(server, server->answer, "NextMarker"));
	assert_string_equal(test_text_of(server, test_item(server, "SslPolicies", 0), "Name"),
		"ELBSecurityPolicy-TLS13-1-3-2021-06");
	test_call(server, "DescribeSSLPolicies", "{'PageSize':17,'Marker':'%s'}",
		test_text_of(server, server->answer, "NextMarker"));
	assert_int_equal(json_count(json_get(server->answer, "SslPolicies")), 16);
	assert_null(json_get(server->answer, "NextMarker"));
	test_call(server, "DescribeSSLPolicies",
		"{'Names':['ELBSecurityPolicy-TLS13-1-2-Res-2021-06']}");
	assert_int_equal(json_count(json_get(server->answer, "SslPolicies")), 1);
	test_refused(server, "DescribeSSLPolicies", "SSLPolicyNotFoundException", "FIPS",
		"{'Names':['ELBSecurityPolicy-TLS13-1-3-FIPS-2023-04']}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_WITH_WORLD(test_a_listener_as_it_is_shown),
		TEST_WITH_WORLD(test_protocols),
		TEST_WITH_WORLD(test_what_a_listener_needs),
		TEST_WITH_WORLD(test_a_port_is_there_once),
		TEST_WITH_WORLD(test_load_balancers_on_one_address_share_its_ports),
		TEST_WITH_WORLD(test_describing),
		TEST_WITH_WORLD(test_modifying),
		TEST_WITH_WORLD(test_deleting_takes_rules_along),
		TEST_WITH_WORLD(test_limit_of_listeners),
		TEST_WITH_WORLD(test_attributes),
		TEST_WITH_WORLD(test_ssl_policies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
