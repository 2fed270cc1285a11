/*
 * A version is asked for its list of resources, the best first; the first that has ours is it. That is one
 * request in the common case, and exact: batch/v1 is on every server, but has CronJobs since 1.21 only.
 * The core group has one version and is not asked about.
 *
 * Answers are kept until they are forgotten, misses for KUBE_DISCOVERY_AGAIN_MS.
 */
#include "kube/discovery.h"

#include <stdio.h>

#include "base/map.h"
#include "base/memory.h"
#include "kube/request.h"

#define KEY_SIZE (KUBE_NAME_MAX * 2 + KUBE_WORD_SIZE + 3)

struct kube_found {
	struct kube_resource resource;
	bool missed;
	int64_t requested_us;
};

/* ---- remembering ---- */

static struct span make_key(const struct kube_kind *kind, char key[KEY_SIZE])
{
	/* With the version: a kind found by its apiVersion has that one, whatever else the server offers. */
	snprintf(key, KEY_SIZE, "%s/%s/%s", kind->plural, kind->group, kind->versions[0]);
	return span_of(key);
}

static void clear_found(struct map *map)
{
	MAP_EACH (map, entry)
		free(entry->value);
	map_clear(map);
}

void kube_discovery_clear(struct kube_client *client)
{
	clear_found(&client->resources);
	clear_found(&client->kinds);
}

void kube_discovery_forget(struct kube_client *client)
{
	lock_take(&client->lock);
	clear_found(&client->resources);
	client->eviction_version[0] = '\0';
	lock_release(&client->lock);
}

static void remember(struct kube_client *client, const struct kube_kind *kind,
	const struct kube_resource *resource)
{
	struct kube_found *found = memory_allocate(sizeof(*found));
	char key[KEY_SIZE];
	void *before;

	if (resource)
		found->resource = *resource;
	found->missed = !resource;
	found->requested_us = runner_now_us(client->runner);
	lock_take(&client->lock);
	before = map_put(&client->resources, make_key(kind, key), found);
	lock_release(&client->lock);
	free(before);
}

/* 0: found; -ENOENT: known not to be there; -EAGAIN: not known. */
static int recall(struct kube_client *client, const struct kube_kind *kind,
	struct kube_resource *ret_resource)
{
	int64_t now_us = runner_now_us(client->runner);
	const struct kube_found *found;
	char key[KEY_SIZE];
	int code = -EAGAIN;

	lock_take(&client->lock);
	found = map_get(&client->resources, make_key(kind, key));
	if (found && !found->missed) {
		*ret_resource = found->resource;
		ret_resource->kind = kind;
		code = 0;
	} else if (found && now_us - found->requested_us < KUBE_DISCOVERY_AGAIN_MS * 1000) {
		code = -ENOENT;
	}
	lock_release(&client->lock);
	return code;
}

/* ---- asking ---- */

static int ask(struct kube_client *client, const char *path, const struct kube_options *options,
	struct arena *arena, struct json **ret_answer, struct err *err)
{
	struct kube_request request = {.path = span_of(path), .options = options};

	return kube_request_json(client, &request, arena, ret_answer, err);
}

static void fill_resource(const struct kube_kind *kind, const char *version,
	struct kube_resource *ret_resource)
{
	struct kube_resource *resource = ret_resource;
	bool core = kind->group[0] == '\0';

	*resource = (struct kube_resource){.kind = kind, .namespaced = kind->namespaced};
	snprintf(resource->version, sizeof(resource->version), "%s", version);
	snprintf(resource->api_version, sizeof(resource->api_version), "%s%s%s", kind->group,
		core ? "" : "/", version);
	snprintf(resource->path, sizeof(resource->path), "%s/%s", core ? "/api" : "/apis",
		resource->api_version);
}

/* 0: this version has it; -ENOENT: not. */
static int ask_version(struct kube_client *client, const struct kube_kind *kind,
	const char *version, const struct kube_options *options, struct kube_resource *ret_resource,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kube_resource resource;
	struct json *answer;
	int code;

	fill_resource(kind, version, &resource);
	code = ask(client, resource.path, options, arena, &answer, err);
	if (code < 0)
		return code;
	JSON_EACH_ITEM (json_get(answer, "resources"), item) {
		if (!span_is(json_get_text(item, "name"), kind->plural))
			continue;
		resource.namespaced = json_get_bool(item, "namespaced", kind->namespaced);
		*ret_resource = resource;
		return 0;
	}
	return -ENOENT;
}

