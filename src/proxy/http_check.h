/* Checks the HTTP members of a state: rules, actions, certificates. */
#ifndef PROXY_HTTP_CHECK_H
#define PROXY_HTTP_CHECK_H

#include "base/map.h"
#include "proxy/proxy.h"

/* For a listener whose own members are valid; groups: those of the state, by name. */
int proxy_http_check(const struct proxy_listener *listener, const struct map *groups,
	struct err *err);
/* Checks the routes of `where` ("listener 'web'", "listener 'web': rule 'api'"). */
int proxy_routes_check(const char *where, const struct proxy_route *routes, size_t route_count,
	const struct map *groups, struct err *err);

/* A name as HTTP has it, of a field or a cookie. */
bool proxy_is_token(const char *text);

#endif
