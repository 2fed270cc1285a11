/*
 * Follows progress: one line that is overwritten on a terminal, otherwise a line for each change,
 * or an object for each with -o json. A short outage, such as a server restart, does not end it.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/env.h"

#define POLL_EVERY_MS 250
#define SILENCE_MAX_MS 60000 /* that a server may be away for */
#define WIDTH_DEFAULT 80
#define MAX_FAILURES_DEFAULT 5

/* ---- being interrupted ---- */

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

/* From now on; a second ctrl-c ends the program even if the server hangs. */
static void catch_interrupts(void)
{
	struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
}

/* ---- showing ---- */

struct watch {
	struct env *env;
	bool terminal;
	char *shown;             /* the last output; NULL */
	int64_t silent_since_ms; /* 0: the server answers */
};

static void watch_free(struct watch *watch)
{
	free(watch->shown);
}
#define _watch_ CLEANUP(watch_free)

static struct watch watch_begin(struct env *env)
{
	catch_interrupts();
	return (struct watch){.env = env, .terminal = isatty(STDOUT_FILENO)};
}

/* The length of the text that fits into a line of the terminal at its present width. The cursor
 * needs a column, too; non-ASCII text may take fewer columns than bytes, but is not split. */
static size_t fitting(struct span text)
{
	struct winsize size;
	size_t width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1
			       ? size.ws_col
			       : WIDTH_DEFAULT;
	size_t length = text.length < width ? text.length : width - 1;

	while (length > 0 && length < text.length &&
		((unsigned char)text.data[length] & 0xc0) == 0x80)
		length--;
	return length;
}

/* Whether the line is over, so that others can follow. */
static void finish_line(struct watch *watch)
{
	if (watch->terminal && watch->shown && !env_wants_json(watch->env))
		putchar('\n');
	fflush(stdout);
	free(watch->shown);
	watch->shown = NULL;
}

static void show(struct watch *watch, struct span text)
{
	if (watch->shown && span_equal(span_of(watch->shown), text))
		return;
	free(watch->shown);
	watch->shown = memory_copy_string_n(text.data, text.length);
	if (watch->terminal && !env_wants_json(watch->env))
		printf("\r\033[K%.*s", (int)fitting(text), text.data);
	else
		printf("%.*s\n", SPAN_ARGS(text));
	fflush(stdout);
}

/* ---- asking ---- */

static int64_t now_ms(void)
{
	return clock_steady_us(clock_system()) / 1000;
}

static void sleep_a_while(void)
{
	nanosleep(&(struct timespec){.tv_nsec = POLL_EVERY_MS * 1000000L}, NULL);
}

/* A server that is started again is back soon. */
static int ask(struct watch *watch, const char *path, struct json **ret_answer)
{
	for (;;) {
		struct err err;
		int code = env_try(watch->env, "GET", path, NULL, ret_answer, &err);

		if (code == 0) {
			watch->silent_since_ms = 0;
			return EXIT_OK;
		}
		if (interrupted)
			return EXIT_FAILED;
		if (env_may_pass(code) && !watch->silent_since_ms) {
			watch->silent_since_ms = now_ms();
			finish_line(watch);
			env_warn("the server does not answer, trying again");
		}
		if (!env_may_pass(code) || now_ms() - watch->silent_since_ms >= SILENCE_MAX_MS) {
			finish_line(watch);
			return env_failed(code, &err);
		}
		sleep_a_while();
	}
}

/* ---- deployments ---- */

static bool has_ended(struct span status)
{
	static const char *const words[] = {"completed", "stopped", "canceled", "timed-out"};

	for (size_t i = 0; i < LENGTH(words); i++)
		if (span_is(status, words[i]))
			return true;
	return false;
}

