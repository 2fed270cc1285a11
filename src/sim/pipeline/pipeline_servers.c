/* Our own servers: the store and its faults, the engine, and what users ask for. */
#include <stdio.h>

#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "control/runner_simulated.h"
#include "ecs/ecs.h"
#include "elb/elb.h"
#include "pipeline/deployments.h"
#include "sim/pipeline/pipeline_sim.h"

#define KINDS_MAX 96
#define CRASH_AT_COMMIT_ONE_IN 150
#define FAIL_COMMIT_ONE_IN 80
#define DOWN_MOST_US (15 * SIM_SECOND_US)
#define APPLICATION_KEY SIMULATION_ACCOUNT "/" SIM_APPLICATION

void pipeline_sim_broken(struct pipeline_sim *sim, const char *format, ...)
{
	char rule[ERR_MESSAGE_MAX - 32];
	va_list list;

	va_start(list, format);
	vsnprintf(rule, sizeof(rule), format, list);
	va_end(list);
	runner_trace(sim->root, "BROKEN: %s", rule);
	if (!sim->broken[0])
		snprintf(sim->broken, sizeof(sim->broken), "at %.3f s: %s",
			(double)runner_now_us(sim->root) / (double)SIM_SECOND_US, rule);
}

/* ---- the store ---- */

static bool is_up(const struct pipeline_server *server)
{
	return server->engine && !runner_is_stopped(server->runner);
}

static bool stop_some_server(struct pipeline_sim *sim)
{
	struct pipeline_server *server = &sim->servers[sim_draw(sim, sim->server_count)];

	if (!is_up(server))
		return false;
	runner_trace(sim->root, "%s crashes at a commit", runner_name(server->runner));
	sim->result.crashes++;
	runner_stop(server->runner);
	return true;
}

static int before_commit(void *context)
{
	struct pipeline_sim *sim = context;

	if (!sim->is_faulty)
		return 0;
	if (sim_one_in(sim, CRASH_AT_COMMIT_ONE_IN) && stop_some_server(sim))
		return -EIO;
	return sim_one_in(sim, FAIL_COMMIT_ONE_IN) ? -EIO : 0;
}

static int after_commit(void *context)
{
	struct pipeline_sim *sim = context;

	if (sim->is_faulty && sim_one_in(sim, CRASH_AT_COMMIT_ONE_IN))
		stop_some_server(sim);
	return 0;
}

int pipeline_sim_open_store(struct pipeline_sim *sim, struct err *err)
{
	const struct {
		const struct store_kind *const *kinds;
		size_t count;
	} tables[] = {{pipeline_kinds, pipeline_kind_count}, {ecs_kinds, ecs_kind_count},
		{cloudmap_kinds, cloudmap_kind_count}, {elb_kinds, elb_kind_count}};
	const struct store_kind *kinds[KINDS_MAX] = {&server_kind, &claim_kind};
	struct store_config config = {.url = "memory:",
		.kinds = kinds,
		.kind_count = 2,
		.clock = runner_clock(sim->root),
		.inline_writes = true,
		.faults = &sim->store_faults};

	sim->store_faults = (struct store_faults){before_commit, after_commit, sim};
	for (size_t i = 0; i < LENGTH(tables); i++)
		for (size_t j = 0; j < tables[i].count; j++)
			kinds[config.kind_count++] = tables[i].kinds[j];
	return store_open(&config, &sim->store, err);
}

void pipeline_sim_close_store(struct pipeline_sim *sim)
{
	store_close(TAKE(sim->store));
}

/* ---- servers ---- */

static void report(void *context, const char *controller, struct span key, const struct err *err)
{
	struct pipeline_server *server = context;

	runner_trace(server->runner, "%s: %.*s: %s", controller, SPAN_ARGS(key), err->message);
}

static void report_claims(void *context, const char *message)
{
	struct pipeline_server *server = context;

	runner_trace(server->runner, "%s", message);
}

static struct aws_target *make_target(void *context)
{
	struct pipeline_server *server = context;

	return pipeline_sim_make_target(server->sim, server->runner);
}

