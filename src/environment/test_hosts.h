/*
 * Several managers of environments on one store for unit tests, on virtual time: as test_manager.h has one. Each is of a
 * host of its own, which can be killed, paused and started anew, and whose clocks may be wrong. Every commit is checked,
 * with its host, against the store: how deployments change their status (S7) and how many tasks an instance has (S1).
 *
 * A test can be woken by a commit: the hosts stand still until it waits again, so that what it does comes right behind
 * that commit. Include it behind cmocka's header.
 */
#ifndef ENVIRONMENT_TEST_HOSTS_H
#define ENVIRONMENT_TEST_HOSTS_H

#include "base/map.h"
#include "control/runner_simulated.h"
#include "ecs/test_server.h"
#include "ecs/test_tasks.h"
#include "environment/act/manager.h"
#include "environment/api/operations.h"

#define SECOND_US INT64_C(1000000)
#define TEST_HOSTS_MAX 5
#define TEST_ENVIRONMENT "123456789012/log"
#define TEST_CLAIM MANAGER_CLAIM_PREFIX TEST_ENVIRONMENT
#define TEST_OPEN 1
#define TEST_CLUSTER SPAN(TEST_ACCOUNT_KEY "/default/")

struct test_host {
	const char *name;
	struct runner *runner; /* NULL: it is down */
	struct claims *claims;
	struct manager *manager;
	int64_t shift_us, pace; /* of its steady clock; pace 0: as everybody's */
};

struct test_hosts {
	struct runner *runner;
	struct test_server *server;
	struct aws_service service;
	struct daemon_context context; /* of the host that clients talk to */
	struct runner_event *woken;
	struct store_faults faults;
	struct store_feed *feed;
	struct test_host hosts[TEST_HOSTS_MAX];
	int warm_up_s; /* of versions that are declared */
	/* Commits of hosts' runners whose name begins so fail ("one/claims"); NULL: none. */
	const char *fails;
	uint64_t failed;
	/* Since the last test_hosts_count(). */
	uint64_t commits;
	uint64_t step,
		last_step; /* by runner_simulated_steps: to be woken at, and of the last commit */
	uint64_t wake_at;  /* after so many; 0: never */
	struct map deployments; /* by key: TEST_OPEN, and one more each time that they end */
	uint64_t moves, starts; /* of deployments; tasks that were made */
	struct map starts_on;   /* by "INSTANCE:REVISION": how often a task was */
	const struct store_object *claim; /* of the environment, as it was last; NULL */
	uint64_t takeovers;
	char wrong[512]; /* the first broken property; "" */
	/* The further check of a test, called with each change; NULL. */
	void (*changed)(void *context, const struct store_change *change);
	void *changed_context;
};

/* ---- judging ---- */

/* Set by any thread, and read by main: a test fails there. */
#define test_wrong(bench, ...)                                                                     \
	do {                                                                                       \
		if (!(bench)->wrong[0])                                                            \
			snprintf((bench)->wrong, sizeof((bench)->wrong), __VA_ARGS__);             \
	} while (0)

static inline void test_hear(const struct test_hosts *bench)
{
	if (bench->wrong[0])
		fail_msg("%s", bench->wrong);
}

/* S7, as it is written; the program has a table of its own. */
static inline bool test_may_become(enum environment_deployment_status from,
	enum environment_deployment_status to)
{
#define TO(name) (1U << ENVIRONMENT_DEPLOYMENT_##name)
	static const unsigned arrows[ENVIRONMENT_DEPLOYMENT_STATUS_COUNT] = {
		[ENVIRONMENT_DEPLOYMENT_pending] = TO(in_progress) | TO(canceled),
		[ENVIRONMENT_DEPLOYMENT_in_progress] = TO(completed) | TO(unhealthy) | TO(blocked) |
						       TO(to_be_stopped) | TO(timed_out),
		[ENVIRONMENT_DEPLOYMENT_unhealthy] = TO(in_progress) | TO(blocked) | TO(completed) |
						     TO(to_be_stopped) | TO(timed_out),
		[ENVIRONMENT_DEPLOYMENT_blocked] = TO(in_progress) | TO(unhealthy) | TO(completed) |
						   TO(to_be_stopped) | TO(timed_out),
		[ENVIRONMENT_DEPLOYMENT_to_be_stopped] = TO(stopped),
	};
#undef TO

