/* slipway logs: what a container of a task has written. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/remote.h"

static int print(void *context, struct span data)
{
	(void)context;
	if (fwrite(data.data, 1, data.length, stdout) != data.length || fflush(stdout) != 0)
		return -EPIPE;
	return 0;
}

int logs_run(const struct command *command, int count, char **arguments)
{
	struct remote_options options = {0};
	const char *container = NULL;
	bool follow = false;
	const struct option_row rows[] = {{"server", &options.server, NULL},
		{"state", &options.state, NULL}, {"ca", &options.authorities, NULL},
		{"container", &container, NULL}, {"c", &container, NULL}, {"follow", NULL, &follow},
		{"f", NULL, &follow}};
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
	json_set_string(arena, body, "task", span_of(words.items[0]));
	if (container)
		json_set_string(arena, body, "container", span_of(container));
	json_set_bool(arena, body, "follow", follow);
	code = remote_open(&options, &remote, &err);
	if (code == 0)
		code = remote_stream(remote, "/v1/logs", body, print, NULL, &err);
	if (code == -EPIPE)
		return EXIT_FAILED; /* the reader closed our output */
	return code < 0 ? command_failed("%s", err.message) : EXIT_OK;
}
