/* Why tasks do not run, in words; see the source. */
#ifndef DAEMON_MANAGER_WORDS_H
#define DAEMON_MANAGER_WORDS_H

#include "daemon/manager_internal.h"

/* Of a task that has ended, or that its health check finds ill: "task ID stopped: Essential container in task exited (exit
 * code 3)"; not named: without the task. */
struct span manager_end_words(struct arena *arena, const struct state_task *task, bool named);
/* Of what was last on the instance of a member; data NULL: nothing is known. */
struct span manager_member_words(const struct manager_look *look, const struct crew_member *member,
	bool named);
/* The last task of this deployment of an ECS service that has stopped; NULL: none is known. Costs a look at each
 * instance, up to a thousand. */
const struct state_task *manager_last_of_service(const struct manager_look *look, struct span place,
	struct span service, struct span deployment);

#endif
