/* Sprig's text functions that change letters, wrap lines, shorten, draw random text, and take paths apart. */
#include <stdio.h>

#include "chart/function.h"
#include "chart/text.h"
#include "chart/words.h"

static uint32_t next_character(struct span text, size_t *position)
{
	size_t length;
	uint32_t character =
		text_decode((struct span){text.data + *position, text.length - *position}, &length);

	*position += length;
	return character;
}

static int map_characters(struct run *run, struct span text, uint32_t (*change)(uint32_t),
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);

	for (size_t i = 0; i < text.length;)
		text_add(&out, change(next_character(text, &i)));
	return function_return(run, &out, ret_value);
}

static int text_upper(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return map_characters(run, arguments[0].text, text_to_upper, ret_value);
}

static int text_lower(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return map_characters(run, arguments[0].text, text_to_lower, ret_value);
}

/* strings.Title: letters behind anything that is not part of a word. */
static int text_title(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct span text = arguments[0].text;
	bool separated = true;

	(void)count;
	for (size_t i = 0; i < text.length;) {
		uint32_t c = next_character(text, &i);

		text_add(&out, separated ? text_to_upper(c) : c);
		if (c < 0x80)
			separated = !text_is_letter(c) && !text_is_digit(c) && c != '_';
		else
			separated = !text_is_letter(c) && !text_is_digit(c) && text_is_space(c);
	}
	return function_return(run, &out, ret_value);
}

/* The first letter of each word in lower case; words are separated by space. */
static int text_untitle(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct span text = arguments[0].text;
	bool first = true;

	(void)count;
	for (size_t i = 0; i < text.length;) {
		uint32_t c = next_character(text, &i);

		if (text_is_space(c)) {
			first = true;
		} else if (first) {
			c = text_to_lower(c);
			first = false;
		}
		text_add(&out, c);
	}
	return function_return(run, &out, ret_value);
}

static int text_swapcase(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct span text = arguments[0].text;

	(void)count;
	for (size_t i = 0; i < text.length;) {
		uint32_t c = next_character(text, &i);

		if (text_is_upper(c))
			text_add(&out, text_to_lower(c));
		else if (text_is_lower(c))
			text_add(&out, text_to_upper(c));
		else
			text_add(&out, c);
	}
	return function_return(run, &out, ret_value);
}

static int text_nospace(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct span text = arguments[0].text;

	(void)count;
	/* Sprig takes bytes for characters. */
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (!text_is_space(c))
			text_add(&out, c);
	}
	return function_return(run, &out, ret_value);
}

static int text_initials(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct span text = arguments[0].text;
	bool first = true;

	(void)count;
	for (size_t i = 0; i < text.length;) {
		size_t begin = i;
		uint32_t c = next_character(text, &i);

		if (text_is_space(c)) {
			first = true;
		} else if (first) {
			/* Sprig takes the first byte. */
			text_add(&out, (unsigned char)text.data[begin]);
			first = false;
		}
	}
	return function_return(run, &out, ret_value);
}

static int text_snakecase(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);

	(void)count;
	words_join(arguments[0].text, '_', &out);
	return function_return(run, &out, ret_value);
}

static int text_kebabcase(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);

	(void)count;
	words_join(arguments[0].text, '-', &out);
	return function_return(run, &out, ret_value);
}

static int text_camelcase(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);

	(void)count;
	words_camel(arguments[0].text, &out);
	return function_return(run, &out, ret_value);
}

static int text_wrap(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);

	(void)count;
	words_wrap(arguments[1].text, arguments[0].integer, SPAN("\n"), false, &out);
	return function_return(run, &out, ret_value);
}

static int text_wrap_with(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct span separator = arguments[1].text.length ? arguments[1].text : SPAN("\n");

	(void)count;
	words_wrap(arguments[2].text, arguments[0].integer, separator, true, &out);
	return function_return(run, &out, ret_value);
}

/* ---- shortening ---------------------------------------------------------------------------------- */

