#include "chart/archive.h"

#include <zlib.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "chart/archive_list.h"

#define BLOCK 512
#define INFLATE_STEP (256 * 1024)
#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, a gzip header */
/* Room for the headers and the padding of every file beside its content. */
#define TAR_BYTES_MAX (ARCHIVE_BYTES_MAX + (size_t)ARCHIVE_FILES_MAX * 4 * BLOCK)

/* Gzip */

static void inflate_clear(z_stream *stream)
{
	inflateEnd(stream);
}

static int check_inflated(size_t inflated, size_t compressed, struct err *err)
{
	if (inflated > TAR_BYTES_MAX)
		return err_set(err, -E2BIG, "decompressed chart is larger than %d bytes",
			ARCHIVE_BYTES_MAX);
	if (inflated > ARCHIVE_RATIO_FREE && inflated / ARCHIVE_RATIO_MAX > compressed)
		return err_set(err, -E2BIG,
			"the archive inflates to more than %d times its size, as decompression "
			"bombs do",
			ARCHIVE_RATIO_MAX);
	return 0;
}

static int inflate_all(struct span bytes, struct buffer *out, struct err *err)
{
	CLEANUP(inflate_clear) z_stream stream = {0};

	if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
		return err_set(err, -ENOMEM, "start to inflate");
	stream.next_in = (unsigned char *)bytes.data;
	stream.avail_in = (unsigned)bytes.length;
	for (;;) {
		char *room = buffer_reserve(out, INFLATE_STEP);
		int status, code;

		stream.next_out = (unsigned char *)room;
		stream.avail_out = INFLATE_STEP;
		status = inflate(&stream, Z_NO_FLUSH);
		out->length += INFLATE_STEP - stream.avail_out;
		code = check_inflated(out->length, bytes.length - stream.avail_in, err);
		if (code < 0)
			return code;
		if (status == Z_STREAM_END) {
			/* Several gzip members behind each other are one text. */
			if (stream.avail_in == 0)
				return 0;
			if (inflateReset(&stream) != Z_OK)
				return err_set(err, -EINVAL, "bad gzip data");
		} else if (status != Z_OK) {
			return err_set(err, -EINVAL, "bad gzip data: %s",
				stream.msg ? stream.msg : "unexpected end");
		}
	}
}

/* Tar */

struct entry {
	struct span name;
	uint64_t size;
	char type;
};

struct reader {
	struct arena *arena;
	struct err *err;
	struct archive_list *list;
	struct span rest;
	struct span long_name; /* for the next entry, from GNU's or pax's header; or none */
	bool has_pax_size;
	uint64_t pax_size;
};

static struct span field(const char *block, size_t offset, size_t length)
{
	return (struct span){block + offset, strnlen(block + offset, length)};
}

/* Octal digits with spaces around them, or a big-endian number behind a byte 0x80. */
static bool read_number(const char *block, size_t offset, size_t length, uint64_t *ret_number)
{
	struct span text = field(block, offset, length);
	uint64_t number = 0;

	if ((unsigned char)block[offset] == 0x80) {
		for (size_t i = 1; i < length; i++) {
			if (number >> 55)
				return false;
			number = number << 8 | (unsigned char)block[offset + i];
		}
		*ret_number = number;
		return true;
	}
	text = span_trim(text);
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] < '0' || text.data[i] > '7' || number >> 60)
			return false;
		number = number << 3 | (uint64_t)(text.data[i] - '0');
	}
	*ret_number = number;
	return true;
}

#define CHECKSUM_OFFSET 148
#define CHECKSUM_LENGTH 8

/* Some old programs added signed bytes. */
static bool checksum_is_right(const char *block)
{
	uint64_t expected, plain = 0;
	int64_t with_sign = 0;

	if (!read_number(block, CHECKSUM_OFFSET, CHECKSUM_LENGTH, &expected))
		return false;
	for (size_t i = 0; i < BLOCK; i++) {
		bool inside = i >= CHECKSUM_OFFSET && i < CHECKSUM_OFFSET + CHECKSUM_LENGTH;

		plain += inside ? ' ' : (unsigned char)block[i];
		with_sign += inside ? ' ' : (signed char)block[i];
	}
	return expected == plain || (int64_t)expected == with_sign;
}

