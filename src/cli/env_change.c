/* slipway env create, update, pause, resume and delete: desired state; see env.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/env.h"

#define PERCENT_MAX 100
#define SECONDS_MAX 2592000
#define COUNT_MAX 1000000

/* ---- bodies ---- */

/* Where in a request a number goes. */
enum part { PART_BODY, PART_CONFIGURATION, PART_CANARY, PART_BALANCER, PARTS };

static const struct number_row {
	const char *option;
	size_t offset;
	enum part part;
	const char *member;
	long least, most;
} numbers[] = {
	{"min-healthy", offsetof(struct env, minimum), PART_CONFIGURATION, "minHealthyPercent", 0,
		PERCENT_MAX},
	{"max-over", offsetof(struct env, over), PART_CONFIGURATION, "maxOverPercent", 0,
		PERCENT_MAX},
	{"timeout", offsetof(struct env, timeout), PART_CONFIGURATION, "timeoutSeconds", 1,
		SECONDS_MAX},
	{"warm-up", offsetof(struct env, warm_up), PART_CONFIGURATION, "warmUpSeconds", 0,
		SECONDS_MAX},
	{"drain-timeout", offsetof(struct env, drain_timeout), PART_CONFIGURATION,
		"drainTimeoutSeconds", 0, SECONDS_MAX},
	{"unreachable-timeout", offsetof(struct env, unreachable_timeout), PART_CONFIGURATION,
		"unreachableTimeoutSeconds", 0, SECONDS_MAX},
	{"count", offsetof(struct env, count), PART_CONFIGURATION, "desiredCount", 0, COUNT_MAX},
	{"max-active", offsetof(struct env, max_active), PART_CONFIGURATION, "maxActivePercent",
		100, 1000},
	{"canary", offsetof(struct env, canary), PART_CANARY, "instances", 1, COUNT_MAX},
	{"bake", offsetof(struct env, bake), PART_CANARY, "bakeSeconds", 0, SECONDS_MAX},
	{"container-port", offsetof(struct env, port), PART_BALANCER, "containerPort", 0, 65535},
	{"priority", offsetof(struct env, priority), PART_BODY, "priority", 0, 1000},
};

static int set_numbers(const struct env *env, struct json *const parts[PARTS])
{
	for (size_t i = 0; i < LENGTH(numbers); i++) {
		const struct number_row *row = &numbers[i];
		const char *text =
			*(const char *const *)(const void *)((const char *)env + row->offset);
		char *end;
		long value;

		if (!text)
			continue;
		value = strtol(text, &end, 10);
		if (*text == '\0' || *end != '\0' || value < row->least || value > row->most)
			return command_misused(env->command,
				"--%s: '%s' is not a whole number from %ld to %ld", row->option,
				text, row->least, row->most);
		json_set_integer(env->arena, parts[row->part], row->member, value);
	}
	return EXIT_OK;
}

static void set_text(const struct env *env, struct json *object, const char *name, const char *text)
{
	if (text)
		json_set_string(env->arena, object, name, span_of(text));
}

static void set_part(const struct env *env, struct json *object, const char *name,
	const struct json *part)
{
	if (json_count(part) > 0)
		json_set(env->arena, object, name, part);
}

/* "a,b": a list of two; absent: nothing. */
static void set_list(const struct env *env, struct json *object, const char *name, const char *text)
{
	struct json *list = json_new_array(env->arena);
	struct span rest = text ? span_of(text) : SPAN(""), part;

	while (span_next_part(&rest, ',', &part))
		json_append(env->arena, list, json_new_string(env->arena, part));
	if (text)
		json_set(env->arena, object, name, list);
}

