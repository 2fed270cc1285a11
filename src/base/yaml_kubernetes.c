/*
 * libyaml's events to values, with the meaning that sigs.k8s.io/yaml gives them. An alias is the very
 * struct json of its anchor, so aliases cost no memory here. A walk over the value visits it once
 * per alias, so the reader counts nodes as if every alias were a copy, and limits the count. It
 * also applies the library's own limit on the share of nodes that come from aliases.
 */
#include "base/yaml.h"

#include <math.h>
#include <stdio.h>
#include <yaml.h>

#include "base/float_text.h"
#include "base/json_collect.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/yaml_binary.h"
#include "base/yaml_scalar.h"

/* An anchor and what it stands for. */
struct anchor {
	struct json *value;
	struct span key; /* the text of a scalar that stands as a key; SPAN_NONE: cannot */
	uint64_t weight; /* nodes, each alias counted with all nodes in it */
	bool complete;   /* false while its value is being read */
	bool is_mapping;
};

/* The byte at which a mark stands: libyaml counts characters. Marks must come in their order. */
struct byte_counter {
	struct span text;
	size_t characters;
	size_t bytes;
};

struct reader {
	yaml_parser_t parser;
	yaml_event_t event;
	bool has_event;
	uint32_t first_line;
	struct arena *arena;
	struct err *err;
	struct json_collector *collector;
	struct map anchors;          /* of the current document: struct anchor in the arena */
	struct byte_counter escapes; /* text is absent unless it contains "\\/" */
	uint64_t node_count;
	uint64_t alias_node_count; /* the part of node_count that aliases brought in */
};

/* A node that was read. */
struct node {
	struct json *value;
	struct span key; /* as above */
	bool is_mapping; /* or an alias of one */
};

static int read_node(struct reader *reader, uint32_t line, unsigned depth, struct node *ret_node);

static void reader_clear(struct reader *reader)
{
	if (reader->has_event)
		yaml_event_delete(&reader->event);
	yaml_parser_delete(&reader->parser);
	map_clear(&reader->anchors);
}

static int fail_size(struct reader *reader)
{
	return err_set(reader->err, -E2BIG, "the YAML text needs more memory than it may have");
}

static uint32_t line_of(const struct reader *reader, size_t line)
{
	return (uint32_t)line + reader->first_line;
}

static uint32_t event_line(const struct reader *reader)
{
	return line_of(reader, reader->event.start_mark.line);
}

#define FAIL(reader, ...) fail_at((reader), -EINVAL, __VA_ARGS__)
__attribute__((format(printf, 3, 4))) static int fail_at(struct reader *reader, int code,
	const char *format, ...)
{
	char reason[ERR_MESSAGE_MAX / 2];
	va_list list;

	va_start(list, format);
	vsnprintf(reason, sizeof(reason), format, list);
	va_end(list);
	return err_set(reader->err, code, "line %u, column %zu: %s", event_line(reader),
		reader->event.start_mark.column + 1, reason);
}

static int fail_syntax(struct reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;
	const char *problem = parser->problem ? parser->problem : "not YAML";

	if (parser->error == YAML_MEMORY_ERROR)
		return fail_size(reader);
	if (parser->error == YAML_READER_ERROR)
		return err_set(reader->err, -EINVAL, "line %u: %s (byte %zu)",
			line_of(reader, parser->mark.line), problem, parser->problem_offset);
	return err_set(reader->err, -EINVAL, "line %u, column %zu: %s",
		line_of(reader, parser->problem_mark.line), parser->problem_mark.column + 1,
		problem);
}

static int next_event(struct reader *reader)
{
	if (reader->has_event)
		yaml_event_delete(&reader->event);
	reader->has_event = false;
	if (!yaml_parser_parse(&reader->parser, &reader->event))
		return fail_syntax(reader);
	reader->has_event = true;
	return 0;
}

