/* The verbs of slipway env: each has its own options, its own help and its own example; see env.h. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/env.h"

#define HELP_COLUMN 27 /* where what an option means begins */

#define AT(member) offsetof(struct env, member)
#define SET(rows)                                                                                  \
	{                                                                                          \
		rows, LENGTH(rows)                                                                 \
	}

static const struct env_option common_rows[] = {
	{"server", "URL", AT(options.server),
		"The server. Default: $SLIPWAY_SERVER or http://127.0.0.1:4780."},
	{"state", "DIR", AT(options.state),
		"State folder of the server, for its admin key. Without it the\n"
		"key comes from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, if\n"
		"they are set, else from the default state folder."},
	{"ca", "FILE", AT(options.authorities),
		"PEM file of the authorities to trust, for https. Default: the\n"
		"system's."},
	{"o", "json", AT(format), "Print JSON."},
};
const struct env_options env_common = SET(common_rows);

static const struct env_option create_rows[] = {
	{"cluster", "NAME", AT(cluster), "Name or ARN of the cluster. Needed."},
	{"task-definition", "NAME", AT(task_definition), "family:revision or ARN. Needed."},
	{"type", "TYPE", AT(type), "Daemon (default), Service or Cron."},
};

static const struct env_option update_rows[] = {
	{"cluster", "NAME", AT(cluster), "Move to another cluster: name or ARN."},
	{"task-definition", "NAME", AT(task_definition), "family:revision or ARN."},
	{"base-version", "V", AT(base_version),
		"Only if V is the latest version: its number, its id, or the\n"
		"first 8 characters of it or more."},
	{"status", "STATUS", AT(status), "inactive or active, as pause and resume do it."},
};

/* Of create and update. */
static const struct env_option configuration_rows[] = {
	{"attributes", "LIST", AT(attributes), "Instances that have all of these: gpu,stack=prod."},
	{"min-healthy", "N", AT(minimum),
		"Percent of instances that must have a healthy task, 0 to 100.\n"
		"Default: 90, and one may always be down."},
	{"replace-first", NULL, AT(replace_first),
		"Start the new task before the old one is stopped;"},
	{"max-over", "N", AT(over), "on so many percent of the instances at once. Default: 100."},
	{"canary", "N", AT(canary), "Begin with N instances, and continue when they are healthy"},
	{"bake", "SECONDS", AT(bake), "for so long."},
	{"timeout", "SECONDS", AT(timeout), "After which a deployment has failed. Default: 3600."},
	{"warm-up", "SECONDS", AT(warm_up),
		"How long a task must run to count as healthy. Default: 0, and\n"
		"1 without a health check."},
	{"drain-timeout", "SECONDS", AT(drain_timeout),
		"How long others may take to leave a draining instance first.\n"
		"Default: 3600."},
	{"unreachable-timeout", "SECONDS", AT(unreachable_timeout),
		"How long a rollout waits for instances that do not answer.\n"
		"Default: 60."},
	{"priority", "N", AT(priority),
		"Preempt tasks with a lower priority, 0 to 1000. Default: 0, no\n"
		"preemption."},
	{"on-failure", "WHAT", AT(on_failure),
		"stop (default), or rollback to what was completed before."},
	{"target", "NAME", AT(target),
		"Where the cluster is: a target of the server's configuration,\n"
		"or local."},
	{"role", "NAME", AT(role), "Role with which tasks are started and stopped."},
	{"count", "N", AT(count), "Service, Cron: how many tasks. Default: 1."},
	{"max-active", "N", AT(max_active),
		"Service: percent of them that may run during a rollout, 100 to\n"
		"1000."},
	{"target-group", "ARN", AT(target_group), "Service: its tasks are targets of this group;"},
	{"container", "NAME", AT(container), "which container"},
	{"container-port", "N", AT(port), "and port, when there are several."},
	{"schedule", "TEXT", AT(schedule),
		"Cron: 'rate(5 minutes)' or 'cron(0 10 * * ? *)', in UTC."},
	{"subnets", "LIST", AT(subnets),
		"Of task definitions with networkMode awsvpc: subnet-1,subnet-2;"},
	{"security-groups", "LIST", AT(security_groups), "those of their tasks; and whether"},
	{"assign-public-ip", "WHAT", AT(assign_public_ip),
		"those have public addresses: enabled or disabled."},
};

static const struct env_option version_rows[] = {
	{"version", "V", AT(version),
		"Its number, its id, or the first 8 characters of it or more."},
};

