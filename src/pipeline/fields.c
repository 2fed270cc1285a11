/* See the header. */
#include "pipeline/fields.h"

#include <stdio.h>

#include "base/memory.h"
#include "chart/time.h"

#define FIELDS_NAMES_MAX 64
#define FIELDS_WARNINGS_MAX 100
#define FIELDS_VALUES_MAX 100000
#define MILLISECOND_NS 1000000
#define PERCENT_MAX 100

int fields_fail(struct field_reader *reader, uint32_t line, const char *format, ...)
{
	char message[ERR_MESSAGE_MAX / 2];
	va_list list;

	va_start(list, format);
	vsnprintf(message, sizeof(message), format, list);
	va_end(list);
	return err_set(reader->err, -EINVAL, "%.*s:%u: %s", SPAN_ARGS(reader->file), line, message);
}

void fields_warn(struct field_reader *reader, uint32_t line, const char *format, ...)
{
	struct field_note *note;
	va_list list;

	if (reader->warnings.count >= FIELDS_WARNINGS_MAX)
		return;
	note = fields_append(reader->arena, &reader->warnings, sizeof(*note));
	note->line = line;
	va_start(list, format);
	note->text = arena_format_list(reader->arena, format, list);
	va_end(list);
}

void fields_refuse(struct field_reader *reader, uint32_t line, const char *format, ...)
{
	va_list list;

	if (reader->undeployable.text.data)
		return;
	reader->undeployable.line = line;
	va_start(list, format);
	reader->undeployable.text = arena_format_list(reader->arena, format, list);
	va_end(list);
}

void *fields_append(struct arena *arena, struct field_list *list, size_t size)
{
	/* Capacities are powers of two. */
	if ((list->count & (list->count - 1)) == 0) {
		size_t capacity = list->count == 0 ? 1 : list->count * 2;
		void *items = arena_allocate_array(arena, capacity, size);

		if (list->count > 0)
			memcpy(items, list->items, list->count * size);
		list->items = items;
	}
	return (char *)list->items + list->count++ * size;
}

struct span fields_suggest(struct arena *arena, struct span name, const struct span *known,
	size_t count)
{
	struct span nearest = span_nearest(name, known, count);

	return nearest.data ? arena_format(arena, "; did you mean \"%.*s\"?", SPAN_ARGS(nearest))
			    : SPAN("");
}

const struct json *fields_find(const struct json *object, const char *name)
{
	const struct json *exact = json_get(object, name);

	if (!json_is_absent(exact))
		return exact;
	for (size_t i = 0; json_is(object, JSON_OBJECT) && i < object->object.count; i++) {
		const struct json_member *member = &object->object.members[i];

		if (span_equal_ignoring_case(member->name, span_of(name)) &&
			!json_is_absent(member->value))
			return member->value;
	}
	return NULL;
}

bool fields_scalar_text(const struct json *value, struct span *ret_text)
{
	if (json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER))
		*ret_text = value->text;
	else if (json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE))
		*ret_text = value->type == JSON_TRUE ? SPAN("true") : SPAN("false");
	else
		return false;
	return true;
}

static int fail_type(struct field_reader *reader, const char *path, const struct json *value,
	const char *expected)
{
	return fields_fail(reader, value->line, "%s: expected %s, not %s", path, expected,
		json_type_name(value->type));
}

static int count_value(struct field_reader *reader, const struct json *value)
{
	if (++reader->values > FIELDS_VALUES_MAX)
		return fields_fail(reader, value->line, "more than %d values", FIELDS_VALUES_MAX);
	return 0;
}

static int read_texts(struct field_reader *reader, const char *path, const struct json *value,
	struct field_list *list)
{
	if (value->type != JSON_ARRAY)
		return fail_type(reader, path, value, "a list of texts");
	JSON_EACH_ITEM (value, item) {
		int code = count_value(reader, item);

		if (code < 0)
			return code;
		if (item->type != JSON_STRING)
			return fail_type(reader, path, item, "a text in each item");
		*(struct span *)fields_append(reader->arena, list, sizeof(struct span)) =
			item->text;
	}
	return 0;
}

static int read_pairs(struct field_reader *reader, const char *path, const struct json *value,
	struct field_list *list)
{
	if (value->type != JSON_OBJECT)
		return fail_type(reader, path, value, "a mapping of texts");
	for (size_t i = 0; i < value->object.count; i++) {
		const struct json_member *member = &value->object.members[i];
		struct field_pair *pair;
		int code = count_value(reader, member->value);

		if (code < 0)
			return code;
		if (member->value->type != JSON_STRING)
			return fail_type(reader, path, member->value, "a text in each value");
		pair = fields_append(reader->arena, list, sizeof(*pair));
		*pair = (struct field_pair){member->name, member->value->text};
	}
	return 0;
}

static int read_percent(struct field_reader *reader, const char *path, const struct json *value,
	int64_t *ret_percent)
{
	struct span text = json_text(value);
	int64_t percent = -1;
	uint64_t number;

	if (text.data) {
		if (span_ends_with(text, SPAN("%")))
			text.length--;
		if (span_to_unsigned(text, PERCENT_MAX, &number))
			percent = (int64_t)number;
	} else if (value->type != JSON_NUMBER) {
		return fail_type(reader, path, value, "a percentage such as 20 or \"20%\"");
	} else if (!json_integer(value, &percent)) {
		percent = -1;
	}
	if (percent < 0 || percent > PERCENT_MAX)
		return fields_fail(reader, value->line,
			"%s: expected a whole percentage from 0 to 100", path);
	*ret_percent = percent;
	return 0;
}

