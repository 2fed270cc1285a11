/* Shared by all drivers: names, addresses, the check of a state, and the driver of each
 * protocol. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "proxy/http_check.h"
#include "proxy/proxy.h"

struct proxy {
	struct proxy_driver *drivers[PROXY_DRIVERS_MAX];
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
	if ((unsigned)group->balance > PROXY_RANDOM)
		return err_set(err, -EINVAL, "group '%s': unknown balance", group->name);
	if ((unsigned)group->sticky > PROXY_STICKY_APP_COOKIE)
		return err_set(err, -EINVAL, "group '%s': unknown kind of stickiness", group->name);
	if (group->sticky != PROXY_STICKY_NONE &&
		(group->sticky_s == 0 || group->sticky_s > PROXY_STICKY_MAX_S))
		return err_set(err, -EINVAL, "group '%s': sticky for %u s, not 1 to %d",
			group->name, group->sticky_s, PROXY_STICKY_MAX_S);
	if (group->sticky == PROXY_STICKY_APP_COOKIE &&
		(!group->sticky_name || !proxy_is_token(group->sticky_name) ||
			strlen(group->sticky_name) > PROXY_VALUE_TEXT_MAX))
		return err_set(err, -EINVAL, "group '%s': sticky by a cookie without a right name",
			group->name);
	if (group->slow_start_ms > PROXY_TIMEOUT_MAX_MS)
		return err_set(err, -EINVAL, "group '%s': slow start of %u ms, longer than %d",
			group->name, group->slow_start_ms, PROXY_TIMEOUT_MAX_MS);
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

static bool is_http(enum proxy_protocol protocol)
{
	return protocol == PROXY_HTTP || protocol == PROXY_HTTPS;
}

static int check_listener(const struct proxy_listener *listener, const struct map *groups,
	struct err *err)
{
	char where[PROXY_NAME_MAX + 32];
	int code;

	if ((unsigned)listener->protocol >= PROXY_PROTOCOL_COUNT)
		return err_set(err, -EINVAL, "listener '%s': unknown protocol", listener->name);
	if (!address_is_possible(&listener->address))
		return err_set(err, -EINVAL, "listener '%s': no address", listener->name);
	snprintf(where, sizeof(where), "listener '%s'", listener->name);
	code = proxy_routes_check(where, listener->routes, listener->route_count, groups, err);
	if (code == 0)
		code = check_options(listener, err);
	if (code == 0 && (is_http(listener->protocol) || listener->protocol == PROXY_TLS_END))
		code = proxy_http_check(listener, groups, err);
	return code;
}

static int add_group(const struct proxy_group *group, struct map *groups, size_t *targets,
	struct err *err)
{
	int code = check_name("group", group->name, err);

	if (code == 0)
		code = check_group(group, err);
	if (code < 0)
		return code;
	if (map_put(groups, span_of(group->name), (void *)group))
		return err_set(err, -EEXIST, "group '%s' is there twice", group->name);
	*targets += group->target_count;
	if (*targets > PROXY_TARGETS_MAX)
		return err_set(err, -E2BIG, "group '%s': more than %d targets in all", group->name,
			PROXY_TARGETS_MAX);
	return 0;
}

static int add_listener(const struct proxy_listener *listener, const struct map *groups,
	struct map *listeners, struct err *err)
{
	int code = check_name("listener", listener->name, err);

	if (code == 0)
		code = check_listener(listener, groups, err);
	if (code == 0 && map_put(listeners, span_of(listener->name), (void *)listener))
		code = err_set(err, -EEXIST, "listener '%s' is there twice", listener->name);
	return code;
}

int proxy_state_check(const struct proxy_state *state, struct err *err)
{
	_map_ struct map groups = {0}, listeners = {0};
	size_t targets = 0;
	int code = 0;

	if (state->fault)
		*state->fault = (struct proxy_fault){0};
	if (state->group_count > PROXY_GROUPS_MAX)
		return err_set(err, -E2BIG, "%zu groups, more than %d", state->group_count,
			PROXY_GROUPS_MAX);
	if (state->listener_count > PROXY_LISTENERS_MAX)
		return err_set(err, -E2BIG, "%zu listeners, more than %d", state->listener_count,
			PROXY_LISTENERS_MAX);
	for (size_t i = 0; code == 0 && i < state->group_count; i++)
		code = proxy_group_fault(state, &state->groups[i],
			add_group(&state->groups[i], &groups, &targets, err));
	for (size_t i = 0; code == 0 && i < state->listener_count; i++)
		code = proxy_listener_fault(state, &state->listeners[i],
			add_listener(&state->listeners[i], &groups, &listeners, err));
	return code;
}

/* ---- drivers ---- */

int proxy_new(struct proxy_driver *const *drivers, size_t driver_count, struct proxy **ret_proxy,
	struct err *err)
{
	struct proxy *proxy = memory_allocate(sizeof(*proxy));
	unsigned served = 0;
	int code = 0;

