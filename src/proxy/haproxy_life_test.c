/* HTTP: targets, groups, listeners and processes are added and removed during requests. */
#include "proxy/test_http.h"

#define CLIENTS 4

/* ---- load ---- */

/* Clients that keep their connection until the server closes it, and count failures. */
struct load {
	unsigned port;
	bool keeps_cookies;
	atomic_bool stop;
	atomic_uint answered, failed, letters[3];
	pthread_t threads[CLIENTS];
};

static void *load_main(void *context)
{
	struct load *load = context;
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	char cookie[256] = "";
	int client = -1;

	while (!atomic_load(&load->stop)) {
		char requested[128];

		if (client < 0)
			client = test_connect(load->port);
		http_ask(client, "GET", "/", cookie, answer);
		http_field(answer, "set-cookie", requested, sizeof(requested));
		if (load->keeps_cookies && answer->status == 200 && requested[0])
			snprintf(cookie, sizeof(cookie), "Cookie: %.*s\r\n",
				(int)strcspn(requested, ";"), requested);
		atomic_fetch_add(answer->status == 200 ? &load->answered : &load->failed, 1);
		if (answer->letter >= 'A' && answer->letter <= 'C')
			atomic_fetch_add(&load->letters[answer->letter - 'A'], 1);
		if (answer->status == 0 || answer->closes) {
			close(client);
			client = -1;
		}
	}
	if (client >= 0)
		close(client);
	free(answer);
	return NULL;
}

static void load_start_with(struct load *load, unsigned port, bool keeps_cookies)
{
	memset(load, 0, sizeof(*load));
	load->port = port;
	load->keeps_cookies = keeps_cookies;
	for (size_t i = 0; i < CLIENTS; i++)
		assert_int_equal(pthread_create(&load->threads[i], NULL, load_main, load), 0);
}

static void load_start(struct load *load, unsigned port)
{
	load_start_with(load, port, false);
}

static void load_stop(struct load *load)
{
	atomic_store(&load->stop, true);
	for (size_t i = 0; i < CLIENTS; i++)
		pthread_join(load->threads[i], NULL);
}

static void wait_for_more(struct load *load, unsigned more)
{
	unsigned before = atomic_load(&load->answered);

	TEST_WAIT_UNTIL(atomic_load(&load->answered) - before >= more);
}

/* ---- a plane with up to three targets in one group ---- */

struct life {
	struct test_plane *plane;
	struct proxy_target targets[4];
	struct proxy_group groups[3];
	struct proxy_route routes[3];
	struct proxy_listener listeners[4];
	struct proxy_state state;
	unsigned port;
};

static void life_apply(struct life *life)
{
	struct err err = {.message = ""};

	if (proxy_apply(life->plane->proxy, &life->state, &err) < 0)
		fail_msg("%s", err.message);
}

static unsigned port_of(struct life *life, const char *listener)
{
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_report report;

	proxy_report(life->plane->proxy, arena, &report);
	return proxy_address_port(&proxy_report_listener(&report, listener)->address);
}

static void life_open(struct life *life, struct test_plane *plane, size_t targets)
{
	static const char *const names[] = {"first", "second", "third"};

	memset(life, 0, sizeof(*life));
	life->plane = plane;
	http_start_backends(plane, 3);
	for (size_t i = 0; i < 3; i++) {
		life->targets[i].address = test_loopback(plane->backends[i].port);
		life->groups[i].name = life->routes[i].group = names[i];
		life->groups[i].targets = &life->targets[i];
		life->groups[i].target_count = 1;
		life->routes[i].weight = 1;
	}
	life->groups[0].target_count = targets;
	for (size_t i = 0; i < LENGTH(life->listeners); i++) {
		static const char *const listeners[] = {"web", "two", "three", "four"};

		life->listeners[i] = (struct proxy_listener){.name = listeners[i],
			.protocol = PROXY_HTTP,
			.address = test_loopback(0),
			.routes = life->routes,
			.route_count = 1};
	}
	life->state = (struct proxy_state){.groups = life->groups,
		.group_count = 3,
		.listeners = life->listeners,
		.listener_count = 1};
	life_apply(life);
	life->port = port_of(life, "web");
}

