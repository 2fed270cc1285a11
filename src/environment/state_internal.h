/* Between state.c and the sources that it is fed by (state_own.c, state_remote.c, state_event.c, state_relay.c). */
#ifndef ENVIRONMENT_STATE_INTERNAL_H
#define ENVIRONMENT_STATE_INTERNAL_H

#include "base/lock.h"
#include "base/map.h"
#include "environment/cluster_state.h"
#include "environment/state.h"

struct aws_request;
struct state_log;
struct state_own;
struct state_relay;
struct state_remote;
struct state_tail;

/* Lives until the service is freed; names do not change, the rest is guarded by the service's lock. */
struct state_cluster {
	struct span name;   /* "TARGET:ACCOUNT/REGION/CLUSTER" */
	struct span target; /* "" for this server */
	struct span scope;  /* "ACCOUNT/REGION/CLUSTER" */
	struct cluster_state *replica;
	bool watched; /* elsewhere: somebody lists it */
	bool complete;
	uint64_t listings;
	uint64_t resource_version; /* of the last complete listing */
	struct map
		waiting; /* "GROUP INSTANCE", both may be "": the mark that is waited for, as a pointer */
	int64_t listing_ms;          /* when the last listing began, complete or not; wall time */
	int64_t listed_ms;           /* when the last complete listing began; wall time */
	int64_t listed_us;           /* the same in steady time */
	int64_t took_us;             /* and how long it took */
	char error[ERR_MESSAGE_MAX]; /* of the last listing; "" */
	struct state_remote *remote; /* NULL for this server */
	/* state_services.c: ECS services by name, those that somebody wants to know soon, and why asking failed. */
	struct map services;
	struct map services_wanted; /* names */
	char services_error[ERR_MESSAGE_MAX];
	struct state_log *log; /* elsewhere, from when somebody follows it; NULL */
	char text[];
};

struct state_service {
	struct state_config config;
	struct runner *runner;       /* a group of its own */
	struct runner_event *wanted; /* somebody waits for a place elsewhere to be listed */
	struct lock lock;
	/* Guarded by the lock: */
	struct map cluster_refs; /* by name */
	size_t remote_count;
	struct state_own *own;
	struct state_relay *relay; /* NULL: nobody else is told of events */
};

/* What is to be told when the lock is released. */
struct state_changes {
	struct arena *arena;
	struct state_changes_item *first, **last;
};
void state_changes_init(struct state_changes *changes, struct arena *arena);
/* Under the lock. Says nothing while the place is not complete: nobody may look at it. */
void state_changes_add(struct state_changes *changes, const struct state_cluster *cluster_ref,
	struct span instance);
/* Only of a task of this group on it. */
void state_changes_add_task(struct state_changes *changes, const struct state_cluster *cluster_ref,
	struct span instance, struct span group);
/* Without the lock. */
void state_changes_deliver(struct state_service *service, struct state_changes *changes);

/* Under the lock: the listing that began at this mark (and moment) is through. Adds to the news who waited. */
void state_cluster_listed(struct state_service *service, struct state_cluster *cluster_ref,
	uint64_t resource_version, int64_t listed_ms, int64_t listed_us,
	struct state_changes *changes);
/* Under the lock: tells those who waited for a mark that is reached now. */
void state_cluster_advanced(struct state_service *service, struct state_cluster *cluster_ref,
	struct state_changes *changes);

/* state_own.c: clusters of this server, from the store's change feed. */
/* What an object of ECS says; texts may be those of the object. */
struct state_instance state_own_instance(const struct store_object *object, struct arena *arena);
struct state_task state_own_task(const struct store_object *object, struct arena *arena);
/* state_api.c: the same as clients see it. Of the request: caller, view and arena. */
struct json *state_api_instance_document(struct aws_request *request, struct span cluster_ref,
	const struct state_instance *instance);
struct json *state_api_task_document(struct aws_request *request, struct span cluster_ref,
	const struct state_task *task);
int state_own_new(struct state_service *service, struct state_own **ret_own, struct err *err);
void state_own_free(struct state_own *own); /* its strand has ended; NULL is fine */
/* There is a new place, or somebody waits for a mark. From any thread. */
void state_own_wake(struct state_own *own);
/* Under the lock: the revision up to which everything was told. */
uint64_t state_own_position(const struct state_own *own);

/* state_event.c: as state_post_event, of an event that nobody else needs to be told of; err may be NULL. */
int state_take_event(struct state_service *service, struct span target, const struct json *event,
	struct err *err);

/* state_relay.c: events for the other servers that share the store. */
int state_relay_new(struct state_service *service, const char *server,
	struct state_relay **ret_relay, struct err *err);
void state_relay_free(struct state_relay *relay); /* its strand has ended; NULL is fine */
/* It is written down soon, if there are others. From any thread; NULL is fine. */
void state_relay_post(struct state_relay *relay, struct span target, const struct json *event);
/* A record (environment_event_kind) that was written, by whomever. Without the lock. */
void state_relay_take(struct state_service *service, const struct store_object *record);

/* state_remote.c: clusters elsewhere, by listing them again and again. */
int state_remote_start(struct state_service *service, struct state_cluster *cluster_ref,
	struct err *err);
void state_remote_free(struct state_remote *remote); /* its strand has ended; NULL is fine */
/* Under the lock: an unknown health of a task of this definition means that nothing checks it. */
/* Of a task by this definition whose health ECS calls UNKNOWN. */
enum state_health state_remote_health(const struct state_remote *remote,
	struct span task_definition);
/* Under the lock. */
int64_t state_remote_period_us(const struct state_remote *remote);
/* state_services.c: ECS services of a place elsewhere. On its strand: asks for all that somebody needs, or only for those
 * that somebody wants to know soon. */
int state_services_refresh(struct state_service *service, struct state_cluster *cluster_ref,
	bool all, struct aws_target *target, struct err *err);
/* Under the lock. */
bool state_services_has(const struct state_cluster *cluster_ref, struct span name);
void state_services_forget(struct state_cluster *cluster_ref);
/* Under the lock: longer ago than it should be. */
bool state_cluster_is_late(const struct state_cluster *cluster_ref, int64_t since_us,
	int64_t now_us);

/* Under the lock: an empty replica for a place; whoever follows the old one begins anew. */
void state_cluster_reset(struct state_service *service, struct state_cluster *cluster_ref);
/* Under the lock: it is known now whether tasks of this definition are checked, which is news of each of them. */
void state_cluster_settled(struct state_cluster *cluster_ref, struct span task_definition);

/* state_follow.c: what there is in a place elsewhere, and a tail from there. */
struct state_snapshot {
	const struct state_task *tasks;
	size_t task_count;
	const struct state_instance *instances; /* without their tasks */
	size_t instance_count;
};
/* Behind a position, or (NULL) with all there is in the arena. -ESTALE: the position is too old, or not of this place;
 * -EAGAIN: nothing is known of it. */
int state_follow(struct state_service *service, struct span cluster_ref, const uint64_t *position,
	void (*wake)(void *context), void *context, struct arena *arena,
	struct state_snapshot *ret_snapshot, struct state_tail **ret_tail, struct err *err);
/* Under the lock: what changes in its replica goes into its log, if it has one. */
void state_follow_replica(struct state_cluster *cluster_ref);
/* Under the lock: as others see it. Elsewhere, "unknown" is also said of tasks that nothing checks. */
void state_cluster_settle_health(const struct state_cluster *cluster_ref, struct state_task *task);
/* state_api.c: the place that `target` and `cluster` of a request name. Fails the request. */
int state_api_find_cluster(struct aws_request *request, struct span *ret_cluster_ref);

#endif
