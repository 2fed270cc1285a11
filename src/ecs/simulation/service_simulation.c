/*
 * See service_simulation.h. Main is clients, operator and fate in one. Everything it does is drawn from the
 * seed, by way of the runner.
 */
#include "ecs/simulation/service_simulation.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "aws/dispatch.h"
#include "base/memory.h"
#include "control/runner_simulated.h"
#include "ecs/container_instance.h"
#include "ecs/ecs.h"
#include "ecs/simulation/service_checker.h"
#include "ecs/simulation/service_server.h"

#define SERVERS 2
#define SERVICES 3
#define INSTANCES 4
#define INSTANCE_MEMORY 1024
#define TASK_MEMORY 96 /* ten to an instance */
#define DESIRED_MAX 5
#define SECOND_US INT64_C(1000000)
#define CONVERGE_WITHIN_US (1800 * SECOND_US)
/* Late calls and echoes arrive until so long after the faults ended. */
#define QUIET_US (25 * SECOND_US)
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
/* One in so many has one server only, so that nobody makes good what it missed. */
#define ALONE_ONE_IN 3

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

static const char *const service_names[SERVICES] = {"web", "api", "agent"};
#define DAEMON 2 /* the last of them is one */

/* Task definitions: what they do, in the words of the simulated runtime. */
static const struct definition {
	const char *family;
	bool good;
	bool checked; /* has a health check */
	const char *behaviour;
} definitions[] = {
	{"quick", true, false, "'SIMULATED_START_MS=50-500'"},
	{"slow", true, false, "'SIMULATED_START_MS=2000-9000','SIMULATED_STOP_MS=500-5000'"},
	{"stubborn", true, false, "'SIMULATED_START_MS=100','SIMULATED_STOP_MS=never'"},
	{"checked", true, true, "'SIMULATED_START_MS=200','SIMULATED_HEALTH_MS=500-6000'"},
	{"crashing", false, false, "'SIMULATED_RUN_MS=200-3000','SIMULATED_EXIT_CODE=3'"},
	{"broken", false, false, "'SIMULATED_FAIL_START=CannotStartContainerError: broken'"},
	{"sick", false, true,
		"'SIMULATED_HEALTH_MS=500-2000','SIMULATED_UNHEALTHY_AFTER_MS=3000-8000'"},
	{"never-well", false, true,
		"'SIMULATED_HEALTH_MS=never',"
		"'SIMULATED_UNHEALTHY_AFTER_MS=2000'"},
};
#define GOOD_DEFINITIONS 4

/* What was asked for. A wish whose end was not seen may count or not. */
struct wish {
	bool exists;
	int64_t certain, possible;
};

