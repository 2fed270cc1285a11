/* Between observe.c and the sources that it is fed by (source_own.c, source_remote.c, source_event.c, relay.c). */
#ifndef DELIVERY_OBSERVE_INTERNAL_H
#define DELIVERY_OBSERVE_INTERNAL_H

#include "base/lock.h"
#include "base/map.h"
#include "delivery/cluster_ref.h"
#include "delivery/observe/observe.h"
#include "delivery/observe/replica.h"

struct change_log;
struct observed_cluster;
struct source_own;
struct relay;
struct source_remote;
struct change_log_reader;

/* How clusters of this server differ from remote ones: source_own.c, source_remote.c. */
struct observed_cluster_operations {
	bool versions_are_revisions; /* of the store: they have one order */
	size_t tombstones_max;
	/* Begins to observe a cluster that is wanted for the first time. Without the lock. */
	int (*follow)(struct observer *service, struct observed_cluster *cluster, struct err *err);
	/* A resource version that includes everything up to now. */
	uint64_t (*resource_version)(const struct observer *service);
	/* Under the lock: up to where changes were applied; 0: only listings say that. */
	uint64_t (*position)(const struct observer *service);
	/* A consumer waits for a resource version, for which none waited before if it is the first. Without the lock. */
	void (*wait)(struct observer *service, bool first);
	/* Under the lock: how old the replica may be (wall time), when it is complete. */
	int64_t (*observed_ms)(const struct observer *service,
		const struct observed_cluster *cluster);
	/* Under the lock: what was observed at that moment is older than it should be. */
	bool (*is_late)(const struct observed_cluster *cluster, int64_t since_us, int64_t now_us);
	/* Under the lock: the health of a task whose health ECS reports as UNKNOWN. */
	enum observe_health (*unknown_health)(const struct observed_cluster *cluster,
		struct span task_definition);
};
extern const struct observed_cluster_operations source_own_operations, source_remote_operations;

/* Lives until the service is freed; names do not change, the rest is guarded by the service's lock. */
struct observed_cluster {
	struct cluster_ref ref;
	const struct observed_cluster_operations *operations;
	struct replica *replica;
	unsigned wants;            /* consumers that have not released it */
	bool watched;              /* it is followed; remote: its thread runs */
	struct aws_target *client; /* remote: what lists it; NULL: none was given yet */
	int64_t poll_ms;           /* remote: as given; 0: none was */
	bool complete;
	uint64_t listings;
	uint64_t resource_version; /* of the last complete listing */
	/* "GROUP INSTANCE", both may be "": the resource version that is waited for, as a pointer */
	struct map waiting;
	int64_t listing_ms;           /* when the last listing began, complete or not; wall time */
	int64_t listed_ms;            /* when the last complete listing began; wall time */
	int64_t listed_us;            /* the same in steady time */
	int64_t took_us;              /* and how long it took */
	char error[ERR_MESSAGE_MAX];  /* of the last listing; "" */
	struct source_remote *remote; /* NULL for this server */
	/* services.c: ECS services by name, and why the last attempt to describe them failed. */
	struct map services;
	struct map services_needed; /* names that consumers want: how many do, as a pointer */
	struct map services_wanted; /* names to be described soon */
	char services_error[ERR_MESSAGE_MAX];
	struct change_log *log; /* remote: from the first reader on; else NULL */
	char text[];
};

struct observer {
	struct observe_config config;
	struct runner *runner;       /* a group of its own */
	struct runner_event *wanted; /* a consumer waits for a listing of a remote cluster */
	struct lock lock;
	/* Guarded by the lock: */
	struct map clusters; /* by name */
	size_t remote_count;
	struct source_own *own;
	struct relay *relay; /* NULL: there are no other servers */

	struct lock
		cursors_lock; /* for these and their queues; no other lock is taken while it is held */
	struct observe_cursor *cursors;
};

/* cursor.c: to every consumer. Without a lock held. */
#define OBSERVE_CHANGE_TEXTS 5
void observe_report(struct observer *observer, const struct observe_change *change);

