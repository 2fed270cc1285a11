/* slipway env deploy, rollback, stop and diff: changes and their preview; see env.h. */
#include <stdio.h>
#include <string.h>

#include "cli/env.h"

/* ---- deploy, rollback ---- */

static int answer_deployment(struct env *env, const struct json *answer, const char *what)
{
	struct span id = env_text(answer, "deploymentId");

	if (env_wants_json(env) && !env->watch)
		return env_print_json(answer);
	if (!env_wants_json(env))
		printf("%s %.*s\n", what, SPAN_ARGS(id));
	fflush(stdout);
	return env->watch ? env_watch_deployment(env, id, what) : EXIT_OK;
}

/* A deployment without instances completes at once: intended, or a misspelt name. A failed read
 * here is not an error, because the deployment has begun. */
static bool matches_nothing(struct env *env, struct span version)
{
	static const char *const matching[] = {"start", "replace", "keep", "unreachable"};
	const char *id = arena_copy(env->arena, version.data, version.length);
	const char *path = env_path_with(env, env_path(env, "/diff?maxResults=1"), "version", id);
	struct json *environment, *answer;
	long long count = 0;
	struct err err;

	if (env_try(env, "GET", env_path(env, ""), NULL, &environment, &err) < 0 ||
		!span_is(env_text(environment, "environmentType"), "Daemon") ||
		env_try(env, "GET", path, NULL, &answer, &err) < 0)
		return false;
	for (size_t i = 0; i < LENGTH(matching); i++)
		count += env_number(json_get(answer, "counts"), matching[i]);
	if (count == 0)
		env_warn("no instance of cluster %.*s matches environment %s now",
			SPAN_ARGS(env_last_part(env_text(json_get(environment, "instanceGroup"),
				"cluster"))),
			env->name);
	return count == 0;
}

/* The version that is meant, or the latest. */
static int read_version(struct env *env, struct span *ret_version)
{
	struct json *now;
	int code;

	if (env->version)
		return env_find_version(env, "version", env->version, ret_version);
	code = env_call(env, "GET", env_path(env, ""), NULL, &now);
	if (code == EXIT_OK)
		*ret_version = env_text(now, "latestVersion");
	return code;
}

int env_deploy(struct env *env)
{
	uint64_t most;
	struct json *body = json_new_object(env->arena), *answer;
	struct span version;
	bool nothing;
	int code = read_version(env, &version);

	if (code != EXIT_OK)
		return code;
	if (env->max_failures && !span_to_unsigned(span_of(env->max_failures), INT32_MAX, &most))
		return command_misused(env->command, "--max-failures takes a number");
	json_set_string(env->arena, body, "environmentVersion", version);
	code = env_call(env, "POST", env_path(env, "/deployments"), body, &answer);
	if (code != EXIT_OK)
		return code;
	nothing = matches_nothing(env, version);
	code = answer_deployment(env, answer, "Deployment");
	return code == EXIT_OK && nothing ? EXIT_NO_INSTANCE : code;
}

int env_rollback(struct env *env)
{
	struct json *body = json_new_object(env->arena), *answer;
	struct span version;
	int code = EXIT_OK;

	if (env->version)
		code = env_find_version(env, "version", env->version, &version);
	if (code == EXIT_OK && env->version)
		json_set_string(env->arena, body, "environmentVersion", version);
	if (code == EXIT_OK)
		code = env_call(env, "POST", env_path(env, "/rollback"), body, &answer);
	return code ? code : answer_deployment(env, answer, "Rollback");
}

/* ---- stop ---- */

/* The deployment given on the command line, or the one in progress. */
static int read_deployment(struct env *env, struct span *ret_id)
{
	struct json *now;
	int code;

	if (env->argument) {
		*ret_id = span_of(env->argument);
		return EXIT_OK;
	}
	code = env_call(env, "GET", env_path(env, ""), NULL, &now);
	if (code != EXIT_OK)
		return code;
	*ret_id = json_text(json_path(now, "activeDeployment.deploymentId"));
	if (!ret_id->data)
		return command_failed("environment %s has no deployment in progress; to leave "
				      "everything as it is: slipway env pause %s",
			env->name, env->name);
	return EXIT_OK;
}

