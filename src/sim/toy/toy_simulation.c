/*
 * See toy_simulation.h. Main acts as operator and injects failures: it sets the desired state,
 * crashes and restarts servers, and checks at the end. The runner draws all of it from the seed.
 */
#include "sim/toy/toy_simulation.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "control/runner_simulated.h"
#include "control/write.h"
#include "sim/toy/toy_world.h"

#define SERVERS 2
#define TOYS 3
#define SECOND_US INT64_C(1000000)
#define LEASE_US (5 * SECOND_US)
#define CONVERGE_WITHIN_US (600 * SECOND_US)
/* Small, so that a paused server loses its place. */
#define FEED_BYTES 2500
/* One commit in so many fails, or is the last thing that a server sees. */
#define FAIL_COMMIT_ONE_IN 25
#define CRASH_AT_COMMIT_ONE_IN 150
#define STOP_STORE_ONE_IN 300
/* One seed in so many keeps its store in a file and restarts everything from it. */
#define FILE_ONE_IN 12

const char *const toy_bug_names[TOY_BUG_COUNT] = {
#define X(name, text, meaning) [TOY_BUG_##name] = text,
	TOY_BUGS(X)
#undef X
};

const char *const toy_bug_meanings[TOY_BUG_COUNT] = {
#define X(name, text, meaning) [TOY_BUG_##name] = meaning,
	TOY_BUGS(X)
#undef X
};

static const char *const toy_names[TOYS] = {"ball", "doll", "kite"};

struct simulation;

struct server {
	struct simulation *simulation;
	const char *name;
	unsigned boots;
	int64_t boot_at_us;    /* when down */
	struct runner *runner; /* NULL: down */
	struct claims *claims;
	struct controller *controller;
	struct toy_controller toy;
};

/* The requested state. A request with unknown outcome may count or not. */
struct desired_state {
	unsigned certain;
	unsigned possible;
};

struct simulation {
	const struct toy_simulation *config;
	struct toy_simulation_result result;
	struct runner *root;
	struct random *random;
	char *path, *key_path; /* NULL: in memory */
	struct store *store;
	struct store_faults faults;
	bool faulty;        /* faults happen */
	bool store_stopped; /* at a commit: everything has to start from the file */
	struct toy_world *world;
	struct server servers[SERVERS];
	struct desired_state desired_states[TOYS];
	char broken[ERR_MESSAGE_MAX]; /* the first broken rule */
};

static uint64_t draw(struct simulation *simulation, uint64_t below)
{
	return random_below(simulation->random, below);
}

static void note_broken(void *context, const char *rule)
{
	struct simulation *simulation = context;

	runner_trace(simulation->root, "BROKEN: %s", rule);
	if (!simulation->broken[0])
		snprintf(simulation->broken, sizeof(simulation->broken), "at %.3f s: %s",
			(double)runner_now_us(simulation->root) / (double)SECOND_US, rule);
}

/* ---- the store and its faults ---- */

/* The server's fibers unwind from where they are; main takes it away later. */
static void crash_some_server(struct simulation *simulation)
{
	struct server *server = &simulation->servers[draw(simulation, SERVERS)];

	if (!server->runner || runner_is_stopped(server->runner))
		return;
	runner_trace(simulation->root, "%s crashes at a commit", runner_name(server->runner));
	simulation->result.crashes++;
	toy_world_excuse_calls(simulation->world);
	runner_stop(server->runner);
}

static int before_commit(void *context)
{
	struct simulation *simulation = context;

	if (!simulation->faulty)
		return 0;
	if (draw(simulation, CRASH_AT_COMMIT_ONE_IN) == 0) {
		crash_some_server(simulation);
		return -EIO;
	}
	if (draw(simulation, FAIL_COMMIT_ONE_IN) > 0)
		return 0;
	simulation->result.failed_commits++;
	return -EIO;
}

static int after_commit(void *context)
{
	struct simulation *simulation = context;

	if (!simulation->faulty)
		return 0;
	if (draw(simulation, CRASH_AT_COMMIT_ONE_IN) == 0)
		crash_some_server(simulation);
	if (!simulation->path || draw(simulation, STOP_STORE_ONE_IN) > 0)
		return 0;
	runner_trace(simulation->root, "everything stops at a commit");
	simulation->store_stopped = true;
	return -ECANCELED;
}

