/*
 * Managers of an environment when servers fail (scenarios 77 and 78), on virtual time: the real claims, managers, store
 * and ECS of several servers on one store. Heartbeats fail behind each commit of a rollout, and the server that takes over
 * is killed behind each commit of that: one acts, each instance gets its task once, and without a manager that is reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "environment/test_hosts.h"

#define INSTANCES 6
#define WARM_UP_S 5 /* three at a time: it lasts for longer than a lease */
#define WHILE_US (90 * SECOND_US)
#define COURSE_US (20 * SECOND_US) /* a rollout is over then */
#define STRIDE 3
/* Others wait for a tenth longer, and start a pass when they are notified. */
#define TAKEN_US (CLAIMS_LEASE_US + CLAIMS_LEASE_US / 10 + SECOND_US / 2)

struct scene {
	struct test_hosts *bench;
	char version[64], id[64];
	uint64_t worked; /* commits of the first server about the environment, without heartbeats */
	int64_t taken_us; /* when another one had it */
};

static bool is_of(const struct test_hosts *bench, const char *host)
{
	size_t length = strlen(host);
	const char *running = runner_simulated_running(bench->runner);

	return strncmp(running, host, length) == 0 && running[length] == '/';
}

static bool has_claim(const struct test_hosts *bench, const char *host)
{
	return bench->claim &&
	       span_is(((const struct claim_facts *)bench->claim->facts)->server, host);
}

/* Nothing of the first server takes effect when another one has the claim. */
static void see_change(void *context, const struct store_change *change)
{
	struct scene *scene = context;

	if (change->kind == &claim_kind && !has_claim(scene->bench, "one") && scene->taken_us == 0)
		scene->taken_us = runner_now_us(scene->bench->runner);
	if (!is_of(scene->bench, "one") || change->kind == &server_kind)
		return;
	scene->worked += scene->bench->fails && has_claim(scene->bench, "one");
	if (!has_claim(scene->bench, "one"))
		test_wrong(scene->bench, "server one changes a %s, and is not the manager",
			change->kind->name);
}

/* log:1 everywhere by server one, a second server, and log:2 is declared. */
static void open_scene(struct scene *scene, uint64_t seed)
{
	*scene = (struct scene){.bench = test_hosts_new(seed)};
	test_hosts_furnish(scene->bench, INSTANCES);
	test_hosts_declare(scene->bench, 1, scene->version);
	test_hosts_start(scene->bench, scene->version, scene->id);
	test_hosts_run(scene->bench, 30 * SECOND_US);
	assert_string_equal(test_hosts_status(scene->bench, scene->id), "completed");
	test_host_start(scene->bench, 1, "two");
	scene->bench->warm_up_s = WARM_UP_S;
	test_hosts_declare(scene->bench, 2, scene->version);
	test_hosts_run(scene->bench, SECOND_US);
	assert_true(has_claim(scene->bench, "one"));
	assert_int_equal(scene->bench->takeovers, 0);
}

static void check_end(struct scene *scene)
{
	assert_string_equal(test_hosts_status(scene->bench, scene->id), "completed");
	assert_int_equal(test_hosts_running(scene->bench, 2), INSTANCES);
	/* Each instance got it once, from any server. */
	assert_int_equal(test_hosts_most_starts(scene->bench, 2), 1);
	assert_int_equal(scene->bench->starts, 2 * INSTANCES);
	test_hosts_ended(scene->bench);
}

/* ---- heartbeats ---- */

/* From so many commits on server one cannot renew its lease; 0: it can. How many there were. */
static uint64_t miss_heartbeats(uint64_t cluster_ref, uint64_t *worked)
{
	struct scene scene;
	uint64_t commits;
	int64_t began_us;

	open_scene(&scene, 77);
	test_hosts_count(scene.bench, cluster_ref);
	test_hosts_start(scene.bench, scene.version, scene.id);
	test_hosts_run(scene.bench, WHILE_US);
	commits = scene.bench->commits;
	if (cluster_ref == 0) {
		assert_int_equal(scene.bench->takeovers, 0);
		check_end(&scene);
		test_hosts_free(scene.bench);
		return commits;
	}
	assert_int_equal(commits, cluster_ref);
	test_hosts_count(scene.bench, 0);
	scene.bench->changed = see_change;
	scene.bench->changed_context = &scene;
	scene.bench->fails = "one/claims";
	began_us = runner_now_us(scene.bench->runner);
	test_hosts_run(scene.bench, WHILE_US);
	assert_true(scene.bench->failed > 3);
	assert_int_equal(scene.bench->takeovers, 1);
	assert_true(has_claim(scene.bench, "two"));
	assert_true(scene.taken_us - began_us <= TAKEN_US);
	assert_true(scene.taken_us - began_us > CLAIMS_LEASE_US * 2 / 3);
	check_end(&scene);
	/* When it can again it is there, and nothing moves. */
	scene.bench->fails = NULL;
	test_hosts_run(scene.bench, WHILE_US);
	assert_true(claims_has_lease(scene.bench->hosts[0].claims, NULL));
	assert_int_equal(scene.bench->takeovers, 1);
	check_end(&scene);
	*worked += scene.worked;
	test_hosts_free(scene.bench);
	return commits;
}

