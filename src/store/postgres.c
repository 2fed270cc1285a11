/*
 * The store on PostgreSQL: one ordered log that several servers share.
 *
 *     slipway.head    one row: the last revision given out, how far the log is pruned
 *     slipway.log     one row per change, by revision, with its texts
 *     slipway.live    (kind, key) -> the revision in the log that holds there now
 *     slipway.format  one row: the version of all this
 *     slipway.seal    one row, from the first start on: the fingerprint of the key that seals the records
 *
 * A writer locks the head's row, reads the rows others appended since its last read, appends, moves
 * the head and commits: so the log has one order, and a server reads all of it before it decides.
 * Each half is one round trip. Writers check the format under the same lock (postgres_format.h),
 * and readers check it too: rows of another format are neither written nor applied.
 *
 * A log row stays while it is live, and at least until `keep` more revisions were given out. Each row
 * says which one it replaced, so that pruning a stretch of the log removes exactly the rows replaced
 * there and the deletions. A server that wants to go on from before the pruned part must load anew;
 * so must one that finds that the last row it knows is not the one in the log (a database restored
 * from a backup, a standby that took over without the last commits).
 *
 * Each change carries a number of the server process that wrote it. When the connection is cut during
 * a commit, settle() takes the head's lock, which waits for the lost session to end, and looks whether
 * the group's last revision is there and ours.
 */
#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "store/backend.h"
#include "store/postgres_format.h"
#include "store/postgres_schema.h"
#include "store/postgres_session.h"

#define POLL_MS 1000       /* looks for changes this often even when no notification came */
#define FOLLOW_MAX 20000   /* changes of others taken over in one step; beyond, load is better */
#define SETTLE_MS 60000    /* for finding out what became of a commit */
#define SETTLE_PAUSE_MS 50 /* between attempts */
#define CHUNK_ROWS 1000    /* changes sent by one statement */
#define CHUNK_BYTES (8u << 20) /* and their texts, roughly; PostgreSQL takes 1 GiB at most */
#define PRUNE_STEP_MAX 1000    /* revisions: wait for so many before pruning them together */
#define PRUNE_MAX 10000        /* revisions pruned by one commit */

struct postgres {
	struct store_backend backend;
	struct postgres_session *session;
	uint64_t writer; /* of this process and opening: marks our changes in the log */
	/* The last change that the store knows of. */
	uint64_t seen;
	unsigned char seen_mac[STORE_MAC_SIZE];
	bool has_seen_mac;
	/* Of the head that we have locked, between begin and commit. */
	uint64_t pruned;
	uint64_t keep;
	bool in_transaction;
};

static struct postgres *postgres_of(struct store_backend *backend)
{
	return CONTAINER_OF(backend, struct postgres, backend);
}

static void clear_results(PGresult **results, size_t count)
{
	for (size_t i = 0; i < count; i++)
		postgres_result_clear_pointer(&results[i]);
}

/* ---- connecting ---- */

static int run_alone(struct postgres *postgres, enum statement statement, struct err *err)
{
	postgres_session_add(postgres->session, statement, NULL);
	return postgres_session_run(postgres->session, NULL, 0, err);
}

static int connect_once(struct postgres *postgres, bool opening, struct err *err)
{
	struct err reason;
	int code;

	code = postgres_session_connect(postgres->session, err);
	if (code < 0)
		return code;
	/* Only at opening is a database brought forward: one that lost its tables later is not an empty one. */
	code = postgres_format_open(postgres->session, postgres_format_steps, STORE_FORMAT, opening,
		&reason);
	if (code >= 0)
		code = postgres_format_complete(postgres->session, &reason);
	if (code >= 0)
		code = postgres_session_prepare(postgres->session, postgres_statements,
			STATEMENT_COUNT, &reason);
	if (code >= 0)
		code = run_alone(postgres, END_OWN, &reason);
	if (code < 0) {
		postgres_session_reject(postgres->session, &reason);
		return err_set(err, code, "%s", reason.message);
	}
	postgres_session_accept(postgres->session);
	postgres->in_transaction = false;
	return 0;
}

