/*
 * Values: looking into them, building them, comparing them. Parsing is in json_parse.c, writing in
 * json_write.c.
 *
 * A built array or object has room for `capacity` entries and moves to twice the room when it is full;
 * a built object with room for more than JSON_TABLE_THRESHOLD members has a table of all of them.
 * A parsed one has capacity 0, so that the first change moves it to memory of its own.
 */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/json_table.h"
#include "base/memory.h"

#define FIRST_CAPACITY 4
#define DOUBLE_TEXT_MAX 32

/* Reading */

static uint32_t find_member(const struct json *object, struct span name)
{
	const struct json_member *members = object->object.members;

	if (object->object.table)
		return json_table_find(object->object.table, members, name);
	for (uint32_t i = 0; i < object->object.count; i++) {
		if (span_equal(members[i].name, name))
			return i;
	}
	return JSON_TABLE_NOT_FOUND;
}

const struct json *json_get_span(const struct json *object, struct span name)
{
	uint32_t index;

	if (!json_is(object, JSON_OBJECT))
		return NULL;
	index = find_member(object, name);
	return index == JSON_TABLE_NOT_FOUND ? NULL : object->object.members[index].value;
}

const struct json *json_get(const struct json *object, const char *name)
{
	return json_get_span(object, span_of(name));
}

const struct json *json_path(const struct json *object, const char *path)
{
	for (;;) {
		const char *dot = strchrnul(path, '.');

		object = json_get_span(object, (struct span){path, (size_t)(dot - path)});
		if (!object || !*dot)
			return object;
		path = dot + 1;
	}
}

struct span json_text(const struct json *value)
{
	return json_is(value, JSON_STRING) ? value->text : SPAN_NONE;
}

struct span json_get_text(const struct json *object, const char *name)
{
	return json_text(json_get(object, name));
}

bool json_is_true(const struct json *value)
{
	return json_is(value, JSON_TRUE);
}

bool json_get_bool(const struct json *object, const char *name, bool otherwise)
{
	const struct json *value = json_get(object, name);

	if (json_is(value, JSON_TRUE))
		return true;
	return json_is(value, JSON_FALSE) ? false : otherwise;
}

bool json_integer(const struct json *value, int64_t *ret_integer)
{
	struct span digits;
	bool negative;
	uint64_t most, magnitude;

	if (!json_is(value, JSON_NUMBER))
		return false;
	digits = value->text;
	negative = digits.length > 0 && digits.data[0] == '-';
	if (negative) {
		digits.data++;
		digits.length--;
	}
	most = (uint64_t)INT64_MAX + (negative ? 1 : 0);
	if (!span_to_unsigned(digits, most, &magnitude))
		return false;
	/* Unsigned negation, because -INT64_MIN does not exist. */
	*ret_integer = (int64_t)(negative ? 0 - magnitude : magnitude);
	return true;
}

int64_t json_get_integer(const struct json *object, const char *name, int64_t otherwise)
{
	int64_t integer = otherwise;

	json_integer(json_get(object, name), &integer);
	return integer;
}

bool json_double(const struct json *value, double *ret_number)
{
	char text[DOUBLE_TEXT_MAX + 1];
	_free_ char *long_text = NULL;
	double number;

	if (!json_is(value, JSON_NUMBER))
		return false;
	if (value->text.length <= DOUBLE_TEXT_MAX) {
		memcpy(text, value->text.data, value->text.length);
		text[value->text.length] = '\0';
		number = strtod(text, NULL);
	} else {
		long_text = memory_copy_string_n(value->text.data, value->text.length);
		number = strtod(long_text, NULL);
	}
	if (!isfinite(number))
		return false;
	*ret_number = number;
	return true;
}

size_t json_count(const struct json *value)
{
	if (json_is(value, JSON_OBJECT))
		return value->object.count;
	return json_array_count(value);
}

size_t json_array_count(const struct json *value)
{
	return json_is(value, JSON_ARRAY) ? value->array.count : 0;
}

const struct json *json_item(const struct json *array, size_t index)
{
	return index < json_array_count(array) ? array->array.items[index] : NULL;
}

const struct json *const *json_begin(const struct json *value)
{
	static const struct json *const nothing[1];

	if (json_array_count(value) == 0)
		return nothing;
	return (const struct json *const *)value->array.items;
}

const char *json_type_name(enum json_type type)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",
		[JSON_FALSE] = "a boolean",
		[JSON_TRUE] = "a boolean",
		[JSON_NUMBER] = "a number",
		[JSON_STRING] = "a string",
		[JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object",
	};

	return names[type];
}

/* Comparing */

/* A number as digits * 10^exponent with neither leading nor trailing zeros; zero has no digits. The
 * digits stay in the text and may have the point among them. */
