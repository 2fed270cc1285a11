/*
 * AWS Cloud Map: namespaces, services, instances, as API (JSON 1.1, Route53AutoNaming_v20170314) and as
 * objects. What the names resolve to is zone.h's business.
 *
 *     namespace   ACCOUNT/REGION/ns-ID
 *     service     ACCOUNT/REGION/srv-ID
 *     instance    ACCOUNT/REGION/srv-ID/INSTANCE
 *     operation   ACCOUNT/REGION/ID
 *
 * Everything that an asynchronous operation does is done in the transaction that answers it; the operation
 * that it leaves behind has succeeded by then.
 */
#ifndef CLOUDMAP_CLOUDMAP_H
#define CLOUDMAP_CLOUDMAP_H

#include "aws/service.h"
#include "control/controller.h"

extern const struct aws_service cloudmap_service;
extern const struct store_kind *const cloudmap_kinds[];
extern const size_t cloudmap_kind_count;
extern const struct controller_row
	cloudmap_controllers[]; /* operations are forgotten after a while */
extern const size_t cloudmap_controller_count;

extern const struct store_kind cloudmap_namespace_kind;
extern const struct store_kind cloudmap_service_kind;
extern const struct store_kind cloudmap_instance_kind;
extern const struct store_kind cloudmap_operation_kind;

enum cloudmap_namespace_type { CLOUDMAP_HTTP, CLOUDMAP_DNS_PRIVATE };

enum cloudmap_namespace_index {
	CLOUDMAP_NAMESPACE_BY_NAME, /* "ACCOUNT/REGION/NAME" in lower case */
	CLOUDMAP_NAMESPACE_BY_ZONE, /* "NAME" in lower case; those of type DNS_PRIVATE only */
};

struct cloudmap_namespace_facts {
	struct span id; /* "ns-…" */
	struct span name;
	enum cloudmap_namespace_type type;
	int64_t soa_ttl; /* seconds */
	int64_t created_ms;
};

/* Record types that a service gives out. */
enum cloudmap_records {
	CLOUDMAP_RECORD_A = 1,
	CLOUDMAP_RECORD_AAAA = 2,
	CLOUDMAP_RECORD_SRV = 4,
	CLOUDMAP_RECORD_CNAME = 8,
};

enum cloudmap_service_index {
	CLOUDMAP_SERVICE_BY_NAME, /* "ACCOUNT/REGION/ns-ID/NAME" in lower case */
};

struct cloudmap_service_facts {
	struct span id; /* "srv-…" */
	struct span name;
	struct span namespace_id;
	int64_t records; /* bits of enum cloudmap_records; 0: HTTP only */
	bool weighted;   /* RoutingPolicy WEIGHTED */
	bool checked;    /* HealthCheckCustomConfig: instances can be unhealthy */
	/* Seconds, of each record type of its DnsConfig; the longest is how long clients may remember. */
	int64_t ttl_a, ttl_aaaa, ttl_srv, ttl_cname;
	/* Grows when an instance is registered, registered anew or taken out: what DiscoverInstances calls
	 * InstancesRevision. As at AWS, health does not change it. Never goes back, not even when the service
	 * is made again. */
	int64_t instances_revision;
	int64_t created_ms;
};

enum cloudmap_instance_index {
	CLOUDMAP_INSTANCE_BY_ID, /* "ACCOUNT/REGION/INSTANCE", over all services */
};

struct cloudmap_instance_facts {
	struct span service_id;
	struct span id;
	/* "" if the attribute is not there */
	struct span ipv4, ipv6, cname;
	int64_t port;   /* 0: none */
	int64_t weight; /* SLIPWAY_WEIGHT; DNS_WEIGHT_DEFAULT if not said */
	/* Custom health. An UNHEALTHY that was said at unhealthy_ms counts from unhealthy_ms on: it is the
	 * time at which it takes effect. 0: healthy. */
	int64_t unhealthy_ms;
	int64_t created_ms;
};

static inline const struct cloudmap_namespace_facts *
cloudmap_namespace_facts(const struct store_object *object)
{
	return object->facts;
}
static inline const struct cloudmap_service_facts *cloudmap_service_facts(const struct store_object
		*object)
{
	return object->facts;
}
static inline const struct cloudmap_instance_facts *
cloudmap_instance_facts(const struct store_object *object)
{
	return object->facts;
}
/* Healthy, or of a service that does not care. */
bool cloudmap_instance_is_healthy(const struct cloudmap_service_facts *service,
	const struct cloudmap_instance_facts *instance, int64_t now_ms);

/* ---- for ECS, inside its transactions ---- */

/* The service behind "arn:…:servicediscovery:REGION:ACCOUNT:service/srv-…" of the scope "ACCOUNT/REGION/";
 * NULL if there is none. */
const struct store_object *cloudmap_service_find(const struct store_view *view, struct span scope,
	struct span arn);
/* Registers an instance, or registers it anew: as RegisterInstance would, without an operation. attributes:
 * an object of texts. -EINVAL with the reason if RegisterInstance would refuse it. */
int cloudmap_register(struct store_transaction *transaction, const struct store_object *service,
	struct span instance_id, const struct json *attributes, int64_t now_ms, struct arena *arena,
	struct err *err);
/* How long clients may cache an answer about the service's instances. */
int64_t cloudmap_service_remembered_ms(const struct cloudmap_service_facts *service);
/* Takes it out. *ret_remembered_ms: how long clients may still remember it, 0 if it was not there. */
int cloudmap_deregister(struct store_transaction *transaction, struct span service_key,
	struct span instance_id, int64_t now_ms, struct arena *arena, int64_t *ret_remembered_ms,
	struct err *err);
/*
 * Removes the instances with this id from every service of the scope "ACCOUNT/REGION/", registered by ECS or by
 * a client. *ret_until_ms: clients may use a cached answer until then, also one about an instance that a
 * client deregistered a moment ago. 0: no client can have one.
 */
int cloudmap_deregister_everywhere(struct store_transaction *transaction, struct span scope,
	struct span instance_id, int64_t now_ms, struct arena *arena, int64_t *ret_until_ms,
	struct err *err);
/* Whether a service of the scope has the instance with this id. *ret_is_last: and one of them no other that is healthy,
 * so that its name would have no answer without it. */
bool cloudmap_has_instance(const struct store_view *view, struct span scope,
	struct span instance_id, int64_t now_ms, struct arena *arena, bool *ret_is_last);
/* As UpdateInstanceCustomHealthStatus, at once and for good. No change if it is not there. */
int cloudmap_set_health(struct store_transaction *transaction, struct span service_key,
	struct span instance_id, bool healthy, int64_t now_ms, struct arena *arena,
	struct err *err);

#endif
