/* HTTP: rules, their actions, header fields for targets, and stickiness. */
#include "proxy/test_http.h"

#define RULES_MAX 8

/* A listener with rules; every group has one backend, "a" A, "b" B, "c" C. */
struct rules {
	struct test_plane *plane;
	struct proxy_target targets[3];
	struct proxy_group groups[3];
	struct proxy_route routes[3];
	struct proxy_rule rules[RULES_MAX];
	struct proxy_listener listener;
	struct proxy_state state;
	unsigned port;
};

static struct proxy_action forward_to(struct rules *rules, size_t group)
{
	return (struct proxy_action){
		.kind = PROXY_FORWARD, .routes = &rules->routes[group], .route_count = 1};
}

static void rules_apply(struct rules *rules)
{
	struct err err = {.message = ""};

	if (proxy_apply(rules->plane->proxy, &rules->state, &err) < 0)
		fail_msg("%s", err.message);
}

static void rules_open(struct rules *rules, struct test_plane *plane)
{
	static const char *const names[] = {"a", "b", "c"};
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_report report;

	memset(rules, 0, sizeof(*rules));
	rules->plane = plane;
	http_start_backends(plane, 3);
	for (size_t i = 0; i < 3; i++) {
		rules->targets[i].address = test_loopback(plane->backends[i].port);
		rules->groups[i].name = rules->routes[i].group = names[i];
		rules->groups[i].targets = &rules->targets[i];
		rules->groups[i].target_count = 1;
		rules->routes[i].weight = 1;
	}
	rules->listener = (struct proxy_listener){.name = "web",
		.protocol = PROXY_HTTP,
		.address = test_loopback(0),
		.http = {.rules = rules->rules, .otherwise = forward_to(rules, 0)}};
	rules->state = (struct proxy_state){.groups = rules->groups,
		.group_count = 3,
		.listeners = &rules->listener,
		.listener_count = 1};
	rules_apply(rules);
	proxy_report(plane->proxy, arena, &report);
	rules->port = proxy_address_port(&proxy_report_listener(&report, "web")->address);
}

/* ---- conditions ---- */

struct question {
	const char *method, *path, *fields;
};

/* One condition of up to two values, and a second one; a request that matches it and one that does
 * not. */
struct condition_case {
	enum proxy_condition_kind kind;
	const char *name;
	struct proxy_value values[2];
	struct question yes[3], no[3];
};