	return arrows[from] & (1U << to);
}

static inline bool test_has_ended(enum environment_deployment_status status)
{
	return status == ENVIRONMENT_DEPLOYMENT_completed ||
	       status == ENVIRONMENT_DEPLOYMENT_stopped ||
	       status == ENVIRONMENT_DEPLOYMENT_canceled ||
	       status == ENVIRONMENT_DEPLOYMENT_timed_out;
}

static inline void test_judge_deployment(struct test_hosts *bench,
	const struct store_change *change)
{
	struct span key = (change->after ? change->after : change->before)->key;
	enum environment_deployment_status before = ENVIRONMENT_DEPLOYMENT_STATUS_COUNT,
					   after = ENVIRONMENT_DEPLOYMENT_STATUS_COUNT;
	uintptr_t ends = (uintptr_t)map_get(&bench->deployments, key);

	if (change->before)
		before = environment_deployment_facts(change->before)->status;
	if (change->after)
		after = environment_deployment_facts(change->after)->status;
	if (!change->before) {
		map_put(&bench->deployments, key, (void *)TEST_OPEN);
		if (after != ENVIRONMENT_DEPLOYMENT_pending || ends != 0)
			test_wrong(bench, "%.*s does not begin as pending", SPAN_ARGS(key));
		return;
	}
	if (!change->after) {
		if (!test_has_ended(before))
			test_wrong(bench, "%.*s is forgotten before it has ended", SPAN_ARGS(key));
		return;
	}
	if (before == after)
		return;
	bench->moves++;
	if (!test_may_become(before, after))
		test_wrong(bench, "%.*s was %s and became %s", SPAN_ARGS(key),
			environment_deployment_status_name(before),
			environment_deployment_status_name(after));
	if (test_has_ended(after))
		map_put(&bench->deployments, key, (void *)(ends + 1));
}

static inline void test_count_start(struct test_hosts *bench, const struct store_change *change)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct task_facts *facts;
	struct span key;

	if (change->before || !change->after)
		return;
	facts = task_facts(change->after);
	key = arena_format(arena, "%.*s:%lld", SPAN_ARGS(facts->instance),
		(long long)facts->revision);
	bench->starts++;
	map_put(&bench->starts_on, key, (void *)((uintptr_t)map_get(&bench->starts_on, key) + 1));
}

static inline void test_note_claim(struct test_hosts *bench, const struct store_change *change)
{
	const struct store_object *object = change->after ? change->after : change->before;

	if (!span_is(object->key, TEST_CLAIM))
		return;
	bench->takeovers += bench->claim && change->after;
	store_object_unref(bench->claim);
	bench->claim = change->after ? store_object_ref(change->after) : NULL;
}

/* An environment agrees with its deployments, and there are not too many of them. */
static inline void test_judge_environment(struct test_hosts *bench, const struct store_view *view)
{
	const struct store_object *environment = store_get(view, &environment_kind,
					  SPAN(TEST_ENVIRONMENT)),
				  *deployment;
	struct store_cursor cursor = {.view = view,
		.kind = &environment_deployment_kind,
		.index = ENVIRONMENT_DEPLOYMENT_OPEN,
		.prefix = SPAN(TEST_ENVIRONMENT),
		.exact = true};
	struct span named[2] = {SPAN(""), SPAN("")}; /* that waits, that is in progress */
	size_t found[2] = {0};

	if (environment) {
		named[0] = environment_facts(environment)->pending;
		named[1] = environment_facts(environment)->in_progress;
	}
	while ((deployment = store_next(&cursor))) {
		const struct environment_deployment_facts *facts =
			environment_deployment_facts(deployment);
		bool runs = facts->status != ENVIRONMENT_DEPLOYMENT_pending;

		found[runs]++;
		if (!span_equal(facts->id, named[runs]))
			test_wrong(bench, "%.*s is %s, and its environment says nothing of it",
				SPAN_ARGS(facts->id),
				environment_deployment_status_name(facts->status));
	}
	for (size_t i = 0; i < LENGTH(named); i++)
		if (found[i] != (named[i].length > 0))
			test_wrong(bench, "the environment names '%.*s', and %zu are %s",
				SPAN_ARGS(named[i]), found[i], i ? "in progress" : "pending");
}

