/*
 * Addresses and ports of tasks. An address is one of 127.64.0.0/10, which every Linux machine
 * answers on its loopback interface; a port is one that is not bound on any address now and that no
 * task here has. A task with a network of its own has an address of the bridge's network, and the
 * loopback one in case the kernel does not allow the network.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process/process_internal.h"

#define ADDRESS_FIRST 0x7f400000u /* 127.64.0.0 */
#define ADDRESS_BITS 22
#define ATTEMPTS 4096

static bool address_is_taken(const struct process_runtime *runtime, const char *address)
{
	MAP_EACH (&runtime->tasks, entry) {
		const struct process_task *task = entry->value;

		if (!task->has_ended && strcmp(task->address, address) == 0)
			return true;
	}
	return false;
}

static int choose_address(struct process_runtime *runtime, struct plan *plan, struct arena *arena,
	struct err *err)
{
	uint64_t hash = span_hash(plan->token);

	for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
		uint32_t number = (uint32_t)(hash + attempt) & ((1u << ADDRESS_BITS) - 1);
		struct in_addr address = {.s_addr = htonl(ADDRESS_FIRST + number)};
		char text[INET_ADDRSTRLEN];

		/* No .0 and .255, which some programs take for network addresses. */
		if ((number & 0xff) == 0 || (number & 0xff) == 0xff ||
			!inet_ntop(AF_INET, &address, text, sizeof(text)) ||
			address_is_taken(runtime, text))
			continue;
		plan->address = span_of(arena_copy_string(arena, text));
		return 0;
	}
	return err_set(err, -EAGAIN, "no address is free for the task");
}

static bool link_is_taken(const struct process_runtime *runtime, uint32_t address)
{
	MAP_EACH (&runtime->tasks, entry) {
		const struct process_task *task = entry->value;

		if (!task->has_ended && task->link_address == address)
			return true;
	}
	return false;
}

void process_prepare_network(struct process_runtime *runtime, struct plan *plan)
{
	plan->plain = runtime->plain;
	if (plan->plain || geteuid() != 0 || plan->network != PLAN_NETWORK_AWSVPC)
		return;
	/* Without a bridge the task runs without a network of its own, and the supervisor notes it. */
	lock_take(&runtime->making_bridge);
	if (process_bridge_make(runtime, &plan->link) < 0)
		plan->link = (struct plan_link){0};
	lock_release(&runtime->making_bridge);
}

static void choose_link(struct process_runtime *runtime, struct plan *plan)
{
	uint32_t hash = (uint32_t)span_hash(plan->token);
	uint32_t hosts = 1u << (32 - plan->link.prefix);
	uint32_t network = plan->link.gateway & ~(hosts - 1);

	for (uint32_t attempt = 0; attempt < hosts; attempt++) {
		uint32_t number = (hash + attempt) % hosts;

		plan->link.address = network + number;
		if (number != 0 && number != hosts - 1 &&
			plan->link.address != plan->link.gateway &&
			!link_is_taken(runtime, plan->link.address))
			return;
	}
	plan->link = (struct plan_link){0};
}

static bool port_is_taken(const struct process_runtime *runtime, const struct plan *plan,
	uint16_t port)
{
	for (size_t i = 0; i < plan->container_count; i++)
		for (size_t j = 0; j < plan->containers[i].port_count; j++)
			if (plan->containers[i].ports[j].host_port == port)
				return true;
	MAP_EACH (&runtime->tasks, entry) {
		const struct process_task *task = entry->value;

		for (size_t i = 0; !task->has_ended && i < task->port_count; i++)
			if (task->ports[i] == port)
				return true;
	}
	return false;
}

static int ask_kernel(bool udp, uint16_t *ret_port, struct err *err)
{
	_close_ int descriptor =
		socket(AF_INET, (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof(address);

	if (descriptor < 0)
		return err_errno(err, "make a socket");
	if (bind(descriptor, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		getsockname(descriptor, (struct sockaddr *)&address, &length) < 0)
		return err_errno(err, "find a free port");
	*ret_port = ntohs(address.sin_port);
	return 0;
}

static int choose_port(struct process_runtime *runtime, const struct plan *plan, bool udp,
	uint16_t *ret_port, struct err *err)
{
	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		uint16_t port;
		int code = ask_kernel(udp, &port, err);

		if (code < 0)
			return code == -EINVAL ? -EIO : code;
		if (port_is_taken(runtime, plan, port))
			continue;
		*ret_port = port;
		return 0;
	}
	return err_set(err, -EAGAIN, "no port is free for the task");
}

int process_choose_network(struct process_runtime *runtime, struct plan *plan, struct arena *arena,
	struct err *err)
{
	int code = 0;

	if (plan->network == PLAN_NETWORK_AWSVPC || plan->network == PLAN_NETWORK_BRIDGE)
		code = choose_address(runtime, plan, arena, err);
	if (plan->link.bridge[0])
		choose_link(runtime, plan);
	for (size_t i = 0; code == 0 && i < plan->container_count; i++)
		for (size_t j = 0; code == 0 && j < plan->containers[i].port_count; j++) {
			struct plan_port *port = &plan->containers[i].ports[j];

			if (port->host_port == 0)
				code = choose_port(runtime, plan, port->udp, &port->host_port, err);
		}
	return code;
}
