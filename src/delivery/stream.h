/*
 * Resumable streams of changes, one JSON object a line, for any engine. Every line from which a stream can be resumed has
 * an `entityVersion`: a client that returns with the last one gets all later changes once, or an error that the version is
 * too old and the client must begin anew.
 *
 *   {"change":"snapshot","task":{…}}                      a new stream: the existing objects
 *   {"change":"position","entityVersion":7}               the snapshot is complete; and from time to time without changes
 *   {"change":"updated","entityVersion":8,"task":{…}}
 *   {"change":"deleted","entityVersion":9,"task":{…}}     its last state
 *   {"change":"end","entityVersion":9,"reason":"…"}       SLOW_CONSUMER, TOO_OLD, SHUTTING_DOWN: come back
 *
 * A source reads: store_stream.h from the store's feed, observe/cluster_stream.h from the change log of a remote cluster. Of
 * a source that is observed from time to time a position also has the moment of the last complete observation
 * (`observedAt`). A change that clients do not see is not sent, and nothing is kept for a reader.
 *
 * An engine lists its streams in a table (struct delivery_stream_operation), and the server adds that table to its own.
 */
#ifndef DELIVERY_STREAM_H
#define DELIVERY_STREAM_H

#include "base/buffer.h"
#include "base/json.h"

struct aws_request;
struct delivery_stream;

#define DELIVERY_STREAM_BATCH 256 /* objects or changes of one read */

/* Runs when there may be something to read: from any thread, and must not block. */
struct delivery_stream_wake {
	void (*function)(void *context);
	void *context;
};

/* The type of the objects of a stream. Outlives the stream. */
struct delivery_stream_type {
	const char *member; /* of a line, with the object: "task" */
	const char
		*revision; /* a member of the object that differs with every change; NULL: none */
};

/* One row per type of source. One thread at a time calls these. */
struct delivery_stream_source {
	/* Reports existing objects, DELIVERY_STREAM_BATCH at most. 1: there may be more; 0: these were the last. */
	int (*read_snapshot)(void *state, struct delivery_stream *stream);
	/* Reports changes likewise. 1: there may be more; 0: not now; -EOVERFLOW: some are no longer kept. */
	int (*read_changes)(void *state, struct delivery_stream *stream);
	int64_t (*observed_ms)(const void *state); /* optional */
	void (*free)(void *state);
};

/* For a source. Of the position: with it a client resumes. */
void delivery_stream_report_existing(struct delivery_stream *stream, const struct json *document);
/* An object as clients saw it and see it now; NULL: they do not. Both NULL: only the position advances. */
void delivery_stream_report_change(struct delivery_stream *stream, uint64_t position,
	struct json *before, struct json *after);

/* For what opens a source: takes over its state, also on failure. A stream that is not resumed begins with a snapshot, which
 * is as of the position. -ESTALE: the position of a resumed stream is too old, or of another source. */
int delivery_stream_new(const struct delivery_stream_type *type,
	const struct delivery_stream_source *source, void *state, uint64_t position, bool resumes,
	struct delivery_stream **ret_stream, struct err *err);

/* ---- reading ---- */

void delivery_stream_free(struct delivery_stream *stream); /* NULL is fine */
/* Adds lines. 1: there may be more; 0: not now. -EOVERFLOW: it was too slow, and has to begin anew. */
int delivery_stream_read(struct delivery_stream *stream, struct buffer *out);
/* A line with the position; none before the snapshot is complete. */
void delivery_stream_write_position(const struct delivery_stream *stream, struct buffer *out);
/* The last line. */
void delivery_stream_write_end(const struct delivery_stream *stream, const char *reason,
	struct buffer *out);

/* ---- operations ---- */

/* A row of an engine's table. */
struct delivery_stream_operation {
	const char *name; /* "StreamTasks" */
	/* Checks the request and opens what it asks for. Fails the request. */
	int (*open)(struct aws_request *request, struct delivery_stream_wake wake,
		struct delivery_stream **ret_stream);
};

/* Fails a request whose stream did not open, for the reason in err. */
int delivery_stream_fail(struct aws_request *request, int code, const struct err *err);
/* The `entityVersion` with which a request resumes a stream. */
bool delivery_stream_resumes(const struct aws_request *request, uint64_t *ret_position);

#endif
