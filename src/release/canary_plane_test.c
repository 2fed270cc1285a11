/* The plane of a canary's proxy: shares, sides without endpoints, endpoints that left, frozen planes. */
#include "release/canary_plane.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/yaml.h"

#define SECOND INT64_C(1000000)

struct world {
	struct arena *arena;
	struct canary canary;
	struct canary_plane *plane;
	struct canary_slice slices[4];
	const struct canary_slice *list[4];
	size_t slice_count;
	struct canary_slice_endpoint endpoints[4][4];
	struct canary_slice_port ports[4];
	struct canary_plane_state state;
	int64_t now_us;
	bool frozen, has_http;
	struct canary_certificates *certificates;
};

static void read_canary(struct world *world, const char *yaml)
{
	struct json *object;
	struct err err;

	if (yaml_parse_kubernetes(span_of(yaml), 1, world->arena, &object, &err) < 0 ||
		canary_read(world->arena, object, &world->canary, &err) < 0)
		fail_msg("%s", err.message);
}

#define CANARY_WITH(port, status)                                                                  \
	"metadata: {namespace: test, name: web-abcde, uid: u, generation: 4}\n"                    \
	"spec:\n"                                                                                  \
	"  release: web\n"                                                                         \
	"  version: 1\n"                                                                           \
	"  drainSeconds: 10\n"                                                                     \
	"  services: [{service: web, ports: [" port "]}]\n"                                        \
	"status:\n"                                                                                \
	"  services:\n"                                                                            \
	"  - service: web\n"                                                                       \
	"    ports:\n"                                                                             \
	"    - {port: 80, transport: TCP, name: http, proxyPort: 8080, targetPort: 8000}\n"        \
	"    - {port: 53, transport: UDP, name: dns, proxyPort: 8081, targetPort: 53}\n" status

static int setup(void **state)
{
	struct world *world = memory_allocate(sizeof(*world));

	world->arena = arena_new(0);
	world->plane = canary_plane_new();
	world->now_us = SECOND;
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	canary_plane_free(world->plane);
	arena_free(world->arena);
	free(world);
	return 0;
}

/* A slice of one port with one endpoint for each character: 'r' ready, 'n' not. */
static void add_slice(struct world *world, const char *service, const char *port, bool udp,
	const char *network, const char *endpoints)
{
	size_t index = world->slice_count++;
	struct canary_slice *slice = &world->slices[index];

	world->ports[index] = (struct canary_slice_port){span_of(port), udp, 9000};
	*slice = (struct canary_slice){.service = span_of(service),
		.ports = &world->ports[index],
		.port_count = 1,
		.endpoints = world->endpoints[index]};
	for (; *endpoints; endpoints++) {
		struct span address =
			arena_format(world->arena, "%s.%zu", network, slice->endpoint_count + 1);

		world->endpoints[index][slice->endpoint_count++] =
			(struct canary_slice_endpoint){address, *endpoints == 'r'};
	}
	world->list[index] = slice;
}

static void update(struct world *world)
{
	const struct canary_plane_input input = {.canary = &world->canary,
		.slices = world->list,
		.slice_count = world->slice_count,
		.address = "127.0.0.1",
		.frozen = world->frozen,
		.has_http = world->has_http,
		.certificates = world->certificates,
		.now_us = world->now_us};
	struct err err;

	if (canary_plane_update(world->plane, &input, world->arena, &world->state, &err) < 0 ||
		proxy_state_check(&world->state.state, &err) < 0)
		fail_msg("%s", err.message);
}

static const struct proxy_group *group(const struct world *world, const char *name)
{
	for (size_t i = 0; i < world->state.state.group_count; i++)
		if (span_is(span_of(world->state.state.groups[i].name), name))
			return &world->state.state.groups[i];
	fail_msg("no group %s", name);
	return NULL;
}

