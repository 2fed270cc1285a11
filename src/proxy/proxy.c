/* What all drivers share: names, addresses, the check of a state, and who serves which protocol. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "proxy/proxy.h"

#define DRIVERS_MAX PROXY_PROTOCOL_COUNT

struct proxy {
	struct proxy_driver *drivers[DRIVERS_MAX];
	size_t driver_count;
};

#define NAME_(name, text) text,
static const char *const protocol_names[] = {PROXY_PROTOCOLS(NAME_)};
static const char *const target_state_names[] = {PROXY_TARGET_STATES(NAME_)};
#undef NAME_

const char *proxy_protocol_name(enum proxy_protocol protocol)
{
	return (unsigned)protocol < PROXY_PROTOCOL_COUNT ? protocol_names[protocol] : "unknown";
}

const char *proxy_target_state_name(enum proxy_target_state state)
{
	return (unsigned)state < PROXY_TARGET_STATE_COUNT ? target_state_names[state] : "unknown";
}

/* ---- addresses ---- */

int proxy_address_parse(const char *host, unsigned port, union proxy_address *ret_address,
	struct err *err)
{
	union proxy_address address;

	memset(&address, 0, sizeof(address));
	if (port > UINT16_MAX)
		return err_set(err, -EINVAL, "port %u is above %u", port, UINT16_MAX);
	if (inet_pton(AF_INET, host, &address.v4.sin_addr) == 1) {
		address.v4.sin_family = AF_INET;
		address.v4.sin_port = htons((uint16_t)port);
	} else if (inet_pton(AF_INET6, host, &address.v6.sin6_addr) == 1) {
		address.v6.sin6_family = AF_INET6;
		address.v6.sin6_port = htons((uint16_t)port);
	} else {
		return err_set(err, -EINVAL, "'%.64s' is not an IPv4 or IPv6 address", host);
	}
	*ret_address = address;
	return 0;
}

unsigned proxy_address_port(const union proxy_address *address)
{
	return ntohs(address->any.sa_family == AF_INET6 ? address->v6.sin6_port
							: address->v4.sin_port);
}

socklen_t proxy_address_length(const union proxy_address *address)
{
	return address->any.sa_family == AF_INET6 ? sizeof(address->v6) : sizeof(address->v4);
}

bool proxy_address_equal(const union proxy_address *a, const union proxy_address *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET)
		return a->v4.sin_port == b->v4.sin_port &&
		       a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
	return a->v6.sin6_port == b->v6.sin6_port && a->v6.sin6_scope_id == b->v6.sin6_scope_id &&
	       memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof(a->v6.sin6_addr)) == 0;
}

void proxy_address_format(const union proxy_address *address, char out[PROXY_ADDRESS_TEXT_SIZE])
{
	char host[INET6_ADDRSTRLEN] = "?";
	bool v6 = address->any.sa_family == AF_INET6;

	inet_ntop(address->any.sa_family,
		v6 ? (const void *)&address->v6.sin6_addr : (const void *)&address->v4.sin_addr,
		host, sizeof(host));
	snprintf(out, PROXY_ADDRESS_TEXT_SIZE, v6 ? "[%s]:%u" : "%s:%u", host,
		proxy_address_port(address));
}

static bool address_is_possible(const union proxy_address *address)
{
	return address->any.sa_family == AF_INET || address->any.sa_family == AF_INET6;
}

/* ---- the check ---- */

static int check_name(const char *what, const char *name, struct err *err)
{
	if (!name || !*name)
		return err_set(err, -EINVAL, "a %s has no name", what);
	if (strlen(name) > PROXY_NAME_MAX)
		return err_set(err, -E2BIG, "%s '%.32s...': its name is longer than %d bytes", what,
			name, PROXY_NAME_MAX);
	return 0;
}

static int check_group(const struct proxy_group *group, struct err *err)
{
	_map_ struct map seen = {0};

	if (group->target_count > PROXY_GROUP_TARGETS_MAX)
		return err_set(err, -E2BIG, "group '%s': %zu targets, more than %d", group->name,
			group->target_count, PROXY_GROUP_TARGETS_MAX);
	for (size_t i = 0; i < group->target_count; i++) {
		const struct proxy_target *target = &group->targets[i];
		char text[PROXY_ADDRESS_TEXT_SIZE];

		if (!address_is_possible(&target->address))
			return err_set(err, -EINVAL, "group '%s': target %zu has no address",
				group->name, i);
		proxy_address_format(&target->address, text);
		if (proxy_address_port(&target->address) == 0)
			return err_set(err, -EINVAL, "group '%s': target %s has no port",
				group->name, text);
		if ((unsigned)target->state >= PROXY_TARGET_STATE_COUNT)
			return err_set(err, -EINVAL, "group '%s': target %s has no known state",
				group->name, text);
		if (target->drain_ms > PROXY_TIMEOUT_MAX_MS)
			return err_set(err, -EINVAL,
				"group '%s': target %s drains for %u ms, longer than %d",
				group->name, text, target->drain_ms, PROXY_TIMEOUT_MAX_MS);
		if (map_put(&seen, span_of(text), &seen))
			return err_set(err, -EEXIST, "group '%s': target %s is there twice",
				group->name, text);
	}
	return 0;
}

