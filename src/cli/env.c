/* slipway env …: daemon environments of a running server. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/remote.h"

#define LOOK_EVERY_MS 250
#define DEPLOYMENTS_MAX 1000 /* of all environments, that are shown */

/* What was said on the command line. */
struct env {
	const struct command *command;
	struct remote *remote;
	struct arena *arena;
	struct remote_options options;
	const char *name; /* of the environment; NULL */
	const char *cluster, *task_definition, *attributes, *minimum, *over, *canary, *bake,
		*timeout, *warm_up, *drain_timeout, *unreachable_timeout, *priority, *on_failure,
		*role, *target, *version, *base_version, *format, *type, *count, *max_active,
		*target_group, *container, *port, *schedule, *subnets, *security_groups,
		*assign_public_ip, *status;
	bool replace_first, watch, terminate;
	const char *argument; /* behind the name; NULL */
};

/* ---- requests ---- */

static int call(struct env *env, const char *method, const char *path, const struct json *body,
	struct json **ret_answer)
{
	struct span text = body ? json_to_text(body, env->arena) : SPAN("");
	struct err err;

	if (remote_send(env->remote, method, path, text, env->arena, ret_answer, &err) < 0)
		return command_failed("%s", err.message);
	return EXIT_OK;
}

static bool is_name(const char *text)
{
	for (const char *c = text; *c; c++)
		if (!((*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
			    (*c >= 'a' && *c <= 'z') || *c == '-' || *c == '_'))
			return false;
	return *text != '\0';
}

static const char *path_of(const struct env *env, const char *rest)
{
	return arena_format(env->arena, "/v1/environments/%s%s", env->name, rest).data;
}

static int print_json(const struct json *value)
{
	_buffer_ struct buffer out = {0};

	json_write_pretty(value, &out);
	puts(out.data);
	return EXIT_OK;
}

static bool wants_json(const struct env *env)
{
	return env->format != NULL;
}

/* ---- bodies ---- */

/* EXIT_USAGE after saying what is wrong. */
static int set_number(const struct env *env, struct json *object, const char *name,
	const char *option, const char *text)
{
	char *end;
	long value;

	if (!text)
		return EXIT_OK;
	value = strtol(text, &end, 10);
	if (*text == '\0' || *end != '\0' || value < 0)
		return command_misused(env->command, "--%s: '%s' is not a number", option, text);
	json_set_integer(env->arena, object, name, value);
	return EXIT_OK;
}

/* What Service and Cron environments have. */
static int set_of_types(const struct env *env, struct json *made)
{
	struct json *balancer = json_new_object(env->arena);
	int code = set_number(env, made, "desiredCount", "count", env->count);

	if (code == 0)
		code = set_number(env, made, "maxActivePercent", "max-active", env->max_active);
	if (code == 0)
		code = set_number(env, balancer, "containerPort", "container-port", env->port);
	if (code != 0)
		return code;
	if (env->target_group)
		json_set_string(env->arena, balancer, "targetGroupArn", span_of(env->target_group));
	if (env->container)
		json_set_string(env->arena, balancer, "containerName", span_of(env->container));
	if (json_count(balancer) > 0)
		json_set(env->arena, made, "loadBalancer", balancer);
	if (env->schedule)
		json_set_string(env->arena, made, "schedule", span_of(env->schedule));
	return EXIT_OK;
}

static int make_configuration(const struct env *env, struct json **ret_configuration)
{
	struct json *made = json_new_object(env->arena), *canary = json_new_object(env->arena);
	int code = set_number(env, made, "minHealthyPercent", "min-healthy", env->minimum);

	if (code == 0)
		code = set_of_types(env, made);
	if (code == 0)
		code = set_number(env, made, "maxOverPercent", "max-over", env->over);
	if (code == 0)
		code = set_number(env, made, "timeoutSeconds", "timeout", env->timeout);
	if (code == 0)
		code = set_number(env, made, "warmUpSeconds", "warm-up", env->warm_up);
	if (code == 0)
		code = set_number(env, made, "drainTimeoutSeconds", "drain-timeout",
			env->drain_timeout);
	if (code == 0)
		code = set_number(env, made, "unreachableTimeoutSeconds", "unreachable-timeout",
			env->unreachable_timeout);
	if (code == 0)
		code = set_number(env, canary, "instances", "canary", env->canary);
	if (code == 0)
		code = set_number(env, canary, "bakeSeconds", "bake", env->bake);
	if (code != 0)
		return code;
	if (env->replace_first)
		json_set_bool(env->arena, made, "replaceThenTerminate", true);
	if (env->on_failure)
		json_set_string(env->arena, made, "onFailure", span_of(env->on_failure));
	if (json_count(canary) > 0)
		json_set(env->arena, made, "canary", canary);
	*ret_configuration = made;
	return EXIT_OK;
}

/* "a,b": a list of two; absent: nothing. */
static void set_list(const struct env *env, struct json *object, const char *name, const char *text)
{
	struct json *list = json_new_array(env->arena);
	struct span rest = text ? span_of(text) : SPAN(""), part;

	while (rest.length > 0) {
		if (!span_split(rest, ',', &part, &rest)) {
			part = rest;
			rest = SPAN("");
		}
		json_append(env->arena, list, json_new_string(env->arena, part));
	}
	if (text)
		json_set(env->arena, object, name, list);
}

static struct json *make_group(const struct env *env)
{
	struct json *group = json_new_object(env->arena);

	if (env->cluster)
		json_set_string(env->arena, group, "cluster", span_of(env->cluster));
	set_list(env, group, "attributes", env->attributes);
	return group;
}

/* before: what the environment has (NULL: nothing), of which stays what is not said. */
static int set_network(const struct env *env, const struct json *before, struct json *body)
{
	static const struct {
		const char *word;
		const char *value;
	} words[] = {{"enabled", "ENABLED"}, {"disabled", "DISABLED"}};
	struct json *network = json_new_object(env->arena),
		    *made = json_is(before, JSON_OBJECT) ? json_copy_object(env->arena, before)
							 : json_new_object(env->arena);
	const char *value = NULL;

	if (!env->subnets && !env->security_groups && !env->assign_public_ip)
		return EXIT_OK;
	for (size_t i = 0; env->assign_public_ip && i < LENGTH(words); i++)
		if (strcmp(env->assign_public_ip, words[i].word) == 0)
			value = words[i].value;
	if (env->assign_public_ip && !value)
		return command_misused(env->command,
			"--assign-public-ip: '%s' is neither enabled nor disabled",
			env->assign_public_ip);
	set_list(env, made, "subnets", env->subnets);
	set_list(env, made, "securityGroups", env->security_groups);
	if (value)
		json_set_string(env->arena, made, "assignPublicIp", span_of(value));
	if (json_count(json_get(made, "subnets")) == 0)
		return command_misused(env->command,
			"a network needs --subnets: the environment has none");
	json_set(env->arena, network, "awsvpcConfiguration", made);
	json_set(env->arena, body, "networkConfiguration", network);
	return EXIT_OK;
}

static int make_body(const struct env *env, struct json *body)
{
	struct json *group = make_group(env), *configuration;
	int code = make_configuration(env, &configuration);

	if (code == 0)
		code = set_number(env, body, "priority", "priority", env->priority);
	if (code != 0)
		return code;
	if (env->task_definition)
		json_set_string(env->arena, body, "taskDefinition", span_of(env->task_definition));
	if (json_count(group) > 0)
		json_set(env->arena, body, "instanceGroup", group);
	if (json_count(configuration) > 0)
		json_set(env->arena, body, "deploymentConfiguration", configuration);
	if (env->target)
		json_set_string(env->arena, body, "target", span_of(env->target));
	if (env->role)
		json_set_string(env->arena, body, "role", span_of(env->role));
	return EXIT_OK;
}

/* ---- create, update, delete ---- */

static int create(struct env *env)
{
	struct json *body = json_new_object(env->arena), *answer;
	int code;

	if (!env->task_definition || !env->cluster)
		return command_misused(env->command,
			"create needs --task-definition and --cluster");
	json_set_string(env->arena, body, "name", span_of(env->name));
	if (env->type)
		json_set_string(env->arena, body, "environmentType", span_of(env->type));
	code = make_body(env, body);
	if (code == 0)
		code = set_network(env, NULL, body);
	if (code == 0)
		code = call(env, "POST", "/v1/environments", body, &answer);
	if (code != 0 || wants_json(env))
		return code ? code : print_json(answer);
	printf("Environment %s is there, version %.*s. Nothing runs yet:\n\n"
	       "  slipway env deploy %s\n",
		env->name, SPAN_ARGS(json_get_text(answer, "environmentVersion")), env->name);
	return EXIT_OK;
}

static int update(struct env *env)
{
	struct json *body = json_new_object(env->arena), *now, *answer;
	struct json *group;
	int code;

	/* What is not said stays; the API wants the task definition each time. */
	code = call(env, "GET", path_of(env, ""), NULL, &now);
	if (code == 0)
		code = make_body(env, body);
	if (code == 0)
		code = set_network(env, json_path(now, "networkConfiguration.awsvpcConfiguration"),
			body);
	if (code != 0)
		return code;
	if (!env->task_definition)
		json_set(env->arena, body, "taskDefinition", json_get(now, "taskDefinition"));
	if (env->attributes && !env->cluster) {
		group = json_copy_object(env->arena, json_get(body, "instanceGroup"));
		json_set(env->arena, group, "cluster", json_path(now, "instanceGroup.cluster"));
		json_set(env->arena, body, "instanceGroup", group);
	}
	if (env->base_version)
		json_set_string(env->arena, body, "baseVersion", span_of(env->base_version));
	code = call(env, "PUT", path_of(env, ""), body, &answer);
	if (code != 0 || wants_json(env))
		return code ? code : print_json(answer);
	printf("Environment %s has a new version %.*s. What runs is unchanged:\n\n"
	       "  slipway env deploy %s\n",
		env->name, SPAN_ARGS(json_get_text(answer, "environmentVersion")), env->name);
	return EXIT_OK;
}

static int delete (struct env *env)
{
	struct json *answer;
	int code = call(env, "DELETE", path_of(env, env->terminate ? "?terminateTasks=true" : ""),
		NULL, &answer);

	if (code == 0)
		printf("Environment %s is being deleted; its tasks %s.\n", env->name,
			env->terminate ? "are stopped" : "stay");
	return code;
}

/* ---- status ---- */

static long long number(const struct json *object, const char *name)
{
	return (long long)json_get_integer(object, name, 0);
}

static struct span progress_text(const struct env *env, const struct json *environment)
{
	const struct json *counts = json_get(environment, "counts"),
			  *deployment = json_get(environment, "activeDeployment");
	struct span status = json_get_text(deployment, "status"),
		    reason = json_get_text(deployment, "statusReason");
	long long done = deployment ? number(deployment, "completed")
				    : number(counts, "active") - number(counts, "outdated");

	return arena_format(env->arena,
		"%lld/%lld replaced, %lld active %lld launching %lld unhealthy %lld "
		"missing%s%.*s%s%.*s",
		done > 0 ? done : 0, number(counts, "total"), number(counts, "active"),
		number(counts, "launching"), number(counts, "unhealthy"), number(counts, "missing"),
		status.data ? "  " : "", (int)status.length, status.data ? status.data : "",
		reason.data ? ": " : "", (int)reason.length, reason.data ? reason.data : "");
}

static void print_failed(const struct json *deployment)
{
	JSON_EACH_ITEM (json_get(deployment, "failedInstances"), failed)
		printf("  %.*s: %.*s\n", SPAN_ARGS(json_get_text(failed, "instance")),
			SPAN_ARGS(json_get_text(failed, "reason")));
}

/* "2026-11-17 05:03:00" in UTC; "-" */
static struct span moment_text(const struct env *env, const struct json *object, const char *name)
{
	double seconds = 0;
	char text[32];
	struct tm date;
	time_t at;

	if (!json_double(json_get(object, name), &seconds))
		return SPAN("-");
	at = (time_t)seconds;
	gmtime_r(&at, &date);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &date);
	return arena_copy_span(env->arena, span_of(text));
}