/* before: the environment's settings (NULL: none); settings that are not given stay. */
static int set_network(const struct env *env, const struct json *before, struct json *body)
{
	static const struct {
		const char *word;
		const char *value;
	} words[] = {{"enabled", "ENABLED"}, {"disabled", "DISABLED"}};
	struct json *network = json_new_object(env->arena),
		    *built = json_is(before, JSON_OBJECT) ? json_copy_object(env->arena, before)
							  : json_new_object(env->arena);
	const char *value = NULL;

	if (!env->subnets && !env->security_groups && !env->assign_public_ip)
		return EXIT_OK;
	for (size_t i = 0; env->assign_public_ip && i < LENGTH(words); i++)
		if (strcmp(env->assign_public_ip, words[i].word) == 0)
			value = words[i].value;
	if (env->assign_public_ip && !value)
		return command_misused(env->command,
			"--assign-public-ip: invalid value '%s'; use enabled or disabled",
			env->assign_public_ip);
	set_list(env, built, "subnets", env->subnets);
	set_list(env, built, "securityGroups", env->security_groups);
	set_text(env, built, "assignPublicIp", value);
	if (json_count(json_get(built, "subnets")) == 0)
		return command_misused(env->command,
			"a network needs --subnets: the environment has none");
	json_set(env->arena, network, "awsvpcConfiguration", built);
	json_set(env->arena, body, "networkConfiguration", network);
	return EXIT_OK;
}

/* All that create and update have in common, but for the network. */
static int set_body(const struct env *env, struct json *body)
{
	struct json *group = json_new_object(env->arena), *parts[PARTS] = {body};
	int code;

	for (size_t i = PART_BODY + 1; i < PARTS; i++)
		parts[i] = json_new_object(env->arena);
	code = set_numbers(env, parts);
	if (code != EXIT_OK)
		return code;
	set_text(env, body, "taskDefinition", env->task_definition);
	set_text(env, body, "target", env->target);
	set_text(env, body, "role", env->role);
	set_text(env, group, "cluster", env->cluster);
	set_list(env, group, "attributes", env->attributes);
	set_part(env, body, "instanceGroup", group);
	set_text(env, parts[PART_BALANCER], "targetGroupArn", env->target_group);
	set_text(env, parts[PART_BALANCER], "containerName", env->container);
	set_part(env, parts[PART_CONFIGURATION], "loadBalancer", parts[PART_BALANCER]);
	set_part(env, parts[PART_CONFIGURATION], "canary", parts[PART_CANARY]);
	set_text(env, parts[PART_CONFIGURATION], "schedule", env->schedule);
	set_text(env, parts[PART_CONFIGURATION], "onFailure", env->on_failure);
	if (env->replace_first)
		json_set_bool(env->arena, parts[PART_CONFIGURATION], "replaceThenTerminate", true);
	set_part(env, body, "deploymentConfiguration", parts[PART_CONFIGURATION]);
	return EXIT_OK;
}

/* ---- create ---- */

int env_create(struct env *env)
{
	struct json *body = json_new_object(env->arena), *answer;
	int code;

	if (!env->task_definition || !env->cluster)
		return command_misused(env->command, "needs --task-definition and --cluster");
	set_text(env, body, "name", env->name);
	set_text(env, body, "environmentType", env->type);
	code = set_body(env, body);
	if (code == EXIT_OK)
		code = set_network(env, NULL, body);
	if (code == EXIT_OK)
		code = env_call(env, "POST", "/v1/environments", body, &answer);
	if (code != EXIT_OK || env_wants_json(env))
		return code ? code : env_print_json(answer);
	/* There may be tasks: those that an environment of this name has left. */
	printf("Environment %s is there, version %.*s. It starts and stops nothing before it is "
	       "deployed:\n\n"
	       "  slipway env deploy %s\n",
		env->name, SPAN_ARGS(env_text(answer, "environmentVersion")), env->name);
	return EXIT_OK;
}

/* ---- pause, resume ---- */

static int set_status(struct env *env, const char *status)
{
	struct json *body = json_new_object(env->arena), *answer;
	int code;

	set_text(env, body, "status", status);
	code = env_call(env, "PUT", env_path(env, ""), body, &answer);
	if (code != EXIT_OK || env_wants_json(env))
		return code ? code : env_print_json(answer);
	if (strcmp(status, "active") == 0)
		printf("Environment %s is active: it sees to its tasks.\n", env->name);
	else
		printf("Environment %s is inactive: what runs stays, but tasks that die are not "
		       "replaced,\nnew instances get none, and schedules are not due. To go on:\n\n"
		       "  slipway env resume %s\n",
			env->name, env->name);
	return EXIT_OK;
}

int env_pause(struct env *env)
{
	return set_status(env, "inactive");
}

int env_resume(struct env *env)
{
	return set_status(env, "active");
}

/* ---- update ---- */

