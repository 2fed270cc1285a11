/*
 * Requests of clients and operators of the service simulation, through the real API: services come, change
 * and go, with definitions that work and others that do not; task sets; tasks of their own; instances that drain.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "ecs/ecs.h"
#include "ecs/record/container_instance.h"
#include "sim/service/service_simulation_internal.h"

#define TASK_MEMORY 96 /* ten to an instance */
#define DESIRED_MAX 5
#define SETS_MAX 3

static const struct {
	const char *name;
	bool daemon, sets;
} services[SIMULATION_SERVICES] = {
	[SERVICE_WEB] = {.name = "web"},
	[SERVICE_API] = {.name = "api"},
	[SERVICE_AGENT] = {.name = "agent", .daemon = true},
	[SERVICE_SHOP] = {.name = "shop", .sets = true},
};

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

/* ---- requests ---- */

const char *simulation_service_name(size_t service)
{
	return services[service].name;
}

bool simulation_service_has_sets(size_t service)
{
	return services[service].sets;
}

struct span simulation_service_key(size_t service, char out[SIMULATION_KEY_SIZE])
{
	snprintf(out, SIMULATION_KEY_SIZE, SIMULATION_CLUSTER "/%s", services[service].name);
	return span_of(out);
}

struct exchange {
	struct arena *arena;
	struct json *answer;
	int status;
};

static void take_answer(void *context, const struct aws_answer *answer)
{
	struct exchange *exchange = context;
	struct span body = arena_copy_span(exchange->arena, answer->body);

	exchange->status = answer->status;
	if (json_parse(body, exchange->arena, &exchange->answer, NULL) < 0)
		exchange->answer = NULL;
}

