/* The store and its faults; servers that boot, crash and are paused. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "aws/targets.h"
#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "control/runner_simulated.h"
#include "daemon/simulation/rehearsal.h"
#include "ecs/ecs.h"
#include "ecs/service_controller.h"
#include "ecs/task_retention.h"
#include "elb/elb.h"

#define KINDS_MAX 64
/* Small enough that a paused server loses its place. */
#define FEED_BYTES (64 * 1024)
/* One commit in so many fails, or is the last thing that a server sees. */
#define FAIL_COMMIT_ONE_IN 60
#define CRASH_AT_COMMIT_ONE_IN 200
#define STOP_STORE_ONE_IN 400
#define PAUSE_AT_COMMIT_ONE_IN 400
#define PAUSE_MOST_US (25 * REHEARSAL_SECOND_US) /* longer than a lease */
#define CLOCKS_DIFFER_MS 2000
#define MISTAKEN_US (5 * REHEARSAL_SECOND_US)
#define BOOTS_WITHIN_US REHEARSAL_SECOND_US
#define CLOCK_JUMPS_MS INT64_C(7200000) /* forward or back, at most */
/* Who waits for the end of a lease adds a margin, and looks now and then. Who could not write down that it has ended
 * waits once more. */
#define LEASE_ENDS_US (REHEARSAL_LEASE_US + REHEARSAL_LEASE_US / 10)
#define TAKEN_WITHIN_US (4 * REHEARSAL_SECOND_US)

/* ---- the store and its faults ---- */

static void stop_some_server(struct rehearsal *rehearsal)
{
	struct rehearsal_server *server = rehearsal_some_server(rehearsal);

	if (!server)
		return;
	runner_trace(rehearsal->root, "%s crashes at a commit", runner_name(server->runner));
	rehearsal->result.crashes++;
	runner_stop(server->runner);
}

static void pause_for(struct rehearsal *rehearsal, struct rehearsal_server *server,
	int64_t duration_us)
{
	runner_trace(rehearsal->root, "%s is paused for %.3f s", runner_name(server->runner),
		(double)duration_us / (double)REHEARSAL_SECOND_US);
	rehearsal->result.pauses++;
	if (server->awake_us < runner_now_us(rehearsal->root) + duration_us)
		server->awake_us = runner_now_us(rehearsal->root) + duration_us;
	daemon_checker_paused(rehearsal->checker, duration_us);
	/* A call that was checked before arrives elsewhere behind the end of the lease that it was checked for. Here
	 * it does not pass the fence. */
	if (rehearsal->far && duration_us > MANAGER_CALL_US)
		daemon_checker_late(rehearsal->checker, duration_us + REHEARSAL_SECOND_US);
	runner_simulated_pause(server->runner, duration_us);
}

static void pause_server(struct rehearsal *rehearsal, struct rehearsal_server *server)
{
	pause_for(rehearsal, server, 1 + (int64_t)rehearsal_draw(rehearsal, PAUSE_MOST_US));
}

/* In the middle of what it does. */
static void pause_some_server(struct rehearsal *rehearsal)
{
	struct rehearsal_server *server = rehearsal_some_server(rehearsal);

	if (server)
		pause_server(rehearsal, server);
}

bool rehearsal_is_the_end(struct rehearsal *rehearsal, bool after)
{
	if (!rehearsal->counting)
		return false;
	rehearsal->points += !after;
	if (rehearsal->stop_after != after || rehearsal->points != rehearsal->stop_at)
		return false;
	rehearsal->counting = false;
	rehearsal->store_stopped = true;
	return true;
}

static int before_commit(void *context)
{
	struct rehearsal *rehearsal = context;

	if (rehearsal_is_the_end(rehearsal, false))
		return -EIO;
	if (!rehearsal->faulty)
		return 0;
	if (rehearsal_one_in(rehearsal, CRASH_AT_COMMIT_ONE_IN * rehearsal->rarity))
		stop_some_server(rehearsal);
	else if (!rehearsal_one_in(rehearsal, FAIL_COMMIT_ONE_IN))
		return 0;
	rehearsal->result.failed_commits++;
	return -EIO;
}

