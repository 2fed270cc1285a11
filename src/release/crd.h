/*
 * The custom resource definitions of releases (deploy/kubernetes/crds.yaml, compiled in), and their
 * installation.
 */
#ifndef RELEASE_CRD_H
#define RELEASE_CRD_H

#include "kube/client.h"

extern const struct span crd_text; /* YAML documents */

/* Applies them and waits until the API server serves all of them, at most timeout_ms. */
int crd_install(struct kube_client *client, struct runner *runner, int64_t timeout_ms,
	struct err *err);
/* Whether the API server serves all of them: 0, -ENOENT with a sentence that says what to do. */
int crd_check(struct kube_client *client, struct err *err);

#endif
