/* See the header. */
#include "aws/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"

static const struct {
	const char *name;
	size_t offset;
} members[] = {
	{"aws_access_key_id", offsetof(struct aws_profile, access_key)},
	{"aws_secret_access_key", offsetof(struct aws_profile, secret)},
	{"aws_session_token", offsetof(struct aws_profile, session_token)},
	{"role_arn", offsetof(struct aws_profile, role)},
	{"source_profile", offsetof(struct aws_profile, source_profile)},
	{"credential_source", offsetof(struct aws_profile, credential_source)},
	{"external_id", offsetof(struct aws_profile, external_id)},
	{"role_session_name", offsetof(struct aws_profile, role_session)},
	{"credential_process", offsetof(struct aws_profile, process)},
	{"web_identity_token_file", offsetof(struct aws_profile, token_file)},
};

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

/* Members that are known from an earlier file stay. */
static void read_member(struct span line, struct arena *arena, struct aws_profile *profile)
{
	struct span name, value;

	if (!span_split(line, '=', &name, &value))
		return;
	for (size_t i = 0; i < LENGTH(members); i++) {
		struct span *member = (struct span *)(void *)((char *)profile + members[i].offset);

		if (!member->data && span_is(trim(name), members[i].name))
			*member = arena_copy_span(arena, trim(value));
	}
}

/* False if there is no such section. */
static bool read_section(struct span text, const char *name, struct arena *arena,
	struct aws_profile *profile)
{
	bool inside = false, found = false;
	struct span line;

	while (next_line(&text, &line)) {
		if (line.length == 0 || line.data[0] == '#' || line.data[0] == ';')
			continue;
		if (line.data[0] == '[') {
			inside = is_head_of(line, name);
			found |= inside;
		} else if (inside) {
			read_member(line, arena, profile);
		}
	}
	return found;
}

static int read_file(const char *path, const char *name, struct arena *arena,
	struct aws_profile *profile, struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code = file_read(path, AWS_PROFILE_FILE_MAX, &text, err);

	if (code == 0 && !read_section(buffer_span(&text), name, arena, profile))
		code = err_set(err, -ENOENT, "there is no section [%s] in '%s'", name, path);
	if (text.data)
		explicit_bzero(text.data, text.length);
	return code;
}

/* NULL: there is no home. */
static const char *default_file(const char *variable, const char *in_home, struct arena *arena)
{
	const char *named = getenv(variable), *home = getenv("HOME");

	if (named && named[0])
		return named;
	return home && home[0] == '/' ? arena_format(arena, "%s/.aws/%s", home, in_home).data
				      : NULL;
}

int aws_profile_read(const char *name, const char *file, struct arena *arena,
	struct aws_profile *ret_profile, struct err *err)
{
	const char *files[] = {
		file ? file : default_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", arena),
		file ? NULL : default_file("AWS_CONFIG_FILE", "config", arena)};
	struct aws_profile profile = {0};
	struct err first;
	int code = -ENOENT;

	err_set(&first, -ENOENT, "there is no $HOME; give profileFile");
	for (size_t i = 0; i < LENGTH(files); i++) {
		struct err reason;
		int read = files[i] ? read_file(files[i], name, arena, &profile, &reason) : -ENOENT;

		if (read == 0)
			code = 0;
		else if (read != -ENOENT)
			return err_set(err, read, "profile '%s': %s", name, reason.message);
		else if (files[i] && i == 0)
			first = reason;
	}
	if (code < 0)
		return err_set(err, code, "profile '%s': %s", name, first.message);
	*ret_profile = profile;
	return 0;
}
