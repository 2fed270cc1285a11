/*
 * The inside of the simulation of deployments, shared by its files. A struct pipeline_sim is one run.
 *     pipeline_simulation.c  the course of a run
 *     pipeline_servers.c     the store, servers that crash, and what users ask for
 *     pipeline_world.c       the remote ECS: its store, controllers, names and target groups
 *     pipeline_remote.c      the calls to it, recorded, and their faults
 *     pipeline_actual.c      the remote ECS as it is
 *     pipeline_checker.c     the invariants
 */
#ifndef SIM_PIPELINE_PIPELINE_SIM_H
#define SIM_PIPELINE_PIPELINE_SIM_H

#include "aws/dispatch.h"
#include "aws/targets.h"
#include "base/map.h"
#include "control/claims.h"
#include "pipeline/engine.h"
#include "pipeline/kinds.h"
#include "sim/pipeline/pipeline_checker.h"
#include "sim/pipeline/pipeline_simulation.h"
#include "sim/service/service_server.h"

#define SIM_SECOND_US INT64_C(1000000)
#define SIM_LEASE_US (10 * SIM_SECOND_US)
#define SIM_SERVERS 2
#define SIM_TARGET "far"
#define SIM_APPLICATION "abc" /* also its service */
#define SIM_TTL_SECONDS 4
#define SIM_OPERATIONS_MAX 64
#define SIM_LATE_CALLS_MAX 16

struct pipeline_sim;

struct pipeline_server {
	struct pipeline_sim *sim;
	const char *name;
	unsigned boots;
	int64_t boot_at_us;    /* when down */
	struct runner *runner; /* NULL: down */
	struct claims *claims;
	struct aws_dispatcher *dispatcher;
	struct aws_targets *targets;
	struct engine *engine;
};

/* An operation of Cloud Map that is answered before it is done. */
struct pipeline_operation {
	char id[24];
	int64_t due_us; /* 0: it has ended */
	bool fails;
	char operation[24], instance[64], *request;
};

/* A call that takes effect after its caller has given up. */
struct pipeline_late_call {
	int64_t sent_us, due_us; /* due 0: it was delivered */
	char operation[24], *request;
};

/* The application of a run. */
struct pipeline_plan {
	struct pipeline_course course;
	int64_t desired, scale, percent;
	bool is_canary_registered_by_ecs, has_preview;
	bool has_health_checks, is_broken;
	const char *stages; /* NULL: the usual ones */
};

struct pipeline_sim {
	enum pipeline_bug bug;
	struct pipeline_simulation_result result;
	struct runner *root;
	struct random *random;
	struct pipeline_plan plan;
	/* Our own servers. */
	struct store *store;
	struct store_faults store_faults;
	struct pipeline_server servers[SIM_SERVERS];
	unsigned server_count;
	bool is_faulty, are_tasks_dying;
	char deployment[40]; /* ID of the one that runs */
	/* The remote ECS. */
	struct store *remote_store;
	struct aws_dispatcher *remote_dispatcher;
	struct simulated_world *machines;
	struct service_server ecs;
	char *registry_arn, *registry_id, *preview_arn, *listener_arn, *blue_arn, *green_arn,
		*other_arn;
	struct pipeline_operation operations[SIM_OPERATIONS_MAX];
	unsigned operation_count;
	struct pipeline_late_call late_calls[SIM_LATE_CALLS_MAX];
	unsigned late_call_count;
	int64_t deleted_us; /* when a set or a service was deleted last */
	/* The targets of a group without weight are unhealthy for a while. */
	enum pipeline_group sick_group;
	int64_t sick_since_us, sick_until_us;
	/* A scenario. */
	const char *refused;
	unsigned refused_times;
	/* A sweep. */
	unsigned kill_at, calls;
	bool kill_after, is_counting;
	struct pipeline_checker *checker;
	char broken[ERR_MESSAGE_MAX]; /* the first broken property */
};

static inline uint64_t sim_draw(struct pipeline_sim *sim, uint64_t below)
{
	return random_below(sim->random, below);
}

static inline bool sim_one_in(struct pipeline_sim *sim, uint64_t many)
{
	return sim_draw(sim, many) == 0;
}

void pipeline_sim_broken(struct pipeline_sim *sim, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- pipeline_servers.c ---- */

int pipeline_sim_open_store(struct pipeline_sim *sim, struct err *err);
void pipeline_sim_close_store(struct pipeline_sim *sim);
void pipeline_sim_take_down(struct pipeline_sim *sim, struct pipeline_server *server);
/* Removes crashed servers, and boots those whose time has come. */
void pipeline_sim_tend_servers(struct pipeline_sim *sim);
/* The server that calls from this runner crashes. */
void pipeline_sim_crash(struct pipeline_sim *sim, struct runner *runner);
/* Asks for a deployment; its ID is in sim->deployment. */
int pipeline_sim_deploy(struct pipeline_sim *sim, unsigned version, struct err *err);
int pipeline_sim_cancel(struct pipeline_sim *sim, bool roll_back, struct err *err);
/* Runs its rollback again. */
int pipeline_sim_retry(struct pipeline_sim *sim, struct err *err);
bool pipeline_sim_is_rolling_back(struct pipeline_sim *sim);
/* Rolls back the deployment, which has succeeded. */
int pipeline_sim_roll_back(struct pipeline_sim *sim, struct err *err);
/* Its reason, as it is now. */
void pipeline_sim_read_reason(struct pipeline_sim *sim, char *out, size_t size);
/* False: it continues. */
bool pipeline_sim_has_ended(struct pipeline_sim *sim, enum pipeline_deployment_state *ret_state);

/* ---- pipeline_world.c ---- */

int pipeline_sim_open_world(struct pipeline_sim *sim, struct err *err);
void pipeline_sim_close_world(struct pipeline_sim *sim);
/* Targets become healthy, and drain. */
void pipeline_sim_tend_world(struct pipeline_sim *sim);
/* A request to the remote ECS, written with ' for "; NULL unless it was done. */
const struct json *pipeline_sim_request(struct pipeline_sim *sim, const struct aws_service *service,
	struct arena *arena, const char *operation, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* ---- pipeline_remote.c ---- */

extern const struct aws_target_settings pipeline_sim_target_settings;
struct aws_target *pipeline_sim_make_target(struct pipeline_sim *sim, struct runner *runner);
/* Operations and late calls whose time has come. */
void pipeline_sim_tend_calls(struct pipeline_sim *sim);

#endif
