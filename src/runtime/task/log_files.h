/*
 * Output of a container, in files NAME.log.N where N is the offset of the file's first byte since
 * the container started: a reader's offset stays valid when the files are rotated. Two files are
 * kept, together at most about the limit; the older one is deleted when a third begins. A new file
 * begins with a new line, unless a line alone passes the limit.
 *
 * When text was written is in NAME.times.N beside each: pairs of an offset and a time in ms, both
 * 64 bits, in order. Times closer than LOG_FILES_TIME_STEP_MS are one; tasks that an older slipway started have no such files.
 */
#ifndef RUNTIME_TASK_LOG_FILES_H
#define RUNTIME_TASK_LOG_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/span.h"
#include "runtime/runtime.h"

#define LOG_FILES_TIME_STEP_MS 10

struct log_files {
	char *name;            /* of the container */
	uint64_t most;         /* bytes in one file */
	int descriptor, times; /* -1: none */
	int64_t time_ms;       /* the last one in NAME.times.N; 0: none */
	uint64_t times_size;
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
/* Text that was written at a time. Never fails: text that cannot be written is dropped, and
 * `failure` is set. */
void log_files_add(struct log_files *files, int64_t wall_ms, const char *data, size_t length);

/* Appends at most max bytes from offset on (from the oldest that is kept, if that is later) and
 * sets where to continue. Unless `ended`, text behind the last newline is left out, except for a
 * line longer than max. An empty log is no error. times: see runtime.h. */
int log_files_read(const char *folder, struct span name, uint64_t offset, size_t max, bool ended,
	struct buffer *out, struct runtime_log_times *times, uint64_t *ret_offset, struct err *err);

#endif
