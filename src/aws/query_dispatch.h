/*
 * Requests of the query protocol from the wire, and their answers as XML. The listener reads the
 * form, authenticates the caller, and dispatches or rejects:
 *
 *     aws_query_read(dispatcher, form_text, arena, &query);
 *     caller = …authenticate for query.service…;
 *     if (caller)
 *             aws_query_dispatch(&query, caller, arena, done, context);
 *     else
 *             aws_query_refuse(&query, type, message, done, context);
 */
#ifndef AWS_QUERY_DISPATCH_H
#define AWS_QUERY_DISPATCH_H

#include "aws/dispatch.h"

#define AWS_QUERY_CONTENT_TYPE "text/xml"

struct aws_query {
	struct aws_dispatcher *dispatcher;
	const struct aws_service *service; /* NULL: no service here has the version */
	struct span action;                /* "" if there is none */
	struct span version;
	struct query_form form;
	bool too_large, malformed; /* the form could not be read: problem says why */
	struct err problem;
};

/* True if a request without X-Amz-Target is one of this protocol: a POST of a form, or a GET with an
 * Action. content_type and query may be absent. */
bool aws_query_is_request(struct span method, struct span content_type, struct span query);

/* Never fails: aws_query_dispatch answers errors, after the caller is authenticated. text and arena
 * must live until done. */
void aws_query_read(struct aws_dispatcher *dispatcher, struct span text, struct arena *arena,
	struct aws_query *ret_query);

/* As aws_dispatch; the answer's body is XML. */
void aws_query_dispatch(const struct aws_query *query, const struct aws_caller *caller,
	struct arena *arena, aws_done_function done, void *context);
/* Answers with an error, at once. type as inside: "MissingAuthenticationTokenException". */
void aws_query_refuse(const struct aws_query *query, const char *type, struct span message,
	aws_done_function done, void *context);

#endif
