/*
 * A Service whose traffic goes through a canary's proxy, to the canary, or back to the pods of the Release: only its
 * selector, the target ports and one annotation change. Pure.
 */
#ifndef RELEASE_CANARY_SERVICES_H
#define RELEASE_CANARY_SERVICES_H

#include "release/canary.h"

/* The Service as it should be, with its resourceVersion; NULL if it is like that already. */

/* To the proxy. */
const struct json *canary_service_to_proxy(struct arena *arena, const struct canary *canary,
	const struct canary_proxied_service *proxied, const struct json *live);
/* With the selector and the target ports of another Service: of its copy, or of the Release's manifest. keep: the
 * annotation stays, and the Release controller leaves the Service alone. */
const struct json *canary_service_like(struct arena *arena, const struct canary *canary,
	const struct json *other, const struct json *live, bool keep);
/* As it was recorded before it was taken over. */
const struct json *canary_service_as_recorded(struct arena *arena,
	const struct canary_proxied_service *proxied, const struct json *live);

/* The name in the annotation RELEASE_TAKEN_OVER_ANNOTATION; "" without. */
struct span canary_service_holder(const struct json *live);

#endif
