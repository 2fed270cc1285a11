/*
 * Elastic Load Balancing v2: load balancers, target groups, targets, listeners and rules, as API
 * (query/XML, 2015-12-01) and as objects. plane.h makes traffic flow.
 *
 *     load_balancer  ACCOUNT/REGION/NAME                       ID: 16 random hex digits
 *     target_group   ACCOUNT/REGION/NAME
 *     target         ACCOUNT/REGION/GROUPNAME/TARGETID/PORT    TARGETID: an address, or "i-…"
 *     listener       ACCOUNT/REGION/BALANCERNAME/LISTENERID
 *     rule           ACCOUNT/REGION/BALANCERNAME/LISTENERID/RULEID
 *
 * The API text of each is what Describe shows of it (in PascalCase, JSON; without tags and without what is
 * derived, such as the LoadBalancerArns of a target group). Attributes and tags are in the private text:
 * {"attributes":{"deregistration_delay.timeout_seconds":"300",…},"tags":[…],facts…}.
 *
 * Actions and conditions are stored in one normal form: a forward action has a ForwardConfig with all its
 * groups and weights (and TargetGroupArn when it is one group), a condition has its …Config (and Values where
 * AWS shows both).
 */
#ifndef ELB_ELB_H
#define ELB_ELB_H

#include "aws/service.h"
#include "control/controller.h"
#include "proxy/probe.h"

extern const struct aws_service elb_service;
extern const struct store_kind *const elb_kinds[];
extern const size_t elb_kind_count;

extern const struct store_kind elb_load_balancer_kind;
extern const struct store_kind elb_target_group_kind;
extern const struct store_kind elb_target_kind;
extern const struct store_kind elb_listener_kind;
extern const struct store_kind elb_rule_kind;

/* The server settings that handlers use: the context of the service. */
struct elb_context {
	struct span domain; /* DNS names end with it: "slipway.internal" */
	/* Where load balancers get their addresses from: "127.192.0.0/16": each one its own; a single
	 * address ("192.0.2.7"): all of them that one, and ports must differ. */
	struct span addresses;
	const char *certificates; /* folder: NAME.pem is certificate/NAME; NULL: there are none */
	/* For checking before a write whether a port can be bound; NULL: no check. */
	struct store *store;
	/* The address of an instance ("i-…"), as text; "" if unknown. Set by its provider. */
	struct span (*instance_address)(const struct store_view *view, struct span scope,
		struct span instance, struct arena *arena);
};

enum elb_type { ELB_APPLICATION, ELB_NETWORK };
enum elb_protocol { /* of target groups and listeners */
	ELB_HTTP,
	ELB_HTTPS,
	ELB_TCP,
	ELB_TLS,
	ELB_UDP,
	ELB_TCP_UDP,
	ELB_PROTOCOL_COUNT
};
const char *elb_protocol_name(enum elb_protocol protocol);
bool elb_protocol_read(struct span name, enum elb_protocol *ret_protocol);

enum elb_load_balancer_state { ELB_PROVISIONING, ELB_ACTIVE, ELB_ACTIVE_IMPAIRED, ELB_FAILED };

enum elb_load_balancer_index {
	ELB_LOAD_BALANCER_BY_ADDRESS,  /* "ADDRESS": over all accounts */
	ELB_LOAD_BALANCER_BY_DNS_NAME, /* its DNSName in lower case */
};
struct elb_load_balancer_facts {
	struct span name, id;
	enum elb_type type;
	struct span address;  /* where its listeners listen */
	struct span dns_name; /* in lower case */
	enum elb_load_balancer_state state;
	int64_t created_ms;
};

enum elb_target_group_index {
	ELB_TARGET_GROUP_BY_ID, /* "ACCOUNT/REGION/NAME/ID": not needed by name, but exact for an ARN */
};
struct elb_target_group_facts {
	struct span name, id;
	enum elb_protocol protocol;
	int64_t port;
	bool instances; /* target type instance; else ip */
	bool ipv6;      /* addresses of targets; else IPv4 */
	bool proxy_v2;  /* proxy_protocol_v2.enabled */
	int64_t deregistration_delay_ms;
	int64_t slow_start_ms;
	int64_t created_ms;
};

/* As DescribeTargetHealth names them. */
#define ELB_TARGET_STATES(X)                                                                       \
	X(INITIAL, "initial")                                                                      \
	X(HEALTHY, "healthy")                                                                      \
	X(UNHEALTHY, "unhealthy")                                                                  \
	X(UNUSED, "unused")                                                                        \
	X(DRAINING, "draining")                                                                    \
	X(UNAVAILABLE, "unavailable")
#define ELB_ENUM_(name, text) ELB_TARGET_##name,
enum elb_target_state { ELB_TARGET_STATES(ELB_ENUM_) ELB_TARGET_STATE_COUNT };
#undef ELB_ENUM_

enum elb_target_index {
	ELB_TARGET_BY_OWNER, /* the owner; only those that have one */
	ELB_TARGET_BY_STATE, /* "ACCOUNT/REGION/GROUPNAME/STATE" */
};
/* Desired state (registered, draining) and observed state (the rest). Only the plane writes the
 * latter; it deletes a draining target when nothing uses it any more or its time is over. */
