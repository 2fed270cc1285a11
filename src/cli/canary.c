/* slipway canary: the resource definitions of releases; canary releases. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/span.h"
#include "cli/canary_verbs.h"
#include "cli/cluster.h"
#include "cli/command.h"
#include "release/crd.h"

#define INSTALL_TIMEOUT_MS 60000

static void print_installed(void *context, const struct json *object)
{
	struct cluster *cluster = context;

	printf("%.*s applied\n", SPAN_ARGS(cluster_object_name(cluster->arena, object)));
}

static int install(const struct command *command, int count, char **arguments)
{
	struct cluster_options options = {0};
	bool print = false;
	const struct option_row rows[] = {CLUSTER_OPTION_ROWS(options), {"print", NULL, &print}};
	struct positionals positionals;
	_cluster_ struct cluster cluster = {0};
	struct err err;

	if (command_read_options(command, count, arguments, rows, LENGTH(rows), &positionals) != 0)
		return EXIT_USAGE;
	if (positionals.count > 0)
		return command_misused(command, "install takes no arguments");
	if (print) {
		for (size_t i = 0; i < CRD_TEXTS; i++)
			printf("%s%.*s", i > 0 ? "---\n" : "", SPAN_ARGS(*crd_texts[i]));
		return EXIT_OK;
	}
	if (cluster_open(&options, &cluster, &err) < 0 ||
		crd_install(cluster.client, cluster.runner, INSTALL_TIMEOUT_MS, print_installed,
			&cluster, &err) < 0)
		return command_failed("%s", err.message);
	return EXIT_OK;
}

static const struct verb {
	const char *name;
	int (*run)(const struct command *command, int count, char **arguments);
} verbs[] = {
	{"install", install},
};

int canary_command_run(const struct command *command, int count, char **arguments)
{
	int code;

	for (size_t i = 0; count > 0 && i < LENGTH(verbs); i++)
		if (strcmp(arguments[0], verbs[i].name) == 0)
			return verbs[i].run(command, count - 1, arguments + 1);
	if (count == 0)
		return command_misused(command, "needs a verb");
	if (canary_verb_run(command, count, arguments, &code))
		return code;
	return command_misused(command, "unknown verb '%s'", arguments[0]);
}
