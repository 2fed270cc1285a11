/*
 * Approvals: users agree to a plan, or one of them rejects it, before a deadline. An approval is bound to a subject (a
 * stage of a deployment, a node of a flow) and to a digest of everything that is approved; when the digest changes, the
 * votes are void. Pure: the same votes and time give the same state, and the deadline survives restarts.
 */
#ifndef DELIVERY_APPROVAL_H
#define DELIVERY_APPROVAL_H

#include "base/json.h"

#define APPROVAL_VOTES_MAX 100
#define APPROVAL_COMMENT_MAX 1024
#define APPROVAL_DIGEST_SIZE 65 /* 64 hex digits */

struct approval_vote {
	struct span user, comment;
	int64_t at_ms;
	bool approves;
};

struct approval {
	struct span subject, digest;
	const struct span *approvers; /* none: every user that may write */
	size_t approver_count;
	int64_t minimum;       /* different users that must approve; 0 counts as 1 */
	struct span requester; /* "": unknown */
	bool refuses_requester;
	int64_t deadline_ms; /* 0: none */
	struct approval_vote *votes;
	size_t vote_count;
};

enum approval_state {
	APPROVAL_WAITING,
	APPROVAL_APPROVED,
	APPROVAL_REJECTED, /* by the last vote */
	APPROVAL_TIMED_OUT,
};

/* A later vote does not change an approval, rejection or timeout. */
enum approval_state approval_state(const struct approval *approval, int64_t now_ms);

/* Adds a vote; a user that votes the same again counts once. digest: of the plan that the user saw; "" if it was not
 * given. -EACCES: not an approver; -ESTALE: the plan has changed; -ETIMEDOUT; -EALREADY: it was decided; -E2BIG. */
int approval_add_vote(struct approval *approval, const struct approval_vote *vote,
	struct span digest, struct arena *arena, struct err *err);

/* Binds the approval to another digest. True: the digest was another one, and the votes are void. */
bool approval_bind(struct approval *approval, struct span digest);

/* The digest of texts, each with its length, so that no two lists have the same one. */
void approval_digest(const struct span *texts, size_t count, char out[APPROVAL_DIGEST_SIZE]);

struct json *approval_write(const struct approval *approval, struct arena *arena);
/* Texts point into the value. -EINVAL: it is none. */
int approval_read(const struct json *value, struct arena *arena, struct approval *ret_approval,
	struct err *err);

#endif
