/* A server's API resources, cached by a client. Inside kube/ only. */
#ifndef KUBE_DISCOVERY_H
#define KUBE_DISCOVERY_H

#include "kube/client.h"

/* Frees the cache; no call may be in progress. */
void kube_discovery_clear(struct kube_client *client);
/* The apiVersion in which the server takes evictions: "policy/v1", "policy/v1beta1" before 1.22. */
int kube_discovery_eviction(struct kube_client *client, const struct kube_options *options,
	char ret_version[KUBE_WORD_SIZE], struct err *err);
/* As kube_resource_find, within a call's options. */
int kube_discovery_find(struct kube_client *client, const struct kube_kind *kind,
	const struct kube_options *options, struct kube_resource *ret_resource, struct err *err);

#endif