static int boot(struct pipeline_server *server, struct err *err)
{
	struct pipeline_sim *sim = server->sim;
	struct claims_config claims = {.store = sim->store,
		.server = server->name,
		.lease_us = SIM_LEASE_US,
		.report = report_claims,
		.report_context = server};
	struct engine_config engine = {
		.store = sim->store, .bug = sim->bug, .report = report, .report_context = server};
	struct aws_dispatch_config dispatch = {.store = sim->store, .random = sim->random};
	char name[32];
	int code;

	snprintf(name, sizeof(name), "%s.%u", server->name, ++server->boots);
	server->runner = runner_group_new(sim->root, name);
	runner_trace(server->runner, "boots");
	dispatch.clock = runner_clock(server->runner);
	claims.runner = engine.runner = server->runner;
	code = claims_start(&claims, &server->claims, err);
	if (code < 0)
		return code;
	server->dispatcher = aws_dispatcher_new(&dispatch);
	server->targets =
		aws_targets_created(&pipeline_sim_target_settings, 1, make_target, server);
	engine.claims = server->claims;
	engine.dispatcher = server->dispatcher;
	engine.targets = server->targets;
	return engine_start(&engine, &server->engine, err);
}

void pipeline_sim_take_down(struct pipeline_sim *sim, struct pipeline_server *server)
{
	if (server->runner) {
		runner_stop(server->runner);
		engine_stop(TAKE(server->engine));
		claims_stop(TAKE(server->claims));
		runner_join(server->runner, NULL);
		aws_targets_free(TAKE(server->targets));
		aws_dispatcher_free(TAKE(server->dispatcher));
		runner_free(TAKE(server->runner));
	}
	server->boot_at_us = runner_now_us(sim->root);
	if (sim->is_faulty)
		server->boot_at_us += (int64_t)sim_draw(sim, DOWN_MOST_US);
}

void pipeline_sim_tend_servers(struct pipeline_sim *sim)
{
	for (size_t i = 0; i < sim->server_count; i++) {
		struct pipeline_server *server = &sim->servers[i];
		struct err err = {0};

		if (server->runner && runner_is_stopped(server->runner))
			pipeline_sim_take_down(sim, server);
		if (!server->runner && server->boot_at_us <= runner_now_us(sim->root) &&
			boot(server, &err) < 0) {
			runner_trace(sim->root, "%s does not boot: %s", server->name, err.message);
			pipeline_sim_take_down(sim, server);
		}
	}
}

void pipeline_sim_crash(struct pipeline_sim *sim, struct runner *runner)
{
	sim->result.crashes++;
	runner_trace(sim->root, "%s crashes at a call", runner_name(runner));
	runner_stop(runner);
	runner_yield(runner);
}

/* ---- files ---- */

static struct span task_file(const struct pipeline_sim *sim, struct arena *arena, unsigned version)
{
	const struct pipeline_plan *plan = &sim->plan;

	return arena_format(arena,
		"{'family':'" SIM_APPLICATION "','networkMode':'awsvpc','containerDefinitions':["
		"{'name':'web','image':'host','memory':64,'portMappings':[{'containerPort':8080}],"
		"'command':['VERSION=%u','SIMULATED_START_MS=100-3000'%s%s]%s}]}",
		version,
		plan->is_broken && version > 1 ? plan->has_health_checks
							 ? ",'SIMULATED_HEALTH_MS=never'"
							 : ",'SIMULATED_FAIL_START=broken'"
					       : "",
		plan->has_health_checks ? ",'SIMULATED_STOP_MS=200'" : "",
		plan->has_health_checks ? ",'healthCheck':{'command':['CMD','true']}" : "");
}

static struct span service_file(const struct pipeline_sim *sim, struct arena *arena)
{
	const struct pipeline_plan *plan = &sim->plan;

	return arena_format(arena,
		"{'serviceName':'" SIM_APPLICATION "','desiredCount':%lld,'networkConfiguration':"
		"{'awsvpcConfiguration':{'subnets':['subnet-1']}},'deploymentController':{'type':"
		"'%s'}%s}",
		(long long)plan->desired, plan->course.has_services ? "ECS" : "EXTERNAL",
		plan->course.has_names
			? arena_format(arena, ",'serviceRegistries':[{'registryArn':'%s'}]",
				  sim->registry_arn)
				  .data
			: "");
}

