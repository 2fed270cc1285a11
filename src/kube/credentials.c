#include "kube/credentials.h"

#include <stdatomic.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/memory.h"

#define WAIT_SLICE_US INT64_C(100000)

struct held {
	struct kube_credential credential; /* first */
	atomic_uint references;
	struct arena *arena;
	int64_t read_us;    /* when */
	int64_t expires_ms; /* wall time; 0: never */
};

struct kube_credentials {
	struct runner *runner;
	const struct kube_access *access;
	struct runner_event *renewed;
	bool reads_files;

	struct lock lock; /* for all below */
	struct held *current;
	bool refused; /* the current one */
	bool renewing;
	uint64_t renewals;
};

/* ---- one credential ---- */

static struct held *as_held(const struct kube_credential *credential)
{
	return (struct held *)credential;
}

static struct kube_credential *reference(struct held *held)
{
	atomic_fetch_add(&held->references, 1);
	return &held->credential;
}

void kube_credential_release(const struct kube_credential *credential)
{
	struct held *held = as_held(credential);

	if (!held || atomic_fetch_sub(&held->references, 1) != 1)
		return;
	arena_free(held->arena);
	free(held);
}

static void release_held(struct held **held)
{
	kube_credential_release(*held ? &(*held)->credential : NULL);
}

static int read_material(const struct kube_material *material, struct arena *arena,
	struct span *ret_text, struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code;

	*ret_text = material->text;
	if (!material->path.data)
		return 0;
	code = file_read(material->path.data, KUBE_CREDENTIALS_FILE_MAX, &text, err);
	if (code < 0)
		return code;
	if (text.length == 0)
		return err_set(err, -ENODATA, "%s is empty", material->path.data);
	*ret_text = arena_copy_span(arena, buffer_span(&text));
	return 0;
}

/* Files end in a line break, headers do not. */
static struct span trim_token(struct span token)
{
	token = span_trim(token);
	while (token.length > 0 && strchr(" \t\r\n", token.data[token.length - 1]))
		token.length--;
	return token;
}

static struct span make_basic(const struct kube_access *access, struct arena *arena)
{
	struct span pair = arena_format(arena, "%.*s:%.*s", SPAN_ARGS(access->username),
		SPAN_ARGS(access->password));
	_buffer_ struct buffer out = {0};

	buffer_add_string(&out, "Basic ");
	base64_encode(pair, &out);
	return arena_copy_span(arena, buffer_span(&out));
}

static int ask_plugin(struct kube_credentials *credentials, const struct http_client_cancel *cancel,
	struct held *held, struct span *ret_token, struct err *err)
{
	struct kube_plugin_answer answer;
	int code;

	code = kube_plugin_run(credentials->runner, cancel, credentials->access,
		held->credential.authorities, held->arena, &answer, err);
	if (code < 0)
		return code;
	if (answer.certificate.data) {
		held->credential.certificate = answer.certificate;
		held->credential.key = answer.key;
	}
	held->expires_ms = answer.expires_ms;
	*ret_token = answer.token;
	return 0;
}

static int fill(struct kube_credentials *credentials, const struct http_client_cancel *cancel,
	struct held *held, struct err *err)
{
	const struct kube_access *access = credentials->access;
	struct kube_credential *credential = &held->credential;
	struct span token;
	int code;

	code = read_material(&access->authorities, held->arena, &credential->authorities, err);
	if (code == 0)
		code = read_material(&access->certificate, held->arena, &credential->certificate,
			err);
	if (code == 0)
		code = read_material(&access->key, held->arena, &credential->key, err);
	if (code == 0)
		code = read_material(&access->token, held->arena, &token, err);
	if (code == 0 && access->plugin)
		code = ask_plugin(credentials, cancel, held, &token, err);
	if (code < 0)
		return code;
	token = trim_token(token);
	if (token.length > 0)
		credential->authorization =
			arena_format(held->arena, "Bearer %.*s", SPAN_ARGS(token));
	else if (access->username.data)
		credential->authorization = make_basic(access, held->arena);
	return 0;
}

static int make(struct kube_credentials *credentials, const struct http_client_cancel *cancel,
	struct held **ret_held, struct err *err)
{
	CLEANUP(release_held) struct held *held = memory_allocate(sizeof(*held));
	int code;

