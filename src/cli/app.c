/* slipway app … and slipway deployment …; see app.h. */
#include "cli/app.h"

#include <stdio.h>
#include <string.h>

#include "cli/env.h"
#include "cli/flow.h"

#define NAME_MAX_LENGTH 100

/* ---- requests ---- */

int app_try(struct app *app, const char *method, const char *path, const struct json *body,
	struct json **ret_answer, struct err *err)
{
	struct span text = body ? json_to_text(body, app->arena) : SPAN("");

	return remote_send(app->remote, method, path, text, app->arena, ret_answer, err);
}

int app_call(struct app *app, const char *method, const char *path, const struct json *body,
	struct json **ret_answer)
{
	struct err err;
	int code = app_try(app, method, path, body, ret_answer, &err);

	return code < 0 ? env_failed(code, &err) : EXIT_OK;
}

static const char *application_path(const struct app *app, const char *rest)
{
	return arena_format(app->arena, "/v1/applications/%s%s", app->name, rest).data;
}

const char *app_deployment_path(const struct app *app, const char *id, const char *rest)
{
	return arena_format(app->arena, "/v1/applications/%s/deployments/%s%s", app->name, id, rest)
		.data;
}

static const char *deployment_of(const struct app *app)
{
	return app->argument ? app->argument : "latest";
}

static void set_text(const struct app *app, struct json *body, const char *name, const char *text)
{
	if (text)
		json_set_string(app->arena, body, name, span_of(text));
}

/* ---- app ---- */

static int make_order(struct app *app, struct json *body)
{
	static const struct {
		const char *word, *value;
	} strategies[] = {{"quick-sync", "QUICK_SYNC"}, {"pipeline", "PIPELINE"}};
	const char *strategy = NULL;

	for (size_t i = 0; app->strategy && i < LENGTH(strategies); i++) {
		if (strcmp(app->strategy, strategies[i].word) == 0)
			strategy = strategies[i].value;
	}
	if (app->strategy && !strategy)
		return command_misused(app->command,
			"--strategy: invalid value '%s'; use quick-sync or pipeline",
			app->strategy);
	set_text(app, body, "strategy", strategy);
	set_text(app, body, "commit", app->commit);
	set_text(app, body, "message", app->message);
	set_text(app, body, "target", app->target);
	set_text(app, body, "role", app->role);
	set_text(app, body, "region", app->region);
	if (app->flow && app->no_flow)
		return command_misused(app->command, "--flow and --no-flow exclude each other");
	if (app->flow || app->no_flow)
		json_set_bool(app->arena, body, "flow", app->flow);
	if (app->folder) {
		int code = app_read_folder(app, body);

		if (code != EXIT_OK)
			return code;
	}
	return app->flow_folder ? app_read_flow_folder(app, body) : EXIT_OK;
}

static int order(struct app *app, bool plan_only, const char **ret_id)
{
	struct json *body = json_new_object(app->arena), *answer;
	struct span id;
	int code = make_order(app, body);

	if (code != EXIT_OK)
		return code;
	if (!app->name)
		return command_misused(app->command, "NAME of the application or --dir is missing");
	if (plan_only)
		json_set_bool(app->arena, body, "planOnly", true);
	code = app_call(app, "POST", application_path(app, "/deployments"), body, &answer);
	if (code != EXIT_OK)
		return code;
	id = app_text(answer, "deploymentId");
	*ret_id = arena_copy(app->arena, id.data, id.length);
	if (!plan_only && !app->watch && app->format)
		return env_print_json(answer);
	if (!plan_only && !app->watch)
		printf("Deployment %lld of application %s is queued. To follow it:\n\n"
		       "  slipway deployment watch %s %lld\n",
			env_number(answer, "number"), app->name, app->name,
			env_number(answer, "number"));
	return EXIT_OK;
}

static int follow(struct app *app, const char *id)
{
	struct json *deployment;
	int code = app_follow(app, id, false, &deployment);

	if (code != EXIT_OK)
		return code;
	if (app->format)
		env_print_json(deployment);
	code = app_result(deployment);
	if (code != EXIT_OK)
		env_warn("deployment %lld of application %s ended with %.*s: %.*s",
			env_number(deployment, "number"), app->name,
			SPAN_ARGS(app_text(deployment, "state")),
			SPAN_ARGS(app_text(deployment, "reason")));
	return code;
}

