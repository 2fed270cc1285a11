/*
 * The answers for a service's name, compiled from its instances: addresses in wire format, host
 * names, and the selected instances. Immutable; rebuilt when an instance changes or when one
 * becomes unhealthy by time.
 *
 * Selection. Of the instances that have the record: the healthy ones; all of them if none is
 * healthy. Of those, the ones with a weight above 0; all of them if none has.
 *
 * Hosts. A SRV record names its instance's host, INSTANCE.SERVICE.NAMESPACE. An instance id that is not made
 * of labels that hosts may have, or that differs from another one in case only, gets a label by its hash.
 */
#ifndef CLOUDMAP_ZONE_ANSWERS_H
#define CLOUDMAP_ZONE_ANSWERS_H

#include "base/map.h"
#include "cloudmap/cloudmap.h"
#include "io/dns_answer.h"
#include "io/dns_choice.h"

enum zone_record { ZONE_A, ZONE_AAAA, ZONE_SRV, ZONE_CNAME, ZONE_RECORD_COUNT };

struct zone_instance {
	bool has_ipv4, has_ipv6;
	uint8_t ipv4[4];
	uint8_t ipv6[16];
	uint16_t port;
	/* Labels before the service's name, as on the wire; length 0: it can have no name. */
	const uint8_t *host;
	uint8_t host_length;
	const struct dns_name *cname; /* NULL: none */
};

/* The instances that have one type of record. */
struct zone_choice {
	uint32_t *instances;
	struct dns_candidate *candidates; /* of the same number */
	size_t count;
	uint32_t *eligible; /* those to be given */
	size_t eligible_count;
};

struct zone_answers {
	struct arena *arena; /* this and all below */
	struct dns_name service;
	struct zone_instance *instances;
	size_t count;
	struct zone_choice choices[ZONE_RECORD_COUNT];
	struct map hosts; /* labels in lower case → struct zone_instance; with SRV only */
	bool dotted;      /* some host has more than one label */
	int64_t until_ms; /* from then on another instance is unhealthy; INT64_MAX: never */
};

/* Of the instances that `view` has of the service. name: the service's whole name, as it was spelt. */
struct zone_answers *zone_answers_new(const struct store_view *view,
	const struct store_object *service, const struct dns_name *name, int64_t now_ms);
void zone_answers_free(struct zone_answers *answers); /* NULL is fine */

/* The instance whose host's labels (in lower case) these are, or NULL. */
const struct zone_instance *zone_answers_host(const struct zone_answers *answers,
	struct span labels);
/* Does a host's name end in these labels, with others before them? */
bool zone_answers_has_below(const struct zone_answers *answers, struct span labels);

/* The name of an instance's host. */
void zone_host_name(const struct zone_answers *answers, const struct zone_instance *instance,
	struct dns_name *ret_name);

#endif
