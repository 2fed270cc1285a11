/*
 * The inside of the daemon simulation, shared by its files. A rehearsal is one run.
 *     daemon_simulation.c     the course of a run
 *     daemon_sweep.c          a run in which everything stops at one point
 *     rehearsal_servers.c     the store and its faults, servers that crash
 *     rehearsal_torn.c        what becomes of its file when it stops in the middle of a commit
 *     rehearsal_owners.c      whose environments are, and that their deployments end
 *     rehearsal_words.c       what servers say
 *     rehearsal_far.c         an ECS elsewhere, and calls of it that fail
 *     rehearsal_events.c      what it tells of itself
 *     rehearsal_machines.c    instances and what becomes of tasks on them
 *     rehearsal_clients.c     what clients ask for, through the real API
 *     rehearsal_promises.c    what was acknowledged to them
 *     rehearsal_settled.c     whether all is as it was asked for, in the end
 *     rehearsal_trials.c      what is tried then
 *     daemon_checker*.c       the properties that hold all the time
 */
#ifndef DAEMON_SIMULATION_REHEARSAL_H
#define DAEMON_SIMULATION_REHEARSAL_H

#include "aws/dispatch.h"
#include "daemon/manager.h"
#include "daemon/simulation/daemon_simulation.h"

#define REHEARSAL_SERVERS 2
#define REHEARSAL_SECOND_US INT64_C(1000000)
#define REHEARSAL_CLOCKS_DIFFER_MS 2000 /* until somebody sets one */
#define REHEARSAL_LEASE_US (10 * REHEARSAL_SECOND_US)
#define REHEARSAL_REGION "eu-west-1"
#define REHEARSAL_CLUSTERS 3
#define REHEARSAL_TEXT_MAX 160
/* An ECS elsewhere, which has the clusters of the first account in some runs. */
#define REHEARSAL_FAR "far"
#define REHEARSAL_FAR_ACCOUNT "123456789012"
#define REHEARSAL_FAR_POLL_MS 3000
#define REHEARSAL_PAGE 3 /* items on a page of a listing there */
/* Tasks that stopped are forgotten sooner than elsewhere, so that it happens; and who boots reads all of them. Longer
 * than who crashed waits. */
#define REHEARSAL_RETENTION_MS INT64_C(600000)

struct rehearsal;
struct rehearsal_events;
struct task_retention_limits;

/* Clusters: two of the first account, one of the second. */
struct rehearsal_cluster {
	const char *account, *name;
};
extern const struct rehearsal_cluster rehearsal_clusters[REHEARSAL_CLUSTERS];

/* The environments there can be: these, and as many more like them as are asked for. Each has a family of task
 * definitions of its name, and in some runs it also wants those of another one of its account: two that run the same
 * definition in one cluster must not meet. */
enum { ENVIRONMENT_LOG, ENVIRONMENT_MONITOR, ENVIRONMENT_OTHERS_LOG, REHEARSAL_ENVIRONMENTS };
struct rehearsal_environment {
	const char *account;
	char name[24];
	unsigned clusters[2], cluster_count; /* where it may be */
	char family[24];                     /* that it may share; "": none */
	/* What was acknowledged last: a version that was made, a deployment that was started, one that was stopped
	 * ("": not known), and that it is deleted. */
	char version[ID_UUID_SIZE], deployment[ID_UUID_SIZE], stopped[ID_UUID_SIZE];
	bool deleted;
	char read[ID_UUID_SIZE]; /* a version that some client read a while ago; "": none */
};

/* What the store has of an environment. */
struct rehearsal_standing {
	bool exists;
	enum environment_status status;
	int64_t versions, deployments;
	char latest[ID_UUID_SIZE], pending[ID_UUID_SIZE], running[ID_UUID_SIZE];
};

/* A request of which nobody heard what became, and what was there before; operation "": there is none. */
struct rehearsal_doubt {
	size_t environment;
	char operation[32];
	struct rehearsal_standing before;
};