struct simulation {
	const struct service_simulation *config;
	struct service_simulation_result result;
	struct runner *root;
	struct random *random;
	char *path, *key_path; /* NULL: in memory */
	struct store *store;
	struct aws_dispatcher *dispatcher;
	struct store_faults faults;
	bool faulty;        /* faults happen */
	bool gentle;        /* nothing dies by itself */
	bool only_good;     /* clients want only what works */
	bool store_stopped; /* at a commit: everything has to start from the file */
	struct simulated_world *world;
	struct service_checker *checker;
	struct service_server servers[SERVERS];
	unsigned server_count;
	struct wish wishes[SERVICES];
	/* Of the last request: */
	int status;
	bool unknown_end; /* nobody knows whether it was done */
	/* A sweep: the commit at which everything stops. 0: none. */
	unsigned stop_at_commit;
	bool stop_after;
	unsigned commits;
	bool counting;
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
	if (draw(simulation, CRASH_AT_COMMIT_ONE_IN) == 0) {
		stop_server(simulation,
			&simulation->servers[draw(simulation, simulation->server_count)]);
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

	if (simulation->counting && simulation->stop_after &&
		simulation->commits == simulation->stop_at_commit) {
		simulation->store_stopped = true;
		return -ECANCELED;
	}
	if (!simulation->faulty)
		return 0;
	if (draw(simulation, CRASH_AT_COMMIT_ONE_IN) == 0)
		stop_server(simulation,
			&simulation->servers[draw(simulation, simulation->server_count)]);
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
		.kinds = ecs_kinds,
		.kind_count = ecs_kind_count,
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
	aws_dispatcher_register(simulation->dispatcher, &ecs_service, NULL);
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

/* ---- requests ---- */

struct exchange {
	struct simulation *simulation;
	struct arena *arena;
	struct json *answer;
	int status;
	bool answered;
};

static void take_answer(void *context, const struct aws_answer *answer)
{
	struct exchange *exchange = context;
	struct span body = arena_copy_span(exchange->arena, answer->body);

	exchange->answered = true;
	exchange->status = answer->status;
	if (json_parse(body, exchange->arena, &exchange->answer, NULL) < 0)
		exchange->answer = NULL;
}

/* A request written with ' for "; NULL unless it was done. */
__attribute__((format(printf, 4, 5))) static const struct json *request(struct simulation
										*simulation,
	struct arena *arena, const char *operation, const char *format, ...)
{
	static const struct aws_caller caller = {.account = {SIMULATION_ACCOUNT, 12},
		.user = {"admin", 5},
		.access_key = {"", 0},
		.region = {SIMULATION_REGION, 9}};
	struct exchange exchange = {.simulation = simulation, .arena = arena};
	struct span body, message;
	va_list list;

	va_start(list, format);
	body = arena_format_list(arena, format, list);
	va_end(list);
	for (size_t i = 0; i < body.length; i++)
		if (body.data[i] == '\'')
			((char *)body.data)[i] = '"';
	aws_dispatch(simulation->dispatcher, &ecs_service, span_of(operation), &caller, body, arena,
		take_answer, &exchange);
	simulation->result.requests++;
	simulation->status = exchange.status;
	simulation->unknown_end = simulation->store_stopped;
	message = json_get_text(exchange.answer, "message");
	runner_trace(simulation->root, "%s %.*s: %d%s%.*s", operation, SPAN_ARGS(body),
		exchange.status, message.data ? " " : "",
		SPAN_ARGS(message.data ? message : SPAN("")));
	if (exchange.status != 200)
		simulation->result.refused++;
	return exchange.status == 200 ? exchange.answer : NULL;
}

/* ---- what is there ---- */

static struct span service_key(struct simulation *simulation, size_t service, char out[128])
{
	(void)simulation;
	snprintf(out, 128, SIMULATION_CLUSTER "/%s", service_names[service]);
	return span_of(out);
}

/* The facts of a service that is not INACTIVE; false if there is none. */
static bool read_service(struct simulation *simulation, size_t service,
	struct service_facts *ret_facts)
{
	_view_ struct store_view *view = store_view_open(simulation->store);
	char key[128];
	const struct store_object *object =
		store_get(view, &service_kind, service_key(simulation, service, key));

	if (!object || service_facts(object)->status == SERVICE_INACTIVE)
		return false;
	*ret_facts = *service_facts(object); /* numbers only are used behind the view's end */
	return true;
}

/* A live task of the service drawn at random; "" if it has none. */
static void draw_task(struct simulation *simulation, size_t service, char out[64])
{
	_view_ struct store_view *view = store_view_open(simulation->store);
	char prefix[160], key[128];
	struct store_cursor cursor = {.view = view, .kind = &task_kind, .index = TASK_BY_SERVICE};
	const struct store_object *task = NULL;
	uint64_t count, chosen;

	snprintf(prefix, sizeof(prefix), "%.*s/live/",
		SPAN_ARGS(service_key(simulation, service, key)));
	cursor.prefix = span_of(prefix);
	count = store_count(view, cursor.kind, cursor.index, cursor.prefix, false);
	out[0] = '\0';
	if (count == 0)
		return;
	chosen = draw(simulation, count);
	for (uint64_t i = 0; i <= chosen; i++)
		task = store_next(&cursor);
	snprintf(out, 64, "%.*s", SPAN_ARGS(task_facts(task)->id));
}

/* An instance drawn at random; "" if there is none. */
static void draw_instance(struct simulation *simulation, char out[64])
{
	_view_ struct store_view *view = store_view_open(simulation->store);
	struct store_cursor cursor = {.view = view,
		.kind = &container_instance_kind,
		.index = -1,
		.prefix = SPAN(SIMULATION_CLUSTER "/")};
	uint64_t count = store_count(view, cursor.kind, -1, cursor.prefix, false), chosen;
	const struct store_object *instance = NULL;

	out[0] = '\0';
	if (count == 0)
		return;
	chosen = draw(simulation, count);
	for (uint64_t i = 0; i <= chosen; i++)
		instance = store_next(&cursor);
	snprintf(out, 64, "%.*s", SPAN_ARGS(container_instance_facts(instance)->id));
}

/* ---- what clients do ---- */

static int define_all(struct simulation *simulation, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);

	if (!request(simulation, arena, "CreateCluster", "{}"))
		return err_set(err, -EIO, "the cluster could not be created");
	for (size_t i = 0; i < LENGTH(definitions); i++)
		if (!request(simulation, arena, "RegisterTaskDefinition",
			    "{'family':'%s','containerDefinitions':[{'name':'app','image':'host',"
			    "'memory':%d,'stopTimeout':8,'command':[%s]%s}]}",
			    definitions[i].family, TASK_MEMORY, definitions[i].behaviour,
			    definitions[i].checked ? ",'healthCheck':{'command':['CMD','true']}"
						   : ""))
			return err_set(err, -EIO, "'%s' could not be registered",
				definitions[i].family);
	return 0;
}

static const struct definition *draw_definition(struct simulation *simulation)
{
	/* Mostly one that works. Where nothing may die, one whose health is not in question, too. */
	if (simulation->gentle)
		return &definitions[draw(simulation, 3)];
	return simulation->only_good || draw(simulation, 3) > 0
		       ? &definitions[draw(simulation, GOOD_DEFINITIONS)]
		       : &definitions[draw(simulation, LENGTH(definitions))];
}

/* Percentages that leave room to move for this many tasks. */
static void draw_percentages(struct simulation *simulation, size_t service, int64_t desired,
	int *ret_minimum, int *ret_maximum)
{
	static const int minimums[] = {0, 50, 50, 75, 100, 100},
			 maximums[] = {100, 125, 150, 200, 200};

	do {
		*ret_minimum = minimums[draw(simulation, LENGTH(minimums))];
		*ret_maximum = maximums[draw(simulation, LENGTH(maximums))];
		if (service == DAEMON)
			desired = 1; /* however few instances there are */
	} while (desired > 0 && (desired * *ret_minimum + 99) / 100 >= desired &&
		 desired * *ret_maximum / 100 <= desired);
}

static const char *draw_breaker(struct simulation *simulation)
{
	static const char *const breakers[] = {"", "",
		",'deploymentCircuitBreaker':{'enable':true,'rollback':true}",
		",'deploymentCircuitBreaker':{'enable':true,'rollback':false}"};

	return breakers[draw(simulation, LENGTH(breakers))];
}

static void note_wish(struct simulation *simulation, size_t service, int64_t desired)
{
	struct wish *wish = &simulation->wishes[service];

	wish->possible = desired;
	if (simulation->status == 200)
		wish->certain = desired;
	else if (!simulation->unknown_end)
		wish->possible = wish->certain;
}

static void create_service(struct simulation *simulation, size_t service)
{
	_arena_ struct arena *arena = arena_new(0);
	int64_t desired = 1 + (int64_t)draw(simulation, DESIRED_MAX);
	int minimum, maximum;

	draw_percentages(simulation, service, desired, &minimum, &maximum);
	if (service == DAEMON)
		request(simulation, arena, "CreateService",
			"{'serviceName':'%s','taskDefinition':'%s','schedulingStrategy':'DAEMON',"
			"'deploymentConfiguration':{'minimumHealthyPercent':%d,'maximumPercent':%d%"
			"s}}",
			service_names[service], draw_definition(simulation)->family, minimum,
			maximum > 100 && minimum < 100 ? 100 : maximum, draw_breaker(simulation));
	else
		request(simulation, arena, "CreateService",
			"{'serviceName':'%s','taskDefinition':'%s','desiredCount':%" PRId64
			",'deploymentConfiguration':{'minimumHealthyPercent':%d,'maximumPercent':%"
			"d%s}"
			"%s}",
			service_names[service], draw_definition(simulation)->family, desired,
			minimum, maximum, draw_breaker(simulation),
			draw(simulation, 3) == 0 ? ",'healthCheckGracePeriodSeconds':4" : "");
	if (simulation->status == 200 || simulation->unknown_end) {
		simulation->wishes[service].exists = true;
		simulation->wishes[service].certain = desired;
	}
	note_wish(simulation, service, desired);
}

/* Scales, redeploys, changes percentages: some or all of it at once. */
static void update_service(struct simulation *simulation, size_t service,
	const struct service_facts *facts)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer body = {0};
	int64_t desired = facts->desired;
	int minimum, maximum;

