/*
 * Collecting records, following chains, and the shape of replies.
 *
 * A reply holds whole RRsets or none: when the answer or the SOA of a negative one does not fit, the
 * reply has no records and TC, so that what was not asked by TCP cannot be amplified. Additional records
 * that do not fit are left out (RFC 2181, 9).
 */
#include "io/dns_answer.h"

#include <string.h>

#include "base/memory.h"

/* ---- collecting ---- */

void dns_answer_reset(struct dns_answer *answer)
{
	answer->owner = NULL;
	answer->record_count = 0;
	answer->name_count = 0;
	answer->raw_length = 0;
	answer->has_soa = false;
	answer->full = false;
}

static const struct dns_name *keep_name(struct dns_answer *answer, const struct dns_name *name)
{
	struct dns_name *kept;

	/* Records of one RRset follow each other, and so do a SRV and its addresses. */
	for (size_t i = answer->name_count; i-- > 0 && i + 2 >= answer->name_count;) {
		kept = &answer->names[i];
		if (kept->length == name->length &&
			memcmp(kept->bytes, name->bytes, name->length) == 0)
			return kept;
	}
	if (answer->name_count == DNS_ANSWER_NAMES_MAX) {
		answer->full = true;
		return NULL;
	}
	kept = &answer->names[answer->name_count++];
	dns_name_copy(kept, name);
	return kept;
}

/* NULL: no room. */
static struct dns_record *add(struct dns_answer *answer, enum dns_section section,
	const struct dns_name *owner, uint16_t type, uint32_t ttl)
{
	struct dns_answer_record *added;
	const struct dns_name *kept = answer->owner;

	if (owner)
		kept = keep_name(answer, owner);
	if (answer->full || answer->record_count == DNS_ANSWER_RECORDS_MAX) {
		answer->full = true;
		return NULL;
	}
	added = &answer->records[answer->record_count++];
	added->section = section;
	added->record.owner = kept;
	added->record.type = type;
	added->record.ttl = ttl;
	return &added->record;
}

void dns_answer_add_a(struct dns_answer *answer, enum dns_section section,
	const struct dns_name *owner, uint32_t ttl, const uint8_t address[4])
{
	struct dns_record *record = add(answer, section, owner, DNS_TYPE_A, ttl);

	if (record)
		memcpy(record->address4, address, sizeof(record->address4));
}

void dns_answer_add_aaaa(struct dns_answer *answer, enum dns_section section,
	const struct dns_name *owner, uint32_t ttl, const uint8_t address[16])
{
	struct dns_record *record = add(answer, section, owner, DNS_TYPE_AAAA, ttl);

	if (record)
		memcpy(record->address6, address, sizeof(record->address6));
}

void dns_answer_add_name(struct dns_answer *answer, enum dns_section section,
	const struct dns_name *owner, uint16_t type, uint32_t ttl, const struct dns_name *name)
{
	struct dns_record *record = add(answer, section, owner, type, ttl);

	if (record)
		record->name = keep_name(answer, name);
}

void dns_answer_add_srv(struct dns_answer *answer, enum dns_section section,
	const struct dns_name *owner, uint32_t ttl, uint16_t priority, uint16_t weight,
	uint16_t port, const struct dns_name *target)
{
	struct dns_record *record = add(answer, section, owner, DNS_TYPE_SRV, ttl);

	if (!record)
		return;
	record->srv.priority = priority;
	record->srv.weight = weight;
	record->srv.port = port;
	record->srv.target = keep_name(answer, target);
}

/* Room in the answer for data, or NULL. */
static char *keep_raw(struct dns_answer *answer, size_t length)
{
	if (DNS_ANSWER_RAW_MAX - answer->raw_length < length) {
		answer->full = true;
		return NULL;
	}
	answer->raw_length += length;
	return answer->raw + answer->raw_length - length;
}

