/* slipway env status: how an environment is; see env.h. */
#include <stdio.h>
#include <string.h>

#include "cli/env.h"

#define SCAN_MAX 1000 /* deployments among which the last one of a version is looked for */

/* ---- texts ---- */

static bool is_cron(const struct json *environment)
{
	return span_is(env_text(environment, "environmentType"), "Cron");
}

struct span env_outcome(const struct env *env, const struct json *deployment)
{
	struct span status = env_text(deployment, "status"),
		    reason = env_text(deployment, "statusReason");

	return arena_format(env->arena, "%.*s%s%.*s", SPAN_ARGS(status),
		reason.length > 0 ? ": " : "", SPAN_ARGS(reason));
}

/* A schedule replaces nothing: its tasks come when they are due. */
static struct span cron_text(const struct env *env, const struct json *environment)
{
	const struct json *counts = json_get(environment, "counts"),
			  *state = json_get(environment, "scheduleState");

	return arena_format(env->arena, "%lld running%s%.*s",
		env_number(counts, "active") + env_number(counts, "launching"),
		json_get(state, "nextRunAt") ? ", next run " : "",
		SPAN_ARGS(json_get(state, "nextRunAt") ? env_moment(env, state, "nextRunAt")
						       : SPAN("")));
}

struct span env_progress_text(const struct env *env, const struct json *environment,
	const struct json *deployment)
{
	const struct json *counts = json_get(environment, "counts");
	long long done = deployment ? env_number(deployment, "completed")
				    : env_number(counts, "active") - env_number(counts, "outdated"),
		  total = deployment ? env_number(deployment, "total") : 0;
	struct span outcome = deployment ? env_outcome(env, deployment) : SPAN(""), more = SPAN("");
	struct span canary = env_text(json_get(deployment, "canary"), "status");

	if (is_cron(environment))
		return arena_format(env->arena, "%.*s%s%.*s",
			SPAN_ARGS(cron_text(env, environment)), outcome.length > 0 ? "  " : "",
			SPAN_ARGS(outcome));
	if (env_number(counts, "unreachable") > 0)
		more = arena_format(env->arena, " %lld unreachable",
			env_number(counts, "unreachable"));
	if (canary.length > 0 && !span_is(canary, "proved"))
		more = arena_format(env->arena, "%.*s, canary %.*s", SPAN_ARGS(more),
			SPAN_ARGS(canary));
	return arena_format(env->arena,
		"%lld/%lld replaced, %lld active %lld launching %lld unhealthy %lld "
		"missing%.*s%s%.*s",
		done > 0 ? done : 0, total > 0 ? total : env_number(counts, "total"),
		env_number(counts, "active"), env_number(counts, "launching"),
		env_number(counts, "unhealthy"), env_number(counts, "missing"), SPAN_ARGS(more),
		outcome.length > 0 ? "  " : "", SPAN_ARGS(outcome));
}

void env_print_failed(const struct json *deployment)
{
	JSON_EACH_ITEM (json_get(deployment, "failedInstances"), failed)
		printf("  %.*s: %.*s\n", SPAN_ARGS(env_text(failed, "instance")),
			SPAN_ARGS(env_text(failed, "reason")));
}

/* ---- runs of a schedule ---- */

/* Why a run was skipped names another by the second in which it was due. */
static struct span reason_text(const struct env *env, const struct json *run)
{
	static const struct {
		const char *prefix, *before, *behind;
	} words[] = {
		{"STILL_RUNNING: the run of ", "the one of ", " was still going"},
		{"NOT_KNOWN: what came of the run of ", "what came of the one of ",
			" was not known"},
	};
	struct span reason = env_text(run, "reason");
	uint64_t second;

	for (size_t i = 0; i < LENGTH(words); i++) {
		struct span prefix = span_of(words[i].prefix), rest;

		if (!span_starts_with(reason, prefix))
			continue;
		rest = (struct span){reason.data + prefix.length, reason.length - prefix.length};
		if (span_to_unsigned(rest, INT64_MAX, &second))
			return arena_format(env->arena, "%s%.*s%s", words[i].before,
				SPAN_ARGS(env_moment_of(env, (double)second)), words[i].behind);
	}
	if (span_starts_with(reason, SPAN("NOT_RUNNING:")))
		return arena_format(env->arena,
			"slipway was not running: %lld in all, the last one %.*s",
			env_number(run, "count"), SPAN_ARGS(env_moment(env, run, "lastDueAt")));
	return reason;
}

static struct span result_of(const struct env *env, const struct json *run)
{
	struct span reason = reason_text(env, run);

	if (!json_get(run, "exitCode"))
		return reason;
	return arena_format(env->arena, "exit code %lld%s%.*s", env_number(run, "exitCode"),
		reason.length > 0 ? ": " : "", SPAN_ARGS(reason));
}