/* Revisions of task definitions, the same for every family: what becomes of their tasks. The good ones come first. */
struct rehearsal_behaviour {
	const char *name;
	bool good, checked;
	int64_t start_ms[2];  /* between these; never, if the second is 0 */
	int64_t health_ms[2]; /* of a checked one */
	int64_t ill_ms[2], run_ms[2];
	int64_t stop_ms[2];
};
#define REHEARSAL_BEHAVIOURS 7
#define REHEARSAL_GOOD_BEHAVIOURS 4
extern const struct rehearsal_behaviour rehearsal_behaviours[REHEARSAL_BEHAVIOURS];
#define REHEARSAL_MEMORY 512 /* of an instance */
#define REHEARSAL_FOREIGN "foreign"
#define REHEARSAL_WALL "wall" /* leaves no room for any other task */

struct rehearsal_server {
	struct rehearsal *rehearsal;
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
	struct aws_targets *targets; /* NULL: nothing is elsewhere */
	struct daemon_context context;
	struct map versions;  /* of what its state service knew, by instance and task */
	struct map instances; /* that it knows, or knew: is_known or is_gone */
	struct map
		tasks; /* of those that it knew to run: at which look it did last, as a pointer */
	unsigned looks;
};

/* A call of an ECS elsewhere that is on its way while nobody waits for it any more. */
struct rehearsal_call {
	int64_t due_us;
	bool is_unexpected; /* who made it lives, and has taken it for lost */
	char operation[16], body[1024];
};
#define REHEARSAL_CALLS_MAX 16

/* A claim, and since when its owner is dead; 0: it is not. */
struct rehearsal_orphan {
	uint64_t epoch;
	int64_t since_us;
	unsigned failed; /* commits until then */
};

/* What an ECS elsewhere answered lately. */
struct rehearsal_answer {
	int64_t at_us;
	char *text;
};

#define REHEARSAL_STALE 16

/* What a client remembers of its last request with a token. */
struct rehearsal_token {
	char token[40], operation[32], body[1024], answer[REHEARSAL_TEXT_MAX];
	size_t environment;
};

struct rehearsal {
	const struct daemon_simulation *config;
	struct daemon_simulation_result result;
	struct runner *root;
	struct random *random;
	char *path, *key_path; /* NULL: in memory */
	struct store *store;
	struct store_faults faults;
	int64_t log_size; /* of the file, at the end of the last commit that was told */
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
	bool far;                         /* there is an ECS elsewhere */
	bool storm;                       /* it often fails just now */
	int64_t silent_till_us;           /* nothing is heard of its events */
	/* That one; NULL: there is none. */
	struct store *far_store;
	struct aws_dispatcher *far_operators;
	struct rehearsal_events *events;
	struct rehearsal_call calls[REHEARSAL_CALLS_MAX];
	size_t call_count;
	struct map
		answers; /* struct rehearsal_answer by operation and request: what is read again later */
	struct rehearsal_answer stale[REHEARSAL_STALE]; /* the last ones that were as before */
	unsigned stale_count;
	struct daemon_checker *checker;
	struct rehearsal_server servers[REHEARSAL_SERVERS];
	unsigned server_count;
	unsigned instances_max;
	struct rehearsal_environment *environments;
	size_t environment_count;
	struct map orphans; /* struct rehearsal_orphan by claim */
	/* How many times more there are than usual. Instances have so much more room. */
	unsigned crowd;
	/* How many times more rarely something happens by chance at a commit: as there are more commits. */
	uint64_t rarity;
	bool large; /* all of that for hours: what is done then leads to much, and is done more rarely */
	/* Machines: */
	struct truth_task **due; /* what is looked at */
	size_t due_size;
	struct runner *machines;
	struct runner_event *machines_changed;
	struct controller *far_retention; /* as the ECS elsewhere does for itself */
	/* Clients: */
	int status; /* of the last request */
	char error_type[64];
	bool unknown_end; /* nobody knows whether it was done */
	struct rehearsal_token token;
	struct rehearsal_doubt doubt;
	/* A sweep: the point at which everything stops. 0: none. */
	unsigned stop_at, points;
	bool stop_after, counting;
	char broken[ERR_MESSAGE_MAX]; /* the first broken property */
};

