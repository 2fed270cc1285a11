/* What the files of the manager share. */
#ifndef ENVIRONMENT_ACT_PASS_H
#define ENVIRONMENT_ACT_PASS_H

#include "control/controller_handle.h"
#include "delivery/backoff.h"
#include "delivery/cluster_ref.h"
#include "delivery/outcall.h"
#include "delivery/target.h"
#include "environment/act/manager.h"

struct manager {
	struct manager_config config;
	struct runner *runner; /* a group of its own */
	struct observer *state;
	struct runner *changes_runner; /* a group of its own: it reads observed changes */
	struct runner_event *observed; /* there are some */
	struct observe_cursor *changes;
	struct controller *controller;
	struct controller_handle handle;
	struct lock lock;         /* for all below */
	struct map env_instances; /* struct crew by key of environment */
	struct subscriptions *subscriptions;
	struct delivery_targets *targets;
	struct outcall_slots remote_slots;
};

/* How the deployment in progress stands, where that is not for a fleet to tell. */
struct manager_progress {
	bool is_over;
	bool has_failed; /* and will not come right by itself: it ends at once */
	enum environment_deployment_status status;
	struct span reason;  /* a word; "" */
	struct span failure; /* in words, what `what` suffers from; "" */
	struct span what;
	int64_t done, total;
};

/* One look at one environment. */
struct manager_pass {
	struct manager *manager;
	struct controller_call *call;
	struct arena *arena;
	struct instances *instances;
	struct reconcile_input input;
	struct claim claim;
	struct span claim_key;
	int64_t again_ms;                        /* 0: when something changes */
	const struct manager_progress *progress; /* NULL: the fleet tells */
	/* Why nothing can be decided about instances and tasks now; "" when it can. */
	struct span cause;
};

#define MANAGER_BLIND_MS                                                                           \
	1000 /* between two looks at a place of which nothing is known, or too old */
#define MANAGER_WAITS_MS                                                                           \
	60000 /* that too little is known before it is told as what holds a deployment up */

/* Steady time, or what a clock on the wall shows. */
void manager_again_at(struct manager_pass *pass, int64_t at_ms);
void manager_again_when(struct manager_pass *pass, int64_t wall_ms);
/* Until a moment that was written down. Nobody waits longer than most_ms: if that is what is left, the clock was set back
 * since. */
bool manager_must_wait(const struct manager_pass *pass, int64_t until_ms, int64_t most_ms);
/* When a deployment's time is over; steady time. */
int64_t manager_ends_ms(const struct manager_pass *pass,
	const struct environment_deployment_facts *deployment);
/* "WORD: text", cut, and made such that facts can hold it. */
struct span manager_reason(struct arena *arena, const char *word, struct span text);

/* manager_deployments.c: one step of the deployments, if one is due; *ret_changed: the environment is another now,
 * look again. */
int manager_step_deployments(struct manager_pass *pass, bool *ret_changed, struct err *err);
/* manager_act.c: carries out what the fleet says next; *ret_more: there is more. */
int manager_act(struct manager_pass *pass, bool *ret_more, struct err *err);
/* manager_forget.c: deletes what is left of an environment; *ret_more: there is more. */
int manager_delete(struct manager_pass *pass, bool *ret_more, struct err *err);
/* Placements of instances that are gone. */
int manager_forget_gone(struct manager_pass *pass, struct err *err);
/* manager_service.c, manager_cron.c: a look at an environment of such a type. */
int manager_work_service(struct manager_pass *pass, bool *ret_more, struct err *err);
int manager_work_cron(struct manager_pass *pass, bool *ret_more, struct err *err);
/* manager_types.c: what those share. */
/* Remote targets may be slow or not answer at all: they do not get all workers. False: all slots are busy; try again
 * soon. A caller that entered leaves. Nothing to do for clusters of this server. */
bool manager_enter(struct manager *manager, struct span cluster_ref);
void manager_leave(struct manager *manager, struct span cluster_ref);
/* An outgoing call to the ECS of a cluster under our claim, in the name of a role ("": none). Negative: there is no such
 * target now, err has the reason. */
int manager_outcall(struct manager_pass *pass, struct span cluster_ref, struct span role,
	struct outcall *ret_call, struct err *err);
/* The same, and sent at once: for calls that need no intent. -EAGAIN: there is no such target now; others as
 * outcall_send(). */
int manager_send(struct manager_pass *pass, struct span cluster_ref, struct span role,
	const char *operation, const struct json *request, struct outcall_result *ret_result,
	struct err *err);
/* An operation that only reads. -EAGAIN: there is no such target now; others as outcall_read(). */
int manager_read(struct manager_pass *pass, struct span cluster_ref, const char *operation,
	const struct json *request, struct json **ret_answer, struct aws_call_failure *failure,
	struct err *err);
/* Whether a pass ends with this code of a call: the server stops, or another one has the claim. */
static inline bool manager_ends_pass(int code)
{
	return code == -ECANCELED || code == -ESTALE;
}
/* When a call that was refused so many times in a row is repeated; wall time. */
int64_t manager_refused_until(const struct manager_pass *pass, int64_t failures);
/* The role of a version in this place: that of the target, or else of the one that was asked for there last. */
struct span manager_role(const struct manager_pass *pass, struct span cluster_ref,
	struct span version);
/* The mark of this moment, for all places elsewhere. */
uint64_t manager_resource_version(const struct manager_pass *pass);
/* 32 digits that are the same for the same words and environment, and for nothing else. */
struct span manager_token(const struct manager_pass *pass, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Whether the environment is still as it was looked at. */
bool manager_is_still_wanted(struct store_transaction *transaction,
	const struct manager_pass *pass);
/* What is counted of an environment without a fleet. */
void manager_publish(struct manager_pass *pass, const struct environment_counts *counts);
struct span manager_last_part(struct span path);
const struct json *manager_version_document(const struct manager_pass *pass,
	const struct store_object *version);
/* manager_targets.c */
/* An environment wants each cluster once, from its first pass until it has nothing to do there. */
void manager_want(struct manager_pass *pass, struct span cluster_ref);
/* Where it has, may have or would have tasks; and its ECS service in remote clusters. */
void manager_want_all(struct manager_pass *pass);
/* Releases what is not among those. */
void manager_release_others(struct manager_pass *pass);
void manager_release_all(struct manager *manager, struct instances *instances);

#endif
