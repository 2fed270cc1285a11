/*
 * The state service: replicas of the ECS clusters that environments are in, wherever those clusters are. What is
 * decided about an instance is decided from here, so two things matter more than anything: what is not known is
 * never taken for absent, and what is old is never taken for new.
 *
 * A place (kinds.h) is watched from when somebody asks for it. It is *complete* when everything was listed once;
 * before that nothing of it may be acted upon. Its *mark* says up to where it knows the world: what was done
 * before a mark was taken (observe_resource_version()) is seen in it when observe_reaches() says so. For clusters of this server
 * a mark is a revision of the store, and the replica follows the store's change feed; for others it is a moment,
 * and a listing that began after it has to be through.
 *
 * Entities have versions that never go back, and one that was deleted stays deleted for news from before.
 * Everything here may be called from any thread, and does not block.
 */
#ifndef DELIVERY_OBSERVE_H
#define DELIVERY_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"
#include "control/runner.h"
#include "store/store.h"

struct aws_target;
struct json;
struct observer;

enum observe_instance_status {
	OBSERVE_INSTANCE_ACTIVE,
	OBSERVE_INSTANCE_DRAINING,
	OBSERVE_INSTANCE_OTHER, /* registering, deregistering: not to be used */
};

/* In the order in which tasks go through them. */
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
	OBSERVE_HEALTH_NONE, /* nothing checks it */
	OBSERVE_HEALTH_UNKNOWN,
	OBSERVE_HEALTHY,
	OBSERVE_UNHEALTHY,
	OBSERVE_HEALTH_UNSURE, /* whether something checks it is not known yet */
};

struct observe_task {
	struct span arn;
	struct span instance; /* id */
	struct span group, started_by, task_definition;
	enum observe_task_status last;
	bool wanted; /* desiredStatus RUNNING */
	enum observe_health health;
	int64_t created_ms, started_ms, stopped_ms; /* as it says itself; 0: not yet */
	int64_t since_ms; /* since when it runs, or has stopped: steady time of this server; 0 before */
	int64_t ran_ms;   /* once it has stopped: for how long; 0: it never ran */
	bool is_doubtful; /* clocks do not agree: it may be so for longer than since_ms says */
	struct span stop_code, stopped_reason; /* "" */
	bool has_exited;                       /* one of its containers said with which code, */
	int exit_code; /* and this is it: the first that is not 0, if there is one */
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
	int64_t away_ms; /* since when, as far as is known: steady time of this server; 0 while connected */
	/* Its tasks that have not stopped, of whomever. */
	const struct observe_task *tasks;
	size_t task_count;
};

/* Of events that other servers take from the store; a server registers it with the store. */
extern const struct store_kind observe_event_kind;

struct observe_config {
	struct runner *runner;
	struct store *store;
	/* Something about this instance or its tasks is new; instance "": anything may be, look at all (the place
	 * is complete for the first time, or reaches a mark of which observe_reaches() said that it does not). If it
	 * is only a task, its group is said, so that those whom it does not concern need not look; "": more is. From
	 * any thread, without a lock held; must not block. */
	void (*changed)(void *context, struct span cluster_ref, struct span instance,
		struct span group);
	/* What to call for a place that is not of this server; NULL: not known now, it is asked for again later. The
	 * target outlives the service; who frees the service cancels it first (aws_target_cancel). May be NULL if
	 * no such place is watched. */
	struct aws_target *(*resolve)(void *context, struct span cluster_ref);
	/* Between two listings of such a place. NULL: poll_ms for all. */
	int64_t (*get_poll_ms)(void *context, struct span cluster_ref);
	/* Whether such a place is needed; when it is not any more it is forgotten, until somebody watches it again.
	 * NULL: all are. */
	bool (*is_wanted)(void *context, struct span cluster_ref);
	/* The names of the ECS services of such a place that somebody needs, in the arena; how many. NULL: none. */
	size_t (*list_services)(void *context, struct span cluster_ref, struct arena *arena,
		struct span **ret_names);
	/* What is known of a service of such a place is new, or known for the first time; as changed(). */
	void (*service_changed)(void *context, struct span cluster_ref, struct span name);
	/* Such a place could not be listed several times, or (err NULL) can be again; as changed(). NULL: nobody asks. */
	void (*reached)(void *context, struct span cluster_ref, const struct err *err);
	void *context;
	int64_t poll_ms; /* 0: OBSERVE_POLL_MS */
	/* This server's name among those that share the store (control/claims.h), which are told of events that are
	 * posted here. NULL: there are no others. */
	const char *server;
	/* Groups of tasks that begin with this are indexed one by one (observe_get_instance_for()), and the health checks of
	 * their task definitions are looked up. It outlives the service. "": none. */
	struct span group_prefix;
};
#define OBSERVE_POLL_MS 10000
#define OBSERVE_STOPPED_MAX 10000 /* tasks of a place that have stopped and are kept */
#define OBSERVE_STOPPED_MS INT64_C(3600000)
#define OBSERVE_REMOTE_CLUSTERS_MAX 256 /* that are polled; each has a thread of its own */

int observe_new(const struct observe_config *config, struct observer **ret_service,
	struct err *err);
/* changed() is not called any more when this returns; NULL is fine. */
void observe_free(struct observer *service);

/* Begins to follow it, unless it is followed already. */
void observe_watch(struct observer *service, struct span cluster_ref);
/* Everything was listed once. */
bool observe_is_complete(struct observer *service, struct span cluster_ref);

uint64_t observe_resource_version(struct observer *service, struct span cluster_ref);
/* If it does not, changed() is called when it does: for all of the place, or for the instance that is asked about, of
 * this group alone; "": for everybody. */
