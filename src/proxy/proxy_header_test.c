/* PROXY v2 headers, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/proxy_header.h"

static union proxy_address address(const char *host, unsigned port)
{
	union proxy_address out;

	assert_int_equal(proxy_address_parse(host, port, &out, NULL), 0);
	return out;
}

static void check(const char *client, const char *local, const void *wanted, size_t size)
{
	union proxy_address from = address(client, 0x1234), to = address(local, 443);
	uint8_t out[PROXY_HEADER_MAX];

	assert_int_equal(proxy_header_encode(&from, &to, out), size);
	assert_memory_equal(out, wanted, size);
}

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"

static void test_ipv4(void **state)
{
	(void)state;
	check("192.0.2.1", "198.51.100.2",
		SIGNATURE "\x21\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x02\x12\x34\x01\xbb", 28);
}

static void test_ipv6(void **state)
{
	(void)state;
	check("2001:db8::1", "2001:db8::2",
		SIGNATURE "\x21\x21\x00\x24\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"
			  "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02\x12\x34\x01\xbb",
		52);
}

static void test_mapped_ipv4_is_ipv4(void **state)
{
	(void)state;
	check("::ffff:192.0.2.1", "::ffff:198.51.100.2",
		SIGNATURE "\x21\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x02\x12\x34\x01\xbb", 28);
}

static void test_mixed_families_are_ipv6(void **state)
{
	(void)state;
	check("192.0.2.1", "2001:db8::2",
		SIGNATURE "\x21\x21\x00\x24\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\x00\x02\x01"
			  "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02\x12\x34\x01\xbb",
		52);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_mapped_ipv4_is_ipv4),
		cmocka_unit_test(test_mixed_families_are_ipv6),
	};

	return cmocka_run_group_tests_name("proxy/proxy_header", tests, NULL, NULL);
}
