/* See layout.h. */
#include "chart/layout.h"

#include <string.h>

#include "base/memory.h"

/* Longer texts come before those that they begin with. */
static const struct {
	const char *text;
	enum layout_part part;
} parts[] = {
	{"January", LAYOUT_LONG_MONTH},
	{"Jan", LAYOUT_MONTH},
	{"Monday", LAYOUT_LONG_WEEKDAY},
	{"Mon", LAYOUT_WEEKDAY},
	{"MST", LAYOUT_ZONE_NAME},
	{"2006", LAYOUT_LONG_YEAR},
	{"__2", LAYOUT_UNDER_YEAR_DAY},
	{"002", LAYOUT_ZERO_YEAR_DAY},
	{"01", LAYOUT_ZERO_MONTH},
	{"02", LAYOUT_ZERO_DAY},
	{"03", LAYOUT_ZERO_HOUR_12},
	{"04", LAYOUT_ZERO_MINUTE},
	{"05", LAYOUT_ZERO_SECOND},
	{"06", LAYOUT_YEAR},
	{"15", LAYOUT_HOUR},
	{"_2", LAYOUT_UNDER_DAY},
	{"1", LAYOUT_NUMBER_MONTH},
	{"2", LAYOUT_DAY},
	{"3", LAYOUT_HOUR_12},
	{"4", LAYOUT_MINUTE},
	{"5", LAYOUT_SECOND},
	{"PM", LAYOUT_PM},
	{"pm", LAYOUT_LOWER_PM},
	{"-07:00:00", LAYOUT_OFFSET},
	{"-070000", LAYOUT_OFFSET},
	{"-07:00", LAYOUT_OFFSET},
	{"-0700", LAYOUT_OFFSET},
	{"-07", LAYOUT_OFFSET},
	{"Z07:00:00", LAYOUT_OFFSET},
	{"Z070000", LAYOUT_OFFSET},
	{"Z07:00", LAYOUT_OFFSET},
	{"Z0700", LAYOUT_OFFSET},
	{"Z07", LAYOUT_OFFSET},
};

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ".000", ",999" not followed by a digit. */
static size_t fraction_length(struct span text)
{
	size_t length = 1;

	if (text.length < 2 || (text.data[0] != '.' && text.data[0] != ',') ||
		(text.data[1] != '0' && text.data[1] != '9'))
		return 0;
	while (length < text.length && text.data[length] == text.data[1])
		length++;
	return length < text.length && is_digit(text.data[length]) ? 0 : length;
}

static enum layout_part part_at(struct span text, size_t *ret_length)
{
	size_t length = fraction_length(text);

	if (length) {
		*ret_length = length;
		return LAYOUT_FRACTION;
	}
	for (size_t i = 0; i < LENGTH(parts); i++) {
		struct span part = span_of(parts[i].text);

		if (!span_starts_with(text, part))
			continue;
		/* "Month" is text, not "Mon" and "th"; "_2006" is an underscore and the year. */
		if ((parts[i].part == LAYOUT_MONTH || parts[i].part == LAYOUT_WEEKDAY) &&
			part.length < text.length && is_lower(text.data[part.length]))
			continue;
		if (parts[i].part == LAYOUT_UNDER_DAY && span_starts_with(text, SPAN("_2006")))
			continue;
		*ret_length = part.length;
		return parts[i].part;
	}
	return LAYOUT_END;
}

struct layout_token layout_next(struct span *layout)
{
	struct layout_token token = {LAYOUT_END, *layout, SPAN("")};
	size_t length = 0;

	for (size_t i = 0; i < layout->length; i++) {
		enum layout_part part =
			part_at((struct span){layout->data + i, layout->length - i}, &length);

		if (part == LAYOUT_END)
			continue;
		token.part = part;
		token.before.length = i;
		token.text = (struct span){layout->data + i, length};
		*layout = (struct span){layout->data + i + length, layout->length - i - length};
		return token;
	}
	*layout = (struct span){layout->data + layout->length, 0};
	return token;
}