static size_t mark_byte(struct byte_counter *counter, const yaml_mark_t *mark)
{
	while (counter->characters < mark->index && counter->bytes < counter->text.length) {
		do
			counter->bytes++;
		while (counter->bytes < counter->text.length &&
			((unsigned char)counter->text.data[counter->bytes] & 0xc0) == 0x80);
		counter->characters++;
	}
	return counter->bytes;
}

/* Counting */

#define ALIAS_NODES_FREE 100
#define NODES_FREE 1000
#define SMALL_NODES 400000.0
#define LARGE_NODES 4000000.0
#define SMALL_SHARE 0.99
#define LARGE_SHARE 0.10

/* The share of nodes that aliases may bring in: less for large documents. */
static double alias_share_max(double nodes)
{
	if (nodes <= SMALL_NODES)
		return SMALL_SHARE;
	if (nodes >= LARGE_NODES)
		return LARGE_SHARE;
	return SMALL_SHARE -
	       (SMALL_SHARE - LARGE_SHARE) * ((nodes - SMALL_NODES) / (LARGE_NODES - SMALL_NODES));
}

static int count_nodes(struct reader *reader, uint64_t nodes, uint64_t alias_nodes)
{
	reader->node_count += nodes + alias_nodes;
	reader->alias_node_count += alias_nodes;
	if (reader->node_count > YAML_EXPANDED_MAX)
		return fail_at(reader, -E2BIG, "more than %d nodes with all aliases expanded",
			YAML_EXPANDED_MAX);
	if (reader->alias_node_count > ALIAS_NODES_FREE && reader->node_count > NODES_FREE &&
		(double)reader->alias_node_count / (double)reader->node_count >
			alias_share_max((double)reader->node_count))
		return FAIL(reader, "document contains excessive aliasing");
	return 0;
}

/* Anchors */

static int begin_anchor(struct reader *reader, const yaml_char_t *name, struct anchor **ret_anchor)
{
	struct anchor *anchor = NULL;

	if (name) {
		anchor = arena_allocate_capped(reader->arena, sizeof(*anchor));
		if (!anchor)
			return fail_size(reader);
		anchor->weight = reader->node_count;
		map_put(&reader->anchors, span_of((const char *)name), anchor);
		if (reader->anchors.count > YAML_ANCHORS_MAX)
			return fail_at(reader, -E2BIG, "more than %d anchors in one document",
				YAML_ANCHORS_MAX);
	}
	*ret_anchor = anchor;
	return 0;
}

static void end_anchor(struct reader *reader, struct anchor *anchor, const struct node *node)
{
	if (!anchor)
		return;
	anchor->value = node->value;
	anchor->key = node->key;
	anchor->is_mapping = node->is_mapping;
	anchor->weight = reader->node_count - anchor->weight;
	anchor->complete = true;
}

static int read_alias(struct reader *reader, struct node *ret_node)
{
	const char *name = (const char *)reader->event.data.alias.anchor;
	const struct anchor *anchor = map_get(&reader->anchors, span_of(name));
	int code;

	if (!anchor)
		return FAIL(reader, "unknown anchor '%s' referenced", name);
	if (!anchor->complete)
		return FAIL(reader, "anchor '%s' value contains itself", name);
	code = count_nodes(reader, 1, anchor->weight);
	if (code < 0)
		return code;
	*ret_node = (struct node){anchor->value, anchor->key, anchor->is_mapping};
	return 0;
}

/* Scalars */

static int copy_text(struct reader *reader, struct span text, struct span *ret_text)
{
	char *copy;

	if (text.length == 0) {
		*ret_text = SPAN("");
		return 0;
	}
	copy = arena_allocate_capped(reader->arena, text.length);
	if (!copy)
		return fail_size(reader);
	memcpy(copy, text.data, text.length);
	*ret_text = (struct span){copy, text.length};
	return 0;
}

