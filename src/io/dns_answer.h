/*
 * From a DNS query to its answer, without sockets: what a server says, given what the zones hold.
 *
 * The zones are behind a lookup function. It is asked for one name (in lower case) and one type and
 * adds the records that it has; names and data are copied, so it may read them under a lock or from a
 * snapshot that dies when it returns. It is called on several threads at once and must be cheap.
 *
 *     static enum dns_outcome lookup(void *context, const struct dns_name *name, uint16_t type,
 *             struct dns_answer *answer)
 *     {
 *             struct zone *zone = context;
 *
 *             if (!dns_name_is_below(name, &zone->name))
 *                     return DNS_NOT_OURS;
 *             dns_answer_set_soa(answer, &zone->name, zone->ttl, &zone->soa);
 *             if (!zone_has(zone, name))
 *                     return DNS_NO_SUCH_NAME;
 *             if (type == DNS_TYPE_A)
 *                     dns_answer_add_a(answer, DNS_SECTION_ANSWER, NULL, 60, zone->address);
 *             return DNS_FOUND;
 *     }
 *
 * A name whose records are CNAME adds that one for every type; the chain is then followed here, by
 * asking again for its target. A negative answer carries the zone's SOA, for which its minimum says how
 * long it may be kept (RFC 2308). NODATA is DNS_FOUND without an answer record; names between the zone
 * and a name that exists exist, too. Type ANY is asked to learn whether the name exists, and answered
 * with its CNAME or one HINFO (RFC 8482).
 */
#ifndef IO_DNS_ANSWER_H
#define IO_DNS_ANSWER_H

#include "base/random.h"
#include "io/dns_message.h"

#define DNS_ANSWER_RECORDS_MAX 128
#define DNS_ANSWER_NAMES_MAX 96 /* names copied: owners and targets */
#define DNS_ANSWER_RAW_MAX 2048 /* data of TXT and the like */
#define DNS_CHAIN_MAX 8         /* CNAMEs followed for one query */
#define DNS_ANY_TTL 3600

enum dns_outcome {
	DNS_FOUND,        /* the name exists; with no record of the type it is NODATA */
	DNS_NO_SUCH_NAME, /* NXDOMAIN */
	DNS_NOT_OURS,     /* in none of the zones: refused or forwarded */
	DNS_FAILED,       /* SERVFAIL: the zones cannot be read now */
};

struct dns_answer_record {
	struct dns_record record;
	enum dns_section section;
};

/* Filled by the functions below only. */
struct dns_answer {
	struct random *random; /* for the lookup function: of this thread, fast, not for secrets */
	const struct dns_name *owner; /* of the name asked for now; NULL: the question's */
	struct dns_answer_record records[DNS_ANSWER_RECORDS_MAX];
	size_t record_count;
	struct dns_name names[DNS_ANSWER_NAMES_MAX];
	size_t name_count;
	char raw[DNS_ANSWER_RAW_MAX];
	size_t raw_length;
	bool has_soa;
	struct dns_name zone;
	uint32_t soa_ttl;
	struct dns_soa soa;
	struct dns_soa soa_queried; /* of a SOA in the answer section */
	bool full;                  /* something did not fit: the answer is SERVFAIL */
};

typedef enum dns_outcome (*dns_lookup)(void *context, const struct dns_name *name, uint16_t type,
	struct dns_answer *answer);

/* For lookup functions. The owner NULL is the name that was asked for, in the client's spelling. */
void dns_answer_add_a(struct dns_answer *answer, enum dns_section section,
	const struct dns_name *owner, uint32_t ttl, const uint8_t address[4]);
void dns_answer_add_aaaa(struct dns_answer *answer, enum dns_section section,
	const struct dns_name *owner, uint32_t ttl, const uint8_t address[16]);
/* type: CNAME, NS or PTR. */
void dns_answer_add_name(struct dns_answer *answer, enum dns_section section,
	const struct dns_name *owner, uint16_t type, uint32_t ttl, const struct dns_name *name);
void dns_answer_add_srv(struct dns_answer *answer, enum dns_section section,
	const struct dns_name *owner, uint32_t ttl, uint16_t priority, uint16_t weight,
	uint16_t port, const struct dns_name *target);
/* One string of at most 255 bytes; longer text is cut into several of the same record. */
void dns_answer_add_txt(struct dns_answer *answer, enum dns_section section,
	const struct dns_name *owner, uint32_t ttl, struct span text);
/* For a question about the SOA. */
void dns_answer_add_soa(struct dns_answer *answer, const struct dns_name *owner, uint32_t ttl,
	const struct dns_soa *soa);
/* The zone that the name is in; used if the answer turns out to be negative. */
void dns_answer_set_soa(struct dns_answer *answer, const struct dns_name *zone, uint32_t ttl,
	const struct dns_soa *soa);

/* ---- for servers ---- */

struct dns_transport {
	bool tcp;
	bool may_forward;     /* the client may use forwarding for names that are not ours */
	bool recursive;       /* forwarding is configured at all: RA is set */
	uint16_t udp_max;     /* of an answer, whatever the client could take */
	uint16_t payload_max; /* our payload size in EDNS */
};

enum dns_verdict {
	DNS_SILENCE, /* not a query: nothing is sent */
	DNS_REPLY,
	DNS_FORWARD, /* ask upstream for *forward_name; nothing was written */
};

/* The server's decision about a query, for limits and statistics. */
struct dns_result {
	enum dns_verdict verdict;
	enum dns_rcode rcode;
	bool truncated;
	size_t length;          /* of the reply */
	struct dns_query query; /* valid if not DNS_SILENCE */
	/* DNS_FORWARD: the question's name, or where a chain of CNAMEs left our zones; those are then
	 * in the answer: see dns_chain_of(). */
	struct dns_name forward_name;
	bool negative;
};

/* Answers the query into `reply`. `answer` is memory that a thread keeps for it; `random` is set. */
void dns_answer_query(const struct dns_transport *transport, dns_lookup lookup, void *context,
	const void *data, size_t length, struct dns_answer *answer, void *reply,
	size_t reply_capacity, struct dns_result *ret_result);

/* Empties the answer, keeping `random`. */
void dns_answer_reset(struct dns_answer *answer);

/* How long a reply to this client may be. */
size_t dns_reply_max(const struct dns_transport *transport, const struct dns_query *query,
	size_t capacity);

/* A reply without records: an error, or TC for a client that shall come by TCP. Returns its length. */
size_t dns_write_bare(const struct dns_transport *transport, const struct dns_query *query,
	enum dns_rcode rcode, uint16_t extra_flags, void *reply, size_t capacity);

/* The CNAMEs that led from the question out of our zones. */
struct dns_chain {
	size_t count;
	struct dns_name targets[DNS_CHAIN_MAX]; /* the owner of the first is the question's name */
	uint32_t ttls[DNS_CHAIN_MAX];
};

void dns_chain_of(const struct dns_answer *answer, struct dns_chain *ret_chain);

/* Writes an upstream's answer for this client, after the chain (NULL: none) that led to the queried
 * name. Returns 0 if the upstream's message is not usable. */
size_t dns_write_forwarded(const struct dns_transport *transport, const struct dns_query *query,
	const struct dns_chain *chain, const void *upstream, size_t upstream_length, void *reply,
	size_t capacity);

#endif
