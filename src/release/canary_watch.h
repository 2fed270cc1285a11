/*
 * Local copies of what the CanaryRelease controller reacts to: CanaryReleases, Releases, the Services and workloads that
 * belong to canaries, and the pods of proxies. Identities, and what maps an object to its CanaryRelease, are kept; the
 * controller reads the objects themselves when something changed.
 */
#ifndef RELEASE_CANARY_WATCH_H
#define RELEASE_CANARY_WATCH_H

#include "kube/informer.h"
#include "release/canary_status.h"

enum canary_change {
	CANARY_CHANGED_ITSELF, /* the CanaryRelease */
	CANARY_CHANGED_PODS,   /* of its proxy */
	CANARY_CHANGED_OBJECTS,
};

struct canary_watch_config {
	struct kube_client *client; /* outlives the watch; likewise runner */
	struct runner *runner;
	struct span namespace; /* SPAN_NONE: all */
	int64_t resync_ms;     /* every CanaryRelease is reported so often */
	/* On an informer's thread, must not block. */
	void (*changed)(void *context, struct span namespace, struct span canary,
		enum canary_change change);
	void (*failed)(void *context, const char *resource,
		const struct err *err); /* may be NULL */
	void *context;
};

struct canary_watch;

int canary_watch_start(const struct canary_watch_config *config, struct canary_watch **ret_watch,
	struct err *err);
void canary_watch_stop(struct canary_watch *watch); /* NULL is fine */
bool canary_watch_is_synced(struct canary_watch *watch);
/* Calls `changed` for every CanaryRelease, and for those that are named by a Service only. */
void canary_watch_all(struct canary_watch *watch);
/* True if a HorizontalPodAutoscaler sets the replicas of this workload. */
bool canary_watch_is_scaled(struct canary_watch *watch, struct span namespace, struct span kind,
	struct span name);
/* Names of the Services that this CanaryRelease has taken over, whether it exists or not. In the arena. */
struct span *canary_watch_held(struct canary_watch *watch, struct arena *arena,
	struct span namespace, struct span canary, size_t *ret_count);
/* The pods of a CanaryRelease's proxy that are not being deleted. In the arena. */
struct canary_pod *canary_watch_pods(struct canary_watch *watch, struct arena *arena,
	struct span namespace, struct span canary, size_t *ret_count);

#endif
