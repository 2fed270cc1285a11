/* Health check settings; see health_check.h. */
#include "elb/health_check.h"

#include "base/memory.h"

#define PATH_DEFAULT "/"
#define APPLICATION_CODES_MAX 499

static bool is_http(enum elb_protocol protocol)
{
	return protocol == ELB_HTTP || protocol == ELB_HTTPS;
}

/* ---- numbers ---- */

/* Slower for what is not HTTP, as Elastic Load Balancing has it. */
static int64_t default_timeout(enum elb_protocol group, enum elb_protocol check)
{
	if (is_http(group))
		return 5;
	return check == ELB_HTTP ? 6 : 10;
}

static const struct number {
	const char *name;
	int64_t min, max, otherwise; /* 0: see default_timeout() */
} numbers[] = {
	{"HealthCheckIntervalSeconds", 5, 300, 30},
	{"HealthCheckTimeoutSeconds", 2, 120, 0},
	{"HealthyThresholdCount", 2, 10, 5},
	{"UnhealthyThresholdCount", 2, 10, 2},
};

/* Both may be equal for groups of network load balancers. */
static int check_timeout(struct aws_request *request, bool application, const struct json *document)
{
	int64_t timeout = json_get_integer(document, "HealthCheckTimeoutSeconds", 0);
	int64_t interval = json_get_integer(document, "HealthCheckIntervalSeconds", 0);

	if (timeout < interval || (timeout == interval && !application))
		return 0;
	return aws_fail_input(request,
		"Health check timeout '%lld' must be smaller than %sthe interval '%lld'",
		(long long)timeout, application ? "" : "or equal to ", (long long)interval);
}

static int read_numbers(struct aws_request *request, enum elb_protocol group,
	enum elb_protocol check, struct json *document)
{
	for (size_t i = 0; i < LENGTH(numbers); i++) {
		const struct number *row = &numbers[i];
		int64_t otherwise = row->otherwise ? row->otherwise : default_timeout(group, check);
		int64_t value = json_get_integer(request->input, row->name,
			json_get_integer(document, row->name, otherwise));

		if (value < row->min || value > row->max)
			return aws_fail_input(request, "%s: must be from %lld to %lld", row->name,
				(long long)row->min, (long long)row->max);
		json_set_integer(request->arena, document, row->name, value);
	}
	return check_timeout(request, group == ELB_HTTP || group == ELB_HTTPS, document);
}

/* ---- texts ---- */

static int read_port(struct aws_request *request, struct json *document)
{
	struct span requested = json_get_text(request->input, "HealthCheckPort");
	struct span stored = json_get_text(document, "HealthCheckPort");
	uint64_t port;

	if (!requested.data)
		requested = stored.data ? stored : SPAN("traffic-port");
	if (!span_is(requested, "traffic-port") &&
		(!span_to_unsigned(requested, UINT16_MAX, &port) || port == 0))
		return aws_fail_input(request,
			"HealthCheckPort: '%.*s' must be 'traffic-port' or a number from 1 to %d",
			SPAN_ARGS(requested), UINT16_MAX);
	json_set_string(request->arena, document, "HealthCheckPort", requested);
	return 0;
}

/* It is sent as it is, so it has nothing that would end a request line. */
static bool is_path(struct span path)
{
	if (path.length == 0 || path.length > PROBE_PATH_MAX || path.data[0] != '/')
		return false;
	for (size_t i = 0; i < path.length; i++)
		if (path.data[i] <= ' ' || path.data[i] >= 0x7f || path.data[i] == '"' ||
			path.data[i] == '\\')
			return false;
	return true;
}

static int read_path(struct aws_request *request, struct json *document)
{
	struct span requested = json_get_text(request->input, "HealthCheckPath");
	struct span stored = json_get_text(document, "HealthCheckPath");

	if (requested.data && !is_path(requested))
		return aws_fail_input(request,
			"HealthCheckPath: must begin with '/' and have at most %d characters, none "
			"of them a space, a quotation mark, a backslash or beyond ASCII",
			PROBE_PATH_MAX);
	if (!requested.data)
		requested = stored.data ? stored : SPAN(PATH_DEFAULT);
	json_set_string(request->arena, document, "HealthCheckPath", requested);
	return 0;
}

