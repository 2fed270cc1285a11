/* See the header. */
#include "delivery/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "aws/service.h"
#include "base/memory.h"

struct delivery_stream {
	const struct delivery_stream_type *type;
	const struct delivery_stream_source *source;
	void *state;
	bool in_snapshot;
	uint64_t position;   /* everything up to here was sent */
	struct buffer *out;  /* of the current read */
	struct buffer first; /* read ahead, to check the position */
};

/* ---- lines ---- */

static void write_line(const struct delivery_stream *stream, const char *change, uint64_t position,
	const struct json *document, struct buffer *out)
{
	buffer_format(out, "{\"change\":\"%s\"", change);
	if (position > 0)
		buffer_format(out, ",\"entityVersion\":%llu", (unsigned long long)position);
	if (document) {
		buffer_format(out, ",\"%s\":", stream->type->member);
		json_write(document, out);
	}
	buffer_add_string(out, "}\n");
}

void delivery_stream_write_position(const struct delivery_stream *stream, struct buffer *out)
{
	int64_t observed_ms =
		stream->source->observed_ms ? stream->source->observed_ms(stream->state) : 0;

	if (stream->in_snapshot)
		return;
	if (observed_ms == 0)
		write_line(stream, "position", stream->position, NULL, out);
	else
		buffer_format(out,
			"{\"change\":\"position\",\"entityVersion\":%llu,\"observedAt\":%lld.%03d}"
			"\n",
			(unsigned long long)stream->position, (long long)(observed_ms / 1000),
			(int)(observed_ms % 1000));
}

void delivery_stream_write_end(const struct delivery_stream *stream, const char *reason,
	struct buffer *out)
{
	buffer_add_string(out, "{\"change\":\"end\"");
	if (!stream->in_snapshot)
		buffer_format(out, ",\"entityVersion\":%llu", (unsigned long long)stream->position);
	buffer_format(out, ",\"reason\":\"%s\"}\n", reason);
}

/* ---- reports of the source ---- */

void delivery_stream_report_existing(struct delivery_stream *stream, const struct json *document)
{
	if (document)
		write_line(stream, "snapshot", 0, document, stream->out);
}

/* Whether clients see a difference. */
static bool differ(const struct delivery_stream_type *type, const struct json *before,
	const struct json *after)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *one, *other;

	if (!type->revision)
		return !json_equal(before, after);
	one = json_copy_object(arena, before);
	other = json_copy_object(arena, after);
	json_unset(one, type->revision);
	json_unset(other, type->revision);
	return !json_equal(one, other);
}

void delivery_stream_report_change(struct delivery_stream *stream, uint64_t position,
	struct json *before, struct json *after)
{
	stream->position = position;
	if (before && after && !differ(stream->type, before, after))
		return;
	if (after)
		write_line(stream, "updated", position, after, stream->out);
	else if (before)
		write_line(stream, "deleted", position, before, stream->out);
}

/* ---- reading ---- */

int delivery_stream_read(struct delivery_stream *stream, struct buffer *out)
{
	int code;

	if (stream->first.length > 0) {
		buffer_add_span(out, buffer_span(&stream->first));
		buffer_clear(&stream->first);
		return 1;
	}
	stream->out = out;
	if (!stream->in_snapshot)
		return stream->source->read_changes(stream->state, stream);
	code = stream->source->read_snapshot(stream->state, stream);
	if (code < 0)
		return code;
	if (code == 0) {
		stream->in_snapshot = false;
		delivery_stream_write_position(stream, out);
	}
	return 1;
}

int delivery_stream_new(const struct delivery_stream_type *type,
	const struct delivery_stream_source *source, void *state, uint64_t position, bool resumes,
	struct delivery_stream **ret_stream, struct err *err)
{
	struct delivery_stream *stream = memory_allocate(sizeof(*stream));

	*stream = (struct delivery_stream){.type = type,
		.source = source,
		.state = state,
		.in_snapshot = !resumes,
		.position = position,
		.out = &stream->first};
	/* Only the first read shows whether the position is still kept. */
	if (resumes && source->read_changes(state, stream) < 0) {
		delivery_stream_free(stream);
		return err_set(err, -ESTALE,
			"entityVersion: %llu is too old, or not of this server; begin without it",
			(unsigned long long)position);
	}
	*ret_stream = stream;
	return 0;
}

void delivery_stream_free(struct delivery_stream *stream)
{
	if (!stream)
		return;
	stream->source->free(stream->state);
	buffer_clear(&stream->first);
	free(stream);
}

/* ---- operations ---- */

int delivery_stream_fail(struct aws_request *request, int code, const struct err *err)
{
	if (code == -ESTALE)
		return aws_fail(request, "EntityVersionTooOldException", "%s", err->message);
	aws_fail(request, "ServerException", "%s", err->message);
	request->failure.transient = true;
	return -EPERM;
}

bool delivery_stream_resumes(const struct aws_request *request, uint64_t *ret_position)
{
	int64_t position = 0;

	if (!json_integer(json_get(request->input, "entityVersion"), &position))
		return false;
	*ret_position = (uint64_t)position;
	return true;
}