static int shorten(struct run *run, struct span text, int64_t offset, int64_t width,
	struct value *ret_value)
{
	int64_t length = (int64_t)text.length;
	_buffer_ struct buffer out = function_buffer(run);

	if (length <= width) {
		*ret_value = value_string(text);
		return 0;
	}
	if (offset > length)
		offset = length;
	if (length - offset < width - 3)
		offset = length - (width - 3);
	if (offset <= 4) {
		buffer_add(&out, text.data, (size_t)(width - 3));
		buffer_add_string(&out, "...");
		return function_return(run, &out, ret_value);
	}
	if (width < 7) {
		*ret_value = value_string(SPAN(""));
		return 0;
	}
	buffer_add_string(&out, "...");
	if (offset + width - 3 < length) {
		/* Short at both ends. */
		int64_t inner = width - 3;

		if (length - offset <= inner) {
			buffer_add(&out, text.data + offset, (size_t)(length - offset));
		} else {
			buffer_add(&out, text.data + offset, (size_t)(inner - 3));
			buffer_add_string(&out, "...");
		}
		return function_return(run, &out, ret_value);
	}
	buffer_add(&out, text.data + length - (width - 3), (size_t)(width - 3));
	return function_return(run, &out, ret_value);
}

static int text_abbrev(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	if (arguments[0].integer < 4) {
		*ret_value = arguments[1];
		return 0;
	}
	return shorten(run, arguments[1].text, 0, arguments[0].integer, ret_value);
}

static int text_abbrevboth(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t left = arguments[0].integer, right = arguments[1].integer;

	(void)count;
	if (right < 4 || (left > 0 && right < 7)) {
		*ret_value = arguments[2];
		return 0;
	}
	return shorten(run, arguments[2].text, left, right, ret_value);
}

/* ---- chance -------------------------------------------------------------------------------------- */

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static int draw(struct run *run, int64_t length, const char *alphabet, struct value *ret_value)
{
	size_t letters = alphabet ? strlen(alphabet) : 95;
	char *out;
	int code;

	if (length < 0)
		length = 0;
	code = (uint64_t)length > RUN_MEMORY_MAX ? run_fail(run, "random text too long")
						 : run_reserve(run, (size_t)length);
	if (code < 0)
		return code;
	out = arena_allocate(run->arena, (size_t)length + 1);
	for (int64_t i = 0; i < length; i++) {
		uint64_t drawn = random_below(run->random, letters);

		out[i] = alphabet ? alphabet[drawn] : (char)(' ' + drawn);
	}
	*ret_value = value_string((struct span){out, (size_t)length});
	return 0;
}

static int text_rand_alpha_num(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return draw(run, arguments[0].integer, LETTERS DIGITS, ret_value);
}

static int text_rand_alpha(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return draw(run, arguments[0].integer, LETTERS, ret_value);
}

static int text_rand_numeric(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return draw(run, arguments[0].integer, DIGITS, ret_value);
}

static int text_rand_ascii(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return draw(run, arguments[0].integer, NULL, ret_value);
}

static int text_shuffle(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct span text = arguments[0].text;
	size_t length = text_count(text), position = 0;
	uint32_t *characters = arena_allocate_array(run->arena, length + 1, sizeof(uint32_t));

	(void)count;
	for (size_t i = 0; i < length; i++)
		characters[i] = next_character(text, &position);
	for (size_t i = length; i > 1; i--) {
		size_t j = random_below(run->random, i);
		uint32_t swapped = characters[i - 1];

		characters[i - 1] = characters[j];
		characters[j] = swapped;
	}
	for (size_t i = 0; i < length; i++)
		text_add(&out, characters[i]);
	return function_return(run, &out, ret_value);
}

/* ---- paths --------------------------------------------------------------------------------------- */

static struct span last_element(struct span path)
{
	size_t begin;

	if (path.length == 0)
		return SPAN(".");
	while (path.length && path.data[path.length - 1] == '/')
		path.length--;
	for (begin = path.length; begin > 0 && path.data[begin - 1] != '/'; begin--)
		;
	path = (struct span){path.data + begin, path.length - begin};
	return path.length ? path : SPAN("/");
}

