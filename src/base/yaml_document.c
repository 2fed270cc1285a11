/* Files of several documents, cut at their separators without parsing. */
#include "base/yaml.h"

static struct span cut_line(struct span *rest)
{
	const char *end = memchr(rest->data, '\n', rest->length);
	struct span line = {rest->data, end ? (size_t)(end + 1 - rest->data) : rest->length};

	rest->data += line.length;
	rest->length -= line.length;
	return line;
}

static bool is_separator(struct span line)
{
	return span_starts_with(line, SPAN("---"));
}

static int check_separator(struct span line, uint32_t number, struct err *err)
{
	struct span after = {line.data + 3, line.length - 3};

	while (after.length > 0 && strchr(" \t\r\n\v\f", after.data[0])) {
		after.data++;
		after.length--;
	}
	if (after.length > 0 && after.data[0] != '#')
		return err_set(err, -EINVAL, "line %u: only a comment may follow '---' on its line",
			number);
	return 0;
}

int yaml_next_document(struct span *rest, uint32_t *line, struct yaml_document *ret_document,
	struct err *err)
{
	struct yaml_document document = {.text = {rest->data, 0}, .line = *line};
	struct span left = *rest;
	uint32_t number = *line;

	while (left.length > 0) {
		struct span text = cut_line(&left);

		number++;
		if (is_separator(text)) {
			int code = check_separator(text, number - 1, err);

			if (code < 0)
				return code;
			if (document.text.length > 0)
				break;
		}
		document.text.length += text.length;
	}
	if (document.text.length == 0)
		return 0;
	*rest = left;
	*line = number;
	*ret_document = document;
	return 1;
}