static struct proxy_counters target_counters(struct life *life, size_t index)
{
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_report report;

	proxy_report(life->plane->proxy, arena, &report);
	return proxy_report_group(&report, "first")->targets[index].counters;
}

/* ---- targets ---- */

static void test_targets_share_evenly(void **state)
{
	unsigned counts[3] = {0};
	struct life life;
	int client;

	life_open(&life, *state, 3);
	client = test_connect(life.port);
	for (int i = 0; i < 90; i++)
		counts[http_get(client, "/") - 'A']++;
	for (int i = 0; i < 3; i++)
		assert_int_equal(counts[i], 30);
	close(client);
}

static void test_targets_come_and_go(void **state)
{
	struct load load;
	struct life life;
	pid_t process;

	life_open(&life, *state, 1);
	process = haproxy_process(life.plane->driver);
	load_start(&load, life.port);
	for (int turn = 0; turn < 6; turn++) {
		unsigned before;

		/* A new one gets requests. */
		life.groups[0].target_count = 2;
		life.targets[1].address = test_loopback(life.plane->backends[1 + turn % 2].port);
		life.targets[1].state = PROXY_TARGET_ACTIVE;
		before = atomic_load(&load.letters[1 + turn % 2]);
		life_apply(&life);
		TEST_WAIT_UNTIL(atomic_load(&load.letters[1 + turn % 2]) > before + 5);
		/* One that drains gets none, and ends what it has. */
		life.targets[1].state = PROXY_TARGET_DRAINING;
		life_apply(&life);
		TEST_WAIT_UNTIL(target_counters(&life, 1).active == 0);
		before = (unsigned)atomic_load(&life.plane->backends[1 + turn % 2].requests);
		wait_for_more(&load, 20);
		assert_int_equal(atomic_load(&life.plane->backends[1 + turn % 2].requests), before);
		life.groups[0].target_count = 1;
		life_apply(&life);
		wait_for_more(&load, 20);
	}
	load_stop(&load);
	assert_int_equal(atomic_load(&load.failed), 0);
	assert_int_equal(haproxy_process(life.plane->driver), process);
}

/* Like a rolling update, one target after the other: clients with the cookie of a draining target
 * go to another one, so that it soon has none, and no request fails when it is removed. */
static void test_clients_with_cookies_lose_nothing(void **state)
{
	struct load load;
	struct life life;

	life_open(&life, *state, 2);
	life.groups[0].sticky = PROXY_STICKY_COOKIE;
	life.groups[0].sticky_s = 100;
	life_apply(&life);
	load_start_with(&load, life.port, true);
	wait_for_more(&load, 20);
	for (size_t turn = 0; turn < 30; turn++) {
		struct test_backend *old = &life.plane->backends[turn % 3];
		unsigned long long had;

		life.targets[0].address = test_loopback(old->port);
		life.targets[1].address = test_loopback(life.plane->backends[(turn + 1) % 3].port);
		life.targets[0].state = PROXY_TARGET_ACTIVE;
		life_apply(&life);
		wait_for_more(&load, 5);
		life.targets[0].state = PROXY_TARGET_DRAINING;
		life.targets[0].drain_ms = 60000;
		life_apply(&life);
		TEST_WAIT_UNTIL(target_counters(&life, 0).active == 0);
		had = atomic_load(&old->requests);
		wait_for_more(&load, 5);
		assert_int_equal(atomic_load(&old->requests), had);
		life.targets[0] = life.targets[1];
		life.groups[0].target_count = 1;
		life_apply(&life);
		life.groups[0].target_count = 2;
	}
	load_stop(&load);
	assert_int_equal(atomic_load(&load.failed), 0);
}