static int app_sync(struct app *app)
{
	const char *id;
	int code = order(app, false, &id);

	return code == EXIT_OK && app->watch ? follow(app, id) : code;
}

static int app_plan(struct app *app)
{
	struct json *deployment;
	const char *id;
	int code = order(app, true, &id);

	if (code == EXIT_OK)
		code = app_follow(app, id, true, &deployment);
	if (code != EXIT_OK)
		return code;
	if (!app->format)
		return app_print_plan(app, deployment);
	env_print_json(deployment);
	return span_is(app_text(deployment, "state"), "SUCCESS") ? EXIT_OK : EXIT_FAILED;
}

int app_read_list(struct app *app, const char *path, const char *member, struct json **ret_items)
{
	struct span token = SPAN("");

	*ret_items = json_new_array(app->arena);
	do {
		struct json *answer;
		const char *page = token.length == 0 ? path
						     : arena_format(app->arena, "%s?nextToken=%.*s",
							       path, SPAN_ARGS(token))
							       .data;
		int code = app_call(app, "GET", page, NULL, &answer);

		if (code != EXIT_OK)
			return code;
		JSON_EACH_ITEM (json_get(answer, member), item)
			json_append(app->arena, *ret_items, item);
		token = app_text(answer, "nextToken");
	} while (token.length > 0);
	return EXIT_OK;
}

static int app_add(struct app *app)
{
	const struct {
		const char *name, *text;
	} members[] = {{"url", app->repository}, {"branch", app->branch}, {"path", app->path},
		{"file", app->file}, {"target", app->target}, {"role", app->role},
		{"region", app->region}};
	struct json *body = json_new_object(app->arena), *answer;
	int code;

	if (!app->name == !app->all)
		return command_misused(app->command,
			"NAME of the application is missing, or --all for all application files");
	if (!app->repository)
		return command_misused(app->command, "--repo URL is missing");
	if (app->all && app->file)
		return command_misused(app->command, "--file and --all exclude each other");
	for (size_t i = 0; i < LENGTH(members); i++)
		set_text(app, body, members[i].name, members[i].text);
	set_text(app, body, "name", app->name);
	code = app_call(app, "POST", app->all ? "/v1/repositories" : "/v1/applications", body,
		&answer);
	if (code != EXIT_OK)
		return code;
	if (app->format)
		return env_print_json(answer);
	if (app->all)
		printf("Repository %.*s is followed. Its applications, as they are found:\n\n"
		       "  slipway app list\n",
			SPAN_ARGS(app_text(answer, "id")));
	else
		printf("Application %s is added. Its files and its deployment, in a moment:\n\n"
		       "  slipway app list\n",
			app->name);
	return EXIT_OK;
}

/* ---- repositories ---- */

static int repository_list(struct app *app)
{
	struct json *items;
	int code = app_read_list(app, "/v1/repositories", "repositories", &items);

	if (code != EXIT_OK)
		return code;
	if (app->format)
		return env_print_json(items);
	app_print_repositories(app, items);
	return EXIT_OK;
}

static const char *repository_path(const struct app *app, const char *rest)
{
	return arena_format(app->arena, "/v1/repositories/%s%s", app->name, rest).data;
}

static int repository_poll(struct app *app)
{
	struct json *answer;
	int code = app_call(app, "POST", repository_path(app, "/poll"), json_new_object(app->arena),
		&answer);

	if (code == EXIT_OK)
		printf("Repository %s is polled now.\n", app->name);
	return code;
}

static int repository_delete(struct app *app)
{
	struct json *answer;
	int code = app_call(app, "DELETE", repository_path(app, ""), NULL, &answer);

	if (code == EXIT_OK)
		printf("Repository %s is not polled any more; its applications stay.\n", app->name);
	return code;
}

/* ---- applications ---- */