static void assert_weights(const struct world *world, size_t listener, uint32_t stable,
	uint32_t canary)
{
	const struct proxy_route *routes = world->state.state.listeners[listener].routes;

	assert_int_equal(routes[CANARY_SIDE_STABLE].weight, stable);
	assert_int_equal(routes[CANARY_SIDE_CANARY].weight, canary);
}

static void add_usual_slices(struct world *world)
{
	add_slice(world, "web-forked", "http", false, "10.0.0", "rr");
	add_slice(world, "web-canary", "http", false, "10.0.1", "r");
	add_slice(world, "web-forked", "dns", true, "10.0.0", "r");
}

static void test_shares(void **state)
{
	struct world *world = *state;

	add_usual_slices(world);
	read_canary(world, CANARY_WITH("{port: 80, config: {weight: 30}}", ""));
	update(world);
	assert_int_equal(world->state.state.listener_count, 2);
	assert_weights(world, 0, 700, 300);
	/* 53/UDP is not listed: wholly stable. */
	assert_weights(world, 1, 1000, 0);
	assert_int_equal(world->state.state.listeners[1].protocol, PROXY_UDP);
	assert_int_equal(proxy_address_port(&world->state.state.listeners[0].address), 8080);
	assert_int_equal(group(world, "web:80/TCP#stable")->target_count, 2);
	assert_int_equal(group(world, "web:80/TCP#canary")->target_count, 1);

	read_canary(world, CANARY_WITH("{port: 80, config: {weightPermille: 1}}", ""));
	update(world);
	assert_weights(world, 0, 999, 1);
	read_canary(world, CANARY_WITH("{port: 80}", ""));
	update(world);
	assert_weights(world, 0, 1000, 0);
}

/* 53/TCP does not stand for 53/UDP. */
static void test_transports(void **state)
{
	struct world *world = *state;

	add_usual_slices(world);
	add_slice(world, "web-canary", "dns", true, "10.0.1", "r");
	read_canary(world, CANARY_WITH("{port: 53, protocol: TCP, config: {weight: 50}}", ""));
	update(world);
	assert_weights(world, 1, 1000, 0);
	read_canary(world, CANARY_WITH("{port: 53, protocol: UDP, config: {weight: 50}}", ""));
	update(world);
	assert_weights(world, 1, 500, 500);
	read_canary(world, CANARY_WITH("{port: 53, config: {weight: 50}}", ""));
	update(world);
	assert_weights(world, 1, 500, 500);
}

static void test_steps_decide(void **state)
{
	struct world *world = *state;

	add_usual_slices(world);
	read_canary(world, CANARY_WITH("{port: 80, config: {weight: 30}}", "  step: A1\n"));
	update(world);
	assert_weights(world, 0, 0, 1000);
	read_canary(world, CANARY_WITH("{port: 80, config: {weight: 30}}", "  step: D2\n"));
	update(world);
	assert_weights(world, 0, 1000, 0);
}

/* scenario 30: the other side takes the share. */
static void test_side_without_endpoints(void **state)
{
	struct world *world = *state;

	add_slice(world, "web-forked", "http", false, "10.0.0", "r");
	add_slice(world, "web-canary", "http", false, "10.0.1", "n");
	read_canary(world, CANARY_WITH("{port: 80, config: {weight: 30}}", ""));
	update(world);
	assert_weights(world, 0, 1000, 0);
	assert_int_equal(world->state.ports[0].share, 300);
	assert_int_equal(world->state.ports[0].effective, 0);
	world->slice_count = 0;
	add_slice(world, "web-forked", "http", false, "10.0.0", "n");
	add_slice(world, "web-canary", "http", false, "10.0.1", "r");
	update(world);
	assert_weights(world, 0, 0, 1000);
	world->slice_count = 0;
	add_slice(world, "web-forked", "http", false, "10.0.0", "");
	add_slice(world, "web-canary", "http", false, "10.0.1", "");
	update(world);
	assert_weights(world, 0, 700, 300);
}