/* A draining target leaves the state: its open requests complete, or end at its deadline. */
static void test_a_target_that_drained_may_finish(void **state)
{
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	static const char request[] = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";
	struct life life;
	int waiting;

	for (int turn = 0; turn < 3; turn++) {
		if (turn == 0)
			life_open(&life, *state, 2);
		atomic_store(&life.plane->backends[0].sum, 0);
		life.groups[0].target_count = 1;
		life.targets[0].address = test_loopback(life.plane->backends[0].port);
		life.targets[0].state = PROXY_TARGET_ACTIVE;
		life_apply(&life);
		waiting = test_connect(life.port);
		assert_true(test_send_all(waiting, request, strlen(request)));
		TEST_WAIT_UNTIL(target_counters(&life, 0).active == 1);
		life.targets[0].state = PROXY_TARGET_DRAINING;
		life.targets[0].drain_ms = turn == 2 ? 1000 : 60000;
		life_apply(&life);
		life.targets[0].address = test_loopback(life.plane->backends[1].port);
		life.targets[0].state = PROXY_TARGET_ACTIVE;
		life_apply(&life);
		/* Also in a process that does not know it any more. */
		life.state.listener_count = 1 + turn % 2;
		life_apply(&life);
		assert_int_equal(http_get_once(life.port, "/"), 'B');
		if (turn < 2)
			atomic_store(&life.plane->backends[0].sum, 1);
		http_receive(waiting, answer);
		if (turn < 2)
			assert_int_equal(answer->status, 200);
		else
			assert_int_not_equal(answer->status, 200);
		close(waiting);
	}
	atomic_store(&life.plane->backends[0].sum, 1);
	assert_int_equal(http_get_once(life.port, "/"), 'B');
	free(answer);
}

/* A listener moves to another group. */
static void test_a_group_without_listeners_finishes(void **state)
{
	static const char request[] = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	struct life life;
	int waiting;

	life_open(&life, *state, 1);
	waiting = test_connect(life.port);
	assert_true(test_send_all(waiting, request, strlen(request)));
	TEST_WAIT_UNTIL(target_counters(&life, 0).active == 1);
	life.routes[0].group = "second";
	life_apply(&life);
	assert_int_equal(http_get_once(life.port, "/"), 'B');
	assert_int_equal(target_counters(&life, 0).active, 1);
	life.targets[0].state = PROXY_TARGET_DRAINING;
	life.targets[0].drain_ms = 60000;
	life_apply(&life);
	/* In a process that ends, too. */
	life.state.listener_count = 2;
	life_apply(&life);
	assert_int_equal(target_counters(&life, 0).active, 1);
	atomic_store(&life.plane->backends[0].sum, 1);
	http_receive(waiting, answer);
	assert_int_equal(answer->status, 200);
	TEST_WAIT_UNTIL(target_counters(&life, 0).active == 0);
	life.groups[0] = life.groups[2];
	life.state.group_count = 2;
	life_apply(&life);
	assert_int_equal(http_get_once(life.port, "/"), 'B');
	close(waiting);
	free(answer);
}

static void test_groups_and_rules_come_and_go(void **state)
{
	static const struct proxy_value everything = {NULL, "/*"}, nothing = {NULL, "/nothing"};
	const struct proxy_condition conditions[] = {
		{PROXY_IF_PATH, NULL, &nothing, 1}, {PROXY_IF_PATH, NULL, &everything, 1}};
	struct proxy_rule rules[2];
	struct load load;
	struct life life;
	pid_t process;

	life_open(&life, *state, 1);
	process = haproxy_process(life.plane->driver);
	load_start(&load, life.port);
	life.listeners[0].http.rules = rules;
	for (unsigned turn = 0; turn < 12; turn++) {
		/* The same rule sends all to another group, which is used by nothing else. */
		size_t group = 1 + turn % 2;
		int client = test_connect(life.port);

		for (size_t i = 0; i < 2; i++)
			rules[i] = (struct proxy_rule){turn % 3 ? "x" : "y", &conditions[1], 1,
				{.routes = &life.routes[group], .route_count = 1}};
		rules[0].name = "never";
		rules[0].conditions = &conditions[0];
		life.listeners[0].http.rule_count = 2;
		life_apply(&life);
		assert_int_equal(http_get(client, "/"), 'A' + (int)group);
		wait_for_more(&load, 10);
		life.listeners[0].http.rule_count = 0;
		life_apply(&life);
		assert_int_equal(http_get(client, "/"), 'A');
		wait_for_more(&load, 10);
		close(client);
	}
	load_stop(&load);
	assert_int_equal(atomic_load(&load.failed), 0);
	assert_int_equal(haproxy_process(life.plane->driver), process);
}

