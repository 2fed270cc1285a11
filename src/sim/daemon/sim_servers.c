/* The store and its faults; servers that boot, crash and are paused. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "aws/targets.h"
#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "control/runner_simulated.h"
#include "delivery/outcall.h"
#include "ecs/ecs.h"
#include "ecs/service/service_controller.h"
#include "ecs/task/task_retention.h"
#include "elb/elb.h"
#include "environment/api/operations.h"
#include "sim/daemon/sim_world.h"

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
#define PAUSE_MOST_US (25 * SIM_SECOND_US) /* longer than a lease */
#define BOOTS_WITHIN_US SIM_SECOND_US
#define CLOCK_JUMPS_MS INT64_C(7200000) /* forward or back, at most */

/* ---- the store and its faults ---- */

static bool is_up(const struct sim_server *server)
{
	return server->manager && !runner_is_stopped(server->runner);
}

static void stop_some_server(struct sim *sim)
{
	struct sim_server *server = sim_some_server(sim);

	if (!server)
		return;
	runner_trace(sim->root, "%s crashes at a commit", runner_name(server->runner));
	sim->result.crashes++;
	runner_stop(server->runner);
}

static void pause_for(struct sim *sim, struct sim_server *server, int64_t duration_us)
{
	runner_trace(sim->root, "%s is paused for %.3f s", runner_name(server->runner),
		(double)duration_us / (double)SIM_SECOND_US);
	sim->result.pauses++;
	if (server->awake_us < runner_now_us(sim->root) + duration_us)
		server->awake_us = runner_now_us(sim->root) + duration_us;
	daemon_checker_paused(sim->checker, duration_us);
	/* A call that was checked before arrives at a remote ECS after the end of the lease it was checked for. A local one
	 * does not pass the fence. */
	if (duration_us > OUTCALL_LOCAL_US &&
		server->slept_till_us < runner_now_us(sim->root) + duration_us)
		server->slept_till_us = runner_now_us(sim->root) + duration_us;
	runner_simulated_pause(server->runner, duration_us);
}

static void pause_server(struct sim *sim, struct sim_server *server)
{
	pause_for(sim, server, 1 + (int64_t)sim_draw(sim, PAUSE_MOST_US));
}

/* In the middle of what it does. */
static void pause_some_server(struct sim *sim)
{
	struct sim_server *server = sim_some_server(sim);

	if (server)
		pause_server(sim, server);
}

/* A moment later, for longer than its lease. */
static void doze(void *context)
{
	struct sim_server *server = context;
	struct sim *sim = server->sim;
	unsigned boots = server->boots;

	if (runner_sleep_until(sim->root,
		    runner_deadline_us(sim->root, (int64_t)sim_draw(sim, DOZE_MOST_US))) == 0 &&
		server->boots == boots && is_up(server) && sim->faulty)
		pause_for(sim, server, PAUSE_MOST_US);
}

/* A server that has just stored its next step pauses before it has done it. */
static void let_doze(struct sim *sim)
{
	const char *writer = runner_simulated_current(sim->root);

	for (size_t i = 0; i < sim->server_count; i++) {
		struct sim_server *server = &sim->servers[i];
		const char *name = server->runner ? runner_name(server->runner) : "";

		if (name[0] && strncmp(writer, name, strlen(name)) == 0)
			runner_spawn(sim->root, "doze", doze, server, NULL);
	}
}

bool sim_is_the_end(struct sim *sim, bool after)
{
	if (!sim->counting)
		return false;
	sim->points += !after;
	if (sim->stop_after != after || sim->points != sim->stop_at)
		return false;
	sim->counting = false;
	sim->store_stopped = true;
	return true;
}

static int before_commit(void *context)
{
	struct sim *sim = context;

	if (sim_is_the_end(sim, false))
		return -EIO;
	if (!sim->faulty)
		return 0;
	if (sim_one_in(sim, CRASH_AT_COMMIT_ONE_IN * sim->rarity))
		stop_some_server(sim);
	else if (!sim_one_in(sim, FAIL_COMMIT_ONE_IN))
		return 0;
	sim->result.failed_commits++;
	return -EIO;
}