static void join_versions(const struct kube_kind *kind, struct buffer *out)
{
	for (size_t i = 0; i < KUBE_VERSIONS_MAX && kind->versions[i]; i++)
		buffer_format(out, "%s%s", i > 0 ? ", " : "", kind->versions[i]);
}

static void join_offered(struct kube_client *client, const struct kube_kind *kind,
	const struct kube_options *options, struct buffer *out)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span path = arena_format(arena, "/apis/%s", kind->group);
	struct json *answer = NULL;

	if (ask(client, path.data, options, arena, &answer, NULL) < 0)
		answer = NULL;
	JSON_EACH_ITEM (json_get(answer, "versions"), item)
		buffer_format(out, "%s%.*s", out->length > 0 ? ", " : "",
			SPAN_ARGS(json_get_text(item, "version")));
	if (out->length == 0)
		buffer_add_string(out, "none");
}

static int fail_missing(struct kube_client *client, const struct kube_kind *kind,
	const struct kube_options *options, bool explain, struct err *err)
{
	_buffer_ struct buffer known = BUFFER_WITH_CAP(256), offered = BUFFER_WITH_CAP(256);

	join_versions(kind, &known);
	if (explain)
		join_offered(client, kind, options, &offered);
	else
		buffer_add_string(&offered, "asked a moment ago");
	return err_set(err, -ENOENT,
		"the server has no %s of group '%s' in a version known here (known: %s; the "
		"group's "
		"versions there: %s)",
		kind->kind, kind->group, known.data, offered.data);
}

int kube_discovery_find(struct kube_client *client, const struct kube_kind *kind,
	const struct kube_options *options, struct kube_resource *ret_resource, struct err *err)
{
	int code;

	if (kind->group[0] == '\0') {
		fill_resource(kind, kind->versions[0], ret_resource);
		return 0;
	}
	code = recall(client, kind, ret_resource);
	if (code == -ENOENT)
		return fail_missing(client, kind, options, false, err);
	if (code == 0)
		return 0;
	for (size_t i = 0; i < KUBE_VERSIONS_MAX && kind->versions[i]; i++) {
		code = ask_version(client, kind, kind->versions[i], options, ret_resource, err);
		if (code == 0)
			remember(client, kind, ret_resource);
		if (code != -ENOENT)
			return code;
	}
	remember(client, kind, NULL);
	return fail_missing(client, kind, options, true, err);
}

/* ---- kinds by apiVersion and kind ---- */

/* A kind with its texts behind it, in one block. */
struct resolved_kind {
	struct kube_kind kind; /* first */
	char texts[];
};

static const char *append_text(char **end, struct span text)
{
	char *start = *end;

	memcpy(start, text.data, text.length);
	*end = start + text.length + 1; /* the block is zeroed */
	return start;
}

static struct resolved_kind *make_kind(struct span group, struct span version, struct span name,
	struct span plural, bool namespaced)
{
	struct resolved_kind *resolved =
		memory_allocate(sizeof(*resolved) + group.length + version.length + name.length +
				plural.length + 4);
	char *end = resolved->texts;

	resolved->kind.group = append_text(&end, group);
	resolved->kind.versions[0] = append_text(&end, version);
	resolved->kind.kind = append_text(&end, name);
	resolved->kind.plural = append_text(&end, plural);
	resolved->kind.namespaced = namespaced;
	return resolved;
}

/* The plural of a kind in the server's list of resources; subresources have a slash in their names. */
static const struct json *find_resource(const struct json *answer, struct span kind)
{
	JSON_EACH_ITEM (json_get(answer, "resources"), item) {
		struct span plural = json_get_text(item, "name");

		if (span_equal(json_get_text(item, "kind"), kind) && kube_is_path_segment(plural))
			return item;
	}
	return NULL;
}

/* Keeps the first of two that were resolved at once. */
static const struct kube_kind *remember_kind(struct kube_client *client, struct span key,
	struct resolved_kind *resolved)
{
	struct resolved_kind *before;

