/* Follows a deployment: on a terminal a view of its stages that is drawn again, otherwise its log. See app.h. */
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/app.h"
#include "cli/app_view.h"
#include "cli/env.h"

#define POLL_MS 300
#define WIDTH_DEFAULT 80
#define SILENCE_MAX_MS 60000 /* that a server may be away for */

static int64_t now_ms(void)
{
	return clock_steady_us(clock_system()) / 1000;
}

static void pause_a_while(void)
{
	nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
}

/* A server that is started again is back soon. */
int app_ask(struct app *app, const char *path, struct json **ret_answer)
{
	int64_t silent_since_ms = 0;

	for (;;) {
		struct err err;
		int code = app_try(app, "GET", path, NULL, ret_answer, &err);

		if (code == 0)
			return EXIT_OK;
		if (!silent_since_ms)
			silent_since_ms = now_ms();
		if (!env_may_pass(code) || now_ms() - silent_since_ms >= SILENCE_MAX_MS)
			return env_failed(code, &err);
		pause_a_while();
	}
}

/* ---- the log ---- */

static void print_line(const struct app *app, const struct json *line)
{
	struct span stage = app_text(line, "stage");

	printf("%.*s  %.*s%s%.*s\n", SPAN_ARGS(app_clock(app, line, "time")), SPAN_ARGS(stage),
		stage.length > 0 ? ": " : "", SPAN_ARGS(app_text(line, "text")));
}

/* Prints the lines behind *token, which moves to the last one. */
static int print_new_lines(struct app *app, const char *id, const char **token)
{
	size_t count;

	do {
		const char *path = app_deployment_path(app, id, "/log");
		struct json *answer;
		struct span next;
		int code;

		if (*token)
			path = arena_format(app->arena, "%s?nextToken=%s", path, *token).data;
		code = app_ask(app, path, &answer);
		if (code != EXIT_OK)
			return code;
		count = json_array_count(json_get(answer, "lines"));
		JSON_EACH_ITEM (json_get(answer, "lines"), line)
			print_line(app, line);
		next = app_text(answer, "nextToken");
		if (next.length > 0)
			*token = arena_copy(app->arena, next.data, next.length);
	} while (count > 0);
	fflush(stdout);
	return EXIT_OK;
}

int app_print_log(struct app *app, const char *id, bool follow)
{
	const char *token = NULL;
	struct json *deployment;
	int code;

	for (;;) {
		code = follow ? app_ask(app, app_deployment_path(app, id, ""), &deployment)
			      : EXIT_OK;
		if (code == EXIT_OK)
			code = print_new_lines(app, id, &token);
		if (code != EXIT_OK || !follow || app_has_ended(deployment))
			return code;
		pause_a_while();
	}
}

/* ---- the stages ---- */

static size_t terminal_width(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col
									       : WIDTH_DEFAULT;
}

/* Over the view before it; the number of lines. */
static unsigned draw(struct app *app, const struct json *deployment, unsigned lines_before)
{
	struct json *state = NULL;
	struct span text, line;
	struct err ignored = {0};
	unsigned lines = 0;

	/* Without the state the stages are shown. */
	if (app_try(app, "GET",
		    arena_format(app->arena, "/v1/applications/%s/state", app->name).data, NULL,
		    &state, &ignored) < 0)
		state = NULL;
	text = app_view(app->arena, deployment, state, terminal_width() - 1,
		clock_wall_ms(clock_system()));
	if (lines_before > 0)
		printf("\033[%uA\r\033[J", lines_before);
	while (span_next_part(&text, '\n', &line)) {
		printf("%.*s\n", SPAN_ARGS(line));
		lines++;
	}
	fflush(stdout);
	return lines;
}

int app_follow(struct app *app, const char *id, bool quiet, struct json **ret_deployment)
{
	bool is_terminal = isatty(STDOUT_FILENO) && !app->format && !quiet;
	const char *token = NULL;
	unsigned lines = 0;
	int code;

	for (;;) {
		code = app_ask(app, app_deployment_path(app, id, ""), ret_deployment);
		if (code != EXIT_OK)
			return code;
		if (is_terminal)
			lines = draw(app, *ret_deployment, lines);
		else if (!quiet && !app->format)
			code = print_new_lines(app, id, &token);
		if (code != EXIT_OK || app_has_ended(*ret_deployment))
			return code;
		pause_a_while();
	}
}
