/* What the managers of environments without a fleet share. */
#include <stdarg.h>
#include <stdio.h>

#include "aws/sigv4_hash.h"
#include "base/memory.h"
#include "environment/manager_internal.h"

#define TOKEN_DIGITS 32
#define TOKEN_TEXT_MAX 1024

/* Workers that call targets elsewhere at once, where they may have to wait: an account has one more for what is here. */
#define REMOTE_MAX (MANAGER_ACCOUNT_WORKERS - 1)

/* ---- calling ---- */

bool manager_is_throttled(const struct aws_call_failure *failure)
{
	return failure->status == 429 || failure->status == 503 || strstr(failure->type, "Throttl");
}

enum manager_outcome manager_outcome(struct span cluster_ref, int code,
	const struct aws_call_failure *failure)
{
	if (code == 0)
		return MANAGER_DONE;
	if (code == -EREMOTEIO)
		return manager_is_remote(cluster_ref) && failure->status >= 500 &&
				       !manager_is_throttled(failure)
			       ? MANAGER_UNKNOWN
			       : MANAGER_REFUSED;
	return aws_call_was_not_sent(code) ? MANAGER_REFUSED : MANAGER_UNKNOWN;
}

int64_t manager_call_us(struct span cluster_ref)
{
	return manager_is_remote(cluster_ref) ? MANAGER_REMOTE_US : MANAGER_CALL_US;
}

bool manager_enter(struct manager *manager, struct span cluster_ref)
{
	bool free;

	if (!manager_is_remote(cluster_ref))
		return true;
	lock_take(&manager->lock);
	free = manager->remote_workers < REMOTE_MAX;
	manager->remote_workers += free;
	lock_release(&manager->lock);
	return free;
}

void manager_leave(struct manager *manager, struct span cluster_ref)
{
	if (!manager_is_remote(cluster_ref))
		return;
	lock_take(&manager->lock);
	manager->remote_workers--;
	lock_release(&manager->lock);
}

static int find_target(struct manager_pass *pass, struct span cluster_ref, struct span role,
	struct aws_target **ret_target, struct err *err)
{
	return manager_target(pass->manager, environment_facts(pass->input.environment)->account,
		cluster_ref, role, ret_target, err);
}

int manager_prepare(struct manager_pass *pass, struct span cluster_ref, struct span role,
	struct err *err)
{
	struct aws_target *target;
	int code = find_target(pass, cluster_ref, role, &target, err);

	if (code == 0)
		code = aws_target_prepare(target, err);
	return code < 0 ? code
			: claims_check(pass->manager->config.claims, &pass->claim,
				  manager_call_us(cluster_ref), err);
}

int manager_call(struct manager_pass *pass, struct span cluster_ref, const struct span *role,
	const char *operation, const struct json *request, struct json **ret_answer,
	struct aws_call_failure *failure, struct err *err)
{
	struct aws_target *target;
	int code = find_target(pass, cluster_ref, role ? *role : SPAN(""), &target, err);

	if (code < 0)
		return err_set(err, -EAGAIN, "the ECS of %.*s cannot be called now",
			SPAN_ARGS(cluster_ref));
	if (role)
		code = claims_check(pass->manager->config.claims, &pass->claim,
			manager_call_us(cluster_ref), err);
	if (code < 0)
		return code;
	*failure = (struct aws_call_failure){0};
	return manager_send(pass, cluster_ref, target, operation, request, ret_answer, failure,
		err);
}

/* The claim, as a fence of one call. */
struct claim_fence {
	struct manager_pass *pass;
	bool is_stale;
};

static int require_claim(void *context, struct store_transaction *transaction, struct err *err)
{
	struct claim_fence *fence = context;
	int code = claims_require(fence->pass->manager->config.claims, transaction,
		&fence->pass->claim, err);

	fence->is_stale = code < 0;
	return code;
}

