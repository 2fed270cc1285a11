/* What the files of a crew share. */
#ifndef DAEMON_CREW_INTERNAL_H
#define DAEMON_CREW_INTERNAL_H

#include "daemon/crew.h"

/* A member at one look. */
struct crew_seen {
	struct fleet_instance now;
	const struct state_instance *instance; /* NULL: it is gone */
	enum crew_trouble trouble;
	bool is_unsure;   /* as in struct crew_member */
	bool concerns_us; /* it matches, or there is or was something of ours */
};

/* crew_member.c: settles what was asked for, too, and says in the member when it must be looked at again. */
void crew_see(const struct crew *crew, const struct crew_sight *sight, struct crew_member *member,
	struct crew_seen *ret_seen);
void crew_forget_asked(struct crew_member *member);
bool crew_owns(const struct crew *crew, const struct crew_sight *sight,
	const struct state_task *task);
bool crew_is_healthy(const struct crew_sight *sight, const struct state_task *task);

#endif
