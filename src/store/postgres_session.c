#include "store/postgres_session.h"

#include <arpa/inet.h>
#include <assert.h>
#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/backend.h"

#define BACKOFF_FIRST_MS 50
#define BACKOFF_MAX_MS 2000
/* Longer than the server's own time limits below, which give better messages, and shorter than the lease
 * of a server (control/claims.h), which has to be renewed on the next connection. It runs anew whenever
 * something arrives. */
#define SILENCE_MAX_MS 8000
/* Of statements about everything: a step of the format, and a load until its first row. */
#define LONG_SILENCE_MAX_MS 45000
#define PASSWORD_HIDDEN_MIN 4 /* a shorter one would blank out half of every message */

/* Server settings unless the URL's `options` override them. A session that is paused while
 * it holds the lock of the head loses it before others give up waiting, and those give up before
 * their statement as a whole is cancelled: all of it well within a lease. synchronous_commit: an acknowledged write is on disk,
 * whatever this database is set to. */
static const char session_settings[] =
	"SELECT set_config(name, value, false) FROM (VALUES"
	" ('statement_timeout', '7s'),"
	" ('lock_timeout', '5s'),"
	" ('idle_in_transaction_session_timeout', '3s'),"
	" ('tcp_keepalives_idle', '10'),"
	" ('tcp_keepalives_interval', '5'),"
	" ('tcp_keepalives_count', '3'),"
	" ('tcp_user_timeout', '8000'),"
	/* Statements are planned once, often while the tables are small and without statistics. Each of
	 * them is about a few rows that an index finds, and must stay so when the tables have grown. */
	" ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'),"
	" ('jit', 'off')"
	") AS wanted (name, value) JOIN pg_settings USING (name) WHERE source <> 'client';"
	"SELECT set_config('synchronous_commit', 'on', false)"
	" WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write');"
	"SET search_path = pg_catalog;"
	"LISTEN slipway";

/* Settings of libpq unless the URL overrides them. */
static const struct {
	const char *name;
	const char *value;
} connection_defaults[] = {
	{"connect_timeout", "5"}, {"keepalives_idle", "10"}, {"keepalives_interval", "5"},
	{"keepalives_count", "3"}, {"tcp_user_timeout", "8000"},
	{"target_session_attrs", "read-write"}, /* of several hosts, the one that can be written */
};

/* OIDs of the types that we send in arrays; they are part of PostgreSQL's protocol. */
enum { TYPE_BOOLEAN = 16, TYPE_BYTES = 17, TYPE_INTEGER = 20 };

struct postgres_session {
	PQconninfoOption *options;
	char *name;
	char *password; /* to be kept out of messages; may be NULL */
	PGconn *connection;
	bool broken;        /* a statement could not be added to the pipeline */
	int silence_max_ms; /* of the statements in work */
	int64_t next_attempt_us;
	int backoff_ms;
	struct err last_error;
};

/* ---- arguments and results ---- */

void postgres_arguments_clear(struct postgres_arguments *arguments)
{
	for (size_t i = 0; i < arguments->count; i++)
		buffer_clear(&arguments->values[i]);
	arguments->count = 0;
}

static struct buffer *next_value(struct postgres_arguments *arguments)
{
	assert(arguments->count < POSTGRES_PARAMETERS_MAX);
	return &arguments->values[arguments->count++];
}

static void add_word(struct buffer *buffer, uint32_t word)
{
	word = htonl(word);
	buffer_add(buffer, &word, sizeof(word));
}

void postgres_add_integer(struct postgres_arguments *arguments, int64_t value)
{
	uint64_t wire = htobe64((uint64_t)value);

	buffer_add(next_value(arguments), &wire, sizeof(wire));
}

static void open_array(struct postgres_arguments *arguments, uint32_t type, size_t count)
{
	struct buffer *value = next_value(arguments);

	add_word(value, 1); /* dimensions */
	add_word(value, 0); /* no NULL in it */
	add_word(value, type);
	add_word(value, (uint32_t)count);
	add_word(value, 1); /* number of the first element */
}

