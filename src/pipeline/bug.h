/* Seeded bugs of the engine (base/seeded_bug.h): its simulation must find each of them. */
#ifndef PIPELINE_BUG_H
#define PIPELINE_BUG_H

#define PIPELINE_BUGS(X)                                                                           \
	X(NONE, "none", "no deliberate bug")                                                       \
	X(DEREGISTER_FIRST, "deregister-first", "tasks leave a name before others are registered") \
	X(FORGET_TTL, "forget-ttl", "sets are deleted before their DNS records have expired")      \
	X(TRUST_SENT, "trust-sent", "a registration counts as soon as its call was answered")      \
	X(NEW_TOKEN, "new-token", "a repeated call gets another client token")                     \
	X(REGISTER_AGAIN, "register-again", "a lost task definition is not looked for")            \
	X(NO_INTENT, "no-intent", "calls are sent before they are journalled")                     \
	X(ROLLBACK_FIRST, "rollback-first", "a rollback deletes sets before their traffic left")   \
	X(EMPTY_GROUP, "empty-group", "target groups without healthy targets get traffic")         \
	X(OTHER_RULES, "other-rules", "rules that forward to other target groups are changed")     \
	X(LOSE_STICKINESS, "lose-stickiness", "a changed rule loses its stickiness")               \
	X(LEAVE_CANARY, "leave-canary", "a rollback leaves the canary behind")                     \
	X(KEEP_PRIMARY, "keep-primary", "the new set does not become the primary")                 \
	X(PARTIAL_IS_ALL, "partial-is-all", "tasks that could not be described count as gone")     \
	X(KEEP_TARGETS, "keep-targets", "an old set that is kept stays behind the load balancer")

enum pipeline_bug {
#define X(name, text, meaning) PIPELINE_BUG_##name,
	PIPELINE_BUGS(X)
#undef X
		PIPELINE_BUG_COUNT
};

#endif
