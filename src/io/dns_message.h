/*
 * DNS messages (RFC 1035, EDNS of RFC 6891): names, reading, writing.
 *
 * A name is kept as on the wire, without compression: labels with their lengths, the root's zero at the
 * end, letters as they were given. Names are the same whatever the case of their ASCII letters.
 *
 * Reading never looks behind the message, never recurses, and follows compression pointers only
 * backwards, so that it ends: each pointer must lead before the place where the labels began that led to
 * it. Writing stops at the writer's capacity: what does not fit sets `overflow`, and the writer can go
 * back to a mark.
 */
#ifndef IO_DNS_MESSAGE_H
#define IO_DNS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

#define DNS_NAME_MAX 255 /* on the wire, with the root's zero */
#define DNS_LABEL_MAX 63
#define DNS_NAME_TEXT_MAX 1024 /* with every byte as \DDD, and a NUL */
#define DNS_HEADER_SIZE 12
#define DNS_MESSAGE_MAX 65535
#define DNS_UDP_PLAIN_MAX 512 /* of an answer over UDP to a client without EDNS */
#define DNS_OPT_SIZE 11       /* our OPT record: it has no options */

#define DNS_TYPES(X)                                                                               \
	X(A, 1)                                                                                    \
	X(NS, 2)                                                                                   \
	X(CNAME, 5)                                                                                \
	X(SOA, 6)                                                                                  \
	X(PTR, 12)                                                                                 \
	X(HINFO, 13)                                                                               \
	X(MX, 15)                                                                                  \
	X(TXT, 16)                                                                                 \
	X(AAAA, 28)                                                                                \
	X(SRV, 33)                                                                                 \
	X(OPT, 41)                                                                                 \
	X(TKEY, 249)                                                                               \
	X(TSIG, 250)                                                                               \
	X(IXFR, 251)                                                                               \
	X(AXFR, 252)                                                                               \
	X(MAILB, 253)                                                                              \
	X(MAILA, 254)                                                                              \
	X(ANY, 255)

enum dns_type {
#define DNS_TYPE_VALUE(name, number) DNS_TYPE_##name = (number),
	DNS_TYPES(DNS_TYPE_VALUE)
#undef DNS_TYPE_VALUE
};

#define DNS_CLASS_IN 1

enum dns_rcode {
	DNS_RCODE_NOERROR = 0,
	DNS_RCODE_FORMERR = 1,
	DNS_RCODE_SERVFAIL = 2,
	DNS_RCODE_NXDOMAIN = 3,
	DNS_RCODE_NOTIMP = 4,
	DNS_RCODE_REFUSED = 5,
	DNS_RCODE_BADVERS = 16, /* the upper bits of it live in OPT */
};

#define DNS_FLAG_QR 0x8000u
#define DNS_FLAG_OPCODE 0x7800u
#define DNS_FLAG_AA 0x0400u
#define DNS_FLAG_TC 0x0200u
#define DNS_FLAG_RD 0x0100u
#define DNS_FLAG_RA 0x0080u
#define DNS_FLAG_CD 0x0010u
#define DNS_FLAG_RCODE 0x000Fu

/* ---- names ---- */

struct dns_name {
	uint8_t length; /* of bytes, 1 for the root */
	uint8_t bytes[DNS_NAME_MAX];
};

#define DNS_NAME_ROOT ((struct dns_name){.length = 1})

/* From "web.example" or "web.example."; "\." and "\DDD" as in zone files; "." is the root. */
int dns_name_from_text(struct span text, struct dns_name *ret_name, struct err *err);
/* Without a dot at the end, except for the root; NUL-terminated. Returns the length of the text. */
size_t dns_name_to_text(const struct dns_name *name, char ret_text[DNS_NAME_TEXT_MAX]);
void dns_name_copy(struct dns_name *to, const struct dns_name *from);
void dns_name_copy_lower(struct dns_name *to, const struct dns_name *from);
bool dns_name_equal(const struct dns_name *a, const struct dns_name *b); /* ignores case */
/* True for the zone's own name, too. */
bool dns_name_is_below(const struct dns_name *name, const struct dns_name *zone);
/* The bytes, as a key for maps. Of a name in lower case: lookup functions are given those. */
static inline struct span dns_name_key(const struct dns_name *name)
{
	return (struct span){(const char *)name->bytes, name->length};
}

/* ---- reading ---- */

