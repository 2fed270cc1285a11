/* TOML as the Go library in Helm writes it: plain members first, then tables, each sorted. */
#include <stdlib.h>

#include "base/float_text.h"
#include "base/memory.h"
#include "chart/toml.h"

struct writer {
	struct buffer *out;
	struct err *err;
};

/* The names of the tables around, from the inside out. */
struct key {
	const struct key *outer;
	struct span name;
	unsigned depth; /* 1 for a member of the top */
};

static int write_element(struct writer *writer, const struct json *value, unsigned depth);
static int write_members(struct writer *writer, const struct json *object, const struct key *key);

static void new_line(struct writer *writer)
{
	if (writer->out->length > 0)
		buffer_add_char(writer->out, '\n');
}

static void write_quoted(struct writer *writer, struct span text)
{
	static const char letters[] = "\bb\tt\nn\ff\rr\"\"\\\\";

	buffer_add_char(writer->out, '"');
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];
		const char *letter = NULL;

		for (size_t j = 0; !letter && j + 1 < sizeof(letters); j += 2)
			letter = letters[j] == c ? &letters[j + 1] : NULL;
		if (letter)
			buffer_format(writer->out, "\\%c", *letter);
		else if ((unsigned char)c < 0x20 || c == 0x7f)
			buffer_format(writer->out, "\\u00%02x", c);
		else
			buffer_add_char(writer->out, c);
	}
	buffer_add_char(writer->out, '"');
}

static bool is_bare(struct span name)
{
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (!(c >= '0' && c <= '9') && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z') &&
			c != '_' && c != '-')
			return false;
	}
	return name.length > 0;
}

static void write_name(struct writer *writer, struct span name)
{
	if (is_bare(name))
		buffer_add_span(writer->out, name);
	else
		write_quoted(writer, name);
}

static void write_path(struct writer *writer, const struct key *key)
{
	if (key->outer) {
		write_path(writer, key->outer);
		buffer_add_char(writer->out, '.');
	}
	write_name(writer, key->name);
}

static void write_indent(struct writer *writer, const struct key *key)
{
	for (unsigned i = 1; i < key->depth; i++)
		buffer_add_string(writer->out, "  ");
}

/* Arrays of tables have headers of their own: nothing but objects, and at least one. */
static bool is_table_list(const struct json *value)
{
	if (value->type != JSON_ARRAY || json_count(value) == 0)
		return false;
	JSON_EACH_ITEM (value, item) {
		if (item->type != JSON_OBJECT)
			return false;
	}
	return true;
}

static int compare_members(const void *a, const void *b)
{
	const struct json_member *const *first = a, *const *second = b;
	const struct json *x = (*first)->value, *y = (*second)->value;
	bool table_x = x->type == JSON_OBJECT || is_table_list(x);
	bool table_y = y->type == JSON_OBJECT || is_table_list(y);

	if (table_x != table_y)
		return table_x ? 1 : -1;
	return span_compare((*first)->name, (*second)->name);
}

static const struct json_member **sorted_members(const struct json *object)
{
	const struct json_member **members =
		memory_allocate_array(object->object.count + 1, sizeof(*members));

	for (uint32_t i = 0; i < object->object.count; i++)
		members[i] = &object->object.members[i];
	qsort(members, object->object.count, sizeof(*members), compare_members);
	return members;
}

static int write_inline_table(struct writer *writer, const struct json *object, unsigned depth)
{
	_free_ const struct json_member **members = sorted_members(object);

	buffer_add_char(writer->out, '{');
	for (uint32_t i = 0; i < object->object.count; i++) {
		int code;

		if (members[i]->value->type == JSON_NULL)
			continue;
		write_name(writer, members[i]->name);
		buffer_add_string(writer->out, " = ");
		code = write_element(writer, members[i]->value, depth);
		if (code < 0)
			return code;
		/* The library counts members that it leaves out, too. */
		if (i + 1 < object->object.count)
			buffer_add_string(writer->out, ", ");
	}
	buffer_add_char(writer->out, '}');
	return 0;
}

static int write_list(struct writer *writer, const struct json *array, unsigned depth)
{
	buffer_add_char(writer->out, '[');
	for (size_t i = 0; i < json_count(array); i++) {
		int code;

		if (json_item(array, i)->type == JSON_NULL)
			return err_set(writer->err, -EINVAL,
				"toml: cannot encode array with nil element");
		if (i > 0)
			buffer_add_string(writer->out, ", ");
		code = write_element(writer, json_item(array, i), depth);
		if (code < 0)
			return code;
	}
	buffer_add_char(writer->out, ']');
	return 0;
}

static int fail_depth(struct writer *writer)
{
	return err_set(writer->err, -E2BIG, "toml: nested too deeply (limit %d)", TOML_DEPTH_MAX);
}

static int write_element(struct writer *writer, const struct json *value, unsigned depth)
{
	if (depth > TOML_DEPTH_MAX)
		return fail_depth(writer);
	switch (value->type) {
	case JSON_NULL: return err_set(writer->err, -EINVAL, "toml: cannot encode a nil value");
	case JSON_FALSE: buffer_add_string(writer->out, "false"); return 0;
	case JSON_TRUE: buffer_add_string(writer->out, "true"); return 0;
	case JSON_NUMBER: buffer_add_span(writer->out, value->text); return 0;
	case JSON_STRING: write_quoted(writer, value->text); return 0;
	case JSON_ARRAY: return write_list(writer, value, depth + 1);
	case JSON_OBJECT: return write_inline_table(writer, value, depth + 1);
	}
	return 0;
}

static int write_tables(struct writer *writer, const struct json *tables, const struct key *key)
{
	JSON_EACH_ITEM (tables, table) {
		int code;

		new_line(writer);
		write_indent(writer, key);
		buffer_add_string(writer->out, "[[");
		write_path(writer, key);
		buffer_add_string(writer->out, "]]\n");
		code = write_members(writer, table, key);
		if (code < 0)
			return code;
	}
	return 0;
}

static int write_member(struct writer *writer, const struct json *value, const struct key *key)
{
	int code;

	if (key->depth > TOML_DEPTH_MAX)
		return fail_depth(writer);
	if (is_table_list(value))
		return write_tables(writer, value, key);
	if (value->type == JSON_OBJECT) {
		if (key->depth == 1)
			new_line(writer);
		write_indent(writer, key);
		buffer_add_char(writer->out, '[');
		write_path(writer, key);
		buffer_add_string(writer->out, "]\n");
		return write_members(writer, value, key);
	}
	write_indent(writer, key);
	write_name(writer, key->name);
	buffer_add_string(writer->out, " = ");
	code = write_element(writer, value, key->depth);
	buffer_add_char(writer->out, '\n');
	return code;
}

static int write_members(struct writer *writer, const struct json *object, const struct key *key)
{
	_free_ const struct json_member **members = sorted_members(object);

	for (uint32_t i = 0; i < object->object.count; i++) {
		struct key inner = {key, members[i]->name, key ? key->depth + 1 : 1};
		int code;

		if (members[i]->value->type == JSON_NULL)
			continue;
		code = write_member(writer, members[i]->value, &inner);
		if (code < 0)
			return code;
	}
	return 0;
}

int toml_write(const struct json *value, struct buffer *out, struct err *err)
{
	struct writer writer = {out, err};
	int code;

	code = value->type == JSON_OBJECT ? write_members(&writer, value, NULL)
					  : write_element(&writer, value, 0);
	if (code < 0)
		return code;
	if (buffer_failed(out))
		return err_set(err, -E2BIG, "toml: the text is longer than %zu bytes", out->cap);
	return 0;
}
