/* slipway config: the configuration's keys, as a file to begin with or as a table for the docs; and whether a file is
 * right. */
#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"
#include "server/config.h"
#include "server/config_targets.h"

static int check_file(const char *path)
{
	_arena_ struct arena *arena = arena_new(0);
	struct server_config config;
	struct err err;

	server_config_init(&config);
	if (server_config_read(&config, path, arena, &err) < 0)
		return command_failed("%s", err.message);
	if (server_config_check(&config, arena, &err) < 0 ||
		config_targets_check_keys(&config, &err) < 0)
		return command_failed("%s: %s", path, err.message);
	printf("%s is right.\n", path);
	return EXIT_OK;
}

int config_run(const struct command *command, int count, char **arguments)
{
	_buffer_ struct buffer out = {0};

	if (count > 0 && strcmp(arguments[0], "check") == 0)
		return count == 2 ? check_file(arguments[1])
				  : command_misused(command, "check needs a file: check FILE");
	if (count > 1)
		return command_misused(command, "takes one argument at most");
	if (count == 0 || strcmp(arguments[0], "yaml") == 0)
		server_config_write_yaml(&out);
	else if (strcmp(arguments[0], "markdown") == 0)
		server_config_write_markdown(&out);
	else
		return command_misused(command,
			"unknown argument '%s'; use yaml, markdown or check", arguments[0]);
	fputs(out.data, stdout);
	return EXIT_OK;
}
