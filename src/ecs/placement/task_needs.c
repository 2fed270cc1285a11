/* See the header. */
#include "ecs/placement/task_needs.h"
#include <stdio.h>

#include "ecs/definition/task_size.h"

#define PORT_MOST 65535

static const struct json *override_of(const struct json *overrides, struct span container)
{
	JSON_EACH_ITEM (json_get(overrides, "containerOverrides"), item)
		if (span_equal(json_get_text(item, "name"), container))
			return item;
	return NULL;
}

/* A number of the container as overridden. */
static int64_t number_of(const struct json *container, const struct json *override,
	const char *name)
{
	return json_get_integer(override, name, json_get_integer(container, name, 0));
}

static int read_size(const struct json *document, const struct json *overrides, const char *name,
	bool (*read)(struct span text, int64_t *ret_value), int64_t *ret_value, struct err *err)
{
	struct span text = json_get_text(overrides, name);

	if (!text.data)
		text = json_get_text(document, name);
	*ret_value = 0;
	if (text.data && !read(text, ret_value))
		return err_set(err, -EINVAL, "Invalid '%s' setting for task: '%.*s'", name,
			SPAN_ARGS(text));
	return 0;
}

static int add_port(struct task_needs *needs, int64_t port, bool udp, struct err *err)
{
	if (port <= 0 || port > PORT_MOST)
		return 0;
	if (needs->port_count == TASK_PORTS_MAX)
		return err_set(err, -E2BIG, "the task holds more than %d fixed host ports",
			TASK_PORTS_MAX);
	needs->ports[needs->port_count].port = (uint16_t)port;
	needs->ports[needs->port_count++].udp = udp;
	return 0;
}

/* On the host's own network a container holds what it listens on; on a bridge, what it asks for. */
static int read_mapping(const struct json *mapping, bool host, struct task_needs *needs,
	struct err *err)
{
	struct span range = json_get_text(mapping, "containerPortRange"), from, to;
	bool udp = span_is(json_get_text(mapping, "protocol"), "udp");
	uint64_t first, last;

	if (!host)
		return add_port(needs, json_get_integer(mapping, "hostPort", 0), udp, err);
	if (!range.data)
		return add_port(needs, json_get_integer(mapping, "containerPort", 0), udp, err);
	if (!span_split(range, '-', &from, &to) || !span_to_unsigned(from, PORT_MOST, &first) ||
		!span_to_unsigned(to, PORT_MOST, &last))
		return err_set(err, -EINVAL, "'%.*s' is not a range of ports", SPAN_ARGS(range));
	for (uint64_t port = first; port <= last; port++) {
		int code = add_port(needs, (int64_t)port, udp, err);

		if (code < 0)
			return code;
	}
	return 0;
}

static void write_ports(struct task_needs *needs, struct arena *arena)
{
	_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < needs->port_count; i++)
		buffer_format(&text, "%s%u/%s", i ? "," : "", needs->ports[i].port,
			needs->ports[i].udp ? "udp" : "tcp");
	needs->ports_text = arena_copy_span(arena, buffer_span(&text));
}

int task_needs_read(const struct json *document, const struct json *overrides, struct arena *arena,
	struct task_needs *ret_needs, struct err *err)
{
	struct span mode = json_get_text(document, "networkMode");
	struct task_needs needs = {
		.attributes = json_get(document, "requiresAttributes"),
		.constraints = json_get(document, "placementConstraints"),
		.network_mode = mode.data ? mode : SPAN("bridge"),
		.ports_text = SPAN(""),
	};
	bool host = span_is(mode, "host");
	bool holds_ports = host || span_is(needs.network_mode, "bridge");
	int64_t cpu = 0, memory = 0;
	int code = read_size(document, overrides, "cpu", task_size_read_cpu, &needs.cpu, err);

	if (code == 0)
		code = read_size(document, overrides, "memory", task_size_read_memory,
			&needs.memory, err);
	if (code < 0)
		return code;
	JSON_EACH_ITEM (json_get(document, "containerDefinitions"), container) {
		const struct json *override =
			override_of(overrides, json_get_text(container, "name"));
		int64_t soft = number_of(container, override, "memoryReservation");

		cpu += number_of(container, override, "cpu");
		memory += soft > 0 ? soft : number_of(container, override, "memory");
		needs.checked |= json_get_bool(container, "essential", true) &&
				 !json_is_absent(json_get(container, "healthCheck"));
		if (!holds_ports)
			continue;
		JSON_EACH_ITEM (json_get(container, "portMappings"), mapping) {
			code = read_mapping(mapping, host, &needs, err);
			if (code < 0)
				return code;
		}
	}
	if (needs.cpu == 0)
		needs.cpu = cpu;
	if (needs.memory == 0)
		needs.memory = memory;
	if (needs.port_count > 0)
		write_ports(&needs, arena);
	*ret_needs = needs;
	return 0;
}