	buffer_format(&body, "{'service':'%s'", service_names[service]);
	if (service != DAEMON && draw(simulation, 2)) {
		desired = (int64_t)draw(simulation, DESIRED_MAX + 1);
		buffer_format(&body, ",'desiredCount':%" PRId64, desired);
	}
	if (draw(simulation, 2))
		buffer_format(&body, ",'taskDefinition':'%s'", draw_definition(simulation)->family);
	else if (draw(simulation, 4) == 0)
		buffer_format(&body, ",'forceNewDeployment':true");
	draw_percentages(simulation, service, desired, &minimum, &maximum);
	if (service == DAEMON && maximum > 100 && minimum < 100)
		maximum = 100;
	buffer_format(&body,
		",'deploymentConfiguration':{'minimumHealthyPercent':%d,'maximumPercent':%d%s}}",
		minimum, maximum, draw_breaker(simulation));
	request(simulation, arena, "UpdateService", "%s", body.data);
	if (service != DAEMON)
		note_wish(simulation, service, desired);
}

static void act_wish(struct simulation *simulation)
{
	size_t service = draw(simulation, SERVICES);
	struct service_facts facts;

	if (!read_service(simulation, service, &facts))
		create_service(simulation, service);
	else if (facts.status == SERVICE_ACTIVE)
		update_service(simulation, service, &facts);
}

