/* Calls: paths, refusals as codes, patience, credentials renewed, discovery, what is sent. */
#include "kube/client.h"

#include <poll.h>

#include "kube/pod.h"
#include "kube/request.h"
#include "kube/test_server.h"

/* ---- paths ---- */

static const struct {
	const struct kube_kind *kind;
	const char *namespace, *name, *subresource;
	const char *path; /* NULL: refused */
} paths[] = {
	{&kube_pods, "a", "b", NULL, "/api/v1/namespaces/a/pods/b"},
	{&kube_pods, "a", NULL, NULL, "/api/v1/namespaces/a/pods"},
	{&kube_pods, NULL, NULL, NULL, "/api/v1/pods"},
	{&kube_pods, "a", "b", "status", "/api/v1/namespaces/a/pods/b/status"},
	{&kube_nodes, NULL, "n.example", NULL, "/api/v1/nodes/n.example"},
	{&kube_deployments, "a", "b", "scale", "/apis/apps/v1/namespaces/a/deployments/b/scale"},
	{&kube_pods, NULL, "b", NULL, NULL},
	{&kube_nodes, "a", "b", NULL, NULL},
	{&kube_pods, "a", NULL, "status", NULL},
	{&kube_pods, "a", "../secrets/x", NULL, NULL},
	{&kube_pods, "a", "..", NULL, NULL},
	{&kube_pods, "a", "b?watch=1", NULL, NULL},
	{&kube_pods, "a", "b c", NULL, NULL},
	{&kube_pods, "a", "b%2fc", NULL, NULL},
	{&kube_pods, "", "b", NULL, NULL},
	{&kube_pods, "a/b", "c", NULL, NULL},
	{&kube_pods, "a", "b", "x/y", NULL},
};

static void test_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(paths); i++) {
		_buffer_ struct buffer out = BUFFER_WITH_CAP(KUBE_PATH_MAX);
		struct kube_resource resource = {
			.kind = paths[i].kind, .namespaced = paths[i].kind->namespaced};
		struct kube_target target = {paths[i].kind, span_of(paths[i].namespace),
			span_of(paths[i].name), paths[i].subresource};
		struct err err = {0};
		int code;

		snprintf(resource.path, sizeof(resource.path), "%s",
			paths[i].kind == &kube_deployments ? "/apis/apps/v1" : "/api/v1");
		code = kube_path_write(&resource, &target, &out, &err);
		if ((code == 0) != (paths[i].path != NULL) ||
			(code == 0 && !span_is(buffer_span(&out), paths[i].path)))
			fail_msg("row %zu: %d %s %s", i, code, out.data ? out.data : "",
				err.message);
		if (code < 0)
			assert_int_equal(code, -EINVAL);
	}
}

static void test_queries(void **state)
{
	_buffer_ struct buffer path = BUFFER_WITH_CAP(KUBE_PATH_MAX), longer = {0};
	struct kube_selection selection = {"app in (a,b),c!=d", "spec.nodeName=x y"};

	(void)state;
	buffer_add_string(&path, "/x");
	kube_query_add_selection(&path, &selection);
	kube_query_add(&path, "none", SPAN_NONE);
	kube_query_add_integer(&path, "limit", -5);
	assert_string_equal(path.data, "/x?labelSelector=app%20in%20%28a%2Cb%29%2Cc%21%3Dd&"
				       "fieldSelector=spec.nodeName%3Dx%20y&"
				       "limit=-5");
	assert_int_equal(kube_path_check(&path, NULL), 0);
	for (int i = 0; i < KUBE_PATH_MAX; i++)
		buffer_add_char(&longer, 'x');
	kube_query_add(&path, "long", buffer_span(&longer));
	assert_int_equal(kube_path_check(&path, NULL), -EINVAL);
}

/* ---- refusals ---- */

#define STATUS(code, reason)                                                                       \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"because\",\"reason\":\"" reason \
	"\",\"code\":" #code "}"

