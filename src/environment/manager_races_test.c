/*
 * Two clients with different requests at once (scenario 81), on virtual time: the real manager, store and ECS, without
 * programs. A sequence of requests runs once undisturbed; then once for each of its commits, with another request right
 * behind that commit; and then once for each step of the scheduler, so that the request also comes between a decision of
 * the manager and its commit. test_hosts.h judges every commit: each deployment goes the way of S7 and ends once, and the environment names
 * the one that is in progress.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/test_hosts.h"

#define INSTANCES 3
#define WHILE_US (15 * SECOND_US) /* everything is over then */
#define SEEDS 2                   /* of the choice which thread runs next */

struct race {
	struct test_hosts *bench;
	char first[64], second[64]; /* deployments, if a test has such */
	char versions[4][64];       /* of log:1 … */
	char before[32];            /* the status of the first when the other one came */
	char refused[128];          /* the request of the other one that failed, with this; "" */
};

/* How often each end was come to. */
struct ends {
	size_t completed, stopped, canceled, refused;
};

struct rivals {
	void (*prepare)(struct race *race);
	void (*begin)(struct race *race);
	void (*come)(struct race *race); /* the other one */
	void (*check)(struct race *race, struct ends *ends);
};

/* With one host, and log:1 everywhere. */
static void bring_up(struct race *race)
{
	char id[64];

	test_hosts_furnish(race->bench, INSTANCES);
	test_hosts_declare(race->bench, 1, race->versions[1]);
	test_hosts_start(race->bench, race->versions[1], id);
	test_hosts_run(race->bench, WHILE_US);
	assert_string_equal(test_hosts_status(race->bench, id), "completed");
	assert_int_equal(test_hosts_running(race->bench, 1), INSTANCES);
}

/* The sequence, with the other request behind so many commits, or steps, of it; 0: without. How many there were. */
static uint64_t take(const struct rivals *rivals, uint64_t seed, bool steps, uint64_t cluster_ref,
	struct ends *ends)
{
	struct race race = {.bench = test_hosts_new(seed)};
	uint64_t begun, cluster_refs;

	rivals->prepare(&race);
	begun = runner_simulated_steps(race.bench->runner);
	if (steps && cluster_ref > 0)
		test_hosts_count_steps(race.bench, cluster_ref);
	else
		test_hosts_count(race.bench, cluster_ref);
	rivals->begin(&race);
	test_hosts_run(race.bench, WHILE_US);
	cluster_refs = steps ? race.bench->last_step - begun : race.bench->commits;
	if (cluster_ref > 0) {
		/* No request was in between. */
		if (!steps)
			assert_int_equal(cluster_refs, cluster_ref);
		test_hosts_count(race.bench, 0);
		rivals->come(&race);
		snprintf(race.refused, sizeof(race.refused), "%s", race.bench->server->error_type);
		test_hosts_run(race.bench, WHILE_US);
		rivals->check(&race, ends);
	}
	assert_true(test_hosts_ended(race.bench) >= 1);
	assert_true(race.bench->moves > 1);
	test_hosts_free(race.bench);
	return cluster_refs;
}

/* One run for each place, and that for some seeds; behind how many commits. */
static uint64_t race(const char *name, const struct rivals *rivals, struct ends *ends)
{
	uint64_t all[2] = {0};

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		for (int steps = 0; steps < (seed == SEEDS ? 2 : 1); steps++) {
			uint64_t cluster_refs = take(rivals, seed, steps, 0, ends);

			for (uint64_t cluster_ref = 1; cluster_ref <= cluster_refs; cluster_ref++)
				take(rivals, seed, steps, cluster_ref, ends);
			all[steps] += cluster_refs;
		}
	print_message("%s: behind %llu commits and %llu steps; %zu completed, %zu stopped, %zu "
		      "canceled, %zu refused\n",
		name, (unsigned long long)all[0], (unsigned long long)all[1], ends->completed,
		ends->stopped, ends->canceled, ends->refused);
	assert_true(all[1] > all[0]);
	return all[0];
}

/* The environment's status; "" when it is gone. */
static const char *environment_status(struct race *race)
{
	test_hosts_try(race->bench, "GetEnvironment", "{'name':'log'}");
	return race->bench->server->error_type[0] ? "" : test_text(race->bench->server, "status");
}

/* And then it is quiet. */
static void assert_silent(struct race *race)
{
	uint64_t starts = race->bench->starts;
	size_t running = test_hosts_running(race->bench, 0);

	test_hosts_run(race->bench, 5 * SECOND_US);
	assert_int_equal(race->bench->starts, starts);
	assert_int_equal(test_hosts_running(race->bench, 0), running);
}

/* ---- to stop it, and its completion ---- */

static void declare_second(struct race *race)
{
	bring_up(race);
	test_hosts_declare(race->bench, 2, race->versions[2]);
}

static void begin_second(struct race *race)
{
	test_hosts_start(race->bench, race->versions[2], race->first);
}

static void come_to_stop(struct race *race)
{
	snprintf(race->before, sizeof(race->before), "%s",
		test_hosts_status(race->bench, race->first));
	test_hosts_try(race->bench, "StopDeployment", "{'name':'log','deploymentId':'%s'}",
		race->first);
}

