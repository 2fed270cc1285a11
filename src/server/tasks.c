/*
 * Where tasks run: the runtime of this server, the controller that makes it run what tasks want, and the
 * keeper of its container instances. Tasks go on when the server ends, unless it was told otherwise.
 */
#include <ftw.h>
#include <stdio.h>

#include "base/file.h"
#include "ecs/container_instance.h"
#include "ecs/task_observe.h"
#include "runtime/process/process.h"
#include "server/parts.h"

#define STOP_BATCH 500
#define STOP_PATIENCE_US (INT64_C(150) * 1000 * 1000) /* the longest stop timeout, and some */
#define STOP_LOOK_US INT64_C(10000)
#define FOLDERS_OPEN_MAX 16

/* ---- opening ---- */

static void changed(void *context, struct span token)
{
	struct server *server = context;

	task_controller_changed(server->task_controller, token);
	/* Anything may have changed: instances too. */
	if (token.length == 0 && server->keeper_runs)
		instance_keeper_refresh(server->keeper);
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
	server->task_folder_is_temporary = true;
	return 0;
}

static int open_process(struct server *server, struct err *err)
{
	struct runtime_process_config config = {.instances = (unsigned)server->config->instances,
		.clock = server->clock,
		.changed = changed,
		.context = server};
	int code = make_folder(server, err);

	if (code < 0)
		return code;
	config.folder = server->task_folder;
	return runtime_process_open(&config, &server->runtime, err);
}

static int open_simulated(struct server *server, struct err *err)
{
	struct simulated_config world = {.instances = (unsigned)server->config->instances};
	struct runtime_simulated_config config = {
		.runner = server->runner, .changed = changed, .context = server};
	int code = simulated_world_new(server->runner, &world, &server->world, err);

	return code < 0 ? code
			: runtime_simulated_open(server->world, &config, &server->runtime, err);
}

static const struct {
	const char *name;
	int (*open)(struct server *server, struct err *err);
} runtimes[] = {
	{"process", open_process},
	{"simulated", open_simulated},
};

/* The name lives as long as the runtime's tasks do: in the state folder, or with the server. */
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

static int start_keeper(struct server *server, struct err *err)
{
	struct instance_keeper_config config = {.runner = server->runner,
		.store = server->store,
		.random = server->random,
		.runtime = server->runtime,
		.host = span_of(server->host),
		.account = span_of(server->config->account),
		.region = span_of(server->config->region),
		.cluster = span_of(server->config->cluster),
		.report = server_report_controller,
		.report_context = server};
	int code = instance_keeper_start(&config, &server->keeper, err);

	server->keeper_runs = code == 0;
	return code;
}

int tasks_open(struct server *server, struct err *err)
{
	struct task_controller_config config = {.runner = server->runner,
		.store = server->store,
		.secrets = server->config->secrets,
		.report = server_report_controller,
		.report_context = server};
	int code = 0;

	for (size_t i = 0; i < LENGTH(runtimes); i++)
		if (strcmp(server->config->runtime, runtimes[i].name) == 0) {
			code = read_host(server, err);
			config.host = span_of(server->host);
			server->task_controller = task_controller_new(&config);
			if (code == 0)
				code = runtimes[i].open(server, err);
			if (code == 0)
				code = task_controller_start(server->task_controller,
					server->runtime, err);
			if (code == 0)
				code = start_keeper(server, err);
		}
	return code;
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
			task_facts(task)->desired == TASK_RUNNING)
			wanted[count++] = task;
	}
	stop->more = count == STOP_BATCH;
	for (size_t i = 0; i < count; i++) {
		int code = task_want_stopped(transaction, wanted[i], TASK_STOP_CODE_USER,
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

/* Is anything that the runtime knows not at its end? An error counts as yes. */
static bool any_runs(struct server *server)
{
	_arena_ struct arena *arena = arena_new(0);
	struct runtime *runtime = server->runtime;
	struct runtime_task *seen;
	struct span *tokens;
	size_t count;

	if (runtime->operations->list_tasks(runtime, arena, &tokens, &count, NULL) < 0)
		return true;
	for (size_t i = 0; i < count; i++) {
		int code = runtime->operations->get(runtime, tokens[i], arena, &seen, NULL);

		if (code != -ENOENT && (code < 0 || seen->phase != RUNTIME_STOPPED))
			return true;
	}
	return false;
}

/* Looks every moment whether something still is so. */
static int wait_while(struct server *server, bool (*is_so)(struct server *server))
{
	int64_t deadline = runner_deadline_us(server->runner, STOP_PATIENCE_US);

	while (is_so(server)) {
		int64_t again = runner_deadline_us(server->runner, STOP_LOOK_US);

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
	if (!server->keeper_runs)
		return 0;
	instance_keeper_reset(server->keeper);
	return wait_while(server, lacks_instances);
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

void tasks_close(struct server *server)
{
	bool stop = server->config->stop_tasks_on_exit || server->config->ephemeral;

	server->keeper_runs = false;
	if (server->runtime && stop && server->open)
		stop_tasks(server);
	task_controller_stop(server->task_controller);
	instance_keeper_stop(server->keeper);
	if (server->runtime)
		server->runtime->operations->close(server->runtime);
	simulated_world_free(server->world);
	task_controller_free(server->task_controller);
	if (server->task_folder_is_temporary)
		nftw(server->task_folder, remove_entry, FOLDERS_OPEN_MAX, FTW_DEPTH | FTW_PHYS);
	free(server->task_folder);
}
