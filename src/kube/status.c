/* Refusals: a Status object (or the text of a proxy in between) as a code and a message. */
#include <stdio.h>

#include "base/memory.h"
#include "kube/request.h"

#define EXCERPT_MAX 200

static const struct {
	int status;
	const char *reason; /* NULL: any other */
	int code;
} codes[] = {
	{400, NULL, -EINVAL},
	{401, NULL, -EACCES},
	{403, NULL, -EACCES},
	{404, NULL, -ENOENT},
	{405, NULL, -EOPNOTSUPP},
	{406, NULL, -EOPNOTSUPP},
	{408, NULL, -ETIMEDOUT},
	{409, "AlreadyExists", -EEXIST},
	{409, NULL, -EAGAIN},
	{410, NULL, -ESTALE},
	{413, NULL, -EFBIG},
	{415, NULL, -EOPNOTSUPP},
	{422, NULL, -EINVAL},
	{429, NULL, -EBUSY},
	{504, NULL, -ETIMEDOUT},
};

static int code_of(int status, struct span reason)
{
	for (size_t i = 0; i < LENGTH(codes); i++) {
		if (codes[i].status == status &&
			(!codes[i].reason || span_is(reason, codes[i].reason)))
			return codes[i].code;
	}
	return -EIO;
}

static void copy_word(struct span word, char *out, size_t size)
{
	snprintf(out, size, "%.*s", (int)word.length, word.data ? word.data : "");
}

static void fill_failure(const struct json *object, int status, struct kube_failure *ret_failure)
{
	const struct json *details = json_get(object, "details");
	const struct json *cause = json_item(json_get(details, "causes"), 0);
	int64_t seconds = json_get_integer(details, "retryAfterSeconds", 0);

	*ret_failure = (struct kube_failure){.status = status};
	copy_word(json_get_text(object, "reason"), ret_failure->reason,
		sizeof(ret_failure->reason));
	copy_word(json_get_text(cause, "reason"), ret_failure->cause, sizeof(ret_failure->cause));
	if (seconds > 0 && seconds <= KUBE_RETRY_AFTER_MAX_MS / 1000)
		ret_failure->retry_after_ms = seconds * 1000;
	else if (seconds > 0)
		ret_failure->retry_after_ms = KUBE_RETRY_AFTER_MAX_MS;
}

int kube_status_read_object(const struct json *object, const char *what,
	struct kube_failure *failure, struct err *err)
{
	int64_t status = json_get_integer(object, "code", 0);
	struct span message = json_get_text(object, "message");
	struct kube_failure own;

	if (status < 0 || status > 999)
		status = 0;
	if (!failure)
		failure = &own;
	fill_failure(object, (int)status, failure);
	if (message.length == 0)
		message = json_get_text(object, "reason");
	if (message.length == 0)
		return err_set(err, code_of((int)status, SPAN_NONE), "%s: refused (%d)", what,
			(int)status);
	return err_set(err, code_of((int)status, span_of(failure->reason)), "%s: %.*s", what,
		SPAN_ARGS(message));
}

/* Not a Status: its beginning in one line. */
static int read_text(int status, struct span body, const char *what, struct kube_failure *failure,
	struct err *err)
{
	char excerpt[EXCERPT_MAX + 1];
	size_t length = body.length < EXCERPT_MAX ? body.length : EXCERPT_MAX;

	for (size_t i = 0; i < length; i++)
		excerpt[i] = body.data[i] >= 0x20 && body.data[i] < 0x7f ? body.data[i] : ' ';
	while (length > 0 && excerpt[length - 1] == ' ')
		length--;
	excerpt[length] = '\0';
	if (failure)
		*failure = (struct kube_failure){.status = status};
	return err_set(err, code_of(status, SPAN_NONE), "%s: HTTP %d%s%s", what, status,
		length > 0 ? ": " : "", excerpt);
}

int kube_status_read(int status, struct span body, int64_t retry_after_s, const char *what,
	struct kube_failure *failure, struct err *err)
{
	_arena_ struct arena *arena = arena_new(KUBE_REFUSAL_MAX * 32);
	struct json *object = NULL;
	int code;

	if (json_parse(body, arena, &object, NULL) == 0 &&
		span_is(json_get_text(object, "kind"), "Status")) {
		/* The HTTP status wins: proxies and this client act on it. */
		if (json_get_integer(object, "code", 0) != status) {
			object = json_copy_object(arena, object);
			json_set_integer(arena, object, "code", status);
		}
		code = kube_status_read_object(object, what, failure, err);
	} else {
		code = read_text(status, body, what, failure, err);
	}
	if (failure && retry_after_s > 0)
		failure->retry_after_ms = retry_after_s * 1000 < KUBE_RETRY_AFTER_MAX_MS
						  ? retry_after_s * 1000
						  : KUBE_RETRY_AFTER_MAX_MS;
	return code;
}