static int connect_if_lost(struct postgres *postgres, struct err *err)
{
	return postgres_session_is_connected(postgres->session)
		       ? 0
		       : connect_once(postgres, false, err);
}

/* Ends a transaction that the database has not ended. Nothing to do about a failure: the connection is
 * gone then, and the transaction with it. */
static void abandon(struct postgres *postgres)
{
	postgres->in_transaction = false;
	if (!postgres_session_is_connected(postgres->session))
		return;
	if (run_alone(postgres, ROLLBACK, NULL) < 0)
		postgres_session_drop(postgres->session);
}

/* ---- reading ---- */

static void note_seen(struct postgres *postgres, uint64_t revision, const unsigned char *mac)
{
	postgres->seen = revision;
	postgres->has_seen_mac = mac != NULL;
	if (mac)
		memcpy(postgres->seen_mac, mac, STORE_MAC_SIZE);
}

/* A mac of the wrong size stays zero, and so fails the store's check. */
static void read_row(const PGresult *result, int number, struct store_row *ret_row)
{
	struct span mac = postgres_bytes(result, number, ROW_MAC);

	*ret_row = (struct store_row){
		.revision = (uint64_t)postgres_integer(result, number, ROW_REVISION),
		.kind = postgres_bytes(result, number, ROW_KIND),
		.key = postgres_bytes(result, number, ROW_KEY),
		.deleted = postgres_boolean(result, number, ROW_DELETED),
		.api = postgres_bytes(result, number, ROW_API),
		.private_ = postgres_bytes(result, number, ROW_PRIVATE),
	};
	if (mac.length == STORE_MAC_SIZE)
		memcpy(ret_row->mac, mac.data, STORE_MAC_SIZE);
}

static int head_missing(struct err *err)
{
	return err_set(err, -EPROTO, "slipway.head in the database has no row");
}

/* Whether data that came with this answer to READ_FORMAT may be used. */
static int check_format(const PGresult *format, struct err *err)
{
	if (PQntuples(format) != 1)
		return err_set(err, -EPROTO, "slipway.format in the database has no version");
	return postgres_format_check(postgres_integer(format, 0, 0), STORE_FORMAT, err);
}

/* Disconnects from a database of another format; the next connection checks the format again. */
static int accept_format(struct postgres *postgres, const PGresult *format, struct err *err)
{
	struct err reason;
	int code = check_format(format, &reason);

	if (code >= 0)
		return 0;
	abandon(postgres);
	postgres_session_reject(postgres->session, &reason);
	return err_set(err, code, "%s", reason.message);
}

struct load {
	store_row_function row;
	void *context;
	PGresult **format;
	bool checked;
};

static int load_row(void *context, const PGresult *result, struct err *err)
{
	struct load *load = context;
	struct store_row row;
	int code = 0;

	if (!load->checked)
		code = check_format(*load->format, err);
	if (code < 0)
		return code;
	load->checked = true;
	read_row(result, 0, &row);
	return load->row(load->context, &row, err);
}

