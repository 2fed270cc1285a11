/* Writing and reading NAME.log.N. */
#include "runtime/task/log_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/memory.h"

#define FILES_KEPT 2
#define FILES_SEEN_MAX 8 /* a reader may look in the moment between two of the writer's steps */
#define READ_ATTEMPTS 16
#define TIMES_AT_ONCE 256

/* In NAME.times.N. */
struct written {
	uint64_t offset; /* since the container started */
	int64_t ms;
};

void log_files_init(struct log_files *files, struct span name, uint64_t limit)
{
	*files = (struct log_files){
		.name = memory_copy_string_n(name.data, name.length),
		.most = limit / FILES_KEPT,
		.descriptor = -1,
		.times = -1,
	};
}

void log_files_close(struct log_files *files)
{
	memory_close_descriptor(&files->descriptor);
	memory_close_descriptor(&files->times);
	free(TAKE(files->name));
}

static void open_file(struct log_files *files, uint64_t begin)
{
	_free_ char *path = memory_format("%s.log.%" PRIu64, files->name, begin);
	_free_ char *times = memory_format("%s.times.%" PRIu64, files->name, begin);

	files->descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (files->descriptor < 0)
		files->failure = errno;
	files->times = open(times, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	files->time_ms = 0;
	files->times_size = 0;
	files->begin = begin;
	files->size = 0;
}

static void rotate(struct log_files *files)
{
	uint64_t begin = files->begin;

	if (files->has_older) {
		_free_ char *path = memory_format("%s.log.%" PRIu64, files->name, files->older);
		_free_ char *times = memory_format("%s.times.%" PRIu64, files->name, files->older);

		unlink(path);
		unlink(times);
	}
	memory_close_descriptor(&files->descriptor);
	memory_close_descriptor(&files->times);
	files->has_older = true;
	files->older = begin;
	open_file(files, begin + files->size);
}

static void write_piece(struct log_files *files, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t written = write(files->descriptor, data, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			files->failure = errno;
			return;
		}
		files->size += (uint64_t)written;
		data += written;
		length -= (size_t)written;
	}
}

/* Before the text, so that text that is read has its time. Without room the last time stays. */
static void write_time(struct log_files *files, int64_t wall_ms)
{
	struct written written = {files->begin + files->size, wall_ms};
	int64_t since_ms = wall_ms - files->time_ms;
	bool is_same = files->time_ms > 0 && since_ms > -LOG_FILES_TIME_STEP_MS &&
		       since_ms < LOG_FILES_TIME_STEP_MS;

	if (files->times < 0 || is_same ||
		(files->times_size > 0 && files->times_size + sizeof(written) > files->most / 2))
		return;
	if (write(files->times, &written, sizeof(written)) != sizeof(written)) {
		memory_close_descriptor(&files->times);
		return;
	}
	files->times_size += sizeof(written);
	files->time_ms = wall_ms;
}

void log_files_add(struct log_files *files, int64_t wall_ms, const char *data, size_t length)
{
	while (length > 0) {
		uint64_t room;
		size_t piece = length;

		if (files->descriptor < 0)
			open_file(files, files->begin + files->size);
		if (files->descriptor < 0)
			return;
		room = files->size < files->most ? files->most - files->size : 0;
		if (piece > room) {
			const char *newline = room ? memrchr(data, '\n', (size_t)room) : NULL;

			if (newline) {
				piece = (size_t)(newline - data) + 1;
			} else if (files->size > 0) {
				rotate(files);
				continue;
			} else {
				piece = (size_t)room;
			}
		}
		write_time(files, wall_ms);
		write_piece(files, data, piece);
		data += piece;
		length -= piece;
		if (length > 0 && files->descriptor >= 0 && files->size > 0)
			rotate(files);
	}
}

/* The first offsets of a container's files, in order. */
static int list_files(const char *folder, struct span name, uint64_t begins[FILES_SEEN_MAX],
	size_t *ret_count, struct err *err)
{
	DIR *listing = opendir(folder);
	size_t count = 0;

	if (!listing)
		return err_errno(err, "open folder '%s'", folder);
	for (struct dirent *entry; (entry = readdir(listing));) {
		struct span text = span_of(entry->d_name);
		uint64_t begin;
		size_t place;

		if (!span_starts_with(text, name))
			continue;
		text = (struct span){text.data + name.length, text.length - name.length};
		if (!span_starts_with(text, SPAN(".log.")))
			continue;
		text = (struct span){text.data + 5, text.length - 5};
		if (!span_to_unsigned(text, UINT64_MAX, &begin) || count == FILES_SEEN_MAX)
			continue;
		for (place = count++; place > 0 && begins[place - 1] > begin; place--)
			begins[place] = begins[place - 1];
		begins[place] = begin;
	}
	closedir(listing);
	*ret_count = count;
	return 0;
}

