/* Between the files of the Kubernetes runtime; nobody else includes it. */
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
/* An answer to a write that no informer has shown for so long is asked for again. */
#define KUBERNETES_FRESH_US INT64_C(60000000)
/* Secrets without an owner are left over from a start that was not completed, when they are so old. */
#define KUBERNETES_SECRET_AGE_MS INT64_C(600000)
#define KUBERNETES_SWEEP_US INT64_C(600000000)
/* A Deployment was deleted and is there again: so long Kubernetes has for deleting the ReplicaSets of the first one. */
#define KUBERNETES_LEFT_US INT64_C(10000000)
/* Between two tries to release a pod that is held. */
#define KUBERNETES_RELEASE_US INT64_C(2000000)
/* So long after the first list what it took to deal with it is given back. */
#define KUBERNETES_SHRINK_US INT64_C(5000000)

/* Keys of chores: what it is about, and which one. */
#define KUBERNETES_CHORE_POD 'p'         /* by token: is it to end, will time change it? */
#define KUBERNETES_CHORE_TIME 't'        /* by token: time has changed it */
#define KUBERNETES_CHORE_FRESH_POD 'f'   /* by token: was it shown meanwhile? */
#define KUBERNETES_CHORE_FRESH_GROUP 'g' /* by id, likewise */
#define KUBERNETES_CHORE_RELEASE 'r'     /* by token: it need not be held any longer */
#define KUBERNETES_CHORE_LEFT 'l'        /* by id of a group: is anything of a predecessor left? */
#define KUBERNETES_CHORE_SWEEP 's'
#define KUBERNETES_CHORE_SHRINK 'm' /* the first list was dealt with */
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
	struct kubernetes_reduce_context ours; /* first: reduce functions are given it */
	struct kubernetes_runtime *runtime;
	enum kubernetes_resource resource;
	struct kube_informer *informer;
};