static int after_commit(void *context)
{
	struct sim *sim = context;

	if (sim_is_the_end(sim, true))
		return -ECANCELED;
	if (!sim->faulty)
		return 0;
	if (sim_one_in(sim, CRASH_AT_COMMIT_ONE_IN * sim->rarity))
		stop_some_server(sim);
	else if (sim_one_in(sim, PAUSE_AT_COMMIT_ONE_IN * sim->rarity))
		pause_some_server(sim);
	else if (sim->sleepy && sim_one_in(sim, SLEEPY_ONE_IN))
		let_doze(sim);
	if (!sim->path || !sim_one_in(sim, STOP_STORE_ONE_IN * sim->rarity)) {
		sim_note_commit(sim, false);
		return 0;
	}
	sim_note_commit(sim, sim_one_in(sim, 2));
	runner_trace(sim->root, "everything stops at a commit");
	sim->store_stopped = true;
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

static struct aws_dispatcher *make_dispatcher(struct sim *sim, struct store *store,
	struct runner *runner)
{
	struct aws_dispatch_config config = {
		.store = store, .clock = runner_clock(runner), .random = sim->random};
	struct aws_dispatcher *dispatcher = aws_dispatcher_new(&config);

	aws_dispatcher_register(dispatcher, &ecs_service, NULL);
	return dispatcher;
}

int sim_open_store(struct sim *sim, struct err *err)
{
	_free_ char *url = sim->path ? memory_format("sqlite:%s", sim->path) : NULL;
	const struct store_kind *kinds[KINDS_MAX];
	struct store_config config = {
		.url = url ? url : "memory:",
		.key_path = sim->key_path,
		.kinds = kinds,
		.kind_count = collect_kinds(kinds),
		.clock = runner_clock(sim->root),
		.feed_bytes = sim->crowd * (FEED_BYTES + (size_t)sim->instances_max * 4096),
		.inline_writes = true,
		.faults = &sim->faults,
	};
	int code;

	sim->store_stopped = false;
	code = store_open(&config, &sim->store, err);
	if (code < 0)
		return code;
	sim->operators = make_dispatcher(sim, sim->store, sim->root);
	code = daemon_checker_follow(sim->checker, sim->store, err);
	if (code == 0 && sim->remote_store)
		code = daemon_checker_follow(sim->checker, sim->remote_store, err);
	return code;
}

int sim_open_remote(struct sim *sim, struct err *err)
{
	const struct store_kind *kinds[KINDS_MAX];
	struct store_config config = {.url = "memory:",
		.kinds = kinds,
		.kind_count = collect_kinds(kinds),
		.clock = runner_clock(sim->root),
		.inline_writes = true};
	int code = store_open(&config, &sim->remote_store, err);

	if (code < 0)
		return code;
	sim->remote_operators = make_dispatcher(sim, sim->remote_store, sim->root);
	return sim_follow_remote(sim, err);
}

void sim_close_remote(struct sim *sim)
{
	sim_unfollow_remote(sim);
	aws_dispatcher_free(TAKE(sim->remote_operators));
	store_close(TAKE(sim->remote_store));
}

void sim_close_store(struct sim *sim)
{
	daemon_checker_unfollow(sim->checker);
	aws_dispatcher_free(TAKE(sim->operators));
	store_close(TAKE(sim->store));
}

void sim_remove_files(struct sim *sim)
{
	static const char *const endings[] = {"", "-wal", "-shm", "-journal"};

	if (!sim->path)
		return;
	for (size_t i = 0; i < LENGTH(endings); i++) {
		_free_ char *path = memory_format("%s%s", sim->path, endings[i]);

		unlink(path);
	}
	unlink(sim->key_path);
}

void sim_use_file(struct sim *sim, const char *folder, uint64_t number)
{
	sim->path = memory_format("%s/daemon-%" PRIu64 ".db", folder, number);
	sim->key_path = memory_format("%s/daemon-%" PRIu64 ".key", folder, number);
	sim_remove_files(sim);
}

void sim_set_up_servers(struct sim *sim)
{
	static const char *const names[SIM_SERVERS] = {"anna", "bert"};

	sim->faults = (struct store_faults){before_commit, after_commit, sim};
	sim->service = (struct aws_service){.name = "slipway",
		.shapes = &shape_slipway,
		.operations = daemon_operations,
		.operation_count = daemon_operation_count,
		.invalid_input = "InvalidParameterException"};
	for (size_t i = 0; i < SIM_SERVERS; i++) {
		sim->servers[i].sim = sim;
		sim->servers[i].name = names[i];
	}
}

/* ---- servers ---- */

struct task_retention_limits sim_retention = {
	.age_ms = SIM_RETENTION_MS, .count = TASK_RETENTION_COUNT};

static void report(void *context, const char *controller, struct span key, const struct err *err)
{
	struct sim_server *server = context;

	runner_trace(server->runner, "%s: %.*s: %s", controller, SPAN_ARGS(key), err->message);
}

static void report_claims(void *context, const char *message)
{
	struct sim_server *server = context;

	runner_trace(server->runner, "%s", message);
}

static struct aws_target *make_target(void *context)
{
	struct sim_server *server = context;

	return sim_remote_target(server->sim, server->runner);
}

static int boot(struct sim_server *server, struct err *err)
{
	struct sim *sim = server->sim;
	enum daemon_bug bug = sim->config->bug;
	struct claims_config claims = {.store = sim->store,
		.server = server->name,
		.lease_us = SIM_LEASE_US,
		.report = report_claims,
		.report_context = server,
		.bug_no_fence = bug == DAEMON_BUG_OVERLAP || bug == DAEMON_BUG_NO_FENCE,
		.bug_no_check = bug == DAEMON_BUG_OVERLAP,
		.bug_hasty_death = bug == DAEMON_BUG_OVERLAP};
	struct manager_config manager = {
		.store = sim->store, .report = report, .report_context = server, .bug = bug};
	struct controller_config ecs = {
		.store = sim->store, .report = report, .report_context = server};
	struct controller_config retention = ecs;
	char name[32];
	int code;

	snprintf(name, sizeof(name), "%s.%u", server->name, ++server->boots);
	server->runner = runner_group_new(sim->root, name);
	if (sim->faulty) {
		int64_t ahead_ms = (int64_t)sim_draw(sim, SIM_CLOCKS_DIFFER_MS);

		runner_simulated_shift_clocks(server->runner,
			(int64_t)sim_draw(sim, 1000 * SIM_SECOND_US), ahead_ms);
	}
	claims.runner = manager.runner = ecs.runner = retention.runner = server->runner;
	retention.context = &sim_retention;
	runner_trace(server->runner, "boots");
	server->awake_us = runner_now_us(sim->root);
	code = claims_start(&claims, &server->claims, err);
	if (code < 0)
		return code;
	server->dispatcher = make_dispatcher(sim, sim->store, server->runner);
	server->context = (struct daemon_context){.bug = bug};
	aws_dispatcher_register(server->dispatcher, &sim->service, &server->context);
	if (sim->remote_store)
		server->targets = aws_targets_created(&sim_remote_settings, 1, make_target, server);
	server->context.targets = manager.targets = server->targets;
	manager.claims = server->claims;
	manager.dispatcher = server->dispatcher;
	code = manager_start(&manager, &server->manager, err);
	if (code == 0)
		code = controller_start(&task_retention_row, &retention, &server->retention, err);
	if (code == 0 && sim->has_services)
		code = controller_start(&service_controller_row, &ecs, &server->services, err);
	if (code < 0)
		return code;
	server->context.count = manager_count;
	server->context.count_context = server->manager;
	server->context.state = manager_state(server->manager);
	return 0;
}

void sim_take_down(struct sim *sim, struct sim_server *server)
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
		server->passes = 0;
		server->slept_till_us = 0;
		runner_free(TAKE(server->runner));
	}
	server->boot_at_us = runner_now_us(sim->root);
	if (sim->faulty) {
		int64_t times = (int64_t)sim_draw(sim, 3);

		server->boot_at_us += times * (int64_t)sim_draw(sim, 10 * SIM_SECOND_US);
	}
}

