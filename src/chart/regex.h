/*
 * Regular expressions with the syntax and the guarantees of Go's regexp package: RE2 behind a C
 * interface. Matching takes time proportional to the text, whatever the expression.
 */
#ifndef CHART_REGEX_H
#define CHART_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGEX_PATTERN_MAX (64 * 1024)
/* Memory of one compiled expression with its automata. */
#define REGEX_MEMORY_MAX (16 * 1024 * 1024)
/* Groups, the whole match included, that a match reports. */
#define REGEX_GROUPS_MAX 64

#ifdef __cplusplus
extern "C" {
#endif

struct regex;

struct regex_range {
	int64_t begin, end; /* -1: the group did not take part */
};

/* NULL for a pattern that is wrong or too large; message gets the reason. */
struct regex *regex_new(const char *pattern, size_t length, char *message, size_t message_size);
void regex_free(struct regex *regex);
int regex_group_count(const struct regex *regex); /* without the whole match */
int regex_group_index(const struct regex *regex, const char *name, size_t length); /* -1: none */
/* The leftmost match at or behind `from`; ranges[0] is the whole of it. */
bool regex_match(const struct regex *regex, const char *text, size_t length, size_t from,
	struct regex_range *ranges, int count);

#ifdef __cplusplus
}
#endif

#endif
