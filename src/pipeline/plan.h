/*
 * The planner: from an application, its definition files and the live service to the stages of a deployment, with the
 * reason for the strategy, what changes, and which shares of traffic can be reached. It calls nothing.
 */
#ifndef PIPELINE_PLAN_H
#define PIPELINE_PLAN_H

#include "pipeline/application.h"
#include "pipeline/definition.h"

/* The service as it is, from describe calls. */
struct live_service {
	bool exists; /* ACTIVE */
	bool is_external;
	int64_t desired_count;
	const struct json *service; /* DescribeServices; NULL unless it exists */
	const struct json
		*definition; /* DescribeTaskDefinition, of the primary; NULL: there is no primary */
	bool has_foreign_canary; /* a service NAME-canary that another owner made */
};

enum plan_strategy {
	PLAN_AUTOMATIC, /* a wish only */
	PLAN_QUICK_SYNC,
	PLAN_PIPELINE,
};

struct plan_input {
	const struct application *application;
	const struct task_file *task;       /* NULL: an application of another kind */
	const struct service_file *service; /* NULL: a standalone task */
	const struct live_service *live;
	enum plan_strategy forced;
	struct span commit_message; /* its subject is compared; "": none */
	bool has_weights;           /* its name is slipway's own, and answers by SLIPWAY_WEIGHT */
	bool needs_approval;        /* of the flow that deploys it, before the first stage */
	bool starts_flow;
};

struct plan_stage {
	enum stage_kind kind;
	const struct stage *stage; /* NULL: made by the planner */
	bool is_hidden;            /* runs only after a failure */
	struct span note;          /* "wanted 10%, reachable 33.3% (…)"; "": none */
};

struct plan {
	enum plan_strategy strategy;
	bool is_first; /* there is no primary yet */
	struct span reason;
	struct field_list stages; /* struct plan_stage */
	struct field_list
		changes; /* struct difference: of the task definition, then of the service */
	struct field_list warnings; /* struct span */
	struct span refusal;        /* why it cannot be deployed; data NULL: it can */
};

void plan_make(const struct plan_input *input, struct arena *arena, struct plan *ret_plan);

#endif