static void test_another_target_is_tried(void **state)
{
	struct proxy_counters counters;
	struct life life;
	unsigned port;
	int refusing = test_refuse(&port), client;

	life_open(&life, *state, 2);
	life.targets[1].address = test_loopback(port);
	life_apply(&life);
	client = test_connect(life.port);
	for (int i = 0; i < 10; i++)
		assert_int_equal(http_get(client, "/"), 'A');
	counters = target_counters(&life, 1);
	assert_true(counters.connect_failures >= 4);
	/* Without a target, the client gets a 503. */
	life.targets[0].state = PROXY_TARGET_DOWN;
	life.listeners[0].options.no_retries = true;
	life_apply(&life);
	close(client);
	client = test_connect(life.port);
	{
		struct http_answer *answer = memory_allocate(sizeof(*answer));

		http_ask(client, "GET", "/", "", answer);
		assert_int_equal(answer->status, 503);
		close(client);
		life.targets[1].state = PROXY_TARGET_DOWN;
		life_apply(&life);
		client = test_connect(life.port);
		http_ask(client, "GET", "/", "", answer);
		assert_int_equal(answer->status, 503);
		free(answer);
	}
	close(client);
	close(refusing);
}

static void test_draining_has_an_end(void **state)
{
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	static const char request[] = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";
	struct life life;
	int waiting, other;

	life_open(&life, *state, 1);
	waiting = test_connect(life.port);
	assert_true(test_send_all(waiting, request, strlen(request)));
	TEST_WAIT_UNTIL(target_counters(&life, 0).active == 1);
	/* Without a deadline it waits for the request, which ends well. */
	life.targets[0].state = PROXY_TARGET_DRAINING;
	life_apply(&life);
	other = test_connect(life.port);
	http_ask(other, "GET", "/", "", answer);
	assert_int_equal(answer->status, 503); /* there is no other */
	atomic_store(&life.plane->backends[0].sum, 1);
	http_receive(waiting, answer);
	assert_int_equal(answer->status, 200);
	/* With one, it is cut off. */
	atomic_store(&life.plane->backends[0].sum, 0);
	life.targets[0].state = PROXY_TARGET_ACTIVE;
	life_apply(&life);
	assert_true(test_send_all(waiting, request, strlen(request)));
	TEST_WAIT_UNTIL(target_counters(&life, 0).active == 1);
	life.targets[0].state = PROXY_TARGET_DRAINING;
	life.targets[0].drain_ms = 300;
	life_apply(&life);
	http_receive(waiting, answer);
	assert_int_not_equal(answer->status, 200);
	atomic_store(&life.plane->backends[0].sum, 1);
	close(waiting);
	close(other);
	free(answer);
}

#define LONG_MS 900000
#define RISE_MS 3000

/* Of 50 requests, how many the target of this letter gets. */
static unsigned part_of(int client, char letter)
{
	unsigned part = 0;

	for (int i = 0; i < 50; i++) {
		char answered = http_get(client, "/");

		assert_true(answered >= 'A' && answered <= 'C');
		part += answered == letter;
	}
	return part;
}

/* The maximum of 50 requests beside one full share, for a target that began to rise at began_ms or
 * later. Shares change during the requests, hence a few more. */
static unsigned most_of(int64_t began_ms, int64_t rise_ms)
{
	int64_t age_ms = test_now_ms() - began_ms;
	int64_t weight = age_ms < rise_ms ? 1 + age_ms * 99 / rise_ms : 100;

	return (unsigned)(50 * weight / (100 + weight)) + 3;
}

