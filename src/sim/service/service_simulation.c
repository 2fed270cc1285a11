/*
 * See service_simulation.h. Main is clients, operator and fate in one. Everything it does is drawn from the
 * seed, by way of the runner.
 */
#include "sim/service/service_simulation.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "control/runner_simulated.h"
#include "ecs/ecs.h"
#include "ecs/record/container_instance.h"
#include "elb/elb.h"
#include "sim/service/service_simulation_internal.h"

#define KINDS_MAX 64
#define INSTANCES 4
#define INSTANCE_MEMORY 1024
#define CONVERGE_WITHIN_US (1800 * SIMULATION_SECOND_US)
/* Late calls and echoes arrive until so long after the faults ended. */
#define QUIET_US (25 * SIMULATION_SECOND_US)
/* Small enough that a paused server loses its place. */
#define FEED_BYTES (32 * 1024)
/* One commit in so many fails, or is the last thing that a server sees. */
#define FAIL_COMMIT_ONE_IN 40
#define CRASH_AT_COMMIT_ONE_IN 150
#define STOP_STORE_ONE_IN 250
/* One seed in so many keeps its store in a file and restarts everything from it. */
#define FILE_ONE_IN 12
/* In one seed of so many nothing dies by itself, so that programs can be counted exactly. */
#define GENTLE_ONE_IN 4
/* And in one of so many nothing sends traffic to anybody. */
#define QUIET_ONE_IN 4
/* At the end. */
#define DRAIN_ONE_IN 3
/* One in so many has one server only, so that no other one repairs what it missed. */
#define ALONE_ONE_IN 3
/* How fast a runtime that keeps replicas itself does so. */
#define GROUP_POLL_MS 300
#define PLACE_MS 300

const char *const service_bug_names[SERVICE_BUG_COUNT] = {
#define X(name, text, meaning) [SERVICE_BUG_##name] = text,
	SERVICE_BUGS(X)
#undef X
};

const char *const service_bug_meanings[SERVICE_BUG_COUNT] = {
#define X(name, text, meaning) [SERVICE_BUG_##name] = meaning,
	SERVICE_BUGS(X)
#undef X
};

void simulation_broken(void *context, const char *rule)
{
	struct simulation *simulation = context;

	runner_trace(simulation->root, "BROKEN: %s", rule);
	if (!simulation->broken[0])
		snprintf(simulation->broken, sizeof(simulation->broken), "at %.3f s: %s",
			(double)runner_now_us(simulation->root) / (double)SIMULATION_SECOND_US,
			rule);
}

/* ---- the store and its faults ---- */

static void stop_server(struct simulation *simulation, struct service_server *server)
{
	if (!server->runner || runner_is_stopped(server->runner))
		return;
	runner_trace(simulation->root, "%s crashes at a commit", runner_name(server->runner));
	simulation->result.crashes++;
	runner_stop(server->runner);
}

static int before_commit(void *context)
{
	struct simulation *simulation = context;

	simulation->commits += simulation->counting;
	if (simulation->counting && !simulation->stop_after &&
		simulation->commits == simulation->stop_at_commit) {
		simulation->store_stopped = true;
		return -EIO;
	}
	if (!simulation->faulty)
		return 0;
	if (simulation_draw(simulation, CRASH_AT_COMMIT_ONE_IN) == 0) {
		stop_server(simulation,
			&simulation
				 ->servers[simulation_draw(simulation, simulation->server_count)]);
		return -EIO;
	}
	if (simulation_draw(simulation, FAIL_COMMIT_ONE_IN) > 0)
		return 0;
	simulation->result.failed_commits++;
	return -EIO;
}

