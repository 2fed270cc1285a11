/* The name servers that a resolver calls: slipway's own, and those of the machine, from its resolv.conf. */
#include "runtime/process/supervisor/resolver_internal.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"

#define CONFIGURATION_MAX ((size_t)64 * 1024)
#define ADDRESS_TEXT_MAX 80

socklen_t resolver_address_length(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

static bool parse_address(const char *text, uint16_t port, struct sockaddr_storage *ret_address)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	memset(ret_address, 0, sizeof(*ret_address));
	if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
		memcpy(ret_address, &four, sizeof(four));
	else if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
		memcpy(ret_address, &six, sizeof(six));
	else
		return false;
	return true;
}

bool resolver_read_slipway(const struct resolver *resolver, struct sockaddr_storage *ret_address)
{
	_close_ int file = open(resolver->address_file, O_RDONLY | O_CLOEXEC);
	char text[ADDRESS_TEXT_MAX], *colon, *host = text;
	ssize_t got = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	int port;

	if (got <= 0)
		return false;
	text[got] = '\0';
	colon = strrchr(text, ':');
	if (!colon)
		return false;
	port = atoi(colon + 1);
	*colon = '\0';
	if (host[0] == '[' && colon[-1] == ']') {
		colon[-1] = '\0';
		host++;
	}
	return port > 0 && port <= UINT16_MAX && parse_address(host, (uint16_t)port, ret_address);
}

/* Symbolic links lead to files of the machine, not of the task's mount namespace. */
static void read_configuration(const struct resolver *resolver, struct buffer *out)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	_close_ int file = (int)syscall(SYS_openat2, resolver->machine_root, RESOLVER_CONFIGURATION,
		&how, sizeof(how));

	while (file >= 0) {
		char *room = buffer_reserve(out, 4096);
		ssize_t got = room ? read(file, room, 4096) : 0;

		if (got <= 0)
			return;
		out->length += (size_t)got;
	}
}

/* The next line; false at the end. */
static bool next_line(struct span *rest, struct span *ret_line)
{
	if (rest->length == 0)
		return false;
	if (!span_split(*rest, '\n', ret_line, rest)) {
		*ret_line = *rest;
		*rest = SPAN_NONE;
	}
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct span take_word(struct span *rest)
{
	struct span word;

	while (rest->length > 0 && is_blank(rest->data[0]))
		*rest = (struct span){rest->data + 1, rest->length - 1};
	word = (struct span){rest->data, 0};
	while (rest->length > 0 && !is_blank(rest->data[0])) {
		*rest = (struct span){rest->data + 1, rest->length - 1};
		word.length++;
	}
	return word;
}

static bool is_name_server(struct span line, struct span *ret_address)
{
	if (!span_is(take_word(&line), "nameserver"))
		return false;
	*ret_address = take_word(&line);
	return true;
}

size_t resolver_list_servers(const struct resolver *resolver,
	struct sockaddr_storage servers[RESOLVER_SERVERS_MAX])
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(CONFIGURATION_MAX);
	struct span rest, line, address;
	size_t count = 0;

	read_configuration(resolver, &text);
	rest = buffer_span(&text);
	while (count < RESOLVER_SERVERS_MAX && next_line(&rest, &line)) {
		char host[ADDRESS_TEXT_MAX];

		if (!is_name_server(line, &address))
			continue;
		snprintf(host, sizeof(host), "%.*s", SPAN_ARGS(address));
		if (parse_address(host, resolver->server_port, &servers[count]))
			count++;
	}
	return count;
}

void resolver_write_configuration(const struct resolver *resolver, const char *address,
	struct buffer *out)
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(CONFIGURATION_MAX);
	struct span rest, line, server;

	read_configuration(resolver, &text);
	rest = buffer_span(&text);
	buffer_format(out, "nameserver %s\n", address);
	while (next_line(&rest, &line))
		if (!is_name_server(line, &server) && span_trim(line).length > 0)
			buffer_format(out, "%.*s\n", SPAN_ARGS(line));
}
