/* That every durable change is seen, and that shares are exact over all threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include "cloudmap/test_zone.h"

/* ---- weights over threads ---- */

#define DRAWERS 4
#define DRAWS 1500 /* of each */

struct drawer {
	struct zone *zone;
	unsigned number;
	unsigned counts[3];
};

static void *draw_in_thread(void *context)
{
	struct drawer *drawer = context;
	struct dns_answer *answer = memory_allocate(sizeof(*answer));
	struct random_seeded random;

	random_seeded_init(&random, drawer->number);
	answer->random = &random.random;
	for (unsigned i = 0; i < DRAWS; i++) {
		ask_zone(drawer->zone, "web.shop.local", DNS_TYPE_A, answer);
		drawer->counts[answer->records[0].record.address4[3]]++;
		/* As resolvers do, and without an effect on the shares. */
		ask_zone(drawer->zone, "web.shop.local", DNS_TYPE_AAAA, answer);
	}
	free(answer);
	return NULL;
}

static void weights_are_exact_over_all_threads(void **state)
{
	/* Of a thousand. */
	static const unsigned weights[][3] = {
		{1, 999, 0}, {10, 990, 0}, {100, 900, 0}, {500, 500, 0}, {1000, 0, 0}, {0, 1, 999}};
	struct test *test = start();

	(void)state;
	put_namespace(test, "ns-1", "shop.local");
	put_service(test, "srv-1", "ns-1", "web", CLOUDMAP_RECORD_A | CLOUDMAP_RECORD_AAAA, true);
	for (size_t i = 0; i < LENGTH(weights); i++) {
		struct drawer drawers[DRAWERS];
		pthread_t threads[DRAWERS];
		unsigned counts[3] = {0};

		put_instance(test, "srv-1", "a", "192.0.2.0", weights[i][0]);
		put_instance(test, "srv-1", "b", "192.0.2.1", weights[i][1]);
		put_instance(test, "srv-1", "c", "192.0.2.2", weights[i][2]);
		for (unsigned j = 0; j < DRAWERS; j++) {
			drawers[j] = (struct drawer){.zone = test->zone, .number = j};
			assert_int_equal(pthread_create(&threads[j], NULL, draw_in_thread,
						 &drawers[j]),
				0);
		}
		for (unsigned j = 0; j < DRAWERS; j++) {
			pthread_join(threads[j], NULL);
			for (size_t k = 0; k < 3; k++)
				counts[k] += drawers[j].counts[k];
		}
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(counts[k], DRAWERS * DRAWS * weights[i][k] / 1000);
	}
	finish(test);
}

/* ---- staying current ---- */

static const char *const requested_names[] = {"one.shop.local", "two.shop.local",
	"a.one.shop.local", "a.b.shop.local", "b.shop.local", "shop.local", "x.b.one.shop.local",
	"one.other.local", "a.b.other.local", "b.other.local"};

static void one_random_change(struct test *test)
{
	static const char *const names[] = {"one", "two", "a.b", "b"};
	static const int64_t records[] = {0, CLOUDMAP_RECORD_A, CLOUDMAP_RECORD_SRV,
		CLOUDMAP_RECORD_A | CLOUDMAP_RECORD_AAAA};
	struct random *random = &test->random.random;
	_view_ struct store_view *view = store_view_open(test->store);
	uint64_t parent = random_below(random, 2), name = random_below(random, LENGTH(names));
	char namespace_[8], service[16], key[64];

	snprintf(namespace_, sizeof(namespace_), "ns-%llu", (unsigned long long)parent);
	snprintf(service, sizeof(service), "srv-%llu-%llu", (unsigned long long)parent,
		(unsigned long long)name);
	switch (random_below(random, 12)) {
	case 0: put_namespace(test, namespace_, parent ? "other.local" : "shop.local"); break;
	case 1:
		snprintf(key, sizeof(key), SCOPE "%s", namespace_);
		if (random_below(random, 4) == 0 &&
			store_get(view, &cloudmap_namespace_kind, span_of(key)) &&
			store_count(view, &cloudmap_service_kind, -1, SPAN(""), false) == 0)
			delete_object(test, &cloudmap_namespace_kind, namespace_);
		break;
	case 2:
	case 3:
		snprintf(key, sizeof(key), SCOPE "%s", namespace_);
		if (store_get(view, &cloudmap_namespace_kind, span_of(key)))
			put_service(test, service, namespace_, names[name],
				records[random_below(random, LENGTH(records))], false);
		break;
	case 4:
		snprintf(key, sizeof(key), SCOPE "%s", service);
		if (store_get(view, &cloudmap_service_kind, span_of(key)) &&
			store_count(view, &cloudmap_instance_kind, -1, span_of(strcat(key, "/")),
				false) == 0)
			delete_object(test, &cloudmap_service_kind, service);
		break;
	default:
		snprintf(key, sizeof(key), SCOPE "%s", service);
		if (!store_get(view, &cloudmap_service_kind, span_of(key)))
			break;
		if (random_below(random, 2)) {
			put_instance(test, service, "x.b", "192.0.2.9", 1);
			break;
		}
		strcat(key, "/x.b");
		if (store_get(view, &cloudmap_instance_kind, span_of(key)))
			delete_object(test, &cloudmap_instance_kind, key + strlen(SCOPE));
	}
}

