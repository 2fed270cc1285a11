/* See canary_plane.h. */
#include "release/canary_plane.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "release/naming.h"

static const struct {
	const char *ending; /* of the copy of the Service */
	const char *name;
} sides[CANARY_SIDE_COUNT] = {
	[CANARY_SIDE_STABLE] = {NAMING_FORKED, "stable"},
	[CANARY_SIDE_CANARY] = {NAMING_CANARY, "canary"},
};

struct target {
	union proxy_address address;
	bool seen; /* in this update */
	bool ready;
	int64_t gone_us; /* when it left its Service; 0: it did not */
};

/* The targets of one group, from update to update. */
struct target_list {
	struct target targets[PROXY_GROUP_TARGETS_MAX];
	size_t count;
	bool used; /* in this update */
};

struct canary_plane {
	struct map lists; /* by the group's name */
};

struct canary_plane *canary_plane_new(void)
{
	return memory_allocate(sizeof(struct canary_plane));
}

void canary_plane_free(struct canary_plane *plane)
{
	if (!plane)
		return;
	MAP_EACH (&plane->lists, entry)
		free(entry->value);
	map_clear(&plane->lists);
	free(plane);
}

/* ---- targets ---- */

static struct target_list *list_of(struct canary_plane *plane, const char *group)
{
	struct target_list *list = map_get(&plane->lists, span_of(group));

	if (!list) {
		list = memory_allocate(sizeof(*list));
		map_put(&plane->lists, span_of(group), list);
	}
	return list;
}

static void see(struct target_list *list, const union proxy_address *address, bool ready)
{
	struct target *target = NULL;

	for (size_t i = 0; i < list->count && !target; i++)
		if (proxy_address_equal(&list->targets[i].address, address))
			target = &list->targets[i];
	if (!target && list->count == PROXY_GROUP_TARGETS_MAX)
		return;
	if (!target) {
		target = &list->targets[list->count++];
		*target = (struct target){.address = *address};
	}
	/* A pod that moves between slices may be in two of them for a moment. */
	target->ready = ready || (target->seen && target->ready);
	target->seen = true;
	target->gone_us = 0;
}

static void see_slice(struct target_list *list, const struct canary_slice *slice,
	const struct canary_proxied_port *port)
{
	for (size_t i = 0; i < slice->port_count; i++) {
		const struct canary_slice_port *each = &slice->ports[i];

		if (!span_equal(each->name, port->name) || each->udp != port->udp)
			continue;
		for (size_t j = 0; j < slice->endpoint_count; j++) {
			union proxy_address address;
			char text[INET6_ADDRSTRLEN];

			if (slice->endpoints[j].address.length >= sizeof(text))
				continue;
			memcpy(text, slice->endpoints[j].address.data,
				slice->endpoints[j].address.length);
			text[slice->endpoints[j].address.length] = '\0';
			if (proxy_address_parse(text, (unsigned)each->port, &address, NULL) == 0)
				see(list, &address, slice->endpoints[j].ready);
		}
	}
}

/* Marks those that left, and forgets those whose time is over. */
static void age(struct target_list *list, const struct canary_plane_input *input, int64_t *next_us)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct target target = list->targets[i];
		int64_t until_us;

		if (!target.seen && target.gone_us == 0)
			target.gone_us = input->now_us;
		until_us = target.gone_us + input->canary->drain_seconds * INT64_C(1000000);
		if (target.gone_us != 0 && until_us <= input->now_us)
			continue;
		if (target.gone_us != 0 && (*next_us == 0 || until_us < *next_us))
			*next_us = until_us;
		list->targets[kept++] = target;
	}
	list->count = kept;
}

static void update_list(struct target_list *list, const struct canary_plane_input *input,
	struct span service, const struct canary_proxied_port *port, enum canary_side side,
	int64_t *next_us)
{
	bool has_slices = false;

	if (input->frozen)
		return;
	for (size_t i = 0; i < list->count; i++)
		list->targets[i].seen = false;
	for (size_t i = 0; i < input->slice_count; i++) {
		struct span name = input->slices[i]->service;
		size_t ending = strlen(sides[side].ending);

		if (name.length == service.length + ending && span_starts_with(name, service) &&
			span_ends_with(name, span_of(sides[side].ending))) {
			has_slices = true;
			see_slice(list, input->slices[i], port);
		}
	}
	/* A Service without endpoints has a slice without endpoints. Without any slice it was deleted, which says
	 * nothing about its pods. */
	if (has_slices)
		age(list, input, next_us);
}