static void print_runs(const struct env *env, const struct json *state)
{
	printf("  next run         %.*s\n", SPAN_ARGS(moment_text(env, state, "nextRunAt")));
	if (number(state, "missedRuns") > 0)
		printf("  missed           %lld, the last one %.*s\n", number(state, "missedRuns"),
			SPAN_ARGS(moment_text(env, state, "lastMissedAt")));
	if (json_count(json_get(state, "runs")) > 0)
		printf("  %-20s %-10s %-20s %s\n", "DUE (UTC)", "STATUS", "ENDED", "REASON");
	JSON_EACH_ITEM (json_get(state, "runs"), run) {
		struct span reason = json_get_text(run, "reason");

		printf("  %-20.*s %-10.*s %-20.*s %.*s\n",
			SPAN_ARGS(moment_text(env, run, "dueAt")),
			SPAN_ARGS(json_get_text(run, "status")),
			SPAN_ARGS(moment_text(env, run, "endedAt")), (int)reason.length,
			reason.data ? reason.data : "");
	}
}

static void print_of_type(const struct env *env, const struct json *environment)
{
	const struct json *configuration = json_get(environment, "deploymentConfiguration");
	struct span schedule = json_get_text(configuration, "schedule"),
		    service = json_get_text(environment, "serviceArn");

	if (schedule.data) {
		printf("  schedule         %.*s\n", SPAN_ARGS(schedule));
		print_runs(env, json_get(environment, "scheduleState"));
	}
	if (service.data)
		printf("  service          %.*s\n", SPAN_ARGS(service));
}