/* How the deployment is, and its environment around it. */
static struct span deployment_line(const struct env *env, const struct json *environment,
	const struct json *deployment)
{
	const struct json *active = json_get(environment, "activeDeployment");
	struct json *built;

	if (env_wants_json(env)) {
		built = json_copy_object(env->arena, deployment);
		json_set(env->arena, built, "counts", json_get(environment, "counts"));
		return json_to_text(built, env->arena);
	}
	if (span_is(env_text(deployment, "status"), "pending") && active &&
		!span_equal(env_text(active, "deploymentId"), env_text(deployment, "deploymentId")))
		return arena_format(env->arena, "pending behind %.*s: %.*s",
			SPAN_ARGS(env_text(active, "deploymentId")),
			SPAN_ARGS(env_progress_text(env, environment, active)));
	return env_progress_text(env, environment, deployment);
}

static const char *path_of(const struct env *env, struct span id)
{
	return env_path(env, arena_format(env->arena, "/deployments/%.*s", SPAN_ARGS(id)).data);
}

/* One look; the deployment, in the arena of the moment. */
static int pass(struct watch *watch, struct span id, struct json **ret_deployment)
{
	struct env *env = watch->env;
	struct json *environment;
	int code = ask(watch, path_of(env, id), ret_deployment);

	/* Read after the deployment, so that the final report has the final state. */
	if (code == EXIT_OK)
		code = ask(watch, env_path(env, ""), &environment);
	if (code == EXIT_OK)
		show(watch, deployment_line(env, environment, *ret_deployment));
	return code;
}

/* The instance on which more tasks failed in a row than the command line allows; NULL if none. */
static const struct json *find_crash_loop(const struct env *env, const struct json *deployment)
{
	uint64_t most = MAX_FAILURES_DEFAULT;

	if (env->max_failures)
		span_to_unsigned(span_of(env->max_failures), INT32_MAX, &most);
	JSON_EACH_ITEM (json_get(deployment, "failedInstances"), failed)
		if (most > 0 && json_get_integer(failed, "attempts", 0) >= (int64_t)most)
			return failed;
	return NULL;
}

static int report_crash_loop(const struct env *env, const struct json *failed)
{
	struct span instance = env_text(failed, "instance"), reason = env_text(failed, "reason");

	env_warn("%lld tasks in a row failed on instance %.*s: %.*s",
		(long long)json_get_integer(failed, "attempts", 0), SPAN_ARGS(instance),
		SPAN_ARGS(reason));
	env_warn("the deployment continues until its timeout; to end it: slipway env stop %s, or "
		 "slipway env rollback %s",
		env->name, env->name);
	return EXIT_CRASH_LOOP;
}

/* Until it has ended; as it is then, in the arena of the command. */
static int follow(struct watch *watch, struct span id, struct json **ret_deployment)
{
	struct env *env = watch->env;
	struct arena *arena = env->arena;

	for (;;) {
		_arena_ struct arena *turn = arena_new(0);
		const struct json *failed;
		struct json *deployment = NULL;
		bool ended;
		int code;

		env->arena = turn;
		code = pass(watch, id, &deployment);
		failed = code == EXIT_OK ? find_crash_loop(env, deployment) : NULL;
		ended = code == EXIT_OK && has_ended(env_text(deployment, "status"));
		env->arena = arena;
		if (ended) {
			finish_line(watch);
			return ask(watch, path_of(env, id), ret_deployment);
		}
		if (interrupted) {
			finish_line(watch);
			env_warn("the deployment continues without you: slipway env status %s",
				env->name);
			return EXIT_INTERRUPTED;
		}
		if (failed) {
			finish_line(watch);
			return report_crash_loop(env, failed);
		}
		if (code != EXIT_OK)
			return code;
		sleep_a_while();
	}
}