static const struct json *request_list(struct simulation *simulation,
	const struct aws_service *service, struct arena *arena, const char *operation,
	const char *format, va_list list)
{
	static const struct aws_caller caller = {.account = {SIMULATION_ACCOUNT, 12},
		.user = {"admin", 5},
		.access_key = {"", 0},
		.region = {SIMULATION_REGION, 9}};
	struct exchange exchange = {.arena = arena};
	struct span body = arena_format_list(arena, format, list), message;

	for (size_t i = 0; i < body.length; i++)
		if (body.data[i] == '\'')
			((char *)body.data)[i] = '"';
	aws_dispatch(simulation->dispatcher, service, span_of(operation), &caller, body, arena,
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

const struct json *simulation_request(struct simulation *simulation, struct arena *arena,
	const char *operation, const char *format, ...)
{
	const struct json *answer;
	va_list list;

	va_start(list, format);
	answer = request_list(simulation, &ecs_service, arena, operation, format, list);
	va_end(list);
	return answer;
}

const struct json *simulation_request_to(struct simulation *simulation,
	const struct aws_service *service, struct arena *arena, const char *operation,
	const char *format, ...)
{
	const struct json *answer;
	va_list list;

	va_start(list, format);
	answer = request_list(simulation, service, arena, operation, format, list);
	va_end(list);
	return answer;
}

/* ---- existing objects ---- */

/* The facts of a service that is not INACTIVE; false if there is none. */
static bool read_service(struct simulation *simulation, size_t service,
	struct service_facts *ret_facts)
{
	_view_ struct store_view *view = store_view_open(simulation->store);
	char key[SIMULATION_KEY_SIZE];
	const struct store_object *object =
		store_get(view, &service_kind, simulation_service_key(service, key));

	if (!object || service_facts(object)->status == SERVICE_INACTIVE)
		return false;
	*ret_facts = *service_facts(object); /* numbers only are used behind the view's end */
	return true;
}

/* A live task of the service drawn at random; "" if it has none. */
static void draw_task(struct simulation *simulation, size_t service, char out[64])
{
	_view_ struct store_view *view = store_view_open(simulation->store);
	char prefix[160], key[SIMULATION_KEY_SIZE];
	struct store_cursor cursor = {.view = view, .kind = &task_kind, .index = TASK_BY_SERVICE};
	const struct store_object *task = NULL;
	uint64_t count, chosen;

	snprintf(prefix, sizeof(prefix), "%.*s/live/",
		SPAN_ARGS(simulation_service_key(service, key)));
	cursor.prefix = span_of(prefix);
	count = store_count(view, cursor.kind, cursor.index, cursor.prefix, false);
	out[0] = '\0';
	if (count == 0)
		return;
	chosen = simulation_draw(simulation, count);
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
	chosen = simulation_draw(simulation, count);
	for (uint64_t i = 0; i <= chosen; i++)
		instance = store_next(&cursor);
	snprintf(out, 64, "%.*s", SPAN_ARGS(container_instance_facts(instance)->id));
}

/* ---- actions of clients ---- */

int simulation_define_all(struct simulation *simulation, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);

	if (!simulation_request(simulation, arena, "CreateCluster", "{}"))
		return err_set(err, -EIO, "the cluster could not be created");
	for (size_t i = 0; i < LENGTH(definitions); i++)
		if (!simulation_request(simulation, arena, "RegisterTaskDefinition",
			    "{'family':'%s','containerDefinitions':[{'name':'app','image':'host',"
			    "'memory':%d,'stopTimeout':8,'portMappings':[{'containerPort':80}],"
			    "'command':[%s]%s}]}",
			    definitions[i].family, TASK_MEMORY, definitions[i].behaviour,
			    definitions[i].checked ? ",'healthCheck':{'command':['CMD','true']}"
						   : ""))
			return err_set(err, -EIO, "'%s' could not be registered",
				definitions[i].family);
	return simulation_define_traffic(simulation, err);
}

static const struct definition *draw_definition(struct simulation *simulation)
{
	/* Mostly one that works. Where nothing may die, one whose health is not in question, too. */
	if (simulation->gentle)
		return &definitions[simulation_draw(simulation, 3)];
	return simulation->only_good || simulation_draw(simulation, 3) > 0
		       ? &definitions[simulation_draw(simulation, GOOD_DEFINITIONS)]
		       : &definitions[simulation_draw(simulation, LENGTH(definitions))];
}

/* Percentages that leave room to move for this many tasks. */
static void draw_percentages(struct simulation *simulation, size_t service, int64_t desired,
	int *ret_minimum, int *ret_maximum)
{
	static const int minimums[] = {0, 50, 50, 75, 100, 100},
			 maximums[] = {100, 125, 150, 200, 200};

	do {
		*ret_minimum = minimums[simulation_draw(simulation, LENGTH(minimums))];
		*ret_maximum = maximums[simulation_draw(simulation, LENGTH(maximums))];
		if (services[service].daemon)
			desired = 1; /* however few instances there are */
		/* Of three instances, when one drains, it would allow none to be without its daemon. */
		if (services[service].daemon && *ret_minimum == 75)
			*ret_minimum = 50;
	} while (desired > 0 && (desired * *ret_minimum + 99) / 100 >= desired &&
		 desired * *ret_maximum / 100 <= desired);
}

static const char *draw_breaker(struct simulation *simulation)
{
	static const char *const breakers[] = {"", "",
		",'deploymentCircuitBreaker':{'enable':true,'rollback':true}",
		",'deploymentCircuitBreaker':{'enable':true,'rollback':false}"};

	return breakers[simulation_draw(simulation, LENGTH(breakers))];
}

static void note_desired(struct simulation *simulation, size_t service, int64_t desired)
{
	struct simulation_update *desired_state = &simulation->desired_states[service];

	desired_state->possible = desired;
	if (simulation->status == 200)
		desired_state->certain = desired;
	else if (!simulation->unknown_end)
		desired_state->possible = desired_state->certain;
}

static void create_service(struct simulation *simulation, size_t service)
{
	_arena_ struct arena *arena = arena_new(0);
	int64_t desired = 1 + (int64_t)simulation_draw(simulation, DESIRED_MAX);
	int minimum, maximum;

	draw_percentages(simulation, service, desired, &minimum, &maximum);
	if (services[service].sets)
		simulation_request(simulation, arena, "CreateService",
			"{'serviceName':'%s','desiredCount':%" PRId64
			",'deploymentController':{'type':'EXTERNAL'}}",
			services[service].name, desired);
	else if (services[service].daemon)
		simulation_request(simulation, arena, "CreateService",
			"{'serviceName':'%s','taskDefinition':'%s','schedulingStrategy':'DAEMON',"
			"'deploymentConfiguration':{'minimumHealthyPercent':%d,'maximumPercent':%d%"
			"s}%s}",
			services[service].name, draw_definition(simulation)->family, minimum,
			maximum > 100 && minimum < 100 ? 100 : maximum, draw_breaker(simulation),
			simulation_draw_traffic(simulation, service, arena));
	else
		simulation_request(simulation, arena, "CreateService",
			"{'serviceName':'%s','taskDefinition':'%s','desiredCount':%" PRId64
			",'deploymentConfiguration':{'minimumHealthyPercent':%d,'maximumPercent':%"
			"d%s}"
			"%s%s}",
			services[service].name, draw_definition(simulation)->family, desired,
			minimum, maximum, draw_breaker(simulation),
			simulation_draw(simulation, 3) == 0 ? ",'healthCheckGracePeriodSeconds':4"
							    : "",
			simulation_draw_traffic(simulation, service, arena));
	if (simulation->status == 200 || simulation->unknown_end) {
		simulation->desired_states[service].exists = true;
		simulation->desired_states[service].certain = desired;
	}
	note_desired(simulation, service, desired);
}

/* Scales, redeploys, changes percentages: some or all of it at once. */
static void update_service(struct simulation *simulation, size_t service,
	const struct service_facts *facts)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer body = {0};
	int64_t desired = facts->desired;
	int minimum, maximum;

	buffer_format(&body, "{'service':'%s'", services[service].name);
	if (!services[service].daemon && simulation_draw(simulation, 2)) {
		desired = (int64_t)simulation_draw(simulation, DESIRED_MAX + 1);
		buffer_format(&body, ",'desiredCount':%" PRId64, desired);
	}
	if (simulation_draw(simulation, 2))
		buffer_format(&body, ",'taskDefinition':'%s'", draw_definition(simulation)->family);
	else if (simulation_draw(simulation, 4) == 0)
		buffer_format(&body, ",'forceNewDeployment':true");
	if (simulation_draw(simulation, 6) == 0)
		buffer_format(&body, "%s", simulation_draw_traffic(simulation, service, arena));
	else if (simulation_draw(simulation, 12) == 0)
		buffer_format(&body, ",'loadBalancers':[],'serviceRegistries':[]");
	draw_percentages(simulation, service, desired, &minimum, &maximum);
	if (services[service].daemon && maximum > 100 && minimum < 100)
		maximum = 100;
	buffer_format(&body,
		",'deploymentConfiguration':{'minimumHealthyPercent':%d,'maximumPercent':%d%s}}",
		minimum, maximum, draw_breaker(simulation));
	simulation_request(simulation, arena, "UpdateService", "%s", body.data);
	if (!services[service].daemon)
		note_desired(simulation, service, desired);
}

