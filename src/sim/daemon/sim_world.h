/*
 * The inside of the daemon simulation, shared by its files. A struct sim is one run.
 *     daemon_simulation.c     the course of a run
 *     daemon_sweep.c          a run in which everything stops at one point
 *     sim_servers.c     the store and its faults, servers that crash
 *     sim_torn.c        what becomes of its file when it stops in the middle of a commit
 *     sim_owners.c      whose environments are, and that their deployments end
 *     sim_words.c       what servers say
 *     sim_remote.c      a remote ECS, and calls of it that fail
 *     sim_events.c      its events
 *     sim_machines.c    instances and what becomes of tasks on them
 *     sim_clients.c     what clients ask for, through the real API
 *     sim_promises.c    what was acknowledged to them
 *     sim_settled.c     whether all is as it was asked for, in the end
 *     sim_trials.c      what is tried then
 *     daemon_checker*.c       the properties that hold all the time
 */
#ifndef SIM_DAEMON_SIM_WORLD_H
#define SIM_DAEMON_SIM_WORLD_H

#include "aws/dispatch.h"
#include "environment/act/manager.h"
#include "sim/daemon/daemon_simulation.h"

#define SIM_SERVERS 2
#define SIM_SECOND_US INT64_C(1000000)
#define SIM_CLOCKS_DIFFER_MS 2000 /* until one is set */
#define SIM_LEASE_US (10 * SIM_SECOND_US)
#define SIM_REGION "eu-west-1"
#define SIM_CLUSTERS 3
#define SIM_TEXT_MAX 160
/* A remote ECS, which has the clusters of the first account in some runs. */
#define SIM_REMOTE "far"
#define SIM_REMOTE_ACCOUNT "123456789012"
#define SIM_REMOTE_POLL_MS 3000
#define SIM_PAGE 3 /* items on a page of a listing there */
/* Stopped tasks are forgotten sooner than in production, so that it happens; and booting servers read all of them. Longer
 * than the downtime after a crash. */
#define SIM_RETENTION_MS INT64_C(600000)

struct sim;
struct sim_events;
struct task_retention_limits;

/* Clusters: two of the first account, one of the second. */
struct sim_cluster {
	const char *account, *name;
};
extern const struct sim_cluster sim_clusters[SIM_CLUSTERS];

/* The environments there can be: these, and as many more like them as are asked for. Each has a family of task
 * definitions of its name, and in some runs it also wants those of another one of its account: two that run the same
 * definition in one cluster must not meet. */
enum { ENVIRONMENT_LOG, ENVIRONMENT_MONITOR, ENVIRONMENT_OTHERS_LOG, SIM_ENVIRONMENTS };
struct sim_environment {
	const char *account;
	char name[24];
	unsigned clusters[2], cluster_count; /* where it may be */
	char family[24];                     /* that it may share; "": none */
	/* The last acknowledged changes: a version that was made, a deployment that was started, one that was stopped
	 * ("": not known), and that it is deleted. */
	char version[ID_UUID_SIZE], deployment[ID_UUID_SIZE], stopped[ID_UUID_SIZE];
	bool deleted;
	char read[ID_UUID_SIZE]; /* a version that some client read a while ago; "": none */
};

/* An environment in the store. */
struct sim_standing {
	bool exists;
	enum environment_status status;
	int64_t versions, deployments;
	char latest[ID_UUID_SIZE], pending[ID_UUID_SIZE], running[ID_UUID_SIZE];
};

/* A request without an answer, and the state before it; operation "": there is none. */
struct sim_doubt {
	size_t environment;
	char operation[32];
	struct sim_standing before;
};

/* Revisions of task definitions, the same for every family: what becomes of their tasks. The good ones come first. */
struct sim_behaviour {
	const char *name;
	bool good, checked;
	int64_t start_ms[2];  /* between these; never, if the second is 0 */
	int64_t health_ms[2]; /* of a checked one */
	int64_t unhealthy_ms[2], run_ms[2];
	int64_t stop_ms[2];
};
#define SIM_BEHAVIOURS 7
#define SIM_GOOD_BEHAVIOURS 4
extern const struct sim_behaviour sim_behaviours[SIM_BEHAVIOURS];
#define SIM_MEMORY 512 /* of an instance */
#define SIM_FOREIGN "foreign"
#define SIM_WALL "wall" /* leaves no room for any other task */

struct sim_server {
	struct sim *sim;
	const char *name;
	unsigned boots;
	int64_t boot_at_us;    /* when down */
	int64_t awake_us;      /* when up: since when, or when its pause ends */
	int64_t slept_till_us; /* when its last pause ends that is longer than a call; 0: none */
	struct runner *runner; /* NULL: down */
	struct claims *claims;
	struct manager *manager;
	struct controller *retention; /* forgets tasks that stopped long ago */
	struct controller *services;  /* NULL: there are none */
	struct aws_dispatcher *dispatcher;
	struct aws_targets *targets; /* NULL: nothing is remote */
	struct daemon_context context;
	struct map versions;  /* of what its state service knew, by instance and task */
	struct map instances; /* that it knows, or knew: is_known or is_gone */
	struct map
		tasks; /* of those that it knew to run: at which look it did last, as a pointer */
	unsigned passes;
};

