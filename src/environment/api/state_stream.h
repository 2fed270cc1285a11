/*
 * Streams of changes: tasks or container instances of the caller's clusters in this server, one JSON object a line, in
 * the order of the store; or of one remote cluster, in the order in which the observer receives them. Every line from
 * which a stream can be resumed has an `entityVersion`: a client that returns with the last one gets all later changes
 * once, or an error that the version is too old and the client must begin anew.
 *
 *   {"change":"snapshot","task":{…}}                      a new stream: the existing objects
 *   {"change":"position","entityVersion":7}               the snapshot is complete; and from time to time without changes
 *   {"change":"updated","entityVersion":8,"task":{…}}
 *   {"change":"deleted","entityVersion":9,"task":{…}}     its last state
 *   {"change":"end","entityVersion":9,"reason":"…"}       SLOW_CONSUMER, TOO_OLD, SHUTTING_DOWN: come back
 *
 * In a remote cluster a position also has the time of the last complete listing (`observedAt`).
 *
 * A change that clients do not see is not sent. Nothing is kept for a reader: it reads from the store's feed, or from the
 * change log of the cluster (delivery/observe/change_log.h).
 */
#ifndef ENVIRONMENT_API_STATE_STREAM_H
#define ENVIRONMENT_API_STATE_STREAM_H

#include "aws/service.h"

struct observer;

#define STATE_STREAM_BATCH 256 /* objects or changes of one read */

struct state_stream;

struct state_stream_config {
	struct store *store;
	struct observer *state;          /* NULL: there is none */
	const struct aws_caller *caller; /* copied */
	/* The answer of state_stream_check(): cluster, environment, entityVersion; for a remote cluster also its cluster_ref. */
	const struct json *input;
	bool instances; /* not tasks */
	/* There may be something to read. From the writer's thread: must not block. */
	void (*wake)(void *context);
	void *context;
};

/* -ESTALE: its entityVersion is too old, or of another store or cluster; -EAGAIN: nothing is known of the cluster. */
int state_stream_open(const struct state_stream_config *config, struct state_stream **ret_stream,
	struct err *err);
void state_stream_free(struct state_stream *stream); /* NULL is fine */

/* Adds lines. 1: there may be more; 0: not now. -EOVERFLOW: it was too slow, and has to begin anew. */
int state_stream_read(struct state_stream *stream, struct buffer *out);
/* A line with the position. */
void state_stream_report_position(const struct state_stream *stream, struct buffer *out);
/* The last line. */
void state_stream_report_end(const struct state_stream *stream, const char *reason,
	struct buffer *out);

#endif
