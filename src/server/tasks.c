/*
 * The runtime of this server, the controller that reconciles it with the tasks, and the maintainer
 * of its container instances. Tasks outlive the server unless configured otherwise.
 */
#include <ftw.h>
#include <stdio.h>

#include "base/file.h"
#include "ecs/record/container_instance.h"
#include "ecs/service/service_group.h"
#include "ecs/task/task_edit.h"
#include "ecs/task/task_observe.h"
#include "runtime/docker/docker.h"
#include "runtime/process/process.h"
#include "server/components.h"

#define STOP_BATCH 500
#define STOP_PATIENCE_US (INT64_C(150) * 1000 * 1000) /* the longest stop timeout, and some */
#define STOP_POLL_US INT64_C(10000)
#define FOLDERS_OPEN_MAX 16

/* ---- opening ---- */

void tasks_changed(void *context, struct span token)
{
	struct server *server = context;

	task_controller_changed(server->task_controller, token);
	/* Anything may have changed: instances too. */
	if (token.length == 0 && server->maintainer_runs)
		instance_maintainer_refresh(server->maintainer);
}

/* Without a state folder it is one that goes with the server. */
static int make_folder(struct server *server, struct err *err)
{
	const char *parent = getenv("TMPDIR");

	if (server->config->state) {
		server->task_folder = memory_format("%s/tasks", server->config->state);
		return file_make_folder(server->task_folder, 0700, err);
	}
	server->task_folder =
		memory_format("%s/slipway-XXXXXX", parent && parent[0] ? parent : "/tmp");
	if (!mkdtemp(server->task_folder)) {
		int code = err_errno(err, "make folder '%s'", server->task_folder);

		free(TAKE(server->task_folder));
		return code;
	}
	server->temporary_folder = server->task_folder;
	server->task_folder = memory_format("%s/tasks", server->temporary_folder);
	return file_make_folder(server->task_folder, 0700, err);
}

static int open_process(struct server *server, struct err *err)
{
	struct runtime_process_config config = {.instances = (unsigned)server->config->instances,
		.clock = server->clock,
		.changed = tasks_changed,
		.context = server};
	const char *hidden[] = {NULL, server->config->secrets, NULL};
	int code = make_folder(server, err);

	if (code < 0)
		return code;
	config.folder = server->task_folder;
	hidden[0] = server->config->state ? server->config->state : server->temporary_folder;
	config.hidden = hidden;
	config.processes_max = server->config->task_processes_max;
	if (!runtime_process_limits_memory())
		log_write(server->log, LOG_WARNING,
			"memory limits of tasks are not enforced: no control group can be used",
			"hint", "run slipway as root, outside of a container", NULL);
	return runtime_process_open(&config, &server->runtime, err);
}

static void group_changed(void *context, struct span id)
{
	struct server *server = context;

	group_controller_changed(server->group_controller, id);
}

static int open_docker(struct server *server, struct err *err)
{
	struct runtime_docker_config config = {.runner = server->runner,
		.socket = server->config->docker_socket,
		.host = server->host,
		.instances = (unsigned)server->config->instances,
		.changed = tasks_changed,
		.context = server};
	int code = make_folder(server, err);

	if (code < 0)
		return code;
	config.folder = server->task_folder;
	config.answers_dns = server->config->dns_listen != NULL;
	config.forgets = server->temporary_folder || server->config->ephemeral;
	return runtime_docker_open(&config, &server->runtime, err);
}

static int open_simulated(struct server *server, struct err *err)
{
	struct simulated_config world = {.instances = (unsigned)server->config->instances};
	struct runtime_simulated_config config = {.runner = server->runner,
		.changed = tasks_changed,
		.group_changed = group_changed,
		.context = server};
	int code = simulated_world_new(server->runner, &world, &server->world, err);

	return code < 0 ? code
			: runtime_simulated_open(server->world, &config, &server->runtime, err);
}

static const struct {
	const char *name;
	int (*open)(struct server *server, struct err *err);
} runtimes[] = {
	{"docker", open_docker},
	{"process", open_process},
	{"kubernetes", kubernetes_open},
	{"simulated", open_simulated},
};

