/* See canary_status.h. */
#include "release/canary_status.h"

#include "base/clock.h"
#include "base/memory.h"

static const char *const side_names[] = {"stable", "canary"};

/* ---- conditions ---- */

static struct json *make_condition(struct arena *arena, const struct json *before,
	const struct canary_condition *condition, int64_t generation, int64_t now_ms)
{
	struct span status = condition->status ? SPAN("True") : SPAN("False");
	struct json *object = json_new_object(arena);
	char now[CLOCK_ISO_SIZE];

	clock_format_iso(now_ms, now);
	json_set_string(arena, object, "type", span_of(condition->type));
	json_set_string(arena, object, "status", status);
	json_set_string(arena, object, "reason", span_of(condition->reason));
	/* Debian's Kubernetes 1.20 rejects an empty one: 'must be of type string: "null"'. */
	if (condition->message.length > 0)
		json_set_string(arena, object, "message", condition->message);
	json_set_string(arena, object, "lastTransitionTime",
		span_equal(json_get_text(before, "status"), status)
			? json_get_text(before, "lastTransitionTime")
			: span_of(now));
	json_set_integer(arena, object, "observedGeneration", generation);
	return object;
}

const struct json *canary_set_condition(struct arena *arena, const struct json *conditions,
	const struct canary_condition *condition, int64_t generation, int64_t now_ms)
{
	struct json *list = json_new_array(arena);
	bool found = false;

	JSON_EACH_ITEM (conditions, each) {
		bool same = span_is(json_get_text(each, "type"), condition->type);

		found = found || same;
		json_append(arena, list,
			same ? make_condition(arena, each, condition, generation, now_ms) : each);
	}
	if (!found)
		json_append(arena, list,
			make_condition(arena, NULL, condition, generation, now_ms));
	return list;
}

/* ---- reports ---- */

static const struct json *find_port(const struct json *report, struct span service, int64_t number,
	bool udp)
{
	JSON_EACH_ITEM (json_get(report, "ports"), port)
		if (span_equal(json_get_text(port, "service"), service) &&
			json_get_integer(port, "port", 0) == number &&
			span_is(json_get_text(port, "transport"), "UDP") == udp)
			return port;
	return NULL;
}

bool canary_proxies_serve(const struct canary *canary, const struct canary_pod *pods, size_t count,
	const struct canary_proxied_service *service)
{
	int64_t serving = 0;

	for (size_t i = 0; i < count; i++) {
		const struct json *report = json_get_span(canary->proxies, pods[i].name);
		bool all = pods[i].ready && report;

		for (size_t j = 0; all && j < service->port_count; j++)
			all = find_port(report, service->name, service->ports[j].port,
				service->ports[j].udp);
		serving += all;
	}
	return serving >= canary->proxy_replicas;
}

bool canary_proxies_drained(const struct canary *canary, const struct canary_pod *pods,
	size_t count)
{
	for (size_t i = 0; i < count; i++)
		JSON_EACH_ITEM (json_get(json_get_span(canary->proxies, pods[i].name), "ports"),
			port)
			if (json_get_integer(port, "weightPermille", 0) != 0 ||
				json_get_integer(json_get(port, "canary"), "active", 0) != 0)
				return false;
	return true;
}

struct span canary_bad_certificate(const struct canary *canary, const struct canary_pod *pods,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct span problem = json_get_text(json_get_span(canary->proxies, pods[i].name),
			"badCertificate");

		if (problem.length > 0)
			return problem;
	}
	return SPAN("");
}

/* Counters of several replicas; of the time of answers the longest. */
static const struct json *sum_side(struct arena *arena, const struct json *sum,
	const struct json *side)
{
	struct json *result = sum ? json_copy_object(arena, sum) : json_new_object(arena);

	for (uint32_t i = 0; json_is(side, JSON_OBJECT) && i < side->object.count; i++) {
		const struct json_member *member = &side->object.members[i];
		const char *name = arena_copy(arena, member->name.data, member->name.length);
		const struct json *before = json_get(sum, name);
		int64_t value = 0, other = 0;

		if (json_is(member->value, JSON_OBJECT)) {
			json_set(arena, result, name, sum_side(arena, before, member->value));
			continue;
		}
		json_integer(member->value, &value);
		json_integer(before, &other);
		if (span_is(member->name, "responseMs"))
			json_set_integer(arena, result, name, value > other ? value : other);
		else
			json_set_integer(arena, result, name, value + other);
	}
	return result;
}