static const struct condition_case condition_cases[] = {
	{PROXY_IF_PATH, NULL, {{NULL, "/img/*"}, {NULL, "/exact"}},
		{{"GET", "/img/a/b.png", ""}, {"GET", "/img/", ""}, {"GET", "/exact?x=1", ""}},
		{{"GET", "/IMG/a", ""}, {"GET", "/img", ""}, {"GET", "/exact/", ""}}},
	{PROXY_IF_PATH, NULL, {{NULL, "/*/v?/*.js"}, {NULL, NULL}},
		{{"GET", "/a/v1/x.js", ""}, {"GET", "/a/b/v1/v2/x.y.js", ""},
			{"GET", "/v3/v4/.js", ""}},
		{{"GET", "/a/v/x.js", ""}, {"GET", "/a/v1/x.jsx", ""}, {"GET", "/a/v1x.js", ""}}},
	/* Special characters of expressions are literal. */
	{PROXY_IF_PATH, NULL, {{NULL, "/a.b+(c)|[d]$"}, {NULL, "/{^}\\"}},
		{{"GET", "/a.b+(c)|[d]$", ""}, {"GET", "/{^}\\", ""}},
		{{"GET", "/axb+(c)|[d]$", ""}, {"GET", "/a.bb(c)|[d]", ""}}},
	{PROXY_IF_HOST, NULL, {{NULL, "*.Example.org"}, {NULL, "plain"}},
		{{"GET", "/", "Host: WWW.example.ORG\r\n"},
			{"GET", "/", "Host: a.b.example.org:80\r\n"},
			{"GET", "/", "Host: plain\r\n"}},
		{{"GET", "/", "Host: example.org\r\n"}, {"GET", "/", "Host: www.example.orgs\r\n"},
			{"GET", "/", "Host: wwwxexamplexorg\r\n"}}},
	{PROXY_IF_METHOD, NULL, {{NULL, "DELETE"}, {NULL, "PURGE"}},
		{{"DELETE", "/", ""}, {"PURGE", "/", ""}},
		{{"GET", "/", ""}, {"POST", "/DELETE", "Content-Length: 0\r\n"}}},
	{PROXY_IF_HEADER, "X-Tenant", {{NULL, "Gold*"}, {NULL, "?"}},
		{{"GET", "/", "x-tenant: GOLDEN\r\n"}, {"GET", "/", "Accept: b\r\nX-TENANT: s\r\n"},
			{"GET", "/", "X-Tenant: silver\r\nX-Tenant: gold\r\n"}},
		{{"GET", "/", ""}, {"GET", "/", "X-Tenant: a gold\r\n"},
			{"GET", "/x-tenant:gold", "X-Tenants: gold\r\nY: x-tenant: gold\r\n"}}},
	{PROXY_IF_QUERY, NULL, {{"version", "v1"}, {NULL, "exam*e"}},
		{{"GET", "/?version=v1", ""}, {"GET", "/?a=b&VERSION=V1&c", ""},
			{"GET", "/?x=Example", ""}},
		{{"GET", "/?version=v12", ""}, {"GET", "/?aversion=v1", ""},
			{"GET", "/version=v1", ""}}},
	{PROXY_IF_QUERY, NULL, {{"k*", "*"}, {NULL, NULL}},
		{{"GET", "/?k=", ""}, {"GET", "/?a=1&key=2", ""}},
		{{"GET", "/?a=k", ""}, {"GET", "/?k", ""}}},
	{PROXY_IF_SOURCE, NULL, {{NULL, "10.0.0.0/8"}, {NULL, "127.0.0.0/9"}},
		{{"GET", "/", ""}, {"GET", "/", "X-Forwarded-For: 192.0.2.1\r\n"}},
		{{NULL, NULL, NULL}}},
	{PROXY_IF_SOURCE, NULL, {{NULL, "127.128.0.0/9"}, {NULL, "::/0"}}, {{NULL, NULL, NULL}},
		{{"GET", "/", ""}, {"GET", "/", "X-Forwarded-For: 127.128.0.1\r\n"}}},
};

static void ask_all(struct rules *rules, const struct question *questions, char wanted)
{
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	int client = test_connect(rules->port);

	for (size_t i = 0; i < 3 && questions[i].method; i++) {
		http_ask(client, questions[i].method, questions[i].path, questions[i].fields,
			answer);
		if (answer->letter != wanted)
			fail_msg("%s %s %s: %d %c instead of %c", questions[i].method,
				questions[i].path, questions[i].fields, answer->status,
				answer->letter ? answer->letter : '-', wanted);
	}
	close(client);
	free(answer);
}

static void test_conditions(void **state)
{
	struct proxy_condition condition;
	struct rules rules;
	pid_t process;

	rules_open(&rules, *state);
	process = haproxy_process(rules.plane->driver);
	for (size_t i = 0; i < LENGTH(condition_cases); i++) {
		const struct condition_case *one = &condition_cases[i];

		condition = (struct proxy_condition){
			one->kind, one->name, one->values, one->values[1].value ? 2 : 1};
		rules.rules[0] = (struct proxy_rule){"one", &condition, 1, forward_to(&rules, 1)};
		rules.listener.http.rule_count = 1;
		rules_apply(&rules);
		ask_all(&rules, one->yes, 'B');
		ask_all(&rules, one->no, 'A');
	}
	/* None of these changes needs another process. */
	assert_int_equal(haproxy_process(rules.plane->driver), process);
}

