/* See the header. */
#include "environment/model/version_names.h"

#include "aws/access_key.h"
#include "aws/arn.h"
#include "aws/key.h"
#include "aws/policy.h"
#include "aws/targets.h"
#include "delivery/cluster_ref.h"
#include "ecs/definition/task_definition.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"
#include "environment/model/context.h"
#include "environment/model/fail.h"
#include "store/fact_table.h"

/* ---- this server ---- */

const struct store_object *version_names_cluster(struct aws_request *request, struct span requested)
{
	const struct store_object *cluster = NULL;
	struct span name;

	if (ecs_try_resolve(request->caller, "cluster", requested, &name))
		cluster = store_get(request->view, &cluster_kind, aws_key(request, name));
	return cluster && cluster_facts(cluster)->active ? cluster : NULL;
}

static int find_cluster(struct aws_request *request, struct version_names *names)
{
	const struct store_object *cluster = version_names_cluster(request, names->cluster);

	if (!cluster)
		return daemon_fail(request, "ResourceNotFoundException", "cluster", names->cluster,
			"instanceGroup.cluster: there is no cluster '%.*s' in %.*s",
			SPAN_ARGS(names->cluster), SPAN_ARGS(request->caller->region));
	names->cluster_ref = cluster_ref_of_key(request->arena, cluster->key).text;
	names->cluster_arn = ecs_arn(request, "cluster", cluster_facts(cluster)->name);
	return 0;
}

static int find_definition(struct aws_request *request, struct version_names *names)
{
	const struct store_object *definition =
		task_definition_find(request, names->task_definition);

	if (!definition || task_definition_facts(definition)->status != TASK_DEFINITION_ACTIVE)
		return daemon_fail(request, "ResourceNotFoundException", "taskDefinition",
			names->task_definition,
			"taskDefinition: there is no active task definition '%.*s' in %.*s",
			SPAN_ARGS(names->task_definition), SPAN_ARGS(request->caller->region));
	names->task_definition_arn = task_definition_arn(request, definition);
	return 0;
}

/* A user of the account, whose policy it is. */
static int find_user(struct aws_request *request, struct span role)
{
	struct span user = arena_format(request->arena, "%.*s/%.*s",
		SPAN_ARGS(request->caller->account), SPAN_ARGS(role));

	if (store_count(request->view, &access_key_kind, ACCESS_KEY_BY_USER, user, true) > 0)
		return 0;
	return daemon_fail(request, "ResourceNotFoundException", "role", role,
		"role: there is no user '%.*s' with a key in account %.*s, whose policy it would "
		"be",
		SPAN_ARGS(role), SPAN_ARGS(request->caller->account));
}

static int find_here(struct aws_request *request, struct version_names *names)
{
	if (find_definition(request, names) < 0 || find_cluster(request, names) < 0)
		return -EPERM;
	return names->role.length > 0 ? find_user(request, names->role) : 0;
}

/* ---- remote targets ---- */

/* The last part of an ARN of ECS in the target's account and region, "cluster/NAME"; or of a name. */
static int read_name(struct aws_request *request, const struct aws_target_settings *target,
	const char *member, const char *type, struct span requested, struct span *ret_name)
{
	struct span prefix = arena_format(request->arena, "%s/", type);
	struct aws_arn arn;

	*ret_name = requested;
	if (!aws_arn_looks_like(requested))
		return 0;
	if (!aws_arn_parse(requested, &arn) || !span_is(arn.service, "ecs") ||
		!span_starts_with(arn.resource, prefix))
		return aws_fail_input(request, "%s: '%.*s' is not the ARN of a %s", member,
			SPAN_ARGS(requested), type);
	if (!span_is(arn.account, target->account) || !span_is(arn.region, target->region))
		return aws_fail_input(request,
			"%s: '%.*s' is not in account %s and region %s of target '%s'", member,
			SPAN_ARGS(requested), target->account, target->region, target->name);
	*ret_name = (struct span){
		arn.resource.data + prefix.length, arn.resource.length - prefix.length};
	return 0;
}

static int name_cluster(struct aws_request *request, const struct aws_target_settings *target,
	struct version_names *names)
{
	struct span name;

	if (read_name(request, target, "instanceGroup.cluster", "cluster", names->cluster, &name) <
		0)
		return -EPERM;
	if (!ecs_is_name(name))
		return aws_fail_input(request,
			"instanceGroup.cluster: '%.*s' is neither name nor ARN of a cluster",
			SPAN_ARGS(names->cluster));
	names->cluster_ref = arena_format(request->arena, "%s:%s/%s/%.*s", target->name,
		target->account, target->region, SPAN_ARGS(name));
	names->cluster_arn = aws_arn_format(request->arena, "ecs", span_of(target->region),
		span_of(target->account), "cluster/%.*s", SPAN_ARGS(name));
	return 0;
}

