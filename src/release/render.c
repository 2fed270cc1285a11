#include "release/render.h"

#include "base/base64.h"
#include "base/memory.h"
#include "base/yaml.h"
#include "chart/render.h"

#define CONFIG "_config"
#define METADATA "_metadata"
/* How gzip data begins, in base64. No YAML of an object does. */
#define ARCHIVE_BEGIN "H4sI"

/* ---- values ---- */

/* Members of an object, but "_config" and "_metadata"; objects among them are nodes. */
static void add_children(struct arena *arena, const struct json *node, struct json *values);

static const struct json *node_values(struct arena *arena, const struct json *node)
{
	const struct json *config = json_get(node, CONFIG);
	struct json *values;

	if (!json_is(node, JSON_OBJECT))
		return node;
	values = json_is(config, JSON_OBJECT) ? json_copy_object(arena, config)
					      : json_new_object(arena);
	add_children(arena, node, values);
	return values;
}

static void add_children(struct arena *arena, const struct json *node, struct json *values)
{
	for (size_t i = 0; i < json_count(node); i++) {
		const struct json_member *member = &node->object.members[i];

		if (span_is(member->name, CONFIG) || span_is(member->name, METADATA))
			continue;
		json_set(arena, values, arena_copy(arena, member->name.data, member->name.length),
			node_values(arena, member->value));
	}
}

int release_config_values(struct arena *arena, struct span config, const struct json **ret_values,
	struct err *err)
{
	struct json *root = NULL;
	int code = span_trim(config).length > 0 ? json_parse(config, arena, &root, err) : 0;

	if (code < 0)
		return err_prefix(err, code, "spec.config");
	if (json_is_absent(root)) {
		*ret_values = json_new_object(arena);
		return 0;
	}
	if (!json_is(root, JSON_OBJECT))
		return err_set(err, -EINVAL, "spec.config is %s, not an object",
			json_type_name(root->type));
	*ret_values = node_values(arena, root);
	return 0;
}

/* ---- plain manifests ---- */

static bool is_name(struct span name)
{
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

		if (!letter && !(i > 0 && c >= '0' && c <= '9'))
			return false;
	}
	return name.length > 0;
}

static size_t line_at(struct span text, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset; i++)
		line += text.data[i] == '\n';
	return line;
}

static struct span trim_all(struct span text)
{
	while (text.length > 0 && strchr(" \t\r\n", text.data[0])) {
		text.data++;
		text.length--;
	}
	while (text.length > 0 && strchr(" \t\r\n", text.data[text.length - 1]))
		text.length--;
	return text;
}

/* ".Values.a.b" into the value there. */
static int find_value(struct span action, const struct json *values, size_t line,
	const struct json **ret_value, struct err *err)
{
	struct span rest = action, part;
	const struct json *value = values;

	if (!span_starts_with(action, SPAN(".Values.")) || action.length == sizeof(".Values.") - 1)
		return err_set(err, -EINVAL,
			"line %zu: '{{ %.*s }}': plain manifests may have {{ .Values.NAME }} only; "
			"use a "
			"chart for more",
			line, (int)action.length, action.data);
	rest.data += sizeof(".Values.") - 1;
	rest.length -= sizeof(".Values.") - 1;
	while (span_next_part(&rest, '.', &part)) {
		if (!is_name(part))
			return err_set(err, -EINVAL,
				"line %zu: '{{ %.*s }}': plain manifests may have {{ .Values.NAME "
				"}} "
				"only; use a chart for more",
				line, (int)action.length, action.data);
		value = json_get_span(value, part);
	}
	if (json_is_absent(value))
		return err_set(err, -EINVAL, "line %zu: %.*s is not set", line, (int)action.length,
			action.data);
	if (value->type == JSON_OBJECT || value->type == JSON_ARRAY)
		return err_set(err, -EINVAL,
			"line %zu: %.*s is %s; only text, numbers and booleans "
			"can be inserted",
			line, (int)action.length, action.data, json_type_name(value->type));
	*ret_value = value;
	return 0;
}

static size_t find_text(struct span text, size_t from, const char *wanted)
{
	const char *found = from < text.length ? memmem(text.data + from, text.length - from,
							 wanted, strlen(wanted))
					       : NULL;

	return found ? (size_t)(found - text.data) : text.length;
}

int release_replace_values(struct arena *arena, struct span text, const struct json *values,
	struct span *ret_text, struct err *err)
{
	_buffer_ struct buffer out = {0};
	size_t at = 0;

	for (;;) {
		size_t begin = find_text(text, at, "{{"), end;
		const struct json *value = NULL;
		int code;

		buffer_add(&out, text.data + at, begin - at);
		if (begin == text.length)
			break;
		end = find_text(text, begin + 2, "}}");
		if (end == text.length)
			return err_set(err, -EINVAL, "line %zu: '{{' without '}}'",
				line_at(text, begin));
		code = find_value(trim_all((struct span){text.data + begin + 2, end - begin - 2}),
			values, line_at(text, begin), &value, err);
		if (code < 0)
			return code;
		if (value->type == JSON_STRING)
			buffer_add_span(&out, value->text);
		else
			json_write(value, &out);
		at = end + 2;
	}
	*ret_text = arena_copy_span(arena, buffer_span(&out));
	return 0;
}