static int read_matcher(struct aws_request *request, enum elb_protocol group, struct json *document)
{
	const struct json *requested = json_get(request->input, "Matcher");
	struct span codes = json_get_text(requested, "HttpCode");
	struct json *matcher = json_new_object(request->arena);
	struct probe_matcher parsed;
	bool beyond = false;

	if (json_get_text(requested, "GrpcCode").data)
		return aws_fail(request, "InvalidConfigurationRequestException",
			"Matcher: GrpcCode is for target groups of protocol version GRPC, which "
			"there are none of here");
	if (!codes.data)
		codes = json_get_text(json_get(document, "Matcher"), "HttpCode");
	if (!codes.data)
		codes = is_http(group) ? SPAN("200") : SPAN("200-399");
	if (probe_matcher_parse(codes, &parsed, &request->err) < 0)
		return aws_fail_input(request, "Matcher: HttpCode '%.*s': %s", SPAN_ARGS(codes),
			request->err.message);
	for (int code = APPLICATION_CODES_MAX + 1; code < 600; code++)
		beyond |= probe_matcher_has(&parsed, code);
	if (beyond && is_http(group))
		return aws_fail_input(request,
			"Matcher: HttpCode '%.*s': codes must be from 200 to %d for protocols HTTP "
			"and HTTPS",
			SPAN_ARGS(codes), APPLICATION_CODES_MAX);
	json_set_string(request->arena, matcher, "HttpCode", codes);
	json_set(request->arena, document, "Matcher", matcher);
	return 0;
}

static int read_protocol(struct aws_request *request, enum elb_protocol group,
	const struct json *document, enum elb_protocol *ret_check)
{
	struct span requested = json_get_text(request->input, "HealthCheckProtocol");
	struct span stored = json_get_text(document, "HealthCheckProtocol");

	if (!requested.data && !stored.data) {
		*ret_check = is_http(group) ? ELB_HTTP : ELB_TCP;
		return 0;
	}
	if (!requested.data)
		requested = stored;
	if (!elb_protocol_read(requested, ret_check) ||
		!(is_http(*ret_check) || *ret_check == ELB_TCP))
		return aws_fail_input(request,
			"HealthCheckProtocol: '%.*s' is not a protocol of health checks: HTTP, "
			"HTTPS or TCP",
			SPAN_ARGS(requested));
	if (*ret_check == ELB_TCP && is_http(group))
		return aws_fail_input(request,
			"HealthCheckProtocol: TCP is not possible for target groups with protocol "
			"%s",
			elb_protocol_name(group));
	return 0;
}

int elb_health_check_read(struct aws_request *request, enum elb_protocol group_protocol,
	struct json *document)
{
	enum elb_protocol check;

	if (!json_get_bool(request->input, "HealthCheckEnabled", true))
		return aws_fail_input(request,
			"HealthCheckEnabled: health checks of instance and ip targets cannot be "
			"disabled");
	if (read_protocol(request, group_protocol, document, &check) < 0 ||
		read_port(request, document) < 0 ||
		read_numbers(request, group_protocol, check, document) < 0)
		return -EPERM;
	json_set_bool(request->arena, document, "HealthCheckEnabled", true);
	json_set_string(request->arena, document, "HealthCheckProtocol",
		span_of(elb_protocol_name(check)));
	if (is_http(check))
		return read_path(request, document) < 0 ||
				       read_matcher(request, group_protocol, document) < 0
			       ? -EPERM
			       : 0;
	if (json_get_text(request->input, "HealthCheckPath").data ||
		!json_is_absent(json_get(request->input, "Matcher")))
		return aws_fail(request, "InvalidConfigurationRequestException",
			"HealthCheckPath and Matcher are not possible with TCP health checks");
	json_unset(document, "HealthCheckPath");
	json_unset(document, "Matcher");
	return 0;
}
