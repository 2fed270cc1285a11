/* slipway sim: starts slipway-sim, a program of its own because slipway contains no seeded bugs. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

#define PROGRAM "slipway-sim"

/* Returns only if there is no such program beside this one. */
static int start(char **arguments)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof(PROGRAM));
	char *end;

	if (length < 0)
		return -errno;
	path[length] = '\0';
	end = strrchr(path, '/');
	strcpy(end ? end + 1 : path, PROGRAM);
	execv(path, arguments);
	return -errno;
}

int sim_run(const struct command *command, int count, char **arguments)
{
	char *program[SIM_ARGUMENTS_MAX + 2] = {(char *)PROGRAM};
	int code;

	if (count > SIM_ARGUMENTS_MAX)
		return command_misused(command, "too many arguments");
	memcpy(program + 1, arguments, (size_t)count * sizeof(*arguments));
	code = start(program);
	return command_failed("start " PROGRAM ", which must be in the same folder as slipway: %s",
		strerror(-code));
}

bool sim_help_of(int count, char **arguments)
{
	(void)count;
	(void)arguments;
	start((char *[]){(char *)PROGRAM, (char *)"--help", NULL});
	return false;
}
