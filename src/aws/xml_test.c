#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "aws/xml.h"
#include "base/memory.h"

/* "a(b(…)c'text')": names, children in brackets, text in quotes. */
static void describe(const struct xml_element *element, struct buffer *out)
{
	for (; element; element = element->next) {
		buffer_add_span(out, element->name);
		if (element->text.length > 0)
			buffer_format(out, "'%.*s'", SPAN_ARGS(element->text));
		if (!element->first_child)
			continue;
		buffer_add_char(out, '(');
		describe(element->first_child, out);
		buffer_add_char(out, ')');
	}
}

static const struct {
	const char *text;
	const char *description; /* NULL: refused */
} documents[] = {
	{"<a/>", "a"},
	{"<a></a>", "a"},
	{"<a />", "a"},
	{"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- - -->\n<a>\n</a >\n<!----><?x?>", "a'\n'"},
	{"<a><b>1</b><b>2</b><c/></a>", "a(b'1'b'2'c)"},
	{"<a>\n  <b>\t x </b>\n</a>", "a(b'\t x ')"},
	{"<a b='1' c:d = \"&lt;'\"><n:e xmlns:n='x'/></a>", "a(e)"},
	{"<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;&#x42;</a>", "a'<>&\"'A😀B'"},
	{"<a>x<![CDATA[<&]]]>y<!-- no -->z</a>", "a'x<&]yz'"},
	{"<a>1\r\n2\r3&#13;</a>", "a'1\n2\n3\r'"},
	{"<a>é€😀</a>", "a'é€😀'"},
	{"<a_b-c.d1/>", "a_b-c.d1"},

	{"", NULL},
	{" ", NULL},
	{"x", NULL},
	{"<a>", NULL},
	{"<a", NULL},
	{"<a b>", NULL},
	{"<a b=1/>", NULL},
	{"<a b='1/>", NULL},
	{"<a b='<'/>", NULL},
	{"<a b='&x;'/>", NULL},
	{"<a b='1'c='2'/>", NULL},
	{"<a></b>", NULL},
	{"<a><b></a></b>", NULL},
	{"</a>", NULL},
	{"<a/><b/>", NULL},
	{"<a/>x", NULL},
	{"<1/>", NULL},
	{"< a/>", NULL},
	{"<!DOCTYPE a><a/>", NULL},
	{"<a>&b;</a>", NULL},
	{"<a>&</a>", NULL},
	{"<a>&#;</a>", NULL},
	{"<a>&#x;</a>", NULL},
	{"<a>&#0;</a>", NULL},
	{"<a>&#xD800;</a>", NULL},
	{"<a>&#xFFFE;</a>", NULL},
	{"<a>&#99999999999;</a>", NULL},
	{"<a>\x01</a>", NULL},
	{"<a>\xff</a>", NULL},
	{"<a>\xed\xa0\x80</a>", NULL},
	{"<a>\xef\xbf\xbf</a>", NULL},
	{"<a>]]></a>", NULL},
	{"<a><![CDATA[</a>", NULL},
	{"<a><!-- -- --></a>", NULL},
	{"<a><!-- </a>", NULL},
	{"<a><? </a>", NULL},
	{"<a>text<b/></a>", NULL},
	{"<a><b/>text</a>", NULL},
};

static void documents_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(documents); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer out = {0};
		struct xml_element *root = NULL;
		struct err err = {0};
		int code = xml_parse(span_of(documents[i].text), arena, &root, &err);

		if (!documents[i].description) {
			if (code != -EINVAL || root || !err.message[0])
				fail_msg("%s: %d", documents[i].text, code);
			continue;
		}
		if (code < 0)
			fail_msg("%s: %s", documents[i].text, err.message);
		describe(root, &out);
		assert_string_equal(out.data, documents[i].description);
	}
}

static void depth_and_memory_are_limited(void **state)
{
	_buffer_ struct buffer text = {0};
	struct xml_element *root = NULL;
	struct err err = {0};

	(void)state;
	for (int depth = XML_DEPTH_MAX; depth <= XML_DEPTH_MAX + 1; depth++) {
		_arena_ struct arena *arena = arena_new(0);

		buffer_reset(&text);
		for (int i = 0; i < depth; i++)
			buffer_add_string(&text, "<a>");
		for (int i = 0; i < depth; i++)
			buffer_add_string(&text, "</a>");
		assert_int_equal(xml_parse(buffer_span(&text), arena, &root, &err),
			depth > XML_DEPTH_MAX ? -EINVAL : 0);
	}
	assert_non_null(strstr(err.message, "too deeply"));
	buffer_reset(&text);
	buffer_add_string(&text, "<a>");
	for (int i = 0; i < 10000; i++)
		buffer_add_string(&text, "<b>some text</b>\n");
	buffer_add_string(&text, "</a>");
	for (size_t cap = 1024; cap <= 64 * 1024; cap *= 4) {
		_arena_ struct arena *arena = arena_new(cap);

		assert_int_equal(xml_parse(buffer_span(&text), arena, &root, &err), -E2BIG);
	}
}

static void faults_have_a_line(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct xml_element *root;
	struct err err;

	(void)state;
	assert_int_equal(xml_parse(SPAN("<a>\n<b>\n&x;</b></a>"), arena, &root, &err), -EINVAL);
	assert_string_equal(err.message, "XML, line 3: an entity is not one of the five of XML");
}

static void children_are_found(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct xml_element *root;

	(void)state;
	assert_int_equal(xml_parse(SPAN("<a><b>1</b><c>2</c><c>3</c></a>"), arena, &root, NULL), 0);
	assert_true(span_is(xml_child_text(root, "c"), "2"));
	assert_null(xml_child(root, "d"));
	assert_null(xml_child(NULL, "d"));
	assert_null(xml_child_text(root, "d").data);
}

static void text_is_escaped(void **state)
{
	static const struct {
		const char *text, *written;
	} table[] = {
		{"", ""},
		{"plain", "plain"},
		{"a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c'"},
		{"\t\n\r", "\t\n&#13;"},
		{"\x01x\x1f", "\xef\xbf\xbdx\xef\xbf\xbd"},
		{"é€😀", "é€😀"},
		{"a\xff", "a\xef\xbf\xbd"},
		{"\xc3", "\xef\xbf\xbd"},
		{"\xef\xbf\xbe\xef\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		_buffer_ struct buffer out = {0};

		xml_write_text(span_of(table[i].text), &out);
		assert_true(span_is(buffer_span(&out), table[i].written));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_are_read),
		cmocka_unit_test(depth_and_memory_are_limited),
		cmocka_unit_test(faults_have_a_line),
		cmocka_unit_test(children_are_found),
		cmocka_unit_test(text_is_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
