/*
 * The query protocol over a small table that has what the services of today lack: renamed members,
 * flattened lists, times and bytes in requests, structures within themselves. What real clients send
 * for real services is in tests/scenario/test_query_protocol.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "aws/query.h"
#include "aws/shape_table.h"

/* ---- the table ---- */

/* clang-format off */
#define NAMES(WORD_, TEXT_) \
	WORD_(Broken) WORD_(BrokenException) WORD_(Bytes) WORD_(Color) WORD_(Colour) WORD_(Count) \
	WORD_(Extra) WORD_(Inner) WORD_(Item) WORD_(Items) WORD_(Make) WORD_(Name) WORD_(Parts) \
	WORD_(Ratio) WORD_(Reason) WORD_(Thing) WORD_(ValidationError) WORD_(When) \
	WORD_(message) WORD_(part) TEXT_(empty, "")
/* clang-format on */

SHAPE_NAMES(NAMES);

enum {
	S_string,
	S_integer,
	S_double,
	S_timestamp,
	S_blob,
	S_items,
	S_parts,
	S_map,
	S_Thing,
	S_BrokenException,
};

enum {
	RANGE(M_Thing, 10),
	RANGE(M_BrokenException, 2),
};

static const struct shape_member members[] = {
	/* Thing */
	MEMBER(Name, string, REQUIRED),
	MEMBER(When, timestamp, 0),
	MEMBER(Bytes, blob, 0),
	MEMBER_AS(Color, string, 0, Colour),
	MEMBER(Count, integer, 0),
	MEMBER(Extra, map, 0),
	MEMBER(Inner, Thing, 0),
	MEMBER(Items, items, 0),
	MEMBER(Parts, parts, 0),
	MEMBER(Ratio, double, 0),
	/* BrokenException */
	MEMBER(Reason, string, 0),
	MEMBER(message, string, 0),
};

static const struct shape_name values[] = {{0, 0}};
static const struct shape_limits limits[] = {{INT64_MIN, INT64_MAX}};

static const struct shape shapes[] = {
	[S_string] = {.type = SHAPE_STRING},
	[S_integer] = {.type = SHAPE_INTEGER},
	[S_double] = {.type = SHAPE_DOUBLE},
	[S_timestamp] = {.type = SHAPE_TIMESTAMP},
	[S_blob] = {.type = SHAPE_BLOB},
	[S_items] = {.type = SHAPE_LIST,
		.element = S_string,
		.wire_name = NAME(Item),
		.flags = FLATTENED},
	[S_parts] = {.type = SHAPE_LIST, .element = S_Thing, .wire_name = NAME(part)},
	[S_map] = {.type = SHAPE_MAP, .element = S_integer, .key = S_string},
	[S_Thing] = {STRUCTURE(Thing), .required = 1},
	[S_BrokenException] = {STRUCTURE(BrokenException), .wire_name = NAME(Broken),
		.flags = ERROR, .status = 404},
};

enum { RANGE(X_Make, 1) };
static const uint16_t errors[] = {S_BrokenException};
static const struct shape_operation operations[] = {OPERATION(Make, Thing, Thing, ValidationError)};

static const struct shape_service things = {
	.name = "things",
	.signing_name = "things",
	.protocol = "query",
	.version = "2026-11-16",
	.target_prefix = "",
	.xml_namespace = "urn:things",
	SHAPE_TABLES,
};

/* ---- requests ---- */