static void scale_service(struct simulation *simulation, size_t service)
{
	_arena_ struct arena *arena = arena_new(0);
	int64_t desired = (int64_t)simulation_draw(simulation, DESIRED_MAX + 1);

	simulation_request(simulation, arena, "UpdateService",
		"{'service':'%s','desiredCount':%" PRId64 "}", services[service].name, desired);
	note_desired(simulation, service, desired);
}

/* A task set drawn at random; "" if there is none. */
static void draw_set(struct simulation *simulation, size_t service, char out[64], size_t *ret_count)
{
	_view_ struct store_view *view = store_view_open(simulation->store);
	char prefix[160], key[SIMULATION_KEY_SIZE];
	struct store_cursor cursor = {.view = view, .kind = &task_set_kind, .index = -1};
	const struct store_object *set = NULL;
	uint64_t chosen;

	snprintf(prefix, sizeof(prefix), "%.*s/", SPAN_ARGS(simulation_service_key(service, key)));
	cursor.prefix = span_of(prefix);
	*ret_count = store_count(view, cursor.kind, -1, cursor.prefix, false);
	out[0] = '\0';
	if (*ret_count == 0)
		return;
	chosen = simulation_draw(simulation, *ret_count);
	for (uint64_t i = 0; i <= chosen; i++)
		set = store_next(&cursor);
	snprintf(out, 64, SERVICE_DEPLOYMENT_PREFIX "%.*s", SPAN_ARGS(task_set_facts(set)->number));
}

