/*
 * The client's side of libcurl's easy handle: a request as its options, its result as one of our
 * errors, the head it received as a response. No threads here.
 */
#ifndef IO_HTTP_CLIENT_EASY_H
#define IO_HTTP_CLIENT_EASY_H

#include "base/buffer.h"
#include "io/http_client.h"
#include "io/libcurl.h"

/* Lists that a handle only points to. */
struct http_client_easy_lists {
	struct curl_slist *headers;
	struct curl_slist *connect_to;
};
void http_client_easy_lists_clear(struct http_client_easy_lists *lists);

/* Sets everything but the callbacks. The request must stay as long as the handle is used with it; *ret_lists
 * too, which the caller clears. */
int http_client_easy_set(CURL *easy, const struct http_client_request *request, bool streaming,
	struct http_client_easy_lists *ret_lists, struct err *err);

/* "GET http://host/path: reason" (without the query, which may hold secrets). */
int http_client_easy_fail(const struct http_client_request *request, int code, const char *reason,
	struct err *err);
int http_client_easy_code(CURLcode result); /* negative; the sentence is libcurl's */

/* Header lines as they came, status line first, into a response without body. -E2BIG if the arena's
 * cap is passed. */
int http_client_easy_read_head(struct span head, struct arena *arena,
	struct http_client_response **ret_response);

#endif
