/* See the header. */
#include "ecs/simulation/service_server.h"

#include <stdio.h>

#include "base/map.h"
#include "base/memory.h"

#define SECOND_US INT64_C(1000000)
#define ENDED_KEPT 8 /* few, so that the runtime forgets while the simulation runs */

/* ---- a runtime with a bug between it and its user ---- */

struct bugged_runtime {
	struct runtime runtime;
	struct runtime *inner;
	enum service_bug bug;
	unsigned repeats;
	struct map forgotten; /* tokens whose stop is taken for done */
};

static struct runtime *inner_of(struct runtime *runtime)
{
	return CONTAINER_OF(runtime, struct bugged_runtime, runtime)->inner;
}

static int list_instances(struct runtime *runtime, struct arena *arena,
	struct runtime_instance **ret_instances, size_t *ret_count, struct err *err)
{
	struct runtime *inner = inner_of(runtime);

	return inner->operations->list_instances(inner, arena, ret_instances, ret_count, err);
}

static int list_tasks(struct runtime *runtime, struct arena *arena, struct span **ret_tokens,
	size_t *ret_count, struct err *err)
{
	struct runtime *inner = inner_of(runtime);

	return inner->operations->list_tasks(inner, arena, ret_tokens, ret_count, err);
}

static int start(struct runtime *runtime, struct span token, struct span instance,
	const struct json *spec, struct err *err)
{
	struct bugged_runtime *bugged = CONTAINER_OF(runtime, struct bugged_runtime, runtime);
	struct runtime *inner = bugged->inner;
	char other[RUNTIME_TOKEN_MAX + 1];
	int code = inner->operations->start(inner, token, instance, spec, err);

	if (code == 0 || code == -EINVAL || code == -ECANCELED ||
		bugged->bug != SERVICE_BUG_DOUBLE_START)
		return code;
	snprintf(other, sizeof(other), "%.*s-%u", SPAN_ARGS(token), ++bugged->repeats);
	return inner->operations->start(inner, span_of(other), instance, spec, err);
}

static int stop(struct runtime *runtime, struct span token, struct span reason, struct err *err)
{
	struct bugged_runtime *bugged = CONTAINER_OF(runtime, struct bugged_runtime, runtime);
	struct runtime *inner = bugged->inner;
	int code = inner->operations->stop(inner, token, reason, err);

	if (bugged->bug != SERVICE_BUG_LOSE_STOP || code == 0 || code == -ENOENT ||
		code == -ECANCELED)
		return code;
	map_put(&bugged->forgotten, token, bugged);
	return 0;
}

static int get(struct runtime *runtime, struct span token, struct arena *arena,
	struct runtime_task **ret_task, struct err *err)
{
	struct bugged_runtime *bugged = CONTAINER_OF(runtime, struct bugged_runtime, runtime);
	struct runtime *inner = bugged->inner;
	int code = inner->operations->get(inner, token, arena, ret_task, err);

	if (code == 0 && map_has(&bugged->forgotten, token))
		(*ret_task)->phase = RUNTIME_STOPPED;
	if (bugged->bug == SERVICE_BUG_READ_AS_EMPTY && code < 0 && code != -ECANCELED)
		return -ENOENT;
	if (bugged->bug == SERVICE_BUG_LOSE_EXIT && code == 0 &&
		(*ret_task)->phase == RUNTIME_STOPPED &&
		inner->operations->acknowledge(inner, token, NULL) == 0)
		return -ENOENT;
	return code;
}

static int acknowledge(struct runtime *runtime, struct span token, struct err *err)
{
	struct runtime *inner = inner_of(runtime);

	return inner->operations->acknowledge(inner, token, err);
}

static void close_bugged(struct runtime *runtime)
{
	struct bugged_runtime *bugged = CONTAINER_OF(runtime, struct bugged_runtime, runtime);

	bugged->inner->operations->close(bugged->inner);
	map_clear(&bugged->forgotten);
	free(bugged);
}

static const struct runtime_operations bugged_operations = {.name = "simulated",
	.list_instances = list_instances,
	.list_tasks = list_tasks,
	.start = start,
	.stop = stop,
	.get = get,
	.acknowledge = acknowledge,
	.close = close_bugged};