struct sim_server *sim_some_server(struct sim *sim)
{
	struct sim_server *server = &sim->servers[sim_draw(sim, sim->server_count)];

	return server->manager && !runner_is_stopped(server->runner) ? server : NULL;
}

/* ---- tending them ---- */

void sim_tend_servers(struct sim *sim)
{
	if (!sim->store_stopped)
		sim_check_owners(sim);
	for (size_t i = 0; i < sim->server_count; i++) {
		struct sim_server *server = &sim->servers[i];
		struct err err = {0};

		if (server->runner && runner_is_stopped(server->runner))
			sim_take_down(sim, server);
		if (!server->runner && server->boot_at_us <= runner_now_us(sim->root) &&
			!sim->store_stopped && boot(server, &err) < 0) {
			runner_trace(sim->root, "%s does not boot: %s", server->name, err.message);
			sim_take_down(sim, server);
		}
	}
}

int sim_restart(struct sim *sim, struct err *err)
{
	int code = 0;

	sim->result.restarts++;
	runner_trace(sim->root, "everything restarts");
	for (size_t i = 0; i < sim->server_count; i++)
		sim_take_down(sim, &sim->servers[i]);
	if (sim->tears)
		code = sim_close_torn(sim, err);
	else
		sim_close_store(sim);
	sim->tears = false;
	sim->log_size = 0;
	if (code < 0)
		return code;
	code = sim_open_store(sim, err);
	if (code == 0)
		sim_check_acknowledged(sim);
	return code;
}

