/* Filters and pages; see listing.h. */
#include "cloudmap/listing.h"

#include "aws/page.h"
#include "base/memory.h"

#define FILTER_VALUES_MAX 100
#define PAGE_MAX 100

static const char *const condition_names[] = {
	[FILTER_EQ] = "EQ",
	[FILTER_IN] = "IN",
	[FILTER_BEGINS_WITH] = "BEGINS_WITH",
	[FILTER_BETWEEN] = "BETWEEN",
};

/* ---- reading ---- */

static const struct filter_row *find_row(const struct filter_row *rows, size_t count,
	struct span name)
{
	for (size_t i = 0; i < count; i++)
		if (span_is(name, rows[i].name))
			return &rows[i];
	return NULL;
}

/* The model lets no other texts through. */
static enum filter_condition read_condition(struct span name)
{
	for (size_t i = 0; i < LENGTH(condition_names); i++)
		if (span_is(name, condition_names[i]))
			return (enum filter_condition)i;
	return FILTER_EQ;
}

/* "1516925490.087": seconds since 1970. */
static bool read_time(struct span text, int64_t *ret_ms)
{
	struct arena *arena = arena_new(0);
	struct json *number;
	double seconds;
	bool good = json_parse(text, arena, &number, NULL) == 0 && json_double(number, &seconds) &&
		    seconds >= 0 && seconds < 1e12;

	if (good)
		*ret_ms = (int64_t)(seconds * 1000 + 0.5);
	arena_free(arena);
	return good;
}

static int check_between(struct aws_request *request, struct filter *filter)
{
	if (json_count(filter->values) != 2)
		return aws_fail_input(request,
			"Filters: BETWEEN takes two Values, a start and an end, not %zu",
			json_count(filter->values));
	if (!read_time(json_text(json_item(filter->values, 0)), &filter->from_ms) ||
		!read_time(json_text(json_item(filter->values, 1)), &filter->to_ms))
		return aws_fail_input(request,
			"Filters: the Values of %s are times in seconds since 1970, such as "
			"1516925490.087",
			filter->row->name);
	if (filter->from_ms > filter->to_ms)
		return aws_fail_input(request,
			"Filters: the Values of %s are a start and an end; the start must not be "
			"later than the end",
			filter->row->name);
	return 0;
}

static int check_values(struct aws_request *request, struct filter *filter)
{
	size_t count = json_count(filter->values);

	if (count == 0 || count > FILTER_VALUES_MAX)
		return aws_fail_input(request, "Filters: %s needs 1 to %d Values",
			filter->row->name, FILTER_VALUES_MAX);
	if (filter->condition == FILTER_BETWEEN)
		return check_between(request, filter);
	if (filter->condition != FILTER_IN && count > 1)
		return aws_fail_input(request, "Filters: %s takes one value, not %zu",
			condition_names[filter->condition], count);
	JSON_EACH_ITEM (filter->values, value) {
		const char *const *known = filter->row->values;

		if (!known || filter->condition == FILTER_BEGINS_WITH)
			continue;
		while (*known && !span_is(json_text(value), *known))
			known++;
		if (!*known)
			return aws_fail_input(request, "Filters: %s cannot be '%.*s'",
				filter->row->name, SPAN_ARGS(json_text(value)));
	}
	return 0;
}

int cloudmap_filters_read(struct aws_request *request, const struct filter_row *rows,
	size_t row_count, struct filters *ret_filters)
{
	const struct json *requested = json_get(request->input, "Filters");
	struct filters filters = {.text = SPAN("")};

	if (json_count(requested) > FILTERS_MAX)
		return aws_fail_input(request, "Filters: %zu are given, the limit is %d",
			json_count(requested), FILTERS_MAX);
	JSON_EACH_ITEM (requested, item) {
		struct span name = json_get_text(item, "Name");
		struct span condition = json_get_text(item, "Condition");
		struct filter *filter = &filters.items[filters.count];

		filter->row = find_row(rows, row_count, name);
		if (!filter->row)
			return aws_fail_input(request, "Filters: there is no filter '%.*s'",
				SPAN_ARGS(name));
		filter->condition = condition.data ? read_condition(condition) : FILTER_EQ;
		filter->values = json_get(item, "Values");
		if (!(filter->row->conditions & FILTER_BIT(filter->condition)))
			return aws_fail_input(request, "Filters: %s cannot be filtered by %s",
				filter->row->name, condition_names[filter->condition]);
		if (check_values(request, filter) < 0)
			return -EPERM;
		filters.count++;
	}
	if (filters.count > 0)
		filters.text = json_to_text(requested, request->arena);
	*ret_filters = filters;
	return 0;
}

struct span cloudmap_filters_only(const struct filters *filters, const char *name)
{
	for (size_t i = 0; i < filters->count; i++) {
		const struct filter *filter = &filters->items[i];

		if (span_is(span_of(filter->row->name), name) && json_count(filter->values) == 1 &&
			filter->condition <= FILTER_IN)
			return json_text(json_item(filter->values, 0));
	}
	return SPAN_NONE;
}

/* ---- matching ---- */

static bool matches(const struct filter *filter, const struct store_object *object)
{
	struct span text;

	if (filter->condition == FILTER_BETWEEN) {
		int64_t time_ms = filter->row->time_ms(object);

		return time_ms >= filter->from_ms && time_ms <= filter->to_ms;
	}
	text = filter->row->text(object);
	JSON_EACH_ITEM (filter->values, value)
		if (filter->condition == FILTER_BEGINS_WITH
				? span_starts_with(text, json_text(value))
				: span_equal(text, json_text(value)))
			return true;
	return false;
}

static bool all_match(const struct filters *filters, const struct store_object *object)
{
	for (size_t i = 0; filters && i < filters->count; i++)
		if (!matches(&filters->items[i], object))
			return false;
	return true;
}

/* ---- answering ---- */

int cloudmap_listing_answer(struct aws_request *request, const char *member,
	struct store_cursor *cursor, const struct filters *filters,
	void (*write)(struct aws_request *request, const struct store_object *object))
{
	struct span named = filters ? filters->text : SPAN("");
	const struct store_object *object, *last = NULL;
	struct span last_text = SPAN("");
	struct aws_page page;
	size_t count = 0;

	if (aws_page_read(request, PAGE_MAX, PAGE_MAX, named, &page) < 0)
		return -EPERM;
	if (cursor->index >= 0)
		cursor->after_text = page.after_text;
	cursor->after_key = page.after_key;
	buffer_format(request->out, "{\"%s\":[", member);
	while ((object = store_next(cursor))) {
		if (!all_match(filters, object))
			continue;
		if (count == page.most)
			break;
		if (count++ > 0)
			buffer_add_char(request->out, ',');
		write(request, object);
		last = object;
		last_text = cursor->index >= 0 ? cursor->text : SPAN("");
	}
	buffer_add_char(request->out, ']');
	if (object && last)
		buffer_format(request->out, ",\"NextToken\":\"%.*s\"",
			SPAN_ARGS(aws_page_token(request, named, last_text, last->key)));
	buffer_add_char(request->out, '}');
	return 0;
}
