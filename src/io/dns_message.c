/* Names, reading and writing of DNS messages; dns_message.h says what holds. */
#include "io/dns_message.h"

#include <assert.h>
#include <string.h>

#define POINTER_BITS 0xC0u
#define POINTER_MAX 0x3FFFu
#define OPT_DNSSEC_OK 0x8000u
#define QUESTION_POINTER (0xC000u | DNS_HEADER_SIZE)

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + 32) : c;
}

/* ---- names ---- */

/* One byte of a label from text: plain, or escaped. Returns the bytes of text used, 0 if it is wrong. */
static size_t text_byte(struct span text, size_t at, uint8_t *ret_byte)
{
	unsigned value = 0;

	if (text.data[at] != '\\') {
		*ret_byte = (uint8_t)text.data[at];
		return 1;
	}
	if (at + 1 >= text.length)
		return 0;
	if (text.data[at + 1] < '0' || text.data[at + 1] > '9') {
		*ret_byte = (uint8_t)text.data[at + 1];
		return 2;
	}
	if (at + 3 >= text.length)
		return 0;
	for (size_t i = at + 1; i <= at + 3; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return 0;
		value = value * 10 + (unsigned)(text.data[i] - '0');
	}
	*ret_byte = (uint8_t)value;
	return value <= UINT8_MAX ? 4 : 0;
}

int dns_name_from_text(struct span text, struct dns_name *ret_name, struct err *err)
{
	struct dns_name name = DNS_NAME_ROOT;
	size_t label_at = 0; /* of the label's length */
	size_t length = 1;   /* with the label's length byte, without the root */
	size_t used;

	if (text.length == 0)
		return err_set(err, -EINVAL, "a domain name is empty");
	if (span_is(text, ".")) {
		*ret_name = name;
		return 0;
	}
	for (size_t at = 0; at < text.length; at += used) {
		uint8_t byte = 0;

		if (length == DNS_NAME_MAX)
			return err_set(err, -EINVAL, "domain name '%.*s' is longer than %d bytes",
				SPAN_ARGS(text), DNS_NAME_MAX);
		if (text.data[at] == '.') {
			if (length == label_at + 1)
				return err_set(err, -EINVAL,
					"domain name '%.*s' has an empty label", SPAN_ARGS(text));
			name.bytes[label_at] = (uint8_t)(length - label_at - 1);
			label_at = length++;
			used = 1;
		} else {
			used = text_byte(text, at, &byte);
			if (used == 0)
				return err_set(err, -EINVAL, "domain name '%.*s' has a bad escape",
					SPAN_ARGS(text));
			if (length - label_at > DNS_LABEL_MAX)
				return err_set(err, -EINVAL,
					"domain name '%.*s' has a label longer than %d bytes",
					SPAN_ARGS(text), DNS_LABEL_MAX);
			name.bytes[length++] = byte;
		}
	}
	/* Behind a dot at the end the label is empty: it is the root. */
	name.bytes[label_at] = (uint8_t)(length - label_at - 1);
	if (length > label_at + 1) {
		if (length == DNS_NAME_MAX)
			return err_set(err, -EINVAL, "domain name '%.*s' is longer than %d bytes",
				SPAN_ARGS(text), DNS_NAME_MAX);
		name.bytes[length++] = 0;
	}
	name.length = (uint8_t)length;
	*ret_name = name;
	return 0;
}

size_t dns_name_to_text(const struct dns_name *name, char ret_text[DNS_NAME_TEXT_MAX])
{
	size_t length = 0;
	size_t at = 0;

	if (name->bytes[0] == 0)
		ret_text[length++] = '.';
	while (name->bytes[at] != 0) {
		size_t end = at + 1 + name->bytes[at];

		if (at > 0)
			ret_text[length++] = '.';
		for (at++; at < end; at++) {
			uint8_t c = name->bytes[at];

			if (c > ' ' && c < 0x7F) {
				if (strchr(".\\\"();@$", c))
					ret_text[length++] = '\\';
				ret_text[length++] = (char)c;
			} else {
				ret_text[length++] = '\\';
				ret_text[length++] = (char)('0' + c / 100);
				ret_text[length++] = (char)('0' + c / 10 % 10);
				ret_text[length++] = (char)('0' + c % 10);
			}
		}
	}
	ret_text[length] = '\0';
	return length;
}

void dns_name_copy(struct dns_name *to, const struct dns_name *from)
{
	to->length = from->length;
	memcpy(to->bytes, from->bytes, from->length);
}

