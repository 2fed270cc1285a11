/*
 * Lists: filters that a client gives, and pages of what they leave. A list is a walk over an index of the
 * caller's own account and region.
 */
#ifndef CLOUDMAP_LISTING_H
#define CLOUDMAP_LISTING_H

#include "aws/service.h"

#define FILTERS_MAX 10 /* of one request */

enum filter_condition { FILTER_EQ, FILTER_IN, FILTER_BEGINS_WITH, FILTER_BETWEEN };
#define FILTER_BIT(condition) (1U << (condition))

/* A field to filter by. A row has `text`, or `time_ms` for BETWEEN. */
struct filter_row {
	const char *name;
	unsigned conditions; /* FILTER_BIT of those that make sense */
	struct span (*text)(const struct store_object *object);
	int64_t (*time_ms)(const struct store_object *object);
	const char *const *values; /* that the text can have, NULL at the end; NULL: any */
};

struct filter {
	const struct filter_row *row;
	enum filter_condition condition;
	const struct json *values;
	int64_t from_ms, to_ms;
};

struct filters {
	struct filter items[FILTERS_MAX];
	size_t count;
	struct span text; /* names them, for page tokens */
};

/* Reads `Filters` of the input. Fails the request. */
int cloudmap_filters_read(struct aws_request *request, const struct filter_row *rows,
	size_t row_count, struct filters *ret_filters);
/* The only value that a filter of this name leaves; data NULL: there is no such filter. */
struct span cloudmap_filters_only(const struct filters *filters, const char *name);

/* Answers {MEMBER:[…],"NextToken":…} with what the cursor and the filters give. */
int cloudmap_listing_answer(struct aws_request *request, const char *member,
	struct store_cursor *cursor, const struct filters *filters,
	void (*write)(struct aws_request *request, const struct store_object *object));

#endif
