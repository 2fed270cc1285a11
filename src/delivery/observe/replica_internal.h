/* Between the sources of replica.h: its entities and the slots of instances. */
#ifndef DELIVERY_OBSERVE_REPLICA_INTERNAL_H
#define DELIVERY_OBSERVE_REPLICA_INTERNAL_H

#include "base/map.h"
#include "delivery/observe/replica.h"

enum entity_type { INSTANCE, TASK, TYPE_COUNT };

struct line {
	struct entity *first, *last;
	size_t count;
};

/* An instance, a task, or what is left of one. */
struct entity {
	enum entity_type type;
	bool gone;
	bool is_grouped; /* its group is an indexed one */
	uint64_t version;
	uint64_t last;    /* of what is gone: the version that it had */
	uint64_t changed; /* when, in changes of the replica */
	uint64_t listing; /* that mentioned it last */
	/* In the line of tombstones, or of stopped tasks; not at all otherwise. */
	struct line *line;
	struct entity *before, *behind;
	struct moment since;
	int64_t seen_ms; /* when it was heard of last, by the steady clock */
	/* Tasks, at their instance: live ones in no order, stopped ones of a group with the latest first. */
	struct slot *slot;
	struct entity *previous, *next;
	struct entity *fellow_before, *fellow; /* live ones of the same fellow_group() */
	struct replica_index_entry *indexed;   /* NULL: it is gone */
	struct span name;                      /* in text */
	union {
		struct observe_instance instance;
		struct observe_task task;
	};
	char text[];
};

struct slot {
	struct entity *instance; /* NULL: only its tasks are known */
	struct entity *live;
	size_t live_count;
	struct map stopped;   /* the latest one of each group that has stopped */
	struct map grouped;   /* the first live one of each indexed group, by the group */
	struct entity *loose; /* the first live one of any other group */
};

struct replica {
	struct replica_limits limits;
	struct map entities[TYPE_COUNT];
	struct map slots; /* by instance id */
	struct replica_index *index;
	size_t counts[TYPE_COUNT];
	struct line stopped, tombstones;
	uint64_t changes;
	uint64_t listing; /* number of the last one */
	bool lists;
	uint64_t listing_began; /* in changes */
	int64_t forgotten_ms;
	int64_t clocks_apart_ms; /* the wall clock from the steady one, at first */
	void (*changed)(void *context, const struct replica_change *change); /* or NULL */
	void *context;
};

/* ---- replica_slot.c ---- */

struct slot *replica_slot(struct replica *state, struct span instance);
void replica_slot_free(struct slot *slot);
/* Frees the slot if nothing is known of its instance any more. */
void replica_slot_leave(struct replica *state, struct slot *slot, struct span instance);
void replica_slot_add_task(struct slot *slot, struct entity *task, bool by_version);
void replica_slot_remove_task(struct entity *task);

static inline bool entity_has_stopped(const struct entity *task)
{
	return task->task.last == OBSERVE_TASK_STOPPED;
}

/* ---- replica_entity.c ---- */

struct entity *entity_of_instance(const struct observe_instance *requested);
struct entity *entity_of_task(const struct observe_task *requested);
/* last: the version that was removed. */
struct entity *entity_of_removal(enum entity_type type, struct span name, uint64_t version,
	uint64_t last);
/* Takes the entity; it replaces the one of its name, if there is one. */
void replica_replace(struct replica *state, struct entity *entity, struct moment now);
/* Replaces an entity by its tombstone. */
void replica_bury(struct replica *state, struct entity *entity, uint64_t version,
	struct moment now);
/* Reports a change to the listener. */
void replica_report(const struct replica *state, const struct entity *old,
	const struct entity *now);

#endif
