/*
 * The status of a CanaryRelease as the controller writes it: conditions, one per type, and the traffic that its proxies
 * report. Pure.
 */
#ifndef RELEASE_CANARY_STATUS_H
#define RELEASE_CANARY_STATUS_H

#include "release/canary.h"

struct canary_condition {
	const char *type; /* Progressing, Available, Failure, Degraded, Archived */
	bool status;
	const char *reason;
	struct span message; /* "" */
};

/* status.conditions with this one changed. lastTransitionTime changes with the status alone. conditions: an array, or
 * NULL. */
const struct json *canary_set_condition(struct arena *arena, const struct json *conditions,
	const struct canary_condition *condition, int64_t generation, int64_t now_ms);

/* A pod of the proxy. */
struct canary_pod {
	struct span name;
	bool ready;
};

/* True if as many ready pods as there should be report all ports of the Service. */
bool canary_proxies_serve(const struct canary *canary, const struct canary_pod *pods, size_t count,
	const struct canary_proxied_service *service);
/* True if all reports of these pods show that the canary gets no share and has no open connection. */
bool canary_proxies_drained(const struct canary *canary, const struct canary_pod *pods,
	size_t count);

/* Why a pod cannot serve a port, for the condition Failure: its certificate; "". */
struct span canary_bad_certificate(const struct canary *canary, const struct canary_pod *pods,
	size_t count);

/* status.traffic: by Service and port the weight, the effective weight if all ready pods have the same, and sums of
 * what either side carried. *ret_degraded: a side gave its share away. */
const struct json *canary_traffic(struct arena *arena, const struct canary *canary,
	const struct canary_pod *pods, size_t count, bool *ret_degraded);
/* A merge patch for status.proxies that removes reports of pods that are gone; NULL: there are none. */
const struct json *canary_prune_reports(struct arena *arena, const struct canary *canary,
	const struct canary_pod *pods, size_t count);

/* The members of the patch that are not in the status as they are; NULL if it changes nothing. */
const struct json *canary_status_change(struct arena *arena, const struct json *status,
	const struct json *patch);

#endif
