/* The side that calls: requests into forms, XML into answers; see query.h. */
#include "aws/query.h"
#include "aws/query_error.h"
#include "aws/shape_scalar.h"
#include "aws/xml.h"
#include "base/json_collect.h"
#include "base/memory.h"

/* ---- requests into forms ---- */

struct writing {
	const struct shape_service *service;
	struct buffer key; /* of the value that is being written */
	struct buffer *out;
};

static void write_value(struct writing *writing, const struct shape *shape,
	const struct json *value);

static void write_pair(struct writing *writing, struct span value)
{
	if (writing->out->length > 0)
		buffer_add_char(writing->out, '&');
	query_form_encode(buffer_span(&writing->key), writing->out);
	buffer_add_char(writing->out, '=');
	query_form_encode(value, writing->out);
}

/* Adds ".name" to the key; back to `length` with cut_key(). */
static void extend_key(struct writing *writing, struct span name)
{
	if (writing->key.length > 0)
		buffer_add_char(&writing->key, '.');
	buffer_add_span(&writing->key, name);
}

static void cut_key(struct writing *writing, size_t length)
{
	writing->key.length = length;
}

static void number_key(struct writing *writing, size_t number)
{
	buffer_add_char(&writing->key, '.');
	buffer_add_unsigned(&writing->key, number);
}

static void write_scalar(struct writing *writing, const struct shape *shape,
	const struct json *value)
{
	_buffer_ struct buffer scratch = {0};
	struct span text = shape_scalar_text(shape, value, &scratch);

	if (text.data)
		write_pair(writing, text);
}

static void write_list(struct writing *writing, const struct shape *shape, const struct json *value)
{
	size_t number = 1;

	if (json_count(value) == 0) {
		write_pair(writing, SPAN(""));
		return;
	}
	if (!(shape->flags & SHAPE_FLATTENED))
		extend_key(writing, query_item_name(writing->service, shape));
	JSON_EACH_ITEM (value, item) {
		size_t length = writing->key.length;

		number_key(writing, number++);
		write_value(writing, &writing->service->shapes[shape->element], item);
		cut_key(writing, length);
	}
}

static void write_map(struct writing *writing, const struct shape *shape, const struct json *value)
{
	if (!(shape->flags & SHAPE_FLATTENED))
		extend_key(writing, SPAN("entry"));
	for (size_t i = 0; json_is(value, JSON_OBJECT) && i < value->object.count; i++) {
		const struct json_member *entry = &value->object.members[i];
		size_t length = writing->key.length, entry_length;

		number_key(writing, i + 1);
		entry_length = writing->key.length;
		extend_key(writing, SPAN("key"));
		write_pair(writing, entry->name);
		cut_key(writing, entry_length);
		extend_key(writing, SPAN("value"));
		write_value(writing, &writing->service->shapes[shape->element], entry->value);
		cut_key(writing, length);
	}
}

static void write_members(struct writing *writing, const struct shape *shape,
	const struct json *value)
{
	const struct shape_service *service = writing->service;

	for (size_t i = 0; json_is(value, JSON_OBJECT) && i < value->object.count; i++) {
		const struct json_member *requested = &value->object.members[i];
		const struct shape_member *member =
			shape_find_member(service, shape, requested->name);
		size_t length = writing->key.length;

		if (!member || json_is_absent(requested->value))
			continue;
		extend_key(writing, query_member_name(service, member));
		write_value(writing, &service->shapes[member->shape], requested->value);
		cut_key(writing, length);
	}
}

/* Leaves the key longer than it was; the caller that extended it truncates it. */
static void write_value(struct writing *writing, const struct shape *shape,
	const struct json *value)
{
	switch (shape->type) {
	case SHAPE_LIST: write_list(writing, shape, value); break;
	case SHAPE_MAP: write_map(writing, shape, value); break;
	case SHAPE_STRUCTURE: write_members(writing, shape, value); break;
	default: write_scalar(writing, shape, value);
	}
}