static int postgres_load(struct store_backend *backend, store_row_function row, void *context,
	uint64_t *ret_revision, struct err *err)
{
	enum { HEAD = 2, FORMAT = 3, ROWS = 4, RESULTS = 5 };
	struct postgres *postgres = postgres_of(backend);
	PGresult *results[RESULTS] = {0};
	struct load load = {row, context, &results[FORMAT], false};
	_result_ PGresult *last = NULL;
	uint64_t revision = 0;
	int code;

	code = connect_if_lost(postgres, err);
	if (code < 0)
		return code;
	postgres_session_add(postgres->session, BEGIN_READ, NULL);
	postgres_session_add(postgres->session, UNLIMITED, NULL);
	postgres_session_add(postgres->session, READ_HEAD, NULL);
	postgres_session_add(postgres->session, READ_FORMAT, NULL);
	postgres_session_add(postgres->session, READ_LIVE, NULL);
	code = postgres_session_stream(postgres->session, ROWS, load_row, &load, results, RESULTS,
		err);
	if (code >= 0 && PQntuples(results[HEAD]) != 1)
		code = head_missing(err);
	if (code >= 0)
		code = check_format(results[FORMAT], err);
	if (code >= 0) {
		_arguments_ struct postgres_arguments arguments = {0};

		revision = (uint64_t)postgres_integer(results[HEAD], 0, HEAD_REVISION);
		postgres_add_integer(&arguments, (int64_t)revision);
		postgres_session_add(postgres->session, READ_MAC, &arguments);
		code = postgres_session_run(postgres->session, &last, 1, err);
	}
	clear_results(results, RESULTS);
	abandon(postgres);
	if (code < 0)
		return code;
	note_seen(postgres, revision,
		PQntuples(last) == 1 && PQgetlength(last, 0, 0) == STORE_MAC_SIZE
			? (const unsigned char *)PQgetvalue(last, 0, 0)
			: NULL);
	*ret_revision = revision;
	return 0;
}

/* Whether the rows read from the log continue the known state. */
static int check_continues(const struct postgres *postgres, const PGresult *head,
	const PGresult *rows, struct err *err)
{
	uint64_t revision = (uint64_t)postgres_integer(head, 0, HEAD_REVISION);
	uint64_t pruned = (uint64_t)postgres_integer(head, 0, HEAD_PRUNED);
	struct store_row first = {0};

	if (PQntuples(rows) > 0)
		read_row(rows, 0, &first);
	if (revision < postgres->seen ||
		(postgres->has_seen_mac &&
			(first.revision != postgres->seen ||
				memcmp(first.mac, postgres->seen_mac, STORE_MAC_SIZE) != 0)))
		return err_set(err, -EOVERFLOW,
			"the database does not continue what this server knows "
			"(revision %" PRIu64 ", the database's is %" PRIu64 ")",
			postgres->seen, revision);
	if (postgres->seen < pruned || PQntuples(rows) > FOLLOW_MAX)
		return err_set(err, -EOVERFLOW,
			"this server is too far behind: it knows revision %" PRIu64
			", the database has %" PRIu64 " and has changes after %" PRIu64,
			postgres->seen, revision, pruned);
	return 0;
}

/* All of them; if one is refused, all of them are repeated later. */
static int give_rows(struct postgres *postgres, const PGresult *rows, store_row_function row,
	void *context, struct err *err)
{
	struct store_row each = {0};

	for (int i = 0; i < PQntuples(rows); i++) {
		int code;

		read_row(rows, i, &each);
		if (each.revision <= postgres->seen)
			continue;
		code = row(context, &each, err);
		if (code < 0)
			return code;
	}
	if (each.revision > postgres->seen)
		note_seen(postgres, each.revision, each.mac);
	return 0;
}

static int read_changes(struct postgres *postgres, bool locking, store_row_function row,
	void *context, uint64_t *ret_revision, struct err *err)
{
	enum { HEAD = 1, FORMAT = 2, ROWS = 3, RESULTS = 4 };
	_arguments_ struct postgres_arguments arguments = {0};
	PGresult *results[RESULTS] = {0};
	int code;

	postgres_add_integer(&arguments, (int64_t)postgres->seen);
	postgres_add_integer(&arguments, FOLLOW_MAX + 1);
	postgres_session_add(postgres->session, locking ? BEGIN_WRITE : BEGIN_READ, NULL);
	postgres_session_add(postgres->session, locking ? LOCK_HEAD : READ_HEAD, NULL);
	postgres_session_add(postgres->session, READ_FORMAT, NULL);
	postgres_session_add(postgres->session, READ_LOG, &arguments);
	if (!locking)
		postgres_session_add(postgres->session, COMMIT, NULL);
	code = postgres_session_run(postgres->session, results, RESULTS, err);
	if (code >= 0 && PQntuples(results[HEAD]) != 1)
		code = head_missing(err);
	if (code >= 0)
		code = accept_format(postgres, results[FORMAT], err);
	if (code >= 0)
		code = check_continues(postgres, results[HEAD], results[ROWS], err);
	if (code >= 0)
		code = give_rows(postgres, results[ROWS], row, context, err);
	if (code >= 0) {
		*ret_revision = (uint64_t)postgres_integer(results[HEAD], 0, HEAD_REVISION);
		postgres->pruned = (uint64_t)postgres_integer(results[HEAD], 0, HEAD_PRUNED);
		postgres->keep = (uint64_t)postgres_integer(results[HEAD], 0, HEAD_KEEP);
		postgres->in_transaction = locking;
	} else {
		abandon(postgres);
	}
	clear_results(results, RESULTS);
	return code;
}