/* One stage, and an approval that times out if the deployment is to fail after it. */
static void add_stage(const struct pipeline_sim *sim, struct buffer *out, unsigned number,
	const char *kind, const char *options)
{
	buffer_format(out, "%s{'name':'%s','timeout':'20m','with':{%s}}", number > 1 ? "," : "",
		kind, options);
	if (number == sim->plan.course.fails_at)
		buffer_format(out, ",{'name':'WAIT_APPROVAL','with':{'timeout':'5s'}}");
	else if (number == 2)
		buffer_format(out, ",{'name':'WAIT','with':{'duration':'7s'}}");
}

static struct span pipeline_file(const struct pipeline_sim *sim, struct arena *arena)
{
	_buffer_ struct buffer out = {0};
	const struct pipeline_plan *plan = &sim->plan;
	char scale[32], canary[32];

	snprintf(scale, sizeof(scale), "'scale':%lld", (long long)plan->scale);
	snprintf(canary, sizeof(canary), "'canary':%lld", (long long)plan->percent);
	buffer_format(&out,
		"{'apiVersion':'pipecd.dev/"
		"v1beta1','kind':'ECSApp','spec':{'name':'" SIM_APPLICATION
		"','input':{'taskDefinitionFile':'task.json','serviceDefinitionFile':"
		"'service.json',%s",
		plan->course.keeps_old ? "'keepOldPrimary':'20s'," : "");
	if (plan->course.has_names)
		buffer_format(&out,
			"'accessType':'SERVICE_DISCOVERY','serviceDiscovery':{"
			"'canaryRegistration':'%s'%s}",
			plan->is_canary_registered_by_ecs ? "ECS" : "AGENT",
			plan->has_preview ? arena_format(arena, ",'previewRegistryArn':'%s'",
						    sim->preview_arn)
						    .data
					  : "");
	else
		buffer_format(&out,
			"'targetGroups':{'primary':{'targetGroupArn':'%s','containerName':'web',"
			"'containerPort':8080},'canary':{'targetGroupArn':'%s','containerName':"
			"'web','containerPort':8080}}",
			sim->blue_arn, sim->green_arn);
	if (plan->stages && !plan->stages[0]) {
		buffer_format(&out, "}}}");
		return arena_copy_span(arena, buffer_span(&out));
	}
	buffer_format(&out, "},'planner':{'alwaysUsePipeline':true},'pipeline':{'stages':[");
	if (plan->stages) {
		buffer_format(&out, "%s]}}}", plan->stages);
		return arena_copy_span(arena, buffer_span(&out));
	}
	add_stage(sim, &out, 1, "ECS_CANARY_ROLLOUT", scale);
	add_stage(sim, &out, 2, "ECS_TRAFFIC_ROUTING", canary);
	add_stage(sim, &out, 3, "ECS_PRIMARY_ROLLOUT", "");
	add_stage(sim, &out, 4, "ECS_TRAFFIC_ROUTING", "'primary':100");
	add_stage(sim, &out, 5, "ECS_CANARY_CLEAN", "");
	buffer_format(&out, "]}}}");
	return arena_copy_span(arena, buffer_span(&out));
}

static void add_file(struct arena *arena, struct json *files, const char *name, struct span text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == '\'')
			((char *)text.data)[i] = '"';
	json_set_string(arena, files, name, text);
}

/* ---- users ---- */

struct order {
	struct pipeline_sim *sim;
	struct deployment_request request;
	struct span id;
	bool roll_back;
};

static int put_deployment(struct store_transaction *transaction, void *context, struct err *err)
{
	struct order *order = context;
	struct span id;
	int code = deployment_start(transaction, &order->request, &id, err);

	if (code >= 0)
		snprintf(order->sim->deployment, sizeof(order->sim->deployment), "%.*s",
			SPAN_ARGS(id));
	return code;
}

