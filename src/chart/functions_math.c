/* Sprig's numbers: integers are int64, decimals go through their shortest text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "chart/function.h"
#include "chart/number.h"
#include "chart/text.h"

/* Items that until, untilStep and seq may make. */
#define SEQUENCE_MAX 10000000

static int math_add(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	uint64_t sum = 0;

	(void)run;
	for (size_t i = 0; i < count; i++)
		sum += (uint64_t)function_integer(arguments[i]);
	*ret_value = value_int64((int64_t)sum);
	return 0;
}

static int math_add1(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_int64((int64_t)((uint64_t)function_integer(arguments[0]) + 1));
	return 0;
}

static int math_sub(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_int64((int64_t)((uint64_t)function_integer(arguments[0]) -
					   (uint64_t)function_integer(arguments[1])));
	return 0;
}

static int math_mul(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	uint64_t product = 1;

	(void)run;
	for (size_t i = 0; i < count; i++)
		product *= (uint64_t)function_integer(arguments[i]);
	*ret_value = value_int64((int64_t)product);
	return 0;
}

static int divide(struct run *run, const struct value *arguments, bool remainder,
	struct value *ret_value)
{
	int64_t a = function_integer(arguments[0]), b = function_integer(arguments[1]);

	if (b == 0)
		return run_fail(run, "integer divide by zero");
	if (b == -1)
		*ret_value = value_int64(remainder ? 0 : (int64_t)(0 - (uint64_t)a));
	else
		*ret_value = value_int64(remainder ? a % b : a / b);
	return 0;
}

static int math_div(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return divide(run, arguments, false, ret_value);
}

static int math_mod(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return divide(run, arguments, true, ret_value);
}

static int math_max(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t best = function_integer(arguments[0]);

	(void)run;
	for (size_t i = 1; i < count; i++)
		if (function_integer(arguments[i]) > best)
			best = function_integer(arguments[i]);
	*ret_value = value_int64(best);
	return 0;
}

static int math_min(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t best = function_integer(arguments[0]);

	(void)run;
	for (size_t i = 1; i < count; i++)
		if (function_integer(arguments[i]) < best)
			best = function_integer(arguments[i]);
	*ret_value = value_int64(best);
	return 0;
}

static int math_maxf(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	double best = function_float(arguments[0]);

	(void)run;
	for (size_t i = 1; i < count; i++)
		best = fmax(best, function_float(arguments[i]));
	*ret_value = value_float(best);
	return 0;
}

static int math_minf(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	double best = function_float(arguments[0]);

	(void)run;
	for (size_t i = 1; i < count; i++)
		best = fmin(best, function_float(arguments[i]));
	*ret_value = value_float(best);
	return 0;
}

/* Sprig computes with decimals; long double carries the digits that doubles have. The result is
 * rounded to what the shortest texts of the operands can say: 0.1 + 0.2 is 0.3. */
static long double exact(double number)
{
	char text[64];

	snprintf(text, sizeof(text), "%.17g", number);
	for (int precision = 15; precision < 17; precision++) {
		char shorter[64];

		snprintf(shorter, sizeof(shorter), "%.*g", precision, number);
		if (strtod(shorter, NULL) == number) {
			snprintf(text, sizeof(text), "%s", shorter);
			break;
		}
	}
	return strtold(text, NULL);
}

static double rounded(long double number)
{
	char text[64];

	snprintf(text, sizeof(text), "%.18Lg", number);
	return strtod(text, NULL) + 0.0; /* decimals have no negative zero */
}

static int math_addf(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	long double sum = 0;

	(void)run;
	for (size_t i = 0; i < count; i++)
		sum += exact(function_float(arguments[i]));
	*ret_value = value_float(rounded(sum));
	return 0;
}

static int math_add1f(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_float(rounded(exact(function_float(arguments[0])) + 1));
	return 0;
}

static int math_subf(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	long double result = exact(function_float(arguments[0]));

	(void)run;
	for (size_t i = 1; i < count; i++)
		result -= exact(function_float(arguments[i]));
	*ret_value = value_float(rounded(result));
	return 0;
}

static int math_mulf(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	long double result = exact(function_float(arguments[0]));

	(void)run;
	for (size_t i = 1; i < count; i++)
		result *= exact(function_float(arguments[i]));
	*ret_value = value_float(rounded(result));
	return 0;
}

/* Quotients keep 16 digits behind the point. */
static int math_divf(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	long double result = exact(function_float(arguments[0]));
	char text[400];

	for (size_t i = 1; i < count; i++) {
		long double by = exact(function_float(arguments[i]));

		if (by == 0)
			return run_fail(run, "decimal division by 0");
		snprintf(text, sizeof(text), "%.16Lf", result / by);
		result = strtold(text, NULL);
	}
	*ret_value = value_float(rounded(result));
	return 0;
}

static int math_floor(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_float(floor(function_float(arguments[0])));
	return 0;
}

static int math_ceil(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_float(ceil(function_float(arguments[0])));
	return 0;
}

