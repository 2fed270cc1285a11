/* urlParse and urlJoin, as Go's net/url takes addresses apart. */
#include <stdio.h>
#include <string.h>

#include "chart/function.h"

struct url {
	struct span scheme, opaque, user, host, path, query, fragment;
	bool has_user, rooted;
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "scheme:"; -1 for a colon at the front. */
static int split_scheme(struct span *text, struct span *ret_scheme)
{
	for (size_t i = 0; i < text->length; i++) {
		char c = text->data[i];

		if (is_letter(c))
			continue;
		if ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.') {
			if (i == 0)
				return 0;
			continue;
		}
		if (c != ':')
			return 0;
		if (i == 0)
			return -1;
		*ret_scheme = (struct span){text->data, i};
		*text = (struct span){text->data + i + 1, text->length - i - 1};
		return 0;
	}
	return 0;
}

static bool cut(struct span text, char separator, struct span *ret_before, struct span *ret_behind)
{
	const char *found = memchr(text.data, separator, text.length);

	if (!found)
		return false;
	*ret_before = (struct span){text.data, (size_t)(found - text.data)};
	*ret_behind = (struct span){found + 1, text.length - ret_before->length - 1};
	return true;
}

/* %41 and the like as bytes. */
static int unescape(struct run *run, struct span text, struct span *ret_text)
{
	char *out = arena_allocate(run->arena, text.length + 1);
	size_t length = 0;

	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] != '%') {
			out[length++] = text.data[i];
			continue;
		}
		if (i + 2 >= text.length || hex(text.data[i + 1]) < 0 || hex(text.data[i + 2]) < 0)
			return run_fail(run, "unable to parse url: invalid URL escape");
		out[length++] = (char)(hex(text.data[i + 1]) * 16 + hex(text.data[i + 2]));
		i += 2;
	}
	*ret_text = (struct span){out, length};
	return 0;
}

static bool port_fits(struct span host)
{
	const char *colon = memrchr(host.data, ':', host.length);

	if (host.length && host.data[0] == '[') {
		const char *bracket = memrchr(host.data, ']', host.length);

		if (!bracket)
			return false;
		if (bracket + 1 == host.data + host.length)
			return true;
		colon = bracket + 1;
		if (*colon != ':')
			return false;
	}
	for (const char *c = colon ? colon + 1 : NULL; c && c < host.data + host.length; c++)
		if (*c < '0' || *c > '9')
			return false;
	return true;
}

static int parse(struct run *run, struct span text, struct url *url)
{
	struct span rest = text, before, authority;
	int code;

	*url = (struct url){
		SPAN(""), SPAN(""), SPAN(""), SPAN(""), SPAN(""), SPAN(""), SPAN(""), false, false};
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7F)
			return run_fail(run,
				"unable to parse url: invalid control character in URL");
	if (cut(rest, '#', &before, &url->fragment))
		rest = before;
	if (split_scheme(&rest, &url->scheme) < 0)
		return run_fail(run, "unable to parse url: missing protocol scheme");
	if (cut(rest, '?', &before, &url->query))
		rest = before;
	if (rest.length == 0 || rest.data[0] != '/') {
		if (url->scheme.length) {
			url->opaque = rest;
			return unescape(run, url->fragment, &url->fragment);
		}
		if (cut(rest, '/', &before, &authority)
				? memchr(before.data, ':', before.length) != NULL
				: memchr(rest.data, ':', rest.length) != NULL)
			return run_fail(run, "unable to parse url: first path segment in URL "
					     "cannot contain colon");
	}
	if (span_starts_with(rest, SPAN("//")) &&
		(url->scheme.length || !span_starts_with(rest, SPAN("///")))) {
		const char *slash = memchr(rest.data + 2, '/', rest.length - 2);
		size_t end = slash ? (size_t)(slash - rest.data) : rest.length;
		const char *at;

		authority = (struct span){rest.data + 2, end - 2};
		rest = (struct span){rest.data + end, rest.length - end};
		at = memrchr(authority.data, '@', authority.length);
		if (at) {
			url->user = (struct span){authority.data, (size_t)(at - authority.data)};
			url->has_user = true;
			authority = (struct span){at + 1, authority.length - url->user.length - 1};
		}
		url->host = authority;
		if (!port_fits(authority))
			return run_fail(run, "unable to parse url: invalid port in host");
		for (size_t i = 0; i < authority.length; i++)
			if (authority.data[i] == ' ' || authority.data[i] == '"' ||
				authority.data[i] == '<' || authority.data[i] == '>')
				return run_fail(run,
					"unable to parse url: invalid character in host name");
	}
	code = unescape(run, url->host, &url->host);
	if (code == 0)
		code = unescape(run, rest, &url->path);
	return code < 0 ? code : unescape(run, url->fragment, &url->fragment);
}

