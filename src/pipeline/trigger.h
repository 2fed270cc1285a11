/*
 * Triggers: whether changes of a repository, a drift or a commit's message begin a deployment, or skip one of its stages.
 * Pure.
 *
 * Patterns are relative to the repository and match a path or one of the folders above it: "docs", "*.md", "web/a*"; "**"
 * also crosses slashes.
 */
#ifndef PIPELINE_TRIGGER_H
#define PIPELINE_TRIGGER_H

#include "pipeline/application.h"

/* True if one of the changed paths (struct span) belongs to the application or matches `paths`, and does not match
 * `ignores`. folder: of the application file; "": the repository. *ret_path: the first such path. */
bool trigger_on_commit(const struct application_trigger *trigger, struct span folder,
	const struct field_list *changed, struct span *ret_path);

/* last_completed_ms: when a deployment of the application was last completed; 0: never. */
bool trigger_on_out_of_sync(const struct application_trigger *trigger, bool is_out_of_sync,
	bool is_deploying, int64_t last_completed_ms, int64_t now_ms);

/* True if the stage is skipped for a commit with that message and those changed paths. */
bool trigger_skips_stage(const struct skip_on *skip_on, struct span message,
	const struct field_list *changed);

/* The next trailer of that name, without case, from the last paragraph of a message: "Flow-Commit: web=main". Start with
 * *position 0; false at the end. */
bool trigger_next_trailer(struct span message, struct span name, size_t *position,
	struct span *ret_value);

#endif
