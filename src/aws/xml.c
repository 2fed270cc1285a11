/*
 * A parser of one pass. Elements are made as their tags open; text is collected in a buffer of its own
 * and copied when its element closes, so that an element costs one allocation, and its text another.
 */
#include "aws/xml.h"

#include <stdlib.h>

#include "base/json_scan.h"

struct parser {
	struct span all; /* the whole document */
	const char *at, *end;
	struct arena *arena;
	struct err *err;
	struct buffer text; /* of the element that is open */
};

/* ---- messages ---- */

static int bad(struct parser *parser, const char *what)
{
	size_t line = 1;

	for (const char *c = parser->all.data; c < parser->at; c++)
		line += *c == '\n';
	return err_set(parser->err, -EINVAL, "XML, line %zu: %s", line, what);
}
#define bad(...) ERR_NEGATIVE(bad(__VA_ARGS__))

static int too_large(struct parser *parser)
{
	return err_set(parser->err, -E2BIG, "XML: needs too much memory");
}
#define too_large(...) ERR_NEGATIVE(too_large(__VA_ARGS__))

/* ---- words ---- */

static bool starts(const struct parser *parser, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(parser->end - parser->at) >= length &&
	       memcmp(parser->at, word, length) == 0;
}

static bool take(struct parser *parser, const char *word)
{
	if (!starts(parser, word))
		return false;
	parser->at += strlen(word);
	return true;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool skip_space(struct parser *parser)
{
	const char *start = parser->at;

	while (parser->at < parser->end && is_space(*parser->at))
		parser->at++;
	return parser->at > start;
}

static bool is_name_character(char c, bool first)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':')
		return true;
	return !first && ((c >= '0' && c <= '9') || c == '-' || c == '.');
}

static int take_name(struct parser *parser, struct span *ret_name)
{
	const char *start = parser->at;

	while (parser->at < parser->end && is_name_character(*parser->at, parser->at == start))
		parser->at++;
	if (parser->at == start)
		return bad(parser, "a name is missing");
	if (parser->at - start > XML_NAME_MAX)
		return bad(parser, "a name is too long");
	*ret_name = (struct span){start, (size_t)(parser->at - start)};
	return 0;
}

static struct span without_prefix(struct span name)
{
	struct span prefix, rest;

	return span_split(name, ':', &prefix, &rest) ? rest : name;
}

/* Skips to behind the word, which ends what has begun. */
static int skip_past(struct parser *parser, const char *word, const char *unclosed)
{
	const char *found =
		memmem(parser->at, (size_t)(parser->end - parser->at), word, strlen(word));

	if (!found)
		return bad(parser, unclosed);
	parser->at = found + strlen(word);
	return 0;
}

/* ---- characters ---- */

static bool is_xml_character(uint32_t c)
{
	return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c <= 0xd7ff) ||
	       (c >= 0xe000 && c <= 0xfffd) || (c >= 0x10000 && c <= 0x10ffff);
}

