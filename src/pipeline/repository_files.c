/* The contents of repositories; see repository.h. */
#include "base/memory.h"
#include "pipeline/repository_command.h"

int repository_list(const struct repository *repository, struct span commit, struct span folder,
	struct arena *arena, struct field_list *ret_files, struct err *err)
{
	struct repository_command command = {COMMAND("ls-tree", "-r", "-z", "--full-tree",
		"--end-of-options", arena_format(arena, "%.*s", SPAN_ARGS(commit)).data)};
	struct span output;
	int code = repository_check_commit(commit, err);

	if (folder.length > 0)
		repository_add_argument(&command, arena, "%.*s/", SPAN_ARGS(folder));
	if (code >= 0)
		code = repository_command_run(repository, &command, arena, &output, err);
	return code < 0 ? code : git_read_tree(output, arena, ret_files, err);
}

/* IDs of the objects of those files, one a line. */
static int find_files(const struct repository *repository, struct span commit,
	const struct span *paths, size_t count, struct arena *arena, struct buffer *ids,
	struct err *err)
{
	struct repository_command command = {COMMAND("ls-tree", "-r", "-z", "--full-tree",
		"--end-of-options", arena_format(arena, "%.*s", SPAN_ARGS(commit)).data)};
	struct field_list list;
	const struct git_file *files;
	struct span output;
	int code;

	for (size_t i = 0; i < count; i++)
		repository_add_argument(&command, arena, "%.*s", SPAN_ARGS(paths[i]));
	code = repository_command_run(repository, &command, arena, &output, err);
	if (code >= 0)
		code = git_read_tree(output, arena, &list, err);
	if (code < 0)
		return code;
	files = list.items;
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;

		while (k < list.count && !span_equal(files[k].path, paths[i]))
			k++;
		if (k == list.count)
			return err_set(err, -ENOENT, "file \"%.*s\" is not in commit %.*s",
				SPAN_ARGS(paths[i]), SPAN_ARGS(commit));
		if (files[k].kind != GIT_FILE)
			return err_set(err, -EINVAL, "\"%.*s\" is a %s, which is not followed",
				SPAN_ARGS(paths[i]),
				files[k].kind == GIT_LINK ? "symbolic link" : "submodule");
		buffer_format(ids, "%.*s\n", SPAN_ARGS(files[k].id));
	}
	return 0;
}

static int check_sizes(const struct repository *repository, struct span ids,
	const struct span *paths, size_t count, struct arena *arena, struct err *err)
{
	struct repository_command command = {
		COMMAND("cat-file", "--batch-check"), .input = ids, .network = ONLINE};
	const struct git_object *objects;
	struct field_list list;
	struct span output;
	int code = repository_command_run(repository, &command, arena, &output, err);

	if (code >= 0)
		code = git_read_objects(output, arena, &list, err);
	if (code < 0)
		return code;
	objects = list.items;
	if (list.count != count)
		return err_set(err, -EINVAL,
			"git cat-file: unexpected output: %zu objects, not %zu", list.count, count);
	for (size_t i = 0; i < count; i++) {
		if (objects[i].type.length > 0 && objects[i].size > GIT_FILE_MAX)
			return err_set(err, -EFBIG, "file \"%.*s\" has %llu bytes, more than %d",
				SPAN_ARGS(paths[i]), (unsigned long long)objects[i].size,
				GIT_FILE_MAX);
	}
	return 0;
}

int repository_read(const struct repository *repository, struct span commit,
	const struct span *paths, size_t count, struct arena *arena, struct span *ret_contents,
	struct err *err)
{
	_buffer_ struct buffer ids = {0};
	struct repository_command command = {COMMAND("cat-file", "--batch"), .network = ONLINE};
	struct span contents[REPOSITORY_READ_MAX], output;
	int code = repository_check_commit(commit, err);

	if (count > REPOSITORY_READ_MAX)
		return err_set(err, -E2BIG, "more than %d files at once", REPOSITORY_READ_MAX);
	if (count == 0)
		return 0;
	if (code >= 0)
		code = find_files(repository, commit, paths, count, arena, &ids, err);
	if (code >= 0)
		code = check_sizes(repository, buffer_span(&ids), paths, count, arena, err);
	command.input = buffer_span(&ids);
	if (code >= 0)
		code = repository_command_run(repository, &command, arena, &output, err);
	if (code >= 0)
		code = git_read_contents(output, "blob", contents, count, err);
	if (code >= 0)
		memcpy(ret_contents, contents, count * sizeof(*contents));
	return code < 0 ? code : 0;
}

/* ---- many files ---- */

/* Contents are text. */
static bool is_text(struct span content, struct arena *arena)
{
	return !memchr(content.data, '\0', content.length) &&
	       span_equal(git_clean_text(content, arena), content);
}

