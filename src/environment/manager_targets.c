/*
 * Whom to call for a place. Of this server: its own door, as an account that may do everything, or whatever the policy
 * of a role allows. Elsewhere: the target that the place names, if its account and region are still those.
 */
#include <inttypes.h>

#include "aws/caller.h"
#include "aws/targets.h"
#include "base/memory.h"
#include "environment/environment_type.h"
#include "environment/manager_internal.h"

#define USER "slipway-environments"

/* "TARGET:ACCOUNT/REGION/CLUSTER" */
struct parts {
	struct span target, account, region;
};

static bool split_cluster_ref(struct span cluster_ref, struct parts *ret_parts)
{
	struct span scope, rest, cluster;

	return span_split(cluster_ref, ':', &ret_parts->target, &scope) &&
	       span_split(scope, '/', &ret_parts->account, &rest) &&
	       span_split(rest, '/', &ret_parts->region, &cluster);
}

bool manager_is_remote(struct span cluster_ref)
{
	return cluster_ref.length > 0 && cluster_ref.data[0] != ':';
}

/* ---- this server ---- */

static struct aws_target *find_own(struct manager *manager, const struct parts *parts,
	struct span role, const struct aws_policy *policy)
{
	_arena_ struct arena *arena = arena_new(0);
	/* Policies are kept by their text, so another policy is another pointer. */
	struct span key = arena_format(arena, "%.*s/%.*s %.*s %" PRIxPTR, SPAN_ARGS(parts->account),
		SPAN_ARGS(parts->region), SPAN_ARGS(role), (uintptr_t)policy);
	struct aws_target *target;

	lock_take(&manager->lock);
	target = map_get(&manager->targets, key);
	if (!target) {
		struct aws_caller caller = {.account = parts->account,
			.region = parts->region,
			.user = role.length > 0 ? role : SPAN(USER),
			.access_key = SPAN(""),
			.policy = policy};

		target = aws_target_local(manager->config.dispatcher, manager->runner, &caller);
		map_put(&manager->targets, key, target);
	}
	lock_release(&manager->lock);
	return target;
}

static int get_own(struct manager *manager, const struct parts *parts, struct span role,
	struct aws_target **ret_target, struct err *err)
{
	const struct manager_config *config = &manager->config;
	const struct aws_policy *policy = NULL;
	int code = 0;

	if (role.length > 0)
		code = config->find_role ? config->find_role(config->find_role_context,
						   parts->account, role, &policy, err)
					 : err_set(err, -ENOENT, "there are no roles");
	if (code < 0)
		return err_prefix(err, code, "role '%.*s'", SPAN_ARGS(role));
	*ret_target = find_own(manager, parts, role, policy);
	return 0;
}

/* ---- elsewhere ---- */

/* The settings of a place's target, if they still mean the same. */
static const struct aws_target_settings *find_settings(const struct manager *manager,
	const struct parts *parts)
{
	const struct aws_target_settings *settings =
		aws_targets_find(manager->config.targets, parts->target);

	return settings && span_is(parts->account, settings->account) &&
			       span_is(parts->region, settings->region)
		       ? settings
		       : NULL;
}

static int get_remote(struct manager *manager, struct span account, const struct parts *parts,
	struct span role, struct aws_target **ret_target, struct err *err)
{
	const struct aws_target_settings *settings = find_settings(manager, parts);

	if (!settings || !aws_target_settings_allow(settings, account))
		return err_set(err, -ENOENT,
			"there is no target '%.*s' of account %.*s and region %.*s in the server's "
			"configuration",
			SPAN_ARGS(parts->target), SPAN_ARGS(parts->account),
			SPAN_ARGS(parts->region));
	return aws_targets_get(manager->config.targets, parts->target, role, AWS_TARGET_WRITES,
		ret_target, err);
}

int manager_target(struct manager *manager, struct span account, struct span cluster_ref,
	struct span role, struct aws_target **ret_target, struct err *err)
{
	struct parts parts;

	if (!split_cluster_ref(cluster_ref, &parts))
		return err_set(err, -EINVAL, "'%.*s' is no place", SPAN_ARGS(cluster_ref));
	return manager_is_remote(cluster_ref)
		       ? get_remote(manager, account, &parts, role, ret_target, err)
		       : get_own(manager, &parts, role, ret_target, err);
}

/* ---- for the state service ---- */

struct aws_target *manager_resolve(void *context, struct span cluster_ref)
{
	struct manager *manager = context;
	struct aws_target *target = NULL;
	struct parts parts;

	if (!split_cluster_ref(cluster_ref, &parts) || !find_settings(manager, &parts) ||
		aws_targets_get(manager->config.targets, parts.target, SPAN(""), AWS_TARGET_READS,
			&target, NULL) < 0)
		return NULL;
	return target;
}

int64_t manager_get_poll_ms(void *context, struct span cluster_ref)
{
	const struct manager *manager = context;
	const struct aws_target_settings *settings;
	struct parts parts;

	if (!split_cluster_ref(cluster_ref, &parts))
		return 0;
	settings = find_settings(manager, &parts);
	return settings ? settings->poll_ms : 0;
}

bool manager_is_wanted(void *context, struct span cluster_ref)
{
	const struct manager *manager = context;
	_view_ struct store_view *view = store_view_open(manager->config.store);

	_arena_ struct arena *arena = arena_new(0);

	/* Where there are or may be tasks, and where the latest version would have some. */
	return store_count(view, &environment_kind, ENVIRONMENT_BY_CLUSTER_REF, cluster_ref, true) >
		       0 ||
	       store_count(view, &environment_kind, ENVIRONMENT_BY_CLAIM,
		       arena_format(arena, "%.*s ", SPAN_ARGS(cluster_ref)), false) > 0;
}

size_t manager_list_services(void *context, struct span cluster_ref, struct arena *arena,
	struct span **ret_names)
{
	const struct manager *manager = context;
	_view_ struct store_view *view = store_view_open(manager->config.store);
	struct store_cursor cursor = environments_at(view, cluster_ref);
	const struct store_object *environment;
	size_t count = 0;

	*ret_names = arena_allocate_array(arena,
		store_count(view, &environment_kind, ENVIRONMENT_BY_CLUSTER_REF, cluster_ref,
			true) +
			1,
		sizeof(**ret_names));
	while ((environment = store_next(&cursor)))
		if (environment_facts(environment)->type == ENVIRONMENT_TYPE_Service)
			(*ret_names)[count++] = environment_service_name(arena,
				environment_facts(environment)->name);
	return count;
}
