#include "store/libpq.h"

#include "base/late_library.h"
#include "base/memory.h"

#define FUNCTIONS(X)                                                                               \
	X(PQconninfoOption *, PQconninfoParse, (const char *text, char **ret_message),             \
		(text, ret_message))                                                               \
	X(void, PQconninfoFree, (PQconninfoOption * options), (options))                           \
	X(PGconn *, PQconnectdb, (const char *text), (text))                                       \
	X(PGconn *, PQconnectdbParams,                                                             \
		(const char *const *names, const char *const *values, int expand),                 \
		(names, values, expand))                                                           \
	X(void, PQfinish, (PGconn * connection), (connection))                                     \
	X(ConnStatusType, PQstatus, (const PGconn *connection), (connection))                      \
	X(char *, PQerrorMessage, (const PGconn *connection), (connection))                        \
	X(int, PQsocket, (const PGconn *connection), (connection))                                 \
	X(int, PQbackendPID, (const PGconn *connection), (connection))                             \
	X(PQnoticeReceiver, PQsetNoticeReceiver,                                                   \
		(PGconn * connection, PQnoticeReceiver receiver, void *context),                   \
		(connection, receiver, context))                                                   \
	X(int, PQsetnonblocking, (PGconn * connection, int wanted), (connection, wanted))          \
	X(int, PQsetSingleRowMode, (PGconn * connection), (connection))                            \
	X(int, PQenterPipelineMode, (PGconn * connection), (connection))                           \
	X(int, PQpipelineSync, (PGconn * connection), (connection))                                \
	X(PGresult *, PQexec, (PGconn * connection, const char *text), (connection, text))         \
	X(int, PQsendQuery, (PGconn * connection, const char *text), (connection, text))           \
	X(int, PQsendPrepare,                                                                      \
		(PGconn * connection, const char *name, const char *text, int count,               \
			const Oid *types),                                                         \
		(connection, name, text, count, types))                                            \
	X(int, PQsendQueryPrepared,                                                                \
		(PGconn * connection, const char *name, int count, const char *const *values,      \
			const int *lengths, const int *formats, int result_format),                \
		(connection, name, count, values, lengths, formats, result_format))                \
	X(int, PQflush, (PGconn * connection), (connection))                                       \
	X(int, PQconsumeInput, (PGconn * connection), (connection))                                \
	X(int, PQisBusy, (PGconn * connection), (connection))                                      \
	X(PGresult *, PQgetResult, (PGconn * connection), (connection))                            \
	X(PGnotify *, PQnotifies, (PGconn * connection), (connection))                             \
	X(ExecStatusType, PQresultStatus, (const PGresult *result), (result))                      \
	X(char *, PQresultErrorMessage, (const PGresult *result), (result))                        \
	X(char *, PQresultErrorField, (const PGresult *result, int field), (result, field))        \
	X(int, PQntuples, (const PGresult *result), (result))                                      \
	X(int, PQgetisnull, (const PGresult *result, int row, int column), (result, row, column))  \
	X(int, PQgetlength, (const PGresult *result, int row, int column), (result, row, column))  \
	X(char *, PQgetvalue, (const PGresult *result, int row, int column),                       \
		(result, row, column))                                                             \
	X(void, PQclear, (PGresult * result), (result))                                            \
	X(void, PQfreemem, (void *memory), (memory))

FUNCTIONS(LATE_LIBRARY_POINTER)
FUNCTIONS(LATE_LIBRARY_FUNCTION)

static const struct late_function functions[] = {FUNCTIONS(LATE_LIBRARY_ENTRY)};

int libpq_load(struct err *err)
{
	static struct late_library library = {
		"libpq.so.5", functions, LENGTH(functions), LOCK_INITIALIZER, NULL};

	return late_library_load(&library, err);
}
