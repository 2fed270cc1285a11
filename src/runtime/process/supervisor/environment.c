/*
 * A clean environment: default variables first, then slipway's, then those of the task definition,
 * which win, except for the variable by which slipway finds the task's processes. The first
 * environment file with a variable wins, and a variable in the definition itself wins over all
 * files.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/process/protocol.h"
#include "runtime/process/supervisor/account.h"
#include "runtime/process/supervisor/task.h"

#define FIXED_VARIABLES 10
#define ENVIRONMENT_FILE_MAX ((size_t)256 * 1024)
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct environment {
	struct arena *arena;
	char **variables;
	size_t count;
};

/* The later one of a name replaces the earlier. */
static void set_text(struct environment *environment, char *text)
{
	size_t name = (size_t)(strchrnul(text, '=') - text) + 1;

	for (size_t i = 0; i < environment->count; i++)
		if (strncmp(environment->variables[i], text, name) == 0) {
			environment->variables[i] = text;
			return;
		}
	environment->variables[environment->count++] = text;
}

static void set(struct environment *environment, const char *name, struct span value)
{
	set_text(environment,
		(char *)arena_format(environment->arena, "%s=%.*s", name, SPAN_ARGS(value)).data);
}

static void set_ports(struct environment *environment, const struct plan_container *plan)
{
	for (size_t i = 0; i < plan->port_count; i++) {
		struct span port =
			arena_format(environment->arena, "%u", (unsigned)plan->ports[i].host_port);
		struct span name = arena_format(environment->arena, "PORT_%u",
			(unsigned)plan->ports[i].container_port);

		if (i == 0)
			set(environment, "PORT", port);
		set(environment, name.data, port);
	}
}

struct lines {
	struct lines *next;
	char *text; /* "NAME=value" */
};

/* Lines of a file as ECS has them: NAME=value, taken as it is; empty ones and comments are not. */
static int read_file(const char *path, struct arena *arena, struct lines **lines, size_t *count,
	struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code = file_read(path, ENVIRONMENT_FILE_MAX, &text, err);

	if (code < 0)
		return code;
	if (text.length > 0 && memchr(text.data, '\0', text.length))
		return err_set(err, -EINVAL, "'%s' has a NUL character in it", path);
	for (char *save = NULL, *line = text.data ? strtok_r(text.data, "\r\n", &save) : NULL; line;
		line = strtok_r(NULL, "\r\n", &save)) {
		struct lines *one;

		if (line[0] == '#' || line[0] == '=' || !strchr(line, '='))
			continue;
		one = arena_allocate(arena, sizeof(*one));
		one->text = arena_copy(arena, line, strlen(line));
		one->next = *lines;
		*lines = one;
		(*count)++;
	}
	return 0;
}

static int read_files(const struct plan_container *plan, struct arena *arena, struct lines **lines,
	size_t *count, struct err *err)
{
	for (char **path = plan->environment_files; *path; path++) {
		int code = read_file(*path, arena, lines, count, err);

		if (code < 0)
			return code;
	}
	return 0;
}

int environment_make(struct task *task, const struct plan_container *plan, struct span container_id,
	char ***ret_environment, struct err *err)
{
	struct environment environment = {.arena = task->arena};
	char host[HOST_NAME_MAX + 1] = "localhost";
	struct account account = {.home = "/"};
	struct lines *lines = NULL;
	size_t own = 0, of_files = 0;
	int code = read_files(plan, task->arena, &lines, &of_files, err);

	if (code < 0)
		return code;
	while (plan->environment[own])
		own++;
	environment.variables = arena_allocate_array(task->arena,
		FIXED_VARIABLES + own + of_files + plan->port_count,
		sizeof(*environment.variables));
	gethostname(host, sizeof(host) - 1);
	account_find(plan->user, &account, NULL); /* the launch reports its errors */
	set(&environment, "PATH", SPAN(DEFAULT_PATH));
	set(&environment, "HOSTNAME", span_of(plan->hostname ? plan->hostname : host));
	set(&environment, "HOME", span_of(account.home));
	set(&environment, "SLIPWAY_ADDRESS",
		task->record->address.length > 0 ? task->record->address : SPAN("127.0.0.1"));
	if (task->metadata.listener >= 0)
		set(&environment, "ECS_CONTAINER_METADATA_URI_V4",
			metadata_uri_of(&task->metadata, container_id, task->arena));
	set_ports(&environment, plan);
	/* The last line comes first, so that of a name the first one stays. */
	for (struct lines *line = lines; line; line = line->next)
		set_text(&environment, line->text);
	for (size_t i = 0; i < own; i++)
		set_text(&environment, plan->environment[i]);
	set(&environment, PROTOCOL_TASK_VARIABLE, task->plan->token);
	*ret_environment = environment.variables;
	return 0;
}
