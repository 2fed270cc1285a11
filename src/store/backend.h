/*
 * The store's interface to a database. One thread uses a backend at a time.
 *
 * A backend keeps rows (kind, key, revision, api, private, mac) and the sequence of revisions. The
 * store runs a group like this:
 *
 *     begin(apply)   lock out other servers, report their rows since (PostgreSQL), return the last
 *                    revision; SQLite and memory have no other servers to report
 *     … the writes run against head …
 *     commit(rows)   make all rows durable, or none; negative: none is durable, or -EINPROGRESS:
 *                    the result is unknown (connection lost): the store then calls settle()
 *     rollback()     instead of commit, when there is nothing to write
 *
 * A begin that fails has locked nothing, and the next begin returns its rows again. -EOVERFLOW from
 * begin or follow: this server is further behind than the database's log of changes reaches, or the
 * database was restored to an older state. The store then calls load again, replaces its state with
 * the loaded rows, and makes every reader of the feed list again.
 *
 * -ENOTSUP from opening, load, begin or follow: a newer slipway has upgraded the database.
 * The call returned no rows, and no write succeeds until the database is restored.
 *
 * settle(first, last, ret_durable): asks the database, reconnecting as often as it takes within a
 * time limit, whether the group with these revisions is durable. PostgreSQL only.
 */
#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

/* Of the database; raised with a step in each backend. What raises it: docs/architecture.md. */
#define STORE_FORMAT 1
#define STORE_MAC_SIZE 32

struct store_row {
	struct span kind;
	struct span key;
	uint64_t revision;
	bool deleted;
	struct span api;
	struct span private_;
	unsigned char mac[STORE_MAC_SIZE];
};

/* The row's spans live during the call only. */
typedef int (*store_row_function)(void *context, const struct store_row *row, struct err *err);

struct store_backend {
	const struct store_backend_operations *operations;
};

struct store_backend_operations {
	/* Every live row, and the last revision given out. Called before anything else, and again when
	 * begin or follow said -EOVERFLOW. */
	int (*load)(struct store_backend *backend, store_row_function row, void *context,
		uint64_t *ret_revision, struct err *err);
	/* Rows of others (deletions too) in revision order, then the last revision given out. */
	int (*begin)(struct store_backend *backend, store_row_function row, void *context,
		uint64_t *ret_revision, struct err *err);
	int (*commit)(struct store_backend *backend, const struct store_row *rows, size_t count,
		struct err *err);
	void (*rollback)(struct store_backend *backend);
	int (*settle)(struct store_backend *backend, uint64_t first, uint64_t last,
		bool *ret_durable, struct err *err);
	/* The fingerprint of the key that seals this database; 0: none yet. A fingerprint other than 0 is
	 * kept if there is none, durably: of servers that do this at once, one succeeds, and all read the
	 * same. NULL: nothing is sealed. */
	int (*bind_key)(struct store_backend *backend, uint64_t fingerprint, uint64_t *ret_bound,
		struct err *err);
	/* A descriptor that becomes readable when others wrote, or -1; and how long to wait at most
	 * before looking anyway (milliseconds, -1: for ever). The store polls it when idle, then calls
	 * follow (begin + rollback where that is NULL) to take over what is new. */
	int (*wait_descriptor)(struct store_backend *backend, int *ret_timeout_ms);
	/* As begin + rollback, without locking out the servers that write. May be NULL. */
	int (*follow)(struct store_backend *backend, store_row_function row, void *context,
		uint64_t *ret_revision, struct err *err);
	void (*close)(struct store_backend *backend);
};

int store_sqlite_open(const char *path, struct store_backend **ret_backend, struct err *err);
int store_postgres_open(const char *url, struct store_backend **ret_backend, struct err *err);
int store_memory_open(struct store_backend **ret_backend, struct err *err);

/* Returns the URL in a form that is safe to log: "***" replaces every password, and every text that
 * may be meant as one. The caller frees it. */
char *store_url_redact(const char *url);

#endif
