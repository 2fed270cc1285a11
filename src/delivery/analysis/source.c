/* See the header. */
#include "delivery/analysis/source.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "aws/query_form.h"

#define STATUS_OK 200
#define STATUS_MULTIPLE 300
#define NUMBER_MAX 64
#define ERROR_TEXT_MAX 300
#define SECOND_MS 1000
#define OUTPUT_SHOWN_MAX 200

/* Bytes of foreign text in a message. */
static struct span cut(struct span text, size_t most)
{
	return (struct span){text.data, text.length < most ? text.length : most};
}

/* The whole text as a number: digits as C and Go write them, NaN, +Inf. */
static bool read_number(struct span text, double *ret_number)
{
	char copy[NUMBER_MAX], *end;
	double number;

	if (text.length == 0 || text.length >= sizeof(copy))
		return false;
	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	number = strtod(copy, &end);
	if (end != copy + text.length || end == copy)
		return false;
	*ret_number = number;
	return true;
}

/* ---- Prometheus ---- */

/* [1700000000.1, "0.5"] */
static bool read_point(const struct json *point, double *ret_value)
{
	struct span text = json_text(json_item(point, 1));

	return json_array_count(point) == 2 && text.data && read_number(text, ret_value);
}

static int read_vector(const struct json *result, struct arena *arena, double **ret_values,
	size_t *ret_count, struct err *err)
{
	size_t series = json_array_count(result), count = 0;
	double *values;

	if (!json_is(result, JSON_ARRAY))
		return err_set(err, -EINVAL, "answer of Prometheus: data.result is no list");
	if (series > SOURCE_SERIES_MAX)
		return err_set(err, -E2BIG,
			"answer of Prometheus has %zu series, more than %d; aggregate them", series,
			SOURCE_SERIES_MAX);
	values = arena_allocate_array(arena, series + 1, sizeof(*values));
	JSON_EACH_ITEM (result, item) {
		double value;

		if (!read_point(json_get(item, "value"), &value))
			return err_set(err, -EINVAL, "answer of Prometheus: a series has no value");
		if (!isnan(value))
			values[count++] = value;
	}
	*ret_values = values;
	*ret_count = count;
	return 0;
}

static int read_scalar(const struct json *result, struct arena *arena, double **ret_values,
	size_t *ret_count, struct err *err)
{
	double *values = arena_allocate_array(arena, 1, sizeof(*values));

	if (!read_point(result, &values[0]))
		return err_set(err, -EINVAL, "answer of Prometheus: the scalar has no value");
	*ret_count = isnan(values[0]) ? 0 : 1;
	*ret_values = values;
	return 0;
}

int source_read_prometheus(struct span body, struct arena *arena, double **ret_values,
	size_t *ret_count, struct err *err)
{
	const struct json *data;
	struct span type, text;
	struct json *answer;
	struct err reason = {0};

	if (json_parse(body, arena, &answer, &reason) < 0)
		return err_set(err, -EINVAL, "answer of Prometheus: %s", reason.message);
	if (!span_equal(json_get_text(answer, "status"), SPAN("success"))) {
		text = json_get_text(answer, "error");
		if (!text.data)
			return err_set(err, -EINVAL,
				"answer of Prometheus: neither data nor an error");
		text = cut(text, ERROR_TEXT_MAX);
		return err_set(err, -EREMOTEIO, "Prometheus: %.*s", SPAN_ARGS(text));
	}
	data = json_get(answer, "data");
	type = json_get_text(data, "resultType");
	if (type.data && span_is(type, "vector"))
		return read_vector(json_get(data, "result"), arena, ret_values, ret_count, err);
	if (type.data && span_is(type, "scalar"))
		return read_scalar(json_get(data, "result"), arena, ret_values, ret_count, err);
	return err_set(err, -EINVAL,
		"the query gives a %.*s; expected an instant vector or a scalar",
		SPAN_ARGS(type.data ? cut(type, NUMBER_MAX) : SPAN("result without a type")));
}

int source_query_prometheus(struct http_client *client, const struct prometheus *prometheus,
	struct span query, int64_t at_ms, int64_t timeout_ms, struct http_client_cancel *cancel,
	struct arena *arena, double **ret_values, size_t *ret_count, struct err *err)
{
	_buffer_ struct buffer body = {0};
	struct http_header *headers =
		arena_allocate_array(arena, prometheus->header_count + 1, sizeof(*headers));
	struct http_client_request request = {
		.method = "POST",
		.url = arena_format(arena, "%s/api/v1/query", prometheus->url).data,
		.headers = headers,
		.header_count = prometheus->header_count + 1,
		.tls = prometheus->tls,
		.total_timeout_ms = timeout_ms > 0 ? timeout_ms : SOURCE_TIMEOUT_MS,
		.response_max = SOURCE_ANSWER_MAX,
		.cancel = cancel,
	};
	struct http_client_response *response;
	int code;

