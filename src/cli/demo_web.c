/* The program of the demo's tasks: a web server that says which version it is. */
#include "cli/demo.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "io/http_server.h"

static void answer(struct http_exchange *exchange, const struct http_request *request,
	void *context)
{
	const struct http_header type[] = {{SPAN("content-type"), SPAN("text/plain")}};
	const char *version = context;

	http_respond(exchange, 200, type, 1,
		HTTP_BODY_STATIC(arena_format(request->arena, "%s\n", version)));
}

int demo_web_run(const struct command *command, int count, char **arguments)
{
	const char *version = getenv("VERSION"), *port = getenv("PORT");
	/* The task's own address: binds to every address would conflict where they cannot be redirected. */
	const char *address = getenv("SLIPWAY_ADDRESS");
	struct http_server_config config = {
		.address = address && address[0] ? address : "0.0.0.0",
		.port = (uint16_t)(port ? atoi(port) : DEMO_WEB_PORT),
		.handler = answer,
		.context = (void *)(version ? version : "no version"),
	};
	struct http_server *server;
	sigset_t signals;
	struct err err;
	int number;

	(void)command;
	(void)count;
	(void)arguments;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (http_server_open(&config, &server, &err) < 0)
		return command_failed("%s", err.message);
	sigwait(&signals, &number);
	http_server_close(server);
	return EXIT_OK;
}
