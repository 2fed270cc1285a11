/* See dns_lookup.h. Answers come from the server that was asked for its address: they are read as foreign
 * input all the same. */
#include "cli/dns_lookup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "base/random.h"

#define TRIES 3
#define PATIENCE_MS 2000
#define QUERY_MAX 512
#define PAYLOAD_MAX 1232

static const struct {
	const char *name;
	uint16_t type;
} types[] = {
#define TYPE_ROW(name, number) {#name, number},
	DNS_TYPES(TYPE_ROW)
#undef TYPE_ROW
};

bool dns_lookup_type(const char *text, uint16_t *ret_type)
{
	for (size_t i = 0; i < LENGTH(types); i++)
		if (strcasecmp(types[i].name, text) == 0) {
			*ret_type = types[i].type;
			return true;
		}
	return false;
}

static const char *type_name(uint16_t type)
{
	for (size_t i = 0; i < LENGTH(types); i++)
		if (types[i].type == type)
			return types[i].name;
	return "?";
}

/* ---- sending ---- */

static int connect_to(const char *address, uint16_t port, int kind, struct err *err)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	bool is_four = inet_pton(AF_INET, address, &four.sin_addr) == 1;
	_close_ int descriptor = -1;

	if (!is_four && inet_pton(AF_INET6, address, &six.sin6_addr) != 1)
		return err_set(err, -EINVAL, "'%s' is not an IP address", address);
	descriptor = socket(is_four ? AF_INET : AF_INET6, kind | SOCK_CLOEXEC, 0);
	if (descriptor < 0 ||
		connect(descriptor, is_four ? (struct sockaddr *)&four : (struct sockaddr *)&six,
			is_four ? sizeof(four) : sizeof(six)) < 0)
		return err_errno(err, "ask %s port %u", address, port);
	return TAKE_FD(descriptor);
}

/* Bytes that came within the patience; 0: none. */
static size_t receive(int descriptor, uint8_t *data, size_t capacity)
{
	struct pollfd watched = {.fd = descriptor, .events = POLLIN};
	ssize_t length;

	if (poll(&watched, 1, PATIENCE_MS) <= 0)
		return 0;
	length = recv(descriptor, data, capacity, 0);
	return length > 0 ? (size_t)length : 0;
}

static size_t ask_udp(int descriptor, const uint8_t *query, size_t query_length, uint8_t *reply)
{
	for (int i = 0; i < TRIES; i++) {
		size_t length;

		if (send(descriptor, query, query_length, 0) < 0)
			return 0;
		do
			length = receive(descriptor, reply, DNS_MESSAGE_MAX);
		while (length > 0 && (length < DNS_HEADER_SIZE || memcmp(reply, query, 2) != 0));
		if (length > 0)
			return length;
	}
	return 0;
}

static bool receive_all(int descriptor, uint8_t *data, size_t length)
{
	for (size_t got = 0; got < length;) {
		size_t more = receive(descriptor, data + got, length - got);

		if (more == 0)
			return false;
		got += more;
	}
	return true;
}

static size_t ask_tcp(int descriptor, const uint8_t *query, size_t query_length, uint8_t *reply)
{
	uint8_t framed[2 + QUERY_MAX] = {(uint8_t)(query_length >> 8), (uint8_t)query_length};
	uint8_t head[2];
	size_t length;

	memcpy(framed + 2, query, query_length);
	if (send(descriptor, framed, 2 + query_length, MSG_NOSIGNAL) < 0 ||
		!receive_all(descriptor, head, sizeof(head)))
		return 0;
	length = (size_t)head[0] << 8 | head[1];
	return length >= DNS_HEADER_SIZE && receive_all(descriptor, reply, length) ? length : 0;
}

/* ---- printing ---- */

static void print_text(struct dns_reader *reader, size_t end)
{
	uint8_t length, byte;

	while (reader->at < end && dns_read_u8(reader, &length)) {
		printf(" \"");
		for (; length > 0 && dns_read_u8(reader, &byte); length--)
			printf(byte >= ' ' && byte < 0x7f && byte != '"' ? "%c" : "\\%03u", byte);
		putchar('"');
	}
}

static void print_name(struct dns_reader *reader)
{
	char text[DNS_NAME_TEXT_MAX];
	struct dns_name name;

	if (!dns_read_name(reader, &name))
		return;
	dns_name_to_text(&name, text);
	printf(" %s", text);
}

