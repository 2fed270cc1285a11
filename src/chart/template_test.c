/* Templates: every text expected here is what Helm 4.2 renders, and Helm refuses what is refused. */
#include "chart/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "chart/run.h"

static const char values[] = "{\"s\":\"text\",\"num\":7,\"f\":1.5,\"t\":true,"
			     "\"l\":[1,\"a\",{\"b\":\"c\"}],\"m\":{\"a\":{\"b\":1}}}";

static const struct {
	const char *text, *result;
} rendered[] = {
	{"a{{/* c */}}b", "ab"},
	{"a {{- /* c */ -}} b", "ab"},
	{"a {{- 1 -}} b", "a1b"},
	{"{{ \"q\\t\\u00e9\\x41\" }}{{ `r\\t` }}{{ 'a' }}", "q\t\303\251Ar\\t97"},
	{"{{ 1_000 }} {{ 0x1F }} {{ 0b11 }} {{ 0o17 }} {{ 1e3 }} {{ .5 }} {{ -3 }}",
		"1000 31 3 15 1000 0.5 -3"},
	{"{{ $x := 1 }}{{ $x = 2 }}{{ $x }}", "2"},
	{"{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x = 3 }}{{ end }}{{ $x }}", "1"},
	{"{{ $x := list }}{{ $x := append $x 1 }}{{ $x := append $x 2 }}{{ $x }}", "[1 2]"},
	{"{{ $x := 1 }}{{ with $x := add $x 1 }}{{ $x }}{{ end }}{{ range $x, $y := list $x }}{{ "
	 "$x }}{{ $y }}{{ end }}{{ $x }}",
		"2011"},
	{"{{ $x := 1 }}{{ $x := (($x := 3) | add $x) }}{{ $x }}", "6"},
	{"{{ if false }}{{ $x := $x }}{{ end }}", ""},
	{"{{ (index .l 2).b }}{{ .m.a.b }}", "c1"},
	{"{{ define \"d\" }}<{{ . }}>{{ end }}{{ template \"d\" 5 }}{{ template \"d\" }}",
		"<5><<no value>>"},
	{"{{ block \"e\" .s }}[{{ . }}]{{ end }}", "[text]"},
	{"{{ if 0 }}a{{ else }}b{{ end }}{{ if 0.0 }}a{{ else }}b{{ end }}{{ if \"\" }}a{{ else "
	 "}}b{{ end }}",
		"bbb"},
	{"{{ if list }}a{{ else }}b{{ end }}{{ if dict }}a{{ else }}b{{ end }}{{ if .none }}a{{ "
	 "else }}b{{ end }}",
		"bbb"},
	{"{{ if \"false\" }}a{{ else }}b{{ end }}{{ if -1 }}a{{ else }}b{{ end }}{{ if list 0 "
	 "}}a{{ else }}b{{ end }}",
		"aaa"},
	{"{{ not 0 }} {{ not \"x\" }} {{ and 1 0 2 }} {{ or 0 \"\" \"z\" }} {{ and .s .num }}",
		"true false 0 z 7"},
	{"{{ if false }}a{{ else if 1 }}b{{ else }}c{{ end }}", "b"},
	{"{{ with .none }}a{{ else with .s }}{{ . }}{{ else }}c{{ end }}", "text"},
	{"{{ with $y := .num }}{{ $y }}{{ . }}{{ end }}", "77"},
	{"{{ range .l }}{{ . }};{{ end }}", "1;a;map[b:c];"},
	{"{{ range $i, $v := .l }}{{ $i }}={{ $v }};{{ end }}", "0=1;1=a;2=map[b:c];"},
	{"{{ range $k, $v := .m }}{{ $k }}={{ $v }}{{ end }}", "a=map[b:1]"},
	{"{{ range list }}a{{ else }}empty{{ end }}{{ range .none }}a{{ else }}none{{ end }}",
		"emptynone"},
	{"{{ range 3 }}{{ . }}{{ end }}{{ range $i := 2 }}{{ $i }}{{ end }}{{ range 0 }}a{{ else "
	 "}}zero{{ end }}",
		"01201zero"},
	{"{{ range $i, $v := list 1 2 3 4 }}{{ if eq $v 2 }}{{ continue }}{{ end }}{{ if eq $v 4 "
	 "}}{{ break }}{{ end }}{{ $v }}{{ end }}",
		"13"},
	{"{{ typeOf 1 }} {{ typeOf 1.0 }} {{ typeOf .num }} {{ typeOf (int .num) }} {{ typeOf "
	 "(int64 1) }} {{ typeOf 'a' }} {{ typeOf (add 1 2) }} {{ typeOf .l }}",
		"int float64 float64 int int64 int int64 []interface {}"},
	{"{{ kindOf nil }} {{ kindOf .m }} {{ kindOf .l }} {{ kindOf \"x\" }} {{ kindIs "
	 "\"float64\" .num }}",
		"invalid map slice string true"},
	{"{{ eq 1 1 }} {{ eq 1 2 1 }} {{ ne \"a\" \"b\" }} {{ lt 1 2 }} {{ ge 2.5 2.5 }} {{ eq "
	 ".num 7.0 }} {{ lt \"a\" \"b\" }}",
		"true true true true true true true"},
	{"{{ add 1 2.9 \"3\" }} {{ div 7 2 }} {{ mod 7 3 }} {{ sub 1 5 }} {{ mul 2 3 4 }} {{ addf "
	 "1.5 2 }} {{ divf 1 4 }}",
		"6 3 1 -4 24 3.5 0.25"},
	{"{{ printf \"%d|%5d|%-5d|%05d|%+d|%x|%X|%o|%b|%c|%U\" 42 42 42 42 42 255 255 8 5 65 65 }}",
		"42|   42|42   |00042|+42|ff|FF|10|101|A|U+0041"},
	{"{{ printf \"%f|%.2f|%8.3f|%e|%g|%G|%v\" 1.5 2.345 3.14159 12345.678 1e21 1e-7 100000.0 "
	 "}}",
		"1.500000|2.35|   3.142|1.234568e+04|1e+21|1E-07|100000"},
	{"{{ printf \"%s|%q|%10s|%-10s|%.2s|%x|%v\" \"a\" \"b\\n\" \"c\" \"d\" \"efg\" \"hi\" "
	 "\"j\" }}",
		"a|\"b\\n\"|         c|d         |ef|6869|j"},
	{"{{ printf \"%v %+v %#v %T\" .l .m \"x\" .m }}",
		"[1 a map[b:c]] map[a:map[b:1]] \"x\" map[string]interface {}"},
	{"{{ printf \"%d %s\" \"x\" 5 }} {{ printf \"%d\" }} {{ printf \"x\" 1 }} {{ printf \"%z\" "
	 "1 }} {{ printf \"%!\" }}",
		"%!d(string=x) %!s(int=5) %!d(MISSING) x%!(EXTRA int=1) %!z(int=1) %!!(MISSING)"},
	{"{{ printf \"%[2]d %[1]d %*d\" 1 2 5 3 }} {{ printf \"%t %v %%\" true nil }}",
		"2 1  5 true <nil> %"},
	{"{{ printf \"%b %.3b %b %b %b %#b %010b\" 1.5 0.1 0.0 1e300 5e-324 -1.0 0.0 }}",
		"6755399441055744p-52 7205759403792794p-56 0p-1074 6724873095247260p+944 1p-1074 "
		"-4503599627370496p-52 0000p-1074"},
	{"{{ printf \"%10b|%-40b|%+b\" 1.0 -2.5 3.0 }}",
		"4503599627370496p-52|-5629499534213120p-51                   "
		"|+6755399441055744p-51"},
	{"{{ print 1 2 \"a\" \"b\" 3 }} {{ println \"x\" 1 }}", "1 2ab3 x 1\n"},
	{"{{ html \"<a&'\\\">\" }} {{ js \"a'b\\n<\" }} {{ urlquery \"a b&c\" }}",
		"&lt;a&amp;&#39;&#34;&gt; a\\'b\\u000A\\u003C a+b%26c"},
	{"{{ len .l }} {{ len \"abc\" }} {{ index .m \"a\" \"b\" }} {{ index .l 1 }}", "3 3 1 a"},
	{"{{ .none }}|{{ .m.x }}|{{ .none | default \"d\" }}", "<no value>|<no value>|d"},
	{"{{ camelcase \"http_server\" }} {{ camelcase \"HTTPServer\" }} {{ camelcase "
	 "\"http_SERVERx\" }} {{ camelcase \"_aBC_dEf\" }} {{ camelcase \"fooBar baz-qux\" }} {{ "
	 "camelcase \"a\" }} {{ camelcase \"__\" }} {{ camelcase \"no_HTTPS\" }} {{ camelcase \"\" "
	 "}} {{ camelcase \"HTTPServerFoo\" }} {{ camelcase \"a_bC-DE fG\" }} {{ camelcase "
	 "\"x2Yz_9aB\" }}",
		"HttpServer Httpserver HttpServerx _ABCDEf FooBarBazQux A ___ NoHttps  "
		"HttpserverFoo ABCDeFG X2Yz9aB"},
	{"{{ concat | toJson }} {{ concat (list) (list) | typeOf }} {{ dict \"a\" (rest (list)) | "
	 "toYaml }} {{ deepCopy (dict \"a\" (rest (list))) | toJson }}",
		"null []interface {} a: null {\"a\":null}"},
	{"{{ initial (list) }}|{{ rest (list) }}|{{ initial (list) | toJson }}|{{ rest (list) | "
	 "toJson }}|{{ initial (list 1) | toJson }}|{{ rest (list 1) | toJson }}",
		"[]|[]|null|null|[]|[]"},
	{"{{ rest (list) | typeOf }} {{ rest (list) | kindOf }} {{ rest (list) | len }} {{ append "
	 "(rest (list)) 1 }} {{ rest (list) | default \"d\" }} {{ rest (list) | toYaml }} {{ rest "
	 "(list) | empty }} {{ printf \"%#v\" (rest (list)) }} {{ printf \"%#v\" (list) }} {{ "
	 "first (list) }} {{ reverse (list) | toJson }} {{ compact (list) | toJson }} {{ uniq "
	 "(list) | toJson }} {{ without (list) 1 | toJson }} {{ concat (list) | toJson }} {{ slice "
	 "(list) | toJson }} {{ sortAlpha (list) | toJson }} {{ deepEqual (rest (list)) (list) }}",
		"[]interface {} slice 0 [1] d null true []interface {}(nil) []interface {}{} <no "
		"value> [] [] [] [] null null [] false"},
	{"{{ regexMatch \"^a+$\" \"aaa\" }} {{ regexReplaceAll \"a(x*)b\" \"-ab-axxb-\" \"${1}W\" "
	 "}} {{ regexFind \"[0-9]+\" \"ab12\" }} {{ regexMatch \"(?<n>a)\" \"a\" }} {{ regexMatch "
	 "\"[(?<n>]P\" \"aP\" }} {{ regexFind \"[(?<n>]+\" \"P(n\" }} {{ regexFind "
	 "\"\\\\Q\\\\C(?<\\\\E\" \"\\\\C(?<\" }} {{ regexFind \"[]a[:digit:](?<b]+\" \"P]9(\" }}",
		"true -W-xxW- 12 true false (n \\C(?< ]9("},
};