struct dns_header {
	uint16_t id;
	uint16_t flags;
	uint16_t counts[4]; /* questions, answers, authority, additional */
};

enum dns_section {
	DNS_SECTION_QUESTION,
	DNS_SECTION_ANSWER,
	DNS_SECTION_AUTHORITY,
	DNS_SECTION_ADDITIONAL,
};

struct dns_question {
	struct dns_name name;
	uint16_t type;
	uint16_t class;
};

struct dns_reader {
	const uint8_t *data;
	size_t length;
	size_t at;
};

/* A record as it lies in a message. Names in its data may be compressed: read them with a reader. */
struct dns_record_view {
	struct dns_name owner;
	uint16_t type;
	uint16_t class;
	uint32_t ttl;
	size_t data_at;
	uint16_t data_length;
};

/* These advance `at`. False: the message is malformed there; `at` and outputs are then undefined. */
bool dns_read_u8(struct dns_reader *reader, uint8_t *ret_value);
bool dns_read_u16(struct dns_reader *reader, uint16_t *ret_value);
bool dns_read_u32(struct dns_reader *reader, uint32_t *ret_value);
bool dns_read_name(struct dns_reader *reader, struct dns_name *ret_name);
bool dns_read_header(struct dns_reader *reader, struct dns_header *ret_header);
bool dns_read_question(struct dns_reader *reader, struct dns_question *ret_question);
bool dns_read_record(struct dns_reader *reader, struct dns_record_view *ret_record);

/* The parts of a query that a server needs. */
struct dns_query {
	struct dns_header header;
	bool has_question; /* the question could be read */
	struct dns_question question;
	bool edns;
	bool dnssec_ok;
	uint8_t edns_version;
	uint16_t
		edns_size; /* the largest answer to the client over UDP, at least DNS_UDP_PLAIN_MAX */
};

/* True: to be answered, with *ret_rcode NOERROR, or with the error that it names (FORMERR, NOTIMP for
 * another opcode, BADVERS). False: not to be answered at all (shorter than a header, or an answer). */
bool dns_query_read(const void *data, size_t length, struct dns_query *ret_query,
	enum dns_rcode *ret_rcode);

/* ---- writing ---- */

struct dns_soa {
	struct dns_name primary; /* the zone's first name server */
	struct dns_name mailbox; /* hostmaster.example for hostmaster@example */
	uint32_t serial;
	uint32_t refresh;
	uint32_t retry;
	uint32_t expire;
	uint32_t minimum; /* how long a negative answer may be kept */
};

struct dns_record {
	const struct dns_name *owner; /* NULL: the question's name, as the client spelt it */
	uint16_t type;
	uint32_t ttl;
	union {
		uint8_t address4[4];         /* A */
		uint8_t address6[16];        /* AAAA */
		const struct dns_name *name; /* CNAME, NS, PTR */
		struct {
			uint16_t priority;
			uint16_t weight;
			uint16_t port;
			const struct dns_name *target;
		} srv;
		const struct dns_soa *soa;
		struct span raw; /* any other type: the data as on the wire, without names */
	};
};

#define DNS_COMPRESSION_MAX 48 /* places in the message that a later name may point to */

struct dns_writer {
	uint8_t *data;
	size_t capacity;
	size_t length;
	bool overflow;
	uint16_t name_at[DNS_COMPRESSION_MAX]; /* where labels of names begin */
	size_t name_count;
};

struct dns_writer_mark {
	size_t length;
	size_t name_count;
};

void dns_writer_init(struct dns_writer *writer, void *data, size_t capacity);
struct dns_writer_mark dns_writer_mark(const struct dns_writer *writer);
/* Forgets what was written since the mark, and an overflow. */
void dns_writer_back(struct dns_writer *writer, struct dns_writer_mark mark);
/* Counts are zero; dns_write_record and dns_write_opt do not count: see dns_writer_set_header. */
void dns_write_header(struct dns_writer *writer, uint16_t id, uint16_t flags);
void dns_writer_set_header(struct dns_writer *writer, const struct dns_header *header);
/* Must come first behind the header: records whose owner is NULL point to it. */
void dns_write_question(struct dns_writer *writer, const struct dns_question *question);
void dns_write_record(struct dns_writer *writer, const struct dns_record *record);
void dns_write_opt(struct dns_writer *writer, uint16_t payload_size, unsigned rcode,
	bool dnssec_ok);

#endif
