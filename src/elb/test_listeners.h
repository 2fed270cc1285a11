/*
 * A small world for tests of listeners and rules: load balancers and target groups, by their ARNs, and the
 * shortest ways to a listener and a rule. Include it behind cmocka's header.
 */
#ifndef ELB_TEST_LISTENERS_H
#define ELB_TEST_LISTENERS_H

#include "elb/test_server.h"

#define TEST_ARN_SIZE 256

struct test_world {
	struct test_server *server;
	char app[TEST_ARN_SIZE], other[TEST_ARN_SIZE]; /* application load balancers */
	char net[TEST_ARN_SIZE];                       /* a network load balancer */
	char http[TEST_ARN_SIZE], https[TEST_ARN_SIZE], more[6][TEST_ARN_SIZE]; /* groups */
	char tcp[TEST_ARN_SIZE], udp[TEST_ARN_SIZE], tcp_udp[TEST_ARN_SIZE], tls[TEST_ARN_SIZE];
};

/* The ARN in the first item of a list of the last answer. */
static inline void test_take_arn(struct test_server *server, const char *list, const char *member,
	char out[TEST_ARN_SIZE])
{
	snprintf(out, TEST_ARN_SIZE, "%s",
		test_text_of(server, test_item(server, list, 0), member));
}

static inline void test_balancer(struct test_server *server, const char *name, const char *type,
	char out[TEST_ARN_SIZE])
{
	test_call(server, "CreateLoadBalancer", "{'Name':'%s','Type':'%s'}", name, type);
	test_take_arn(server, "LoadBalancers", "LoadBalancerArn", out);
}

static inline void test_group(struct test_server *server, const char *name, const char *protocol,
	char out[TEST_ARN_SIZE])
{
	test_call(server, "CreateTargetGroup",
		"{'Name':'%s','Protocol':'%s','Port':80,'TargetType':'ip'}", name, protocol);
	test_take_arn(server, "TargetGroups", "TargetGroupArn", out);
}

/* A listener of HTTP that forwards to the group http. */
static inline void test_listener(struct test_world *world, int port, char out[TEST_ARN_SIZE])
{
	test_call(world->server, "CreateListener",
		"{'LoadBalancerArn':'%s','Protocol':'HTTP','Port':%d,'DefaultActions':"
		"[{'Type':'forward','TargetGroupArn':'%s'}]}",
		world->app, port, world->http);
	test_take_arn(world->server, "Listeners", "ListenerArn", out);
}

/* A rule for a path that answers by itself. */
static inline void test_rule(struct test_world *world, const char *listener, int priority,
	char out[TEST_ARN_SIZE])
{
	test_call(world->server, "CreateRule",
		"{'ListenerArn':'%s','Priority':%d,'Conditions':[{'Field':'path-pattern','Values':"
		"['/%d']}],'Actions':[{'Type':'fixed-response','FixedResponseConfig':{'StatusCode':"
		"'200'}}]}",
		listener, priority, priority);
	test_take_arn(world->server, "Rules", "RuleArn", out);
}

static inline int test_world_setup(void **state)
{
	struct test_world *world = memory_allocate(sizeof(*world));
	void *server;
	char name[16];

	test_server_setup(&server);
	world->server = server;
	test_balancer(server, "app", "application", world->app);
	test_balancer(server, "other", "application", world->other);
	test_balancer(server, "net", "network", world->net);
	test_group(server, "http", "HTTP", world->http);
	test_group(server, "https", "HTTPS", world->https);
	for (size_t i = 0; i < LENGTH(world->more); i++) {
		snprintf(name, sizeof(name), "more-%zu", i);
		test_group(server, name, "HTTP", world->more[i]);
	}
	test_group(server, "tcp", "TCP", world->tcp);
	test_group(server, "udp", "UDP", world->udp);
	test_group(server, "tcp-udp", "TCP_UDP", world->tcp_udp);
	test_group(server, "tls", "TLS", world->tls);
	*state = world;
	return 0;
}

static inline int test_world_teardown(void **state)
{
	struct test_world *world = *state;
	void *server = world->server;

	test_server_teardown(&server);
	free(world);
	return 0;
}

#define TEST_WITH_WORLD(test)                                                                      \
	cmocka_unit_test_setup_teardown(test, test_world_setup, test_world_teardown)

#endif
