/*
 * A clean environment: what every program can count on, then what slipway tells it, then what the
 * task definition says, which wins, except for the mark by which slipway finds the task's
 * processes.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/process/protocol.h"
#include "runtime/process/supervisor/account.h"
#include "runtime/process/supervisor/task.h"

#define FIXED_VARIABLES 10
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

char **environment_make(struct task *task, const struct plan_container *plan)
{
	struct environment environment = {.arena = task->arena};
	char host[HOST_NAME_MAX + 1] = "localhost";
	struct account account = {.home = "/"};
	size_t own = 0;

	while (plan->environment[own])
		own++;
	environment.variables = arena_allocate_array(task->arena,
		FIXED_VARIABLES + own + plan->port_count, sizeof(*environment.variables));
	gethostname(host, sizeof(host) - 1);
	account_find(plan->user, &account, NULL); /* the launch will say what is wrong with it */
	set(&environment, "PATH", SPAN(DEFAULT_PATH));
	set(&environment, "HOSTNAME", span_of(plan->hostname ? plan->hostname : host));
	set(&environment, "HOME", span_of(account.home));
	set(&environment, "SLIPWAY_ADDRESS",
		task->record->address.length > 0 ? task->record->address : SPAN("127.0.0.1"));
	set_ports(&environment, plan);
	for (size_t i = 0; i < own; i++)
		set_text(&environment, plan->environment[i]);
	set(&environment, PROTOCOL_TASK_VARIABLE, task->plan->token);
	return environment.variables;
}
