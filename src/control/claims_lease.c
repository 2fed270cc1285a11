/*
 * Leases: one thread renews our own, watches those of others and reports which claims became free.
 * It keeps its observations under a lock for claims.c, which runs on the threads of controllers.
 * Every decision is a transaction in the store that requires the records it was based on.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/id.h"
#include "base/memory.h"
#include "base/seeded_bug.h"
#include "control/claims_internal.h"
#include "control/write.h"

#define CHANGES_AT_ONCE 32
/* Clocks run alike, but not exactly: the holder counts a tenth less, the others a tenth more. */
#define MARGIN_DIVISOR 10
#define RENEWALS_PER_LEASE 3
#define NAME_POLL_US INT64_C(50000)

__attribute__((format(printf, 2, 3))) static void report(struct claims *claims, const char *format,
	...)
{
	char message[ERR_MESSAGE_MAX];
	va_list list;

	va_start(list, format);
	vsnprintf(message, sizeof(message), format, list);
	va_end(list);
	runner_trace(claims->runner, "%s", message);
	if (claims->config.report)
		claims->config.report(claims->config.report_context, message);
}
/* ---- our own lease ---- */

struct lease_write {
	struct claims *claims;
	const char *incarnation;
	uint64_t expected;
};

static int write_lease(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct lease_write *lease = context;
	struct span text = arena_format(store_transaction_arena(transaction),
		"{\"incarnation\":\"%s\",\"leaseMicroseconds\":%" PRId64 ",\"folder\":\"%s\"}",
		lease->incarnation, lease->claims->config.lease_us,
		lease->claims->config.folder ? lease->claims->config.folder : "");

	return store_put(transaction, &server_kind, span_of(lease->claims->server), SPAN(""), text,
		lease->expected, err);
}

static int64_t lease_until(struct claims *claims, int64_t requested_at_us)
{
	return requested_at_us + claims->config.lease_us - claims->config.lease_us / MARGIN_DIVISOR;
}

static void enter(struct claims *claims, uint64_t revision, int64_t requested_at_us)
{
	lock_take(&claims->lock);
	if (claims->standing == STANDING_OUT) {
		claims->standing = STANDING_IN;
		memcpy(claims->incarnation, claims->next_incarnation, sizeof(claims->incarnation));
		claims->registration++;
		claims->lease_revision = revision;
		claims->lease_until_us = lease_until(claims, requested_at_us);
	}
	lock_release(&claims->lock);
	runner_trace(claims->runner, "registered '%s' as %.8s", claims->server,
		claims->next_incarnation);
	claims->next_incarnation[0] = '\0';
}

/* False if it had ended for good before. */
static bool leave(struct claims *claims, enum standing standing)
{
	bool left;

	lock_take(&claims->lock);
	left = claims->standing == STANDING_IN || claims->standing == STANDING_OUT;
	if (left)
		claims->standing = standing;
	claims->lease_until_us = INT64_MIN;
	lock_release(&claims->lock);
	return left;
}

static void be_replaced(struct claims *claims)
{
	if (leave(claims, STANDING_REPLACED))
		report(claims,
			"another server took the name '%s'; this one claims nothing any more",
			claims->server);
}

/* Registers with a new incarnation, so earlier claims have to be acquired again. The first time it
 * replaces any holder of our name; later the name must be free. An attempt with unknown outcome is
 * repeated with the same incarnation, so that we recognise our own record. */
static int register_server(struct claims *claims, uint64_t expected, struct err *err)
{
	struct lease_write lease = {claims, claims->next_incarnation, expected};
	int64_t requested_at_us = runner_now_us(claims->runner);
	uint64_t revision;
	int code;

	static_assert(ID_HEX_SIZE == CLAIMS_INCARNATION_SIZE, "an incarnation is an id");
	if (!claims->next_incarnation[0])
		id_hex(runner_random(claims->runner), claims->next_incarnation);
	code = control_write(claims->runner, claims->config.store, write_lease, &lease, &revision,
		err);
	if (code == -EEXIST) {
		_view_ struct store_view *view = store_view_open(claims->config.store);
		const struct store_object *object =
			store_get(view, &server_kind, span_of(claims->server));

		if (object &&
			!server_is_alive(view, object->key, span_of(claims->next_incarnation)))
			be_replaced(claims);
		else if (object)
			enter(claims, object->revision, requested_at_us - claims->config.lease_us);
		return 0;
	}
	if (code < 0)
		return err_prefix(err, code, "register server '%s'", claims->server);
	enter(claims, revision, requested_at_us);
	return 0;
}