static void act_delete(struct simulation *simulation)
{
	_arena_ struct arena *arena = arena_new(0);
	size_t service = draw(simulation, SERVICES);

	request(simulation, arena, "DeleteService", "{'service':'%s','force':true}",
		service_names[service]);
	if (simulation->status == 200 || simulation->unknown_end)
		simulation->wishes[service].exists = false;
}

static void act_stop_task(struct simulation *simulation)
{
	_arena_ struct arena *arena = arena_new(0);
	char task[64];

	draw_task(simulation, draw(simulation, SERVICES), task);
	if (task[0] && !simulation->gentle)
		request(simulation, arena, "StopTask", "{'task':'%s'}", task);
}

static void act_protect(struct simulation *simulation)
{
	_arena_ struct arena *arena = arena_new(0);
	char task[64];

	draw_task(simulation, draw(simulation, DAEMON), task);
	if (task[0])
		request(simulation, arena, "UpdateTaskProtection",
			"{'cluster':'default','tasks':['%s'],'protectionEnabled':true,"
			"'expiresInMinutes':1}",
			task);
}

static void act_run_task(struct simulation *simulation)
{
	_arena_ struct arena *arena = arena_new(0);

	request(simulation, arena, "RunTask",
		"{'taskDefinition':'crashing','count':%d,'startedBy':'somebody'}",
		1 + (int)draw(simulation, 3));
}

static void act_stop_deployment(struct simulation *simulation)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct json *list = request(simulation, arena, "ListServiceDeployments",
		"{'service':'%s','status':['IN_PROGRESS']}",
		service_names[draw(simulation, SERVICES)]);
	struct span arn = json_get_text(json_item(json_get(list, "serviceDeployments"), 0),
		"serviceDeploymentArn");

	if (arn.data)
		request(simulation, arena, "StopServiceDeployment",
			"{'serviceDeploymentArn':'%.*s','stopType':'%s'}", SPAN_ARGS(arn),
			draw(simulation, 2) ? "ROLLBACK" : "ABORT");
}

/* ---- what operators do ---- */

static void set_instance(struct simulation *simulation, const char *instance, const char *status)
{
	_arena_ struct arena *arena = arena_new(0);

	if (instance[0])
		request(simulation, arena, "UpdateContainerInstancesState",
			"{'containerInstances':['%s'],'status':'%s'}", instance, status);
}

static void act_drain(struct simulation *simulation)
{
	char instance[64];

	draw_instance(simulation, instance);
	set_instance(simulation, instance, "DRAINING");
}