static void test_slow_start_rises(void **state)
{
	struct life life;
	int64_t began, begun;
	unsigned part;
	int client;

	life_open(&life, *state, 1);
	client = test_connect(life.port);
	life.groups[0].slow_start_ms = LONG_MS;
	life.groups[0].target_count = 2;
	began = test_now_ms();
	life_apply(&life);
	begun = test_now_ms() + 1; /* rounded up */
	part = part_of(client, 'B');
	assert_true(part <= most_of(began, LONG_MS));
	/* Without another apply it reaches its full share in the end, not before. */
	life.groups[0].slow_start_ms = RISE_MS;
	life_apply(&life);
	do {
		assert_true(test_now_ms() < began + TEST_DEADLINE_S * 1000);
		part = part_of(client, 'B');
		assert_true(part <= most_of(began, RISE_MS));
	} while (part < 24);
	/* A target with its full share keeps it: the new time is for others. */
	TEST_WAIT_UNTIL(test_now_ms() >= begun + RISE_MS);
	life.groups[0].slow_start_ms = LONG_MS;
	life_apply(&life);
	assert_in_range(part_of(client, 'B'), 24, 26);
	life.groups[0].target_count = 3;
	began = test_now_ms();
	life_apply(&life);
	part = part_of(client, 'C');
	assert_true(part <= most_of(began, LONG_MS));
	/* Without slow start, its part at once. */
	life.groups[0].slow_start_ms = 0;
	life_apply(&life);
	assert_in_range(part_of(client, 'C'), 15, 18);
	close(client);
}

/* No target starts with less while none has its full share. */
static void test_slow_start_needs_a_target_at_full_share(void **state)
{
	struct life life;
	int64_t began;
	unsigned part;
	int client;

	life_open(&life, *state, 2);
	client = test_connect(life.port);
	life.groups[0].slow_start_ms = LONG_MS;
	life.targets[0].state = life.targets[1].state = PROXY_TARGET_DOWN;
	life_apply(&life);
	life.targets[0].state = PROXY_TARGET_ACTIVE;
	life_apply(&life);
	/* The first one has its full share at once when the second one starts. */
	life.targets[1].state = PROXY_TARGET_ACTIVE;
	began = test_now_ms();
	life_apply(&life);
	part = part_of(client, 'B');
	assert_true(part <= most_of(began, LONG_MS));
	/* Two targets start at the same time, without another one. */
	life.targets[0].state = life.targets[1].state = PROXY_TARGET_DOWN;
	life_apply(&life);
	life.targets[0].state = life.targets[1].state = PROXY_TARGET_ACTIVE;
	life_apply(&life);
	assert_in_range(part_of(client, 'B'), 24, 26);
	/* A target that replaces all others has none beside it, and the next one has. */
	life.targets[2].state = PROXY_TARGET_ACTIVE;
	life.groups[0].targets = &life.targets[2];
	life.groups[0].target_count = 1;
	life_apply(&life);
	assert_int_equal(part_of(client, 'C'), 50);
	life.groups[0].targets = life.targets;
	life.groups[0].target_count = 3;
	life.targets[1].state = PROXY_TARGET_DOWN;
	began = test_now_ms();
	life_apply(&life);
	part = part_of(client, 'A');
	assert_true(part <= most_of(began, LONG_MS));
	close(client);
}

/* ---- listeners ---- */

static void test_listeners_come_and_go_without_loss(void **state)
{
	struct load load;
	struct life life;
	unsigned port;
	pid_t process;

	life_open(&life, *state, 1);
	process = haproxy_process(life.plane->driver);
	load_start(&load, life.port);
	for (size_t i = 2; i <= 4; i++) {
		life.state.listener_count = i;
		life_apply(&life);
		assert_int_not_equal(haproxy_process(life.plane->driver), process);
		process = haproxy_process(life.plane->driver);
		wait_for_more(&load, 20);
		port = port_of(&life, life.listeners[i - 1].name);
		assert_int_equal(http_get_once(port, "/"), 'A');
	}
	/* Weights and targets of now, wherever a connection is. */
	life.routes[0].group = "second";
	life_apply(&life);
	assert_int_equal(http_get_once(life.port, "/"), 'B');
	port = port_of(&life, "four");
	life.state.listener_count = 1;
	life_apply(&life);
	assert_int_equal(test_connect(port), -1);
	assert_int_equal(haproxy_process(life.plane->driver), process);
	wait_for_more(&load, 20);
	load_stop(&load);
	assert_int_equal(atomic_load(&load.failed), 0);
	assert_int_equal(atomic_load(&load.letters[2]), 0);
	/* And none at all. */
	life.state.listener_count = 0;
	life_apply(&life);
	assert_int_equal(test_connect(life.port), -1);
	assert_int_equal(haproxy_process(life.plane->driver), 0);
	life.state.listener_count = 1;
	life_apply(&life);
	assert_int_equal(http_get_once(port_of(&life, "web"), "/"), 'B');
}