static inline uint64_t rehearsal_draw(struct rehearsal *rehearsal, uint64_t below)
{
	return random_below(rehearsal->random, below);
}

static inline bool rehearsal_one_in(struct rehearsal *rehearsal, uint64_t many)
{
	return rehearsal_draw(rehearsal, many) == 0;
}

extern struct task_retention_limits rehearsal_retention;

/* A struct rehearsal's property is broken. */
void rehearsal_broken(void *rehearsal, const char *rule);
/* "ACCOUNT/NAME" */
struct span rehearsal_environment_key(const struct rehearsal *rehearsal, size_t environment,
	char out[REHEARSAL_TEXT_MAX]);

/* ---- daemon_simulation.c ---- */

/* rehearsal->far is set before. */
void rehearsal_set_up(struct rehearsal *rehearsal, uint64_t seed);
/* So long; then everything is restarted that has to be. */
int rehearsal_pass_time(struct rehearsal *rehearsal, int64_t duration_us, struct err *err);
/* Until all is as wanted. If that takes too long, the property is broken. */
int rehearsal_settle(struct rehearsal *rehearsal, int64_t within_us, enum daemon_property property,
	const char *when, struct err *err);
/* The store, and the ECS elsewhere if there is one. */
int rehearsal_open_stores(struct rehearsal *rehearsal, struct err *err);
/* Asks for what works until it is accepted. */
int rehearsal_wish_one_well(struct rehearsal *rehearsal, size_t environment, struct err *err);
void rehearsal_finish(struct rehearsal *rehearsal);

/* ---- rehearsal_servers.c ---- */

/* Whether this is the point of a sweep at which everything stops. */
bool rehearsal_is_the_end(struct rehearsal *rehearsal, bool after);
void rehearsal_set_up_servers(struct rehearsal *rehearsal);
int rehearsal_open_store(struct rehearsal *rehearsal, struct err *err);
void rehearsal_close_store(struct rehearsal *rehearsal);
/* The ECS elsewhere; before the store. It goes on whatever happens to servers. */
int rehearsal_open_far(struct rehearsal *rehearsal, struct err *err);
void rehearsal_close_far(struct rehearsal *rehearsal);
void rehearsal_use_file(struct rehearsal *rehearsal, const char *folder, uint64_t number);
void rehearsal_remove_files(struct rehearsal *rehearsal);
/* Takes away who crashed, and boots whose time has come. */
void rehearsal_tend_servers(struct rehearsal *rehearsal);
void rehearsal_take_down(struct rehearsal *rehearsal, struct rehearsal_server *server);
/* NULL if that one is down. */
struct rehearsal_server *rehearsal_some_server(struct rehearsal *rehearsal);
int rehearsal_restart(struct rehearsal *rehearsal, struct err *err);
void rehearsal_act_server(struct rehearsal *rehearsal);

/* ---- rehearsal_torn.c ---- */

/* A commit has been written; the last one before everything stops, perhaps. */
void rehearsal_note_commit(struct rehearsal *rehearsal, bool is_last);
/* Closes a store whose last commit is torn. */
int rehearsal_close_torn(struct rehearsal *rehearsal, struct err *err);

/* ---- rehearsal_owners.c ---- */

/* What belonged to a dead server is taken over, and deployments end. */
void rehearsal_check_owners(struct rehearsal *rehearsal);

/* ---- rehearsal_words.c ---- */

/* Counts of every server add up, and versions of what they know do not go back. */
void rehearsal_look_at_servers(struct rehearsal *rehearsal);
/* When nothing has happened for a while: the counts of every server are those of what is there. */
void rehearsal_compare_counts(struct rehearsal *rehearsal, bool may_be_stale);

/* ---- rehearsal_far.c, rehearsal_events.c ---- */

