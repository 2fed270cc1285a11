/* See the header. */
#include "server/config_list.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/config_value.h"

#define MEMBERS_MAX 32

int config_list_refuse(const struct config_list_reading *reading, const struct json *where,
	const char *member, const char *format, ...)
{
	char said[512];
	va_list list;

	va_start(list, format);
	vsnprintf(said, sizeof(said), format, list);
	va_end(list);
	return err_set(reading->err, -EINVAL, "%s:%u: %s[%zu]%s%s: %s", reading->path, where->line,
		reading->list->name, reading->index, member[0] ? "." : "", member, said);
}

bool config_is_account(struct span text)
{
	uint64_t digits;

	return text.length == 12 && span_to_unsigned(text, UINT64_C(999999999999), &digits);
}

static void *field(void *item, size_t offset)
{
	return (char *)item + offset;
}

static const char *text_at(const void *item, const struct config_member *member)
{
	return *(const char *const *)((const char *)item + member->offset);
}

/* ---- values ---- */

static int read_text(const struct config_list_reading *reading, const struct config_member *member,
	const struct json *value, void *item)
{
	if (!json_is(value, JSON_STRING))
		return config_list_refuse(reading, value, member->path,
			"must be a string, not %s%s", json_type_name(value->type),
			json_is(value, JSON_NUMBER) ? "; write it in quotes" : "");
	if (value->text.length == 0)
		return config_list_refuse(reading, value, member->path, "must not be empty");
	if (memchr(value->text.data, '\0', value->text.length))
		return config_list_refuse(reading, value, member->path,
			"must not hold a NUL character");
	*(const char **)field(item, member->offset) =
		arena_copy(reading->arena, value->text.data, value->text.length);
	return 0;
}

static int read_number(const struct config_list_reading *reading,
	const struct config_member *member, const struct json *value, void *item)
{
	int64_t number;

	if (!json_integer(value, &number) || number < member->least || number > member->most)
		return config_list_refuse(reading, value, member->path,
			"must be a number from %lld to %lld", (long long)member->least,
			(long long)member->most);
	*(double *)field(item, member->offset) = (double)number;
	return 0;
}

static int read_duration(const struct config_list_reading *reading,
	const struct config_member *member, const struct json *value, void *item)
{
	int64_t ms;

	if (!json_is(value, JSON_STRING) || !config_read_duration(value->text, &ms) ||
		ms < member->least || ms > member->most)
		return config_list_refuse(reading, value, member->path,
			"must be a time from %lldms to %llds, for example 500ms, 30s, 5m",
			(long long)member->least, (long long)member->most / 1000);
	*(int64_t *)field(item, member->offset) = ms;
	return 0;
}

static bool is_name(const char *name, size_t most)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++)
		if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') ||
			    (i > 0 && name[i] == '-')))
			return false;
	return length <= most;
}

static int read_name(const struct config_list_reading *reading, const struct config_member *member,
	const struct json *value, void *item)
{
	const char *name;

	if (read_text(reading, member, value, item) < 0)
		return -EINVAL;
	name = text_at(item, member);
	if (!is_name(name, (size_t)member->most))
		return config_list_refuse(reading, value, member->path,
			"'%s' is not 1 to %lld lower-case letters, digits and hyphens", name,
			(long long)member->most);
	for (size_t i = 0; i < reading->index; i++) {
		const char *before = (const char *)reading->items + i * reading->list->size;

		if (strcmp(text_at(before, member), name) == 0)
			return config_list_refuse(reading, value, member->path,
				"'%s' is the name of an earlier one", name);
	}
	return 0;
}

static int read_url(const struct config_list_reading *reading, const struct config_member *member,
	const struct json *value, void *item)
{
	struct span url;

	if (read_text(reading, member, value, item) < 0)
		return -EINVAL;
	url = span_of(text_at(item, member));
	if (!span_starts_with(url, SPAN("https://")) && !span_starts_with(url, SPAN("http://")))
		return config_list_refuse(reading, value, member->path,
			"'%.*s' must begin with http:// or https://", SPAN_ARGS(url));
	return 0;
}

static int read_texts(const struct config_list_reading *reading, const struct config_member *member,
	const struct json *value, void *item)
{
	bool accounts = member->type == CONFIG_ACCOUNTS;
	const char **texts;
	size_t count = 0;

	if (!json_is(value, JSON_ARRAY) || json_count(value) == 0 ||
		json_count(value) > (size_t)member->most)
		return config_list_refuse(reading, value, member->path,
			"must be a list of 1 to %lld %s", (long long)member->most,
			accounts ? "accounts" : "strings");
	texts = arena_allocate_array(reading->arena, json_count(value), sizeof(*texts));
	JSON_EACH_ITEM (value, text) {
		if (accounts && !(json_is(text, JSON_STRING) && config_is_account(text->text)))
			return config_list_refuse(reading, text, member->path,
				"must be twelve digits each, in quotes");
		if (!json_is(text, JSON_STRING) || text->text.length == 0)
			return config_list_refuse(reading, text, member->path,
				"must hold strings; write digits in quotes");
		texts[count++] = arena_copy(reading->arena, text->text.data, text->text.length);
	}
	*(const char *const **)field(item, member->offset) = texts;
	*(size_t *)field(item, member->count_offset) = count;
	return 0;
}

