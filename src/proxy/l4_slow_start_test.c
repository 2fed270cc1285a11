/* Slow start: a target's share rises evenly, its group's share is constant. */
#include "proxy/test_plane.h"

#include "proxy/l4/shared.h"

#define RISE_MS 1000
#define BEGAN_US INT64_C(5000000)

/* ---- turns, on a clock of our own ---- */

struct shared_group {
	struct l4_shared *shared;
	struct l4_group *group;
	int memory;
};

static int shared_setup(void **state)
{
	struct shared_group *it = memory_allocate(sizeof(*it));
	const uint32_t targets[] = {0, 1, 2};

	assert_int_equal(l4_shared_create(&it->memory, &it->shared, NULL), 0);
	it->group = &it->shared->groups[0];
	l4_group_publish(it->group, targets, LENGTH(targets));
	atomic_store(&it->group->slow_start_ms, RISE_MS);
	atomic_store(&it->group->warm_at_us, BEGAN_US + RISE_MS * 1000);
	atomic_store(&it->shared->targets[1].warm_from_us, BEGAN_US);
	*state = it;
	return 0;
}

static int shared_teardown(void **state)
{
	struct shared_group *it = *state;

	l4_shared_unmap(it->shared);
	close(it->memory);
	free(it);
	return 0;
}

static void take_turns(struct shared_group *it, unsigned turns, int64_t now_us, bool hashed,
	unsigned counts[3])
{
	memset(counts, 0, 3 * sizeof(*counts));
	for (unsigned i = 0; i < turns; i++) {
		const struct l4_turn turn = {
			.now_us = now_us,
			.hash = hashed ? (i + 1) * UINT64_C(0x9e3779b97f4a7c15) : 0,
		};
		uint32_t slot = l4_group_next(it->shared, it->group, &turn);

		assert_true(slot < 3);
		counts[slot]++;
	}
}

static void test_part_rises_evenly(void **state)
{
	/* After this fraction of the time, of 10000 turns: part / (2 + part). */
	static const struct {
		unsigned thousandths, wanted;
	} rows[] = {{0, 0}, {1, 5}, {100, 476}, {250, 1111}, {500, 2000}, {900, 3103}, {1000, 3333},
		{5000, 3333}};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		unsigned counts[3];

		take_turns(*state, 10000, BEGAN_US + rows[i].thousandths * RISE_MS, false, counts);
		assert_in_range(counts[1], rows[i].wanted ? rows[i].wanted - 1 : 0,
			rows[i].wanted + (rows[i].wanted > 0));
		/* The others gain alike. */
		assert_in_range(counts[0], counts[2] ? counts[2] - 1 : 0, counts[2] + 1);
	}
}

static void test_clients_that_stick_come_over_little_by_little(void **state)
{
	unsigned before = 0;

	for (int64_t part = 0; part <= 10; part++) {
		unsigned counts[3];

		take_turns(*state, 3000, BEGAN_US + part * RISE_MS * 100, true, counts);
		if (part == 0)
			assert_int_equal(counts[1], 0);
		else
			assert_true(counts[1] > before);
		before = counts[1];
	}
	assert_in_range(before, 900, 1100);
}

static void test_alone_it_takes_everything(void **state)
{
	struct shared_group *it = *state;
	const uint32_t alone[] = {1};
	unsigned counts[3];

	l4_group_publish(it->group, alone, 1);
	take_turns(it, 100, BEGAN_US, false, counts);
	assert_int_equal(counts[1], 100);
	take_turns(it, 100, BEGAN_US, true, counts);
	assert_int_equal(counts[1], 100);
}

static void test_target_that_was_tried_is_not_tried_again(void **state)
{
	struct shared_group *it = *state;
	const uint32_t tried[] = {0, 2};
	struct l4_turn turn = {.now_us = BEGAN_US, .tried = tried, .tried_count = 2};

	assert_int_equal(l4_group_next(it->shared, it->group, &turn), 1);
	turn.hash = 77;
	assert_int_equal(l4_group_next(it->shared, it->group, &turn), 1);
}