void postgres_open_integers(struct postgres_arguments *arguments, size_t count)
{
	open_array(arguments, TYPE_INTEGER, count);
}

void postgres_open_booleans(struct postgres_arguments *arguments, size_t count)
{
	open_array(arguments, TYPE_BOOLEAN, count);
}

void postgres_open_bytes(struct postgres_arguments *arguments, size_t count)
{
	open_array(arguments, TYPE_BYTES, count);
}

void postgres_fill_bytes(struct postgres_arguments *arguments, const void *data, size_t length)
{
	struct buffer *value = &arguments->values[arguments->count - 1];

	add_word(value, (uint32_t)length);
	if (length > 0)
		buffer_add(value, data, length);
}

void postgres_fill_integer(struct postgres_arguments *arguments, int64_t value)
{
	uint64_t wire = htobe64((uint64_t)value);

	postgres_fill_bytes(arguments, &wire, sizeof(wire));
}

void postgres_fill_boolean(struct postgres_arguments *arguments, bool value)
{
	postgres_fill_bytes(arguments, value ? "\1" : "\0", 1);
}

int64_t postgres_integer(const PGresult *result, int row, int column)
{
	uint64_t wire;

	if (PQgetisnull(result, row, column) || PQgetlength(result, row, column) != sizeof(wire))
		return 0;
	memcpy(&wire, PQgetvalue(result, row, column), sizeof(wire));
	return (int64_t)be64toh(wire);
}

bool postgres_boolean(const PGresult *result, int row, int column)
{
	return PQgetlength(result, row, column) == 1 && *PQgetvalue(result, row, column) != 0;
}

struct span postgres_bytes(const PGresult *result, int row, int column)
{
	return (struct span){
		PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column)};
}

void postgres_result_clear_pointer(PGresult **result)
{
	PQclear(*result);
	*result = NULL;
}

/* ---- messages without secrets ---- */

/* The database's words on one line, the password of the URL taken out should it ever be in them. */
static char *message_of(const struct postgres_session *session, const char *text)
{
	_buffer_ struct buffer out = {0};
	size_t hidden = session->password ? strlen(session->password) : 0;

	while (*text) {
		if (hidden >= PASSWORD_HIDDEN_MIN &&
			strncmp(text, session->password, hidden) == 0) {
			buffer_add_string(&out, "***");
			text += hidden;
		} else if (*text == '\n' || *text == '\t' || *text == ' ') {
			text += strspn(text, "\n\t ");
			if (*text)
				buffer_add_char(&out, ' ');
		} else {
			buffer_add_char(&out, *text++);
		}
	}
	return buffer_take(&out, NULL);
}

static int error_of_connection(struct postgres_session *session, const char *what, struct err *err)
{
	_free_ char *message = message_of(session, PQerrorMessage(session->connection));

	return err_set(err, -EIO, "PostgreSQL: %s%s%s", what, *message ? ": " : "", message);
}

static int error_of_result(struct postgres_session *session, const PGresult *result,
	struct err *err)
{
	const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	_free_ char *whole =
		memory_format("%s%s%s", primary ? primary : PQresultErrorMessage(result),
			detail ? "; " : "", detail ? detail : "");
	_free_ char *message = message_of(session, whole);

	int code = state && strcmp(state, "55P03") == 0 ? -EBUSY : -EIO; /* lock_not_available */

	return err_set(err, code, "PostgreSQL: %s%s%s%s", message, state ? " (" : "",
		state ? state : "", state ? ")" : "");
}

/* ---- the URL ---- */

char *store_url_redact(const char *url)
{
	_buffer_ struct buffer out = {0};
	const char *start = strstr(url, "://");
	const char *at = strrchr(url, '@');
	const char *colon = strchr(start ? start + 3 : url, ':');

	if (colon && at && colon < at) {
		buffer_add(&out, url, (size_t)(colon - url));
		buffer_add_string(&out, ":***");
		url = at;
	}
	for (const char *secret; (secret = strstr(url, "password="));) {
		secret += strlen("password=");
		buffer_add(&out, url, (size_t)(secret - url));
		buffer_add_string(&out, "***");
		url = secret + strcspn(secret, "&");
	}
	buffer_add_string(&out, url);
	return buffer_take(&out, NULL);
}