void query_write_form(const struct shape_service *service, const struct shape_operation *operation,
	const struct json *request, struct buffer *out)
{
	struct writing writing = {.service = service, .out = out};

	buffer_add_string(out, "Action=");
	query_form_encode(shape_text(service, operation->name), out);
	buffer_add_string(out, "&Version=");
	query_form_encode(span_of(service->version), out);
	write_members(&writing, &service->shapes[operation->input], request);
	buffer_clear(&writing.key);
}

/* ---- XML into answers ---- */

struct reading {
	const struct shape_service *service;
	struct arena *arena;
	struct json_collector collector;
	struct err *err;
};

static int read_value(struct reading *reading, const struct shape *shape,
	const struct xml_element *element, struct json **ret_value);

static int too_large(struct reading *reading)
{
	return err_set(reading->err, -E2BIG, "the answer needs too much memory");
}
#define too_large(...) ERR_NEGATIVE(too_large(__VA_ARGS__))

static int new_value(struct reading *reading, enum json_type type, struct json **ret_value)
{
	if (json_collect_new(&reading->collector, JSON_COLLECT_NODES, ret_value) < 0)
		return too_large(reading);
	**ret_value = (struct json){.type = type};
	return 0;
}

static int close_object(struct reading *reading, const struct xml_element *element, size_t first,
	struct json **ret_value)
{
	const struct json_member *duplicate;
	int code = new_value(reading, JSON_OBJECT, ret_value);

	if (code < 0)
		return code;
	code = json_collect_close_object(&reading->collector, first, *ret_value, &duplicate);
	if (code == -EEXIST)
		return err_set(reading->err, -EPROTO, "<%.*s> has two of the same",
			SPAN_ARGS(element->name));
	return code < 0 ? too_large(reading) : 0;
}

static int read_scalar(struct reading *reading, const struct shape *shape,
	const struct xml_element *element, struct json **ret_value)
{
	const char *expected;
	int code = new_value(reading, JSON_NULL, ret_value);

	if (code < 0)
		return code;
	expected = element->first_child
			   ? "text"
			   : shape_scalar_read(shape, element->text, reading->arena, *ret_value);
	return expected ? err_set(reading->err, -EPROTO, "<%.*s> is not %s",
				  SPAN_ARGS(element->name), expected)
			: 0;
}

/* Items are the elements of that name among `item` and those beside it. */
static int read_items(struct reading *reading, const struct shape *shape, struct span name,
	const struct xml_element *item, struct json **ret_value)
{
	const struct shape *element = &reading->service->shapes[shape->element];
	size_t first = json_collect_open(&reading->collector);
	int code = 0;

	for (; code == 0 && item; item = item->next) {
		struct json *value;

		if (!span_equal(item->name, name))
			continue;
		code = read_value(reading, element, item, &value);
		if (code == 0)
			json_collect_add(&reading->collector, SPAN_NONE, value);
	}
	if (code == 0)
		code = new_value(reading, JSON_ARRAY, ret_value);
	if (code == 0 && json_collect_close_array(&reading->collector, first, *ret_value) < 0)
		return too_large(reading);
	return code;
}

static int add_entry(struct reading *reading, const struct shape *shape,
	const struct xml_element *entry)
{
	const struct xml_element *key = xml_child(entry, "key"), *value = xml_child(entry, "value");
	struct json *read;
	int code;

	if (!key || !value)
		return err_set(reading->err, -EPROTO, "<%.*s> has no key or no value",
			SPAN_ARGS(entry->name));
	code = read_value(reading, &reading->service->shapes[shape->element], value, &read);
	if (code == 0)
		json_collect_add(&reading->collector, key->text, read);
	return code;
}

/* As read_items, for entries. */
static int read_entries(struct reading *reading, const struct shape *shape, struct span name,
	const struct xml_element *entry, struct json **ret_value)
{
	const struct xml_element *one = entry;
	size_t first = json_collect_open(&reading->collector);
	int code = 0;

	for (; code == 0 && entry; entry = entry->next) {
		if (span_equal(entry->name, name))
			code = add_entry(reading, shape, entry);
	}
	if (code < 0)
		return code;
	return close_object(reading, one, first, ret_value);
}