static int after_commit(void *context)
{
	struct simulation *simulation = context;

	if (simulation->counting && simulation->stop_after &&
		simulation->commits == simulation->stop_at_commit) {
		simulation->store_stopped = true;
		return -ECANCELED;
	}
	if (!simulation->faulty)
		return 0;
	if (simulation_draw(simulation, CRASH_AT_COMMIT_ONE_IN) == 0)
		stop_server(simulation,
			&simulation
				 ->servers[simulation_draw(simulation, simulation->server_count)]);
	if (!simulation->path || simulation_draw(simulation, STOP_STORE_ONE_IN) > 0)
		return 0;
	runner_trace(simulation->root, "everything stops at a commit");
	simulation->store_stopped = true;
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
	};
	size_t count = 0;

	for (size_t i = 0; i < LENGTH(tables); i++)
		for (size_t j = 0; j < tables[i].count; j++)
			kinds[count++] = tables[i].kinds[j];
	return count;
}

static struct elb_context elb_context = {
	.domain = {"simulated.internal", 18},
	.addresses = {"127.192.0.0/16", 14},
	.instance_address = container_instance_address,
};

static struct ecs_context ecs_context = {
	.endpoint = {"", 0},
	.scheduler = {SIMULATION_HOST, sizeof(SIMULATION_HOST) - 1},
};

static int open_store(struct simulation *simulation, struct err *err)
{
	_free_ char *url = simulation->path ? memory_format("sqlite:%s", simulation->path) : NULL;
	const struct store_kind *kinds[KINDS_MAX];
	struct store_config config = {
		.url = url ? url : "memory:",
		.key_path = simulation->key_path,
		.kinds = kinds,
		.kind_count = collect_kinds(kinds),
		.clock = runner_clock(simulation->root),
		.feed_bytes = FEED_BYTES,
		.inline_writes = true,
		.faults = &simulation->faults,
	};
	struct aws_dispatch_config dispatch = {
		.clock = config.clock,
		.random = simulation->random,
	};
	int code;

	simulation->store_stopped = false;
	code = store_open(&config, &simulation->store, err);
	if (code < 0)
		return code;
	dispatch.store = simulation->store;
	simulation->dispatcher = aws_dispatcher_new(&dispatch);
	aws_dispatcher_register(simulation->dispatcher, &ecs_service,
		simulation->groups ? &ecs_context : NULL);
	aws_dispatcher_register(simulation->dispatcher, &cloudmap_service, NULL);
	aws_dispatcher_register(simulation->dispatcher, &elb_service, &elb_context);
	return service_checker_follow(simulation->checker, simulation->store, err);
}

