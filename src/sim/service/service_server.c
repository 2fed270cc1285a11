/* See the header. */
#include "sim/service/service_server.h"

#include <stdio.h>

#include "base/map.h"
#include "base/memory.h"
#include "ecs/service/service_group.h"
#include "ecs/task/task_traffic.h"
#include "sim/service/watched_runtime.h"

#define SECOND_US INT64_C(1000000)
#define BATCH_SIZE 10
#define ENDED_KEPT 8 /* few, so that the runtime forgets while the simulation runs */

/* ---- a runtime with a bug between it and its user ---- */

struct bugged_runtime {
	struct runtime runtime;
	struct runtime *inner;
	enum service_bug bug;
	unsigned repeats;
	struct map forgotten; /* tokens whose stop is taken for done */
	struct map groups;    /* requests to groups, which are not repeated */
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
	if (bugged->bug == SERVICE_BUG_OPEN_EARLY && code == 0 && (*ret_task)->gate_closed &&
		(*ret_task)->phase == RUNTIME_RUNNING)
		inner->operations->groups->open_gate(inner, token, NULL);
	if (bugged->bug == SERVICE_BUG_END_UNKNOWN && code == 0)
		(*ret_task)->group = SPAN("");
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
	map_clear(&bugged->groups);
	free(bugged);
}

static int apply(struct runtime *runtime, const struct runtime_group *group, struct err *err)
{
	struct bugged_runtime *bugged = CONTAINER_OF(runtime, struct bugged_runtime, runtime);
	struct runtime *inner = bugged->inner;
	char key[STORE_KEY_MAX];

	snprintf(key, sizeof(key), "%.*s %.*s %lld %lld %lld", SPAN_ARGS(group->id),
		SPAN_ARGS(group->version), (long long)group->desired,
		(long long)group->minimum_healthy, (long long)group->maximum);
	if (bugged->bug == SERVICE_BUG_APPLY_ONCE && map_put(&bugged->groups, span_of(key), bugged))
		return 0;
	if (bugged->bug == SERVICE_BUG_REMOVE_ONCE)
		map_remove(&bugged->groups, group->id);
	return inner->operations->groups->apply(inner, group, err);
}

static int remove_group(struct runtime *runtime, struct span id, struct err *err)
{
	struct bugged_runtime *bugged = CONTAINER_OF(runtime, struct bugged_runtime, runtime);
	struct runtime *inner = bugged->inner;

	if (bugged->bug == SERVICE_BUG_REMOVE_ONCE && map_put(&bugged->groups, id, bugged))
		return 0;
	return inner->operations->groups->remove(inner, id, err);
}

static int get_group(struct runtime *runtime, struct span id, struct arena *arena,
	struct runtime_group_state **ret_group, struct err *err)
{
	struct runtime *inner = inner_of(runtime);

	return inner->operations->groups->get(inner, id, arena, ret_group, err);
}

static int list_groups(struct runtime *runtime, struct arena *arena, struct span **ret_ids,
	size_t *ret_count, struct err *err)
{
	struct runtime *inner = inner_of(runtime);

	return inner->operations->groups->list(inner, arena, ret_ids, ret_count, err);
}

static int open_gate(struct runtime *runtime, struct span token, struct err *err)
{
	struct runtime *inner = inner_of(runtime);

	return inner->operations->groups->open_gate(inner, token, err);
}

static int cordon(struct runtime *runtime, struct span instance, bool closed, struct err *err)
{
	struct runtime *inner = inner_of(runtime);

	return inner->operations->groups->cordon(inner, instance, closed, err);
}

static const struct runtime_group_operations bugged_groups = {.apply = apply,
	.remove = remove_group,
	.get = get_group,
	.list = list_groups,
	.open_gate = open_gate,
	.cordon = cordon};

#define BUGGED_OPERATIONS                                                                          \
	.name = "simulated", .list_instances = list_instances, .list_tasks = list_tasks,           \
	.start = start, .stop = stop, .get = get, .acknowledge = acknowledge,                      \
	.close = close_bugged

static const struct runtime_operations bugged_operations = {BUGGED_OPERATIONS};
static const struct runtime_operations bugged_operations_with_groups = {
	BUGGED_OPERATIONS, .groups = &bugged_groups};