static int after_commit(void *context)
{
	struct rehearsal *rehearsal = context;

	if (rehearsal_is_the_end(rehearsal, true))
		return -ECANCELED;
	if (!rehearsal->faulty)
		return 0;
	if (rehearsal_one_in(rehearsal, CRASH_AT_COMMIT_ONE_IN * rehearsal->rarity))
		stop_some_server(rehearsal);
	else if (rehearsal_one_in(rehearsal, PAUSE_AT_COMMIT_ONE_IN * rehearsal->rarity))
		pause_some_server(rehearsal);
	if (!rehearsal->path || !rehearsal_one_in(rehearsal, STOP_STORE_ONE_IN * rehearsal->rarity))
		return 0;
	runner_trace(rehearsal->root, "everything stops at a commit");
	rehearsal->store_stopped = true;
	return -ECANCELED;
}

static size_t collect_kinds(const struct store_kind *kinds[KINDS_MAX])
{
	const struct {
		const struct store_kind *const *kinds;
		size_t count;
	} tables[] = {
		{ecs_kinds, ecs_kind_count},
		{cloudmap_kinds, cloudmap_kind_count},
		{elb_kinds, elb_kind_count},
		{daemon_kinds, daemon_kind_count},
	};
	size_t count = 0;

	for (size_t i = 0; i < LENGTH(tables); i++)
		for (size_t j = 0; j < tables[i].count; j++)
			kinds[count++] = tables[i].kinds[j];
	kinds[count++] = &server_kind;
	kinds[count++] = &claim_kind;
	return count;
}

static struct aws_dispatcher *make_dispatcher(struct rehearsal *rehearsal, struct store *store,
	struct runner *runner)
{
	struct aws_dispatch_config config = {
		.store = store, .clock = runner_clock(runner), .random = rehearsal->random};
	struct aws_dispatcher *dispatcher = aws_dispatcher_new(&config);

	aws_dispatcher_register(dispatcher, &ecs_service, NULL);
	return dispatcher;
}

int rehearsal_open_store(struct rehearsal *rehearsal, struct err *err)
{
	_free_ char *url = rehearsal->path ? memory_format("sqlite:%s", rehearsal->path) : NULL;
	const struct store_kind *kinds[KINDS_MAX];
	struct store_config config = {
		.url = url ? url : "memory:",
		.key_path = rehearsal->key_path,
		.kinds = kinds,
		.kind_count = collect_kinds(kinds),
		.clock = runner_clock(rehearsal->root),
		.feed_bytes =
			rehearsal->crowd * (FEED_BYTES + (size_t)rehearsal->instances_max * 4096),
		.inline_writes = true,
		.faults = &rehearsal->faults,
	};
	int code;

	rehearsal->store_stopped = false;
	code = store_open(&config, &rehearsal->store, err);
	if (code < 0)
		return code;
	rehearsal->operators = make_dispatcher(rehearsal, rehearsal->store, rehearsal->root);
	code = daemon_checker_follow(rehearsal->checker, rehearsal->store, err);
	if (code == 0 && rehearsal->far_store)
		code = daemon_checker_follow(rehearsal->checker, rehearsal->far_store, err);
	return code;
}

int rehearsal_open_far(struct rehearsal *rehearsal, struct err *err)
{
	const struct store_kind *kinds[KINDS_MAX];
	struct store_config config = {.url = "memory:",
		.kinds = kinds,
		.kind_count = collect_kinds(kinds),
		.clock = runner_clock(rehearsal->root),
		.inline_writes = true};
	int code = store_open(&config, &rehearsal->far_store, err);

	if (code < 0)
		return code;
	rehearsal->far_operators =
		make_dispatcher(rehearsal, rehearsal->far_store, rehearsal->root);
	return rehearsal_follow_far(rehearsal, err);
}

void rehearsal_close_far(struct rehearsal *rehearsal)
{
	rehearsal_unfollow_far(rehearsal);
	aws_dispatcher_free(TAKE(rehearsal->far_operators));
	store_close(TAKE(rehearsal->far_store));
}

void rehearsal_close_store(struct rehearsal *rehearsal)
{
	daemon_checker_unfollow(rehearsal->checker);
	aws_dispatcher_free(TAKE(rehearsal->operators));
	store_close(TAKE(rehearsal->store));
}

void rehearsal_remove_files(struct rehearsal *rehearsal)
{
	static const char *const endings[] = {"", "-wal", "-shm", "-journal"};

	if (!rehearsal->path)
		return;
	for (size_t i = 0; i < LENGTH(endings); i++) {
		_free_ char *path = memory_format("%s%s", rehearsal->path, endings[i]);

		unlink(path);
	}
	unlink(rehearsal->key_path);
}