static void act_activate(struct simulation *simulation)
{
	char instance[64];

	draw_instance(simulation, instance);
	set_instance(simulation, instance, "ACTIVE");
}

static void act_make_sick(struct simulation *simulation)
{
	char task[64];

	draw_task(simulation, draw(simulation, SERVICES), task);
	if (task[0] && !simulation->gentle)
		simulated_world_set_health(simulation->world, span_of(task),
			draw(simulation, 3) == 0, NULL);
}

/* ---- what fate does ---- */

static struct service_server *some_server_that_is_up(struct simulation *simulation)
{
	struct service_server *server =
		&simulation->servers[draw(simulation, simulation->server_count)];

	return server->runner && !runner_is_stopped(server->runner) ? server : NULL;
}

static void take_down(struct simulation *simulation, struct service_server *server)
{
	simulation->result.overflows += service_server_overflows(server);
	service_server_take_down(server);
	server->boot_at_us =
		runner_now_us(simulation->root) +
		(int64_t)draw(simulation, 3) * (int64_t)draw(simulation, 5 * SECOND_US);
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
	int64_t duration_us = 1 + (int64_t)draw(simulation, 15 * SECOND_US);

	if (!server)
		return;
	runner_trace(simulation->root, "%s is paused for %.3f s", runner_name(server->runner),
		(double)duration_us / (double)SECOND_US);
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

static const struct action {
	unsigned weight;
	void (*act)(struct simulation *simulation);
} actions[] = {
	{40, act_wish},
	{3, act_delete},
	{5, act_stop_task},
	{2, act_protect},
	{4, act_run_task},
	{5, act_stop_deployment},
	{5, act_drain},
	{7, act_activate},
	{6, act_make_sick},
	{5, act_crash},
	{8, act_pause},
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

/* What a service is not; NULL if it is as wanted. */
static const char *unsettled(struct simulation *simulation, const struct store_view *view,
	size_t service)
{
	char key[128];
	const struct store_object *object =
		store_get(view, &service_kind, service_key(simulation, service, key));
	const struct store_object *primary;
	int64_t counts[TASK_CLASS_COUNT], sums[STORE_MEASURES];
	const struct service_facts *facts;
	char prefix[160];

	if (!object || service_facts(object)->status == SERVICE_INACTIVE)
		return simulation->wishes[service].exists ? "is gone" : NULL;
	facts = service_facts(object);
	if (facts->status != SERVICE_ACTIVE)
		return "is still draining";
	primary = service_primary_deployment(view, object->key);
	if (!primary || service_deployment_facts(primary)->rollout != ROLLOUT_COMPLETED)
		return "has not completed its deployment";
	if (store_count(view, &service_deployment_kind, DEPLOYMENT_BY_LIVE, object->key, true) != 1)
		return "has more than one deployment";
	service_count_tasks(view, object->key, service_deployment_facts(primary)->number, counts);
	if (counts[TASK_CLASS_HEALTHY] != facts->desired)
		return "has not the wanted number of healthy tasks";
	snprintf(prefix, sizeof(prefix), "%.*s/live/", SPAN_ARGS(object->key));
	if ((int64_t)store_count(view, &task_kind, TASK_BY_SERVICE, span_of(prefix), false) !=
		facts->desired)
		return "has other tasks";
	store_sum(view, &task_kind, TASK_BY_SERVICE, span_of(prefix), false, sums);
	if (sums[TASK_SUM_RUNNING] != facts->desired)
		return "counts its running tasks wrongly";
	if (!span_is(facts->told, "steady"))
		return "has not told that it is steady";
	return NULL;
}

/* Everything that runs is the program of a RUNNING task, and the other way round. */
struct comparison {
	struct simulation *simulation;
	const struct store_view *view;
	uint64_t programs;
	const char *wrong;
};

static void compare_program(void *context, const struct simulated_program *program)
{
	struct comparison *comparison = context;
	struct store_cursor cursor = {.view = comparison->view,
		.kind = &task_kind,
		.index = TASK_BY_ID,
		.prefix = program->token,
		.exact = true};
	const struct store_object *task = store_next(&cursor);

	comparison->programs++;
	if (!task)
		comparison->wrong = "a program runs that has no task";
	else if (task_facts(task)->last != TASK_RUNNING ||
		 task_facts(task)->desired != TASK_RUNNING)
		comparison->wrong = "a program runs whose task shall not";
}

static const char *differs_from_world(struct simulation *simulation, const struct store_view *view)
{
	struct comparison comparison = {.simulation = simulation, .view = view};
	struct store_cursor cursor = {.view = view, .kind = &task_kind, .index = -1};
	const struct store_object *task;
	uint64_t live = 0;

	simulated_world_each_program(simulation->world, compare_program, &comparison);
	while ((task = store_next(&cursor))) {
		live += task_facts(task)->last < TASK_STOPPED;
		if (task_facts(task)->last < TASK_STOPPED &&
			!service_checker_runs(simulation->checker, task_facts(task)->id))
			comparison.wrong = "a task is live and its program does not run";
	}
	if (!comparison.wrong && live != comparison.programs)
		comparison.wrong = "tasks and programs are not equally many";
	return comparison.wrong;
}

/* "" if all is as wanted. */
static void describe_unsettled(struct simulation *simulation, char out[128])
{
	_view_ struct store_view *view = store_view_open(simulation->store);
	const char *wrong;

	out[0] = '\0';
	for (size_t i = 0; i < SERVICES; i++) {
		wrong = unsettled(simulation, view, i);
		if (wrong) {
			snprintf(out, 128, "service %s %s", service_names[i], wrong);
			return;
		}
	}
	wrong = differs_from_world(simulation, view);
	if (wrong)
		snprintf(out, 128, "%s", wrong);
}

static void check_wishes(struct simulation *simulation)
{
	char rule[160];

	for (size_t i = 0; i < DAEMON; i++) {
		const struct wish *wish = &simulation->wishes[i];
		struct service_facts facts;

		if (!wish->exists || !read_service(simulation, i, &facts) ||
			facts.desired == wish->certain || facts.desired == wish->possible)
			continue;
		snprintf(rule, sizeof(rule),
			"service %s wants %" PRId64 " tasks, and %" PRId64 " was acknowledged last",
			service_names[i], facts.desired, wish->certain);
		note_broken(simulation, rule);
	}
}

static int sleep_us(struct simulation *simulation, int64_t duration_us, struct err *err)
{
	int code = runner_sleep_until(simulation->root,
		runner_deadline_us(simulation->root, duration_us));

	if (code < 0)
		err_set(err, code, "%s", runner_simulated_trouble(simulation->root));
	service_checker_look(simulation->checker);
	return code;
}

static bool is_good(struct span family)
{
	for (size_t i = 0; i < LENGTH(definitions); i++)
		if (span_is(family, definitions[i].family))
			return definitions[i].good;
	return false;
}

/* What can not come to an end by itself, because a client wants something that does not work, is mended by
 * the client. */
static void mend_service(struct simulation *simulation, size_t service)
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(simulation->store);
	struct service_facts facts;
	const struct store_object *primary;
	char key[128];

	if (!read_service(simulation, service, &facts) || facts.status != SERVICE_ACTIVE)
		return;
	primary = service_primary_deployment(view, service_key(simulation, service, key));
	if (primary && is_good(service_deployment_facts(primary)->family) &&
		service_deployment_facts(primary)->rollout != ROLLOUT_FAILED)
		return;
	request(simulation, arena, "UpdateService",
		"{'service':'%s','taskDefinition':'quick','forceNewDeployment':true}",
		service_names[service]);
}

static void calm_down(struct simulation *simulation)
{
	_view_ struct store_view *view = NULL;
	struct store_cursor cursor;
	const struct store_object *instance;

	simulation->faulty = false;
	simulated_world_calm_down(simulation->world);
	runner_trace(simulation->root, "the faults are over");
	view = store_view_open(simulation->store);
	cursor = (struct store_cursor){.view = view, .kind = &container_instance_kind, .index = -1};
	while ((instance = store_next(&cursor))) {
		char id[64];

		snprintf(id, sizeof(id), "%.*s", SPAN_ARGS(container_instance_facts(instance)->id));
		set_instance(simulation, id, "ACTIVE");
	}
}

/* What is lost in the middle is often made good by what comes later; nothing comes after this. */
static int act_last(struct simulation *simulation, struct err *err)
{
	unsigned count = 4 + (unsigned)draw(simulation, 12);

	tend_servers(simulation);
	for (size_t i = 0; i < simulation->server_count && draw(simulation, 2); i++)
		act_pause(simulation);
	simulation->only_good = true;
	for (unsigned i = 0; i < count; i++) {
		int code = sleep_us(simulation, (int64_t)draw(simulation, SECOND_US / 2), err);

		if (code < 0)
			return code;
		act_wish(simulation);
	}
	return 0;
}

static int run_faults(struct simulation *simulation, struct err *err)
{
	int64_t until_us =
		runner_now_us(simulation->root) + (20 + (int64_t)draw(simulation, 40)) * SECOND_US;

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
		/* Not at once: much is mended by itself, and a breaker may still trip. */
		if (passed_us > QUIET_US)
			for (size_t i = 0; i < SERVICES; i++)
				mend_service(simulation, i);
		code = sleep_us(simulation, 2 * SECOND_US, err);
		if (code < 0)
			return code;
		if (simulation->broken[0])
			return 0;
		if (passed_us < QUIET_US)
			continue;
		describe_unsettled(simulation, wrong);
		if (!wrong[0])
			break;
		if (passed_us > CONVERGE_WITHIN_US) {
			char rule[256];

			snprintf(rule, sizeof(rule), "long after the faults ended %s", wrong);
			note_broken(simulation, rule);
			return 0;
		}
	}
	check_wishes(simulation);
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
	result->late_programs = service_checker_late_programs(simulation->checker);
	result->virtual_us = runner_now_us(simulation->root);
	result->steps = runner_simulated_steps(simulation->root);
	result->hash = runner_simulated_hash(simulation->root);
}

