/*
 * WebSocket (RFC 6455) frames, a client's side, as bytes: no sockets here. Messages are put together from
 * their frames up to a limit; pings and closes in between are given as they come. Inside kube/ only.
 */
#ifndef KUBE_WEBSOCKET_H
#define KUBE_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/random.h"
#include "base/span.h"

#define WEBSOCKET_MESSAGE_MAX ((size_t)1024 * 1024)
#define WEBSOCKET_KEY_SIZE 25    /* base64 of 16 bytes, with the NUL */
#define WEBSOCKET_ACCEPT_SIZE 29 /* base64 of a SHA-1, with the NUL */

enum websocket_type {
	WEBSOCKET_CONTINUATION = 0,
	WEBSOCKET_TEXT = 1,
	WEBSOCKET_BINARY = 2,
	WEBSOCKET_CLOSE = 8,
	WEBSOCKET_PING = 9,
	WEBSOCKET_PONG = 10,
};

/* A client's Sec-WebSocket-Key, and the Sec-WebSocket-Accept that the server must answer. */
void websocket_make_key(struct random *random, char ret_key[WEBSOCKET_KEY_SIZE]);
void websocket_accept(const char *key, char ret_accept[WEBSOCKET_ACCEPT_SIZE]);

/* One message in one frame, masked as a client must. */
void websocket_write(struct buffer *out, enum websocket_type type, struct span payload,
	struct random *random);

struct websocket_reader {
	/* Set by the caller. 0 to go on, or a negative code. The payload lives during the call only. */
	int (*message)(void *context, enum websocket_type type, struct span payload,
		struct err *err);
	void *context;

	/* Own. */
	struct buffer in;         /* bytes of frames that are not complete */
	struct buffer message_in; /* a message whose end has not come */
	enum websocket_type message_type;
	bool in_message;
};
void websocket_reader_clear(struct websocket_reader *reader);
/* -EPROTO: not what a server may send; -EFBIG: a message beyond its limit; or what message() returned. */
int websocket_read(struct websocket_reader *reader, struct span data, struct err *err);

#endif
