/* Task sizes; see task_size.h. */
#include "ecs/definition/task_size.h"

#include <ctype.h>
#include <stddef.h>

#include "base/memory.h"

#define DIGITS_MAX 9

/* A decimal number with an optional fraction, in thousandths; what is behind it goes to *ret_rest. */
static bool read_thousandths(struct span text, int64_t *ret_value, struct span *ret_rest)
{
	int64_t value = 0, scale = 1000;
	size_t i = 0, digits = 0;

	for (; i < text.length && isdigit((unsigned char)text.data[i]); i++, digits++) {
		if (digits == DIGITS_MAX)
			return false;
		value = value * 10 + (text.data[i] - '0');
	}
	value *= 1000;
	if (i < text.length && text.data[i] == '.')
		for (i++; i < text.length && isdigit((unsigned char)text.data[i]); i++, digits++) {
			scale /= 10;
			value += scale * (text.data[i] - '0');
			if (scale == 0 && text.data[i] != '0')
				return false; /* finer than a thousandth */
		}
	if (digits == 0)
		return false;
	while (i < text.length && text.data[i] == ' ')
		i++;
	*ret_value = value;
	*ret_rest = (struct span){text.data + i, text.length - i};
	return true;
}

/* A plain whole number, or a number with the unit, of which one is `per_unit`. */
static bool read_size(struct span text, struct span unit, int64_t per_unit, int64_t *ret_size)
{
	int64_t thousandths;
	struct span rest;
	uint64_t plain;

	if (!text.data || text.length == 0)
		return false;
	if (span_to_unsigned(text, INT32_MAX, &plain)) {
		*ret_size = (int64_t)plain;
		return true;
	}
	if (!read_thousandths(text, &thousandths, &rest) || !span_equal_ignoring_case(rest, unit))
		return false;
	*ret_size = thousandths * per_unit / 1000;
	return true;
}

bool task_size_read_cpu(struct span text, int64_t *ret_units)
{
	return read_size(text, SPAN("vCPU"), 1024, ret_units);
}

bool task_size_read_memory(struct span text, int64_t *ret_mib)
{
	return read_size(text, SPAN("GB"), 1024, ret_mib);
}

bool task_size_is_fargate(int64_t cpu_units, int64_t memory_mib)
{
	static const struct {
		int64_t cpu, least, most, step;
	} sizes[] = {
		{512, 1024, 4096, 1024},
		{1024, 2048, 8192, 1024},
		{2048, 4096, 16384, 1024},
		{4096, 8192, 30720, 1024},
		{8192, 16384, 61440, 4096},
		{16384, 32768, 122880, 8192},
	};

	if (cpu_units == 256)
		return memory_mib == 512 || memory_mib == 1024 || memory_mib == 2048;
	for (size_t i = 0; i < LENGTH(sizes); i++)
		if (sizes[i].cpu == cpu_units)
			return memory_mib >= sizes[i].least && memory_mib <= sizes[i].most &&
			       (memory_mib - sizes[i].least) % sizes[i].step == 0;
	return false;
}