bool observe_reaches(struct observer *service, struct span cluster_ref, uint64_t resource_version);
bool observe_reaches_for(struct observer *service, struct span cluster_ref, struct span instance,
	struct span group, uint64_t resource_version);

/* The version of the state that is known of a place at least, for who writes down on what he decided: of a cluster of this
 * server a revision of the store. Elsewhere there is none of the whole place: 0. */
uint64_t observe_seen(struct observer *service, struct span cluster_ref);

/* What is known now, in the arena. NULL: there is no such instance. */
struct observe_instance *observe_get_instance(struct observer *service, struct span cluster_ref,
	struct span id, struct arena *arena);
/* The same without tasks of other groups with the configured prefix: there may be hundreds. */
struct observe_instance *observe_get_instance_for(struct observer *service, struct span cluster_ref,
	struct span id, struct span group, struct arena *arena);
/* The ids of all, in the arena; how many. */
size_t observe_list_instances(struct observer *service, struct span cluster_ref,
	struct arena *arena, struct span **ret_ids);
/* A task that may have stopped already (they are kept for an hour, or 10,000 of a place); NULL. */
struct observe_task *observe_get_task(struct observer *service, struct span cluster_ref,
	struct span arn, struct arena *arena);
/* The last task of a group that stopped on an instance; NULL. Why it stopped, and that it did. */
struct observe_task *observe_last_stopped(struct observer *service, struct span cluster_ref,
	struct span instance, struct span group, struct arena *arena);

/* How well a place is known. */
struct observe_info {
	bool complete;
	size_t instances, tasks; /* stopped ones included */
	uint64_t listings;       /* complete ones so far */
	/* When the last complete listing began, as wall time: how old what is known may be. Of a cluster of this
	 * server that is followed: now. 0: never. */
	int64_t observed_ms;
	bool stale;                  /* longer ago than it should be */
	char error[ERR_MESSAGE_MAX]; /* why the last listing failed; "" */
};
/* False if nobody watches it. */
bool observe_get_info(struct observer *service, struct span cluster_ref,
	struct observe_info *ret_info);
/* The places that are watched, in the arena; how many. */
size_t observe_list_clusters(struct observer *service, struct arena *arena,
	struct span **ret_cluster_refs);

/* Which tasks, or instances: all that is given must hold. */
struct observe_task_query {
	struct span group, started_by, instance; /* data NULL: any */
	unsigned statuses;                       /* bits (enum observe_task_status); 0: any */
	bool failed;                             /* also those that have failed, or only those */
};
struct observe_instance_query {
	unsigned statuses;             /* bits (enum observe_instance_status); 0: any */
	const struct span *attributes; /* packed: "NAME=VALUE", or "NAME": it is there */
	size_t attribute_count;
};
/* It is desired to run and is not stopping. */
bool observe_task_stays(const struct observe_task *task);
/* It ended by itself, or never began. */
bool observe_task_has_failed(const struct observe_task *task);
/* Whether packed attributes have what such a query asks for. */
bool observe_has_attribute(struct span attributes, struct span condition);

/*
 * Those that a query asks for, in order of id or ARN, behind `after` (data NULL: from the first), at most `most`,
 * in the arena; how many. What was there all the time is on one page, and on one only, whatever else comes and
 * goes between two pages. Costs a look at each that is given, however many there are; when several of group,
 * startedBy and instance are given, or several attributes, at what the rarest of them has.
 */
size_t observe_select_instances(struct observer *service, struct span cluster_ref,
	const struct observe_instance_query *query, struct span after, size_t most,
	struct arena *arena, struct observe_instance **ret_instances);
size_t observe_select_tasks(struct observer *service, struct span cluster_ref,
	const struct observe_task_query *query, struct span after, size_t most, struct arena *arena,
	struct observe_task **ret_tasks);

/*
 * Takes an event as EventBridge has it ("ECS Task State Change", "ECS Container Instance State Change"; "ECS
 * Service Action" and "ECS Deployment State Change" say only that a service should be asked for), of a cluster behind `target`. 1: it said something new. 0: it did not: it was older than what is known, or of a
 * cluster that nobody watches. -EINVAL: it cannot be understood; err says what is wrong.
 */
int observe_post_event(struct observer *service, struct span target, const struct json *event,
	struct err *err);
/* Takes a task as a call that changed it answered it, of a place elsewhere: whoever asks next need not wait for a
 * listing. As observe_post_event otherwise; of this server the store tells it. */
int observe_post_task(struct observer *service, struct span cluster_ref, const struct json *task,
	struct err *err);
/* An ECS service of a place elsewhere, as DescribeServices last told it. Those that list_services names are asked for
 * with every listing, and a second later when somebody wants to know it or an event speaks of it. */
struct observe_service_info {
	bool known;                  /* it was asked for */
	const struct json *service;  /* with its tags, in the arena; NULL: there is none */
	uint64_t resource_version;   /* what was done before this mark is seen in it */
	bool stale;                  /* asked for longer ago than it should be */
	char error[ERR_MESSAGE_MAX]; /* why that failed when it was last tried; "" */
};
void observe_get_service(struct observer *service, struct span cluster_ref, struct span name,
	struct arena *arena, struct observe_service_info *ret_info);
/* It is asked for again soon; service_changed() is called when it was. */
void observe_want_service(struct observer *service, struct span cluster_ref, struct span name);

/* The place that an event is about, in the arena; SPAN_NONE if it does not say. */
struct span observe_event_cluster(struct span target, const struct json *event,
	struct arena *arena);

#endif
