/* See state_folder.h. The file `origin` has two lines: the machine and the path. */
#include "server/state_folder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

#define IDENTIFIER_MAX 64
#define ORIGIN_MAX (IDENTIFIER_MAX + PATH_MAX + 2)

struct state_folder {
	int lock;
	char *path; /* absolute, without symbolic links */
	char *id;
	char *machine;
	char *origin_path; /* NULL: it belongs to none yet */
	char *origin;      /* for people */
	bool is_copy, is_of_this_machine;
};

/* One line of a file of the system; empty where there is none, as in many containers. */
static char *read_identifier(const char *path)
{
	_buffer_ struct buffer text = {0};

	if (file_read(path, IDENTIFIER_MAX, &text, NULL) < 0 || text.length == 0)
		return memory_copy_string("");
	return memory_copy_string_n(text.data, strcspn(text.data, "\n"));
}

/* The number that the kernel chose at boot distinguishes machines, device and inode the folders of one. */
static int identify(struct state_folder *folder, const char *path, struct err *err)
{
	_free_ char *boot = read_identifier("/proc/sys/kernel/random/boot_id");
	struct stat status;

	folder->path = realpath(path, NULL);
	if (!folder->path || stat(folder->path, &status) < 0)
		return err_errno(err, "state folder '%s'", path);
	folder->machine = read_identifier("/etc/machine-id");
	folder->id = memory_format("%s-%llx-%llx", boot, (unsigned long long)status.st_dev,
		(unsigned long long)status.st_ino);
	return 0;
}

static char *origin_file(const struct state_folder *folder)
{
	return memory_format("%s/origin", folder->path);
}

static int read_origin(struct state_folder *folder, struct err *err)
{
	_free_ char *file = origin_file(folder);
	_buffer_ struct buffer text = {0};
	struct span machine, path;
	int code = file_read(file, ORIGIN_MAX, &text, err);

	if (code == -ENOENT)
		return 0;
	if (code < 0)
		return code;
	if (!span_split(buffer_span(&text), '\n', &machine, &path) || path.length < 2)
		return err_set(err, -EINVAL, "'%s' does not have a machine and a path", file);
	path.length--; /* the end of the line */
	folder->is_of_this_machine = span_is(machine, folder->machine);
	folder->is_copy = !folder->is_of_this_machine || !span_is(path, folder->path);
	folder->origin_path = memory_copy_string_n(path.data, path.length);
	folder->origin = memory_format("'%s' on %s machine", folder->origin_path,
		folder->is_of_this_machine ? "this" : "another");
	return 0;
}

int state_folder_open(const char *path, struct state_folder **ret_folder, struct err *err)
{
	struct state_folder *folder;
	_free_ char *lock = memory_format("%s/lock", path);
	int code = file_make_folder(path, 0700, err);

	if (code < 0)
		return err_prefix(err, code, "state folder");
	folder = memory_allocate(sizeof(*folder));
	folder->lock = -1;
	code = file_lock(lock, &folder->lock, err);
	if (code == -EBUSY)
		code = err_set(err, code,
			"state folder '%s' is in use by another process; if that is another "
			"slipway, end it, or start this one with its own folder: --state DIR "
			"(state)",
			path);
	if (code == 0)
		code = identify(folder, path, err);
	if (code == 0)
		code = read_origin(folder, err);
	if (code < 0) {
		state_folder_close(folder);
		return code;
	}
	*ret_folder = folder;
	return 0;
}

void state_folder_close(struct state_folder *folder)
{
	if (!folder)
		return;
	memory_close_descriptor(&folder->lock);
	free(folder->path);
	free(folder->id);
	free(folder->machine);
	free(folder->origin_path);
	free(folder->origin);
	free(folder);
}

const char *state_folder_id(const struct state_folder *folder)
{
	return folder->id;
}

bool state_folder_is_copy(const struct state_folder *folder)
{
	return folder->is_copy;
}

const char *state_folder_origin(const struct state_folder *folder)
{
	return folder->origin;
}

bool state_folder_origin_is_used(const struct state_folder *folder)
{
	_free_ char *lock = NULL;
	_close_ int descriptor = -1;

	if (!folder->is_copy || !folder->is_of_this_machine)
		return false;
	lock = memory_format("%s/lock", folder->origin_path);
	return access(lock, F_OK) == 0 && file_lock(lock, &descriptor, NULL) == -EBUSY;
}

int state_folder_keep(struct state_folder *folder, struct err *err)
{
	_free_ char *file = origin_file(folder);
	_free_ char *text = memory_format("%s\n%s\n", folder->machine, folder->path);

	if (folder->origin_path && !folder->is_copy)
		return 0;
	folder->is_copy = false;
	return file_replace(file, span_of(text), 0600, err);
}
