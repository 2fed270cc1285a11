/* Shared by the files of the Kubernetes runtime; not for other folders. */
#ifndef RUNTIME_KUBERNETES_INTERNAL_H
#define RUNTIME_KUBERNETES_INTERNAL_H

#include "base/lock.h"
#include "base/map.h"
#include "io/http_client.h"
#include "runtime/kubernetes/fresh.h"
#include "runtime/kubernetes/kubernetes.h"
#include "runtime/kubernetes/pod.h"
#include "runtime/kubernetes/template.h"
#include "runtime/kubernetes/workload.h"

#define KUBERNETES_ACCOUNT_PREFIX "system:serviceaccount:"
#define KUBERNETES_WORKERS 2
/* A write's response that no informer has shown for this long is re-read. */
#define KUBERNETES_FRESH_US INT64_C(60000000)
/* Secrets without an owner are leftovers of an incomplete start once they are this old. */
#define KUBERNETES_SECRET_AGE_MS INT64_C(600000)
#define KUBERNETES_SWEEP_US INT64_C(600000000)
/* A Deployment was deleted and created again: Kubernetes gets this long to delete the ReplicaSets
 * of the first one. */
#define KUBERNETES_LEFT_US INT64_C(10000000)
/* Interval of attempts to release a held pod. */
#define KUBERNETES_RELEASE_US INT64_C(2000000)
/* The memory of the first list is returned after this time. */
#define KUBERNETES_SHRINK_US INT64_C(5000000)

/* Keys of chores: the kind, and the object. */
#define KUBERNETES_CHORE_POD 'p'         /* by token: must it end, will time change its report? */
#define KUBERNETES_CHORE_TIME 't'        /* by token: time has changed its report */
#define KUBERNETES_CHORE_FRESH_POD 'f'   /* by token: has an informer shown it? */
#define KUBERNETES_CHORE_FRESH_GROUP 'g' /* by id, likewise */
#define KUBERNETES_CHORE_RELEASE 'r'     /* by token: it need not be held any longer */
/* by id of a group: are there leftovers of a predecessor? */
#define KUBERNETES_CHORE_LEFT 'l'
#define KUBERNETES_CHORE_SWEEP 's'
#define KUBERNETES_CHORE_SHRINK 'm' /* the first list was handled */
#define KUBERNETES_CHORE_MAX (RUNTIME_GROUP_MAX + 2)

enum kubernetes_resource {
	KUBERNETES_PODS,
	KUBERNETES_NODES,
	KUBERNETES_DEPLOYMENTS,
	KUBERNETES_DAEMON_SETS,
	KUBERNETES_REPLICA_SETS,
	KUBERNETES_EVENTS,
	KUBERNETES_RESOURCE_COUNT
};
_Static_assert(KUBERNETES_RESOURCE_COUNT == RUNTIME_KUBERNETES_RESOURCES, "one entry for each");

struct kubernetes_runtime;

/* The context of one informer. */
struct kubernetes_watcher {
	struct kubernetes_reduce_context ours; /* first: reduce functions receive it */
	struct kubernetes_runtime *runtime;
	enum kubernetes_resource resource;
	struct kube_informer *informer;
};

struct kubernetes_runtime {
	struct runtime runtime; /* first */
	struct runtime_kubernetes_config config;
	struct arena *arena; /* of the config's texts */
	struct kubernetes_template_config template;
	struct span account; /* "system:serviceaccount:…" of our token; "": another kind of user */
	struct runner *runner;  /* a group of its own */
	struct runner *workers; /* a group in it: they use the informers */
	struct http_client *http;
	struct kube_client *client;
	struct kubernetes_watcher watchers[KUBERNETES_RESOURCE_COUNT];
	struct work_queue *chores;
	struct kubernetes_fresh pods;   /* by token */
	struct kubernetes_fresh groups; /* by id */
	struct lock lock;
	/* Guarded by the lock: */
	struct map namespaces; /* known to exist and to be ours, until a call shows otherwise */
	int64_t namespaces_us; /* since when */
	struct map published;  /* names of service discovery: publish.c */
	struct map refusing;   /* nodes that have rejected a pod: binding.c */
	int64_t refused_us;    /* time of the last rejection */
	unsigned unsynced;     /* informers whose first list is not complete */
};