void rehearsal_use_file(struct rehearsal *rehearsal, const char *folder, uint64_t number)
{
	rehearsal->path = memory_format("%s/daemon-%" PRIu64 ".db", folder, number);
	rehearsal->key_path = memory_format("%s/daemon-%" PRIu64 ".key", folder, number);
	rehearsal_remove_files(rehearsal);
}

void rehearsal_set_up_servers(struct rehearsal *rehearsal)
{
	static const char *const names[REHEARSAL_SERVERS] = {"anna", "bert"};

	rehearsal->faults = (struct store_faults){before_commit, after_commit, rehearsal};
	rehearsal->service = (struct aws_service){.name = "slipway",
		.shapes = &shape_slipway,
		.operations = daemon_operations,
		.operation_count = daemon_operation_count,
		.invalid_input = "InvalidParameterException"};
	for (size_t i = 0; i < REHEARSAL_SERVERS; i++) {
		rehearsal->servers[i].rehearsal = rehearsal;
		rehearsal->servers[i].name = names[i];
	}
}

/* ---- servers ---- */

struct task_retention_limits rehearsal_retention = {
	.age_ms = REHEARSAL_RETENTION_MS, .count = TASK_RETENTION_COUNT};

static void report(void *context, const char *controller, struct span key, const struct err *err)
{
	struct rehearsal_server *server = context;

	runner_trace(server->runner, "%s: %.*s: %s", controller, SPAN_ARGS(key), err->message);
}

static void report_claims(void *context, const char *message)
{
	struct rehearsal_server *server = context;

	runner_trace(server->runner, "%s", message);
}

static struct aws_target *make_target(void *context)
{
	struct rehearsal_server *server = context;

	return rehearsal_far_target(server->rehearsal, server->runner);
}

static int boot(struct rehearsal_server *server, struct err *err)
{
	struct rehearsal *rehearsal = server->rehearsal;
	enum daemon_bug bug = rehearsal->config->bug;
	struct claims_config claims = {.store = rehearsal->store,
		.server = server->name,
		.lease_us = REHEARSAL_LEASE_US,
		.report = report_claims,
		.report_context = server,
		.bug_no_fence = bug == DAEMON_BUG_OVERLAP,
		.bug_no_check = bug == DAEMON_BUG_OVERLAP,
		.bug_hasty_death = bug == DAEMON_BUG_OVERLAP};
	struct manager_config manager = {
		.store = rehearsal->store, .report = report, .report_context = server, .bug = bug};
	struct controller_config ecs = {
		.store = rehearsal->store, .report = report, .report_context = server};
	struct controller_config retention = ecs;
	char name[32];
	int code;

	snprintf(name, sizeof(name), "%s.%u", server->name, ++server->boots);
	server->runner = runner_group_new(rehearsal->root, name);
	if (rehearsal->faulty)
		runner_simulated_shift_clocks(server->runner,
			(int64_t)rehearsal_draw(rehearsal, 1000 * REHEARSAL_SECOND_US),
			(int64_t)rehearsal_draw(rehearsal, CLOCKS_DIFFER_MS));
	claims.runner = manager.runner = ecs.runner = retention.runner = server->runner;
	retention.context = &rehearsal_retention;
	runner_trace(server->runner, "boots");
	server->awake_us = runner_now_us(rehearsal->root);
	code = claims_start(&claims, &server->claims, err);
	if (code < 0)
		return code;
	server->dispatcher = make_dispatcher(rehearsal, rehearsal->store, server->runner);
	server->context = (struct daemon_context){.bug = bug};
	aws_dispatcher_register(server->dispatcher, &rehearsal->service, &server->context);
	if (rehearsal->far_store)
		server->targets = aws_targets_made(&rehearsal_far_settings, 1, make_target, server);
	server->context.targets = manager.targets = server->targets;
	manager.claims = server->claims;
	manager.dispatcher = server->dispatcher;
	code = manager_start(&manager, &server->manager, err);
	if (code == 0)
		code = controller_start(&task_retention_row, &retention, &server->retention, err);
	if (code == 0 && rehearsal->has_services)
		code = controller_start(&service_controller_row, &ecs, &server->services, err);
	if (code < 0)
		return code;
	server->context.count = manager_count;
	server->context.count_context = server->manager;
	server->context.state = manager_state(server->manager);
	return 0;
}

