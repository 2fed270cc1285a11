/*
 * Container instances: the machines of a cluster. Agents register them, or this server does it for what
 * its runtime offers (instance_maintainer.h); attributes belong to them. Keys are "ACCOUNT/REGION/CLUSTER/ID".
 *
 * The API text holds desired and announced state. Placement reads the facts, kept in the private
 * text; container_instance_save() copies those that clients see into the document. Values derived
 * from tasks (remainingResources, runningTasksCount, pendingTasksCount) are in neither: they are
 * sums of the tasks' index, computed per request.
 */
#ifndef ECS_CONTAINER_INSTANCE_H
#define ECS_CONTAINER_INSTANCE_H

#include "aws/service.h"
#include "ecs/record/cluster_query.h"

extern const struct store_kind container_instance_kind;

#define CONTAINER_INSTANCE_PORTS_MAX 100 /* that an agent reserves, of either protocol */

#define CONTAINER_INSTANCE_STATUSES(X) X(ACTIVE) X(DRAINING)
enum container_instance_status {
#define X(name) CONTAINER_INSTANCE_##name,
	CONTAINER_INSTANCE_STATUSES(X)
#undef X
		CONTAINER_INSTANCE_STATUS_COUNT
};

enum container_instance_index {
	CONTAINER_INSTANCE_BY_ATTRIBUTE, /* "ACCOUNT/REGION/CLUSTER/NAME=VALUE", once per attribute */
	CONTAINER_INSTANCE_BY_STATUS,    /* "ACCOUNT/REGION/CLUSTER/STATUS" */
	CONTAINER_INSTANCE_BY_RUNTIME, /* "ACCOUNT/REGION/CLUSTER/HOST/RUNTIME"; those of servers only */
	CONTAINER_INSTANCE_BY_EC2, /* "ACCOUNT/REGION/i-…"; those that have one */
	CONTAINER_INSTANCE_INDEX_COUNT
};

struct container_instance_facts {
	struct span id;
	struct span cluster;
	enum container_instance_status status;
	bool connected; /* its agent is connected, or the runtime of this server is available */
	bool left;      /* a server's own: gone from its runtime; deleted with its last task */
	int64_t cpu, memory; /* registered: units, MiB */
	struct span ports;   /* reserved by the agent itself: "22/tcp,53/udp"; "" */
	/* "HOST/ID": the server whose runtime runs its tasks, and that runtime's id of it ("machine"). "": it
	 * has an agent of its own. */
	struct span runtime;
	struct span attributes; /* packed, see attribute.h */
	struct span agent_version;
	struct span ec2_instance_id; /* of a server's own: "i-" and the beginning of its id */
	struct span address;         /* where its host ports are reached; "" if unknown */
	int64_t registered_ms;
	int64_t active_ms; /* when it became ACTIVE again; 0: it always was */
};

static inline const struct container_instance_facts *
container_instance_facts(const struct store_object *instance)
{
	return instance->facts;
}

/* The parts of facts->runtime; "" if it has an agent of its own. */
struct span container_instance_host(const struct container_instance_facts *facts);
struct span container_instance_runtime_id(const struct container_instance_facts *facts);

/* The instance that a server's runtime (as instance_maintainer.h names it) calls `id`; NULL if
 * there is none. */
const struct store_object *container_instance_of_runtime(const struct store_view *view,
	struct arena *arena, struct span cluster_key, struct span host, struct span id);

/* The address of the instance with this EC2 instance id, of the scope "ACCOUNT/REGION/"; "" if it is not known.
 * As struct elb_context wants it. */
struct span container_instance_address(const struct store_view *view, struct span scope,
	struct span ec2_instance_id, struct arena *arena);

const char *container_instance_status_name(enum container_instance_status status);

/* An instance that is being created or changed. */
struct container_instance_edit {
	struct arena *arena;
	struct span key;
	struct container_instance_facts
		facts;           /* id, cluster and attributes are made from key and document */
	struct json *document;   /* as described, without counts and tags */
	const struct json *tags; /* an array or NULL */
	uint64_t revision;       /* STORE_ABSENT: new */
};

/* A stored instance, to be changed. */
int container_instance_edit_open(const struct store_object *instance, struct arena *arena,
	struct container_instance_edit *ret_edit, struct err *err);
/* Writes it, with the next version. */
int container_instance_save(struct store_transaction *transaction,
	struct container_instance_edit *edit, struct err *err);

/* The instance "CLUSTER/ID" of the request's account and region, as ARNs name it; NULL if absent. */
const struct store_object *container_instance_get(struct aws_request *request, struct span name);
/* The instance that `given` (id or ARN) means within a cluster; NULL if there is none. */
const struct store_object *container_instance_in(struct aws_request *request,
	const struct store_object *cluster, struct span requested);
/* How many are registered in a cluster. */
uint64_t container_instance_count(const struct store_view *view,
	const struct store_object *cluster);

/* Resources and counts of its live tasks: TASK_SUM_CPU, TASK_SUM_MEMORY, TASK_SUM_INSTANCE_RUNNING
 * and TASK_SUM_INSTANCE_PENDING of ecs/record/task.h. O(log n). */
void container_instance_sum_tasks(const struct store_view *view,
	const struct store_object *instance, int64_t ret_sums[STORE_MEASURES]);
/* Whether it satisfies a query; `arena` is for the groups of its tasks. */
bool container_instance_matches(const struct cluster_query *query, const struct store_view *view,
	const struct store_object *instance, struct arena *arena);

/* Fails the request when the ARN names another cluster: that is a client error, not a missing
 * instance. */
int container_instance_check_cluster(struct aws_request *request,
	const struct store_object *cluster, struct span requested);
/* For failures[]: there is no such instance. */
const struct json *container_instance_missing(struct aws_request *request,
	const struct store_object *cluster, struct span requested);
/* As answers show it: the stored document, with counts and remaining resources of the request's
 * view. */
struct json *container_instance_document(struct aws_request *request,
	const struct store_object *instance, bool tags);
/* {"containerInstance":…} */
int container_instance_answer(struct aws_request *request, const struct json *document);

int container_instance_register(struct aws_request *request);
int container_instance_register_prepare(struct aws_request *request);
int container_instance_deregister(struct aws_request *request);
int container_instance_describe(struct aws_request *request);
int container_instance_list(struct aws_request *request);
int container_instance_update_agent(struct aws_request *request);
int container_instance_update_state(struct aws_request *request);
void container_instance_resources(struct aws_request *request, struct aws_resources *resources);

#endif
