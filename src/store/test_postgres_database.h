/*
 * A database of its own for a test, on the server that SLIPWAY_TEST_POSTGRES names (tools/with-postgres
 * starts one). Without that variable a test that needs PostgreSQL fails: a test that did not run has
 * shown nothing. For test programs and benchmarks, which are one source file each.
 */
#ifndef STORE_TEST_POSTGRES_DATABASE_H
#define STORE_TEST_POSTGRES_DATABASE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/random.h"
#include "store/libpq.h"

struct test_database {
	char *server_url; /* of the database that was there */
	char *name;
	char *url;
};

__attribute__((noreturn)) static inline void test_database_fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static inline const char *test_database_server(void)
{
	const char *url = getenv("SLIPWAY_TEST_POSTGRES");
	struct err err;

	if (!url || !*url)
		test_database_fail("SLIPWAY_TEST_POSTGRES is not set",
			"this test needs PostgreSQL; run it as: tools/with-postgres PROGRAM");
	if (libpq_load(&err) < 0)
		test_database_fail("load libpq", err.message);
	return url;
}

static inline void test_database_add_option(struct buffer *url, const char *name, const char *value)
{
	buffer_format(url, "%c%s=", strchr(url->data, '?') ? '&' : '?', name);
	for (; *value; value++)
		buffer_format(url, "%%%02X", (unsigned char)*value);
}

/* The URL with another database and, unless NULL, another host. Freed by the caller. */
static inline char *test_database_url(const char *server_url, const char *name, const char *host)
{
	PQconninfoOption *options = PQconninfoParse(server_url, NULL);
	_buffer_ struct buffer url = {0};

	if (!options)
		test_database_fail(server_url, "is not a PostgreSQL URL");
	buffer_add_string(&url, "postgresql://");
	for (PQconninfoOption *option = options; option->keyword; option++) {
		const char *value = option->val;

		if (strcmp(option->keyword, "dbname") == 0)
			value = name;
		else if (host && strcmp(option->keyword, "host") == 0)
			value = host;
		else if (host && strcmp(option->keyword, "port") == 0)
			value = "5432";
		if (value)
			test_database_add_option(&url, option->keyword, value);
	}
	PQconninfoFree(options);
	return buffer_take(&url, NULL);
}

static inline void test_database_ignore_notice(void *context, const PGresult *notice)
{
	(void)context;
	(void)notice;
}

/* Runs statements from outside of the store. The last one's result; freed by the caller. */
static inline PGresult *test_database_query(const char *url, const char *text)
{
	PGconn *connection = PQconnectdb(url);
	PGresult *result;
	ExecStatusType status;

	PQsetNoticeReceiver(connection, test_database_ignore_notice, NULL);
	result = PQexec(connection, text);
	status = PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		test_database_fail(text, PQerrorMessage(connection));
	PQfinish(connection);
	return result;
}

static inline void test_database_run(const char *url, const char *text)
{
	PQclear(test_database_query(url, text));
}

static inline int64_t test_database_number(const char *url, const char *text)
{
	PGresult *result = test_database_query(url, text);
	int64_t number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);

	PQclear(result);
	return number;
}

static inline void test_database_create(struct test_database *database)
{
	_free_ char *statement = NULL;

	database->server_url = memory_copy_string(test_database_server());
	database->name = memory_format("slipway_test_%016" PRIx64, random_u64(random_system()));
	database->url = test_database_url(database->server_url, database->name, NULL);
	statement = memory_format("CREATE DATABASE %s", database->name);
	test_database_run(database->server_url, statement);
}

static inline void test_database_drop(struct test_database *database)
{
	_free_ char *statement = memory_format("DROP DATABASE %s WITH (FORCE)", database->name);

	test_database_run(database->server_url, statement);
	free(database->server_url);
	free(database->name);
	free(database->url);
}

#endif
