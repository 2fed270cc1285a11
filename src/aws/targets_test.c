/*
 * Remote targets, against an endpoint that is STS and ECS at once and verifies signatures: keys
 * from their sources, roles that are assumed, kept and renewed, and the errors when they cannot be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aws/query_form.h"
#include "aws/signer.h"
#include "aws/targets.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/memory.h"
#include "io/http_server.h"

#define KEY_ID "AKIDEXAMPLE"
#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define ROLE "arn:aws:iam::111122223333:role/deploys"
#define OTHER_ROLE "arn:aws:iam::111122223333:role/log"
#define HOUR_MS INT64_C(3600000)

/* ---- time that a test can move ---- */

struct moved_clock {
	struct clock clock;
	_Atomic int64_t by_ms;
};

static int64_t moved_wall_ms(struct clock *clock)
{
	return clock_wall_ms(clock_system()) +
	       CONTAINER_OF(clock, struct moved_clock, clock)->by_ms;
}

static int64_t moved_steady_us(struct clock *clock)
{
	return clock_steady_us(clock_system()) +
	       CONTAINER_OF(clock, struct moved_clock, clock)->by_ms * 1000;
}

/* ---- the endpoint ---- */

struct fixture {
	struct moved_clock clock;
	struct runner *runner;
	struct http_client *client;
	struct http_server *server;
	char url[64], sts_url[80], cloudmap_url[80], folder[64], secret_path[96], profile_path[96];
	struct aws_target_settings settings;
	struct aws_targets *targets;
	struct arena *arena;
	struct err err;
	struct aws_call_failure failure;
	struct json *answer;

	struct lock lock;            /* for all below: the endpoint's own */
	const char *key_secret;      /* of KEY_ID */
	unsigned sessions;           /* given out so far; the number is in their names */
	unsigned session_least;      /* older ones are refused as expired */
	unsigned assumed, requested; /* authenticated calls of either kind */
	unsigned cloudmap_requested; /* of the latter: at the path /cloudmap */
	bool denies;                 /* AssumeRole */
	int64_t lasts_ms;            /* of a session */
	char said[4][128]; /* role, session name, external id, access key of the last AssumeRole */
	char signer[64], token[64]; /* of the last call of ECS */
	unsigned throttles;
	bool retry_after; /* they say: in a minute */
};

static struct span header(const struct http_request *request, const char *name)
{
	return http_request_header(request, span_of(name));
}

/* "ASIA7" and "secret-7" are a session, whose token is "token-7". */
static bool is_trusted(struct fixture *fixture, const struct http_request *request,
	const char *service, struct sigv4_claim *ret_claim)
{
	struct sigv4_header headers[32];
	struct sigv4_request form = {.method = request->method,
		.path = request->path,
		.query = SPAN(""),
		.headers = headers,
		.header_count = request->header_count,
		.body = request->body};
	char secret[64], token[64] = "";
	struct sigv4_failure failure;
	uint64_t number = 0;

	assert_true(request->header_count <= LENGTH(headers));
	for (size_t i = 0; i < request->header_count; i++)
		headers[i] =
			(struct sigv4_header){request->headers[i].name, request->headers[i].value};
	if (sigv4_read(&form, ret_claim, &failure) < 0)
		return false;
	snprintf(secret, sizeof(secret), "%s", fixture->key_secret);
	if (!span_is(ret_claim->access_key, KEY_ID)) {
		if (!span_starts_with(ret_claim->access_key, SPAN("ASIA")) ||
			!span_to_unsigned((struct span){ret_claim->access_key.data + 4,
						  ret_claim->access_key.length - 4},
				1000, &number) ||
			number < fixture->session_least || number > fixture->sessions)
			return false;
		snprintf(secret, sizeof(secret), "secret-%d", (int)number);
		snprintf(token, sizeof(token), "token-%d", (int)number);
	}
	return span_equal(ret_claim->session_token.data ? ret_claim->session_token : SPAN(""),
		       span_of(token)) &&
	       sigv4_verify(&form, ret_claim, span_of(secret), clock_wall_ms(&fixture->clock.clock),
		       NULL, &failure) == 0 &&
	       sigv4_check_service(ret_claim, service, &failure) == 0;
}

