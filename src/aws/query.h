/*
 * The AWS query protocol: requests are forms, answers are XML. Both become and come from the same JSON
 * that the JSON protocol has, by the shapes of the service, so that handlers, validation and callers do
 * not know which protocol was spoken.
 *
 *     Action=CreateListener&Version=2015-12-01&Port=80&DefaultActions.member.1.Type=forward
 *
 *     <CreateListenerResponse xmlns="…"><CreateListenerResult>…</CreateListenerResult>
 *     <ResponseMetadata><RequestId>…</RequestId></ResponseMetadata></CreateListenerResponse>
 *
 * The protocol has its own words for some errors ("LoadBalancerNotFound", "Throttling"), and an error
 * has the HTTP status of its model. Inside, errors always have the names of the shapes
 * ("LoadBalancerNotFoundException") and those that slipway's JSON services use ("ThrottlingException").
 */
#ifndef AWS_QUERY_H
#define AWS_QUERY_H

#include "aws/query_form.h"
#include "aws/shape.h"

/* True for services that speak it. */
bool query_is_protocol_of(const struct shape_service *service);

/* ---- the side that serves ---- */

/*
 * The input of an operation. Keys that the model does not know are ignored, as AWS does. Lists must be
 * numbered from 1 without gaps, maps must have a key and a value for each entry, numbers, booleans and
 * times must be some. "Name=" is an empty list, map or structure, or an empty string. Members come in
 * the order of their names.
 *
 * code: -EINVAL, the message begins with the key as the client wrote it; -E2BIG, the arena's cap is
 * passed. Strings point into the form.
 */
int query_read_input(const struct shape_service *service, const struct shape_operation *operation,
	const struct query_form *form, struct arena *arena, struct json **ret_input,
	struct err *err);

/* Leaves out null, and members that the shape of the output does not have. */
void query_write_answer(const struct shape_service *service,
	const struct shape_operation *operation, const struct json *answer, const char *request_id,
	struct buffer *out);
/* error: {"__type", "message", …}; further members by the shape of the error. service may be NULL. */
void query_write_error(const struct shape_service *service, const struct json *error,
	const char *request_id, struct buffer *out);
/* The HTTP status for an error; otherwise: when neither the model nor the protocol has one. */
int query_error_status(const struct shape_service *service, struct span type, int otherwise);

/* ---- the side that calls ---- */

/* The form that asks for an operation. Members that the model does not have are left out. */
void query_write_form(const struct shape_service *service, const struct shape_operation *operation,
	const struct json *request, struct buffer *out);
/* The answer as JSON; text must live as long as the arena. code: -EPROTO, -E2BIG. */
int query_read_answer(const struct shape_service *service, const struct shape_operation *operation,
	struct span text, struct arena *arena, struct json **ret_answer, struct err *err);
/* Type (its name inside) and message of an error's XML; SPAN_NONE for what it does not have. */
void query_read_error(const struct shape_service *service, struct span text, struct arena *arena,
	struct span *ret_type, struct span *ret_message);

/* ---- shared by both sides ---- */

/* The name of a member in forms and XML; of a flattened list it is that of its items. */
struct span query_member_name(const struct shape_service *service,
	const struct shape_member *member);
/* NULL when the structure has no member of that name in forms and XML. */
const struct shape_member *query_find_member(const struct shape_service *service,
	const struct shape *structure, struct span wire_name);
/* The name of an item inside of a list that is not flattened. */
struct span query_item_name(const struct shape_service *service, const struct shape *list);

#endif
