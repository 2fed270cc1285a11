/*
 * YAML parsing: what is accepted is a value that JSON can write and read back. Where a text is JSON
 * too, both parsers must see the same value (YAML folds the line breaks that JSON knows nothing of:
 * texts with those are left out). The reader of Kubernetes' YAML accepts what its writer wrote, with
 * the same value, and documents lie within the text.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/yaml.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has(struct span text, struct span part)
{
	return memmem(text.data, text.length, part.data, part.length) != NULL;
}

static void check_against_json(struct span text, const struct json *value, struct arena *arena)
{
	struct json *same;

	if (has(text, SPAN("\xc2\x85")) || has(text, SPAN("\xe2\x80\xa8")) ||
		has(text, SPAN("\xe2\x80\xa9")))
		return;
	if (json_parse(text, arena, &same, NULL) == 0)
		CHECK(json_equal(value, same));
}

static void check_cap(struct span text, int expected)
{
	size_t cap = 1 + (text.length > 0 ? (unsigned char)text.data[0] : 0) * text.length / 8;
	_arena_ struct arena *arena = arena_new(cap);
	struct json *value;
	int code = yaml_parse(text, arena, &value, NULL);

	CHECK(code == expected || code == -E2BIG);
}

/* Values with shared nodes may be huge when written. */
#define WRITTEN_MAX (1024 * 1024)

static void check_kubernetes(struct span text, enum yaml_style style)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer written = BUFFER_WITH_CAP(WRITTEN_MAX),
			       again = BUFFER_WITH_CAP(WRITTEN_MAX);
	struct json *value, *reread;
	struct err err = {0};
	int code = yaml_parse_kubernetes(text, 1, arena, &value, &err);

	CHECK(code == 0 || code == -E2BIG ||
		(code == -EINVAL && strncmp(err.message, "line ", 5) == 0));
	if (code < 0 || yaml_write(value, style, &written, &err) < 0)
		return;
	code = yaml_parse_kubernetes(buffer_span(&written), 1, arena, &reread, &err);
	if (code < 0) /* libyaml refuses some of what the Go library writes and reads */
		return;
	CHECK(yaml_write(reread, style, &again, &err) == 0);
}

static void check_documents(struct span text)
{
	_arena_ struct arena *arena = arena_new(0);
	struct yaml_document *documents, document;
	struct span rest = text;
	uint32_t line = 1;
	size_t count;

	if (yaml_parse_documents(text, arena, &documents, &count, NULL) == 0) {
		for (size_t i = 0; i < count; i++)
			CHECK(documents[i].text.data >= text.data &&
				documents[i].text.data + documents[i].text.length <=
					text.data + text.length);
	}
	while (yaml_next_document(&rest, &line, &document, NULL) > 0)
		CHECK(document.text.length > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer written = {0};
	struct span text = {(const char *)data, size};
	struct json *value = NULL, *reread;
	struct err err = {0};
	int code = yaml_parse(text, arena, &value, &err);

	CHECK(code == 0 ||
		(code == -EINVAL && err.code == code && strncmp(err.message, "line ", 5) == 0));
	check_cap(text, code);
	check_kubernetes(text, size % 2 ? YAML_STYLE_PRETTY : YAML_STYLE_KUBERNETES);
	check_documents(text);
	if (code < 0)
		return 0;
	json_write(value, &written);
	CHECK(json_parse(buffer_span(&written), arena, &reread, NULL) == 0);
	CHECK(json_equal(value, reread));
	check_against_json(text, value, arena);
	return 0;
}