void rehearsal_take_down(struct rehearsal *rehearsal, struct rehearsal_server *server)
{
	if (server->runner) {
		runner_stop(server->runner);
		manager_stop(TAKE(server->manager));
		controller_stop(TAKE(server->services));
		controller_stop(TAKE(server->retention));
		claims_stop(TAKE(server->claims));
		runner_join(server->runner, NULL);
		aws_targets_free(TAKE(server->targets));
		aws_dispatcher_free(TAKE(server->dispatcher));
		map_clear(&server->versions);
		map_clear(&server->instances);
		runner_free(TAKE(server->runner));
	}
	server->boot_at_us = runner_now_us(rehearsal->root);
	if (rehearsal->faulty)
		server->boot_at_us += (int64_t)rehearsal_draw(rehearsal, 3) *
				      (int64_t)rehearsal_draw(rehearsal, 10 * REHEARSAL_SECOND_US);
}

struct rehearsal_server *rehearsal_some_server(struct rehearsal *rehearsal)
{
	struct rehearsal_server *server =
		&rehearsal->servers[rehearsal_draw(rehearsal, rehearsal->server_count)];

	return server->manager && !runner_is_stopped(server->runner) ? server : NULL;
}

/* ---- whose environments are ---- */

static bool is_up(const struct rehearsal_server *server)
{
	return server->manager && !runner_is_stopped(server->runner);
}

/* Since when somebody who is up has been able to look after things. */
static int64_t since_somebody_is_awake(const struct rehearsal *rehearsal)
{
	int64_t since_us = RUNNER_FOREVER;

	for (size_t i = 0; i < rehearsal->server_count; i++)
		if (is_up(&rehearsal->servers[i]) && rehearsal->servers[i].awake_us < since_us)
			since_us = rehearsal->servers[i].awake_us;
	return since_us;
}

/* By the server that has it now, as it is now. */
static bool is_owned(const struct rehearsal *rehearsal, const struct store_view *view,
	const struct claim_facts *claim)
{
	const struct store_object *record =
		claim->server.length > 0 ? store_get(view, &server_kind, claim->server) : NULL;

	if (!record || !span_equal(((const struct server_facts *)record->facts)->incarnation,
			       claim->incarnation))
		return false;
	for (size_t i = 0; i < rehearsal->server_count; i++)
		if (span_is(claim->server, rehearsal->servers[i].name))
			return is_up(&rehearsal->servers[i]);
	return false;
}

/* One claim whose environment is there. */
static void check_takeover(struct rehearsal *rehearsal, const struct store_view *view,
	const struct store_object *claim)
{
	int64_t now_us = runner_now_us(rehearsal->root);
	int64_t awake_us = since_somebody_is_awake(rehearsal);
	struct rehearsal_orphan *orphan = map_get(&rehearsal->orphans, claim->key);
	unsigned failed = rehearsal->result.failed_commits;
	int64_t since_us;

	if (!orphan) {
		orphan = memory_allocate(sizeof(*orphan));
		map_put(&rehearsal->orphans, claim->key, orphan);
	}
	/* By another server, or by the same one when it came back. */
	if (orphan->since_us > 0 && orphan->epoch != claim->revision) {
		daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_L5);
		orphan->since_us = 0;
	}
	orphan->epoch = claim->revision;
	if (is_owned(rehearsal, view, claim->facts)) {
		orphan->since_us = 0;
		return;
	}
	if (orphan->since_us == 0) {
		orphan->since_us = now_us;
		orphan->failed = failed;
	}
	since_us = orphan->since_us > awake_us ? orphan->since_us : awake_us;
	if (now_us - since_us > (1 + failed - orphan->failed) * LEASE_ENDS_US + TAKEN_WITHIN_US)
		daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_L5,
			"the owner of '%.*s' is dead for %.1f s, and nobody has taken it",
			SPAN_ARGS(claim->key),
			(double)(now_us - orphan->since_us) / (double)REHEARSAL_SECOND_US);
}

/* What belonged to a server that is dead is taken over when its lease has ended, if somebody is there to do it. */
static void check_takeovers(struct rehearsal *rehearsal)
{
	_view_ struct store_view *view = store_view_open(rehearsal->store);
	struct store_cursor cursor = {.view = view,
		.kind = &claim_kind,
		.index = -1,
		.prefix = SPAN(MANAGER_CLAIM_PREFIX)};
	const struct store_object *claim;

	while ((claim = store_next(&cursor))) {
		struct span environment = {claim->key.data + cursor.prefix.length,
			claim->key.length - cursor.prefix.length};

		if (store_get(view, &environment_kind, environment))
			check_takeover(rehearsal, view, claim);
		else
			free(map_remove(&rehearsal->orphans, claim->key));
	}
}

