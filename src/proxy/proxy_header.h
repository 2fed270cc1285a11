/* The PROXY protocol, version 2, which passes the client's address to a target. */
#ifndef PROXY_PROXY_HEADER_H
#define PROXY_PROXY_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "proxy/proxy.h"

#define PROXY_HEADER_MAX 52 /* 16 and two IPv6 addresses with ports */

/* The header for a TCP connection from client to the listener's address local. Addresses of two
 * families are both written as IPv6. Returns its length. */
size_t proxy_header_encode(const union proxy_address *client, const union proxy_address *local,
	uint8_t out[PROXY_HEADER_MAX]);

#endif
