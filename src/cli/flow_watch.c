/* Follows a flow: on a terminal its graph, drawn again in place; otherwise a line for each change of a node. See flow.h. */
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cli/env.h"
#include "cli/flow.h"
#include "cli/flow_view.h"

#define POLL_MS 300
#define ROWS_DEFAULT 24
#define COLUMNS_DEFAULT 80

static unsigned draw(const struct app *app, const struct json *flow, unsigned lines_before)
{
	struct winsize size;
	bool is_known =
		ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
	size_t rows = is_known ? size.ws_row : ROWS_DEFAULT,
	       columns = is_known ? size.ws_col : COLUMNS_DEFAULT;
	struct span text = flow_view(app->arena, flow, columns - 1, rows > 1 ? rows - 1 : 1,
			    clock_wall_ms(clock_system())),
		    line;
	unsigned lines = 0;

	if (lines_before > 0)
		printf("\033[%uA\r\033[J", lines_before);
	while (span_next_part(&text, '\n', &line)) {
		printf("%.*s\n", SPAN_ARGS(line));
		lines++;
	}
	fflush(stdout);
	return lines;
}

/* States of the nodes that were printed, by their number. */
struct printed {
	char (*states)[24];
	size_t count;
	char flow[24];
};

static bool note(char known[24], struct span state)
{
	if (span_is(state, known))
		return false;
	snprintf(known, 24, "%.*s", SPAN_ARGS(state));
	return true;
}

static void print_changes(const struct app *app, const struct json *flow, struct printed *printed)
{
	size_t count = json_array_count(json_get(flow, "nodes")), index = 0;

	if (!printed->states) {
		printed->states = memory_allocate_array(count + 1, sizeof(*printed->states));
		printed->count = count;
	}
	JSON_EACH_ITEM (json_get(flow, "nodes"), node) {
		struct span reason = app_text(node, "reason"), detail = app_text(node, "detail");

		if (index < printed->count && note(printed->states[index], app_text(node, "state")))
			printf("%.*s  %.*s: %.*s%s%.*s%s%.*s\n",
				SPAN_ARGS(app_clock(app, node, "since")),
				SPAN_ARGS(app_text(node, "application")),
				SPAN_ARGS(app_text(node, "state")), reason.length > 0 ? ", " : "",
				SPAN_ARGS(reason), detail.length > 0 ? ": " : "",
				SPAN_ARGS(detail));
		index++;
	}
	if (note(printed->flow, app_text(flow, "state")))
		printf("flow %.*s: %s\n", SPAN_ARGS(app_text(flow, "id")), printed->flow);
	fflush(stdout);
}

static int follow(struct app *app, struct printed *printed, struct json **ret_flow)
{
	bool is_terminal = isatty(STDOUT_FILENO) && !app->format;
	struct arena *kept = app->arena;
	unsigned lines = 0;

	for (;;) {
		int code = flow_read(app, true, ret_flow);

		if (code != EXIT_OK)
			return code;
		if (is_terminal)
			lines = draw(app, *ret_flow, lines);
		else if (!app->format)
			print_changes(app, *ret_flow, printed);
		if (flow_has_ended(*ret_flow))
			return EXIT_OK;
		/* A long wait does not collect answers. */
		if (app->arena != kept)
			arena_free(app->arena);
		app->arena = arena_new(0);
		nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
	}
}

int flow_watch(struct app *app)
{
	struct arena *kept = app->arena;
	struct printed printed = {0};
	struct json *flow;
	int code = follow(app, &printed, &flow);

	if (code == EXIT_OK && app->format)
		env_print_json(flow);
	if (code == EXIT_OK)
		code = app_result(flow);
	if (code == EXIT_NOT_COMPLETED)
		env_warn("flow %.*s of application %.*s ended with %.*s",
			SPAN_ARGS(app_text(flow, "id")), SPAN_ARGS(app_text(flow, "head")),
			SPAN_ARGS(app_text(flow, "state")));
	free(printed.states);
	if (app->arena != kept)
		arena_free(app->arena);
	app->arena = kept;
	return code;
}
