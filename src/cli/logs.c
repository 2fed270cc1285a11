/* slipway logs: what a container of a task has written. */
#include <stdio.h>

#include "base/clock.h"

#include "cli/command.h"
#include "cli/remote.h"
#include "server/config_value.h"

static int print(void *context, struct span data)
{
	(void)context;
	if (fwrite(data.data, 1, data.length, stdout) != data.length || fflush(stdout) != 0)
		return -EPIPE;
	return 0;
}

/* "10m": before now; "2026-11-16T12:00:00Z": a time, to which missing parts are added. */
static int read_since(const char *since, struct arena *arena, struct json *body)
{
	struct span text = span_of(since);
	static const char shape[] = "0000-01-01T00:00:00Z";
	char basic[sizeof(shape)], whole[sizeof(shape)];
	size_t length = 0;
	int64_t ms;

	if (config_read_duration(text, &ms)) {
		json_set_integer(arena, body, "sinceSeconds", ms < 1000 ? 1 : ms / 1000);
		return 0;
	}
	if (text.length > 0 && text.data[text.length - 1] == 'Z')
		text.length--;
	if (text.length < 10 || text.length > sizeof(shape) - 2)
		return -EINVAL;
	memcpy(whole, shape, sizeof(whole));
	memcpy(whole, text.data, text.length);
	for (size_t i = 0; i < sizeof(whole) - 1; i++) {
		if (strchr("-T:Z", shape[i]) && whole[i] != shape[i])
			return -EINVAL;
		if (shape[i] != '-' && shape[i] != ':')
			basic[length++] = whole[i];
	}
	ms = clock_parse_basic(basic, length);
	if (ms < 0)
		return -EINVAL;
	json_set_integer(arena, body, "sinceTime", ms / 1000);
	return 0;
}

int logs_run(const struct command *command, int count, char **arguments)
{
	struct remote_options options = {0};
	const char *container = NULL, *tail = NULL, *since = NULL;
	bool follow = false, timestamps = false;
	uint64_t lines = 0;
	const struct option_row rows[] = {{"server", &options.server, NULL},
		{"state", &options.state, NULL}, {"ca", &options.authorities, NULL},
		{"container", &container, NULL}, {"c", &container, NULL}, {"follow", NULL, &follow},
		{"f", NULL, &follow}, {"tail", &tail, NULL}, {"n", &tail, NULL},
		{"since", &since, NULL}, {"timestamps", NULL, &timestamps},
		{"t", NULL, &timestamps}};
	_arena_ struct arena *arena = arena_new(0);
	_remote_ struct remote *remote = NULL;
	struct json *body = json_new_object(arena);
	struct positionals words;
	struct err err = {0};
	int code = command_read_options(command, count, arguments, rows, LENGTH(rows), &words);

	if (code != 0)
		return code;
	if (words.count != 1)
		return command_misused(command, "say which task");
	if (tail && strcmp(tail, "all") != 0 && !span_to_unsigned(span_of(tail), 100000, &lines))
		return command_misused(command,
			"--tail: '%s' is not a number of lines up to 100000, or all", tail);
	if (since && read_since(since, arena, body) < 0)
		return command_misused(command,
			"--since: '%s' is neither a time before now (90s, 10m, 2h) nor a time in "
			"UTC (2026-11-16T12:00:00Z)",
			since);
	json_set_string(arena, body, "task", span_of(words.items[0]));
	if (container)
		json_set_string(arena, body, "container", span_of(container));
	json_set_bool(arena, body, "follow", follow);
	if (tail && strcmp(tail, "all") != 0)
		json_set_integer(arena, body, "tail", (int64_t)lines);
	if (timestamps)
		json_set_bool(arena, body, "timestamps", true);
	code = remote_open(&options, &remote, &err);
	if (code == 0)
		code = remote_stream(remote, "/v1/logs", body, print, NULL, &err);
	if (code == -EPIPE)
		return EXIT_FAILED; /* the reader closed our output */
	return code < 0 ? command_failed("%s", err.message) : EXIT_OK;
}
