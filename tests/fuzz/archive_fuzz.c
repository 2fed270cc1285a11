/*
 * Chart archives: the input is the tar file, which is compressed here, so that the fuzzer need not find
 * checksums of gzip; inputs that begin like gzip are read as they are. No accepted path leaves the
 * chart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/buffer.h"
#include "chart/archive.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compress_all(struct span bytes, struct buffer *out)
{
	z_stream stream = {0};

	CHECK(deflateInit2(&stream, 0, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	stream.next_in = (unsigned char *)bytes.data;
	stream.avail_in = (unsigned)bytes.length;
	stream.avail_out = (unsigned)deflateBound(&stream, bytes.length) + 64;
	stream.next_out = (unsigned char *)buffer_reserve(out, stream.avail_out);
	CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
	out->length += stream.total_out;
	deflateEnd(&stream);
}

#define BLOCK 512

/* Checksums of the headers that follow each other, made right. */
static void fix_checksums(struct buffer *tar)
{
	for (size_t at = 0; at + BLOCK <= tar->length;) {
		char *header = tar->data + at;
		char size_text[13] = {0};
		unsigned sum = 0;

		memcpy(size_text, header + 124, 12);
		memset(header + 148, ' ', 8);
		for (size_t i = 0; i < BLOCK; i++)
			sum += (unsigned char)header[i];
		if (sum == 8 * ' ')
			memset(header + 148, 0, 8);
		else
			snprintf(header + 148, 8, "%06o", sum);
		at += BLOCK + (strtoul(size_text, NULL, 8) + BLOCK - 1) / BLOCK * BLOCK;
	}
}

static void check_path(struct span path)
{
	struct span part;

	CHECK(path.length > 0 && path.data[0] != '/');
	while (span_next_part(&path, '/', &part))
		CHECK(part.length > 0 && !span_is(part, ".") && !span_is(part, ".."));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size};
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer tar = {0}, bytes = {0};
	struct chart_file_list files;
	struct err err = {0};
	int code;

	if (span_starts_with(text, SPAN("\x1f\x8b"))) {
		buffer_add_span(&bytes, text);
	} else {
		buffer_add_span(&tar, text);
		if (tar.data)
			fix_checksums(&tar);
		compress_all(buffer_span(&tar), &bytes);
	}
	code = archive_read_tgz(buffer_span(&bytes), arena, &files, &err);
	CHECK(code == 0 || (code < 0 && err.message[0] != '\0'));
	for (size_t i = 0; code == 0 && i < files.count; i++)
		check_path(files.files[i].path);
	return 0;
}
