/* A tar file (ustar) within gzip, as 'helm package' writes it, but without times: see archive.h. */
#include <stdio.h>
#include <zlib.h>

#include "base/memory.h"
#include "chart/archive.h"

#define BLOCK 512
#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, a gzip header */
#define MEMORY_LEVEL 8        /* zlib's default */

/* Fields of a header. */
#define NAME_SIZE 100
#define MODE_AT 100
#define SIZE_AT 124
#define TIME_AT 136
#define SUM_AT 148
#define TYPE_AT 156
#define MAGIC_AT 257
#define PREFIX_AT 345
#define PREFIX_SIZE 155

static void pad(struct buffer *tar)
{
	while (tar->length % BLOCK != 0)
		buffer_add_char(tar, '\0');
}

/* A long path is divided at a slash into prefix and name. */
static int split_path(struct span path, struct span *ret_prefix, struct span *ret_name,
	struct err *err)
{
	*ret_prefix = SPAN("");
	*ret_name = path;
	if (path.length <= NAME_SIZE)
		return 0;
	for (size_t i = path.length - 1; i > 0; i--) {
		if (path.data[i] != '/' || i > PREFIX_SIZE || path.length - i - 1 > NAME_SIZE)
			continue;
		*ret_prefix = (struct span){path.data, i};
		*ret_name = (struct span){path.data + i + 1, path.length - i - 1};
		return 0;
	}
	return err_set(err, -ENAMETOOLONG, "'%.*s' is too long a path for an archive",
		SPAN_ARGS(path));
}

static int add_file(struct buffer *tar, struct span path, struct span data, struct err *err)
{
	char header[BLOCK] = {0};
	struct span prefix, name;
	unsigned sum = 0;
	int code = split_path(path, &prefix, &name, err);

	if (code < 0)
		return code;
	memcpy(header, name.data, name.length);
	memcpy(header + PREFIX_AT, prefix.data, prefix.length);
	snprintf(header + MODE_AT, 8, "%07o", 0644);
	snprintf(header + SIZE_AT, 12, "%011zo", data.length);
	snprintf(header + TIME_AT, 12, "%011o", 0);
	header[TYPE_AT] = '0';
	memcpy(header + MAGIC_AT,
		"ustar\0"
		"00",
		8);
	memset(header + SUM_AT, ' ', 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)header[i];
	snprintf(header + SUM_AT, 8, "%06o", sum);
	buffer_add(tar, header, BLOCK);
	buffer_add_span(tar, data);
	pad(tar);
	return 0;
}

static int deflate_all(struct span bytes, struct buffer *out, struct err *err)
{
	z_stream stream = {0};
	_free_ unsigned char *text = NULL;
	size_t size;
	int code;

	if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
		    Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(err, -ENOMEM, "zlib cannot begin");
	size = deflateBound(&stream, bytes.length);
	text = memory_allocate(size);
	stream.next_in = (unsigned char *)bytes.data;
	stream.avail_in = (unsigned)bytes.length;
	stream.next_out = text;
	stream.avail_out = (unsigned)size;
	code = deflate(&stream, Z_FINISH);
	buffer_add(out, (const char *)text, size - stream.avail_out);
	deflateEnd(&stream);
	return code == Z_STREAM_END ? 0 : err_set(err, -EIO, "zlib ended with %d", code);
}

int archive_write_tgz(const struct chart_file_list *files, struct span folder, struct buffer *out,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer tar = {0};

	for (size_t i = 0; i < files->count; i++) {
		const struct chart_file *file = &files->files[i];
		struct span path =
			arena_format(arena, "%.*s/%.*s", SPAN_ARGS(folder), SPAN_ARGS(file->path));
		int code = add_file(&tar, path, file->data, err);

		if (code < 0)
			return code;
	}
	for (size_t i = 0; i < 2; i++) {
		buffer_add_char(&tar, '\0');
		pad(&tar);
	}
	return deflate_all(buffer_span(&tar), out, err);
}
