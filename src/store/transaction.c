/* The operations of a write function. Every call checks everything first and then changes head, so
 * a refused one has changed nothing. */
#include "base/memory.h"
#include "store/state.h"

const struct store_view *store_head(struct store_transaction *transaction)
{
	return transaction->store->head.view;
}

uint64_t store_next_revision(struct store_transaction *transaction)
{
	return transaction->store->head.view->revision + 1;
}

struct arena *store_transaction_arena(struct store_transaction *transaction)
{
	return transaction->arena;
}

static int check_quarantine(struct store *store, const struct store_kind *kind, struct span key,
	struct err *err)
{
	if (!quarantine_has(&store->quarantine, span_of(kind->name), key))
		return 0;
	return err_set(err, -EBADMSG,
		"%s '%.*s' is quarantined: its record in the database is damaged", kind->name,
		SPAN_ARGS(key));
}

static int stale(const struct store_kind *kind, struct span key, uint64_t expected,
	const struct store_object *found, struct err *err)
{
	if (!found)
		return err_set(err, -ESTALE, "%s '%.*s' does not exist (any more)", kind->name,
			SPAN_ARGS(key));
	if (expected == STORE_ABSENT)
		return err_set(err, -ESTALE, "%s '%.*s' exists", kind->name, SPAN_ARGS(key));
	return err_set(err, -ESTALE, "%s '%.*s' has changed (revision %llu, not %llu)", kind->name,
		SPAN_ARGS(key), (unsigned long long)found->revision, (unsigned long long)expected);
}

static bool as_expected(const struct store_object *found, uint64_t expected)
{
	if (expected == STORE_ANY)
		return true;
	return expected == (found ? found->revision : STORE_ABSENT);
}

static int check_change(struct store_transaction *transaction, const struct store_kind *kind,
	struct span key, struct err *err)
{
	if (transaction->changes >= STORE_CHANGES_MAX)
		return err_set(err, -E2BIG, "a transaction changes more than %d objects",
			STORE_CHANGES_MAX);
	return check_quarantine(transaction->store, kind, key, err);
}

int store_put(struct store_transaction *transaction, const struct store_kind *kind, struct span key,
	struct span api, struct span private_, uint64_t expected, struct err *err)
{
	struct store *store = transaction->store;
	const struct kind_place *place = kinds_find(&store->kinds, kind);
	const struct store_object *before = store_get(store->head.view, kind, key);
	const struct store_object *after = NULL;
	uint64_t revision = store_next_revision(transaction);
	int code = check_change(transaction, kind, key, err);

	if (code < 0)
		return code;
	if (!as_expected(before, expected)) {
		if (expected == STORE_ABSENT)
			return err_set(err, -EEXIST, "%s '%.*s' exists", kind->name,
				SPAN_ARGS(key));
		return stale(kind, key, expected, before, err);
	}
	code = object_new(store->head.maker, kind, key, revision, api, private_, &after, err);
	if (code < 0)
		return code;
	head_change(store, place, revision, before, after);
	transaction->changes++;
	return 0;
}

int store_delete(struct store_transaction *transaction, const struct store_kind *kind,
	struct span key, uint64_t expected, struct err *err)
{
	struct store *store = transaction->store;
	const struct store_object *before = store_get(store->head.view, kind, key);
	int code = check_change(transaction, kind, key, err);

	if (code < 0)
		return code;
	if (!before)
		return err_set(err, -ENOENT, "%s '%.*s' does not exist", kind->name,
			SPAN_ARGS(key));
	if (!as_expected(before, expected))
		return stale(kind, key, expected, before, err);
	head_change(store, kinds_find(&store->kinds, kind), store_next_revision(transaction),
		before, NULL);
	transaction->changes++;
	return 0;
}

int store_require(struct store_transaction *transaction, const struct store_kind *kind,
	struct span key, uint64_t revision, struct err *err)
{
	const struct store_object *found = store_get(store_head(transaction), kind, key);
	int code = check_quarantine(transaction->store, kind, key, err);

	if (code < 0)
		return code; /* neither there nor absent */
	if (revision == STORE_ANY ? !found : !as_expected(found, revision))
		return stale(kind, key, revision, found, err);
	return 0;
}
