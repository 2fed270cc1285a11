/* Go's fmt for the values of templates: %v of anything, and Sprintf with all verbs and flags. */
#include <stdio.h>

#include "chart/function.h"
#include "chart/number.h"
#include "chart/text.h"

/* Widths and precisions beyond this are errors, as in Go. */
#define FORMAT_WIDTH_MAX 1000000

struct printer {
	struct buffer *out;
	bool minus, plus, sharp, space, zero;
	bool plus_v, sharp_v;
	bool has_width, has_precision;
	int width, precision;
	int depth;
};

static void print_argument(struct printer *printer, struct value value, uint32_t verb);

/* ---- padding ------------------------------------------------------------------------------------- */

static void pad(struct printer *printer, struct span text)
{
	int missing = printer->has_width ? printer->width - (int)text_count(text) : 0;

	if (!printer->minus)
		for (; missing > 0; missing--)
			buffer_add_char(printer->out, printer->zero ? '0' : ' ');
	buffer_add_span(printer->out, text);
	for (; missing > 0; missing--)
		buffer_add_char(printer->out, ' ');
}

static void pad_without_zeros(struct printer *printer, struct span text)
{
	bool zero = printer->zero;

	printer->zero = false;
	pad(printer, text);
	printer->zero = zero;
}

static void bad_verb(struct printer *printer, uint32_t verb, struct value value)
{
	buffer_add_string(printer->out, "%!");
	text_add(printer->out, verb);
	buffer_add_char(printer->out, '(');
	if (value_is_absent(value)) {
		buffer_add_string(printer->out, "<nil>");
	} else {
		buffer_add_string(printer->out, value_type_name(value));
		buffer_add_char(printer->out, '=');
		print_argument(printer, value, 'v'); /* flags and width apply here, too */
	}
	buffer_add_char(printer->out, ')');
}

/* ---- scalars ------------------------------------------------------------------------------------- */

static void write_digits(uint64_t magnitude, unsigned base, const char *digits, char *end,
	char **ret_begin)
{
	do {
		*--end = digits[magnitude % base];
		magnitude /= base;
	} while (magnitude);
	*ret_begin = end;
}

static void format_integer(struct printer *printer, struct value value, unsigned base,
	const char *prefix, bool upper)
{
	_buffer_ struct buffer text = {0};
	bool is_signed = value.type != TYPE_UINT64 && value.type != TYPE_UINT8;
	bool negative = is_signed && value.integer < 0;
	uint64_t magnitude = negative ? 0 - (uint64_t)value.integer : (uint64_t)value.integer;
	char digits[72], *begin;
	int missing = 0;

	write_digits(magnitude, base, upper ? "0123456789ABCDEF" : "0123456789abcdef",
		digits + sizeof(digits), &begin);
	if (printer->has_precision) {
		missing = printer->precision - (int)(digits + sizeof(digits) - begin);
		if (printer->precision == 0 && magnitude == 0) {
			bool zero = printer->zero;

			printer->zero = false;
			pad(printer, SPAN(""));
			printer->zero = zero;
			return;
		}
	} else if (printer->zero && !printer->minus && printer->has_width) {
		missing = printer->width - (int)(digits + sizeof(digits) - begin);
		if (negative || printer->plus || printer->space)
			missing--;
	}
	if (negative)
		buffer_add_char(&text, '-');
	else if (printer->plus)
		buffer_add_char(&text, '+');
	else if (printer->space)
		buffer_add_char(&text, ' ');
	buffer_add_string(&text, prefix);
	for (; missing > 0; missing--)
		buffer_add_char(&text, '0');
	buffer_add(&text, begin, (size_t)(digits + sizeof(digits) - begin));
	pad_without_zeros(printer, buffer_span(&text));
}

static void format_unicode(struct printer *printer, uint64_t c)
{
	_buffer_ struct buffer text = {0};

	buffer_format(&text, "U+%04llX", (unsigned long long)c);
	if (printer->sharp && c <= UINT32_MAX && text_is_printable((uint32_t)c)) {
		buffer_add_string(&text, " '");
		text_add(&text, (uint32_t)c);
		buffer_add_char(&text, '\'');
	}
	pad_without_zeros(printer, buffer_span(&text));
}

static const char *const months[] = {"January", "February", "March", "April", "May", "June", "July",
	"August", "September", "October", "November", "December"};