static const struct env_option deploy_rows[] = {
	{"version", "V", AT(version),
		"Its number, its id, or the first 8 characters of it or more.\n"
		"Default: the latest."},
	{"watch", NULL, AT(watch),
		"Show progress and wait until it has ended, and the rollback\n"
		"that it led to, if it did."},
	{"max-failures", "N", AT(max_failures),
		"Stop watching when N tasks in a row failed on one instance.\n"
		"Default: 5; 0: go on until the timeout."},
};

static const struct env_option rollback_rows[] = {
	{"version", "V", AT(version),
		"Its number, its id, or the first 8 characters of it or more.\n"
		"Default: the one that was completed before."},
	{"watch", NULL, AT(watch), "Show progress and wait until it has ended."},
};

static const struct env_option delete_rows[] = {
	{"terminate-tasks", NULL, AT(terminate),
		"Stop its tasks. Without it they keep running, unmanaged."},
};

static const struct env_option status_rows[] = {
	{"watch", NULL, AT(watch),
		"Show changes until ctrl-c. 'env deploy --watch' ends when the\n"
		"deployment ends."},
};

#define DEPLOYMENT_STATES                                                                          \
	"pending, in-progress, unhealthy, blocked, to-be-stopped,\n"                               \
	"completed, stopped, canceled or timed-out."

static const struct env_option history_rows[] = {
	{"status", "STATUS", AT(status), "Only those: " DEPLOYMENT_STATES},
};

static const struct env_option deployments_rows[] = {
	{"status", "STATUS", AT(status), "Needed: " DEPLOYMENT_STATES},
};

static const struct env_option list_rows[] = {
	{"type", "TYPE", AT(type), "Daemon, Service or Cron."},
	{"status", "STATUS", AT(status), "inactive, active or deleting."},
	{"health", "HEALTH", AT(health), "healthy or unhealthy."},
	{"cluster", "NAME", AT(cluster), "Those that have or may have tasks there: name or ARN."},
	{"target", "NAME", AT(target), "Those that have or may have tasks there, or local."},
	{"attributes", "LIST", AT(attributes), "Those that require all of these: gpu,stack=prod."},
	{"prefix", "TEXT", AT(prefix), "Those whose names begin so."},
};

const struct env_verb env_verbs[] = {
	{"create", "NAME --cluster NAME --task-definition NAME [OPTION ...]",
		"Make an environment. It does nothing before it is deployed.",
		"A NAME has 1 to 30 letters, digits, - and _, and begins with a letter or "
		"digit.\n\n",
		"  slipway env create log --cluster default --task-definition log:1 --min-healthy "
		"80\n"
		"  slipway env create tidy --type Cron --schedule 'rate(1 hour)' \\\n"
		"      --cluster default --task-definition tidy:3\n",
		env_create, 1, 1, {SET(create_rows), SET(configuration_rows)}},
	{"update", "NAME [OPTION ...]", "Make a new version; what runs is unchanged.",
		"What is not said stays as it is. A deployment that waits for its turn is "
		"canceled.\n\n",
		"  slipway env update log --task-definition log:2\n", env_update, 1, 1,
		{SET(update_rows), SET(configuration_rows)}},
	{"diff", "NAME [--version V]", "What a deployment would do.", "",
		"  slipway env diff log\n", env_diff, 1, 1, {SET(version_rows)}},
	{"deploy", "NAME [--version V] [--watch]", "Roll a version out.",
		"Exit codes: 0 completed; 3 not completed; 5 no instance matches the environment; "
		"6 with --watch,\n"
		"tasks fail again and again on an instance.\n\n",
		"  slipway env deploy log --watch\n", env_deploy, 1, 1, {SET(deploy_rows)}},
	{"rollback", "NAME [--version V] [--watch]", "Roll out what was completed before.",
		"What is in progress is stopped.\n\n", "  slipway env rollback log --watch\n",
		env_rollback, 1, 1, {SET(rollback_rows)}},
	{"stop", "NAME [DEPLOYMENT]", "Stop a deployment, and with it the environment.",
		"Everything stays as it is, half done or not, and the environment is inactive: "
		"tasks "
		"that die\n"
		"are not replaced. The next deployment makes it active again. Without DEPLOYMENT "
		"it "
		"is the one in\n"
		"progress; one that waits for its turn is canceled, and nothing else happens.\n\n",
		"  slipway env stop log\n", env_stop, 1, 2, {{0}}},
	{"pause", "NAME", "Leave everything as it is, and do nothing more.",
		"The environment is inactive: tasks that die are not replaced, new instances get "
		"none, schedules\n"
		"are not due. A deployment in progress must be stopped instead.\n\n",
		"  slipway env pause tidy\n", env_pause, 1, 1, {{0}}},
	{"resume", "NAME", "Make an environment active again, in the version that was deployed.",
		"", "  slipway env resume tidy\n", env_resume, 1, 1, {{0}}},
	{"delete", "NAME [--terminate-tasks]", "Delete an environment.", "",
		"  slipway env delete log --terminate-tasks\n", env_delete, 1, 1,
		{SET(delete_rows)}},
	{"status", "NAME [--watch]", "How an environment is.", "", "  slipway env status log\n",
		env_status, 1, 1, {SET(status_rows)}},
	{"history", "NAME [--status STATUS]", "Its deployments, the latest first.", "",
		"  slipway env history log --status timed-out\n", env_history, 1, 1,
		{SET(history_rows)}},
	{"versions", "NAME", "Its versions, the latest first.", "", "  slipway env versions log\n",
		env_versions, 1, 1, {{0}}},
	{"deployments", "--status STATUS", "Deployments of all environments, the latest first.", "",
		"  slipway env deployments --status in-progress\n", env_deployments, 0, 0,
		{SET(deployments_rows)}},
	{"list", "[OPTION ...]", "All environments, or those that all options hold of.", "",
		"  slipway env list --type Cron --health unhealthy\n", env_list, 0, 0,
		{SET(list_rows)}},
};
const size_t env_verb_count = LENGTH(env_verbs);

