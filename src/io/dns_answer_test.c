/* Answers to queries, read back record by record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "io/dns_answer.h"
#include "io/test_dns_zone.h"

struct fixture {
	struct test_zone zone;
	struct dns_transport transport;
	struct dns_answer answer;
	struct random_seeded random;
	struct dns_result result;
	uint8_t reply[DNS_MESSAGE_MAX];
	struct dns_header header;
	char text[32768]; /* the reply as text, one record a line */
};

static int set_up(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	test_zone_open(&fixture->zone);
	random_seeded_init(&fixture->random, 1);
	fixture->answer.random = &fixture->random.random;
	fixture->transport = (struct dns_transport){.udp_max = 1232, .payload_max = 1232};
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	test_zone_close(&fixture->zone);
	free(fixture);
	return 0;
}

/* ---- a reply as text ---- */

static const char *type_text(uint16_t type)
{
#define ROW(name, number)                                                                          \
	case number: return #name;
	switch (type) {
		DNS_TYPES(ROW)
	}
#undef ROW
	return "?";
}

static void add_name(struct buffer *out, struct dns_reader *reader)
{
	struct dns_name name;
	char text[DNS_NAME_TEXT_MAX];

	assert_true(dns_read_name(reader, &name));
	dns_name_to_text(&name, text);
	buffer_format(out, " %s", text);
}

static void add_data(struct buffer *out, const struct fixture *fixture,
	const struct dns_record_view *view)
{
	const uint8_t *data = fixture->reply + view->data_at;
	struct dns_reader reader = {fixture->reply, fixture->result.length, view->data_at};
	char text[INET6_ADDRSTRLEN];
	uint16_t word;
	uint32_t number;

	switch (view->type) {
	case DNS_TYPE_A:
		assert_int_equal(view->data_length, 4);
		buffer_format(out, " %s", inet_ntop(AF_INET, data, text, sizeof(text)));
		return;
	case DNS_TYPE_AAAA:
		assert_int_equal(view->data_length, 16);
		buffer_format(out, " %s", inet_ntop(AF_INET6, data, text, sizeof(text)));
		return;
	case DNS_TYPE_SRV:
		for (int i = 0; i < 3; i++) {
			assert_true(dns_read_u16(&reader, &word));
			buffer_format(out, " %u", word);
		}
		add_name(out, &reader);
		break;
	case DNS_TYPE_SOA:
		add_name(out, &reader);
		add_name(out, &reader);
		for (int i = 0; i < 5; i++) {
			assert_true(dns_read_u32(&reader, &number));
			buffer_format(out, " %u", number);
		}
		break;
	case DNS_TYPE_CNAME:
	case DNS_TYPE_NS: add_name(out, &reader); break;
	case DNS_TYPE_OPT: buffer_format(out, " %u %x", view->class, view->ttl); return;
	default:
		buffer_add_char(out, ' ');
		buffer_add_hex(out, data, view->data_length);
		return;
	}
	assert_int_equal(reader.at, view->data_at + view->data_length);
}

static void write_text(struct fixture *fixture)
{
	static const char sections[] = "?AUX"; /* answer, authority, extra */
	struct dns_reader reader = {fixture->reply, fixture->result.length, 0};
	_buffer_ struct buffer out = {0};
	struct dns_question question;
	struct dns_record_view view;
	char text[DNS_NAME_TEXT_MAX];

	assert_true(dns_read_header(&reader, &fixture->header));
	assert_true(fixture->header.flags & DNS_FLAG_QR);
	if (fixture->header.counts[0] > 0)
		assert_true(dns_read_question(&reader, &question));
	for (int section = 1; section <= 3; section++) {
		for (unsigned i = 0; i < fixture->header.counts[section]; i++) {
			assert_true(dns_read_record(&reader, &view));
			dns_name_to_text(&view.owner, text);
			buffer_format(&out, "%c %s", sections[section], text);
			if (view.type != DNS_TYPE_OPT)
				buffer_format(&out, " %u", view.ttl);
			buffer_format(&out, " %s", type_text(view.type));
			add_data(&out, fixture, &view);
			buffer_add_char(&out, '\n');
		}
	}
	assert_int_equal(reader.at, fixture->result.length);
	snprintf(fixture->text, sizeof(fixture->text), "%s", out.data ? out.data : "");
}

