/* Names, messages that were captured or made by hand, and every way in which a message can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/dns_message.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

static struct dns_name name_of(const char *text)
{
	struct dns_name name;
	struct err err;

	if (dns_name_from_text(span_of(text), &name, &err) < 0)
		fail_msg("%s", err.message);
	return name;
}

/* ---- names ---- */

static void test_names_from_text_and_back(void **state)
{
	static const struct {
		const char *text, *wire;
		size_t length;
		const char *back;
	} rows[] = {
		{".", BYTES("\0"), "."},
		{"a", BYTES("\1a\0"), "a"},
		{"a.", BYTES("\1a\0"), "a"},
		{"Web.Example", BYTES("\3Web\7Example\0"), "Web.Example"},
		{"_http._tcp.web", BYTES("\5_http\4_tcp\3web\0"), "_http._tcp.web"},
		{"a\\.b.c", BYTES("\3a.b\1c\0"), "a\\.b.c"},
		{"a\\046b", BYTES("\3a.b\0"), "a\\.b"},
		{"\\000\\255 x", BYTES("\4\0\377 x\0"), "\\000\\255\\032x"},
		{"a\\\\b", BYTES("\3a\\b\0"), "a\\\\b"},
	};
	char text[DNS_NAME_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct dns_name name = name_of(rows[i].text);

		assert_int_equal(name.length, rows[i].length);
		assert_memory_equal(name.bytes, rows[i].wire, rows[i].length);
		assert_int_equal(dns_name_to_text(&name, text), strlen(rows[i].back));
		assert_string_equal(text, rows[i].back);
	}
}

/* `count` letters, then a dot, and so on, `labels` times. */
static void repeat(char *out, size_t count, size_t labels)
{
	for (size_t i = 0; i < labels; i++) {
		memset(out, 'x', count);
		out += count;
		*out++ = '.';
	}
	*out = '\0';
}

static void test_names_have_limits(void **state)
{
	char text[DNS_NAME_TEXT_MAX];
	char back[DNS_NAME_TEXT_MAX];
	struct dns_name name, again;
	struct err err;

	(void)state;
	repeat(text, 63, 1);
	assert_int_equal(name_of(text).length, 65);
	repeat(text, 64, 1);
	assert_int_equal(dns_name_from_text(span_of(text), &name, &err), -EINVAL);
	assert_non_null(strstr(err.message, "longer than 63 bytes"));
	/* 127 labels of one letter: 254 bytes and the root. */
	repeat(text, 1, 127);
	name = name_of(text);
	assert_int_equal(name.length, 255);
	assert_int_equal(dns_name_to_text(&name, back), strlen(text) - 1);
	text[strlen(text) - 1] = '\0';
	assert_int_equal(name_of(text).length, 255);
	repeat(text, 1, 128);
	assert_int_equal(dns_name_from_text(span_of(text), &name, &err), -EINVAL);
	assert_non_null(strstr(err.message, "longer than 255 bytes"));
	text[strlen(text) - 1] = '\0';
	assert_int_equal(dns_name_from_text(span_of(text), &name, &err), -EINVAL);
	repeat(text, 63, 4);
	assert_int_equal(dns_name_from_text(span_of(text), &name, &err), -EINVAL);
	/* Every byte as \DDD, the longest text. */
	memset(&name, 1, sizeof(name));
	for (size_t at = 0; at < 254; at += 1 + (size_t)name.bytes[at])
		name.bytes[at] = at + 64 <= 254 ? 63 : (uint8_t)(253 - at);
	name.length = 255;
	name.bytes[254] = 0;
	assert_true(dns_name_to_text(&name, back) < DNS_NAME_TEXT_MAX);
	again = name_of(back);
	assert_true(dns_name_equal(&name, &again));
}

static void test_names_that_are_none(void **state)
{
	static const char *const bad[] = {
		"", "..", "a..b", ".a", "a\\", "a\\2", "a\\25", "a\\256", "a\\2x5"};
	struct dns_name name;
	struct err err;

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_int_equal(dns_name_from_text(span_of(bad[i]), &name, &err), -EINVAL);
}