/* path.Clean: without empty and "." elements, ".." resolved where possible. */
static struct span cleaned(struct run *run, struct span path)
{
	char *out = arena_allocate(run->arena, path.length + 2);
	bool rooted = path.length && path.data[0] == '/';
	size_t length = 0, floor = rooted ? 1 : 0;
	struct span part, rest = path;

	if (rooted)
		out[length++] = '/';
	while (rest.length) {
		const char *slash = memchr(rest.data, '/', rest.length);
		size_t end = slash ? (size_t)(slash - rest.data) : rest.length;

		part = (struct span){rest.data, end};
		rest = slash ? (struct span){slash + 1, rest.length - end - 1}
			     : (struct span){rest.data + rest.length, 0};
		if (part.length == 0 || span_is(part, "."))
			continue;
		if (span_is(part, "..")) {
			if (length > floor) {
				length--;
				while (length > floor && out[length] != '/')
					length--;
				if (length < floor)
					length = floor;
				continue;
			}
			if (rooted)
				continue;
		}
		if (length && out[length - 1] != '/')
			out[length++] = '/';
		memcpy(out + length, part.data, part.length);
		length += part.length;
		if (span_is(part, ".."))
			floor = length;
	}
	return length ? (struct span){out, length} : SPAN(".");
}

static int text_base(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_string(last_element(arguments[0].text));
	return 0;
}

static int text_dir(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct span path = arguments[0].text;

	(void)count;
	while (path.length && path.data[path.length - 1] != '/')
		path.length--;
	*ret_value = value_string(cleaned(run, path));
	return 0;
}

static int text_clean(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	*ret_value = value_string(cleaned(run, arguments[0].text));
	return 0;
}

static int text_ext(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct span path = arguments[0].text;

	(void)run;
	(void)count;
	*ret_value = value_string(SPAN(""));
	for (size_t i = path.length; i > 0 && path.data[i - 1] != '/'; i--)
		if (path.data[i - 1] == '.') {
			*ret_value =
				value_string((struct span){path.data + i - 1, path.length - i + 1});
			break;
		}
	return 0;
}

static int text_is_abs(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)count;
	*ret_value = value_bool(arguments[0].text.length && arguments[0].text.data[0] == '/');
	return 0;
}

static const struct function rows[] = {
	{"abbrev", "is", text_abbrev, false},
	{"abbrevboth", "iis", text_abbrevboth, false},
	{"base", "s", text_base, false},
	{"camelcase", "s", text_camelcase, false},
	{"clean", "s", text_clean, false},
	{"dir", "s", text_dir, false},
	{"ext", "s", text_ext, false},
	{"initials", "s", text_initials, false},
	{"isAbs", "s", text_is_abs, false},
	{"kebabcase", "s", text_kebabcase, false},
	{"lower", "s", text_lower, false},
	{"nospace", "s", text_nospace, false},
	{"osBase", "s", text_base, false},
	{"osClean", "s", text_clean, false},
	{"osDir", "s", text_dir, false},
	{"osExt", "s", text_ext, false},
	{"osIsAbs", "s", text_is_abs, false},
	{"randAlpha", "i", text_rand_alpha, false},
	{"randAlphaNum", "i", text_rand_alpha_num, false},
	{"randAscii", "i", text_rand_ascii, false},
	{"randNumeric", "i", text_rand_numeric, false},
	{"shuffle", "s", text_shuffle, false},
	{"snakecase", "s", text_snakecase, false},
	{"swapcase", "s", text_swapcase, false},
	{"title", "s", text_title, false},
	{"untitle", "s", text_untitle, false},
	{"upper", "s", text_upper, false},
	{"wrap", "is", text_wrap, false},
	{"wrapWith", "iss", text_wrap_with, false},
};

const struct function_table functions_text = {rows, LENGTH(rows)};
