/*
 * slipway's own REST API: JSON over paths, as botocore's protocol "rest-json" has it. Routes and shapes
 * are made from one model, api/slipway.json, so what the server understands, what clients send and what
 * /v1/openapi.json says cannot disagree.
 *
 * A request becomes one object: members from the path and the query, typed by their shapes, and those of
 * the body. It goes through aws_dispatch's door like every other. Our own API is strict: what the model
 * does not know is refused by name, and so is what stands in the wrong place.
 *
 * Paths are split before they are decoded, so an encoded '/' is part of a name. Empty segments, "." and
 * ".." match nothing: signatures are made without them.
 */
#ifndef AWS_REST_H
#define AWS_REST_H

#include "aws/dispatch.h"

#define REST_LABELS_MAX 8
#define REST_ALLOW_SIZE 64

struct rest_parameter {
	const char *name; /* in the query */
	const char *member;
};

struct rest_route {
	const char *method;
	const char *path; /* "/v1/environments/{name}", with names of members */
	const char *operation;
	const char *bare_member; /* a list that the body may be alone, or one item of it; or NULL */
	const char *payload;     /* the member that is the body as it stands; or NULL */
	const struct rest_parameter *query;
	size_t query_count;
	int status; /* of success */
};

/* In the order of their paths, words before labels: the first that matches is the one. */
struct rest_api {
	const struct rest_route *routes;
	size_t count;
};

extern const struct rest_api rest_slipway;
extern const struct span rest_openapi_slipway; /* JSON; made by the build */

struct rest_match {
	const struct rest_route *route;
	struct span labels[REST_LABELS_MAX]; /* as sent, in the order of the path */
	size_t label_count;
	char allow[REST_ALLOW_SIZE]; /* -EPERM: the methods of the path, "GET, PUT" */
};

/* Finds the route of a path as sent (without its query). HEAD is GET. code: -ENOENT nothing is there,
 * -EPERM it is there for other methods only (then only ret_match->allow is filled). */
int rest_find(const struct rest_api *api, struct span method, struct span path,
	struct rest_match *ret_match);

/* The input of an operation. Always an object, so that it is known what a request concerns; *ret_problem
 * is SPAN_NONE, or the first thing that is wrong with it, naming the member. All in the arena; query and
 * body must live as long. */
struct json *rest_read_input(const struct shape_service *shapes, const struct rest_match *match,
	struct span query, struct span body, struct arena *arena, struct span *ret_problem);

/* Runs the operation of a match. The answer is as it goes out: the route's status and the operation's
 * JSON, or an error's status with {"code","message",…,"requestId"}. service must translate its failures
 * with rest_translate. query, body, caller and arena must live until done; match need not. */
void rest_dispatch(struct aws_dispatcher *dispatcher, const struct aws_service *service,
	const struct rest_match *match, const struct aws_caller *caller, struct span query,
	struct span body, struct arena *arena, aws_done_function done, void *context);

/* Refuses a request that does not come to dispatch, in the same form. */
void rest_refuse_request(struct aws_dispatcher *dispatcher, int status, const char *type,
	struct span message, aws_done_function done, void *context);

/* aws_service.translate of a service whose model is one of this protocol: what dispatch calls
 * ServerException is InternalServiceException or ServiceUnavailableException here, and so on; statuses
 * are those of the model, and 400 for what it does not know. */
void rest_translate(const struct aws_service *service, struct aws_failure *failure);

/* Whether an answer of this status has a Retry-After. */
static inline bool rest_says_retry(int status)
{
	return status == 429 || status == 503;
}

#endif
