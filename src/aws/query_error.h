/* Names and codes of errors: included by query*.c only. See query.h for which is which. */
#ifndef AWS_QUERY_ERROR_H
#define AWS_QUERY_ERROR_H

#include "aws/shape.h"

/* NULL when the model has no such error; service may be NULL. */
const struct shape *query_find_error(const struct shape_service *service, struct span type);
/* The wire's error code for an internal name, and the reverse; unknown ones stay as they are. */
struct span query_error_code(const struct shape_service *service, struct span type);
struct span query_error_type(const struct shape_service *service, struct span code);

#endif