/* A connection that was lost while idle is detected only now, and so is a server that stopped
 * during a commit: this retries once for both before it fails. */
static int read_changes_persistently(struct postgres *postgres, bool locking,
	store_row_function row, void *context, uint64_t *ret_revision, struct err *err)
{
	bool fresh = !postgres_session_is_connected(postgres->session);
	int code = connect_if_lost(postgres, err);

	if (code < 0)
		return code;
	code = read_changes(postgres, locking, row, context, ret_revision, err);
	if (code == -EBUSY && postgres_session_is_connected(postgres->session))
		code = run_alone(postgres, END_STUCK, err);
	else if (code == -EIO && !fresh && !postgres_session_is_connected(postgres->session))
		code = connect_once(postgres, false, err);
	else
		return code;
	return code < 0 ? code : read_changes(postgres, locking, row, context, ret_revision, err);
}

static int postgres_begin(struct store_backend *backend, store_row_function row, void *context,
	uint64_t *ret_revision, struct err *err)
{
	struct postgres *postgres = postgres_of(backend);

	assert(!postgres->in_transaction);
	return read_changes_persistently(postgres, true, row, context, ret_revision, err);
}

static int postgres_follow(struct store_backend *backend, store_row_function row, void *context,
	uint64_t *ret_revision, struct err *err)
{
	return read_changes_persistently(postgres_of(backend), false, row, context, ret_revision,
		err);
}

static void postgres_rollback(struct store_backend *backend)
{
	struct postgres *postgres = postgres_of(backend);

	if (postgres->in_transaction)
		abandon(postgres);
}

/* ---- writing ---- */

/* The rows of one statement in order of revision, and how they relate to each other. */
struct chunk {
	const struct store_row *rows;
	size_t count;
	uint64_t *replaces; /* of each row: the row of this chunk that it replaces, or 0 */
	bool *is_last;      /* no later row of this chunk has its key */
};

static int compare_keys(const void *a, const void *b)
{
	const struct store_row *left = *(const struct store_row *const *)a;
	const struct store_row *right = *(const struct store_row *const *)b;
	int order = span_compare(left->kind, right->kind);

	if (order == 0)
		order = span_compare(left->key, right->key);
	if (order == 0)
		order = left->revision < right->revision ? -1 : 1;
	return order;
}

static void link_rows(struct chunk *chunk)
{
	_free_ const struct store_row **sorted =
		memory_allocate_array(chunk->count, sizeof(const struct store_row *));

	for (size_t i = 0; i < chunk->count; i++)
		sorted[i] = &chunk->rows[i];
	qsort(sorted, chunk->count, sizeof(*sorted), compare_keys);
	for (size_t i = 0; i < chunk->count; i++) {
		const struct store_row *next = i + 1 < chunk->count ? sorted[i + 1] : NULL;
		bool same = next && span_equal(next->kind, sorted[i]->kind) &&
			    span_equal(next->key, sorted[i]->key);

		chunk->is_last[sorted[i] - chunk->rows] = !same;
		if (same)
			chunk->replaces[next - chunk->rows] = sorted[i]->revision;
	}
}