void dns_answer_add_txt(struct dns_answer *answer, enum dns_section section,
	const struct dns_name *owner, uint32_t ttl, struct span text)
{
	size_t strings = text.length == 0 ? 1 : (text.length + UINT8_MAX - 1) / UINT8_MAX;
	char *raw = keep_raw(answer, text.length + strings);
	struct dns_record *record;
	size_t used = 0;

	if (!raw)
		return;
	record = add(answer, section, owner, DNS_TYPE_TXT, ttl);
	if (!record)
		return;
	record->raw = (struct span){raw, text.length + strings};
	for (size_t i = 0; i < strings; i++) {
		size_t part = text.length - used < UINT8_MAX ? text.length - used : UINT8_MAX;

		*raw++ = (char)part;
		memcpy(raw, text.data + used, part);
		raw += part;
		used += part;
	}
}

static void copy_soa(struct dns_soa *to, const struct dns_soa *from)
{
	dns_name_copy(&to->primary, &from->primary);
	dns_name_copy(&to->mailbox, &from->mailbox);
	to->serial = from->serial;
	to->refresh = from->refresh;
	to->retry = from->retry;
	to->expire = from->expire;
	to->minimum = from->minimum;
}

void dns_answer_add_soa(struct dns_answer *answer, const struct dns_name *owner, uint32_t ttl,
	const struct dns_soa *soa)
{
	struct dns_record *record = add(answer, DNS_SECTION_ANSWER, owner, DNS_TYPE_SOA, ttl);

	if (!record)
		return;
	copy_soa(&answer->soa_queried, soa);
	record->soa = &answer->soa_queried;
}

void dns_answer_set_soa(struct dns_answer *answer, const struct dns_name *zone, uint32_t ttl,
	const struct dns_soa *soa)
{
	answer->has_soa = true;
	answer->soa_ttl = ttl < soa->minimum ? ttl : soa->minimum;
	dns_name_copy(&answer->zone, zone);
	copy_soa(&answer->soa, soa);
}

/* ---- asking the zones ---- */

/* The CNAME that the last lookup gave for the name asked for, from `first` on. */
static const struct dns_name *alias_of(const struct dns_answer *answer, size_t first)
{
	for (size_t i = first; i < answer->record_count; i++) {
		const struct dns_answer_record *candidate = &answer->records[i];

		if (candidate->section == DNS_SECTION_ANSWER &&
			candidate->record.type == DNS_TYPE_CNAME)
			return candidate->record.name;
	}
	return NULL;
}

static bool chain_has(const struct dns_answer *answer, const struct dns_name *question,
	const struct dns_name *target)
{
	if (dns_name_equal(question, target))
		return true;
	for (size_t i = 0; i < answer->record_count; i++) {
		const struct dns_name *owner = answer->records[i].record.owner;

		if (owner && answer->records[i].record.type == DNS_TYPE_CNAME &&
			dns_name_equal(owner, target))
			return true;
	}
	return false;
}

/* Asks for the question's name and, as long as it is an alias, for what it stands for. *ret_left: the
 * name where the chain left our zones, or NULL. *ret_ours: the question's own name is ours. */
static enum dns_rcode follow(dns_lookup lookup, void *context, const struct dns_question *question,
	struct dns_answer *answer, const struct dns_name **ret_left, bool *ret_ours)
{
	const struct dns_name *name = &question->name;
	struct dns_name key;

	*ret_left = NULL;
	*ret_ours = false;
	for (unsigned hop = 0;; hop++) {
		size_t first = answer->record_count;
		enum dns_outcome outcome;
		const struct dns_name *alias;

		dns_name_copy_lower(&key, name);
		outcome = lookup(context, &key, question->type, answer);
		if (answer->full || outcome == DNS_FAILED)
			return DNS_RCODE_SERVFAIL;
		if (outcome == DNS_NOT_OURS) {
			*ret_left = name;
			return hop == 0 ? DNS_RCODE_REFUSED : DNS_RCODE_NOERROR;
		}
		*ret_ours = true;
		if (outcome == DNS_NO_SUCH_NAME)
			return DNS_RCODE_NXDOMAIN;
		if (question->type == DNS_TYPE_CNAME || question->type == DNS_TYPE_ANY)
			return DNS_RCODE_NOERROR;
		alias = alias_of(answer, first);
		if (!alias)
			return DNS_RCODE_NOERROR;
		if (hop + 1 == DNS_CHAIN_MAX || chain_has(answer, &question->name, alias))
			return DNS_RCODE_SERVFAIL;
		answer->owner = alias;
		answer->has_soa = false; /* of the next name, if it is negative */
		name = alias;
	}
}