static const struct {
	int status;
	const char *body;
	int code;
	const char *message;
} refusals[] = {
	{400, STATUS(400, "BadRequest"), -EINVAL, "what: because"},
	{401, STATUS(401, "Unauthorized"), -EACCES, "what: because"},
	{403, STATUS(403, "Forbidden"), -EACCES, "what: because"},
	{404, STATUS(404, "NotFound"), -ENOENT, "what: because"},
	{405, STATUS(405, "MethodNotAllowed"), -EOPNOTSUPP, "what: because"},
	{406, "", -EOPNOTSUPP, "what: HTTP 406"},
	{409, STATUS(409, "AlreadyExists"), -EEXIST, "what: because"},
	{409, STATUS(409, "Conflict"), -EAGAIN, "what: because"},
	{409, "", -EAGAIN, "what: HTTP 409"},
	{410, STATUS(410, "Expired"), -ESTALE, "what: because"},
	{413, "", -EFBIG, "what: HTTP 413"},
	{415, "", -EOPNOTSUPP, "what: HTTP 415"},
	{422, STATUS(422, "Invalid"), -EINVAL, "what: because"},
	{429, STATUS(429, "TooManyRequests"), -EBUSY, "what: because"},
	{500, STATUS(500, "InternalError"), -EIO, "what: because"},
	{502, "<html>\nBad \x01 Gateway</html>\n", -EIO,
		"what: HTTP 502: <html> Bad   Gateway</html>"},
	{503, "", -EIO, "what: HTTP 503"},
	{504, STATUS(504, "Timeout"), -ETIMEDOUT, "what: because"},
	{302, "", -EIO, "what: HTTP 302"},
	{404, "404 page not found\n", -ENOENT, "what: HTTP 404: 404 page not found"},
	{404, "{\"kind\":\"Status\"}", -ENOENT, "what: refused (404)"},
	{404, "{\"kind\":\"Status\",\"code\":\"x\",\"reason\":\"NotFound\",\"details\":5}", -ENOENT,
		"what: NotFound"},
	/* HTTP's own code counts. */
	{503, STATUS(404, "NotFound"), -EIO, "what: because"},
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(refusals); i++) {
		struct kube_failure failure;
		struct err err;
		int code = kube_status_read(refusals[i].status, span_of(refusals[i].body), 0,
			"what", &failure, &err);

		if (code != refusals[i].code || failure.status != refusals[i].status ||
			strcmp(err.message, refusals[i].message) != 0)
			fail_msg("row %zu: %d %d %s", i, code, failure.status, err.message);
	}
}

static void test_refusal_details(void **state)
{
	struct kube_failure failure;

	(void)state;
	kube_status_read(429,
		SPAN("{\"kind\":\"Status\",\"reason\":\"TooManyRequests\",\"details\":{\"causes\":["
		     "{"
		     "\"reason\":\"DisruptionBudget\"}],\"retryAfterSeconds\":10}}"),
		0, "what", &failure, NULL);
	assert_string_equal(failure.reason, "TooManyRequests");
	assert_string_equal(failure.cause, "DisruptionBudget");
	assert_int_equal(failure.retry_after_ms, 10000);
	kube_status_read(429,
		SPAN("{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":99999}}"), 0, "what",
		&failure, NULL);
	assert_int_equal(failure.retry_after_ms, KUBE_RETRY_AFTER_MAX_MS);
	kube_status_read(503, SPAN(""), 7, "what", &failure, NULL);
	assert_int_equal(failure.retry_after_ms, 7000);
}

/* ---- requests ---- */

#define POD_PATH "/api/v1/namespaces/default/pods/p"

static const struct kube_target pod = {&kube_pods, SPAN_NONE, SPAN_NONE, NULL};

static struct kube_target pod_p(void)
{
	struct kube_target target = pod;

	target.namespace = SPAN("default");
	target.name = SPAN("p");
	return target;
}