/* At most one task that shall run on an instance. */
static inline void test_judge_tasks(struct test_hosts *bench, const struct store_view *view)
{
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_CLUSTER};
	const struct store_object *task;
	_map_ struct map found = {0};

	while ((task = store_next(&cursor))) {
		const struct task_facts *facts = task_facts(task);

		if (facts->last == TASK_STOPPED)
			continue;
		if (map_get(&found, facts->instance))
			test_wrong(bench, "%.*s has two tasks", SPAN_ARGS(facts->instance));
		map_put(&found, facts->instance, (void *)task);
	}
}

static inline void test_pause_hosts(struct test_hosts *bench)
{
	for (size_t i = 0; i < TEST_HOSTS_MAX; i++)
		if (bench->hosts[i].runner)
			runner_simulated_pause(bench->hosts[i].runner, 1);
}

/* Behind each commit, before anybody else runs. */
static inline void test_pass(void *context)
{
	struct test_hosts *bench = context;
	struct store_change changes[16];
	_view_ struct store_view *view = NULL;
	int count;

	while ((count = store_feed_next(bench->feed, changes, LENGTH(changes))) > 0) {
		for (int i = 0; i < count; i++) {
			if (changes[i].kind == &environment_deployment_kind)
				test_judge_deployment(bench, &changes[i]);
			else if (changes[i].kind == &task_kind)
				test_count_start(bench, &changes[i]);
			else if (changes[i].kind == &claim_kind)
				test_note_claim(bench, &changes[i]);
			if (bench->changed)
				bench->changed(bench->changed_context, &changes[i]);
			store_change_release(&changes[i]);
		}
	}
	if (count < 0)
		test_wrong(bench, "the feed was faster than the test");
	view = store_view_open(bench->server->store);
	test_judge_environment(bench, view);
	test_judge_tasks(bench, view);
	bench->last_step = runner_simulated_steps(bench->runner);
	if (++bench->commits != bench->wake_at)
		return;
	test_pause_hosts(bench);
	runner_signal(bench->woken);
}

static inline int test_before_commit(void *context)
{
	struct test_hosts *bench = context;
	const char *running = runner_simulated_running(bench->runner);

	if (!bench->fails || !running[0] ||
		strncmp(running, bench->fails, strlen(bench->fails)) != 0)
		return 0; /* requests of clients are never refused */
	bench->failed++;
	return -EIO;
}

/* ---- hosts ---- */

static inline struct test_host *test_host_start(struct test_hosts *bench, size_t number,
	const char *name)
{
	struct test_host *host = &bench->hosts[number];
	struct claims_config claims = {.store = bench->server->store, .server = name};
	struct manager_config manager = {
		.store = bench->server->store, .dispatcher = bench->server->dispatcher};
	struct err err = {0};

	host->name = name;
	host->runner = runner_group_new(bench->runner, name);
	runner_simulated_shift_clocks(host->runner, host->shift_us, host->shift_us / 1000);
	if (host->pace > 0)
		runner_simulated_set_pace(host->runner, host->pace);
	claims.runner = manager.runner = host->runner;
	if (claims_start(&claims, &host->claims, &err) < 0)
		fail_msg("%s", err.message);
	manager.claims = host->claims;
	if (manager_start(&manager, &host->manager, &err) < 0)
		fail_msg("%s", err.message);
	return host;
}

/* The host that clients call. */
static inline void test_talk_to(struct test_hosts *bench, const struct test_host *host)
{
	bench->context = (struct daemon_context){.count = manager_count,
		.find_trouble = manager_find_trouble,
		.count_context = host->manager,
		.state = manager_state(host->manager)};
}

/* As a crash: the lease is not given up. */
static inline void test_host_kill(struct test_hosts *bench, struct test_host *host)
{
	if (!host->runner)
		return;
	if (bench->context.count_context == host->manager)
		bench->context = (struct daemon_context){0};
	runner_stop(host->runner);
	manager_stop(TAKE(host->manager));
	claims_stop(TAKE(host->claims));
	runner_join(host->runner, NULL);
	runner_free(TAKE(host->runner));
}

