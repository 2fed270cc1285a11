/* See the header. */
#include "runtime/kubernetes/plan.h"

#include "base/memory.h"

int64_t kubernetes_hold(const struct json *spec)
{
	int64_t hold = json_get_integer(spec, "holdSeconds", 0);

	if (hold < 0)
		return 0;
	return hold < KUBERNETES_HOLD_MAX ? hold : KUBERNETES_HOLD_MAX;
}

int64_t kubernetes_stop_timeout(const struct json *spec)
{
	int64_t longest = 1;

	JSON_EACH_ITEM (json_get(spec, "containers"), container) {
		int64_t own = json_get_integer(container, "stopTimeout", KUBERNETES_STOP_TIMEOUT);

		if (own > longest)
			longest = own;
	}
	return longest < KUBERNETES_HOLD_MAX ? longest : KUBERNETES_HOLD_MAX;
}

bool kubernetes_restarts(const struct json *container)
{
	return json_get_bool(json_get(container, "restartPolicy"), "enabled", false);
}

bool kubernetes_has_health(const struct json *container)
{
	const struct json *command = json_path(container, "healthCheck.command");
	struct span kind = json_text(json_item(command, 0));

	return kind.data && !span_is(kind, "NONE");
}

static struct json *write_health(struct arena *arena, const struct json *check)
{
	static const struct {
		const char *name;
		int64_t otherwise;
	} members[] = {
		{"interval", KUBERNETES_HEALTH_INTERVAL},
		{"timeout", KUBERNETES_HEALTH_TIMEOUT},
		{"retries", KUBERNETES_HEALTH_RETRIES},
		{"startPeriod", 0},
	};
	struct json *list = json_new_array(arena);

	for (size_t i = 0; i < LENGTH(members); i++)
		json_append(arena, list,
			json_new_integer(arena,
				json_get_integer(check, members[i].name, members[i].otherwise)));
	return list;
}

static struct json *write_restart(struct arena *arena, const struct json *policy)
{
	struct json *list = json_new_array(arena);

	json_append(arena, list,
		json_new_integer(arena, json_get_integer(policy, "restartAttemptPeriod",
						KUBERNETES_RESTART_PERIOD)));
	JSON_EACH_ITEM (json_get(policy, "ignoredExitCodes"), code)
		json_append(arena, list, code);
	return list;
}

static struct json *write_ports(struct arena *arena, const struct json *mappings)
{
	struct json *list = json_new_array(arena);

	JSON_EACH_ITEM (mappings, mapping) {
		struct json *port = json_new_array(arena);
		struct span protocol = json_get_text(mapping, "protocol");

		json_append(arena, port,
			json_new_integer(arena, json_get_integer(mapping, "containerPort", 0)));
		json_append(arena, port,
			json_new_integer(arena, json_get_integer(mapping, "hostPort", 0)));
		json_append(arena, port,
			json_new_string(arena, protocol.data ? protocol : SPAN("tcp")));
		json_append(arena, list, port);
	}
	return list;
}

static struct json *write_container(struct arena *arena, const struct json *container,
	const struct kubernetes_start_order *order, size_t index, struct span name)
{
	struct json *built = json_new_object(arena);

	json_set_string(arena, built, "name", json_get_text(container, "name"));
	json_set_string(arena, built, "as", name);
	if (json_get_bool(container, "essential", true))
		json_set_bool(arena, built, "essential", true);
	if (order->is_initial[index])
		json_set_bool(arena, built, "initial", true);
	if (order->any_exit[index])
		json_set_bool(arena, built, "anyExit", true);
	if (kubernetes_has_health(container) && !order->is_initial[index])
		json_set(arena, built, "health",
			write_health(arena, json_get(container, "healthCheck")));
	if (kubernetes_restarts(container))
		json_set(arena, built, "restart",
			write_restart(arena, json_get(container, "restartPolicy")));
	if (json_count(json_get(container, "portMappings")) > 0)
		json_set(arena, built, "ports",
			write_ports(arena, json_get(container, "portMappings")));
	return built;
}

struct json *kubernetes_plan_write(struct arena *arena, const struct json *spec,
	const struct kubernetes_start_order *order, const struct span *names)
{
	const struct json *containers = json_get(spec, "containers");
	struct json *built = json_new_object(arena), *list = json_new_array(arena);
	struct span network = json_get_text(spec, "networkMode");
	int64_t hold = kubernetes_hold(spec);

	for (size_t i = 0; i < json_count(containers); i++)
		json_append(arena, list,
			write_container(arena, json_item(containers, i), order, i, names[i]));
	if (hold > 0)
		json_set_integer(arena, built, "hold", hold);
	json_set_integer(arena, built, "stop", kubernetes_stop_timeout(spec));
	json_set_string(arena, built, "network", network.data ? network : SPAN("bridge"));
	json_set(arena, built, "containers", list);
	return built;
}
