/* Targets: what the other files of this folder need of them, and the operations. */
#ifndef ELB_TARGET_H
#define ELB_TARGET_H

#include "elb/elb.h"

#define ELB_TARGETS_MAX 1000 /* of one group */

/* The id as it is kept: addresses in their one usual form. -EINVAL with the reason. */
int elb_target_id_read(const struct store_object *group, struct span requested, struct arena *arena,
	struct span *ret_id, struct err *err);
/* elb_target_register() with what only the API has: "" none. */
int elb_target_register_in_zone(struct store_transaction *transaction,
	const struct store_object *group, struct span id, int64_t port, struct span zone,
	struct span owner, int64_t now_ms, struct arena *arena, struct err *err);

int elb_target_api_register(struct aws_request *request);
int elb_target_api_deregister(struct aws_request *request);
int elb_target_api_health(struct aws_request *request);

#endif