void rehearsal_tend_servers(struct rehearsal *rehearsal)
{
	if (!rehearsal->store_stopped)
		check_takeovers(rehearsal);
	for (size_t i = 0; i < rehearsal->server_count; i++) {
		struct rehearsal_server *server = &rehearsal->servers[i];
		struct err err = {0};

		if (server->runner && runner_is_stopped(server->runner))
			rehearsal_take_down(rehearsal, server);
		if (!server->runner && server->boot_at_us <= runner_now_us(rehearsal->root) &&
			!rehearsal->store_stopped && boot(server, &err) < 0) {
			runner_trace(rehearsal->root, "%s does not boot: %s", server->name,
				err.message);
			rehearsal_take_down(rehearsal, server);
		}
	}
}

int rehearsal_restart(struct rehearsal *rehearsal, struct err *err)
{
	int code;

	rehearsal->result.restarts++;
	runner_trace(rehearsal->root, "everything restarts");
	for (size_t i = 0; i < rehearsal->server_count; i++)
		rehearsal_take_down(rehearsal, &rehearsal->servers[i]);
	rehearsal_close_store(rehearsal);
	code = rehearsal_open_store(rehearsal, err);
	if (code == 0)
		rehearsal_check_acknowledged(rehearsal);
	return code;
}

/* ---- what fate does to them ---- */

static void stop_in_order(struct rehearsal *rehearsal, struct rehearsal_server *server)
{
	runner_trace(rehearsal->root, "%s stops", runner_name(server->runner));
	server->context = (struct daemon_context){0};
	manager_stop(TAKE(server->manager));
	claims_resign(server->claims, NULL);
	rehearsal_take_down(rehearsal, server);
}

/* One server gives everything up while the other one sleeps, which then takes over what it has not seen for a while. */
static void hand_over(struct rehearsal *rehearsal, struct rehearsal_server *from)
{
	struct rehearsal_server *to = &rehearsal->servers[from == rehearsal->servers ? 1 : 0];
	int64_t half_us =
		REHEARSAL_SECOND_US + (int64_t)rehearsal_draw(rehearsal, 4 * REHEARSAL_SECOND_US);

	if (rehearsal->server_count < 2 || !to->manager || runner_is_stopped(to->runner))
		return;
	pause_for(rehearsal, to, 2 * half_us);
	runner_sleep_until(rehearsal->root, runner_deadline_us(rehearsal->root, half_us));
	if (runner_is_stopped(from->runner) || rehearsal->store_stopped)
		return;
	stop_in_order(rehearsal, from);
	from->boot_at_us = runner_now_us(rehearsal->root) + 2 * half_us;
}

/* Its clock is set while it runs: a little, or by hours. The next boot sets it right again. */
static void set_clock(struct rehearsal *rehearsal, struct rehearsal_server *server)
{
	int64_t most_ms = rehearsal_one_in(rehearsal, 2) ? CLOCK_JUMPS_MS : CLOCKS_DIFFER_MS;
	int64_t shift_ms = (int64_t)rehearsal_draw(rehearsal, 2 * (uint64_t)most_ms) - most_ms;

	/* Who boots has to believe those who say since when a task runs. */
	if (shift_ms > CLOCKS_DIFFER_MS &&
		runner_now_us(rehearsal->root) - server->awake_us < BOOTS_WITHIN_US)
		return;
	runner_trace(rehearsal->root, "the clock of %s is %.3f s off", runner_name(server->runner),
		(double)shift_ms / 1000);
	rehearsal->result.jumps++;
	runner_simulated_set_wall(server->runner, shift_ms);
}

void rehearsal_act_server(struct rehearsal *rehearsal)
{
	struct rehearsal_server *server = rehearsal_some_server(rehearsal);

	if (!server)
		return;
	if (rehearsal_one_in(rehearsal, 4)) {
		set_clock(rehearsal, server);
		return;
	}
	switch (rehearsal_draw(rehearsal, 8)) {
	case 0:
		if (rehearsal->path)
			rehearsal->store_stopped = true; /* tended to at once */
		break;
	case 1:
	case 2:
	case 3:
		runner_trace(rehearsal->root, "%s crashes", runner_name(server->runner));
		rehearsal->result.crashes++;
		rehearsal_take_down(rehearsal, server);
		break;
	case 4: stop_in_order(rehearsal, server); break;
	case 5: hand_over(rehearsal, server); break;
	default: pause_server(rehearsal, server); break;
	}
}

/* ---- what they say ---- */

