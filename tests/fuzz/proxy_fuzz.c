/*
 * Foreign input of the data plane: control messages, the beginnings of answers to health checks,
 * and matchers. A control message that passes must be one that a worker can apply without checking it again.
 * And what it writes for others to read: PROXY v2 headers, which a reader of our own, written after the
 * protocol's text and not after the writer, must understand as what was meant.
 */
#include <stdlib.h>
#include <string.h>

#include "proxy/l4/control.h"
#include "proxy/l4/shared.h"
#include "proxy/probe.h"
#include "proxy/proxy_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* ---- PROXY v2 ---- */

/* An end of a connection as a target would know it: IPv4 addresses in the last four bytes. */
struct heard_end {
	uint8_t address[16];
	unsigned port;
};

struct heard {
	unsigned family; /* 4 or 6 */
	struct heard_end source, destination;
};

static unsigned two_bytes(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* Section 2.2 of the protocol's text: 12 bytes of signature, version and command, family and transport,
 * a length; then addresses and ports. Returns how many bytes were read, 0 if it is no such header. */
static size_t hear_header(const uint8_t *data, size_t size, struct heard *heard)
{
	static const uint8_t signature[] = {
		0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};
	size_t width, length;

	if (size < 16)
		return 0;
	for (size_t i = 0; i < sizeof(signature); i++) {
		if (data[i] != signature[i])
			return 0;
	}
	length = two_bytes(data + 14);
	if (data[12] >> 4 != 2 || (data[12] & 0x0f) != 1 || (data[13] & 0x0f) != 1)
		return 0; /* not version 2, not PROXY, not a stream */
	if (data[13] >> 4 == 1)
		heard->family = 4, width = 4;
	else if (data[13] >> 4 == 2)
		heard->family = 6, width = 16;
	else
		return 0;
	/* Anything behind addresses and ports would be extensions; we write none. */
	if (length != 2 * width + 4 || size < 16 + length)
		return 0;
	memset(heard->source.address, 0, 16);
	memset(heard->destination.address, 0, 16);
	memcpy(heard->source.address + 16 - width, data + 16, width);
	memcpy(heard->destination.address + 16 - width, data + 16 + width, width);
	heard->source.port = two_bytes(data + 16 + 2 * width);
	heard->destination.port = two_bytes(data + 16 + 2 * width + 2);
	return 16 + length;
}

/* 1 byte says which kind of address, 16 are the address, 2 the port. */
#define END_BYTES 19

static union proxy_address make_end(const uint8_t *data)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	union proxy_address end = {0};

	if (data[0] % 3 == 0) {
		end.v4.sin_family = AF_INET;
		memcpy(&end.v4.sin_addr, data + 1, 4);
		memcpy(&end.v4.sin_port, data + 17, 2);
		return end;
	}
	end.v6.sin6_family = AF_INET6;
	memcpy(&end.v6.sin6_addr, data + 1, 16);
	if (data[0] % 3 == 1)
		memcpy(&end.v6.sin6_addr, mapped, sizeof(mapped));
	memcpy(&end.v6.sin6_port, data + 17, 2);
	return end;
}

static bool is_ipv4(const union proxy_address *end)
{
	const uint8_t *bytes = (const uint8_t *)&end->v6.sin6_addr;

	if (end->any.sa_family == AF_INET)
		return true;
	for (size_t i = 0; i < 10; i++) {
		if (bytes[i])
			return false;
	}
	return bytes[10] == 0xff && bytes[11] == 0xff;
}

static void check_end(const union proxy_address *meant, const struct heard_end *heard,
	unsigned family)
{
	uint8_t wanted[16] = {0};

	if (meant->any.sa_family == AF_INET6)
		memcpy(wanted, &meant->v6.sin6_addr, 16);
	else
		memcpy(wanted + 12, &meant->v4.sin_addr, 4);
	if (family == 4)
		memset(wanted, 0, 12);
	else if (meant->any.sa_family == AF_INET)
		wanted[10] = wanted[11] = 0xff;
	must(memcmp(wanted, heard->address, 16) == 0);
	must(heard->port == proxy_address_port(meant));
}

