/* See the header. */
#include "aws/targets.h"

#include "aws/arn.h"
#include "aws/signer.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"

#define AUTHORITIES_MAX (1024 * 1024)
#define USES 2

/* One configured target, and what was made of it so far. */
struct scope {
	const struct aws_target_settings *settings;
	struct span authorities; /* PEM; none: the system's */
	struct aws_signer *key;
	struct aws_signer *own; /* its role's, or the key again */
	struct map roles;       /* struct face by ARN; "" is its own */
};

/* A target with one identity: its own or a role's. */
struct face {
	struct aws_signer *signer; /* of a role beside the target's own; else NULL */
	struct aws_target *targets[USES];
};

struct aws_targets {
	struct http_client *client;
	/* A separate group: nothing runs on it, but it ends all waits. NULL: injected targets. */
	struct runner *runner;
	struct scope *places;
	size_t count;
	struct arena *arena;
	struct lock lock;                          /* for what is in the maps */
	struct aws_target *(*make)(void *context); /* NULL: they are of AWS */
	void *make_context;
};

/* ---- names of AWS ---- */

struct span aws_endpoint_of(struct arena *arena, const char *service, struct span region)
{
	return arena_format(arena, "https://%s.%.*s.amazonaws.com%s", service, SPAN_ARGS(region),
		span_is(aws_partition_of(region), "aws-cn") ? ".cn" : "");
}

/* ---- faces ---- */

static const char *endpoint_of(struct aws_targets *targets, const char *requested,
	const char *service, const char *region)
{
	return requested ? requested
			 : aws_endpoint_of(targets->arena, service, span_of(region)).data;
}

/* NULL: where ECS is. */
static const char *other_endpoint(struct aws_targets *targets,
	const struct aws_target_settings *settings, const char *requested, const char *service)
{
	const char *ecs = endpoint_of(targets, NULL, "ecs", settings->region);
	bool is_aws = !settings->endpoint || strcmp(settings->endpoint, ecs) == 0;

	return requested || is_aws ? endpoint_of(targets, requested, service, settings->region)
				   : NULL;
}

/* Of the services that AWS has at other endpoints than ECS. */
static size_t list_endpoints(struct aws_targets *targets,
	const struct aws_target_settings *settings,
	struct aws_service_endpoint list[AWS_SERVICE_ENDPOINTS_MAX])
{
	const struct {
		const char *service, *requested;
	} others[] = {{"servicediscovery", settings->cloudmap_endpoint},
		{"elasticloadbalancing", settings->elb_endpoint}};
	size_t count = 0;

	for (size_t i = 0; i < LENGTH(others); i++) {
		const char *endpoint =
			other_endpoint(targets, settings, others[i].requested, others[i].service);

		if (endpoint)
			list[count++] = (struct aws_service_endpoint){others[i].service, endpoint};
	}
	return count;
}

static int make_role(struct aws_targets *targets, const struct scope *scope, const char *arn,
	struct aws_signer *base, struct aws_signer **ret_signer, struct err *err)
{
	const struct aws_target_settings *settings = scope->settings;
	_arena_ struct arena *scratch = arena_new(0);
	struct aws_role role = {.arn = arn,
		.external_id = settings->external_id,
		.session = arena_format(scratch, "slipway-%s", settings->name).data,
		.endpoint = endpoint_of(targets, settings->sts_endpoint, "sts", settings->region),
		.authorities = scope->authorities,
		.region = settings->region};

	return aws_signer_of_role(&role, base, targets->client, targets->runner, ret_signer, err);
}

static struct aws_signer *make_key(struct aws_targets *targets, const struct scope *scope)
{
	const struct aws_target_settings *settings = scope->settings;
	const struct aws_credential_chain chain = {.profile = settings->key.profile,
		.profile_file = settings->key.profile_file,
		.region = settings->region,
		.sts_endpoint =
			endpoint_of(targets, settings->sts_endpoint, "sts", settings->region),
		.authorities = scope->authorities,
		.session = arena_format(targets->arena, "slipway-%s", settings->name).data,
		.client = targets->client,
		.runner = targets->runner};