static size_t add_group(struct arena *arena, const struct target_list *list, const char *name,
	const struct canary_port *listed, struct proxy_group *ret_group)
{
	struct proxy_target *targets = arena_allocate_array(arena, list->count, sizeof(*targets));
	size_t ready = 0;

	for (size_t i = 0; i < list->count; i++) {
		bool active = list->targets[i].ready && list->targets[i].gone_us == 0;

		targets[i] = (struct proxy_target){.address = list->targets[i].address,
			.state = active ? PROXY_TARGET_ACTIVE : PROXY_TARGET_DRAINING};
		ready += active;
	}
	*ret_group = (struct proxy_group){.name = name,
		.targets = targets,
		.target_count = list->count,
		.tls = listed && listed->reencrypt};
	return ready;
}

/* ---- listeners ---- */

/* A side without ready endpoints gives its share away. */
static uint32_t available_share(const struct canary_plane_port *port, uint32_t share)
{
	bool stable = port->ready[CANARY_SIDE_STABLE] > 0;
	bool canary = port->ready[CANARY_SIDE_CANARY] > 0;

	if (stable == canary)
		return share;
	return canary ? CANARY_SHARE_ALL : 0;
}

static enum proxy_protocol protocol_of(const struct canary_plane_input *input, struct span service,
	const struct canary_proxied_port *port)
{
	const struct canary_port *listed =
		canary_find_port(canary_find_service(input->canary, service), port);

	if (port->udp)
		return PROXY_UDP;
	if (listed && listed->protocol == CANARY_HTTP && input->has_http)
		return PROXY_HTTP;
	if (listed && listed->secret.length > 0)
		return PROXY_HTTPS;
	return listed && listed->protocol == CANARY_HTTPS ? PROXY_TLS : PROXY_TCP;
}

static struct proxy_route *make_routes(struct arena *arena, const char *const *groups,
	uint32_t share)
{
	struct proxy_route *routes =
		arena_allocate_array(arena, CANARY_SIDE_COUNT, sizeof(*routes));

	routes[CANARY_SIDE_STABLE] =
		(struct proxy_route){groups[CANARY_SIDE_STABLE], CANARY_SHARE_ALL - share};
	routes[CANARY_SIDE_CANARY] = (struct proxy_route){groups[CANARY_SIDE_CANARY], share};
	return routes;
}

static struct proxy_condition make_condition(struct arena *arena, enum proxy_condition_kind kind,
	const char *name, const char *text)
{
	struct proxy_value *value = arena_allocate(arena, sizeof(*value));

	*value = (struct proxy_value){.value = text};
	return (struct proxy_condition){
		.kind = kind, .name = name, .values = value, .value_count = 1};
}

/* match NULL: any request. The share is that of the requests which the rule is for. */
static void add_rule(struct arena *arena, const struct canary_plane_port *port,
	const struct canary_match *match, bool http2, uint32_t share, struct proxy_http *http)
{
	struct proxy_rule *rule = (struct proxy_rule *)&http->rules[http->rule_count++];
	struct proxy_condition *conditions = arena_allocate_array(arena, 2, sizeof(*conditions));

	*rule = (struct proxy_rule){
		.name = arena_format(arena, "rule %zu", http->rule_count).data,
		.conditions = conditions,
		.action = {.kind = PROXY_FORWARD,
			.routes = make_routes(arena, http2 ? port->http2_groups : port->groups,
				share),
			.route_count = CANARY_SIDE_COUNT},
	};
	if (http2)
		conditions[rule->condition_count++] =
			make_condition(arena, PROXY_IF_VERSION, NULL, "2");
	if (match)
		conditions[rule->condition_count++] =
			make_condition(arena, PROXY_IF_HEADER, match->header, match->value);
}

static void set_rules(struct arena *arena, const struct canary_plane_port *port,
	const struct canary_port *listed, bool divides, struct proxy_http *http)
{
	bool http2 = port->http2_groups[CANARY_SIDE_STABLE] != NULL;
	size_t matches = listed && divides ? listed->match_count : 0;
	uint32_t share = available_share(port, CANARY_SHARE_ALL);

	http->rules = arena_allocate_array(arena, matches * 2 + 1, sizeof(*http->rules));
	for (size_t i = 0; i < matches; i++) {
		if (http2)
			add_rule(arena, port, &listed->matches[i], true, share, http);
		add_rule(arena, port, &listed->matches[i], false, share, http);
	}
	if (http2)
		add_rule(arena, port, NULL, true, port->effective, http);
}

