#include "proxy/haproxy/rule.h"

#include <arpa/inet.h>
#include <stdio.h>

/* Character classes for "*" and "?". */
#define OF_LINE "[^\\r\\n]"
#define OF_KEY "[^&=\\n]"
#define OF_PARAMETER "[^&\\n]"

static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '/' ||
	       c == '-' || c == '_' || c == '=';
}

static void add_character(struct buffer *out, char c)
{
	if (is_plain(c))
		buffer_add_char(out, c);
	else
		buffer_format(out, "\\x%02x", (unsigned char)c);
}

void rule_add_literal(struct buffer *out, const char *text)
{
	while (*text)
		add_character(out, *text++);
}

static void add_piece(struct buffer *out, const char *from, const char *end, const char *any)
{
	for (; from < end; from++) {
		if (*from == '?')
			buffer_add_string(out, any);
		else
			add_character(out, *from);
	}
}

/* The text between stars. For each piece the first match is as good as any later one, except for
 * the last, which must be at the end: so only the last star may backtrack. */
static void add_pattern(struct buffer *out, const char *pattern, const char *any)
{
	const char *star = strchr(pattern, '*');
	const char *from = star ? star : pattern + strlen(pattern);

	add_piece(out, pattern, from, any);
	while (star) {
		const char *piece = star + 1, *next;

		while (*piece == '*')
			piece++;
		next = strchr(piece, '*');
		if (next) {
			buffer_format(out, "(?>%s*?", any);
			add_piece(out, piece, next, any);
			buffer_add_char(out, ')');
		} else {
			buffer_format(out, "%s*", any);
			add_piece(out, piece, piece + strlen(piece), any);
		}
		star = next;
	}
}

/* 10.0.0.0/9: "0A[0-7]" and five more digits. */
static void add_source(struct buffer *out, const char *text)
{
	unsigned char bytes[16] = {0};
	char host[INET6_ADDRSTRLEN + 1];
	const char *slash = strchr(text, '/');
	bool v6 = strchr(text, ':') != NULL;
	unsigned bits = (unsigned)strtoul(slash + 1, NULL, 10), digits = v6 ? 32 : 8, rest;

	snprintf(host, sizeof(host), "%.*s", (int)(slash - text), text);
	inet_pton(v6 ? AF_INET6 : AF_INET, host, bytes);
	for (unsigned i = 0; i < bits / 4; i++)
		buffer_format(out, "%X", i % 2 ? bytes[i / 2] & 15u : bytes[i / 2] >> 4);
	rest = digits - bits / 4;
	if (bits % 4) {
		unsigned at = bits / 4, spread = 15u >> (bits % 4);
		unsigned first = (at % 2 ? bytes[at / 2] & 15u : bytes[at / 2] >> 4) & ~spread;

		buffer_add_char(out, '[');
		for (unsigned digit = first; digit <= first + spread; digit++)
			buffer_format(out, "%X", digit);
		buffer_add_char(out, ']');
		rest--;
	}
	if (rest > 0)
		buffer_format(out, "[0-9A-F]{%u}", rest);
}

static void add_value(struct buffer *out, const struct proxy_condition *condition,
	const struct proxy_value *value)
{
	switch (condition->kind) {
	case PROXY_IF_VERSION:
	case PROXY_IF_METHOD: rule_add_literal(out, value->value); return;
	case PROXY_IF_SOURCE: add_source(out, value->value); return;
	case PROXY_IF_QUERY:
		if (value->key) {
			add_pattern(out, value->key, OF_KEY);
			buffer_add_char(out, '=');
		} else {
			buffer_add_string(out, "(?:" OF_KEY "*+=)?");
		}
		add_pattern(out, value->value, OF_PARAMETER);
		return;
	case PROXY_IF_HOST:
	case PROXY_IF_PATH:
	case PROXY_IF_HEADER: add_pattern(out, value->value, OF_LINE); return;
	}
}

static const struct kind {
	const char *before, *after; /* of the alternatives */
} kinds[] = {
	[PROXY_IF_METHOD] = {"m:(?:", ")\\n"},
	[PROXY_IF_HOST] = {"h:(?i:", ")(?::[0-9]*)?\\n"},
	[PROXY_IF_PATH] = {"p:(?:", ")\\n"},
	[PROXY_IF_QUERY] = {"q:(?:[^\\n]*&)?(?i:", ")[&\\n]"},
	[PROXY_IF_SOURCE] = {"s:(?:", ")\\n"},
	[PROXY_IF_VERSION] = {"v:(?:", ")\\n"},
	[PROXY_IF_HEADER] = {"(?:[^\\n]*+\\n)*?", ")\\r\\n"},
};

static void add_condition(struct buffer *out, const struct proxy_condition *condition)
{
	buffer_format(out, "(?=%s", kinds[condition->kind].before);
	if (condition->kind == PROXY_IF_HEADER) {
		for (const char *at = condition->name; *at; at++)
			add_character(out, *at >= 'A' && *at <= 'Z' ? (char)(*at | 0x20) : *at);
		buffer_add_string(out, ":\\x20?(?i:");
	}
	for (size_t i = 0; i < condition->value_count; i++) {
		if (i > 0)
			buffer_add_char(out, '|');
		add_value(out, condition, &condition->values[i]);
	}
	buffer_format(out, "%s)", kinds[condition->kind].after);
}

void rule_add_expression(struct buffer *out, const struct proxy_condition *conditions,
	size_t condition_count)
{
	static const enum proxy_condition_kind lines[] = {PROXY_IF_METHOD, PROXY_IF_HOST,
		PROXY_IF_PATH, PROXY_IF_QUERY, PROXY_IF_SOURCE, PROXY_IF_VERSION, PROXY_IF_HEADER};
	size_t skipped = 0;

	buffer_add_char(out, '^');
	for (size_t line = 0; line < LENGTH(lines); line++, skipped++) {
		for (size_t i = 0; i < condition_count; i++) {
			if (conditions[i].kind != lines[line])
				continue;
			for (; skipped > 0; skipped--)
				buffer_add_string(out, "[^\\n]*+\\n");
			add_condition(out, &conditions[i]);
		}
	}
}

bool rule_needs_fields(const struct proxy_condition *conditions, size_t condition_count)
{
	for (size_t i = 0; i < condition_count; i++) {
		if (conditions[i].kind == PROXY_IF_HEADER)
			return true;
	}
	return false;
}