static const char *const weekdays[] = {
	"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

/* Types with a String method. */
static bool named_integer(struct value value, struct buffer *out)
{
	if (value.type == TYPE_MONTH && value.integer >= 1 && value.integer <= 12)
		buffer_add_string(out, months[value.integer - 1]);
	else if (value.type == TYPE_WEEKDAY && value.integer >= 0 && value.integer <= 6)
		buffer_add_string(out, weekdays[value.integer]);
	else
		return false;
	return true;
}

static void print_integer(struct printer *printer, struct value value, uint32_t verb)
{
	_buffer_ struct buffer text = {0};
	uint32_t c = value.integer < 0 || value.integer > 0x10FFFF ? TEXT_BROKEN
								   : (uint32_t)value.integer;

	if ((verb == 'v' || verb == 's') && named_integer(value, &text)) {
		pad(printer, buffer_span(&text));
		return;
	}
	switch (verb) {
	case 'v':
	case 'd': format_integer(printer, value, 10, "", false); break;
	case 'b': format_integer(printer, value, 2, printer->sharp ? "0b" : "", false); break;
	case 'o': format_integer(printer, value, 8, printer->sharp ? "0" : "", false); break;
	case 'O': format_integer(printer, value, 8, "0o", false); break;
	case 'x': format_integer(printer, value, 16, printer->sharp ? "0x" : "", false); break;
	case 'X': format_integer(printer, value, 16, printer->sharp ? "0X" : "", true); break;
	case 'c':
		text_add(&text, c);
		pad(printer, buffer_span(&text));
		break;
	case 'q':
		text_quote_rune(&text, c, printer->plus);
		pad(printer, buffer_span(&text));
		break;
	case 'U': format_unicode(printer, (uint64_t)value.integer); break;
	default: bad_verb(printer, verb, value);
	}
}

/* The sharp flag keeps the point and, for %g, the zeros. */
static void add_sharp_point(struct buffer *text, char verb, int precision)
{
	bool hexadecimal = verb == 'x' || verb == 'X';
	char *exponent = strpbrk(text->data + 1, hexadecimal ? "pP" : "eE");
	size_t end = exponent ? (size_t)(exponent - text->data) : text->length;
	int digits = 0;
	bool point = false, started = false;
	_buffer_ struct buffer tail = {0};

	for (size_t i = 0; i < end; i++) {
		char c = text->data[i];

		point |= c == '.';
		/* Go counts the x of 0x1, too. */
		if ((c >= '1' && c <= '9') || (hexadecimal && ((c | 0x20) >= 'a')))
			started = true;
		digits += c != '.' && c != '+' && c != '-' && started;
	}
	buffer_add(&tail, text->data + end, text->length - end);
	text->length = end;
	if (!point) {
		/* A lone 0 counts once. */
		digits += end > 0 && text->data[end - 1] == '0' && !started;
		buffer_add_char(text, '.');
	}
	if (verb == 'g' || verb == 'G' || verb == 'v' || verb == 'x')
		for (int wanted = precision < 0 ? 6 : precision; digits < wanted; digits++)
			buffer_add_char(text, '0');
	buffer_add_span(text, buffer_span(&tail));
}

static void format_float(struct printer *printer, double number, char verb, int precision)
{
	_buffer_ struct buffer text = {0};
	struct span body;
	bool negative, finite;

	if (printer->has_precision)
		precision = printer->precision;
	number_format_float(number, verb == 'v' ? 'g' : verb, precision, &text);
	finite = number - number == 0;
	if (printer->sharp && finite && verb != 'b')
		add_sharp_point(&text, verb, precision);
	body = buffer_span(&text);
	negative = body.data[0] == '-';
	if (negative || body.data[0] == '+')
		body = (struct span){body.data + 1, body.length - 1};
	if (printer->plus || negative || printer->space ||
		(!finite && text.data[0] == '+' && printer->plus)) {
		char sign = negative ? '-' : printer->plus ? '+' : ' ';

		if (printer->zero && !printer->minus && finite && printer->has_width &&
			printer->width > (int)body.length) {
			buffer_add_char(printer->out, sign);
			printer->width--;
			pad(printer, body);
			printer->width++;
			return;
		}
		_buffer_ struct buffer with_sign = {0};

		buffer_add_char(&with_sign, sign);
		buffer_add_span(&with_sign, body);
		pad_without_zeros(printer, buffer_span(&with_sign));
		return;
	}
	if (!finite && number > 0)
		body = SPAN("+Inf");
	if (finite)
		pad(printer, body);
	else
		pad_without_zeros(printer, body);
}

static void print_float(struct printer *printer, struct value value, uint32_t verb)
{
	switch (verb) {
	case 'v':
	case 'g':
	case 'G': format_float(printer, value.number, verb == 'v' ? 'g' : (char)verb, -1); break;
	case 'e':
	case 'E':
	case 'f': format_float(printer, value.number, (char)verb, 6); break;
	case 'F': format_float(printer, value.number, 'f', 6); break;
	case 'x':
	case 'X':
	case 'b': format_float(printer, value.number, (char)verb, -1); break;
	default: bad_verb(printer, verb, value);
	}
}

static struct span cut_to_precision(const struct printer *printer, struct span text)
{
	if (printer->has_precision)
		text.length = text_offset(text, (size_t)printer->precision);
	return text;
}

static void format_hex(struct printer *printer, struct span text, bool upper)
{
	_buffer_ struct buffer out = {0};

	if (printer->has_precision && (size_t)printer->precision < text.length)
		text.length = (size_t)printer->precision;
	for (size_t i = 0; i < text.length; i++) {
		if (printer->space && i)
			buffer_add_char(&out, ' ');
		if (printer->sharp && (printer->space || i == 0))
			buffer_add_string(&out, upper ? "0X" : "0x");
		buffer_format(&out, upper ? "%02X" : "%02x", (unsigned char)text.data[i]);
	}
	pad(printer, buffer_span(&out));
}

static bool can_backquote(struct span text)
{
	size_t length;

	for (size_t i = 0; i < text.length; i += length) {
		uint32_t c = text_decode((struct span){text.data + i, text.length - i}, &length);

		if ((c == TEXT_BROKEN && length == 1) || c == 0xFEFF || c == '`' || c == 0x7F ||
			(c < ' ' && c != '\t'))
			return false;
	}
	return true;
}

static void format_quoted(struct printer *printer, struct span text)
{
	_buffer_ struct buffer out = {0};

	text = cut_to_precision(printer, text);
	if (printer->sharp && can_backquote(text)) {
		buffer_add_char(&out, '`');
		buffer_add_span(&out, text);
		buffer_add_char(&out, '`');
	} else {
		text_quote(&out, text, printer->plus);
	}
	pad(printer, buffer_span(&out));
}

static void print_string(struct printer *printer, struct value value, struct span text,
	uint32_t verb)
{
	switch (verb) {
	case 'v':
		if (printer->sharp_v) {
			format_quoted(printer, text);
			break;
		}
		pad(printer, cut_to_precision(printer, text));
		break;
	case 's': pad(printer, cut_to_precision(printer, text)); break;
	case 'x':
	case 'X': format_hex(printer, text, verb == 'X'); break;
	case 'q': format_quoted(printer, text); break;
	default: bad_verb(printer, verb, value);
	}
}

/* ---- lists, maps, objects ------------------------------------------------------------------------ */

static void print_item(struct printer *printer, struct value value, uint32_t verb)
{
	if (!value_is_absent(value)) {
		print_argument(printer, value, verb);
	} else if (printer->sharp_v) {
		buffer_add_string(printer->out, "interface {}(nil)");
	} else {
		buffer_add_string(printer->out, "<nil>");
	}
}

static void print_bytes(struct printer *printer, struct value value, uint32_t verb)
{
	if (verb != 'v' && verb != 'd') {
		print_string(printer, value, value.text, verb);
		return;
	}
	buffer_add_string(printer->out, printer->sharp_v ? "[]byte{" : "[");
	for (size_t i = 0; i < value.text.length; i++) {
		if (i)
			buffer_add_string(printer->out, printer->sharp_v ? ", " : " ");
		if (printer->sharp_v)
			buffer_format(printer->out, "0x%x", (unsigned char)value.text.data[i]);
		else
			print_integer(printer, value_item(value, i), 'd');
	}
	buffer_add_char(printer->out, printer->sharp_v ? '}' : ']');
}

static void print_list(struct printer *printer, struct value value, uint32_t verb)
{
	bool go = printer->sharp_v;

	if (go && value.list->is_nil) {
		buffer_format(printer->out, "%s(nil)", value_type_name(value));
		return;
	}
	if (go)
		buffer_format(printer->out, "%s{", value_type_name(value));
	else
		buffer_add_char(printer->out, '[');
	for (uint32_t i = 0; i < value.list->count; i++) {
		if (i)
			buffer_add_string(printer->out, go ? ", " : " ");
		print_item(printer, value.list->items[i], verb);
	}
	buffer_add_char(printer->out, go ? '}' : ']');
}

static void print_map(struct printer *printer, struct value value, uint32_t verb)
{
	bool go = printer->sharp_v;

	buffer_format(printer->out, "%s", go ? value_type_name(value) : "map");
	buffer_add_char(printer->out, go ? '{' : '[');
	for (uint32_t i = 0; i < value.map->count; i++) {
		if (i)
			buffer_add_string(printer->out, go ? ", " : " ");
		print_string(printer, value_string(value.map->entries[i].key),
			value.map->entries[i].key, verb);
		buffer_add_char(printer->out, ':');
		print_item(printer, value.map->entries[i].value, verb);
	}
	buffer_add_char(printer->out, go ? '}' : ']');
}

static void print_object(struct printer *printer, struct value value, uint32_t verb)
{
	_buffer_ struct buffer text = {0};

	if (value.object->class->print_argument)
		value.object->class->print_argument(value.object, &text);
	else
		value.object->class->print(value.object, &text);
	print_string(printer, value, buffer_span(&text), verb);
}

static void print_bool(struct printer *printer, struct value value, uint32_t verb)
{
	if (verb == 't' || verb == 'v')
		pad(printer, value.boolean ? SPAN("true") : SPAN("false"));
	else
		bad_verb(printer, verb, value);
}

static void print_argument(struct printer *printer, struct value value, uint32_t verb)
{
	if (verb == 'T') {
		pad(printer, span_of(value_is_absent(value) ? "<nil>" : value_type_name(value)));
		return;
	}
	if (printer->depth > VALUE_DEPTH_MAX || printer->out->failed)
		return;
	printer->depth++;
	switch ((enum value_kind)value.kind) {
	case VALUE_NONE:
	case VALUE_NIL:
		if (verb == 'v')
			pad(printer, SPAN("<nil>"));
		else
			bad_verb(printer, verb, value);
		break;
	case VALUE_BOOL: print_bool(printer, value, verb); break;
	case VALUE_INTEGER: print_integer(printer, value, verb); break;
	case VALUE_FLOAT: print_float(printer, value, verb); break;
	case VALUE_STRING: print_string(printer, value, value.text, verb); break;
	case VALUE_BYTES: print_bytes(printer, value, verb); break;
	case VALUE_LIST: print_list(printer, value, verb); break;
	case VALUE_MAP: print_map(printer, value, verb); break;
	case VALUE_OBJECT: print_object(printer, value, verb); break;
	}
	printer->depth--;
}

void format_value(struct run *run, struct value value, struct buffer *out)
{
	struct printer printer = {.out = out};

	(void)run;
	if (value.kind == VALUE_NONE)
		buffer_add_string(out, "<no value>");
	else if (value.kind == VALUE_STRING)
		buffer_add_span(out, value.text);
	else
		print_argument(&printer, value, 'v');
}

/* ---- Sprintf ------------------------------------------------------------------------------------- */

struct scan {
	struct span format;
	size_t position;
	const struct value *arguments;
	size_t count;
	size_t next;
	bool reordered, good_index;
};

static bool scan_number(struct scan *scan, int *ret_number)
{
	int number = 0;
	bool any = false;

	while (scan->position < scan->format.length && scan->format.data[scan->position] >= '0' &&
		scan->format.data[scan->position] <= '9') {
		number = number * 10 + (scan->format.data[scan->position++] - '0');
		any = true;
		if (number > FORMAT_WIDTH_MAX) {
			*ret_number = 0;
			return false;
		}
	}
	*ret_number = number;
	return any;
}

/* "[3]" */
static void scan_index(struct scan *scan, bool *after_index)
{
	const char *end;
	int index;

	*after_index = false;
	if (scan->position >= scan->format.length || scan->format.data[scan->position] != '[')
		return;
	scan->reordered = true;
	end = memchr(scan->format.data + scan->position, ']', scan->format.length - scan->position);
	if (!end) {
		scan->good_index = false;
		scan->position++;
		return;
	}
	scan->position++;
	if (!scan_number(scan, &index) || scan->format.data + scan->position != end || index < 1 ||
		(size_t)index > scan->count) {
		scan->good_index = false;
		scan->position = (size_t)(end - scan->format.data) + 1;
		return;
	}
	scan->position++;
	scan->next = (size_t)index - 1;
	*after_index = true;
}

static bool star_argument(struct scan *scan, int *ret_number)
{
	const struct value *value;

	if (scan->next >= scan->count)
		return false;
	value = &scan->arguments[scan->next++];
	if (value->kind != VALUE_INTEGER || value->integer > FORMAT_WIDTH_MAX ||
		value->integer < -FORMAT_WIDTH_MAX)
		return false;
	*ret_number = (int)value->integer;
	return true;
}

static void scan_flags(struct scan *scan, struct printer *printer)
{
	for (; scan->position < scan->format.length; scan->position++)
		switch (scan->format.data[scan->position]) {
		case '#': printer->sharp = true; break;
		case '0': printer->zero = true; break;
		case '+': printer->plus = true; break;
		case '-': printer->minus = true; break;
		case ' ': printer->space = true; break;
		default: return;
		}
}

static char at(const struct scan *scan)
{
	return scan->position < scan->format.length ? scan->format.data[scan->position] : '\0';
}

static void scan_width(struct scan *scan, struct printer *printer, bool *after_index)
{
	if (at(scan) == '*') {
		scan->position++;
		printer->has_width = star_argument(scan, &printer->width);
		if (!printer->has_width)
			buffer_add_string(printer->out, "%!(BADWIDTH)");
		if (printer->width < 0) {
			printer->width = -printer->width;
			printer->minus = true;
			printer->zero = false;
		}
		*after_index = false;
		return;
	}
	printer->has_width = scan_number(scan, &printer->width);
	if (*after_index && printer->has_width)
		scan->good_index = false;
}

static void scan_precision(struct scan *scan, struct printer *printer, bool *after_index)
{
	if (at(scan) != '.')
		return;
	scan->position++;
	if (*after_index)
		scan->good_index = false;
	scan_index(scan, after_index);
	if (at(scan) == '*') {
		scan->position++;
		printer->has_precision = star_argument(scan, &printer->precision);
		if (printer->precision < 0) {
			printer->precision = 0;
			printer->has_precision = false;
		}
		if (!printer->has_precision)
			buffer_add_string(printer->out, "%!(BADPREC)");
		*after_index = false;
		return;
	}
	if (!scan_number(scan, &printer->precision))
		printer->precision = 0;
	printer->has_precision = true;
}

/* One verb with what stands before it; position is behind the percent sign. */
static void format_verb(struct scan *scan, struct buffer *out)
{
	struct printer printer = {.out = out};
	bool after_index;
	uint32_t verb;
	size_t length;

	scan->good_index = true;
	scan_flags(scan, &printer);
	scan_index(scan, &after_index);
	scan_width(scan, &printer, &after_index);
	scan_precision(scan, &printer, &after_index);
	if (!after_index)
		scan_index(scan, &after_index);
	if (scan->position >= scan->format.length) {
		buffer_add_string(out, "%!(NOVERB)");
		return;
	}
	verb = text_decode((struct span){scan->format.data + scan->position,
				   scan->format.length - scan->position},
		&length);
	scan->position += length;
	if (verb == '%') {
		buffer_add_char(out, '%');
		return;
	}
	if (!scan->good_index || scan->next >= scan->count) {
		buffer_add_string(out, "%!");
		text_add(out, verb);
		buffer_add_string(out, scan->good_index ? "(MISSING)" : "(BADINDEX)");
		return;
	}
	if (printer.minus)
		printer.zero = false;
	if (verb == 'w')
		verb = 'v'; /* only Errorf wraps */
	if (verb == 'v') {
		printer.sharp_v = printer.sharp;
		printer.plus_v = printer.plus;
		printer.sharp = printer.plus = false;
	}
	print_argument(&printer, scan->arguments[scan->next++], verb);
}

static void add_extra(struct scan *scan, struct buffer *out)
{
	struct printer plain = {.out = out};

	buffer_add_string(out, "%!(EXTRA ");
	for (size_t i = scan->next; i < scan->count; i++) {
		if (i > scan->next)
			buffer_add_string(out, ", ");
		if (value_is_absent(scan->arguments[i])) {
			buffer_add_string(out, "<nil>");
			continue;
		}
		buffer_add_string(out, value_type_name(scan->arguments[i]));
		buffer_add_char(out, '=');
		print_argument(&plain, scan->arguments[i], 'v');
	}
	buffer_add_char(out, ')');
}

int format_text(struct run *run, struct span format, const struct value *arguments, size_t count,
	struct buffer *out)
{
	struct scan scan = {.format = format, .arguments = arguments, .count = count};

	while (scan.position < format.length) {
		const char *percent =
			memchr(format.data + scan.position, '%', format.length - scan.position);
		size_t end = percent ? (size_t)(percent - format.data) : format.length;

		buffer_add(out, format.data + scan.position, end - scan.position);
		if (!percent)
			break;
		scan.position = end + 1;
		format_verb(&scan, out);
	}
	if (!scan.reordered && scan.next < count)
		add_extra(&scan, out);
	return out->failed ? run_fail(run, "printf: text too large") : 0;
}