static int open_store(struct simulation *simulation, struct err *err)
{
	_free_ char *url = simulation->path ? memory_format("sqlite:%s", simulation->path) : NULL;
	struct store_config config = {
		.url = url ? url : "memory:",
		.key_path = simulation->key_path,
		.kinds = toy_kinds,
		.kind_count = LENGTH(toy_kinds),
		.clock = runner_clock(simulation->root),
		.feed_bytes = FEED_BYTES,
		.inline_writes = true,
		.faults = &simulation->faults,
	};

	simulation->store_stopped = false;
	return store_open(&config, &simulation->store, err);
}

static void remove_files(struct simulation *simulation)
{
	static const char *const endings[] = {"", "-wal", "-shm", "-journal"};

	if (!simulation->path)
		return;
	for (size_t i = 0; i < LENGTH(endings); i++) {
		_free_ char *path = memory_format("%s%s", simulation->path, endings[i]);

		unlink(path);
	}
	unlink(simulation->key_path);
}

/* ---- servers ---- */

static void claim_freed(void *context, struct span key)
{
	struct server *server = context;
	struct span toy = toy_of_claim_key(key);

	if (toy.data)
		controller_add(server->controller, toy);
}

static void reconcile_failed(void *context, const char *controller, struct span key,
	const struct err *err)
{
	struct server *server = context;

	(void)controller;
	if (err->code == -ESTALE)
		server->simulation->result.refused_writes++;
	runner_trace(server->runner, "%.*s: %s", SPAN_ARGS(key), err->message);
}

/* Inside the transaction that changes a toy's state: the fence has let it pass, and this is what the
 * fence is there for. */
static void state_is_written(void *context, const struct store_view *head, struct span toy,
	const struct toy_caller *caller)
{
	struct server *server = context;
	_buffer_ struct buffer key = {0};
	const struct store_object *claim;
	char rule[256];

	toy_claim_key(toy, &key);
	claim = store_get(head, &claim_kind, buffer_span(&key));
	if (claim && claim->revision == caller->epoch)
		return;
	snprintf(rule, sizeof(rule),
		"a write of %s for toy '%.*s' in epoch %" PRIu64
		" got past the fence; it is epoch %" PRIu64,
		runner_name(caller->runner), SPAN_ARGS(toy), caller->epoch,
		claim ? claim->revision : 0);
	note_broken(server->simulation, rule);
}

static void server_take_down(struct server *server)
{
	struct simulation *simulation = server->simulation;
	struct controller_statistics statistics;

	if (!server->runner)
		return;
	toy_world_excuse_calls(simulation->world);
	runner_stop(server->runner);
	if (server->controller) {
		controller_statistics(server->controller, &statistics);
		simulation->result.overflows += (unsigned)statistics.overflows;
	}
	if (server->claims)
		claims_unsubscribe(server->claims, server);
	controller_stop(TAKE(server->controller));
	claims_stop(TAKE(server->claims));
	runner_free(TAKE(server->runner));
	server->boot_at_us =
		runner_now_us(simulation->root) +
		(int64_t)draw(simulation, 3) * (int64_t)draw(simulation, 10 * SECOND_US);
}

static int server_boot(struct server *server, struct err *err)
{
	struct simulation *simulation = server->simulation;
	enum toy_bug bug = simulation->config->bug;
	struct claims_config claims = {
		.store = simulation->store,
		.server = server->name,
		.lease_us = LEASE_US,
		.bug_no_fence = bug == TOY_BUG_NO_FENCE,
		.bug_no_check = bug == TOY_BUG_NO_CHECK,
		.bug_hasty_death = bug == TOY_BUG_HASTY_DEATH,
	};
	struct controller_config controller = {
		.store = simulation->store,
		.context = &server->toy,
		.queue = {.backoff_most_us = 20 * SECOND_US,
			.bug_lose_dirty = bug == TOY_BUG_LOSE_DIRTY},
		.report = reconcile_failed,
		.report_context = server,
		.bug_ignore_overflow = bug == TOY_BUG_IGNORE_OVERFLOW,
	};
	char name[32];
	int code;

	snprintf(name, sizeof(name), "%s.%u", server->name, ++server->boots);
	server->runner = runner_group_new(simulation->root, name);
	runner_simulated_shift_clocks(server->runner, (int64_t)draw(simulation, 1000 * SECOND_US),
		(int64_t)draw(simulation, 100000));
	claims.runner = server->runner;
	controller.runner = server->runner;
	runner_trace(server->runner, "boots");
	code = claims_start(&claims, &server->claims, err);
	if (code < 0)
		return code;
	server->toy = (struct toy_controller){
		.claims = server->claims,
		.operations = &toy_world_operations,
		.world = simulation->world,
		.writing = state_is_written,
		.writing_context = server,
		.bug_skip_intent = bug == TOY_BUG_SKIP_INTENT,
	};
	code = controller_start(&toy_controller_row, &controller, &server->controller, err);
	if (code == 0)
		claims_subscribe(server->claims, SPAN("toy/"), claim_freed, server);
	return code;
}