/* RFC 8482: an ANY query is worth one small record, whatever the name has. */
static void make_minimal(struct dns_answer *answer)
{
	static const char hinfo[] = "\7RFC8482"; /* and an empty string: the NUL */
	const struct dns_name *alias = alias_of(answer, 0);
	struct dns_record *record;

	for (size_t i = 0; alias && i < answer->record_count; i++) {
		if (answer->records[i].record.type == DNS_TYPE_CNAME &&
			answer->records[i].section == DNS_SECTION_ANSWER) {
			answer->records[0] = answer->records[i];
			answer->record_count = 1;
			return;
		}
	}
	answer->record_count = 0;
	record = add(answer, DNS_SECTION_ANSWER, NULL, DNS_TYPE_HINFO, DNS_ANY_TTL);
	if (record)
		record->raw = (struct span){hinfo, sizeof(hinfo)};
}

/* Types that are no data of a name, and what asking for them gets. */
static enum dns_rcode rcode_of_question(const struct dns_question *question)
{
	if (question->class != DNS_CLASS_IN)
		return DNS_RCODE_REFUSED;
	switch (question->type) {
	case 0:
	case DNS_TYPE_OPT: return DNS_RCODE_FORMERR;
	case DNS_TYPE_AXFR:
	case DNS_TYPE_IXFR: return DNS_RCODE_REFUSED;
	case DNS_TYPE_TKEY:
	case DNS_TYPE_TSIG:
	case DNS_TYPE_MAILA:
	case DNS_TYPE_MAILB: return DNS_RCODE_NOTIMP;
	default: return DNS_RCODE_NOERROR;
	}
}

/* ---- replies ---- */

size_t dns_reply_max(const struct dns_transport *transport, const struct dns_query *query,
	size_t capacity)
{
	size_t most = transport->tcp ? DNS_MESSAGE_MAX : query->edns_size;

	if (!transport->tcp && most > transport->udp_max)
		most = transport->udp_max;
	return most < capacity ? most : capacity;
}

/* Starts a reply: header and question. Its OPT, for which room is kept, is written at the end. */
static void begin(struct dns_writer *writer, const struct dns_query *query, void *reply,
	size_t most)
{
	dns_writer_init(writer, reply, most - (query->edns ? DNS_OPT_SIZE : 0));
	dns_write_header(writer, 0, 0);
	if (query->has_question)
		dns_write_question(writer, &query->question);
}

static size_t finish(struct dns_writer *writer, const struct dns_transport *transport,
	const struct dns_query *query, enum dns_rcode rcode, uint16_t extra_flags,
	uint16_t counts[4])
{
	struct dns_header header = {.id = query->header.id};
	uint16_t kept = query->header.flags & (DNS_FLAG_OPCODE | DNS_FLAG_RD | DNS_FLAG_CD);

	header.flags = (uint16_t)(DNS_FLAG_QR | kept | extra_flags | (rcode & DNS_FLAG_RCODE));
	if (transport->recursive)
		header.flags |= DNS_FLAG_RA;
	memcpy(header.counts, counts, sizeof(header.counts));
	header.counts[DNS_SECTION_QUESTION] = query->has_question;
	if (query->edns) {
		writer->capacity += DNS_OPT_SIZE;
		dns_write_opt(writer, transport->payload_max, rcode, query->dnssec_ok);
		header.counts[DNS_SECTION_ADDITIONAL]++;
	}
	dns_writer_set_header(writer, &header);
	return writer->length;
}

