/*
 * Interfaces, addresses and routes by messages to the kernel (rtnetlink): what the command `ip` does,
 * without a process each. A socket speaks for the network namespace that it was opened in, whatever
 * namespace its owner has entered since.
 */
#ifndef RUNTIME_PROCESS_NETLINK_H
#define RUNTIME_PROCESS_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETLINK_MESSAGE_MAX 1024
#define NETLINK_NAME_MAX 16   /* with the NUL, the kernel's */
#define NETLINK_ALIAS_MAX 255 /* the kernel's */

/* All return 0 or a negative code. */
int netlink_open(int *ret_socket);

/* -ENODEV: there is none. */
int netlink_find(int socket, const char *name, int *ret_index);
int netlink_remove(int socket, const char *name);
int netlink_make_bridge(int socket, const char *name, const char *alias, const uint8_t mac[6]);
/* A pair: `name` here, up, a port of the bridge; `inside` in the namespace of that descriptor. */
int netlink_make_pair(int socket, const char *name, int bridge, const char *inside,
	const uint8_t mac[6], int inside_namespace);
int netlink_set_up(int socket, int index);
/* Addresses are in host order. */
int netlink_add_address(int socket, int index, uint32_t address, unsigned prefix);
int netlink_add_default_route(int socket, uint32_t gateway);
/* The first IPv4 address of an interface. -ENOENT: it has none. */
int netlink_get_address(int socket, int index, uint32_t *ret_address, unsigned *ret_prefix);
/* True if no address and no route but the default one has anything in common with the network. */
int netlink_is_free(int socket, uint32_t network, unsigned prefix, bool *ret_free);
/* True if an interface is a port of the bridge. */
int netlink_has_ports(int socket, int bridge, bool *ret_has_ports);
/* True once a port of a bridge passes frames on. */
int netlink_forwards(int socket, const char *name, bool *ret_forwards);

#endif