static void check_counts(struct rehearsal *rehearsal, struct rehearsal_server *server, size_t e)
{
	char key[REHEARSAL_TEXT_MAX];
	struct environment_counts counts;

	manager_count(server->manager, rehearsal_environment_key(rehearsal, e, key), &counts);
	if (counts.total == 0)
		return;
	daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_S18);
	if (counts.active < 0 || counts.launching < 0 || counts.unhealthy < 0 ||
		counts.missing < 0 || counts.completed > counts.active ||
		counts.active + counts.launching + counts.unhealthy + counts.missing !=
			counts.total)
		daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_S18,
			"%s counts %lld active, %lld launching, %lld unhealthy, %lld missing of "
			"%lld",
			key, (long long)counts.active, (long long)counts.launching,
			(long long)counts.unhealthy, (long long)counts.missing,
			(long long)counts.total);
}

static void check_version(struct rehearsal *rehearsal, struct rehearsal_server *server,
	struct span name, uint64_t version)
{
	uint64_t known = (uint64_t)(uintptr_t)map_get(&server->versions, name);

	daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_S13);
	if (version < known)
		daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_S13,
			"%s knew version %llu of %.*s, and now knows %llu", server->name,
			(unsigned long long)known, SPAN_ARGS(name), (unsigned long long)version);
	map_put(&server->versions, name, (void *)(uintptr_t)version);
}

static void note_found(struct rehearsal *rehearsal, struct span place, struct span id,
	struct map *found)
{
	struct span target, scope;
	char key[2 * REHEARSAL_TEXT_MAX];
	struct truth_instance *instance;

	if (!span_split(place, ':', &target, &scope))
		return;
	snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(scope), SPAN_ARGS(id));
	instance = map_get(&daemon_checker_truth(rehearsal->checker)->instances, span_of(key));
	if (instance)
		map_put(found, id, instance);
}

static char is_known, is_gone; /* values of the map */

/* A listing that was answered as things were before finds what a later one has missed: nobody can tell which of the two
 * is the newer one. The next one can. */
static bool may_be_mistaken(const struct rehearsal *rehearsal,
	const struct truth_instance *instance)
{
	int64_t since_us = runner_now_us(rehearsal->root) - MISTAKEN_US;

	for (size_t i = 0; i < REHEARSAL_STALE; i++)
		if (rehearsal->stale[i].text && rehearsal->stale[i].at_us > since_us &&
			strstr(rehearsal->stale[i].text, instance->id))
			return true;
	return false;
}

/* What was seen to be gone, and is, does not come back. */
static void check_back(struct rehearsal *rehearsal, struct rehearsal_server *server,
	const struct map *found)
{
	MAP_EACH (found, entry) {
		const struct truth_instance *instance = entry->value;

		if (map_get(&server->instances, entry->key) == &is_gone && !instance->exists &&
			!may_be_mistaken(rehearsal, instance))
			daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_S13,
				"%s knew that instance %s is gone, and knows it again",
				server->name, instance->id);
		map_put(&server->instances, entry->key, &is_known);
	}
	MAP_EACH (&server->instances, entry)
		if (!map_has(found, entry->key))
			entry->value = &is_gone;
}

static void check_versions(struct rehearsal *rehearsal, struct rehearsal_server *server)
{
	_arena_ struct arena *arena = arena_new(0);
	struct state_service *state = manager_state(server->manager);
	struct span *places, *ids;
	size_t place_count = state_list_places(state, arena, &places);
	_map_ struct map found = {0};

	for (size_t i = 0; i < place_count; i++) {
		size_t count = state_list_instances(state, places[i], arena, &ids);

		for (size_t j = 0; j < count; j++) {
			const struct state_instance *instance =
				state_get_instance(state, places[i], ids[j], arena);

			if (!instance)
				continue;
			check_version(rehearsal, server, ids[j], instance->version);
			note_found(rehearsal, places[i], ids[j], &found);
			for (size_t k = 0; k < instance->task_count; k++)
				check_version(rehearsal, server, instance->tasks[k].arn,
					instance->tasks[k].version);
		}
	}
	check_back(rehearsal, server, &found);
}

void rehearsal_look_at_servers(struct rehearsal *rehearsal)
{
	struct rehearsal_server *server = rehearsal_some_server(rehearsal);

	if (!server)
		return;
	for (size_t i = 0; i < rehearsal->environment_count; i++)
		check_counts(rehearsal, server, i);
	check_versions(rehearsal, server);
}
