/*
 * How often each operation of a service ended how, and how long that took: for /metrics. Counting
 * takes no lock. A row per operation, a few places per row for the kinds of result; what has no place
 * any more counts as "other", so that no client can make it grow.
 */
#ifndef AWS_COUNTS_H
#define AWS_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct aws_counts;

struct aws_counts *aws_counts_new(size_t rows);
void aws_counts_free(struct aws_counts *counts); /* NULL is fine */
/* result must live for ever (a literal). */
void aws_counts_add(struct aws_counts *counts, size_t row, const char *result,
	int64_t microseconds);
/* Results of a row that have occurred. */
void aws_counts_each(struct aws_counts *counts, size_t row,
	void (*each)(void *context, const char *result, uint64_t calls, double seconds),
	void *context);

#endif
