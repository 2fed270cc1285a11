/* See the header. */
#include "aws/credentials.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"

/* Without space and ends of lines around it. */
static struct span trim(struct span text)
{
	while (text.length > 0 && strchr(" \t\r\n", text.data[text.length - 1]))
		text.length--;
	while (text.length > 0 && strchr(" \t\r\n", text.data[0])) {
		text.data++;
		text.length--;
	}
	return text;
}

/* A key, a secret or a token: visible characters of ASCII only, since they become parts of headers. */
static int check_text(struct span text, const char *what, struct err *err)
{
	if (text.length == 0)
		return err_set(err, -EINVAL, "%s is empty", what);
	if (text.length > AWS_CREDENTIALS_TEXT_MAX)
		return err_set(err, -EINVAL, "%s is longer than %d characters", what,
			AWS_CREDENTIALS_TEXT_MAX);
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~')
			return err_set(err, -EINVAL,
				"%s has characters that none has; is there more than one line?",
				what);
	return 0;
}

/* The memory of a secret that is not needed any more. */
static void wipe(struct buffer *text)
{
	if (text->data)
		explicit_bzero(text->data, text->length);
}

/* ---- a file or a variable ---- */

static int read_secret_file(const char *path, struct arena *arena, struct span *ret_secret,
	struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code = file_read(path, AWS_CREDENTIALS_TEXT_MAX + 2, &text, err);

	if (code == 0)
		code = check_text(trim(buffer_span(&text)), "the secret", err);
	if (code == 0)
		*ret_secret = arena_copy_span(arena, trim(buffer_span(&text)));
	else
		err_prefix(err, code, "secretFile '%s'", path);
	wipe(&text);
	return code;
}

static int read_secret_variable(const char *name, struct arena *arena, struct span *ret_secret,
	struct err *err)
{
	const char *value = getenv(name);
	int code;

	if (!value)
		return err_set(err, -ENOENT,
			"secretVariable '%s': there is no such environment variable", name);
	code = check_text(trim(span_of(value)), "the secret", err);
	if (code < 0)
		return err_prefix(err, code, "secretVariable '%s'", name);
	*ret_secret = arena_copy_span(arena, trim(span_of(value)));
	return 0;
}

int aws_key_source_read(const struct aws_key_source *source, struct arena *arena,
	struct sigv4_credentials *ret_credentials, struct err *err)
{
	struct span secret;
	int code;

	code = source->secret_file
		       ? read_secret_file(source->secret_file, arena, &secret, err)
		       : read_secret_variable(source->secret_variable, arena, &secret, err);
	if (code < 0)
		return code;
	*ret_credentials = (struct sigv4_credentials){
		.access_key = arena_copy_span(arena, span_of(source->access_key)),
		.secret = secret,
		.session_token = SPAN_NONE};
	return 0;
}
