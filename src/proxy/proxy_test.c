/* Addresses, and valid and invalid states. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

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

/* A valid state, of which each row changes one member. */
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
	sample->groups[0] =
		(struct proxy_group){.name = "a", .targets = sample->targets, .target_count = 2};
	sample->groups[1] =
		(struct proxy_group){.name = "b", .targets = sample->targets, .target_count = 1};
	sample->routes[0] = (struct proxy_route){"a", 1};
	sample->routes[1] = (struct proxy_route){"b", PROXY_WEIGHT_MAX};
	for (size_t i = 0; i < 2; i++) {
		sample->listeners[i].name = i ? "second" : "first";
		sample->listeners[i].address = address("127.0.0.1", 0);
		sample->listeners[i].routes = sample->routes;
		sample->listeners[i].route_count = 2;
	}
	sample->state = (struct proxy_state){.groups = sample->groups,
		.group_count = 2,
		.listeners = sample->listeners,
		.listener_count = 2};
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

/* The object that a message begins with, "listener 'web': …", is the fault. */
static void check_fault(const char *message, const struct proxy_fault *fault)
{
	char name[PROXY_NAME_MAX + 1] = "";

	assert_true(!fault->listener || !fault->group);
	if (sscanf(message, "listener '%255[^']'", name) == 1)
		assert_string_equal(fault->listener, name);
	else if (sscanf(message, "group '%255[^']'", name) == 1)
		assert_string_equal(fault->group, name);
}

static void test_wrong_states_are_named(void **state)
{
	struct sample sample, *s = &sample;
	struct proxy_fault fault;
	struct err err;

	(void)state;
	sample_init(s);
	assert_int_equal(proxy_state_check(&s->state, &err), 0);
#define CHECK_(spoil, code_, message_)                                                             \
	sample_init(s);                                                                            \
	(void)(spoil);                                                                             \
	s->state.fault = &fault;                                                                   \
	assert_int_equal(proxy_state_check(&s->state, &err), code_);                               \
	assert_string_equal(err.message, message_);                                                \
	check_fault(message_, &fault);
	SPOILS(CHECK_)
#undef CHECK_
}

/* A valid HTTPS listener with one rule of each kind of condition. */
struct http_sample {
	struct proxy_group groups[2];
	struct proxy_route routes[2];
	struct proxy_value values[3];
	struct proxy_condition conditions[3];
	struct proxy_rule rules[2];
	struct proxy_certificate certificate;
	struct proxy_listener listener;
	struct proxy_state state;
	char long_text[PROXY_CERTIFICATE_TEXT_MAX + 2];
};

static void http_sample_init(struct http_sample *s)
{
	memset(s, 0, sizeof(*s));
	memset(s->long_text, 'x', sizeof(s->long_text) - 1);
	s->groups[0].name = "a";
	s->groups[1] = (struct proxy_group){.name = "b",
		.sticky = PROXY_STICKY_APP_COOKIE,
		.sticky_s = 60,
		.sticky_name = "SESSION"};
	s->routes[0] = (struct proxy_route){"a", 1};
	s->routes[1] = (struct proxy_route){"b", 2};
	s->values[0].value = "/api/*";
	s->values[1].value = "10.0.0.0/8";
	s->values[2] = (struct proxy_value){"v", "1"};
	s->conditions[0] = (struct proxy_condition){PROXY_IF_PATH, NULL, &s->values[0], 1};
	s->conditions[1] = (struct proxy_condition){PROXY_IF_SOURCE, NULL, &s->values[1], 1};
	s->conditions[2] = (struct proxy_condition){PROXY_IF_QUERY, NULL, &s->values[2], 1};
	s->rules[0] = (struct proxy_rule){"one", s->conditions, 3,
		{.kind = PROXY_REDIRECT, .status = 301, .host = "www.#{host}"}};
	s->rules[1] = (struct proxy_rule){
		"two", NULL, 0, {.kind = PROXY_FIXED, .status = 404, .body = "gone"}};
	s->certificate = (struct proxy_certificate){"first", "PEM"};
	s->listener = (struct proxy_listener){.name = "web",
		.protocol = PROXY_HTTPS,
		.address = address("127.0.0.1", 0),
		.http = {.rules = s->rules,
			.rule_count = 2,
			.otherwise = {.routes = s->routes, .route_count = 2, .sticky_s = 10},
			.certificates = &s->certificate,
			.certificate_count = 1}};
	s->state = (struct proxy_state){.groups = s->groups,
		.group_count = 2,
		.listeners = &s->listener,
		.listener_count = 1};
}