struct aws_target_settings;
extern const struct aws_target_settings rehearsal_far_settings;
/* Calls it, from this runner. */
struct aws_target *rehearsal_far_target(struct rehearsal *rehearsal, struct runner *runner);
/* Whether a cluster is elsewhere in this run, and who keeps it. */
bool rehearsal_is_far(const struct rehearsal *rehearsal, size_t cluster);
struct store *rehearsal_store_of(struct rehearsal *rehearsal, size_t cluster);
int rehearsal_follow_far(struct rehearsal *rehearsal, struct err *err);
void rehearsal_unfollow_far(struct rehearsal *rehearsal);
void rehearsal_deliver_events(struct rehearsal *rehearsal);
/* Perhaps nothing is heard of them for a while, and nobody is told so. */
void rehearsal_silence_events(struct rehearsal *rehearsal);
/* Calls that outlived the server that made them. */
void rehearsal_deliver_calls(struct rehearsal *rehearsal);
void rehearsal_forget_answers(struct rehearsal *rehearsal);

/* ---- rehearsal_machines.c ---- */

int rehearsal_start_machines(struct rehearsal *rehearsal, struct err *err);
void rehearsal_stop_machines(struct rehearsal *rehearsal);
/* So many more in a cluster. */
void rehearsal_add_instances(struct rehearsal *rehearsal, size_t cluster, unsigned count);
/* Something happens to an instance, or to a task. */
void rehearsal_act_instance(struct rehearsal *rehearsal);
void rehearsal_act_task(struct rehearsal *rehearsal);
/* All that drains or is away comes back; foreign tasks end. */
void rehearsal_calm_machines(struct rehearsal *rehearsal);
/* One instance drains; NULL: there is none. */
const struct truth_instance *rehearsal_drain_some(struct rehearsal *rehearsal);
/* One healthy task of each environment dies; how many did. */
unsigned rehearsal_kill_tasks(struct rehearsal *rehearsal);

void rehearsal_connect_instance(struct rehearsal *rehearsal, const struct truth_instance *instance,
	bool connected);
/* Its daemons die, and there is no room for others before it is emptied; false: that was refused. */
bool rehearsal_fill_instance(struct rehearsal *rehearsal, const struct truth_instance *instance);
void rehearsal_empty_instance(struct rehearsal *rehearsal, const struct truth_instance *instance);

/* ---- rehearsal_trials.c ---- */

/* New instances, and tasks that die, are served. */
int rehearsal_try_new(struct rehearsal *rehearsal, struct err *err);
int rehearsal_try_no_room(struct rehearsal *rehearsal, struct err *err);
int rehearsal_try_away(struct rehearsal *rehearsal, struct err *err);

/* ---- rehearsal_clients.c ---- */

/* A request of ECS written with ' for ", as the account of a cluster; NULL unless it was done. */
const struct json *rehearsal_operate(struct rehearsal *rehearsal, struct arena *arena,
	size_t cluster, const char *operation, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* A request about an environment, to some server. */
const struct json *rehearsal_request(struct rehearsal *rehearsal, struct arena *arena,
	size_t environment, const char *operation, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* An environment as this server tells of it, which is up. */
const struct json *rehearsal_get_environment(struct rehearsal *rehearsal,
	struct rehearsal_server *server, struct arena *arena, size_t environment);
/* So many environments; 0: as usual. */
void rehearsal_set_up_environments(struct rehearsal *rehearsal, unsigned count);
int rehearsal_define_all(struct rehearsal *rehearsal, struct err *err);
void rehearsal_act_client(struct rehearsal *rehearsal);
/* Every environment is there, and rolls out a version that works; false: ask again. */
bool rehearsal_wish_well(struct rehearsal *rehearsal, size_t environment);

/* ---- rehearsal_promises.c ---- */

/* Around each request of a client. */
void rehearsal_before_request(struct rehearsal *rehearsal, size_t environment);
void rehearsal_after_request(struct rehearsal *rehearsal, size_t environment, const char *operation,
	const struct json *answer);
/* What was acknowledged is there; what nobody heard of is entirely there, or not at all. */
void rehearsal_check_acknowledged(struct rehearsal *rehearsal);

/* ---- rehearsal_settled.c ---- */

/* "" if all is as wanted. */
void rehearsal_describe_unsettled(struct rehearsal *rehearsal, char out[REHEARSAL_TEXT_MAX]);

#endif