static int read_binary(struct reader *reader, struct span text, struct span *ret_text)
{
	_buffer_ struct buffer decoded = {0};

	if (!yaml_binary_decode(text, &decoded))
		return FAIL(reader, "!!binary value contains invalid base64 data");
	return copy_text(reader, buffer_span(&decoded), ret_text);
}

static const struct tag {
	const char *name;
	const char *short_name;
	enum yaml_scalar_kind kind;
} tags[] = {
	{YAML_NULL_TAG, "null", YAML_SCALAR_NULL},
	{YAML_BOOL_TAG, "bool", YAML_SCALAR_BOOL},
	{YAML_INT_TAG, "int", YAML_SCALAR_INTEGER},
	{YAML_FLOAT_TAG, "float", YAML_SCALAR_FLOAT},
	{YAML_TIMESTAMP_TAG, "timestamp", YAML_SCALAR_TIMESTAMP},
};

/* A tag that names a type demands a value of it; unknown tags make a string. */
static int apply_tag(struct reader *reader, const char *name, struct yaml_scalar *scalar)
{
	const struct tag *tag = NULL;
	struct yaml_scalar resolved;

	for (size_t i = 0; i < LENGTH(tags) && !tag; i++) {
		if (strcmp(name, tags[i].name) == 0)
			tag = &tags[i];
	}
	if (!tag)
		return 0;
	resolved = yaml_scalar_resolve(scalar->text);
	/* Only !!timestamp and plain scalars without a tag may be timestamps. */
	if (tag->kind == YAML_SCALAR_FLOAT && resolved.kind == YAML_SCALAR_INTEGER) {
		resolved.kind = YAML_SCALAR_FLOAT;
		resolved.number = (double)resolved.integer;
	}
	if (resolved.kind != tag->kind &&
		!(tag->kind == YAML_SCALAR_INTEGER && resolved.kind == YAML_SCALAR_UNSIGNED))
		return FAIL(reader, "cannot decode '%.*s' as a !!%s",
			(int)(scalar->text.length > 80 ? 80 : scalar->text.length),
			scalar->text.data, tag->short_name);
	*scalar = resolved;
	return 0;
}

/* libyaml knows the escape "\/", the Go library does not. */
static int check_escapes(struct reader *reader)
{
	size_t start = mark_byte(&reader->escapes, &reader->event.start_mark);
	size_t end = mark_byte(&reader->escapes, &reader->event.end_mark);

	for (size_t i = start; i + 1 < end; i++) {
		if (reader->escapes.text.data[i] != '\\')
			continue;
		if (reader->escapes.text.data[++i] == '/')
			return FAIL(reader, "found unknown escape character");
	}
	return 0;
}

static int resolve_event(struct reader *reader, struct yaml_scalar *ret_scalar)
{
	const yaml_event_t *event = &reader->event;
	const char *tag = (const char *)event->data.scalar.tag;
	struct yaml_scalar scalar = {
		.kind = YAML_SCALAR_STRING,
		.text = {(const char *)event->data.scalar.value, event->data.scalar.length},
	};
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	bool escaped = event->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
	int code = 0;

	if (escaped && reader->escapes.text.data)
		code = check_escapes(reader);
	if (code < 0)
		return code;
	if (!tag && plain)
		scalar = yaml_scalar_resolve(scalar.text);
	else if (tag)
		code = apply_tag(reader, tag, &scalar);
	if (code < 0)
		return code;
	*ret_scalar = scalar;
	return 0;
}

static size_t integer_text(const struct yaml_scalar *scalar, char *out, size_t size)
{
	if (scalar->kind == YAML_SCALAR_UNSIGNED)
		return (size_t)snprintf(out, size, "%llu", (unsigned long long)scalar->natural);
	return (size_t)snprintf(out, size, "%lld", (long long)scalar->integer);
}

static int set_number(struct reader *reader, struct json *value, const char *text, size_t length)
{
	value->type = JSON_NUMBER;
	return copy_text(reader, (struct span){text, length}, &value->text);
}

