/* See the header. */
#include "aws/signer.h"

#include <stdio.h>

#include "base/lock.h"
#include "base/memory.h"

#define STS_ATTEMPTS 2
#define STS_TIMEOUT_MS 5000

struct aws_signer {
	struct runner *runner;
	/* Asks anew: credentials in the arena, and until when (wall time) they are good. */
	int (*fetch)(struct aws_signer *signer, struct arena *arena,
		struct sigv4_credentials *ret_credentials, int64_t *ret_renew_ms,
		int64_t *ret_end_ms, struct err *err);
	struct runner_event *changed;
	const struct aws_key_source *source; /* of a key */
	struct aws_credential_chain chain;
	struct http_client_cancel cancel; /* of the chain */
	struct aws_target *sts;           /* of a role */
	struct arena *texts;
	struct aws_role role;

	struct lock lock; /* for all below */
	bool fetching;
	struct arena *kept; /* of the credentials; NULL: there are none */
	struct sigv4_credentials credentials;
	int64_t renew_ms, end_ms;
	int64_t again_us; /* no fetch before, after one that failed */
	int64_t delay_ms;
	struct err failure; /* of the last one; code 0: it was none */
};

/* ---- keys ---- */

static int fetch_key(struct aws_signer *signer, struct arena *arena,
	struct sigv4_credentials *ret_credentials, int64_t *ret_renew_ms, int64_t *ret_end_ms,
	struct err *err)
{
	*ret_renew_ms = *ret_end_ms = runner_wall_ms(signer->runner) + AWS_SIGNER_KEY_MS;
	return aws_key_source_read(signer->source, arena, ret_credentials, err);
}

/* When to renew a session that is good from now until its end. */
static int64_t renew_ms(int64_t now_ms, int64_t end_ms)
{
	int64_t margin_ms = (end_ms - now_ms) / 4; /* of one that is short, the last quarter */

	return end_ms - (margin_ms < AWS_SIGNER_MARGIN_MS ? margin_ms : AWS_SIGNER_MARGIN_MS);
}

/* ---- the chain's results ---- */

static int fetch_chain(struct aws_signer *signer, struct arena *arena,
	struct sigv4_credentials *ret_credentials, int64_t *ret_renew_ms, int64_t *ret_end_ms,
	struct err *err)
{
	int64_t began_ms = runner_wall_ms(signer->runner), end_ms;
	int code = aws_credential_chain_read(&signer->chain, arena, ret_credentials, &end_ms, err);

	if (code < 0)
		return code;
	if (end_ms != 0 && end_ms <= began_ms)
		return err_set(err, -EPROTO,
			"the credentials have expired already; do the clocks differ?");
	*ret_end_ms = end_ms != 0 ? end_ms : began_ms + AWS_SIGNER_KEY_MS;
	*ret_renew_ms = end_ms != 0 ? renew_ms(began_ms, end_ms) : *ret_end_ms;
	return 0;
}

/* ---- roles ---- */

static struct json *assume_request(const struct aws_signer *signer, struct arena *arena)
{
	struct json *request = json_new_object(arena);

	json_set_string(arena, request, "RoleArn", span_of(signer->role.arn));
	json_set_string(arena, request, "RoleSessionName", span_of(signer->role.session));
	json_set_integer(arena, request, "DurationSeconds", AWS_SIGNER_SESSION_S);
	if (signer->role.external_id)
		json_set_string(arena, request, "ExternalId", span_of(signer->role.external_id));
	return request;
}

static int fetch_session(struct aws_signer *signer, struct arena *arena,
	struct sigv4_credentials *ret_credentials, int64_t *ret_renew_ms, int64_t *ret_end_ms,
	struct err *err)
{
	_arena_ struct arena *scratch = arena_new(0);
	int64_t began_ms = runner_wall_ms(signer->runner);
	struct json *answer;
	int code = aws_call(signer->sts, "sts", "AssumeRole", assume_request(signer, scratch),
		scratch, &answer, NULL, err);

	if (code == 0)
		code = aws_session_read(answer, "AssumeRole", arena, ret_credentials, ret_end_ms,
			err);
	if (code == 0 && *ret_end_ms <= began_ms)
		code = err_set(err, -EPROTO,
			"sts AssumeRole: the session has expired already; do the clocks differ?");
	if (code < 0)
		return err_prefix(err, code, "role '%s'", signer->role.arn);
	*ret_renew_ms = renew_ms(began_ms, *ret_end_ms);
	return 0;
}

/* ---- getting them ---- */

static void copy_credentials(const struct sigv4_credentials *from, struct arena *arena,
	struct sigv4_credentials *ret_copy)
{
	ret_copy->access_key = arena_copy_span(arena, from->access_key);
	ret_copy->secret = arena_copy_span(arena, from->secret);
	ret_copy->session_token =
		from->session_token.data ? arena_copy_span(arena, from->session_token) : SPAN_NONE;
}

static void keep(struct aws_signer *signer, struct arena *arena,
	const struct sigv4_credentials *credentials, int64_t renew_ms, int64_t end_ms)
{
	arena_free(signer->kept);
	signer->kept = arena;
	signer->credentials = *credentials;
	signer->renew_ms = renew_ms;
	signer->end_ms = end_ms;
	signer->delay_ms = 0;
	signer->failure.code = 0;
}

