/* Answers for names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cloudmap/test_zone.h"

static void services_have_addresses(void **state)
{
	struct test *test = start();

	(void)state;
	put_namespace(test, "ns-1", "Shop.local");
	put_service(test, "srv-1", "ns-1", "Web", CLOUDMAP_RECORD_A | CLOUDMAP_RECORD_AAAA, false);
	assert_nothing(test, "web.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "Shop.local");
	put_instance(test, "srv-1", "i-1", "192.0.2.1", 1);
	assert_address(test, "web.shop.local", "192.0.2.1", 60);
	assert_address(test, "web.shop.local", "2001:db8::1", 61);
	assert_nothing(test, "web.shop.local", DNS_TYPE_SRV, DNS_FOUND, "Shop.local");
	assert_nothing(test, "web.shop.local", DNS_TYPE_TXT, DNS_FOUND, "Shop.local");
	assert_nothing(test, "other.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "Shop.local");
	/* Only hosts of SRV records have names. */
	assert_nothing(test, "i-1.web.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "Shop.local");
	assert_nothing(test, "shop.local", DNS_TYPE_A, DNS_FOUND, "Shop.local");
	assert_int_equal(ask(test, "shop.local", DNS_TYPE_SOA), 1);
	assert_string_equal(name_text(&test->answer.records[0].record.soa->primary),
		"ns.Slipway.Internal");
	assert_int_equal(ask(test, "shop.local", DNS_TYPE_NS), 1);
	assert_int_equal(ask(test, "local", DNS_TYPE_A), 0);
	assert_int_equal(test->outcome, DNS_NOT_OURS);
	assert_int_equal(ask(test, ".", DNS_TYPE_NS), 0);
	assert_int_equal(test->outcome, DNS_NOT_OURS);
	delete_object(test, &cloudmap_instance_kind, "srv-1/i-1");
	assert_nothing(test, "web.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "Shop.local");
	finish(test);
}

static const char *srv_target(struct test *test, const char *service)
{
	assert_int_equal(ask(test, service, DNS_TYPE_SRV), 1);
	assert_int_equal(test->answer.records[0].record.srv.priority, 1);
	assert_int_equal(test->answer.records[0].record.srv.weight, 1);
	assert_int_equal(test->answer.records[0].record.srv.port, 8080);
	/* Its addresses come along. */
	assert_int_equal(test->answer.record_count, 3);
	assert_int_equal(test->answer.records[1].section, DNS_SECTION_ADDITIONAL);
	assert_true(dns_name_equal(test->answer.records[1].record.owner,
		test->answer.records[0].record.srv.target));
	return name_text(test->answer.records[0].record.srv.target);
}

static void srv_names_hosts_that_resolve(void **state)
{
	static const struct {
		const char *id;
		const char *target; /* NULL: by its hash */
	} rows[] = {
		{"task-1", "task-1.web.shop.local"},
		{"Task_2", "Task_2.web.shop.local"},
		{"10.0.0.1", "10.0.0.1.web.shop.local"},
		{"a/b", NULL},
		{"a:b@c", NULL},
		{"..", NULL},
		{"-a", NULL},
		{"a234567890123456789012345678901234567890123456789012345678901234", NULL},
	};
	struct test *test = start();
	char target[DNS_NAME_TEXT_MAX];

	(void)state;
	put_namespace(test, "ns-1", "shop.local");
	put_service(test, "srv-1", "ns-1", "web", CLOUDMAP_RECORD_SRV, false);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		char key[128];

		put_instance(test, "srv-1", rows[i].id, "192.0.2.7", 1);
		snprintf(target, sizeof(target), "%s", srv_target(test, "web.shop.local"));
		if (rows[i].target)
			assert_string_equal(target, rows[i].target);
		else
			assert_int_equal(strncmp(target, "x-", 2), 0);
		for (char *c = target; *c; c++)
			*c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
		assert_address(test, target, "192.0.2.7", 62);
		assert_address(test, target, "2001:db8::1", 62);
		assert_nothing(test, target, DNS_TYPE_SRV, DNS_FOUND, "shop.local");
		snprintf(key, sizeof(key), "srv-1/%s", rows[i].id);
		delete_object(test, &cloudmap_instance_kind, key);
		assert_nothing(test, target, DNS_TYPE_A, DNS_NO_SUCH_NAME, "shop.local");
	}
	/* Names between host and service exist; two ids that are equal in DNS have two names. */
	put_instance(test, "srv-1", "10.0.0.1", "192.0.2.7", 1);
	assert_nothing(test, "0.0.1.web.shop.local", DNS_TYPE_A, DNS_FOUND, "shop.local");
	assert_nothing(test, "1.1.web.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "shop.local");
	assert_nothing(test, "a.0.0.1.web.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "shop.local");
	delete_object(test, &cloudmap_instance_kind, "srv-1/10.0.0.1");
	put_instance(test, "srv-1", "TASK", "192.0.2.1", 1);
	put_instance(test, "srv-1", "task", "192.0.2.2", 1);
	assert_int_equal(ask(test, "web.shop.local", DNS_TYPE_SRV), 2);
	assert_address(test, "task.web.shop.local", "192.0.2.1", 62);
	finish(test);
}

static void names_between_exist_with_what_is_below(void **state)
{
	struct test *test = start();

	(void)state;
	put_namespace(test, "ns-1", "shop.local");
	put_service(test, "srv-1", "ns-1", "_http._tcp.web", CLOUDMAP_RECORD_SRV, false);
	assert_nothing(test, "_tcp.web.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "shop.local");
	put_instance(test, "srv-1", "a", "192.0.2.1", 1);
	assert_string_equal(srv_target(test, "_http._tcp.web.shop.local"),
		"a._http._tcp.web.shop.local");
	assert_nothing(test, "_tcp.web.shop.local", DNS_TYPE_A, DNS_FOUND, "shop.local");
	assert_nothing(test, "web.shop.local", DNS_TYPE_A, DNS_FOUND, "shop.local");
	assert_nothing(test, "_udp.web.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "shop.local");
	/* A service that is only for DiscoverInstances has no name, and gives none to those above. */
	put_service(test, "srv-2", "ns-1", "one.two", 0, false);
	put_instance(test, "srv-2", "a", "192.0.2.1", 1);
	assert_nothing(test, "one.two.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "shop.local");
	assert_nothing(test, "two.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "shop.local");
	put_service(test, "srv-2", "ns-1", "one.two", CLOUDMAP_RECORD_A, false);
	assert_nothing(test, "two.shop.local", DNS_TYPE_A, DNS_FOUND, "shop.local");
	assert_address(test, "one.two.shop.local", "192.0.2.1", 60);
	delete_object(test, &cloudmap_service_kind, "srv-2");
	assert_nothing(test, "two.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "shop.local");
	finish(test);
}

static void aliases_answer_every_type(void **state)
{
	static const uint16_t types[] = {DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_CNAME, DNS_TYPE_ANY};
	struct test *test = start();

	(void)state;
	put_namespace(test, "ns-1", "shop.local");
	put_service(test, "srv-1", "ns-1", "www", CLOUDMAP_RECORD_CNAME, true);
	put_instance_facts(test, "srv-1", "a",
		(struct cloudmap_instance_facts){.ipv4 = SPAN(""),
			.ipv6 = SPAN(""),
			.cname = SPAN("www.example.com"),
			.weight = 1});
	for (size_t i = 0; i < LENGTH(types); i++) {
		assert_int_equal(ask(test, "www.shop.local", types[i]), 1);
		assert_int_equal(test->answer.records[0].record.type, DNS_TYPE_CNAME);
		assert_int_equal(test->answer.records[0].record.ttl, 63);
		assert_string_equal(name_text(test->answer.records[0].record.name),
			"www.example.com");
	}
	finish(test);
}

static void put_unhealthy(struct test *test, const char *id, const char *ipv4, int64_t unhealthy_ms)
{
	put_instance_facts(test, "srv-1", id,
		(struct cloudmap_instance_facts){.ipv4 = span_of(ipv4),
			.ipv6 = SPAN(""),
			.cname = SPAN(""),
			.weight = 1,
			.unhealthy_ms = unhealthy_ms});
}

static void unhealthy_instances_are_left_out_in_time(void **state)
{
	struct test *test = start();

	(void)state;
	put_namespace(test, "ns-1", "shop.local");
	put_service(test, "srv-1", "ns-1", "web", CLOUDMAP_RECORD_A, false);
	put_unhealthy(test, "a", "192.0.2.1", 0);
	put_unhealthy(test, "b", "192.0.2.2", 1030000); /* in half a minute */
	assert_int_equal(ask(test, "web.shop.local", DNS_TYPE_A), 2);
	clock_manual_advance_ms(&test->clock, 29999);
	assert_int_equal(ask(test, "web.shop.local", DNS_TYPE_A), 2);
	clock_manual_advance_ms(&test->clock, 1);
	assert_address(test, "web.shop.local", "192.0.2.1", 60);
	put_unhealthy(test, "a", "192.0.2.1", 1030000);
	/* None is healthy: as if all were. */
	assert_int_equal(ask(test, "web.shop.local", DNS_TYPE_A), 2);
	put_unhealthy(test, "b", "192.0.2.2", 0);
	assert_address(test, "web.shop.local", "192.0.2.2", 60);
	finish(test);
}

static void multivalue_gives_eight_and_none_of_weight_zero(void **state)
{
	struct test *test = start();
	char id[16], address[16];
	bool seen[12] = {false};

	(void)state;
	put_namespace(test, "ns-1", "shop.local");
	put_service(test, "srv-1", "ns-1", "web", CLOUDMAP_RECORD_A, false);
	for (int i = 0; i < 12; i++) {
		snprintf(id, sizeof(id), "i-%d", i);
		snprintf(address, sizeof(address), "192.0.2.%d", i);
		put_instance(test, "srv-1", id, address, i % 4 == 3 ? 0 : 1 + i);
	}
	for (int round = 0; round < 100; round++) {
		assert_int_equal(ask(test, "web.shop.local", DNS_TYPE_A), 8);
		for (size_t i = 0; i < 8; i++) {
			uint8_t last = test->answer.records[i].record.address4[3];

			assert_true(last % 4 != 3);
			seen[last] = true;
			for (size_t j = 0; j < i; j++)
				assert_int_not_equal(last,
					test->answer.records[j].record.address4[3]);
		}
	}
	for (int i = 0; i < 12; i++)
		assert_int_equal(seen[i], i % 4 != 3);
	for (int i = 0; i < 12; i++) {
		snprintf(id, sizeof(id), "i-%d", i);
		put_instance(test, "srv-1", id, "192.0.2.1", 0);
	}
	assert_int_equal(ask(test, "web.shop.local", DNS_TYPE_A), 8);
	finish(test);
}

/* ---- namespaces ---- */

static void a_name_is_in_the_longest_namespace(void **state)
{
	struct test *test = start();

	(void)state;
	put_namespace(test, "ns-1", "local");
	put_namespace(test, "ns-2", "shop.local");
	put_service(test, "srv-1", "ns-1", "web.shop", CLOUDMAP_RECORD_A, false);
	put_service(test, "srv-2", "ns-1", "web", CLOUDMAP_RECORD_A, false);
	put_instance(test, "srv-1", "a", "192.0.2.1", 1);
	put_instance(test, "srv-2", "a", "192.0.2.2", 1);
	assert_address(test, "web.local", "192.0.2.2", 60);
	assert_nothing(test, "web.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "shop.local");
	delete_object(test, &cloudmap_namespace_kind, "ns-2");
	assert_address(test, "web.shop.local", "192.0.2.1", 60);
	finish(test);
}

static void of_two_namespaces_the_older_answers(void **state)
{
	struct test *test = start();
	struct change deletion = {.kind = &cloudmap_namespace_kind,
		.key = SPAN("123456789012/eu-west-1/ns-2"),
		.delete_ = true};

	(void)state;
	put_namespace_at(test, SCOPE "ns-1", "shop.local", CLOUDMAP_DNS_PRIVATE, 2);
	put_service(test, "srv-1", "ns-1", "web", CLOUDMAP_RECORD_A, false);
	put_instance(test, "srv-1", "a", "192.0.2.1", 1);
	assert_address(test, "web.shop.local", "192.0.2.1", 60);
	put_namespace_at(test, "123456789012/eu-west-1/ns-2", "SHOP.local", CLOUDMAP_DNS_PRIVATE,
		1);
	assert_nothing(test, "web.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "SHOP.local");
	write_change(test, deletion);
	assert_address(test, "web.shop.local", "192.0.2.1", 60);
	put_namespace_at(test, SCOPE "ns-3", "http.local", CLOUDMAP_HTTP, 1);
	assert_int_equal(ask(test, "http.local", DNS_TYPE_SOA), 0);
	assert_int_equal(test->outcome, DNS_NOT_OURS);
	finish(test);
}

static void the_domain_has_its_own_names(void **state)
{
	struct test *test = start();

	(void)state;
	assert_address(test, "api.slipway.internal", "192.0.2.80", 60);
	assert_address(test, "data-api.slipway.internal", "192.0.2.80", 60);
	assert_address(test, "ns.slipway.internal", "2001:db8::53", 60);
	assert_address(test, "web-1.elb.slipway.internal", "127.192.0.1", 60);
	assert_nothing(test, "elb.slipway.internal", DNS_TYPE_A, DNS_FOUND, "slipway.internal");
	assert_nothing(test, "api.slipway.internal", DNS_TYPE_AAAA, DNS_FOUND, "slipway.internal");
	assert_nothing(test, "x.slipway.internal", DNS_TYPE_A, DNS_NO_SUCH_NAME,
		"slipway.internal");
	assert_nothing(test, "slipway.internal", DNS_TYPE_A, DNS_FOUND, "slipway.internal");
	assert_int_equal(ask(test, "slipway.internal", DNS_TYPE_SOA), 1);
	/* A namespace of that name, or below it, has the rest. */
	put_namespace(test, "ns-1", "slipway.internal");
	put_namespace(test, "ns-2", "deep.slipway.internal");
	put_service(test, "srv-1", "ns-1", "web", CLOUDMAP_RECORD_A, false);
	put_service(test, "srv-2", "ns-1", "api", CLOUDMAP_RECORD_A, false);
	put_service(test, "srv-3", "ns-2", "web", CLOUDMAP_RECORD_A, false);
	put_instance(test, "srv-1", "a", "192.0.2.1", 1);
	put_instance(test, "srv-2", "a", "192.0.2.2", 1);
	put_instance(test, "srv-3", "a", "192.0.2.3", 1);
	assert_address(test, "web.slipway.internal", "192.0.2.1", 60);
	assert_address(test, "api.slipway.internal", "192.0.2.80", 60);
	assert_address(test, "web.deep.slipway.internal", "192.0.2.3", 60);
	assert_int_equal(ask(test, "internal", DNS_TYPE_A), 0);
	assert_int_equal(test->outcome, DNS_NOT_OURS);
	finish(test);
}

static void a_domain_that_is_no_name_is_refused(void **state)
{
	struct test *test = start();
	struct zone_config config = {.store = test->store,
		.runner = test->runner,
		.domain = SPAN("a..b"),
		.api_address = SPAN("127.0.0.1")};
	struct zone *zone;
	struct err err;

	(void)state;
	assert_int_equal(zone_open(&config, &zone, &err), -EINVAL);
	config.domain = SPAN("slipway.internal");
	config.api_address = SPAN("localhost");
	assert_int_equal(zone_open(&config, &zone, &err), -EINVAL);
	assert_non_null(strstr(err.message, "localhost"));
	finish(test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(services_have_addresses),
		cmocka_unit_test(srv_names_hosts_that_resolve),
		cmocka_unit_test(names_between_exist_with_what_is_below),
		cmocka_unit_test(aliases_answer_every_type),
		cmocka_unit_test(unhealthy_instances_are_left_out_in_time),
		cmocka_unit_test(multivalue_gives_eight_and_none_of_weight_zero),
		cmocka_unit_test(a_name_is_in_the_longest_namespace),
		cmocka_unit_test(of_two_namespaces_the_older_answers),
		cmocka_unit_test(the_domain_has_its_own_names),
		cmocka_unit_test(a_domain_that_is_no_name_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
