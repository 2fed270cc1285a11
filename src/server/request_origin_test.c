/* Which Host, Origin and Sec-Fetch-Site may call the server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/memory.h"
#include "server/config.h"
#include "server/request_origin.h"

static struct request_origin_rules rules_of(const char *listen, const char *hosts,
	const char *origins)
{
	struct server_config config;
	struct request_origin_rules rules;
	struct err err;

	server_config_init(&config);
	config.listen = listen;
	config.http_hosts = hosts;
	config.http_origins = origins;
	assert_int_equal(request_origin_read(&config, &rules, &err), 0);
	snprintf(rules.machine_name, sizeof(rules.machine_name), "machine");
	return rules;
}

static bool allows_host(const struct request_origin_rules *rules, const char *host)
{
	struct http_request request = {.host = span_of(host)};

	return !request_origin_check_host(rules, &request);
}

static void names_of_the_server(void **state)
{
	static const char *const allowed[] = {NULL, "127.0.0.1", "127.0.0.1:4780", "10.1.2.3:80",
		"[::1]", "[::1]:4780", "[fe80::1%eth0]:1", "localhost", "LOCALHOST:1", "localhost.",
		"web.localhost", "machine:4780", "slipway.internal", "api.slipway.internal:1",
		"lb.elb.slipway.internal", "control.example.com"};
	static const char *const refused[] = {"", ":80", "evil.example", "evil.example:4780",
		"localhost.evil.example", "notlocalhost", "127.0.0.1.evil.example", "1.2.3",
		"0x7f.1", "2130706433", "[::1", "[localhost]", "[127.0.0.1]", "[::1]evil",
		"localhost:99999", "localhost:x", "machine.example", ".localhost.",
		"slipway.internal.evil.example", "sub.control.example.com", "xslipway.internal"};
	struct request_origin_rules rules = rules_of("127.0.0.1:0", "control.example.com", NULL);

	(void)state;
	for (size_t i = 0; i < LENGTH(allowed); i++)
		if (!allows_host(&rules, allowed[i]))
			fail_msg("'%s' is refused", allowed[i]);
	for (size_t i = 0; i < LENGTH(refused); i++)
		if (allows_host(&rules, refused[i]))
			fail_msg("'%s' is allowed", refused[i]);
}

static void patterns_of_names(void **state)
{
	struct request_origin_rules some = rules_of("box:1", "*.example.com, other", NULL);
	struct request_origin_rules all = rules_of("127.0.0.1:1", "*", NULL);

	(void)state;
	assert_true(allows_host(&some, "a.b.example.com:1"));
	assert_true(allows_host(&some, "other"));
	assert_true(allows_host(&some, "BOX"));
	assert_false(allows_host(&some, "example.com"));
	assert_false(allows_host(&some, "aexample.com"));
	assert_true(allows_host(&all, "whatever.example"));
	assert_false(allows_host(&all, ""));
}

static void invalid_lists(void **state)
{
	static const struct {
		const char *hosts, *origins, *expected;
	} cases[] = {
		{"a b", NULL, "http.hosts: 'a b' is not valid"},
		{"a,,b", NULL, "http.hosts: '' is not valid"},
		{"*.", NULL, "http.hosts: '*.' is not valid"},
		{"http://a", NULL, "http.hosts: 'http://a' is not valid"},
		{NULL, "a.example", "http.origins: 'a.example' is not valid"},
		{NULL, "ftp://a", "http.origins: 'ftp://a' is not valid"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct request_origin_rules rules;
		struct server_config config;
		struct err err;

		server_config_init(&config);
		config.http_hosts = cases[i].hosts;
		config.http_origins = cases[i].origins;
		assert_int_equal(request_origin_read(&config, &rules, &err), -EINVAL);
		assert_string_equal(err.message, cases[i].expected);
	}
}

static void pages_of_other_sites(void **state)
{
	static const struct {
		const char *host, *origin, *site;
		bool allowed;
	} cases[] = {
		{"localhost:4780", NULL, NULL, true},
		{"localhost:4780", NULL, "none", true},
		{"localhost:4780", NULL, "same-origin", true},
		{"localhost:4780", NULL, "same-site", false},
		{"localhost:4780", NULL, "cross-site", false},
		{"localhost:4780", NULL, "", false},
		{"localhost:4780", "http://localhost:4780", "same-origin", true},
		{"localhost:4780", "http://LOCALHOST:4780", NULL, true},
		{"localhost:4780", "http://localhost:3000", NULL, false},
		{"localhost:4780", "http://localhost", NULL, false},
		{"localhost:4780", "http://127.0.0.1:4780", NULL, false},
		{"localhost:4780", "http://evil.example", NULL, false},
		{"localhost:4780", "http://localhost:4780", "cross-site", false},
		{"localhost:4780", "null", NULL, false},
		{"localhost:4780", "", NULL, false},
		{"localhost:4780", "file://", NULL, false},
		{"localhost", "http://localhost:80", NULL, true},
		{"localhost", "https://localhost", NULL, true},
		{"localhost:443", "https://localhost", NULL, true},
		{"localhost:443", "http://localhost", NULL, false},
		{"[::1]:4780", "http://[::1]:4780", NULL, true},
		{NULL, "http://localhost", NULL, false},
		{"localhost:4780", "https://console.example.com", "cross-site", true},
		{"localhost:4780", "https://console.example.com:444", NULL, false},
	};
	struct request_origin_rules rules =
		rules_of("127.0.0.1:4780", NULL, "https://console.example.com");

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct http_header headers[] = {
			{SPAN("sec-fetch-site"), span_of(cases[i].site)},
			{SPAN("origin"), span_of(cases[i].origin)},
		};
		struct http_request request = {
			.host = span_of(cases[i].host), .headers = headers, .header_count = 2};

		if (!cases[i].site)
			headers[0] = (struct http_header){SPAN("x"), SPAN("")};
		if (!cases[i].origin)
			headers[1] = (struct http_header){SPAN("x"), SPAN("")};
		if (!request_origin_check_page(&rules, &request) != cases[i].allowed)
			fail_msg("%zu: %s %s %s", i, cases[i].host, cases[i].origin, cases[i].site);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_the_server),
		cmocka_unit_test(patterns_of_names),
		cmocka_unit_test(invalid_lists),
		cmocka_unit_test(pages_of_other_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
