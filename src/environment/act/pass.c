/* See the header. */
#include <stdarg.h>
#include <stdio.h>

#include "aws/sigv4_hash.h"
#include "base/memory.h"
#include "base/seeded_bug.h"
#include "delivery/cluster_ref.h"
#include "environment/act/pass.h"

#define TOKEN_DIGITS 32
#define TOKEN_TEXT_MAX 1024

/* ---- calls ---- */

bool manager_enter(struct manager *manager, struct cluster_ref cluster)
{
	return !cluster_ref_is_remote(cluster) || outcall_slots_enter(&manager->remote_slots);
}

void manager_leave(struct manager *manager, struct cluster_ref cluster)
{
	if (cluster_ref_is_remote(cluster))
		outcall_slots_leave(&manager->remote_slots);
}

int manager_outcall(const struct manager_pass *pass, struct cluster_ref cluster, struct span role,
	struct outcall *ret_call, struct err *err)
{
	struct aws_target *target;
	int code = delivery_targets_get(pass->manager->targets,
		environment_facts(pass->input.environment)->account, cluster, role, &target, err);

	if (code < 0)
		return code;
	*ret_call = (struct outcall){.claims = pass->manager->config.claims,
		.claim = &pass->claim,
		.target = target,
		.is_remote = cluster_ref_is_remote(cluster),
		.is_unfenced = SEEDED_BUG(pass->input.bug == DAEMON_BUG_LATE_CALL),
		.service = "ecs",
		.arena = pass->arena};
	return 0;
}

static int find_outcall(const struct manager_pass *pass, struct cluster_ref cluster,
	struct span role, struct outcall *ret_call, struct err *err)
{
	return manager_outcall(pass, cluster, role, ret_call, err) == 0
		       ? 0
		       : err_set(err, -EAGAIN, "the ECS of %.*s cannot be called now",
				 SPAN_ARGS(cluster.text));
}

int manager_send(const struct manager_pass *pass, struct cluster_ref cluster, struct span role,
	const char *operation, const struct json *request, struct outcall_result *ret_result,
	struct err *err)
{
	struct outcall call;
	int code = find_outcall(pass, cluster, role, &call, err);

	return code < 0 ? code : outcall_send(&call, operation, request, ret_result, err);
}

int manager_read(const struct manager_pass *pass, struct cluster_ref cluster, const char *operation,
	const struct json *request, struct json **ret_answer, struct aws_call_failure *failure,
	struct err *err)
{
	struct outcall call;
	int code = find_outcall(pass, cluster, SPAN(""), &call, err);

	return code < 0 ? code : outcall_read(&call, operation, request, ret_answer, failure, err);
}

int64_t manager_refused_until(const struct manager_pass *pass, int64_t failures)
{
	static const struct backoff backoff = {MANAGER_REFUSED_FIRST_MS, PLACEMENT_REFUSED_MOST_MS};

	return runner_wall_ms(pass->call->runner) + backoff_ms(backoff, failures);
}

struct span manager_role(const struct manager_pass *pass, struct cluster_ref cluster,
	struct span version)
{
	const struct store_object *versions[] = {pass->input.target,
		version.length > 0 ? store_get(pass->input.view, &environment_version_kind,
					     environment_child_key(pass->arena,
						     pass->input.environment->key, version))
				   : NULL};

	for (size_t i = 0; i < LENGTH(versions); i++)
		if (versions[i] && span_equal(environment_version_facts(versions[i])->cluster_ref,
					   cluster.text))
			return environment_version_facts(versions[i])->role;
	return SPAN("");
}

/* As observe_resource_version() makes it for one place. */
uint64_t manager_resource_version(const struct manager_pass *pass)
{
	return (uint64_t)(runner_now_us(pass->call->runner) / 1000) + 1;
}

/* ---- waiting ---- */

void manager_again_at(struct manager_pass *pass, int64_t at_ms)
{
	if (at_ms > 0 && (pass->again_ms == 0 || at_ms < pass->again_ms))
		pass->again_ms = at_ms;
}

void manager_again_when(struct manager_pass *pass, int64_t wall_ms)
{
	if (wall_ms > 0)
		manager_again_at(pass, pass->input.steady_ms + wall_ms - pass->input.now_ms);
}

bool manager_must_wait(const struct manager_pass *pass, int64_t until_ms, int64_t most_ms)
{
	int64_t left_ms = until_ms - pass->input.now_ms;

	return left_ms > 0 && left_ms <= most_ms;
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
