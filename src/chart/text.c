/* See text.h. */
#include "chart/text.h"

#include <ctype.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <wctype.h>

/* Tables of letters, whatever the process's own locale is. NULL where C.UTF-8 is missing: then ASCII. */
static locale_t letters;
static pthread_once_t letters_once = PTHREAD_ONCE_INIT;

static void load_letters(void)
{
	letters = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
}

static locale_t letter_tables(void)
{
	pthread_once(&letters_once, load_letters);
	return letters;
}

uint32_t text_decode(struct span text, size_t *ret_length)
{
	const unsigned char *data = (const unsigned char *)text.data;
	uint32_t character;
	size_t length;

	*ret_length = 1;
	if (data[0] < 0x80)
		return data[0];
	length = data[0] >= 0xF0 ? 4 : data[0] >= 0xE0 ? 3 : 2;
	if (data[0] < 0xC2 || data[0] > 0xF4 || length > text.length)
		return TEXT_BROKEN;
	character = data[0] & (0xFFU >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		if ((data[i] & 0xC0) != 0x80)
			return TEXT_BROKEN;
		character = character << 6 | (data[i] & 0x3F);
	}
	if ((length == 3 && (character < 0x800 || (character >= 0xD800 && character < 0xE000))) ||
		(length == 4 && (character < 0x10000 || character > 0x10FFFF)))
		return TEXT_BROKEN;
	*ret_length = length;
	return character;
}

void text_add(struct buffer *out, uint32_t c)
{
	if (c < 0x80) {
		buffer_add_char(out, (char)c);
		return;
	}
	if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
		c = TEXT_BROKEN;
	if (c < 0x800) {
		buffer_add_char(out, (char)(0xC0 | c >> 6));
	} else {
		if (c < 0x10000) {
			buffer_add_char(out, (char)(0xE0 | c >> 12));
		} else {
			buffer_add_char(out, (char)(0xF0 | c >> 18));
			buffer_add_char(out, (char)(0x80 | (c >> 12 & 0x3F)));
		}
		buffer_add_char(out, (char)(0x80 | (c >> 6 & 0x3F)));
	}
	buffer_add_char(out, (char)(0x80 | (c & 0x3F)));
}

size_t text_offset(struct span text, size_t count)
{
	size_t offset = 0, length;

	while (count-- > 0 && offset < text.length) {
		text_decode((struct span){text.data + offset, text.length - offset}, &length);
		offset += length;
	}
	return offset;
}

size_t text_count(struct span text)
{
	size_t offset = 0, length, count = 0;

	for (; offset < text.length; offset += length, count++)
		text_decode((struct span){text.data + offset, text.length - offset}, &length);
	return count;
}