static int make_world(struct simulation *simulation, bool faulty, struct err *err)
{
	struct simulated_faults faults = simulated_faults_rough;
	struct simulated_config config = {.instances = INSTANCES,
		.cpu = 4096,
		.memory = INSTANCE_MEMORY,
		.remember_tokens = true,
		.observer = service_checker_observer(simulation->checker)};

	if (simulation->gentle)
		faults.task_dies_every_us = faults.instance_dies_every_us = 0;
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
		code = define_all(simulation, err);
	if (code == 0)
		code = run_faults(simulation, err);
	if (code == 0 && !simulation->broken[0])
		code = run_calm(simulation, err);
	if (code == -EDEADLK) {
		note_broken(simulation, runner_simulated_trouble(simulation->root));
		code = 0;
	}
	for (size_t i = 0; i < SERVERS; i++)
		service_server_take_down(&simulation->servers[i]);
	if (simulation->world)
		take_counts(simulation);
	return code;
}

static void set_up(struct simulation *simulation, uint64_t seed, FILE *trace, bool steps)
{
	static const char *const names[SERVERS] = {"anna", "bert"};

	simulation->root = runner_simulated_new(seed);
	simulation->random = runner_random(simulation->root);
	runner_simulated_trace_to(simulation->root, trace, steps);
	simulation->faults = (struct store_faults){before_commit, after_commit, simulation};
	simulation->server_count = SERVERS;
	for (size_t i = 0; i < SERVERS; i++) {
		simulation->servers[i].name = names[i];
		simulation->servers[i].has_machines = i == 0;
		if (simulation->config)
			simulation->servers[i].bug = simulation->config->bug;
	}
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
	free(simulation->path);
	free(simulation->key_path);
}