static void answer(struct http_exchange *exchange, int status, const char *type, const char *text)
{
	struct http_header headers[] = {{SPAN("content-type"), span_of(type)}};

	http_respond_text(exchange, status, headers, 1, span_of(text));
}

static void refuse_sts(struct http_exchange *exchange, const char *code, const char *message)
{
	char text[512];

	snprintf(text, sizeof(text),
		"<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>"
		"Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>r</RequestId>"
		"</ErrorResponse>",
		code, message);
	answer(exchange, 403, "text/xml", text);
}

/* A value of the form, into a text of 128 characters. */
static void read_form(const struct http_request *request, const char *name, char *out)
{
	struct span rest = request->body, pair, key, value;

	out[0] = '\0';
	while (rest.length > 0) {
		size_t length = 0;

		if (!span_split(rest, '&', &pair, &rest)) {
			pair = rest;
			rest = SPAN("");
		}
		if (!span_split(pair, '=', &key, &value) || !span_is(key, name))
			continue;
		for (size_t i = 0; i < value.length && length < 127; i++) {
			unsigned code = 0;

			if (value.data[i] == '%' && i + 2 < value.length) {
				assert_int_equal(sscanf(value.data + i + 1, "%2x", &code), 1);
				out[length++] = (char)code;
				i += 2;
			} else {
				out[length++] = value.data[i];
			}
		}
		out[length] = '\0';
	}
}

static void assume(struct fixture *fixture, struct http_exchange *exchange,
	const struct http_request *request, const struct sigv4_claim *claim)
{
	char text[1024], ends[CLOCK_ISO_SIZE], action[128];

	read_form(request, "Action", action);
	assert_string_equal(action, "AssumeRole");
	read_form(request, "RoleArn", fixture->said[0]);
	read_form(request, "RoleSessionName", fixture->said[1]);
	read_form(request, "ExternalId", fixture->said[2]);
	snprintf(fixture->said[3], sizeof(fixture->said[3]), "%.*s", SPAN_ARGS(claim->access_key));
	fixture->assumed++;
	if (fixture->denies) {
		refuse_sts(exchange, "AccessDenied",
			"is not authorized to perform: sts:AssumeRole");
		return;
	}
	fixture->sessions++;
	clock_format_iso(clock_wall_ms(&fixture->clock.clock) + fixture->lasts_ms, ends);
	snprintf(text, sizeof(text),
		"<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
		"<AssumeRoleResult><Credentials><AccessKeyId>ASIA%u</AccessKeyId><SecretAccessKey>"
		"secret-%u</SecretAccessKey><SessionToken>token-%u</SessionToken><Expiration>%s"
		"</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>",
		fixture->sessions, fixture->sessions, fixture->sessions, ends);
	answer(exchange, 200, "text/xml", text);
}

static void serve(struct http_exchange *exchange, const struct http_request *request, void *context)
{
	struct fixture *fixture = context;
	bool is_sts = span_is(request->path, "/sts"),
	     is_cloudmap = span_is(request->path, "/cloudmap");
	struct sigv4_claim claim;

	lock_take(&fixture->lock);
	if (!is_trusted(fixture, request,
		    is_sts        ? "sts"
		    : is_cloudmap ? "servicediscovery"
				  : "ecs",
		    &claim)) {
		if (is_sts)
			refuse_sts(exchange, "InvalidClientTokenId", "no such key");
		else
			answer(exchange, 400, "application/x-amz-json-1.1",
				"{\"__type\":\"UnrecognizedClientException\",\"message\":\"no\"}");
	} else if (is_sts) {
		assume(fixture, exchange, request, &claim);
	} else if (fixture->throttles > 0) {
		struct http_header later = {SPAN("retry-after"), SPAN("60")};

		fixture->throttles--;
		http_respond_text(exchange, 400, &later, fixture->retry_after,
			SPAN("{\"__type\":\"ThrottlingException\"}"));
	} else {
		fixture->requested++;
		fixture->cloudmap_requested += is_cloudmap;
		snprintf(fixture->signer, sizeof(fixture->signer), "%.*s",
			SPAN_ARGS(claim.access_key));
		snprintf(fixture->token, sizeof(fixture->token), "%.*s",
			(int)header(request, "x-amz-security-token").length,
			header(request, "x-amz-security-token").data
				? header(request, "x-amz-security-token").data
				: "");
		answer(exchange, 200, "application/x-amz-json-1.1", "{\"clusterArns\":[]}");
	}
	lock_release(&fixture->lock);
}

