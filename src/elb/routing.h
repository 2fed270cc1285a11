/*
 * From what listeners and rules have stored to what the data plane takes: actions, conditions, and what a
 * listener says about TLS. Pure: nothing is looked up but by the callback.
 *
 * What is read here is the normal form that the API has checked (elb.h), and nothing of it is beyond the
 * limits of proxy.h.
 */
#ifndef ELB_ROUTING_H
#define ELB_ROUTING_H

#include "elb/elb.h"
#include "proxy/proxy.h"

/* The name of a target group in the data plane: its key, "ACCOUNT/REGION/NAME". NULL: it is left out of the
 * action (a group that is in use cannot be deleted, so that is a caller's choice). */
typedef const char *(*elb_routing_group)(void *context, struct span target_group_arn);

/* The last action of the list, which is the one that answers; everything is in the arena. -EINVAL when the
 * list is not in normal form. A forward action may be left without routes. */
int elb_routing_action(const struct json *actions, elb_routing_group group, void *context,
	struct arena *arena, struct proxy_action *ret_action, struct err *err);

int elb_routing_conditions(const struct json *conditions, struct arena *arena,
	const struct proxy_condition **ret_conditions, size_t *ret_count, struct err *err);

/* The TLS settings of a listener. */
struct elb_routing_tls {
	const struct span
		*certificates;     /* ARNs for elb_certificate_read(), the default one first */
	size_t certificate_count;  /* at most PROXY_CERTIFICATES_MAX */
	struct proxy_tls versions; /* by its SslPolicy */
};
/* Without certificates if the listener's protocol has none. */
int elb_routing_tls(const struct store_object *listener, struct arena *arena,
	struct elb_routing_tls *ret_tls, struct err *err);

#endif