static const struct git_file *find_path(const struct field_list *list, struct span path)
{
	const struct git_file *files = list->items;

	for (size_t i = 0; i < list->count; i++) {
		if (span_equal(files[i].path, path))
			return &files[i];
	}
	return NULL;
}

/* IDs of the files that are there, with their places in the chunk; the others get their problems. */
static size_t take_ids(const struct field_list *list, const struct span *paths, size_t count,
	struct arena *arena, struct repository_file *files, struct buffer *ids, size_t *places)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		const struct git_file *file = find_path(list, paths[i]);

		files[i] = (struct repository_file){SPAN_NONE, SPAN_NONE};
		if (!file)
			files[i].problem = arena_format(arena, "%.*s: the file does not exist",
				SPAN_ARGS(paths[i]));
		else if (file->kind != GIT_FILE)
			files[i].problem = arena_format(arena, "%.*s: a %s, which is not followed",
				SPAN_ARGS(paths[i]),
				file->kind == GIT_LINK ? "symbolic link" : "submodule");
		if (files[i].problem.data)
			continue;
		buffer_format(ids, "%.*s\n", SPAN_ARGS(file->id));
		places[found++] = i;
	}
	return found;
}

/* Without the objects that are too large. */
static int drop_large(const struct repository *repository, const struct span *paths,
	struct arena *arena, struct repository_file *files, struct buffer *ids, size_t *places,
	size_t *count, struct err *err)
{
	struct repository_command command = {
		COMMAND("cat-file", "--batch-check"), .input = buffer_span(ids), .network = ONLINE};
	const struct git_object *objects;
	struct field_list list;
	struct span output;
	size_t kept = 0;
	int code = repository_command_run(repository, &command, arena, &output, err);

	if (code >= 0)
		code = git_read_objects(output, arena, &list, err);
	if (code < 0)
		return code;
	if (list.count != *count)
		return err_set(err, -EINVAL,
			"git cat-file: unexpected output: %zu objects, not %zu", list.count,
			*count);
	objects = list.items;
	ids->length = 0;
	for (size_t i = 0; i < list.count; i++) {
		if (objects[i].type.length > 0 && objects[i].size > GIT_FILE_MAX) {
			files[places[i]].problem = arena_format(arena,
				"%.*s: has %llu bytes, more than %d", SPAN_ARGS(paths[places[i]]),
				(unsigned long long)objects[i].size, GIT_FILE_MAX);
			continue;
		}
		buffer_format(ids, "%.*s\n", SPAN_ARGS(objects[i].id));
		places[kept++] = places[i];
	}
	*count = kept;
	return 0;
}

static int read_chunk(const struct repository *repository, struct span commit,
	const struct span *paths, size_t count, struct arena *arena, struct repository_file *files,
	struct err *err)
{
	struct repository_command find = {COMMAND("ls-tree", "-r", "-z", "--full-tree",
					  "--end-of-options",
					  arena_format(arena, "%.*s", SPAN_ARGS(commit)).data)},
				  read = {COMMAND("cat-file", "--batch"), .network = ONLINE};
	struct span contents[REPOSITORY_READ_MAX], output;
	size_t places[REPOSITORY_READ_MAX], found;
	_buffer_ struct buffer ids = {0};
	struct field_list list;
	int code;

	for (size_t i = 0; i < count; i++)
		repository_add_argument(&find, arena, "%.*s", SPAN_ARGS(paths[i]));
	code = repository_command_run(repository, &find, arena, &output, err);
	if (code >= 0)
		code = git_read_tree(output, arena, &list, err);
	if (code < 0)
		return code;
	found = take_ids(&list, paths, count, arena, files, &ids, places);
	if (found > 0)
		code = drop_large(repository, paths, arena, files, &ids, places, &found, err);
	if (code < 0 || found == 0)
		return code < 0 ? code : 0;
	read.input = buffer_span(&ids);
	code = repository_command_run(repository, &read, arena, &output, err);
	if (code >= 0)
		code = git_read_contents(output, "blob", contents, found, err);
	for (size_t i = 0; code >= 0 && i < found; i++) {
		struct repository_file *file = &files[places[i]];

		if (is_text(contents[i], arena))
			file->content = contents[i];
		else
			file->problem = arena_format(arena, "%.*s: is not text in UTF-8",
				SPAN_ARGS(paths[places[i]]));
	}
	return code < 0 ? code : 0;
}

int repository_read_each(const struct repository *repository, struct span commit,
	const struct span *paths, size_t count, struct arena *arena,
	struct repository_file *ret_files, struct err *err)
{
	int code = repository_check_commit(commit, err);

	for (size_t done = 0; code >= 0 && done < count; done += REPOSITORY_READ_MAX) {
		size_t left = count - done;

		code = read_chunk(repository, commit, paths + done,
			left < REPOSITORY_READ_MAX ? left : REPOSITORY_READ_MAX, arena,
			ret_files + done, err);
	}
	return code < 0 ? code : 0;
}