static int check_options(const struct proxy_listener *listener, struct err *err)
{
	const struct proxy_options *options = &listener->options;
	const struct {
		const char *name;
		uint32_t value, most;
	} limits[] = {
		{"connect timeout", options->connect_timeout_ms, PROXY_TIMEOUT_MAX_MS},
		{"idle timeout", options->idle_timeout_ms, PROXY_TIMEOUT_MAX_MS},
		{"UDP idle timeout", options->udp_idle_timeout_ms, PROXY_TIMEOUT_MAX_MS},
		{"retries", options->retries, PROXY_RETRIES_MAX},
		{"connections", options->max_connections, PROXY_CONNECTIONS_MAX},
		{"UDP sessions", options->udp_sessions_max, PROXY_UDP_SESSIONS_MAX},
	};

	for (size_t i = 0; i < LENGTH(limits); i++) {
		if (limits[i].value > limits[i].most)
			return err_set(err, -EINVAL, "listener '%s': %s %u is above %u",
				listener->name, limits[i].name, limits[i].value, limits[i].most);
	}
	if (options->udp_mode != PROXY_UDP_SESSION && options->udp_mode != PROXY_UDP_DATAGRAM)
		return err_set(err, -EINVAL, "listener '%s': unknown UDP mode", listener->name);
	if (options->proxy_v2 && listener->protocol == PROXY_UDP)
		return err_set(err, -EINVAL, "listener '%s': no PROXY header for UDP",
			listener->name);
	return 0;
}

static int check_listener(const struct proxy_listener *listener, const struct map *groups,
	struct err *err)
{
	_map_ struct map seen = {0};

	if ((unsigned)listener->protocol >= PROXY_PROTOCOL_COUNT)
		return err_set(err, -EINVAL, "listener '%s': unknown protocol", listener->name);
	if (!address_is_possible(&listener->address))
		return err_set(err, -EINVAL, "listener '%s': no address", listener->name);
	if (listener->route_count > PROXY_ROUTES_MAX)
		return err_set(err, -E2BIG, "listener '%s': %zu groups, more than %d",
			listener->name, listener->route_count, PROXY_ROUTES_MAX);
	for (size_t i = 0; i < listener->route_count; i++) {
		const struct proxy_route *route = &listener->routes[i];

		if (!route->group || !map_has(groups, span_of(route->group)))
			return err_set(err, -ENOENT, "listener '%s': there is no group '%.64s'",
				listener->name, route->group ? route->group : "");
		if (route->weight > PROXY_WEIGHT_MAX)
			return err_set(err, -EINVAL,
				"listener '%s': weight %u of group '%s' is above %d",
				listener->name, route->weight, route->group, PROXY_WEIGHT_MAX);
		if (map_put(&seen, span_of(route->group), &seen))
			return err_set(err, -EEXIST, "listener '%s': group '%s' is there twice",
				listener->name, route->group);
	}
	return check_options(listener, err);
}

int proxy_state_check(const struct proxy_state *state, struct err *err)
{
	_map_ struct map groups = {0}, listeners = {0};
	size_t targets = 0;
	int r;

	if (state->group_count > PROXY_GROUPS_MAX)
		return err_set(err, -E2BIG, "%zu groups, more than %d", state->group_count,
			PROXY_GROUPS_MAX);
	if (state->listener_count > PROXY_LISTENERS_MAX)
		return err_set(err, -E2BIG, "%zu listeners, more than %d", state->listener_count,
			PROXY_LISTENERS_MAX);
	for (size_t i = 0; i < state->group_count; i++) {
		const struct proxy_group *group = &state->groups[i];

		r = check_name("group", group->name, err);
		if (r == 0)
			r = check_group(group, err);
		if (r < 0)
			return r;
		if (map_put(&groups, span_of(group->name), (void *)group))
			return err_set(err, -EEXIST, "group '%s' is there twice", group->name);
		targets += group->target_count;
		if (targets > PROXY_TARGETS_MAX)
			return err_set(err, -E2BIG, "group '%s': more than %d targets in all",
				group->name, PROXY_TARGETS_MAX);
	}
	for (size_t i = 0; i < state->listener_count; i++) {
		const struct proxy_listener *listener = &state->listeners[i];

		r = check_name("listener", listener->name, err);
		if (r == 0)
			r = check_listener(listener, &groups, err);
		if (r < 0)
			return r;
		if (map_put(&listeners, span_of(listener->name), (void *)listener))
			return err_set(err, -EEXIST, "listener '%s' is there twice",
				listener->name);
	}
	return 0;
}

/* ---- drivers ---- */

int proxy_new(struct proxy_driver *const *drivers, size_t driver_count, struct proxy **ret_proxy,
	struct err *err)
{
	struct proxy *proxy = memory_allocate(sizeof(*proxy));
	unsigned served = 0;
	int r = 0;

