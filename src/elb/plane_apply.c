/*
 * All listeners and groups, put into effect together. A change of weights alone goes the data plane's fast
 * way. A listener that the data plane refuses (its port is taken, a certificate is not one) stays as it was
 * or is left out, and is tried again; the others are applied without it.
 */
#include <stdio.h>

#include "elb/plane_components.h"

void plane_listener_free(struct plane_listener *listener)
{
	if (!listener)
		return;
	if (listener->in_effect != listener->shape)
		plane_shape_free(listener->in_effect);
	plane_shape_free(listener->shape);
	free(listener->key);
	free(listener);
}

/* ---- failure and success ---- */

/* Errors that may go away in a moment. */
static bool is_patient(const struct err *err)
{
	return err->code == -EADDRINUSE || err->code == -ETIMEDOUT;
}

void plane_listener_failed(struct elb_plane *plane, struct plane_listener *listener,
	const struct err *err)
{
	int64_t now_us = runner_now_us(plane->runner);
	bool was_impaired = listener->impaired;

	if (listener->failure.code == 0) {
		listener->failed_us = now_us;
		listener->delay_ms = is_patient(err) ? PLANE_RETRY_FIRST_MS : PLANE_RETRY_MAX_MS;
	} else {
		listener->delay_ms = listener->delay_ms * 2 < PLANE_RETRY_MAX_MS
					     ? listener->delay_ms * 2
					     : PLANE_RETRY_MAX_MS;
	}
	listener->failure = *err;
	listener->retry_us = runner_deadline_us(plane->runner, listener->delay_ms * 1000);
	listener->impaired = !is_patient(err) ||
			     now_us - listener->failed_us >= PLANE_PATIENCE_MS * INT64_C(1000);
	if (listener->impaired)
		plane_mark(&plane->dirty_balancers, listener->balancer);
	if (listener->impaired && !was_impaired && plane->config.report)
		plane->config.report(plane->config.report_context, "traffic",
			span_of(listener->key), err);
}

static void succeeded(struct elb_plane *plane, struct plane_listener *listener)
{
	if (listener->in_effect != listener->shape) {
		plane_shape_free(listener->in_effect);
		plane->must_count = true;
	}
	listener->in_effect = listener->shape;
	if (listener->failure.code != 0)
		plane_mark(&plane->dirty_balancers, listener->balancer);
	listener->failure.code = 0;
	listener->impaired = false;
}

void plane_retry_listeners(struct elb_plane *plane)
{
	int64_t now_us = runner_now_us(plane->runner);

	MAP_EACH (&plane->listeners, entry) {
		struct plane_listener *listener = entry->value;

		if (listener->failure.code == 0 || listener->retry_us > now_us)
			continue;
		if (listener->unbuilt)
			plane_mark(&plane->dirty_listeners, entry->key);
		else
			plane->must_apply |= listener->shape->driver;
		listener->left_out = false;
	}
}

int64_t plane_next_retry_us(struct elb_plane *plane)
{
	int64_t next_us = RUNNER_FOREVER;

	MAP_EACH (&plane->listeners, entry) {
		const struct plane_listener *listener = entry->value;

		if (listener->failure.code != 0 && listener->retry_us < next_us)
			next_us = listener->retry_us;
	}
	return next_us;
}

/* ---- all of it ---- */

/* The shape of a listener to carry now; NULL: nothing. */
static const struct plane_shape *shape_to_apply(const struct plane_listener *listener)
{
	return listener->left_out || !listener->shape ? listener->in_effect : listener->shape;
}

static void assemble(struct elb_plane *plane, unsigned driver, struct proxy_group *groups,
	struct proxy_listener *listeners, struct proxy_state *ret_state)
{
	*ret_state = (struct proxy_state){.groups = groups, .listeners = listeners};
	MAP_EACH (&plane->groups, entry) {
		const struct plane_group *group = entry->value;

		if (!(group->drivers & driver))
			continue;
		groups[ret_state->group_count] = group->settings.group;
		groups[ret_state->group_count].targets = group->wanted;
		groups[ret_state->group_count++].target_count = group->wanted_count;
	}
	MAP_EACH (&plane->listeners, entry) {
		const struct plane_shape *shape = shape_to_apply(entry->value);

		for (size_t i = 0; shape && shape->driver == driver && i < shape->part_count; i++)
			listeners[ret_state->listener_count++] = shape->parts[i];
	}
}

/* Whether the data plane refused the state because of this listener, or of a group of it. */
static bool is_at_fault(const struct plane_shape *shape, const struct proxy_fault *fault)
{
	for (size_t i = 0; fault->listener && i < shape->part_count; i++) {
		if (strcmp(shape->parts[i].name, fault->listener) == 0)
			return true;
	}
	for (size_t i = 0; fault->group && i < shape->group_count; i++) {
		if (strcmp(shape->groups[i], fault->group) == 0)
			return true;
	}
	return false;
}

/* It keeps its previous state, if any. But another driver's share of it may hold the port. */
static void leave_out_listener(struct elb_plane *plane, struct plane_listener *listener,
	const struct err *err)
{
	const struct plane_shape *refused = shape_to_apply(listener);
	struct plane_shape *old = listener->in_effect;

	if (old && (old == refused || old->driver != refused->driver)) {
		plane->must_apply |= old->driver & ~refused->driver;
		listener->in_effect = NULL;
		if (old != listener->shape)
			plane_shape_free(old);
	}
	listener->left_out = true;
	plane_listener_failed(plane, listener, err);
}

