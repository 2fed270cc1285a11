/* See words.h. */
#include "chart/words.h"

#include <ctype.h>
#include <string.h>

#include "chart/text.h"

enum word_type {
	WORD_NONE,
	WORD_NUMBER,
	WORD_UPPER, /* begins with a capital: "Status", "HTTP" */
	WORD_LETTERS,
	WORD_CONNECTOR,
	WORD_PUNCTUATION,
	WORD_OTHER,
};

struct word {
	enum word_type type;
	struct span text;
};

static bool is_connector(uint32_t c)
{
	return c == '-' || c == '_' || text_is_space(c);
}

static bool is_punctuation(uint32_t c)
{
	return c < 0x80 && ispunct((int)c) && !strchr("$+<=>^`|~", (int)c);
}

static enum word_type type_of(uint32_t c)
{
	if (is_connector(c))
		return WORD_CONNECTOR;
	if (is_punctuation(c))
		return WORD_PUNCTUATION;
	if (text_is_upper(c))
		return WORD_UPPER;
	if (text_is_letter(c))
		return WORD_LETTERS;
	return text_is_digit(c) ? WORD_NUMBER : WORD_OTHER;
}

static uint32_t character_at(struct span text, size_t position, size_t *ret_length)
{
	if (position >= text.length) {
		*ret_length = 0;
		return 0;
	}
	return text_decode((struct span){text.data + position, text.length - position}, ret_length);
}

/* How far characters of a type go on. */
static size_t skip_type(struct span text, size_t position, enum word_type type)
{
	size_t length;

	while (position < text.length && type_of(character_at(text, position, &length)) == type)
		position += length;
	return position;
}

/* A capital followed by others is a word of capitals without the one before small letters: HTTP|Status. */
static size_t end_of_upper(struct span text, size_t first)
{
	size_t length, end = first, before = first;

	if (type_of(character_at(text, end, &length)) != WORD_UPPER || length == 0)
		return skip_type(text, end, WORD_LETTERS);
	while (end < text.length && type_of(character_at(text, end, &length)) == WORD_UPPER) {
		before = end;
		end += length;
	}
	if (end < text.length && type_of(character_at(text, end, &length)) == WORD_LETTERS)
		return before;
	return end;
}

static struct word next_word(struct span *rest)
{
	struct word word = {WORD_NONE, {rest->data, 0}};
	size_t length, end;

	if (rest->length == 0)
		return word;
	word.type = type_of(character_at(*rest, 0, &length));
	end = word.type == WORD_UPPER ? end_of_upper(*rest, length)
				      : skip_type(*rest, length, word.type);
	word.text.length = end;
	*rest = (struct span){rest->data + end, rest->length - end};
	return word;
}

static void add_word(struct word word, char connector, struct buffer *out)
{
	size_t length;

	if (word.type != WORD_UPPER && word.type != WORD_CONNECTOR) {
		buffer_add_span(out, word.text);
		return;
	}
	for (size_t i = 0; i < word.text.length; i += length) {
		uint32_t c = character_at(word.text, i, &length);

		text_add(out, is_connector(c) ? (uint32_t)connector : text_to_lower(c));
	}
}

static bool separates(struct word word)
{
	return word.type == WORD_CONNECTOR || word.type == WORD_PUNCTUATION;
}

static struct word add_run(struct word word, struct span *rest, char connector, struct buffer *out)
{
	while (word.type == WORD_LETTERS || word.type == WORD_NUMBER) {
		add_word(word, connector, out);
		word = next_word(rest);
	}
	return word;
}

/* A number behind a word belongs to it unless small letters follow: Bld4|Floor, HTTP|2xx. */
static struct word add_number(struct word number, struct span *rest, char connector,
	struct buffer *out)
{
	struct word word = next_word(rest);

	if (word.type != WORD_LETTERS) {
		add_word(number, connector, out);
		if (!separates(word))
			buffer_add_char(out, connector);
		return word;
	}
	buffer_add_char(out, connector);
	add_word(number, connector, out);
	word = add_run(word, rest, connector, out);
	if (word.type != WORD_NONE && !separates(word))
		buffer_add_char(out, connector);
	return word;
}

void words_join(struct span text, char connector, struct buffer *out)
{
	struct span rest = text;
	struct word word = next_word(&rest), before;

	while (rest.length) {
		if (word.type != WORD_CONNECTOR)
			add_word(word, connector, out);
		before = word;
		word = next_word(&rest);
		switch (before.type) {
		case WORD_NUMBER:
			word = add_run(word, &rest, connector, out);
			if (word.type != WORD_NONE && !separates(word))
				buffer_add_char(out, connector);
			break;
		case WORD_CONNECTOR: add_word(before, connector, out); break;
		case WORD_PUNCTUATION: break;
		default:
			if (word.type != WORD_NUMBER) {
				if (!separates(word))
					buffer_add_char(out, connector);
			} else if (rest.length) {
				word = add_number(word, &rest, connector, out);
			}
		}
	}
	add_word(word, connector, out);
}

void words_camel(struct span text, struct buffer *out)
{
	size_t position = 0, length = 0;
	uint32_t current = 0, before;
	bool capitals = false; /* the word has begun with capitals only: they become small */

	/* Connectors at the front stay. */
	while (position < text.length) {
		current = character_at(text, position, &length);
		position += length;
		if (!is_connector(current)) {
			capitals = text_is_upper(current);
			current = text_to_upper(current);
			break;
		}
		text_add(out, current);
	}
	if (position >= text.length) {
		if (length)
			text_add(out, current);
		return;
	}
	while (position < text.length) {
		before = current;
		current = character_at(text, position, &length);
		position += length;
		if (is_connector(current) && is_connector(before)) {
			text_add(out, before);
		} else if (is_connector(before)) {
			capitals = text_is_upper(current);
			current = text_to_upper(current);
		} else {
			capitals = capitals && text_is_upper(current);
			if (capitals)
				current = text_to_lower(current);
			text_add(out, before);
		}
	}
	text_add(out, current);
}

void words_wrap(struct span text, int64_t width, struct span separator, bool breaks_words,
	struct buffer *out)
{
	size_t most = width < 1 ? 1 : (size_t)width, position = 0;

	while (text.length - position > most) {
		const char *start = text.data + position, *space;

		if (*start == ' ') {
			position++;
			continue;
		}
		space = memrchr(start, ' ', most + 1);
		if (space) {
			buffer_add(out, start, (size_t)(space - start));
			position = (size_t)(space - text.data) + 1;
		} else if (breaks_words) {
			buffer_add(out, start, most);
			position += most;
		} else {
			space = memchr(start + most, ' ', text.length - position - most);
			if (!space)
				break;
			buffer_add(out, start, (size_t)(space - start));
			position = (size_t)(space - text.data) + 1;
		}
		buffer_add_span(out, separator);
	}
	buffer_add(out, text.data + position, text.length - position);
}
