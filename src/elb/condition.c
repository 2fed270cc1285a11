/* Conditions of rules; see the header. */
#include "elb/condition.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/memory.h"

#define HEADER_NAME_MAX 40

/* Characters beside letters and digits are as in AWS, but AWS requires a dot in every host. */
static const struct elb_condition_field fields[] = {
	{"host-header", "HostHeaderConfig", PROXY_IF_HOST, 128, false, true, true, "-.*?"},
	{"path-pattern", "PathPatternConfig", PROXY_IF_PATH, 128, false, true, true,
		"_-.$/~\"'@:+&*?"},
	{"http-header", "HttpHeaderConfig", PROXY_IF_HEADER, 128, true, false, true, NULL},
	{"http-request-method", "HttpRequestMethodConfig", PROXY_IF_METHOD, 40, false, false, false,
		"-_"},
	{"query-string", "QueryStringConfig", PROXY_IF_QUERY, 128, true, false, true, NULL},
	{"source-ip", "SourceIpConfig", PROXY_IF_SOURCE, 64, false, false, false, ".:/"},
};

const struct elb_condition_field *elb_condition_field_find(struct span name)
{
	for (size_t i = 0; i < LENGTH(fields); i++)
		if (span_is(name, fields[i].name))
			return &fields[i];
	return NULL;
}

/* The limits that a list has used up so far. */
struct reading {
	struct aws_request *request;
	size_t values, wildcards;
	bool seen[LENGTH(fields)];
};

/* ---- values ---- */

static bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool has_character(const struct elb_condition_field *field, char c)
{
	if (!field->characters)
		return c >= 0x20 && c < 0x7f;
	return is_letter_or_digit(c) || (c != '\0' && strchr(field->characters, c));
}

static int check_text(struct reading *reading, const struct elb_condition_field *field,
	struct span text)
{
	struct aws_request *request = reading->request;

	if (text.length == 0)
		return aws_fail_input(request, "Conditions: a value of %s is empty", field->name);
	if (text.length > field->most)
		return aws_fail_input(request,
			"Conditions: a value of %s has %zu characters, at most %zu are allowed",
			field->name, text.length, field->most);
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (!has_character(field, c))
			return aws_fail_input(request,
				"Conditions: '%.*s' has a character that a value of %s must not "
				"have",
				SPAN_ARGS(text), field->name);
		if (field->patterns && c == '\\')
			return aws_fail_input(request,
				"Conditions: '%.*s' has a '\\'; slipway does not support escaped "
				"wildcards",
				SPAN_ARGS(text));
		reading->wildcards += field->patterns && (c == '*' || c == '?');
	}
	return 0;
}

static bool is_cidr(struct span text)
{
	unsigned char address[sizeof(struct in6_addr)];
	struct span host, length;
	char name[INET6_ADDRSTRLEN];
	uint64_t bits;

	if (!span_split(text, '/', &host, &length) || host.length >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(host));
	if (inet_pton(AF_INET, name, address) == 1)
		return span_to_unsigned(length, 32, &bits);
	return inet_pton(AF_INET6, name, address) == 1 && span_to_unsigned(length, 128, &bits);
}

static bool is_method(struct span text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] >= 'a' && text.data[i] <= 'z')
			return false;
	return true;
}

/* One value in normal form: a text, or a pair of a query string. */
static int read_value(struct reading *reading, const struct elb_condition_field *field,
	const struct json *requested, const struct json **ret_value)
{
	struct aws_request *request = reading->request;
	bool pair = field->kind == PROXY_IF_QUERY;
	struct span text = pair ? json_get_text(requested, "Value") : json_text(requested);
	struct span key = pair ? json_get_text(requested, "Key") : SPAN_NONE;
	struct json *value;

	if (check_text(reading, field, text) < 0 ||
		(key.data && check_text(reading, field, key) < 0))
		return -EPERM;
	if (field->kind == PROXY_IF_SOURCE && !is_cidr(text))
		return aws_fail_input(request,
			"Conditions: '%.*s' is not a block of addresses such as 192.0.2.0/24 or "
			"2001:db8::/32",
			SPAN_ARGS(text));
	if (field->kind == PROXY_IF_METHOD && !is_method(text))
		return aws_fail_input(request,
			"Conditions: the method '%.*s' must be in upper case, as methods are on "
			"the wire",
			SPAN_ARGS(text));
	if (++reading->values > ELB_CONDITION_VALUES_MAX)
		return aws_fail_input(request,
			"Conditions: a rule has at most %d values in all of its conditions",
			ELB_CONDITION_VALUES_MAX);
	if (reading->wildcards > ELB_CONDITION_WILDCARDS_MAX)
		return aws_fail_input(request,
			"Conditions: a rule has at most %d wildcards ('*' and '?') in all of its "
			"conditions",
			ELB_CONDITION_WILDCARDS_MAX);
	value = pair ? json_new_object(request->arena) : json_new_string(request->arena, text);
	if (key.data)
		json_set_string(request->arena, value, "Key", key);
	if (pair)
		json_set_string(request->arena, value, "Value", text);
	*ret_value = value;
	return 0;
}

