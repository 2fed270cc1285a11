/* Claims: how a server acquires one, and what it may do while it owns it. claims_lease.c decides
 * which servers are alive. */
#include "control/claims.h"

#include <inttypes.h>

#include "base/memory.h"
#include "base/seeded_bug.h"
#include "control/claims_internal.h"
#include "control/write.h"

struct acquire_write {
	struct claims *claims;
	struct span key;
	char incarnation[CLAIMS_INCARNATION_SIZE];
	uint64_t epoch;
};

static int busy(const struct store_object *claim, struct err *err)
{
	return err_set(err, -EBUSY, "claim '%.*s' is held by server '%.*s'", SPAN_ARGS(claim->key),
		SPAN_ARGS(((const struct claim_facts *)claim->facts)->server));
}

static bool is_ours(const struct claims *claims, const struct store_object *claim,
	const char *incarnation)
{
	const struct claim_facts *facts = claim ? claim->facts : NULL;

	return facts && span_is(facts->server, claims->server) &&
	       span_is(facts->incarnation, incarnation);
}

static int write_acquire(struct store_transaction *transaction, void *context, struct err *err)
{
	struct acquire_write *acquire = context;
	struct claims *claims = acquire->claims;
	const struct store_view *head = store_head(transaction);
	const struct store_object *claim = store_get(head, &claim_kind, acquire->key);
	struct span text;

	if (!server_is_alive(head, span_of(claims->server), span_of(acquire->incarnation)))
		return err_set(err, -EAGAIN, "the lease of '%s' is gone", claims->server);
	if (is_ours(claims, claim, acquire->incarnation)) {
		acquire->epoch = claim->revision;
		return 0;
	}
	if (!claim_is_free(head, claim))
		return busy(claim, err);
	acquire->epoch = store_next_revision(transaction);
	text = arena_format(store_transaction_arena(transaction),
		"{\"server\":\"%s\",\"incarnation\":\"%s\",\"epoch\":%" PRIu64 "}", claims->server,
		acquire->incarnation, acquire->epoch);
	return store_put(transaction, &claim_kind, acquire->key, SPAN(""), text,
		claim ? claim->revision : STORE_ABSENT, err);
}

/* Fills registration and incarnation when we have a lease now. */
static int standing_now(struct claims *claims, uint64_t *ret_registration,
	char incarnation[CLAIMS_INCARNATION_SIZE], struct err *err)
{
	int64_t now_us = runner_now_us(claims->runner);
	enum standing standing;
	bool valid;

	lock_take(&claims->lock);
	standing = claims->standing;
	valid = standing == STANDING_IN && now_us < claims->lease_until_us;
	*ret_registration = claims->registration;
	memcpy(incarnation, claims->incarnation, CLAIMS_INCARNATION_SIZE);
	lock_release(&claims->lock);
	if (standing == STANDING_REPLACED)
		return err_set(err, -ESTALE, "another server took the name '%s'", claims->server);
	if (standing == STANDING_RESIGNED)
		return err_set(err, -ESTALE, "server '%s' has resigned", claims->server);
	if (!valid)
		return err_set(err, -EAGAIN, "server '%s' has no lease just now", claims->server);
	return 0;
}

int claims_acquire(struct claims *claims, struct span key, struct claim *ret_claim, struct err *err)
{
	struct acquire_write acquire = {.claims = claims, .key = key};
	struct claim claim = {.key = key};
	int code = standing_now(claims, &claim.registration, acquire.incarnation, err);

	if (code < 0)
		return code;
	{
		_view_ struct store_view *view = store_view_open(claims->config.store);
		const struct store_object *object = store_get(view, &claim_kind, key);

		if (is_ours(claims, object, acquire.incarnation)) {
			claim.epoch = object->revision;
			*ret_claim = claim;
			return 0;
		}
		if (!claim_is_free(view, object))
			return busy(object, err);
	}
	code = control_write(claims->runner, claims->config.store, write_acquire, &acquire, NULL,
		err);
	if (code < 0)
		return code;
	claim.epoch = acquire.epoch;
	runner_trace(claims->runner, "claim '%.*s' is ours, epoch %" PRIu64, SPAN_ARGS(key),
		claim.epoch);
	*ret_claim = claim;
	return 0;
}