static void test_what_is_sent(void **state)
{
	static const struct test_step steps[] = {
		STEP("GET " POD_PATH " HTTP", 200, "{\"a\":1}",
			.has = "Authorization: Bearer secret\r\n"),
		STEP("POST /api/v1/namespaces/default/pods?fieldManager=slipway HTTP", 201, "{}",
			.sent = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
				"\"p\"}}"),
		STEP("PUT " POD_PATH "/status?fieldManager=slipway&dryRun=All HTTP", 200, "{}"),
		STEP("PATCH " POD_PATH "?fieldManager=slipway HTTP", 200, "{}",
			.has = "Content-Type: application/merge-patch+json\r\n"),
		STEP("PATCH " POD_PATH "?fieldManager=slipway HTTP", 200, "{}",
			.has = "Content-Type: application/json-patch+json\r\n"),
		STEP("PATCH " POD_PATH "?fieldManager=slipway&force=true HTTP", 200, "{}",
			.has = "Content-Type: application/apply-patch+yaml\r\n"),
		STEP("DELETE " POD_PATH " HTTP", 200, "{}",
			.sent = "{\"propagationPolicy\":\"Foreground\",\"gracePeriodSeconds\":0,"
				"\"preconditions\":{\"uid\":\"u-1\"},\"apiVersion\":\"v1\","
				"\"kind\":"
				"\"DeleteOptions\"}"),
		STEP("PATCH " POD_PATH "/scale?", 200, "{}", .sent = "{\"spec\":{\"replicas\":3}}"),
		STEP("GET /readyz?verbose HTTP", 200, "ok"),
	};
	struct test_world world;
	struct kube_target target = pod_p(), status = pod_p();
	struct kube_options dry = {.dry_run = true};
	struct kube_deletion deletion = {.propagation = KUBE_PROPAGATION_FOREGROUND,
		.has_grace_period = true,
		.uid = SPAN("u-1")};
	struct json *body, *answer;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	status.subresource = "status";
	json_parse(SPAN("{\"metadata\":{\"name\":\"p\"}}"), world.arena, &body, NULL);
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, NULL), 0);
	assert_int_equal(json_get_integer(answer, "a", 0), 1);
	assert_int_equal(kube_create(world.client, &target, body, NULL, world.arena, &answer, NULL),
		0);
	assert_int_equal(kube_update(world.client, &status, body, &dry, world.arena, &answer, NULL),
		0);
	assert_int_equal(kube_patch(world.client, &target, KUBE_PATCH_MERGE, body, NULL,
				 world.arena, &answer, NULL),
		0);
	assert_int_equal(kube_patch(world.client, &target, KUBE_PATCH_JSON, body, NULL, world.arena,
				 &answer, NULL),
		0);
	assert_int_equal(kube_apply(world.client, &target, body, true, NULL, world.arena, &answer,
				 NULL),
		0);
	assert_int_equal(kube_delete(world.client, &target, &deletion, NULL, NULL), 0);
	assert_int_equal(kube_scale(world.client, &target, 3, NULL, NULL), 0);
	assert_int_equal(kube_raw(world.client, "GET", "/readyz?verbose", NULL, NULL, world.arena,
				 &answer, NULL),
		0);
	assert_true(span_is(json_text(answer), "ok"));
	/* Nothing of these is sent at all. */
	target.name = SPAN_NONE;
	assert_int_equal(kube_delete(world.client, &target, NULL, NULL, NULL), -EINVAL);
	target.namespace = SPAN_NONE;
	assert_int_equal(kube_create(world.client, &target, body, NULL, world.arena, &answer, NULL),
		-EINVAL);
	test_world_end(&world);
}

/* ---- patience ---- */

static void test_a_busy_server_is_asked_again(void **state)
{
	static const struct test_step steps[] = {
		STEP("GET " POD_PATH, 429, STATUS(429, "TooManyRequests"),
			.headers = "Retry-After: 1\r\n"),
		STEP("GET " POD_PATH, 503, "", .headers = "Retry-After: 1\r\n"),
		STEP("GET " POD_PATH, 200, "{}"),
		/* Impatient: at once. */
		STEP("GET " POD_PATH, 429, STATUS(429, "TooManyRequests"),
			.headers = "Retry-After: 1\r\n"),
		/* No word about when: at once. */
		STEP("GET " POD_PATH, 503, ""),
		/* Later than there is time. */
		STEP("GET " POD_PATH, 429, STATUS(429, "TooManyRequests"),
			.headers = "Retry-After: 50\r\n"),
	};
	struct test_world world;
	struct kube_target target = pod_p();
	struct kube_failure failure;
	struct kube_options impatient = {.impatient = true, .failure = &failure};
	struct kube_options hasty = {.timeout_ms = 40000, .failure = &failure};
	struct kube_client_statistics statistics;
	struct json *answer;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, NULL), 0);
	assert_int_equal(kube_get(world.client, &target, &impatient, world.arena, &answer, NULL),
		-EBUSY);
	assert_int_equal(failure.retry_after_ms, 1000);
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, NULL), -EIO);
	assert_int_equal(kube_get(world.client, &target, &hasty, world.arena, &answer, NULL),
		-EBUSY);
	kube_client_statistics(world.client, &statistics);
	assert_int_equal(statistics.requests, 6);
	assert_int_equal(statistics.failures, 5);
	assert_int_equal(statistics.retries, 2);
	assert_int_equal(statistics.throttled, 3);
	test_world_end(&world);
}