/* The name of this server lives as long as its runtime's tasks do: in the state folder, or with the server. */
static int read_host(struct server *server, struct err *err)
{
	_buffer_ struct buffer text = {0};
	_free_ char *path = NULL;
	int code;

	id_hex(server->random, server->host);
	if (!server->config->state)
		return 0;
	path = memory_format("%s/host", server->config->state);
	code = file_read(path, ID_HEX_SIZE, &text, err);
	if (code == -ENOENT)
		return file_replace(path, span_of(server->host), 0600, err);
	if (code == 0 && text.length != ID_HEX_SIZE - 1)
		code = err_set(err, -EINVAL, "'%s' does not hold the name of a host", path);
	if (code == 0)
		memcpy(server->host, text.data, text.length);
	return code;
}

static int start_maintainer(struct server *server, struct err *err)
{
	struct instance_maintainer_config config = {.runner = server->runner,
		.store = server->store,
		.random = server->random,
		.runtime = server->runtime,
		.host = span_of(server->host),
		.account = span_of(server->config->account),
		.region = span_of(server->config->region),
		.cluster = span_of(server->config->cluster),
		.every_cluster = server->runtime->operations->groups != NULL,
		.claims = server->claims,
		.report = server_report_controller,
		.report_context = server};
	int code = instance_maintainer_start(&config, &server->maintainer, err);

	server->maintainer_runs = code == 0;
	return code;
}

/* A runtime that keeps replicas itself also chooses instances: requests and services are left to it. */
static void note_scheduler(struct server *server)
{
	if (!server->runtime->operations->groups)
		return;
	server->ecs.scheduler = span_of(server->host);
	server->service_control.groups = true;
	server->name_publisher = (struct name_publisher){.runtime = server->runtime,
		.host = span_of(server->host),
		.account = span_of(server->config->account),
		.region = span_of(server->config->region)};
	server->ecs.seed_service_status =
		strcmp(server->config->sync_service_status, "kubernetes") == 0;
	server->ecs.seed_task_status = strcmp(server->config->sync_task_status, "kubernetes") == 0;
}

/* Synchronization settings are for a remote runtime; a local one needs none of them. */
static int tune(struct server *server, struct task_controller_config *tasks,
	struct group_controller_config *groups, struct err *err)
{
	const struct server_config *config = server->config;
	struct work_queue_config queue = {.retries_per_second = (unsigned)config->sync_qps,
		.retry_burst = (unsigned)config->sync_burst};
	int code;

	if (strcmp(config->runtime, "kubernetes") != 0)
		return 0;
	code = sync_open(server, err);
	if (code < 0)
		return code;
	tasks->batch = server->batch;
	tasks->workers = groups->workers = (unsigned)config->sync_workers;
	tasks->relist_ms = groups->relist_ms = config->sync_resync_ms;
	tasks->queue = groups->queue = queue;
	return 0;
}

static int open_runtime(struct server *server, int (*open)(struct server *server, struct err *err),
	struct err *err)
{
	struct task_controller_config tasks = {.runner = server->runner,
		.store = server->store,
		.host = span_of(server->host),
		.secrets = server->config->secrets,
		.adopt = service_group_adopt,
		.report = server_report_controller,
		.report_context = server,
		.claims = server->claims,
		.statistics = &server->sync};
	struct group_controller_config groups = {.runner = server->runner,
		.store = server->store,
		.host = span_of(server->host),
		.account = span_of(server->config->account),
		.region = span_of(server->config->region),
		.secrets = server->config->secrets,
		.report = server_report_controller,
		.report_context = server,
		.claims = server->claims,
		.statistics = &server->sync};
	int code = tune(server, &tasks, &groups, err);

	server->task_controller = task_controller_new(&tasks);
	server->group_controller = group_controller_new(&groups);
	if (code == 0)
		code = open(server, err);
	if (code < 0)
		return code;
	note_scheduler(server);
	code = start_maintainer(server, err);
	if (code == 0)
		code = task_controller_start(server->task_controller, server->runtime, err);
	if (code == 0)
		code = group_controller_start(server->group_controller, server->runtime, err);
	return code;
}

int tasks_open(struct server *server, struct err *err)
{
	if (server->is_copy)
		return 0;
	for (size_t i = 0; i < LENGTH(runtimes); i++)
		if (strcmp(server->config->runtime, runtimes[i].name) == 0)
			return open_runtime(server, runtimes[i].open, err);
	return 0;
}