/* Under the lock: the cluster of this name, created if it is new. */
struct observed_cluster *observed_cluster_get(struct observer *observer, struct cluster_ref ref);

/* Changes to be reported when the lock is released. */
struct observe_changes {
	struct arena *arena;
	struct observe_changes_item *first, **last;
};
void observe_changes_init(struct observe_changes *changes, struct arena *arena);
/* Under the lock. Adds nothing while the cluster is not complete: no consumer may use it. */
void observe_changes_add(struct observe_changes *changes, const struct observed_cluster *cluster,
	struct span instance);
/* Only of a task of this group on it. */
void observe_changes_add_task(struct observe_changes *changes,
	const struct observed_cluster *cluster, struct span instance, struct span group);
/* Without the lock. */
void observe_changes_deliver(struct observer *service, struct observe_changes *changes);

/* Under the lock: the listing that began at this resource version and moment has ended. Adds the waits that it ends. */
void observed_cluster_listed(struct observer *service, struct observed_cluster *cluster,
	uint64_t resource_version, int64_t listed_ms, int64_t listed_us,
	struct observe_changes *changes);
/* Under the lock: adds the waits for a resource version that is reached now. */
void observed_cluster_advanced(struct observer *service, struct observed_cluster *cluster,
	struct observe_changes *changes);

/* source_own.c: clusters of this server, from the store's change feed. */
int source_own_new(struct observer *service, struct source_own **ret_own, struct err *err);
void source_own_free(struct source_own *own); /* its thread has ended; NULL is fine */

/* source_event.c: as observe_post_event, of an event that is not passed on to other servers; err may be NULL. */
int source_event_take(struct observer *service, struct span target, const struct json *event,
	struct err *err);

/* relay.c: events for the other servers that share the store. */
int relay_new(struct observer *service, const char *server, struct relay **ret_relay,
	struct err *err);
void relay_free(struct relay *relay); /* its thread has ended; NULL is fine */
/* It is written down soon, if there are others. From any thread; NULL is fine. */
void relay_post(struct relay *relay, struct span target, const struct json *event);
/* Takes a record of events (observe_event_kind) that any server wrote. Without the lock. */
void relay_take(struct observer *service, const struct store_object *record);

/* source_remote.c: remote clusters, by listing them periodically. */
void source_remote_free(struct source_remote *remote); /* its thread has ended; NULL is fine */
/* services.c: ECS services of a remote cluster. On its thread: describes all wanted ones, or only those to be
 * refreshed. */
int observe_services_refresh(struct observer *service, struct observed_cluster *cluster, bool all,
	struct aws_target *target, struct err *err);
/* Under the lock. */
bool observe_services_has(const struct observed_cluster *cluster, struct span name);
void observe_services_forget(struct observed_cluster *cluster);

/* Under the lock: gives a cluster an empty replica; readers of the old one begin anew. */
void observed_cluster_reset(struct observer *service, struct observed_cluster *cluster);
/* Under the lock: it is known now whether tasks of this definition are checked, which is a change of each of them. */
void observed_cluster_settled(struct observed_cluster *cluster, struct span task_definition);

/* follow.c: the entities of a remote cluster, and a reader of the changes after them. */
struct observe_snapshot {
	const struct observe_task *tasks;
	size_t task_count;
	const struct observe_instance *instances; /* without their tasks */
	size_t instance_count;
};
/* A reader from a position on; NULL: with all entities in the arena. -ESTALE: the position is too old, or not of this
 * cluster; -EAGAIN: the cluster is not replicated now. */
int observe_follow(struct observer *service, struct cluster_ref ref, const uint64_t *position,
	void (*wake)(void *context), void *context, struct arena *arena,
	struct observe_snapshot *ret_snapshot, struct change_log_reader **ret_reader,
	struct err *err);
/* Under the lock: what changes in its replica goes into its log, if it has one. */
void observe_follow_replica(struct observed_cluster *cluster);
/* Under the lock: the health as consumers see it. Remote clusters report UNKNOWN also for tasks without a health check. */
void observed_cluster_settle_health(const struct observed_cluster *cluster,
	struct observe_task *task);

#endif