static int not_ours(const struct claim *claim, struct err *err)
{
	return err_set(err, -ESTALE, "claim '%.*s' of epoch %" PRIu64 " is not ours any more",
		SPAN_ARGS(claim->key), claim->epoch);
}

int claims_check(struct claims *claims, const struct claim *claim, int64_t outlast_us,
	struct err *err)
{
	_view_ struct store_view *view = NULL;
	const struct store_object *object;
	bool valid;

	if (SEEDED_BUG(claims->config.bug_no_check))
		return 0;
	view = store_view_open(claims->config.store);
	object = store_get(view, &claim_kind, claim->key);
	if (!object || object->revision != claim->epoch || !claim_owner_is_alive(view, object))
		return not_ours(claim, err);
	/* The lease is checked last: nothing between this and the action takes time. */
	lock_take(&claims->lock);
	valid = claims->standing == STANDING_IN && claims->registration == claim->registration &&
		runner_now_us(claims->runner) < claims->lease_until_us - outlast_us;
	lock_release(&claims->lock);
	if (!valid)
		return err_set(err, -ESTALE, "the lease of '%s' does not last for this call",
			claims->server);
	return 0;
}

int claims_require(struct claims *claims, struct store_transaction *transaction,
	const struct claim *claim, struct err *err)
{
	if (SEEDED_BUG(claims->config.bug_no_fence))
		return 0;
	if (store_require(transaction, &claim_kind, claim->key, claim->epoch, NULL) < 0)
		return not_ours(claim, err);
	return 0;
}

struct fenced_write {
	struct claims *claims;
	const struct claim *claim;
	store_write_function function;
	void *context;
};

static int write_fenced(struct store_transaction *transaction, void *context, struct err *err)
{
	struct fenced_write *fenced = context;
	int code = claims_require(fenced->claims, transaction, fenced->claim, err);

	return code < 0 ? code : fenced->function(transaction, fenced->context, err);
}

int claims_write(struct claims *claims, const struct claim *claim, store_write_function function,
	void *context, uint64_t *ret_revision, struct err *err)
{
	struct fenced_write fenced = {claims, claim, function, context};

	return control_write(claims->runner, claims->config.store, write_fenced, &fenced,
		ret_revision, err);
}

static int write_release(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct claim *claim = context;

	return store_put(transaction, &claim_kind, claim->key, SPAN(""),
		SPAN("{\"server\":\"\",\"incarnation\":\"\"}"), claim->epoch, err);
}

int claims_release(struct claims *claims, const struct claim *claim, struct err *err)
{
	struct claim copy = *claim;

	return control_write(claims->runner, claims->config.store, write_release, &copy, NULL, err);
}

int claims_forget(struct claims *claims, struct store_transaction *transaction,
	const struct claim *claim, struct err *err)
{
	int code = claims_require(claims, transaction, claim, err);

	if (code < 0)
		return code;
	return store_delete(transaction, &claim_kind, claim->key,
		SEEDED_BUG(claims->config.bug_no_fence) ? STORE_ANY : claim->epoch, err);
}

bool claims_lost_lease(struct claims *claims)
{
	bool lost;

	lock_take(&claims->lock);
	lost = claims->standing != STANDING_RESIGNED &&
	       !(claims->standing == STANDING_IN &&
		       runner_now_us(claims->runner) < claims->lease_until_us);
	lock_release(&claims->lock);
	return lost;
}

int claims_require_lease(struct claims *claims, struct err *err)
{
	return claims_lost_lease(claims)
		       ? err_set(err, -EAGAIN, "server '%s' has lost its lease", claims->server)
		       : 0;
}

bool claims_has_lease(struct claims *claims, int64_t *ret_until_us)
{
	int64_t now_us = runner_now_us(claims->runner);
	int64_t until_us;

	lock_take(&claims->lock);
	until_us = claims->standing == STANDING_IN ? claims->lease_until_us : INT64_MIN;
	lock_release(&claims->lock);
	if (ret_until_us && now_us < until_us)
		*ret_until_us = until_us;
	return now_us < until_us;
}

const char *claims_server(const struct claims *claims)
{
	return claims->server;
}
