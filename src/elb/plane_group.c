/*
 * From a target group and its targets to what the data plane gives traffic to, what is checked, and what is
 * written about targets.
 *
 * What health checks say wins over what is stored. What is stored wins over checks that have not said
 * anything yet: after a restart everybody is what he was.
 */
#include "elb/plane_components.h"
#include "elb/target.h"

static void clear_targets(struct plane_group *group)
{
	for (size_t i = 0; i < group->target_count; i++)
		store_object_unref(group->targets[i].object);
	arena_free(group->arena);
	group->arena = NULL;
	group->targets = NULL;
	group->wanted = NULL;
	group->target_count = group->wanted_count = 0;
	group->drains = false;
}

void plane_group_free(struct plane_group *group)
{
	if (!group)
		return;
	clear_targets(group);
	arena_free(group->settings.arena);
	free(group->key);
	free(group);
}

/* ---- settings ---- */

static uint32_t number_of(const struct store_object *group, const char *name, struct arena *arena)
{
	uint64_t number = 0;

	span_to_unsigned(elb_attribute(group, name, arena), UINT32_MAX, &number);
	return (uint32_t)number;
}

static enum proxy_balance read_balance(const struct store_object *group, struct arena *arena)
{
	struct span name = elb_attribute(group, "load_balancing.algorithm.type", arena);

	return span_is(name, "least_outstanding_requests") ? PROXY_LEAST_REQUESTS
	       : span_is(name, "weighted_random")          ? PROXY_RANDOM
							   : PROXY_ROUND_ROBIN;
}

static void read_stickiness(const struct store_object *object, struct arena *arena,
	struct proxy_group *group)
{
	struct span type = elb_attribute(object, "stickiness.type", arena);

	if (!span_is(elb_attribute(object, "stickiness.enabled", arena), "true"))
		return;
	if (span_is(type, "lb_cookie")) {
		group->sticky = PROXY_STICKY_COOKIE;
		group->sticky_s = number_of(object, "stickiness.lb_cookie.duration_seconds", arena);
	} else if (span_is(type, "app_cookie")) {
		group->sticky = PROXY_STICKY_APP_COOKIE;
		group->sticky_s =
			number_of(object, "stickiness.app_cookie.duration_seconds", arena);
		group->sticky_name = arena_copy_span(arena,
			elb_attribute(object, "stickiness.app_cookie.cookie_name", arena))
					     .data;
	}
}

static uint32_t clamp(int64_t value, uint32_t least, uint32_t most)
{
	return value < least ? least : value > most ? most : (uint32_t)value;
}

static void read_check(const struct json *api, struct arena *arena, struct plane_settings *settings)
{
	struct probe_settings *check = &settings->check;
	struct span protocol = json_get_text(api, "HealthCheckProtocol");
	struct span codes = json_get_text(json_get(api, "Matcher"), "HttpCode");
	struct span path = json_get_text(api, "HealthCheckPath");
	uint64_t port = 0;

	settings->checked = json_get_bool(api, "HealthCheckEnabled", true);
	check->protocol = span_is(protocol, "HTTPS")  ? PROBE_HTTPS
			  : span_is(protocol, "HTTP") ? PROBE_HTTP
						      : PROBE_TCP;
	if (check->protocol != PROBE_TCP && path.length > 0)
		check->path = arena_copy_span(arena, path).data;
	if (!codes.data || probe_matcher_parse(codes, &check->matcher, NULL) < 0)
		probe_matcher_parse(SPAN("200"), &check->matcher, NULL);
	check->interval_ms = clamp(json_get_integer(api, "HealthCheckIntervalSeconds", 30) * 1000,
		PROBE_INTERVAL_MIN_MS, PROBE_INTERVAL_MAX_MS);
	check->timeout_ms = clamp(json_get_integer(api, "HealthCheckTimeoutSeconds", 5) * 1000, 1,
		PROBE_TIMEOUT_MAX_MS);
	check->healthy_threshold =
		clamp(json_get_integer(api, "HealthyThresholdCount", 5), 1, PROBE_THRESHOLD_MAX);
	check->unhealthy_threshold =
		clamp(json_get_integer(api, "UnhealthyThresholdCount", 2), 1, PROBE_THRESHOLD_MAX);
	span_to_unsigned(json_get_text(api, "HealthCheckPort"), UINT16_MAX, &port);
	settings->check_port = (unsigned)port;
}