static void test_names_compare_without_case(void **state)
{
	struct dns_name a = name_of("WeB.Example"), b = name_of("wEb.eXAMPLE"), lower;
	struct dns_name zone = name_of("example"), other = name_of("notexample");
	struct dns_name odd = name_of("[.example"), brace = name_of("{.example");

	(void)state;
	assert_true(dns_name_equal(&a, &b));
	dns_name_copy_lower(&lower, &a);
	assert_memory_equal(lower.bytes, "\3web\7example", 13);
	assert_memory_equal(dns_name_key(&lower).data, lower.bytes, 13);
	/* [ and { are as far apart as A and a, and are not letters. */
	assert_false(dns_name_equal(&odd, &brace));
	assert_true(dns_name_is_below(&a, &zone));
	assert_true(dns_name_is_below(&zone, &zone));
	assert_false(dns_name_is_below(&other, &zone));
	assert_false(dns_name_is_below(&zone, &a));
	assert_true(dns_name_is_below(&a, &DNS_NAME_ROOT));
	/* The label "b\003c" ends in what looks like the zone "c" behind a length. */
	other = name_of("b\\001c");
	zone = name_of("c");
	assert_false(dns_name_is_below(&other, &zone));
}

/* ---- queries ---- */

#define HEADER_(flags, qd, an, ns, ar) "\x12\x34" flags "\0" qd "\0" an "\0" ns "\0" ar
#define QUESTION "\3web\7example\4test\0\0\1\0\1"
#define OPT(size, ttl, length) "\0\0\x29" size ttl length

static bool query(const char *data, size_t length, struct dns_query *ret_query,
	enum dns_rcode *ret_rcode)
{
	/* On the heap and exactly as long, so that reading behind it is seen. */
	char *copy = malloc(length ? length : 1);
	bool answered;

	memcpy(copy, data, length);
	answered = dns_query_read(copy, length, ret_query, ret_rcode);
	free(copy);
	return answered;
}

static void test_query_of_dig(void **state)
{
	/* dig web.example.test, as captured: RD, AD, EDNS with a cookie. */
	static const char data[] = "\x99\xf1\x01\x20\0\1\0\0\0\0\0\1" QUESTION
				   "\0\0\x29\x04\xd0\0\0\0\0\0\x0c\0\x0a\0\x08"
				   "\x01\x02\x03\x04\x05\x06\x07\x08";
	struct dns_query got;
	enum dns_rcode rcode;
	char text[DNS_NAME_TEXT_MAX];

	(void)state;
	assert_true(query(BYTES(data), &got, &rcode));
	assert_int_equal(rcode, DNS_RCODE_NOERROR);
	assert_int_equal(got.header.id, 0x99f1);
	assert_true(got.has_question);
	dns_name_to_text(&got.question.name, text);
	assert_string_equal(text, "web.example.test");
	assert_int_equal(got.question.type, DNS_TYPE_A);
	assert_int_equal(got.question.class, DNS_CLASS_IN);
	assert_true(got.edns);
	assert_int_equal(got.edns_size, 1232);
	assert_false(got.dnssec_ok);
	/* Every cut of it is malformed, none is read beyond its end. */
	for (size_t length = 0; length < sizeof(data) - 1; length++) {
		bool answered = query(data, length, &got, &rcode);

		assert_int_equal(answered, length >= DNS_HEADER_SIZE);
		assert_true(!answered || rcode == DNS_RCODE_FORMERR);
	}
}

