/*
 * The objects of a canary's proxy: its Deployment, account and rights, and a PodDisruptionBudget if it has several
 * replicas. Pure.
 */
#ifndef RELEASE_CANARY_OBJECTS_H
#define RELEASE_CANARY_OBJECTS_H

#include "release/canary.h"

#define CANARY_PROXY_OBJECTS_MAX 5
/* A label selector of all proxies' pods. */
#define CANARY_PROXY_SELECTOR "app.kubernetes.io/component=canary-proxy,slipway.dev/created-by"

struct canary_proxy_settings {
	struct span image;       /* slipway's own, with HAProxy */
	struct span pull_policy; /* "IfNotPresent", …; "": the cluster's default */
	struct span budget_api;  /* apiVersion of PodDisruptionBudgets: "policy/v1" */
};

/* In the order in which they are applied; without owners. Returns how many. */
size_t canary_proxy_objects(struct arena *arena, const struct canary *canary,
	const struct canary_proxy_settings *settings,
	const struct json *ret_objects[CANARY_PROXY_OBJECTS_MAX]);

/* {RELEASE_CREATED_BY_LABEL: …}: labels and selector of the proxy's pods. */
struct json *canary_proxy_selector(struct arena *arena, const struct canary *canary);

#endif
