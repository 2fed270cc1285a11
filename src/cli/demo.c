/* slipway demo: the steps, the expected result of each, and the observed result. */
#include "cli/demo.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aws/caller.h"
#include "cli/command.h"

#define WINDOW 1000 /* requests of one step and one way in */
#define WAIT_LINE_US INT64_C(5000000)

static const unsigned weights[] = {0, 1, 10, 50, 100}; /* percent of the second version */

/* The two ways in to the service. */
enum way { BY_BALANCER, BY_NAME, WAYS };

struct demo {
	bool once;
	bool terminal;
	struct demo_server server;
	struct demo_world world;
	struct demo_watch watches[WAYS];
	unsigned steps_done;
	int64_t shown_wait_us; /* of the present wait, when a line was last printed */
	bool broken_promise;   /* something was not as it should be */
};

static const char *const way_names[WAYS] = {"load balancer", "name"};

/* ---- saying ---- */

/* "12,345" */
static const char *grouped(uint64_t number, char out[32])
{
	char digits[32];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number), at = 0;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

/* Prints progress; on a terminal the next output overwrites it. */
static void say_meanwhile(const struct demo *demo, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void say_meanwhile(const struct demo *demo, const char *format, ...)
{
	va_list list;

	if (!demo->terminal)
		return;
	fputs("\r\033[K  ", stdout);
	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	fflush(stdout);
}

static void say(const struct demo *demo, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void say(const struct demo *demo, const char *format, ...)
{
	va_list list;

	if (demo->terminal)
		fputs("\r\033[K", stdout);
	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	fflush(stdout);
}

/* A wait on a terminal is one line that is written over; otherwise a line every few seconds. */
static void show_wait(void *context, const char *waiting_for, int64_t waited_us)
{
	struct demo *demo = context;
	int seconds = (int)(waited_us / 1000000);

	if (waited_us < demo->shown_wait_us)
		demo->shown_wait_us = 0;
	if (demo->terminal) {
		if (seconds > 0)
			say_meanwhile(demo, "waiting for %s (%d s)", waiting_for, seconds);
		else
			say_meanwhile(demo, "waiting for %s", waiting_for);
	} else if (waited_us - demo->shown_wait_us >= WAIT_LINE_US) {
		demo->shown_wait_us = waited_us;
		say(demo, "  waiting for %s (%d s)\n", waiting_for, seconds);
	}
}

/* ---- the steps ---- */

static int start_server(struct demo *demo, struct err *err)
{
	int code;

	say_meanwhile(demo, "starting a server");
	demo->server.show_wait = show_wait;
	demo->server.show_context = demo;
	code = demo_server_open(&demo->server, err);
	if (code < 0)
		return code;
	demo->world.server = &demo->server;
	say(demo, "  server         %s, DNS on %s\n", server_url(demo->server.server),
		server_dns_address(demo->server.server));
	return 0;
}

static int make_balancer(struct demo *demo, struct err *err)
{
	int code;

	say_meanwhile(demo, "making a load balancer");
	code = demo_world_make_balancer(&demo->world, err);
	if (code < 0)
		return code;
	say(demo, "  load balancer  http://%s:%u/ (%s)\n", demo->world.address, demo->world.port,
		demo->world.application ? "application: every request counts"
		: demo->world.network
			? "network: every connection counts"
			: "network: every connection counts; with haproxy installed it would be "
			  "an application load balancer");
	return 0;
}

static int make_name(struct demo *demo, struct err *err)
{
	int code;

	say_meanwhile(demo, "making a name");
	code = demo_world_make_name(&demo->world, err);
	if (code < 0)
		return code;
	say(demo, "  name           http://%s:%u/ (every lookup counts)\n", demo->world.name,
		demo->world.web_port);
	return 0;
}

static int make_services(struct demo *demo, struct err *err)
{
	int code;

	say_meanwhile(demo, "starting version 1 and version 2");
	code = demo_world_make_services(&demo->world, err);
	if (code < 0)
		return code;
	say(demo, "  services       web-v1 and web-v2, behind both\n");
	return 0;
}

static int set_weight(struct demo *demo, enum way way, unsigned percent, struct err *err)
{
	return way == BY_NAME ? demo_world_set_name_weight(&demo->world, percent, err)
			      : demo_world_set_balancer_weight(&demo->world, percent, err);
}

static int start_watching(struct demo *demo, struct err *err)
{
	struct demo_watch *by_balancer = &demo->watches[BY_BALANCER];
	struct demo_watch *by_name = &demo->watches[BY_NAME];
	const char *dns = server_dns_address(demo->server.server);
	const char *colon = strrchr(dns, ':');
	int code = proxy_address_parse(demo->world.address, demo->world.port, &by_balancer->address,
		err);

	if (code == 0)
		code = proxy_address_parse("127.0.0.1", (unsigned)atoi(colon + 1), &by_name->dns,
			err);
	by_balancer->keep = demo->world.application;
	by_name->by_name = true;
	by_name->name = demo->world.name;
	by_name->port = demo->world.web_port;
	for (enum way way = 0; way < WAYS && code == 0; way++) {
		code = set_weight(demo, way, weights[0], err);
		if (code == 0)
			code = demo_watch_start(&demo->watches[way], demo->server.runner,
				way_names[way], err);
	}
	return code;
}

struct window {
	struct demo *demo;
	unsigned percent;
};

static int windows_are_done(void *context, struct err *err)
{
	const struct window *window = context;
	struct demo *demo = window->demo;
	unsigned done = 0;

	(void)err;
	for (enum way way = 0; way < WAYS; way++)
		done += atomic_load(&demo->watches[way].window_done);
	snprintf(demo->server.waiting_for, sizeof(demo->server.waiting_for),
		"answers at weight %u %%: %u of %u requests", window->percent, done,
		(unsigned)(WAYS * WINDOW));
	return demo_watch_window_is_done(&demo->watches[BY_BALANCER], WINDOW) &&
	       demo_watch_window_is_done(&demo->watches[BY_NAME], WINDOW);
}

/* Shares are exact: at most one request beside what the weight says, and none where it says none. */
static bool is_as_promised(const struct demo_counts *seen, unsigned percent)
{
	uint64_t wanted = (uint64_t)WINDOW * percent / 100, second = seen->versions[1];
	bool all_or_none = percent == 0 || percent == 100;

	if (seen->failed > 0 || demo_counts_sum(seen) != WINDOW)
		return false;
	return second + !all_or_none >= wanted && second <= wanted + !all_or_none;
}

static void say_window(struct demo *demo, enum way way, unsigned percent, int64_t change_us)
{
	const struct demo_counts *seen = &demo->watches[way].window;
	bool promised = is_as_promised(seen, percent);
	char sum[32], first[32], second[32], failed[32], head[32] = "";

	if (way == 0)
		snprintf(head, sizeof(head), "weight %3u %%", percent);
	say(demo, "  %-13s %-14s %s requests, %s v1, %s v2, %s failed; in effect after %.1f ms%s\n",
		head, way_names[way], grouped(demo_counts_sum(seen), sum),
		grouped(seen->versions[0], first), grouped(seen->versions[1], second),
		grouped(seen->failed, failed), (double)change_us / 1000,
		promised ? "" : " - NOT AS PROMISED");
	demo->broken_promise |= !promised;
}

static int move_to(struct demo *demo, unsigned percent, struct err *err)
{
	struct window window = {demo, percent};
	int64_t change_us[WAYS];
	int code = 0;

	for (enum way way = 0; way < WAYS && code == 0; way++) {
		int64_t began = runner_now_us(demo->server.runner);

		code = set_weight(demo, way, percent, err);
		change_us[way] = runner_now_us(demo->server.runner) - began;
	}
	if (code < 0)
		return code;
	for (enum way way = 0; way < WAYS; way++)
		demo_watch_window(&demo->watches[way], WINDOW);
	code = demo_wait(&demo->server, "answers", windows_are_done, &window, err);
	if (code < 0)
		return code;
	for (enum way way = 0; way < WAYS; way++)
		say_window(demo, way, percent, change_us[way]);
	demo->steps_done++;
	return 0;
}

static int move_traffic(struct demo *demo, struct err *err)
{
	int code = start_watching(demo, err);

	say(demo, "\nFrom v1 to v2, while clients go on asking:\n");
	for (size_t i = 0; i < LENGTH(weights) && code == 0; i++)
		code = move_to(demo, weights[i], err);
	for (enum way way = 0; way < WAYS; way++)
		demo_watch_stop(&demo->watches[way]);
	return code;
}

static int say_summary(struct demo *demo, struct err *err)
{
	uint64_t requests = 0, failed = 0;
	char text[2][32];

	(void)err;
	for (enum way way = 0; way < WAYS; way++) {
		requests += demo_counts_sum(&demo->watches[way].total);
		failed += demo->watches[way].total.failed;
		if (demo->watches[way].total.failed > 0)
			say(demo, "  by %s: %s\n", way_names[way], demo->watches[way].failure);
	}
	demo->broken_promise |= failed > 0;
	say(demo, "\nMoved from v1 to v2 in %u steps; %s requests, %s failed%s.\n",
		demo->steps_done, grouped(requests, text[0]), grouped(failed, text[1]),
		demo->broken_promise ? "; not everything was as promised" : "");
	return 0;
}

/* In order. Each says what it did in a line or more, or fails. */
static int (*const steps[])(struct demo *demo, struct err *err) = {
	start_server,
	make_balancer,
	make_name,
	make_services,
	move_traffic,
	say_summary,
};

/* ---- staying ---- */

static void say_what_to_try(const struct demo *demo)
{
	const struct demo_world *world = &demo->world;
	const char *dns = server_dns_address(demo->server.server);

	say(demo,
		"\nIt stays up until Ctrl-C. To look around:\n\n"
		"  export AWS_ENDPOINT_URL=%s AWS_DEFAULT_REGION=" AWS_REGION_DEFAULT "\n"
		"  export AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s\n\n"
		"  curl http://%s:%u/\n"
		"  dig @127.0.0.1 -p %s +short %s\n"
		"  aws ecs describe-services --services web-v1 web-v2\n"
		"  aws ecs update-service --service web-v2 --desired-count 3\n"
		"  aws elbv2 describe-target-health --target-group-arn %s\n"
		"  aws elbv2 modify-listener --listener-arn %s --default-actions \\\n"
		"    '[{\"Type\":\"forward\",\"ForwardConfig\":{\"TargetGroups\":[\n"
		"      {\"TargetGroupArn\":\"%s\",\"Weight\":90},\n"
		"      {\"TargetGroupArn\":\"%s\",\"Weight\":10}]}}]'\n\n"
		"(aws before version 1.29 or 2.13 wants --endpoint-url instead of "
		"AWS_ENDPOINT_URL.)\n",
		server_url(demo->server.server), server_admin_key_id(demo->server.server),
		server_admin_key_secret(demo->server.server), world->address, world->port,
		strrchr(dns, ':') + 1, world->name, world->groups[1], world->listener,
		world->groups[0], world->groups[1]);
}

static int run(struct demo *demo)
{
	struct err err;
	int code = 0;

	say(demo, "Two versions of a web service, behind a load balancer and behind a name:\n");
	for (size_t i = 0; i < LENGTH(steps) && code == 0; i++)
		code = steps[i](demo, &err);
	if (code == 0 && !demo->once) {
		say_what_to_try(demo);
		while (demo_pause(&demo->server, 1000) == 0)
			;
		say(demo, "\n");
	}
	for (enum way way = 0; way < WAYS; way++)
		demo_watch_stop(&demo->watches[way]);
	demo_server_close(&demo->server);
	if (code == -EINTR) {
		say(demo, "\n");
		return command_failed("interrupted; everything is gone");
	}
	if (code < 0)
		return command_failed("%s", err.message);
	return demo->broken_promise ? EXIT_FAILED : EXIT_OK;
}

int demo_run(const struct command *command, int count, char **arguments)
{
	_free_ struct demo *demo = memory_allocate(sizeof(*demo));
	const struct option_row rows[] = {
		{"once", NULL, &demo->once},
		{"network", NULL, &demo->world.network},
	};
	struct positionals rest = {0};
	sigset_t *signals = &demo->server.signals;
	int code = command_read_options(command, count, arguments, rows, LENGTH(rows), &rest);

	if (code != EXIT_OK)
		return code;
	if (rest.count > 0)
		return command_misused(command, "takes no arguments but --once and --network");
	demo->terminal = isatty(STDOUT_FILENO);
	/* Before any thread: all inherit it, and only we take them. */
	sigemptyset(signals);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGHUP);
	sigprocmask(SIG_BLOCK, signals, NULL);
	return run(demo);
}