#define HTTP_SPOILS(X)                                                                             \
	X(s->groups[0].balance = 3, -EINVAL, "group 'a': unknown balance")                         \
	X(s->groups[0].sticky = 3, -EINVAL, "group 'a': unknown kind of stickiness")               \
	X(s->groups[0].sticky = PROXY_STICKY_COOKIE, -EINVAL,                                      \
		"group 'a': sticky for 0 s, not 1 to 604800")                                      \
	X(s->groups[1].sticky_name = "a;b", -EINVAL,                                               \
		"group 'b': sticky by a cookie without a right name")                              \
	X(s->groups[1].slow_start_ms = UINT32_MAX, -EINVAL,                                        \
		"group 'b': slow start of 4294967295 ms, longer than 86400000")                    \
	X(s->routes[1].group = "c", -ENOENT, "listener 'web': there is no group 'c'")              \
	X(s->listener.http.rule_count = PROXY_RULES_MAX + 1, -E2BIG,                               \
		"listener 'web': 201 rules, more than 200")                                        \
	X(s->rules[1].name = "one", -EEXIST, "listener 'web': rule 'one' is there twice")          \
	X(s->rules[1].name = "", -EINVAL, "listener 'web': a rule has no name")                    \
	X(s->rules[0].condition_count = 17, -E2BIG,                                                \
		"listener 'web': rule 'one': 17 conditions, more than 16")                         \
	X(s->conditions[0].kind = 77, -EINVAL,                                                     \
		"listener 'web': rule 'one': a condition of unknown kind")                         \
	X(s->conditions[0].kind = PROXY_IF_HEADER, -EINVAL,                                        \
		"listener 'web': rule 'one': a condition has no name of a header")                 \
	X(s->conditions[0].value_count = 0, -EINVAL,                                               \
		"listener 'web': rule 'one': a condition has no value")                            \
	X(s->conditions[0].value_count = 33, -E2BIG,                                               \
		"listener 'web': rule 'one': its conditions have more than 32 values")             \
	X(s->values[0].value = NULL, -EINVAL,                                                      \
		"listener 'web': rule 'one': a condition's value is missing")                      \
	X(s->values[0].key = "k", -EINVAL,                                                         \
		"listener 'web': rule 'one': only values of a query have keys")                    \
	X(s->values[0].value = "a\nb", -EINVAL,                                                    \
		"listener 'web': rule 'one': value has a control character")                       \
	X(s->values[2].key = s->long_text, -E2BIG,                                                 \
		"listener 'web': rule 'one': key 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' is longer " \
		"than 256 bytes")                                                                  \
	X(s->values[1].value = "10.0.0.0/33", -EINVAL,                                             \
		"listener 'web': rule 'one': source '10.0.0.0/33' is not an address with a "       \
		"prefix length")                                                                   \
	X(s->values[1].value = "10.0.0.1", -EINVAL,                                                \
		"listener 'web': rule 'one': source '10.0.0.1' is not an address with a prefix "   \
		"length")                                                                          \
	X(s->rules[0].action.status = 307, -EINVAL,                                                \
		"listener 'web': rule 'one': a redirect with status 307, neither 301 nor 302")     \
	X(s->rules[0].action.path = "/\r\nX: y", -EINVAL,                                          \
		"listener 'web': rule 'one': path has a control character")                        \
	X(s->rules[1].action.status = 100, -EINVAL,                                                \
		"listener 'web': rule 'two': status 100 is not between 200 and 599")               \
	X(s->rules[1].action.body = s->long_text, -E2BIG,                                          \
		"listener 'web': rule 'two': the body is longer than 1024 bytes")                  \
	X(s->rules[1].action.kind = 9, -EINVAL,                                                    \
		"listener 'web': rule 'two': an action of unknown kind")                           \
	X(s->listener.http.otherwise.sticky_s = 604801, -EINVAL,                                   \
		"listener 'web': sticky for 604801 s, longer than 604800")                         \
	X(s->listener.http.forwarded = 7, -EINVAL,                                                 \
		"listener 'web': unknown treatment of X-Forwarded-For")                            \
	X(s->listener.http.certificate_count = 0, -EINVAL,                                         \
		"listener 'web': https needs a certificate")                                       \
	X((s->listener.protocol = PROXY_TLS_END, s->listener.http.certificate_count = 0), -EINVAL, \
		"listener 'web': tls-end needs a certificate")                                     \
	X(s->listener.http.certificate_count = 27, -E2BIG,                                         \
		"listener 'web': 27 certificates, more than 26")                                   \
	X(s->certificate.pem = "", -EINVAL, "listener 'web': certificate 'first' is empty")        \
	X(s->certificate.pem = s->long_text, -E2BIG,                                               \
		"listener 'web': certificate 'first' is longer than 65536 bytes")

#define CHECK_HTTP_(spoil, code_, message_)                                                        \
	http_sample_init(s);                                                                       \
	(void)(spoil);                                                                             \
	s->state.fault = &fault;                                                                   \
	assert_int_equal(proxy_state_check(&s->state, &err), code_);                               \
	assert_string_equal(err.message, message_);                                                \
	check_fault(message_, &fault);

static void test_wrong_http_is_named(void **state)
{
	struct http_sample *s = memory_allocate(sizeof(*s));
	struct proxy_fault fault;
	struct err err;

	(void)state;
	http_sample_init(s);
	assert_int_equal(proxy_state_check(&s->state, &err), 0);
	HTTP_SPOILS(CHECK_HTTP_)
	free(s);
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
		cmocka_unit_test(test_wrong_http_is_named),
		cmocka_unit_test(test_control_messages_are_checked),
	};

	return cmocka_run_group_tests_name("proxy/proxy", tests, NULL, NULL);
}