#define KUBERNETES_RUNTIME(base) CONTAINER_OF(base, struct kubernetes_runtime, runtime)

static inline struct kube_informer *kubernetes_informer(struct kubernetes_runtime *runtime,
	enum kubernetes_resource resource)
{
	return runtime->watchers[resource].informer;
}

/* ---- watch.c ---- */

int kubernetes_watch_start(struct kubernetes_runtime *runtime, struct err *err);
void kubernetes_watch_stop(struct kubernetes_runtime *runtime);
/* -EAGAIN until the first list of everything is complete. */
int kubernetes_check_synced(struct kubernetes_runtime *runtime, struct err *err);
/* A reference to the newest known pod of a task, NULL: none, or its end was acknowledged. */
const struct kube_object *kubernetes_find_pod(struct kubernetes_runtime *runtime,
	struct span token);
/* Likewise of a group's Deployment or DaemonSet. */
const struct kube_object *kubernetes_find_workload(struct kubernetes_runtime *runtime,
	struct span id);
/* The API server's response to a write of ours becomes the known state. */
int kubernetes_take_pod(struct kubernetes_runtime *runtime, const struct json *answer,
	struct err *err);
int kubernetes_take_workload(struct kubernetes_runtime *runtime, bool daemon,
	const struct json *answer, struct err *err);
/* Calls for the workload's kind. */
const struct kube_kind *kubernetes_workload_kind(bool daemon);
void kubernetes_report_task(struct kubernetes_runtime *runtime, struct span token);
void kubernetes_report_group(struct kubernetes_runtime *runtime, struct span id);

/* ---- chores.c ---- */

void kubernetes_chore_add(struct kubernetes_runtime *runtime, char about, struct span which);
void kubernetes_chore_add_at(struct kubernetes_runtime *runtime, char about, struct span which,
	int64_t deadline_us);
/* Queues a pod if it must end, if its node needs a reminder of that, or if time will change its
 * report; most need none. */
void kubernetes_chore_of_pod(struct kubernetes_runtime *runtime, const struct kubernetes_pod *pod);
/* A worker of the runtime's; context is the runtime. */
void kubernetes_chores_run(void *context);

/* ---- binding.c ---- */

/* Whether a pod may be bound to this node without the scheduler. */
bool kubernetes_may_bind(struct kubernetes_runtime *runtime, struct span node);
/* If its node has rejected this pod, the scheduler places the next ones. */
void kubernetes_note_refusal(struct kubernetes_runtime *runtime, const struct kubernetes_pod *pod);

/* ---- task_operations.c ---- */

int kubernetes_start(struct runtime *base, struct span token, struct span instance,
	const struct json *spec, struct err *err);
int kubernetes_stop(struct runtime *base, struct span token, struct span reason, struct err *err);
int kubernetes_acknowledge(struct runtime *base, struct span token, struct err *err);
int kubernetes_open_gate(struct runtime *base, struct span token, struct err *err);
/* Before Kubernetes 1.22 a node that sees a pod's deletion while its containers wait to start
 * considers it ended, starts them anyway, and checks again only after a minute or more: our
 * finalizer keeps the pod's object, whose deletion would have triggered a check. Any change of the
 * object does. */
int kubernetes_remind_node(struct kubernetes_runtime *runtime, const struct kube_object *pod,
	struct err *err);
/* Writes the reason of the pod's end, then deletes it. 0 also if it is gone. */
int kubernetes_end_pod(struct kubernetes_runtime *runtime, const struct kube_object *pod,
	enum runtime_stop stop, struct span reason, struct err *err);

