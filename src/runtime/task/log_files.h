/*
 * Output of a container, in files NAME.log.N where N is the offset of the file's first byte since
 * the container started: a reader's offset stays valid when the files are rotated. Two files are
 * kept, together at most about the limit; the older one is deleted when a third begins. A new file
 * begins with a new line, unless a line alone passes the limit.
 */
#ifndef RUNTIME_TASK_LOG_FILES_H
#define RUNTIME_TASK_LOG_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/span.h"

struct log_files {
	char *name;    /* of the container */
	uint64_t most; /* bytes in one file */
	int descriptor;
	uint64_t begin, size; /* of the file that is written */
	bool has_older;
	uint64_t older; /* where the file before it begins */
	int failure;    /* the last errno of writing; 0: none */
};

/* Files are created in the working folder, or at the path in the name, with the first byte. */
void log_files_init(struct log_files *files, struct span name, uint64_t limit);
/* Continues at `end`, the last writer's position: FOLDER/NAME.log.N is cut off behind it, and gaps
 * before it stay. */
void log_files_resume(struct log_files *files, const char *folder, struct span name, uint64_t limit,
	uint64_t end);
void log_files_close(struct log_files *files);
/* Never fails: text that cannot be written is dropped, and `failure` is set. */
void log_files_add(struct log_files *files, const char *data, size_t length);

/* Appends at most max bytes from offset on (from the oldest that is kept, if that is later) and
 * sets where to continue. Unless `ended`, text behind the last newline is left out, except for a
 * line longer than max. An empty log is no error. */
int log_files_read(const char *folder, struct span name, uint64_t offset, size_t max, bool ended,
	struct buffer *out, uint64_t *ret_offset, struct err *err);

#endif