static void print_runs(const struct env *env, const struct json *state)
{
	printf("  next run         %.*s\n", SPAN_ARGS(env_moment(env, state, "nextRunAt")));
	if (env_number(state, "missedRuns") > 0)
		printf("  missed           %lld, the last one %.*s\n",
			env_number(state, "missedRuns"),
			SPAN_ARGS(env_moment(env, state, "lastMissedAt")));
	if (json_count(json_get(state, "runs")) > 0)
		printf("  %-20s %-10s %-20s %s\n", "DUE (UTC)", "STATUS", "ENDED (UTC)", "RESULT");
	JSON_EACH_ITEM (json_get(state, "runs"), run)
		printf("  %-20.*s %-10.*s %-20.*s %.*s\n", SPAN_ARGS(env_moment(env, run, "dueAt")),
			SPAN_ARGS(env_text(run, "status")),
			SPAN_ARGS(env_moment(env, run, "endedAt")), SPAN_ARGS(result_of(env, run)));
}

/* ---- status ---- */

static struct span attribute_text(const struct env *env, const struct json *item)
{
	struct span value = env_text(item, "value");

	if (json_is(item, JSON_STRING))
		return json_text(item);
	return arena_format(env->arena, "%.*s%s%.*s", SPAN_ARGS(env_text(item, "name")),
		value.length > 0 ? "=" : "", SPAN_ARGS(value));
}

/* Which instances, and how versions go out to them. */
static void print_configuration(const struct env *env, const struct json *environment)
{
	static const struct {
		const char *name, *words, *unit;
	} numbers[] = {
		{"desiredCount", "count", ""},
		{"minHealthyPercent", "min healthy", "%"},
		{"maxOverPercent", "max over", "%"},
		{"maxActivePercent", "max active", "%"},
		{"warmUpSeconds", "warm-up", " s"},
		{"timeoutSeconds", "timeout", " s"},
	};
	const struct json *configuration = json_get(environment, "deploymentConfiguration"),
			  *canary = json_get(configuration, "canary");
	struct span text = SPAN(""), failure = env_text(configuration, "onFailure");

	JSON_EACH_ITEM (json_path(environment, "instanceGroup.attributes"), item)
		text = arena_format(env->arena, "%.*s%s%.*s", SPAN_ARGS(text),
			text.length > 0 ? ", " : "", SPAN_ARGS(attribute_text(env, item)));
	if (text.length > 0)
		printf("  attributes       %.*s\n", SPAN_ARGS(text));
	text = json_get_bool(configuration, "replaceThenTerminate", false) ? SPAN("replace first, ")
									   : SPAN("");
	if (span_is(env_text(environment, "environmentType"), "Daemon") &&
		!json_get(configuration, "minHealthyPercent"))
		text = arena_format(env->arena, "%.*smin healthy 90%% or all but one, ",
			SPAN_ARGS(text));
	for (size_t i = 0; i < LENGTH(numbers); i++)
		if (json_get(configuration, numbers[i].name))
			text = arena_format(env->arena, "%.*s%s %lld%s, ", SPAN_ARGS(text),
				numbers[i].words, env_number(configuration, numbers[i].name),
				numbers[i].unit);
	if (canary)
		text = arena_format(env->arena, "%.*scanary %lld for %lld s, ", SPAN_ARGS(text),
			env_number(canary, "instances"), env_number(canary, "bakeSeconds"));
	printf("  rollout          %.*son failure %.*s\n", SPAN_ARGS(text),
		SPAN_ARGS(failure.length > 0 ? failure : SPAN("stop")));
}

static void print_of_type(const struct env *env, const struct json *environment)
{
	struct span schedule =
			    env_text(json_get(environment, "deploymentConfiguration"), "schedule"),
		    service = env_text(environment, "serviceArn");

	if (schedule.length > 0) {
		printf("  schedule         %.*s\n", SPAN_ARGS(schedule));
		print_runs(env, json_get(environment, "scheduleState"));
	}
	if (service.length > 0)
		printf("  service          %.*s\n", SPAN_ARGS(service));
}

/* The target and role of a remote environment, and the problem there, if any. */
static void print_remote(const struct json *environment)
{
	struct span target = env_text(environment, "target"), role = env_text(environment, "role"),
		    reason = env_text(environment, "statusReason");

	if (target.length > 0)
		printf("  target           %.*s\n", SPAN_ARGS(target));
	if (role.length > 0)
		printf("  role             %.*s\n", SPAN_ARGS(role));
	if (json_get_bool(environment, "stale", false))
		printf("  stale            %.*s\n",
			SPAN_ARGS(reason.length > 0 ? reason : SPAN("-")));
	else if (reason.length > 0 &&
		 !span_equal(reason,
			 json_text(json_path(environment, "activeDeployment.statusReason"))))
		printf("  trouble          %.*s\n", SPAN_ARGS(reason));
}

