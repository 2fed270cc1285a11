/*
 * A rule with a "/" in front or inside matches the whole path, any other the last name of it. A rule
 * that begins with "!" ignores everything that it does not match: Helm has it so, unlike git.
 */
#include "chart/ignore.h"

#include "base/memory.h"

struct rule {
	struct span pattern; /* without "!" and the "/" at its ends */
	bool negated;
	bool folders_only;
	bool whole_path;
};

struct ignore_rules {
	struct rule *rules;
	size_t count;
};

/* Patterns, as Go's filepath.Match has them */

static struct span rest_of(struct span text, size_t from)
{
	return (struct span){text.data + from, text.length - from};
}

static size_t character_length(struct span text)
{
	unsigned char first = (unsigned char)text.data[0];
	size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	return length < text.length ? length : text.length;
}

/* One character of a class, escaped or not. -EINVAL at the end of the pattern or at "-" and "]". */
static int class_character(struct span *pattern, struct span *ret_character)
{
	if (pattern->length == 0 || pattern->data[0] == '-' || pattern->data[0] == ']')
		return -EINVAL;
	if (pattern->data[0] == '\\') {
		*pattern = rest_of(*pattern, 1);
		if (pattern->length == 0)
			return -EINVAL;
	}
	*ret_character = (struct span){pattern->data, character_length(*pattern)};
	*pattern = rest_of(*pattern, ret_character->length);
	return pattern->length == 0 ? -EINVAL : 0;
}

/* A class behind its "["; *pattern continues behind the "]". UTF-8 sorts as its characters do. */
static int match_class(struct span *pattern, struct span character, bool *ret_matches)
{
	bool negated = pattern->length > 0 && pattern->data[0] == '^', matches = false;

	if (negated)
		*pattern = rest_of(*pattern, 1);
	for (size_t ranges = 0;; ranges++) {
		struct span low, high;
		int code;

		if (pattern->length > 0 && pattern->data[0] == ']' && ranges > 0)
			break;
		code = class_character(pattern, &low);
		if (code < 0)
			return code;
		high = low;
		if (pattern->data[0] == '-') {
			*pattern = rest_of(*pattern, 1);
			code = class_character(pattern, &high);
			if (code < 0)
				return code;
		}
		matches |= character.length > 0 && span_compare(low, character) <= 0 &&
			   span_compare(character, high) <= 0;
	}
	*pattern = rest_of(*pattern, 1);
	*ret_matches = matches != negated && character.length > 0;
	return 0;
}

/* One element of a pattern other than "*" against the begin of text, which moves along. Also checks
 * the syntax when text no longer matters (*matches is false). */
static int match_element(struct span *pattern, struct span *text, bool *matches)
{
	struct span character = {text->data, text->length > 0 ? character_length(*text) : 0};
	bool same;
	int code;

	switch (pattern->data[0]) {
	case '[':
		*pattern = rest_of(*pattern, 1);
		code = match_class(pattern, character, &same);
		if (code < 0)
			return code;
		*matches &= same;
		break;
	case '?':
		*pattern = rest_of(*pattern, 1);
		*matches &= character.length > 0 && character.data[0] != '/';
		break;
	default:
		if (pattern->data[0] == '\\') {
			*pattern = rest_of(*pattern, 1);
			if (pattern->length == 0)
				return -EINVAL;
		}
		*matches &= character.length > 0 && pattern->data[0] == character.data[0];
		*pattern = rest_of(*pattern, 1);
		character.length = character.length > 0;
		break;
	}
	if (*matches)
		*text = rest_of(*text, character.length);
	return 0;
}

static int check_pattern(struct span pattern)
{
	while (pattern.length > 0) {
		struct span nothing = SPAN("");
		bool matches = false;
		int code;

		if (pattern.data[0] == '*') {
			pattern = rest_of(pattern, 1);
			continue;
		}
		code = match_element(&pattern, &nothing, &matches);
		if (code < 0)
			return code;
	}
	return 0;
}

