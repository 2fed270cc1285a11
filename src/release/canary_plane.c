/* See canary_plane.h. */
#include "release/canary_plane.h"

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
	struct proxy_group *ret_group)
{
	struct proxy_target *targets = arena_allocate_array(arena, list->count, sizeof(*targets));
	size_t ready = 0;

	for (size_t i = 0; i < list->count; i++) {
		bool active = list->targets[i].ready && list->targets[i].gone_us == 0;

		targets[i] = (struct proxy_target){.address = list->targets[i].address,
			.state = active ? PROXY_TARGET_ACTIVE : PROXY_TARGET_DRAINING};
		ready += active;
	}
	*ret_group =
		(struct proxy_group){.name = name, .targets = targets, .target_count = list->count};
	return ready;
}

/* ---- listeners ---- */

static uint32_t effective_share(const struct canary_plane_port *port)
{
	bool stable = port->ready[CANARY_SIDE_STABLE] > 0;
	bool canary = port->ready[CANARY_SIDE_CANARY] > 0;

	if (stable == canary)
		return port->share;
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
	return listed && listed->protocol == CANARY_HTTPS ? PROXY_TLS : PROXY_TCP;
}

static void set_listener(struct arena *arena, const struct canary_plane_port *port,
	struct proxy_listener *listener)
{
	struct proxy_route *routes =
		arena_allocate_array(arena, CANARY_SIDE_COUNT, sizeof(*routes));

	routes[CANARY_SIDE_STABLE] = (struct proxy_route){
		port->groups[CANARY_SIDE_STABLE], CANARY_SHARE_ALL - port->effective};
	routes[CANARY_SIDE_CANARY] =
		(struct proxy_route){port->groups[CANARY_SIDE_CANARY], port->effective};
	listener->name = port->listener;
	listener->routes = routes;
	listener->route_count = CANARY_SIDE_COUNT;
	listener->options.retry_next_group = true;
	/* A Service itself has no idle limit. */
	listener->options.idle_timeout_ms = PROXY_TIMEOUT_MAX_MS;
	listener->http.otherwise = (struct proxy_action){
		.kind = PROXY_FORWARD, .routes = routes, .route_count = CANARY_SIDE_COUNT};
}

static int add_port(struct canary_plane *plane, const struct canary_plane_input *input,
	struct arena *arena, struct span service, const struct canary_proxied_port *proxied,
	struct canary_plane_state *state, struct err *err)
{
	size_t index = state->state.listener_count++;
	struct canary_plane_port *port = &state->ports[index];
	struct proxy_listener *listener = (struct proxy_listener *)&state->state.listeners[index];
	struct proxy_group *groups = (struct proxy_group *)state->state.groups;

	*port = (struct canary_plane_port){.service = service,
		.port = proxied,
		.share = canary_share(input->canary, service, proxied),
		.listener = arena_format(arena, "%.*s:%lld/%s", SPAN_ARGS(service),
			(long long)proxied->port, proxied->udp ? "UDP" : "TCP")
				    .data};
	for (int side = 0; side < CANARY_SIDE_COUNT; side++) {
		struct target_list *list;

		port->groups[side] =
			arena_format(arena, "%s#%s", port->listener, sides[side].name).data;
		list = list_of(plane, port->groups[side]);
		list->used = true;
		update_list(list, input, service, proxied, (enum canary_side)side, &state->next_us);
		port->ready[side] = add_group(arena, list, port->groups[side],
			&groups[state->state.group_count++]);
	}
	port->effective = effective_share(port);
	listener->protocol = protocol_of(input, service, proxied);
	set_listener(arena, port, listener);
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
	state.state.groups =
		arena_allocate_array(arena, count * CANARY_SIDE_COUNT, sizeof(struct proxy_group));
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

static struct json *report_side(struct arena *arena, const struct canary_plane_port *port,
	enum canary_side side, const struct proxy_listener_report *listener)
{
	struct json *object = json_new_object(arena);

	json_set_integer(arena, object, "ready", (int64_t)port->ready[side]);
	for (size_t i = 0; listener && i < listener->route_count; i++) {
		const struct proxy_counters *counters = &listener->routes[i].counters;

		if (!span_is(span_of(listener->routes[i].group), port->groups[side]))
			continue;
		json_set_integer(arena, object,
			listener->protocol == PROXY_HTTP ? "requests" : "connections",
			(int64_t)counters->connections);
		json_set_integer(arena, object, "active", (int64_t)counters->active);
		json_set_integer(arena, object, "errors",
			(int64_t)(counters->connect_failures + counters->failed));
	}
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
				report_side(arena, port, (enum canary_side)side, listener));
		json_append(arena, ports, entry);
	}
	json_set(arena, object, "ports", ports);
	return object;
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