static const struct {
	const char *text, *message;
} refused[] = {
	{"{{", "case:1:2: unclosed action"},
	{"{{ 1", "case:1:4: unclosed action"},
	{"{{ \"a", "case:1:3: unterminated quoted string"},
	{"{{ `a", "case:1:3: unterminated raw quoted string"},
	{"{{ 'a", "case:1:3: unterminated character constant"},
	{"{{ 'ab' }}", "case:1:3: malformed character constant: 'ab'"},
	{"{{/* a", "case:1:2: unclosed comment"},
	{"{{/* a */ 1 }}", "case:1:9: comment ends before closing delimiter"},
	{"{{ (1 }}", "case:1:6: unclosed left paren"},
	{"{{ 1) }}", "case:1:4: unexpected right paren"},
	{"{{ 1x }}", "case:1:3: bad number syntax"},
	{"{{ 1i }}", "case:1:3: complex numbers are not supported"},
	{"{{ 99999999999999999999 }}", "case:1:3: integer overflow: 99999999999999999999"},
	{"{{ \"\\q\" }}", "case:1:3: invalid string: \"\\q\""},
	{"{{ $x }}", "case:1:3: undefined variable \"$x\""},
	{"{{ $x = 1 }}", "case:1:8: undefined variable"},
	{"{{ $x := $x }}", "case:1:9: undefined variable"},
	{"{{ nofunc }}", "case:1:3: function \"nofunc\" not defined"},
	{"{{ if }}a{{ end }}", "case:1:6: missing value for if"},
	{"{{ if 1 }}a", "case:1:11: unexpected end of text: {{end}} is missing"},
	{"{{ end }}", "case:1:3: unexpected {{end}}"},
	{"{{ else }}", "case:1:3: unexpected {{else}}"},
	{"{{ if 1 }}a{{ else }}b{{ else }}c{{ end }}", "case:1:3: expected end; found {{else}}"},
	{"{{ range 1 }}{{ else if 1 }}{{ end }}", "case:1:21: unexpected <if> in else"},
	{"{{ break }}", "case:1:3: {{break}} outside {{range}}"},
	{"{{ continue }}", "case:1:3: {{continue}} outside {{range}}"},
	{"{{ define \"x\" }}{{ define \"y\" }}{{ end }}{{ end }}",
		"case:1:19: unexpected {{define}}"},
	{"{{ define x }}{{ end }}", "case:1:10: unexpected <x> in define clause"},
	{"{{ define \"x\" }}a{{ end }}{{ define \"x\" }}b{{ end }}",
		"case:1:29: multiple definition of template \"x\""},
	{"{{ template \"nope\" }}", "case:1:3: template \"nope\" not defined"},
	{"{{ template x }}", "case:1:12: unexpected <x> in template clause"},
	{"{{ 1 | 2 }}", "case:1:7: non executable command in pipeline stage 2"},
	{"{{ 1 | }}", "case:1:7: missing value for command"},
	{"{{ | 1 }}", "case:1:3: unexpected <|> in command"},
	{"{{ nil }}", "case:1:3: nil is not a command"},
	{"{{ \"a\".b }}", "case:1:6: unexpected <.b> after term"},
	{"{{ 1 2 }}", "case:1:3: can't give argument to non-function"},
	{"{{ .s.x }}", "case:1:3: can't evaluate field x in type string"},
	{"{{ .m.x.y.z }}", "case:1:3: nil pointer evaluating interface {}.y"},
	{"{{ range .s }}{{ end }}", "case:1:3: range can't iterate over a value of type string"},
	{"{{ range $a, $b := 3 }}{{ end }}",
		"case:1:3: can't use two variables to range over an integer"},
	{"{{ range $a, $b, $c := .l }}{{ end }}", "case:1:13: too many declarations in range"},
	{"{{ $a, $b := .l }}", "case:1:3: too many declarations in command"},
	{"{{ len 3 }}", "case:1:3: len of int"},
	{"{{ index .l 9 }}", "case:1:3: index out of range: 9"},
	{"{{ index .l \"a\" }}", "case:1:3: cannot index slice/array with type string"},
	{"{{ eq 1 1.0 }}", "case:1:3: incompatible types for comparison: int and float64"},
	{"{{ lt 1 \"a\" }}", "case:1:3: incompatible types for comparison: int and string"},
	{"{{ eq .l .l }}", "case:1:3: non-comparable types []interface {} and []interface {}"},
	{"{{ upper 1 }}", "case:1:3: upper: expected string; found a number"},
	{"{{ upper }}", "case:1:3: upper: wrong number of args: want 1 got 0"},
	{"{{ and }}", "case:1:3: and: wrong number of args: want at least 1 got 0"},
	{"{{ not }}", "case:1:3: not: wrong number of args: want 1 got 0"},
	{"{{ nindent 1.5 \"a\" }}", "case:1:3: nindent: expected int; found a number"},
	{"{{ fail \"stop\" }}", "case:1:3: stop"},
	{"{{ required \"need\" .none }}", "case:1:3: need"},
	{"{{ required \"need\" \"\" }}", "case:1:3: need"},
	{"{{ div 1 0 }}", "case:1:3: integer divide by zero"},
	{"{{ regexFind \"(\" \"a\" }}", "case:1:3: error parsing regexp: missing ): (: `(`"},
	{"{{ regexFind \"(?i\" \"a\" }}",
		"case:1:3: error parsing regexp: invalid perl operator: (?i: `(?i`"},
	{"{{ regexFind \"\\\\C\" \"a\" }}",
		"case:1:3: error parsing regexp: invalid escape sequence: \\C: `\\C`"},
	{"{{ regexFind \"a**\" \"a\" }}",
		"case:1:3: error parsing regexp: bad repetition operator: **: `a**`"},
	{"{{ regexFind \"a{1001}\" \"a\" }}",
		"case:1:3: error parsing regexp: invalid repetition size: {1001}: `a{1001}`"},
	{"{{ regexFind \"(?i)(?s\" \"a\" }}",
		"case:1:3: error parsing regexp: invalid perl operator: (?s: `(?i)(?s`"},
	{"{{ regexFind \"\\\\pX\" \"a\" }}",
		"case:1:3: error parsing regexp: invalid character class range: \\pX: `\\pX`"},
	{"{{ regexFind \"(a{500}){3}\" \"a\" }}",
		"case:1:3: error parsing regexp: invalid repetition size: {3}: `(a{500}){3}`"},
	{"{{ regexFind \"x{2}{3}\" \"a\" }}",
		"case:1:3: error parsing regexp: bad repetition operator: {2}{3}: `x{2}{3}`"},
	{"{{ regexFind \"a*+\" \"a\" }}",
		"case:1:3: error parsing regexp: bad repetition operator: *+: `a*+`"},
	{"{{ regexFind \"a+?*\" \"a\" }}",
		"case:1:3: error parsing regexp: bad repetition operator: +?*: `a+?*`"},
	{"{{ regexFind \"[[:foo:]]\" \"a\" }}", "case:1:3: error parsing regexp: invalid character "
						"class range: [:foo:]: `[[:foo:]]`"},
	{"{{ regexFind \"\\\\8\" \"a\" }}",
		"case:1:3: error parsing regexp: invalid escape sequence: \\8: `\\8`"},
	{"{{ regexFind \"(?<n\" \"a\" }}",
		"case:1:3: error parsing regexp: invalid named capture group: (?P<n: `(?<n`"},
	{"{{ regexFind \"((a{100}){10}){10}\" \"a\" }}",
		"case:1:3: error parsing regexp: invalid repetition size: {10}: "
		"`((a{100}){10}){10}`"},
	{"{{ include \"nope\" . }}", "case:1:3: include: no template \"nope\""},
};

