#include "base/float_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOUBLE_DIGITS_MAX 17
#define SINGLE_DIGITS_MAX 9
#define SHORTEST_EXPONENT_MAX 6 /* from here on, exponents: as %g without a precision */

/* digits * 10^(point - count): 0.digits times ten to the power of point. */
struct decimal {
	bool negative;
	int count;
	int point;
	char digits[DOUBLE_DIGITS_MAX + 1];
};

static void split_scientific(const char *text, struct decimal *ret_decimal)
{
	struct decimal decimal = {.negative = *text == '-'};
	const char *at = text + decimal.negative;

	for (; *at && *at != 'e'; at++) {
		if (*at != '.')
			decimal.digits[decimal.count++] = *at;
	}
	decimal.point = (*at == 'e' ? atoi(at + 1) : 0) + 1;
	while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0')
		decimal.count--;
	decimal.digits[decimal.count] = '\0';
	*ret_decimal = decimal;
}

static void shortest_digits(double value, bool single, struct decimal *ret_decimal)
{
	int most = single ? SINGLE_DIGITS_MAX : DOUBLE_DIGITS_MAX;
	char text[FLOAT_TEXT_SIZE];

	for (int digits = 1; digits <= most; digits++) {
		snprintf(text, sizeof(text), "%.*e", digits - 1, value);
		if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
			break;
	}
	split_scientific(text, ret_decimal);
}

static size_t write_exponent(const struct decimal *decimal, int exponent_digits, char *out)
{
	int exponent = decimal->point - 1;

	return (size_t)snprintf(out, FLOAT_TEXT_SIZE, "%s%c%s%se%c%0*d",
		decimal->negative ? "-" : "", decimal->digits[0], decimal->count > 1 ? "." : "",
		decimal->digits + 1, exponent < 0 ? '-' : '+', exponent_digits, abs(exponent));
}

static size_t write_plain(const struct decimal *decimal, char *out)
{
	char *at = out;

	if (decimal->negative)
		*at++ = '-';
	if (decimal->point <= 0) {
		*at++ = '0';
		*at++ = '.';
		for (int i = decimal->point; i < 0; i++)
			*at++ = '0';
		memcpy(at, decimal->digits, (size_t)decimal->count);
		at += decimal->count;
	} else {
		for (int i = 0; i < decimal->point || i < decimal->count; i++) {
			if (i == decimal->point)
				*at++ = '.';
			*at++ = i < decimal->count ? decimal->digits[i] : '0';
		}
	}
	*at = '\0';
	return (size_t)(at - out);
}

static size_t write_not_finite(double value, char *out)
{
	strcpy(out, isnan(value) ? "NaN" : value < 0 ? "-Inf" : "+Inf");
	return strlen(out);
}

static size_t write_zero(double value, char *out)
{
	strcpy(out, signbit(value) ? "-0" : "0");
	return strlen(out);
}

static size_t write_shortest(double value, bool single, char *out)
{
	struct decimal decimal;
	int exponent;

	if (!isfinite(value))
		return write_not_finite(value, out);
	if (value == 0)
		return write_zero(value, out);
	shortest_digits(value, single, &decimal);
	exponent = decimal.point - 1;
	if (exponent < -4 || exponent >= SHORTEST_EXPONENT_MAX)
		return write_exponent(&decimal, 2, out);
	return write_plain(&decimal, out);
}

size_t float_text_shortest(double value, char out[static FLOAT_TEXT_SIZE])
{
	return write_shortest(value, false, out);
}

size_t float_text_shortest_single(float value, char out[static FLOAT_TEXT_SIZE])
{
	return write_shortest((double)value, true, out);
}

size_t float_text_json(double value, char out[static FLOAT_TEXT_SIZE])
{
	struct decimal decimal;
	double size = fabs(value);

	if (value == 0)
		return write_zero(value, out);
	shortest_digits(value, false, &decimal);
	if (size < 1e-6 || size >= 1e21)
		return write_exponent(&decimal, 1, out);
	return write_plain(&decimal, out);
}
