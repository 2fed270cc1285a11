/* Opening and closing a store, and what can be asked about it as a whole. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "store/state.h"

void store_report(struct store *store, const char *format, ...)
{
	char message[ERR_MESSAGE_MAX];
	va_list list;

	if (!store->report_function)
		return;
	va_start(list, format);
	vsnprintf(message, sizeof(message), format, list);
	va_end(list);
	store->report_function(store->report_context, message);
}

/* Both spellings that libpq knows. */
static bool is_postgres(const char *url)
{
	return span_starts_with(span_of(url), SPAN("postgresql://")) ||
	       span_starts_with(span_of(url), SPAN("postgres://"));
}

static int backend_open(const char *url, struct store_backend **ret_backend, struct err *err)
{
	_free_ char *redacted = NULL;

	if (span_starts_with(span_of(url), SPAN("sqlite:")))
		return store_sqlite_open(url + strlen("sqlite:"), ret_backend, err);
	if (is_postgres(url))
		return store_postgres_open(url, ret_backend, err);
	if (strcmp(url, "memory:") == 0)
		return store_memory_open(ret_backend, err);
	redacted = store_url_redact(url);
	return err_set(err, -EINVAL,
		"store URL '%s' is none of sqlite:PATH, postgresql://… and memory:", redacted);
}

static int config_check(const struct store_config *config, struct err *err)
{
	bool in_memory = config->url && strcmp(config->url, "memory:") == 0;

	if (!config->url)
		return err_set(err, -EINVAL, "no store URL");
	if (!in_memory && !config->key_path)
		return err_set(err, -EINVAL, "a store that is kept needs a key file");
	if (config->inline_writes && is_postgres(config->url))
		return err_set(err, -EINVAL, "PostgreSQL needs a writer of its own");
	return 0;
}

/* Compares our key with the one that the database is bound to, and binds it to ours (`keep`) if it is to none. */
static int check_key(struct store *store, const char *key_path, bool keep, struct err *err)
{
	const struct store_backend_operations *operations = store->backend->operations;
	uint64_t ours, bound = 0;
	int code = integrity_fingerprint(store->integrity, &ours, err);

	if (code == 0 && operations->bind_key)
		code = operations->bind_key(store->backend, keep ? ours : 0, &bound, err);
	if (code < 0 || bound == 0 || bound == ours)
		return code;
	return err_set(err, -EKEYREJECTED,
		"the database is sealed with the key %016" PRIx64 ", '%s' has %016" PRIx64
		": is the key file the one of this database? Servers that share a database need "
		"the "
		"integrity.key of the first one, copied before their first start",
		bound, key_path, ours);
}

static bool nothing_is_readable(struct store *store)
{
	uint64_t objects = 0;

	for (size_t i = 0; i < store->kinds.count; i++)
		objects += tree_count(view_tree(store->head.view, &store->kinds.places[i], -1));
	return objects == 0 && quarantine_count(&store->quarantine) > 0;
}

/* A new key is kept only when there is nothing yet that another one may have sealed. The database is bound to
 * it before anything is written: of servers that start on an empty database at once, one succeeds. */
static int store_load(struct store *store, const char *key_path, struct err *err)
{
	bool fresh = false;
	int code = 0;

	if (key_path)
		code = integrity_open(key_path, &store->integrity, &fresh, err);
	if (code == 0 && key_path && !fresh)
		code = check_key(store, key_path, false, err);
	if (code == 0)
		code = rows_load(store, fresh, err);
	if (code == 0 && fresh)
		code = integrity_save(store->integrity, err);
	/* A database of an earlier slipway is bound to a key that at least one record passes with. */
	if (code == 0 && key_path)
		code = check_key(store, key_path, !nothing_is_readable(store), err);
	if (code == -EKEYREJECTED && fresh)
		integrity_forget(store->integrity);
	if (code == -ENOKEY)
		return err_prefix(err, code, "key file '%s'", key_path);
	if (code < 0)
		return code;
	store->ring = feed_ring_new(store->statistics.feed_bytes, store->head.view->revision);
	head_publish(store);
	return 0;
}

static void store_free(struct store *store)
{
	writer_free(store->writer);
	if (store->backend)
		store->backend->operations->close(store->backend);
	store_view_close(store->published);
	head_clear(store);
	feed_ring_free(store->ring);
	integrity_free(store->integrity);
	quarantine_clear(&store->quarantine);
	map_clear(&store->unknown_kinds);
	kinds_clear(&store->kinds);
	lock_destroy(&store->view_lock);
	lock_destroy(&store->statistics_lock);
	free(store->outdated);
	free(store);
}

int store_open(const struct store_config *config, struct store **ret_store, struct err *err)
{
	struct kinds kinds;
	struct store *store;
	int code = config_check(config, err);

	if (code == 0)
		code = kinds_init(&kinds, config->kinds, config->kind_count, err);
	if (code < 0)
		return code;
	store = memory_allocate(sizeof(*store));
	store->kinds = kinds;
	store->inline_writes = config->inline_writes;
	store->clock = config->clock ? config->clock : clock_system();
	store->faults = config->faults;
	store->report_function = config->report;
	store->report_context = config->report_context;
	store->statistics.available = true;
	store->statistics.feed_bytes = config->feed_bytes;
	lock_init(&store->view_lock);
	lock_init(&store->statistics_lock);
	quarantine_init(&store->quarantine);
	head_init(store);
	store->writer = writer_new(store);

	code = backend_open(config->url, &store->backend, err);
	if (code == 0)
		code = store_load(store,
			strcmp(config->url, "memory:") == 0 ? NULL : config->key_path, err);
	if (code == 0 && !store->inline_writes)
		code = writer_start(store->writer, err);
	if (code < 0) {
		store_free(store);
		return code;
	}
	*ret_store = store;
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	writer_stop(store->writer);
	store_free(store);
}

void store_statistics(struct store *store, struct store_statistics *ret_statistics)
{
	struct store_statistics statistics;
	_view_ struct store_view *view = store_view_open(store);

	lock_take(&store->statistics_lock);
	statistics = store->statistics;
	lock_release(&store->statistics_lock);
	statistics.revision = view->revision;
	statistics.objects = 0;
	for (size_t i = 0; i < store->kinds.count; i++)
		statistics.objects += tree_count(view_tree(view, &store->kinds.places[i], -1));
	statistics.quarantined = quarantine_count(&store->quarantine);
	statistics.feed_bytes = feed_ring_bytes(store->ring);
	statistics.queue = writer_queue_length(store->writer);
	*ret_statistics = statistics;
}

bool store_is_shared(const struct store *store)
{
	return store->backend->operations->follow != NULL;
}

bool store_is_outdated(struct store *store, struct buffer *out)
{
	bool outdated;

	lock_take(&store->statistics_lock);
	outdated = store->outdated != NULL;
	if (outdated)
		buffer_add_string(out, store->outdated);
	lock_release(&store->statistics_lock);
	return outdated;
}

void store_list_quarantined(struct store *store, struct buffer *out)
{
	quarantine_list(&store->quarantine, out);
}

bool store_is_quarantined(struct store *store, const struct store_kind *kind, struct span key)
{
	return quarantine_has(&store->quarantine, span_of(kind->name), key);
}

bool store_has_quarantined(struct store *store, const struct store_kind *kind, struct span prefix)
{
	return quarantine_has_any(&store->quarantine, span_of(kind->name), prefix);
}

bool store_has_quarantined_key_with(struct store *store, struct span part)
{
	return quarantine_has_key_with(&store->quarantine, part);
}
