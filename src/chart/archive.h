/*
 * The files of a chart, from a folder or from a .tgz archive, as Helm's loader gives them: paths are
 * relative to the chart's folder, .helmignore is applied to folders, byte order marks are removed,
 * file modes are ignored.
 *
 * An archive is foreign input. Links, devices, absolute paths, paths that leave the chart's folder,
 * broken checksums and contents beyond the limits are refused.
 */
#ifndef CHART_ARCHIVE_H
#define CHART_ARCHIVE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/span.h"

#define ARCHIVE_BYTES_MAX (100 * 1024 * 1024)    /* of all files, as Helm */
#define ARCHIVE_FILE_BYTES_MAX (5 * 1024 * 1024) /* of one file, as Helm */
#define ARCHIVE_FILES_MAX 20000
#define ARCHIVE_PATH_MAX 4096
#define ARCHIVE_FOLDER_DEPTH_MAX 64
/* Inflated bytes for each compressed one, once there are more than ARCHIVE_RATIO_FREE of them. Charts
 * have less than 20. */
#define ARCHIVE_RATIO_MAX 200
#define ARCHIVE_RATIO_FREE (8 * 1024 * 1024)

struct chart_file {
	struct span path;
	struct span data;
};

struct chart_file_list {
	struct chart_file *files;
	size_t count;
};

/* A folder or an archive by its path. Everything lives in the arena. */
int archive_load(const char *path, struct arena *arena, struct chart_file_list *ret_files,
	struct err *err);
/* bytes: tar within gzip. */
int archive_read_tgz(struct span bytes, struct arena *arena, struct chart_file_list *ret_files,
	struct err *err);

/* An archive of these files in a folder (the name of the chart). The same files give the same bytes. */
int archive_write_tgz(const struct chart_file_list *files, struct span folder, struct buffer *out,
	struct err *err);

#endif
