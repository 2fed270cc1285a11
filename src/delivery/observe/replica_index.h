/*
 * The indexes of one replica (replica.h): which instances and tasks there are by what queries ask for. Pure
 * and for one thread.
 *
 * Everything of one group, startedBy, instance or attribute, and everything at all, is kept in order of name and
 * apart by status (stopped tasks also by whether they have failed). So a page of a query with one of these and any
 * statuses looks at what is on it and at no more, and continues behind a name, whatever has come and gone since. A
 * query with several of them looks at what the rarest one has.
 *
 * A change costs a way down a tree for each index in which it moves something, and nothing where it does not.
 */
#ifndef DELIVERY_OBSERVE_REPLICA_INDEX_H
#define DELIVERY_OBSERVE_REPLICA_INDEX_H

#include "base/arena.h"
#include "delivery/observe/observe.h"

/* That one call looks at, at most, before it says where to go on: others wait for it. */
#define REPLICA_INDEX_VISITS_MAX 4096

struct replica_index;
struct replica_index_entry;

struct replica_index *replica_index_new(void);
void replica_index_free(struct replica_index *index); /* NULL is fine */

/* In place of what the entry was made of, which must still be there; *entry NULL: it is new. What is given stays
 * where it is as long as the entry refers to it. */
void replica_index_put_task(struct replica_index *index, struct replica_index_entry **entry,
	const struct observe_task *task);
void replica_index_put_instance(struct replica_index *index, struct replica_index_entry **entry,
	const struct observe_instance *instance);
void replica_index_remove_task(struct replica_index *index, struct replica_index_entry *entry);
void replica_index_remove_instance(struct replica_index *index, struct replica_index_entry *entry);

/* Those behind *after (data NULL: all) in order of name, no more than `most`, in an array in the arena; how many.
 * *after becomes where to go on, in the arena, if so many were looked at that others should come first; else data
 * NULL. */
size_t replica_index_find_tasks(struct replica_index *index, const struct observe_task_query *query,
	struct span *after, size_t most, struct arena *arena,
	const struct observe_task ***ret_tasks);
size_t replica_index_find_instances(struct replica_index *index,
	const struct observe_instance_query *query, struct span *after, size_t most,
	struct arena *arena, const struct observe_instance ***ret_instances);

/* Work done so far: for tests of what things cost. */
struct replica_index_work {
	uint64_t visits; /* instances and tasks that queries have looked at */
	uint64_t steps;  /* nodes of trees that were passed, also for changes */
	uint64_t nodes;  /* that there are now */
};
struct replica_index_work replica_index_work(const struct replica_index *index);

#endif