/* Where it is, if that is elsewhere, and in whose name it acts; and what is wrong there. */
static void print_elsewhere(const struct json *environment)
{
	struct span target = json_get_text(environment, "target"),
		    role = json_get_text(environment, "role"),
		    reason = json_get_text(environment, "statusReason");

	if (target.data)
		printf("  target           %.*s\n", SPAN_ARGS(target));
	if (role.data)
		printf("  role             %.*s\n", SPAN_ARGS(role));
	if (json_get_bool(environment, "stale", false))
		printf("  stale            %.*s\n", (int)(reason.data ? reason.length : 1),
			reason.data ? reason.data : "-");
}

/* What was declared last, what is wanted, which may be another version, and what is there. */
static void print_versions(const struct json *environment)
{
	struct span active = json_get_text(environment, "activeVersion"),
		    latest = json_get_text(environment, "latestVersion");
	bool deployed = span_equal(latest, active);

	printf("  task definition  %.*s%s\n",
		SPAN_ARGS(json_get_text(environment, "taskDefinition")),
		deployed ? "" : " (not deployed)");
	printf("  latest version   %.*s%s\n", SPAN_ARGS(latest), deployed ? " (deployed)" : "");
	if (active.data && !deployed)
		printf("  deployed         %.*s\n", SPAN_ARGS(active));
	JSON_EACH_ITEM (json_get(environment, "currentState"), running)
		printf("  running          %.*s: %lld of %lld tasks active\n",
			SPAN_ARGS(json_get_text(running, "taskDefinition")),
			(long long)json_get_integer(running, "activeCount", 0),
			(long long)json_get_integer(running, "taskCount", 0));
}