#define EDNS 1u
#define EDNS_SMALL 2u /* of 512 bytes */
#define DNSSEC 4u
#define NO_RD 8u

static size_t write_query(uint8_t *out, const char *name, uint16_t type, unsigned options)
{
	struct dns_question question = {.type = type, .class = DNS_CLASS_IN};
	struct dns_header header = {0x4242, options & NO_RD ? 0 : DNS_FLAG_RD, {1, 0, 0, 0}};
	struct dns_writer writer;

	test_parse(name, &question.name);
	dns_writer_init(&writer, out, 512);
	dns_write_header(&writer, 0, 0);
	dns_write_question(&writer, &question);
	if (options & (EDNS | EDNS_SMALL | DNSSEC)) {
		dns_write_opt(&writer, options & EDNS_SMALL ? 512 : 4096, 0, options & DNSSEC);
		header.counts[3] = 1;
	}
	dns_writer_set_header(&writer, &header);
	return writer.length;
}

static const char *ask(struct fixture *fixture, const char *name, uint16_t type, unsigned options)
{
	uint8_t query[512];
	size_t length = write_query(query, name, type, options);

	dns_answer_query(&fixture->transport, test_zone_lookup, &fixture->zone, query, length,
		&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
	assert_int_equal(fixture->result.verdict, DNS_REPLY);
	write_text(fixture);
	assert_int_equal(fixture->header.id, 0x4242);
	return fixture->text;
}

static unsigned rcode(const struct fixture *fixture)
{
	return fixture->header.flags & DNS_FLAG_RCODE;
}

static bool authoritative(const struct fixture *fixture)
{
	return fixture->header.flags & DNS_FLAG_AA;
}

#define SOA_LINE                                                                                   \
	"U example.test 24 SOA ns.example.test hostmaster.example.test 7 3600 600 86400 24\n"

/* ---- answers ---- */

static void test_answers(void **state)
{
	static const struct {
		const char *name;
		uint16_t type;
		unsigned rcode;
		const char *text;
	} rows[] = {
		{"web.example.test", DNS_TYPE_A, 0,
			"A web.example.test 60 A 192.0.2.1\nA web.example.test 60 A 192.0.2.2\n"},
		{"WEB.Example.TEST", DNS_TYPE_AAAA, 0, "A WEB.Example.TEST 60 AAAA 2001:db8::1\n"},
		{"text.example.test", DNS_TYPE_TXT, 0,
			"A text.example.test 60 TXT 0b68656c6c6f20776f726c64\n"},
		{"example.test", DNS_TYPE_NS, 0, "A example.test 3600 NS ns.example.test\n"},
		{"example.test", DNS_TYPE_SOA, 0,
			"A example.test 3600 SOA ns.example.test hostmaster.example.test 7 3600 "
			"600 "
			"86400 24\n"},
		{"_http._tcp.web.example.test", DNS_TYPE_SRV, 0,
			"A _http._tcp.web.example.test 15 SRV 1 1 8001 one.web.example.test\n"
			"A _http._tcp.web.example.test 15 SRV 1 1 8002 two.web.example.test\n"
			"X one.web.example.test 15 A 192.0.2.11\n"
			"X one.web.example.test 15 AAAA 2001:db8::11\n"
			"X two.web.example.test 15 A 192.0.2.12\n"},
		/* NODATA: a name without the type, and names that exist only for those below */
		{"six.example.test", DNS_TYPE_A, 0, SOA_LINE},
		{"web.example.test", DNS_TYPE_MX, 0, SOA_LINE},
		{"web.example.test", 4711, 0, SOA_LINE},
		{"below.example.test", DNS_TYPE_A, 0, SOA_LINE},
		{"down.below.example.test", DNS_TYPE_A, 0, SOA_LINE},
		{"example.test", DNS_TYPE_A, 0, SOA_LINE},
		/* NXDOMAIN */
		{"nothing.example.test", DNS_TYPE_A, 3, SOA_LINE},
		{"a.b.c.web.example.test", DNS_TYPE_A, 3, SOA_LINE},
		/* chains */
		{"alias2.example.test", DNS_TYPE_AAAA, 0,
			"A alias2.example.test 30 CNAME Alias.example.test\n"
			"A Alias.example.test 30 CNAME web.example.test\n"
			"A web.example.test 60 AAAA 2001:db8::1\n"},
		{"alias2.example.test", DNS_TYPE_CNAME, 0,
			"A alias2.example.test 30 CNAME Alias.example.test\n"},
		{"dangling.example.test", DNS_TYPE_A, 3,
			"A dangling.example.test 30 CNAME nothing.example.test\n" SOA_LINE},
		{"nodata-alias.example.test", DNS_TYPE_A, 0,
			"A nodata-alias.example.test 30 CNAME text.example.test\n" SOA_LINE},
		{"outside.example.test", DNS_TYPE_A, 0,
			"A outside.example.test 30 CNAME www.unrelated.test\n"},
		{"loop-a.example.test", DNS_TYPE_A, 2, ""},
		/* ANY, minimally */
		{"web.example.test", DNS_TYPE_ANY, 0,
			"A web.example.test 3600 HINFO 075246433834383200\n"},
		{"alias.example.test", DNS_TYPE_ANY, 0,
			"A alias.example.test 30 CNAME web.example.test\n"},
		{"nothing.example.test", DNS_TYPE_ANY, 3, SOA_LINE},
		/* not ours, not allowed, not understood */
		{"www.unrelated.test", DNS_TYPE_A, 5, ""},
		{"test", DNS_TYPE_A, 5, ""},
		{".", DNS_TYPE_NS, 5, ""},
		{"notexample.test", DNS_TYPE_A, 5, ""},
		{"example.test", DNS_TYPE_AXFR, 5, ""},
		{"example.test", DNS_TYPE_IXFR, 5, ""},
		{"example.test", DNS_TYPE_MAILA, 4, ""},
		{"example.test", DNS_TYPE_MAILB, 4, ""},
		{"example.test", DNS_TYPE_TSIG, 4, ""},
		{"example.test", DNS_TYPE_TKEY, 4, ""},
		{"example.test", DNS_TYPE_OPT, 1, ""},
		{"example.test", 0, 1, ""},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		const char *text = ask(fixture, rows[i].name, rows[i].type, 0);

		if (strcmp(text, rows[i].text) != 0 || rcode(fixture) != rows[i].rcode)
			fail_msg("%s %s: rcode %u\n%s", rows[i].name, type_text(rows[i].type),
				rcode(fixture), text);
		assert_int_equal(authoritative(fixture), *rows[i].text != '\0');
		assert_int_equal(fixture->header.flags & (DNS_FLAG_RA | DNS_FLAG_TC), 0);
		assert_true(fixture->header.flags & DNS_FLAG_RD);
		/* The question comes back byte for byte, in the client's spelling. */
		assert_memory_equal(fixture->reply + 12, fixture->result.query.question.name.bytes,
			fixture->result.query.question.name.length);
	}
}

static void test_flags_come_back(void **state)
{
	struct fixture *fixture = *state;

	ask(fixture, "web.example.test", DNS_TYPE_A, NO_RD);
	assert_int_equal(fixture->header.flags & DNS_FLAG_RD, 0);
	fixture->transport.recursive = true;
	ask(fixture, "web.example.test", DNS_TYPE_A, 0);
	assert_true(fixture->header.flags & DNS_FLAG_RA);
}

static void test_other_classes_are_refused(void **state)
{
	struct fixture *fixture = *state;
	uint8_t query[512];
	size_t length = write_query(query, "version.bind", DNS_TYPE_TXT, 0);

	query[length - 1] = 3; /* CHAOS */
	dns_answer_query(&fixture->transport, test_zone_lookup, &fixture->zone, query, length,
		&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
	write_text(fixture);
	assert_int_equal(rcode(fixture), DNS_RCODE_REFUSED);
	query[length - 1] = 255; /* ANY */
	dns_answer_query(&fixture->transport, test_zone_lookup, &fixture->zone, query, length,
		&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
	write_text(fixture);
	assert_int_equal(rcode(fixture), DNS_RCODE_REFUSED);
}

static void test_edns(void **state)
{
	struct fixture *fixture = *state;
	uint8_t query[512];
	size_t length;

	assert_null(strstr(ask(fixture, "web.example.test", DNS_TYPE_A, 0), "OPT"));
	assert_non_null(strstr(ask(fixture, "web.example.test", DNS_TYPE_A, EDNS),
		"X . OPT 1232 0\n"));
	assert_non_null(strstr(ask(fixture, "web.example.test", DNS_TYPE_A, DNSSEC),
		"X . OPT 1232 8000\n"));
	/* Errors carry it, too. */
	assert_string_equal(ask(fixture, "unrelated.test", DNS_TYPE_A, EDNS), "X . OPT 1232 0\n");
	/* Another version: BADVERS, of which the upper bits are in OPT. */
	length = write_query(query, "web.example.test", DNS_TYPE_A, EDNS);
	query[length - 5] = 1;
	dns_answer_query(&fixture->transport, test_zone_lookup, &fixture->zone, query, length,
		&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
	write_text(fixture);
	assert_int_equal(fixture->result.rcode, DNS_RCODE_BADVERS);
	assert_int_equal(rcode(fixture), 0);
	assert_string_equal(fixture->text, "X . OPT 1232 1000000\n");
}

static void test_malformed_queries_are_reported_so(void **state)
{
	struct fixture *fixture = *state;
	uint8_t query[512];
	size_t length = write_query(query, "web.example.test", DNS_TYPE_A, 0);

	for (size_t cut = 0; cut < length; cut++) {
		dns_answer_query(&fixture->transport, test_zone_lookup, &fixture->zone, query, cut,
			&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
		assert_int_equal(fixture->result.verdict,
			cut < DNS_HEADER_SIZE ? DNS_SILENCE : DNS_REPLY);
		if (cut < DNS_HEADER_SIZE)
			continue;
		write_text(fixture);
		assert_int_equal(rcode(fixture), DNS_RCODE_FORMERR);
		assert_int_equal(fixture->result.length, DNS_HEADER_SIZE);
	}
	query[2] = 0x28; /* UPDATE */
	dns_answer_query(&fixture->transport, test_zone_lookup, &fixture->zone, query, length,
		&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
	write_text(fixture);
	assert_int_equal(rcode(fixture), DNS_RCODE_NOTIMP);
	assert_int_equal(fixture->header.flags & DNS_FLAG_OPCODE, 0x2800);
	assert_int_equal(fixture->result.length, DNS_HEADER_SIZE);
	query[2] = 0x80; /* an answer is not answered */
	dns_answer_query(&fixture->transport, test_zone_lookup, &fixture->zone, query, length,
		&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
	assert_int_equal(fixture->result.verdict, DNS_SILENCE);
}

/* ---- lengths ---- */

static void test_truncation(void **state)
{
	static const unsigned options[] = {0, EDNS, EDNS_SMALL};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(options); i++) {
		const char *text = ask(fixture, "big.example.test", DNS_TYPE_A, options[i]);

		assert_string_equal(text, options[i] ? "X . OPT 1232 0\n" : "");
		assert_true(fixture->header.flags & DNS_FLAG_TC);
		assert_true(fixture->result.truncated);
		assert_int_equal(rcode(fixture), 0);
	}
	/* The whole by TCP. */
	fixture->transport.tcp = true;
	ask(fixture, "big.example.test", DNS_TYPE_A, 0);
	assert_int_equal(fixture->header.flags & DNS_FLAG_TC, 0);
	assert_int_equal(fixture->header.counts[1], TEST_BIG_COUNT);
	/* And by UDP if both allow so much. */
	fixture->transport.tcp = false;
	fixture->transport.udp_max = 4096;
	ask(fixture, "big.example.test", DNS_TYPE_A, EDNS);
	assert_int_equal(fixture->header.counts[1], TEST_BIG_COUNT);
	ask(fixture, "big.example.test", DNS_TYPE_A, EDNS_SMALL);
	assert_true(fixture->header.flags & DNS_FLAG_TC);
}

static enum dns_outcome lookup_sized(void *context, const struct dns_name *name, uint16_t type,
	struct dns_answer *answer)
{
	const size_t *counts = context; /* answers, additional */

	(void)name;
	(void)type;
	for (size_t i = 0; i < counts[0]; i++)
		dns_answer_add_a(answer, DNS_SECTION_ANSWER, NULL, 1, (uint8_t[]){1, 2, 3, 4});
	for (size_t i = 0; i < counts[1]; i++)
		dns_answer_add_a(answer, DNS_SECTION_ADDITIONAL, NULL, 1, (uint8_t[]){1, 2, 3, 5});
	return DNS_FOUND;
}

/* To the byte: "x.y" with n addresses takes 12 + 9 + 16 n bytes; 30 fit into 512 with OPT (501). */
static void test_truncation_to_the_byte(void **state)
{
	struct fixture *fixture = *state;
	uint8_t query[512];
	size_t length = write_query(query, "x.y", DNS_TYPE_A, EDNS_SMALL);

	for (size_t answers = 28; answers <= 32; answers++) {
		size_t counts[2] = {answers, 0};

		dns_answer_query(&fixture->transport, lookup_sized, counts, query, length,
			&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
		write_text(fixture);
		assert_int_equal(fixture->result.truncated, answers > 30);
		assert_true(fixture->result.length <= 512);
		assert_int_equal(fixture->header.counts[1], answers > 30 ? 0 : answers);
	}
	/* Additional records that do not fit are left out without TC. */
	dns_answer_query(&fixture->transport, lookup_sized, (size_t[]){20, 30}, query, length,
		&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
	write_text(fixture);
	assert_false(fixture->result.truncated);
	assert_int_equal(fixture->header.flags & DNS_FLAG_TC, 0);
	assert_int_equal(fixture->header.counts[1], 20);
	assert_int_equal(fixture->header.counts[3], 10 + 1);
	assert_true(fixture->result.length <= 512);
	/* More records than an answer holds. */
	dns_answer_query(&fixture->transport, lookup_sized, (size_t[]){1000, 0}, query, length,
		&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
	write_text(fixture);
	assert_int_equal(rcode(fixture), DNS_RCODE_SERVFAIL);
}

static enum dns_outcome lookup_chain(void *context, const struct dns_name *name, uint16_t type,
	struct dns_answer *answer)
{
	unsigned *length = context;
	struct dns_name target;
	char text[16];

	(void)type;
	if (name->bytes[1] - 'a' == (int)*length) {
		dns_answer_add_a(answer, DNS_SECTION_ANSWER, NULL, 1, (uint8_t[]){1, 2, 3, 4});
		return DNS_FOUND;
	}
	snprintf(text, sizeof(text), "%c.test", name->bytes[1] + 1);
	test_parse(text, &target);
	dns_answer_add_name(answer, DNS_SECTION_ANSWER, NULL, DNS_TYPE_CNAME, 1, &target);
	return DNS_FOUND;
}

static void test_chains_have_a_limit(void **state)
{
	struct fixture *fixture = *state;
	uint8_t query[512];
	size_t length = write_query(query, "a.test", DNS_TYPE_A, 0);

	for (unsigned links = 0; links <= 12; links++) {
		dns_answer_query(&fixture->transport, lookup_chain, &links, query, length,
			&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
		write_text(fixture);
		assert_int_equal(rcode(fixture),
			links < DNS_CHAIN_MAX ? DNS_RCODE_NOERROR : DNS_RCODE_SERVFAIL);
		if (links < DNS_CHAIN_MAX)
			assert_int_equal(fixture->header.counts[1], links + 1);
	}
}

static enum dns_outcome lookup_failing(void *context, const struct dns_name *name, uint16_t type,
	struct dns_answer *answer)
{
	(void)context;
	(void)name;
	(void)type;
	(void)answer;
	return DNS_FAILED;
}

static void test_zones_that_cannot_be_read(void **state)
{
	struct fixture *fixture = *state;
	uint8_t query[512];
	size_t length = write_query(query, "a.test", DNS_TYPE_A, 0);

	dns_answer_query(&fixture->transport, lookup_failing, NULL, query, length, &fixture->answer,
		fixture->reply, sizeof(fixture->reply), &fixture->result);
	write_text(fixture);
	assert_int_equal(rcode(fixture), DNS_RCODE_SERVFAIL);
}

static enum dns_outcome lookup_text(void *context, const struct dns_name *name, uint16_t type,
	struct dns_answer *answer)
{
	(void)name;
	(void)type;
	dns_answer_add_txt(answer, DNS_SECTION_ANSWER, NULL, 1, *(struct span *)context);
	return DNS_FOUND;
}

static void test_long_text_is_cut_into_strings(void **state)
{
	struct fixture *fixture = *state;
	char letters[600];
	struct span text = {letters, 0};
	uint8_t query[512];
	size_t length = write_query(query, "a.b", DNS_TYPE_TXT, 0);
	const uint8_t *data = fixture->reply + 12 + 9 + 12;

	memset(letters, 'x', sizeof(letters));
	fixture->transport.tcp = true;
	for (text.length = 0; text.length <= sizeof(letters); text.length++) {
		size_t strings = text.length == 0 ? 1 : (text.length + 254) / 255;

		dns_answer_query(&fixture->transport, lookup_text, &text, query, length,
			&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
		assert_int_equal(data[-2] << 8 | data[-1], text.length + strings);
		assert_int_equal(data[0], text.length < 255 ? text.length : 255);
		if (strings == 3)
			assert_int_equal(data[512], text.length - 510);
	}
}

/* ---- choices ---- */

static void test_choices_through_the_zone(void **state)
{
	struct fixture *fixture = *state;
	unsigned requested[3] = {0};

	for (unsigned i = 0; i < 1000; i++) {
		unsigned number = 99;

		assert_int_equal(sscanf(ask(fixture, "weighted.example.test", DNS_TYPE_A, 0),
					 "A weighted.example.test 5 A 198.51.100.%u", &number),
			1);
		assert_in_range(number, 0, 2);
		requested[number]++;
	}
	assert_int_equal(requested[0], 700);
	assert_int_equal(requested[1], 299);
	assert_int_equal(requested[2], 1);
	ask(fixture, "many.example.test", DNS_TYPE_A, 0);
	assert_int_equal(fixture->header.counts[1], 8);
}

/* ---- forwarding ---- */

static void ask_forwarded(struct fixture *fixture, const char *name, const char *expected)
{
	uint8_t query[512];
	char text[DNS_NAME_TEXT_MAX];
	size_t length = write_query(query, name, DNS_TYPE_A, EDNS);

	fixture->transport.may_forward = true;
	dns_answer_query(&fixture->transport, test_zone_lookup, &fixture->zone, query, length,
		&fixture->answer, fixture->reply, sizeof(fixture->reply), &fixture->result);
	assert_int_equal(fixture->result.verdict, DNS_FORWARD);
	dns_name_to_text(&fixture->result.forward_name, text);
	assert_string_equal(text, expected);
}

/* An upstream's answer: CNAME and A, and OPT. */
static size_t write_upstream(uint8_t *out, const char *name)
{
	struct dns_name target;
	struct dns_question question = {.type = DNS_TYPE_A, .class = DNS_CLASS_IN};
	struct dns_header header = {1, DNS_FLAG_QR | DNS_FLAG_RD | DNS_FLAG_RA, {1, 2, 0, 1}};
	struct dns_writer writer;

	test_parse(name, &question.name);
	test_parse("real.unrelated.test", &target);
	dns_writer_init(&writer, out, 512);
	dns_write_header(&writer, 0, 0);
	dns_write_question(&writer, &question);
	dns_write_record(&writer,
		&(struct dns_record){.type = DNS_TYPE_CNAME, .ttl = 9, .name = &target});
	dns_write_record(&writer, &(struct dns_record){.owner = &target,
					  .type = DNS_TYPE_A,
					  .ttl = 8,
					  .address4 = {203, 0, 113, 1}});
	dns_write_opt(&writer, 4096, 0, false);
	dns_writer_set_header(&writer, &header);
	return writer.length;
}

static void test_forwarded_answers(void **state)
{
	struct fixture *fixture = *state;
	struct dns_chain chain;
	uint8_t upstream[512];
	size_t length = write_upstream(upstream, "www.unrelated.test");

	/* A name outside: the upstream's records, our OPT, the client's spelling. */
	ask_forwarded(fixture, "WWW.unrelated.test", "WWW.unrelated.test");
	fixture->result.length = dns_write_forwarded(&fixture->transport, &fixture->result.query,
		NULL, upstream, length, fixture->reply, sizeof(fixture->reply));
	write_text(fixture);
	assert_string_equal(fixture->text, "A WWW.unrelated.test 9 CNAME real.unrelated.test\n"
					   "A real.unrelated.test 8 A 203.0.113.1\n"
					   "X . OPT 1232 0\n");
	assert_int_equal(fixture->header.id, 0x4242);
	/* A chain that leaves our zone: both parts. */
	ask_forwarded(fixture, "outside.example.test", "www.unrelated.test");
	dns_chain_of(&fixture->answer, &chain);
	fixture->result.length = dns_write_forwarded(&fixture->transport, &fixture->result.query,
		&chain, upstream, length, fixture->reply, sizeof(fixture->reply));
	write_text(fixture);
	assert_string_equal(fixture->text, "A outside.example.test 30 CNAME www.unrelated.test\n"
					   "A www.unrelated.test 9 CNAME real.unrelated.test\n"
					   "A real.unrelated.test 8 A 203.0.113.1\n"
					   "X . OPT 1232 0\n");
	/* Not usable: cut anywhere before the OPT, or about another name. */
	for (size_t cut = 0; cut < length - DNS_OPT_SIZE; cut++) {
		assert_int_equal(dns_write_forwarded(&fixture->transport, &fixture->result.query,
					 &chain, upstream, cut, fixture->reply,
					 sizeof(fixture->reply)),
			0);
		assert_int_equal(dns_write_forwarded(&fixture->transport, &fixture->result.query,
					 NULL, upstream, cut, fixture->reply,
					 sizeof(fixture->reply)),
			0);
	}
	assert_int_equal(dns_write_forwarded(&fixture->transport, &fixture->result.query, NULL,
				 upstream, length, fixture->reply, sizeof(fixture->reply)),
		0);
}

/* Only for permitted clients, and only with RD. */
static void test_forwarding_needs_a_local_client(void **state)
{
	struct fixture *fixture = *state;

	ask(fixture, "www.unrelated.test", DNS_TYPE_A, 0);
	assert_int_equal(rcode(fixture), DNS_RCODE_REFUSED);
	fixture->transport.may_forward = true;
	ask(fixture, "www.unrelated.test", DNS_TYPE_A, NO_RD);
	assert_int_equal(rcode(fixture), DNS_RCODE_REFUSED);
	ask(fixture, "web.example.test", DNS_TYPE_A, 0);
	assert_int_equal(fixture->header.counts[1], 2);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_answers),
		CASE(test_flags_come_back),
		CASE(test_other_classes_are_refused),
		CASE(test_edns),
		CASE(test_malformed_queries_are_reported_so),
		CASE(test_truncation),
		CASE(test_truncation_to_the_byte),
		CASE(test_chains_have_a_limit),
		CASE(test_zones_that_cannot_be_read),
		CASE(test_long_text_is_cut_into_strings),
		CASE(test_choices_through_the_zone),
		CASE(test_forwarded_answers),
		CASE(test_forwarding_needs_a_local_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