static void fuzz_header(const uint8_t *data, size_t size)
{
	union proxy_address client, local;
	uint8_t header[PROXY_HEADER_MAX + 8];
	struct heard heard;
	size_t length;

	if (size < 2 * END_BYTES)
		return;
	client = make_end(data);
	local = make_end(data + END_BYTES);
	memset(header, 0xa5, sizeof(header));
	length = proxy_header_encode(&client, &local, header);
	must(length <= PROXY_HEADER_MAX && header[length] == 0xa5);
	must(hear_header(header, length, &heard) == length);
	/* Not a byte less would do. */
	must(hear_header(header, length - 1, &heard) == 0);
	must(heard.family == (is_ipv4(&client) && is_ipv4(&local) ? 4u : 6u));
	check_end(&client, &heard.source, heard.family);
	check_end(&local, &heard.destination, heard.family);
}

/* ---- control messages ---- */

static void fuzz_control(const uint8_t *data, size_t size, bool has_descriptor, bool to_worker)
{
	struct control_message message;
	struct err err = {.message = ""};
	int code = control_check(data, size, has_descriptor, to_worker, &message, &err);

	if (code < 0) {
		must(code == -EPROTO && err.message[0]);
		return;
	}
	must(message.kind < CONTROL_KIND_COUNT);
	must(message.slot < PROXY_LISTENERS_MAX);
	must(message.kind != CONTROL_HELLO || message.slot < L4_WORKER_SLOTS);
	must((message.kind == CONTROL_SYNCED) != to_worker);
	must(has_descriptor == (message.kind == CONTROL_HELLO || message.kind == CONTROL_LISTEN));
}

/* ---- answers to health checks ---- */

/* The status as a slow and plain reader finds it: 0 more is needed, -1 this is not HTTP. */
static int plain_status(const uint8_t *data, size_t size)
{
	static const char wanted[] = "HTTP/1.";
	int status = 0;

	for (size_t i = 0; i < sizeof(wanted) - 1; i++) {
		if (i >= size)
			return 0;
		if (data[i] != (uint8_t)wanted[i])
			return -1;
	}
	for (size_t i = 7; i < 12; i++) {
		if (i >= size)
			return 0;
		if (i == 8 ? data[i] != ' ' : data[i] < '0' || data[i] > '9')
			return -1;
		if (i > 8)
			status = status * 10 + (data[i] - '0');
	}
	/* Three digits are not the beginning of four. */
	if (size <= 12)
		return 0;
	if (data[12] != ' ' && data[12] != '\r' && data[12] != '\n')
		return -1;
	return status < 100 ? -1 : status;
}

static void fuzz_status(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size};
	int status = probe_status_of(text), plain = plain_status(data, size);

	must(status >= -1 && status <= 999 && (status <= 0 || status >= 100));
	must(status == plain);
	/* More of the same answer does not change what was read. */
	for (size_t less = size > 20 ? 20 : size; less > 0; less--) {
		int before = probe_status_of((struct span){text.data, less - 1});

		must(before == 0 || before == status);
	}
}

static void fuzz_matcher(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size};
	struct probe_matcher matcher;
	struct err err = {.message = ""};
	int code = probe_matcher_parse(text, &matcher, &err);
	bool some = false;

	if (code < 0) {
		must(code == -EINVAL && err.message[0]);
		return;
	}
	for (size_t i = 0; i < size; i++)
		must((data[i] >= '0' && data[i] <= '9') || data[i] == ',' || data[i] == '-');
	for (int status = -1; status < 1100; status++) {
		bool has = probe_matcher_has(&matcher, status);

		some |= has;
		must(!has || (status >= 200 && status <= 599));
	}
	must(some);
	/* A list is what its parts are together. */
	if (size < 1000) {
		char twice[2001];
		struct probe_matcher again;

		memcpy(twice, data, size);
		twice[size] = ',';
		memcpy(twice + size + 1, data, size);
		must(probe_matcher_parse((struct span){twice, 2 * size + 1}, &again, NULL) == 0);
		must(memcmp(&again, &matcher, sizeof(matcher)) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int flags = 0; flags < 4; flags++)
		fuzz_control(data, size, flags & 1, flags & 2);
	fuzz_status(data, size);
	fuzz_matcher(data, size);
	fuzz_header(data, size);
	return 0;
}
