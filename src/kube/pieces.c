/*
 * Only as much of JSON is understood as is needed to find ends: strings, and brackets outside of them. What
 * this is wrong about, because the text is not JSON, the parser refuses afterwards.
 */
#include "kube/pieces.h"

void kube_pieces_clear(struct kube_pieces *pieces)
{
	buffer_clear(&pieces->piece);
	buffer_clear(&pieces->frame);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Behind the string that `at` is inside of, or the end. */
static const char *skip_string(struct kube_pieces *pieces, const char *at, const char *end)
{
	if (pieces->escaped && at < end) {
		pieces->escaped = false;
		at++;
	}
	while (at < end) {
		char c = *at++;

		if (c == '\\') {
			if (at == end) {
				pieces->escaped = true;
				return end;
			}
			at++;
		} else if (c == '"') {
			pieces->in_string = false;
			return at;
		}
	}
	return end;
}

/* Moves to behind the bracket that closes the piece; false if the data ends before. */
static bool skip_piece(struct kube_pieces *pieces, size_t outside, const char **at, const char *end)
{
	const char *c = *at;

	while (c < end) {
		if (pieces->in_string) {
			c = skip_string(pieces, c, end);
			continue;
		}
		switch (*c++) {
		case '"': pieces->in_string = true; break;
		case '{':
		case '[': pieces->depth++; break;
		case '}':
		case ']':
			if (--pieces->depth == outside) {
				*at = c;
				return true;
			}
			break;
		default: break;
		}
	}
	*at = end;
	return false;
}

static int fail_length(const struct kube_pieces *pieces, struct err *err)
{
	return err_set(err, -EFBIG, "an object is longer than %zu bytes", pieces->piece_max);
}

/* From the middle of a piece, or from its first byte on. */
static int feed_piece(struct kube_pieces *pieces, const char **at, const char *end, struct err *err)
{
	size_t outside = pieces->list ? 2 : 0;
	const char *start = *at;
	bool whole = skip_piece(pieces, outside, at, end);
	struct span part = {start, (size_t)(*at - start)};
	int code;

	if (part.length > pieces->piece_max - pieces->piece.length)
		return fail_length(pieces, err);
	if (!whole) {
		buffer_add_span(&pieces->piece, part);
		return 0;
	}
	if (pieces->piece.length > 0) {
		buffer_add_span(&pieces->piece, part);
		part = buffer_span(&pieces->piece);
	}
	pieces->in_piece = false;
	pieces->count++;
	code = pieces->take(pieces->context, part, err);
	buffer_reset(&pieces->piece);
	return code;
}

static int feed_sequence(struct kube_pieces *pieces, struct span data, struct err *err)
{
	const char *at = data.data, *end = data.data + data.length;
	int code = 0;

	while (code == 0 && at < end) {
		if (!pieces->in_piece && is_space(*at)) {
			at++;
			continue;
		}
		if (!pieces->in_piece && *at != '{')
			return err_set(err, -EPROTO, "not a sequence of JSON objects");
		pieces->in_piece = true;
		code = feed_piece(pieces, &at, end, err);
	}
	return code;
}

static bool is_items_key(const struct kube_pieces *pieces)
{
	struct span key = {pieces->frame.data + pieces->key_at, pieces->key_length};

	return pieces->after_colon && span_equal(key, SPAN("items\""));
}

/* A byte of the frame, outside of strings and pieces. */
static int feed_frame_byte(struct kube_pieces *pieces, char c, struct err *err)
{
	bool was_after_colon = pieces->after_colon;

	if (is_space(c))
		return 0;
	if (pieces->complete || (pieces->depth == 0 && c != '{'))
		return err_set(err, -EPROTO, "not a JSON object");
	pieces->after_colon = false;
	switch (c) {
	case '"':
		pieces->in_string = true;
		pieces->key_at = pieces->frame.length;
		break;
	case ':': pieces->after_colon = pieces->depth == 1; break;
	case '[':
		pieces->after_colon = was_after_colon;
		pieces->in_items |= pieces->depth == 1 && is_items_key(pieces);
		pieces->after_colon = false;
		pieces->depth++;
		break;
	case '{': pieces->depth++; break;
	case '}':
	case ']':
		pieces->depth--;
		if (pieces->depth == 1)
			pieces->in_items = false;
		pieces->complete = pieces->depth == 0;
		break;
	default: break;
	}
	return 0;
}

static int feed_frame_string(struct kube_pieces *pieces, const char **at, const char *end)
{
	const char *start = *at;

	*at = skip_string(pieces, start, end);
	buffer_add(&pieces->frame, start, (size_t)(*at - start));
	pieces->key_length = pieces->frame.length - pieces->key_at;
	return 0;
}

static int feed_list(struct kube_pieces *pieces, struct span data, struct err *err)
{
	const char *at = data.data, *end = data.data + data.length;
	int code = 0;

	pieces->frame.cap = KUBE_PIECES_FRAME_MAX;
	while (code == 0 && at < end) {
		if (pieces->in_piece) {
			code = feed_piece(pieces, &at, end, err);
		} else if (pieces->in_string) {
			code = feed_frame_string(pieces, &at, end);
		} else if (pieces->in_items && pieces->depth == 2 && *at == '{') {
			pieces->in_piece = true;
			buffer_add_char(&pieces->frame, '0');
		} else {
			buffer_add_char(&pieces->frame, *at);
			code = feed_frame_byte(pieces, *at++, err);
		}
		if (buffer_failed(&pieces->frame))
			return err_set(err, -EFBIG,
				"what is around the items is longer than %zu bytes",
				KUBE_PIECES_FRAME_MAX);
	}
	return code;
}

int kube_pieces_feed(struct kube_pieces *pieces, struct span data, struct err *err)
{
	return pieces->list ? feed_list(pieces, data, err) : feed_sequence(pieces, data, err);
}

/* `items` holds objects only, or null for none. Without the member the text is no list: it is
 * not read as an empty one. */
static bool has_items_only(const struct kube_pieces *pieces, const struct json *frame)
{
	const struct json *items = json_get(frame, "items");

	if (!json_is(items, JSON_ARRAY))
		return json_is(items, JSON_NULL);
	if (json_array_count(items) != pieces->count)
		return false;
	JSON_EACH_ITEM (items, item) {
		if (!json_is(item, JSON_NUMBER))
			return false;
	}
	return true;
}

int kube_pieces_end(struct kube_pieces *pieces, struct arena *arena, struct json **ret_frame,
	struct err *err)
{
	struct json *frame;
	int code;

	if (pieces->in_piece || (pieces->list && !pieces->complete))
		return err_set(err, -EPROTO, "the answer ends in the middle");
	if (!pieces->list)
		return 0;
	code = json_parse(arena_copy_span(arena, buffer_span(&pieces->frame)), arena, &frame, err);
	if (code < 0)
		return code == -EINVAL ? err_set(err, -EPROTO, "the answer is not JSON") : code;
	if (!has_items_only(pieces, frame))
		return err_set(err, -EPROTO, "the answer is not a list of objects");
	*ret_frame = frame;
	return 0;
}