static int app_list(struct app *app)
{
	struct json *items;
	int code = app_read_list(app, "/v1/applications", "applications", &items);

	if (code != EXIT_OK)
		return code;
	if (app->format)
		return env_print_json(items);
	app_print_applications(app, items);
	code = app_call(app, "GET", "/v1/application-switch", NULL, &items);
	if (code == EXIT_OK && json_get_bool(items, "stopped", false))
		printf("Deployments are stopped by %.*s; `slipway app resume` continues them.\n",
			SPAN_ARGS(app_text(items, "stoppedBy")));
	return code;
}

static int app_switch(struct app *app, const char *path, struct json *body, const char *done)
{
	struct json *answer;
	int code = app_call(app, "POST", path, body, &answer);

	if (code != EXIT_OK)
		return code;
	if (app->format)
		return env_print_json(answer);
	printf("Deployments of this account's applications %s.\n", done);
	return EXIT_OK;
}

static int app_stop(struct app *app)
{
	struct json *body = json_new_object(app->arena);

	set_text(app, body, "comment", app->comment);
	return app_switch(app, "/v1/application-switch/stop", body, "are stopped");
}

static int app_resume(struct app *app)
{
	return app_switch(app, "/v1/application-switch/resume", json_new_object(app->arena),
		"continue");
}

static int app_status(struct app *app)
{
	struct json *state;
	int code = app_call(app, "GET", application_path(app, "/state"), NULL, &state);

	if (code != EXIT_OK)
		return code;
	if (app->format)
		return env_print_json(state);
	app_print_state(app, state);
	return EXIT_OK;
}

static int app_history(struct app *app)
{
	struct json *items;
	int code = app_read_list(app, application_path(app, "/deployments"), "deployments", &items);

	if (code != EXIT_OK)
		return code;
	if (app->format)
		return env_print_json(items);
	app_print_deployments(app, items);
	return EXIT_OK;
}

static int app_delete(struct app *app)
{
	struct json *answer;
	int code = app_call(app, "DELETE", application_path(app, ""), NULL, &answer);

	if (code == EXIT_OK)
		printf("Application %s is deleted; what it has deployed keeps running.\n",
			app->name);
	return code;
}

/* ---- deployment ---- */

static int deployment_watch(struct app *app)
{
	return follow(app, deployment_of(app));
}

static int deployment_logs(struct app *app)
{
	return app_print_log(app, deployment_of(app), app->follow);
}

static int change(struct app *app, const char *rest, struct json *body, const char *done)
{
	struct json *answer;
	int code = app_call(app, "POST", app_deployment_path(app, deployment_of(app), rest), body,
		&answer);

	if (code != EXIT_OK)
		return code;
	if (app->format)
		return env_print_json(answer);
	printf("Deployment %lld of application %s: %s\n", env_number(answer, "number"), app->name,
		done);
	return EXIT_OK;
}

static int deployment_approve(struct app *app)
{
	struct json *body = json_new_object(app->arena);

	set_text(app, body, "comment", app->comment);
	return change(app, "/approve", body, "approved");
}

static int deployment_reject(struct app *app)
{
	struct json *body = json_new_object(app->arena);

	set_text(app, body, "comment", app->comment);
	return change(app, "/reject", body, "rejected");
}

static int deployment_skip(struct app *app)
{
	return change(app, "/skip", json_new_object(app->arena), "the stage is skipped");
}

static int deployment_cancel(struct app *app)
{
	struct json *body = json_new_object(app->arena);

	if (app->no_rollback)
		json_set_bool(app->arena, body, "rollback", false);
	return change(app, "/cancel", body, "cancelling");
}

static int deployment_retry(struct app *app)
{
	return change(app, "/retry", json_new_object(app->arena), "rolling back again");
}

static int deployment_rollback(struct app *app)
{
	return change(app, "/rollback", json_new_object(app->arena), "rolling back");
}

/* ---- verbs ---- */

#define OPTIONS_COMMON                                                                             \
	"\nOptions of all verbs:\n" REMOTE_OPTIONS_HELP "  -o json        Print JSON.\n"