const struct env_verb *env_verb_find(const char *name)
{
	for (size_t i = 0; i < LENGTH(env_verbs); i++)
		if (strcmp(env_verbs[i].name, name) == 0)
			return &env_verbs[i];
	return NULL;
}

static const struct env_option *find_in(const struct env_options *set, struct span name)
{
	for (size_t i = 0; i < set->count; i++)
		if (span_is(name, set->rows[i].name))
			return &set->rows[i];
	return NULL;
}

const struct env_option *env_option_find(struct span name)
{
	const struct env_option *found = find_in(&env_common, name);

	for (size_t i = 0; !found && i < LENGTH(env_verbs); i++)
		for (size_t j = 0; !found && j < ENV_OPTION_SETS; j++)
			found = find_in(&env_verbs[i].sets[j], name);
	return found;
}

/* ---- help ---- */

static void print_option(const struct env_option *option)
{
	int width = printf("  %s%s%s%s", option->name[1] ? "--" : "-", option->name,
		option->value ? " " : "", option->value ? option->value : "");
	struct span rest = span_of(option->help), line;

	if (width >= HELP_COLUMN) {
		putchar('\n');
		width = 0;
	}
	while (span_next_part(&rest, '\n', &line)) {
		printf("%*s%.*s\n", HELP_COLUMN - width, "", SPAN_ARGS(line));
		width = 0;
	}
}

void env_verb_help(const struct env_verb *verb)
{
	printf("Usage: slipway env %s %s\n\n%s\n\n%sOptions:\n", verb->name, verb->arguments,
		verb->summary, verb->details);
	for (size_t i = 0; i < ENV_OPTION_SETS; i++)
		for (size_t j = 0; j < verb->sets[i].count; j++)
			print_option(&verb->sets[i].rows[j]);
	for (size_t i = 0; i < env_common.count; i++)
		print_option(&env_common.rows[i]);
	printf("\nExample:\n%s", verb->example);
}

void env_help(void)
{
	for (size_t i = 0; i < LENGTH(env_verbs); i++)
		printf("  %-12s %s\n", env_verbs[i].name, env_verbs[i].summary);
	fputs("\n'slipway env VERB --help' describes a verb and its options.\n\n"
	      "Exit codes:\n"
	      "  0  Done. Of 'deploy --watch' and 'rollback --watch': completed.\n"
	      "  1  The server rejected the request, or an error occurred.\n"
	      "  2  Usage error; the message has the reason.\n"
	      "  3  The deployment ended but did not complete: timed-out, stopped, canceled,\n"
	      "     rolled back.\n"
	      "  4  The server is unreachable, does not respond, or is busy "
	      "(HTTP 429,\n"
	      "     502 to 504). --watch retries for a minute first.\n\n"
	      "Example:\n"
	      "  slipway env create log --cluster default --task-definition log:1\n"
	      "  slipway env deploy log --watch\n"
	      "  slipway env status log\n",
		stdout);
}