static void test_queries_right_and_wrong(void **state)
{
	static const struct {
		const char *what, *data;
		size_t length;
		int rcode; /* -1: not answered */
	} rows[] = {
		{"plain", BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\0") QUESTION), 0},
		{"an answer", BYTES(HEADER_("\x81\0", "\1", "\0", "\0", "\0") QUESTION), -1},
		{"shorter than a header", BYTES("\x12\x34\1\0\0\1\0\0\0\0\0"), -1},
		{"header only", BYTES(HEADER_("\1\0", "\0", "\0", "\0", "\0")), 1},
		{"no question", BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\0")), 1},
		{"two questions", BYTES(HEADER_("\1\0", "\2", "\0", "\0", "\0") QUESTION QUESTION),
			1},
		{"bytes behind it", BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\0") QUESTION "x"), 1},
		{"inverse query", BYTES(HEADER_("\x08\0", "\0", "\1", "\0", "\0") QUESTION), 4},
		{"status", BYTES(HEADER_("\x10\0", "\0", "\0", "\0", "\0")), 4},
		{"notify", BYTES(HEADER_("\x20\0", "\1", "\0", "\0", "\0") QUESTION), 4},
		{"update", BYTES(HEADER_("\x28\0", "\1", "\0", "\0", "\0") QUESTION), 4},
		{"opt",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\1")
					QUESTION OPT("\x10\0", "\0\0\0\0", "\0\0")),
			0},
		{"opt of another version",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\1")
					QUESTION OPT("\x10\0", "\0\1\0\0", "\0\0")),
			16},
		{"two opts",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\2") QUESTION OPT("\x10\0",
				"\0\0\0\0", "\0\0") OPT("\x10\0", "\0\0\0\0", "\0\0")),
			1},
		{"opt with a name",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\1") QUESTION
				"\1a" OPT("\x10\0", "\0\0\0\0", "\0\0")),
			1},
		{"opt in the answers",
			BYTES(HEADER_("\1\0", "\1", "\1", "\0", "\0")
					QUESTION OPT("\x10\0", "\0\0\0\0", "\0\0")),
			1},
		{"opt with half an option",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\1")
					QUESTION OPT("\x10\0", "\0\0\0\0", "\0\3") "\0\x0a\0"),
			1},
		{"opt with an option that is too long",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\1")
					QUESTION OPT("\x10\0", "\0\0\0\0", "\0\4") "\0\x0a\0\1"),
			1},
		{"opt with two options",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\1") QUESTION OPT("\x10\0",
				"\0\0\0\0", "\0\x09") "\0\x0a\0\1x\0\x0b\0\0"),
			0},
		{"a record behind the question",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\1") QUESTION
				"\0\0\1\0\1\0\0\0\0\0\4abcd"),
			0},
		{"a record whose data is cut",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\1") QUESTION
				"\0\0\1\0\1\0\0\0\0\0\4abc"),
			1},
		{"a pointer to itself",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\0") "\xc0\x0c\0\1\0\1"), 1},
		{"a pointer forwards",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\0") "\xc0\x0e\0\0\1\0\1"), 1},
		{"a label and a pointer to it",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\0") "\1a\xc0\x0c\0\1\0\1"), 1},
		{"a label of another kind",
			BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\0") "\x41"
								      "a\0\0\1\0\1"),
			1},
		{"a pointer into the header",
			BYTES("\x12\x34\1\0\0\1\0\0\0\0\0\0"
			      "\1a\xc0\x06\0\1\0\1"),
			0},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct dns_query got;
		enum dns_rcode rcode = DNS_RCODE_NOERROR;
		bool answered = query(rows[i].data, rows[i].length, &got, &rcode);
		int found = answered ? (int)rcode : -1;

		if (found != rows[i].rcode)
			fail_msg("%s: %d instead of %d", rows[i].what, found, rows[i].rcode);
	}
}

