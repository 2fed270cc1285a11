/* Names of members and errors in the query protocol; see query.h. */
#include "aws/query.h"

#include "aws/query_error.h"
#include "base/memory.h"

bool query_is_protocol_of(const struct shape_service *service)
{
	return service && strcmp(service->protocol, "query") == 0;
}

/* ---- members ---- */

struct span query_member_name(const struct shape_service *service,
	const struct shape_member *member)
{
	const struct shape *shape = &service->shapes[member->shape];

	if (shape->type == SHAPE_LIST && (shape->flags & SHAPE_FLATTENED) &&
		shape->wire_name.length > 0)
		return shape_text(service, shape->wire_name);
	return shape_text(service, member->wire_name.length > 0 ? member->wire_name : member->name);
}

const struct shape_member *query_find_member(const struct shape_service *service,
	const struct shape *structure, struct span wire_name)
{
	const struct shape_member *member = shape_find_member(service, structure, wire_name);

	if (member && span_equal(query_member_name(service, member), wire_name))
		return member;
	/* Few models rename members, so this is what an unknown one costs. */
	for (size_t i = 0; i < structure->count; i++) {
		member = &service->members[structure->first + i];
		if (span_equal(query_member_name(service, member), wire_name))
			return member;
	}
	return NULL;
}

struct span query_item_name(const struct shape_service *service, const struct shape *list)
{
	return list->wire_name.length > 0 ? shape_text(service, list->wire_name) : SPAN("member");
}

/* ---- errors ---- */

/* Errors that no model has: their names inside, their codes here. */
static const struct common_error {
	const char *type;
	const char *code;
	int status;
} common_errors[] = {
	{"AccessDeniedException", "AccessDenied", 403},
	{"ExpiredTokenException", "ExpiredToken", 403},
	{"IncompleteSignatureException", "IncompleteSignature", 400},
	{"InvalidSignatureException", "SignatureDoesNotMatch", 403},
	{"MissingAuthenticationTokenException", "MissingAuthenticationToken", 403},
	{"RequestEntityTooLargeException", "RequestEntityTooLarge", 413},
	{"SerializationException", "MalformedInput", 400},
	{"ServerException", "InternalFailure", 500},
	{"ThrottlingException", "Throttling", 400},
	{"UnknownOperationException", "InvalidAction", 400},
	{"UnrecognizedClientException", "InvalidClientTokenId", 403},
	{"UnsupportedFeatureException", "UnsupportedOperation", 400},
};

static const struct common_error *find_common(struct span type)
{
	for (size_t i = 0; i < LENGTH(common_errors); i++) {
		if (span_is(type, common_errors[i].type))
			return &common_errors[i];
	}
	return NULL;
}

static struct span code_of(const struct shape_service *service, const struct shape *shape)
{
	return shape_text(service, shape->wire_name.length > 0 ? shape->wire_name : shape->name);
}

/* By its name or by its code: a service may use either. */
const struct shape *query_find_error(const struct shape_service *service, struct span type)
{
	for (size_t i = 0; service && i < service->shape_count; i++) {
		const struct shape *shape = &service->shapes[i];

		if ((shape->flags & SHAPE_ERROR) &&
			(span_equal(type, shape_text(service, shape->name)) ||
				span_equal(type, code_of(service, shape))))
			return shape;
	}
	return NULL;
}

struct span query_error_code(const struct shape_service *service, struct span type)
{
	const struct shape *shape = query_find_error(service, type);
	const struct common_error *common = find_common(type);

	if (shape)
		return code_of(service, shape);
	return common ? span_of(common->code) : type;
}

struct span query_error_type(const struct shape_service *service, struct span code)
{
	const struct shape *shape = query_find_error(service, code);

	if (shape)
		return shape_text(service, shape->name);
	for (size_t i = 0; i < LENGTH(common_errors); i++) {
		if (span_is(code, common_errors[i].code))
			return span_of(common_errors[i].type);
	}
	return code;
}

int query_error_status(const struct shape_service *service, struct span type, int otherwise)
{
	const struct shape *shape = query_find_error(service, type);
	const struct common_error *common = find_common(type);

	if (shape && shape->status > 0)
		return shape->status;
	return common ? common->status : otherwise;
}