/* A server that listens on every address is reached on loopback. */
int tasks_set_dns(struct server *server, struct err *err)
{
	_free_ char *address = NULL;
	unsigned port = server->dns ? dns_server_port(server->dns) : 0;

	if (!server->runtime || strcmp(server->config->runtime, "process") != 0)
		return 0;
	if (!server->dns)
		return runtime_process_set_dns(server->runtime, NULL, err);
	if (strncmp(server->dns_address, "0.0.0.0:", 8) == 0)
		address = memory_format("127.0.0.1:%u", port);
	else if (strncmp(server->dns_address, "[::]:", 5) == 0)
		address = memory_format("[::1]:%u", port);
	else
		address = memory_copy_string(server->dns_address);
	return runtime_process_set_dns(server->runtime, address, err);
}

/* ---- ending tasks ---- */

struct stop_all {
	int64_t now_ms;
	struct span host;
	struct span after; /* key up to which all were looked at; in the arena */
	struct arena *arena;
	bool more;
};

static int stop_batch(struct store_transaction *transaction, void *context, struct err *err)
{
	struct stop_all *stop = context;
	struct store_cursor cursor = {.view = store_head(transaction),
		.kind = &task_kind,
		.index = -1,
		.after_key = stop->after};
	const struct store_object *task, *wanted[STOP_BATCH];
	size_t count = 0;

	while (count < STOP_BATCH && (task = store_next(&cursor))) {
		stop->after = arena_copy_span(stop->arena, task->key);
		if (span_equal(task_facts(task)->host, stop->host) &&
			(task_facts(task)->desired == TASK_RUNNING ||
				task_facts(task)->traffic == TASK_TRAFFIC_LEAVING))
			wanted[count++] = task;
	}
	stop->more = count == STOP_BATCH;
	for (size_t i = 0; i < count; i++) {
		/* Load balancers and names end with the server: no new traffic arrives. */
		int code = task_want_stopped_at_once(transaction, wanted[i], TASK_STOP_CODE_USER,
			SPAN("slipway stopped, and its tasks with it"), stop->now_ms,
			store_transaction_arena(transaction), err);

		if (code < 0)
			return code;
	}
	return 0;
}

static bool any_live(struct server *server)
{
	_view_ struct store_view *view = store_view_open(server->store);
	struct store_cursor cursor = {.view = view, .kind = &task_kind, .index = -1};
	const struct store_object *task;

	while ((task = store_next(&cursor)))
		if (span_equal(task_facts(task)->host, span_of(server->host)) &&
			task_facts(task)->last < TASK_STOPPED)
			return true;
	return false;
}

/* ---- ownership of tasks ---- */

static bool runs_on_this_machine(const struct server *server)
{
	return strcmp(server->config->runtime, "process") == 0 ||
	       strcmp(server->config->runtime, "docker") == 0;
}

/* The tasks and containers that a copy of a state folder names are those of the original. Docker's are found by the
 * name of the host, so there may be some that the copy does not know. */
static int identify_folder(struct server *server, struct err *err)
{
	struct state_folder *folder = server->folder;
	bool names_tasks = strcmp(server->config->runtime, "docker") == 0 || any_live(server);

	if (!folder || server->config->ephemeral || !runs_on_this_machine(server))
		return 0;
	if (!state_folder_is_copy(folder) || !names_tasks)
		return state_folder_keep(folder, err);
	if (server->config->adopt && state_folder_origin_is_used(folder))
		return err_set(err, -EBUSY,
			"the state folder is a copy of %s, which another slipway uses: end that "
			"one "
			"first, and then adopt its tasks",
			state_folder_origin(folder));
	if (server->config->adopt)
		return state_folder_keep(folder, err);
	server->is_copy = true;
	log_write(server->log, LOG_ERROR,
		"the state folder is a copy, or was moved: tasks are left alone, and nothing is "
		"started",
		"origin", state_folder_origin(folder), "hint",
		"if the original is not used any more, take its tasks over with: slipway up "
		"--adopt",
		NULL);
	return 0;
}

int tasks_identify(struct server *server, struct err *err)
{
	int code = read_host(server, err);

	return code == 0 ? identify_folder(server, err) : code;
}

/* Is anything that the runtime knows not at its end? An error counts as yes, unless it was never known: then what
 * the store has is all there is. So does a task of a group that has ended: it is forgotten when that was
 * acknowledged, and would outlive us until then. */
static bool any_runs(struct server *server)
{
	_arena_ struct arena *arena = arena_new(0);
	struct runtime *runtime = server->runtime;
	struct runtime_task *seen;
	struct span *tokens;
	size_t count;

	if (!kubernetes_is_ready(server))
		return false;
	if (runtime->operations->list_tasks(runtime, arena, &tokens, &count, NULL) < 0)
		return true;
	for (size_t i = 0; i < count; i++) {
		int code = runtime->operations->get(runtime, tokens[i], arena, &seen, NULL);

		if (code != -ENOENT &&
			(code < 0 || seen->phase != RUNTIME_STOPPED || seen->group.length > 0))
			return true;
	}
	return false;
}

