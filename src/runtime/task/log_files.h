/*
 * What a container wrote, in files NAME.log.N where N is the offset of the file's first byte since
 * the container began: a reader's offset stays right however often the files are rotated. Two files
 * are kept, together at most about the limit; the older one goes when a third begins. A new file
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

/* Files are made in the working folder, when the first byte comes; or, with a name that is a path, where
 * that leads. */
void log_files_init(struct log_files *files, struct span name, uint64_t limit);
/* Goes on at `end`, where the last writer was: what is in FOLDER/NAME.log.N behind it is cut off, and what
 * is missing before it stays missing. */
void log_files_resume(struct log_files *files, const char *folder, struct span name, uint64_t limit,
	uint64_t end);
void log_files_close(struct log_files *files);
/* Never fails: what cannot be written is dropped and remembered in `failure`. */
void log_files_add(struct log_files *files, const char *data, size_t length);

/* Appends at most max bytes from offset on (from the oldest that is kept, if that is later) and
 * says where to go on. Unless `ended`, nothing behind the last newline is given, except for a line
 * longer than max. Nothing written yet is no error. */
int log_files_read(const char *folder, struct span name, uint64_t offset, size_t max, bool ended,
	struct buffer *out, uint64_t *ret_offset, struct err *err);

#endif