static const struct {
	const char *form;
	const char *json; /* NULL: refused */
	const char *words;
} forms[] = {
	{"", "{}", NULL},
	{"Name=a", "{\"Name\":\"a\"}", NULL},
	{"Name=", "{\"Name\":\"\"}", NULL},
	{"Name=a%20b+c%2b&Count=-7", "{\"Count\":-7,\"Name\":\"a b c+\"}", NULL},
	{"Action=Make&Version=2026-11-16&Name=a", "{\"Name\":\"a\"}", NULL},
	/* renamed: only the name of the wire counts */
	{"Colour=red", "{\"Color\":\"red\"}", NULL},
	{"Color=red", "{}", NULL},
	/* flattened lists have the name of their items, and no word between */
	{"Item.1=a&Item.2=b", "{\"Items\":[\"a\",\"b\"]}", NULL},
	{"Item.10=j&Item.9=i&Item.8=h&Item.7=g&Item.6=f&Item.5=e&Item.4=d&Item.3=c&Item.2=b&Item.1="
	 "a",
		"{\"Items\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\"]}", NULL},
	{"Items.1=a", "{}", NULL},
	{"Item=", "{\"Items\":[]}", NULL},
	{"Item.member.1=a", NULL, "Item.member: items must be numbered"},
	/* lists whose items have a name */
	{"Parts.part.1.Name=a&Parts.part.1.Inner.Item.1=b",
		"{\"Parts\":[{\"Inner\":{\"Items\":[\"b\"]},\"Name\":\"a\"}]}", NULL},
	{"Parts.member.1.Name=a", NULL, "Parts: 'part' must follow"},
	{"Parts.part.1.Name=a&Parts.other.1.Name=a", NULL, "must follow"},
	{"Parts.part.1=", "{\"Parts\":[{}]}", NULL},
	/* maps */
	{"Extra.entry.1.key=a&Extra.entry.1.value=1&Extra.entry.2.key=b&Extra.entry.2.value=2",
		"{\"Extra\":{\"a\":1,\"b\":2}}", NULL},
	{"Extra=", "{\"Extra\":{}}", NULL},
	{"Extra.entry.1.key=a&Extra.entry.1.value=x", NULL, "Extra.entry.1.value: expected an int"},
	{"Extra.entry.1.value=1", NULL, "Extra.entry.1: has no key"},
	{"Extra.entry.1.key=a&Extra.entry.1.value=1&Extra.entry.2.key=a&Extra.entry.2.value=2",
		NULL, "Extra: has two entries with the same key"},
	/* scalars */
	{"When=2023-11-14T22:13:20Z", "{\"When\":1700000000.000}", NULL},
	{"When=1700000000.5", "{\"When\":1700000000.5}", NULL},
	{"When=yesterday", NULL, "When: expected a time"},
	{"Bytes=aGk%3D", "{\"Bytes\":\"aGk=\"}", NULL},
	{"Ratio=0.25", "{\"Ratio\":0.25}", NULL},
	{"Ratio=NaN", NULL, "Ratio: expected a number"},
	{"Count=1.5", NULL, "Count: expected an integer"},
	/* structures */
	{"Inner=", "{\"Inner\":{}}", NULL},
	{"Inner=x", NULL, "Inner: expected members"},
	{"Inner.Inner.Inner.Name=x", "{\"Inner\":{\"Inner\":{\"Inner\":{\"Name\":\"x\"}}}}", NULL},
	{"Inner.Name.x=1", NULL, "Inner.Name: has no members"},
	{"Name.=x", NULL, "Name: has no members"},
	{".Name=x", "{}", NULL},
	/* words that sort between a name and what is below it */
	{"Inner-x=1&Inner.Name=a&Inner%00=2&Inner=&Innerx=3", "{\"Inner\":{\"Name\":\"a\"}}", NULL},
};

static void forms_become_input(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(forms); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct query_form form;
		struct json *input = NULL;
		struct err err = {0};
		int code = query_form_read(span_of(forms[i].form), arena, &form, &err);

		if (code == 0)
			code = query_read_input(&things, &operations[0], &form, arena, &input,
				&err);
		if (forms[i].json) {
			if (code < 0 || !span_is(json_to_text(input, arena), forms[i].json))
				fail_msg("%s: %s", forms[i].form,
					code < 0 ? err.message : json_to_text(input, arena).data);
		} else if (code != -EINVAL || !strstr(err.message, forms[i].words)) {
			fail_msg("%s: %d %s", forms[i].form, code, err.message);
		}
	}
}

static void an_arena_at_its_cap_refuses(void **state)
{
	_buffer_ struct buffer text = {0};

	(void)state;
	for (int i = 1; i <= 2000; i++)
		buffer_format(&text, "&Item.%d=%d", i, i);
	for (size_t cap = 4096; cap < 1024 * 1024; cap *= 2) {
		_arena_ struct arena *arena = arena_new(cap);
		struct query_form form;
		struct json *input = NULL;
		struct err err = {0};
		int code = query_form_read(buffer_span(&text), arena, &form, &err);

		if (code == 0)
			code = query_read_input(&things, &operations[0], &form, arena, &input,
				&err);
		if (code == 0)
			assert_int_equal(json_count(json_get(input, "Items")), 2000);
		else
			assert_int_equal(code, -E2BIG);
		assert_true(code < 0 || cap > 64 * 1024);
	}
}

