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
#define SLEEPY_ONE_IN 8
#define DOZE_MOST_US RUNNER_YIELD_MOST_US
#define PAUSE_MOST_US (25 * REHEARSAL_SECOND_US) /* longer than a lease */
#define BOOTS_WITHIN_US REHEARSAL_SECOND_US
#define CLOCK_JUMPS_MS INT64_C(7200000) /* forward or back, at most */

/* ---- the store and its faults ---- */

static bool is_up(const struct rehearsal_server *server)
{
	return server->manager && !runner_is_stopped(server->runner);
}

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
	if (duration_us > MANAGER_CALL_US &&
		server->slept_till_us < runner_now_us(rehearsal->root) + duration_us)
		server->slept_till_us = runner_now_us(rehearsal->root) + duration_us;
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

/* A moment later, for longer than its lease. */
static void doze(void *context)
{
	struct rehearsal_server *server = context;
	struct rehearsal *rehearsal = server->rehearsal;
	unsigned boots = server->boots;

	if (runner_sleep_until(rehearsal->root,
		    runner_deadline_us(rehearsal->root,
			    (int64_t)rehearsal_draw(rehearsal, DOZE_MOST_US))) == 0 &&
		server->boots == boots && is_up(server) && rehearsal->faulty)
		pause_for(rehearsal, server, PAUSE_MOST_US);
}

/* The one that has just written down what it does next dozes off before it has done it. */
static void let_doze(struct rehearsal *rehearsal)
{
	const char *writer = runner_simulated_current(rehearsal->root);

	for (size_t i = 0; i < rehearsal->server_count; i++) {
		struct rehearsal_server *server = &rehearsal->servers[i];
		const char *name = server->runner ? runner_name(server->runner) : "";

		if (name[0] && strncmp(writer, name, strlen(name)) == 0)
			runner_spawn(rehearsal->root, "doze", doze, server, NULL);
	}
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
	else if (rehearsal->sleepy && rehearsal_one_in(rehearsal, SLEEPY_ONE_IN))
		let_doze(rehearsal);
	if (!rehearsal->path ||
		!rehearsal_one_in(rehearsal, STOP_STORE_ONE_IN * rehearsal->rarity)) {
		rehearsal_note_commit(rehearsal, false);
		return 0;
	}
	rehearsal_note_commit(rehearsal, rehearsal_one_in(rehearsal, 2));
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
		.bug_no_fence = bug == DAEMON_BUG_OVERLAP || bug == DAEMON_BUG_NO_FENCE,
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
	if (rehearsal->faulty) {
		int64_t ahead_ms = (int64_t)rehearsal_draw(rehearsal, REHEARSAL_CLOCKS_DIFFER_MS);

		runner_simulated_shift_clocks(server->runner,
			(int64_t)rehearsal_draw(rehearsal, 1000 * REHEARSAL_SECOND_US), ahead_ms);
	}
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
		map_clear(&server->tasks);
		server->looks = 0;
		server->slept_till_us = 0;
		runner_free(TAKE(server->runner));
	}
	server->boot_at_us = runner_now_us(rehearsal->root);
	if (rehearsal->faulty) {
		int64_t times = (int64_t)rehearsal_draw(rehearsal, 3);

		server->boot_at_us +=
			times * (int64_t)rehearsal_draw(rehearsal, 10 * REHEARSAL_SECOND_US);
	}
}

struct rehearsal_server *rehearsal_some_server(struct rehearsal *rehearsal)
{
	struct rehearsal_server *server =
		&rehearsal->servers[rehearsal_draw(rehearsal, rehearsal->server_count)];

	return server->manager && !runner_is_stopped(server->runner) ? server : NULL;
}

/* ---- tending them ---- */

void rehearsal_tend_servers(struct rehearsal *rehearsal)
{
	if (!rehearsal->store_stopped)
		rehearsal_check_owners(rehearsal);
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
	int code = 0;

	rehearsal->result.restarts++;
	runner_trace(rehearsal->root, "everything restarts");
	for (size_t i = 0; i < rehearsal->server_count; i++)
		rehearsal_take_down(rehearsal, &rehearsal->servers[i]);
	if (rehearsal->tears)
		code = rehearsal_close_torn(rehearsal, err);
	else
		rehearsal_close_store(rehearsal);
	rehearsal->tears = false;
	rehearsal->log_size = 0;
	if (code < 0)
		return code;
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
	int64_t most_ms =
		rehearsal_one_in(rehearsal, 2) ? CLOCK_JUMPS_MS : REHEARSAL_CLOCKS_DIFFER_MS;
	int64_t shift_ms = (int64_t)rehearsal_draw(rehearsal, 2 * (uint64_t)most_ms) - most_ms;

	/* Who boots has to believe those who say since when a task runs. */
	if (shift_ms > REHEARSAL_CLOCKS_DIFFER_MS &&
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