/* Without port and brackets. */
static struct span host_name(struct span host)
{
	const char *colon = memrchr(host.data, ':', host.length);
	const char *bracket = memrchr(host.data, ']', host.length);

	if (host.length && host.data[0] == '[' && bracket)
		return (struct span){host.data + 1, (size_t)(bracket - host.data) - 1};
	if (colon && (!bracket || bracket < colon))
		host.length = (size_t)(colon - host.data);
	return host;
}

static struct span lower(struct run *run, struct span text)
{
	char *out = arena_copy(run->arena, text.data, text.length);

	for (size_t i = 0; i < text.length; i++)
		if (out[i] >= 'A' && out[i] <= 'Z')
			out[i] = (char)(out[i] + 32);
	return (struct span){out, text.length};
}

static int url_parse(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct value_map *map = value_map_new(run->arena, 8);
	struct url url;
	int code = parse(run, arguments[0].text, &url);

	(void)count;
	if (code < 0)
		return code;
	value_map_put(run->arena, map, "scheme", value_string(lower(run, url.scheme)));
	value_map_put(run->arena, map, "host", value_string(url.host));
	value_map_put(run->arena, map, "hostname", value_string(host_name(url.host)));
	value_map_put(run->arena, map, "path", value_string(url.path));
	value_map_put(run->arena, map, "query", value_string(url.query));
	value_map_put(run->arena, map, "opaque", value_string(url.opaque));
	value_map_put(run->arena, map, "fragment", value_string(url.fragment));
	value_map_put(run->arena, map, "userinfo", value_string(url.user));
	*ret_value = value_of_map(map);
	return 0;
}

/* ---- joining ------------------------------------------------------------------------------------- */

static void add_escaped(struct span text, const char *allowed, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (is_letter((char)c) || (c >= '0' && c <= '9') || (c && strchr(allowed, c)))
			buffer_add_char(out, (char)c);
		else
			buffer_format(out, "%%%02X", c);
	}
}

static int member(struct run *run, const struct value_map *map, const char *name,
	struct span *ret_text)
{
	const struct value *found = value_map_find(map, span_of(name));

	*ret_text = SPAN("");
	if (!found)
		return 0;
	if (found->kind != VALUE_STRING)
		return run_fail(run, "unable to parse %s key, must be of type string, but %s found",
			name, value_is_absent(*found) ? "nil" : value_kind_name(*found));
	*ret_text = found->text;
	return 0;
}

static void write_url(const struct url *url, struct buffer *out)
{
	if (url->scheme.length) {
		buffer_add_span(out, url->scheme);
		buffer_add_char(out, ':');
	}
	if (url->opaque.length) {
		buffer_add_span(out, url->opaque);
	} else {
		if (url->scheme.length || url->host.length || url->user.length) {
			if (url->host.length || url->path.length || url->user.length)
				buffer_add_string(out, "//");
			if (url->user.length) {
				add_escaped(url->user, "-_.~$&+,;=:%", out);
				buffer_add_char(out, '@');
			}
			add_escaped(url->host, "-_.~!$&'()*+,;=:[]<>\"", out);
		}
		if (url->path.length && url->path.data[0] != '/' && url->host.length)
			buffer_add_char(out, '/');
		add_escaped(url->path, "-_.~$&+,/:;=@!'()*", out);
	}
	if (url->query.length) {
		buffer_add_char(out, '?');
		buffer_add_span(out, url->query);
	}
	if (url->fragment.length) {
		buffer_add_char(out, '#');
		add_escaped(url->fragment, "-_.~$&+,/:;=?@!()*'", out);
	}
}

static int url_join(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	_buffer_ struct buffer out = function_buffer(run);
	struct url url = {0};
	const struct {
		const char *name;
		struct span *target;
	} members[] = {{"scheme", &url.scheme}, {"host", &url.host}, {"path", &url.path},
		{"query", &url.query}, {"opaque", &url.opaque}, {"fragment", &url.fragment},
		{"userinfo", &url.user}};

	(void)count;
	for (size_t i = 0; i < LENGTH(members); i++) {
		int code = member(run, arguments[0].map, members[i].name, members[i].target);

		if (code < 0)
			return code;
	}
	write_url(&url, &out);
	return function_return(run, &out, ret_value);
}

static const struct function rows[] = {
	{"urlJoin", "m", url_join, false},
	{"urlParse", "s", url_parse, false},
};

const struct function_table functions_url = {rows, LENGTH(rows)};
