/*
 * From rows of the database to objects: all of them at start, and those that other servers wrote later.
 * Rows that cannot be trusted or read are quarantined here and go no further.
 *
 * A reader that finds a record neither in a view nor in the quarantine takes it for deleted and
 * acts on that. So a record is in the quarantine before it leaves the view, and in the view before
 * it leaves the quarantine.
 */
#include "base/memory.h"
#include "store/state.h"

/* found: those of one load, which will be all there are; or NULL. */
static void quarantine_row(struct store *store, struct quarantine *found,
	const struct store_row *row, const char *reason)
{
	quarantine_add(&store->quarantine, row->kind, row->key, row->revision, reason);
	if (found)
		quarantine_add(found, row->kind, row->key, row->revision, reason);
	store_report(store, "quarantined %.*s '%.*s' (revision %llu): %s", SPAN_ARGS(row->kind),
		SPAN_ARGS(row->key), (unsigned long long)row->revision, reason);
}

/* A newer slipway with the same format may know more kinds: its records stay where they are. */
static void report_unknown_kind(struct store *store, const struct store_row *row)
{
	if (map_has(&store->unknown_kinds, row->kind))
		return;
	map_put(&store->unknown_kinds, row->kind, store);
	store_report(store,
		"the database has records of a kind '%.*s' that this slipway does not "
		"know; they are kept and not used",
		SPAN_ARGS(row->kind));
}

/* Reads a row: 1 when it was quarantined. *ret_place is NULL when the kind is not known; *ret_object is
 * NULL then, for a deletion and for a quarantined row. */
static int row_read(struct store *store, struct quarantine *found, const struct store_row *row,
	const struct kind_place **ret_place, const struct store_object **ret_object,
	struct err *err)
{
	const struct kind_place *place = kinds_find_name(&store->kinds, row->kind);
	const struct store_object *object = NULL;
	struct err reason;
	int code = 0;

	if (store->integrity)
		code = integrity_check(store->integrity, row, &reason);
	if (code < 0 && code != -EBADMSG)
		return err_set(err, code, "%s", reason.message);
	if (code == 0 && !place)
		report_unknown_kind(store, row);
	else if (code == 0 && !row->deleted)
		code = object_new(store->head.maker, place->kind, row->key, row->revision, row->api,
			row->private_, &object, &reason);
	if (code < 0)
		quarantine_row(store, found, row, reason.message);
	*ret_place = place;
	*ret_object = object;
	return code < 0;
}

/* ---- all rows ---- */

struct loading {
	struct store *store;
	struct quarantine *found;
	size_t rows, quarantined;
};

/* store_row_function: a row found at start */
static int load_row(void *context, const struct store_row *row, struct err *err)
{
	struct loading *loading = context;
	struct store *store = loading->store;
	_object_ const struct store_object *object = NULL;
	const struct kind_place *place = NULL;
	int code = row_read(store, loading->found, row, &place, &object, err);

	if (code < 0)
		return code;
	loading->rows++;
	loading->quarantined += code == 1;
	if (!object)
		return 0;
	if (tree_find(view_tree(store->head.view, place, -1), row->key)) {
		quarantine_row(store, loading->found, row, "the database has this key twice");
		return 0;
	}
	head_load(store, place, object);
	if (row->revision > store->head.view->revision)
		store->head.view->revision = row->revision;
	return 0;
}

/* A database without its key would have every record quarantined: better to say what is missing. */
static int refuse_row(void *context, const struct store_row *row, struct err *err)
{
	(void)context, (void)row;
	return err_set(err, -ENOKEY,
		"the database has records, but the key file that seals them is missing");
}

static int load_all(struct store *store, bool without_key, struct quarantine *found,
	struct err *err)
{
	struct loading loading = {.store = store, .found = found};
	struct store_view *view = store->head.view;
	uint64_t revision = 0;
	int code;

