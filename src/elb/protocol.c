/* Names of protocols, as target groups and listeners have them. */
#include "base/memory.h"
#include "elb/elb.h"
#include "store/fact_table.h"

static const char *const names[] = {
	[ELB_HTTP] = "HTTP",
	[ELB_HTTPS] = "HTTPS",
	[ELB_TCP] = "TCP",
	[ELB_TLS] = "TLS",
	[ELB_UDP] = "UDP",
	[ELB_TCP_UDP] = "TCP_UDP",
};
_Static_assert(LENGTH(names) == ELB_PROTOCOL_COUNT, "every protocol has a name");

const char *elb_protocol_name(enum elb_protocol protocol)
{
	return names[protocol];
}

bool elb_protocol_read(struct span name, enum elb_protocol *ret_protocol)
{
	int found = name.data ? fact_name_find(names, LENGTH(names), name) : -1;

	if (found < 0)
		return false;
	*ret_protocol = (enum elb_protocol)found;
	return true;
}