#define RICH                                                                                       \
	"{\"Bytes\":\"aGk=\",\"Color\":\"red\",\"Count\":-5,\"Extra\":{\"a b\":1,\"c\":2},"        \
	"\"Inner\":{\"Name\":\"in\"},\"Items\":[\"x\",\"y\"],\"Name\":\"a&b\",\"Parts\":[{"        \
	"\"Name\":\"p\"},{\"Items\":[\"q\"]}],\"Ratio\":0.5,\"When\":1700000000.123}"

static struct json *parse(struct arena *arena, const char *text)
{
	struct json *value;

	assert_int_equal(json_parse(span_of(text), arena, &value, NULL), 0);
	return value;
}

static void requests_become_forms(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer out = {0}, small = {0};
	struct query_form form;
	struct json *input;

	(void)state;
	query_write_form(&things, &operations[0], parse(arena, RICH), &out);
	assert_string_equal(out.data,
		"Action=Make&Version=2026-11-16&Bytes=aGk%3D&Colour=red&Count=-5"
		"&Extra.entry.1.key=a%20b&Extra.entry.1.value=1&Extra.entry.2.key=c"
		"&Extra.entry.2.value=2&Inner.Name=in&Item.1=x&Item.2=y&Name=a%26b"
		"&Parts.part.1.Name=p&Parts.part.2.Item.1=q&Ratio=0.5"
		"&When=2023-11-14T22%3A13%3A20.123Z");
	assert_int_equal(query_form_read(buffer_span(&out), arena, &form, NULL), 0);
	assert_int_equal(query_read_input(&things, &operations[0], &form, arena, &input, NULL), 0);
	assert_true(json_equal(input, parse(arena, RICH)));
	query_write_form(&things, &operations[0],
		parse(arena, "{\"Unknown\":1,\"Name\":null,\"Items\":[],\"Parts\":[]}"), &small);
	assert_string_equal(small.data, "Action=Make&Version=2026-11-16&Item=&Parts=");
}

/* ---- answers ---- */

#define ANSWER(result)                                                                             \
	"<MakeResponse xmlns=\"urn:things\"><MakeResult>" result                                   \
	"</MakeResult><ResponseMetadata><RequestId>an-id</RequestId></ResponseMetadata>"           \
	"</MakeResponse>"

static const struct {
	const char *json, *xml;
} answers[] = {
	{"{}", ANSWER("")},
	{RICH, ANSWER("<Bytes>aGk=</Bytes><Colour>red</Colour><Count>-5</Count><Extra><entry>"
		      "<key>a b</key><value>1</value></entry><entry><key>c</key><value>2</value>"
		      "</entry></Extra><Inner><Name>in</Name></Inner><Item>x</Item><Item>y</Item>"
		      "<Name>a&amp;b</Name><Parts><part><Name>p</Name></part><part><Item>q</Item>"
		      "</part></Parts><Ratio>0.5</Ratio><When>2023-11-14T22:13:20.123Z</When>")},
	{"{\"Parts\":[],\"Extra\":{},\"Inner\":{}}",
		ANSWER("<Parts></Parts><Extra></Extra><Inner></Inner>")},
};

static void answers_become_xml_and_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(answers); i++) {
		_arena_ struct arena *arena = arena_new(0);
		_buffer_ struct buffer out = {0};
		struct json *again;

		query_write_answer(&things, &operations[0], parse(arena, answers[i].json), "an-id",
			&out);
		assert_string_equal(out.data, answers[i].xml);
		assert_int_equal(query_read_answer(&things, &operations[0], buffer_span(&out),
					 arena, &again, NULL),
			0);
		assert_true(json_equal(again, parse(arena, answers[i].json)));
	}
}

/* A handler's mistakes must not make bad XML. */
static void what_does_not_fit_is_left_out(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer out = {0};

	(void)state;
	query_write_answer(&things, &operations[0],
		parse(arena, "{\"Unknown\":1,\"Name\":null,\"Count\":[1],\"Items\":5,\"Inner\":[],"
			     "\"Parts\":[null],\"Extra\":{\"a\":null}}"),
		"an-id", &out);
	assert_string_equal(out.data, ANSWER("<Inner></Inner><Parts></Parts><Extra></Extra>"));
}