static void print_status(const struct env *env, const struct json *environment)
{
	struct span type = json_get_text(environment, "environmentType");

	printf("%.*s  %.*s, %.*s, %.*s\n", SPAN_ARGS(json_get_text(environment, "name")),
		SPAN_ARGS(type), SPAN_ARGS(json_get_text(environment, "status")),
		SPAN_ARGS(json_get_text(environment, "health")));
	printf("  cluster          %.*s\n",
		SPAN_ARGS(json_text(json_path(environment, "instanceGroup.cluster"))));
	print_elsewhere(environment);
	print_versions(environment);
	printf("  %-16s %.*s\n", span_is(type, "Daemon") ? "instances" : "tasks",
		SPAN_ARGS(progress_text(env, environment)));
	print_of_type(env, environment);
	print_failed(json_get(environment, "activeDeployment"));
}

static void sleep_a_while(void)
{
	nanosleep(&(struct timespec){.tv_nsec = LOOK_EVERY_MS * 1000000L}, NULL);
}

static bool has_ended(struct span status)
{
	static const char *const words[] = {"completed", "stopped", "canceled", "timed-out"};

	for (size_t i = 0; i < LENGTH(words); i++)
		if (span_is(status, words[i]))
			return true;
	return false;
}

/* One line that is written over on a terminal, and a line for each change elsewhere. */
struct progress {
	char shown[512];
	bool terminal;
};