/* Network load balancers end connections to unhealthy targets unless configured otherwise;
 * application load balancers let requests finish. Datagrams of a session go to a healthy target. */
static void read_unhealthy(const struct store_object *object, struct arena *arena,
	struct plane_settings *settings)
{
	bool ends = span_is(elb_attribute(object,
				    "target_health_state.unhealthy.connection_termination.enabled",
				    arena),
		"true");
	uint32_t seconds =
		number_of(object, "target_health_state.unhealthy.draining_interval_seconds", arena);

	if (elb_target_group_facts(object)->protocol == ELB_UDP)
		ends = true;
	settings->unhealthy = ends ? PROXY_TARGET_DOWN : PROXY_TARGET_DRAINING;
	settings->unhealthy_drain_ms = clamp((int64_t)seconds * 1000, 0, PROXY_TIMEOUT_MAX_MS);
}

/* True if they are others than before. object NULL: there is no such group, so it has no targets. */
static bool read_settings(struct plane_group *group, const struct store_object *object)
{
	const struct elb_target_group_facts *facts;
	struct plane_settings *settings = &group->settings;
	struct json *api = NULL;
	struct arena *arena;

	if (settings->arena && settings->revision == (object ? object->revision : 0))
		return false;
	arena_free(settings->arena);
	arena = arena_new(0);
	*settings = (struct plane_settings){.arena = arena};
	settings->group.name = group->key;
	if (!object)
		return true;
	facts = elb_target_group_facts(object);
	settings->revision = object->revision;
	settings->instances = facts->instances;
	settings->group.balance = read_balance(object, arena);
	settings->group.tls = facts->protocol == ELB_HTTPS || facts->protocol == ELB_TLS;
	settings->group.slow_start_ms = clamp(facts->slow_start_ms, 0, PROXY_TIMEOUT_MAX_MS);
	read_stickiness(object, arena, &settings->group);
	read_unhealthy(object, arena, settings);
	if (json_parse(object->api, arena, &api, NULL) < 0)
		api = NULL;
	read_check(api, arena, settings);
	return true;
}

/* ---- targets ---- */

static bool read_address(struct elb_plane *plane, const struct store_view *view,
	const struct store_object *object, bool instances, struct arena *arena,
	union proxy_address *ret_address)
{
	const struct elb_target_facts *facts = elb_target_facts(object);
	const struct elb_context *elb = plane->config.elb;
	struct span host = facts->id;
	struct span scope = {object->key.data, (size_t)(facts->group.data - object->key.data)};
	char text[INET6_ADDRSTRLEN];

	if (instances && span_starts_with(facts->id, SPAN("i-")))
		host = elb->instance_address ? elb->instance_address(view, scope, facts->id, arena)
					     : SPAN("");
	if (host.length == 0 || host.length >= sizeof(text))
		return false;
	memcpy(text, host.data, host.length);
	text[host.length] = '\0';
	return proxy_address_parse(text, (unsigned)facts->port, ret_address, NULL) == 0;
}

static void judge(struct elb_plane *plane, const struct plane_group *group,
	struct plane_target *target)
{
	const struct elb_target_facts *facts = elb_target_facts(target->object);
	struct probe_health health;

