/*
 * The chain of credentials against one endpoint that is instance metadata, a container's endpoint and STS at
 * once. Each test sets the variables of its source; all others are unset.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aws/credential_chain.h"
#include "aws/signer.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/memory.h"
#include "io/http_server.h"

#define HOUR_MS INT64_C(3600000)
#define ENDS "2036-11-19T05:00:00Z"
#define ENDS_MS INT64_C(2110683600000)
#define STS_ANSWER(operation)                                                                      \
	"<" operation "Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><" operation   \
	"Result><Credentials><AccessKeyId>ASIASTS</AccessKeyId><SecretAccessKey>s-sts"             \
	"</SecretAccessKey><SessionToken>t-sts</SessionToken><Expiration>" ENDS                    \
	"</Expiration></Credentials></" operation "Result></" operation "Response>"

static const char *const variables[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
	"AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME",
	"AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE",
	"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	"AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	"AWS_EC2_METADATA_DISABLED", "AWS_EC2_METADATA_SERVICE_ENDPOINT"};

struct fixture {
	struct runner *runner;
	struct http_client *client;
	struct http_server *server;
	struct arena *arena;
	char folder[64], url[64], sts_url[80];
	struct aws_credential_chain chain;
	struct sigv4_credentials found;
	int64_t end_ms;
	struct err err;

	struct lock lock;          /* for all below: the endpoint's own */
	unsigned tokens, roles;    /* given out by instance metadata */
	char ends[CLOCK_ISO_SIZE]; /* of credentials of the instance */
	char authorization[256],
		body[1024]; /* of the last call of STS or the container's endpoint */
};

static struct span header(const struct http_request *request, const char *name)
{
	for (size_t i = 0; i < request->header_count; i++)
		if (span_is(request->headers[i].name, name))
			return request->headers[i].value;
	return SPAN("");
}

static void answer(struct http_exchange *exchange, int status, const char *text)
{
	http_respond_text(exchange, status, NULL, 0, span_of(text));
}

static void serve_instance(struct fixture *fixture, struct http_exchange *exchange,
	const struct http_request *request)
{
	char text[512];

	if (span_is(request->path, "/latest/api/token")) {
		bool good = span_is(request->method, "PUT") &&
			    header(request, "x-aws-ec2-metadata-token-ttl-seconds").length > 0;

		fixture->tokens += good;
		answer(exchange, good ? 200 : 400, good ? "the-token" : "");
	} else if (!span_is(header(request, "x-aws-ec2-metadata-token"), "the-token")) {
		answer(exchange, 401, "");
	} else if (span_is(request->path, "/latest/meta-data/iam/security-credentials/")) {
		answer(exchange, 200, "node-role");
	} else if (span_is(request->path, "/latest/meta-data/iam/security-credentials/node-role")) {
		fixture->roles++;
		snprintf(text, sizeof(text),
			"{\"Code\":\"Success\",\"AccessKeyId\":\"ASIANODE%u\",\"SecretAccessKey\":"
			"\"s\","
			"\"Token\":\"t-node\",\"Expiration\":\"%s\"}",
			fixture->roles, fixture->ends);
		answer(exchange, 200, text);
	} else {
		answer(exchange, 404, "");
	}
}

static void serve(struct http_exchange *exchange, const struct http_request *request, void *context)
{
	struct fixture *fixture = context;

	lock_take(&fixture->lock);
	if (span_starts_with(request->path, SPAN("/latest/"))) {
		serve_instance(fixture, exchange, request);
	} else {
		snprintf(fixture->authorization, sizeof(fixture->authorization), "%.*s",
			SPAN_ARGS(header(request, "authorization")));
		snprintf(fixture->body, sizeof(fixture->body), "%.*s", SPAN_ARGS(request->body));
		if (span_is(request->path, "/container"))
			answer(exchange, 200,
				"{\"AccessKeyId\":\"ASIATASK\",\"SecretAccessKey\":\"s\",\"Token\":"
				"\"t-task\",\"Expiration\":\"" ENDS "\"}");
		else if (strstr(fixture->body, "Action=AssumeRoleWithWebIdentity&"))
			answer(exchange, 200, STS_ANSWER("AssumeRoleWithWebIdentity"));
		else
			answer(exchange, 200, STS_ANSWER("AssumeRole"));
	}
	lock_release(&fixture->lock);
}