/* Our record is not as we left it: a renewal of ours whose end we did not see, or it was deleted, or
 * there is a newer one of us. */
static void lease_changed(struct claims *claims)
{
	_view_ struct store_view *view = store_view_open(claims->config.store);
	const struct store_object *object = store_get(view, &server_kind, span_of(claims->server));

	if (object && server_is_alive(view, object->key, span_of(claims->incarnation))) {
		lock_take(&claims->lock);
		claims->lease_revision = object->revision;
		lock_release(&claims->lock);
	} else if (object) {
		be_replaced(claims);
	} else if (leave(claims, STANDING_OUT)) {
		report(claims, "the lease of '%s' was lost; registering again", claims->server);
	}
}

static int renew_lease(struct claims *claims, struct err *err)
{
	struct lease_write lease = {claims, claims->incarnation, claims->lease_revision};
	int64_t requested_at_us = runner_now_us(claims->runner);
	uint64_t revision;
	int code = control_write(claims->runner, claims->config.store, write_lease, &lease,
		&revision, err);

	if (code == -ESTALE || code == -ENOENT)
		lease_changed(claims);
	if (code < 0)
		return code;
	lock_take(&claims->lock);
	if (claims->standing == STANDING_IN) {
		claims->lease_revision = revision;
		claims->lease_until_us = lease_until(claims, requested_at_us);
	}
	lock_release(&claims->lock);
	return 0;
}

/* A server that could not renew its own lease in time cannot judge other servers' leases: the
 * database may have been unavailable to all. Restarts their timeouts. */
static void excuse_others(struct claims *claims)
{
	int64_t now_us = runner_now_us(claims->runner);

	MAP_EACH (&claims->observed, entry)
		((struct observed *)entry->value)->seen_at_us = now_us;
}

static void keep_lease(struct claims *claims)
{
	enum standing standing;
	int64_t until_us, pause_us = claims->config.lease_us / RENEWALS_PER_LEASE;
	struct err err;
	int code;

	lock_take(&claims->lock);
	standing = claims->standing;
	until_us = claims->lease_until_us;
	lock_release(&claims->lock);
	if (standing == STANDING_REPLACED || standing == STANDING_RESIGNED) {
		claims->renew_at_us = RUNNER_FOREVER;
		return;
	}
	if (runner_now_us(claims->runner) < claims->renew_at_us)
		return;
	if (standing == STANDING_IN && until_us <= runner_now_us(claims->runner))
		excuse_others(claims);
	if (standing == STANDING_IN)
		code = renew_lease(claims, &err);
	else
		code = register_server(claims, STORE_ABSENT, &err);
	if (code < 0)
		pause_us /= MARGIN_DIVISOR; /* soon again */
	claims->renew_at_us = runner_deadline_us(claims->runner, pause_us);
}

/* ---- the others ---- */

static void observe(struct claims *claims, const struct store_object *server)
{
	const struct server_facts *facts = server->facts;
	struct observed *observed;

	if (span_is(server->key, claims->server))
		return;
	observed = map_get(&claims->observed, server->key);
	if (!observed) {
		observed = memory_allocate(sizeof(*observed));
		lock_take(&claims->lock);
		map_put(&claims->observed, server->key, observed);
		lock_release(&claims->lock);
	}
	if (observed->revision == server->revision)
		return;
	observed->revision = server->revision;
	observed->seen_at_us = runner_now_us(claims->runner);
	lock_take(&claims->lock);
	observed->changed_at_us = observed->seen_at_us;
	observed->lease_us = facts->lease_us;
	lock_release(&claims->lock);
}

static void unobserve(struct claims *claims, struct span server)
{
	struct observed *observed;

	lock_take(&claims->lock);
	observed = map_remove(&claims->observed, server);
	lock_release(&claims->lock);
	free(observed);
}

static void report_freed(struct claims *claims, struct span key)
{
	lock_take(&claims->subscribers_lock);
	for (struct subscriber *at = claims->subscribers; at; at = at->next) {
		if (span_starts_with(key, span_of(at->prefix)))
			at->freed(at->context, key);
	}
	lock_release(&claims->subscribers_lock);
}