static int set_scalar(struct reader *reader, const struct yaml_scalar *scalar, struct json *value)
{
	const char *tag = (const char *)reader->event.data.scalar.tag;
	char text[FLOAT_TEXT_SIZE];

	switch (scalar->kind) {
	case YAML_SCALAR_NULL: value->type = JSON_NULL; return 0;
	case YAML_SCALAR_BOOL: value->type = scalar->boolean ? JSON_TRUE : JSON_FALSE; return 0;
	case YAML_SCALAR_INTEGER:
	case YAML_SCALAR_UNSIGNED:
		return set_number(reader, value, text, integer_text(scalar, text, sizeof(text)));
	case YAML_SCALAR_FLOAT:
		/* A key may be infinite, so the caller rejects infinite values. */
		return set_number(reader, value, text,
			isfinite(scalar->number) ? float_text_json(scalar->number, text)
						 : float_text_shortest(scalar->number, text));
	case YAML_SCALAR_TIMESTAMP:
	case YAML_SCALAR_STRING: break;
	}
	value->type = JSON_STRING;
	if (tag && strcmp(tag, "tag:yaml.org,2002:binary") == 0)
		return read_binary(reader, scalar->text, &value->text);
	return copy_text(reader, scalar->text, &value->text);
}

/* The name of a member whose key is this scalar. */
static int set_key(struct reader *reader, const struct yaml_scalar *scalar,
	const struct json *value, struct span *ret_key)
{
	char text[FLOAT_TEXT_SIZE];
	size_t length;

	switch (scalar->kind) {
	case YAML_SCALAR_BOOL: *ret_key = scalar->boolean ? SPAN("true") : SPAN("false"); return 0;
	case YAML_SCALAR_INTEGER: *ret_key = value->text; return 0;
	case YAML_SCALAR_FLOAT:
		if (!isfinite(scalar->number)) {
			*ret_key = isnan(scalar->number) ? SPAN(".nan")
				   : scalar->number < 0  ? SPAN("-.inf")
							 : SPAN(".inf");
			return 0;
		}
		length = float_text_shortest_single((float)scalar->number, text);
		return copy_text(reader, (struct span){text, length}, ret_key);
	case YAML_SCALAR_NULL:
	case YAML_SCALAR_UNSIGNED: *ret_key = SPAN_NONE; return 0;
	case YAML_SCALAR_TIMESTAMP:
	case YAML_SCALAR_STRING: break;
	}
	*ret_key = value->text;
	return 0;
}

static int read_scalar(struct reader *reader, struct json *value, struct node *node)
{
	struct yaml_scalar scalar;
	int code;

	code = resolve_event(reader, &scalar);
	if (code < 0)
		return code;
	code = set_scalar(reader, &scalar, value);
	if (code < 0)
		return code;
	return set_key(reader, &scalar, value, &node->key);
}

/* JSON has no text for them. They are numbers whose text begins like no other's. */
static bool is_not_finite(const struct json *value)
{
	return value->type == JSON_NUMBER &&
	       (value->text.data[0] == '+' || value->text.data[0] == 'N' ||
		       (value->text.length > 1 && value->text.data[1] == 'I'));
}

/* Collections */

static int read_value(struct reader *reader, uint32_t line, unsigned depth, struct json **ret_value)
{
	struct node node;
	int code;

	code = read_node(reader, line, depth, &node);
	if (code < 0)
		return code;
	if (is_not_finite(node.value))
		return FAIL(reader, "infinity and not-a-number have no form in JSON");
	*ret_value = node.value;
	return 0;
}