static const struct json *weight_of(struct arena *arena, int64_t permille)
{
	return permille % 10 ? json_new_double(arena, (double)permille / 10)
			     : json_new_integer(arena, permille / 10);
}

static struct json *port_traffic(struct arena *arena, const struct canary *canary,
	struct span service, const struct canary_proxied_port *port, const struct canary_pod *pods,
	size_t count, bool *degraded)
{
	struct json *entry = json_new_object(arena);
	int64_t effective = -1;
	bool agreed = true;

	json_set_string(arena, entry, "service", service);
	json_set_integer(arena, entry, "port", port->port);
	json_set_string(arena, entry, "transport", port->udp ? SPAN("UDP") : SPAN("TCP"));
	json_set(arena, entry, "weight", weight_of(arena, canary_share(canary, service, port)));
	for (size_t i = 0; i < count; i++) {
		const struct json *report = find_port(json_get_span(canary->proxies, pods[i].name),
			service, port->port, port->udp);
		int64_t share = json_get_integer(report, "effectivePermille", -1);

		for (size_t side = 0; report && side < LENGTH(side_names); side++)
			json_set(arena, entry, side_names[side],
				sum_side(arena, json_get(entry, side_names[side]),
					json_get(report, side_names[side])));
		if (!report || !pods[i].ready)
			continue;
		agreed = agreed && (effective < 0 || effective == share);
		effective = share;
		*degraded = *degraded || share != json_get_integer(report, "weightPermille", share);
	}
	if (agreed && effective >= 0)
		json_set(arena, entry, "effectiveWeight", weight_of(arena, effective));
	return entry;
}

const struct json *canary_traffic(struct arena *arena, const struct canary *canary,
	const struct canary_pod *pods, size_t count, bool *ret_degraded)
{
	struct json *list = json_new_array(arena);

	*ret_degraded = false;
	for (size_t i = 0; i < canary->proxied_count; i++)
		for (size_t j = 0; j < canary->proxied[i].port_count; j++)
			json_append(arena, list,
				port_traffic(arena, canary, canary->proxied[i].name,
					&canary->proxied[i].ports[j], pods, count, ret_degraded));
	return list;
}

const struct json *canary_prune_reports(struct arena *arena, const struct canary *canary,
	const struct canary_pod *pods, size_t count)
{
	struct json *patch = json_new_object(arena);

	for (uint32_t i = 0;
		json_is(canary->proxies, JSON_OBJECT) && i < canary->proxies->object.count; i++) {
		struct span name = canary->proxies->object.members[i].name;
		bool exists = false;

		for (size_t j = 0; j < count; j++)
			exists = exists || span_equal(pods[j].name, name);
		if (!exists)
			json_set(arena, patch, arena_copy(arena, name.data, name.length),
				json_new_null(arena));
	}
	return json_count(patch) > 0 ? patch : NULL;
}

/* ---- changes ---- */

const struct json *canary_status_change(struct arena *arena, const struct json *status,
	const struct json *patch)
{
	struct json *change = json_new_object(arena);

	for (uint32_t i = 0; i < patch->object.count; i++) {
		const struct json_member *member = &patch->object.members[i];
		const struct json *now = json_get_span(status, member->name);
		bool same = json_is_absent(member->value) ? json_is_absent(now)
							  : now && json_equal(now, member->value);

		/* Members of a patch for a map are changes, too. */
		if (!same)
			json_set(arena, change,
				arena_copy(arena, member->name.data, member->name.length),
				member->value);
	}
	return json_count(change) > 0 ? change : NULL;
}