/* With one host, "one". */
static inline struct test_hosts *test_hosts_new(uint64_t seed)
{
	struct test_hosts *bench = memory_allocate(sizeof(*bench));
	const struct store_kind *kinds[16];
	struct test_server_options options = {.kinds = kinds, .faults = &bench->faults};

	bench->runner = runner_simulated_new(seed);
	bench->faults =
		(struct store_faults){.before_commit = test_before_commit, .context = bench};
	for (size_t i = 0; i < daemon_kind_count; i++)
		kinds[options.kind_count++] = daemon_kinds[i];
	kinds[options.kind_count++] = &server_kind;
	kinds[options.kind_count++] = &claim_kind;
	options.clock = runner_clock(bench->runner);
	bench->server = test_server_new_of(&options);
	bench->woken = runner_event_new(bench->runner, "a commit");
	bench->service = (struct aws_service){.name = "slipway",
		.shapes = &shape_slipway,
		.operations = daemon_operations,
		.operation_count = daemon_operation_count,
		.invalid_input = "InvalidParameterException"};
	aws_dispatcher_register(bench->server->dispatcher, &bench->service, &bench->context);
	assert_int_equal(store_feed_open(bench->server->store, 0, test_pass, bench, &bench->feed,
				 NULL),
		0);
	test_talk_to(bench, test_host_start(bench, 0, "one"));
	return bench;
}

static inline void test_hosts_free(struct test_hosts *bench)
{
	for (size_t i = 0; i < TEST_HOSTS_MAX; i++)
		test_host_kill(bench, &bench->hosts[i]);
	store_feed_close(bench->feed);
	store_object_unref(bench->claim);
	map_clear(&bench->deployments);
	map_clear(&bench->starts_on);
	runner_event_free(bench->woken);
	test_server_free(bench->server);
	runner_free(bench->runner);
	free(bench);
}

/* ---- actions of tests ---- */

/* From now on; wakes after so many commits, 0: never. */
static inline void test_hosts_count(struct test_hosts *bench, uint64_t wake_at)
{
	bench->commits = 0;
	bench->wake_at = wake_at;
	bench->step = 0;
}

/* The same, after so many steps of whomever. */
static inline void test_hosts_count_steps(struct test_hosts *bench, uint64_t steps)
{
	test_hosts_count(bench, 0);
	bench->step = runner_simulated_steps(bench->runner) + steps;
	runner_simulated_break_at(bench->runner, bench->step);
}

static inline bool test_is_woken(const struct test_hosts *bench)
{
	return (bench->wake_at > 0 && bench->commits >= bench->wake_at) ||
	       (bench->step > 0 && runner_simulated_steps(bench->runner) >= bench->step);
}

/* So much time, or until it is woken. */
static inline void test_hosts_pass(struct test_hosts *bench, int64_t duration_us)
{
	if (test_is_woken(bench))
		return;
	runner_wait(bench->runner, bench->woken, runner_event_count(bench->woken),
		runner_deadline_us(bench->runner, duration_us));
	test_hear(bench);
}

/* A call whose answer may be a refusal. */
__attribute__((format(printf, 3, 4))) static inline const struct json *
test_hosts_try(struct test_hosts *bench, const char *operation, const char *format, ...)
{
	_arena_ struct arena *arena = arena_new(0);
	va_list list;

	va_start(list, format);
	test_send_to(bench->server, &bench->service, operation, test_body(arena, format, list));
	va_end(list);
	test_hear(bench);
	return bench->server->answer;
}

/* A call that must work. */
#define test_hosts_ask(bench, operation, ...)                                                      \
	do {                                                                                       \
		test_hosts_try(bench, operation, __VA_ARGS__);                                     \
		if ((bench)->server->error_type[0])                                                \
			fail_msg("%s: %s: %.*s", operation, (bench)->server->error_type,           \
				SPAN_ARGS(test_message((bench)->server)));                         \
	} while (0)

/* A cluster with so many instances, and log:1 to log:3. */
static inline void test_hosts_furnish(struct test_hosts *bench, int instances)
{
	char id[TEST_ID_SIZE];

	test_call(bench->server, "CreateCluster", "{'clusterName':'default'}");
	for (int i = 0; i < instances; i++)
		test_instance(bench->server, "default", 4096, 4096, "", id);
	for (int i = 0; i < 3; i++)
		test_call(bench->server, "RegisterTaskDefinition",
			"{'family':'log','containerDefinitions':[{'name':'a','image':'a',"
			"'memory':16}]}");
}