struct kubernetes_runtime {
	struct runtime runtime; /* first */
	struct runtime_kubernetes_config config;
	struct arena *arena; /* of the config's texts */
	struct kubernetes_template_config template;
	struct span
		account; /* "system:serviceaccount:…", as which we call; "": as something else */
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
	struct map
		namespaces; /* that are known to be there and ours, until one turns out not to be */
	int64_t namespaces_us; /* since when */
	struct map published;  /* names of service discovery: publish.c */
	struct map refusing;   /* nodes that have refused a pod: binding.c */
	int64_t refused_us;    /* when one last did */
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
/* -EAGAIN until everything was listed once. */
int kubernetes_check_synced(struct kubernetes_runtime *runtime, struct err *err);
/* A reference to the newest that is known of a task's pod, NULL: none, or its end was acknowledged. */
const struct kube_object *kubernetes_find_pod(struct kubernetes_runtime *runtime,
	struct span token);
/* Likewise of a group's Deployment or DaemonSet. */
const struct kube_object *kubernetes_find_workload(struct kubernetes_runtime *runtime,
	struct span id);
/* What the API server answered to a write of ours is what is known now. */
int kubernetes_take_pod(struct kubernetes_runtime *runtime, const struct json *answer,
	struct err *err);
int kubernetes_take_workload(struct kubernetes_runtime *runtime, bool daemon,
	const struct json *answer, struct err *err);
/* Each call of a kind's own. */
const struct kube_kind *kubernetes_workload_kind(bool daemon);
void kubernetes_report_task(struct kubernetes_runtime *runtime, struct span token);
void kubernetes_report_group(struct kubernetes_runtime *runtime, struct span id);

/* ---- chores.c ---- */

void kubernetes_chore_add(struct kubernetes_runtime *runtime, char about, struct span which);
void kubernetes_chore_add_at(struct kubernetes_runtime *runtime, char about, struct span which,
	int64_t deadline_us);
/* Leaves a pod to a worker if it is to end, if its node is to be reminded of that, or if time will change what is
 * told of it; most need none. */
void kubernetes_chore_of_pod(struct kubernetes_runtime *runtime, const struct kubernetes_pod *pod);
/* A worker of the runtime's; context is the runtime. */
void kubernetes_chores_run(void *context);

/* ---- binding.c ---- */

/* Whether a pod for this node may name it itself, and not leave it to the scheduler. */
bool kubernetes_may_bind(struct kubernetes_runtime *runtime, struct span node);
/* If its node has refused this pod, the scheduler decides about the next ones. */
void kubernetes_note_refusal(struct kubernetes_runtime *runtime, const struct kubernetes_pod *pod);

/* ---- task_operations.c ---- */

int kubernetes_start(struct runtime *base, struct span token, struct span instance,
	const struct json *spec, struct err *err);
int kubernetes_stop(struct runtime *base, struct span token, struct span reason, struct err *err);
int kubernetes_acknowledge(struct runtime *base, struct span token, struct err *err);
int kubernetes_open_gate(struct runtime *base, struct span token, struct err *err);
/* Before Kubernetes 1.22 a node that is told of a pod's deletion while its containers wait to be started takes
 * it for ended, starts them, and looks again only after a minute or more: our finalizer keeps the pod's object,
 * whose end it would have noticed. Any change of the object makes it look. */
int kubernetes_remind_node(struct kubernetes_runtime *runtime, const struct kube_object *pod,
	struct err *err);
/* Writes down why the pod ends, then deletes it. 0 also if it is gone. */
int kubernetes_end_pod(struct kubernetes_runtime *runtime, const struct kube_object *pod,
	enum runtime_stop stop, struct span reason, struct err *err);

/* ---- namespaces.c ---- */

/* Makes sure that the cluster has a namespace which is ours. -EEXIST: it is somebody else's. */
int kubernetes_namespace_ensure(struct kubernetes_runtime *runtime, struct span cluster_arn,
	struct arena *arena, struct span *ret_name, struct err *err);
/* Something in it was refused because it is not there: look again next time. */
void kubernetes_namespace_doubt(struct kubernetes_runtime *runtime, struct span name);

/* ---- publish.c ---- */

int kubernetes_publish(struct runtime *base, const struct runtime_name *name, struct err *err);
void kubernetes_published_clear(struct kubernetes_runtime *runtime);

/* ---- group_operations.c ---- */

extern const struct runtime_group_operations kubernetes_group_operations;

/* ---- secrets.c ---- */

/* Makes the Secret that a template refers to; nothing if it needs none. owner NULL: given later. *ret_uid: the
 * Secret's, "" if none is needed. -EEXIST: somebody else's has its name. */
struct kubernetes_owner;
int kubernetes_secret_write(struct kubernetes_runtime *runtime, struct span namespace,
	struct span name, const struct kubernetes_template *template,
	const struct kubernetes_owner *owner, struct arena *arena, struct span *ret_uid,
	struct err *err);
/* Gives it its owner; nothing if uid is "". */
int kubernetes_secret_own(struct kubernetes_runtime *runtime, struct span namespace,
	struct span name, struct span uid, const struct kubernetes_owner *owner,
	struct arena *arena, struct err *err);
/* 0 also if there is none that is ours. */
int kubernetes_secret_remove(struct kubernetes_runtime *runtime, struct span namespace,
	struct span name, struct err *err);
/* Which Secrets of a group there may be. Its Deployment or DaemonSet says so before one is made and after one is
 * deleted, so none is forgotten whatever happens in between. */
struct kubernetes_secrets {
	struct span namespace, owner; /* what the Deployment or DaemonSet is called */
	struct span group;
	struct span names; /* with spaces between; SPAN_NONE: there were never any */
};
/* Deletes those that nothing runs of any more, but for two that are wanted. *ret_names: what is left. */
int kubernetes_secrets_prune(struct kubernetes_runtime *runtime,
	const struct kubernetes_secrets *secrets, const struct span wanted[2], struct arena *arena,
	struct span *ret_names, struct err *err);
/* Deletes all. */
int kubernetes_secrets_remove(struct kubernetes_runtime *runtime,
	const struct kubernetes_secrets *secrets, struct err *err);
/* Deletes those that a start left behind. */
int kubernetes_secrets_sweep(struct kubernetes_runtime *runtime, struct err *err);

/* ---- left_over.c ---- */

/* Deletes what Kubernetes should have. */
int kubernetes_left_over_remove(struct kubernetes_runtime *runtime, struct span group,
	struct err *err);

/* ---- exec.c ---- */

int kubernetes_exec(struct runtime *base, struct span token, struct span container,
	const struct json *command, bool terminal, struct runtime_exec **ret_exec, struct err *err);
/* Lets the programs of a held pod be ended now. -EAGAIN: it could not be said to them; it may be tried again, until they
 * end by themselves. */
int kubernetes_release_held(struct kubernetes_runtime *runtime, const struct kube_object *pod,
	struct err *err);
/* The container of a task; NULL: it has none of that name. */
const struct kubernetes_container *kubernetes_find_container(const struct kubernetes_pod *pod,
	struct span name);

/* ---- logs.c ---- */

int kubernetes_read_logs(struct runtime *base, struct span token, struct span container,
	uint64_t offset, size_t max, struct buffer *out, uint64_t *ret_offset, struct err *err);

#endif