	for (size_t i = 0; i < driver_count; i++) {
		if (served & drivers[i]->protocols)
			code = err_set(err, -EINVAL, "driver '%s' serves a protocol of another one",
				drivers[i]->name);
		served |= drivers[i]->protocols;
		if (proxy->driver_count < PROXY_DRIVERS_MAX)
			proxy->drivers[proxy->driver_count++] = drivers[i];
		else
			drivers[i]->free(drivers[i]);
	}
	if (code < 0) {
		proxy_free(proxy);
		return code;
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

static struct proxy_driver *driver_of(struct proxy *proxy, enum proxy_protocol protocol)
{
	for (size_t i = 0; i < proxy->driver_count; i++) {
		if (proxy->drivers[i]->protocols & (1u << protocol))
			return proxy->drivers[i];
	}
	return NULL;
}

static void use_groups(struct map *used, const struct proxy_route *routes, size_t route_count)
{
	for (size_t i = 0; i < route_count; i++)
		map_put(used, span_of(routes[i].group), used);
}

static void use_groups_of_action(struct map *used, const struct proxy_action *action)
{
	if (action->kind == PROXY_FORWARD)
		use_groups(used, action->routes, action->route_count);
}

/* The listeners that a driver serves, and the groups they use. */
static void use_groups_of_listener(struct map *used, const struct proxy_listener *listener)
{
	use_groups(used, listener->routes, listener->route_count);
	if (!is_http(listener->protocol))
		return;
	use_groups_of_action(used, &listener->http.otherwise);
	for (size_t i = 0; i < listener->http.rule_count; i++)
		use_groups_of_action(used, &listener->http.rules[i].action);
}

/* A driver gets the groups of its listeners, and those without any listener: connections of such a
 * group may still be open, and their driver knows it. */
static void select_part(const struct proxy_state *state, unsigned protocols,
	struct proxy_listener *listeners, struct proxy_group *groups, struct proxy_state *ret_part)
{
	_map_ struct map used = {0}, used_remote = {0};

	for (size_t i = 0; i < state->listener_count; i++) {
		const struct proxy_listener *listener = &state->listeners[i];
		bool ours = protocols & (1u << listener->protocol);

		if (ours)
			listeners[ret_part->listener_count++] = *listener;
		use_groups_of_listener(ours ? &used : &used_remote, listener);
	}
	for (size_t i = 0; i < state->group_count; i++) {
		struct span name = span_of(state->groups[i].name);

		if (map_has(&used, name) || !map_has(&used_remote, name))
			groups[ret_part->group_count++] = state->groups[i];
	}
}

static int apply_driver(struct proxy_driver *driver, const struct proxy_state *state,
	struct err *err)
{
	_free_ struct proxy_listener *listeners =
		memory_allocate_array(state->listener_count + 1, sizeof(*listeners));
	_free_ struct proxy_group *groups =
		memory_allocate_array(state->group_count + 1, sizeof(*groups));
	struct proxy_state part = {.groups = groups, .listeners = listeners, .fault = state->fault};

	select_part(state, driver->protocols, listeners, groups, &part);
	return driver->apply(driver, &part, err);
}

int proxy_apply(struct proxy *proxy, const struct proxy_state *state, struct err *err)
{
	int code = proxy_state_check(state, err);

	if (code < 0)
		return code;
	for (size_t i = 0; i < state->listener_count; i++) {
		const struct proxy_listener *listener = &state->listeners[i];

		if (!driver_of(proxy, listener->protocol))
			return proxy_listener_fault(state, listener,
				err_set(err, -ENOTSUP, "listener '%s': nothing here serves %s",
					listener->name, proxy_protocol_name(listener->protocol)));
	}
	for (size_t i = 0; i < proxy->driver_count && code == 0; i++)
		code = apply_driver(proxy->drivers[i], state, err);
	return code;
}

size_t proxy_driver_count(const struct proxy *proxy)
{
	return proxy->driver_count;
}

bool proxy_driver_serves(const struct proxy *proxy, size_t driver, enum proxy_protocol protocol)
{
	return proxy->drivers[driver]->protocols & (1u << protocol);
}

int proxy_apply_driver(struct proxy *proxy, size_t driver, const struct proxy_state *state,
	struct err *err)
{
	int code = proxy_state_check(state, err);

	return code < 0 ? code : apply_driver(proxy->drivers[driver], state, err);
}

int proxy_set_weights(struct proxy *proxy, const char *listener, const struct proxy_route *routes,
	size_t route_count, struct err *err)
{
	int code = -ENOENT;

	for (size_t i = 0; i < route_count; i++) {
		if (!routes[i].group)
			return err_set(err, -EINVAL, "listener '%s': weight %zu is of no group",
				listener, i);
		if (routes[i].weight > PROXY_WEIGHT_MAX)
			return err_set(err, -EINVAL,
				"listener '%s': weight %u of group '%s' is above %d", listener,
				routes[i].weight, routes[i].group, PROXY_WEIGHT_MAX);
	}
	for (size_t i = 0; i < proxy->driver_count && code == -ENOENT; i++)
		code = proxy->drivers[i]->set_weights(proxy->drivers[i], listener, routes,
			route_count, err);
	if (code == -ENOENT)
		return err_set(err, -ENOENT, "there is no listener '%.64s'", listener);
	return code;
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
