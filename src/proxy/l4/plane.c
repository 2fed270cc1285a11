/*
 * From a state to shared memory. First all steps that can fail (sockets, slots), then additions,
 * then the shares, last removals: a worker finds a target at any moment.
 */
#include <string.h>

#include "base/memory.h"
#include "proxy/l4/supervisor.h"

#define BACKLOG 4096
#define UDP_BUFFER_BYTES (4 * 1024 * 1024) /* asked for; the kernel may give less */

#define DEFAULT_CONNECT_TIMEOUT_MS 5000
#define DEFAULT_RETRIES 2
#define DEFAULT_IDLE_TIMEOUT_MS 350000
#define DEFAULT_UDP_IDLE_TIMEOUT_MS 120000
#define DEFAULT_UDP_SESSIONS 16384

/* ---- slots ---- */

static void zero_counts(struct l4_counters *counters)
{
	for (size_t i = 0; i < L4_COUNT_COUNT; i++)
		atomic_store(&counters->counts[i], 0);
}

static bool listener_slot_is_free(struct l4 *l4, uint32_t slot)
{
	const struct l4_listener *listener = &l4->shared->listeners[slot];

	return !atomic_load(&listener->incarnation) && l4_active(&listener->counters) == 0;
}

static bool group_slot_is_free(struct l4 *l4, uint32_t slot)
{
	if (l4_active(&l4->shared->groups[slot].counters) > 0)
		return false;
	MAP_EACH (&l4->groups, entry) {
		if (((struct plane_group *)entry->value)->slot == slot)
			return false;
	}
	return true;
}

static bool target_slot_is_free(struct l4 *l4, uint32_t slot)
{
	const struct l4_target *target = &l4->shared->targets[slot];

	return !atomic_load(&target->incarnation) && l4_active(&target->counters) == 0;
}

static const struct slot_kind {
	size_t used_offset;
	uint32_t most;
	bool (*is_free)(struct l4 *l4, uint32_t slot);
} slot_kinds[] = {
	{offsetof(struct l4_shared, listeners_used), PROXY_LISTENERS_MAX, listener_slot_is_free},
	{offsetof(struct l4_shared, groups_used), PROXY_GROUPS_MAX, group_slot_is_free},
	{offsetof(struct l4_shared, targets_used), PROXY_TARGETS_MAX, target_slot_is_free},
};
enum { SLOTS_LISTENERS, SLOTS_GROUPS, SLOTS_TARGETS };

static _Atomic uint32_t *used_slots(struct l4 *l4, const struct slot_kind *kind)
{
	return (_Atomic uint32_t *)((char *)l4->shared + kind->used_offset);
}

/* Number of free slots; stops at `enough`. */
static size_t free_slots(struct l4 *l4, const struct slot_kind *kind, size_t enough)
{
	uint32_t used = atomic_load(used_slots(l4, kind));
	size_t count = kind->most - used;

	for (uint32_t i = 0; i < used && count < enough; i++)
		count += kind->is_free(l4, i);
	return count;
}

/* A slot must be free. *from: where to start, kept over several calls. */
static uint32_t take_slot(struct l4 *l4, const struct slot_kind *kind, uint32_t *from)
{
	_Atomic uint32_t *used = used_slots(l4, kind);

	while (*from < atomic_load(used)) {
		uint32_t slot = (*from)++;

		if (kind->is_free(l4, slot))
			return slot;
	}
	*from = atomic_fetch_add(used, 1) + 1;
	return *from - 1;
}

static uint32_t new_incarnation(struct l4 *l4)
{
	if (++l4->next_incarnation == 0)
		l4->next_incarnation = 1;
	return l4->next_incarnation;
}

/* ---- sockets ---- */

static bool is_udp(enum proxy_protocol protocol)
{
	return protocol == PROXY_UDP;
}