static void note_failure(struct aws_signer *signer, const struct err *err)
{
	int64_t delay_ms = signer->delay_ms ? 2 * signer->delay_ms : AWS_SIGNER_AGAIN_MS;

	signer->failure = *err;
	signer->delay_ms =
		delay_ms < AWS_SIGNER_AGAIN_MOST_MS ? delay_ms : AWS_SIGNER_AGAIN_MOST_MS;
	signer->again_us = runner_deadline_us(signer->runner, signer->delay_ms * 1000);
}

static int fetch(struct aws_signer *signer)
{
	struct arena *arena = arena_new(0);
	struct sigv4_credentials credentials = {0};
	int64_t renew_ms = 0, end_ms = 0;
	struct err err = {0};
	int code = signer->fetch(signer, arena, &credentials, &renew_ms, &end_ms, &err);

	lock_take(&signer->lock);
	signer->fetching = false;
	if (code == 0) {
		keep(signer, arena, &credentials, renew_ms, end_ms);
	} else {
		arena_free(arena);
		if (code != -ECANCELED)
			note_failure(signer, &err);
	}
	lock_release(&signer->lock);
	runner_signal(signer->changed);
	return code == -ECANCELED ? code : 0;
}

enum standing { STANDING_GOT, STANDING_FETCH, STANDING_WAIT, STANDING_FAILED };

/* The next action of the signer; under the lock. */
static enum standing stand(struct aws_signer *signer)
{
	int64_t now_ms = runner_wall_ms(signer->runner);
	bool good = signer->kept && now_ms < signer->end_ms;

	if (signer->kept && now_ms < signer->renew_ms)
		return STANDING_GOT;
	if (!signer->fetching &&
		(!signer->failure.code || runner_now_us(signer->runner) >= signer->again_us)) {
		signer->fetching = true;
		return STANDING_FETCH;
	}
	if (good)
		return STANDING_GOT;
	return signer->fetching ? STANDING_WAIT : STANDING_FAILED;
}

int aws_signer_get(struct aws_signer *signer, struct arena *arena,
	struct sigv4_credentials *ret_credentials, struct err *err)
{
	for (;;) {
		uint64_t seen = runner_event_count(signer->changed);
		enum standing standing;
		int code = 0;

		lock_take(&signer->lock);
		standing = stand(signer);
		if (standing == STANDING_GOT)
			copy_credentials(&signer->credentials, arena, ret_credentials);
		else if (standing == STANDING_FAILED)
			err_set(err, -EACCES, "%s", signer->failure.message);
		lock_release(&signer->lock);
		if (standing == STANDING_GOT)
			return 0;
		if (standing == STANDING_FAILED)
			return -EACCES;
		code = standing == STANDING_FETCH
			       ? fetch(signer)
			       : runner_wait(signer->runner, signer->changed, seen, RUNNER_FOREVER);
		if (code == -ECANCELED)
			return err_set(err, -ECANCELED, "stopped");
	}
}

void aws_signer_refused(struct aws_signer *signer, const struct sigv4_credentials *credentials)
{
	lock_take(&signer->lock);
	/* Unless others are kept by now. */
	if (signer->kept && span_equal(signer->credentials.access_key, credentials->access_key) &&
		span_equal(signer->credentials.secret, credentials->secret))
		signer->renew_ms = signer->end_ms = 0;
	lock_release(&signer->lock);
}

/* ---- beginning and end ---- */

static struct aws_signer *new_signer(struct runner *runner)
{
	struct aws_signer *signer = memory_allocate(sizeof(*signer));

	signer->runner = runner;
	signer->changed = runner_event_new(runner, "credentials");
	signer->texts = arena_new(0);
	lock_init(&signer->lock);
	return signer;
}

struct aws_signer *aws_signer_of_key(const struct aws_key_source *source, struct runner *runner)
{
	struct aws_signer *signer = new_signer(runner);

	signer->source = source;
	signer->fetch = fetch_key;
	return signer;
}

struct aws_signer *aws_signer_of_chain(const struct aws_credential_chain *chain)
{
	struct aws_signer *signer = new_signer(chain->runner);

	signer->chain = *chain;
	signer->chain.cancel = &signer->cancel;
	signer->fetch = fetch_chain;
	return signer;
}

int aws_signer_of_role(const struct aws_role *role, struct aws_signer *base,
	struct http_client *client, struct runner *runner, struct aws_signer **ret_signer,
	struct err *err)
{
	struct aws_remote_config sts = {.endpoint = role->endpoint,
		.authorities = role->authorities,
		.region = role->region,
		.signer = base,
		.attempts = STS_ATTEMPTS,
		.timeout_ms = STS_TIMEOUT_MS};
	struct aws_signer *signer = new_signer(runner);
	int code = aws_target_remote(&sts, client, runner, &signer->sts, err);

	if (code < 0) {
		aws_signer_free(signer);
		return code;
	}
	signer->fetch = fetch_session;
	signer->role = (struct aws_role){.arn = arena_copy_string(signer->texts, role->arn),
		.session = arena_copy_string(signer->texts, role->session),
		.external_id = role->external_id
				       ? arena_copy_string(signer->texts, role->external_id)
				       : NULL};
	*ret_signer = signer;
	return 0;
}

void aws_signer_cancel(struct aws_signer *signer)
{
	if (signer->sts)
		aws_target_cancel(signer->sts);
	if (signer->chain.client)
		http_client_cancel(signer->chain.client, &signer->cancel);
}

void aws_signer_free(struct aws_signer *signer)
{
	if (!signer)
		return;
	aws_target_free(signer->sts);
	runner_event_free(signer->changed);
	arena_free(signer->kept);
	arena_free(signer->texts);
	lock_destroy(&signer->lock);
	free(signer);
}