	if (query.length > SOURCE_QUERY_MAX)
		return err_set(err, -E2BIG, "query has more than %d bytes", SOURCE_QUERY_MAX);
	headers[0] = (struct http_header){
		SPAN("content-type"), SPAN("application/x-www-form-urlencoded")};
	if (prometheus->header_count > 0)
		memcpy(&headers[1], prometheus->headers,
			prometheus->header_count * sizeof(*headers));
	buffer_add_string(&body, "query=");
	query_form_encode(query, &body);
	buffer_format(&body, "&time=%lld.%03lld", (long long)(at_ms / SECOND_MS),
		(long long)(at_ms % SECOND_MS));
	request.body = buffer_span(&body);
	code = http_client_request(client, &request, arena, &response, err);
	if (code < 0)
		return err_prefix(err, code, "query %s", prometheus->url);
	code = source_read_prometheus(response->body, arena, ret_values, ret_count, err);
	/* Proxies answer with pages of their own. */
	if (code == -EINVAL && response->status != STATUS_OK)
		return err_set(err, -EREMOTEIO, "query %s: status %d", prometheus->url,
			response->status);
	return code;
}

/* ---- HTTP checks ---- */

static bool contains(struct span text, struct span part)
{
	return memmem(text.data, text.length, part.data, part.length) != NULL;
}

int source_check_http(struct http_client *client, const struct http_check *check,
	struct arena *arena, struct span *ret_failure, struct err *err)
{
	struct http_client_request request = {
		.method = check->method,
		.url = check->url,
		.headers = check->headers,
		.header_count = check->header_count,
		.total_timeout_ms = check->timeout_ms > 0 ? check->timeout_ms : SOURCE_TIMEOUT_MS,
		.response_max = SOURCE_ANSWER_MAX,
		.cancel = check->cancel,
	};
	struct http_client_response *response;
	struct err failure = {0};
	int code = http_client_request(client, &request, arena, &response, &failure);

	if (code == -ECANCELED || code == -EINVAL)
		return err_set(err, code, "%s", failure.message);
	if (code < 0)
		*ret_failure = arena_format(arena, "%s", failure.message);
	else if (response->status != check->expected_code)
		*ret_failure = arena_format(arena, "%s answered status %d, not %lld", check->url,
			response->status, (long long)check->expected_code);
	else if (check->expected_response.length > 0 &&
		 !contains(response->body, check->expected_response))
		*ret_failure = arena_format(arena,
			"the answer of %s does not have the expected text", check->url);
	else
		*ret_failure = SPAN("");
	return 0;
}

/* ---- commands ---- */

int source_run_command(const struct child_operations *children, const struct command_check *check,
	struct arena *arena, double *ret_value, struct span *ret_failure, struct err *err)
{
	const struct child_request request = {
		.arguments = (const char *const[]){"sh", "-c", check->script, NULL},
		.environment = check->environment,
		.folder = check->folder,
		.output_max = SOURCE_OUTPUT_MAX,
		.timeout_ms = check->timeout_ms > 0 ? check->timeout_ms : SOURCE_TIMEOUT_MS,
		.cancel = check->cancel,
	};
	_child_result_ struct child_result result = {0};
	struct span output, last = SPAN(""), line;
	int code = child_run(children, &request, &result, err);

	if (code < 0)
		return code;
	if (result.cancelled)
		return err_set(err, -ECANCELED, "the command was cancelled");
	if (result.timed_out)
		return err_set(err, -ETIMEDOUT, "the command did not end within %lld ms",
			(long long)request.timeout_ms);
	output = buffer_span(&result.output);
	while (span_next_part(&output, '\n', &line)) {
		if (span_trim(line).length > 0)
			last = span_trim(line);
	}
	*ret_value = 1;
	*ret_failure = SPAN("");
	if (result.signal)
		*ret_failure =
			arena_format(arena, "the command was ended by signal %d", result.signal);
	else if (result.exit_code != 0)
		*ret_failure = arena_format(arena, "the command ended with exit code %d",
			result.exit_code);
	else if (check->has_value && (!read_number(last, ret_value) || isnan(*ret_value))) {
		last = cut(last, OUTPUT_SHOWN_MAX);
		*ret_failure = arena_format(arena,
			"the last line of the output is no number: \"%.*s\"", SPAN_ARGS(last));
	}
	return 0;
}
