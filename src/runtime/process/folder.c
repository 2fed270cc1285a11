/* Folders of tasks: flat, so that removing one is a loop. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process/process_internal.h"

static int remove_files(const char *path, struct err *err)
{
	DIR *listing = opendir(path);
	int r = 0;

	if (!listing)
		return err_errno(err, "open folder '%s'", path);
	for (struct dirent *entry; r == 0 && (entry = readdir(listing));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(listing), entry->d_name, 0) < 0 && errno != ENOENT)
			r = err_errno(err, "remove '%s/%s'", path, entry->d_name);
	}
	closedir(listing);
	return r;
}

int process_remove_folder(const char *path, struct err *err)
{
	int r = remove_files(path, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (rmdir(path) < 0 && errno != ENOENT)
		return err_errno(err, "remove folder '%s'", path);
	return 0;
}
