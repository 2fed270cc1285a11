/*
 * slipway app …, slipway deployment … and slipway flow … (flow.h): what their files share. app.c reads the command line
 * and has the verbs, with their help; app_files.c reads the folder of an application; app_show.c prints plans and
 * deployments, app_state.c live states; app_watch.c follows a deployment. Verbs return exit codes, after saying what is
 * wrong.
 */
#ifndef CLI_APP_H
#define CLI_APP_H

#include <stdbool.h>

#include "cli/command.h"
#include "cli/remote.h"

struct app {
	const struct command *command; /* with the verb: "app sync" */
	struct remote *remote;
	struct arena *arena;
	struct remote_options options;
	const char *name;     /* of the application; NULL */
	const char *argument; /* behind the name: a deployment; NULL */
	const char *folder, *file, *strategy, *commit, *message, *target, *role, *region, *comment,
		*flow_folder, *format, *repository, *branch, *path;
	bool watch, no_rollback, follow, all, dot, flow, no_flow;
};

/* ---- requests (app.c) ---- */

int app_try(struct app *app, const char *method, const char *path, const struct json *body,
	struct json **ret_answer, struct err *err);
int app_call(struct app *app, const char *method, const char *path, const struct json *body,
	struct json **ret_answer);
/* "/v1/applications/NAME/deployments/ID" and the rest. */
const char *app_deployment_path(const struct app *app, const char *id, const char *rest);

/* All pages of a list. */
int app_read_list(struct app *app, const char *path, const char *member, struct json **ret_items);

/* ---- files (app_files.c) ---- */

/* Reads and checks the application file and what it names; puts `files` and `applicationFile` into the body, and the name
 * into app->name unless the command line has one. */
int app_read_folder(struct app *app, struct json *body);

/* The same for the application in a folder: its files, and its name unless the file has none. */
int app_read_application(struct app *app, const char *folder, const char *file,
	struct json **ret_files, struct span *ret_name);
/* Puts `flowApplications` into the body: the applications below app->flow_folder. (flow_files.c) */
int app_read_flow_folder(struct app *app, struct json *body);

/* ---- showing (app_show.c) ---- */

void app_print_changes(const struct json *changes);
int app_print_plan(const struct app *app, const struct json *deployment);
void app_print_applications(const struct app *app, const struct json *applications);
void app_print_repositories(const struct app *app, const struct json *repositories);
void app_print_deployments(const struct app *app, const struct json *deployments);
struct span app_text(const struct json *object, const char *name);
/* "15:04:05" of a time in UTC. */
struct span app_clock(const struct app *app, const struct json *object, const char *name);
bool app_has_ended(const struct json *deployment);
/* EXIT_OK for SUCCESS, else EXIT_NOT_COMPLETED. */
int app_result(const struct json *deployment);

/* The live state as a tree (app_state.c). */
void app_print_state(const struct app *app, const struct json *state);

/* ---- following (app_watch.c) ---- */

/* A GET that continues while a server is started again. */
int app_ask(struct app *app, const char *path, struct json **ret_answer);
/* Until the deployment has ended: a stage view on a terminal, else its log lines. quiet: prints nothing. */
int app_follow(struct app *app, const char *id, bool quiet, struct json **ret_deployment);
int app_print_log(struct app *app, const char *id, bool follow);

#endif