static void set_options(const struct canary_port *listed, struct proxy_options *options)
{
	options->proxy_v2 = listed->proxy_v2;
	options->udp_mode = listed->per_datagram ? PROXY_UDP_DATAGRAM : PROXY_UDP_SESSION;
	options->udp_idle_timeout_ms = (uint32_t)(listed->idle_seconds * 1000);
}

static void set_listener(struct arena *arena, const struct canary_plane_port *port,
	const struct canary_port *listed, bool divides, struct proxy_listener *listener)
{
	struct proxy_route *routes = make_routes(arena, port->groups, port->effective);

	listener->name = port->listener;
	listener->routes = routes;
	listener->route_count = CANARY_SIDE_COUNT;
	listener->options.retry_next_group = true;
	/* A Service itself has no idle limit. */
	listener->options.idle_timeout_ms = PROXY_TIMEOUT_MAX_MS;
	listener->http.otherwise = (struct proxy_action){
		.kind = PROXY_FORWARD, .routes = routes, .route_count = CANARY_SIDE_COUNT};
	if (listed)
		set_options(listed, &listener->options);
	if (listener->protocol == PROXY_HTTP || listener->protocol == PROXY_HTTPS)
		set_rules(arena, port, listed, divides, &listener->http);
}

/* False: a certificate is needed, and there is none that can be used. */
static bool set_certificate(struct arena *arena, const struct canary_plane_input *input,
	struct span secret, struct proxy_listener *listener, struct span *ret_problem)
{
	struct proxy_certificate *certificate = arena_allocate(arena, sizeof(*certificate));
	struct span problem = SPAN("HAProxy is missing");

	if (input->has_http) {
		certificate->pem = canary_certificates_find(input->certificates, secret, &problem);
		certificate->name = arena_copy(arena, secret.data, secret.length);
		listener->http.certificates = certificate;
		listener->http.certificate_count = 1;
	}
	if (problem.length > 0 && ret_problem->length == 0)
		*ret_problem = arena_format(arena, "Service port %s: Secret '%.*s': %.*s",
			listener->name, SPAN_ARGS(secret), SPAN_ARGS(problem));
	return certificate->pem != NULL;
}

static void add_side(struct canary_plane *plane, const struct canary_plane_input *input,
	struct arena *arena, enum canary_side side, const struct canary_port *listed,
	struct canary_plane_port *port, struct canary_plane_state *state)
{
	struct proxy_group *groups = (struct proxy_group *)state->state.groups;
	struct target_list *list;

	port->groups[side] = arena_format(arena, "%s#%s", port->listener, sides[side].name).data;
	list = list_of(plane, port->groups[side]);
	list->used = true;
	update_list(list, input, port->service, port->port, side, &state->next_us);
	port->ready[side] = add_group(arena, list, port->groups[side], listed,
		&groups[state->state.group_count++]);
	if (protocol_of(input, port->service, port->port) != PROXY_HTTP)
		return;
	port->http2_groups[side] =
		arena_format(arena, "%s#%s-http2", port->listener, sides[side].name).data;
	add_group(arena, list, port->http2_groups[side], listed, &groups[state->state.group_count]);
	groups[state->state.group_count++].http2 = true;
}

static int add_port(struct canary_plane *plane, const struct canary_plane_input *input,
	struct arena *arena, struct span service, const struct canary_proxied_port *proxied,
	struct canary_plane_state *state, struct err *err)
{
	size_t index = state->state.listener_count;
	const struct canary_port *listed =
		canary_find_port(canary_find_service(input->canary, service), proxied);
	struct canary_plane_port *port = &state->ports[index];
	struct proxy_listener *listener = (struct proxy_listener *)&state->state.listeners[index];

