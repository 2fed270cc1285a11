/* Sources of credentials that are asked for them: STS, metadata endpoints, a program; see credential_chain.h. */
#include <stdlib.h>
#include <unistd.h>

#include "aws/credential_chain.h"
#include "aws/query_form.h"
#include "aws/shape_scalar.h"
#include "aws/xml.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "io/child.h"

#define ANSWER_MAX ((size_t)64 * 1024)
#define TOKEN_MAX ((size_t)16 * 1024)
#define METADATA_TIMEOUT_MS 2000
#define STS_TIMEOUT_MS 5000
#define PROCESS_TIMEOUT_MS 60000
#define SESSION_S "3600"
#define TOKEN_SECONDS "21600" /* that a token of the instance metadata is good for */

#define INSTANCE_ENDPOINT "http://169.254.169.254"
#define CONTAINER_ENDPOINT "http://169.254.170.2"

/* ---- shared members ---- */

static int ask(struct aws_credential_reading *reading, struct http_client_request *request,
	struct http_client_response **ret_response, struct err *err)
{
	int code;

	request->response_max = ANSWER_MAX;
	request->cancel = reading->chain->cancel;
	code = http_client_request(reading->chain->client, request, reading->arena, ret_response,
		err);
	if (code == 0 && (*ret_response)->status != 200)
		code = err_set(err, -EACCES, "%s: status %d", request->url,
			(*ret_response)->status);
	return code;
}

static int keep(struct aws_credential_reading *reading, struct span access_key, struct span secret,
	struct span token, struct span ends, struct err *err)
{
	const struct shape time = {.type = SHAPE_TIMESTAMP};
	struct json value = {0};
	double seconds = 0;

	if (access_key.length == 0 || secret.length == 0)
		return err_set(err, -EPROTO, "the answer has no credentials");
	if (ends.length > 0 && (shape_scalar_read(&time, ends, reading->arena, &value) ||
				       !json_double(&value, &seconds)))
		return err_set(err, -EPROTO, "the answer has no valid Expiration");
	reading->credentials = (struct sigv4_credentials){
		.access_key = arena_copy_span(reading->arena, access_key),
		.secret = arena_copy_span(reading->arena, secret),
		.session_token =
			token.length > 0 ? arena_copy_span(reading->arena, token) : SPAN_NONE};
	reading->end_ms = (int64_t)(seconds * 1000);
	return 0;
}

/* {"AccessKeyId", "SecretAccessKey", TOKEN, "Expiration"}, as metadata endpoints and programs answer. */
static int keep_json(struct aws_credential_reading *reading, struct span text, const char *token,
	struct err *err)
{
	struct json *answer;

	if (json_parse(text, reading->arena, &answer, NULL) < 0)
		return err_set(err, -EPROTO, "the answer is not JSON");
	return keep(reading, json_get_text(answer, "AccessKeyId"),
		json_get_text(answer, "SecretAccessKey"), json_get_text(answer, token),
		json_get_text(answer, "Expiration"), err);
}

static struct span trim_end(struct span text)
{
	while (text.length > 0 && strchr(" \t\r\n", text.data[text.length - 1]))
		text.length--;
	return text;
}

static int read_token(struct aws_credential_reading *reading, const char *path,
	struct span *ret_token, struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code = file_read(path, TOKEN_MAX, &text, err);

	if (code == 0)
		*ret_token = arena_copy_span(reading->arena, trim_end(buffer_span(&text)));
	if (code == 0 && ret_token->length == 0)
		code = err_set(err, -EINVAL, "'%s' is empty", path);
	return code;
}

/* ---- instance metadata ---- */

/* Version 2 only: version 1 gives credentials to anybody that can make the instance send a GET. */
int aws_credentials_of_instance(struct aws_credential_reading *reading, struct err *err)
{
	const char *disabled = getenv("AWS_EC2_METADATA_DISABLED"),
		   *endpoint = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	struct http_header headers[] = {
		{SPAN("X-aws-ec2-metadata-token-ttl-seconds"), SPAN(TOKEN_SECONDS)}};
	struct http_client_request request = {.method = "PUT",
		.headers = headers,
		.header_count = 1,
		.body = SPAN(""),
		.connect_timeout_ms = METADATA_TIMEOUT_MS,
		.total_timeout_ms = METADATA_TIMEOUT_MS};
	struct http_client_response *response;
	struct span list, role, rest;
	const char *path;
	int code;

	if (disabled && strcmp(disabled, "true") == 0)
		return err_set(err, AWS_NOT_CONFIGURED, "AWS_EC2_METADATA_DISABLED is true");
	if (!endpoint || !endpoint[0])
		endpoint = INSTANCE_ENDPOINT;
	request.url = arena_format(reading->arena, "%s/latest/api/token", endpoint).data;
	code = ask(reading, &request, &response, err);
	if (code < 0)
		return code;
	headers[0] = (struct http_header){SPAN("X-aws-ec2-metadata-token"), response->body};
	path = arena_format(reading->arena, "%s/latest/meta-data/iam/security-credentials/",
		endpoint)
		       .data;
	request.method = "GET";
	request.body = SPAN_NONE;
	request.url = path;
	code = ask(reading, &request, &response, err);
	if (code < 0)
		return code;
	list = trim_end(response->body);
	role = span_split(list, '\n', &role, &rest) ? trim_end(role) : list;
	request.url = arena_format(reading->arena, "%s%.*s", path, SPAN_ARGS(role)).data;
	code = ask(reading, &request, &response, err);
	return code < 0 ? code : keep_json(reading, response->body, "Token", err);
}