static void test_a_token_is_renewed_once(void **state)
{
	static const struct test_step steps[] = {
		STEP("GET " POD_PATH, 401, STATUS(401, "Unauthorized")),
		STEP("GET " POD_PATH, 200, "{}"),
		STEP("GET " POD_PATH, 401, STATUS(401, "Unauthorized")),
		STEP("GET " POD_PATH, 401, STATUS(401, "Unauthorized")),
	};
	struct test_world world;
	struct kube_target target = pod_p();
	struct json *answer;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, NULL), 0);
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, NULL),
		-EACCES);
	test_world_end(&world);
}

static void test_no_answer(void **state)
{
	static const struct test_step steps[] = {
		STEP("GET " POD_PATH, 0, NULL),
		STEP("GET " POD_PATH, 200, "{\"a\":", .then = TEST_CUT),
		STEP("GET " POD_PATH, 200, "{\"a\":", .then = TEST_END),
		STEP("GET " POD_PATH, 200, "", .then = TEST_HANG),
	};
	struct test_world world;
	struct kube_target target = pod_p();
	struct kube_options hasty = {.timeout_ms = 12000}; /* the request is sent before, always */
	struct json *answer = NULL;
	struct err err;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, &err),
		-ECONNRESET);
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, &err),
		-ECONNRESET);
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, &err),
		-EPROTO);
	assert_non_null(strstr(err.message, "GET " POD_PATH ": the answer is not JSON: "));
	assert_int_equal(kube_get(world.client, &target, &hasty, world.arena, &answer, &err),
		-ETIMEDOUT);
	assert_null(answer);
	test_world_end(&world);
}

/* ---- our own limit ---- */

static void test_rate_limit(void **state)
{
	static struct test_step steps[12];
	struct test_world world;
	struct kube_target target = pod_p();
	struct kube_client_config config = {.qps = 20, .burst = 4};
	struct kube_options hasty = {.timeout_ms = 1};
	struct kube_client_statistics statistics;
	struct kube_client *client;
	struct json *answer;
	int64_t began;

	(void)state;
	for (size_t i = 0; i < LENGTH(steps); i++)
		steps[i] =
			(struct test_step){.request = "GET " POD_PATH, .status = 200, .body = "{}"};
	test_world_begin(&world, steps, LENGTH(steps));
	config.http = world.http;
	config.runner = world.runner;
	config.access = &world.access;
	assert_int_equal(kube_client_new(&config, &client, NULL), 0);
	began = runner_now_us(world.runner);
	for (size_t i = 0; i < LENGTH(steps); i++)
		assert_int_equal(kube_get(client, &target, NULL, world.arena, &answer, NULL), 0);
	/* Four at once, the other eight at 20 a second. */
	assert_true(runner_now_us(world.runner) - began >= 390000);
	assert_int_equal(kube_get(client, &target, &hasty, world.arena, &answer, NULL), -ETIMEDOUT);
	kube_client_statistics(client, &statistics);
	assert_true(statistics.waited_us > 0);
	assert_true(statistics.requests >= LENGTH(steps));
	kube_client_free(client);
	test_world_end(&world);
}

/* Cancelled while waiting for a turn, for a busy server, for an answer. */
static void *cancel_soon(void *context)
{
	struct test_world *world = context;
	struct test_server *server = world->server;

	/* Not before it was asked at all. */
	pthread_mutex_lock(&server->lock);
	while (server->step < server->step_count)
		pthread_cond_wait(&server->changed, &server->lock);
	pthread_mutex_unlock(&server->lock);
	poll(NULL, 0, 50);
	kube_client_cancel(world->client);
	return NULL;
}

static void test_cancelling(void **state)
{
	static const struct test_step steps[] = {
		STEP("GET " POD_PATH, 429, STATUS(429, "TooManyRequests"),
			.headers = "Retry-After: 50\r\n"),
	};
	struct test_world world;
	struct kube_target target = pod_p();
	struct json *answer;
	pthread_t thread;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	pthread_create(&thread, NULL, cancel_soon, &world);
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, NULL),
		-ECANCELED);
	pthread_join(thread, NULL);
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, NULL),
		-ECANCELED);
	test_world_end(&world);
}

/* ---- discovery ---- */

#define RESOURCES(list) "{\"kind\":\"APIResourceList\",\"resources\":[" list "]}"