/* Removes crashed servers, and boots those that are due. */
static void tend_servers(struct simulation *simulation)
{
	for (size_t i = 0; i < SERVERS; i++) {
		struct server *server = &simulation->servers[i];

		if (server->runner && runner_is_stopped(server->runner))
			server_take_down(server);
		if (!server->runner && server->boot_at_us <= runner_now_us(simulation->root) &&
			!simulation->store_stopped && server_boot(server, NULL) < 0)
			server_take_down(server);
	}
}

static int restart_everything(struct simulation *simulation, struct err *err)
{
	simulation->result.restarts++;
	runner_trace(simulation->root, "everything restarts");
	for (size_t i = 0; i < SERVERS; i++)
		server_take_down(&simulation->servers[i]);
	store_close(TAKE(simulation->store));
	return open_store(simulation, err);
}

/* ---- events ---- */

static void act_update(struct simulation *simulation)
{
	size_t toy = draw(simulation, TOYS);
	unsigned desired = (unsigned)draw(simulation, 5);
	int code;

	simulation->desired_states[toy].possible = desired;
	code = toy_set_desired(simulation->root, simulation->store, span_of(toy_names[toy]),
		desired, NULL);
	runner_trace(simulation->root, "%s wanted: %u (%d)", toy_names[toy], desired, code);
	if (code == 0)
		simulation->desired_states[toy].certain = desired;
	else if (code == -EIO) /* certainly not */
		simulation->desired_states[toy].possible = simulation->desired_states[toy].certain;
}

/* Many changes in a row: the feed of a paused server overflows. */
static void act_many_updates(struct simulation *simulation)
{
	for (unsigned i = 0; i < 20; i++)
		act_update(simulation);
}

/* The world notifies subscribers; a server that is down observes the death when it boots. */
static void act_death(struct simulation *simulation)
{
	const char *toy = toy_world_kill_one(simulation->world);

	for (size_t i = 0; toy && i < SERVERS; i++) {
		if (simulation->servers[i].controller)
			controller_add(simulation->servers[i].controller, span_of(toy));
	}
}

static struct server *some_server_that_is_up(struct simulation *simulation)
{
	struct server *server = &simulation->servers[draw(simulation, SERVERS)];

	return server->runner && !runner_is_stopped(server->runner) ? server : NULL;
}

static void act_crash(struct simulation *simulation)
{
	struct server *server = some_server_that_is_up(simulation);

	if (!server)
		return;
	runner_trace(simulation->root, "%s crashes", runner_name(server->runner));
	simulation->result.crashes++;
	server_take_down(server);
}

static void act_pause(struct simulation *simulation)
{
	struct server *server = some_server_that_is_up(simulation);
	int64_t duration_us = 1 + (int64_t)draw(simulation, 4 * LEASE_US);

	if (!server)
		return;
	runner_trace(simulation->root, "%s is paused for %.3f s", runner_name(server->runner),
		(double)duration_us / (double)SECOND_US);
	simulation->result.pauses++;
	runner_simulated_pause(server->runner, duration_us);
}

static void act_clean_stop(struct simulation *simulation)
{
	struct server *server = some_server_that_is_up(simulation);

	/* Main would wait for the paused. */
	if (!server || !server->controller || !server->claims)
		return;
	runner_trace(simulation->root, "%s stops", runner_name(server->runner));
	toy_world_excuse_calls(simulation->world);
	claims_unsubscribe(server->claims, server);
	controller_stop(TAKE(server->controller));
	claims_resign(server->claims, NULL);
	server_take_down(server);
}

/* By force: the promise that a lease makes is off, from the very moment of the commit. */
struct force {
	struct simulation *simulation;
	struct span key;
};

static int write_lost_lease(struct store_transaction *transaction, void *context, struct err *err)
{
	struct force *force = context;

	toy_world_excuse_calls(force->simulation->world);
	return store_delete(transaction, &server_kind, force->key, STORE_ANY, err);
}

