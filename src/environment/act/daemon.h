/* A pass over a Daemon environment: a task on every matching instance. daemon.c has the order of its steps. */
#ifndef ENVIRONMENT_ACT_DAEMON_H
#define ENVIRONMENT_ACT_DAEMON_H

#include "environment/act/pass.h"
#include "environment/decide/env_instances.h"

struct daemon_pass {
	struct manager_pass *pass;
	struct instances *instances;
	/* That of the pass; `rolls` also after a completed deployment: instances that were disconnected get its version. */
	struct reconcile_input input;
	/* Why nothing can be decided about instances and tasks now; "" when it can. */
	struct span cause;
};

/* start_stop.c: the next actions on instances; *ret_more: there is more. */
int daemon_act(const struct daemon_pass *daemon, bool *ret_more, struct err *err);
/* reservation.c: the next step towards its reservation; *ret_changed: the environment has changed. -ESTALE: try again
 * soon. */
int daemon_step_reservation(const struct daemon_pass *daemon, bool *ret_changed, struct err *err);

#endif
