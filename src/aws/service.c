/* Failures of handlers. The first failure of a run is the answer. */
#include "aws/service.h"

/* The functions behind the macros of the same names. */
#undef aws_fail
#undef aws_fail_store
#undef aws_fail_input

#include <stdarg.h>

const struct aws_spelling *aws_spelling_of(const struct aws_request *request)
{
	static const struct aws_spelling camel_case = {.tags = "tags",
		.tag_key = "key",
		.tag_value = "value",
		.page_size = "maxResults",
		.page_token = "nextToken"};

	return request->service->spelling ? request->service->spelling : &camel_case;
}

/* Not in the middle of a character. */
static struct span shortened(struct span message)
{
	if (message.length <= AWS_MESSAGE_MAX)
		return message;
	message.length = AWS_MESSAGE_MAX;
	while (message.length > 0 && ((unsigned char)message.data[message.length] & 0xc0) == 0x80)
		message.length--;
	return message;
}

static void set_failure(struct aws_request *request, const char *type, int status,
	const char *format, va_list list)
{
	request->failure = (struct aws_failure){
		.type = type,
		.status = status,
		.message = shortened(arena_format_list(request->arena, format, list)),
	};
}

int aws_fail(struct aws_request *request, const char *type, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	set_failure(request, type, strcmp(type, "ServerException") == 0 ? 500 : 400, format, list);
	va_end(list);
	return -EPERM;
}

int aws_fail_store(struct aws_request *request)
{
	/* A document that is too large is the client's error: clients would repeat a 500 for
	 * ever. */
	if (request->err.code == -E2BIG)
		return aws_fail_input(request, "%s", request->err.message);
	aws_fail(request, "ServerException",
		"%s. Nothing was changed; try again, and look at slipway's log if it stays so.",
		request->err.code < 0 ? request->err.message : "The store refused the change");
	request->failure.transient = true;
	return -EPERM;
}

int aws_fail_input(struct aws_request *request, const char *format, ...)
{
	const char *type = request->service->invalid_input;
	va_list list;

	va_start(list, format);
	set_failure(request, type ? type : "InvalidParameterException", 400, format, list);
	va_end(list);
	return -EPERM;
}
