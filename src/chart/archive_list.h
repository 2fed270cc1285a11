/* The list of files that the readers of folders and of archives make, with their limits. */
#ifndef CHART_ARCHIVE_LIST_H
#define CHART_ARCHIVE_LIST_H

#include "base/buffer.h"
#include "chart/archive.h"

struct archive_list {
	struct arena *arena;
	struct buffer files; /* of struct chart_file */
	size_t count;
	size_t bytes;
};

#define _archive_list_ CLEANUP(archive_list_clear)

void archive_list_clear(struct archive_list *list);
/* Copies both; removes a byte order mark. */
int archive_list_add(struct archive_list *list, struct span path, struct span data,
	struct err *err);
struct chart_file_list archive_list_end(struct archive_list *list);

#endif
