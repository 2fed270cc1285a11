/* The DNS settings of a service: which records there may be together, and what can change. */
#ifndef CLOUDMAP_SERVICE_DNS_H
#define CLOUDMAP_SERVICE_DNS_H

#include "cloudmap/kinds.h"

/* Reads DnsConfig, Type and the health checks of CreateService into facts. *ret_dns is the DnsConfig to
 * show; NULL: there is none. */
int cloudmap_service_dns_read(struct aws_request *request,
	const struct cloudmap_namespace_facts *namespace_, struct cloudmap_service_facts *facts,
	const struct json **ret_dns);
/* Takes over the TTLs of the records; their types stay. */
int cloudmap_service_dns_change(struct aws_request *request, const struct json *records,
	struct cloudmap_service_facts *facts, struct json *document);
/* HealthCheckConfig of UpdateService. */
int cloudmap_service_dns_refuse_checks(struct aws_request *request, const struct json *config);

#endif
