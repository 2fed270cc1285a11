#include "kube/list.h"

#include <stdio.h>

#include "base/memory.h"
#include "kube/discovery.h"
#include "kube/request.h"

#define WATCH_SLACK_MS INT64_C(15000) /* a server may end a watch this much later */
#define PAGE_TIMEOUT_MS INT64_C(120000)
#define CONTINUE_MAX ((size_t)8 * 1024)

/* One answer being read. */
struct answer {
	struct kube_following *following;
	struct kube_pieces pieces;
	struct arena *arena;
};

static void answer_clear(struct answer *answer)
{
	kube_pieces_clear(&answer->pieces);
	arena_free(answer->arena);
}

static int take_piece(void *context, struct span piece, struct err *err)
{
	struct answer *answer = context;
	struct kube_following *following = answer->following;
	struct json *object;
	struct err problem;
	int code;

	arena_reset(answer->arena);
	code = json_parse(piece, answer->arena, &object, &problem);
	if (code < 0)
		return err_set(err, -EPROTO, "an object is not JSON: %s", problem.message);
	return following->object(following->context, object, err);
}

static void opened(void *context)
{
	const struct answer *answer = context;
	const struct kube_following *following = answer->following;

	if (!answer->pieces.list && following->opened)
		following->opened(following->context);
}

static int take_chunk(void *context, struct span data, struct err *err)
{
	struct answer *answer = context;
	struct kube_following *following = answer->following;

	if (following->heard)
		following->heard(following->context, data.length);
	return kube_pieces_feed(&answer->pieces, data, err);
}

static void answer_init(struct answer *answer, struct kube_following *following, bool list)
{
	*answer = (struct answer){
		.following = following,
		.pieces = {.list = list, .piece_max = following->object_max, .take = take_piece},
		.arena = arena_new(KUBE_PARSE_MAX),
	};
	answer->pieces.context = answer;
}

static int write_path(struct kube_following *following, struct buffer *path, struct err *err)
{
	struct kube_target target = {.kind = following->kind, .namespace = following->namespace};
	struct kube_resource resource;
	int code;

	code = kube_discovery_find(following->client, following->kind, following->options,
		&resource, err);
	if (code == 0)
		code = kube_path_write(&resource, &target, path, err);
	if (code == 0)
		kube_query_add_selection(path, following->selection);
	return code;
}

static int stream(struct kube_following *following, struct answer *answer, struct span path,
	int64_t total_ms, struct err *err)
{
	struct kube_request request = {.path = path, .options = following->options};
	struct kube_stream reading = {
		.chunk = take_chunk,
		.opened = opened,
		.context = answer,
		.idle_ms = following->idle_ms,
		.total_ms = total_ms,
		.patient = answer->pieces.list,
	};
	int code;

	code = kube_request_stream(following->client, &request, &reading, err);
	/* The known resource version has expired: the list begins again. */
	if (code == -ENOENT)
		kube_discovery_forget(following->client);
	return code;
}

/* ---- lists ---- */

/* Reads the metadata of a page. */
static int read_frame(struct answer *answer, struct buffer *ret_continue,
	char ret_resource_version[KUBE_RESOURCE_VERSION_SIZE], struct err *err)
{
	struct span version, token;
	const struct json *metadata;
	struct json *frame = NULL;
	int code;

	arena_reset(answer->arena);
	code = kube_pieces_end(&answer->pieces, answer->arena, &frame, err);
	if (code < 0)
		return code;
	if (!span_ends_with(json_get_text(frame, "kind"), SPAN("List")))
		return err_set(err, -EPROTO, "the answer is not a list");
	metadata = json_get(frame, "metadata");
	version = json_get_text(metadata, "resourceVersion");
	token = json_get_text(metadata, "continue");
	if (version.length == 0 || version.length >= KUBE_RESOURCE_VERSION_SIZE)
		return err_set(err, -EPROTO, "the list has no resourceVersion");
	if (token.length > CONTINUE_MAX)
		return err_set(err, -EPROTO, "the list's continue token is too long");
	snprintf(ret_resource_version, KUBE_RESOURCE_VERSION_SIZE, "%.*s", SPAN_ARGS(version));
	buffer_reset(ret_continue);
	if (token.length > 0)
		buffer_add_span(ret_continue, token);
	return 0;
}

