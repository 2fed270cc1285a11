/* See postgres_schema.h. A change that raises STORE_FORMAT (docs/architecture.md) adds a step. */
#include "store/postgres_schema.h"

#include "store/backend.h"

/* Any number, the same in every version: makes servers that start at once take turns. */
#define SCHEMA_LOCK "7565871229348311"

/* A read after a lock must see the state at that time, whatever the default isolation is. */
#define LOCK_SCHEMA                                                                                \
	"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"                                         \
	"SELECT pg_advisory_xact_lock(" SCHEMA_LOCK ")"

const char postgres_schema_exists[] = "SELECT to_regclass('slipway.format') IS NOT NULL";
const char postgres_format_lock_empty[] = LOCK_SCHEMA;
const char postgres_format_lock[] =
	LOCK_SCHEMA ";SELECT revision FROM slipway.head WHERE single FOR UPDATE";

#define MAKE_SEAL                                                                                  \
	"CREATE TABLE IF NOT EXISTS slipway.seal ("                                                \
	"  single boolean PRIMARY KEY DEFAULT true CHECK (single),"                                \
	"  fingerprint bigint NOT NULL);"

const char postgres_seal_exists[] = "SELECT to_regclass('slipway.seal') IS NOT NULL";
const char postgres_seal_make[] = LOCK_SCHEMA ";" MAKE_SEAL "COMMIT";

/* The operator may have made the schema. */
static const char make_tables[] =
	"DO $$ BEGIN IF to_regnamespace('slipway') IS NULL THEN CREATE SCHEMA slipway; END IF; END "
	"$$;"
	"CREATE TABLE IF NOT EXISTS slipway.format ("
	"  single boolean PRIMARY KEY DEFAULT true CHECK (single),"
	"  version integer NOT NULL);"
	"CREATE TABLE IF NOT EXISTS slipway.head ("
	"  single boolean PRIMARY KEY DEFAULT true CHECK (single),"
	"  revision bigint NOT NULL,"
	"  pruned bigint NOT NULL,"
	"  keep bigint NOT NULL DEFAULT 100000 CHECK (keep > 0)"
	") WITH (fillfactor = 10);" /* room for the versions of this one row on its page */
	"CREATE TABLE IF NOT EXISTS slipway.log ("
	"  revision bigint PRIMARY KEY,"
	"  kind bytea NOT NULL,"
	"  key bytea NOT NULL,"
	"  deleted boolean NOT NULL,"
	"  api bytea NOT NULL,"
	"  private bytea NOT NULL,"
	"  mac bytea NOT NULL,"
	"  writer bigint NOT NULL,"
	"  replaces bigint);"
	"CREATE TABLE IF NOT EXISTS slipway.live ("
	"  kind bytea NOT NULL,"
	"  key bytea NOT NULL,"
	"  revision bigint NOT NULL,"
	"  PRIMARY KEY (kind, key)"
	") WITH (fillfactor = 80);" MAKE_SEAL
	"INSERT INTO slipway.head (revision, pruned) VALUES (0, 0) ON CONFLICT DO NOTHING;"
	"INSERT INTO slipway.format (version) VALUES (0) ON CONFLICT DO NOTHING";

const char *const postgres_format_steps[STORE_FORMAT] = {make_tables};

const char postgres_format_query[] = "SELECT version FROM slipway.format";

/* Sessions that wait for their client in the middle of a transaction sit on the head's lock, and the
 * database does not end them by itself while it waits for the rest of a pipeline. One that waits for
 * anything else is at work, and must be let: it may be committing. */
#define END_SESSIONS_WHERE                                                                         \
	"SELECT pg_terminate_backend(pid) FROM pg_stat_activity"                                   \
	" WHERE datname = current_database() AND pid <> pg_backend_pid()"                          \
	" AND wait_event = 'ClientRead' AND xact_start IS NOT NULL AND "