static void close_store(struct simulation *simulation)
{
	service_checker_unfollow(simulation->checker);
	aws_dispatcher_free(TAKE(simulation->dispatcher));
	store_close(TAKE(simulation->store));
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

/* ---- faults ---- */

static struct service_server *some_server_that_is_up(struct simulation *simulation)
{
	struct service_server *server =
		&simulation->servers[simulation_draw(simulation, simulation->server_count)];

	return server->runner && !runner_is_stopped(server->runner) ? server : NULL;
}

static void take_down(struct simulation *simulation, struct service_server *server)
{
	simulation->result.overflows += service_server_overflows(server);
	service_server_take_down(server);
	server->boot_at_us = runner_now_us(simulation->root) +
			     (int64_t)simulation_draw(simulation, 3) *
				     (int64_t)simulation_draw(simulation, 5 * SIMULATION_SECOND_US);
}

static void act_crash(struct simulation *simulation)
{
	struct service_server *server = some_server_that_is_up(simulation);

	if (!server)
		return;
	runner_trace(simulation->root, "%s crashes", runner_name(server->runner));
	simulation->result.crashes++;
	take_down(simulation, server);
}

static void act_pause(struct simulation *simulation)
{
	struct service_server *server = some_server_that_is_up(simulation);
	int64_t duration_us = 1 + (int64_t)simulation_draw(simulation, 15 * SIMULATION_SECOND_US);

	if (!server)
		return;
	runner_trace(simulation->root, "%s is paused for %.3f s", runner_name(server->runner),
		(double)duration_us / (double)SIMULATION_SECOND_US);
	simulation->result.pauses++;
	runner_simulated_pause(server->runner, duration_us);
}

static void act_restart(struct simulation *simulation)
{
	if (simulation->path)
		simulation->store_stopped = true; /* tended to at once */
}

static void tend_servers(struct simulation *simulation)
{
	simulation_tend_targets(simulation);
	for (size_t i = 0; i < simulation->server_count; i++) {
		struct service_server *server = &simulation->servers[i];
		struct err err = {0};

		if (server->runner && runner_is_stopped(server->runner))
			take_down(simulation, server);
		if (!server->runner && server->boot_at_us <= runner_now_us(simulation->root) &&
			!simulation->store_stopped &&
			service_server_boot(server, simulation->root, simulation->store,
				simulation->world, &err) < 0) {
			runner_trace(simulation->root, "%s does not boot: %s", server->name,
				err.message);
			take_down(simulation, server);
		}
	}
}

static int restart_everything(struct simulation *simulation, struct err *err)
{
	simulation->result.restarts++;
	runner_trace(simulation->root, "everything restarts");
	for (size_t i = 0; i < simulation->server_count; i++)
		take_down(simulation, &simulation->servers[i]);
	close_store(simulation);
	return open_store(simulation, err);
}

static void act(struct simulation *simulation)
{
	switch (simulation_draw(simulation, 6)) {
	case 0:
		switch (simulation_draw(simulation, 8)) {
		case 0: act_restart(simulation); break;
		case 1:
		case 2:
		case 3: act_crash(simulation); break;
		default: act_pause(simulation); break;
		}
		break;
	default: simulation_act_client(simulation); break;
	}
}

/* ---- the course of a run ---- */

static int sleep_us(struct simulation *simulation, int64_t duration_us, struct err *err)
{
	int code = runner_sleep_until(simulation->root,
		runner_deadline_us(simulation->root, duration_us));

	if (code < 0)
		err_set(err, code, "%s", runner_simulated_trouble(simulation->root));
	service_checker_check(simulation->checker);
	return code;
}

static void calm_down(struct simulation *simulation)
{
	simulation->faulty = false;
	simulated_world_calm_down(simulation->world);
	runner_trace(simulation->root, "the faults are over");
	simulation_activate_instances(simulation);
}
/* A loss in the middle is often repaired by later changes; nothing comes after this. */
static int act_last(struct simulation *simulation, struct err *err)
{
	unsigned count = 4 + (unsigned)simulation_draw(simulation, 12);

	tend_servers(simulation);
	for (size_t i = 0; i < simulation->server_count && simulation_draw(simulation, 2); i++)
		act_pause(simulation);
	simulation->only_good = true;
	for (unsigned i = 0; i < count; i++) {
		int code = sleep_us(simulation,
			(int64_t)simulation_draw(simulation, SIMULATION_SECOND_US / 2), err);

		if (code < 0)
			return code;
		simulation_act_update(simulation);
	}
	/* One instance leaves for good; there is room for all on the others. */
	if (simulation_draw(simulation, DRAIN_ONE_IN) == 0)
		simulation_drain_one(simulation);
	return 0;
}

static int run_faults(struct simulation *simulation, struct err *err)
{
	int64_t until_us = runner_now_us(simulation->root) +
			   (15 + (int64_t)simulation_draw(simulation, 30)) * SIMULATION_SECOND_US;

	simulation->faulty = true;
	while (runner_now_us(simulation->root) < until_us && !simulation->broken[0]) {
		int code = sleep_us(simulation,
			(int64_t)simulation_draw(simulation, 2 * SIMULATION_SECOND_US), err);

		if (code == 0 && simulation->store_stopped)
			code = restart_everything(simulation, err);
		if (code < 0)
			return code;
		tend_servers(simulation);
		if (!simulation->store_stopped)
			act(simulation);
	}
	if (simulation->store_stopped) {
		int code = restart_everything(simulation, err);

		if (code < 0)
			return code;
	}
	calm_down(simulation);
	return act_last(simulation, err);
}

static int run_calm(struct simulation *simulation, struct err *err)
{
	int64_t began_us = runner_now_us(simulation->root);
	char wrong[128];

	for (;;) {
		int64_t passed_us = runner_now_us(simulation->root) - began_us;
		int code;

		tend_servers(simulation);
		/* Not at once: much recovers by itself, and a breaker may still trip. */
		if (passed_us > QUIET_US)
			simulation_recover(simulation);
		code = sleep_us(simulation, 2 * SIMULATION_SECOND_US, err);
		if (code < 0)
			return code;
		if (simulation->broken[0])
			return 0;
		if (passed_us < QUIET_US)
			continue;
		simulation_describe_unsettled(simulation, wrong);
		if (!wrong[0])
			break;
		if (passed_us > CONVERGE_WITHIN_US) {
			char rule[256];

			snprintf(rule, sizeof(rule), "long after the faults ended %s", wrong);
			simulation_broken(simulation, rule);
			return 0;
		}
	}
	simulation_check_answers(simulation);
	service_checker_check_exits(simulation->checker);
	return 0;
}

static void take_counts(struct simulation *simulation)
{
	struct service_simulation_result *result = &simulation->result;
	struct simulated_counts counts;

	simulated_world_counts(simulation->world, &counts);
	result->programs = counts.starts;
	result->lost_calls = (unsigned)(counts.failed_calls + counts.lost_answers);
	result->late_calls = (unsigned)(counts.late_calls + counts.repeated_calls);
	result->lost_notices = (unsigned)counts.lost_notices;
	result->task_deaths = (unsigned)counts.task_deaths;
	result->instance_deaths = (unsigned)counts.instance_deaths;
	result->group_deletions = (unsigned)counts.group_deletions;
	result->late_programs = service_checker_late_programs(simulation->checker);
	result->virtual_us = runner_now_us(simulation->root);
	result->steps = runner_simulated_steps(simulation->root);
	result->hash = runner_simulated_hash(simulation->root);
}

static int make_world(struct simulation *simulation, bool faulty, struct err *err)
{
	struct simulated_faults faults = simulated_faults_rough;
	struct simulated_behaviour behaviour = simulated_behaviour_default;
	struct simulated_config config = {.instances = INSTANCES,
		.cpu = 4096,
		.memory = INSTANCE_MEMORY,
		.behaviour = &behaviour,
		.remember_tokens = true,
		.observer = service_checker_observer(simulation->checker),
		.groups = simulation->groups,
		.group_check = {0, GROUP_POLL_MS}};

	behaviour.place = (struct simulated_time){0, PLACE_MS};
	if (simulation->gentle)
		faults.task_dies_every_us = faults.instance_dies_every_us =
			faults.group_deleted_every_us = 0;
	if (faulty)
		config.faults = &faults;
	return simulated_world_new(simulation->root, &config, &simulation->world, err);
}

static int run(struct simulation *simulation, struct err *err)
{
	int code = open_store(simulation, err);

	if (code == 0)
		code = make_world(simulation, true, err);
	if (code == 0)
		code = simulation_define_all(simulation, err);
	if (code == 0)
		code = run_faults(simulation, err);
	if (code == 0 && !simulation->broken[0])
		code = run_calm(simulation, err);
	if (code == -EDEADLK) {
		simulation_broken(simulation, runner_simulated_trouble(simulation->root));
		code = 0;
	}
	for (size_t i = 0; i < SIMULATION_SERVERS; i++)
		service_server_take_down(&simulation->servers[i]);
	if (simulation->world)
		take_counts(simulation);
	return code;
}

static void set_up(struct simulation *simulation, uint64_t seed, FILE *trace, bool steps)
{
	static const char *const names[SIMULATION_SERVERS] = {"anna", "bert"};

	simulation->root = runner_simulated_new(seed);
	simulation->random = runner_random(simulation->root);
	runner_simulated_trace_to(simulation->root, trace, steps);
	simulation->faults = (struct store_faults){before_commit, after_commit, simulation};
	simulation->server_count = SIMULATION_SERVERS;
	for (size_t i = 0; i < SIMULATION_SERVERS; i++) {
		simulation->servers[i].name = names[i];
		simulation->servers[i].has_machines = i == 0;
		if (simulation->config)
			simulation->servers[i].bug = simulation->config->bug;
	}
}

/* When it is known what kind of run it is. */
static void set_up_checker(struct simulation *simulation)
{
	struct service_checker_config config = {.runner = simulation->root,
		.nothing_dies = simulation->gentle,
		.groups = simulation->groups,
		.broken = simulation_broken,
		.context = simulation};

	simulation->checker = service_checker_new(&config);
	for (size_t i = 0; simulation->groups && i < SIMULATION_SERVERS; i++)
		simulation->servers[i].checker = simulation->checker;
}

static void use_file(struct simulation *simulation, const char *folder, uint64_t number)
{
	simulation->path = memory_format("%s/service-%" PRIu64 ".db", folder, number);
	simulation->key_path = memory_format("%s/service-%" PRIu64 ".key", folder, number);
	remove_files(simulation);
}

static void finish(struct simulation *simulation)
{
	simulated_world_free(simulation->world);
	runner_stop(simulation->root);
	runner_join(simulation->root, NULL);
	if (simulation->store)
		close_store(simulation);
	service_checker_free(simulation->checker);
	runner_free(simulation->root);
	remove_files(simulation);
	for (size_t i = 0; i < SIMULATION_GROUPS; i++) {
		free(simulation->group_arns[i]);
		free(simulation->registry_arns[i]);
	}
	free(simulation->path);
	free(simulation->key_path);
}

int service_simulation_run(uint64_t seed, const struct service_simulation *config,
	struct service_simulation_result *ret_result, struct err *err)
{
	struct simulation simulation = {.config = config, .groups = config->groups};
	int code;

	set_up(&simulation, seed, config->trace, config->trace_steps);
	if (simulation_draw(&simulation, FILE_ONE_IN) == 0 && config->folder)
		use_file(&simulation, config->folder, seed);
	simulation.gentle = simulation_draw(&simulation, GENTLE_ONE_IN) == 0;
	simulation.traffic = simulation_draw(&simulation, QUIET_ONE_IN) > 0;
	simulation.server_count =
		simulation_draw(&simulation, ALONE_ONE_IN) == 0 ? 1 : SIMULATION_SERVERS;
	set_up_checker(&simulation);
	code = run(&simulation, err);
	if (code == 0 && simulation.broken[0])
		code = err_set(err, -EBADMSG, "seed %" PRIu64 ": %s", seed, simulation.broken);
	if (ret_result && (code == 0 || code == -EBADMSG))
		*ret_result = simulation.result;
	finish(&simulation);
	return code;
}

/* ---- killed at one commit ---- */

static const struct course {
	const char *operation, *request;
	bool gone; /* the service, in the end */
} courses[SERVICE_COURSE_COUNT] = {
	[SERVICE_COURSE_ROLLS] = {"UpdateService", "{'service':'web','taskDefinition':'checked'}",
		false},
	[SERVICE_COURSE_ROLLS_BACK] = {"UpdateService",
		"{'service':'web','taskDefinition':'crashing'}", false},
	[SERVICE_COURSE_DELETED] = {"DeleteService", "{'service':'web','force':true}", true},
};

/* The visible end, without ids and times. */
static void describe_end(struct simulation *simulation, struct buffer *out)
{
	_view_ struct store_view *view = store_view_open(simulation->store);
	char key[SIMULATION_KEY_SIZE];
	struct store_cursor cursor = {.view = view,
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_CREATED,
		.prefix = simulation_service_key(SERVICE_WEB, key)};
	const struct store_object *service = store_get(view, &service_kind, cursor.prefix), *object;

	buffer_format(out, "%s:", service_status_name(service_facts(service)->status));
	while ((object = store_next(&cursor))) {
		const struct service_deployment_facts *facts = service_deployment_facts(object);
		int64_t counts[TASK_CLASS_COUNT];

		service_count_tasks(view, span_of(key), facts->number, counts);
		buffer_format(out, " %.*s:%lld %s %s %s, %lld healthy;", SPAN_ARGS(facts->family),
			(long long)facts->revision, deployment_status_name(facts->status),
			rollout_state_name(facts->rollout),
			service_deployment_status_name(facts->state),
			(long long)counts[TASK_CLASS_HEALTHY]);
	}
}

static int restart_if_stopped(struct simulation *simulation, struct err *err)
{
	int code;

	if (!simulation->store_stopped)
		return 0;
	code = restart_everything(simulation, err);
	for (size_t i = 0; i < simulation->server_count; i++)
		simulation->servers[i].boot_at_us = 0;
	return code;
}

static int tend_until_settled(struct simulation *simulation, struct err *err)
{
	int64_t until_us = runner_now_us(simulation->root) + CONVERGE_WITHIN_US;
	char wrong[128] = "";

	do {
		int code = sleep_us(simulation, SIMULATION_SECOND_US, err);

		if (code == 0)
			code = restart_if_stopped(simulation, err);
		if (code < 0)
			return code;
		tend_servers(simulation);
		simulation_describe_unsettled(simulation, wrong);
		if (!wrong[0])
			return 0;
	} while (runner_now_us(simulation->root) < until_us && !simulation->broken[0]);
	if (!simulation->broken[0])
		simulation_broken(simulation, wrong);
	return 0;
}

static int take_course(struct simulation *simulation, const struct course *course, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	int code;

	tend_servers(simulation);
	code = simulation_define_all(simulation, err);
	if (code < 0)
		return code;
	simulation->desired_states[SERVICE_WEB].exists = true;
	simulation_request(simulation, arena, "CreateService",
		"{'serviceName':'web','taskDefinition':'quick','desiredCount':3,"
		"'deploymentConfiguration':{'minimumHealthyPercent':67,'maximumPercent':134,"
		"'deploymentCircuitBreaker':{'enable':true,'rollback':true}},"
		"'loadBalancers':[{'targetGroupArn':'%s','containerName':'app','containerPort':80}"
		"],"
		"'serviceRegistries':[{'registryArn':'%s','containerName':'app','containerPort':80}"
		"]}",
		simulation->group_arns[0], simulation->registry_arns[0]);
	code = tend_until_settled(simulation, err);
	simulation->counting = true;
	simulation->desired_states[SERVICE_WEB].exists = !course->gone;
	while (code == 0) {
		simulation_request(simulation, arena, course->operation, "%s", course->request);
		if (!simulation->store_stopped)
			break;
		/* The client heard nothing, and asks again. */
		code = restart_if_stopped(simulation, err);
	}
	return code < 0 ? code : tend_until_settled(simulation, err);
}

int service_simulation_crash(const struct service_kill *kill, unsigned *ret_commits, char **ret_end,
	struct err *err)
{
	struct simulation simulation = {
		.stop_at_commit = kill->commit, .stop_after = kill->after, .groups = kill->groups};
	_buffer_ struct buffer end = {0};
	int code;

	set_up(&simulation, 1, kill->trace, false);
	simulation.server_count = 1;
	simulation.gentle = kill->course == SERVICE_COURSE_ROLLS;
	simulation.traffic = true;
	use_file(&simulation, kill->folder, kill->commit);
	set_up_checker(&simulation);
	code = open_store(&simulation, err);
	if (code == 0)
		code = make_world(&simulation, false, err);
	if (code == 0)
		code = take_course(&simulation, &courses[kill->course], err);
	if (code == 0 && simulation.store)
		describe_end(&simulation, &end);
	if (code == 0 && simulation.broken[0])
		code = err_set(err, -EBADMSG, "killed %s commit %u: %s",
			kill->after ? "after" : "before", kill->commit, simulation.broken);
	for (size_t i = 0; i < SIMULATION_SERVERS; i++)
		service_server_take_down(&simulation.servers[i]);
	if (code == 0) {
		*ret_commits = simulation.commits;
		*ret_end = buffer_take(&end, NULL);
	}
	finish(&simulation);
	return code;
}