	*port = (struct canary_plane_port){.service = service,
		.port = proxied,
		.share = canary_share(input->canary, service, proxied),
		.listener = arena_format(arena, "%.*s:%lld/%s", SPAN_ARGS(service),
			(long long)proxied->port, proxied->udp ? "UDP" : "TCP")
				    .data};
	for (int side = 0; side < CANARY_SIDE_COUNT; side++)
		add_side(plane, input, arena, (enum canary_side)side, listed, port, state);
	port->effective = available_share(port, port->share);
	listener->protocol = protocol_of(input, service, proxied);
	set_listener(arena, port, listed, canary_divides(input->canary), listener);
	/* Without its certificate the port is not served, and its Service not taken over. */
	if (listener->protocol == PROXY_HTTPS &&
		!set_certificate(arena, input, listed->secret, listener, &state->problem)) {
		*listener = (struct proxy_listener){0};
		return 0;
	}
	state->state.listener_count++;
	return proxy_address_parse(input->address, (unsigned)proxied->proxy_port,
		&listener->address, err);
}

static void forget_unused(struct canary_plane *plane)
{
	MAP_EACH (&plane->lists, entry) {
		struct target_list *list = entry->value;

		if (!list->used)
			free(map_remove(&plane->lists, entry->key));
		else
			list->used = false;
	}
}

int canary_plane_update(struct canary_plane *plane, const struct canary_plane_input *input,
	struct arena *arena, struct canary_plane_state *ret_state, struct err *err)
{
	const struct canary *canary = input->canary;
	struct canary_plane_state state = {0};
	size_t count = 0;
	int code = 0;

	for (size_t i = 0; i < canary->proxied_count; i++)
		count += canary->proxied[i].port_count;
	state.ports = arena_allocate_array(arena, count, sizeof(*state.ports));
	state.state.listeners = arena_allocate_array(arena, count, sizeof(struct proxy_listener));
	state.state.groups = arena_allocate_array(arena, count * CANARY_SIDE_COUNT * 2,
		sizeof(struct proxy_group));
	for (size_t i = 0; code == 0 && i < canary->proxied_count; i++)
		for (size_t j = 0; code == 0 && j < canary->proxied[i].port_count; j++)
			code = add_port(plane, input, arena, canary->proxied[i].name,
				&canary->proxied[i].ports[j], &state, err);
	forget_unused(plane);
	if (code == 0)
		*ret_state = state;
	return code;
}

/* ---- reports ---- */

static const char *const classes[PROXY_CLASSES] = {"1xx", "2xx", "3xx", "4xx", "5xx"};

static bool is_http(enum proxy_protocol protocol)
{
	return protocol == PROXY_HTTP || protocol == PROXY_HTTPS;
}

static void add_counters(struct proxy_counters *sum, const struct proxy_counters *more)
{
	sum->connections += more->connections;
	sum->active += more->active;
	sum->bytes_in += more->bytes_in;
	sum->bytes_out += more->bytes_out;
	sum->datagrams_in += more->datagrams_in;
	sum->datagrams_out += more->datagrams_out;
	sum->connect_failures += more->connect_failures;
	sum->failed += more->failed;
	for (size_t i = 0; i < PROXY_CLASSES; i++)
		sum->responses[i] += more->responses[i];
	if (more->response_ms > sum->response_ms)
		sum->response_ms = more->response_ms;
}

/* HTTP alone: answers by class of their status, and how long targets take to answer. */
static void report_http(struct arena *arena, struct json *object,
	const struct proxy_counters *counters)
{
	struct json *responses = json_new_object(arena);

	for (size_t i = 0; i < PROXY_CLASSES; i++)
		if (counters->responses[i] > 0)
			json_set_integer(arena, responses, classes[i],
				(int64_t)counters->responses[i]);
	json_set(arena, object, "responses", responses);
	json_set_integer(arena, object, "responseMs", (int64_t)counters->response_ms);
	json_set_integer(arena, object, "errors",
		(int64_t)(counters->connect_failures + counters->failed));
}