static bool is_zero(const char *block)
{
	for (size_t i = 0; i < BLOCK; i++) {
		if (block[i] != '\0')
			return false;
	}
	return true;
}

static int read_header(struct reader *reader, struct entry *ret_entry)
{
	const char *block = reader->rest.data;
	struct span name = field(block, 0, 100), prefix = field(block, 345, 155);
	struct entry entry = {.type = block[156]};

	if (!checksum_is_right(block) || !read_number(block, 124, 12, &entry.size))
		return err_set(reader->err, -EINVAL, "invalid tar header");
	if (memcmp(block + 257, "ustar\0", 6) == 0 && prefix.length > 0)
		name = arena_format(reader->arena, "%.*s/%.*s", SPAN_ARGS(prefix), SPAN_ARGS(name));
	entry.name = name;
	reader->rest.data += BLOCK;
	reader->rest.length -= BLOCK;
	*ret_entry = entry;
	return 0;
}

static int take_content(struct reader *reader, uint64_t size, struct span *ret_content)
{
	uint64_t padded = (size + BLOCK - 1) / BLOCK * BLOCK;

	if (size > reader->rest.length)
		return err_set(reader->err, -EINVAL, "the tar file ends inside a file");
	*ret_content = (struct span){reader->rest.data, (size_t)size};
	if (padded > reader->rest.length)
		padded = reader->rest.length;
	reader->rest.data += padded;
	reader->rest.length -= padded;
	return 0;
}

/* Records "LENGTH KEY=VALUE\n", where the length counts all of the record. */
static int read_pax(struct reader *reader, struct span records)
{
	while (records.length > 0) {
		struct span length_text, after, key, value;
		uint64_t length;

		if (!span_split(records, ' ', &length_text, &after) ||
			!span_to_unsigned(length_text, records.length, &length) ||
			length < length_text.length + 2 || records.data[length - 1] != '\n')
			return err_set(reader->err, -EINVAL, "invalid pax header");
		after.length = (size_t)length - length_text.length - 2;
		if (!span_split(after, '=', &key, &value))
			return err_set(reader->err, -EINVAL, "invalid pax header");
		if (span_is(key, "path"))
			reader->long_name = value;
		if (span_is(key, "size")) {
			if (!span_to_unsigned(value, UINT32_MAX, &reader->pax_size))
				return err_set(reader->err, -EINVAL,
					"invalid size in a pax header");
			reader->has_pax_size = true;
		}
		records.data += length;
		records.length -= (size_t)length;
	}
	return 0;
}

/* Paths */

/* Without "." and "..", as far as names before them allow, and without repeated slashes. */
static struct span clean_path(struct span path, struct arena *arena)
{
	_buffer_ struct buffer out = {0};
	struct span part;

	while (span_next_part(&path, '/', &part)) {
		const char *slash = out.length ? memrchr(out.data, '/', out.length) : NULL;
		struct span last = buffer_span(&out);

		if (slash)
			last = (struct span){
				slash + 1, out.length - (size_t)(slash + 1 - out.data)};
		if (part.length == 0 || span_is(part, "."))
			continue;
		if (span_is(part, "..") && out.length > 0 && !span_is(last, "..")) {
			out.length = slash ? (size_t)(slash - out.data) : 0;
			continue;
		}
		if (out.length > 0)
			buffer_add_char(&out, '/');
		buffer_add_span(&out, part);
	}
	return out.length > 0 ? arena_copy_span(arena, buffer_span(&out)) : SPAN(".");
}

static bool begins_with_drive(struct span path)
{
	return path.length >= 3 && ((path.data[0] | 0x20) >= 'a' && (path.data[0] | 0x20) <= 'z') &&
	       path.data[1] == ':' && path.data[2] == '/';
}

