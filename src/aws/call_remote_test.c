/* Calls to an endpoint that answers, fails, hangs and hangs up as a script says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aws/call.h"
#include "aws/sigv4.h"
#include "base/buffer.h"
#include "base/memory.h"

#define KEY_ID "AKIDEXAMPLE"
#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define REQUESTS_MAX 32

/* ---- the endpoint ---- */

#define HANG_UP NULL   /* closes the connection without a byte */
#define HANG "(hangs)" /* answers when the test is over */
#define OK(body) "200 OK\r\n|" body
#define THROTTLED                                                                                  \
	"400 Bad Request\r\n|{\"__type\":\"ThrottlingException\",\"message\":\"Rate exceeded\"}"

struct endpoint {
	int listener;
	int port;
	pthread_t thread;
	const char *const *script; /* an answer each; the last is repeated */
	size_t length;
	char *requests[REQUESTS_MAX];
	atomic_int count;
	int hanging[REQUESTS_MAX];
	size_t hanging_count;
};

/* Head and body of one request; NULL if the client went away before. */
static char *read_request(int descriptor)
{
	_buffer_ struct buffer text = {0};

	for (;;) {
		char *room = buffer_reserve(&text, 4096);
		ssize_t length = read(descriptor, room, 4096);
		char *end, *announced;

		if (length <= 0)
			return NULL;
		text.length += (size_t)length;
		text.data[text.length] = '\0';
		end = strstr(text.data, "\r\n\r\n");
		announced = strcasestr(text.data, "\r\nContent-Length: ");
		if (end && announced &&
			text.length >=
				(size_t)(end + 4 - text.data) + strtoul(announced + 18, NULL, 10))
			return buffer_take(&text, NULL);
	}
}

static void write_answer(int descriptor, const char *answer)
{
	_buffer_ struct buffer out = {0};
	const char *body = strchr(answer, '|') + 1;

	buffer_format(&out, "HTTP/1.1 %.*sContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
		(int)(body - 1 - answer), answer, strlen(body), body);
	assert_true(write(descriptor, out.data, out.length) == (ssize_t)out.length);
}

static void *serve(void *context)
{
	struct endpoint *endpoint = context;

	for (;;) {
		int descriptor = accept(endpoint->listener, NULL, NULL);
		size_t number = (size_t)endpoint->count;
		const char *answer =
			endpoint->script[number < endpoint->length ? number : endpoint->length - 1];
		char *request;

		if (descriptor < 0)
			return NULL;
		request = read_request(descriptor);
		if (!request || number == REQUESTS_MAX) {
			free(request);
			close(descriptor);
			continue;
		}
		endpoint->requests[number] = request;
		endpoint->count++;
		if (answer && strcmp(answer, HANG) == 0) {
			endpoint->hanging[endpoint->hanging_count++] = descriptor;
			continue;
		}
		if (answer)
			write_answer(descriptor, answer);
		close(descriptor);
	}
}

static void endpoint_start(struct endpoint *endpoint, const char *const *script, size_t length)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	*endpoint = (struct endpoint){.script = script, .length = length};
	endpoint->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(endpoint->listener >= 0);
	assert_int_equal(bind(endpoint->listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(endpoint->listener, 16), 0);
	assert_int_equal(getsockname(endpoint->listener, (struct sockaddr *)&address, &size), 0);
	endpoint->port = ntohs(address.sin_port);
	assert_int_equal(pthread_create(&endpoint->thread, NULL, serve, endpoint), 0);
}

static void endpoint_stop(struct endpoint *endpoint)
{
	shutdown(endpoint->listener, SHUT_RDWR);
	pthread_join(endpoint->thread, NULL);
	close(endpoint->listener);
	for (size_t i = 0; i < endpoint->hanging_count; i++)
		close(endpoint->hanging[i]);
	for (int i = 0; i < endpoint->count; i++)
		free(endpoint->requests[i]);
}

/* ---- a target for it ---- */

struct fixture {
	struct endpoint endpoint;
	struct runner *runner;
	struct http_client *client;
	struct aws_target *target;
	struct aws_call_failure failure;
	struct arena *arena;
	struct json *answer;
	struct err err;
};