/* The deployment begun by this one's failure (same time) or rollback; SPAN_NONE if none. */
static int find_rollback(struct watch *watch, const struct json *deployment, struct span *ret_id)
{
	bool timed_out = span_is(env_text(deployment, "status"), "timed-out");
	struct span id = env_text(deployment, "deploymentId"), found = SPAN_NONE;
	struct json *answer;
	int code;

	*ret_id = SPAN_NONE;
	if (!timed_out && !span_is(env_text(deployment, "statusReason"), "ROLLED_BACK"))
		return EXIT_OK;
	code = ask(watch, env_path(watch->env, "/deployments"), &answer);
	if (code != EXIT_OK)
		return code;
	JSON_EACH_ITEM (json_get(answer, "deployments"), item) {
		if (span_equal(env_text(item, "deploymentId"), id))
			break;
		if (json_get_bool(item, "rollback", false) &&
			(!timed_out || json_equal(json_get(item, "createdAt"),
					       json_get(deployment, "endedAt"))))
			found = env_text(item, "deploymentId");
	}
	*ret_id = found;
	return EXIT_OK;
}

/* The last object is the requested deployment, with the one that it caused. */
static void report_json(const struct env *env, const struct json *deployment,
	const struct json *rollback)
{
	struct json *built = json_copy_object(env->arena, deployment);

	if (rollback)
		json_set(env->arena, built, "rollbackDeployment", rollback);
	printf("%.*s\n", SPAN_ARGS(json_to_text(built, env->arena)));
}

static void report(const struct env *env, const char *what, const struct json *deployment,
	const struct json *rollback)
{
	env_print_failed(rollback);
	env_print_failed(deployment);
	printf("%s %.*s: %.*s", what, SPAN_ARGS(env_text(deployment, "deploymentId")),
		SPAN_ARGS(env_outcome(env, deployment)));
	if (rollback)
		printf("; rollback %.*s: %.*s", SPAN_ARGS(env_text(rollback, "deploymentId")),
			SPAN_ARGS(env_outcome(env, rollback)));
	putchar('\n');
}

int env_watch_deployment(struct env *env, struct span id, const char *what)
{
	_watch_ struct watch watch = watch_begin(env);
	struct json *deployment, *rollback = NULL;
	struct span other = SPAN_NONE;
	int code = follow(&watch, id, &deployment);

	if (code == EXIT_OK)
		code = find_rollback(&watch, deployment, &other);
	if (code != EXIT_OK)
		return code;
	if (other.data && !env_wants_json(env))
		printf("%s %.*s: %.*s\nRollback %.*s was begun because of it\n", what,
			SPAN_ARGS(id), SPAN_ARGS(env_outcome(env, deployment)), SPAN_ARGS(other));
	fflush(stdout);
	/* After a manual rollback, the user waits for it separately. */
	if (other.data && span_is(env_text(deployment, "status"), "timed-out"))
		code = follow(&watch, other, &rollback);
	else if (other.data)
		code = ask(&watch, path_of(env, other), &rollback);
	if (code != EXIT_OK)
		return code;
	if (env_wants_json(env))
		report_json(env, deployment, rollback);
	else
		report(env, what, deployment, rollback);
	return span_is(env_text(deployment, "status"), "completed") ? EXIT_OK : EXIT_NOT_COMPLETED;
}

/* ---- environments ---- */

int env_watch_environment(struct env *env)
{
	_watch_ struct watch watch = watch_begin(env);
	struct arena *arena = env->arena;
	int code = EXIT_OK;

	while (!interrupted && code == EXIT_OK) {
		_arena_ struct arena *turn = arena_new(0);
		struct json *environment;

		env->arena = turn;
		code = ask(&watch, env_path(env, ""), &environment);
		if (code == EXIT_OK)
			show(&watch, env_wants_json(env)
					     ? json_to_text(environment, turn)
					     : env_progress_text(env, environment,
						       json_get(environment, "activeDeployment")));
		env->arena = arena;
		if (code == EXIT_OK)
			sleep_a_while();
	}
	finish_line(&watch);
	return interrupted ? EXIT_OK : code;
}
