/* See regex.h. The only C++ of slipway: RE2 has no C interface. */
#include "chart/regex.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>

struct regex {
	RE2 expression;

	regex(const re2::StringPiece &pattern, const RE2::Options &options)
	    : expression(pattern, options)
	{
	}
};

/* Where the character class that begins at `begin` ends: behind its bracket. */
static size_t end_of_class(const std::string &pattern, size_t begin)
{
	size_t i = begin + 1;

	if (i < pattern.size() && pattern[i] == '^')
		i++;
	if (i < pattern.size() && pattern[i] == ']')
		i++;
	for (; i < pattern.size() && pattern[i] != ']'; i++) {
		size_t named = pattern.compare(i, 2, "[:") == 0 ? pattern.find(":]", i + 2)
								: std::string::npos;

		if (named != std::string::npos)
			i = named + 1;
		else if (pattern[i] == '\\')
			i++;
	}
	return std::min(i + 1, pattern.size());
}

/* Go writes named groups also as (?<name>…), which this RE2 does not know yet, and has no \C.
 * False: Go refuses the pattern. */
static bool translate(const std::string &pattern, std::string &out)
{
	size_t i = 0, end;

	for (; i < pattern.size(); i = end) {
		end = i + 1;
		if (pattern.compare(i, 2, "\\C") == 0)
			return false;
		if (pattern.compare(i, 2, "\\Q") == 0)
			end = std::min(pattern.find("\\E", i + 2), pattern.size());
		else if (pattern[i] == '\\')
			end = std::min(i + 2, pattern.size());
		else if (pattern[i] == '[')
			end = end_of_class(pattern, i);
		out.append(pattern, i, end - i);
		if (pattern.compare(i, 3, "(?<") == 0 && i + 3 < pattern.size() &&
			pattern[i + 3] != '=' && pattern[i + 3] != '!') {
			out += "?P";
			end++;
		}
	}
	return true;
}

extern "C" struct regex *regex_new(const char *pattern, size_t length, char *message,
	size_t message_size)
{
	RE2::Options options;
	std::string translated;
	struct regex *made;

	if (length > REGEX_PATTERN_MAX) {
		snprintf(message, message_size, "pattern of %zu bytes (limit %d)", length,
			REGEX_PATTERN_MAX);
		return nullptr;
	}
	if (!translate(std::string(pattern, length), translated)) {
		snprintf(message, message_size, "invalid escape sequence: \\C");
		return nullptr;
	}
	options.set_log_errors(false);
	options.set_max_mem(REGEX_MEMORY_MAX);
	made = new (std::nothrow) regex(translated, options);
	if (!made) {
		snprintf(message, message_size, "out of memory");
		return nullptr;
	}
	if (!made->expression.ok()) {
		snprintf(message, message_size, "%s", made->expression.error().c_str());
		delete made;
		return nullptr;
	}
	return made;
}

extern "C" void regex_free(struct regex *regex)
{
	delete regex;
}

extern "C" int regex_group_count(const struct regex *regex)
{
	return regex->expression.NumberOfCapturingGroups();
}

extern "C" int regex_group_index(const struct regex *regex, const char *name, size_t length)
{
	const auto &names = regex->expression.NamedCapturingGroups();
	const auto found = names.find(std::string(name, length));

	return found == names.end() ? -1 : found->second;
}

extern "C" bool regex_match(const struct regex *regex, const char *text, size_t length, size_t from,
	struct regex_range *ranges, int count)
{
	re2::StringPiece groups[REGEX_GROUPS_MAX];

	if (count > REGEX_GROUPS_MAX)
		count = REGEX_GROUPS_MAX;
	if (!regex->expression.Match(re2::StringPiece(text, length), from, length, RE2::UNANCHORED,
		    groups, count))
		return false;
	for (int i = 0; i < count; i++) {
		ranges[i].begin = groups[i].data() ? groups[i].data() - text : -1;
		ranges[i].end = groups[i].data()
					? ranges[i].begin + static_cast<int64_t>(groups[i].size())
					: -1;
	}
	return true;
}
