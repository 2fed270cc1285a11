/* See number.h. */
#include "chart/number.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/memory.h"
#include "chart/value.h"

/* Digits that a double can need in full: 1074 behind the point, 309 before it. */
#define FLOAT_TEXT_MAX 1500
/* The largest precision that is computed; more only adds zeros. */
#define FLOAT_PRECISION_MAX 1100

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 10;
	return 99;
}

/* Underscores may stand between digits and behind a base prefix. */
static bool underscores_fit(struct span text)
{
	char before = '^';

	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (c == '_') {
			if (before != '0')
				return false;
			before = '_';
		} else if (isalnum((unsigned char)c)) {
			before = '0';
		} else {
			if (before == '_')
				return false;
			before = '!';
		}
	}
	return before != '_';
}

static bool cut_prefix(struct span *text, char letter)
{
	if (text->length < 2 || text->data[0] != '0' || (text->data[1] | 32) != letter)
		return false;
	*text = (struct span){text->data + 2, text->length - 2};
	return true;
}

bool number_parse_integer(struct span text, int base, int64_t *ret_integer)
{
	bool negative = false, any = false, underscores = base == 0;
	uint64_t value = 0;
	uint64_t limit;

	if (text.length && (text.data[0] == '+' || text.data[0] == '-')) {
		negative = text.data[0] == '-';
		text = (struct span){text.data + 1, text.length - 1};
	}
	if (base == 0) {
		if (!underscores_fit(text))
			return false;
		base = 10;
		if (cut_prefix(&text, 'x'))
			base = 16;
		else if (cut_prefix(&text, 'o'))
			base = 8;
		else if (cut_prefix(&text, 'b'))
			base = 2;
		else if (text.length > 1 && text.data[0] == '0')
			base = 8;
	}
	limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
	for (size_t i = 0; i < text.length; i++) {
		int digit = digit_value(text.data[i]);

		if (underscores && text.data[i] == '_')
			continue;
		if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
			__builtin_add_overflow(value, (uint64_t)digit, &value) || value > limit)
			return false;
		any = true;
	}
	if (!any)
		return false;
	*ret_integer = negative ? (int64_t)(0 - value) : (int64_t)value;
	return true;
}

static bool is_special_float(struct span text, double *ret_number)
{
	bool negative = text.length && text.data[0] == '-';

	if (text.length && (text.data[0] == '+' || text.data[0] == '-'))
		text = (struct span){text.data + 1, text.length - 1};
	if (span_equal_ignoring_case(text, SPAN("inf")) ||
		span_equal_ignoring_case(text, SPAN("infinity"))) {
		*ret_number = negative ? -INFINITY : INFINITY;
		return true;
	}
	if (span_equal_ignoring_case(text, SPAN("nan"))) {
		*ret_number = NAN;
		return true;
	}
	return false;
}

bool number_parse_float_strict(struct span text, double *ret_number)
{
	char copy[FLOAT_TEXT_MAX];
	size_t length = 0;
	bool digits = false, hexadecimal, exponent = false;
	char *end;
	double number;

	if (is_special_float(text, ret_number))
		return true;
	if (text.length == 0 || text.length >= sizeof(copy) - 1)
		return false;
	hexadecimal =
		memmem(text.data, text.length, "0x", 2) || memmem(text.data, text.length, "0X", 2);
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (c == '_' && hexadecimal)
			continue;
		if (isdigit((unsigned char)c))
			digits = true;
		else if (hexadecimal && (c == 'p' || c == 'P'))
			exponent = true;
		else if (!strchr(hexadecimal ? "+-.xXabcdefABCDEFpP" : "+-.eE", c))
			return false;
		copy[length++] = c;
	}
	copy[length] = '\0';
	if (!digits || (hexadecimal && !exponent))
		return false;
	number = strtod(copy, &end);
	if (*end || isinf(number))
		return false;
	*ret_number = number;
	return true;
}

double number_parse_float(struct span text)
{
	double number;

	return number_parse_float_strict(text, &number) ? number : 0;
}

/* The digits of |number| without point and trailing zeros: 0.d1d2d3… × 10^point. */
struct decimal {
	char digits[FLOAT_TEXT_MAX];
	int count;
	int point;
};

static void read_scientific(const char *text, struct decimal *decimal)
{
	int count = 0;
	const char *c = text;

	for (; *c && *c != 'e'; c++)
		if (*c != '.')
			decimal->digits[count++] = *c;
	decimal->point = atoi(c + 1) + 1;
	while (count > 1 && decimal->digits[count - 1] == '0')
		count--;
	if (count == 1 && decimal->digits[0] == '0')
		decimal->point = count = 0;
	decimal->count = count;
}

static void shortest_decimal(double number, struct decimal *decimal)
{
	char text[64];

	/* A text of 15 digits that reads back is, without its zeros, the shortest; the smallest numbers
	 * have fewer bits and may need fewer digits than that. */
	for (int precision = number < 1e-290 ? 0 : 14; precision <= 16; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, number);
		if (strtod(text, NULL) == number)
			break;
	}
	read_scientific(text, decimal);
}

static void round_decimal(double number, char format, int precision, struct decimal *decimal)
{
	char text[FLOAT_TEXT_MAX + 64];
	int kept = precision > FLOAT_PRECISION_MAX ? FLOAT_PRECISION_MAX : precision;

	if (format == 'f') {
		char *point;
		int count = 0;

		snprintf(text, sizeof(text), "%.*f", kept, number);
		point = strchr(text, '.');
		decimal->point = point ? (int)(point - text) : (int)strlen(text);
		for (const char *c = text; *c && count < FLOAT_TEXT_MAX; c++)
			if (*c != '.')
				decimal->digits[count++] = *c;
		decimal->count = count;
		return;
	}
	snprintf(text, sizeof(text), "%.*e", format == 'e' ? kept : (kept > 0 ? kept - 1 : 0),
		number);
	read_scientific(text, decimal);
}