static void test_77_heartbeats_fail_and_the_manager_goes_on(void **state)
{
	uint64_t worked = 0, cluster_refs = miss_heartbeats(0, NULL);

	(void)state;
	for (uint64_t cluster_ref = 1; cluster_ref <= cluster_refs; cluster_ref++)
		miss_heartbeats(cluster_ref, &worked);
	print_message("%llu places, %llu commits without a heartbeat\n",
		(unsigned long long)cluster_refs, (unsigned long long)worked);
	assert_true(cluster_refs >= 30 && worked >= 100);
}

/* Server one stands still for longer than its lease after so many steps, in the middle of whatever it does, and continues with
 * that; 0: it does not. How many there were. */
static uint64_t stand_still(uint64_t cluster_ref, uint64_t *taken)
{
	struct scene scene;
	uint64_t begun, steps;

	open_scene(&scene, 77);
	begun = runner_simulated_steps(scene.bench->runner);
	if (cluster_ref > 0)
		test_hosts_count_steps(scene.bench, cluster_ref);
	test_hosts_start(scene.bench, scene.version, scene.id);
	test_hosts_run(scene.bench, cluster_ref > 0 ? WHILE_US : COURSE_US);
	steps = scene.bench->last_step - begun;
	if (cluster_ref > 0) {
		test_hosts_count(scene.bench, 0);
		scene.bench->changed = see_change;
		scene.bench->changed_context = &scene;
		runner_simulated_pause(scene.bench->hosts[0].runner, 2 * CLAIMS_LEASE_US);
		test_hosts_run(scene.bench, WHILE_US);
		assert_int_equal(scene.bench->takeovers, 1);
		assert_true(has_claim(scene.bench, "two"));
		(*taken)++;
	}
	check_end(&scene);
	test_hosts_free(scene.bench);
	return steps;
}

static void test_77_late_in_the_middle_of_anything(void **state)
{
	uint64_t taken = 0, steps = stand_still(0, NULL);

	(void)state;
	for (uint64_t cluster_ref = 1; cluster_ref <= steps; cluster_ref += STRIDE)
		stand_still(cluster_ref, &taken);
	print_message("%llu of %llu steps\n", (unsigned long long)taken, (unsigned long long)steps);
	assert_true(taken >= 100);
}

/* ---- the server that takes over dies ---- */

/* Server one is killed while it rolls out; server two takes over, and is killed after so many commits from then on (0:
 * not at all). Then it comes back, or a third one does. */
static uint64_t die_twice(uint64_t cluster_ref, bool third)
{
	struct scene scene;
	struct test_host *heir;
	uint64_t commits;

	open_scene(&scene, 78);
	test_hosts_start(scene.bench, scene.version, scene.id);
	test_hosts_run(scene.bench, 2 * SECOND_US);
	assert_string_equal(test_hosts_status(scene.bench, scene.id), "in-progress");
	assert_true(scene.bench->starts > INSTANCES);
	test_host_kill(scene.bench, &scene.bench->hosts[0]);
	test_hosts_count(scene.bench, cluster_ref);
	heir = &scene.bench->hosts[1];
	test_hosts_run(scene.bench, WHILE_US);
	commits = scene.bench->commits;
	if (cluster_ref > 0) {
		assert_int_equal(commits, cluster_ref);
		test_host_kill(scene.bench, heir);
		assert_int_equal(scene.bench->commits, cluster_ref);
		test_hosts_count(scene.bench, 0);
		heir = third ? test_host_start(scene.bench, 2, "three")
			     : test_host_start(scene.bench, 1, "two");
		test_hosts_run(scene.bench, WHILE_US);
	}
	/* One manager, and it is the one that lives. */
	assert_true(has_claim(scene.bench, heir->name));
	assert_true(claims_has_lease(heir->claims, NULL));
	check_end(&scene);
	test_hosts_free(scene.bench);
	return commits;
}