static void test_edns_of_a_query(void **state)
{
	struct dns_query got;
	enum dns_rcode rcode;

	(void)state;
	assert_true(query(BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\0") QUESTION), &got, &rcode));
	assert_false(got.edns);
	assert_int_equal(got.edns_size, 512);
	/* Less than 512 counts as 512 (RFC 6891, 6.2.3); DO is seen. */
	assert_true(query(BYTES(HEADER_("\1\0", "\1", "\0", "\0", "\1")
					  QUESTION OPT("\0\x10", "\0\0\x80\0", "\0\0")),
		&got, &rcode));
	assert_true(got.edns && got.dnssec_ok);
	assert_int_equal(got.edns_size, 512);
}

/* Pointers to pointers to pointers: the longest chain that a message can hold ends. */
static void test_long_chain_of_pointers(void **state)
{
	static uint8_t data[16384];
	struct dns_reader reader;
	struct dns_name name;

	(void)state;
	data[0] = 0;
	for (size_t at = 1; at + 2 <= sizeof(data); at += 2) {
		size_t target = at == 1 ? 0 : at - 2;

		data[at] = (uint8_t)(0xC0 | target >> 8);
		data[at + 1] = (uint8_t)target;
	}
	reader = (struct dns_reader){data, sizeof(data), sizeof(data) - 3};
	assert_true(dns_read_name(&reader, &name));
	assert_int_equal(name.length, 1);
	assert_int_equal(reader.at, sizeof(data) - 1);
}

/* A name that is too long only because of what its pointer adds. */
static void test_name_too_long_by_pointer(void **state)
{
	uint8_t data[600] = {0};
	struct dns_reader reader = {data, sizeof(data), 0};
	struct dns_name name;
	size_t at = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++, at += 2)
		memcpy(data + at, "\1x", 2);
	data[at++] = 0; /* 201 bytes */
	reader.at = at;
	for (unsigned i = 0; i < 27; i++, at += 2)
		memcpy(data + at, "\1y", 2);
	memcpy(data + at, "\xc0\0", 2); /* 54 + 201 */
	assert_true(dns_read_name(&reader, &name));
	assert_int_equal(name.length, 255);
	reader.at = at + 2;
	at += 2;
	for (unsigned i = 0; i < 28; i++, at += 2)
		memcpy(data + at, "\1y", 2);
	memcpy(data + at, "\xc0\0", 2);
	assert_false(dns_read_name(&reader, &name));
}

/* ---- writing ---- */

static void test_golden_answer(void **state)
{
	static const char expected[] =
		"\x12\x34\x84\0\0\1\0\2\0\1\0\2"
		"\3WeB\7example\4test\0\0\1\0\1"
		/* CNAME to alias.example.test: "example.test" is pointed to */
		"\xc0\x0c\0\5\0\1\0\0\0\x3c\0\x08"
		"\5alias\xc0\x10"
		/* A of that */
		"\xc0\x2e\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1"
		/* SOA */
		"\xc0\x10\0\6\0\1\0\0\0\x3c\0\x20"
		"\2ns\xc0\x10\4host\xc0\x10"
		"\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5"
		/* SRV: its target is never compressed */
		"\xc0\x0c\0\x21\0\1\0\0\0\x3c\0\x17\0\1\0\2\0\x50"
		"\2ns\7example\4test\0"
		/* OPT: 1232, rcode 16, DO */
		"\0\0\x29\4\xd0\1\0\x80\0\0\0";
	const struct dns_header header = {0x1234, DNS_FLAG_QR | DNS_FLAG_AA, {1, 2, 1, 2}};
	const struct dns_question question = {name_of("WeB.example.test"), DNS_TYPE_A, 1};
	struct dns_name alias = name_of("alias.example.test"), zone = name_of("example.test");
	struct dns_soa soa = {
		name_of("ns.example.test"), name_of("host.example.test"), 1, 2, 3, 4, 5};
	uint8_t data[512];
	struct dns_writer writer;

	(void)state;
	dns_writer_init(&writer, data, sizeof(data));
	dns_write_header(&writer, 0, 0);
	dns_write_question(&writer, &question);
	dns_write_record(&writer,
		&(struct dns_record){.type = DNS_TYPE_CNAME, .ttl = 60, .name = &alias});
	dns_write_record(&writer, &(struct dns_record){.owner = &alias,
					  .type = DNS_TYPE_A,
					  .ttl = 60,
					  .address4 = {192, 0, 2, 1}});
	dns_write_record(&writer,
		&(struct dns_record){.owner = &zone, .type = DNS_TYPE_SOA, .ttl = 60, .soa = &soa});
	dns_write_record(&writer,
		&(struct dns_record){
			.type = DNS_TYPE_SRV, .ttl = 60, .srv = {1, 2, 80, &soa.primary}});
	dns_write_opt(&writer, 1232, DNS_RCODE_BADVERS, true);
	dns_writer_set_header(&writer, &header);
	assert_false(writer.overflow);
	assert_int_equal(writer.length, sizeof(expected) - 1);
	assert_memory_equal(data, expected, writer.length);
}

static void test_names_keep_their_spelling(void **state)
{
	const struct dns_question question = {name_of("WEB.EXAMPLE"), DNS_TYPE_A, 1};
	struct dns_name target = name_of("a.example"), read;
	uint8_t data[512];
	struct dns_writer writer;
	struct dns_reader reader = {data, 0, 0};
	struct dns_header header;
	struct dns_question got;
	struct dns_record_view view;

	(void)state;
	dns_writer_init(&writer, data, sizeof(data));
	dns_write_header(&writer, 0, 0);
	dns_write_question(&writer, &question);
	dns_write_record(&writer,
		&(struct dns_record){.type = DNS_TYPE_CNAME, .ttl = 1, .name = &target});
	reader.length = writer.length;
	assert_true(dns_read_header(&reader, &header) && dns_read_question(&reader, &got) &&
		    dns_read_record(&reader, &view));
	assert_memory_equal(view.owner.bytes, question.name.bytes, question.name.length);
	reader.at = view.data_at;
	assert_true(dns_read_name(&reader, &read));
	assert_memory_equal(read.bytes, target.bytes, target.length);
}

static void test_writing_stops_at_the_capacity(void **state)
{
	const struct dns_question question = {name_of("web.example"), DNS_TYPE_A, 1};
	struct dns_name names[] = {
		name_of("a.web.example"), name_of("b.a.web.example"), name_of("other.place")};
	uint8_t whole[512], data[512];
	struct dns_writer writer;
	struct dns_writer_mark mark;
	size_t length = 0;

	(void)state;
	for (size_t capacity = sizeof(whole); capacity > 0; capacity--) {
		size_t fits;

		if (length > 0 && capacity > length)
			capacity = length;
		memset(data, 0xEE, sizeof(data));
		dns_writer_init(&writer, data, capacity);
		dns_write_header(&writer, 0, 0);
		if (capacity >= 12)
			dns_write_question(&writer, &question);
		mark = dns_writer_mark(&writer);
		fits = writer.length;
		for (size_t i = 0; i < LENGTH(names) && capacity >= 12; i++)
			dns_write_record(&writer, &(struct dns_record){.owner = &names[i],
							  .type = DNS_TYPE_CNAME,
							  .ttl = 1,
							  .name = &names[(i + 1) % 3]});
		if (length == 0) {
			length = writer.length;
			memcpy(whole, data, length);
			assert_false(writer.overflow);
		}
		assert_int_equal(writer.overflow, capacity < length);
		assert_true(writer.length <= capacity);
		for (size_t i = capacity; i < sizeof(data); i++)
			assert_int_equal(data[i], 0xEE);
		dns_writer_back(&writer, mark);
		assert_int_equal(writer.length, fits);
		assert_false(writer.overflow);
	}
}

/* More names than places to remember, and names behind what a pointer can reach. */
static void test_long_messages(void **state)
{
	static uint8_t data[DNS_MESSAGE_MAX];
	const struct dns_question question = {name_of("x"), DNS_TYPE_A, 1};
	struct dns_writer writer;
	struct dns_reader reader = {data, 0, 0};
	struct dns_header header;
	struct dns_question got;
	struct dns_record_view view;
	struct dns_name name, owner;
	char text[64];

	(void)state;
	dns_writer_init(&writer, data, sizeof(data));
	dns_write_header(&writer, 0, 0);
	dns_write_question(&writer, &question);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "name-%u.of.zone-%u.example", i, i % 7);
		owner = name_of(text);
		dns_write_record(&writer,
			&(struct dns_record){
				.owner = &owner, .type = DNS_TYPE_PTR, .ttl = i, .name = &owner});
	}
	assert_false(writer.overflow);
	assert_true(writer.length > 0x4000);
	reader.length = writer.length;
	assert_true(dns_read_header(&reader, &header) && dns_read_question(&reader, &got));
	for (unsigned i = 0; i < 1000; i++) {
		struct dns_reader inner;

		snprintf(text, sizeof(text), "name-%u.of.zone-%u.example", i, i % 7);
		owner = name_of(text);
		assert_true(dns_read_record(&reader, &view));
		assert_true(dns_name_equal(&view.owner, &owner));
		inner = (struct dns_reader){data, writer.length, view.data_at};
		assert_true(dns_read_name(&inner, &name));
		assert_true(dns_name_equal(&name, &owner));
		assert_int_equal(inner.at, view.data_at + view.data_length);
	}
	assert_int_equal(reader.at, writer.length);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_from_text_and_back),
		cmocka_unit_test(test_names_have_limits),
		cmocka_unit_test(test_names_that_are_none),
		cmocka_unit_test(test_names_compare_without_case),
		cmocka_unit_test(test_query_of_dig),
		cmocka_unit_test(test_queries_right_and_wrong),
		cmocka_unit_test(test_edns_of_a_query),
		cmocka_unit_test(test_long_chain_of_pointers),
		cmocka_unit_test(test_name_too_long_by_pointer),
		cmocka_unit_test(test_golden_answer),
		cmocka_unit_test(test_names_keep_their_spelling),
		cmocka_unit_test(test_writing_stops_at_the_capacity),
		cmocka_unit_test(test_long_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