static void fixture_open(struct fixture *fixture, const char *const *script, size_t length,
	const struct aws_remote_config *desired)
{
	struct aws_remote_config config = desired ? *desired : (struct aws_remote_config){0};
	char url[64];

	*fixture = (struct fixture){0};
	endpoint_start(&fixture->endpoint, script, length);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", fixture->endpoint.port);
	config.endpoint = url;
	config.region = "eu-west-1";
	config.access_key = KEY_ID;
	config.secret = SECRET;
	if (config.calls_per_second == 0)
		config.calls_per_second = 1000;
	fixture->runner = runner_threads_new(clock_system(), random_system());
	if (http_client_new(&fixture->client, &fixture->err) < 0 ||
		aws_target_remote(&config, fixture->client, fixture->runner, &fixture->target,
			&fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	fixture->arena = arena_new(0);
}

#define OPEN(fixture, desired, ...)                                                                \
	fixture_open(fixture, (const char *const[]){__VA_ARGS__},                                  \
		LENGTH(((const char *const[]){__VA_ARGS__})), desired)

static void fixture_close(struct fixture *fixture)
{
	aws_target_free(fixture->target);
	http_client_free(fixture->client);
	endpoint_stop(&fixture->endpoint);
	runner_free(fixture->runner);
	arena_free(fixture->arena);
}

static int call_service(struct fixture *fixture, const char *service, const char *operation,
	const char *text)
{
	struct json *request;

	fixture->answer = NULL;
	fixture->err = (struct err){0};
	assert_int_equal(json_parse(span_of(text), fixture->arena, &request, NULL), 0);
	return aws_call(fixture->target, service, operation, request, fixture->arena,
		&fixture->answer, &fixture->failure, &fixture->err);
}

static int call(struct fixture *fixture, const char *operation, const char *text)
{
	return call_service(fixture, "ecs", operation, text);
}

static const char *request_of(struct fixture *fixture, int number)
{
	assert_true(fixture->endpoint.count > number);
	return fixture->endpoint.requests[number];
}

/* The header's value in a recorded request. */
static struct span header_of(struct fixture *fixture, int number, const char *name)
{
	const char *at = strcasestr(request_of(fixture, number), name);
	const char *value = at ? at + strlen(name) + 2 : NULL;

	if (!at)
		return SPAN_NONE;
	return (struct span){value, (size_t)(strstr(value, "\r\n") - value)};
}

static struct span body_of(struct fixture *fixture, int number)
{
	return span_of(strstr(request_of(fixture, number), "\r\n\r\n") + 4);
}

/* ---- tests ---- */

static void an_answer_comes_back(void **state)
{
	static const char *const names[] = {"Host", "Content-Type", "X-Amz-Target", "X-Amz-Date",
		"X-Amz-Security-Token", "Authorization"};
	struct aws_remote_config config = {.session_token = "TOKEN=="};
	struct sigv4_header headers[LENGTH(names)];
	struct sigv4_request request = {.method = SPAN("POST"),
		.path = SPAN("/"),
		.query = SPAN(""),
		.headers = headers,
		.header_count = LENGTH(names)};
	struct sigv4_claim claim;
	struct sigv4_failure refused;
	struct fixture fixture;

	(void)state;
	OPEN(&fixture, &config, OK("{\"clusterArns\":[\"x\"]}"));
	assert_int_equal(call(&fixture, "ListClusters", "{\"maxResults\":7}"), 0);
	assert_true(span_is(json_text(json_item(json_get(fixture.answer, "clusterArns"), 0)), "x"));
	assert_true(span_is(body_of(&fixture, 0), "{\"maxResults\":7}"));
	assert_memory_equal(request_of(&fixture, 0), "POST / HTTP/1.1\r\n", 17);
	/* The request that arrived is signed: the verifier in this folder confirms it. */
	for (size_t i = 0; i < LENGTH(names); i++)
		headers[i] =
			(struct sigv4_header){span_of(names[i]), header_of(&fixture, 0, names[i])};
	assert_true(span_is(headers[2].value, "AmazonEC2ContainerServiceV20141113.ListClusters"));
	request.body = body_of(&fixture, 0);
	assert_int_equal(sigv4_read(&request, &claim, &refused), 0);
	assert_true(span_is(claim.service, "ecs"));
	assert_true(span_is(claim.region, "eu-west-1"));
	assert_true(span_is(claim.session_token, "TOKEN=="));
	assert_int_equal(sigv4_verify(&request, &claim, SPAN(SECRET), clock_wall_ms(clock_system()),
				 NULL, &refused),
		0);
	fixture_close(&fixture);
}

static void an_empty_answer_is_an_object(void **state)
{
	struct fixture fixture;

	(void)state;
	OPEN(&fixture, NULL, OK(""), OK("[]"), OK("{"));
	assert_int_equal(call(&fixture, "ListClusters", "{}"), 0);
	assert_int_equal(json_count(fixture.answer), 0);
	assert_int_equal(call(&fixture, "ListClusters", "{}"), -EPROTO);
	assert_int_equal(fixture.err.code, -EPROTO);
	assert_int_equal(call(&fixture, "ListClusters", "{}"), -EPROTO);
	assert_null(fixture.answer);
	fixture_close(&fixture);
}

static void a_no_is_not_repeated(void **state)
{
	struct fixture fixture;

	(void)state;
	OPEN(&fixture, NULL,
		"400 Bad Request\r\n|{\"__type\":\"com.amazonaws.ecs#ClusterNotFoundException\","
		"\"message\":\"Cluster not found.\"}",
		"403 Forbidden\r\nx-amzn-ErrorType: "
		"AccessDeniedException:http://x/y\r\n|{\"Message\":"
		"\"No.\"}",
		"404 Not Found\r\n|<html>");
	assert_int_equal(call(&fixture, "DescribeTasks", "{}"), -EREMOTEIO);
	assert_int_equal(fixture.failure.status, 400);
	assert_string_equal(fixture.failure.type, "ClusterNotFoundException");
	assert_string_equal(fixture.failure.message, "Cluster not found.");
	assert_int_equal(call(&fixture, "DescribeTasks", "{}"), -EREMOTEIO);
	assert_int_equal(fixture.failure.status, 403);
	assert_string_equal(fixture.failure.type, "AccessDeniedException");
	assert_string_equal(fixture.failure.message, "No.");
	assert_int_equal(call(&fixture, "DescribeTasks", "{}"), -EREMOTEIO);
	assert_int_equal(fixture.failure.status, 404);
	assert_string_equal(fixture.failure.type, "UnknownError");
	assert_int_equal(fixture.endpoint.count, 3);
	fixture_close(&fixture);
}

static void what_may_pass_is_tried_again(void **state)
{
	struct aws_remote_config config = {.attempts = 5};
	struct fixture fixture;

	(void)state;
	OPEN(&fixture, &config, "500 Oops\r\n|{\"__type\":\"ServerException\"}", HANG_UP, THROTTLED,
		"503 Busy\r\n|", OK("{\"a\":1}"));
	assert_int_equal(call(&fixture, "ListClusters", "{}"), 0);
	assert_int_equal(json_get_integer(fixture.answer, "a", 0), 1);
	assert_int_equal(fixture.endpoint.count, 5);
	/* A success has no failure left over from the attempts before. */
	assert_int_equal(fixture.failure.status, 0);
	fixture_close(&fixture);
}

static void attempts_end(void **state)
{
	struct aws_remote_config config = {.attempts = 3};
	struct fixture fixture;

	(void)state;
	OPEN(&fixture, &config, "500 Oops\r\n|{\"__type\":\"ServerException\",\"message\":\"m\"}");
	assert_int_equal(call(&fixture, "ListClusters", "{}"), -EREMOTEIO);
	assert_int_equal(fixture.endpoint.count, 3);
	assert_int_equal(fixture.failure.status, 500);
	assert_string_equal(fixture.failure.type, "ServerException");
	assert_string_equal(fixture.err.message, "ecs ListClusters: ServerException (500): m");
	fixture_close(&fixture);
}

static void waits_for_the_time_in_retry_after(void **state)
{
	struct aws_remote_config config = {.attempts = 2};
	struct fixture fixture;
	int64_t start_us = clock_steady_us(clock_system());

	(void)state;
	OPEN(&fixture, &config, "503 Busy\r\nRetry-After: 1\r\n|", OK("{}"));
	assert_int_equal(call(&fixture, "ListClusters", "{}"), 0);
	assert_true(clock_steady_us(clock_system()) - start_us >= 1000000);
	fixture_close(&fixture);
}

/* No answer came, and it may have happened: only what does no harm twice is sent twice. */
static void what_may_have_happened_is_not_repeated(void **state)
{
	struct fixture fixture;

	(void)state;
	OPEN(&fixture, NULL, HANG_UP);
	assert_int_equal(call(&fixture, "RegisterTaskDefinition",
				 "{\"family\":\"a\",\"containerDefinitions\":[]}"),
		-ECONNRESET);
	assert_int_equal(fixture.endpoint.count, 1);
	assert_int_equal(fixture.failure.status, 0);
	assert_string_equal(fixture.failure.type, "");
	fixture_close(&fixture);

	/* Nor does an error of the endpoint, or of a proxy, say that it did not happen. */
	OPEN(&fixture, NULL, "504 Gateway Timeout\r\n|", OK("{}"));
	assert_int_equal(call(&fixture, "StartTask", "{\"taskDefinition\":\"a\"}"), -EREMOTEIO);
	assert_int_equal(fixture.failure.status, 504);
	assert_int_equal(fixture.endpoint.count, 1);
	fixture_close(&fixture);

	/* Being turned away is another thing. */
	OPEN(&fixture, NULL, "503 Busy\r\n|", THROTTLED, OK("{}"));
	assert_int_equal(call(&fixture, "StartTask", "{\"taskDefinition\":\"a\"}"), 0);
	assert_int_equal(fixture.endpoint.count, 3);
	fixture_close(&fixture);
}

static void a_token_makes_attempts_one_request(void **state)
{
	struct fixture fixture;
	_arena_ struct arena *arena = arena_new(0);
	struct json *first, *second;

	(void)state;
	OPEN(&fixture, NULL, HANG_UP, OK("{}"), HANG_UP, OK("{}"));
	assert_int_equal(call(&fixture, "CreateService", "{\"serviceName\":\"a\"}"), 0);
	assert_int_equal(fixture.endpoint.count, 2);
	assert_int_equal(json_parse(body_of(&fixture, 0), arena, &first, NULL), 0);
	assert_int_equal(json_parse(body_of(&fixture, 1), arena, &second, NULL), 0);
	assert_true(span_is(json_get_text(first, "serviceName"), "a"));
	assert_int_equal(json_get_text(first, "clientToken").length, 36);
	assert_true(json_equal(first, second));
	/* One that the caller gave stays. */
	assert_int_equal(call(&fixture, "CreateService",
				 "{\"serviceName\":\"a\",\"clientToken\":\"mine\"}"),
		0);
	assert_int_equal(fixture.endpoint.count, 4);
	assert_true(span_is(body_of(&fixture, 3),
		"{\"serviceName\":\"a\",\"clientToken\":\"mine\"}"));
	fixture_close(&fixture);
}

static void silence_times_out(void **state)
{
	struct aws_remote_config config = {.attempts = 2, .timeout_ms = 300};
	struct fixture fixture;

	(void)state;
	OPEN(&fixture, &config, HANG);
	assert_int_equal(call(&fixture, "ListClusters", "{}"), -ETIMEDOUT);
	assert_memory_equal(fixture.err.message, "ecs ListClusters: ", 18);
	fixture_close(&fixture);
}

static void connection_refused(void **state)
{
	struct aws_remote_config config = {.attempts = 2};
	struct fixture fixture;
	struct aws_target *target = NULL;
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	_close_ int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char url[64];

	(void)state;
	OPEN(&fixture, NULL, OK("{}"));
	/* A port that no other process can take, and that does not listen. */
	assert_int_equal(bind(bound, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(bound, (struct sockaddr *)&address, &size), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(address.sin_port));
	config.endpoint = url;
	config.region = "r";
	config.access_key = "k";
	config.secret = "s";
	assert_int_equal(aws_target_remote(&config, fixture.client, fixture.runner, &target, NULL),
		0);
	assert_int_equal(aws_call(target, "ecs", "RunTask", NULL, fixture.arena, &fixture.answer,
				 &fixture.failure, &fixture.err),
		-ECONNREFUSED);
	aws_target_free(target);
	fixture_close(&fixture);
}

static void the_budget_is_kept(void **state)
{
	struct aws_remote_config config = {.calls_per_second = 5};
	struct fixture fixture;
	int64_t start_us = clock_steady_us(clock_system());

	(void)state;
	OPEN(&fixture, &config, OK("{}"));
	for (int i = 0; i < 8; i++)
		assert_int_equal(call(&fixture, "ListClusters", "{}"), 0);
	/* Five at once, the others at 200 ms each. */
	assert_true(clock_steady_us(clock_system()) - start_us >= 590000);
	fixture_close(&fixture);
}

static void *cancel_when_it_hangs(void *context)
{
	struct fixture *fixture = context;

	while (fixture->endpoint.count == 0)
		usleep(1000);
	runner_stop(fixture->runner);
	aws_target_cancel(fixture->target);
	return NULL;
}

static void a_stop_ends_waiting(void **state)
{
	struct fixture fixture;
	pthread_t thread;

	(void)state;
	OPEN(&fixture, NULL, HANG);
	assert_int_equal(pthread_create(&thread, NULL, cancel_when_it_hangs, &fixture), 0);
	assert_int_equal(call(&fixture, "ListClusters", "{}"), -ECANCELED);
	pthread_join(thread, NULL);
	/* And from then on at once. */
	assert_int_equal(call(&fixture, "ListClusters", "{}"), -ECANCELED);
	assert_int_equal(fixture.endpoint.count, 1);
	fixture_close(&fixture);
}

#define RULES(result) "<DescribeRulesResponse>" result "</DescribeRulesResponse>"

/* The query protocol: a signed form, answered by XML. */
static void a_form_is_sent_and_xml_comes_back(void **state)
{
	static const char *const names[] = {"Host", "Content-Type", "X-Amz-Date", "Authorization"};
	struct sigv4_header headers[LENGTH(names)];
	struct sigv4_request request = {.method = SPAN("POST"),
		.path = SPAN("/"),
		.query = SPAN(""),
		.headers = headers,
		.header_count = LENGTH(names)};
	struct sigv4_claim claim;
	struct sigv4_failure refused;
	struct fixture fixture;
	const struct json *rule;

	(void)state;
	OPEN(&fixture, NULL,
		OK(RULES("<DescribeRulesResult><Rules><member><Priority>7</Priority>"
			 "<IsDefault>false</IsDefault></member></Rules></DescribeRulesResult>")));
	assert_int_equal(call_service(&fixture, "elasticloadbalancing", "DescribeRules",
				 "{\"ListenerArn\":\"arn:x\",\"PageSize\":5,\"RuleArns\":[\"a\"]}"),
		0);
	rule = json_item(json_get(fixture.answer, "Rules"), 0);
	assert_true(span_is(json_get_text(rule, "Priority"), "7"));
	assert_true(json_is(json_get(rule, "IsDefault"), JSON_FALSE));
	assert_true(span_is(body_of(&fixture, 0),
		"Action=DescribeRules&Version=2015-12-01&ListenerArn=arn%3Ax&PageSize=5"
		"&RuleArns.member.1=a"));
	assert_null(strcasestr(request_of(&fixture, 0), "X-Amz-Target"));
	for (size_t i = 0; i < LENGTH(names); i++)
		headers[i] =
			(struct sigv4_header){span_of(names[i]), header_of(&fixture, 0, names[i])};
	assert_true(span_is(headers[1].value, "application/x-www-form-urlencoded; charset=utf-8"));
	request.body = body_of(&fixture, 0);
	assert_int_equal(sigv4_read(&request, &claim, &refused), 0);
	assert_true(span_is(claim.service, "elasticloadbalancing"));
	assert_int_equal(sigv4_verify(&request, &claim, SPAN(SECRET), clock_wall_ms(clock_system()),
				 NULL, &refused),
		0);
	fixture_close(&fixture);
}

static void xml_says_no(void **state)
{
	struct fixture fixture;

	(void)state;
	OPEN(&fixture, NULL,
		"400 Bad Request\r\n|<ErrorResponse><Error><Code>Throttling</Code><Message>Rate "
		"exceeded</Message></Error></ErrorResponse>",
		"400 Bad Request\r\n|<ErrorResponse><Error><Type>Sender</Type><Code>RuleNotFound"
		"</Code><Message>No &amp; no.</Message></Error></ErrorResponse>",
		"404 Not Found\r\n|<html>", OK(RULES("<x>")), OK(""));
	/* The first attempt was throttled. */
	assert_int_equal(call_service(&fixture, "elasticloadbalancing", "DescribeRules", "{}"),
		-EREMOTEIO);
	assert_int_equal(fixture.endpoint.count, 2);
	assert_int_equal(fixture.failure.status, 400);
	assert_string_equal(fixture.failure.type, "RuleNotFoundException");
	assert_string_equal(fixture.failure.message, "No & no.");
	assert_int_equal(call_service(&fixture, "elasticloadbalancing", "DescribeRules", "{}"),
		-EREMOTEIO);
	assert_string_equal(fixture.failure.type, "UnknownError");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(call_service(&fixture, "elasticloadbalancing", "DescribeRules",
					 "{}"),
			-EPROTO);
		assert_int_equal(fixture.err.code, -EPROTO);
		assert_null(fixture.answer);
	}
	fixture_close(&fixture);
}

static void unknown_operations_are_not_sent(void **state)
{
	struct fixture fixture;

	(void)state;
	OPEN(&fixture, NULL, OK("{}"));
	assert_int_equal(call(&fixture, "Nothing", "{}"), -EINVAL);
	assert_int_equal(aws_call(fixture.target, "ec2", "ListClusters", NULL, fixture.arena,
				 &fixture.answer, NULL, NULL),
		-EINVAL);
	assert_int_equal(fixture.endpoint.count, 0);
	fixture_close(&fixture);
}

static void bad_targets_are_refused(void **state)
{
	static const struct {
		struct aws_remote_config config;
		const char *message;
	} cases[] = {
		{{.endpoint = "http://h", .access_key = "k", .secret = "s"}, "region: is missing"},
		{{.endpoint = "http://h", .region = "r", .secret = "s"}, "access key: is missing"},
		{{.endpoint = "http://h", .region = "r", .access_key = "k", .secret = ""},
			"secret: is missing"},
		{{.region = "r", .access_key = "k", .secret = "s"}, "endpoint '': must begin with"},
		{{.endpoint = "ftp://h", .region = "r", .access_key = "k", .secret = "s"},
			"endpoint 'ftp://h': must begin with"},
		{{.endpoint = "http:///x", .region = "r", .access_key = "k", .secret = "s"},
			"endpoint 'http:///x': has no host"},
		{{.endpoint = "http://u:p@h", .region = "r", .access_key = "k", .secret = "s"},
			"endpoint 'http://u:p@h': must be"},
		{{.endpoint = "http://h/?x", .region = "r", .access_key = "k", .secret = "s"},
			"endpoint 'http://h/?x': must be"},
		{{.endpoint = "http://h",
			 .region = "r",
			 .access_key = "k",
			 .secret = "s",
			 .attempts = 21},
			"attempts: at most 20"},
		{{.endpoint = "http://h",
			 .region = "r",
			 .access_key = "k",
			 .secret = "s",
			 .timeout_ms = -1},
			"calls per second, timeout: must not be negative"},
	};
	struct fixture fixture;

	(void)state;
	OPEN(&fixture, NULL, OK("{}"));
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct aws_target *target = NULL;
		struct err err = {0};

		assert_int_equal(aws_target_remote(&cases[i].config, fixture.client, fixture.runner,
					 &target, &err),
			-EINVAL);
		assert_null(target);
		if (strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("case %zu: %s", i, err.message);
	}
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_comes_back),
		cmocka_unit_test(an_empty_answer_is_an_object),
		cmocka_unit_test(a_no_is_not_repeated),
		cmocka_unit_test(what_may_pass_is_tried_again),
		cmocka_unit_test(attempts_end),
		cmocka_unit_test(waits_for_the_time_in_retry_after),
		cmocka_unit_test(what_may_have_happened_is_not_repeated),
		cmocka_unit_test(a_token_makes_attempts_one_request),
		cmocka_unit_test(silence_times_out),
		cmocka_unit_test(connection_refused),
		cmocka_unit_test(the_budget_is_kept),
		cmocka_unit_test(a_stop_ends_waiting),
		cmocka_unit_test(a_form_is_sent_and_xml_comes_back),
		cmocka_unit_test(xml_says_no),
		cmocka_unit_test(unknown_operations_are_not_sent),
		cmocka_unit_test(bad_targets_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
