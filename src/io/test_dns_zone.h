/*
 * For tests: the zone example.test from a table of text, behind a lookup function.
 *
 *     struct test_zone zone;
 *     test_zone_open(&zone);
 *     config.lookup = test_zone_lookup, config.context = &zone;
 *
 * "many" is MULTIVALUE over twelve addresses, "weighted" WEIGHTED; the others are given as they stand.
 * Names between the zone and a name exist, as they must.
 */
#ifndef IO_TEST_DNS_ZONE_H
#define IO_TEST_DNS_ZONE_H

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <uv.h>

#include "base/map.h"
#include "base/memory.h"
#include "io/dns_answer.h"
#include "io/dns_choice.h"

#define TEST_ZONE "example.test"
#define TEST_ZONE_HOSTS 1000 /* host-0 .. host-999, A 10.1.x.y */

struct test_record {
	const char *name; /* below the zone; "" is the zone */
	uint16_t type;
	uint32_t ttl;
	const char *data;
	uint16_t port; /* of SRV */
};

static const struct test_record test_records[] = {
	{"", DNS_TYPE_NS, 3600, "ns.example.test", 0},
	{"ns", DNS_TYPE_A, 3600, "192.0.2.53", 0},
	{"web", DNS_TYPE_A, 60, "192.0.2.1", 0},
	{"web", DNS_TYPE_A, 60, "192.0.2.2", 0},
	{"web", DNS_TYPE_AAAA, 60, "2001:db8::1", 0},
	{"six", DNS_TYPE_AAAA, 60, "2001:db8::6", 0},
	{"alias", DNS_TYPE_CNAME, 30, "web.example.test", 0},
	{"alias2", DNS_TYPE_CNAME, 30, "Alias.example.test", 0},
	{"dangling", DNS_TYPE_CNAME, 30, "nothing.example.test", 0},
	{"nodata-alias", DNS_TYPE_CNAME, 30, "text.example.test", 0},
	{"outside", DNS_TYPE_CNAME, 30, "www.unrelated.test", 0},
	{"loop-a", DNS_TYPE_CNAME, 30, "loop-b.example.test", 0},
	{"loop-b", DNS_TYPE_CNAME, 30, "loop-a.example.test", 0},
	{"text", DNS_TYPE_TXT, 60, "hello world", 0},
	{"_http._tcp.web", DNS_TYPE_SRV, 15, "one.web.example.test", 8001},
	{"_http._tcp.web", DNS_TYPE_SRV, 15, "two.web.example.test", 8002},
	{"one.web", DNS_TYPE_A, 15, "192.0.2.11", 0},
	{"one.web", DNS_TYPE_AAAA, 15, "2001:db8::11", 0},
	{"two.web", DNS_TYPE_A, 15, "192.0.2.12", 0},
	{"deep.down.below", DNS_TYPE_A, 60, "192.0.2.99", 0},
};

#define TEST_BIG_COUNT 100 /* A records of "big": 1,600 bytes and more */
#define TEST_MANY_COUNT 12

static const struct dns_candidate test_weights[] = {{700, true}, {299, true}, {1, true}};

struct test_name {
	const struct test_record *records[4];
	size_t count;
	struct dns_name spelt;
	uint8_t host[4]; /* the address of a host-N */
	bool is_host;
};

struct test_zone {
	struct dns_name name;
	struct dns_soa soa;
	struct map names; /* wire name → struct test_name */
	uv_mutex_t lock;  /* for the next */
	struct dns_weighted weighted;
};

static inline void test_parse(const char *text, struct dns_name *ret_name)
{
	struct err err;
	int code = dns_name_from_text(span_of(text), ret_name, &err);

	assert(code == 0);
	(void)code;
}

static inline struct test_name *test_zone_name(struct test_zone *zone, const char *text)
{
	struct test_name *entry;
	struct dns_name name, key;
	char full[DNS_NAME_TEXT_MAX];

	snprintf(full, sizeof(full), "%s%s" TEST_ZONE, text, *text ? "." : "");
	test_parse(full, &name);
	dns_name_copy_lower(&key, &name);
	entry = map_get(&zone->names, dns_name_key(&key));
	if (!entry) {
		entry = memory_allocate(sizeof(*entry));
		entry->spelt = name;
		map_put(&zone->names, dns_name_key(&key), entry);
	}
	return entry;
}

static inline void test_zone_open(struct test_zone *zone)
{
	char host[32];

	*zone = (struct test_zone){0};
	test_parse(TEST_ZONE, &zone->name);
	test_parse("ns." TEST_ZONE, &zone->soa.primary);
	test_parse("hostmaster." TEST_ZONE, &zone->soa.mailbox);
	zone->soa.serial = 7;
	zone->soa.refresh = 3600;
	zone->soa.retry = 600;
	zone->soa.expire = 86400;
	zone->soa.minimum = 24;
	uv_mutex_init(&zone->lock);
	dns_weighted_set(&zone->weighted, test_weights, LENGTH(test_weights));
	for (size_t i = 0; i < LENGTH(test_records); i++) {
		struct test_name *entry = test_zone_name(zone, test_records[i].name);

		entry->records[entry->count++] = &test_records[i];
	}
	test_zone_name(zone, "below");
	test_zone_name(zone, "down.below");
	test_zone_name(zone, "_tcp.web");
	test_zone_name(zone, "many");
	test_zone_name(zone, "weighted");
	test_zone_name(zone, "big");
	for (unsigned i = 0; i < TEST_ZONE_HOSTS; i++) {
		struct test_name *entry;

		snprintf(host, sizeof(host), "host-%u", i);
		entry = test_zone_name(zone, host);
		entry->is_host = true;
		memcpy(entry->host, (uint8_t[]){10, 1, (uint8_t)(i >> 8), (uint8_t)i}, 4);
	}
}

