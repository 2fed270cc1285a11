/*
 * Outgoing calls to the real ECS and the real Cloud Map of this process, and to the same services behind an endpoint
 * that loses answers, fails or throttles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aws/call_target.h"
#include "control/runner_simulated.h"
#include "delivery/backoff.h"
#include "delivery/outcall.h"
#include "ecs/test_server.h"

/* The behaviour of the endpoint. */
enum endpoint {
	ENDPOINT_ANSWERS,
	ENDPOINT_LOSES_THE_ANSWER,
	ENDPOINT_FAILS, /* after the call took effect */
	ENDPOINT_THROTTLES,
	ENDPOINT_IS_UNREACHABLE,
	ENDPOINT_HAS_NO_CREDENTIALS,
};

struct remote_target {
	struct aws_target target;
	struct aws_target *inner;
	enum endpoint endpoint;
};

/* A controller's record of one call. */
struct record {
	struct outcall_result result;
	bool is_outdated; /* the decision, when the intent is written */
	unsigned intents, outcomes;
	enum outcall_outcome written;
};

struct fixture {
	struct runner *runner;
	struct test_server *server;
	struct claims *claims, *others;
	struct claim claim;
	struct remote_target remote;
	struct arena *arena;
	struct err err;
};

static int remote_send(struct aws_target *target, const struct aws_call *call,
	struct json **ret_answer, struct aws_call_failure *failure, struct err *err)
{
	struct remote_target *remote = CONTAINER_OF(target, struct remote_target, target);
	struct aws_call inner = *call;
	int code;

	assert_null(call->fence); /* an endpoint knows none */
	if (remote->endpoint == ENDPOINT_IS_UNREACHABLE)
		return err_set(err, -ECONNREFUSED, "connection refused");
	if (remote->endpoint == ENDPOINT_THROTTLES)
		return aws_call_fail(call, 400, SPAN("ThrottlingException"), SPAN("Rate exceeded"),
			failure, err);
	code = remote->inner->send(remote->inner, &inner, ret_answer, failure, err);
	if (remote->endpoint == ENDPOINT_LOSES_THE_ANSWER)
		return err_set(err, -ETIMEDOUT, "no answer");
	if (remote->endpoint == ENDPOINT_FAILS)
		return aws_call_fail(call, 500, SPAN("ServerException"), SPAN("Try again"), failure,
			err);
	return code;
}

static int remote_prepare(struct aws_target *target, struct err *err)
{
	struct remote_target *remote = CONTAINER_OF(target, struct remote_target, target);

	return remote->endpoint == ENDPOINT_HAS_NO_CREDENTIALS
		       ? err_set(err, -EACCES, "role deploy cannot be assumed")
		       : 0;
}

static struct claims *start_claims(struct fixture *fixture, const char *name)
{
	const struct claims_config config = {
		.runner = fixture->runner, .store = fixture->server->store, .server = name};
	struct claims *claims;

