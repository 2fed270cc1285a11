/*
 * Replicas of ECS clusters, of this server and of remote ones, for every component that decides about instances and
 * tasks. Two rules matter most: what is unknown is never taken for absent, and what is old is never taken for new.
 *
 * A cluster is replicated from the first observe_want(). It is *complete* when everything was listed once; before that
 * nothing of it may be acted upon. A *resource version* is a point in time of a cluster: whatever happened before
 * observe_resource_version() returned it is in the replica when observe_reaches() says so. For clusters of this server it
 * is a revision of the store, and the replica follows the store's change feed. For remote clusters it is a moment, and the
 * replica reaches it with the first listing that begins after it.
 *
 * Entities have versions that never go back; a deleted entity is not brought back by an older observation.
 *
 * Consumers read changes with a cursor. Nothing here calls a consumer back. Every function may be called from any thread,
 * and none blocks.
 */
#ifndef DELIVERY_OBSERVE_OBSERVE_H
#define DELIVERY_OBSERVE_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"
#include "control/runner.h"
#include "delivery/cluster_ref.h"
#include "store/store.h"

struct aws_target;
struct json;
struct observer;

enum observe_instance_status {
	OBSERVE_INSTANCE_ACTIVE,
	OBSERVE_INSTANCE_DRAINING,
	OBSERVE_INSTANCE_OTHER, /* registering, deregistering: must not be used */
};

/* In the order in which tasks pass through them. */
enum observe_task_status {
	OBSERVE_TASK_PROVISIONING,
	OBSERVE_TASK_PENDING,
	OBSERVE_TASK_ACTIVATING,
	OBSERVE_TASK_RUNNING,
	OBSERVE_TASK_DEACTIVATING,
	OBSERVE_TASK_STOPPING,
	OBSERVE_TASK_DEPROVISIONING,
	OBSERVE_TASK_STOPPED,
};

enum observe_health {
	OBSERVE_HEALTH_NONE, /* the task has no health check */
	OBSERVE_HEALTH_UNKNOWN,
	OBSERVE_HEALTHY,
	OBSERVE_UNHEALTHY,
	OBSERVE_HEALTH_UNSURE, /* whether the task has a health check is not known yet */
};

struct observe_task {
	struct span arn;
	struct span instance; /* ID */
	struct span group, started_by, task_definition;
	enum observe_task_status last;
	bool wanted; /* desiredStatus RUNNING */
	enum observe_health health;
	int64_t created_ms, started_ms, stopped_ms; /* as ECS reports them; 0: not yet */
	int64_t since_ms; /* since when it runs, or has stopped: steady time of this server; 0 before */
	int64_t ran_ms;   /* stopped: how long it ran; 0: never */
	bool is_doubtful; /* clocks disagree: the state may be older than since_ms says */
	struct span stop_code, stopped_reason; /* "" */
	bool has_exited;                       /* a container reported an exit code */
	int exit_code;                         /* the first that is not 0, else 0 */
	uint64_t version;
};

struct observe_instance {
	struct span id; /* the last part of its ARN */
	struct span arn;
	struct span host; /* ec2InstanceId, or "" */
	enum observe_instance_status status;
	bool connected;
	struct span attributes; /* packed, see ecs/record/attribute.h */
	uint64_t version;
	int64_t away_ms; /* since when it is disconnected: steady time of this server; 0 while connected */
	/* Its tasks that have not stopped, of every group. */
	const struct observe_task *tasks;
	size_t task_count;
};

/* An event that other servers take from the store; a server registers the kind with the store. */
extern const struct store_kind observe_event_kind;

struct observe_config {
	struct runner *runner;
	struct store *store;
	int64_t poll_ms; /* where observe_want() gives none; 0: OBSERVE_POLL_MS */
	/* This server's name among those that share the store (control/claims.h): events that are posted here reach the
	 * others, too. NULL: there are no others. */
	const char *server;
	/* Groups of tasks that begin with this are indexed one by one (observe_get_instance_for()), and the health checks of
	 * their task definitions are looked up. It outlives the observer. "": none. */
	struct span group_prefix;
};
#define OBSERVE_POLL_MS 10000
#define OBSERVE_STOPPED_MAX 10000 /* stopped tasks of a cluster that are kept */
#define OBSERVE_STOPPED_MS INT64_C(3600000)
#define OBSERVE_REMOTE_CLUSTERS_MAX 256 /* that are polled; each has a thread */