static void test_78_the_next_manager_dies_at_each_step(void **state)
{
	uint64_t cluster_refs = die_twice(0, false);

	(void)state;
	for (uint64_t cluster_ref = 1; cluster_ref <= cluster_refs; cluster_ref++) {
		die_twice(cluster_ref, false);
		die_twice(cluster_ref, true);
	}
	print_message("%llu places\n", (unsigned long long)cluster_refs);
	assert_true(cluster_refs >= 30);
}

/* ---- no server can ---- */

static const char *reason_of(struct test_hosts *bench)
{
	test_hosts_ask(bench, "GetEnvironment", "{'name':'log'}");
	return test_text(bench->server, "statusReason");
}

/* The server that has it cannot write, and then the one that should take it over cannot either: both say so, and it goes
 * on by itself. */
static void test_78_it_is_reported_that_no_server_manages(void **state)
{
	struct scene scene;
	struct test_hosts *bench;

	(void)state;
	open_scene(&scene, 79);
	bench = scene.bench;
	bench->fails = "one";
	test_hosts_start(bench, scene.version, scene.id);
	test_hosts_run(bench, 9 * SECOND_US);
	/* Not before another server would have taken it over. */
	assert_string_equal(reason_of(bench), "");
	test_hosts_run(bench, 10 * SECOND_US);
	assert_true(has_claim(bench, "two"));
	assert_string_equal(reason_of(bench), "");
	test_hosts_run(bench, WHILE_US);
	assert_string_equal(test_hosts_status(bench, scene.id), "completed");
	assert_string_equal(reason_of(bench), "");

	bench->fails = ""; /* everybody's, but not those of clients */
	test_hosts_declare(bench, 3, scene.version);
	test_hosts_start(bench, scene.version, scene.id);
	test_hosts_run(bench, CLAIMS_LEASE_US);
	test_hosts_run(bench, 2 * CLAIMS_LEASE_US);
	for (size_t i = 0; i < 2; i++) {
		test_talk_to(bench, &bench->hosts[i]);
		assert_non_null(strstr(reason_of(bench), "NOT_MANAGED: server '"));
		assert_non_null(strstr(reason_of(bench), "' has no lease just now"));
		assert_string_equal(test_hosts_status(bench, scene.id), "pending");
	}
	assert_int_equal(test_hosts_running(bench, 2), INSTANCES);
	bench->fails = NULL;
	test_hosts_run(bench, WHILE_US);
	assert_string_equal(test_hosts_status(bench, scene.id), "completed");
	for (size_t i = 0; i < 2; i++) {
		test_talk_to(bench, &bench->hosts[i]);
		assert_string_equal(reason_of(bench), "");
	}
	test_hosts_free(bench);
}

/* Its lease is renewed, but what it writes of the environment fails; clients read what, but not the database's own text. */
static void test_78_it_is_reported_that_passes_fail(void **state)
{
	struct scene scene;
	struct test_hosts *bench;

	(void)state;
	open_scene(&scene, 80);
	bench = scene.bench;
	bench->fails = "one/environments";
	test_hosts_start(bench, scene.version, scene.id);
	test_hosts_run(bench, 2 * CLAIMS_LEASE_US);
	assert_true(has_claim(bench, "one"));
	assert_non_null(strstr(reason_of(bench), "NOT_MANAGED: "));
	assert_non_null(strstr(reason_of(bench),
		"the database failed, and the log has the reason"));
	assert_null(strstr(reason_of(bench), "fault before the commit"));
	bench->fails = NULL;
	test_hosts_run(bench, WHILE_US);
	assert_string_equal(reason_of(bench), "");
	check_end(&scene);
	test_hosts_free(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_77_heartbeats_fail_and_the_manager_goes_on),
		cmocka_unit_test(test_77_late_in_the_middle_of_anything),
		cmocka_unit_test(test_78_the_next_manager_dies_at_each_step),
		cmocka_unit_test(test_78_it_is_reported_that_no_server_manages),
		cmocka_unit_test(test_78_it_is_reported_that_passes_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