static void test_all_conditions_and_the_first_rule(void **state)
{
	static const struct proxy_value path = {NULL, "/api/*"}, header = {NULL, "1"},
					query = {"v", "2"}, get = {NULL, "GET"},
					everything = {NULL, "*"};
	const struct proxy_condition both[] = {
		{PROXY_IF_HEADER, "x-a", &header, 1},
		{PROXY_IF_PATH, NULL, &path, 1},
		{PROXY_IF_HEADER, "x-b", &header, 1},
		{PROXY_IF_QUERY, NULL, &query, 1},
		{PROXY_IF_METHOD, NULL, &get, 1},
	};
	const struct proxy_condition any = {PROXY_IF_PATH, NULL, &everything, 1};
	static const struct question yes[3] = {{"GET", "/api/x?v=2", "X-A: 1\r\nX-B: 1\r\n"},
		{"GET", "/api/?w=1&v=2", "X-B: 1\r\nC: d\r\nX-A: 1\r\n"}};
	static const struct question no[3] = {{"GET", "/api/x?v=2", "X-A: 1\r\n"},
		{"GET", "/apis/?v=2", "X-A: 1\r\nX-B: 1\r\n"},
		{"PUT", "/api/?v=2", "X-A: 1\r\nX-B: 1\r\nContent-Length: 0\r\n"}};
	struct rules rules;

	rules_open(&rules, *state);
	rules.rules[0] = (struct proxy_rule){"first", both, LENGTH(both), forward_to(&rules, 1)};
	rules.rules[1] = (struct proxy_rule){"second", &any, 1, forward_to(&rules, 2)};
	rules.listener.http.rule_count = 2;
	rules_apply(&rules);
	ask_all(&rules, yes, 'B');
	ask_all(&rules, no, 'C');
	/* In the other order the second is first, always. */
	rules.rules[1] = rules.rules[0];
	rules.rules[0] = (struct proxy_rule){"second", &any, 1, forward_to(&rules, 2)};
	rules_apply(&rules);
	ask_all(&rules, yes, 'C');
	rules.listener.http.rule_count = 0;
	rules_apply(&rules);
	ask_all(&rules, yes, 'A');
}

/* ---- actions ---- */

static void test_redirects_and_fixed_answers(void **state)
{
	static const struct proxy_value paths[] = {
		{NULL, "/same*"}, {NULL, "/parts*"}, {NULL, "/gone"}, {NULL, "/empty"}};
	struct proxy_condition conditions[4];
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	char text[512], wanted[512];
	struct rules rules;
	int client;

	rules_open(&rules, *state);
	for (size_t i = 0; i < 4; i++) {
		conditions[i] = (struct proxy_condition){PROXY_IF_PATH, NULL, &paths[i], 1};
		rules.rules[i] = (struct proxy_rule){paths[i].value, &conditions[i], 1, {0}};
	}
	rules.rules[0].action =
		(struct proxy_action){.kind = PROXY_REDIRECT, .status = 301, .protocol = "HTTPS"};
	rules.rules[1].action = (struct proxy_action){.kind = PROXY_REDIRECT,
		.status = 302,
		.host = "new.#{host}",
		.port = "8443",
		.path = "/x/#{path}/#{protocol}-#{port}",
		.query = "q=1&#{query}"};
	rules.rules[2].action = (struct proxy_action){.kind = PROXY_FIXED,
		.status = 410,
		.content_type = "text/plain; charset=utf-8",
		.body = "It is gone: for good,\nreally."};
	rules.rules[3].action = (struct proxy_action){.kind = PROXY_FIXED, .status = 204};
	rules.listener.http.rule_count = 4;
	rules.listener.http.otherwise = (struct proxy_action){.kind = PROXY_FIXED, .status = 503};
	rules_apply(&rules);
	client = test_connect(rules.port);
	http_ask(client, "GET", "/same/a?b=c", "Host: example.org:99\r\n", answer);
	assert_int_equal(answer->status, 301);
	snprintf(wanted, sizeof(wanted), "https://example.org:%u/same/a?b=c", rules.port);
	assert_string_equal(http_field(answer, "location", text, sizeof(text)), wanted);
	http_ask(client, "GET", "/parts?z", "", answer);
	assert_int_equal(answer->status, 302);
	snprintf(wanted, sizeof(wanted), "http://new.test:8443/x/parts/http-%u?q=1&z", rules.port);
	assert_string_equal(http_field(answer, "location", text, sizeof(text)), wanted);
	http_ask(client, "GET", "/gone", "", answer);
	assert_int_equal(answer->status, 410);
	assert_string_equal(answer->body, "It is gone: for good,\nreally.");
	assert_string_equal(http_field(answer, "content-type", text, sizeof(text)),
		"text/plain; charset=utf-8");
	http_ask(client, "GET", "/empty", "", answer);
	assert_int_equal(answer->status, 204);
	http_ask(client, "GET", "/other", "", answer);
	assert_int_equal(answer->status, 503);
	assert_int_equal(answer->body_length, 0);
	/* All on one connection. */
	assert_false(answer->closes);
	close(client);
	free(answer);
}

