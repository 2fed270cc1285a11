/* The names of load balancers, for the DNS server: a zone_names whose context is a struct elb_context. */
#ifndef ELB_NAMES_H
#define ELB_NAMES_H

#include "cloudmap/zone.h"
#include "elb/elb.h"

enum dns_outcome elb_names(void *context, const struct store_view *view, struct span labels,
	uint16_t type, struct dns_answer *answer);

#endif