static const char *path_of(struct fixture *fixture, const char *name)
{
	return arena_format(fixture->arena, "%s/%s", fixture->folder, name).data;
}

static void write_file(struct fixture *fixture, const char *name, const char *text)
{
	assert_int_equal(file_replace(path_of(fixture, name), span_of(text), 0600, &fixture->err),
		0);
}

static int set_up(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));
	struct http_server_config config = {.handler = serve, .context = fixture};

	fixture->arena = arena_new(0);
	fixture->runner = runner_threads_new(clock_system(), random_system());
	lock_init(&fixture->lock);
	snprintf(fixture->ends, sizeof(fixture->ends), ENDS);
	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/slipway-chain-XXXXXX");
	if (!mkdtemp(fixture->folder) || http_client_new(&fixture->client, &fixture->err) < 0 ||
		http_server_open(&config, &fixture->server, &fixture->err) < 0)
		return -1;
	snprintf(fixture->url, sizeof(fixture->url), "http://127.0.0.1:%u",
		http_server_port(fixture->server));
	snprintf(fixture->sts_url, sizeof(fixture->sts_url), "%s/sts", fixture->url);
	for (size_t i = 0; i < LENGTH(variables); i++)
		unsetenv(variables[i]);
	setenv("AWS_SHARED_CREDENTIALS_FILE", path_of(fixture, "credentials"), 1);
	setenv("AWS_CONFIG_FILE", path_of(fixture, "config"), 1);
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	fixture->chain = (struct aws_credential_chain){.region = "eu-west-1",
		.sts_endpoint = fixture->sts_url,
		.session = "slipway-prod",
		.client = fixture->client,
		.runner = fixture->runner};
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	static const char *const files[] = {"credentials", "config", "token"};

	http_client_free(fixture->client);
	http_server_close(fixture->server);
	runner_free(fixture->runner);
	for (size_t i = 0; i < LENGTH(files); i++)
		unlink(path_of(fixture, files[i]));
	rmdir(fixture->folder);
	for (size_t i = 0; i < LENGTH(variables); i++)
		unsetenv(variables[i]);
	arena_free(fixture->arena);
	lock_destroy(&fixture->lock);
	free(fixture);
	return 0;
}

