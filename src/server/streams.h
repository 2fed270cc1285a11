/*
 * Streaming answers of a server: thousands of them on a constant number of threads.
 *
 * A stream has a source, which gives text when it is asked, and never blocks for a client. A few workers serve
 * all streams of a pool by a work queue: a stream is in the queue while it may have something to send, and waits
 * for its source's wake-up, its client or a time otherwise. So the memory and the order of turns are those of the
 * queue, and a stream whose client does not read costs nothing but its connection.
 */
#ifndef SERVER_STREAMS_H
#define SERVER_STREAMS_H

#include "base/buffer.h"
#include "control/runner.h"
#include "io/http_server.h"

struct streams;
struct stream;

enum stream_end {
	STREAM_END_COMPLETE,      /* the source has nothing more */
	STREAM_END_FAILED,        /* the source cannot continue */
	STREAM_END_SLOW_CONSUMER, /* the client did not read for STREAM_PATIENCE_US */
	STREAM_END_SHUTTING_DOWN,
};

/* When to call next: at once, or when the stream is woken, but not later than again_us after now. */
struct stream_turn {
	bool more;
	int64_t again_us; /* 0: when woken */
};

/* One worker at a time calls these. */
struct stream_operations {
	const char *content_type;
	/* Optional; before the answer begins. 0: it may. -EAGAIN: call again after ret_turn->again_us. Another code:
	 * refuse() answers instead. */
	int (*open)(void *source, struct stream_turn *ret_turn, struct err *err);
	void (*refuse)(void *source, struct http_exchange *exchange, int code,
		const struct err *err);
	/* Appends what there is. 0, or a negative code at the end: -ESHUTDOWN when everything was sent. */
	int (*read)(void *source, struct buffer *out, struct stream_turn *ret_turn);
	/* Optional: appends the last text for the client. */
	void (*end)(void *source, enum stream_end reason, struct buffer *out);
	void (*free)(void *source);
};

struct streams_config {
	struct runner *runner;
	const char *name;
	unsigned workers;
	unsigned most; /* streams at once */
};

#define STREAM_BEHIND_MAX                                                                          \
	((size_t)256 * 1024) /* that a client may be behind before its source is read again */
/* For a client that reads nothing: shorter than the listener's, so that the last line can be sent. */
#define STREAM_PATIENCE_US INT64_C(15000000)

int streams_open(const struct streams_config *config, struct streams **ret_streams,
	struct err *err);
/* Ends all streams, each with its last text, and waits a moment until clients have them. */
void streams_drain(struct streams *streams);
/* Ends the rest, when the HTTP server calls no handler any more, and the workers. */
void streams_stop(struct streams *streams);
/* When no exchange is left. NULL is fine, as for the two before. */
void streams_free(struct streams *streams);

/* Room for one more; NULL: there are too many, or the server is stopping (*ret_stopping). */
struct stream *stream_reserve(struct streams *streams, bool *ret_stopping);
/* Gives back the room of a stream that did not begin. */
void stream_release(struct stream *stream);
/* Takes over the source, and the exchange. */
void stream_begin(struct stream *stream, const struct stream_operations *operations, void *source,
	struct http_exchange *exchange);
/* There may be something to read. From any thread; does not block. Also before stream_begin(). */
void stream_wake(struct stream *stream);

#endif