/* Parses the text as the template "case" and runs it, as if `steps` were taken before. */
static int render_after(struct arena *arena, struct span text, uint32_t steps,
	struct span *ret_result, struct err *err)
{
	struct template_set set = {0};
	struct clock_manual clock;
	struct random_seeded random;
	struct run run = {.arena = arena,
		.set = &set,
		.clock = &clock.clock,
		.random = &random.random,
		.out = BUFFER_WITH_CAP(RUN_OUTPUT_MAX),
		.steps = steps};
	struct json *json;
	int code;

	clock_manual_init(&clock, 1700000000000);
	random_seeded_init(&random, 1);
	assert_int_equal(json_parse(span_of(values), arena, &json, NULL), 0);
	code = template_parse(&set, arena, SPAN("case"), text, err);
	if (code == 0) {
		code = run_to_text(&run, template_find(&set, SPAN("case")),
			value_from_json(arena, json), ret_result);
		if (code < 0)
			*err = run.err;
	}
	buffer_clear(&run.notes);
	buffer_clear(&run.out);
	run_free_expressions(&run);
	template_set_clear(&set);
	return code;
}

static int render(struct arena *arena, struct span text, struct span *ret_result, struct err *err)
{
	return render_after(arena, text, 0, ret_result, err);
}

static void test_rendered(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(rendered); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct span result;
		struct err err = {0};

		if (render(arena, span_of(rendered[i].text), &result, &err) < 0)
			fail_msg("%s: %s", rendered[i].text, err.message);
		if (!span_is(result, rendered[i].result))
			fail_msg("%s: %.*s", rendered[i].text, SPAN_ARGS(result));
	}
}

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(refused); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct span result;
		struct err err = {0};

		if (render(arena, span_of(refused[i].text), &result, &err) == 0)
			fail_msg("%s: rendered", refused[i].text);
		assert_string_equal(err.message, refused[i].message);
	}
}