struct decimal {
	bool negative;
	const char *first;
	const char *end;
	int64_t exponent;
	/* Set when the exponent as written is beyond anything that can be reckoned with: then
	 * `exponent` lacks it, and two numbers are the same only if it is written the same. */
	struct span extreme;
	bool extreme_negative;
};

#define EXPONENT_DIGITS_MAX 15

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void decimal_read_exponent(struct decimal *decimal, struct span text)
{
	bool negative = text.data[0] == '-';

	if (negative || text.data[0] == '+') {
		text.data++;
		text.length--;
	}
	while (text.length > 0 && text.data[0] == '0') {
		text.data++;
		text.length--;
	}
	if (text.length > EXPONENT_DIGITS_MAX) {
		decimal->extreme = text;
		decimal->extreme_negative = negative;
		return;
	}
	for (size_t i = 0; i < text.length; i++)
		decimal->exponent = decimal->exponent * 10 + (text.data[i] - '0');
	if (negative)
		decimal->exponent = -decimal->exponent;
}

static struct decimal decimal_of(struct span text)
{
	struct decimal decimal = {0};
	const char *at = text.data, *end = text.data + text.length;
	const char *point = NULL, *mantissa_end;

	if (at < end && *at == '-') {
		decimal.negative = true;
		at++;
	}
	decimal.first = at;
	for (; at < end && (is_digit(*at) || *at == '.'); at++) {
		if (*at == '.')
			point = at;
	}
	mantissa_end = at;
	if (at < end)
		decimal_read_exponent(&decimal, (struct span){at + 1, (size_t)(end - at - 1)});
	if (point)
		decimal.exponent -= mantissa_end - (point + 1);
	decimal.end = mantissa_end;
	while (decimal.first < decimal.end && (*decimal.first == '0' || *decimal.first == '.'))
		decimal.first++;
	while (decimal.end > decimal.first && (decimal.end[-1] == '0' || decimal.end[-1] == '.')) {
		decimal.end--;
		if (*decimal.end == '0')
			decimal.exponent++;
	}
	return decimal;
}

/* Exact, whatever the number of digits: 1, 1.0 and 10e-1 are the same, 2^53 and 2^53 + 1 are not. */
static bool number_equal(struct span a_text, struct span b_text)
{
	struct decimal a, b;
	const char *x, *y;

	if (span_equal(a_text, b_text))
		return true;
	a = decimal_of(a_text);
	b = decimal_of(b_text);
	if (a.first == a.end || b.first == b.end)
		return a.first == a.end && b.first == b.end;
	if (a.negative != b.negative || a.exponent != b.exponent ||
		a.extreme_negative != b.extreme_negative || !span_equal(a.extreme, b.extreme))
		return false;
	for (x = a.first, y = b.first; x < a.end && y < b.end; x++, y++) {
		x += *x == '.';
		y += *y == '.';
		if (*x != *y)
			return false;
	}
	return x == a.end && y == b.end;
}

static bool array_equal(const struct json *a, const struct json *b)
{
	if (a->array.count != b->array.count)
		return false;
	for (uint32_t i = 0; i < a->array.count; i++) {
		if (!json_equal(a->array.items[i], b->array.items[i]))
			return false;
	}
	return true;
}

static bool object_equal(const struct json *a, const struct json *b)
{
	if (a->object.count != b->object.count)
		return false;
	for (uint32_t i = 0; i < a->object.count; i++) {
		const struct json_member *member = &a->object.members[i];
		const struct json *other = json_get_span(b, member->name);

		if (!other || !json_equal(member->value, other))
			return false;
	}
	return true;
}

bool json_equal(const struct json *a, const struct json *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->type != b->type)
		return false;
	switch (a->type) {
	case JSON_NUMBER: return number_equal(a->text, b->text);
	case JSON_STRING: return span_equal(a->text, b->text);
	case JSON_ARRAY: return array_equal(a, b);
	case JSON_OBJECT: return object_equal(a, b);
	default: return true;
	}
}

/* Building */

static struct json *new_value(struct arena *arena, enum json_type type)
{
	struct json *value = arena_allocate(arena, sizeof(*value));

	value->type = type;
	return value;
}

struct json *json_new_null(struct arena *arena)
{
	return new_value(arena, JSON_NULL);
}

struct json *json_new_bool(struct arena *arena, bool value)
{
	return new_value(arena, value ? JSON_TRUE : JSON_FALSE);
}

struct json *json_new_integer(struct arena *arena, int64_t value)
{
	struct json *number = new_value(arena, JSON_NUMBER);

	number->text = arena_format(arena, "%" PRId64, value);
	return number;
}

/* The shortest text that reads back as the same number; null for what JSON has no number for. */
struct json *json_new_double(struct arena *arena, double value)
{
	struct json *number;
	char text[DOUBLE_TEXT_MAX];

	if (!isfinite(value))
		return json_new_null(arena);
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	number = new_value(arena, JSON_NUMBER);
	number->text = arena_copy_span(arena, span_of(text));
	return number;
}

