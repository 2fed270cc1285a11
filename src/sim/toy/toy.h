/*
 * The smallest controller that has every problem of a real one. A toy (kind `toy`, key: its name) wants
 * a number of parts to exist in a world outside that answers late, or not at all, or does things twice,
 * and whose parts die. Part i of a toy stands in slot i; there must never be two parts in one slot.
 *
 * What the controller knows is in kind `toy_state`, one record per toy, written by the owner of the claim
 * "toy/NAME" only. Each slot goes round
 *
 *     empty → starting(token) → running(token) → stopping(token) → empty
 *                    ↑                │ found dead
 *                    └────────────────┘ with a new token
 *
 * `starting` and `stopping` are intents: durable before the world is asked, and asked again with the same
 * token for as long as no answer came. The world remembers tokens, so asking twice is asking once.
 *
 * The same code runs on threads with a world of files and in simulation with a world from a seed; that
 * is what it is for.
 */
#ifndef SIM_TOY_TOY_H
#define SIM_TOY_TOY_H

#include "base/buffer.h"
#include "control/claims.h"
#include "control/controller.h"
#include "store/store.h"

#define TOY_SLOTS_MAX 8
#define TOY_TOKEN_SIZE 33
#define TOY_CALL_TIMEOUT_US INT64_C(2000000)

extern const struct store_kind toy_kind;
extern const struct store_kind toy_state_kind;
/* toy, toy_state, server, claim: for store_open. */
extern const struct store_kind *const toy_kinds[4];

struct toy_facts {
	int64_t desired;
};

#define TOY_SLOT_STATES(X)                                                                         \
	X(EMPTY, "empty") X(STARTING, "starting") X(RUNNING, "running") X(STOPPING, "stopping")
enum toy_slot_state {
#define X(name, text) TOY_SLOT_##name,
	TOY_SLOT_STATES(X)
#undef X
};

struct toy_slot {
	enum toy_slot_state state;
	char token[TOY_TOKEN_SIZE];
};

struct toy_state_facts {
	uint64_t epoch; /* of the claim under which it was written */
	struct toy_slot slots[TOY_SLOTS_MAX];
};

/* The caller of a request: for worlds that check that only the owner acts. */
struct toy_caller {
	struct runner *runner;
	const char *server;
	uint64_t epoch;
};

/* The world. Calls block for TOY_CALL_TIMEOUT_US at most; a negative code means that nothing is known
 * about what happened, -ECANCELED that the runner was stopped. */
struct toy_world_operations {
	/* Makes a part, unless this token was ever used (also if its part was stopped since). */
	int (*start)(void *world, const struct toy_caller *caller, struct span toy, size_t slot,
		const char *token, struct err *err);
	/* Ends the part of this token, and sees to it that there will never be one. */
	int (*stop)(void *world, const struct toy_caller *caller, struct span toy,
		const char *token, struct err *err);
	/* Whether the parts of these tokens live. Tokens that are "" do not. */
	int (*pass)(void *world, const struct toy_caller *caller, struct span toy,
		const struct toy_slot slots[TOY_SLOTS_MAX], bool ret_alive[TOY_SLOTS_MAX],
		struct err *err);
};

struct toy_controller {
	struct claims *claims;
	const struct toy_world_operations *operations;
	void *world;
	/* For simulations: a fenced write is about to change the toy's state at this head. */
	void (*writing)(void *context, const struct store_view *head, struct span toy,
		const struct toy_caller *caller);
	void *writing_context;
	/* Deliberate bug, for proving that simulations find it: asks the world before the intent is
	 * durable. */
	bool bug_skip_intent;
};

/* Its context is a struct toy_controller. */
extern const struct controller_row toy_controller_row;

/* The claim's key, "toy/NAME", and back (SPAN_NONE if it is not one). */
void toy_claim_key(struct span toy, struct buffer *out);
struct span toy_of_claim_key(struct span key);

/* Sets the desired state (0: the toy is deleted). */
int toy_set_desired(struct runner *runner, struct store *store, struct span toy, unsigned desired,
	struct err *err);

#endif