/* Task sets come, grow, shrink and go. */
static void change_sets(struct simulation *simulation, size_t service)
{
	_arena_ struct arena *arena = arena_new(0);
	const char *name = services[service].name;
	char set[64];
	size_t count;

	draw_set(simulation, service, set, &count);
	if (count == 0 || (count < SETS_MAX && simulation_draw(simulation, 3) == 0))
		simulation_request(simulation, arena, "CreateTaskSet",
			"{'cluster':'default','service':'%s','taskDefinition':'%s',"
			"'scale':{'value':%d,'unit':'PERCENT'}%s}",
			name, draw_definition(simulation)->family,
			(int)simulation_draw(simulation, 101),
			simulation_draw_traffic(simulation, service, arena));
	else if (simulation_draw(simulation, 4) == 0)
		simulation_request(simulation, arena, "DeleteTaskSet",
			"{'cluster':'default','service':'%s','taskSet':'%s','force':true}", name,
			set);
	else if (simulation_draw(simulation, 4) == 0)
		simulation_request(simulation, arena, "UpdateServicePrimaryTaskSet",
			"{'cluster':'default','service':'%s','primaryTaskSet':'%s'}", name, set);
	else
		simulation_request(simulation, arena, "UpdateTaskSet",
			"{'cluster':'default','service':'%s','taskSet':'%s',"
			"'scale':{'value':%d,'unit':'PERCENT'}}",
			name, set, (int)simulation_draw(simulation, 101));
}

void simulation_act_update(struct simulation *simulation)
{
	size_t service = simulation_draw(simulation, SIMULATION_SERVICES);
	struct service_facts facts;

	if (!read_service(simulation, service, &facts))
		create_service(simulation, service);
	else if (facts.status != SERVICE_ACTIVE)
		return;
	else if (!services[service].sets)
		update_service(simulation, service, &facts);
	else if (simulation_draw(simulation, 4) == 0)
		scale_service(simulation, service);
	else
		change_sets(simulation, service);
}

static void act_delete(struct simulation *simulation)
{
	_arena_ struct arena *arena = arena_new(0);
	size_t service = simulation_draw(simulation, SIMULATION_SERVICES);

	simulation_request(simulation, arena, "DeleteService", "{'service':'%s','force':true}",
		services[service].name);
	if (simulation->status == 200 || simulation->unknown_end)
		simulation->desired_states[service].exists = false;
}

static void act_stop_task(struct simulation *simulation)
{
	_arena_ struct arena *arena = arena_new(0);
	char task[64];

	draw_task(simulation, simulation_draw(simulation, SIMULATION_SERVICES), task);
	if (task[0] && !simulation->gentle)
		simulation_request(simulation, arena, "StopTask", "{'task':'%s'}", task);
}

static void act_protect(struct simulation *simulation)
{
	_arena_ struct arena *arena = arena_new(0);
	char task[64];

	draw_task(simulation, simulation_draw(simulation, SERVICE_AGENT),
		task); /* not of daemons */
	if (task[0])
		simulation_request(simulation, arena, "UpdateTaskProtection",
			"{'cluster':'default','tasks':['%s'],'protectionEnabled':true,"
			"'expiresInMinutes':1}",
			task);
}

static void act_run_task(struct simulation *simulation)
{
	_arena_ struct arena *arena = arena_new(0);

	simulation_request(simulation, arena, "RunTask",
		"{'taskDefinition':'crashing','count':%d,'startedBy':'operator'}",
		1 + (int)simulation_draw(simulation, 3));
}

static void act_stop_deployment(struct simulation *simulation)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct json *list = simulation_request(simulation, arena, "ListServiceDeployments",
		"{'service':'%s','status':['IN_PROGRESS']}",
		simulation_service_name(simulation_draw(simulation, SIMULATION_SERVICES)));
	struct span arn = json_get_text(json_item(json_get(list, "serviceDeployments"), 0),
		"serviceDeploymentArn");

	if (arn.data)
		simulation_request(simulation, arena, "StopServiceDeployment",
			"{'serviceDeploymentArn':'%.*s','stopType':'%s'}", SPAN_ARGS(arn),
			simulation_draw(simulation, 2) ? "ROLLBACK" : "ABORT");
}