static int bind_listener(const struct proxy_listener *listener, int *ret_descriptor,
	struct err *err)
{
	const union proxy_address *address = &listener->address;
	bool udp = is_udp(listener->protocol);
	int one = 1, buffer = UDP_BUFFER_BYTES;
	char text[PROXY_ADDRESS_TEXT_SIZE];
	_close_ int descriptor = socket(address->any.sa_family,
		(udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	proxy_address_format(address, text);
	if (descriptor < 0)
		return err_errno(err, "listener '%s': open a socket for %s", listener->name, text);
	if (udp) {
		setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
		setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	} else {
		/* Connections from before a restart do not keep the port. */
		setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	}
	if (address->any.sa_family == AF_INET6)
		setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(descriptor, &address->any, proxy_address_length(address)) < 0)
		return err_errno(err, "listener '%s': bind %s %s", listener->name,
			proxy_protocol_name(listener->protocol), text);
	if (!udp && listen(descriptor, BACKLOG) < 0)
		return err_errno(err, "listener '%s': listen on %s", listener->name, text);
	*ret_descriptor = TAKE_FD(descriptor);
	return 0;
}

static bool is_same_listener(const struct plane_listener *old, const struct proxy_listener *wanted)
{
	return old && old->protocol == wanted->protocol &&
	       proxy_address_equal(&old->requested, &wanted->address);
}

/* The socket of a removed or changed listener with the same address: the port is not released. */
static int find_socket(struct l4 *l4, const struct proxy_listener *wanted)
{
	if (proxy_address_port(&wanted->address) == 0)
		return -1;
	MAP_EACH (&l4->listeners, entry) {
		const struct plane_listener *old = entry->value;

		if (!old->wanted && is_udp(old->protocol) == is_udp(wanted->protocol) &&
			proxy_address_equal(&old->bound, &wanted->address))
			return old->descriptor;
	}
	return -1;
}

/* One descriptor for each new listener, -1 for the others. */
static int open_sockets(struct l4 *l4, const struct proxy_state *state, int *descriptors,
	struct err *err)
{
	int code = 0;

