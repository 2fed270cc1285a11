/*
 * DNS messages as queries, as answers of an upstream, and as names in text.
 *
 * Checked for every input, beside what the sanitizers see: an answer is well formed to its last byte,
 * as long as the client can take at most, repeats id and question, and is read by ldns as the same
 * records; what we read as a whole message ldns reads, too, and the names are the same; a name survives
 * the way to text and back.
 *
 * The first byte of the input chooses transport and use.
 */
#include <ldns/ldns.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "io/dns_answer.h"
#include "io/test_dns_zone.h"

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "not so: %s (line %d)\n", #condition, __LINE__);           \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define TCP 1u
#define SMALL 2u
#define RECURSIVE 4u
#define UPSTREAM 8u
#define CHAIN 16u

static struct test_zone zone;
static struct dns_answer answer;
static struct random_seeded seeded;
static uint8_t reply[DNS_MESSAGE_MAX];

static void check_name(const struct dns_name *name)
{
	char text[DNS_NAME_TEXT_MAX];
	struct dns_name again;
	struct err err;
	size_t at = 0;

	while (name->bytes[at] != 0)
		at += 1 + (size_t)name->bytes[at];
	REQUIRE(at + 1 == name->length);
	REQUIRE(dns_name_to_text(name, text) < sizeof(text));
	REQUIRE(dns_name_from_text(span_of(text), &again, &err) == 0);
	REQUIRE(again.length == name->length &&
		memcmp(again.bytes, name->bytes, name->length) == 0);
}

/* The same name in ldns's hands. */
static void check_same_name(const struct dns_name *name, const ldns_rdf *theirs)
{
	REQUIRE(theirs && ldns_rdf_size(theirs) == name->length);
	REQUIRE(memcmp(ldns_rdf_data(theirs), name->bytes, name->length) == 0);
}

/* Data whose length both parsers check: behind unknown data ldns may continue at another offset. */
static bool is_plain(const struct dns_record_view *view)
{
	return (view->type == DNS_TYPE_A && view->data_length == 4) ||
	       (view->type == DNS_TYPE_AAAA && view->data_length == 16);
}

/* Reads a message to its end; returns whether it is whole. With `packet`, names are compared, in a
 * message of a stranger only as far as it is plain. */
static bool read_whole(const uint8_t *data, size_t length, const ldns_pkt *packet, bool ours)
{
	struct dns_reader reader = {data, length, 0};
	struct dns_header header;
	struct dns_question question;
	struct dns_record_view view;
	ldns_rr_list *const lists[] = {NULL, packet ? ldns_pkt_answer(packet) : NULL,
		packet ? ldns_pkt_authority(packet) : NULL,
		packet ? ldns_pkt_additional(packet) : NULL};

	if (!dns_read_header(&reader, &header))
		return false;
	for (unsigned i = 0; i < header.counts[0]; i++) {
		if (!dns_read_question(&reader, &question))
			return false;
		check_name(&question.name);
		if (packet)
			check_same_name(&question.name,
				ldns_rr_owner(ldns_rr_list_rr(ldns_pkt_question(packet), i)));
	}
	for (int section = 1; section <= 3; section++) {
		size_t theirs = 0; /* ldns keeps OPT apart */

		for (unsigned i = 0; i < header.counts[section]; i++) {
			if (!dns_read_record(&reader, &view))
				return false;
			check_name(&view.owner);
			if (!ours && !is_plain(&view))
				packet = NULL;
			if (packet && view.type != DNS_TYPE_OPT)
				check_same_name(&view.owner,
					ldns_rr_owner(ldns_rr_list_rr(lists[section], theirs++)));
		}
	}
	return reader.at == length;
}