/* A call of a remote ECS that is on its way after the caller has given up. */
struct sim_call {
	int64_t due_us;
	bool is_unexpected; /* the caller lives, and has taken it for lost */
	char operation[16], body[1024];
};
#define SIM_CALLS_MAX 16

/* A claim, and since when its owner is dead; 0: it is not. */
struct sim_orphan {
	uint64_t epoch;
	int64_t since_us;
	unsigned failed; /* commits until then */
};

/* A recent answer of a remote ECS. */
struct sim_answer {
	int64_t at_us;
	char *text;
};

#define SIM_STALE 16

/* A client's last request with a token. */
struct sim_token {
	char token[40], operation[32], body[1024], answer[SIM_TEXT_MAX];
	size_t environment;
};

struct sim {
	const struct daemon_simulation *config;
	struct daemon_simulation_result result;
	struct runner *root;
	struct random *random;
	char *path, *key_path; /* NULL: in memory */
	struct store *store;
	struct store_faults faults;
	int64_t log_size; /* of the file, at the end of the last acknowledged commit */
	bool tears;       /* the one after that was being written when everything stopped */
	struct aws_service service; /* slipway's own operations */
	bool faulty;                /* faults happen */
	bool store_stopped;         /* at a commit: everything has to start from the file */
	bool only_good;             /* clients want only what works */
	bool strict; /* and then that so many percent of the instances are always healthy: */
	unsigned minimum;
	bool shares;       /* environments want task definitions of each other */
	bool crowded;      /* instances are often full, and then without their daemons */
	bool sleepy;       /* servers are often paused in the middle of what they do */
	bool deadly;       /* and here killed in the middle of a call */
	bool has_services; /* ECS rolls out services, too */
	struct aws_dispatcher *operators; /* of ECS, for machines and operators */
	bool remote;                      /* there is a remote ECS */
	bool storm;                       /* it often fails just now */
	int64_t silent_till_us;           /* nothing is heard of its events */
	/* That one; NULL: there is none. */
	struct store *remote_store;
	struct aws_dispatcher *remote_operators;
	struct sim_events *events;
	struct sim_call calls[SIM_CALLS_MAX];
	size_t call_count;
	struct map
		answers; /* struct sim_answer by operation and request: what is read again later */
	struct sim_answer stale[SIM_STALE]; /* the last ones that were as before */
	unsigned stale_count;
	struct daemon_checker *checker;
	struct sim_server servers[SIM_SERVERS];
	unsigned server_count;
	unsigned instances_max;
	struct sim_environment *environments;
	size_t environment_count;
	struct map orphans; /* struct sim_orphan by claim */
	/* How many times more there are than usual. Instances have so much more room. */
	unsigned crowd;
	/* How many times more rarely something happens by chance at a commit: as there are more commits. */
	uint64_t rarity;
	bool large; /* all of that for hours: what is done then leads to much, and is done more rarely */
	/* Machines: */
	struct actual_task **due; /* to be checked now */
	size_t due_size;
	struct runner *machines;
	struct runner_event *machines_changed;
	struct controller *remote_retention; /* as the remote ECS does for itself */
	/* Clients: */
	int status; /* of the last request */
	char error_type[64];
	bool unknown_end; /* the answer is lost */
	struct sim_token token;
	struct sim_doubt doubt;
	/* A sweep: the point at which everything stops. 0: none. */
	unsigned stop_at, points;
	bool stop_after, counting;
	char broken[ERR_MESSAGE_MAX]; /* the first broken property */
};

static inline uint64_t sim_draw(struct sim *sim, uint64_t below)
{
	return random_below(sim->random, below);
}

static inline bool sim_one_in(struct sim *sim, uint64_t many)
{
	return sim_draw(sim, many) == 0;
}

extern struct task_retention_limits sim_retention;

/* A property of the run is broken. */
void sim_broken(void *sim, const char *rule);
/* "ACCOUNT/NAME" */
struct span sim_environment_key(const struct sim *sim, size_t environment, char out[SIM_TEXT_MAX]);

/* ---- daemon_simulation.c ---- */

/* sim->remote is set before. */
void sim_set_up(struct sim *sim, uint64_t seed);
/* So long; then everything is restarted that has to be. */
int sim_pass_time(struct sim *sim, int64_t duration_us, struct err *err);
/* Until all is as wanted. If that takes too long, the property is broken. */
int sim_settle(struct sim *sim, int64_t within_us, enum daemon_property property, const char *when,
	struct err *err);
/* The store, and the remote ECS if there is one. */
int sim_open_stores(struct sim *sim, struct err *err);
/* Asks for what works until it is accepted. */
int sim_make_one_healthy(struct sim *sim, size_t environment, struct err *err);
void sim_finish(struct sim *sim);

/* ---- sim_servers.c ---- */

