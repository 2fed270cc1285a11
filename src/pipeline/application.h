/*
 * Application files: YAML that describes an application and how it is delivered, as PipeCD has them (kind ECSApp, and
 * kind Application with spec.plugins.ecs). A file that cannot be read is an error with its line and the nearest known
 * key. A file that can be read may still be undeployable, with the line and the reason; such applications are listed.
 *
 * All text points into the arena that the file was read with.
 */
#ifndef PIPELINE_APPLICATION_H
#define PIPELINE_APPLICATION_H

#include "delivery/analysis/analysis.h"
#include "pipeline/fields.h"
#include "pipeline/flow_config.h"

#define APPLICATION_FILE_MAX (1024 * 1024)
#define APPLICATION_STAGES_MAX 100
#define APPLICATION_NAME_MAX 255

/* How the clients of a service reach it; a service may have both. */
enum access_type {
	ACCESS_ELB = 1,
	ACCESS_SERVICE_DISCOVERY = 2,
};

/* Name and what it needs: ECS stages need a service. */
#define STAGE_KINDS(X)                                                                             \
	X(ECS_SYNC, true)                                                                          \
	X(ECS_CANARY_ROLLOUT, true)                                                                \
	X(ECS_PRIMARY_ROLLOUT, true)                                                               \
	X(ECS_TRAFFIC_ROUTING, true)                                                               \
	X(ECS_CANARY_CLEAN, true)                                                                  \
	X(ECS_RUN_TASK, false)                                                                     \
	X(WAIT, false)                                                                             \
	X(WAIT_APPROVAL, false)                                                                    \
	X(ANALYSIS, false)                                                                         \
	X(SCRIPT_RUN, false)                                                                       \
	X(POST_SYNC, false) /* only slipway adds it */                                             \
	X(ROLLBACK, false)

enum stage_kind {
#define STAGE_KIND_ENUM(name, needs_service) STAGE_##name,
	STAGE_KINDS(STAGE_KIND_ENUM)
#undef STAGE_KIND_ENUM
		STAGE_KIND_COUNT
};

const char *stage_kind_name(enum stage_kind kind);

/* The stage is skipped when one of them applies to the commit. */
struct skip_on {
	struct field_list commit_message_prefixes; /* struct span */
	struct field_list paths;                   /* struct span */
};

/* One check of an analysis: a query of metrics, an HTTP request, or a command. */
struct analysis_check {
	uint32_t line;
	struct analysis_rule rule;
	const struct json *expected; /* {min, max} as it stands; they are in the rule */
	struct span provider, query;
	struct field_list canary_arguments,
		primary_arguments; /* struct field_pair, for the query */
	struct span url, method, expected_response;
	int64_t expected_code;
	const struct json *headers;    /* [{key, value}] as it stands */
	struct span run;               /* a command */
	struct field_list environment; /* struct field_pair */
	const struct json *other;      /* of keys without effect */
	int64_t interval_ms, timeout_ms;
};

/* Only the members of the stage's kind have a meaning. */
struct stage_options {
	struct skip_on skip_on;
	int64_t scale;           /* ECS_CANARY_ROLLOUT: percent of the desired count */
	int64_t primary, canary; /* ECS_TRAFFIC_ROUTING: percent; their sum is 100 */
	bool recreate;           /* ECS_SYNC: stop the old tasks before the new ones start */
	int64_t duration_ms;     /* WAIT, ANALYSIS */
	int64_t timeout_ms;      /* WAIT_APPROVAL, SCRIPT_RUN: in the options, as PipeCD has it */
	struct field_list approvers; /* struct span; empty: everyone with the right to write */
	int64_t minimum_approvers;
	struct field_list metrics, https, commands; /* struct analysis_check */
	const struct json *logs;                    /* as it stands */
	int64_t restart_threshold;
	bool pause_on_failure;         /* ANALYSIS */
	struct field_list environment; /* SCRIPT_RUN: struct field_pair */
	struct span run, on_rollback;
	bool rerun;
	struct span task_definition_file; /* ECS_RUN_TASK; absent: the application's */
	struct span container;
	struct field_list command; /* struct span */
};

struct stage {
	enum stage_kind kind;
	uint32_t line;
	struct span id; /* never empty: "stage-2" when the file has none */
	struct span description;
	int64_t timeout_ms; /* 0: none of its own */
	struct stage_options options;
};

struct target_group {
	struct span arn, container_name, load_balancer_name; /* arn.length 0: not given */
	int64_t container_port;
};

enum canary_registration {
	CANARY_REGISTERED_BY_SLIPWAY, /* no traffic before ECS_TRAFFIC_ROUTING */
	CANARY_REGISTERED_BY_ECS,     /* registered at its start, and then deregistered */
};

/* How the ECS service of an application is delivered. */
struct application_input {
	struct span service_definition_file; /* absent: a standalone task */
	struct span task_definition_file;
	struct target_group primary_group, canary_group;
	unsigned access; /* of enum access_type */
	bool auto_rollback;
	bool run_standalone_task;
	struct span cluster_arn, launch_type;       /* of a standalone task */
	struct field_list subnets, security_groups; /* … struct span */
	struct span assign_public_ip;               /* … */
	int canary_registration;                    /* enum canary_registration */
	struct span preview_registry_arn;           /* "": none */
	struct span listener_rule_arn; /* the only rule that routing changes; "": all of the pair */
	int64_t tolerance, capacity_floor; /* percent; -1: only warn */
	int64_t keep_old_ms; /* after a deployment, for a rollback; 0: the old primary is deleted at once */
	bool keep_failed_first_deploy;
};

struct application_trigger {
	bool on_commit, on_command, on_out_of_sync, on_chain, on_flow; /* enabled */
	struct field_list paths, ignores;                              /* struct span */
	int64_t out_of_sync_window_ms;
};

struct application {
	struct span file;
	struct span kind; /* "ECSApp", "KubernetesApp", … */
	bool is_ecs;
	struct span name; /* "": none in the file */
	struct span description;
	struct field_list labels; /* struct field_pair */
	struct application_input input;
	bool recreate;            /* of quick sync */
	struct field_list stages; /* struct stage; empty: no pipeline */
	bool has_pipeline;
	bool auto_rollback; /* false if the planner or the input has it off */
	bool always_use_pipeline;
	struct span quick_sync_commits, pipeline_commits; /* regular expressions; "": none */
	struct application_trigger trigger;
	bool replace_waiting; /* onNewCommit: replace */
	int64_t timeout_ms;
	const struct flow_config *flow; /* spec.postSync; NULL: none */
	struct field_list warnings;     /* struct field_note */
	struct field_note undeployable; /* text.data NULL: deployable */
};

/* file: its name for messages. -EINVAL: "FILE:LINE: …". */
int application_load(struct span file, struct span text, struct arena *arena,
	struct application **ret_application, struct err *err);

static inline const struct stage *application_stages(const struct application *application)
{
	return application->stages.items;
}

static inline bool application_is_standalone(const struct application *application)
{
	return application->input.service_definition_file.length == 0;
}

#endif
