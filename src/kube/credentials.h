/*
 * What is shown to an API server to be let in, and how it is renewed: files are read again, plugins are
 * run again when what they gave has expired or was refused. Inside kube/ only.
 *
 * One caller renews while the others wait for it; nobody holds a lock meanwhile. What cannot be renewed is
 * used as it was, unless the server refused it.
 */
#ifndef KUBE_CREDENTIALS_H
#define KUBE_CREDENTIALS_H

#include "control/runner.h"
#include "io/http_client.h"
#include "kube/kubeconfig.h"

/* Files are read again after this; kubelets renew the token of a pod long before it expires. */
#define KUBE_CREDENTIALS_REREAD_US INT64_C(30000000)
/* A refused credential is not renewed more often than this. */
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
		*credentials); /* nobody is inside; NULL is fine */

/* A reference to what is good now. cancel ends waiting for a plugin; or NULL. -EACCES: a plugin gives none;
 * -ECANCELED; codes of files. */
int kube_credentials_get(struct kube_credentials *credentials,
	const struct http_client_cancel *cancel, const struct kube_credential **ret_credential,
	struct err *err);
/* The server said 401 to it: the next get renews, unless somebody did already. */
void kube_credentials_refused(struct kube_credentials *credentials,
	const struct kube_credential *credential);
uint64_t kube_credentials_renewals(struct kube_credentials *credentials);

/* ---- plugins ---- */

/* What a plugin gave, in an arena. */
struct kube_plugin_answer {
	struct span token;            /* or SPAN_NONE */
	struct span certificate, key; /* PEM; or SPAN_NONE */
	int64_t expires_ms;           /* wall time; 0: when it is refused */
};
/* Runs it. Blocks, at most KUBE_PLUGIN_TIMEOUT_US; ended with the runner, or by cancel (or NULL). */
int kube_plugin_run(struct runner *runner, const struct http_client_cancel *cancel,
	const struct kube_access *access, struct span authorities, struct arena *arena,
	struct kube_plugin_answer *ret_answer, struct err *err);
/* What it printed. */
int kube_plugin_read(struct span output, struct span api_version, struct arena *arena,
	struct kube_plugin_answer *ret_answer, struct err *err);

#endif