/* ---- header fields for targets ---- */

static void test_targets_are_reported_of_the_client(void **state)
{
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	char text[512], port[16];
	struct rules rules;
	int client;

	rules_open(&rules, *state);
	client = test_connect(rules.port);
	snprintf(port, sizeof(port), "%u", rules.port);
	http_ask(client, "GET", "/echo", "Host: some.where:1\r\nX_y: 1\r\n", answer);
	assert_string_equal(http_field(answer, "x-forwarded-for", text, sizeof(text)), "127.0.0.1");
	assert_string_equal(http_field(answer, "x-forwarded-proto", text, sizeof(text)), "http");
	assert_string_equal(http_field(answer, "x-forwarded-port", text, sizeof(text)), port);
	assert_string_equal(http_field(answer, "host", text, sizeof(text)), "some.where:1");
	assert_string_equal(http_field(answer, "x_y", text, sizeof(text)), "1");
	http_ask(client, "GET", "/echo",
		"X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: gopher\r\n", answer);
	assert_string_equal(http_field(answer, "x-forwarded-for", text, sizeof(text)),
		"192.0.2.7, 127.0.0.1");
	assert_string_equal(http_field(answer, "x-forwarded-proto", text, sizeof(text)), "http");
	close(client);
	rules.listener.http.forwarded = PROXY_FORWARDED_REMOVE;
	rules.listener.http.drop_invalid_headers = true;
	rules.listener.http.rewrite_host = true;
	rules_apply(&rules);
	client = test_connect(rules.port);
	http_ask(client, "GET", "/echo",
		"X-Forwarded-For: 192.0.2.7\r\nX_y: 1\r\nHost: some.where\r\n", answer);
	assert_string_equal(http_field(answer, "x-forwarded-for", text, sizeof(text)), "");
	assert_string_equal(http_field(answer, "x_y", text, sizeof(text)), "");
	snprintf(port, sizeof(port), "where:%u", rules.port);
	assert_int_equal(answer->status, 200);
	assert_non_null(strstr(http_field(answer, "host", text, sizeof(text)), port));
	close(client);
	free(answer);
}

/* ---- stickiness ---- */

/* The cookie of the response, which the client sends next. */
static void take_cookie(const struct http_answer *answer, const char *name, char out[512])
{
	char mark[64];
	const char *at;

	snprintf(mark, sizeof(mark), "set-cookie: %s=", name);
	at = strcasestr(answer->text, mark);
	if (!at)
		fail_msg("no %s in %s", name, answer->text);
	at += strlen("set-cookie: ");
	snprintf(out, 512, "Cookie: other=1; %.*s\r\n", (int)strcspn(at, ";"), at);
}

static void test_clients_stay_with_their_group(void **state)
{
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	struct rules rules;
	char cookie[512], letter;
	int client;

	rules_open(&rules, *state);
	rules.listener.http.otherwise = (struct proxy_action){
		.kind = PROXY_FORWARD, .routes = rules.routes, .route_count = 2, .sticky_s = 100};
	rules_apply(&rules);
	client = test_connect(rules.port);
	http_ask(client, "GET", "/", "", answer);
	letter = answer->letter;
	assert_true(letter == 'A' || letter == 'B');
	take_cookie(answer, "AWSALBTG", cookie);
	for (int i = 0; i < 6; i++) {
		http_ask(client, "GET", "/", cookie, answer);
		assert_int_equal(answer->letter, letter);
	}
	/* Weights move the others only. */
	rules.routes[letter == 'A' ? 0 : 1].weight = 0;
	rules_apply(&rules);
	http_ask(client, "GET", "/", cookie, answer);
	assert_int_equal(answer->letter, letter);
	http_ask(client, "GET", "/", "", answer);
	assert_int_not_equal(answer->letter, letter);
	/* An expired cookie, and a forged one. */
	http_ask(client, "GET", "/", "Cookie: AWSALBTG=0123456789abcdef.9999999999\r\n", answer);
	assert_int_not_equal(answer->letter, letter);
	*strchr(cookie, '.') = 0;
	strcat(cookie, ".1000000000\r\n");
	http_ask(client, "GET", "/", cookie, answer);
	assert_int_not_equal(answer->letter, letter);
	close(client);
	free(answer);
}