/* A version with log:REVISION; the first one makes the environment. */
static inline void test_hosts_declare(struct test_hosts *bench, int revision, char version[64])
{
	test_hosts_ask(bench, revision == 1 ? "CreateEnvironment" : "UpdateEnvironment",
		"{'name':'log','taskDefinition':'log:%d','instanceGroup':{'cluster':'default'},"
		"'deploymentConfiguration':{'minHealthyPercent':50,'warmUpSeconds':%d}}",
		revision, bench->warm_up_s);
	snprintf(version, 64, "%s", test_text(bench->server, "environmentVersion"));
}

static inline void test_hosts_start(struct test_hosts *bench, const char *version, char id[64])
{
	test_hosts_ask(bench, "StartDeployment", "{'name':'log','environmentVersion':'%s'}",
		version);
	snprintf(id, 64, "%s", test_text(bench->server, "deploymentId"));
}

/* The status of a deployment; "" when it is gone. */
static inline const char *test_hosts_status(struct test_hosts *bench, const char *id)
{
	test_hosts_try(bench, "GetDeployment", "{'name':'log','deploymentId':'%s'}", id);
	return test_text(bench->server, "status");
}

/* One task that starts runs, or one that shall stop stops. False: there is none. */
static inline bool test_hosts_move_one(struct test_hosts *bench)
{
	_view_ struct store_view *view = store_view_open(bench->server->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_CLUSTER};
	const struct store_object *task;

	while ((task = store_next(&cursor))) {
		const struct task_facts *facts = task_facts(task);
		bool wanted = facts->desired == TASK_RUNNING;
		const char *status = facts->last == TASK_PENDING && wanted    ? "RUNNING"
				     : facts->last != TASK_STOPPED && !wanted ? "STOPPED"
									      : NULL;

		if (!status)
			continue;
		test_call(bench->server, "SubmitTaskStateChange",
			"{'cluster':'default','task':'%.*s','status':'%s'}",
			(int)(task->key.length - TEST_CLUSTER.length),
			task->key.data + TEST_CLUSTER.length, status);
		return true;
	}
	return false;
}

/* The machines start and stop tasks, for so long or until the test is woken. */
static inline void test_hosts_run(struct test_hosts *bench, int64_t duration_us)
{
	int64_t until_us = runner_deadline_us(bench->runner, duration_us);

	while (!test_is_woken(bench) && runner_now_us(bench->runner) < until_us) {
		while (!test_is_woken(bench) && test_hosts_move_one(bench))
			;
		test_hosts_pass(bench, SECOND_US / 4);
	}
}

/* All deployments that there ever were have ended, once; how many. */
static inline size_t test_hosts_ended(const struct test_hosts *bench)
{
	MAP_EACH (&bench->deployments, entry)
		if ((uintptr_t)entry->value != TEST_OPEN + 1)
			fail_msg("%.*s has ended %zu times", SPAN_ARGS(entry->key),
				(size_t)(uintptr_t)entry->value - TEST_OPEN);
	return bench->deployments.count;
}

/* Tasks that shall run, and do, of log:REVISION (0: any). No instance has two. */
static inline size_t test_hosts_running(struct test_hosts *bench, int revision)
{
	_view_ struct store_view *view = store_view_open(bench->server->store);
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = -1, .prefix = TEST_CLUSTER};
	const struct store_object *task;
	size_t count = 0;

	while ((task = store_next(&cursor)))
		count += task_facts(task)->desired == TASK_RUNNING &&
			 task_facts(task)->last == TASK_RUNNING &&
			 (revision == 0 || task_facts(task)->revision == revision);
	return count;
}

/* How often a task of log:REVISION was ever made on the instance that has most. */
static inline uintptr_t test_hosts_most_starts(const struct test_hosts *bench, int revision)
{
	uintptr_t most = 0;

	MAP_EACH (&bench->starts_on, entry) {
		struct span instance, number;

		if (span_split(entry->key, ':', &instance, &number) &&
			strtol(number.data, NULL, 10) == revision && (uintptr_t)entry->value > most)
			most = (uintptr_t)entry->value;
	}
	return most;
}

#endif