size_t dns_write_bare(const struct dns_transport *transport, const struct dns_query *query,
	enum dns_rcode rcode, uint16_t extra_flags, void *reply, size_t capacity)
{
	struct dns_writer writer;
	uint16_t counts[4] = {0};

	begin(&writer, query, reply, dns_reply_max(transport, query, capacity));
	return finish(&writer, transport, query, rcode, extra_flags, counts);
}

/* Writes a section whole; false if it does not fit. */
static bool write_section(struct dns_writer *writer, const struct dns_answer *answer,
	enum dns_section section, uint16_t counts[4])
{
	for (size_t i = 0; i < answer->record_count; i++) {
		if (answer->records[i].section != section)
			continue;
		dns_write_record(writer, &answer->records[i].record);
		counts[section]++;
	}
	return !writer->overflow;
}

/* As much of the additional section as fits. */
static void write_additional(struct dns_writer *writer, const struct dns_answer *answer,
	uint16_t counts[4])
{
	for (size_t i = 0; i < answer->record_count; i++) {
		struct dns_writer_mark mark = dns_writer_mark(writer);

		if (answer->records[i].section != DNS_SECTION_ADDITIONAL)
			continue;
		dns_write_record(writer, &answer->records[i].record);
		if (writer->overflow) {
			dns_writer_back(writer, mark);
			return;
		}
		counts[DNS_SECTION_ADDITIONAL]++;
	}
}

/* Whether the chain's end has no data of the type asked for. */
static bool is_negative(const struct dns_answer *answer, uint16_t type, enum dns_rcode rcode)
{
	if (rcode == DNS_RCODE_NXDOMAIN)
		return true;
	for (size_t i = 0; i < answer->record_count; i++) {
		if (answer->records[i].section == DNS_SECTION_ANSWER &&
			(answer->records[i].record.type == type || type == DNS_TYPE_ANY))
			return false;
	}
	return true;
}

static size_t write_reply(const struct dns_transport *transport, const struct dns_query *query,
	const struct dns_answer *answer, enum dns_rcode rcode, void *reply, size_t capacity,
	bool *ret_truncated)
{
	struct dns_writer writer;
	uint16_t counts[4] = {0};
	bool fits;

	begin(&writer, query, reply, dns_reply_max(transport, query, capacity));
	fits = write_section(&writer, answer, DNS_SECTION_ANSWER, counts) &&
	       write_section(&writer, answer, DNS_SECTION_AUTHORITY, counts);
	if (fits && answer->has_soa && is_negative(answer, query->question.type, rcode)) {
		const struct dns_record soa = {.owner = &answer->zone,
			.type = DNS_TYPE_SOA,
			.ttl = answer->soa_ttl,
			.soa = &answer->soa};

		dns_write_record(&writer, &soa);
		counts[DNS_SECTION_AUTHORITY]++;
		fits = !writer.overflow;
	}
	*ret_truncated = !fits;
	if (!fits)
		return dns_write_bare(transport, query, rcode, DNS_FLAG_AA | DNS_FLAG_TC, reply,
			capacity);
	write_additional(&writer, answer, counts);
	return finish(&writer, transport, query, rcode, DNS_FLAG_AA, counts);
}

static void reply_bare(const struct dns_transport *transport, enum dns_rcode rcode, void *reply,
	size_t capacity, struct dns_result *result)
{
	result->rcode = rcode;
	result->negative = true;
	result->length = dns_write_bare(transport, &result->query, rcode, 0, reply, capacity);
}

