/* How many answers pass for each client, and how the others are limited. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "base/memory.h"
#include "io/dns_limit.h"

static const struct dns_limit_config standard = {
	.rate = 10, .slip = 2, .prefix4 = 24, .prefix6 = 56};

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage storage = {0};
	struct sockaddr_in *four = (struct sockaddr_in *)&storage;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&storage;

	if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
		storage.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1)
		storage.ss_family = AF_INET6;
	return storage;
}

static enum dns_limit_verdict take(struct dns_limit *limit, const char *source, uint64_t kind,
	int64_t now_ms)
{
	struct sockaddr_storage storage = address(source);

	return dns_limit_take(limit, (struct sockaddr *)&storage, kind, now_ms * 1000);
}

static void test_rate_and_slip(void **state)
{
	struct dns_limit *limit = dns_limit_new(&standard, 1);
	unsigned sent = 0;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(take(limit, "192.0.2.1", 7, 1000), DNS_LIMIT_SEND);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(take(limit, "192.0.2.1", 7, 1000),
			i % 2 ? DNS_LIMIT_SLIP : DNS_LIMIT_DROP);
	/* A token each 100 ms. */
	assert_int_equal(take(limit, "192.0.2.1", 7, 1099), DNS_LIMIT_DROP);
	assert_int_equal(take(limit, "192.0.2.1", 7, 1100), DNS_LIMIT_SEND);
	assert_int_equal(take(limit, "192.0.2.1", 7, 1101), DNS_LIMIT_DROP);
	for (int64_t now = 2000; now < 12000; now++)
		sent += take(limit, "192.0.2.1", 7, now) == DNS_LIMIT_SEND;
	assert_in_range(sent, 100, 110);
	/* After a long pause not more than a second's worth. */
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(take(limit, "192.0.2.1", 7, 9999999), DNS_LIMIT_SEND);
	assert_int_not_equal(take(limit, "192.0.2.1", 7, 9999999), DNS_LIMIT_SEND);
	dns_limit_free(limit);
}

static void exhaust(struct dns_limit *limit, const char *source)
{
	for (unsigned i = 0; i < 10; i++)
		take(limit, source, 7, 1000);
}

static void test_clients_of_a_network_share_a_bucket(void **state)
{
	struct dns_limit *limit = dns_limit_new(&standard, 1);

	(void)state;
	exhaust(limit, "192.0.2.1");
	assert_int_not_equal(take(limit, "192.0.2.200", 7, 1000), DNS_LIMIT_SEND);
	assert_int_not_equal(take(limit, "::ffff:192.0.2.9", 7, 1000), DNS_LIMIT_SEND);
	assert_int_equal(take(limit, "192.0.3.1", 7, 1000), DNS_LIMIT_SEND);
	assert_int_equal(take(limit, "192.0.2.1", 8, 1000), DNS_LIMIT_SEND);
	exhaust(limit, "2001:db8:0:ab00::1");
	assert_int_not_equal(take(limit, "2001:db8:0:abff:1:2:3:4", 7, 1000), DNS_LIMIT_SEND);
	assert_int_equal(take(limit, "2001:db8:0:ac00::1", 7, 1000), DNS_LIMIT_SEND);
	dns_limit_free(limit);
}

static void test_without_rate_or_slip(void **state)
{
	struct dns_limit_config config = standard;
	struct dns_limit *limit;

	(void)state;
	config.rate = 0;
	limit = dns_limit_new(&config, 1);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(take(limit, "192.0.2.1", 7, 0), DNS_LIMIT_SEND);
	dns_limit_free(limit);
	config = standard;
	config.slip = 0;
	limit = dns_limit_new(&config, 1);
	exhaust(limit, "192.0.2.1");
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(take(limit, "192.0.2.1", 7, 1000), DNS_LIMIT_DROP);
	dns_limit_free(limit);
}

/* A flood from forged networks does not free one that is limited as long as it keeps sending. */
static void test_flood_of_networks(void **state)
{
	struct dns_limit *limit = dns_limit_new(&standard, 1);
	struct sockaddr_storage storage = address("0.0.0.0");
	unsigned sent = 0;

	(void)state;
	for (uint32_t i = 0; i < 200000; i++) {
		((struct sockaddr_in *)&storage)->sin_addr.s_addr = htonl(i << 8);
		dns_limit_take(limit, (struct sockaddr *)&storage, 7, 1000 * (int64_t)(i / 1000));
		sent += take(limit, "192.0.2.1", 7, i / 1000) == DNS_LIMIT_SEND;
	}
	/* 200 ms at 10 a second, and the first ten. */
	assert_in_range(sent, 10, 13);
	dns_limit_free(limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate_and_slip),
		cmocka_unit_test(test_clients_of_a_network_share_a_bucket),
		cmocka_unit_test(test_without_rate_or_slip),
		cmocka_unit_test(test_flood_of_networks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