#define OPTIONS_ORDER                                                                              \
	"  --dir DIR      Folder with the application file and the files that it names. Without "  \
	"it: its Git\n                 repository, else the files of the last deployment that "    \
	"succeeded.\n"                                                                             \
	"  --file FILE    Application file in it. Default: app.pipecd.yaml, or the only "          \
	"*.pipecd.yaml.\n"                                                                         \
	"  --strategy S   quick-sync or pipeline. Default: the planner chooses.\n"                 \
	"  --commit ID    Commit, tag or branch of its Git repository (sync: on its branch). "     \
	"With --dir: the\n                 commit that the files are from.\n"                      \
	"  --message TEXT Its message.\n"                                                          \
	"  --target NAME  Where the cluster is: a target of the server's configuration, or "       \
	"local.\n"                                                                                 \
	"  --role NAME    Role with which the calls are made.\n"                                   \
	"  --region NAME  Region of the service. Default: that of the request.\n"                  \
	"  --flow         Start the flow of the application file, whatever its conditions say.\n"  \
	"  --no-flow      Do not start it.\n"                                                      \
	"  --flow-dir DIR Folder below which the applications of the graph have their files. The " \
	"flow\n                 deploys those that it finds there from them.\n"

static const struct app_verb {
	const char *group, *name, *arguments, *summary, *options;
	int (*run)(struct app *app);
	int least, most; /* words behind the verb */
} verbs[] = {
	{"app", "add", "NAME|--all --repo URL [--branch B] [--path DIR]",
		"Deliver an application from a Git repository, with every commit that changes it.",
		"  --all          All application files below --path, and those that come later.\n"
		"  --repo URL     https://…, ssh://…, user@host:path, or a path on the server.\n"
		"  --branch B     Default: main.\n"
		"  --path DIR     Folder in the repository. Default: all of it.\n"
		"  --file FILE    Application file in it. Default: app.pipecd.yaml, or the only "
		"*.pipecd.yaml.\n"
		"  --target NAME  Where the cluster is: a target of the server's configuration, or "
		"local.\n"
		"  --role NAME    Role with which the calls are made.\n"
		"  --region NAME  Region of the service. Default: that of the request.\n",
		app_add, 0, 1},
	{"repository", "list", "", "List the Git repositories that are polled.", "",
		repository_list, 0, 0},
	{"repository", "poll", "ID", "Poll a repository now, for example from a webhook.", "",
		repository_poll, 1, 1},
	{"repository", "delete", "ID",
		"Stop polling a repository. Its applications stay as they are.", "",
		repository_delete, 1, 1},
	{"app", "sync", "[NAME] [--dir DIR|--commit ID] [--watch]",
		"Deploy an application from its Git repository, or from a folder.",
		OPTIONS_ORDER
		"  --watch        Follow the deployment; exit code 3 unless it succeeds.\n",
		app_sync, 0, 1},
	{"app", "plan", "[NAME] [--dir DIR|--commit ID]",
		"Print what a sync would do, also of a commit that is not merged. Exit code 1 if "
		"it "
		"cannot be deployed.",
		OPTIONS_ORDER, app_plan, 0, 1},
	{"app", "list", "", "List applications.", "", app_list, 0, 0},
	{"app", "status", "NAME",
		"Print the service as it is: its task sets and tasks, and how it differs from the "
		"last deployment that succeeded.",
		"", app_status, 1, 1},
	{"app", "history", "NAME", "List the deployments of an application.", "", app_history, 1,
		1},
	{"app", "delete", "NAME", "Forget an application. What it has deployed keeps running.", "",
		app_delete, 1, 1},
	{"app", "stop", "",
		"Stop the deployments of all applications of the account where they are.",
		"  --comment TEXT Why.\n", app_stop, 0, 0},
	{"app", "resume", "", "Continue the deployments that were stopped.", "", app_resume, 0, 0},
	{"deployment", "list", "NAME", "List the deployments of an application.", "", app_history,
		1, 1},
	{"deployment", "watch", "NAME [DEPLOYMENT]",
		"Follow a deployment until it has ended; exit code 3 unless it succeeds.", "",
		deployment_watch, 1, 2},
	{"deployment", "logs", "NAME [DEPLOYMENT] [--follow]", "Print what a deployment has done.",
		"  --follow       Go on until it has ended.\n", deployment_logs, 1, 2},
	{"deployment", "approve", "NAME [DEPLOYMENT]", "Approve the stage that waits for it.",
		"  --comment TEXT Why.\n", deployment_approve, 1, 2},
	{"deployment", "reject", "NAME [DEPLOYMENT]",
		"Reject the stage that waits for an approval: it fails.", "  --comment TEXT Why.\n",
		deployment_reject, 1, 2},
	{"deployment", "skip", "NAME [DEPLOYMENT]", "End the stage that waits.", "",
		deployment_skip, 1, 2},
	{"deployment", "cancel", "NAME [DEPLOYMENT] [--no-rollback]", "Cancel a deployment.",
		"  --no-rollback  Leave everything as it is now.\n", deployment_cancel, 1, 2},
	{"deployment", "rollback", "NAME [DEPLOYMENT]",
		"Roll back the last deployment, which has succeeded.", "", deployment_rollback, 1,
		2},
	{"deployment", "retry", "NAME [DEPLOYMENT]", "Run a rollback again that failed.", "",
		deployment_retry, 1, 2},
	{"flow", "list", "[APPLICATION]", "List flows, or those of one head.", "", flow_list, 0, 1},
	{"flow", "show", "FLOW [--dot]", "Describe a flow: its graph, states, commits and causes.",
		"  --dot          Write the graph for Graphviz.\n", flow_show, 1, 1},
	{"flow", "watch", "FLOW",
		"Follow a flow until it has ended; exit code 3 unless it succeeds.", "", flow_watch,
		1, 1},
	{"flow", "approve", "FLOW NODE", "Show the plan of a node that waits, and approve it.",
		"  --comment TEXT Why.\n", flow_approve, 2, 2},
	{"flow", "reject", "FLOW NODE", "Reject it: the node and those that need it do not run.",
		"  --comment TEXT Why.\n", flow_reject, 2, 2},
	{"flow", "cancel", "FLOW [--no-rollback]", "Cancel a flow, and what it deploys just now.",
		"  --no-rollback  Leave everything as it is now.\n", flow_cancel, 1, 1},
	{"flow", "retry", "FLOW",
		"Run the nodes again that did not succeed, with the same commits.", "", flow_retry,
		1, 1},
};