static void answers_of_others(void **state)
{
	static const struct {
		const char *xml;
		const char *json; /* NULL: refused */
	} table[] = {
		/* items of a flattened list that are not neighbours */
		{"<MakeResponse><MakeResult><Item>a</Item><Name>n</Name><Item>b</Item>"
		 "</MakeResult></MakeResponse>",
			"{\"Items\":[\"a\",\"b\"],\"Name\":\"n\"}"},
		/* without a result around it, as an operation without output answers */
		{"<MakeResponse><ResponseMetadata/></MakeResponse>", "{}"},
		{"<MakeResponse><MakeResult><When>2023-11-14T23:13:20+01:00</When>"
		 "</MakeResult></MakeResponse>",
			"{\"When\":1700000000.000}"},
		{"<MakeResponse><MakeResult><Unknown/></MakeResult></MakeResponse>", "{}"},
		{"<MakeResponse><MakeResult><Count/></MakeResult></MakeResponse>", NULL},
		{"<MakeResponse><MakeResult><Count><x/></Count></MakeResult></MakeResponse>", NULL},
		{"<MakeResponse><MakeResult><Extra><entry><key>a</key></entry></Extra></MakeResult>"
		 "</MakeResponse>",
			NULL},
		{"<MakeResponse><MakeResult><Extra><entry><key>a</key><value>1</value></entry>"
		 "<entry><key>a</key><value>1</value></entry></Extra></MakeResult></MakeResponse>",
			NULL},
		{"<Other/>", NULL},
		{"{}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(table); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct json *answer = NULL;
		struct err err = {0};
		int code = query_read_answer(&things, &operations[0], span_of(table[i].xml), arena,
			&answer, &err);

		if (!table[i].json) {
			assert_int_equal(code, -EPROTO);
			assert_int_equal(err.code, -EPROTO);
			assert_null(answer);
		} else if (code < 0 || !span_is(json_to_text(answer, arena), table[i].json)) {
			fail_msg("%s: %s", table[i].xml, code < 0 ? err.message : "differs");
		}
	}
}

/* ---- errors ---- */

static void errors_have_codes(void **state)
{
	static const char wanted[] =
		"<ErrorResponse xmlns=\"urn:things\"><Error><Type>Sender</Type><Code>Broken</Code>"
		"<Message>It is &lt;broken&gt;.</Message><Reason>fell</Reason></Error>"
		"<RequestId>an-id</RequestId></ErrorResponse>";
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer out = {0};
	struct span type, message;

	(void)state;
	query_write_error(&things,
		parse(arena, "{\"__type\":\"BrokenException\",\"message\":\"It is <broken>.\","
			     "\"Reason\":\"fell\",\"Unknown\":1}"),
		"an-id", &out);
	assert_string_equal(out.data, wanted);
	query_read_error(&things, buffer_span(&out), arena, &type, &message);
	assert_true(span_is(type, "BrokenException"));
	assert_true(span_is(message, "It is <broken>."));
	assert_int_equal(query_error_status(&things, SPAN("BrokenException"), 400), 404);
	assert_int_equal(query_error_status(&things, SPAN("Broken"), 400), 404);
	assert_int_equal(query_error_status(&things, SPAN("ServerException"), 400), 500);
	assert_int_equal(query_error_status(NULL, SPAN("AccessDeniedException"), 400), 403);
	assert_int_equal(query_error_status(&things, SPAN("Whatever"), 418), 418);
}

static void errors_of_others(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span type, message;

	(void)state;
	query_read_error(&things,
		SPAN("<Response><Errors><Error><Code>Throttling</Code><Message>Slow</Message>"
		     "</Error></Errors></Response>"),
		arena, &type, &message);
	assert_true(span_is(type, "ThrottlingException"));
	assert_true(span_is(message, "Slow"));
	query_read_error(&things,
		SPAN("<ErrorResponse><Error><Code>New</Code></Error></ErrorResponse>"), arena,
		&type, &message);
	assert_true(span_is(type, "New"));
	assert_null(message.data);
	query_read_error(&things, SPAN("<html>"), arena, &type, &message);
	assert_null(type.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_become_input),
		cmocka_unit_test(an_arena_at_its_cap_refuses),
		cmocka_unit_test(requests_become_forms),
		cmocka_unit_test(answers_become_xml_and_come_back),
		cmocka_unit_test(what_does_not_fit_is_left_out),
		cmocka_unit_test(answers_of_others),
		cmocka_unit_test(errors_have_codes),
		cmocka_unit_test(errors_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
