/*
 * Output of an API server, in chunks of any size: the objects of a watch, and a list with its
 * items. Cutting gives the same pieces whatever the chunks are; and a list is accepted only if the strict
 * parser, given all of it at once, finds the same items. The first byte chooses the shape and the chunks.
 *
 * The same bytes are then read as WebSocket frames: they may be refused, but not depend on the chunks either.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kube/object.h"
#include "kube/pieces.h"
#include "kube/websocket.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define PIECE_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int collect(void *context, struct span piece, struct err *err)
{
	struct buffer *out = context;

	(void)err;
	buffer_add_span(out, piece);
	buffer_add_char(out, '\n');
	return 0;
}

static int cut(struct span text, size_t chunk, bool list, struct buffer *out, struct arena *arena,
	struct json **ret_frame)
{
	struct kube_pieces pieces = {
		.list = list, .piece_max = PIECE_MAX, .take = collect, .context = out};
	struct err err = {0};
	int code = 0;

	while (code == 0 && text.length > 0) {
		struct span part = {text.data, text.length < chunk ? text.length : chunk};

		code = kube_pieces_feed(&pieces, part, &err);
		text.data += part.length;
		text.length -= part.length;
	}
	if (code == 0)
		code = kube_pieces_end(&pieces, arena, ret_frame, &err);
	CHECK(code == 0 || err.code == code);
	kube_pieces_clear(&pieces);
	return code;
}

/* The items as the strict parser finds them, one a line, or false. */
static bool read_items(struct span text, struct arena *arena, const struct json **ret_items)
{
	struct json *root;

	if (json_parse(text, arena, &root, NULL) < 0 || !json_is(root, JSON_OBJECT))
		return false;
	*ret_items = json_get(root, "items");
	return true;
}

static void check_list(struct span text, struct span pieces, struct arena *arena)
{
	const struct json *items;
	struct span line;
	size_t count = 0;

	/* Every piece must be JSON too before what was cut is as good as what was parsed. */
	for (struct span rest = pieces; span_split(rest, '\n', &line, &rest);) {
		struct json *piece;

		if (json_parse(line, arena, &piece, NULL) < 0)
			return; /* a line break inside of an object, or rubbish: the caller refuses it */
	}
	if (!read_items(text, arena, &items))
		return; /* nested more deeply than both halves are */
	JSON_EACH_ITEM (items, item) {
		struct json *piece;

		CHECK(span_split(pieces, '\n', &line, &pieces));
		CHECK(json_parse(line, arena, &piece, NULL) == 0);
		CHECK(json_equal(item, piece));
		count++;
	}
	CHECK(pieces.length == 0 && count == json_count(items) && !json_is(items, JSON_OBJECT));
}

/* ---- the result of the pieces ---- */

static int reduce(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	struct span *kept = kube_keep_array(keep, 2, sizeof(*kept));
	int64_t milli;

	(void)context;
	(void)err;
	kept[0] = kube_keep_json(keep, object);
	kept[1] = kube_keep_text(keep, json_get_text(object, "a"));
	kube_quantity_milli(json_get(object, "q"), &milli);
	kube_time_ms(json_get(object, "t"));
	*ret_data = kept;
	return 0;
}

static void keep_pieces(struct span pieces)
{
	struct span line;

	while (span_split(pieces, '\n', &line, &pieces)) {
		_arena_ struct arena *arena = arena_new(0);
		_kube_object_ const struct kube_object *object = NULL;
		struct json *json;

		if (json_parse(line, arena, &json, NULL) == 0 &&
			kube_object_make(json, reduce, NULL, &object, NULL) == 0)
			CHECK(object->name.length > 0 && object->uid.length > 0);
	}
}

/* ---- frames ---- */

static int note(void *context, enum websocket_type type, struct span payload, struct err *err)
{
	struct buffer *out = context;

	(void)err;
	buffer_add_char(out, (char)type);
	buffer_add_span(out, payload);
	return 0;
}

static int read_frames(struct span bytes, size_t chunk, struct buffer *out)
{
	struct websocket_reader reader = {.message = note, .context = out};
	int code = 0;

	while (code == 0 && bytes.length > 0) {
		struct span part = {bytes.data, bytes.length < chunk ? bytes.length : chunk};

		code = websocket_read(&reader, part, NULL);
		bytes.data += part.length;
		bytes.length -= part.length;
	}
	websocket_reader_clear(&reader);
	return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer whole = {0}, parts = {0}, frames = {0}, split = {0};
	struct json *frame = NULL;
	struct span text;
	size_t chunk;
	bool list;
	int code;

	if (size == 0)
		return 0;
	list = data[0] & 1;
	chunk = 1 + (data[0] >> 1) % 40;
	text = (struct span){(const char *)data + 1, size - 1};
	code = cut(text, SIZE_MAX, list, &whole, arena, &frame);
	CHECK(cut(text, chunk, list, &parts, arena, &frame) == code);
	CHECK(span_equal(buffer_span(&whole), buffer_span(&parts)));
	if (code == 0 && list)
		check_list(text, buffer_span(&whole), arena);
	keep_pieces(buffer_span(&whole));
	code = read_frames(text, SIZE_MAX, &frames);
	CHECK(read_frames(text, chunk, &split) == code);
	CHECK(span_equal(buffer_span(&frames), buffer_span(&split)));
	return 0;
}
