/* Functions of the language itself and of the engine: include, tpl, required, print, len, index. */
#include <stdio.h>

#include "chart/function.h"
#include "chart/text.h"

#define UNUSED_COUNT (void)count

static int core_include(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct template *template = template_find(run->set, arguments[0].text);
	struct value dot = arguments[1];
	struct span text;
	int code;

	UNUSED_COUNT;
	if (!template)
		return run_fail(run, "include: no template \"%.*s\"", SPAN_ARGS(arguments[0].text));
	if (template->include_depth > RUN_INCLUDE_DEPTH_MAX)
		return run_fail(run,
			"include: template \"%.*s\" includes itself too often (limit %d)",
			SPAN_ARGS(template->name), RUN_INCLUDE_DEPTH_MAX);
	if (dot.kind == VALUE_NIL)
		dot = value_none();
	template->include_depth++;
	code = run_to_text(run, template, dot, &text);
	template->include_depth--;
	if (code < 0)
		return code;
	*ret_value = value_string(text);
	return 0;
}

/* Without "<no value>", which Helm takes out of what it renders. */
static struct span without_no_value(struct run *run, struct span text)
{
	_buffer_ struct buffer out = {0};
	const struct span mark = SPAN("<no value>");
	int64_t found = text_find(text, mark, 0);
	size_t from = 0;

	if (found < 0)
		return text;
	for (; found >= 0; found = text_find(text, mark, from)) {
		buffer_add(&out, text.data + from, (size_t)found - from);
		from = (size_t)found + mark.length;
	}
	buffer_add(&out, text.data + from, text.length - from);
	return arena_copy_span(run->arena, buffer_span(&out));
}

/* The text is a template of its own; what it defines is seen by nothing else. */
static int core_tpl(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct template_set set = {.parent = run->set}, *outer = run->set;
	struct span text = arguments[0].text, result;
	struct value dot = arguments[1];
	struct err err;
	int code;

	UNUSED_COUNT;
	if (!memmem(text.data, text.length, "{{", 2)) {
		*ret_value = value_string(without_no_value(run, text));
		return 0;
	}
	if (dot.kind == VALUE_NIL)
		dot = value_none();
	code = template_parse(&set, run->arena, run->frame->template->source->name, text, &err);
	if (code < 0) {
		template_set_clear(&set);
		return run_fail(run, "tpl: %s", err.message);
	}
	run->set = &set;
	code = run_to_text(run, template_find(&set, run->frame->template->source->name), dot,
		&result);
	run->set = outer;
	template_set_clear(&set);
	if (code < 0)
		return code;
	*ret_value = value_string(without_no_value(run, result));
	return 0;
}

static int core_required(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value value = arguments[1];

	UNUSED_COUNT;
	if (value_is_absent(value) || (value.kind == VALUE_STRING && value.text.length == 0)) {
		if (!run->lenient)
			return run_fail(run, "%.*s", SPAN_ARGS(arguments[0].text));
		buffer_format(&run->notes, "missing required value: %.*s\n",
			SPAN_ARGS(arguments[0].text));
		value = value_string(SPAN(""));
	}
	*ret_value = value;
	return 0;
}

static int core_fail(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	UNUSED_COUNT;
	if (!run->lenient)
		return run_fail(run, "%.*s", SPAN_ARGS(arguments[0].text));
	buffer_format(&run->notes, "fail: %.*s\n", SPAN_ARGS(arguments[0].text));
	*ret_value = value_string(SPAN(""));
	return 0;
}

static int core_lookup(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct span texts[4];
	struct err err;

	for (size_t i = 0; i < 4; i++)
		texts[i] = arguments[i].text;
	UNUSED_COUNT;
	*ret_value = value_of_map(value_map_new(run->arena, 0));
	if (!run->lookup)
		return 0;
	if (run->lookup(run->lookup_data, run->arena, texts, ret_value, &err) < 0)
		return run_fail(run, "lookup: %s", err.message);
	return 0;
}

/* ---- printing ------------------------------------------------------------------------------------ */

static void add_operand(struct run *run, struct value value, struct buffer *out)
{
	if (value_is_absent(value))
		buffer_add_string(out, "<nil>");
	else
		format_value(run, value, out);
}

/* fmt.Sprint: a space between operands of which neither is text. */
static void add_operands(struct run *run, const struct value *arguments, size_t count,
	struct buffer *out)
{
	for (size_t i = 0; i < count; i++) {
		if (i && arguments[i].kind != VALUE_STRING && arguments[i - 1].kind != VALUE_STRING)
			buffer_add_char(out, ' ');
		add_operand(run, arguments[i], out);
	}
}

/* The same for escapers, which print nothing as templates do. */
static void add_printable_operands(struct run *run, const struct value *arguments, size_t count,
	struct buffer *out)
{
	struct value *printable = arena_allocate_array(run->arena, count + 1, sizeof(*printable));

	for (size_t i = 0; i < count; i++)
		printable[i] = value_is_absent(arguments[i]) ? value_string(SPAN("<no value>"))
							     : arguments[i];
	add_operands(run, printable, count, out);
}

static int core_print(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);

	add_operands(run, arguments, count, &out);
	return function_return(run, &out, ret_value);
}

static int core_println(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);

	for (size_t i = 0; i < count; i++) {
		if (i)
			buffer_add_char(&out, ' ');
		add_operand(run, arguments[i], &out);
	}
	buffer_add_char(&out, '\n');
	return function_return(run, &out, ret_value);
}

static int core_printf(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	int code = format_text(run, arguments[0].text, arguments + 1, count - 1, &out);

	return code < 0 ? code : function_return(run, &out, ret_value);
}