/* Each listener starts a process, and each process has open requests: all of them complete. */
static void test_many_processes_finish(void **state)
{
	enum { TURNS = 12 };
	static const char request[] = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	struct life life;
	int waiting[TURNS];

	life_open(&life, *state, 1);
	for (size_t i = 0; i < TURNS; i++) {
		pid_t process = haproxy_process(life.plane->driver);

		waiting[i] = test_connect(life.port);
		assert_true(test_send_all(waiting[i], request, strlen(request)));
		TEST_WAIT_UNTIL(target_counters(&life, 0).active == i + 1);
		life.state.listener_count = 2;
		life_apply(&life);
		assert_int_not_equal(haproxy_process(life.plane->driver), process);
		life.state.listener_count = 1;
		life_apply(&life);
	}
	assert_int_equal(target_counters(&life, 0).active, TURNS);
	atomic_store(&life.plane->backends[0].sum, 1);
	for (size_t i = 0; i < TURNS; i++) {
		http_receive(waiting[i], answer);
		assert_int_equal(answer->status, 200);
		close(waiting[i]);
	}
	free(answer);
}

/* An older connection gets at most one more response from the old process, with the new state. */
static void test_old_processes_follow(void **state)
{
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	struct life life;
	int client;

	life_open(&life, *state, 1);
	client = test_connect(life.port);
	assert_int_equal(http_get(client, "/"), 'A');
	life.state.listener_count = 2;
	life_apply(&life);
	life.routes[0].group = "third";
	life_apply(&life);
	http_ask(client, "GET", "/", "", answer);
	assert_int_equal(answer->letter, 'C');
	assert_true(answer->closes);
	close(client);
	free(answer);
}

static void test_more_groups_than_spare_ones(void **state)
{
	enum { GROUPS = 30 };
	struct proxy_group groups[GROUPS];
	struct proxy_route routes[GROUPS];
	struct proxy_rule rules[GROUPS];
	struct proxy_condition conditions[GROUPS];
	struct proxy_value values[GROUPS];
	char names[GROUPS][32];
	struct load load;
	struct life life;
	int client;

	life_open(&life, *state, 1);
	load_start(&load, life.port);
	groups[0] = life.groups[0];
	for (size_t i = 1; i < GROUPS; i++) {
		snprintf(names[i], sizeof(names[i]), "/path-%zu/*", i);
		groups[i] = life.groups[i % 3];
		groups[i].target_count = 1;
		groups[i].name = routes[i].group = names[i];
		routes[i].weight = 1;
		values[i] = (struct proxy_value){NULL, names[i]};
		conditions[i] = (struct proxy_condition){PROXY_IF_PATH, NULL, &values[i], 1};
		rules[i] = (struct proxy_rule){
			names[i], &conditions[i], 1, {.routes = &routes[i], .route_count = 1}};
	}
	life.state.groups = groups;
	life.listeners[0].http.rules = rules + 1;
	for (size_t count = 1; count <= GROUPS; count++) {
		life.state.group_count = count;
		life.listeners[0].http.rule_count = count - 1;
		life_apply(&life);
	}
	wait_for_more(&load, 20);
	client = test_connect(life.port);
	for (size_t i = 1; i < GROUPS; i++) {
		names[i][strlen(names[i]) - 1] = 0;
		assert_int_equal(http_get(client, names[i]), 'A' + (int)(i % 3));
	}
	close(client);
	load_stop(&load);
	assert_int_equal(atomic_load(&load.failed), 0);
}

/* ---- processes ---- */

static void test_a_killed_process_is_replaced(void **state)
{
	struct life life;
	struct load load;
	unsigned lost = 0;

	life_open(&life, *state, 1);
	life.listeners[0].route_count = 2;
	life_apply(&life);
	load_start(&load, life.port);
	wait_for_more(&load, 50);
	for (int turn = 0; turn < 20; turn++) {
		pid_t process = haproxy_process(life.plane->driver);

		assert_true(process > 0);
		kill(process, SIGKILL);
		TEST_WAIT_UNTIL(haproxy_process(life.plane->driver) != process &&
				haproxy_process(life.plane->driver) != 0);
		lost += CLIENTS;
		wait_for_more(&load, 5);
	}
	load_stop(&load);
	/* Open requests; every client has one at a time. */
	assert_true(atomic_load(&load.failed) <= lost);
	assert_true(atomic_load(&load.letters[0]) > 0 && atomic_load(&load.letters[1]) > 0);
	assert_int_equal(atomic_load(&load.letters[2]), 0);
}

