/* Folders of tasks: files, and folders of volumes with whatever programs left in them. */
#include "runtime/task/folder.h"

#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"

#define DESCRIPTORS 16

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)where;
	if ((kind == FTW_DP ? rmdir(path) : unlink(path)) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

int folder_remove(const char *path, struct err *err)
{
	/* Never through symbolic links, nor into what is mounted there. */
	int code = nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);

	if (code == -1)
		code = -errno;
	if (code < 0 && code != -ENOENT)
		return err_system(err, -code, "remove folder '%s'", path);
	return 0;
}