	target->state = facts->state;
	target->reason = facts->reason;
	target->code = (int)facts->code;
	if (facts->state == ELB_TARGET_DRAINING)
		return;
	if (!target->has_address) {
		target->state = ELB_TARGET_UNUSED;
		target->reason = PROBE_REASON_INVALID;
		target->code = 0;
	} else if (!group->settings.checked) {
		target->state = ELB_TARGET_UNAVAILABLE;
		target->reason = PROBE_REASON_DISABLED;
		target->code = 0;
	} else if (prober_get(plane->prober, target->key, &health) &&
		   health.state != PROBE_INITIAL) {
		target->state =
			health.state == PROBE_HEALTHY ? ELB_TARGET_HEALTHY : ELB_TARGET_UNHEALTHY;
		target->reason = health.reason;
		target->code = health.code;
	} else if (facts->state != ELB_TARGET_HEALTHY && facts->state != ELB_TARGET_UNHEALTHY) {
		target->state = ELB_TARGET_INITIAL;
		target->reason = PROBE_REASON_INITIAL;
		target->code = 0;
	}
}

static bool is_healthy(const struct plane_target *target)
{
	return target->state == ELB_TARGET_HEALTHY || target->state == ELB_TARGET_UNAVAILABLE;
}

static struct proxy_target proxy_target_of(const struct plane_group *group,
	const struct plane_target *target, bool any_healthy, int64_t now_ms)
{
	struct proxy_target wanted = {.address = target->address, .state = PROXY_TARGET_ACTIVE};
	int64_t left_ms;

	if (target->state == ELB_TARGET_DRAINING) {
		left_ms = elb_target_facts(target->object)->drain_until_ms - now_ms;
		wanted.state = PROXY_TARGET_DRAINING;
		wanted.drain_ms = clamp(left_ms, 1, PROXY_TIMEOUT_MAX_MS);
	} else if (any_healthy && target->state == ELB_TARGET_UNHEALTHY) {
		wanted.state = group->settings.unhealthy;
		wanted.drain_ms = group->settings.unhealthy_drain_ms;
	} else if (any_healthy && !is_healthy(target)) {
		wanted.state = PROXY_TARGET_DRAINING;
	}
	return wanted;
}

/* The ones to which traffic may go, each address once: of two targets with one, the one that does not drain. */
static void choose_wanted(struct plane_group *group, int64_t now_ms)
{
	_map_ struct map seen = {0};
	bool any_healthy = false;

	for (size_t i = 0; i < group->target_count; i++)
		any_healthy |= group->targets[i].has_address && is_healthy(&group->targets[i]);
	for (int drains = 0; drains < 2; drains++) {
		for (size_t i = 0; i < group->target_count; i++) {
			struct plane_target *target = &group->targets[i];
			char address[PROXY_ADDRESS_TEXT_SIZE];

			if (!target->has_address ||
				(target->state == ELB_TARGET_DRAINING) != drains)
				continue;
			proxy_address_format(&target->address, address);
			target->is_double = map_put(&seen, span_of(address), group) != NULL;
			if (!target->is_double)
				group->wanted[group->wanted_count++] =
					proxy_target_of(group, target, any_healthy, now_ms);
		}
	}
}

static void read_targets(struct elb_plane *plane, const struct store_view *view,
	struct plane_group *group, size_t most)
{
	struct store_cursor cursor = {
		.view = view, .kind = &elb_target_kind, .index = -1, .prefix = SPAN_NONE};
	const struct store_object *object;

	cursor.prefix = arena_format(group->arena, "%s/", group->key);
	while (group->target_count < most && (object = store_next(&cursor))) {
		struct plane_target *target = &group->targets[group->target_count++];

		target->object = store_object_ref(object);
		target->key = arena_copy_span(group->arena, object->key).data;
		target->has_address = read_address(plane, view, object, group->settings.instances,
			group->arena, &target->address);
		judge(plane, group, target);
		group->drains |= target->state == ELB_TARGET_DRAINING;
	}
}

/* ---- differences ---- */

/* How long a target may drain is said once. */
static bool same_wanted(const struct plane_group *a, const struct plane_group *b)
{
	if (a->wanted_count != b->wanted_count)
		return false;
	for (size_t i = 0; i < a->wanted_count; i++) {
		const struct proxy_target *x = &a->wanted[i], *y = &b->wanted[i];

		if (x->state != y->state || !proxy_address_equal(&x->address, &y->address))
			return false;
	}
	return true;
}