/* ---- actions of operators ---- */

static void set_instance(struct simulation *simulation, const char *instance, const char *status)
{
	_arena_ struct arena *arena = arena_new(0);

	if (instance[0])
		simulation_request(simulation, arena, "UpdateContainerInstancesState",
			"{'containerInstances':['%s'],'status':'%s'}", instance, status);
}

void simulation_drain_one(struct simulation *simulation)
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

	draw_task(simulation, simulation_draw(simulation, SIMULATION_SERVICES), task);
	if (task[0] && !simulation->gentle)
		simulated_world_set_health(simulation->world, span_of(task),
			simulation_draw(simulation, 3) == 0, NULL);
}

void simulation_activate_instances(struct simulation *simulation)
{
	_view_ struct store_view *view = store_view_open(simulation->store);
	struct store_cursor cursor = {.view = view, .kind = &container_instance_kind, .index = -1};
	const struct store_object *instance;

	while ((instance = store_next(&cursor))) {
		char id[64];

		snprintf(id, sizeof(id), "%.*s", SPAN_ARGS(container_instance_facts(instance)->id));
		set_instance(simulation, id, "ACTIVE");
	}
}

/* ---- one of these ---- */

static const struct action {
	unsigned weight;
	void (*act)(struct simulation *simulation);
} actions[] = {
	{40, simulation_act_update},
	{3, act_delete},
	{5, act_stop_task},
	{2, act_protect},
	{4, act_run_task},
	{5, act_stop_deployment},
	{5, simulation_drain_one},
	{7, act_activate},
	{6, act_make_sick},
};

void simulation_act_client(struct simulation *simulation)
{
	unsigned total = 0, chosen;

	for (size_t i = 0; i < LENGTH(actions); i++)
		total += actions[i].weight;
	chosen = (unsigned)simulation_draw(simulation, total);
	for (size_t i = 0; i < LENGTH(actions); i++) {
		if (chosen < actions[i].weight) {
			actions[i].act(simulation);
			return;
		}
		chosen -= actions[i].weight;
	}
}

/* ---- mending ---- */

static bool is_good(struct span family)
{
	for (size_t i = 0; i < LENGTH(definitions); i++)
		if (span_is(family, definitions[i].family))
			return definitions[i].good;
	return false;
}

static void recover_service(struct simulation *simulation, size_t service)
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(simulation->store);
	struct service_facts facts;
	const struct store_object *primary;
	char key[SIMULATION_KEY_SIZE];

	if (!read_service(simulation, service, &facts) || facts.status != SERVICE_ACTIVE)
		return;
	primary = service_primary_deployment(view, simulation_service_key(service, key));
	if (primary && is_good(service_deployment_facts(primary)->family) &&
		service_deployment_facts(primary)->rollout != ROLLOUT_FAILED)
		return;
	simulation_request(simulation, arena, "UpdateService",
		"{'service':'%s','taskDefinition':'quick','forceNewDeployment':true}",
		services[service].name);
}

static void recover_sets(struct simulation *simulation, size_t service)
{
	_arena_ struct arena *arena = arena_new(0);
	_view_ struct store_view *view = store_view_open(simulation->store);
	char key[SIMULATION_KEY_SIZE], prefix[160];
	struct store_cursor cursor = {.view = view, .kind = &task_set_kind, .index = -1};
	const struct store_object *set;

	snprintf(prefix, sizeof(prefix), "%.*s/", SPAN_ARGS(simulation_service_key(service, key)));
	cursor.prefix = span_of(prefix);
	while ((set = store_next(&cursor)))
		if (!is_good(task_set_facts(set)->family) &&
			task_set_facts(set)->status != TASK_SET_DRAINING)
			simulation_request(simulation, arena, "DeleteTaskSet",
				"{'cluster':'default','service':'%s','force':true,"
				"'taskSet':'" SERVICE_DEPLOYMENT_PREFIX "%.*s'}",
				services[service].name, SPAN_ARGS(task_set_facts(set)->number));
}

void simulation_recover(struct simulation *simulation)
{
	for (size_t i = 0; i < SIMULATION_SERVICES; i++) {
		if (services[i].sets)
			recover_sets(simulation, i);
		else
			recover_service(simulation, i);
	}
}