static int refuse_url(const char *url, struct err *err)
{
	_free_ char *redacted = store_url_redact(url);
	char *message = NULL;
	PQconninfoOption *options = PQconninfoParse(redacted, &message);

	if (options) { /* so it was what we took out */
		err_set(err, -EINVAL,
			"store URL '%s': the password has characters that must be percent-encoded",
			redacted);
	} else {
		size_t length = message ? strcspn(message, "\n") : 0;

		err_set(err, -EINVAL, "store URL '%s': %.*s", redacted, (int)length,
			message ? message : "");
	}
	PQconninfoFree(options);
	PQfreemem(message);
	return -EINVAL;
}

/* A slash in an unencoded password would make libpq take its first half for a port, an @ its second
 * half for a host; and say so. */
static bool has_ambiguous_password(const char *url)
{
	const char *start = strstr(url, "://");
	size_t length = start ? strcspn(start + 3, "?") : 0;
	const char *at = start ? memrchr(start + 3, '@', length) : NULL;

	if (!at)
		return false;
	start += 3;
	length = (size_t)(at - start);
	return memchr(start, '/', length) || memchr(start, '@', length);
}

int postgres_session_new(const char *url, const char *name, struct postgres_session **ret_session,
	struct err *err)
{
	PQconninfoOption *options;
	struct postgres_session *session;
	int code = libpq_load(err);

	if (code < 0)
		return code;
	options = has_ambiguous_password(url) ? NULL : PQconninfoParse(url, NULL);
	if (!options)
		return refuse_url(url, err);
	session = memory_allocate(sizeof(*session));
	session->options = options;
	session->name = memory_copy_string(name);
	for (PQconninfoOption *option = options; option->keyword; option++)
		if (strcmp(option->keyword, "password") == 0)
			session->password = memory_copy_string(option->val);
	*ret_session = session;
	return 0;
}

void postgres_session_free(struct postgres_session *session)
{
	if (!session)
		return;
	postgres_session_drop(session);
	PQconninfoFree(session->options);
	free(session->name);
	free(session->password);
	free(session);
}

/* ---- connecting ---- */

static void be_silent(void *context, const PGresult *notice)
{
	(void)context;
	(void)notice;
}

static PGconn *connect_with_options(struct postgres_session *session)
{
	const char *names[64] = {"application_name", "client_encoding"};
	const char *values[64] = {session->name, "UTF8"};
	size_t count = 2;

	for (PQconninfoOption *option = session->options; option->keyword; option++) {
		const char *value = option->val;

		for (size_t i = 0; !value && i < LENGTH(connection_defaults); i++)
			if (strcmp(connection_defaults[i].name, option->keyword) == 0)
				value = connection_defaults[i].value;
		if (!value || count + 1 >= LENGTH(names) ||
			strcmp(option->keyword, names[0]) == 0 ||
			strcmp(option->keyword, names[1]) == 0)
			continue;
		names[count] = option->keyword;
		values[count++] = value;
	}
	return PQconnectdbParams(names, values, 0);
}

int postgres_session_connect(struct postgres_session *session, struct err *err)
{
	_result_ PGresult *result = NULL;
	struct err reason;
	int code;

	if (session->connection)
		return 0;
	if (postgres_session_backoff_ms(session) > 0)
		return err_set(err, session->last_error.code, "%s", session->last_error.message);

	session->connection = connect_with_options(session);
	session->broken = false;
	if (PQstatus(session->connection) != CONNECTION_OK) {
		code = error_of_connection(session, "cannot connect", &reason);
	} else {
		PQsetNoticeReceiver(session->connection, be_silent, NULL);
		PQsetnonblocking(session->connection, 1);
		code = postgres_session_execute(session, session_settings, &result, &reason);
	}
	if (code >= 0)
		return 0;
	postgres_session_reject(session, &reason);
	return err_set(err, code, "%s", reason.message);
}