/* How the last deployment of a version by a user ended; "" if that is not known. */
static int find_last_outcome(struct env *env, struct span version, struct span *ret_outcome)
{
	struct json *answer;
	int code = env_pages(env, env_path(env, "/deployments"), "deployments", SCAN_MAX, &answer);

	if (code != EXIT_OK)
		return code;
	*ret_outcome = SPAN("");
	JSON_EACH_ITEM (json_get(answer, "deployments"), item)
		if (span_equal(env_text(item, "environmentVersion"), version) &&
			span_is(env_text(item, "deploymentType"), "user")) {
			*ret_outcome = env_outcome(env, item);
			break;
		}
	return EXIT_OK;
}

/* The rollout state of the latest version: desired does not mean deployed everywhere. */
static int read_standing(struct env *env, const struct json *environment, struct span *ret_standing)
{
	const struct json *going = json_get(environment, "activeDeployment");
	struct span latest = env_text(environment, "latestVersion"),
		    active = env_text(environment, "activeVersion"), outcome;
	int code;

	*ret_standing = SPAN("not deployed");
	if (going && span_is(env_text(going, "deploymentType"), "user") &&
		span_equal(env_text(going, "environmentVersion"), latest)) {
		*ret_standing = SPAN("being deployed");
		return EXIT_OK;
	}
	if (span_equal(active, latest) &&
		span_equal(env_text(environment, "lastCompletedVersion"), latest)) {
		*ret_standing = SPAN("deployed");
		return EXIT_OK;
	}
	code = find_last_outcome(env, latest, &outcome);
	if (code == EXIT_OK && outcome.length > 0 && !span_is(outcome, "completed"))
		*ret_standing =
			arena_format(env->arena, "last deployment %.*s", SPAN_ARGS(outcome));
	return code;
}

/* "3, 1390e4c9-…" */
static int read_number(struct env *env, struct span id, struct span *ret_text)
{
	struct json *version;
	int code = env_call(env, "GET",
		env_path(env, arena_format(env->arena, "/versions/%.*s", SPAN_ARGS(id)).data), NULL,
		&version);

	if (code == EXIT_OK)
		*ret_text = arena_format(env->arena, "%lld, %.*s", env_number(version, "number"),
			SPAN_ARGS(id));
	return code;
}

/* The version declared last, the desired one, which may differ, and the actual ones. */
static int print_versions(struct env *env, const struct json *environment)
{
	struct span active = env_text(environment, "activeVersion"),
		    latest = env_text(environment, "latestVersion"), standing, numbers[2];
	bool differ = active.length > 0 && !span_equal(active, latest);
	int code = read_standing(env, environment, &standing);

	if (code == EXIT_OK)
		code = read_number(env, latest, &numbers[0]);
	if (code == EXIT_OK && differ)
		code = read_number(env, active, &numbers[1]);
	if (code != EXIT_OK)
		return code;
	printf("  task definition  %.*s (%.*s)\n",
		SPAN_ARGS(env_text(environment, "taskDefinition")), SPAN_ARGS(standing));
	printf("  latest version   %.*s\n", SPAN_ARGS(numbers[0]));
	if (differ)
		printf("  wanted version   %.*s\n", SPAN_ARGS(numbers[1]));
	JSON_EACH_ITEM (json_get(environment, "currentState"), running)
		printf("  running          %.*s: %lld of %lld tasks active\n",
			SPAN_ARGS(env_text(running, "taskDefinition")),
			env_number(running, "activeCount"), env_number(running, "taskCount"));
	return EXIT_OK;
}

static int print_status(struct env *env, const struct json *environment)
{
	struct span type = env_text(environment, "environmentType");
	int code;

	printf("%.*s  %.*s, %.*s, %.*s\n", SPAN_ARGS(env_text(environment, "name")),
		SPAN_ARGS(type), SPAN_ARGS(env_text(environment, "status")),
		SPAN_ARGS(env_text(environment, "health")));
	printf("  cluster          %.*s\n",
		SPAN_ARGS(env_text(json_get(environment, "instanceGroup"), "cluster")));
	print_remote(environment);
	print_configuration(env, environment);
	code = print_versions(env, environment);
	if (code != EXIT_OK)
		return code;
	if (!is_cron(environment))
		printf("  %-16s %.*s\n", span_is(type, "Daemon") ? "instances" : "tasks",
			SPAN_ARGS(env_progress_text(env, environment,
				json_get(environment, "activeDeployment"))));
	print_of_type(env, environment);
	env_print_failed(json_get(environment, "activeDeployment"));
	return EXIT_OK;
}

int env_status(struct env *env)
{
	struct json *environment;
	int code;

	if (env->watch && env_wants_json(env))
		return env_watch_environment(env);
	code = env_call(env, "GET", env_path(env, ""), NULL, &environment);
	if (code != EXIT_OK || env_wants_json(env))
		return code ? code : env_print_json(environment);
	code = print_status(env, environment);
	return code == EXIT_OK && env->watch ? env_watch_environment(env) : code;
}