static bool is_checked(const struct plane_group *group, const struct plane_target *target)
{
	return group->settings.checked && target->has_address &&
	       target->state != ELB_TARGET_DRAINING;
}

static bool same_checks(const struct plane_group *a, const struct plane_group *b)
{
	size_t i = 0, k = 0;

	for (;; i++, k++) {
		while (i < a->target_count && !is_checked(a, &a->targets[i]))
			i++;
		while (k < b->target_count && !is_checked(b, &b->targets[k]))
			k++;
		if (i == a->target_count || k == b->target_count)
			return i == a->target_count && k == b->target_count;
		if (strcmp(a->targets[i].key, b->targets[k].key) != 0 ||
			!proxy_address_equal(&a->targets[i].address, &b->targets[k].address))
			return false;
	}
}

static void note_states(struct elb_plane *plane, const struct plane_group *group)
{
	for (size_t i = 0; i < group->target_count; i++) {
		const struct plane_target *target = &group->targets[i];
		const struct elb_target_facts *facts = elb_target_facts(target->object);

		if (facts->state != target->state || facts->reason != target->reason ||
			facts->code != target->code)
			plane_note_state(plane, target);
	}
}

void plane_group_read(struct elb_plane *plane, const struct store_view *view,
	struct plane_group *group)
{
	struct plane_group before = *group;
	bool others =
		read_settings(group, store_get(view, &elb_target_group_kind, span_of(group->key)));
	size_t most;

	group->arena = arena_new(0);
	group->target_count = group->wanted_count = 0;
	group->drains = false;
	most = store_count(view, &elb_target_kind, -1,
		arena_format(group->arena, "%s/", group->key), false);
	group->targets = arena_allocate_array(group->arena, most + 1, sizeof(*group->targets));
	group->wanted = arena_allocate_array(group->arena, most + 1, sizeof(*group->wanted));
	read_targets(plane, view, group, most);
	choose_wanted(group, runner_wall_ms(plane->runner));
	if (others || !before.arena || !same_wanted(&before, group)) {
		group->pending = group->drivers;
		plane->must_apply |= group->drivers;
	}
	if (others || !same_checks(&before, group))
		plane->must_check = true;
	if (group->drains && group->pending)
		plane->must_check_soon = true;
	note_states(plane, group);
	clear_targets(&before);
}

void plane_group_read_unused(struct elb_plane *plane, const struct store_view *view,
	struct span key)
{
	_arena_ struct arena *arena = arena_new(0);
	struct store_cursor cursor = {.view = view,
		.kind = &elb_target_kind,
		.index = -1,
		.prefix = arena_format(arena, "%.*s/", SPAN_ARGS(key))};
	struct plane_target target = {
		.state = ELB_TARGET_UNUSED, .reason = PROBE_REASON_NOT_IN_USE};

	while ((target.object = store_next(&cursor))) {
		const struct elb_target_facts *facts = elb_target_facts(target.object);

		if (facts->state == ELB_TARGET_DRAINING)
			plane_note_drained(plane, target.object);
		else if (facts->state != target.state || facts->reason != target.reason)
			plane_note_state(plane, &target);
	}
}

/* ---- health checks ---- */

int plane_groups_check(struct elb_plane *plane, struct err *err)
{
	_free_ struct probe_target *checks = NULL;
	size_t count = 0, most = 0;

	MAP_EACH (&plane->groups, entry)
		most += ((struct plane_group *)entry->value)->target_count;
	checks = memory_allocate_array(most + 1, sizeof(*checks));
	MAP_EACH (&plane->groups, entry) {
		const struct plane_group *group = entry->value;

		for (size_t i = 0; i < group->target_count; i++) {
			const struct plane_target *target = &group->targets[i];
			struct probe_target *check = &checks[count];
			in_port_t port = htons((uint16_t)group->settings.check_port);

			if (!is_checked(group, target))
				continue;
			count++;
			check->key = target->key;
			check->address = target->address;
			check->settings = group->settings.check;
			if (port && check->address.any.sa_family == AF_INET6)
				check->address.v6.sin6_port = port;
			else if (port)
				check->address.v4.sin_port = port;
		}
	}
	return prober_set(plane->prober, checks, count, err);
}

