/* Sprig's regular expressions; each function has a twin `must…` that fails where it does. */
#include <stdio.h>

#include "chart/function.h"
#include "chart/regex.h"
#include "chart/text.h"

/* Expressions are compiled once in a run. */
static int compile(struct run *run, struct span pattern, const struct regex **ret_regex)
{
	struct regex *regex = map_get(&run->expressions, pattern);
	char message[256];

	if (!regex) {
		if (run->expressions.count >= RUN_EXPRESSIONS_MAX)
			return run_fail(run, "too many regular expressions (limit %d)",
				RUN_EXPRESSIONS_MAX);
		regex = regex_new(pattern.data, pattern.length, message, sizeof(message));
		if (!regex)
			return run_fail(run, "error parsing regexp: %s: `%.*s`", message,
				SPAN_ARGS(pattern));
		map_put(&run->expressions, pattern, regex);
	}
	*ret_regex = regex;
	return 0;
}

void run_free_expressions(struct run *run)
{
	MAP_EACH (&run->expressions, entry)
		regex_free(entry->value);
	map_clear(&run->expressions);
}

/* All matches from left to right, as Go counts them: an empty one does not follow another match. */
struct matches {
	const struct regex *regex;
	struct span text;
	size_t position;
	int64_t last_end;
	int groups;
	struct regex_range ranges[REGEX_GROUPS_MAX];
};

static bool next_match(struct matches *matches)
{
	while (matches->position <= matches->text.length) {
		struct regex_range *whole = &matches->ranges[0];
		bool accepted = true;
		size_t length = 1;

		if (!regex_match(matches->regex, matches->text.data, matches->text.length,
			    matches->position, matches->ranges, matches->groups))
			return false;
		if (whole->end == (int64_t)matches->position) {
			/* Empty, and where the search began. */
			accepted = whole->begin != matches->last_end;
			if (matches->position < matches->text.length)
				text_decode((struct span){matches->text.data + matches->position,
						    matches->text.length - matches->position},
					&length);
			matches->position += length;
		} else {
			matches->position = (size_t)whole->end;
		}
		matches->last_end = whole->end;
		if (accepted)
			return true;
	}
	return false;
}

static struct matches all_matches(const struct regex *regex, struct span text, bool with_groups)
{
	int groups = with_groups ? regex_group_count(regex) + 1 : 1;

	return (struct matches){.regex = regex,
		.text = text,
		.last_end = -1,
		.groups = groups > REGEX_GROUPS_MAX ? REGEX_GROUPS_MAX : groups};
}

static int regex_is_match(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	const struct regex *regex;
	int code = compile(run, arguments[0].text, &regex);

	(void)count;
	if (code < 0)
		return code;
	*ret_value = value_bool(regex_match(regex, arguments[1].text.data, arguments[1].text.length,
		0, NULL, 0));
	return 0;
}

/* regexMatch answers false for a pattern that is wrong. */
static int regex_is_match_quietly(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	char message[256];
	struct regex *regex;

	if (map_has(&run->expressions, arguments[0].text))
		return regex_is_match(run, arguments, count, ret_value);
	regex = regex_new(arguments[0].text.data, arguments[0].text.length, message,
		sizeof(message));
	*ret_value = value_bool(false);
	if (!regex)
		return 0;
	regex_free(regex);
	return regex_is_match(run, arguments, count, ret_value);
}

static int regex_find(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct regex_range range;
	const struct regex *regex;
	struct span text = arguments[1].text;
	int code = compile(run, arguments[0].text, &regex);

	(void)count;
	if (code < 0)
		return code;
	*ret_value = value_string(SPAN(""));
	if (regex_match(regex, text.data, text.length, 0, &range, 1))
		*ret_value = value_string((struct span){
			text.data + range.begin, (size_t)(range.end - range.begin)});
	return 0;
}

/* A growing list of texts. */
struct texts {
	struct value *items;
	size_t count, capacity;
};

static void add_text(struct run *run, struct texts *texts, struct span text)
{
	if (texts->count == texts->capacity) {
		struct value *larger;

		texts->capacity = texts->capacity ? texts->capacity * 2 : 8;
		larger = arena_allocate_array(run->arena, texts->capacity, sizeof(*larger));
		if (texts->count)
			memcpy(larger, texts->items, texts->count * sizeof(*larger));
		texts->items = larger;
	}
	texts->items[texts->count++] = value_string(text);
}

/* Without texts the list is nil, as in Go. */
static struct value texts_value(struct run *run, const struct texts *texts)
{
	if (texts->count == 0)
		return value_nil_list(run->arena, TYPE_STRINGS);
	return value_list_over(run->arena, TYPE_STRINGS, texts->items, texts->count);
}

static int regex_find_all(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct texts texts = {0};
	struct matches matches;
	const struct regex *regex;
	struct span text = arguments[1].text;
	int64_t limit = arguments[2].integer;
	int code = compile(run, arguments[0].text, &regex);

	(void)count;
	if (code < 0)
		return code;
	matches = all_matches(regex, text, false);
	while ((limit < 0 || (int64_t)texts.count < limit) && next_match(&matches))
		add_text(run, &texts,
			(struct span){text.data + matches.ranges[0].begin,
				(size_t)(matches.ranges[0].end - matches.ranges[0].begin)});
	*ret_value = texts_value(run, &texts);
	return run_reserve(run, 0);
}