/* ---- faults ---- */

static void stop_in_order(struct sim *sim, struct sim_server *server)
{
	runner_trace(sim->root, "%s stops", runner_name(server->runner));
	server->context = (struct daemon_context){0};
	manager_stop(TAKE(server->manager));
	claims_resign(server->claims, NULL);
	sim_take_down(sim, server);
}

/* One server gives everything up while the other one sleeps, which then takes over what it has not seen for a while. */
static void hand_over(struct sim *sim, struct sim_server *from)
{
	struct sim_server *to = &sim->servers[from == sim->servers ? 1 : 0];
	int64_t half_us = SIM_SECOND_US + (int64_t)sim_draw(sim, 4 * SIM_SECOND_US);

	if (sim->server_count < 2 || !to->manager || runner_is_stopped(to->runner))
		return;
	pause_for(sim, to, 2 * half_us);
	runner_sleep_until(sim->root, runner_deadline_us(sim->root, half_us));
	if (runner_is_stopped(from->runner) || sim->store_stopped)
		return;
	stop_in_order(sim, from);
	from->boot_at_us = runner_now_us(sim->root) + 2 * half_us;
}

/* Its clock is set while it runs: a little, or by hours. The next boot sets it right again. */
static void set_clock(struct sim *sim, struct sim_server *server)
{
	int64_t most_ms = sim_one_in(sim, 2) ? CLOCK_JUMPS_MS : SIM_CLOCKS_DIFFER_MS;
	int64_t shift_ms = (int64_t)sim_draw(sim, 2 * (uint64_t)most_ms) - most_ms;

	/* A booting server has to trust the reported start times of tasks. */
	if (shift_ms > SIM_CLOCKS_DIFFER_MS &&
		runner_now_us(sim->root) - server->awake_us < BOOTS_WITHIN_US)
		return;
	runner_trace(sim->root, "the clock of %s is %.3f s off", runner_name(server->runner),
		(double)shift_ms / 1000);
	sim->result.jumps++;
	runner_simulated_set_wall(server->runner, shift_ms);
}

void sim_act_server(struct sim *sim)
{
	struct sim_server *server = sim_some_server(sim);

	if (!server)
		return;
	if (sim_one_in(sim, 4)) {
		set_clock(sim, server);
		return;
	}
	switch (sim_draw(sim, 8)) {
	case 0:
		if (sim->path)
			sim->store_stopped = true; /* tended to at once */
		break;
	case 1:
	case 2:
	case 3:
		runner_trace(sim->root, "%s crashes", runner_name(server->runner));
		sim->result.crashes++;
		sim_take_down(sim, server);
		break;
	case 4: stop_in_order(sim, server); break;
	case 5: hand_over(sim, server); break;
	default: pause_server(sim, server); break;
	}
}