static void test_discovery(void **state)
{
	static const struct test_step steps[] = {
		/* An old server: no v1, but v1beta1. */
		STEP("GET /apis/discovery.k8s.io/v1 HTTP", 404, "404 page not found"),
		STEP("GET /apis/discovery.k8s.io/v1beta1 HTTP", 200,
			RESOURCES("{\"name\":\"endpointslices\",\"namespaced\":true}")),
		/* The version is there, the kind is not. */
		STEP("GET /apis/policy/v1 HTTP", 200, RESOURCES("{\"name\":\"other\"}")),
		STEP("GET /apis/policy/v1beta1 HTTP", 404, STATUS(404, "NotFound")),
		STEP("GET /apis/policy HTTP", 200,
			"{\"versions\":[{\"version\":\"v1\"},{\"version\":\"v9\"}]}"),
		/* Not known is not the same as not there. */
		STEP("GET /apis/apps/v1 HTTP", 500, ""),
		STEP("GET /apis/apps/v1 HTTP", 200,
			RESOURCES("{\"name\":\"deployments\",\"namespaced\":true}")),
		STEP("GET /apis/apps/v1/namespaces/default/deployments/p HTTP", 404,
			STATUS(404, "NotFound")),
		/* The whole version has gone: it is looked for again. */
		STEP("GET /apis/apps/v1/namespaces/default/deployments/p HTTP", 404,
			"404 page not found"),
		STEP("GET /apis/apps/v1 HTTP", 200,
			RESOURCES("{\"name\":\"deployments\",\"namespaced\":true}")),
		STEP("GET /apis/apps/v1/namespaces/default/deployments/p HTTP", 200, "{}"),
	};
	struct test_world world;
	struct kube_target target = pod_p();
	struct kube_resource resource;
	struct json *answer;
	struct err err;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(kube_resource_find(world.client, &kube_endpoint_slices, &resource,
					 &err),
			0);
		assert_string_equal(resource.api_version, "discovery.k8s.io/v1beta1");
		assert_string_equal(resource.path, "/apis/discovery.k8s.io/v1beta1");
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(kube_resource_find(world.client, &kube_pod_disruption_budgets,
					 &resource, &err),
			-ENOENT);
	assert_int_equal(kube_resource_find(world.client, &kube_pods, &resource, &err), 0);
	assert_string_equal(resource.path, "/api/v1");
	target.kind = &kube_deployments;
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, &err), -EIO);
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, &err),
		-ENOENT);
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, &err),
		-ENOENT);
	assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, &err), 0);
	test_world_end(&world);
}

static void test_kinds_by_name(void **state)
{
	static const struct test_step steps[] = {
		STEP("GET /api/v1 HTTP", 200,
			RESOURCES("{\"name\":\"pods/status\",\"kind\":\"Pod\",\"namespaced\":true},"
				  "{\"name\":\"pods\",\"kind\":\"Pod\",\"namespaced\":true}")),
		/* Not known is asked again: a definition may have been created. */
		STEP("GET /apis/example.com/v2 HTTP", 404, "404 page not found"),
		STEP("GET /apis/example.com/v2 HTTP", 200,
			RESOURCES("{\"name\":\"things\",\"kind\":\"Thing\",\"namespaced\":false}")),
		STEP("GET /apis/example.com/v2 HTTP", 200,
			RESOURCES("{\"name\":\"things\",\"kind\":\"Thing\",\"namespaced\":false}")),
		STEP("GET /apis/example.com/v2/things/a HTTP", 200, "{}"),
		/* The same kind in an older version has a path of its own. */
		STEP("GET /apis/example.com/v1 HTTP", 200,
			RESOURCES("{\"name\":\"things\",\"kind\":\"Thing\",\"namespaced\":false}")),
		STEP("GET /apis/example.com/v1 HTTP", 200,
			RESOURCES("{\"name\":\"things\",\"kind\":\"Thing\",\"namespaced\":false}")),
		STEP("GET /apis/example.com/v1/things/a HTTP", 200, "{}"),
	};
	struct test_world world;
	const struct kube_kind *kind, *again;
	struct kube_target target = {.name = SPAN("a")};
	struct json *answer;
	struct err err;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	assert_int_equal(kube_kind_find(world.client, SPAN("v1"), SPAN("Pod"), &kind, &err), 0);
	assert_int_equal(kube_kind_find(world.client, SPAN("v1"), SPAN("Pod"), &again, &err), 0);
	assert_ptr_equal(kind, again);
	assert_string_equal(kind->plural, "pods");
	assert_string_equal(kind->group, "");
	assert_true(kind->namespaced);
	assert_int_equal(kube_kind_find(world.client, SPAN("example.com/v2"), SPAN("Thing"), &kind,
				 &err),
		-ENOENT);
	assert_string_equal(err.message, "the server has no Thing of version example.com/v2");
	for (int i = 0; i < 2; i++) {
		struct span version = i == 0 ? SPAN("example.com/v2") : SPAN("example.com/v1");

		assert_int_equal(kube_kind_find(world.client, version, SPAN("Thing"), &kind, &err),
			0);
		assert_string_equal(kind->plural, "things");
		assert_string_equal(kind->group, "example.com");
		assert_false(kind->namespaced);
		target.kind = kind;
		assert_int_equal(kube_get(world.client, &target, NULL, world.arena, &answer, &err),
			0);
	}
	assert_int_equal(kube_kind_find(world.client, SPAN("a/b/c"), SPAN("Thing"), &kind, &err),
		-EINVAL);
	assert_int_equal(kube_kind_find(world.client, SPAN("v1"), SPAN(""), &kind, &err), -EINVAL);
	test_world_end(&world);
}

