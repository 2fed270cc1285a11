/* Reading and writing forms; see query_form.h. */
#include "aws/query_form.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_scan.h"

/* ---- order ---- */

struct span query_form_segment(struct span key, size_t start)
{
	const char *from = key.data + start;
	size_t left = key.length - start;
	const char *dot = memchr(from, '.', left);

	return (struct span){from, dot ? (size_t)(dot - from) : left};
}

static bool is_number(struct span segment)
{
	for (size_t i = 0; i < segment.length; i++) {
		if (segment.data[i] < '0' || segment.data[i] > '9')
			return false;
	}
	return segment.length > 0;
}

static int compare_segments(struct span a, struct span b)
{
	bool a_is_number = is_number(a), b_is_number = is_number(b);

	if (a_is_number != b_is_number)
		return a_is_number ? -1 : 1;
	if (a_is_number && a.length != b.length)
		return a.length < b.length ? -1 : 1;
	return span_compare(a, b);
}

static int compare_keys(struct span a, struct span b)
{
	size_t start = 0;

	for (;;) {
		struct span a_segment = query_form_segment(a, start);
		struct span b_segment = query_form_segment(b, start);
		int order = compare_segments(a_segment, b_segment);
		bool a_ends, b_ends;

		if (order != 0)
			return order;
		start += a_segment.length;
		a_ends = start == a.length;
		b_ends = start == b.length;
		if (a_ends || b_ends)
			return (int)b_ends - (int)a_ends;
		start++;
	}
}

static int compare_pairs(const void *a, const void *b)
{
	const struct query_pair *a_pair = a, *b_pair = b;

	return compare_keys(a_pair->key, b_pair->key);
}

/* ---- reading ---- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static bool is_utf8(struct span text)
{
	const char *at = text.data, *end = text.data + text.length;

	while (at < end) {
		size_t length = json_utf8_length(at, end);

		if (length == 0)
			return false;
		at += length;
	}
	return true;
}

/* Into *room, which has place for what is encoded, and moves it on. */
static int decode(struct span text, bool is_form, char **room, struct span *ret_decoded,
	struct err *err)
{
	char *out = *room;

	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (c == '%') {
			int high = i + 2 < text.length ? digit_of(text.data[i + 1]) : -1;
			int low = i + 2 < text.length ? digit_of(text.data[i + 2]) : -1;

			if (high < 0 || low < 0)
				return err_set(err, -EINVAL,
					"The request has a '%%' that two hexadecimal digits do "
					"not follow.");
			c = (char)(high * 16 + low);
			i += 2;
		} else if (c == '+' && is_form) {
			c = ' ';
		}
		*out++ = c;
	}
	*ret_decoded = (struct span){*room, (size_t)(out - *room)};
	*room = out;
	if (!is_utf8(*ret_decoded))
		return err_set(err, -EINVAL, "The request has text that is not UTF-8.");
	return 0;
}

static size_t count_of(struct span text, char wanted)
{
	size_t count = 0;

	for (size_t i = 0; i < text.length; i++)
		count += text.data[i] == wanted;
	return count;
}

static int check_key(struct span key, struct err *err)
{
	if (key.length > QUERY_KEY_MAX)
		return err_set(err, -E2BIG, "The request has a name of more than %d bytes.",
			QUERY_KEY_MAX);
	if (count_of(key, '.') >= QUERY_SEGMENTS_MAX)
		return err_set(err, -E2BIG, "%.*s: has more than %d parts.", SPAN_ARGS(key),
			QUERY_SEGMENTS_MAX);
	return 0;
}

static int read_pair(struct span text, char **room, struct query_pair *ret_pair, struct err *err)
{
	struct span key = text, value = SPAN("");
	int code;

	span_split(text, '=', &key, &value);
	code = decode(key, true, room, &ret_pair->key, err);
	if (code == 0)
		code = check_key(ret_pair->key, err);
	if (code == 0)
		code = decode(value, true, room, &ret_pair->value, err);
	return code;
}

static int check_unique(const struct query_form *form, struct err *err)
{
	for (size_t i = 1; i < form->count; i++) {
		if (span_equal(form->pairs[i - 1].key, form->pairs[i].key))
			return err_set(err, -EINVAL, "%.*s: is given more than once.",
				SPAN_ARGS(form->pairs[i].key));
	}
	return 0;
}

int query_form_decode_segment(struct span text, struct arena *arena, struct span *ret_decoded,
	struct err *err)
{
	char *room = arena_allocate_capped(arena, text.length + 1);

	if (!room)
		return err_set(err, -E2BIG, "The request needs too much memory.");
	return decode(text, false, &room, ret_decoded, err);
}

int query_form_read_pairs(struct span text, struct arena *arena, struct query_form *ret_form,
	struct err *err)
{
	size_t most = count_of(text, '&') + 1, count = 0;
	struct query_pair *pairs;
	char *room;

	if (text.length > QUERY_FORM_MAX)
		return err_set(err, -E2BIG, "The request is longer than %d bytes.", QUERY_FORM_MAX);
	if (most > QUERY_PAIRS_MAX)
		return err_set(err, -E2BIG, "The request has more than %d parameters.",
			QUERY_PAIRS_MAX);
	pairs = arena_allocate_capped(arena, most * sizeof(*pairs));
	room = arena_allocate_capped(arena, text.length + 1);
	if (!pairs || !room)
		return err_set(err, -E2BIG, "The request needs too much memory.");
	for (bool more = true; more;) {
		struct span pair = text;
		int code;

		more = span_split(text, '&', &pair, &text);
		if (pair.length == 0)
			continue;
		code = read_pair(pair, &room, &pairs[count], err);
		if (code < 0)
			return code;
		count++;
	}
	*ret_form = (struct query_form){pairs, count};
	return 0;
}

int query_form_read(struct span text, struct arena *arena, struct query_form *ret_form,
	struct err *err)
{
	struct query_form form;
	int code = query_form_read_pairs(text, arena, &form, err);

	if (code < 0)
		return code;
	/* This function still owns the pairs. */
	if (form.count > 1)
		qsort((struct query_pair *)form.pairs, form.count, sizeof(*form.pairs),
			compare_pairs);
	code = check_unique(&form, err);
	if (code < 0)
		return code;
	*ret_form = form;
	return 0;
}

struct span query_form_get(const struct query_form *form, const char *key)
{
	struct span wanted = span_of(key);
	size_t low = 0, high = form->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = compare_keys(wanted, form->pairs[middle].key);

		if (order == 0)
			return form->pairs[middle].value;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return SPAN_NONE;
}

/* ---- writing ---- */

void query_form_encode(struct span text, struct buffer *out)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			(c != '\0' && strchr("-_.~", c))) {
			buffer_add_char(out, (char)c);
		} else {
			buffer_add_char(out, '%');
			buffer_add_char(out, digits[c >> 4]);
			buffer_add_char(out, digits[c & 15]);
		}
	}
}
