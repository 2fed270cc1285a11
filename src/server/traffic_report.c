/*
 * Traffic counts, for /metrics and for DescribeTraffic. Keys name listeners and groups:
 * "ACCOUNT/REGION/BALANCER/LISTENER" (with "/udp" for the second half of TCP_UDP), "ACCOUNT/REGION/GROUP".
 */
#include "server/traffic.h"

/* name in metrics, name in JSON, member, whether it only grows, help */
#define COUNTERS(X)                                                                                \
	X("connections_total", "connections", connections, true,                                   \
		"Connections, sessions or requests given to targets")                              \
	X("active", "active", active, false, "Connections, sessions or requests open now")         \
	X("bytes_in_total", "bytesIn", bytes_in, true, "Bytes from clients")                       \
	X("bytes_out_total", "bytesOut", bytes_out, true, "Bytes to clients")                      \
	X("datagrams_in_total", "datagramsIn", datagrams_in, true, "Datagrams from clients")       \
	X("datagrams_out_total", "datagramsOut", datagrams_out, true, "Datagrams to clients")      \
	X("connect_failures_total", "connectFailures", connect_failures, true,                     \
		"Tries that a target refused or left unanswered")                                  \
	X("retries_total", "retries", retries, true, "Tries after such a failure")                 \
	X("failed_total", "failed", failed, true,                                                  \
		"Clients turned away because no target was left to try")                           \
	X("refused_total", "refused", refused, true, "Clients turned away by a limit")             \
	X("resets_total", "resets", resets, true, "Ended by a reset from either side")             \
	X("idle_ends_total", "idleEnds", idle_ends, true, "Ended by an idle limit")                \
	X("evictions_total", "evictions", evictions, true, "UDP sessions that gave way")           \
	X("cut_total", "cut", cut, true, "Ended by a drain deadline, or with their target")

/* Of groups and targets. */
#define RESPONSE_COUNTERS(X)                                                                       \
	X("responses_1xx_total", "responses1xx", responses[0], true, "Responses with status 1xx")  \
	X("responses_2xx_total", "responses2xx", responses[1], true, "Responses with status 2xx")  \
	X("responses_3xx_total", "responses3xx", responses[2], true, "Responses with status 3xx")  \
	X("responses_4xx_total", "responses4xx", responses[3], true, "Responses with status 4xx")  \
	X("responses_5xx_total", "responses5xx", responses[4], true, "Responses with status 5xx")  \
	X("response_milliseconds", "responseMilliseconds", response_ms, false,                     \
		"Time until targets answer, average of the last requests")

struct counter {
	const char *metric, *json;
	size_t offset;
	bool grows;
	const char *help;
};

#define X(metric, json, member, grows, help)                                                       \
	{metric, json, offsetof(struct proxy_counters, member), grows, help},
static const struct counter counters[] = {COUNTERS(X)};
static const struct counter response_counters[] = {RESPONSE_COUNTERS(X)};
#undef X

static unsigned long long value_of(const struct counter *counter,
	const struct proxy_counters *values)
{
	return *(const uint64_t *)((const char *)values + counter->offset);
}

/* ---- metrics ---- */

static void write_listeners(const struct proxy_report *report, struct buffer *out)
{
	for (size_t c = 0; c < LENGTH(counters); c++) {
		_free_ char *name = memory_format("listener_%s", counters[c].metric);

		metric_head(out, name, counters[c].grows, counters[c].help);
		for (size_t i = 0; i < report->listener_count; i++) {
			const struct proxy_listener_report *listener = &report->listeners[i];

			buffer_format(out, "slipway_%s{listener=\"%s\",protocol=\"%s\"} %llu\n",
				name, listener->name, proxy_protocol_name(listener->protocol),
				value_of(&counters[c], &listener->counters));
		}
	}
}