	return settings->key.access_key ? aws_signer_of_key(&settings->key, targets->runner)
					: aws_signer_of_chain(&chain);
}

static void free_face(struct face *face)
{
	if (!face)
		return;
	for (size_t i = 0; i < USES; i++)
		aws_target_free(face->targets[i]);
	aws_signer_free(face->signer);
	free(face);
}

static int make_face(struct aws_targets *targets, struct scope *scope, struct span role,
	struct face **ret_face, struct err *err)
{
	const struct aws_target_settings *settings = scope->settings;
	struct aws_service_endpoint others[AWS_SERVICE_ENDPOINTS_MAX];
	struct aws_remote_config config = {
		.endpoint = endpoint_of(targets, settings->endpoint, "ecs", settings->region),
		.authorities = scope->authorities,
		.region = settings->region,
		.signer = scope->own,
		.calls_per_second = settings->calls_per_second,
		.timeout_ms = (int)settings->timeout_ms,
		.others = others,
		.other_count = list_endpoints(targets, settings, others)};
	struct face *face = memory_allocate(sizeof(*face));
	int code = 0;

	if (targets->make) {
		for (size_t i = 0; i < USES; i++)
			face->targets[i] = targets->make(targets->make_context);
		*ret_face = face;
		return 0;
	}
	if (role.length > 0)
		code = make_role(targets, scope, arena_copy_span(targets->arena, role).data,
			scope->own, &face->signer, err);
	if (face->signer)
		config.signer = face->signer;
	if (code == 0)
		code = aws_target_remote(&config, targets->client, targets->runner,
			&face->targets[AWS_TARGET_READS], err);
	config.timeout_ms = config.total_ms = AWS_TARGETS_WRITE_MS;
	if (code == 0)
		code = aws_target_remote(&config, targets->client, targets->runner,
			&face->targets[AWS_TARGET_WRITES], err);
	if (code < 0) {
		free_face(face);
		return code;
	}
	*ret_face = face;
	return 0;
}

static struct scope *find_place(const struct aws_targets *targets, struct span name)
{
	for (size_t i = 0; targets && i < targets->count; i++)
		if (span_is(name, targets->places[i].settings->name))
			return &targets->places[i];
	return NULL;
}

/* Under the lock. */
static int find_face(struct aws_targets *targets, struct scope *scope, struct span role,
	struct face **ret_face, struct err *err)
{
	struct face *face = map_get(&scope->roles, role);
	int code = 0;

	if (!face && scope->roles.count > AWS_TARGETS_ROLES_MAX)
		return err_set(err, -E2BIG, "target '%s': more than %d roles are used",
			scope->settings->name, AWS_TARGETS_ROLES_MAX);
	if (!face) {
		code = make_face(targets, scope, role, &face, err);
		if (code < 0)
			return err_prefix(err, code, "target '%s'", scope->settings->name);
		map_put(&scope->roles, role, face);
	}
	*ret_face = face;
	return 0;
}

int aws_targets_get(struct aws_targets *targets, struct span name, struct span role,
	enum aws_target_use use, struct aws_target **ret_target, struct err *err)
{
	struct scope *scope = find_place(targets, name);
	struct face *face;
	int code;

	if (!scope)
		return err_set(err, -ENOENT,
			"there is no target '%.*s' in the server's configuration", SPAN_ARGS(name));
	lock_take(&targets->lock);
	code = find_face(targets, scope, role, &face, err);
	lock_release(&targets->lock);
	if (code == 0)
		*ret_target = face->targets[use];
	return code;
}

const struct aws_target_settings *aws_targets_find(const struct aws_targets *targets,
	struct span name)
{
	const struct scope *scope = find_place(targets, name);

	return scope ? scope->settings : NULL;
}

