/* See the header. */
#include "pipeline/git_output.h"

#include "base/memory.h"
#include "chart/text.h"

#define SHA1_LENGTH 40
#define SHA256_LENGTH 64
#define MODE_LENGTH 6
#define SECOND_MS 1000
#define TIME_MAX_S INT64_C(253402300799) /* the year 9999 */

static int fail(struct err *err, const char *command, const char *reason)
{
	return err_set(err, -EINVAL, "git %s: unexpected output: %s", command, reason);
}

/* Takes what is before the separator off the text; false if there is none. */
static bool take(struct span *text, char separator, struct span *ret_part)
{
	return span_split(*text, separator, ret_part, text);
}

bool git_is_id(struct span text)
{
	if (text.length != SHA1_LENGTH && text.length != SHA256_LENGTH)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		if (!(text.data[i] >= '0' && text.data[i] <= '9') &&
			!(text.data[i] >= 'a' && text.data[i] <= 'f'))
			return false;
	}
	return true;
}

struct span git_clean_text(struct span text, struct arena *arena)
{
	_buffer_ struct buffer out = {0};
	size_t length;

	while (text.length > 0) {
		text_add(&out, text_decode(text, &length));
		text = (struct span){text.data + length, text.length - length};
	}
	return arena_copy_span(arena, buffer_span(&out));
}

int git_read_id(struct span output, struct span *ret_id, struct err *err)
{
	struct span id;

	if (!take(&output, '\n', &id) || output.length > 0 || !git_is_id(id))
		return fail(err, "rev-parse", "no ID of an object");
	*ret_id = id;
	return 0;
}

/* ---- trees and branches ---- */

static bool read_mode(struct span mode, enum git_file_kind *ret_kind)
{
	if (mode.length != MODE_LENGTH)
		return false;
	if (span_starts_with(mode, SPAN("100")))
		*ret_kind = GIT_FILE;
	else if (span_is(mode, "120000"))
		*ret_kind = GIT_LINK;
	else if (span_is(mode, "160000"))
		*ret_kind = GIT_MODULE;
	else
		return false;
	return true;
}

int git_read_tree(struct span output, struct arena *arena, struct field_list *ret_files,
	struct err *err)
{
	struct field_list files = {0};

	/* "MODE TYPE ID\tPATH" and a NUL. */
	while (output.length > 0) {
		struct git_file file = {0};
		struct span entry, mode, type;

		if (!take(&output, '\0', &entry) || !take(&entry, ' ', &mode) ||
			!take(&entry, ' ', &type) || !take(&entry, '\t', &file.id) ||
			entry.length == 0)
			return fail(err, "ls-tree", "no entry of a tree");
		if (!git_is_id(file.id) || !read_mode(mode, &file.kind))
			return fail(err, "ls-tree", "an entry without mode and ID");
		if (files.count == GIT_PATHS_MAX)
			return err_set(err, -E2BIG, "more than %d files", GIT_PATHS_MAX);
		file.path = entry;
		*(struct git_file *)fields_append(arena, &files, sizeof(file)) = file;
	}
	*ret_files = files;
	return 0;
}

int git_read_heads(struct span output, const struct span *branches, size_t count,
	struct span *ret_ids, struct err *err)
{
	for (size_t i = 0; i < count; i++)
		ret_ids[i] = SPAN("");
	/* "ID\tNAME" */
	while (output.length > 0) {
		struct span line, id;

		if (!take(&output, '\n', &line) || !take(&line, '\t', &id) || !git_is_id(id))
			return fail(err, "ls-remote", "no ID with a name");
		if (!span_starts_with(line, SPAN("refs/heads/")))
			continue;
		line.data += sizeof("refs/heads/") - 1;
		line.length -= sizeof("refs/heads/") - 1;
		for (size_t i = 0; i < count; i++) {
			if (span_equal(line, branches[i]))
				ret_ids[i] = id;
		}
	}
	return 0;
}

/* ---- objects ---- */

/* "ID TYPE SIZE", or "NAME missing". */
static bool read_object_line(struct span line, struct git_object *ret_object)
{
	struct span rest;

	if (span_ends_with(line, SPAN(" missing"))) {
		*ret_object = (struct git_object){
			.id = {line.data, line.length - (sizeof(" missing") - 1)},
			.type = SPAN("")};
		return true;
	}
	return span_split(line, ' ', &ret_object->id, &rest) && git_is_id(ret_object->id) &&
	       span_split(rest, ' ', &ret_object->type, &rest) && ret_object->type.length > 0 &&
	       span_to_unsigned(rest, INT64_MAX, &ret_object->size);
}

int git_read_objects(struct span output, struct arena *arena, struct field_list *ret_objects,
	struct err *err)
{
	struct field_list objects = {0};

	while (output.length > 0) {
		struct git_object object = {0};
		struct span line;

		if (!take(&output, '\n', &line) || !read_object_line(line, &object))
			return fail(err, "cat-file", "no object with type and size");
		if (objects.count == GIT_PATHS_MAX)
			return err_set(err, -E2BIG, "more than %d objects", GIT_PATHS_MAX);
		*(struct git_object *)fields_append(arena, &objects, sizeof(object)) = object;
	}
	*ret_objects = objects;
	return 0;
}

