/*
 * Backends and their servers: the backend of each group, the server of each target, and the timing
 * of targets that drain or start slowly.
 */
#include <stdio.h>

#include "proxy/haproxy/supervisor.h"

#define DEFAULT_CONNECT_TIMEOUT_MS 5000
#define DEFAULT_RETRIES 2
#define DEFAULT_IDLE_TIMEOUT_MS 350000

/* ---- backends ---- */

bool shape_is(const struct shape *a, const struct shape *b)
{
	return a->tcp == b->tcp && a->by_source == b->by_source &&
	       a->keeps_targets == b->keeps_targets && a->balance == b->balance &&
	       a->connect_timeout_ms == b->connect_timeout_ms && a->retries == b->retries &&
	       a->idle_ms == b->idle_ms;
}

struct shape shape_of(const struct proxy_listener *listener, const struct proxy_group *group)
{
	const struct proxy_options *options = &listener->options;
#define OR_(value, otherwise) ((value) ? (value) : (uint32_t)(otherwise))
	struct shape shape = {
		.tcp = listener->protocol == PROXY_TLS_END,
		.by_source = options->sticky_source,
		.connect_timeout_ms = OR_(options->connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_MS),
		.retries = options->no_retries ? 0 : OR_(options->retries, DEFAULT_RETRIES),
		.idle_ms = OR_(options->idle_timeout_ms, DEFAULT_IDLE_TIMEOUT_MS),
	};
#undef OR_

	if (group) {
		shape.balance = group->balance;
		shape.keeps_targets = !shape.tcp && group->sticky != PROXY_STICKY_NONE;
	}
	return shape;
}

struct backend *backend_add(struct haproxy *haproxy, const struct shape *shape)
{
	struct backend *backend = memory_allocate(sizeof(*backend));

	backend->number = (uint32_t)haproxy->backend_count;
	backend->shape = *shape;
	haproxy->backends = memory_resize(haproxy->backends,
		(haproxy->backend_count + 1) * sizeof(struct backend *));
	haproxy->backends[haproxy->backend_count++] = backend;
	return backend;
}

bool backend_is_free(const struct backend *backend)
{
	if (backend->group)
		return false;
	/* Commands for servers of the previous group may still be pending. */
	for (size_t i = 0; i < backend->slot_count; i++) {
		if (backend->slots[i].reported_ready)
			return false;
	}
	return true;
}

/* The group's previous backend, a spare one, or one that no process has yet. */
struct backend *backend_take(struct haproxy *haproxy, const struct shape *shape, const char *group)
{
	struct backend *taken = NULL;

	for (size_t i = 0; i < haproxy->backend_count; i++) {
		struct backend *backend = haproxy->backends[i];

		if (backend->group || !shape_is(&backend->shape, shape))
			continue;
		if (backend->last_group && strcmp(backend->last_group, group) == 0) {
			taken = backend;
			break;
		}
		if (!taken && backend_is_free(backend))
			taken = backend;
	}
	if (!taken)
		taken = backend_add(haproxy, shape);
	for (size_t i = 0; i < taken->slot_count; i++)
		taken->slots[i].used = taken->slots[i].reported_ready;
	taken->group = memory_copy_string(group);
	return taken;
}

void backend_free(struct backend *backend)
{
	free(backend->group);
	free(backend->last_group);
	free(backend->sticky_name);
	free(backend->slots);
	free(backend);
}

/* Connection settings of a server cannot change. */
static bool is_like(const struct slot *slot, const struct proxy_group *group, bool proxy_v2)
{
	return slot->tls == group->tls && slot->http2 == group->http2 && slot->proxy_v2 == proxy_v2;
}

static struct slot *find_slot(struct backend *backend, const union proxy_address *address,
	const struct proxy_group *group, bool proxy_v2)
{
	for (size_t i = 0; i < backend->slot_count; i++) {
		struct slot *slot = &backend->slots[i];

		if (slot->used && is_like(slot, group, proxy_v2) &&
			proxy_address_equal(&slot->address, address))
			return slot;
	}
	return NULL;
}

static void forget_slot(struct haproxy *haproxy, const struct backend *backend,
	const struct slot *slot)
{
	char key[KEY_SIZE];

	snprintf(key, sizeof(key), "b%u/s%u", backend->number, slot->number);
	count_forget(haproxy, key);
}