static void show(struct progress *progress, struct span text)
{
	if (span_equal(span_of(progress->shown), text))
		return;
	snprintf(progress->shown, sizeof(progress->shown), "%.*s", SPAN_ARGS(text));
	if (progress->terminal)
		printf("\r\033[K%s", progress->shown);
	else
		puts(progress->shown);
	fflush(stdout);
}

/* Until the deployment has ended. */
static int watch_deployment(struct env *env, struct span id)
{
	struct progress progress = {.terminal = isatty(STDOUT_FILENO)};
	const char *path =
		path_of(env, arena_format(env->arena, "/deployments/%.*s", SPAN_ARGS(id)).data);
	struct arena *arena = env->arena;

	for (;;) {
		_arena_ struct arena *turn = arena_new(0);
		struct json *deployment, *environment;
		struct span status;
		int code;

		env->arena = turn;
		code = call(env, "GET", path_of(env, ""), NULL, &environment);
		if (code == 0)
			code = call(env, "GET", path, NULL, &deployment);
		env->arena = arena;
		if (code != 0)
			return code;
		status = json_get_text(deployment, "status");
		env->arena = turn;
		show(&progress, progress_text(env, environment));
		env->arena = arena;
		if (!has_ended(status)) {
			sleep_a_while();
			continue;
		}
		if (progress.terminal)
			putchar('\n');
		printf("Deployment %.*s: %.*s\n", SPAN_ARGS(id), SPAN_ARGS(status));
		print_failed(deployment);
		return span_is(status, "completed") ? EXIT_OK : EXIT_FAILED;
	}
}

static int status(struct env *env)
{
	struct progress progress = {.terminal = isatty(STDOUT_FILENO)};
	struct json *environment;
	int code = call(env, "GET", path_of(env, ""), NULL, &environment);

	if (code != 0)
		return code;
	if (wants_json(env))
		return print_json(environment);
	print_status(env, environment);
	while (env->watch) {
		_arena_ struct arena *turn = arena_new(0);
		struct arena *arena = env->arena;

		sleep_a_while();
		env->arena = turn;
		code = call(env, "GET", path_of(env, ""), NULL, &environment);
		if (code == 0)
			show(&progress, progress_text(env, environment));
		env->arena = arena;
		if (code != 0)
			return code;
	}
	return EXIT_OK;
}

/* ---- deployments ---- */

