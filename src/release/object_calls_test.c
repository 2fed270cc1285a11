/* Reads and writes of objects of any kind: owners are compared first, and nothing is written without the lease. */
#include "kube/test_server.h"
#include "release/object_calls.h"

#define CORE                                                                                       \
	STEP("GET /api/v1 HTTP", 200,                                                              \
		"{\"resources\":[{\"name\":\"configmaps\",\"kind\":\"ConfigMap\","                 \
		"\"namespaced\":true}]}")
#define MINE "/api/v1/namespaces/shop/configmaps/settings"
#define OWNED_BY(uid)                                                                              \
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"settings\","       \
	"\"uid\":\"u7\",\"ownerReferences\":[{\"uid\":\"" uid "\"}]}}"
#define NOT_FOUND "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}"
#define OBJECT                                                                                     \
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"settings\"},"      \
	"\"data\":{\"a\":\"1\"}}"

static struct object_calls calls_of(const struct test_world *world)
{
	return (struct object_calls){.client = world->client, .field_manager = "slipway-release"};
}

static struct json *parse(struct test_world *world, const char *text)
{
	struct json *value = NULL;

	assert_int_equal(json_parse(span_of(text), world->arena, &value, NULL), 0);
	return value;
}

static void test_apply_new(void **state)
{
	static const struct test_step steps[] = {
		CORE,
		STEP("GET " MINE " HTTP", 404, NOT_FOUND),
		STEP("PATCH " MINE "?fieldManager=slipway-release&force=true HTTP", 200, "{}",
			.sent = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
				"\"name\":\"settings\"},\"data\":{\"a\":\"1\"}}"),
	};
	struct test_world world;
	struct object_calls calls;
	struct json *answer;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	calls = calls_of(&world);
	assert_int_equal(object_apply_owned(&calls, parse(&world, OBJECT), SPAN("shop"), SPAN("u1"),
				 world.arena, &answer, NULL),
		0);
	test_world_end(&world);
}

/* Kubernetes 1.20 does not know the default of a port's protocol when it applies. */
static void test_apply_ports(void **state)
{
	static const struct test_step steps[] = {
		STEP("GET /api/v1 HTTP", 200,
			"{\"resources\":[{\"name\":\"services\",\"kind\":\"Service\","
			"\"namespaced\":true}]}"),
		STEP("PATCH /api/v1/namespaces/shop/services/web?", 200, "{}",
			.sent = "\"ports\":[{\"port\":80,\"protocol\":\"TCP\"},{\"port\":53,"
				"\"protocol\":\"UDP\"}]"),
	};
	struct test_world world;
	struct object_calls calls;
	struct json *answer;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	calls = calls_of(&world);
	assert_int_equal(
		object_apply(&calls,
			parse(&world, "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{"
				      "\"name\":\"web\"},\"spec\":{\"ports\":[{\"port\":80},{"
				      "\"port\":53,\"protocol\":\"UDP\"}]}}"),
			SPAN("shop"), world.arena, &answer, NULL),
		0);
	test_world_end(&world);
}

