#include "io/libcurl.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/late_library.h"
#include "base/memory.h"

/* Macros around functions of the same name, which check the types of a call. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define FUNCTIONS(X)                                                                               \
	X(CURLcode, curl_global_init, (long flags), (flags))                                       \
	X(CURL *, curl_easy_init, (void), ())                                                      \
	X(void, curl_easy_cleanup, (CURL * easy), (easy))                                          \
	X(void, curl_easy_reset, (CURL * easy), (easy))                                            \
	X(CURLcode, curl_easy_perform, (CURL * easy), (easy))                                      \
	X(CURLcode, curl_easy_pause, (CURL * easy, int what), (easy, what))                        \
	X(CURLcode, curl_easy_recv, (CURL * easy, void *data, size_t size, size_t *ret_got),       \
		(easy, data, size, ret_got))                                                       \
	X(CURLcode, curl_easy_send,                                                                \
		(CURL * easy, const void *data, size_t size, size_t *ret_sent),                    \
		(easy, data, size, ret_sent))                                                      \
	X(const char *, curl_easy_strerror, (CURLcode code), (code))                               \
	X(struct curl_slist *, curl_slist_append, (struct curl_slist * list, const char *text),    \
		(list, text))                                                                      \
	X(void, curl_slist_free_all, (struct curl_slist * list), (list))                           \
	X(CURLM *, curl_multi_init, (void), ())                                                    \
	X(CURLMcode, curl_multi_cleanup, (CURLM * multi), (multi))                                 \
	X(CURLMcode, curl_multi_add_handle, (CURLM * multi, CURL * easy), (multi, easy))           \
	X(CURLMcode, curl_multi_remove_handle, (CURLM * multi, CURL * easy), (multi, easy))        \
	X(CURLMsg *, curl_multi_info_read, (CURLM * multi, int *ret_left), (multi, ret_left))      \
	X(CURLMcode, curl_multi_socket_action,                                                     \
		(CURLM * multi, curl_socket_t socket, int events, int *ret_running),               \
		(multi, socket, events, ret_running))                                              \
	X(CURLMcode, curl_multi_assign, (CURLM * multi, curl_socket_t socket, void *context),      \
		(multi, socket, context))                                                          \
	X(const char *, curl_multi_strerror, (CURLMcode code), (code))

/* Those with an argument of different types. */
#define VARIADIC_FUNCTIONS(X)                                                                      \
	X(CURLcode, curl_easy_setopt, , )                                                          \
	X(CURLcode, curl_easy_getinfo, , )                                                         \
	X(CURLMcode, curl_multi_setopt, , )

FUNCTIONS(LATE_LIBRARY_POINTER)
VARIADIC_FUNCTIONS(LATE_LIBRARY_POINTER)
FUNCTIONS(LATE_LIBRARY_FUNCTION)

static const struct late_function functions[] = {
	FUNCTIONS(LATE_LIBRARY_ENTRY) VARIADIC_FUNCTIONS(LATE_LIBRARY_ENTRY)};

/* The number of an option says which type its value has. */
#define SET_OPTION(function, handle, option, values)                                               \
	((option) >= CURLOPTTYPE_BLOB ? (function)(handle, option, va_arg(values, void *))         \
		: (option) >= CURLOPTTYPE_OFF_T                                                    \
			? (function)(handle, option, va_arg(values, curl_off_t))                   \
		: (option) >= CURLOPTTYPE_OBJECTPOINT                                              \
			? (function)(handle, option, va_arg(values, void *))                       \
			: (function)(handle, option, va_arg(values, long)))

CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
	CURLcode result;
	va_list values;

	va_start(values, option);
	result = SET_OPTION(loaded_curl_easy_setopt, easy, option, values);
	va_end(values);
	return result;
}

CURLMcode curl_multi_setopt(CURLM *multi, CURLMoption option, ...)
{
	CURLMcode result;
	va_list values;

	va_start(values, option);
	result = SET_OPTION(loaded_curl_multi_setopt, multi, option, values);
	va_end(values);
	return result;
}

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...)
{
	CURLcode result;
	va_list values;

	va_start(values, info);
	result = loaded_curl_easy_getinfo(easy, info, va_arg(values, void *));
	va_end(values);
	return result;
}

static void initialize(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		abort(); /* no memory */
}

int libcurl_load(struct err *err)
{
	static struct late_library library = {
		"libcurl.so.4", functions, LENGTH(functions), LOCK_INITIALIZER, NULL};
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int code = late_library_load(&library, err);

	if (code == 0)
		pthread_once(&once, initialize);
	return code;
}