static char digit_at(const struct decimal *decimal, int index)
{
	return index >= 0 && index < decimal->count ? decimal->digits[index] : '0';
}

static void write_scientific(const struct decimal *decimal, char letter, int precision,
	struct buffer *out)
{
	int exponent = decimal->count ? decimal->point - 1 : 0;
	char text[16];

	buffer_add_char(out, digit_at(decimal, 0));
	if (precision > 0)
		buffer_add_char(out, '.');
	for (int i = 1; i <= precision; i++)
		buffer_add_char(out, digit_at(decimal, i));
	snprintf(text, sizeof(text), "%c%c%02d", letter, exponent < 0 ? '-' : '+', abs(exponent));
	buffer_add_string(out, text);
}

static void write_fixed(const struct decimal *decimal, int precision, struct buffer *out)
{
	if (decimal->point > 0)
		for (int i = 0; i < decimal->point; i++)
			buffer_add_char(out, digit_at(decimal, i));
	else
		buffer_add_char(out, '0');
	if (precision > 0)
		buffer_add_char(out, '.');
	for (int i = 0; i < precision; i++)
		buffer_add_char(out, digit_at(decimal, decimal->point + i));
}

static int most(int a, int b)
{
	return a > b ? a : b;
}

/* 0x1.8p+01: as C writes it, with at least two digits of exponent. */
static void write_hexadecimal(double number, bool upper, int precision, struct buffer *out)
{
	char text[FLOAT_TEXT_MAX];
	char *exponent;

	if (precision < 0)
		snprintf(text, sizeof(text), upper ? "%A" : "%a", number);
	else
		snprintf(text, sizeof(text), upper ? "%.*A" : "%.*a",
			precision > FLOAT_PRECISION_MAX ? FLOAT_PRECISION_MAX : precision, number);
	exponent = strchr(text, upper ? 'P' : 'p');
	buffer_add(out, text, (size_t)(exponent - text) + 2);
	if (strlen(exponent) == 3)
		buffer_add_char(out, '0');
	buffer_add_string(out, exponent + 2);
}

/* The 53 bits of the mantissa as an integer, and the exponent of two that belongs to it. */
static void write_binary(double number, struct buffer *out)
{
	int exponent = DBL_MIN_EXP; /* also that of zero and of subnormal numbers */
	double mantissa = ldexp(number, -exponent);

	if (number >= DBL_MIN)
		mantissa = frexp(number, &exponent);
	buffer_format(out, "%lldp%+d", (long long)ldexp(mantissa, DBL_MANT_DIG),
		exponent - DBL_MANT_DIG);
}

void number_format_float(double number, char format, int precision, struct buffer *out)
{
	struct decimal decimal;
	char lower = (char)(format | 32);
	bool shortest = precision < 0;
	int threshold, exponent;

	if (isnan(number)) {
		buffer_add_string(out, "NaN");
		return;
	}
	if (isinf(number)) {
		buffer_add_string(out, number < 0 ? "-Inf" : "+Inf");
		return;
	}
	if (signbit(number)) {
		buffer_add_char(out, '-');
		number = -number;
	}
	if (lower == 'x') {
		write_hexadecimal(number, format == 'X', precision, out);
		return;
	}
	if (lower == 'b') {
		write_binary(number, out);
		return;
	}
	if (shortest)
		shortest_decimal(number, &decimal);
	else
		round_decimal(number, lower, lower == 'g' && precision == 0 ? 1 : precision,
			&decimal);
	if (lower == 'e') {
		write_scientific(&decimal, format,
			shortest ? most(decimal.count - 1, 0) : precision, out);
		return;
	}
	if (lower == 'f') {
		write_fixed(&decimal, shortest ? most(decimal.count - decimal.point, 0) : precision,
			out);
		return;
	}
	threshold = shortest ? 6 : (precision == 0 ? 1 : precision);
	if (!shortest && threshold > decimal.count && decimal.count >= decimal.point)
		threshold = decimal.count;
	exponent = decimal.point - 1;
	if (exponent < -4 || exponent >= threshold) {
		write_scientific(&decimal, format == 'g' ? 'e' : 'E', most(decimal.count - 1, 0),
			out);
		return;
	}
	write_fixed(&decimal, most(decimal.count - decimal.point, 0), out);
}

void number_print_float(double number, struct buffer *out)
{
	number_format_float(number, 'g', -1, out);
}

struct span value_float_to_json(struct arena *arena, double number)
{
	_buffer_ struct buffer text = {0};
	double size = fabs(number);

	if (size != 0 && (size < 1e-6 || size >= 1e21)) {
		number_format_float(number, 'e', -1, &text);
		/* e-09 becomes e-9 */
		if (text.length >= 4 && text.data[text.length - 4] == 'e' &&
			text.data[text.length - 3] == '-' && text.data[text.length - 2] == '0') {
			text.data[text.length - 2] = text.data[text.length - 1];
			text.length--;
		}
	} else {
		number_format_float(number, 'f', -1, &text);
	}
	return arena_copy_span(arena, buffer_span(&text));
}

struct span number_base64(struct arena *arena, struct span bytes)
{
	_buffer_ struct buffer out = {0};

	base64_encode(bytes, &out);
	return arena_copy_span(arena, buffer_span(&out));
}