void postgres_session_reject(struct postgres_session *session, const struct err *reason)
{
	postgres_session_drop(session);
	session->last_error = *reason;
	session->backoff_ms = session->backoff_ms ? session->backoff_ms * 2 : BACKOFF_FIRST_MS;
	if (session->backoff_ms > BACKOFF_MAX_MS)
		session->backoff_ms = BACKOFF_MAX_MS;
	session->next_attempt_us =
		clock_steady_us(clock_system()) + session->backoff_ms * INT64_C(1000);
}

void postgres_session_accept(struct postgres_session *session)
{
	session->backoff_ms = 0;
}

bool postgres_session_is_connected(const struct postgres_session *session)
{
	return session->connection != NULL;
}

void postgres_session_drop(struct postgres_session *session)
{
	PQfinish(session->connection);
	session->connection = NULL;
}

int postgres_session_backoff_ms(const struct postgres_session *session)
{
	int64_t left = session->next_attempt_us - clock_steady_us(clock_system());

	return left <= 0 ? 0 : (int)(left / 1000 + 1);
}

/* ---- talking ---- */

static int lose(struct postgres_session *session, const char *what, struct err *err)
{
	int code = error_of_connection(session, what, err);

	postgres_session_drop(session);
	return code;
}

/* Waits until the next result is here. Drops the connection when that cannot be. */
static int wait_for_result(struct postgres_session *session, PGresult **ret_result, struct err *err)
{
	for (;;) {
		int unsent = PQflush(session->connection);
		struct pollfd wait = {.fd = PQsocket(session->connection), .events = POLLIN};
		int ready;

		if (unsent < 0)
			return lose(session, "connection lost", err);
		if (!PQisBusy(session->connection)) {
			*ret_result = PQgetResult(session->connection);
			return 0;
		}
		if (unsent > 0)
			wait.events |= POLLOUT;
		ready = poll(&wait, 1, session->silence_max_ms);
		if (ready < 0 && errno != EINTR)
			return lose(session, "cannot wait for an answer", err);
		if (ready == 0)
			return lose(session, "no answer in time", err);
		if (ready > 0 && (wait.revents & ~POLLOUT) && !PQconsumeInput(session->connection))
			return lose(session, "connection lost", err);
	}
}

static bool is_success(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
	       status == PGRES_SINGLE_TUPLE || status == PGRES_PIPELINE_SYNC;
}

/* SQL states that an unusable connection returns for every further statement. */
static const char *const useless_states[] = {
	"25006", /* read-only: the server became a standby */
	/* The prepared statements do not fit the tables any more: a newer slipway may have changed them, which
	 * shows when connecting. */
	"0A000", /* a plan would have another result */
	"3F000", /* no such schema */
	"42703", /* no such column */
	"42P01", /* no such table */
};

/* Ends a connection that the database itself ended, or that is of no use. */
static void drop_if_useless(struct postgres_session *session, const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	bool useless = PQstatus(session->connection) == CONNECTION_BAD;

	for (size_t i = 0; state && i < LENGTH(useless_states); i++)
		useless |= strcmp(state, useless_states[i]) == 0;
	if (useless)
		postgres_session_drop(session);
}

int postgres_session_execute(struct postgres_session *session, const char *text,
	PGresult **ret_result, struct err *err)
{
	_result_ PGresult *last = NULL;

	session->silence_max_ms = LONG_SILENCE_MAX_MS;
	if (!PQsendQuery(session->connection, text))
		return lose(session, "cannot send", err);
	for (;;) {
		PGresult *result = NULL;
		int code = wait_for_result(session, &result, err);

		if (code < 0)
			return code;
		if (!result)
			break;
		if (last && !is_success(last)) {
			PQclear(result);
			continue;
		}
		PQclear(last);
		last = result;
	}
	if (!last || !is_success(last)) {
		int code = error_of_result(session, last, err);

		drop_if_useless(session, last);
		return code;
	}
	*ret_result = TAKE(last);
	return 0;
}

