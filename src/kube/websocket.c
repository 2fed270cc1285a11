#include "kube/websocket.h"

#include <openssl/evp.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/memory.h"

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#define CONTROL_MAX 125

void websocket_make_key(struct random *random, char ret_key[WEBSOCKET_KEY_SIZE])
{
	_buffer_ struct buffer out = {0};
	char bytes[16];

	random->fill(random, bytes, sizeof(bytes));
	base64_encode((struct span){bytes, sizeof(bytes)}, &out);
	memcpy(ret_key, out.data, WEBSOCKET_KEY_SIZE);
}

void websocket_accept(const char *key, char ret_accept[WEBSOCKET_ACCEPT_SIZE])
{
	_buffer_ struct buffer out = {0}, text = {0};
	unsigned char hash[EVP_MAX_MD_SIZE];
	unsigned length = 0;

	buffer_format(&text, "%s" GUID, key);
	if (EVP_Digest(text.data, text.length, hash, &length, EVP_sha1(), NULL) != 1)
		abort(); /* no memory */
	base64_encode((struct span){(const char *)hash, length}, &out);
	memcpy(ret_accept, out.data, WEBSOCKET_ACCEPT_SIZE);
}

/* ---- writing ---- */

static void write_big_endian(struct buffer *out, uint64_t value, size_t bytes)
{
	for (size_t i = bytes; i-- > 0;)
		buffer_add_char(out, (char)(value >> (8 * i) & 0xff));
}

void websocket_write(struct buffer *out, enum websocket_type type, struct span payload,
	struct random *random)
{
	char mask[4];
	char *to;

	random->fill(random, mask, sizeof(mask));
	buffer_add_char(out, (char)(0x80 | (int)type));
	if (payload.length <= CONTROL_MAX) {
		buffer_add_char(out, (char)(0x80 | (int)payload.length));
	} else if (payload.length <= UINT16_MAX) {
		buffer_add_char(out, (char)(0x80 | 126));
		write_big_endian(out, payload.length, 2);
	} else {
		buffer_add_char(out, (char)(0x80 | 127));
		write_big_endian(out, payload.length, 8);
	}
	buffer_add(out, mask, sizeof(mask));
	to = buffer_reserve(out, payload.length);
	if (!to)
		return;
	for (size_t i = 0; i < payload.length; i++)
		to[i] = (char)(payload.data[i] ^ mask[i % 4]);
	out->length += payload.length;
	out->data[out->length] = '\0';
}

/* ---- reading ---- */

struct frame {
	bool final;
	enum websocket_type type;
	size_t header_length;
	uint64_t length;
};

void websocket_reader_clear(struct websocket_reader *reader)
{
	buffer_clear(&reader->in);
	buffer_clear(&reader->message_in);
}

/* 1: there is a whole header; 0: not yet. */
static int read_header(struct span in, struct frame *frame, struct err *err)
{
	const unsigned char *byte = (const unsigned char *)in.data;
	size_t extra = 0;

	if (in.length < 2)
		return 0;
	frame->final = byte[0] & 0x80;
	frame->type = (enum websocket_type)(byte[0] & 0x0f);
	frame->length = byte[1] & 0x7f;
	if (byte[0] & 0x70)
		return err_set(err, -EPROTO, "a WebSocket frame of an extension");
	if (byte[1] & 0x80)
		return err_set(err, -EPROTO, "a masked WebSocket frame from a server");
	if (frame->length >= 126)
		extra = frame->length == 126 ? 2 : 8;
	if (in.length < 2 + extra)
		return 0;
	if (extra > 0)
		frame->length = 0;
	for (size_t i = 0; i < extra; i++)
		frame->length = frame->length << 8 | byte[2 + i];
	frame->header_length = 2 + extra;
	return 1;
}

static int check_frame(const struct websocket_reader *reader, const struct frame *frame,
	struct err *err)
{
	switch (frame->type) {
	case WEBSOCKET_CLOSE:
	case WEBSOCKET_PING:
	case WEBSOCKET_PONG:
		if (frame->final && frame->length <= CONTROL_MAX)
			return 0;
		break;
	case WEBSOCKET_CONTINUATION:
		if (reader->in_message)
			return 0;
		break;
	case WEBSOCKET_TEXT:
	case WEBSOCKET_BINARY:
		if (!reader->in_message)
			return 0;
		break;
	default: break;
	}
	return err_set(err, -EPROTO, "a WebSocket frame of type %d out of place", (int)frame->type);
}

static int take_frame(struct websocket_reader *reader, const struct frame *frame,
	struct span payload, struct err *err)
{
	int code;

	if (frame->type >= WEBSOCKET_CLOSE)
		return reader->message(reader->context, frame->type, payload, err);
	if (frame->type != WEBSOCKET_CONTINUATION)
		reader->message_type = frame->type;
	/* The usual case: a message that is one frame is not copied. */
	if (frame->final && !reader->in_message)
		return reader->message(reader->context, frame->type, payload, err);
	if (payload.length > WEBSOCKET_MESSAGE_MAX - reader->message_in.length)
		return err_set(err, -EFBIG, "a WebSocket message is longer than %zu bytes",
			WEBSOCKET_MESSAGE_MAX);
	buffer_add_span(&reader->message_in, payload);
	reader->in_message = !frame->final;
	if (!frame->final)
		return 0;
	code = reader->message(reader->context, reader->message_type,
		buffer_span(&reader->message_in), err);
	buffer_reset(&reader->message_in);
	return code;
}

/* 1: a frame was taken; 0: there is none yet. */
static int read_frame(struct websocket_reader *reader, struct span *in, struct err *err)
{
	struct span payload;
	struct frame frame;
	int code;

	code = read_header(*in, &frame, err);
	if (code <= 0)
		return code;
	code = check_frame(reader, &frame, err);
	if (code < 0)
		return code;
	if (frame.length > WEBSOCKET_MESSAGE_MAX)
		return err_set(err, -EFBIG, "a WebSocket message is longer than %zu bytes",
			WEBSOCKET_MESSAGE_MAX);
	if (in->length - frame.header_length < frame.length)
		return 0;
	payload = (struct span){in->data + frame.header_length, (size_t)frame.length};
	in->data += frame.header_length + payload.length;
	in->length -= frame.header_length + payload.length;
	code = take_frame(reader, &frame, payload, err);
	return code == 0 ? 1 : code;
}

int websocket_read(struct websocket_reader *reader, struct span data, struct err *err)
{
	struct span in;
	int code = 1;

	buffer_add_span(&reader->in, data);
	in = buffer_span(&reader->in);
	while (code == 1)
		code = read_frame(reader, &in, err);
	buffer_consume(&reader->in, reader->in.length - in.length);
	return code;
}
