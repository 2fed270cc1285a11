/*
 * The custom resource definitions of releases, and the rights of their controllers (of deploy/kubernetes/,
 * compiled in), and their installation.
 */
#ifndef RELEASE_CRD_H
#define RELEASE_CRD_H

#include "kube/client.h"

/* YAML documents, in the order in which they are applied. */
#define CRD_TEXTS 4
extern const struct span *const crd_texts[CRD_TEXTS];

/* Applies them and waits until the API server serves all definitions, at most timeout_ms. installed (or NULL) is
 * called with each object as it is then in the cluster. */
int crd_install(struct kube_client *client, struct runner *runner, int64_t timeout_ms,
	void (*installed)(void *context, const struct json *object), void *context,
	struct err *err);

/* The parts: crds.yaml, namespace.yaml, release-rights.yaml, canary-rights.yaml. */
extern const struct span crd_text, namespace_text, rights_text, canary_rights_text;

#endif
