/* See semver.h. */
#include "chart/semver.h"

#include <string.h>

enum operator_type {
	OPERATOR_EQUAL,
	OPERATOR_NOT_EQUAL,
	OPERATOR_GREATER,
	OPERATOR_LESS,
	OPERATOR_AT_LEAST,
	OPERATOR_AT_MOST,
	OPERATOR_TILDE,
	OPERATOR_CARET,
};

static const struct {
	const char *text;
	enum operator_type type;
} operators[] = {{"!=", OPERATOR_NOT_EQUAL}, {">=", OPERATOR_AT_LEAST}, {"=>", OPERATOR_AT_LEAST},
	{"<=", OPERATOR_AT_MOST}, {"=<", OPERATOR_AT_MOST}, {"~>", OPERATOR_TILDE},
	{"=", OPERATOR_EQUAL}, {">", OPERATOR_GREATER}, {"<", OPERATOR_LESS}, {"~", OPERATOR_TILDE},
	{"^", OPERATOR_CARET}};

struct constraint {
	enum operator_type type;
	struct semver version;
	bool any_minor, any_patch, dirty; /* parts left out or written as x */
};

struct reader {
	struct span text;
	size_t position;
};

static char peek(const struct reader *reader)
{
	return reader->position < reader->text.length ? reader->text.data[reader->position] : '\0';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_identifier_byte(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

static bool read_number(struct reader *reader, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (!is_digit(peek(reader)))
		return false;
	while (is_digit(peek(reader))) {
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (uint64_t)(peek(reader) - '0'), &number))
			return false;
		reader->position++;
	}
	*ret_number = number;
	return true;
}

/* Identifiers joined by dots; numbers of a prerelease have no leading zero. */
static bool read_identifiers(struct reader *reader, bool strict_numbers, struct span *ret_text)
{
	size_t begin = reader->position;

	for (;;) {
		size_t first = reader->position;
		bool numeric = true;

		while (is_identifier_byte(peek(reader))) {
			numeric &= is_digit(peek(reader));
			reader->position++;
		}
		if (reader->position == first)
			return false;
		if (strict_numbers && numeric && reader->position - first > 1 &&
			reader->text.data[first] == '0')
			return false;
		if (peek(reader) != '.')
			break;
		reader->position++;
	}
	*ret_text = (struct span){reader->text.data + begin, reader->position - begin};
	return true;
}

static bool read_suffixes(struct reader *reader, struct semver *version)
{
	if (peek(reader) == '-') {
		reader->position++;
		if (!read_identifiers(reader, true, &version->prerelease))
			return false;
	}
	if (peek(reader) == '+') {
		reader->position++;
		if (!read_identifiers(reader, false, &version->metadata))
			return false;
	}
	return true;
}

