/*
 * The parser of XML, and the reader of answers on top of it. The first byte chooses the operation. What
 * is accepted is written as XML again and read again: it must be the same. Any text, whatever its
 * bytes, is XML when xml_write_text() has written it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "aws/query.h"
#include "aws/xml.h"

#define ARENA_MAX (64 * 1024 * 1024)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct shape_service *const service = &shape_elasticloadbalancingv2;

static void write_element(const struct xml_element *element, struct buffer *out)
{
	buffer_format(out, "<%.*s>", SPAN_ARGS(element->name));
	xml_write_text(element->text, out);
	for (const struct xml_element *child = element->first_child; child; child = child->next)
		write_element(child, out);
	buffer_format(out, "</%.*s>", SPAN_ARGS(element->name));
}

static bool same(const struct xml_element *a, const struct xml_element *b)
{
	for (; a && b; a = a->next, b = b->next) {
		if (!span_equal(a->name, b->name) || !span_equal(a->text, b->text) ||
			!same(a->first_child, b->first_child))
			return false;
	}
	return !a && !b;
}

static void check_document(struct span text)
{
	_arena_ struct arena *arena = arena_new(ARENA_MAX);
	_buffer_ struct buffer out = {0};
	struct xml_element *root, *again;
	struct err err = {0};
	int code = xml_parse(text, arena, &root, &err);

	CHECK(code == 0 || ((code == -EINVAL || code == -E2BIG) && err.code == code));
	if (code < 0)
		return;
	write_element(root, &out);
	/* A prefix that was cut off may leave a name that is none by itself. */
	if (xml_parse(buffer_span(&out), arena, &again, NULL) == 0)
		CHECK(same(root, again));
}

static void check_answer(const struct shape_operation *operation, struct span text)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *answer, *again;
	struct span type, message;
	_buffer_ struct buffer out = {0};

	query_read_error(service, text, arena, &type, &message);
	if (query_read_answer(service, operation, text, arena, &answer, NULL) < 0)
		return;
	query_write_answer(service, operation, answer, "x", &out);
	CHECK(query_read_answer(service, operation, buffer_span(&out), arena, &again, NULL) == 0);
}

static void check_text(struct span text)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer out = {0};
	struct xml_element *root;

	buffer_add_string(&out, "<a>");
	xml_write_text(text, &out);
	buffer_add_string(&out, "</a>");
	CHECK(xml_parse(buffer_span(&out), arena, &root, NULL) == 0);
	CHECK(!root->first_child);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data + 1, size - 1};

	if (size == 0)
		return 0;
	check_document(text);
	check_answer(&service->operations[data[0] % service->operation_count], text);
	check_text(text);
	return 0;
}
