/* slipway canary-proxy: the program in the pod of a CanaryRelease's proxy. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "release/canary_proxy.h"

static void note(void *context, bool failure, const char *message)
{
	log_write(context, failure ? LOG_WARNING : LOG_INFO, message, NULL);
}

static int read_number(const struct command *command, const char *name, const char *text,
	unsigned most, unsigned *ret_number)
{
	uint64_t number;

	if (!text)
		return 0;
	if (!span_to_unsigned(span_of(text), most, &number))
		return command_misused(command, "--%s must be a number from 0 to %u", name, most);
	*ret_number = (unsigned)number;
	return 0;
}

static int serve(const struct canary_proxy_config *config, const sigset_t *ends)
{
	struct canary_proxy *proxy;
	struct err err;
	int number;

	if (canary_proxy_start(config, &proxy, &err) < 0)
		return command_failed("%s", err.message);
	sigwait(ends, &number);
	note(config->context, false, number == SIGTERM ? "draining" : "stopping");
	if (number == SIGTERM)
		canary_proxy_drain(proxy);
	canary_proxy_stop(proxy);
	return EXIT_OK;
}

int canary_proxy_run(const struct command *command, int count, char **arguments)
{
	const char *health = NULL, *workers = NULL;
	struct canary_proxy_config config = {.replica = getenv("HOSTNAME"), .note = note};
	const struct option_row rows[] = {
		{"kubeconfig", &config.kubeconfig, NULL},
		{"namespace", &config.namespace, NULL},
		{"replica", &config.replica, NULL},
		{"address", &config.address, NULL},
		{"health-port", &health, NULL},
		{"workers", &workers, NULL},
		{"haproxy-folder", &config.haproxy_folder, NULL},
		{"certificates", &config.certificates, NULL},
	};
	struct positionals names;
	struct log *log;
	sigset_t ends;
	int code = command_read_options(command, count, arguments, rows, LENGTH(rows), &names);

	if (code == 0)
		code = read_number(command, "health-port", health, 65535, &config.health_port);
	if (code == 0)
		code = read_number(command, "workers", workers, CANARY_PROXY_WORKERS_MAX,
			&config.workers);
	if (code != 0)
		return code;
	if (names.count != 1 || !config.namespace)
		return command_misused(command, "needs --namespace and the CanaryRelease's name");
	if (!config.replica || !config.replica[0])
		return command_misused(command, "needs --replica, or HOSTNAME in the environment");
	config.name = names.items[0];
	/* Before there are threads: they all leave these signals to sigwait(). */
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	log = log_new(STDERR_FILENO, LOG_INFO, LOG_STYLE_JSON, clock_system());
	config.context = log;
	code = serve(&config, &ends);
	log_free(log);
	return code;
}
