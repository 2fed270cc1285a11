/*
 * Jobs: work of a controller that blocks for long (scripts, queries to other servers), each on a thread of its own. A
 * worker begins a job and continues; when the job has ended, its key is reported, and the worker takes the result. Jobs are
 * not stored: after a restart there are none, so whatever began one must be able to begin it again, or to report that it
 * was interrupted.
 */
#ifndef DELIVERY_JOB_H
#define DELIVERY_JOB_H

#include "base/buffer.h"
#include "control/runner.h"
#include "io/http_client.h"

#define JOBS_MAX 64 /* at once */
#define JOB_KEY_MAX 600

struct jobs;

struct job {
	void *context;                          /* of jobs_begin() */
	int cancel;                             /* becomes readable when the job is to end */
	struct http_client_cancel *http_cancel; /* for calls with the client of jobs_new() */
	struct buffer result;
};

struct job_kind {
	void (*run)(struct job *job);
	void (*free)(void *context); /* when nothing needs it any more; NULL: none */
};

enum job_state {
	JOB_NONE,
	JOB_RUNNING,
	JOB_ENDED,
};

/* ended: reports the key, from the thread of the job. client may be NULL. */
struct jobs *jobs_new(struct runner *runner, struct http_client *client,
	void (*ended)(void *context, struct span key), void *context);
/* Ends all jobs and waits for them. The runner was stopped. NULL is fine. */
void jobs_free(struct jobs *jobs);

/* Takes the context, also if it fails. -EBUSY: too many run; -EEXIST: the key has a job; -ECANCELED: stopped. */
int jobs_begin(struct jobs *jobs, struct span key, const struct job_kind *kind, void *context,
	struct err *err);
/* ENDED: *ret_result, in the arena, and the job is forgotten. */
enum job_state jobs_take(struct jobs *jobs, struct span key, struct arena *arena,
	struct span *ret_result);
/* The same without taking anything. */
enum job_state jobs_find(struct jobs *jobs, struct span key);
/* Ends the job and forgets its result. */
void jobs_cancel(struct jobs *jobs, struct span key);

#endif