static size_t measure_chunk(const struct store_row *rows, size_t count)
{
	size_t bytes = 0;
	size_t taken = 0;

	while (taken < count && taken < CHUNK_ROWS && bytes < CHUNK_BYTES) {
		const struct store_row *row = &rows[taken++];

		bytes += row->kind.length + row->key.length + row->api.length +
			 row->private_.length + STORE_MAC_SIZE;
	}
	return taken;
}

#define FILL_SPANS(arguments, chunk, member)                                                       \
	for (size_t i_ = (postgres_open_bytes((arguments), (chunk)->count), 0);                    \
		i_ < (chunk)->count; i_++)                                                         \
	postgres_fill_bytes((arguments), (chunk)->rows[i_].member.data,                            \
		(chunk)->rows[i_].member.length)

static void add_log(struct postgres *postgres, const struct chunk *chunk)
{
	_arguments_ struct postgres_arguments arguments = {0};

	postgres_open_integers(&arguments, chunk->count);
	for (size_t i = 0; i < chunk->count; i++)
		postgres_fill_integer(&arguments, (int64_t)chunk->rows[i].revision);
	FILL_SPANS(&arguments, chunk, kind);
	FILL_SPANS(&arguments, chunk, key);
	postgres_open_booleans(&arguments, chunk->count);
	for (size_t i = 0; i < chunk->count; i++)
		postgres_fill_boolean(&arguments, chunk->rows[i].deleted);
	FILL_SPANS(&arguments, chunk, api);
	FILL_SPANS(&arguments, chunk, private_);
	postgres_open_bytes(&arguments, chunk->count);
	for (size_t i = 0; i < chunk->count; i++)
		postgres_fill_bytes(&arguments, chunk->rows[i].mac, STORE_MAC_SIZE);
	postgres_open_integers(&arguments, chunk->count);
	for (size_t i = 0; i < chunk->count; i++)
		postgres_fill_integer(&arguments, (int64_t)chunk->replaces[i]);
	postgres_add_integer(&arguments, (int64_t)postgres->writer);
	postgres_session_add(postgres->session, INSERT_LOG, &arguments);
}

/* The last change of each key: those that put with their revisions, or those that delete. */
static void add_live(struct postgres *postgres, const struct chunk *chunk, bool deleted)
{
	_arguments_ struct postgres_arguments arguments = {0};
	_free_ const struct store_row **rows =
		memory_allocate_array(chunk->count, sizeof(const struct store_row *));
	size_t count = 0;

	for (size_t i = 0; i < chunk->count; i++)
		if (chunk->is_last[i] && chunk->rows[i].deleted == deleted)
			rows[count++] = &chunk->rows[i];
	if (count == 0)
		return;
	if (!deleted) {
		postgres_open_integers(&arguments, count);
		for (size_t i = 0; i < count; i++)
			postgres_fill_integer(&arguments, (int64_t)rows[i]->revision);
	}
	postgres_open_bytes(&arguments, count);
	for (size_t i = 0; i < count; i++)
		postgres_fill_bytes(&arguments, rows[i]->kind.data, rows[i]->kind.length);
	postgres_open_bytes(&arguments, count);
	for (size_t i = 0; i < count; i++)
		postgres_fill_bytes(&arguments, rows[i]->key.data, rows[i]->key.length);
	postgres_session_add(postgres->session, deleted ? DELETE_LIVE : UPSERT_LIVE, &arguments);
}

static void add_chunk(struct postgres *postgres, const struct store_row *rows, size_t count)
{
	_free_ uint64_t *replaces = memory_allocate_array(count, sizeof(*replaces));
	_free_ bool *is_last = memory_allocate_array(count, sizeof(*is_last));
	struct chunk chunk = {rows, count, replaces, is_last};

	link_rows(&chunk);
	add_log(postgres, &chunk);
	add_live(postgres, &chunk, false);
	add_live(postgres, &chunk, true);
}