static void print_data(const struct dns_reader *message, const struct dns_record_view *record)
{
	struct dns_reader reader = {message->data, message->length, record->data_at};
	char text[INET6_ADDRSTRLEN];
	uint16_t numbers[3];
	uint32_t number;

	switch (record->type) {
	case DNS_TYPE_A:
	case DNS_TYPE_AAAA:
		if (record->data_length == (record->type == DNS_TYPE_A ? 4 : 16))
			printf(" %s", inet_ntop(record->type == DNS_TYPE_A ? AF_INET : AF_INET6,
					      message->data + record->data_at, text, sizeof(text)));
		break;
	case DNS_TYPE_SRV:
		for (size_t i = 0; i < LENGTH(numbers); i++)
			if (dns_read_u16(&reader, &numbers[i]))
				printf(" %u", numbers[i]);
		print_name(&reader);
		break;
	case DNS_TYPE_SOA:
		print_name(&reader);
		print_name(&reader);
		for (int i = 0; i < 5 && dns_read_u32(&reader, &number); i++)
			printf(" %u", number);
		break;
	case DNS_TYPE_CNAME:
	case DNS_TYPE_NS:
	case DNS_TYPE_PTR: print_name(&reader); break;
	case DNS_TYPE_TXT:
	case DNS_TYPE_HINFO: print_text(&reader, record->data_at + record->data_length); break;
	default: printf(" (%u bytes)", record->data_length);
	}
}

static int print_reply(const uint8_t *data, size_t length, const struct dns_name *name,
	struct err *err)
{
	struct dns_reader reader = {data, length, 0};
	struct dns_header header;
	struct dns_question question;
	struct dns_record_view record;
	char text[DNS_NAME_TEXT_MAX];

	if (!dns_read_header(&reader, &header) || header.counts[DNS_SECTION_QUESTION] != 1 ||
		!dns_read_question(&reader, &question))
		return err_set(err, -EBADMSG, "the answer cannot be read");
	dns_name_to_text(name, text);
	switch (header.flags & DNS_FLAG_RCODE) {
	case DNS_RCODE_NOERROR: break;
	case DNS_RCODE_NXDOMAIN: return err_set(err, -ENOENT, "there is no name %s", text);
	case DNS_RCODE_REFUSED:
		return err_set(err, -EREMOTEIO, "%s is not one of slipway's names", text);
	default:
		return err_set(err, -EREMOTEIO, "the server could not answer (code %u)",
			header.flags & DNS_FLAG_RCODE);
	}
	if (header.counts[DNS_SECTION_ANSWER] == 0)
		return err_set(err, -ENOENT, "%s has no such records", text);
	for (unsigned i = 0; i < header.counts[DNS_SECTION_ANSWER]; i++) {
		if (!dns_read_record(&reader, &record))
			return err_set(err, -EBADMSG, "the answer cannot be read");
		dns_name_to_text(&record.owner, text);
		printf("%s %u %s", text, record.ttl, type_name(record.type));
		print_data(&reader, &record);
		putchar('\n');
	}
	return 0;
}

int dns_lookup_print(const char *address, uint16_t port, const struct dns_name *name, uint16_t type,
	struct err *err)
{
	uint8_t query[QUERY_MAX];
	_free_ uint8_t *reply = memory_allocate(DNS_MESSAGE_MAX);
	struct dns_question question = {.type = type, .class = DNS_CLASS_IN};
	struct dns_header header = {.id = (uint16_t)random_u64(random_system()),
		.flags = DNS_FLAG_RD,
		.counts = {1, 0, 0, 1}};
	struct dns_writer writer;
	_close_ int udp = connect_to(address, port, SOCK_DGRAM, err);
	_close_ int tcp = -1;
	size_t length;

	if (udp < 0)
		return udp;
	dns_name_copy(&question.name, name);
	dns_writer_init(&writer, query, sizeof(query));
	dns_write_header(&writer, 0, 0);
	dns_write_question(&writer, &question);
	dns_write_opt(&writer, PAYLOAD_MAX, 0, false);
	dns_writer_set_header(&writer, &header);
	length = ask_udp(udp, query, writer.length, reply);
	if (length >= DNS_HEADER_SIZE && reply[2] & (DNS_FLAG_TC >> 8)) {
		tcp = connect_to(address, port, SOCK_STREAM, err);
		if (tcp < 0)
			return tcp;
		length = ask_tcp(tcp, query, writer.length, reply);
	}
	if (length == 0)
		return err_set(err, -ETIMEDOUT, "%s port %u does not answer", address, port);
	return print_reply(reply, length, name, err);
}