static struct json *report_side(struct arena *arena, const struct canary_plane_port *port,
	enum canary_side side, const struct proxy_report *report,
	const struct proxy_listener_report *listener)
{
	const char *const names[] = {port->groups[side], port->http2_groups[side]};
	struct json *object = json_new_object(arena);
	struct proxy_counters carried = {0}, of_groups = {0};

	json_set_integer(arena, object, "ready", (int64_t)port->ready[side]);
	if (!listener)
		return object;
	for (size_t i = 0; i < LENGTH(names) && names[i]; i++) {
		const struct proxy_group_report *group = proxy_report_group(report, names[i]);

		for (size_t j = 0; j < listener->route_count; j++)
			if (span_is(span_of(listener->routes[j].group), names[i]))
				add_counters(&carried, &listener->routes[j].counters);
		if (group)
			add_counters(&of_groups, &group->counters);
	}
	json_set_integer(arena, object, is_http(listener->protocol) ? "requests" : "connections",
		(int64_t)carried.connections);
	json_set_integer(arena, object, "active", (int64_t)carried.active);
	json_set_integer(arena, object, "bytesIn", (int64_t)carried.bytes_in);
	json_set_integer(arena, object, "bytesOut", (int64_t)carried.bytes_out);
	if (listener->protocol == PROXY_UDP) {
		json_set_integer(arena, object, "datagramsIn", (int64_t)carried.datagrams_in);
		json_set_integer(arena, object, "datagramsOut", (int64_t)carried.datagrams_out);
	}
	json_set_integer(arena, object, "errors",
		(int64_t)(carried.connect_failures + carried.failed));
	if (is_http(listener->protocol))
		report_http(arena, object, &of_groups);
	return object;
}

struct json *canary_plane_report(struct arena *arena, const struct canary_plane_state *state,
	const struct proxy_report *report, int64_t generation)
{
	struct json *object = json_new_object(arena), *ports = json_new_array(arena);

	json_set_integer(arena, object, "observedGeneration", generation);
	for (size_t i = 0; i < state->state.listener_count; i++) {
		const struct canary_plane_port *port = &state->ports[i];
		const struct proxy_listener_report *listener =
			report ? proxy_report_listener(report, port->listener) : NULL;
		struct json *entry = json_new_object(arena);

		json_set_string(arena, entry, "service", port->service);
		json_set_integer(arena, entry, "port", port->port->port);
		json_set_string(arena, entry, "transport",
			port->port->udp ? SPAN("UDP") : SPAN("TCP"));
		json_set_integer(arena, entry, "weightPermille", port->share);
		json_set_integer(arena, entry, "effectivePermille", port->effective);
		for (int side = 0; side < CANARY_SIDE_COUNT; side++)
			json_set(arena, entry, sides[side].name,
				report_side(arena, port, (enum canary_side)side, report, listener));
		json_append(arena, ports, entry);
	}
	json_set(arena, object, "ports", ports);
	if (state->problem.length > 0)
		json_set_string(arena, object, "badCertificate", state->problem);
	return object;
}

/* ---- metrics ---- */

static void write_head(struct buffer *out, const char *name, const char *type, const char *help)
{
	buffer_format(out, "# HELP slipway_canary_%s %s\n# TYPE slipway_canary_%s %s\n", name, help,
		name, type);
}

void canary_plane_write_weights(const struct canary_plane_state *state, struct buffer *out)
{
	static const char *const names[] = {"weight_permille", "effective_weight_permille"};
	static const char *const helps[] = {
		"Share of the canary as the CanaryRelease has it, in thousandths",
		"Share of the canary now, in thousandths"};

	for (size_t i = 0; i < LENGTH(names); i++) {
		write_head(out, names[i], "gauge", helps[i]);
		for (size_t j = 0; j < state->state.listener_count; j++)
			buffer_format(out, "slipway_canary_%s{port=\"%s\"} %u\n", names[i],
				state->ports[j].listener,
				i == 0 ? state->ports[j].share : state->ports[j].effective);
	}
}

static const struct {
	const char *name, *type, *help;
	size_t offset;
} metrics[] = {
	{"connections_total", "counter", "Connections, sessions of UDP, or requests of HTTP",
		offsetof(struct proxy_counters, connections)},
	{"active", "gauge", "Open connections or requests",
		offsetof(struct proxy_counters, active)},
	{"received_bytes_total", "counter", "Bytes from clients",
		offsetof(struct proxy_counters, bytes_in)},
	{"sent_bytes_total", "counter", "Bytes to clients",
		offsetof(struct proxy_counters, bytes_out)},
	{"connect_failures_total", "counter", "Attempts that a pod refused or left unanswered",
		offsetof(struct proxy_counters, connect_failures)},
	{"failed_total", "counter", "Clients for which no pod was left to try",
		offsetof(struct proxy_counters, failed)},
};

