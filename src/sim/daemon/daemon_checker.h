/*
 * The checker. It follows every change of the stores in order, at the moment of the commit, and reports the
 * first property that is broken (the S-properties of docs/environments.md), judged by the actual state and not
 * by a server's view of it. It counts how often each property was checked in earnest: one that never was proves
 * nothing.
 *
 * A decision is made from what was known a moment before. So what happened to the world within the checker's
 * tolerance before the decision, without a decision of a server, is not held against it; its own actions are.
 * While a server is paused its patience begins with the pause.
 */
#ifndef SIM_DAEMON_DAEMON_CHECKER_H
#define SIM_DAEMON_DAEMON_CHECKER_H

#include "control/runner.h"
#include "sim/daemon/daemon_actual.h"

/* Two have tests of their own instead: S15, nothing is done by a record that fails its checksum (quarantine, in the tests
 * of the store and in tests/scenario/test_environment_tenancy.py), and L4, a crash at any step (daemon_sweep.c). */
#define DAEMON_PROPERTIES(X)                                                                       \
	X(S1, "S1", "at most one task on an instance")                                             \
	X(S2, "S2", "two on few instances only, where the new one starts first")                   \
	X(S3, "S3", "a healthy task is stopped only while enough are left")                        \
	X(S3B, "S3b", "few instances at a time change their version")                              \
	X(S4, "S4", "tasks of others are left alone")                                              \
	X(S5, "S5", "nothing is started on instances that do not match")                           \
	X(S6, "S6", "nothing is done for an inactive environment")                                 \
	X(S7, "S7", "deployments follow their automaton, one at a time")                           \
	X(S7C, "S7c", "what is completed is complete")                                             \
	X(S8, "S8", "a deployment acts by its own version, which never changes")                   \
	X(BASE, "base", "of two updates that were made of one version one is refused")             \
	X(S9, "S9", "no two environments run one task definition in one cluster")                  \
	X(S10, "S10", "what was acknowledged is there after a restart")                            \
	X(S11, "S11", "the same client token is the same request")                                 \
	X(S12, "S12", "no server acts under a claim that has moved")                               \
	X(S13, "S13", "versions of what is known never go back")                                   \
	X(S14, "S14", "accounts do not touch each other")                                          \
	X(S16, "S16", "starts on one instance are bounded")                                        \
	X(S17, "S17", "only what is gone is forgotten")                                            \
	X(S18, "S18", "counts add up")                                                             \
	X(S19, "S19", "one action for each intent, and never without one")                         \
	X(CANARY, "canary", "no more than the canary before it has proved itself")                 \
	X(ROLLBACK, "rollback", "what failed goes back, where that was asked for")                 \
	X(L1, "L1", "in the end every instance has its task, and it stays so")                     \
	X(L2, "L2", "every deployment ends")                                                       \
	X(L3, "L3", "new instances and dead tasks are served soon")                                \
	X(L5, "L5", "what belonged to a dead server is taken over when its lease ends")            \
	X(L6, "L6", "what was blocked continues when the cause is gone")                           \
	X(L7, "L7", "after a deployment that failed the next one succeeds")                        \
	X(L8, "L8", "an instance that is away delays the others for a while only")
enum daemon_property {
#define X(name, text, meaning) DAEMON_PROPERTY_##name,
	DAEMON_PROPERTIES(X)
#undef X
		DAEMON_PROPERTY_COUNT
};
extern const char *const daemon_property_names[DAEMON_PROPERTY_COUNT];
extern const char *const daemon_property_meanings[DAEMON_PROPERTY_COUNT];

struct daemon_checker;

struct daemon_checker_config {
	struct runner *runner;
	int64_t patience_us;
	void (*broken)(void *context, const char *rule);
	void *context;
	bool bug_vacuous; /* deliberate: S3 is never really checked */
};

struct daemon_checker *daemon_checker_new(const struct daemon_checker_config *config);
void daemon_checker_free(struct daemon_checker *checker); /* NULL is fine */

/* Follows a store from now on, until it is closed; objects that the feed did not report are read. The
 * second one is the remote ECS. */
int daemon_checker_follow(struct daemon_checker *checker, struct store *store, struct err *err);
void daemon_checker_unfollow(struct daemon_checker *checker); /* all of them */

/* A server sees nothing of the world for so long, from now on. */
void daemon_checker_paused(struct daemon_checker *checker, int64_t duration_us);

struct actual *daemon_checker_actual(struct daemon_checker *checker);
/* It was put to the test. */
void daemon_checker_count(struct daemon_checker *checker, enum daemon_property property);
void daemon_checker_report(struct daemon_checker *checker, enum daemon_property property,
	const char *format, ...) __attribute__((format(printf, 3, 4)));
const uint64_t *daemon_checker_counts(const struct daemon_checker *checker);
/* How many times anything was started, stopped or decided for environments. */
uint64_t daemon_checker_actions(const struct daemon_checker *checker);
/* Called whenever a task or an instance changes. */
void daemon_checker_on_change(struct daemon_checker *checker, void (*changed)(void *context),
	void *context);

#endif