static void test_apply_secret(void **state)
{
	static const struct test_step steps[] = {
		STEP("GET /api/v1 HTTP", 200,
			"{\"resources\":[{\"name\":\"secrets\",\"kind\":\"Secret\","
			"\"namespaced\":true}]}"),
		STEP("PATCH /api/v1/namespaces/shop/secrets/key?", 200, "{}",
			.sent = "\"data\":{\"a\":\"eA==\",\"b\":\"aGVsbG8=\",\"c\":\"\"}}"),
	};
	struct test_world world;
	struct object_calls calls;
	struct json *answer;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	calls = calls_of(&world);
	assert_int_equal(
		object_apply(&calls,
			parse(&world, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{"
				      "\"name\":\"key\"},\"data\":{\"a\":\"eA==\",\"b\":\"eQ==\"},"
				      "\"stringData\":{\"b\":\"hello\",\"c\":\"\"}}"),
			SPAN("shop"), world.arena, &answer, NULL),
		0);
	test_world_end(&world);
}

static void test_apply_own(void **state)
{
	static const struct test_step steps[] = {
		CORE,
		STEP("GET " MINE " HTTP", 200, OWNED_BY("u1")),
		STEP("PATCH " MINE "?", 200, "{}", .sent = "\"uid\":\"u7\""),
	};
	struct test_world world;
	struct object_calls calls;
	struct json *answer;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	calls = calls_of(&world);
	assert_int_equal(object_apply_owned(&calls, parse(&world, OBJECT), SPAN("shop"), SPAN("u1"),
				 world.arena, &answer, NULL),
		0);
	test_world_end(&world);
}

static void test_apply_foreign(void **state)
{
	static const struct test_step steps[] = {
		CORE,
		STEP("GET " MINE " HTTP", 200, OWNED_BY("u2")),
	};
	struct test_world world;
	struct object_calls calls;
	struct json *answer;
	struct err err;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	calls = calls_of(&world);
	assert_int_equal(object_apply_owned(&calls, parse(&world, OBJECT), SPAN("shop"), SPAN("u1"),
				 world.arena, &answer, &err),
		-EPERM);
	assert_string_equal(err.message, "ConfigMap 'settings' exists and belongs to others");
	test_world_end(&world);
}

static void test_update_needs_version(void **state)
{
	struct test_world world;
	struct object_calls calls;
	struct json *answer;

	(void)state;
	test_world_begin(&world, NULL, 0);
	calls = calls_of(&world);
	assert_int_equal(object_update(&calls, parse(&world, OBJECT), world.arena, &answer, NULL),
		-EINVAL);
	test_world_end(&world);
}

static void test_delete(void **state)
{
	static const struct test_step steps[] = {
		CORE,
		STEP("DELETE " MINE " HTTP", 200, "{}",
			.sent = "\"propagationPolicy\":\"Background\",\"preconditions\":{"
				"\"uid\":\"u7\"}"),
		STEP("DELETE " MINE " HTTP", 404, NOT_FOUND),
	};
	struct test_world world;
	struct object_calls calls;
	struct object_id id = {SPAN("v1"), SPAN("ConfigMap"), SPAN("settings"), SPAN("shop")};

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	calls = calls_of(&world);
	assert_int_equal(object_delete(&calls, &id, SPAN("u7"), NULL), 0);
	assert_int_equal(object_delete(&calls, &id, SPAN_NONE, NULL), 0);
	test_world_end(&world);
}

static void wait_for_step(struct test_server *server, size_t step)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += TEST_PATIENCE_S;
	pthread_mutex_lock(&server->lock);
	while (server->step < step)
		assert_int_equal(pthread_cond_timedwait(&server->changed, &server->lock, &deadline),
			0);
	pthread_mutex_unlock(&server->lock);
}

/* The lease cannot be acquired: the server never answers for it. */
static void test_no_write_without_lease(void **state)
{
	static const struct test_step steps[] = {
		CORE,
		STEP("GET " MINE " HTTP", 200, OWNED_BY("u1")),
		STEP("GET /apis/coordination.k8s.io/v1 HTTP", 200, "", .then = TEST_HANG),
	};
	struct test_world world;
	struct object_calls calls;
	struct object_id id = {SPAN("v1"), SPAN("ConfigMap"), SPAN("settings"), SPAN("shop")};
	struct kube_lease_config config = {.namespace = SPAN("slipway"),
		.name = SPAN("release"),
		.identity = SPAN("me"),
		.duration_s = 1};
	struct json *answer;
	struct err err;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	calls = calls_of(&world);
	assert_int_equal(object_get(&calls, &id, world.arena, &answer, NULL), 0);
	config.client = world.client;
	config.runner = world.runner;
	assert_int_equal(kube_lease_start(&config, &calls.lease, NULL), 0);
	assert_int_equal(object_delete(&calls, &id, SPAN_NONE, &err), -ECANCELED);
	assert_string_equal(err.message, "the lease is not held");
	assert_int_equal(object_merge(&calls, &id, "status", parse(&world, "{}"), world.arena,
				 &answer, NULL),
		-ECANCELED);
	wait_for_step(world.server, LENGTH(steps));
	kube_client_cancel(world.client);
	kube_lease_stop(calls.lease);
	test_world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apply_new),
		cmocka_unit_test(test_apply_ports),
		cmocka_unit_test(test_apply_secret),
		cmocka_unit_test(test_apply_own),
		cmocka_unit_test(test_apply_foreign),
		cmocka_unit_test(test_update_needs_version),
		cmocka_unit_test(test_delete),
		cmocka_unit_test(test_no_write_without_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
