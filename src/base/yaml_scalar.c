#include "base/yaml_scalar.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/memory.h"

/* Words */

static const struct word {
	const char *text;
	struct yaml_scalar value;
} words[] = {
#define WORD(word, ...)                                                                            \
	{                                                                                          \
		word,                                                                              \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define TRUE_WORD(word) WORD(word, .kind = YAML_SCALAR_BOOL, .boolean = true)
#define FALSE_WORD(word) WORD(word, .kind = YAML_SCALAR_BOOL)
#define NULL_WORD(word) WORD(word, .kind = YAML_SCALAR_NULL)
#define FLOAT_WORD(word, value) WORD(word, .kind = YAML_SCALAR_FLOAT, .number = value)
	TRUE_WORD("y"),
	TRUE_WORD("Y"),
	TRUE_WORD("yes"),
	TRUE_WORD("Yes"),
	TRUE_WORD("YES"),
	TRUE_WORD("true"),
	TRUE_WORD("True"),
	TRUE_WORD("TRUE"),
	TRUE_WORD("on"),
	TRUE_WORD("On"),
	TRUE_WORD("ON"),
	FALSE_WORD("n"),
	FALSE_WORD("N"),
	FALSE_WORD("no"),
	FALSE_WORD("No"),
	FALSE_WORD("NO"),
	FALSE_WORD("false"),
	FALSE_WORD("False"),
	FALSE_WORD("FALSE"),
	FALSE_WORD("off"),
	FALSE_WORD("Off"),
	FALSE_WORD("OFF"),
	NULL_WORD(""),
	NULL_WORD("~"),
	NULL_WORD("null"),
	NULL_WORD("Null"),
	NULL_WORD("NULL"),
	FLOAT_WORD(".nan", NAN),
	FLOAT_WORD(".NaN", NAN),
	FLOAT_WORD(".NAN", NAN),
	FLOAT_WORD(".inf", INFINITY),
	FLOAT_WORD(".Inf", INFINITY),
	FLOAT_WORD(".INF", INFINITY),
	FLOAT_WORD("+.inf", INFINITY),
	FLOAT_WORD("+.Inf", INFINITY),
	FLOAT_WORD("+.INF", INFINITY),
	FLOAT_WORD("-.inf", -INFINITY),
	FLOAT_WORD("-.Inf", -INFINITY),
	FLOAT_WORD("-.INF", -INFINITY),
};

#define WORD_LENGTH_MAX 5

static bool find_word(struct span text, struct yaml_scalar *ret_value)
{
	if (text.length > WORD_LENGTH_MAX)
		return false;
	for (size_t i = 0; i < LENGTH(words); i++) {
		if (span_is(text, words[i].text)) {
			*ret_value = words[i].value;
			return true;
		}
	}
	return false;
}

/* Timestamps */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

struct cursor {
	const char *at, *end;
};

static bool take_char(struct cursor *cursor, char c)
{
	if (cursor->at == cursor->end || *cursor->at != c)
		return false;
	cursor->at++;
	return true;
}

/* One or two digits. */
static bool take_number(struct cursor *cursor, unsigned *ret_number)
{
	unsigned number;

	if (cursor->at == cursor->end || !is_digit(*cursor->at))
		return false;
	number = (unsigned)(*cursor->at++ - '0');
	if (cursor->at < cursor->end && is_digit(*cursor->at))
		number = number * 10 + (unsigned)(*cursor->at++ - '0');
	*ret_number = number;
	return true;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
	static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

static bool take_date(struct cursor *cursor)
{
	unsigned year = 0, month, day;

	for (int i = 0; i < 4; i++) {
		if (cursor->at == cursor->end || !is_digit(*cursor->at))
			return false;
		year = year * 10 + (unsigned)(*cursor->at++ - '0');
	}
	return take_char(cursor, '-') && take_number(cursor, &month) && month >= 1 && month <= 12 &&
	       take_char(cursor, '-') && take_number(cursor, &day) && day >= 1 &&
	       day <= days_in_month(year, month);
}

static bool take_time(struct cursor *cursor)
{
	unsigned hour, minute, second;

	if (!take_number(cursor, &hour) || hour > 23 || !take_char(cursor, ':') ||
		!take_number(cursor, &minute) || minute > 59 || !take_char(cursor, ':') ||
		!take_number(cursor, &second) || second > 59)
		return false;
	if (cursor->end - cursor->at >= 2 && (*cursor->at == '.' || *cursor->at == ',') &&
		is_digit(cursor->at[1])) {
		cursor->at++;
		while (cursor->at < cursor->end && is_digit(*cursor->at))
			cursor->at++;
	}
	return true;
}

static bool take_zone(struct cursor *cursor)
{
	const char *at = cursor->at;

	if (take_char(cursor, 'Z'))
		return true;
	if (cursor->end - at < 6 || (at[0] != '+' && at[0] != '-') || at[3] != ':' ||
		!is_digit(at[1]) || !is_digit(at[2]) || !is_digit(at[4]) || !is_digit(at[5]))
		return false;
	if ((at[1] - '0') * 10 + at[2] - '0' > 24 || (at[4] - '0') * 10 + at[5] - '0' > 60)
		return false;
	cursor->at += 6;
	return true;
}

bool yaml_scalar_is_timestamp(struct span text)
{
	struct cursor cursor = {text.data, text.data + text.length};

	if (!take_date(&cursor))
		return false;
	if (cursor.at == cursor.end)
		return true;
	if (take_char(&cursor, 'T') || take_char(&cursor, 't'))
		return take_time(&cursor) && take_zone(&cursor) && cursor.at == cursor.end;
	if (!take_char(&cursor, ' '))
		return false;
	while (take_char(&cursor, ' '))
		;
	return take_time(&cursor) && cursor.at == cursor.end;
}

/* Numbers */

static int digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 10;
	return 99;
}

/* Digits of a base, at least one of them; false if there is anything else or it passes 64 bits. */
static bool read_digits(struct span text, unsigned base, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (text.length == 0)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		unsigned digit = (unsigned)digit_value(text.data[i]);

		if (digit >= base || __builtin_mul_overflow(number, base, &number) ||
			__builtin_add_overflow(number, digit, &number))
			return false;
	}
	*ret_number = number;
	return true;
}