	lock_take(&client->lock);
	before = map_get(&client->kinds, key);
	if (!before)
		map_put(&client->kinds, key, resolved);
	lock_release(&client->lock);
	if (before)
		free(resolved);
	return before ? &before->kind : &resolved->kind;
}

int kube_kind_find(struct kube_client *client, struct span api_version, struct span kind,
	const struct kube_kind **ret_kind, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span key, path, group = SPAN(""), version = api_version;
	const struct json *resource;
	struct resolved_kind *known;
	struct json *answer;
	int code;

	span_split(api_version, '/', &group, &version);
	if (!kube_is_path_segment(version) || version.length >= KUBE_WORD_SIZE ||
		(group.length > 0 && !kube_is_path_segment(group)))
		return err_set(err, -EINVAL, "'%.*s' is not an apiVersion", (int)api_version.length,
			api_version.data ? api_version.data : "");
	if (!kube_is_path_segment(kind))
		return err_set(err, -EINVAL, "'%.*s' is not a kind", (int)kind.length,
			kind.data ? kind.data : "");
	key = arena_format(arena, "%.*s %.*s", SPAN_ARGS(api_version), SPAN_ARGS(kind));
	lock_take(&client->lock);
	known = map_get(&client->kinds, key);
	lock_release(&client->lock);
	if (known) {
		*ret_kind = &known->kind;
		return 0;
	}
	path = group.length > 0 ? arena_format(arena, "/apis/%.*s", SPAN_ARGS(api_version))
				: arena_format(arena, "/api/%.*s", SPAN_ARGS(version));
	code = ask(client, path.data, NULL, arena, &answer, err);
	if (code < 0 && code != -ENOENT)
		return code;
	resource = code == 0 ? find_resource(answer, kind) : NULL;
	if (!resource)
		return err_set(err, -ENOENT, "the server has no %.*s of version %.*s",
			SPAN_ARGS(kind), SPAN_ARGS(api_version));
	*ret_kind = remember_kind(client, key,
		make_kind(group, version, kind, json_get_text(resource, "name"),
			json_get_bool(resource, "namespaced", true)));
	return 0;
}

int kube_resource_find(struct kube_client *client, const struct kube_kind *kind,
	struct kube_resource *ret_resource, struct err *err)
{
	return kube_discovery_find(client, kind, NULL, ret_resource, err);
}

int kube_discovery_eviction(struct kube_client *client, const struct kube_options *options,
	char ret_version[KUBE_WORD_SIZE], struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *answer;
	int code;

	lock_take(&client->lock);
	snprintf(ret_version, KUBE_WORD_SIZE, "%s", client->eviction_version);
	lock_release(&client->lock);
	if (ret_version[0])
		return 0;
	code = ask(client, "/api/v1", options, arena, &answer, err);
	if (code < 0)
		return code;
	snprintf(ret_version, KUBE_WORD_SIZE, "policy/v1");
	JSON_EACH_ITEM (json_get(answer, "resources"), item) {
		struct span version = json_get_text(item, "version");

		if (span_is(json_get_text(item, "name"), "pods/eviction") && version.length > 0)
			snprintf(ret_version, KUBE_WORD_SIZE, "policy/%.*s", SPAN_ARGS(version));
	}
	lock_take(&client->lock);
	snprintf(client->eviction_version, KUBE_WORD_SIZE, "%s", ret_version);
	lock_release(&client->lock);
	return 0;
}

/* ---- /version ---- */

/* "20+" is 20. */
static int read_number(struct span text)
{
	int number = 0;

	for (size_t i = 0; i < text.length && text.data[i] >= '0' && text.data[i] <= '9' && i < 6;
		i++)
		number = number * 10 + (text.data[i] - '0');
	return number;
}

int kube_server_version(struct kube_client *client, struct arena *arena,
	struct kube_version *ret_version, struct err *err)
{
	struct json *answer;
	int code;

	code = ask(client, "/version", NULL, arena, &answer, err);
	if (code < 0)
		return code;
	ret_version->major = read_number(json_get_text(answer, "major"));
	ret_version->minor = read_number(json_get_text(answer, "minor"));
	ret_version->git = json_get_text(answer, "gitVersion");
	if (!ret_version->git.data)
		return err_set(err, -EPROTO, "GET /version: the answer has no gitVersion");
	return 0;
}