/* A free slot, or a new one. */
static struct slot *take_slot(struct haproxy *haproxy, struct backend *backend,
	const struct proxy_group *group, bool proxy_v2, bool *sampled)
{
	for (size_t i = 0; i < backend->slot_count; i++) {
		struct slot *slot = &backend->slots[i];

		if (slot->used || slot->reported_ready || !slot->exists ||
			!is_like(slot, group, proxy_v2))
			continue;
		/* Its counts so far belong to another target. */
		if (haproxy->current && !*sampled)
			count_sample(haproxy, haproxy->current);
		*sampled = true;
		forget_slot(haproxy, backend, slot);
		return slot;
	}
	backend->slots =
		memory_resize(backend->slots, (backend->slot_count + 1) * sizeof(*backend->slots));
	backend->slots[backend->slot_count] = (struct slot){.number = ++backend->next_slot};
	return &backend->slots[backend->slot_count++];
}

static void set_slot_state(struct haproxy *haproxy, struct slot *slot, bool is_new,
	const struct proxy_target *wanted)
{
	slot->begins = wanted->state == PROXY_TARGET_ACTIVE &&
		       (is_new || slot->state != PROXY_TARGET_ACTIVE);
	if (slot->begins)
		slot->active_us = runner_now_us(haproxy->runner);
	if (wanted->state == PROXY_TARGET_DRAINING &&
		(is_new || slot->state != PROXY_TARGET_DRAINING))
		slot->drain_until_us = wanted->drain_ms ? runner_deadline_us(haproxy->runner,
								  (int64_t)wanted->drain_ms * 1000)
							: INT64_MAX;
	if (wanted->state != PROXY_TARGET_DRAINING)
		slot->cut = false;
	slot->state = wanted->state;
}

static bool has_risen(struct haproxy *haproxy, const struct backend *backend,
	const struct slot *slot)
{
	return !slot->rises ||
	       (runner_now_us(haproxy->runner) - slot->active_us) / 1000 >= backend->slow_start_ms;
}

/* As in ELB: while no target has its full share, none starts with less. */
static void begin_slots(struct backend *backend)
{
	bool beside_full_part = false;

	for (size_t i = 0; i < backend->slot_count; i++) {
		const struct slot *slot = &backend->slots[i];

		beside_full_part |= slot->wanted && slot->state == PROXY_TARGET_ACTIVE &&
				    !slot->begins && !slot->rises;
	}
	for (size_t i = 0; i < backend->slot_count; i++) {
		struct slot *slot = &backend->slots[i];

		if (slot->wanted && slot->begins)
			slot->rises = backend->slow_start_ms > 0 && beside_full_part;
		slot->begins = false;
	}
}

/* Used slots in the order of the state first. */
static void order_slots(struct backend *backend, const struct proxy_group *group)
{
	struct slot *ordered = memory_allocate_array(backend->slot_count + 1, sizeof(*ordered));
	size_t count = 0;

	for (size_t i = 0; i < group->target_count; i++) {
		for (size_t k = 0; k < backend->slot_count; k++) {
			/* Usually it is at its previous index. */
			struct slot *slot = &backend->slots[(i + k) % backend->slot_count];

			if (!slot->wanted || !slot->used ||
				!proxy_address_equal(&slot->address, &group->targets[i].address))
				continue;
			ordered[count++] = *slot;
			slot->wanted = false;
			break;
		}
	}
	backend->target_count = count;
	for (size_t k = 0; k < backend->slot_count; k++) {
		if (!backend->slots[k].used)
			ordered[count++] = backend->slots[k];
	}
	free(backend->slots);
	backend->slots = ordered;
	backend->slot_count = count;
}

/* A draining target has only connections from before, which are not lost when the target leaves the
 * state. */
static void leave(struct haproxy *haproxy, struct slot *slot)
{
	slot->leaves = slot->reported_ready && slot->state == PROXY_TARGET_DRAINING && !slot->cut;
	slot->left_us = runner_now_us(haproxy->runner);
}

