/* slipway config: the configuration's keys, as a file to begin with or as a table for the docs. */
#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"
#include "server/config.h"

int config_run(const struct command *command, int count, char **arguments)
{
	_buffer_ struct buffer out = {0};

	if (count > 1)
		return command_misused(command, "takes one argument at most");
	if (count == 0 || strcmp(arguments[0], "yaml") == 0)
		server_config_write_yaml(&out);
	else if (strcmp(arguments[0], "markdown") == 0)
		server_config_write_markdown(&out);
	else
		return command_misused(command, "'%s' is neither yaml nor markdown", arguments[0]);
	fputs(out.data, stdout);
	return EXIT_OK;
}