static int answer_deployment(struct env *env, const struct json *answer, const char *what)
{
	struct span id = json_get_text(answer, "deploymentId");

	if (wants_json(env) && !env->watch)
		return print_json(answer);
	printf("%s %.*s\n", what, SPAN_ARGS(id));
	return env->watch ? watch_deployment(env, id) : EXIT_OK;
}

static int deploy(struct env *env)
{
	struct json *body = json_new_object(env->arena), *now, *answer;
	int code = 0;

	if (env->version) {
		json_set_string(env->arena, body, "environmentVersion", span_of(env->version));
	} else {
		code = call(env, "GET", path_of(env, ""), NULL, &now);
		if (code == 0)
			json_set(env->arena, body, "environmentVersion",
				json_get(now, "latestVersion"));
	}
	if (code == 0)
		code = call(env, "POST", path_of(env, "/deployments"), body, &answer);
	return code ? code : answer_deployment(env, answer, "Deployment");
}

static int rollback(struct env *env)
{
	struct json *body = json_new_object(env->arena), *answer;
	int code;

	if (env->version)
		json_set_string(env->arena, body, "environmentVersion", span_of(env->version));
	code = call(env, "POST", path_of(env, "/rollback"), body, &answer);
	return code ? code : answer_deployment(env, answer, "Rollback");
}

static int stop(struct env *env)
{
	struct json *now, *answer;
	struct span id = SPAN_NONE;
	int code = 0;

	if (env->argument) {
		id = span_of(env->argument);
	} else {
		code = call(env, "GET", path_of(env, ""), NULL, &now);
		if (code != 0)
			return code;
		id = json_text(json_path(now, "activeDeployment.deploymentId"));
		if (!id.data)
			return command_failed("environment %s has no deployment in progress",
				env->name);
	}
	code = call(env, "POST",
		path_of(env,
			arena_format(env->arena, "/deployments/%.*s/stop", SPAN_ARGS(id)).data),
		NULL, &answer);
	return code ? code : answer_deployment(env, answer, "Stopped");
}

static int history(struct env *env)
{
	struct json *answer;
	int code = call(env, "GET", path_of(env, "/deployments"), NULL, &answer);

	if (code != 0 || wants_json(env))
		return code ? code : print_json(answer);
	printf("%-36s  %-13s  %-13s  %-36s  %s\n", "DEPLOYMENT", "TYPE", "STATUS", "VERSION",
		"INSTANCES");
	JSON_EACH_ITEM (json_get(answer, "deployments"), item)
		printf("%-36.*s  %-13.*s  %-13.*s  %-36.*s  %lld/%lld\n",
			SPAN_ARGS(json_get_text(item, "deploymentId")),
			SPAN_ARGS(json_get_text(item, "deploymentType")),
			SPAN_ARGS(json_get_text(item, "status")),
			SPAN_ARGS(json_get_text(item, "environmentVersion")),
			number(item, "completed"), number(item, "total"));
	return EXIT_OK;
}

/* Of all environments: as many pages as there are, but not the whole past; nextToken says that there is more. */
static int read_deployments(struct env *env, struct json **ret_answer)
{
	struct json *made = json_new_object(env->arena), *items = json_new_array(env->arena), *page;
	struct span token = SPAN("");
	const char *path;
	int code;

	do {
		path = arena_format(env->arena, "/v1/deployments?%s%.*s%sstatus=%s",
			token.length > 0 ? "nextToken=" : "", SPAN_ARGS(token),
			token.length > 0 ? "&" : "", env->status)
			       .data;
		code = call(env, "GET", path, NULL, &page);
		if (code != 0)
			return code;
		JSON_EACH_ITEM (json_get(page, "deployments"), item)
			json_append(env->arena, items, item);
		token = json_get_text(page, "nextToken");
	} while (token.length > 0 && json_count(items) < DEPLOYMENTS_MAX);
	json_set(env->arena, made, "deployments", items);
	if (token.length > 0)
		json_set_string(env->arena, made, "nextToken", token);
	*ret_answer = made;
	return EXIT_OK;
}

