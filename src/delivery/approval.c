/* See the header. */
#include "delivery/approval.h"

#include "aws/sigv4_hash.h"
#include "base/memory.h"

static const char *const states[] = {
	[APPROVAL_WAITING] = "WAITING",
	[APPROVAL_APPROVED] = "APPROVED",
	[APPROVAL_REJECTED] = "REJECTED",
	[APPROVAL_TIMED_OUT] = "TIMED_OUT",
};

static int64_t minimum_of(const struct approval *approval)
{
	return approval->minimum > 0 ? approval->minimum : 1;
}

/* Votes are accepted only while the approval waits, so their order and times need no second look. */
static enum approval_state state_of_votes(const struct approval *approval)
{
	int64_t approvals = 0;

	for (size_t i = 0; i < approval->vote_count; i++) {
		if (!approval->votes[i].approves)
			return APPROVAL_REJECTED;
		approvals++;
	}
	return approvals >= minimum_of(approval) ? APPROVAL_APPROVED : APPROVAL_WAITING;
}

enum approval_state approval_state(const struct approval *approval, int64_t now_ms)
{
	enum approval_state state = state_of_votes(approval);

	if (state == APPROVAL_WAITING && approval->deadline_ms > 0 &&
		now_ms >= approval->deadline_ms)
		return APPROVAL_TIMED_OUT;
	return state;
}

static bool is_approver(const struct approval *approval, struct span user)
{
	for (size_t i = 0; i < approval->approver_count; i++) {
		if (span_equal(approval->approvers[i], user))
			return true;
	}
	return approval->approver_count == 0;
}

static int check_vote(const struct approval *approval, const struct approval_vote *vote,
	struct span digest, struct err *err)
{
	enum approval_state state = approval_state(approval, vote->at_ms);

	if (state == APPROVAL_TIMED_OUT)
		return err_set(err, -ETIMEDOUT, "the deadline of the approval has passed");
	if (state != APPROVAL_WAITING)
		return err_set(err, -EALREADY, "the approval was decided: %s", states[state]);
	if (vote->user.length == 0 || !is_approver(approval, vote->user))
		return err_set(err, -EACCES, "user \"%.*s\" is not an approver",
			SPAN_ARGS(vote->user));
	if (vote->approves && approval->refuses_requester &&
		span_equal(vote->user, approval->requester))
		return err_set(err, -EACCES, "user \"%.*s\" requested this and may not approve it",
			SPAN_ARGS(vote->user));
	if (digest.length > 0 && !span_equal(digest, approval->digest))
		return err_set(err, -ESTALE, "the plan has changed; look at it again");
	if (vote->comment.length > APPROVAL_COMMENT_MAX)
		return err_set(err, -E2BIG, "comment has more than %d bytes", APPROVAL_COMMENT_MAX);
	return 0;
}

int approval_add_vote(struct approval *approval, const struct approval_vote *vote,
	struct span digest, struct arena *arena, struct err *err)
{
	struct approval_vote *votes;
	int code = check_vote(approval, vote, digest, err);

	if (code < 0)
		return code;
	/* Only approvals are there while it waits. */
	for (size_t i = 0; vote->approves && i < approval->vote_count; i++) {
		if (span_equal(approval->votes[i].user, vote->user))
			return 0;
	}
	if (approval->vote_count == APPROVAL_VOTES_MAX)
		return err_set(err, -E2BIG, "more than %d votes", APPROVAL_VOTES_MAX);
	votes = arena_allocate_array(arena, approval->vote_count + 1, sizeof(*votes));
	if (approval->vote_count > 0)
		memcpy(votes, approval->votes, approval->vote_count * sizeof(*votes));
	votes[approval->vote_count] = (struct approval_vote){arena_copy_span(arena, vote->user),
		arena_copy_span(arena, vote->comment.data ? vote->comment : SPAN("")), vote->at_ms,
		vote->approves};
	approval->votes = votes;
	approval->vote_count++;
	return 0;
}

bool approval_bind(struct approval *approval, struct span digest)
{
	if (span_equal(approval->digest, digest))
		return false;
	approval->digest = digest;
	approval->votes = NULL;
	approval->vote_count = 0;
	return true;
}