static int regex_split(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct texts texts = {0};
	struct matches matches;
	const struct regex *regex;
	struct span text = arguments[1].text;
	int64_t limit = arguments[2].integer, begin = 0, end = 0;
	int code = compile(run, arguments[0].text, &regex);

	(void)count;
	if (code < 0)
		return code;
	matches = all_matches(regex, text, false);
	if (arguments[0].text.length && text.length == 0 && limit != 0)
		add_text(run, &texts, SPAN(""));
	else if (limit != 0) {
		while ((limit < 0 || (int64_t)texts.count < limit - 1) && next_match(&matches)) {
			end = matches.ranges[0].begin;
			if (matches.ranges[0].end == 0)
				continue;
			add_text(run, &texts,
				(struct span){text.data + begin, (size_t)(end - begin)});
			begin = matches.ranges[0].end;
		}
		if (end != (int64_t)text.length)
			add_text(run, &texts,
				(struct span){text.data + begin, text.length - (size_t)begin});
	}
	*ret_value = texts_value(run, &texts);
	return run_reserve(run, 0);
}

/* ---- replacing ----------------------------------------------------------------------------------- */

static bool is_name_byte(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* The name behind a $ in a replacement: "1", "{name}"; its length, or 0 if there is none. */
static size_t reference_name(struct span text, struct span *ret_name)
{
	size_t begin = text.length && text.data[0] == '{' ? 1 : 0, end = begin;

	while (end < text.length && is_name_byte(text.data[end]))
		end++;
	if (end == begin || (begin && (end >= text.length || text.data[end] != '}')))
		return 0;
	*ret_name = (struct span){text.data + begin, end - begin};
	return end + begin;
}

static void add_group(const struct matches *matches, struct span name, struct buffer *out)
{
	uint64_t number;
	int group;

	if (span_to_unsigned(name, REGEX_GROUPS_MAX, &number))
		group = (int)number;
	else
		group = regex_group_index(matches->regex, name.data, name.length);
	if (group >= 0 && group < matches->groups && matches->ranges[group].begin >= 0)
		buffer_add(out, matches->text.data + matches->ranges[group].begin,
			(size_t)(matches->ranges[group].end - matches->ranges[group].begin));
}

static void add_expanded(const struct matches *matches, struct span replacement, struct buffer *out)
{
	for (size_t i = 0; i < replacement.length;) {
		struct span rest = {replacement.data + i + 1, replacement.length - i - 1}, name;
		size_t length;

		if (replacement.data[i] != '$') {
			buffer_add_char(out, replacement.data[i++]);
			continue;
		}
		if (rest.length && rest.data[0] == '$') {
			buffer_add_char(out, '$');
			i += 2;
			continue;
		}
		length = reference_name(rest, &name);
		if (length)
			add_group(matches, name, out);
		else
			buffer_add_char(out, '$');
		i += 1 + length;
	}
}

static int replace_all(struct run *run, const struct value *arguments, bool literal,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct matches matches;
	const struct regex *regex;
	struct span text = arguments[1].text;
	size_t copied = 0;
	int code = compile(run, arguments[0].text, &regex);

	if (code < 0)
		return code;
	matches = all_matches(regex, text, true);
	while (!out.failed && next_match(&matches)) {
		buffer_add(&out, text.data + copied, (size_t)matches.ranges[0].begin - copied);
		if (literal)
			buffer_add_span(&out, arguments[2].text);
		else
			add_expanded(&matches, arguments[2].text, &out);
		copied = (size_t)matches.ranges[0].end;
	}
	buffer_add(&out, text.data + copied, text.length - copied);
	return function_return(run, &out, ret_value);
}

static int regex_replace_all(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return replace_all(run, arguments, false, ret_value);
}

static int regex_replace_all_literal(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	(void)count;
	return replace_all(run, arguments, true, ret_value);
}

static int regex_quote_meta(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct span text = arguments[0].text;

	(void)count;
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] && strchr("\\.+*?()|[]{}^$", text.data[i]))
			buffer_add_char(&out, '\\');
		buffer_add_char(&out, text.data[i]);
	}
	return function_return(run, &out, ret_value);
}

static const struct function rows[] = {
	{"mustRegexFind", "ss", regex_find, false},
	{"mustRegexFindAll", "ssi", regex_find_all, false},
	{"mustRegexMatch", "ss", regex_is_match, false},
	{"mustRegexReplaceAll", "sss", regex_replace_all, false},
	{"mustRegexReplaceAllLiteral", "sss", regex_replace_all_literal, false},
	{"mustRegexSplit", "ssi", regex_split, false},
	{"regexFind", "ss", regex_find, false},
	{"regexFindAll", "ssi", regex_find_all, false},
	{"regexMatch", "ss", regex_is_match_quietly, false},
	{"regexQuoteMeta", "s", regex_quote_meta, false},
	{"regexReplaceAll", "sss", regex_replace_all, false},
	{"regexReplaceAllLiteral", "sss", regex_replace_all_literal, false},
	{"regexSplit", "ssi", regex_split, false},
};

const struct function_table functions_regex = {rows, LENGTH(rows)};