/* scenario 53: a copy that was deleted by hand is created again; meanwhile its targets stay. */
static void test_copy_is_deleted(void **state)
{
	struct world *world = *state;

	add_slice(world, "web-forked", "http", false, "10.0.0", "r");
	add_slice(world, "web-canary", "http", false, "10.0.1", "r");
	read_canary(world, CANARY_WITH("{port: 80, config: {weight: 30}}", ""));
	update(world);
	world->slice_count = 0;
	world->now_us = 100 * SECOND;
	update(world);
	assert_weights(world, 0, 700, 300);
	assert_int_equal(group(world, "web:80/TCP#stable")->targets[0].state, PROXY_TARGET_ACTIVE);
}

/* Not ready: no new connections. Gone: its connections have drainSeconds. */
static void test_endpoints_leave(void **state)
{
	struct world *world = *state;
	const struct proxy_group *stable;

	add_slice(world, "web-forked", "http", false, "10.0.0", "rn");
	read_canary(world, CANARY_WITH("{port: 80}", ""));
	update(world);
	stable = group(world, "web:80/TCP#stable");
	assert_int_equal(stable->targets[0].state, PROXY_TARGET_ACTIVE);
	assert_int_equal(stable->targets[1].state, PROXY_TARGET_DRAINING);
	assert_int_equal(world->state.next_us, 0);

	world->slice_count = 0;
	add_slice(world, "web-forked", "http", false, "10.0.0", "r");
	update(world);
	assert_int_equal(group(world, "web:80/TCP#stable")->target_count, 2);
	assert_int_equal(world->state.next_us, 11 * SECOND);
	world->now_us = 11 * SECOND;
	update(world);
	assert_int_equal(group(world, "web:80/TCP#stable")->target_count, 1);
	assert_int_equal(world->state.next_us, 0);
}

static void test_frozen(void **state)
{
	struct world *world = *state;

	add_usual_slices(world);
	read_canary(world, CANARY_WITH("{port: 80, config: {weight: 30}}", ""));
	update(world);
	world->slice_count = 0;
	world->frozen = true;
	world->now_us = 100 * SECOND;
	read_canary(world, CANARY_WITH("{port: 80, config: {weight: 30}}", "  step: A5\n"));
	update(world);
	assert_int_equal(group(world, "web:80/TCP#stable")->target_count, 2);
	assert_int_equal(group(world, "web:80/TCP#stable")->targets[0].state, PROXY_TARGET_ACTIVE);
	assert_weights(world, 0, 0, 1000);
}

static const struct proxy_listener *listener(const struct world *world, size_t index)
{
	return &world->state.state.listeners[index];
}

/* Requests with the field go to the canary, those of HTTP/2 to its targets that speak HTTP/2. */
static void test_http(void **state)
{
	struct world *world = *state;
	const struct proxy_http *http;

	world->has_http = true;
	add_usual_slices(world);
	read_canary(world, CANARY_WITH("{port: 80, protocol: HTTP, config: {weight: 30, match: "
				       "[{header: X-Canary, value: always}]}}",
				   ""));
	update(world);
	http = &listener(world, 0)->http;
	assert_int_equal(listener(world, 0)->protocol, PROXY_HTTP);
	assert_int_equal(http->rule_count, 3);
	assert_int_equal(http->rules[0].condition_count, 2);
	assert_string_equal(http->rules[0].action.routes[1].group, "web:80/TCP#canary-http2");
	assert_int_equal(http->rules[0].action.routes[1].weight, 1000);
	assert_string_equal(http->rules[1].conditions[0].name, "X-Canary");
	assert_string_equal(http->rules[1].action.routes[1].group, "web:80/TCP#canary");
	assert_int_equal(http->rules[1].action.routes[0].weight, 0);
	assert_int_equal(http->rules[2].conditions[0].kind, PROXY_IF_VERSION);
	assert_int_equal(http->rules[2].action.routes[1].weight, 300);
	assert_true(group(world, "web:80/TCP#stable-http2")->http2);
	assert_false(group(world, "web:80/TCP#stable")->http2);

	/* A canary that ends has no requests of its own. */
	read_canary(world, CANARY_WITH("{port: 80, protocol: HTTP, config: {weight: 30, match: "
				       "[{header: X-Canary, value: always}]}}",
				   "  step: D2\n"));
	update(world);
	assert_int_equal(listener(world, 0)->http.rule_count, 1);
	assert_int_equal(listener(world, 0)->http.rules[0].action.routes[1].weight, 0);
}