/* ---- namespaces.c ---- */

/* Makes sure that the cluster has a namespace which is ours. -EEXIST: it belongs to another
 * user. */
int kubernetes_namespace_ensure(struct kubernetes_runtime *runtime, struct span cluster_arn,
	struct arena *arena, struct span *ret_name, struct err *err);
/* A call failed because the namespace does not exist: the next one checks again. */
void kubernetes_namespace_doubt(struct kubernetes_runtime *runtime, struct span name);

/* ---- publish.c ---- */

int kubernetes_publish(struct runtime *base, const struct runtime_name *name, struct err *err);
void kubernetes_published_clear(struct kubernetes_runtime *runtime);

/* ---- group_operations.c ---- */

extern const struct runtime_group_operations kubernetes_group_operations;

/* ---- secrets.c ---- */

/* Creates the Secret that a template refers to; nothing if it needs none. owner NULL: set later.
 * *ret_uid: the Secret's, "" if none is needed. -EEXIST: a Secret that is not ours has its name. */
struct kubernetes_owner;
int kubernetes_secret_write(struct kubernetes_runtime *runtime, struct span namespace,
	struct span name, const struct kubernetes_template *template,
	const struct kubernetes_owner *owner, struct arena *arena, struct span *ret_uid,
	struct err *err);
/* Sets its owner; nothing if uid is "". */
int kubernetes_secret_own(struct kubernetes_runtime *runtime, struct span namespace,
	struct span name, struct span uid, const struct kubernetes_owner *owner,
	struct arena *arena, struct err *err);
/* 0 also if none is ours. */
int kubernetes_secret_remove(struct kubernetes_runtime *runtime, struct span namespace,
	struct span name, struct err *err);
/* The Secrets that a group may have. Its Deployment or DaemonSet lists them before one is created
 * and after one is deleted, so a crash in between leaves none unlisted. */
struct kubernetes_secrets {
	struct span namespace, owner; /* name of the Deployment or DaemonSet */
	struct span group;
	struct span names; /* separated by spaces; SPAN_NONE: there were never any */
};
/* Deletes those of versions without tasks, but for two that are needed. *ret_names: the remaining
 * ones. */
int kubernetes_secrets_prune(struct kubernetes_runtime *runtime,
	const struct kubernetes_secrets *secrets, const struct span wanted[2], struct arena *arena,
	struct span *ret_names, struct err *err);
/* Deletes all. */
int kubernetes_secrets_remove(struct kubernetes_runtime *runtime,
	const struct kubernetes_secrets *secrets, struct err *err);
/* Deletes leftovers of incomplete starts. */
int kubernetes_secrets_sweep(struct kubernetes_runtime *runtime, struct err *err);

/* ---- left_over.c ---- */

/* Deletes objects that Kubernetes' own garbage collector missed. */
int kubernetes_left_over_remove(struct kubernetes_runtime *runtime, struct span group,
	struct err *err);

/* ---- exec.c ---- */

int kubernetes_exec(struct runtime *base, struct span token, struct span container,
	const struct json *command, bool terminal, struct runtime_exec **ret_exec, struct err *err);
/* Lets the programs of a held pod end now. -EAGAIN: the call failed; it may be retried, until they
 * end by themselves. */
int kubernetes_release_held(struct kubernetes_runtime *runtime, const struct kube_object *pod,
	struct err *err);
/* The container of a task; NULL: it has none with that name. */
const struct kubernetes_container *kubernetes_find_container(const struct kubernetes_pod *pod,
	struct span name);

/* ---- logs.c ---- */

int kubernetes_read_logs(struct runtime *base, struct span token, struct span container,
	uint64_t offset, size_t max, struct buffer *out, struct runtime_log_times *times,
	uint64_t *ret_offset, struct err *err);

#endif
