/* slipway env list, history, versions and deployments: what there is and was; see env.h. */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "cli/env.h"

#define DEPLOYMENTS_MAX ((size_t)1000) /* of all environments, that are shown */

static void print_more(const struct json *answer)
{
	if (json_get(answer, "nextToken"))
		puts("There are more.");
}

/* ---- list ---- */

static const char *filtered(const struct env *env)
{
	const char *path = "/v1/environments";
	struct span rest = env->attributes ? span_of(env->attributes) : SPAN(""), part;

	path = env_path_with(env, path, "type", env->type);
	path = env_path_with(env, path, "status", env->status);
	path = env_path_with(env, path, "health", env->health);
	path = env_path_with(env, path, "cluster", env->cluster);
	path = env_path_with(env, path, "target", env->target);
	path = env_path_with(env, path, "namePrefix", env->prefix);
	while (span_next_part(&rest, ',', &part))
		path = env_path_with(env, path, "attribute",
			arena_copy(env->arena, part.data, part.length));
	return path;
}

int env_list(struct env *env)
{
	struct json *answer;
	int code = env_pages(env, filtered(env), "environments", ENV_ITEMS_MAX, &answer);

	if (code != EXIT_OK || env_wants_json(env))
		return code ? code : env_print_json(answer);
	printf("%-30s  %-7s  %-9s  %-9s  %s\n", "NAME", "TYPE", "STATUS", "HEALTH",
		"INSTANCES OR TASKS");
	JSON_EACH_ITEM (json_get(answer, "environments"), item)
		printf("%-30.*s  %-7.*s  %-9.*s  %-9.*s  %.*s\n", SPAN_ARGS(env_text(item, "name")),
			SPAN_ARGS(env_text(item, "environmentType")),
			SPAN_ARGS(env_text(item, "status")), SPAN_ARGS(env_text(item, "health")),
			SPAN_ARGS(env_progress_text(env, item,
				json_get(item, "activeDeployment"))));
	print_more(answer);
	return EXIT_OK;
}

/* ---- history ---- */

/* The version of a deployment; NULL if it is not there. */
static const struct json *version_of(const struct map *versions, const struct json *deployment)
{
	return map_get(versions, env_text(deployment, "environmentVersion"));
}

static void print_history(const struct env *env, const struct json *answer,
	const struct json *versions)
{
	_map_ struct map by_id = {0};

	JSON_EACH_ITEM (json_get(versions, "versions"), version)
		map_put(&by_id, env_text(version, "environmentVersion"), (void *)version);
	printf("%-36s  %-14s  %-13s  %7s  %-20s  %-19s  %-9s  %s\n", "DEPLOYMENT", "TYPE", "STATUS",
		"VERSION", "TASK DEFINITION", "CREATED (UTC)", "INSTANCES", "REASON");
	JSON_EACH_ITEM (json_get(answer, "deployments"), item) {
		const struct json *version = version_of(&by_id, item);
		struct span type = env_text(item, "deploymentType");

		if (json_get_bool(item, "rollback", false))
			type = arena_format(env->arena, "%.*s, rollback", SPAN_ARGS(type));
		printf("%-36.*s  %-14.*s  %-13.*s  %7lld  %-20.*s  %-19.*s  %-9.*s  %.*s\n",
			SPAN_ARGS(env_text(item, "deploymentId")), SPAN_ARGS(type),
			SPAN_ARGS(env_text(item, "status")), env_number(version, "number"),
			SPAN_ARGS(env_last_part(env_text(version, "taskDefinition"))),
			SPAN_ARGS(env_moment(env, item, "createdAt")),
			SPAN_ARGS(arena_format(env->arena, "%lld/%lld",
				env_number(item, "completed"), env_number(item, "total"))),
			SPAN_ARGS(env_text(item, "statusReason")));
	}
	print_more(answer);
}

int env_history(struct env *env)
{
	struct json *answer, *versions;
	int code = env_pages(env,
		env_path_with(env, env_path(env, "/deployments"), "status", env->status),
		"deployments", ENV_ITEMS_MAX, &answer);

	if (code != EXIT_OK || env_wants_json(env))
		return code ? code : env_print_json(answer);
	code = env_read_versions(env, &versions);
	if (code == EXIT_OK)
		print_history(env, answer, versions);
	return code;
}

/* ---- versions ---- */

static const char *mark_of(const struct json *environment, struct span id)
{
	bool latest = span_equal(id, env_text(environment, "latestVersion")),
	     wanted = span_equal(id, env_text(environment, "activeVersion")),
	     completed = span_equal(id, env_text(environment, "lastCompletedVersion"));

	if (wanted && completed)
		return latest ? "latest, deployed" : "deployed";
	if (wanted)
		return latest ? "latest, wanted" : "wanted";
	if (completed)
		return latest ? "latest, completed before" : "completed before";
	return latest ? "latest" : "";
}

int env_versions(struct env *env)
{
	struct json *environment, *answer;
	int code = env_call(env, "GET", env_path(env, ""), NULL, &environment);

	if (code == EXIT_OK)
		code = env_read_versions(env, &answer);
	if (code != EXIT_OK || env_wants_json(env))
		return code ? code : env_print_json(answer);
	printf("%6s  %-36s  %-19s  %-20s  %s\n", "NUMBER", "VERSION", "CREATED (UTC)",
		"TASK DEFINITION", "");
	JSON_EACH_ITEM (json_get(answer, "versions"), item)
		printf("%6lld  %-36.*s  %-19.*s  %-20.*s  %s\n", env_number(item, "number"),
			SPAN_ARGS(env_text(item, "environmentVersion")),
			SPAN_ARGS(env_moment(env, item, "createdAt")),
			SPAN_ARGS(env_last_part(env_text(item, "taskDefinition"))),
			mark_of(environment, env_text(item, "environmentVersion")));
	print_more(answer);
	return EXIT_OK;
}

/* ---- deployments ---- */

int env_deployments(struct env *env)
{
	struct json *answer;
	int code;

	if (!env->status)
		return command_misused(env->command,
			"needs --status and one of the states of a deployment");
	code = env_pages(env, env_path_with(env, "/v1/deployments", "status", env->status),
		"deployments", DEPLOYMENTS_MAX, &answer);
	if (code != EXIT_OK || env_wants_json(env))
		return code ? code : env_print_json(answer);
	printf("%-30s  %-36s  %-13s  %-13s  %-19s  %s\n", "ENVIRONMENT", "DEPLOYMENT", "TYPE",
		"STATUS", "CREATED (UTC)", "INSTANCES");
	JSON_EACH_ITEM (json_get(answer, "deployments"), item)
		printf("%-30.*s  %-36.*s  %-13.*s  %-13.*s  %-19.*s  %lld/%lld\n",
			SPAN_ARGS(env_text(item, "environmentName")),
			SPAN_ARGS(env_text(item, "deploymentId")),
			SPAN_ARGS(env_text(item, "deploymentType")),
			SPAN_ARGS(env_text(item, "status")),
			SPAN_ARGS(env_moment(env, item, "createdAt")),
			env_number(item, "completed"), env_number(item, "total"));
	if (json_get(answer, "nextToken"))
		puts("There are older ones.");
	return EXIT_OK;
}