/* ---- conditions ---- */

static int check_header_name(struct aws_request *request, struct span name)
{
	if (name.length == 0)
		return aws_fail_input(request, "Conditions: an http-header condition needs "
					       "HttpHeaderConfig.HttpHeaderName");
	if (name.length > HEADER_NAME_MAX)
		return aws_fail_input(request,
			"Conditions: HttpHeaderName has %zu characters, at most %d are allowed",
			name.length, HEADER_NAME_MAX);
	if (span_equal_ignoring_case(name, SPAN("host")))
		return aws_fail_input(request, "Conditions: HttpHeaderName must not be Host; use a "
					       "host-header condition");
	for (size_t i = 0; i < name.length; i++)
		if (!is_letter_or_digit(name.data[i]) &&
			(name.data[i] == '\0' || !strchr("!#$%&'*+-.^_`|~", name.data[i])))
			return aws_fail_input(request,
				"Conditions: '%.*s' is not the name of a header", SPAN_ARGS(name));
	return 0;
}

/* Values and the …Config must not say different things; clients send back both, as they were answered. */
static int find_values(struct aws_request *request, const struct elb_condition_field *field,
	const struct json *requested, const struct json **ret_values)
{
	const struct json *direct = json_get(requested, "Values");
	const struct json *config = json_get(requested, field->config);
	const struct json *values = json_get(config, "Values");

	if (json_count(json_get(config, "RegexValues")) > 0 ||
		json_count(json_get(requested, "RegexValues")) > 0)
		return aws_fail_input(request,
			"Conditions: slipway does not support RegexValues; use Values with '*' and "
			"'?'");
	if (json_count(direct) > 0 && !field->in_values)
		return aws_fail_input(request, "Conditions: the values of %s belong into %s",
			field->name, field->config);
	if (json_count(direct) > 0 && json_count(values) > 0 && !json_equal(direct, values))
		return aws_fail_input(request,
			"Conditions: Values and %s of %s say different things; give one of them",
			field->config, field->name);
	if (json_count(direct) > 1 && json_count(values) == 0)
		return aws_fail_input(request,
			"The '%s' field contains too many values; the limit is '1'", field->name);
	if (json_count(direct) > 0)
		values = direct;
	if (json_count(values) == 0)
		return aws_fail_input(request, "A condition value must be specified");
	*ret_values = values;
	return 0;
}

/* A …Config of another field is an error: it would be dropped silently. */
static int check_configs(struct aws_request *request, const struct elb_condition_field *field,
	const struct json *requested)
{
	for (size_t i = 0; i < LENGTH(fields); i++)
		if (&fields[i] != field && !json_is_absent(json_get(requested, fields[i].config)))
			return aws_fail_input(request,
				"Conditions: %s does not go with the field %s", fields[i].config,
				field->name);
	return 0;
}

static int read_condition(struct reading *reading, const struct json *requested,
	const struct json **ret_condition)
{
	struct aws_request *request = reading->request;
	struct arena *arena = request->arena;
	struct span name = json_get_text(requested, "Field");
	const struct elb_condition_field *field = elb_condition_field_find(name);
	struct json *condition = json_new_object(arena), *config = json_new_object(arena);
	struct json *list = json_new_array(arena);
	const struct json *values, *value;
	struct span header;

	if (!field)
		return aws_fail_input(request,
			"Conditions: the field '%.*s' must be one of host-header, path-pattern, "
			"http-header, http-request-method, query-string, source-ip",
			SPAN_ARGS(name.data ? name : SPAN("")));
	if (reading->seen[field - fields] && !field->many)
		return aws_fail_input(request, "Conditions: a rule has at most one %s condition",
			field->name);
	reading->seen[field - fields] = true;
	if (check_configs(request, field, requested) < 0 ||
		find_values(request, field, requested, &values) < 0)
		return -EPERM;
	if (field->kind == PROXY_IF_HEADER) {
		header = json_get_text(json_get(requested, field->config), "HttpHeaderName");
		if (check_header_name(request, header) < 0)
			return -EPERM;
		json_set_string(arena, config, "HttpHeaderName", header);
	}
	JSON_EACH_ITEM (values, item) {
		if (read_value(reading, field, item, &value) < 0)
			return -EPERM;
		json_append(arena, list, value);
	}
	json_set_string(arena, condition, "Field", span_of(field->name));
	if (field->in_values)
		json_set(arena, condition, "Values", list);
	json_set(arena, config, "Values", list);
	json_set(arena, condition, field->config, config);
	*ret_condition = condition;
	return 0;
}

int elb_conditions_read(struct aws_request *request, const struct json *requested,
	struct json **ret_conditions)
{
	struct reading reading = {.request = request};
	struct json *conditions = json_new_array(request->arena);
	const struct json *condition;

	if (json_count(requested) == 0)
		return aws_fail_input(request, "Conditions: a rule needs at least one condition");
	JSON_EACH_ITEM (requested, item) {
		if (read_condition(&reading, item, &condition) < 0)
			return -EPERM;
		json_append(request->arena, conditions, condition);
	}
	*ret_conditions = conditions;
	return 0;
}
