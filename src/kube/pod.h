/* Calls for pods only: logs and eviction. exec.h runs a command in a pod. */
#ifndef KUBE_POD_H
#define KUBE_POD_H

#include "kube/client.h"

struct kube_log_request {
	struct span namespace, pod;
	struct span container; /* SPAN_NONE: the only one */
	bool follow;           /* until the container ends or the call is cancelled */
	bool previous;         /* of the container before its last restart */
	bool timestamps;       /* "2026-11-16T12:00:00.123456789Z " before each line */
	int64_t tail_lines;    /* with has_tail */
	bool has_tail;
	int64_t since_ms;    /* wall time: only what was written since (whole seconds); 0: all */
	int64_t limit_bytes; /* 0: no limit */
	int64_t idle_timeout_ms; /* the longest silence; 0: none, a log may be silent for long */
};
/* Gives the bytes of the log as they come, on the caller's thread; the reader returns 0 to go on,
 * anything else ends it and is returned. 0 when the log has ended. The time of options is not used. */
int kube_pod_logs(struct kube_client *client, const struct kube_log_request *request,
	int (*reader)(void *context, struct span data), void *context,
	const struct kube_options *options, struct err *err);

/* Asks for the pod's end through the eviction API: -EBUSY if a disruption budget forbids it now. deletion
 * as for kube_delete; or NULL. */
int kube_pod_evict(struct kube_client *client, struct span namespace, struct span pod,
	const struct kube_deletion *deletion, const struct kube_options *options, struct err *err);

#endif