int service_simulation_run(uint64_t seed, const struct service_simulation *config,
	struct service_simulation_result *ret_result, struct err *err)
{
	struct simulation simulation = {.config = config};
	int code;

	set_up(&simulation, seed, config->trace, config->trace_steps);
	if (draw(&simulation, FILE_ONE_IN) == 0 && config->folder)
		use_file(&simulation, config->folder, seed);
	simulation.gentle = draw(&simulation, GENTLE_ONE_IN) == 0;
	simulation.server_count = draw(&simulation, ALONE_ONE_IN) == 0 ? 1 : SERVERS;
	simulation.checker =
		service_checker_new(simulation.root, simulation.gentle, note_broken, &simulation);
	code = run(&simulation, err);
	if (code == 0 && simulation.broken[0])
		code = err_set(err, -EBADMSG, "seed %" PRIu64 ": %s", seed, simulation.broken);
	if (ret_result && (code == 0 || code == -EBADMSG))
		*ret_result = simulation.result;
	finish(&simulation);
	return code;
}

/* ---- killed at one commit ---- */

/* All that somebody could see of the end but ids and times. */
static void describe_end(struct simulation *simulation, struct buffer *out)
{
	_view_ struct store_view *view = store_view_open(simulation->store);
	char key[128];
	struct store_cursor cursor = {.view = view,
		.kind = &service_deployment_kind,
		.index = DEPLOYMENT_BY_CREATED,
		.prefix = service_key(simulation, 0, key)};
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		const struct service_deployment_facts *facts = service_deployment_facts(object);
		int64_t counts[TASK_CLASS_COUNT];

		service_count_tasks(view, span_of(key), facts->number, counts);
		buffer_format(out, "%.*s:%lld %s %s %s failed %lld, healthy %lld;",
			SPAN_ARGS(facts->family), (long long)facts->revision,
			deployment_status_name(facts->status), rollout_state_name(facts->rollout),
			service_deployment_status_name(facts->state), (long long)facts->failed_ever,
			(long long)counts[TASK_CLASS_HEALTHY]);
	}
}