int postgres_session_prepare(struct postgres_session *session, const char *const *texts,
	size_t count, struct err *err)
{
	if (!PQenterPipelineMode(session->connection))
		return lose(session, "cannot start a pipeline", err);
	for (size_t i = 0; i < count; i++) {
		char name[24];

		snprintf(name, sizeof(name), "%zu", i);
		if (!PQsendPrepare(session->connection, name, texts[i], 0, NULL))
			return lose(session, "cannot send", err);
	}
	return postgres_session_run(session, NULL, 0, err);
}

void postgres_session_add(struct postgres_session *session, int statement,
	const struct postgres_arguments *arguments)
{
	static const int binary[POSTGRES_PARAMETERS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
	const char *values[POSTGRES_PARAMETERS_MAX];
	int lengths[POSTGRES_PARAMETERS_MAX];
	size_t count = arguments ? arguments->count : 0;
	char name[24];

	for (size_t i = 0; i < count; i++) {
		values[i] = arguments->values[i].data;
		lengths[i] = (int)arguments->values[i].length;
	}
	snprintf(name, sizeof(name), "%d", statement);
	if (!PQsendQueryPrepared(session->connection, name, (int)count, values, lengths, binary, 1))
		session->broken = true;
}

void postgres_session_flush(struct postgres_session *session)
{
	for (int unsent; !session->broken && (unsent = PQflush(session->connection)) != 0;) {
		struct pollfd wait = {
			.fd = PQsocket(session->connection), .events = POLLIN | POLLOUT};

		/* Reading too: the server may have to get rid of an error before it reads on. */
		if (unsent < 0 || poll(&wait, 1, SILENCE_MAX_MS) == 0 ||
			((wait.revents & ~POLLOUT) && !PQconsumeInput(session->connection)))
			session->broken = true;
	}
}

int postgres_session_stream(struct postgres_session *session, size_t streamed,
	int (*row)(void *context, const PGresult *row, struct err *err), void *context,
	PGresult **results, size_t count, struct err *err)
{
	size_t statement = 0;
	bool started = false; /* a result of this statement was seen */
	int failed = 0;
	int code;

	if (session->broken || !PQpipelineSync(session->connection))
		return lose(session, "cannot send", err);
	session->silence_max_ms = row ? LONG_SILENCE_MAX_MS : SILENCE_MAX_MS;
	for (;;) {
		_result_ PGresult *result = NULL;

		if (statement == streamed && !started)
			PQsetSingleRowMode(session->connection);
		code = wait_for_result(session, &result, err);
		if (code < 0)
			return code;
		if (!result) { /* the end of one statement's results */
			if (!started)
				return lose(session, "connection lost", err);
			statement++;
			started = false;
			continue;
		}
		started = true;
		if (PQresultStatus(result) == PGRES_PIPELINE_SYNC)
			return failed;
		if (PQresultStatus(result) == PGRES_SINGLE_TUPLE) {
			code = row(context, result, err);
			if (code < 0) {
				postgres_session_drop(session);
				return code;
			}
			continue;
		}
		if (!is_success(result) && failed == 0) {
			failed = error_of_result(session, result, err);
			drop_if_useless(session, result);
			if (!session->connection)
				return failed;
		}
		if (statement < count && results && !results[statement])
			results[statement] = TAKE(result);
	}
}

int postgres_session_run(struct postgres_session *session, PGresult **results, size_t count,
	struct err *err)
{
	return postgres_session_stream(session, SIZE_MAX, NULL, NULL, results, count, err);
}

bool postgres_session_notified(struct postgres_session *session)
{
	bool notified = false;
	PGnotify *notification;

	if (!session->connection)
		return false;
	if (!PQconsumeInput(session->connection)) {
		postgres_session_drop(session);
		return false;
	}
	while ((notification = PQnotifies(session->connection))) {
		if (notification->be_pid != PQbackendPID(session->connection))
			notified = true;
		PQfreemem(notification);
	}
	return notified;
}

int postgres_session_descriptor(const struct postgres_session *session)
{
	return session->connection ? PQsocket(session->connection) : -1;
}