/* The path of an entry below the archive's top folder. */
static int entry_path(struct reader *reader, struct span name, struct span *ret_path)
{
	char delimiter = memchr(name.data, '\\', name.length) ? '\\' : '/';
	struct span top = name, path = SPAN("");
	char *copy;

	if (name.length > ARCHIVE_PATH_MAX)
		return err_set(reader->err, -E2BIG, "a path is longer than %d bytes",
			ARCHIVE_PATH_MAX);
	if (memchr(name.data, '\0', name.length))
		return err_set(reader->err, -EINVAL, "a path contains a zero byte");
	span_split(name, delimiter, &top, &path);
	copy = arena_copy(reader->arena, path.data, path.length);
	for (size_t i = 0; i < path.length; i++) {
		if (copy[i] == delimiter)
			copy[i] = '/';
	}
	path.data = copy;
	if (span_starts_with(path, SPAN("/")))
		return err_set(reader->err, -EINVAL, "chart illegally contains absolute paths");
	path = clean_path(path, reader->arena);
	if (span_is(path, "."))
		return err_set(reader->err, -EINVAL,
			"chart illegally contains content outside the base directory");
	if (span_starts_with(path, SPAN("..")))
		return err_set(reader->err, -EINVAL, "chart illegally references parent directory");
	if (begins_with_drive(path))
		return err_set(reader->err, -EINVAL, "chart contains illegally named files");
	if (span_is(top, "Chart.yaml"))
		return err_set(reader->err, -EINVAL, "chart yaml not in base directory");
	*ret_path = path;
	return 0;
}

static int add_file(struct reader *reader, struct span name, struct span content)
{
	struct span path;
	int code;

	code = entry_path(reader, name, &path);
	if (code < 0)
		return code;
	return archive_list_add(reader->list, path, content, reader->err);
}

static int refuse_type(struct reader *reader, const struct entry *entry)
{
	const char *what = "an entry of unknown type";

	if (entry->type == '1' || entry->type == '2')
		what = "a link";
	else if (entry->type == '3' || entry->type == '4' || entry->type == '6')
		what = "a device or pipe";
	return err_set(reader->err, -EINVAL, "'%.*s' is %s; charts contain files and folders only",
		SPAN_ARGS(entry->name), what);
}

static int read_entry(struct reader *reader)
{
	struct entry entry;
	struct span content;
	int code;

	code = read_header(reader, &entry);
	if (code < 0)
		return code;
	if (!strchr("xgLK", entry.type) || entry.type == '\0') {
		if (reader->has_pax_size)
			entry.size = reader->pax_size;
		if (reader->long_name.data)
			entry.name = reader->long_name;
		reader->has_pax_size = false;
		reader->long_name = SPAN_NONE;
	}
	code = take_content(reader, entry.size, &content);
	if (code < 0)
		return code;
	switch (entry.type) {
	case 'x': return read_pax(reader, content);
	case 'L': reader->long_name = field(content.data, 0, content.length); return 0;
	case 'g':
	case 'K':
	case '5': return 0;
	case '0':
	case '7':
	case '\0':
		if (span_ends_with(entry.name, SPAN("/")))
			return 0;
		return add_file(reader, entry.name, content);
	}
	return refuse_type(reader, &entry);
}

int archive_read_tgz(struct span bytes, struct arena *arena, struct chart_file_list *ret_files,
	struct err *err)
{
	_buffer_ struct buffer tar = {0};
	_archive_list_ struct archive_list list = {.arena = arena};
	struct reader reader = {.arena = arena, .err = err, .list = &list};
	int code;

	if (bytes.length > ARCHIVE_BYTES_MAX)
		return err_set(err, -E2BIG, "the archive is larger than %d bytes",
			ARCHIVE_BYTES_MAX);
	code = inflate_all(bytes, &tar, err);
	if (code < 0)
		return code;
	reader.rest = buffer_span(&tar);
	while (reader.rest.length >= BLOCK && !is_zero(reader.rest.data)) {
		code = read_entry(&reader);
		if (code < 0)
			return code;
	}
	if (reader.rest.length > 0 && reader.rest.length < BLOCK)
		return err_set(err, -EINVAL, "the tar file ends inside a header");
	if (list.files.length == 0)
		return err_set(err, -EINVAL, "no files in chart archive");
	*ret_files = archive_list_end(&list);
	return 0;
}
