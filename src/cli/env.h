/*
 * slipway env …: what its files share. env.c reads the command line, env_verbs.c is the table of verbs and of their
 * options, env_call.c asks the server; the others are the verbs: env_change.c, env_deploy.c, env_read.c, env_status.c,
 * and env_watch.c follows the progress. Verbs return exit codes, after saying what is wrong.
 */
#ifndef CLI_ENV_H
#define CLI_ENV_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"
#include "cli/remote.h"

/* The parsed command line. */
struct env {
	const struct command *command; /* with the verb: "env deploy" */
	struct remote *remote;
	struct arena *arena;
	struct remote_options options;
	const char *name;     /* of the environment; NULL */
	const char *argument; /* behind the name; NULL */
	const char *cluster, *task_definition, *attributes, *minimum, *over, *canary, *bake,
		*timeout, *warm_up, *drain_timeout, *unreachable_timeout, *priority, *on_failure,
		*role, *target, *version, *base_version, *format, *type, *count, *max_active,
		*target_group, *container, *port, *schedule, *subnets, *security_groups,
		*assign_public_ip, *max_failures, *status, *health, *prefix;
	bool replace_first, watch, terminate;
};

/* ---- verbs and their options ---- */

struct env_option {
	const char *name;
	const char *value; /* its placeholder in help; NULL for a switch */
	size_t offset;     /* in struct env, of a const char * or of a bool */
	const char *help;  /* lines; the last one without its newline */
};

struct env_options {
	const struct env_option *rows;
	size_t count;
};

#define ENV_OPTION_SETS 2 /* of a verb; those of all come besides */

struct env_verb {
	const char *name;
	const char *arguments; /* in help */
	const char *summary;
	const char *details; /* "", or paragraphs that end in an empty line */
	const char *example; /* lines */
	int (*run)(struct env *env);
	int least, most; /* words behind the verb */
	struct env_options sets[ENV_OPTION_SETS];
};

extern const struct env_verb env_verbs[];
extern const size_t env_verb_count;
extern const struct env_options env_common;

const struct env_verb *env_verb_find(const char *name); /* NULL if there is none */
/* The option of any verb, to distinguish values from words; NULL if there is none. */
const struct env_option *env_option_find(struct span name);
void env_verb_help(const struct env_verb *verb);

int env_create(struct env *env);
int env_update(struct env *env);
int env_pause(struct env *env);
int env_resume(struct env *env);
int env_delete(struct env *env);
int env_diff(struct env *env);
int env_deploy(struct env *env);
int env_rollback(struct env *env);
int env_stop(struct env *env);
int env_status(struct env *env);
int env_history(struct env *env);
int env_versions(struct env *env);
int env_deployments(struct env *env);
int env_list(struct env *env);

/* ---- asking ---- */

/* A negative code with *err filled, or 0. */
int env_try(struct env *env, const char *method, const char *path, const struct json *body,
	struct json **ret_answer, struct err *err);
int env_call(struct env *env, const char *method, const char *path, const struct json *body,
	struct json **ret_answer);
/* The server was unreachable or asks to retry later: a retry may succeed. */
bool env_may_pass(int code);
/* The option that sets a member of a request ("deploymentConfiguration.canary.instances": "canary"); NULL if there is
 * none. */
const char *env_member_option(struct span member);
/* Prints the error, with the option before the member that it begins with; returns the exit code that goes with it. */
int env_failed(int code, const struct err *err);

/* "/v1/environments/NAME" and what follows. */
const char *env_path(const struct env *env, const char *rest);
/* The path with "?name=value" or "&name=value" behind it; the same if the value is NULL. */
const char *env_path_with(const struct env *env, const char *path, const char *name,
	const char *value);

/* All pages of a list, with the first `most` items or somewhat more: {"MEMBER":[…]}, and nextToken if that is not all. */
int env_pages(struct env *env, const char *path, const char *member, size_t most,
	struct json **ret_answer);
#define ENV_ITEMS_MAX ((size_t)100000)
/* All versions, the latest first: {"versions":[…]}. */
int env_read_versions(struct env *env, struct json **ret_answer);
/* The id of the version that is meant by its number, its id, or the beginning of it. */
int env_find_version(struct env *env, const char *option, const char *configured,
	struct span *ret_id);

/* ---- saying ---- */

int env_print_json(const struct json *value);
bool env_wants_json(const struct env *env);
long long env_number(const struct json *object, const char *name); /* 0 if it is absent */
/* "2026-11-17 05:03:00" in UTC; "-" */
struct span env_moment(const struct env *env, const struct json *object, const char *name);
struct span env_moment_of(const struct env *env, double seconds);
/* "log:3" of an ARN. */
struct span env_last_part(struct span arn);
/* A text to print with %.*s: its data is never NULL. */
struct span env_text(const struct json *object, const char *name);
void env_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How a deployment, or NULL, of an environment is: "2/3 replaced, …". */
struct span env_progress_text(const struct env *env, const struct json *environment,
	const struct json *deployment);
/* "timed-out: BACKOFF" */
struct span env_outcome(const struct env *env, const struct json *deployment);
void env_print_failed(const struct json *deployment);

/* ---- following ---- */

/* Until the deployment has ended, and the rollback that it led to. */
int env_watch_deployment(struct env *env, struct span id, const char *what);
/* Runs until the user presses ctrl-c. */
int env_watch_environment(struct env *env);

#endif
