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

/* ---- a profile ---- */

static int find_profile_file(const struct aws_key_source *source, struct arena *arena,
	const char **ret_path, struct err *err)
{
	const char *named = getenv("AWS_SHARED_CREDENTIALS_FILE"), *home = getenv("HOME");

	if (source->profile_file)
		*ret_path = source->profile_file;
	else if (named && named[0])
		*ret_path = named;
	else if (home && home[0] == '/')
		*ret_path = arena_format(arena, "%s/.aws/credentials", home).data;
	else
		return err_set(err, -EINVAL, "profile '%s': there is no $HOME; give profileFile",
			source->profile);
	return 0;
}

/* "[NAME]" or "[profile NAME]" */
static bool is_head_of(struct span line, const char *profile)
{
	struct span name, word, rest;

	if (line.length < 2 || line.data[0] != '[' || line.data[line.length - 1] != ']')
		return false;
	name = trim((struct span){line.data + 1, line.length - 2});
	if (span_split(name, ' ', &word, &rest) && span_is(word, "profile"))
		name = trim(rest);
	return span_is(name, profile);
}

static bool next_line(struct span *text, struct span *ret_line)
{
	if (text->length == 0)
		return false;
	if (!span_split(*text, '\n', ret_line, text)) {
		*ret_line = *text;
		*text = SPAN("");
	}
	*ret_line = trim(*ret_line);
	return true;
}

/* The values in the section of the profile; false if there is no such section. */
static bool read_section(struct span text, const char *profile, struct arena *arena,
	struct sigv4_credentials *ret_found)
{
	struct {
		const char *name;
		struct span *value;
	} known[] = {
		{"aws_access_key_id", &ret_found->access_key},
		{"aws_secret_access_key", &ret_found->secret},
		{"aws_session_token", &ret_found->session_token},
	};
	bool inside = false, found = false;
	struct span line, name, value;

	while (next_line(&text, &line)) {
		if (line.length == 0 || line.data[0] == '#' || line.data[0] == ';')
			continue;
		if (line.data[0] == '[') {
			inside = is_head_of(line, profile);
			found |= inside;
			continue;
		}
		if (!inside || !span_split(line, '=', &name, &value))
			continue;
		for (size_t i = 0; i < LENGTH(known); i++)
			if (span_is(trim(name), known[i].name))
				*known[i].value = arena_copy_span(arena, trim(value));
	}
	return found;
}

static int check_profile(const struct sigv4_credentials *found, struct err *err)
{
	int code = check_text(found->access_key, "aws_access_key_id", err);

	if (code == 0)
		code = check_text(found->secret, "aws_secret_access_key", err);
	if (code == 0 && found->session_token.data)
		code = check_text(found->session_token, "aws_session_token", err);
	return code;
}

static int read_profile(const struct aws_key_source *source, struct arena *arena,
	struct sigv4_credentials *ret_credentials, struct err *err)
{
	struct sigv4_credentials found = {
		.access_key = SPAN(""), .secret = SPAN(""), .session_token = SPAN_NONE};
	_buffer_ struct buffer text = {0};
	const char *path;
	int code = find_profile_file(source, arena, &path, err);

	if (code < 0)
		return code;
	code = file_read(path, AWS_CREDENTIALS_FILE_MAX, &text, err);
	if (code == 0 && !read_section(buffer_span(&text), source->profile, arena, &found))
		code = err_set(err, -ENOENT, "there is no section [%s] in '%s'", source->profile,
			path);
	else if (code == 0 && check_profile(&found, err) < 0)
		code = err_prefix(err, -EINVAL, "'%s'", path);
	wipe(&text);
	if (code < 0)
		return err_prefix(err, code, "profile '%s'", source->profile);
	*ret_credentials = found;
	return 0;
}

int aws_key_source_read(const struct aws_key_source *source, struct arena *arena,
	struct sigv4_credentials *ret_credentials, struct err *err)
{
	struct span secret;
	int code;

	if (source->profile)
		return read_profile(source, arena, ret_credentials, err);
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