static void test_options(void **state)
{
	struct world *world = *state;

	add_usual_slices(world);
	read_canary(world,
		CANARY_WITH("{port: 53, protocol: UDP, config: {responses: 1, "
			    "idleTimeoutSeconds: 7}}, {port: 80, config: {proxyProtocol: true}}",
			""));
	update(world);
	assert_true(listener(world, 0)->options.proxy_v2);
	read_canary(world,
		CANARY_WITH("{port: 53, protocol: UDP, config: {responses: 1, "
			    "idleTimeoutSeconds: 7}}, {port: 80, config: {proxyProtocol: true}}",
			"  step: A1\n"));
	update(world);
	/* Pods expect it to the end. */
	assert_true(listener(world, 0)->options.proxy_v2);
	assert_int_equal(listener(world, 1)->options.udp_mode, PROXY_UDP_DATAGRAM);
	assert_int_equal(listener(world, 1)->options.udp_idle_timeout_ms, 7000);
}

/* scenario 25: a port without its certificate is not served; the others are. */
static void test_missing_certificate(void **state)
{
	struct world *world = *state;
	const struct json *report;

	world->has_http = true;
	world->certificates = canary_certificates_new("/nonexistent");
	add_usual_slices(world);
	read_canary(world, CANARY_WITH("{port: 80, protocol: HTTPS, tls: {secretName: web}}", ""));
	assert_true(canary_certificates_read(world->certificates, &world->canary));
	update(world);
	assert_int_equal(world->state.state.listener_count, 1);
	assert_string_equal(listener(world, 0)->name, "web:53/UDP");
	report = canary_plane_report(world->arena, &world->state, NULL, 4);
	assert_int_equal(json_array_count(json_get(report, "ports")), 1);
	assert_true(span_is(json_get_text(report, "badCertificate"),
		"Service port web:80/TCP: Secret 'web': tls.crt not found"));
	canary_certificates_free(world->certificates);
	world->certificates = NULL;
}

static void test_metrics(void **state)
{
	struct world *world = *state;
	struct proxy_group_report groups[] = {
		{.name = "web:80/TCP#canary",
			.counters = {.connections = 3,
				.responses = {0, 2, 0, 0, 1},
				.response_ms = 15}},
		{.name = "web:80/TCP#canary-http2",
			.counters = {.connections = 4, .responses = {0, 4}}},
		{.name = "web:53/UDP#stable", .counters = {.connections = 5}},
	};
	const struct proxy_report report = {.groups = groups, .group_count = LENGTH(groups)};
	_buffer_ struct buffer out = {0};

	add_usual_slices(world);
	read_canary(world, CANARY_WITH("{port: 80, config: {weight: 30}}", ""));
	update(world);
	canary_plane_write_weights(&world->state, &out);
	canary_plane_write_counters(&report, &out);
	assert_non_null(strstr(out.data,
		"slipway_canary_effective_weight_permille{port=\"web:80/TCP\"} 300\n"));
	assert_non_null(strstr(out.data,
		"slipway_canary_connections_total{port=\"web:80/TCP\",side=\"canary\"} 7\n"
		"slipway_canary_connections_total{port=\"web:53/UDP\",side=\"stable\"} 5\n"));
	assert_non_null(strstr(out.data, "slipway_canary_responses_total{port=\"web:80/"
					 "TCP\",side=\"canary\",code=\"2xx\"} 6\n"));
	assert_non_null(strstr(out.data,
		"slipway_canary_response_seconds{port=\"web:80/TCP\",side=\"canary\"} 0.015\n"));
}