static void free_claims_of(struct claims *claims, struct span server, struct span incarnation)
{
	_view_ struct store_view *view = NULL;
	_free_ char *owner = NULL;
	struct store_cursor cursor;
	const struct store_object *claim;

	owner = memory_format("%.*s/%.*s", SPAN_ARGS(server), SPAN_ARGS(incarnation));
	view = store_view_open(claims->config.store);
	cursor = (struct store_cursor){
		.view = view,
		.kind = &claim_kind,
		.index = CLAIM_BY_OWNER,
		.prefix = span_of(owner),
		.exact = true,
	};
	while ((claim = store_next(&cursor)))
		report_freed(claims, claim->key);
}

static void server_changed(struct claims *claims, const struct store_change *change)
{
	const struct server_facts *before = change->before ? change->before->facts : NULL;
	const struct server_facts *after = change->after ? change->after->facts : NULL;

	if (after)
		observe(claims, change->after);
	else
		unobserve(claims, change->before->key);
	if (before && (!after || !span_equal(before->incarnation, after->incarnation)))
		free_claims_of(claims, change->before->key, before->incarnation);
}

static void claim_changed(struct claims *claims, const struct store_change *change)
{
	const struct claim_facts *after = change->after ? change->after->facts : NULL;

	if (!after || after->server.length == 0)
		report_freed(claims, change->after ? change->after->key : change->before->key);
}

static void wake_thread(void *context)
{
	runner_signal(context);
}

/* All servers and all claims, as at the start, then the feed from there. */
static int list(struct claims *claims, struct err *err)
{
	_view_ struct store_view *view = store_view_open(claims->config.store);
	struct store_cursor servers = {.view = view, .kind = &server_kind, .index = -1};
	struct store_cursor all = {.view = view, .kind = &claim_kind, .index = -1};
	const struct store_object *object;

	MAP_EACH (&claims->observed, entry) {
		if (!store_get(view, &server_kind, entry->key))
			unobserve(claims, entry->key);
	}
	while ((object = store_next(&servers)))
		observe(claims, object);
	while ((object = store_next(&all))) {
		if (claim_is_free(view, object))
			report_freed(claims, object->key);
	}
	return store_feed_open(claims->config.store, store_view_revision(view), wake_thread,
		claims->changed, &claims->feed, err);
}

static void take_changes(struct claims *claims, struct store_change *changes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (changes[i].kind == &server_kind)
			server_changed(claims, &changes[i]);
		else if (changes[i].kind == &claim_kind)
			claim_changed(claims, &changes[i]);
		store_change_release(&changes[i]);
	}
}

static void drop_feed(struct claims *claims)
{
	store_feed_close(claims->feed);
	claims->feed = NULL;
}

static void follow_feed(struct claims *claims)
{
	struct store_change changes[CHANGES_AT_ONCE];
	bool report_all;
	int count;

	lock_take(&claims->subscribers_lock);
	report_all = claims->report_all;
	claims->report_all = false;
	lock_release(&claims->subscribers_lock);
	if (report_all)
		drop_feed(claims);
	if (!claims->feed && list(claims, NULL) < 0)
		return;
	while ((count = store_feed_next(claims->feed, changes, LENGTH(changes))) > 0) {
		take_changes(claims, changes, (size_t)count);
		/* A feed that never runs dry must not keep us from renewing, or from stopping. */
		if (runner_now_us(claims->runner) >= claims->renew_at_us ||
			runner_is_stopped(claims->runner))
			break;
	}
	if (count == -EOVERFLOW)
		drop_feed(claims);
	if (count != 0)
		runner_signal(claims->changed); /* there is more to do */
}

struct death {
	struct span server;
	uint64_t revision;
};

static int write_death(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct death *death = context;

	return store_delete(transaction, &server_kind, death->server, death->revision, err);
}

/* The lease duration in a record, as other servers measure it. */
static int64_t patience_us(const struct observed *observed)
{
	int64_t lease_us = observed->lease_us < INT64_MAX / 4 ? observed->lease_us : INT64_MAX / 4;

	return lease_us + lease_us / MARGIN_DIVISOR;
}

static int64_t expires_at_us(const struct claims *claims, const struct observed *observed)
{
	if (SEEDED_BUG(claims->config.bug_hasty_death))
		return observed->seen_at_us + observed->lease_us / RENEWALS_PER_LEASE / 2;
	return observed->seen_at_us + patience_us(observed);
}

bool claims_is_kept_by_another(struct claims *claims, struct span key)
{
	_view_ struct store_view *view = store_view_open(claims->config.store);
	const struct store_object *claim = store_get(view, &claim_kind, key);
	struct span owner;
	const struct observed *observed;
	bool is_kept;

	if (claim_is_free(view, claim))
		return false;
	owner = ((const struct claim_facts *)claim->facts)->server;
	if (span_is(owner, claims->server))
		return false;
	lock_take(&claims->lock);
	observed = map_get(&claims->observed, owner);
	is_kept = !observed ||
		  runner_now_us(claims->runner) < observed->changed_at_us + patience_us(observed);
	lock_release(&claims->lock);
	return is_kept;
}