static int read_duration(struct field_reader *reader, const char *path, const struct json *value,
	int64_t *ret_ms)
{
	int64_t nanoseconds;

	/* PipeCD takes a bare number as nanoseconds, which no application file means. */
	if (value->type != JSON_STRING || !duration_parse(value->text, &nanoseconds) ||
		nanoseconds < 0)
		return fields_fail(reader, value->line,
			"%s: expected a duration with its unit, such as \"30s\" or \"1h30m\"",
			path);
	*ret_ms = nanoseconds / MILLISECOND_NS;
	return 0;
}

static int read_choice(struct field_reader *reader, const struct field *field, const char *path,
	const struct json *value, int *ret_index)
{
	struct span known[FIELDS_NAMES_MAX];
	size_t count = 0;

	if (value->type != JSON_STRING)
		return fail_type(reader, path, value, "a text");
	for (; count < FIELDS_NAMES_MAX && field->choices[count]; count++) {
		known[count] = span_of(field->choices[count]);
		if (span_equal(value->text, known[count])) {
			*ret_index = (int)count;
			return 0;
		}
	}
	return fields_fail(reader, value->line, "%s: unknown value \"%.*s\"%s", path,
		SPAN_ARGS(value->text),
		fields_suggest(reader->arena, value->text, known, count).data);
}

static int read_many(struct field_reader *reader, const struct field_table *table, const char *path,
	const struct json *value, struct field_list *list)
{
	size_t index = 0;

	if (value->type != JSON_ARRAY)
		return fail_type(reader, path, value, "a list");
	JSON_EACH_ITEM (value, item) {
		void *structure;
		int code = count_value(reader, item);

		if (code < 0)
			return code;
		structure = fields_append(reader->arena, list, table->size);
		if (table->defaults)
			memcpy(structure, table->defaults, table->size);
		code = fields_read(reader, table,
			arena_format(reader->arena, "%s[%zu]", path, index++).data, item,
			structure);
		if (code < 0)
			return code;
	}
	return 0;
}

static int read_field(struct field_reader *reader, const struct field *field, const char *path,
	const struct json *value, void *place)
{
	switch (field->type) {
	case FIELD_TEXT:
		if (value->type != JSON_STRING)
			return fail_type(reader, path, value, "a text");
		*(struct span *)place = value->text;
		return 0;
	case FIELD_TEXTS: return read_texts(reader, path, value, place);
	case FIELD_PAIRS: return read_pairs(reader, path, value, place);
	case FIELD_BOOL:
		if (value->type != JSON_TRUE && value->type != JSON_FALSE)
			return fail_type(reader, path, value, "true or false");
		*(bool *)place = value->type == JSON_TRUE;
		return 0;
	case FIELD_COUNT:
		if (!json_integer(value, place) || *(int64_t *)place < 0)
			return fail_type(reader, path, value,
				"a whole number that is not negative");
		return 0;
	case FIELD_NUMBER:
		if (!json_double(value, place))
			return fail_type(reader, path, value, "a number");
		return 0;
	case FIELD_PERCENT: return read_percent(reader, path, value, place);
	case FIELD_DURATION: return read_duration(reader, path, value, place);
	case FIELD_CHOICE: return read_choice(reader, field, path, value, place);
	case FIELD_ONE: return fields_read(reader, field->inner, path, value, place);
	case FIELD_MANY: return read_many(reader, field->inner, path, value, place);
	case FIELD_VALUE: *(const struct json **)place = value; return 0;
	}
	return 0;
}

static const struct field *find_field(const struct field_table *table, struct span name)
{
	for (size_t i = 0; i < table->count; i++) {
		if (span_equal_ignoring_case(span_of(table->fields[i].name), name))
			return &table->fields[i];
	}
	return NULL;
}

static int fail_unknown(struct field_reader *reader, const struct field_table *table,
	const char *path, const struct json_member *member)
{
	struct span known[FIELDS_NAMES_MAX];
	size_t count = 0;

	for (; count < table->count && count < FIELDS_NAMES_MAX; count++)
		known[count] = span_of(table->fields[count].name);
	return fields_fail(reader, member->value->line, "%s%sunknown key \"%.*s\"%s", path,
		*path ? ": " : "", SPAN_ARGS(member->name),
		fields_suggest(reader->arena, member->name, known, count).data);
}

int fields_read(struct field_reader *reader, const struct field_table *table, const char *path,
	const struct json *object, void *structure)
{
	const char *inner;
	int code;

	if (object->type != JSON_OBJECT)
		return fail_type(reader, *path ? path : "the file", object, "a mapping");
	for (size_t i = 0; i < object->object.count; i++) {
		const struct json_member *member = &object->object.members[i];
		const struct field *field = find_field(table, member->name);

		code = count_value(reader, member->value);
		if (code < 0)
			return code;
		if (!field)
			return fail_unknown(reader, table, path, member);
		/* The exact spelling wins over another one beside it. */
		if (fields_find(object, field->name) != member->value)
			continue;
		inner = arena_format(reader->arena, "%s%s%s", path, *path ? "." : "", field->name)
				.data;
		if (field->undeployable)
			fields_refuse(reader, member->value->line, "%s: %s", inner,
				field->undeployable);
		if (field->warning)
			fields_warn(reader, member->value->line, "%s: %s", inner, field->warning);
		code = read_field(reader, field, inner, member->value,
			(char *)structure + field->offset);
		if (code < 0)
			return code;
	}
	for (size_t i = 0; i < table->count; i++) {
		if (table->fields[i].required && !fields_find(object, table->fields[i].name))
			return fields_fail(reader, object->line, "%s%s%s is missing", path,
				*path ? "." : "", table->fields[i].name);
	}
	return 0;
}
