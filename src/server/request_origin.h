/*
 * Requests that a web page made a browser send. Without authentication nothing else distinguishes them from those of a
 * program on this machine, so they are recognized by their headers:
 *
 * - Host: with DNS rebinding a page's own name resolves to this server. A Host that is a name must be one of the
 *   server's names. An IP address cannot be rebound.
 * - Origin and Sec-Fetch-Site: a page cannot set or remove them. They must not be those of another site.
 */
#ifndef SERVER_REQUEST_ORIGIN_H
#define SERVER_REQUEST_ORIGIN_H

#include <limits.h>

#include "base/err.h"
#include "io/http_server.h"

#define REQUEST_ORIGIN_LIST_MAX 64 /* names, and origins */

struct server_config;

struct request_origin_rules {
	struct span names[REQUEST_ORIGIN_LIST_MAX]; /* "*": any; "*.NAME": those below it */
	size_t name_count;
	struct span origins[REQUEST_ORIGIN_LIST_MAX]; /* besides the server's own */
	size_t origin_count;
	char listen_name[HOST_NAME_MAX + 1]; /* "" if `listen` has an IP address */
	char machine_name[HOST_NAME_MAX + 1];
	struct span domain; /* slipway's own names are below it */
};

/* From http.hosts, http.origins, listen and dns.domain, whose text must live as long as the rules. */
int request_origin_read(const struct server_config *config, struct request_origin_rules *ret_rules,
	struct err *err);

/* NULL if the server may be called by this Host, else why not. */
const char *request_origin_check_host(const struct request_origin_rules *rules,
	const struct http_request *request);
/* NULL if the request is not that of a page of another site, else why it is. */
const char *request_origin_check_page(const struct request_origin_rules *rules,
	const struct http_request *request);

#endif