/* ---- lists ---- */

#define PAGE(token, items)                                                                         \
	"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"" token      \
	"\"},\"items\":[" items "]}"

static void test_lists(void **state)
{
	static const struct test_step steps[] = {
		STEP("GET /api/v1/namespaces/default/pods?labelSelector=a%3Db&limit=500 HTTP", 200,
			PAGE("t/1", "{\"a\":1},{\"a\":2}")),
		STEP("GET "
		     "/api/v1/namespaces/default/pods?labelSelector=a%3Db&limit=500&continue=t%2F1 "
		     "HTTP",
			410, STATUS(410, "Expired")),
		STEP("GET /api/v1/namespaces/default/pods?labelSelector=a%3Db&limit=500 HTTP", 200,
			PAGE("t2", "{\"a\":3}")),
		STEP("GET "
		     "/api/v1/namespaces/default/pods?labelSelector=a%3Db&limit=500&continue=t2 "
		     "HTTP",
			200, PAGE("", "")),
		/* Never a part of a list. */
		STEP("GET /api/v1/namespaces/default/pods?", 200, PAGE("t", "{\"a\":1}")),
		STEP("GET /api/v1/namespaces/default/pods?", 500, ""),
		STEP("GET /api/v1/namespaces/default/pods?", 200,
			"{\"kind\":\"PodList\",\"items\":[{}", .then = TEST_END),
		STEP("GET /api/v1/namespaces/default/pods?", 200, "{\"kind\":\"Pod\"}"),
		STEP("GET /api/v1/namespaces/default/pods?", 200, PAGE("", "{\"a\":}")),
		STEP("GET /api/v1/namespaces/default/pods?", 200, PAGE("", "5")),
	};
	static const int codes[] = {-EIO, -EPROTO, -EPROTO, -EPROTO, -EPROTO};
	struct kube_target target = {.kind = &kube_pods, .namespace = SPAN("default")};
	struct kube_selection selection = {.labels = "a=b"};
	struct test_world world;
	struct json *items;
	struct span version;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	assert_int_equal(kube_list(world.client, &target, &selection, NULL, world.arena, &items,
				 &version, NULL),
		0);
	assert_int_equal(json_count(items), 1);
	assert_int_equal(json_get_integer(json_item(items, 0), "a", 0), 3);
	assert_true(span_is(version, "7"));
	for (size_t i = 0; i < LENGTH(codes); i++) {
		struct err err;
		int code = kube_list(world.client, &target, NULL, NULL, world.arena, &items, NULL,
			&err);

		if (code != codes[i])
			fail_msg("row %zu: %d %s", i, code, err.message);
	}
	test_world_end(&world);
}

/* ---- pods ---- */

static int add_log(void *context, struct span data)
{
	buffer_add_span(context, data);
	return 0;
}

static int stop_log(void *context, struct span data)
{
	(void)context;
	(void)data;
	return 5;
}

