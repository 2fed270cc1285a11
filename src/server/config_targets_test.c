/* The block `targets:`: parsed values, defaults, and messages for mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aws/targets.h"
#include "base/file.h"
#include "base/memory.h"
#include "server/config_targets.h"

struct fixture {
	struct arena *arena;
	char folder[64], path[96], secret[96];
	struct server_config config;
	struct err err;
};

static int set_up(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	fixture->arena = arena_new(0);
	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/slipway-targets-XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/slipway.yaml", fixture->folder);
	snprintf(fixture->secret, sizeof(fixture->secret), "%s/secret", fixture->folder);
	server_config_init(&fixture->config);
	fixture->config.state = "/s";
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	unlink(fixture->secret);
	rmdir(fixture->folder);
	arena_free(fixture->arena);
	free(fixture);
	return 0;
}

static int read_text(struct fixture *fixture, const char *text)
{
	assert_int_equal(file_replace(fixture->path, span_of(text), 0600, &fixture->err), 0);
	return server_config_read(&fixture->config, fixture->path, fixture->arena, &fixture->err);
}

static void assert_reported(struct fixture *fixture, const char *message)
{
	if (!strstr(fixture->err.message, message))
		fail_msg("'%s' does not say '%s'", fixture->err.message, message);
}

static void reads_all_of_it(void **state)
{
	struct fixture *fixture = *state;
	const struct aws_target_settings *target;

	if (read_text(fixture, "account: \"222222222222\"\n"
			       "targets:\n"
			       "  - name: prod\n"
			       "    region: eu-west-1\n"
			       "    account: \"011122223333\"\n"
			       "    endpoint: http://127.0.0.1:1\n"
			       "    stsEndpoint: http://127.0.0.1:2/sts\n"
			       "    cloudMapEndpoint: http://127.0.0.1:3\n"
			       "    elbEndpoint: http://127.0.0.1:4\n"
			       "    credentials: {accessKey: AKIA1, secretFile: /x/y}\n"
			       "    role: arn:aws:iam::011122223333:role/a/b\n"
			       "    externalId: twelve\n"
			       "    accounts: [\"123456789012\", \"000000000001\"]\n"
			       "    callsPerSecond: 3\n"
			       "    pollInterval: 500ms\n"
			       "    timeout: 5s\n"
			       "  - {name: b-2, region: us-east-1, account: \"111122223333\",\n"
			       "     credentials: {profile: x, profileFile: /z}}\n") < 0)
		fail_msg("%s", fixture->err.message);
	assert_int_equal(server_config_check(&fixture->config, fixture->arena, &fixture->err), 0);
	assert_int_equal(fixture->config.target_count, 2);
	target = fixture->config.targets;
	assert_string_equal(target->name, "prod");
	assert_string_equal(target->region, "eu-west-1");
	assert_string_equal(target->account, "011122223333");
	assert_string_equal(target->endpoint, "http://127.0.0.1:1");
	assert_string_equal(target->sts_endpoint, "http://127.0.0.1:2/sts");
	assert_string_equal(target->cloudmap_endpoint, "http://127.0.0.1:3");
	assert_string_equal(target->elb_endpoint, "http://127.0.0.1:4");
	assert_string_equal(target->key.access_key, "AKIA1");
	assert_string_equal(target->key.secret_file, "/x/y");
	assert_null(target->key.profile);
	assert_string_equal(target->role, "arn:aws:iam::011122223333:role/a/b");
	assert_string_equal(target->external_id, "twelve");
	assert_int_equal(target->account_count, 2);
	assert_string_equal(target->accounts[1], "000000000001");
	assert_true(target->calls_per_second == 3);
	assert_int_equal(target->poll_ms, 500);
	assert_int_equal(target->timeout_ms, 5000);
	target++;
	assert_string_equal(target->key.profile, "x");
	assert_string_equal(target->key.profile_file, "/z");
	assert_null(target->endpoint);
	assert_null(target->role);
	/* Only the server's own account, unless configured. */
	assert_int_equal(target->account_count, 1);
	assert_string_equal(target->accounts[0], "222222222222");
	assert_true(target->calls_per_second == 10);
	assert_int_equal(target->poll_ms, 10000);
	assert_int_equal(target->timeout_ms, 30000);
}

