/* Rules for port mappings: numbers, ranges, names, and what the network mode leaves free. */
#include "ecs/definition/definition_rules.h"

#define PORT_MAX 65535
#define PORT_MAPPINGS_MAX 100

static bool shares_host_network(const struct definition_rules *rules)
{
	return span_is(rules->network_mode, "awsvpc") || span_is(rules->network_mode, "host");
}

static bool is_range(struct span text)
{
	struct span from, to;
	uint64_t first, last;

	return span_split(text, '-', &from, &to) && span_to_unsigned(from, PORT_MAX, &first) &&
	       span_to_unsigned(to, PORT_MAX, &last) && first > 0 && first < last;
}

static bool is_port_name(struct span text)
{
	if (text.length == 0 || text.length > 64)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];
		bool inner = c == '-' || c == '_';

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (inner && i > 0)))
			return false;
	}
	return true;
}

static int check_mapping(const struct definition_rules *rules, const struct json *mapping,
	struct span name)
{
	struct span range = json_get_text(mapping, "containerPortRange");
	struct span port_name = json_get_text(mapping, "name");
	int64_t container_port = json_get_integer(mapping, "containerPort", 0);
	int64_t host_port = json_get_integer(mapping, "hostPort", 0);

	if (range.data && !is_range(range))
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. 'containerPortRange' must be "
			"like 8000-8010.",
			SPAN_ARGS(name));
	if (range.data && (container_port || host_port))
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. 'containerPortRange' excludes "
			"'containerPort' and 'hostPort'.",
			SPAN_ARGS(name));
	if (!range.data && container_port < 1)
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. 'containerPort' must be "
			"between 1 and %d.",
			SPAN_ARGS(name), PORT_MAX);
	if (shares_host_network(rules) && host_port != 0 && host_port != container_port)
		return rule_broken(rules,
			"When networkMode=%.*s, the host ports and container ports in port "
			"mappings must match.",
			SPAN_ARGS(rules->network_mode));
	if (port_name.data && !is_port_name(port_name))
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. Port name '%.*s' must be 1 to "
			"64 lower-case letters, digits, hyphens and underscores and begin "
			"with a letter or digit.",
			SPAN_ARGS(name), SPAN_ARGS(port_name));
	if (!port_name.data && json_get_text(mapping, "appProtocol").data)
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. 'appProtocol' needs the port "
			"mapping to have a 'name'.",
			SPAN_ARGS(name));
	return 0;
}

int definition_check_ports(const struct definition_rules *rules, const struct json *container)
{
	const struct json *mappings = json_get(container, "portMappings");
	struct span name = container_name(container);

	if (json_count(mappings) > PORT_MAPPINGS_MAX)
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. It has %zu port mappings, the "
			"limit is %d.",
			SPAN_ARGS(name), json_count(mappings), PORT_MAPPINGS_MAX);
	if (json_count(mappings) > 0 && span_is(rules->network_mode, "none"))
		return rule_broken(rules,
			"Invalid setting for container '%.*s'. Port mappings are not "
			"supported when networkMode=none.",
			SPAN_ARGS(name));
	JSON_EACH_ITEM (mappings, mapping)
		if (check_mapping(rules, mapping, name) < 0)
			return -EPERM;
	return 0;
}

/* The port on the host (or on the task's address) that a mapping holds; 0: none in particular. */
static int64_t port_held(const struct definition_rules *rules, const struct json *mapping)
{
	if (shares_host_network(rules))
		return json_get_integer(mapping, "containerPort", 0);
	return json_get_integer(mapping, "hostPort", 0);
}

static bool is_udp(const struct json *mapping)
{
	return span_is(json_get_text(mapping, "protocol"), "udp");
}

static int check_against(const struct definition_rules *rules, const struct json *container,
	const struct json *mapping, const struct json *other_container, const struct json *other)
{
	struct span name = json_get_text(mapping, "name");
	int64_t port = port_held(rules, mapping);

	if (port != 0 && port == port_held(rules, other) && is_udp(mapping) == is_udp(other))
		return rule_broken(rules,
			"Containers '%.*s' and '%.*s' both use host port %lld/%s.",
			SPAN_ARGS(container_name(other_container)),
			SPAN_ARGS(container_name(container)), (long long)port,
			is_udp(mapping) ? "udp" : "tcp");
	if (name.data && span_equal(name, json_get_text(other, "name")))
		return rule_broken(rules, "Port name '%.*s' is used more than once.",
			SPAN_ARGS(name));
	return 0;
}

/* Every pair once: each mapping against those before it. The request's size bounds the work. */
int definition_check_port_conflicts(const struct definition_rules *rules)
{
	JSON_EACH_ITEM (rules->containers, container)
		JSON_EACH_ITEM (json_get(container, "portMappings"), mapping)
			JSON_EACH_ITEM (rules->containers, other_container) {
				JSON_EACH_ITEM (json_get(other_container, "portMappings"), other) {
					if (other == mapping)
						break;
					if (check_against(rules, container, mapping,
						    other_container, other) < 0)
						return -EPERM;
				}
				if (other_container == container)
					break;
			}
	return 0;
}