static int tend_until_settled(struct simulation *simulation, struct err *err)
{
	int64_t until_us = runner_now_us(simulation->root) + CONVERGE_WITHIN_US;
	char wrong[128] = "";

	do {
		int code = sleep_us(simulation, SECOND_US, err);

		if (code == 0 && simulation->store_stopped) {
			code = restart_everything(simulation, err);
			for (size_t i = 0; i < simulation->server_count; i++)
				simulation->servers[i].boot_at_us = 0;
		}
		if (code < 0)
			return code;
		tend_servers(simulation);
		describe_unsettled(simulation, wrong);
		if (!wrong[0])
			return 0;
	} while (runner_now_us(simulation->root) < until_us && !simulation->broken[0]);
	if (!simulation->broken[0])
		note_broken(simulation, wrong);
	return 0;
}

static int roll(struct simulation *simulation, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	int code;

	tend_servers(simulation);
	code = define_all(simulation, err);
	if (code < 0)
		return code;
	simulation->wishes[0].exists = true;
	request(simulation, arena, "CreateService",
		"{'serviceName':'web','taskDefinition':'quick','desiredCount':3,"
		"'deploymentConfiguration':{'minimumHealthyPercent':67,'maximumPercent':134}}");
	code = tend_until_settled(simulation, err);
	if (code < 0)
		return code;
	simulation->counting = true;
	do {
		if (simulation->store_stopped)
			code = restart_everything(simulation, err);
		if (code == 0)
			request(simulation, arena, "UpdateService",
				"{'service':'web','taskDefinition':'checked'}");
	} while (code == 0 && simulation->store_stopped && simulation->status != 200);
	return code < 0 ? code : tend_until_settled(simulation, err);
}

int service_simulation_crash(unsigned commit, bool after, const char *folder, FILE *trace,
	unsigned *ret_commits, char **ret_end, struct err *err)
{
	struct simulation simulation = {.stop_at_commit = commit, .stop_after = after};
	_buffer_ struct buffer end = {0};
	int code;

	set_up(&simulation, 1, trace, false);
	simulation.server_count = 1;
	simulation.gentle = true;
	use_file(&simulation, folder, commit);
	simulation.checker = service_checker_new(simulation.root, true, note_broken, &simulation);
	code = open_store(&simulation, err);
	if (code == 0)
		code = make_world(&simulation, false, err);
	if (code == 0)
		code = roll(&simulation, err);
	if (code == 0 && simulation.store)
		describe_end(&simulation, &end);
	if (code == 0 && simulation.broken[0])
		code = err_set(err, -EBADMSG, "killed %s commit %u: %s", after ? "after" : "before",
			commit, simulation.broken);
	for (size_t i = 0; i < SERVERS; i++)
		service_server_take_down(&simulation.servers[i]);
	if (code == 0) {
		*ret_commits = simulation.commits;
		*ret_end = buffer_take(&end, NULL);
	}
	finish(&simulation);
	return code;
}