void approval_digest(const struct span *texts, size_t count, char out[APPROVAL_DIGEST_SIZE])
{
	_buffer_ struct buffer all = {0};
	_sigv4_hash_ struct sigv4_hash hash;
	unsigned char digest[SIGV4_HASH_SIZE];
	char hex[SIGV4_HEX_SIZE];

	for (size_t i = 0; i < count; i++) {
		buffer_format(&all, "%zu:", texts[i].length);
		buffer_add_span(&all, texts[i]);
	}
	sigv4_hash_open(&hash);
	sigv4_hash_digest(&hash, buffer_span(&all), digest);
	sigv4_hash_hex(digest, hex);
	memcpy(out, hex, APPROVAL_DIGEST_SIZE - 1);
	out[APPROVAL_DIGEST_SIZE - 1] = '\0';
}

/* ---- records ---- */

struct json *approval_write(const struct approval *approval, struct arena *arena)
{
	struct json *value = json_new_object(arena), *approvers = json_new_array(arena),
		    *votes = json_new_array(arena);

	json_set_string(arena, value, "subject", approval->subject);
	json_set_string(arena, value, "digest", approval->digest);
	for (size_t i = 0; i < approval->approver_count; i++)
		json_append(arena, approvers, json_new_string(arena, approval->approvers[i]));
	json_set(arena, value, "approvers", approvers);
	json_set_integer(arena, value, "minimum", minimum_of(approval));
	if (approval->requester.length > 0)
		json_set_string(arena, value, "requester", approval->requester);
	json_set_bool(arena, value, "refusesRequester", approval->refuses_requester);
	if (approval->deadline_ms > 0)
		json_set_integer(arena, value, "deadline", approval->deadline_ms);
	for (size_t i = 0; i < approval->vote_count; i++) {
		const struct approval_vote *vote = &approval->votes[i];
		struct json *item = json_new_object(arena);

		json_set_string(arena, item, "user", vote->user);
		json_set_bool(arena, item, "approves", vote->approves);
		json_set_integer(arena, item, "at", vote->at_ms);
		if (vote->comment.length > 0)
			json_set_string(arena, item, "comment", vote->comment);
		json_append(arena, votes, item);
	}
	json_set(arena, value, "votes", votes);
	return value;
}

static struct span text_of(const struct json *object, const char *name)
{
	struct span text = json_get_text(object, name);

	return text.data ? text : SPAN("");
}

static int read_approvers(const struct json *list, struct arena *arena, struct approval *approval)
{
	struct span *approvers =
		arena_allocate_array(arena, json_array_count(list) + 1, sizeof(*approvers));

	JSON_EACH_ITEM (list, item) {
		struct span user = json_text(item);

		if (!user.data)
			return -EINVAL;
		approvers[approval->approver_count++] = user;
	}
	approval->approvers = approvers;
	return 0;
}

static int read_votes(const struct json *list, struct arena *arena, struct approval *approval)
{
	approval->votes =
		arena_allocate_array(arena, json_array_count(list) + 1, sizeof(*approval->votes));
	JSON_EACH_ITEM (list, item) {
		struct approval_vote vote = {.user = text_of(item, "user"),
			.comment = text_of(item, "comment"),
			.at_ms = json_get_integer(item, "at", 0),
			.approves = json_get_bool(item, "approves", false)};

		if (vote.user.length == 0)
			return -EINVAL;
		approval->votes[approval->vote_count++] = vote;
	}
	return 0;
}

int approval_read(const struct json *value, struct arena *arena, struct approval *ret_approval,
	struct err *err)
{
	struct approval approval = {.subject = text_of(value, "subject"),
		.digest = text_of(value, "digest"),
		.minimum = json_get_integer(value, "minimum", 1),
		.requester = text_of(value, "requester"),
		.refuses_requester = json_get_bool(value, "refusesRequester", false),
		.deadline_ms = json_get_integer(value, "deadline", 0)};

	if (!json_is(value, JSON_OBJECT) || approval.subject.length == 0 ||
		json_array_count(json_get(value, "votes")) > APPROVAL_VOTES_MAX ||
		read_approvers(json_get(value, "approvers"), arena, &approval) < 0 ||
		read_votes(json_get(value, "votes"), arena, &approval) < 0)
		return err_set(err, -EINVAL,
			"record of an approval: expected a subject, approvers and votes");
	*ret_approval = approval;
	return 0;
}