bool semver_parse(struct span text, struct semver *ret_version)
{
	struct reader reader = {text, 0};
	struct semver version = {.prerelease = SPAN(""), .metadata = SPAN(""), .original = text};
	uint64_t *const parts[] = {&version.major, &version.minor, &version.patch};

	if (text.length > SEMVER_TEXT_MAX)
		return false;
	if (peek(&reader) == 'v')
		reader.position++;
	for (size_t i = 0; i < 3; i++) {
		if (i > 0) {
			if (peek(&reader) != '.')
				break;
			reader.position++;
		}
		if (!read_number(&reader, parts[i]))
			return false;
	}
	if (!read_suffixes(&reader, &version) || reader.position != text.length)
		return false;
	*ret_version = version;
	return true;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static bool all_digits(struct span text)
{
	for (size_t i = 0; i < text.length; i++)
		if (!is_digit(text.data[i]))
			return false;
	return text.length > 0;
}

static int compare_identifiers(struct span a, struct span b)
{
	bool a_numeric = all_digits(a), b_numeric = all_digits(b);

	if (a_numeric != b_numeric)
		return a_numeric ? -1 : 1;
	if (a_numeric && a.length != b.length)
		return a.length < b.length ? -1 : 1;
	return span_compare(a, b);
}

static int compare_prereleases(struct span a, struct span b)
{
	struct span part_a, part_b;

	if (a.length == 0 || b.length == 0)
		return a.length == b.length ? 0 : a.length == 0 ? 1 : -1;
	for (;;) {
		bool more_a = span_next_part(&a, '.', &part_a);
		bool more_b = span_next_part(&b, '.', &part_b);
		int order;

		if (!more_a || !more_b)
			return more_a ? 1 : more_b ? -1 : 0;
		order = compare_identifiers(part_a, part_b);
		if (order)
			return order;
	}
}

int semver_compare(const struct semver *a, const struct semver *b)
{
	int order = compare_numbers(a->major, b->major);

	if (!order)
		order = compare_numbers(a->minor, b->minor);
	if (!order)
		order = compare_numbers(a->patch, b->patch);
	return order ? order : compare_prereleases(a->prerelease, b->prerelease);
}

/* ---- constraints --------------------------------------------------------------------------------- */

static void skip_spaces(struct reader *reader)
{
	while (peek(reader) == ' ' || peek(reader) == '\t' || peek(reader) == '\n' ||
		peek(reader) == '\r')
		reader->position++;
}

/* A part of a version in a constraint: a number, or x, X, * for any. */
static bool read_part(struct reader *reader, uint64_t *ret_number, bool *ret_any)
{
	char c = peek(reader);

	*ret_any = c == 'x' || c == 'X' || c == '*';
	if (*ret_any) {
		reader->position++;
		return true;
	}
	return read_number(reader, ret_number);
}

static bool read_version(struct reader *reader, struct constraint *constraint)
{
	struct semver *version = &constraint->version;
	bool any_major, any_minor = true, any_patch = true;

	version->prerelease = version->metadata = SPAN("");
	if (peek(reader) == 'v')
		reader->position++;
	if (!read_part(reader, &version->major, &any_major))
		return false;
	if (peek(reader) == '.') {
		reader->position++;
		if (!read_part(reader, &version->minor, &any_minor))
			return false;
		if (peek(reader) == '.') {
			reader->position++;
			if (!read_part(reader, &version->patch, &any_patch))
				return false;
		}
	}
	if (!read_suffixes(reader, version))
		return false;
	if (any_major)
		version->major = version->minor = version->patch = 0;
	else if (any_minor)
		version->minor = version->patch = 0;
	else if (any_patch)
		version->patch = 0;
	constraint->dirty = any_major || any_minor || any_patch;
	/* Any major version: at least 0.0.0. */
	if (any_major) {
		constraint->any_minor = constraint->any_patch = false;
		if (constraint->type == OPERATOR_EQUAL || constraint->type == OPERATOR_TILDE ||
			constraint->type == OPERATOR_CARET) {
			constraint->type = OPERATOR_AT_LEAST;
			constraint->dirty = false;
		}
		return true;
	}
	constraint->any_minor = any_minor;
	constraint->any_patch = !any_minor && any_patch;
	return true;
}

static void read_operator(struct reader *reader, struct constraint *constraint)
{
	constraint->type = OPERATOR_EQUAL;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		size_t length = strlen(operators[i].text);

		if (reader->position + length <= reader->text.length &&
			memcmp(reader->text.data + reader->position, operators[i].text, length) ==
				0) {
			constraint->type = operators[i].type;
			reader->position += length;
			return;
		}
	}
}

/* "1.2 - 1.4": a hyphen between spaces. */
static bool reads_hyphen(struct reader *reader)
{
	struct reader ahead = *reader;

	skip_spaces(&ahead);
	if (ahead.position == reader->position || peek(&ahead) != '-')
		return false;
	ahead.position++;
	if (peek(&ahead) != ' ')
		return false;
	skip_spaces(&ahead);
	*reader = ahead;
	return true;
}

/* Constraints that must all hold; their count, or -1. */
static int read_group(struct span text, struct constraint *constraints)
{
	struct reader reader = {text, 0};
	int count = 0;

	for (;;) {
		struct constraint *constraint = &constraints[count];

		skip_spaces(&reader);
		if (reader.position == text.length)
			return count > 0 ? count : -1;
		if (count + 1 >= SEMVER_CONSTRAINTS_MAX)
			return -1;
		*constraint = (struct constraint){0};
		read_operator(&reader, constraint);
		skip_spaces(&reader);
		if (!read_version(&reader, constraint))
			return -1;
		count++;
		if (constraint->type == OPERATOR_EQUAL && reads_hyphen(&reader)) {
			constraint->type = OPERATOR_AT_LEAST;
			constraint = &constraints[count++];
			*constraint = (struct constraint){.type = OPERATOR_AT_MOST};
			if (!read_version(&reader, constraint))
				return -1;
		}
		if (reader.position < text.length && peek(&reader) != ',' && peek(&reader) != ' ')
			return -1;
		skip_spaces(&reader);
		if (peek(&reader) == ',') {
			reader.position++;
			skip_spaces(&reader);
			if (reader.position == text.length)
				return -1;
		}
	}
}

