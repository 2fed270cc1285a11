/* Chart archives and folders: names, limits, and what is refused. */
#include "chart/archive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/memory.h"

#define BLOCK 512

static void add_padding(struct buffer *tar)
{
	while (tar->length % BLOCK != 0)
		buffer_add_char(tar, '\0');
}

static void add_entry(struct buffer *tar, const char *name, char type, struct span content)
{
	char header[BLOCK] = {0};
	unsigned sum = 0;

	snprintf(header, 100, "%s", name);
	snprintf(header + 124, 12, "%011zo", content.length);
	header[156] = type;
	memcpy(header + 257,
		"ustar\0"
		"00",
		8);
	memset(header + 148, ' ', 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	buffer_add(tar, header, BLOCK);
	buffer_add_span(tar, content);
	add_padding(tar);
}

static void add_end(struct buffer *tar)
{
	for (size_t i = 0; i < BLOCK * 2; i++)
		buffer_add_char(tar, '\0');
}

static void compress_all(struct span bytes, struct buffer *out)
{
	z_stream stream = {0};

	assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
		Z_OK);
	stream.next_in = (unsigned char *)bytes.data;
	stream.avail_in = (unsigned)bytes.length;
	stream.avail_out = (unsigned)deflateBound(&stream, bytes.length) + 64;
	stream.next_out = (unsigned char *)buffer_reserve(out, stream.avail_out);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	out->length += stream.total_out;
	deflateEnd(&stream);
}

static int read_tar(struct buffer *tar, struct arena *arena, struct chart_file_list *ret_files,
	struct err *err)
{
	_buffer_ struct buffer bytes = {0};

	compress_all(buffer_span(tar), &bytes);
	return archive_read_tgz(buffer_span(&bytes), arena, ret_files, err);
}

static void test_names(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer tar = {0}, long_name = {0};
	struct chart_file_list files;

	(void)state;
	add_entry(&tar, "", 'x', SPAN("99 path=web/pax.x\n"));
	assert_int_equal(read_tar(&tar, arena, &files, NULL), -EINVAL);

	buffer_reset(&tar);
	add_entry(&tar, "", 'g', SPAN("20 comment=whatever\n"));
	add_entry(&tar, "web/", '5', SPAN(""));
	add_entry(&tar, "web/Chart.yaml", '0', SPAN("\xef\xbb\xbfname: web\n"));
	add_entry(&tar, "web/./a//b/../c", '\0', SPAN("c"));
	add_entry(&tar, "web\\templates\\x.yaml", '0', SPAN("x"));
	add_entry(&tar, "", 'x', SPAN("19 path=web/pax.yy\n"));
	add_entry(&tar, "web/short", '0', SPAN("pax"));
	buffer_add_string(&long_name, "web/");
	for (int i = 0; i < 150; i++)
		buffer_add_char(&long_name, 'n');
	add_entry(&tar, "././@LongLink", 'L', buffer_span(&long_name));
	add_entry(&tar, "web/nnn", '0', SPAN("long"));
	add_end(&tar);
	assert_int_equal(read_tar(&tar, arena, &files, NULL), 0);
	assert_int_equal(files.count, 5);
	assert_true(span_is(files.files[0].path, "Chart.yaml"));
	assert_true(span_is(files.files[0].data, "name: web\n"));
	assert_true(span_is(files.files[1].path, "a/c"));
	assert_true(span_is(files.files[2].path, "templates/x.yaml"));
	assert_true(span_is(files.files[3].path, "pax.yy"));
	assert_true(span_is(files.files[3].data, "pax"));
	assert_int_equal(files.files[4].path.length, 150);
	assert_true(span_is(files.files[4].data, "long"));
}

static const struct {
	const char *name;
	char type;
	const char *message;
} refused[] = {
	{"web/../../etc/passwd", '0', "chart illegally references parent directory"},
	{"web/..", '0', "chart illegally references parent directory"},
	{"web//etc/passwd", '0', "chart illegally contains absolute paths"},
	{"web", '0', "chart illegally contains content outside the base directory"},
	{"web/c:/x", '0', "chart contains illegally named files"},
	{"Chart.yaml", '0', "chart illegally contains content outside the base directory"},
	{"web/link", '2', "'web/link' is a link; charts contain files and folders only"},
	{"web/hard", '1', "'web/hard' is a link; charts contain files and folders only"},
	{"web/null", '3', "'web/null' is a device or pipe; charts contain files and folders only"},
	{"web/", '5', "no files in chart archive"},
};

static void test_refused_entries(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(refused); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer tar = {0};
		struct chart_file_list files;
		struct err err;

		add_entry(&tar, refused[i].name, refused[i].type, SPAN(""));
		add_end(&tar);
		assert_int_equal(read_tar(&tar, arena, &files, &err), -EINVAL);
		assert_string_equal(err.message, refused[i].message);
	}
}