int env_stop(struct env *env)
{
	struct json *answer, *environment;
	struct span id, next;
	int code = read_deployment(env, &id);

	if (code == EXIT_OK)
		code = env_call(env, "POST",
			env_path(env,
				arena_format(env->arena, "/deployments/%.*s/stop", SPAN_ARGS(id))
					.data),
			NULL, &answer);
	if (code != EXIT_OK || env_wants_json(env))
		return code ? code : env_print_json(answer);
	if (span_is(env_text(answer, "status"), "canceled")) {
		printf("Deployment %.*s, which had not begun, is canceled. Nothing else has "
		       "changed.\n",
			SPAN_ARGS(id));
		return EXIT_OK;
	}
	printf("Deployment %.*s is %s. ", SPAN_ARGS(id),
		span_is(env_text(answer, "status"), "stopped") ? "stopped" : "being stopped");
	/* Another one may wait, or have begun long ago. */
	code = env_call(env, "GET", env_path(env, ""), NULL, &environment);
	if (code != EXIT_OK)
		return code;
	next = json_text(json_path(environment, "pendingDeployment.deploymentId"));
	if (next.length > 0)
		printf("Deployment %.*s, which waited, is next; stop it, too, if it must not\n"
		       "begin.\n",
			SPAN_ARGS(next));
	else if (!span_is(env_text(environment, "status"), "inactive"))
		printf("Environment %s is %.*s.\n", env->name,
			SPAN_ARGS(env_text(environment, "status")));
	else
		printf("Environment %s is inactive now: what runs stays, but tasks\n"
		       "that die are not replaced, and new instances get none. To go on:\n\n"
		       "  slipway env deploy %s\n",
			env->name, env->name);
	return EXIT_OK;
}

/* ---- diff ---- */

static void print_changes(const struct env *env, const struct json *answer)
{
	struct span absent = SPAN("(nothing)");

	JSON_EACH_ITEM (json_get(answer, "changes"), change) {
		const struct json *before = json_get(change, "before"),
				  *after = json_get(change, "after");

		printf("%.*s: %.*s -> %.*s\n", SPAN_ARGS(env_text(change, "member")),
			SPAN_ARGS(before ? json_to_text(before, env->arena) : absent),
			SPAN_ARGS(after ? json_to_text(after, env->arena) : absent));
	}
}

static void print_instances(const struct json *answer)
{
	static const struct {
		const char *name, *words;
	} kinds[] = {{"start", "+ start on"}, {"replace", "~ replace on"}, {"stop", "- stop on"},
		{"unreachable", "? unreachable:"}};
	const struct json *counts = json_get(answer, "counts");

	for (size_t i = 0; i < LENGTH(kinds); i++)
		JSON_EACH_ITEM (json_get(answer, kinds[i].name), item) {
			struct span reason = env_text(item, "reason");

			printf("%s %.*s%s%.*s\n", kinds[i].words,
				SPAN_ARGS(env_text(item, "instance")),
				reason.length > 0 ? ": " : "", SPAN_ARGS(reason));
		}
	printf("%lld to start, %lld to replace, %lld to stop, %lld stay; at most %lld down at "
	       "once%s\n",
		env_number(counts, "start"), env_number(counts, "replace"),
		env_number(counts, "stop"), env_number(counts, "keep"),
		env_number(answer, "maxDown"),
		json_get_bool(answer, "truncated", false) ? " (not all are shown)" : "");
}

int env_diff(struct env *env)
{
	struct json *environment, *answer;
	struct span version;
	int code = env_call(env, "GET", env_path(env, ""), NULL, &environment);

	if (code == EXIT_OK)
		code = read_version(env, &version);
	if (code == EXIT_OK)
		code = env_call(env, "GET",
			env_path_with(env, env_path(env, "/diff"), "version",
				arena_copy(env->arena, version.data, version.length)),
			NULL, &answer);
	if (code != EXIT_OK || env_wants_json(env))
		return code ? code : env_print_json(answer);
	print_changes(env, answer);
	if (span_is(env_text(environment, "environmentType"), "Daemon"))
		print_instances(answer);
	else if (!json_get(answer, "activeVersion"))
		puts("Nothing is deployed yet: all of it is new.");
	else if (json_count(json_get(answer, "changes")) == 0)
		puts("As what is deployed.");
	return EXIT_OK;
}
