/* A server in this process, and calls to it over the wire as any client makes them. */
#include "cli/demo.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "aws/caller.h"
#include "cli/remote.h"

#define PAUSE_MS 20
#define CALLS_PER_SECOND 1000.0
#define FOLDERS_OPEN_MAX 16
#define CHILDREN_PATIENCE_MS 30000

/* ---- time ---- */

int demo_pause(struct demo_server *demo, int milliseconds)
{
	const struct timespec limit = {
		.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};

	if (!demo->interrupted && sigtimedwait(&demo->signals, NULL, &limit) > 0)
		demo->interrupted = true;
	return demo->interrupted ? -EINTR : 0;
}

int demo_wait(struct demo_server *demo, const char *what, demo_condition condition, void *context,
	struct err *err)
{
	int64_t began = runner_now_us(demo->runner);
	int64_t deadline = runner_deadline_us(demo->runner, INT64_C(1000) * DEMO_PATIENCE_MS);

	snprintf(demo->waiting_for, sizeof(demo->waiting_for), "%s", what);
	for (;;) {
		int code = condition(context, err);

		if (code != 0)
			return code < 0 ? code : 0;
		if (demo->show_wait)
			demo->show_wait(demo->show_context, demo->waiting_for,
				runner_now_us(demo->runner) - began);
		if (demo_pause(demo, PAUSE_MS) < 0)
			return err_set(err, -EINTR, "interrupted");
		if (runner_now_us(demo->runner) > deadline)
			return err_set(err, -ETIMEDOUT, "timed out after %d seconds waiting for %s",
				DEMO_PATIENCE_MS / 1000, demo->waiting_for);
	}
}

/* ---- opening ---- */

static int make_folder(struct demo_server *demo, struct err *err)
{
	const char *parent = getenv("TMPDIR");
	char *folder = memory_format("%s/slipway-demo-XXXXXX",
		parent && parent[0] == '/' ? parent : "/tmp");

	if (!mkdtemp(folder)) {
		int code = err_errno(err, "make the folder %s", folder);

		free(folder);
		return code;
	}
	demo->folder = folder;
	return 0;
}

static int open_server(struct demo_server *demo, struct err *err)
{
	struct server_config *config = &demo->config;
	int code;

	demo->log_descriptor = open(arena_format(demo->arena, "%s/log", demo->folder).data,
		O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (demo->log_descriptor < 0)
		return err_errno(err, "open a log in %s", demo->folder);
	demo->log = log_new(demo->log_descriptor, LOG_INFO, LOG_STYLE_JSON, clock_system());
	server_config_init(config);
	config->listen = "127.0.0.1:0";
	config->dns_listen = "127.0.0.1:0";
	config->ephemeral = true;
	config->state = arena_format(demo->arena, "%s/state", demo->folder).data;
	code = server_config_check(config, demo->arena, err);
	if (code == 0)
		code = server_open(config, demo->log, &demo->server, err);
	return code;
}

/* Two ways in, both signed: AWS's APIs, and slipway's own. */
static int open_clients(struct demo_server *demo, struct err *err)
{
	const struct aws_remote_config target = {
		.endpoint = server_url(demo->server),
		.region = AWS_REGION_DEFAULT,
		.access_key = server_admin_key_id(demo->server),
		.secret = server_admin_key_secret(demo->server),
		.calls_per_second = CALLS_PER_SECOND,
	};
	const struct remote_options remote = {.server = server_url(demo->server)};
	int code = http_client_new(&demo->client, err);

	if (code == 0)
		code = aws_target_remote(&target, demo->client, demo->runner, &demo->target, err);
	/* Where commands take them from, too. */
	if (code == 0 && (setenv("AWS_ACCESS_KEY_ID", target.access_key, 1) < 0 ||
				 setenv("AWS_SECRET_ACCESS_KEY", target.secret, 1) < 0))
		code = err_errno(err, "set the environment");
	unsetenv("AWS_REGION");
	unsetenv("AWS_DEFAULT_REGION");
	if (code == 0)
		code = remote_open(&remote, &demo->remote, err);
	return code;
}

int demo_server_open(struct demo_server *demo, struct err *err)
{
	int code;

	demo->arena = arena_new(0);
	demo->log_descriptor = -1;
	demo->runner = runner_threads_new(clock_system(), random_system());
	code = make_folder(demo, err);
	if (code == 0)
		code = open_server(demo, err);
	if (code == 0)
		code = open_clients(demo, err);
	return code;
}

/* ---- closing ---- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	remove(path);
	return 0;
}

/* Processes that carried traffic end by themselves, soon. */
static void wait_for_children(struct demo_server *demo)
{
	int64_t deadline = runner_deadline_us(demo->runner, INT64_C(1000) * CHILDREN_PATIENCE_MS);

	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if ((pid < 0 && errno == ECHILD) || runner_now_us(demo->runner) > deadline)
			return;
		if (pid == 0)
			runner_sleep_until(demo->runner,
				runner_deadline_us(demo->runner, PAUSE_MS * 1000));
	}
}