static struct runtime *put_bug_in(struct runtime *inner, enum service_bug bug)
{
	struct bugged_runtime *bugged = memory_allocate(sizeof(*bugged));

	bugged->runtime.operations =
		inner->operations->groups ? &bugged_operations_with_groups : &bugged_operations;
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
	if (token.length == 0 && server->maintainer)
		instance_maintainer_refresh(server->maintainer);
}

static void runtime_changed_group(void *context, struct span id)
{
	struct service_server *server = context;

	group_controller_changed(server->groups, id);
}

static int make_controllers(struct service_server *server, struct store *store, struct err *err)
{
	struct write_batch_config batch = {
		.runner = server->runner, .store = store, .size = BATCH_SIZE};
	struct task_controller_config tasks = {.runner = server->runner,
		.store = store,
		.host = SPAN(SIMULATION_HOST),
		.ended_kept = ENDED_KEPT,
		.queue = {.backoff_most_us = 10 * SECOND_US},
		.adopt = service_group_adopt,
		.bug_stop_at_once = server->bug == SERVICE_BUG_STOP_REGISTERED,
		.bug_register_early = server->bug == SERVICE_BUG_REGISTER_EARLY,
		.report = report,
		.report_context = server};
	struct group_controller_config groups = {.runner = server->runner,
		.store = store,
		.host = SPAN(SIMULATION_HOST),
		.account = SPAN(SIMULATION_ACCOUNT),
		.region = SPAN(SIMULATION_REGION),
		.queue = {.backoff_most_us = 10 * SECOND_US},
		.report = report,
		.report_context = server};
	int code = server->checker ? write_batch_new(&batch, &server->batch, err) : 0;

	if (code < 0)
		return code;
	tasks.batch = server->batch;
	server->tasks = task_controller_new(&tasks);
	server->groups = group_controller_new(&groups);
	return 0;
}

static int open_runtime(struct service_server *server, struct simulated_world *world,
	struct err *err)
{
	struct runtime_simulated_config config = {.runner = server->runner,
		.changed = runtime_changed_something,
		.group_changed = runtime_changed_group,
		.context = server};
	int code = runtime_simulated_open(world, &config, &server->runtime, err);

	if (code < 0)
		return code;
	if (server->checker)
		server->runtime =
			watched_runtime_new(server->runtime, server->runner, server->checker);
	if (server->bug)
		server->runtime = put_bug_in(server->runtime, server->bug);
	return 0;
}

static int boot_machines(struct service_server *server, struct store *store,
	struct simulated_world *world, struct err *err)
{
	struct instance_maintainer_config maintainer = {.runner = server->runner,
		.store = store,
		.random = runner_random(server->runner),
		.host = SPAN(SIMULATION_HOST),
		.account = SPAN(SIMULATION_ACCOUNT),
		.region = SPAN(SIMULATION_REGION),
		.cluster = SPAN("default"),
		.report = report,
		.report_context = server};
	int code = make_controllers(server, store, err);

	if (code == 0)
		code = open_runtime(server, world, err);
	if (code < 0)
		return code;
	maintainer.runtime = server->runtime;
	maintainer.every_cluster = server->runtime->operations->groups != NULL;
	code = instance_maintainer_start(&maintainer, &server->maintainer, err);
	if (code == 0)
		code = task_controller_start(server->tasks, server->runtime, err);
	return code < 0 ? code : group_controller_start(server->groups, server->runtime, err);
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
		.groups = server->checker != NULL,
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
	if (code == 0)
		code = controller_start(&service_controller_row, &services, &server->services, err);
	if (code == 0)
		code = controller_start(&task_traffic_controller_row, &services, &server->traffic,
			err);
	return code;
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
	controller_stop(TAKE(server->traffic));
	group_controller_stop(server->groups);
	task_controller_stop(server->tasks);
	write_batch_free(TAKE(server->batch));
	instance_maintainer_stop(TAKE(server->maintainer));
	if (server->runtime)
		server->runtime->operations->close(TAKE(server->runtime));
	task_controller_free(TAKE(server->tasks));
	group_controller_free(TAKE(server->groups));
	runner_join(server->runner, NULL);
	runner_free(TAKE(server->runner));
}
