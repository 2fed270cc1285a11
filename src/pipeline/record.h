/*
 * A deployment as its controller and clients see it: its facts, its stages and the texts about it, read from the stored
 * object and written back to it. The stages are those of the plan, in their order; a hidden ROLLBACK is the last.
 */
#ifndef PIPELINE_RECORD_H
#define PIPELINE_RECORD_H

#include "base/json.h"
#include "pipeline/kinds.h"

struct stage_record {
	struct span id;
	enum stage_kind kind;
	enum pipeline_stage_state state;
	bool is_hidden;          /* runs only after a failure */
	struct span description; /* of the application file; "" */
	struct span note;        /* of the plan; "" */
	struct span reason;      /* why it waits, failed or was skipped; "" */
	int64_t started_ms, ended_ms, deadline_ms;
	const struct json *details; /* of the stage's kind: approvals, tasks, results; NULL */
};

struct deployment_record {
	struct span key;
	uint64_t revision;
	struct deployment_facts facts;
	struct span summary;         /* why this strategy; "" before the plan */
	struct span reason;          /* of a failure; "" */
	struct span message;         /* of the commit; "" */
	struct span approved_by;     /* in its flow; "" */
	const struct json *changes;  /* [{"path", "before", "after"}]; NULL */
	const struct json *warnings; /* texts; NULL */
	struct stage_record *stages;
	size_t stage_count;
};

/* Texts point into the object or the arena. */
int deployment_read(const struct store_object *object, struct arena *arena,
	struct deployment_record *ret_record, struct err *err);
/* -ESTALE unless the stored one has record->revision. */
int deployment_put(struct store_transaction *transaction, const struct deployment_record *record,
	struct err *err);
/* As clients see it. */
struct json *deployment_document(const struct deployment_record *record, struct arena *arena);

/* NULL: there is none with that ID. */
struct stage_record *deployment_find_stage(const struct deployment_record *record, struct span id);
/* The first stage that is not terminal and not hidden; NULL: none. */
struct stage_record *deployment_next_stage(const struct deployment_record *record);
struct stage_record *deployment_rollback_stage(const struct deployment_record *record);

/* Both keep to the table of states; abort otherwise. */
void deployment_set_state(struct deployment_record *record, enum pipeline_deployment_state state,
	int64_t now_ms);
void stage_set_state(struct stage_record *stage, enum pipeline_stage_state state, int64_t now_ms);

/* ---- the log ---- */

/* stage: ID, "" for the deployment itself. Beyond DEPLOYMENT_LOG_MAX lines nothing is written. */
int deployment_log(struct store_transaction *transaction, struct span deployment, struct span stage,
	struct span text, int64_t now_ms, struct err *err);

#endif
