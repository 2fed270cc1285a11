/*
 * Monitors during a rollout of a user (scenario 51), on virtual time: the real manager, store and ECS, without
 * programs. Twenty instances join behind each commit of a rollout, and a user starts one behind each commit of what a
 * monitor does for twenty: they are served together, the user does not wait, and no instance is forgotten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/test_hosts.h"

#define FIRST 2
#define JOINING 20
#define ALL (FIRST + JOINING)
#define WHILE_US (30 * SECOND_US)

struct crowd {
	struct test_hosts *bench;
	char versions[4][64]; /* of log:1 … */
	char user[64];        /* the last deployment of a user */
	size_t monitors;      /* deployments of theirs that have begun */
	size_t superseded;    /* of them, that a user's took the place of */
};

/* A monitor's deployment begins only where no user's waits. */
static void see_change(void *context, const struct store_change *change)
{
	struct crowd *crowd = context;
	_view_ struct store_view *view = NULL;
	const struct environment_deployment_facts *facts;
	const struct store_object *environment;

	if (change->kind != &environment_deployment_kind || !change->before || !change->after)
		return;
	facts = environment_deployment_facts(change->after);
	if (facts->type == ENVIRONMENT_DEPLOYMENT_TYPE_user ||
		facts->status == environment_deployment_facts(change->before)->status)
		return;
	crowd->superseded += facts->status == ENVIRONMENT_DEPLOYMENT_stopped &&
			     span_is(facts->reason, "SUPERSEDED");
	if (facts->status != ENVIRONMENT_DEPLOYMENT_in_progress)
		return;
	crowd->monitors++;
	view = store_view_open(crowd->bench->server->store);
	environment = store_get(view, &environment_kind, SPAN(TEST_ENVIRONMENT));
	if (environment_facts(environment)->pending.length > 0)
		test_wrong(crowd->bench, "%.*s began before a user's", SPAN_ARGS(facts->id));
}

/* log:1 on the first instances. */
static void open_crowd(struct crowd *crowd)
{
	*crowd = (struct crowd){.bench = test_hosts_new(51)};
	crowd->bench->changed = see_change;
	crowd->bench->changed_context = crowd;
	test_hosts_furnish(crowd->bench, FIRST);
	test_hosts_declare(crowd->bench, 1, crowd->versions[1]);
	test_hosts_start(crowd->bench, crowd->versions[1], crowd->user);
	test_hosts_run(crowd->bench, WHILE_US);
	assert_string_equal(test_hosts_status(crowd->bench, crowd->user), "completed");
	test_hosts_declare(crowd->bench, 2, crowd->versions[2]);
	assert_int_equal(crowd->monitors, 0);
}

static void join(struct crowd *crowd)
{
	char id[TEST_ID_SIZE];

	for (int i = 0; i < JOINING; i++)
		test_instance(crowd->bench->server, "default", 4096, 4096, "", id);
}

static void check_end(struct crowd *crowd)
{
	assert_string_equal(test_hosts_status(crowd->bench, crowd->user), "completed");
	assert_int_equal(test_hosts_running(crowd->bench, 0), ALL);
	assert_int_equal(test_hosts_running(crowd->bench, 2), ALL);
	assert_int_equal(test_hosts_most_starts(crowd->bench, 2), 1);
	test_hosts_ended(crowd->bench);
}

/* Twenty join behind so many commits of a user's rollout; 0: none does. How many there were. */
static uint64_t join_meanwhile(uint64_t cluster_ref, size_t *ret_served_by_user)
{
	struct crowd crowd;
	uint64_t commits;
	bool is_over;

	open_crowd(&crowd);
	test_hosts_count(crowd.bench, cluster_ref);
	test_hosts_start(crowd.bench, crowd.versions[2], crowd.user);
	test_hosts_run(crowd.bench, WHILE_US);
	commits = crowd.bench->commits;
	if (cluster_ref > 0) {
		assert_int_equal(commits, cluster_ref);
		is_over = strcmp(test_hosts_status(crowd.bench, crowd.user), "completed") == 0;
		test_hosts_count(crowd.bench, 0);
		join(&crowd);
		test_hosts_run(crowd.bench, WHILE_US);
		check_end(&crowd);
		/* By the user's, with the version that it rolls out; or all by one of a monitor. */
		assert_true(crowd.monitors <= 1);
		if (is_over)
			assert_int_equal(crowd.monitors, 1);
		*ret_served_by_user += crowd.monitors == 0;
		/* None has ever had a task of the version before. */
		assert_int_equal(crowd.bench->starts, FIRST + ALL);
	}
	test_hosts_free(crowd.bench);
	return commits;
}

static void test_51_twenty_join_while_a_user_rolls_out(void **state)
{
	size_t served_by_user = 0;
	uint64_t cluster_refs = join_meanwhile(0, NULL);

	(void)state;
	for (uint64_t cluster_ref = 1; cluster_ref <= cluster_refs; cluster_ref++)
		join_meanwhile(cluster_ref, &served_by_user);
	print_message("%llu places, at %zu of them the user's served all\n",
		(unsigned long long)cluster_refs, served_by_user);
	assert_true(cluster_refs >= 15 && served_by_user >= 10 && served_by_user < cluster_refs);
}

/* A user starts one behind so many commits of what a monitor does for twenty. */
static uint64_t start_meanwhile(uint64_t cluster_ref, size_t *ret_superseded)
{
	struct crowd crowd;
	uint64_t commits;

	open_crowd(&crowd);
	test_hosts_count(crowd.bench, cluster_ref);
	join(&crowd);
	test_hosts_run(crowd.bench, WHILE_US);
	commits = crowd.bench->commits;
	if (cluster_ref == 0) {
		assert_int_equal(crowd.monitors, 1);
		assert_int_equal(test_hosts_running(crowd.bench, 1), ALL);
	} else {
		/* The first twenty commits are the joins, all before the first pass. */
		assert_int_equal(commits, cluster_ref > JOINING ? cluster_ref : JOINING);
		test_hosts_count(crowd.bench, 0);
		test_hosts_start(crowd.bench, crowd.versions[2], crowd.user);
		test_hosts_run(crowd.bench, WHILE_US);
		check_end(&crowd);
		assert_true(crowd.monitors <= 1);
		*ret_superseded += crowd.superseded;
	}
	test_hosts_free(crowd.bench);
	return commits;
}

static void test_51_a_user_starts_while_twenty_are_served(void **state)
{
	size_t superseded = 0;
	uint64_t cluster_refs = start_meanwhile(0, NULL);

	(void)state;
	for (uint64_t cluster_ref = JOINING; cluster_ref <= cluster_refs; cluster_ref++)
		start_meanwhile(cluster_ref, &superseded);
	print_message("%llu places, at %zu of them a monitor's made room\n",
		(unsigned long long)(cluster_refs - JOINING + 1), superseded);
	assert_true(cluster_refs >= JOINING + 20 && superseded >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_51_twenty_join_while_a_user_rolls_out),
		cmocka_unit_test(test_51_a_user_starts_while_twenty_are_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
