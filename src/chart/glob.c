/* See glob.h. Matches by trying, with a limit on the steps. */
#include "chart/glob.h"

#include <string.h>

#include "chart/text.h"

struct glob {
	struct span pattern;
};

struct matcher {
	struct span name;
	uint32_t steps;
};

/* The pattern left to match behind an alternative of {a,b}. */
struct continuation {
	struct span pattern;
	const struct continuation *outer;
};

static bool match(struct matcher *matcher, struct span pattern, size_t at,
	const struct continuation *outer);

static struct span behind(struct span text, size_t length)
{
	return (struct span){text.data + length, text.length - length};
}

/* Length of a bracket expression or a group at the begin of pattern, or 0. */
static size_t enclosed(struct span pattern, char open, char close)
{
	size_t depth = 0;

	for (size_t i = 0; i < pattern.length; i++) {
		if (pattern.data[i] == '\\')
			i++;
		else if (pattern.data[i] == open)
			depth++;
		else if (pattern.data[i] == close && --depth == 0)
			return i + 1;
	}
	return 0;
}

static bool in_set(struct span set, uint32_t c)
{
	bool negated = set.length && set.data[0] == '!', found = false;
	size_t length;

	if (negated)
		set = behind(set, 1);
	while (set.length) {
		uint32_t low = text_decode(set, &length), high = low;

		set = behind(set, length);
		if (set.length > 1 && set.data[0] == '-') {
			set = behind(set, 1);
			high = text_decode(set, &length);
			set = behind(set, length);
		}
		found |= c >= low && c <= high;
	}
	return found != negated;
}

static bool match_group(struct matcher *matcher, struct span pattern, size_t length, size_t at,
	const struct continuation *outer)
{
	struct continuation rest = {behind(pattern, length), outer};
	struct span inside = {pattern.data + 1, length - 2};
	size_t begin = 0, depth = 0;

	for (size_t i = 0; i <= inside.length; i++) {
		char c = i < inside.length ? inside.data[i] : ',';

		if (c == '\\') {
			i++;
			continue;
		}
		depth += c == '{';
		depth -= c == '}';
		if (c != ',' || (depth && i < inside.length))
			continue;
		if (match(matcher, (struct span){inside.data + begin, i - begin}, at, &rest))
			return true;
		begin = i + 1;
	}
	return false;
}

static bool match_star(struct matcher *matcher, struct span pattern, size_t at,
	const struct continuation *outer)
{
	bool crosses = pattern.length > 1 && pattern.data[1] == '*';
	size_t stars = 0;

	while (stars < pattern.length && pattern.data[stars] == '*')
		stars++;
	pattern = behind(pattern, stars);
	for (;; at++) {
		if (match(matcher, pattern, at, outer))
			return true;
		if (at >= matcher->name.length || (!crosses && matcher->name.data[at] == '/'))
			return false;
	}
}

static bool match(struct matcher *matcher, struct span pattern, size_t at,
	const struct continuation *outer)
{
	struct span name = behind(matcher->name, at);
	size_t length, enclosure;
	uint32_t c;

	if (++matcher->steps > GLOB_STEPS_MAX)
		return false;
	if (pattern.length == 0)
		return outer ? match(matcher, outer->pattern, at, outer->outer) : name.length == 0;
	switch (pattern.data[0]) {
	case '*': return match_star(matcher, pattern, at, outer);
	case '{':
		enclosure = enclosed(pattern, '{', '}');
		return match_group(matcher, pattern, enclosure, at, outer);
	default: break;
	}
	if (name.length == 0)
		return false;
	c = text_decode(name, &length);
	switch (pattern.data[0]) {
	case '?': return c != '/' && match(matcher, behind(pattern, 1), at + length, outer);
	case '[':
		enclosure = enclosed(pattern, '[', ']');
		return in_set((struct span){pattern.data + 1, enclosure - 2}, c) &&
		       match(matcher, behind(pattern, enclosure), at + length, outer);
	case '\\': pattern = behind(pattern, 1); break;
	default: break;
	}
	return pattern.length && pattern.data[0] == name.data[0] &&
	       match(matcher, behind(pattern, 1), at + 1, outer);
}

const struct glob *glob_new(struct arena *arena, struct span pattern)
{
	struct glob *glob = arena_allocate(arena, sizeof(*glob));

	if (pattern.length > GLOB_PATTERN_MAX)
		return NULL;
	for (size_t i = 0; i < pattern.length; i++) {
		char c = pattern.data[i];

		if (c == '\\')
			i++;
		else if ((c == '{' || c == '[') &&
			 !enclosed(behind(pattern, i), c, c == '{' ? '}' : ']'))
			return NULL;
	}
	glob->pattern = pattern;
	return glob;
}

bool glob_matches(const struct glob *glob, struct span name)
{
	struct matcher matcher = {name, 0};

	return match(&matcher, glob->pattern, 0, NULL);
}
