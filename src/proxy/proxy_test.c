/* Addresses, and which states are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/l4/control.h"
#include "proxy/l4/shared.h"
#include "proxy/proxy.h"

static union proxy_address address(const char *host, unsigned port)
{
	union proxy_address out;

	assert_int_equal(proxy_address_parse(host, port, &out, NULL), 0);
	return out;
}

static void test_addresses(void **state)
{
	union proxy_address v4 = address("127.0.0.1", 80), v6 = address("::1", 80), other;
	char text[PROXY_ADDRESS_TEXT_SIZE];
	struct err err;

	(void)state;
	proxy_address_format(&v4, text);
	assert_string_equal(text, "127.0.0.1:80");
	proxy_address_format(&v6, text);
	assert_string_equal(text, "[::1]:80");
	assert_false(proxy_address_equal(&v4, &v6));
	other = address("127.0.0.1", 81);
	assert_false(proxy_address_equal(&v4, &other));
	assert_true(proxy_address_equal(&v4, &v4));
	assert_int_equal(proxy_address_parse("localhost", 1, &other, &err), -EINVAL);
	assert_string_equal(err.message, "'localhost' is not an IPv4 or IPv6 address");
	assert_int_equal(proxy_address_parse("::1", 65536, &other, &err), -EINVAL);
}

/* A right state, one thing of which each row spoils. */
struct sample {
	struct proxy_target targets[2];
	struct proxy_group groups[2];
	struct proxy_route routes[2];
	struct proxy_listener listeners[2];
	struct proxy_state state;
};

static void sample_init(struct sample *sample)
{
	memset(sample, 0, sizeof(*sample));
	sample->targets[0].address = address("10.0.0.1", 80);
	sample->targets[1].address = address("10.0.0.2", 80);
	sample->groups[0] = (struct proxy_group){"a", sample->targets, 2};
	sample->groups[1] = (struct proxy_group){"b", sample->targets, 1};
	sample->routes[0] = (struct proxy_route){"a", 1};
	sample->routes[1] = (struct proxy_route){"b", PROXY_WEIGHT_MAX};
	for (size_t i = 0; i < 2; i++) {
		sample->listeners[i].name = i ? "second" : "first";
		sample->listeners[i].address = address("127.0.0.1", 0);
		sample->listeners[i].routes = sample->routes;
		sample->listeners[i].route_count = 2;
	}
	sample->state = (struct proxy_state){sample->groups, 2, sample->listeners, 2};
}

#define SPOILS(X)                                                                                  \
	X(s->groups[1].name = "a", -EEXIST, "group 'a' is there twice")                            \
	X(s->groups[0].name = "", -EINVAL, "a group has no name")                                  \
	X(s->targets[1] = s->targets[0], -EEXIST, "group 'a': target 10.0.0.1:80 is there twice")  \
	X(s->targets[0].address = address("::1", 0), -EINVAL,                                      \
		"group 'a': target [::1]:0 has no port")                                           \
	X(s->targets[0].address.any.sa_family = 0, -EINVAL, "group 'a': target 0 has no address")  \
	X(s->targets[1].state = 9, -EINVAL, "group 'a': target 10.0.0.2:80 has no known state")    \
	X(s->targets[1].drain_ms = PROXY_TIMEOUT_MAX_MS + 1, -EINVAL,                              \
		"group 'a': target 10.0.0.2:80 drains for 86400001 ms, longer than 86400000")      \
	X(s->groups[1].target_count = PROXY_GROUP_TARGETS_MAX + 1, -E2BIG,                         \
		"group 'b': 1001 targets, more than 1000")                                         \
	X(s->listeners[1].name = "first", -EEXIST, "listener 'first' is there twice")              \
	X(s->listeners[1].name = NULL, -EINVAL, "a listener has no name")                          \
	X(s->listeners[1].protocol = 77, -EINVAL, "listener 'second': unknown protocol")           \
	X(s->listeners[1].address.any.sa_family = 0, -EINVAL, "listener 'second': no address")     \
	X(s->routes[1].group = "c", -ENOENT, "listener 'first': there is no group 'c'")            \
	X(s->routes[1].group = "a", -EEXIST, "listener 'first': group 'a' is there twice")         \
	X(s->routes[1].weight++, -EINVAL,                                                          \
		"listener 'first': weight 1000001 of group 'b' is above 1000000")                  \
	X(s->listeners[1].route_count = PROXY_ROUTES_MAX + 1, -E2BIG,                              \
		"listener 'second': 17 groups, more than 16")                                      \
	X(s->listeners[1].options.retries = 5, -EINVAL, "listener 'second': retries 5 is above 4") \
	X(s->listeners[1].options.connect_timeout_ms = UINT32_MAX, -EINVAL,                        \
		"listener 'second': connect timeout 4294967295 is above 86400000")                 \
	X((s->listeners[1].protocol = PROXY_UDP, s->listeners[1].options.proxy_v2 = true),         \
		-EINVAL, "listener 'second': no PROXY header for UDP")                             \
	X(s->listeners[1].options.udp_mode = 2, -EINVAL, "listener 'second': unknown UDP mode")

static void test_wrong_states_are_named(void **state)
{
	struct sample sample, *s = &sample;
	struct err err;

	(void)state;
	sample_init(s);
	assert_int_equal(proxy_state_check(&s->state, &err), 0);
#define CHECK_(spoil, code_, message_)                                                             \
	sample_init(s);                                                                            \
	(void)(spoil);                                                                             \
	assert_int_equal(proxy_state_check(&s->state, &err), code_);                               \
	assert_string_equal(err.message, message_);
	SPOILS(CHECK_)
#undef CHECK_
}

static void test_control_messages_are_checked(void **state)
{
	struct control_message message = {.kind = CONTROL_LISTEN, .slot = 3}, out;
	struct err err;

	(void)state;
	assert_int_equal(control_check(&message, sizeof(message), true, true, &out, &err), 0);
	assert_int_equal(out.slot, 3);
	assert_int_equal(control_check(&message, 3, true, true, &out, &err), -EPROTO);
	assert_string_equal(err.message, "a control message of 3 bytes, not 16");
	assert_int_equal(control_check(&message, sizeof(message), false, true, &out, &err),
		-EPROTO);
	assert_string_equal(err.message, "control message LISTEN lacks a descriptor");
	assert_int_equal(control_check(&message, sizeof(message), true, false, &out, &err),
		-EPROTO);
	message.slot = PROXY_LISTENERS_MAX;
	assert_int_equal(control_check(&message, sizeof(message), true, true, &out, &err), -EPROTO);
	assert_string_equal(err.message, "control message LISTEN: slot 1024 of 1024");
	message = (struct control_message){.kind = CONTROL_HELLO, .slot = L4_WORKER_SLOTS};
	assert_int_equal(control_check(&message, sizeof(message), true, true, &out, &err), -EPROTO);
	message.kind = CONTROL_KIND_COUNT;
	assert_int_equal(control_check(&message, sizeof(message), true, true, &out, &err), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_wrong_states_are_named),
		cmocka_unit_test(test_control_messages_are_checked),
	};

	return cmocka_run_group_tests_name("proxy/proxy", tests, NULL, NULL);
}