/* ---- the fixture ---- */

static void write_file(const char *path, const char *text)
{
	struct err err;

	assert_int_equal(file_replace(path, span_of(text), 0600, &err), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));
	struct http_server_config config = {.handler = serve, .context = fixture};

	fixture->clock.clock =
		(struct clock){.wall_ms = moved_wall_ms, .steady_us = moved_steady_us};
	fixture->runner = runner_threads_new(&fixture->clock.clock, random_system());
	lock_init(&fixture->lock);
	fixture->key_secret = SECRET;
	fixture->lasts_ms = HOUR_MS;
	fixture->arena = arena_new(0);
	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/slipway-targets-XXXXXX");
	if (!mkdtemp(fixture->folder) || http_client_new(&fixture->client, &fixture->err) < 0 ||
		http_server_open(&config, &fixture->server, &fixture->err) < 0)
		return -1;
	snprintf(fixture->secret_path, sizeof(fixture->secret_path), "%s/secret", fixture->folder);
	snprintf(fixture->profile_path, sizeof(fixture->profile_path), "%s/credentials",
		fixture->folder);
	write_file(fixture->secret_path, SECRET "\n");
	snprintf(fixture->url, sizeof(fixture->url), "http://127.0.0.1:%u",
		http_server_port(fixture->server));
	snprintf(fixture->cloudmap_url, sizeof(fixture->cloudmap_url), "%s/cloudmap", fixture->url);
	snprintf(fixture->sts_url, sizeof(fixture->sts_url), "%s/sts", fixture->url);
	fixture->settings = (struct aws_target_settings){.name = "prod",
		.region = "eu-west-1",
		.account = "111122223333",
		.endpoint = fixture->url,
		.sts_endpoint = fixture->sts_url,
		.key = {.access_key = KEY_ID, .secret_file = fixture->secret_path},
		.calls_per_second = 100000};
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	aws_targets_free(fixture->targets);
	http_client_free(fixture->client);
	http_server_close(fixture->server);
	runner_free(fixture->runner);
	unlink(fixture->secret_path);
	unlink(fixture->profile_path);
	rmdir(fixture->folder);
	arena_free(fixture->arena);
	lock_destroy(&fixture->lock);
	free(fixture);
	return 0;
}