/* Lengths of labels are below 'A', so that a name can be lowered byte by byte. */
void dns_name_copy_lower(struct dns_name *to, const struct dns_name *from)
{
	to->length = from->length;
	for (size_t i = 0; i < from->length; i++)
		to->bytes[i] = lower(from->bytes[i]);
}

static bool same_bytes(const uint8_t *a, const uint8_t *b, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (lower(a[i]) != lower(b[i]))
			return false;
	}
	return true;
}

bool dns_name_equal(const struct dns_name *a, const struct dns_name *b)
{
	return a->length == b->length && same_bytes(a->bytes, b->bytes, a->length);
}

bool dns_name_is_below(const struct dns_name *name, const struct dns_name *zone)
{
	size_t at = 0;

	if (name->length < zone->length)
		return false;
	/* Only where a label begins: "notexample" is not below "example". */
	while (name->length - at > zone->length)
		at += 1 + (size_t)name->bytes[at];
	return name->length - at == zone->length &&
	       same_bytes(name->bytes + at, zone->bytes, zone->length);
}

/* ---- reading ---- */

bool dns_read_u8(struct dns_reader *reader, uint8_t *ret_value)
{
	if (reader->length - reader->at < 1)
		return false;
	*ret_value = reader->data[reader->at++];
	return true;
}

bool dns_read_u16(struct dns_reader *reader, uint16_t *ret_value)
{
	const uint8_t *data = reader->data + reader->at;

	if (reader->length - reader->at < 2)
		return false;
	*ret_value = (uint16_t)(data[0] << 8 | data[1]);
	reader->at += 2;
	return true;
}

bool dns_read_u32(struct dns_reader *reader, uint32_t *ret_value)
{
	uint16_t high, low;

	if (!dns_read_u16(reader, &high) || !dns_read_u16(reader, &low))
		return false;
	*ret_value = (uint32_t)high << 16 | low;
	return true;
}

/* Each pointer leads before `limit`, which only falls: there is no loop, and at most DNS_NAME_MAX bytes
 * of labels between any two pointers. A pointer to a pointer is allowed and falls, too. */
bool dns_read_name(struct dns_reader *reader, struct dns_name *ret_name)
{
	const uint8_t *data = reader->data;
	size_t length = 0;
	size_t limit = reader->at; /* where the labels that are being read began */
	size_t at = reader->at;
	bool jumped = false;

	for (;;) {
		uint8_t size;

		if (at >= reader->length)
			return false;
		size = data[at];
		if ((size & POINTER_BITS) == POINTER_BITS) {
			size_t target;

			if (at + 1 >= reader->length)
				return false;
			target = (size_t)(size & ~POINTER_BITS) << 8 | data[at + 1];
			if (target >= limit)
				return false;
			if (!jumped)
				reader->at = at + 2;
			jumped = true;
			at = limit = target;
			continue;
		}
		if (size > DNS_LABEL_MAX || reader->length - at <= size ||
			length + 1 + size > DNS_NAME_MAX)
			return false;
		memcpy(ret_name->bytes + length, data + at, (size_t)size + 1);
		length += (size_t)size + 1;
		at += (size_t)size + 1;
		if (size == 0)
			break;
	}
	if (!jumped)
		reader->at = at;
	ret_name->length = (uint8_t)length;
	return true;
}

bool dns_read_header(struct dns_reader *reader, struct dns_header *ret_header)
{
	bool read =
		dns_read_u16(reader, &ret_header->id) && dns_read_u16(reader, &ret_header->flags);

	for (size_t i = 0; i < 4; i++)
		read = read && dns_read_u16(reader, &ret_header->counts[i]);
	return read;
}

bool dns_read_question(struct dns_reader *reader, struct dns_question *ret_question)
{
	return dns_read_name(reader, &ret_question->name) &&
	       dns_read_u16(reader, &ret_question->type) &&
	       dns_read_u16(reader, &ret_question->class);
}

bool dns_read_record(struct dns_reader *reader, struct dns_record_view *ret_record)
{
	if (!dns_read_name(reader, &ret_record->owner) ||
		!dns_read_u16(reader, &ret_record->type) ||
		!dns_read_u16(reader, &ret_record->class) ||
		!dns_read_u32(reader, &ret_record->ttl) ||
		!dns_read_u16(reader, &ret_record->data_length) ||
		reader->length - reader->at < ret_record->data_length)
		return false;
	ret_record->data_at = reader->at;
	reader->at += ret_record->data_length;
	return true;
}