	for (size_t i = 0; i < state->listener_count; i++) {
		struct plane_listener *old =
			map_get(&l4->listeners, span_of(state->listeners[i].name));

		descriptors[i] = -1;
		if (is_same_listener(old, &state->listeners[i]))
			old->wanted = true;
	}
	for (size_t i = 0; i < state->listener_count && code == 0; i++) {
		const struct proxy_listener *wanted = &state->listeners[i];
		struct plane_listener *old = map_get(&l4->listeners, span_of(wanted->name));
		int known;

		if (old && old->wanted)
			continue;
		known = find_socket(l4, wanted);
		if (known < 0)
			code = bind_listener(wanted, &descriptors[i], err);
		else if ((descriptors[i] = dup(known)) < 0)
			code = err_errno(err, "listener '%s': keep its socket", wanted->name);
		proxy_listener_fault(state, wanted, code);
	}
	if (code == 0)
		return 0;
	for (size_t i = 0; i < state->listener_count; i++) {
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	}
	return code;
}

/* ---- groups ---- */

static size_t find_target(struct l4 *l4, const struct plane_group *group,
	const union proxy_address *address, size_t likely)
{
	for (size_t i = 0; i < group->target_count; i++) {
		size_t at = (likely + i) % group->target_count;

		if (proxy_address_equal(&l4->shared->targets[group->targets[at].slot].address,
			    address))
			return at;
	}
	return SIZE_MAX;
}

static int check_room(struct l4 *l4, const struct proxy_state *state, struct err *err)
{
	size_t targets = 0, groups = 0, listeners = 0;

	for (size_t i = 0; i < state->group_count; i++) {
		const struct proxy_group *wanted = &state->groups[i];
		const struct plane_group *group = map_get(&l4->groups, span_of(wanted->name));

		groups += !group;
		for (size_t k = 0; k < wanted->target_count; k++) {
			if (!group ||
				find_target(l4, group, &wanted->targets[k].address, k) == SIZE_MAX)
				targets++;
		}
	}
	for (size_t i = 0; i < state->listener_count; i++)
		listeners += !is_same_listener(map_get(&l4->listeners,
						       span_of(state->listeners[i].name)),
			&state->listeners[i]);
	if (free_slots(l4, &slot_kinds[SLOTS_TARGETS], targets) < targets)
		return err_set(err, -E2BIG, "more targets than %d with those still in use",
			PROXY_TARGETS_MAX);
	if (free_slots(l4, &slot_kinds[SLOTS_GROUPS], groups) < groups)
		return err_set(err, -E2BIG, "more groups than %d with those still in use",
			PROXY_GROUPS_MAX);
	if (free_slots(l4, &slot_kinds[SLOTS_LISTENERS], listeners) < listeners)
		return err_set(err, -E2BIG, "more listeners than %d with those still in use",
			PROXY_LISTENERS_MAX);
	return 0;
}

/* Whether a target of the group has its full share now, so that new ones may start with less. */
static bool has_warm_target(struct l4 *l4, const struct plane_group *group)
{
	const struct l4_group *slot = &l4->shared->groups[group->slot];
	int64_t length_us = (int64_t)atomic_load(&slot->slow_start_ms) * 1000;

	for (size_t i = 0; i < group->target_count; i++) {
		const struct l4_target *target = &l4->shared->targets[group->targets[i].slot];
		int64_t from = atomic_load(&target->warm_from_us);

		if (atomic_load(&target->state) == PROXY_TARGET_ACTIVE &&
			(from == 0 || runner_now_us(l4->runner) - from >= length_us))
			return true;
	}
	return false;
}

/* slow: a target that becomes active starts at zero. */
static void set_target_state(struct l4 *l4, struct l4_target *target,
	const struct proxy_target *wanted, bool slow)
{
	uint32_t before = atomic_load(&target->state);

	if (wanted->state == PROXY_TARGET_DRAINING && before != PROXY_TARGET_DRAINING)
		atomic_store(&target->drain_until_us,
			wanted->drain_ms
				? runner_deadline_us(l4->runner, (int64_t)wanted->drain_ms * 1000)
				: INT64_MAX);
	if (wanted->state == PROXY_TARGET_ACTIVE && before != PROXY_TARGET_ACTIVE) {
		atomic_store(&target->warm_from_us, slow ? runner_now_us(l4->runner) : 0);
		atomic_store(&target->warm_credit, 0);
	}
	atomic_store(&target->state, wanted->state);
}

/* The time until which some target of the group has less than its full share. */
static int64_t warm_at_us(struct l4 *l4, const uint32_t *active, uint32_t count, uint32_t length_ms)
{
	int64_t latest = 0;

	for (uint32_t i = 0; i < count; i++) {
		int64_t from = atomic_load(&l4->shared->targets[active[i]].warm_from_us);

		if (from > 0 && from + (int64_t)length_ms * 1000 > latest)
			latest = from + (int64_t)length_ms * 1000;
	}
	return latest;
}

static uint32_t add_target(struct l4 *l4, const union proxy_address *address, uint32_t *from)
{
	uint32_t slot = take_slot(l4, &slot_kinds[SLOTS_TARGETS], from);
	struct l4_target *target = &l4->shared->targets[slot];

	zero_counts(&target->counters);
	target->address = *address;
	atomic_store(&target->state, PROXY_TARGET_DOWN);
	atomic_store(&target->incarnation, new_incarnation(l4));
	return slot;
}

static void remove_target(struct l4 *l4, uint32_t slot)
{
	atomic_store(&l4->shared->targets[slot].state, PROXY_TARGET_DOWN);
	atomic_store(&l4->shared->targets[slot].incarnation, 0);
}

/* Targets that left the state are moved behind the others, and removed at the end. */
static void set_group(struct l4 *l4, const struct proxy_group *wanted, uint32_t *next_group,
	uint32_t *next_target)
{
	struct plane_group *group = map_get(&l4->groups, span_of(wanted->name));
	struct plane_target *targets;
	_free_ uint32_t *active = NULL;
	uint32_t active_count = 0;
	size_t count = 0;
	bool slow;

	if (!group) {
		group = memory_allocate(sizeof(*group));
		group->name = memory_copy_string(wanted->name);
		group->slot = take_slot(l4, &slot_kinds[SLOTS_GROUPS], next_group);
		zero_counts(&l4->shared->groups[group->slot].counters);
		map_put(&l4->groups, span_of(wanted->name), group);
	}
	group->wanted = true;
	/* As in ELB: while no target has its full share, none starts with less. */
	slow = wanted->slow_start_ms > 0 && has_warm_target(l4, group);
	atomic_store(&l4->shared->groups[group->slot].slow_start_ms, wanted->slow_start_ms);
	targets = memory_allocate_array(wanted->target_count + group->target_count + 1,
		sizeof(*targets));
	active = memory_allocate_array(wanted->target_count + 1, sizeof(*active));
	for (size_t i = 0; i < wanted->target_count; i++) {
		size_t at = find_target(l4, group, &wanted->targets[i].address, i);
		uint32_t slot;

		if (at == SIZE_MAX) {
			slot = add_target(l4, &wanted->targets[i].address, next_target);
		} else {
			slot = group->targets[at].slot;
			group->targets[at].wanted = true;
		}
		targets[count++] = (struct plane_target){.slot = slot, .wanted = true};
		set_target_state(l4, &l4->shared->targets[slot], &wanted->targets[i], slow);
		if (wanted->targets[i].state == PROXY_TARGET_ACTIVE)
			active[active_count++] = slot;
	}
	atomic_store(&l4->shared->groups[group->slot].warm_at_us,
		warm_at_us(l4, active, active_count, wanted->slow_start_ms));
	l4_group_publish(&l4->shared->groups[group->slot], active, active_count);
	for (size_t i = 0; i < group->target_count; i++) {
		if (!group->targets[i].wanted)
			targets[count++] = (struct plane_target){group->targets[i].slot, false};
	}
	free(group->targets);
	group->targets = targets;
	group->target_count = count;
}

static void remove_unwanted_targets(struct l4 *l4, struct plane_group *group)
{
	size_t kept = 0;

	for (size_t i = 0; i < group->target_count; i++) {
		if (group->wanted && group->targets[i].wanted)
			kept++;
		else
			remove_target(l4, group->targets[i].slot);
		group->targets[i].wanted = false;
	}
	group->target_count = kept;
}

static void remove_unwanted_groups(struct l4 *l4)
{
	MAP_EACH (&l4->groups, entry) {
		struct plane_group *group = entry->value;

		remove_unwanted_targets(l4, group);
		if (group->wanted) {
			group->wanted = false;
			continue;
		}
		/* Its list stays: a worker that drew it a moment ago still finds a target. */
		map_remove(&l4->groups, entry->key);
		free(group->targets);
		free(group->name);
		free(group);
	}
}

/* ---- listeners ---- */

static void set_options(struct l4_listener *slot, const struct proxy_options *options)
{
#define OR_(value, otherwise) ((value) ? (value) : (uint32_t)(otherwise))
	atomic_store(&slot->connect_timeout_ms,
		OR_(options->connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_MS));
	atomic_store(&slot->idle_timeout_ms,
		OR_(options->idle_timeout_ms, DEFAULT_IDLE_TIMEOUT_MS));
	atomic_store(&slot->udp_idle_timeout_ms,
		OR_(options->udp_idle_timeout_ms, DEFAULT_UDP_IDLE_TIMEOUT_MS));
	atomic_store(&slot->retries,
		options->no_retries ? 0 : OR_(options->retries, DEFAULT_RETRIES));
	atomic_store(&slot->udp_sessions_max, OR_(options->udp_sessions_max, DEFAULT_UDP_SESSIONS));
#undef OR_
	atomic_store(&slot->max_connections, options->max_connections);
	atomic_store(&slot->retry_next_group, options->retry_next_group);
	atomic_store(&slot->proxy_v2, options->proxy_v2);
	atomic_store(&slot->sticky_source, options->sticky_source);
	atomic_store(&slot->udp_datagram, options->udp_mode == PROXY_UDP_DATAGRAM);
}

/* The key of a group in a listener: the existing one, or a new one. */
static uint32_t route_key(struct l4 *l4, struct plane_listener *listener,
	const struct plane_group *group, uint32_t taken)
{
	struct l4_route *routes = l4->shared->listeners[listener->slot].routes;
	uint32_t best = L4_NO_SLOT;

	for (size_t i = 0; i < listener->route_count; i++) {
		if (listener->routes[i].group == group)
			return listener->routes[i].key;
		taken |= UINT32_C(1) << listener->routes[i].key;
	}
	/* Prefer a key without references; there are more keys than routes, old and new. */
	for (uint32_t key = 0; key < L4_ROUTE_SLOTS; key++) {
		if (taken & (UINT32_C(1) << key))
			continue;
		if (best == L4_NO_SLOT || l4_active(&routes[key].counters) == 0)
			best = key;
		if (l4_active(&routes[key].counters) == 0)
			break;
	}
	zero_counts(&routes[best].counters);
	atomic_store(&routes[best].group, group->slot);
	return best;
}

_Static_assert(L4_ROUTE_SLOTS == 32 && L4_ROUTE_SLOTS >= 2 * PROXY_ROUTES_MAX, "keys are bits");

static void set_routes(struct l4 *l4, struct plane_listener *listener,
	const struct proxy_listener *wanted)
{
	struct plane_listener next = *listener;
	struct share_route shares[PROXY_ROUTES_MAX];
	uint32_t taken = 0;

	for (size_t i = 0; i < wanted->route_count; i++) {
		struct plane_group *group = map_get(&l4->groups, span_of(wanted->routes[i].group));
		uint32_t key = route_key(l4, listener, group, taken);

		taken |= UINT32_C(1) << key;
		next.routes[i].group = group;
		next.routes[i].key = key;
		shares[i] = (struct share_route){key, wanted->routes[i].weight};
	}
	memcpy(listener->routes, next.routes, sizeof(listener->routes));
	listener->route_count = wanted->route_count;
	share_set(&l4->shared->listeners[listener->slot].share, shares, wanted->route_count);
}

static struct plane_listener *add_listener(struct l4 *l4, const struct proxy_listener *wanted,
	int descriptor, uint32_t *next_slot)
{
	struct plane_listener *listener = memory_allocate(sizeof(*listener));
	struct l4_listener *slot;
	socklen_t length = sizeof(listener->bound);

	listener->name = memory_copy_string(wanted->name);
	listener->slot = take_slot(l4, &slot_kinds[SLOTS_LISTENERS], next_slot);
	listener->incarnation = new_incarnation(l4);
	listener->protocol = wanted->protocol;
	listener->requested = wanted->address;
	listener->descriptor = descriptor;
	listener->wanted = true;
	getsockname(descriptor, &listener->bound.any, &length);
	slot = &l4->shared->listeners[listener->slot];
	zero_counts(&slot->counters);
	share_set(&slot->share, NULL, 0);
	for (size_t i = 0; i < L4_ROUTE_SLOTS; i++)
		zero_counts(&slot->routes[i].counters);
	atomic_store(&slot->protocol, wanted->protocol);
	atomic_store(&slot->incarnation, listener->incarnation);
	return listener;
}

static void free_listener(struct plane_listener *listener)
{
	close(listener->descriptor);
	free(listener->name);
	free(listener);
}

static void remove_listener(struct l4 *l4, struct plane_listener *listener)
{
	atomic_store(&l4->shared->listeners[listener->slot].incarnation, 0);
	workers_notify_listener(l4, listener, false);
	free_listener(listener);
}

/* The new table of listeners, in the order of the state; listeners that remain in the old one are
 * removed. */
static void set_listeners(struct l4 *l4, const struct proxy_state *state, int *descriptors)
{
	struct map next = {0};
	uint32_t next_slot = 0;

	for (size_t i = 0; i < state->listener_count; i++) {
		const struct proxy_listener *wanted = &state->listeners[i];
		struct plane_listener *listener = map_get(&l4->listeners, span_of(wanted->name));

		if (listener && listener->wanted)
			map_remove(&l4->listeners, span_of(wanted->name));
		else
			listener = add_listener(l4, wanted, TAKE_FD(descriptors[i]), &next_slot);
		set_options(&l4->shared->listeners[listener->slot], &wanted->options);
		set_routes(l4, listener, wanted);
		map_put(&next, span_of(wanted->name), listener);
	}
	MAP_EACH (&l4->listeners, entry)
		remove_listener(l4, entry->value);
	map_clear(&l4->listeners);
	l4->listeners = next;
	MAP_EACH (&l4->listeners, entry) {
		struct plane_listener *listener = entry->value;

		listener->wanted = false;
		if (!listener->reported)
			workers_notify_listener(l4, listener, true);
		listener->reported = true;
	}
}

/* ---- the calls ---- */

int plane_apply(struct l4 *l4, const struct proxy_state *state, struct err *err)
{
	_free_ int *descriptors =
		memory_allocate_array(state->listener_count + 1, sizeof(*descriptors));
	const struct control_message check = {.kind = CONTROL_CHECK};
	uint32_t next_group = 0, next_target = 0;
	int code = check_room(l4, state, err);

	if (code == 0)
		code = open_sockets(l4, state, descriptors, err);
	if (code < 0) {
		MAP_EACH (&l4->listeners, entry)
			((struct plane_listener *)entry->value)->wanted = false;
		return code;
	}
	for (size_t i = 0; i < state->group_count; i++)
		set_group(l4, &state->groups[i], &next_group, &next_target);
	set_listeners(l4, state, descriptors);
	remove_unwanted_groups(l4);
	workers_notify(l4, &check, -1);
	return 0;
}

int plane_set_weights(struct l4 *l4, const char *name, const struct proxy_route *routes,
	size_t route_count, struct err *err)
{
	struct plane_listener *listener = map_get(&l4->listeners, span_of(name));
	struct share_route shares[PROXY_ROUTES_MAX];

	if (!listener)
		return -ENOENT;
	if (route_count != listener->route_count)
		return err_set(err, -EINVAL, "listener '%s': %zu weights for %zu groups", name,
			route_count, listener->route_count);
	for (size_t i = 0; i < listener->route_count; i++) {
		size_t at = 0;

		while (at < route_count &&
			strcmp(routes[at].group, listener->routes[i].group->name) != 0)
			at++;
		if (at == route_count)
			return err_set(err, -EINVAL, "listener '%s': no weight for group '%s'",
				name, listener->routes[i].group->name);
		shares[i] = (struct share_route){listener->routes[i].key, routes[at].weight};
	}
	share_set(&l4->shared->listeners[listener->slot].share, shares, route_count);
	return 0;
}

static void report_counters(const struct l4_counters *counters, struct proxy_counters *out)
{
#define COPY_(name) out->name = atomic_load(&counters->counts[L4_COUNT_##name]);
	L4_COUNTERS(COPY_)
#undef COPY_
	out->active = l4_active(counters);
}

static void report_listener(struct l4 *l4, const struct plane_listener *listener,
	struct arena *arena, struct proxy_listener_report *out)
{
	struct l4_listener *slot = &l4->shared->listeners[listener->slot];
	struct share_route shares[SHARE_ROUTES_MAX];
	size_t count = share_get(&slot->share, shares);

