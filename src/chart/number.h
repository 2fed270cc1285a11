/*
 * Numbers as Go's strconv reads and writes them, and the encodings of bytes that templates use.
 */
#ifndef CHART_NUMBER_H
#define CHART_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/span.h"

/* strconv.ParseInt with base 10, or with base 0: prefixes 0x, 0o, 0b, 0 and underscores. */
bool number_parse_integer(struct span text, int base, int64_t *ret_integer);
/* strconv.ParseFloat; false for text that is not a number. */
bool number_parse_float_strict(struct span text, double *ret_number);
/* The same with 0 for text that is not a number. */
double number_parse_float(struct span text);

/* strconv.FormatFloat: format is one of e E f F g G x X; precision -1 gives the shortest text that reads
 * back as the same number. */
void number_format_float(double number, char format, int precision, struct buffer *out);
/* As %v prints a float64. */
void number_print_float(double number, struct buffer *out);

struct span number_base64(struct arena *arena, struct span bytes);

#endif