/* Options that we do not know are passed over, but they must be whole. */
static bool options_are_whole(const uint8_t *data, const struct dns_record_view *record)
{
	struct dns_reader reader = {data, record->data_at + record->data_length, record->data_at};

	while (reader.at < reader.length) {
		uint16_t code, length;

		if (!dns_read_u16(&reader, &code) || !dns_read_u16(&reader, &length) ||
			reader.length - reader.at < length)
			return false;
		reader.at += length;
	}
	return true;
}

static bool read_opt(const uint8_t *data, const struct dns_record_view *record,
	struct dns_query *query)
{
	if (query->edns || record->owner.length != 1 || !options_are_whole(data, record))
		return false;
	query->edns = true;
	query->edns_size = record->class < DNS_UDP_PLAIN_MAX ? DNS_UDP_PLAIN_MAX : record->class;
	query->edns_version = (uint8_t)(record->ttl >> 16);
	query->dnssec_ok = record->ttl & OPT_DNSSEC_OK;
	return true;
}

/* The question and everything behind it. */
static bool read_sections(struct dns_reader *reader, struct dns_query *query)
{
	struct dns_record_view record;

	if (query->header.counts[DNS_SECTION_QUESTION] != 1 ||
		!dns_read_question(reader, &query->question))
		return false;
	query->has_question = true;
	for (int section = DNS_SECTION_ANSWER; section <= DNS_SECTION_ADDITIONAL; section++) {
		for (unsigned i = 0; i < query->header.counts[section]; i++) {
			if (!dns_read_record(reader, &record))
				return false;
			if (record.type == DNS_TYPE_OPT &&
				(section != DNS_SECTION_ADDITIONAL ||
					!read_opt(reader->data, &record, query)))
				return false;
		}
	}
	return reader->at == reader->length;
}

bool dns_query_read(const void *data, size_t length, struct dns_query *ret_query,
	enum dns_rcode *ret_rcode)
{
	struct dns_reader reader = {data, length, 0};

	ret_query->has_question = false;
	ret_query->edns = false;
	ret_query->dnssec_ok = false;
	ret_query->edns_version = 0;
	ret_query->edns_size = DNS_UDP_PLAIN_MAX;
	if (!dns_read_header(&reader, &ret_query->header) || ret_query->header.flags & DNS_FLAG_QR)
		return false;
	if (ret_query->header.flags & DNS_FLAG_OPCODE) {
		/* The sections of other opcodes mean other things: only the header is answered. */
		*ret_rcode = DNS_RCODE_NOTIMP;
		return true;
	}
	if (!read_sections(&reader, ret_query))
		*ret_rcode = DNS_RCODE_FORMERR;
	else if (ret_query->edns_version > 0)
		*ret_rcode = DNS_RCODE_BADVERS;
	else
		*ret_rcode = DNS_RCODE_NOERROR;
	return true;
}

/* ---- writing ---- */

void dns_writer_init(struct dns_writer *writer, void *data, size_t capacity)
{
	writer->data = data;
	writer->capacity = capacity;
	writer->length = 0;
	writer->overflow = false;
	writer->name_count = 0;
}

struct dns_writer_mark dns_writer_mark(const struct dns_writer *writer)
{
	return (struct dns_writer_mark){writer->length, writer->name_count};
}

void dns_writer_back(struct dns_writer *writer, struct dns_writer_mark mark)
{
	writer->length = mark.length;
	writer->name_count = mark.name_count;
	writer->overflow = false;
}

static void write_bytes(struct dns_writer *writer, const void *data, size_t length)
{
	if (writer->overflow || writer->capacity - writer->length < length) {
		writer->overflow = true;
		return;
	}
	memcpy(writer->data + writer->length, data, length);
	writer->length += length;
}

static void write_u16(struct dns_writer *writer, unsigned value)
{
	const uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};

	write_bytes(writer, bytes, sizeof(bytes));
}

static void write_u32(struct dns_writer *writer, uint32_t value)
{
	const uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16),
		(uint8_t)(value >> 8), (uint8_t)value};

	write_bytes(writer, bytes, sizeof(bytes));
}

static void put_u16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

void dns_writer_set_header(struct dns_writer *writer, const struct dns_header *header)
{
	assert(writer->length >= DNS_HEADER_SIZE);
	put_u16(writer->data, header->id);
	put_u16(writer->data + 2, header->flags);
	for (size_t i = 0; i < 4; i++)
		put_u16(writer->data + 4 + 2 * i, header->counts[i]);
}

void dns_write_header(struct dns_writer *writer, uint16_t id, uint16_t flags)
{
	write_u16(writer, id);
	write_u16(writer, flags);
	write_u32(writer, 0);
	write_u32(writer, 0);
}

/* Whether the name that we wrote at `place` has exactly these bytes. What we wrote is well formed: its
 * pointers lead backwards. */