static void test_broken_archives(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer tar = {0}, bytes = {0};
	struct chart_file_list files;
	struct err err;

	(void)state;
	assert_int_equal(archive_read_tgz(SPAN("not gzip"), arena, &files, &err), -EINVAL);
	assert_int_equal(strncmp(err.message, "bad gzip data", 13), 0);
	add_entry(&tar, "web/a", '0', SPAN("content"));
	compress_all(buffer_span(&tar), &bytes);
	bytes.length -= 9;
	assert_int_equal(archive_read_tgz(buffer_span(&bytes), arena, &files, &err), -EINVAL);
	assert_int_equal(read_tar(&tar, arena, &files, &err), 0); /* without end blocks */
	tar.length = BLOCK + 3;
	assert_int_equal(read_tar(&tar, arena, &files, &err), -EINVAL);
	assert_string_equal(err.message, "the tar file ends inside a file");
	tar.data[0] = 'x';
	assert_int_equal(read_tar(&tar, arena, &files, &err), -EINVAL);
	assert_string_equal(err.message, "invalid tar header");
}

static void test_bombs(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer tar = {0}, zeros = {0};
	struct chart_file_list files;
	struct err err;

	(void)state;
	memset(buffer_reserve(&zeros, ARCHIVE_FILE_BYTES_MAX + 1), 0, ARCHIVE_FILE_BYTES_MAX + 1);
	zeros.length = ARCHIVE_FILE_BYTES_MAX + 1;
	add_entry(&tar, "web/large", '0', buffer_span(&zeros));
	add_end(&tar);
	assert_int_equal(read_tar(&tar, arena, &files, &err), -E2BIG);
	assert_string_equal(err.message,
		"chart file \"large\" is larger than the maximum file size 5242880");
	buffer_reset(&tar);
	zeros.length = ARCHIVE_FILE_BYTES_MAX;
	for (int i = 0; i < 4; i++)
		add_entry(&tar, "web/zeros", '0', buffer_span(&zeros));
	add_end(&tar);
	assert_int_equal(read_tar(&tar, arena, &files, &err), -E2BIG);
	assert_string_equal(err.message,
		"the archive inflates to more than 200 times its size, as decompression bombs do");
}

static void write_file(const char *folder, const char *name, const char *content)
{
	_free_ char *path = memory_format("%s/%s", folder, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(content, file);
	fclose(file);
}

static void test_folder(void **state)
{
	static const char *const names[] = {".helmignore", "Chart.yaml", "b.txt", "a/x.yaml"};
	char folder[] = "/tmp/slipway-archive-XXXXXX";
	_arena_ struct arena *arena = arena_new(0);
	struct chart_file_list files;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(mkdir(arena_format(arena, "%s/a", folder).data, 0700), 0);
	write_file(folder, ".helmignore", "*.txt\n");
	write_file(folder, "Chart.yaml", "name: web\n");
	write_file(folder, "b.txt", "ignored");
	write_file(folder, "a/x.yaml", "\xef\xbb\xbfx: 1\n");
	assert_int_equal(archive_load(folder, arena, &files, &err), 0);
	assert_int_equal(files.count, 3);
	assert_true(span_is(files.files[0].path, ".helmignore"));
	assert_true(span_is(files.files[1].path, "Chart.yaml"));
	assert_true(span_is(files.files[2].path, "a/x.yaml"));
	assert_true(span_is(files.files[2].data, "x: 1\n"));
	for (size_t i = 0; i < LENGTH(names); i++)
		unlink(arena_format(arena, "%s/%s", folder, names[i]).data);
	rmdir(arena_format(arena, "%s/a", folder).data);
	rmdir(folder);
	assert_int_equal(archive_load(folder, arena, &files, &err), -ENOENT);
}

static void test_write(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer first = {0}, second = {0};
	char long_path[200];
	struct chart_file files[] = {
		{SPAN("Chart.yaml"), SPAN("name: web\n")},
		{SPAN("templates/empty.yaml"), SPAN("")},
		{SPAN_NONE, SPAN("deep")},
	};
	struct chart_file_list list = {files, LENGTH(files)}, read;

	(void)state;
	memset(long_path, 'a', sizeof(long_path));
	memcpy(long_path + 100, "/", 1);
	long_path[sizeof(long_path) - 1] = '\0';
	files[2].path = span_of(long_path);
	assert_int_equal(archive_write_tgz(&list, SPAN("web"), &first, NULL), 0);
	assert_int_equal(archive_write_tgz(&list, SPAN("web"), &second, NULL), 0);
	assert_true(span_equal(buffer_span(&first), buffer_span(&second)));
	assert_int_equal(archive_read_tgz(buffer_span(&first), arena, &read, NULL), 0);
	assert_int_equal(read.count, LENGTH(files));
	for (size_t i = 0; i < read.count; i++) {
		assert_true(span_equal(read.files[i].path, files[i].path));
		assert_true(span_equal(read.files[i].data, files[i].data));
	}
	long_path[100] = 'a';
	assert_int_equal(archive_write_tgz(&list, SPAN("web"), &first, NULL), -ENAMETOOLONG);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_refused_entries),
		cmocka_unit_test(test_broken_archives),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