static void assert_found(struct fixture *fixture, const char *access_key, const char *token,
	int64_t end_ms)
{
	if (aws_credential_chain_read(&fixture->chain, fixture->arena, &fixture->found,
		    &fixture->end_ms, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	if (!span_is(fixture->found.access_key, access_key))
		fail_msg("found '%.*s'", SPAN_ARGS(fixture->found.access_key));
	assert_true(token ? span_is(fixture->found.session_token, token)
			  : !fixture->found.session_token.data);
	assert_true(fixture->end_ms == end_ms);
}

static void assert_not_found(struct fixture *fixture, int code, const char *text)
{
	assert_int_equal(aws_credential_chain_read(&fixture->chain, fixture->arena, &fixture->found,
				 &fixture->end_ms, &fixture->err),
		code);
	if (!strstr(fixture->err.message, text))
		fail_msg("'%s' does not say '%s'", fixture->err.message, text);
}

/* ---- the sources ---- */

static void the_environment_is_first(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "credentials",
		"[default]\naws_access_key_id=AKIDFILE\naws_secret_access_key=s\n");
	setenv("AWS_ACCESS_KEY_ID", "AKIDENV", 1);
	assert_found(fixture, "AKIDFILE", NULL, 0); /* half a key is none */
	setenv("AWS_SECRET_ACCESS_KEY", "s", 1);
	assert_found(fixture, "AKIDENV", NULL, 0);
	setenv("AWS_SESSION_TOKEN", "t-env", 1);
	assert_found(fixture, "AKIDENV", "t-env", 0);
}

static void a_token_of_a_service_account(void **state)
{
	struct fixture *fixture = *state;

	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", path_of(fixture, "token"), 1);
	setenv("AWS_ROLE_ARN", "arn:aws:iam::111122223333:role/pod", 1);
	assert_not_found(fixture, -ENOENT,
		"web identity: role 'arn:aws:iam::111122223333:role/pod'");
	write_file(fixture, "token", "ey.J+w/t\n");
	assert_found(fixture, "ASIASTS", "t-sts", ENDS_MS);
	assert_string_equal(fixture->authorization, "");
	assert_non_null(strstr(fixture->body,
		"RoleArn=arn%3Aaws%3Aiam%3A%3A111122223333%3Arole%2Fpod&"
		"RoleSessionName=slipway-prod&WebIdentityToken=ey.J%2Bw%2Ft&"));
	setenv("AWS_ROLE_SESSION_NAME", "mine", 1);
	assert_found(fixture, "ASIASTS", "t-sts", ENDS_MS);
	assert_non_null(strstr(fixture->body, "RoleSessionName=mine&"));
}

static void profiles_of_both_files(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "credentials",
		"# a comment\n[one]\naws_access_key_id = X\n\n[two]\naws_access_key_id=AKIDTWO\r\n"
		" aws_secret_access_key =  s/e=cret  \naws_session_token=tok\n[empty]\n"
		"aws_access_key_id=AKID\n");
	write_file(fixture, "config",
		"[default]\naws_access_key_id=AKIDCONFIG\naws_secret_access_key=s\n"
		"[profile two]\naws_access_key_id=AKIDOTHER\nregion = x\n"
		"[profile deploys]\nrole_arn=arn:aws:iam::111122223333:role/d\nsource_profile=two\n"
		"external_id=outside\n[profile circle]\nrole_arn=r\nsource_profile=circle\n"
		"[profile run]\ncredential_process=printf "
		"'{\"Version\":1,\"AccessKeyId\":\"AKIDRUN\",\"SecretAccessKey\":\"s\"}'\n"
		"[profile fails]\ncredential_process=echo hush; exit 3\n"
		"[profile lost]\nrole_arn=r\nsource_profile=gone\n[profile alone]\nrole_arn=r\n");
	assert_found(fixture, "AKIDCONFIG", NULL, 0);
	setenv("AWS_PROFILE", "two", 1);
	assert_found(fixture, "AKIDTWO", "tok", 0);
	assert_true(span_is(fixture->found.secret, "s/e=cret"));
	setenv("AWS_PROFILE", "three", 1);
	assert_not_found(fixture, -ENOENT, "there is no section [three]");
	unsetenv("AWS_PROFILE");
	fixture->chain.profile = "deploys";
	assert_found(fixture, "ASIASTS", "t-sts", ENDS_MS);
	assert_non_null(strstr(fixture->authorization, "Credential=AKIDTWO/"));
	assert_non_null(strstr(fixture->body, "ExternalId=outside"));
	fixture->chain.profile = "run";
	assert_found(fixture, "AKIDRUN", NULL, 0);
	fixture->chain.profile = "fails";
	assert_not_found(fixture, -EACCES, "profile 'fails': credential_process: exit code 3");
	fixture->chain.profile = "circle";
	assert_not_found(fixture, -EINVAL, "more than 8 profiles lead to each other");
	fixture->chain.profile = "lost";
	assert_not_found(fixture, -ENOENT, "profile 'gone'");
	fixture->chain.profile = "alone";
	assert_not_found(fixture, -EINVAL, "role_arn needs source_profile");
	fixture->chain.profile = "empty";
	assert_not_found(fixture, -EINVAL, "profile 'empty': aws_secret_access_key is empty");
	assert_null(strstr(fixture->err.message, "hush"));
	/* Only the named file. */
	fixture->chain.profile = "deploys";
	fixture->chain.profile_file = path_of(fixture, "credentials");
	assert_not_found(fixture, -ENOENT, "there is no section [deploys]");
}