static bool written_name_is(const struct dns_writer *writer, size_t place, const uint8_t *bytes)
{
	const uint8_t *data = writer->data;

	for (;;) {
		uint8_t size = data[place];

		if ((size & POINTER_BITS) == POINTER_BITS) {
			place = (size_t)(size & ~POINTER_BITS) << 8 | data[place + 1];
			continue;
		}
		if (size != bytes[0] || memcmp(data + place, bytes, (size_t)size + 1) != 0)
			return false;
		if (size == 0)
			return true;
		place += (size_t)size + 1;
		bytes += (size_t)size + 1;
	}
}

/* Letters are compared exactly: a name in an answer keeps the spelling that it has in the zone. */
static size_t find_written(const struct dns_writer *writer, const uint8_t *bytes)
{
	for (size_t i = 0; i < writer->name_count; i++) {
		if (written_name_is(writer, writer->name_at[i], bytes))
			return writer->name_at[i];
	}
	return 0;
}

/* Remembers the places of its labels for later names. With `compress` its own tail may be a pointer. */
static void write_name(struct dns_writer *writer, const struct dns_name *name, bool compress)
{
	size_t known = writer->name_count; /* places of this name itself are not complete yet */
	size_t at = 0;

	while (name->bytes[at] != 0) {
		size_t size = (size_t)name->bytes[at] + 1;
		size_t place = compress ? find_written(writer, name->bytes + at) : 0;

		if (place) {
			write_u16(writer, 0xC000u | (unsigned)place);
			break;
		}
		if (!writer->overflow && known < DNS_COMPRESSION_MAX &&
			writer->length <= POINTER_MAX)
			writer->name_at[known++] = (uint16_t)writer->length;
		write_bytes(writer, name->bytes + at, size);
		at += size;
	}
	if (name->bytes[at] == 0)
		write_bytes(writer, "", 1);
	/* A name that did not fit may be cut: nothing may point to it. */
	if (!writer->overflow)
		writer->name_count = known;
}

void dns_write_question(struct dns_writer *writer, const struct dns_question *question)
{
	assert(writer->length == DNS_HEADER_SIZE);
	write_name(writer, &question->name, false);
	write_u16(writer, question->type);
	write_u16(writer, question->class);
}

static void write_soa(struct dns_writer *writer, const struct dns_soa *soa)
{
	write_name(writer, &soa->primary, true);
	write_name(writer, &soa->mailbox, true);
	write_u32(writer, soa->serial);
	write_u32(writer, soa->refresh);
	write_u32(writer, soa->retry);
	write_u32(writer, soa->expire);
	write_u32(writer, soa->minimum);
}

static void write_data(struct dns_writer *writer, const struct dns_record *record)
{
	switch (record->type) {
	case DNS_TYPE_A: write_bytes(writer, record->address4, sizeof(record->address4)); return;
	case DNS_TYPE_AAAA: write_bytes(writer, record->address6, sizeof(record->address6)); return;
	case DNS_TYPE_CNAME:
	case DNS_TYPE_NS:
	case DNS_TYPE_PTR: write_name(writer, record->name, true); return;
	case DNS_TYPE_SRV:
		write_u16(writer, record->srv.priority);
		write_u16(writer, record->srv.weight);
		write_u16(writer, record->srv.port);
		write_name(writer, record->srv.target, false); /* RFC 2782: never compressed */
		return;
	case DNS_TYPE_SOA: write_soa(writer, record->soa); return;
	default: write_bytes(writer, record->raw.data, record->raw.length);
	}
}

void dns_write_record(struct dns_writer *writer, const struct dns_record *record)
{
	size_t data_at;

	if (!record->owner)
		write_u16(writer, QUESTION_POINTER);
	else
		write_name(writer, record->owner, true);
	write_u16(writer, record->type);
	write_u16(writer, DNS_CLASS_IN);
	write_u32(writer, record->ttl);
	write_u16(writer, 0);
	data_at = writer->length;
	write_data(writer, record);
	if (!writer->overflow)
		put_u16(writer->data + data_at - 2, (unsigned)(writer->length - data_at));
}

void dns_write_opt(struct dns_writer *writer, uint16_t payload_size, unsigned rcode, bool dnssec_ok)
{
	write_bytes(writer, "", 1);
	write_u16(writer, DNS_TYPE_OPT);
	write_u16(writer, payload_size);
	write_u32(writer, (uint32_t)(rcode >> 4) << 24 | (dnssec_ok ? OPT_DNSSEC_OK : 0));
	write_u16(writer, 0);
}
