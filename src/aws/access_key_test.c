#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "aws/access_key.h"
#include "aws/policy.h"
#include "base/memory.h"
#include "base/random.h"

static const struct store_kind *const kinds[] = {&access_key_kind};

#define NOW INT64_C(1440938160000)
#define INVALID_TOKEN "The security token included in the request is invalid."
#define POLICY                                                                                     \
	"{\"Statement\":\n{\"Effect\":\"Allow\",\"Action\":\"ecs:List*\",\"Resource\":\"*\"}}"
#define OTHER_POLICY                                                                               \
	"{\"Statement\":{\"Effect\":\"Allow\",\"Action\":\"ecs:Run*\",\"Resource\":\"*\"}}"

struct fixture {
	struct store *store;
	struct clock_manual clock;
	struct access_key_ring *ring;
};

static struct fixture *fixture_new(bool inline_writes)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));
	struct store_config config = {
		.url = "memory:",
		.kinds = kinds,
		.kind_count = LENGTH(kinds),
		.clock = clock_system(),
		.inline_writes = inline_writes,
	};
	struct err err = {0};

	if (store_open(&config, &fixture->store, &err) < 0)
		fail_msg("%s", err.message);
	clock_manual_init(&fixture->clock, NOW);
	fixture->ring = access_key_ring_new(fixture->store, &fixture->clock.clock);
	return fixture;
}

static void fixture_free(struct fixture *fixture)
{
	access_key_ring_free(fixture->ring);
	store_close(fixture->store);
	free(fixture);
}

static int put(struct store_transaction *transaction, void *context, struct err *err)
{
	return access_key_put(transaction, context, NOW, err);
}