/* Declares dead whose lease ran out; a renewal that we have not seen yet makes the delete fail. Returns
 * when the next one would. */
static int64_t judge(struct claims *claims)
{
	int64_t next_us = RUNNER_FOREVER;

	if (!claims_has_lease(claims, NULL))
		return next_us;
	MAP_EACH (&claims->observed, entry) {
		struct observed *observed = entry->value;
		int64_t expires_us = expires_at_us(claims, observed);
		struct death death = {entry->key, observed->revision};
		int code;

		if (runner_now_us(claims->runner) < expires_us) {
			next_us = expires_us < next_us ? expires_us : next_us;
			continue;
		}
		if (SEEDED_BUG(claims->config.bug_hasty_death))
			death.revision = STORE_ANY;
		code = control_write(claims->runner, claims->config.store, write_death, &death,
			NULL, NULL);
		if (code == 0)
			report(claims, "server '%.*s' did not renew its lease and is declared dead",
				SPAN_ARGS(entry->key));
		/* The record is gone, the server was alive after all, or the database is
		 * unavailable: the feed will report which. */
		observed->seen_at_us = runner_now_us(claims->runner);
		if (code == -ECANCELED)
			break;
	}
	return next_us;
}

static void thread(void *context)
{
	struct claims *claims = context;

	for (;;) {
		uint64_t seen = runner_event_count(claims->changed);
		int64_t next_us;

		if (runner_yield(claims->runner) < 0)
			break;
		follow_feed(claims);
		keep_lease(claims);
		next_us = judge(claims);
		if (claims->renew_at_us < next_us)
			next_us = claims->renew_at_us;
		if (runner_wait(claims->runner, claims->changed, seen, next_us) == -ECANCELED)
			break;
	}
	store_feed_close(claims->feed);
	claims->feed = NULL;
}

/* ---- starting and stopping ---- */

static int refuse_name(const struct claims *claims, struct err *err)
{
	return err_set(err, -EBUSY,
		"a server with another state folder has the name '%s' (file 'host'), and runs: a "
		"state "
		"folder must not be copied to a second server; end that server, or remove 'host' "
		"from "
		"a copy whose tasks you do not need",
		claims->server);
}

/* Until the name may be taken, and at which revision of its record: at once, unless its lease is from another
 * folder. Such a lease is live if it is renewed before it has run out. */
static int wait_for_name(struct claims *claims, uint64_t *ret_expected, struct err *err)
{
	uint64_t first = 0;
	int64_t until_us = 0;

	for (;;) {
		_view_ struct store_view *view = store_view_open(claims->config.store);
		const struct store_object *object =
			store_get(view, &server_kind, span_of(claims->server));
		const struct server_facts *facts = object ? object->facts : NULL;
		struct observed observed = {.lease_us = facts ? facts->lease_us : 0};

		*ret_expected = object ? object->revision : STORE_ABSENT;
		if (!object || facts->folder.length == 0 ||
			span_is(facts->folder, claims->config.folder))
			return 0;
		if (first == 0) {
			first = object->revision;
			until_us = runner_deadline_us(claims->runner, patience_us(&observed));
		}
		if (object->revision != first)
			return refuse_name(claims, err);
		if (runner_now_us(claims->runner) >= until_us)
			return 0;
		if (runner_sleep_until(claims->runner,
			    runner_deadline_us(claims->runner, NAME_POLL_US)) < 0)
			return err_set(err, -ECANCELED, "stopped while waiting for a lease to end");
	}
}

/* The first registration. */
static int take_name(struct claims *claims, struct err *err)
{
	uint64_t expected = STORE_ANY;
	int code = claims->config.folder ? wait_for_name(claims, &expected, err) : 0;

	if (code == 0)
		code = register_server(claims, expected, err);
	if (code == -ESTALE || claims->standing == STANDING_REPLACED)
		return refuse_name(claims, err);
	return code;
}

/* Names are written into JSON and into index texts as they are. */
static int check_name(const char *name, struct err *err)
{
	size_t length = strlen(name);

	if (length == 0 || length > CLAIMS_NAME_MAX)
		return err_set(err, -EINVAL, "server name must have 1 to %d characters",
			CLAIMS_NAME_MAX);
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c <= ' ' || c == '"' || c == '\\' || c == '/' || c >= 127)
			return err_set(err, -EINVAL,
				"server name '%s' has a character that is not allowed", name);
	}
	return 0;
}