	out->name = arena_copy_string(arena, listener->name);
	out->protocol = listener->protocol;
	out->address = listener->bound;
	report_counters(&slot->counters, &out->counters);
	out->route_count = listener->route_count;
	out->routes = arena_allocate_array(arena, out->route_count + 1, sizeof(*out->routes));
	for (size_t i = 0; i < out->route_count; i++) {
		out->routes[i].group = arena_copy_string(arena, listener->routes[i].group->name);
		out->routes[i].weight = i < count ? shares[i].weight : 0;
		report_counters(&slot->routes[listener->routes[i].key].counters,
			&out->routes[i].counters);
	}
}

static void report_group(struct l4 *l4, const struct plane_group *group, struct arena *arena,
	struct proxy_group_report *out)
{
	out->name = arena_copy_string(arena, group->name);
	report_counters(&l4->shared->groups[group->slot].counters, &out->counters);
	out->target_count = group->target_count;
	out->targets = arena_allocate_array(arena, out->target_count + 1, sizeof(*out->targets));
	for (size_t i = 0; i < out->target_count; i++) {
		const struct l4_target *slot = &l4->shared->targets[group->targets[i].slot];

		out->targets[i].address = slot->address;
		out->targets[i].state = (enum proxy_target_state)atomic_load(&slot->state);
		report_counters(&slot->counters, &out->targets[i].counters);
	}
}

void plane_report(struct l4 *l4, struct arena *arena, struct proxy_report *report)
{
	struct proxy_listener_report *listeners = arena_allocate_array(arena,
		report->listener_count + l4->listeners.count + 1, sizeof(*listeners));
	struct proxy_group_report *groups = arena_allocate_array(arena,
		report->group_count + l4->groups.count + 1, sizeof(*groups));

	if (report->listener_count > 0)
		memcpy(listeners, report->listeners, report->listener_count * sizeof(*listeners));
	if (report->group_count > 0)
		memcpy(groups, report->groups, report->group_count * sizeof(*groups));
	MAP_EACH (&l4->listeners, entry)
		report_listener(l4, entry->value, arena, &listeners[report->listener_count++]);
	MAP_EACH (&l4->groups, entry)
		report_group(l4, entry->value, arena, &groups[report->group_count++]);
	report->listeners = listeners;
	report->groups = groups;
	report->worker_starts += l4->worker_starts;
}

void plane_clear(struct l4 *l4)
{
	MAP_EACH (&l4->listeners, entry)
		free_listener(entry->value);
	map_clear(&l4->listeners);
	MAP_EACH (&l4->groups, entry) {
		struct plane_group *group = entry->value;

		free(group->targets);
		free(group->name);
		free(group);
	}
	map_clear(&l4->groups);
}
