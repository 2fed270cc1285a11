/*
 * The inside of the service simulation, shared by its files:
 *     service_simulation.c  the store and its faults, servers that crash, the course of a run
 *     service_clients.c     what clients and operators ask for, through the real API
 *     service_settled.c     whether all is as it was asked for, in the end
 *     service_world.c       what sends traffic to services: target groups, names, and a plane
 *     service_server.c      a server
 *     service_checker.c     the rules that hold all the time
 *     watched_runtime.c     the rules of what may be asked of a runtime with groups
 */
#ifndef SIM_SERVICE_SERVICE_SIMULATION_INTERNAL_H
#define SIM_SERVICE_SERVICE_SIMULATION_INTERNAL_H

#include "aws/dispatch.h"
#include "sim/service/service_checker.h"
#include "sim/service/service_server.h"

#define SIMULATION_SERVERS 2
#define SIMULATION_SECOND_US INT64_C(1000000)
#define SIMULATION_KEY_SIZE 128
#define SIMULATION_GROUPS 4 /* target groups, and as many names */

/* The services there can be, by what drives them. */
enum { SERVICE_WEB, SERVICE_API, SERVICE_AGENT, SERVICE_SHOP, SIMULATION_SERVICES };

/* The desired state. An update whose answer was lost may count or not. */
struct simulation_update {
	bool exists;
	int64_t certain, possible;
};

struct simulation {
	const struct service_simulation *config;
	struct service_simulation_result result;
	struct runner *root;
	struct random *random;
	char *path, *key_path; /* NULL: in memory */
	struct store *store;
	struct aws_dispatcher *dispatcher;
	struct store_faults faults;
	bool faulty;    /* faults happen */
	bool gentle;    /* nothing dies by itself */
	bool only_good; /* clients want only what works */
	bool traffic;   /* services have target groups and names */
	bool groups;    /* the runtime keeps replicas itself */
	char *group_arns[SIMULATION_GROUPS], *registry_arns[SIMULATION_GROUPS];
	bool store_stopped; /* at a commit: everything has to start from the file */
	struct simulated_world *world;
	struct service_checker *checker;
	struct service_server servers[SIMULATION_SERVERS];
	unsigned server_count;
	struct simulation_update desired_states[SIMULATION_SERVICES];
	/* Of the last request: */
	int status;
	bool unknown_end; /* the answer is lost */
	/* A sweep: the commit at which everything stops. 0: none. */
	unsigned stop_at_commit;
	bool stop_after;
	unsigned commits;
	bool counting;
	char broken[ERR_MESSAGE_MAX]; /* the first broken rule */
};

static inline uint64_t simulation_draw(struct simulation *simulation, uint64_t below)
{
	return random_below(simulation->random, below);
}

/* A struct simulation's rule is broken. */
void simulation_broken(void *simulation, const char *rule);

/* ---- service_clients.c ---- */

const char *simulation_service_name(size_t service);
bool simulation_service_has_sets(size_t service); /* instead of deployments */
/* "ACCOUNT/REGION/CLUSTER/NAME" */
struct span simulation_service_key(size_t service, char out[SIMULATION_KEY_SIZE]);
/* A request written with ' for "; NULL unless it was done. */
const struct json *simulation_request(struct simulation *simulation, struct arena *arena,
	const char *operation, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same of another service of the dispatcher. */
const struct json *simulation_request_to(struct simulation *simulation,
	const struct aws_service *service, struct arena *arena, const char *operation,
	const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The cluster, all task definitions, and what sends traffic; only without faults. */
int simulation_define_all(struct simulation *simulation, struct err *err);
/* Something that a client or an operator may do. */
void simulation_act_client(struct simulation *simulation);
/* Creates or changes a service. */
void simulation_act_update(struct simulation *simulation);
void simulation_activate_instances(struct simulation *simulation);
void simulation_drain_one(struct simulation *simulation);
/* Repairs services that cannot become steady because a client desires something that does not work. */
void simulation_recover(struct simulation *simulation);

/* ---- service_world.c ---- */

/* Makes target groups that are in use, and names. */
int simulation_define_traffic(struct simulation *simulation, struct err *err);
/* ",'loadBalancers':[…],'serviceRegistries':[…]" for a service or a task set of it, or ""; in the arena. */
const char *simulation_draw_traffic(struct simulation *simulation, size_t service,
	struct arena *arena);
/* The plane: finds out how targets are, and deletes what has drained. */
void simulation_tend_targets(struct simulation *simulation);
/* NULL if everything that is registered is a task that runs and shall. */
const char *simulation_stray_traffic(const struct store_view *view);

/* ---- service_settled.c ---- */

/* "" if all is as wanted and the world agrees. */
void simulation_describe_unsettled(struct simulation *simulation, char out[128]);
/* The last acknowledged state is the desired one, and answers report the actual state. */
void simulation_check_answers(struct simulation *simulation);

#endif