static void test_logs(void **state)
{
	static const struct test_step steps[] = {
		STEP("GET " POD_PATH
		     "/log?container=c&follow=true&previous=true&timestamps=true&tailLines=0&"
		     "limitBytes=9&sinceTime=2023-11-14T22%3A13%3A20.000Z HTTP",
			200, "line\n"),
		STEP("GET " POD_PATH "/log HTTP", 404, STATUS(404, "NotFound")),
		STEP("GET " POD_PATH "/log HTTP", 200, "line\n", .then = TEST_HANG),
	};
	struct kube_log_request all = {SPAN("default"), SPAN("p"), SPAN("c"), true, true, true, 0,
		true, 1700000000123, 9, 0};
	struct kube_log_request plain = {.namespace = SPAN("default"), .pod = SPAN("p")};
	_buffer_ struct buffer out = {0};
	struct test_world world;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	assert_int_equal(kube_pod_logs(world.client, &all, add_log, &out, NULL, NULL), 0);
	assert_string_equal(out.data, "line\n");
	assert_int_equal(kube_pod_logs(world.client, &plain, add_log, &out, NULL, NULL), -ENOENT);
	assert_int_equal(kube_pod_logs(world.client, &plain, stop_log, NULL, NULL, NULL), 5);
	test_world_end(&world);
}

static void test_eviction(void **state)
{
	static const struct test_step steps[] = {
		STEP("GET /api/v1 HTTP", 200,
			RESOURCES("{\"name\":\"pods/"
				  "eviction\",\"group\":\"policy\",\"version\":\"v1beta1\"}")),
		STEP("POST " POD_PATH "/eviction?", 429,
			"{\"kind\":\"Status\",\"details\":{\"causes\":[{\"reason\":"
			"\"DisruptionBudget\"}],"
			"\"retryAfterSeconds\":10}}",
			.sent = "{\"apiVersion\":\"policy/"
				"v1beta1\",\"kind\":\"Eviction\",\"metadata\":{"
				"\"name\":\"p\",\"namespace\":\"default\"}}"),
		STEP("POST " POD_PATH "/eviction?", 201, "{}",
			.sent = "\"deleteOptions\":{\"preconditions\""),
	};
	struct kube_deletion deletion = {.uid = SPAN("u")};
	struct kube_failure failure;
	struct kube_options options = {.failure = &failure};
	struct test_world world;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	assert_int_equal(kube_pod_evict(world.client, SPAN("default"), SPAN("p"), NULL, &options,
				 NULL),
		-EBUSY);
	assert_string_equal(failure.cause, "DisruptionBudget");
	assert_int_equal(kube_pod_evict(world.client, SPAN("default"), SPAN("p"), &deletion, NULL,
				 NULL),
		0);
	test_world_end(&world);
}

/* ---- where to ---- */

static void test_tls_server_name(void **state)
{
	static const struct {
		const char *server, *name;
		const char *url, *connect_to;
	} rows[] = {
		{"https://192.0.2.1:6443/prefix", "k.test", "https://k.test:6443/prefix",
			"192.0.2.1:6443"},
		{"https://[fd00::1]", "k.test", "https://k.test:443", "[fd00::1]:443"},
		{"https://[fd00::1]:6443", "k.test", "https://k.test:6443", "[fd00::1]:6443"},
		{"https://a.example", NULL, "https://a.example", NULL},
		{"http://a.example", "k.test", "http://a.example", NULL},
	};
	struct test_world world;

	(void)state;
	test_world_begin(&world, NULL, 0);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct kube_access access = {.server = span_of(rows[i].server),
			.tls_server_name = span_of(rows[i].name)};
		struct kube_client_config config = {
			.http = world.http, .runner = world.runner, .access = &access};
		struct kube_client *client;

		assert_int_equal(kube_client_new(&config, &client, NULL), 0);
		assert_true(span_is(client->url, rows[i].url));
		if (rows[i].connect_to)
			assert_string_equal(client->connect_to, rows[i].connect_to);
		else
			assert_null(client->connect_to);
		kube_client_free(client);
	}
	test_world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_refusal_details),
		cmocka_unit_test(test_what_is_sent),
		cmocka_unit_test(test_a_busy_server_is_asked_again),
		cmocka_unit_test(test_a_token_is_renewed_once),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_rate_limit),
		cmocka_unit_test(test_cancelling),
		cmocka_unit_test(test_discovery),
		cmocka_unit_test(test_kinds_by_name),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_logs),
		cmocka_unit_test(test_eviction),
		cmocka_unit_test(test_tls_server_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