/* ---- objects ---- */

struct collected {
	struct arena *arena;
	struct naming_object *objects;
	size_t count, capacity;
};

static void collect(struct collected *collected, const struct json *object, struct span path)
{
	if (json_is_absent(object))
		return;
	if (span_is(json_get_text(object, "kind"), "List") && json_get(object, "items")) {
		JSON_EACH_ITEM (json_get(object, "items"), item)
			collect(collected, item, path);
		return;
	}
	if (collected->count == collected->capacity) {
		size_t capacity = collected->capacity ? collected->capacity * 2 : 16;
		struct naming_object *bigger =
			arena_allocate_array(collected->arena, capacity, sizeof(*bigger));

		if (collected->count > 0)
			memcpy(bigger, collected->objects, collected->count * sizeof(*bigger));
		collected->objects = bigger;
		collected->capacity = capacity;
	}
	collected->objects[collected->count++] = (struct naming_object){object, path};
}

static int render_plain(const struct release_render *render, const struct json *values,
	struct collected *collected, struct err *err)
{
	struct yaml_document *documents;
	struct span text;
	size_t count;
	int code = release_replace_values(collected->arena, render->source.template_text, values,
		&text, err);

	if (code == 0)
		code = yaml_parse_documents(text, collected->arena, &documents, &count, err);
	if (code < 0)
		return err_prefix(err, code, "spec.template");
	for (size_t i = 0; i < count; i++) {
		const struct json *object = documents[i].value;

		if (!json_is_absent(object) && object->type != JSON_OBJECT)
			return err_set(err, -EINVAL,
				"spec.template: line %u: the document is %s, not an object; charts "
				"are .tgz "
				"archives in base64",
				documents[i].line, json_type_name(object->type));
		collect(collected, object, SPAN(""));
	}
	return 0;
}

static int read_chart(struct arena *arena, struct span text, struct chart **ret_chart,
	struct err *err)
{
	struct chart_file_list files;
	struct span bytes;
	int code;

	if (!base64_decode(text, arena, &bytes))
		return err_set(err, -EINVAL, "spec.template is not base64");
	code = archive_read_tgz(bytes, arena, &files, err);
	return code < 0 ? code : chart_build(arena, &files, ret_chart, err);
}

static int render_archive(const struct release_render *render, const struct json *values,
	struct collected *collected, struct err *err)
{
	struct arena *arena = collected->arena;
	struct render_options options = {
		.release_name = arena_copy(arena, render->name.data, render->name.length),
		.namespace = arena_copy(arena, render->namespace.data, render->namespace.length),
		.revision = render->version,
		.is_upgrade = render->version > 1,
		.kube_version = render->kube_version,
	};
	struct value given = value_from_json(arena, values);
	struct rendered rendered;
	struct chart *chart;
	int code = read_chart(arena, render->source.template_text, &chart, err);

	if (code == 0)
		code = render_chart(arena, chart, given.map, &options, &rendered, err);
	if (code < 0)
		return err_prefix(err, code, "spec.template");
	for (size_t i = 0; i < rendered.manifests.count; i++)
		collect(collected, rendered.manifests.items[i].object,
			rendered.manifests.items[i].chart);
	return 0;
}

int release_render_objects(struct arena *arena, const struct release_render *render,
	struct naming_object **ret_objects, size_t *ret_count, struct err *err)
{
	struct collected collected = {.arena = arena};
	const struct json *values;
	int code = release_config_values(arena, render->source.config, &values, err);

	if (code < 0)
		return code;
	if (span_starts_with(trim_all(render->source.template_text), SPAN(ARCHIVE_BEGIN)))
		code = render_archive(render, values, &collected, err);
	else
		code = render_plain(render, values, &collected, err);
	if (code < 0)
		return code;
	if (collected.count == 0)
		return err_set(err, -EINVAL, "spec.template renders no objects");
	*ret_objects = collected.objects;
	*ret_count = collected.count;
	return 0;
}

int release_render_manifest(struct arena *arena, const struct release_render *render,
	struct release_manifest *ret_manifest, struct err *err)
{
	struct naming_object *objects;
	struct release_part *parts;
	const struct json **named;
	size_t count;
	int code = release_render_objects(arena, render, &objects, &count, err);

	if (code < 0)
		return code;
	named = arena_allocate_array(arena, count, sizeof(const struct json *));
	code = naming_apply(arena, objects, count, render->source.naming, named, err);
	if (code < 0)
		return code;
	parts = arena_allocate_array(arena, count, sizeof(*parts));
	for (size_t i = 0; i < count; i++)
		parts[i] = (struct release_part){named[i], objects[i].path};
	return release_manifest_make(arena, parts, count, render->name, render->namespace,
		ret_manifest, err);
}