/* A member whose value is not in its own element alone: it begins with the first of several. */
static int read_flattened(struct reading *reading, const struct shape *shape,
	const struct xml_element *first, struct json **ret_value)
{
	if (shape->type == SHAPE_LIST)
		return read_items(reading, shape, first->name, first, ret_value);
	return read_entries(reading, shape, first->name, first, ret_value);
}

static bool comes_again(const struct reading *reading, const struct shape *shape, size_t first,
	struct span member)
{
	if (!(shape->flags & SHAPE_FLATTENED))
		return false;
	for (size_t i = first; i < reading->collector.scratch_count; i++) {
		if (span_equal(reading->collector.scratch[i].name, member))
			return true;
	}
	return false;
}

static int read_structure(struct reading *reading, const struct shape *shape,
	const struct xml_element *element, struct json **ret_value)
{
	const struct shape_service *service = reading->service;
	size_t first = json_collect_open(&reading->collector);

	for (const struct xml_element *child = element->first_child; child; child = child->next) {
		const struct shape_member *member = query_find_member(service, shape, child->name);
		const struct shape *inner;
		struct json *value;
		int code;

		if (!member)
			continue;
		inner = &service->shapes[member->shape];
		if (comes_again(reading, inner, first, shape_text(service, member->name)))
			continue; /* the first of them has brought the others */
		code = inner->flags & SHAPE_FLATTENED
			       ? read_flattened(reading, inner, child, &value)
			       : read_value(reading, inner, child, &value);
		if (code < 0)
			return code;
		json_collect_add(&reading->collector, shape_text(service, member->name), value);
	}
	return close_object(reading, element, first, ret_value);
}

static int read_value(struct reading *reading, const struct shape *shape,
	const struct xml_element *element, struct json **ret_value)
{
	switch (shape->type) {
	case SHAPE_LIST:
		return read_items(reading, shape, query_item_name(reading->service, shape),
			element->first_child, ret_value);
	case SHAPE_MAP:
		return read_entries(reading, shape, SPAN("entry"), element->first_child, ret_value);
	case SHAPE_STRUCTURE: return read_structure(reading, shape, element, ret_value);
	default: return read_scalar(reading, shape, element, ret_value);
	}
}

/* "CreateRule" and "Response" */
static bool is_called(const struct xml_element *element, struct span name, const char *suffix)
{
	return element && span_starts_with(element->name, name) &&
	       span_is((struct span){element->name.data + name.length,
			       element->name.length - name.length},
		       suffix);
}

int query_read_answer(const struct shape_service *service, const struct shape_operation *operation,
	struct span text, struct arena *arena, struct json **ret_answer, struct err *err)
{
	struct reading reading = {.service = service, .arena = arena, .err = err};
	struct span name = shape_text(service, operation->name);
	const struct xml_element *result;
	struct xml_element *root;
	struct json *answer;
	int code = xml_parse(text, arena, &root, err);

	if (code < 0) {
		if (err && code == -EINVAL)
			err->code = -EPROTO;
		return code == -EINVAL ? -EPROTO : code;
	}
	if (!is_called(root, name, "Response"))
		return err_set(err, -EPROTO, "the answer is <%.*s>, not <%.*sResponse>",
			SPAN_ARGS(root->name), SPAN_ARGS(name));
	result = root->first_child;
	while (result && !is_called(result, name, "Result"))
		result = result->next;
	json_collect_begin(&reading.collector, arena);
	code = read_structure(&reading, &service->shapes[operation->output], result ? result : root,
		&answer);
	json_collect_end(&reading.collector);
	if (code < 0)
		return code;
	*ret_answer = answer;
	return 0;
}

void query_read_error(const struct shape_service *service, struct span text, struct arena *arena,
	struct span *ret_type, struct span *ret_message)
{
	const struct xml_element *error;
	struct xml_element *root;
	struct span code;

	*ret_type = *ret_message = SPAN_NONE;
	if (xml_parse(text, arena, &root, NULL) < 0)
		return;
	error = xml_child(root, "Error");
	if (!error)
		error = xml_child(xml_child(root, "Errors"), "Error");
	code = xml_child_text(error, "Code");
	*ret_type = code.data ? query_error_type(service, code) : SPAN_NONE;
	*ret_message = xml_child_text(error, "Message");
}
