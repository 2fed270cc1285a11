/*
 * One pass over an application: what its files share. A pass makes one step and ends; the controller begins the next one.
 */
#ifndef PIPELINE_PASS_H
#define PIPELINE_PASS_H

#include "delivery/job.h"
#include "delivery/outcall.h"
#include "delivery/target.h"
#include "pipeline/bundle.h"
#include "pipeline/decide.h"
#include "pipeline/engine.h"
#include "pipeline/journal.h"
#include "pipeline/record.h"
#include "pipeline/source.h"

#define PASS_POLL_LOCAL_MS 500
#define PASS_POLL_REMOTE_MS 5000 /* at most; less with a shorter pollInterval of the target */

/* A call of the deployment that was journalled. */
struct journalled_call {
	struct span key;
	struct journal_record record;
};

struct deployment_pass {
	struct engine *engine;
	const struct engine_config *config;
	struct jobs *jobs;
	struct claims *claims;
	struct runner *runner;
	struct store *store;
	const struct store_view *view;
	struct arena *arena;
	struct claim claim;
	int64_t now_ms;
	struct span key; /* of the application */
	const struct store_object *application;
	struct deployment_record deployment;
	struct deployment_source source;
	struct bundle bundle;
	struct field_list calls; /* struct journalled_call, in their order */
	/* Calls to AWS; the service is set for each. */
	struct outcall outcall;
	struct span cluster; /* name */
	int64_t poll_ms;
	struct aws_call_failure failure; /* of the last read */
	struct field_list lines;         /* struct pass_line: log lines to write */
	bool must_write;                 /* the deployment has changed */
	bool must_write_source;
	struct application_facts application_facts; /* to write, if put_application */
	bool put_application;
	struct span application_api; /* of it */
	void *post_sync;             /* of post_sync_prepare(), to be created with the plan; NULL */
	int64_t again_ms;            /* wall time of the next pass; 0: when something changes */
};

struct pass_line {
	struct span stage, text;
};

