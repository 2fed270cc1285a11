/* For tests of the zone: a store with namespaces, services and instances, and questions about them. Included
 * behind cmocka.h. */
#ifndef CLOUDMAP_TEST_ZONE_H
#define CLOUDMAP_TEST_ZONE_H

#include <arpa/inet.h>
#include <stdio.h>

#include "cloudmap/kinds.h"
#include "cloudmap/zone.h"

#define SCOPE "123456789012/us-east-1/"

struct test {
	struct clock_manual clock;
	struct runner *runner;
	struct store *store;
	struct zone *zone;
	struct random_seeded random;
	struct dns_answer answer;
	enum dns_outcome outcome;
};

/* "web-1.elb" is a load balancer. */
static inline enum dns_outcome balancers(void *context, const struct store_view *view,
	struct span labels, uint16_t type, struct dns_answer *answer)
{
	(void)context;
	(void)view;
	if (!span_is(labels, "web-1.elb"))
		return span_is(labels, "elb") ? DNS_FOUND : DNS_NO_SUCH_NAME;
	if (type == DNS_TYPE_A)
		dns_answer_add_a(answer, DNS_SECTION_ANSWER, NULL, 60, (uint8_t[]){127, 192, 0, 1});
	return DNS_FOUND;
}

static inline struct zone *open_zone(struct test *test)
{
	struct zone_config config = {.store = test->store,
		.runner = test->runner,
		.domain = SPAN("Slipway.Internal"),
		.api_address = SPAN("192.0.2.80"),
		.dns_address = SPAN("2001:db8::53"),
		.names = balancers};
	struct zone *zone = NULL;
	struct err err;

	if (zone_open(&config, &zone, &err) < 0)
		fail_msg("%s", err.message);
	return zone;
}

static inline struct test *start_with(bool inline_writes, size_t feed_bytes)
{
	struct test *test = memory_allocate(sizeof(*test));
	struct store_config config = {.url = "memory:",
		.kinds = cloudmap_kinds,
		.kind_count = cloudmap_kind_count,
		.clock = &test->clock.clock,
		.inline_writes = inline_writes,
		.feed_bytes = feed_bytes};
	struct err err;

	clock_manual_init(&test->clock, 1000000);
	test->runner = runner_threads_new(&test->clock.clock, random_system());
	random_seeded_init(&test->random, 4);
	test->answer.random = &test->random.random;
	if (store_open(&config, &test->store, &err) < 0)
		fail_msg("%s", err.message);
	test->zone = open_zone(test);
	return test;
}

static inline struct test *start(void)
{
	return start_with(true, 0);
}

static inline void finish(struct test *test)
{
	zone_close(test->zone);
	store_close(test->store);
	runner_free(test->runner);
	free(test);
}

/* ---- changes ---- */

struct change {
	const struct store_kind *kind;
	struct span key, private_;
	bool delete_;
};

static inline int apply(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct change *change = context;

	if (change->delete_)
		return store_delete(transaction, change->kind, change->key, STORE_ANY, err);
	return store_put(transaction, change->kind, change->key, SPAN("{}"), change->private_,
		STORE_ANY, err);
}

