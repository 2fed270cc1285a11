/*
 * A cluster's address and the user for it: kubeconfig files as kubectl reads them, or the service
 * account of the pod that slipway runs in.
 *
 * Several files are read as one: of two clusters, users or contexts with the same name the one in the
 * earlier file counts, and so does the earlier current-context. Relative paths are relative to the file
 * that they stand in. Unsupported fields are rejected with a reason, never ignored: `auth-provider`
 * (Kubernetes 1.26 dropped it), `proxy-url`, impersonation (`as`). Messages name the file, the entry and
 * the field: "kubeconfig /home/a/.kube/config: user 'dev': exec.command is missing".
 *
 * Nothing is sent here and no plugin is run: see credentials.h.
 */
#ifndef KUBE_KUBECONFIG_H
#define KUBE_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"

#define KUBECONFIG_FILE_MAX ((size_t)1024 * 1024)
#define KUBECONFIG_FILES_MAX 32
#define KUBECONFIG_EXEC_WORDS_MAX 64 /* arguments, and likewise environment variables */
#define KUBE_SERVICE_ACCOUNT_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"

/* A text that is given as itself, or as a file to read (again and again, it may be rotated). At most one
 * of both is there; NUL-terminated. */
struct kube_material {
	struct span text; /* decoded if it was base64 */
	struct span path; /* absolute, or relative to the working folder if the kubeconfig was */
};

/* A program that prints an ExecCredential (client.authentication.k8s.io). */
struct kube_exec_plugin {
	struct span api_version;  /* "client.authentication.k8s.io/v1beta1" or "…/v1" */
	struct span command;      /* searched in PATH if it has no slash */
	const struct span *words; /* its arguments */
	size_t word_count;
	const struct span *environment; /* "NAME=value", added to ours */
	size_t environment_count;
	bool provide_cluster_info;
	struct span install_hint; /* reported when the command is missing; or SPAN_NONE */
};

/* One cluster and one user of it. Immutable, in the arena it was read into, or in copies made by
 * kube_client_new(). */
struct kube_access {
	struct span server;               /* "https://192.0.2.1:6443", without a slash at its end */
	struct span tls_server_name;      /* name to verify instead of the URL's host; or NONE */
	struct kube_material authorities; /* PEM; none: those of the system */
	bool insecure;                    /* insecure-skip-tls-verify */
	struct span default_namespace;    /* the context's, or "default" */

	struct kube_material certificate, key; /* PEM */
	struct kube_material token;
	struct span username, password;        /* SPAN_NONE: none */
	const struct kube_exec_plugin *plugin; /* or NULL */
	struct span cluster_config; /* JSON: the cluster's extension for plugins; or NONE */
};

/* The access that a context gives. paths: a file, or several separated by ':'; each must be there.
 * context SPAN_NONE or "": the current one. Codes: -ENOENT no such file, context, cluster or user; -EINVAL
 * wrong; -EOPNOTSUPP refused as said above; -EFBIG. */
int kubeconfig_load(const char *paths, struct span context, struct arena *arena,
	struct kube_access **ret_access, struct err *err);

/* The access of the pod that this process runs in. folder NULL: KUBE_SERVICE_ACCOUNT_FOLDER; host and
 * port: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. The token is re-read, because it expires. */
int kubeconfig_in_cluster(const char *folder, const char *host, const char *port,
	struct arena *arena, struct kube_access **ret_access, struct err *err);

/* As kubectl looks: `path` if not NULL; else $KUBECONFIG (files of which may be missing, but not all);
 * else ~/.kube/config if it is there; else the cluster that we run in; else -ENOENT. */
int kubeconfig_find(const char *path, struct span context, struct arena *arena,
	struct kube_access **ret_access, struct err *err);

/* One file's text, for the above and for tests; several in the order of their precedence. */
struct kubeconfig_file {
	const char *path; /* for messages, and what relative paths are relative to */
	struct span text;
};
int kubeconfig_read(const struct kubeconfig_file *files, size_t count, struct span context,
	struct arena *arena, struct kube_access **ret_access, struct err *err);

#endif