/* Greedy matching with one point to return to, the last "*", takes quadratic time at worst. */
int ignore_match_pattern(struct span pattern, struct span text, bool *ret_matches)
{
	struct span star_pattern = SPAN_NONE, star_text = text;

	for (;;) {
		bool matches = true;

		if (pattern.length > 0 && pattern.data[0] == '*') {
			while (pattern.length > 0 && pattern.data[0] == '*')
				pattern = rest_of(pattern, 1);
			star_pattern = pattern;
			star_text = text;
			continue;
		}
		if (pattern.length > 0) {
			int code = match_element(&pattern, &text, &matches);

			if (code < 0)
				return code;
		} else if (text.length == 0) {
			*ret_matches = true;
			return 0;
		} else {
			matches = false;
		}
		if (matches)
			continue;
		if (!star_pattern.data || star_text.length == 0 || star_text.data[0] == '/')
			break;
		star_text = rest_of(star_text, character_length(star_text));
		pattern = star_pattern;
		text = star_text;
	}
	*ret_matches = false;
	return check_pattern(pattern);
}

/* Rules */

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct span trim_space(struct span line)
{
	while (line.length > 0 && is_space(line.data[0]))
		line = rest_of(line, 1);
	while (line.length > 0 && is_space(line.data[line.length - 1]))
		line.length--;
	return line;
}

static int parse_rule(struct span line, struct rule *ret_rule, struct err *err)
{
	struct rule rule = {.pattern = line};

	if (memmem(line.data, line.length, "**", 2))
		return err_set(err, -EINVAL, "double-star (**) syntax is not supported");
	if (check_pattern(line) < 0)
		return err_set(err, -EINVAL, "syntax error in pattern '%.*s'", SPAN_ARGS(line));
	if (rule.pattern.data[0] == '!') {
		rule.negated = true;
		rule.pattern = rest_of(rule.pattern, 1);
	}
	if (span_ends_with(rule.pattern, SPAN("/"))) {
		rule.folders_only = true;
		rule.pattern.length--;
	}
	rule.whole_path = memchr(rule.pattern.data, '/', rule.pattern.length) != NULL;
	if (span_starts_with(rule.pattern, SPAN("/")))
		rule.pattern = rest_of(rule.pattern, 1);
	*ret_rule = rule;
	return 0;
}

int ignore_parse(struct span text, struct arena *arena, struct ignore_rules **ret_rules,
	struct err *err)
{
	struct ignore_rules *ignore = arena_allocate(arena, sizeof(*ignore));
	struct span line, rest = text;
	size_t lines = 2, number = 0;
	int code;

	if (span_starts_with(rest, SPAN("\xef\xbb\xbf")))
		rest = rest_of(rest, 3);
	for (size_t i = 0; i < text.length; i++)
		lines += text.data[i] == '\n';
	if (lines > IGNORE_RULES_MAX)
		return err_set(err, -E2BIG, "more than %d rules", IGNORE_RULES_MAX);
	ignore->rules = arena_allocate_array(arena, lines, sizeof(*ignore->rules));
	while (rest.length > 0) {
		if (!span_split(rest, '\n', &line, &rest)) {
			line = rest;
			rest = SPAN("");
		}
		number++;
		line = trim_space(line);
		if (line.length == 0 || line.data[0] == '#')
			continue;
		code = parse_rule(line, &ignore->rules[ignore->count], err);
		if (code < 0)
			return err_prefix(err, code, "line %zu", number);
		ignore->count++;
	}
	code = parse_rule(SPAN("templates/.?*"), &ignore->rules[ignore->count++], err);
	if (code < 0)
		return code;
	*ret_rules = ignore;
	return 0;
}

static bool rule_matches(const struct rule *rule, struct span path)
{
	const char *slash = rule->whole_path ? NULL : memrchr(path.data, '/', path.length);
	bool matches = false;

	if (slash)
		path = rest_of(path, (size_t)(slash + 1 - path.data));
	return ignore_match_pattern(rule->pattern, path, &matches) == 0 && matches;
}

bool ignore_matches(const struct ignore_rules *rules, struct span path, bool is_folder)
{
	if (path.length == 0 || span_is(path, ".") || span_is(path, "./"))
		return false;
	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->rules[i];
		bool eligible = !rule->folders_only || is_folder;

		if (rule->negated && (!eligible || !rule_matches(rule, path)))
			return true;
		if (!rule->negated && eligible && rule_matches(rule, path))
			return true;
	}
	return false;
}
