#include "chart/archive_list.h"

void archive_list_clear(struct archive_list *list)
{
	buffer_clear(&list->files);
}

int archive_list_add(struct archive_list *list, struct span path, struct span data, struct err *err)
{
	struct chart_file file;

	if (data.length > ARCHIVE_FILE_BYTES_MAX)
		return err_set(err, -E2BIG,
			"chart file \"%.*s\" is larger than the maximum file size %d",
			SPAN_ARGS(path), ARCHIVE_FILE_BYTES_MAX);
	list->bytes += data.length;
	if (list->bytes > ARCHIVE_BYTES_MAX)
		return err_set(err, -E2BIG, "the chart is larger than the maximum size %d",
			ARCHIVE_BYTES_MAX);
	if (list->count == ARCHIVE_FILES_MAX)
		return err_set(err, -E2BIG, "too many files in the chart (limit %d)",
			ARCHIVE_FILES_MAX);
	if (span_starts_with(data, SPAN("\xef\xbb\xbf"))) {
		data.data += 3;
		data.length -= 3;
	}
	file.path = arena_copy_span(list->arena, path);
	file.data = arena_copy_span(list->arena, data);
	buffer_add(&list->files, &file, sizeof(file));
	list->count++;
	return 0;
}

struct chart_file_list archive_list_end(struct archive_list *list)
{
	return (struct chart_file_list){
		.files = (struct chart_file *)(void *)arena_copy(list->arena, list->files.data,
			list->files.length),
		.count = list->count,
	};
}
