/* Messages out of frames; see the header. */
#include "runtime/docker/log_reader.h"

#include "runtime/docker/facts.h"

void docker_log_reader_begin(struct docker_log_reader *reader, struct docker_log_place had)
{
	reader->stream = (struct docker_stream){0};
	reader->had = reader->done = had;
	reader->seen = (struct docker_log_place){0};
	reader->stamp_length = 0;
	reader->in_text = reader->skips = false;
}

static bool is_had(const struct docker_log_reader *reader, int64_t at_ns)
{
	if (at_ns == 0 || at_ns > reader->had.at_ns)
		return false;
	return at_ns < reader->had.at_ns || reader->seen.count <= reader->had.count;
}

static void give(struct docker_log_reader *reader, struct span text)
{
	if (!reader->skips && text.length > 0)
		reader->text(reader->context, reader->at_ns, text);
}

/* The time is complete, or there is none: then the bytes so far are text. */
static void begin_text(struct docker_log_reader *reader)
{
	struct span stamp = {reader->stamp, reader->stamp_length};
	size_t length = 0;
	int64_t at_ns = docker_parse_time(stamp, &length);

	if (at_ns && at_ns == reader->seen.at_ns)
		reader->seen.count++;
	else if (at_ns)
		reader->seen = (struct docker_log_place){.at_ns = at_ns, .count = 1};
	reader->at_ns = at_ns;
	reader->skips = is_had(reader, at_ns);
	reader->in_text = true;
	if (at_ns == 0)
		length = 0;
	else if (length < stamp.length && stamp.data[length] == ' ')
		length++;
	give(reader, (struct span){stamp.data + length, stamp.length - length});
}

static int take_piece(void *context, enum docker_output output, struct span data, bool begins,
	bool ends)
{
	struct docker_log_reader *reader = context;

	(void)output;
	if (begins) {
		reader->stamp_length = 0;
		reader->in_text = reader->skips = false;
	}
	while (!reader->in_text && data.length > 0) {
		char c = data.data[0];

		reader->stamp[reader->stamp_length++] = c;
		data.data++;
		data.length--;
		if (c == ' ' || reader->stamp_length == DOCKER_STAMP_MAX)
			begin_text(reader);
	}
	if (!reader->in_text && ends)
		begin_text(reader);
	give(reader, data);
	/* A late message with an older time is new, but not the last. */
	if (ends && reader->seen.at_ns >= reader->done.at_ns &&
		!(reader->seen.at_ns == reader->done.at_ns &&
			reader->seen.count < reader->done.count))
		reader->done = reader->seen;
	return 0;
}

int docker_log_reader_feed(struct docker_log_reader *reader, struct span data, struct err *err)
{
	return docker_stream_feed(&reader->stream, data, take_piece, reader, err);
}