/* ---- the endpoint of a container ---- */

/* As the SDKs: the token of the request goes nowhere else unprotected. */
static bool is_allowed(const char *url)
{
	static const char *const allowed[] = {"https://", "http://127.0.0.1", "http://localhost",
		"http://[::1]", "http://169.254.170.2", "http://169.254.170.23",
		"http://[fd00:ec2::23]"};

	for (size_t i = 0; i < LENGTH(allowed); i++) {
		size_t length = strlen(allowed[i]);

		if (strncmp(url, allowed[i], length) == 0 &&
			(i == 0 || strchr(":/", url[length]) || url[length] == '\0'))
			return true;
	}
	return false;
}

int aws_credentials_of_container(struct aws_credential_reading *reading, struct err *err)
{
	const char *relative = getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
		   *full = getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
		   *token = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
		   *token_file = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	struct http_header header = {SPAN("Authorization"), token ? span_of(token) : SPAN("")};
	struct http_client_request request = {.headers = &header,
		.connect_timeout_ms = METADATA_TIMEOUT_MS,
		.total_timeout_ms = METADATA_TIMEOUT_MS};
	struct http_client_response *response;
	int code = 0;

	if (relative && relative[0])
		request.url =
			arena_format(reading->arena, "%s%s", CONTAINER_ENDPOINT, relative).data;
	else if (full && full[0])
		request.url = full;
	else
		return err_set(err, AWS_NOT_CONFIGURED,
			"no AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI");
	if (!is_allowed(request.url))
		return err_set(err, -EINVAL,
			"AWS_CONTAINER_CREDENTIALS_FULL_URI: '%s' is neither https nor an address "
			"of "
			"this machine",
			request.url);
	if (token_file && token_file[0])
		code = read_token(reading, token_file, &header.value, err);
	request.header_count = header.value.length > 0;
	if (code == 0)
		code = ask(reading, &request, &response, err);
	return code < 0 ? code : keep_json(reading, response->body, "Token", err);
}

/* ---- web identity ---- */

static void add_pair(struct buffer *form, const char *name, struct span value)
{
	buffer_format(form, "%s%s=", form->length > 0 ? "&" : "", name);
	query_form_encode(value, form);
}

static int read_xml(struct aws_credential_reading *reading, struct span text, struct err *err)
{
	struct xml_element *root;
	const struct xml_element *found;
	int code = xml_parse(text, reading->arena, &root, err);

	if (code < 0)
		return code;
	found = xml_child(xml_child(root, "AssumeRoleWithWebIdentityResult"), "Credentials");
	return keep(reading, xml_child_text(found, "AccessKeyId"),
		xml_child_text(found, "SecretAccessKey"), xml_child_text(found, "SessionToken"),
		xml_child_text(found, "Expiration"), err);
}

static int send_token(struct aws_credential_reading *reading, const char *role, struct span token,
	const char *session, struct err *err)
{
	const struct aws_credential_chain *chain = reading->chain;
	_buffer_ struct buffer form = {0};
	struct http_header header = {
		SPAN("Content-Type"), SPAN("application/x-www-form-urlencoded")};
	struct http_client_request request = {.method = "POST",
		.url = chain->sts_endpoint,
		.headers = &header,
		.header_count = 1,
		.tls = {.authorities = chain->authorities},
		.total_timeout_ms = STS_TIMEOUT_MS};
	struct http_client_response *response;
	int code;

	add_pair(&form, "Action", SPAN("AssumeRoleWithWebIdentity"));
	add_pair(&form, "Version", SPAN("2011-06-15"));
	add_pair(&form, "RoleArn", span_of(role));
	add_pair(&form, "RoleSessionName", span_of(session ? session : chain->session));
	add_pair(&form, "WebIdentityToken", token);
	add_pair(&form, "DurationSeconds", SPAN(SESSION_S));
	request.body = buffer_span(&form);
	code = ask(reading, &request, &response, err);
	return code < 0 ? code : read_xml(reading, response->body, err);
}

/* The request is not signed: the token identifies the sender. */
int aws_credentials_of_web_identity(struct aws_credential_reading *reading, const char *role,
	const char *token_file, const char *session, struct err *err)
{
	struct span token;
	int code = read_token(reading, token_file, &token, err);

	if (code == 0)
		code = send_token(reading, role, token, session, err);
	if (code < 0)
		return err_prefix(err, code, "role '%s': sts AssumeRoleWithWebIdentity", role);
	return 0;
}

/* ---- a program ---- */

int aws_credentials_of_process(struct aws_credential_reading *reading, const char *command,
	struct err *err)
{
	const char *arguments[] = {"/bin/sh", "-c", command, NULL};
	struct child_request request = {.arguments = arguments,
		.environment = (const char *const *)environ,
		.output_max = ANSWER_MAX,
		.timeout_ms = PROCESS_TIMEOUT_MS};
	_child_result_ struct child_result result = {0};
	int code = child_run(child_system(), &request, &result, err);

	if (code == 0 && result.timed_out)
		code = err_set(err, -ETIMEDOUT, "took more than %d s", PROCESS_TIMEOUT_MS / 1000);
	else if (code == 0 && result.exit_code != 0)
		code = err_set(err, -EACCES, "exit code %d", result.exit_code);
	if (code == 0)
		code = keep_json(reading, buffer_span(&result.output), "SessionToken", err);
	if (result.output.data)
		explicit_bzero(result.output.data, result.output.length);
	return code < 0 ? err_prefix(err, code, "credential_process") : 0;
}