static struct span skip(struct span text, size_t length)
{
	return (struct span){text.data + length, text.length - length};
}

/* The digits and the base by the prefix: 0x, 0o, 0b, and 0 alone for octal. */
static bool read_prefixed(struct span text, uint64_t *ret_number)
{
	unsigned base = 10;

	if (text.length >= 2 && text.data[0] == '0') {
		char mark = (char)(text.data[1] | 0x20);

		base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
		text = base != 0 ? skip(text, 2) : skip(text, 1);
		base = base != 0 ? base : 8;
	}
	return read_digits(text, base, ret_number);
}

static void set_integer(uint64_t magnitude, bool negative, struct yaml_scalar *value)
{
	if (magnitude > INT64_MAX && !negative) {
		value->kind = YAML_SCALAR_UNSIGNED;
		value->natural = magnitude;
		return;
	}
	value->kind = YAML_SCALAR_INTEGER;
	value->integer = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
}

static bool resolve_integer(struct span text, struct yaml_scalar *value)
{
	bool negative = text.length > 0 && text.data[0] == '-';
	bool has_sign = negative || (text.length > 0 && text.data[0] == '+');
	uint64_t magnitude;

	if (!read_prefixed(has_sign ? skip(text, 1) : text, &magnitude))
		return false;
	if (has_sign && magnitude > (uint64_t)INT64_MAX + negative)
		return false;
	set_integer(magnitude, negative, value);
	return true;
}

/* The library reads "0b" with a sign behind it, too. */
static bool resolve_signed_binary(struct span text, struct yaml_scalar *value)
{
	uint64_t magnitude;
	bool negative;

	if (text.length < 4 || memcmp(text.data, "0b", 2) != 0 ||
		(text.data[2] != '+' && text.data[2] != '-'))
		return false;
	negative = text.data[2] == '-';
	if (!read_digits(skip(text, 3), 2, &magnitude) ||
		magnitude > (uint64_t)INT64_MAX + negative)
		return false;
	set_integer(magnitude, negative, value);
	return true;
}

static const char *skip_digits(const char *at, const char *end)
{
	while (at < end && is_digit(*at))
		at++;
	return at;
}

/* [-+]? (. digits | digits (. digits?)?) ([eE] [-+]? digits)? */
static bool is_float(struct span text)
{
	const char *at = text.data, *end = text.data + text.length, *start;

	if (at < end && (*at == '-' || *at == '+'))
		at++;
	start = at;
	at = skip_digits(at, end);
	if (at < end && *at == '.') {
		const char *fraction = ++at;

		at = skip_digits(at, end);
		if (fraction - start == 1 && at == fraction)
			return false;
	} else if (at == start) {
		return false;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		if (at < end && (*at == '-' || *at == '+'))
			at++;
		start = at;
		at = skip_digits(at, end);
		if (at == start)
			return false;
	}
	return at == end;
}

/* False if it is beyond the range of a double. */
static bool resolve_float(struct span text, struct yaml_scalar *value)
{
	_buffer_ struct buffer copy = {0};
	double number;

	if (!is_float(text))
		return false;
	buffer_add_span(&copy, text);
	number = strtod(copy.data, NULL);
	if (!isfinite(number))
		return false;
	value->kind = YAML_SCALAR_FLOAT;
	value->number = number;
	return true;
}

/* An underscore must stand between digits. */
static bool underscores_separate_digits(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '_' &&
			(i == 0 || i + 1 == text.length || !is_digit(text.data[i - 1]) ||
				!is_digit(text.data[i + 1])))
			return false;
	}
	return true;
}

static void remove_underscores(struct span text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] != '_')
			buffer_add_char(out, text.data[i]);
	}
}

static bool resolve_number(struct span text, struct yaml_scalar *value)
{
	_buffer_ struct buffer copy = {0};
	struct span plain = text;

	if (text.data[0] == '.' && !underscores_separate_digits(text))
		return false;
	if (memchr(text.data, '_', text.length)) {
		remove_underscores(text, &copy);
		plain = buffer_span(&copy);
	}
	if (text.data[0] == '.')
		return resolve_float(plain, value);
	return resolve_integer(plain, value) || resolve_float(plain, value) ||
	       resolve_signed_binary(plain, value);
}

struct yaml_scalar yaml_scalar_resolve(struct span text)
{
	struct yaml_scalar value = {.kind = YAML_SCALAR_STRING};
	char first = text.length > 0 ? text.data[0] : '\0';

	if (!find_word(text, &value) &&
		(is_digit(first) || first == '-' || first == '+' || first == '.')) {
		if (is_digit(first) && yaml_scalar_is_timestamp(text))
			value.kind = YAML_SCALAR_TIMESTAMP;
		else
			resolve_number(text, &value);
	}
	value.text = text;
	return value;
}
