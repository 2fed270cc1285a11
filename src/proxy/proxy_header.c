#include "proxy/proxy_header.h"

#include <string.h>

#define VERSION_2_PROXY 0x21
#define TCP_OVER_IPV4 0x11
#define TCP_OVER_IPV6 0x21

static const uint8_t signature[12] = "\r\n\r\n\0\r\nQUIT\n";

/* An IPv4 address as ::ffff:a.b.c.d. */
static void address_as_v6(const union proxy_address *address, uint8_t out[16])
{
	if (address->any.sa_family == AF_INET6) {
		memcpy(out, &address->v6.sin6_addr, 16);
		return;
	}
	memset(out, 0, 10);
	memset(out + 10, 0xff, 2);
	memcpy(out + 12, &address->v4.sin_addr, 4);
}

static bool is_mapped_v4(const union proxy_address *address)
{
	return address->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&address->v6.sin6_addr);
}

size_t proxy_header_encode(const union proxy_address *client, const union proxy_address *local,
	uint8_t out[PROXY_HEADER_MAX])
{
	const union proxy_address *ends[] = {client, local};
	bool v4 = true;
	uint8_t *at = out;
	uint16_t length;

	/* A socket that listens on :: sees IPv4 clients mapped; targets want to know them as IPv4. */
	for (size_t i = 0; i < LENGTH(ends); i++)
		v4 = v4 && (ends[i]->any.sa_family == AF_INET || is_mapped_v4(ends[i]));
	length = v4 ? 12 : 36;
	memcpy(at, signature, sizeof(signature));
	at += sizeof(signature);
	*at++ = VERSION_2_PROXY;
	*at++ = v4 ? TCP_OVER_IPV4 : TCP_OVER_IPV6;
	*at++ = (uint8_t)(length >> 8);
	*at++ = (uint8_t)length;
	for (size_t i = 0; i < LENGTH(ends); i++) {
		uint8_t address[16];

		address_as_v6(ends[i], address);
		memcpy(at, v4 ? address + 12 : address, v4 ? 4 : 16);
		at += v4 ? 4 : 16;
	}
	for (size_t i = 0; i < LENGTH(ends); i++) {
		unsigned port = proxy_address_port(ends[i]);

		*at++ = (uint8_t)(port >> 8);
		*at++ = (uint8_t)port;
	}
	return (size_t)(at - out);
}
