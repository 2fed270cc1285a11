/*
 * Declarations that the files of the plane share. Everything belongs to the plane's own thread,
 * except members documented as guarded by the lock.
 *
 *     plane.c            the loop: changes, and the order of processing them
 *     plane_listener.c   a listener with its rules and certificates -> struct proxy_listener
 *     plane_group.c      a target group with its targets -> struct proxy_group, health checks, states
 *     plane_apply.c      all of it -> the data plane; listeners that fail are left out and retried
 *     plane_write.c      observed state -> the store
 */
#ifndef ELB_PLANE_COMPONENTS_H
#define ELB_PLANE_COMPONENTS_H

#include "base/lock.h"
#include "base/map.h"
#include "elb/plane.h"

#define PLANE_RETRY_FIRST_MS 5
#define PLANE_RETRY_MAX_MS 1000
/* A port may still be held by the workers of a server that has just ended: for so long a listener that
 * cannot be bound is on its way, not impaired. */
#define PLANE_PATIENCE_MS 2000
/* How often draining targets are looked at: soon after they begin, then less and less often. */
#define PLANE_DRAIN_POLL_FIRST_MS 10
#define PLANE_DRAIN_POLL_MAX_MS 250
#define PLANE_WRITES_AT_ONCE 500
#define PLANE_COMPONENTS_MAX 2 /* proxy listeners of one listener */

/* ---- listeners ---- */

/* The configuration built from a listener, in an arena of its own. */
struct plane_shape {
	struct arena *arena;
	struct proxy_listener parts[PLANE_COMPONENTS_MAX];
	size_t part_count;
	unsigned
		driver; /* of the data plane: bit of the one that carries all its parts; 0: none does */
	const char **groups; /* names of all that it sends traffic to, each once */
	size_t group_count;
	bool has_certificates;
	/* Two of the same text differ in nothing that the data plane would see but in weights: those of the
	 * default action, which have a fast way, and those of rules. */
	struct span text, weights, rule_weights;
};
void plane_shape_free(struct plane_shape *shape); /* NULL is fine */

struct plane_listener {
	char *key;
	struct span balancer;          /* key, inside of key */
	struct plane_shape *shape;     /* as it is wanted; NULL: could never be built */
	struct plane_shape *in_effect; /* as it is carried, often the same; NULL: it is not */
	/* Why it is not carried as it is wanted; code 0: it is. */
	struct err failure;
	bool unbuilt;  /* the desired shape cannot be built; shape is the previous one */
	bool left_out; /* rejected by the data plane: the state in effect stays until retry_us */
	bool impaired; /* for longer than a moment */
	int64_t failed_us, retry_us, delay_ms;
};

struct elb_plane;

/* -EINVAL, or what reading certificates says. */
int plane_shape_build(struct elb_plane *plane, const struct store_view *view,
	const struct store_object *listener, struct plane_shape **ret_shape, struct err *err);

/* ---- groups ---- */

struct plane_target {
	const struct store_object *object; /* a reference */
	const char *key;                   /* its key; the prober knows it by that */
	union proxy_address address;
	bool has_address;
	bool is_double; /* another one has the same address: only the first is in the data plane */
	/* As found out. */
	enum elb_target_state state;
	enum probe_reason reason;
	int code;
};

/* Settings that do not depend on targets; kept until the group's object changes. */
struct plane_settings {
	struct arena *arena;
	uint64_t revision;
	struct proxy_group group; /* without targets */
	struct probe_settings check;
	bool checked;
	unsigned check_port; /* 0: the target's own */
	bool instances;
	enum proxy_target_state unhealthy; /* the state of unhealthy targets */
	uint32_t unhealthy_drain_ms;
};

/* One that is in use, or was until a moment ago. */
struct plane_group {
	char *key;
	unsigned users;   /* drivers of the listeners that use it; 0: none does */
	unsigned drivers; /* those that carry it */
	bool lingers;     /* unused, but earlier connections may still be open */
	struct plane_settings settings;
	struct arena *arena; /* of the targets */
	struct plane_target *targets;
	size_t target_count;
	struct proxy_target *wanted; /* for the data plane */
	size_t wanted_count;
	bool drains;      /* any of them does */
	unsigned pending; /* drivers that do not know it so yet */
};
void plane_group_free(struct plane_group *group); /* NULL is fine */