/* Moves the head to the group's last revision, and deletes old rows from the log. */
static void add_head(struct postgres *postgres, uint64_t revision)
{
	_arguments_ struct postgres_arguments head = {0};
	uint64_t bound = revision > postgres->keep ? revision - postgres->keep : 0;
	uint64_t step = postgres->keep / 10;

	if (step > PRUNE_STEP_MAX)
		step = PRUNE_STEP_MAX;
	if (bound > postgres->pruned + step) {
		_arguments_ struct postgres_arguments range = {0};

		if (bound > postgres->pruned + PRUNE_MAX)
			bound = postgres->pruned + PRUNE_MAX;
		postgres_add_integer(&range, (int64_t)postgres->pruned);
		postgres_add_integer(&range, (int64_t)bound);
		postgres_session_add(postgres->session, PRUNE_LOG, &range);
	} else {
		bound = postgres->pruned;
	}
	postgres_add_integer(&head, (int64_t)revision);
	postgres_add_integer(&head, (int64_t)bound);
	postgres_session_add(postgres->session, MOVE_HEAD, &head);
}

static int postgres_commit(struct store_backend *backend, const struct store_row *rows,
	size_t count, struct err *err)
{
	struct postgres *postgres = postgres_of(backend);
	const struct store_row *last = &rows[count - 1];
	int code;

	assert(postgres->in_transaction && count > 0);
	for (size_t done = 0, taken; done < count; done += taken) {
		taken = measure_chunk(&rows[done], count - done);
		add_chunk(postgres, &rows[done], taken);
		postgres_session_flush(postgres->session);
	}
	add_head(postgres, last->revision);
	postgres_session_add(postgres->session, NOTIFY, NULL);
	postgres_session_add(postgres->session, COMMIT, NULL);
	code = postgres_session_run(postgres->session, NULL, 0, err);
	postgres->in_transaction = false;
	if (code >= 0) {
		note_seen(postgres, last->revision, last->mac);
		return 0;
	}
	if (!postgres_session_is_connected(postgres->session)) {
		if (err)
			err->code = -EINPROGRESS;
		return -EINPROGRESS;
	}
	/* The database refused one of the statements, so it did not get to the COMMIT. */
	abandon(postgres);
	return code;
}

/* ---- after a cut ---- */

static int find_group(struct postgres *postgres, uint64_t last, bool *ret_durable, struct err *err)
{
	enum { HEAD = 3, FOUND = 4, RESULTS = 5 };
	_arguments_ struct postgres_arguments arguments = {0};
	PGresult *results[RESULTS] = {0};
	bool found;
	int code;

	postgres_add_integer(&arguments, (int64_t)last);
	postgres_session_add(postgres->session, END_OWN, NULL);
	postgres_session_add(postgres->session, BEGIN_WRITE, NULL);
	postgres_session_add(postgres->session, IMPATIENT, NULL);
	postgres_session_add(postgres->session, LOCK_HEAD, NULL);
	postgres_session_add(postgres->session, READ_MAC, &arguments);
	postgres_session_add(postgres->session, ROLLBACK, NULL);
	code = postgres_session_run(postgres->session, results, RESULTS, err);
	if (code >= 0 && PQntuples(results[HEAD]) != 1)
		code = head_missing(err);
	if (code >= 0) {
		found = PQntuples(results[FOUND]) == 1;
		if (!found && (uint64_t)postgres_integer(results[HEAD], 0, HEAD_PRUNED) >= last) {
			code = err_set(err, -EIO, "revision %" PRIu64 " is pruned already", last);
		} else {
			*ret_durable = found && (uint64_t)postgres_integer(results[FOUND], 0, 1) ==
							postgres->writer;
			if (*ret_durable)
				note_seen(postgres, last,
					PQgetlength(results[FOUND], 0, 0) == STORE_MAC_SIZE
						? (const unsigned char *)PQgetvalue(results[FOUND],
							  0, 0)
						: NULL);
		}
	} else {
		abandon(postgres);
	}
	clear_results(results, RESULTS);
	return code;
}