/* Leaves out the listeners at fault: how many. */
static size_t leave_out(struct elb_plane *plane, unsigned driver, const struct proxy_fault *fault,
	const struct err *err)
{
	size_t count = 0;

	MAP_EACH (&plane->listeners, entry) {
		const struct plane_shape *shape = shape_to_apply(entry->value);

		if (!shape || shape->driver != driver || !is_at_fault(shape, fault))
			continue;
		leave_out_listener(plane, entry->value, err);
		count++;
	}
	return count;
}

/* Those that a driver should carry, and that are not known to have another problem: how many. */
static size_t settle_driver(struct elb_plane *plane, unsigned driver, const struct err *failure)
{
	size_t count = 0;

	MAP_EACH (&plane->listeners, entry) {
		struct plane_listener *listener = entry->value;

		if (!listener->shape || listener->shape->driver != driver || listener->left_out ||
			listener->unbuilt)
			continue;
		count++;
		if (failure)
			plane_listener_failed(plane, listener, failure);
		else
			succeeded(plane, listener);
	}
	return count;
}

static int apply_driver(struct elb_plane *plane, size_t index, struct err *err)
{
	_free_ struct proxy_group *groups =
		memory_allocate_array(plane->groups.count + 1, sizeof(*groups));
	_free_ struct proxy_listener *listeners =
		memory_allocate_array(plane->listeners.count * PLANE_COMPONENTS_MAX + 1,
			sizeof(*listeners));
	unsigned driver = 1u << index;
	struct proxy_fault fault;
	struct proxy_state state;
	int code;

	plane->must_apply &= ~driver;
	do {
		fault = (struct proxy_fault){0};
		assemble(plane, driver, groups, listeners, &state);
		state.fault = &fault;
		code = proxy_apply_driver(plane->config.proxy, index, &state, err);
	} while (code < 0 && code != -ETIMEDOUT && code != -ECANCELED &&
		 leave_out(plane, driver, &fault, err) > 0);
	if (code == -ECANCELED)
		return code;
	if (settle_driver(plane, driver, code < 0 ? err : NULL) == 0 && code < 0) {
		/* No listener is due for a retry, so the driver is. */
		plane->must_apply |= driver;
		return code;
	}
	MAP_EACH (&plane->groups, entry) {
		if (code == 0)
			((struct plane_group *)entry->value)->pending &= ~driver;
	}
	return 0;
}

/* ---- weights alone ---- */

static int set_weights(struct elb_plane *plane, struct plane_listener *listener)
{
	const struct plane_shape *shape = listener->shape;
	int code = 0;

	for (size_t i = 0; code == 0 && i < shape->part_count; i++) {
		const struct proxy_listener *part = &shape->parts[i];
		bool http = part->protocol == PROXY_HTTP || part->protocol == PROXY_HTTPS;
		const struct proxy_action *otherwise = &part->http.otherwise;

		code = proxy_set_weights(plane->config.proxy, part->name,
			http ? otherwise->routes : part->routes,
			http ? otherwise->route_count : part->route_count, NULL);
	}
	return code;
}

static void apply_weights(struct elb_plane *plane)
{
	MAP_EACH (&plane->weights, entry) {
		struct plane_listener *listener = map_get(&plane->listeners, entry->key);

		if (!listener || (plane->must_apply & listener->shape->driver))
			continue;
		if (set_weights(plane, listener) == 0)
			succeeded(plane, listener);
		else
			plane->must_apply |= listener->shape->driver;
	}
	map_clear(&plane->weights);
}

int plane_put_into_effect(struct elb_plane *plane, struct err *err)
{
	int code = 0;

	apply_weights(plane);
	for (size_t i = 0; code == 0 && i < proxy_driver_count(plane->config.proxy); i++) {
		if (plane->must_apply & (1u << i))
			code = apply_driver(plane, i, err);
	}
	return code;
}

/* ---- load balancers ---- */

void plane_judge_balancers(struct elb_plane *plane, const struct store_view *view)
{
	_arena_ struct arena *arena = arena_new(0);

	MAP_EACH (&plane->dirty_balancers, entry) {
		const struct store_object *balancer =
			store_get(view, &elb_load_balancer_kind, entry->key);
		struct store_cursor cursor = {.view = view,
			.kind = &elb_listener_kind,
			.index = -1,
			.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(entry->key))};
		enum elb_load_balancer_state state = ELB_ACTIVE;
		const struct store_object *object;
		const char *reason = "";
		bool waits = false;

		while (balancer && (object = store_next(&cursor))) {
			const struct plane_listener *listener =
				map_get(&plane->listeners, object->key);

			waits |= !listener || (listener->failure.code != 0 && !listener->impaired);
			if (listener && listener->impaired) {
				state = ELB_ACTIVE_IMPAIRED;
				reason = listener->failure.message;
			}
		}
		if (!balancer || (waits && state == ELB_ACTIVE) ||
			(state == ELB_ACTIVE &&
				elb_load_balancer_facts(balancer)->state == ELB_ACTIVE))
			continue;
		plane_note_balancer(plane, balancer, state, reason);
	}
	map_clear(&plane->dirty_balancers);
}
