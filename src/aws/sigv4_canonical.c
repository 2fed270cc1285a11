/*
 * Written from AWS's description of the signing process and its published examples. Where that
 * leaves room we do what AWS's own SDKs do when they sign: ".." at the end of a path leaves no slash
 * behind, '+' in a query is a space, all white space in a header's value counts as spaces.
 */
#include "aws/sigv4_canonical.h"

#include <errno.h>

static bool is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static void add_encoded(struct buffer *out, unsigned char c)
{
	char escape[3] = {'%', "0123456789ABCDEF"[c >> 4], "0123456789ABCDEF"[c & 15]};

	if (is_unreserved(c))
		buffer_add_char(out, (char)c);
	else
		buffer_add(out, escape, sizeof(escape));
}

/* ---- path ---- */

static void remove_last_segment(struct buffer *path)
{
	while (path->length > 0 && path->data[--path->length] != '/')
		;
}

static void write_path(struct span path, enum sigv4_path style, struct buffer *out)
{
	_buffer_ struct buffer normal = BUFFER_WITH_CAP(out->cap);
	struct span rest = path;

	if (path.length <= 1) {
		buffer_add_char(out, '/');
		return;
	}
	if (style == SIGV4_PATH_S3) {
		buffer_add_span(out, path);
		return;
	}
	while (rest.length > 0) {
		struct span segment = rest;

		if (!span_split(rest, '/', &segment, &rest))
			rest.length = 0;
		if (span_is(segment, "..")) {
			remove_last_segment(&normal);
		} else if (segment.length > 0 && !span_is(segment, ".")) {
			buffer_add_char(&normal, '/');
			buffer_add_span(&normal, segment);
		}
	}
	if (normal.length == 0 || path.data[path.length - 1] == '/')
		buffer_add_char(&normal, '/');
	for (size_t i = 0; i < normal.length; i++) {
		if (normal.data[i] == '/')
			buffer_add_char(out, '/');
		else
			add_encoded(out, (unsigned char)normal.data[i]);
	}
}

/* ---- query ---- */

struct pair {
	const char *text; /* of all pairs; offsets survive when it moves */
	size_t name, name_length;
	size_t value, value_length;
};

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes and encodes again, so that "%7e", "~" and "%7E" are one. A '%' that begins no escape stands
 * for itself. Returns the length. */
static size_t add_reencoded(struct span text, struct buffer *out)
{
	size_t before = out->length;

	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c == '+') {
			c = ' ';
		} else if (c == '%' && text.length - i > 2 && hex_value(text.data[i + 1]) >= 0 &&
			   hex_value(text.data[i + 2]) >= 0) {
			c = (unsigned char)(hex_value(text.data[i + 1]) << 4 |
					    hex_value(text.data[i + 2]));
			i += 2;
		}
		add_encoded(out, c);
	}
	return out->length - before;
}

static int compare_pairs(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;
	int order = span_compare((struct span){a->text + a->name, a->name_length},
		(struct span){b->text + b->name, b->name_length});

	if (order == 0)
		order = span_compare((struct span){a->text + a->value, a->value_length},
			(struct span){b->text + b->value, b->value_length});
	return order;
}

static int write_query(struct span query, struct buffer *out)
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(out->cap);
	struct pair pairs[SIGV4_QUERY_PAIRS_MAX];
	struct span rest = query;
	size_t count = 0;

	while (rest.length > 0) {
		struct span item = rest, name, value = SPAN("");
		struct pair *pair = &pairs[count];

		if (!span_split(rest, '&', &item, &rest))
			rest.length = 0;
		if (item.length == 0)
			continue;
		if (count == SIGV4_QUERY_PAIRS_MAX)
			return -E2BIG;
		name = item;
		span_split(item, '=', &name, &value);
		pair->name = text.length;
		pair->name_length = add_reencoded(name, &text);
		pair->value = text.length;
		pair->value_length = add_reencoded(value, &text);
		count++;
	}
	if (buffer_failed(&text))
		return -E2BIG;
	for (size_t i = 0; i < count; i++)
		pairs[i].text = text.data ? text.data : "";
	qsort(pairs, count, sizeof(pairs[0]), compare_pairs);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			buffer_add_char(out, '&');
		buffer_add(out, pairs[i].text + pairs[i].name, pairs[i].name_length);
		buffer_add_char(out, '=');
		buffer_add(out, pairs[i].text + pairs[i].value, pairs[i].value_length);
	}
	return 0;
}

/* ---- headers ---- */

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Without spaces at its ends, and with one instead of several inside. */
static void write_value(struct span value, struct buffer *out)
{
	char *to = buffer_reserve(out, value.length);
	size_t length = 0;
	bool space = false;

	if (!to)
		return;
	for (size_t i = 0; i < value.length; i++) {
		if (is_space(value.data[i])) {
			space = length > 0;
			continue;
		}
		if (space)
			to[length++] = ' ';
		space = false;
		to[length++] = value.data[i];
	}
	out->length += length;
}

static void write_headers(const struct sigv4_request *request, struct span signed_headers,
	struct buffer *out)
{
	struct span rest = signed_headers;

	while (rest.length > 0) {
		struct span name = rest;
		bool first = true;

		if (!span_split(rest, ';', &name, &rest))
			rest.length = 0;
		buffer_add_span(out, name);
		buffer_add_char(out, ':');
		for (size_t i = 0; i < request->header_count; i++) {
			const struct sigv4_header *header = &request->headers[i];

			if (!span_equal_ignoring_case(header->name, name))
				continue;
			if (!first)
				buffer_add_char(out, ',');
			first = false;
			write_value(header->value, out);
		}
		buffer_add_char(out, '\n');
	}
}

int sigv4_canonical_write(const struct sigv4_request *request, struct span signed_headers,
	struct span payload_hash, enum sigv4_path path, struct buffer *out)
{
	buffer_add_span(out, request->method);
	buffer_add_char(out, '\n');
	write_path(request->path, path, out);
	buffer_add_char(out, '\n');
	if (request->query.length > 0 && write_query(request->query, out) < 0)
		return -E2BIG;
	buffer_add_char(out, '\n');
	write_headers(request, signed_headers, out);
	buffer_add_char(out, '\n');
	buffer_add_span(out, signed_headers);
	buffer_add_char(out, '\n');
	buffer_add_span(out, payload_hash);
	return buffer_failed(out) ? -E2BIG : 0;
}

static int compare_spans(const void *left, const void *right)
{
	return span_compare(*(const struct span *)left, *(const struct span *)right);
}

struct span sigv4_canonical_names(const struct sigv4_header *headers, size_t count,
	struct arena *arena)
{
	struct span *names = arena_allocate_array(arena, count ? count : 1, sizeof(*names));
	size_t length = 0;
	char *text;

	for (size_t i = 0; i < count; i++) {
		char *name = arena_copy(arena, headers[i].name.data, headers[i].name.length);

		for (size_t k = 0; k < headers[i].name.length; k++)
			name[k] = lower(name[k]);
		names[i] = (struct span){name, headers[i].name.length};
		length += names[i].length + 1;
	}
	qsort(names, count, sizeof(*names), compare_spans);
	text = arena_allocate(arena, length + 1);
	length = 0;
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && span_equal(names[i], names[i - 1]))
			continue;
		if (length > 0)
			text[length++] = ';';
		memcpy(text + length, names[i].data, names[i].length);
		length += names[i].length;
	}
	return (struct span){text, length};
}