/* A group is one transaction, so its last revision stands for all. If this times out, the next
 * begin reports the group's changes, if there are any, like those of another server. */
static int postgres_settle(struct store_backend *backend, uint64_t first, uint64_t last,
	bool *ret_durable, struct err *err)
{
	struct postgres *postgres = postgres_of(backend);
	struct clock *clock = clock_system();
	int64_t deadline = clock_steady_us(clock) + SETTLE_MS * INT64_C(1000);
	int code;

	(void)first;
	for (;;) {
		code = connect_if_lost(postgres, err);
		if (code >= 0)
			code = find_group(postgres, last, ret_durable, err);
		/* A database of a newer slipway does not become usable within that time. */
		if (code >= 0 || code == -ENOTSUP || clock_steady_us(clock) >= deadline)
			return code;
		poll(NULL, 0, SETTLE_PAUSE_MS);
	}
}

/* ---- the key ---- */

static int postgres_bind_key(struct store_backend *backend, uint64_t fingerprint,
	uint64_t *ret_bound, struct err *err)
{
	struct postgres *postgres = postgres_of(backend);
	_arguments_ struct postgres_arguments arguments = {0};
	PGresult *results[3] = {0};
	size_t bound = fingerprint != 0 ? 2 : 1; /* the statement that reads it */
	int code = connect_if_lost(postgres, err);

	if (code < 0)
		return code;
	postgres_session_add(postgres->session, BEGIN_WRITE, NULL);
	if (fingerprint != 0) {
		postgres_add_integer(&arguments, (int64_t)fingerprint);
		postgres_session_add(postgres->session, KEEP_SEAL, &arguments);
	}
	postgres_session_add(postgres->session, READ_SEAL, NULL);
	postgres_session_add(postgres->session, COMMIT, NULL);
	code = postgres_session_run(postgres->session, results, LENGTH(results), err);
	if (code >= 0)
		*ret_bound = PQntuples(results[bound]) == 1
				     ? (uint64_t)postgres_integer(results[bound], 0, 0)
				     : 0;
	else
		abandon(postgres);
	clear_results(results, LENGTH(results));
	return code;
}

/* ---- waiting and ending ---- */

static int postgres_wait_descriptor(struct store_backend *backend, int *ret_timeout_ms)
{
	struct postgres *postgres = postgres_of(backend);
	bool notified = postgres_session_notified(postgres->session);
	int timeout = POLL_MS;

	/* A notification may come with an answer: then the descriptor does not become readable. */
	if (notified)
		timeout = 0;
	else if (!postgres_session_is_connected(postgres->session))
		timeout = postgres_session_backoff_ms(postgres->session);
	*ret_timeout_ms = timeout;
	return postgres_session_descriptor(postgres->session);
}

static void postgres_close(struct store_backend *backend)
{
	struct postgres *postgres = postgres_of(backend);

	postgres_session_free(postgres->session);
	free(postgres);
}

static const struct store_backend_operations postgres_operations = {
	.load = postgres_load,
	.begin = postgres_begin,
	.commit = postgres_commit,
	.rollback = postgres_rollback,
	.settle = postgres_settle,
	.bind_key = postgres_bind_key,
	.wait_descriptor = postgres_wait_descriptor,
	.follow = postgres_follow,
	.close = postgres_close,
};

int store_postgres_open(const char *url, struct store_backend **ret_backend, struct err *err)
{
	struct postgres *postgres = memory_allocate(sizeof(*postgres));
	char name[64];
	int code;

	postgres->backend.operations = &postgres_operations;
	postgres->writer = random_u64(random_system()) >> 1; /* bigint has a sign */
	snprintf(name, sizeof(name), "slipway-%016" PRIx64, postgres->writer);
	code = postgres_session_new(url, name, &postgres->session, err);
	if (code >= 0)
		code = connect_once(postgres, true, err);
	if (code < 0) {
		postgres_close(&postgres->backend);
		return code;
	}
	*ret_backend = &postgres->backend;
	return 0;
}
