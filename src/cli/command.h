/*
 * The command line: a table of commands, each a thin layer over calls that tests can make too. Errors
 * go to standard error as "slipway: …"; exit codes are for scripts.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* it was tried and did not work */
	EXIT_USAGE = 2,  /* usage error: invalid command line */
	/* Of commands about environments: */
	EXIT_NOT_COMPLETED = 3, /* a deployment did not complete */
	EXIT_UNREACHABLE = 4,   /* the server is not there now */
	EXIT_NO_INSTANCE = 5,   /* no instance matches the environment */
	EXIT_CRASH_LOOP = 6,    /* a deployment's tasks fail again and again on an instance */
	EXIT_INTERRUPTED = 130, /* by ctrl-c, as shells have it */
};

struct command {
	const char *name;
	const char *arguments; /* behind the name, in help */
	const char *summary;   /* one line */
	const char *details;   /* further help, with an example; ends in a newline */
	/* arguments without program and command name; ended by NULL. */
	int (*run)(const struct command *command, int count, char **arguments);
	/* Optional: more help that is computed. */
	void (*more_help)(void);
	/* Optional: prints help for these arguments in place of all of the above, or returns false. */
	bool (*help_of)(int count, char **arguments);
};

int up_run(const struct command *command, int count, char **arguments);
void up_help(void);
int key_run(const struct command *command, int count, char **arguments);
int env_run(const struct command *command, int count, char **arguments);
void env_help(void);
bool env_help_of(int count, char **arguments);
int app_run(const struct command *command, int count, char **arguments);
void app_help(void);
bool app_help_of(int count, char **arguments);
int deployment_run(const struct command *command, int count, char **arguments);
int repository_run(const struct command *command, int count, char **arguments);
void deployment_help(void);
int flows_run(const struct command *command, int count, char **arguments);
void flows_help(void);
bool flows_help_of(int count, char **arguments);
bool deployment_help_of(int count, char **arguments);
void repository_help(void);
bool repository_help_of(int count, char **arguments);
int logs_run(const struct command *command, int count, char **arguments);
int exec_run(const struct command *command, int count, char **arguments);
/* How many arguments are slipway's: all before "--", or before the second that is no option. */
int exec_count_own(int count, char **arguments);
int canary_command_run(const struct command *command, int count, char **arguments);
int release_run(const struct command *command, int count, char **arguments);
int chart_run(const struct command *command, int count, char **arguments);
int canary_proxy_run(const struct command *command, int count, char **arguments);
int dns_run(const struct command *command, int count, char **arguments);
int demo_run(const struct command *command, int count, char **arguments);
int demo_web_run(const struct command *command, int count, char **arguments);
int config_run(const struct command *command, int count, char **arguments);
int sim_run(const struct command *command, int count, char **arguments);
bool sim_help_of(int count, char **arguments);

/* The help of slipway-sim (sim/main.c), which `slipway sim` starts. */
#define SIM_ARGUMENTS "toy|service|daemon [--seeds A-B] [--seed N] [--trace] [--bug NAME]"
#define SIM_SUMMARY "Run simulations of slipway with faults, from a seed."
#define SIM_ARGUMENTS_MAX 64

/* "slipway: message" on standard error; returns EXIT_USAGE with a hint at --help, or EXIT_FAILED. */
int command_misused(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int command_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Options of a command: "--name value", "--name=value", or a switch without value. A row says where the
 * value goes; what is no option is collected in order.
 */
struct option_row {
	const char *name;   /* without dashes */
	const char **value; /* or NULL for a switch */
	bool *configured;   /* of a switch */
};

struct positionals {
	char *items[16];
	int count;
};

/* Returns 0, or EXIT_USAGE after printing the error. */
int command_read_options(const struct command *command, int count, char **arguments,
	const struct option_row *rows, size_t row_count, struct positionals *ret_positionals);

#endif
