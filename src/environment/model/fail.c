#include "environment/model/fail.h"

#include <stdarg.h>
#include <stdio.h>

#undef daemon_fail

int daemon_fail(struct aws_request *request, const char *type, const char *resource_type,
	struct span resource_id, const char *format, ...)
{
	struct json *extra = json_new_object(request->arena);
	char message[AWS_MESSAGE_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	json_set_string(request->arena, extra, "resourceType", span_of(resource_type));
	json_set_string(request->arena, extra, "resourceId", resource_id);
	(void)aws_fail(request, type, "%s", message);
	request->failure.extra = extra;
	return -EPERM;
}
