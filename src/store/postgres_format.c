/* See postgres_format.h. */
#include "store/postgres_format.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "store/postgres_schema.h"

/* A step has no time limit. Servers that continue to write wait for it; its commit sends them a
 * notification, and they check the format. */
#define STEP "SET LOCAL statement_timeout = 0;"
#define STEP_END "; UPDATE slipway.format SET version = %d; NOTIFY slipway; COMMIT"

int postgres_format_check(int64_t format, int known, struct err *err)
{
	if (format > known)
		return err_set(err, -ENOTSUP,
			"database is from a newer slipway (format %" PRId64 ", this one knows %d)",
			format, known);
	if (format == 0)
		return err_set(err, -EPROTO, "the tables of the store are gone from the database");
	if (format < known)
		return err_set(err, -EPROTO,
			"database was put back to an older format (%" PRId64
			", this slipway writes %d): start it again to bring that forward",
			format, known);
	return 0;
}

static bool answers_true(const PGresult *result)
{
	return PQntuples(result) == 1 && strcmp(PQgetvalue(result, 0, 0), "t") == 0;
}

static int read_format(struct postgres_session *session, int *ret_format, struct err *err)
{
	_result_ PGresult *exists = NULL;
	_result_ PGresult *result = NULL;
	int code;

	code = postgres_session_execute(session, postgres_schema_exists, &exists, err);
	if (code < 0)
		return code;
	if (!answers_true(exists)) {
		*ret_format = 0;
		return 0;
	}
	code = postgres_session_execute(session, postgres_format_query, &result, err);
	if (code < 0)
		return code;
	if (PQntuples(result) != 1)
		return err_set(err, -EPROTO, "slipway.format in the database has no version");
	*ret_format = atoi(PQgetvalue(result, 0, 0));
	if (*ret_format < 1)
		return err_set(err, -EPROTO, "database has an unknown format (%d)", *ret_format);
	return 0;
}

static int execute(struct postgres_session *session, const char *text, struct err *err)
{
	_result_ PGresult *result = NULL;

	return postgres_session_execute(session, text, &result, err);
}

/* Another server may have taken the step between our look and our lock: then there is nothing to do. What
 * fails leaves a transaction behind, which ends with the connection. */
static int take_step(struct postgres_session *session, const char *step, int from, struct err *err)
{
	_free_ char *text = memory_format(STEP "%s" STEP_END, step, from + 1);
	int format = 0;
	int code;

	code = execute(session, from == 0 ? postgres_format_lock_empty : postgres_format_lock, err);
	if (code >= 0)
		code = read_format(session, &format, err);
	if (code >= 0)
		code = execute(session, format == from ? text : "ROLLBACK", err);
	return code < 0 ? err_prefix(err, code, "bring the tables from format %d forward", from)
			: 0;
}

int postgres_format_open(struct postgres_session *session, const char *const *steps, int step_count,
	bool forward, struct err *err)
{
	int format = 0;
	int code;

	code = read_format(session, &format, err);
	while (code >= 0 && forward && format < step_count) {
		code = take_step(session, steps[format], format, err);
		if (code >= 0)
			code = read_format(session, &format, err);
	}
	return code < 0 ? code : postgres_format_check(format, step_count, err);
}

int postgres_format_complete(struct postgres_session *session, struct err *err)
{
	_result_ PGresult *exists = NULL;
	int code = postgres_session_execute(session, postgres_seal_exists, &exists, err);

	if (code >= 0 && !answers_true(exists))
		code = execute(session, postgres_seal_make, err);
	return code;
}