	for (size_t i = 0; i < driver_count; i++) {
		if (served & drivers[i]->protocols)
			r = err_set(err, -EINVAL, "driver '%s' serves a protocol of another one",
				drivers[i]->name);
		served |= drivers[i]->protocols;
		if (proxy->driver_count < DRIVERS_MAX)
			proxy->drivers[proxy->driver_count++] = drivers[i];
		else
			drivers[i]->free(drivers[i]);
	}
	if (r < 0) {
		proxy_free(proxy);
		return r;
	}
	*ret_proxy = proxy;
	return 0;
}

void proxy_free(struct proxy *proxy)
{
	if (!proxy)
		return;
	for (size_t i = 0; i < proxy->driver_count; i++)
		proxy->drivers[i]->free(proxy->drivers[i]);
	free(proxy);
}

void proxy_free_pointer(struct proxy **proxy)
{
	proxy_free(*proxy);
}

static struct proxy_driver *driver_of(struct proxy *proxy, enum proxy_protocol protocol)
{
	for (size_t i = 0; i < proxy->driver_count; i++) {
		if (proxy->drivers[i]->protocols & (1u << protocol))
			return proxy->drivers[i];
	}
	return NULL;
}

/* The listeners that a driver serves, and the groups they use. */
static void select_part(const struct proxy_state *state, unsigned protocols,
	struct proxy_listener *listeners, struct proxy_group *groups, struct proxy_state *ret_part)
{
	_map_ struct map used = {0};

	for (size_t i = 0; i < state->listener_count; i++) {
		const struct proxy_listener *listener = &state->listeners[i];

		if (!(protocols & (1u << listener->protocol)))
			continue;
		listeners[ret_part->listener_count++] = *listener;
		for (size_t k = 0; k < listener->route_count; k++)
			map_put(&used, span_of(listener->routes[k].group), &used);
	}
	for (size_t i = 0; i < state->group_count; i++) {
		if (map_has(&used, span_of(state->groups[i].name)))
			groups[ret_part->group_count++] = state->groups[i];
	}
}

int proxy_apply(struct proxy *proxy, const struct proxy_state *state, struct err *err)
{
	_free_ struct proxy_listener *listeners = NULL;
	_free_ struct proxy_group *groups = NULL;
	int r = proxy_state_check(state, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < state->listener_count; i++) {
		const struct proxy_listener *listener = &state->listeners[i];

		if (!driver_of(proxy, listener->protocol))
			return err_set(err, -ENOTSUP, "listener '%s': nothing here serves %s",
				listener->name, proxy_protocol_name(listener->protocol));
	}
	listeners = memory_allocate_array(state->listener_count + 1, sizeof(*listeners));
	groups = memory_allocate_array(state->group_count + 1, sizeof(*groups));
	for (size_t d = 0; d < proxy->driver_count; d++) {
		struct proxy_state part = {.groups = groups, .listeners = listeners};

		select_part(state, proxy->drivers[d]->protocols, listeners, groups, &part);
		r = proxy->drivers[d]->apply(proxy->drivers[d], &part, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int proxy_set_weights(struct proxy *proxy, const char *listener, const struct proxy_route *routes,
	size_t route_count, struct err *err)
{
	int r = -ENOENT;

	for (size_t i = 0; i < route_count; i++) {
		if (!routes[i].group)
			return err_set(err, -EINVAL, "listener '%s': weight %zu is of no group",
				listener, i);
		if (routes[i].weight > PROXY_WEIGHT_MAX)
			return err_set(err, -EINVAL,
				"listener '%s': weight %u of group '%s' is above %d", listener,
				routes[i].weight, routes[i].group, PROXY_WEIGHT_MAX);
	}
	for (size_t i = 0; i < proxy->driver_count && r == -ENOENT; i++)
		r = proxy->drivers[i]->set_weights(proxy->drivers[i], listener, routes, route_count,
			err);
	if (r == -ENOENT)
		return err_set(err, -ENOENT, "there is no listener '%.64s'", listener);
	return r;
}

void proxy_report(struct proxy *proxy, struct arena *arena, struct proxy_report *ret_report)
{
	*ret_report = (struct proxy_report){0};
	for (size_t i = 0; i < proxy->driver_count; i++)
		proxy->drivers[i]->report(proxy->drivers[i], arena, ret_report);
}

const struct proxy_listener_report *proxy_report_listener(const struct proxy_report *report,
	const char *name)
{
	for (size_t i = 0; i < report->listener_count; i++) {
		if (strcmp(report->listeners[i].name, name) == 0)
			return &report->listeners[i];
	}
	return NULL;
}

const struct proxy_group_report *proxy_report_group(const struct proxy_report *report,
	const char *name)
{
	for (size_t i = 0; i < report->group_count; i++) {
		if (strcmp(report->groups[i].name, name) == 0)
			return &report->groups[i];
	}
	return NULL;
}
