/* See the header. */
#include "pipeline/difference.h"

#include "base/memory.h"

struct comparison {
	bool only_wanted;
	struct arena *arena;
	struct field_list *list;
};

static void compare(const struct comparison *comparison, struct span path, const struct json *live,
	const struct json *wanted);

/* Values that ECS fills in, beside empty ones. NULL: any value. */
static const struct filled_member {
	const char *name, *text;
} filled[] = {
	{"essential", "true"},
	{"hostPort", NULL},
	{"protocol", "tcp"},
	{"networkMode", "bridge"},
	{"operatingSystemFamily", NULL},
	{"interval", "30"}, /* of health checks */
	{"timeout", "5"},
	{"retries", "3"},
};

static bool is_filled_in(struct span name, const struct json *value)
{
	struct span text;
	double number;

	if (json_is_absent(value) || value->type == JSON_FALSE ||
		(value->type == JSON_STRING && value->text.length == 0) ||
		(json_double(value, &number) && number == 0))
		return true;
	if (value->type == JSON_OBJECT) {
		for (size_t i = 0; i < value->object.count; i++) {
			if (!is_filled_in(value->object.members[i].name,
				    value->object.members[i].value))
				return false;
		}
		return true;
	}
	if (value->type == JSON_ARRAY)
		return value->array.count == 0;
	for (size_t i = 0; i < LENGTH(filled); i++) {
		if (span_is(name, filled[i].name) &&
			(!filled[i].text || (fields_scalar_text(value, &text) &&
						    span_is(text, filled[i].text))))
			return true;
	}
	return false;
}

static void add(const struct comparison *comparison, struct span path, const struct json *live,
	const struct json *wanted)
{
	struct difference *difference;

	if (comparison->list->count >= DIFFERENCES_MAX)
		return;
	difference = fields_append(comparison->arena, comparison->list, sizeof(*difference));
	*difference = (struct difference){path, live, wanted};
}

static struct span join(const struct comparison *comparison, struct span path, struct span name)
{
	return arena_format(comparison->arena, "%.*s%s%.*s", SPAN_ARGS(path),
		path.length > 0 ? "." : "", SPAN_ARGS(name));
}

static void compare_objects(const struct comparison *comparison, struct span path,
	const struct json *live, const struct json *wanted)
{
	for (size_t i = 0; i < wanted->object.count; i++) {
		const struct json_member *member = &wanted->object.members[i];
		const struct json *before = json_get_span(live, member->name);

		if (before || !is_filled_in(member->name, member->value))
			compare(comparison, join(comparison, path, member->name), before,
				member->value);
	}
	for (size_t i = 0; i < live->object.count && !comparison->only_wanted; i++) {
		const struct json_member *member = &live->object.members[i];

		if (!json_get_span(wanted, member->name) &&
			!is_filled_in(member->name, member->value))
			add(comparison, join(comparison, path, member->name), member->value, NULL);
	}
}

/* The name of an item of a list, or its key. */
static struct span item_name(const struct json *item)
{
	struct span name = json_get_text(item, "name");

	return name.data ? name : json_get_text(item, "key");
}

static const struct json *find_item(const struct json *list, struct span name)
{
	JSON_EACH_ITEM (list, item) {
		struct span other = item_name(item);

		if (other.data && span_equal(other, name))
			return item;
	}
	return NULL;
}

static bool all_named(const struct json *list)
{
	JSON_EACH_ITEM (list, item) {
		if (!item_name(item).data)
			return false;
	}
	return true;
}

static void compare_lists(const struct comparison *comparison, struct span path,
	const struct json *live, const struct json *wanted)
{
	bool named = all_named(live) && all_named(wanted);
	size_t index = 0;

	if (!named && live->array.count != wanted->array.count) {
		add(comparison, path, live, wanted);
		return;
	}
	JSON_EACH_ITEM (wanted, item) {
		const struct json *before =
			named ? find_item(live, item_name(item)) : json_item(live, index);

		compare(comparison,
			named ? arena_format(comparison->arena, "%.*s[%.*s]", SPAN_ARGS(path),
					SPAN_ARGS(item_name(item)))
			      : arena_format(comparison->arena, "%.*s[%zu]", SPAN_ARGS(path),
					index),
			before, item);
		index++;
	}
	JSON_EACH_ITEM (live, item) {
		if (named && !find_item(wanted, item_name(item)))
			add(comparison,
				arena_format(comparison->arena, "%.*s[%.*s]", SPAN_ARGS(path),
					SPAN_ARGS(item_name(item))),
				item, NULL);
	}
}

static void compare(const struct comparison *comparison, struct span path, const struct json *live,
	const struct json *wanted)
{
	if (json_is(live, JSON_OBJECT) && json_is(wanted, JSON_OBJECT))
		compare_objects(comparison, path, live, wanted);
	else if (json_is(live, JSON_ARRAY) && json_is(wanted, JSON_ARRAY))
		compare_lists(comparison, path, live, wanted);
	else if (!live || !json_equal(live, wanted))
		add(comparison, path, live, wanted);
}

void difference_find(const struct json *live, const struct json *wanted, bool only_wanted,
	struct arena *arena, struct field_list *list)
{
	compare(&(struct comparison){only_wanted, arena, list}, SPAN(""), live, wanted);
}
