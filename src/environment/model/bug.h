/*
 * Seeded bugs (base/seeded_bug.h), most of them found in other schedulers. The simulation has to find each of them;
 * nothing else sets one.
 */
#ifndef ENVIRONMENT_MODEL_BUG_H
#define ENVIRONMENT_MODEL_BUG_H

#define DAEMON_BUGS(X)                                                                             \
	X(NONE, "none", "no deliberate bug")                                                       \
	X(CALL_FIRST, "call-first", "tasks are started before their placement is stored")          \
	X(FORGET_ASKED, "forget-asked",                                                            \
		"expectations are dropped before their effect is observed")                        \
	X(HASTY_COMPLETE, "hasty-complete", "a deployment is completed when no task is pending")   \
	X(START_EVERYWHERE, "start-everywhere",                                                    \
		"tasks of older versions are ignored during a rollout")                            \
	X(FORGET_OLD, "forget-old", "tasks of deployments that were deleted are not recognised")   \
	X(OVERLAP, "overlap", "two managers act for one environment")                              \
	X(LATE_CALL, "late-call", "calls of a server that lost its claim are executed")            \
	X(NO_CATCH_UP, "no-catch-up", "a server that takes over acts on an outdated replica")      \
	X(WRONG_ARN, "wrong-arn", "StopTask is given the ARN of the task definition")              \
	X(INVERTED, "inverted", "a successful start is taken for a refusal")                       \
	X(INVERTED_STOP, "inverted-stop", "a successful stop is taken for a refusal")              \
	X(NEVER_EMPTY, "never-empty", "without instances a deployment never completes")            \
	X(LOST_UPDATE, "lost-update", "an update ignores the version that it is based on")         \
	X(DESIRED_HEALTHY, "desired-healthy",                                                      \
		"a task with desired status RUNNING counts as healthy")                            \
	X(DROP_GROUP, "drop-group", "an update drops the attributes of the instance group")        \
	X(CREATE_OVER, "create-over", "an environment can replace another one of the same name")   \
	X(VACUOUS, "vacuous", "the checker never checks property S3")                              \
	X(FAILURE_STAYS, "failure-stays", "after a deployment timed out no other one begins")      \
	X(THREADS, "threads", "each event raises the budget")                                      \
	X(STALE_HEALTHY, "stale-healthy", "the budget ignores actions that are planned already")   \
	X(NO_WAKE, "no-wake", "no pass starts when a task is warm")                                \
	X(HASTY_START, "hasty-start", "tasks are started while another one is stopping")           \
	X(STOP_ALL, "stop-all", "where there are two tasks, both are stopped")                     \
	X(BLIND, "blind", "disconnected instances get calls")                                      \
	X(NO_PACE, "no-pace", "all unavailable instances change their version at once")            \
	X(NO_CANARY, "no-canary", "the others do not wait for the canary")                         \
	X(STALE_CLAIMS, "stale-claims", "only the latest version claims instances")                \
	X(WALL_CLOCK, "wall-clock", "a warm-up is measured with wall clocks")                      \
	X(NO_FENCE, "no-fence", "a server writes without its claim")                               \
	X(EARLY_ACK, "early-ack", "acknowledged writes are lost in a power failure")               \
	X(FIRST_PAGE, "first-page", "remote: only the first page of a list is read")               \
	X(LIST_EMPTY, "list-empty", "remote: a list that could not be read counts as empty")       \
	X(FAILED_IS_GONE, "failed-is-gone",                                                        \
		"remote: an object that could not be described counts as gone")                    \
	X(OLD_EVENTS, "old-events", "remote: an event is applied whatever its age")                \
	X(FORGET_SENT, "forget-sent",                                                              \
		"remote: a server that takes over does not wait for earlier calls")
/* This one and those after it need a remote ECS. */
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
