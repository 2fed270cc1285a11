/* The choice of a target for a client: the share chooses the group, the group's turn the target. */
#include "base/memory.h"
#include "proxy/l4/worker.h"

uint64_t client_hash(const union proxy_address *client, bool with_port)
{
	/* The same in every worker and after every restart, unlike span_hash(). */
	const uint8_t *bytes;
	size_t length;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	if (client->any.sa_family == AF_INET6) {
		bytes = (const uint8_t *)&client->v6.sin6_addr;
		length = sizeof(client->v6.sin6_addr);
	} else {
		bytes = (const uint8_t *)&client->v4.sin_addr;
		length = sizeof(client->v4.sin_addr);
	}
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	if (with_port)
		hash = (hash ^ proxy_address_port(client)) * UINT64_C(0x100000001b3);
	hash ^= hash >> 30;
	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	hash ^= hash >> 27;
	hash *= UINT64_C(0x94d049bb133111eb);
	hash ^= hash >> 31;
	return hash ? hash : 1;
}

static bool choose_in_route(struct worker *worker, struct choice *choice, uint32_t route)
{
	uint32_t group =
		atomic_load_explicit(&choice->listener->routes[route].group, memory_order_acquire);
	const struct l4_turn turn = {
		.now_us = worker->now_us,
		.hash = choice->hash,
		.tried = choice->tried,
		.tried_count = choice->tried_count,
	};
	uint32_t target;

	if (group >= PROXY_GROUPS_MAX)
		return false;
	target = l4_group_next(worker->shared, &worker->shared->groups[group], &turn);
	choice->route = route;
	choice->group = group;
	if (target == L4_NO_SLOT)
		return false;
	choice->target = target;
	return true;
}

/* The next route after the drawn one, wrapping round, with a weight and a target. */
static bool choose_in_next_route(struct worker *worker, struct choice *choice)
{
	struct share_route routes[SHARE_ROUTES_MAX];
	size_t count = share_get(&choice->listener->share, routes);
	size_t drawn = 0;
	uint32_t first = choice->route;

	if (!atomic_load(&choice->listener->retry_next_group))
		return false;
	while (drawn < count && routes[drawn].key != first)
		drawn++;
	for (size_t i = 1; i <= count; i++) {
		const struct share_route *route = &routes[(drawn + i) % count];

		if (route->key != first && route->weight > 0 && route->key < L4_ROUTE_SLOTS &&
			choose_in_route(worker, choice, route->key))
			return true;
	}
	choice->route = first;
	return false;
}

bool choice_first(struct worker *worker, struct choice *choice)
{
	uint32_t route = choice->hash ? share_of_hash(&choice->listener->share, choice->hash)
				      : share_draw(&choice->listener->share);

	choice->tried_count = 0;
	if (route >= L4_ROUTE_SLOTS)
		return false;
	return choose_in_route(worker, choice, route) || choose_in_next_route(worker, choice);
}

bool choice_next(struct worker *worker, struct choice *choice)
{
	uint32_t retries = atomic_load(&choice->listener->retries);
	uint32_t left;

	if (choice->tried_count < LENGTH(choice->tried))
		choice->tried[choice->tried_count++] = choice->target;
	left = retries + 1 > choice->tried_count ? retries + 1 - choice->tried_count : 0;
	if (left == 0)
		return false;
	/* The last attempt is for another group, so that a group of many dead targets cannot use
	 * all attempts. */
	if (left == 1 && choose_in_next_route(worker, choice))
		return true;
	return choose_in_route(worker, choice, choice->route) ||
	       choose_in_next_route(worker, choice);
}

static void count_active(struct worker *worker, const struct choice *choice, uint32_t by)
{
	struct l4_counters *all[] = {
		&choice->listener->routes[choice->route].counters,
		&worker->shared->groups[choice->group].counters,
		&worker->shared->targets[choice->target].counters,
	};

	for (size_t i = 0; i < LENGTH(all); i++)
		atomic_fetch_add_explicit(&all[i]->active[worker->slot], by, memory_order_relaxed);
}

void choice_hold(struct worker *worker, struct choice *choice)
{
	if (!choice->held)
		count_active(worker, choice, 1);
	choice->held = true;
}

void choice_release(struct worker *worker, struct choice *choice)
{
	if (choice->held)
		count_active(worker, choice, UINT32_MAX);
	choice->held = false;
}

void choice_count(struct worker *worker, const struct choice *choice, enum l4_count which,
	uint64_t by)
{
	l4_count(&choice->listener->counters, which, by);
	l4_count(&choice->listener->routes[choice->route].counters, which, by);
	l4_count(&worker->shared->groups[choice->group].counters, which, by);
	l4_count(&worker->shared->targets[choice->target].counters, which, by);
}

struct l4_target *choice_target(struct worker *worker, const struct choice *choice)
{
	return &worker->shared->targets[choice->target];
}

bool choice_is_cut(struct worker *worker, const struct choice *choice)
{
	struct l4_target *target = choice_target(worker, choice);

	switch (atomic_load_explicit(&target->state, memory_order_relaxed)) {
	case PROXY_TARGET_ACTIVE: return false;
	case PROXY_TARGET_DRAINING:
		return worker->now_us >=
		       atomic_load_explicit(&target->drain_until_us, memory_order_relaxed);
	default: return true;
	}
}