static void test_clients_stay_with_their_target(void **state)
{
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	struct rules rules;
	char cookie[512], both[600], letter;
	unsigned seen = 0;
	int client;
	size_t at;

	rules_open(&rules, *state);
	rules.groups[0].target_count = 3;
	rules.groups[0].sticky = PROXY_STICKY_COOKIE;
	rules.groups[0].sticky_s = 100;
	rules_apply(&rules);
	client = test_connect(rules.port);
	http_ask(client, "GET", "/", "", answer);
	letter = answer->letter;
	at = (size_t)(letter - 'A');
	for (int i = 0; i < 6; i++) {
		take_cookie(answer, "AWSALB", cookie); /* a new one in every response */
		http_ask(client, "GET", "/", cookie, answer);
		assert_int_equal(answer->letter, letter);
	}
	/* The cookie of a draining target does not match: clients get another one, and its
	 * cookie. */
	rules.targets[at].state = PROXY_TARGET_DRAINING;
	rules_apply(&rules);
	for (int i = 0; i < 6; i++) {
		char other;

		http_ask(client, "GET", "/", cookie, answer);
		assert_int_equal(answer->status, 200);
		assert_int_not_equal(answer->letter, letter);
		other = answer->letter;
		take_cookie(answer, "AWSALB", both);
		http_ask(client, "GET", "/", both, answer);
		assert_int_equal(answer->letter, other);
	}
	/* A target that is active again is found by its cookie. */
	rules.targets[at].state = PROXY_TARGET_ACTIVE;
	rules_apply(&rules);
	http_ask(client, "GET", "/", cookie, answer);
	assert_int_equal(answer->letter, letter);
	rules.targets[at].state = PROXY_TARGET_DRAINING;
	rules_apply(&rules);
	for (int i = 0; i < 6; i++)
		assert_int_not_equal(http_get(client, "/"), letter);
	/* A target that is down gets no requests. */
	rules.targets[at].state = PROXY_TARGET_DOWN;
	rules_apply(&rules);
	http_ask(client, "GET", "/", cookie, answer);
	assert_int_equal(answer->status, 200);
	assert_int_not_equal(answer->letter, letter);
	/* By the application's cookie: set with it, found with it. */
	rules.targets[at].state = PROXY_TARGET_ACTIVE;
	rules.groups[0].sticky = PROXY_STICKY_APP_COOKIE;
	rules.groups[0].sticky_name = "SESSION";
	rules_apply(&rules);
	http_ask(client, "GET", "/", "", answer);
	assert_null(strcasestr(answer->text, "AWSALB"));
	http_ask(client, "GET", "/session", "", answer);
	letter = answer->letter;
	take_cookie(answer, "AWSALBAPP-0", cookie);
	snprintf(both, sizeof(both), "Cookie: SESSION=1; %s", strchr(cookie, ';') + 2);
	for (int i = 0; i < 6; i++) {
		http_ask(client, "GET", "/", both, answer);
		assert_int_equal(answer->letter, letter);
	}
	for (int i = 0; i < 3; i++) { /* without it, round robin */
		http_ask(client, "GET", "/", cookie, answer);
		seen |= 1u << (answer->letter - 'A');
	}
	assert_int_equal(seen, 7);
	close(client);
	free(answer);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, http_setup, http_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_conditions),
		WITH(test_all_conditions_and_the_first_rule),
		WITH(test_redirects_and_fixed_answers),
		WITH(test_targets_are_reported_of_the_client),
		WITH(test_clients_stay_with_their_group),
		WITH(test_clients_stay_with_their_target),
	};

	return cmocka_run_group_tests_name("proxy/haproxy_rule", tests, NULL, NULL);
}