void demo_server_close(struct demo_server *demo)
{
	if (!demo->arena)
		return;
	remote_close(demo->remote);
	aws_target_free(demo->target);
	http_client_free(demo->client);
	server_close(demo->server);
	wait_for_children(demo);
	log_free(demo->log);
	if (demo->log_descriptor >= 0)
		close(demo->log_descriptor);
	if (demo->folder)
		nftw(demo->folder, remove_entry, FOLDERS_OPEN_MAX, FTW_DEPTH | FTW_PHYS);
	free(TAKE(demo->folder));
	runner_stop(demo->runner);
	runner_join(demo->runner, NULL);
	runner_free(demo->runner);
	arena_free(TAKE(demo->arena));
}

/* ---- calls ---- */

int demo_call(struct demo_server *demo, const char *service, const char *operation,
	const struct json **ret_answer, struct err *err, const char *format, ...)
{
	struct aws_call_failure failure = {0};
	struct json *request, *answer;
	struct span text;
	va_list list;
	int code;

	va_start(list, format);
	text = arena_format_list(demo->arena, format, list);
	va_end(list);
	code = json_parse(text, demo->arena, &request, err);
	if (code < 0)
		return err_prefix(err, code, "%s %s", service, operation);
	code = aws_call(demo->target, service, operation, request, demo->arena, &answer, &failure,
		err);
	if (code == -EREMOTEIO)
		return err_set(err, code, "%s %s: %s (%s)", service, operation, failure.message,
			failure.type);
	if (code < 0)
		return err_prefix(err, code, "%s %s", service, operation);
	if (ret_answer)
		*ret_answer = answer;
	return 0;
}

static int is_settled(void *context, struct err *err)
{
	struct demo_server *demo = context;
	_arena_ struct arena *arena = arena_new(0);
	struct json *traffic;
	int code = remote_send(demo->remote, "GET", "/v1/traffic", SPAN(""), arena, &traffic, err);

	if (code < 0)
		return code;
	return json_get_bool(traffic, "settled", false);
}

int demo_wait_until_settled(struct demo_server *demo, struct err *err)
{
	return demo_wait(demo, "the load balancer to use its new settings", is_settled, demo, err);
}

int demo_find_listener(struct demo_server *demo, unsigned port, const char **ret_address,
	struct err *err)
{
	struct span ending = arena_format(demo->arena, ":%u", port);
	struct json *traffic;
	int code = remote_send(demo->remote, "GET", "/v1/traffic", SPAN(""), demo->arena, &traffic,
		err);

	if (code < 0)
		return code;
	JSON_EACH_ITEM (json_get(traffic, "listeners"), listener) {
		struct span address = json_get_text(listener, "address");

		if (!span_ends_with(address, ending))
			continue;
		address.length -= ending.length;
		*ret_address = arena_copy_span(demo->arena, address).data;
		return 0;
	}
	return err_set(err, -ENOENT, "no listener on port %u", port);
}