/* Whether this is the point of a sweep at which everything stops. */
bool sim_is_the_end(struct sim *sim, bool after);
void sim_set_up_servers(struct sim *sim);
int sim_open_store(struct sim *sim, struct err *err);
void sim_close_store(struct sim *sim);
/* The remote ECS; before the store. It keeps running whatever happens to servers. */
int sim_open_remote(struct sim *sim, struct err *err);
void sim_close_remote(struct sim *sim);
void sim_use_file(struct sim *sim, const char *folder, uint64_t number);
void sim_remove_files(struct sim *sim);
/* Removes crashed servers, and boots those whose time has come. */
void sim_tend_servers(struct sim *sim);
void sim_take_down(struct sim *sim, struct sim_server *server);
/* NULL if that one is down. */
struct sim_server *sim_some_server(struct sim *sim);
int sim_restart(struct sim *sim, struct err *err);
void sim_act_server(struct sim *sim);

/* ---- sim_torn.c ---- */

/* A commit has been written; the last one before everything stops, perhaps. */
void sim_note_commit(struct sim *sim, bool is_last);
/* Closes a store whose last commit is torn. */
int sim_close_torn(struct sim *sim, struct err *err);

/* ---- sim_owners.c ---- */

/* Claims of a dead server are taken over, and deployments end. */
void sim_check_owners(struct sim *sim);

/* ---- sim_words.c ---- */

/* Counts of every server add up, and versions of what they know do not go back. */
void sim_inspect_servers(struct sim *sim);
/* When nothing has happened for a while: the counts of every server are those of the running tasks. */
void sim_compare_counts(struct sim *sim, bool may_be_stale);

/* ---- sim_far.c, sim_events.c ---- */

struct aws_target_settings;
extern const struct aws_target_settings sim_remote_settings;
/* Calls it, from this runner. */
struct aws_target *sim_remote_target(struct sim *sim, struct runner *runner);
/* Whether a cluster is remote in this run, and which store has it. */
bool sim_is_remote(const struct sim *sim, size_t cluster);
struct store *sim_store_of(struct sim *sim, size_t cluster);
int sim_follow_remote(struct sim *sim, struct err *err);
void sim_unfollow_remote(struct sim *sim);
void sim_deliver_events(struct sim *sim);
/* Perhaps no event arrives for a while, without a sign of it. */
void sim_silence_events(struct sim *sim);
/* Calls that outlived the server that made them. */
void sim_deliver_calls(struct sim *sim);
void sim_forget_answers(struct sim *sim);

/* ---- sim_machines.c ---- */

int sim_start_machines(struct sim *sim, struct err *err);
void sim_stop_machines(struct sim *sim);
/* So many more in a cluster. */
void sim_add_instances(struct sim *sim, size_t cluster, unsigned count);
/* Something happens to an instance, or to a task. */
void sim_act_instance(struct sim *sim);
void sim_act_task(struct sim *sim);
/* All that drains or is away comes back; foreign tasks end. */
void sim_calm_machines(struct sim *sim);
/* One instance drains; NULL: there is none. */
const struct actual_instance *sim_drain_some(struct sim *sim);
/* One healthy task of each environment dies; how many did. */
unsigned sim_kill_tasks(struct sim *sim);

void sim_connect_instance(struct sim *sim, const struct actual_instance *instance, bool connected);
/* Its daemons die, and there is no room for others before it is emptied; false: that was refused. */
bool sim_fill_instance(struct sim *sim, const struct actual_instance *instance);
void sim_empty_instance(struct sim *sim, const struct actual_instance *instance);

/* ---- sim_trials.c ---- */

/* New instances, and tasks that die, are served. */
int sim_try_new(struct sim *sim, struct err *err);
int sim_try_no_room(struct sim *sim, struct err *err);
int sim_try_away(struct sim *sim, struct err *err);

/* ---- sim_clients.c ---- */

/* A request of ECS written with ' for ", as the account of a cluster; NULL unless it was done. */
const struct json *sim_operate(struct sim *sim, struct arena *arena, size_t cluster,
	const char *operation, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* A request about an environment, to some server. */
const struct json *sim_request(struct sim *sim, struct arena *arena, size_t environment,
	const char *operation, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* An environment as this server, which is up, reports it. */
const struct json *sim_get_environment(struct sim *sim, struct sim_server *server,
	struct arena *arena, size_t environment);
/* So many environments; 0: as usual. */
void sim_set_up_environments(struct sim *sim, unsigned count);
int sim_define_all(struct sim *sim, struct err *err);
void sim_act_client(struct sim *sim);
/* Every environment is there, and rolls out a version that works; false: ask again. */
bool sim_make_healthy(struct sim *sim, size_t environment);

/* ---- sim_promises.c ---- */

/* Around each request of a client. */
void sim_before_request(struct sim *sim, size_t environment);
void sim_after_request(struct sim *sim, size_t environment, const char *operation,
	const struct json *answer);
/* Acknowledged changes are there; those without an answer are entirely there, or not at all. */
void sim_check_acknowledged(struct sim *sim);

/* ---- sim_settled.c ---- */

/* "" if all is as wanted. */
void sim_describe_unsettled(struct sim *sim, char out[SIM_TEXT_MAX]);

#endif