/* Deletes the record of a healthy server. */
static void act_lose_lease(struct simulation *simulation)
{
	const char *name = simulation->servers[draw(simulation, SERVERS)].name;
	struct force force = {simulation, span_of(name)};

	if (control_write(simulation->root, simulation->store, write_lost_lease, &force, NULL,
		    NULL) < 0)
		return;
	simulation->result.lost_leases++;
	runner_trace(simulation->root, "the lease of %s is lost", name);
}

static int write_lost_claim(struct store_transaction *transaction, void *context, struct err *err)
{
	struct force *force = context;

	toy_world_excuse_calls(force->simulation->world);
	return store_put(transaction, &claim_kind, force->key, SPAN(""),
		SPAN("{\"server\":\"\",\"incarnation\":\"\"}"), STORE_ANY, err);
}

/* Releases a claim that another server owns. */
static void act_lose_claim(struct simulation *simulation)
{
	_buffer_ struct buffer key = {0};
	struct force force = {.simulation = simulation};

	toy_claim_key(span_of(toy_names[draw(simulation, TOYS)]), &key);
	force.key = buffer_span(&key);
	if (control_write(simulation->root, simulation->store, write_lost_claim, &force, NULL,
		    NULL) < 0)
		return;
	simulation->result.lost_claims++;
	runner_trace(simulation->root, "claim %s is lost", key.data);
}

static void act_restart(struct simulation *simulation)
{
	if (simulation->path)
		simulation->store_stopped = true; /* tended to at once */
}

/* Later events often repair a loss in the middle; no event comes after this one. */
static void act_last(struct simulation *simulation)
{
	unsigned count = 10 + (unsigned)draw(simulation, 40);

	if (draw(simulation, 2)) {
		act_pause(simulation);
		act_pause(simulation);
	}
	for (unsigned i = 0; i < count && !simulation->store_stopped; i++) {
		act_update(simulation);
		runner_sleep_until(simulation->root,
			runner_deadline_us(simulation->root, (int64_t)draw(simulation, 30000)));
	}
}

static const struct action {
	unsigned weight;
	void (*act)(struct simulation *simulation);
} actions[] = {
	{40, act_update},
	{3, act_many_updates},
	{15, act_death},
	{5, act_crash},
	{12, act_pause},
	{4, act_clean_stop},
	{4, act_lose_lease},
	{4, act_lose_claim},
	{2, act_restart},
};

static void act(struct simulation *simulation)
{
	unsigned total = 0, chosen;

	for (size_t i = 0; i < LENGTH(actions); i++)
		total += actions[i].weight;
	chosen = (unsigned)draw(simulation, total);
	for (size_t i = 0; i < LENGTH(actions); i++) {
		if (chosen < actions[i].weight) {
			actions[i].act(simulation);
			return;
		}
		chosen -= actions[i].weight;
	}
}

/* ---- the end ---- */

static bool toy_is_settled(struct simulation *simulation, size_t toy)
{
	_view_ struct store_view *view = store_view_open(simulation->store);
	struct span name = span_of(toy_names[toy]);
	const struct store_object *wanted = store_get(view, &toy_kind, name);
	const struct store_object *state = store_get(view, &toy_state_kind, name);
	static const struct toy_state_facts nothing;
	const struct toy_state_facts *facts = state ? state->facts : &nothing;
	int64_t desired = wanted ? ((const struct toy_facts *)wanted->facts)->desired : 0;
	const struct desired_state *desired_state = &simulation->desired_states[toy];

	if (desired != desired_state->certain && desired != desired_state->possible) {
		note_broken(simulation, "an acknowledged wish was lost");
		return true;
	}
	return (desired > 0 || !state) &&
	       toy_world_is_as_wanted(simulation->world, name, (size_t)desired, facts->slots);
}

/* NULL, or the name of one that is not. */
static const char *unsettled_toy(struct simulation *simulation)
{
	for (size_t i = 0; i < TOYS; i++) {
		if (!toy_is_settled(simulation, i))
			return toy_names[i];
	}
	return NULL;
}

static int sleep_us(struct simulation *simulation, int64_t duration_us, struct err *err)
{
	int code = runner_sleep_until(simulation->root,
		runner_deadline_us(simulation->root, duration_us));

	if (code < 0)
		err_set(err, code, "%s", runner_simulated_trouble(simulation->root));
	return code;
}