static void write_routes(const struct proxy_report *report, struct buffer *out)
{
	metric_head(out, "route_weight", false, "Weight of a group in a listener's default action");
	for (size_t i = 0; i < report->listener_count; i++) {
		const struct proxy_listener_report *listener = &report->listeners[i];

		for (size_t k = 0; k < listener->route_count; k++)
			buffer_format(out,
				"slipway_route_weight{listener=\"%s\",group=\"%s\"} %u\n",
				listener->name, listener->routes[k].group,
				listener->routes[k].weight);
	}
	for (size_t c = 0; c < LENGTH(counters); c++) {
		_free_ char *name = memory_format("route_%s", counters[c].metric);

		metric_head(out, name, counters[c].grows, counters[c].help);
		for (size_t i = 0; i < report->listener_count; i++) {
			const struct proxy_listener_report *listener = &report->listeners[i];

			for (size_t k = 0; k < listener->route_count; k++)
				buffer_format(out,
					"slipway_%s{listener=\"%s\",group=\"%s\"} %llu\n", name,
					listener->name, listener->routes[k].group,
					value_of(&counters[c], &listener->routes[k].counters));
		}
	}
}

static void write_group_counter(const struct proxy_report *report, const struct counter *counter,
	struct buffer *out)
{
	_free_ char *name = memory_format("group_%s", counter->metric);

	metric_head(out, name, counter->grows, counter->help);
	for (size_t i = 0; i < report->group_count; i++)
		buffer_format(out, "slipway_%s{group=\"%s\"} %llu\n", name, report->groups[i].name,
			value_of(counter, &report->groups[i].counters));
}

static void write_groups(const struct proxy_report *report, struct buffer *out)
{
	for (size_t c = 0; c < LENGTH(counters); c++)
		write_group_counter(report, &counters[c], out);
	for (size_t c = 0; c < LENGTH(response_counters); c++)
		write_group_counter(report, &response_counters[c], out);
}

/* How many targets are in which state, of the groups that are in use. */
static void write_targets(struct server *server, const struct proxy_report *report,
	struct arena *arena, struct buffer *out)
{
	_view_ struct store_view *view = store_view_open(server->store);

	metric_head(out, "targets", false, "Targets of a group, by state");
	for (size_t i = 0; i < report->group_count; i++) {
		for (int state = 0; state < ELB_TARGET_STATE_COUNT; state++) {
			const char *name = elb_target_state_name((enum elb_target_state)state);
			struct span text =
				arena_format(arena, "%s/%s", report->groups[i].name, name);

			buffer_format(out, "slipway_targets{group=\"%s\",state=\"%s\"} %llu\n",
				report->groups[i].name, name,
				(unsigned long long)store_count(view, &elb_target_kind,
					ELB_TARGET_BY_STATE, text, true));
		}
	}
}

void traffic_write_metrics(struct server *server, struct buffer *out)
{
	_arena_ struct arena *arena = arena_new(0);
	struct proxy_report report = {0};

	if (server->draining)
		return;
	elb_plane_report(server->traffic->plane, arena, &report);
	metric_head(out, "proxy_processes_total", true,
		"Processes started to carry traffic, the first ones included");
	buffer_format(out, "slipway_proxy_processes_total %llu\n",
		(unsigned long long)report.worker_starts);
	write_listeners(&report, out);
	write_routes(&report, out);
	write_groups(&report, out);
	write_targets(server, &report, arena, out);
}

/* ---- DescribeTraffic ---- */

static struct json *counters_document(struct arena *arena, const struct proxy_counters *values)
{
	struct json *document = json_new_object(arena);

	for (size_t i = 0; i < LENGTH(counters); i++)
		json_set_integer(arena, document, counters[i].json,
			(int64_t)value_of(&counters[i], values));
	return document;
}

static struct json *with_responses(struct arena *arena, const struct proxy_counters *values)
{
	struct json *document = counters_document(arena, values);

	for (size_t i = 0; i < LENGTH(response_counters); i++)
		json_set_integer(arena, document, response_counters[i].json,
			(int64_t)value_of(&response_counters[i], values));
	return document;
}