/* As they stand in the configuration of PipeCD's agent. */
static void reads_platform_providers(void **state)
{
	struct fixture *fixture = *state;
	const struct aws_target_settings *target;

	if (read_text(fixture,
		    "platformProviders:\n"
		    "  - name: ecs-dev\n"
		    "    type: ECS\n"
		    "    config:\n"
		    "      region: ap-northeast-1\n"
		    "      roleARN: arn:aws:iam::011122223333:role/piped\n"
		    "  - name: kubernetes-default\n"
		    "    type: KUBERNETES\n"
		    "    config: {masterURL: x}\n"
		    "  - name: ecs-own\n"
		    "    type: ECS\n"
		    "    config: {region: us-east-1, account: \"111122223333\",\n"
		    "      profile: p, credentialsFile: /c}\n"
		    "targets:\n"
		    "  - {name: more, region: us-east-1, account: \"111122223333\"}\n") < 0)
		fail_msg("%s", fixture->err.message);
	assert_int_equal(fixture->config.target_count, 3);
	target = fixture->config.targets;
	assert_string_equal(target[0].name, "ecs-dev");
	assert_string_equal(target[0].region, "ap-northeast-1");
	assert_string_equal(target[0].account, "011122223333");
	assert_string_equal(target[0].role, "arn:aws:iam::011122223333:role/piped");
	assert_null(target[0].key.profile);
	assert_true(target[0].timeout_ms > 0);
	assert_string_equal(target[1].account, "111122223333");
	assert_string_equal(target[1].key.profile, "p");
	assert_string_equal(target[1].key.profile_file, "/c");
	assert_string_equal(target[2].name, "more");
}

static void wrong_platform_providers(void **state)
{
	struct fixture *fixture = *state;

	assert_true(read_text(fixture,
			    "platformProviders:\n"
			    "  - {name: a, type: ECS, config: {region: us-east-1}}\n") < 0);
	assert_reported(fixture, "account");
	assert_true(read_text(fixture, "platformProviders:\n"
				       "  - {name: a, type: ECS, config: {region: us-east-1,\n"
				       "     account: \"111122223333\", tokenFile: /t}}\n") < 0);
	assert_reported(fixture, "slipway.yaml:2: platformProviders: tokenFile");
	assert_true(read_text(fixture, "platformProviders:\n"
				       "  - {name: a, type: ECS, config: {region: us-east-1,\n"
				       "     account: \"111122223333\"}}\n"
				       "targets: [{name: a, region: us-east-1, account: "
				       "\"111122223333\"}]\n") < 0);
	assert_reported(fixture, "'a' is in targets and in platformProviders");
	assert_true(read_text(fixture, "platformProviders: {}\n") < 0);
	assert_reported(fixture, "must be a list");
}

static void none_is_fine(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(read_text(fixture, "targets:\n"), 0);
	assert_int_equal(read_text(fixture, "targets: []\n"), 0);
	assert_int_equal(fixture->config.target_count, 0);
	assert_int_equal(server_config_check(&fixture->config, fixture->arena, &fixture->err), 0);
}

#define GOOD "name: a, region: x-1, account: \"111122223333\", "
#define KEY "credentials: {profile: p}"