struct elb_target_facts {
	struct span group; /* name */
	struct span id;
	int64_t port;
	struct span owner; /* the key of the ECS task that registered it; "": another client */
	enum elb_target_state state;
	enum probe_reason reason;
	int64_t code; /* with MISMATCH */
	int64_t registered_ms;
	int64_t changed_ms;     /* of state */
	int64_t drain_until_ms; /* of draining */
};

enum elb_listener_index {
	ELB_LISTENER_BY_PORT,        /* "ACCOUNT/REGION/BALANCERNAME/PORT" */
	ELB_LISTENER_BY_CERTIFICATE, /* "ARN" */
	/* "ACCOUNT/REGION/GROUPNAME" once for each group of its default action */
	ELB_LISTENER_BY_GROUP,
};
struct elb_listener_facts {
	struct span load_balancer; /* name */
	struct span id;
	enum elb_protocol protocol;
	int64_t port;
	int64_t created_ms;
};

#define ELB_PRIORITY_MAX 50000
enum elb_rule_index {
	ELB_RULE_BY_PRIORITY, /* "ACCOUNT/REGION/BALANCERNAME/LISTENERID/PRIORITY", 5 digits */
	ELB_RULE_BY_GROUP,    /* "ACCOUNT/REGION/GROUPNAME" once for each group of its actions */
};
/* The default rule is the listener's default action and no object: DescribeRules makes it up, with the
 * listener's id as its own. */
struct elb_rule_facts {
	struct span load_balancer, listener, id;
	int64_t priority;
};

#define ELB_FACTS_(name)                                                                           \
	static inline const struct elb_##name##_facts                                              \
		*elb_##name##_facts(const struct store_object *object)                             \
	{                                                                                          \
		return object->facts;                                                              \
	}
ELB_FACTS_(load_balancer)
ELB_FACTS_(target_group)
ELB_FACTS_(target)
ELB_FACTS_(listener)
ELB_FACTS_(rule)
#undef ELB_FACTS_

/* ARNs, from keys and ids. */
struct span elb_load_balancer_arn(struct arena *arena, const struct store_object *load_balancer);
struct span elb_target_group_arn(struct arena *arena, const struct store_object *group);
/* "listener/app/NAME/ID/LISTENERID" with the load balancer it belongs to. */
struct span elb_listener_arn(struct arena *arena, const struct store_object *load_balancer,
	struct span listener_id);
struct span elb_rule_arn(struct arena *arena, const struct store_object *load_balancer,
	struct span listener_id, struct span rule_id);

/* The object of an ARN in the scope "ACCOUNT/REGION/"; NULL if none has this name and ARN. */
const struct store_object *elb_load_balancer_find(const struct store_view *view, struct span scope,
	struct span arn);
const struct store_object *elb_target_group_find(const struct store_view *view, struct span scope,
	struct span arn);
const struct store_object *elb_listener_find(const struct store_view *view, struct span scope,
	struct span arn);
const struct store_object *elb_rule_find(const struct store_view *view, struct span scope,
	struct span arn);
/* The plane's: Describe shows it; the reason, too, if it is not "". No change if it is that. */
int elb_load_balancer_set_state(struct store_transaction *transaction,
	const struct store_object *load_balancer, enum elb_load_balancer_state state,
	struct span reason, struct arena *arena, struct err *err);
/* Whether a listener or rule sends traffic there. */
bool elb_target_group_is_used(const struct store_view *view, const struct store_object *group);
/* An attribute as it is set, or its default; "" if there is no such one. */
struct span elb_attribute(const struct store_object *object, const char *name, struct arena *arena);

/* ---- targets: for the API, the plane, and ECS inside its transactions ---- */

/* Registers a target; one that drains is registered anew. owner: see the facts; another one than before
 * takes it over, and it begins anew. No change if it is there otherwise. port 0: that of the group.
 * -EINVAL with the reason: not an address (or "i-…"; in groups of instances either will do), or too many; that an
 * instance is known is for the caller to check. */
int elb_target_register(struct store_transaction *transaction, const struct store_object *group,
	struct span id, int64_t port, struct span owner, int64_t now_ms, struct arena *arena,
	struct err *err);
/* Begins to drain it: no new traffic from now on. It is gone when elb_target_find() does not find it any
 * more: at once, if nothing sends traffic to the group. *ret_found false: it was not there. */
int elb_target_deregister(struct store_transaction *transaction, struct span group_key,
	struct span id, int64_t port, int64_t now_ms, struct arena *arena, bool *ret_found,
	struct err *err);
/* Removes a target at once, without a delay: its program is dead. No change if absent. */
int elb_target_remove(struct store_transaction *transaction, struct span group_key, struct span id,
	int64_t port, struct err *err);
const struct store_object *elb_target_find(const struct store_view *view, struct span group_key,
	struct span id, int64_t port, struct arena *arena);
/* The plane's: state, reason and code as found out. No change if they are that, or if it drains. */
int elb_target_set_state(struct store_transaction *transaction, const struct store_object *target,
	enum elb_target_state state, enum probe_reason reason, int64_t code, int64_t now_ms,
	struct arena *arena, struct err *err);
const char *elb_target_state_name(enum elb_target_state state);

#endif
