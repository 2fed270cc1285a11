/*
 * Credentials for an API server and their renewal: files are read again, plugins run again when
 * their credentials have expired or were rejected. Inside kube/ only.
 *
 * One caller renews while the others wait for it, without a lock. Credentials that cannot be
 * renewed stay in use, unless the server rejected them.
 */
#ifndef KUBE_CREDENTIALS_H
#define KUBE_CREDENTIALS_H

#include "control/runner.h"
#include "io/http_client.h"
#include "kube/kubeconfig.h"

/* Files are read again after this; kubelets renew the token of a pod long before it expires. */
#define KUBE_CREDENTIALS_REREAD_US INT64_C(30000000)
/* A rejected credential is not renewed more often than this. */
#define KUBE_CREDENTIALS_REFUSED_US INT64_C(1000000)
#define KUBE_CREDENTIALS_FILE_MAX ((size_t)1024 * 1024)
#define KUBE_PLUGIN_OUTPUT_MAX ((size_t)1024 * 1024)
#define KUBE_PLUGIN_COMPLAINT_MAX ((size_t)600)
#define KUBE_PLUGIN_TIMEOUT_US INT64_C(60000000)

/* Immutable, reference-counted. */
struct kube_credential {
	struct span authorization; /* "Bearer …", "Basic …"; or SPAN_NONE */
	struct span authorities;   /* PEM; or SPAN_NONE */
	struct span certificate, key;
};
void kube_credential_release(const struct kube_credential *credential); /* NULL is fine */

struct kube_credentials;

/* The access outlives it. */
struct kube_credentials *kube_credentials_new(struct runner *runner,
	const struct kube_access *access);
void kube_credentials_free(struct kube_credentials
		*credentials); /* no call is in progress; may be NULL */

/* Returns a reference to the current credential. cancel ends a wait for a plugin; may be NULL.
 * -EACCES: a plugin returns none; -ECANCELED; codes of files. */
int kube_credentials_get(struct kube_credentials *credentials,
	const struct http_client_cancel *cancel, const struct kube_credential **ret_credential,
	struct err *err);
/* The server answered 401: the next get renews, unless another caller already has. */
void kube_credentials_refused(struct kube_credentials *credentials,
	const struct kube_credential *credential);
uint64_t kube_credentials_renewals(struct kube_credentials *credentials);

/* ---- plugins ---- */

/* Credentials returned by a plugin, in an arena. */
struct kube_plugin_answer {
	struct span token;            /* or SPAN_NONE */
	struct span certificate, key; /* PEM; or SPAN_NONE */
	int64_t expires_ms;           /* wall time; 0: when it is refused */
};
/* Runs it. Blocks, at most KUBE_PLUGIN_TIMEOUT_US; ended with the runner, or by cancel (or NULL). */
int kube_plugin_run(struct runner *runner, const struct http_client_cancel *cancel,
	const struct kube_access *access, struct span authorities, struct arena *arena,
	struct kube_plugin_answer *ret_answer, struct err *err);
/* Parses the plugin's output. */
int kube_plugin_read(struct span output, struct span api_version, struct arena *arena,
	struct kube_plugin_answer *ret_answer, struct err *err);

#endif
