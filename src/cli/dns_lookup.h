/* One question to one DNS server, by UDP and, if the answer is too long for that, by TCP. */
#ifndef CLI_DNS_LOOKUP_H
#define CLI_DNS_LOOKUP_H

#include "io/dns_message.h"

/* "AAAA", in any case. */
bool dns_lookup_type(const char *text, uint16_t *ret_type);
/* Prints the records of the answer, one a line: name, TTL, type, data. -ENOENT: the name does not exist, or
 * has no such records. */
int dns_lookup_print(const char *address, uint16_t port, const struct dns_name *name, uint16_t type,
	struct err *err);

#endif