/* Pending deployments; none if the request fails, because the update reports the failure. */
static const struct json *find_pending(struct env *env)
{
	struct json *answer = NULL;
	struct err err;

	if (env_try(env, "GET", env_path(env, "/deployments?status=pending"), NULL, &answer, &err) <
		0)
		return NULL;
	return json_get(answer, "deployments");
}

/* Those of them that the update has canceled. */
static void warn_of_canceled(struct env *env, const struct json *pending)
{
	JSON_EACH_ITEM (pending, item) {
		struct span id = env_text(item, "deploymentId");
		struct json *now = NULL;
		struct err err;

		if (env_try(env, "GET",
			    env_path(env,
				    arena_format(env->arena, "/deployments/%.*s", SPAN_ARGS(id))
					    .data),
			    NULL, &now, &err) == 0 &&
			span_is(env_text(now, "status"), "canceled"))
			env_warn("deployment %.*s, which had not begun, was canceled by this "
				 "update",
				SPAN_ARGS(id));
	}
}

/* Values that are not given stay; the API requires the task definition each time. */
static int make_update(struct env *env, struct json *body)
{
	struct json *now, *group;
	struct span base;
	int code = env_call(env, "GET", env_path(env, ""), NULL, &now);

	if (code == EXIT_OK)
		code = set_network(env, json_path(now, "networkConfiguration.awsvpcConfiguration"),
			body);
	if (code == EXIT_OK && env->base_version)
		code = env_find_version(env, "base-version", env->base_version, &base);
	if (code != EXIT_OK)
		return code;
	if (env->base_version)
		json_set_string(env->arena, body, "baseVersion", base);
	if (!env->task_definition)
		json_set(env->arena, body, "taskDefinition", json_get(now, "taskDefinition"));
	if (env->attributes && !env->cluster) {
		group = json_copy_object(env->arena, json_get(body, "instanceGroup"));
		json_set(env->arena, group, "cluster", json_path(now, "instanceGroup.cluster"));
		json_set(env->arena, body, "instanceGroup", group);
	}
	return EXIT_OK;
}

static bool changes_network(const struct env *env)
{
	return env->subnets || env->security_groups || env->assign_public_ip;
}

int env_update(struct env *env)
{
	struct json *body = json_new_object(env->arena), *answer;
	const struct json *pending;
	int code = set_body(env, body);

	if (code != EXIT_OK)
		return code;
	if (env->status && strcmp(env->status, "active") != 0 &&
		strcmp(env->status, "inactive") != 0)
		return command_misused(env->command,
			"--status: invalid value '%s'; use active or inactive", env->status);
	if (json_count(body) == 0 && !changes_network(env)) {
		if (!env->status || env->base_version)
			return command_misused(env->command,
				"nothing to change; pass at least one option");
		return set_status(env, env->status);
	}
	code = make_update(env, body);
	if (code != EXIT_OK)
		return code;
	set_text(env, body, "status", env->status);
	pending = find_pending(env);
	code = env_call(env, "PUT", env_path(env, ""), body, &answer);
	if (code != EXIT_OK)
		return code;
	warn_of_canceled(env, pending);
	if (env_wants_json(env))
		return env_print_json(answer);
	printf("Environment %s has a new version %.*s%s%s. What runs is unchanged:\n\n"
	       "  slipway env deploy %s\n",
		env->name, SPAN_ARGS(env_text(answer, "environmentVersion")),
		env->status ? ", and is " : "", env->status ? env->status : "", env->name);
	return EXIT_OK;
}

/* ---- delete ---- */

int env_delete(struct env *env)
{
	struct json *before = NULL, *answer;
	struct err err;
	bool again = env_try(env, "GET", env_path(env, ""), NULL, &before, &err) == 0 &&
		     span_is(env_text(before, "status"), "deleting");
	int code = env_call(env, "DELETE",
		env_path(env, env->terminate ? "?terminateTasks=true" : ""), NULL, &answer);

	if (code != EXIT_OK || env_wants_json(env))
		return code ? code : env_print_json(answer);
	/* The first delete request may have asked to stop the tasks. */
	printf("Environment %s is being deleted%s%s.\n", env->name, again ? " already" : "",
		env->terminate ? "; its tasks are stopped"
		: again        ? ""
			       : "; its tasks stay");
	return EXIT_OK;
}