static void add_character(struct buffer *out, uint32_t c)
{
	if (c < 0x80) {
		buffer_add_char(out, (char)c);
	} else if (c < 0x800) {
		buffer_add_char(out, (char)(0xc0 | c >> 6));
		buffer_add_char(out, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buffer_add_char(out, (char)(0xe0 | c >> 12));
		buffer_add_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buffer_add_char(out, (char)(0x80 | (c & 0x3f)));
	} else {
		buffer_add_char(out, (char)(0xf0 | c >> 18));
		buffer_add_char(out, (char)(0x80 | (c >> 12 & 0x3f)));
		buffer_add_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buffer_add_char(out, (char)(0x80 | (c & 0x3f)));
	}
}

/* "#38" or "#x26" of "&#38;"; UINT32_MAX if it is no character. */
static uint32_t numbered_character(struct span text)
{
	bool hexadecimal = text.length > 1 && text.data[1] == 'x';
	uint32_t number = 0;
	size_t i = hexadecimal ? 2 : 1;

	if (i == text.length)
		return UINT32_MAX;
	for (; i < text.length; i++) {
		char c = text.data[i];
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (hexadecimal && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
			digit = (unsigned)((c | 0x20) - 'a' + 10);
		else
			return UINT32_MAX;
		number = number * (hexadecimal ? 16 : 10) + digit;
		if (number > 0x10ffff)
			return UINT32_MAX;
	}
	return is_xml_character(number) ? number : UINT32_MAX;
}

/* At the '&'. */
static int take_reference(struct parser *parser, struct buffer *out)
{
	static const struct {
		const char *name;
		char character;
	} entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
	struct span text, rest, left = {parser->at + 1, (size_t)(parser->end - parser->at) - 1};

	if (!span_split(left, ';', &text, &rest) || text.length == 0)
		return bad(parser, "'&' begins nothing");
	if (text.data[0] == '#') {
		uint32_t number = numbered_character(text);

		if (number == UINT32_MAX)
			return bad(parser, "a character reference is no character");
		add_character(out, number);
		parser->at = rest.data;
		return 0;
	}
	for (size_t i = 0; i < LENGTH(entities); i++) {
		if (!span_is(text, entities[i].name))
			continue;
		buffer_add_char(out, entities[i].character);
		parser->at = rest.data;
		return 0;
	}
	return bad(parser, "an entity is not one of the five of XML");
}

/* One character as it is; line ends become line feeds. */
static int take_character(struct parser *parser, struct buffer *out)
{
	size_t length = json_utf8_length(parser->at, parser->end);
	unsigned char c = (unsigned char)*parser->at;

	if (length == 0)
		return bad(parser, "text is not UTF-8");
	if ((length == 1 && !is_xml_character(c)) ||
		(length == 3 && memcmp(parser->at, "\xef\xbf", 2) == 0 &&
			(unsigned char)parser->at[2] >= 0xbe))
		return bad(parser, "a character that XML does not allow");
	if (c == '\r') {
		buffer_add_char(out, '\n');
		parser->at += parser->at + 1 < parser->end && parser->at[1] == '\n' ? 2 : 1;
		return 0;
	}
	buffer_add(out, parser->at, length);
	parser->at += length;
	return 0;
}

/* ---- markup that is left out ---- */

static int skip_comment(struct parser *parser)
{
	parser->at += strlen("<!--");
	if (skip_past(parser, "--", "a comment does not end") < 0)
		return -EINVAL;
	return take(parser, ">") ? 0 : bad(parser, "'--' inside of a comment");
}

/* Comments, processing instructions and space, around the root. */
static int skip_outside(struct parser *parser)
{
	int code = 0;

	while (code == 0) {
		skip_space(parser);
		if (starts(parser, "<!--"))
			code = skip_comment(parser);
		else if (starts(parser, "<?"))
			code = skip_past(parser, "?>", "'<?' does not end");
		else
			break;
	}
	return code;
}

static int skip_attribute(struct parser *parser)
{
	_buffer_ struct buffer ignored = {0};
	struct span name;
	char quote;
	int code = take_name(parser, &name);

	if (code < 0)
		return code;
	skip_space(parser);
	if (!take(parser, "="))
		return bad(parser, "an attribute has no value");
	skip_space(parser);
	if (!starts(parser, "\"") && !starts(parser, "'"))
		return bad(parser, "the value of an attribute is not in quotes");
	quote = *parser->at++;
	while (parser->at < parser->end && *parser->at != quote) {
		if (*parser->at == '<')
			return bad(parser, "'<' in an attribute");
		code = *parser->at == '&' ? take_reference(parser, &ignored)
					  : take_character(parser, &ignored);
		if (code < 0)
			return code;
	}
	if (parser->at == parser->end)
		return bad(parser, "an attribute does not end");
	parser->at++;
	return 0;
}

/* ---- elements ---- */

static int parse_element(struct parser *parser, unsigned depth, struct xml_element **ret_element);

static int take_cdata(struct parser *parser)
{
	parser->at += strlen("<![CDATA[");
	while (!starts(parser, "]]>")) {
		if (parser->at == parser->end)
			return bad(parser, "a CDATA section does not end");
		if (take_character(parser, &parser->text) < 0)
			return -EINVAL;
	}
	parser->at += strlen("]]>");
	return 0;
}

static bool is_blank(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		if (!is_space(text.data[i]))
			return false;
	}
	return true;
}

/* Text and what is between two child elements. */
static int take_text(struct parser *parser)
{
	int code = 0;

	while (code == 0 && parser->at < parser->end) {
		char c = *parser->at;

		if (c != '<' && c != '&' && c != ']')
			code = take_character(parser, &parser->text);
		else if (c == '&')
			code = take_reference(parser, &parser->text);
		else if (starts(parser, "]]>"))
			code = bad(parser, "']]>' in text");
		else if (c == ']')
			code = take_character(parser, &parser->text);
		else if (starts(parser, "<![CDATA["))
			code = take_cdata(parser);
		else if (starts(parser, "<!--"))
			code = skip_comment(parser);
		else if (starts(parser, "<?"))
			code = skip_past(parser, "?>", "'<?' does not end");
		else
			return 0;
	}
	return code;
}

/* The text collected since `start` belongs to the element. */
static int keep_text(struct parser *parser, size_t start, struct xml_element *element)
{
	struct span text = {
		parser->text.data ? parser->text.data + start : "", parser->text.length - start};
	char *copy;

	parser->text.length = start;
	if (element->first_child && !is_blank(text))
		return bad(parser, "text beside elements");
	if (element->first_child || text.length == 0)
		return 0;
	copy = arena_allocate_capped(parser->arena, text.length + 1);
	if (!copy)
		return too_large(parser);
	memcpy(copy, text.data, text.length);
	element->text = (struct span){copy, text.length};
	return 0;
}

/* Behind the start tag, up to behind the end tag. */
static int parse_content(struct parser *parser, unsigned depth, struct span name,
	struct xml_element *element)
{
	struct xml_element **next = &element->first_child;
	size_t start = parser->text.length;
	struct span end_name;
	int code;

	for (;;) {
		code = take_text(parser);
		if (code < 0)
			return code;
		if (parser->at == parser->end)
			return bad(parser, "an element does not end");
		if (take(parser, "</"))
			break;
		code = parse_element(parser, depth + 1, next);
		if (code < 0)
			return code;
		next = &(*next)->next;
	}
	code = take_name(parser, &end_name);
	if (code < 0)
		return code;
	skip_space(parser);
	if (!span_equal(name, end_name) || !take(parser, ">"))
		return bad(parser, "an end tag that does not fit its start tag");
	return keep_text(parser, start, element);
}

/* At the '<' of a start tag. */
static int parse_element(struct parser *parser, unsigned depth, struct xml_element **ret_element)
{
	struct xml_element *element;
	struct span name;
	int code;

	if (depth > XML_DEPTH_MAX)
		return bad(parser, "elements are nested too deeply");
	if (!take(parser, "<"))
		return bad(parser, "an element is missing");
	code = take_name(parser, &name);
	if (code < 0)
		return code;
	element = arena_allocate_capped(parser->arena, sizeof(*element));
	if (!element)
		return too_large(parser);
	*element = (struct xml_element){.name = without_prefix(name), .text = SPAN("")};
	*ret_element = element;
	while (skip_space(parser) && !starts(parser, "/>") && !starts(parser, ">")) {
		code = skip_attribute(parser);
		if (code < 0)
			return code;
	}
	if (take(parser, "/>"))
		return 0;
	if (!take(parser, ">"))
		return bad(parser, "a start tag does not end");
	return parse_content(parser, depth, name, element);
}

static int parse_document(struct parser *parser, struct xml_element **ret_root)
{
	int code;

	take(parser, "\xef\xbb\xbf"); /* a byte order mark */
	code = skip_outside(parser);
	if (code == 0)
		code = parse_element(parser, 1, ret_root);
	if (code == 0)
		code = skip_outside(parser);
	if (code == 0 && parser->at < parser->end)
		return bad(parser, "something follows the document");
	return code;
}

int xml_parse(struct span text, struct arena *arena, struct xml_element **ret_root, struct err *err)
{
	struct parser parser = {
		.all = text,
		.at = text.data,
		.end = text.data + text.length,
		.arena = arena,
		.err = err,
	};
	struct xml_element *root;
	int code = parse_document(&parser, &root);

	buffer_clear(&parser.text);
	if (code < 0)
		return code;
	*ret_root = root;
	return 0;
}

/* ---- looking at elements ---- */

const struct xml_element *xml_child(const struct xml_element *element, const char *name)
{
	const struct xml_element *child = element ? element->first_child : NULL;

	while (child && !span_is(child->name, name))
		child = child->next;
	return child;
}

struct span xml_child_text(const struct xml_element *element, const char *name)
{
	const struct xml_element *child = xml_child(element, name);

	return child ? child->text : SPAN_NONE;
}