/* ---- draining ---- */

/* Over all drivers: a group may be known to more than one. */
static uint64_t count_active(const struct proxy_report *report, const struct plane_group *group,
	const union proxy_address *address)
{
	uint64_t active = 0;

	for (size_t i = 0; i < report->group_count; i++) {
		const struct proxy_group_report *known = &report->groups[i];

		if (strcmp(known->name, group->key) != 0)
			continue;
		for (size_t k = 0; k < known->target_count; k++) {
			if (proxy_address_equal(&known->targets[k].address, address))
				active += known->targets[k].counters.active;
		}
	}
	return active;
}

/* Nothing of it is open any more, or it was deleted. */
static bool has_gone(const struct plane_group *group, const struct proxy_report *report)
{
	if (!group->lingers)
		return false;
	if (group->settings.revision == 0)
		return true;
	for (size_t i = 0; i < report->group_count; i++) {
		if (strcmp(report->groups[i].name, group->key) == 0 &&
			report->groups[i].counters.active > 0)
			return false;
	}
	return !group->pending;
}

/* Its targets are unused from now on, which is written by the next pass. */
static void forget_group(struct elb_plane *plane, struct plane_group *group)
{
	plane_mark(&plane->dirty_groups, span_of(group->key));
	plane->must_apply |= group->drivers;
	plane->must_check = true;
	map_remove(&plane->groups, span_of(group->key));
	plane_group_free(group);
	runner_signal(plane->event);
}

static void inspect_group(struct elb_plane *plane, const struct plane_group *group,
	const struct proxy_report *report, int64_t now_ms, int64_t *next_ms)
{
	for (size_t i = 0; i < group->target_count; i++) {
		const struct plane_target *target = &group->targets[i];
		int64_t until_ms = elb_target_facts(target->object)->drain_until_ms;

		if (target->state != ELB_TARGET_DRAINING)
			continue;
		if (until_ms <= now_ms || !target->has_address || target->is_double ||
			(!group->pending && count_active(report, group, &target->address) == 0))
			plane_note_drained(plane, target->object);
		else if (until_ms - now_ms < *next_ms)
			*next_ms = until_ms - now_ms;
	}
}

int64_t plane_groups_drain(struct elb_plane *plane)
{
	_arena_ struct arena *arena = NULL;
	struct proxy_report report = {0};
	int64_t now_us = runner_now_us(plane->runner);
	int64_t next_ms = PLANE_DRAIN_POLL_MAX_MS;
	bool any = false;

	if (plane->must_check_soon) {
		plane->drain_poll_ms = PLANE_DRAIN_POLL_FIRST_MS;
		plane->drain_poll_us = now_us;
	}
	plane->must_check_soon = false;
	MAP_EACH (&plane->groups, entry) {
		const struct plane_group *group = entry->value;

		any |= group->drains || group->lingers;
	}
	if (!any)
		return RUNNER_FOREVER;
	if (now_us < plane->drain_poll_us)
		return plane->drain_poll_us;
	arena = arena_new(0);
	proxy_report(plane->config.proxy, arena, &report);
	MAP_EACH (&plane->groups, entry) {
		struct plane_group *group = entry->value;

		if (has_gone(group, &report))
			forget_group(plane, group);
		else if (group->drains)
			inspect_group(plane, group, &report, runner_wall_ms(plane->runner),
				&next_ms);
	}
	if (plane->drain_poll_ms < next_ms)
		next_ms = plane->drain_poll_ms;
	plane->drain_poll_ms *= 2;
	if (plane->drain_poll_ms > PLANE_DRAIN_POLL_MAX_MS)
		plane->drain_poll_ms = PLANE_DRAIN_POLL_MAX_MS;
	plane->drain_poll_us = runner_deadline_us(plane->runner, next_ms * 1000);
	return plane->drain_poll_us;
}