int observe_new(const struct observe_config *config, struct observer **ret_observer,
	struct err *err);
/* Its cursors were closed. NULL is fine. */
void observe_free(struct observer *observer);

/* ---- replicated clusters ---- */

/*
 * One more consumer needs the cluster. A remote cluster is listed through `target` every poll_ms (0: the configured
 * default); the target outlives the observer, and its owner cancels it before it frees the observer. target NULL: there is
 * none now; a later call may give it. -E2BIG: too many remote clusters; then nothing is to be released.
 *
 * When the last consumer has released a remote cluster it is forgotten. A cluster of this server stays.
 */
int observe_want(struct observer *observer, struct cluster_ref cluster, struct aws_target *target,
	int64_t poll_ms, struct err *err);
void observe_release(struct observer *observer, struct cluster_ref cluster);

/* One more consumer needs this ECS service of a remote cluster: it is described with every listing. */
void observe_want_service(struct observer *observer, struct cluster_ref cluster, struct span name);
void observe_release_service(struct observer *observer, struct cluster_ref cluster,
	struct span name);
/* Describes a wanted service again within a second; OBSERVE_CHANGE_SERVICE follows. */
void observe_refresh_service(struct observer *observer, struct cluster_ref cluster,
	struct span name);

/* ---- changes ---- */

enum observe_change_type {
	/* Anything of the cluster may be different: it is complete for the first time, or it reached a resource version
	 * that a consumer waited for. */
	OBSERVE_CHANGE_CLUSTER,
	OBSERVE_CHANGE_INSTANCE, /* the instance, or any of its tasks */
	OBSERVE_CHANGE_TASK,     /* a task of this group on the instance; instance "": on none */
	OBSERVE_CHANGE_SERVICE,  /* a wanted service of a remote cluster was described */
	/* Several listings of a remote cluster in a row failed; one succeeded again. */
	OBSERVE_CHANGE_UNREACHABLE,
	OBSERVE_CHANGE_REACHABLE,
	OBSERVE_CHANGE_LOST, /* the consumer was too slow: anything of any cluster may be different */
};

struct observe_change {
	enum observe_change_type type;
	struct cluster_ref cluster;  /* LOST: none */
	struct span instance, group; /* "" where the type has none */
	struct span service;
	struct span error; /* UNREACHABLE: why */
};
#define OBSERVE_CHANGES_MAX 65536 /* that a cursor is behind before it loses them */

/* Reads the changes from now on. Each of them signals the event, which outlives the cursor. */
struct observe_cursor;
struct observe_cursor *observe_cursor_open(struct observer *observer, struct runner_event *wake);
void observe_cursor_close(struct observe_cursor *cursor); /* NULL is fine */
/* The next change, in the arena. False: there is none now. */
bool observe_cursor_next(struct observe_cursor *cursor, struct arena *arena,
	struct observe_change *ret_change);

/* ---- how far a replica is ---- */

/* Everything was listed once. */
bool observe_is_complete(struct observer *observer, struct cluster_ref cluster);
uint64_t observe_resource_version(struct observer *observer, struct cluster_ref cluster);
/* If it does not, a change is reported when it does: of the cluster; or of the instance, for this group ("": for all). */
bool observe_reaches(struct observer *observer, struct cluster_ref cluster,
	uint64_t resource_version);
bool observe_reaches_for(struct observer *observer, struct cluster_ref cluster,
	struct span instance, struct span group, uint64_t resource_version);
/* The version that a consumer records as the basis of a decision: for a cluster of this server the revision of the store that the
 * replica has reached; for a remote one 0. */
uint64_t observe_seen(struct observer *observer, struct cluster_ref cluster);

/* ---- get and list ---- */

/* In the arena. NULL: there is no such instance. */
struct observe_instance *observe_get_instance(struct observer *observer, struct cluster_ref cluster,
	struct span id, struct arena *arena);
/* The same without tasks of other groups with the configured prefix: there may be hundreds. */
struct observe_instance *observe_get_instance_for(struct observer *observer,
	struct cluster_ref cluster, struct span id, struct span group, struct arena *arena);
/* The IDs of all, in the arena; how many. */
size_t observe_list_instances(struct observer *observer, struct cluster_ref cluster,
	struct arena *arena, struct span **ret_ids);