static void errors_name_the_member(void **state)
{
	static const struct {
		const char *targets, *reported;
	} rows[] = {
		{"7", ":1: targets: must be a list, not a number"},
		{"[x]", "targets[0]: must have keys"},
		{"[{region: x-1}]", "targets[0].name: is required"},
		{"[{name: a}]", "targets[0].region: is required"},
		{"[{name: a, region: x-1}]", "targets[0].account: is required"},
		{"[{name: a, region: x-1, account: 111122223333, " KEY "}]",
			"targets[0].account: must be a string, not a number; write it in quotes"},
		{"[{name: a, region: x-1, account: \"1\", " KEY "}]",
			"targets[0].account: '1' is not twelve digits"},
		{"[{name: A, region: x-1, account: \"111122223333\", " KEY "}]",
			"targets[0].name: 'A' is not"},
		{"[{name: local, region: x-1, account: \"111122223333\", " KEY "}]",
			"targets[0].name: 'local' means this server"},
		{"[{name: a, region: X, account: \"111122223333\", " KEY "}]",
			"targets[0].region: 'X' is not"},
		{"[{" GOOD KEY "}, {" GOOD KEY "}]",
			"targets[1].name: 'a' is the name of an earlier one"},
		{"[{" GOOD "credentials: {secretFile: f}}]",
			"targets[0].credentials: needs accessKey"},
		{"[{" GOOD "credentials: 1}]", "targets[0].credentials: must have keys below it"},
		{"[{" GOOD "credentials: {secret: x}}]",
			"unknown key 'credentials.secret'; did you mean 'credentials.secretFile'?"},
		{"[{" GOOD "credentials: {accessKey: A}}]",
			"targets[0].credentials.accessKey: needs one of secretFile and "
			"secretVariable"},
		{"[{" GOOD "credentials: {accessKey: A, secretFile: f, secretVariable: v}}]",
			"targets[0].credentials.accessKey: needs one of"},
		{"[{" GOOD "credentials: {accessKey: a/b, secretFile: f}}]",
			"targets[0].credentials.accessKey: has characters"},
		{"[{" GOOD "credentials: {profile: p, accessKey: A}}]",
			"targets[0].credentials: has a profile and a key"},
		{"[{" GOOD "credentials: {accessKey: A, secretFile: f, profileFile: g}}]",
			"targets[0].credentials.profileFile: needs profile"},
		{"[{" GOOD KEY ", endpoint: ecs.com}]",
			"targets[0].endpoint: 'ecs.com' must begin with http:// or https://"},
		{"[{" GOOD KEY ", stsEndpoint: sts}]", "targets[0].stsEndpoint: 'sts' must begin"},
		{"[{" GOOD KEY ", role: admin}]", "targets[0].role: 'admin' is not the ARN"},
		{"[{" GOOD KEY ", externalId: x}]", "targets[0].externalId: has 2 to 1224"},
		{"[{" GOOD KEY ", accounts: []}]", "targets[0].accounts: must be a list of 1 to"},
		{"[{" GOOD KEY ", accounts: [1]}]", "targets[0].accounts: must be twelve digits"},
		{"[{" GOOD KEY ", callsPerSecond: 0}]",
			"targets[0].callsPerSecond: must be a number from 1 to 1000"},
		{"[{" GOOD KEY ", pollInterval: 1}]", "targets[0].pollInterval: must be a time"},
		{"[{" GOOD KEY ", timeout: 1h}]", "targets[0].timeout: must be a time"},
		{"[{" GOOD KEY ", regoin: x}]", "unknown key 'regoin'; did you mean 'region'?"},
		{"[{" GOOD KEY ", endpoint: \"\"}]", "targets[0].endpoint: must not be empty"},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		_free_ char *text = memory_format("targets: %s\n", rows[i].targets);

		server_config_init(&fixture->config);
		if (read_text(fixture, text) == 0)
			fail_msg("%s was read", text);
		assert_reported(fixture, fixture->path);
		assert_reported(fixture, rows[i].reported);
	}
	assert_true(read_text(fixture, "target: []\n") < 0);
	assert_reported(fixture, "did you mean 'targets'?");
}

static void keys_are_checked_when_asked(void **state)
{
	struct fixture *fixture = *state;
	_free_ char *text = memory_format("targets:\n- {" GOOD "credentials: {accessKey: AKIA, "
					  "secretFile: %s}}\n",
		fixture->secret);

	assert_int_equal(read_text(fixture, text), 0);
	assert_true(config_targets_check_keys(&fixture->config, &fixture->err) < 0);
	assert_reported(fixture, "targets[0].credentials: secretFile");
	assert_int_equal(file_replace(fixture->secret, SPAN("hush hush"), 0600, &fixture->err), 0);
	assert_true(config_targets_check_keys(&fixture->config, &fixture->err) < 0);
	assert_null(strstr(fixture->err.message, "hush"));
	assert_int_equal(file_replace(fixture->secret, SPAN("hush\n"), 0600, &fixture->err), 0);
	assert_int_equal(config_targets_check_keys(&fixture->config, &fixture->err), 0);
}

/* The example that is printed is right when its comments are taken away. */
static void what_is_printed_can_be_read(void **state)
{
	struct fixture *fixture = *state;
	_buffer_ struct buffer printed = {0}, text = {0};
	struct span rest, line;

	config_list_write_yaml(&config_targets, &printed);
	rest = buffer_span(&printed);
	while (span_split(rest, '\n', &line, &rest)) {
		if (!span_starts_with(line, SPAN("# ")) || span_starts_with(line, SPAN("# ECS")))
			continue;
		/* One of the two ways to give a key. */
		if (memmem(line.data, line.length, "profile", 7) ||
			memmem(line.data, line.length, "secretVariable", 14))
			continue;
		buffer_format(&text, "%.*s\n", (int)line.length - 2, line.data + 2);
	}
	if (read_text(fixture, text.data) < 0)
		fail_msg("%s\n%s", fixture->err.message, text.data);
	assert_string_equal(fixture->config.targets[0].name, "production");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(reads_all_of_it),
		TEST(reads_platform_providers),
		TEST(wrong_platform_providers),
		TEST(none_is_fine),
		TEST(errors_name_the_member),
		TEST(keys_are_checked_when_asked),
		TEST(what_is_printed_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