int claims_start(const struct claims_config *config, struct claims **ret_claims, struct err *err)
{
	struct claims *claims;
	int code = check_name(config->server, err);

	if (code < 0)
		return code;
	if (config->lease_us != 0 && config->lease_us < CLAIMS_LEASE_LEAST_US)
		return err_set(err, -EINVAL,
			"a lease of %" PRId64 " us is too short (least: %" PRId64 ")",
			config->lease_us, CLAIMS_LEASE_LEAST_US);
	claims = memory_allocate(sizeof(*claims));
	claims->config = *config;
	if (claims->config.lease_us == 0)
		claims->config.lease_us = CLAIMS_LEASE_US;
	claims->server = memory_copy_string(config->server);
	claims->runner = runner_group_new(config->runner, "claims");
	claims->changed = runner_event_new(claims->runner, "changes of claims");
	claims->lease_until_us = INT64_MIN;
	lock_init(&claims->lock);
	lock_init(&claims->subscribers_lock);
	claims->standing = config->passive ? STANDING_RESIGNED : STANDING_OUT;
	code = config->passive ? 0 : take_name(claims, err);
	claims->renew_at_us =
		runner_deadline_us(claims->runner, claims->config.lease_us / RENEWALS_PER_LEASE);
	if (code == 0)
		code = runner_spawn(claims->runner, "lease", thread, claims, err);
	if (code < 0) {
		claims_stop(claims);
		return code;
	}
	*ret_claims = claims;
	return 0;
}

int claims_resign(struct claims *claims, struct err *err)
{
	char incarnation[CLAIMS_INCARNATION_SIZE];
	struct death death = {span_of(claims->server), 0};
	bool had_lease;
	int code;

	/* This server gives it up before others may take it. */
	lock_take(&claims->lock);
	had_lease = claims->standing == STANDING_IN;
	claims->standing = STANDING_RESIGNED;
	claims->lease_until_us = INT64_MIN;
	memcpy(incarnation, claims->incarnation, sizeof(incarnation));
	lock_release(&claims->lock);
	while (had_lease) {
		_view_ struct store_view *view = store_view_open(claims->config.store);
		const struct store_object *object =
			store_get(view, &server_kind, span_of(claims->server));

		if (!object ||
			!server_is_alive(view, span_of(claims->server), span_of(incarnation)))
			return 0;
		death.revision = object->revision;
		code = control_write(claims->runner, claims->config.store, write_death, &death,
			NULL, err);
		/* A renewal in progress was written first: repeat. */
		if (code != -ESTALE && code != -ENOENT)
			return code < 0 ? err_prefix(err, code, "resign '%s'", claims->server) : 0;
	}
	return 0;
}

void claims_stop(struct claims *claims)
{
	if (!claims)
		return;
	runner_stop(claims->runner);
	runner_join(claims->runner, NULL);
	MAP_EACH (&claims->observed, entry)
		free(entry->value);
	map_clear(&claims->observed);
	runner_event_free(claims->changed);
	runner_free(claims->runner);
	while (claims->subscribers)
		claims_unsubscribe(claims, claims->subscribers->context);
	lock_destroy(&claims->subscribers_lock);
	lock_destroy(&claims->lock);
	free(claims->server);
	free(claims);
}

void claims_subscribe(struct claims *claims, struct span prefix,
	void (*freed)(void *context, struct span key), void *context)
{
	struct subscriber *subscriber = memory_allocate(sizeof(*subscriber));

	subscriber->prefix = memory_copy_string_n(prefix.data, prefix.length);
	subscriber->freed = freed;
	subscriber->context = context;
	lock_take(&claims->subscribers_lock);
	subscriber->next = claims->subscribers;
	claims->subscribers = subscriber;
	claims->report_all = true;
	lock_release(&claims->subscribers_lock);
	runner_signal(claims->changed);
}

void claims_unsubscribe(struct claims *claims, const void *context)
{
	struct subscriber **at = &claims->subscribers;

	lock_take(&claims->subscribers_lock);
	while (*at) {
		struct subscriber *subscriber = *at;

		if (subscriber->context != context) {
			at = &subscriber->next;
			continue;
		}
		*at = subscriber->next;
		free(subscriber->prefix);
		free(subscriber);
	}
	lock_release(&claims->subscribers_lock);
}
