/*
 * The state of one decision, and the writes that it can end with. For canary_decide.c, canary_run.c and canary_end.c.
 *
 * Functions that return bool return true when the decision is made: a write is due, or nothing more can be done now.
 */
#ifndef RELEASE_CANARY_DECIDING_H
#define RELEASE_CANARY_DECIDING_H

#include "release/canary_decide.h"
#include "release/canary_plan.h"

struct canary_deciding {
	struct arena *arena;
	const struct canary_input *input;
	const struct canary *canary;
	struct canary_decision *decision;
	struct release_manifest objects; /* of the recorded plan */
	struct release_manifest stable;  /* of the Release; empty without one */
	int64_t until_ms;                /* the earliest time of those that were waited for */
};

/* ---- reads ---- */

struct canary_live canary_find_object(const struct canary_deciding *deciding,
	const struct json *object);
const struct json *canary_find_service_object(const struct canary_deciding *deciding,
	struct span name, const char *ending);
/* It belongs to this CanaryRelease, and is not being deleted. */
bool canary_owns(const struct canary_deciding *deciding, const struct json *live);

/* ---- writes ---- */

/* Until something changes, or until_ms (0: no time). */
bool canary_wait(struct canary_deciding *deciding, int64_t until_ms);
/* Writes what differs of status; false if nothing does. */
bool canary_write_status(struct canary_deciding *deciding, const struct json *patch,
	const char *event);
/* Records a step with more members of status (or NULL); false if it is recorded. */
bool canary_journal(struct canary_deciding *deciding, enum canary_step step, struct json *members,
	const char *event);
/* Records the condition Failure, or waits if it is recorded; always true. */
bool canary_fail(struct canary_deciding *deciding, const char *reason, struct span message);
bool canary_update(struct canary_deciding *deciding, const struct json *object);
/* Applies the object if the cluster does not have it like this. with_release: it belongs to the Release, too. */
bool canary_ensure(struct canary_deciding *deciding, const struct json *object, bool with_release);
/* Deletes the live object if it belongs to this CanaryRelease. */
bool canary_remove(struct canary_deciding *deciding, const struct json *object);
/* Merges what differs between an object as it was read and as it should be; it must not have changed since. */
bool canary_change(struct canary_deciding *deciding, const struct json *before,
	const struct json *after);
bool canary_merge(struct canary_deciding *deciding, const struct json *object,
	const struct json *patch);

/* Write spec.transition, spec.paused. Always true. */
bool canary_set_transition(struct canary_deciding *deciding, struct span transition,
	const char *event);
bool canary_set_paused(struct canary_deciding *deciding, const char *event);

/* Conditions as they are, with these changed. */
const struct json *canary_conditions(struct canary_deciding *deciding,
	const struct canary_condition *conditions, size_t count);

/* ---- parts of the decision ---- */

bool canary_run(struct canary_deciding *deciding);     /* C1 to C8 */
bool canary_advance(struct canary_deciding *deciding); /* spec.steps, once it is available */
/* The condition Progressing of an available canary. */
struct canary_condition canary_progress(struct canary_deciding *deciding);
bool canary_adopt(struct canary_deciding *deciding);     /* A1 to A5 */
bool canary_deprecate(struct canary_deciding *deciding); /* D1 to D4 */
bool canary_clean_up(struct canary_deciding *deciding);  /* A7, D6 */
/* Restores a Service that was taken over; false if it is not. */
bool canary_restore(struct canary_deciding *deciding, const struct canary_proxied_service *proxied);
/* Deletes the copies of a Service. */
bool canary_remove_copy(struct canary_deciding *deciding, struct span service, const char *ending);

#endif