static void test_report(void **state)
{
	struct world *world = *state;
	const struct json *report, *port;

	add_usual_slices(world);
	read_canary(world, CANARY_WITH("{port: 80, config: {weight: 30}}", ""));
	update(world);
	report = canary_plane_report(world->arena, &world->state, NULL, 4);
	assert_int_equal(json_get_integer(report, "observedGeneration", 0), 4);
	assert_int_equal(json_array_count(json_get(report, "ports")), 2);
	port = json_item(json_get(report, "ports"), 0);
	assert_int_equal(json_get_integer(port, "effectivePermille", 0), 300);
	assert_int_equal(json_get_integer(json_get(port, "stable"), "ready", 0), 2);
}

static void test_refused(void **state)
{
	static const struct {
		const char *yaml, *message;
	} rows[] = {
		{"metadata: {name: a}\nspec: {release: web, services: [{service: web, ports: "
		 "[{port: "
		 "80, config: {weight: 101}}]}]}",
			"CanaryRelease a: spec.services[0]: ports[0]: config.weight must be an "
			"integer "
			"from 0 to 100"},
		{"metadata: {name: a}\nspec: {release: web, services: [{service: web, ports: "
		 "[{port: "
		 "80, config: {weight: 1, weightPermille: 1}}]}]}",
			"CanaryRelease a: spec.services[0]: ports[0]: config: weight and "
			"weightPermille exclude each other"},
		{"metadata: {name: a}\nspec: {release: web, services: [{service: web, ports: "
		 "[{port: "
		 "0}]}]}",
			"CanaryRelease a: spec.services[0]: ports[0]: port must be a number from 1 "
			"to "
			"65535"},
		{"metadata: {name: a}\nspec: {release: web, services: [{service: web}, {service: "
		 "web}]}",
			"CanaryRelease a: spec.services[1]: web is repeated"},
		{"metadata: {name: a}\nspec: {release: web, services: [{service: web, ports: "
		 "[{port: 80, config: {match: [{header: a, value: b}]}}]}]}",
			"CanaryRelease a: spec.services[0]: ports[0]: config.match needs protocol "
			"HTTP, or HTTPS with tls.secretName"},
		{"metadata: {name: a}\nspec: {release: web, services: [{service: web, ports: "
		 "[{port: 80, tls: {secretName: b}}]}]}",
			"CanaryRelease a: spec.services[0]: ports[0]: tls needs protocol HTTPS"},
		{"metadata: {name: a}\nspec: {release: web, services: [{service: web, ports: "
		 "[{port: 80, config: {responses: 1}}]}]}",
			"CanaryRelease a: spec.services[0]: ports[0]: config.responses and "
			"config.idleTimeoutSeconds need protocol UDP"},
		{"metadata: {name: a}\nspec: {release: web, transition: Adopt}",
			"CanaryRelease a: spec.transition must be \"\", \"Adopted\" or "
			"\"Deprecated\""},
	};
	struct world *world = *state;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct json *object;
		struct err err;

		assert_int_equal(yaml_parse_kubernetes(span_of(rows[i].yaml), 1, world->arena,
					 &object, &err),
			0);
		assert_int_equal(canary_read(world->arena, object, &world->canary, &err), -EINVAL);
		assert_string_equal(err.message, rows[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shares, setup, teardown),
		cmocka_unit_test_setup_teardown(test_transports, setup, teardown),
		cmocka_unit_test_setup_teardown(test_steps_decide, setup, teardown),
		cmocka_unit_test_setup_teardown(test_side_without_endpoints, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copy_is_deleted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_endpoints_leave, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frozen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_http, setup, teardown),
		cmocka_unit_test_setup_teardown(test_options, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing_certificate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_metrics, setup, teardown),
		cmocka_unit_test_setup_teardown(test_report, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