static uint64_t active_of(struct life *life, const char *listener)
{
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_report report;

	proxy_report(life->plane->proxy, arena, &report);
	return proxy_report_listener(&report, listener)->counters.active;
}

static void test_counters_survive(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct proxy_listener_report *web;
	struct proxy_report report;
	struct life life;

	life_open(&life, *state, 2);
	life.listeners[0].route_count = 2;
	life_apply(&life);
	for (int i = 0; i < 8; i++)
		assert_true(http_get_once(life.port, "/"));
	life.state.listener_count = 2;
	life_apply(&life);
	for (int i = 0; i < 8; i++)
		assert_true(http_get_once(life.port, "/"));
	assert_true(http_get_once(port_of(&life, "two"), "/"));
	TEST_WAIT_UNTIL(active_of(&life, "web") == 0);
	proxy_report(life.plane->proxy, arena, &report);
	web = proxy_report_listener(&report, "web");
	assert_int_equal(web->counters.connections, 16);
	assert_int_equal(web->counters.active, 0);
	assert_int_equal(web->route_count, 2);
	assert_int_equal(web->routes[0].counters.connections, 8);
	assert_int_equal(web->routes[1].counters.connections, 8);
	assert_true(web->routes[1].counters.bytes_in > 8 * 20);
	assert_true(web->routes[1].counters.bytes_out > 8 * 20);
	assert_int_equal(proxy_report_listener(&report, "two")->counters.connections, 1);
	assert_int_equal(proxy_report_group(&report, "second")->counters.connections, 8);
	assert_int_equal(proxy_report_group(&report, "first")->counters.connections, 9);
	assert_int_equal(proxy_report_group(&report, "first")->targets[0].counters.connections +
				 proxy_report_group(&report, "first")
					 ->targets[1]
					 .counters.connections,
		9);
	assert_int_equal(report.worker_starts, 2);
}

static void test_there_is_no_program(void **state)
{
	struct haproxy_options options = {.program = "/nonexistent/haproxy"};
	struct life life;
	struct err err;

	(void)state;
	assert_int_equal(http_setup_with(state, &options), 0);
	memset(&life, 0, sizeof(life));
	life.listeners[0] = (struct proxy_listener){
		.name = "web", .protocol = PROXY_HTTP, .address = test_loopback(0)};
	life.state = (struct proxy_state){
		.groups = NULL, .group_count = 0, .listeners = life.listeners, .listener_count = 1};
	assert_int_equal(proxy_apply(((struct test_plane *)*state)->proxy, &life.state, &err),
		-ENOTSUP);
	assert_string_equal(err.message,
		"http, https and tls-end need HAProxy, and '/nonexistent/haproxy' cannot be run: "
		"install Debian's haproxy");
	life.state.listener_count = 0;
	assert_int_equal(proxy_apply(((struct test_plane *)*state)->proxy, &life.state, &err), 0);
	http_teardown(state);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, http_setup, http_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_targets_share_evenly),
		WITH(test_targets_come_and_go),
		WITH(test_clients_with_cookies_lose_nothing),
		WITH(test_a_target_that_drained_may_finish),
		WITH(test_a_group_without_listeners_finishes),
		WITH(test_groups_and_rules_come_and_go),
		WITH(test_another_target_is_tried),
		WITH(test_draining_has_an_end),
		WITH(test_slow_start_rises),
		WITH(test_slow_start_needs_a_target_at_full_share),
		WITH(test_listeners_come_and_go_without_loss),
		WITH(test_many_processes_finish),
		WITH(test_old_processes_follow),
		WITH(test_more_groups_than_spare_ones),
		WITH(test_a_killed_process_is_replaced),
		WITH(test_counters_survive),
		cmocka_unit_test(test_there_is_no_program),
	};

	return cmocka_run_group_tests_name("proxy/haproxy_life", tests, NULL, NULL);
}