struct json *json_new_string(struct arena *arena, struct span text)
{
	struct json *string = new_value(arena, JSON_STRING);

	string->text = arena_copy_span(arena, text.data ? text : SPAN(""));
	return string;
}

struct json *json_new_format(struct arena *arena, const char *format, ...)
{
	struct json *string = new_value(arena, JSON_STRING);
	va_list list;

	va_start(list, format);
	string->text = arena_format_list(arena, format, list);
	va_end(list);
	return string;
}

struct json *json_new_array(struct arena *arena)
{
	return new_value(arena, JSON_ARRAY);
}

struct json *json_new_object(struct arena *arena)
{
	return new_value(arena, JSON_OBJECT);
}

static uint32_t next_capacity(uint32_t count)
{
	assert(count <= UINT32_MAX / 4);
	return count < FIRST_CAPACITY ? FIRST_CAPACITY : count * 2;
}

void json_append(struct arena *arena, struct json *array, const struct json *item)
{
	assert(array->type == JSON_ARRAY);
	if (!item)
		return;
	if (array->array.count >= array->array.capacity) {
		uint32_t capacity = next_capacity(array->array.count);
		struct json **items = arena_allocate_array(arena, capacity, sizeof(*items));

		if (array->array.count > 0)
			memcpy(items, array->array.items, array->array.count * sizeof(*items));
		array->array.items = items;
		array->array.capacity = capacity;
	}
	array->array.items[array->array.count++] = (struct json *)item;
}

static void index_members(struct json *object)
{
	if (!object->object.table)
		return;
	for (uint32_t i = 0; i < object->object.count; i++)
		json_table_add(object->object.table, object->object.members, i);
}

/* Moves the members to new memory with room for `capacity` of them, and makes the table anew. */
static void move_members(struct arena *arena, struct json *object, uint32_t capacity)
{
	struct json_member *members = arena_allocate_array(arena, capacity, sizeof(*members));

	if (object->object.count > 0)
		memcpy(members, object->object.members, object->object.count * sizeof(*members));
	object->object.members = members;
	object->object.capacity = capacity;
	object->object.table = NULL;
	if (capacity > JSON_TABLE_THRESHOLD) {
		object->object.table = arena_allocate(arena, json_table_size(capacity));
		json_table_init(object->object.table, capacity, json_table_seed());
	}
	index_members(object);
}

void json_set(struct arena *arena, struct json *object, const char *name, const struct json *value)
{
	uint32_t index;

	assert(object->type == JSON_OBJECT);
	if (!value)
		return;
	index = find_member(object, span_of(name));
	if (index != JSON_TABLE_NOT_FOUND) {
		object->object.members[index].value = (struct json *)value;
		return;
	}
	if (object->object.count >= object->object.capacity)
		move_members(arena, object, next_capacity(object->object.count));
	index = object->object.count++;
	object->object.members[index] = (struct json_member){
		.name = arena_copy_span(arena, span_of(name)),
		.value = (struct json *)value,
	};
	if (object->object.table)
		json_table_add(object->object.table, object->object.members, index);
}

void json_set_string(struct arena *arena, struct json *object, const char *name, struct span text)
{
	json_set(arena, object, name, json_new_string(arena, text));
}

void json_set_integer(struct arena *arena, struct json *object, const char *name, int64_t value)
{
	json_set(arena, object, name, json_new_integer(arena, value));
}

void json_set_bool(struct arena *arena, struct json *object, const char *name, bool value)
{
	json_set(arena, object, name, json_new_bool(arena, value));
}

void json_set_time(struct arena *arena, struct json *object, const char *name, int64_t milliseconds)
{
	uint64_t magnitude = milliseconds < 0 ? 0 - (uint64_t)milliseconds : (uint64_t)milliseconds;
	struct json *number = new_value(arena, JSON_NUMBER);

	number->text = arena_format(arena, "%s%" PRIu64 ".%03" PRIu64, milliseconds < 0 ? "-" : "",
		magnitude / 1000, magnitude % 1000);
	json_set(arena, object, name, number);
}

struct json *json_copy_object(struct arena *arena, const struct json *object)
{
	struct json *copy = json_new_object(arena);

	if (!json_is(object, JSON_OBJECT))
		return copy;
	*copy = *object;
	/* Room for a few more: a copy is made to be changed. */
	move_members(arena, copy, object->object.count + FIRST_CAPACITY);
	return copy;
}

void json_unset(struct json *object, const char *name)
{
	uint32_t index;

	if (!json_is(object, JSON_OBJECT))
		return;
	index = find_member(object, span_of(name));
	if (index == JSON_TABLE_NOT_FOUND)
		return;
	object->object.count--;
	memmove(&object->object.members[index], &object->object.members[index + 1],
		(object->object.count - index) * sizeof(struct json_member));
	if (object->object.table) {
		json_table_empty(object->object.table);
		index_members(object);
	}
}