static struct json *named(struct arena *arena, const char *name,
	const struct proxy_counters *values)
{
	struct json *document = json_new_object(arena);

	json_set_string(arena, document, "name", span_of(name));
	json_set(arena, document, "counters", counters_document(arena, values));
	return document;
}

static void set_address(struct arena *arena, struct json *document,
	const union proxy_address *address)
{
	char text[PROXY_ADDRESS_TEXT_SIZE];

	proxy_address_format(address, text);
	json_set_string(arena, document, "address", span_of(text));
}

static const struct json *listener_document(struct arena *arena,
	const struct proxy_listener_report *listener)
{
	struct json *document = named(arena, listener->name, &listener->counters);
	struct json *routes = json_new_array(arena);

	json_set_string(arena, document, "protocol",
		span_of(proxy_protocol_name(listener->protocol)));
	set_address(arena, document, &listener->address);
	for (size_t i = 0; i < listener->route_count; i++) {
		struct json *route = json_new_object(arena);

		json_set_string(arena, route, "group", span_of(listener->routes[i].group));
		json_set_integer(arena, route, "weight", listener->routes[i].weight);
		json_set(arena, route, "counters",
			counters_document(arena, &listener->routes[i].counters));
		json_append(arena, routes, route);
	}
	json_set(arena, document, "routes", routes);
	return document;
}

static const struct json *group_document(struct arena *arena,
	const struct proxy_group_report *group)
{
	struct json *document = named(arena, group->name, &group->counters);
	struct json *targets = json_new_array(arena);

	for (size_t i = 0; i < group->target_count; i++) {
		struct json *target = json_new_object(arena);

		set_address(arena, target, &group->targets[i].address);
		json_set_string(arena, target, "state",
			span_of(proxy_target_state_name(group->targets[i].state)));
		json_set(arena, target, "counters",
			with_responses(arena, &group->targets[i].counters));
		json_append(arena, targets, target);
	}
	json_set(arena, document, "counters", with_responses(arena, &group->counters));
	json_set(arena, document, "targets", targets);
	return document;
}

static void name_traffic(struct aws_request *request, struct aws_resources *resources)
{
	resources->arns[resources->count++] =
		arena_format(request->arena, "arn:aws:slipway:%.*s:%.*s:traffic/*",
			SPAN_ARGS(request->caller->region), SPAN_ARGS(request->caller->account));
}

static int describe(struct aws_request *request)
{
	const struct server *server = request->context;
	struct arena *arena = request->arena;
	struct span own = arena_format(arena, "%.*s/", SPAN_ARGS(request->caller->account));
	struct json *answer = json_new_object(arena);
	struct json *listeners = json_new_array(arena), *groups = json_new_array(arena);
	struct proxy_report report = {0};

	if (server->draining) {
		aws_fail(request, "ServerException", "slipway is stopping");
		request->failure.transient = true;
		return -EPERM;
	}
	elb_plane_report(server->traffic->plane, arena, &report);
	for (size_t i = 0; i < report.listener_count; i++)
		if (span_starts_with(span_of(report.listeners[i].name), own))
			json_append(arena, listeners,
				listener_document(arena, &report.listeners[i]));
	for (size_t i = 0; i < report.group_count; i++)
		if (span_starts_with(span_of(report.groups[i].name), own))
			json_append(arena, groups, group_document(arena, &report.groups[i]));
	json_set_bool(arena, answer, "settled", elb_plane_is_settled(server->traffic->plane));
	json_set_integer(arena, answer, "processes", (int64_t)report.worker_starts);
	json_set(arena, answer, "listeners", listeners);
	json_set(arena, answer, "groups", groups);
	json_write(answer, request->out);
	return 0;
}

void traffic_register(struct server *server)
{
	static const struct aws_operation operation = {.name = "DescribeTraffic",
		.mode = AWS_READ,
		.run = describe,
		.resources = name_traffic};

	rest_add_operations(server, &operation, 1, server);
}