	for (size_t i = 0; i < store->kinds.tree_count; i++)
		tree_release(&view->trees[i]);
	view->revision = 0;
	code = store->backend->operations->load(store->backend, without_key ? refuse_row : load_row,
		&loading, &revision, err);
	/* Damage hits some records; all of them fail when the key is another database's. */
	if (code == 0 && loading.rows > 1 && loading.quarantined == loading.rows)
		return err_set(err, -EKEYREJECTED,
			"none of the %zu records of the database passes its check: is the key file "
			"the one of this database?",
			loading.rows);
	if (code == 0 && revision > view->revision)
		view->revision = revision;
	return code;
}

int rows_load(struct store *store, bool without_key, struct err *err)
{
	return load_all(store, without_key, NULL, err);
}

/* ---- rows of others ---- */

struct taking {
	struct store *store;
	struct quarantine recovered; /* records that were quarantined and can be read again */
};

static void note_recovered(struct taking *taking, const struct store_row *row)
{
	if (quarantine_has(&taking->store->quarantine, row->kind, row->key))
		quarantine_add(&taking->recovered, row->kind, row->key, row->revision, "");
}

/* store_row_function: a row that another server wrote */
static int take_over_row(void *context, const struct store_row *row, struct err *err)
{
	struct taking *taking = context;
	struct store *store = taking->store;
	_object_ const struct store_object *object = NULL;
	const struct kind_place *place = kinds_find_name(&store->kinds, row->kind);
	const struct store_object *before = NULL;
	uint64_t revision = row->revision;
	int code;

	if (place)
		before = store_get(store->head.view, place->kind, row->key);
	if (before && before->revision >= revision)
		return 0; /* reported twice */
	code = row_read(store, NULL, row, &place, &object, err);
	if (code < 0)
		return code;
	if (code == 0) {
		note_recovered(taking, row);
	} else { /* its revision is not to be trusted, but it is at least this */
		quarantine_remove(&taking->recovered, row->kind, row->key);
		revision = store->head.view->revision + 1;
	}
	if (!object && !before)
		return 0; /* nothing of it was ever visible here */
	head_begin_edit(store);
	head_change(store, place, revision, before, TAKE(object));
	head_end_edit(store, true);
	return 0;
}

/* Takes what the database has now as all there is. */
static int rows_load_again(struct store *store, const struct err *reason, struct err *err)
{
	struct quarantine found;
	int code;

	store_report(store, "everything is read anew: %s", reason->message);
	quarantine_init(&found);
	code = load_all(store, false, &found, err);
	if (code < 0) {
		head_restore(store);
	} else {
		/* A feed opened from an earlier view must list again, whatever comes first. */
		head_publish(store);
		feed_ring_restart(store->ring, store->head.view->revision);
		quarantine_replace(&store->quarantine, &found);
	}
	quarantine_clear(&found);
	return code;
}

static int take_over(struct store *store, bool lock, struct err *err)
{
	const struct store_backend_operations *operations = store->backend->operations;
	bool begin = lock || !operations->follow;
	struct taking taking = {.store = store};
	uint64_t revision = 0;
	int code;

	quarantine_init(&taking.recovered);
	code = (begin ? operations->begin : operations->follow)(store->backend, take_over_row,
		&taking, &revision, err);
	if (code == 0 && begin && !lock)
		operations->rollback(store->backend);
	/* Changes of other servers are durable: publish them at once, and only once. */
	if (code == 0 && revision > store->head.view->revision)
		store->head.view->revision = revision;
	if (store->head.view->revision > store->published->revision)
		head_publish(store);
	quarantine_remove_all(&store->quarantine, &taking.recovered);
	quarantine_clear(&taking.recovered);
	return code;
}

int rows_take_over(struct store *store, bool lock, struct err *err)
{
	struct err reason;
	int code = take_over(store, lock, &reason);

	if (code == -EOVERFLOW) {
		code = rows_load_again(store, &reason, err);
		return code < 0 ? code : take_over(store, lock, err);
	}
	return code < 0 ? err_set(err, code, "%s", reason.message) : 0;
}