int manager_send(struct manager_pass *pass, struct span cluster_ref, struct aws_target *target,
	const char *operation, const struct json *request, struct json **ret_answer,
	struct aws_call_failure *failure, struct err *err)
{
	struct claim_fence claim = {.pass = pass};
	const struct aws_fence fence = {.require = require_claim, .context = &claim};
	int code = aws_call_fenced(target,
		manager_is_remote(cluster_ref) || pass->input.bug == DAEMON_BUG_LATE_CALL ? NULL
											  : &fence,
		"ecs", operation, request, pass->arena, ret_answer, failure, err);

	/* Somebody else manages the environment by now: nothing was done, and nothing more is to be. */
	if (code < 0 && code != -ECANCELED && claim.is_stale)
		return err_set(err, -ESTALE, "%s: environment %.*s is another server's", operation,
			SPAN_ARGS(pass->instances->key));
	return code;
}

int64_t manager_refused_until(const struct manager_pass *pass, int64_t failures)
{
	int64_t delay = ENV_INSTANCES_REFUSED_FIRST_MS;

	for (int64_t i = 1; i < failures && delay < ENV_INSTANCES_REFUSED_MOST_MS; i++)
		delay *= 2;
	return runner_wall_ms(pass->call->runner) +
	       (delay < ENV_INSTANCES_REFUSED_MOST_MS ? delay : ENV_INSTANCES_REFUSED_MOST_MS);
}

struct span manager_role(const struct manager_pass *pass, struct span cluster_ref,
	struct span version)
{
	const struct store_object *versions[] = {pass->input.target,
		version.length > 0 ? store_get(pass->input.view, &environment_version_kind,
					     environment_child_key(pass->arena,
						     pass->input.environment->key, version))
				   : NULL};

	for (size_t i = 0; i < LENGTH(versions); i++)
		if (versions[i] && span_equal(environment_version_facts(versions[i])->cluster_ref,
					   cluster_ref))
			return environment_version_facts(versions[i])->role;
	return SPAN("");
}

/* As observe_resource_version() makes it for one place. */
uint64_t manager_resource_version(const struct manager_pass *pass)
{
	return (uint64_t)(runner_now_us(pass->call->runner) / 1000) + 1;
}

/* ---- and the rest ---- */

/* An environment that was deleted and made again is another one. */
struct span manager_token(const struct manager_pass *pass, const char *format, ...)
{
	_sigv4_hash_ struct sigv4_hash hash;
	unsigned char digest[SIGV4_HASH_SIZE];
	char payload[TOKEN_TEXT_MAX], digits[SIGV4_HEX_SIZE];
	struct span text;
	va_list list;

	va_start(list, format);
	vsnprintf(payload, sizeof(payload), format, list);
	va_end(list);
	text = arena_format(pass->arena, "%.*s/%lld/%s", SPAN_ARGS(pass->input.environment->key),
		(long long)environment_facts(pass->input.environment)->created_ms, payload);
	sigv4_hash_open(&hash);
	sigv4_hash_digest(&hash, text, digest);
	sigv4_hash_hex(digest, digits);
	return arena_copy_span(pass->arena, (struct span){digits, TOKEN_DIGITS});
}

bool manager_is_still_wanted(struct store_transaction *transaction, const struct manager_pass *pass)
{
	const struct environment_facts *seen = environment_facts(pass->input.environment);
	const struct store_object *now =
		store_get(store_head(transaction), &environment_kind, pass->input.environment->key);

	return now && environment_facts(now)->status == seen->status &&
	       span_equal(environment_facts(now)->in_progress, seen->in_progress) &&
	       span_equal(environment_facts(now)->target, seen->target);
}

void manager_publish(struct manager_pass *pass, const struct environment_counts *counts)
{
	lock_take(&pass->instances->lock);
	pass->instances->counts = *counts;
	lock_release(&pass->instances->lock);
}

struct span manager_last_part(struct span path)
{
	for (size_t i = path.length; i > 0; i--)
		if (path.data[i - 1] == '/')
			return (struct span){path.data + i, path.length - i};
	return path;
}

const struct json *manager_version_document(const struct manager_pass *pass,
	const struct store_object *version)
{
	struct json *document;

	if (!version || json_parse(version->api, pass->arena, &document, NULL) < 0)
		return NULL;
	return document;
}