static int read_value(const struct config_list_reading *reading, const struct config_member *member,
	const struct json *value, void *item)
{
	static int (*const readers[])(const struct config_list_reading *reading,
		const struct config_member *member, const struct json *value,
		void *item) = {[CONFIG_TEXT] = read_text,
		[CONFIG_NUMBER] = read_number,
		[CONFIG_DURATION] = read_duration,
		[CONFIG_NAME] = read_name,
		[CONFIG_URL] = read_url,
		[CONFIG_TEXTS] = read_texts,
		[CONFIG_ACCOUNTS] = read_texts};

	return readers[member->type](reading, member, value, item);
}

/* ---- one thing ---- */

static const struct config_member *find_member(const struct config_list *list, struct span path)
{
	for (size_t i = 0; i < list->member_count; i++)
		if (span_is(path, list->members[i].path))
			return &list->members[i];
	return NULL;
}

/* Does this key only hold others? */
static bool is_parent(const struct config_list *list, struct span path)
{
	struct span before, after;

	for (size_t i = 0; i < list->member_count; i++)
		if (span_split(span_of(list->members[i].path), '.', &before, &after) &&
			span_equal(before, path))
			return true;
	return false;
}

static int unknown_member(const struct config_list_reading *reading, const struct json *where,
	struct span path)
{
	const struct config_list *list = reading->list;
	struct span known[MEMBERS_MAX], nearest;
	size_t count = list->member_count < MEMBERS_MAX ? list->member_count : MEMBERS_MAX;

	for (size_t i = 0; i < count; i++)
		known[i] = span_of(list->members[i].path);
	nearest = span_nearest(path, known, count);
	return config_list_refuse(reading, where, "", "unknown key '%.*s'%s%.*s%s", SPAN_ARGS(path),
		nearest.data ? "; did you mean '" : "", (int)nearest.length,
		nearest.data ? nearest.data : "", nearest.data ? "'?" : "");
}

static int read_members(const struct config_list_reading *reading, const struct json *object,
	struct span parent, void *item)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < object->object.count; i++) {
		const struct json_member *configured = &object->object.members[i];
		struct span path = arena_format(reading->arena, "%.*s%s%.*s", SPAN_ARGS(parent),
			parent.length > 0 ? "." : "", SPAN_ARGS(configured->name));
		const struct config_member *member = find_member(reading->list, path);
		bool holds_others = parent.length == 0 && is_parent(reading->list, path);

		if (!member && !holds_others)
			code = unknown_member(reading, configured->value, path);
		else if (json_is_absent(configured->value))
			continue;
		else if (member)
			code = read_value(reading, member, configured->value, item);
		else if (json_is(configured->value, JSON_OBJECT))
			code = read_members(reading, configured->value, path, item);
		else
			code = config_list_refuse(reading, configured->value, path.data,
				"must have keys below it");
	}
	return code;
}

static int read_item(const struct config_list_reading *reading, void *item)
{
	const struct config_list *list = reading->list;

	if (!json_is(reading->object, JSON_OBJECT))
		return config_list_refuse(reading, reading->object, "", "must have keys");
	if (read_members(reading, reading->object, SPAN(""), item) < 0)
		return -EINVAL;
	for (size_t i = 0; i < list->member_count; i++)
		if (list->members[i].required && !text_at(item, &list->members[i]))
			return config_list_refuse(reading, reading->object, list->members[i].path,
				"is required");
	return list->check ? list->check(reading, item) : 0;
}

int config_list_read(const struct config_list *list, const struct json *block, const char *path,
	struct arena *arena, void **ret_items, size_t *ret_count, struct err *err)
{
	struct config_list_reading reading = {
		.list = list, .path = path, .arena = arena, .err = err};
	char *items;

	*ret_items = NULL;
	*ret_count = 0;
	if (json_is_absent(block))
		return 0;
	if (!json_is(block, JSON_ARRAY))
		return err_set(err, -EINVAL, "%s:%u: %s: must be a list, not %s", path, block->line,
			list->name, json_type_name(block->type));
	if (json_count(block) > list->most)
		return err_set(err, -EINVAL, "%s:%u: %s: at most %zu", path, block->line,
			list->name, list->most);
	items = arena_allocate_array(arena, json_count(block) + 1, list->size);
	reading.items = items;
	JSON_EACH_ITEM (block, object) {
		void *item = items + reading.index * list->size;

		memcpy(item, list->defaults, list->size);
		reading.object = object;
		if (read_item(&reading, item) < 0)
			return -EINVAL;
		reading.index++;
	}
	*ret_items = items;
	*ret_count = reading.index;
	return 0;
}

/* ---- for people ---- */

void config_list_write_yaml(const struct config_list *list, struct buffer *out)
{
	bool inside = false;

	buffer_format(out, "\n# %s: a list. docs/configuration.md describes every key.\n# %s:\n",
		list->help, list->name);
	for (size_t i = 0; i < list->member_count; i++) {
		const struct config_member *member = &list->members[i];
		struct span before = SPAN(""), name = span_of(member->path);
		bool nested = span_split(name, '.', &before, &name);

		if (nested && !inside)
			buffer_format(out, "#     %.*s:\n", SPAN_ARGS(before));
		inside = nested;
		buffer_format(out, "#   %s%s%.*s: %s\n", i == 0 ? "- " : "  ", nested ? "  " : "",
			SPAN_ARGS(name), member->example);
	}
}

void config_list_write_markdown(const struct config_list *list, struct buffer *out)
{
	buffer_format(out, "\n| key of each of `%s` | example | meaning |\n|---|---|---|\n",
		list->name);
	for (size_t i = 0; i < list->member_count; i++)
		buffer_format(out, "| `%s`%s | `%s` | %s |\n", list->members[i].path,
			list->members[i].required ? ", required" : "", list->members[i].example,
			list->members[i].help);
}
