/* Whole-file reads and crash-safe replacement: after a crash there is the old text or the new one. */
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

#define READ_STEP ((size_t)64 * 1024)

int file_read(const char *path, size_t max, struct buffer *out, struct err *err)
{
	_close_ int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	size_t before = out->length;

	if (descriptor < 0)
		return err_errno(err, "open '%s'", path);
	for (;;) {
		size_t left = max - (out->length - before);
		/* One byte beyond the limit shows that the file is too large. */
		size_t want = left < READ_STEP ? left + 1 : READ_STEP;
		char *end = buffer_reserve(out, want);
		ssize_t got;
		int code;

		/* A cap of the buffer's own ends the read like max does. */
		got = end ? read(descriptor, end, want) : 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got > 0 && (size_t)got <= left) {
			out->length += (size_t)got;
			out->data[out->length] = '\0';
			continue;
		}
		if (got == 0 && end)
			return 0;
		if (got < 0)
			code = err_errno(err, "read '%s'", path);
		else
			code = err_set(err, -EFBIG, "read '%s': larger than %zu bytes", path, max);
		out->length = before;
		if (out->data)
			out->data[before] = '\0';
		return code;
	}
}

static int write_all(int descriptor, struct span text)
{
	while (text.length > 0) {
		ssize_t written = write(descriptor, text.data, text.length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		text.data += written;
		text.length -= (size_t)written;
	}
	return 0;
}

/* The folder a path is in: "a" gives ".", "/a" gives "/". The caller frees. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return memory_copy_string(".");
	return memory_copy_string_n(path, slash == path ? 1 : (size_t)(slash - path));
}

static int sync_folder(const char *path, struct err *err)
{
	_free_ char *folder = folder_of(path);
	_close_ int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (descriptor < 0)
		return err_errno(err, "open folder '%s'", folder);
	if (fsync(descriptor) < 0)
		return err_errno(err, "sync folder '%s'", folder);
	return 0;
}

static int write_temporary(int descriptor, const char *path, struct span text, mode_t mode,
	struct err *err)
{
	int code = write_all(descriptor, text);

	if (code < 0)
		return err_system(err, -code, "write '%s'", path);
	if (fchmod(descriptor, mode) < 0)
		return err_errno(err, "set the mode of '%s'", path);
	if (fsync(descriptor) < 0)
		return err_errno(err, "sync '%s'", path);
	return 0;
}

int file_replace(const char *path, struct span text, mode_t mode, struct err *err)
{
	_free_ char *temporary = memory_format("%s.XXXXXX", path);
	_close_ int descriptor = mkostemp(temporary, O_CLOEXEC);
	int code;

	if (descriptor < 0)
		return err_errno(err, "create a file beside '%s'", path);
	code = write_temporary(descriptor, path, text, mode, err);
	if (code == 0 && rename(temporary, path) < 0)
		code = err_errno(err, "replace '%s'", path);
	if (code < 0) {
		unlink(temporary);
		return code;
	}
	return sync_folder(path, err);
}

static int make_one_folder(const char *path, mode_t mode, struct err *err)
{
	struct stat status;

	if (mkdir(path, mode) == 0)
		return 0;
	if (errno != EEXIST)
		return err_errno(err, "make folder '%s'", path);
	if (stat(path, &status) < 0)
		return err_errno(err, "make folder '%s'", path);
	if (!S_ISDIR(status.st_mode))
		return err_system(err, ENOTDIR, "make folder '%s'", path);
	return 0;
}

int file_make_folder(const char *path, mode_t mode, struct err *err)
{
	_free_ char *part = memory_copy_string(path);

	for (char *slash = strchr(part + (part[0] == '/'), '/'); slash;
		slash = strchr(slash + 1, '/')) {
		int code;

		*slash = '\0';
		code = make_one_folder(part, mode, err);
		if (code < 0)
			return code;
		*slash = '/';
	}
	return make_one_folder(path, mode, err);
}

int file_lock(const char *path, int *ret_descriptor, struct err *err)
{
	_close_ int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (descriptor < 0)
		return err_errno(err, "open lock file '%s'", path);
	if (flock(descriptor, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return err_set(err, -EBUSY, "'%s' is locked by another process", path);
		return err_errno(err, "lock '%s'", path);
	}
	*ret_descriptor = TAKE_FD(descriptor);
	return 0;
}
