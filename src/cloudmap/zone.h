/*
 * Name resolution: the lookup function of the DNS server over the store.
 *
 * Authoritative for every private DNS namespace of Cloud Map, and for slipway's own domain, below which
 *
 *     api.DOMAIN, data-api.DOMAIN   are this server (SDKs put "data-" before the host of DiscoverInstances)
 *     ns.DOMAIN                     is the DNS server itself
 *     NAME.REGION.elb.DOMAIN        are load balancers, asked for through a function: elb/ comes later
 *
 * Two namespaces of one name (of different accounts or regions) are one zone; the older one answers. A name
 * is in the namespace with the longest name that it ends in.
 *
 * Answers include every change that was durable when the query arrived: a client that received the
 * answer to a registration or deregistration sees it in DNS.
 */
#ifndef CLOUDMAP_ZONE_H
#define CLOUDMAP_ZONE_H

#include "control/runner.h"
#include "io/dns_answer.h"
#include "store/store.h"

/* Other names below the domain. `labels` is the part before DOMAIN: "web-123.us-east-1.elb". Adds the
 * addresses; DNS_NO_SUCH_NAME if it has none of that name. */
typedef enum dns_outcome (*zone_names)(void *context, const struct store_view *view,
	struct span labels, uint16_t type, struct dns_answer *answer);

struct zone_config {
	struct store *store;
	struct runner *runner; /* for the clock */
	struct span domain;    /* "slipway.internal"; "": none */
	/* Of api.DOMAIN: literal IPv4 or IPv6 address. */
	struct span api_address;
	struct span dns_address; /* of ns.DOMAIN; "": api_address */
	zone_names names;        /* NULL: none */
	void *names_context;
};

struct zone;
int zone_open(const struct zone_config *config, struct zone **ret_zone, struct err *err);
void zone_close(struct zone *zone); /* after the DNS server; NULL is fine */

/* A dns_lookup; context is the zone. */
enum dns_outcome zone_lookup(void *zone, const struct dns_name *name, uint16_t type,
	struct dns_answer *answer);

#endif