static int math_round(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	double limit = count > 2 ? arguments[2].number : .5;
	double power = pow(10, (double)arguments[1].integer);
	double shifted = power * function_float(arguments[0]), whole;
	double rest = modf(shifted, &whole);

	(void)run;
	*ret_value = value_float((rest >= limit ? ceil(shifted) : floor(shifted)) / power);
	return 0;
}

/* ---- sequences ----------------------------------------------------------------------------------- */

static int sequence(struct run *run, int64_t start, int64_t stop, int64_t step,
	struct value *ret_value)
{
	struct value *items;
	uint64_t count = 0;
	int code;

	if (start < stop && step > 0)
		count = ((uint64_t)stop - (uint64_t)start - 1) / (uint64_t)step + 1;
	if (start > stop && step < 0)
		count = ((uint64_t)start - (uint64_t)stop - 1) / (0 - (uint64_t)step) + 1;
	if (count > SEQUENCE_MAX)
		return run_fail(run, "sequence of %llu numbers (limit %d)",
			(unsigned long long)count, SEQUENCE_MAX);
	code = run_reserve(run, count * sizeof(*items));
	if (code < 0)
		return code;
	*ret_value = value_new_list(run->arena, TYPE_INTS, count, &items);
	for (uint64_t i = 0; i < count; i++)
		items[i] = value_int(start + (int64_t)i * step);
	return 0;
}

static int math_until(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return sequence(run, 0, arguments[0].integer, arguments[0].integer < 0 ? -1 : 1, ret_value);
}

static int math_until_step(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return sequence(run, arguments[0].integer, arguments[1].integer, arguments[2].integer,
		ret_value);
}

static int math_seq(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	int64_t start = count > 1 ? arguments[0].integer : 1;
	int64_t end = count == 0 ? 0 : arguments[count - 1].integer;
	int64_t direction = end < start ? -1 : 1;
	int64_t step = count == 3 ? arguments[1].integer : direction;
	struct value list;
	int code;

	*ret_value = value_string(SPAN(""));
	if (count == 0 || count > 3 || (count == 3 && end < start && step > 0))
		return 0;
	if (end == INT64_MAX || end == INT64_MIN)
		return run_fail(run, "seq: number too large");
	code = sequence(run, start, end + direction, step, &list);
	if (code < 0)
		return code;
	for (uint32_t i = 0; i < list.list->count; i++)
		buffer_format(&out, "%s%lld", i ? " " : "", (long long)list.list->items[i].integer);
	return function_return(run, &out, ret_value);
}

/* ---- conversions --------------------------------------------------------------------------------- */

static int math_int(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_int(function_integer(arguments[0]));
	return 0;
}

static int math_int64(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_int64(function_integer(arguments[0]));
	return 0;
}

static int math_float64(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_float(function_float(arguments[0]));
	return 0;
}

static int math_atoi(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t integer = 0;

	(void)run;
	(void)count;
	number_parse_integer(arguments[0].text, 10, &integer);
	*ret_value = value_int(integer);
	return 0;
}

/* Octal text to a number. */
static int math_to_decimal(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t integer = 0;

	(void)count;
	number_parse_integer(function_text(run, arguments[0]), 8, &integer);
	*ret_value = value_int64(integer);
	return 0;
}

static int math_rand_int(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t low = arguments[0].integer, high = arguments[1].integer;

	(void)count;
	if (high <= low)
		return run_fail(run, "randInt: the maximum must be larger than the minimum");
	*ret_value = value_int((int64_t)((uint64_t)low + random_below(run->random,
								 (uint64_t)high - (uint64_t)low)));
	return 0;
}

static const struct function rows[] = {
	{"add", "a*", math_add, false},
	{"add1", "a", math_add1, false},
	{"add1f", "a", math_add1f, false},
	{"addf", "a*", math_addf, false},
	{"atoi", "s", math_atoi, false},
	{"biggest", "aa*", math_max, false},
	{"ceil", "a", math_ceil, false},
	{"div", "aa", math_div, false},
	{"divf", "aa*", math_divf, false},
	{"float64", "a", math_float64, false},
	{"floor", "a", math_floor, false},
	{"int", "a", math_int, false},
	{"int64", "a", math_int64, false},
	{"max", "aa*", math_max, false},
	{"maxf", "aa*", math_maxf, false},
	{"min", "aa*", math_min, false},
	{"minf", "aa*", math_minf, false},
	{"mod", "aa", math_mod, false},
	{"mul", "aa*", math_mul, false},
	{"mulf", "aa*", math_mulf, false},
	{"randInt", "ii", math_rand_int, false},
	{"round", "aif*", math_round, false},
	{"seq", "i*", math_seq, false},
	{"sub", "aa", math_sub, false},
	{"subf", "aa*", math_subf, false},
	{"toDecimal", "a", math_to_decimal, false},
	{"until", "i", math_until, false},
	{"untilStep", "iii", math_until_step, false},
};

const struct function_table functions_math = {rows, LENGTH(rows)};