/* A task, also one that has stopped; NULL. */
struct observe_task *observe_get_task(struct observer *observer, struct cluster_ref cluster,
	struct span arn, struct arena *arena);
/* The task of a group that stopped last on an instance; NULL. */
struct observe_task *observe_last_stopped(struct observer *observer, struct cluster_ref cluster,
	struct span instance, struct span group, struct arena *arena);

/* How good a replica is. */
struct observe_info {
	bool complete;
	size_t instances, tasks; /* stopped ones included */
	uint64_t listings;       /* complete ones so far */
	/* Wall time at which the last complete listing began: how old the replica may be. Of a complete cluster of this
	 * server: now. 0: never. */
	int64_t observed_ms;
	bool stale;                  /* that is longer ago than it should be */
	char error[ERR_MESSAGE_MAX]; /* why the last listing failed; "" */
};
/* False if the cluster was never wanted. */
bool observe_get_info(struct observer *observer, struct cluster_ref cluster,
	struct observe_info *ret_info);
/* The clusters that are replicated, in the arena; how many. */
size_t observe_list_clusters(struct observer *observer, struct arena *arena,
	struct cluster_ref **ret_clusters);

/* Filters: all that are given must hold. */
struct observe_task_query {
	struct span group, started_by, instance; /* data NULL: any */
	unsigned statuses;                       /* bits (enum observe_task_status); 0: any */
	bool failed;                             /* also failed ones, or only those */
};
struct observe_instance_query {
	unsigned statuses;             /* bits (enum observe_instance_status); 0: any */
	const struct span *attributes; /* packed: "NAME=VALUE", or "NAME": it exists */
	size_t attribute_count;
};
/* Its desired status is RUNNING and it is not stopping. */
bool observe_task_stays(const struct observe_task *task);
/* It stopped by itself, or never started. */
bool observe_task_has_failed(const struct observe_task *task);
/* Whether packed attributes satisfy a condition of a query. */
bool observe_has_attribute(struct span attributes, struct span condition);

/*
 * The entities that match, in order of ID or ARN, after `after` (data NULL: from the first), at most `most`, in the arena;
 * how many. An entity that exists throughout is on exactly one page, whatever else comes and goes between two pages. The
 * cost is one visit per result; with several of group, startedBy and instance, or several attributes, one visit per
 * entity that has the rarest of them.
 */
size_t observe_select_instances(struct observer *observer, struct cluster_ref cluster,
	const struct observe_instance_query *query, struct span after, size_t most,
	struct arena *arena, struct observe_instance **ret_instances);
size_t observe_select_tasks(struct observer *observer, struct cluster_ref cluster,
	const struct observe_task_query *query, struct span after, size_t most, struct arena *arena,
	struct observe_task **ret_tasks);

/* An ECS service of a remote cluster, as DescribeServices last described it. */
struct observe_service_info {
	bool known;                  /* it was described, or found missing */
	const struct json *service;  /* with its tags, in the arena; NULL: it does not exist */
	uint64_t resource_version;   /* every earlier change is in it */
	bool stale;                  /* described longer ago than it should be */
	char error[ERR_MESSAGE_MAX]; /* why the last attempt failed; "" */
};
void observe_get_service(struct observer *observer, struct cluster_ref cluster, struct span name,
	struct arena *arena, struct observe_service_info *ret_info);

/* ---- posted observations ---- */

/*
 * Takes an event of EventBridge ("ECS Task State Change", "ECS Container Instance State Change"; "ECS Service Action" and
 * "ECS Deployment State Change" only refresh a service) of a cluster behind `target`. 1: it was new. 0: it was older than
 * the replica, or of a cluster that is not wanted. -EINVAL: it is malformed; err says how.
 */
int observe_post_event(struct observer *observer, struct span target, const struct json *event,
	struct err *err);
/* Takes a task from the answer of the call that changed it, so that no consumer has to wait for a listing. As
 * observe_post_event(); ignored for clusters of this server, whose changes the store reports. */
int observe_post_task(struct observer *observer, struct cluster_ref cluster,
	const struct json *task, struct err *err);
/* The cluster that an event is about, in the arena. False: it names none. */
bool observe_event_cluster(struct span target, const struct json *event, struct arena *arena,
	struct cluster_ref *ret_cluster);

#endif