static bool meets_tilde(const struct constraint *constraint, const struct semver *version)
{
	const struct semver *wanted = &constraint->version;

	if (semver_compare(version, wanted) < 0)
		return false;
	if (wanted->major == 0 && wanted->minor == 0 && wanted->patch == 0 &&
		!constraint->any_minor && !constraint->any_patch)
		return true;
	if (version->major != wanted->major)
		return false;
	return version->minor == wanted->minor || constraint->any_minor;
}

static bool meets_caret(const struct constraint *constraint, const struct semver *version)
{
	const struct semver *wanted = &constraint->version;

	if (semver_compare(version, wanted) < 0)
		return false;
	if (wanted->major > 0 || constraint->any_minor)
		return version->major == wanted->major;
	if (version->major > wanted->major)
		return false;
	if (wanted->minor > 0 || constraint->any_patch)
		return version->minor == wanted->minor;
	return version->minor == 0 && version->patch == wanted->patch;
}

static bool meets_not_equal(const struct constraint *constraint, const struct semver *version)
{
	const struct semver *wanted = &constraint->version;

	if (!constraint->dirty)
		return semver_compare(version, wanted) != 0;
	if (version->major != wanted->major)
		return true;
	if (constraint->any_minor)
		return false;
	if (version->minor != wanted->minor)
		return true;
	return !constraint->any_patch && version->patch != wanted->patch;
}

static bool meets_greater(const struct constraint *constraint, const struct semver *version)
{
	const struct semver *wanted = &constraint->version;

	if (!constraint->dirty)
		return semver_compare(version, wanted) > 0;
	if (version->major != wanted->major)
		return version->major > wanted->major;
	return !constraint->any_minor && constraint->any_patch && version->minor > wanted->minor;
}

static bool meets_at_most(const struct constraint *constraint, const struct semver *version)
{
	const struct semver *wanted = &constraint->version;

	if (!constraint->dirty)
		return semver_compare(version, wanted) <= 0;
	if (version->major != wanted->major)
		return version->major < wanted->major;
	return version->minor <= wanted->minor || constraint->any_minor;
}

static bool meets(const struct constraint *constraint, const struct semver *version,
	bool with_prereleases)
{
	if (version->prerelease.length && !constraint->version.prerelease.length &&
		!with_prereleases)
		return false;
	switch (constraint->type) {
	case OPERATOR_EQUAL:
		return constraint->dirty ? meets_tilde(constraint, version)
					 : semver_compare(version, &constraint->version) == 0;
	case OPERATOR_NOT_EQUAL: return meets_not_equal(constraint, version);
	case OPERATOR_GREATER: return meets_greater(constraint, version);
	case OPERATOR_LESS: return semver_compare(version, &constraint->version) < 0;
	case OPERATOR_AT_LEAST: return semver_compare(version, &constraint->version) >= 0;
	case OPERATOR_AT_MOST: return meets_at_most(constraint, version);
	case OPERATOR_TILDE: return meets_tilde(constraint, version);
	case OPERATOR_CARET: return meets_caret(constraint, version);
	}
	return false;
}

int semver_check(struct span text, const struct semver *version)
{
	struct constraint constraints[SEMVER_CONSTRAINTS_MAX];
	bool met = false;

	for (;;) {
		const char *bar = text.length > 1 ? memmem(text.data, text.length, "||", 2) : NULL;
		size_t end = bar ? (size_t)(bar - text.data) : text.length;
		int count = read_group((struct span){text.data, end}, constraints);
		bool with_prereleases = false, all = true;

		if (count < 0)
			return -1;
		for (int i = 0; i < count; i++)
			with_prereleases |= constraints[i].version.prerelease.length > 0;
		for (int i = 0; i < count; i++)
			all &= meets(&constraints[i], version, with_prereleases);
		met |= all;
		if (!bar)
			return met;
		text = (struct span){bar + 2, text.length - end - 2};
	}
}