static void the_endpoint_of_a_container(void **state)
{
	struct fixture *fixture = *state;

	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/steal", 1);
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "hush", 1);
	assert_not_found(fixture, -EINVAL, "is neither https nor an address of this machine");
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1.example.com/", 1);
	assert_not_found(fixture, -EINVAL, "is neither https");
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI",
		arena_format(fixture->arena, "%s/container", fixture->url).data, 1);
	assert_found(fixture, "ASIATASK", "t-task", ENDS_MS);
	assert_string_equal(fixture->authorization, "hush");
	write_file(fixture, "token", "from-file\n");
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path_of(fixture, "token"), 1);
	assert_found(fixture, "ASIATASK", "t-task", ENDS_MS);
	assert_string_equal(fixture->authorization, "from-file");
}

static void instance_metadata_with_a_token(void **state)
{
	struct fixture *fixture = *state;

	unsetenv("AWS_EC2_METADATA_DISABLED");
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", fixture->url, 1);
	assert_found(fixture, "ASIANODE1", "t-node", ENDS_MS);
	assert_int_equal(fixture->tokens, 1);
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", fixture->sts_url, 1);
	assert_not_found(fixture, -ENOENT, "instance metadata: ");
}

static void nothing_is_configured(void **state)
{
	struct fixture *fixture = *state;

	assert_not_found(fixture, -ENOENT,
		"no credentials of AWS were found: environment: no AWS_ACCESS_KEY_ID");
	for (size_t i = 0; i < 4; i++) {
		static const char *const names[] = {"; web identity: ", "; profile: ",
			"; container: ", "; instance metadata: "};

		assert_non_null(strstr(fixture->err.message, names[i]));
	}
}

/* ---- renewal ---- */

static void credentials_are_renewed_before_they_expire(void **state)
{
	struct fixture *fixture = *state;
	int64_t now_ms = clock_wall_ms(clock_system());
	struct aws_signer *signer;

	unsetenv("AWS_EC2_METADATA_DISABLED");
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", fixture->url, 1);
	clock_format_iso(now_ms + HOUR_MS, fixture->ends);
	signer = aws_signer_of_chain(&fixture->chain);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(aws_signer_get(signer, fixture->arena, &fixture->found,
					 &fixture->err),
			0);
		assert_true(span_is(fixture->found.access_key, "ASIANODE1"));
	}
	aws_signer_refused(signer, &fixture->found);
	assert_int_equal(aws_signer_get(signer, fixture->arena, &fixture->found, &fixture->err), 0);
	assert_true(span_is(fixture->found.access_key, "ASIANODE2"));
	aws_signer_free(signer);
	/* In the last quarter of the time that they are good for. */
	clock_format_iso(clock_wall_ms(clock_system()) + 1000, fixture->ends);
	signer = aws_signer_of_chain(&fixture->chain);
	do {
		assert_int_equal(aws_signer_get(signer, fixture->arena, &fixture->found,
					 &fixture->err),
			0);
		lock_take(&fixture->lock);
		clock_format_iso(clock_wall_ms(clock_system()) + HOUR_MS, fixture->ends);
		lock_release(&fixture->lock);
	} while (!span_is(fixture->found.access_key, "ASIANODE4"));
	aws_signer_free(signer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_environment_is_first),
		TEST(a_token_of_a_service_account),
		TEST(profiles_of_both_files),
		TEST(the_endpoint_of_a_container),
		TEST(instance_metadata_with_a_token),
		TEST(nothing_is_configured),
		TEST(credentials_are_renewed_before_they_expire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
