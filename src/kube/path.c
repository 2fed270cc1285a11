/* Paths and queries. Names are checked and values encoded, so that neither changes the path. */
#include <stdio.h>

#include "kube/request.h"

static int check_segment(struct span text, const char *what, struct err *err)
{
	if (kube_is_path_segment(text))
		return 0;
	return err_set(err, -EINVAL, "'%.*s' is not the %s of an object", (int)text.length,
		text.data ? text.data : "", what);
}

static int check_target(const struct kube_resource *resource, const struct kube_target *target,
	struct err *err)
{
	int code = 0;

	if (target->namespace.data)
		code = check_segment(target->namespace, "namespace", err);
	if (code == 0 && target->name.data)
		code = check_segment(target->name, "name", err);
	if (code == 0 && target->subresource)
		code = check_segment(span_of(target->subresource), "subresource", err);
	if (code < 0)
		return code;
	if (target->subresource && !target->name.data)
		return err_set(err, -EINVAL, "%s: a subresource needs a name",
			resource->kind->kind);
	if (!resource->namespaced && target->namespace.data)
		return err_set(err, -EINVAL, "%s: these have no namespaces", resource->kind->kind);
	if (resource->namespaced && target->name.data && !target->namespace.data)
		return err_set(err, -EINVAL, "%s '%.*s': needs a namespace", resource->kind->kind,
			SPAN_ARGS(target->name));
	return 0;
}

int kube_path_write(const struct kube_resource *resource, const struct kube_target *target,
	struct buffer *out, struct err *err)
{
	int code = check_target(resource, target, err);

	if (code < 0)
		return code;
	buffer_add_string(out, resource->path);
	if (target->namespace.data)
		buffer_format(out, "/namespaces/%.*s", SPAN_ARGS(target->namespace));
	buffer_format(out, "/%s", resource->kind->plural);
	if (target->name.data)
		buffer_format(out, "/%.*s", SPAN_ARGS(target->name));
	if (target->subresource)
		buffer_format(out, "/%s", target->subresource);
	return kube_path_check(out, err);
}

static bool is_unreserved(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

void kube_query_add(struct buffer *path, const char *name, struct span value)
{
	static const char hex[] = "0123456789ABCDEF";

	if (!value.data)
		return;
	buffer_add_char(path,
		path->length > 0 && memchr(path->data, '?', path->length) ? '&' : '?');
	buffer_add_string(path, name);
	buffer_add_char(path, '=');
	for (size_t i = 0; i < value.length; i++) {
		unsigned char c = (unsigned char)value.data[i];

		if (is_unreserved(c)) {
			buffer_add_char(path, (char)c);
			continue;
		}
		buffer_add_char(path, '%');
		buffer_add_char(path, hex[c >> 4]);
		buffer_add_char(path, hex[c & 15]);
	}
}

void kube_query_add_integer(struct buffer *path, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	kube_query_add(path, name, span_of(text));
}

void kube_query_add_selection(struct buffer *path, const struct kube_selection *selection)
{
	if (!selection)
		return;
	kube_query_add(path, "labelSelector", span_of(selection->labels));
	kube_query_add(path, "fieldSelector", span_of(selection->fields));
}

int kube_path_check(const struct buffer *path, struct err *err)
{
	if (buffer_failed(path))
		return err_set(err, -EINVAL, "the request's path is longer than %d bytes",
			KUBE_PATH_MAX);
	return 0;
}