/* ---- through the engine ---- */

static int setup(void **state)
{
	return test_plane_setup(state, 1);
}

/* stable: A and, from some time on, C. canary: B. */
struct parts {
	unsigned a, b, c;
};

static struct parts ask(struct test_plane *plane, unsigned connections)
{
	struct parts parts = {0};

	for (unsigned i = 0; i < connections; i++) {
		char letter = test_ask(plane->port);

		assert_true(letter >= 'A' && letter <= 'C');
		++*(letter == 'A' ? &parts.a : letter == 'B' ? &parts.b : &parts.c);
	}
	return parts;
}

#define LONG_MS 900000

static void test_new_target_begins_small_and_shares_stay(void **state)
{
	struct test_plane *plane = *state;
	struct proxy_target targets[2] = {0};
	struct parts parts;
	int64_t began, most;

	for (size_t i = 0; i < 3; i++)
		test_backend_start(&plane->backends[i], (char)('A' + i), test_serve_quick);
	plane->groups[0].slow_start_ms = LONG_MS;
	test_plane_open(plane, PROXY_TCP, 90, 10);
	targets[0] = plane->targets[0];
	targets[1].address = test_loopback(plane->backends[2].port);
	plane->groups[0].targets = targets;
	plane->groups[0].target_count = 2;
	began = test_now_ms();
	test_apply(plane);
	parts = ask(plane, 1000);
	test_apply(plane); /* again: that is no new beginning, nor an end */
	most = (test_now_ms() - began) * 1000 / LONG_MS + 1;
	assert_int_equal(parts.b, 100);
	assert_true(parts.c <= most);
	/* Without slow start, it has its part at once. */
	plane->groups[0].slow_start_ms = 0;
	test_apply(plane);
	parts = ask(plane, 1000);
	assert_int_equal(parts.b, 100);
	assert_int_equal(parts.a, 450);
	assert_int_equal(parts.c, 450);
}

static void test_first_targets_begin_in_full(void **state)
{
	struct test_plane *plane = *state;
	struct proxy_target targets[2] = {0};
	struct parts parts;

	for (size_t i = 0; i < 3; i++)
		test_backend_start(&plane->backends[i], (char)('A' + i), test_serve_quick);
	test_plane_open(plane, PROXY_TCP, 0, 1);
	targets[0] = plane->targets[0];
	targets[0].state = PROXY_TARGET_DOWN;
	targets[1].address = test_loopback(plane->backends[2].port);
	targets[1].state = PROXY_TARGET_DOWN;
	plane->groups[0].slow_start_ms = LONG_MS;
	plane->groups[0].targets = targets;
	plane->groups[0].target_count = 2;
	test_apply(plane);
	targets[0].state = targets[1].state = PROXY_TARGET_ACTIVE;
	plane->routes[0].weight = 1;
	plane->routes[1].weight = 0;
	test_apply(plane);
	parts = ask(plane, 200);
	assert_int_equal(parts.a, 100);
	assert_int_equal(parts.c, 100);
	/* One that comes back while the other is there begins again. */
	targets[1].state = PROXY_TARGET_DRAINING;
	test_apply(plane);
	assert_int_equal(ask(plane, 20).a, 20);
	targets[1].state = PROXY_TARGET_ACTIVE;
	test_apply(plane);
	assert_true(ask(plane, 20).a > 0);
	assert_true(ask(plane, 100).c < 25);
}

#define SHARED(function) cmocka_unit_test_setup_teardown(function, shared_setup, shared_teardown)
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, test_plane_teardown)

static const struct CMUnitTest tests[] = {
	SHARED(test_part_rises_evenly),
	SHARED(test_clients_that_stick_come_over_little_by_little),
	SHARED(test_alone_it_takes_everything),
	SHARED(test_target_that_was_tried_is_not_tried_again),
	TEST(test_new_target_begins_small_and_shares_stay),
	TEST(test_first_targets_begin_in_full),
};

TEST_PLANE_MAIN("proxy/l4 slow start", tests)