/* Every reply must be complete for our parser and for ldns. */
static void check_reply(size_t length)
{
	ldns_pkt *packet = NULL;

	REQUIRE(length >= DNS_HEADER_SIZE && length <= DNS_MESSAGE_MAX);
	REQUIRE(reply[2] & 0x80);
	REQUIRE(ldns_wire2pkt(&packet, reply, length) == LDNS_STATUS_OK);
	REQUIRE(read_whole(reply, length, packet, true));
	ldns_pkt_free(packet);
}

static void as_query(const struct dns_transport *transport, const uint8_t *data, size_t length)
{
	struct dns_result result;
	const struct dns_query *query = &result.query;

	dns_answer_query(transport, test_zone_lookup, &zone, data, length, &answer, reply,
		sizeof(reply), &result);
	if (result.verdict == DNS_SILENCE) {
		REQUIRE(length < DNS_HEADER_SIZE || data[2] & 0x80);
		return;
	}
	if (result.verdict == DNS_FORWARD) {
		REQUIRE(transport->may_forward);
		check_name(&result.forward_name);
		return;
	}
	check_reply(result.length);
	REQUIRE(memcmp(reply, data, 2) == 0);
	REQUIRE(result.length <= dns_reply_max(transport, query, sizeof(reply)));
	if (query->has_question) {
		check_name(&query->question.name);
		REQUIRE(memcmp(reply + DNS_HEADER_SIZE, query->question.name.bytes,
				query->question.name.length) == 0);
	}
	result.length = dns_write_bare(transport, query, DNS_RCODE_NOERROR, DNS_FLAG_TC, reply,
		sizeof(reply));
	check_reply(result.length);
}

/* The question of the input, as if we had asked it. */
static void as_upstream(const struct dns_transport *transport, bool chained, const uint8_t *data,
	size_t length)
{
	struct dns_reader reader = {data, length, 0};
	struct dns_query query = {.edns = length % 2, .edns_size = DNS_UDP_PLAIN_MAX};
	struct dns_chain chain = {.count = 1, .ttls = {1}};
	size_t written;

	if (!dns_read_header(&reader, &query.header) ||
		!dns_read_question(&reader, &query.question))
		return;
	query.has_question = true;
	query.header.flags &= DNS_FLAG_RD;
	dns_name_copy(&chain.targets[0], &query.question.name);
	written = dns_write_forwarded(transport, &query, chained ? &chain : NULL, data, length,
		reply, sizeof(reply));
	if (written == 0)
		return;
	REQUIRE(written <= dns_reply_max(transport, &query, sizeof(reply)));
	/* Data that is passed on as it came may be of no sense to ldns; ours is whole. */
	if (chained)
		check_reply(written);
	else
		REQUIRE(read_whole(reply, written, NULL, true));
}

/* Both parsers must read the same. ldns knows the data of types and is stricter there. */
static void compare_with_ldns(const uint8_t *data, size_t length)
{
	ldns_pkt *packet = NULL;

	if (!read_whole(data, length, NULL, false))
		return;
	if (ldns_wire2pkt(&packet, data, length) == LDNS_STATUS_OK)
		read_whole(data, length, packet, false);
	ldns_pkt_free(packet);
}

static void as_text(const uint8_t *data, size_t length)
{
	struct dns_name name;

	if (dns_name_from_text((struct span){(const char *)data, length}, &name, NULL) == 0)
		check_name(&name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_transport transport = {.payload_max = 1232};
	unsigned use;

	if (size < 1 || size > DNS_MESSAGE_MAX)
		return 0;
	if (zone.name.length == 0)
		test_zone_open(&zone);
	random_seeded_init(&seeded, 1);
	answer.random = &seeded.random;
	use = data[0];
	data++;
	size--;
	transport.tcp = use & TCP;
	transport.udp_max = use & SMALL ? 512 : 1232;
	transport.recursive = (use & RECURSIVE) != 0;
	transport.may_forward = transport.recursive;
	if (use & UPSTREAM)
		as_upstream(&transport, use & CHAIN, data, size);
	else
		as_query(&transport, data, size);
	compare_with_ldns(data, size);
	as_text(data, size);
	return 0;
}