static void add_key(struct fixture *fixture, struct access_key_new *key)
{
	struct err err = {0};

	if (!key->id[0] && access_key_make(key, random_system(), &err) < 0)
		fail_msg("%s", err.message);
	if (store_write_wait(fixture->store, put, key, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

struct deletion {
	struct span account, id;
};

static int delete_key(struct store_transaction *transaction, void *context, struct err *err)
{
	struct deletion *deletion = context;

	return access_key_delete(transaction, deletion->account, deletion->id, err);
}

static int remove_key(struct fixture *fixture, const char *account, const char *id)
{
	struct deletion deletion = {span_of(account), span_of(id)};
	struct err err;

	return store_write_wait(fixture->store, delete_key, &deletion, NULL, &err);
}

/* Signs with what is given and authenticates. */
static int ask(struct fixture *fixture, const char *id, const char *secret, const char *token,
	struct arena *arena, struct aws_caller *ret_caller, struct sigv4_failure *failure)
{
	struct sigv4_header headers[6] = {{SPAN("Host"), SPAN("localhost")}};
	struct sigv4_request request = {.method = SPAN("POST"),
		.path = SPAN("/"),
		.query = SPAN(""),
		.headers = headers,
		.header_count = 1,
		.body = SPAN("{}")};
	struct sigv4_credentials credentials = {.access_key = span_of(id),
		.secret = span_of(secret),
		.session_token = span_of(token)};
	struct sigv4_claim claim = {0};
	int code;

	request.header_count += sigv4_sign(&request, &credentials, SPAN("eu-west-1"), SPAN("ecs"),
		NOW, arena, headers + 1);
	*failure = (struct sigv4_failure){0};
	*ret_caller = (struct aws_caller){0};
	code = access_key_authenticate(fixture->ring, &request, arena, &claim, ret_caller, failure);
	if (code == 0)
		assert_true(span_is(claim.service, "ecs"));
	else
		assert_null(claim.service.data);
	return code;
}

static void a_key_identifies_its_caller(void **state)
{
	struct fixture *fixture = fixture_new(true);
	_arena_ struct arena *arena = arena_new(0);
	struct access_key_new key = {.account = SPAN("123456789012"), .user = SPAN("admin")};
	struct aws_caller caller;
	struct sigv4_failure failure;

	(void)state;
	add_key(fixture, &key);
	assert_int_equal(strlen(key.id), 20);
	assert_memory_equal(key.id, "AKIA", 4);
	assert_int_equal(strlen(key.secret), 40);
	assert_int_equal(ask(fixture, key.id, key.secret, NULL, arena, &caller, &failure), 0);
	assert_true(span_is(caller.account, "123456789012"));
	assert_true(span_is(caller.user, "admin"));
	assert_true(span_is(caller.access_key, key.id));
	assert_true(span_is(caller.region, "eu-west-1"));
	assert_null(caller.policy);
	fixture_free(fixture);
}

static void expect_refusal(struct fixture *fixture, const char *id, const char *secret,
	const char *token, const char *type, const char *message)
{
	_arena_ struct arena *arena = arena_new(0);
	struct aws_caller caller;
	struct sigv4_failure failure;

	assert_int_equal(ask(fixture, id, secret, token, arena, &caller, &failure), -EACCES);
	assert_string_equal(failure.type, type);
	assert_memory_equal(failure.message, message, strlen(message));
	assert_int_equal(failure.status, 400);
	assert_null(caller.account.data);
}

static void others_are_refused(void **state)
{
	struct fixture *fixture = fixture_new(true);
	struct access_key_new key = {.account = SPAN("123456789012"), .user = SPAN("admin")};

	(void)state;
	add_key(fixture, &key);
	expect_refusal(fixture, "AKIAUNKNOWN", key.secret, NULL, "UnrecognizedClientException",
		INVALID_TOKEN);
	expect_refusal(fixture, key.id, "wrong", NULL, "InvalidSignatureException",
		"The request signature we calculated does not match");
	/* A token that the key does not have. */
	expect_refusal(fixture, key.id, key.secret, "token", "UnrecognizedClientException",
		INVALID_TOKEN);
	/* Another account cannot delete the key. Once deleted, it authenticates no caller. */
	assert_int_equal(remove_key(fixture, "210987654321", key.id), -ENOENT);
	assert_int_equal(remove_key(fixture, "123456789012", "AKIAUNKNOWN"), -ENOENT);
	assert_int_equal(remove_key(fixture, "123456789012", key.id), 0);
	expect_refusal(fixture, key.id, key.secret, NULL, "UnrecognizedClientException",
		INVALID_TOKEN);
	fixture_free(fixture);
}

static void session_tokens_are_required_and_expire(void **state)
{
	struct fixture *fixture = fixture_new(true);
	_arena_ struct arena *arena = arena_new(0);
	struct access_key_new key = {.account = SPAN("123456789012"),
		.user = SPAN("ci"),
		.session_token = SPAN("FwoGZXIvYXdzE/+=="),
		.expires_ms = NOW + 60000};
	struct aws_caller caller;
	struct sigv4_failure failure;

	(void)state;
	add_key(fixture, &key);
	assert_memory_equal(key.id, "ASIA", 4);
	assert_int_equal(ask(fixture, key.id, key.secret, "FwoGZXIvYXdzE/+==", arena, &caller,
				 &failure),
		0);
	expect_refusal(fixture, key.id, key.secret, NULL, "UnrecognizedClientException",
		INVALID_TOKEN);
	expect_refusal(fixture, key.id, key.secret, "FwoGZXIvYXdzE/+=+",
		"UnrecognizedClientException", INVALID_TOKEN);
	clock_manual_advance_ms(&fixture->clock, 59999);
	assert_int_equal(ask(fixture, key.id, key.secret, "FwoGZXIvYXdzE/+==", arena, &caller,
				 &failure),
		0);
	clock_manual_advance_ms(&fixture->clock, 1);
	expect_refusal(fixture, key.id, key.secret, "FwoGZXIvYXdzE/+==", "ExpiredTokenException",
		"The security token included in the request is expired");
	/* A client that cannot sign learns nothing about the expiry. */
	expect_refusal(fixture, key.id, "wrong", "FwoGZXIvYXdzE/+==", "InvalidSignatureException",
		"The request signature");
	fixture_free(fixture);
}

static void policies_come_with_the_key(void **state)
{
	struct fixture *fixture = fixture_new(true);
	_arena_ struct arena *arena = arena_new(0);
	struct access_key_new key = {
		.account = SPAN("123456789012"), .user = SPAN("ci"), .policy = SPAN(POLICY)};
	struct access_key_new twin = key;
	struct aws_caller first, second;
	struct sigv4_failure failure;

	(void)state;
	add_key(fixture, &key);
	add_key(fixture, &twin);
	assert_int_equal(ask(fixture, key.id, key.secret, NULL, arena, &first, &failure), 0);
	assert_true(aws_policy_allows(first.policy, SPAN("ecs:ListClusters"), NULL, 0));
	assert_false(aws_policy_allows(first.policy, SPAN("ecs:RunTask"), NULL, 0));
	/* Parsed once for all keys with the same text. */
	assert_int_equal(ask(fixture, twin.id, twin.secret, NULL, arena, &second, &failure), 0);
	assert_ptr_equal(first.policy, second.policy);

	/* The same id with another policy: the old one is not used again, but still there. */
	assert_int_equal(remove_key(fixture, "123456789012", key.id), 0);
	key.policy = SPAN(OTHER_POLICY);
	add_key(fixture, &key);
	assert_int_equal(ask(fixture, key.id, key.secret, NULL, arena, &second, &failure), 0);
	assert_true(aws_policy_allows(second.policy, SPAN("ecs:RunTask"), NULL, 0));
	assert_false(aws_policy_allows(second.policy, SPAN("ecs:ListClusters"), NULL, 0));
	assert_true(aws_policy_allows(first.policy, SPAN("ecs:ListClusters"), NULL, 0));
	fixture_free(fixture);
}

static void a_user_may_do_what_its_last_key_may(void **state)
{
	struct fixture *fixture = fixture_new(true);
	struct access_key_new old = {
		.account = SPAN("123456789012"), .user = SPAN("ci"), .policy = SPAN(POLICY)};
	struct access_key_new other = {
		.account = SPAN("222222222222"), .user = SPAN("ci"), .policy = SPAN(OTHER_POLICY)};
	struct access_key_new expired = {.account = SPAN("123456789012"),
		.user = SPAN("gone"),
		.policy = SPAN(POLICY),
		.expires_ms = NOW};
	struct access_key_new admin = {.account = SPAN("123456789012"), .user = SPAN("admin")};
	const struct aws_policy *policy = NULL;
	struct err err = {0};

	(void)state;
	add_key(fixture, &old);
	add_key(fixture, &other);
	add_key(fixture, &expired);
	add_key(fixture, &admin);
	assert_int_equal(access_key_find_policy(fixture->ring, SPAN("123456789012"), SPAN("ci"),
				 &policy, &err),
		0);
	assert_true(aws_policy_allows(policy, SPAN("ecs:ListClusters"), NULL, 0));
	assert_false(aws_policy_allows(policy, SPAN("ecs:RunTask"), NULL, 0));
	assert_int_equal(access_key_find_policy(fixture->ring, SPAN("123456789012"), SPAN("admin"),
				 &policy, &err),
		0);
	assert_null(policy);
	assert_int_equal(access_key_find_policy(fixture->ring, SPAN("123456789012"), SPAN("gone"),
				 &policy, &err),
		-ENOENT);
	assert_int_equal(access_key_find_policy(fixture->ring, SPAN("123456789012"), SPAN("c"),
				 &policy, &err),
		-ENOENT);
	assert_non_null(strstr(err.message, "there is no user 'c'"));
	fixture_free(fixture);
}

static void what_is_listed_has_no_secret(void **state)
{
	struct fixture *fixture = fixture_new(true);
	struct access_key_new key = {
		.account = SPAN("123456789012"), .user = SPAN("ci"), .policy = SPAN(OTHER_POLICY)};
	struct access_key_new other = {.account = SPAN("123456789012"), .user = SPAN("ci2")};
	_view_ struct store_view *view = NULL;
	const struct store_object *object;
	const struct access_key_facts *facts;
	char expected[512];

	(void)state;
	add_key(fixture, &key);
	add_key(fixture, &other);
	view = store_view_open(fixture->store);
	assert_int_equal(store_count(view, &access_key_kind, ACCESS_KEY_BY_USER,
				 SPAN("123456789012/"), false),
		2);
	assert_int_equal(store_count(view, &access_key_kind, ACCESS_KEY_BY_USER,
				 SPAN("123456789012/ci"), true),
		1);
	object = store_get(view, &access_key_kind, span_of(key.id));
	assert_non_null(object);
	facts = object->facts;
	assert_true(span_is(facts->secret, key.secret));
	assert_true(span_is(facts->policy, OTHER_POLICY));
	assert_null(facts->session_token.data);
	assert_int_equal(facts->created_ms, NOW);
	snprintf(expected, sizeof(expected),
		"{\"accessKeyId\":\"%s\",\"account\":\"123456789012\",\"user\":\"ci\","
		"\"createdAt\":1440938160.000,\"policy\":" OTHER_POLICY "}",
		key.id);
	assert_int_equal(object->api.length, strlen(expected));
	assert_memory_equal(object->api.data, expected, object->api.length);
	store_view_close(TAKE(view));
	fixture_free(fixture);
}

static void bad_keys_are_not_made(void **state)
{
	static const struct {
		struct access_key_new key;
		const char *message;
	} cases[] = {
		{{.account = {"12345678901", 11}, .user = {"a", 1}},
			"account '12345678901': must be 12 digits"},
		{{.account = {"12345678901x", 12}, .user = {"a", 1}},
			"account '12345678901x': must be 12 digits"},
		{{.account = {"123456789012", 12}, .user = {"", 0}}, "user '': must be 1 to 64"},
		{{.account = {"123456789012", 12}, .user = {"a b", 3}}, "user 'a b': must be"},
		{{.account = {"123456789012", 12}, .user = {"a\nsecret x", 10}}, "user 'a\nsecret"},
		{{.account = {"123456789012", 12}, .user = {"a\0b", 3}}, "user 'a"},
		{{.account = {"123456789012", 12}, .user = {"a", 1}, .policy = {"{}", 2}},
			"policy: Statement: is missing"},
		{{.account = {"123456789012", 12}, .user = {"a", 1}, .session_token = {"a\nb", 3}},
			"session token: must be"},
		{{.account = {"123456789012", 12}, .user = {"a", 1}, .session_token = {"", 0}},
			"session token: must be"},
		{{.account = {"123456789012", 12}, .user = {"a", 1}, .expires_ms = -1},
			"expiry: must not"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct access_key_new key = cases[i].key;
		struct err err = {0};

		assert_int_equal(access_key_make(&key, random_system(), &err), -EINVAL);
		assert_memory_equal(err.message, cases[i].message, strlen(cases[i].message));
		assert_int_equal(key.id[0], 0);
	}
}

static int put_raw(struct store_transaction *transaction, void *context, struct err *err)
{
	return store_put(transaction, &access_key_kind, SPAN("AKIARAW"), SPAN("{}"),
		span_of(context), STORE_ANY, err);
}

static void records_that_are_not_ours_are_refused(void **state)
{
	static const char *const records[] = {"", "account 1\n",
		"account 1\nuser a\nsecret s\ncreated x\nexpires 0\n",
		"account 1\nuser a\nsecret s\ncreated 1\nexpires 0\nmore 1\n",
		"account 1\nuser a\nsecret s\ncreated 1\nexpires 0\n\n",
		"account 1\nuser a\nsecret s\ncreated 1\nexpires 0\n\n{\"Statement\":[]}",
		"user a\naccount 1\nsecret s\ncreated 1\nexpires 0\n"};
	struct fixture *fixture = fixture_new(true);
	struct err err;

	(void)state;
	for (size_t i = 0; i < LENGTH(records); i++)
		assert_true(store_write_wait(fixture->store, put_raw, (void *)records[i], NULL,
				    &err) < 0);
	assert_int_equal(store_write_wait(fixture->store, put_raw,
				 "account 1\nuser a\nsecret s\ncreated 1\nexpires 0\n", NULL, &err),
		0);
	fixture_free(fixture);
}

#define THREADS 3

struct worker {
	struct fixture *fixture;
	const struct access_key_new *key;
	int failed;
};

static void *ask_often(void *context)
{
	struct worker *worker = context;

	for (int i = 0; i < 200; i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct aws_caller caller;
		struct sigv4_failure failure;

		/* The key comes and goes: there, or not there, but never anything else. */
		if (ask(worker->fixture, worker->key->id, worker->key->secret, NULL, arena, &caller,
			    &failure) < 0)
			worker->failed += strcmp(failure.type, "UnrecognizedClientException") != 0;
		else
			worker->failed +=
				!aws_policy_allows(caller.policy, SPAN("ecs:ListTasks"), NULL, 0);
	}
	return NULL;
}

static void keys_come_and_go_under_load(void **state)
{
	struct fixture *fixture = fixture_new(false);
	struct access_key_new key = {
		.account = SPAN("123456789012"), .user = SPAN("ci"), .policy = SPAN(POLICY)};
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	add_key(fixture, &key);
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.fixture = fixture, .key = &key};
		assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &workers[i]), 0);
	}
	for (int i = 0; i < 50; i++) {
		assert_int_equal(remove_key(fixture, "123456789012", key.id), 0);
		add_key(fixture, &key);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(workers[i].failed, 0);
	}
	fixture_free(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_identifies_its_caller),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(session_tokens_are_required_and_expire),
		cmocka_unit_test(policies_come_with_the_key),
		cmocka_unit_test(a_user_may_do_what_its_last_key_may),
		cmocka_unit_test(what_is_listed_has_no_secret),
		cmocka_unit_test(bad_keys_are_not_made),
		cmocka_unit_test(records_that_are_not_ours_are_refused),
		cmocka_unit_test(keys_come_and_go_under_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