int git_read_contents(struct span output, const char *type, struct span *ret_contents, size_t count,
	struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		struct git_object object = {0};
		struct span line;

		if (!take(&output, '\n', &line) || !read_object_line(line, &object))
			return fail(err, "cat-file", "no object with type and size");
		if (object.type.length == 0)
			return err_set(err, -ENOENT, "the repository has no object %.*s",
				SPAN_ARGS(object.id));
		if (!span_is(object.type, type))
			return err_set(err, -EINVAL, "object %.*s is a %.*s and no %s",
				SPAN_ARGS(object.id), SPAN_ARGS(object.type), type);
		if (object.size >= output.length)
			return fail(err, "cat-file", "an object is cut");
		ret_contents[i] = (struct span){output.data, (size_t)object.size};
		if (output.data[object.size] != '\n')
			return fail(err, "cat-file", "an object is longer than its size");
		output.data += object.size + 1;
		output.length -= (size_t)object.size + 1;
	}
	if (output.length > 0)
		return fail(err, "cat-file", "more objects than requested");
	return 0;
}

/* ---- commits ---- */

/* "Name <mail> 1700000000 +0100": name and mail, and the time. */
static void read_person(struct span line, struct span *ret_person, int64_t *ret_time_ms)
{
	size_t end = line.length;
	struct span seconds, zone;
	uint64_t time = 0;

	while (end > 0 && line.data[end - 1] != '>')
		end--;
	*ret_person = (struct span){line.data, end};
	seconds = span_trim((struct span){line.data + end, line.length - end});
	if (span_split(seconds, ' ', &seconds, &zone) &&
		span_to_unsigned(seconds, (uint64_t)TIME_MAX_S, &time))
		*ret_time_ms = (int64_t)time * SECOND_MS;
}

int git_read_commit(struct span text, struct arena *arena, struct git_commit *commit,
	struct err *err)
{
	struct span line, name, author = SPAN(""), committer = SPAN("");

	if (!span_starts_with(text, SPAN("tree ")))
		return fail(err, "cat-file", "no commit");
	/* Headers, of which some continue on lines that begin with a space, an empty line, the message. */
	while (take(&text, '\n', &line) && line.length > 0) {
		struct span value;

		if (!span_split(line, ' ', &name, &value))
			continue;
		if (span_is(name, "author"))
			read_person(value, &author, &commit->time_ms);
		else if (span_is(name, "committer"))
			read_person(value, &committer, &commit->time_ms);
	}
	if (text.length > GIT_MESSAGE_MAX)
		text.length = GIT_MESSAGE_MAX;
	while (text.length > 0 && text.data[text.length - 1] == '\n')
		text.length--;
	commit->author = git_clean_text(author.length > 0 ? author : committer, arena);
	commit->message = git_clean_text(text, arena);
	return 0;
}

int git_read_history(struct span output, struct arena *arena, struct field_list *ret_commits,
	struct err *err)
{
	struct field_list commits = {0};

	/* "ID PARENT PARENT …" */
	while (output.length > 0) {
		struct git_commit commit = {.parent = SPAN("")};
		struct span line;

		if (!take(&output, '\n', &line) || !span_next_part(&line, ' ', &commit.id) ||
			!git_is_id(commit.id) ||
			(span_next_part(&line, ' ', &commit.parent) && !git_is_id(commit.parent)))
			return fail(err, "rev-list", "no commit with its parents");
		if (commits.count == GIT_COMMITS_MAX)
			return err_set(err, -E2BIG, "more than %d commits", GIT_COMMITS_MAX);
		*(struct git_commit *)fields_append(arena, &commits, sizeof(commit)) = commit;
	}
	*ret_commits = commits;
	return 0;
}

/* ---- changes ---- */

/* ":MODE MODE ID ID STATUS" and a NUL, "PATH" and a NUL. */
static int read_change(struct span *output, struct span *ret_path, struct err *err)
{
	struct span entry;

	if (!take(output, '\0', &entry) || !take(output, '\0', ret_path) || ret_path->length == 0)
		return fail(err, "diff-tree", "a change without a path");
	return 0;
}

static int add_change(struct span *output, struct arena *arena, struct field_list *paths,
	size_t *total, struct err *err)
{
	struct span path;
	int code = read_change(output, &path, err);

	if (code < 0)
		return code;
	if (++*total > GIT_PATHS_MAX)
		return err_set(err, -E2BIG, "more than %d changed files", GIT_PATHS_MAX);
	*(struct span *)fields_append(arena, paths, sizeof(path)) = path;
	return 0;
}

int git_read_changes(struct span output, struct arena *arena, struct field_list *ret_paths,
	struct err *err)
{
	struct field_list paths = {0};
	size_t total = 0;

	while (output.length > 0) {
		int code;

		if (output.data[0] != ':')
			return fail(err, "diff-tree", "no change");
		code = add_change(&output, arena, &paths, &total, err);
		if (code < 0)
			return code;
	}
	*ret_paths = paths;
	return 0;
}

int git_read_log(struct span output, struct arena *arena, struct git_commit *commits, size_t count,
	struct err *err)
{
	struct git_commit *commit = NULL;
	size_t next = 0, total = 0;

	for (size_t i = 0; i < count; i++)
		commits[i].paths = (struct field_list){0};
	while (output.length > 0) {
		struct span id;
		int code;

		if (output.data[0] == ':' && commit) {
			code = add_change(&output, arena, &commit->paths, &total, err);
			if (code < 0)
				return code;
			continue;
		}
		/* The ID of a commit; those without changes are left out. */
		if (!take(&output, '\0', &id) || !git_is_id(id))
			return fail(err, "diff-tree", "neither a commit nor a change");
		while (next < count && !span_equal(commits[next].id, id))
			next++;
		if (next == count)
			return fail(err, "diff-tree", "a commit that was not requested");
		commit = &commits[next];
	}
	return 0;
}