static const struct app_verb *find_verb(const char *group, const char *name)
{
	for (size_t i = 0; name && i < LENGTH(verbs); i++) {
		if (strcmp(verbs[i].group, group) == 0 && strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	}
	return NULL;
}

static void print_verbs(const char *group)
{
	for (size_t i = 0; i < LENGTH(verbs); i++) {
		if (strcmp(verbs[i].group, group) == 0)
			printf("  %-8s %-34s %s\n", verbs[i].name, verbs[i].arguments,
				verbs[i].summary);
	}
	if (strcmp(group, "flow") == 0)
		puts("\nFLOW is an ID, or the name of the head: its latest flow.\n\nExample:\n"
		     "  slipway app sync --dir web --flow-dir . && slipway flow watch web\n");
	else if (strcmp(group, "repository") != 0)
		puts("\nDEPLOYMENT is a number or an ID; default: the latest.");
	printf("'slipway %s VERB --help' describes a verb.\n%s", group, OPTIONS_COMMON);
}

void app_help(void)
{
	print_verbs("app");
}

void repository_help(void)
{
	print_verbs("repository");
}

void deployment_help(void)
{
	print_verbs("deployment");
}

static bool help_of(const char *group, int count, char **arguments)
{
	const struct app_verb *verb = find_verb(group, count > 0 ? arguments[0] : NULL);

	if (verb)
		printf("Usage: slipway %s %s %s\n\n%s\n%s%s%s", group, verb->name, verb->arguments,
			verb->summary, verb->options[0] ? "\nOptions:\n" : "", verb->options,
			OPTIONS_COMMON);
	return verb != NULL;
}

void flows_help(void)
{
	print_verbs("flow");
}

bool flows_help_of(int count, char **arguments)
{
	return help_of("flow", count, arguments);
}

bool app_help_of(int count, char **arguments)
{
	return help_of("app", count, arguments);
}

bool repository_help_of(int count, char **arguments)
{
	return help_of("repository", count, arguments);
}

bool deployment_help_of(int count, char **arguments)
{
	return help_of("deployment", count, arguments);
}

/* ---- the command line ---- */

static bool is_name(const char *text)
{
	for (const char *c = text; *c; c++) {
		if (!((*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
			    (*c >= 'a' && *c <= 'z') || (c > text && strchr("-_.", *c))))
			return false;
	}
	return *text != '\0' && strlen(text) <= NAME_MAX_LENGTH;
}

static int read_words(struct app *app, const struct app_verb *verb, const struct positionals *words)
{
	if (words->count < verb->least)
		return command_misused(app->command, "%s is missing",
			verb->run == flow_approve || verb->run == flow_reject ? "FLOW or NODE"
			: strcmp(verb->group, "flow") == 0                    ? "FLOW"
			: strcmp(verb->group, "repository") == 0 ? "ID of the repository"
								 : "NAME of the application");
	if (words->count > verb->most)
		return command_misused(app->command, "unexpected argument '%s'",
			words->items[verb->most]);
	app->name = words->count > 0 ? words->items[0] : NULL;
	app->argument = words->count > 1 ? words->items[1] : NULL;
	for (int i = 0; i < words->count; i++) {
		if (!is_name(words->items[i]))
			return command_misused(app->command,
				"invalid name '%s': use letters, digits, -, _ and .; it must "
				"begin with a letter or digit",
				words->items[i]);
	}
	if (app->format && strcmp(app->format, "json") != 0)
		return command_misused(app->command, "unknown output format '%s'; use -o json",
			app->format);
	return EXIT_OK;
}

static int read_command(struct app *app, const struct app_verb *verb, int count, char **arguments)
{
	const struct option_row rows[] = {
		{"server", &app->options.server, NULL},
		{"state", &app->options.state, NULL},
		{"ca", &app->options.authorities, NULL},
		{"o", &app->format, NULL},
		{"dir", &app->folder, NULL},
		{"file", &app->file, NULL},
		{"strategy", &app->strategy, NULL},
		{"commit", &app->commit, NULL},
		{"message", &app->message, NULL},
		{"target", &app->target, NULL},
		{"role", &app->role, NULL},
		{"region", &app->region, NULL},
		{"comment", &app->comment, NULL},
		{"repo", &app->repository, NULL},
		{"branch", &app->branch, NULL},
		{"path", &app->path, NULL},
		{"all", NULL, &app->all},
		{"watch", NULL, &app->watch},
		{"follow", NULL, &app->follow},
		{"dot", NULL, &app->dot},
		{"flow", NULL, &app->flow},
		{"no-flow", NULL, &app->no_flow},
		{"flow-dir", &app->flow_folder, NULL},
		{"no-rollback", NULL, &app->no_rollback},
	};
	struct positionals words;
	int code = command_read_options(app->command, count, arguments, rows, LENGTH(rows), &words);

	return code != EXIT_OK ? code : read_words(app, verb, &words);
}

static int run(const struct command *command, const char *group, int count, char **arguments)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct app_verb *verb = find_verb(group, count > 0 ? arguments[0] : NULL);
	struct command own = *command;
	struct app app = {.command = &own, .arena = arena};
	_remote_ struct remote *remote = NULL;
	struct err err;
	int code;

	if (!verb && count > 0 && arguments[0][0] != '-')
		return command_misused(command, "unknown verb '%s'", arguments[0]);
	if (!verb)
		return command_misused(command, "a verb is missing");
	own.name = arena_format(arena, "%s %s", group, verb->name).data;
	code = read_command(&app, verb, count - 1, arguments + 1);
	if (code != EXIT_OK)
		return code;
	if (remote_open(&app.options, &remote, &err) < 0)
		return command_failed("%s", err.message);
	app.remote = remote;
	return verb->run(&app);
}

int app_run(const struct command *command, int count, char **arguments)
{
	return run(command, "app", count, arguments);
}

int repository_run(const struct command *command, int count, char **arguments)
{
	return run(command, "repository", count, arguments);
}

int flows_run(const struct command *command, int count, char **arguments)
{
	return run(command, "flow", count, arguments);
}

int deployment_run(const struct command *command, int count, char **arguments)
{
	return run(command, "deployment", count, arguments);
}
