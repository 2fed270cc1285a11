/* The part of a state's check that is about HTTP: rules, actions, certificates. */
#ifndef PROXY_HTTP_CHECK_H
#define PROXY_HTTP_CHECK_H

#include "base/map.h"
#include "proxy/proxy.h"

/* Of a listener whose own members are right; groups: those of the state, by name. */
int proxy_http_check(const struct proxy_listener *listener, const struct map *groups,
	struct err *err);
/* What the routes of `where` ("listener 'web'", "listener 'web': rule 'api'") say. */
int proxy_routes_check(const char *where, const struct proxy_route *routes, size_t route_count,
	const struct map *groups, struct err *err);

/* A name as HTTP has it, of a field or a cookie. */
bool proxy_is_token(const char *text);

#endif