void dns_answer_query(const struct dns_transport *transport, dns_lookup lookup, void *context,
	const void *data, size_t length, struct dns_answer *answer, void *reply,
	size_t reply_capacity, struct dns_result *ret_result)
{
	struct dns_query *query = &ret_result->query;
	const struct dns_name *left;
	enum dns_rcode rcode;
	bool ours;

	ret_result->verdict = DNS_SILENCE;
	ret_result->truncated = false;
	ret_result->negative = false;
	ret_result->length = 0;
	if (!dns_query_read(data, length, query, &rcode))
		return;
	ret_result->verdict = DNS_REPLY;
	if (rcode == DNS_RCODE_NOERROR)
		rcode = rcode_of_question(&query->question);
	if (rcode != DNS_RCODE_NOERROR) {
		reply_bare(transport, rcode, reply, reply_capacity, ret_result);
		return;
	}
	dns_answer_reset(answer);
	rcode = follow(lookup, context, &query->question, answer, &left, &ours);
	if (left && transport->may_forward && query->header.flags & DNS_FLAG_RD) {
		ret_result->verdict = DNS_FORWARD;
		dns_name_copy(&ret_result->forward_name, left);
		return;
	}
	if (!ours || rcode == DNS_RCODE_SERVFAIL) {
		reply_bare(transport, rcode, reply, reply_capacity, ret_result);
		return;
	}
	if (query->question.type == DNS_TYPE_ANY && rcode == DNS_RCODE_NOERROR)
		make_minimal(answer);
	ret_result->rcode = rcode;
	ret_result->negative = is_negative(answer, query->question.type, rcode);
	ret_result->length = write_reply(transport, query, answer, rcode, reply, reply_capacity,
		&ret_result->truncated);
}

/* ---- answers of an upstream server ---- */

/* At least one string, each behind its length. */
static bool strings_are_whole(const uint8_t *data, size_t length)
{
	size_t at = 0;

	while (at < length)
		at += 1 + (size_t)data[at];
	return length > 0 && at == length;
}

/* One record of an upstream's answer in our own words; only types whose data we can take apart or that
 * hold no names. False: left out. */
static bool write_foreign(struct dns_writer *writer, const uint8_t *data, size_t length,
	const struct dns_record_view *view)
{
	struct dns_reader reader = {data, length, view->data_at};
	struct dns_record record = {.owner = &view->owner, .type = view->type, .ttl = view->ttl};
	struct dns_name name;

	switch (view->type) {
	case DNS_TYPE_CNAME:
	case DNS_TYPE_NS:
	case DNS_TYPE_PTR:
		if (!dns_read_name(&reader, &name) ||
			reader.at != view->data_at + view->data_length)
			return false;
		record.name = &name;
		break;
	case DNS_TYPE_SRV:
		if (!dns_read_u16(&reader, &record.srv.priority) ||
			!dns_read_u16(&reader, &record.srv.weight) ||
			!dns_read_u16(&reader, &record.srv.port) ||
			!dns_read_name(&reader, &name) ||
			reader.at != view->data_at + view->data_length)
			return false;
		record.srv.target = &name;
		break;
	case DNS_TYPE_A:
		if (view->data_length != sizeof(record.address4))
			return false;
		memcpy(record.address4, data + view->data_at, sizeof(record.address4));
		break;
	case DNS_TYPE_AAAA:
		if (view->data_length != sizeof(record.address6))
			return false;
		memcpy(record.address6, data + view->data_at, sizeof(record.address6));
		break;
	case DNS_TYPE_TXT:
		if (!strings_are_whole(data + view->data_at, view->data_length))
			return false;
		record.raw = (struct span){(const char *)data + view->data_at, view->data_length};
		break;
	default: return false;
	}
	dns_write_record(writer, &record);
	return true;
}

void dns_chain_of(const struct dns_answer *answer, struct dns_chain *ret_chain)
{
	ret_chain->count = 0;
	for (size_t i = 0; i < answer->record_count && ret_chain->count < DNS_CHAIN_MAX; i++) {
		const struct dns_record *record = &answer->records[i].record;

		if (record->type != DNS_TYPE_CNAME ||
			answer->records[i].section != DNS_SECTION_ANSWER)
			continue;
		dns_name_copy(&ret_chain->targets[ret_chain->count], record->name);
		ret_chain->ttls[ret_chain->count++] = record->ttl;
	}
}