static int run_faults(struct simulation *simulation, struct err *err)
{
	int64_t until_us = (30 + (int64_t)draw(simulation, 90)) * SECOND_US;

	simulation->faulty = true;
	while (runner_now_us(simulation->root) < until_us && !simulation->broken[0]) {
		int code = sleep_us(simulation, (int64_t)draw(simulation, 2 * SECOND_US), err);

		if (code == 0 && simulation->store_stopped)
			code = restart_everything(simulation, err);
		if (code < 0)
			return code;
		tend_servers(simulation);
		if (!simulation->store_stopped)
			act(simulation);
	}
	act_last(simulation);
	simulation->faulty = false;
	toy_world_calm_down(simulation->world);
	runner_trace(simulation->root, "the faults are over");
	return simulation->store_stopped ? restart_everything(simulation, err) : 0;
}

static int run_calm(struct simulation *simulation, struct err *err)
{
	int64_t until_us = runner_now_us(simulation->root) + CONVERGE_WITHIN_US;
	char rule[128];

	for (;;) {
		int code;

		tend_servers(simulation);
		code = sleep_us(simulation, SECOND_US, err);
		if (code < 0)
			return code;
		if (simulation->broken[0])
			return 0;
		/* Late duplicates must have arrived, too. */
		if (runner_now_us(simulation->root) >
				until_us - CONVERGE_WITHIN_US + 60 * SECOND_US &&
			!unsettled_toy(simulation))
			return 0;
		if (runner_now_us(simulation->root) > until_us) {
			snprintf(rule, sizeof(rule),
				"toy '%s' is not as wanted long after the faults ended",
				unsettled_toy(simulation));
			note_broken(simulation, rule);
			return 0;
		}
	}
}

static void take_counts(struct simulation *simulation)
{
	struct toy_simulation_result *result = &simulation->result;
	struct toy_world_counts counts;

	toy_world_counts(simulation->world, &counts);
	result->lost_answers = counts.lost_answers + counts.lost_requests;
	result->duplicates = counts.duplicates;
	result->deaths = counts.deaths;
	result->takeovers = counts.takeovers;
	result->virtual_us = runner_now_us(simulation->root);
	result->steps = runner_simulated_steps(simulation->root);
	result->hash = runner_simulated_hash(simulation->root);
}

static int run(struct simulation *simulation, struct err *err)
{
	int code = open_store(simulation, err);

	if (code < 0)
		return code;
	simulation->world = toy_world_new(simulation->root, note_broken, simulation, err);
	if (!simulation->world)
		return err ? err->code : -EIO;
	code = run_faults(simulation, err);
	if (code == 0 && !simulation->broken[0])
		code = run_calm(simulation, err);
	if (code == -EDEADLK) {
		note_broken(simulation, runner_simulated_trouble(simulation->root));
		code = 0;
	}
	for (size_t i = 0; i < SERVERS; i++)
		server_take_down(&simulation->servers[i]);
	take_counts(simulation);
	return code;
}

static void finish(struct simulation *simulation)
{
	runner_stop(simulation->root);
	runner_join(simulation->root, NULL);
	toy_world_free(simulation->world);
	store_close(simulation->store);
	runner_free(simulation->root);
	remove_files(simulation);
	free(simulation->path);
	free(simulation->key_path);
}

int toy_simulation_run(uint64_t seed, const struct toy_simulation *config,
	struct toy_simulation_result *ret_result, struct err *err)
{
	static const char *const names[SERVERS] = {"anna", "bert"};
	struct simulation simulation = {.config = config};
	int code;

	simulation.root = runner_simulated_new(seed);
	simulation.random = runner_random(simulation.root);
	runner_simulated_trace_to(simulation.root, config->trace, config->trace_steps);
	simulation.faults = (struct store_faults){before_commit, after_commit, &simulation};
	if (config->folder && draw(&simulation, FILE_ONE_IN) == 0) {
		simulation.path = memory_format("%s/toy-%" PRIu64 ".db", config->folder, seed);
		simulation.key_path = memory_format("%s/toy-%" PRIu64 ".key", config->folder, seed);
		remove_files(&simulation);
	}
	for (size_t i = 0; i < SERVERS; i++) {
		simulation.servers[i].simulation = &simulation;
		simulation.servers[i].name = names[i];
	}
	code = run(&simulation, err);
	if (code == 0 && simulation.broken[0])
		code = err_set(err, -EBADMSG, "seed %" PRIu64 ": %s", seed, simulation.broken);
	if (ret_result && (code == 0 || code == -EBADMSG))
		*ret_result = simulation.result;
	finish(&simulation);
	return code;
}
