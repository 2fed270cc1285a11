/* See the header. */
#include "delivery/target.h"

#include <inttypes.h>

#include "aws/caller.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"
#include "delivery/cluster_ref.h"

struct delivery_targets {
	struct delivery_targets_config config;
	struct lock lock;
	struct map local; /* struct aws_target by "ACCOUNT/REGION ROLE POLICY" */
};

struct delivery_targets *delivery_targets_new(const struct delivery_targets_config *config)
{
	struct delivery_targets *targets = memory_allocate(sizeof(*targets));

	targets->config = *config;
	lock_init(&targets->lock);
	return targets;
}

void delivery_targets_free(struct delivery_targets *targets)
{
	if (!targets)
		return;
	MAP_EACH (&targets->local, entry)
		aws_target_free(entry->value);
	map_clear(&targets->local);
	lock_destroy(&targets->lock);
	free(targets);
}

/* ---- this server ---- */

static struct aws_target *find_local(struct delivery_targets *targets,
	const struct cluster_ref *ref, struct span role, const struct aws_policy *policy)
{
	_arena_ struct arena *arena = arena_new(0);
	/* Policies are kept by their text, so another policy is another pointer. */
	struct span key = arena_format(arena, "%.*s/%.*s %.*s %" PRIxPTR, SPAN_ARGS(ref->account),
		SPAN_ARGS(ref->region), SPAN_ARGS(role), (uintptr_t)policy);
	struct aws_target *target;

	lock_take(&targets->lock);
	target = map_get(&targets->local, key);
	if (!target) {
		struct aws_caller caller = {.account = ref->account,
			.region = ref->region,
			.user = role.length > 0 ? role : span_of(targets->config.user),
			.access_key = SPAN(""),
			.policy = policy};

		target = aws_target_local(targets->config.dispatcher, targets->config.runner,
			&caller);
		map_put(&targets->local, key, target);
	}
	lock_release(&targets->lock);
	return target;
}

static int get_local(struct delivery_targets *targets, struct span account,
	const struct cluster_ref *ref, struct span role, struct aws_target **ret_target,
	struct err *err)
{
	const struct delivery_targets_config *config = &targets->config;
	const struct aws_policy *policy = NULL;
	int code = 0;

	(void)account;
	if (role.length > 0)
		code = config->find_role ? config->find_role(config->find_role_context,
						   ref->account, role, &policy, err)
					 : err_set(err, -ENOENT, "there are no roles");
	if (code < 0)
		return err_prefix(err, code, "role '%.*s'", SPAN_ARGS(role));
	*ret_target = find_local(targets, ref, role, policy);
	return 0;
}

/* ---- remote ---- */

/* The settings of a cluster's target, if they still mean the same account and region. */
static const struct aws_target_settings *find_settings(const struct delivery_targets *targets,
	const struct cluster_ref *ref)
{
	const struct aws_target_settings *settings =
		aws_targets_find(targets->config.remote, ref->target);

	return settings && span_is(ref->account, settings->account) &&
			       span_is(ref->region, settings->region)
		       ? settings
		       : NULL;
}

static int get_remote(struct delivery_targets *targets, struct span account,
	const struct cluster_ref *ref, struct span role, struct aws_target **ret_target,
	struct err *err)
{
	const struct aws_target_settings *settings = find_settings(targets, ref);

	if (!settings || !aws_target_settings_allow(settings, account))
		return err_set(err, -ENOENT,
			"there is no target '%.*s' of account %.*s and region %.*s in the server's "
			"configuration",
			SPAN_ARGS(ref->target), SPAN_ARGS(ref->account), SPAN_ARGS(ref->region));
	return aws_targets_get(targets->config.remote, ref->target, role, AWS_TARGET_WRITES,
		ret_target, err);
}

static struct aws_target *get_remote_reader(struct delivery_targets *targets,
	struct cluster_ref cluster)
{
	struct aws_target *target = NULL;

	if (!find_settings(targets, &cluster) ||
		aws_targets_get(targets->config.remote, cluster.target, SPAN(""), AWS_TARGET_READS,
			&target, NULL) < 0)
		return NULL;
	return target;
}

static int64_t remote_poll_ms(const struct delivery_targets *targets, struct cluster_ref cluster)
{
	const struct aws_target_settings *settings = find_settings(targets, &cluster);

	return settings ? settings->poll_ms : 0;
}

/* ---- both ---- */

static const struct target_operations {
	int (*get)(struct delivery_targets *targets, struct span account,
		const struct cluster_ref *ref, struct span role, struct aws_target **ret_target,
		struct err *err);
	/* NULL: the change feed reports its clusters, and nothing has to be read. */
	struct aws_target *(*get_reader)(struct delivery_targets *targets,
		struct cluster_ref cluster);
	int64_t (*poll_ms)(const struct delivery_targets *targets, struct cluster_ref cluster);
} own = {.get = get_local},
  remote = {.get = get_remote, .get_reader = get_remote_reader, .poll_ms = remote_poll_ms};

static const struct target_operations *operations_of(struct cluster_ref cluster)
{
	return cluster_ref_is_remote(cluster) ? &remote : &own;
}

int delivery_targets_get(struct delivery_targets *targets, struct span account,
	struct cluster_ref cluster, struct span role, struct aws_target **ret_target,
	struct err *err)
{
	if (cluster.cluster.length == 0)
		return err_set(err, -EINVAL, "'%.*s' is not a cluster reference",
			SPAN_ARGS(cluster.text));
	return operations_of(cluster)->get(targets, account, &cluster, role, ret_target, err);
}

struct aws_target *delivery_targets_get_reader(struct delivery_targets *targets,
	struct cluster_ref cluster)
{
	const struct target_operations *operations = operations_of(cluster);

	return operations->get_reader ? operations->get_reader(targets, cluster) : NULL;
}

int64_t delivery_targets_poll_ms(const struct delivery_targets *targets, struct cluster_ref cluster)
{
	const struct target_operations *operations = operations_of(cluster);

	return operations->poll_ms ? operations->poll_ms(targets, cluster) : 0;
}