static int read_sequence(struct reader *reader, unsigned depth, struct json *array)
{
	size_t first = json_collect_open(reader->collector);
	int code;

	array->type = JSON_ARRAY;
	for (;;) {
		struct json *item;

		code = next_event(reader);
		if (code < 0)
			return code;
		if (reader->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		code = read_value(reader, event_line(reader), depth, &item);
		if (code < 0)
			return code;
		json_collect_add(reader->collector, SPAN_NONE, item);
	}
	if (json_collect_close_array(reader->collector, first, array) < 0)
		return fail_size(reader);
	return 0;
}

/* Of members with one name the last stays, at the place of the first. */
static void drop_replaced(struct reader *reader, size_t first)
{
	struct json_member *members = reader->collector->scratch + first;
	size_t count = reader->collector->scratch_count - first, kept = 0;
	_map_ struct map positions = {0}; /* of names among those kept, plus 1 */

	for (size_t i = 0; i < count; i++) {
		uintptr_t position = (uintptr_t)map_get(&positions, members[i].name);

		if (position > 0) {
			members[position - 1].value = members[i].value;
			continue;
		}
		members[kept++] = members[i];
		map_put(&positions, members[i].name, (void *)(uintptr_t)kept);
	}
	reader->collector->scratch_count = first + kept;
}

#define FEW_MEMBERS 12 /* comparing all pairs is cheaper than a map up to here */

static bool has_replaced(const struct reader *reader, size_t first)
{
	const struct json_member *members = reader->collector->scratch + first;
	size_t count = reader->collector->scratch_count - first;

	if (count > FEW_MEMBERS)
		return true;
	for (size_t i = 1; i < count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (span_equal(members[i].name, members[j].name))
				return true;
		}
	}
	return false;
}

static int close_mapping(struct reader *reader, size_t first, struct json *object)
{
	const struct json_member *duplicate;

	if (has_replaced(reader, first))
		drop_replaced(reader, first);
	if (json_collect_close_object(reader->collector, first, object, &duplicate) < 0)
		return fail_size(reader);
	return 0;
}

static void merge_members(struct reader *reader, const struct json *object)
{
	for (uint32_t i = 0; i < object->object.count; i++)
		json_collect_add(reader->collector, object->object.members[i].name,
			object->object.members[i].value);
}

static int fail_merge(struct reader *reader)
{
	return FAIL(reader, "map merge requires map or sequence of maps as the value");
}

