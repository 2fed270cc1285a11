/* One pass over an environment, and the functions that all types of environments share. */
#ifndef ENVIRONMENT_ACT_PASS_H
#define ENVIRONMENT_ACT_PASS_H

#include "control/controller_handle.h"
#include "delivery/backoff.h"
#include "delivery/cluster_ref.h"
#include "delivery/outcall.h"
#include "delivery/target.h"
#include "environment/act/environment_state.h"
#include "environment/act/manager.h"
#include "environment/decide/deployment_step.h"

struct instances;

struct manager {
	struct manager_config config;
	struct runner *runner; /* a group of its own */
	struct observer *state;
	struct runner *changes_runner; /* a group of its own: it reads observed changes */
	struct runner_event *observed; /* there are some */
	struct observe_cursor *changes;
	struct controller *controller;
	struct controller_handle handle;
	struct lock lock;  /* for the map */
	struct map states; /* struct environment_state by key of environment */
	struct subscriptions *subscriptions;
	struct delivery_targets *targets;
	struct outcall_slots remote_slots;
};

/* One pass over one environment. A type of environments has a struct of its own around it. */
struct manager_pass {
	struct manager *manager;
	struct controller_call *call;
	struct arena *arena;
	struct environment_state *state;
	struct reconcile_input input;
	struct claim claim;
	struct span claim_key;
	int64_t again_ms; /* 0: when something changes */
};

/* The operations of the types of environments: daemon.c, service.c, cron.c. */
extern const struct environment_operations manager_daemon_operations;
extern const struct environment_operations manager_service_operations;
extern const struct environment_operations manager_cron_operations;

/* Between two passes while the state of a cluster is unknown or stale. */
#define MANAGER_BLIND_MS 1000
/* Of an unknown state, until the deployment reports it as what blocks it. */
#define MANAGER_WAITS_MS 60000
/* Before a refused call is repeated, doubling. */
#define MANAGER_REFUSED_FIRST_MS INT64_C(1000)

/* Another pass at this moment, in steady or in wall time. */
void manager_again_at(struct manager_pass *pass, int64_t at_ms);
void manager_again_when(struct manager_pass *pass, int64_t wall_ms);
/* Whether a recorded moment is ahead. Nothing waits longer than most_ms: if more is left, the clock was set back since. */
bool manager_must_wait(const struct manager_pass *pass, int64_t until_ms, int64_t most_ms);
/* deployments.c: writes a step of the deployments. instances: those of a step of type ADOPT; NULL. *ret_is_written: false
 * if the environment has changed since it was read. */
int manager_write_step(struct manager_pass *pass, const struct deployment_step *step,
	const struct instances *instances, bool *ret_is_written, struct err *err);
/* Decides and writes the next step, if one is due, of an environment whose tasks ECS places; *ret_changed: the environment
 * has changed, start another pass. progress and cause: as in struct deployment_input. */
int manager_step_deployments(struct manager_pass *pass, const struct deployment_progress *progress,
	struct span cause, bool *ret_changed, struct err *err);
bool manager_is_unhealthy(const struct manager_pass *pass);
/* forget.c: deletes the records of an environment; *ret_more: there is more. */
int manager_delete(struct manager_pass *pass, bool *ret_more, struct err *err);

/* ---- pass.c ---- */

/* Remote targets may be slow or not answer at all: they do not get all workers. False: all slots are busy; try again
 * soon. A caller that entered leaves. Nothing to do for clusters of this server. */
bool manager_enter(struct manager *manager, struct cluster_ref cluster);
void manager_leave(struct manager *manager, struct cluster_ref cluster);
/* An outgoing call to the ECS of a cluster under our claim, in the name of a role ("": none). Negative: there is no such
 * target now, err has the reason. */
int manager_outcall(const struct manager_pass *pass, struct cluster_ref cluster, struct span role,
	struct outcall *ret_call, struct err *err);
/* The same, and sent at once: for calls that need no intent. -EAGAIN: there is no such target now; others as
 * outcall_send(). */
int manager_send(const struct manager_pass *pass, struct cluster_ref cluster, struct span role,
	const char *operation, const struct json *request, struct outcall_result *ret_result,
	struct err *err);
/* An operation that only reads. -EAGAIN: there is no such target now; others as outcall_read(). */
int manager_read(const struct manager_pass *pass, struct cluster_ref cluster, const char *operation,
	const struct json *request, struct json **ret_answer, struct aws_call_failure *failure,
	struct err *err);
/* Whether a pass ends with this code of a call: the server stops, or another one has the claim. */
static inline bool manager_ends_pass(int code)
{
	return code == -ECANCELED || code == -ESTALE;
}
/* When a call that was refused so many times in a row is repeated; wall time. */
int64_t manager_refused_until(const struct manager_pass *pass, int64_t failures);
/* The role for calls in a cluster: of the target version, or else of the given version. */
struct span manager_role(const struct manager_pass *pass, struct cluster_ref cluster,
	struct span version);
/* The resource version of this moment, for all remote clusters. */
uint64_t manager_resource_version(const struct manager_pass *pass);
/* 32 digits, unique for the text and the environment: a client token. */
struct span manager_token(const struct manager_pass *pass, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Whether the environment still has the status, target and deployment of the pass. */
bool manager_is_still_wanted(struct store_transaction *transaction,
	const struct manager_pass *pass);
struct span manager_last_part(struct span path);
const struct json *manager_version_document(const struct manager_pass *pass,
	const struct store_object *version);

/* ---- clusters.c ---- */

/* An environment wants each cluster once, from its first pass until it has nothing to do there. */
void manager_want(const struct manager_pass *pass, struct cluster_ref cluster);
/* Where it has, may have or would have tasks. */
void manager_want_all(const struct manager_pass *pass);
/* Releases what is not among those. */
void manager_release_others(const struct manager_pass *pass);
void manager_release_all(struct manager *manager, struct environment_state *state);

#endif