int pipeline_sim_deploy(struct pipeline_sim *sim, unsigned version, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *files = json_new_object(arena);
	struct order order = {.sim = sim,
		.request = {.application = SPAN(APPLICATION_KEY),
			.trigger = DEPLOYMENT_TRIGGER_SYNC,
			.strategy = PLAN_AUTOMATIC,
			.files = files,
			.application_file = SPAN("app.json"),
			.commit = SPAN(""),
			.message = SPAN(""),
			.flow = SPAN(""),
			.created_by = SPAN(""),
			.region = SPAN(SIMULATION_REGION),
			.target = SPAN(SIM_TARGET),
			.role = SPAN(""),
			.token = SPAN(""),
			.now_ms = runner_wall_ms(sim->root),
			.random = sim->random}};

	add_file(arena, files, "app.json", pipeline_file(sim, arena));
	add_file(arena, files, "task.json", task_file(sim, arena, version));
	add_file(arena, files, "service.json", service_file(sim, arena));
	return store_write_wait(sim->store, put_deployment, &order, NULL, err);
}

static int put_order(struct store_transaction *transaction, void *context, struct err *err)
{
	struct order *order = context;

	return deployment_cancel(transaction, SPAN(APPLICATION_KEY),
		span_of(order->sim->deployment), order->roll_back, runner_wall_ms(order->sim->root),
		err);
}

int pipeline_sim_cancel(struct pipeline_sim *sim, bool roll_back, struct err *err)
{
	struct order order = {.sim = sim, .roll_back = roll_back};

	return store_write_wait(sim->store, put_order, &order, NULL, err);
}

static int put_retry(struct store_transaction *transaction, void *context, struct err *err)
{
	struct pipeline_sim *sim = context;

	return deployment_retry_rollback(transaction, SPAN(APPLICATION_KEY),
		span_of(sim->deployment), runner_wall_ms(sim->root), err);
}

int pipeline_sim_retry(struct pipeline_sim *sim, struct err *err)
{
	return store_write_wait(sim->store, put_retry, sim, NULL, err);
}

static int put_rollback(struct store_transaction *transaction, void *context, struct err *err)
{
	struct pipeline_sim *sim = context;

	return deployment_roll_back(transaction, SPAN(APPLICATION_KEY), span_of(sim->deployment),
		SPAN("admin"), runner_wall_ms(sim->root), err);
}

int pipeline_sim_roll_back(struct pipeline_sim *sim, struct err *err)
{
	return store_write_wait(sim->store, put_rollback, sim, NULL, err);
}

static const struct store_object *find_deployment(struct pipeline_sim *sim,
	const struct store_view *view, struct arena *arena)
{
	return store_get(view, &deployment_kind,
		deployment_key(arena, SPAN(APPLICATION_KEY), span_of(sim->deployment)));
}

bool pipeline_sim_is_rolling_back(struct pipeline_sim *sim)
{
	_view_ struct store_view *view = store_view_open(sim->store);
	_arena_ struct arena *arena = arena_new(0);
	const struct store_object *object = find_deployment(sim, view, arena);

	return object && deployment_facts(object)->state == PIPELINE_DEPLOYMENT_ROLLING_BACK;
}

void pipeline_sim_read_reason(struct pipeline_sim *sim, char *out, size_t size)
{
	_view_ struct store_view *view = store_view_open(sim->store);
	_arena_ struct arena *arena = arena_new(0);
	struct deployment_end end;

	out[0] = '\0';
	if (deployment_find_end(view, SPAN(APPLICATION_KEY), span_of(sim->deployment), arena, &end))
		snprintf(out, size, "%.*s", SPAN_ARGS(end.reason));
}

bool pipeline_sim_has_ended(struct pipeline_sim *sim, enum pipeline_deployment_state *ret_state)
{
	_view_ struct store_view *view = store_view_open(sim->store);
	_arena_ struct arena *arena = arena_new(0);
	struct deployment_end end;

	if (!deployment_find_end(view, SPAN(APPLICATION_KEY), span_of(sim->deployment), arena,
		    &end) ||
		!end.has_ended)
		return false;
	runner_trace(sim->root, "the deployment has ended: %s: %.*s",
		pipeline_deployment_state_name(end.state), SPAN_ARGS(end.reason));
	*ret_state = end.state;
	return true;
}