/* Adds a log line, which is written with the deployment. */
void pass_log(struct deployment_pass *pass, struct span stage, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Writes the deployment and its log lines under the claim; the pass ends then. -ESTALE: something has changed. */
int pass_write(struct deployment_pass *pass, struct err *err);
/* The same in the middle of a pass, before something begins that must not begin twice. Nothing else is written in it. */
int pass_checkpoint(struct deployment_pass *pass, struct err *err);
void pass_again_at(struct deployment_pass *pass, int64_t wall_ms);

/* Sets the cluster, its poll interval and the target of calls. -ENOENT: the target or the role does not exist. */
int pass_open_target(struct deployment_pass *pass, struct err *err);
/* An operation that only reads. -EREMOTEIO: see pass->failure. */
int pass_read(struct deployment_pass *pass, const char *service, const char *operation,
	const struct json *request, struct json **ret_answer, struct err *err);
/* All pages of a list: an array of the items of `member`. token: its name in request and answer. */
int pass_read_pages(struct deployment_pass *pass, const char *service, const char *operation,
	struct json *request, const char *member, const char *token, struct json **ret_items,
	struct err *err);

/* ---- calls that change something (calls.c) ---- */

#define ECS "ecs"
#define CLOUDMAP "servicediscovery"
#define ELB "elasticloadbalancing"

/* Tags by which slipway knows what it created. */
#define TAG_APPLICATION "slipway:application"
#define TAG_DEPLOYMENT "slipway:deployment"
#define TAG_STAGE "slipway:stage" /* of a definition that belongs to one stage */
#define TAG_ROLE "slipway:role"   /* of a set: see carry_out_role() */

int calls_load(struct deployment_pass *pass, struct err *err);
/* The last call of this operation and role (SPAN_NONE: any) that was done; NULL. */
const struct journalled_call *calls_find_done(const struct deployment_pass *pass,
	const char *operation, struct span role);

/* One that may have taken effect. */
bool calls_was_sent(const struct deployment_pass *pass, const char *operation, struct span role);
/* The call of this operation and role ("": any) that was sent and has no answer; NULL. */
struct journalled_call *calls_find_unanswered(const struct deployment_pass *pass,
	const char *operation, struct span role);

struct pending_call {
	const char *service, *operation;
	struct span role, target;
	int64_t number;
	struct json *request;
	const char *token_member; /* that gets the client token; NULL: the operation has none */
	/* Path of the text of the answer that the journal keeps; NULL: nothing. */
	const char *answer_path;
	bool is_operation; /* the answer names an operation that continues */
	int64_t first_ms; /* out: when it was sent first, unchanged in each attempt of the same call */
	/* Error types that mean that nothing is left to do; ends with NULL. NULL: none. */
	const char *const *done_errors;
	struct span attributes; /* for the journal; "" */
};

/* Journals the call, sends it, journals its result. A call whose result is not known is sent again with its record and
 * token. 0 and the result; negative: the pass ends. */
int calls_send(struct deployment_pass *pass, struct span stage, struct pending_call *call,
	struct outcall_result *ret_result, struct err *err);
/* The call was not done, and is sent again as it was, with its record and token, if it is still needed. */
bool calls_must_be_repeated(const struct outcall_result *result);
/* Writes a record again, with its result. */
int calls_settle(struct deployment_pass *pass, struct journalled_call *call, struct err *err);

/* ---- the service of the deployment (observed.c) ---- */

/* A rule of a load balancer that forwards to both target groups. */
struct observed_rule {
	bool is_default;
	struct span arn; /* of the rule; of the listener for a default rule */
	const struct json *actions;
	int64_t weight; /* of the canary, in percent; -1: none of whole percents */
};

struct observed_task {
	struct span id, set;
	const struct json *task;
	const struct json *attributes; /* of its instance in Cloud Map; NULL: it has none */
};

struct observed {
	struct snapshot snapshot;
	const struct json *service; /* as DescribeServices answers; NULL: there is none */
	struct field_list tasks;    /* struct observed_task */
	struct field_list rules;    /* struct observed_rule */
	struct json *targets;       /* of the primary target group, with their health */
	struct field_list
		failed;   /* const struct json *: tasks that stopped before they were healthy */
	size_t leftovers; /* sets of earlier deployments that are still there */
};

/* Before the first stage: the service and its primary, {"exists", "isExternal", "desiredCount", "service", "taskSet",
 * "definition", "foreignCanary"}; what a rollback returns to. */
int observed_read_before(struct deployment_pass *pass, const struct json **ret_before,
	struct err *err);
int observed_read(struct deployment_pass *pass, struct observed *ret_observed, struct err *err);
/* Why an operation of Cloud Map that the stage began has failed, if more than `most` of them have since then; SPAN_NONE. */
struct span observed_failed_operation(const struct deployment_pass *pass, struct span stage,
	int64_t since_ms, size_t most);
/* The longest time for which clients keep records of the service's name, with a margin; 0 without a name. *ret_has_weights:
 * it answers by SLIPWAY_WEIGHT. */
int observed_read_ttl(struct deployment_pass *pass, int64_t *ret_ttl_ms, bool *ret_has_weights,
	struct err *err);

/* ---- carrying out (carry_out.c) ---- */

enum carried { CARRIED_SENT, CARRIED_DONE, CARRIED_FAILED };

/* Registers the task definition and creates or updates the service. DONE: both are there. FAILED: *ret_reason. */
int carry_out_service(struct deployment_pass *pass, struct span stage, enum carried *ret_carried,
	struct span *ret_reason, struct err *err);
/* In a rollback: the settings of the service as they were before, if the deployment has changed them. */
int carry_out_old_settings(struct deployment_pass *pass, struct span stage,
	enum carried *ret_carried, struct span *ret_reason, struct err *err);
/* Registers a task definition. role: the stage that alone uses it; "": that of the application. */
int carry_out_definition(struct deployment_pass *pass, struct span stage,
	const struct task_file *task, struct span role, enum carried *ret_carried,
	struct span *ret_reason, struct err *err);
int carry_out_calls(struct deployment_pass *pass, const struct observed *observed,
	struct span stage, const struct decision *decision, enum carried *ret_carried,
	struct span *ret_reason, struct err *err);
/* Names of sets in the journal and in externalId. */
const char *carry_out_role(enum set_role role);

#endif