void backend_set_targets(struct haproxy *haproxy, struct backend *backend,
	const struct proxy_group *group, bool proxy_v2, bool *sampled)
{
	for (size_t i = 0; i < backend->slot_count; i++) {
		backend->slots[i].wanted = false;
		/* A target with its full share keeps it, whatever the new slow start time of
		 * others. */
		backend->slots[i].rises = !has_risen(haproxy, backend, &backend->slots[i]);
	}
	backend->slow_start_ms = group->slow_start_ms;
	for (size_t i = 0; i < group->target_count; i++) {
		const struct proxy_target *target = &group->targets[i];
		struct slot *slot = find_slot(backend, &target->address, group, proxy_v2);
		bool is_new = !slot;

		if (is_new)
			slot = take_slot(haproxy, backend, group, proxy_v2, sampled);
		slot->used = slot->wanted = true;
		slot->address = target->address;
		slot->tls = group->tls;
		slot->http2 = group->http2;
		slot->proxy_v2 = proxy_v2;
		slot->leaves = false;
		set_slot_state(haproxy, slot, is_new, target);
	}
	begin_slots(backend);
	for (size_t i = 0; i < backend->slot_count; i++) {
		struct slot *slot = &backend->slots[i];

		if (slot->used && !slot->wanted)
			leave(haproxy, slot);
		slot->used = slot->wanted;
	}
	order_slots(backend, group);
}

void backend_release(struct haproxy *haproxy, struct backend *backend)
{
	char key[KEY_SIZE];

	free(backend->last_group);
	backend->last_group = TAKE(backend->group);
	backend->released_us = runner_now_us(haproxy->runner);
	backend->target_count = 0;
	for (size_t i = 0; i < backend->slot_count; i++)
		backend->slots[i].used = false;
	snprintf(key, sizeof(key), "b%u", backend->number);
	count_forget(haproxy, key);
}

/* ---- time ---- */

bool slot_is_ready(const struct slot *slot)
{
	return slot->used && slot->state != PROXY_TARGET_DOWN && !slot->cut;
}

static bool has_left(struct haproxy *haproxy, const struct backend *backend,
	const struct slot *slot)
{
	return runner_now_us(haproxy->runner) >= slot->drain_until_us ||
	       (haproxy->sampled_us > slot->left_us && count_active(haproxy, backend, slot) == 0);
}

bool slot_must_go(struct haproxy *haproxy, const struct backend *backend, const struct slot *slot)
{
	if (!slot->reported_ready || slot_is_ready(slot))
		return false;
	if (!backend->group)
		return runner_now_us(haproxy->runner) - backend->released_us >= GRAVE_MS * 1000;
	return !slot->leaves || has_left(haproxy, backend, slot);
}

unsigned slot_weight(struct haproxy *haproxy, const struct backend *backend,
	const struct slot *slot)
{
	int64_t age_ms = (runner_now_us(haproxy->runner) - slot->active_us) / 1000;

	if (!slot->used || slot->state != PROXY_TARGET_ACTIVE)
		return 0;
	if (has_risen(haproxy, backend, slot))
		return FULL_WEIGHT;
	return 1 + (unsigned)(age_ms * (FULL_WEIGHT - 1) / backend->slow_start_ms);
}

static void tick_slot(struct haproxy *haproxy, const struct backend *backend, struct slot *slot,
	int64_t *next_us, bool *changed)
{
	int64_t now = runner_now_us(haproxy->runner), due = INT64_MAX;

	if (slot_must_go(haproxy, backend, slot)) {
		*changed = true;
	} else if (!slot->used) {
		if (slot->reported_ready)
			due = backend->group ? slot->drain_until_us
					     : backend->released_us + GRAVE_MS * 1000;
	} else if (slot->state == PROXY_TARGET_DRAINING && !slot->cut) {
		due = slot->drain_until_us;
		slot->cut = due <= now;
		*changed |= slot->cut;
	} else if (slot->state == PROXY_TARGET_ACTIVE && slot->reported_weight < FULL_WEIGHT) {
		*changed |= slot_weight(haproxy, backend, slot) != slot->reported_weight;
		due = now + RAMP_STEP_MS * 1000;
	}
	if (due < *next_us)
		*next_us = due;
}

int64_t backends_tick(struct haproxy *haproxy, bool *ret_changed)
{
	int64_t next_us = INT64_MAX;

	for (size_t i = 0; i < haproxy->backend_count; i++) {
		struct backend *backend = haproxy->backends[i];

		for (size_t k = 0; k < backend->slot_count; k++)
			tick_slot(haproxy, backend, &backend->slots[k], &next_us, ret_changed);
	}
	return next_us;
}
