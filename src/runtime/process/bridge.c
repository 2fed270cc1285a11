/*
 * The bridge of tasks with a network of their own. Each state folder has one, named after it, so
 * that servers of one machine do not collide; its network has no route on this machine. It is
 * created with the first task that needs it, found by its name after a restart, and removed when
 * the runtime closes and no task is left.
 */
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process/netlink.h"
#include "runtime/process/process_internal.h"

#define PREFIX 20 /* 4093 tasks */
#define ATTEMPTS 512
#define CHOOSING_NAME "slipway-network"
#define CHOOSING_ATTEMPTS 5000 /* a millisecond each */

/* Private networks, the least used first. */
static const struct {
	uint32_t network;
	unsigned prefix;
} ranges[] = {
	{0x0a000000u, 8},  /* 10.0.0.0/8 */
	{0xac100000u, 12}, /* 172.16.0.0/12 */
	{0x64400000u, 10}, /* 100.64.0.0/10 */
};

static uint32_t hash_of_folder(const char *folder)
{
	char path[PATH_MAX];
	uint64_t hash = span_hash(span_of(realpath(folder, path) ? path : folder));

	return (uint32_t)(hash ^ hash >> 32);
}

void process_bridge_name(const char *folder, char name[NETLINK_NAME_MAX])
{
	snprintf(name, NETLINK_NAME_MAX, "sw%08x", (unsigned)hash_of_folder(folder));
}

/* One server at a time chooses a network. The name of a socket without a file is free again when its
 * holder ends, however that happens. */
static int begin_choosing(int *ret_held)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timespec moment = {.tv_nsec = 1000 * 1000};
	_close_ int held = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (held < 0)
		return -errno;
	memcpy(address.sun_path + 1, CHOOSING_NAME, strlen(CHOOSING_NAME));
	for (int i = 0; i < CHOOSING_ATTEMPTS; i++) {
		if (bind(held, (struct sockaddr *)&address,
			    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
					strlen(CHOOSING_NAME))) == 0) {
			*ret_held = TAKE_FD(held);
			return 0;
		}
		if (errno != EADDRINUSE)
			return -errno;
		nanosleep(&moment, NULL);
	}
	return -EADDRINUSE;
}

static int choose_network(int netlink, uint32_t hash, uint32_t *ret_network)
{
	for (size_t i = 0; i < LENGTH(ranges); i++)
		for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
			uint32_t count = 1u << (PREFIX - ranges[i].prefix);
			uint32_t network = ranges[i].network | (hash + attempt) % count
								       << (32 - PREFIX);
			bool is_free = false;
			int code = netlink_is_free(netlink, network, PREFIX, &is_free);

			if (code < 0)
				return code;
			if (is_free) {
				*ret_network = network;
				return 0;
			}
		}
	return -EADDRNOTAVAIL;
}

static int make(struct process_runtime *runtime, int netlink, const char *name, int *ret_index)
{
	uint32_t hash = hash_of_folder(runtime->folder);
	uint8_t mac[6] = {0x02, 0x73, (uint8_t)(hash >> 24), (uint8_t)(hash >> 16),
		(uint8_t)(hash >> 8), (uint8_t)hash};
	int code = netlink_make_bridge(netlink, name, runtime->folder, mac);

	return code < 0 && code != -EEXIST ? code : netlink_find(netlink, name, ret_index);
}

static int give_address(int netlink, const char *folder, int index)
{
	_close_ int held = -1;
	uint32_t network = 0;
	int code = begin_choosing(&held);

	if (code == 0)
		code = choose_network(netlink, hash_of_folder(folder), &network);
	if (code == 0)
		code = netlink_add_address(netlink, index, network + 1, PREFIX);
	return code;
}

int process_bridge_make(struct process_runtime *runtime, struct plan_link *ret_link)
{
	struct plan_link link = {0};
	_close_ int netlink = -1;
	int index, code = netlink_open(&netlink);

	if (code < 0)
		return code;
	process_bridge_name(runtime->folder, link.bridge);
	code = netlink_find(netlink, link.bridge, &index);
	if (code == -ENODEV)
		code = make(runtime, netlink, link.bridge, &index);
	if (code < 0)
		return code;
	code = netlink_get_address(netlink, index, &link.gateway, &link.prefix);
	if (code == -ENOENT) {
		code = give_address(netlink, runtime->folder, index);
		if (code == 0)
			code = netlink_set_up(netlink, index);
		if (code == 0)
			code = netlink_get_address(netlink, index, &link.gateway, &link.prefix);
	}
	if (code < 0)
		return code;
	if (link.prefix != PREFIX)
		return -EADDRNOTAVAIL; /* another process changed it */
	*ret_link = link;
	return 0;
}

void process_bridge_remove(const char *folder)
{
	char name[NETLINK_NAME_MAX];
	_close_ int netlink = -1;

	process_bridge_name(folder, name);
	if (geteuid() == 0 && netlink_open(&netlink) == 0)
		netlink_remove(netlink, name);
}