/* Of the maps in a sequence the earlier ones win, so they are added last. */
static int merge_sequence(struct reader *reader, unsigned depth)
{
	_buffer_ struct buffer maps = {0}; /* of struct json pointers */
	const struct json **items;
	int code;

	for (;;) {
		struct node node;

		code = next_event(reader);
		if (code < 0)
			return code;
		if (reader->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		code = read_node(reader, event_line(reader), depth, &node);
		if (code < 0)
			return code;
		if (!node.is_mapping)
			return fail_merge(reader);
		buffer_add(&maps, &node.value, sizeof(node.value));
	}
	items = (const struct json **)(void *)maps.data;
	for (size_t i = maps.length / sizeof(*items); i > 0; i--)
		merge_members(reader, items[i - 1]);
	return 0;
}

/* The value of "<<". */
static int read_merge(struct reader *reader, unsigned depth)
{
	struct node node;
	int code;

	code = next_event(reader);
	if (code < 0)
		return code;
	if (reader->event.type == YAML_SEQUENCE_START_EVENT) {
		struct anchor *anchor;

		code = begin_anchor(reader, reader->event.data.sequence_start.anchor, &anchor);
		return code < 0 ? code : merge_sequence(reader, depth);
	}
	code = read_node(reader, event_line(reader), depth, &node);
	if (code < 0)
		return code;
	if (!node.is_mapping)
		return fail_merge(reader);
	merge_members(reader, node.value);
	return 0;
}

static bool is_merge_key(const yaml_event_t *event)
{
	const char *tag;

	if (event->type != YAML_SCALAR_EVENT)
		return false;
	tag = (const char *)event->data.scalar.tag;
	return strcmp((const char *)event->data.scalar.value, "<<") == 0 &&
	       (event->data.scalar.plain_implicit ||
		       (tag && strcmp(tag, "tag:yaml.org,2002:merge") == 0));
}

static int read_member(struct reader *reader, unsigned depth)
{
	uint32_t line = event_line(reader);
	struct node key;
	struct json *value;
	int code;

	code = read_node(reader, line, depth, &key);
	if (code < 0)
		return code;
	if (!key.key.data)
		return FAIL(reader, "a key must be a string, an integer, a number or a boolean");
	code = next_event(reader);
	if (code < 0)
		return code;
	code = read_value(reader, line, depth, &value);
	if (code < 0)
		return code;
	json_collect_add(reader->collector, key.key, value);
	return 0;
}

static int read_mapping(struct reader *reader, unsigned depth, struct json *object)
{
	size_t first = json_collect_open(reader->collector);
	int code;

	object->type = JSON_OBJECT;
	for (;;) {
		code = next_event(reader);
		if (code < 0)
			return code;
		if (reader->event.type == YAML_MAPPING_END_EVENT)
			return close_mapping(reader, first, object);
		code = is_merge_key(&reader->event) ? read_merge(reader, depth)
						    : read_member(reader, depth);
		if (code < 0)
			return code;
	}
}

static int read_new_node(struct reader *reader, const yaml_char_t *anchor_name, unsigned depth,
	struct node *node)
{
	enum yaml_event_type_e type = reader->event.type;
	struct anchor *anchor;
	int code;

	code = begin_anchor(reader, anchor_name, &anchor);
	if (code < 0)
		return code;
	code = count_nodes(reader, 1, 0);
	if (code < 0)
		return code;
	if (type == YAML_SCALAR_EVENT)
		code = read_scalar(reader, node->value, node);
	else if (type == YAML_SEQUENCE_START_EVENT)
		code = read_sequence(reader, depth + 1, node->value);
	else
		code = read_mapping(reader, depth + 1, node->value);
	if (code < 0)
		return code;
	node->is_mapping = type == YAML_MAPPING_START_EVENT;
	end_anchor(reader, anchor, node);
	return 0;
}

/* The node that begins with the current event. */
static int read_node(struct reader *reader, uint32_t line, unsigned depth, struct node *ret_node)
{
	const yaml_event_t *event = &reader->event;
	struct node node = {0};
	const yaml_char_t *anchor = NULL;
	int code;

	if (event->type == YAML_ALIAS_EVENT)
		return read_alias(reader, ret_node);
	if (event->type == YAML_SCALAR_EVENT)
		anchor = event->data.scalar.anchor;
	else if (event->type == YAML_SEQUENCE_START_EVENT)
		anchor = event->data.sequence_start.anchor;
	else
		anchor = event->data.mapping_start.anchor;
	if (event->type != YAML_SCALAR_EVENT && depth == YAML_KUBERNETES_DEPTH_MAX)
		return FAIL(reader, "nested too deeply (limit %d)", YAML_KUBERNETES_DEPTH_MAX);
	if (json_collect_new(reader->collector, JSON_COLLECT_NODES, &node.value) < 0)
		return fail_size(reader);
	node.value->line = line;
	code = read_new_node(reader, anchor, depth, &node);
	if (code < 0)
		return code;
	*ret_node = node;
	return 0;
}

/* Documents */

static int check_version(struct reader *reader)
{
	const yaml_version_directive_t *version =
		reader->event.data.document_start.version_directive;

	if (version && (version->major != 1 || version->minor != 1))
		return FAIL(reader, "found incompatible YAML document");
	return 0;
}

/* The document whose start is the current event; its end is the current event afterwards. */
static int read_document(struct reader *reader, struct json **ret_value)
{
	struct json *value;
	int code;

	map_clear(&reader->anchors);
	reader->node_count = reader->alias_node_count = 0;
	code = check_version(reader);
	if (code < 0)
		return code;
	code = next_event(reader);
	if (code < 0)
		return code;
	code = read_value(reader, event_line(reader), 0, &value);
	if (code < 0)
		return code;
	code = next_event(reader);
	if (code < 0)
		return code;
	*ret_value = value;
	return 0;
}

static int reader_begin(struct reader *reader, struct span text)
{
	if (!yaml_parser_initialize(&reader->parser))
		return fail_size(reader);
	if (text.length > YAML_KUBERNETES_TEXT_MAX)
		return err_set(reader->err, -E2BIG, "the YAML text is longer than %d bytes",
			YAML_KUBERNETES_TEXT_MAX);
	if (text.data && memmem(text.data, text.length, "\\/", 2))
		reader->escapes.text = text;
	yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader->parser,
		(const unsigned char *)(text.data ? text.data : ""), text.length);
	return next_event(reader); /* the stream's start */
}