static size_t write_joined(const struct dns_transport *transport, const struct dns_query *query,
	const struct dns_chain *chain, struct dns_reader *reader, const struct dns_header *header,
	void *reply, size_t capacity)
{
	struct dns_writer writer;
	struct dns_record_view view;
	uint16_t counts[4] = {0};
	enum dns_rcode rcode = header->flags & DNS_FLAG_RCODE;

	begin(&writer, query, reply, dns_reply_max(transport, query, capacity));
	for (size_t i = 0; i < chain->count; i++) {
		const struct dns_record record = {.owner = i == 0 ? NULL : &chain->targets[i - 1],
			.type = DNS_TYPE_CNAME,
			.ttl = chain->ttls[i],
			.name = &chain->targets[i]};

		dns_write_record(&writer, &record);
		counts[DNS_SECTION_ANSWER]++;
	}
	for (unsigned i = 0; i < header->counts[DNS_SECTION_ANSWER]; i++) {
		if (!dns_read_record(reader, &view))
			return 0;
		if (view.class == DNS_CLASS_IN &&
			write_foreign(&writer, reader->data, reader->length, &view))
			counts[DNS_SECTION_ANSWER]++;
	}
	if (writer.overflow)
		return dns_write_bare(transport, query, rcode, DNS_FLAG_TC, reply, capacity);
	return finish(&writer, transport, query, rcode, 0, counts);
}

/* Where the OPT of a message begins, or its end; counts are those of what is before it. An OPT is the
 * last record in all that servers send; what should follow it is left out. */
static bool find_end(struct dns_reader *reader, struct dns_header *header, size_t *ret_end)
{
	struct dns_record_view view;

	for (int section = DNS_SECTION_ANSWER; section <= DNS_SECTION_ADDITIONAL; section++) {
		for (unsigned i = 0; i < header->counts[section]; i++) {
			size_t before = reader->at;

			if (!dns_read_record(reader, &view))
				return false;
			if (view.type != DNS_TYPE_OPT || section != DNS_SECTION_ADDITIONAL)
				continue;
			header->counts[section] = (uint16_t)i;
			*ret_end = before;
			return true;
		}
	}
	*ret_end = reader->at;
	return true;
}

/* Names that point into the header would change with it. */
static bool is_whole(const void *message, size_t length)
{
	struct dns_reader reader = {message, length, 0};
	struct dns_header header;
	struct dns_question question;
	struct dns_record_view view;

	if (!dns_read_header(&reader, &header) || !dns_read_question(&reader, &question))
		return false;
	for (int section = DNS_SECTION_ANSWER; section <= DNS_SECTION_ADDITIONAL; section++) {
		for (unsigned i = 0; i < header.counts[section]; i++) {
			if (!dns_read_record(&reader, &view))
				return false;
		}
	}
	return reader.at == length;
}

size_t dns_write_forwarded(const struct dns_transport *transport, const struct dns_query *query,
	const struct dns_chain *chain, const void *upstream, size_t upstream_length, void *reply,
	size_t capacity)
{
	struct dns_reader reader = {upstream, upstream_length, 0};
	struct dns_header header;
	struct dns_question question;
	struct dns_writer writer;
	size_t records_at, end;
	enum dns_rcode rcode;

	if (!dns_read_header(&reader, &header) || header.counts[DNS_SECTION_QUESTION] != 1 ||
		!dns_read_question(&reader, &question))
		return 0;
	if (chain)
		return write_joined(transport, query, chain, &reader, &header, reply, capacity);
	/* The records stay as they are: pointers in them count from the header, and the question that
	 * we write is as long as the one that was there. */
	if (!dns_name_equal(&question.name, &query->question.name))
		return 0;
	rcode = header.flags & DNS_FLAG_RCODE;
	records_at = reader.at;
	if (!find_end(&reader, &header, &end))
		return 0;
	begin(&writer, query, reply, dns_reply_max(transport, query, capacity));
	if (writer.length != records_at || end > writer.capacity)
		return dns_write_bare(transport, query, rcode, DNS_FLAG_TC, reply, capacity);
	memcpy(writer.data + records_at, (const uint8_t *)upstream + records_at, end - records_at);
	writer.length = end;
	end = finish(&writer, transport, query, rcode, 0, header.counts);
	return is_whole(reply, end) ? end : 0;
}