static void open_targets(struct fixture *fixture)
{
	if (aws_targets_new(&fixture->settings, 1, fixture->client, fixture->runner,
		    &fixture->targets, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
}

static struct aws_target *target_of(struct fixture *fixture, const char *role,
	enum aws_target_use use)
{
	struct aws_target *target = NULL;

	if (aws_targets_get(fixture->targets, SPAN("prod"), span_of(role), use, &target,
		    &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	return target;
}

static int ask(struct fixture *fixture, const char *role)
{
	fixture->err = (struct err){0};
	return aws_call(target_of(fixture, role, AWS_TARGET_READS), "ecs", "ListClusters", NULL,
		fixture->arena, &fixture->answer, &fixture->failure, &fixture->err);
}

static void assert_answered(struct fixture *fixture, const char *role)
{
	if (ask(fixture, role) < 0)
		fail_msg("%s", fixture->err.message);
}

static void assert_reported(struct fixture *fixture, const char *text)
{
	if (!strstr(fixture->err.message, text))
		fail_msg("'%s' does not say '%s'", fixture->err.message, text);
	assert_null(strstr(fixture->err.message, SECRET));
}

/* ---- keys ---- */

static void a_key_is_read_again(void **state)
{
	struct fixture *fixture = *state;

	open_targets(fixture);
	assert_answered(fixture, "");
	assert_string_equal(fixture->signer, KEY_ID);
	assert_string_equal(fixture->token, "");
	assert_int_equal(fixture->assumed, 0);
	/* Replaced on both sides: the first attempt is refused, and the new one read. */
	fixture->key_secret = "another-secret";
	write_file(fixture->secret_path, "another-secret");
	fixture->clock.by_ms += AWS_SIGNER_KEY_MS;
	assert_answered(fixture, "");
}

static void a_missing_key_is_reported_and_read_again(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->secret_path);
	open_targets(fixture);
	assert_int_equal(ask(fixture, ""), -EACCES);
	assert_reported(fixture, "secretFile");
	assert_reported(fixture, fixture->secret_path);
	assert_true(aws_call_was_not_sent(-EACCES));
	write_file(fixture->secret_path, SECRET);
	/* No immediate retry. */
	assert_int_equal(ask(fixture, ""), -EACCES);
	fixture->clock.by_ms += AWS_SIGNER_AGAIN_MS;
	assert_answered(fixture, "");
}

static void keys_come_from_variables(void **state)
{
	struct fixture *fixture = *state;
	struct aws_key_source variable = {.access_key = "A", .secret_variable = "TARGETS_TEST_KEY"};
	struct sigv4_credentials found;

	assert_int_equal(aws_key_source_read(&variable, fixture->arena, &found, &fixture->err),
		-ENOENT);
	assert_reported(fixture, "secretVariable 'TARGETS_TEST_KEY'");
	setenv("TARGETS_TEST_KEY", "hush", 1);
	assert_int_equal(aws_key_source_read(&variable, fixture->arena, &found, &fixture->err), 0);
	assert_true(span_is(found.secret, "hush"));
	unsetenv("TARGETS_TEST_KEY");
}

static void a_secret_of_two_lines_is_none(void **state)
{
	struct fixture *fixture = *state;
	struct sigv4_credentials found;

	write_file(fixture->secret_path, SECRET "\n" SECRET "\n");
	assert_int_equal(aws_key_source_read(&fixture->settings.key, fixture->arena, &found,
				 &fixture->err),
		-EINVAL);
	assert_reported(fixture, "more than one line");
}

/* ---- roles ---- */

static void a_role_is_assumed_once(void **state)
{
	struct fixture *fixture = *state;

	fixture->settings.role = ROLE;
	fixture->settings.external_id = "ticket 7";
	open_targets(fixture);
	for (int i = 0; i < 3; i++)
		assert_answered(fixture, "");
	assert_int_equal(fixture->assumed, 1);
	assert_string_equal(fixture->said[0], ROLE);
	assert_string_equal(fixture->said[1], "slipway-prod");
	assert_string_equal(fixture->said[2], "ticket 7");
	assert_string_equal(fixture->said[3], KEY_ID);
	assert_string_equal(fixture->signer, "ASIA1");
	assert_string_equal(fixture->token, "token-1");
}

/* The role of an environment is assumed from the target's own, and each has its session. */
static void a_role_from_a_role(void **state)
{
	struct fixture *fixture = *state;

	fixture->settings.role = ROLE;
	open_targets(fixture);
	assert_answered(fixture, OTHER_ROLE);
	assert_string_equal(fixture->said[0], OTHER_ROLE);
	assert_string_equal(fixture->said[3], "ASIA1");
	assert_string_equal(fixture->signer, "ASIA2");
	assert_answered(fixture, "");
	assert_string_equal(fixture->signer, "ASIA1");
	assert_int_equal(fixture->assumed, 2);
	assert_ptr_equal(target_of(fixture, OTHER_ROLE, AWS_TARGET_READS),
		target_of(fixture, OTHER_ROLE, AWS_TARGET_READS));
	assert_ptr_not_equal(target_of(fixture, OTHER_ROLE, AWS_TARGET_READS),
		target_of(fixture, OTHER_ROLE, AWS_TARGET_WRITES));
}

static void a_session_is_renewed_before_it_ends(void **state)
{
	struct fixture *fixture = *state;

	fixture->settings.role = ROLE;
	open_targets(fixture);
	assert_answered(fixture, "");
	fixture->clock.by_ms += HOUR_MS - AWS_SIGNER_MARGIN_MS - 60000;
	assert_answered(fixture, "");
	assert_string_equal(fixture->signer, "ASIA1");
	fixture->clock.by_ms += 60000;
	/* It cannot be renewed just now, and is good for some more minutes. */
	fixture->denies = true;
	assert_answered(fixture, "");
	assert_string_equal(fixture->signer, "ASIA1");
	assert_int_equal(fixture->assumed, 2);
	fixture->denies = false;
	fixture->clock.by_ms += AWS_SIGNER_AGAIN_MS;
	assert_answered(fixture, "");
	assert_string_equal(fixture->signer, "ASIA2");
}

static void a_session_that_was_revoked_is_renewed(void **state)
{
	struct fixture *fixture = *state;

	fixture->settings.role = ROLE;
	open_targets(fixture);
	assert_answered(fixture, "");
	fixture->session_least = 2;
	assert_answered(fixture, "");
	assert_string_equal(fixture->signer, "ASIA2");
	/* But not again and again. */
	fixture->session_least = 1000;
	assert_int_equal(ask(fixture, ""), -EREMOTEIO);
	assert_string_equal(fixture->failure.type, "UnrecognizedClientException");
	assert_int_equal(fixture->assumed, 3);
}

static void a_denied_role_is_reported_and_retried_seldom(void **state)
{
	struct fixture *fixture = *state;
	struct aws_target *target;

	fixture->settings.role = ROLE;
	fixture->denies = true;
	open_targets(fixture);
	target = target_of(fixture, "", AWS_TARGET_WRITES);
	assert_int_equal(aws_target_prepare(target, &fixture->err), -EACCES);
	assert_reported(fixture, "role '" ROLE "': sts AssumeRole: AccessDeniedException (403)");
	for (int i = 0; i < 50; i++) {
		assert_int_equal(ask(fixture, ""), -EACCES);
		assert_reported(fixture, "AccessDenied");
	}
	assert_int_equal(fixture->assumed, 1);
	for (int i = 0; i < 600; i++) {
		fixture->clock.by_ms += 1000;
		ask(fixture, "");
	}
	assert_in_range(fixture->assumed, 10, 20);
	assert_int_equal(fixture->requested, 0);
	fixture->denies = false;
	fixture->clock.by_ms += AWS_SIGNER_AGAIN_MOST_MS;
	assert_answered(fixture, "");
}

struct crowd {
	struct fixture *fixture;
	_Atomic unsigned answered;
};

static void ask_in_crowd(void *context)
{
	struct crowd *crowd = context;
	_arena_ struct arena *arena = arena_new(0);
	struct json *requested;

	crowd->answered += aws_call(target_of(crowd->fixture, OTHER_ROLE, AWS_TARGET_READS), "ecs",
				   "ListClusters", NULL, arena, &requested, NULL, NULL) == 0;
}

static void a_crowd_assumes_a_role_once(void **state)
{
	struct fixture *fixture = *state;
	struct crowd crowd = {.fixture = fixture};

	open_targets(fixture);
	for (int i = 0; i < 16; i++)
		assert_int_equal(runner_spawn(fixture->runner, "asker", ask_in_crowd, &crowd,
					 &fixture->err),
			0);
	assert_int_equal(runner_join(fixture->runner, &fixture->err), 0);
	assert_int_equal(crowd.answered, 16);
	assert_int_equal(fixture->assumed, 1);
}

/* ---- writes, names ---- */

static void a_write_ends_in_time(void **state)
{
	struct fixture *fixture = *state;
	int64_t began_us = clock_steady_us(clock_system()), took_us;
	struct json *requested;

	fixture->throttles = 1000;
	open_targets(fixture);
	assert_int_equal(aws_call(target_of(fixture, "", AWS_TARGET_WRITES), "ecs", "StopTask",
				 NULL, fixture->arena, &requested, &fixture->failure,
				 &fixture->err),
		-EREMOTEIO);
	assert_string_equal(fixture->failure.type, "ThrottlingException");
	took_us = clock_steady_us(clock_system()) - began_us;
	assert_true(took_us < (AWS_TARGETS_WRITE_MS + 1000) * INT64_C(1000));
}

static void targets_are_found_by_name(void **state)
{
	static const char *const accounts[] = {"123456789012", "222222222222"};
	struct fixture *fixture = *state;
	struct aws_target *target;

	fixture->settings.accounts = accounts;
	fixture->settings.account_count = 2;
	open_targets(fixture);
	assert_null(aws_targets_find(fixture->targets, SPAN("pro")));
	assert_null(aws_targets_find(NULL, SPAN("prod")));
	assert_ptr_equal(aws_targets_find(fixture->targets, SPAN("prod")), &fixture->settings);
	assert_true(aws_target_settings_allow(&fixture->settings, SPAN("222222222222")));
	assert_false(aws_target_settings_allow(&fixture->settings, SPAN("333333333333")));
	assert_int_equal(aws_targets_get(fixture->targets, SPAN("none"), SPAN(""), AWS_TARGET_READS,
				 &target, &fixture->err),
		-ENOENT);
	assert_reported(fixture, "there is no target 'none'");
}

static void endpoints_are_those_of_aws(void **state)
{
	struct fixture *fixture = *state;

	assert_true(span_is(aws_endpoint_of(fixture->arena, "ecs", SPAN("eu-west-1")),
		"https://ecs.eu-west-1.amazonaws.com"));
	assert_true(span_is(aws_endpoint_of(fixture->arena, "sts", SPAN("cn-north-1")),
		"https://sts.cn-north-1.amazonaws.com.cn"));
	fixture->settings.endpoint = "ftp://x";
	assert_int_equal(aws_targets_new(&fixture->settings, 1, fixture->client, fixture->runner,
				 &fixture->targets, &fixture->err),
		-EINVAL);
	assert_reported(fixture, "target 'prod': endpoint 'ftp://x'");
}

static void a_service_has_its_own_endpoint(void **state)
{
	struct fixture *fixture = *state;

	fixture->settings.cloudmap_endpoint = fixture->cloudmap_url;
	open_targets(fixture);
	assert_answered(fixture, "");
	assert_int_equal(fixture->cloudmap_requested, 0);
	if (aws_call(target_of(fixture, "", AWS_TARGET_READS), "servicediscovery", "ListServices",
		    NULL, fixture->arena, &fixture->answer, &fixture->failure, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	assert_int_equal(fixture->cloudmap_requested, 1);
	assert_int_equal(fixture->requested, 2);
}

/* Neither the wait before a retry nor the wait for another session delays an end. */
static void cancelled_while_it_waits(void **state)
{
	struct fixture *fixture = *state;
	struct crowd crowd = {.fixture = fixture};
	int64_t began_us;

	fixture->throttles = 1000;
	fixture->retry_after = true;
	open_targets(fixture);
	for (int i = 0; i < 4; i++)
		assert_int_equal(runner_spawn(fixture->runner, "asker", ask_in_crowd, &crowd,
					 &fixture->err),
			0);
	for (bool waits = false; !waits;) {
		usleep(1000);
		lock_take(&fixture->lock);
		waits = fixture->throttles <= 996;
		lock_release(&fixture->lock);
	}
	began_us = clock_steady_us(clock_system());
	aws_targets_cancel(fixture->targets);
	assert_int_equal(runner_join(fixture->runner, &fixture->err), 0);
	assert_true(clock_steady_us(clock_system()) - began_us < 30 * INT64_C(1000000));
	assert_int_equal(crowd.answered, 0);
}

static void cancelled_for_good(void **state)
{
	struct fixture *fixture = *state;

	open_targets(fixture);
	assert_answered(fixture, "");
	aws_targets_cancel(fixture->targets);
	assert_int_equal(ask(fixture, ""), -ECANCELED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_key_is_read_again),
		TEST(a_missing_key_is_reported_and_read_again),
		TEST(keys_come_from_variables),
		TEST(a_secret_of_two_lines_is_none),
		TEST(a_role_is_assumed_once),
		TEST(a_role_from_a_role),
		TEST(a_session_is_renewed_before_it_ends),
		TEST(a_session_that_was_revoked_is_renewed),
		TEST(a_denied_role_is_reported_and_retried_seldom),
		TEST(a_crowd_assumes_a_role_once),
		TEST(a_write_ends_in_time),
		TEST(targets_are_found_by_name),
		TEST(endpoints_are_those_of_aws),
		TEST(a_service_has_its_own_endpoint),
		TEST(cancelled_while_it_waits),
		TEST(cancelled_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
