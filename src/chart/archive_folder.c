/* Charts in folders. Links are followed, as Helm does: the folder is the user's own. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "chart/archive_list.h"
#include "chart/ignore.h"

#define IGNORE_BYTES_MAX (1024 * 1024)

struct walk {
	struct arena *arena;
	struct archive_list *list;
	struct ignore_rules *rules;
	struct err *err;
};

static int walk_folder(struct walk *walk, const char *path, struct span prefix, unsigned depth);

static int without_dots(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_file(struct walk *walk, const char *path, struct span relative)
{
	_buffer_ struct buffer data = {0};
	int code;

	code = file_read(path, ARCHIVE_FILE_BYTES_MAX, &data, walk->err);
	if (code < 0)
		return code;
	return archive_list_add(walk->list, relative, buffer_span(&data), walk->err);
}

static int walk_entry(struct walk *walk, const char *folder, struct span prefix, const char *name,
	unsigned depth)
{
	struct span path = arena_format(walk->arena, "%s/%s", folder, name);
	struct span relative = arena_format(walk->arena, "%.*s%s%s", SPAN_ARGS(prefix),
		prefix.length > 0 ? "/" : "", name);
	struct stat status;

	if (stat(path.data, &status) < 0)
		return err_errno(walk->err, "%s", path.data);
	if (ignore_matches(walk->rules, relative, S_ISDIR(status.st_mode)))
		return 0;
	if (S_ISDIR(status.st_mode))
		return walk_folder(walk, path.data, relative, depth + 1);
	if (!S_ISREG(status.st_mode))
		return err_set(walk->err, -EINVAL,
			"cannot load irregular file %s; charts contain files and folders only",
			path.data);
	return add_file(walk, path.data, relative);
}

static int walk_folder(struct walk *walk, const char *path, struct span prefix, unsigned depth)
{
	struct dirent **entries = NULL;
	int count, code = 0;

	if (depth > ARCHIVE_FOLDER_DEPTH_MAX)
		return err_set(walk->err, -E2BIG, "%s: folders nested too deeply (limit %d)", path,
			ARCHIVE_FOLDER_DEPTH_MAX);
	count = scandir(path, &entries, without_dots, by_name);
	if (count < 0)
		return err_errno(walk->err, "read folder %s", path);
	for (int i = 0; i < count; i++) {
		if (code == 0)
			code = walk_entry(walk, path, prefix, entries[i]->d_name, depth);
		free(entries[i]);
	}
	free(entries);
	return code;
}

static int read_rules(struct walk *walk, const char *folder)
{
	struct span path = arena_format(walk->arena, "%s/.helmignore", folder);
	_buffer_ struct buffer text = {0};
	int code;

	if (access(path.data, F_OK) == 0) {
		code = file_read(path.data, IGNORE_BYTES_MAX, &text, walk->err);
		if (code < 0)
			return code;
	}
	code = ignore_parse(arena_copy_span(walk->arena, buffer_span(&text)), walk->arena,
		&walk->rules, walk->err);
	return code < 0 ? err_prefix(walk->err, code, "%s", path.data) : 0;
}

static int archive_read_folder(const char *path, struct arena *arena,
	struct chart_file_list *ret_files, struct err *err)
{
	_archive_list_ struct archive_list list = {.arena = arena};
	struct walk walk = {.arena = arena, .list = &list, .err = err};
	int code;

	code = read_rules(&walk, path);
	if (code < 0)
		return code;
	code = walk_folder(&walk, path, SPAN(""), 0);
	if (code < 0)
		return code;
	*ret_files = archive_list_end(&list);
	return 0;
}

int archive_load(const char *path, struct arena *arena, struct chart_file_list *ret_files,
	struct err *err)
{
	_buffer_ struct buffer bytes = {0};
	struct stat status;
	int code;

	if (stat(path, &status) < 0)
		return err_errno(err, "open chart %s", path);
	if (S_ISDIR(status.st_mode))
		return archive_read_folder(path, arena, ret_files, err);
	code = file_read(path, ARCHIVE_BYTES_MAX, &bytes, err);
	if (code < 0)
		return code;
	return archive_read_tgz(buffer_span(&bytes), arena, ret_files, err);
}
