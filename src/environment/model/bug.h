/*
 * Deliberate bugs, most of them found in other schedulers. The simulation is worth something only if it finds each of
 * them; nothing else sets one.
 */
#ifndef ENVIRONMENT_MODEL_BUG_H
#define ENVIRONMENT_MODEL_BUG_H

#define DAEMON_BUGS(X)                                                                             \
	X(NONE, "none", "no deliberate bug")                                                       \
	X(CALL_FIRST, "call-first", "tasks are started before that is written down")               \
	X(FORGET_ASKED, "forget-asked", "what was asked for is forgotten before it is seen")       \
	X(HASTY_COMPLETE, "hasty-complete", "a deployment is completed when no task is pending")   \
	X(START_EVERYWHERE, "start-everywhere",                                                    \
		"older tasks are not seen when a version goes out")                                \
	X(FORGET_OLD, "forget-old", "tasks of deployments that were deleted are not recognised")   \
	X(OVERLAP, "overlap", "two managers act for one environment")                              \
	X(LATE_CALL, "late-call", "what a server asks for that was replaced meanwhile is done")    \
	X(NO_CATCH_UP, "no-catch-up", "a server that takes over acts on an older state")           \
	X(WRONG_ARN, "wrong-arn", "StopTask is given the ARN of the task definition")              \
	X(INVERTED, "inverted", "a start that succeeded is taken for refused")                     \
	X(INVERTED_STOP, "inverted-stop", "a stop that succeeded is taken for refused")            \
	X(NEVER_EMPTY, "never-empty", "where there are no instances nothing is ever completed")    \
	X(LOST_UPDATE, "lost-update",                                                              \
		"an update does not look at the version that it was made of")                      \
	X(DESIRED_HEALTHY, "desired-healthy", "a task that shall run counts as healthy")           \
	X(DROP_GROUP, "drop-group", "an update drops the attributes of the instance group")        \
	X(CREATE_OVER, "create-over", "an environment can be made over another one")               \
	X(VACUOUS, "vacuous", "the checker never really looks at S3")                              \
	X(FAILURE_STAYS, "failure-stays", "after a deployment that timed out none begins")         \
	X(THREADS, "threads", "each event adds to the budget")                                     \
	X(STALE_HEALTHY, "stale-healthy", "the budget is not lowered by what was planned already") \
	X(NO_WAKE, "no-wake", "no pass starts when a task is warm")                                \
	X(HASTY_START, "hasty-start", "tasks are started while another one is stopping")           \
	X(STOP_ALL, "stop-all", "where there are two tasks, both are stopped")                     \
	X(BLIND, "blind", "instances that are away are acted on")                                  \
	X(NO_PACE, "no-pace", "everything that is down changes its version at once")               \
	X(NO_CANARY, "no-canary", "the others do not wait for the canary")                         \
	X(STALE_CLAIMS, "stale-claims", "only the version that was declared last is claimed")      \
	X(WALL_CLOCK, "wall-clock", "a warm-up goes by clocks that differ, and are set")           \
	X(NO_FENCE, "no-fence", "a server writes whether an environment is still its own or not")  \
	X(EARLY_ACK, "early-ack", "what was acknowledged can be lost with the power")              \
	X(FIRST_PAGE, "first-page", "remote: only the first page of a list is read")               \
	X(LIST_EMPTY, "list-empty", "remote: a list that could not be read counts as empty")       \
	X(FAILED_IS_GONE, "failed-is-gone",                                                        \
		"remote: an object that could not be described counts as gone")                    \
	X(OLD_EVENTS, "old-events", "remote: an event is applied whatever its age")                \
	X(FORGET_SENT, "forget-sent",                                                              \
		"remote: a server that takes over does not wait for earlier calls")
/* From here on: with a remote ECS. */
#define DAEMON_BUG_REMOTE DAEMON_BUG_FIRST_PAGE
enum daemon_bug {
#define X(name, text, meaning) DAEMON_BUG_##name,
	DAEMON_BUGS(X)
#undef X
		DAEMON_BUG_COUNT
};
extern const char *const daemon_bug_names[DAEMON_BUG_COUNT];
extern const char *const daemon_bug_meanings[DAEMON_BUG_COUNT];

#endif