	if (claims_start(&config, &claims, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	return claims;
}

static int setup(void **state)
{
	static const struct store_kind *const kinds[] = {&server_kind, &claim_kind};
	struct fixture *fixture = memory_allocate(sizeof(*fixture));
	struct test_server_options options = {.kinds = kinds, .kind_count = LENGTH(kinds)};

	fixture->runner = runner_simulated_new(1);
	fixture->arena = arena_new(0);
	options.clock = runner_clock(fixture->runner);
	fixture->server = test_server_new_of(&options);
	fixture->claims = start_claims(fixture, "one");
	assert_int_equal(claims_acquire(fixture->claims, SPAN("app/web"), &fixture->claim,
				 &fixture->err),
		0);
	fixture->remote.inner = aws_target_local(fixture->server->dispatcher, fixture->runner,
		&fixture->server->caller);
	fixture->remote.target = (struct aws_target){
		.runner = fixture->runner, .send = remote_send, .prepare = remote_prepare};
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	claims_stop(fixture->others);
	claims_stop(fixture->claims);
	aws_target_free(fixture->remote.inner);
	test_server_free(fixture->server);
	runner_free(fixture->runner);
	arena_free(fixture->arena);
	free(fixture);
	return 0;
}

/* Another server takes the claim, as after a crash of this one. */
static void take_the_claim_away(struct fixture *fixture)
{
	struct claim claim;

	fixture->others = start_claims(fixture, "two");
	assert_int_equal(claims_release(fixture->claims, &fixture->claim, &fixture->err), 0);
	assert_int_equal(claims_acquire(fixture->others, SPAN("app/web"), &claim, &fixture->err),
		0);
}

static struct outcall call_here(struct fixture *fixture, const char *service)
{
	return (struct outcall){.claims = fixture->claims,
		.claim = &fixture->claim,
		.target = fixture->remote.inner,
		.service = service,
		.arena = fixture->arena};
}

static struct outcall call_there(struct fixture *fixture, const char *service,
	enum endpoint endpoint)
{
	struct outcall call = call_here(fixture, service);

	fixture->remote.endpoint = endpoint;
	call.target = &fixture->remote.target;
	call.is_remote = true;
	return call;
}

static const struct json *named(struct fixture *fixture, const char *member, const char *name)
{
	struct json *request = json_new_object(fixture->arena);

	json_set_string(fixture->arena, request, member, span_of(name));
	return request;
}

static size_t count_clusters(struct fixture *fixture)
{
	struct outcall call = call_here(fixture, "ecs");
	struct aws_call_failure failure;
	struct json *answer;

	assert_int_equal(outcall_read(&call, "ListClusters", NULL, &answer, &failure,
				 &fixture->err),
		0);
	return json_count(json_get(answer, "clusterArns"));
}

static size_t count_namespaces(struct fixture *fixture)
{
	struct outcall call = call_here(fixture, "servicediscovery");
	struct aws_call_failure failure;
	struct json *answer;

	assert_int_equal(outcall_read(&call, "ListNamespaces", NULL, &answer, &failure,
				 &fixture->err),
		0);
	return json_count(json_get(answer, "Namespaces"));
}

/* ---- sending ---- */

static void a_call_of_ecs_is_done(void **state)
{
	struct fixture *fixture = *state;
	struct outcall call = call_here(fixture, "ecs");
	struct outcall_result result;

	assert_int_equal(outcall_prepare(&call, &fixture->err), 0);
	assert_int_equal(outcall_send(&call, "CreateCluster", named(fixture, "clusterName", "web"),
				 &result, &fixture->err),
		0);
	assert_int_equal(result.outcome, OUTCALL_DONE);
	assert_int_equal(result.code, 0);
	assert_true(span_is(json_text(json_path(result.answer, "cluster.clusterName")), "web"));
	assert_true(span_is(result.reason, ""));
	assert_int_equal(count_clusters(fixture), 1);
}

static void a_call_of_cloud_map_is_done(void **state)
{
	struct fixture *fixture = *state;
	struct outcall call = call_here(fixture, "servicediscovery");
	struct outcall_result result;

	assert_int_equal(outcall_send(&call, "CreateHttpNamespace",
				 named(fixture, "Name", "shop.internal"), &result, &fixture->err),
		0);
	assert_int_equal(result.outcome, OUTCALL_DONE);
	assert_true(json_get_text(result.answer, "OperationId").length > 0);
	assert_int_equal(count_namespaces(fixture), 1);
}

static void a_refusal_has_its_type_and_reason(void **state)
{
	static const struct {
		const char *service, *operation, *member, *error_type;
	} rows[] = {
		{"ecs", "DeleteCluster", "cluster", "ClusterNotFoundException"},
		{"servicediscovery", "DeleteNamespace", "Id", "NamespaceNotFound"},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct outcall call = call_here(fixture, rows[i].service);
		struct outcall_result result;

		assert_int_equal(outcall_send(&call, rows[i].operation,
					 named(fixture, rows[i].member, "missing"), &result,
					 &fixture->err),
			0);
		assert_int_equal(result.outcome, OUTCALL_REFUSED);
		assert_int_equal(result.code, -EREMOTEIO);
		assert_true(span_is(result.error_type, rows[i].error_type));
		assert_true(span_starts_with(result.reason, result.error_type));
		assert_null(result.answer);
		assert_false(result.is_unavailable);
	}
}

static void an_endpoint_is_classified(void **state)
{
	static const struct {
		enum endpoint endpoint;
		enum outcall_outcome outcome;
		int code;
		bool is_unavailable;
	} rows[] = {
		{ENDPOINT_ANSWERS, OUTCALL_DONE, 0, false},
		{ENDPOINT_LOSES_THE_ANSWER, OUTCALL_UNKNOWN, -ETIMEDOUT, true},
		{ENDPOINT_FAILS, OUTCALL_UNKNOWN, -EREMOTEIO, true},
		{ENDPOINT_THROTTLES, OUTCALL_REFUSED, -EREMOTEIO, true},
		{ENDPOINT_IS_UNREACHABLE, OUTCALL_REFUSED, -ECONNREFUSED, true},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct outcall ecs = call_there(fixture, "ecs", rows[i].endpoint);
		struct outcall cloudmap = call_there(fixture, "servicediscovery", rows[i].endpoint);
		struct span name = arena_format(fixture->arena, "name-%zu", i);
		struct outcall_result results[2];

		assert_int_equal(outcall_send(&ecs, "CreateCluster",
					 named(fixture, "clusterName", name.data), &results[0],
					 &fixture->err),
			0);
		assert_int_equal(outcall_send(&cloudmap, "CreateHttpNamespace",
					 named(fixture, "Name", name.data), &results[1],
					 &fixture->err),
			0);
		for (size_t j = 0; j < LENGTH(results); j++) {
			assert_int_equal(results[j].outcome, rows[i].outcome);
			assert_int_equal(results[j].code, rows[i].code);
			assert_int_equal(results[j].is_unavailable, rows[i].is_unavailable);
			assert_int_equal(results[j].reason.length > 0, rows[i].code < 0);
		}
	}
	/* Two of the calls without an answer took effect. */
	assert_int_equal(count_clusters(fixture), 3);
	assert_int_equal(count_namespaces(fixture), 3);
}

static void a_lost_claim_stops_the_call(void **state)
{
	struct fixture *fixture = *state;
	struct outcall here = call_here(fixture, "servicediscovery");
	struct outcall there = call_there(fixture, "servicediscovery", ENDPOINT_ANSWERS);
	struct outcall_result result;

	take_the_claim_away(fixture);
	assert_int_equal(outcall_send(&here, "CreateHttpNamespace", named(fixture, "Name", "a"),
				 &result, &fixture->err),
		-ESTALE);
	assert_int_equal(outcall_send(&there, "CreateHttpNamespace", named(fixture, "Name", "a"),
				 &result, &fixture->err),
		-ESTALE);
	assert_int_equal(count_namespaces(fixture), 0);
}

/* ---- with records ---- */

static int put_intent(struct store_transaction *transaction, void *context, struct err *err)
{
	struct record *record = context;

	(void)transaction;
	if (record->is_outdated)
		return err_set(err, -ESTALE, "the stage was canceled");
	record->intents++;
	return 0;
}

static int put_outcome(struct store_transaction *transaction, void *context, struct err *err)
{
	struct record *record = context;

	(void)transaction;
	(void)err;
	record->outcomes++;
	record->written = record->result.outcome;
	return 0;
}

static int run_create(struct fixture *fixture, const struct outcall *call, struct record *record)
{
	const struct outcall_records records = {put_intent, put_outcome, record};

	return outcall_run(call, "CreateHttpNamespace", named(fixture, "Name", "shop"), &records,
		&record->result, &fixture->err);
}

static void a_run_writes_the_intent_and_the_outcome(void **state)
{
	struct fixture *fixture = *state;
	struct outcall call = call_here(fixture, "servicediscovery");
	struct record record = {0};

	assert_int_equal(run_create(fixture, &call, &record), 0);
	assert_int_equal(record.intents, 1);
	assert_int_equal(record.outcomes, 1);
	assert_int_equal(record.written, OUTCALL_DONE);
	assert_int_equal(count_namespaces(fixture), 1);
	call = call_there(fixture, "servicediscovery", ENDPOINT_LOSES_THE_ANSWER);
	assert_int_equal(run_create(fixture, &call, &record), 0);
	assert_int_equal(record.written, OUTCALL_UNKNOWN);
}

static void a_run_without_credentials_writes_no_intent(void **state)
{
	struct fixture *fixture = *state;
	struct outcall call = call_there(fixture, "servicediscovery", ENDPOINT_HAS_NO_CREDENTIALS);
	struct record record = {0};

	assert_int_equal(run_create(fixture, &call, &record), 0);
	assert_int_equal(record.intents, 0);
	assert_int_equal(record.outcomes, 1);
	assert_int_equal(record.written, OUTCALL_REFUSED);
	assert_true(span_is(record.result.reason, "role deploy cannot be assumed"));
	assert_int_equal(count_namespaces(fixture), 0);
}

static void a_run_with_an_outdated_decision_calls_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct outcall call = call_here(fixture, "servicediscovery");
	struct record record = {.is_outdated = true};

	assert_int_equal(run_create(fixture, &call, &record), -ESTALE);
	assert_int_equal(record.outcomes, 0);
	assert_int_equal(count_namespaces(fixture), 0);
}

/* ---- limits ---- */

static void slots_are_limited(void **state)
{
	struct outcall_slots slots;

	(void)state;
	outcall_slots_init(&slots, 2);
	assert_true(outcall_slots_enter(&slots));
	assert_true(outcall_slots_enter(&slots));
	assert_false(outcall_slots_enter(&slots));
	outcall_slots_leave(&slots);
	assert_true(outcall_slots_enter(&slots));
	outcall_slots_destroy(&slots);
}

static void backoff_doubles_up_to_its_limit(void **state)
{
	const struct backoff backoff = {.first_ms = 1000, .most_ms = 15000};

	(void)state;
	assert_int_equal(backoff_ms(backoff, 0), 0);
	assert_int_equal(backoff_ms(backoff, 1), 1000);
	assert_int_equal(backoff_ms(backoff, 2), 2000);
	assert_int_equal(backoff_ms(backoff, 4), 8000);
	assert_int_equal(backoff_ms(backoff, 5), 15000);
	assert_int_equal(backoff_ms(backoff, INT64_MAX), 15000);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_call_of_ecs_is_done),
		TEST(a_call_of_cloud_map_is_done),
		TEST(a_refusal_has_its_type_and_reason),
		TEST(an_endpoint_is_classified),
		TEST(a_lost_claim_stops_the_call),
		TEST(a_run_writes_the_intent_and_the_outcome),
		TEST(a_run_without_credentials_writes_no_intent),
		TEST(a_run_with_an_outdated_decision_calls_nothing),
		cmocka_unit_test(slots_are_limited),
		cmocka_unit_test(backoff_doubles_up_to_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