static int new_null(struct reader *reader, struct json **ret_value)
{
	if (json_collect_new(reader->collector, 0, ret_value) < 0)
		return fail_size(reader);
	(*ret_value)->line = reader->first_line;
	return 0;
}

int yaml_parse_kubernetes(struct span text, uint32_t first_line, struct arena *arena,
	struct json **ret_value, struct err *err)
{
	_json_collector_ struct json_collector collector;
	CLEANUP(reader_clear)
	struct reader reader = {
		.first_line = first_line,
		.arena = arena,
		.err = err,
		.collector = &collector,
	};
	int code;

	json_collect_begin(&collector, arena);
	code = reader_begin(&reader, text);
	if (code < 0)
		return code;
	code = next_event(&reader);
	if (code < 0)
		return code;
	if (reader.event.type == YAML_STREAM_END_EVENT)
		return new_null(&reader, ret_value);
	return read_document(&reader, ret_value);
}

/* Several documents */

static int read_next_document(struct reader *reader, struct byte_counter *counter,
	struct yaml_document *ret_document)
{
	bool explicit = !reader->event.data.document_start.implicit;
	yaml_mark_t mark = reader->event.end_mark;
	size_t start = explicit ? mark_byte(counter, &mark) : counter->bytes;
	uint32_t line = explicit ? line_of(reader, mark.line) : reader->first_line;
	struct yaml_document document;
	int code;

	code = read_document(reader, &document.value);
	if (code < 0)
		return code;
	document.text.data = counter->text.data + start;
	document.text.length = mark_byte(counter, &reader->event.start_mark) - start;
	document.line = line;
	*ret_document = document;
	return 0;
}

int yaml_parse_documents(struct span text, struct arena *arena,
	struct yaml_document **ret_documents, size_t *ret_count, struct err *err)
{
	_json_collector_ struct json_collector collector;
	_buffer_ struct buffer documents = {0};
	CLEANUP(reader_clear)
	struct reader reader = {
		.first_line = 1,
		.arena = arena,
		.err = err,
		.collector = &collector,
	};
	struct byte_counter counter = {.text = text};
	size_t count = 0;
	int code;

	json_collect_begin(&collector, arena);
	code = reader_begin(&reader, text);
	if (code < 0)
		return code;
	for (;;) {
		struct yaml_document document;

		code = next_event(&reader);
		if (code < 0)
			return code;
		if (reader.event.type == YAML_STREAM_END_EVENT)
			break;
		if (count == YAML_DOCUMENTS_MAX)
			return fail_at(&reader, -E2BIG, "more than %d documents in one text",
				YAML_DOCUMENTS_MAX);
		code = read_next_document(&reader, &counter, &document);
		if (code < 0)
			return code;
		buffer_add(&documents, &document, sizeof(document));
		count++;
	}
	*ret_documents = arena_allocate_capped(arena, documents.length + 1);
	if (!*ret_documents)
		return fail_size(&reader);
	if (count > 0)
		memcpy(*ret_documents, documents.data, documents.length);
	*ret_count = count;
	return 0;
}
