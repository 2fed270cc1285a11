/*
 * Instances: what may be registered, and the steps that the API and ECS share. Each step is part of the
 * caller's transaction, keeps instance and service in agreement, and gives the service a new revision of
 * its instances.
 */
#ifndef CLOUDMAP_INSTANCE_H
#define CLOUDMAP_INSTANCE_H

#include "cloudmap/kinds.h"

#define INSTANCES_OF_SERVICE_MAX 1000 /* as AWS */
/* A client's UNHEALTHY takes effect after this time, unless a HEALTHY arrives before. */
#define UNHEALTHY_AFTER_MS INT64_C(30000)

int cloudmap_instance_check_id(struct span id, struct err *err);
/* The rules of RegisterInstance; zone is the name of the namespace. *ret_facts points into the
 * attributes. -EINVAL with the reason. */
int cloudmap_instance_check(const struct cloudmap_service_facts *service, struct span zone,
	struct span id, const struct json *attributes, int64_t now_ms,
	struct cloudmap_instance_facts *ret_facts, struct err *err);

const struct store_object *cloudmap_instance_get(const struct store_view *view,
	struct span service_key, struct span id, struct arena *arena);
/* creator_request_id may be empty. -EINVAL when refused, -EDQUOT when the service is full. */
int cloudmap_instance_put(struct store_transaction *transaction, struct span service_key,
	struct span id, const struct json *attributes, struct span creator_request_id,
	int64_t now_ms, struct arena *arena, struct err *err);
/* -ENOENT if it is not there. */
int cloudmap_instance_delete(struct store_transaction *transaction, struct span service_key,
	struct span id, struct arena *arena, struct err *err);
/* The instance says healthy (0) or unhealthy from a time on; its revision stays, as at AWS. */
int cloudmap_instance_put_health(struct store_transaction *transaction,
	const struct store_object *instance, int64_t unhealthy_ms, struct arena *arena,
	struct err *err);

#endif
