/* Tags: checked where they come in, merged by key, never reordered. */
#include "aws/tag_list.h"

#define KEY_MAX 128
#define VALUE_MAX 256

/* Characters, not bytes: AWS counts Unicode characters. */
static size_t characters(struct span text)
{
	size_t count = 0;

	for (size_t i = 0; i < text.length; i++)
		count += ((unsigned char)text.data[i] & 0xc0) != 0x80;
	return count;
}

/* Letters, digits and spaces of any language (all beyond ASCII counts as such) and a few signs. */
static bool allowed(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (!(c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			    (c >= 'a' && c <= 'z') || (c && strchr(" +-=._:/@", c))))
			return false;
	}
	return true;
}

static struct span tag_key(struct aws_request *request, const struct json *tag)
{
	return json_get_text(tag, aws_spelling_of(request)->tag_key);
}

static struct span tag_value(struct aws_request *request, const struct json *tag)
{
	return json_get_text(tag, aws_spelling_of(request)->tag_value);
}

static int check_tag(struct aws_request *request, const struct json *tag)
{
	const char *tags = aws_spelling_of(request)->tags;
	struct span key = tag_key(request, tag);
	struct span value = tag_value(request, tag);

	if (!key.data || key.length == 0)
		return aws_fail_input(request, "%s: a tag has no key", tags);
	if (characters(key) > KEY_MAX)
		return aws_fail_input(request, "%s: key '%.*s' is longer than %d characters", tags,
			SPAN_ARGS(key), KEY_MAX);
	if (value.data && characters(value) > VALUE_MAX)
		return aws_fail_input(request,
			"%s: the value of '%.*s' is longer than %d characters", tags,
			SPAN_ARGS(key), VALUE_MAX);
	if (!allowed(key) || (value.data && !allowed(value)))
		return aws_fail_input(request,
			"%s: '%.*s': keys and values have letters, digits, spaces and "
			"characters of + - = . _ : / @ only",
			tags, SPAN_ARGS(key));
	if (key.length >= 4 && span_equal_ignoring_case((struct span){key.data, 4}, SPAN("aws:")))
		return aws_fail_input(request,
			"%s: key '%.*s' begins with 'aws:', which is reserved", tags,
			SPAN_ARGS(key));
	return 0;
}

static const struct json *find_tag(struct aws_request *request, const struct json *tags,
	struct span key)
{
	JSON_EACH_ITEM (tags, tag)
		if (span_equal(tag_key(request, tag), key))
			return tag;
	return NULL;
}

int aws_tag_list_check(struct aws_request *request, const struct json *tags)
{
	if (json_is_absent(tags))
		return 0;
	if (json_count(tags) > AWS_TAGS_MAX)
		return aws_fail_input(request, "%s: %zu tags, the limit is %d",
			aws_spelling_of(request)->tags, json_count(tags), AWS_TAGS_MAX);
	JSON_EACH_ITEM (tags, tag) {
		struct span key = tag_key(request, tag);

		if (check_tag(request, tag) < 0)
			return -EPERM;
		if (find_tag(request, tags, key) != tag)
			return aws_fail_input(request, "%s: key '%.*s' is given twice",
				aws_spelling_of(request)->tags, SPAN_ARGS(key));
	}
	return 0;
}

static void append_tag(struct aws_request *request, struct json *list, const struct json *tag)
{
	struct json *clean = json_new_object(request->arena);
	const struct aws_spelling *spelling = aws_spelling_of(request);
	struct span value = tag_value(request, tag);

	json_set_string(request->arena, clean, spelling->tag_key, tag_key(request, tag));
	json_set_string(request->arena, clean, spelling->tag_value, value.data ? value : SPAN(""));
	json_append(request->arena, list, clean);
}

int aws_tag_list_merge(struct aws_request *request, const struct json *existing,
	const struct json *added, const struct json **ret_merged)
{
	struct json *merged = json_new_array(request->arena);

	JSON_EACH_ITEM (existing, tag) {
		const struct json *newer = find_tag(request, added, tag_key(request, tag));

		append_tag(request, merged, newer ? newer : tag);
	}
	JSON_EACH_ITEM (added, tag)
		if (!find_tag(request, existing, tag_key(request, tag)))
			append_tag(request, merged, tag);
	if (json_count(merged) > AWS_TAGS_MAX)
		return aws_fail_input(request,
			"%s: the resource would have %zu tags, the limit is %d",
			aws_spelling_of(request)->tags, json_count(merged), AWS_TAGS_MAX);
	*ret_merged = merged;
	return 0;
}

const struct json *aws_tag_list_without(struct aws_request *request, const struct json *existing,
	const struct json *keys)
{
	struct json *left = json_new_array(request->arena);

	JSON_EACH_ITEM (existing, tag) {
		bool removed = false;

		JSON_EACH_ITEM (keys, key)
			removed |= span_equal(json_text(key), tag_key(request, tag));
		if (!removed)
			append_tag(request, left, tag);
	}
	return left;
}
