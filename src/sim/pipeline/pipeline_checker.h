/*
 * The invariants of deployments, from the recorded calls and from the remote ECS as it is. Shares nothing with the engine.
 *
 * I1  No target group with weight, and no name, is without a healthy task; and by names as many healthy tasks are
 *     registered as the pipeline leaves room for.
 * I2  What the engine stops has no weight, and no client can have its address.
 * I3  In the end there is one primary, no canary, weights are 100/0, and all tasks are registered.
 * I4  No set, service or task definition is created twice.
 * I5  Rules, instances and services of others are never changed.
 *
 * Besides, each call was journalled before it was sent.
 */
#ifndef SIM_PIPELINE_PIPELINE_CHECKER_H
#define SIM_PIPELINE_PIPELINE_CHECKER_H

#include "base/err.h"
#include "base/json.h"

struct pipeline_checker;
struct pipeline_sim;

enum pipeline_group { PIPELINE_NO_GROUP, PIPELINE_BLUE, PIPELINE_GREEN };

struct pipeline_checker *pipeline_checker_new(struct pipeline_sim *sim);
void pipeline_checker_free(struct pipeline_checker *checker);
int pipeline_checker_follow(struct pipeline_checker *checker, struct err *err);
void pipeline_checker_unfollow(struct pipeline_checker *checker);

#define PIPELINE_INTERRUPTED (-1) /* traffic may reach no task for a while */

/* From now on a deployment runs: so many tasks serve all the time, and there is a primary to return to. */
void pipeline_checker_begin(struct pipeline_checker *checker, int64_t floor);
/* A call that changes something is about to be sent. */
void pipeline_checker_before_call(struct pipeline_checker *checker, const char *operation,
	const struct json *request);
/* It was done. */
void pipeline_checker_after_call(struct pipeline_checker *checker, const char *operation,
	const struct json *request, const struct json *answer);
/* A target group of the pair to which no rule gives weight. */
enum pipeline_group pipeline_checker_find_unused(struct pipeline_checker *checker);
/* From now on calls and moments are noted. */
void pipeline_checker_note(struct pipeline_checker *checker);
void pipeline_checker_take_notes(struct pipeline_checker *checker, char **ret_calls,
	char **ret_moments);
/* The most instances that the name for previews had at one moment. */
unsigned pipeline_checker_most_previewed(const struct pipeline_checker *checker);
/* I3. The primary runs that revision. */
void pipeline_checker_check_end(struct pipeline_checker *checker, int64_t revision);
/* "1 primary of abc:2 with 2 tasks, 0 canaries, weights 100/0, 2 registered", the same for the same end. */
/* After a deployment that keeps the old tasks: they get no traffic. */
void pipeline_checker_check_kept(struct pipeline_checker *checker);
void pipeline_checker_describe(struct pipeline_checker *checker, struct buffer *out);

#endif