static inline void write_change(struct test *test, struct change change)
{
	struct err err;

	if (store_write_wait(test->store, apply, &change, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static inline void put_namespace_at(struct test *test, const char *key, const char *name,
	enum cloudmap_namespace_type type, int64_t created_ms)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *private_ = json_new_object(arena);

	cloudmap_namespace_write_facts(&(struct cloudmap_namespace_facts){.name = span_of(name),
					       .type = type,
					       .soa_ttl = 15,
					       .created_ms = created_ms},
		arena, private_);
	write_change(test, (struct change){.kind = &cloudmap_namespace_kind,
				   .key = span_of(key),
				   .private_ = json_to_text(private_, arena)});
}

static inline void put_namespace(struct test *test, const char *id, const char *name)
{
	char key[128];

	snprintf(key, sizeof(key), SCOPE "%s", id);
	put_namespace_at(test, key, name, CLOUDMAP_DNS_PRIVATE, 1);
}

static inline void put_service(struct test *test, const char *id, const char *parent,
	const char *name, int64_t records, bool weighted)
{
	_arena_ struct arena *arena = arena_new(0);
	char key[128];

	snprintf(key, sizeof(key), SCOPE "%s", id);
	write_change(test, (struct change){.kind = &cloudmap_service_kind,
				   .key = span_of(key),
				   .private_ = cloudmap_service_private(
					   &(struct cloudmap_service_facts){.name = span_of(name),
						   .namespace_id = span_of(parent),
						   .records = records,
						   .weighted = weighted,
						   .checked = true,
						   .ttl_a = 60,
						   .ttl_aaaa = 61,
						   .ttl_srv = 62,
						   .ttl_cname = 63},
					   arena)});
}

static inline void put_instance_facts(struct test *test, const char *service, const char *id,
	struct cloudmap_instance_facts facts)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *private_ = json_new_object(arena);
	char key[256];

	cloudmap_instance_write_facts(&facts, arena, private_);
	snprintf(key, sizeof(key), SCOPE "%s/%s", service, id);
	write_change(test, (struct change){.kind = &cloudmap_instance_kind,
				   .key = span_of(key),
				   .private_ = json_to_text(private_, arena)});
}

static inline void put_instance(struct test *test, const char *service, const char *id,
	const char *ipv4, int64_t weight)
{
	put_instance_facts(test, service, id,
		(struct cloudmap_instance_facts){.ipv4 = span_of(ipv4),
			.ipv6 = SPAN("2001:db8::1"),
			.cname = SPAN(""),
			.port = 8080,
			.weight = weight});
}

static inline void delete_object(struct test *test, const struct store_kind *kind, const char *name)
{
	char key[256];

	snprintf(key, sizeof(key), SCOPE "%s", name);
	write_change(test, (struct change){.kind = kind, .key = span_of(key), .delete_ = true});
}

/* ---- questions ---- */

static inline enum dns_outcome ask_zone(struct zone *zone, const char *name, uint16_t type,
	struct dns_answer *answer)
{
	struct dns_name requested;
	struct err err;

	dns_answer_reset(answer);
	if (dns_name_from_text(span_of(name), &requested, &err) < 0)
		fail_msg("%s", err.message);
	return zone_lookup(zone, &requested, type, answer);
}

/* How many records the answer has. */
static inline size_t ask(struct test *test, const char *name, uint16_t type)
{
	size_t count = 0;

	test->outcome = ask_zone(test->zone, name, type, &test->answer);
	for (size_t i = 0; i < test->answer.record_count; i++)
		count += test->answer.records[i].section == DNS_SECTION_ANSWER;
	return count;
}

static inline const char *address_text(const struct dns_record *record)
{
	static char text[INET6_ADDRSTRLEN];

	if (record->type == DNS_TYPE_A)
		inet_ntop(AF_INET, record->address4, text, sizeof(text));
	else
		inet_ntop(AF_INET6, record->address6, text, sizeof(text));
	return text;
}

static inline const char *name_text(const struct dns_name *name)
{
	static char text[DNS_NAME_TEXT_MAX];

	dns_name_to_text(name, text);
	return text;
}

static inline void assert_address(struct test *test, const char *name, const char *address,
	uint32_t ttl)
{
	uint16_t type = strchr(address, ':') ? DNS_TYPE_AAAA : DNS_TYPE_A;

	assert_int_equal(ask(test, name, type), 1);
	assert_int_equal(test->outcome, DNS_FOUND);
	assert_int_equal(test->answer.records[0].record.type, type);
	assert_string_equal(address_text(&test->answer.records[0].record), address);
	assert_int_equal(test->answer.records[0].record.ttl, ttl);
	assert_false(test->answer.has_soa);
}

/* No records, and the SOA that says how long that may be remembered. */
static inline void assert_nothing(struct test *test, const char *name, uint16_t type,
	enum dns_outcome outcome, const char *zone)
{
	assert_int_equal(ask(test, name, type), 0);
	assert_int_equal(test->outcome, outcome);
	assert_true(test->answer.has_soa);
	assert_string_equal(name_text(&test->answer.zone), zone);
	assert_int_equal(test->answer.soa_ttl, 15);
}

#endif