/* Reads it again. Notes what must be applied, checked and written. */
void plane_group_read(struct elb_plane *plane, const struct store_view *view,
	struct plane_group *group);
/* An unused group: its targets are unused, and none of them drains. */
void plane_group_read_unused(struct elb_plane *plane, const struct store_view *view,
	struct span key);
/* Passes all targets of all groups to the prober. */
int plane_groups_check(struct elb_plane *plane, struct err *err);
/* Marks draining targets for deletion when their time is over or nothing uses them, and drops
 * lingering groups without connections. Returns the time of the next pass; RUNNER_FOREVER: none. */
int64_t plane_groups_drain(struct elb_plane *plane);

/* ---- writing ---- */

enum plane_write_kind { PLANE_WRITE_STATE, PLANE_WRITE_DRAINED, PLANE_WRITE_BALANCER };

struct plane_write {
	enum plane_write_kind kind;
	const struct store_object *object; /* a reference: as it was when this was decided */
	enum elb_target_state state;
	enum probe_reason reason;
	int code;
	enum elb_load_balancer_state balancer_state;
	char *balancer_reason;
};

void plane_note_state(struct elb_plane *plane, const struct plane_target *target);
void plane_note_drained(struct elb_plane *plane, const struct store_object *target);
void plane_note_balancer(struct elb_plane *plane, const struct store_object *balancer,
	enum elb_load_balancer_state state, const char *reason);
/* Writes the noted changes and clears them. Skips an object whose decision is stale; a later pass
 * reconciles it. After an error a later pass reconciles everything. */
int plane_write_all(struct elb_plane *plane, struct err *err);
void plane_writes_clear(struct elb_plane *plane);

/* ---- applying ---- */

/* Listeners that the data plane refuses are left out, those of a driver that does not work stay to be done;
 * both are marked as failed. Everything else is in effect when it returns 0. Errors are of a driver that has
 * nothing to carry, and -ECANCELED. */
int plane_put_into_effect(struct elb_plane *plane, struct err *err);
/* Notes that a listener cannot be carried as wanted: unbuilt or left_out says why. */
void plane_listener_failed(struct elb_plane *plane, struct plane_listener *listener,
	const struct err *err);
/* Retries the listeners that are due. */
void plane_retry_listeners(struct elb_plane *plane);
/* The time of the next retry; RUNNER_FOREVER: no listener has failed. */
int64_t plane_next_retry_us(struct elb_plane *plane);
/* Load balancers that may be in another state than is stored. */
void plane_judge_balancers(struct elb_plane *plane, const struct store_view *view);
void plane_listener_free(struct plane_listener *listener); /* NULL is fine */

/* ---- the whole ---- */

struct elb_plane {
	struct elb_plane_config config;
	struct runner *runner; /* a group of its own */
	struct runner_event *event;
	struct prober *prober;

	struct store_feed *feed;
	struct map listeners; /* struct plane_listener by key */
	struct map groups;    /* struct plane_group by key: those in use */
	/* Objects that may have changed, by key. */
	struct map dirty_listeners, dirty_groups, dirty_balancers;
	struct map weights;   /* listeners of which nothing but weights has changed */
	unsigned must_apply;  /* drivers for which there is more than weights */
	bool must_check;      /* health checks are others than before */
	bool must_check_soon; /* a target begins to drain, or a group to linger */
	bool must_count;      /* listeners may use other groups than before */
	int64_t drain_poll_us, drain_poll_ms;
	int64_t again_us; /* something failed: everything again then */
	struct plane_write *writes;
	size_t write_count, write_capacity;

	struct lock lock;   /* of what follows */
	struct map changes; /* keys of groups whose targets' health has changed */
	bool refresh;
	bool started;     /* everything was applied once */
	uint64_t handled; /* count of the event up to which everything is in effect */
};

/* Marks; the key is copied. */
void plane_mark(struct map *dirty, struct span key);

#endif