/* Looks every moment whether something still is so. */
static int wait_while(struct server *server, bool (*is_so)(struct server *server))
{
	int64_t deadline = runner_deadline_us(server->runner, STOP_PATIENCE_US);

	while (is_so(server)) {
		int64_t again = runner_deadline_us(server->runner, STOP_POLL_US);

		if (runner_now_us(server->runner) >= deadline)
			return -ETIMEDOUT;
		if (runner_sleep_until(server->runner, again) < 0)
			return -ECANCELED;
	}
	return 0;
}

static bool is_ending(struct server *server)
{
	return any_live(server) || any_runs(server);
}

int tasks_wait_until_ended(struct server *server)
{
	return server->runtime ? wait_while(server, is_ending) : 0;
}

static bool lacks_instances(struct server *server)
{
	_view_ struct store_view *view = store_view_open(server->store);

	return store_count(view, &container_instance_kind, -1, SPAN(""), false) <
	       (uint64_t)server->config->instances;
}

int tasks_wait_for_instances(struct server *server)
{
	if (!server->maintainer_runs)
		return 0;
	instance_maintainer_reset(server->maintainer);
	return wait_while(server, lacks_instances);
}

/* A runtime that keeps replicas itself would start others. They are made again with the next server, if the store
 * still knows their services. */
static void remove_groups(struct server *server)
{
	_arena_ struct arena *arena = arena_new(0);
	struct runtime *runtime = server->runtime;
	const struct runtime_group_operations *groups = runtime->operations->groups;
	struct err err = {0};
	struct span *ids;
	size_t count = 0;
	int code = groups->list(runtime, arena, &ids, &count, &err);

	for (size_t i = 0; i < count && code == 0; i++) {
		code = groups->remove(runtime, ids[i], &err);
		if (code == -ENOENT)
			code = 0;
	}
	if (code < 0)
		log_write(server->log, LOG_ERROR, "services are not ended", "error", err.message,
			NULL);
}

static void stop_tasks(struct server *server)
{
	_arena_ struct arena *arena = arena_new(0);
	struct stop_all stop = {.now_ms = clock_wall_ms(server->clock),
		.host = span_of(server->host),
		.arena = arena};
	struct err err = {0};
	int code;

	do {
		code = store_write_wait(server->store, stop_batch, &stop, NULL, &err);
	} while (code == 0 && stop.more);
	if (code < 0)
		log_write(server->log, LOG_ERROR, "tasks are not stopped", "error", err.message,
			NULL);
	else if (tasks_wait_until_ended(server) < 0)
		log_write(server->log, LOG_ERROR, "some tasks did not stop in time", NULL);
}

/* ---- closing ---- */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static bool ends_tasks(const struct server *server)
{
	return server->config->stop_tasks_on_exit || server->config->ephemeral ||
	       !server->runtime || server->world;
}

uint64_t tasks_count_lasting(struct server *server)
{
	_view_ struct store_view *view = NULL;
	struct store_cursor cursor = {.kind = &task_kind, .index = -1};
	const struct store_object *task;
	uint64_t count = 0;

	if (ends_tasks(server))
		return 0;
	view = store_view_open(server->store);
	cursor.view = view;
	while ((task = store_next(&cursor)))
		count += span_equal(task_facts(task)->host, span_of(server->host)) &&
			 task_facts(task)->last < TASK_STOPPED;
	return count;
}

void tasks_close(struct server *server)
{
	bool stop = server->config->stop_tasks_on_exit || server->config->ephemeral;

	server->maintainer_runs = false;
	group_controller_stop(server->group_controller);
	if (server->runtime && stop && server->open) {
		if (server->runtime->operations->groups)
			remove_groups(server);
		stop_tasks(server);
	}
	task_controller_stop(server->task_controller);
	sync_close(server);
	instance_maintainer_stop(server->maintainer);
	if (server->runtime)
		server->runtime->operations->close(server->runtime);
	simulated_world_free(server->world);
	task_controller_free(server->task_controller);
	group_controller_free(server->group_controller);
	if (server->temporary_folder)
		nftw(server->temporary_folder, remove_entry, FOLDERS_OPEN_MAX,
			FTW_DEPTH | FTW_PHYS);
	free(server->task_folder);
	free(server->temporary_folder);
}