/* A zone that has seen all changes answers as one that has just been opened. */
static void assert_current(struct test *test, struct dns_answer *fresh)
{
	struct zone *zone = open_zone(test);
	static const uint16_t types[] = {DNS_TYPE_A, DNS_TYPE_SRV};

	for (size_t i = 0; i < LENGTH(requested_names); i++)
		for (size_t j = 0; j < LENGTH(types); j++) {
			size_t count = ask(test, requested_names[i], types[j]);

			assert_int_equal(ask_zone(zone, requested_names[i], types[j], fresh),
				test->outcome);
			assert_int_equal(fresh->record_count, test->answer.record_count);
			assert_int_equal(fresh->has_soa, test->answer.has_soa);
			(void)count;
		}
	zone_close(zone);
}

static void every_change_is_seen(void **state)
{
	struct test *test = start();
	struct dns_answer *fresh = memory_allocate(sizeof(*fresh));

	(void)state;
	fresh->random = &test->random.random;
	for (int i = 0; i < 3000; i++) {
		one_random_change(test);
		if (random_below(&test->random.random, 3) == 0)
			assert_current(test, fresh);
	}
	free(fresh);
	finish(test);
}

static void changes_that_fell_out_of_the_feed_are_seen(void **state)
{
	struct test *test = start_with(true, 4096);
	struct dns_answer *fresh = memory_allocate(sizeof(*fresh));

	(void)state;
	fresh->random = &test->random.random;
	for (int i = 0; i < 20; i++) {
		for (int j = 0; j < 200; j++)
			one_random_change(test);
		assert_current(test, fresh);
	}
	free(fresh);
	finish(test);
}

/* As a reset deletes them: kind by kind, with no regard to what is below. */
static void what_is_below_may_go_last(void **state)
{
	struct test *test = start();

	(void)state;
	put_namespace(test, "ns-1", "shop.local");
	put_namespace(test, "ns-2", "other.local");
	put_service(test, "srv-1", "ns-1", "web", CLOUDMAP_RECORD_SRV, false);
	put_service(test, "srv-2", "ns-2", "web", CLOUDMAP_RECORD_A, true);
	put_instance(test, "srv-1", "a", "192.0.2.1", 1);
	put_instance(test, "srv-2", "a", "192.0.2.2", 1);
	assert_address(test, "a.web.shop.local", "192.0.2.1", 62);
	delete_object(test, &cloudmap_namespace_kind, "ns-1");
	assert_int_equal(ask(test, "a.web.shop.local", DNS_TYPE_A), 0);
	assert_int_equal(test->outcome, DNS_NOT_OURS);
	assert_address(test, "web.other.local", "192.0.2.2", 60);
	put_instance(test, "srv-1", "a", "192.0.2.3", 1);
	delete_object(test, &cloudmap_service_kind, "srv-1");
	delete_object(test, &cloudmap_service_kind, "srv-2");
	assert_nothing(test, "web.other.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "other.local");
	delete_object(test, &cloudmap_instance_kind, "srv-1/a");
	delete_object(test, &cloudmap_instance_kind, "srv-2/a");
	delete_object(test, &cloudmap_namespace_kind, "ns-2");
	assert_int_equal(ask(test, "other.local", DNS_TYPE_SOA), 0);
	assert_int_equal(test->outcome, DNS_NOT_OURS);
	finish(test);
}

#define READERS 2
#define WRITES 400

struct reader {
	struct zone *zone;
	unsigned number;
	_Atomic bool *stop;
};

static void *read_in_thread(void *context)
{
	struct reader *reader = context;
	struct dns_answer *answer = memory_allocate(sizeof(*answer));
	struct random_seeded random;

	random_seeded_init(&random, reader->number);
	answer->random = &random.random;
	while (!atomic_load(reader->stop)) {
		ask_zone(reader->zone, "web.shop.local", DNS_TYPE_A, answer);
		ask_zone(reader->zone, "a.srv.shop.local", DNS_TYPE_A, answer);
	}
	free(answer);
	return NULL;
}

/* The writer's thread answers; the client queries at once. Other clients query all the time. */
static void a_write_that_was_answered_is_seen(void **state)
{
	struct test *test = start_with(false, 0);
	_Atomic bool stop = false;
	struct reader readers[READERS];
	pthread_t threads[READERS];
	char address[16];

	(void)state;
	put_namespace(test, "ns-1", "shop.local");
	put_service(test, "srv-1", "ns-1", "web", CLOUDMAP_RECORD_A, false);
	put_service(test, "srv-2", "ns-1", "srv", CLOUDMAP_RECORD_SRV, false);
	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = (struct reader){.zone = test->zone, .number = i, .stop = &stop};
		assert_int_equal(pthread_create(&threads[i], NULL, read_in_thread, &readers[i]), 0);
	}
	for (int i = 0; i < WRITES; i++) {
		snprintf(address, sizeof(address), "192.0.2.%d", i % 250);
		put_instance(test, "srv-1", "a", address, 1);
		assert_address(test, "web.shop.local", address, 60);
		put_instance(test, "srv-2", "a", address, 1);
		assert_address(test, "a.srv.shop.local", address, 62);
		delete_object(test, &cloudmap_instance_kind, "srv-1/a");
		assert_nothing(test, "web.shop.local", DNS_TYPE_A, DNS_NO_SUCH_NAME, "shop.local");
	}
	atomic_store(&stop, true);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	finish(test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_are_exact_over_all_threads),
		cmocka_unit_test(every_change_is_seen),
		cmocka_unit_test(changes_that_fell_out_of_the_feed_are_seen),
		cmocka_unit_test(what_is_below_may_go_last),
		cmocka_unit_test(a_write_that_was_answered_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