static int deployments(struct env *env)
{
	struct json *answer;
	int code;

	if (!env->status || !is_name(env->status))
		return command_misused(env->command,
			"deployments needs --status and one of the states of a deployment");
	code = read_deployments(env, &answer);
	if (code != 0 || wants_json(env))
		return code ? code : print_json(answer);
	printf("%-30s  %-36s  %-13s  %-13s  %-19s  %s\n", "ENVIRONMENT", "DEPLOYMENT", "TYPE",
		"STATUS", "CREATED (UTC)", "INSTANCES");
	JSON_EACH_ITEM (json_get(answer, "deployments"), item)
		printf("%-30.*s  %-36.*s  %-13.*s  %-13.*s  %-19.*s  %lld/%lld\n",
			SPAN_ARGS(json_get_text(item, "environmentName")),
			SPAN_ARGS(json_get_text(item, "deploymentId")),
			SPAN_ARGS(json_get_text(item, "deploymentType")),
			SPAN_ARGS(json_get_text(item, "status")),
			SPAN_ARGS(moment_text(env, item, "createdAt")), number(item, "completed"),
			number(item, "total"));
	if (json_get(answer, "nextToken"))
		puts("There are older ones.");
	return EXIT_OK;
}

static int diff(struct env *env)
{
	static const struct {
		const char *name, *words;
	} kinds[] = {{"start", "+ start on"}, {"replace", "~ replace on"}, {"stop", "- stop on"},
		{"unreachable", "? unreachable:"}};
	struct json *answer;
	int code = call(env, "GET",
		path_of(env,
			env->version
				? arena_format(env->arena, "/diff?version=%s", env->version).data
				: "/diff"),
		NULL, &answer);

	if (code != 0 || wants_json(env))
		return code ? code : print_json(answer);
	JSON_EACH_ITEM (json_get(answer, "changes"), change) {
		struct span absent = SPAN("(nothing)");
		const struct json *before = json_get(change, "before"),
				  *after = json_get(change, "after");

		printf("%.*s: %.*s -> %.*s\n", SPAN_ARGS(json_get_text(change, "member")),
			SPAN_ARGS(before ? json_to_text(before, env->arena) : absent),
			SPAN_ARGS(after ? json_to_text(after, env->arena) : absent));
	}
	for (size_t i = 0; i < LENGTH(kinds); i++)
		JSON_EACH_ITEM (json_get(answer, kinds[i].name), item)
			printf("%s %.*s\n", kinds[i].words,
				SPAN_ARGS(json_get_text(item, "instance")));
	printf("%lld to start, %lld to replace, %lld to stop, %lld stay; at most %lld down at "
	       "once%s\n",
		number(json_get(answer, "counts"), "start"),
		number(json_get(answer, "counts"), "replace"),
		number(json_get(answer, "counts"), "stop"),
		number(json_get(answer, "counts"), "keep"), number(answer, "maxDown"),
		json_get_bool(answer, "truncated", false) ? " (not all are shown)" : "");
	return EXIT_OK;
}

static int list(struct env *env)
{
	struct json *answer;
	int code = call(env, "GET", "/v1/environments", NULL, &answer);

	if (code != 0 || wants_json(env))
		return code ? code : print_json(answer);
	printf("%-30s  %-7s  %-9s  %-9s  %s\n", "NAME", "TYPE", "STATUS", "HEALTH",
		"INSTANCES OR TASKS");
	JSON_EACH_ITEM (json_get(answer, "environments"), item)
		printf("%-30.*s  %-7.*s  %-9.*s  %-9.*s  %.*s\n",
			SPAN_ARGS(json_get_text(item, "name")),
			SPAN_ARGS(json_get_text(item, "environmentType")),
			SPAN_ARGS(json_get_text(item, "status")),
			SPAN_ARGS(json_get_text(item, "health")),
			SPAN_ARGS(progress_text(env, item)));
	return EXIT_OK;
}