static void expect_limit(struct span text, const char *part)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span result;
	struct err err = {0};

	if (render(arena, text, &result, &err) == 0)
		fail_msg("%.40s: rendered", text.data);
	if (!strstr(err.message, part))
		fail_msg("%.40s: %s", text.data, err.message);
}

static void test_text_limit(void **state)
{
	_buffer_ struct buffer text = {0};

	(void)state;
	for (size_t i = 0; i <= TEMPLATE_TEXT_MAX; i++)
		buffer_add_char(&text, 'a');
	expect_limit(buffer_span(&text), "template of 16777217 bytes (limit 16777216)");
}

static void add_repeated(struct buffer *out, const char *text, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buffer_add_string(out, text);
}

static void test_nesting_limit(void **state)
{
	static const struct {
		const char *open, *middle, *close;
	} nested[] = {
		{"(", "1", ")"},
		{"if 1}}{{", "1", "}}{{end"},
		{"block \"a\" .}}{{", "1", "}}{{end"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(nested); i++) {
		_buffer_ struct buffer text = {0};

		buffer_add_string(&text, "{{");
		add_repeated(&text, nested[i].open, TEMPLATE_NESTING_MAX + 1);
		buffer_add_string(&text, nested[i].middle);
		add_repeated(&text, nested[i].close, TEMPLATE_NESTING_MAX + 1);
		buffer_add_string(&text, "}}");
		expect_limit(buffer_span(&text), "nested too deeply (limit 200)");
	}
}

static void test_variable_limit(void **state)
{
	_buffer_ struct buffer text = {0};

	(void)state;
	add_repeated(&text, "{{$a := 1}}", TEMPLATE_VARIABLES_MAX + 1);
	expect_limit(buffer_span(&text), "too many variables (limit 1000)");
}

static void test_run_limits(void **state)
{
	static const struct {
		const char *text, *part;
	} limits[] = {
		{"{{define \"a\"}}{{include \"a\" .}}{{end}}{{include \"a\" .}}",
			"includes itself too often (limit 1000)"},
		{"{{define \"a\"}}{{template \"a\" .}}{{end}}{{template \"a\" .}}",
			"templates call each other too deeply (limit 5120 KB of stack)"},
		{"{{$a := repeat 1000000 \"a\"}}{{range 70}}{{$a}}{{end}}",
			"output too large (limit 64 MB)"},
		{"{{$a := until 100000}}{{range 400}}{{$b := append $a 1}}{{end}}",
			"templates need too much memory (limit 512 MB)"},
		{"{{repeat 600000000 \"a\"}}", "limit 512 MB"},
		{"{{range $i := 10001}}{{regexFind (printf \"a%d\" $i) \"\"}}{{end}}",
			"too many regular expressions (limit 10000)"},
		{"{{regexFind (repeat 65537 \"a\") \"\"}}", "pattern of 65537 bytes (limit 65536)"},
		{"{{until 10000001}}", "limit 10000000"},
		{"{{$a := dict}}{{$_ := set $a \"a\" $a}}{{$b := dict}}{{$_ := set $b \"a\" $b}}"
		 "{{merge $a $b}}",
			"maps nested too deeply (limit 200)"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(limits); i++)
		expect_limit(span_of(limits[i].text), limits[i].part);
}

static void test_step_limit(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span result;
	struct err err = {0};

	(void)state;
	assert_int_equal(render_after(arena, SPAN("{{range 9}}{{end}}"), RUN_STEPS_MAX - 10,
				 &result, &err),
		0);
	assert_true(render_after(arena, SPAN("{{range 10}}{{end}}"), RUN_STEPS_MAX - 10, &result,
			    &err) < 0);
	assert_string_equal(err.message, "case:1:2: too many steps (limit 100000000)");
}

/* A message names the template, the place and the callers, and no more than a few of these. */
static void test_stack_of_templates(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span result;
	struct err err = {0};

	(void)state;
	assert_true(render(arena,
			    SPAN("{{define \"a\"}}\n {{fail \"stop\"}}{{end}}{{include \"a\" .}}"),
			    &result, &err) < 0);
	assert_string_equal(err.message,
		"case:2:3: stop\n  in template \"a\", called at case:2:25");
	assert_true(render(arena,
			    SPAN("{{define \"a\"}}{{include \"a\" .}}{{end}}{{include \"a\" .}}"),
			    &result, &err) < 0);
	assert_non_null(strstr(err.message, "\n  ..."));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rendered),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_text_limit),
		cmocka_unit_test(test_nesting_limit),
		cmocka_unit_test(test_variable_limit),
		cmocka_unit_test(test_run_limits),
		cmocka_unit_test(test_step_limit),
		cmocka_unit_test(test_stack_of_templates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