/* The number of times of text before an offset. */
static uint64_t count_times(int descriptor, uint64_t offset)
{
	uint64_t low = 0, high;
	struct stat status;
	struct written written;

	if (fstat(descriptor, &status) < 0)
		return 0;
	high = (uint64_t)status.st_size / sizeof(written);
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (pread(descriptor, &written, sizeof(written),
			    (off_t)(middle * sizeof(written))) != sizeof(written))
			return low;
		if (written.offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Cuts off the times of text behind the end. */
static void resume_times(struct log_files *files, uint64_t end)
{
	struct written last;
	uint64_t count;

	if (files->times < 0)
		return;
	count = count_times(files->times, end);
	if (ftruncate(files->times, (off_t)(count * sizeof(last))) < 0) {
		memory_close_descriptor(&files->times);
		return;
	}
	files->times_size = count * sizeof(last);
	if (count > 0 && pread(files->times, &last, sizeof(last),
				 (off_t)((count - 1) * sizeof(last))) == sizeof(last))
		files->time_ms = last.ms;
}

void log_files_resume(struct log_files *files, const char *folder, struct span name, uint64_t limit,
	uint64_t end)
{
	_free_ char *path = memory_format("%s/%.*s", folder, SPAN_ARGS(name));
	uint64_t begins[FILES_SEEN_MAX];
	struct stat status;
	size_t count = 0;

	log_files_init(files, span_of(path), limit);
	files->begin = end;
	if (list_files(folder, name, begins, &count, NULL) < 0)
		return;
	for (; count > 0 && begins[count - 1] > end; count--) {
		_free_ char *behind = memory_format("%s.log.%" PRIu64, path, begins[count - 1]);
		_free_ char *times = memory_format("%s.times.%" PRIu64, path, begins[count - 1]);

		unlink(behind);
		unlink(times);
	}
	if (count == 0)
		return;
	files->has_older = count > 1;
	files->older = count > 1 ? begins[count - 2] : 0;
	open_file(files, begins[count - 1]);
	if (files->descriptor >= 0 && fstat(files->descriptor, &status) == 0 &&
		(uint64_t)status.st_size >= end - files->begin &&
		ftruncate(files->descriptor, (off_t)(end - files->begin)) == 0) {
		files->size = end - files->begin;
		resume_times(files, end);
		return;
	}
	memory_close_descriptor(&files->descriptor);
	memory_close_descriptor(&files->times);
	files->has_older = true;
	files->older = begins[count - 1];
	files->begin = end;
}

/* One read at offset. 0: nothing there. -ESTALE: the file went meanwhile. */
static ssize_t read_piece(const char *folder, struct span name, uint64_t begin, uint64_t offset,
	size_t max, struct buffer *out)
{
	_free_ char *path = memory_format("%s/%.*s.log.%" PRIu64, folder, SPAN_ARGS(name), begin);
	_close_ int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	char *end = buffer_reserve(out, max);
	ssize_t got;

	if (descriptor < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	if (!end)
		return -ENOBUFS;
	got = pread(descriptor, end, max, (off_t)(offset - begin));
	if (got < 0)
		return -errno;
	out->length += (size_t)got;
	out->data[out->length] = '\0';
	return got;
}

/* Adds when the text from `offset` to `end`, both in the file that begins at `begin`, was written. `first`: the
 * offset of the piece's first byte. */
static void read_times(const char *folder, struct span name, uint64_t begin, uint64_t offset,
	uint64_t end, uint64_t first, struct runtime_log_times *times)
{
	_free_ char *path = memory_format("%s/%.*s.times.%" PRIu64, folder, SPAN_ARGS(name), begin);
	_close_ int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	struct written written[TIMES_AT_ONCE];
	uint64_t place;
	ssize_t got;

	if (descriptor < 0) {
		runtime_log_times_add(times, (size_t)(offset - first), 0);
		return;
	}
	place = count_times(descriptor, offset + 1);
	place -= place > 0;
	while ((got = pread(descriptor, written, sizeof(written),
			(off_t)(place * sizeof(*written)))) >= (ssize_t)sizeof(*written)) {
		size_t count = (size_t)got / sizeof(*written);

		for (size_t i = 0; i < count; i++) {
			if (written[i].offset >= end)
				return;
			runtime_log_times_add(times,
				(size_t)((written[i].offset > offset ? written[i].offset : offset) -
					 first),
				written[i].ms);
		}
		place += count;
	}
}

/* Removes the text behind the last newline of the bytes added since `before`. */
static size_t keep_whole_lines(struct buffer *out, size_t before, size_t max)
{
	size_t added = out->length - before;
	const char *newline = added ? memrchr(out->data + before, '\n', added) : NULL;

	if (!newline && added >= max)
		return added;
	added = newline ? (size_t)(newline - (out->data + before)) + 1 : 0;
	out->length = before + added;
	if (out->data)
		out->data[out->length] = '\0';
	return added;
}

int log_files_read(const char *folder, struct span name, uint64_t offset, size_t max, bool ended,
	struct buffer *out, struct runtime_log_times *times, uint64_t *ret_offset, struct err *err)
{
	size_t before = out->length, times_before = times ? times->count : 0;
	uint64_t from = offset;

	for (unsigned attempt = 0; attempt < READ_ATTEMPTS && out->length - before < max;
		attempt++) {
		uint64_t begins[FILES_SEEN_MAX], next = offset + (out->length - before);
		size_t count, file = 0;
		ssize_t got;
		int code = list_files(folder, name, begins, &count, err);

		if (code < 0)
			return code;
		if (count == 0)
			break;
		if (next < begins[0]) {
			/* Rotated away: continue with the oldest, and only with it. */
			out->length = before;
			if (times)
				times->count = times_before;
			next = from = offset = begins[0];
		}
		while (file + 1 < count && begins[file + 1] <= next)
			file++;
		got = read_piece(folder, name, begins[file], next, max - (out->length - before),
			out);
		if (got == -ESTALE)
			continue;
		if (got < 0)
			return err_system(err, (int)-got, "read the log of '%.*s'",
				SPAN_ARGS(name));
		if (got == 0)
			break;
		if (times)
			read_times(folder, name, begins[file], next, next + (uint64_t)got, from,
				times);
	}
	if (ended)
		*ret_offset = from + (out->length - before);
	else
		*ret_offset = from + keep_whole_lines(out, before, max);
	return 0;
}
