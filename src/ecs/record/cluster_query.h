/*
 * ECS's cluster query language: expressions over container instances, in filters and in placement
 * constraints.
 *
 *     attribute:ecs.instance-type =~ t2.* and not(task:group == database)
 *     attribute:zone in [eu-1a, eu-1b] && runningTasksCount < 5
 *     agentVersion >= 1.18.0 and agentConnected == true and registeredAt > 2026-01-01
 *
 * Subjects: attribute:NAME, task:group, agentConnected, agentVersion, registeredAt, runningTasksCount,
 * ec2InstanceId. Operators in both spellings: == equals, != not_equals, > greater_than, >= greater_than_equal,
 * < less_than, <= less_than_equal, exists, !exists not_exists, in, !in not_in, =~ matches, !~ not_matches;
 * && and, || or, ! not, parentheses. An instance without the subject fits nothing but !=, !in, !~ and
 * !exists.
 *
 * Compiled once, asked for many instances; both take time in proportion to the expression.
 */
#ifndef ECS_CLUSTER_QUERY_H
#define ECS_CLUSTER_QUERY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"

#define CLUSTER_QUERY_TEXT_MAX 2000
#define CLUSTER_QUERY_DEPTH_MAX 32
#define CLUSTER_QUERY_TERMS_MAX 64
#define CLUSTER_QUERY_LIST_MAX 100
#define CLUSTER_QUERY_PATTERN_MAX 200

struct cluster_query;

/* Properties of an instance that an expression can use. */
struct cluster_query_instance {
	struct span attributes; /* packed, see attribute.h */
	bool agent_connected;
	struct span agent_version; /* "1.18.0"; data NULL: unknown */
	int64_t registered_ms;
	int64_t running_tasks; /* needed only if the query asks for CLUSTER_QUERY_RUNNING_TASKS */
	struct span ec2_instance_id; /* data NULL: none */
	/* The groups of the tasks that run there; only for CLUSTER_QUERY_GROUPS. */
	const struct span *groups;
	size_t group_count;
};

/* The query lives until cluster_query_free (patterns are compiled outside of the arena). Messages name the
 * place: "at 'foo': …". */
int cluster_query_parse(struct span text, struct cluster_query **ret_query, struct err *err);
void cluster_query_free(struct cluster_query *query); /* NULL is fine */
void cluster_query_free_pointer(struct cluster_query **query);
#define _cluster_query_ CLEANUP(cluster_query_free_pointer)

/* Does it use properties that are not in the facts of an instance and must be gathered for it? */
enum cluster_query_ask { CLUSTER_QUERY_RUNNING_TASKS = 1, CLUSTER_QUERY_GROUPS = 2 };
bool cluster_query_asks(const struct cluster_query *query, enum cluster_query_ask ask);
bool cluster_query_matches(const struct cluster_query *query,
	const struct cluster_query_instance *instance);

#endif