static void check_stopped(struct race *race, struct ends *ends)
{
	const char *status = test_hosts_status(race->bench, race->first);

	if (strcmp(race->before, "completed") == 0) {
		assert_string_equal(race->refused, "ResourceInUseException");
		assert_string_equal(status, "completed");
		assert_string_equal(environment_status(race), "active");
		assert_int_equal(test_hosts_running(race->bench, 2), INSTANCES);
		ends->completed++;
		ends->refused++;
		return;
	}
	assert_string_equal(race->refused, "");
	if (strcmp(race->before, "pending") == 0) {
		assert_string_equal(status, "canceled");
		assert_string_equal(environment_status(race), "active");
		assert_int_equal(test_hosts_running(race->bench, 1), INSTANCES);
		ends->canceled++;
	} else {
		assert_string_equal(status, "stopped");
		assert_string_equal(environment_status(race), "inactive");
		ends->stopped++;
	}
	assert_silent(race);
}

static void test_81_stop_and_complete(void **state)
{
	static const struct rivals rivals = {
		declare_second, begin_second, come_to_stop, check_stopped};
	struct ends ends = {0};

	(void)state;
	assert_true(race("stop and complete", &rivals, &ends) >= SEEDS * 20);
	assert_true(ends.canceled >= SEEDS && ends.stopped >= SEEDS * 10 && ends.completed >= 1);
}

/* ---- to delete it, and a new instance's deployment ---- */

static void join(struct race *race)
{
	char id[TEST_ID_SIZE];

	test_instance(race->bench->server, "default", 4096, 4096, "", id);
}

static void come_to_delete(struct race *race)
{
	test_hosts_try(race->bench, "DeleteEnvironment", "{'name':'log','terminateTasks':true}");
}

static void come_to_leave(struct race *race)
{
	test_hosts_try(race->bench, "DeleteEnvironment", "{'name':'log'}");
}

static void check_deleted(struct race *race, struct ends *ends)
{
	assert_string_equal(race->refused, "");
	assert_string_equal(environment_status(race), "");
	assert_int_equal(test_hosts_running(race->bench, 0), 0);
	ends->stopped++;
	assert_silent(race);
}

/* Those that run go on; the new instance has its task, or never gets one. */
static void check_left(struct race *race, struct ends *ends)
{
	size_t running = test_hosts_running(race->bench, 1);

	assert_string_equal(race->refused, "");
	assert_string_equal(environment_status(race), "");
	assert_in_range(running, INSTANCES, INSTANCES + 1);
	ends->completed += running == INSTANCES + 1;
	ends->stopped += running == INSTANCES;
	assert_silent(race);
}

static void test_81_delete_and_a_new_instance(void **state)
{
	static const struct rivals with_tasks = {bring_up, join, come_to_delete, check_deleted};
	static const struct rivals without = {bring_up, join, come_to_leave, check_left};
	static const struct rivals turned = {bring_up, come_to_delete, join, check_deleted};
	struct ends ends = {0}, left = {0};

	(void)state;
	assert_true(race("a new instance, deleted with tasks", &with_tasks, &ends) >= SEEDS * 6);
	assert_true(race("a new instance, deleted without", &without, &left) >= SEEDS * 6);
	assert_true(left.completed >= 1 && left.stopped >= 1);
	assert_true(race("deleted, a new instance", &turned, &ends) >= SEEDS * 6);
}

/* ---- to update it, and to start ---- */

/* One is in progress, so that the next one waits. */
static void be_in_progress(struct race *race)
{
	bring_up(race);
	test_hosts_declare(race->bench, 2, race->versions[2]);
	test_hosts_declare(race->bench, 3, race->versions[3]);
	test_hosts_start(race->bench, race->versions[2], race->second);
	test_hosts_run(race->bench, SECOND_US);
	assert_string_equal(test_hosts_status(race->bench, race->second), "in-progress");
}

static void begin_third(struct race *race)
{
	test_hosts_start(race->bench, race->versions[3], race->first);
}

static void come_to_update(struct race *race)
{
	snprintf(race->before, sizeof(race->before), "%s",
		test_hosts_status(race->bench, race->first));
	test_hosts_try(race->bench, "UpdateEnvironment", "{'name':'log','taskDefinition':'log:1'}");
}

/* A pending deployment is canceled; one in progress continues. */
static void check_updated(struct race *race, struct ends *ends)
{
	bool waited = strcmp(race->before, "pending") == 0;

	assert_string_equal(race->refused, "");
	assert_string_equal(test_hosts_status(race->bench, race->second), "completed");
	assert_string_equal(test_hosts_status(race->bench, race->first),
		waited ? "canceled" : "completed");
	assert_int_equal(test_hosts_running(race->bench, waited ? 2 : 3), INSTANCES);
	assert_string_equal(environment_status(race), "active");
	ends->canceled += waited;
	ends->completed += !waited;
	assert_silent(race);
}

static void test_81_update_and_start(void **state)
{
	static const struct rivals rivals = {
		be_in_progress, begin_third, come_to_update, check_updated};
	struct ends ends = {0};

	(void)state;
	assert_true(race("start and update", &rivals, &ends) >= SEEDS * 30);
	assert_true(ends.canceled >= SEEDS * 10 && ends.completed >= SEEDS * 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_81_stop_and_complete),
		cmocka_unit_test(test_81_delete_and_a_new_instance),
		cmocka_unit_test(test_81_update_and_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