/* With its revision: which one is the latest is not known here. */
static int name_definition(struct aws_request *request, const struct aws_target_settings *target,
	struct version_names *names)
{
	struct span name, family, revision;
	uint64_t number;

	if (read_name(request, target, "taskDefinition", "task-definition", names->task_definition,
		    &name) < 0)
		return -EPERM;
	if (!span_split(name, ':', &family, &revision) || !ecs_is_name(family) ||
		!span_to_unsigned(revision, INT32_MAX, &number) || number == 0)
		return aws_fail_input(request,
			"taskDefinition: '%.*s' must be FAMILY:REVISION, or its ARN, of target "
			"'%s'",
			SPAN_ARGS(names->task_definition), target->name);
	names->task_definition_arn = aws_arn_format(request->arena, "ecs", span_of(target->region),
		span_of(target->account), "task-definition/%.*s", SPAN_ARGS(name));
	return 0;
}

static int check_role_arn(struct aws_request *request, struct span role)
{
	struct aws_arn arn;

	if (aws_arn_parse(role, &arn) && span_is(arn.service, "iam") &&
		span_starts_with(arn.resource, SPAN("role/")))
		return 0;
	return aws_fail_input(request,
		"role: '%.*s' is not the ARN of a role, which a remote target requires",
		SPAN_ARGS(role));
}

/* Tasks carry the name of their environment, but no account of this server. */
static int check_others(struct aws_request *request, struct cluster_ref cluster)
{
	struct span name = json_get_text(request->input, "name");
	struct store_cursor cursor = environments_at(request->view, cluster);
	const struct store_object *other;

	while ((other = store_next(&cursor)))
		if (span_equal(environment_facts(other)->name, name) &&
			!span_equal(environment_facts(other)->account, request->caller->account))
			return daemon_fail(request, "ResourceInUseException", "environment", name,
				"name: another account has an environment '%.*s' in this cluster",
				SPAN_ARGS(name));
	return 0;
}

static int find_remote(struct aws_request *request, struct version_names *names)
{
	const struct daemon_context *context = request->context;
	const struct aws_target_settings *target =
		context ? aws_targets_find(context->targets, names->target) : NULL;

	if (!target || !aws_target_settings_allow(target, request->caller->account))
		return daemon_fail(request, "ResourceNotFoundException", "target", names->target,
			"target: there is no target '%.*s' in the server's configuration",
			SPAN_ARGS(names->target));
	if (name_definition(request, target, names) < 0 ||
		name_cluster(request, target, names) < 0 ||
		(names->role.length > 0 && check_role_arn(request, names->role) < 0))
		return -EPERM;
	return check_others(request, cluster_ref_of(names->cluster_ref));
}

/* ---- both ---- */

/* A caller that gives an environment a role needs iam:PassRole for it. */
static int check_pass(struct aws_request *request, struct span role)
{
	const struct aws_policy *policy = request->caller->policy;
	struct span arn = aws_arn_looks_like(role)
				  ? role
				  : aws_arn_format(request->arena, "iam", SPAN(""),
					    request->caller->account, "role/%.*s", SPAN_ARGS(role));

	if (!policy || aws_policy_allows(policy, SPAN("iam:PassRole"), &arn, 1))
		return 0;
	return aws_fail(request, "AccessDeniedException",
		"User: %.*s is not authorized to perform: iam:PassRole on resource: %.*s",
		SPAN_ARGS(request->caller->user), SPAN_ARGS(arn));
}

int version_names_find(struct aws_request *request, struct span before, struct version_names *names)
{
	bool moves;

	if (!names->target.data || span_is(names->target, AWS_TARGET_LOCAL))
		names->target = SPAN("");
	moves = before.data && !span_equal(cluster_ref_of(before).target, names->target);
	/* A role is one of its target. */
	if (!names->role.data || (moves && !names->is_role_requested))
		names->role = SPAN("");
	if (names->cluster.length == 0)
		return aws_fail_input(request, "instanceGroup.cluster: is required");
	if (moves && !names->is_cluster_requested)
		return aws_fail_input(request,
			"instanceGroup.cluster: is required, since the target is another one");
	if (!fact_text_is_plain(names->role))
		return aws_fail_input(request, "role: has characters that no role has");
	if (names->is_role_requested && check_pass(request, names->role) < 0)
		return -EPERM;
	return names->target.length > 0 ? find_remote(request, names) : find_here(request, names);
}