bool text_is_space(uint32_t c)
{
	if (c < 0x80)
		return c == ' ' || (c >= '\t' && c <= '\r');
	return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
	       c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool text_is_letter(uint32_t c)
{
	if (c < 0x80)
		return isalpha((int)c) != 0;
	return letter_tables() && iswalpha_l((wint_t)c, letters) && !text_is_digit(c);
}

bool text_is_digit(uint32_t c)
{
	if (c < 0x80)
		return c >= '0' && c <= '9';
	/* Decimal digits of other scripts come in runs of ten that C counts as letters. */
	return (c >= 0x660 && c <= 0x669) || (c >= 0x6F0 && c <= 0x6F9) ||
	       (c >= 0x966 && c <= 0x96F) || (c >= 0xFF10 && c <= 0xFF19);
}

bool text_is_upper(uint32_t c)
{
	if (c < 0x80)
		return c >= 'A' && c <= 'Z';
	return letter_tables() && iswupper_l((wint_t)c, letters);
}

bool text_is_lower(uint32_t c)
{
	if (c < 0x80)
		return c >= 'a' && c <= 'z';
	return letter_tables() && iswlower_l((wint_t)c, letters);
}

bool text_is_printable(uint32_t c)
{
	if (c < 0x80)
		return c >= ' ' && c < 0x7F;
	if (text_is_space(c) || c == 0xAD || (c >= 0x200B && c <= 0x200F) ||
		(c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
		(c >= 0xE000 && c <= 0xF8FF) || c >= 0xE0000)
		return false;
	return letter_tables() && iswprint_l((wint_t)c, letters);
}

uint32_t text_to_upper(uint32_t c)
{
	if (c < 0x80)
		return c >= 'a' && c <= 'z' ? c - 32 : c;
	return letter_tables() ? (uint32_t)towupper_l((wint_t)c, letters) : c;
}

uint32_t text_to_lower(uint32_t c)
{
	if (c < 0x80)
		return c >= 'A' && c <= 'Z' ? c + 32 : c;
	return letter_tables() ? (uint32_t)towlower_l((wint_t)c, letters) : c;
}

static uint32_t decode_last(struct span text, size_t *ret_length)
{
	uint32_t character;
	size_t length;

	for (size_t back = 1; back <= 4 && back <= text.length; back++) {
		character =
			text_decode((struct span){text.data + text.length - back, back}, &length);
		if (length == back && (back > 1 || character != TEXT_BROKEN)) {
			*ret_length = back;
			return character;
		}
	}
	*ret_length = 1;
	return TEXT_BROKEN;
}

struct span text_trim_space(struct span text)
{
	size_t length;

	while (text.length && text_is_space(text_decode(text, &length)))
		text = (struct span){text.data + length, text.length - length};
	while (text.length && text_is_space(decode_last(text, &length)))
		text.length -= length;
	return text;
}

static bool set_contains(struct span set, uint32_t character)
{
	size_t length;

	for (size_t i = 0; i < set.length; i += length)
		if (text_decode((struct span){set.data + i, set.length - i}, &length) == character)
			return true;
	return false;
}

struct span text_trim(struct span text, struct span set, bool left, bool right)
{
	size_t length;

	while (left && text.length && set_contains(set, text_decode(text, &length)))
		text = (struct span){text.data + length, text.length - length};
	while (right && text.length && set_contains(set, decode_last(text, &length)))
		text.length -= length;
	return text;
}

int64_t text_find(struct span text, struct span part, size_t from)
{
	const char *found;

	if (from > text.length)
		return -1;
	if (part.length == 0)
		return (int64_t)from;
	found = memmem(text.data + from, text.length - from, part.data, part.length);
	return found ? found - text.data : -1;
}

/* ---- quoting ------------------------------------------------------------------------------------ */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_digits(struct span text, size_t *position, int count, int base,
	uint32_t *ret_value)
{
	uint32_t value = 0;

	for (int i = 0; i < count; i++) {
		int digit = *position < text.length ? hex_digit(text.data[*position]) : -1;

		if (digit < 0 || digit >= base)
			return false;
		value = value * (uint32_t)base + (uint32_t)digit;
		(*position)++;
	}
	*ret_value = value;
	return true;
}

/* One escape; *position is behind the backslash. */
static bool unescape(struct span text, size_t *position, char quote, struct buffer *out)
{
	static const char names[] = "abfnrtv\\";
	static const char values[] = "\a\b\f\n\r\t\v\\";
	char c = *position < text.length ? text.data[(*position)++] : '\0';
	const char *name = c ? strchr(names, c) : NULL;
	uint32_t value;

	if (name) {
		buffer_add_char(out, values[name - names]);
		return true;
	}
	if ((c == '"' || c == '\'') && c == quote) {
		buffer_add_char(out, c);
		return true;
	}
	if (c == 'x' || (c >= '0' && c <= '7')) {
		if (c != 'x')
			(*position)--;
		if (!read_digits(text, position, c == 'x' ? 2 : 3, c == 'x' ? 16 : 8, &value) ||
			value > 255)
			return false;
		if (quote == '\'')
			text_add(out, value);
		else
			buffer_add_char(out, (char)value);
		return true;
	}
	if (c != 'u' && c != 'U')
		return false;
	if (!read_digits(text, position, c == 'u' ? 4 : 8, 16, &value) || value > 0x10FFFF ||
		(value >= 0xD800 && value < 0xE000))
		return false;
	text_add(out, value);
	return true;
}

bool text_unquote(struct arena *arena, struct span quoted, struct span *ret_text)
{
	_buffer_ struct buffer out = {0};
	struct span text;
	char quote;

	if (quoted.length < 2 || quoted.data[0] != quoted.data[quoted.length - 1])
		return false;
	quote = quoted.data[0];
	text = (struct span){quoted.data + 1, quoted.length - 2};
	if (quote == '`' && !memchr(text.data, '\r', text.length)) {
		*ret_text = text;
		return true;
	}
	if (quote == '"' && !memchr(text.data, '\\', text.length)) {
		*ret_text = text;
		return !memchr(text.data, '"', text.length);
	}
	for (size_t i = 0; i < text.length;) {
		char c = text.data[i++];

		if (quote == '`') {
			if (c != '\r')
				buffer_add_char(&out, c);
		} else if (c == quote || c == '\n') {
			return false;
		} else if (c == '\\') {
			if (!unescape(text, &i, quote, &out))
				return false;
		} else {
			buffer_add_char(&out, c);
		}
	}
	*ret_text = arena_copy_span(arena, buffer_span(&out));
	return true;
}

static void quote_character(struct buffer *out, uint32_t c, char quote, bool ascii_only)
{
	char text[16];

	if (c == (uint32_t)quote || c == '\\') {
		buffer_add_char(out, '\\');
		buffer_add_char(out, (char)c);
	} else if (c >= '\a' && c <= '\r') {
		static const char order[] = "abtnvfr";

		buffer_add_char(out, '\\');
		buffer_add_char(out, order[c - '\a']);
	} else if (c < 0x80 ? text_is_printable(c) : !ascii_only && text_is_printable(c)) {
		text_add(out, c);
	} else {
		snprintf(text, sizeof(text),
			c < ' ' || c == 0x7F ? "\\x%02x"
			: c < 0x10000        ? "\\u%04x"
					     : "\\U%08x",
			c);
		buffer_add_string(out, text);
	}
}

void text_quote(struct buffer *out, struct span text, bool ascii_only)
{
	size_t length;
	char escape[8];

	buffer_add_char(out, '"');
	for (size_t i = 0; i < text.length; i += length) {
		uint32_t c = text_decode((struct span){text.data + i, text.length - i}, &length);

		if (c == TEXT_BROKEN && length == 1) {
			snprintf(escape, sizeof(escape), "\\x%02x", (unsigned char)text.data[i]);
			buffer_add_string(out, escape);
		} else {
			quote_character(out, c, '"', ascii_only);
		}
	}
	buffer_add_char(out, '"');
}

void text_quote_rune(struct buffer *out, uint32_t character, bool ascii_only)
{
	buffer_add_char(out, '\'');
	quote_character(out, character, '\'', ascii_only);
	buffer_add_char(out, '\'');
}
