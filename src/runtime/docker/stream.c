/* Taking frames apart; see the header. */
#include "runtime/docker/stream.h"

#include <string.h>

static uint32_t length_of(const unsigned char *head)
{
	return (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 | (uint32_t)head[6] << 8 | head[7];
}

static size_t take_head(struct docker_stream *stream, struct span data)
{
	size_t wanted = DOCKER_FRAME_HEAD - stream->head_length;
	size_t taken = data.length < wanted ? data.length : wanted;

	memcpy(stream->head + stream->head_length, data.data, taken);
	stream->head_length += taken;
	return taken;
}

int docker_stream_feed(struct docker_stream *stream, struct span data, docker_stream_piece piece,
	void *context, struct err *err)
{
	while (data.length > 0) {
		bool begins = false;
		size_t taken;
		int code;

		if (stream->head_length < DOCKER_FRAME_HEAD) {
			taken = take_head(stream, data);
			data.data += taken;
			data.length -= taken;
			if (stream->head_length < DOCKER_FRAME_HEAD)
				return 0;
			if (stream->head[0] >= DOCKER_OUTPUT_COUNT || stream->head[1] ||
				stream->head[2] || stream->head[3])
				return err_set(err, -EPROTO,
					"the daemon sends no frames of outputs");
			stream->left = length_of(stream->head);
			begins = true;
		}
		taken = data.length < stream->left ? data.length : stream->left;
		stream->left -= (uint32_t)taken;
		code = piece(context, (enum docker_output)stream->head[0],
			(struct span){data.data, taken}, begins, stream->left == 0);
		data.data += taken;
		data.length -= taken;
		if (stream->left == 0)
			stream->head_length = 0;
		if (code != 0)
			return code;
	}
	return 0;
}