	held->references = 1;
	held->arena = arena_new(0);
	held->read_us = runner_now_us(credentials->runner);
	code = fill(credentials, cancel, held, err);
	if (code < 0)
		return err_prefix(err, code, "credentials");
	*ret_held = TAKE(held);
	return 0;
}

/* ---- which one is good ---- */

struct kube_credentials *kube_credentials_new(struct runner *runner,
	const struct kube_access *access)
{
	struct kube_credentials *credentials = memory_allocate(sizeof(*credentials));

	credentials->runner = runner;
	credentials->access = access;
	credentials->renewed = runner_event_new(runner, "credentials");
	credentials->reads_files = access->authorities.path.data || access->certificate.path.data ||
				   access->key.path.data || access->token.path.data;
	lock_init(&credentials->lock);
	return credentials;
}

void kube_credentials_free(struct kube_credentials *credentials)
{
	if (!credentials)
		return;
	release_held(&credentials->current);
	runner_event_free(credentials->renewed);
	lock_destroy(&credentials->lock);
	free(credentials);
}

/* With the lock held. */
static bool is_good(const struct kube_credentials *credentials)
{
	const struct held *held = credentials->current;
	struct runner *runner = credentials->runner;
	int64_t age;

	if (!held)
		return false;
	age = runner_now_us(runner) - held->read_us;
	if (credentials->refused && age >= KUBE_CREDENTIALS_REFUSED_US)
		return false;
	if (held->expires_ms != 0 && runner_wall_ms(runner) >= held->expires_ms)
		return false;
	/* With a plugin, what comes from files beside it lives as long as what it gave. */
	return !credentials->reads_files || credentials->access->plugin ||
	       age < KUBE_CREDENTIALS_REREAD_US;
}

/* 1 and a reference: it is good. 0: the caller is to renew. -EINPROGRESS: another one does. */
static int pass(struct kube_credentials *credentials, const struct kube_credential **ret_credential)
{
	int code = 0;

	lock_take(&credentials->lock);
	if (is_good(credentials)) {
		*ret_credential = reference(credentials->current);
		code = 1;
	} else if (credentials->renewing) {
		code = -EINPROGRESS;
	} else {
		credentials->renewing = true;
	}
	lock_release(&credentials->lock);
	return code;
}

/* Takes the new one over. Without a new one, the old one stays in use while the server accepts it. */
static int finish(struct kube_credentials *credentials, struct held *held, int code,
	const struct kube_credential **ret_credential)
{
	struct held *old = NULL;

	lock_take(&credentials->lock);
	credentials->renewing = false;
	if (code == 0) {
		old = credentials->current;
		credentials->current = held;
		credentials->refused = false;
		credentials->renewals++;
	} else if (credentials->current && !credentials->refused &&
		   (credentials->current->expires_ms == 0 ||
			   runner_wall_ms(credentials->runner) <
				   credentials->current->expires_ms)) {
		credentials->current->read_us = runner_now_us(credentials->runner);
		code = 0;
	}
	if (code == 0)
		*ret_credential = reference(credentials->current);
	lock_release(&credentials->lock);
	release_held(&old);
	runner_signal(credentials->renewed);
	return code;
}

int kube_credentials_get(struct kube_credentials *credentials,
	const struct http_client_cancel *cancel, const struct kube_credential **ret_credential,
	struct err *err)
{
	struct runner *runner = credentials->runner;

	for (;;) {
		uint64_t seen = runner_event_count(credentials->renewed);
		int code = pass(credentials, ret_credential);

		if (code == 1)
			return 0;
		if (code == 0) {
			struct held *held = NULL;

			code = make(credentials, cancel, &held, err);
			return finish(credentials, held, code, ret_credential);
		}
		/* In slices: a call's cancellation signals no event. */
		code = runner_wait(runner, credentials->renewed, seen,
			runner_deadline_us(runner, WAIT_SLICE_US));
		if (code == -ECANCELED || (cancel && atomic_load(&cancel->requested)))
			return err_set(err, -ECANCELED, "credentials: cancelled");
	}
}

void kube_credentials_refused(struct kube_credentials *credentials,
	const struct kube_credential *credential)
{
	lock_take(&credentials->lock);
	if (credentials->current == as_held(credential))
		credentials->refused = true;
	lock_release(&credentials->lock);
}

uint64_t kube_credentials_renewals(struct kube_credentials *credentials)
{
	uint64_t renewals;

	lock_take(&credentials->lock);
	renewals = credentials->renewals;
	lock_release(&credentials->lock);
	return renewals;
}