/* "web:80/TCP#canary-http2": the port, and the side. HTTP/2 is no side of its own. */
static void write_labels(struct buffer *out, const char *group, const char *more)
{
	const char *hash = strchr(group, '#');
	bool canary = hash && strncmp(hash + 1, sides[CANARY_SIDE_CANARY].name,
				      strlen(sides[CANARY_SIDE_CANARY].name)) == 0;

	buffer_format(out, "{port=\"%.*s\",side=\"%s\"%s}",
		hash ? (int)(hash - group) : (int)strlen(group), group,
		sides[canary ? CANARY_SIDE_CANARY : CANARY_SIDE_STABLE].name, more);
}

/* Counters of the same side by HTTP/2 are added to those of the group before. */
static bool is_http2_of(const char *group, const char *before)
{
	size_t length = before ? strlen(before) : 0;

	return before && strncmp(group, before, length) == 0 &&
	       strcmp(group + length, "-http2") == 0;
}

static struct proxy_counters group_counters(const struct proxy_report *report, size_t index)
{
	struct proxy_counters sum = report->groups[index].counters;

	if (index + 1 < report->group_count &&
		is_http2_of(report->groups[index + 1].name, report->groups[index].name))
		add_counters(&sum, &report->groups[index + 1].counters);
	return sum;
}

static bool is_first_of_side(const struct proxy_report *report, size_t index)
{
	return index == 0 ||
	       !is_http2_of(report->groups[index].name, report->groups[index - 1].name);
}

static void write_responses(const struct proxy_report *report, struct buffer *out)
{
	write_head(out, "responses_total", "counter", "Answers of HTTP by class of their status");
	for (size_t i = 0; i < report->group_count; i++) {
		struct proxy_counters counters = group_counters(report, i);

		for (size_t j = 0; is_first_of_side(report, i) && j < PROXY_CLASSES; j++) {
			char code[32];

			if (counters.responses[j] == 0)
				continue;
			snprintf(code, sizeof(code), ",code=\"%s\"", classes[j]);
			buffer_add_string(out, "slipway_canary_responses_total");
			write_labels(out, report->groups[i].name, code);
			buffer_format(out, " %llu\n", (unsigned long long)counters.responses[j]);
		}
	}
	write_head(out, "response_seconds", "gauge",
		"Time until pods answered HTTP, average of the last 500 or so");
	for (size_t i = 0; i < report->group_count; i++) {
		struct proxy_counters counters = group_counters(report, i);

		if (!is_first_of_side(report, i) || counters.response_ms == 0)
			continue;
		buffer_add_string(out, "slipway_canary_response_seconds");
		write_labels(out, report->groups[i].name, "");
		buffer_format(out, " %llu.%03llu\n",
			(unsigned long long)(counters.response_ms / 1000),
			(unsigned long long)(counters.response_ms % 1000));
	}
}

void canary_plane_write_counters(const struct proxy_report *report, struct buffer *out)
{
	for (size_t i = 0; i < LENGTH(metrics); i++) {
		write_head(out, metrics[i].name, metrics[i].type, metrics[i].help);
		for (size_t j = 0; j < report->group_count; j++) {
			struct proxy_counters counters = group_counters(report, j);
			const uint64_t *value =
				(const uint64_t *)((const char *)&counters + metrics[i].offset);

			if (!is_first_of_side(report, j))
				continue;
			buffer_format(out, "slipway_canary_%s", metrics[i].name);
			write_labels(out, report->groups[j].name, "");
			buffer_format(out, " %llu\n", (unsigned long long)*value);
		}
	}
	write_responses(report, out);
}

uint64_t canary_plane_active(const struct proxy_report *report)
{
	uint64_t active = 0;

	for (size_t i = 0; i < report->listener_count; i++)
		if (report->listeners[i].protocol != PROXY_UDP)
			active += report->listeners[i].counters.active;
	return active;
}

uint64_t canary_plane_traffic(const struct proxy_report *report)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < report->listener_count; i++)
		sum += report->listeners[i].counters.connections +
		       report->listeners[i].counters.datagrams_in +
		       report->listeners[i].counters.datagrams_out;
	return sum;
}

uint64_t canary_plane_carried(const struct proxy_report *report)
{
	uint64_t sum = canary_plane_traffic(report);

	for (size_t i = 0; i < report->listener_count; i++) {
		const struct proxy_counters *counters = &report->listeners[i].counters;

		/* One connection that ends while another begins changes a sum of both by nothing. */
		sum = sum * 31 + counters->active;
		sum = sum * 31 + counters->bytes_in + counters->bytes_out;
		sum = sum * 31 + counters->connect_failures + counters->failed;
	}
	return sum;
}
