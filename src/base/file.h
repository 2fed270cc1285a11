/* Small files that must be right: whole reads with a cap, and replacement that survives a crash. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <sys/types.h>

#include "base/buffer.h"
#include "base/err.h"

/* -ENOENT and the like with err filled; -EFBIG beyond max. */
int file_read(const char *path, size_t max, struct buffer *out, struct err *err);
/* Writes a temporary file beside it, fsyncs, renames, fsyncs the folder. */
int file_replace(const char *path, struct span text, mode_t mode, struct err *err);
/* mkdir -p for the last component's parents too; existing is fine. */
int file_make_folder(const char *path, mode_t mode, struct err *err);
/* An advisory lock held until the descriptor closes; -EBUSY if another process has it. */
int file_lock(const char *path, int *ret_descriptor, struct err *err);

#endif