static int read_page(struct kube_following *following, struct buffer *token,
	char ret_resource_version[KUBE_RESOURCE_VERSION_SIZE], struct err *err)
{
	_buffer_ struct buffer path = BUFFER_WITH_CAP(KUBE_PATH_MAX + 3 * CONTINUE_MAX);
	CLEANUP(answer_clear) struct answer answer;
	int code;

	answer_init(&answer, following, true);
	code = write_path(following, &path, err);
	if (code < 0)
		return code;
	kube_query_add_integer(&path, "limit", following->page_size);
	if (token->length > 0)
		kube_query_add(&path, "continue", buffer_span(token));
	code = kube_path_check(&path, err);
	if (code == 0)
		code = stream(following, &answer, buffer_span(&path), PAGE_TIMEOUT_MS, err);
	if (code < 0)
		return code;
	code = read_frame(&answer, token, ret_resource_version, err);
	return code < 0 ? err_prefix(err, code, "list of %s", following->kind->plural) : 0;
}

int kube_following_list(struct kube_following *following,
	char ret_resource_version[KUBE_RESOURCE_VERSION_SIZE], struct err *err)
{
	_buffer_ struct buffer token = {0};
	unsigned restarts = 0;
	int code;

	following->begin(following->context);
	do {
		code = read_page(following, &token, ret_resource_version, err);
		if (code == -ESTALE && token.length > 0 && restarts < KUBE_LIST_RESTARTS_MAX) {
			/* The server has dropped the snapshot of the pages: begin with a new
			 * one. */
			restarts++;
			buffer_reset(&token);
			following->begin(following->context);
			continue;
		}
		if (code < 0)
			return code;
	} while (token.length > 0 || code < 0);
	return 0;
}

/* ---- watches ---- */

int kube_following_watch(struct kube_following *following, const char *resource_version,
	unsigned seconds, struct err *err)
{
	_buffer_ struct buffer path = BUFFER_WITH_CAP(KUBE_PATH_MAX);
	CLEANUP(answer_clear) struct answer answer;
	int code;

	answer_init(&answer, following, false);
	code = write_path(following, &path, err);
	if (code < 0)
		return code;
	kube_query_add(&path, "watch", SPAN("true"));
	kube_query_add(&path, "allowWatchBookmarks", SPAN("true"));
	kube_query_add(&path, "resourceVersion", span_of(resource_version));
	kube_query_add_integer(&path, "timeoutSeconds", seconds);
	code = kube_path_check(&path, err);
	if (code == 0)
		code = stream(following, &answer, buffer_span(&path),
			(int64_t)seconds * 1000 + WATCH_SLACK_MS, err);
	if (code < 0)
		return code;
	code = kube_pieces_end(&answer.pieces, answer.arena, NULL, err);
	return code < 0 ? err_prefix(err, code, "watch of %s", following->kind->plural) : 0;
}

/* ---- for callers that want all at once ---- */

struct collecting {
	struct arena *arena;
	struct json *items;
	size_t bytes;
};

static void begin_collecting(void *context)
{
	struct collecting *collecting = context;

	collecting->items = json_new_array(collecting->arena);
	collecting->bytes = 0;
}

/* The object's text is copied and parsed again in the caller's arena: the rest of the answer is dropped. */
static int collect(void *context, const struct json *object, struct err *err)
{
	struct collecting *collecting = context;
	struct span text = json_to_text(object, collecting->arena);
	struct json *copy;
	int code;

	collecting->bytes += text.length;
	if (collecting->bytes > KUBE_LIST_MAX)
		return err_set(err, -EFBIG, "the list is longer than %zu bytes", KUBE_LIST_MAX);
	code = json_parse(text, collecting->arena, &copy, err);
	if (code < 0)
		return code;
	json_append(collecting->arena, collecting->items, copy);
	return 0;
}

int kube_list(struct kube_client *client, const struct kube_target *target,
	const struct kube_selection *selection, const struct kube_options *options,
	struct arena *arena, struct json **ret_items, struct span *ret_resource_version,
	struct err *err)
{
	struct collecting collecting = {.arena = arena};
	struct kube_following following = {
		.client = client,
		.kind = target->kind,
		.namespace = target->namespace,
		.selection = selection,
		.options = options,
		.object_max = KUBE_ANSWER_MAX,
		.page_size = KUBE_PAGE_SIZE,
		.idle_ms = KUBE_TIMEOUT_MS,
		.object = collect,
		.begin = begin_collecting,
		.context = &collecting,
	};
	char version[KUBE_RESOURCE_VERSION_SIZE];
	int code;

	code = kube_following_list(&following, version, err);
	if (code < 0)
		return code;
	*ret_items = collecting.items;
	if (ret_resource_version)
		*ret_resource_version = arena_copy_span(arena, span_of(version));
	return 0;
}
