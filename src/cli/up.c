/* slipway up: reads flags and file, opens a server, waits for signals. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "aws/caller.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/key_lines.h"
#include "server/server.h"

void up_help(void)
{
	_buffer_ struct buffer out = {0};

	buffer_add_string(&out, "Options:\n");
	server_config_write_flags(&out);
	fputs(out.data, stdout);
}

/* The flag at *index and its value; advances past both. False after saying what is wrong. */
static bool next_flag(const struct command *command, int count, char **arguments, int *index,
	struct arena *arena, const char **ret_name, const char **ret_value)
{
	const char *argument = arguments[*index];
	const char *equals;

	if (strncmp(argument, "--", 2) != 0 || !argument[2]) {
		command_misused(command, "'%s' is not an option", argument);
		return false;
	}
	equals = strchr(argument, '=');
	*ret_value = equals ? equals + 1 : NULL;
	*ret_name = equals ? arena_copy(arena, argument + 2, (size_t)(equals - argument) - 2)
			   : argument + 2;
	if (!equals && !server_config_flag_is_bool(*ret_name) && *index + 1 < count)
		*ret_value = arguments[++*index];
	return true;
}

/* The file first, whatever the order on the command line: flags win over it. */
static int read_configuration(const struct command *command, int count, char **arguments,
	struct arena *arena, struct server_config *config)
{
	const char *name, *value;
	struct err err;

	server_config_init(config);
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < count; i++) {
			int code = 0;

			if (!next_flag(command, count, arguments, &i, arena, &name, &value))
				return EXIT_USAGE;
			if (strcmp(name, "config") == 0) {
				if (!value)
					return command_misused(command, "--config needs a value");
				if (pass == 0)
					code = server_config_read(config, value, arena, &err);
				if (code < 0)
					return command_failed("%s", err.message);
			} else if (pass == 1) {
				code = server_config_set_flag(config, name, value, arena, &err);
				if (code < 0)
					return command_misused(command, "%s", err.message);
			}
		}
	if (server_config_check(config, arena, &err) < 0)
		return command_misused(command, "%s", err.message);
	return EXIT_OK;
}

static struct log *open_log(const struct server_config *config)
{
	enum log_style style = LOG_STYLE_JSON;
	enum log_level level = LOG_INFO;

	if (strcmp(config->log_format, "text") == 0 ||
		(strcmp(config->log_format, "auto") == 0 && isatty(STDERR_FILENO)))
		style = LOG_STYLE_TEXT;
	log_level_parse(config->log_level, &level);
	return log_new(STDERR_FILENO, level, style, clock_system());
}

static void print_key(const struct server *server, const struct server_config *config)
{
	const char *path = server_admin_key_path(server);

	if (server_made_key(server))
		printf("\nA new admin key was made%s%s.", path ? " and is kept in " : "",
			path ? path : "");
	else
		printf("\nThe admin key in %s has not been used yet.", path);
	printf(" To use it:\n\n");
	key_lines_print("  ", server_admin_key_id(server), server_admin_key_secret(server),
		config->region, server_url(server));
	printf("  aws --endpoint-url %s ecs list-clusters\n\n", server_url(server));
}

/* Not into a file or a journal, which would keep the secret. A key without a file is nowhere else to be found. */
static bool prints_key(const struct server *server)
{
	if (!server_admin_key_path(server))
		return true;
	return isatty(STDOUT_FILENO) && (server_made_key(server) || server_key_is_unused(server));
}

static void say_hello(const struct server *server, const struct server_config *config)
{
	const char *path = server_admin_key_path(server);

	printf("slipway listens on %s\n", server_url(server));
	if (server_dns_address(server))
		printf("slipway answers DNS on %s\n", server_dns_address(server));
	if (strcmp(config->auth, "none") == 0)
		printf("Requests need no signature (auth none).\n");
	else if (prints_key(server))
		print_key(server, config);
	else if (server_made_key(server))
		printf("A new admin key, %s, is in %s; 'slipway key show-admin --state %s' prints "
		       "it.\n",
			server_admin_key_id(server), path, config->state);
	else
		printf("The admin key is in %s; 'slipway key show-admin --state %s' prints it.\n",
			path, config->state);
	fflush(stdout);
}

/* Waits for the signal that ends the server; the others are dealt with here. */
static void serve(struct server *server, struct log *log, const sigset_t *signals)
{
	for (;;) {
		struct err err;
		int number = sigwaitinfo(signals, NULL);

		if (number == SIGHUP) {
			if (server_reload(server, &err) < 0)
				log_write(log, LOG_ERROR, "reload failed", "error", err.message,
					NULL);
			else
				log_write(log, LOG_INFO, "reloaded", NULL);
		} else if (number > 0) {
			log_write(log, LOG_INFO, "stopping", "signal", strsignal(number), NULL);
			return;
		}
	}
}

int up_run(const struct command *command, int count, char **arguments)
{
	_arena_ struct arena *arena = arena_new(0);
	struct server_config config;
	struct server *server;
	uint64_t lasting;
	struct log *log;
	sigset_t signals;
	struct err err;
	int code = read_configuration(command, count, arguments, arena, &config);

	if (code != EXIT_OK)
		return code;
	/* Blocked before any thread starts, so that all of them inherit it and only we take them. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	log = open_log(&config);
	if (server_open(&config, log, &server, &err) < 0) {
		log_free(log);
		return command_failed("%s", err.message);
	}
	say_hello(server, &config);
	log_write(log, LOG_INFO, "listening", "url", server_url(server), "version", SLIPWAY_VERSION,
		"pid", arena_format(arena, "%ld", (long)getpid()).data, NULL);
	serve(server, log, &signals);
	lasting = server_lasting_tasks(server);
	server_close(server);
	if (lasting > 0)
		printf("%llu task%s keep%s running. The next 'slipway up' continues with them; to "
		       "stop "
		       "them when slipway ends: --stop-tasks-on-exit\n",
			(unsigned long long)lasting, lasting == 1 ? "" : "s",
			lasting == 1 ? "s" : "");
	log_free(log);
	return EXIT_OK;
}