bool aws_target_settings_allow(const struct aws_target_settings *settings, struct span account)
{
	for (size_t i = 0; i < settings->account_count; i++)
		if (span_is(account, settings->accounts[i]))
			return true;
	return false;
}

/* ---- beginning and end ---- */

static int read_authorities(struct aws_targets *targets, struct scope *scope, struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code;

	if (!scope->settings->ca)
		return 0;
	code = file_read(scope->settings->ca, AUTHORITIES_MAX, &text, err);
	if (code < 0)
		return err_prefix(err, code, "target %s: ca", scope->settings->name);
	scope->authorities = arena_copy_span(targets->arena, buffer_span(&text));
	return 0;
}

/* Its key, its own role and its own face: what is wrong with the endpoints is seen here. */
static int open_place(struct aws_targets *targets, struct scope *scope,
	const struct aws_target_settings *settings, struct err *err)
{
	struct face *face;
	int code;

	scope->settings = settings;
	code = read_authorities(targets, scope, err);
	if (code < 0)
		return code;
	scope->key = scope->own = make_key(targets, scope);
	if (settings->role)
		code = make_role(targets, scope, settings->role, scope->key, &scope->own, err);
	return code < 0 ? code : find_face(targets, scope, SPAN(""), &face, err);
}

int aws_targets_new(const struct aws_target_settings *settings, size_t count,
	struct http_client *client, struct runner *runner, struct aws_targets **ret_targets,
	struct err *err)
{
	struct aws_targets *targets = memory_allocate(sizeof(*targets));

	targets->client = client;
	targets->runner = runner_group_new(runner, "targets");
	targets->arena = arena_new(0);
	targets->places = memory_allocate_array(count + 1, sizeof(*targets->places));
	lock_init(&targets->lock);
	for (size_t i = 0; i < count; i++) {
		int code;

		targets->count++;
		code = open_place(targets, &targets->places[i], &settings[i], err);
		if (code < 0) {
			aws_targets_free(targets);
			return code;
		}
	}
	*ret_targets = targets;
	return 0;
}

struct aws_targets *aws_targets_created(const struct aws_target_settings *settings, size_t count,
	struct aws_target *(*make)(void *context), void *context)
{
	struct aws_targets *targets = memory_allocate(sizeof(*targets));

	targets->arena = arena_new(0);
	targets->places = memory_allocate_array(count + 1, sizeof(*targets->places));
	targets->count = count;
	targets->make = make;
	targets->make_context = context;
	lock_init(&targets->lock);
	for (size_t i = 0; i < count; i++)
		targets->places[i].settings = &settings[i];
	return targets;
}

void aws_targets_cancel(struct aws_targets *targets)
{
	if (!targets)
		return;
	if (targets->runner)
		runner_stop(targets->runner);
	lock_take(&targets->lock);
	for (size_t i = 0; i < targets->count; i++) {
		struct scope *scope = &targets->places[i];

		if (scope->own)
			aws_signer_cancel(scope->own);
		if (scope->key)
			aws_signer_cancel(scope->key);
		MAP_EACH (&scope->roles, entry) {
			const struct face *face = entry->value;

			if (face->signer)
				aws_signer_cancel(face->signer);
			for (size_t use = 0; use < USES; use++)
				aws_target_cancel(face->targets[use]);
		}
	}
	lock_release(&targets->lock);
}

void aws_targets_free(struct aws_targets *targets)
{
	if (!targets)
		return;
	for (size_t i = 0; i < targets->count; i++) {
		struct scope *scope = &targets->places[i];

		MAP_EACH (&scope->roles, entry)
			free_face(entry->value);
		map_clear(&scope->roles);
		if (scope->own != scope->key)
			aws_signer_free(scope->own);
		aws_signer_free(scope->key);
	}
	free(targets->places);
	if (targets->runner) {
		runner_stop(targets->runner);
		runner_join(targets->runner, NULL);
	}
	runner_free(targets->runner);
	arena_free(targets->arena);
	lock_destroy(&targets->lock);
	free(targets);
}