static struct runtime *put_bug_in(struct runtime *inner, enum service_bug bug)
{
	struct bugged_runtime *bugged = memory_allocate(sizeof(*bugged));

	bugged->runtime.operations = &bugged_operations;
	bugged->inner = inner;
	bugged->bug = bug;
	return &bugged->runtime;
}

/* ---- booting ---- */

static void report(void *context, const char *controller, struct span key, const struct err *err)
{
	struct service_server *server = context;

	runner_trace(server->runner, "%s: %.*s: %s", controller, SPAN_ARGS(key), err->message);
}

static void runtime_changed_something(void *context, struct span token)
{
	struct service_server *server = context;

	task_controller_changed(server->tasks, token);
	if (token.length == 0 && server->keeper)
		instance_keeper_refresh(server->keeper);
}

static int boot_machines(struct service_server *server, struct store *store,
	struct simulated_world *world, struct err *err)
{
	struct task_controller_config tasks = {.runner = server->runner,
		.store = store,
		.host = SPAN("machines"),
		.ended_kept = ENDED_KEPT,
		.queue = {.backoff_most_us = 10 * SECOND_US},
		.report = report,
		.report_context = server};
	struct runtime_simulated_config runtime = {
		.runner = server->runner, .changed = runtime_changed_something, .context = server};
	struct instance_keeper_config keeper = {.runner = server->runner,
		.store = store,
		.random = runner_random(server->runner),
		.host = SPAN("machines"),
		.account = SPAN(SIMULATION_ACCOUNT),
		.region = SPAN(SIMULATION_REGION),
		.cluster = SPAN("default"),
		.report = report,
		.report_context = server};
	int code;

	server->tasks = task_controller_new(&tasks);
	code = runtime_simulated_open(world, &runtime, &server->runtime, err);
	if (code < 0)
		return code;
	if (server->bug)
		server->runtime = put_bug_in(server->runtime, server->bug);
	keeper.runtime = server->runtime;
	code = instance_keeper_start(&keeper, &server->keeper, err);
	return code < 0 ? code : task_controller_start(server->tasks, server->runtime, err);
}

int service_server_boot(struct service_server *server, struct runner *root, struct store *store,
	struct simulated_world *world, struct err *err)
{
	enum service_bug bug = server->bug;
	struct controller_config services = {
		.store = store,
		.context = &server->control,
		.queue = {.backoff_most_us = 10 * SECOND_US,
			.bug_lose_dirty = bug == SERVICE_BUG_LOSE_DIRTY},
		.report = report,
		.report_context = server,
		.bug_ignore_overflow = bug == SERVICE_BUG_DEAF,
	};
	char name[32];
	int code = 0;

	server->control = (struct service_control){
		.bug_ignore_minimum = bug == SERVICE_BUG_IGNORE_MINIMUM,
		.bug_ignore_maximum = bug == SERVICE_BUG_IGNORE_MAXIMUM,
		.bug_forget_stop = bug == SERVICE_BUG_FORGET_STOP,
		.bug_count_running = bug == SERVICE_BUG_COUNT_RUNNING,
		.bug_stale_counts = bug == SERVICE_BUG_STALE_COUNTS,
		.bug_repeat_events = bug == SERVICE_BUG_REPEAT_EVENTS,
	};
	snprintf(name, sizeof(name), "%s.%u", server->name, ++server->boots);
	server->runner = runner_group_new(root, name);
	services.runner = server->runner;
	runner_trace(server->runner, "boots");
	if (server->has_machines)
		code = boot_machines(server, store, world, err);
	return code < 0 ? code
			: controller_start(&service_controller_row, &services, &server->services,
				  err);
}

unsigned service_server_overflows(const struct service_server *server)
{
	struct controller_statistics statistics = {0};

	if (server->services)
		controller_statistics(server->services, &statistics);
	return (unsigned)statistics.overflows;
}

void service_server_take_down(struct service_server *server)
{
	if (!server->runner)
		return;
	runner_stop(server->runner);
	controller_stop(TAKE(server->services));
	if (server->tasks)
		task_controller_stop(server->tasks);
	instance_keeper_stop(TAKE(server->keeper));
	if (server->runtime)
		server->runtime->operations->close(TAKE(server->runtime));
	task_controller_free(TAKE(server->tasks));
	runner_join(server->runner, NULL);
	runner_free(TAKE(server->runner));
}