static int core_html(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer plain = function_buffer(run), out = function_buffer(run);

	add_printable_operands(run, arguments, count, &plain);
	for (size_t i = 0; i < plain.length; i++)
		switch (plain.data[i]) {
		case '\0': buffer_add_string(&out, "\xEF\xBF\xBD"); break;
		case '"': buffer_add_string(&out, "&#34;"); break;
		case '\'': buffer_add_string(&out, "&#39;"); break;
		case '&': buffer_add_string(&out, "&amp;"); break;
		case '<': buffer_add_string(&out, "&lt;"); break;
		case '>': buffer_add_string(&out, "&gt;"); break;
		default: buffer_add_char(&out, plain.data[i]);
		}
	return function_return(run, &out, ret_value);
}

static void add_js(uint32_t c, struct buffer *out)
{
	switch (c) {
	case '\\': buffer_add_string(out, "\\\\"); break;
	case '\'': buffer_add_string(out, "\\'"); break;
	case '"': buffer_add_string(out, "\\\""); break;
	case '<': buffer_add_string(out, "\\u003C"); break;
	case '>': buffer_add_string(out, "\\u003E"); break;
	case '&': buffer_add_string(out, "\\u0026"); break;
	case '=': buffer_add_string(out, "\\u003D"); break;
	default:
		if (c < ' ' || (c >= 0x80 && !text_is_printable(c)))
			buffer_format(out, "\\u%04X", c);
		else
			text_add(out, c);
	}
}

static int core_js(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer plain = function_buffer(run), out = function_buffer(run);
	size_t length;

	add_printable_operands(run, arguments, count, &plain);
	for (size_t i = 0; i < plain.length; i += length)
		add_js(text_decode((struct span){plain.data + i, plain.length - i}, &length), &out);
	return function_return(run, &out, ret_value);
}

static int core_urlquery(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer plain = function_buffer(run), out = function_buffer(run);

	add_printable_operands(run, arguments, count, &plain);
	for (size_t i = 0; i < plain.length; i++) {
		unsigned char c = (unsigned char)plain.data[i];

		if (c == ' ')
			buffer_add_char(&out, '+');
		else if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
			 (c >= 'A' && c <= 'Z') || strchr("-_.~", c ? c : ' '))
			buffer_add_char(&out, (char)c);
		else
			buffer_format(&out, "%%%02X", c);
	}
	return function_return(run, &out, ret_value);
}

/* ---- len and index ------------------------------------------------------------------------------- */

static int core_len(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	int64_t length = value_length(arguments[0]);

	UNUSED_COUNT;
	if (length < 0)
		return run_fail(run, "len of %s",
			value_is_absent(arguments[0]) ? "nil" : value_type_name(arguments[0]));
	*ret_value = value_int(length);
	return 0;
}

static int index_once(struct run *run, struct value item, struct value key, struct value *ret_value)
{
	const struct value *found;
	int64_t length = value_length(item);

	if (value_is_absent(item))
		return run_fail(run, "index of nil pointer");
	if (length < 0)
		return run_fail(run, "can't index item of type %s", value_type_name(item));
	if (item.kind == VALUE_MAP) {
		if (key.kind != VALUE_STRING)
			return run_fail(run, "index: value has type %s; should be string",
				value_is_absent(key) ? "nil" : value_type_name(key));
		found = value_map_find(item.map, key.text);
		*ret_value = found                          ? *found
			     : item.type == TYPE_STRING_MAP ? value_string(SPAN(""))
			     : item.type == TYPE_FILES      ? value_bytes(SPAN(""))
							    : value_nil();
		return 0;
	}
	if (key.kind != VALUE_INTEGER)
		return run_fail(run, "cannot index slice/array with type %s",
			value_is_absent(key) ? "nil" : value_type_name(key));
	if (key.integer < 0 || key.integer >= length)
		return run_fail(run, "index out of range: %lld", (long long)key.integer);
	*ret_value = item.kind == VALUE_STRING
			     ? value_integer(TYPE_UINT8, (unsigned char)item.text.data[key.integer])
			     : value_item(item, (size_t)key.integer);
	return 0;
}

static int core_index(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value item = arguments[0];

	if (value_is_absent(item))
		return run_fail(run, "index of untyped nil");
	for (size_t i = 1; i < count; i++) {
		int code = index_once(run, item, arguments[i], &item);

		if (code < 0)
			return code;
	}
	*ret_value = item;
	return 0;
}

static int core_call(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	UNUSED_COUNT;
	(void)ret_value;
	if (value_is_absent(arguments[0]))
		return run_fail(run, "call of nil");
	return run_fail(run, "call: non-function of type %s", value_type_name(arguments[0]));
}

static int core_hello(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)arguments;
	UNUSED_COUNT;
	*ret_value = value_string(SPAN("Hello!"));
	return 0;
}

/* Names are not resolved while rendering, as Helm does without --enable-dns. */
static int core_get_host_by_name(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)run;
	(void)arguments;
	UNUSED_COUNT;
	*ret_value = value_string(SPAN(""));
	return 0;
}

static const struct function rows[] = {
	{"call", "aa*", core_call, false},
	{"fail", "s", core_fail, false},
	{"getHostByName", "s", core_get_host_by_name, false},
	{"hello", "", core_hello, false},
	{"html", "a*", core_html, false},
	{"include", "sa", core_include, false},
	{"index", "aa*", core_index, false},
	{"js", "a*", core_js, false},
	{"len", "a", core_len, false},
	{"lookup", "ssss", core_lookup, false},
	{"print", "a*", core_print, false},
	{"printf", "sa*", core_printf, false},
	{"println", "a*", core_println, false},
	{"required", "sa", core_required, false},
	{"tpl", "sa", core_tpl, false},
	{"urlquery", "a*", core_urlquery, false},
};

const struct function_table functions_core = {rows, LENGTH(rows)};
