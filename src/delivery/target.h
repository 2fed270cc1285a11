/*
 * Which AWS endpoint a delivery engine calls for a cluster, and in whose name. A cluster of this server is called through
 * its own dispatcher, by a user that may do everything, or with the policy of a role of this server. A remote cluster is
 * called through the configured target that its reference names, if that target still has the same account and region,
 * and allows the calling account.
 */
#ifndef DELIVERY_TARGET_H
#define DELIVERY_TARGET_H

#include "aws/policy.h"
#include "aws/targets.h"
#include "delivery/cluster_ref.h"

struct delivery_targets;

struct delivery_targets_config {
	struct runner *runner; /* of the calls to this server */
	struct aws_dispatcher *dispatcher;
	struct aws_targets
		*remote; /* NULL: none are configured. The caller cancels and frees them. */
	/* The policy of a role of this server, which lives as long as the targets; NULL: there are no roles. */
	int (*find_role)(void *context, struct span account, struct span role,
		const struct aws_policy **ret_policy, struct err *err);
	void *find_role_context;
	const char *user; /* in whose name calls without a role are made: "slipway-environments" */
};

struct delivery_targets *delivery_targets_new(const struct delivery_targets_config *config);
/* No call is under way; NULL is fine. */
void delivery_targets_free(struct delivery_targets *targets);

/* The endpoint of a cluster for an account, in the name of a role ("": none). It lives as long as the targets. From any
 * thread; does not block. -ENOENT, -EACCES, -EINVAL: there is none now, err has the reason. */
int delivery_targets_get(struct delivery_targets *targets, struct span account,
	struct cluster_ref cluster, struct span role, struct aws_target **ret_target,
	struct err *err);
/* The endpoint of a remote cluster for reads; NULL: it is not configured any more. */
struct aws_target *delivery_targets_get_reader(struct delivery_targets *targets,
	struct cluster_ref cluster);
/* The configured pause between two listings of a remote cluster; 0: the default. */
int64_t delivery_targets_poll_ms(const struct delivery_targets *targets,
	struct cluster_ref cluster);

#endif