/* ---- the command ---- */

static const struct verb {
	const char *name;
	int (*run)(struct env *env);
	int words; /* with the verb; one more may be given if `more` */
	bool more;
} verbs[] = {
	{"create", create, 2, false},
	{"update", update, 2, false},
	{"diff", diff, 2, false},
	{"deploy", deploy, 2, false},
	{"rollback", rollback, 2, false},
	{"stop", stop, 2, true},
	{"delete", delete, 2, false},
	{"status", status, 2, false},
	{"history", history, 2, false},
	{"deployments", deployments, 1, false},
	{"list", list, 1, false},
};

static const struct verb *find_verb(const struct positionals *words)
{
	for (size_t i = 0; words->count > 0 && i < LENGTH(verbs); i++)
		if (strcmp(verbs[i].name, words->items[0]) == 0 &&
			(words->count == verbs[i].words ||
				(verbs[i].more && words->count == verbs[i].words + 1)))
			return &verbs[i];
	return NULL;
}

int env_run(const struct command *command, int count, char **arguments)
{
	_arena_ struct arena *arena = arena_new(0);
	struct env env = {.command = command, .arena = arena};
	const struct option_row rows[] = {{"server", &env.options.server, NULL},
		{"state", &env.options.state, NULL}, {"ca", &env.options.authorities, NULL},
		{"cluster", &env.cluster, NULL}, {"task-definition", &env.task_definition, NULL},
		{"attributes", &env.attributes, NULL}, {"min-healthy", &env.minimum, NULL},
		{"replace-first", NULL, &env.replace_first}, {"max-over", &env.over, NULL},
		{"canary", &env.canary, NULL}, {"bake", &env.bake, NULL},
		{"timeout", &env.timeout, NULL}, {"warm-up", &env.warm_up, NULL},
		{"drain-timeout", &env.drain_timeout, NULL},
		{"unreachable-timeout", &env.unreachable_timeout, NULL},
		{"priority", &env.priority, NULL}, {"on-failure", &env.on_failure, NULL},
		{"role", &env.role, NULL}, {"target", &env.target, NULL},
		{"version", &env.version, NULL}, {"base-version", &env.base_version, NULL},
		{"type", &env.type, NULL}, {"count", &env.count, NULL},
		{"max-active", &env.max_active, NULL}, {"target-group", &env.target_group, NULL},
		{"container", &env.container, NULL}, {"container-port", &env.port, NULL},
		{"schedule", &env.schedule, NULL}, {"subnets", &env.subnets, NULL},
		{"security-groups", &env.security_groups, NULL},
		{"assign-public-ip", &env.assign_public_ip, NULL}, {"watch", NULL, &env.watch},
		{"terminate-tasks", NULL, &env.terminate}, {"status", &env.status, NULL},
		{"o", &env.format, NULL}};
	_remote_ struct remote *remote = NULL;
	const struct verb *verb;
	struct positionals words;
	struct err err;
	int code = command_read_options(command, count, arguments, rows, LENGTH(rows), &words);

	if (code != 0)
		return code;
	verb = find_verb(&words);
	if (!verb)
		return command_misused(command, "say create, update, diff, deploy, rollback, stop, "
						"delete, status or history and a "
						"NAME, or deployments, or list");
	if (env.format && strcmp(env.format, "json") != 0)
		return command_misused(command, "-o knows json only");
	if (words.count > 1)
		env.name = words.items[1];
	if (words.count > 2)
		env.argument = words.items[2];
	if ((env.name && !is_name(env.name)) || (env.argument && !is_name(env.argument)))
		return command_failed("'%s' is no name of that kind",
			env.name && !is_name(env.name) ? env.name : env.argument);
	if (remote_open(&env.options, &remote, &err) < 0)
		return command_failed("%s", err.message);
	env.remote = remote;
	return verb->run(&env);
}
