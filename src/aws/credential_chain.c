/* See the header. */
#include "aws/credential_chain.h"

#include <stdlib.h>

#include "aws/call.h"
#include "aws/profile.h"
#include "base/memory.h"

#define SESSION_S 3600
#define STS_ATTEMPTS 2
#define STS_TIMEOUT_MS 5000

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

/* ---- the environment ---- */

static int read_environment(struct aws_credential_reading *reading, struct err *err)
{
	const char *access_key = variable("AWS_ACCESS_KEY_ID"),
		   *secret = variable("AWS_SECRET_ACCESS_KEY"),
		   *token = variable("AWS_SESSION_TOKEN");

	if (!access_key || !secret)
		return err_set(err, AWS_NOT_CONFIGURED,
			"no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
	reading->credentials = (struct sigv4_credentials){
		.access_key = arena_copy_span(reading->arena, span_of(access_key)),
		.secret = arena_copy_span(reading->arena, span_of(secret)),
		.session_token =
			token ? arena_copy_span(reading->arena, span_of(token)) : SPAN_NONE};
	return 0;
}

static int read_web_identity(struct aws_credential_reading *reading, struct err *err)
{
	const char *file = variable("AWS_WEB_IDENTITY_TOKEN_FILE"),
		   *role = variable("AWS_ROLE_ARN");

	if (!file || !role)
		return err_set(err, AWS_NOT_CONFIGURED,
			"no AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN");
	return aws_credentials_of_web_identity(reading, role, file,
		variable("AWS_ROLE_SESSION_NAME"), err);
}

/* ---- roles ---- */

int aws_session_read(const struct json *answer, const char *operation, struct arena *arena,
	struct sigv4_credentials *ret_credentials, int64_t *ret_end_ms, struct err *err)
{
	const struct json *credentials = json_get(answer, "Credentials");
	struct sigv4_credentials found = {.access_key = json_get_text(credentials, "AccessKeyId"),
		.secret = json_get_text(credentials, "SecretAccessKey"),
		.session_token = json_get_text(credentials, "SessionToken")};
	double ends;

	if (found.access_key.length == 0 || found.secret.length == 0 ||
		found.session_token.length == 0 ||
		!json_double(json_get(credentials, "Expiration"), &ends) || ends < 0 || ends > 1e11)
		return err_set(err, -EPROTO, "sts %s: the answer has no credentials", operation);
	*ret_credentials =
		(struct sigv4_credentials){.access_key = arena_copy_span(arena, found.access_key),
			.secret = arena_copy_span(arena, found.secret),
			.session_token = arena_copy_span(arena, found.session_token)};
	*ret_end_ms = (int64_t)(ends * 1000);
	return 0;
}

static void set_text(struct arena *arena, struct json *request, const char *name, struct span text)
{
	if (text.length > 0)
		json_set_string(arena, request, name, text);
}

/* NUL-terminated: spans in arenas are copies with one. */
static const char *text_of(struct span text)
{
	return text.length > 0 ? text.data : NULL;
}

/* Assumes the profile's role with the credentials that were read. */
static int assume(struct aws_credential_reading *reading, const struct aws_profile *profile,
	struct err *err)
{
	const struct aws_credential_chain *chain = reading->chain;
	struct aws_remote_config config = {.endpoint = chain->sts_endpoint,
		.authorities = chain->authorities,
		.region = chain->region,
		.access_key = text_of(reading->credentials.access_key),
		.secret = text_of(reading->credentials.secret),
		.session_token = text_of(reading->credentials.session_token),
		.attempts = STS_ATTEMPTS,
		.timeout_ms = STS_TIMEOUT_MS};
	struct json *request = json_new_object(reading->arena), *answer;
	struct aws_target *sts;
	int code = aws_target_remote(&config, chain->client, chain->runner, &sts, err);

	if (code < 0)
		return code;
	set_text(reading->arena, request, "RoleArn", profile->role);
	set_text(reading->arena, request, "RoleSessionName",
		profile->role_session.length > 0 ? profile->role_session : span_of(chain->session));
	set_text(reading->arena, request, "ExternalId", profile->external_id);
	json_set_integer(reading->arena, request, "DurationSeconds", SESSION_S);
	code = aws_call(sts, "sts", "AssumeRole", request, reading->arena, &answer, NULL, err);
	aws_target_free(sts);
	if (code == 0)
		code = aws_session_read(answer, "AssumeRole", reading->arena, &reading->credentials,
			&reading->end_ms, err);
	return code < 0 ? err_prefix(err, code, "role '%.*s'", SPAN_ARGS(profile->role)) : 0;
}

/* ---- profiles ---- */

static int read_profile(struct aws_credential_reading *reading, const char *name, unsigned depth,
	struct err *err);

static int read_source(struct aws_credential_reading *reading, struct span source, struct err *err)
{
	static const struct {
		const char *name;
		int (*read)(struct aws_credential_reading *reading, struct err *err);
	} sources[] = {
		{"Environment", read_environment},
		{"EcsContainer", aws_credentials_of_container},
		{"Ec2InstanceMetadata", aws_credentials_of_instance},
	};

	for (size_t i = 0; i < LENGTH(sources); i++)
		if (span_is(source, sources[i].name))
			return sources[i].read(reading, err);
	return err_set(err, -EINVAL,
		"credential_source must be Environment, EcsContainer or Ec2InstanceMetadata");
}

/* A key of characters that headers can have. */
static int check_key(struct span text, const char *what, struct err *err)
{
	if (text.length == 0)
		return err_set(err, -EINVAL, "%s is empty", what);
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~')
			return err_set(err, -EINVAL, "%s has characters that none has", what);
	return 0;
}

static int read_key(struct aws_credential_reading *reading, const struct aws_profile *profile,
	struct err *err)
{
	int code = check_key(profile->access_key, "aws_access_key_id", err);

	if (code == 0)
		code = check_key(profile->secret, "aws_secret_access_key", err);
	if (code == 0 && profile->session_token.data)
		code = check_key(profile->session_token, "aws_session_token", err);
	reading->credentials = (struct sigv4_credentials){.access_key = profile->access_key,
		.secret = profile->secret,
		.session_token = profile->session_token};
	return code;
}

static int read_role(struct aws_credential_reading *reading, const struct aws_profile *profile,
	const char *name, unsigned depth, struct err *err)
{
	const char *source = text_of(profile->source_profile);
	int code;

	if (profile->token_file.length > 0)
		return aws_credentials_of_web_identity(reading, text_of(profile->role),
			text_of(profile->token_file), text_of(profile->role_session), err);
	if (profile->credential_source.length > 0)
		code = read_source(reading, profile->credential_source, err);
	else if (source && strcmp(source, name) == 0 && profile->access_key.length > 0)
		code = read_key(reading, profile, err);
	else if (source)
		code = read_profile(reading, source, depth + 1, err);
	else
		code = err_set(err, -EINVAL,
			"role_arn needs source_profile, credential_source or "
			"web_identity_token_file");
	return code < 0 ? code : assume(reading, profile, err);
}

static int read_profile(struct aws_credential_reading *reading, const char *name, unsigned depth,
	struct err *err)
{
	struct aws_profile profile;
	int code;

	if (depth >= AWS_CREDENTIAL_PROFILES_MAX)
		return err_set(err, -EINVAL, "more than %d profiles lead to each other",
			AWS_CREDENTIAL_PROFILES_MAX);
	code = aws_profile_read(name, reading->chain->profile_file, reading->arena, &profile, err);
	if (code < 0)
		return code;
	if (profile.role.length > 0)
		code = read_role(reading, &profile, name, depth, err);
	else if (profile.process.length > 0 && profile.access_key.length == 0)
		code = aws_credentials_of_process(reading, text_of(profile.process), err);
	else
		code = read_key(reading, &profile, err);
	return code < 0 ? err_prefix(err, code, "profile '%s'", name) : 0;
}

static int read_shared_profile(struct aws_credential_reading *reading, struct err *err)
{
	const char *name = variable("AWS_PROFILE");
	struct aws_profile profile;

	if (name)
		return read_profile(reading, name, 0, err);
	if (aws_profile_read("default", NULL, reading->arena, &profile, err) == -ENOENT)
		return AWS_NOT_CONFIGURED;
	return read_profile(reading, "default", 0, err);
}

/* ---- all of them ---- */

static const struct {
	const char *name;
	int (*read)(struct aws_credential_reading *reading, struct err *err);
} sources[] = {
	{"environment", read_environment},
	{"web identity", read_web_identity},
	{"profile", read_shared_profile},
	{"container", aws_credentials_of_container},
	{"instance metadata", aws_credentials_of_instance},
};

static int read_all(struct aws_credential_reading *reading, struct err *err)
{
	_buffer_ struct buffer tried = {0};
	struct err reason;

	for (size_t i = 0; i < LENGTH(sources); i++) {
		int code = sources[i].read(reading, &reason);

		if (code == 0)
			return 0;
		/* There is an instance, or there is not: the configuration does not say. */
		if (code != AWS_NOT_CONFIGURED && sources[i].read != aws_credentials_of_instance)
			return err_set(err, code, "%s: %s", sources[i].name, reason.message);
		buffer_format(&tried, "%s%s: %s", i ? "; " : "", sources[i].name, reason.message);
	}
	return err_set(err, -ENOENT, "no credentials of AWS were found: %s", tried.data);
}

int aws_credential_chain_read(const struct aws_credential_chain *chain, struct arena *arena,
	struct sigv4_credentials *ret_credentials, int64_t *ret_end_ms, struct err *err)
{
	struct aws_credential_reading reading = {.chain = chain, .arena = arena};
	int code = chain->profile ? read_profile(&reading, chain->profile, 0, err)
				  : read_all(&reading, err);

	if (code < 0)
		return code;
	*ret_credentials = reading.credentials;
	*ret_end_ms = reading.end_ms;
	return 0;
}