const char *const postgres_statements[STATEMENT_COUNT] = {
	[BEGIN_WRITE] = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
	[BEGIN_READ] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
	/* For the one statement that is about everything. */
	[UNLIMITED] = "SELECT set_config('statement_timeout', '0', true),"
		      " set_config('enable_seqscan', 'on', true),"
		      " set_config('enable_hashjoin', 'on', true),"
		      " set_config('enable_mergejoin', 'on', true)",
	[IMPATIENT] = "SET LOCAL lock_timeout = '1s'",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[LOCK_HEAD] = "SELECT revision, pruned, keep FROM slipway.head WHERE single FOR UPDATE",
	[READ_HEAD] = "SELECT revision, pruned, keep FROM slipway.head WHERE single",
	/* A statement of its own, behind the lock: what LOCK_HEAD itself would see beside the head's row
	 * is from before it waited. */
	[READ_FORMAT] = "SELECT version::bigint FROM slipway.format WHERE single",
	/* From the last row we know, without its texts: it shows whether this is still our log. */
	[READ_LOG] = "SELECT revision, kind, key, deleted,"
		     " CASE WHEN revision > $1::bigint THEN api END,"
		     " CASE WHEN revision > $1::bigint THEN private END, mac"
		     " FROM slipway.log WHERE revision >= $1::bigint"
		     " ORDER BY revision LIMIT $2::bigint",
	/* A live row without its log row is damage: shown without a mac, it will be quarantined. */
	[READ_LIVE] = "SELECT live.revision, live.kind, live.key, coalesce(log.deleted, false),"
		      " log.api, log.private, log.mac"
		      " FROM slipway.live LEFT JOIN slipway.log USING (revision)",
	[READ_MAC] = "SELECT mac, writer FROM slipway.log WHERE revision = $1::bigint",
	[INSERT_LOG] =
		"INSERT INTO slipway.log"
		" (revision, kind, key, deleted, api, private, mac, replaces, writer)"
		" SELECT c.revision, c.kind, c.key, c.deleted, c.api, c.private, c.mac,"
		"  CASE WHEN c.replaces > 0 THEN c.replaces ELSE live.revision END, $9::bigint"
		" FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::boolean[], $5::bytea[],"
		"  $6::bytea[], $7::bytea[], $8::bigint[])"
		"  AS c (revision, kind, key, deleted, api, private, mac, replaces)"
		" LEFT JOIN slipway.live ON live.kind = c.kind AND live.key = c.key",
	[UPSERT_LIVE] = "INSERT INTO slipway.live (revision, kind, key)"
			" SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[])"
			" ON CONFLICT (kind, key) DO UPDATE SET revision = excluded.revision",
	[DELETE_LIVE] =
		"DELETE FROM slipway.live USING unnest($1::bytea[], $2::bytea[]) AS c (kind, key)"
		" WHERE live.kind = c.kind AND live.key = c.key",
	[PRUNE_LOG] = "WITH past AS (SELECT revision, deleted, replaces FROM slipway.log"
		      "  WHERE revision > $1::bigint AND revision <= $2::bigint)"
		      " DELETE FROM slipway.log WHERE revision IN ("
		      "  SELECT replaces FROM past WHERE replaces IS NOT NULL"
		      "  UNION ALL SELECT revision FROM past WHERE deleted)",
	[MOVE_HEAD] =
		"UPDATE slipway.head SET revision = $1::bigint, pruned = $2::bigint WHERE single",
	[NOTIFY] = "NOTIFY slipway",
	/* Ours from before the connection was lost. */
	[END_OWN] = END_SESSIONS_WHERE "application_name = current_setting('application_name')",
	/* Of any server, when it sent nothing for most of the time that we waited for the lock. */
	[END_STUCK] = END_SESSIONS_WHERE
	"application_name LIKE 'slipway-%'"
	" AND query_start < clock_timestamp() - current_setting('lock_timeout')::interval / 2",
	[KEEP_SEAL] = "INSERT INTO slipway.seal (fingerprint) VALUES ($1::bigint)"
		      " ON CONFLICT DO NOTHING",
	[READ_SEAL] = "SELECT fingerprint FROM slipway.seal WHERE single",
};