static inline void test_zone_close(struct test_zone *zone)
{
	MAP_EACH (&zone->names, entry) {
		free(entry->value);
	}
	map_clear(&zone->names);
	dns_weighted_clear(&zone->weighted);
	uv_mutex_destroy(&zone->lock);
}

static inline void test_zone_add(struct test_zone *zone, struct dns_answer *answer,
	enum dns_section section, const struct dns_name *owner, const struct test_record *record)
{
	struct dns_name name;
	struct test_name *target;
	uint8_t address[16];

	switch (record->type) {
	case DNS_TYPE_A:
		inet_pton(AF_INET, record->data, address);
		dns_answer_add_a(answer, section, owner, record->ttl, address);
		break;
	case DNS_TYPE_AAAA:
		inet_pton(AF_INET6, record->data, address);
		dns_answer_add_aaaa(answer, section, owner, record->ttl, address);
		break;
	case DNS_TYPE_TXT:
		dns_answer_add_txt(answer, section, owner, record->ttl, span_of(record->data));
		break;
	case DNS_TYPE_SRV:
		test_parse(record->data, &name);
		dns_answer_add_srv(answer, section, owner, record->ttl, 1, 1, record->port, &name);
		target = map_get(&zone->names, dns_name_key(&name));
		for (size_t i = 0; i < target->count; i++)
			test_zone_add(zone, answer, DNS_SECTION_ADDITIONAL, &target->spelt,
				target->records[i]);
		break;
	default:
		test_parse(record->data, &name);
		dns_answer_add_name(answer, section, owner, record->type, record->ttl, &name);
	}
}

static inline void test_zone_choose(struct test_zone *zone, struct dns_answer *answer, char policy)
{
	struct dns_candidate healthy[TEST_MANY_COUNT];
	size_t chosen[DNS_MULTIVALUE_MAX];
	size_t count = 1;
	uint8_t address[4] = {198, 51, 100, 0};

	if (policy == 'w') {
		uv_mutex_lock(&zone->lock);
		chosen[0] = dns_weighted_next(&zone->weighted, answer->random);
		uv_mutex_unlock(&zone->lock);
	} else {
		for (size_t i = 0; i < TEST_MANY_COUNT; i++)
			healthy[i] = (struct dns_candidate){1, true};
		count = dns_choose_multivalue(answer->random, healthy, TEST_MANY_COUNT, chosen);
	}
	for (size_t i = 0; i < count; i++) {
		address[3] = (uint8_t)chosen[i];
		dns_answer_add_a(answer, DNS_SECTION_ANSWER, NULL, 5, address);
	}
}

static inline enum dns_outcome test_zone_lookup(void *context, const struct dns_name *name,
	uint16_t type, struct dns_answer *answer)
{
	struct test_zone *zone = context;
	const struct test_name *entry = map_get(&zone->names, dns_name_key(name));
	bool apex;

	if (!entry && !dns_name_is_below(name, &zone->name))
		return DNS_NOT_OURS;
	if (entry && entry->is_host && type == DNS_TYPE_A) {
		dns_answer_add_a(answer, DNS_SECTION_ANSWER, NULL, 60, entry->host);
		return DNS_FOUND;
	}
	dns_answer_set_soa(answer, &zone->name, 3600, &zone->soa);
	if (!entry)
		return DNS_NO_SUCH_NAME;
	apex = name->length == zone->name.length;
	if (apex && type == DNS_TYPE_SOA)
		dns_answer_add_soa(answer, NULL, 3600, &zone->soa);
	for (size_t i = 0; i < entry->count; i++) {
		if (entry->records[i]->type == type || entry->records[i]->type == DNS_TYPE_CNAME)
			test_zone_add(zone, answer, DNS_SECTION_ANSWER, NULL, entry->records[i]);
	}
	if (type != DNS_TYPE_A)
		return DNS_FOUND;
	if (memcmp(name->bytes, "\4many", 5) == 0)
		test_zone_choose(zone, answer, 'm');
	else if (memcmp(name->bytes, "\10weighted", 9) == 0)
		test_zone_choose(zone, answer, 'w');
	for (uint8_t i = 0; i < TEST_BIG_COUNT && memcmp(name->bytes, "\3big", 4) == 0; i++)
		dns_answer_add_a(answer, DNS_SECTION_ANSWER, NULL, 60, (uint8_t[]){203, 0, 113, i});
	return DNS_FOUND;
}

#endif
